/* What is seen of a program from outside: rates of made-up views, lists and their bounds, and a real program that runs, stops and
 * ends. */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "live/alerts.h"
#include "live/outside_parts.h"

#define SECOND ((uint64_t)1000000000)
#define MS ((uint64_t)1000000)
#define ROOT 900000001 /* no process has this number */

static void assert_near(double value, double expected, double margin)
{
	if (!(fabs(value - expected) <= margin))
		fail_msg("%g is not %g", value, expected);
}

/* ---- Made-up views ------------------------------------------------------------- */

static void begin(struct live_outside *o)
{
	*o = (struct live_outside){ .root = ROOT, .clock = CLOCK_SOURCE_MONOTONIC, .tick_s = 1e-9 };
	o->machine.cpu_count = 4;
	o->gpus.tried = true;
	o->gpus.next_ns = INT64_MAX;
	o->gpus.sampler = (struct gpu_sampler)GPU_SAMPLER_INIT;
}

static void end(struct live_outside *o)
{
	outside_tree_release(&o->tree);
	outside_gpu_release(&o->gpus);
}

static struct watched_process_view process(uint32_t number, pid_t pid, uint64_t time, uint64_t cpu_ns)
{
	struct watched_process_view p = { .number = number, .pid = pid, .time = time, .io_time = time, .cpu_ns = cpu_ns,
					  .syscalls = true };

	p.counters.state = 'S';
	process_counters_set(&p.counters, PROCESS_THREADS, 1);
	process_counters_set(&p.counters, PROCESS_RSS_BYTES, 1000);
	return p;
}

static struct watched_thread_view thread(uint32_t number, pid_t pid, pid_t tid, uint64_t time, uint64_t run, uint64_t queue)
{
	return (struct watched_thread_view){ .number = number, .pid = pid, .tid = tid, .main = pid == tid, .time = time, .since = time,
					     .ledger = { run, queue, 1 }, .object = { .state = THREAD_RUNNING } };
}

static void take(struct live_outside *o, const struct watched_process_view *p, size_t processes, const struct watched_thread_view *t,
		 size_t threads)
{
	const struct watch_view view = { .processes = p, .process_count = processes, .threads = t, .thread_count = threads };

	outside_tree_take(o, &view);
}

static void test_process_rates(void **state)
{
	struct watched_process_view p = process(0, ROOT, SECOND, 5 * SECOND);
	struct live_outside o;
	const struct outside_process *kept;

	(void)state;
	begin(&o);
	process_counters_set(&p.counters, PROCESS_READ_BYTES, 1000);
	process_counters_set(&p.counters, PROCESS_MAJOR_FAULTS, 10);
	take(&o, &p, 1, NULL, 0);
	kept = outside_tree_process(&o.tree, ROOT);
	assert_true(isnan(kept->cpu) && isnan(kept->read_bytes));

	p.time += 100 * MS; /* bytes are not read every time */
	p.cpu_ns += 150 * MS;
	process_counters_set(&p.counters, PROCESS_MAJOR_FAULTS, 12);
	take(&o, &p, 1, NULL, 0);
	kept = outside_tree_process(&o.tree, ROOT);
	assert_near(kept->cpu, 1.5, 1e-9);
	assert_near(kept->major_faults, 20, 1e-9);
	assert_true(isnan(kept->read_bytes) && isnan(kept->minor_faults));

	p.time += 100 * MS;
	p.io_time = p.time;
	process_counters_set(&p.counters, PROCESS_READ_BYTES, 3000);
	take(&o, &p, 1, NULL, 0);
	kept = outside_tree_process(&o.tree, ROOT);
	assert_near(kept->cpu, 0, 1e-9);
	assert_near(kept->read_bytes, 10000, 1e-6);
	take(&o, &p, 1, NULL, 0); /* the same reading again: nothing new */
	assert_near(outside_tree_process(&o.tree, ROOT)->read_bytes, 10000, 1e-6);
	end(&o);
}

/* What goes back, jumps or is another process of the same pid is never absurd. */
static void test_odd_readings(void **state)
{
	struct watched_process_view p = process(0, ROOT, 10 * SECOND, 5 * SECOND);
	struct live_outside o;

	(void)state;
	begin(&o);
	take(&o, &p, 1, NULL, 0);
	p.time += SECOND;
	p.cpu_ns -= SECOND;
	take(&o, &p, 1, NULL, 0);
	assert_near(outside_tree_process(&o.tree, ROOT)->cpu, 0, 0);
	p.time += SECOND;
	p.cpu_ns += 1000 * SECOND; /* more than the machine has */
	take(&o, &p, 1, NULL, 0);
	assert_near(outside_tree_process(&o.tree, ROOT)->cpu, 4, 0);
	p.time -= 5 * SECOND; /* a clock that was set back: what was known stays */
	p.cpu_ns += SECOND;
	take(&o, &p, 1, NULL, 0);
	assert_near(outside_tree_process(&o.tree, ROOT)->cpu, 4, 0);
	p = process(1, ROOT, 20 * SECOND, 7 * SECOND); /* the pid is another's now */
	take(&o, &p, 1, NULL, 0);
	assert_true(isnan(outside_tree_process(&o.tree, ROOT)->cpu));
	p.cpu_ns = UINT64_MAX;
	p.time += SECOND;
	take(&o, &p, 1, NULL, 0);
	assert_true(isnan(outside_tree_process(&o.tree, ROOT)->cpu));
	take(&o, NULL, 0, NULL, 0);
	assert_null(outside_tree_process(&o.tree, ROOT));
	end(&o);
}

