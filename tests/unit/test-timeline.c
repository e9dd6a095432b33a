/* test-timeline.c - a trace as columns: order, nesting, launches, arrows, ranges, collectives, clocks. */
#include "timeline-fixture.h"

#include "base/msgpack.h"
#include "timeline/calls.h"

static const char *name_of(const struct timeline *t, uint32_t slice)
{
	return timeline_string(t, t->name[slice], NULL);
}

static void slices_by_track_and_begin(void **state)
{
	struct timeline *t;
	struct world w;
	uint32_t a, b;

	(void)state;
	world_open(&w);
	a = world_track(&w, TRACK_THREAD, world_process(&w, 1, -1), -1);
	b = world_track(&w, TRACK_THREAD, 0, -1);
	world_slice(&w, b, EVENT_OP, "b2", 5000, 10);
	world_slice(&w, a, EVENT_OP, "a2", 3000, 500);
	world_slice(&w, b, EVENT_OP, "b1", 1000, 100);
	world_slice(&w, a, EVENT_OP, "a3", 3000, 100);
	world_slice(&w, a, EVENT_SCOPE, "a1", 2000, 6000);
	t = world_build(&w);
	assert_int_equal(t->slice_count, 5);
	assert_int_equal(t->tracks[a].first, 0);
	assert_int_equal(t->tracks[a].count, 3);
	assert_int_equal(t->tracks[b].first, 3);
	assert_int_equal(t->tracks[b].count, 2);
	assert_string_equal(name_of(t, 0), "a1");
	assert_string_equal(name_of(t, 1), "a2");
	assert_string_equal(name_of(t, 2), "a3");
	assert_string_equal(name_of(t, 3), "b1");
	assert_string_equal(name_of(t, 4), "b2");
	assert_int_equal(t->begin[3], 0); /* the earliest */
	assert_int_equal(t->begin[0], 1000);
	assert_int_equal(t->end[0], 7000);
	assert_int_equal(t->duration, 7000);
	assert_int_equal(t->parent[0], TIMELINE_NONE);
	assert_int_equal(t->parent[1], 0);
	assert_int_equal(t->parent[2], 1);
	assert_int_equal(t->depth[2], 2);
	assert_int_equal(t->parent[3], TIMELINE_NONE);
	assert_int_equal(timeline_track_of(t, 2), a);
	assert_int_equal(timeline_track_of(t, 3), b);
	assert_int_equal(t->tracks[a].process, 0);
	assert_int_equal(t->tracks[a].os_id, 100);
	world_close(&w);
}

static void begins_and_ends(void **state)
{
	struct timeline *t;
	struct world w;
	uint32_t a;

	(void)state;
	world_open(&w);
	a = world_track(&w, TRACK_THREAD, -1, -1);
	world_put(&w, &(struct world_event){ a, EVENT_CPU_CALL, PHASE_BEGIN, "outer", 10, .depth = 0 });
	world_put(&w, &(struct world_event){ a, EVENT_CPU_CALL, PHASE_BEGIN, "inner", 20, .depth = 1 });
	trace_writer_flush(w.f.w, NULL);
	world_put(&w, &(struct world_event){ a, EVENT_CPU_CALL, PHASE_END, NULL, 30, .depth = 1 });
	world_put(&w, &(struct world_event){ a, EVENT_CPU_CALL, PHASE_BEGIN, "open", 40, .depth = 1 });
	world_put(&w, &(struct world_event){ a, EVENT_SCOPE, PHASE_INSTANT, "mark", 60 });
	t = world_build(&w);
	assert_int_equal(t->slice_count, 3);
	assert_int_equal(t->events, 5);
	assert_string_equal(name_of(t, 0), "outer");
	assert_string_equal(name_of(t, 1), "inner");
	assert_string_equal(name_of(t, 2), "open");
	assert_int_equal(t->begin[1], 10);
	assert_int_equal(t->end[1], 20);
	assert_int_equal(t->flags[1], 0);
	assert_int_equal(t->flags[0], SLICE_OPEN);
	assert_int_equal(t->end[0], 50); /* as far as the trace goes */
	assert_int_equal(t->flags[2], SLICE_OPEN);
	assert_int_equal(t->parent[2], 0);
	assert_int_equal(t->point_count, 1);
	assert_int_equal(t->points[0].time, 50);
	world_close(&w);
}

