/* test-host.c - whose the time of a program is that computes on the host, and what is said about it. */
#include "host-world.h"

#define STEPS 20
#define STEP (100 * MS)
#define WAIT (60 * MS) /* of a step, at its end */
#define END (STEPS * STEP)

static struct host_world w;

/* ---- A program of twenty steps, each of which works and then waits ---- */

struct scene {
	const char *wait_module, *wait_name; /* the call that it waits in; NULL: none */
	const char *state;
	int64_t wait;    /* of a step */
	bool ledger;
	const char *what;
};

static struct host_thread put_spine(uint32_t process, const struct scene *scene)
{
	struct host_thread spine = host_thread(&w, process, 10);
	uint32_t step = own(&w, "step");

	host_call(&w, spine, own(&w, "main"), 0, END);
	for (int64_t at = 0; at < END; at += STEP) {
		host_call(&w, spine, step, at, STEP);
		if (scene->wait_module)
			host_call(&w, spine, library(&w, scene->wait_module, scene->wait_name), at + STEP - scene->wait, scene->wait);
		host_state(&w, spine, "running", at, STEP - scene->wait);
		host_places(&w, spine, "interpreter", NULL, at, at + STEP - scene->wait);
		if (scene->wait)
			host_look(&w, spine.states, scene->state, scene->what, PHASE_COMPLETE, at + STEP - scene->wait, scene->wait);
	}
	if (scene->ledger)
		host_ledger(&w, spine, 0, END, END / 100 * (100 - 100 * scene->wait / STEP), 0);
	return spine;
}

/* A thread that is in one function, and in one state, all of the time. */
static struct host_thread put_other(uint32_t process, uint64_t tid, const char *function, const char *state)
{
	struct host_thread other = host_thread(&w, process, tid);

	host_call(&w, other, own(&w, function), 0, END);
	if (state)
		host_state(&w, other, state, 0, END);
	return other;
}

/* One that works in every step from `from` to `to`, and waits for more besides. */
static struct host_thread put_worker(uint32_t process, uint64_t tid, const char *function, int64_t from, int64_t to)
{
	struct host_thread other = host_thread(&w, process, tid);
	uint32_t name = own(&w, function), get = library(&w, "queue", "Queue.get");

	for (int64_t at = 0; at < END; at += STEP) {
		host_call(&w, other, name, at + from, to - from);
		host_state(&w, other, "running", at + from, to - from);
		if (from)
			host_call(&w, other, get, at, from);
		if (from)
			host_state(&w, other, "lock", at, from);
		if (to < STEP)
			host_call(&w, other, get, at + to, STEP - to);
		if (to < STEP)
			host_state(&w, other, "lock", at + to, STEP - to);
	}
	return other;
}

static const struct scene joins = { "threading", "Thread.join", "lock", WAIT, true, NULL };
static const struct scene receives = { "multiprocessing.connection", "Connection.recv", "pipe", WAIT, true, NULL };
static const struct scene sleeps = { NULL, NULL, "sleep", WAIT, true, NULL };

static const struct analysis *analyze(void)
{
	const struct analysis *a = host_analyze(&w);

	check_host(a);
	return a;
}

/* ---- Waits for threads ---- */

static void a_wait_for_a_thread_at_work(void **state)
{
	const struct analysis *a;

	(void)state;
	host_open(&w);
	put_spine(host_process(&w, 10), &joins);
	put_other(0, 11, "crunch", "running");
	host_machine(&w, END, 1400);
	a = analyze();
	assert_int_equal(a->host.unit, UNIT_LOOP);
	assert_int_equal(a->host.steps, STEPS);
	assert_int_equal(owned_by(a, OWNER_WORKERS), STEPS * WAIT);
	assert_int_equal(owned_by(a, OWNER_PYTHON), STEPS * (STEP - WAIT));
	assert_int_equal(a->host.window.resolved, STEPS * WAIT);
	assert_int_equal(a->host.window.remote, 0);
	assert_int_equal(a->host.window.blame_count, 1);
	assert_string_equal(blamed(a, 0), "__main__.crunch");
	assert_null(find_kind(a, "gil_contention"));
	assert_null(find_kind(a, "lock_contention"));
	host_close(&w);
}

static void a_wait_while_others_wait_for_the_interpreter(void **state)
{
	const struct analysis_finding *f;
	const struct analysis *a;

	(void)state;
	host_open(&w);
	put_spine(host_process(&w, 10), &joins);
	put_other(0, 11, "crunch", "running");
	put_other(0, 12, "munch", "gil");
	put_other(0, 13, "munch", "gil");
	host_machine(&w, END, 1000);
	a = analyze();
	assert_int_equal(owned_by(a, OWNER_GIL), STEPS * WAIT);
	assert_true(fabs(a->host.window.gil_waiters - 2) < 1e-9);
	f = finding(a, "gil_contention");
	assert_int_equal(f->owned, STEPS * WAIT);
	assert_true(texts_have(&f->where, "crunch") && strstr(f->action, "crunch"));
	assert_null(find_kind(a, "lock_contention"));
	host_close(&w);
}

/* Whoever runs most of the time is named, not whoever ran last. */
static void who_holds_the_interpreter_most(void **state)
{
	const struct analysis *a;
	struct host_thread other;

	(void)state;
	host_open(&w);
	put_spine(host_process(&w, 10), &joins);
	other = put_other(0, 11, "crunch", NULL);
	host_state(&w, other, "running", 0, END - STEP);
	host_state(&w, other, "gil", END - STEP, STEP);
	other = put_other(0, 12, "munch", NULL);
	host_state(&w, other, "gil", 0, END - STEP);
	host_state(&w, other, "running", END - STEP, STEP);
	host_machine(&w, END, 1000);
	a = analyze();
	assert_true(strstr(finding(a, "gil_contention")->action, "crunch"));
	host_close(&w);
}

static void a_wait_while_others_wait_for_a_lock(void **state)
{
	const struct analysis_finding *f;
	const struct analysis *a;

	(void)state;
	host_open(&w);
	put_spine(host_process(&w, 10), &joins);
	put_other(0, 11, "hold", "running");
	put_other(0, 12, "update", "lock");
	put_other(0, 13, "update", "lock");
	host_machine(&w, END, 1000);
	a = analyze();
	assert_int_equal(owned_by(a, OWNER_LOCK), STEPS * WAIT);
	assert_true(fabs(a->host.window.lock_waiters - 2) < 1e-9);
	f = finding(a, "lock_contention");
	assert_int_equal(f->owned, STEPS * WAIT);
	assert_true(texts_have(&f->where, "update"));
	assert_null(find_kind(a, "gil_contention"));
	host_close(&w);
}

