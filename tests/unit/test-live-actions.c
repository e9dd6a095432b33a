/* test-live-actions.c - live/actions.h: lines, commands, and the last seconds of a trace. */
#include "live/actions.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "live/actions_state.h"
#include "live/alerts_file.h"
#include "trace/pairing.h"
#include "trace/reader.h"

#define LOG_TAG "test"
#include "base/log.h"

#define S 1000000000ll

static char folder[] = "/tmp/test-actions-XXXXXX";

static char *path(const char *name)
{
	static char paths[4][128];
	static unsigned next;

	next = (next + 1) % 4;
	snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
	return paths[next];
}

static int set_up(void **state)
{
	(void)state;
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	static const char *const names[] = { "log", "out", "trace.sbt.1.partial", "trace.sbt.1.partial.1", "trace.alert-7.sbt",
					     "trace.alert-7.sbt.old" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unlink(path(names[i]));
	return rmdir(folder);
}

static struct live_alert make_alert(void)
{
	struct live_alert alert = { .number = 7, .kind = "stall", .severity = LIVE_CRITICAL, .active = true, .begin_s = 12.5, .end_s = NAN,
				    .times = 1, .value = 3.25, .threshold = NAN, .text = "No step \x1b[31m$(reboot)\nfor 3 s", .advice = "look" };

	return alert;
}

static const char *read_text(const char *name)
{
	static struct buffer text;

	buffer_clear(&text);
	(void)file_read_whole(path(name), 1 << 20, &text);
	assert_int_equal(buffer_append(&text, "", 1), 0);
	return (const char *)text.data;
}

static struct live_actions *make(const char *format, ...)
{
	struct live_actions *actions;
	struct live_action action;
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	assert_int_equal(live_action_parse(&action, text, NULL), 0);
	assert_int_equal(live_actions_new(&actions, &action, 1, NULL), 0);
	return actions;
}

/* ---- What can be asked for --------------------------------------------------------------------- */

static void what_is_asked_for_is_understood(void **state)
{
	struct live_action action;

	(void)state;
	assert_int_equal(live_action_parse(&action, "memory_*=log:/tmp/a=b:c", NULL), 0);
	assert_string_equal(action.kinds, "memory_*");
	assert_int_equal(action.sort, LIVE_ACTION_LOG);
	assert_string_equal(action.argument, "/tmp/a=b:c");
	assert_int_equal(live_action_parse(&action, "*=command:echo a:b", NULL), 0);
	assert_int_equal(action.sort, LIVE_ACTION_COMMAND);
	assert_string_equal(action.argument, "echo a:b");
	assert_int_equal(live_action_parse(&action, "stall=snapshot:2.5", NULL), 0);
	assert_int_equal(action.sort, LIVE_ACTION_SNAPSHOT);
	assert_true(action.seconds == 2.5);
	assert_int_equal(live_action_parse(&action, "stall=snapshot", NULL), 0);
	assert_true(action.seconds == 30);
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const char *const texts[] = { "", "stall", "=log:x", "stall=", "stall=log", "stall=log:", "stall=command:", "stall=mail:me",
					     "stall=snapshot:x", "stall=snapshot:0", "stall=snapshot:-1", "stall=snapshot:1e99",
					     "stall=snapshot:nan", "stall=logs:x" };
	struct live_action action = { .kinds = "untouched" };
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		err = (struct error){ 0 };
		assert_true(live_action_parse(&action, texts[i], &err) < 0);
		assert_int_equal(err.exit_code, 2);
		assert_non_null(strstr(err.text, "KIND=log:FILE"));
	}
	assert_string_equal(action.kinds, "untouched");
}

/* ---- Lines ------------------------------------------------------------------------------------- */

static void a_log_has_a_line_for_each_phase(void **state)
{
	struct live_alert alert = make_alert();
	struct live_actions *actions = make("stall=log:%s", path("log"));
	const char *text;

	(void)state;
	alert.severity = LIVE_WARNING;
	live_actions_take(actions, &alert);
	alert.severity = LIVE_CRITICAL;
	alert.worse_s = 13;
	live_actions_take(actions, &alert);
	alert.active = false;
	live_actions_take(actions, &alert);
	strcpy(alert.kind, "swap");
	live_actions_take(actions, &alert);
	live_actions_free(actions);
	text = read_text("log");
	assert_non_null(strstr(text, " begin warning stall #7 "));
	assert_non_null(strstr(text, " worse critical stall #7 No step \\x1b[31m$(reboot)\\nfor 3 s\n"));
	assert_non_null(strstr(text, " end critical stall #7 "));
	assert_null(strstr(text, "swap"));
}

