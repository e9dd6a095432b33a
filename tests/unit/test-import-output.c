/* test-import-output.c - what importers say, read back from the trace: names, numbers, depths, times, sources. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/msgpack.h"
#include "import/output.h"
#include "trace/reader.h"

struct bench {
	int fd;
	struct trace_writer *writer;
	struct output *o;
	struct import_report report[300];
	size_t files;
	char path[300][24];
	struct trace_reader *reader;
	struct trace_batch batch;
	size_t block;
};

static void start(struct bench *b)
{
	const struct import_options options = { 0 };
	const struct trace_writer_options writing = { .level = 1 };
	struct error err = { 0 };

	memset(b, 0, sizeof *b);
	b->fd = memfd_create("trace", MFD_CLOEXEC);
	assert_int_equal(trace_writer_open(&b->writer, dup(b->fd), &writing, &err), 0);
	assert_int_equal(output_new(&b->o, b->writer, &options), 0);
}

static int begin_file(struct bench *b, struct error *err)
{
	snprintf(b->path[b->files], sizeof *b->path, "file%zu", b->files);
	b->report[b->files].path = b->path[b->files];
	return output_begin_file(b->o, b->path[b->files], &b->report[b->files], err);
}

static void open_file(struct bench *b)
{
	struct error err = { 0 };

	assert_int_equal(begin_file(b, &err), 0);
	output_format(b->o, IMPORT_CHROME);
}

static void close_file(struct bench *b)
{
	struct error err = { 0 };

	assert_int_equal(output_end_file(b->o, &err), 0);
	b->files++;
}

/* Ends the trace and opens it. */
static void finish(struct bench *b)
{
	struct error err = { 0 };

	assert_int_equal(output_end(b->o, &err), 0);
	output_free(b->o);
	assert_int_equal(trace_writer_close(b->writer, NULL, &err), 0);
	assert_int_equal(trace_reader_open_fd(&b->reader, b->fd, "trace", &err), 0);
	assert_int_equal(trace_reader_report(b->reader)->damage_count, 0);
}

static const struct trace_batch *decode(struct bench *b, size_t block)
{
	struct error err = { 0 };

	assert_int_equal(trace_reader_decode(b->reader, block, &b->batch, &err), 0);
	return &b->batch;
}

static void stop(struct bench *b)
{
	trace_batch_release(&b->batch);
	trace_reader_close(b->reader);
}

static void put(struct bench *b, uint32_t track, uint8_t phase, const char *name, int64_t time)
{
	struct import_event e = { .kind = EVENT_SCOPE, .phase = phase, .track = track, .time = time };
	struct error err = { 0 };

	e.name = output_string(b->o, name, strlen(name));
	assert_int_equal(output_event(b->o, &e, &err), 0);
}

static void assert_text(const struct bench *b, uint32_t string, const char *expected)
{
	size_t size;

	assert_string_equal(trace_reader_string(b->reader, string, &size), expected);
	assert_int_equal(size, strlen(expected));
}

/* ---- Entries ------------------------------------------------------------------- */

