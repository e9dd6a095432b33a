/*
 * door.c - the door of CUDA: what its driver calls, a thread of ours, and the end.
 *
 * A flush may wait for CUPTI's own thread, and that for anything; so only our
 * thread flushes, and nobody waits for it for long.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cuda/cuda.h"
#include "runtime/flush.h"

#define TICK_NS 50000000
#define PATIENCE_NS 1000000000 /* with a flush that somebody waits for */
#define UNLOAD_NS 100000000    /* for the names of a module */
#define UNLOADS_IN_VAIN 3u     /* a machine may be busy for once */
#define LATE_NS 150000000      /* for buffers that come after their flush */
#define STACK (1u << 20)
#define FLUSH_FORCED 1u
#define ATTRIBUTE_PER_THREAD 9
#define THREAD_IDS_SYSTEM 1
#define NOT_INITIALIZED 15
#define DOMAIN_RESOURCE 3
#define CONTEXT_ENDS 2u
#define MODULE_ENDS 7u
#define LIBRARIES 4u
#define OTHER_SIZE 65u /* of the name of another subscriber; CUPTI has 64 */

struct cuda_door *cuda_door;

enum wish { WISH_NONE, WISH_FLUSH, WISH_UNLOAD, WISH_YIELD, WISH_END };
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed, done;
	enum wish wish;
	uint32_t wishes, granted; /* how many there were */
} control = { .lock = PTHREAD_MUTEX_INITIALIZER };
static _Atomic bool ended;   /* the program has */
static _Atomic bool yielded; /* CUPTI is somebody else's now */
static _Atomic bool rests;   /* nobody records, or CUPTI is somebody else's */

bool cuda_door_map(void)
{
	cuda_door = cuda_memory_take(sizeof *cuda_door);
	return cuda_door && cuda_clock_map() && cuda_buffers_map() && cuda_places_map() && cuda_calls_map() && cuda_waits_map() &&
	       cuda_texts_map();
}

bool cuda_door_sound(void)
{
	for (unsigned kind = 0; kind < KIND_LIMIT; kind++)
		if (cuda_door->sizes[kind] && cuda_door->sizes[kind] < layout_least(kind))
			return false;
	return cuda_memory_agrees() && cuda_clock_sound() && cuda_places_sound();
}

bool cuda_is_ours(void)
{
	return cuda_door->pid == getpid();
}

/* ---- What CUPTI tells ----------------------------------------------------------------- */

/* Tracing needs no rights from CUDA 10.2 on, but older drivers and some systems keep it to administrators. */
#define ON_RIGHTS ": run it as root (CAP_SYS_ADMIN), or load the driver with NVreg_RestrictProfilingToAdminUsers=0"

/* For people: the number, and its name where CUPTI has one. */
static void say_result(char *text, size_t size, const char *what, int result)
{
	const char *advice = result == CUPTI_INSUFFICIENT_PRIVILEGES ? ON_RIGHTS : "";
	const char *name = NULL;

	if (!cuda_cupti.result_text || cuda_cupti.result_text(result, &name) != 0 || !name)
		name = "no name for it";
	snprintf(text, size, "%s of CUPTI failed with %d (%s)%s", what, result, name, advice);
}

/* Without kernels there is nothing to record; without another kind the rest is. */
static bool enable(char *why, size_t size)
{
	struct cuda_refusal refusal;
	char text[NOTE_MAX_BYTES];

	if (!cuda_door->sizes[KIND_KERNEL]) {
		snprintf(why, size, "%s has records that this version does not know", cuda_cupti.path);
		return false;
	}
	cuda_kinds_enable(&refusal);
	if (!refusal.result)
		return true;
	say_result(why, size, "cuptiActivityEnable", refusal.result);
	if (refusal.kernels)
		return false;
	snprintf(text, sizeof text, "cuda: %s are not recorded: %s", refusal.what, why);
	inferscope_note(text);
	return true;
}

