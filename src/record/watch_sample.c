/*
 * watch_sample.c - where threads run: samples of their program counter become records.
 *
 * Processors are sampled where we may and there are not too many, else threads: what that costs is in pace().
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "record/watch_state.h"
#include "system/id_list.h"
#include "system/proc.h"

#define BUSY_NS 2000000u        /* processor time of a thread that is worth sampling; most threads of pools never get there */
#define SWITCH_NS 12000         /* that a thread loses when it gets a processor and loses it again, in a virtual machine */
#define COST_PART 400           /* of a thread's processor time, and */
#define COST_IDLE_PART 2000     /* of the time in all, that sampling may take */
#define CREDIT_NS 2500000       /* that it may owe before it rests */
#define DEBT_MAX_NS 100000000
#define CLOCK_PAUSE_NS 50000000 /* between readings of the clocks */
#define CLOCK_SPAN_NS 2000000000

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- Clocks ------------------------------------------------------------------ */

/* Samples carry nanoseconds: those of our own clock, where it has such, else of the one that runs at its rate. */
static clockid_t clock_of_samples(const struct watch *w)
{
	return w->clock == CLOCK_SOURCE_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_MONOTONIC_RAW;
}

static bool is_in_ticks(const struct watch *w)
{
	return w->clock == CLOCK_SOURCE_TSC || w->clock == CLOCK_SOURCE_ARM;
}

void watch_clock_read(struct watch *w)
{
	if (w->clock_new.raw_ns - w->clock_old.raw_ns >= CLOCK_SPAN_NS)
		w->clock_old = w->clock_new;
	clock_read_all(w->clock, &w->clock_new);
	if (w->clock_old.raw_ns == 0)
		w->clock_old = w->clock_new;
}

static uint64_t ticks_at(const struct watch *w, int64_t ns)
{
	const struct clock_reading *a = &w->clock_old, *b = &w->clock_new;
	double rate = (double)w->ticks_a_slot / (double)w->options.slot_ns;

	if (!is_in_ticks(w))
		return (uint64_t)ns;
	if (b->raw_ns - a->raw_ns >= CLOCK_PAUSE_NS)
		rate = (double)(b->ticks - a->ticks) / (double)(b->raw_ns - a->raw_ns);
	return (uint64_t)(b->ticks + (int64_t)((double)(ns - b->raw_ns) * rate));
}

static int64_t monotonic_at(const struct watch *w, int64_t ns)
{
	return w->clock == CLOCK_SOURCE_MONOTONIC ? ns : ns + (w->clock_new.monotonic_ns - w->clock_new.raw_ns);
}

/* ---- Records --------------------------------------------------------------------- */

/* A place that the maps do not explain has to wait for the next look at them, unless there has been one since. */
static bool may_wait(const struct watch *w, const struct cpu_sampler *from, const struct watched_thread *t, const struct cpu_sample *sample)
{
	return !cpu_sampler_is_full(from) && t->process->wait.maps.read_ns < monotonic_at(w, sample->time_ns);
}

static bool take(struct watch *w, const struct cpu_sampler *from, const struct watched_thread *t, const struct cpu_sample *sample, int64_t now,
		 bool last)
{
	struct watch_record record = { .kind = WATCH_CPU_SAMPLE, .time = ticks_at(w, sample->time_ns) };
	struct code_place place;

	if ((int64_t)(record.time - t->met) < 0) /* it may be of another thread with its number */
		return true;
	if (!code_place_find(&t->process->code, sample->pc, sample->kernel, now, &place) && !last && may_wait(w, from, t, sample))
		return false;
	record.state = (uint8_t)place.sort;
	memcpy(record.what, place.what, sizeof place.what);
	watch_put_thread(w, t, &record);
	return true;
}

static int64_t read_clocks(struct watch *w)
{
	int64_t now = now_ns();

	if (now - w->clock_new.monotonic_ns >= CLOCK_PAUSE_NS)
		watch_clock_read(w);
	return now;
}

static void count_lost(struct watch *w, struct cpu_sampler *sampler)
{
	w->totals.lost_samples += sampler->lost;
	sampler->lost = 0;
}

/* ---- Processors ------------------------------------------------------------------ */

static int open_processors(struct watch *w, const char *online)
{
	uint32_t count = id_list_count(online), processor;
	int rc = count == 0 ? -EINVAL : count > WATCH_PROCESSORS ? -E2BIG : 0;

	for (uint32_t i = 0; i < count && rc == 0; i++) {
		if (!id_list_at(online, i, &processor))
			return -EINVAL;
		rc = cpu_sampler_open_processor(&w->processors[i], processor, clock_of_samples(w));
		w->processor_count += rc == 0;
	}
	return rc;
}

void watch_samplers_start(struct watch *w)
{
	char online[4096];
	int fd;

	if (w->reach != CPU_SAMPLER_KERNEL)
		return;
	fd = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (proc_reread(fd, online, sizeof online) > 0 && open_processors(w, online) == 0)
		w->totals.reach = CPU_SAMPLER_KERNEL;
	else
		watch_samplers_stop(w);
	close(fd);
}

void watch_samplers_stop(struct watch *w)
{
	while (w->processor_count)
		cpu_sampler_close(&w->processors[--w->processor_count]);
}

/* Most samples of a processor are of the thread that the last one was of. */
static const struct watched_thread *find_thread(const struct watch *w, pid_t tid, const struct watched_thread *last)
{
	if (last && last->tid == tid)
		return last;
	for (size_t i = 0; i < w->thread_count; i++)
		if (w->threads[i]->tid == tid)
			return w->threads[i];
	return NULL;
}

