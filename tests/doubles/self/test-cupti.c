/* One release of the double's libcupti: its sizes, its codes, its buffers, and whether its records are the truth.
   test-cupti RELEASE, with LD_LIBRARY_PATH and DOUBLE_TRUTH set. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"

static CUstream streams[3];

static void synchronize(void)
{
	assert_int_equal(cuda.cuCtxSynchronize(), 0);
}

/* Before anything is registered or initialised. */
static void codes_before_registering(void **state)
{
	uint32_t version = 0, wanted = layout_version(client_release);
	uint64_t id;
	size_t size = 1;
	uint8_t on = 0;

	(void)state;
	assert_int_equal(cupti.cuptiGetVersion(&version), 0);
	assert_int_equal(version, wanted);
	assert_int_equal(cupti.cuptiActivityRegisterCallbacks(NULL, NULL), 1);
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 7);
	assert_int_equal(cupti.cuptiActivityEnable(63), 21);
	assert_int_equal(cupti.cuptiActivityPopExternalCorrelationId(3, &id), 18);
	if (client_release >= 1203) {
		assert_int_equal(cupti.cuptiActivityGetAttribute(ATTR_PER_THREAD_ACTIVITY_BUFFER, &size, &on), 0);
		assert_int_equal(on, client_release >= 1300);
	}
	if (cupti.cuptiActivityEnableHWTrace)
		assert_int_equal(cupti.cuptiActivityEnableHWTrace(1), 15);
}

static void symbols_come_with_releases(void **state)
{
	(void)state;
	assert_int_equal(cupti.cuptiActivityEnableDriverApi != NULL, client_release >= 1205);
	assert_int_equal(cupti.cuptiActivityEnableAllSyncRecords != NULL, client_release >= 1208);
	assert_int_equal(cupti.cuptiSubscribe_v2 != NULL, client_release >= 1300);
	assert_int_equal(cupti.cuptiActivityEnableCudaEventDeviceTimestamps != NULL, client_release >= 1300);
	assert_int_equal(cupti.cuptiActivityGetStructSize != NULL, client_release >= 1302);
	assert_int_equal(cupti.cuptiActivityGetNextRecord_v2 != NULL, client_release >= 1303);
}

/* As a tool finds them out: two records in a row, and how far apart they are. */
static size_t stride(int kind)
{
	_Alignas(8) static uint8_t buffer[4096];
	CUpti_Activity *record = NULL;

	for (size_t i = 0; i < sizeof(buffer); i += 4)
		memcpy(buffer + i, &(uint32_t){ (uint32_t)kind }, 4);
	if (cupti.cuptiActivityGetNextRecord(buffer, sizeof(buffer), &record)
			|| cupti.cuptiActivityGetNextRecord(buffer, sizeof(buffer), &record))
		return 0;
	return (size_t)((uint8_t *)record - buffer);
}

