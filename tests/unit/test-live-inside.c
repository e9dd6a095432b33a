/* test-live-inside.c - live/inside.h: steps, open scopes and places, from rings through a real drain.  Times are made up. */
#include "live/inside.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

#include "ring-world.h"

#include "base/msgpack.h"
#include "ring/names.h"

#define MS 1000000ull
#define NEAR(a, b, by) assert_true(fabs((a) - (b)) <= (by))

static struct session session;
static struct trace_writer *writer;
static struct drain *drain;
static struct name_table *names;
static struct ring_memory *memory;
static struct ring_producer *thread;
static struct live_inside *inside;
static struct live_snapshot snapshot;
static char trace_path[] = "/tmp/test-inside-XXXXXX";
static uint64_t now; /* nanoseconds, which are the ticks */

static void start_for(const char *step)
{
	struct session_options options = { .budget_bytes = 64 * CHUNK_SIZE, .overflow = OVERFLOW_WRAP,
					   .clock = CLOCK_SOURCE_MONOTONIC, .trace_path = "trace", .partial_path = "partial" };
	struct trace_writer_options writer_options = { 0 };
	struct trace_clock clock = { .kind = CLOCK_KIND_MONOTONIC, .rate = 1000000000 };
	struct live_inside_options inside_options = { .clock = CLOCK_SOURCE_MONOTONIC, .rate = 1000000000, .step = step };
	struct ring_process_options process = { .start_ticks = 1 };
	uint32_t serial = 0;
	int fd;

	strcpy(trace_path + strlen(trace_path) - 6, "XXXXXX");
	fd = mkstemp(trace_path);
	assert_true(fd >= 0);
	assert_int_equal(session_create(&session, &options, NULL), 0);
	assert_int_equal(trace_writer_open(&writer, fd, &writer_options, NULL), 0);
	assert_int_equal(trace_writer_clock(writer, &clock), 0);
	assert_int_equal(drain_new(&drain, &session, writer, 1), 0);
	names = name_table_map();
	process.session = session.page;
	process.folder = session.folder;
	process.chunk_limit = session.page->chunk_limit;
	process.first_name = atomic_load(&names->next);
	memory = ring_memory_map(session.page->chunk_limit);
	assert_int_equal(ring_process_attach(memory, &process), 0);
	thread = ring_producer_open(memory, 100, 0, &serial);
	now = 1000 * MS;
	inside_options.writer = writer;
	inside_options.start_ticks = (int64_t)now;
	assert_int_equal(live_inside_new(&inside, drain, &inside_options), 0);
}

static int end(void **state)
{
	(void)state;
	live_inside_free(inside);
	drain_finish(drain, NULL);
	trace_writer_abandon(writer);
	drain_free(drain);
	session_end(&session);
	unlink(trace_path);
	return 0;
}

static void emit(uint32_t kind, uint32_t phase, const char *text, uint32_t depth)
{
	uint32_t id = text ? name_intern(names, &memory->process, text, strlen(text)) : 0;
	slot_word *slot = thread->cursor != thread->end || ring_producer_refill(thread) ? thread->cursor : NULL;

	assert_non_null(slot);
	ring_slot_write(slot, now, 0, ring_word_names(id, 0), ring_word_rest(3, depth, kind, 0, EVENT_FLAGS(phase, 0, 0) | EVENT_FLAG_THREAD));
	ring_publish(thread, 1);
}

static void begin(uint32_t kind, const char *text, uint32_t depth)
{
	emit(kind, PHASE_BEGIN, text, depth);
}

static void finish(uint32_t kind, uint32_t depth)
{
	emit(kind, PHASE_END, NULL, depth);
}

/* A slice that takes so many milliseconds. */
static void slice(uint32_t kind, const char *text, uint32_t depth, double ms)
{
	begin(kind, text, depth);
	now += (uint64_t)(ms * (double)MS);
	finish(kind, depth);
}

/* What the recorder's loop does, with one thread of ours as it is seen from outside. */
static void look_while(const char *state, double cpu)
{
	(void)drain_pass(drain, NULL);
	(void)trace_writer_flush(writer, NULL);
	(void)drain_pass(drain, NULL);
	live_snapshot_clear(&snapshot);
	snapshot.thread_count = 1;
	snapshot.threads[0].pid = snapshot.threads[0].tid = getpid();
	snapshot.threads[0].cpu = cpu;
	snprintf(snapshot.threads[0].state, sizeof snapshot.threads[0].state, "%s", state);
	live_inside_fill(inside, now, &snapshot);
}

static void look(void)
{
	look_while("running", 1);
}

static const struct live_place *place(const char *text)
{
	for (uint32_t i = 0; i < snapshot.place_count; i++)
		if (strcmp(snapshot.places[i].name, text) == 0)
			return &snapshot.places[i];
	return NULL;
}

