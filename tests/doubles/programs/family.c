/* A program with CUDA and a child: "fork" one that returns from main, "fork_exit" one that ends with _exit(), "exec" the program again. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda.h"

static int use_cuda(void)
{
	CUcontext context;
	CUmodule module;
	CUfunction kernel;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuModuleLoadData(&module, "")
			|| cuModuleGetFunction(&kernel, module, "busy_1ms"))
		return 1;
	for (int i = 0; i < 5; i++)
		if (cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL))
			return 1;
	return cuCtxSynchronize();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int status = 0;
	pid_t pid;

	if (use_cuda())
		return 1;
	if (strcmp(how, "child") == 0)
		return puts("child"), 0;
	pid = fork();
	if (pid == 0) {
		if (strcmp(how, "exec") == 0)
			execl("/proc/self/exe", argv[0], "child", (char *)NULL);
		puts("child");
		fflush(stdout);
		if (strcmp(how, "fork_exit") == 0)
			_exit(0);
		return 0;
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return 1;
	puts("parent");
	return use_cuda();
}