static void tell(const char *why)
{
	char text[NOTE_MAX_BYTES];

	snprintf(text, sizeof text, "cuda: %s", why); /* which the recorder makes a sentence of */
	inferscope_note(text);
}

/* ---- The thread ----------------------------------------------------------------------- */

static struct timespec in_ns(int64_t ns)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += (time_t)((ts.tv_nsec + ns) / 1000000000);
	ts.tv_nsec = (long)((ts.tv_nsec + ns) % 1000000000);
	return ts;
}

static bool is_over(struct timespec until)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec > until.tv_sec || (ts.tv_sec == until.tv_sec && ts.tv_nsec >= until.tv_nsec);
}

/* Buffers may come a little after the flush that they belong to. */
static void wait_for_buffers(void)
{
	struct timespec step = { 0, 1000000 }, until = in_ns(LATE_NS);

	while (!cuda_buffers_all_back() && !is_over(until)) {
		nanosleep(&step, NULL);
		(void)cuda_buffers_translate();
	}
}

/* The same when nothing is enabled any more.  A call that was under way may still have asked for a buffer: all have to be back twice, a
 * millisecond apart.  What is not back then will never be seen. */
static void take_last_buffers(void)
{
	struct timespec step = { 0, 1000000 }, until = in_ns(LATE_NS);

	cuda_buffers_at_once();
	for (unsigned times = 0; times < 2 && !is_over(until);) {
		(void)cuda_cupti.flush_all(FLUSH_FORCED);
		(void)cuda_buffers_translate();
		times = cuda_buffers_all_back() ? times + 1 : 0;
		nanosleep(&step, NULL);
	}
	gpu_count_lost(cuda_buffers_outside()); /* at least one record each */
}

/* What was begun is left to others. */
static void stand_down(void)
{
	cuda_kinds_disable();
	cuda_unsubscribe();
}

/* Once a session: those that begin later have nothing of CUDA either. */
static void tell_of_other(void)
{
	static uint32_t told;
	uint32_t session = atomic_load(&inferscope_runtime.generation);

	if (!inferscope_joined() || session == told)
		return;
	told = session;
	inferscope_note("cuda: the program's own profiler has taken CUPTI over: what GPUs did from then on is in its trace, not in this one");
}

/* First nothing new, then all that there is: a thread of the program that goes on meanwhile would have CUPTI ask us for buffers, and
 * hand them over to somebody else. */
static void let_go(void)
{
	cuda_kinds_disable();
	take_last_buffers();
	cuda_unsubscribe();
	cuda_clock_yield();
	atomic_store(&yielded, true);
	atomic_store(&rests, true);
	tell_of_other();
}

static void flush(enum wish wish)
{
	bool last = wish == WISH_END;

	if (wish == WISH_YIELD) {
		let_go();
		return;
	}
	if (last && atomic_load(&rests))
		return;
	(void)cuda_cupti.flush_all(last ? FLUSH_FORCED : 0);
	if (last)
		cuda_buffers_at_once();
	(void)cuda_buffers_translate();
	if (wish == WISH_FLUSH || wish == WISH_UNLOAD)
		(void)cuda_buffers_translate(); /* with what is held back for a pass */
	if (wish == WISH_UNLOAD)
		cuda_names_unloaded();
	if (last)
		wait_for_buffers();
}

/* Nobody records any more: what was made until now belongs nowhere.  Or somebody does again. */
static void follow_session(void)
{
	bool rest = !inferscope_joined();
	char why[320];

	if (rest == atomic_exchange(&rests, rest))
		return;
	if (rest) {
		cuda_kinds_rest();
		flush(WISH_FLUSH);
		return;
	}
	cuda_memory_leave();
	cuda_clock_anew();
	if (!enable(why, sizeof why))
		tell(why);
}

/* How devices are is CUPTI's to tell where the recorder cannot ask, in the session at hand. */
static void ask_devices(void)
{
	cuda_kinds_ask_devices(inferscope_gpus_unsampled() && !atomic_load(&rests) && !atomic_load(&ended));
}

