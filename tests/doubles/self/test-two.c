/* Two releases of libcupti in one process: one subscriber's place for both, records for each.  Threads launch while somebody flushes. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"

#define THREADS 4
#define LAUNCHES 2000

static struct cupti_functions older;
static atomic_int kernels[2];
static atomic_bool over;
static CUcontext context;
static CUfunction kernel;

static void request_small(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*size = 16384;
	*buffer = aligned_alloc(8, *size);
	*max_records = 0;
}

static void count(const struct cupti_functions *functions, int which, uint8_t *buffer, size_t valid)
{
	CUpti_Activity *record = NULL;

	while (functions->cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		if (record->kind == KIND_CONCURRENT_KERNEL)
			atomic_fetch_add(&kernels[which], 1);
	free(buffer);
}

static void complete_new(CUcontext unused, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)unused, (void)stream, (void)size;
	count(&cupti, 0, buffer, valid);
}

static void complete_old(CUcontext unused, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)unused, (void)stream, (void)size;
	count(&older, 1, buffer, valid);
}

static void *launches(void *unused)
{
	CUstream stream;

	(void)unused;
	if (cuda.cuCtxSetCurrent(context) || cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))
		abort();
	for (int i = 0; i < LAUNCHES; i++)
		if (cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL))
			abort();
	if (cuda.cuStreamSynchronize(stream) || cuda.cuStreamDestroy_v2(stream))
		abort();
	return NULL;
}

static void *flushes(void *unused)
{
	(void)unused;
	while (!atomic_load(&over))
		if (cupti.cuptiActivityFlushAll(0) || older.cuptiActivityFlushAll(0))
			abort();
	return NULL;
}

static void start(void)
{
	CUmodule module;

	assert_int_equal(cupti.cuptiActivityRegisterCallbacks(request_small, complete_new), 0);
	assert_int_equal(older.cuptiActivityRegisterCallbacks(request_small, complete_old), 0);
	assert_int_equal(cupti.cuptiActivityEnable(KIND_CONCURRENT_KERNEL), 0);
	assert_int_equal(cupti.cuptiActivityEnable(KIND_DRIVER), 0);
	assert_int_equal(older.cuptiActivityEnable(KIND_CONCURRENT_KERNEL), 0);
	assert_int_equal(cuda.cuInit(0), 0);
	assert_int_equal(cuda.cuDevicePrimaryCtxRetain(&context, 0), 0);
	assert_int_equal(cuda.cuCtxSetCurrent(context), 0);
	assert_int_equal(cuda.cuModuleLoadData(&module, "image"), 0);
	assert_int_equal(cuda.cuModuleGetFunction(&kernel, module, "busy_1us"), 0);
}

static void both_see_everything(void **state)
{
	CUpti_SubscriberHandle first, second;
	pthread_t threads[THREADS], flusher;

	(void)state;
	assert_int_equal(cupti.cuptiSubscribe(&first, NULL, NULL), 0);
	assert_int_equal(older.cuptiSubscribe(&second, NULL, NULL), 39);
	start();
	assert_int_equal(pthread_create(&flusher, NULL, flushes, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, launches, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&over, true);
	pthread_join(flusher, NULL);
	assert_int_equal(cupti.cuptiActivityFlushAll(1), 0);
	assert_int_equal(older.cuptiActivityFlushAll(1), 0);
	assert_int_equal(kernels[0], THREADS * LAUNCHES);
	assert_int_equal(kernels[1], THREADS * LAUNCHES);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(both_see_everything) };

	client_open("12.9");
	memcpy(&older, &cupti, sizeof(older));
	client_open("13.0");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