/* Rounding is no crossing; crossing slices are inside what they began in. */
static void nesting(void **state)
{
	struct timeline *t;
	struct world w;
	uint32_t a;

	(void)state;
	world_open(&w);
	a = world_track(&w, TRACK_THREAD, -1, -1);
	world_slice(&w, a, EVENT_OP, "first", 0, 10000);
	world_slice(&w, a, EVENT_OP, "child", 9000, 2000);     /* outlives it by 1000 */
	world_slice(&w, a, EVENT_OP, "next", 10500, 20000);    /* begins 500 before that one's end */
	world_slice(&w, a, EVENT_OP, "crosses", 25000, 30000); /* outlives `next` */
	world_slice(&w, a, EVENT_OP, "in_both", 29000, 100);
	world_slice(&w, a, EVENT_OP, "in_crosses", 40000, 100);
	world_slice(&w, a, EVENT_OP, "point", 60000, 0);
	world_slice(&w, a, EVENT_OP, "point", 60000, 0);
	world_slice(&w, a, EVENT_OP, "after", 60000, 5);
	t = world_build(&w);
	assert_int_equal(t->parent[world_find(&w, "child", 0)], world_find(&w, "first", 0));
	assert_int_equal(t->flags[world_find(&w, "child", 0)], 0);
	assert_int_equal(t->parent[world_find(&w, "next", 0)], TIMELINE_NONE);
	assert_int_equal(t->flags[world_find(&w, "next", 0)], 0);
	assert_int_equal(t->parent[world_find(&w, "crosses", 0)], world_find(&w, "next", 0));
	assert_int_equal(t->flags[world_find(&w, "crosses", 0)], SLICE_CROSSES);
	assert_int_equal(t->end[world_find(&w, "crosses", 0)], 55000);
	assert_int_equal(t->parent[world_find(&w, "in_both", 0)], world_find(&w, "crosses", 0));
	assert_int_equal(t->parent[world_find(&w, "in_crosses", 0)], world_find(&w, "crosses", 0));
	assert_int_equal(t->depth[world_find(&w, "point", 1)], 1); /* both points lie in `after` */
	assert_int_equal(timeline_at(t, a, 26000), world_find(&w, "crosses", 0));
	assert_int_equal(timeline_at(t, a, 45000), world_find(&w, "crosses", 0));
	assert_int_equal(timeline_at(t, a, 29050), world_find(&w, "in_both", 0));
	assert_int_equal(timeline_at(t, a, 0), world_find(&w, "first", 0));
	assert_int_equal(timeline_at(t, a, 55000), TIMELINE_NONE);
	assert_int_equal(timeline_at(t, a, INT64_MAX), TIMELINE_NONE);
	assert_int_equal(timeline_first_at(t, a, 0), 0);
	assert_int_equal(timeline_first_at(t, a, 9001), world_find(&w, "next", 0));
	assert_int_equal(timeline_first_at(t, a, 70000), t->slice_count);
	world_close(&w);
}

static void deep_nesting(void **state)
{
	enum { DEPTH = 70000 };
	struct timeline *t;
	struct world w;
	uint32_t a;

	(void)state;
	world_open(&w);
	a = world_track(&w, TRACK_THREAD, -1, -1);
	for (int64_t i = 0; i < DEPTH; i++)
		world_slice(&w, a, EVENT_OP, "f", i, 4 * DEPTH - 2 * i);
	t = world_build(&w);
	assert_int_equal(t->depth[1000], 1000);
	assert_int_equal(t->depth[DEPTH - 1], UINT16_MAX);
	assert_int_equal(t->parent[DEPTH - 1], DEPTH - 2);
	world_close(&w);
}

static void device_work_does_not_nest(void **state)
{
	struct timeline *t;
	struct world w;
	uint32_t s;

	(void)state;
	world_open(&w);
	s = world_track(&w, TRACK_STREAM, -1, world_device(&w, 3));
	world_slice(&w, s, EVENT_GPU_KERNEL, "long", 0, 1000);
	world_slice(&w, s, EVENT_GPU_KERNEL, "inside", 100, 200);
	world_slice(&w, s, EVENT_GPU_KERNEL, "tail", 900, 200);
	world_slice(&w, s, EVENT_GPU_KERNEL, "alone", 2000, 10);
	world_slice(&w, s, EVENT_SCOPE, "annotation", 2000, 5000);
	world_slice(&w, s, EVENT_GPU_KERNEL, "annotated", 3000, 10);
	t = world_build(&w);
	assert_int_equal(t->flags[world_find(&w, "long", 0)], SLICE_UNLAUNCHED);
	assert_int_equal(t->flags[world_find(&w, "inside", 0)], SLICE_UNLAUNCHED | SLICE_OVERLAPS | SLICE_WORK_RUNS);
	assert_int_equal(t->flags[world_find(&w, "tail", 0)], SLICE_UNLAUNCHED | SLICE_OVERLAPS | SLICE_WORK_RUNS);
	assert_int_equal(t->flags[world_find(&w, "alone", 0)], SLICE_UNLAUNCHED);
	assert_int_equal(t->parent[world_find(&w, "inside", 0)], TIMELINE_NONE);
	assert_int_equal(t->parent[world_find(&w, "annotated", 0)], world_find(&w, "annotation", 0));
	assert_int_equal(t->parent[world_find(&w, "alone", 0)], world_find(&w, "annotation", 0));
	assert_int_equal(timeline_at(t, s, 150), world_find(&w, "inside", 0));
	assert_int_equal(timeline_at(t, s, 500), world_find(&w, "long", 0));
	assert_int_equal(timeline_at(t, s, 1050), world_find(&w, "tail", 0));
	assert_int_equal(timeline_at(t, s, 3500), world_find(&w, "annotation", 0));
	assert_int_equal(t->stream_count, 1);
	assert_int_equal(t->streams[t->devices[0].first_stream], s);
	assert_int_equal(t->devices[0].index, 3);
	assert_int_equal(t->work_without_launch, 5);
	assert_int_equal(t->launches_without_work, 0);
	world_close(&w);
}

