/*
 * encode.c - takes the slots of a block apart, into columns.
 *
 * Nearly all events are begins and ends of scopes without further fields, so
 * these go through encode_plain(), which has one branch for all that could be
 * unusual about them.  Everything else, and every surprise (another CPU, a
 * depth that does not follow, a shape not seen lately), goes through
 * encode_any(), one event at a time.
 */
#include "trace/encode.h"

#include <errno.h>
#include <stdlib.h>

#include "base/varint.h"
#include "ring/fields.h"
#include "trace/encode_state.h"

/* Fields that `value`, `aux` and continuation slots can give; the others have places of their own in the slot. */
#define EXTRA_FIELDS ((BIT(FIELD_LIMIT) - 1) & ~(BIT(FIELD_DURATION) - 1) & ~BIT(FIELD_METADATA))

#define DEPTH_MAX 65534u

/* An event taken apart. */
struct event_parts {
	uint32_t mask;
	uint64_t values[FIELD_LIMIT];
	const uint8_t *metadata;
	size_t metadata_size;
};

int encoder_new(struct encoder **ret)
{
	struct encoder *e = calloc(1, sizeof *e);

	if (!e)
		return -ENOMEM;
	if (packer_init(&e->times, TRACE_BLOCK_SLOTS) || packer_init(&e->names, TRACE_BLOCK_SLOTS) ||
	    packer_init(&e->scratch, TRACE_BLOCK_SLOTS)) {
		encoder_free(e);
		return -ENOMEM;
	}
	*ret = e;
	return 0;
}

void encoder_free(struct encoder *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->track_capacity; i++)
		free(e->tracks[i].stack);
	free(e->tracks);
	buffer_release(&e->open);
	buffer_release(&e->segments);
	packer_release(&e->times);
	packer_release(&e->names);
	packer_release(&e->scratch);
	buffer_release(&e->cpus);
	buffer_release(&e->depths);
	for (size_t i = 0; i < FIELD_LIMIT; i++)
		packer_release(&e->columns[i]);
	buffer_release(&e->doubles);
	buffer_release(&e->blob_sizes);
	buffer_release(&e->blobs);
	free(e);
}

/* ---- Stacks ---- */

/* Cuts or fills the stack to `size` slices.  What fills it began before anybody saw it. */
static int resize_stack(struct encode_track *t, uint32_t size, int64_t time)
{
	if (size >= t->capacity) {
		uint32_t capacity = size < 8 ? 16 : 2 * size;
		struct open_slice *stack = realloc(t->stack, capacity * sizeof *stack);

		if (!stack)
			return -ENOMEM;
		t->stack = stack;
		t->capacity = capacity;
	}
	while (t->size < size)
		t->stack[t->size++] = (struct open_slice){ .begin = time };
	t->size = size;
	return 0;
}

static uint32_t predicted_depth(const struct encode_track *t, unsigned phase)
{
	return t->size - (phase == PHASE_END && t->size > 0);
}

/* The depth the slot says.  One that says none gets what is to be expected: begins and ends need one. */
static uint32_t true_depth(const struct encode_track *t, const struct event_slot *s, unsigned phase)
{
	uint32_t depth = s->flags & EVENT_FLAG_THREAD ? s->depth : predicted_depth(t, phase);

	return phase != PHASE_END && depth > DEPTH_MAX ? DEPTH_MAX : depth;
}

static int follow_depth(struct encoder *e, const struct event_slot *s)
{
	struct encode_track *t = e->track;
	unsigned phase = EVENT_FLAGS_PHASE(s->flags);
	uint32_t depth = true_depth(t, s, phase);
	int rc = 0;

	if (depth != predicted_depth(t, phase)) {
		rc = buffer_append_uv(&e->depths, e->depth_gap);
		if (rc == 0)
			rc = buffer_append_uv(&e->depths, depth);
		e->depth_gap = 0;
	} else {
		e->depth_gap++;
	}
	if (rc || phase == PHASE_COMPLETE || depth == EVENT_DEPTH_UNMATCHED)
		return rc;
	rc = resize_stack(t, depth + (phase == PHASE_END), (int64_t)s->time);
	if (rc == 0 && phase == PHASE_BEGIN)
		t->stack[t->size++] = (struct open_slice){ (int64_t)s->time, s->name, s->kind };
	if (rc == 0 && phase == PHASE_END)
		t->size--;
	return rc;
}

