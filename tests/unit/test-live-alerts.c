/* test-live-alerts.c - live/alerts.h: programs that are made up, in simulated time. */
#include "live/alerts.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "live/names.h"

#define GB 1e9
#define MB 1e6
#define INTERVAL 0.1

static struct live_alerts *alerts;
static struct live_snapshot snapshot;
static uint32_t seed;
static double step_at; /* when the next step begins */

/* What has happened, as it was told. */
static struct heard {
	char kind[48], subject[LIVE_NAME];
	unsigned begun, worse, ended;
	double first_s, worse_s, last_end_s;
	struct live_alert alert; /* as it began or became worse last */
} heard[32];
static unsigned heard_count;

/* From -1 to 1. */
static double noise(void)
{
	seed = seed * 1664525 + 1013904223;
	return (double)(seed >> 8) / (double)(1u << 23) - 1;
}

static void start_with(const struct live_alert_options *options)
{
	assert_int_equal(live_alerts_new(&alerts, options, NULL), 0);
	live_snapshot_clear(&snapshot);
	memset(heard, 0, sizeof heard);
	heard_count = 0;
	seed = 4711;
	snapshot.run_s = 0;
	snapshot.interval_s = INTERVAL;
	snapshot.memory.total_bytes = 32 * GB;
	step_at = 5;
}

static void start(void)
{
	const struct live_alert_options options = LIVE_ALERT_OPTIONS_INIT;

	start_with(&options);
}

static int end(void **state)
{
	(void)state;
	live_alerts_free(alerts);
	return 0;
}

static struct heard *of(const char *kind)
{
	for (unsigned i = 0; i < heard_count; i++)
		if (strcmp(heard[i].kind, kind) == 0)
			return &heard[i];
	assert_true(heard_count < 32);
	snprintf(heard[heard_count].kind, sizeof heard->kind, "%s", kind);
	return &heard[heard_count++];
}

static unsigned begun_in_all(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < heard_count; i++)
		count += heard[i].begun;
	return count;
}

static void judge(void)
{
	struct live_alert alert;

	live_alerts_judge(alerts, &snapshot);
	while (live_alerts_next(alerts, &alert)) {
		struct heard *h = of(alert.kind);

		if (strcmp(live_phase_name(&alert), "worse") == 0) {
			h->worse++;
			h->worse_s = alert.worse_s;
			h->alert = alert;
		} else if (alert.active) {
			h->first_s = h->begun ? h->first_s : alert.begin_s;
			h->begun++;
			h->alert = alert;
		} else {
			h->ended++;
			h->last_end_s = alert.end_s;
		}
	}
}

/* A training program: a step of about 0.2 s, memory around `rss` with noise and the sawtooth of a collector. */
static void make_steady(double rss, double step_s)
{
	double t = snapshot.run_s;

	while (step_s > 0 && t >= step_at) {
		snapshot.steps.begin_s = step_at;
		snapshot.steps.count++;
		step_at += step_s * (1 + 0.2 * noise());
	}
	snapshot.steps.known = snapshot.steps.count >= 3;
	snapshot.steps.median_s = 0.2;
	snapshot.steps.p95_s = 0.25;
	snapshot.steps.rate = step_s > 0 ? 5 : 0;
	snapshot.steps.since_s = t - snapshot.steps.begin_s;
	snapshot.steps.quiet_s = snapshot.steps.since_s / 10;
	snapshot.steps.input_wait = 0.01 + 0.01 * noise();
	snapshot.memory.rss_bytes = rss + 50 * MB * noise() + 400 * MB * fmod(t, 47) / 47;
	snapshot.memory.available_bytes = 32 * GB - 2 * GB - snapshot.memory.rss_bytes;
	snapshot.memory.used = 1 - snapshot.memory.available_bytes / snapshot.memory.total_bytes;
	snapshot.memory.swap_bytes = 0;
	snapshot.memory.major_faults = t < 10 ? 500 : 2;
	snapshot.cpu.throttled = 0.02 + 0.02 * noise();
	snapshot.events.lost = 0;
	snapshot.events.disk_free = 0.4;
	snapshot.events.disk_free_bytes = 100 * GB;
}

static void step_time(void)
{
	snapshot.run_s += INTERVAL;
}

/* ---- Tests --------------------------------------------------------------------------------- */

