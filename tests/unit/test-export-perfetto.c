/*
 * test-export-perfetto.c - what the Perfetto writer makes of traces written for the purpose, read back packet by packet
 * as lines of text:
 *
 *      TRACK TYPE NAME @TIME
 */
#include <errno.h>
#include <inttypes.h>
#include <libdeflate.h>

#include "trace-fixture.h"

#include "base/msgpack.h"
#include "export/export.h"
#include "import/protobuf.h"

#define START 1000 /* ticks, which are nanoseconds here */
#define SEQUENCES 64
#define TEXTS 256
#define UNPACKED ((size_t)4 << 20)

static struct fixture f;
static uint32_t names[5]; /* a, b, c, d, e */

/* ---- Traces ------------------------------------------------------------------------------ */

/* Process 100 with threads 101 and 102 (tracks 0 and 1), and stream 7 of device 2 (track 2). */
static void begin_trace(void)
{
	static const char letters[] = "abcde";

	fixture_open(&f, NULL);
	for (size_t i = 0; i < 5; i++)
		names[i] = trace_writer_string(f.w, &letters[i], 1);
	trace_writer_process(f.w, &(struct trace_process){ .id = 0, .pid = 100, .parent = -1, .rank = 3 });
	trace_writer_clock(f.w, &(struct trace_clock){ .id = 0, .kind = CLOCK_KIND_NANOSECONDS, .rate = 1000000000 });
	trace_writer_device(f.w, &(struct trace_device){ .id = 0, .index = 2, .kind = 1 });
	for (uint32_t i = 0; i < 2; i++)
		trace_writer_track(
			f.w, &(struct trace_track){
				     .id = i, .kind = TRACK_THREAD, .os_id = 101 + i, .device = -1, .parent = -1 });
	trace_writer_track(f.w, &(struct trace_track){ .id = 2, .kind = TRACK_STREAM, .os_id = 7, .parent = -1 });
}

static void put(uint32_t track, uint64_t time, unsigned kind, unsigned phase, uint32_t name, uint16_t depth)
{
	struct event_slot slot = scope_slot(START + time, phase, name, depth, 3);

	slot.kind = (uint8_t)kind;
	assert_int_equal(trace_writer_event(f.w, track, &slot, NULL, 0, NULL), 0);
}

static void put_whole(uint32_t track, uint64_t begin, uint64_t end, unsigned kind, uint32_t name)
{
	struct event_slot slot = { .time = START + begin,
				   .name = name,
				   .cpu = EVENT_CPU_UNKNOWN,
				   .kind = (uint8_t)kind,
				   .value = end - begin,
				   .flags = EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, 0) };

	assert_int_equal(trace_writer_event(f.w, track, &slot, NULL, 0, NULL), 0);
}

static void begin(uint64_t time, unsigned name, uint16_t depth)
{
	put(0, time, EVENT_SCOPE, PHASE_BEGIN, names[name], depth);
}

static void end(uint64_t time, uint16_t depth)
{
	put(0, time, EVENT_SCOPE, PHASE_END, 0, depth);
}

/* ---- Reading back -------------------------------------------------------------------------- */

struct sequence {
	bool begun;
	uint64_t last, track;
	char *names[TEXTS];
};

struct decoded {
	struct buffer file, unpacked, lines;
	struct sequence sequences[SEQUENCES];
	struct {
		uint64_t uuid, parent, pid; /* pid: of one that is a process */
		char name[64];
	} tracks[TEXTS];
	size_t track_count, beside;
	uint64_t arrows[TEXTS];
	size_t arrow_count;
};

static int keep(void *arg, const void *data, size_t size)
{
	return buffer_append(arg, data, size);
}

static uint64_t number_in(struct cursor c, uint32_t field, uint64_t otherwise)
{
	struct pb_field g;

	while (pb_next(&c, &g) > 0)
		if (g.number == field)
			otherwise = g.value;
	return otherwise;
}

static struct pb_field field_in(struct cursor c, uint32_t field)
{
	struct pb_field g, found = { 0 };

	while (pb_next(&c, &g) > 0)
		if (g.number == field)
			found = g;
	return found;
}

static void take_interned(struct sequence *s, struct cursor c)
{
	struct pb_field g;

	while (pb_next(&c, &g) > 0) {
		uint64_t iid = number_in(pb_message(&g), 1, 0);
		struct pb_field text = field_in(pb_message(&g), 2);

		if (g.number != 2)
			continue;
		assert_true(iid && iid < TEXTS);
		assert_null(s->names[iid]); /* said once */
		s->names[iid] = strndup((const char *)text.data, text.size);
	}
}

