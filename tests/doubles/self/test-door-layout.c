/* What the CUDA door knows of records (src/cuda/layout.h) against what the doubles know, which double-real holds against NVIDIA's headers;
   and the question for sizes against every release, and against a real libcupti where one is installed. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "cuda/layout.h"
#include "layout-of-doubles.h"

static const struct row {
	const char *record, *field;
	int offset;
} rows[] = {
	{ "KERNEL", "registersPerThread", AT_KERNEL_REGISTERS }, { "KERNEL", "start", AT_KERNEL_START }, { "KERNEL", "end", AT_KERNEL_END },
	{ "KERNEL", "deviceId", AT_KERNEL_DEVICE }, { "KERNEL", "contextId", AT_KERNEL_CONTEXT }, { "KERNEL", "streamId", AT_KERNEL_STREAM },
	{ "KERNEL", "gridX", AT_KERNEL_GRID }, { "KERNEL", "gridZ", AT_KERNEL_GRID + 8 }, { "KERNEL", "blockX", AT_KERNEL_BLOCK },
	{ "KERNEL", "blockZ", AT_KERNEL_BLOCK + 8 }, { "KERNEL", "staticSharedMemory", AT_KERNEL_STATIC_SHARED },
	{ "KERNEL", "dynamicSharedMemory", AT_KERNEL_DYNAMIC_SHARED }, { "KERNEL", "correlationId", AT_KERNEL_CORRELATION },
	{ "KERNEL", "name", AT_KERNEL_NAME }, { "KERNEL", "launchType", AT_KERNEL_LAUNCH_TYPE },
	{ "KERNEL", "graphNodeId", AT_KERNEL_GRAPH_NODE }, { "KERNEL", "graphId", AT_KERNEL_GRAPH }, { "KERNEL", "clusterX", AT_KERNEL_CLUSTER },
	{ "KERNEL", "clusterZ", AT_KERNEL_CLUSTER + 8 },
	{ "MEMCPY", "copyKind", AT_MEMCPY_KIND }, { "MEMCPY", "srcKind", AT_MEMCPY_FROM }, { "MEMCPY", "dstKind", AT_MEMCPY_TO },
	{ "MEMCPY", "bytes", AT_MEMCPY_BYTES }, { "MEMCPY", "start", AT_MEMCPY_START }, { "MEMCPY", "end", AT_MEMCPY_END },
	{ "MEMCPY", "deviceId", AT_MEMCPY_DEVICE }, { "MEMCPY", "contextId", AT_MEMCPY_CONTEXT }, { "MEMCPY", "streamId", AT_MEMCPY_STREAM },
	{ "MEMCPY", "correlationId", AT_MEMCPY_CORRELATION }, { "MEMCPY", "graphNodeId", AT_MEMCPY_GRAPH_NODE },
	{ "MEMCPY", "graphId", AT_MEMCPY_GRAPH },
	{ "MEMCPY2", "copyKind", AT_MEMCPY_KIND }, { "MEMCPY2", "srcKind", AT_MEMCPY_FROM }, { "MEMCPY2", "dstKind", AT_MEMCPY_TO },
	{ "MEMCPY2", "bytes", AT_MEMCPY_BYTES }, { "MEMCPY2", "start", AT_MEMCPY_START }, { "MEMCPY2", "end", AT_MEMCPY_END },
	{ "MEMCPY2", "deviceId", AT_MEMCPY_DEVICE }, { "MEMCPY2", "contextId", AT_MEMCPY_CONTEXT }, { "MEMCPY2", "streamId", AT_MEMCPY_STREAM },
	{ "MEMCPY2", "srcDeviceId", AT_MEMCPY2_FROM_DEVICE }, { "MEMCPY2", "dstDeviceId", AT_MEMCPY2_TO_DEVICE },
	{ "MEMCPY2", "correlationId", AT_MEMCPY2_CORRELATION }, { "MEMCPY2", "graphNodeId", AT_MEMCPY2_GRAPH_NODE },
	{ "MEMCPY2", "graphId", AT_MEMCPY2_GRAPH },
	{ "MEMSET", "bytes", AT_MEMSET_BYTES }, { "MEMSET", "start", AT_MEMSET_START }, { "MEMSET", "end", AT_MEMSET_END },
	{ "MEMSET", "deviceId", AT_MEMSET_DEVICE }, { "MEMSET", "contextId", AT_MEMSET_CONTEXT }, { "MEMSET", "streamId", AT_MEMSET_STREAM },
	{ "MEMSET", "correlationId", AT_MEMSET_CORRELATION }, { "MEMSET", "memoryKind", AT_MEMSET_MEMORY },
	{ "MEMSET", "graphNodeId", AT_MEMSET_GRAPH_NODE }, { "MEMSET", "graphId", AT_MEMSET_GRAPH },
	{ "API", "cbid", AT_API_CALL }, { "API", "start", AT_API_START }, { "API", "end", AT_API_END }, { "API", "threadId", AT_API_THREAD },
	{ "API", "correlationId", AT_API_CORRELATION },
	{ "SYNC", "type", AT_SYNC_TYPE }, { "SYNC", "start", AT_SYNC_START }, { "SYNC", "end", AT_SYNC_END },
	{ "SYNC", "correlationId", AT_SYNC_CORRELATION }, { "SYNC", "contextId", AT_SYNC_CONTEXT }, { "SYNC", "streamId", AT_SYNC_STREAM },
	{ "SYNC", "cudaEventId", AT_SYNC_EVENT }, { "SYNC", "cudaEventSyncId", AT_SYNC_EVENT_SYNC },
	{ "EVENT", "correlationId", AT_EVENT_CORRELATION }, { "EVENT", "contextId", AT_EVENT_CONTEXT }, { "EVENT", "eventId", AT_EVENT_EVENT },
	{ "EVENT", "cudaEventSyncId", AT_EVENT_EVENT_SYNC },
	{ "OVERHEAD", "overheadKind", AT_OVERHEAD_KIND }, { "OVERHEAD", "objectKind", AT_OVERHEAD_OBJECT },
	{ "OVERHEAD", "objectId", AT_OVERHEAD_THREAD - 4 }, { "OVERHEAD", "start", AT_OVERHEAD_START }, { "OVERHEAD", "end", AT_OVERHEAD_END },
	{ "MEMORY2", "memoryOperationType", AT_MEMORY_OPERATION }, { "MEMORY2", "memoryKind", AT_MEMORY_KIND },
	{ "MEMORY2", "correlationId", AT_MEMORY_CORRELATION }, { "MEMORY2", "address", AT_MEMORY_ADDRESS }, { "MEMORY2", "bytes", AT_MEMORY_BYTES },
	{ "MEMORY2", "timestamp", AT_MEMORY_TIME }, { "MEMORY2", "deviceId", AT_MEMORY_DEVICE },
	{ "POOL", "memoryPoolOperationType", AT_POOL_OPERATION }, { "POOL", "correlationId", AT_POOL_CORRELATION },
	{ "POOL", "deviceId", AT_POOL_DEVICE }, { "POOL", "address", AT_POOL_ADDRESS }, { "POOL", "size", AT_POOL_SIZE }, { "POOL", "timestamp", AT_POOL_TIME },
	{ "ENVIRONMENT", "deviceId", AT_ENVIRONMENT_DEVICE }, { "ENVIRONMENT", "timestamp", AT_ENVIRONMENT_TIME },
	{ "ENVIRONMENT", "environmentKind", AT_ENVIRONMENT_KIND }, { "ENVIRONMENT", "smClock", AT_ENVIRONMENT_SM_CLOCK },
	{ "ENVIRONMENT", "memoryClock", AT_ENVIRONMENT_MEMORY_CLOCK }, { "ENVIRONMENT", "pcieLinkGen", AT_ENVIRONMENT_PCIE_GENERATION },
	{ "ENVIRONMENT", "pcieLinkWidth", AT_ENVIRONMENT_PCIE_WIDTH }, { "ENVIRONMENT", "clocksThrottleReasons", AT_ENVIRONMENT_REASONS },
	{ "ENVIRONMENT", "gpuTemperature", AT_ENVIRONMENT_TEMPERATURE }, { "ENVIRONMENT", "power", AT_ENVIRONMENT_POWER },
	{ "ENVIRONMENT", "powerLimit", AT_ENVIRONMENT_POWER_LIMIT }, { "ENVIRONMENT", "fanSpeed", AT_ENVIRONMENT_FAN },
	{ "HOSTLAUNCH", "streamId", AT_HOST_STREAM }, { "HOSTLAUNCH", "contextId", AT_HOST_CONTEXT },
	{ "HOSTLAUNCH", "deviceId", AT_HOST_DEVICE }, { "HOSTLAUNCH", "correlationId", AT_HOST_CORRELATION },
	{ "HOSTLAUNCH", "threadId", AT_HOST_LAUNCH_THREAD }, { "HOSTLAUNCH", "start", AT_HOST_LAUNCH_START },
	{ "HOSTLAUNCH", "end", AT_HOST_LAUNCH_END },
	{ "HOSTNODE", "streamId", AT_HOST_STREAM }, { "HOSTNODE", "contextId", AT_HOST_CONTEXT }, { "HOSTNODE", "deviceId", AT_HOST_DEVICE },
	{ "HOSTNODE", "correlationId", AT_HOST_CORRELATION }, { "HOSTNODE", "graphId", AT_HOST_NODE_GRAPH },
	{ "HOSTNODE", "graphNodeId", AT_HOST_NODE_NODE }, { "HOSTNODE", "threadId", AT_HOST_NODE_THREAD },
	{ "HOSTNODE", "start", AT_HOST_NODE_START }, { "HOSTNODE", "end", AT_HOST_NODE_END },
	{ "CONTEXT", "contextId", AT_CONTEXT_CONTEXT }, { "CONTEXT", "deviceId", AT_CONTEXT_DEVICE },
	{ "CONTEXT", "nullStreamId", AT_CONTEXT_NULL_STREAM },
	{ "DEVICE", "globalMemoryBandwidth", AT_DEVICE_BANDWIDTH }, { "DEVICE", "globalMemorySize", AT_DEVICE_MEMORY },
	{ "DEVICE", "coreClockRate", AT_DEVICE_CLOCK }, { "DEVICE", "numMemcpyEngines", AT_DEVICE_COPY_ENGINES },
	{ "DEVICE", "numMultiprocessors", AT_DEVICE_PROCESSORS }, { "DEVICE", "computeCapabilityMajor", AT_DEVICE_MAJOR },
	{ "DEVICE", "computeCapabilityMinor", AT_DEVICE_MINOR }, { "DEVICE", "id", AT_DEVICE_NUMBER }, { "DEVICE", "uuid", AT_DEVICE_UUID },
	{ "DEVICE", "name", AT_DEVICE_NAME }, { "DEVICE", "isCudaVisible", AT_DEVICE_VISIBLE },
	{ "NAME", "objectKind", AT_NAME_OBJECT }, { "NAME", "objectId", AT_NAME_DEVICE }, { "NAME", "name", AT_NAME_NAME },
};

static void test_places_are_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(rows[i].offset, offset_in_doubles(rows[i].record, rows[i].field));
}

static int release;

static int next(uint8_t *buffer, size_t valid, void **record)
{
	uint8_t *at = *record ? (uint8_t *)*record + size_in_doubles(release, *(uint32_t *)*record) : buffer;
	size_t size;

	if ((size_t)(at - buffer) + 4 > valid)
		return 12;
	size = size_in_doubles(release, *(uint32_t *)at);
	if (!size || size > valid - (size_t)(at - buffer))
		return size ? 12 : 21;
	*record = at;
	return 0;
}

static int came_with(unsigned kind)
{
	return kind == KIND_HOST_NODE || kind == KIND_HOST_LAUNCH ? 1301 : 0;
}

static void test_sizes_of_every_release(void **state)
{
	static const int releases[] = { 1107, 1108, 1200, 1201, 1202, 1203, 1204, 1205, 1206, 1208, 1209, 1300, 1301, 1302, 1303, 1304,
		1309 };
	uint16_t sizes[KIND_LIMIT];

	(void)state;
	for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++) {
		release = releases[i];
		layout_ask(next, sizes);
		for (unsigned kind = 0; kind < KIND_LIMIT; kind++) {
			assert_int_equal(sizes[kind], layout_least(kind) ? size_in_doubles(release, kind) : 0);
			assert_true(!layout_least(kind) || sizes[kind] >= layout_least(kind) || (came_with(kind) > release && !sizes[kind]));
		}
	}
}

static int refuse(uint8_t *buffer, size_t valid, void **record)
{
	(void)buffer, (void)valid, (void)record;
	return 999;
}

static int stay(uint8_t *buffer, size_t valid, void **record)
{
	(void)valid;
	*record = buffer;
	return 0;
}

static int leap(uint8_t *buffer, size_t valid, void **record)
{
	*record = *record ? buffer + valid + 4096 : buffer;
	return 0;
}

static int shrink(uint8_t *buffer, size_t valid, void **record)
{
	(void)valid;
	*record = *record ? buffer + 8 : buffer;
	return 0;
}

static void test_sizes_that_cannot_be(void **state)
{
	static layout_walk *const walks[] = { refuse, stay, leap, shrink };
	uint16_t sizes[KIND_LIMIT];

	(void)state;
	for (size_t i = 0; i < sizeof(walks) / sizeof(*walks); i++) {
		memset(sizes, 1, sizeof(sizes));
		layout_ask(walks[i], sizes);
		for (unsigned kind = 0; kind < KIND_LIMIT; kind++)
			assert_int_equal(sizes[kind], 0);
	}
}

static void test_what_is_behind_the_end_is_0(void **state)
{
	uint8_t bytes[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct record r = { bytes, 6 };

	(void)state;
	assert_int_equal(record_u16(r, 4), 0x0605);
	assert_int_equal(record_u16(r, 5), 0);
	assert_int_equal(record_u32(r, 2), 0x06050403);
	assert_int_equal(record_u32(r, 3), 0);
	assert_int_equal(record_u64(r, 0), 0);
	assert_int_equal(record_u8(r, 6), 0);
}

static void put(uint8_t *at, uint32_t kind)
{
	memcpy(at, &kind, sizeof(kind));
}

/* Without a library to ask: as far as it has been written to. */
static void test_walking_alone(void **state)
{
	uint16_t sizes[KIND_LIMIT] = { [KIND_KERNEL] = 216, [KIND_RUNTIME] = 40 };
	_Alignas(8) uint8_t buffer[512] = { 0 };
	void *record = NULL;

	(void)state;
	assert_int_equal(layout_valid(sizes, buffer, sizeof(buffer)), 0);
	assert_int_equal(layout_first(sizes, buffer, 0, &record), 21);
	put(buffer, KIND_RUNTIME);
	put(buffer + 40, KIND_KERNEL);
	assert_int_equal(layout_valid(sizes, buffer, sizeof(buffer)), 256);
	assert_int_equal(layout_first(sizes, buffer, 256, &record), 0);
	assert_ptr_equal(record, buffer);
	assert_int_equal(layout_record(sizes, buffer + 40, buffer + 256), 216);
	assert_int_equal(layout_record(sizes, buffer + 40, buffer + 255), 0);
	assert_int_equal(layout_first(sizes, buffer + 40, 215, &record), 12); /* cut */
	assert_int_equal(layout_valid(sizes, buffer, 255), 48);               /* a kernel that cannot be there */
	put(buffer + 256, 63);
	assert_int_equal(layout_valid(sizes, buffer, sizeof(buffer)), 264); /* something that is no record of ours */
	assert_int_equal(layout_first(sizes, buffer + 256, 8, &record), 21);
	put(buffer + 256, 0xffffffff);
	assert_int_equal(layout_valid(sizes, buffer, 260), 260);
}

static void test_real_library(void **state)
{
	static const char *const places[] = { "/usr/local/cuda-13.0/lib64/libcupti.so.13", "/usr/local/cuda-13.0/extras/CUPTI/lib64/libcupti.so.13" };
	void *library = NULL, *symbol;
	layout_walk *real;
	uint16_t sizes[KIND_LIMIT];

	(void)state;
	for (size_t i = 0; i < 2 && !library; i++)
		library = dlopen(places[i], RTLD_LAZY);
	if (!library)
		skip();
	symbol = dlsym(library, "cuptiActivityGetNextRecord");
	assert_non_null(symbol);
	memcpy(&real, &symbol, sizeof(real));
	layout_ask(real, sizes);
	for (unsigned kind = 0; kind < KIND_LIMIT; kind++)
		assert_int_equal(sizes[kind], layout_least(kind) ? size_in_doubles(1300, kind) : 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places_are_the_same), cmocka_unit_test(test_sizes_of_every_release),
		cmocka_unit_test(test_sizes_that_cannot_be), cmocka_unit_test(test_what_is_behind_the_end_is_0),
		cmocka_unit_test(test_walking_alone), cmocka_unit_test(test_real_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
