/* test-dump.c - rows/row_walk.h and the rows it makes, and cmd/summary.h, from traces written for the purpose. */
#include "rows/row_walk.h"

#include "base/msgpack.h"
#include "cmd/dump_print.h"
#include "cmd/summary.h"
#include "trace-fixture.h"

#define START 1000 /* ticks, which are nanoseconds here */

static struct fixture f;
static uint32_t names[5]; /* a, b, c, d, e */

static void set_start(void)
{
	struct buffer map = BUFFER_INIT;

	assert_int_equal(msgpack_write_map(&map, 1), 0);
	assert_int_equal(msgpack_write_text(&map, "start_ticks"), 0);
	assert_int_equal(msgpack_write_int(&map, START), 0);
	assert_int_equal(trace_writer_info(f.w, map.data, map.size, NULL), 0);
	buffer_release(&map);
}

/* Process 100 with threads 101 and 102 (tracks 0 and 1), and stream 7 of device 2 (track 2). */
static void begin_trace(void)
{
	static const char letters[] = "abcde";
	size_t i;

	fixture_open(&f, NULL);
	for (i = 0; i < 5; i++)
		names[i] = trace_writer_string(f.w, &letters[i], 1);
	trace_writer_host(f.w, &(struct trace_host){ .id = 0, .name = names[0] });
	trace_writer_process(f.w, &(struct trace_process){ .id = 0, .pid = 100, .parent = -1, .rank = -1 });
	trace_writer_clock(f.w, &(struct trace_clock){ .id = 0, .kind = CLOCK_KIND_NANOSECONDS, .rate = 1000000000 });
	trace_writer_device(f.w, &(struct trace_device){ .id = 0, .index = 2, .kind = 1 });
	for (i = 0; i < 2; i++)
		trace_writer_track(f.w, &(struct trace_track){ .id = (uint32_t)i,
							       .kind = TRACK_THREAD,
							       .os_id = 101 + i,
							       .device = -1,
							       .parent = -1 });
	trace_writer_track(
		f.w, &(struct trace_track){ .id = 2, .kind = TRACK_STREAM, .os_id = 7, .process = 0, .parent = -1 });
	set_start();
}

static void put(uint32_t track, uint64_t time, unsigned kind, unsigned phase, uint32_t name, uint16_t depth,
		const void *extra, size_t size)
{
	struct event_slot slot = scope_slot(START + time, phase, name, depth, 3);

	slot.kind = (uint8_t)kind;
	assert_int_equal(trace_writer_event(f.w, track, &slot, extra, size, NULL), 0);
}

static void next_block(void)
{
	assert_int_equal(trace_writer_flush(f.w, NULL), 0);
}

struct text {
	const struct trace_reader *reader;
	struct buffer out;
	bool csv;
};

static int append_row(void *arg, const struct row *row)
{
	struct text *text = arg;
	int rc = text->csv ? dump_row_csv(row, text->reader, &text->out) : dump_row_json(row, text->reader, &text->out);

	return rc || text->csv ? rc : buffer_append(&text->out, "\n", 1);
}

static char *walk(const struct row_filter *filter, bool csv)
{
	struct trace_reader *reader = fixture_read(&f);
	struct text text = { .reader = reader, .csv = csv };
	struct error err = { 0 };
	uint64_t decoded;

	assert_int_equal(row_walk(reader, filter, append_row, &text, &decoded, &err), 0);
	assert_int_equal(buffer_append(&text.out, "", 1), 0);
	trace_reader_close(reader);
	return (char *)text.out.data;
}

/* expected has ' where the JSON has ", so that it can be read here */
static void check_with(const struct row_filter *filter, const char *expected)
{
	char *text = walk(filter, false), *at;

	for (at = text; (at = strchr(at, '"')); at++)
		*at = '\'';
	assert_string_equal(text, expected);
	free(text);
}