static void processes_and_threads(void **state)
{
	static struct bench b;
	const struct trace_process *p;
	uint32_t one, two, thread, other, counters;

	(void)state;
	start(&b);
	open_file(&b);
	output_hostname(b.o, "node7", 5);
	one = output_process(b.o, 4711);
	two = output_process(b.o, 4712);
	thread = output_thread(b.o, one, 12);
	other = output_thread(b.o, two, 12);
	counters = output_process_track(b.o, one);
	assert_int_equal(output_process(b.o, 4711), one);
	assert_int_equal(output_thread(b.o, one, 12), thread);
	assert_int_equal(output_process_track(b.o, one), counters);
	assert_int_not_equal(thread, other);
	assert_int_not_equal(thread, counters);
	output_process_rank(b.o, two, 5);
	output_rank(b.o, 3, 8);
	for (int i = 0; i < 1000; i++)
		output_process_name(b.o, one, i % 2 ? "trainer" : "python", i % 2 ? 7 : 6);
	output_process_command(b.o, one, "python train.py", 15);
	output_track_name(b.o, thread, "main", 4);
	assert_int_equal(output_process(b.o, 4713), 2);
	put(&b, thread, PHASE_INSTANT, "x", 1);
	close_file(&b);
	open_file(&b);
	output_hostname(b.o, "node7", 5);
	assert_int_equal(output_process(b.o, 4711), 3); /* another file's */
	put(&b, output_thread(b.o, 3, 12), PHASE_INSTANT, "x", 1);
	close_file(&b);
	finish(&b);

	assert_int_equal(trace_reader_process_count(b.reader), 4);
	p = trace_reader_process(b.reader, one);
	assert_int_equal(p->pid, 4711);
	assert_int_equal(p->rank, 3);
	assert_text(&b, p->name, "trainer");
	assert_text(&b, p->command, "python train.py");
	assert_int_equal(trace_reader_process(b.reader, two)->rank, 5);
	assert_int_equal(trace_reader_process(b.reader, 2)->rank, 3);
	assert_int_equal(trace_reader_process(b.reader, 3)->rank, -1);
	assert_int_equal(trace_reader_host_count(b.reader), 1);
	assert_text(&b, trace_reader_host(b.reader, 0)->name, "node7");
	assert_int_equal(trace_reader_track(b.reader, thread)->kind, TRACK_THREAD);
	assert_int_equal(trace_reader_track(b.reader, thread)->os_id, 12);
	assert_int_equal(trace_reader_track(b.reader, thread)->process, one);
	assert_text(&b, trace_reader_track(b.reader, thread)->name, "main");
	assert_int_equal(trace_reader_track(b.reader, other)->process, two);
	assert_int_equal(trace_reader_track(b.reader, counters)->kind, TRACK_PROCESS);
	stop(&b);
}

/* A name that comes late is that of all the file has said; files without one share a host. */
static void hosts(void **state)
{
	static struct bench b;

	(void)state;
	start(&b);
	for (int i = 0; i < 4; i++) {
		open_file(&b);
		put(&b, output_thread(b.o, output_process(b.o, 1), 1), PHASE_INSTANT, "x", 1);
		output_device(b.o, 0);
		if (i < 2)
			output_hostname(b.o, i ? "node1" : "node0", 5);
		close_file(&b);
	}
	finish(&b);
	assert_int_equal(trace_reader_host_count(b.reader), 3);
	assert_text(&b, trace_reader_host(b.reader, trace_reader_process(b.reader, 0)->host)->name, "node0");
	assert_text(&b, trace_reader_host(b.reader, trace_reader_process(b.reader, 1)->host)->name, "node1");
	assert_text(&b, trace_reader_host(b.reader, trace_reader_device(b.reader, 1)->host)->name, "node1");
	assert_text(&b, trace_reader_host(b.reader, trace_reader_clock(b.reader, 1)->host)->name, "node1");
	assert_text(&b, trace_reader_host(b.reader, trace_reader_process(b.reader, 2)->host)->name, "");
	assert_int_equal(trace_reader_process(b.reader, 2)->host, trace_reader_process(b.reader, 3)->host);
	stop(&b);
}

static void devices_and_streams(void **state)
{
	static struct bench b;
	static const uint8_t properties[] = { 0x81, 0xa3, 's', 'm', 's', 108 };
	const struct trace_device *d;
	uint32_t device, stream, foreign;

	(void)state;
	start(&b);
	open_file(&b);
	device = output_device(b.o, 1);
	stream = output_stream(b.o, device, OUTPUT_NONE, 7);
	foreign = output_stream(b.o, device, output_process(b.o, 9), 7);
	assert_int_equal(output_device(b.o, 1), device);
	assert_int_equal(output_stream(b.o, device, OUTPUT_NONE, 7), stream);
	assert_int_not_equal(stream, foreign);
	output_device_describe(b.o, device, DEVICE_CUDA, "A100", 4, NULL, 0);
	output_device_describe(b.o, device, 0, NULL, 0, properties, sizeof properties);
	put(&b, stream, PHASE_INSTANT, "x", 1);
	close_file(&b);
	finish(&b);

	d = trace_reader_device(b.reader, device);
	assert_int_equal(d->index, 1);
	assert_int_equal(d->kind, DEVICE_CUDA);
	assert_text(&b, d->name, "A100");
	assert_int_equal(d->properties_size, sizeof properties);
	assert_memory_equal(d->properties, properties, sizeof properties);
	assert_int_equal(trace_reader_track(b.reader, stream)->kind, TRACK_STREAM);
	assert_int_equal(trace_reader_track(b.reader, stream)->device, device);
	assert_int_equal(trace_reader_track(b.reader, stream)->process, -1);
	assert_int_equal(trace_reader_track(b.reader, foreign)->process, 0);
	stop(&b);
}