/* Two ranks whose correlations are the same. */
static void launches_of_two_processes(void **state)
{
	struct timeline *t;
	struct world w;
	uint32_t thread[2], stream[2], call;

	(void)state;
	world_open(&w);
	for (int i = 0; i < 2; i++) {
		uint32_t process = world_process(&w, 10 + (uint64_t)i, i);

		thread[i] = world_track(&w, TRACK_THREAD, process, -1);
		stream[i] = world_track(&w, TRACK_STREAM, process, world_device(&w, 0));
	}
	for (int i = 0; i < 2; i++) {
		world_work(&w, thread[i], EVENT_RUNTIME_CALL, "cudaLaunchKernel", 1000 + i, 10, 7);
		world_work(&w, thread[i], EVENT_RUNTIME_CALL, "cudaGraphLaunch", 1100 + i, 10, 8);
		world_work(&w, thread[i], EVENT_RUNTIME_CALL, "cudaMemcpyAsync", 1200 + i, 10, 9);
		world_work(&w, thread[i], EVENT_RUNTIME_CALL, "cudaDeviceSynchronize", 1300 + i, 900, 10);
		world_work(&w, stream[i], EVENT_GPU_KERNEL, "gemm", 1500, 100, 7);
		world_work(&w, stream[i], EVENT_GPU_KERNEL, "node2", 1800, 100, 8);
		world_work(&w, stream[i], EVENT_GPU_KERNEL, "node1", 1700, 100, 8);
		world_work(&w, stream[i], EVENT_SYNC, "Context Sync", 1400, 700, 10);
	}
	world_work(&w, stream[1], EVENT_GPU_KERNEL, "early", 900, 10, 9); /* before its launch */
	world_work(&w, stream[1], EVENT_GPU_KERNEL, "stray", 950, 10, 77);
	t = world_build(&w);
	assert_int_equal(t->launches, 6);
	assert_int_equal(t->launches_without_work, 1);
	assert_int_equal(t->copies_without_work, 1);
	assert_int_equal(t->work_without_launch, 1);
	assert_int_equal(t->clock_damage, 1);
	assert_int_equal(t->work_count, 7);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(t->link[world_find(&w, "gemm", i)], world_find(&w, "cudaLaunchKernel", i));
		call = world_find(&w, "cudaGraphLaunch", i);
		assert_int_equal(t->work[t->link[call]], world_find(&w, "node1", i));
		assert_int_equal(t->work[t->link[call] + 1], world_find(&w, "node2", i));
		assert_int_equal(t->link[t->work[t->link[call] + 1]], call);
		assert_int_equal(t->link[world_find(&w, "Context Sync", i)], world_find(&w, "cudaDeviceSynchronize", i));
		assert_int_equal(t->link[world_find(&w, "cudaDeviceSynchronize", i)], TIMELINE_NONE);
		assert_int_equal(t->devices[i].rank, i);
	}
	assert_int_equal(t->link[world_find(&w, "cudaMemcpyAsync", 0)], TIMELINE_NONE);
	assert_true(t->flags[world_find(&w, "early", 0)] & SLICE_CLOCK_DAMAGE);
	assert_true(t->flags[world_find(&w, "stray", 0)] & SLICE_UNLAUNCHED);
	assert_int_equal(t->call_class[t->name[world_find(&w, "cudaGraphLaunch", 0)]], CALL_GRAPH_LAUNCH);
	assert_int_equal(t->call_class[t->name[world_find(&w, "gemm", 0)]], CALL_OTHER);
	world_close(&w);
}

/* A stream of no process belongs to the calls of its clock. */
static void launches_by_clock(void **state)
{
	struct timeline *t;
	struct world w;
	uint32_t thread[2], stream[2];

	(void)state;
	world_open(&w);
	world_clock(&w, 1, CLOCK_KIND_NANOSECONDS, 1000000000);
	for (uint32_t i = 0; i < 2; i++) {
		thread[i] = world_track(&w, TRACK_THREAD, world_process(&w, 10 + i, -1), -1);
		stream[i] = world_track(&w, TRACK_STREAM, -1, -1);
		assert_int_equal(trace_writer_domain(w.f.w, i, NULL), 0);
		world_work(&w, thread[i], EVENT_RUNTIME_CALL, "cudaLaunchKernel", 1000 + i, 10, 7);
		world_work(&w, stream[i], EVENT_GPU_KERNEL, "gemm", 1500, 100, 7);
	}
	t = world_build(&w);
	assert_int_equal(t->link[world_find(&w, "gemm", 0)], world_find(&w, "cudaLaunchKernel", 0));
	assert_int_equal(t->link[world_find(&w, "gemm", 1)], world_find(&w, "cudaLaunchKernel", 1));
	assert_int_equal(t->work_without_launch, 0);
	assert_int_equal(t->device_count, 1); /* for the streams that have none */
	assert_int_equal(t->devices[0].stream_count, 2);
	assert_int_equal(t->clock_count, 2);
	assert_string_equal(t->clocks[1].method, "as_given");
	world_close(&w);
}