static void check(const char *expected)
{
	struct row_filter all = ROW_FILTER_INIT;

	check_with(&all, expected);
}

static void end_trace(void)
{
	fixture_close(&f);
}

static void scopes_are_two_rows(void **state)
{
	(void)state;
	begin_trace();
	put_scope(&f, 0, START + 1500, PHASE_BEGIN, names[0], 0);
	put_scope(&f, 0, START + 2000, PHASE_BEGIN, names[1], 1);
	put_scope(&f, 0, START + 2001, PHASE_END, 0, 1);
	put_scope(&f, 1, START + 1999, PHASE_BEGIN, names[2], 0);
	put_scope(&f, 1, START + 2002, PHASE_END, 0, 0);
	next_block();
	put_scope(&f, 0, START + 9000, PHASE_END, 0, 0);
	fixture_finish(&f);
	check("{'event_type': 'scope_enter', 'name': 'a', 'start_us': 1.500, 'thread_id': 101, 'process_id': 100, "
	      "'cpu_id': 3, 'depth': 0}\n"
	      "{'event_type': 'scope_enter', 'name': 'c', 'start_us': 1.999, 'thread_id': 102, 'process_id': 100, "
	      "'cpu_id': 3, 'depth': 0}\n"
	      "{'event_type': 'scope_enter', 'name': 'b', 'start_us': 2.000, 'thread_id': 101, 'process_id': 100, "
	      "'cpu_id': 3, 'depth': 1}\n"
	      "{'event_type': 'scope_exit', 'name': 'b', 'start_us': 2.000, 'end_us': 2.001, 'thread_id': 101, "
	      "'process_id': 100, 'cpu_id': 3, 'depth': 1}\n"
	      "{'event_type': 'scope_exit', 'name': 'c', 'start_us': 1.999, 'end_us': 2.002, 'thread_id': 102, "
	      "'process_id': 100, 'cpu_id': 3, 'depth': 0}\n"
	      "{'event_type': 'scope_exit', 'name': 'a', 'start_us': 1.500, 'end_us': 9.000, 'thread_id': 101, "
	      "'process_id': 100, 'cpu_id': 3, 'depth': 0}\n");
	end_trace();
}

/* At one and the same time: what a thread did stays in its order. */
static void order_survives_a_coarse_clock(void **state)
{
	struct row_filter filter = ROW_FILTER_INIT;
	char *text, *at;
	size_t i;
	static const char *const expected[] = { "enter\", \"name\": \"a", "exit\", \"name\": \"a",
						"enter\", \"name\": \"b", "enter\", \"name\": \"c",
						"exit\", \"name\": \"c",  "exit\", \"name\": \"b" };

	(void)state;
	begin_trace();
	put_scope(&f, 0, START + 5, PHASE_BEGIN, names[0], 0);
	put_scope(&f, 0, START + 5, PHASE_END, 0, 0);
	put_scope(&f, 0, START + 5, PHASE_BEGIN, names[1], 0);
	put_scope(&f, 0, START + 5, PHASE_BEGIN, names[2], 1);
	put_scope(&f, 0, START + 5, PHASE_END, 0, 1);
	put_scope(&f, 0, START + 5, PHASE_END, 0, 0);
	fixture_finish(&f);
	text = walk(&filter, false);
	for (at = text, i = 0; i < 6; i++) {
		at = strstr(at, expected[i]);
		assert_non_null(at);
	}
	free(text);
	end_trace();
}

static size_t call_fields(uint8_t *list)
{
	struct buffer map = BUFFER_INIT;
	size_t size = list_number(list, 0, FIELD_CORRELATION, 77);

	assert_int_equal(msgpack_write_map(&map, 1), 0);
	assert_int_equal(msgpack_write_text(&map, "k"), 0);
	assert_int_equal(msgpack_write_int(&map, 5), 0);
	size = list_bytes(list, size, FIELD_METADATA, map.data, (uint16_t)map.size);
	buffer_release(&map);
	return size;
}

