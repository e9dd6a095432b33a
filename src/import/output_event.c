/*
 * output_event.c - one event of a file becomes slots of the trace.
 */
#include <errno.h>
#include <string.h>

#include "base/msgpack.h"
#include "import/output_state.h"

#define BIT(field) (1u << (field))
/* The fields that have no place of their own in a slot. */
#define NUMBERS ((uint32_t)(BIT(FIELD_LIMIT) - 1) & ~(BIT(FIELD_DURATION) - 1) & ~BIT(FIELD_METADATA))
#define EPOCH_LIKE                                                                                                             \
	1000000000000000000 /* ns since 1970 from September 2001 on: no clock that begins with a machine gets there */
#define DEPTH_MAX 65534u
#define CHECK_EVERY 8192u

/* ---- Time -------------------------------------------------------------------- */

/*
 * What is to be added to all times of the file.  Files whose times are of the day fit each other.  One whose times begin
 * anywhere, beside such files, is moved so that it begins with them; or they with it, if it came first.
 */
static void settle_time(struct output *o, int64_t time)
{
	uint64_t first = (uint64_t)time + (uint64_t)o->base, shift = 0;

	o->absolute = o->has_base || (int64_t)first >= EPOCH_LIKE;
	if (o->absolute && !o->absolute_known && o->relative_known) {
		o->shift = (int64_t)((uint64_t)o->relative_start - first);
		o->shifted = true;
	}
	if (o->absolute) {
		shift = (uint64_t)o->shift;
		o->aligned = o->shifted;
	} else if (o->absolute_known) {
		shift = (uint64_t)o->absolute_start - first;
		o->aligned = true;
	}
	o->add = (int64_t)((uint64_t)o->base + shift);
	o->first_time = INT64_MAX;
	o->last_time = INT64_MIN;
}

/* The file's clock, on the host that is known so far. */
int output_write_clock(struct output *o)
{
	struct trace_clock clock = { .id = o->domain, .kind = CLOCK_KIND_NANOSECONDS, .rate = 1000000000 };

	if (o->options.joined && o->source_count > 0) /* it is the first file's */
		return o->failure;
	clock.host = output_host(o);
	clock.name = output_string(o, o->report->path, strlen(o->report->path));
	if (o->failure || (o->begun && clock.host == o->clock_host))
		return o->failure;
	o->clock_host = clock.host;
	return trace_writer_clock(o->writer, &clock);
}

/* At the first event of a file. */
static int begin_events(struct output *o, int64_t time, struct error *err)
{
	int rc;

	settle_time(o, time);
	rc = output_write_clock(o);
	if (rc)
		error_errno(err, rc, "cannot write the trace");
	else
		rc = trace_writer_domain(o->writer, o->domain, err);
	o->begun = rc == 0;
	return rc ? output_fail(o, rc) : 0;
}

/* ---- Metadata ---------------------------------------------------------------- */

/* The entries of a map that fit, in `out`; how many bytes, 0 when nothing does. */
static size_t cut_metadata(const struct import_event *event, struct buffer *out, uint64_t *ret_cut)
{
	struct cursor c = cursor_of(event->metadata, event->metadata_size);
	struct msgpack_value head;
	uint32_t kept = 0;
	size_t begin;

	buffer_clear(out);
	if (msgpack_read(&c, &head) || head.type != MSGPACK_MAP || msgpack_write_map(out, UINT16_MAX)) {
		++*ret_cut;
		return 0;
	}
	begin = out->size;
	for (uint32_t i = 0; i < head.count; i++) {
		const uint8_t *from = c.at;

		if (msgpack_skip(&c) || msgpack_skip(&c)) {
			*ret_cut += head.count - i;
			break;
		}
		if (out->size + (size_t)(c.at - from) > OUTPUT_METADATA_MAX || kept == UINT16_MAX ||
		    buffer_append(out, from, (size_t)(c.at - from)))
			++*ret_cut;
		else
			kept++;
	}
	/* the head was written as one of 16 bits, the number of which is its last two bytes */
	out->data[begin - 2] = (uint8_t)(kept >> 8);
	out->data[begin - 1] = (uint8_t)kept;
	return kept ? out->size : 0;
}

/* ---- Slots ------------------------------------------------------------------- */

/* What goes into continuation slots. */
struct rest {
	uint32_t fields; /* numbers */
	const void *metadata;
	size_t metadata_size;
};

static size_t rest_size(const struct rest *rest)
{
	size_t size = (size_t)__builtin_popcount(rest->fields) * 11 + (rest->metadata_size ? 3 + rest->metadata_size : 0);

	return size ? size + 2 : 0;
}

static void put16(uint8_t *to, size_t value)
{
	to[0] = (uint8_t)value;
	to[1] = (uint8_t)(value >> 8);
}

static void put_rest(uint8_t *to, size_t room, const struct import_event *event, const struct rest *rest)
{
	uint8_t *at = to + 2, *end = to + room;

	for (uint32_t left = rest->fields; left; left &= left - 1) {
		at[0] = (uint8_t)__builtin_ctz(left);
		put16(at + 1, 8);
		memcpy(at + 3, &event->field[at[0]], 8);
		at += 11;
	}
	if (rest->metadata_size) {
		at[0] = FIELD_METADATA;
		put16(at + 1, rest->metadata_size);
		memcpy(at + 3, rest->metadata, rest->metadata_size);
		at += 3 + rest->metadata_size;
	}
	put16(to, (size_t)(at - to) - 2);
	memset(at, 0, (size_t)(end - at));
}