static void test_thread_shares(void **state)
{
	struct watched_thread_view t = thread(7, ROOT, ROOT, SECOND, 0, 0);
	struct live_outside o;
	const struct outside_thread *kept;

	(void)state;
	begin(&o);
	take(&o, NULL, 0, &t, 1);
	assert_true(isnan(o.tree.threads[0].cpu));
	t.time += 100 * MS;
	t.ledger.run_ns = 20 * MS;
	t.ledger.queue_ns = 30 * MS;
	take(&o, NULL, 0, &t, 1);
	kept = &o.tree.threads[0];
	assert_near(kept->cpu, 0.2, 1e-9);
	assert_near(kept->queue, 0.3, 1e-9);
	assert_near(kept->blocked, 0.5, 1e-9);

	t.time += MS; /* too close to say anything, but what it waits for is new */
	t.ledger.run_ns += MS;
	t.object.state = THREAD_FILE;
	take(&o, NULL, 0, &t, 1);
	assert_near(o.tree.threads[0].cpu, 0.2, 1e-9);
	assert_int_equal(o.tree.threads[0].now.object.state, THREAD_FILE);

	t.time += 99 * MS; /* the kernel's ledger lags, then has more than the time that passed */
	t.ledger.run_ns += 120 * MS;
	t.ledger.queue_ns += 60 * MS;
	take(&o, NULL, 0, &t, 1);
	kept = &o.tree.threads[0];
	assert_near(kept->cpu + kept->queue, 1, 1e-9);
	assert_near(kept->blocked, 0, 1e-9);
	t.time += SECOND; /* a ledger of another thread, that the kernel gave the same file, would go back */
	t.ledger.run_ns = t.ledger.queue_ns = 0;
	take(&o, NULL, 0, &t, 1);
	assert_near(o.tree.threads[0].blocked, 1, 1e-9);
	end(&o);
}

/* ---- Deaths -------------------------------------------------------------------- */

static void test_deaths(void **state)
{
	struct live_snapshot *s = calloc(1, sizeof *s);
	struct watched_process_view p[2] = { process(0, ROOT, SECOND, 0), process(1, ROOT + 1, SECOND, 0) };
	struct watched_death deaths[WATCH_DEATHS];
	struct watch_view view = { .deaths = deaths };
	struct live_outside o;

	(void)state;
	begin(&o);
	take(&o, p, 2, NULL, 0);
	strcpy(outside_tree_process(&o.tree, ROOT + 1)->name, "worker");
	deaths[0] = (struct watched_death){ 1, ROOT + 1, SIGSEGV };
	deaths[1] = (struct watched_death){ 0, ROOT, SIGKILL };     /* its exit status says it */
	deaths[2] = (struct watched_death){ 7, ROOT + 1, SIGABRT }; /* another one of that pid */
	deaths[3] = (struct watched_death){ 8, ROOT + 8, 127 };     /* no signal */
	view.death_count = 4;
	outside_death_take(&o, &view, s);
	assert_int_equal(s->death_count, 2);
	assert_int_equal(s->deaths[0].pid, ROOT + 1);
	assert_int_equal(s->deaths[0].signal, SIGSEGV);
	assert_int_equal(s->deaths[0].count, 1);
	assert_string_equal(s->deaths[0].name, "worker");
	assert_int_equal(s->deaths[1].signal, SIGABRT);
	assert_string_equal(s->deaths[1].name, "");
	outside_death_take(&o, &view, s);
	assert_int_equal(s->death_count, 0);

	for (uint32_t i = 0; i < WATCH_DEATHS; i++) /* more than are kept, by more signals than there is room for */
		deaths[i] = (struct watched_death){ 100 + i, ROOT + 100 + (pid_t)i, 1 + (int)i % 32 };
	view.death_count = 4 + 3 * WATCH_DEATHS;
	outside_death_take(&o, &view, s);
	assert_int_equal(s->death_count, LIVE_DEATHS);
	assert_int_equal(o.deaths.counts[SIGSEGV], 3);
	end(&o);
	free(s);
}

/* ---- A snapshot ---------------------------------------------------------------- */

static void test_snapshot_parts(void **state)
{
	struct live_snapshot *s = malloc(sizeof *s), *copy = malloc(sizeof *copy), *empty = malloc(sizeof *empty);

	(void)state;
	live_snapshot_clear(s);
	live_snapshot_clear(copy);
	live_snapshot_clear(empty);
	s->run_s = 7;
	s->gpu_count = 1;
	s->process_count = LIVE_PROCESSES;
	s->thread_count = 3;
	s->slice_count = 2;
	s->place_count = 1;
	s->alert_count = LIVE_ALERTS;
	s->gpus[0].power_watts = 1;
	s->processes[LIVE_PROCESSES - 1].pid = 2;
	s->threads[2].tid = 3;
	s->steps.count = 4;
	s->slices[1].depth = 5;
	s->places[0].calls = 6;
	s->alerts[LIVE_ALERTS - 1].number = 8;
	s->own_rss_bytes = 9;
	live_snapshot_copy(copy, s);
	assert_memory_equal(copy, s, sizeof *s);
	live_snapshot_renew(s);
	assert_memory_equal(s, empty, sizeof *s);
	free(s);
	free(copy);
	free(empty);
}

/* ---- Lists ------------------------------------------------------------------- */

#define MANY 3000u

