/*
 * repetition.c - steps that nobody marked.
 *
 * The names of a stream's work (or of a thread's operators, where there is no
 * device) are a sequence, and steps are its repetition.  If that covers more
 * than half of the sequence, the middle is in it.  So the sequence is compared
 * with itself, shifted by every distance at once, from the middle forwards and
 * backwards (the Z function, in linear time): the shortest distance at which
 * enough of it agrees is the length of a step.  A step starts where the device
 * is idle longest.
 *
 * The layers of a model repeat, too.  What tells a step is that the host takes
 * part: something is copied from or to it, or it waits for the device.
 */
#include <errno.h>
#include <stdlib.h>

#include "timeline/build.h"
#include "timeline/calls.h"
#include "timeline/steps.h"

#define WINDOW_MAX (1u << 18) /* compared around the middle; what is found there is followed further out */
#define TIMES_MIN 3

struct sequence {
	uint32_t *slices;
	size_t count, capacity;
};

static uint32_t name_at(const struct timeline *t, const struct sequence *s, size_t i)
{
	return t->name[s->slices[i]];
}

/* ---- The length of a step ---- */

/* How far from each place on the text agrees with its own start. */
static void z_function(const uint32_t *text, uint32_t *z, uint32_t count)
{
	uint32_t left = 0, right = 0;

	z[0] = count;
	for (uint32_t i = 1; i < count; i++) {
		uint32_t length = i < right ? (z[i - left] < right - i ? z[i - left] : right - i) : 0;

		while (i + length < count && text[length] == text[i + length])
			length++;
		z[i] = length;
		if (i + length > right) {
			left = i;
			right = i + length;
		}
	}
}

/* Names in [from, to), then a name that is none, then all of [low, high); backwards when asked. */
static uint32_t write_text(const struct timeline *t, const struct sequence *s, size_t from, size_t to, size_t low, size_t high,
			   bool backwards, uint32_t *text)
{
	uint32_t at = 0;

	for (size_t i = 0; i < to - from; i++)
		text[at++] = name_at(t, s, backwards ? to - 1 - i : from + i);
	text[at++] = TIMELINE_NONE;
	for (size_t i = 0; i < high - low; i++)
		text[at++] = name_at(t, s, backwards ? high - 1 - i : low + i);
	return at;
}

/* The sequence agrees with itself at distance `length` around the middle, for this many places. */
struct agreement {
	uint32_t length, places;
};

static bool is_enough(struct agreement a, size_t count)
{
	uint64_t region = (uint64_t)a.length + a.places;

	return region >= (uint64_t)TIMES_MIN * a.length && 2 * region > count;
}

/* The shortest distance; length 0 when there is none. */
static struct agreement shortest(const uint32_t *forward, const uint32_t *backward, uint32_t middle, uint32_t count)
{
	const uint32_t *ahead = forward + (count - middle) + 1, *back = backward + middle + 1;

	for (uint32_t length = 1; length <= count / TIMES_MIN; length++) {
		struct agreement right = { length, 0 }, left = { length, 0 };

		if (middle + length < count)
			right.places = ahead[middle + length] + back[count - middle - length];
		if (middle >= length)
			left.places = ahead[middle - length] + (middle > length ? back[count - middle + length] : 0);
		if (is_enough(right, count))
			return right;
		if (is_enough(left, count))
			return left;
	}
	return (struct agreement){ 0, 0 };
}

static int find_length(const struct timeline *t, const struct sequence *s, size_t *ret)
{
	size_t low = s->count > WINDOW_MAX ? (s->count - WINDOW_MAX) / 2 : 0;
	uint32_t count = (uint32_t)(s->count > WINDOW_MAX ? WINDOW_MAX : s->count), middle = count / 2;
	uint32_t *memory = malloc(6 * ((size_t)count + 1) * sizeof *memory);
	uint32_t *text = memory, *forward = memory + 2 * ((size_t)count + 1), *backward = forward + 2 * ((size_t)count + 1);

	if (!memory)
		return -ENOMEM;
	z_function(text, forward, write_text(t, s, low + middle, low + count, low, low + count, false, text));
	z_function(text, backward, write_text(t, s, low, low + middle, low, low + count, true, text));
	*ret = shortest(forward, backward, middle, count).length;
	free(memory);
	return 0;
}

/* ---- Where it repeats ---- */

struct region {
	size_t from, to, length;
};