static void strings(void **state)
{
	static struct bench b;
	char text[600];
	uint32_t number[600];

	(void)state;
	start(&b);
	open_file(&b);
	memset(text, 'x', sizeof text);
	assert_int_equal(output_string(b.o, "", 0), 0);
	for (int round = 0; round < 3; round++)
		for (size_t size = 1; size < 600; size++) {
			uint32_t got = output_string(b.o, text, size);

			if (round == 0)
				number[size] = got;
			assert_int_equal(got, number[size]);
			assert_true(size == 1 || number[size] != number[size - 1]);
		}
	close_file(&b);
	finish(&b);
	for (size_t size = 1; size < 600; size++) {
		size_t got;

		trace_reader_string(b.reader, number[size], &got);
		assert_int_equal(got, size);
	}
	stop(&b);
}

/* However many names there are, memory is bounded. */
static void too_many_strings(void **state)
{
	static struct bench b;
	char text[32];
	uint32_t number = 0;
	int64_t refused = 0;

	(void)state;
	start(&b);
	open_file(&b);
	for (int i = 0; i < 600000; i++)
		number = output_string(b.o, text, (size_t)snprintf(text, sizeof text, "name %d", i));
	close_file(&b);
	finish(&b);
	assert_text(&b, number, "[too many names]");
	assert_int_equal(trace_reader_info_integer(b.reader, "names_refused", &refused), 0);
	assert_in_range(refused, 70000, 100000);
	assert_in_range(trace_reader_string_count(b.reader), 500000, 530000);
	stop(&b);
}

/* ---- Events --------------------------------------------------------------------- */

static void depths(void **state)
{
	static struct bench b;
	static const uint16_t expected[] = { EVENT_DEPTH_UNMATCHED, 0, 1, 1, 1, 1, 0, EVENT_DEPTH_UNMATCHED };
	const struct trace_batch *batch;
	uint32_t track;

	(void)state;
	start(&b);
	open_file(&b);
	track = output_thread(b.o, output_process(b.o, 1), 1);
	put(&b, track, PHASE_END, "", 5);
	put(&b, track, PHASE_BEGIN, "a", 10);
	put(&b, track, PHASE_BEGIN, "b", 20);
	put(&b, track, PHASE_END, "", 30);
	put(&b, track, PHASE_BEGIN, "c", 40);
	put(&b, track, PHASE_END, "", 50);
	put(&b, track, PHASE_END, "", 60);
	put(&b, track, PHASE_END, "", 70);
	put(&b, track, PHASE_BEGIN, "open", 80);
	close_file(&b);
	finish(&b);

	batch = decode(&b, 0);
	assert_int_equal(batch->count, 9);
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
		assert_int_equal(batch->depth[i], expected[i]);
	assert_text(&b, batch->name[1], "a");
	assert_int_equal(batch->time[8], 80);
	assert_int_equal(b.report[0].events, 9);
	batch = decode(&b, 1); /* what never ended */
	assert_int_equal(batch->open_count, 1);
	stop(&b);
}