#define CALL                                                                                                           \
	"{'event_type': 'runtime_call', 'name': 'd', 'start_us': 1.000, 'end_us': 3.000, 'thread_id': 101, "           \
	"'process_id': 100, 'cpu_id': 3, 'depth': 0, 'correlation_id': 77, 'bytes': 9, 'metadata': {'k': 5}}\n"

/* One row where it ends, with the fields of both ends, also when they are blocks apart. */
static void other_slices_are_one_row(void **state)
{
	uint8_t list[128];
	size_t blocks, size = call_fields(list), end_size;
	uint8_t end_list[32];

	(void)state;
	end_size = list_number(end_list, 0, FIELD_BYTES, 9);
	for (blocks = 1; blocks <= 3; blocks++) {
		begin_trace();
		put(0, 1000, EVENT_RUNTIME_CALL, PHASE_BEGIN, names[3], 0, list, size);
		if (blocks > 1)
			next_block();
		if (blocks > 2) {
			put_scope(&f, 1, START + 2000, PHASE_END, 0, EVENT_DEPTH_UNMATCHED);
			next_block();
		}
		put(0, 3000, EVENT_RUNTIME_CALL, PHASE_END, 0, 0, end_list, end_size);
		fixture_finish(&f);
		check(blocks < 3 ? CALL
				 : "{'event_type': 'scope_exit', 'name': '', 'end_us': 2.000, 'thread_id': 102, "
				   "'process_id': 100, 'cpu_id': 3, 'unmatched': true}\n" CALL);
		end_trace();
	}
}

static void device_work_and_losses(void **state)
{
	uint8_t list[256];
	struct event_slot slot;
	size_t size = list_number(list, 0, FIELD_DURATION, 500);

	(void)state;
	begin_trace();
	size = list_number(list, size, FIELD_GRID_X, 8);
	size = list_number(list, size, FIELD_GRID_Y, 2);
	size = list_number(list, size, FIELD_GRID_Z, 1);
	size = list_number(list, size, FIELD_BLOCK_X, 256); /* and 1 for what is absent beside it */
	slot = (struct event_slot){ .time = START + 1000,
				    .name = names[4],
				    .kind = EVENT_GPU_KERNEL,
				    .cpu = EVENT_CPU_UNKNOWN,
				    .flags = EVENT_FLAGS(PHASE_COMPLETE, 0, 0) };
	assert_int_equal(trace_writer_event(f.w, 2, &slot, list, size, NULL), 0);
	size = list_number(list, 0, FIELD_DURATION, 250);
	size = list_number(list, size, FIELD_COUNT, 12);
	size = list_number(list, size, FIELD_REASON, LOST_OVERWRITTEN);
	slot = (struct event_slot){ .time = START + 2000,
				    .kind = EVENT_LOST,
				    .cpu = EVENT_CPU_UNKNOWN,
				    .flags = EVENT_FLAGS(PHASE_COMPLETE, 0, 0) };
	assert_int_equal(trace_writer_event(f.w, 0, &slot, list, size, NULL), 0);
	fixture_finish(&f);
	check("{'event_type': 'gpu_kernel', 'name': 'e', 'start_us': 1.000, 'end_us': 1.500, 'stream_id': 7, "
	      "'process_id': 100, 'device_id': 2, 'grid_dim': [8, 2, 1], 'block_dim': [256, 1, 1]}\n"
	      "{'event_type': 'lost', 'name': '', 'start_us': 2.000, 'end_us': 2.250, 'thread_id': 101, "
	      "'process_id': 100, 'count': 12, 'reason': 'overwritten'}\n");
	end_trace();
}