static void take_track(struct decoded *d, struct cursor c)
{
	struct pb_field name = field_in(c, 2), thread = field_in(c, 4), process = field_in(c, 3);
	size_t i = d->track_count++;

	assert_true(i < TEXTS);
	d->tracks[i].uuid = number_in(c, 1, 0);
	d->tracks[i].parent = number_in(c, 5, 0);
	d->tracks[i].pid = process.data ? number_in(pb_message(&process), 1, 0) : 0;
	if (thread.data)
		snprintf(d->tracks[i].name, 64, "%" PRIu64, number_in(pb_message(&thread), 2, 0));
	else
		snprintf(d->tracks[i].name, 64, "%.*s", (int)name.size, name.data ? (const char *)name.data : "");
}

static const char *track_called(const struct decoded *d, uint64_t uuid)
{
	for (size_t i = 0; i < d->track_count; i++)
		if (d->tracks[i].uuid == uuid)
			return d->tracks[i].name;
	fail_msg("track %" PRIu64 " is not described", uuid);
	return "";
}

/* Of the order in which they were seen. */
static size_t arrow_number(struct decoded *d, uint64_t id)
{
	size_t i = 0;

	while (i < d->arrow_count && d->arrows[i] != id)
		i++;
	assert_true(i < TEXTS);
	if (i == d->arrow_count)
		d->arrows[d->arrow_count++] = id;
	return i + 1;
}

static void take_event(struct decoded *d, struct sequence *s, struct cursor c, uint64_t time)
{
	static const char *const types[] = { "range", "begin", "end", "instant", "counter" };
	uint64_t type = number_in(c, 9, 0), iid = number_in(c, 10, 0), count = number_in(c, 30, UINT64_MAX);
	struct pb_field name = field_in(c, 23), legacy = field_in(c, 6);
	uint64_t bound = legacy.data ? number_in(pb_message(&legacy), 8, 0) : 0;
	const char *track = track_called(d, number_in(c, 11, s->track));

	if (name.data && memcmp(name.data, "about this trace", name.size) == 0)
		return;
	assert_true(type <= 4 && (!iid || s->names[iid]));
	buffer_printf(&d->lines, "%s %s", track, types[type]);
	if (iid || name.data)
		buffer_printf(&d->lines, " %.*s", iid ? 64 : (int)name.size,
			      iid ? s->names[iid] : (const char *)name.data);
	if (count != UINT64_MAX)
		buffer_printf(&d->lines, " %" PRIu64, count);
	if (bound)
		buffer_printf(&d->lines, " %s %zu", number_in(pb_message(&legacy), 13, 0) == 2 ? "leaves" : "arrives",
			      arrow_number(d, bound));
	buffer_printf(&d->lines, " @%" PRIu64 "\n", time - START);
}

/* The clock of a sequence counts differences; a packet may name another. */
static uint64_t time_of(struct sequence *s, struct cursor c)
{
	uint64_t time = number_in(c, 8, 0);

	if (number_in(c, 58, 64) != 64)
		return time;
	return s->last += time;
}

static void take_packet(struct decoded *d, struct cursor c)
{
	struct sequence *s = &d->sequences[number_in(c, 10, 0)];
	struct pb_field snapshot = field_in(c, 6), defaults = field_in(c, 59), g;
	uint64_t flags = number_in(c, 13, 0);

	assert_true(number_in(c, 10, 0) > 0 && number_in(c, 10, 0) < SEQUENCES);
	assert_true(s->begun || flags != 2);
	s->begun |= flags & 1;
	if (flags & 1) {
		g = field_in(pb_message(&snapshot), 1); /* the last: the clock of the trace, at the same moment */
		s->last = number_in(pb_message(&g), 2, 0);
		g = field_in(pb_message(&defaults), 11);
		s->track = number_in(pb_message(&g), 11, 0);
	}
	g = field_in(c, 12);
	if (g.data)
		take_interned(s, pb_message(&g));
	g = field_in(c, 60);
	if (g.data)
		take_track(d, pb_message(&g));
	g = field_in(c, 11);
	if (g.data)
		take_event(d, s, pb_message(&g), time_of(s, c));
}

