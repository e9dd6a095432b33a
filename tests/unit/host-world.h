/*
 * host-world.h - a trace of a program that computes on the host, as `inferscope run` writes it: calls of threads, what was
 * seen of them from outside, and the kernel's sums.
 *
 *      struct host_world w;
 *      host_open(&w);
 *      uint32_t program = host_process(&w, 10);
 *      struct host_thread main = host_thread(&w, program, 10);
 *      host_call(&w, main, own(&w, "step"), 0, 100 * MS);
 *      host_state(&w, main, "lock", 0, 100 * MS);
 *      const struct analysis *a = host_analyze(&w);
 *      ...
 *      host_close(&w);
 */
#ifndef HOST_WORLD_H
#define HOST_WORLD_H

#include <math.h>

#include "timeline-fixture.h"

#include "analyze/analysis.h"
#include "base/msgpack.h"
#include "words-fixture.h"

#define MS ((int64_t)1000000)
#define SECOND (1000 * MS)

struct host_world {
	struct world w;
	struct analysis *a;
	bool reversed; /* tracks get their numbers from the last one on */
	uint32_t next;
};

struct host_thread {
	uint32_t calls, states; /* tracks */
};

#define HOST_TRACKS 64u /* that are numbered backwards */

static inline void host_open(struct host_world *w)
{
	*w = (struct host_world){ 0 };
	world_open(&w->w);
}

static inline uint32_t host_process(struct host_world *w, uint64_t pid)
{
	return world_process(&w->w, pid, -1);
}

static inline uint32_t host_track(struct host_world *w, uint8_t kind, int64_t process, uint64_t id, int64_t parent)
{
	struct trace_track track = { .id = w->reversed ? HOST_TRACKS - 1 - w->next : w->next,
				     .kind = kind, .process = process, .os_id = id, .device = -1, .parent = parent };

	w->next++;
	assert_int_equal(trace_writer_track(w->w.f.w, &track), 0);
	return track.id;
}

/* All numbers have to be in use. */
static inline void host_fill_tracks(struct host_world *w)
{
	while (w->reversed && w->next < HOST_TRACKS)
		host_track(w, TRACK_TASK, 0, 1000 + w->next, -1);
}

static inline struct host_thread host_thread(struct host_world *w, uint32_t process, uint64_t tid)
{
	uint32_t calls = host_track(w, TRACK_THREAD, process, tid, -1);

	return (struct host_thread){ calls, host_track(w, TRACK_STATES, process, tid, calls) };
}

/* ---- Names ---- */

static inline uint32_t host_function(struct host_world *w, const char *module, const char *name, const char *file)
{
	return trace_writer_function(w->w.f.w, &(struct trace_function){ { module, strlen(module) }, { name, strlen(name) },
									 { file, strlen(file) }, 7 });
}

/* Of the program. */
static inline uint32_t own(struct host_world *w, const char *name)
{
	return host_function(w, "__main__", name, "/home/user/train.py");
}

/* Of a library: module and function. */
static inline uint32_t library(struct host_world *w, const char *module, const char *name)
{
	return host_function(w, module, name, "/usr/lib/python3.11/library.py");
}

/* ---- Events ---- */

static inline void host_slice(struct host_world *w, uint32_t track, uint8_t kind, uint32_t name, int64_t begin, int64_t duration)
{
	struct event_slot slot = { .time = (uint64_t)begin, .value = (uint64_t)duration, .name = name, .cpu = EVENT_CPU_UNKNOWN,
				   .kind = kind, .flags = EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, 0) };

	assert_int_equal(trace_writer_event(w->w.f.w, track, &slot, NULL, 0, NULL), 0);
}

static inline void host_call(struct host_world *w, struct host_thread thread, uint32_t name, int64_t begin, int64_t duration)
{
	host_slice(w, thread.calls, EVENT_CPU_CALL, name, begin, duration);
}

static inline void host_scope(struct host_world *w, struct host_thread thread, const char *name, int64_t begin, int64_t duration)
{
	world_slice(&w->w, thread.calls, EVENT_SCOPE, name, begin, duration);
}