/* Threads of a pool that wait for work in a library wait for no lock. */
static void an_idle_pool(void **state)
{
	struct host_thread idle;
	const struct analysis *a;

	(void)state;
	host_open(&w);
	put_spine(host_process(&w, 10), &joins);
	put_other(0, 11, "crunch", "running");
	for (unsigned i = 0; i < 4; i++) {
		idle = host_thread(&w, 0, 12 + i);
		host_call(&w, idle, library(&w, "concurrent.futures.thread", "_worker"), 0, END);
		host_state(&w, idle, "lock", 0, END);
	}
	host_machine(&w, END, 1400);
	a = analyze();
	assert_int_equal(owned_by(a, OWNER_WORKERS), STEPS * WAIT);
	assert_int_equal(owned_by(a, OWNER_LOCK), 0);
	assert_string_equal(blamed(a, 0), "__main__.crunch");
	assert_null(find_kind(a, "lock_contention"));
	host_close(&w);
}

/* A queue that has no frame of its own: the spine waits in its own code, for a thread that never waits for it. */
static void a_result_of_a_thread(void **state)
{
	static const struct scene gets = { NULL, NULL, "lock", WAIT, true, NULL };
	const struct analysis *a;

	(void)state;
	host_open(&w);
	put_spine(host_process(&w, 10), &gets);
	put_other(0, 11, "crunch", "running");
	host_machine(&w, END, 1400);
	a = analyze();
	assert_int_equal(owned_by(a, OWNER_WORKERS), STEPS * WAIT);
	assert_string_equal(blamed(a, 0), "__main__.crunch");
	assert_null(find_kind(a, "lock_contention"));
	host_close(&w);
}

/* The spine and another thread take turns at a lock: at any time only one of them waits. */
static void two_that_take_turns(void **state)
{
	static const struct scene locks = { NULL, NULL, "lock", WAIT, true, NULL };
	struct host_thread other;
	const struct analysis *a;

	(void)state;
	host_open(&w);
	put_spine(host_process(&w, 10), &locks);
	other = put_other(0, 11, "update", NULL);
	for (int64_t at = 0; at < END; at += STEP) {
		host_state(&w, other, "lock", at, STEP - WAIT);
		host_state(&w, other, "running", at + STEP - WAIT, WAIT);
	}
	host_machine(&w, END, 1000);
	a = analyze();
	assert_int_equal(owned_by(a, OWNER_LOCK), STEPS * WAIT);
	assert_int_equal(finding(a, "lock_contention")->owned, STEPS * WAIT);
	host_close(&w);
}

/* Nobody is at work: it waits, and that is all that is known. */
static void a_wait_for_nobody(void **state)
{
	const struct analysis *a;

	(void)state;
	host_open(&w);
	put_spine(host_process(&w, 10), &joins);
	host_machine(&w, END, 400);
	a = analyze();
	assert_int_equal(owned_by(a, OWNER_WAIT), STEPS * WAIT);
	assert_int_equal(a->host.window.unresolved, STEPS * WAIT);
	assert_true(texts_have(&a->notes, "it waits, and it cannot be told for what"));
	assert_null(find_kind(a, "synchronization"));
	assert_null(find_kind(a, "lock_contention"));
	host_close(&w);
}

/* ---- Waits for processes ---- */

/* The program runs for 40 % of the time; its control group was out of quota in all periods, for so many thousandths of a second in
 * each second, of all processors together. */
static double throttled_by(int64_t lost, int64_t ran, int64_t ended)
{
	const struct analysis *a;
	uint32_t track;
	double share;

	host_open(&w);
	put_spine(host_process(&w, 10), &joins);
	host_machine(&w, END, 400);
	track = host_track(&w, TRACK_HOST, -1, 0, -1);
	host_counter_at(&w, track, "throttled_ns", 0, 0);
	host_counter_at(&w, track, "throttled_ns", END, END / 1000 * lost);
	if (ran) {
		host_counter_at(&w, track, "cgroup_cpu_ns", 0, 0);
		host_counter_at(&w, track, "cgroup_cpu_ns", END, END / 1000 * ran);
		host_counter_at(&w, track, "quota_periods", 0, 5);
		host_counter_at(&w, track, "quota_periods", END, 25);
		host_counter_at(&w, track, "throttled_periods", 0, 0);
		host_counter_at(&w, track, "throttled_periods", END, ended);
	}
	a = analyze();
	share = a->host.load.throttled;
	assert_int_equal(texts_have(&a->notes, "out of its quota"), share >= 0.01);
	host_close(&w);
	return share;
}

static void a_quota(void **state)
{
	(void)state;
	assert_true(fabs(throttled_by(130, 59870, 20) - 0.13 / 60) < 1e-6); /* 64 processors */
	assert_true(fabs(throttled_by(600, 400, 20) - 0.6) < 1e-6);
	assert_true(fabs(throttled_by(600, 400, 2) - 0.1) < 1e-6);
	assert_true(fabs(throttled_by(100, 0, 0) - 0.2) < 0.01); /* a trace that has no more */
	assert_true(throttled_by(0, 400, 0) == 0);
}

static void a_wait_for_a_process_at_work(void **state)
{
	const struct analysis_finding *f;
	const struct analysis *a;

	(void)state;
	host_open(&w);
	put_spine(host_process(&w, 10), &receives);
	put_other(host_process(&w, 20), 20, "produce", "running");
	host_machine(&w, END, 1400);
	a = analyze();
	assert_int_equal(owned_by(a, OWNER_WORKERS), STEPS * WAIT);
	assert_int_equal(a->host.window.remote, STEPS * WAIT);
	assert_string_equal(blamed(a, 0), "__main__.produce");
	f = finding(a, "data_loading");
	assert_int_equal(f->owned, STEPS * WAIT);
	assert_true(texts_have(&f->where, "produce"));
	host_close(&w);
}

