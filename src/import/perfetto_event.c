/*
 * perfetto_event.c - TrackEvent: slices, instants, counters, flows, and the older events of Chrome.
 */
#include "import/perfetto.h"

#include <errno.h>
#include <string.h>

#include "import/output_state.h"

/* Fields of TrackEvent. */
enum {
	EVENT_DELTA_US = 1,
	EVENT_CATEGORY_IIDS = 3,
	EVENT_ANNOTATIONS = 4,
	EVENT_LEGACY = 6,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_EXTRA_VALUES = 12,
	EVENT_ABSOLUTE_US = 16,
	EVENT_CATEGORIES = 22,
	EVENT_NAME = 23,
	EVENT_COUNTER_VALUE = 30,
	EVENT_EXTRA_TRACKS = 31,
	EVENT_SOURCE = 33,
	EVENT_SOURCE_IID = 34,
	EVENT_FLOWS_OLD = 36,
	EVENT_ENDING_FLOWS_OLD = 42,
	EVENT_DOUBLE_VALUE = 44,
	EVENT_EXTRA_DOUBLE_TRACKS = 45,
	EVENT_EXTRA_DOUBLE_VALUES = 46,
	EVENT_FLOWS = 47,
	EVENT_ENDING_FLOWS = 48,
	EVENT_GPU_CORRELATION = 3000 /* of Perfetto's GPU extension */
};

#define OUR_TRACE "inferscope.trace" /* category of the first event of our own exports */
#define DOUBLE_EXACT ((int64_t)1 << 53)

enum { TYPE_SLICE_BEGIN = 1, TYPE_SLICE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4, TYPE_STATE = 5 };
enum { LEGACY_FLOW_IN = 1, LEGACY_FLOW_OUT = 2, LEGACY_FLOW_BOTH = 3 };

struct legacy {
	uint64_t name_iid, id, bind_id, direction, pid, tid;
	int64_t duration_us;
	unsigned phase;
	bool has_id, local, has_bind, has_pid, has_tid;
	struct text scope;
};

struct track_event {
	uint64_t type, name_iid, track, source_iid, correlation;
	struct text name, category;
	bool has_name, has_track, has_value, has_delta, has_absolute, has_extra, has_flows, has_annotations,
		has_correlation;
	uint8_t kind;     /* that a category stands for */
	unsigned unknown; /* categories that nobody gave */
	int64_t delta_us, absolute_us, integer;
	double value;
	struct pb_field source;
	struct legacy legacy;
};

void perfetto_event_begin(struct perfetto_event *pe, enum event_kind kind, enum event_phase phase, int64_t time)
{
	pe->e.kind = (uint8_t)kind;
	pe->e.phase = (uint8_t)phase;
	pe->e.track = OUTPUT_NONE;
	pe->e.name = 0;
	pe->e.time = time;
	pe->e.present = 0;
	pe->e.metadata = NULL;
	pe->e.metadata_size = 0;
	pe->action = SORT_EVENT;
	pe->direct = pe->counter = pe->has_device = pe->has_stream = false;
	pe->device = 0;
	pe->stream = 0;
}

/* ---- Reading ------------------------------------------------------------------ */

static int read_legacy(struct cursor c, struct legacy *l)
{
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		switch (f.number) {
		case 1:
			l->name_iid = f.value;
			break;
		case 2:
			l->phase = f.value < 128 ? (unsigned)f.value : 0;
			break;
		case 3:
			l->duration_us = (int64_t)f.value;
			break;
		case 6:
		case 10:
		case 11:
			l->id = f.value;
			l->has_id = true;
			l->local = f.number == 10;
			break;
		case 7:
			l->scope = pb_text(&f);
			break;
		case 8:
			l->bind_id = f.value;
			l->has_bind = true;
			break;
		case 13:
			l->direction = f.value;
			break;
		case 18:
			l->pid = f.value & UINT32_MAX;
			l->has_pid = true;
			break;
		case 19:
			l->tid = f.value & UINT32_MAX;
			l->has_tid = true;
			break;
		default:
			break;
		}
	}
	return rc;
}

/* The first category that stands for a kind decides. */
static void take_category(struct track_event *t, uint8_t kind, struct text name)
{
	if (t->kind == EVENT_NONE)
		t->kind = kind;
	if (!t->category.size)
		t->category = name;
}