static void records_have_their_sizes(void **state)
{
	static const struct { int release; size_t kernel, memcpy, memset, context, overhead, event, sync, memory, pool, graph, device; } rows[] = {
		{ 1107, 176, 88, 88, 16, 40, 24, 40, 120, 72, 48, 176 }, { 1108, 200, 88, 88, 16, 40, 24, 40, 120, 72, 48, 176 },
		{ 1201, 208, 88, 88, 16, 40, 24, 40, 120, 72, 48, 176 },
		{ 1204, 208, 88, 88, 24, 56, 24, 40, 120, 72, 56, 184 }, { 1206, 208, 88, 88, 32, 56, 24, 40, 128, 72, 56, 184 },
		{ 1209, 208, 96, 88, 32, 56, 56, 56, 128, 72, 56, 184 }, { 1300, 216, 96, 88, 32, 56, 56, 56, 128, 80, 56, 184 },
		{ 1302, 224, 96, 88, 40, 56, 56, 56, 128, 80, 56, 192 }, { 1304, 248, 112, 104, 40, 56, 56, 56, 128, 80, 56, 192 },
	};
	int found = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (rows[i].release != client_release)
			continue;
		found++;
		assert_int_equal(stride(KIND_CONCURRENT_KERNEL), rows[i].kernel);
		assert_int_equal(stride(KIND_MEMCPY), rows[i].memcpy);
		assert_int_equal(stride(KIND_MEMSET), rows[i].memset);
		assert_int_equal(stride(KIND_CONTEXT), rows[i].context);
		assert_int_equal(stride(KIND_OVERHEAD), rows[i].overhead);
		assert_int_equal(stride(KIND_CUDA_EVENT), rows[i].event);
		assert_int_equal(stride(KIND_SYNCHRONIZATION), rows[i].sync);
		assert_int_equal(stride(KIND_MEMORY2), rows[i].memory);
		assert_int_equal(stride(KIND_MEMORY_POOL), rows[i].pool);
		assert_int_equal(stride(KIND_GRAPH_TRACE), rows[i].graph);
		assert_int_equal(stride(KIND_DEVICE), rows[i].device);
	}
	assert_int_equal(found, 1);
	assert_int_equal(stride(KIND_RUNTIME), 40);
	assert_int_equal(stride(KIND_EXTERNAL_CORRELATION), 24);
}

static void walking_ends_as_it_should(void **state)
{
	_Alignas(8) uint8_t buffer[64] = { 0 };
	CUpti_Activity *record = NULL;
	int unknown = client_release >= 1204 ? 21 : 999;

	(void)state;
	assert_int_equal(cupti.cuptiActivityGetNextRecord(NULL, 64, &record), 1);
	assert_int_equal(cupti.cuptiActivityGetNextRecord(buffer, 0, &record), 12);
	assert_int_equal(cupti.cuptiActivityGetNextRecord(buffer, 64, &record), unknown);
	buffer[0] = KIND_RUNTIME;
	assert_int_equal(cupti.cuptiActivityGetNextRecord(buffer, 39, &record), 12);
	assert_int_equal(cupti.cuptiActivityGetNextRecord(buffer, 40, &record), 0);
	assert_int_equal(cupti.cuptiActivityGetNextRecord(buffer, 40, &record), 12);
}

static void second_subscriber_is_refused(void **state)
{
	CUpti_SubscriberHandle first, second;
	char old[64] = "";
	CUpti_SubscriberParams params = { .structSize = 32, .oldSubscriberName = old, .oldSubscriberSize = sizeof(old) };

	(void)state;
	assert_int_equal(cupti.cuptiSubscribe(&first, NULL, NULL), 0);
	assert_int_equal(cupti.cuptiSubscribe(&second, NULL, NULL), 39);
	if (cupti.cuptiSubscribe_v2) {
		assert_int_equal(cupti.cuptiSubscribe_v2(&second, NULL, NULL, &params), 39);
		assert_true(strncmp(old, "CUPTI for ", 10) == 0);
	}
	assert_int_equal(cupti.cuptiUnsubscribe(first), 0);
	assert_int_equal(cupti.cuptiSubscribe(&first, NULL, NULL), 0);
	assert_int_equal(cupti.cuptiUnsubscribe(first), 0);
}

static void work(void)
{
	CUdeviceptr memory;
	CUevent event;
	void *pinned;

	assert_int_equal(cuda.cuMemAlloc_v2(&memory, 4096), 0);
	assert_int_equal(cuda.cuMemAllocHost_v2(&pinned, 4096), 0);
	assert_int_equal(cuda.cuEventCreate(&event, 0), 0);
	for (int i = 0; i < 12; i++)
		client_launch(i % 3 ? "busy_20us" : "busy_200us", streams[i % 3]);
	assert_int_equal(cuda.cuMemcpyHtoDAsync_v2(memory, pinned, 4096, streams[1]), 0);
	assert_int_equal(cuda.cuMemsetD32Async(memory, 5, 1024, streams[1]), 0);
	assert_int_equal(cuda.cuEventRecord(event, streams[1]), 0);
	assert_int_equal(cuda.cuStreamWaitEvent(streams[2], event, 0), 0);
	client_launch("busy_30us", streams[2]);
	synchronize();
	assert_int_equal(cuda.cuEventDestroy_v2(event), 0);
	assert_int_equal(cuda.cuMemFreeHost(pinned), 0);
	assert_int_equal(cuda.cuMemFree_v2(memory), 0);
}