static void counters_and_flows(void **state)
{
	double half = 0.5;
	uint64_t bits;
	struct event_slot slot = { .kind = EVENT_COUNTER, .cpu = EVENT_CPU_UNKNOWN };

	(void)state;
	memcpy(&bits, &half, sizeof bits);
	begin_trace();
	slot.name = names[0];
	slot.time = START + 1;
	slot.value = bits;
	slot.flags = EVENT_FLAGS(PHASE_INSTANT, FIELD_VALUE, 0);
	assert_int_equal(trace_writer_event(f.w, 0, &slot, NULL, 0, NULL), 0);
	slot.time = START + 2;
	slot.value = (uint64_t)-3;
	slot.flags = EVENT_FLAGS(PHASE_INSTANT, FIELD_INTEGER, 0);
	assert_int_equal(trace_writer_event(f.w, 0, &slot, NULL, 0, NULL), 0);
	slot.kind = EVENT_FLOW;
	slot.time = START + 3;
	slot.value = 42;
	slot.flags = EVENT_FLAGS(PHASE_FLOW_OUT, FIELD_FLOW, 0);
	assert_int_equal(trace_writer_event(f.w, 0, &slot, NULL, 0, NULL), 0);
	fixture_finish(&f);
	check("{'event_type': 'counter', 'name': 'a', 'start_us': 0.001, 'thread_id': 101, 'process_id': 100, "
	      "'value': 0.5}\n"
	      "{'event_type': 'counter', 'name': 'a', 'start_us': 0.002, 'thread_id': 101, 'process_id': 100, "
	      "'value': -3}\n"
	      "{'event_type': 'flow', 'phase': 'flow_out', 'name': 'a', 'start_us': 0.003, 'thread_id': 101, "
	      "'process_id': 100, 'flow_id': 42}\n");
	end_trace();
}

static void what_never_ended_is_said(void **state)
{
	uint8_t list[128];
	size_t size = call_fields(list);

	(void)state;
	begin_trace();
	put_scope(&f, 0, START + 1000, PHASE_BEGIN, names[0], 0);
	put(0, 2000, EVENT_OP, PHASE_BEGIN, names[1], 1, list, size);
	fixture_finish(&f);
	check("{'event_type': 'scope_enter', 'name': 'a', 'start_us': 1.000, 'thread_id': 101, 'process_id': 100, "
	      "'cpu_id': 3, 'depth': 0}\n"
	      "{'event_type': 'scope_exit', 'name': 'a', 'start_us': 1.000, 'end_us': null, 'thread_id': 101, "
	      "'process_id': 100, 'depth': 0, 'unfinished': true}\n"
	      "{'event_type': 'op', 'name': 'b', 'start_us': 2.000, 'end_us': null, 'thread_id': 101, "
	      "'process_id': 100, 'cpu_id': 3, 'depth': 1, 'correlation_id': 77, 'metadata': {'k': 5}, 'unfinished': "
	      "true}\n");
	end_trace();
}

/* a [1, 90], in it c calls of 10 us, in blocks of their own. */
static void long_trace(void)
{
	uint64_t t;

	begin_trace();
	put_scope(&f, 0, START + 1000, PHASE_BEGIN, names[0], 0);
	for (t = 10000; t < 90000; t += 20000) {
		put(0, t, EVENT_OP, PHASE_BEGIN, names[2], 1, NULL, 0);
		next_block();
		put(0, t + 10000, EVENT_OP, PHASE_END, 0, 1, NULL, 0);
		next_block();
	}
	put_scope(&f, 0, START + 90000, PHASE_END, 0, 0);
	fixture_finish(&f);
}