/* Numbers start again: the call just before the work is its launch. */
static void correlations_used_again(void **state)
{
	struct timeline *t;
	struct world w;
	uint32_t thread, stream;

	(void)state;
	world_open(&w);
	thread = world_track(&w, TRACK_THREAD, world_process(&w, 1, -1), -1);
	stream = world_track(&w, TRACK_STREAM, 0, -1);
	for (int i = 0; i < 3; i++) {
		world_work(&w, thread, EVENT_RUNTIME_CALL, "cudaLaunchKernel", 1000 * i, 10, 5);
		world_work(&w, thread, EVENT_RUNTIME_CALL, "cudaFuncGetAttributes", 1000 * i + 20, 10, 5);
		world_work(&w, stream, EVENT_GPU_KERNEL, "gemm", 1000 * i + 500, 100, 5);
	}
	t = world_build(&w);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(t->link[world_find(&w, "gemm", i)], world_find(&w, "cudaLaunchKernel", i));
	world_close(&w);
}

static void put_flow(struct world *w, uint32_t track, const char *name, int64_t time, uint64_t id, uint8_t phase)
{
	world_put(w, &(struct world_event){ track, EVENT_FLOW, phase, name, time, .flow = id });
}

static void arrows(void **state)
{
	struct timeline *t;
	struct world w;
	uint32_t thread, other, stream;

	(void)state;
	world_open(&w);
	thread = world_track(&w, TRACK_THREAD, world_process(&w, 1, -1), -1);
	other = world_track(&w, TRACK_THREAD, 0, -1);
	stream = world_track(&w, TRACK_STREAM, 0, -1);
	world_slice(&w, thread, EVENT_OP, "forward", 0, 1000);
	world_slice(&w, thread, EVENT_RUNTIME_CALL, "cudaLaunchKernel", 100, 10);
	world_slice(&w, other, EVENT_OP, "backward", 3000, 1000);
	world_slice(&w, other, EVENT_OP, "backward", 4000, 1000);
	world_slice(&w, stream, EVENT_GPU_KERNEL, "gemm", 500, 100);
	put_flow(&w, thread, "fwdbwd", 0, 4, PHASE_FLOW_OUT);
	put_flow(&w, other, "fwdbwd", 4000, 4, PHASE_FLOW_IN); /* where one ends and the next begins */
	put_flow(&w, thread, "ac2g", 100, 4, PHASE_FLOW_OUT);  /* the same number, another name */
	put_flow(&w, stream, "ac2g", 500, 4, PHASE_FLOW_IN);
	put_flow(&w, stream, "ac2g", 510, 5, PHASE_FLOW_IN); /* from nowhere */
	t = world_build(&w);
	assert_int_equal(t->flow_count, 1);
	assert_int_equal(t->flows[0].from, world_find(&w, "forward", 0));
	assert_int_equal(t->flows[0].to, world_find(&w, "backward", 1));
	assert_string_equal(timeline_string(t, t->flows[0].name, NULL), "fwdbwd");
	assert_int_equal(t->link[world_find(&w, "gemm", 0)], world_find(&w, "cudaLaunchKernel", 0));
	assert_int_equal(t->work_without_launch, 0);
	assert_int_equal(t->launches_without_work, 0);
	world_close(&w);
}

static void put_async(struct world *w, uint32_t track, const char *name, int64_t time, uint64_t id, uint8_t phase)
{
	world_put(w, &(struct world_event){ track, EVENT_SCOPE, phase, name, time, .flow = id });
}