/* From there on, forwards and backwards, as far as the sequence agrees with itself at that distance. */
static struct region follow(const struct timeline *t, const struct sequence *s, size_t length, size_t start)
{
	struct region r = { start, start, length };

	while (r.to + length < s->count && name_at(t, s, r.to) == name_at(t, s, r.to + length))
		r.to++;
	while (r.from > 0 && name_at(t, s, r.from - 1) == name_at(t, s, r.from - 1 + length))
		r.from--;
	r.to += length;
	return r;
}

/* When the middle lies in the last of the steps, it agrees only with what is before it. */
static struct region find_region(const struct timeline *t, const struct sequence *s, size_t length)
{
	size_t middle = s->count / 2;
	struct region r = follow(t, s, length, middle);

	return r.to - r.from >= TIMES_MIN * length || middle < length ? r : follow(t, s, length, middle - length);
}

static bool has_two_names(const struct timeline *t, const struct sequence *s, const struct region *r)
{
	for (size_t i = r->from + 1; i < r->from + r->length; i++)
		if (name_at(t, s, i) != name_at(t, s, r->from))
			return true;
	return false;
}

/* Time before the i-th work of the region in which its queue had nothing to do. */
static int64_t gap_before(const struct timeline *t, const struct sequence *s, size_t i, int64_t *busy_until)
{
	int64_t gap = t->begin[s->slices[i]] - *busy_until;

	if (t->end[s->slices[i]] > *busy_until)
		*busy_until = t->end[s->slices[i]];
	return gap > 0 ? gap : 0;
}

/* Steps start where, over all of them, most time passes before the next piece of work.  The first of the region does not
 * count: what was before it is no part of a step. */
static int find_phase(const struct timeline *t, const struct sequence *s, struct region *r)
{
	double *gaps = calloc(r->length, sizeof *gaps);
	int64_t busy_until = t->end[s->slices[r->from]];
	size_t best = 0, times = (r->to - r->from) / r->length;

	if (!gaps)
		return -ENOMEM;
	for (size_t i = r->from + 1; i < r->from + times * r->length; i++)
		gaps[(i - r->from) % r->length] += (double)gap_before(t, s, i, &busy_until);
	for (size_t i = 0; i < r->length; i++)
		gaps[i] /= (double)(i ? times : times - 1);
	for (size_t i = 1; i < r->length; i++)
		if (gaps[i] > gaps[best])
			best = i;
	r->from += best;
	free(gaps);
	return 0;
}

/* ---- Whether these are steps ---- */

static bool is_host_copy(uint8_t kind)
{
	return kind == EVENT_H2D_COPY || kind == EVENT_D2H_COPY;
}

/* A call that waits, or copies from or to the host. */
static bool is_host_part(const struct timeline *t, uint32_t slice)
{
	uint32_t work = t->link[slice];
	enum call_class class;

	if (t->kind[slice] != EVENT_RUNTIME_CALL || t->name[slice] >= t->string_count)
		return false;
	class = (enum call_class)t->call_class[t->name[slice]];
	return call_blocks(class) || (class == CALL_COPY_ASYNC && work != TIMELINE_NONE && is_host_copy(t->kind[t->work[work]]));
}

/* Between the launch of the work at `from` and that of the work at `to`, or in this work itself. */
static bool host_takes_part(const struct timeline *t, const struct sequence *s, size_t from, size_t to)
{
	uint32_t launch = t->link[s->slices[from]], next = t->link[s->slices[to]];

	for (size_t i = from; i < to; i++)
		if (is_host_copy(t->kind[s->slices[i]]))
			return true;
	if (launch == TIMELINE_NONE || next == TIMELINE_NONE || next <= launch)
		return false; /* the same one launched both, or another thread */
	for (uint32_t i = launch; i < next; i++)
		if (is_host_part(t, i))
			return true;
	return false;
}

static bool are_steps(const struct timeline *t, const struct sequence *s, const struct region *r, bool device)
{
	size_t units = 0, parts = 0;

	for (size_t at = r->from; device && at + 2 * r->length <= r->to; at += r->length) {
		units++;
		parts += host_takes_part(t, s, at, at + r->length);
	}
	return 3 * parts >= 2 * units;
}

