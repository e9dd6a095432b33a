/*
 * causality.c - clocks of devices, held against what the host knows.
 *
 * For every piece of work, what would have to be added to its times lies
 * between two figures: not less than what puts its begin at its launch, not more
 * than what puts its end at the return of a call that waited for it.  The error
 * of a clock changes slowly (by `rate`), so that a figure also holds around its
 * work, a little wider: together they are a corridor.
 *
 * Where nothing needs to be added the times are right, within the corridor.
 * Where pieces of work that follow each other do, the clock was off for a while:
 * all of them are moved, no farther than needed.  One that is wrong among others
 * that are not is wrong alone: its begin or end is cut, and the rest stays.
 *
 * Where that began or ended is not always clear: work on either side could also be
 * on the other.  Then the bound is as large as the correction, and the corridor.
 */
#include "timeline/causality.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/clock_sync.h"
#include "timeline/timeline.h"

#define WRONG_LEAST 3    /* pieces of work that show that a clock was off */
#define RIGHT_AGAIN 8    /* that show that it is not any more */
#define FAR 256          /* that say nothing, and end it all the same */
#define MUCH_FARTHER 8   /* times as wrong as the others: alone among them */
#define DRIFT_NS 50000   /* a correction that can come and go slowly, and need not begin and end somewhere */
#define DEVICE_CUDA 1

/* A clock keeps its rate; only a bad mapping of its times does not. */
static const double rates[] = { CLOCK_DRIFT_PPM * 1e-6, 0.01, 0.1 };
#define RATES (sizeof rates / sizeof rates[0])

struct region {
	size_t from, to;
};

struct judge {
	struct timeline *t;
	struct work_items *work;
	double *low, *high; /* the corridor, for each item */
	struct region *off; /* where the clock was */
	size_t off_count, off_capacity;
	struct region *parts; /* of the whole; from one to the next the clock was set */
	size_t part_count, part_capacity;

	double worst; /* by which something is wrong, and not alone */
	double error; /* of what is in the corridor; INFINITY: it has one side only */
	double unclear; /* by how much more work can be wrong of which it is not clear whether the clock was off */
	int64_t most;
	uint64_t moved, clamped;
	uint32_t jumps;
	bool in_order; /* its streams */
};

/* ---- Where a clock was off ---- */

/* Above 0: too early; below: too late. */
static int sign_of(const struct work_item *item)
{
	return (item->launch > item->begin) - (item->until < item->end);
}

/* Longer than there was time for, wherever it is moved: the clock was set while it ran. */
static bool is_too_long(const struct work_item *item)
{
	return item->until != NEVER && item->end - item->begin > item->until - item->launch;
}

/* By how much it may be moved towards where it would be wrong; negative when it is. */
static double slack_of(const struct work_item *item, int sign)
{
	if (sign > 0)
		return (double)(item->begin - item->launch);
	return item->until == NEVER ? INFINITY : (double)(item->until - item->end);
}

/* Work that is wrong in the same way, with what is between. */
struct run {
	size_t first, last;
	int sign;
	size_t wrong, right, right_since; /* right: though half of what the others are wrong by would have been seen */
	double logs;                      /* sum */
};

static double typical(const struct run *run)
{
	return exp(run->logs / (double)run->wrong);
}

/* It can be off as well as not: whether it is, where the times leap or fall back tells. */
static bool says_nothing(const struct work_item *item, int sign, double by)
{
	return !item->alone && slack_of(item, -sign) >= by && slack_of(item, sign) >= by / 2;
}

static bool falls_back(const struct work_item *item)
{
	return item->place > item->begin && item->launch <= item->begin && item[-1].place <= item[-1].begin;
}

static bool leaps(const struct work_item *item, double by)
{
	return (double)(item->begin - item[-1].end) >= by / 2;
}

/* A clock that shows times too early was set back before, and leaps when it is right again. */
static bool may_begin(const struct work_item *item, int sign, double by)
{
	return sign > 0 ? falls_back(item) : leaps(item, by);
}

static size_t begin_of(const struct judge *j, const struct run *run, double by)
{
	size_t least = j->off_count ? j->off[j->off_count - 1].to : 0;

	for (size_t i = run->first; i > least && run->first - i < FAR; i--) {
		if (i < run->first && !says_nothing(&j->work->items[i], run->sign, by))
			break;
		if (may_begin(&j->work->items[i], run->sign, by))
			return i;
	}
	return run->first;
}