static void unpack(struct decoded *d, const struct pb_field *packed)
{
	struct libdeflate_decompressor *z = libdeflate_alloc_decompressor();
	size_t size = 0;
	struct cursor c;
	struct pb_field g;

	assert_int_equal(buffer_reserve(&d->unpacked, UNPACKED), 0);
	assert_int_equal(libdeflate_zlib_decompress(z, packed->data, packed->size, d->unpacked.data, UNPACKED, &size),
			 LIBDEFLATE_SUCCESS);
	libdeflate_free_decompressor(z);
	c = cursor_of(d->unpacked.data, size);
	while (pb_next(&c, &g) > 0)
		take_packet(d, pb_message(&g));
	assert_false(c.bad);
}

static int export_with(struct decoded *d, const struct export_options *options)
{
	struct trace_reader *r = fixture_read(&f);
	struct export_out out;
	struct error err = { 0 };
	struct cursor c;
	struct pb_field g;
	int rc;

	memset(d, 0, sizeof *d);
	assert_int_equal(export_out_init(&out, keep, &d->file, EXPORT_PLAIN), 0);
	rc = export_trace(r, export_format_named("perfetto"), options, &out, &err);
	export_out_release(&out);
	trace_reader_close(r);
	c = cursor_of(d->file.data, d->file.size);
	while (pb_next(&c, &g) > 0) {
		struct pb_field packed = field_in(pb_message(&g), 50);

		assert_non_null(packed.data);
		unpack(d, &packed);
	}
	buffer_append(&d->lines, "", 1);
	return rc;
}

static void release(struct decoded *d)
{
	for (size_t i = 0; i < SEQUENCES; i++)
		for (size_t k = 0; k < TEXTS; k++)
			free(d->sequences[i].names[k]);
	buffer_release(&d->file);
	buffer_release(&d->unpacked);
	buffer_release(&d->lines);
}

static void expect_with(const struct export_options *options, const char *lines)
{
	struct decoded d;

	assert_int_equal(export_with(&d, options), 0);
	assert_string_equal((const char *)d.lines.data, lines);
	release(&d);
}

static void expect(const char *lines)
{
	const struct export_options options = EXPORT_OPTIONS_INIT;

	fixture_finish(&f);
	expect_with(&options, lines);
	fixture_close(&f);
}

/* ---- Tests ------------------------------------------------------------------------------------- */

static void test_nested(void **state)
{
	(void)state;
	begin_trace();
	begin(10, 0, 0);
	begin(20, 1, 1);
	end(30, 1);
	end(40, 0);
	put(1, 15, EVENT_OP, PHASE_BEGIN, names[2], 0); /* never ends */
	expect("101 begin a @10\n101 begin b @20\n101 end @30\n101 end @40\n102 begin c @15\n");
}

/* Whole ones come as they ended; they go out as they began, the longer first. */
static void test_order(void **state)
{
	(void)state;
	begin_trace();
	put_whole(0, 20, 30, EVENT_OP, names[2]);
	put_whole(0, 30, 30, EVENT_OP, names[3]);
	put_whole(0, 20, 40, EVENT_OP, names[1]);
	put_whole(0, 10, 50, EVENT_SCOPE, names[0]);
	expect("101 begin a @10\n101 begin b @20\n101 begin c @20\n101 end @30\n101 begin d @30\n101 end @30\n101 end "
	       "@40\n"
	       "101 end @50\n");
}

static void test_crossing(void **state)
{
	(void)state;
	begin_trace();
	put_whole(0, 10, 30, EVENT_OP, names[0]);
	put_whole(0, 20, 40, EVENT_OP, names[1]);
	put_whole(0, 35, 50, EVENT_OP, names[2]);
	expect("101 begin a @10\nbeside (1) begin b @20\n101 end @30\n101 begin c @35\nbeside (1) end @40\n101 end "
	       "@50\n");
}

/* Calls that are given whole lie between begins and ends of the same thread. */
static void test_mixed(void **state)
{
	(void)state;
	begin_trace();
	begin(10, 0, 0);
	put_whole(0, 12, 13, EVENT_RUNTIME_CALL, names[2]);
	put_whole(0, 11, 14, EVENT_RUNTIME_CALL, names[1]);
	begin(20, 3, 1);
	put_whole(0, 15, 25, EVENT_RUNTIME_CALL, names[2]); /* around a begin: beside */
	end(30, 1);
	put_whole(0, 35, 60, EVENT_RUNTIME_CALL, names[4]); /* beyond an end: beside */
	end(40, 0);
	expect("101 begin a @10\n101 begin b @11\n101 begin c @12\n101 end @13\n101 end @14\n101 begin d @20\n"
	       "beside (1) begin c @15\nbeside (1) end @25\n101 end @30\nbeside (1) begin e @35\n101 end @40\nbeside "
	       "(1) end @60\n");
}