/* A step lasts until the next; the last one as long as its work. */
static int add_steps(struct timeline *t, size_t *capacity, const struct sequence *s, const struct region *r, uint32_t process)
{
	int64_t number = 0;
	int rc = 0;

	for (size_t at = r->from; at + r->length <= r->to && rc == 0; at += r->length) {
		struct timeline_step step = { .begin = t->begin[s->slices[at]],
					      .process = process,
					      .number = number++,
					      .name = name_at(t, s, at),
					      .slice = TIMELINE_NONE };

		for (size_t i = at; i < at + r->length; i++)
			step.end = t->end[s->slices[i]] > step.end ? t->end[s->slices[i]] : step.end;
		if (at + 2 * r->length <= r->to)
			step.end = t->begin[s->slices[at + r->length]];
		rc = steps_add(t, capacity, &step);
	}
	return rc;
}

static int find_in_sequence(struct timeline *t, size_t *capacity, const struct sequence *s, uint32_t process, bool device)
{
	struct region region;
	size_t length = 0;
	int rc = s->count >= 2 * TIMES_MIN ? find_length(t, s, &length) : 0;

	if (rc < 0 || length < 2)
		return rc;
	region = find_region(t, s, length);
	if (region.to - region.from < TIMES_MIN * length || 2 * (region.to - region.from) <= s->count || !has_two_names(t, s, &region))
		return 0;
	rc = find_phase(t, s, &region);
	if (rc < 0 || !are_steps(t, s, &region, device))
		return rc;
	t->step_source = STEPS_REPETITION;
	return add_steps(t, capacity, s, &region, process);
}

/* ---- The sequences ---- */

static bool is_queue(const struct timeline_track *track)
{
	return track->kind == TRACK_STREAM || track->kind == TRACK_DEVICE;
}

/* Work of a stream; operators of a thread that no operator asked for. */
static bool counts(const struct timeline *t, uint32_t slice, bool device)
{
	if (device)
		return timeline_is_device_work(t->kind[slice]);
	return t->kind[slice] == EVENT_OP && (t->parent[slice] == TIMELINE_NONE || t->kind[t->parent[slice]] != EVENT_OP);
}

static uint32_t count_of(const struct timeline *t, const struct timeline_track *track, bool device)
{
	uint32_t count = 0;

	for (uint32_t i = track->first; is_queue(track) == device && i < track->first + track->count; i++)
		count += counts(t, i, device);
	return count;
}

/* The track of each process with most of it; TIMELINE_NONE where there is none. */
static int choose_tracks(const struct timeline *t, bool device, uint32_t *chosen)
{
	uint32_t *most = calloc((size_t)t->process_count + 1, sizeof *most);

	if (!most)
		return -ENOMEM;
	for (uint32_t p = 0; p <= t->process_count; p++)
		chosen[p] = TIMELINE_NONE;
	for (uint32_t k = 0; k < t->track_count; k++) {
		uint32_t process = t->tracks[k].process == TIMELINE_NONE ? t->process_count : t->tracks[k].process;
		uint32_t count = count_of(t, &t->tracks[k], device);

		if (count > most[process]) {
			most[process] = count;
			chosen[process] = k;
		}
	}
	free(most);
	return 0;
}

static int find_on_track(struct timeline *t, size_t *capacity, uint32_t k, bool device)
{
	const struct timeline_track *track = &t->tracks[k];
	struct sequence s = { 0 };
	int rc = 0;

	for (uint32_t i = track->first; i < track->first + track->count && rc == 0; i++) {
		if (!counts(t, i, device))
			continue;
		rc = ROOM_FOR(s.slices, s.capacity, s.count + 1);
		if (rc == 0)
			s.slices[s.count++] = i;
	}
	if (rc == 0)
		rc = find_in_sequence(t, capacity, &s, track->process, device);
	free(s.slices);
	return rc;
}

/* Operators are looked at only where no device is: beside one they are layers as well as steps. */
int repetition_find(struct timeline *t, size_t *capacity)
{
	uint32_t *chosen = malloc(((size_t)t->process_count + 1) * sizeof *chosen);
	bool any = false;
	int rc = chosen ? 0 : -ENOMEM;

	for (int device = 1; device >= 0 && rc == 0 && !any; device--) {
		rc = choose_tracks(t, device, chosen);
		for (uint32_t p = 0; p <= t->process_count && rc == 0; p++) {
			if (chosen[p] == TIMELINE_NONE)
				continue;
			any = true;
			rc = find_on_track(t, capacity, chosen[p], device);
		}
	}
	free(chosen);
	return rc;
}