static void fields(void **state)
{
	static struct bench b;
	static const uint8_t map[] = { 0x81, 0xa1, 'k', 7 };
	struct import_event e = { .kind = EVENT_GPU_KERNEL, .phase = PHASE_COMPLETE, .time = 1000 };
	struct error err = { 0 };
	const struct trace_batch *batch;

	(void)state;
	start(&b);
	open_file(&b);
	e.track = output_stream(b.o, output_device(b.o, 0), OUTPUT_NONE, 7);
	e.name = output_string(b.o, "gemm", 4);
	import_event_set(&e, FIELD_DURATION, 250);
	assert_int_equal(output_event(b.o, &e, &err), 0); /* one slot */
	import_event_set(&e, FIELD_CORRELATION, 77);
	assert_int_equal(output_event(b.o, &e, &err), 0); /* value and aux */
	for (unsigned f = FIELD_CORRELATION; f < FIELD_LIMIT; f++)
		if (f != FIELD_METADATA && f != FIELD_STACK)
			import_event_set(&e, f, ((uint64_t)f << 40) + f);
	e.metadata = map;
	e.metadata_size = sizeof map;
	assert_int_equal(output_event(b.o, &e, &err), 0);
	close_file(&b);
	finish(&b);

	batch = decode(&b, 0);
	assert_int_equal(batch->count, 3);
	assert_int_equal(batch->field[FIELD_DURATION][0], 250);
	assert_int_equal(batch->field[FIELD_DURATION][2], 250);
	assert_int_equal(batch->field[FIELD_CORRELATION][1], 77);
	for (unsigned f = FIELD_CORRELATION; f < FIELD_LIMIT; f++)
		if (f != FIELD_METADATA && f != FIELD_STACK)
			assert_int_equal(batch->field[f][2], ((uint64_t)f << 40) + f);
	assert_int_equal(batch->metadata[2].size, sizeof map);
	assert_memory_equal(batch->metadata[2].data, map, sizeof map);
	assert_int_equal(batch->last_time, 1250);
	stop(&b);
}

/* Arguments that are too long lose the entries that do not fit, and keep the others. */
static void long_metadata(void **state)
{
	static struct bench b;
	static char text[20000];
	struct import_event e = { .kind = EVENT_OP, .phase = PHASE_INSTANT };
	struct buffer map = BUFFER_INIT;
	struct error err = { 0 };
	struct buffer json = BUFFER_INIT;
	const struct trace_batch *batch;

	(void)state;
	memset(text, 'x', sizeof text);
	msgpack_write_map(&map, 4);
	msgpack_write_text(&map, "a");
	msgpack_write_int(&map, 1);
	msgpack_write_text(&map, "long");
	msgpack_write_string(&map, text, sizeof text);
	msgpack_write_text(&map, "b");
	msgpack_write_int(&map, 2);
	msgpack_write_text(&map, "also long");
	msgpack_write_string(&map, text, 6995);
	start(&b);
	open_file(&b);
	e.track = output_thread(b.o, output_process(b.o, 1), 1);
	e.metadata = map.data;
	e.metadata_size = map.size;
	assert_int_equal(output_event(b.o, &e, &err), 0);
	e.metadata_size = 9000; /* not even a map that is whole */
	assert_int_equal(output_event(b.o, &e, &err), 0);
	close_file(&b);
	finish(&b);

	assert_int_equal(b.report[0].cut, 2 + 3);
	batch = decode(&b, 0);
	assert_int_equal(msgpack_to_json(batch->metadata[0].data, batch->metadata[0].size, &json), 0);
	assert_int_equal(json.size, strlen("{\"a\": 1, \"b\": 2}"));
	assert_memory_equal(json.data, "{\"a\": 1, \"b\": 2}", json.size);
	buffer_clear(&json);
	assert_int_equal(msgpack_to_json(batch->metadata[1].data, batch->metadata[1].size, &json), 0);
	assert_memory_equal(json.data, "{\"a\": 1}", json.size);
	buffer_release(&json);
	buffer_release(&map);
	stop(&b);
}

/* A track that does not exist, a phase that does not exist, times that do not fit. */
static void nonsense(void **state)
{
	static struct bench b;
	struct import_event e = { .kind = EVENT_OP, .phase = PHASE_INSTANT };
	struct error err = { 0 };

	(void)state;
	start(&b);
	open_file(&b);
	output_base_time(b.o, INT64_MAX / 2);
	e.track = output_thread(b.o, output_process(b.o, 1), 1);
	assert_int_equal(output_event(b.o, &e, &err), 0);
	e.phase = PHASE_COUNT;
	assert_int_equal(output_event(b.o, &e, &err), 0);
	e.phase = PHASE_INSTANT;
	e.time = INT64_MAX;
	assert_int_equal(output_event(b.o, &e, &err), 0);
	e.time = 0;
	e.track = OUTPUT_NONE;
	assert_int_equal(output_event(b.o, &e, &err), 0);
	output_process_name(b.o, OUTPUT_NONE, "x", 1);
	output_track_name(b.o, OUTPUT_NONE, "x", 1);
	output_device_describe(b.o, OUTPUT_NONE, 1, "x", 1, NULL, 0);
	assert_int_equal(b.report[0].events, 1);
	assert_int_equal(b.report[0].skipped, 3);
	for (int i = 0; i < 100; i++)
		output_damage(b.o, (uint64_t)i, 2,
			      "a reason that is much longer than there is room for, since nobody said how long reasons may be, "
			      "and so it is cut");
	assert_int_equal(b.report[0].damage_count, 100);
	assert_int_equal(b.report[0].damage_bytes, 200);
	assert_int_equal(b.report[0].damage[15].offset, 15);
	assert_int_equal(strlen(b.report[0].damage[0].reason), 95);
	close_file(&b);
	finish(&b);
	stop(&b);
}

