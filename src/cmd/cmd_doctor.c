/*
 * cmd_doctor.c - `inferscope doctor`: what is available here, what each
 * missing thing costs, and what dead recorders left behind.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "cmd/builtin.h"
#include "cmd/command.h"
#include "cmd/doctor.h"
#include "cmd/options.h"
#include "cmd/printer.h"
#include "record/session.h"

static const char *const formats[] = { "text", "json", NULL };
enum format { FORMAT_TEXT, FORMAT_JSON };

static const char *const status_names[] = { "ok", "limited", "missing" };

struct dead_sessions {
	struct session_dead *list;
	size_t count;
	size_t removed;
};

/* A session is opened before it is removed: opening fails when its recorder lives after all. */
static int remove_dead(struct dead_sessions *dead)
{
	struct session session = SESSION_INIT;
	struct error err;
	size_t i;
	int status = 0;

	for (i = 0; i < dead->count; i++) {
		err = (struct error){ 0 };
		if (session_open_dead(&session, dead->list[i].folder, &err) < 0) {
			status = fail_with(&err, EXIT_ENVIRONMENT);
			continue;
		}
		session_end(&session);
		dead->removed++;
	}
	return status;
}

static void print_sessions(struct printer *out, const struct dead_sessions *dead)
{
	char size[32], count[TEXT_COUNT_SIZE];
	size_t i;

	printer_printf(out, "\n%zu %s\n", dead->count,
		       dead->count == 1 ? "session of a recorder that was killed:"
					: "sessions of recorders that were killed:");
	for (i = 0; i < dead->count; i++)
		printer_printf(out, "  %s  %s, %s, recorder was %" PRIu32 "\n", dead->list[i].folder,
			       text_byte_size(size, dead->list[i].bytes), text_count(count, dead->list[i].processes, "process", "processes"),
			       dead->list[i].recorder_pid);
	if (dead->removed > 0)
		printer_printf(out, "%zu removed\n", dead->removed);
	else
		printer_printf(out,
			       "'inferscope recover FOLDER' makes a trace of one; --remove-dead removes them all\n");
}

static void print_text(struct printer *out, const struct dead_sessions *dead)
{
	const struct doctor_check *check;

	for (check = doctor_checks; check->name; check++) {
		struct doctor_finding finding = { 0 };

		check->run(&finding);
		printer_printf(out, "%-10s %-8s ", check->name, status_names[finding.status]);
		printer_terminal(out, finding.detail, strlen(finding.detail), 0);
		printer_printf(out, "\n");
		if (finding.cost)
			printer_printf(out, "%-20s%s\n", "", finding.cost);
	}
	if (dead->count > 0)
		print_sessions(out, dead);
}

static void put_sessions(struct json_writer *j, const struct dead_sessions *dead)
{
	size_t i;

	json_open(j, "dead_sessions", '[');
	for (i = 0; i < dead->count; i++) {
		json_open(j, NULL, '{');
		json_text(j, "folder", dead->list[i].folder);
		json_unsigned(j, "bytes", dead->list[i].bytes);
		json_unsigned(j, "processes", dead->list[i].processes);
		json_unsigned(j, "recorder_process_id", dead->list[i].recorder_pid);
		json_close(j);
	}
	json_close(j);
	json_unsigned(j, "removed", dead->removed);
}

static void print_json(struct printer *out, const struct dead_sessions *dead)
{
	struct json_writer j = { .out = &out->buf };
	const struct doctor_check *check;

	json_open(&j, NULL, '{');
	json_open(&j, "checks", '[');
	for (check = doctor_checks; check->name; check++) {
		struct doctor_finding finding = { 0 };

		check->run(&finding);
		json_open(&j, NULL, '{');
		json_text(&j, "name", check->name);
		json_text(&j, "status", status_names[finding.status]);
		json_text(&j, "detail", finding.detail);
		if (finding.cost)
			json_text(&j, "cost", finding.cost);
		json_close(&j);
	}
	json_close(&j);
	put_sessions(&j, dead);
	json_close(&j);
	printer_check(out, j.error);
}

static int examine(enum format format, bool remove)
{
	struct dead_sessions dead = { NULL, 0, 0 };
	struct printer out;
	int status = 0, rc;

	if (session_list_dead(&dead.list, &dead.count) < 0)
		return fail(EXIT_ENVIRONMENT, "out of memory");
	if (remove)
		status = remove_dead(&dead);
	printer_stdout(&out);
	if (format == FORMAT_JSON)
		print_json(&out, &dead);
	else
		print_text(&out, &dead);
	rc = printer_close(&out);
	free(dead.list);
	return status ? status : rc;
}

int cmd_doctor(int argc, char **argv)
{
	int format = FORMAT_TEXT;
	bool remove = false;
	const struct option_row rows[] = {
		OPTION_CHOICE(0, "format", "text|json", &format, formats, "how to print; text unless given"),
		OPTION_FLAG(0, "remove-dead", &remove, "remove what recorders that were killed left behind"),
		OPTION_END,
	};
	const struct options options = {
		.command = "doctor",
		.arguments = "[options]",
		.description =
			"Says what is available on this machine, what each missing thing costs, and which recordings "
			"were cut off by the death of their recorder.",
		.examples = "  inferscope doctor\n"
			    "  inferscope doctor --remove-dead\n",
		.rows = rows,
	};

	if (command_options(&options, argc, argv) != 0)
		return fail(EXIT_USAGE, "doctor: expected no arguments but options; see 'inferscope doctor --help'");
	return examine((enum format)format, remove);
}