static void test_bounds(void **state)
{
	struct live_snapshot *s = calloc(1, sizeof *s);
	struct watched_process_view *p = calloc(200, sizeof *p);
	struct watched_thread_view *t = calloc(MANY, sizeof *t);
	struct live_outside o;

	(void)state;
	begin(&o);
	for (unsigned round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 200; i++)
			p[i] = process(i, i == 150 ? ROOT : ROOT + 1 + (pid_t)i, SECOND * (1 + round), i * 10 * MS * round);
		for (uint32_t i = 0; i < MANY; i++)
			t[i] = thread(i, ROOT, i == 17 ? ROOT : ROOT + 1000 + (pid_t)i, SECOND * (1 + round), i % 1000 * MS * round, 0);
		take(&o, p, 200, t, MANY);
	}
	live_snapshot_clear(s);
	outside_list_fill(&o, 1, s);
	assert_int_equal(s->process_count, LIVE_PROCESSES);
	assert_int_equal(s->processes_left_out, 200 - LIVE_PROCESSES);
	assert_int_equal(s->processes[0].pid, ROOT);
	assert_int_equal(s->processes[1].pid, ROOT + 200);
	assert_int_equal(s->thread_count, LIVE_THREADS);
	assert_int_equal(s->threads_left_out, MANY - LIVE_THREADS);
	assert_int_equal(s->threads[0].tid, ROOT);
	assert_near(s->threads[1].cpu, 0.999, 0.006);
	assert_near(s->cpu.share, 199 * 200 / 2 * 1e-2, 1e-6);
	assert_near(s->memory.rss_bytes, 200 * 1000, 0);
	assert_true(isnan(s->io.read_bytes) && isnan(s->memory.pss_bytes));
	assert_string_equal(s->processes[0].name, "");
	end(&o);
	free(p);
	free(t);
	free(s);
}

static double pss_of(struct live_outside *o, const struct watched_process_view *p, size_t count)
{
	struct live_snapshot *s = calloc(1, sizeof *s);
	double pss;

	take(o, p, count, NULL, 0);
	outside_list_fill(o, 1, s);
	pss = s->memory.pss_bytes;
	free(s);
	return pss;
}

/* Known when it is of all that have not ended. */
static void test_proportional_memory(void **state)
{
	struct watched_process_view p[3] = { process(0, ROOT, SECOND, 0), process(1, ROOT + 1, SECOND, 0), process(2, ROOT + 2, SECOND, 0) };
	struct live_outside o;

	(void)state;
	begin(&o);
	assert_true(isnan(pss_of(&o, p, 0)));
	assert_true(isnan(pss_of(&o, p, 3)));
	process_counters_set(&p[0].counters, PROCESS_PSS_BYTES, 500);
	process_counters_set(&p[1].counters, PROCESS_PSS_BYTES, 30);
	for (size_t i = 0; i < 3; i++)
		p[i].time += SECOND;
	assert_true(isnan(pss_of(&o, p, 3)));
	assert_near(pss_of(&o, p, 2), 530, 0);
	p[2].leader_ended = true; /* but another thread goes on */
	process_counters_set(&p[2].counters, PROCESS_THREADS, 2);
	p[2].time += SECOND;
	assert_true(isnan(pss_of(&o, p, 3)));
	process_counters_set(&p[2].counters, PROCESS_THREADS, 1);
	p[2].time += SECOND;
	assert_near(pss_of(&o, p, 3), 530, 0);
	end(&o);
}

static void test_waiting(void **state)
{
	struct watched_process_view p = process(0, ROOT, SECOND, 0);
	struct watched_thread_view t[3] = { thread(0, ROOT, ROOT, SECOND, 0, 0), thread(1, ROOT, ROOT + 1, SECOND, 0, 0),
					    thread(2, ROOT, ROOT + 2, SECOND, 0, 0) };
	struct live_snapshot *s = calloc(1, sizeof *s);
	struct live_outside o;

	(void)state;
	begin(&o);
	wait_object_set(&t[0].object, THREAD_FILE, "/data/train.bin");
	wait_object_set(&t[1].object, THREAD_FILE, "/dev/pts/3");
	wait_object_set(&t[2].object, THREAD_FSYNC, "/data/out");
	take(&o, &p, 1, t, 3);
	t[2].time += 100 * MS;
	t[2].ledger.run_ns = 75 * MS;
	take(&o, &p, 1, t, 3);
	outside_list_fill(&o, 1, s);
	assert_near(s->io.waiting, 1.25, 1e-9);
	assert_string_equal(s->threads[0].state, "file");
	assert_string_equal(s->threads[0].what, "/data/train.bin");
	assert_true(s->threads[0].waiting_s > 0);
	p.syscalls = false;
	p.time += SECOND;
	t[0].object.state = THREAD_STATE_COUNT;
	take(&o, &p, 1, t, 3);
	outside_list_fill(&o, 2, s);
	assert_true(isnan(s->io.waiting));
	assert_string_equal(s->threads[0].state, "");
	end(&o);
	free(s);
}

/* Threads 0 and 1 are workers' main threads. */
static struct watched_thread_view waits(uint32_t number, enum thread_state state)
{
	struct watched_thread_view t = thread(number, number < 2 ? ROOT + (pid_t)number : ROOT, ROOT + (pid_t)number, SECOND, 0, 0);

	t.object.state = state;
	return t;
}

static void look_at(struct live_outside *o, struct live_snapshot *s, double seconds, const enum thread_state states[4])
{
	struct watched_process_view p = process(0, ROOT, SECOND, 0);
	struct watched_thread_view t[4];

	for (uint32_t i = 0; i < 4; i++)
		t[i] = waits(i, states[i]);
	take(o, &p, 1, t, 4);
	for (size_t i = 0; i < o->tree.thread_count; i++) {
		strcpy(o->tree.threads[i].name, "pt_data_worker");
		o->tree.threads[i].names = 1;
		o->tree.threads[i].name_ns = INT64_MAX / 2;
	}
	outside_list_fill(o, (int64_t)(seconds * 1e9), s);
}