static void ranges_need_not_nest(void **state)
{
	struct timeline *t;
	struct world w;
	uint32_t a, b;

	(void)state;
	world_open(&w);
	a = world_track(&w, TRACK_THREAD, world_process(&w, 1, -1), -1);
	b = world_track(&w, TRACK_THREAD, 0, -1);
	put_async(&w, a, "request", 1000, 1, PHASE_ASYNC_BEGIN);
	put_async(&w, a, "request", 1100, 2, PHASE_ASYNC_BEGIN);
	put_async(&w, b, "request", 1500, 1, PHASE_ASYNC_END); /* another thread */
	put_async(&w, a, "other", 1600, 2, PHASE_ASYNC_END);   /* never began */
	put_async(&w, a, "twice", 1700, 3, PHASE_ASYNC_BEGIN);
	put_async(&w, a, "twice", 1800, 3, PHASE_ASYNC_BEGIN);
	put_async(&w, a, "twice", 1900, 3, PHASE_ASYNC_END);
	put_async(&w, a, "twice", 2000, 3, PHASE_ASYNC_END);
	t = world_build(&w);
	assert_int_equal(t->range_count, 5);
	assert_int_equal(t->ranges[0].end - t->ranges[0].begin, 500);
	assert_int_equal(t->ranges[0].flags, 0);
	assert_int_equal(t->ranges[1].flags, SLICE_OPEN);
	assert_int_equal(t->ranges[1].end, 1000);
	assert_int_equal(t->ranges[2].flags, SLICE_BEGIN_UNKNOWN);
	assert_int_equal(t->ranges[2].begin, 0);
	assert_int_equal(t->ranges[2].end, 600);
	assert_int_equal(t->ranges[3].end, 1000); /* the outer one of two */
	assert_int_equal(t->ranges[4].end, 900);
	world_close(&w);
}

static void points_by_time(void **state)
{
	struct timeline *t;
	struct world w;
	uint32_t a, b;

	(void)state;
	world_open(&w);
	a = world_track(&w, TRACK_PROCESS, -1, -1);
	b = world_track(&w, TRACK_THREAD, -1, -1);
	for (int i = 0; i < 100; i++)
		world_put(&w, &(struct world_event){ a, EVENT_COUNTER, PHASE_INSTANT, "memory", 1000 + 10 * i, .value = i });
	for (int i = 0; i < 50; i++)
		world_put(&w, &(struct world_event){ b, EVENT_MEMORY_ALLOC, PHASE_INSTANT, "alloc", 1005 + 20 * i, .bytes = 4096 });
	t = world_build(&w);
	assert_int_equal(t->point_count, 150);
	for (uint32_t i = 1; i < t->point_count; i++)
		assert_true(t->points[i - 1].time <= t->points[i].time);
	assert_true(t->points[0].value == 0);
	assert_int_equal(t->points[1].kind, EVENT_MEMORY_ALLOC);
	assert_true(t->points[1].value == 4096);
	assert_true(t->points[149].value == 99);
	world_close(&w);
}

static size_t collective_map(struct buffer *map)
{
	msgpack_write_map(map, 7);
	msgpack_write_text(map, "Collective name");
	msgpack_write_text(map, "all_to_allv");
	msgpack_write_text(map, "In split size");
	msgpack_write_array(map, 2);
	msgpack_write_int(map, 1);
	msgpack_write_int(map, 1);
	msgpack_write_text(map, "In msg nelems");
	msgpack_write_int(map, 1000);
	msgpack_write_text(map, "Out msg nelems");
	msgpack_write_int(map, 3000);
	msgpack_write_text(map, "Group size");
	msgpack_write_int(map, 8);
	msgpack_write_text(map, "dtype");
	msgpack_write_text(map, "BFloat16");
	msgpack_write_text(map, "Process Group Name");
	msgpack_write_text(map, "0");
	return map->size;
}

static void collectives(void **state)
{
	struct buffer map = BUFFER_INIT;
	struct timeline *t;
	struct world w;
	uint32_t stream, slice;

	(void)state;
	collective_map(&map);
	world_open(&w);
	stream = world_track(&w, TRACK_STREAM, -1, world_device(&w, 0));
	world_put(&w, &(struct world_event){ stream, EVENT_COLLECTIVE, PHASE_COMPLETE, "nccl", 9000, 10, .metadata = map.data,
					      .metadata_size = map.size });
	world_put(&w, &(struct world_event){ stream, EVENT_GPU_KERNEL, PHASE_COMPLETE, "nccl2", 5000, 10, .metadata = map.data,
					      .metadata_size = map.size });
	world_put(&w, &(struct world_event){ stream, EVENT_COLLECTIVE, PHASE_COMPLETE, "unknown", 6000, 10 });
	world_put(&w, &(struct world_event){ stream, EVENT_COLLECTIVE, PHASE_COMPLETE, "cut", 7000, 10, .metadata = map.data,
					      .metadata_size = 30 });
	t = world_build(&w);
	assert_int_equal(t->collective_count, 4);
	slice = world_find(&w, "nccl", 0);
	assert_int_equal(t->details[t->detail[slice]].collective, 3);
	assert_int_equal(t->collectives[3].slice, slice);
	assert_string_equal(t->collectives[3].name, "all_to_allv");
	assert_string_equal(t->collectives[3].group, "0");
	assert_string_equal(t->collectives[3].dtype, "BFloat16");
	assert_int_equal(t->collectives[3].group_size, 8);
	assert_int_equal(t->collectives[3].in_elements, 1000);
	assert_int_equal(t->collectives[3].bytes, 6000);
	assert_int_equal(t->collectives[0].slice, world_find(&w, "nccl2", 0));
	assert_ptr_equal(t->collectives[0].name, t->collectives[3].name);
	assert_null(t->collectives[1].name);
	assert_int_equal(t->collectives[1].bytes, 0);
	assert_string_equal(t->collectives[2].name, "all_to_allv"); /* what was read before the cut counts */
	assert_int_equal(t->collectives[2].in_elements, 0);
	world_close(&w);
	buffer_release(&map);
}

