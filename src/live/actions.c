/* actions.c - see actions.h. */
#include "live/actions.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "live/actions_state.h"
#include "live/names.h"
#include "record/orphans.h"

#define LOG_TAG "actions"
#include "base/log.h"

#define SNAPSHOT_S 30.0
#define SNAPSHOT_MAX_S 86400.0
#define END_NS 5000000000 /* that what still runs is waited for at the end */

struct action_state {
	struct live_action action;
	int log_fd; /* -1: none */
	struct action_child child;
	struct action_copy copy;
	struct live_alert waiting; /* for the next tick: a copy, when the alert is in the trace, or what became worse; number 0: none */
	bool told_failure, told_left_out; /* each is said once */
};

struct live_actions {
	struct action_state *list;
	size_t count;
	struct action_source source;
	const struct target *target; /* who waits for children of ours as well; NULL: nobody does */
};

/* ---- What was asked for -------------------------------------------------------------- */

static int refuse(struct error *err, const char *text, const char *why)
{
	if (err)
		err->exit_code = 2;
	return error_set(err, -EINVAL,
			 "'%.100s' %s; write KIND=log:FILE, KIND=command:COMMAND or KIND=snapshot:SECONDS, where KIND is a kind of alert or a "
			 "pattern as '*'", text, why);
}

static const struct {
	const char *word;
	enum live_action_sort sort;
	bool needs; /* an argument */
} sorts[] = {
	{ "log", LIVE_ACTION_LOG, true },
	{ "command", LIVE_ACTION_COMMAND, true },
	{ "snapshot", LIVE_ACTION_SNAPSHOT, false },
};
#define SORTS (sizeof sorts / sizeof *sorts)

static int parse_seconds(struct live_action *action, const char *text, struct error *err)
{
	char *end = NULL;

	action->seconds = SNAPSHOT_S;
	if (!action->argument[0])
		return 0;
	action->seconds = strtod(action->argument, &end);
	if (*end || !isfinite(action->seconds) || action->seconds <= 0 || action->seconds > SNAPSHOT_MAX_S)
		return refuse(err, text, "has no number of seconds that a snapshot can have");
	return 0;
}

int live_action_parse(struct live_action *ret, const char *text, struct error *err)
{
	const char *equals = strchr(text, '='), *word = equals ? equals + 1 : "", *argument;
	size_t kinds = equals ? (size_t)(equals - text) : 0, size = strcspn(word, ":"), i = 0;
	struct live_action action = { .seconds = 0 };
	int rc = 0;

	argument = word[size] ? word + size + 1 : "";
	if (kinds == 0 || kinds >= sizeof action.kinds)
		return refuse(err, text, "names no kind of alert");
	while (i < SORTS && (strlen(sorts[i].word) != size || memcmp(sorts[i].word, word, size) != 0))
		i++;
	if (i == SORTS)
		return refuse(err, text, "says nothing that could be done");
	if ((sorts[i].needs && !argument[0]) || strlen(argument) >= sizeof action.argument)
		return refuse(err, text, sorts[i].sort == LIVE_ACTION_LOG ? "names no file" : "names no command");
	action.sort = sorts[i].sort;
	memcpy(action.kinds, text, kinds);
	memcpy(action.argument, argument, strlen(argument));
	if (action.sort == LIVE_ACTION_SNAPSHOT)
		rc = parse_seconds(&action, text, err);
	if (rc == 0)
		*ret = action;
	return rc;
}

/* ---- Processes -------------------------------------------------------------------------- */

int64_t action_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void action_child_set(struct action_child *child, pid_t pid)
{
	orphans_exclude(pid);
	*child = (struct action_child){ .pid = pid, .deadline_ns = action_now_ns() + ACTION_LIMIT_NS };
	child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
}

bool action_child_runs(const struct action_child *child)
{
	struct pollfd fd = { .fd = child->pidfd, .events = POLLIN };
	siginfo_t news = { 0 };

	if (child->pid == 0)
		return false;
	if (child->pidfd >= 0)
		return poll(&fd, 1, 0) == 0;
	return waitid(P_PID, (id_t)child->pid, &news, WEXITED | WNOHANG | WNOWAIT) == 0 && news.si_pid == 0;
}

int action_child_forget(struct action_child *child, const struct target *target)
{
	int status = -1;

	if (child->pid && waitpid(child->pid, &status, WNOHANG) != child->pid && !(target && target_other_status(target, child->pid, &status)))
		status = -1;
	if (child->pidfd >= 0)
		close(child->pidfd);
	*child = (struct action_child){ .pidfd = -1 };
	return status;
}

