/* test-import-chrome.c - each phase and category of Chrome's and Kineto's JSON, and each kind of damage. */
#include "import-fixture.h"

static void expect(const char *json, bool lean, const char *lines)
{
	struct imported im;

	import_quoted(&im, chrome_read_text, json, lean);
	assert_int_equal(im.rc, 0);
	assert_string_equal(im.lines, lines);
	assert_int_equal(im.report.skipped, 0);
	assert_int_equal(im.report.damage_count, 0);
	assert_false(im.report.truncated);
	imported_release(&im);
}

#define OP "{'ph': 'X', 'cat': 'cpu_op', 'name': 'a', 'pid': 1, 'tid': 2, 'ts': 10, 'dur': 5}"
#define OP_LINE "op complete a @10000 thread:2 pid:1 duration=5000\n"

static void times(void **state)
{
	(void)state;
	expect("[{'ph':'X','name':'n','pid':1,'tid':2,'ts':1648157123456789.123,'dur':0.0015}]", false,
	       "scope complete n @1648157123456789123 thread:2 pid:1 duration=2\n");
	expect("[{'ph':'X','name':'n','pid':'1','tid':'2','ts':'-1234.5','dur':'2e1'}]", false,
	       "scope complete n @-1234500 thread:2 pid:1 duration=20000\n");
	expect("{'displayTimeUnit': 'ns', 'traceEvents': [" OP "]}", false, OP_LINE);
	expect("{'baseTimeNanoseconds': 1711964646000000000, 'traceEvents': [" OP "]}", false,
	       "op complete a @1711964646000010000 thread:2 pid:1 duration=5000\n");
}

static void categories(void **state)
{
	(void)state;
	expect("[{'ph':'X','cat':'Operator','name':'o','pid':1,'tid':2,'ts':0,'dur':1,'args':{'External "
	       "id':7,'Sequence number':3,"
	       "'Input Dims':[[2,3],[]]}}]",
	       false,
	       "op complete o @0 thread:2 pid:1 duration=1000 operator=7 {\"cat\": \"Operator\", \"Sequence number\": 3, "
	       "\"Input Dims\": [[2, 3], []]}\n");
	expect("[{'ph':'X','cat':'CPU_OP','name':'o','pid':1,'tid':2,'ts':0,'dur':1,'args':{'External id':7,'Sequence "
	       "number':3,"
	       "'Input Dims':[[2,3],[]]}}]",
	       true, "op complete o @0 thread:2 pid:1 duration=1000 operator=7 {\"Sequence number\": 3}\n");
	expect("[{'ph':'X','cat':'python_function','name':'f','pid':1,'tid':2,'ts':0,'dur':1,'args':{'Python id':7}}]",
	       true, "cpu_call complete f @0 thread:2 pid:1 duration=1000\n");
	expect("[{'ph':'X','cat':'cuda_runtime','name':'cudaGraphLaunch','pid':1,'tid':2,'ts':0,'dur':1,"
	       "'args':{'External id':7,'correlation':9,'graph id':3,'cbid':211}}]",
	       false,
	       "runtime_call complete cudaGraphLaunch @0 thread:2 pid:1 duration=1000 correlation=9 operator=7 graph=3 "
	       "{\"cbid\": 211}\n");
	expect("[{'ph':'X','cat':'user_annotation','name':'ProfilerStep#3','pid':1,'tid':2,'ts':0,'dur':1}]", false,
	       "scope complete ProfilerStep#3 @0 thread:2 pid:1 duration=1000\n");
	expect("[{'ph':'X','cat':'my own','name':'n','pid':1,'tid':2,'ts':0,'dur':1,'args':{'x':1}}]", true,
	       "scope complete n @0 thread:2 pid:1 duration=1000 {\"cat\": \"my own\"}\n");
}