static void take_categories(const struct sequence *s, struct track_event *t, const struct pb_field *f)
{
	struct pb_numbers n = pb_numbers_of(f, PB_VARINT);
	uint64_t iid;

	while (pb_number(&n, &iid)) {
		const struct interned *entry = intern_find(s, INTERN_CATEGORY, iid);

		if (entry)
			take_category(t, (uint8_t)entry->extra, intern_text(s, entry));
		t->unknown += !entry;
	}
}

/* The first of the device work that the call asked for. */
static void take_correlation(struct track_event *t, struct cursor c)
{
	struct pb_field f;

	while (!t->has_correlation && pb_next(&c, &f) > 0) {
		struct pb_numbers n = pb_numbers_of(&f, PB_VARINT);

		if (f.number == 1)
			t->has_correlation = pb_number(&n, &t->correlation);
	}
}

static int read_times(struct track_event *t, const struct pb_field *f)
{
	if (f->number == EVENT_DELTA_US) {
		t->delta_us = (int64_t)f->value;
		t->has_delta = true;
	} else {
		t->absolute_us = (int64_t)f->value;
		t->has_absolute = f->value != 0;
	}
	return 0;
}

static int read_field(const struct sequence *s, struct track_event *t, const struct pb_field *f)
{
	switch (f->number) {
	case EVENT_TYPE:
		t->type = f->value;
		break;
	case EVENT_NAME_IID:
		t->name_iid = f->value;
		break;
	case EVENT_NAME:
		t->name = pb_text(f);
		t->has_name = true;
		break;
	case EVENT_TRACK:
		t->track = f->value;
		t->has_track = true;
		break;
	case EVENT_COUNTER_VALUE:
		t->integer = (int64_t)f->value;
		t->value = (double)t->integer;
		t->has_value = true;
		break;
	case EVENT_DOUBLE_VALUE:
		t->value = pb_double(f);
		t->has_value = true;
		break;
	case EVENT_CATEGORY_IIDS:
		take_categories(s, t, f);
		break;
	case EVENT_CATEGORIES:
		take_category(t, kind_of_category(pb_text(f)), pb_text(f));
		break;
	case EVENT_ANNOTATIONS:
		t->has_annotations = true;
		break;
	case EVENT_SOURCE:
		t->source = *f;
		break;
	case EVENT_SOURCE_IID:
		t->source_iid = f->value;
		break;
	case EVENT_EXTRA_VALUES:
	case EVENT_EXTRA_DOUBLE_VALUES:
		t->has_extra = true;
		break;
	case EVENT_FLOWS_OLD:
	case EVENT_ENDING_FLOWS_OLD:
	case EVENT_FLOWS:
	case EVENT_ENDING_FLOWS:
		t->has_flows = true;
		break;
	case EVENT_DELTA_US:
	case EVENT_ABSOLUTE_US:
		return read_times(t, f);
	case EVENT_GPU_CORRELATION:
		take_correlation(t, pb_message(f));
		break;
	case EVENT_LEGACY:
		return read_legacy(pb_message(f), &t->legacy);
	default:
		break;
	}
	return 0;
}

/* The time of the packet, or what the older events say: microseconds of CLOCK_MONOTONIC. */
static bool time_of(struct perfetto *p, const struct packet *packet, const struct track_event *t, int64_t *ret)
{
	struct sequence *s = packet->sequence;
	int64_t ns;

	if (!t->has_delta && !t->has_absolute) {
		*ret = packet->time;
		return packet->has_time;
	}
	if (__builtin_mul_overflow(t->has_delta ? t->delta_us : t->absolute_us, 1000, &ns))
		return false;
	if (t->has_delta) {
		if (!s->has_thread || __builtin_add_overflow(s->thread_time, ns, &ns))
			return false;
		s->thread_time = ns;
	}
	return ns >= 0 &&
	       clock_convert(p, s, packet->machine, p->clocks.snapshots ? CLOCK_ID_MONOTONIC : 0, (uint64_t)ns, ret);
}

/* ---- Functions ---------------------------------------------------------------- */

#define BUILTINS "builtins"
#define FUNCTIONS_MAX ((uint32_t)1 << 20)

