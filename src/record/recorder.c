/*
 * recorder.c - see recorder.h.
 *
 * A recording follows either a program that we started (target.h) or whoever
 * asked for it (control.h); everything else is the same for both.
 */
#include "record/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/control.h"
#include "record/describe.h"
#include "record/doors.h"
#include "record/facts.h"
#include "record/gpu_sample.h"
#include "record/gpu_watch.h"
#include "record/orphans.h"
#include "record/target.h"
#include "record/trace_file.h"
#include "record/watch.h"
#include "record/watch_write.h"

#define NAP_MIN_US 500
#define NAP_MAX_US 8000
#define NAP_CALM_US 25000
#define NAP_IDLE_US 128000
#define IDLE_NS 200000000   /* that nobody has written anything for */
#define CALM_EVENTS 8192u   /* in a nap; more is not little */
#define FILL_RATE 1000      /* bytes a microsecond: the fastest that a program can be expected to fill its rings */
#define HOLD_NS 100000000   /* no event waits longer than this to be read once it has been seen */
#define FLUSH_NS 250000000  /* no event is older than this when it reaches the file */
#define CLOCK_NS 1000000000
#define REAP_NS 20000000
#define LEISURE_NS 500000000 /* for what waits longer when nobody writes anything */
#define ASK_NS 500000000
#define WATCH_NS 100000000
#define SAMPLES_NS 100000000
#define ORPHANS_NS 100000000
#define WAITING_NS 2000000000 /* before it is said what is waited for */
#define SETTLE_MS 200 /* for processes that end because the program has */

struct recorder {
	const struct recorder_options *options;
	bool has_target; /* which of the two it follows */
	struct target target;
	bool waiting_said;
	struct control control;
	struct trace_file file;
	struct session session;
	struct trace_writer *writer;
	struct drain *drain;
	struct watch *watch; /* NULL: nobody asked for it */
	struct watch_writer *watch_writer;
	struct gpu_watch gpu;
	struct gpu_samples *samples; /* NULL: nobody has used a GPU, or nobody asked */
	bool samples_tried;
	pid_t root; /* the process that it is all about; 0: none yet */
	enum clock_source clock;
	int64_t start_ticks;
	int64_t waiting_since_ns; /* there is something to read; 0: there is not */
	int64_t last_news_ns;
	int64_t last_flush_ns, last_clock_ns, last_reap_ns, last_watch_ns, last_samples_ns, last_asked_ns, last_orphans_ns;
	int64_t due_ns; /* when who looks on wants to be called */
	uint32_t nap_us;
	uint64_t waiting; /* events, at the last look */
	bool calm;        /* few came since the one before */
	int64_t ended_ns; /* when the program was seen to have; 0: it has not */
	struct error trouble;
};

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* The first thing that goes wrong while the program runs is told when it has ended. */
static struct error *trouble_of(struct recorder *r)
{
	return r->trouble.code ? NULL : &r->trouble;
}

static void write_clock_pair(struct recorder *r)
{
	(void)describe_clock_pair(r->writer, r->clock, trouble_of(r));
	r->last_clock_ns = now_ns();
}

static void write_closing_info(struct recorder *r, const struct recorder_result *result)
{
	struct describe_ending ending = {
		.exit_status = -1,
		.complete = true,
		.notes = &result->notes,
		.program = &result->program,
		.unwritten = trace_writer_totals(r->writer).unwritten,
		.trouble = r->trouble.code ? r->trouble.text : NULL,
	};

	if (r->has_target) {
		ending.exit_status = result->program.status;
		ending.signal = result->program.signal;
	}
	(void)describe_ending(r->writer, &ending, &result->totals, trouble_of(r));
}

static int describe(struct recorder *r, struct error *err)
{
	static const char *const overflow[] = { "wrap", "discard", "block" };
	const struct recorder_options *o = r->options;
	const struct describe_settings settings = {
		.trace_size_mb = (int64_t)(o->budget_bytes >> 20),
		.overflow = overflow[o->overflow],
		.max_file_mb = (int64_t)(o->max_file_bytes >> 20),
		.last_seconds = o->last_seconds,
		.waits = o->waits,
		.look_ns = o->look_ns,
	};
	int rc = describe_machine(r->writer, r->clock);

	if (rc == 0)
		rc = describe_beginning(r->writer, o->command ? o->command : o->argv, r->start_ticks, &settings, err);
	if (rc == 0)
		rc = describe_clock_pair(r->writer, r->clock, err);
	r->last_clock_ns = now_ns();
	return rc;
}

