#include "record/facts.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/session_text.h"
#include "ring/layout.h"
#include "system/proc.h"

/* ---- The program's first process ------------------------------------------------- */

/* What a line says, if it begins with the word. */
static void take(const char *line, size_t size, const char *word, char *out, size_t room)
{
	size_t n = strlen(word);

	if (size > n && memcmp(line, word, n) == 0 && line[n] == ' ')
		session_text_clean(out, room, line + n + 1, size - n - 1);
}

static void take_line(struct trace_program *p, const char *line, size_t size)
{
	p->ran_nothing |= size > 12 && memcmp(line, "ran_nothing ", 12) == 0;
	take(line, size, "interpreter", p->interpreter, sizeof p->interpreter);
	take(line, size, "version", p->version, sizeof p->version);
	take(line, size, "message", p->message, sizeof p->message);
	take(line, size, "exception", p->exception, sizeof p->exception);
}

/* The process that has left some, where there is one such; 0. */
static pid_t only_one(int folder_fd)
{
	int copy = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), pid, found = 0, count = 0;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	char end;

	while (dir && (entry = readdir(dir)) != NULL)
		if (sscanf(entry->d_name, "f%d%c", &pid, &end) == 1 && ++count)
			found = pid;
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
	return count == 1 ? found : 0;
}

void facts_read(struct trace_program *ret, int folder_fd, pid_t root)
{
	char name[32], *text = malloc(FACTS_MAX_BYTES);
	size_t size, n;
	pid_t pid = root;

	snprintf(name, sizeof name, "f%d", (int)pid);
	if (faccessat(folder_fd, name, F_OK, 0) != 0)
		pid = only_one(folder_fd);
	snprintf(name, sizeof name, "f%d", (int)pid);
	size = text ? session_text_read(folder_fd, name, text, FACTS_MAX_BYTES) : 0;
	for (size_t at = 0; at < size; at += n + 1) {
		const char *end = memchr(text + at, '\n', size - at);

		n = end ? (size_t)(end - (text + at)) : size - at;
		take_line(ret, text + at, n);
	}
	free(text);
}

/* ---- Descendants ---------------------------------------------------------------- */

static void add_running(struct trace_program *program, pid_t pid, const char *name)
{
	uint64_t at = program->running_count++;

	if (at >= PROGRAM_LISTED)
		return;
	program->running[at].pid = pid;
	snprintf(program->running[at].name, sizeof program->running[at].name, "%s", name);
}

static bool is_watched(const struct watch *watch, pid_t pid)
{
	const char *name;
	pid_t living;

	for (size_t i = 0; watch && (living = watch_living(watch, i, &name)) != 0; i++)
		if (living == pid)
			return true;
	return false;
}

/* Descendants are known by who looked at them from outside, or because they have attached. */
static void list_running(struct trace_program *program, const struct watch *watch, const struct drain *drain, pid_t root)
{
	const char *name = "";
	char text[PROGRAM_NAME];
	pid_t pid;

	for (size_t i = 0; watch && (pid = watch_living(watch, i, &name)) != 0; i++)
		add_running(program, pid, name);
	for (size_t i = 0; (pid = drain_running(drain, i)) != 0; i++)
		if (pid != root && !is_watched(watch, pid) && proc_thread_name(pid, pid, text, sizeof text))
			add_running(program, pid, text);
}

static void list_killed(struct trace_program *program, const struct watch *watch)
{
	for (int signal = 1; signal < WATCH_SIGNALS && program->death_count < PROGRAM_LISTED; signal++) {
		const struct watch_killed *killed = watch_killed(watch, signal);
		struct program_death *death = &program->deaths[program->death_count];

		if (killed->count == 0)
			continue;
		*death = (struct program_death){ .signal = signal, .count = killed->count, .last = { .pid = killed->pid } };
		memcpy(death->last.name, killed->name, sizeof killed->name);
		program->death_count++;
	}
}

void facts_descendants(struct trace_program *ret, const struct watch *watch, const struct drain *drain, pid_t root)
{
	if (watch)
		list_killed(ret, watch);
	list_running(ret, watch, drain, root);
}