static void device_work(void **state)
{
	(void)state;
	expect("[{'ph':'X','cat':'kernel','name':'k','pid':3,'tid':7,'ts':1,'dur':2,'args':{'External "
	       "id':5,'queued':0,'device':3,"
	       "'context':1,'stream':7,'correlation':6,'registers per thread':90,'shared "
	       "memory':49152,'grid':[4,2,1],'block':[64,1,1],"
	       "'est. achieved occupancy %':25,'graph node id':8}}]",
	       true,
	       "gpu_kernel complete k @1000 stream:7 dev:3 duration=2000 correlation=6 grid_x=4 grid_y=2 grid_z=1 "
	       "block_x=64 block_y=1 "
	       "block_z=1 shared_memory=49152 registers=90 operator=5 {\"queued\": 0, \"est. achieved occupancy %\": "
	       "25, \"graph node id\": 8}\n");
	expect("[{'ph':'X','cat':'Kernel','name':'k','pid':0,'tid':'stream 7','ts':1,'dur':2,'args':{'external "
	       "id':5}}]",
	       false, "gpu_kernel complete k @1000 stream:7 dev:0 duration=2000 operator=5 {\"cat\": \"Kernel\"}\n");
	expect("[{'ph':'X','cat':'kernel','name':'ncclDevKernel','pid':0,'tid':7,'ts':1,'dur':2,'args':{'Collective "
	       "name':'allreduce',"
	       "'In msg nelems':100,'Group size':8,'dtype':'Float','Process Group Ranks':'[0, 1, 2, 3]','In split "
	       "size':'[]'}}]",
	       true,
	       "collective complete ncclDevKernel @1000 stream:7 dev:0 duration=2000 {\"Collective name\": "
	       "\"allreduce\", "
	       "\"In msg nelems\": 100, \"Group size\": 8, \"dtype\": \"Float\", \"Process Group Ranks\": 4}\n");
	expect("[{'ph':'X','cat':'gpu_memset','name':'Memset "
	       "(Device)','pid':0,'tid':7,'ts':1,'dur':2,'args':{'bytes':8}}]",
	       false, "memset complete Memset (Device) @1000 stream:7 dev:0 duration=2000 bytes=8\n");
	expect("[{'ph':'X','cat':'mtia_ccp_events','name':'k','pid':9,'tid':408,'ts':1,'dur':2,'args':{'stream':102,'"
	       "correlation':4}},"
	       "{'ph':'M','name':'thread_name','pid':9,'tid':408,'args':{'name':'Stream 102 FW'}}]",
	       false,
	       "gpu_kernel complete k @1000 stream:102(Stream 102 FW) dev:9 duration=2000 correlation=4 "
	       "{\"chrome_tid\": 408, \"cat\": \"mtia_ccp_events\"}\n");
	expect("[{'ph':'X','cat':'gpu_user_annotation','name':'step','pid':0,'tid':7,'ts':1,'dur':2,'args':{'External "
	       "id':1}}]",
	       false, "scope complete step @1000 stream:7 dev:0 duration=2000 operator=1\n");
	expect("[{'ph':'X','cat':'cuda_sync','name':'Stream Wait "
	       "Event','pid':0,'tid':20,'ts':1,'dur':2,'args':{'stream':20,'device':0,"
	       "'correlation':15,'wait_on_cuda_event_record_corr_id':12}},{'ph':'X','cat':'cuda_sync','name':'Event "
	       "Sync','pid':0,'tid':-1,"
	       "'ts':4,'dur':2,'args':{'stream':-1,'device':0,'correlation':16,'wait_on_cuda_event_record_corr_id':-1}}"
	       "]",
	       true,
	       "sync complete Stream Wait Event @1000 stream:20 dev:0 duration=2000 correlation=15 wait=12\n"
	       "sync complete Event Sync @4000 stream:-1(any stream) dev:0 duration=2000 correlation=16\n");
	expect("[{'ph':'X','cat':'cuda_sync','name':'Event "
	       "Sync','pid':0,'tid':-1,'ts':4,'dur':2,'args':{'stream':-1,'device':0,"
	       "'wait_on_cuda_event_record_corr_id':-1}}]",
	       false,
	       "sync complete Event Sync @4000 stream:-1(any stream) dev:0 duration=2000 "
	       "{\"wait_on_cuda_event_record_corr_id\": -1}\n");
}