/* ---- Setting up -------------------------------------------------------------- */

static int open_writer(struct recorder *r, int fd, struct error *err)
{
	struct clock_reading now;
	struct trace_writer_options options = {
		.max_file_bytes = r->options->max_file_bytes,
		.segment_open = trace_file_segment_open,
		.segment_remove = trace_file_segment_remove,
		.segment_arg = &r->file,
	};

	clock_read_all(r->clock, &now);
	options.created_ns = now.realtime_ns;
	r->start_ticks = now.ticks;
	if (r->options->last_seconds > 0)
		options.last_ticks = (uint64_t)(r->options->last_seconds * (double)clock_measure_rate(r->clock));
	return trace_writer_open(&r->writer, fd, &options, err);
}

static int open_session(struct recorder *r, struct error *err)
{
	struct session_options options = {
		.budget_bytes = r->options->budget_bytes,
		.overflow = r->options->overflow,
		.block_timeout_ms = r->options->block_timeout_ms,
		.clock = r->clock,
		.start_ticks = r->start_ticks,
		.trace_path = r->file.path,
		.partial_path = r->file.partial,
	};

	return session_create(&r->session, &options, err);
}

static int set_up(struct recorder *r, struct error *err)
{
	int fd, rc = trace_file_create(&r->file, r->options->trace_path, &fd, err);

	if (rc != 0)
		return rc;
	rc = open_writer(r, fd, err);
	if (rc == 0)
		rc = open_session(r, err);
	if (rc == 0)
		rc = describe(r, err);
	if (rc == 0)
		rc = drain_new(&r->drain, &r->session, r->writer, 1);
	if (rc == 0)
		drain_set_runtime(r->drain, r->options->runtime_path);
	return rc;
}

static void give_up(struct recorder *r)
{
	drain_free(r->drain);
	session_end(&r->session);
	trace_writer_abandon(r->writer);
	if (r->file.partial[0])
		trace_file_remove(&r->file);
}

/* Who waits for the end of the program's output, or for a reader of its input to go away, waits for nobody else. */
static void leave_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	(void)dup2(null, STDIN_FILENO);
	(void)dup2(null, STDOUT_FILENO);
	if (null > STDERR_FILENO)
		close(null);
}

/* What the program's environment has because of us. */
static int make_variables(const struct recorder *r, struct variables *variables)
{
	const struct recorder_options *o = r->options;
	int rc = variables_set(variables, "INFERSCOPE_SESSION", r->session.folder);

	if (rc == 0)
		rc = variables_set(variables, "INFERSCOPE_RUNTIME", o->runtime_path);
	if (rc == 0)
		rc = variables_set(variables, "INFERSCOPE_ENABLED", "1");
	if (rc == 0)
		rc = doors_open(variables, o->runtime_path, o->python_door, o->gpu);
	if (rc == 0 && o->variables)
		rc = variables_copy(variables, o->variables);
	return rc;
}

static int start(struct recorder *r, struct error *err)
{
	struct variables variables = { NULL, 0 };
	int rc = make_variables(r, &variables);

	for (int fd = 0; r->options->streams && fd < 3; fd++)
		r->target.streams[fd] = r->options->streams[fd];
	if (rc != 0)
		error_set(err, rc, "out of memory");
	else
		rc = target_start(&r->target, r->options->argv, variables.list, err);
	variables_release(&variables);
	if (rc == 0 && r->options->leave_streams)
		leave_streams();
	return rc;
}

/* The program comes first: where it needs all processors, it is not interrupted when we wake.  Whoever we start is not so patient. */
static void give_way(void)
{
	const struct sched_param none = { 0 };

	if (sched_getscheduler(0) == SCHED_OTHER)
		(void)sched_setscheduler(0, SCHED_BATCH | SCHED_RESET_ON_FORK, &none);
}