static void a_log_that_cannot_be_opened_is_an_error(void **state)
{
	struct live_actions *actions;
	struct live_action action;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(live_action_parse(&action, "*=log:/nowhere/at/all", NULL), 0);
	assert_true(live_actions_new(&actions, &action, 1, &err) < 0);
	assert_int_equal(err.exit_code, 4);
}

/* ---- Commands ------------------------------------------------------------------------------------ */

static void a_command_knows_the_alert_and_runs_alone(void **state)
{
	struct live_alert alert = make_alert();
	struct live_actions *actions = make("*=command:sleep 0.1; env | grep INFERSCOPE_ALERT_ >> %s; grep SigBlk /proc/self/status >> %s",
					    path("out"), path("out"));
	const char *text, *second;
	sigset_t all, before;

	(void)state;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before); /* as in the recorder */
	live_actions_take(actions, &alert);
	live_actions_take(actions, &alert); /* one at a time */
	live_actions_tick(actions);
	alert.active = false;
	live_actions_take(actions, &alert); /* only beginnings */
	live_actions_free(actions);
	sigprocmask(SIG_SETMASK, &before, NULL);
	text = read_text("out");
	assert_non_null(strstr(text, "INFERSCOPE_ALERT_KIND=stall\n"));
	assert_non_null(strstr(text, "INFERSCOPE_ALERT_SEVERITY=critical\n"));
	assert_non_null(strstr(text, "INFERSCOPE_ALERT_PHASE=begin\n"));
	assert_non_null(strstr(text, "INFERSCOPE_ALERT_NUMBER=7\n"));
	assert_non_null(strstr(text, "INFERSCOPE_ALERT_VALUE=3.25\n"));
	assert_non_null(strstr(text, "INFERSCOPE_ALERT_THRESHOLD=\n"));
	assert_non_null(strstr(text, "INFERSCOPE_ALERT_TEXT=No step \\x1b[31m$(reboot)\\nfor 3 s\n"));
	assert_non_null(strstr(text, "SigBlk:\t0000000000000000\n"));
	second = strstr(text, "ALERT_KIND");
	assert_null(strstr(second + 1, "ALERT_KIND"));
}

/* It does not get lost when the command for the beginning still runs. */
static void a_command_hears_what_becomes_worse(void **state)
{
	struct live_alert alert = make_alert();
	struct live_actions *actions = make("*=command:echo $INFERSCOPE_ALERT_PHASE $INFERSCOPE_ALERT_SEVERITY $INFERSCOPE_ALERT_TIME >> %s; sleep 0.05",
					    path("out"));
	int64_t begin = action_now_ns();

	(void)state;
	alert.severity = LIVE_WARNING;
	alert.worse_s = NAN;
	live_actions_take(actions, &alert);
	alert.severity = LIVE_CRITICAL;
	alert.worse_s = 15;
	live_actions_take(actions, &alert);
	while (!strstr(read_text("out"), "worse") && action_now_ns() - begin < 5 * S) {
		live_actions_tick(actions);
		usleep(5000);
	}
	live_actions_free(actions);
	assert_string_equal(read_text("out"), "begin warning 12.5\nworse critical 15\n");
}

static void a_command_that_hangs_is_ended(void **state)
{
	struct action_child child = { .pidfd = -1 };
	struct live_alert alert = make_alert();
	int64_t begin = action_now_ns();

	(void)state;
	assert_int_equal(action_command(&child, "sleep 60 & sleep 60", &alert), 0);
	assert_true(action_child_runs(&child));
	action_child_kill(&child);
	assert_false(action_child_runs(&child));
	assert_int_equal(action_child_forget(&child, NULL), SIGKILL);
	assert_int_equal(child.pid, 0);
	assert_true(action_now_ns() - begin < 5 * S);
}

static unsigned warnings;
static char warned[LOG_MESSAGE_MAX];