/* Takes the lowest field for `value`, and the next for `aux` if it fits. */
static uint16_t put_numbers(struct event_slot *slot, const struct import_event *event, struct rest *rest)
{
	unsigned value_field = 0, aux_field = 0;

	slot->value = 0;
	slot->aux = 0;
	if (rest->fields) {
		value_field = (unsigned)__builtin_ctz(rest->fields);
		slot->value = event->field[value_field];
		rest->fields &= rest->fields - 1;
	}
	if (rest->fields && event->field[__builtin_ctz(rest->fields)] <= UINT32_MAX) {
		aux_field = (unsigned)__builtin_ctz(rest->fields);
		slot->aux = (uint32_t)event->field[aux_field];
		rest->fields &= rest->fields - 1;
	}
	return EVENT_FLAGS(event->phase & 7, value_field, aux_field);
}

static uint16_t depth_of(struct output_track *t, const struct import_event *event)
{
	bool given = event->present & BIT(FIELD_DEPTH);
	uint32_t depth = given ? (uint16_t)event->field[FIELD_DEPTH] : t->depth;

	if (event->phase == PHASE_END) {
		if (given ? depth == EVENT_DEPTH_UNMATCHED : t->depth == 0)
			return EVENT_DEPTH_UNMATCHED;
		t->depth = given ? depth : t->depth - 1;
		depth = t->depth;
	} else if (event->phase == PHASE_BEGIN) {
		t->depth = depth + 1;
	}
	return (uint16_t)(depth < DEPTH_MAX ? depth : DEPTH_MAX);
}

static int write_event(struct output *o, const struct import_event *event, int64_t time, struct rest *rest, struct error *err)
{
	struct event_slot slot = { .time = (uint64_t)time, .name = event->name, .cpu = EVENT_CPU_UNKNOWN, .kind = event->kind };
	struct output_track *track = &o->tracks[event->track];
	struct event_slot *room;
	size_t size, more;

	if (!track->written && output_write_track(o, track))
		return error_errno(err, output_fail(o, -ENOMEM), "cannot write the trace");
	slot.flags = put_numbers(&slot, event, rest);
	if (event->phase <= PHASE_END || event->present & (BIT(FIELD_CPU) | BIT(FIELD_DEPTH))) {
		slot.depth = depth_of(track, event);
		slot.flags |= EVENT_FLAG_THREAD;
		if (event->present & BIT(FIELD_CPU) && event->field[FIELD_CPU] < EVENT_CPU_UNKNOWN)
			slot.cpu = (uint16_t)event->field[FIELD_CPU];
	}
	size = rest_size(rest);
	more = (size + sizeof slot - 1) / sizeof slot;
	room = trace_writer_run(o->writer, event->track, 1 + more, err);
	if (!room)
		return output_fail(o, -ENOMEM);
	slot.extra = (uint8_t)more;
	room[0] = slot;
	if (more)
		put_rest((uint8_t *)(room + 1), more * sizeof slot, event, rest);
	trace_writer_commit(o->writer, event->track, 1 + more, 0);
	return 0;
}

/* A disk that is full shows when a block goes out, which is now and then. */
static int check_writer(struct output *o, struct error *err)
{
	const struct error *found = trace_writer_error(o->writer);

	if (found->code == 0)
		return 0;
	error_set(err, found->code, "%s", found->text);
	if (err)
		err->exit_code = 4;
	return output_fail(o, found->code);
}

/* An event that cannot be in the trace, though the file has it. */
static int leave_out(struct output *o, const char *reason)
{
	o->report->skipped++;
	o->report->left_out++;
	if (!o->report->left_out_reason)
		o->report->left_out_reason = reason;
	return 0;
}

int output_event(struct output *o, const struct import_event *event, struct error *err)
{
	struct rest rest = { .fields = event->present & NUMBERS,
			     .metadata = event->metadata,
			     .metadata_size = event->metadata_size };
	int64_t time, end;
	int rc;

	if (o->failure)
		return error_errno(err, o->failure, "cannot write the trace");
	if (!o->begun && (rc = begin_events(o, event->time, err)))
		return rc;
	if (event->track >= o->track_count)
		return leave_out(o, o->full ? o->full : "they are of no thread");
	if (event->phase >= PHASE_COUNT || __builtin_add_overflow(event->time, o->add, &time))
		return leave_out(o, "their time is beyond what a trace can have");
	if (rest.metadata_size > OUTPUT_METADATA_MAX) {
		rest.metadata_size = cut_metadata(event, &o->cut, &o->report->cut);
		rest.metadata = o->cut.data;
	}
	rc = o->report->events % CHECK_EVERY ? 0 : check_writer(o, err);
	rc = rc ? rc : write_event(o, event, time, &rest, err);
	if (rc)
		return rc;
	end = time;
	if (event->phase == PHASE_COMPLETE && event->present & BIT(FIELD_DURATION) &&
	    (event->field[FIELD_DURATION] > INT64_MAX ||
	     __builtin_add_overflow(time, (int64_t)event->field[FIELD_DURATION], &end)))
		end = INT64_MAX;
	o->first_time = time < o->first_time ? time : o->first_time;
	o->last_time = end > o->last_time ? end : o->last_time;
	o->report->events++;
	return 0;
}
