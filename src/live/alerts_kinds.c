/*
 * alerts_kinds.c - the kinds of alerts, one row each at the end, and when they hold.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/signal_name.h"
#include "base/text.h"
#include "live/alerts_state.h"

#define MIB (1024.0 * 1024)
#define GIB (1024 * MIB)
#define CLEARLY 0.05        /* below a share at which an alert begins, where it ends */
#define MEMORY_CRITICAL 0.95
#define STEPS_USUAL 10u     /* so many tell what is usual */
#define STALL_LEAST_S 2.0
#define STALL_BUSY 6.0      /* times as long, while the thread does something */
#define STALL_BUSY_LEAST_S 60.0
#define GROWTH_SHORT 12u    /* buckets: a minute, for what is urgent */
#define GROWTH_SHORT_MINUTES 10.0
#define GROWTH_URGENT_MINUTES 3.0
#define START_UP_S 30.0
#define GPU_BUSY 0.3
#define GPU_FADE_S 10.0
#define THROTTLED 0.1
#define SWAP_BYTES (64 * MIB)
#define SWAP_FAULTS 50.0
#define DISK_FREE 0.05
#define DISK_FREE_BYTES (2 * GIB)
#define DISK_CRITICAL_BYTES (256 * MIB)

static void say(struct alert_sight *sight, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct alert_sight *sight, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(sight->text, sizeof sight->text, format, args);
	va_end(args);
}

/* What nobody will read is not even put together. */
#define SAY(sight, ...)                                                                                                \
	do {                                                                                                           \
		if ((sight)->holds)                                                                                    \
			say(sight, __VA_ARGS__);                                                                       \
	} while (0)

static char *size_text(char *out, double bytes)
{
	return text_byte_size(out, bytes > 0 && bytes < 1e18 ? (uint64_t)bytes : 0);
}

static bool runs(const struct live_snapshot *s)
{
	return s->state == LIVE_RUNNING;
}

/* A condition that is just a number above a bound. */
static struct alert_sight above(double value, double threshold, double clearly, uint8_t severity)
{
	return (struct alert_sight){ .subject = "", .holds = value > threshold, .gone = !(value > threshold - clearly), .value = value,
				     .threshold = threshold, .severity = severity };
}

/* ---- Memory ------------------------------------------------------------------------ */

static void judge_memory(struct live_alerts *a, const struct alert_kind *kind, const struct live_snapshot *s)
{
	double used = s->memory.used;
	struct alert_sight sight = above(used, a->options.memory, CLEARLY, used >= MEMORY_CRITICAL ? LIVE_CRITICAL : LIVE_WARNING);
	char program[32], total[32];

	if (isnan(used))
		return;
	SAY(&sight, "%.0f %% of the %s %s of memory are used; the program has %s", 100 * used, s->memory.limited ? "container's" : "machine's",
	    size_text(total, s->memory.total_bytes), size_text(program, s->memory.rss_bytes));
	alert_see(a, kind, &sight);
}

/* What grows while a program starts is what it needs: only from the first steps on, or for long, is it a leak. */
static double growth_of(struct live_alerts *a, const struct live_snapshot *s, double *ret_minutes)
{
	const uint32_t windows[2] = { GROWTH_SHORT, GROWTH_BUCKETS };

	for (int i = 0; i < 2; i++) {
		double slope = alert_growth_slope(&a->growth, windows[i]);
		double minutes = slope > 0 ? s->memory.available_bytes / slope / 60 : INFINITY;
		double horizon = i == 1 ? a->options.growth_minutes :
				 a->steps_known ? fmin(GROWTH_SHORT_MINUTES, a->options.growth_minutes) : GROWTH_URGENT_MINUTES;

		if (minutes <= horizon) {
			*ret_minutes = minutes;
			return slope;
		}
	}
	return 0;
}

/* Pages of files come and go as the kernel likes: a program that reads a mapped file for the first time only seems to grow. */
static double memory_that_stays(const struct live_memory *m)
{
	return isnan(m->held_bytes) ? m->rss_bytes : m->held_bytes;
}