static const struct live_slice *shown(const char *text)
{
	for (uint32_t i = 0; i < snapshot.slice_count; i++)
		if (strcmp(snapshot.slices[i].name, text) == 0)
			return &snapshot.slices[i];
	return NULL;
}

/* ---- Tests ------------------------------------------------------------------------ */

static void nothing_is_known_of_a_silent_program(void **state)
{
	(void)state;
	start_for(NULL);
	look();
	assert_false(snapshot.steps.known);
	assert_true(isnan(snapshot.steps.median_s));
	assert_int_equal(snapshot.place_count, 0);
	assert_true(snapshot.events.recorded);
	assert_int_equal(snapshot.events.total, 0);
}

static void open_scopes_are_shown(void **state)
{
	(void)state;
	start_for(NULL);
	begin(EVENT_SCOPE, "epoch", 0);
	begin(EVENT_CPU_CALL, "train.run", 1);
	begin(EVENT_SCOPE, "load", 2);
	begin(EVENT_OP, "aten::copy_", 3);
	look();
	assert_string_equal(snapshot.threads[0].scope, "load");
	assert_string_equal(snapshot.threads[0].op, "aten::copy_");
	assert_int_equal(snapshot.threads[0].depth, 3);
	finish(EVENT_OP, 3);
	finish(EVENT_SCOPE, 2);
	look();
	assert_string_equal(snapshot.threads[0].scope, "epoch");
	assert_string_equal(snapshot.threads[0].op, "");
	assert_int_equal(snapshot.threads[0].depth, 1);
	emit(EVENT_INSTANT, PHASE_INSTANT, "mark", 0); /* the ends of the rest were lost */
	look();
	assert_int_equal(snapshot.threads[0].depth, 0);
	assert_string_equal(snapshot.threads[0].scope, "");
}

/* The counter of a process that records operators for a part of the time. */
static void weigh_inside(double weight, uint32_t depth)
{
	uint32_t id = name_intern(names, &memory->process, "inferscope.operators", strlen("inferscope.operators"));
	uint64_t bits;

	memcpy(&bits, &weight, sizeof bits);
	assert_true(thread->cursor != thread->end || ring_producer_refill(thread));
	ring_slot_write(thread->cursor, now, bits, ring_word_names(id, 0),
			ring_word_rest(3, depth, EVENT_COUNTER, 0, EVENT_FLAGS(PHASE_INSTANT, FIELD_VALUE, 0) | EVENT_FLAG_THREAD));
	ring_publish(thread, 1);
}

static void weigh(double weight)
{
	weigh_inside(weight, 0);
}

static void places_have_their_share(void **state)
{
	(void)state;
	start_for(NULL);
	begin(EVENT_SCOPE, "main loop", 0); /* never ends: what is open counts, too */
	for (int i = 0; i < 400; i++) {
		slice(EVENT_OP, "aten::mm", 1, 6);
		slice(EVENT_SCOPE, "write", 1, 3);
		now += 1 * MS;
		if (i % 10 == 9)
			look();
	}
	assert_non_null(place("aten::mm"));
	NEAR(place("aten::mm")->share, 0.6, 0.01);
	NEAR(place("aten::mm")->calls, 100, 5);
	assert_string_equal(place("aten::mm")->kind, "op");
	NEAR(place("write")->share, 0.3, 0.01);
	NEAR(place("main loop")->share, 0.1, 0.01); /* what is left of it: each moment is one place's */
	assert_string_equal(snapshot.places[0].name, "aten::mm");
	NEAR(snapshot.doing.operators, 0.6, 0.01);
	NEAR(snapshot.doing.scopes, 0.4, 0.01);
	assert_int_equal(snapshot.doing.tid, getpid());
	now += 20000 * MS; /* what was is forgotten */
	look();
	assert_null(place("aten::mm"));
	NEAR(place("main loop")->share, 1, 0.01);
}

/* Of ten milliseconds six are an operator's, but of four times ten only one is recorded. */
static void operators_of_a_part_of_the_time(void **state)
{
	(void)state;
	start_for(NULL);
	for (int i = 0; i < 400; i++) {
		if (i % 4 == 0) {
			weigh(4);
			slice(EVENT_OP, "aten::mm", 0, 6);
		} else {
			weigh(0);
			now += 6 * MS;
		}
		slice(EVENT_SCOPE, "write", 0, 4);
		if (i % 40 == 39)
			look();
	}
	NEAR(place("aten::mm")->share, 0.6, 0.01);
	NEAR(place("aten::mm")->calls, 100, 5);
	NEAR(place("write")->share, 0.4, 0.01);
	weigh(NAN); /* whoever says so: then they are recorded */
	slice(EVENT_OP, "aten::add", 0, 20000);
	look();
	NEAR(place("aten::add")->share, 1, 0.01);
}