/* It leads a group of its own, which has its number for as long as it is there itself. */
void action_child_kill(struct action_child *child)
{
	struct pollfd fd = { .fd = child->pidfd, .events = POLLIN };

	if (!action_child_runs(child))
		return;
	(void)kill(-child->pid, SIGKILL);
	(void)kill(child->pid, SIGKILL);
	if (child->pidfd >= 0)
		(void)poll(&fd, 1, 1000);
}

/* ---- What came of it ----------------------------------------------------------------------- */

/* A command that fails does so again and again; so does a copy where the disk is full. */
static void tell_failure(struct action_state *state, const char *what, const char *why)
{
	if (!state->told_failure)
		log_warn("%s: %s; it is said once kinds=%s", what, why, state->action.kinds);
	state->told_failure = true;
}

static void settle(struct live_actions *a, struct action_state *state)
{
	bool copied = state->copy.result;
	int status = action_child_forget(&state->child, a->target);
	struct error err = { 0 };
	char why[64];

	if (copied) {
		if (action_copy_end(&state->copy, &err) != 0)
			tell_failure(state, "cannot keep the last seconds of the trace", err.text);
		return;
	}
	if (status <= 0)
		return;
	if (WIFSIGNALED(status))
		snprintf(why, sizeof why, "signal %d ended it", WTERMSIG(status));
	else
		snprintf(why, sizeof why, "it ended with status %d", WEXITSTATUS(status));
	tell_failure(state, "the command for an alert failed", why);
}

/* Whether what was started for it still runs; when it has ended, what came of it is seen to. */
static bool is_busy(struct live_actions *a, struct action_state *state)
{
	if (state->child.pid && !action_child_runs(&state->child))
		settle(a, state);
	return state->child.pid != 0;
}

static void end_late(struct live_actions *a, struct action_state *state)
{
	if (!is_busy(a, state))
		return;
	log_warn("what was started for an alert takes too long, and is ended kinds=%s", state->action.kinds);
	action_child_kill(&state->child);
	state->told_failure = true;
	settle(a, state);
}

/* ---- All of it ------------------------------------------------------------------------------ */

static int open_log(struct action_state *state, struct error *err)
{
	const char *path = state->action.argument;

	state->log_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
	if (state->log_fd >= 0)
		return 0;
	if (err)
		err->exit_code = 4;
	return error_errno(err, -errno, "cannot open %s, for alerts", path);
}

int live_actions_new(struct live_actions **ret, const struct live_action *list, size_t count, struct error *err)
{
	struct live_actions *a = calloc(1, sizeof *a);
	int rc = 0;

	if (a)
		a->list = calloc(count + 1, sizeof *a->list);
	if (!a || !a->list) {
		free(a);
		return error_set(err, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < count && rc == 0; i++) {
		a->list[i] = (struct action_state){ .action = list[i], .log_fd = -1, .child = { .pidfd = -1 }, .copy = ACTION_COPY_INIT };
		a->count++;
		if (list[i].sort == LIVE_ACTION_LOG)
			rc = open_log(&a->list[i], err);
	}
	if (rc != 0) {
		live_actions_free(a);
		return rc;
	}
	*ret = a;
	return 0;
}

static bool wants_copies(const struct live_actions *a)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->list[i].action.sort == LIVE_ACTION_SNAPSHOT)
			return true;
	return false;
}

void live_actions_attach(struct live_actions *a, const struct recorder_scene *scene)
{
	if (a)
		a->target = scene->target;
	if (!a || !wants_copies(a) || !scene->trace_partial || strlen(scene->trace_partial) >= sizeof a->source.partial)
		return;
	strcpy(a->source.partial, scene->trace_partial);
	a->source.clock = scene->clock;
	a->source.rate = (double)clock_measure_rate(scene->clock);
	a->source.drain = scene->drain;
	a->source.writer = scene->writer;
}

static bool matches(const struct live_action *action, const struct live_alert *alert)
{
	bool named = strncmp(alert->kind, "rule", 4) == 0 || strcmp(alert->kind, "custom") == 0;

	return fnmatch(action->kinds, alert->kind, 0) == 0 || (named && fnmatch(action->kinds, alert->subject, 0) == 0);
}

static void write_line(const struct action_state *state, const struct live_alert *alert)
{
	char subject[2 * LIVE_NAME], text[2 * LIVE_TEXT], when[32], line[1200];
	time_t now = time(NULL);
	struct tm tm;
	int n;

	action_safe_text(alert->subject, subject, sizeof subject);
	action_safe_text(alert->text, text, sizeof text);
	strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	n = snprintf(line, sizeof line, "%s %s %s %s%s%s%s #%llu %s\n", when, live_phase_name(alert), live_severity_name(alert->severity),
		     alert->kind, subject[0] ? " [" : "", subject, subject[0] ? "]" : "", (unsigned long long)alert->number, text);
	n = n < (int)sizeof line ? n : (int)sizeof line - 1;
	if (write(state->log_fd, line, (size_t)n) != n)
		log_warn("cannot write to the log of alerts file=%s", state->action.argument);
}

