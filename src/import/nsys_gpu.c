/*
 * nsys_gpu.c - what devices did.
 */
#include <stdio.h>
#include <string.h>

#include "import/nsys.h"

/* ---- Common to all work of a stream ------------------------------------------------ */

/* The first columns of each of these tables. */
#define ON_STREAM "start end deviceId contextId streamId globalPid correlationId graphNodeId graphId"
enum { ROW, START, END, DEVICE, CONTEXT, STREAM, PROCESS, CORRELATION, GRAPH_NODE, GRAPH, OWN };

static const int stream_columns[4] = { DEVICE, CONTEXT, STREAM, PROCESS };

/* Where the process's part is all that is known. */
static uint32_t track_of(struct nsys *n, struct sql_query *q, bool by_context)
{
	uint32_t track = nsys_stream(n, q, stream_columns, by_context);

	return track == OUTPUT_NONE ? nsys_process_track(n, q, PROCESS) : track;
}

/* The number of a node has that of its graph in its upper half. */
static void set_graph(struct nsys *n, struct import_event *e, struct sql_query *q)
{
	int64_t node = 0, graph = 0;

	if (!sql_query_integer(q, GRAPH_NODE, &node) || node <= 0)
		return;
	if (!sql_query_integer(q, GRAPH, &graph) || graph <= 0)
		graph = node >> 32;
	if (graph > 0)
		import_event_set(e, FIELD_GRAPH, (uint64_t)graph);
	nsys_argument_integer(n, "graph node id", node);
}

static struct import_event work(struct nsys *n, const struct nsys_row *r, enum event_kind kind, uint32_t name)
{
	struct import_event e = nsys_event(r, kind, track_of(n, r->query, false), name);

	nsys_field(&e, FIELD_CORRELATION, r->query, CORRELATION);
	set_graph(n, &e, r->query);
	nsys_argument_cell(n, "context", r->query, CONTEXT);
	return e;
}

/* ---- Kernels ------------------------------------------------------------------------- */

#define KERNEL_COLUMNS ON_STREAM " demangledName|name shortName mangledName gridX gridY gridZ blockX blockY blockZ" \
				 " staticSharedMemory dynamicSharedMemory registersPerThread launchType clusterX clusterY clusterZ"
enum {
	KERNEL_DEMANGLED = OWN, KERNEL_SHORT, KERNEL_MANGLED, KERNEL_GRID_X, KERNEL_GRID_Y, KERNEL_GRID_Z,
	KERNEL_BLOCK_X, KERNEL_BLOCK_Y, KERNEL_BLOCK_Z, KERNEL_STATIC, KERNEL_DYNAMIC, KERNEL_REGISTERS,
	KERNEL_LAUNCH, KERNEL_CLUSTER_X, KERNEL_CLUSTER_Y, KERNEL_CLUSTER_Z
};

static uint32_t kernel_name(struct nsys *n, struct sql_query *q)
{
	uint32_t name = 0;

	for (int column = KERNEL_DEMANGLED; name == 0 && column <= KERNEL_MANGLED; column++)
		name = nsys_text(n, q, column);
	return name;
}

static void set_shared_memory(struct import_event *e, struct sql_query *q)
{
	int64_t fixed = 0, dynamic = 0;
	bool known = sql_query_integer(q, KERNEL_STATIC, &fixed);

	known |= sql_query_integer(q, KERNEL_DYNAMIC, &dynamic);
	if (known && fixed >= 0 && dynamic >= 0)
		import_event_set(e, FIELD_SHARED_MEMORY, (uint64_t)fixed + (uint64_t)dynamic);
}

static void add_cluster(struct nsys *n, struct sql_query *q)
{
	int64_t width = 0;

	if (!sql_query_integer(q, KERNEL_CLUSTER_X, &width) || width <= 0)
		return;
	nsys_argument_integer(n, "cluster_x", width);
	nsys_argument_cell(n, "cluster_y", q, KERNEL_CLUSTER_Y);
	nsys_argument_cell(n, "cluster_z", q, KERNEL_CLUSTER_Z);
}

static int read_kernel(struct nsys *n, const struct nsys_row *r, const char **skip, struct error *err)
{
	struct import_event e = work(n, r, EVENT_GPU_KERNEL, kernel_name(n, r->query));
	int64_t launch = 0;

	(void)skip;
	for (int i = 0; i < 6; i++)
		nsys_field(&e, FIELD_GRID_X + i, r->query, KERNEL_GRID_X + i);
	set_shared_memory(&e, r->query);
	nsys_field(&e, FIELD_REGISTERS, r->query, KERNEL_REGISTERS);
	if (sql_query_integer(r->query, KERNEL_LAUNCH, &launch) && launch > 1) /* 1: as usual */
		nsys_argument_integer(n, "launch_type", launch);
	add_cluster(n, r->query);
	return nsys_put(n, &e, err);
}

