/* So many threads at once, each with a stream of its own and so many kernels; with a third argument while one of the first thread runs. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda.h"

static CUcontext context;
static CUfunction kernel;
static pthread_barrier_t together;
static int launches;

static void *work(void *unused)
{
	CUstream stream;
	intptr_t failed = cuCtxSetCurrent(context) || cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);

	(void)unused;
	pthread_barrier_wait(&together);
	for (int i = 0; i < launches && !failed; i++)
		failed = cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
	pthread_barrier_wait(&together);
	return (void *)(uintptr_t)(failed || cuStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 4, failures = 0;
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));
	CUmodule module;
	CUfunction longer;
	void *failed;

	launches = argc > 2 ? atoi(argv[2]) : 10;
	if (!threads || cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuModuleLoadData(&module, "")
			|| cuModuleGetFunction(&kernel, module, "busy_5us"))
		return 1;
	if (argc > 3 && (cuModuleGetFunction(&longer, module, argv[3]) || cuLaunchKernel(longer, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL)))
		return 1;
	pthread_barrier_init(&together, NULL, (unsigned int)count);
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			return 1;
	for (int i = 0; i < count; i++) {
		pthread_join(threads[i], &failed);
		failures += failed != NULL;
	}
	if (argc > 3)
		failures += cuCtxSynchronize() != 0;
	free(threads);
	printf("%d\n", failures);
	return 0;
}
