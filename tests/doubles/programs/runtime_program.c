/* A program of the runtime API in C: its kernels are registered as nvcc's generated code does it.  Two threads, two streams each, a graph,
   memory from a pool; "runtime_program exit" ends with _exit() and no goodbye. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_runtime.h"

#define CHECK(call) \
	do { \
		cudaError_t error_ = (call); \
		if (error_ != cudaSuccess) { \
			fprintf(stderr, "%s:%d: %s is %d\n", __FILE__, __LINE__, #call, error_); \
			exit(1); \
		} \
	} while (0)

static char slow_kernel, fast_kernel;
static void **fatbin;

__attribute__((constructor)) static void register_kernels(void)
{
	static char image[] = "an image";

	fatbin = __cudaRegisterFatBinary(image);
	__cudaRegisterFunction(fatbin, &slow_kernel, "slow", "_Z10busy_300usPf", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(fatbin, &fast_kernel, "fast", "_Z10busy_5us_vPf", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(fatbin);
}

__attribute__((destructor)) static void unregister_kernels(void)
{
	__cudaUnregisterFatBinary(fatbin);
}

static void launch(const void *kernel, cudaStream_t stream)
{
	CHECK(cudaLaunchKernel(kernel, (dim3){ 4, 1, 1 }, (dim3){ 64, 1, 1 }, NULL, 0, stream));
}

static void *worker(void *number)
{
	cudaStream_t streams[2];
	void *memory;
	float values[256] = { 1 };

	CHECK(cudaSetDevice((int)(intptr_t)number));
	for (int i = 0; i < 2; i++)
		CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
	CHECK(cudaMallocAsync(&memory, sizeof(values), streams[0]));
	CHECK(cudaMemcpyAsync(memory, values, sizeof(values), cudaMemcpyHostToDevice, streams[0]));
	for (int i = 0; i < 20; i++) {
		launch(&slow_kernel, streams[0]);
		launch(&fast_kernel, streams[1]);
	}
	CHECK(cudaFreeAsync(memory, streams[0]));
	for (int i = 0; i < 2; i++) {
		CHECK(cudaStreamSynchronize(streams[i]));
		CHECK(cudaStreamDestroy(streams[i]));
	}
	return NULL;
}

static void graph(void)
{
	cudaStream_t stream;
	cudaGraph_t captured;
	cudaGraphExec_t exec;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < 3; i++)
		launch(&fast_kernel, stream);
	CHECK(cudaStreamEndCapture(stream, &captured));
	CHECK(cudaGraphInstantiate(&exec, captured, 0));
	for (int i = 0; i < 5; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(captured));
	CHECK(cudaStreamDestroy(stream));
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	int version, count;
	char properties[1032];

	CHECK(cudaRuntimeGetVersion(&version));
	CHECK(cudaGetDeviceCount(&count));
	CHECK(cudaGetDeviceProperties(properties, 0));
	if (version / 1000 != CUDART_MAJOR || count != 2 || strcmp(properties, "Double GPU") != 0)
		return 1;
	for (intptr_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, worker, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	graph();
	puts("ok");
	fflush(stdout);
	if (argc > 1 && strcmp(argv[1], "exit") == 0) {
		usleep(argc > 2 ? (useconds_t)atoi(argv[2]) * 1000 : 0);
		_exit(0);
	}
	return 0;
}