static double all_shares(void)
{
	double sum = 0;

	for (uint32_t i = 0; i < snapshot.place_count; i++)
		sum += snapshot.places[i].share;
	return sum;
}

/* What an operator calls is its own, be it operators or scopes of a library; a wait for input is one, whatever the program does in it. */
static void each_moment_is_one_place(void **state)
{
	(void)state;
	start_for(NULL);
	for (int i = 0; i < 400; i++) {
		begin(EVENT_SCOPE, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0);
		slice(EVENT_OP, "aten::stack", 1, 2);
		finish(EVENT_SCOPE, 0);
		begin(EVENT_CPU_CALL, "Net.forward", 0);
		begin(EVENT_OP, "aten::conv2d", 1);
		begin(EVENT_OP, "aten::convolution", 2);
		slice(EVENT_SCOPE, "reorder", 3, 1);
		slice(EVENT_SCOPE, "convolution", 3, 3);
		finish(EVENT_OP, 2);
		now += 1 * MS;
		finish(EVENT_OP, 1);
		now += 2 * MS;
		finish(EVENT_CPU_CALL, 0);
		now += 1 * MS;
		look();
	}
	NEAR(place("aten::conv2d")->share, 0.5, 0.01);
	NEAR(place("Net.forward")->share, 0.2, 0.01);
	NEAR(place("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")->share, 0.2, 0.01);
	assert_null(place("aten::convolution"));
	assert_null(place("convolution"));
	NEAR(all_shares(), 0.9, 0.01);
	NEAR(snapshot.doing.input, 0.2, 0.01);
	NEAR(snapshot.doing.operators, 0.5, 0.01);
	NEAR(snapshot.doing.functions, 0.2, 0.01);
}

/* Operators stand for four times their own time, which the scope around them seems to have had. */
static void a_part_of_the_time_is_taken_from_what_is_around(void **state)
{
	(void)state;
	start_for(NULL);
	begin(EVENT_SCOPE, "serve", 0);
	for (int i = 0; i < 400; i++) {
		weigh_inside(i % 4 == 0 ? 4 : 0, 1);
		if (i % 4 == 0)
			slice(EVENT_OP, "aten::mm", 1, 6);
		else
			now += 6 * MS;
		now += 4 * MS;
		if (i % 40 == 39)
			look();
	}
	NEAR(place("aten::mm")->share, 0.6, 0.01);
	NEAR(place("serve")->share, 0.4, 0.01);
}

static void many_names_do_no_harm(void **state)
{
	char text[32];

	(void)state;
	start_for(NULL);
	for (int i = 0; i < 12000; i++) {
		slice(EVENT_OP, "aten::mm", 0, 0.1);
		snprintf(text, sizeof text, "name %d of many", i);
		slice(EVENT_SCOPE, text, 0, 0.01);
		if (i % 1000 == 999)
			look();
	}
	assert_string_equal(snapshot.places[0].name, "aten::mm");
	NEAR(snapshot.places[0].share, 0.1 / 0.11, 0.001);
}

static void scopes_called_steps_are_steps(void **state)
{
	(void)state;
	start_for(NULL);
	begin(EVENT_SCOPE, "epoch", 0);
	for (int i = 0; i < 300; i++) {
		char text[32];

		snprintf(text, sizeof text, "train_step %d", i);
		begin(EVENT_SCOPE, text, 1);
		slice(EVENT_OP, "aten::mm", 2, 30);
		slice(EVENT_OP, "aten::add", 2, 10);
		finish(EVENT_SCOPE, 1);
		now += (i % 20 == 0 ? 60 : 10) * MS;
		if (i % 3 == 0)
			look();
	}
	look();
	assert_true(snapshot.steps.known);
	assert_memory_equal(snapshot.steps.name, "train_step", 10);
	assert_int_equal(snapshot.steps.count, 299); /* the last one lasts until the next */
	NEAR(snapshot.steps.median_s, 0.05, 1e-6);
	NEAR(snapshot.steps.p95_s, 0.05, 1e-6);
	NEAR(snapshot.steps.last_s, 0.05, 1e-6);
	NEAR(snapshot.steps.rate, 19, 1);
	NEAR(snapshot.steps.since_s, 0.05, 1e-6);
	NEAR(snapshot.steps.sum_s, 284 * 0.05 + 15 * 0.1, 1e-6);
	assert_true(isnan(snapshot.steps.input_wait)); /* no loader */
	assert_int_equal(snapshot.steps.tid, getpid());
	assert_non_null(shown("aten::mm"));
	NEAR(shown("aten::mm")->duration_s, 0.03, 1e-6);
	NEAR(shown("aten::add")->begin_s, 0.03, 1e-6);
	assert_int_equal(shown("aten::mm")->depth, 1);
	assert_int_equal(snapshot.slice_count, 3);
	assert_int_equal(snapshot.slices_left_out, 0);
}

