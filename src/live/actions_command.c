/*
 * actions_command.c - a command that is run when an alert begins or becomes worse.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/text.h"
#include "live/actions_state.h"
#include "live/names.h"

#define VARIABLES 10u
#define VARIABLE_SIZE (3 * LIVE_TEXT + 64)
#define PREFIX "INFERSCOPE_ALERT_"

extern char **environ;

void action_safe_text(const char *text, char *out, size_t size)
{
	struct buffer safe = BUFFER_INIT;
	size_t n;

	out[0] = '\0';
	if (text_append_terminal(&safe, text, strlen(text), 0) == 0 && safe.size) {
		n = safe.size < size ? safe.size : size - 1;
		while (n > 0 && n < safe.size && (safe.data[n] & 0xc0) == 0x80)
			n--;
		memcpy(out, safe.data, n);
		out[n] = '\0';
	}
	buffer_release(&safe);
}

static void put_text(char *out, const char *name, const char *text)
{
	int n = snprintf(out, VARIABLE_SIZE, PREFIX "%s=", name);

	action_safe_text(text, out + n, VARIABLE_SIZE - (size_t)n);
}

/* What is not known is empty. */
static void put_number(char *out, const char *name, double number)
{
	if (number == number)
		snprintf(out, VARIABLE_SIZE, PREFIX "%s=%.9g", name, number);
	else
		snprintf(out, VARIABLE_SIZE, PREFIX "%s=", name);
}

static void describe(char (*out)[VARIABLE_SIZE], const struct live_alert *alert)
{
	snprintf(out[0], VARIABLE_SIZE, PREFIX "NUMBER=%llu", (unsigned long long)alert->number);
	put_text(out[1], "KIND", alert->kind);
	put_text(out[2], "SUBJECT", alert->subject);
	put_text(out[3], "SEVERITY", live_severity_name(alert->severity));
	put_text(out[4], "TEXT", alert->text);
	put_text(out[5], "ADVICE", alert->advice);
	put_number(out[6], "VALUE", alert->value);
	put_number(out[7], "THRESHOLD", alert->threshold);
	put_number(out[8], "TIME", alert->worse_s > 0 ? alert->worse_s : alert->begin_s);
	put_text(out[9], "PHASE", live_phase_name(alert));
}

/* Ours, without what an alert around us may have left there, and the alert's; the caller frees it. */
static char **make_environment(char (*variables)[VARIABLE_SIZE])
{
	size_t count = 0, n = 0;
	char **env;

	while (environ && environ[count])
		count++;
	env = calloc(count + VARIABLES + 1, sizeof *env);
	for (size_t i = 0; env && i < count; i++)
		if (strncmp(environ[i], PREFIX, strlen(PREFIX)) != 0)
			env[n++] = environ[i];
	for (size_t i = 0; env && i < VARIABLES; i++)
		env[n++] = variables[i];
	return env;
}

/* In a session of its own, so that keys on the terminal do not reach it; with the signals that everybody starts with. */
static int set_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(attributes, &none);
	posix_spawnattr_setsigdefault(attributes, &all);
	return -posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
}

static int set_streams(posix_spawn_file_actions_t *files)
{
	int rc = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

	rc = rc ? rc : posix_spawn_file_actions_addopen(files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	return -(rc ? rc : posix_spawn_file_actions_addopen(files, STDERR_FILENO, "/dev/null", O_WRONLY, 0));
}

static int spawn(struct action_child *child, const char *command, char **env)
{
	char *const argv[] = { "sh", "-c", (char *)command, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	pid_t pid;
	int rc = -posix_spawnattr_init(&attributes);

	if (rc != 0)
		return rc;
	rc = -posix_spawn_file_actions_init(&files);
	if (rc == 0) {
		rc = set_attributes(&attributes);
		rc = rc ? rc : set_streams(&files);
		rc = rc ? rc : -posix_spawn(&pid, "/bin/sh", &files, &attributes, argv, env);
		posix_spawn_file_actions_destroy(&files);
	}
	posix_spawnattr_destroy(&attributes);
	if (rc == 0)
		action_child_set(child, pid);
	return rc;
}

int action_command(struct action_child *child, const char *command, const struct live_alert *alert)
{
	char (*variables)[VARIABLE_SIZE] = calloc(VARIABLES, sizeof *variables), **env;
	int rc = -ENOMEM;

	if (!variables)
		return rc;
	describe(variables, alert);
	env = make_environment(variables);
	if (env)
		rc = spawn(child, command, env);
	free(env);
	free(variables);
	return rc;
}