/* Until it is time, or somebody wishes something; whoever begins to record does, too. */
static int wait_for_wish(struct timespec until)
{
	if (atomic_load(&rests))
		return pthread_cond_wait(&control.changed, &control.lock);
	return pthread_cond_timedwait(&control.changed, &control.lock, &until);
}

static enum wish next_wish(uint32_t *ret_number)
{
	struct timespec until = in_ns(TICK_NS);
	enum wish wish;

	pthread_mutex_lock(&control.lock);
	while (control.granted == control.wishes && wait_for_wish(until) == 0)
		;
	*ret_number = control.wishes;
	wish = control.wish;
	control.wish = WISH_NONE;
	pthread_mutex_unlock(&control.lock);
	return wish;
}

static void serve(enum wish wish)
{
	if (atomic_load(&yielded)) {
		tell_of_other();
		return;
	}
	follow_session();
	flush(wish);
	ask_devices();
}

static void *run(void *unused)
{
	enum wish wish;
	uint32_t number;

	(void)unused;
	do {
		wish = next_wish(&number);
		serve(wish);
		pthread_mutex_lock(&control.lock);
		control.granted = number;
		pthread_cond_broadcast(&control.done);
		pthread_mutex_unlock(&control.lock);
	} while (wish != WISH_END);
	for (;;)
		pause(); /* the process ends: nothing that a thread does when it ends belongs between its last handlers */
	return NULL;
}

/* All signals are the program's. */
static bool start_thread(void)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int rc;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&thread, &attributes, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (rc == 0)
		(void)pthread_setname_np(thread, "inferscope-gpu");
	return rc == 0;
}

/* ---- Who wants all that there is --------------------------------------------------------- */

/* Whether it was done in time. */
static bool ask_thread(enum wish wish, int64_t patience_ns)
{
	struct timespec until = in_ns(patience_ns);
	uint32_t number;
	bool done;

	pthread_mutex_lock(&control.lock);
	control.wish = wish > control.wish ? wish : control.wish;
	number = ++control.wishes;
	pthread_cond_signal(&control.changed);
	while ((int32_t)(control.granted - number) < 0 && pthread_cond_timedwait(&control.done, &control.lock, &until) == 0)
		;
	done = (int32_t)(control.granted - number) >= 0;
	pthread_mutex_unlock(&control.lock);
	return done;
}

/* A module goes, or a context with all of its modules, and with them the names of kernels that records still point to.  Where our
 * thread could not flush meanwhile, a few times, it is not asked again. */
static void on_callback(void *user, int domain, uint32_t id, const void *data)
{
	static _Atomic unsigned in_vain;

	(void)user;
	(void)data;
	if (domain == DOMAIN_RESOURCE && (id == CONTEXT_ENDS || id == MODULE_ENDS) && cuda_is_ours() && atomic_load(&in_vain) < UNLOADS_IN_VAIN &&
	    !atomic_load(&ended) && !atomic_load(&rests) && !ask_thread(WISH_UNLOAD, UNLOAD_NS))
		atomic_fetch_add(&in_vain, 1);
}

/* A session begins or ends, or somebody wants to see it. */
static void flush_now(void)
{
	if (cuda_is_ours())
		(void)ask_thread(WISH_FLUSH, PATIENCE_NS);
}

/* The program is about to listen to CUPTI itself, which would be refused while we do, unless it and we allow others. */
static void make_way(void)
{
	if (cuda_is_ours() && !cuda_shares() && !atomic_load(&yielded) && !atomic_load(&ended))
		(void)ask_thread(WISH_YIELD, PATIENCE_NS);
}

/* Before the libraries of CUDA go, since their handlers were registered earlier. */
static void at_end(void)
{
	if (!cuda_is_ours())
		return;
	atomic_store(&ended, true);
	if (ask_thread(WISH_END, PATIENCE_NS)) {
		cuda_memory_settle(cuda_buffers_all_free());
		return;
	}
	cuda_buffers_at_once();
	(void)cuda_buffers_translate(); /* our thread hangs: what has come until now */
}