static void the_optimizer_and_the_loader_tell_steps(void **state)
{
	(void)state;
	start_for(NULL);
	for (int i = 0; i < 120; i++) {
		slice(EVENT_OP, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, 20);
		if (i == 20)
			assert_memory_equal(snapshot.steps.name, "enumerate(DataLoader)", 21); /* before there was anything better */
		slice(EVENT_OP, "aten::linear", 0, 60);
		if (i >= 20)
			slice(EVENT_SCOPE, "Optimizer.step#SGD.step", 0, 20);
		else
			now += 20 * MS;
		look();
	}
	assert_string_equal(snapshot.steps.name, "Optimizer.step#SGD.step");
	NEAR(snapshot.steps.median_s, 0.1, 1e-6);
	NEAR(snapshot.steps.input_wait, 0.2, 0.001);
	NEAR(snapshot.steps.input_sum_s / snapshot.steps.sum_s, 0.2, 0.01);
}

static void the_asked_for_name_wins(void **state)
{
	(void)state;
	start_for("window");
	for (int i = 0; i < 30; i++) {
		char text[32];

		snprintf(text, sizeof text, "window #%d", i);
		begin(EVENT_SCOPE, text, 0);
		slice(EVENT_SCOPE, "batch", 1, 5);
		slice(EVENT_SCOPE, "batch", 1, 5);
		finish(EVENT_SCOPE, 0);
		look();
	}
	assert_memory_equal(snapshot.steps.name, "window #", 8);
	NEAR(snapshot.steps.median_s, 0.01, 1e-6);
}

static void the_scope_that_covers_most_is_a_step(void **state)
{
	(void)state;
	start_for(NULL);
	for (int i = 0; i < 50; i++) {
		slice(EVENT_SCOPE, "fetch", 0, 5);
		slice(EVENT_SCOPE, "compute", 0, 20);
		look();
	}
	assert_string_equal(snapshot.steps.name, "compute");
	NEAR(snapshot.steps.median_s, 0.025, 1e-6);
}

static void requests_are_steps_and_no_request_is_idle(void **state)
{
	(void)state;
	start_for(NULL);
	for (int i = 0; i < 40; i++) {
		slice(EVENT_SCOPE, "handle_request", 0, 12);
		now += (100 + 50 * (uint64_t)(i % 5)) * MS;
		look_while("poll", 0.05);
	}
	assert_string_equal(snapshot.steps.name, "handle_request");
	NEAR(snapshot.steps.median_s, 0.012, 1e-6);
	assert_true(snapshot.steps.idle);
	begin(EVENT_SCOPE, "handle_request", 0); /* and hangs */
	now += 5000 * MS;
	look_while("socket_network", 0);
	assert_false(snapshot.steps.idle);
	NEAR(snapshot.steps.quiet_s, 5, 0.001);
	NEAR(snapshot.steps.since_s, 5, 0.001);
}

/* A thread for each request, as simple servers have it; some at the same time. */
static void requests_of_many_threads_are_steps(void **state)
{
	struct ring_producer *all[20];
	uint32_t serial;

	(void)state;
	start_for(NULL);
	for (int i = 0; i < 20; i++) {
		serial = 0;
		all[i] = thread = ring_producer_open(memory, now, 0, &serial);
		begin(EVENT_SCOPE, "handle_request", 0);
		now += 8 * MS;
		if (i > 0) {
			thread = all[i - 1];
			finish(EVENT_SCOPE, 0);
			ring_producer_exit(thread);
		}
		now += 42 * MS;
		look_while("poll", 0);
	}
	assert_string_equal(snapshot.steps.name, "handle_request");
	assert_int_equal(snapshot.steps.count, 19);
	NEAR(snapshot.steps.median_s, 0.058, 1e-6);
	NEAR(snapshot.steps.rate, 20, 2);
	assert_false(snapshot.steps.idle); /* the last one is at it */
	thread = all[19];
	finish(EVENT_SCOPE, 0);
	now += 60000 * MS;
	look_while("poll", 0);
	assert_true(snapshot.steps.idle);
}

static void a_loop_that_waits_between_steps_is_not_idle(void **state)
{
	(void)state;
	start_for(NULL);
	for (int i = 0; i < 40; i++) {
		slice(EVENT_SCOPE, "step", 0, 20);
		look();
	}
	now += 9000 * MS;
	look_while("lock", 0);
	assert_false(snapshot.steps.idle);
	NEAR(snapshot.steps.since_s, 9.02, 0.001);
	NEAR(snapshot.steps.quiet_s, 9, 0.001);
}

