#include "client.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cuda_functions cuda;
struct cupti_functions cupti;
struct seen seen;
size_t client_buffer_size = 65536;
int client_release;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int main_thread;
static CUmodule module;

static void find(void *library, const char *name, void *place)
{
	void *symbol = library ? dlsym(library, name) : NULL;

	memcpy(place, &symbol, sizeof(symbol));
}

void client_open(const char *release)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *library;
	char name[64];
	int major, minor;

	if (sscanf(release, "%d.%d", &major, &minor) != 2)
		abort();
	client_release = major * 100 + minor;
	snprintf(name, sizeof(name), major == 11 ? "libcupti.so.%d.%d" : "libcupti.so.%d", major, minor);
	library = dlopen(name, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
#define FIND(function, parameters) find(driver, #function, &cuda.function);
#define FIND_PTSZ(function, parameters) find(driver, #function, &cuda.function); find(driver, #function "_ptsz", &cuda.function##_ptsz);
#define FIND_CUPTI(function, parameters) find(library, #function, &cupti.function);
	CUDA_PLAIN(FIND)
	CUDA_STREAMED(FIND_PTSZ)
	CUDA_DEFAULTED(FIND)
	CUPTI_FUNCTIONS(FIND_CUPTI)
	main_thread = gettid();
}

void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	bool known = false;

	pthread_mutex_lock(&lock);
	seen.requests++;
	for (int i = 0; i < seen.request_thread_count; i++)
		known |= seen.request_threads[i] == gettid();
	if (!known && seen.request_thread_count < 64)
		seen.request_threads[seen.request_thread_count++] = gettid();
	pthread_mutex_unlock(&lock);
	*buffer = client_buffer_size ? aligned_alloc(8, client_buffer_size) : NULL;
	*size = client_buffer_size;
	*max_records = 0;
}

static void keep(const uint8_t *record)
{
	size_t size = layout_size(client_release, (int)value(record, 0, 4));

	if (seen.count == CLIENT_RECORDS)
		abort();
	seen.records[seen.count] = malloc(size);
	memcpy(seen.records[seen.count++], record, size);
}

void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *record = NULL;
	size_t dropped = 0;

	(void)context, (void)stream, (void)size;
	(void)cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
	pthread_mutex_lock(&lock);
	seen.buffers++;
	seen.dropped += dropped;
	seen.foreign_completions += gettid() != main_thread;
	while ((seen.last_result = cupti.cuptiActivityGetNextRecord(buffer, valid, &record)) == CUPTI_SUCCESS)
		keep((const uint8_t *)record);
	pthread_mutex_unlock(&lock);
	free(buffer);
}

void client_start(const uint32_t *kinds)
{
	CUcontext context;

	if (cupti.cuptiActivityRegisterCallbacks(request, complete))
		abort();
	for (; *kinds; kinds++)
		if (cupti.cuptiActivityEnable(*kinds))
			abort();
	if (cuda.cuInit(0) || cuda.cuDevicePrimaryCtxRetain(&context, 0) || cuda.cuCtxSetCurrent(context)
			|| cuda.cuModuleLoadData(&module, "image"))
		abort();
}

void client_forget(void)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < seen.count; i++)
		free(seen.records[i]);
	memset(&seen, 0, sizeof(seen));
	pthread_mutex_unlock(&lock);
}

CUfunction client_kernel(const char *name)
{
	CUfunction kernel;

	if (cuda.cuModuleGetFunction(&kernel, module, name))
		abort();
	return kernel;
}

void client_launch(const char *name, CUstream stream)
{
	if (cuda.cuLaunchKernel(client_kernel(name), 2, 1, 1, 32, 1, 1, 0, stream, NULL, NULL))
		abort();
}

int client_count(int kind)
{
	int count = 0;

	for (int i = 0; i < seen.count; i++)
		count += value(seen.records[i], 0, 4) == (uint64_t)kind;
	return count;
}

uint8_t *client_record(int kind, int nth)
{
	for (int i = 0; i < seen.count; i++)
		if (value(seen.records[i], 0, 4) == (uint64_t)kind && nth-- == 0)
			return seen.records[i];
	return NULL;
}

uint64_t value(const uint8_t *record, size_t offset, size_t width)
{
	uint64_t number = 0;

	memcpy(&number, record + offset, width < sizeof(number) ? width : sizeof(number));
	return number;
}