/* Ends that are missing show in the depth of what follows; so do begins. */
static void test_lost(void **state)
{
	(void)state;
	begin_trace();
	begin(10, 0, 0);
	begin(20, 1, 1);
	begin(30, 2, 1);
	end(40, 1);
	end(45, 1);
	put(0, 50, EVENT_SCOPE, PHASE_END, 0, EVENT_DEPTH_UNMATCHED);
	end(60, 0);
	expect("101 begin a @10\n101 begin b @20\n101 end @30\n101 begin c @30\n101 end @40\n101 begin [begin lost] "
	       "@40\n"
	       "101 end @45\n101 end @60\n");
}

static void put_number(uint64_t time, unsigned kind, unsigned phase, uint32_t name, unsigned field, uint64_t value)
{
	struct event_slot slot = { .time = START + time,
				   .name = name,
				   .cpu = EVENT_CPU_UNKNOWN,
				   .kind = (uint8_t)kind,
				   .value = value,
				   .flags = EVENT_FLAGS(phase, field, 0) };

	assert_int_equal(trace_writer_event(f.w, 0, &slot, NULL, 0, NULL), 0);
}

static void test_points(void **state)
{
	(void)state;
	begin_trace();
	put_number(10, EVENT_COUNTER, PHASE_INSTANT, names[0], FIELD_INTEGER, 5);
	put_number(20, EVENT_COUNTER, PHASE_INSTANT, names[0], FIELD_INTEGER, 7);
	put_number(30, EVENT_MEMORY_ALLOC, PHASE_INSTANT, names[1], FIELD_BYTES, 64);
	put_number(40, EVENT_SCOPE, PHASE_ASYNC_BEGIN, names[2], FIELD_FLOW, 77);
	put_number(50, EVENT_SCOPE, PHASE_ASYNC_END, names[2], FIELD_FLOW, 77);
	put_number(55, EVENT_FLOW, PHASE_FLOW_OUT, names[3], FIELD_FLOW, 78);
	put_whole(0, 60, 70, EVENT_LOST, 0);
	expect("a counter 5 @10\na counter 7 @20\n101 instant b @30\n101 range c @40\n101 range c @50\n101 instant "
	       "lost events @60\n"
	       "101 instant d @55\n");
}

static void test_device(void **state)
{
	(void)state;
	begin_trace();
	put_whole(2, 10, 30, EVENT_GPU_KERNEL, names[0]);
	put_whole(2, 20, 40, EVENT_GPU_KERNEL, names[1]);
	put_whole(2, 15, 16, EVENT_MEMSET, names[2]); /* earlier than the one before it in the file */
	expect("GPU 2 stream 7 begin a @10\nGPU 2 stream 7 begin c @15\nGPU 2 stream 7 end @16\n"
	       "beside (1) begin b @20\nGPU 2 stream 7 end @30\nbeside (1) end @40\n");
}

static void put_correlated(uint32_t track, uint64_t begin, unsigned kind, uint32_t name, uint64_t correlation)
{
	const struct event_slot slot = { .time = START + begin,
					 .name = name,
					 .cpu = EVENT_CPU_UNKNOWN,
					 .kind = (uint8_t)kind,
					 .value = 5,
					 .aux = (uint32_t)correlation,
					 .flags = EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, FIELD_CORRELATION) };

	assert_int_equal(trace_writer_event(f.w, track, &slot, NULL, 0, NULL), 0);
}

