/* Ends while a kernel of 500 ms runs. */
#include <time.h>

#include "cuda.h"

int main(void)
{
	struct timespec pause = { 0, 120000000 };
	CUcontext context;
	CUmodule module;
	CUfunction kernel;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuModuleLoadData(&module, "")
			|| cuModuleGetFunction(&kernel, module, "busy_500ms")
			|| cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL))
		return 1;
	nanosleep(&pause, NULL);
	return 0;
}