/* A graph's launch as a whole: the tool was not asked for its nodes. */
#define GRAPH_COLUMNS ON_STREAM " graphExecId"
enum { GRAPH_EXECUTABLE = OWN };

static int read_graph(struct nsys *n, const struct nsys_row *r, const char **skip, struct error *err)
{
	struct import_event e;
	int64_t graph = 0;
	char name[64] = "CUDA graph";

	(void)skip;
	if (sql_query_integer(r->query, GRAPH, &graph) || sql_query_integer(r->query, GRAPH_EXECUTABLE, &graph))
		snprintf(name, sizeof name, "CUDA graph %lld", (long long)graph);
	e = work(n, r, EVENT_GPU_KERNEL, output_string(n->o, name, strlen(name)));
	if (graph > 0)
		import_event_set(&e, FIELD_GRAPH, (uint64_t)graph);
	nsys_argument_cell(n, "graph_executable", r->query, GRAPH_EXECUTABLE);
	return nsys_put(n, &e, err);
}

/* ---- Copies --------------------------------------------------------------------------- */

#define COPY_COLUMNS ON_STREAM " bytes copyKind srcKind dstKind srcDeviceId dstDeviceId migrationCause virtualAddress copyCount"
enum {
	COPY_BYTES = OWN, COPY_KIND, COPY_FROM, COPY_TO, COPY_FROM_DEVICE, COPY_TO_DEVICE, COPY_CAUSE, COPY_ADDRESS, COPY_COUNT
};

struct way {
	const char *text;
	uint8_t kind;
};

/* By the tool's number of the kind of copy (ENUM_CUDA_MEMCPY_OPER), which has never changed. */
static const struct way ways[] = {
	{ "", EVENT_NONE },           { "HtoD", EVENT_H2D_COPY }, { "DtoH", EVENT_D2H_COPY }, { "HtoA", EVENT_H2D_COPY },
	{ "AtoH", EVENT_D2H_COPY },   { "AtoA", EVENT_D2D_COPY }, { "AtoD", EVENT_D2D_COPY }, { "DtoA", EVENT_D2D_COPY },
	{ "DtoD", EVENT_D2D_COPY },   { "HtoH", EVENT_D2D_COPY }, { "PtoP", EVENT_D2D_COPY }, { "HtoD", EVENT_H2D_COPY },
	{ "DtoH", EVENT_D2H_COPY },   { "DtoD", EVENT_D2D_COPY },
};

static unsigned memory_kind(const struct nsys *n, struct sql_query *q, int column)
{
	int64_t kind;

	return sql_query_integer(q, column, &kind) && kind >= 0 && kind < NSYS_ENUM_MAX ? n->memory_kinds[kind] : MEMORY_UNKNOWN;
}

static bool on_host(unsigned kind)
{
	return kind == MEMORY_PAGEABLE || kind == MEMORY_PINNED;
}

/* What the copy is, from the kinds of memory where the file does not say. */
static struct way way_of(struct sql_query *q, unsigned from, unsigned to)
{
	int64_t kind = 0;

	if (sql_query_integer(q, COPY_KIND, &kind) && kind > 0 && kind < (int64_t)(sizeof ways / sizeof *ways))
		return ways[kind];
	if (on_host(from) != on_host(to))
		return on_host(from) ? ways[1] : ways[2];
	return on_host(from) ? ways[9] : ways[8];
}

static const char *memory_text(unsigned kind)
{
	static const char *const texts[MEMORY_KIND_COUNT] = { "Unknown", "Pageable", "Pinned", "Device", "Array", "Managed" };

	return texts[kind < MEMORY_KIND_COUNT ? kind : 0];
}

static int read_copy(struct nsys *n, const struct nsys_row *r, const char **skip, struct error *err)
{
	unsigned from = memory_kind(n, r->query, COPY_FROM), to = memory_kind(n, r->query, COPY_TO);
	struct way way = way_of(r->query, from, to);
	struct import_event e;
	int64_t count = 0;
	char name[64];

	(void)skip;
	snprintf(name, sizeof name, "Memcpy %s (%s -> %s)", way.text, memory_text(from), memory_text(to));
	e = work(n, r, way.kind, output_string(n->o, name, strlen(name)));
	nsys_field(&e, FIELD_BYTES, r->query, COPY_BYTES);
	import_event_set(&e, FIELD_MEMORY_KIND, MEMORY_KINDS(from, to));
	nsys_argument_cell(n, "from_device", r->query, COPY_FROM_DEVICE);
	nsys_argument_cell(n, "to_device", r->query, COPY_TO_DEVICE);
	nsys_argument_cell(n, "migration_cause", r->query, COPY_CAUSE);
	nsys_field(&e, FIELD_POINTER, r->query, COPY_ADDRESS);
	if (sql_query_integer(r->query, COPY_COUNT, &count) && count > 1)
		nsys_argument_integer(n, "copies", count);
	return nsys_put(n, &e, err);
}

