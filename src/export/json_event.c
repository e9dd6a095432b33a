/* json_event.c - rows become events; see json_export.h. */
#include <string.h>

#include "export/json_export.h"
#include "timeline/calls.h"

#define BIT(field) (UINT64_C(1) << (field))
#define LAUNCH "ac2g" /* what Kineto calls the arrows from calls to device work */

/* ---- What it is called --------------------------------------------------------- */

struct place {
	const struct trace_track *track; /* may be NULL */
	struct json_place *place;
	bool stream;
	enum json_row row;
	unsigned lane;
};

static const char *category_of(const struct row *row, bool stream)
{
	static const char *const names[EVENT_KIND_COUNT] = {
		[EVENT_CPU_CALL] = "python_function",
		[EVENT_SCOPE] = "user_annotation",
		[EVENT_OP] = "cpu_op",
		[EVENT_RUNTIME_CALL] = "cuda_runtime",
		[EVENT_GPU_KERNEL] = "kernel",
		[EVENT_H2D_COPY] = "gpu_memcpy",
		[EVENT_D2H_COPY] = "gpu_memcpy",
		[EVENT_D2D_COPY] = "gpu_memcpy",
		[EVENT_MEMSET] = "gpu_memset",
		[EVENT_SYNC] = "cuda_sync",
		[EVENT_COLLECTIVE] = "kernel",
		[EVENT_MEMORY_ALLOC] = "cpu_instant_event",
		[EVENT_MEMORY_FREE] = "cpu_instant_event",
	};

	if (stream)
		return row->kind == EVENT_SCOPE ? "gpu_user_annotation" : row->kind < EVENT_KIND_COUNT ? names[row->kind] : NULL;
	if (row->kind == EVENT_COLLECTIVE)
		return "cpu_op";
	if (row->kind == EVENT_SYNC)
		return "cuda_runtime";
	return row->kind < EVENT_KIND_COUNT && names[row->kind] ? names[row->kind] : event_kind_name(row->kind);
}

/* The category that it had, or the one that says what it is.  Instants of other tools need not have any. */
static void put_category(struct json_export *x, const struct row *row, const struct json_origin *origin, bool stream)
{
	const char *category = row->kind == EVENT_INSTANT ? NULL : category_of(row, stream);

	if (origin->category.size) {
		JSON(x->out, ",\"cat\":");
		json_quoted_to(x->out, origin->category.data, origin->category.size);
	} else if (category) {
		JSON(x->out, ",\"cat\":\"");
		json_bytes(x->out, category, strlen(category));
		JSON(x->out, "\"");
	}
}

/* "FILE(LINE): FUNCTION", as torch names calls of Python functions. */
static bool put_function_name(struct json_export *x, const struct row *row)
{
	bool call = x->kineto && row->kind == EVENT_CPU_CALL;
	const struct trace_frame *frame = call ? trace_reader_function(x->reader, row->name) : NULL;
	struct buffer text = BUFFER_INIT;
	const char *part;
	size_t size;
	int rc;

	if (!frame || !frame->file || !frame->line)
		return false;
	part = trace_reader_string(x->reader, frame->file, &size);
	rc = buffer_append(&text, part, size);
	rc = rc ? rc : buffer_printf(&text, "(%u): ", frame->line);
	part = trace_reader_string(x->reader, frame->function, &size);
	rc = rc ? rc : buffer_append(&text, part, size);
	export_out_check(x->out, rc);
	json_quoted_to(x->out, (const char *)text.data, text.size);
	buffer_release(&text);
	return true;
}

static void put_name(struct json_export *x, const struct row *row)
{
	size_t size;
	const char *name;

	JSON(x->out, ",\"name\":");
	if (put_function_name(x, row))
		return;
	name = trace_reader_string(x->reader, row->name, &size);
	if (x->kineto && (row->kind == EVENT_MEMORY_ALLOC || row->kind == EVENT_MEMORY_FREE))
		JSON(x->out, "\"[memory]\"");
	else if (size == 0 && row->kind == EVENT_LOST)
		JSON(x->out, "\"lost events\"");
	else
		json_quoted_to(x->out, name, size);
}