static void device_work_belongs_to_the_process_of_the_calls(void **state)
{
	(void)state;
	expect("[{'ph':'X','cat':'cuda_runtime','name':'c','pid':77,'tid':2,'ts':0,'dur':1,'args':{'correlation':1}},"
	       "{'ph':'X','cat':'kernel','name':'k','pid':0,'tid':7,'ts':1,'dur':2,'args':{'correlation':1}}]",
	       true,
	       "runtime_call complete c @0 thread:2 pid:77 duration=1000 correlation=1\n"
	       "gpu_kernel complete k @1000 stream:7 pid:77 dev:0 duration=2000 correlation=1\n");
}

static void copies(void **state)
{
	static const struct {
		const char *name, *kind, *expected;
	} cases[] = {
		{ "Memcpy HtoD (Pageable -> Device)", "", "h2d_copy 769" },
		{ "Memcpy HtoD (Pinned -> Device)", "", "h2d_copy 770" },
		{ "Memcpy DtoH (Device -> Pageable)", "", "d2h_copy 259" },
		{ "Memcpy DtoD (Device -> Device)", "", "d2d_copy 771" },
		{ "Memcpy PtoP (Device -> Device)", "", "d2d_copy 771" },
		{ "Memcpy HtoD (Host -> Device)", "", "h2d_copy 768" },
		{ "CopyHostToDevice", "", "h2d_copy 0" },
		{ "CopyDeviceToHost", "", "d2h_copy 0" },
		{ "hipMemcpyAsync", "DtoH", "d2h_copy 0" },
		{ "hipMemcpyAsync", "", "d2d_copy 0" },
	};
	uint64_t memory;
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct json_text name = { cases[i].name, strlen(cases[i].name), false },
				 kind = { cases[i].kind, strlen(cases[i].kind), false };
		unsigned found = chrome_copy_kind(&name, &kind, &memory);

		snprintf(text, sizeof text, "%s %u", event_kind_name(found), (unsigned)memory);
		assert_string_equal(text, cases[i].expected);
	}
	expect("[{'ph':'X','cat':'Memcpy','name':'Memcpy HtoD (Pageable -> "
	       "Device)','pid':0,'tid':7,'ts':1,'dur':2,'args':{'bytes':64,"
	       "'memory bandwidth (GB/s)':7.5}}]",
	       true,
	       "h2d_copy complete Memcpy HtoD (Pageable -> Device) @1000 stream:7 dev:0 duration=2000 bytes=64 "
	       "memory_kind=769 "
	       "{\"memory bandwidth (GB/s)\": 7.5}\n");
}