/* What begins say is not lost when they end in another block. */
static void details_over_blocks(void **state)
{
	struct timeline *t;
	struct world w;
	uint32_t a, slice;

	(void)state;
	world_open(&w);
	a = world_track(&w, TRACK_THREAD, -1, -1);
	world_put(&w, &(struct world_event){ a, EVENT_RUNTIME_CALL, PHASE_BEGIN, "cudaMemcpy", 10, .depth = 0, .correlation = 5,
					     .operator_id = 3 });
	world_put(&w, &(struct world_event){ a, EVENT_RUNTIME_CALL, PHASE_BEGIN, "cuMemcpy", 20, .depth = 1, .correlation = 6 });
	world_put(&w, &(struct world_event){ a, EVENT_RUNTIME_CALL, PHASE_END, NULL, 25, .depth = 1, .bytes = 70 });
	world_put(&w, &(struct world_event){ a, EVENT_OP, PHASE_COMPLETE, "plain", 21, 1, .operator_id = 9 });
	trace_writer_flush(w.f.w, NULL);
	world_put(&w, &(struct world_event){ a, EVENT_RUNTIME_CALL, PHASE_END, NULL, 30, .depth = 0, .bytes = 60 });
	t = world_build(&w);
	assert_int_equal(t->slice_count, 3);
	slice = world_find(&w, "cudaMemcpy", 0);
	assert_int_equal(t->details[t->detail[slice]].correlation, 5);
	assert_int_equal(t->details[t->detail[slice]].operator_id, 3);
	assert_int_equal(t->details[t->detail[slice]].bytes, 60);
	slice = world_find(&w, "cuMemcpy", 0);
	assert_int_equal(t->details[t->detail[slice]].correlation, 6);
	assert_int_equal(t->details[t->detail[slice]].bytes, 70);
	assert_int_equal(t->detail[world_find(&w, "plain", 0)], TIMELINE_NONE);
	assert_int_equal(t->detail_count, 2);
	world_close(&w);
}

/* Ticks, the time of day, and a clock that has nothing to do with either. */
static void clocks(void **state)
{
	const int64_t day = (int64_t)1700000000 * 1000000000;
	struct trace_clock_pair pairs[2] = { { 2000000, 20, 1000000, 900000, day }, { 4000000, 20, 2000000, 1900000, day + 1000000 } };
	struct timeline *t;
	struct world w;
	uint32_t track[3];

	(void)state;
	world_open(&w);
	for (int i = 0; i < 3; i++)
		track[i] = world_track(&w, TRACK_THREAD, -1, -1);
	world_clock(&w, 0, CLOCK_KIND_TSC, 2000000000);
	world_clock(&w, 1, CLOCK_KIND_NANOSECONDS, 1000000000);
	world_clock(&w, 2, CLOCK_KIND_NANOSECONDS, 1000000000);
	trace_writer_clock_pairs(w.f.w, 0, pairs, 2, NULL);
	world_slice(&w, track[0], EVENT_OP, "ticks", 3000000, 1000);
	trace_writer_domain(w.f.w, 1, NULL);
	world_slice(&w, track[1], EVENT_OP, "day", day + 700000, 1000);
	trace_writer_domain(w.f.w, 2, NULL);
	world_slice(&w, track[2], EVENT_OP, "other", (int64_t)400 * 86400 * 1000000000, 1000);
	t = world_build(&w);
	assert_int_equal(t->begin[world_find(&w, "ticks", 0)], 0);
	assert_int_equal(t->end[world_find(&w, "ticks", 0)], 500);
	assert_int_equal(t->begin[world_find(&w, "day", 0)], 200000);
	assert_int_equal(t->begin[world_find(&w, "other", 0)], 0);
	assert_int_equal(t->clock_count, 3);
	assert_string_equal(t->clocks[0].method, "pairs");
	assert_true(t->clocks[0].slope == 0.5);
	assert_int_equal(t->clocks[0].offset_ns, -1500000);
	assert_true(t->clocks[0].error_ns > 0 && t->clocks[0].error_ns < 10);
	assert_string_equal(t->clocks[1].method, "as_given");
	assert_string_equal(t->clocks[2].method, "start_aligned");
	assert_true(t->clocks[2].error_ns < 0);
	assert_int_equal(t->start_ns, day + 500000);
	world_close(&w);
}