static unsigned long long number_in(const char *line, const char *key)
{
	char pattern[64];
	const char *at;

	snprintf(pattern, sizeof(pattern), "\"%s\":", key);
	at = strstr(line, pattern);
	return at ? strtoull(at + strlen(pattern), NULL, 10) : 0;
}

static int64_t real_minus_raw(void)
{
	struct timespec raw, real;

	clock_gettime(CLOCK_MONOTONIC_RAW, &raw);
	clock_gettime(CLOCK_REALTIME, &real);
	return (int64_t)(real.tv_sec - raw.tv_sec) * 1000000000 + (real.tv_nsec - raw.tv_nsec);
}

/* Every kernel of the truth has one record with its correlation, its times as said, and these within 50 us of the true ones. */
static int compare_kernels(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[4096];
	int kernels = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		int found = 0;

		if (!strstr(line, "\"what\":\"kernel\"") || number_in(line, "pid") != (unsigned long long)getpid())
			continue;
		kernels++;
		for (int i = 0; i < client_count(KIND_CONCURRENT_KERNEL); i++) {
			uint8_t *record = client_record(KIND_CONCURRENT_KERNEL, i);

			if (GET(record, KERNEL, correlationId) != number_in(line, "correlation"))
				continue;
			found++;
			assert_int_equal(GET(record, KERNEL, start), number_in(line, "record_start"));
			assert_int_equal(GET(record, KERNEL, end), number_in(line, "record_end"));
			assert_int_equal(GET(record, KERNEL, streamId), number_in(line, "stream"));
			assert_true(llabs((int64_t)(GET(record, KERNEL, start) - number_in(line, "start")) - real_minus_raw()) < 50000);
			assert_true(strstr(line, (const char *)(uintptr_t)GET(record, KERNEL, name)));
		}
		assert_int_equal(found, 1);
	}
	fclose(file);
	return kernels;
}

static void records_are_the_truth(void **state)
{
	(void)state;
	client_forget();
	work();
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 0);
	assert_int_equal(client_count(KIND_CONCURRENT_KERNEL), 13);
	assert_int_equal(client_count(KIND_MEMCPY), 1);
	assert_int_equal(client_count(KIND_MEMSET), 1);
	assert_int_equal(client_count(KIND_CUDA_EVENT), 1);
	assert_int_equal(client_count(KIND_MEMORY2), 4);
	assert_int_equal(client_count(KIND_SYNCHRONIZATION), 2);
	assert_int_equal(GET(client_record(KIND_SYNCHRONIZATION, 0), SYNC, type), 2);
	assert_int_equal(GET(client_record(KIND_SYNCHRONIZATION, 1), SYNC, type), 4);
	assert_int_equal(GET(client_record(KIND_MEMCPY, 0), MEMCPY, bytes), 4096);
	assert_int_equal(GET(client_record(KIND_MEMCPY, 0), MEMCPY, copyKind), 1);
	assert_int_equal(GET(client_record(KIND_MEMCPY, 0), MEMCPY, srcKind), 2);
	assert_int_equal(compare_kernels(getenv("DOUBLE_TRUTH")), 13);
	assert_int_equal(seen.last_result, 12);
	assert_int_equal(seen.foreign_completions, seen.buffers);
}