static bool ends_with(struct text text, struct text end)
{
	return end.size && end.size < text.size && text.data[text.size - end.size - 1] == '.' &&
	       memcmp(text.data + text.size - end.size, end.data, end.size) == 0;
}

/* Module and qualified name, if the name of the event is "module.function", as our own export has it. */
static bool split_name(struct text name, struct text function, struct trace_function *ret)
{
	const struct text module = { function.data, sizeof BUILTINS - 1 };

	if (ends_with(name, function)) {
		ret->module = (struct trace_text){ name.data, name.size - function.size - 1 };
	} else if (ends_with(function, name) && function.size == name.size + sizeof BUILTINS &&
		   memcmp(module.data, BUILTINS, module.size) == 0) {
		ret->module = (struct trace_text){ module.data, module.size };
		function = name;
	} else if (name.size != function.size || !name.size || memcmp(name.data, function.data, name.size) != 0) {
		return false;
	}
	ret->qualname = (struct trace_text){ function.data, function.size };
	return function.size < OUTPUT_STRING_MAX && ret->module.size < OUTPUT_STRING_MAX;
}

static bool read_source(struct text source, struct text name, struct trace_function *ret)
{
	struct cursor c = cursor_of(source.data, source.size);
	struct text function = { "", 0 };
	struct pb_field f;

	while (pb_next(&c, &f) > 0) {
		if (f.number == 2)
			ret->file = (struct trace_text){ (const char *)f.data, f.size };
		else if (f.number == 3)
			function = pb_text(&f);
		else if (f.number == 4 && f.value <= UINT32_MAX)
			ret->line = (uint32_t)f.value;
	}
	return ret->file.size < OUTPUT_STRING_MAX && split_name(name, function, ret);
}

/* The function that the event's source says its name to be; 0: it is a plain name. */
static uint32_t function_of(struct perfetto *p, const struct packet *packet, const struct track_event *t, struct text name)
{
	struct interned *entry = (struct interned *)intern_find(packet->sequence, INTERN_SOURCE, t->source_iid);
	struct trace_function function = { 0 };

	if (!entry || t->kind == EVENT_NONE || !t->name_iid)
		return 0;
	if (entry->number != OUTPUT_NONE && entry->value == t->name_iid)
		return entry->number;
	entry->value = t->name_iid;
	entry->number = 0;
	if (p->functions++ < FUNCTIONS_MAX && read_source(intern_text(packet->sequence, entry), name, &function))
		entry->number = trace_writer_function(p->o->writer, &function);
	return entry->number;
}

/* ---- Where it belongs --------------------------------------------------------- */

static bool find_track(struct perfetto *p, const struct packet *packet, const struct track_event *t,
		       struct perfetto_event *pe)
{
	const struct sequence *s = packet->sequence;
	const struct legacy *l = &t->legacy;
	uint64_t uuid = t->has_track ? t->track : s->has_track ? s->track : 0;

	if (uuid) {
		pe->e.track = track_of_uuid(p, packet->machine, uuid);
	} else if (l->has_pid || (s->has_thread && (!t->has_track || !t->type || l->has_tid))) {
		uint64_t pid = l->has_pid ? l->pid : s->pid, tid = l->has_tid ? l->tid : l->has_pid ? l->pid : s->tid;

		pe->e.track = track_thread(p, packet->machine, pid, tid);
		pe->direct = true;
	} else {
		pe->e.track = track_of_sequence(p, packet->machine, s);
	}
	return pe->e.track != PERFETTO_NONE;
}

static uint32_t name_of(struct perfetto *p, const struct packet *packet, const struct track_event *t, struct text *ret)
{
	uint64_t iid = t->name_iid ? t->name_iid : t->legacy.name_iid;

	*ret = t->name;
	if (iid) {
		*ret = intern_text(packet->sequence, intern_find(packet->sequence, INTERN_NAME, iid));
		return intern_name(p, packet->sequence, INTERN_NAME, iid);
	}
	return t->has_name ? output_string(p->o, t->name.data, t->name.size) : 0;
}