/* Both are always at work, in different places: nobody knows for which of them it waits. */
static void innocent_processes(void **state)
{
	const struct analysis *a;
	struct scene scene = receives;

	for (unsigned i = 0; i < 4; i++) {
		scene.ledger = i & 1;
		scene.wait = i & 2 ? 95 * MS : WAIT;
		host_open(&w);
		put_spine(host_process(&w, 10), &scene);
		put_other(host_process(&w, 20), 20, "produce", "running");
		put_other(host_process(&w, 30), 30, "innocent", "running");
		host_machine(&w, END, 2000);
		a = analyze();
		assert_int_equal(a->host.window.unresolved, STEPS * scene.wait);
		assert_int_equal(a->host.window.resolved, 0);
		assert_int_equal(a->host.window.blame_count, 0);
		assert_int_equal(owned_by(a, OWNER_WAIT), STEPS * scene.wait);
		assert_int_equal(owned_by(a, OWNER_WORKERS), 0);
		assert_true(texts_have(&a->notes, "it waits, and it cannot be told for what"));
		assert_false(anybody_says(a, "produce") || anybody_says(a, "innocent"));
		assert_null(find_kind(a, "data_loading"));
		host_close(&w);
	}
	(void)state;
}

/* One of them works only while it is waited for. */
static void a_guilty_process_and_an_innocent_one(void **state)
{
	const struct analysis *a;
	struct scene scene = receives;

	for (unsigned i = 0; i < 2; i++) {
		scene.ledger = i == 0;
		host_open(&w);
		put_spine(host_process(&w, 10), &scene);
		put_worker(host_process(&w, 20), 20, "produce", STEP - WAIT, STEP);
		put_other(host_process(&w, 30), 30, "innocent", "running");
		host_machine(&w, END, 2000);
		a = analyze();
		assert_int_equal(a->host.window.blame_count, 1);
		assert_string_equal(blamed(a, 0), "__main__.produce");
		assert_false(anybody_says(a, "innocent"));
		host_close(&w);
	}
	(void)state;
}