/* Times at the ends of what can be said do not overflow. */
static void extreme_times(void **state)
{
	struct timeline *t;
	struct world w;
	uint32_t a;

	(void)state;
	world_open(&w);
	a = world_track(&w, TRACK_THREAD, -1, -1);
	world_slice(&w, a, EVENT_OP, "first", INT64_MIN, 1);
	world_slice(&w, a, EVENT_OP, "last", INT64_MAX, 5);
	world_slice(&w, a, EVENT_OP, "whole", INT64_MIN, INT64_MAX);
	t = world_build(&w);
	assert_int_equal(t->slice_count, 3);
	for (uint32_t i = 0; i < t->slice_count; i++) {
		assert_true(t->begin[i] >= 0 && t->begin[i] <= t->end[i]);
		assert_true(t->end[i] <= TIMELINE_TIME_MAX);
	}
	world_close(&w);
}

static void nothing(void **state)
{
	struct timeline *t;
	struct world w;

	(void)state;
	world_open(&w);
	world_track(&w, TRACK_THREAD, -1, -1);
	t = world_build(&w);
	assert_int_equal(t->slice_count, 0);
	assert_int_equal(t->track_count, 1);
	assert_int_equal(t->duration, 0);
	assert_int_equal(timeline_at(t, 0, 5), TIMELINE_NONE);
	assert_int_equal(t->step_source, STEPS_NONE);
	world_close(&w);
	timeline_free(NULL);
}

static int compare_reference(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : x[1] != y[1] ? (x[1] > y[1] ? -1 : 1) : 0;
}

/* Random slices on a few tracks, sorted as qsort() does. */
static void order_of_many(void **state)
{
	enum { COUNT = 20000 };
	static int64_t expected[3][COUNT][2];
	uint32_t counts[3] = { 0 };
	unsigned seed = 7;
	struct timeline *t;
	struct world w;

	(void)state;
	world_open(&w);
	for (int i = 0; i < 3; i++)
		world_track(&w, TRACK_THREAD, -1, -1);
	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t track = (uint32_t)rand_r(&seed) % 3;
		int64_t begin = i == 0 ? 0 : rand_r(&seed) % 5000, length = rand_r(&seed) % 100;

		world_slice(&w, track, EVENT_OP, "x", begin, length);
		expected[track][counts[track]][0] = begin;
		expected[track][counts[track]++][1] = begin + length;
	}
	t = world_build(&w);
	for (uint32_t k = 0; k < 3; k++) {
		qsort(expected[k], counts[k], sizeof expected[k][0], compare_reference);
		assert_int_equal(t->tracks[k].count, counts[k]);
		for (uint32_t i = 0; i < counts[k]; i++) {
			assert_int_equal(t->begin[t->tracks[k].first + i], expected[k][i][0]);
			assert_int_equal(t->end[t->tracks[k].first + i], expected[k][i][1]);
		}
	}
	world_close(&w);
}

/* ---- Whatever a trace says, the timeline keeps its promises ---- */

static uint64_t wild(unsigned *seed)
{
	uint64_t value = (uint64_t)rand_r(seed) << 40 ^ (uint64_t)rand_r(seed) << 20 ^ (uint64_t)rand_r(seed);

	switch (rand_r(seed) % 8) {
	case 0:
		return value;
	case 1:
		return UINT64_MAX - value % 3;
	case 2:
		return (uint64_t)INT64_MAX - value % 3;
	default:
		return value % 50;
	}
}

static void put_wild(struct world *w, unsigned *seed)
{
	static const char *const names[] = { NULL, "a", "cudaLaunchKernel", "ProfilerStep#1", "step", "nccl", "cudaDeviceSynchronize" };
	struct world_event e = {
		.track = (uint32_t)rand_r(seed) % 8, /* two of them are not described */
		.kind = (uint8_t)(rand_r(seed) % (EVENT_KIND_COUNT + 2)),
		.phase = (uint8_t)(rand_r(seed) % PHASE_COUNT),
		.name = names[rand_r(seed) % 7],
		.time = rand_r(seed) % 20 ? rand_r(seed) % 1000 : (int64_t)wild(seed),
		.duration = (int64_t)(rand_r(seed) % 20 ? (uint64_t)rand_r(seed) % 300 : wild(seed) & INT64_MAX),
		.depth = (uint16_t)(rand_r(seed) % 10 ? rand_r(seed) % 4 : rand_r(seed)),
		.correlation = rand_r(seed) % 2 ? wild(seed) % 20 : 0,
		.bytes = rand_r(seed) % 5 ? 0 : wild(seed),
		.flow = rand_r(seed) % 3 ? wild(seed) : 0,
		.operator_id = rand_r(seed) % 5 ? 0 : wild(seed),
		.metadata = "\x81\xa1k\xa1v",
		.metadata_size = rand_r(seed) % 4 ? 0 : (size_t)rand_r(seed) % 6,
	};

	world_put(w, &e);
	if (rand_r(seed) % 50 == 0)
		trace_writer_flush(w->f.w, NULL);
}

