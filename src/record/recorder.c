#include "record/recorder.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/msgpack.h"
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

/* ---- What is said in the trace besides events -------------------------------- */

static void write_clock_pair(struct recorder *r)
{
	struct clock_reading now;
	struct trace_clock_pair pair;

	clock_read_all(r->clock, &now);
	pair = (struct trace_clock_pair){ now.ticks, now.width, now.raw_ns, now.monotonic_ns, now.realtime_ns };
	(void)trace_writer_clock_pairs(r->writer, 0, &pair, 1, trouble_of(r));
	r->last_clock_ns = now_ns();
}

static void write_info(struct recorder *r, struct buffer *map)
{
	(void)trace_writer_info(r->writer, map->data, map->size, trouble_of(r));
	buffer_release(map);
}

static void put_command(struct buffer *map, char *const *argv)
{
	uint32_t count = 0;

	while (argv[count])
		count++;
	msgpack_write_array(map, count);
	for (uint32_t i = 0; i < count; i++)
		msgpack_write_string(map, argv[i], strlen(argv[i]));
}

static void put_settings(struct buffer *map, const struct recorder_options *o)
{
	static const char *const overflow[] = { "wrap", "discard", "block" };

	msgpack_write_map(map, 4);
	msgpack_write_text(map, "trace_size_mb");
	msgpack_write_int(map, (int64_t)(o->budget_bytes >> 20));
	msgpack_write_text(map, "overflow");
	msgpack_write_text(map, overflow[o->overflow]);
	msgpack_write_text(map, "max_file_mb");
	msgpack_write_int(map, (int64_t)(o->max_file_bytes >> 20));
	msgpack_write_text(map, "last_seconds");
	msgpack_write_double(map, o->last_seconds);
}

static void write_opening_info(struct recorder *r)
{
	struct buffer map = BUFFER_INIT;
	char cwd[4096] = "", host[256] = "";

	(void)!getcwd(cwd, sizeof cwd);
	(void)gethostname(host, sizeof host - 1);
	msgpack_write_map(&map, 6);
	msgpack_write_text(&map, "producer");
	msgpack_write_text(&map, "inferscope " INFERSCOPE_VERSION);
	msgpack_write_text(&map, "command");
	put_command(&map, r->options->argv);
	msgpack_write_text(&map, "cwd");
	msgpack_write_text(&map, cwd);
	msgpack_write_text(&map, "hostname");
	msgpack_write_text(&map, host);
	msgpack_write_text(&map, "start_ticks");
	msgpack_write_int(&map, r->start_ticks);
	msgpack_write_text(&map, "settings");
	put_settings(&map, r->options);
	write_info(r, &map);
}

static void write_closing_info(struct recorder *r, const struct drain_totals *totals)
{
	struct buffer map = BUFFER_INIT;
	bool signaled = WIFSIGNALED(r->target.status);

	msgpack_write_map(&map, 8);
	msgpack_write_text(&map, "exit_status");
	msgpack_write_int(&map, target_exit_status(&r->target));
	msgpack_write_text(&map, "signal");
	msgpack_write_int(&map, signaled ? WTERMSIG(r->target.status) : 0);
	msgpack_write_text(&map, "produced");
	msgpack_write_int(&map, (int64_t)totals->produced);
	msgpack_write_text(&map, "recorded");
	msgpack_write_int(&map, (int64_t)totals->recorded);
	msgpack_write_text(&map, "lost");
	msgpack_write_int(&map, (int64_t)totals->lost);
	msgpack_write_text(&map, "names_refused");
	msgpack_write_int(&map, (int64_t)totals->names_refused);
	msgpack_write_text(&map, "refused_processes");
	msgpack_write_int(&map, totals->refused_processes);
	msgpack_write_text(&map, "complete");
	msgpack_write_bool(&map, true);
	write_info(r, &map);
}

static uint32_t intern(struct recorder *r, const char *text)
{
	return trace_writer_string(r->writer, text, strlen(text));
}

/* Host, clock, and the track on which losses that belong to no thread are reported. */
static void describe_machine(struct recorder *r)
{
	struct utsname uts = { 0 };
	char host[256] = "", system[sizeof uts.sysname + sizeof uts.release + 2];
	struct trace_host entry;
	struct trace_clock clock = { .kind = (uint8_t)r->clock, .rate = clock_measure_rate(r->clock) };
	struct trace_track track = { .kind = TRACK_PROCESS, .process = -1, .device = -1, .parent = -1 };

	uname(&uts);
	(void)gethostname(host, sizeof host - 1);
	snprintf(system, sizeof system, "%s %s", uts.sysname, uts.release);
	entry = (struct trace_host){ .name = intern(r, host), .system = intern(r, system), .machine = intern(r, uts.machine) };
	clock.name = intern(r, clock_source_name(r->clock));
	track.name = intern(r, "recorder");
	(void)trace_writer_host(r->writer, &entry);
	(void)trace_writer_clock(r->writer, &clock);
	(void)trace_writer_track(r->writer, &track);
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
	if (rc == 0) {
		describe_machine(r);
		write_opening_info(r);
		write_clock_pair(r);
		rc = r->trouble.code;
		if (rc != 0 && err)
			*err = r->trouble;
	}
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

static int start(struct recorder *r, struct error *err)
{
	char session[SESSION_PATH_MAX + 32], runtime[4096 + 32], enabled[] = "INFERSCOPE_ENABLED=1";
	char *added[] = { session, runtime, enabled, NULL };

	snprintf(session, sizeof session, "INFERSCOPE_SESSION=%s", r->session.folder);
	snprintf(runtime, sizeof runtime, "INFERSCOPE_RUNTIME=%s", r->options->runtime_path);
	return target_start(&r->target, r->options->argv, added, err);
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

static void finish(struct recorder *r, struct recorder_result *ret)
{
	struct trace_writer_totals written;
	struct stat st;
	unsigned segment = 0;

	atomic_store(&r->session.page->closed, 1);
	drain_finish(r->drain, trouble_of(r));
	ret->totals = drain_totals(r->drain);
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