bool encoder_open_domain(const struct encoder *e, uint32_t from, uint32_t *ret)
{
	bool found = false;

	for (size_t i = 0; i < e->track_capacity; i++) {
		const struct encode_track *t = &e->tracks[i];

		if (t->size == 0 || t->domain < from || (found && t->domain >= *ret))
			continue;
		*ret = t->domain;
		found = true;
	}
	return found;
}

/* Remembers what is open now; begin times can be written only when the first time of the block is known. */
static int note_open(struct encoder *e)
{
	buffer_clear(&e->open);
	e->open_tracks = e->sum.open = 0;
	e->last_time = INT64_MIN;
	for (uint32_t i = 0; i < e->track_capacity; i++) {
		struct encode_track *t = &e->tracks[i];
		uint32_t head[2] = { i, t->size };

		if (t->domain != e->domain)
			continue;
		e->last_time = t->last_time > e->last_time ? t->last_time : e->last_time;
		if (t->size == 0)
			continue;
		if (e->sum.open + t->size > SBT_OPEN_MAX) {
			t->size = 0;
			continue;
		}
		if (buffer_append(&e->open, head, sizeof head) ||
		    buffer_append(&e->open, t->stack, t->size * sizeof *t->stack))
			return -ENOMEM;
		e->open_tracks++;
		e->sum.open += t->size;
	}
	return 0;
}

/* ---- Shapes ---- */

/* Begins and ends are; all others come one by one. */
static bool is_range(const struct event_slot *s)
{
	return EVENT_FLAGS_PHASE(s->flags) <= PHASE_END;
}

static uint32_t plain_key(const struct event_slot *s)
{
	uint32_t key = s->kind | (uint32_t)s->extra << 8 | (uint32_t)s->flags << 16;

	return (key & 0x3fffffff) | (uint32_t)(s->name != 0) << 30 | (uint32_t)(s->cpu != EVENT_CPU_UNKNOWN) << 31;
}

static struct plain_shape *plain_slot(struct encoder *e, uint32_t key)
{
	return &e->cache[key * 0x9e3779b1u >> 26];
}

static uint16_t shape_number(struct encoder *e, const struct shape *want)
{
	uint64_t id = want->mask | (uint64_t)want->phase << 32 | (uint64_t)want->kind << 40;
	uint32_t at = (uint32_t)(id * 0x9e3779b97f4a7c15u >> 48);

	for (; e->shape_table[at]; at = (at + 1) % (2 * TRACE_BLOCK_SLOTS)) {
		const struct shape *have = &e->shapes[e->shape_table[at] - 1];

		if (have->kind == want->kind && have->phase == want->phase && have->mask == want->mask)
			return (uint16_t)(e->shape_table[at] - 1);
	}
	e->shapes[e->shape_count++] = *want;
	e->shape_table[at] = (uint16_t)e->shape_count;
	return (uint16_t)(e->shape_count - 1);
}

static void remember_plain(struct encoder *e, const struct event_slot *s, const struct event_parts *parts,
			   uint16_t shape)
{
	uint32_t key = plain_key(s);
	unsigned phase = EVENT_FLAGS_PHASE(s->flags);

	*plain_slot(e, key) = (struct plain_shape){
		.key = key,
		.shape = shape,
		.plain = s->kind != EVENT_LOST && s->extra == 0 &&
			 (s->flags & EVENT_FLAG_THREAD) && !(parts->mask & EXTRA_FIELDS),
		.has_name = s->name != 0,
		.has_cpu = s->cpu != EVENT_CPU_UNKNOWN,
		.is_end = phase == PHASE_END,
	};
}

