/* test-drain.c - record/drain.h: from rings through a real writer into a file, and back. */
#include "record/drain.h"

#include "ring-world.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "record/drain_state.h"
#include "ring/names.h"
#include "trace/reader.h"

static struct session session;
static struct trace_writer *writer;
static struct drain *drain;
static struct name_table *names;
static char trace_path[] = "/tmp/test-drain-XXXXXX";

/* ---- Recording ------------------------------------------------------------------- */

static void start(uint32_t chunks, enum ring_overflow overflow)
{
	struct session_options options = {
		.budget_bytes = (uint64_t)chunks * CHUNK_SIZE,
		.overflow = overflow,
		.clock = CLOCK_SOURCE_MONOTONIC,
		.trace_path = "trace",
		.partial_path = "partial",
	};
	struct trace_writer_options writer_options = { 0 };
	struct trace_track track = { .kind = TRACK_PROCESS, .process = -1, .device = -1, .parent = -1 };
	struct trace_clock clock = { .kind = CLOCK_KIND_MONOTONIC, .rate = 1000000000 };
	struct error err = { 0 };
	int fd;

	strcpy(trace_path + strlen(trace_path) - 6, "XXXXXX");
	fd = mkstemp(trace_path);
	assert_true(fd >= 0);
	assert_int_equal(session_create(&session, &options, &err), 0);
	assert_int_equal(trace_writer_open(&writer, fd, &writer_options, &err), 0);
	assert_int_equal(
		trace_writer_host(writer, &(struct trace_host){ .name = trace_writer_string(writer, "host", 4) }), 0);
	assert_int_equal(trace_writer_clock(writer, &clock), 0);
	assert_int_equal(trace_writer_track(writer, &track), 0);
	assert_int_equal(drain_new(&drain, &session, writer, 1), 0);
	names = name_table_map();
}

static struct ring_memory *attach(uint32_t parent, uint32_t flags)
{
	struct ring_memory *memory = ring_memory_map(session.page->chunk_limit);
	struct ring_process_options options = {
		.session = session.page,
		.folder = session.folder,
		.chunk_limit = session.page->chunk_limit,
		.start_ticks = 1,
		.parent = parent,
		.first_name = atomic_load(&names->next),
		.flags = flags,
	};

	assert_non_null(memory);
	assert_int_equal(ring_process_attach(memory, &options), 0);
	return memory;
}

static uint32_t name(struct ring_memory *memory, const char *text)
{
	return name_intern(names, &memory->process, text, strlen(text));
}

/* The slot for one event of a thread that has done this often before. */
static slot_word *room(struct ring_producer *p)
{
	return p->cursor != p->end || ring_producer_refill(p) ? p->cursor : NULL;
}

static bool emit(struct ring_producer *p, uint64_t time, uint32_t kind, uint32_t phase, uint32_t id, uint32_t depth)
{
	slot_word *slot = room(p);

	if (!slot)
		return false;
	ring_slot_write(slot, time, 0, ring_word_names(id, 0),
			ring_word_rest(3, depth, kind, 0, EVENT_FLAGS(phase, 0, 0) | EVENT_FLAG_THREAD));
	ring_publish(p, 1);
	return true;
}

/* ---- Reading back ------------------------------------------------------------------ */

struct totals {
	uint64_t events, lost_events, lost; /* the last is what lost events count, names apart */
	uint64_t by_reason[LOST_REASON_COUNT];
	uint64_t by_track[64];
	uint64_t unseen; /* ticks */
};

static int add_block(void *arg, unsigned worker, size_t block, const struct trace_batch *batch)
{
	struct totals *t = arg;

	(void)worker;
	(void)block;
	for (size_t s = 0; s < batch->segment_count; s++)
		for (uint32_t i = batch->segments[s].first; i < batch->segments[s].first + batch->segments[s].count;
		     i++) {
			if (batch->kind[i] == EVENT_LOST && batch->field[FIELD_REASON][i] == LOST_UNSEEN) {
				assert_int_equal(batch->field[FIELD_COUNT][i], 0);
				t->events++;
				t->by_track[batch->segments[s].track]++;
				t->unseen += batch->field[FIELD_DURATION][i];
			} else if (batch->kind[i] == EVENT_LOST) {
				t->lost_events++;
				t->by_reason[batch->field[FIELD_REASON][i]] += batch->field[FIELD_COUNT][i];
			} else {
				t->events++;
				t->by_track[batch->segments[s].track]++;
			}
		}
	return 0;
}

/* Adds up what the file holds. */
static void count_file(struct trace_reader *reader, struct totals *totals)
{
	struct error err = { 0 };

	assert_int_equal(trace_reader_report(reader)->damage_count, 0);
	memset(totals, 0, sizeof *totals);
	assert_int_equal(trace_reader_each(reader, 0, trace_reader_block_count(reader), 1, add_block, totals, &err), 0);
	for (int i = 0; i < LOST_REASON_COUNT; i++)
		totals->lost += i == LOST_NAMES ? 0 : totals->by_reason[i];
}

/* Ends the recording; the caller closes the reader. */
static struct trace_reader *finish(struct drain_totals *ret, struct totals *totals)
{
	struct trace_reader *reader;
	struct error err = { 0 };

	drain_finish(drain, &err);
	assert_int_equal(err.code, 0);
	*ret = drain_totals(drain);
	assert_int_equal(trace_writer_close(writer, NULL, &err), 0);
	drain_free(drain);
	session_end(&session);
	assert_int_equal(trace_reader_open(&reader, trace_path, &err), 0);
	count_file(reader, totals);
	assert_int_equal(totals->events, ret->recorded);
	assert_int_equal(totals->lost, ret->lost);
	unlink(trace_path);
	return reader;
}

static const char *track_name(const struct trace_reader *reader, uint32_t track)
{
	return trace_reader_string(reader, trace_reader_track(reader, track)->name, NULL);
}

/* ---- Tests ---------------------------------------------------------------------------- */