/* A launch's own record comes after that of its kernel; kernels are in the order of launches, not of time. */
static void order_is_that_of_launches(void **state)
{
	int kernel_at = -1, call_at = -1;
	bool out_of_order = false;

	(void)state;
	for (int i = 0; i < seen.count; i++) {
		if (value(seen.records[i], 0, 4) == KIND_CONCURRENT_KERNEL && kernel_at < 0)
			kernel_at = i;
		if (value(seen.records[i], 0, 4) == KIND_DRIVER && GET(seen.records[i], API, cbid) == 307 && call_at < 0)
			call_at = i;
	}
	assert_true(kernel_at >= 0 && call_at > kernel_at);
	assert_int_equal(GET(seen.records[kernel_at], KERNEL, correlationId), GET(seen.records[call_at], API, correlationId));
	for (int i = 1; i < 13; i++)
		out_of_order |= GET(client_record(KIND_CONCURRENT_KERNEL, i), KERNEL, end)
			< GET(client_record(KIND_CONCURRENT_KERNEL, i - 1), KERNEL, end);
	assert_true(out_of_order);
}

static void flush_withholds_what_is_incomplete(void **state)
{
	uint8_t *record;

	(void)state;
	client_forget();
	client_launch("busy_150ms", streams[0]);
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 0);
	assert_int_equal(client_count(KIND_CONCURRENT_KERNEL), 0);
	assert_int_equal(cupti.cuptiActivityFlushAll(1), 0);
	record = client_record(KIND_CONCURRENT_KERNEL, 0);
	assert_non_null(record);
	assert_int_equal(GET(record, KERNEL, end), 0);
	synchronize();
	assert_int_equal(cupti.cuptiActivityFlushAll(1), 0);
	assert_int_equal(client_count(KIND_CONCURRENT_KERNEL), 1);
}

static void *launch_elsewhere(void *context)
{
	assert_int_equal(cuda.cuCtxSetCurrent(context), 0);
	client_launch("busy_1us", streams[0]);
	return NULL;
}

static void threads_have_buffers_of_their_own(void **state)
{
	CUcontext context;
	pthread_t thread;

	(void)state;
	client_forget();
	assert_int_equal(cuda.cuCtxGetCurrent(&context), 0);
	client_launch("busy_1us", streams[0]);
	pthread_create(&thread, NULL, launch_elsewhere, context);
	pthread_join(thread, NULL);
	synchronize();
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 0);
	assert_int_equal(seen.request_thread_count, client_release >= 1300 ? 2 : 1);
	assert_int_equal(client_count(KIND_CONCURRENT_KERNEL), 2);
}

static void full_buffers_come_without_a_flush(void **state)
{
	(void)state;
	client_forget();
	client_buffer_size = 2048;
	for (int i = 0; i < 100; i++)
		client_launch("busy_1us", streams[0]);
	synchronize();
	for (int i = 0; i < 200 && seen.buffers < 10; i++)
		usleep(10000);
	assert_true(seen.buffers >= 10);
	client_buffer_size = 65536;
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 0);
	assert_int_equal(client_count(KIND_CONCURRENT_KERNEL), 100);
}

/* Declining a buffer crashes releases before 12.9. */
static void declined_buffers_are_counted(void **state)
{
	size_t dropped;

	(void)state;
	if (client_release < 1209)
		skip();
	client_forget();
	client_buffer_size = 0;
	for (int i = 0; i < 5; i++)
		client_launch("busy_1us", streams[0]);
	client_buffer_size = 65536;
	assert_int_equal(cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), 0);
	assert_true(dropped >= 5);
	assert_int_equal(cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), 0);
	assert_int_equal(dropped, 0);
	synchronize();
}