static void steady_programs_are_left_alone(void **state)
{
	(void)state;
	start();
	for (; snapshot.run_s < 600; step_time()) {
		/* a model is loaded in the first half minute */
		make_steady(fmin(snapshot.run_s, 30) / 30 * 12 * GB, snapshot.run_s < 30 ? 0 : 0.2);
		judge();
	}
	assert_int_equal(begun_in_all(), 0);
	assert_int_equal(snapshot.alert_count, 0);
}

/* Memory that goes up for a minute and down again, near the limit of an alert, a checkpoint now and then. */
static void restless_programs_are_left_alone(void **state)
{
	(void)state;
	start();
	for (; snapshot.run_s < 1200; step_time()) {
		double t = snapshot.run_s, checkpoint = fmod(t, 120) < 15 && t > 60;

		make_steady(15 * GB + 5 * GB * fabs(fmod(t, 150) / 75 - 1), checkpoint ? 0 : 0.2);
		if (checkpoint) {
			snapshot.steps.since_s = fmod(t, 120);
			snapshot.steps.quiet_s = 0.3; /* it writes */
			step_at = t + 0.05;
		}
		judge();
	}
	assert_int_equal(begun_in_all(), 0);
}

static void a_leak_is_told_in_time(void **state)
{
	double full_at = 0;

	(void)state;
	start();
	for (; snapshot.run_s < 900; step_time()) {
		double t = snapshot.run_s, leaked = t < 120 ? 0 : t < 600 ? (t - 120) * 30 * MB : 0; /* then somebody mends it */

		make_steady(4 * GB + leaked, 0.2);
		if (full_at == 0)
			full_at = 120 + 26 * GB / (30 * MB);
		judge();
	}
	assert_int_equal(of("memory_growth")->begun, 1);
	assert_int_equal(of("memory_growth")->ended, 1);
	assert_true(of("memory_growth")->first_s < 120 + 0.7 * (full_at - 120));
	assert_true(of("memory_growth")->alert.value > 1 && of("memory_growth")->alert.value < 15);
	assert_non_null(strstr(of("memory_growth")->alert.text, "minutes"));
	assert_true(of("memory_growth")->last_end_s < 660);
	assert_int_equal(begun_in_all(), 1);
}

/* The first epoch over a mapped dataset: resident memory grows by 12 GB a minute, and nothing of it is missing. */
static void a_mapped_file_is_no_leak(void **state)
{
	(void)state;
	start();
	for (; snapshot.run_s < 600; step_time()) {
		double t = snapshot.run_s, mapped = t < 60 ? 0 : fmin((t - 60) * 200 * MB, 60 * GB);

		make_steady(4 * GB, 0.2);
		snapshot.memory.held_bytes = snapshot.memory.rss_bytes;
		snapshot.memory.rss_bytes += mapped;
		judge();
	}
	assert_int_equal(begun_in_all(), 0);
}

/* In what is not of files, it is one. */
static void a_leak_beside_a_mapped_file_is_told(void **state)
{
	(void)state;
	start();
	for (; snapshot.run_s < 300; step_time()) {
		double leaked = fmax(0, snapshot.run_s - 60) * 100 * MB;

		make_steady(4 * GB + leaked, 0.2);
		snapshot.memory.held_bytes = snapshot.memory.rss_bytes;
		snapshot.memory.rss_bytes = 64 * GB;
		snapshot.memory.used = 0.5;
		judge();
	}
	assert_int_equal(of("memory_growth")->begun, 1);
	assert_true(of("memory_growth")->first_s < 150);
	assert_int_equal(begun_in_all(), 1);
}

static void high_memory_begins_and_ends_once(void **state)
{
	(void)state;
	start();
	for (; snapshot.run_s < 300; step_time()) {
		double t = snapshot.run_s;

		make_steady(4 * GB, 0.2);
		snapshot.memory.used = (t > 100 && t < 200 ? 0.83 : 0.72) + 0.04 * noise();
		judge();
		if (t > 110 && t < 195 && snapshot.active_alerts != 1)
			fail();
	}
	assert_int_equal(of("memory_high")->begun, 1);
	assert_int_equal(of("memory_high")->ended, 1);
	assert_true(of("memory_high")->first_s < 120);
	assert_int_equal(of("memory_high")->alert.severity, LIVE_WARNING);
	assert_int_equal(snapshot.alert_count, 1);
	assert_false(snapshot.alerts[0].active);
	assert_int_equal(snapshot.alerts_begun, 1);
}