static void phases(void **state)
{
	struct imported im;

	(void)state;
	expect("[{'ph':'B','cat':'x','name':'b','pid':1,'tid':2,'ts':1},{'ph':'E','pid':1,'tid':2,'ts':2}]", true,
	       "scope begin b @1000 thread:2 pid:1 {\"cat\": \"x\"}\nscope end - @2000 thread:2 pid:1\n");
	expect("[{'ph':'i','name':'i','pid':1,'tid':2,'ts':1,'s':'t'},{'ph':'I','name':'j','pid':1,'tid':2,'ts':2},"
	       "{'ph':'R','name':'r','pid':1,'tid':2,'ts':3}]",
	       false,
	       "instant instant i @1000 thread:2 pid:1\ninstant instant j @2000 thread:2 pid:1\ninstant instant r "
	       "@3000 thread:2 pid:1 {\"chrome_ph\": \"R\"}\n");
	expect("[{'ph':'C','name':'mem','pid':1,'ts':1,'args':{'used':5}},{'ph':'C','name':'mem','pid':1,'ts':2,'args':"
	       "{'a':1.5,'b':'2',"
	       "'c':null}}]",
	       false,
	       "counter instant mem @1000 process:0 pid:1 value=5\ncounter instant mem.a @2000 process:0 pid:1 "
	       "value=1.5\n"
	       "counter instant mem.b @2000 process:0 pid:1 value=2\n");
	import_quoted(&im, chrome_read_text,
		      "[{'ph':'b','cat':'c','id':'0x10','name':'a','pid':1,'tid':2,'ts':1},{'ph':'n','cat':'c','id':16,"
		      "'name':'a','pid':1,"
		      "'tid':2,'ts':2},{'ph':'e','cat':'c','id':16,'name':'a','pid':1,'tid':2,'ts':3},{'ph':'e','cat':'"
		      "d','id':16,'name':'a',"
		      "'pid':1,'tid':2,'ts':4}]",
		      false);
	{
		uint64_t flow[4];
		char phase[4][16];
		const char *line = im.lines;

		for (int i = 0; i < 4; i++, line = strchr(line, '\n') + 1)
			assert_int_equal(
				sscanf(line, "%*s %15s a @%*d thread:2 pid:1 flow=%" SCNu64, phase[i], &flow[i]), 2);
		assert_string_equal(phase[0], "async_begin");
		assert_string_equal(phase[1], "instant");
		assert_string_equal(phase[2], "async_end");
		assert_true(flow[0] == flow[1] && flow[1] == flow[2] && flow[2] != flow[3]);
	}
	imported_release(&im);
}

#define CALL "{'ph':'X','cat':'cuda_runtime','name':'c','pid':1,'tid':2,'ts':1,'dur':1,'args':{'correlation':5}},"
#define ARROW                                                                                                          \
	"{'ph':'s','cat':'ac2g','name':'ac2g','id':5,'pid':1,'tid':2,'ts':1},{'ph':'f','cat':'ac2g','name':'ac2g','"   \
	"id':5,'pid':0,'tid':7,'ts':3,'bp':'e'}"

static void arrows(void **state)
{
	(void)state;
	expect("[" CALL ARROW "]", true, "runtime_call complete c @1000 thread:2 pid:1 duration=1000 correlation=5\n");
	expect("[" CALL ARROW "]", false,
	       "runtime_call complete c @1000 thread:2 pid:1 duration=1000 correlation=5\n"
	       "flow flow_out ac2g @1000 thread:2 pid:1 flow=5\nflow flow_in ac2g @3000 stream:7 pid:1 dev:0 flow=5\n");
	expect("[" ARROW "]", true,
	       "flow flow_out ac2g @1000 thread:2 pid:1 flow=5\nflow flow_in ac2g @3000 stream:7 dev:0 flow=5\n");
	expect("[{'ph':'s','cat':'a','name':'b','id':'x','pid':1,'tid':2,'ts':1},{'ph':'t','cat':'b','name':'b','id':'x','pid':1,'tid':2,"
	       "'ts':1,'args':{'n':1}}]",
	       false,
	       "flow flow_out b @1000 thread:2 pid:1 flow=620452245636752028 {\"cat\": \"a\"}\n"
	       "flow flow_in b @1000 thread:2 pid:1 flow=623269194427660935 {\"chrome_ph\": \"t\", \"n\": 1}\n");
}

static void memory(void **state)
{
	(void)state;
	expect("[{'ph':'i','cat':'cpu_instant_event','name':'[memory]','pid':1,'tid':2,'ts':1,'args':{'Bytes':64,'Addr'"
	       ":4096,'Device Id':0,"
	       "'Device Type':1,'Total Allocated':100,'Ev "
	       "Idx':3}},{'ph':'i','s':'t','name':'[memory]','pid':1,'tid':2,'ts':2,"
	       "'args':{'Device Type':0,'Device Id':-1,'Bytes':-64}}]",
	       true,
	       "memory_alloc instant [memory] @1000 thread:2 pid:1 bytes=64 pointer=4096 {\"Device Id\": 0, \"Device "
	       "Type\": 1, "
	       "\"Total Allocated\": 100}\n"
	       "memory_free instant [memory] @2000 thread:2 pid:1 bytes=64 {\"Device Type\": 0, \"Device Id\": -1}\n");
}

