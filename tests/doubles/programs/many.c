/* As many operations as it is told, 100,000 by default, on four streams; says how long they took. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cuda.h"

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 100000, wait_every = argc > 2 ? atoi(argv[2]) : 0;
	struct timespec begin, end;
	CUcontext context;
	CUmodule module;
	CUfunction kernel;
	CUstream streams[4];

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuModuleLoadData(&module, "")
			|| cuModuleGetFunction(&kernel, module, "busy_1us"))
		return 1;
	for (int i = 0; i < 4; i++)
		if (cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING))
			return 1;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < count; i++) {
		if (cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, streams[i % 4], NULL, NULL))
			return 1;
		if (wait_every && i % wait_every == 0 && cuStreamSynchronize(streams[i % 4]))
			return 1;
	}
	if (cuCtxSynchronize())
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%d operations in %.3f s\n", count, (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
	return 0;
}