/* ---- Opening it ---------------------------------------------------------------------------- */

static void say_refusal(char *why, size_t size, int result, const char *other)
{
	if (result == CUPTI_ANOTHER_SUBSCRIBER && other[0])
		snprintf(why, size, "another profiler (%s) is using CUPTI in this process", other);
	else if (result == CUPTI_ANOTHER_SUBSCRIBER)
		snprintf(why, size, "another profiler is using CUPTI in this process");
	else
		say_result(why, size, "cuptiSubscribe", result);
}

/* A newer library than the driver refuses; then an older one may do.  What the first one said is what is told. */
static bool subscribe(char *why, size_t size)
{
	char later[256], other[OTHER_SIZE];
	int rc = NOT_INITIALIZED;

	for (unsigned i = 0; i < LIBRARIES && rc != 0 && rc != CUPTI_ANOTHER_SUBSCRIBER; i++) {
		if (!cuda_library_load(i, i ? later : why, i ? sizeof later : size))
			return false;
		rc = cuda_subscribe(on_callback, other, sizeof other);
		if (rc && i == 0)
			say_refusal(why, size, rc, other);
	}
	return rc == 0;
}

static void set_up(void)
{
	uint8_t on = 1;

	if (cuda_cupti.version)
		(void)cuda_cupti.version(&cuda_door->version);
	cuda_door->thread_ids = cuda_set_thread_ids(THREAD_IDS_SYSTEM) == 0;
	(void)cuda_set_attribute(ATTRIBUTE_PER_THREAD, sizeof on, &on); /* threads do not wait for each other; older releases do not have it */
	layout_ask(cuda_next_record, cuda_door->sizes);
	cuda_calls_open();
}

static bool open_door(char *why, size_t size)
{
	int rc;

	if (!cuda_memory_map(cuda_buffers_size()) || !cuda_door_map()) {
		snprintf(why, size, "there is no memory for its records");
		return false;
	}
	cuda_memory_sign();
	cuda_door->pid = getpid();
	cuda_door->opened = clock_ticks(inferscope_runtime.clock);
	atomic_store(&cuda_door->looked, cuda_door->opened);
	if (!subscribe(why, size))
		return false;
	set_up();
	rc = cuda_register_buffers();
	if (rc) {
		say_result(why, size, "cuptiActivityRegisterCallbacks", rc);
		return false;
	}
	cuda_clock_open();
	return enable(why, size);
}

/* From when there is a thread to ask. */
static void watch_modules(void)
{
	cuda_watch(DOMAIN_RESOURCE, MODULE_ENDS);
	cuda_watch(DOMAIN_RESOURCE, CONTEXT_ENDS);
}

static bool start_pass(char *why, size_t size)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&control.changed, &attributes);
	pthread_cond_init(&control.done, &attributes);
	pthread_condattr_destroy(&attributes);
	if (start_thread())
		return true;
	snprintf(why, size, "no thread could be made for it");
	return false;
}

static void open_and_tell(void)
{
	char why[320] = "";

	if (open_door(why, sizeof why) && start_pass(why, sizeof why)) {
		watch_modules();
		(void)atexit(at_end);
		inferscope_at_flush(flush_now);
		inferscope_at_yield(make_way);
		return;
	}
	stand_down();
	tell(why);
}

__attribute__((visibility("default"))) int InitializeInjection(void);

/* What libcuda calls inside cuInit(), possibly more than once; or who begins a recording in a program that uses CUDA already.
 * The answer says that all is well, whatever happened: it is the program's CUDA. */
int InitializeInjection(void)
{
	static _Atomic bool opened; /* or tried */
	int saved = errno;

	inferscope_load();
	if (inferscope_joined() && !atomic_exchange(&opened, true))
		open_and_tell();
	errno = saved;
	return 1;
}