/* A lock of the process itself: whoever computes in another process has nothing to do with it, unless a thread goes between. */
static void a_lock_that_no_process_can_hold(void **state)
{
	static const struct {
		const char *what, *between;
		enum host_owner owner;
	} rows[] = {
		{ "futex:0x7f00", NULL, OWNER_WAIT },	  { "futex:0x7f00", "sleep", OWNER_WAIT },
		{ "futex:0x7f00", "pipe", OWNER_WORKERS }, { "futex:0x7f00", "poll", OWNER_WORKERS },
		{ "shared:17+32", NULL, OWNER_WORKERS },   { NULL, NULL, OWNER_WORKERS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct scene scene = { "threading", "Condition.wait", "lock", WAIT, true, rows[i].what };
		struct host_thread between;
		const struct analysis *a;

		host_open(&w);
		put_spine(host_process(&w, 10), &scene);
		put_other(host_process(&w, 20), 20, "innocent", "running");
		between = host_thread(&w, 0, 11);
		if (rows[i].between) {
			host_call(&w, between, library(&w, "multiprocessing.pool", "Pool._handle_results"), 0, END);
			host_state(&w, between, rows[i].between, 0, END);
		}
		host_machine(&w, END, 1400);
		a = analyze();
		assert_int_equal(owned_by(a, rows[i].owner), STEPS * WAIT);
		assert_int_equal(anybody_says(a, "innocent"), rows[i].owner == OWNER_WORKERS);
		host_close(&w);
	}
}

/* Processes that do the same are one party. */
static void workers_of_one_kind(void **state)
{
	const struct analysis *a;

	(void)state;
	host_open(&w);
	put_spine(host_process(&w, 10), &receives);
	put_other(host_process(&w, 20), 20, "produce", "running");
	put_other(host_process(&w, 30), 30, "produce", "running");
	host_machine(&w, END, 2000);
	a = analyze();
	assert_int_equal(owned_by(a, OWNER_WORKERS), STEPS * WAIT);
	assert_int_equal(a->host.window.blame_count, 2);
	assert_int_equal(a->host.window.blames[0].time, STEPS * WAIT / 2);
	assert_true(fabs(a->host.window.active - 2) < 1e-9 && fabs(a->host.window.active_peers - 2) < 1e-9);
	assert_null(find_kind(a, "straggler"));
	host_close(&w);
}

/* The same two things, each at another time. */
static void workers_that_take_turns(void **state)
{
	uint32_t item, work;
	const struct analysis *a;

	(void)state;
	host_open(&w);
	put_spine(host_process(&w, 10), &receives);
	item = own(&w, "item");
	work = own(&w, "work");
	for (unsigned i = 0; i < 2; i++) {
		struct host_thread worker = host_thread(&w, host_process(&w, 20 + i), 20 + i);

		for (int64_t at = 0; at < END; at += STEP) {
			host_call(&w, worker, i ? item : work, at, 75 * MS);
			host_call(&w, worker, i ? work : item, at + 75 * MS, 25 * MS);
		}
		host_state(&w, worker, "running", 0, END);
	}
	host_machine(&w, END, 2000);
	a = analyze();
	assert_int_equal(owned_by(a, OWNER_WORKERS), STEPS * WAIT);
	assert_int_equal(a->host.window.unresolved, 0);
	host_close(&w);
}

static void a_straggler(void **state)
{
	const struct analysis *a;

	(void)state;
	host_open(&w);
	put_spine(host_process(&w, 10), &receives);
	put_worker(host_process(&w, 20), 20, "produce", STEP - WAIT, STEP);
	put_worker(host_process(&w, 30), 30, "produce", STEP - WAIT, STEP - WAIT + 10 * MS);
	host_machine(&w, END, 1400);
	a = analyze();
	assert_int_equal(finding(a, "straggler")->owned, STEPS * WAIT);
	assert_true(texts_have(&finding(a, "straggler")->where, "produce"));
	host_close(&w);
}

/* A program that is not recorded, and that the spine started. */
static void another_program(void **state)
{
	static const struct scene waits = { "subprocess", "Popen.wait", "child", WAIT, true, NULL };
	struct host_thread child;
	const struct analysis *a;

	(void)state;
	host_open(&w);
	put_spine(host_process(&w, 10), &waits);
	child = host_thread(&w, host_process(&w, 20), 20);
	host_state(&w, child, "running", 0, END);
	host_machine(&w, END, 1400);
	a = analyze();
	assert_int_equal(owned_by(a, OWNER_CHILD), STEPS * WAIT);
	assert_int_equal(finding(a, "synchronization")->owned, STEPS * WAIT);
	host_close(&w);
}

/* ---- Waits for the world ---- */

static void each_wait_has_its_owner(void **state)
{
	static const struct {
		const char *state;
		enum host_owner owner;
		const char *kind;
	} rows[] = {
		{ "socket_network", OWNER_NETWORK, "network_latency" }, { "file", OWNER_FILE, "i_o_operation" },
		{ "page_fault_io", OWNER_FILE, "i_o_operation" },	{ "fsync", OWNER_FSYNC, "i_o_operation" },
		{ "barrier", OWNER_POOL, NULL },			{ "unknown", OWNER_WAIT, NULL },
		{ "something new", OWNER_WAIT, NULL },			{ "poll", OWNER_WAIT, NULL },
		{ "child", OWNER_CHILD, "synchronization" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct scene scene = { NULL, NULL, rows[i].state, WAIT, true, NULL };
		const struct analysis *a;

		host_open(&w);
		put_spine(host_process(&w, 10), &scene);
		host_machine(&w, END, 400);
		a = analyze();
		assert_int_equal(owned_by(a, rows[i].owner), STEPS * WAIT);
		if (rows[i].kind) /* what calls for a file belongs to it, too */
			assert_true(finding(a, rows[i].kind)->owned >= STEPS * WAIT);
		host_close(&w);
	}
}

static void sleep_with_nobody_at_work(void **state)
{
	const struct analysis *a;

	(void)state;
	host_open(&w);
	put_spine(host_process(&w, 10), &sleeps);
	put_other(0, 11, "heartbeat", "sleep");
	host_machine(&w, END, 400);
	a = analyze();
	assert_int_equal(owned_by(a, OWNER_SLEEP), STEPS * WAIT);
	assert_int_equal(a->host.window.sleep_with_work, 0);
	assert_null(find_kind(a, "synchronization"));
	assert_true(texts_have(&a->notes, "it sleeps for 60 % of the time"));
	assert_int_equal(a->bottleneck.type, BOTTLENECK_BALANCED);
	host_close(&w);
}

/* The work is done after half of the sleep. */
static void sleep_for_longer_than_the_work_takes(void **state)
{
	const struct analysis_finding *f;
	const struct analysis *a;

	(void)state;
	host_open(&w);
	put_spine(host_process(&w, 10), &sleeps);
	put_worker(0, 11, "crunch", STEP - WAIT, STEP - WAIT / 2);
	host_machine(&w, END, 700);
	a = analyze();
	assert_int_equal(a->host.window.sleep_with_work, STEPS * WAIT / 2);
	f = finding(a, "synchronization");
	assert_int_equal(f->owned, STEPS * WAIT / 2);
	assert_true(fabs(f->gain - 0.97 * 0.30) < 1e-9);
	assert_true(texts_have(&f->where, "step"));
	assert_false(texts_have(&a->notes, "it sleeps"));
	host_close(&w);
}

/* What the kernel's sums say of sleep is more than was seen: not all that is added is idle. */
static void sleep_set_right_by_the_ledger(void **state)
{
	struct host_thread spine;
	struct scene scene = sleeps;
	const struct analysis *a;

	(void)state;
	scene.ledger = false;
	host_open(&w);
	spine = put_spine(host_process(&w, 10), &scene);
	host_ledger(&w, spine, 0, END, END / 4, 0); /* it slept for 75 % */
	put_worker(0, 11, "crunch", STEP - WAIT, STEP);
	host_machine(&w, END, 700);
	a = analyze();
	assert_true(owned_by(a, OWNER_SLEEP) > STEPS * 74 * MS);
	assert_null(find_kind(a, "synchronization"));
	host_close(&w);
}

/* ---- Where the processor was ---- */

static void put_places(struct host_thread spine)
{
	for (int64_t at = 0; at < END; at += STEP) {
		host_places(&w, spine, "interpreter", NULL, at, at + 40 * MS);
		host_places(&w, spine, "native", "libopenblas.so.0", at + 40 * MS, at + 70 * MS);
		host_places(&w, spine, "syscall", "munmap", at + 70 * MS, at + 80 * MS);
		host_places(&w, spine, "fault", "libc.so.6", at + 80 * MS, at + 90 * MS);
		host_places(&w, spine, "syscall", "read", at + 90 * MS, at + 100 * MS);
	}
}

static struct host_thread put_runner(bool ledger)
{
	struct host_thread spine = host_thread(&w, host_process(&w, 10), 10);

	host_call(&w, spine, own(&w, "main"), 0, END);
	for (int64_t at = 0; at < END; at += STEP)
		host_call(&w, spine, own(&w, "step"), at, STEP);
	host_state(&w, spine, "running", 0, END);
	if (ledger)
		host_ledger(&w, spine, 0, END, END, 0);
	return spine;
}

/* Several libraries of one package are one. */
static void libraries_are_told_by_their_package(void **state)
{
	struct host_thread spine;

	(void)state;
	host_open(&w);
	spine = put_runner(true);
	for (int64_t at = 0; at < END; at += STEP) {
		host_places(&w, spine, "native", "numpy/_multiarray_umath.so", at, at + 40 * MS);
		host_places(&w, spine, "native", "numpy/libscipy_openblas.so", at + 40 * MS, at + 80 * MS);
		host_places(&w, spine, "native", "_other.so", at + 80 * MS, at + 100 * MS);
	}
	host_machine(&w, END, 1000);
	assert_string_equal(analyze()->bottleneck.cause, "nothing stands out: 100 % of the time is native code, mostly of numpy");
	host_close(&w);
}

static void samples_divide_what_runs(void **state)
{
	const struct analysis_finding *f;
	const struct analysis *a;

	(void)state;
	host_open(&w);
	put_places(put_runner(true));
	host_machine(&w, END, 1000);
	a = analyze();
	assert_int_equal(owned_by(a, OWNER_PYTHON), END / 10 * 4);
	assert_int_equal(owned_by(a, OWNER_NATIVE), END / 10 * 3);
	assert_int_equal(owned_by(a, OWNER_MEMORY), END / 10 * 2);
	assert_int_equal(owned_by(a, OWNER_IO_CALLS), END / 10);
	assert_int_equal(a->host.window.samples, END / (10 * MS));
	f = finding(a, "cpu_computation");
	assert_int_equal(f->owned, END / 10 * 4);
	assert_int_equal(f->example_count, 1); /* all are alike */
	assert_int_equal(f->examples[0].end - f->examples[0].begin, STEP);
	assert_int_equal(f->examples[0].track, a->host.spine);
	assert_string_equal(trace_reader_string(a->timeline->reader, f->examples[0].name, NULL), "__main__.step");
	assert_int_equal(finding(a, "memory_allocation")->owned, END / 10 * 2);
	assert_int_equal(finding(a, "i_o_operation")->owned, END / 10);
	assert_int_equal(a->findings.count, 3);
	host_close(&w);
}

/* Memory that is read ten times in each fifth: it moves by `swing`, and rises by `rise` MB from one fifth to the next; `first` is what
 * there is more of it the first time. */
static const struct analysis *memory_that(int64_t swing, int64_t rise, int64_t first)
{
	uint32_t track;

	host_open(&w);
	put_places(put_runner(true));
	track = host_track(&w, TRACK_PROCESS, 0, 10, -1);
	for (int64_t i = 0; i < 50; i++)
		host_counter_at(&w, track, "rss_bytes", i * END / 50, (100 + i / 10 * rise + i % 2 * swing + (i ? 0 : first)) * 1000000);
	host_machine(&w, END, 1000);
	return analyze();
}

static void memory_that_grows_or_swings(void **state)
{
	(void)state;
	finding(memory_that(0, 20, 0), "memory_pressure");
	host_close(&w);
	finding(memory_that(20, 20, 0), "memory_pressure");
	host_close(&w);
	finding(memory_that(64, 15, 0), "memory_allocation");
	host_close(&w);
	finding(memory_that(0, 5, 0), "memory_allocation");
	host_close(&w);
	finding(memory_that(0, 20, 60), "memory_allocation"); /* it ends with little more than it began with */
	host_close(&w);
}

/* The kernel does not tell: what is Python's cannot be told from what is a library's. */
static void no_samples_of_the_processor(void **state)
{
	const struct analysis *a;

	for (unsigned i = 0; i < 3; i++) {
		host_open(&w);
		put_runner(i != 1);
		if (i == 2) /* it told of another thread */
			host_places(&w, put_other(0, 11, "crunch", "running"), "interpreter", NULL, 0, END);
		host_machine(&w, END, 1000);
		a = analyze();
		assert_int_equal(a->findings.count, 0);
		assert_true(a->host.window.looked);
		assert_int_equal(texts_have(&a->notes, "perf_event_paranoid"), i != 2);
		host_close(&w);
	}
	(void)state;
}

/* Operators and libraries are what the program is for. */
static void compute_is_no_finding(void **state)
{
	struct host_thread spine;
	const struct analysis *a;

	(void)state;
	host_open(&w);
	spine = put_runner(true);
	for (int64_t at = 0; at < END; at += STEP)
		host_operator(&w, spine, "aten::mm", at + MS, STEP - 2 * MS);
	host_places(&w, spine, "native", "libtorch_cpu.so", 0, END);
	host_machine(&w, END, 1000);
	a = analyze();
	assert_int_equal(owned_by(a, OWNER_OPERATORS), STEPS * (STEP - 2 * MS));
	assert_int_equal(a->findings.count, 0);
	assert_int_equal(a->bottleneck.type, BOTTLENECK_CPU);
	assert_true(strstr(a->bottleneck.cause, "nothing stands out"));
	host_close(&w);
}

/* ---- Input and collections ---- */

/* A part of each step runs in a function of a library. */
static void put_part(struct host_thread spine, uint32_t name, int64_t length)
{
	for (int64_t at = 0; at < END; at += STEP)
		host_call(&w, spine, name, at + 10 * MS, length);
	host_places(&w, spine, "interpreter", NULL, 0, END);
	host_machine(&w, END, 1000);
}

static void a_loader_on_the_same_thread(void **state)
{
	const struct analysis_finding *f;

	(void)state;
	host_open(&w);
	put_part(put_runner(true), library(&w, "torch.utils.data.dataloader", "_SingleProcessDataLoaderIter.__next__"), 40 * MS);
	f = finding(analyze(), "data_loading");
	assert_int_equal(f->owned, STEPS * 40 * MS);
	assert_true(texts_have(&f->evidence, "on the same thread"));
	host_close(&w);
}

/* It has processes, and nobody waits for them: more of them would not help. */
static void a_loader_that_keeps_up(void **state)
{
	const struct analysis *a;

	(void)state;
	host_open(&w);
	put_part(put_runner(true), library(&w, "torch.utils.data.dataloader", "_MultiProcessingDataLoaderIter._next_data"), 10 * MS);
	a = analyze();
	assert_int_equal(owned_by(a, OWNER_INPUT), STEPS * 10 * MS);
	assert_null(find_kind(a, "data_loading"));
	host_close(&w);
}

static void collections(void **state)
{
	(void)state;
	host_open(&w);
	put_part(put_runner(true), library(&w, "gc", "generation 2"), 30 * MS);
	assert_int_equal(finding(analyze(), "garbage_collection")->owned, STEPS * 30 * MS);
	host_close(&w);
}

/* The interpreter collects when it ends, which is nobody's doing. */
static void the_last_collections(void **state)
{
	struct host_thread spine;
	const struct analysis *a;

	(void)state;
	host_open(&w);
	spine = host_thread(&w, host_process(&w, 10), 10);
	host_call(&w, spine, own(&w, "<module>"), 0, STEP / 2);
	host_call(&w, spine, library(&w, "gc", "generation 2"), STEP / 2, STEP / 4);
	host_call(&w, spine, library(&w, "gc", "generation 2"), STEP - STEP / 4, STEP / 4);
	host_state(&w, spine, "running", 0, STEP);
	a = analyze();
	assert_int_equal(owned_by(a, OWNER_GC), STEP / 2);
	assert_null(find_kind(a, "garbage_collection"));
	host_close(&w);
}

/* ---- Nobody looked ---- */

static void check_nobody_looked(const struct analysis *a)
{
	assert_false(a->host.window.looked);
	assert_int_equal(a->bottleneck.type, BOTTLENECK_UNKNOWN);
	assert_true(texts_have(&a->notes, "cannot be judged"));
	assert_int_equal(a->findings.count, 0);
	for (unsigned k = OWNER_FILE; k <= OWNER_WAIT; k++)
		assert_int_equal(owned_by(a, k), 0);
}

static void no_looks_at_all(void **state)
{
	struct host_thread spine;

	(void)state;
	host_open(&w);
	spine = host_thread(&w, host_process(&w, 10), 10);
	for (int64_t at = 0; at < END; at += STEP) {
		host_call(&w, spine, own(&w, "step"), at, STEP);
		host_call(&w, spine, library(&w, "threading", "Event.wait"), at + STEP - WAIT, WAIT);
	}
	check_nobody_looked(analyze());
	host_close(&w);
}

/* Looks at others, or at another time, say nothing about the steps. */
static void looks_elsewhere(void **state)
{
	struct host_thread spine;

	for (unsigned i = 0; i < 2; i++) {
		host_open(&w);
		spine = host_thread(&w, host_process(&w, 10), 10);
		host_call(&w, spine, own(&w, "main"), 0, END + STEP);
		for (int64_t at = STEP; at < END + STEP; at += STEP)
			host_call(&w, spine, own(&w, "step"), at, STEP);
		if (i == 0)
			host_state(&w, spine, "running", 0, STEP / 2);
		else
			put_other(0, 11, "crunch", "running");
		check_nobody_looked(analyze());
		host_close(&w);
	}
	(void)state;
}

/* ---- Which part is judged ---- */

static void warm_up_is_left_out(void **state)
{
	struct host_thread spine;
	const struct analysis *a;
	int64_t at = 0;

	(void)state;
	host_open(&w);
	spine = host_thread(&w, host_process(&w, 10), 10);
	for (unsigned i = 0; i < STEPS; i++) {
		int64_t length = i < 2 ? 3 * STEP : STEP;

		host_scope(&w, spine, "step", at, length);
		host_call(&w, spine, own(&w, "step"), at, length);
		host_state(&w, spine, "running", at, length);
		at += length;
	}
	a = analyze();
	assert_int_equal(a->host.unit, UNIT_STEPS);
	assert_int_equal(a->host.skipped, 2);
	assert_int_equal(a->host.steps, STEPS - 2);
	assert_int_equal(a->host.window.from, 6 * STEP);
	assert_int_equal(a->host.window.to, at);
	host_close(&w);
}

static void a_loop_without_marks(void **state)
{
	struct host_thread spine;
	const struct analysis *a;

	(void)state;
	host_open(&w);
	spine = host_thread(&w, host_process(&w, 10), 10);
	host_call(&w, spine, own(&w, "<module>"), 0, END + 2 * STEP);
	host_call(&w, spine, library(&w, "numpy", "<module>"), 0, STEP / 2); /* an import */
	host_call(&w, spine, own(&w, "load"), STEP / 2, STEP / 2);
	host_call(&w, spine, own(&w, "train"), STEP, END);
	for (int64_t at = STEP; at < END + STEP; at += STEP) {
		host_call(&w, spine, own(&w, "forward"), at, STEP / 2);
		host_call(&w, spine, own(&w, "update"), at + STEP / 2, STEP / 2);
	}
	a = analyze();
	assert_int_equal(a->host.unit, UNIT_LOOP);
	assert_int_equal(a->host.steps, STEPS);
	assert_int_equal(a->host.window.from, STEP);
	assert_int_equal(a->host.window.to, STEP + END);
	assert_int_equal(a->host.before, STEP / 2); /* not the import */
	host_close(&w);
}

/* A model that is made of many layers does not repeat anything. */
static void constructors_are_no_loop(void **state)
{
	struct host_thread spine;
	const struct analysis *a;

	(void)state;
	host_open(&w);
	spine = host_thread(&w, host_process(&w, 10), 10);
	host_call(&w, spine, own(&w, "build"), 0, END);
	for (int64_t at = 0; at < END; at += STEP)
		host_call(&w, spine, own(&w, "Layer.__init__"), at, STEP - 10 * MS);
	host_state(&w, spine, "running", 0, END);
	host_places(&w, spine, "interpreter", NULL, 0, END);
	a = analyze();
	assert_int_equal(a->host.unit, UNIT_RUN);
	assert_int_equal(a->host.before, STEPS * (STEP - 10 * MS));
	assert_int_equal(finding(a, "startup")->owned, STEPS * (STEP - 10 * MS));
	host_close(&w);
}

static void startup_that_takes_longer_than_the_loop(void **state)
{
	struct host_thread spine;
	const struct analysis_finding *f;
	const struct analysis *a;

	(void)state;
	host_open(&w);
	spine = host_thread(&w, host_process(&w, 10), 10);
	host_call(&w, spine, own(&w, "load_model"), 0, 12 * STEP);
	for (int64_t at = 12 * STEP; at < END; at += STEP)
		host_call(&w, spine, own(&w, "step"), at, STEP);
	host_state(&w, spine, "running", 0, END);
	host_places(&w, spine, "interpreter", NULL, 0, END);
	a = analyze();
	assert_int_equal(a->host.unit, UNIT_RUN);
	f = finding(a, "startup");
	assert_int_equal(f->owned, 12 * STEP);
	assert_true(texts_have(&f->where, "load_model"));
	host_close(&w);
}

/* Some object is made: that is no reason to say nothing else. */
static void a_small_constructor_hides_nothing(void **state)
{
	struct host_thread spine;
	const struct analysis *a;

	(void)state;
	host_open(&w);
	spine = host_thread(&w, host_process(&w, 10), 10);
	host_call(&w, spine, own(&w, "main"), 0, END);
	host_call(&w, spine, library(&w, "threading", "Thread.__init__"), STEP, MS);
	host_state(&w, spine, "running", 0, END);
	host_places(&w, spine, "interpreter", NULL, 0, END);
	a = analyze();
	assert_int_equal(a->host.unit, UNIT_RUN);
	assert_null(find_kind(a, "startup"));
	assert_true(finding(a, "cpu_computation")->owned >= END - 2 * MS);
	host_close(&w);
}

/* What is built is a part of the time; the rest is somebody else's. */
static void startup_takes_only_its_own(void **state)
{
	struct host_thread spine;
	const struct analysis *a;

	(void)state;
	host_open(&w);
	spine = host_thread(&w, host_process(&w, 10), 10);
	host_call(&w, spine, own(&w, "Model.__init__"), 0, 4 * STEP);
	host_call(&w, spine, own(&w, "solve"), 4 * STEP, END - 4 * STEP);
	host_state(&w, spine, "running", 0, END);
	host_places(&w, spine, "interpreter", NULL, 0, END);
	a = analyze();
	assert_int_equal(a->host.unit, UNIT_RUN);
	assert_int_equal(finding(a, "startup")->owned, 4 * STEP);
	assert_int_equal(finding(a, "cpu_computation")->owned, END - 4 * STEP);
	assert_true(texts_have(&finding(a, "cpu_computation")->where, "solve"));
	host_close(&w);
}

/* Calls that are deeper than the tree are counted once. */
static void deep_constructors(void **state)
{
	struct host_thread spine;
	const struct analysis *a;

	(void)state;
	host_open(&w);
	spine = host_thread(&w, host_process(&w, 10), 10);
	for (int64_t i = 0; i < 300; i++)
		host_call(&w, spine, own(&w, i < 199 ? "walk" : "Node.__init__"), i * MS, END - 2 * i * MS);
	host_state(&w, spine, "running", 0, END);
	a = analyze();
	assert_in_range(a->host.before, 0, END - 2 * 199 * MS);
	host_close(&w);
}

/* ---- Files that are not what they should be ---- */

/* A state that lasts for years is not looked at every 10 ms. */
static void years(void **state)
{
	const int64_t year = (int64_t)365 * 86400 * SECOND;
	struct host_thread spine, other;

	(void)state;
	host_open(&w);
	spine = host_thread(&w, host_process(&w, 10), 10);
	host_call(&w, spine, own(&w, "main"), 0, 30 * year);
	host_state(&w, spine, "lock", 0, 15 * year);
	host_state(&w, spine, "running", 15 * year, 15 * year);
	other = host_thread(&w, 0, 11);
	host_call(&w, other, own(&w, "crunch"), 0, 30 * year);
	host_state(&w, other, "running", 0, 30 * year);
	analyze();
	assert_in_range(owned_by(w.a, OWNER_LOCK) + owned_by(w.a, OWNER_WORKERS), 15 * year - SECOND, 15 * year + SECOND);
	host_close(&w);
}

/* States that lie over each other are not more than the time. */
static void states_that_overlap(void **state)
{
	struct host_thread spine;

	(void)state;
	host_open(&w);
	spine = host_thread(&w, host_process(&w, 10), 10);
	host_call(&w, spine, own(&w, "main"), 0, END);
	for (int64_t i = 0; i < 50; i++)
		host_state(&w, spine, i % 2 ? "lock" : "sleep", i * MS, END);
	host_state(&w, spine, "file", END / 2, 10 * END);
	analyze();
	assert_int_equal(owned_by(w.a, OWNER_SLEEP), END); /* the first one has all of it */
	host_close(&w);
}

/* ---- Numbers mean nothing ---- */

struct summary {
	size_t count;
	struct {
		char id[128], action[FINDING_TEXT];
		int64_t owned;
		double gain, confidence;
	} findings[16];
	int64_t time[OWNER_COUNT];
};

static void summarize(struct summary *s, const struct analysis *a)
{
	memset(s, 0, sizeof *s);
	s->count = a->findings.count;
	assert_true(s->count <= 16);
	for (size_t i = 0; i < s->count; i++) {
		const struct analysis_finding *f = &a->findings.list[i];

		strcpy(s->findings[i].id, f->id);
		strcpy(s->findings[i].action, f->action);
		s->findings[i].owned = f->owned;
		s->findings[i].gain = f->gain;
		s->findings[i].confidence = f->confidence;
	}
	memcpy(s->time, a->host.window.time, sizeof s->time);
}

static void compare_summaries(const struct summary *x, const struct summary *y)
{
	assert_int_equal(x->count, y->count);
	for (size_t i = 0; i < x->count; i++) {
		assert_string_equal(x->findings[i].id, y->findings[i].id);
		assert_string_equal(x->findings[i].action, y->findings[i].action);
		assert_int_equal(x->findings[i].owned, y->findings[i].owned);
		assert_true(x->findings[i].gain == y->findings[i].gain && x->findings[i].confidence == y->findings[i].confidence);
	}
	assert_memory_equal(x->time, y->time, sizeof x->time);
}

static void put_contention(void)
{
	put_spine(host_process(&w, 10), &joins);
	put_other(0, 11, "crunch", "running");
	put_other(0, 12, "munch", "running");
	put_other(0, 13, "crunch", "gil");
	put_other(0, 14, "munch", "gil");
}

static void put_locks(void)
{
	put_spine(host_process(&w, 10), &joins);
	put_other(0, 11, "hold", "running");
	put_other(0, 12, "update", "lock");
	put_other(0, 13, "insert", "lock");
}

static void put_processes(void)
{
	uint32_t remote;

	put_spine(host_process(&w, 10), &receives);
	remote = host_process(&w, 20);
	put_other(remote, 20, "produce", "running");
	put_other(remote, 21, "prepare", "running");
}

static void put_mixture(void)
{
	struct host_thread spine = put_spine(host_process(&w, 10), &sleeps);

	put_worker(0, 11, "crunch", STEP - WAIT, STEP - WAIT / 2);
	put_worker(host_process(&w, 20), 20, "produce", 0, STEP / 2);
	host_places(&w, spine, "syscall", "write", 0, END / 2);
}

static void numbers_of_tracks_mean_nothing(void **state)
{
	static void (*const scenes[])(void) = { put_contention, put_locks, put_processes, put_mixture };

	(void)state;
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
		struct summary found[2];

		for (unsigned k = 0; k < 2; k++) {
			host_open(&w);
			w.reversed = k;
			scenes[i]();
			host_machine(&w, END, 1000);
			summarize(&found[k], analyze());
			host_close(&w);
		}
		compare_summaries(&found[0], &found[1]);
	}
}

/* ---- Anything at all ---- */

static uint64_t seed;

static uint32_t dice(uint32_t sides)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)((seed >> 11) % sides);
}