static void run_command(struct live_actions *a, struct action_state *state, const struct live_alert *alert)
{
	int rc;

	if (!alert->active)
		return;
	if (is_busy(a, state) && alert->worse_s > 0) {
		state->waiting = *alert;
		return;
	}
	if (is_busy(a, state)) {
		log_info("the command for an alert still runs, and is not started again kind=%s", alert->kind);
		return;
	}
	rc = action_command(&state->child, state->action.argument, alert);
	if (rc != 0)
		log_warn("cannot run the command for an alert error=%s", strerror(-rc));
}

/* Of several copies for one alert, which would have the same name, the longest has what is in the others. */
static bool is_longest(const struct live_actions *a, const struct action_state *state, const struct live_alert *alert)
{
	for (size_t i = 0; i < a->count; i++) {
		const struct action_state *other = &a->list[i];

		if (other != state && other->action.sort == LIVE_ACTION_SNAPSHOT && matches(&other->action, alert) &&
		    (other->action.seconds > state->action.seconds || (other->action.seconds == state->action.seconds && other < state)))
			return false;
	}
	return true;
}

static void want_copy(struct live_actions *a, struct action_state *state, const struct live_alert *alert)
{
	if (!alert->active || alert->worse_s > 0 || !a->source.partial[0] || !is_longest(a, state, alert))
		return;
	if (!state->waiting.number) {
		state->waiting = *alert;
		return;
	}
	if (!state->told_left_out)
		log_warn("alerts come faster than the last seconds of the trace can be copied, and some have no copy; it is said once kinds=%s",
			 state->action.kinds);
	state->told_left_out = true;
}

void live_actions_take(struct live_actions *a, const struct live_alert *alert)
{
	for (size_t i = 0; a && i < a->count; i++) {
		struct action_state *state = &a->list[i];

		if (!matches(&state->action, alert))
			continue;
		if (state->action.sort == LIVE_ACTION_LOG)
			write_line(state, alert);
		else if (state->action.sort == LIVE_ACTION_COMMAND)
			run_command(a, state, alert);
		else
			want_copy(a, state, alert);
	}
}

static void start_copy(struct live_actions *a, struct action_state *state, const struct live_alert *alert)
{
	struct error err = { 0 };

	if (a->source.partial[0] &&
	    action_snapshot(&state->copy, &state->child, &a->source, alert->number, state->action.seconds, &err) != 0)
		tell_failure(state, "cannot keep the last seconds of the trace", err.text);
}

static void start_waiting(struct live_actions *a, struct action_state *state)
{
	struct live_alert alert = state->waiting;

	if (is_busy(a, state))
		return;
	state->waiting.number = 0;
	if (state->action.sort == LIVE_ACTION_COMMAND)
		run_command(a, state, &alert);
	else
		start_copy(a, state, &alert);
}

void live_actions_tick(struct live_actions *a)
{
	for (size_t i = 0; a && i < a->count; i++) {
		struct action_state *state = &a->list[i];

		if (state->waiting.number)
			start_waiting(a, state);
		if (is_busy(a, state) && action_now_ns() >= state->child.deadline_ns)
			end_late(a, state);
	}
}

static bool any_runs(struct live_actions *a, bool copies)
{
	for (size_t i = 0; i < a->count; i++)
		if ((!copies || a->list[i].action.sort == LIVE_ACTION_SNAPSHOT) && is_busy(a, &a->list[i]))
			return true;
	return false;
}

static void wait_for(struct live_actions *a, bool copies)
{
	int64_t until = action_now_ns() + END_NS;
	const struct timespec nap = { 0, 5000000 };

	while (any_runs(a, copies) && action_now_ns() < until)
		nanosleep(&nap, NULL);
}

/* A copy that waits for one before it gets its turn.  From here on nobody else waits for our children. */
void live_actions_detach(struct live_actions *a)
{
	if (!a)
		return;
	wait_for(a, true);
	live_actions_tick(a);
	wait_for(a, true);
	for (size_t i = 0; i < a->count; i++)
		(void)is_busy(a, &a->list[i]);
	a->source.partial[0] = '\0';
	a->target = NULL;
}

void live_actions_free(struct live_actions *a)
{
	if (!a)
		return;
	wait_for(a, false);
	for (size_t i = 0; i < a->count; i++) {
		end_late(a, &a->list[i]);
		if (a->list[i].log_fd >= 0)
			close(a->list[i].log_fd);
	}
	free(a->list);
	free(a);
}
