/* host_load.c - what the program and others used of the machine: processors, memory, disks. */
#include <math.h>
#include <string.h>

#include "analyze/host_parts.h"
#include "base/msgpack.h"
#include "base/varint.h"

#define BUSY_THREAD 0.1
#define SLOT_NS 10000000 /* between looks at threads, where the trace does not say */

/* The number of a text; TIMELINE_NONE when the trace does not have it. */
static uint32_t string_number(const struct timeline *t, const char *text)
{
	size_t size;

	for (uint32_t i = 1; i < t->string_count; i++)
		if (strcmp(timeline_string(t, i, &size), text) == 0)
			return i;
	return TIMELINE_NONE;
}

/* The value at `time`, from the two readings around it. */
struct reading {
	int64_t time;
	double value;
	bool known;
};

static double between(const struct reading *before, const struct reading *after, int64_t time)
{
	double part;

	if (!before->known || !after->known || after->time <= before->time)
		return before->known ? before->value : after->value;
	part = (double)(time - before->time) / (double)(after->time - before->time);
	return before->value + (after->value - before->value) * fmin(1, fmax(0, part));
}

/* Hands out the readings of a counter in order: of looks, or of points. */
struct readings {
	const struct timeline *t;
	uint32_t name, track, at, end;
	bool points;
};

static bool next_reading(struct readings *r, struct reading *ret)
{
	for (; r->at < r->end; r->at++) {
		const struct timeline_look *look = r->points ? NULL : &r->t->looks[r->at];
		const struct timeline_point *point = r->points ? &r->t->points[r->at] : NULL;

		if (look ? look->kind != LOOK_COUNTER || look->name != r->name :
			   point->track != r->track || point->kind != EVENT_COUNTER || point->name != r->name)
			continue;
		*ret = look ? (struct reading){ look->begin, look->value, true } : (struct reading){ point->time, point->value, true };
		r->at++;
		return true;
	}
	return false;
}

static struct readings readings_of(const struct timeline *t, uint32_t track, uint32_t name)
{
	struct readings r = { .t = t, .name = name, .track = track };
	uint32_t count;

	r.points = t->tracks[track].kind == TRACK_PROCESS;
	if (r.points) {
		r.end = t->point_count;
	} else {
		r.at = timeline_looks_from(t, track, INT64_MIN, &count);
		r.end = r.at + count;
	}
	return r;
}

static bool counter_of(const struct timeline *t, uint32_t track, uint32_t name, int64_t from, int64_t to, double *ret_begin,
		       double *ret_end)
{
	struct readings r = readings_of(t, track, name);
	struct reading now, before[2] = { { 0 } }, after[2] = { { 0 } };
	const int64_t times[2] = { from, to };
	unsigned count = 0;

	while (next_reading(&r, &now)) {
		count++;
		for (unsigned i = 0; i < 2; i++) {
			if (now.time <= times[i])
				before[i] = now;
			else if (!after[i].known)
				after[i] = now;
		}
	}
	if (count == 0) /* one reading: it did not change */
		return false;
	*ret_begin = between(&before[0], &after[0], from);
	*ret_end = between(&before[1], &after[1], to);
	return true;
}

bool host_counter(const struct timeline *t, uint32_t track, const char *name, int64_t from, int64_t to, double *ret_begin,
		  double *ret_end)
{
	return counter_of(t, track, string_number(t, name), from, to, ret_begin, ret_end);
}

/* By how much a counter grows in a second, over all tracks of a kind (and process, unless TIMELINE_NONE). */
static double rate(const struct timeline *t, uint8_t kind, uint32_t process, const char *name, int64_t from, int64_t to)
{
	uint32_t number = string_number(t, name);
	double sum = 0, begin, end;
	bool known = false;

	for (uint32_t i = 0; i < t->track_count && number != TIMELINE_NONE; i++)
		if (t->tracks[i].kind == kind && (process == TIMELINE_NONE || t->tracks[i].process == process) &&
		    counter_of(t, i, number, from, to, &begin, &end)) {
			sum += end - begin;
			known = true;
		}
	return known && to > from ? fmax(0, sum) / ((double)(to - from) / 1e9) : NAN; /* what goes down is damage */
}