static uint32_t any_function(void)
{
	static const char *const functions[][2] = {
		{ "threading", "Thread.join" }, { "queue", "Queue.get" }, { "queue", "Queue.empty" }, { "logging", "Logger.info" },
		{ "torch.utils.data.dataloader", "_MultiProcessingDataLoaderIter.__next__" }, { "torch.utils.data", "fetch" },
		{ "multiprocessing.connection", "Connection.recv" }, { "subprocess", "run" }, { "gc", "generation 2" },
		{ "numpy", "<module>" }, { "torch.nn.modules.linear", "Linear.__init__" }, { "socket", "create_connection" },
		{ "torch._dynamo.convert_frame", "compile" }, { "torch.serialization", "load" },
	};
	static const char *const owns[] = { "main", "step", "load", "<module>", "Net.__init__", "Net.forward", "<lambda>", "read",
					    "use" };
	uint32_t number = dice(24);

	return number < 14 ? library(&w, functions[number][0], functions[number][1]) : own(&w, owns[number % 9]);
}

static const char *any_state(void)
{
	static const char *const states[] = { "running", "running", "running", "gil", "lock", "barrier", "sleep", "poll", "pipe",
					      "socket_local", "socket_network", "file", "fsync", "child", "page_fault_io", "device",
					      "unknown", "", "gil " };

	return states[dice(sizeof states / sizeof *states)];
}