static void judge_growth(struct live_alerts *a, const struct alert_kind *kind, const struct live_snapshot *s)
{
	struct alert_sight sight = { .subject = "", .threshold = a->options.growth_minutes, .severity = LIVE_WARNING };
	double slope, minutes = NAN, bytes = memory_that_stays(&s->memory);
	char size[32];

	if (isnan(bytes) || isnan(s->memory.available_bytes))
		return;
	if (s->run_s < START_UP_S || (s->steps.known && !a->steps_known))
		alert_growth_reset(&a->growth, fmax(a->growth.before, bytes));
	a->steps_known |= s->steps.known;
	if (s->run_s < START_UP_S)
		return;
	alert_growth_add(&a->growth, s->run_s, bytes);
	slope = growth_of(a, s, &minutes);
	sight.holds = slope > 0;
	sight.gone = alert_growth_slope(&a->growth, GROWTH_SHORT) <= 0 && alert_growth_slope(&a->growth, GROWTH_BUCKETS) <= 0;
	sight.value = minutes;
	if (minutes < GROWTH_URGENT_MINUTES)
		sight.severity = LIVE_CRITICAL;
	SAY(&sight, "The program's memory grows by %s a minute; at that pace the %s is full in %.*f minutes", size_text(size, 60 * slope),
	    s->memory.limited ? "container" : "machine", minutes < 10 ? 1 : 0, minutes);
	alert_see(a, kind, &sight);
}

static void judge_swap(struct live_alerts *a, const struct alert_kind *kind, const struct live_snapshot *s)
{
	struct alert_sight sight = { .subject = "", .value = s->memory.major_faults, .threshold = SWAP_FAULTS, .severity = LIVE_WARNING };
	char size[32];

	sight.holds = s->memory.swap_bytes > SWAP_BYTES && s->memory.major_faults > SWAP_FAULTS;
	sight.gone = !(s->memory.swap_bytes > SWAP_BYTES / 2 && s->memory.major_faults > SWAP_FAULTS / 5);
	SAY(&sight, "%s of the program are swapped out, and it waits %.0f times a second for pages of it to come back",
	    size_text(size, s->memory.swap_bytes), s->memory.major_faults);
	alert_see(a, kind, &sight);
}

/* ---- GPUs --------------------------------------------------------------------------- */

/* What others do on a GPU is not the program's business, but where nobody can tell whose it is. */
static bool is_used(const struct live_gpu *gpu)
{
	return isnan(gpu->program_bytes) || gpu->program_bytes > 0;
}

static uint32_t gpus_of(const struct live_snapshot *s)
{
	return s->gpu_count < LIVE_GPUS ? s->gpu_count : LIVE_GPUS;
}

static void judge_gpu_memory(struct live_alerts *a, const struct alert_kind *kind, const struct live_snapshot *s)
{
	for (uint32_t i = 0; i < gpus_of(s); i++) {
		const struct live_gpu *gpu = &s->gpus[i];
		double used = gpu->memory_total_bytes > 0 ? gpu->memory_used_bytes / gpu->memory_total_bytes : NAN;
		struct alert_sight sight = above(used, a->options.gpu_memory, CLEARLY, used >= 0.98 ? LIVE_CRITICAL : LIVE_WARNING);
		char subject[16], have[32], total[32];

		snprintf(subject, sizeof subject, "GPU %u", gpu->number);
		sight.subject = subject;
		if (isnan(used) || !is_used(gpu))
			continue;
		SAY(&sight, "%.0f %% of the memory of %s are used (%s of %s)", 100 * used, subject, size_text(have, gpu->memory_used_bytes),
		    size_text(total, gpu->memory_total_bytes));
		alert_see(a, kind, &sight);
	}
}

/* A GPU that nobody asks anything of is idle for a reason. */
static bool steps_go_on(const struct live_snapshot *s)
{
	return runs(s) && s->steps.known && s->steps.count >= STEPS_USUAL && s->steps.rate > 0 && !s->steps.idle;
}

/* How busy the GPU was of late. */
static double fade(struct live_alerts *a, const struct live_gpu *gpu, double interval_s)
{
	double kept = interval_s > 0 ? exp(-interval_s / GPU_FADE_S) : 1, *idle = &a->idle[gpu->number];

	*idle = isnan(*idle) ? gpu->utilization : *idle * kept + gpu->utilization * (1 - kept);
	return *idle;
}