/* Once, when it has lasted: neither a moment of it, nor that it falls, nor that it rises again is worth a word. */
static void what_becomes_critical_is_told(void **state)
{
	(void)state;
	start();
	for (; snapshot.run_s < 200; step_time()) {
		double t = snapshot.run_s;
		bool moment = t > 40 && t < 41, critical = (t > 60 && t < 80) || (t > 100 && t < 120);

		make_steady(4 * GB, 0.2);
		snapshot.memory.used = t < 20 || t > 150 ? 0.6 : moment || critical ? 0.97 : 0.85;
		judge();
		if (t < 60 && of("memory_high")->begun)
			assert_int_equal(of("memory_high")->alert.severity, LIVE_WARNING);
	}
	assert_int_equal(of("memory_high")->begun, 1);
	assert_int_equal(of("memory_high")->worse, 1);
	assert_int_equal(of("memory_high")->ended, 1);
	assert_true(of("memory_high")->worse_s > 63 && of("memory_high")->worse_s < 63.5);
	assert_int_equal(of("memory_high")->alert.severity, LIVE_CRITICAL);
	assert_int_equal(of("memory_high")->alert.number, 1);
	assert_memory_equal(of("memory_high")->alert.text, "97 % of the", 11);
	assert_int_equal(snapshot.alerts_begun, 1);
}

static void a_stall_is_told_and_ends_with_the_next_step(void **state)
{
	(void)state;
	start();
	for (; snapshot.run_s < 200; step_time()) {
		double t = snapshot.run_s;
		bool stuck = t > 100 && t < 130;

		make_steady(4 * GB, stuck ? 0 : 0.2);
		snapshot.thread_count = 1;
		snapshot.threads[0].pid = snapshot.threads[0].tid = snapshot.steps.pid = snapshot.steps.tid = 77;
		strcpy(snapshot.threads[0].state, "lock");
		strcpy(snapshot.steps.name, "train_step");
		if (stuck) {
			snapshot.steps.quiet_s = t - 100;
			step_at = t + 0.05;
		}
		judge();
	}
	assert_int_equal(of("stall")->begun, 1);
	assert_int_equal(of("stall")->ended, 1);
	assert_true(of("stall")->first_s > 101.9 && of("stall")->first_s < 103);
	assert_true(of("stall")->last_end_s < 130.5);
	assert_int_equal(of("stall")->alert.severity, LIVE_CRITICAL);
	assert_non_null(strstr(of("stall")->alert.text, "train_step"));
	assert_non_null(strstr(of("stall")->alert.text, "lock"));
	assert_int_equal(begun_in_all(), 1);
}

/* A server that nobody asks anything, and a program that somebody has stopped, or whose machine slept, do not stall. */
static void idle_stopped_and_sleeping_are_no_stall(void **state)
{
	(void)state;
	start();
	for (; snapshot.run_s < 400; step_time()) {
		double t = snapshot.run_s;
		bool idle = t > 50 && t < 150, stopped = t > 200 && t < 260;

		make_steady(4 * GB, idle || stopped ? 0 : 0.2);
		snapshot.state = stopped ? LIVE_STOPPED : LIVE_RUNNING;
		snapshot.steps.idle = idle;
		if (idle || stopped) {
			snapshot.steps.quiet_s = snapshot.steps.since_s;
			step_at = t + 0.5; /* the first step comes a little later */
		}
		snapshot.interval_s = INTERVAL;
		if (t > 300 && t < 300 + INTERVAL) {
			snapshot.run_s += 120;
			snapshot.interval_s = 120;
			snapshot.steps.since_s = snapshot.steps.quiet_s = 120;
			step_at = snapshot.run_s + 0.5;
		}
		judge();
	}
	assert_int_equal(of("stall")->begun, 0);
}

/* A suspended machine: the clock of snapshots stands still, while that of steps goes on.  What stands still afterwards is a stall. */
static void waking_up_is_no_stall(void **state)
{
	double slept = 0, stuck_at = 300;

	(void)state;
	start();
	for (; snapshot.run_s < 350; step_time()) {
		double t = snapshot.run_s;

		make_steady(4 * GB, t < stuck_at ? 0.2 : 0);
		if (t > 100)
			slept = 3600;
		snapshot.asleep_s = slept - 0.01 * (1 + noise()); /* somebody came between the two clocks */
		if (t > 100 && t < 101.5) { /* the step that was cut in two */
			snapshot.steps.since_s = snapshot.steps.quiet_s = slept + t - 100;
			step_at = t + 0.05;
		}
		if (t > stuck_at)
			snapshot.steps.quiet_s = snapshot.steps.since_s;
		judge();
		if (t < stuck_at)
			assert_int_equal(of("stall")->begun, 0);
	}
	assert_int_equal(of("stall")->begun, 1);
	assert_true(of("stall")->first_s > 301.5 && of("stall")->first_s < 303);
	assert_int_equal(begun_in_all(), 1);
}