static int64_t any_time(int64_t end)
{
	return (int64_t)((uint64_t)dice(1u << 30) * (uint64_t)dice(1u << 30) % (uint64_t)(end + 1));
}

/* Calls inside calls. */
static void put_any_calls(uint32_t track, int64_t from, int64_t to, unsigned depth)
{
	int64_t at = from;
	unsigned count = 1 + dice(6);

	for (unsigned i = 0; i < count && at < to; i++) {
		int64_t length = any_time((to - at) / (1 + dice(3)));
		unsigned kind = dice(10);

		if (kind == 0)
			world_slice(&w.w, track, EVENT_SCOPE, dice(2) ? "step" : "load batch", at, length);
		else if (kind == 1)
			world_slice(&w.w, track, EVENT_OP, "aten::add", at, length);
		else
			host_slice(&w, track, EVENT_CPU_CALL, any_function(), at, length);
		if (depth && length > 1000 && dice(3))
			put_any_calls(track, at, at + length, depth - 1);
		at += length + (dice(2) ? any_time((to - at - length) / 4) : 0);
	}
}

static void put_any_looks(struct host_thread thread, int64_t end, unsigned how)
{
	static const char *const places[] = { "interpreter", "native", "syscall", "fault", "profiler", "elsewhere" };
	static const char *const whats[] = { "read", "munmap", "libtorch_cpu.so", "_json.so", "libc.so.6", "futex", NULL };
	int64_t at = how == 1 ? any_time(end) : 0;

	while (how && at < end) {
		int64_t length = dice(20) ? any_time(end / 10) : 0, begin = dice(10) ? at : any_time(2 * end);

		host_look(&w, thread.states, any_state(), dice(2) ? "futex:1" : NULL, PHASE_COMPLETE, begin, dice(15) ? length : 3 * end);
		at += length + (dice(4) ? 0 : any_time(end / 10)) + 1;
	}
	for (unsigned i = dice(200); how && i > 0; i--)
		host_place(&w, thread, places[dice(6)], whats[dice(7)], any_time(end + end / 4));
	if (dice(2))
		host_ledger(&w, thread, any_time(end), any_time(end), any_time(end), any_time(end));
	if (dice(4) == 0)
		host_counter_at(&w, thread.states, "run_ns", any_time(end), -any_time(end));
}

