/* test-import-events.c - lists of events as `inferscope dump` writes them, and as others do. */
#include "import-fixture.h"

static void expect(const char *json, bool lean, const char *lines)
{
	struct imported im;

	import_quoted(&im, events_read_text, json, lean);
	assert_int_equal(im.rc, 0);
	assert_string_equal(im.lines, lines);
	assert_int_equal(im.report.skipped, 0);
	assert_false(im.report.truncated);
	imported_release(&im);
}

static void by_hand(void **state)
{
	(void)state;
	expect("[{'event_type':'cpu_call','name':'main','start_us':10.5,'end_us':20,'thread_id':7,'cpu_id':3,'device_"
	       "id':-1},"
	       "{'event_type':'gpu_kernel','name':'gemm','start_us':12,'end_us':15.25,'thread_id':7,'cpu_id':-1,'"
	       "device_id':1,'grid_dim':[4,2,1],"
	       "'block_dim':[64,1,1],'bytes':0},"
	       "{'event_type':'h2d_copy','name':'copy','start_us':11,'end_us':12,'device_id':1,'bytes':4096}]",
	       false,
	       "cpu_call complete main @10500 thread:7 duration=9500\n"
	       "gpu_kernel complete gemm @12000 stream:0 dev:1 duration=3250 bytes=0 grid_x=4 grid_y=2 grid_z=1 "
	       "block_x=64 block_y=1 block_z=1\n"
	       "h2d_copy complete copy @11000 stream:0 dev:1 duration=1000 bytes=4096\n");
	expect("{'events': [{'event_type':'scope_enter','name':'s','start_us':1,'thread_id':7},"
	       "{'event_type':'scope_exit','name':'s','start_us':1,'end_us':4,'thread_id':7}]}",
	       false, "scope begin s @1000 thread:7\nscope end s @4000 thread:7\n");
	expect("{'event_type':'something','name':'s','start_us':1,'end_us':2,'thread_id':7,'colour':'red'}\n", false,
	       "scope complete s @1000 thread:7 duration=1000 {\"colour\": \"red\", \"event_type\": \"something\"}\n");
}

static void as_dumped(void **state)
{
	(void)state;
	expect("[\n{'event_type': 'runtime_call', 'name': 'cudaLaunchKernel', 'start_us': 1.000, 'end_us': 2.500, "
	       "'thread_id': 2, 'process_id': 1,"
	       " 'correlation_id': 9, 'operator_id': 7, 'graph_id': 3, 'metadata': {'cbid': 211}},\n"
	       "{'event_type': 'd2h_copy', 'name': 'm', 'start_us': 3.000, 'end_us': 4.000, 'stream_id': 7, "
	       "'process_id': 1, 'device_id': 0,"
	       " 'bytes': 64, 'memory_from': 'device', 'memory_to': 'pageable'},\n"
	       "{'event_type': 'sync', 'name': 'w', 'start_us': 3.000, 'end_us': 4.000, 'stream_id': 7, 'process_id': "
	       "1, 'device_id': 0, 'wait_id': 5}\n]",
	       true,
	       "runtime_call complete cudaLaunchKernel @1000 thread:2 pid:1 duration=1500 correlation=9 operator=7 "
	       "graph=3 {\"cbid\": 211}\n"
	       "d2h_copy complete m @3000 stream:7 pid:1 dev:0 duration=1000 bytes=64 memory_kind=259\n"
	       "sync complete w @3000 stream:7 pid:1 dev:0 duration=1000 wait=5\n");
	expect("[{'event_type': 'flow', 'phase': 'flow_out', 'name': 'f', 'start_us': 1, 'thread_id': 2, 'process_id': "
	       "1, 'flow_id': 5},"
	       "{'event_type': 'scope', 'phase': 'async_begin', 'name': 'a', 'start_us': 1, 'thread_id': 2, "
	       "'process_id': 1, 'flow_id': 6},"
	       "{'event_type': 'counter', 'name': 'c', 'start_us': 1, 'process_id': 1, 'value': 1.5},"
	       "{'event_type': 'counter', 'name': 'c', 'start_us': 2, 'process_id': 1, 'value': 9007199254740995},"
	       "{'event_type': 'lost', 'name': '', 'start_us': 3, 'thread_id': 2, 'process_id': 1, 'count': 4, "
	       "'reason': 'overwritten'}]",
	       true,
	       "flow flow_out f @1000 thread:2 pid:1 flow=5\nscope async_begin a @1000 thread:2 pid:1 flow=6\n"
	       "lost instant - @3000 thread:2 pid:1 count=4 reason=1\n"
	       "counter instant c @1000 process:0 pid:1 value=1.5\ncounter instant c @2000 process:0 pid:1 "
	       "integer=9007199254740995\n");
	expect("[{'event_type': 'scope', 'name': 't', 'start_us': 1, 'end_us': 2, 'task_id': 4, 'task': 'Task-4', "
	       "'process_id': 1},"
	       "{'event_type': 'op', 'name': 'o', 'start_us': 1, 'end_us': null, 'thread_id': 2, 'unfinished': true},"
	       "{'event_type': 'scope_exit', 'name': 'o', 'start_us': 1, 'end_us': null, 'thread_id': 2, 'unfinished': "
	       "true},"
	       "{'event_type': 'op', 'name': 'u', 'end_us': 5, 'thread_id': 2, 'unmatched': true}]",
	       true,
	       "scope complete t @1000 task:4(Task-4) pid:1 duration=1000\nop begin o @1000 thread:2\nop end u @5000 "
	       "thread:2\n");
}