/* An arrow leaves from the first call of a correlation only, and arrives at all of its work. */
static void test_launches(void **state)
{
	(void)state;
	begin_trace();
	put_correlated(0, 10, EVENT_RUNTIME_CALL, names[0], 70000);
	put_correlated(1, 20, EVENT_RUNTIME_CALL, names[1], 70000);
	put_correlated(1, 30, EVENT_RUNTIME_CALL, names[2], 3);
	put_correlated(2, 40, EVENT_GPU_KERNEL, names[3], 70000);
	put_correlated(2, 50, EVENT_MEMSET, names[3], 70000);
	put_correlated(2, 60, EVENT_SCOPE, names[4], 70000); /* which no call asks for */
	put_correlated(2, 70, EVENT_SYNC, names[4], 3);
	put_number(70, EVENT_FLOW, PHASE_FLOW_OUT, names[3], FIELD_FLOW, 78);
	expect("101 begin a leaves 1 @10\n101 end @15\n101 instant d @70\n"
	       "102 begin b @20\n102 end @25\n102 begin c leaves 2 @30\n102 end @35\n"
	       "GPU 2 stream 7 begin d arrives 1 @40\nGPU 2 stream 7 end @45\n"
	       "GPU 2 stream 7 begin d arrives 1 @50\nGPU 2 stream 7 end @55\n"
	       "GPU 2 stream 7 begin e @60\nGPU 2 stream 7 end @65\n"
	       "GPU 2 stream 7 begin e arrives 2 @70\nGPU 2 stream 7 end @75\n");
}

/* What stands for the process is described with it, once, and 0 is no number for a process. */
static void test_process(void **state)
{
	const struct export_options options = EXPORT_OPTIONS_INIT;
	struct decoded d;
	size_t described = 0;

	(void)state;
	begin_trace();
	trace_writer_process(f.w, &(struct trace_process){ .id = 1, .pid = 0, .parent = -1, .rank = -1 });
	trace_writer_track(
		f.w, &(struct trace_track){ .id = 3, .kind = TRACK_PROCESS, .process = 1, .device = -1, .parent = -1 });
	trace_writer_track(
		f.w, &(struct trace_track){
			     .id = 4, .kind = TRACK_THREAD, .process = 1, .os_id = 9, .device = -1, .parent = -1 });
	put_whole(4, 10, 20, EVENT_OP, names[0]);
	put_whole(3, 30, 40, EVENT_OP, names[1]);
	fixture_finish(&f);
	assert_int_equal(export_with(&d, &options), 0);
	assert_string_equal((const char *)d.lines.data, " begin b @30\n end @40\n9 begin a @10\n9 end @20\n");
	for (size_t i = 0; i < d.track_count; i++)
		described += d.tracks[i].pid != 0;
	assert_int_equal(described, 1);
	for (size_t i = 0; i < d.track_count; i++)
		assert_true(d.tracks[i].pid == 0 || d.tracks[i].pid == (UINT64_C(1) << 30) + 1);
	release(&d);
	fixture_close(&f);
}

static void test_filter(void **state)
{
	struct export_options options = EXPORT_OPTIONS_INIT;
	struct buffer map = BUFFER_INIT;

	(void)state;
	begin_trace();
	assert_int_equal(msgpack_write_map(&map, 1) | msgpack_write_text(&map, "start_ticks") |
				 msgpack_write_int(&map, START),
			 0);
	assert_int_equal(trace_writer_info(f.w, map.data, map.size, NULL), 0);
	buffer_release(&map);
	begin(10, 0, 0);
	begin(20, 1, 1);
	end(30, 1);
	begin(40, 2, 1);
	end(80, 1);
	end(90, 0);
	begin(95, 3, 0);
	end(99, 0);
	fixture_finish(&f);
	options.filter.shortest_ns = 20;
	expect_with(&options, "101 begin a @10\n101 begin c @40\n101 end @80\n101 end @90\n");
	options.filter.shortest_ns = 0;
	options.filter.name = "[bd]";
	expect_with(&options, "101 begin b @20\n101 end @30\n101 begin d @95\n101 end @99\n");
	options.filter.name = NULL;
	options.filter.depth = 1;
	expect_with(&options, "101 begin a @10\n101 end @90\n101 begin d @95\n101 end @99\n");
	options.filter.depth = -1;
	options.filter.windowed = true; /* what encloses its begin is there, whole */
	options.filter.from_ns = 50;
	options.filter.to_ns = 95;
	expect_with(&options, "101 begin a @10\n101 begin c @40\n101 end @80\n101 end @90\n");
	options.filter.windowed = false;
	options.filter.thread = 102;
	expect_with(&options, "");
	fixture_close(&f);
}