/* Work of a device goes to its stream, if that can be told; so does all on the track of a stream of our own export. */
static void find_stream(struct perfetto *p, uint8_t kind, struct perfetto_event *pe)
{
	if (!pe->direct && track_our_stream(p, pe->e.track, &pe->device, &pe->stream)) {
		pe->has_stream = true;
		return;
	}
	if (!kind_on_device(kind) && kind != KIND_ARROW) {
		pe->has_stream = false;
		return;
	}
	if (pe->has_stream && !pe->has_device)
		pe->device = 0;
	if (!pe->has_stream && !pe->direct)
		pe->has_stream = track_stream(p, pe->e.track, &pe->device, &pe->stream);
}

/* ---- Counters ----------------------------------------------------------------- */

/* Values of an incremental counter are differences, and start anew when its sequence's state is cleared. */
static double absolute_value(struct perfetto_track *t, const struct sequence *s, double value)
{
	value *= (double)t->multiplier;
	if (!t->incremental)
		return value;
	if (t->total_sequence != s->id || t->total_generation != s->generation)
		t->total = 0;
	t->total_sequence = s->id;
	t->total_generation = s->generation;
	t->total += value;
	return t->total;
}

/* One that a double cannot hold stays an integer. */
static void set_value(struct perfetto_event *pe, const struct perfetto_track *t, double value, int64_t exact)
{
	if (!t->incremental && t->multiplier == 1 && (exact > DOUBLE_EXACT || exact < -DOUBLE_EXACT))
		import_event_set(&pe->e, FIELD_INTEGER, (uint64_t)exact);
	else
		import_event_set(&pe->e, FIELD_VALUE, pb_bits_of_double(value));
}

static int counter_value(struct perfetto *p, const struct packet *packet, int64_t time, uint64_t uuid, double value,
			 int64_t exact)
{
	uint32_t track = track_of_uuid(p, packet->machine, uuid);
	struct perfetto_event pe;

	if (track == PERFETTO_NONE)
		return -EBADMSG;
	perfetto_event_begin(&pe, EVENT_COUNTER, PHASE_INSTANT, time);
	pe.e.track = track;
	pe.counter = true;
	value = absolute_value(&p->tracks[track], packet->sequence, value);
	set_value(&pe, &p->tracks[track], value, exact);
	return sort_add(p, &pe);
}

/* Counters that an event carries along: values here, their tracks here or in the defaults. */
static int extra_values(struct perfetto *p, const struct packet *packet, int64_t time, struct cursor c, bool doubles)
{
	const struct extra_counters *known = doubles ? &packet->sequence->extra_double : &packet->sequence->extra;
	uint32_t values = doubles ? EVENT_EXTRA_DOUBLE_VALUES : EVENT_EXTRA_VALUES;
	uint32_t tracks = doubles ? EVENT_EXTRA_DOUBLE_TRACKS : EVENT_EXTRA_TRACKS;
	struct extra_counters own = { .count = 0 };
	struct cursor again = c;
	struct pb_field f;
	unsigned at = 0;
	uint64_t bits;

	while (pb_next(&again, &f) > 0) {
		struct pb_numbers n = pb_numbers_of(&f, PB_VARINT);

		while (f.number == tracks && own.count < EXTRA_COUNTERS_MAX && pb_number(&n, &bits))
			own.tracks[own.count++] = bits;
	}
	if (own.count)
		known = &own;
	while (pb_next(&c, &f) > 0) {
		struct pb_numbers n = pb_numbers_of(&f, doubles ? PB_FIXED64 : PB_VARINT);

		while (f.number == values && at < known->count && pb_number(&n, &bits)) {
			double value = doubles ? pb_double_of_bits(bits) : (double)(int64_t)bits;
			int rc = counter_value(p, packet, time, known->tracks[at++], value, 0);

			if (rc)
				return rc;
		}
	}
	return 0;
}

/* ---- Flows -------------------------------------------------------------------- */

static int add_flow(struct perfetto *p, const struct perfetto_event *around, enum sort_action action, uint64_t id)
{
	struct perfetto_event pe;

	/* Without a name: the ends of an arrow find each other by number and name, and here they have but a number. */
	perfetto_event_begin(&pe, EVENT_FLOW, PHASE_FLOW_OUT, around->e.time);
	pe.e.track = around->e.track;
	pe.direct = around->direct;
	pe.has_device = around->has_device;
	pe.has_stream = around->has_stream;
	pe.device = around->device;
	pe.stream = around->stream;
	pe.action = action;
	import_event_set(&pe.e, FIELD_FLOW, id);
	return sort_add(p, &pe);
}