/* ---- Events of any shape ---- */

static void part_number(struct event_parts *parts, unsigned field, uint64_t value)
{
	if (!(EXTRA_FIELDS & BIT(field)))
		return;
	parts->mask |= BIT(field);
	parts->values[field] = value;
}

static void part_list(struct event_parts *parts, struct event_fields fields)
{
	struct field_value value;
	uint64_t number;

	while (event_fields_next(&fields, &value)) {
		if (value.field == FIELD_METADATA) {
			parts->mask |= BIT(FIELD_METADATA);
			parts->metadata = value.data;
			parts->metadata_size = value.size;
		} else if (value.field < FIELD_LIMIT && field_number(&value, &number)) {
			part_number(parts, value.field, number);
		}
	}
}

static void take_apart(struct event_parts *parts, const struct event_slot *s, size_t extra)
{
	parts->mask = BIT(FIELD_TIME);
	parts->metadata = NULL;
	parts->metadata_size = 0;
	if (s->name)
		parts->mask |= BIT(FIELD_NAME);
	if (s->flags & EVENT_FLAG_THREAD || EVENT_FLAGS_PHASE(s->flags) <= PHASE_END)
		parts->mask |= BIT(FIELD_DEPTH);
	if (s->flags & EVENT_FLAG_THREAD && s->cpu != EVENT_CPU_UNKNOWN)
		parts->mask |= BIT(FIELD_CPU);
	part_number(parts, EVENT_FLAGS_VALUE(s->flags), s->value);
	part_number(parts, EVENT_FLAGS_AUX(s->flags), s->aux);
	if (extra)
		part_list(parts, event_fields_of(s, extra));
}

static int put_cpu(struct encoder *e, uint16_t cpu)
{
	int rc = 0;

	if (cpu != e->cpu && e->cpu_run) {
		rc = buffer_append_uv(&e->cpus, e->cpu);
		if (rc == 0)
			rc = buffer_append_uv(&e->cpus, e->cpu_run);
		e->cpu_run = 0;
	}
	e->cpu = cpu;
	e->cpu_run++;
	return rc;
}

static int put_number(struct encoder *e, unsigned field, uint64_t value)
{
	struct packer *column = &e->columns[field];
	uint64_t stored = value;

	if (field == FIELD_VALUE)
		return buffer_append_u64(&e->doubles, htole64(value));
	if (!column->data && packer_init(column, TRACE_BLOCK_SLOTS))
		return -ENOMEM;
	if (BIT(field) & DELTA_FIELDS)
		stored = zigzag_encode((int64_t)(value - e->previous[field]));
	else if (field == FIELD_INTEGER)
		stored = zigzag_encode((int64_t)value);
	e->previous[field] = value;
	packer_put(column, stored);
	return 0;
}

static int put_metadata(struct encoder *e, const struct event_parts *parts)
{
	int rc = buffer_append_uv(&e->blob_sizes, parts->metadata_size);

	return rc ? rc : buffer_append(&e->blobs, parts->metadata, parts->metadata_size);
}

static int put_parts(struct encoder *e, const struct event_slot *s, const struct event_parts *parts)
{
	int rc = 0;

	packer_put(&e->times, zigzag_encode((int64_t)(s->time - (uint64_t)e->previous_time)));
	e->previous_time = (int64_t)s->time;
	if (parts->mask & BIT(FIELD_NAME))
		packer_put(&e->names, s->name);
	if (parts->mask & BIT(FIELD_CPU))
		rc = put_cpu(e, s->cpu);
	if (rc == 0 && parts->mask & BIT(FIELD_DEPTH))
		rc = follow_depth(e, s);
	for (uint32_t left = parts->mask & EXTRA_FIELDS; rc == 0 && left; left &= left - 1) {
		unsigned field = (unsigned)__builtin_ctz(left);

		rc = put_number(e, field, parts->values[field]);
	}
	if (rc == 0 && parts->mask & BIT(FIELD_METADATA))
		rc = put_metadata(e, parts);
	return rc;
}