/* ---- Where it is ------------------------------------------------------------------- */

/* Viewers have a row of its own for each sort of what a stream does. */
static enum json_row row_of(const struct json_export *x, const struct row *row, bool stream)
{
	if (row->kind == EVENT_LOST)
		return JSON_LOST;
	if (!stream || x->kineto)
		return JSON_MAIN;
	switch (row->kind) {
	case EVENT_H2D_COPY:
	case EVENT_D2H_COPY:
	case EVENT_D2D_COPY:
	case EVENT_MEMSET:
		return JSON_MEMORY;
	case EVENT_SYNC:
		return JSON_SYNC;
	case EVENT_GPU_KERNEL:
	case EVENT_COLLECTIVE:
	case EVENT_FLOW:
		return JSON_MAIN;
	default:
		return JSON_SCOPES;
	}
}

static struct place find_place(struct json_export *x, const struct row *row)
{
	struct place p = { .track = trace_reader_track(x->reader, row->track), .place = json_place_of(&x->places, row->track) };

	p.stream = p.track && p.track->kind == TRACK_STREAM;
	p.row = row_of(x, row, p.stream);
	return p;
}

static bool is_slice(const struct row *row)
{
	return row->event_phase == PHASE_COMPLETE && row->has_start;
}

static int64_t end_of(const struct row *row)
{
	return row->end_ns < row->start_ns ? row->start_ns : row->end_ns;
}

/* Kineto has no lanes, and a track that no entry describes has none either. */
static void find_lane(struct json_export *x, const struct row *row, struct place *p)
{
	int lane;

	if (x->kineto || row->track >= x->places.track_count)
		return;
	lane = json_lanes_of(&x->lanes, row->track * JSON_ROWS + p->row, row->start_ns, end_of(row), !row->paired);
	if (lane < 0)
		export_out_check(x->out, lane);
	else
		p->lane = (unsigned)lane;
}

int json_gather_row(void *arg, const struct row *row)
{
	struct json_export *x = arg;
	struct place p;

	if (!is_slice(row) || row->track >= x->places.track_count)
		return 0;
	p = find_place(x, row);
	if (row->present & BIT(FIELD_CORRELATION) && row->field[FIELD_CORRELATION])
		x->correlated[row->track] = true;
	return json_lanes_gather(&x->lanes, row->track * JSON_ROWS + p.row, row->start_ns, end_of(row));
}

static void put_tid(struct json_export *x, const struct place *p, const struct json_origin *origin)
{
	struct cursor tid = origin->tid;
	const char *name;
	size_t size;

	JSON(x->out, ",\"tid\":");
	if (tid.at && json_value_to(x->out, &tid))
		return;
	if (!p->place->tid_name) {
		json_signed_to(x->out, p->place->tid);
		return;
	}
	name = trace_reader_string(x->reader, p->place->tid_name, &size);
	json_quoted_to(x->out, name, size);
}

/* As it was, of an event that an importer has found elsewhere than it put it. */
static void put_origin(struct json_export *x, const struct place *p, const struct json_origin *origin)
{
	struct cursor pid = origin->pid;

	JSON(x->out, ",");
	if (pid.at && *pid.at == 0xa0) { /* an empty string, and so is the thread's */
		JSON(x->out, "\"pid\":\"\",\"tid\":\"\"");
		return;
	}
	if (!pid.at) {
		json_pid_to(x->out, &x->places, p->place);
	} else {
		JSON(x->out, "\"pid\":");
		if (!json_value_to(x->out, &pid))
			JSON(x->out, "0");
	}
	put_tid(x, p, origin);
}

