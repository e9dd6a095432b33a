/* Kernels of 1 ms, one after another: so many, with so many ms between them. */
#include <stdlib.h>
#include <time.h>

#include "cuda.h"

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 100, between = argc > 2 ? atoi(argv[2]) : 10;
	struct timespec pause = { between / 1000, between % 1000 * 1000000L };
	CUcontext context;
	CUmodule module;
	CUfunction kernel;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuModuleLoadData(&module, "")
			|| cuModuleGetFunction(&kernel, module, "busy_1ms"))
		return 1;
	for (int i = 0; i < count; i++) {
		if (cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) || cuCtxSynchronize())
			return 1;
		nanosleep(&pause, NULL);
	}
	return 0;
}