static void test_waits_of_python(void **state)
{
	static const enum thread_state first[4] = { THREAD_RUNNING, THREAD_PIPE, THREAD_GIL, THREAD_GIL };
	static const enum thread_state then[4] = { THREAD_POLL, THREAD_PIPE, THREAD_GIL, THREAD_LOCK };
	static const enum thread_state none[4] = { THREAD_STATE_COUNT, THREAD_STATE_COUNT, THREAD_RUNNING, THREAD_RUNNING };
	struct live_snapshot *s = calloc(1, sizeof *s);
	struct live_outside o;

	(void)state;
	begin(&o);
	look_at(&o, s, 1, first);
	assert_near(s->cpu.gil_wait, 2, 0);
	assert_int_equal(s->loader_workers, 2);
	assert_near(s->loader_busy, 0.5, 0);
	look_at(&o, s, 11, then);
	assert_near(s->cpu.gil_wait, 1, 0);
	assert_near(s->loader_busy, 0.25, 1e-9); /* half of the way in ten seconds */
	look_at(&o, s, 12, none);
	assert_near(s->cpu.gil_wait, 0, 0);
	assert_int_equal(s->loader_workers, 0);
	assert_true(isnan(s->loader_busy));
	look_at(&o, s, 13, first); /* a new loader has no past */
	assert_near(s->loader_busy, 0.5, 0);
	end(&o);
	free(s);
}

/* ---- Processor time ------------------------------------------------------------- */

#define CHILD (ROOT + 1)
#define GRANDCHILD (ROOT + 2)

static struct watched_process_view took(uint32_t number, pid_t pid, pid_t parent, double own_s, double waited_s)
{
	static uint64_t time = SECOND;
	struct watched_process_view p = process(number, pid, time += 100 * MS, (uint64_t)(own_s * 1e9));

	p.parent = parent;
	p.birth = 1000 + number;
	process_counters_set(&p.counters, PROCESS_CHILDREN_NS, (uint64_t)(waited_s * 1e9));
	return p;
}

/* What is told at that second; it never becomes less. */
static double time_at(struct live_outside *o, double second, const struct watched_process_view *p, size_t count)
{
	static struct live_snapshot s;
	double before = (double)o->time.total_ns / 1e9;

	take(o, p, count, NULL, 0);
	outside_time_fill(o, (int64_t)(second * 1e9), &s);
	assert_true(isnan(s.cpu.time_s) || s.cpu.time_s >= before);
	return s.cpu.time_s;
}

static void test_time(void **state)
{
	struct watched_process_view p[3] = { took(0, ROOT, 1, 1, 0), took(1, CHILD, ROOT, 2, 0) };
	struct live_outside o;

	(void)state;
	begin(&o);
	assert_near(time_at(&o, 10, p, 2), 3, 1e-9); /* also what they took before they were seen */
	p[1] = took(1, CHILD, ROOT, 2.5, 0);
	assert_near(time_at(&o, 11, p, 2), 3.5, 1e-9);
	p[0] = took(0, ROOT, 1, 1, 3); /* it has waited for the child, which took half a second more; this is still in the view */
	assert_near(time_at(&o, 16, p, 2), 3.5, 1e-9);
	assert_near(time_at(&o, 17, p, 1), 3.5, 1e-9);
	assert_near(time_at(&o, 22, p, 1), 4, 1e-9); /* the half second, and not the child again */
	p[0] = took(0, ROOT, 1, 1.25, 5); /* one that nobody saw */
	assert_near(time_at(&o, 27, p, 1), 4.25, 1e-9);
	assert_near(time_at(&o, 32, p, 1), 6.25, 1e-9);
	assert_near(time_at(&o, 60, p, 1), 6.25, 1e-9);
	p[0].cpu_ns = UINT64_MAX;
	p[0].time += SECOND;
	assert_near(time_at(&o, 61, p, 1), 6.25, 1e-9);
	assert_near(time_at(&o, 62, p, 0), 6.25, 1e-9);
	end(&o);
}

/* A child that has waited for its own, and both have gone before the next look. */
static void test_time_of_grandchildren(void **state)
{
	struct watched_process_view p[3] = { took(0, ROOT, 1, 1, 0), took(1, CHILD, ROOT, 1, 0), took(2, GRANDCHILD, CHILD, 4, 0) };
	struct live_outside o;

	(void)state;
	begin(&o);
	assert_near(time_at(&o, 10, p, 3), 6, 1e-9);
	p[0] = took(0, ROOT, 1, 1, 5.5);
	assert_near(time_at(&o, 11, p, 1), 6, 1e-9);
	assert_near(time_at(&o, 16, p, 1), 6, 1e-9);
	assert_near(time_at(&o, 21, p, 1), 6.5, 1e-9);
	end(&o);
}

/* What was before us is not counted, of children neither, be they seen or not; what nobody waits for is counted once, and stays. */
static void test_time_of_others(void **state)
{
	struct watched_process_view p[2] = { took(0, ROOT, 1, 100, 50), took(1, CHILD, ROOT, 30, 0) };
	struct live_outside o;

	(void)state;
	begin(&o);
	o.time.begin_birth = 1002;
	assert_near(time_at(&o, 10, p, 2), 0, 0);
	p[0] = took(0, ROOT, 1, 101, 50);
	p[1] = took(1, CHILD, ROOT, 32, 0);
	assert_near(time_at(&o, 11, p, 2), 3, 1e-9);
	p[0] = took(0, ROOT, 1, 101, 82);
	assert_near(time_at(&o, 12, p, 1), 3, 1e-9);
	assert_near(time_at(&o, 18, p, 1), 3, 1e-9);
	assert_near(time_at(&o, 24, p, 1), 3, 1e-9);
	p[1] = took(2, GRANDCHILD, 1, 4, 0); /* an orphan: its time will be in nobody's sum */
	assert_near(time_at(&o, 25, p, 2), 7, 1e-9);
	assert_near(time_at(&o, 31, p, 1), 7, 1e-9);
	end(&o);
}

