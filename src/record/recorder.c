#include "record/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/describe.h"
#include "record/target.h"
#include "record/trace_file.h"

#define NAP_MIN_US 500
#define NAP_MAX_US 8000
#define BUSY_SLOTS 2048     /* moved in one pass: look again soon */
#define FLUSH_NS 250000000  /* no event is older than this when it reaches the file */
#define CLOCK_NS 1000000000
#define REAP_NS 20000000

struct recorder {
	const struct recorder_options *options;
	struct target target;
	struct trace_file file;
	struct session session;
	struct trace_writer *writer;
	struct drain *drain;
	enum clock_source clock;
	int64_t start_ticks;
	int64_t last_flush_ns, last_clock_ns, last_reap_ns;
	uint32_t nap_us;
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

static void write_closing_info(struct recorder *r, const struct drain_totals *totals)
{
	bool signaled = WIFSIGNALED(r->target.status);
	const struct describe_ending ending = {
		.exit_status = target_exit_status(&r->target),
		.signal = signaled ? WTERMSIG(r->target.status) : 0,
		.complete = true,
	};

	(void)describe_ending(r->writer, &ending, totals, trouble_of(r));
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
	};
	int rc = describe_machine(r->writer, r->clock);

	if (rc == 0)
		rc = describe_beginning(r->writer, o->argv, r->start_ticks, &settings, err);
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
	return rc;
}

static void give_up(struct recorder *r)
{
	drain_free(r->drain);
	session_end(&r->session);
	trace_writer_abandon(r->writer);
	if (r->file.partial[0])
		trace_file_remove(&r->file);
	target_release(&r->target);
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

static int start(struct recorder *r, struct error *err)
{
	char session[SESSION_PATH_MAX + 32], runtime[4096 + 32], enabled[] = "INFERSCOPE_ENABLED=1";
	char *added[] = { session, runtime, enabled, NULL };
	int rc;

	snprintf(session, sizeof session, "INFERSCOPE_SESSION=%s", r->session.folder);
	snprintf(runtime, sizeof runtime, "INFERSCOPE_RUNTIME=%s", r->options->runtime_path);
	rc = target_start(&r->target, r->options->argv, added, err);
	if (rc == 0 && r->options->leave_streams)
		leave_streams();
	return rc;
}

/* ---- The loop ---------------------------------------------------------------- */

/* Sleeps for the nap, or until a signal comes (the end of the program is one). */
static void nap(struct recorder *r)
{
	struct pollfd fd = { .fd = r->target.signal_fd, .events = POLLIN };
	struct timespec ts = { 0, (long)r->nap_us * 1000 };

	(void)ppoll(&fd, 1, &ts, NULL);
}

/* Soon again while there is much to do, rarely when there is not: a reader that polls doubles the producer's cost. */
static void adjust_nap(struct recorder *r, int64_t moved)
{
	if (moved >= BUSY_SLOTS)
		r->nap_us = NAP_MIN_US;
	else if (r->nap_us < NAP_MAX_US)
		r->nap_us = r->nap_us * 2 < NAP_MAX_US ? r->nap_us * 2 : NAP_MAX_US;
}

static void do_periodic(struct recorder *r)
{
	int64_t now = now_ns();

	if (now - r->last_reap_ns >= REAP_NS) {
		drain_reap(r->drain, trouble_of(r));
		r->last_reap_ns = now;
	}
	if (now - r->last_flush_ns >= FLUSH_NS) {
		(void)trace_writer_flush(r->writer, trouble_of(r));
		r->last_flush_ns = now;
	}
	if (now - r->last_clock_ns >= CLOCK_NS)
		write_clock_pair(r);
}

static void record_until_end(struct recorder *r)
{
	r->nap_us = NAP_MIN_US;
	while (!r->target.ended) {
		nap(r);
		target_handle_events(&r->target);
		adjust_nap(r, drain_pass(r->drain, trouble_of(r)));
		do_periodic(r);
		if (r->target.stopped) {
			(void)trace_writer_flush(r->writer, trouble_of(r));
			target_stop_along(&r->target);
		}
	}
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

static void finish(struct recorder *r, struct recorder_result *ret)
{
	struct trace_writer_totals written;
	struct stat st;
	unsigned segment = 0;

	atomic_store(&r->session.page->closed, 1);
	drain_finish(r->drain, trouble_of(r));
	(void)trace_writer_flush(r->writer, trouble_of(r));
	ret->totals = final_totals(r);
	write_clock_pair(r);
	write_closing_info(r, &ret->totals);
	(void)trace_writer_flush(r->writer, trouble_of(r));
	written = trace_writer_totals(r->writer);
	ret->events = written.events;
	ret->dropped = written.dropped;
	ret->unwritten = written.unwritten;
	(void)trace_writer_close(r->writer, &segment, trouble_of(r));
	r->writer = NULL;
	(void)trace_file_publish(&r->file, segment, &ret->kept_old, trouble_of(r));
	if (stat(r->file.path, &st) == 0)
		ret->trace_bytes = (uint64_t)st.st_size;
	drain_free(r->drain);
	session_end(&r->session);
	ret->trouble = r->trouble;
}

int recorder_run(const struct recorder_options *options, struct recorder_result *ret, struct error *err)
{
	struct recorder *r = calloc(1, sizeof *r);
	int rc;

	if (!r)
		return error_set(err, -ENOMEM, "out of memory");
	*ret = (struct recorder_result){ 0 };
	r->options = options;
	r->session = (struct session)SESSION_INIT;
	r->clock = clock_source_best(NULL);
	rc = target_prepare(&r->target, err);
	if (rc == 0)
		rc = set_up(r, err);
	if (rc == 0)
		rc = start(r, err);
	if (rc == 0) {
		ret->started = true;
		record_until_end(r);
		ret->exit_status = target_exit_status(&r->target);
		finish(r, ret);
		target_release(&r->target);
	} else {
		give_up(r);
	}
	if (rc != 0 && err && !err->exit_code)
		err->exit_code = 4;
	free(r);
	return rc;
}