static size_t end_of(const struct judge *j, const struct run *run, double by)
{
	size_t i = run->last + 1;

	while (i < j->work->count && i - run->last < FAR && says_nothing(&j->work->items[i], run->sign, by) &&
	       !may_begin(&j->work->items[i], -run->sign, by))
		i++;
	return i;
}

static int close_run(struct judge *j, const struct run *run)
{
	bool off = run->wrong >= WRONG_LEAST && run->wrong > run->right;
	double farthest = off ? MUCH_FARTHER * typical(run) : 0;

	for (size_t i = run->first; i <= run->last; i++) {
		double wrong = -slack_of(&j->work->items[i], run->sign);

		if (wrong > farthest)
			j->work->items[i].alone = true;
		else
			j->worst = fmax(j->worst, wrong);
	}
	if (!off)
		return 0;
	if (ROOM_FOR(j->off, j->off_capacity, j->off_count + 1) < 0)
		return -ENOMEM;
	j->off[j->off_count] = (struct region){ begin_of(j, run, typical(run)), end_of(j, run, typical(run)) };
	j->off_count++;
	return 0;
}

static bool ends(const struct run *run, size_t at, int sign)
{
	return run->wrong && ((sign && sign != run->sign) || run->right_since >= RIGHT_AGAIN || at - run->last >= FAR);
}

static void add_wrong(struct run *run, size_t at, double by)
{
	if (run->wrong++ == 0)
		run->first = at;
	run->last = at;
	run->right += run->right_since;
	run->right_since = 0;
	run->logs += log(fmax(by, 1));
}

static int find_off(struct judge *j)
{
	struct run run = { 0 };
	int rc = 0;

	for (size_t i = 0; i < j->work->count && rc == 0; i++) {
		struct work_item *item = &j->work->items[i];
		int sign;

		item->alone = is_too_long(item);
		sign = item->alone ? 0 : sign_of(item);
		if (ends(&run, i, sign)) {
			rc = close_run(j, &run);
			run = (struct run){ 0 };
		}
		if (sign) {
			run.sign = sign;
			add_wrong(&run, i, -slack_of(item, sign));
		} else if (run.wrong && !item->alone) {
			run.right_since += slack_of(item, run.sign) < typical(&run) / 2;
		}
	}
	return rc == 0 && run.wrong ? close_run(j, &run) : rc;
}

/* ---- The corridor ---- */

static void set_sides(struct judge *j, size_t i)
{
	const struct work_item *item = &j->work->items[i];

	j->low[i] = item->alone ? -INFINITY : (double)(item->launch - item->begin);
	j->high[i] = item->alone || item->until == NEVER ? INFINITY : (double)(item->until - item->end);
}

/* As fmax() and fmin() where nothing is a NAN, which can be had for one instruction. */
static double higher(double a, double b)
{
	return a > b ? a : b;
}

static double lower(double a, double b)
{
	return a < b ? a : b;
}

/* What is known of one item holds for another, too, the less the longer it is from one to the other. */
static void reach(struct judge *j, size_t from, size_t to, double rate)
{
	double apart = rate * fabs((double)(j->work->items[from].begin - j->work->items[to].begin));

	j->low[to] = higher(j->low[to], j->low[from] - apart);
	j->high[to] = lower(j->high[to], j->high[from] + apart);
}

/* From `from` on, up to the first item that contradicts those before it.  Those that are wrong alone neither say anything nor
 * show how long it was. */
static size_t reach_on(struct judge *j, size_t from, size_t to, double rate)
{
	size_t last = to;

	for (size_t i = from; i < to; i++) {
		set_sides(j, i);
		if (j->work->items[i].alone)
			continue;
		if (last != to)
			reach(j, last, i, rate);
		if (j->low[i] > j->high[i])
			return i > from ? i : to; /* by itself: it is as it is */
		last = i;
	}
	return to;
}

static void reach_back(struct judge *j, const struct region *r, double rate)
{
	size_t last = r->to;

	for (size_t i = r->to; i-- > r->from;) {
		if (j->work->items[i].alone)
			continue;
		if (last != r->to)
			reach(j, last, i, rate);
		last = i;
	}
}

/* As near to 0 as it may be. */
static double shift_at(const struct judge *j, size_t i)
{
	return higher(lower(j->high[i], 0), j->low[i]);
}