static void events_arrive_as_they_were(void **state)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct drain_totals drained;
	struct trace_reader *reader;
	struct ring_memory *memory;
	struct ring_producer *p;
	struct totals totals;
	uint32_t serial = 0, decode;

	(void)state;
	start(8, OVERFLOW_WRAP);
	memory = attach(0, 0);
	p = ring_producer_open(memory, 100, 0, &serial);
	decode = name(memory, "decode");
	assert_true(emit(p, 1000, EVENT_SCOPE, PHASE_BEGIN, decode, 0));
	assert_true(emit(p, 1500, EVENT_INSTANT, PHASE_INSTANT, name(memory, "mark"), 1));
	assert_true(emit(p, 2000, EVENT_SCOPE, PHASE_END, 0, 0));
	assert_int_equal(drain_pass(drain, NULL), 3);
	assert_int_equal(drain_pass(drain, NULL), 0);
	reader = finish(&drained, &totals);
	assert_int_equal(totals.events, 3);
	assert_int_equal(drained.lost, 0);
	assert_int_equal(drained.processes, 1);
	assert_int_equal(drained.threads, 1);
	assert_int_equal(trace_reader_decode(reader, 0, &batch, NULL), 0);
	assert_int_equal(batch.count, 3);
	assert_int_equal(batch.time[0], 1000);
	assert_int_equal(batch.time[1], 1500);
	assert_int_equal(batch.time[2], 2000);
	assert_string_equal(trace_reader_string(reader, batch.name[0], NULL), "decode");
	assert_string_equal(trace_reader_string(reader, batch.name[1], NULL), "mark");
	assert_int_equal(batch.phase[0], PHASE_BEGIN);
	assert_int_equal(batch.phase[2], PHASE_END);
	assert_int_equal(batch.kind[1], EVENT_INSTANT);
	assert_int_equal(batch.depth[1], 1);
	assert_int_equal(batch.cpu[1], 3);
	trace_batch_release(&batch);
	assert_int_equal(trace_reader_process(reader, 0)->pid, getpid());
	assert_int_equal(trace_reader_track(reader, 1)->os_id, getpid());
	assert_int_equal(trace_reader_track(reader, 1)->kind, TRACK_THREAD);
	trace_reader_close(reader);
}

static void what_waits_is_counted(void **state)
{
	struct drain_totals drained;
	struct ring_memory *memory;
	struct ring_producer *p;
	struct totals totals;
	uint32_t serial = 0;

	(void)state;
	start(8, OVERFLOW_WRAP);
	assert_int_equal(drain_waiting(drain), 0);
	memory = attach(0, 0);
	assert_int_equal(drain_waiting(drain), 1); /* the process */
	p = ring_producer_open(memory, 100, 0, &serial);
	assert_int_equal(drain_pass(drain, NULL), 0);
	assert_int_equal(drain_waiting(drain), 0);
	for (uint64_t i = 0; i < 5; i++)
		assert_true(emit(p, 1000 + i, EVENT_INSTANT, PHASE_INSTANT, name(memory, "mark"), 0));
	assert_int_equal(drain_waiting(drain), 5);
	assert_int_equal(drain_pass(drain, NULL), 5);
	assert_int_equal(drain_waiting(drain), 0);
	trace_reader_close(finish(&drained, &totals));
}

/* What was overwritten before it was read is one lost event that covers it. */
static void overwritten_events_are_counted(void **state)
{
	struct drain_totals drained;
	struct ring_producer *p;
	struct totals totals;
	uint32_t serial = 0;

	(void)state;
	start(2, OVERFLOW_WRAP);
	p = ring_producer_open(attach(0, 0), 0, 0, &serial);
	for (int i = 0; i < 100000; i++) {
		assert_true(emit(p, 10 + (uint64_t)i, EVENT_INSTANT, PHASE_INSTANT, 0, 0));
		if (i == 5000)
			assert_true(drain_pass(drain, NULL) > 0);
	}
	trace_reader_close(finish(&drained, &totals));
	assert_int_equal(totals.events + totals.lost, 100000);
	assert_int_equal(totals.by_reason[LOST_OVERWRITTEN], totals.lost);
	assert_int_equal(totals.lost_events, 2);
	assert_int_equal(drained.produced, 100000);
}

/* Each refusal is counted under its reason; one thread has no chunk at all. */
static void refusals_are_counted_by_reason(void **state)
{
	struct drain_totals drained;
	struct ring_memory *memory;
	struct ring_producer *p, *without;
	struct totals totals;
	uint32_t first = 0, second = 0, refused = 0;

	(void)state;
	start(2, OVERFLOW_DISCARD);
	memory = attach(0, 0);
	p = ring_producer_open(memory, 0, 0, &first);
	without = ring_producer_open(memory, 0, 0, &second);
	for (uint32_t i = 0; i < 5000; i++)
		refused += !emit(p, i + 10, EVENT_INSTANT, PHASE_INSTANT, 0, 0);
	for (uint32_t i = 0; i < 7; i++)
		assert_false(emit(without, i + 10, EVENT_INSTANT, PHASE_INSTANT, 0, 0));
	p->shared->refused_reentry = 3;
	memory->process.header->refused_no_ring = 11;
	memory->process.header->names_refused = 13;
	drain_pass(drain, NULL);
	trace_reader_close(finish(&drained, &totals));
	assert_int_equal(refused, 5000 - 2 * CHUNK_SLOTS);
	assert_int_equal(totals.by_reason[LOST_REFUSED], refused);
	assert_int_equal(totals.by_reason[LOST_NO_BUFFER], 7 + 11);
	assert_int_equal(totals.by_reason[LOST_REENTRY], 3);
	assert_int_equal(totals.by_reason[LOST_NAMES], 13);
	assert_int_equal(totals.events, 2 * CHUNK_SLOTS);
	assert_int_equal(drained.names_refused, 13);
	assert_int_equal(drained.recorded + drained.lost, 5000 + 7 + 3 + 11);
}

/* Slots that are no events are counted, and what is around them is kept. */
static void nonsense_is_counted(void **state)
{
	struct drain_totals drained;
	struct ring_producer *p;
	struct totals totals;
	uint32_t serial = 0;

	(void)state;
	start(2, OVERFLOW_WRAP);
	p = ring_producer_open(attach(0, 0), 0, 0, &serial);
	emit(p, 10, EVENT_INSTANT, PHASE_INSTANT, 0, 0);
	emit(p, 11, 200, PHASE_INSTANT, 0, 0);               /* no such kind */
	emit(p, 12, EVENT_LOST, PHASE_COMPLETE, 0, 0);       /* not for programs to say */
	emit(p, 13, EVENT_INSTANT, PHASE_INSTANT, 77777, 0); /* no such name: kept */
	ring_slot_write(room(p), 14, 0, 0,
			ring_word_rest(0, 0, EVENT_INSTANT, 9, 0)); /* continuations that are not there */
	ring_publish(p, 1);
	drain_pass(drain, NULL);
	trace_reader_close(finish(&drained, &totals));
	assert_int_equal(totals.events, 2);
	assert_int_equal(totals.by_reason[LOST_UNREADABLE], 3);
}

