/* A program of the runtime API that resets its device again and again, with kernels that its records only point to. */
#include <stdio.h>
#include <stdlib.h>

#include "cuda_runtime.h"

#define CHECK(call) \
	do { \
		cudaError_t error_ = (call); \
		if (error_ != cudaSuccess) { \
			fprintf(stderr, "%s:%d: %s is %d\n", __FILE__, __LINE__, #call, error_); \
			exit(1); \
		} \
	} while (0)

static char kernel;

int main(int argc, char **argv)
{
	static char image[] = "an image";
	void **fatbin = __cudaRegisterFatBinary(image);

	__cudaRegisterFunction(fatbin, &kernel, "kernel", "_Z9busy_20usPf", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(fatbin);
	for (int turn = argc > 1 ? atoi(argv[1]) : 10; turn > 0; turn--) {
		for (int i = 0; i < 3; i++)
			CHECK(cudaLaunchKernel(&kernel, (dim3){ 4, 1, 1 }, (dim3){ 64, 1, 1 }, NULL, 0, NULL));
		if (turn % 2)
			CHECK(cudaDeviceSynchronize());
		CHECK(cudaDeviceReset());
	}
	__cudaUnregisterFatBinary(fatbin);
	puts("ok");
	return 0;
}