static void read_processor(struct watch *w, struct cpu_sampler *from, bool last)
{
	const struct watched_thread *t = NULL;
	struct cpu_sample sample;
	int64_t now;

	if (!cpu_sampler_peek(from, &sample))
		return;
	now = read_clocks(w);
	for (; cpu_sampler_peek(from, &sample); cpu_sampler_drop(from)) {
		t = find_thread(w, sample.tid, t);
		if (t && !take(w, from, t, &sample, now, last))
			break;
	}
	count_lost(w, from);
}

static void read_processors(struct watch *w, bool last)
{
	uint64_t period = w->thread_count > WATCH_MANY ? CPU_SAMPLER_CROWD_PERIOD_NS : CPU_SAMPLER_PERIOD_NS;

	for (size_t i = 0; i < w->processor_count; i++) {
		read_processor(w, &w->processors[i], last);
		if (period > w->processors[i].period_ns) /* where it has come down to that it stays */
			cpu_sampler_set_period(&w->processors[i], period);
		if (w->processors[i].period_ns > w->totals.longest_period_ns)
			w->totals.longest_period_ns = w->processors[i].period_ns;
	}
}

/* ---- Threads, one by one ------------------------------------------------------------- */

static bool has_room(const struct watch *w, const struct watched_thread *t)
{
	return w->samplers < (t->main ? w->sampler_limit : w->sampler_limit - w->sampler_limit / 4);
}

/* The kernel may not let us see what threads do in it. */
static int open_sampler(struct watch *w, struct watched_thread *t)
{
	int rc = cpu_sampler_open(&t->sampler, t->tid, clock_of_samples(w), w->reach);

	if (w->reach != CPU_SAMPLER_KERNEL || w->totals.reach != CPU_SAMPLER_NONE || (rc != -EACCES && rc != -EPERM))
		return rc;
	rc = cpu_sampler_open(&t->sampler, t->tid, clock_of_samples(w), CPU_SAMPLER_USER);
	if (rc == 0)
		w->reach = CPU_SAMPLER_USER;
	return rc;
}

void watch_sampler_begin(struct watch *w, struct watched_thread *t)
{
	int rc;

	if (w->processor_count || t->sampler_tried || w->reach == CPU_SAMPLER_NONE || !has_room(w, t) ||
	    (!t->main && t->ledger.run_ns < BUSY_NS))
		return;
	t->sampler_tried = true;
	rc = open_sampler(w, t);
	if (rc == -ENOSYS)
		w->reach = CPU_SAMPLER_NONE;
	if (rc != 0)
		return;
	w->totals.reach = w->reach;
	w->samplers++;
	t->sampled = t->ledger;
}

static void read_thread(struct watch *w, struct watched_thread *t, bool last)
{
	struct cpu_sample sample;
	int64_t now;

	if (t->sampler.fd < 0 || !cpu_sampler_peek(&t->sampler, &sample))
		return;
	now = read_clocks(w);
	while (cpu_sampler_peek(&t->sampler, &sample) && take(w, &t->sampler, t, &sample, now, last))
		cpu_sampler_drop(&t->sampler);
	count_lost(w, &t->sampler);
}

/* What a processor still has of it is read while it is known, with what is before it and not explained yet. */
void watch_sampler_end(struct watch *w, struct watched_thread *t)
{
	read_processors(w, true);
	if (t->sampler.fd < 0)
		return;
	read_thread(w, t, true);
	w->samplers--;
	cpu_sampler_close(&t->sampler);
}

/* ---- What it costs ------------------------------------------------ */

/* What it owes after so much time. */
static int64_t debt(const struct watched_thread *t, int64_t passed_ns)
{
	int64_t run = (int64_t)(t->ledger.run_ns - t->sampled.run_ns), slices = (int64_t)(t->ledger.slices - t->sampled.slices);
	int64_t cost = t->sampler_rests ? 0 : slices * SWITCH_NS;
	int64_t sum = t->debt_ns + cost - run / COST_PART - passed_ns / COST_IDLE_PART;

	return sum < 0 ? 0 : sum > DEBT_MAX_NS ? DEBT_MAX_NS : sum;
}

/* The more threads there are, the fewer samples of each are enough.  One that has come down to that stays there. */
static void set_period(struct watch *w, struct watched_thread *t)
{
	if (t->main || w->samplers <= WATCH_MANY)
		return;
	cpu_sampler_set_period(&t->sampler, CPU_SAMPLER_CROWD_PERIOD_NS);
	if (t->sampler.period_ns > w->totals.longest_period_ns)
		w->totals.longest_period_ns = t->sampler.period_ns;
}

/*
 * The kernel sets a timer whenever a sampled thread gets a processor.  One that gets it very often is sampled for a part of
 * the time, and has no event in the rest: one that is merely disabled costs a third as much as one that is not.
 */
static void pace(struct watch *w, struct watched_thread *t, int64_t passed_ns)
{
	if (t->sampler.fd < 0 && !t->sampler_rests)
		return;
	t->debt_ns = debt(t, passed_ns);
	t->sampled = t->ledger;
	if (t->debt_ns > CREDIT_NS && !t->sampler_rests) {
		watch_sampler_end(w, t);
		t->sampler_rests = true;
		w->totals.rests++;
	} else if (t->debt_ns == 0 && t->sampler_rests) {
		t->sampler_rests = t->sampler_tried = false;
		watch_sampler_begin(w, t);
	}
	if (t->sampler.fd >= 0)
		set_period(w, t);
}

void watch_samplers_read(struct watch *w, int64_t passed_ns, bool last)
{
	read_processors(w, last);
	for (size_t i = 0; w->processor_count == 0 && i < w->thread_count; i++) {
		read_thread(w, w->threads[i], last);
		pace(w, w->threads[i], passed_ns);
	}
}