static void test_names(void **state)
{
	struct command {
		const char *text;
		size_t size;
		const char *name;
	};
	static const struct command public[] = { /* what anybody may see: no argument */
		{ "/usr/bin/python3\0/home/x/train.py\0--token\0s3cret\0", 49, "python3 train.py" },
		{ "python\0-m\0serving\0s3cret\0", 25, "python -m serving" },
		{ "python3.12\0-X\0s3cret\0train.py\0", 31, "python3.12" },
		{ "/bin/sh\0/x/run.sh\0s3cret\0", 26, "sh run.sh" },
		{ "/opt/serve\0s3cret\0", 18, "serve" },
		{ "curl\0https://me:s3cret@host\0", 29, "curl" },
		{ "", 0, "" },
	};
	static const struct command cases[] = {
		{ "/usr/bin/python3\0/home/x/train.py\0--token\0secret\0", 49, "python3 train.py" },
		{ "python\0-m\0torch.distributed.run\0x\0", 34, "python -m torch.distributed.run" },
		{ "python\0-c\0import os\0", 20, "python" },
		{ "python\0-m\0", 10, "python" },
		{ "sleep", 5, "sleep" },
		{ "/", 1, "/" },
		{ "", 0, "" },
		{ "\0\0\0", 3, "" },
	};
	char name[LIVE_NAME], long_text[400], small[8];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(outside_name_of_command(cases[i].text, cases[i].size, name, sizeof name), strlen(cases[i].name));
		assert_string_equal(name, cases[i].name);
	}
	for (size_t i = 0; i < sizeof public / sizeof public[0]; i++) {
		assert_int_equal(live_outside_program(public[i].text, public[i].size, name, sizeof name), strlen(public[i].name));
		assert_string_equal(name, public[i].name);
	}
	memset(long_text, 'a', sizeof long_text);
	long_text[300] = long_text[399] = '\0';
	assert_int_equal(outside_name_of_command(long_text, sizeof long_text, name, sizeof name), sizeof name - 1);
	assert_int_equal(outside_name_of_command("abcdefg\0x", 10, small, sizeof small), 7);
	assert_string_equal(small, "abcdefg");
}

/* ---- The machine --------------------------------------------------------------- */

static void add_reading(struct live_outside *o, uint64_t time, uint64_t busy, uint64_t idle, uint64_t steal)
{
	struct watch_view view = { .machine_time = time };

	view.machine.values[MACHINE_BUSY_NS] = busy;
	view.machine.values[MACHINE_IDLE_NS] = idle;
	view.machine.values[MACHINE_STEAL_NS] = steal;
	view.machine.values[MACHINE_PRESSURE_IO_NS] = time / 4;
	view.machine.values[MACHINE_FREQUENCY_MHZ] = 2400;
	view.machine.known = 1u << MACHINE_BUSY_NS | 1u << MACHINE_IDLE_NS | 1u << MACHINE_STEAL_NS | 1u << MACHINE_PRESSURE_IO_NS |
			     1u << MACHINE_FREQUENCY_MHZ;
	outside_machine_take(o, &view);
}

/* Over a second, since the kernel counts in steps of 10 ms. */
static void test_machine(void **state)
{
	struct live_snapshot *s = calloc(1, sizeof *s);
	struct live_outside o;

	(void)state;
	begin(&o);
	o.machine.memory_files = (struct machine_memory_files)MACHINE_MEMORY_FILES_INIT;
	o.machine.disk_files = (struct disk_files)DISK_FILES_INIT;
	o.machine.network_files = (struct network_files)NETWORK_FILES_INIT;
	o.machine.limits_ns = o.machine.next_slow_ns = INT64_MAX;
	o.machine.available_cpus = 1.5;
	add_reading(&o, SECOND, 0, 0, 0);
	outside_machine_fill(&o, 1, s);
	assert_true(isnan(s->cpu.machine) && isnan(s->io.pressure) && isnan(s->memory.total_bytes));
	assert_near(s->cpu.frequency_mhz, 2400, 0);
	for (unsigned i = 1; i <= 20; i++) { /* idle for two seconds, then half busy */
		uint64_t busy = i > 10 ? (i - 10) * 100 * MS : 0;

		add_reading(&o, SECOND + i * 200 * MS, busy, i * 200 * MS - busy, 0);
		add_reading(&o, SECOND + i * 200 * MS, busy, i * 200 * MS - busy, 0); /* the same one */
	}
	outside_machine_fill(&o, 2, s);
	assert_near(s->cpu.machine, 0.5, 1e-9);
	assert_near(s->io.pressure, 0.25, 1e-9);
	assert_true(isnan(s->cpu.throttled));
	assert_near(s->cpu.steal, 0, 0);
	assert_near(s->cpu.available, 1.5, 0);
	assert_int_equal(s->cpu.count, 4);
	add_reading(&o, SECOND, 5, 5, 5); /* a clock that was set back */
	outside_machine_fill(&o, 3, s);
	assert_true(isnan(s->cpu.machine));
	end(&o);
	free(s);
}

/* 64 processors of which the quota takes a little: a tenth of a second in each, of sixty that they ran. */
static void test_throttled(void **state)
{
	struct live_snapshot *s = calloc(1, sizeof *s);
	struct live_outside o;

	(void)state;
	begin(&o);
	o.machine.limits_ns = o.machine.next_slow_ns = INT64_MAX;
	for (unsigned i = 0; i < 2; i++) {
		struct watch_view view = { .machine_time = (i + 1) * SECOND };

		view.machine.values[MACHINE_THROTTLED_NS] = i * 130 * MS;
		view.machine.values[MACHINE_GROUP_CPU_NS] = i * 60 * SECOND;
		view.machine.values[MACHINE_QUOTA_PERIODS] = 50 + i * 10;
		view.machine.values[MACHINE_THROTTLED_PERIODS] = i * 10;
		view.machine.known = 1u << MACHINE_THROTTLED_NS | 1u << MACHINE_GROUP_CPU_NS | 1u << MACHINE_QUOTA_PERIODS |
				     1u << MACHINE_THROTTLED_PERIODS;
		outside_machine_take(&o, &view);
	}
	outside_machine_fill(&o, 1, s);
	assert_near(s->cpu.throttled, 0.13 / 60.13, 1e-9);
	end(&o);
	free(s);
}

