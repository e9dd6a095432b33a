/*
 * nsys_info.c - what an export says about itself, its machine and its numbers.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/msgpack.h"
#include "import/nsys.h"
#include "import/output_state.h"

#define ROWS_MAX 1000000 /* of a table that describes: more is no description */
#define RECORDS_MAX ((size_t)1 << 20)

int nsys_each(struct nsys *n, const char *table, const char *columns, const char *where, nsys_each_row *row, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	struct sql_query *q = NULL;
	int rc, left = ROWS_MAX;

	if (!sql_table_exists(n->sql, table))
		return 0;
	rc = nsys_select(n, &text, table, columns);
	rc = rc ? rc : buffer_printf(&text, "%s", where ? where : "1");
	if (rc == 0)
		rc = sql_query(n->sql, &q, table, (const char *)text.data, err);
	while (rc == 0 && left-- > 0 && (rc = sql_query_step(q, err)) > 0)
		rc = row(n, q) ? 0 : 1;
	sql_query_free(q);
	buffer_release(&text);
	return rc < 0 ? rc : 0;
}

/* The first that is said of a pair of numbers counts. */
static void remember(struct nsys *n, struct output_map *map, uint64_t a, uint64_t b, uint32_t value)
{
	if (output_map_find(map, a, b) == OUTPUT_NONE && output_map_add(map, a, b, value))
		output_fail(n->o, -ENOMEM);
}

/* A table that describes; what of it cannot be read is reported and left. */
static void describe(struct nsys *n, const char *table, const char *columns, nsys_each_row *row)
{
	struct error why = { 0 };

	if (nsys_each(n, table, columns, NULL, row, &why))
		output_damage(n->o, 0, 0, why.text);
}

/* ---- The session ------------------------------------------------------------------------ */

static void put_text(struct nsys *n, const char *key, const char *text, size_t size)
{
	struct buffer value = BUFFER_INIT;

	if (msgpack_write_string(&value, text, size < 1000 ? size : 1000) == 0)
		output_property(n->o, key, value.data, value.size);
	buffer_release(&value);
}

static void put_integer(struct nsys *n, const char *key, int64_t number)
{
	struct buffer value = BUFFER_INIT;

	if (msgpack_write_int(&value, number) == 0)
		output_property(n->o, key, value.data, value.size);
	buffer_release(&value);
}

struct fact {
	const char *name, *key;
};

static const char *key_of(const struct fact *facts, const char *name, size_t size)
{
	for (; facts->name; facts++)
		if (strlen(facts->name) == size && memcmp(facts->name, name, size) == 0)
			return facts->key;
	return NULL;
}

static bool is(const char *word, const char *text, size_t size)
{
	return strlen(word) == size && strncasecmp(word, text, size) == 0;
}

/* Name and value.  The table's other rows have paths and the like of whoever made the file. */
static bool read_export_fact(struct nsys *n, struct sql_query *q)
{
	static const struct fact facts[] = {
		{ "EXPORT_PRODUCT_NAME", "product" },
		{ "EXPORT_PRODUCT_VERSION", "product_version" },
		{ "EXPORT_SCHEMA_VERSION", "schema_version" },
		{ NULL, NULL },
	};
	const char *name, *value, *key;
	size_t size, value_size;

	if (!sql_query_text(q, 1, &name, &size) || !sql_query_text(q, 2, &value, &value_size))
		return true;
	key = key_of(facts, name, size);
	if (key)
		put_text(n, key, value, value_size);
	if (is("EXPORT_PARAM_TIME_NORMALIZE", name, size) && is("true", value, value_size))
		n->times_are_utc = true;
	return true;
}

/* The environment is in here as well, and with it passwords: only what is listed is taken. */
static bool read_environment(struct nsys *n, struct sql_query *q)
{
	static const struct fact facts[] = {
		{ "CpuDescription", "cpu" },         { "CpuCores", "cpu_cores" },          { "OsDescription", "os" },
		{ "NvDriverVersion", "gpu_driver" }, { "CudaDriverVersion", "cuda_driver" }, { NULL, NULL },
	};
	const char *name, *value, *key;
	size_t size, value_size;

	if (!sql_query_text(q, 1, &name, &size) || !sql_query_text(q, 2, &value, &value_size))
		return true;
	key = key_of(facts, name, size);
	if (key)
		put_text(n, key, value, value_size);
	if (is("Hostname", name, size))
		output_hostname(n->o, value, value_size);
	return true;
}

/* Times count from the start of the session, unless the export was asked for the time of day. */
static bool read_session(struct nsys *n, struct sql_query *q)
{
	int64_t utc, clock;

	if (sql_query_integer(q, 1, &utc) && utc > 0 && utc < (int64_t)1 << 61)
		output_base_time(n->o, n->times_are_utc ? 0 : utc);
	if (sql_query_integer(q, 2, &clock))
		put_integer(n, "system_clock_ns", clock);
	return false;
}

