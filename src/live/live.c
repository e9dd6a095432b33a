/* live.c - see live.h. */
#include "live/live.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "live/alert_track.h"
#include "live/doing.h"
#include "live/inside.h"
#include "live/lines.h"
#include "live/outside.h"
#include "live/show.h"
#include "record/target.h"
#include "record/watch.h"
#include "system/proc.h"
#include "system/process_end.h"

#define LOG_TAG "live"
#include "base/log.h"

#define FIRST_NS 50000000
#define LINE_NS 1000000000
#define DOING_NS 10000000000 /* between lines of what it does, which are of so many seconds */

struct live {
	struct live_options options;
	int64_t interval_ns;
	struct live_snapshot *snapshot;
	struct live_show *show;  /* NULL: the view is another one */
	struct live_serve *serve; /* NULL: nobody asked for a page */
	struct live_alerts *alerts;
	struct live_actions *actions;
	struct live_outside *outside; /* NULL: nobody looks from outside */
	struct live_inside *inside;   /* NULL: nothing is recorded */
	struct doing doing;
	struct live_alert_track track;
	const struct target *target;  /* NULL: not a child of ours */
	pid_t pid;
	enum clock_source clock;
	int64_t begin_ns, last_ns, due_ns, line_ns, doing_ns;
	char steps[LIVE_TEXT]; /* as they were told last */
	int64_t asleep_ns; /* before the beginning */
	int64_t start_ns; /* by the clock of the day; 0: before us */
	bool suspended;
	bool unread; /* there were lines, and whoever read them has gone */
	struct buffer text; /* of lines */
};

static int64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int64_t now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

/* What CLOCK_MONOTONIC leaves out and the ticks that steps are stamped with may not.  In this order it is never too much. */
static int64_t asleep_ns(void)
{
	int64_t boot = read_clock(CLOCK_BOOTTIME);

	return boot - now_ns();
}

/* ---- Making one ------------------------------------------------------------------------- */

/* A terminal on which there can be no view is no reason not to run the program. */
static void open_view(struct live *live)
{
	const struct live_show_options options = {
		.color = live->options.color,
		.title = live->options.title,
		.hint = live_url(live),
		.output = live->options.output,
	};
	struct error err = { 0 };

	if (live->options.view != LIVE_VIEW_TERMINAL || live_show_new(&live->show, &options, &err) == 0)
		return;
	log_warn("%s; there are lines instead", err.text);
	live->options.view = LIVE_VIEW_LINES;
}

static int make_parts(struct live *live, struct error *err)
{
	const struct live_options *o = &live->options;
	int rc = live_alerts_new(&live->alerts, &o->alerts, err);

	if (rc == 0)
		rc = live_actions_new(&live->actions, o->actions, o->action_count, err);
	if (rc == 0 && o->serve.address)
		rc = live_serve_start(&live->serve, &o->serve, err);
	if (rc == 0)
		open_view(live);
	return rc;
}

int live_new(struct live **ret, const struct live_options *options, struct error *err)
{
	struct live *live = calloc(1, sizeof *live);
	int rc;

	if (live)
		live->snapshot = malloc(sizeof *live->snapshot);
	if (!live || !live->snapshot) {
		free(live);
		return error_set(err, -ENOMEM, "out of memory");
	}
	live->options = *options;
	live->interval_ns = (int64_t)(options->interval_s * 1e9);
	live->clock = clock_source_best(NULL);
	live_snapshot_clear(live->snapshot);
	rc = make_parts(live, err);
	if (rc != 0) {
		live_free(live);
		return rc;
	}
	*ret = live;
	return 0;
}

void live_free(struct live *live)
{
	if (!live)
		return;
	live_show_free(live->show);
	live_serve_stop(live->serve);
	live_inside_free(live->inside);
	live_outside_free(live->outside);
	live_actions_free(live->actions);
	live_alerts_free(live->alerts);
	buffer_release(&live->text);
	free(live->snapshot);
	free(live);
}

void live_streams(const struct live *live, int streams[3])
{
	streams[0] = streams[1] = streams[2] = -1;
	if (live->show)
		live_show_streams(live->show, streams);
}

enum live_view live_view_of(const struct live *live)
{
	return live->options.view;
}

const struct live_snapshot *live_last(const struct live *live)
{
	return live->snapshot;
}

const char *live_url(const struct live *live)
{
	return live->serve ? live_serve_url(live->serve) : NULL;
}

