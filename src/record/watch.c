#include "record/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/watch_state.h"
#include "system/cpu_limit.h"

#define SECOND_NS 1000000000
#define PASS_NS 100000000        /* between looks at which threads there are */
#define SAMPLES_NS 200000000     /* and at where they ran, */
#define SAMPLES_SOON_NS 10000000 /* in a program that has just begun, whose memory has to be looked at before it ends */
#define MACHINE_PASSES 2u        /* and, in passes, at the machine, */
#define MACHINE_LONG_PASSES 5u   /* with long slots, */
#define MACHINE_ALL_PASSES 10u   /* and at all of it */
#define BUDGET_NS 9000000u       /* of processor time a second: a hundredth, with what is not seen in time; */
#define BUDGET_LONG_NS 2000000u  /* with long slots */
#define COMFORT(budget) ((budget) / 9 * 7) /* with so little it may look more often */
#define FAR_TOO_MUCH 4u          /* times what it may take in a second */
#define PACE_MAX 64u             /* slots */
#define QUEUE_NS 100000u         /* that we wait for a processor when we wake: the program needs all of them, and we are in its way */
#define LOOKS_ENOUGH 400u        /* after which half as many will do */
#define SLOTS_BUSY 3u            /* the next look is in one of so many slots then: on average there is one in half of them */
#define FILES_SPARED 256u        /* descriptors that are not for threads */
#define FILES_A_THREAD 2u

static int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- The queue --------------------------------------------------------------- */

static void put(struct watch *w, const struct watch_record *record)
{
	if (w->options.queue == 0)
		return;
	pthread_mutex_lock(&w->lock);
	if (w->count < w->options.queue)
		w->queue[(w->first + w->count++) % w->options.queue] = *record;
	else
		w->dropped++;
	pthread_mutex_unlock(&w->lock);
}

void watch_put_process(struct watch *w, const struct watched_process *p, const struct watch_record *record)
{
	struct watch_record full = *record;

	full.process = p->number;
	full.pid = p->pid;
	full.parent = p->parent;
	full.birth = p->birth;
	put(w, &full);
}

void watch_put_thread(struct watch *w, const struct watched_thread *t, const struct watch_record *record)
{
	struct watch_record full = *record;

	full.thread = t->number;
	full.tid = t->tid;
	watch_put_process(w, t->process, &full);
}

size_t watch_take(struct watch *w, struct watch_record *records, size_t max)
{
	size_t n;

	pthread_mutex_lock(&w->lock);
	n = w->count < max ? w->count : max;
	for (size_t i = 0; i < n; i++)
		records[i] = w->queue[(w->first + i) % w->options.queue];
	w->count -= n;
	w->first = w->count ? (w->first + n) % w->options.queue : 0; /* the same memory again, not all of it in turn */
	pthread_mutex_unlock(&w->lock);
	return n;
}

void watch_add(struct watch *w, pid_t pid)
{
	pthread_mutex_lock(&w->lock);
	if (w->added_count < WATCH_ADDED)
		w->added[w->added_count++] = pid;
	pthread_mutex_unlock(&w->lock);
}

/* ---- The machine ------------------------------------------------------------- */

static void look_at_machine(struct watch *w, bool all)
{
	struct machine_counters now;
	uint64_t ticks = clock_ticks(w->clock);

	machine_files_read(&w->machine_files, all, &now);
	w->machine_time = ticks;
	for (unsigned i = 0; i < MACHINE_COUNTER_COUNT; i++) {
		const struct watch_record record = {
			.kind = WATCH_MACHINE, .counter = (uint8_t)i, .time = ticks, .value = now.values[i]
		};

		if (!(now.known >> i & 1) || (w->machine.known >> i & 1 && w->machine.values[i] == now.values[i]))
			continue;
		put(w, &record);
		w->machine.values[i] = now.values[i];
		w->machine.known |= 1u << i;
	}
}

/* ---- What it may cost -------------------------------------------------------- */

static uint64_t budget(const struct watch *w)
{
	return w->options.slot_ns < WATCH_LONG_NS ? BUDGET_NS : BUDGET_LONG_NS;
}

static void set_pace(struct watch *w, uint64_t pace)
{
	w->pace = pace < 1 ? 1 : pace > PACE_MAX ? PACE_MAX : (uint32_t)pace;
	w->spine_pace = pace <= PACE_MAX ? 1 : (uint32_t)(pace / PACE_MAX < 16 ? pace / PACE_MAX : 16);
	if (w->pace > w->totals.pace)
		w->totals.pace = w->pace;
}

