/* test-calls.c - what calls of GPU runtimes do, by their names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "timeline/calls.h"

struct example {
	const char *name;
	enum call_class class;
};

static void check(const struct example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		enum call_class class = call_classify(examples[i].name, strlen(examples[i].name));

		if (class != examples[i].class)
			print_error("%s\n", examples[i].name);
		assert_int_equal(class, examples[i].class);
	}
}
#define CHECK(examples) check(examples, sizeof(examples) / sizeof *(examples))

static void cuda_runtime(void **state)
{
	static const struct example examples[] = {
		{ "cudaLaunchKernel", CALL_LAUNCH },
		{ "cudaLaunchKernelExC", CALL_LAUNCH },
		{ "cudaLaunchCooperativeKernel", CALL_LAUNCH },
		{ "cudaLaunchHostFunc", CALL_OTHER },
		{ "cudaGraphLaunch", CALL_GRAPH_LAUNCH },
		{ "cudaGraphInstantiate", CALL_GRAPH_BUILD },
		{ "cudaGraphAddKernelNode", CALL_GRAPH_BUILD },
		{ "cudaStreamBeginCapture", CALL_GRAPH_BUILD },
		{ "cudaGraphDestroy", CALL_OTHER },
		{ "cudaMemcpy", CALL_COPY },
		{ "cudaMemcpy2D", CALL_COPY },
		{ "cudaMemcpyToSymbol", CALL_COPY },
		{ "cudaMemcpyAsync", CALL_COPY_ASYNC },
		{ "cudaMemcpyPeerAsync", CALL_COPY_ASYNC },
		{ "cudaMemset", CALL_MEMSET },
		{ "cudaMemsetAsync", CALL_MEMSET },
		{ "cudaDeviceSynchronize", CALL_SYNC_DEVICE },
		{ "cudaStreamSynchronize", CALL_SYNC_STREAM },
		{ "cudaEventSynchronize", CALL_SYNC_EVENT },
		{ "cudaEventRecord", CALL_EVENT_RECORD },
		{ "cudaEventRecordWithFlags", CALL_EVENT_RECORD },
		{ "cudaEventQuery", CALL_QUERY },
		{ "cudaStreamQuery", CALL_QUERY },
		{ "cudaStreamWaitEvent", CALL_STREAM_WAIT },
		{ "cudaMalloc", CALL_ALLOC },
		{ "cudaMallocAsync", CALL_ALLOC },
		{ "cudaMallocHost", CALL_HOST_ALLOC },
		{ "cudaHostAlloc", CALL_HOST_ALLOC },
		{ "cudaHostRegister", CALL_HOST_ALLOC },
		{ "cudaFree", CALL_FREE },
		{ "cudaFreeHost", CALL_FREE },
		{ "cudaLibraryLoadData", CALL_COMPILE },
		{ "cudaFuncGetAttributes", CALL_OTHER },
		{ "cudaStreamIsCapturing", CALL_OTHER },
		{ "cudaEventElapsedTime", CALL_OTHER },
	};

	(void)state;
	CHECK(examples);
}

static void cuda_driver(void **state)
{
	static const struct example examples[] = {
		{ "cuLaunchKernel", CALL_LAUNCH },
		{ "cuLaunchKernelEx", CALL_LAUNCH },
		{ "cuLaunch", CALL_LAUNCH },
		{ "cuGraphLaunch", CALL_GRAPH_LAUNCH },
		{ "cuMemcpyHtoD_v2", CALL_COPY },
		{ "cuMemcpyHtoDAsync_v2", CALL_COPY_ASYNC },
		{ "cuMemsetD32Async", CALL_MEMSET },
		{ "cuCtxSynchronize", CALL_SYNC_DEVICE },
		{ "cuStreamSynchronize", CALL_SYNC_STREAM },
		{ "cuStreamWaitValue32_v2", CALL_STREAM_WAIT },
		{ "cuMemAlloc_v2", CALL_ALLOC },
		{ "cuMemAllocHost_v2", CALL_HOST_ALLOC },
		{ "cuMemCreate", CALL_ALLOC },
		{ "cuMemMap", CALL_ALLOC },
		{ "cuMemUnmap", CALL_FREE },
		{ "cuMemFree_v2", CALL_FREE },
		{ "cuMemFreeHost", CALL_FREE },
		{ "cuModuleLoadDataEx", CALL_COMPILE },
		{ "cuLibraryLoadData", CALL_COMPILE },
		{ "cuLinkComplete", CALL_COMPILE },
		{ "cuKernelGetAttribute", CALL_OTHER },
		{ "nvrtcCompileProgram", CALL_COMPILE },
	};

	(void)state;
	CHECK(examples);
}

static void hip_mtia_and_opencl(void **state)
{
	static const struct example examples[] = {
		{ "hipLaunchKernel", CALL_LAUNCH },
		{ "hipExtLaunchKernel", CALL_LAUNCH },
		{ "hipModuleLaunchKernel", CALL_LAUNCH },
		{ "hipExtModuleLaunchKernel", CALL_LAUNCH },
		{ "hipHccModuleLaunchKernel", CALL_LAUNCH },
		{ "hipGraphLaunch", CALL_GRAPH_LAUNCH },
		{ "hipMemcpyWithStream", CALL_COPY },
		{ "hipMemcpyAsync", CALL_COPY_ASYNC },
		{ "hipHostMalloc", CALL_HOST_ALLOC },
		{ "hipExtMallocWithFlags", CALL_ALLOC },
		{ "hipHostFree", CALL_FREE },
		{ "hipDeviceSynchronize", CALL_SYNC_DEVICE },
		{ "hiprtcCompileProgram", CALL_COMPILE },
		{ "runFunction - job_prep_and_submit_for_execution", CALL_LAUNCH },
		{ "clEnqueueNDRangeKernel", CALL_LAUNCH },
		{ "clEnqueueReadBuffer", CALL_COPY },
		{ "clEnqueueCopyBuffer", CALL_COPY_ASYNC },
		{ "clEnqueueFillBuffer", CALL_MEMSET },
		{ "clEnqueueMemcpyINTEL", CALL_COPY },
		{ "clEnqueueMemcpyINTEL (non-blocking)", CALL_COPY_ASYNC },
		{ "clEnqueueMemsetINTEL", CALL_MEMSET },
		{ "clEnqueueMigrateMemINTEL", CALL_COPY_ASYNC },
		{ "clEnqueueAcquireGLObjects", CALL_STREAM_WAIT },
		{ "clEnqueueReleaseEGLObjectsKHR", CALL_EVENT_RECORD },
		{ "clHostMemAllocINTEL", CALL_HOST_ALLOC },
		{ "clDeviceMemAllocINTEL", CALL_ALLOC },
		{ "clMemBlockingFreeINTEL", CALL_FREE },
		{ "clFinish", CALL_SYNC_STREAM },
		{ "clWaitForEvents", CALL_SYNC_EVENT },
		{ "clBuildProgram", CALL_COMPILE },
		{ "clCreateBuffer", CALL_ALLOC },
		{ "clFlush", CALL_OTHER },
	};

	(void)state;
	CHECK(examples);
}

static void versions_do_not_matter(void **state)
{
	static const struct example examples[] = {
		{ "cudaLaunchKernel_v7000", CALL_LAUNCH },
		{ "cudaLaunchKernel_ptsz_v7000", CALL_LAUNCH },
		{ "cudaStreamSynchronize_v3020", CALL_SYNC_STREAM },
		{ "cudaStreamSynchronize_ptsz", CALL_SYNC_STREAM },
		{ "cudaMemcpy_ptds_v7000", CALL_COPY },
		{ "cuLaunchKernel_ptsz", CALL_LAUNCH },
		{ "hipLaunchKernel_spt", CALL_LAUNCH },
		{ "cudaGraphInstantiate_v2_v11000", CALL_GRAPH_BUILD },
	};

	(void)state;
	CHECK(examples);
}

/* Functions of the program that only begin like it. */
static void other_names(void **state)
{
	static const struct example examples[] = {
		{ "", CALL_OTHER },	   { "cu", CALL_OTHER },      { "_v2", CALL_OTHER },	  { "_ptsz", CALL_OTHER },
		{ "cudaX", CALL_OTHER },   { "cudamalloc", CALL_OTHER }, { "curlLaunch", CALL_OTHER }, { "INVALID", CALL_OTHER },
		{ "cuda", CALL_OTHER },	   { "12345", CALL_OTHER },   { "Memcpy", CALL_OTHER },	  { "hipster", CALL_OTHER },
	};

	(void)state;
	CHECK(examples);
	assert_int_equal(call_classify("cudaMemcpyAsync", 10), CALL_COPY); /* size counts, not the NUL */
}

static void classes(void **state)
{
	(void)state;
	assert_true(call_launches(CALL_LAUNCH));
	assert_true(call_launches(CALL_GRAPH_LAUNCH));
	assert_true(call_launches(CALL_COPY));
	assert_true(call_launches(CALL_MEMSET));
	assert_false(call_launches(CALL_SYNC_DEVICE));
	assert_false(call_launches(CALL_OTHER));
	assert_true(call_blocks(CALL_COPY));
	assert_true(call_blocks(CALL_SYNC_EVENT));
	assert_false(call_blocks(CALL_COPY_ASYNC));
	assert_false(call_blocks(CALL_STREAM_WAIT));
	assert_false(call_blocks(CALL_LAUNCH));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuda_runtime),	  cmocka_unit_test(cuda_driver), cmocka_unit_test(hip_mtia_and_opencl),
		cmocka_unit_test(versions_do_not_matter), cmocka_unit_test(other_names), cmocka_unit_test(classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