static void put_anything(void)
{
	int64_t end = dice(20) ? 1000 + any_time(5 * SECOND) : 1 + dice(50);
	uint32_t processes = 1 + dice(3), wide;

	for (uint32_t p = 0; p < processes; p++) {
		uint32_t process = host_process(&w, 10 * (p + 1)), threads = 1 + dice(4);

		for (uint32_t i = 0; i < threads; i++) {
			struct host_thread thread = host_thread(&w, process, 10 * (p + 1) + i);

			if (p == 0 && i == 0 && dice(3) == 0)
				for (int64_t at = 0; at < end; at += end / 8 + 1)
					host_scope(&w, thread, "step", at, end / 8);
			if (dice(8))
				put_any_calls(thread.calls, any_time(end) / (1 + dice(4)), end, 1 + dice(8));
			for (unsigned k = dice(4) ? 0 : dice(30); k > 0; k--) /* that cross */
				host_slice(&w, thread.calls, EVENT_CPU_CALL, any_function(), any_time(end), any_time(end));
			put_any_looks(thread, end, dice(4));
		}
		wide = host_track(&w, TRACK_PROCESS, process, 10 * (p + 1), -1);
		for (unsigned i = dice(10); i > 0; i--)
			host_counter_at(&w, wide, dice(2) ? "rss_bytes" : "syscr", any_time(end), any_time(SECOND));
	}
	if (dice(2))
		host_machine(&w, end, dice(2001));
}

