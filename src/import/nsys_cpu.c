/*
 * nsys_cpu.c - what threads did.
 */
#include <string.h>

#include "import/nsys.h"

/* ---- Calls --------------------------------------------------------------------------- */

#define CALL_COLUMNS "start end globalTid|globalPid nameId|name|textId correlationId returnValue size|sourceBytes"
enum { THREAD = 3, NAME, CORRELATION, RESULT, BYTES };

static struct import_event call(struct nsys *n, const struct nsys_row *r, enum event_kind kind)
{
	return nsys_event(r, kind, nsys_thread(n, r->query, THREAD), nsys_text(n, r->query, NAME));
}

/* Runtime and driver are in one table; names keep the version at their end, as "cudaLaunchKernel_v7000". */
static int read_runtime(struct nsys *n, const struct nsys_row *r, const char **skip, struct error *err)
{
	struct import_event e = call(n, r, EVENT_RUNTIME_CALL);
	int64_t result = 0;

	(void)skip;
	nsys_field(&e, FIELD_CORRELATION, r->query, CORRELATION);
	if (sql_query_integer(r->query, RESULT, &result) && result != 0)
		nsys_argument_integer(n, "result", result);
	return nsys_put(n, &e, err);
}

static int read_system(struct nsys *n, const struct nsys_row *r, const char **skip, struct error *err)
{
	struct import_event e = call(n, r, EVENT_CPU_SYSCALL);

	(void)skip;
	nsys_argument_cell(n, "result", r->query, RESULT);
	return nsys_put(n, &e, err);
}

/* Calls of a library, whose name is the first word of the table's. */
static int read_library(struct nsys *n, const struct nsys_row *r, const char **skip, struct error *err)
{
	struct import_event e = call(n, r, EVENT_SCOPE);

	(void)skip;
	nsys_field(&e, FIELD_BYTES, r->query, BYTES);
	nsys_argument_text(n, "domain", r->table->name, strcspn(r->table->name, "_"));
	return nsys_put(n, &e, err);
}

/* ---- Threads on processors -------------------------------------------------------------- */

#define SCHED_COLUMNS "start - globalTid cpu isSchedIn"
enum { SCHED_CPU = 4, SCHED_IN };

static int read_sched(struct nsys *n, const struct nsys_row *r, const char **skip, struct error *err)
{
	struct import_event e;
	int64_t in = 0;
	double value;
	uint64_t bits;

	if (!sql_query_integer(r->query, SCHED_IN, &in)) {
		*skip = "it does not say whether the thread runs";
		return 0;
	}
	e = nsys_event(r, EVENT_COUNTER, nsys_thread(n, r->query, THREAD), output_string(n->o, "running", 7));
	e.phase = PHASE_INSTANT;
	value = in != 0;
	memcpy(&bits, &value, sizeof bits);
	import_event_set(&e, FIELD_VALUE, bits);
	nsys_field(&e, FIELD_CPU, r->query, SCHED_CPU);
	return nsys_put(n, &e, err);
}

#define SAMPLE_COLUMNS "start - globalTid cpu id threadState"
enum { SAMPLE_CPU = 4, SAMPLE_ID, SAMPLE_STATE };
#define SAMPLE_TABLE "SAMPLING_CALLCHAINS"

/* The innermost function, if the way to it is short. */
static uint32_t sample_name(struct nsys *n, struct sql_query *q)
{
	int64_t id;

	if (!n->sample_query || !sql_query_integer(q, SAMPLE_ID, &id))
		return 0;
	sql_query_reset(n->sample_query);
	sql_query_bind(n->sample_query, 1, id);
	return sql_query_step(n->sample_query, NULL) > 0 ? nsys_text(n, n->sample_query, 0) : 0;
}

static bool has_stacks(struct nsys *n)
{
	bool has = sql_column_is_key(n->sql, SAMPLE_TABLE, "id") && sql_column_exists(n->sql, SAMPLE_TABLE, "symbol") &&
		   sql_column_exists(n->sql, SAMPLE_TABLE, "stackDepth");

	n->no_samples = !has; /* asked once */
	return has;
}