static void waiting_for_input_is_told(void **state)
{
	(void)state;
	start();
	for (; snapshot.run_s < 200; step_time()) {
		double t = snapshot.run_s;

		make_steady(4 * GB, 0.2);
		if (t > 60 && t < 120)
			snapshot.steps.input_wait = 0.3 + 0.1 * noise();
		judge();
	}
	assert_int_equal(of("input_wait")->begun, 1);
	assert_int_equal(of("input_wait")->ended, 1);
	assert_true(of("input_wait")->first_s < 66);
	assert_non_null(strstr(of("input_wait")->alert.advice, "num_workers"));
	assert_int_equal(begun_in_all(), 1);
}

static void full_gpu_memory_is_told_for_its_gpu(void **state)
{
	(void)state;
	start();
	for (; snapshot.run_s < 200; step_time()) {
		double t = snapshot.run_s;

		make_steady(4 * GB, 0.2);
		snapshot.gpu_count = 2;
		for (int i = 0; i < 2; i++)
			snapshot.gpus[i] = (struct live_gpu){ .number = i ? 5 : 2, .memory_total_bytes = 80 * GB, .memory_used_bytes = 40 * GB, .program_bytes = 39 * GB,
							      .utilization = 0.9 };
		if (t > 50 && t < 100)
			snapshot.gpus[1].memory_used_bytes = 75 * GB + 2 * GB * noise();
		judge();
	}
	assert_int_equal(of("gpu_memory_high")->begun, 1);
	assert_int_equal(of("gpu_memory_high")->ended, 1);
	assert_string_equal(of("gpu_memory_high")->alert.subject, "GPU 5");
	assert_int_equal(begun_in_all(), 1);
}

/* The list shrinks when the program begins to use one: what was seen of a GPU stays with it. */
static void gpus_keep_their_numbers(void **state)
{
	(void)state;
	start();
	for (; snapshot.run_s < 120; step_time()) {
		bool all = snapshot.run_s < 60;

		make_steady(4 * GB, 0.2);
		snapshot.gpu_count = all ? 4 : 1;
		for (uint32_t i = 0; i < snapshot.gpu_count; i++)
			snapshot.gpus[i] = (struct live_gpu){ .number = all ? i : 3, .memory_total_bytes = 80 * GB, .memory_used_bytes = 8 * GB,
							      .program_bytes = all ? 0 : 7 * GB, .utilization = all && i < 3 ? 0 : 0.9 };
		if (!all) /* nearly idle: another one's history would make it so */
			snapshot.gpus[0].utilization = snapshot.run_s < 90 ? 0.35 : 0.1;
		judge();
		if (snapshot.run_s < 90)
			assert_int_equal(begun_in_all(), 0);
	}
	assert_int_equal(begun_in_all(), 1);
	assert_string_equal(of("gpu_idle")->alert.subject, "GPU 3");
}

/* A colleague's GPU is not ours to judge; where nobody can tell whose it is, it may be. */
static void gpus_of_others_are_left_alone(void **state)
{
	(void)state;
	start();
	for (; snapshot.run_s < 60; step_time()) {
		make_steady(4 * GB, 0.2);
		snapshot.gpu_count = 1;
		snapshot.gpus[0] = (struct live_gpu){ .number = 6, .memory_total_bytes = 80 * GB, .memory_used_bytes = 78 * GB, .utilization = 0.05,
						      .program_bytes = snapshot.run_s < 40 ? 0 : NAN };
		judge();
		if (snapshot.run_s < 40)
			assert_int_equal(begun_in_all(), 0);
	}
	assert_int_equal(begun_in_all(), 1);
	assert_string_equal(of("gpu_memory_high")->alert.subject, "GPU 6");
}