/* Fewer slots between looks cost the more the fewer they are: there has to be room for that. */
static void look_more_often(struct watch *w, uint64_t rate)
{
	uint32_t less = w->pace - (w->pace + 3) / 4;

	if (w->spine_pace > 1 && rate * 2 < COMFORT(budget(w)))
		set_pace(w, (uint64_t)PACE_MAX * (w->spine_pace / 2));
	else if (w->spine_pace == 1 && w->pace > 1 && rate * w->pace / less < COMFORT(budget(w)))
		set_pace(w, less);
}

static bool are_many(const struct watch *w)
{
	return w->thread_count > WATCH_MANY;
}

/* Threads that are many are looked at so much more rarely as it takes; for few, what took too much may not come again. */
static void look_less_often(struct watch *w, uint64_t used, uint64_t allowed)
{
	uint64_t times = are_many(w) ? (used + allowed - 1) / allowed : 2;

	if (times < 2)
		times = 2;
	set_pace(w, w->pace == PACE_MAX ? (uint64_t)PACE_MAX * 2 * w->spine_pace : w->pace * times);
}

/* Who looks on wants a steady rate: only what takes far too much is not waited for to be a second, and nothing is paid back. */
static void keep_long_budget(struct watch *w, int64_t now, uint64_t cpu)
{
	uint64_t used = cpu - w->cpu_mark_ns, passed = (uint64_t)(now - w->mark_ns), allowed = budget(w) * passed / SECOND_NS + 1;
	uint64_t pace = w->pace == PACE_MAX ? (uint64_t)PACE_MAX * w->spine_pace : w->pace;

	if (passed < SECOND_NS && used <= FAR_TOO_MUCH * budget(w))
		return;
	if (used > allowed)
		set_pace(w, pace * ((used + allowed - 1) / allowed));
	else
		look_more_often(w, used * SECOND_NS / passed);
	w->cpu_mark_ns = cpu;
	w->mark_ns = now;
}

/* Time that takes too much is not waited for to be a second.  What was too much, as when many threads begin at once, is paid back,
 * by threads that are many. */
static void keep_budget(struct watch *w, int64_t now)
{
	uint64_t cpu = (uint64_t)now_ns(CLOCK_THREAD_CPUTIME_ID), used = cpu - w->cpu_mark_ns, allowed;
	int64_t passed = now - w->mark_ns;

	w->totals.cpu_ns = cpu;
	if (w->options.slot_ns >= WATCH_LONG_NS) {
		keep_long_budget(w, now, cpu);
		return;
	}
	if (used <= budget(w) / (are_many(w) ? 4 : 1) && passed < SECOND_NS)
		return;
	allowed = budget(w) * (uint64_t)passed / SECOND_NS + 1;
	w->debt_ns = w->debt_ns + used > allowed ? w->debt_ns + used - allowed : 0;
	if (used > allowed)
		look_less_often(w, used, allowed);
	else if (w->debt_ns > 0 && are_many(w) && w->pace < PACE_MAX && used > allowed / 2)
		set_pace(w, (uint64_t)w->pace + (w->pace + 1) / 2);
	else if (w->debt_ns == 0 || !are_many(w))
		look_more_often(w, used * SECOND_NS / (uint64_t)passed);
	w->cpu_mark_ns = cpu;
	w->mark_ns = now;
}

/* A look is in the way of a program that leaves no processor idle: each costs it several times what it takes us. */
static void look_at_queue(struct watch *w)
{
	struct thread_ledger now;
	uint64_t wakes, queue_ns;

	if (thread_files_ledger(&w->own_files, &now) != 0)
		return;
	wakes = now.slices - w->own.slices;
	queue_ns = now.queue_ns - w->own.queue_ns;
	w->in_the_way = queue_ns > wakes * (w->in_the_way ? QUEUE_NS / 2 : QUEUE_NS);
	w->own = now;
}

/* ---- Looking ----------------------------------------------------------------- */

static uint64_t next_random(struct watch *w)
{
	w->random ^= w->random >> 12;
	w->random ^= w->random << 25;
	w->random ^= w->random >> 27;
	return w->random * 0x2545f4914f6cdd1du;
}

static bool is_turn(const struct watch *w, const struct watched_thread *t)
{
	return w->slot >= t->next_slot && (w->slot + t->number) % (t->main ? w->spine_pace : w->pace) == 0;
}