static void judge_gpu_idle(struct live_alerts *a, const struct alert_kind *kind, const struct live_snapshot *s)
{
	for (uint32_t i = 0; i < gpus_of(s); i++) {
		const struct live_gpu *gpu = &s->gpus[i];
		struct alert_sight sight = { .threshold = GPU_BUSY, .severity = LIVE_WARNING };
		bool wanted = steps_go_on(s) && gpu->program_bytes > 0;
		char subject[16];

		if (isnan(gpu->utilization) || gpu->number >= LIVE_GPU_NUMBERS)
			continue;
		snprintf(subject, sizeof subject, "GPU %u", gpu->number);
		sight.subject = subject;
		sight.value = fade(a, gpu, s->interval_s);
		sight.holds = wanted && sight.value < GPU_BUSY;
		sight.gone = !wanted || sight.value > GPU_BUSY + CLEARLY;
		SAY(&sight, "%s is busy for %.0f %% of the time only, while steps go on", subject, 100 * sight.value);
		alert_see(a, kind, &sight);
	}
}

/* ---- Steps --------------------------------------------------------------------------- */

static const struct live_thread *step_thread(const struct live_snapshot *s)
{
	for (uint32_t i = 0; i < s->thread_count && i < LIVE_THREADS; i++)
		if (s->steps.tid && s->threads[i].tid == s->steps.tid && s->threads[i].pid == s->steps.pid)
			return &s->threads[i];
	return NULL;
}

/* The machine's sleep and a stop of the program are no stall. */
static double since_resumed(const struct live_alerts *a, double since)
{
	return a->resumed_s > 0 ? fmin(since, a->now - a->resumed_s) : since;
}

/* A thread that records nothing and does not run is stuck sooner than one that does something else for once. */
static void judge_stall(struct live_alerts *a, const struct alert_kind *kind, const struct live_snapshot *s)
{
	const struct live_thread *thread = step_thread(s);
	double since = since_resumed(a, s->steps.since_s), quiet = since_resumed(a, s->steps.quiet_s);
	double limit = fmax(fmax(a->options.stall * s->steps.median_s, 3 * s->steps.p95_s), STALL_LEAST_S);
	struct alert_sight sight = { .subject = "", .value = since, .threshold = limit, .severity = LIVE_CRITICAL };
	char usual[32], here[32];

	if (!s->steps.known || s->steps.count < STEPS_USUAL || isnan(s->steps.median_s))
		return;
	sight.holds = runs(s) && !s->steps.idle && since > limit &&
		      (quiet > 0.8 * limit || since > fmax(STALL_BUSY * limit, STALL_BUSY_LEAST_S));
	sight.gone = s->steps.since_s <= limit || s->steps.idle;
	SAY(&sight, "No step (%.60s) for %s; usually one takes %s%s%.24s%s%.60s", s->steps.name, text_duration(here, 1e9 * since),
	    text_duration(usual, 1e9 * s->steps.median_s), thread && thread->state[0] ? "; its thread is in state " : "",
	    thread ? thread->state : "", thread && thread->what[0] ? ": " : "", thread ? thread->what : "");
	alert_see(a, kind, &sight);
}

static void judge_input(struct live_alerts *a, const struct alert_kind *kind, const struct live_snapshot *s)
{
	struct alert_sight sight = above(s->steps.input_wait, a->options.bottleneck, 0.4 * a->options.bottleneck, LIVE_WARNING);

	if (isnan(s->steps.input_wait) || s->steps.count < STEPS_USUAL)
		return;
	if (!runs(s))
		sight.holds = false;
	SAY(&sight, "Steps wait for their input for %.0f %% of their time", 100 * s->steps.input_wait);
	alert_see(a, kind, &sight);
}

/* ---- The rest ------------------------------------------------------------------------- */

static void judge_throttled(struct live_alerts *a, const struct alert_kind *kind, const struct live_snapshot *s)
{
	struct alert_sight sight = above(s->cpu.throttled, THROTTLED, THROTTLED / 2, LIVE_WARNING);

	if (isnan(s->cpu.throttled))
		return;
	SAY(&sight, "The container's quota of %.3g processors holds the program back for %.0f %% of the time", s->cpu.available,
	    100 * fmin(1, s->cpu.throttled));
	alert_see(a, kind, &sight);
}