static bool read_duration(struct nsys *n, struct sql_query *q)
{
	int64_t duration;

	if (sql_query_integer(q, 1, &duration))
		put_integer(n, "duration_ns", duration);
	return false;
}

/* ---- Numbers with a meaning ---------------------------------------------------------------- */

/* Whether the name contains the word, in any case. */
static bool contains(const char *text, size_t size, const char *word)
{
	for (size_t i = 0, length = strlen(word); i + length <= size; i++)
		if (strncasecmp(text + i, word, length) == 0)
			return true;
	return false;
}

/* As all versions have had them so far. */
static void default_numbers(struct nsys *n)
{
	static const uint8_t memory[] = { MEMORY_PAGEABLE, MEMORY_PINNED, MEMORY_DEVICE, MEMORY_ARRAY,
					  MEMORY_MANAGED,  MEMORY_DEVICE, MEMORY_MANAGED };
	static const uint8_t sync[] = { NSYS_SYNC_UNKNOWN, NSYS_SYNC_EVENT, NSYS_SYNC_WAIT, NSYS_SYNC_STREAM, NSYS_SYNC_CONTEXT };

	memcpy(n->memory_kinds, memory, sizeof memory);
	memcpy(n->sync_types, sync, sizeof sync);
}

struct word {
	const char *word;
	uint8_t meaning;
};

/* A row of an enumeration: its number, and its name, which contains one of the words. */
static void read_meaning(struct sql_query *q, uint8_t *meanings, const struct word *words)
{
	const char *name;
	size_t size;
	int64_t number;

	if (!sql_query_integer(q, 1, &number) || !sql_query_text(q, 2, &name, &size) || number < 0 || number >= NSYS_ENUM_MAX)
		return;
	for (; words->word; words++)
		if (contains(name, size, words->word)) {
			meanings[number] = words->meaning;
			return;
		}
}

static bool read_memory_kind(struct nsys *n, struct sql_query *q)
{
	static const struct word words[] = {
		{ "PAGEABLE", MEMORY_PAGEABLE }, { "PINNED", MEMORY_PINNED }, { "MANAGED", MEMORY_MANAGED },
		{ "ARRAY", MEMORY_ARRAY },       { "DEVICE", MEMORY_DEVICE }, { "UNKNOWN", MEMORY_UNKNOWN }, { NULL, 0 },
	};

	read_meaning(q, n->memory_kinds, words);
	return true;
}

static bool read_sync_type(struct nsys *n, struct sql_query *q)
{
	static const struct word words[] = {
		{ "STREAM_WAIT", NSYS_SYNC_WAIT },   { "STREAM_SYNC", NSYS_SYNC_STREAM }, { "CONTEXT_SYNC", NSYS_SYNC_CONTEXT },
		{ "EVENT_SYNC", NSYS_SYNC_EVENT }, { NULL, 0 },
	};

	read_meaning(q, n->sync_types, words);
	return true;
}

static bool read_metric_name(struct nsys *n, struct sql_query *q)
{
	int64_t type = 0, metric;
	uint32_t name = nsys_text(n, q, 3);

	sql_query_integer(q, 1, &type);
	if (name && sql_query_integer(q, 2, &metric))
		remember(n, &n->metrics, (uint64_t)type, (uint64_t)metric, name);
	return n->metrics.used < ROWS_MAX;
}

/* ---- Events that are waited for -------------------------------------------------------------- */

/* Process, call, event, record.  Old files do not number the records: of an event that is recorded again there is no telling
 * which one somebody waits for. */
static bool read_record(struct nsys *n, struct sql_query *q)
{
	int64_t global = 0, call, event;
	uint32_t place;

	sql_query_integer(q, 1, &global);
	if (!sql_query_integer(q, 2, &call) || !sql_query_integer(q, n->records_by_sync ? 4 : 3, &event) || call < 0)
		return true;
	place = output_map_find(&n->records, nsys_pid(global), (uint64_t)event);
	if (place != OUTPUT_NONE) {
		if (!n->records_by_sync)
			n->record_calls[place] = NSYS_AMBIGUOUS;
		return true;
	}
	if (ARRAY_GROW(n->record_calls, n->record_capacity, n->record_count + 1) ||
	    output_map_add(&n->records, nsys_pid(global), (uint64_t)event, (uint32_t)n->record_count)) {
		output_fail(n->o, -ENOMEM);
		return false;
	}
	n->record_calls[n->record_count++] = (uint64_t)call;
	return n->record_count < RECORDS_MAX;
}

/* ---- Devices ----------------------------------------------------------------------------------- */

