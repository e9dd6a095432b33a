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

static void add_deaths(struct deaths *all, const struct deaths *some, pid_t root)
{
	for (size_t i = 0; i < some->count; i++)
		if (some->list[i].pid != root)
			deaths_add(all, some->list[i].pid, some->list[i].signal, some->list[i].name);
}

static struct program_death *place_for(struct trace_program *program, int signal)
{
	size_t i = 0;

	while (i < program->death_count && program->deaths[i].signal != signal)
		i++;
	if (i == PROGRAM_LISTED)
		return NULL;
	if (i == program->death_count)
		program->deaths[program->death_count++] = (struct program_death){ .signal = signal };
	return &program->deaths[i];
}

/* From outside those are seen that never attach, and by who drains those that live for less than a look from outside takes. */
static void list_killed(struct trace_program *program, const struct watch *watch, const struct drain *drain, pid_t root)
{
	struct deaths all = { NULL, 0, 0 };

	if (watch)
		add_deaths(&all, watch_killed(watch), root);
	add_deaths(&all, drain_killed(drain), root);
	for (size_t i = 0; i < all.count; i++) {
		struct program_death *death = place_for(program, all.list[i].signal);

		if (!death)
			continue;
		death->count++;
		death->last.pid = all.list[i].pid;
		memcpy(death->last.name, all.list[i].name, sizeof all.list[i].name);
	}
	deaths_release(&all);
}

void facts_descendants(struct trace_program *ret, const struct watch *watch, const struct drain *drain, pid_t root)
{
	list_killed(ret, watch, drain, root);
	list_running(ret, watch, drain, root);
}