static void external_ids_precede_their_call(void **state)
{
	uint64_t id;
	uint8_t *external;

	(void)state;
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 0);
	client_forget();
	assert_int_equal(cupti.cuptiActivityPushExternalCorrelationId(3, 41), 0);
	assert_int_equal(cupti.cuptiActivityPushExternalCorrelationId(3, 42), 0);
	client_launch("busy_1us", streams[0]);
	assert_int_equal(cupti.cuptiActivityPopExternalCorrelationId(3, &id), 0);
	assert_int_equal(id, 42);
	assert_int_equal(cupti.cuptiActivityPopExternalCorrelationId(3, &id), 0);
	synchronize();
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 0);
	external = client_record(KIND_EXTERNAL_CORRELATION, client_count(KIND_EXTERNAL_CORRELATION) - 1);
	assert_int_equal(GET(external, EXTERNAL, externalId), 42);
	assert_int_equal(GET(external, EXTERNAL, correlationId),
		GET(client_record(KIND_CONCURRENT_KERNEL, 0), KERNEL, correlationId));
}

static void launch_graph(void)
{
	CUgraph graph;
	CUgraphExec exec;

	assert_int_equal(cuda.cuStreamBeginCapture_v2(streams[0], 0), 0);
	client_launch("busy_5us", streams[0]);
	client_launch("busy_6us", streams[0]);
	assert_int_equal(cuda.cuStreamEndCapture(streams[0], &graph), 0);
	assert_int_equal(cuda.cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
	assert_int_equal(cuda.cuGraphLaunch(exec, streams[0]), 0);
	synchronize();
	assert_int_equal(cuda.cuGraphExecDestroy(exec), 0);
	assert_int_equal(cuda.cuGraphDestroy(graph), 0);
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 0);
}

static void graphs_by_node_or_as_a_whole(void **state)
{
	uint8_t *first, *second, *whole;

	(void)state;
	client_forget();
	launch_graph();
	assert_int_equal(client_count(KIND_CONCURRENT_KERNEL), 2);
	first = client_record(KIND_CONCURRENT_KERNEL, 0);
	second = client_record(KIND_CONCURRENT_KERNEL, 1);
	assert_int_equal(GET(first, KERNEL, correlationId), GET(second, KERNEL, correlationId));
	assert_int_equal(GET(first, KERNEL, graphId), GET(second, KERNEL, graphId));
	assert_true(GET(first, KERNEL, graphNodeId) != GET(second, KERNEL, graphNodeId));
	client_forget();
	assert_int_equal(cupti.cuptiActivityEnable(KIND_GRAPH_TRACE), 0);
	launch_graph();
	assert_int_equal(cupti.cuptiActivityDisable(KIND_GRAPH_TRACE), 0);
	assert_int_equal(client_count(KIND_CONCURRENT_KERNEL), 0);
	whole = client_record(KIND_GRAPH_TRACE, 0);
	assert_non_null(whole);
	assert_in_range(GET(whole, GRAPH, end) - GET(whole, GRAPH, start), 10999, 11001); /* two times, each rounded */
}

static void muted_functions_are_silent(void **state)
{
	(void)state;
	if (!cupti.cuptiActivityEnableDriverApi)
		skip();
	client_forget();
	assert_int_equal(cupti.cuptiActivityEnableDriverApi(307, 0), 0);
	client_launch("busy_1us", streams[0]);
	synchronize();
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 0);
	for (int i = 0; i < client_count(KIND_DRIVER); i++)
		assert_int_not_equal(GET(client_record(KIND_DRIVER, i), API, cbid), 307);
	assert_int_equal(cupti.cuptiActivityEnableDriverApi(307, 1), 0);
}

static int v2_buffers, v2_records;

static void request_v2(uint8_t **buffer, size_t *size, size_t *max_records, CUpti_BufferCallbackRequestInfo *info)
{
	(void)info;
	request(buffer, size, max_records);
}

static CUpti_SubscriberHandle v2[2];

static void complete_v2(uint8_t *buffer, size_t size, size_t valid, CUpti_BufferCallbackCompleteInfo *info)
{
	CUpti_Activity *record = NULL;

	(void)size, (void)info;
	v2_buffers++;
	while (cupti.cuptiActivityGetNextRecord_v2(v2[0], buffer, valid, &record) == CUPTI_SUCCESS)
		v2_records++;
	free(buffer);
}