/* Counts the event and widens the block's time range by it. */
static void sum_up(struct encode_summary *sum, const struct event_slot *s, const struct event_parts *parts)
{
	int64_t time = (int64_t)s->time, end = time;
	uint64_t reason = parts->mask & BIT(FIELD_REASON) ? parts->values[FIELD_REASON] : 0;

	if (EVENT_FLAGS_PHASE(s->flags) == PHASE_COMPLETE && parts->mask & BIT(FIELD_DURATION) &&
	    (parts->values[FIELD_DURATION] > INT64_MAX ||
	     __builtin_add_overflow(time, (int64_t)parts->values[FIELD_DURATION], &end)))
		end = INT64_MAX;
	if (sum->count == 0 || time < sum->first_time)
		sum->first_time = time;
	if (sum->count == 0 || end > sum->last_time)
		sum->last_time = end;
	sum->count++;
	sum->losses += s->kind == EVENT_LOST && reason != LOST_UNSEEN;
	if (s->kind == EVENT_LOST && reason != LOST_NAMES)
		sum->lost += parts->mask & BIT(FIELD_COUNT) ? parts->values[FIELD_COUNT] : 0;
}

static size_t extra_slots(const struct event_slot *s, size_t left)
{
	return s->extra < left ? s->extra : left - 1;
}

/* Encodes the event at s and returns how many slots it took, or negative. */
static int encode_any(struct encoder *e, const struct event_slot *s, size_t left)
{
	struct event_parts parts;
	size_t extra = extra_slots(s, left);
	struct shape shape = { .kind = s->kind, .phase = EVENT_FLAGS_PHASE(s->flags) };
	uint16_t number;
	int rc;

	take_apart(&parts, s, extra);
	shape.mask = parts.mask;
	number = shape_number(e, &shape);
	if (extra == 0 && is_range(s))
		remember_plain(e, s, &parts, number);
	e->shape_ids[e->sum.count] = number;
	rc = put_parts(e, s, &parts);
	sum_up(&e->sum, s, &parts);
	return rc ? rc : (int)extra + 1;
}

/* ---- Plain begins and ends ---- */

/*
 * Encodes plain events up to the first slot that is anything else, and returns how many.
 * An end stores into the stack entry that it frees: harmless, and one branch less.
 */
static size_t encode_plain(struct encoder *e, const struct event_slot *slots, size_t count)
{
	struct encode_track *t = e->track;
	struct open_slice *stack = t->stack;
	struct packer times = e->times, names = e->names;
	uint16_t *shape_ids = e->shape_ids + e->sum.count, cpu = e->cpu;
	uint32_t depth = t->size, capacity = t->capacity;
	int64_t previous = e->previous_time, first = INT64_MAX, last = INT64_MIN;
	uint64_t cpus = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		const struct event_slot *s = &slots[i];
		uint32_t key = plain_key(s);
		const struct plain_shape *p = plain_slot(e, key);
		uint32_t top = depth - p->is_end;
		int64_t time = (int64_t)s->time;
		unsigned code = packer_code(s->name);

		if (__builtin_expect(p->key != key || !p->plain || s->depth != top || top >= capacity ||
					     top > DEPTH_MAX || (s->cpu != cpu && p->has_cpu),
				     0))
			break;
		stack[top] = (struct open_slice){ time, s->name, s->kind };
		depth = top + !p->is_end;
		shape_ids[i] = p->shape;
		cpus += p->has_cpu;
		packer_put(&times, zigzag_encode((int64_t)((uint64_t)time - (uint64_t)previous)));
		previous = time;
		first = time < first ? time : first;
		last = time > last ? time : last;
		put64(names.data + names.size, s->name);
		names.codes[names.count] = (uint8_t)code;
		names.size += (size_t)p->has_name << code;
		names.count += p->has_name;
	}
	if (i == 0)
		return 0;
	e->times = times;
	e->names = names;
	t->size = depth;
	e->previous_time = previous;
	e->cpu_run += cpus;
	e->depth_gap += i;
	if (e->sum.count == 0 || first < e->sum.first_time)
		e->sum.first_time = first;
	if (e->sum.count == 0 || last > e->sum.last_time)
		e->sum.last_time = last;
	e->sum.count += (uint32_t)i;
	return i;
}