static double cores(const struct timeline *t, uint8_t kind, const char *name, int64_t from, int64_t to)
{
	return rate(t, kind, TIMELINE_NONE, name, from, to) / 1e9;
}

struct sampling {
	int64_t cpus, interval_ns, slots, missed;
};

static void take_sampling(void *arg, const char *key, int64_t value)
{
	struct sampling *s = arg;
	int64_t *to = strcmp(key, "cpus") == 0	      ? &s->cpus :
		      strcmp(key, "interval_ns") == 0 ? &s->interval_ns :
		      strcmp(key, "slots") == 0	      ? &s->slots :
		      strcmp(key, "missed") == 0      ? &s->missed :
							NULL;

	if (to && value > 0)
		*to = value;
}

/* Time between looks at the thread, by how many its states rest on: a list of events does not say more. */
static double interval_seen(const struct timeline *t, uint32_t states)
{
	uint32_t count, first = timeline_looks_from(t, states, INT64_MIN, &count);
	double looks = 0, time = 0;

	for (uint32_t i = first; i < first + count; i++)
		if (t->looks[i].kind == LOOK_STATE && t->looks[i].samples) {
			looks += t->looks[i].samples;
			time += (double)(t->looks[i].end - t->looks[i].begin);
		}
	return looks > 0 && time > 0 ? time / looks : SLOT_NS;
}

/* In some slots there may have been no look. */
static double interval_of(const struct sampling *s)
{
	double looks = s->slots ? (double)s->slots / ((double)s->slots + (double)s->missed) : 1;

	return (double)s->interval_ns / looks;
}

/* Integers of the map that the recorder wrote about its looking. */
static void each_sampling(const struct timeline *t, void (*take)(void *arg, const char *key, int64_t value), void *arg)
{
	const uint8_t *data;
	size_t size;
	struct cursor c;
	struct msgpack_value map, key, value;
	char text[64];

	if (!t->reader || trace_reader_info_raw(t->reader, "sampling", &data, &size) != 0)
		return;
	c = cursor_of(data, size);
	if (msgpack_read(&c, &map) != 0 || map.type != MSGPACK_MAP)
		return;
	for (uint32_t i = 0; i < map.count; i++) {
		if (msgpack_read(&c, &key) != 0 || key.type != MSGPACK_STRING || key.size >= sizeof text || msgpack_read(&c, &value) != 0)
			return;
		memcpy(text, key.data, key.size);
		text[key.size] = '\0';
		if (value.type == MSGPACK_INT || value.type == MSGPACK_UINT)
			take(arg, text, value.integer);
	}
}

static void count_threads(struct host_load *load, const struct timeline *t, int64_t from, int64_t to)
{
	const uint32_t runs = string_number(t, "run_ns"), queues = string_number(t, "queue_ns"), turns = string_number(t, "slices");
	double span = (double)(to - from);

	for (uint32_t i = 0; i < t->track_count; i++) {
		double run[2], queue[2], slices[2];

		if (t->tracks[i].kind != TRACK_STATES || !counter_of(t, i, runs, from, to, &run[0], &run[1]) ||
		    !counter_of(t, i, queues, from, to, &queue[0], &queue[1]))
			continue;
		load->busy_threads += run[1] - run[0] + queue[1] - queue[0] > BUSY_THREAD * span;
		if (counter_of(t, i, turns, from, to, &slices[0], &slices[1]))
			load->switches = fmax(load->switches, (slices[1] - slices[0]) / (span / 1e9));
	}
}

#define FIFTHS 5
#define GROWTH_TO_SWING 2

/* The least of each fifth: what is freed again does not count. Temporaries that come and go may rise four times in a row by chance, but not by
 * more than they move within a fifth. */