bool live_is_open(const struct live *live)
{
	return live->serve && live_serve_is_open(live->serve);
}

/* ---- A snapshot -------------------------------------------------------------------------- */

static void fill(struct live *live, int64_t now)
{
	struct live_snapshot *s = live->snapshot;
	uint64_t sequence = s->sequence;

	live_snapshot_renew(s);
	s->sequence = sequence + 1;
	s->realtime_ns = read_clock(CLOCK_REALTIME);
	s->start_ns = live->start_ns;
	s->run_s = (double)(now - live->begin_ns) / 1e9;
	s->interval_s = (double)(now - (live->last_ns ? live->last_ns : live->begin_ns)) / 1e9;
	snprintf(s->command, sizeof s->command, "%s", live->options.command ? live->options.command : "");
	snprintf(s->program, sizeof s->program, "%s", live->options.program ? live->options.program : "");
	s->pid = live->pid;
	if (live->outside)
		live_outside_fill(live->outside, now, s);
	if (live->inside)
		live_inside_fill(live->inside, clock_ticks(live->clock), s);
	if (live->target)
		s->state = live->target->stopped ? LIVE_STOPPED : LIVE_RUNNING;
	doing_fill(&live->doing, s);
	s->asleep_s = (double)(asleep_ns() - live->asleep_ns) / 1e9; /* after the ticks, which may have it in them */
	live->last_ns = now;
}

/* ---- What is done with it ----------------------------------------------------------------- */

/* Lines that nobody will read are not made any more; what is recorded goes on. */
static void print(struct live *live)
{
	if (live->options.print && live->text.size > 0 &&
	    live->options.print(live->options.print_arg, (const char *)live->text.data, live->text.size) < 0) {
		live->options.view = LIVE_VIEW_NONE;
		live->unread = true;
	}
	buffer_clear(&live->text);
}

static void tell_alerts(struct live *live)
{
	struct live_alert alert;

	while (live_alerts_next(live->alerts, &alert)) {
		live_actions_take(live->actions, &alert);
		if (live->track.writer)
			(void)live_alert_track_write(&live->track, &alert, NULL);
		if (live->options.view == LIVE_VIEW_LINES)
			(void)live_alert_line(&live->text, &alert, live->options.color);
	}
}

static void publish(struct live *live)
{
	if (live->show)
		live_show_update(live->show, live->snapshot);
	if (live->serve)
		live_serve_publish(live->serve, live->snapshot);
}

/* One a second, by the snapshot that is nearest.  The first would have no rates. */
static void take_line(struct live *live, int64_t now)
{
	if (live->options.view != LIVE_VIEW_LINES || live->snapshot->sequence < 2 || now - live->line_ns < LINE_NS - live->interval_ns / 2)
		return;
	(void)live_line(&live->text, live->snapshot);
	live->line_ns += LINE_NS;
	if (now - live->line_ns >= LINE_NS)
		live->line_ns = now;
}

static void take_doing_line(struct live *live, int64_t now)
{
	if (live->options.view != LIVE_VIEW_LINES || now - live->doing_ns < DOING_NS - live->interval_ns / 2)
		return;
	(void)live_doing_line(&live->text, live->snapshot);
	live->doing_ns = now;
}

/* Once, and again when it is another way, or another trouble. */
static void take_steps_line(struct live *live)
{
	const struct live_steps *s = &live->snapshot->steps;
	const char *words = s->known ? s->found : s->trouble;

	if (live->options.view != LIVE_VIEW_LINES || !words[0] || strcmp(words, live->steps) == 0)
		return;
	(void)live_steps_line(&live->text, live->snapshot);
	snprintf(live->steps, sizeof live->steps, "%s", words);
}

static void look(struct live *live, int64_t now)
{
	fill(live, now);
	live_alerts_judge(live->alerts, live->snapshot);
	take_line(live, now);
	take_doing_line(live, now);
	take_steps_line(live);
	tell_alerts(live);
	print(live);
	publish(live);
	live->due_ns += live->interval_ns;
	if (live->due_ns <= now) /* we were held up, or everybody was */
		live->due_ns = now + live->interval_ns;
}

static void begin(struct live *live, pid_t pid)
{
	live->pid = pid;
	live->asleep_ns = asleep_ns();
	live->begin_ns = live->line_ns = live->doing_ns = now_ns();
	live->due_ns = live->begin_ns + FIRST_NS;
}