/* One side is known of the begin, the other of the end: from the one to the other the error changes, too. */
static void note_error(struct judge *j, const struct region *r, double rate)
{
	for (size_t i = r->from; i < r->to; i++) {
		const struct work_item *item = &j->work->items[i];
		double shift = shift_at(j, i), change = rate * (double)(item->end - item->begin);

		if (!item->alone)
			j->error = higher(j->error, higher(shift - j->low[i], j->high[i] - shift) + change);
	}
}

/* Cuts it where the clock must have been set. */
static int fit_at(struct judge *j, const struct region *r, double rate)
{
	for (size_t from = r->from, to; from < r->to; from = to) {
		struct region *part;

		if (ROOM_FOR(j->parts, j->part_capacity, j->part_count + 1) < 0)
			return -ENOMEM;
		to = reach_on(j, from, r->to, rate);
		part = &j->parts[j->part_count++];
		*part = (struct region){ from, to };
		reach_back(j, part, rate);
		note_error(j, part, rate);
	}
	return 0;
}

static size_t count_cuts(struct judge *j, const struct region *r, double rate)
{
	size_t cuts = 0;

	for (size_t at = reach_on(j, r->from, r->to, rate); at < r->to; at = reach_on(j, at, r->to, rate))
		cuts++;
	return cuts;
}

/* With the least rate that does not make it a clock that was set all the time. */
static int fit_region(struct judge *j, size_t from, size_t to)
{
	struct region r = { from, to };
	size_t i = 0;

	while (i + 1 < RATES && count_cuts(j, &r, rates[i]) > 1 + (to - from) / FAR)
		i++;
	return fit_at(j, &r, rates[i]);
}

/* By how much an item can be wrong if it belongs to the part that `other` is in; 0 when it cannot. */
static double error_beyond(const struct judge *j, size_t item, size_t other)
{
	const struct work_item *it = &j->work->items[item];
	double low = higher(-slack_of(it, 1), j->low[other]), high = lower(slack_of(it, -1), j->high[other]), shift = shift_at(j, item);

	return low > high ? 0 : higher(fabs(shift - low), fabs(high - shift));
}

/* Between these two the clock was set: no one correction does for both, or they are corrected by more than a rate could explain, which
 * is all there is where the corridor is wide. */
static bool was_set(const struct judge *j, size_t before, size_t after)
{
	return j->low[before] > j->high[after] || j->low[after] > j->high[before] ||
	       fabs(shift_at(j, before) - shift_at(j, after)) > DRIFT_NS;
}

/* On either side of an edge are items that might belong to the other side. */
static void note_edge(struct judge *j, size_t edge)
{
	const struct work_item *items = j->work->items;
	size_t before = edge, after = edge;

	while (before > 0 && items[before - 1].alone)
		before--;
	while (after < j->work->count && items[after].alone)
		after++;
	if (before-- == 0 || after == j->work->count)
		return;
	j->jumps += was_set(j, before, after);
	j->unclear = higher(j->unclear, higher(error_beyond(j, before, after), error_beyond(j, after, before)));
}

static int fit_all(struct judge *j)
{
	struct region whole = { 0, j->work->count };
	size_t from = 0;
	int rc = 0;

	if (j->off_count == 0 || (j->worst <= DRIFT_NS && count_cuts(j, &whole, rates[0]) == 0))
		return fit_at(j, &whole, rates[0]);
	for (size_t i = 0; i < j->off_count && rc == 0; i++) {
		rc = fit_region(j, from, j->off[i].from);
		rc = rc ? rc : fit_region(j, j->off[i].from, j->off[i].to);
		from = j->off[i].to;
	}
	rc = rc ? rc : fit_region(j, from, j->work->count);
	for (size_t i = 1; i < j->part_count && rc == 0; i++)
		note_edge(j, j->parts[i].from);
	return rc;
}

/* ---- Moving ---- */

static int64_t at_most(int64_t time, int64_t most)
{
	return time < most ? time : most;
}

static int64_t at_least(int64_t time, int64_t least)
{
	return time > least ? time : least;
}

/* Between its launch and the return of who waited; as long as it was if there is room. */
static void clamp(struct work_item *item)
{
	int64_t duration = item->end - item->begin;

	if (item->begin >= item->until)
		item->begin = item->until - duration;
	item->begin = at_least(item->begin, item->launch);
	item->end = at_least(at_most(item->end, item->until), item->begin);
}