static void an_idle_gpu_is_told_while_steps_go_on(void **state)
{
	(void)state;
	start();
	for (; snapshot.run_s < 300; step_time()) {
		double t = snapshot.run_s;

		make_steady(4 * GB, 0.2);
		snapshot.gpu_count = 1;
		snapshot.gpus[0] = (struct live_gpu){ .memory_total_bytes = 80 * GB, .memory_used_bytes = 40 * GB, .program_bytes = 39 * GB };
		snapshot.gpus[0].utilization = (t > 60 && t < 150 ? 0.1 : 0.85) + 0.08 * noise();
		judge();
	}
	assert_int_equal(of("gpu_idle")->begun, 1);
	assert_int_equal(of("gpu_idle")->ended, 1);
	assert_int_equal(begun_in_all(), 1);
}

/* Around the threshold, up to where it is not clearly busy: said once; it ends with the steps. */
static void a_gpu_that_is_nearly_busy_is_told_once(void **state)
{
	(void)state;
	start();
	for (; snapshot.run_s < 400; step_time()) {
		double t = snapshot.run_s;

		make_steady(4 * GB, 0.2);
		snapshot.gpu_count = 1;
		snapshot.gpus[0] = (struct live_gpu){ .memory_total_bytes = 80 * GB, .memory_used_bytes = 40 * GB, .program_bytes = 39 * GB };
		snapshot.gpus[0].utilization = t < 60 ? 0.85 : fmod(t, 100) < 50 ? 0.24 : 0.33;
		if (t > 350)
			snapshot.steps.rate = 0;
		judge();
		if (t > 150 && t < 350 && snapshot.active_alerts != 1)
			fail();
	}
	assert_int_equal(of("gpu_idle")->begun, 1);
	assert_int_equal(of("gpu_idle")->ended, 1);
	assert_true(of("gpu_idle")->last_end_s > 360 && of("gpu_idle")->last_end_s < 361);
	assert_int_equal(begun_in_all(), 1);
}

static void the_rest_is_told(void **state)
{
	(void)state;
	start();
	for (; snapshot.run_s < 200; step_time()) {
		double t = snapshot.run_s;

		make_steady(4 * GB, 0.2);
		snapshot.memory.oom_kills = t > 40 ? 3 : 2;
		if (t > 60 && t < 80)
			snapshot.cpu.throttled = 0.4;
		snapshot.events.lost = t > 100 ? 1000 : 0;
		if (t > 120 && t < 150) {
			snapshot.events.disk_free = 0.01;
			snapshot.events.disk_free_bytes = 0.1 * GB;
		}
		judge();
	}
	assert_int_equal(of("process_died")->begun, 1);
	assert_string_equal(of("process_died")->alert.subject, "out of memory");
	assert_int_equal(of("cpu_throttled")->begun, 1);
	assert_int_equal(of("events_lost")->begun, 1);
	assert_int_equal(of("disk_full")->begun, 1);
	assert_int_equal(of("disk_full")->alert.severity, LIVE_CRITICAL);
	for (unsigned i = 0; i < heard_count; i++)
		assert_int_equal(heard[i].begun, heard[i].ended);
	assert_int_equal(begun_in_all(), 4);
}

/* What the program says begins and ends as it says; of however many subjects, so many at a time. */
static void what_the_program_says_is_told(void **state)
{
	struct live_told long_queue = { .kind = "queue_long", .subject = "input", .severity = LIVE_CRITICAL, .value = 150, .threshold = 100,
					.text = "the queue is long", .advice = "more workers" };
	struct live_told high = { .kind = "memory_high", .severity = LIVE_WARNING, .text = "that is judged here" };

	(void)state;
	start();
	for (; snapshot.run_s < 100; step_time()) {
		double t = snapshot.run_s;

		make_steady(4 * GB, 0.2);
		snapshot.told_count = t > 20 && t < 30 ? 2 : 0;
		snapshot.told[0] = high;
		snapshot.told[1] = long_queue;
		judge();
		if (t > 20 && t < 30)
			assert_string_equal(snapshot.alerts[0].subject, "queue_long: input");
	}
	assert_int_equal(of("custom")->begun, 1);
	assert_int_equal(of("custom")->ended, 1);
	assert_true(of("custom")->first_s > 20 && of("custom")->first_s <= 20 + 2 * INTERVAL);
	assert_true(of("custom")->last_end_s >= 30 && of("custom")->last_end_s <= 30 + 2 * INTERVAL);
	assert_int_equal(of("custom")->alert.severity, LIVE_CRITICAL);
	assert_string_equal(of("custom")->alert.text, "the queue is long");
	assert_string_equal(of("custom")->alert.advice, "more workers");
	assert_int_equal(begun_in_all(), 1);

	for (unsigned i = 0; i < 1000; i++, step_time()) {
		make_steady(4 * GB, 0.2);
		snapshot.told_count = LIVE_TOLD;
		for (unsigned k = 0; k < LIVE_TOLD; k++)
			snprintf(snapshot.told[k].kind, sizeof snapshot.told[k].kind, "made up %u", i + k);
		judge();
		assert_true(snapshot.active_alerts <= LIVE_TOLD);
	}
	snapshot.told_count = 0;
	for (unsigned i = 0; i < 40; i++, step_time()) { /* there is still room for what matters */
		make_steady(4 * GB, 0.2);
		snapshot.memory.used = 0.9;
		judge();
	}
	assert_int_equal(of("memory_high")->begun, 1);
	assert_int_equal(of("custom")->begun, of("custom")->ended);
}