static void anything_sums(void **state)
{
	size_t findings = 0, known = 0;

	(void)state;
	for (unsigned i = 0; i < 400; i++) {
		seed = 0x9e3779b97f4a7c15u * (i + 1);
		host_open(&w);
		put_anything();
		check_host(host_analyze(&w));
		findings += w.a->findings.count;
		known += w.a->host.known;
		host_close(&w);
	}
	assert_true(known > 300 && findings > 100); /* else this says nothing */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_for_a_thread_at_work),
		cmocka_unit_test(a_wait_while_others_wait_for_the_interpreter),
		cmocka_unit_test(who_holds_the_interpreter_most),
		cmocka_unit_test(a_wait_while_others_wait_for_a_lock),
		cmocka_unit_test(an_idle_pool),
		cmocka_unit_test(a_result_of_a_thread),
		cmocka_unit_test(two_that_take_turns),
		cmocka_unit_test(a_wait_for_nobody),
		cmocka_unit_test(a_quota),
		cmocka_unit_test(a_wait_for_a_process_at_work),
		cmocka_unit_test(innocent_processes),
		cmocka_unit_test(a_guilty_process_and_an_innocent_one),
		cmocka_unit_test(a_lock_that_no_process_can_hold),
		cmocka_unit_test(workers_of_one_kind),
		cmocka_unit_test(workers_that_take_turns),
		cmocka_unit_test(a_straggler),
		cmocka_unit_test(another_program),
		cmocka_unit_test(each_wait_has_its_owner),
		cmocka_unit_test(sleep_with_nobody_at_work),
		cmocka_unit_test(sleep_for_longer_than_the_work_takes),
		cmocka_unit_test(sleep_set_right_by_the_ledger),
		cmocka_unit_test(libraries_are_told_by_their_package),
		cmocka_unit_test(samples_divide_what_runs),
		cmocka_unit_test(memory_that_grows_or_swings),
		cmocka_unit_test(no_samples_of_the_processor),
		cmocka_unit_test(compute_is_no_finding),
		cmocka_unit_test(a_loader_on_the_same_thread),
		cmocka_unit_test(a_loader_that_keeps_up),
		cmocka_unit_test(collections),
		cmocka_unit_test(the_last_collections),
		cmocka_unit_test(no_looks_at_all),
		cmocka_unit_test(looks_elsewhere),
		cmocka_unit_test(warm_up_is_left_out),
		cmocka_unit_test(a_loop_without_marks),
		cmocka_unit_test(constructors_are_no_loop),
		cmocka_unit_test(startup_that_takes_longer_than_the_loop),
		cmocka_unit_test(a_small_constructor_hides_nothing),
		cmocka_unit_test(startup_takes_only_its_own),
		cmocka_unit_test(deep_constructors),
		cmocka_unit_test(states_that_overlap),
		cmocka_unit_test(numbers_of_tracks_mean_nothing),
		cmocka_unit_test(anything_sums),
		cmocka_unit_test(years),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
