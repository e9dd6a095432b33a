/*
 * steps.c - the steps of a program: what it does again and again.
 *
 * The program may say so itself, by the marks of PyTorch's profiler or by
 * scopes that repeat; these are looked for in each process.  Where no process
 * does, its loader's marks tell (loader_steps.c), or the order of its work
 * (repetition.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/build.h"
#include "timeline/steps.h"
#include "trace/step_name.h"

int steps_add(struct timeline *t, size_t *capacity, const struct timeline_step *step)
{
	if (t->step_count >= TIMELINE_NONE - 1)
		return -E2BIG;
	if (ROOM_FOR(t->steps, *capacity, t->step_count + 1) < 0)
		return -ENOMEM;
	t->steps[t->step_count++] = *step;
	return 0;
}

static bool on_host(const struct timeline_track *track)
{
	return track->kind != TRACK_STREAM && track->kind != TRACK_DEVICE;
}

/* The number at the end of a name: -1 when there is none, or it is too long to be one. */
static int64_t number_at_end(const char *name, size_t size)
{
	size_t digits = 0;
	int64_t number = 0;

	while (digits < size && name[size - 1 - digits] >= '0' && name[size - 1 - digits] <= '9')
		digits++;
	if (digits == 0 || digits > 18)
		return -1;
	for (size_t i = size - digits; i < size; i++)
		number = 10 * number + (name[i] - '0');
	return number;
}

static int compare_steps(const void *a, const void *b)
{
	const struct timeline_step *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end;
}

/* ---- The marks of PyTorch's profiler ---- */

#define PROFILER_STEP "ProfilerStep#"

static bool is_profiler_step(const struct timeline *t, uint32_t name, int64_t *ret_number)
{
	size_t size;
	const char *text = timeline_string(t, name, &size);

	if (size <= strlen(PROFILER_STEP) || memcmp(text, PROFILER_STEP, strlen(PROFILER_STEP)) != 0)
		return false;
	*ret_number = number_at_end(text, size);
	return *ret_number >= 0;
}

/* A step is marked on several threads, or by several layers: the longest counts, which is the first of those that overlap. */
static void drop_repeated(struct timeline *t)
{
	uint32_t kept = 0;

	qsort(t->steps, t->step_count, sizeof *t->steps, compare_steps);
	for (uint32_t i = 0; i < t->step_count; i++) {
		const struct timeline_step *last = kept ? &t->steps[kept - 1] : NULL, *s = &t->steps[i];

		if (last && last->process == s->process && last->number == s->number && s->begin < last->end)
			continue;
		t->steps[kept++] = *s;
	}
	t->step_count = kept;
}

static int find_profiler_steps(struct timeline *t, size_t *capacity)
{
	int rc = 0;

	for (uint32_t k = 0; k < t->track_count && rc == 0; k++) {
		const struct timeline_track *track = &t->tracks[k];

		for (uint32_t i = track->first; on_host(track) && i < track->first + track->count && rc == 0; i++) {
			struct timeline_step step = { t->begin[i], t->end[i], track->process, 0, t->name[i], i };

			if ((t->kind[i] == EVENT_SCOPE || t->kind[i] == EVENT_OP) && is_profiler_step(t, t->name[i], &step.number))
				rc = steps_add(t, capacity, &step);
		}
	}
	if (rc == 0 && t->step_count > 0) {
		drop_repeated(t);
		t->step_source = STEPS_PROFILER;
	}
	return rc;
}

/* ---- Scopes that repeat ---- */

/* Scopes of one name, but for its number, on one thread. */
struct series {
	uint64_t hash;
	uint32_t track;
	uint32_t count;
	uint32_t depth; /* of the first */
	uint8_t rank;   /* 2: it is called a step, 1: what a step does, 0: anything */
	bool overlaps, inner, within; /* inner: inside other scopes; within: inside operators */
	bool used;
	int64_t covered, begin, end;
};

struct series_table {
	struct series *items;
	size_t capacity, used;
	struct series_key *keys; /* by name */
	uint8_t *inside;         /* by slice */
};

static struct series *place_of(const struct series_table *table, uint64_t hash, uint32_t track)
{
	size_t mask = table->capacity - 1, at = (size_t)((hash ^ (uint64_t)track * 0x9e3779b97f4a7c15u) >> 16) & mask;

