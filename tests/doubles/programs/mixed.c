/* As many operations as it is told, 100,000 by default, of all kinds: kernels, copies each way, sets, events, waits of streams and of the
   host, graphs.  On four streams of the first of two devices; one operation is one thing that a trace has to have. */
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

#define STREAMS 4
#define BYTES 4096

static CUcontext contexts[2];
static CUfunction kernel;
static CUstream streams[STREAMS];
static CUevent events[STREAMS];
static CUgraphExec exec;
static CUdeviceptr here, there, other;  /* the last on the second device */
static unsigned char *pinned, pageable[BYTES];

static void launch(CUstream stream)
{
	CHECK(cuLaunchKernel(kernel, 2, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

/* A kernel, a set, a copy, a kernel. */
static void make_graph(void)
{
	CUgraph graph;

	CHECK(cuStreamBeginCapture_v2(streams[0], 0));
	launch(streams[0]);
	CHECK(cuMemsetD32Async(here, 5, 16, streams[0]));
	CHECK(cuMemcpyDtoDAsync_v2(there, here, 64, streams[0]));
	launch(streams[0]);
	CHECK(cuStreamEndCapture(streams[0], &graph));
	CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK(cuGraphDestroy(graph));
}

static void start(void)
{
	CUmodule module;

	CHECK(cuInit(0));
	for (int i = 1; i >= 0; i--) {
		CHECK(cuDevicePrimaryCtxRetain(&contexts[i], i));
		CHECK(cuCtxSetCurrent(contexts[i]));
		CHECK(cuMemAlloc_v2(i ? &other : &here, BYTES));
	}
	CHECK(cuMemAlloc_v2(&there, BYTES));
	CHECK(cuMemAllocHost_v2((void **)&pinned, BYTES));
	CHECK(cuModuleLoadData(&module, ""));
	CHECK(cuModuleGetFunction(&kernel, module, "busy_1us"));
	for (int i = 0; i < STREAMS; i++) {
		CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
		CHECK(cuEventCreate(&events[i], 0));
	}
	make_graph();
}

static int copies(CUstream stream)
{
	CHECK(cuMemcpyHtoDAsync_v2(here, pinned, BYTES, stream));
	CHECK(cuMemcpyHtoDAsync_v2(there, pageable, 100, stream));
	CHECK(cuMemcpyDtoDAsync_v2(there, here, 300, stream));
	CHECK(cuMemcpyPeerAsync(other, contexts[1], here, contexts[0], 200, stream));
	CHECK(cuMemcpyDtoHAsync_v2(pinned, there, 2000, stream));
	return 5;
}

/* One stream waits for another. */
static int order(int first, int second)
{
	launch(streams[first]);
	CHECK(cuEventRecord(events[first], streams[first]));
	CHECK(cuStreamWaitEvent(streams[second], events[first], 0));
	launch(streams[second]);
	return 4;
}

static int graph(CUstream stream)
{
	CHECK(cuGraphLaunch(exec, stream));
	return 4;
}

/* The host waits, each time in another way. */
static int wait_for(int round)
{
	if (round % 3 == 0)
		CHECK(cuStreamSynchronize(streams[round % STREAMS]));
	else if (round % 3 == 1)
		CHECK(cuEventSynchronize(events[round % STREAMS]));
	else
		CHECK(cuCtxSynchronize());
	return 1;
}

static int some(int round)
{
	CUstream stream = streams[round % STREAMS];
	int count = 0;

	for (; count < 12; count++)
		launch(streams[(round + count) % STREAMS]);
	count += copies(stream);
	CHECK(cuMemsetD8Async(here, 1, BYTES, stream));
	CHECK(cuMemsetD32Async(there, 2, 10, streams[(round + 1) % STREAMS]));
	count += 2 + order(round % STREAMS, (round + 1) % STREAMS) + graph(stream);
	return count + (round % 8 == 0 ? wait_for(round / 8) : 0);
}

int main(int argc, char **argv)
{
	int wanted = argc > 1 ? atoi(argv[1]) : 100000, count = 0;

	start();
	for (int round = 0; count < wanted - 1; round++)
		count += some(round);
	CHECK(cuCtxSynchronize());
	puts("ok");
	return 0;
}