static int file_of(const char *text)
{
	char path[] = "/tmp/test-outside-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0 && unlink(path) == 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static void rewrite(int fd, const char *text)
{
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, text, strlen(text), 0), strlen(text));
}

static void test_devices(void **state)
{
	struct live_outside o;
	struct outside_machine *m = &o.machine;

	(void)state;
	begin(&o);
	m->disk_files.fd = file_of(" 8 0 sda 10 0 100 0 0 0 0 0 0 100 0\n 8 16 sdb 1 0 1 0 0 0 0 0 0 4294967295 0\n");
	m->network_files.fd = file_of("lo: 1000 1 0 0 0 0 0 0 1000 1 0 0 0 0 0 0\neth0: 100 1 0 0 0 0 0 0 200 1 0 0 0 0 0 0\n");
	outside_disks_read(m, 0);
	outside_network_read(m, 0);
	assert_int_equal(m->disk_rate_count, 2);
	assert_true(isnan(m->disk_rates[0].read_bytes) && isnan(m->disk_rates[0].busy));
	rewrite(m->disk_files.fd, " 8 16 sdb 1 0 1 0 0 0 0 0 0 9 0\n 8 0 sda 20 0 300 0 0 0 0 0 0 9000 0\n"
				  " 8 32 sdc 5 0 1 0 0 0 0 0 0 9 0\n");
	rewrite(m->network_files.fd, "lo: 9000 1 0 0 0 0 0 0 9000 1 0 0 0 0 0 0\neth0: 600 3 1 0 0 0 0 0 50 1 0 0 0 0 0 0\n"
				     "eth1: 77 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
	outside_disks_read(m, 0.5);
	outside_network_read(m, 0.5);
	assert_int_equal(m->disk_rate_count, 3);
	assert_string_equal(m->disk_rates[0].name, "sdb");
	assert_near(m->disk_rates[0].busy, 0, 0); /* wrapped */
	assert_near(m->disk_rates[1].read_bytes, 200 * 512 * 2, 1e-6);
	assert_near(m->disk_rates[1].reads, 20, 1e-9);
	assert_near(m->disk_rates[1].busy, 1, 0);
	assert_true(isnan(m->disk_rates[2].reads));
	assert_near(m->network_rates.received_bytes, 1000, 1e-9); /* without loopback, and what has just come */
	assert_near(m->network_rates.sent_bytes, 0, 0);
	assert_int_equal(m->network_rates.interface_count, 3);
	assert_near(m->network_rates.interfaces[1].errors, 2, 1e-9);
	disk_files_close(&m->disk_files);
	network_files_close(&m->network_files);
	end(&o);
}

/* ---- GPUs -------------------------------------------------------------------- */

static void add_gpu(struct gpu_table *table, uint32_t device, uint32_t pid)
{
	struct gpu_packet p = { .kind = GPU_PACKET_DEVICE, .device = device };

	snprintf(p.u.about.name, sizeof p.u.about.name, "GPU number %u", device);
	gpu_table_take(table, &p);
	p = (struct gpu_packet){ .kind = GPU_PACKET_SAMPLE, .device = device };
	p.u.look.present = 1u << NVML_MEMORY_USED | 1u << NVML_MEMORY_TOTAL | 1u << NVML_UTILIZATION | 1u << NVML_POWER;
	p.u.look.values[NVML_MEMORY_USED] = 900;
	p.u.look.values[NVML_MEMORY_TOTAL] = 1000;
	p.u.look.values[NVML_UTILIZATION] = 50;
	p.u.look.values[NVML_POWER] = 120500;
	p.u.look.processes_known = p.u.look.process_count = 1;
	p.u.look.processes[0] = (struct nvml_process){ .pid = pid, .known = 1, .bytes = 640 };
	gpu_table_take(table, &p);
}

static void test_gpus(void **state)
{
	struct watched_process_view p = process(0, ROOT, SECOND, 0);
	const struct gpu_packet status = { .kind = GPU_PACKET_STATUS, .device = NVML_DEVICES, .u.status = "no such library" };
	struct live_snapshot *s = calloc(1, sizeof *s);
	struct live_outside o;

	(void)state;
	begin(&o);
	take(&o, &p, 1, NULL, 0);
	outside_gpu_fill(&o, 1, s);
	assert_int_equal(s->gpu_count, 0);
	assert_memory_equal(s->gpu_source, "none: ", 6);

	o.gpus.table = calloc(1, sizeof *o.gpus.table);
	outside_gpu_fill(&o, 1, s);
	assert_string_equal(s->gpu_source, "none: the driver has not answered yet");
	gpu_table_take(o.gpus.table, &status);
	outside_gpu_fill(&o, 1, s);
	assert_string_equal(s->gpu_source, "none: no such library");

	add_gpu(o.gpus.table, 1, 1);
	add_gpu(o.gpus.table, 3, 1);
	outside_gpu_fill(&o, 1, s); /* nobody of ours is on any: all of them */
	assert_string_equal(s->gpu_source, "nvml");
	assert_int_equal(s->gpu_count, 2);
	assert_int_equal(s->gpus[0].number, 1);
	assert_int_equal(s->gpus[1].number, 3);
	assert_true(isnan(s->gpus[0].program_bytes) && isnan(s->gpus[0].temperature_celsius));
	o.gpus.pids_hold = true; /* whose they are can be told */
	outside_gpu_fill(&o, 1, s);
	assert_int_equal(s->gpu_count, 2);
	assert_true(s->gpus[0].program_bytes == 0 && s->gpus[1].program_bytes == 0);

	add_gpu(o.gpus.table, 3, ROOT);
	outside_gpu_fill(&o, 1, s);
	assert_int_equal(s->gpu_count, 1);
	assert_string_equal(s->gpus[0].name, "GPU number 3");
	assert_int_equal(s->gpus[0].number, 3);
	assert_near(s->gpus[0].program_bytes, 640, 0);
	assert_near(s->gpus[0].memory_used_bytes, 900, 0);
	assert_near(s->gpus[0].utilization, 0.5, 1e-9);
	assert_near(s->gpus[0].power_watts, 120.5, 1e-9);
	o.gpus.table->gpus[3].look.processes[0].known = 0; /* it is there, with who knows how much */
	outside_gpu_fill(&o, 1, s);
	assert_int_equal(s->gpu_count, 1);
	assert_true(s->gpus[0].number == 3 && isnan(s->gpus[0].program_bytes));
	for (uint32_t i = 0; i < NVML_DEVICES; i++)
		add_gpu(o.gpus.table, i, ROOT);
	outside_gpu_fill(&o, 1, s);
	assert_int_equal(s->gpu_count, LIVE_GPUS);
	end(&o);
	free(s);
}

/* A driver that names nobody at all does not say that it is not us. */
static void test_gpus_of_nobody(void **state)
{
	struct watched_process_view p = process(0, ROOT, SECOND, 0);
	struct live_snapshot *s = calloc(1, sizeof *s);
	struct live_outside o;

	(void)state;
	begin(&o);
	take(&o, &p, 1, NULL, 0);
	o.gpus.pids_hold = true;
	o.gpus.table = calloc(1, sizeof *o.gpus.table);
	add_gpu(o.gpus.table, 0, 1);
	add_gpu(o.gpus.table, 1, 1);
	o.gpus.table->gpus[0].look.process_count = o.gpus.table->gpus[1].look.process_count = 0;
	outside_gpu_fill(&o, 1, s);
	assert_true(s->gpu_count == 2 && isnan(s->gpus[0].program_bytes) && isnan(s->gpus[1].program_bytes));
	o.gpus.table->gpus[1].look.process_count = 1; /* somebody else, there */
	outside_gpu_fill(&o, 1, s);
	assert_true(s->gpu_count == 2 && s->gpus[0].program_bytes == 0 && s->gpus[1].program_bytes == 0);
	o.gpus.table->gpus[0].look.processes_known = 0;
	outside_gpu_fill(&o, 1, s);
	assert_true(s->gpu_count == 2 && isnan(s->gpus[0].program_bytes) && s->gpus[1].program_bytes == 0);
	end(&o);
	free(s);
}

/* ---- A real program ------------------------------------------------------------ */

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void *wait_for_ever(void *arg)
{
	prctl(PR_SET_NAME, "sleeper");
	for (;;)
		pause();
	return arg;
}

/* Main thread: works.  Another: waits. */
static pid_t start_program(void)
{
	pid_t pid = fork();
	pthread_t thread_id;

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)pthread_create(&thread_id, NULL, wait_for_ever, NULL);
	for (;;)
		;
}