static void check_track(const struct timeline *t, uint32_t k)
{
	const struct timeline_track *track = &t->tracks[k];

	for (uint32_t i = track->first; i < track->first + track->count; i++) {
		uint32_t around = t->parent[i];

		assert_true(t->begin[i] >= 0 && t->begin[i] <= t->end[i] && t->end[i] <= TIMELINE_TIME_MAX);
		assert_true(i == track->first || t->begin[i - 1] < t->begin[i] ||
			    (t->begin[i - 1] == t->begin[i] && t->end[i - 1] >= t->end[i]));
		assert_int_equal(timeline_track_of(t, i), k);
		if (around == TIMELINE_NONE) {
			assert_int_equal(t->depth[i], 0);
			continue;
		}
		assert_true(around >= track->first && around < i);
		assert_int_equal(t->depth[i], t->depth[around] + 1);
		assert_true(t->begin[around] <= t->begin[i] && t->end[around] > t->begin[i]);
		assert_true(t->flags[i] & SLICE_CROSSES || t->end[i] <= t->end[around] + TIMELINE_ROUNDING ||
			    timeline_is_device_work(t->kind[i]) || t->kind[i] == EVENT_SYNC);
	}
}

/* The slice that began last of those that are open, as far as rounding does not matter. */
static void check_at(const struct timeline *t, uint32_t k, int64_t time)
{
	const struct timeline_track *track = &t->tracks[k];
	uint32_t found = timeline_at(t, k, time);
	bool any = false;

	for (uint32_t i = track->first; i < track->first + track->count; i++)
		any |= t->begin[i] <= time && t->end[i] > time + TIMELINE_ROUNDING && t->kind[i] != EVENT_SYNC;
	if (found == TIMELINE_NONE)
		assert_false(any);
	else
		assert_true(t->begin[found] <= time && t->end[found] >= time);
}

static void check_links(const struct timeline *t)
{
	uint64_t launched = 0;

	for (uint32_t i = 0; i < t->slice_count; i++) {
		bool work = timeline_is_device_work(t->kind[i]);

		if (t->detail[i] != TIMELINE_NONE)
			assert_true(t->detail[i] < t->detail_count);
		if (work && t->link[i] != TIMELINE_NONE) {
			uint32_t call = t->link[i], at = t->link[call];

			launched++;
			assert_false(timeline_is_device_work(t->kind[call]));
			while (at < t->work_count && t->work[at] != i)
				at++;
			assert_true(at < t->work_count && t->link[t->work[at]] == call);
		}
		assert_int_equal(!!(t->flags[i] & SLICE_UNLAUNCHED), work && t->link[i] == TIMELINE_NONE);
	}
	assert_int_equal(launched, t->work_count);
	for (uint32_t i = 0; i < t->flow_count; i++)
		assert_true(t->flows[i].from < t->slice_count && t->flows[i].to < t->slice_count);
	for (uint32_t i = 0; i < t->collective_count; i++)
		assert_int_equal(t->details[t->detail[t->collectives[i].slice]].collective, i);
	for (uint32_t i = 0; i < t->range_count; i++)
		assert_true(t->ranges[i].begin <= t->ranges[i].end);
}

static void wild_traces(void **state)
{
	(void)state;
	for (unsigned run = 1; run <= 150; run++) {
		unsigned seed = run, events = 5 + run * 4;
		struct timeline *t;
		struct world w;

		world_open(&w);
		world_process(&w, 1, 0);
		world_process(&w, 2, -1);
		world_device(&w, 0);
		for (uint32_t i = 0; i < 6; i++) /* also of kinds and with numbers that mean nothing */
			world_track(&w, (uint8_t)(1 + rand_r(&seed) % 6), rand_r(&seed) % 4 - 1, rand_r(&seed) % 3 - 1);
		while (events--)
			put_wild(&w, &seed);
		t = world_build(&w);
		for (uint32_t k = 0; k < t->track_count; k++) {
			check_track(t, k);
			for (int64_t time = 0; time < 1200; time += 17)
				check_at(t, k, time);
		}
		check_links(t);
		world_close(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_by_track_and_begin),
		cmocka_unit_test(begins_and_ends),
		cmocka_unit_test(nesting),
		cmocka_unit_test(deep_nesting),
		cmocka_unit_test(device_work_does_not_nest),
		cmocka_unit_test(launches_of_two_processes),
		cmocka_unit_test(launches_by_clock),
		cmocka_unit_test(correlations_used_again),
		cmocka_unit_test(arrows),
		cmocka_unit_test(ranges_need_not_nest),
		cmocka_unit_test(points_by_time),
		cmocka_unit_test(collectives),
		cmocka_unit_test(details_over_blocks),
		cmocka_unit_test(clocks),
		cmocka_unit_test(extreme_times),
		cmocka_unit_test(nothing),
		cmocka_unit_test(order_of_many),
		cmocka_unit_test(wild_traces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
