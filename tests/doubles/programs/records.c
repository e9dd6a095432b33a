/* What most programs do not do, so that records have all of their fields: records copies | pools | contexts N | primary N | kernels | full | host.
   Ends with "ok" when every call did what it should. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda.h"

#define CHECK(call) \
	do { \
		CUresult result_ = (call); \
		if (result_ != CUDA_SUCCESS) { \
			fprintf(stderr, "%s:%d: %s is %d\n", __FILE__, __LINE__, #call, result_); \
			exit(1); \
		} \
	} while (0)

#define BYTES 8192
#define KINDS 4

static CUcontext contexts[2];
static CUstream streams[2];
static CUdeviceptr device[2], managed[2];

static void use_device(int index)
{
	CHECK(cuDevicePrimaryCtxRetain(&contexts[index], index));
	CHECK(cuCtxSetCurrent(contexts[index]));
	CHECK(cuStreamCreate(&streams[index], CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc_v2(&device[index], BYTES));
	CHECK(cuMemAllocManaged(&managed[index], BYTES, 1));
}

/* From each kind of memory to each other, and to itself; every copy is of another size. */
static void copy_kinds(CUstream stream, CUdeviceptr pinned)
{
	static unsigned char pageable[BYTES];
	const CUdeviceptr memory[KINDS] = { (CUdeviceptr)(uintptr_t)pageable, pinned, device[0], managed[0] };

	for (unsigned int from = 0; from < KINDS; from++)
		for (unsigned int to = 0; to < KINDS; to++)
			CHECK(cuMemcpyAsync(memory[to], memory[from], 100 + 10 * from + to, stream));
	for (unsigned int to = 1; to < KINDS; to++)
		CHECK(cuMemsetD8Async(memory[to], 1, 200 + to, stream));
}

/* Both ways between the devices, on a stream of either. */
static void copy_peers(void)
{
	for (int on = 0; on < 2; on++)
		for (int to = 0; to < 2; to++) {
			CHECK(cuMemcpyPeerAsync(device[to], contexts[to], device[!to], contexts[!to], 300 + 10 * (size_t)on + (size_t)to,
				streams[on]));
			CHECK(cuMemcpyPeerAsync(device[to], contexts[to], managed[!to], contexts[!to], 400 + 10 * (size_t)on + (size_t)to,
				streams[on]));
		}
}

static void copies(void)
{
	void *pinned;

	use_device(1);
	use_device(0);
	CHECK(cuMemAllocHost_v2(&pinned, BYTES));
	copy_kinds(streams[0], (CUdeviceptr)(uintptr_t)pinned);
	copy_peers();
	for (int i = 0; i < 2; i++)
		CHECK(cuStreamSynchronize(streams[i]));
	for (int i = 0; i < 2; i++) {
		CHECK(cuMemFree_v2(device[i]));
		CHECK(cuMemFree_v2(managed[i]));
	}
	CHECK(cuMemFreeHost(pinned));
}

/* Two allocations, of which one goes, so that trimming leaves something. */
static void pool(int index)
{
	CUmemPoolProps properties = { .allocType = 1, .location = { 1, index } };
	CUmemoryPool pool;
	CUdeviceptr first, second;

	use_device(index);
	CHECK(cuMemPoolCreate(&pool, &properties));
	CHECK(cuMemAllocFromPoolAsync(&first, 3000 + (size_t)index, pool, streams[index]));
	CHECK(cuMemAllocFromPoolAsync(&second, 500 + (size_t)index, pool, streams[index]));
	CHECK(cuMemFreeAsync(first, streams[index]));
	CHECK(cuStreamSynchronize(streams[index]));
	CHECK(cuMemPoolTrimTo(pool, 100));
	CHECK(cuMemFreeAsync(second, streams[index]));
	CHECK(cuStreamSynchronize(streams[index]));
	CHECK(cuMemPoolDestroy(pool));
}

static void launch(CUfunction kernel, CUstream stream)
{
	CHECK(cuLaunchKernel(kernel, 8, 1, 1, 128, 1, 1, 0, stream, NULL, NULL));
}

static CUfunction load(const char *name)
{
	CUmodule module;
	CUfunction kernel;

	CHECK(cuModuleLoadData(&module, "an image"));
	CHECK(cuModuleGetFunction(&kernel, module, name));
	return kernel;
}