/* More slices than there is room for: the longest are kept. */
static void the_longest_slices_are_kept(void **state)
{
	(void)state;
	start_for(NULL);
	for (int i = 0; i < 6; i++) {
		begin(EVENT_SCOPE, "step", 0);
		for (int k = 0; k < 1000; k++)
			slice(EVENT_OP, "small", 1, 0.01);
		for (int k = 0; k < 50; k++)
			slice(EVENT_OP, "large", 1, 0.2);
		finish(EVENT_SCOPE, 0);
		look();
	}
	assert_int_equal(snapshot.slice_count, LIVE_SLICES);
	assert_int_equal(snapshot.slices_left_out, 1051 - LIVE_SLICES);
	assert_string_equal(snapshot.slices[0].name, "step");
	{
		uint32_t large = 0;

		for (uint32_t i = 0; i < snapshot.slice_count; i++) {
			large += strcmp(snapshot.slices[i].name, "large") == 0;
			assert_true(i == 0 || snapshot.slices[i].begin_s >= snapshot.slices[i - 1].begin_s);
		}
		assert_int_equal(large, 50);
	}
}

static void nonsense_does_no_harm(void **state)
{
	uint32_t seed = 12345;

	(void)state;
	start_for(NULL);
	for (int i = 0; i < 60000; i++) {
		seed = seed * 1664525 + 1013904223;
		now += seed >> 20;
		emit(1 + (seed >> 8) % (EVENT_KIND_COUNT - 1), (seed >> 16) % PHASE_COUNT, (seed >> 4) % 3 ? "step" : "other", (seed >> 12) % 3 ?
		     (seed >> 24) % 8 : seed >> 16);
		if (i % 5000 == 4999)
			look();
	}
	assert_true(snapshot.thread_count == 1);
}

/* ---- Steps that nobody marks --------------------------------------------------- */

static void op(const char *text, double ms)
{
	slice(EVENT_OP, text, 0, ms);
}

/* A model of layers that are alike: 20 ms. */
static void run_model(int layers, bool asks)
{
	op("aten::embedding", 1);
	for (int i = 0; i < layers; i++) {
		op("aten::layer_norm", 0.5);
		op("aten::linear", 1);
		op("aten::gelu", 0.5);
	}
	op("aten::softmax", 19 - 2 * layers - (asks ? 0.5 : 0));
	if (asks)
		op("aten::item", 0.5);
}

static void operators_that_repeat_are_steps(void **state)
{
	(void)state;
	start_for(NULL);
	for (int i = 0; i < 100; i++) {
		op("aten::rand", 1);
		op("aten::conv2d", 8);
		op("aten::relu", 1);
		op("aten::conv2d", 8);
		op("aten::relu", 1);
		op("aten::item", 0);
		now += (i % 20 == 0 ? 11 : 1) * MS;
		if (i % 10 == 0)
			look();
	}
	look();
	assert_true(snapshot.steps.known);
	assert_string_equal(snapshot.steps.found, "the repetition of operators");
	assert_string_equal(snapshot.steps.name, "aten::rand"); /* after most time of which nothing is known */
	NEAR(snapshot.steps.median_s, 0.02, 1e-6);
	NEAR(snapshot.steps.p95_s, 0.02, 0.0101);
	NEAR(snapshot.steps.rate, 48, 3);
	assert_string_equal(snapshot.steps.trouble, "");
	assert_non_null(shown("aten::conv2d"));
	for (int i = 0; i < 400; i++) { /* and then something else, in no order */
		static const char *const several[] = { "aten::add", "aten::mul", "aten::sub", "aten::div", "aten::neg" };

		op(several[(i * i + i / 7) % 5], 30 + i % 3);
		if (i % 10 == 0)
			look();
	}
	look();
	assert_false(snapshot.steps.known);
	assert_memory_equal(snapshot.steps.trouble, "cannot tell the steps apart: the operators do not come", 54);
	assert_non_null(strstr(snapshot.steps.trouble, "--step NAME"));
}

/* What was asked for before the loop says nothing of it. */
static void a_loop_that_asks_for_nothing_has_steps(void **state)
{
	(void)state;
	start_for(NULL);
	for (int i = 0; i < 20; i++) {
		op("aten::normal_", 1);
		op("aten::item", 1);
		op("aten::uniform_", 1 + i % 3);
	}
	for (int i = 0; i < 2000; i++) {
		run_model(4, false);
		if (i % 25 == 24)
			look();
	}
	assert_true(snapshot.steps.known);
	NEAR(snapshot.steps.median_s, 0.02, 1e-6);
}

static void layers_are_no_steps(void **state)
{
	(void)state;
	for (int asks = 0; asks < 2; asks++) {
		start_for(NULL);
		for (int i = 0; i < 100; i++) {
			run_model(8, asks != 0);
			look();
			if (snapshot.steps.known)
				NEAR(snapshot.steps.median_s, 0.02, 1e-6);
		}
		assert_true(snapshot.steps.known);
		if (!asks)
			end(NULL);
	}
}