static void losses_say_why(void **state)
{
	(void)state;
	start();
	for (; snapshot.run_s < 200; step_time()) {
		make_steady(4 * GB, 0.2);
		snapshot.events.unwritten = snapshot.run_s < 50 ? 0 : fmin(1000 * (snapshot.run_s - 50), 3000);
		snapshot.events.lost = snapshot.events.unwritten + (snapshot.run_s > 100 ? 7 : 0);
		snprintf(snapshot.events.trouble, sizeof snapshot.events.trouble, "%s",
			 snapshot.events.unwritten ? "cannot write to the trace file: No space left on device" : "");
		judge();
		if (snapshot.run_s < 100 && of("events_lost")->begun) {
			assert_int_equal(of("events_lost")->alert.severity, LIVE_CRITICAL);
			assert_non_null(strstr(of("events_lost")->alert.text, " so far: cannot write to the trace file: No space left on device"));
			assert_non_null(strstr(of("events_lost")->alert.advice, "Make room"));
		}
	}
	assert_int_equal(of("events_lost")->begun, 2);
	assert_int_equal(of("events_lost")->ended, 2);
	assert_int_equal(of("events_lost")->alert.severity, LIVE_WARNING);
	assert_string_equal(of("events_lost")->alert.text, "Events are lost, 3,007 so far: the program records them faster than they are read");
	assert_non_null(strstr(of("events_lost")->alert.advice, "Record less"));
}

/* A process of the program: told once for a signal, however many it ends, and not when somebody asked for it. */
static void deaths_of_processes(void **state)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGPIPE };
	char text[LIVE_TEXT] = "";
	uint64_t killed = 0;

	(void)state;
	start();
	for (; snapshot.run_s < 60; step_time()) {
		make_steady(4 * GB, 0.2);
		snapshot.death_count = 0;
		if (snapshot.run_s > 5 && killed < 100) {
			snapshot.deaths[0] = (struct live_death){ .pid = 31, .name = "worker", .signal = SIGKILL, .count = ++killed };
			snapshot.deaths[1] = (struct live_death){ .pid = 32, .signal = signals[killed % 4], .count = killed };
			snapshot.death_count = 2;
		}
		judge();
		if (snapshot.active_alerts)
			strcpy(text, snapshot.alerts[0].text);
	}
	assert_int_equal(begun_in_all(), 1);
	assert_int_equal(of("process_died")->begun, 1);
	assert_int_equal(of("process_died")->ended, 1);
	assert_string_equal(of("process_died")->alert.subject, "SIGKILL");
	assert_int_equal(of("process_died")->alert.severity, LIVE_WARNING);
	assert_true(of("process_died")->alert.value == SIGKILL);
	assert_string_equal(of("process_died")->alert.text, "Process 31 (worker) of the program was killed by signal 9 (SIGKILL)");
	assert_string_equal(text, "100 processes of the program were killed by signal 9 (SIGKILL), so far; the last was 31 (worker)");

	snapshot.deaths[0] = (struct live_death){ .pid = 33, .signal = SIGUSR1, .count = 1 };
	snapshot.death_count = 1;
	judge();
	assert_int_equal(begun_in_all(), 2);
	assert_string_equal(snapshot.alerts[0].subject, "SIGUSR1");
	assert_string_equal(snapshot.alerts[0].text, "Process 33 of the program was killed by signal 10 (SIGUSR1)");
}