static inline void host_operator(struct host_world *w, struct host_thread thread, const char *name, int64_t begin,
				 int64_t duration)
{
	world_slice(&w->w, thread.calls, EVENT_OP, name, begin, duration);
}

/* {"what": TEXT} */
static inline void host_look(struct host_world *w, uint32_t track, const char *name, const char *what, uint8_t phase,
			     int64_t time, int64_t duration)
{
	struct buffer map = BUFFER_INIT;

	if (what) {
		msgpack_write_map(&map, 1);
		msgpack_write_text(&map, "what");
		msgpack_write_text(&map, what);
	}
	world_put(&w->w, &(struct world_event){ .track = track, .kind = EVENT_CPU_SAMPLE, .phase = phase, .name = name, .time = time,
						.duration = duration, .metadata = map.data, .metadata_size = map.size });
	buffer_release(&map);
}

static inline void host_state(struct host_world *w, struct host_thread thread, const char *name, int64_t begin, int64_t duration)
{
	host_look(w, thread.states, name, NULL, PHASE_COMPLETE, begin, duration);
}

static inline void host_place(struct host_world *w, struct host_thread thread, const char *name, const char *what, int64_t time)
{
	host_look(w, thread.states, name, what, PHASE_INSTANT, time, 0);
}

/* One every 10 ms. */
static inline void host_places(struct host_world *w, struct host_thread thread, const char *name, const char *what, int64_t begin,
			       int64_t end)
{
	for (int64_t at = begin + 5 * MS; at < end; at += 10 * MS)
		host_place(w, thread, name, what, at);
}

static inline void host_counter_at(struct host_world *w, uint32_t track, const char *name, int64_t time, int64_t value)
{
	world_put(&w->w, &(struct world_event){ .track = track, .kind = EVENT_COUNTER, .phase = PHASE_INSTANT, .name = name,
						.time = time, .value = (double)value });
}

/* Ran and queued for so long between two readings. */
static inline void host_ledger(struct host_world *w, struct host_thread thread, int64_t begin, int64_t end, int64_t run,
			       int64_t queue)
{
	host_counter_at(w, thread.states, "run_ns", begin, 1000);
	host_counter_at(w, thread.states, "queue_ns", begin, 1000);
	host_counter_at(w, thread.states, "run_ns", end, 1000 + run);
	host_counter_at(w, thread.states, "queue_ns", end, 1000 + queue);
}

/* A machine of two processors, of which `busy` were busy (in thousandths). */
static inline void host_machine(struct host_world *w, int64_t end, int64_t busy)
{
	uint32_t track = host_track(w, TRACK_HOST, -1, 0, -1);
	struct buffer map = BUFFER_INIT;

	host_counter_at(w, track, "host_busy_ns", 0, 0);
	host_counter_at(w, track, "host_idle_ns", 0, 0);
	host_counter_at(w, track, "host_busy_ns", end, end / 1000 * busy);
	host_counter_at(w, track, "host_idle_ns", end, end / 1000 * (2000 - busy));
	msgpack_write_map(&map, 1);
	msgpack_write_text(&map, "sampling");
	msgpack_write_map(&map, 2);
	msgpack_write_text(&map, "interval_ns");
	msgpack_write_int(&map, 10 * MS);
	msgpack_write_text(&map, "cpus");
	msgpack_write_int(&map, 2);
	assert_int_equal(trace_writer_info(w->w.f.w, map.data, map.size, NULL), 0);
	buffer_release(&map);
}

/* ---- The analysis ---- */

static inline const struct analysis *host_analyze(struct host_world *w)
{
	struct error err = { 0 };
	int rc;

	host_fill_tracks(w);
	world_build(&w->w);
	rc = analysis_run(&w->a, w->w.t, NULL, &err);
	if (rc)
		print_error("%s\n", err.text);
	assert_int_equal(rc, 0);
	assert_analysis_in_words(w->a);
	return w->a;
}