static void look_at_threads(struct watch *w)
{
	for (size_t i = w->thread_count; i-- > 0;)
		if (is_turn(w, w->threads[i]) && watch_thread_look(w, w->threads[i]) != 0)
			watch_thread_end(w, i);
}

static void read_samples(struct watch *w, int64_t now, bool last)
{
	watch_samplers_read(w, now - w->samples_ns, last);
	w->samples_ns = now;
}

void watch_samples_soon(struct watch *w)
{
	int64_t soon = now_ns(CLOCK_MONOTONIC) + SAMPLES_SOON_NS;

	w->samples_pause_ns = SAMPLES_SOON_NS;
	if (soon < w->next_samples_ns)
		w->next_samples_ns = soon;
}

static void do_periodic(struct watch *w, int64_t now)
{
	unsigned machine = w->options.slot_ns < WATCH_LONG_NS ? MACHINE_PASSES : MACHINE_LONG_PASSES;

	if (now >= w->next_pass_ns) {
		watch_tree_pass(w);
		if (w->passes % machine == 0)
			look_at_machine(w, w->passes % MACHINE_ALL_PASSES == 0);
		keep_budget(w, now);
		w->next_pass_ns = now + PASS_NS * (1 + w->pace / 16);
	}
	if (now >= w->next_samples_ns) {
		read_samples(w, now, false);
		w->next_samples_ns = now + w->samples_pause_ns;
		w->samples_pause_ns = 2 * w->samples_pause_ns < SAMPLES_NS ? 2 * w->samples_pause_ns : SAMPLES_NS;
	}
	if (now >= w->next_second_ns) {
		for (size_t i = 0; i < w->thread_count; i++)
			watch_thread_second(w, w->threads[i]);
		look_at_queue(w);
		w->next_second_ns = now + SECOND_NS;
	}
}

/* How many slots are left out before the next look; by chance, so that all threads have their turns. */
static uint32_t choose_rest(struct watch *w)
{
	bool rests = w->in_the_way && w->totals.slots > LOOKS_ENOUGH && w->options.slot_ns < WATCH_LONG_NS;

	return rests ? (uint32_t)(next_random(w) % SLOTS_BUSY) : 0;
}

/* The random place in the next slot that is not over yet, as a time. */
static int64_t choose_place(struct watch *w)
{
	int64_t now = now_ns(CLOCK_MONOTONIC), slot_ns = w->options.slot_ns, place;
	uint32_t rest = choose_rest(w);

	w->slot += rest;
	w->totals.missed += rest;
	for (;;) {
		w->slot++;
		place = w->begin_ns + (int64_t)w->slot * slot_ns + (int64_t)(next_random(w) % (uint64_t)slot_ns);
		if (place >= now)
			return place;
		w->totals.missed++;
	}
}

/* Sleeps until then.  False when it is to stop. */
static bool next_slot(struct watch *w)
{
	int64_t place = choose_place(w);
	struct timespec ts = { place / 1000000000, place % 1000000000 };
	bool stop;

	pthread_mutex_lock(&w->lock);
	while (!w->stop && pthread_cond_timedwait(&w->wake, &w->lock, &ts) == 0)
		;
	stop = w->stop;
	pthread_mutex_unlock(&w->lock);
	return !stop;
}

static void look_for_the_last_time(struct watch *w)
{
	w->last = true;
	look_at_machine(w, true);
	for (size_t i = w->thread_count; i-- > 0;)
		if (watch_thread_look(w, w->threads[i]) != 0)
			watch_thread_end(w, i);
	for (size_t i = 0; i < w->thread_count; i++)
		watch_thread_second(w, w->threads[i]);
	read_samples(w, now_ns(CLOCK_MONOTONIC), true);
	watch_tree_pass(w);
}

static void *run(void *arg)
{
	struct watch *w = arg;
	int64_t now = now_ns(CLOCK_MONOTONIC);

	(void)prctl(PR_SET_TIMERSLACK, 1000UL);
	(void)prctl(PR_SET_NAME, "inferscope-watch");
	if (thread_files_open(&w->own_files, getpid(), (pid_t)syscall(SYS_gettid)) == 0)
		(void)thread_files_ledger(&w->own_files, &w->own);
	w->begin_ns = w->mark_ns = now;
	w->next_pass_ns = now + PASS_NS;
	w->next_second_ns = now + SECOND_NS;
	w->samples_ns = now;
	w->next_samples_ns = INT64_MAX;
	watch_samples_soon(w);
	look_at_machine(w, true);
	while (next_slot(w)) {
		w->totals.slots++;
		if (w->pace == 1) /* while there is time for it */
			watch_tree_glance(w);
		look_at_threads(w);
		do_periodic(w, now_ns(CLOCK_MONOTONIC));
		watch_view_make(w);
	}
	look_for_the_last_time(w);
	watch_view_make(w);
	w->totals.cpu_ns = (uint64_t)now_ns(CLOCK_THREAD_CPUTIME_ID);
	thread_files_close(&w->own_files);
	return NULL;
}