/* A ring passes from thread to thread, each on its own track, under its own name. */
static void each_thread_has_its_track(void **state)
{
	struct drain_totals drained;
	struct trace_reader *reader;
	struct ring_memory *memory;
	struct totals totals;
	char text[16];

	(void)state;
	start(8, OVERFLOW_WRAP);
	memory = attach(0, 0);
	for (int i = 0; i < 20; i++) {
		uint32_t serial = 0;
		struct ring_producer *p = ring_producer_open(memory, 0, 0, &serial);

		if (i % 2) { /* every second one says its name before anything else, or nothing else */
			snprintf(text, sizeof text, "thread %d", i);
			p->shared->name = name(memory, text);
			drain_pass(drain, NULL);
		}
		for (int n = 0; i % 4 != 1 && n <= i; n++)
			assert_true(emit(p, 10, EVENT_INSTANT, PHASE_INSTANT, 0, 0));
		drain_pass(drain, NULL);
		ring_producer_exit(p);
		drain_pass(drain, NULL);
		assert_int_equal(trace_writer_flush(writer, NULL), 0);
		drain_pass(drain, NULL);
		assert_int_equal(p->index, 0);
	}
	reader = finish(&drained, &totals);
	assert_int_equal(drained.threads, 20);
	for (uint32_t i = 0; i < 20; i++) {
		assert_int_equal(totals.by_track[1 + i], i % 4 == 1 ? 0 : i + 1);
		assert_int_equal(trace_reader_track(reader, 1 + i)->serial, i + 1);
		snprintf(text, sizeof text, "thread %u", i);
		if (i % 2)
			assert_string_equal(track_name(reader, 1 + i), text);
		else
			assert_null(strstr(track_name(reader, 1 + i), "thread "));
	}
	trace_reader_close(reader);
}

/* A thread that opens another ring with the serial it has goes on with its track. */
static void a_thread_keeps_its_track(void **state)
{
	struct drain_totals drained;
	struct ring_memory *memory;
	struct ring_producer *p;
	struct totals totals;
	uint32_t serial = 0;

	(void)state;
	start(8, OVERFLOW_WRAP);
	memory = attach(0, 0);
	for (int i = 0; i < 3; i++) {
		p = ring_producer_open(memory, 0, 0, &serial);
		emit(p, 10 + (uint64_t)i, EVENT_INSTANT, PHASE_INSTANT, 0, 0);
		drain_pass(drain, NULL);
		ring_producer_exit(p);
	}
	trace_reader_close(finish(&drained, &totals));
	assert_int_equal(drained.threads, 1);
	assert_int_equal(totals.by_track[1], 3);
}

/* A child's names are its parent's up to the fork, after the parent's end too. */
static void names_are_inherited(void **state)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct drain_totals drained;
	struct ring_memory *parent, *child;
	struct trace_reader *reader;
	struct ring_producer *p;
	struct totals totals;
	uint32_t serial = 0, inherited;

	(void)state;
	start(8, OVERFLOW_WRAP);
	parent = attach(0, 0);
	inherited = name(parent, "inherited");
	child = attach(parent->process.number + 1, PROCESS_FORKED);
	p = ring_producer_open(child, 0, RING_FORKED, &serial);
	emit(p, 10, EVENT_INSTANT, PHASE_INSTANT, inherited, 0);
	emit(p, 11, EVENT_INSTANT, PHASE_INSTANT, name(child, "own"), 0);
	reader = finish(&drained, &totals);
	assert_int_equal(drained.processes, 2);
	assert_int_equal(trace_reader_decode(reader, 0, &batch, NULL), 0);
	assert_string_equal(trace_reader_string(reader, batch.name[0], NULL), "inherited");
	assert_string_equal(trace_reader_string(reader, batch.name[1], NULL), "own");
	assert_int_equal(trace_reader_process(reader, 1)->parent, 0);
	assert_int_equal(trace_reader_process(reader, 1)->flags & TRACE_PROCESS_FORKED, TRACE_PROCESS_FORKED);
	assert_int_equal(trace_reader_track(reader, 1)->flags & TRACE_TRACK_FORKED, TRACE_TRACK_FORKED);
	trace_batch_release(&batch);
	trace_reader_close(reader);
}