static struct watch_options watch_options(const struct recorder_options *o)
{
	struct watch_options options = WATCH_OPTIONS_INIT;

	options.views = o->onlooker != NULL;
	options.queue = o->waits ? WATCH_QUEUE : 0;
	if (o->look_ns) {
		options.slot_ns = o->look_ns;
		options.program_counters = false;
	}
	return options;
}

/* Without it, the recording is as good as one that never asked for it.  Who looks on sees it even where the trace is not to have it. */
static void start_watch(struct recorder *r, pid_t root)
{
	const struct watch_options options = watch_options(r->options);

	if (!r->options->waits && !options.views)
		return;
	if (watch_start(&r->watch, root, r->clock, &options, trouble_of(r)) != 0 || !r->options->waits)
		return;
	if (watch_writer_new(&r->watch_writer, r->watch, r->drain, r->writer) == 0)
		return;
	watch_stop(r->watch);
	watch_free(r->watch);
	r->watch = NULL;
}

/* ---- The loop ---------------------------------------------------------------- */

/* Sleeps for the nap, or until there is news, and whether there is: a signal (the end of the program is one), or what control.h
 * watches. */
static bool nap(struct recorder *r)
{
	struct pollfd fds[CONTROL_FDS] = { { .fd = r->target.signal_fd, .events = POLLIN } };
	struct timespec ts = { 0, (long)r->nap_us * 1000 };

	if (!r->has_target)
		control_watch(&r->control, fds);
	return ppoll(fds, r->has_target ? 1 : CONTROL_FDS, &ts, NULL) != 0;
}

/*
 * The program comes first.  Reading what it writes takes as much of a processor as writing it does, and of its memory and
 * its caches too; where the processors are few, or share a core, that is at its cost.  So a burst is left alone until it
 * has filled half of the rings, and only what has waited long enough is read before.
 */
static bool is_half_full(const struct recorder *r)
{
	const struct session_page *page = r->session.page;

	return atomic_load_explicit(&page->chunks_used, memory_order_relaxed) * 2 >= page->chunk_limit;
}

static bool is_due(struct recorder *r)
{
	uint64_t waiting = drain_waiting(r->drain);
	int64_t now = now_ns();

	r->calm = !is_half_full(r) && waiting < r->waiting + CALM_EVENTS;
	r->waiting = waiting;
	if (r->waiting_since_ns == 0 && waiting)
		r->waiting_since_ns = r->last_news_ns = now;
	if (!is_half_full(r) && (r->waiting_since_ns == 0 || now - r->waiting_since_ns < HOLD_NS))
		return false;
	r->waiting_since_ns = 0;
	r->waiting = 0;
	return true;
}

/* Where somebody looks on, what that costs in all has to be little. */
static bool is_at_leisure(const struct recorder *r, int64_t now)
{
	return r->options->onlooker && r->waiting_since_ns == 0 && now - r->last_news_ns > IDLE_NS;
}

/* Long enough that looking costs nothing, too short for the other half to fill.  Where little is written, it is only that; where
 * much is, memory has to be prepared for it in time.  Rings that nobody has written to for a while have four times the room.  Whoever
 * looks on is not kept waiting. */
static uint32_t nap_length(const struct recorder *r)
{
	uint64_t us = r->options->budget_bytes / 4 / FILL_RATE, most = r->calm ? NAP_CALM_US : NAP_MAX_US;
	int64_t now = now_ns();

	if (is_at_leisure(r, now)) {
		us *= 4;
		most = NAP_IDLE_US;
	}
	if (r->options->onlooker && r->due_ns < now + (int64_t)most * 1000)
		most = r->due_ns > now ? (uint64_t)(r->due_ns - now + 999) / 1000 : 0;
	us = us > most ? most : us;
	return us < NAP_MIN_US ? NAP_MIN_US : (uint32_t)us;
}