static void from_outside(void **state)
{
	(void)state;
	expect("[{'event_type': 'cpu_call', 'name': 'f', 'start_us': 1, 'end_us': 9, 'thread_id': 2, 'process_id': 2},"
	       "{'event_type': 'cpu_sample', 'name': 'sleep', 'start_us': 1, 'end_us': 3, 'thread_id': 2, 'track': 'states', "
	       "'process_id': 2, 'count': 4},"
	       "{'event_type': 'cpu_sample', 'name': 'interpreter', 'start_us': 2, 'thread_id': 2, 'track': 'states', 'process_id': 2},"
	       "{'event_type': 'counter', 'name': 'run_ns', 'start_us': 3, 'thread_id': 2, 'track': 'states', 'process_id': 2, 'value': 7},"
	       "{'event_type': 'counter', 'name': 'host_idle_ns', 'start_us': 3, 'track': 'host', 'value': 8}]",
	       true,
	       "cpu_call complete f @1000 thread:2 pid:2 duration=8000\n"
	       "cpu_sample complete sleep @1000 states:2 pid:2 duration=2000 count=4\n"
	       "cpu_sample instant interpreter @2000 states:2 pid:2\n"
	       "counter instant run_ns @3000 states:2 pid:2 value=7\n"
	       "counter instant host_idle_ns @3000 host:0 value=8\n");
	/* Somebody else's word, and no thread that it could be about. */
	expect("[{'event_type': 'scope', 'name': 's', 'start_us': 1, 'end_us': 2, 'thread_id': 2, 'track': 'main'},"
	       "{'event_type': 'cpu_sample', 'name': 'sleep', 'start_us': 1, 'end_us': 3, 'track': 'states', 'process_id': 2}]",
	       false,
	       "scope complete s @1000 thread:2 duration=1000 {\"track\": \"main\"}\n"
	       "cpu_sample complete sleep @1000 process:0 pid:2 duration=2000\n");
}

/* As lists of the Python package have them: what has no duration ends when it begins. */
static void points(void **state)
{
	(void)state;
	expect("[{'event_type': 'counter', 'name': 'c', 'start_us': 1, 'end_us': 1, 'thread_id': 2, 'value': 3},"
	       "{'event_type': 'instant', 'name': 'i', 'start_us': 2, 'end_us': 2, 'thread_id': 2},"
	       "{'event_type': 'cpu_call', 'name': 'f', 'start_us': 3, 'end_us': 3, 'thread_id': 2}]",
	       true,
	       "counter instant c @1000 thread:2 value=3\ninstant instant i @2000 thread:2\n"
	       "cpu_call complete f @3000 thread:2 duration=0\n");
}

static void functions(void **state)
{
	const struct trace_frame *frame;
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct imported im;
	size_t size;

	(void)state;
	import_quoted(&im, events_read_text,
		      "[{'event_type': 'cpu_call', 'name': 'json.dumps', 'start_us': 1, 'end_us': 2, 'thread_id': 2, "
		      "'cpu_id': 3, 'depth': 4,"
		      " 'module': 'json', 'file': '/x/json.py', 'line': 183}]",
		      true);
	assert_string_equal(im.lines, "cpu_call complete json.dumps @1000 thread:2 duration=1000\n");
	assert_int_equal(trace_reader_decode(im.reader, 0, &batch, NULL), 0);
	assert_int_equal(batch.cpu[0], 3);
	assert_int_equal(batch.depth[0], 4);
	frame = trace_reader_function(im.reader, batch.name[0]);
	assert_non_null(frame);
	assert_string_equal(trace_reader_string(im.reader, frame->module, &size), "json");
	assert_string_equal(trace_reader_string(im.reader, frame->file, &size), "/x/json.py");
	assert_int_equal(frame->line, 183);
	trace_batch_release(&batch);
	imported_release(&im);
}

static void damage(void **state)
{
	struct imported im;

	(void)state;
	import_quoted(&im, events_read_text,
		      "[{'event_type':'op','name':'a','start_us':1,'end_us':2,'thread_id':1},{'event_type':'op','name':"
		      "'b','thread_id':1},"
		      "{'event_type':'op','name':'c','start_us':1e50,'end_us':2},{'name':'d','start_us':1},{'event_"
		      "type':'op','start_us':1},"
		      "{'event_type':'op','name':'e','start_us':5,'end_us':2,'thread_id':1},{'event_type':'op','na",
		      false);
	assert_string_equal(im.lines,
			    "op complete a @1000 thread:1 duration=1000\nop complete e @5000 thread:1 duration=0\n");
	assert_int_equal(im.report.skipped, 5);
	assert_int_equal(im.report.repaired, 1);
	assert_true(im.report.truncated);
	assert_string_equal(im.report.damage[0].reason, "an event without a time");
	assert_string_equal(im.report.damage[1].reason, "an event with an absurd time");
	assert_string_equal(im.report.damage[2].reason, "an event without a type");
	assert_string_equal(im.report.damage[3].reason, "an event without a name");
	assert_string_equal(im.report.damage[4].reason, "the file ends inside an event");
	imported_release(&im);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(as_dumped),
		cmocka_unit_test(from_outside),
		cmocka_unit_test(points),
		cmocka_unit_test(functions),
		cmocka_unit_test(damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