/* A context that ends with its module; every second one while its kernels still run. */
static void context(int turn, int primary)
{
	CUcontext made;
	char name[32];
	CUfunction kernel;

	if (primary)
		CHECK(cuDevicePrimaryCtxRetain(&made, 0));
	else
		CHECK(cuCtxCreate_v2(&made, 0, 0));
	CHECK(cuCtxSetCurrent(made));
	snprintf(name, sizeof(name), "busy_20us_%d", turn);
	kernel = load(name);
	for (int i = 0; i < 3; i++)
		launch(kernel, NULL);
	if (turn % 2)
		CHECK(cuCtxSynchronize());
	if (primary)
		CHECK(cuDevicePrimaryCtxReset_v2(0));
	else
		CHECK(cuCtxDestroy_v2(made));
}

/* As usual, with clusters, cooperative in both ways; and from a graph. */
static void launches(CUfunction kernel, CUstream stream)
{
	CUlaunchAttribute attributes[2] = { { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = { 4, 2, 1 } },
		{ .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1 } };
	CUlaunchConfig config = { 8, 2, 1, 64, 1, 1, 0, stream, attributes, 0 };

	launch(kernel, stream);
	for (; config.numAttrs < 3; config.numAttrs++)
		CHECK(cuLaunchKernelEx(&config, kernel, NULL, NULL));
	CHECK(cuLaunchCooperativeKernel(kernel, 8, 1, 1, 128, 1, 1, 0, stream, NULL));
}

static void kernels(void)
{
	CUgraph graph;
	CUgraphExec exec;
	CUfunction kernel;

	use_device(0);
	kernel = load("busy_20us");
	launches(kernel, streams[0]);
	CHECK(cuStreamBeginCapture_v2(streams[0], 0));
	launches(kernel, streams[0]);
	CHECK(cuStreamEndCapture(streams[0], &graph));
	CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK(cuGraphLaunch(exec, streams[0]));
	CHECK(cuStreamSynchronize(streams[0]));
}

/* More launches than a stream has room for, while the first kernel runs; twice. */
static void full(void)
{
	CUfunction first, other;

	use_device(0);
	first = load("busy_150ms");
	other = load("busy_1us");
	for (int i = 0; i < 3000; i++)
		launch(i % 1500 ? other : first, streams[0]);
	CHECK(cuStreamSynchronize(streams[0]));
}

static void rest(void *nanoseconds)
{
	nanosleep(&(struct timespec){ 0, *(long *)nanoseconds }, NULL);
}

/* Kernels with functions of the host between them, alone and in a graph; and on a stream of the other device. */
static void host(void)
{
	static long short_rest = 2000000, long_rest = 50000000;
	CUgraph graph;
	CUgraphExec exec;
	CUfunction kernels[2];

	for (int i = 1; i >= 0; i--) {
		use_device(i);
		kernels[i] = load("busy_20us");
	}
	CHECK(cuLaunchHostFunc(streams[1], rest, &short_rest));
	launch(kernels[0], streams[0]);
	CHECK(cuLaunchHostFunc(streams[0], rest, &long_rest));
	CHECK(cuLaunchHostFunc(streams[0], rest, &long_rest));
	launch(kernels[0], streams[0]);
	CHECK(cuStreamSynchronize(streams[0]));
	CHECK(cuStreamBeginCapture_v2(streams[0], 0));
	launch(kernels[0], streams[0]);
	CHECK(cuLaunchHostFunc(streams[0], rest, &short_rest));
	CHECK(cuLaunchHostFunc(streams[0], rest, &short_rest));
	CHECK(cuStreamEndCapture(streams[0], &graph));
	CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK(cuGraphLaunch(exec, streams[0]));
	CHECK(cuGraphLaunch(exec, streams[0]));
	CHECK(cuStreamSynchronize(streams[0]));
	CHECK(cuStreamSynchronize(streams[1]));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	CHECK(cuInit(0));
	if (strcmp(what, "copies") == 0)
		copies();
	for (int i = 0; i < 2 && strcmp(what, "pools") == 0; i++)
		pool(i);
	for (int i = 0; argc > 2 && i < atoi(argv[2]); i++)
		context(i, strcmp(what, "primary") == 0);
	if (strcmp(what, "kernels") == 0)
		kernels();
	if (strcmp(what, "full") == 0)
		full();
	if (strcmp(what, "host") == 0)
		host();
	puts("ok");
	return 0;
}