#define MEMSET_COLUMNS ON_STREAM " bytes value memKind"
enum { MEMSET_BYTES = OWN, MEMSET_VALUE, MEMSET_KIND };

static int read_memset(struct nsys *n, const struct nsys_row *r, const char **skip, struct error *err)
{
	unsigned kind = memory_kind(n, r->query, MEMSET_KIND);
	struct import_event e;
	char name[64];

	(void)skip;
	snprintf(name, sizeof name, "Memset (%s)", memory_text(kind));
	e = work(n, r, EVENT_MEMSET, output_string(n->o, name, strlen(name)));
	nsys_field(&e, FIELD_BYTES, r->query, MEMSET_BYTES);
	nsys_argument_cell(n, "value", r->query, MEMSET_VALUE);
	return nsys_put(n, &e, err);
}

/* ---- Waiting ----------------------------------------------------------------------------- */

#define SYNC_COLUMNS ON_STREAM " syncType eventId eventSyncId"
enum { SYNC_TYPE = OWN, SYNC_EVENT, SYNC_ID };

/* The call that recorded what is waited for: nsys_info.c has them. */
static void set_wait(struct nsys *n, struct import_event *e, struct sql_query *q)
{
	int64_t global = 0, event = 0;
	uint32_t place;

	sql_query_integer(q, PROCESS, &global);
	if (!sql_query_integer(q, n->records_by_sync ? SYNC_ID : SYNC_EVENT, &event))
		return;
	place = output_map_find(&n->records, nsys_pid(global), (uint64_t)event);
	if (place < n->record_count && n->record_calls[place] != NSYS_AMBIGUOUS)
		import_event_set(e, FIELD_WAIT, n->record_calls[place]);
}

/* The device column of this table is 0 for all of them; the context says which device it is. */
static int read_sync(struct nsys *n, const struct nsys_row *r, const char **skip, struct error *err)
{
	static const char *const names[] = { "Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync" };
	struct import_event e;
	int64_t number = 0;
	unsigned type = NSYS_SYNC_UNKNOWN;

	(void)skip;
	if (sql_query_integer(r->query, SYNC_TYPE, &number) && number >= 0 && number < NSYS_ENUM_MAX)
		type = n->sync_types[number];
	e = nsys_event(r, EVENT_SYNC, track_of(n, r->query, true), output_string(n->o, names[type], strlen(names[type])));
	nsys_field(&e, FIELD_CORRELATION, r->query, CORRELATION);
	if (type == NSYS_SYNC_EVENT || type == NSYS_SYNC_WAIT)
		set_wait(n, &e, r->query);
	if (sql_query_integer(r->query, SYNC_EVENT, &number) && number != 0xffffffff)
		nsys_argument_integer(n, "event", number);
	return nsys_put(n, &e, err);
}

/* ---- Memory -------------------------------------------------------------------------------- */

#define USAGE_COLUMNS "start - globalPid deviceId address bytes memKind memoryOperationType name correlationId streamId"
enum {
	USAGE_PROCESS = 3, USAGE_DEVICE, USAGE_ADDRESS, USAGE_BYTES, USAGE_KIND, USAGE_OPERATION, USAGE_NAME, USAGE_CORRELATION,
	USAGE_STREAM
};

static int read_usage(struct nsys *n, const struct nsys_row *r, const char **skip, struct error *err)
{
	const char *kind = event_memory_kind_name(memory_kind(n, r->query, USAGE_KIND));
	struct import_event e;
	int64_t operation = 0;

	if (!sql_query_integer(r->query, USAGE_OPERATION, &operation) || operation < 0 || operation > 1) {
		*skip = "it is neither an allocation nor a release";
		return 0;
	}
	e = nsys_event(r, operation ? EVENT_MEMORY_FREE : EVENT_MEMORY_ALLOC, nsys_process_track(n, r->query, USAGE_PROCESS),
		       nsys_text(n, r->query, USAGE_NAME));
	e.phase = PHASE_INSTANT;
	nsys_field(&e, FIELD_BYTES, r->query, USAGE_BYTES);
	nsys_field(&e, FIELD_POINTER, r->query, USAGE_ADDRESS);
	nsys_field(&e, FIELD_CORRELATION, r->query, USAGE_CORRELATION);
	nsys_argument_cell(n, "device", r->query, USAGE_DEVICE);
	nsys_argument_text(n, "memory_kind", kind, strlen(kind));
	nsys_argument_cell(n, "stream", r->query, USAGE_STREAM);
	return nsys_put(n, &e, err);
}