static void several_subscribers(void **state)
{
	CUpti_SubscriberParams params = { .structSize = sizeof(params), .subscriberName = "self test", .allowMultipleSubscribers = 1 };
	size_t size;

	(void)state;
	if (client_release < 1302)
		skip();
	assert_int_equal(cupti.cuptiActivityGetStructSize(KIND_CONCURRENT_KERNEL, 130000, &size), 0);
	assert_int_equal(size, 216);
	assert_int_equal(cupti.cuptiActivityGetStructSize(KIND_CONCURRENT_KERNEL, 120900, &size), 27);
	if (client_release < 1303) {
		assert_int_equal(cupti.cuptiSubscribe_v2(&v2[0], NULL, NULL, &params), 39);
		return;
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(cupti.cuptiSubscribe_v2(&v2[i], NULL, NULL, &params), 0);
		assert_int_equal(cupti.cuptiActivityRegisterCallbacks_v2(v2[i], request_v2, complete_v2), 0);
		assert_int_equal(cupti.cuptiActivityEnable_v2(v2[i], KIND_CONCURRENT_KERNEL, NULL), 0);
	}
	for (int i = 0; i < 3; i++)
		client_launch("busy_1us", streams[0]);
	synchronize();
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 0);
	assert_int_equal(v2_records, 6);
	for (int i = 0; i < 2; i++)
		assert_int_equal(cupti.cuptiUnsubscribe(v2[i]), 0);
}

static uint64_t own_clock(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void a_clock_of_the_clients_own(void **state)
{
	uint64_t before = own_clock(), start;

	(void)state;
	client_forget();
	assert_int_equal(cupti.cuptiActivityRegisterTimestampCallback(own_clock), 0);
	client_launch("busy_10us", streams[0]);
	synchronize();
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 0);
	start = GET(client_record(KIND_CONCURRENT_KERNEL, 0), KERNEL, start);
	assert_true(start > before && start < own_clock());
}

static int start(void **state)
{
	static const uint32_t kinds[] = { KIND_CONCURRENT_KERNEL, KIND_MEMCPY, KIND_MEMSET, KIND_DRIVER, KIND_SYNCHRONIZATION,
		KIND_CUDA_EVENT, KIND_MEMORY2, KIND_EXTERNAL_CORRELATION, 0 };

	(void)state;
	client_start(kinds);
	for (int i = 0; i < 3; i++)
		if (cuda.cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING))
			return -1;
	return cupti.cuptiActivityFlushAll(0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest before[] = {
		cmocka_unit_test(codes_before_registering),
		cmocka_unit_test(symbols_come_with_releases),
		cmocka_unit_test(records_have_their_sizes),
		cmocka_unit_test(walking_ends_as_it_should),
		cmocka_unit_test(second_subscriber_is_refused),
	};
	const struct CMUnitTest after[] = {
		cmocka_unit_test(records_are_the_truth),
		cmocka_unit_test(order_is_that_of_launches),
		cmocka_unit_test(flush_withholds_what_is_incomplete),
		cmocka_unit_test(threads_have_buffers_of_their_own),
		cmocka_unit_test(full_buffers_come_without_a_flush),
		cmocka_unit_test(declined_buffers_are_counted),
		cmocka_unit_test(external_ids_precede_their_call),
		cmocka_unit_test(graphs_by_node_or_as_a_whole),
		cmocka_unit_test(muted_functions_are_silent),
		cmocka_unit_test(several_subscribers),
		cmocka_unit_test(a_clock_of_the_clients_own),
	};

	if (argc != 2 || !getenv("DOUBLE_TRUTH"))
		return 1;
	(void)unlink(getenv("DOUBLE_TRUTH"));
	client_open(argv[1]);
	return cmocka_run_group_tests(before, NULL, NULL) || cmocka_run_group_tests(after, start, NULL);
}