static void names(void **state)
{
	struct imported im;
	size_t size;

	(void)state;
	import_quoted(&im, chrome_read_text,
		      "[{'ph':'M','name':'thread_name','pid':1,'tid':2,'args':{'name':'early'}},"
		      "{'ph':'M','name':'thread_name','pid':1,'tid':99,'args':{'name':'nobody'}}," OP ","
		      "{'ph':'X','name':'m','pid':'Browser','tid':'MainThread','ts':1,'dur':1},"
		      "{'ph':'X','name':'w','pid':1,'tid':'worker 5','ts':1,'dur':1},"
		      "{'ph':'X','name':'w','pid':1,'tid':'other 5','ts':1,'dur':1},"
		      "{'ph':'M','name':'process_name','pid':1,'args':{'name':'python3'}},"
		      "{'ph':'M','name':'process_labels','pid':0,'args':{'labels':'GPU 0'}}]",
		      false);
	assert_int_equal(im.report.events, 4);
	assert_int_equal(trace_reader_process_count(im.reader), 2);
	assert_int_equal(trace_reader_track_count(im.reader), 4);
	assert_int_equal(trace_reader_device_count(im.reader), 0);
	assert_string_equal(trace_reader_string(im.reader, trace_reader_process(im.reader, 0)->name, &size), "python3");
	assert_string_equal(trace_reader_string(im.reader, trace_reader_process(im.reader, 1)->name, &size), "Browser");
	assert_string_equal(trace_reader_string(im.reader, trace_reader_track(im.reader, 0)->name, &size), "early");
	assert_string_equal(trace_reader_string(im.reader, trace_reader_track(im.reader, 1)->name, &size),
			    "MainThread");
	assert_string_equal(trace_reader_string(im.reader, trace_reader_track(im.reader, 2)->name, &size), "worker 5");
	assert_int_equal(trace_reader_track(im.reader, 2)->os_id, 5);
	assert_string_equal(trace_reader_string(im.reader, trace_reader_track(im.reader, 3)->name, &size), "other 5");
	assert_true(trace_reader_track(im.reader, 3)->os_id > UINT32_MAX);
	imported_release(&im);
}

static void the_file_about_itself(void **state)
{
	const struct trace_device *d;
	const uint8_t *raw;
	struct buffer text = BUFFER_INIT;
	struct imported im;
	size_t size;

	(void)state;
	import_quoted(&im, chrome_read_text,
		      "{'schemaVersion': 1, 'traceEvents': [" OP
		      "], 'deviceProperties': [{'id': 0, 'name': 'NVIDIA H100', 'numSms': 132, 'warpSize': 32},"
		      "{'id': 1, 'name': '', 'numSms': 304, 'warpSize': 64}], 'distributedInfo': {'backend': 'nccl', "
		      "'rank': 3, 'world_size': 8},"
		      "'host_name': 'node7', 'traceName': '/tmp/x.json', 'stackFrames': {'1': {'name': 'f'}}}",
		      false);
	assert_int_equal(trace_reader_device_count(im.reader), 2);
	d = trace_reader_device(im.reader, 0);
	assert_int_equal(d->kind, DEVICE_CUDA);
	assert_string_equal(trace_reader_string(im.reader, d->name, &size), "NVIDIA H100");
	assert_int_equal(msgpack_to_json(d->properties, d->properties_size, &text), 0);
	buffer_append(&text, "", 1);
	assert_string_equal((char *)text.data, "{\"numSms\": 132, \"warpSize\": 32}");
	assert_int_equal(trace_reader_device(im.reader, 1)->kind, DEVICE_HIP);
	assert_int_equal(trace_reader_process(im.reader, 0)->rank, 3);
	assert_string_equal(
		trace_reader_string(
			im.reader, trace_reader_host(im.reader, trace_reader_process(im.reader, 0)->host)->name, &size),
		"node7");
	assert_int_equal(trace_reader_info_raw(im.reader, "sources", &raw, &size), 0);
	buffer_clear(&text);
	assert_int_equal(msgpack_to_json(raw, size, &text), 0);
	buffer_append(&text, "", 1);
	assert_non_null(strstr((char *)text.data, "\"traceName\": \"/tmp/x.json\""));
	assert_non_null(strstr((char *)text.data, "\"backend\": \"nccl\""));
	assert_non_null(strstr((char *)text.data, "\"stackFrames\": {\"1\": {\"name\": \"f\"}}"));
	buffer_release(&text);
	imported_release(&im);
}

