/* A program of the driver API: two devices, streams, events, copies, a captured graph.  Ends with 0 when every call did what it should. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"

#define CHECK(call) \
	do { \
		CUresult result_ = (call); \
		if (result_ != CUDA_SUCCESS) { \
			fprintf(stderr, "%s:%d: %s is %d\n", __FILE__, __LINE__, #call, result_); \
			exit(1); \
		} \
	} while (0)

#define WANT(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
			exit(1); \
		} \
	} while (0)

#define BYTES (1 << 20)

static void launch(CUfunction kernel, CUstream stream)
{
	CHECK(cuLaunchKernel(kernel, 8, 1, 1, 128, 1, 1, 0, stream, NULL, NULL));
}

static void copies(CUstream stream)
{
	unsigned char *host;
	CUdeviceptr device;

	CHECK(cuMemAllocHost_v2((void **)&host, BYTES));
	CHECK(cuMemAlloc_v2(&device, BYTES));
	memset(host, 7, BYTES);
	CHECK(cuMemcpyHtoDAsync_v2(device, host, BYTES, stream));
	CHECK(cuMemsetD8Async(device, 9, BYTES / 2, stream));
	CHECK(cuMemcpyDtoHAsync_v2(host, device, BYTES, stream));
	CHECK(cuStreamSynchronize(stream));
	WANT(host[0] == 9 && host[BYTES / 2 - 1] == 9 && host[BYTES / 2] == 7 && host[BYTES - 1] == 7);
	CHECK(cuMemFree_v2(device));
	CHECK(cuMemFreeHost(host));
}

static void events(CUfunction kernel, CUstream first, CUstream second)
{
	CUevent begin, end;
	float milliseconds;
	CUresult result;

	CHECK(cuEventCreate(&begin, 0));
	CHECK(cuEventCreate(&end, 0));
	CHECK(cuEventRecord(begin, first));
	launch(kernel, first);
	CHECK(cuEventRecord(end, first));
	CHECK(cuStreamWaitEvent(second, end, 0));
	launch(kernel, second);
	result = cuEventQuery(end);             /* over only if we were kept off the processor for 5 ms */
	WANT(result == CUDA_ERROR_NOT_READY || result == CUDA_SUCCESS);
	CHECK(cuEventSynchronize(end));
	CHECK(cuEventElapsedTime(&milliseconds, begin, end));
	WANT(milliseconds >= 5.0f && milliseconds < 500.0f);
	CHECK(cuStreamSynchronize(second));
	CHECK(cuEventDestroy_v2(begin));
	CHECK(cuEventDestroy_v2(end));
}

static void graph(CUfunction kernel, CUstream stream, CUstream other)
{
	CUevent fork, join;
	CUgraph captured;
	CUgraphExec exec;
	size_t count;

	CHECK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	CHECK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
	CHECK(cuStreamBeginCapture_v2(stream, 0));
	launch(kernel, stream);
	CHECK(cuEventRecord(fork, stream));
	CHECK(cuStreamWaitEvent(other, fork, 0));
	launch(kernel, other);
	launch(kernel, stream);
	CHECK(cuEventRecord(join, other));
	CHECK(cuStreamWaitEvent(stream, join, 0));
	launch(kernel, stream);
	CHECK(cuStreamEndCapture(stream, &captured));
	CHECK(cuGraphGetNodes(captured, NULL, &count));
	WANT(count == 4);
	CHECK(cuGraphInstantiateWithFlags(&exec, captured, 0));
	CHECK(cuGraphLaunch(exec, stream));
	CHECK(cuGraphLaunch(exec, stream));
	CHECK(cuStreamSynchronize(stream));
	CHECK(cuGraphExecDestroy(exec));
	CHECK(cuGraphDestroy(captured));
	CHECK(cuEventDestroy_v2(fork));
	CHECK(cuEventDestroy_v2(join));
}

static void one_device(int index)
{
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction five, short_one;
	CUstream first, second;

	CHECK(cuDeviceGet(&device, index));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, "an image"));
	CHECK(cuModuleGetFunction(&five, module, "busy_5ms"));
	CHECK(cuModuleGetFunction(&short_one, module, "busy_20us"));
	CHECK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
	copies(first);
	events(five, first, second);
	graph(short_one, first, second);
	CHECK(cuCtxSynchronize());
	CHECK(cuStreamDestroy_v2(first));
	CHECK(cuStreamDestroy_v2(second));
	CHECK(cuModuleUnload(module));
	CHECK(cuDevicePrimaryCtxRelease_v2(device));
}

int main(void)
{
	int count, status;
	void *function;
	const void *table;
	CUuuid any = { { 1 } };

	WANT(cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED);
	CHECK(cuInit(0));
	CHECK(cuInit(0));
	CHECK(cuDeviceGetCount(&count));
	WANT(cuGetExportTable(&table, &any) == CUDA_ERROR_NOT_FOUND);
	CHECK(cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, &status));
	WANT(function == (void *)(uintptr_t)cuMemAlloc_v2 && status == 0);
	CHECK(cuGetProcAddress_v2("cuLaunchKernel", &function, 12000, 2, &status));
	WANT(function == (void *)(uintptr_t)cuLaunchKernel_ptsz);
	CHECK(cuGetProcAddress_v2("cuLaunchKernelEx", &function, 11000, 0, &status));
	WANT(!function && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	for (int i = 0; i < count; i++)
		one_device(i);
	puts("ok");
	return 0;
}
