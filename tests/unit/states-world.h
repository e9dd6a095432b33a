/*
 * states-world.h - a timeline made by hand: threads, streams, slices, launches.
 *
 *      struct world w;
 *      world_open(&w);
 *      uint32_t thread = world_thread(&w, 0), stream = world_stream(&w, 0);
 *      uint32_t call = world_call(&w, thread, "cudaLaunchKernel", 10, 14);
 *      uint32_t kernel = world_launched(&w, stream, EVENT_GPU_KERNEL, "gemm", 20, 50, call);
 *      world_finish(&w);
 *      ... w.t, world_number(&w, kernel) ...
 *      world_close(&w);
 *
 * Streams have to be made device by device.
 */
#ifndef STATES_WORLD_H
#define STATES_WORLD_H

#include "trace-fixture.h"

#include "timeline/build.h"
#include "timeline/calls.h"
#include "timeline/states.h"

#define WORLD_MAX 8192

struct world_slice {
	uint32_t track, name, launch, order;
	uint8_t kind, flags;
	int64_t begin, end;
};

struct world {
	struct fixture f;
	struct trace_reader *reader;
	struct timeline t;
	struct timeline_track tracks[64];
	struct timeline_device devices[8];
	struct timeline_process processes[8];
	uint32_t streams[64];
	struct world_slice slices[WORLD_MAX];
	uint32_t count;
	uint32_t number[WORLD_MAX]; /* of each slice, in the timeline */
};

static inline void world_open(struct world *w)
{
	memset(w, 0, sizeof *w);
	fixture_open(&w->f, NULL);
	w->t.tracks = w->tracks;
	w->t.devices = w->devices;
	w->t.processes = w->processes;
	w->t.streams = w->streams;
}

static inline uint32_t world_name(struct world *w, const char *name)
{
	uint32_t number = trace_writer_string(w->f.w, name, strlen(name));

	assert_true(number);
	return number;
}

static inline uint32_t world_track(struct world *w, uint8_t kind, uint32_t process, uint32_t device)
{
	assert_true(w->t.track_count < 64);
	w->tracks[w->t.track_count] = (struct timeline_track){ .kind = kind, .process = process, .device = device, .parent = TIMELINE_NONE };
	return w->t.track_count++;
}

static inline uint32_t world_thread(struct world *w, uint32_t process)
{
	if (process >= w->t.process_count)
		w->t.process_count = process + 1;
	return world_track(w, TRACK_THREAD, process, TIMELINE_NONE);
}

static inline uint32_t world_stream(struct world *w, uint32_t device)
{
	uint32_t track = world_track(w, TRACK_STREAM, TIMELINE_NONE, device);

	if (device >= w->t.device_count) {
		assert_int_equal(device, w->t.device_count);
		w->devices[w->t.device_count++].first_stream = w->t.stream_count;
	}
	w->devices[device].stream_count++;
	w->streams[w->t.stream_count++] = track;
	return track;
}

static inline uint32_t world_slice(struct world *w, uint32_t track, uint8_t kind, const char *name, int64_t begin, int64_t end)
{
	assert_true(w->count < WORLD_MAX);
	w->slices[w->count] = (struct world_slice){ .track = track, .name = world_name(w, name), .launch = TIMELINE_NONE,
						    .order = w->count, .kind = kind, .begin = begin, .end = end };
	if (timeline_is_device_work(kind))
		w->slices[w->count].flags = SLICE_UNLAUNCHED;
	return w->count++;
}

static inline uint32_t world_call(struct world *w, uint32_t thread, const char *name, int64_t begin, int64_t end)
{
	return world_slice(w, thread, EVENT_RUNTIME_CALL, name, begin, end);
}

static inline uint32_t world_launched(struct world *w, uint32_t stream, uint8_t kind, const char *name, int64_t begin, int64_t end,
				      uint32_t call)
{
	uint32_t slice = world_slice(w, stream, kind, name, begin, end);

	w->slices[slice].launch = call;
	w->slices[slice].flags = 0;
	return slice;
}

static inline int world_compare(const void *a, const void *b)
{
	const struct world_slice *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static inline void world_columns(struct world *w)
{
	struct timeline *t = &w->t;

	t->slice_count = w->count;
	t->begin = calloc(w->count + 1, sizeof *t->begin);
	t->end = calloc(w->count + 1, sizeof *t->end);
	t->name = calloc(w->count + 1, sizeof *t->name);
	t->parent = calloc(w->count + 1, sizeof *t->parent);
	t->link = calloc(w->count + 1, sizeof *t->link);
	t->detail = calloc(w->count + 1, sizeof *t->detail);
	t->depth = calloc(w->count + 1, sizeof *t->depth);
	t->kind = calloc(w->count + 1, sizeof *t->kind);
	t->flags = calloc(w->count + 1, sizeof *t->flags);
	t->work = calloc(w->count + 1, sizeof *t->work);
	for (uint32_t i = 0; i < w->count; i++) {
		const struct world_slice *s = &w->slices[i];

		t->begin[i] = s->begin;
		t->end[i] = s->end;
		t->name[i] = s->name;
		t->kind[i] = s->kind;
		t->flags[i] = s->flags;
		t->link[i] = t->detail[i] = TIMELINE_NONE;
		t->duration = s->end > t->duration ? s->end : t->duration;
		w->number[s->order] = i;
		w->tracks[s->track].count++;
	}
}

static inline void world_links(struct world *w)
{
	struct timeline *t = &w->t;

	for (uint32_t i = 0; i < w->count; i++)
		if (w->slices[i].launch != TIMELINE_NONE)
			t->link[i] = w->number[w->slices[i].launch];
	for (uint32_t call = 0; call < w->count; call++) {
		if (t->kind[call] != EVENT_RUNTIME_CALL)
			continue;
		for (uint32_t i = 0; i < w->count; i++) {
			if (!timeline_is_device_work(t->kind[i]) || t->link[i] != call)
				continue;
			if (t->link[call] == TIMELINE_NONE)
				t->link[call] = t->work_count;
			t->work[t->work_count++] = i;
		}
	}
}

static inline void world_finish(struct world *w)
{
	struct timeline *t = &w->t;
	uint32_t first = 0;

	fixture_finish(&w->f);
	w->reader = fixture_read(&w->f);
	t->reader = w->reader;
	qsort(w->slices, w->count, sizeof *w->slices, world_compare);
	world_columns(w);
	for (uint32_t i = 0; i < t->track_count; i++) {
		w->tracks[i].first = first;
		first += w->tracks[i].count;
	}
	nesting_find(t);
	world_links(w);
	t->string_count = (uint32_t)trace_reader_string_count(w->reader);
	t->call_class = calloc(t->string_count + 1, 1);
	for (uint32_t i = 0; i < t->string_count; i++) {
		size_t size;
		const char *name = timeline_string(t, i, &size);

		t->call_class[i] = (uint8_t)call_classify(name, size);
	}
}

static inline uint32_t world_number(const struct world *w, uint32_t slice)
{
	return w->number[slice];
}

static inline void world_close(struct world *w)
{
	struct timeline *t = &w->t;

	free(t->begin);
	free(t->end);
	free(t->name);
	free(t->parent);
	free(t->link);
	free(t->detail);
	free(t->depth);
	free(t->kind);
	free(t->flags);
	free(t->work);
	free(t->call_class);
	trace_reader_close(w->reader);
	fixture_close(&w->f);
}

#endif