/* Nothing of NVIDIA's is touched before the program has done so. */
static void sample_gpus(struct recorder *r, int64_t now)
{
	if (!r->samples && r->gpu.use.used && !r->samples_tried && r->options->gpu != CONFIG_GPU_OFF) {
		r->samples_tried = true;
		if (gpu_samples_start(&r->samples, r->drain, r->writer, r->clock, r->root) != 0)
			atomic_store(&r->session.page->gpus_unsampled, 1);
	}
	if (!r->samples || now - r->last_samples_ns < SAMPLES_NS)
		return;
	gpu_samples_pass(r->samples, trouble_of(r));
	if (gpu_samples_failed(r->samples))
		atomic_store(&r->session.page->gpus_unsampled, 1);
	r->last_samples_ns = now;
}

static void do_periodic(struct recorder *r)
{
	int64_t now = now_ns();
	bool leisure = is_at_leisure(r, now);

	if (now - r->last_reap_ns >= (leisure ? LEISURE_NS : REAP_NS)) {
		drain_reap(r->drain, trouble_of(r));
		r->last_reap_ns = now;
	}
	if (r->watch_writer && now - r->last_watch_ns >= WATCH_NS) {
		watch_writer_pass(r->watch_writer, trouble_of(r));
		r->last_watch_ns = now;
	}
	if (now - r->last_flush_ns >= (leisure ? LEISURE_NS : FLUSH_NS)) {
		(void)trace_writer_flush(r->writer, trouble_of(r));
		(void)drain_pass(r->drain, trouble_of(r)); /* which tells the threads what they may use again */
		r->last_flush_ns = now;
	}
	if (now - r->last_clock_ns >= CLOCK_NS)
		write_clock_pair(r);
	gpu_watch_pass(&r->gpu, r->drain, r->root, now);
	sample_gpus(r, now);
}

static void say_waiting(struct recorder *r, const struct orphans *orphans)
{
	char sentence[ORPHANS_SENTENCE];

	if (r->waiting_said || !r->options->waiting || now_ns() - r->ended_ns < WAITING_NS)
		return;
	r->waiting_said = true;
	orphans_say(orphans, sentence);
	r->options->waiting(r->options->waiting_arg, sentence);
}

static bool do_others_go_on(struct recorder *r)
{
	struct orphans orphans;

	orphans_list(&orphans);
	for (size_t i = 0; i < orphans.count && i < ORPHANS_LISTED && r->watch; i++)
		watch_add(r->watch, orphans.pids[i]);
	if (orphans.count)
		say_waiting(r, &orphans);
	return orphans.count > 0;
}

/* The program has ended; are others to be waited for?  Whoever asks us to end ends that alone: from here on signals are meant for what
 * comes after. */
static bool is_waiting(struct recorder *r, bool news)
{
	struct requests *requests = &r->target.requests;
	int64_t now = now_ns();

	if (!r->options->wait_all)
		return false;
	r->ended_ns = r->ended_ns ? r->ended_ns : now;
	if (!target_was_told_to_end(&r->target) && !requests->signal) {
		if (!news && now - r->last_orphans_ns < ORPHANS_NS)
			return true;
		r->last_orphans_ns = now;
		if (do_others_go_on(r))
			return true;
	}
	requests_begin(requests);
	return false;
}

/* Is there more to come?  Asking takes some calls, so without news it is done now and then only. */
static bool handle_events(struct recorder *r, bool news)
{
	int64_t now = now_ns();

	if (r->has_target && !news && !r->target.stopped && !r->target.ended && now - r->last_asked_ns < ASK_NS)
		return true;
	r->last_asked_ns = now;
	if (r->has_target)
		target_handle_events(&r->target);
	else
		control_handle_events(&r->control);
	return r->has_target ? !r->target.ended || is_waiting(r, news) : !r->control.ended;
}

/* ---- Who looks on ------------------------------------------------------------ */

static void begin_looking_on(const struct recorder *r)
{
	const struct recorder_onlooker *onlooker = r->options->onlooker;
	const struct recorder_scene scene = {
		.root = r->root,
		.clock = r->clock,
		.start_ticks = r->start_ticks,
		.watch = r->watch,
		.gpu_samples = &r->samples,
		.drain = r->drain,
		.writer = r->writer,
		.target = r->has_target ? &r->target : NULL,
		.trace_partial = r->file.partial,
	};

	if (onlooker)
		onlooker->begin(onlooker->arg, &scene);
}