static void shift(struct judge *j, struct work_item *item, double by)
{
	int64_t whole = by > 0 ? llrint(ceil(fmin(by, 1e18))) : llrint(floor(fmax(by, -1e18)));

	if (whole == 0)
		return;
	item->by = whole;
	item->begin = at_most(time_add(item->begin, whole), TIMELINE_TIME_MAX);
	item->end = at_most(time_add(item->end, whole), TIMELINE_TIME_MAX);
	j->moved++;
	j->most = at_least(j->most, whole < 0 ? -whole : whole);
}

static void clamp_all(struct judge *j)
{
	for (size_t i = 0; i < j->work->count; i++) {
		struct work_item *item = &j->work->items[i];

		j->clamped += item->alone;
		if (sign_of(item) || item->alone)
			clamp(item);
	}
}

/* Where the order counts: streams of CUDA run what they are told one after the other, queues of others need not. */
static bool has_order(const struct judge *j, const struct work_item *a, const struct work_item *b)
{
	return j->in_order || a->by || b->by || a->alone || b->alone;
}

/* Corrections are as small as can be, so that of two pieces of work that changed places the one that came too early was moved too
 * little.  Of work that was cut, what is before it on the stream tells better than its launch when it began. */
static void push(const struct judge *j, const struct work_item *before, struct work_item *item)
{
	int64_t duration = item->end - item->begin, latest = item->until == NEVER ? before->end : item->until - duration;

	if (item->alone && item->begin < before->end)
		item->begin = at_least(item->begin, at_most(before->end, item->end));
	if (item->begin < before->begin && before->by >= 0 && item->by >= 0 && has_order(j, before, item)) {
		item->begin = at_least(item->begin, at_most(before->end, latest));
		item->end = item->begin + duration;
	}
}

/* What is left is moved back: it was launched earlier, so that there is always room.  Work that did not overlap does not now. */
static void pull(const struct judge *j, struct work_item *item, const struct work_item *after)
{
	bool apart = j->t->end[item->slice] <= j->t->begin[after->slice];
	int64_t duration = item->end - item->begin;

	if (!has_order(j, item, after))
		return;
	if (item->begin > after->begin)
		item->begin = at_least(item->launch, after->begin - duration);
	if (item->begin <= after->begin && item->end > after->begin && apart)
		item->end = after->begin;
	item->end = at_least(at_most(item->end, item->begin + duration), item->begin);
}

static int keep_orders(const struct judge *j)
{
	struct work_item **other = calloc((size_t)j->t->track_count + 1, sizeof *other);

	if (!other)
		return -ENOMEM;
	for (size_t i = 0; i < j->work->count; i++) {
		struct work_item *item = &j->work->items[i];

		if (other[item->track])
			push(j, other[item->track], item);
		other[item->track] = item;
	}
	memset(other, 0, (size_t)j->t->track_count * sizeof *other);
	for (size_t i = j->work->count; i-- > 0;) {
		struct work_item *item = &j->work->items[i];

		if (other[item->track])
			pull(j, item, other[item->track]);
		other[item->track] = item;
	}
	free(other);
	return 0;
}

#define FLAGS_OF_ORDER (SLICE_CROSSES | SLICE_OVERLAPS | SLICE_WORK_RUNS)

static void write_back(const struct judge *j, uint32_t device)
{
	struct timeline *t = j->t;

	for (size_t i = 0; i < j->work->count; i++) {
		t->begin[j->work->items[i].slice] = j->work->items[i].begin;
		t->end[j->work->items[i].slice] = j->work->items[i].end;
	}
	for (uint32_t k = 0; k < t->devices[device].stream_count; k++) {
		const struct timeline_track *track = &t->tracks[t->streams[t->devices[device].first_stream + k]];

		for (uint32_t i = track->first; i < track->first + track->count; i++)
			t->flags[i] &= (uint8_t)~FLAGS_OF_ORDER; /* nesting finds them again */
	}
}

static int move_work(struct judge *j, uint32_t device)
{
	int rc;

	for (size_t i = 0; i < j->work->count; i++)
		if (!j->work->items[i].alone)
			shift(j, &j->work->items[i], shift_at(j, i));
	clamp_all(j);
	rc = keep_orders(j);
	if (rc == 0)
		write_back(j, device);
	return rc;
}