/* ---- Times and sources ------------------------------------------------------------ */

#define DAY_ZERO 1700000000000000000 /* a time of the day */

static void one_event_file(struct bench *b, int64_t base, int64_t time)
{
	open_file(b);
	if (base)
		output_base_time(b->o, base);
	put(b, output_thread(b->o, output_process(b->o, 1), 1), PHASE_INSTANT, "x", time);
	close_file(b);
}

static int64_t time_of(struct bench *b, size_t block)
{
	const struct trace_batch *batch = decode(b, block);

	assert_int_equal(batch->count, 1);
	assert_int_equal(batch->domain, block);
	return batch->time[0];
}

static int64_t start_ticks(const struct bench *b)
{
	int64_t value = -1;

	assert_int_equal(trace_reader_info_integer(b->reader, "start_ticks", &value), 0);
	return value;
}

static void sources_json(const struct bench *b, struct buffer *ret)
{
	const uint8_t *raw;
	size_t size;

	assert_int_equal(trace_reader_info_raw(b->reader, "sources", &raw, &size), 0);
	assert_int_equal(msgpack_to_json(raw, size, ret), 0);
	assert_int_equal(buffer_append(ret, "", 1), 0);
}

/* Files of several ranks, each with a base of its own: their times agree. */
static void times_of_the_day(void **state)
{
	static struct bench b;

	(void)state;
	start(&b);
	one_event_file(&b, DAY_ZERO, 5000);
	one_event_file(&b, DAY_ZERO - 1000, 5500);
	one_event_file(&b, 0, DAY_ZERO + 6000);
	finish(&b);
	assert_int_equal(time_of(&b, 0), DAY_ZERO + 5000);
	assert_int_equal(time_of(&b, 1), DAY_ZERO + 4500);
	assert_int_equal(time_of(&b, 2), DAY_ZERO + 6000);
	assert_int_equal(start_ticks(&b), DAY_ZERO + 4500);
	assert_int_equal(trace_reader_clock(b.reader, 2)->kind, CLOCK_KIND_NANOSECONDS);
	assert_int_equal(trace_reader_since_start_ns(b.reader, 2, DAY_ZERO + 6000), 1500);
	stop(&b);
}

/* Beside them, one whose clock began when the machine did. */
static void times_of_nothing(void **state)
{
	struct buffer json = BUFFER_INIT;
	static struct bench b;

	(void)state;
	start(&b);
	one_event_file(&b, DAY_ZERO, 5000);
	one_event_file(&b, 0, 777);
	finish(&b);
	assert_int_equal(time_of(&b, 1), DAY_ZERO + 5000);
	sources_json(&b, &json);
	assert_non_null(strstr((char *)json.data, "\"aligned\": \"start\""));
	assert_non_null(strstr((char *)json.data, "\"base_time_ns\": 1700000000000004223"));
	stop(&b);

	start(&b); /* and in the other order */
	one_event_file(&b, 0, 777);
	one_event_file(&b, DAY_ZERO, 5000);
	one_event_file(&b, DAY_ZERO, 4900);
	finish(&b);
	assert_int_equal(time_of(&b, 0), 777);
	assert_int_equal(time_of(&b, 1), 777);
	assert_int_equal(time_of(&b, 2), 677);
	assert_int_equal(start_ticks(&b), 677);
	stop(&b);
	buffer_release(&json);
}