struct show {
	struct watch *watch;
	struct live_outside *outside;
	struct live_snapshot *s;
};

static void look_for(struct show *show, double seconds)
{
	int64_t until = now_ns() + (int64_t)(seconds * 1e9);

	while (now_ns() < until) {
		usleep(50000);
		live_outside_fill(show->outside, now_ns(), show->s);
	}
}

/* States of a thread follow each other without a gap, the looks are as many as there were slots, the ledger is exact. */
static void check_records(struct watch *watch, pid_t tid, uint64_t cpu_ns, uint64_t slots)
{
	static struct watch_record records[4096];
	size_t count = watch_take(watch, records, 4096);
	uint64_t at = 0, looks = 0, run = 0, states = 0;

	for (size_t i = 0; i < count; i++) {
		const struct watch_record *r = &records[i];

		if (r->tid == tid && r->kind == WATCH_LEDGER && r->counter == WATCH_RUN_NS)
			run = r->value;
		if (r->tid != tid || r->kind != WATCH_STATE)
			continue;
		assert_true(at == 0 || r->time == at);
		at = r->time + r->duration;
		looks += r->value;
		states++;
	}
	assert_true(states > 0);
	assert_near((double)run, (double)cpu_ns, 0.02e9);
	assert_in_range(looks, slots / 2, slots + 2);
}