	for (; table->items[at].used; at = (at + 1) & mask)
		if (table->items[at].hash == hash && table->items[at].track == track)
			break;
	return &table->items[at];
}

static int grow(struct series_table *table)
{
	struct series_table larger = { .capacity = table->capacity ? table->capacity * 2 : 64, .used = table->used, .keys = table->keys,
				       .inside = table->inside };

	larger.items = calloc(larger.capacity, sizeof *larger.items);
	if (!larger.items)
		return -ENOMEM;
	for (size_t i = 0; i < table->capacity; i++)
		if (table->items[i].used)
			*place_of(&larger, table->items[i].hash, table->items[i].track) = table->items[i];
	free(table->items);
	*table = larger;
	return 0;
}

/* What is around each slice, at any distance.  Libraries mark what they do within an operator. */
enum { INSIDE_SCOPE = 1, INSIDE_OPERATOR = 2 };

/* Slices come after what they are inside of, so that each has only to look at the one around it. */
static uint8_t *find_insides(const struct timeline *t)
{
	uint8_t *inside = malloc((size_t)t->slice_count + 1);

	for (uint32_t i = 0; inside && i < t->slice_count; i++) {
		uint32_t around = t->parent[i];

		inside[i] = 0;
		if (around < i)
			inside[i] = inside[around] | (t->kind[around] == EVENT_SCOPE ? INSIDE_SCOPE : 0) |
				    (t->kind[around] == EVENT_OP ? INSIDE_OPERATOR : 0);
	}
	return inside;
}

/* What a name says, found out once. */
struct series_key {
	uint64_t hash;
	uint8_t rank;
	bool known, loader;
};

static struct series_key read_name(const struct timeline *t, uint32_t name)
{
	size_t size;
	const char *text = timeline_string(t, name, &size);
	size_t stem = step_stem(text, size);

	return (struct series_key){ step_hash(text, stem), (uint8_t)step_rank(text, stem), true, step_is_loader(text, size) };
}

static struct series_key key_of(const struct timeline *t, const struct series_table *table, uint32_t slice)
{
	uint32_t name = t->name[slice];

	if (name >= t->string_count)
		return read_name(t, name);
	if (!table->keys[name].known)
		table->keys[name] = read_name(t, name);
	return table->keys[name];
}

static bool can_be_step(const struct timeline *t, const struct series_table *table, uint32_t slice)
{
	return t->kind[slice] == EVENT_SCOPE && !(t->flags[slice] & (SLICE_OPEN | SLICE_BEGIN_UNKNOWN)) && t->name[slice] != 0 &&
	       !key_of(t, table, slice).loader;
}

static int count_scope(const struct timeline *t, struct series_table *table, uint32_t track, uint32_t slice)
{
	struct series_key key = key_of(t, table, slice);
	struct series *s;

	if (table->used * 2 >= table->capacity && grow(table) < 0)
		return -ENOMEM;
	s = place_of(table, key.hash, track);
	if (!s->used) {
		*s = (struct series){ .hash = key.hash, .track = track, .depth = t->depth[slice], .rank = key.rank, .used = true,
				      .begin = t->begin[slice], .end = t->begin[slice] };
		table->used++;
	}
	s->overlaps |= t->begin[slice] < s->end - TIMELINE_ROUNDING;
	s->inner |= (table->inside[slice] & INSIDE_SCOPE) != 0;
	s->within |= (table->inside[slice] & INSIDE_OPERATOR) != 0;
	s->count += !(t->flags[slice] & SLICE_CONTINUES);
	s->covered = time_add(s->covered, t->end[slice] - t->begin[slice]);
	s->end = t->end[slice] > s->end ? t->end[slice] : s->end;
	return 0;
}

static int64_t span_of(const struct timeline *t, const struct timeline_track *track)
{
	int64_t end = 0;

	for (uint32_t i = track->first; i < track->first + track->count; i++)
		if (!(t->flags[i] & SLICE_OPEN))
			end = t->end[i] > end ? t->end[i] : end;
	return track->count && end > t->begin[track->first] ? end - t->begin[track->first] : 0;
}

/* Half of the time, at least: of all that the thread does; where the name says what it is, from the first to the last, since
 * loading a model may take longer than using it. */
static bool is_series(const struct series *s, int64_t span)
{
	int64_t of = s->rank ? s->end - s->begin : span;

	return s->count >= STEPS_MIN && !s->overlaps && !s->within && s->covered >= of / 2 && (s->rank == 2 || !s->inner);
}