static inline void host_close(struct host_world *w)
{
	analysis_free(w->a);
	world_close(&w->w);
}

/* The first finding of a kind, or NULL. */
static inline const struct analysis_finding *find_kind(const struct analysis *a, const char *kind)
{
	for (size_t i = 0; i < a->findings.count; i++)
		if (strcmp(a->findings.list[i].kind, kind) == 0)
			return &a->findings.list[i];
	return NULL;
}

static inline const struct analysis_finding *finding(const struct analysis *a, const char *kind)
{
	const struct analysis_finding *f = find_kind(a, kind);

	if (!f)
		fail_msg("there is no finding %s", kind);
	return f;
}

static inline bool texts_have(const struct finding_texts *texts, const char *part)
{
	for (unsigned i = 0; i < texts->count; i++)
		if (strstr(texts->text[i], part))
			return true;
	return false;
}

/* Whether any finding speaks of a function. */
static inline bool anybody_says(const struct analysis *a, const char *part)
{
	for (size_t i = 0; i < a->findings.count; i++) {
		const struct analysis_finding *f = &a->findings.list[i];

		if (texts_have(&f->where, part) || texts_have(&f->evidence, part) || strstr(f->action, part) || strstr(f->id, part))
			return true;
	}
	return false;
}

static inline int64_t owned_by(const struct analysis *a, enum host_owner owner)
{
	return a->host.window.time[owner];
}

static inline const char *blamed(const struct analysis *a, size_t number)
{
	assert_true(a->host.window.blame_count > number);
	return timeline_string(a->timeline, a->host.window.blames[number].name, NULL);
}

/* What must hold whatever the trace says. */
static inline void check_window(const struct host_window *w)
{
	int64_t sum = 0, walls = 0;

	for (unsigned k = 0; k < OWNER_COUNT; k++) {
		assert_true(w->time[k] >= 0);
		sum += w->time[k];
	}
	assert_int_equal(sum, w->to - w->from);
	for (uint32_t i = 0; i < w->tree->count; i++) {
		int64_t parts = 0;

		for (unsigned k = 0; k < OWNER_COUNT; k++) {
			assert_true(w->costs[i].time[k] >= 0);
			parts += w->costs[i].time[k];
		}
		assert_int_equal(parts, w->costs[i].wall);
		assert_in_range(w->costs[i].waited, 0, w->costs[i].wall);
		walls += w->costs[i].wall;
	}
	assert_int_equal(walls, w->to - w->from);
}

static inline void check_host(const struct analysis *a)
{
	int64_t owned = 0, breakdown = 0;

	for (size_t i = 0; i < a->category_count; i++)
		breakdown += a->breakdown[i].duration;
	assert_int_equal(breakdown, a->summary.end_to_end);
	if (!a->host.known)
		return;
	check_window(&a->host.run);
	check_window(&a->host.window);
	assert_true(a->host.window.from >= 0 && a->host.window.to >= a->host.window.from && a->host.window.to <= a->host.run.to);
	for (size_t i = 0; i < a->findings.count; i++) {
		const struct analysis_finding *f = &a->findings.list[i];

		assert_true(f->owned > 0 && f->share >= a->thresholds.share_least && f->share <= 1);
		assert_true(f->gain_low >= 0 && f->gain_low <= f->gain && f->gain <= f->gain_high && f->gain_high <= 1);
		assert_true(f->confidence > 0 && f->confidence <= 0.95);
		assert_false(texts_have(&f->evidence, "nan") || texts_have(&f->where, "nan") || strstr(f->action, "nan") ||
			     strstr(f->rationale, "nan"));
		owned += f->owned;
	}
	if (owned > a->findings.span)
		for (size_t i = 0; i < a->findings.count; i++)
			print_error("%s owns %lld of %lld\n", a->findings.list[i].id, (long long)a->findings.list[i].owned,
				    (long long)a->findings.span);
	assert_true(owned <= a->findings.span);
}

#endif