static void put_place(struct json_export *x, const struct place *p, const struct json_origin *origin)
{
	struct json_place *place = p->place;

	if (x->kineto && origin && (origin->pid.at || origin->tid.at)) {
		if (origin->tid.at && !origin->pid.at)
			json_place_note(place, origin->tid);
		put_origin(x, p, origin);
		return;
	}
	if (place->used[p->row] <= p->lane)
		place->used[p->row] = (uint8_t)(p->lane + 1);
	JSON(x->out, ",");
	json_place_to(x->out, &x->places, place, p->row, p->lane);
}

static void put_time(struct json_export *x, int64_t ns)
{
	JSON(x->out, ",\"ts\":");
	json_us_to(x->out, (int64_t)((uint64_t)ns + (uint64_t)x->shift));
}

void json_begin_event(struct json_export *x)
{
	if (x->begun)
		JSON(x->out, ",\n{");
	else
		JSON(x->out, "\n{");
	x->begun = true;
}

/* ---- Arrows ---------------------------------------------------------------------- */

#define JSON_SAFE (UINT64_C(1) << 52) /* larger integers are not exact in every reader */

uint64_t json_unique(uint64_t group, uint64_t id)
{
	uint64_t hash;

	if (id <= UINT32_MAX && group < JSON_SAFE >> 32)
		return group << 32 | id;
	hash = (id ^ group * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
	return JSON_SAFE | (hash ^ hash >> 32) % JSON_SAFE;
}

/* Correlations, and all ids of our own, are unique in a process; other ids of another tool's in a file. */
static uint64_t process_of(const struct place *p)
{
	return p->track && p->track->process > 0 ? (uint64_t)p->track->process : 0;
}

static uint64_t group_of(const struct json_export *x, const struct row *row, const struct place *p)
{
	return x->imported ? row->domain : process_of(p);
}

static void put_id(struct json_export *x, uint64_t id)
{
	JSON(x->out, ",\"id\":");
	json_unsigned_to(x->out, id);
}

/* Something on a stream follows from it: work, or a wait. */
static bool launches(struct json_export *x, uint32_t name)
{
	enum call_class class;
	size_t size;
	const char *text;

	if (name >= trace_reader_string_count(x->reader))
		return false;
	if (x->call_names[name] == 0) {
		text = trace_reader_string(x->reader, name, &size);
		class = call_classify(text, size);
		x->call_names[name] = call_launches(class) || (class >= CALL_SYNC_DEVICE && class <= CALL_STREAM_WAIT) ? 2 : 1;
	}
	return x->call_names[name] == 2;
}

/* Whether it is the begin of an arrow.  A call of the runtime and that of the driver inside it have the same correlation. */
static bool leaves(struct json_export *x, const struct row *row, const struct place *p)
{
	uint64_t *last = &x->launched[p->place - x->places.tracks], correlation = row->field[FIELD_CORRELATION];

	if (!launches(x, row->name) || *last == correlation)
		return false;
	*last = correlation;
	return true;
}

/* From a call to the work that it launched, by what both say. */
static void put_launch(struct json_export *x, const struct row *row, const struct place *p)
{
	bool out = row->kind == EVENT_RUNTIME_CALL && !p->stream;

	if (!(row->present & BIT(FIELD_CORRELATION)) || row->field[FIELD_CORRELATION] == 0)
		return;
	x->correlated[p->place - x->places.tracks] = true;
	if (!x->launches || (out ? !leaves(x, row, p) : !p->stream || p->row == JSON_SCOPES || p->row == JSON_LOST))
		return;
	json_begin_event(x);
	if (out)
		JSON(x->out, "\"ph\":\"s\",\"cat\":\"" LAUNCH "\",\"name\":\"" LAUNCH "\"");
	else
		JSON(x->out, "\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"" LAUNCH "\",\"name\":\"" LAUNCH "\"");
	put_id(x, json_unique(process_of(p), row->field[FIELD_CORRELATION]));
	put_place(x, p, NULL);
	put_time(x, row->start_ns);
	JSON(x->out, "}");
}

/* From an operator to the one that computes its gradient, which has its number.  Operators inside it may have the same one: the
 * innermost, which ends first, is it. */
static void put_gradient(struct json_export *x, const struct row *row, const struct place *p)
{
	uint64_t sequence = row->field[FIELD_CORRELATION], *last = &x->sequences[p->place - x->places.tracks];
	size_t size;
	const char *name = trace_reader_string(x->reader, row->name, &size);
	bool backward = memmem(name, size, "Backward", 8);

	if (x->imported || !(row->present & BIT(FIELD_CORRELATION)) || (!backward && sequence < *last))
		return;
	json_begin_event(x);
	if (backward) {
		JSON(x->out, "\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\"");
	} else {
		JSON(x->out, "\"ph\":\"s\",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\"");
		*last = sequence + 1;
	}
	put_id(x, json_unique(group_of(x, row, p), sequence));
	put_place(x, p, NULL);
	put_time(x, row->start_ns);
	JSON(x->out, "}");
}

/* By the names that Kineto has had for them. */
bool json_is_launch(const char *name, size_t size)
{
	static const char *const names[] = { LAUNCH, "async_gpu", "launch", "async_cpu_to_gpu" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strlen(names[i]) == size && memcmp(names[i], name, size) == 0)
			return true;
	return false;
}

static void put_arrow(struct json_export *x, const struct row *row, const struct json_origin *origin, const struct place *p)
{
	bool in = row->event_phase == PHASE_FLOW_IN, launch;
	size_t size;
	const char *name = trace_reader_string(x->reader, row->name, &size);

	launch = json_is_launch(name, size);
	if (launch && x->launches && x->correlated[p->place - x->places.tracks])
		return; /* there is one already, made from what the slice says */
	json_begin_event(x);
	if (!in)
		JSON(x->out, "\"ph\":\"s\",\"cat\":");
	else if (origin->phase == 't')
		JSON(x->out, "\"ph\":\"t\",\"cat\":");
	else
		JSON(x->out, "\"ph\":\"f\",\"bp\":\"e\",\"cat\":");
	if (launch && x->launches)
		json_text_to(x->out, LAUNCH);
	else if (origin->category.size)
		json_quoted_to(x->out, origin->category.data, origin->category.size);
	else
		json_quoted_to(x->out, size ? name : "flow", size ? size : 4);
	JSON(x->out, ",\"name\":");
	if (launch && x->launches)
		json_text_to(x->out, LAUNCH);
	else
		json_quoted_to(x->out, size ? name : "flow", size ? size : 4);
	put_id(x, json_unique(launch && x->launches ? process_of(p) : group_of(x, row, p), row->field[FIELD_FLOW]));
	put_place(x, p, origin);
	put_time(x, row->start_ns);
	json_args_to(x, row, origin);
	JSON(x->out, "}");
}

/* ---- The other events --------------------------------------------------------------- */

static void put_slice(struct json_export *x, const struct row *row, const struct json_origin *origin, struct place *p)
{
	find_lane(x, row, p);
	json_begin_event(x);
	JSON(x->out, "\"ph\":\"X\"");
	put_category(x, row, origin, p->stream);
	put_name(x, row);
	put_place(x, p, origin);
	put_time(x, row->start_ns);
	JSON(x->out, ",\"dur\":");
	json_us_to(x->out, (int64_t)((uint64_t)end_of(row) - (uint64_t)row->start_ns));
	json_args_to(x, row, origin);
	JSON(x->out, "}");
	if (row->kind == EVENT_OP)
		put_gradient(x, row, p);
	else
		put_launch(x, row, p);
}

/* Counters belong to a process; those of a thread are told apart by their id. */
static void put_counter(struct json_export *x, const struct row *row, const struct place *p)
{
	double value;

	p->place->counted = true;
	json_begin_event(x);
	JSON(x->out, "\"ph\":\"C\"");
	put_name(x, row);
	if (p->track && (p->track->kind == TRACK_THREAD || p->track->kind == TRACK_STATES || p->track->kind == TRACK_STREAM))
		put_id(x, p->track->os_id);
	JSON(x->out, ",");
	json_pid_to(x->out, &x->places, p->place);
	JSON(x->out, ",\"tid\":0");
	put_time(x, row->start_ns);
	JSON(x->out, ",\"args\":{\"value\":");
	if (row->present & BIT(FIELD_VALUE)) {
		memcpy(&value, &row->field[FIELD_VALUE], sizeof value);
		json_double_to(x->out, value);
	} else {
		json_signed_to(x->out, (int64_t)row->field[FIELD_INTEGER]);
	}
	JSON(x->out, "}}");
}

static void put_range(struct json_export *x, const struct row *row, const struct json_origin *origin, const struct place *p)
{
	json_begin_event(x);
	if (row->event_phase == PHASE_ASYNC_BEGIN)
		JSON(x->out, "\"ph\":\"b\"");
	else if (row->event_phase == PHASE_ASYNC_END)
		JSON(x->out, "\"ph\":\"e\"");
	else
		JSON(x->out, "\"ph\":\"n\"");
	if (origin->category.size)
		put_category(x, row, origin, false);
	else
		JSON(x->out, ",\"cat\":\"async\"");
	put_name(x, row);
	put_id(x, json_unique(group_of(x, row, p), row->field[FIELD_FLOW]));
	put_place(x, p, origin);
	put_time(x, row->start_ns);
	json_args_to(x, row, origin);
	JSON(x->out, "}");
}

static bool is_process_wide(const struct place *p)
{
	return p->track && (p->track->kind == TRACK_PROCESS || p->track->kind == TRACK_DEVICE || p->track->kind == TRACK_HOST);
}

static void put_instant(struct json_export *x, const struct row *row, const struct json_origin *origin, const struct place *p)
{
	bool sample = row->kind == EVENT_CPU_SAMPLE && !(p->track && p->track->kind == TRACK_STATES);
	char phase[] = "\"ph\":\"i\"", scope[] = ",\"s\":\"t\"";

	phase[6] = origin->phase && strchr("RNODvVc", origin->phase) ? origin->phase : sample ? 'P' : 'i';
	scope[6] = origin->scope == 'g' || origin->scope == 'p' ? origin->scope : is_process_wide(p) ? 'p' : 't';
	json_begin_event(x);
	json_bytes(x->out, phase, sizeof phase - 1);
	put_category(x, row, origin, p->stream);
	put_name(x, row);
	json_bytes(x->out, scope, sizeof scope - 1);
	put_place(x, p, origin);
	put_time(x, row->has_start ? row->start_ns : row->end_ns);
	json_args_to(x, row, origin);
	JSON(x->out, "}");
}

int json_write_row(void *arg, const struct row *row)
{
	struct json_export *x = arg;
	struct json_origin origin = json_origin_of(row);
	struct place p = find_place(x, row);

	if (is_slice(row))
		put_slice(x, row, &origin, &p);
	else if (row->kind == EVENT_COUNTER)
		put_counter(x, row, &p);
	else if (row->event_phase == PHASE_FLOW_OUT || row->event_phase == PHASE_FLOW_IN)
		put_arrow(x, row, &origin, &p);
	else if (row->event_phase == PHASE_ASYNC_BEGIN || row->event_phase == PHASE_ASYNC_END ||
		 (row->kind == EVENT_INSTANT && row->present & BIT(FIELD_FLOW)))
		put_range(x, row, &origin, &p);
	else
		put_instant(x, row, &origin, &p);
	return export_out_ready(x->out) ? 0 : x->out->error;
}