static void a_window_has_what_encloses_it(void **state)
{
	struct row_filter filter = ROW_FILTER_INIT;
	struct error err = { 0 };

	(void)state;
	long_trace();
	assert_int_equal(row_filter_set_window(&filter, "0.035:0.055", &err), 0);
	check_with(&filter,
		   "{'event_type': 'scope_enter', 'name': 'a', 'start_us': 1.000, 'thread_id': 101, 'process_id': 100, "
		   "'depth': 0, 'enclosing': true}\n"
		   "{'event_type': 'op', 'name': 'c', 'start_us': 30.000, 'end_us': 40.000, 'thread_id': 101, "
		   "'process_id': 100, 'depth': 1, 'enclosing': true}\n"
		   "{'event_type': 'op', 'name': 'c', 'start_us': 50.000, 'end_us': null, 'thread_id': 101, "
		   "'process_id': 100, 'cpu_id': 3, 'depth': 1, 'continues': true}\n");
	end_trace();
}

static size_t count_lines(const struct row_filter *filter)
{
	char *text = walk(filter, false), *at;
	size_t n = 0;

	for (at = text; (at = strchr(at, '\n')); at++)
		n++;
	free(text);
	return n;
}

static void filters(void **state)
{
	struct row_filter filter = ROW_FILTER_INIT, fresh = ROW_FILTER_INIT;
	struct error err = { 0 };

	(void)state;
	long_trace();
	assert_int_equal(count_lines(&filter), 6);
	assert_int_equal(row_filter_set_kinds(&filter, "op", &err), 0);
	assert_int_equal(count_lines(&filter), 4);
	assert_int_equal(row_filter_set_kinds(&filter, "scope_exit,counter", &err), 0);
	assert_int_equal(count_lines(&filter), 5);
	filter = fresh;
	assert_int_equal(row_filter_set_kinds(&filter, "scope", &err), 0);
	assert_int_equal(count_lines(&filter), 2);
	filter = fresh;
	filter.name = "[b-d]*";
	assert_int_equal(count_lines(&filter), 4);
	filter = fresh;
	filter.thread = 102;
	assert_int_equal(count_lines(&filter), 0);
	filter.thread = 101;
	assert_int_equal(count_lines(&filter), 6);
	filter = fresh;
	filter.process = 99;
	assert_int_equal(count_lines(&filter), 0);
	filter = fresh;
	assert_int_equal(row_filter_set_window(&filter, ":0.005", &err), 0);
	assert_int_equal(count_lines(&filter), 1);
	assert_int_equal(row_filter_set_window(&filter, "0.0895:", &err), 0);
	assert_int_equal(count_lines(&filter), 2);
	end_trace();
}

/* b is around c, and goes on in the next block, where d follows. */
static void deep_trace(void)
{
	begin_trace();
	put(0, 10, EVENT_OP, PHASE_BEGIN, names[1], 0, NULL, 0);
	put(0, 20, EVENT_OP, PHASE_BEGIN, names[2], 1, NULL, 0);
	next_block();
	put(0, 30, EVENT_OP, PHASE_END, names[2], 1, NULL, 0);
	put(0, 40, EVENT_OP, PHASE_END, names[1], 0, NULL, 0);
	put(0, 50, EVENT_OP, PHASE_BEGIN, names[3], 0, NULL, 0);
	put(0, 60, EVENT_OP, PHASE_END, names[3], 0, NULL, 0);
	fixture_finish(&f);
}

/* A set tells which slices are too deep, by their begins, and then recorded depths do not. */
static void depths_may_come_from_elsewhere(void **state)
{
	struct row_filter filter = ROW_FILTER_INIT;
	struct row_set deep = { 0 };

	(void)state;
	deep_trace();
	filter.depth = 1;
	assert_int_equal(count_lines(&filter), 2);
	filter.deep = &deep;
	assert_int_equal(count_lines(&filter), 3);
	assert_int_equal(row_set_add(&deep, 0, 0), 0);
	assert_int_equal(count_lines(&filter), 2);
	assert_int_equal(row_set_add(&deep, 1, 2), 0);
	assert_int_equal(count_lines(&filter), 1);
	filter.name = "c";
	assert_int_equal(count_lines(&filter), 1);
	filter.depth = -1;
	filter.name = NULL;
	assert_int_equal(count_lines(&filter), 3);
	row_set_release(&deep);
	end_trace();
}