/* A process that is gone gives its chunks back to the session, and its file goes. */
static void a_dead_process_is_cleared_away(void **state)
{
	struct drain_totals drained;
	struct totals totals;
	char path[SESSION_PATH_MAX + 8];
	int status;
	pid_t pid;

	(void)state;
	start(4, OVERFLOW_WRAP);
	pid = fork();
	if (pid == 0) {
		uint32_t serial = 0;
		struct ring_producer *p = ring_producer_open(attach(0, 0), 0, 0, &serial);

		for (uint32_t i = 0; i < 3 * CHUNK_SLOTS; i++)
			emit(p, i + 10, EVENT_INSTANT, PHASE_INSTANT, 0, 0);
		(void)ring_producer_group(p, 5); /* dies in the middle of an event */
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_in_range(session.page->chunks_used, 3, 4);
	snprintf(path, sizeof path, "%s/p0", session.folder);
	assert_int_equal(access(path, F_OK), 0);
	drain_pass(drain, NULL);
	drain_reap(drain, NULL);
	assert_int_equal(session.page->chunks_used, 0);
	assert_int_equal(access(path, F_OK), -1);
	trace_reader_close(finish(&drained, &totals));
	assert_int_equal(totals.events, 3 * CHUNK_SLOTS);
	assert_int_equal(drained.produced, 3 * CHUNK_SLOTS);
	assert_int_equal(drained.lost, 0);
}

/* ---- What a language's hook writes ------------------------------------------------------ */

static bool emit_task(struct ring_producer *p, uint64_t time, uint32_t phase, uint32_t id, uint32_t depth, uint32_t task,
		      uint32_t task_name)
{
	slot_word *slot = room(p);

	if (!slot)
		return false;
	ring_slot_write(slot, time, task_name, ring_word_names(id, task),
			ring_word_rest(3, depth, EVENT_CPU_CALL, 0,
				       EVENT_FLAGS(phase, 0, 0) | EVENT_FLAG_THREAD | EVENT_FLAG_TASK));
	ring_publish(p, 1);
	return true;
}

/* A name of parts, at an address that no sanitizer takes for a string. */
#define NAME(memory, text) name_intern(names, &(memory)->process, text, sizeof(text) - 1)

static void functions_have_a_place(void **state)
{
	static const struct {
		const char *name, *function, *module, *file; /* function NULL: plain text */
		uint32_t line;
	} expected[] = {
		{ "model.Block.forward", "Block.forward", "model", "/src/model.py", 12 },
		{ "model.Block.forward", "Block.forward", "model", "/src/model.py", 34 }, /* elsewhere: another name */
		{ "len", "len", "builtins", "", 0 },
		{ "main", "main", "", "x.py", 1 },
		{ "model.<module>", "<module>", "model", "m.py", 1 },
		{ "a b", NULL, NULL, NULL, 0 },
		{ "a b c 7 8", NULL, NULL, NULL, 0 },
		{ "a b c x", NULL, NULL, NULL, 0 },
		{ "a b c 4294967296", NULL, NULL, NULL, 0 },
		{ "m  f 1", NULL, NULL, NULL, 0 }, /* no function */
		{ "   ", NULL, NULL, NULL, 0 },
		{ "model.Block.forward", NULL, NULL, NULL, 0 }, /* not a function of that name */
	};
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct drain_totals drained;
	struct trace_reader *reader;
	struct ring_memory *m;
	struct ring_producer *p;
	struct totals totals;
	uint32_t serial = 0, count = sizeof expected / sizeof *expected;

	(void)state;
	start(8, OVERFLOW_WRAP);
	m = attach(0, 0);
	p = ring_producer_open(m, 0, 0, &serial);
	{
		const uint32_t ids[] = {
			NAME(m, "model\0Block.forward\0/src/model.py\00012"), NAME(m, "model\0Block.forward\0/src/model.py\00034"),
			NAME(m, "builtins\0len\0\0000"),                      NAME(m, "\0main\0x.py\0001"),
			NAME(m, "model\0<module>\0m.py\0001"),                NAME(m, "a\0b"),
			NAME(m, "a\0b\0c\0007\0008"),                        NAME(m, "a\0b\0c\0x"),
			NAME(m, "a\0b\0c\0004294967296"),                     NAME(m, "m\0\0f\0001"),
			NAME(m, "\0\0\0"),                                    NAME(m, "model.Block.forward"),
		};

		assert_int_equal(sizeof ids / sizeof *ids, count);
		for (uint32_t i = 0; i < count; i++)
			emit(p, 10 + i, EVENT_CPU_CALL, PHASE_INSTANT, ids[i], 0);
	}
	reader = finish(&drained, &totals);
	assert_int_equal(trace_reader_decode(reader, 0, &batch, NULL), 0);
	assert_int_equal(batch.count, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct trace_frame *f = trace_reader_function(reader, batch.name[i]);

		assert_string_equal(trace_reader_string(reader, batch.name[i], NULL), expected[i].name);
		assert_int_equal(f != NULL, expected[i].function != NULL);
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(batch.name[i], batch.name[k]);
		if (!f)
			continue;
		assert_string_equal(trace_reader_string(reader, f->function, NULL), expected[i].function);
		assert_string_equal(trace_reader_string(reader, f->module, NULL), expected[i].module);
		assert_string_equal(trace_reader_string(reader, f->file, NULL), expected[i].file);
		assert_int_equal(f->line, expected[i].line);
	}
	trace_batch_release(&batch);
	trace_reader_close(reader);
}

/* Two tasks that one thread runs in turn, and the thread itself: three stacks that do not disturb each other. */
static void tasks_have_their_tracks(void **state)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct drain_totals drained;
	struct trace_reader *reader;
	struct ring_memory *memory;
	struct ring_producer *p;
	struct totals totals;
	uint32_t serial = 0, f, first, second;

	(void)state;
	start(8, OVERFLOW_WRAP);
	memory = attach(0, 0);
	p = ring_producer_open(memory, 0, 0, &serial);
	f = name(memory, "f");
	first = name(memory, "first");
	second = name(memory, "second");
	emit(p, 10, EVENT_CPU_CALL, PHASE_BEGIN, f, 0);
	emit_task(p, 11, PHASE_BEGIN, f, 0, 7, 0); /* has no name yet */
	emit_task(p, 12, PHASE_BEGIN, f, 0, 900000, second);
	emit_task(p, 13, PHASE_BEGIN, f, 1, 900000, second);
	emit_task(p, 14, PHASE_END, 0, 0, 7, first);
	emit(p, 15, EVENT_CPU_CALL, PHASE_END, 0, 0);
	assert_int_equal(drain_pass(drain, NULL), 6);
	emit_task(p, 16, PHASE_END, 0, 1, 900000, second);
	reader = finish(&drained, &totals);
	assert_int_equal(drained.produced, 7);
	assert_int_equal(drained.recorded, 7);
	assert_int_equal(drained.threads, 1);
	assert_int_equal(totals.by_track[1], 2);
	assert_int_equal(totals.by_track[2], 2);
	assert_int_equal(totals.by_track[3], 3);
	for (uint32_t i = 2; i < 4; i++) {
		const struct trace_track *t = trace_reader_track(reader, i);

		assert_int_equal(t->kind, TRACK_TASK);
		assert_int_equal(t->os_id, i == 2 ? 7 : 900000);
		assert_int_equal(t->serial, t->os_id);
		assert_int_equal(t->process, 0);
		assert_int_equal(t->parent, 1);
		assert_string_equal(track_name(reader, i), i == 2 ? "first" : "second");
	}
	assert_int_equal(trace_reader_decode(reader, 0, &batch, NULL), 0);
	for (uint32_t i = 0; i < batch.count; i++) /* number and name of the task are not the event's */
		assert_int_equal(trace_batch_present(&batch, i) & ~UINT64_C(0x1e), 0);
	assert_int_equal(batch.depth[batch.segments[2].first + 1], 1);
	trace_batch_release(&batch);
	assert_int_equal(trace_reader_decode(reader, trace_reader_block_count(reader) - 1, &batch, NULL), 0);
	assert_int_equal(batch.open_count, 1); /* of the second task */
	assert_int_equal(batch.open[0].track, 3);
	trace_batch_release(&batch);
	trace_reader_close(reader);
}