static void the_end_of_the_program_ends_alerts(void **state)
{
	(void)state;
	start();
	for (; snapshot.run_s < 20; step_time()) {
		make_steady(4 * GB, 0.2);
		snapshot.memory.used = 0.97;
		judge();
	}
	assert_int_equal(snapshot.active_alerts, 1);
	assert_int_equal(snapshot.alerts[0].severity, LIVE_CRITICAL);
	snapshot.state = LIVE_ENDED;
	snapshot.exit_status = 139;
	snapshot.exit_signal = SIGSEGV;
	judge();
	assert_int_equal(snapshot.active_alerts, 0);
	assert_int_equal(of("memory_high")->ended, 1);
	assert_int_equal(of("process_died")->begun, 1);
	assert_int_equal(of("process_died")->ended, 1);
	assert_int_equal(of("process_died")->alert.severity, LIVE_CRITICAL);
	assert_string_equal(of("process_died")->alert.text, "The program was killed by signal 11 (SIGSEGV)");
}

/* What is said of a program that has ended so; "": nothing. */
static const char *said_of(int status, int number)
{
	start();
	snapshot.state = LIVE_ENDED;
	snapshot.exit_status = status;
	snapshot.exit_signal = number;
	judge();
	live_alerts_free(alerts);
	alerts = NULL;
	return of("process_died")->begun ? of("process_died")->alert.text : "";
}

/* Only wait() knows who was killed: a status above 128 is a number like others. */
static void a_status_is_no_signal(void **state)
{
	(void)state;
	assert_string_equal(said_of(137, SIGKILL), "The program was killed by signal 9 (SIGKILL)");
	assert_string_equal(said_of(138, SIGUSR1), "The program was killed by signal 10 (SIGUSR1)");
	assert_string_equal(said_of(143, SIGTERM), "");
	assert_string_equal(said_of(137, 0), "The program exited with status 137, as a shell does when one of its commands was killed by signal 9 (SIGKILL)");
	assert_int_equal(of("process_died")->alert.severity, LIVE_WARNING);
	assert_true(of("process_died")->alert.value == 137);
	assert_string_equal(said_of(130, 0), "");
	assert_string_equal(said_of(138, 0), "");
	assert_string_equal(said_of(150, 0), "");
	assert_string_equal(said_of(192, 0), "");
	assert_string_equal(said_of(255, 0), "");
	assert_string_equal(said_of(0, 0), "");
	assert_string_equal(said_of(-1, 0), "");
}

static void an_alert_that_comes_again_counts(void **state)
{
	(void)state;
	start();
	for (; snapshot.run_s < 100; step_time()) {
		make_steady(4 * GB, 0.2);
		snapshot.memory.used = fmod(snapshot.run_s, 50) < 25 ? 0.9 : 0.5;
		judge();
	}
	assert_int_equal(of("memory_high")->begun, 2);
	assert_int_equal(of("memory_high")->alert.times, 2);
	assert_int_equal(of("memory_high")->alert.number, 2);
}

/* ---- Rules ------------------------------------------------------------------------------------ */

static void rules_are_sql_over_the_snapshot(void **state)
{
	const char *const rules[] = {
		"many threads: (SELECT count(*) FROM threads WHERE state = 'lock') > 2",
		"slow: steps.median_s > 0.1 AND memory.used < 0.9",
		"never: cpu.share > 1000",
		"unknown: pss_bytes > 5",
	};
	struct live_alert_options options = LIVE_ALERT_OPTIONS_INIT;

	(void)state;
	options.rules = rules;
	options.rule_count = 4;
	start_with(&options);
	for (; snapshot.run_s < 60; step_time()) {
		make_steady(4 * GB, 0.2);
		snapshot.steps.median_s = snapshot.run_s < 20 ? 0.05 : 0.2;
		snapshot.thread_count = 4;
		for (int i = 0; i < 4; i++)
			strcpy(snapshot.threads[i].state, snapshot.run_s > 30 && snapshot.run_s < 40 ? "lock" : "running");
		judge();
	}
	assert_int_equal(of("rule")->begun, 2);
	assert_int_equal(of("rule")->ended, 1);
	assert_int_equal(snapshot.active_alerts, 1);
	assert_string_equal(snapshot.alerts[0].subject, "slow");
	assert_string_equal(snapshot.alerts[1].subject, "many threads");
	assert_true(snapshot.alerts[1].begin_s > 30 && snapshot.alerts[1].begin_s < 33);
	assert_int_equal(of("rule_failed")->begun, 0);
}