/* status: of wait(); NULL: not known. */
static void fill_ending(struct live_snapshot *s, const int *status)
{
	s->state = LIVE_ENDED;
	s->exit_signal = status && WIFSIGNALED(*status) ? WTERMSIG(*status) : 0;
	s->exit_status = !status ? -1 : s->exit_signal ? 128 + s->exit_signal : WEXITSTATUS(*status);
}

static void end(struct live *live, const int *status)
{
	struct live_snapshot *s = live->snapshot;

	if (live->show)
		live_show_end(live->show);
	s->sequence++;
	s->realtime_ns = read_clock(CLOCK_REALTIME);
	s->run_s = (double)(now_ns() - live->begin_ns) / 1e9;
	fill_ending(s, status);
	s->death_count = 0;
	if (live->outside)
		live_outside_end(live->outside, s);
	live_alerts_judge(live->alerts, s);
	tell_alerts(live);
	print(live);
	if (live->serve)
		live_serve_publish(live->serve, s);
	live_inside_free(live->inside);
	live_outside_free(live->outside);
	live->inside = NULL;
	live->outside = NULL;
	live->target = NULL;
	live->track.writer = NULL;
}

/* ---- As the recorder's onlooker ------------------------------------------------------------- */

/* Without one of the parts, what it would have told is not known; the recording goes on. */
static void begin_parts(struct live *live, const struct recorder_scene *scene)
{
	const struct live_inside_options options = {
		.clock = scene->clock,
		.start_ticks = scene->start_ticks,
		.step = live->options.step,
		.trace_partial = scene->trace_partial,
		.writer = scene->writer,
	};

	if (scene->watch && live_outside_new(&live->outside, scene->watch, scene->root) != 0)
		log_warn("nothing is looked at from outside, for lack of memory");
	if (live->outside)
		live_outside_share(live->outside, scene);
	if (live_inside_new(&live->inside, scene->drain, &options) != 0)
		log_warn("nothing of what is recorded is shown, for lack of memory");
	live_actions_attach(live->actions, scene);
}

static void onlooker_begin(void *arg, const struct recorder_scene *scene)
{
	struct live *live = arg;
	struct error err = { 0 };

	live->clock = scene->clock;
	live->target = scene->target;
	live->track = (struct live_alert_track){ .drain = scene->drain, .writer = scene->writer, .clock = scene->clock };
	live->start_ns = read_clock(CLOCK_REALTIME);
	begin(live, scene->root);
	begin_parts(live, scene);
	if (live->show && live_show_start(live->show, scene->root, &err) != 0)
		log_warn("%s", err.text);
}

static int64_t onlooker_tick(void *arg)
{
	struct live *live = arg;
	int64_t now = now_ns();

	if (live->suspended) {
		live->suspended = false;
		live_show_resume(live->show);
	}
	live_actions_tick(live->actions);
	if (now >= live->due_ns)
		look(live, now);
	return live->due_ns;
}

/* With the terminal as it was. */
static void onlooker_stopping(void *arg)
{
	struct live *live = arg;

	if (!live->show)
		return;
	live_show_suspend(live->show);
	live->suspended = true;
}

static void onlooker_end(void *arg)
{
	struct live *live = arg;

	end(live, live->target && live->target->ended ? &live->target->status : NULL);
	live_actions_detach(live->actions);
}

struct recorder_onlooker live_onlooker(struct live *live)
{
	return (struct recorder_onlooker){
		.arg = live,
		.begin = onlooker_begin,
		.tick = onlooker_tick,
		.stopping = onlooker_stopping,
		.end = onlooker_end,
	};
}

/* ---- Alone ----------------------------------------------------------------------------------- */

struct top {
	struct live *live;
	struct watch *watch;
	int pid_fd, stat_fd, signal_fd;
	sigset_t mask; /* from before */
	bool done, ended;
};

static int open_process(struct top *top, pid_t pid, struct error *err)
{
	top->pid_fd = process_end_open(pid);
	top->stat_fd = proc_open(pid, 0, "stat");
	if (top->pid_fd >= 0)
		return 0;
	if (err)
		err->exit_code = 4;
	if (top->pid_fd == -ESRCH)
		error_set(err, -ESRCH, "there is no process %d", (int)pid);
	else if (top->pid_fd == -EINVAL || top->pid_fd == -ENOENT) /* before Linux 6.15, and since */
		error_set(err, -EINVAL, "%d is a thread and not a process", (int)pid);
	else
		error_errno(err, top->pid_fd, "cannot look at process %d", (int)pid);
	return err ? err->code : -EINVAL;
}