/* An event of a task with fields in its continuations keeps these, and what it does not say it has is not stored. */
static void a_task_s_events_keep_their_fields(void **state)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct drain_totals drained;
	struct trace_reader *reader;
	struct ring_producer *p;
	struct totals totals;
	uint32_t serial = 0;
	uint64_t words[4] = { 0 };
	slot_word *slot;

	(void)state;
	start(8, OVERFLOW_WRAP);
	p = ring_producer_open(attach(0, 0), 0, 0, &serial);
	memcpy(words, "\x0b\0" "\x0b\x08\0" "\x4d\0\0\0\0\0\0\0", 13); /* bytes: 77 */
	slot = ring_producer_group(p, 2);
	ring_slot_write(slot, 10, 0, ring_word_names(0, 5),
			ring_word_rest(3, 0, EVENT_OP, 1,
				       EVENT_FLAGS(PHASE_BEGIN, FIELD_ID, FIELD_LINK) | EVENT_FLAG_TASK | EVENT_FLAG_THREAD));
	ring_slot_write(slot + 4, words[0], words[1], words[2], words[3]);
	ring_publish_group(p, 2, 1);
	ring_slot_write(room(p), 11, 1234, ring_word_names(0, 99),
			ring_word_rest(3, 0, EVENT_INSTANT, 0, EVENT_FLAGS(PHASE_INSTANT, 0, 0)));
	ring_publish(p, 1);
	reader = finish(&drained, &totals);
	assert_int_equal(drained.recorded, 2);
	assert_int_equal(trace_reader_decode(reader, 0, &batch, NULL), 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(batch.time[i], i == 0 ? 11 : 10); /* the thread's is first */
		assert_int_equal(trace_batch_present(&batch, i) >> FIELD_BYTES & 1, i);
		assert_int_equal(trace_batch_present(&batch, i) >> FIELD_DURATION & ~(UINT64_C(1) << (FIELD_BYTES - FIELD_DURATION)), 0);
	}
	assert_int_equal(batch.field[FIELD_BYTES][1], 77);
	trace_batch_release(&batch);
	trace_reader_close(reader);
}

static void emit_kernel(struct ring_producer *p, uint64_t time, uint32_t id, uint32_t stream, uint32_t description)
{
	uint64_t words[4] = { 0 };
	slot_word *slot = ring_producer_group(p, 2);

	memcpy(words, "\x0b\0" "\x05\x08\0" "\x4d\0\0\0\0\0\0\0", 13); /* duration: 77 */
	ring_slot_write(slot, time, description, ring_word_names(id, stream),
			ring_word_rest(3, 0, EVENT_GPU_KERNEL, 1, EVENT_FLAGS(PHASE_COMPLETE, 0, 0) | EVENT_FLAG_STREAM));
	ring_slot_write(slot + 4, words[0], words[1], words[2], words[3]);
	ring_publish_group(p, 2, 1);
}

#define DEVICE "kind=opencl\nindex=1\nname=made GPU\ntotalGlobalMem=8000000000\nvendor=somebody"

/* Work of devices goes to tracks of their streams; what describes a device the same way is the same one. */
static void streams_have_their_tracks(void **state)
{
	const struct trace_track *track;
	const struct trace_device *device;
	struct ring_memory *memory;
	struct drain_totals drained;
	struct trace_reader *reader;
	struct ring_producer *p;
	struct totals totals;
	uint32_t serial = 0, id;

	(void)state;
	start(8, OVERFLOW_WRAP);
	memory = attach(0, 0);
	p = ring_producer_open(memory, 0, 0, &serial);
	id = name(memory, "gemm");
	emit_kernel(p, 10, id, 0, name(memory, DEVICE "\n\nstream=7\nname=first"));
	emit_kernel(p, 5, id, 1, name(memory, DEVICE "\n\nstream=9"));
	emit_kernel(p, 20, id, 0, 0);          /* is known */
	emit_kernel(p, 21, id, 3, 0);          /* nothing is said of it */
	emit_kernel(p, 22, id, 1u << 20, 0);   /* nonsense */
	emit_kernel(p, 23, id, 4, name(memory, DEVICE "\n\nof=process"));
	assert_true(emit(p, 30, EVENT_INSTANT, PHASE_INSTANT, id, 0));
	reader = finish(&drained, &totals);
	assert_int_equal(drained.recorded, 6);
	assert_int_equal(drained.lost, 1);
	assert_int_equal(trace_reader_device_count(reader), 2); /* and one of which nothing is known */
	device = trace_reader_device(reader, 0);
	assert_int_equal(device->kind, 2);
	assert_int_equal(device->index, 1);
	assert_string_equal(trace_reader_string(reader, device->name, NULL), "made GPU");
	assert_non_null(memmem(device->properties, device->properties_size, "totalGlobalMem", 14));
	assert_non_null(memmem(device->properties, device->properties_size, "somebody", 8));
	track = trace_reader_track(reader, 2);
	assert_int_equal(track->kind, TRACK_STREAM);
	assert_int_equal(track->os_id, 7);
	assert_int_equal(track->device, 0);
	assert_string_equal(trace_reader_string(reader, track->name, NULL), "first");
	assert_int_equal(totals.by_track[2], 2);
	assert_int_equal(trace_reader_track(reader, 3)->os_id, 9);
	assert_int_equal(trace_reader_track(reader, 3)->device, 0);
	assert_int_equal(trace_reader_track(reader, 4)->device, 1);
	track = trace_reader_track(reader, 5);
	assert_int_equal(track->kind, TRACK_DEVICE);
	assert_int_equal(track->device, 0);
	assert_int_equal(track->process, 0);
	assert_int_equal(track->serial, 5);
	assert_int_equal(totals.by_track[5], 1);
	trace_reader_close(reader);
}

static void emit_counter(struct ring_producer *p, uint64_t time, uint32_t id, uint8_t value, uint32_t stream, uint32_t description)
{
	uint8_t bytes[32] = { 11, 0, FIELD_INTEGER, 8, 0, value };
	slot_word *slot = ring_producer_group(p, 2);
	uint64_t words[4];

	memcpy(words, bytes, sizeof words);
	ring_slot_write(slot, time, description, ring_word_names(id, stream),
			ring_word_rest(EVENT_CPU_UNKNOWN, 0, EVENT_COUNTER, 1, EVENT_FLAGS(PHASE_INSTANT, 0, 0) | EVENT_FLAG_STREAM));
	ring_slot_write(slot + 4, words[0], words[1], words[2], words[3]);
	ring_publish_group(p, 2, 1);
}