/* What is done at every tenth step is no reason to call ten of them one. */
static void steps_of_which_some_do_more_are_steps(void **state)
{
	(void)state;
	start_for(NULL);
	for (int i = 0; i < 200; i++) {
		run_model(4, true);
		if (i % 12 == 11)
			op("aten::mean", 2);
		look();
	}
	assert_true(snapshot.steps.known);
	NEAR(snapshot.steps.median_s, 0.02, 1e-6);
}

/* What comes a thousand times in a step is none, though the step itself has not been seen often enough. */
static void a_loop_within_a_step_is_none(void **state)
{
	(void)state;
	start_for(NULL);
	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < 1000; k++) {
			op("aten::lstm_cell", 2);
			op("aten::cat", 1);
			if (k % 100 == 99)
				look();
			if (i > 0)
				assert_false(snapshot.steps.known);
		}
		op("aten::item", 1);
		look();
	}
}

static void one_operator_is_no_step(void **state)
{
	(void)state;
	start_for(NULL);
	for (int i = 0; i < 2000; i++) {
		op("aten::mm", 10);
		if (i % 50 == 49)
			look();
		assert_false(snapshot.steps.known);
	}
	assert_memory_equal(snapshot.steps.trouble, "cannot tell the steps apart: the same operator comes again and again", 68);
}

/* Of a hundred and seven milliseconds operators are recorded for fifty, which begin and end within a step of ten. */
static void steps_are_found_in_a_part_of_the_time(void **state)
{
	static const char *const several[] = { "aten::rand", "aten::conv2d", "aten::linear", "aten::item" };
	bool records = true;
	int ms = 0;

	(void)state;
	start_for(NULL);
	for (int i = 0; i < 2000; i++, ms += i % 4 ? 2 : 4) {
		bool due = ms % 107 < 50;

		if (due != records)
			weigh(due ? 2 : 0);
		records = due;
		if (records)
			op(several[i % 4], i % 4 == 3 ? 4 : 2);
		else
			now += (i % 4 == 3 ? 4 : 2) * MS;
		if (i % 100 == 99)
			look();
	}
	assert_true(snapshot.steps.known);
	NEAR(snapshot.steps.median_s, 0.01, 1e-6);
	NEAR(snapshot.steps.p95_s, 0.01, 1e-6);
	NEAR(snapshot.steps.rate, 100, 1); /* by those that are known */
	assert_true(isnan(snapshot.steps.since_s)); /* nobody knows */
	assert_in_range(snapshot.steps.count, 50, 250);
}

static void steps_longer_than_what_is_recorded_are_not_found(void **state)
{
	static char several[64][8];

	(void)state;
	start_for(NULL);
	for (int i = 0; i < 64; i++)
		snprintf(several[i], sizeof several[i], "op%d", i);
	for (int i = 0; i < 3000; i++) {
		if (i % 50 == 0 || i % 50 == 10)
			weigh(i % 50 == 0 ? 5 : 0);
		if (i % 50 < 10)
			op(several[i % 64], 5);
		else
			now += 5 * MS;
		if (i % 100 == 99)
			look();
	}
	assert_false(snapshot.steps.known);
	assert_memory_equal(snapshot.steps.trouble, "cannot tell the steps apart: one has more operators than are recorded at a time", 78);
}

/* The outermost that repeat, whatever they call. */
static void calls_that_repeat_are_steps(void **state)
{
	(void)state;
	start_for(NULL);
	begin(EVENT_CPU_CALL, "main.<module>", 0);
	begin(EVENT_CPU_CALL, "main.setup", 1);
	for (int i = 0; i < 300; i++)
		slice(EVENT_CPU_CALL, "main.parse", 2, 1);
	finish(EVENT_CPU_CALL, 1);
	begin(EVENT_CPU_CALL, "main.train", 1);
	for (int i = 0; i < 200; i++) {
		slice(EVENT_CPU_CALL, "main.load", 2, 4);
		begin(EVENT_CPU_CALL, "main.compute", 2);
		for (int k = 0; k < 10; k++)
			slice(EVENT_CPU_CALL, "main.row", 3, 1.5);
		finish(EVENT_CPU_CALL, 2);
		now += 1 * MS;
		look();
	}
	assert_true(snapshot.steps.known);
	assert_string_equal(snapshot.steps.found, "the repetition of calls");
	assert_string_equal(snapshot.steps.name, "main.load");
	NEAR(snapshot.steps.median_s, 0.02, 1e-6);
}

/* A mark is better than what repeats. */
static void marks_beat_repetition(void **state)
{
	(void)state;
	start_for(NULL);
	for (int i = 0; i < 100; i++) {
		run_model(4, true);
		run_model(4, true);
		if (i >= 50)
			slice(EVENT_SCOPE, "Optimizer.step#SGD.step", 0, 0);
		look();
		if (i == 49)
			assert_string_equal(snapshot.steps.found, "the repetition of operators");
	}
	assert_string_equal(snapshot.steps.found, "PyTorch's optimizer");
	NEAR(snapshot.steps.median_s, 0.04, 1e-6);
}