static void sets_of_events(void **state)
{
	struct row_set set = { 0 };

	(void)state;
	assert_false(row_set_has(&set, 0, 0));
	assert_int_equal(row_set_add(&set, 1000, 262143), 0);
	assert_int_equal(row_set_add(&set, 3, 64), 0);
	assert_true(row_set_has(&set, 1000, 262143));
	assert_true(row_set_has(&set, 3, 64));
	assert_false(row_set_has(&set, 3, 63));
	assert_false(row_set_has(&set, 3, UINT32_MAX));
	assert_false(row_set_has(&set, 1000, 262142));
	assert_false(row_set_has(&set, 999, 64));
	assert_false(row_set_has(&set, SIZE_MAX, 64));
	row_set_release(&set);
	row_set_release(&set);
}

static void csv_has_the_same_columns_everywhere(void **state)
{
	struct row_filter all = ROW_FILTER_INIT;
	struct buffer header = BUFFER_INIT;
	uint8_t list[128];
	size_t size = call_fields(list), i, commas = 0;
	char *text;

	(void)state;
	begin_trace();
	put(0, 1000, EVENT_INSTANT, PHASE_INSTANT, trace_writer_string(f.w, "=1,\"x\"", 6), 0, list, size);
	fixture_finish(&f);
	text = walk(&all, true);
	assert_string_equal(text,
			    "instant,,\"'=1,\"\"x\"\"\",1.000,,101,100,3,,,,0,,,77,,,,,,,,,,,,,\"{\"\"k\"\": 5}\",,,,,,,,,,,\n");
	assert_int_equal(dump_csv_header(&header), 0);
	for (i = 0; i < header.size; i++)
		commas += header.data[i] == ',';
	assert_int_equal(commas, 38); /* as many as in the row, besides the one in its name */
	buffer_release(&header);
	free(text);
	end_trace();
}

static uint32_t put_function(const char *module, const char *function, const char *file, uint32_t line)
{
	return trace_writer_function(f.w, &(struct trace_function){ { module, strlen(module) },
								    { function, strlen(function) },
								    { file, strlen(file) },
								    line });
}

/* Calls say where their function is, and tasks what they are called. */
static void what_was_seen_from_outside(void **state)
{
	struct row_filter all = ROW_FILTER_INIT;
	char *text;

	(void)state;
	begin_trace();
	trace_writer_track(f.w, &(struct trace_track){ .id = 3, .kind = TRACK_STATES, .os_id = 101, .device = -1, .parent = 0 });
	trace_writer_track(f.w, &(struct trace_track){ .id = 4, .kind = TRACK_HOST, .process = -1, .device = -1, .parent = -1 });
	put(3, 1000, EVENT_CPU_SAMPLE, PHASE_INSTANT, trace_writer_string(f.w, "native", 6), 0, NULL, 0);
	put(4, 2000, EVENT_COUNTER, PHASE_INSTANT, trace_writer_string(f.w, "host_idle_ns", 12), 0, NULL, 0);
	fixture_finish(&f);
	check("{'event_type': 'cpu_sample', 'name': 'native', 'start_us': 1.000, 'thread_id': 101, 'track': 'states', 'process_id': 100, "
	      "'cpu_id': 3, 'depth': 0}\n"
	      "{'event_type': 'counter', 'name': 'host_idle_ns', 'start_us': 2.000, 'track': 'host', 'cpu_id': 3, 'depth': 0}\n");
	text = walk(&all, true);
	assert_non_null(strstr(text, ",,,,states\n"));
	assert_non_null(strstr(text, ",,,,host\n"));
	free(text);
	end_trace();
}