static int read_sample(struct nsys *n, const struct nsys_row *r, const char **skip, struct error *err)
{
	struct import_event e;

	(void)skip;
	if (!n->sample_query && !n->no_samples && has_stacks(n))
		sql_query(n->sql, &n->sample_query, SAMPLE_TABLE,
			  "SELECT symbol FROM " SAMPLE_TABLE " WHERE id = ?1 AND stackDepth = 0", NULL);
	e = nsys_event(r, EVENT_CPU_SAMPLE, nsys_thread(n, r->query, THREAD), sample_name(n, r->query));
	e.phase = PHASE_INSTANT;
	nsys_field(&e, FIELD_CPU, r->query, SAMPLE_CPU);
	return nsys_put(n, &e, err);
}

/* ---- The profiler itself ------------------------------------------------------------------ */

/* On the process and not on the thread, where it would cross what the program did. */
static int read_overhead(struct nsys *n, const struct nsys_row *r, const char **skip, struct error *err)
{
	uint32_t track = nsys_process_track(n, r->query, THREAD);
	struct import_event e = nsys_event(r, EVENT_SCOPE, track, output_string(n->o, "profiler overhead", 17));
	const char *text;
	size_t size;
	int64_t number;

	(void)skip;
	if (!output_lean(n->o) && sql_query_integer(r->query, NAME, &number) && nsys_text_of(n, number, &text, &size))
		nsys_argument_text(n, "activity", text, size);
	if (sql_query_integer(r->query, THREAD, &number))
		nsys_argument_integer(n, "thread", number & 0xffffff);
	return nsys_put(n, &e, err);
}

#define DIAGNOSTIC_COLUMNS "timestamp - globalPid text severity source"
enum { DIAGNOSTIC_PROCESS = 3, DIAGNOSTIC_TEXT, DIAGNOSTIC_SEVERITY, DIAGNOSTIC_SOURCE };
#define DIAGNOSTIC_MAX 1000u /* bytes of its text */

static int read_diagnostic(struct nsys *n, const struct nsys_row *r, const char **skip, struct error *err)
{
	static const char *const severities[] = { "unknown", "info", "warning", "error", "verbose" };
	struct import_event e;
	const char *text = "";
	size_t size = 0;
	int64_t severity = 0;

	(void)skip;
	sql_query_text(r->query, DIAGNOSTIC_TEXT, &text, &size);
	e = nsys_event(r, EVENT_INSTANT, nsys_process_track(n, r->query, DIAGNOSTIC_PROCESS),
		       output_string(n->o, text, size < DIAGNOSTIC_MAX ? size : DIAGNOSTIC_MAX));
	e.phase = PHASE_INSTANT;
	if (sql_query_integer(r->query, DIAGNOSTIC_SEVERITY, &severity) && severity >= 0 && severity < 5)
		nsys_argument_text(n, "severity", severities[severity], strlen(severities[severity]));
	return nsys_put(n, &e, err);
}

const struct nsys_table nsys_cpu_tables[] = {
	{ "MPI_COLLECTIVES_EVENTS", CALL_COLUMNS, NULL, NULL, false, read_library },
	{ "MPI_P2P_EVENTS", CALL_COLUMNS, NULL, NULL, false, read_library },
	{ "MPI_START_WAIT_EVENTS", CALL_COLUMNS, NULL, NULL, false, read_library },
	{ "MPI_OTHER_EVENTS", CALL_COLUMNS, NULL, NULL, false, read_library },
	{ "CUDNN_EVENTS", CALL_COLUMNS, NULL, NULL, false, read_library },
	{ "CUBLAS_EVENTS", CALL_COLUMNS, NULL, NULL, false, read_library },
	{ "CUPTI_ACTIVITY_KIND_RUNTIME", CALL_COLUMNS, NULL, NULL, false, read_runtime },
	{ "OSRT_API", CALL_COLUMNS, NULL, NULL, false, read_system },
	{ "SCHED_EVENTS", SCHED_COLUMNS, NULL, NULL, false, read_sched },
	{ "COMPOSITE_EVENTS", SAMPLE_COLUMNS, NULL, NULL, false, read_sample },
	{ "PROFILER_OVERHEAD", CALL_COLUMNS, NULL, NULL, false, read_overhead },
	{ "CUPTI_ACTIVITY_KIND_OVERHEAD", CALL_COLUMNS, NULL, NULL, false, read_overhead },
	{ "DIAGNOSTIC_EVENT", DIAGNOSTIC_COLUMNS, NULL, NULL, false, read_diagnostic },
	{ NULL, NULL, NULL, NULL, false, NULL },
};