/* GPUs keep their rows, in whatever order they tell, and whatever else has their number. */
static void devices_keep_their_rows(void **state)
{
	static const char *const texts[] = { "kind=cuda\nindex=3\nname=a\nuuid=GPU-a\n\nof=device", "kind=cuda\nindex=0\nname=b\nuuid=GPU-b\n\nof=device",
					     "kind=cuda\nindex=0\nname=c\nuuid=GPU-c\n\nof=device", "kind=cuda\nindex=1\nname=a\nuuid=GPU-a\n\nof=device" };
	static const uint32_t rows[] = { 3, 0, 1, 3 };
	struct gpu_table table = { .gpus = { { .there = false } } };
	struct ring_memory *memory;
	struct drain_totals drained;
	struct ring_producer *p;
	struct totals totals;
	uint32_t serial = 0;

	(void)state;
	start(8, OVERFLOW_WRAP);
	memory = attach(0, 0);
	p = ring_producer_open(memory, 0, 0, &serial);
	for (uint8_t i = 0; i < 4; i++) {
		emit_counter(p, 10 + i, name(memory, "temperature_c"), 60 + i, i, name(memory, texts[i]));
		drain_pass(drain, NULL);
		drain_told_gpus(drain, &table);
		assert_true(table.gpus[rows[i]].looked);
		assert_int_equal(table.gpus[rows[i]].look.values[NVML_TEMPERATURE], 60 + i);
		assert_string_equal(table.gpus[3].uuid, "GPU-a");
	}
	assert_string_equal(table.gpus[0].uuid, "GPU-b");
	assert_string_equal(table.gpus[1].uuid, "GPU-c");
	assert_false(table.gpus[2].looked);
	trace_reader_close(finish(&drained, &totals));
}

/* How a device is, by whichever process: one track, which is of no process; and the last of it for who shows it. */
static void devices_tell_how_they_are(void **state)
{
	struct gpu_table table = { .gpus = { { .there = false } } };
	const struct trace_track *track;
	struct drain_totals drained;
	struct trace_reader *reader;
	struct totals totals;

	(void)state;
	start(8, OVERFLOW_WRAP);
	for (uint8_t i = 0; i < 2; i++) {
		struct ring_memory *memory = attach(i, i ? PROCESS_FORKED : 0); /* whose names are its parent's */
		uint32_t serial = 0, described = name(memory, DEVICE "\nuuid=GPU-1\n\nof=device");
		struct ring_producer *p = ring_producer_open(memory, 0, 0, &serial);

		emit_counter(p, 10 + i, name(memory, "temperature_c"), 60 + i, 0, described);
		emit_counter(p, 10 + i, name(memory, "fan_percent"), 30, 0, described);
	}
	drain_pass(drain, NULL);
	drain_told_gpus(drain, &table);
	assert_true(table.told && table.gpus[1].looked && !table.gpus[0].looked); /* it is number 1 */
	assert_string_equal(table.gpus[1].uuid, "GPU-1");
	assert_string_equal(table.gpus[1].name, "made GPU");
	assert_int_equal(table.gpus[1].look.present, 1u << NVML_TEMPERATURE);
	assert_in_range(table.gpus[1].look.values[NVML_TEMPERATURE], 60, 61);
	reader = finish(&drained, &totals);
	assert_int_equal(drained.recorded, 4);
	assert_int_equal(trace_reader_device_count(reader), 1);
	for (uint32_t i = 0; i < trace_reader_track_count(reader); i++) {
		track = trace_reader_track(reader, i);
		if (totals.by_track[i]) {
			assert_int_equal(totals.by_track[i], 4);
			assert_int_equal(track->kind, TRACK_DEVICE);
			assert_int_equal(track->process, -1);
			assert_int_equal(track->device, 0);
		}
	}
	trace_reader_close(reader);
}

/* The recorder is killed after it has met a stream and all of a device, and has seen the device from outside: what comes later of
 * them goes to the tracks that they had. */
static void recovery_knows_streams(void **state)
{
	struct trace_track outside = { .id = 4, .kind = TRACK_DEVICE, .os_id = 0, .device = 0, .parent = -1 };
	struct trace_writer_options options = { 0 };
	struct trace_reader *partial, *reader;
	struct drain_totals drained;
	struct ring_memory *memory;
	struct ring_producer *p;
	struct totals totals;
	uint32_t serial = 0, id, stream, wide;
	char first[sizeof trace_path];

	(void)state;
	start(4, OVERFLOW_WRAP);
	memory = attach(0, 0);
	p = ring_producer_open(memory, 0, 0, &serial);
	id = name(memory, "gemm");
	stream = name(memory, DEVICE "\n\nstream=7");
	wide = name(memory, DEVICE "\n\nof=process");
	emit_kernel(p, 10, id, 0, stream);
	emit_kernel(p, 11, id, 1, wide);
	drain_pass(drain, NULL);
	assert_int_equal(trace_writer_track(writer, &outside), 0);
	assert_int_equal(trace_writer_flush(writer, NULL), 0);
	drain_free(drain);
	trace_writer_abandon(writer);
	layout_rings(p->process->map)[p->index].drained = layout_rings(p->process->map)[p->index].produced;
	emit_kernel(p, 20, id, 0, stream);
	emit_kernel(p, 21, id, 1, wide);
	assert_int_equal(trace_reader_open(&partial, trace_path, NULL), 0);
	strcpy(first, trace_path);
	strcpy(trace_path + strlen(trace_path) - 6, "XXXXXX");
	assert_int_equal(trace_writer_open(&writer, mkstemp(trace_path), &options, NULL), 0);
	assert_int_equal(drain_new(&drain, &session, writer, (uint32_t)trace_reader_track_count(partial)), 0);
	assert_int_equal(drain_resume(drain, partial, false, NULL), 0);
	reader = finish(&drained, &totals);
	assert_int_equal(drained.recorded, 2);
	assert_int_equal(totals.by_track[2], 1);
	assert_int_equal(totals.by_track[3], 1);
	assert_int_equal(trace_reader_track(partial, 2)->kind, TRACK_STREAM);
	assert_int_equal(trace_reader_track(partial, 3)->kind, TRACK_DEVICE);
	trace_reader_close(reader);
	trace_reader_close(partial);
	unlink(first);
}