/* Slices of which the block with the begin cannot be read. */
static void test_damage(void **state)
{
	const struct export_options options = EXPORT_OPTIONS_INIT;
	struct sbt_block blocks[32];
	uint64_t offsets[32];
	uint8_t *data, zero[16] = { 0 };
	size_t size, count, seen = 0;

	(void)state;
	begin_trace();
	begin(10, 0, 0);
	assert_int_equal(trace_writer_flush(f.w, NULL), 0);
	end(20, 0);
	begin(30, 1, 0);
	assert_int_equal(trace_writer_flush(f.w, NULL), 0);
	begin(40, 2, 1);
	end(50, 1);
	end(60, 0);
	fixture_finish(&f);
	data = fixture_bytes(&f, &size);
	count = find_blocks(data, size, offsets, blocks, 32);
	for (size_t i = 0; i < count; i++)
		if (blocks[i].kind == SBT_EVENTS && ++seen == 2)
			assert_int_equal(pwrite(f.fd, zero, sizeof zero, (off_t)offsets[i] + SBT_BLOCK_HEADER),
					 sizeof zero);
	free(data);
	expect_with(&options,
		    "101 begin a @10\n101 end @30\n101 begin b @30\n101 begin c @40\n101 end @50\n101 end @60\n");
	fixture_close(&f);
}

static void test_texts(void **state)
{
	const struct export_options options = EXPORT_OPTIONS_INIT;
	struct decoded d;

	(void)state;
	begin_trace();
	names[0] = trace_writer_string(f.w, "ok \xff\xed\xa0\x80 \xc3\xa9", 10);
	begin(10, 0, 0);
	fixture_finish(&f);
	assert_int_equal(export_with(&d, &options), 0);
	assert_string_equal((const char *)d.lines.data,
			    "101 begin ok \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xc3\xa9 @10\n");
	release(&d);
	fixture_close(&f);
}

/* Whatever the events say, what comes out can be read: every name and track is said before it is used. */
static void test_anything(void **state)
{
	const struct export_options options = EXPORT_OPTIONS_INIT;
	uint8_t list[64];
	uint64_t seed = 88172645463325252u;
	struct decoded d;

	(void)state;
	begin_trace();
	trace_writer_track(
		f.w, &(struct trace_track){ .id = 3, .kind = TRACK_TASK, .process = 77, .device = 55, .parent = 3 });
	trace_writer_track(
		f.w, &(struct trace_track){ .id = 4, .kind = TRACK_STREAM, .process = -1, .device = -1, .parent = -1 });
	for (unsigned i = 0; i < 20000; i++) {
		size_t size = 0;
		struct event_slot slot;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		slot = scope_slot(START + (seed >> 8) % 100000, seed >> 3 & 7, names[seed % 5],
				  (uint16_t)(seed >> 60 ? seed >> 40 & 7 : seed >> 40), 3);
		slot.kind = (uint8_t)((seed >> 20) % 24);
		size = list_number(list, size, (uint8_t)(FIELD_DURATION + (seed >> 26) % 12), seed >> (seed & 63));
		size = list_bytes(list, size, FIELD_METADATA, "\x82\xa1k\x93\x01\xc0\x90\x05\x80",
				  (uint16_t)(1 + (seed >> 30) % 9));
		assert_int_equal(trace_writer_event(f.w, (uint32_t)(seed >> 50) % 5, &slot, list, size, NULL), 0);
	}
	fixture_finish(&f);
	assert_int_equal(export_with(&d, &options), 0);
	assert_true(d.lines.size > 100000);
	release(&d);
	fixture_close(&f);
}

static int full(void *arg, const void *data, size_t size)
{
	(void)arg;
	(void)data;
	(void)size;
	return -ENOSPC;
}

static void test_full(void **state)
{
	const struct export_options options = EXPORT_OPTIONS_INIT;
	struct trace_reader *r;
	struct export_out out;
	struct error err = { 0 };

	(void)state;
	begin_trace();
	begin(10, 0, 0);
	fixture_finish(&f);
	r = fixture_read(&f);
	assert_int_equal(export_out_init(&out, full, NULL, EXPORT_PLAIN), 0);
	assert_int_equal(export_trace(r, export_format_named("perfetto"), &options, &out, &err), -ENOSPC);
	export_out_release(&out);
	trace_reader_close(r);
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nested),   cmocka_unit_test(test_order),    cmocka_unit_test(test_crossing),
		cmocka_unit_test(test_mixed),    cmocka_unit_test(test_lost),     cmocka_unit_test(test_points),
		cmocka_unit_test(test_device),   cmocka_unit_test(test_launches), cmocka_unit_test(test_process),
		cmocka_unit_test(test_filter),   cmocka_unit_test(test_damage),   cmocka_unit_test(test_texts),
		cmocka_unit_test(test_anything), cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