static void note_warning(void *arg, enum log_level level, const char *tag, const char *message)
{
	(void)arg;
	(void)tag;
	if (level < LOG_LEVEL_WARN)
		return;
	warnings++;
	snprintf(warned, sizeof warned, "%s", message);
}

static void listen_to_warnings(void)
{
	warnings = 0;
	warned[0] = '\0';
	log_set_sink(note_warning, NULL);
}

static void a_command_that_fails_is_told_once(void **state)
{
	struct live_alert alert = make_alert();
	struct live_actions *actions = make("*=command:exit 3");

	(void)state;
	listen_to_warnings();
	for (int i = 0; i < 3; i++) {
		live_actions_take(actions, &alert);
		for (int wait = 0; wait < 500 && warnings == 0; wait++) {
			usleep(10000);
			live_actions_tick(actions);
		}
	}
	live_actions_free(actions);
	log_set_sink(NULL, NULL);
	assert_int_equal(warnings, 1);
	assert_string_equal(warned, "the command for an alert failed: it ended with status 3; it is said once kinds=*");
}

static void copies_that_are_left_out_are_told_once(void **state)
{
	struct recorder_scene scene = { .clock = CLOCK_SOURCE_MONOTONIC, .trace_partial = "/nowhere/trace.sbt.1.partial" };
	struct live_actions *actions = make("*=snapshot");
	struct live_alert alert = make_alert();

	(void)state;
	listen_to_warnings();
	live_actions_attach(actions, &scene);
	live_actions_take(actions, &alert);
	assert_int_equal(warnings, 0);
	for (alert.number = 8; alert.number < 12; alert.number++)
		live_actions_take(actions, &alert);
	live_actions_free(actions);
	log_set_sink(NULL, NULL);
	assert_int_equal(warnings, 1);
	assert_non_null(strstr(warned, "some have no copy"));
}

/* The recorder waits for all of its children, and remembers how they ended. */
static void a_command_that_somebody_else_waited_for(void **state)
{
	struct target target = TARGET_INIT;
	struct action_child child = { .pidfd = -1 };
	struct live_alert alert = make_alert();
	pid_t pid;

	(void)state;
	assert_int_equal(action_command(&child, "exit 5", &alert), 0);
	pid = child.pid;
	while (action_child_runs(&child))
		usleep(1000);
	target_handle_events(&target);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(action_child_forget(&child, &target), 5 << 8);
	child = (struct action_child){ .pid = pid + 1, .pidfd = -1 };
	assert_int_equal(action_child_forget(&child, &target), -1);
}

/* ---- The last seconds ------------------------------------------------------------------------------- */

static struct event_slot event(int64_t time, unsigned kind, unsigned phase, uint32_t name, uint16_t depth)
{
	return (struct event_slot){ .time = (uint64_t)time, .name = name, .cpu = 1, .depth = depth, .kind = (uint8_t)kind,
				    .flags = EVENT_FLAGS(phase, 0, 0) | EVENT_FLAG_THREAD };
}

/* A recording of ten seconds, ten steps each, inside one scope that never ends. */
static struct trace_writer *record(const char *partial)
{
	FILE *file = fopen(partial, "w+");
	struct trace_writer_options options = { .created_ns = 1 };
	struct trace_clock clock = { .kind = CLOCK_KIND_MONOTONIC, .rate = 1000000000 };
	struct trace_track track = { .id = 1, .kind = TRACK_THREAD, .process = -1, .device = -1, .parent = -1 };
	struct trace_writer *w;
	struct event_slot slot;
	uint32_t run, step;

	assert_non_null(file);
	assert_int_equal(trace_writer_open(&w, dup(fileno(file)), &options, NULL), 0);
	fclose(file);
	assert_int_equal(trace_writer_clock(w, &clock), 0);
	assert_int_equal(trace_writer_track(w, &track), 0);
	run = trace_writer_string(w, "whole run", 9);
	step = trace_writer_string(w, "step", 4);
	slot = event(0, EVENT_SCOPE, PHASE_BEGIN, run, 0);
	assert_int_equal(trace_writer_event(w, 1, &slot, NULL, 0, NULL), 0);
	for (int i = 0; i < 100; i++) {
		slot = event(i * S / 10, EVENT_SCOPE, PHASE_BEGIN, step, 1);
		assert_int_equal(trace_writer_event(w, 1, &slot, NULL, 0, NULL), 0);
		slot = event(i * S / 10 + S / 20, EVENT_SCOPE, PHASE_END, 0, 1);
		assert_int_equal(trace_writer_event(w, 1, &slot, NULL, 0, NULL), 0);
		if (i % 10 == 9)
			assert_int_equal(trace_writer_flush(w, NULL), 0);
	}
	return w;
}