/* Process, number in the process, number on the machine. */
static bool read_cuda_device(struct nsys *n, struct sql_query *q)
{
	int64_t pid, cuda, gpu;

	if (!sql_query_integer(q, 1, &pid) || !sql_query_integer(q, 2, &cuda) || !sql_query_integer(q, 3, &gpu))
		return true;
	if (gpu < 0 || gpu > 0xffff)
		return true;
	n->has_cuda_devices = true;
	remember(n, &n->cuda_devices, (uint64_t)pid, (uint64_t)cuda, (uint32_t)gpu);
	return true;
}

#define GPU_COLUMNS "id cuDevice pwGpuId name totalMemory computeMajor computeMinor maxThreadsPerBlock maxWarpsPerSm" \
		    " maxRegistersPerSm threadsPerWarp maxShmemPerSm smCount memoryBandwidth clockRate l2CacheSize busLocation"
enum {
	GPU_ID = 1, GPU_CUDA, GPU_METRICS, GPU_NAME, GPU_MEMORY, GPU_MAJOR, GPU_MINOR, GPU_THREADS, GPU_WARPS, GPU_REGISTERS,
	GPU_WARP, GPU_SHARED, GPU_SMS, GPU_BANDWIDTH, GPU_CLOCK, GPU_L2, GPU_BUS
};

/* A device's properties are named as PyTorch names them, where it does. */
static void add_properties(struct nsys *n, struct sql_query *q)
{
	static const struct {
		const char *key;
		int column;
	} properties[] = {
		{ "totalGlobalMem", GPU_MEMORY },
		{ "computeMajor", GPU_MAJOR },
		{ "computeMinor", GPU_MINOR },
		{ "maxThreadsPerBlock", GPU_THREADS },
		{ "regsPerMultiprocessor", GPU_REGISTERS },
		{ "warpSize", GPU_WARP },
		{ "sharedMemPerMultiprocessor", GPU_SHARED },
		{ "numSms", GPU_SMS },
		{ "memoryBandwidth", GPU_BANDWIDTH },
		{ "clockRate", GPU_CLOCK },
		{ "l2CacheSize", GPU_L2 },
		{ "busLocation", GPU_BUS },
	};
	int64_t warps = 0, width = 0;

	nsys_argument_cell(n, "name", q, GPU_NAME);
	for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
		nsys_argument_cell(n, properties[i].key, q, properties[i].column);
	sql_query_integer(q, GPU_WARPS, &warps);
	sql_query_integer(q, GPU_WARP, &width);
	if (warps > 0 && warps < 65536 && width > 0 && width < 65536)
		nsys_argument_integer(n, "maxThreadsPerMultiprocessor", warps * width);
}

static bool read_gpu(struct nsys *n, struct sql_query *q)
{
	int64_t id = 0, cuda, metrics;
	const char *name = "";
	size_t size = 0;
	uint64_t index;

	if (!sql_query_integer(q, GPU_ID, &id) || id < 0 || id > 0xffff)
		return true;
	index = (uint64_t)id;
	if (!n->has_cuda_devices && sql_query_integer(q, GPU_CUDA, &cuda) && cuda >= 0 && cuda <= 0xffff)
		index = (uint64_t)cuda;
	if (sql_query_integer(q, GPU_METRICS, &metrics))
		remember(n, &n->metric_devices, (uint64_t)metrics & 0xff, 0, (uint32_t)index);
	nsys_properties(n);
	add_properties(n, q);
	sql_query_text(q, GPU_NAME, &name, &size);
	output_device_describe(n->o, nsys_device(n, index), DEVICE_CUDA, name, size, n->metadata.data, n->metadata.size);
	return true;
}

/* Process, context, device. */
static bool read_context(struct nsys *n, struct sql_query *q)
{
	int64_t pid, context, device;

	if (sql_query_integer(q, 1, &pid) && sql_query_integer(q, 2, &context) && sql_query_integer(q, 3, &device) && device >= 0)
		nsys_context(n, (uint64_t)pid, (uint64_t)context, nsys_device_index(n, (uint64_t)pid, (uint64_t)device));
	return true;
}

static bool read_context_of_work(struct nsys *n, struct sql_query *q)
{
	int64_t global, context, device;

	if (sql_query_integer(q, 0, &global) && sql_query_integer(q, 1, &context) && sql_query_integer(q, 2, &device) && device >= 0)
		nsys_context(n, nsys_pid(global), (uint64_t)context, nsys_device_index(n, nsys_pid(global), (uint64_t)device));
	return true;
}