/* Documents that are odd, but lose nothing. */
static void odd_documents(void **state)
{
	static const char *const odd[] = {
		"\xef\xbb\xbf[" OP "]",
		"\r\n [ " OP " , ]\r\n",
		"[" OP "] []",
		"{'traceEvents':[" OP "],}",
		"{'traceEvents':null} {'traceEvents':[" OP "]}",
		OP "\n",
		"{'big': [[1, '[\\'', {'x': ']'}]], 'traceEvents': [" OP "]}",
		"[{'ph':'X','ph':'B','ph':'X','cat':'fee','cat':'cpu_op','name':'b','name':'a','pid':1,'tid':2,'ts':3,'"
		"ts':10,'dur':5}]",
		"[{'args':{},'dur':5,'ts':10,'tid':2,'pid':1,'name':'a','cat':'cpu_op','ph':'X','tts':NaN,'x':Infinity,"
		"'y':null,'z':[{}]}]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
		expect(odd[i], false, OP_LINE);
}

struct damage_case {
	const char *json;
	unsigned events, skipped, repaired;
	bool truncated;
	const char *reason; /* of the first damage */
};

static void damage(void **state)
{
	static const struct damage_case cases[] = {
		{ "[" OP ", ", 1, 0, 0, true, NULL },
		{ "{'traceEvents': [" OP ",\n" OP, 2, 0, 0, true, NULL },
		{ "[" OP ", {'ph': 'X', 'na", 1, 1, 0, true, "the file ends inside an event" },
		{ "[" OP " " OP "]", 2, 0, 0, false, NULL },
		{ "[{'ph':'X','name':'say 'hi' now','pid':1,'tid':2,'ts':1,'dur':2}," OP "]", 2, 0, 1, false, NULL },
		{ "[{'ph':'X','name':'f','pid':1,'tid':2,'ts':1,'dur':2,'args':{'s':'a 'b', c','t':1}}," OP "]", 2, 0,
		  1, false, NULL },
		{ "[{'ph':'X','name':'f' 'pid':1,'tid':2,'ts':1 'dur':2}," OP "]", 2, 0, 1, false, NULL },
		{ "[{'ph':'X','name':'f','pid':1,'tid':2,'ts':1,'dur':-2}," OP "]", 2, 0, 1, false, NULL },
		{ "[{'ph':'X','name':'f','pid':1,'tid':2,'ts':1}," OP "]", 2, 0, 1, false, NULL },
		{ "[{'ph':'X','name':'f','pid':1,'tid':2,'dur':1}," OP "]", 1, 1, 0, false, "an event without a time" },
		{ "[{'ph':'X','name':'f','pid':1,'tid':2,'ts':null,'dur':1}," OP "]", 1, 1, 0, false,
		  "an event without a time" },
		{ "[{'ph':'X','name':'f','pid':1,'tid':2,'ts':1e40,'dur':1}," OP "]", 1, 1, 0, false,
		  "an event with an absurd time" },
		{ "[{'ph':'X','name':'f','pid':1,'tid':2,'ts':1,'dur':1e40}," OP "]", 1, 1, 0, false,
		  "an event with an absurd duration" },
		{ "[{'ph':'X','pid':1,'tid':2,'ts':1,'dur':1}," OP "]", 1, 1, 0, false, "an event without a name" },
		{ "[{'name':'f','pid':1,'tid':2,'ts':1,'dur':1}," OP "]", 1, 1, 0, false, "an event without a phase" },
		{ "[{'ph':'?','name':'f','pid':1,'tid':2,'ts':1,'dur':1}," OP "]", 1, 1, 0, false,
		  "an event of an unknown phase" },
		{ "[" OP ", {'ph':'X','name':?,'ts':1}, " OP "]", 2, 1, 0, false, "a value is missing" },
		{ "[" OP ", {'ph':'X','name':'never ends\n}, " OP "]", 2, 1, 0, false, "a key is missing" },
		{ "[" OP ", {'ph' 'X'}, " OP "]", 2, 1, 0, false, "a colon is missing" },
		{ "[" OP ", {ph: 1}, " OP "]", 2, 1, 0, false, "a key is missing" },
		{ "[" OP ", 5, 'x', null, " OP "]", 2, 3, 0, false, "something that is no event" },
		{ "[" OP ", garbage " OP "]", 2, 1, 0, false, "something that is no event" },
		{ "[" OP ", garbage, " OP "]", 2, 1, 0, false, "something that is no event" },
		{ "{'traceEvents': [" OP ", {'ph':'X','name':?}], 'traceName': 'x'}", 1, 1, 0, false,
		  "a value is missing" },
		{ "{'traceEvents': [" OP "}", 1, 0, 1, false, NULL },
		{ "[" OP "}, " OP "]", 2, 0, 1, false, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct damage_case *c = &cases[i];
		struct imported im;

		import_quoted(&im, chrome_read_text, c->json, false);
		if (im.rc || im.report.events != c->events || im.report.skipped != c->skipped ||
		    im.report.repaired != c->repaired || im.report.truncated != c->truncated ||
		    (im.report.damage_count > 0) != (c->reason != NULL) ||
		    (c->reason && strcmp(c->reason, im.report.damage[0].reason)))
			fail_msg("%s\ngave %d events %d skipped %d repaired %d truncated %d damage %d %s", c->json,
				 im.rc, (int)im.report.events, (int)im.report.skipped, (int)im.report.repaired,
				 im.report.truncated, (int)im.report.damage_count, im.report.damage[0].reason);
		imported_release(&im);
	}
}

static void damage_is_where_it_is(void **state)
{
	static const char json[] = "[" OP ", {'ph':'X','name':?,'ts':1}, " OP "]";
	const char *bad = strstr(json, "{'ph':'X','name':?"), *next = strstr(bad, OP);
	struct imported im;

	(void)state;
	import_quoted(&im, chrome_read_text, json, false);
	assert_int_equal(im.report.damage_count, 1);
	assert_int_equal(im.report.damage[0].offset, bad - json);
	assert_int_equal(im.report.damage[0].size, next - bad);
	imported_release(&im);
}

static void mended_names_are_whole(void **state)
{
	struct imported im;

	(void)state;
	import_quoted(&im, chrome_read_text, "[{'ph':'X','name':'say 'hi', now','pid':1,'tid':2,'ts':1,'dur':2}]",
		      false);
	assert_string_equal(im.lines, "scope complete say \"hi\", now @1000 thread:2 pid:1 duration=2000\n");
	imported_release(&im);
}

static void nesting_has_a_limit(void **state)
{
	struct buffer text = BUFFER_INIT;
	struct imported im;

	(void)state;
	buffer_printf(
		&text,
		"[{\"ph\":\"X\",\"name\":\"n\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1,\"args\":{\"ok\":1,\"deep\":");
	for (int i = 0; i < 5000; i++)
		buffer_append(&text, "[", 1);
	for (int i = 0; i < 5000; i++)
		buffer_append(&text, "]", 1);
	buffer_printf(&text, "}}]");
	import_text(&im, chrome_read_text, (char *)text.data, text.size, 0, false);
	assert_string_equal(im.lines, "scope complete n @1000 thread:2 pid:1 duration=1000 {\"ok\": 1}\n");
	assert_int_equal(im.report.cut, 1);
	assert_int_equal(im.report.skipped, 0);
	assert_int_equal(im.report.damage_count, 1);
	assert_string_equal(im.report.damage[0].reason, JSON_TOO_DEEP);
	assert_int_equal(im.report.damage[0].offset, 1);
	buffer_release(&text);
	imported_release(&im);
}

static void hostile_names(void **state)
{
	static const char json[] = "[{\"ph\":\"X\",\"name\":\"<script>\\u001b[2J\\u0000\xff\xfe\\ud83d\\ude00\","
				   "\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1}]";
	static const char expected[] = "<script>\x1b[2J\0\xff\xfe\xf0\x9f\x98\x80";
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct imported im;
	const char *name;
	size_t size;

	(void)state;
	import_text(&im, chrome_read_text, json, sizeof json - 1, 0, false);
	assert_int_equal(trace_reader_decode(im.reader, 0, &batch, NULL), 0);
	name = trace_reader_string(im.reader, batch.name[0], &size);
	assert_int_equal(size, sizeof expected - 1);
	assert_memory_equal(name, expected, size);
	trace_batch_release(&batch);
	imported_release(&im);
}

static void nothing_in_it(void **state)
{
	static const char *const nothings[] = { "", "   ", "hello", "\xff\xfe{", "nul" };
	struct imported im;

	(void)state;
	for (size_t i = 0; i < sizeof nothings / sizeof nothings[0]; i++) {
		struct output *o;
		struct fixture f;

		im = (struct imported){ 0 };
		fixture_open(&f, NULL);
		assert_int_equal(output_new(&o, f.w, &(struct import_options){ 0 }), 0);
		assert_int_equal(output_begin_file(o, "x", &im.report, NULL), 0);
		assert_true(chrome_read_text(nothings[i], strlen(nothings[i]), 0, o, &im.err) < 0);
		assert_int_equal(im.err.exit_code, 3);
		output_free(o);
		fixture_close(&f);
	}
}

static void detection(void **state)
{
	static const struct {
		const char *head;
		bool chrome, events;
	} cases[] = {
		{ "{\"schemaVersion\": 1, \"traceEvents\": [", true, false },
		{ " \n[{\"name\": \"x\", \"ph\": \"X\"", true, false },
		{ "[]", true, false },
		{ "[{\"event_type\": \"op\", \"name\": \"x\"", false, true },
		{ "\xef\xbb\xbf[\n{\"name\": \"x\", \"event_type\": \"op\"", false, true },
		{ "[{\"ph\": \"X\", \"args\": {\"event_type\": 1}", true, false },
		{ "{\"name\": \"package\", \"version\": \"1.0\"}", false, false },
		{ "[1, 2, 3]", false, false },
		{ "SQLite format 3", false, false },
		{ "", false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const uint8_t *head = (const uint8_t *)cases[i].head;
		size_t size = strlen(cases[i].head);

		if (chrome_importer.detect(head, size) != cases[i].chrome && !cases[i].events)
			fail_msg("chrome: %s", cases[i].head);
		if (events_importer.detect(head, size) != cases[i].events)
			fail_msg("events: %s", cases[i].head);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times),
		cmocka_unit_test(categories),
		cmocka_unit_test(device_work),
		cmocka_unit_test(device_work_belongs_to_the_process_of_the_calls),
		cmocka_unit_test(copies),
		cmocka_unit_test(phases),
		cmocka_unit_test(arrows),
		cmocka_unit_test(memory),
		cmocka_unit_test(names),
		cmocka_unit_test(the_file_about_itself),
		cmocka_unit_test(odd_documents),
		cmocka_unit_test(damage),
		cmocka_unit_test(damage_is_where_it_is),
		cmocka_unit_test(mended_names_are_whole),
		cmocka_unit_test(nesting_has_a_limit),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(nothing_in_it),
		cmocka_unit_test(detection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