static void end_looking_on(const struct recorder *r)
{
	const struct recorder_onlooker *onlooker = r->options->onlooker;

	if (onlooker)
		onlooker->end(onlooker->arg);
}

static void stop_along(struct recorder *r)
{
	const struct recorder_onlooker *onlooker = r->options->onlooker;

	if (!r->has_target || !target_is_to_stop(&r->target))
		return;
	if (onlooker)
		onlooker->stopping(onlooker->arg);
	(void)trace_writer_flush(r->writer, trouble_of(r));
	target_stop_along(&r->target);
}

static void record_until_end(struct recorder *r)
{
	bool more = true;

	give_way();
	begin_looking_on(r);
	while (more) {
		r->nap_us = nap_length(r);
		more = handle_events(r, nap(r));
		drain_prepare(r->drain);
		if (is_due(r))
			(void)drain_pass(r->drain, trouble_of(r));
		do_periodic(r);
		if (r->options->onlooker)
			r->due_ns = r->options->onlooker->tick(r->options->onlooker->arg);
		stop_along(r);
	}
}

/* ---- Ending ------------------------------------------------------------------ */

/* Processes and threads are known by what they recorded, so that is read before. */
static void finish_watch(struct recorder *r)
{
	if (r->watch)
		watch_stop(r->watch);
	if (r->watch && r->has_target)
		watch_settle(r->watch, SETTLE_MS);
	if (!r->watch_writer)
		return;
	(void)drain_pass(r->drain, trouble_of(r));
	watch_writer_finish(r->watch_writer, trouble_of(r));
}

/* Of one that we have started: how it ended, and what it leaves behind. */
static void tell_program(struct recorder *r, struct trace_program *program)
{
	if (!r->has_target)
		return;
	program->ended = true;
	program->status = target_exit_status(&r->target);
	program->signal = WIFSIGNALED(r->target.status) ? WTERMSIG(r->target.status) : 0;
	drain_reap(r->drain, trouble_of(r));
	facts_read(program, r->session.folder_fd, r->root);
	facts_descendants(program, r->watch, r->drain, r->root);
	program->waited = r->options->wait_all;
}

/* Which GPUs are used is known by what was recorded, so that is read before. */
static void finish_samples(struct recorder *r)
{
	if (!r->samples)
		return;
	(void)drain_pass(r->drain, trouble_of(r));
	gpu_samples_finish(r->samples, trouble_of(r));
}

static void finish_gpu(struct recorder *r, struct recorder_result *ret)
{
	const struct gpu_ending ending = {
		.gpu = r->options->gpu,
		.runtime = r->options->runtime_path,
		.recorded = drain_has_cuda(r->drain),
		.notes = &ret->notes,
		.samples = r->samples ? gpu_samples_totals(r->samples) : (struct gpu_sample_totals){ 0 },
	};

	gpu_watch_finish(&r->gpu, &ending, &ret->gpu);
	(void)gpu_summary_write(&ret->gpu, r->writer, trouble_of(r));
}

/* Those that were seen from outside need not have recorded anything themselves. */
static void count_watched(const struct recorder *r, struct drain_totals *totals)
{
	struct watch_totals watched = { 0 };

	if (r->watch_writer)
		watched = watch_totals(r->watch);
	if (watched.processes > totals->processes)
		totals->processes = watched.processes;
	if (watched.threads > totals->threads)
		totals->threads = watched.threads;
}

/* What could not be written is lost, though it had been read from the rings. */
static struct drain_totals final_totals(struct recorder *r)
{
	struct drain_totals totals = drain_totals(r->drain);
	uint64_t unwritten = trace_writer_totals(r->writer).unwritten;

	totals.recorded -= unwritten;
	totals.lost += unwritten;
	return totals;
}

/* Between steps that may take long, so that it is known when a request to end has come. */
static void look_for_requests(struct recorder *r)
{
	if (r->has_target)
		target_handle_events(&r->target);
}