static void sources(void **state)
{
	static const uint8_t version[] = { 0xa3, '2', '.', '1' };
	struct buffer json = BUFFER_INIT;
	static struct bench b;
	bool complete = false;

	(void)state;
	start(&b);
	open_file(&b);
	output_rank(b.o, 2, 8);
	output_hostname(b.o, "node", 4);
	output_base_time(b.o, 1000);
	output_property(b.o, "version", version, sizeof version);
	output_property(b.o, "nonsense", version, 2);
	put(&b, output_thread(b.o, output_process(b.o, 1), 1), PHASE_INSTANT, "x", 1);
	output_base_time(b.o, 2000); /* late: the clock is moved */
	b.report[0].skipped = 3;
	b.report[0].bytes = 500;
	b.report[0].truncated = true;
	close_file(&b);
	finish(&b);
	sources_json(&b, &json);
	assert_string_equal((char *)json.data, "[{\"path\": \"file0\", \"format\": \"chrome\", \"events\": 1, \"skipped\": 3, \"repaired\": 0, "
					       "\"bytes\": 500, \"domain\": 0, \"rank\": 2, "
					       "\"world_size\": 8, \"hostname\": \"node\", \"base_time_ns\": 2000, "
					       "\"truncated\": true, "
					       "\"properties\": {\"version\": \"2.1\"}}]");
	assert_int_equal(trace_reader_info_bool(b.reader, "complete", &complete), 0);
	assert_true(complete);
	assert_int_equal(trace_reader_block(b.reader, 0)->first_time, 1001);
	assert_int_equal(trace_reader_ns(b.reader, 0, 1001), 2001);
	assert_int_equal(trace_reader_since_start_ns(b.reader, 0, 1001), 0);
	assert_int_equal(b.report[0].cut, 1);
	buffer_release(&json);
	stop(&b);
}

static void too_many_files(void **state)
{
	static struct bench b;
	struct error err = { 0 };

	(void)state;
	start(&b);
	for (int i = 0; i < 256; i++)
		one_event_file(&b, 0, i);
	assert_int_not_equal(begin_file(&b, &err), 0);
	assert_string_equal(err.text, "file256 is one file too many: a trace is made of at most 256");
	finish(&b);
	assert_int_equal(trace_reader_block_count(b.reader), 256);
	assert_int_equal(time_of(&b, 255), 255);
	stop(&b);
}

/* What a trace cannot have is told from what cannot be read. */
static void more_threads_than_there_are_numbers(void **state)
{
	struct import_event event = { .kind = EVENT_SCOPE, .phase = PHASE_INSTANT };
	struct error err = { 0 };
	struct bench b;

	(void)state;
	start(&b);
	open_file(&b);
	for (uint32_t i = 0; i < TRACE_TRACK_MAX; i++)
		assert_int_equal(output_thread(b.o, OUTPUT_NONE, i), i);
	assert_int_equal(output_event(b.o, &event, &err), 0);
	assert_null(b.report[0].left_out_reason);
	event.track = output_thread(b.o, OUTPUT_NONE, TRACE_TRACK_MAX);
	assert_int_equal(event.track, OUTPUT_NONE);
	for (int i = 0; i < 3; i++)
		assert_int_equal(output_event(b.o, &event, &err), 0);
	assert_int_equal(b.report[0].events, 1);
	assert_int_equal(b.report[0].skipped, 3);
	assert_int_equal(b.report[0].left_out, 3);
	assert_string_equal(b.report[0].left_out_reason, "a trace has at most 1,048,576 tracks (threads, streams and the like)");
	close_file(&b);
	finish(&b);
	stop(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_and_threads),
		cmocka_unit_test(hosts),
		cmocka_unit_test(devices_and_streams),
		cmocka_unit_test(strings),
		cmocka_unit_test(too_many_strings),
		cmocka_unit_test(depths),
		cmocka_unit_test(fields),
		cmocka_unit_test(long_metadata),
		cmocka_unit_test(nonsense),
		cmocka_unit_test(times_of_the_day),
		cmocka_unit_test(times_of_nothing),
		cmocka_unit_test(sources),
		cmocka_unit_test(too_many_files),
		cmocka_unit_test(more_threads_than_there_are_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