static double growth_of(const struct timeline *t, uint32_t track, int64_t from, int64_t to)
{
	struct readings r = readings_of(t, track, string_number(t, "rss_bytes"));
	double least[FIFTHS], most[FIFTHS], value = NAN, swing = 0;
	struct reading now;
	int64_t length = (to - from) / FIFTHS + 1;

	for (unsigned i = 0; i < FIFTHS; i++)
		least[i] = most[i] = NAN;
	while (next_reading(&r, &now)) {
		int64_t fifth = now.time < from ? -1 : (now.time - from) / length;

		if (fifth >= 0 && fifth < FIFTHS) { /* fmin and fmax pass over NAN */
			least[fifth] = fmin(fmin(least[fifth], value), now.value);
			most[fifth] = fmax(fmax(most[fifth], value), now.value);
		}
		value = now.value;
	}
	for (unsigned i = 0; i < FIFTHS; i++) {
		if (isnan(least[i]) || (i && !(least[i] > least[i - 1])))
			return 0;
		swing += (most[i] - least[i]) / FIFTHS;
	}
	value = least[FIFTHS - 1] - least[0];
	return value > GROWTH_TO_SWING * swing ? value : 0;
}

static void look_at_memory(struct host_load *load, const struct timeline *t, uint32_t process, int64_t from, int64_t to)
{
	load->memory_begin = load->memory_end = NAN;
	for (uint32_t i = 0; i < t->track_count; i++)
		if (t->tracks[i].kind == TRACK_PROCESS && t->tracks[i].process == process &&
		    host_counter(t, i, "rss_bytes", from, to, &load->memory_begin, &load->memory_end))
			load->memory_growth = growth_of(t, i, from, to);
}

/* As machine_counters_throttled() has it.  Of traces that do not have what the control group ran, what the program did. */
static double throttled(const struct timeline *t, double tree, int64_t from, int64_t to)
{
	double lost = cores(t, TRACK_HOST, "throttled_ns", from, to), ran = cores(t, TRACK_HOST, "cgroup_cpu_ns", from, to);
	double ended = rate(t, TRACK_HOST, TIMELINE_NONE, "throttled_periods", from, to);
	double periods = rate(t, TRACK_HOST, TIMELINE_NONE, "quota_periods", from, to), share;

	ran = isnan(ran) ? tree : ran;
	share = fmin(lost + ran > 0 ? lost / (lost + ran) : NAN, periods > 0 ? ended / periods : NAN);
	return share > 0 ? fmin(1, share) : 0;
}

int host_load_find(struct host_load *load, const struct analysis_host *h, const struct timeline *t, int64_t from, int64_t to)
{
	struct sampling sampling = { 0 };
	double busy, user, system;

	each_sampling(t, take_sampling, &sampling);
	*load = (struct host_load){ .cpus = sampling.cpus ? (double)sampling.cpus : NAN, .interval = sampling.interval_ns ? interval_of(&sampling) : interval_seen(t, h->states) };
	load->tree = cores(t, TRACK_STATES, "run_ns", from, to);
	load->demand = load->tree + cores(t, TRACK_STATES, "queue_ns", from, to);
	busy = cores(t, TRACK_HOST, "host_busy_ns", from, to);
	load->idle = cores(t, TRACK_HOST, "host_idle_ns", from, to);
	load->outside = fmax(0, busy - load->tree);
	if (isnan(load->cpus) && !isnan(busy + load->idle))
		load->cpus = fmax(1, round(busy + load->idle));
	load->throttled = throttled(t, load->tree, from, to);
	load->free_cores = fmin(load->cpus, load->tree + load->idle);
	user = cores(t, TRACK_PROCESS, "user_ns", from, to);
	system = cores(t, TRACK_PROCESS, "system_ns", from, to);
	load->system_share = user + system > 0 ? system / (user + system) : NAN;
	load->read_calls = rate(t, TRACK_PROCESS, TIMELINE_NONE, "syscr", from, to);
	load->write_calls = rate(t, TRACK_PROCESS, TIMELINE_NONE, "syscw", from, to);
	load->read_bytes = rate(t, TRACK_PROCESS, h->process, "rchar", from, to);
	load->written_bytes = rate(t, TRACK_PROCESS, h->process, "wchar", from, to);
	load->disk_bytes = rate(t, TRACK_PROCESS, TIMELINE_NONE, "read_bytes", from, to);
	load->faults = rate(t, TRACK_PROCESS, TIMELINE_NONE, "minor_faults", from, to);
	load->major_faults = rate(t, TRACK_PROCESS, TIMELINE_NONE, "major_faults", from, to);
	count_threads(load, t, from, to);
	look_at_memory(load, t, h->process, from, to);
	return 0;
}