static void judge_disk(struct live_alerts *a, const struct alert_kind *kind, const struct live_snapshot *s)
{
	double bytes = s->events.disk_free_bytes, share = s->events.disk_free;
	struct alert_sight sight = { .subject = "", .value = share, .threshold = DISK_FREE, .severity = LIVE_WARNING };
	char size[32];

	if (isnan(bytes) || isnan(share))
		return;
	if (bytes < DISK_CRITICAL_BYTES)
		sight.severity = LIVE_CRITICAL;
	sight.holds = share < DISK_FREE && bytes < DISK_FREE_BYTES;
	sight.gone = share > 1.4 * DISK_FREE || bytes > 1.4 * DISK_FREE_BYTES;
	SAY(&sight, "The disk that the trace is written to has %s left (%.1f %%)", size_text(size, bytes), 100 * share);
	alert_see(a, kind, &sight);
}

/* A trace that cannot be written is another matter than a program that is too fast, though both may be. */
static void judge_lost(struct live_alerts *a, const struct alert_kind *kind, const struct live_snapshot *s)
{
	struct alert_sight sight = { .subject = "", .value = (double)s->events.lost, .threshold = 0, .severity = LIVE_WARNING };
	bool unwritten = s->events.unwritten > a->unwritten;
	char count[32];

	sight.holds = s->events.lost > a->lost;
	sight.gone = !sight.holds;
	a->lost = s->events.lost;
	a->unwritten = s->events.unwritten;
	if (unwritten) {
		sight.severity = LIVE_CRITICAL;
		sight.advice = "Make room where the trace is written, or record with --trace elsewhere; until then nothing that happens is kept.";
	}
	SAY(&sight, "Events are lost, %s so far: %.160s", text_group_digits(count, s->events.lost),
	    unwritten ? s->events.trouble : "the program records them faster than they are read");
	alert_see(a, kind, &sight);
}

static void judge_oom(struct live_alerts *a, const struct alert_kind *kind, const struct live_snapshot *s)
{
	struct alert_sight sight = { .subject = "out of memory", .value = s->memory.oom_kills, .threshold = 0, .severity = LIVE_CRITICAL };

	if (isnan(s->memory.oom_kills))
		return;
	sight.holds = !isnan(a->oom_kills) && s->memory.oom_kills > a->oom_kills;
	sight.gone = !sight.holds;
	a->oom_kills = s->memory.oom_kills;
	SAY(&sight, "The kernel has killed a process of the program's control group for lack of memory");
	alert_see(a, kind, &sight);
}

static void say_death(struct alert_sight *sight, const struct live_death *death)
{
	char who[LIVE_NAME + 32], count[32], by[SIGNAL_WORDS];

	snprintf(who, sizeof who, "%d%s%s%s", (int)death->pid, death->name[0] ? " (" : "", death->name, death->name[0] ? ")" : "");
	if (death->count > 1)
		say(sight, "%s processes of the program were killed by %s, so far; the last was %s", text_group_digits(count, death->count),
		    signal_words(by, death->signal), who);
	else
		say(sight, "Process %s of the program was killed by %s", who, signal_words(by, death->signal));
}

/* A program goes on without one of its processes, and may have killed it itself.  The signal is the subject, so that a program that
 * kills many is told of once. */
static void judge_deaths(struct live_alerts *a, const struct alert_kind *kind, const struct live_snapshot *s)
{
	for (uint32_t i = 0; i < s->death_count && i < LIVE_DEATHS; i++) {
		int number = s->deaths[i].signal;
		struct alert_sight sight = { .subject = signal_name(number), .holds = true, .value = number, .severity = LIVE_WARNING };
		char subject[SIGNAL_WORDS];

		if (signal_is_asked_for(number))
			continue;
		if (!sight.subject[0])
			sight.subject = signal_words(subject, number);
		say_death(&sight, &s->deaths[i]);
		alert_see(a, kind, &sight);
	}
}

/* A shell ends with 128 and the signal that has killed its last command, and hides its death; others end so for reasons of their own:
 * no more is said than what was seen, and only where a signal is meant that nobody sends to end a program. */
static bool looks_killed(const struct live_snapshot *s)
{
	return s->exit_status > 128 && signal_is_deadly(s->exit_status - 128);
}