struct found {
	unsigned steps, runs;
	int64_t first;
	const struct trace_reader *reader;
};

static int find(void *arg, const struct trace_slice *slice)
{
	struct found *f = arg;
	const char *name = trace_reader_string(f->reader, slice->name, NULL);

	f->steps += strcmp(name, "step") == 0;
	f->runs += strcmp(name, "whole run") == 0 && !(slice->flags & SLICE_BEGIN_LOST);
	f->first = slice->begin < f->first ? slice->begin : f->first;
	return 0;
}

static void look(const char *file, struct found *found)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_pairing *pairing;
	struct trace_reader *reader;

	assert_int_equal(trace_reader_open(&reader, file, NULL), 0);
	assert_true(trace_reader_report(reader)->has_index);
	assert_true(trace_reader_report(reader)->complete);
	assert_int_equal(trace_reader_report(reader)->damage_count, 0);
	assert_int_equal(trace_pairing_new(&pairing), 0);
	*found = (struct found){ .first = INT64_MAX, .reader = reader };
	for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
		assert_int_equal(trace_reader_decode(reader, i, &batch, NULL), 0);
		assert_int_equal(trace_pairing_feed(pairing, &batch, find, found), 0);
	}
	assert_int_equal(trace_pairing_finish(pairing, 10 * S, find, found), 0);
	assert_int_equal(trace_pairing_unmatched_ends(pairing), 0);
	trace_pairing_free(pairing);
	trace_batch_release(&batch);
	trace_reader_close(reader);
}

static int write_copy(const struct action_source *source, int64_t since, const char *file)
{
	int fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	return action_snapshot_write(source, since, fd, NULL);
}

static void the_last_seconds_are_a_trace_of_their_own(void **state)
{
	struct action_source source = { .clock = CLOCK_SOURCE_MONOTONIC, .rate = 1e9 };
	struct trace_writer *w;
	struct found found;
	char file[256];

	(void)state;
	snprintf(source.partial, sizeof source.partial, "%s", path("trace.sbt.1.partial"));
	w = record(source.partial);
	action_snapshot_path(source.partial, 7, file, sizeof file);
	assert_string_equal(file, path("trace.alert-7.sbt"));
	assert_int_equal(write_copy(&source, 72 * S / 10, file), 0);
	look(file, &found);
	assert_int_equal(found.steps, 30); /* whole blocks */
	assert_int_equal(found.runs, 1);   /* it began before, and is there */
	assert_true(found.first == 7 * S);
	assert_int_equal(write_copy(&source, 0, file), 0);
	look(file, &found);
	assert_int_equal(found.steps, 100);
	assert_int_equal(found.runs, 1);
	assert_int_equal(write_copy(&source, 50 * S, file), -ENODATA);
	trace_writer_abandon(w);
}

/* Makes one in a process of its own, which may be ended at once, and says what came of it. */
static int copy_apart(const struct action_source *source, int64_t since, bool at_once, struct error *err)
{
	struct action_copy copy = ACTION_COPY_INIT;
	struct action_child child = { .pidfd = -1 };

	assert_int_equal(action_copy_begin(&copy, &child, source, since, path("trace.alert-7.sbt"), NULL), 0);
	if (at_once)
		action_child_kill(&child);
	while (action_child_runs(&child))
		usleep(1000);
	(void)action_child_forget(&child, NULL);
	return action_copy_end(&copy, err);
}