/* Many tasks, many blocks: each event is in the file once, and in order. */
static void no_task_loses_an_event(void **state)
{
	struct drain_totals drained;
	struct ring_producer *p;
	struct totals totals;
	uint32_t serial = 0;

	(void)state;
	start(32, OVERFLOW_WRAP);
	p = ring_producer_open(attach(0, 0), 0, 0, &serial);
	for (uint32_t i = 0; i < 200000; i++) {
		if (i % 3 == 0)
			assert_true(emit(p, i + 10, EVENT_INSTANT, PHASE_INSTANT, 0, 0));
		else
			assert_true(emit_task(p, i + 10, PHASE_INSTANT, 0, 0, i / 5 % 40, 0));
		if (i % 3000 == 0)
			assert_true(drain_pass(drain, NULL) > 0);
	}
	trace_reader_close(finish(&drained, &totals));
	assert_int_equal(drained.produced, 200000);
	assert_int_equal(drained.recorded + drained.lost, 200000);
	assert_int_equal(drained.lost, 0);
	assert_int_equal(totals.by_track[1], 66667);
	for (uint32_t i = 2; i < 42; i++)
		assert_in_range(totals.by_track[i], 3330, 3338);
}

/* When there are no more tracks, the events of further tasks are counted; those of threads go on. */
static void tasks_without_a_track_are_counted(void **state)
{
	struct drain_totals drained;
	struct trace_reader *reader;
	struct ring_memory *memory;
	struct ring_producer *p;
	struct totals totals;
	uint32_t serial = 0, second = 0;

	(void)state;
	start(4, OVERFLOW_WRAP);
	memory = attach(0, 0);
	p = ring_producer_open(memory, 0, 0, &serial);
	drain->task_limit = 3; /* track 1 is the thread's, 2 the first task's */
	for (uint32_t i = 0; i < 6; i++)
		emit_task(p, 10 + i, PHASE_INSTANT, 0, 0, i % 2, 0);
	drain_pass(drain, NULL);
	emit(ring_producer_open(memory, 0, 0, &second), 20, EVENT_INSTANT, PHASE_INSTANT, 0, 0);
	reader = finish(&drained, &totals);
	assert_int_equal(totals.by_track[2], 3);
	assert_int_equal(totals.by_track[3], 1);
	assert_int_equal(totals.by_reason[LOST_UNREADABLE], 3);
	assert_int_equal(drained.produced, 7);
	assert_int_equal(drained.recorded + drained.lost, 7);
	trace_reader_close(reader);
}

static void emit_unseen(struct ring_producer *p, uint64_t time, uint64_t duration, uint64_t count, uint64_t reason)
{
	uint8_t bytes[32] = { 22, 0, FIELD_COUNT, 8, 0 };
	uint64_t words[4];
	slot_word *slot = ring_producer_group(p, 2);

	memcpy(bytes + 5, &count, 8);
	bytes[13] = FIELD_REASON;
	bytes[14] = 8;
	memcpy(bytes + 16, &reason, 8);
	memcpy(words, bytes, sizeof words);
	ring_slot_write(slot, time, duration, 0,
			ring_word_rest(3, 9, EVENT_LOST, 1, EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, 0)));
	ring_slot_write(slot + 4, words[0], words[1], words[2], words[3]);
	ring_publish_group(p, 2, 1);
}

/* The one loss that a program may tell of itself: it is an event, counts none, and belongs to the process. */
static void time_unseen_is_told(void **state)
{
	struct drain_totals drained;
	struct trace_reader *reader;
	struct ring_producer *p;
	struct totals totals;
	uint32_t serial = 0;

	(void)state;
	start(4, OVERFLOW_WRAP);
	p = ring_producer_open(attach(0, 0), 0, 0, &serial);
	emit(p, 10, EVENT_INSTANT, PHASE_INSTANT, 0, 0);
	emit_unseen(p, 11, 500, 0, LOST_UNSEEN);
	emit_unseen(p, 600, 700, 0, LOST_UNSEEN);
	emit_unseen(p, 12, 500, 3, LOST_UNSEEN);  /* it does not know how many */
	emit_unseen(p, 13, 500, 0, LOST_DROPPED); /* not for it to say */
	emit(p, 14, EVENT_LOST, PHASE_COMPLETE, 0, 0);
	reader = finish(&drained, &totals);
	assert_int_equal(drained.produced, 6);
	assert_int_equal(drained.recorded, 3);
	assert_int_equal(drained.lost, 3);
	assert_int_equal(totals.by_reason[LOST_UNREADABLE], 3);
	assert_int_equal(totals.unseen, 1200);
	assert_int_equal(drained.unseen_ns, 1200); /* the clock here counts nanoseconds */
	assert_int_equal(totals.by_track[2], 2);
	assert_int_equal(trace_reader_track(reader, 2)->kind, TRACK_PROCESS);
	trace_reader_close(reader);
}

static void what_was_skipped_is_summed_up(void **state)
{
	struct drain_totals drained;
	struct ring_memory *memory;
	struct totals totals;
	uint32_t first = 0, second = 0;

	(void)state;
	start(4, OVERFLOW_WRAP);
	for (int i = 0; i < 2; i++) {
		memory = attach(0, 0);
		first = second = 0;
		layout_rings(memory->process.map)[ring_producer_open(memory, 0, 0, &first)->index].skipped = 5;
		layout_rings(memory->process.map)[ring_producer_open(memory, 0, 0, &second)->index].skipped = 100;
		memory->process.header->functions = 40;
		memory->process.header->functions_skipped = 7;
		drain_pass(drain, NULL);
	}
	trace_reader_close(finish(&drained, &totals));
	assert_int_equal(drained.skipped_calls, 210);
	assert_int_equal(drained.functions, 80);
	assert_int_equal(drained.functions_skipped, 14);
	assert_int_equal(drained.produced, 0);
}

/* The recorder is killed when its last block is in the file and nothing has been said about it in memory: what the block
 * has is not read again, though the thread itself had no event in it. */