static void finish(struct recorder *r, struct recorder_result *ret)
{
	struct trace_writer_totals written;
	struct stat st;
	unsigned segment = 0;

	atomic_store(&r->session.page->closed, 1);
	finish_watch(r);
	finish_samples(r);
	tell_program(r, &ret->program);
	look_for_requests(r);
	drain_finish(r->drain, trouble_of(r));
	look_for_requests(r);
	end_looking_on(r);
	(void)trace_writer_flush(r->writer, trouble_of(r));
	trace_writer_ending(r->writer);
	ret->totals = final_totals(r);
	count_watched(r, &ret->totals);
	write_clock_pair(r);
	notes_read(&ret->notes, r->session.folder_fd);
	if (ret->totals.overwritten)
		notes_add(&ret->notes, DRAIN_OVERWRITTEN);
	finish_gpu(r, ret);
	write_closing_info(r, ret);
	(void)trace_writer_flush(r->writer, trouble_of(r));
	written = trace_writer_totals(r->writer);
	ret->events = written.events;
	ret->dropped = written.dropped;
	ret->unwritten = written.unwritten;
	(void)trace_writer_close(r->writer, &segment, trouble_of(r));
	r->writer = NULL;
	(void)trace_file_publish(&r->file, segment, trouble_of(r));
	ret->place = r->file.place;
	if (stat(r->file.path, &st) == 0)
		ret->trace_bytes = (uint64_t)st.st_size;
	drain_free(r->drain);
	session_end(&r->session);
	look_for_requests(r);
	ret->requests = r->target.requests;
	ret->trouble = r->trouble;
}

static struct recorder *recorder_new(const struct recorder_options *options, struct recorder_result *ret)
{
	struct recorder *r = calloc(1, sizeof *r);

	*ret = (struct recorder_result){ 0 };
	if (!r)
		return NULL;
	r->options = options;
	r->target = (struct target)TARGET_INIT;
	r->control = (struct control)CONTROL_INIT;
	r->session = (struct session)SESSION_INIT;
	r->clock = clock_source_best(NULL);
	return r;
}

/* rc: did the recording begin?  Returns it. */
static int recorder_end(struct recorder *r, int rc, struct recorder_result *ret, struct error *err)
{
	if (rc == 0)
		finish(r, ret);
	else
		give_up(r);
	watch_writer_free(r->watch_writer);
	watch_free(r->watch);
	gpu_samples_free(r->samples);
	target_release(&r->target);
	control_close(&r->control);
	if (rc != 0 && err && !err->exit_code)
		err->exit_code = 4;
	free(r);
	return rc;
}

/* ---- The two kinds of recording ---------------------------------------------- */

int recorder_run(const struct recorder_options *options, struct recorder_result *ret, struct error *err)
{
	struct recorder *r = recorder_new(options, ret);
	int rc;

	if (!r)
		return error_set(err, -ENOMEM, "out of memory");
	r->has_target = true;
	rc = target_prepare(&r->target, err);
	if (rc == 0)
		rc = set_up(r, err);
	r->target.adopts = options->wait_all;
	if (rc == 0)
		rc = start(r, err);
	if (rc == 0) {
		r->root = r->target.pid;
		start_watch(r, r->root);
		record_until_end(r);
		ret->exit_status = target_exit_status(&r->target);
		ret->exit_signal = WIFSIGNALED(r->target.status) ? WTERMSIG(r->target.status) : 0;
	}
	return recorder_end(r, rc, ret, err);
}

int recorder_serve(const struct recorder_options *options, const struct recorder_service *service, struct recorder_result *ret,
		   struct error *err)
{
	struct recorder *r = recorder_new(options, ret);
	int rc;

	if (!r)
		return error_set(err, -ENOMEM, "out of memory");
	rc = control_open(&r->control, service->input_fd, service->pid, err);
	if (rc == 0)
		rc = set_up(r, err);
	if (rc == 0) {
		r->root = service->pid;
		start_watch(r, r->root);
		service->ready(service->arg, r->session.folder);
		record_until_end(r);
	}
	return recorder_end(r, rc, ret, err);
}
