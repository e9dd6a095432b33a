/* A thread that is known by its calls of CUDA long before it says something itself: 5 launches, a scope with 5 launches in it, 5 more. */
#include <time.h>

#include "cuda.h"
#include "inferscope.h"

static CUfunction kernel;

static int launch_five(void)
{
	struct timespec pause = { 0, 150000000 };

	for (int i = 0; i < 5; i++)
		if (cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL))
			return 1;
	nanosleep(&pause, NULL);
	return 0;
}

static int scoped(void)
{
	INFERSCOPE_SCOPE("five");
	return launch_five();
}

int main(void)
{
	CUcontext context;
	CUmodule module;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuModuleLoadData(&module, "")
			|| cuModuleGetFunction(&kernel, module, "busy_1ms"))
		return 1;
	return launch_five() || scoped() || launch_five() || cuCtxSynchronize();
}