/* Which device a context is on, from the work it did. */
static void find_contexts(struct nsys *n, const char *table)
{
	struct sql_query *q;
	char text[200];
	int left = 65536;

	if (!sql_column_exists(n->sql, table, "globalPid") || !sql_column_exists(n->sql, table, "contextId") ||
	    !sql_column_exists(n->sql, table, "deviceId"))
		return;
	snprintf(text, sizeof text, "SELECT DISTINCT globalPid, contextId, deviceId FROM \"%s\" NOT INDEXED", table);
	if (sql_query(n->sql, &q, table, text, NULL))
		return;
	while (left-- > 0 && sql_query_step(q, NULL) > 0)
		read_context_of_work(n, q);
	sql_query_free(q);
}

/* Devices in the order of their numbers, whichever has work first. */
static void make_devices(struct nsys *n)
{
	uint64_t there = 0;

	for (size_t i = 0; i < n->contexts.size; i++)
		if (n->contexts.places[i].value && n->contexts.places[i].value <= 64)
			there |= (uint64_t)1 << (n->contexts.places[i].value - 1);
	for (unsigned index = 0; index < 64; index++)
		if (there >> index & 1)
			nsys_device(n, index);
}

static void read_contexts(struct nsys *n)
{
	describe(n, "TARGET_INFO_CUDA_CONTEXT_INFO", "processId contextId deviceId", read_context);
	describe(n, "TARGET_INFO_CUDA_NULL_STREAM", "processId contextId deviceId", read_context);
	find_contexts(n, "CUPTI_ACTIVITY_KIND_KERNEL");
	find_contexts(n, "CUPTI_ACTIVITY_KIND_MEMCPY");
	find_contexts(n, "CUPTI_ACTIVITY_KIND_MEMSET");
	make_devices(n);
}

void nsys_read_info(struct nsys *n)
{
	default_numbers(n);
	describe(n, "META_DATA_EXPORT", "name value", read_export_fact);
	describe(n, "EXPORT_META_DATA", "name value", read_export_fact); /* up to 2022 */
	describe(n, "TARGET_INFO_SYSTEM_ENV", "name value", read_environment);
	describe(n, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs systemClockNs", read_session);
	describe(n, "ANALYSIS_DETAILS", "duration", read_duration);
	describe(n, "ENUM_CUDA_MEM_KIND", "id name", read_memory_kind);
	describe(n, "ENUM_CUPTI_SYNC_TYPE", "id name", read_sync_type);
	describe(n, "TARGET_INFO_GPU_METRICS", "typeId metricId metricName", read_metric_name);
	describe(n, "TARGET_INFO_CUDA_DEVICE", "pid cudaId gpuId", read_cuda_device);
	describe(n, "TARGET_INFO_GPU", GPU_COLUMNS, read_gpu);
	if (sql_table_exists(n->sql, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION")) {
		read_contexts(n);
		n->records_by_sync = sql_column_exists(n->sql, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "eventSyncId");
		describe(n, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "globalPid correlationId eventId eventSyncId", read_record);
	}
	nsys_read_nvtx_names(n);
}

/* ---- Names of processes and threads ---------------------------------------------------------- */

/* An export lists all processes of the machine; those without events are left out. */
static bool read_process_name(struct nsys *n, struct sql_query *q)
{
	int64_t pid, global;
	const char *text;
	size_t size;
	uint32_t process;

	if (!sql_query_integer(q, 2, &pid)) {
		if (!sql_query_integer(q, 1, &global))
			return true;
		pid = (int64_t)nsys_pid(global);
	}
	process = output_map_find(&n->processes, (uint64_t)pid, 0);
	if (process != OUTPUT_NONE && sql_query_text(q, 3, &text, &size))
		output_process_name(n->o, process, text, size);
	return true;
}

static bool read_thread_name(struct nsys *n, struct sql_query *q)
{
	int64_t global, id;
	const char *text;
	size_t size;
	uint32_t track;

	if (!sql_query_integer(q, 1, &global))
		return true;
	track = output_map_find(&n->threads, (uint64_t)global, 0);
	if (track != OUTPUT_NONE && sql_query_integer(q, 2, &id) && nsys_text_of(n, id, &text, &size))
		output_track_name(n->o, track, text, size);
	return true;
}

static bool read_rank(struct nsys *n, struct sql_query *q)
{
	int64_t global, rank;
	uint32_t process;

	if (!sql_query_integer(q, 1, &global) || !sql_query_integer(q, 2, &rank))
		return true;
	process = output_map_find(&n->processes, nsys_pid(global), 0);
	if (process != OUTPUT_NONE)
		output_process_rank(n->o, process, rank);
	return true;
}

void nsys_read_names(struct nsys *n)
{
	describe(n, "PROCESSES", "globalPid pid name", read_process_name);
	describe(n, "ThreadNames", "globalTid nameId", read_thread_name);
	nsys_read_nvtx_threads(n);
	describe(n, "MPI_RANKS", "globalTid rank", read_rank);
}