static int add_flows(struct perfetto *p, const struct perfetto_event *around, struct cursor c)
{
	struct pb_field f;

	while (pb_next(&c, &f) > 0) {
		bool old = f.number == EVENT_FLOWS_OLD || f.number == EVENT_ENDING_FLOWS_OLD;
		bool ends = f.number == EVENT_ENDING_FLOWS || f.number == EVENT_ENDING_FLOWS_OLD;
		struct pb_numbers n = pb_numbers_of(&f, old ? PB_VARINT : PB_FIXED64);
		uint64_t id;

		if (!old && !ends && f.number != EVENT_FLOWS)
			continue;
		while (pb_number(&n, &id)) {
			int rc = add_flow(p, around, ends ? SORT_FLOW_END : SORT_FLOW_STEP, id);

			if (rc)
				return rc;
		}
	}
	return 0;
}

static uint64_t hash_text(uint64_t hash, struct text text)
{
	for (size_t i = 0; i < text.size; i++)
		hash = (hash ^ (uint8_t)text.data[i]) * 0x100000001b3u;
	return hash;
}

/* Of a range or flow of Chrome, whose ids are unique in a scope only. */
static uint64_t legacy_id(const struct packet *packet, const struct legacy *l, struct text scope)
{
	uint64_t id = l->has_id ? l->id : l->bind_id;

	if (l->local)
		id ^= (packet->sequence->pid + 1) << 40;
	return scope.size ? id ^ hash_text(0xcbf29ce484222325u, scope) : id;
}

static int legacy_bind(struct perfetto *p, const struct perfetto_event *pe, const struct legacy *l)
{
	static const uint8_t actions[] = { 0, SORT_FLOW_END, SORT_FLOW_START, SORT_FLOW_STEP };

	/* In our own export these are launches, which the correlation says. */
	if (p->ours || !l->has_bind || l->direction < LEGACY_FLOW_IN || l->direction > LEGACY_FLOW_BOTH)
		return 0;
	return add_flow(p, pe, (enum sort_action)actions[l->direction], l->bind_id);
}

/* ---- Events ------------------------------------------------------------------- */

static int read_args(struct perfetto *p, const struct packet *packet, const struct track_event *t, struct cursor c,
		     struct perfetto_event *pe)
{
	const struct sequence *s = packet->sequence;
	struct pb_field f;
	int rc = 0;

	args_clear(p);
	output_report(p->o)->repaired += t->unknown;
	if (t->kind == EVENT_NONE && t->type != TYPE_SLICE_END)
		rc = args_text(p, "category", t->category);
	while (rc == 0 && t->has_annotations && pb_next(&c, &f) > 0)
		if (f.number == EVENT_ANNOTATIONS)
			rc = args_annotation(p, s, pb_message(&f), pe, t->kind);
	if (rc == 0 && t->source.data)
		rc = args_source(p, pb_message(&t->source));
	if (rc == 0 && t->source_iid) {
		struct text source = intern_text(s, intern_find(s, INTERN_SOURCE, t->source_iid));

		rc = args_source(p, cursor_of(source.data, source.size));
	}
	if (t->has_correlation && !(pe->e.present & 1u << FIELD_CORRELATION))
		import_event_set(&pe->e, FIELD_CORRELATION, t->correlation);
	return rc ? rc : args_finish(p, pe);
}

/* What it is: a phase of ours, or -1 for what is no event. */
static int phase_of(const struct track_event *t, enum sort_action *action)
{
	switch (t->type) {
	case TYPE_SLICE_BEGIN:
		return PHASE_BEGIN;
	case TYPE_SLICE_END:
		return PHASE_END;
	case TYPE_INSTANT:
	case TYPE_STATE:
		return PHASE_INSTANT;
	default:
		break;
	}
	switch (t->legacy.phase) {
	case 'B':
		return PHASE_BEGIN;
	case 'E':
		return PHASE_END;
	case 'X':
		return PHASE_COMPLETE;
	case 'I':
	case 'i':
	case 'R':
	case 'n':
		return PHASE_INSTANT;
	case 'b':
	case 'S':
		return PHASE_ASYNC_BEGIN;
	case 'e':
	case 'F':
		return PHASE_ASYNC_END;
	case 's':
		*action = SORT_FLOW_START;
		return PHASE_FLOW_OUT;
	case 't':
		*action = SORT_FLOW_STEP;
		return PHASE_FLOW_OUT;
	case 'f':
		*action = SORT_FLOW_END;
		return PHASE_FLOW_OUT;
	default:
		return -1;
	}
}