static void a_rule_that_fails_is_told_once(void **state)
{
	const char *const rules[] = {
		"text: (SELECT name FROM threads LIMIT 1)",
		"endless: (SELECT count(*) FROM threads a, threads b, threads c, threads d, threads e) > 5",
		"good: memory.total_bytes > 0",
	};
	struct live_alert_options options = LIVE_ALERT_OPTIONS_INIT;

	(void)state;
	options.rules = rules;
	options.rule_count = 3;
	start_with(&options);
	for (; snapshot.run_s < 40; step_time()) {
		make_steady(4 * GB, 0.2);
		snapshot.thread_count = 200;
		for (int i = 0; i < 200; i++)
			strcpy(snapshot.threads[i].name, "worker");
		judge();
	}
	assert_int_equal(of("rule_failed")->begun, 2);
	assert_int_equal(of("rule_failed")->ended, 2);
	assert_int_equal(of("rule_failed")->alert.severity, LIVE_INFO);
	assert_non_null(strstr(of("rule_failed")->alert.text, "takes too long"));
	assert_int_equal(of("rule")->begun, 1);
	assert_int_equal(of("rule")->ended, 0);
}

static void refuse(const char *rule, const char *because)
{
	struct live_alert_options options = LIVE_ALERT_OPTIONS_INIT;
	struct error err = { 0 };

	options.rules = &rule;
	options.rule_count = 1;
	assert_true(live_alerts_new(&alerts, &options, &err) < 0);
	assert_int_equal(err.exit_code, 2);
	assert_non_null(strstr(err.text, because));
}

static void rules_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	refuse("no colon", "NAME: EXPRESSION");
	refuse(": memory.used > 1", "NAME: EXPRESSION");
	refuse("empty:  ", "NAME: EXPRESSION");
	refuse("typo: memory.usd > 1", "memory.usd");
	refuse("two: 1, 2", "alert 'two'");
	refuse("write: (DELETE FROM memory)", "alert 'write'");
	refuse("other: 1) FROM sqlite_master --", "alert 'other'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(steady_programs_are_left_alone, end),
		cmocka_unit_test_teardown(restless_programs_are_left_alone, end),
		cmocka_unit_test_teardown(a_leak_is_told_in_time, end),
		cmocka_unit_test_teardown(a_mapped_file_is_no_leak, end),
		cmocka_unit_test_teardown(a_leak_beside_a_mapped_file_is_told, end),
		cmocka_unit_test_teardown(high_memory_begins_and_ends_once, end),
		cmocka_unit_test_teardown(what_becomes_critical_is_told, end),
		cmocka_unit_test_teardown(a_stall_is_told_and_ends_with_the_next_step, end),
		cmocka_unit_test_teardown(idle_stopped_and_sleeping_are_no_stall, end),
		cmocka_unit_test_teardown(waking_up_is_no_stall, end),
		cmocka_unit_test_teardown(waiting_for_input_is_told, end),
		cmocka_unit_test_teardown(full_gpu_memory_is_told_for_its_gpu, end),
		cmocka_unit_test_teardown(gpus_keep_their_numbers, end),
		cmocka_unit_test_teardown(gpus_of_others_are_left_alone, end),
		cmocka_unit_test_teardown(an_idle_gpu_is_told_while_steps_go_on, end),
		cmocka_unit_test_teardown(a_gpu_that_is_nearly_busy_is_told_once, end),
		cmocka_unit_test_teardown(the_rest_is_told, end),
		cmocka_unit_test_teardown(losses_say_why, end),
		cmocka_unit_test_teardown(what_the_program_says_is_told, end),
		cmocka_unit_test_teardown(deaths_of_processes, end),
		cmocka_unit_test_teardown(the_end_of_the_program_ends_alerts, end),
		cmocka_unit_test_teardown(a_status_is_no_signal, end),
		cmocka_unit_test_teardown(an_alert_that_comes_again_counts, end),
		cmocka_unit_test_teardown(rules_are_sql_over_the_snapshot, end),
		cmocka_unit_test_teardown(a_rule_that_fails_is_told_once, end),
		cmocka_unit_test(rules_that_make_no_sense_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