static void recovery_repeats_no_task(void **state)
{
	struct trace_reader *partial, *reader;
	struct drain_totals drained;
	struct ring_producer *p;
	struct totals totals;
	uint32_t serial = 0;
	char first[sizeof trace_path];
	struct trace_writer_options options = { 0 };
	int fd;

	(void)state;
	start(4, OVERFLOW_WRAP);
	p = ring_producer_open(attach(0, 0), 0, 0, &serial);
	for (uint32_t i = 0; i < 3; i++)
		emit_task(p, 10 + i, PHASE_INSTANT, 0, 0, 1 + i / 2, 0);
	drain_pass(drain, NULL);
	assert_int_equal(trace_writer_flush(writer, NULL), 0);
	drain_free(drain);
	trace_writer_abandon(writer);
	assert_int_equal(layout_rings(p->process->map)[p->index].drained, 0);
	emit_task(p, 20, PHASE_INSTANT, 0, 0, 2, 0);
	emit_task(p, 21, PHASE_INSTANT, 0, 0, 3, 0);
	assert_int_equal(trace_reader_open(&partial, trace_path, NULL), 0);
	count_file(partial, &totals);
	assert_int_equal(totals.events, 3);
	strcpy(first, trace_path);
	strcpy(trace_path + strlen(trace_path) - 6, "XXXXXX");
	fd = mkstemp(trace_path);
	assert_int_equal(trace_writer_open(&writer, fd, &options, NULL), 0);
	assert_int_equal(drain_new(&drain, &session, writer, (uint32_t)trace_reader_track_count(partial)), 0);
	assert_int_equal(drain_resume(drain, partial, false, NULL), 0);
	reader = finish(&drained, &totals);
	assert_int_equal(drained.recorded, 2);
	assert_int_equal(totals.by_track[3], 1); /* the second task's track, as before */
	assert_int_equal(totals.by_track[4], 1);
	assert_int_equal(trace_reader_track(reader, 3)->os_id, 2);
	trace_reader_close(reader);
	trace_reader_close(partial);
	unlink(first);
}

/* ---- Who listens --------------------------------------------------------------------- */

struct ear {
	unsigned threads, tasks, named;
	uint32_t task_track, task_thread, thread_track;
};

static void hear(void *arg, const struct drain_run *run)
{
	struct ear *ear = arg;
	size_t size;

	assert_int_equal(run->pid, getpid());
	for (size_t i = 0; i < run->count; i += 1 + (size_t)run->slots[i].extra) {
		ear->threads += run->kind == TRACK_THREAD;
		ear->tasks += run->kind == TRACK_TASK;
		ear->named += strncmp(drain_text(drain, run->slots[i].name, &size), "decode", 6) == 0 && size == 6;
	}
	if (run->kind == TRACK_TASK) {
		ear->task_track = run->track;
		ear->task_thread = run->thread;
	} else {
		ear->thread_track = run->track;
	}
}

/* All that is written is heard of, with the names of the trace, until nobody listens any more. */
static void who_listens_hears_everything(void **state)
{
	struct drain_totals drained;
	struct ring_memory *memory;
	struct ring_producer *p;
	struct totals totals;
	struct ear ear = { 0 };
	uint32_t serial = 0, decode;
	uint64_t recorded, lost;

	(void)state;
	start(8, OVERFLOW_WRAP);
	memory = attach(0, 0);
	p = ring_producer_open(memory, 100, 0, &serial);
	decode = name(memory, "decode");
	drain_listen(drain, hear, &ear);
	for (uint64_t i = 0; i < 5000; i++) {
		assert_true(emit(p, 1000 + i, EVENT_SCOPE, i % 2 ? PHASE_END : PHASE_BEGIN, i % 2 ? 0 : decode, 0));
		if (i % 100 == 99)
			assert_true(emit_task(p, 1000 + i, PHASE_INSTANT, decode, 0, 3, 0));
	}
	drain_pass(drain, NULL);
	assert_int_equal(ear.threads, 5000);
	assert_int_equal(ear.tasks, 50);
	assert_int_equal(ear.named, 2550);
	assert_int_equal(ear.task_thread, ear.thread_track);
	assert_int_not_equal(ear.task_track, ear.thread_track);
	drain_counts(drain, &recorded, &lost);
	assert_int_equal(recorded, 5050);
	assert_int_equal(lost, 0);
	drain_listen(drain, NULL, NULL);
	assert_true(emit(p, 9000, EVENT_SCOPE, PHASE_BEGIN, decode, 0));
	trace_reader_close(finish(&drained, &totals));
	assert_int_equal(ear.threads, 5000);
	assert_int_equal(totals.events, 5051);
}

/* There may be a descriptor at a later look, so that no look without one counts. */
static void without_a_descriptor_nothing_is_given_up(void **state)
{
	struct rlimit before, none;
	struct drain_totals totals;
	struct totals file;
	struct error err = { 0 };
	uint32_t serial = 0;
	int next;

	(void)state;
	start(64, OVERFLOW_WRAP);
	assert_true(emit(ring_producer_open(attach(0, 0), 0, 0, &serial), 5, EVENT_SCOPE, PHASE_INSTANT, NAME_NONE, 0));
	next = dup(0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ (rlim_t)next, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (int i = 0; i < 5000; i++)
		(void)drain_pass(drain, &err);
	totals = drain_totals(drain);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(totals.unopened_code, EMFILE);
	assert_int_equal(totals.processes, 0);
	assert_true(drain_pass(drain, &err) > 0);
	trace_reader_close(finish(&totals, &file));
	assert_int_equal(totals.unopened_code, 0);
	assert_int_equal(totals.processes, 1);
	assert_int_equal(file.events, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_arrive_as_they_were),
		cmocka_unit_test(what_waits_is_counted),
		cmocka_unit_test(overwritten_events_are_counted),
		cmocka_unit_test(refusals_are_counted_by_reason),
		cmocka_unit_test(nonsense_is_counted),
		cmocka_unit_test(each_thread_has_its_track),
		cmocka_unit_test(a_thread_keeps_its_track),
		cmocka_unit_test(names_are_inherited),
		cmocka_unit_test(a_dead_process_is_cleared_away),
		cmocka_unit_test(functions_have_a_place),
		cmocka_unit_test(tasks_have_their_tracks),
		cmocka_unit_test(a_task_s_events_keep_their_fields),
		cmocka_unit_test(streams_have_their_tracks),
		cmocka_unit_test(devices_tell_how_they_are),
		cmocka_unit_test(devices_keep_their_rows),
		cmocka_unit_test(recovery_knows_streams),
		cmocka_unit_test(no_task_loses_an_event),
		cmocka_unit_test(tasks_without_a_track_are_counted),
		cmocka_unit_test(time_unseen_is_told),
		cmocka_unit_test(what_was_skipped_is_summed_up),
		cmocka_unit_test(recovery_repeats_no_task),
		cmocka_unit_test(who_listens_hears_everything),
		cmocka_unit_test(without_a_descriptor_nothing_is_given_up),
	};

	return cmocka_run_group_tests_name("drain", tests, NULL, NULL);
}