static void functions_and_tasks(void **state)
{
	struct row_filter all = ROW_FILTER_INIT;
	char *text;

	(void)state;
	begin_trace();
	trace_writer_track(f.w, &(struct trace_track){ .id = 3,
						       .kind = TRACK_TASK,
						       .os_id = 9,
						       .device = -1,
						       .parent = 0,
						       .name = trace_writer_string(f.w, "Task,1", 6) });
	put(3, 1000, EVENT_CPU_CALL, PHASE_BEGIN, put_function("m", "C.f", "/m.py", 12), 0, NULL, 0);
	put(3, 2000, EVENT_CPU_CALL, PHASE_END, 0, 0, NULL, 0);
	put(0, 3000, EVENT_CPU_CALL, PHASE_BEGIN, put_function("builtins", "len", "", 0), 0, NULL, 0);
	put(0, 4000, EVENT_CPU_CALL, PHASE_END, 0, 0, NULL, 0);
	fixture_finish(&f);
	check("{'event_type': 'cpu_call', 'name': 'm.C.f', 'start_us': 1.000, 'end_us': 2.000, 'task_id': 9, 'task': 'Task,1', "
	      "'process_id': 100, 'cpu_id': 3, 'depth': 0, 'module': 'm', 'file': '/m.py', 'line': 12}\n"
	      "{'event_type': 'cpu_call', 'name': 'len', 'start_us': 3.000, 'end_us': 4.000, 'thread_id': 101, "
	      "'process_id': 100, 'cpu_id': 3, 'depth': 0, 'module': 'builtins'}\n");
	text = walk(&all, true);
	assert_string_equal(text, "cpu_call,,m.C.f,1.000,2.000,,100,3,,,,0,,,,,,,,,,,,,,,,,9,\"Task,1\",m,/m.py,12,,,,,,\n"
				  "cpu_call,,len,3.000,4.000,101,100,3,,,,0,,,,,,,,,,,,,,,,,,,builtins,,,,,,,,\n");
	free(text);
	end_trace();
}

static void expect_entry(const struct tally *tally, size_t i, uint32_t key, uint64_t count, int64_t total, int64_t self,
			 int64_t max)
{
	assert_int_equal(tally->entries[i].key, key);
	assert_int_equal(tally->entries[i].count, count);
	assert_int_equal(tally->entries[i].total_ns, total);
	assert_int_equal(tally->entries[i].self_ns, self);
	assert_int_equal(tally->entries[i].max_ns, max);
}

