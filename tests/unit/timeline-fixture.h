/*
 * timeline-fixture.h - a trace of hosts, devices and work, and its timeline.
 *
 *      struct world w;
 *      world_open(&w);
 *      uint32_t thread = world_track(&w, TRACK_THREAD, process, -1);
 *      world_slice(&w, thread, EVENT_OP, "aten::mm", 100, 50);
 *      struct timeline *t = world_build(&w);
 *      ...
 *      world_close(&w);
 */
#ifndef TIMELINE_FIXTURE_H
#define TIMELINE_FIXTURE_H

#include "trace-fixture.h"

#include "timeline/timeline.h"

struct world {
	struct fixture f;
	struct trace_reader *r;
	struct timeline *t;
	uint32_t tracks, processes, devices;
};

static inline uint32_t world_name(struct world *w, const char *name)
{
	return name ? trace_writer_string(w->f.w, name, strlen(name)) : 0;
}

static inline void world_clock(struct world *w, uint32_t domain, uint8_t kind, uint64_t rate)
{
	struct trace_clock clock = { .id = domain, .kind = kind, .rate = rate, .name = world_name(w, "clock") };

	assert_int_equal(trace_writer_clock(w->f.w, &clock), 0);
}

static inline void world_open(struct world *w)
{
	struct trace_host host = { .id = 0 };

	*w = (struct world){ 0 };
	fixture_open(&w->f, NULL);
	host.name = world_name(w, "host");
	assert_int_equal(trace_writer_host(w->f.w, &host), 0);
	world_clock(w, 0, CLOCK_KIND_NANOSECONDS, 1000000000);
}

static inline uint32_t world_process(struct world *w, uint64_t pid, int64_t rank)
{
	struct trace_process process = { .id = w->processes++, .pid = pid, .parent = -1, .rank = rank };

	assert_int_equal(trace_writer_process(w->f.w, &process), 0);
	return process.id;
}

static inline uint32_t world_device(struct world *w, uint32_t index)
{
	struct trace_device device = { .id = w->devices++, .index = index, .kind = 1, .name = world_name(w, "GPU") };

	assert_int_equal(trace_writer_device(w->f.w, &device), 0);
	return device.id;
}

static inline uint32_t world_track(struct world *w, uint8_t kind, int64_t process, int64_t device)
{
	struct trace_track track = { .id = w->tracks++, .kind = kind, .process = process, .device = device, .parent = -1 };

	track.os_id = track.id + 100;
	assert_int_equal(trace_writer_track(w->f.w, &track), 0);
	return track.id;
}

struct world_event {
	uint32_t track;
	uint8_t kind, phase;
	const char *name;
	int64_t time, duration;
	uint16_t depth; /* of begins and ends */
	uint64_t correlation, bytes, flow, operator_id;
	double value;
	const void *metadata;
	size_t metadata_size;
};

/* Fields that are 0 are not there. */
static inline void world_put(struct world *w, const struct world_event *e)
{
	struct event_slot slot = { .time = (uint64_t)e->time, .name = world_name(w, e->name), .cpu = EVENT_CPU_UNKNOWN, .kind = e->kind };
	uint8_t list[7000];
	size_t size = 0;

	slot.flags = EVENT_FLAGS(e->phase, 0, 0);
	if (e->phase == PHASE_COMPLETE) {
		slot.flags = EVENT_FLAGS(e->phase, FIELD_DURATION, 0);
		slot.value = (uint64_t)e->duration;
	} else if (e->kind == EVENT_COUNTER) {
		slot.flags = EVENT_FLAGS(e->phase, FIELD_VALUE, 0);
		memcpy(&slot.value, &e->value, sizeof slot.value);
	} else if (e->phase == PHASE_BEGIN || e->phase == PHASE_END) {
		slot.flags |= EVENT_FLAG_THREAD;
		slot.depth = e->depth;
	}
	if (e->correlation)
		size = list_number(list, size, FIELD_CORRELATION, e->correlation);
	if (e->bytes)
		size = list_number(list, size, FIELD_BYTES, e->bytes);
	if (e->flow)
		size = list_number(list, size, FIELD_FLOW, e->flow);
	if (e->operator_id)
		size = list_number(list, size, FIELD_OPERATOR, e->operator_id);
	if (e->metadata_size)
		size = list_bytes(list, size, FIELD_METADATA, e->metadata, (uint16_t)e->metadata_size);
	assert_int_equal(trace_writer_event(w->f.w, e->track, &slot, list, size, NULL), 0);
}

static inline void world_slice(struct world *w, uint32_t track, uint8_t kind, const char *name, int64_t begin, int64_t duration)
{
	world_put(w, &(struct world_event){ track, kind, PHASE_COMPLETE, name, begin, duration });
}

static inline void world_work(struct world *w, uint32_t track, uint8_t kind, const char *name, int64_t begin, int64_t duration,
			      uint64_t correlation)
{
	world_put(w, &(struct world_event){ track, kind, PHASE_COMPLETE, name, begin, duration, .correlation = correlation });
}

static inline struct timeline *world_build(struct world *w)
{
	struct error err = { 0 };
	int rc;

	fixture_finish(&w->f);
	w->r = fixture_read(&w->f);
	rc = timeline_build(&w->t, w->r, NULL, &err);
	if (rc)
		print_error("%s\n", err.text);
	assert_int_equal(rc, 0);
	return w->t;
}

static inline void world_close(struct world *w)
{
	timeline_free(w->t);
	trace_reader_close(w->r);
	fixture_close(&w->f);
}

/* The n-th slice of that name (from 0), in the timeline's order. */
static inline uint32_t world_find(const struct world *w, const char *name, unsigned n)
{
	for (uint32_t i = 0; i < w->t->slice_count; i++)
		if (strcmp(timeline_string(w->t, w->t->name[i], NULL), name) == 0 && n-- == 0)
			return i;
	fail_msg("there is no slice %s", name);
	return 0;
}

#endif