static bool is_better(const struct series *a, const struct series *b)
{
	if (!b)
		return true;
	if (a->rank != b->rank)
		return a->rank > b->rank;
	if (a->inner != b->inner)
		return b->inner;
	if (a->depth != b->depth)
		return a->depth < b->depth;
	if (a->covered != b->covered)
		return a->covered > b->covered;
	return a->hash < b->hash;
}

/* The best series of each process, the last place being for what has none. */
static const struct series **choose_series(const struct timeline *t, const struct series_table *table)
{
	const struct series **chosen = calloc((size_t)t->process_count + 1, sizeof *chosen);
	int64_t *spans = malloc(((size_t)t->track_count + 1) * sizeof *spans);

	for (uint32_t k = 0; spans && chosen && k < t->track_count; k++)
		spans[k] = on_host(&t->tracks[k]) ? span_of(t, &t->tracks[k]) : 0;
	for (size_t i = 0; spans && chosen && i < table->capacity; i++) {
		const struct series *s = &table->items[i], **best;

		if (!s->used || !is_series(s, spans[s->track]))
			continue;
		best = &chosen[t->tracks[s->track].process == TIMELINE_NONE ? t->process_count : t->tracks[s->track].process];
		if (is_better(s, *best))
			*best = s;
	}
	if (!spans) {
		free(chosen);
		return NULL;
	}
	free(spans);
	return chosen;
}

static int64_t number_of(const struct timeline *t, uint32_t slice, int64_t otherwise)
{
	size_t size;
	const char *name = timeline_string(t, t->name[slice], &size);
	int64_t number = number_at_end(name, size);

	return number >= 0 ? number : otherwise;
}

/* Parts of one range follow each other without a gap: they are one step. */
static int add_series(struct timeline *t, const struct series_table *table, size_t *capacity, const struct series *s)
{
	const struct timeline_track *track = &t->tracks[s->track];
	struct timeline_step *last = NULL;
	int64_t count = 0;
	bool part = false;
	int rc = 0;

	for (uint32_t i = track->first; i < track->first + track->count && rc == 0; i++) {
		struct timeline_step step = { t->begin[i], t->end[i], track->process, 0, t->name[i], i };

		if (!can_be_step(t, table, i) || key_of(t, table, i).hash != s->hash)
			continue;
		if (part && step.begin - last->end <= TIMELINE_ROUNDING) {
			last->end = step.end;
		} else {
			step.number = number_of(t, i, count++);
			rc = steps_add(t, capacity, &step);
			last = &t->steps[t->step_count - 1];
		}
		part = t->flags[i] & SLICE_CONTINUES;
	}
	return rc;
}

static int find_scopes(struct timeline *t, size_t *capacity)
{
	struct series_table table = { .keys = calloc((size_t)t->string_count + 1, sizeof *table.keys), .inside = find_insides(t) };
	const struct series **chosen = NULL;
	int rc = table.keys && table.inside ? 0 : -ENOMEM;

	for (uint32_t k = 0; k < t->track_count && rc == 0; k++) {
		const struct timeline_track *track = &t->tracks[k];

		for (uint32_t i = track->first; on_host(track) && i < track->first + track->count && rc == 0; i++)
			if (can_be_step(t, &table, i))
				rc = count_scope(t, &table, k, i);
	}
	if (rc == 0 && !(chosen = choose_series(t, &table)))
		rc = -ENOMEM;
	for (uint32_t p = 0; p <= t->process_count && rc == 0; p++)
		if (chosen[p]) {
			rc = add_series(t, &table, capacity, chosen[p]);
			t->step_source = STEPS_SCOPE;
		}
	free(chosen);
	free(table.items);
	free(table.keys);
	free(table.inside);
	return rc;
}

int steps_find(struct timeline *t)
{
	size_t capacity = 0;
	int rc = find_profiler_steps(t, &capacity);

	if (rc == 0 && t->step_count == 0)
		rc = find_scopes(t, &capacity);
	if (rc == 0 && t->step_count == 0)
		rc = loader_steps_find(t, &capacity);
	if (rc == 0 && t->step_count == 0)
		rc = repetition_find(t, &capacity);
	if (t->step_count > 1)
		qsort(t->steps, t->step_count, sizeof *t->steps, compare_steps);
	ROOM_TRIM(t->steps, t->step_count);
	return rc;
}