/* tear_down() finds out about anything else that is left in the folder. */
static void an_older_copy_is_kept_and_nothing_is_left_of_one_that_fails(void **state)
{
	struct action_source source = { .clock = CLOCK_SOURCE_MONOTONIC, .rate = 1e9 };
	struct error err = { 0 };
	struct trace_writer *w;
	struct found found;

	(void)state;
	snprintf(source.partial, sizeof source.partial, "%s", path("trace.sbt.1.partial"));
	w = record(source.partial);
	assert_int_equal(copy_apart(&source, 50 * S, false, &err), -ENODATA);
	assert_string_equal(err.text, "nothing has been recorded in that time");
	assert_int_equal(access(path("trace.alert-7.sbt"), F_OK), -1);
	assert_int_equal(copy_apart(&source, 72 * S / 10, false, NULL), 0);
	assert_int_equal(copy_apart(&source, 0, false, NULL), 0);
	look(path("trace.alert-7.sbt"), &found);
	assert_int_equal(found.steps, 100);
	look(path("trace.alert-7.sbt.old"), &found);
	assert_int_equal(found.steps, 30);
	if (copy_apart(&source, 0, true, &err) != 0) /* unless it was quicker */
		assert_string_equal(err.text, "it was ended before it was done");
	look(path("trace.alert-7.sbt"), &found);
	assert_int_equal(found.steps, 100);
	trace_writer_abandon(w);
}

/* ---- The user's own file ------------------------------------------------------------------------------ */

static void write_file(const char *text)
{
	FILE *f = fopen(path("alerts.conf"), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void the_user_has_a_file_of_rules_and_actions(void **state)
{
	struct live_alerts_file file;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(live_alerts_file_read(&file, folder, NULL), 0); /* there is none */
	assert_int_equal(file.rule_count + file.action_count, 0);
	write_file("# mine\n\n alert slow: steps.median_s > 0.5\r\non-alert\tstall=snapshot:5\non-alert *=log:/tmp/x");
	assert_int_equal(live_alerts_file_read(&file, folder, NULL), 0);
	assert_int_equal(file.rule_count, 1);
	assert_string_equal(file.rules[0], "slow: steps.median_s > 0.5");
	assert_int_equal(file.action_count, 2);
	assert_true(file.actions[0].seconds == 5);
	assert_string_equal(file.actions[1].argument, "/tmp/x");
	live_alerts_file_release(&file);
	write_file("alert a: 1\nalerts b: 2\n");
	assert_true(live_alerts_file_read(&file, folder, &err) < 0);
	assert_non_null(strstr(err.text, "alerts.conf:2:"));
	assert_int_equal(err.exit_code, 2);
	write_file("on-alert stall=command:reboot\n");
	assert_int_equal(chmod(path("alerts.conf"), 0666), 0); /* anybody could have written that */
	assert_int_equal(live_alerts_file_read(&file, folder, &err), 0);
	assert_int_equal(file.action_count, 0);
	assert_non_null(strstr(file.warning, "is not read"));
	live_alerts_file_release(&file);
	unlink(path("alerts.conf"));
}

static void names_of_copies_are_beside_the_trace(void **state)
{
	char file[64];

	(void)state;
	action_snapshot_path("/a/b.sbt.123.partial", 1, file, sizeof file);
	assert_string_equal(file, "/a/b.alert-1.sbt");
	action_snapshot_path("/a/9.77.partial", 12, file, sizeof file);
	assert_string_equal(file, "/a/9.alert-12.sbt");
	action_snapshot_path("odd", 2, file, sizeof file);
	assert_string_equal(file, "odd.alert-2.sbt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_asked_for_is_understood),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test_setup_teardown(a_log_has_a_line_for_each_phase, set_up, tear_down),
		cmocka_unit_test(a_log_that_cannot_be_opened_is_an_error),
		cmocka_unit_test_setup_teardown(a_command_knows_the_alert_and_runs_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_command_hears_what_becomes_worse, set_up, tear_down),
		cmocka_unit_test(a_command_that_hangs_is_ended),
		cmocka_unit_test(a_command_that_fails_is_told_once),
		cmocka_unit_test(copies_that_are_left_out_are_told_once),
		cmocka_unit_test(a_command_that_somebody_else_waited_for),
		cmocka_unit_test_setup_teardown(the_last_seconds_are_a_trace_of_their_own, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_older_copy_is_kept_and_nothing_is_left_of_one_that_fails, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_user_has_a_file_of_rules_and_actions, set_up, tear_down),
		cmocka_unit_test(names_of_copies_are_beside_the_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