static void judge_program(struct live_alerts *a, const struct alert_kind *kind, const struct live_snapshot *s)
{
	int number = s->state == LIVE_ENDED && !signal_is_asked_for(s->exit_signal) ? s->exit_signal : 0;
	bool other = s->state == LIVE_ENDED && s->exit_signal == 0 && looks_killed(s);
	struct alert_sight sight = { .subject = "", .holds = number > 0 || other, .gone = number == 0 && !other,
				     .value = other ? s->exit_status : number, .severity = other ? LIVE_WARNING : LIVE_CRITICAL };
	char by[SIGNAL_WORDS];

	if (other)
		SAY(&sight, "The program exited with status %d, as a shell does when one of its commands was killed by %s", s->exit_status,
		    signal_words(by, s->exit_status - 128));
	else
		SAY(&sight, "The program was killed by %s", signal_words(by, number));
	alert_see(a, kind, &sight);
}

static void judge_death(struct live_alerts *a, const struct alert_kind *kind, const struct live_snapshot *s)
{
	judge_oom(a, kind, s);
	judge_deaths(a, kind, s);
	judge_program(a, kind, s);
}

/* ---- What the program says itself ------------------------------------------------------- */

/* What LiveMonitor judges of the memory by itself is judged here, too. */
static bool is_judged(const char *kind)
{
	return strcmp(kind, "memory_high") == 0 || strcmp(kind, "gpu_memory_high") == 0 || strcmp(kind, "memory_growth") == 0;
}

/* Where a character ends. */
static void cut_text(const char *text, char *out, size_t size)
{
	size_t length = strnlen(text, size);

	if (length == size)
		for (length--; length > 0 && ((uint8_t)text[length] & 0xc0) == 0x80;)
			length--;
	memcpy(out, text, length);
	out[length] = '\0';
}

static void judge_custom(struct live_alerts *a, const struct alert_kind *kind, const struct live_snapshot *s)
{
	for (uint32_t i = 0; i < s->told_count && i < LIVE_TOLD; i++) {
		const struct live_told *told = &s->told[i];
		struct alert_sight sight = { .holds = true, .value = told->value, .threshold = told->threshold, .severity = told->severity,
					     .advice = told->advice };
		char whole[sizeof told->kind + sizeof told->subject + 2], subject[LIVE_NAME];

		if (is_judged(told->kind))
			continue;
		snprintf(whole, sizeof whole, "%s%s%s", told->kind, told->subject[0] ? ": " : "", told->subject);
		cut_text(whole, subject, sizeof subject);
		cut_text(told->text, sight.text, sizeof sight.text);
		sight.subject = subject;
		alert_see(a, kind, &sight);
	}
}

/* ---- All of them ------------------------------------------------------------------------ */

const struct alert_kind alert_kinds[] = {
	{ "memory_high", 3, 10, "Lower the batch size or the number of workers, or give it more memory before it is killed.", judge_memory },
	{ "gpu_memory_high", 3, 10, "Lower the batch size, or recompute activations instead of keeping them (torch.utils.checkpoint).",
	  judge_gpu_memory },
	{ "memory_growth", 0, 30, "Look for lists that only grow: losses kept with their graph (use .item()), caches without a bound.",
	  judge_growth },
	{ "stall", 0, 0, "See what the thread waits for (threads); py-spy dump --pid PID shows its Python stack.", judge_stall },
	{ "input_wait", 5, 15, "Raise num_workers of the DataLoader, set pin_memory and persistent_workers, or make the data cheaper to load.",
	  judge_input },
	{ "gpu_idle", 15, 10, "Look at what steps do on the host meanwhile (places); feed the GPU larger batches or from more workers.",
	  judge_gpu_idle },
	{ "cpu_throttled", 5, 15, "Give the container more processors, or use fewer threads: as many as its quota (OMP_NUM_THREADS).",
	  judge_throttled },
	{ "swap", 5, 20, "Use less memory, or a machine with more: what is swapped out is a thousand times slower.", judge_swap },
	{ "disk_full", 1, 10, "Bound the trace (--max-file-mb, --last), or write it elsewhere (--trace).", judge_disk },
	{ "events_lost", 0, 30, "Record less (--calls off, --exclude), or give the rings more room (--trace-size-mb).", judge_lost },
	{ "process_died", 0, 10, "See the program's own output, and dmesg for what the kernel says.", judge_death },
	{ "custom", 0, 0, "", judge_custom, LIVE_TOLD },
	{ "rule", 1, 5, "", NULL },
	{ "rule_failed", 0, 10, "See docs/monitor.md for what a rule can say.", NULL },
	{ NULL, 0, 0, NULL, NULL },
};