#define FAULT_COLUMNS "start end globalPid address deviceId numberOfPageFaults faultAccessType CpuInstruction module" \
		      " sourceFile sourceLine"
enum { FAULT_PROCESS = 3, FAULT_ADDRESS, FAULT_DEVICE, FAULT_COUNT, FAULT_ACCESS, FAULT_FUNCTION, FAULT_MODULE, FAULT_FILE, FAULT_LINE };

static void add_name(struct nsys *n, const char *key, struct sql_query *q, int column)
{
	const char *text;
	size_t size;
	int64_t id;

	if (!output_lean(n->o) && sql_query_integer(q, column, &id) && nsys_text_of(n, id, &text, &size))
		nsys_argument_text(n, key, text, size);
}

/* Page faults of managed memory, on either side. */
static int read_fault(struct nsys *n, const struct nsys_row *r, const char **skip, struct error *err)
{
	bool device = r->table->device;
	const char *name = device ? "GPU page fault" : "CPU page fault";
	uint32_t track = nsys_process_track(n, r->query, FAULT_PROCESS);
	struct import_event e = nsys_event(r, EVENT_INSTANT, track, output_string(n->o, name, strlen(name)));

	(void)skip;
	e.phase = PHASE_INSTANT;
	e.present = 0;
	nsys_field(&e, FIELD_POINTER, r->query, FAULT_ADDRESS);
	nsys_field(&e, FIELD_INTEGER, r->query, FAULT_COUNT);
	if (r->has_end)
		nsys_argument_integer(n, "duration_ns", r->end - r->start);
	nsys_argument_cell(n, "device", r->query, FAULT_DEVICE);
	nsys_argument_cell(n, "access", r->query, FAULT_ACCESS);
	add_name(n, "function", r->query, FAULT_FUNCTION);
	add_name(n, "module", r->query, FAULT_MODULE);
	add_name(n, "file", r->query, FAULT_FILE);
	nsys_argument_cell(n, "line", r->query, FAULT_LINE);
	return nsys_put(n, &e, err);
}

/* ---- Metrics --------------------------------------------------------------------------------- */

#define METRIC_COLUMNS "timestamp - typeId metricId value"
enum { METRIC_TYPE = 3, METRIC_ID, METRIC_VALUE };

static int read_metric(struct nsys *n, const struct nsys_row *r, const char **skip, struct error *err)
{
	int64_t type = 0, metric = 0;
	uint32_t name, device;
	struct import_event e;
	double value;
	uint64_t bits;

	if (!sql_query_number(r->query, METRIC_VALUE, &value) || !sql_query_integer(r->query, METRIC_ID, &metric)) {
		*skip = "it has no value";
		return 0;
	}
	sql_query_integer(r->query, METRIC_TYPE, &type);
	name = output_map_find(&n->metrics, (uint64_t)type, (uint64_t)metric);
	device = output_map_find(&n->metric_devices, (uint64_t)type & 0xff, 0);
	device = device == OUTPUT_NONE ? (uint32_t)type & 0xff : device;
	e = nsys_event(r, EVENT_COUNTER, nsys_device_track(n, device), name == OUTPUT_NONE ? 0 : name);
	e.phase = PHASE_INSTANT;
	memcpy(&bits, &value, sizeof bits);
	import_event_set(&e, FIELD_VALUE, bits);
	return nsys_put(n, &e, err);
}

const struct nsys_table nsys_gpu_tables[] = {
	{ "CUPTI_ACTIVITY_KIND_KERNEL", KERNEL_COLUMNS, NULL, NULL, true, read_kernel },
	{ "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", GRAPH_COLUMNS, NULL, NULL, true, read_graph },
	{ "CUPTI_ACTIVITY_KIND_MEMCPY", COPY_COLUMNS, NULL, NULL, true, read_copy },
	{ "CUPTI_ACTIVITY_KIND_MEMSET", MEMSET_COLUMNS, NULL, NULL, true, read_memset },
	{ "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", SYNC_COLUMNS, NULL, NULL, false, read_sync },
	{ "CUDA_GPU_MEMORY_USAGE_EVENTS", USAGE_COLUMNS, NULL, NULL, false, read_usage },
	{ "CUDA_UM_CPU_PAGE_FAULT_EVENTS", FAULT_COLUMNS, NULL, NULL, false, read_fault },
	{ "CUDA_UM_GPU_PAGE_FAULT_EVENTS", FAULT_COLUMNS, NULL, NULL, true, read_fault },
	{ "GPU_METRICS", METRIC_COLUMNS, NULL, NULL, false, read_metric },
	{ NULL, NULL, NULL, NULL, false, NULL },
};