static void test_real_program(void **state)
{
	struct watch_options options = WATCH_OPTIONS_INIT;
	pid_t pid = start_program();
	struct show show = { .s = calloc(1, sizeof *show.s) };
	struct watch_totals totals;
	struct error err = { 0 };
	struct timespec used;
	clockid_t clock;

	(void)state;
	options.slot_ns = WATCH_LONG_NS;
	options.program_counters = false;
	options.views = true;
	assert_int_equal(watch_start(&show.watch, pid, CLOCK_SOURCE_MONOTONIC, &options, &err), 0);
	assert_int_equal(live_outside_new(&show.outside, show.watch, pid), 0);
	live_snapshot_clear(show.s);
	look_for(&show, 0.8);
	for (int i = 0; i < 20 && strcmp(show.s->threads[1].name, "sleeper") != 0; i++) /* it may have been seen before it had its name */
		look_for(&show, 0.1);
	assert_int_equal(show.s->state, LIVE_RUNNING);
	assert_int_equal(show.s->process_count, 1);
	assert_int_equal(show.s->processes[0].pid, pid);
	assert_int_equal(show.s->thread_count, 2);
	assert_int_equal(show.s->threads[0].tid, pid);
	assert_string_equal(show.s->threads[0].state, "running");
	assert_string_equal(show.s->threads[1].name, "sleeper");
	assert_near(show.s->threads[0].cpu + show.s->threads[0].queue, 1, 0.3); /* others may be at work, too */
	assert_near(show.s->threads[1].blocked, 1, 0.01);
	assert_true(show.s->threads[1].waiting_s > 0.3);
	assert_true(show.s->cpu.share > 0.02 && show.s->cpu.share < 1.2);
	assert_true(show.s->memory.rss_bytes > 1e5 && show.s->memory.available_bytes > 1e6 && show.s->own_rss_bytes > 1e5);
	assert_true(show.s->cpu.available > 0 && show.s->cpu.count > 0);
	assert_true(show.s->memory.virtual_bytes > show.s->memory.rss_bytes);
	assert_true(show.s->io.open_files >= 3 && show.s->io.open_files <= show.s->io.open_files_limit);

	kill(pid, SIGSTOP);
	look_for(&show, 0.5);
	assert_int_equal(show.s->state, LIVE_STOPPED);
	assert_near(show.s->cpu.share, 0, 0);
	kill(pid, SIGCONT);
	look_for(&show, 0.3);
	assert_int_equal(show.s->state, LIVE_RUNNING);

	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	assert_int_equal(clock_gettime(clock, &used), 0);
	look_for(&show, 0.2);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	look_for(&show, 0.4);
	assert_int_equal(show.s->state, LIVE_ENDED);
	assert_int_equal(show.s->process_count, 0);
	assert_int_equal(show.s->thread_count, 0);

	live_outside_free(show.outside);
	watch_stop(show.watch);
	totals = watch_totals(show.watch);
	assert_int_equal(totals.reach, CPU_SAMPLER_NONE);
	check_records(show.watch, pid, (uint64_t)used.tv_sec * SECOND + (uint64_t)used.tv_nsec, totals.slots);
	watch_free(show.watch);
	free(show.s);
}

/* Keeps a megabyte more every hundredth of a second, up to 300. */
static pid_t start_leak(void)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < 300; i++) {
		char *kept = malloc(1 << 20);

		memset(kept, i, 1 << 20);
		usleep(10000);
	}
	for (;;)
		pause();
}

/* A real leak, seen by a real watch, on a machine that has half as much left, and by a clock that is fast: a second is 50 of them. */
static void test_a_leak_is_told_once(void **state)
{
	struct watch_options options = WATCH_OPTIONS_INIT;
	struct live_alert_options thresholds = LIVE_ALERT_OPTIONS_INIT;
	struct show show = { .s = calloc(1, sizeof *show.s) };
	int64_t begin = now_ns();
	pid_t pid = start_leak();
	struct live_alerts *alerts;
	struct live_alert alert;
	unsigned begun = 0;

	(void)state;
	options.program_counters = false;
	options.views = true;
	assert_int_equal(live_alerts_new(&alerts, &thresholds, NULL), 0);
	assert_int_equal(watch_start(&show.watch, pid, CLOCK_SOURCE_MONOTONIC, &options, NULL), 0);
	assert_int_equal(live_outside_new(&show.outside, show.watch, pid), 0);
	live_snapshot_clear(show.s);
	while (now_ns() - begin < 2500000000) {
		look_for(&show, 0.05);
		show.s->run_s = 50 * (double)(now_ns() - begin) / SECOND;
		show.s->memory.total_bytes = 1.5 * show.s->memory.rss_bytes;
		show.s->memory.available_bytes = 0.5 * show.s->memory.rss_bytes;
		show.s->memory.used = NAN;
		show.s->memory.held_bytes = show.s->memory.rss_bytes; /* which is read too rarely for this clock */
		live_alerts_judge(alerts, show.s);
		while (live_alerts_next(alerts, &alert))
			begun += alert.active && strcmp(alert.kind, "memory_growth") == 0;
	}
	assert_int_equal(begun, 1);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	live_outside_free(show.outside);
	watch_stop(show.watch);
	watch_free(show.watch);
	live_alerts_free(alerts);
	free(show.s);
}

/* More than fit into a page as the kernel lists them. */
#define CHILDREN 900u

/* In a group of their own, that they can be ended by. */
static pid_t start_children(void)
{
	static char *const argv[] = { "sleep", "20", NULL };
	pid_t pid = fork(), child;

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	for (unsigned i = 0; i < CHILDREN; i++)
		(void)posix_spawnp(&child, argv[0], NULL, NULL, argv, NULL);
	for (;;)
		pause();
}

static void test_many_children(void **state)
{
	struct watch_options options = WATCH_OPTIONS_INIT;
	struct show show = { .s = calloc(1, sizeof *show.s) };
	pid_t pid;

	(void)state;
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* not everywhere somebody else waits for orphans */
	pid = start_children();
	options.slot_ns = WATCH_LONG_NS;
	options.program_counters = false;
	options.views = true;
	assert_int_equal(watch_start(&show.watch, pid, CLOCK_SOURCE_MONOTONIC, &options, NULL), 0);
	assert_int_equal(live_outside_new(&show.outside, show.watch, pid), 0);
	live_snapshot_clear(show.s);
	for (int i = 0; i < 100 && show.s->process_count + show.s->processes_left_out < CHILDREN + 1; i++)
		look_for(&show, 0.05);
	kill(-pid, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
	assert_int_equal(show.s->process_count + show.s->processes_left_out, CHILDREN + 1);
	live_outside_free(show.outside);
	watch_stop(show.watch);
	watch_free(show.watch);
	free(show.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process_rates),
		cmocka_unit_test(test_odd_readings),
		cmocka_unit_test(test_thread_shares),
		cmocka_unit_test(test_deaths),
		cmocka_unit_test(test_snapshot_parts),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_proportional_memory),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_waits_of_python),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_time_of_grandchildren),
		cmocka_unit_test(test_time_of_others),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_machine),
		cmocka_unit_test(test_throttled),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_gpus),
		cmocka_unit_test(test_gpus_of_nobody),
		cmocka_unit_test(test_real_program),
		cmocka_unit_test(test_a_leak_is_told_once),
		cmocka_unit_test(test_many_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