/* ---- Blocks ---- */

int encoder_begin(struct encoder *e, uint32_t domain)
{
	e->domain = domain;
	e->sum = (struct encode_summary){ 0 };
	e->shape_count = 0;
	memset(e->shape_table, 0, sizeof e->shape_table);
	memset(e->cache, 0xff, sizeof e->cache);
	for (size_t i = 0; i < PLAIN_CACHE; i++)
		e->cache[i].plain = 0;
	packer_clear(&e->times);
	packer_clear(&e->names);
	e->cpu_run = e->depth_gap = 0;
	e->cpu = EVENT_CPU_UNKNOWN;
	buffer_clear(&e->segments);
	buffer_clear(&e->cpus);
	buffer_clear(&e->depths);
	for (size_t i = 0; i < FIELD_LIMIT; i++)
		packer_clear(&e->columns[i]);
	buffer_clear(&e->doubles);
	buffer_clear(&e->blob_sizes);
	buffer_clear(&e->blobs);
	return note_open(e);
}

static int reserve_track(struct encoder *e, uint32_t track)
{
	size_t capacity = e->track_capacity ? e->track_capacity : 64;
	struct encode_track *tracks;

	if (track < e->track_capacity)
		return 0;
	while (capacity <= track)
		capacity *= 2;
	tracks = realloc(e->tracks, capacity * sizeof *tracks);
	if (!tracks)
		return -ENOMEM;
	for (size_t i = e->track_capacity; i < capacity; i++)
		tracks[i] = (struct encode_track){ .last_time = INT64_MIN };
	e->tracks = tracks;
	e->track_capacity = capacity;
	return 0;
}

int encoder_segment(struct encoder *e, uint32_t track, uint64_t source_index)
{
	struct segment segment = { .track = track, .source_index = source_index };

	if (reserve_track(e, track) || buffer_append(&e->segments, &segment, sizeof segment))
		return -ENOMEM;
	e->track = &e->tracks[track];
	if (e->track->domain != e->domain)
		e->track->size = 0;
	e->track->domain = e->domain;
	memset(e->previous, 0, sizeof e->previous);
	return 0;
}

int encoder_slots(struct encoder *e, const struct event_slot *slots, size_t count)
{
	struct segment *segment = (struct segment *)(e->segments.data + e->segments.size) - 1;
	uint32_t before = e->sum.count;
	size_t i = 0;

	if (count && segment->count == 0)
		segment->base = e->previous_time = (int64_t)slots[0].time;
	while (i < count) {
		int used = encode_any(e, &slots[i], count - i);

		if (used < 0)
			return used;
		i += (size_t)used;
		if (i < count && is_range(&slots[i]))
			i += encode_plain(e, &slots[i], count - i);
	}
	segment->count += e->sum.count - before;
	e->track->last_time = e->previous_time;
	return 0;
}

void encoder_count(const struct event_slot *slots, size_t count, struct encode_summary *sum)
{
	for (size_t i = 0; i < count; i += 1 + extra_slots(&slots[i], count - i)) {
		struct event_parts parts;

		take_apart(&parts, &slots[i], extra_slots(&slots[i], count - i));
		sum_up(sum, &slots[i], &parts);
	}
}