/* a calls b calls a, with an operator inside and a block's end in between; b goes on for ever. */
static void summaries_tell_self_time(void **state)
{
	uint8_t list[32];
	size_t size = list_number(list, list_number(list, 0, FIELD_COUNT, 0), FIELD_REASON, LOST_UNSEEN);
	struct trace_reader *reader;
	struct summary summary;
	struct error err = { 0 };
	static const struct {
		uint64_t time;
		uint8_t kind, phase, name, depth;
	} events[] = {
		{ 1000, EVENT_CPU_CALL, PHASE_BEGIN, 0, 0 }, { 2000, EVENT_CPU_CALL, PHASE_BEGIN, 1, 1 },
		{ 3000, EVENT_CPU_CALL, PHASE_BEGIN, 0, 2 }, { 3500, EVENT_OP, PHASE_BEGIN, 2, 3 },
		{ 3600, EVENT_OP, PHASE_BEGIN, 2, 4 },       { 3700, EVENT_OP, PHASE_END, 0, 4 },
		{ 4500, EVENT_OP, PHASE_END, 0, 3 },         { 6000, EVENT_CPU_CALL, PHASE_END, 0, 2 },
		{ 7000, EVENT_CPU_CALL, PHASE_END, 0, 1 },   { 9000, EVENT_CPU_CALL, PHASE_END, 0, 0 },
		{ 9500, EVENT_CPU_CALL, PHASE_BEGIN, 1, 0 }, { 9600, EVENT_SCOPE, PHASE_BEGIN, 3, 1 },
		{ 9900, EVENT_SCOPE, PHASE_END, 0, 1 },
	};

	(void)state;
	begin_trace();
	put(1, 500, EVENT_CPU_CALL, PHASE_BEGIN, names[0], 0, NULL, 0); /* another thread: not nested in this one's */
	put(1, 600, EVENT_CPU_CALL, PHASE_END, 0, 0, NULL, 0);
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		bool begin = events[i].phase == PHASE_BEGIN;

		put(0, events[i].time, events[i].kind, events[i].phase, begin ? names[events[i].name] : 0, events[i].depth, NULL, 0);
		if (i == 4 || i == 7)
			next_block();
	}
	{
		struct event_slot slot = { .time = START + 10, .value = 250, .cpu = EVENT_CPU_UNKNOWN, .kind = EVENT_LOST,
					   .flags = EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, 0) };

		assert_int_equal(trace_writer_event(f.w, 2, &slot, list, size, NULL), 0);
	}
	fixture_finish(&f);
	reader = fixture_read(&f);
	assert_int_equal(summary_collect(&summary, reader, &err), 0);
	assert_int_equal(summary.unfinished, 1);
	assert_int_equal(summary.unseen_ns, 250);
	assert_int_equal(summary.lost_total, 0);
	assert_int_equal(tally_sort(&summary.functions), 2);
	expect_entry(&summary.functions, 0, names[0], 3, 8000 + 100, 3000 + 2000 + 100, 8000);
	expect_entry(&summary.functions, 1, names[1], 2, 5000 + 400, 2000 + 100, 5000);
	assert_int_equal(tally_sort(&summary.operators), 1);
	expect_entry(&summary.operators, 0, names[2], 2, 1000, 1000, 1000);
	assert_int_equal(tally_sort(&summary.scopes), 1);
	expect_entry(&summary.scopes, 0, names[3], 1, 300, 300, 300);
	summary_release(&summary);
	trace_reader_close(reader);
	end_trace();
}

static void summaries_count_everything(void **state)
{
	struct trace_reader *reader;
	struct summary summary;
	struct error err = { 0 };

	(void)state;
	long_trace();
	reader = fixture_read(&f);
	assert_int_equal(summary_collect(&summary, reader, &err), 0);
	assert_int_equal(summary.events, 10);
	assert_int_equal(summary.kinds[EVENT_OP], 8);
	assert_int_equal(summary.kinds[EVENT_SCOPE], 2);
	assert_int_equal(summary.unfinished, 0);
	assert_int_equal(summary.duration_ns, 90000);
	assert_int_equal(tally_count(&summary.tracks, 0), 10);
	assert_int_equal(tally_count(&summary.tracks, 1), 0);
	assert_int_equal(tally_sort(&summary.scopes), 1);
	assert_int_equal(summary.scopes.entries[0].key, names[0]);
	assert_int_equal(summary.scopes.entries[0].count, 1);
	assert_int_equal(summary.scopes.entries[0].total_ns, 89000);
	summary_release(&summary);
	trace_reader_close(reader);
	end_trace();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scopes_are_two_rows),
		cmocka_unit_test(order_survives_a_coarse_clock),
		cmocka_unit_test(other_slices_are_one_row),
		cmocka_unit_test(device_work_and_losses),
		cmocka_unit_test(counters_and_flows),
		cmocka_unit_test(what_never_ended_is_said),
		cmocka_unit_test(a_window_has_what_encloses_it),
		cmocka_unit_test(filters),
		cmocka_unit_test(depths_may_come_from_elsewhere),
		cmocka_unit_test(sets_of_events),
		cmocka_unit_test(csv_has_the_same_columns_everywhere),
		cmocka_unit_test(what_was_seen_from_outside),
		cmocka_unit_test(functions_and_tasks),
		cmocka_unit_test(summaries_count_everything),
		cmocka_unit_test(summaries_tell_self_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