/* ---- Beginning and end ------------------------------------------------------- */

/* The program has begun with the limit that it inherited; ours may be higher. */
static void raise_file_limit(struct watch *w)
{
	struct rlimit limit;
	size_t files, threads;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= FILES_SPARED)
		return;
	files = (size_t)(limit.rlim_cur - FILES_SPARED);
	w->sampler_limit = files / (FILES_A_THREAD + 1) < WATCH_SAMPLERS ? files / (FILES_A_THREAD + 1) : WATCH_SAMPLERS;
	threads = (files - w->sampler_limit) / FILES_A_THREAD;
	w->thread_limit = threads < WATCH_THREADS ? threads : WATCH_THREADS;
}

static struct watch_options checked(const struct watch_options *options)
{
	struct watch_options o = *options;

	o.slot_ns = o.slot_ns < WATCH_SLOT_NS ? WATCH_SLOT_NS : o.slot_ns > WATCH_SLOT_MAX_NS ? WATCH_SLOT_MAX_NS : o.slot_ns;
	return o;
}

static struct watch *watch_new(enum clock_source clock, const struct watch_options *options)
{
	struct watch *w = calloc(1, sizeof *w);
	pthread_condattr_t attributes;

	if (!w)
		return NULL;
	w->options = checked(options);
	w->queue = calloc(w->options.queue + 1, sizeof *w->queue);
	if (!w->queue) {
		free(w);
		return NULL;
	}
	w->clock = clock;
	w->ticks_a_slot = (uint64_t)((double)clock_measure_rate(clock) * (double)w->options.slot_ns / SECOND_NS);
	w->pace = w->spine_pace = w->totals.pace = 1;
	w->own_files = (struct thread_files)THREAD_FILES_INIT;
	w->totals.longest_period_ns = CPU_SAMPLER_PERIOD_NS;
	w->reach = w->options.program_counters ? CPU_SAMPLER_KERNEL : CPU_SAMPLER_NONE;
	if (getrandom(&w->totals.seed, sizeof w->totals.seed, GRND_NONBLOCK) != (ssize_t)sizeof w->totals.seed)
		w->totals.seed = clock_ticks(clock);
	w->totals.seed = (w->totals.seed & INT64_MAX) | 1;
	w->random = w->totals.seed;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	watch_view_init(w);
	return w;
}

int watch_start(struct watch **ret, pid_t root, enum clock_source clock, const struct watch_options *options, struct error *err)
{
	struct watch *w = watch_new(clock, options);
	int rc;

	if (!w)
		return error_set(err, -ENOMEM, "out of memory");
	raise_file_limit(w);
	w->totals.cpus = cpu_limit_affinity(root);
	watch_clock_read(w);
	machine_files_open(&w->machine_files, root, "");
	watch_samplers_start(w);
	watch_tree_start(w, root);
	watch_view_make(w);
	rc = -pthread_create(&w->thread, NULL, run, w);
	if (rc != 0) {
		w->stop = true;
		watch_free(w);
		return error_set(err, rc, "cannot watch threads: %s", strerror(-rc));
	}
	*ret = w;
	return 0;
}

void watch_stop(struct watch *w)
{
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	w->totals.dropped = w->dropped;
	w->totals.threads = w->next_thread;
	w->totals.processes = w->next_process;
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	while (w->process_count)
		watch_process_end(w, w->process_count - 1);
	watch_samplers_stop(w);
	machine_files_close(&w->machine_files);
	watch_view_release(w);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w->threads);
	free(w->processes);
	free(w->queue);
	deaths_release(&w->killed);
	free(w);
}

enum clock_source watch_clock(const struct watch *w)
{
	return w->clock;
}

int64_t watch_slot_ns(const struct watch *w)
{
	return w->options.slot_ns;
}

struct watch_totals watch_totals(const struct watch *w)
{
	return w->totals;
}