/* Flows come before it, since they are of the slice that ends; arguments may be known only now. */
static int add_end(struct perfetto *p, const struct packet *packet, const struct track_event *t, struct cursor c,
		   struct perfetto_event *pe)
{
	int rc = t->has_flows ? add_flows(p, pe, c) : 0;

	if (rc == 0 && t->has_annotations && !p->lean)
		rc = read_args(p, packet, t, c, pe);
	return rc ? rc : sort_add(p, pe);
}

static int add_event(struct perfetto *p, const struct packet *packet, struct track_event *t, struct cursor c, int64_t time)
{
	enum sort_action action = SORT_EVENT;
	int phase = phase_of(t, &action), rc;
	struct perfetto_event pe;
	struct text name;

	if (phase < 0)
		return 0;
	perfetto_event_begin(&pe, EVENT_SCOPE, (enum event_phase)phase, time);
	if (!find_track(p, packet, t, &pe))
		return -EBADMSG;
	pe.e.name = phase == PHASE_END ? 0 : name_of(p, packet, t, &name);
	if (action != SORT_EVENT)
		return add_flow(p, &pe, action, legacy_id(packet, &t->legacy, name));
	if (phase == PHASE_END)
		return add_end(p, packet, t, c, &pe);
	kind_set(&pe, t->kind, name);
	if (t->source_iid && function_of(p, packet, t, name)) {
		pe.e.name = function_of(p, packet, t, name);
		t->source_iid = 0; /* the name says it */
	}
	rc = read_args(p, packet, t, c, &pe);
	if (rc)
		return rc;
	find_stream(p, t->kind, &pe);
	if (t->kind == KIND_ARROW && t->has_flows)
		return add_flows(p, &pe, c);
	if (phase == PHASE_INSTANT && pe.e.kind == EVENT_SCOPE)
		pe.e.kind = EVENT_INSTANT;
	if (phase == PHASE_COMPLETE) {
		int64_t us = t->legacy.duration_us;

		import_event_set(&pe.e, FIELD_DURATION, us > 0 && us < INT64_MAX / 1000 ? (uint64_t)us * 1000 : 0);
	}
	if (phase == PHASE_ASYNC_BEGIN || phase == PHASE_ASYNC_END)
		import_event_set(&pe.e, FIELD_FLOW, legacy_id(packet, &t->legacy, t->legacy.scope));
	rc = sort_add(p, &pe);
	if (rc == 0 && t->has_flows)
		rc = add_flows(p, &pe, c);
	return rc ? rc : legacy_bind(p, &pe, &t->legacy);
}

int track_event(struct perfetto *p, const struct packet *packet, struct cursor c)
{
	struct track_event t = { 0 };
	struct cursor all = c;
	struct pb_field f;
	int64_t time;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		rc = read_field(packet->sequence, &t, &f);
		if (rc)
			return rc;
	}
	if (rc)
		return rc;
	p->ours |= t.kind == EVENT_NONE && t.category.size == sizeof OUR_TRACE - 1 &&
		   memcmp(t.category.data, OUR_TRACE, sizeof OUR_TRACE - 1) == 0;
	if (!time_of(p, packet, &t, &time)) {
		perfetto_skip(p, "an event without a time");
		return 0;
	}
	if (t.has_extra) {
		rc = extra_values(p, packet, time, all, false);
		if (rc == 0)
			rc = extra_values(p, packet, time, all, true);
		if (rc)
			return rc;
	}
	if (t.type != TYPE_COUNTER)
		return add_event(p, packet, &t, all, time);
	if (t.has_value && (t.has_track || packet->sequence->has_track))
		return counter_value(p, packet, time, t.has_track ? t.track : packet->sequence->track, t.value, t.integer);
	perfetto_skip(p, "a counter without a value or a track");
	return 0;
}