/* ---- Clocks ---- */

static struct timeline_clock *clock_of(const struct builder *b, uint32_t device)
{
	struct timeline *t = b->t;
	uint32_t domain = b->track_domain[t->streams[t->devices[device].first_stream]];
	struct timeline_clock *clock = &t->clocks[t->clock_count];

	for (uint32_t i = 0; i < t->clock_count; i++)
		if (t->clocks[i].of_device && t->clocks[i].device == device)
			return &t->clocks[i];
	for (uint32_t i = 0; i < t->clock_count; i++)
		if (!t->clocks[i].of_device && t->clocks[i].domain == domain)
			*clock = t->clocks[i];
	clock->name = t->devices[device].name;
	clock->of_device = true;
	clock->device = device;
	clock->drift_ppm = NAN;
	clock->residual_ns = NAN;
	clock->error_ns = -1;
	clock->method = "causality";
	t->clock_count++; /* there is room */
	return clock;
}

/* Pairs bound the error as well, but for what happened between them and had to be put right.  Those of CUDA are no readings of
 * the device's clock, but of one that its times, and those of calls, were told by: errors of both add up. */
static void describe_clock(const struct builder *b, uint32_t device, const struct judge *j)
{
	struct timeline_clock *clock = clock_of(b, device);
	double error = j->error + j->unclear;

	clock->moved = j->moved;
	clock->clamped = j->clamped;
	clock->moved_most = j->most;
	clock->error_least = fmax(clock->error_ns, (double)j->most);
	if (!clock->pairs || b->t->devices[device].kind == DEVICE_CUDA) {
		clock->jumps += j->jumps;
		error = clock->pairs ? fmax(error, (double)j->most) + clock->error_ns : error;
	} else {
		error = fmin(error, clock->error_least);
	}
	clock->error_ns = isfinite(error) ? error : -1;
}

static int judge_device(const struct builder *b, uint32_t device, struct work_items *work, bool *ret_moved)
{
	struct judge j = { .t = b->t, .work = work, .in_order = b->t->devices[device].kind == DEVICE_CUDA };
	int rc = find_off(&j);

	j.low = malloc((work->count + 1) * sizeof *j.low);
	j.high = malloc((work->count + 1) * sizeof *j.high);
	rc = rc ? rc : j.low && j.high ? 0 : -ENOMEM;
	if (rc == 0) {
		bool wrong = j.off_count;

		rc = fit_all(&j);
		for (size_t i = 0; i < work->count && !wrong; i++)
			wrong = work->items[i].alone;
		if (wrong && rc == 0)
			rc = move_work(&j, device);
		*ret_moved |= wrong;
	}
	if (rc == 0)
		describe_clock(b, device, &j);
	free(j.low);
	free(j.high);
	free(j.off);
	free(j.parts);
	return rc;
}

/* Times of devices no longer begin or end anything by themselves. */
static void find_duration(struct timeline *t)
{
	t->duration = 0;
	for (uint32_t i = 0; i < t->slice_count; i++)
		t->duration = at_least(t->duration, t->end[i]);
	for (uint32_t i = 0; i < t->point_count; i++)
		t->duration = at_least(t->duration, t->points[i].time);
	for (uint32_t i = 0; i < t->range_count; i++)
		t->duration = at_least(t->duration, t->ranges[i].end);
}

int causality_apply(struct builder *b, bool *ret_moved)
{
	const struct timeline *t = b->t;
	struct waited_list waited = { 0 };
	struct work_items work = { 0 };
	bool ours = false, moved = false;
	int rc = 0;

	for (uint32_t i = 0; i < t->stream_count; i++)
		ours |= clocks_are_ours(b, b->track_domain[t->streams[i]]);
	if (ours)
		rc = waited_collect(b, &waited);
	for (uint32_t d = 0; ours && d < t->device_count && rc == 0; d++) {
		if (t->devices[d].stream_count == 0 || !clocks_are_ours(b, b->track_domain[t->streams[t->devices[d].first_stream]]))
			continue;
		rc = items_collect(b, d, &waited, &work);
		if (rc == 0 && work.count)
			rc = judge_device(b, d, &work, &moved);
	}
	if (rc == 0 && moved)
		find_duration(b->t);
	free(waited.items);
	free(work.items);
	if (rc == 0)
		*ret_moved = moved;
	return rc;
}