static void count(const char *text, double value)
{
	uint32_t id = name_intern(names, &memory->process, text, strlen(text));
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	assert_true(thread->cursor != thread->end || ring_producer_refill(thread));
	ring_slot_write(thread->cursor, now, bits, ring_word_names(id, 0),
			ring_word_rest(3, 0, EVENT_COUNTER, 0, EVENT_FLAGS(PHASE_INSTANT, FIELD_VALUE, 0) | EVENT_FLAG_THREAD));
	ring_publish(thread, 1);
	now += MS;
}

static void counters_of_the_program_are_there(void **state)
{
	char name[200];

	(void)state;
	start_for(NULL);
	count("queue", 12);
	count("loss \033[2J", 0.5);
	count("inferscope.something", 3);
	count("queue", 14);
	look();
	assert_int_equal(snapshot.counter_count, 2);
	assert_string_equal(snapshot.counters[0].name, "queue");
	assert_true(snapshot.counters[0].value == 14);
	assert_string_equal(snapshot.counters[1].name, "loss \033[2J");
	assert_true(snapshot.counters[1].value == 0.5);
	for (int i = 0; i < 500; i++) { /* a program that makes up names */
		snprintf(name, sizeof name, "%0150d", i);
		count(name, i);
		count("queue", i);
	}
	look();
	assert_int_equal(snapshot.counter_count, LIVE_COUNTERS);
	assert_string_equal(snapshot.counters[0].name, "queue");
	assert_true(snapshot.counters[0].value == 499);
	assert_int_equal(strlen(snapshot.counters[1].name), LIVE_NAME - 1);
}

/* A mark as the Python package makes it. */
static void mark(const char *text, const void *map, size_t size)
{
	uint32_t id = name_intern(names, &memory->process, text, strlen(text));
	uint8_t list[40 * 32] = { 0 };
	uint16_t field = (uint16_t)size, total = (uint16_t)(size + 3);
	size_t extra = (2 + 3 + size + 31) / 32;

	assert_true(extra <= 40);
	memcpy(list, &total, 2);
	list[2] = FIELD_METADATA;
	memcpy(list + 3, &field, 2);
	memcpy(list + 5, map, size);
	for (size_t i = 0; i <= extra; i++) {
		uint64_t words[4];

		assert_true(thread->end - thread->cursor >= (ptrdiff_t)(4 * (extra + 1 - i)) || i > 0 || ring_producer_refill(thread));
		if (i == 0) {
			ring_slot_write(thread->cursor, now, 0, ring_word_names(id, 0),
					ring_word_rest(3, 0, EVENT_INSTANT, (uint32_t)extra, EVENT_FLAGS(PHASE_INSTANT, 0, 0) | EVENT_FLAG_THREAD));
			continue;
		}
		memcpy(words, list + 32 * (i - 1), 32);
		ring_slot_write(thread->cursor + 4 * i, words[0], words[1], words[2], words[3]);
	}
	ring_publish(thread, (uint32_t)extra + 1);
	now += MS;
}

static void say_alert(const char *state, const char *kind, const char *subject, double severity)
{
	struct buffer map = BUFFER_INIT;

	assert_int_equal(msgpack_write_map(&map, 7), 0);
	msgpack_write_text(&map, "state");
	msgpack_write_text(&map, state);
	msgpack_write_text(&map, "kind");
	msgpack_write_text(&map, kind);
	msgpack_write_text(&map, "subject");
	msgpack_write_text(&map, subject);
	msgpack_write_text(&map, "more"); /* that nobody knows of */
	msgpack_write_array(&map, 2);
	msgpack_write_nil(&map);
	msgpack_write_map(&map, 0);
	msgpack_write_text(&map, "severity");
	msgpack_write_double(&map, severity);
	msgpack_write_text(&map, "value");
	msgpack_write_int(&map, 150);
	msgpack_write_text(&map, "text");
	msgpack_write_text(&map, "the queue\nis long");
	mark("alert: x", map.data, map.size);
	buffer_release(&map);
}

