/* The least that a profiler does when the driver loads it: says how it was called, and writes every record of its CUPTI to PROBE_OUTPUT,
   one line each: kind, correlation of an API record, start, end. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cupti.h"
#include "cupti_layout.h"

#define BUFFER (64 * 1024)

static struct {
#define MEMBER(name, parameters) CUptiResult (*name) parameters;
	CUPTI_FUNCTIONS(MEMBER)
#undef MEMBER
} cupti;
static FILE *output;
static int calls;

__attribute__((visibility("default"))) int InitializeInjection(void);

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER);
	*size = BUFFER;
	*max_records = 0;
}

static uint64_t field(const CUpti_Activity *record, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)record + offset, sizeof(value));
	return value;
}

static void write_record(const CUpti_Activity *record)
{
	if (record->kind == KIND_CONCURRENT_KERNEL)
		fprintf(output, "kernel %llu %llu\n", (unsigned long long)field(record, AT_KERNEL_start),
			(unsigned long long)field(record, AT_KERNEL_end));
	else if (record->kind == KIND_MEMCPY || record->kind == KIND_MEMSET)
		fprintf(output, "memory %llu %llu\n", (unsigned long long)field(record, AT_MEMCPY_start),
			(unsigned long long)field(record, AT_MEMCPY_end));
	else if (record->kind == KIND_RUNTIME || record->kind == KIND_DRIVER)
		fprintf(output, "call %llu %llu\n", (unsigned long long)field(record, AT_API_start),
			(unsigned long long)field(record, AT_API_end));
}

static void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context, (void)stream, (void)size;
	while (cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		write_record(record);
	free(buffer);
}

static void at_end(void)
{
	(void)cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	fclose(output);
}

static void find(void *library)
{
	void *symbol;

#define FIND(name, parameters) symbol = dlsym(library, #name); memcpy(&cupti.name, &symbol, sizeof(symbol));
	CUPTI_FUNCTIONS(FIND)
#undef FIND
}

int InitializeInjection(void)
{
	static const uint32_t kinds[] = { KIND_CONCURRENT_KERNEL, KIND_MEMCPY, KIND_MEMSET, KIND_RUNTIME, KIND_DRIVER };
	const char *path = getenv("PROBE_OUTPUT"), *name = getenv("PROBE_CUPTI");
	void *library = dlopen(name ? name : "libcupti.so.13", RTLD_NOW);
	bool enabled = true;

	if (calls++)
		return fprintf(output, "again\n"), 1;
	output = fopen(path ? path : "/dev/null", "w");
	if (!output || !library)
		return output ? (fprintf(output, "no libcupti\n"), fclose(output), 1) : 1;
	find(library);
	fprintf(output, "initialized on thread %d\n", gettid() == getpid());
	enabled &= cupti.cuptiActivityRegisterCallbacks(request, complete) == CUPTI_SUCCESS;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		enabled &= cupti.cuptiActivityEnable(kinds[i]) == CUPTI_SUCCESS;
	fprintf(output, "enabled %d\n", enabled);
	atexit(at_end);
	return 1;
}