static int take_signals(struct top *top, struct error *err)
{
	sigset_t all;

	sigfillset(&all);
	if (pthread_sigmask(SIG_BLOCK, &all, &top->mask) != 0)
		return error_set(err, -EINVAL, "cannot block signals");
	top->signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	return top->signal_fd < 0 ? error_errno(err, -errno, "cannot open a signal descriptor") : 0;
}

static int top_open(struct top *top, pid_t pid, struct error *err)
{
	struct live *live = top->live;
	struct watch_options options = { .slot_ns = live->interval_ns, .views = true };
	int rc = open_process(top, pid, err);

	if (options.slot_ns < WATCH_SLOT_NS)
		options.slot_ns = WATCH_SLOT_NS;
	if (options.slot_ns > WATCH_SLOT_MAX_NS)
		options.slot_ns = WATCH_SLOT_MAX_NS;
	if (rc == 0)
		rc = take_signals(top, err);
	if (rc == 0)
		rc = watch_start(&top->watch, pid, live->clock, &options, err);
	if (rc == 0 && live_outside_new(&live->outside, top->watch, pid) != 0)
		rc = error_set(err, -ENOMEM, "out of memory");
	begin(live, pid);
	if (rc == 0 && live->show)
		rc = live_show_start(live->show, 0, err);
	return rc;
}

static void top_close(struct top *top)
{
	if (top->watch) {
		watch_stop(top->watch);
		watch_free(top->watch);
	}
	if (top->pid_fd >= 0)
		close(top->pid_fd);
	if (top->stat_fd >= 0)
		close(top->stat_fd);
	if (top->signal_fd < 0)
		return;
	close(top->signal_fd);
	pthread_sigmask(SIG_SETMASK, &top->mask, NULL);
}

static void stop_ourselves(struct top *top)
{
	if (top->live->show)
		live_show_suspend(top->live->show);
	(void)kill(getpid(), SIGSTOP);
	if (top->live->show)
		live_show_resume(top->live->show);
}

static void top_signals(struct top *top)
{
	struct signalfd_siginfo info;

	while (read(top->signal_fd, &info, sizeof info) == sizeof info) {
		switch (info.ssi_signo) {
		case SIGINT:
		case SIGTERM:
		case SIGHUP:
		case SIGQUIT:
			top->done = true;
			break;
		case SIGTSTP:
			stop_ourselves(top);
			break;
		}
	}
}

static void top_wait(struct top *top)
{
	struct live *live = top->live;
	int64_t left = live->due_ns - now_ns();
	struct timespec ts = { left > 0 ? left / 1000000000 : 0, left > 0 ? left % 1000000000 : 0 };
	struct pollfd fds[] = {
		{ .fd = top->pid_fd, .events = POLLIN },
		{ .fd = top->signal_fd, .events = POLLIN },
		{ .fd = live->show ? live_show_done_fd(live->show) : -1, .events = POLLIN },
	};

	if (ppoll(fds, 3, &ts, NULL) <= 0)
		return;
	top->ended = fds[0].revents != 0;
	if (fds[1].revents)
		top_signals(top);
	top->done = top->done || top->ended || fds[2].revents;
}

/* It may be that nobody tells us, who are not its parent. */
static void top_end(const struct top *top)
{
	int status;
	bool known = process_end_status(top->pid_fd, top->stat_fd, &status) == 0;

	end(top->live, known ? &status : NULL);
}

int live_top(struct live *live, pid_t pid, struct error *err)
{
	struct top top = { .live = live, .pid_fd = -1, .stat_fd = -1, .signal_fd = -1 };
	int rc = top_open(&top, pid, err);

	while (rc == 0 && !top.done) {
		int64_t now = now_ns();

		live_actions_tick(live->actions);
		if (now >= live->due_ns)
			look(live, now);
		if ((live->options.looks && live->snapshot->sequence >= live->options.looks) || (live->unread && !live->serve))
			break;
		top_wait(&top);
	}
	if (rc == 0 && top.ended)
		top_end(&top);
	else if (live->show)
		live_show_end(live->show);
	live_outside_free(live->outside); /* which borrows the watch */
	live->outside = NULL;
	top_close(&top);
	return rc;
}