static void alerts_of_the_program_are_heard(void **state)
{
	char name[200];

	(void)state;
	start_for(NULL);
	say_alert("begins", "queue_long", "", 0.95);
	look();
	assert_int_equal(snapshot.told_count, 1);
	assert_string_equal(snapshot.told[0].kind, "queue_long");
	assert_string_equal(snapshot.told[0].text, "the queue\nis long");
	assert_int_equal(snapshot.told[0].severity, LIVE_CRITICAL);
	assert_true(snapshot.told[0].value == 150 && isnan(snapshot.told[0].threshold));
	look();
	assert_int_equal(snapshot.told_count, 1);
	say_alert("ends", "queue_long", "", 0.95);
	look();
	assert_int_equal(snapshot.told_count, 0);

	say_alert("begins", "short", "one", 0.1); /* nobody looked meanwhile */
	say_alert("ends", "short", "one", 0.1);
	say_alert("ends", "never begun", "", 0.1);
	look();
	assert_int_equal(snapshot.told_count, 1);
	assert_int_equal(snapshot.told[0].severity, LIVE_INFO);
	look();
	assert_int_equal(snapshot.told_count, 0);

	say_alert("odd", "kind", "", 1);
	mark("alert: nothing", "\x81\xa5state", 7);
	mark("alert: nonsense", "\xc1\xff\xff", 3);
	look();
	assert_int_equal(snapshot.told_count, 0);
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof name, "%0150d", i);
		say_alert("begins", "many", name, 0.5);
	}
	look();
	assert_int_equal(snapshot.told_count, 1); /* names that are cut are the same */
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof name, "%d", i);
		say_alert("begins", "many", name, 0.5);
	}
	look();
	assert_int_equal(snapshot.told_count, LIVE_TOLD);
}

/* A limit on the size of files is what a full disk, a quota or a broken disk is, too: the rings are read, and the block is lost. */
static void what_cannot_be_written_is_lost(void **state)
{
	struct rlimit before, none;

	(void)state;
	start_for(NULL);
	slice(EVENT_SCOPE, "kept", 0, 1);
	look();
	assert_int_equal(snapshot.events.total, 2);
	assert_int_equal(snapshot.events.lost, 0);
	assert_string_equal(snapshot.events.trouble, "");

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = (struct rlimit){ trace_writer_totals(writer).bytes, before.rlim_max };
	for (int i = 0; i < 50; i++)
		slice(EVENT_SCOPE, "lost", 0, 1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	look();
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(snapshot.events.lost, 100);
	assert_int_equal(snapshot.events.unwritten, 100);
	assert_int_equal(snapshot.events.total, 2);
	assert_true(snapshot.events.rate == 0);
	assert_string_equal(snapshot.events.trouble, "cannot write to the trace file: File too large");

	for (int i = 0; i < 5; i++)
		slice(EVENT_SCOPE, "kept again", 0, 1);
	look();
	assert_int_equal(snapshot.events.total, 12);
	assert_int_equal(snapshot.events.lost, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(nothing_is_known_of_a_silent_program, end),
		cmocka_unit_test_teardown(open_scopes_are_shown, end),
		cmocka_unit_test_teardown(places_have_their_share, end),
		cmocka_unit_test_teardown(operators_of_a_part_of_the_time, end),
		cmocka_unit_test_teardown(many_names_do_no_harm, end),
		cmocka_unit_test_teardown(scopes_called_steps_are_steps, end),
		cmocka_unit_test_teardown(the_optimizer_and_the_loader_tell_steps, end),
		cmocka_unit_test_teardown(the_asked_for_name_wins, end),
		cmocka_unit_test_teardown(the_scope_that_covers_most_is_a_step, end),
		cmocka_unit_test_teardown(requests_are_steps_and_no_request_is_idle, end),
		cmocka_unit_test_teardown(requests_of_many_threads_are_steps, end),
		cmocka_unit_test_teardown(a_loop_that_waits_between_steps_is_not_idle, end),
		cmocka_unit_test_teardown(the_longest_slices_are_kept, end),
		cmocka_unit_test_teardown(nonsense_does_no_harm, end),
		cmocka_unit_test_teardown(each_moment_is_one_place, end),
		cmocka_unit_test_teardown(a_part_of_the_time_is_taken_from_what_is_around, end),
		cmocka_unit_test_teardown(operators_that_repeat_are_steps, end),
		cmocka_unit_test_teardown(a_loop_that_asks_for_nothing_has_steps, end),
		cmocka_unit_test_teardown(layers_are_no_steps, end),
		cmocka_unit_test_teardown(steps_of_which_some_do_more_are_steps, end),
		cmocka_unit_test_teardown(a_loop_within_a_step_is_none, end),
		cmocka_unit_test_teardown(one_operator_is_no_step, end),
		cmocka_unit_test_teardown(steps_are_found_in_a_part_of_the_time, end),
		cmocka_unit_test_teardown(steps_longer_than_what_is_recorded_are_not_found, end),
		cmocka_unit_test_teardown(calls_that_repeat_are_steps, end),
		cmocka_unit_test_teardown(marks_beat_repetition, end),
		cmocka_unit_test_teardown(counters_of_the_program_are_there, end),
		cmocka_unit_test_teardown(alerts_of_the_program_are_heard, end),
		cmocka_unit_test_teardown(what_cannot_be_written_is_lost, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
