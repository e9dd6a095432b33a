/*
 * drain_process.c - processes as they come and go, and their names.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "record/drain_state.h"
#include "ring/names.h"
#include "system/proc.h"
#include "system/process_counters.h"
#include "system/process_end.h"
#include "trace/reader.h"

#define TRIES 2000 /* looks for the file of a process, which takes it less than a millisecond to make, if it can */

/* The arguments as one line; NULs between them become spaces. */
static uint32_t command_string(struct drain *d, const struct process_header *h)
{
	char text[PROCESS_COMMAND_SIZE];
	uint32_t size = h->command_size;

	if (size > sizeof text)
		size = sizeof text;
	memcpy(text, h->command, size);
	while (size && text[size - 1] == '\0')
		size--;
	for (uint32_t i = 0; i < size; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	return trace_writer_string(d->writer, text, size);
}

/* The program's file name, from the first argument; in `text`. */
static const char *program_name(const struct process_header *h, char text[PROCESS_COMMAND_SIZE + 1])
{
	const char *slash;

	memcpy(text, h->command, PROCESS_COMMAND_SIZE);
	text[PROCESS_COMMAND_SIZE] = '\0';
	slash = strrchr(text, '/');
	return slash ? slash + 1 : text;
}

static uint32_t name_string(struct drain *d, const struct process_header *h)
{
	char text[PROCESS_COMMAND_SIZE + 1];
	const char *name = program_name(h, text);

	return trace_writer_string(d->writer, name, strlen(name));
}

static struct drain_process *by_pid(const struct drain *d, pid_t pid)
{
	for (uint32_t i = d->process_count; pid > 0 && i-- > 0;)
		if (d->processes[i] && d->processes[i]->entry.pid == (uint64_t)pid)
			return d->processes[i];
	return NULL;
}

/* The process a forked one inherited its names from; NULL for others, and for nonsense. */
static const struct drain_process *names_parent(const struct drain *d, const struct ring_file *file)
{
	uint32_t parent = file->parent;

	return (file->flags & PROCESS_FORKED) && parent && parent <= d->process_count && parent - 1 < file->number ?
		       d->processes[parent - 1] : NULL;
}

static void describe(struct drain *d, struct drain_process *p, const struct drain_outside *outside)
{
	const struct process_header *h = ring_file_header(&p->file);
	const struct drain_process *before = by_pid(d, (pid_t)p->file.pid), *parent = p->parent;

	p->birth = h->birth;
	if (before && before->birth != p->birth) /* the pid was used again */
		before = NULL;
	if (!parent)
		parent = before ? before : by_pid(d, (pid_t)h->parent_pid);
	p->entry = (struct trace_process){
		.id = p->id,
		.pid = p->file.pid,
		.parent = parent ? (int64_t)parent->id : -1,
		.start = (int64_t)p->file.start_ticks,
		.flags = p->file.flags & PROCESS_FORKED ? TRACE_PROCESS_FORKED : 0,
		.name = name_string(d, h),
		.command = command_string(d, h),
		.rank = -1,
	};
	if (outside) /* what has been said of whose child it is stays so */
		p->entry.parent = outside->entry.parent;
	(void)trace_writer_process(d->writer, &p->entry);
	if (before && !p->parent) { /* not by fork: the old program was replaced */
		struct drain_process *old = d->processes[before->number];

		old->entry.flags |= TRACE_PROCESS_EXEC;
		(void)trace_writer_process(d->writer, &old->entry);
	}
}

/* When a folder is recovered, another process may have the number by now: then this one is gone. */
static int open_pidfd(const struct drain *d, const struct ring_file *file)
{
	uint64_t birth = d->resumed ? ring_file_header(file)->birth : 0;
	struct process_counters now;
	int fd;

	if (file->pid_namespace != d->pid_namespace || file->pid == 0)
		return -1;
	fd = (int)syscall(SYS_pidfd_open, (pid_t)file->pid, 0);
	if (fd >= 0 && birth && process_counters_look((pid_t)file->pid, &now) && now.birth != birth) {
		close(fd);
		fd = -1;
		errno = ESRCH;
	}
	return fd;
}

/* The number that the process has in the trace; the one it had before, when the file is being recovered. */
static uint32_t process_id(struct drain *d, const struct ring_file *file)
{
	size_t count = d->resumed ? trace_reader_process_count(d->resumed) : 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct trace_process *known = trace_reader_process(d->resumed, i);

		if (known && known->pid == file->pid && known->start == (int64_t)file->start_ticks)
			return i;
	}
	return d->next_process++;
}

static struct drain_process *new_process(struct drain *d, uint32_t number, const struct ring_file *file)
{
	struct drain_process *p = calloc(1, sizeof *p);
	const struct drain_outside *outside;

	if (!p)
		return NULL;
	p->file = *file;
	p->file.number = number;
	p->number = number;
	outside = drain_outside_adopt(d, file);
	p->id = outside ? outside->entry.id : process_id(d, file);
	p->parent = names_parent(d, &p->file);
	p->first_name = p->parent ? file->first_name : NAME_FIRST;
	p->wide_track = outside ? outside->wide_track : NO_TRACK;
	p->pidfd = open_pidfd(d, file);
	if (p->pidfd < 0 && errno == ESRCH && file->pid_namespace == d->pid_namespace)
		p->dead = true; /* ended before we saw it */
	p->last_look = p->file.start_ticks;
	d->totals.processes++;
	describe(d, p, outside);
	drain_tasks_resume(d, p);
	drain_streams_resume(d, p);
	return p;
}

/* Without a descriptor nothing can be opened; there may be one at the next look, so that this one does not count. */
static bool is_short(struct drain *d, int rc)
{
	if (rc == -EMFILE || rc == -ENFILE)
		d->totals.unopened_code = -rc;
	return rc == -EMFILE || rc == -ENFILE;
}

/* How many numbers there are.  Where the page says that more were given out than there are files, these may be about to be made, but
 * not for ever: a process can have failed to, or have written over the page. */
static uint32_t count_processes(struct drain *d)
{
	uint32_t told = atomic_load(&d->session->page->processes);
	int64_t end;

	if (told != d->told_processes) {
		d->told_processes = told;
		d->looks = TRIES;
	}
	if (d->looks == 0 && !d->finishing)
		return d->process_count;
	end = session_files_end(d->session, d->finishing || told > DRAIN_PROCESSES ? DRAIN_PROCESSES : told);
	if (is_short(d, (int)end))
		return d->process_count;
	d->looks = end >= told ? 0 : d->looks ? d->looks - 1 : 0;
	return end > d->process_count ? (uint32_t)end : d->process_count;
}

void drain_find_processes(struct drain *d, struct error *err)
{
	uint32_t count;

	d->totals.unopened_code = 0;
	count = count_processes(d);
	if (ARRAY_GROW(d->processes, d->process_capacity, count) != 0 || ARRAY_GROW(d->tries, d->tries_capacity, count) != 0)
		return;
	d->process_count = count;
	for (uint32_t i = 0; i < d->process_count; i++) {
		struct ring_file file;
		int rc;

		if (d->processes[i] || d->tries[i] == TRIES)
			continue;
		rc = ring_file_open(&file, d->session->folder_fd, i, err);
		d->tries[i] += !is_short(d, rc);
		if (rc != 0)
			continue;
		d->processes[i] = new_process(d, i, &file);
		if (!d->processes[i])
			ring_file_close(&file);
	}
}

bool drain_process_ended(const struct drain_process *p)
{
	struct pollfd fd = { .fd = p->pidfd, .events = POLLIN };

	return p->dead || (p->pidfd >= 0 && poll(&fd, 1, 0) == 1);
}

/* A child may still want the names of a parent that is gone, so all of them are looked up now. */
static void keep_names(struct drain *d, struct drain_process *p)
{
	uint32_t end = atomic_load(&ring_file_header(&p->file)->names);

	for (uint32_t id = p->first_name; id < end && id < NAME_LIMIT; id++)
		(void)drain_name(d, p, id);
}

static void give_back_budget(struct session_page *page, uint32_t chunks)
{
	uint32_t used = atomic_load(&page->chunks_used);

	while (!atomic_compare_exchange_weak(&page->chunks_used, &used, used > chunks ? used - chunks : 0))
		;
}

static void note_killed(struct drain *d, const struct drain_process *p)
{
	char text[PROCESS_COMMAND_SIZE + 1];
	int stat = proc_open((pid_t)p->file.pid, 0, "stat"), status;

	if (process_end_status(p->pidfd, stat, &status) == 0 && WIFSIGNALED(status))
		deaths_add(&d->killed, (pid_t)p->file.pid, WTERMSIG(status), program_name(ring_file_header(&p->file), text));
	if (stat >= 0)
		close(stat);
}

void drain_process_close(struct drain *d, struct drain_process *p, uint32_t flags)
{
	uint32_t chunks = ring_file_held(&p->file);
	char name[16];

	keep_names(d, p);
	if (flags & TRACE_PROCESS_ENDED && p->pidfd >= 0)
		note_killed(d, p);
	p->entry.flags |= flags;
	p->entry.end = (int64_t)clock_ticks(d->clock);
	(void)trace_writer_process(d->writer, &p->entry);
	if (flags & TRACE_PROCESS_ENDED) {
		snprintf(name, sizeof name, "p%u", p->number);
		(void)unlinkat(d->session->folder_fd, name, 0);
		give_back_budget(d->session->page, chunks);
	}
	ring_file_close(&p->file);
	if (p->pidfd >= 0)
		close(p->pidfd);
	p->pidfd = -1;
	p->dead = true;
}

void drain_process_free(struct drain_process *p)
{
	if (!p)
		return;
	ring_file_close(&p->file);
	if (p->pidfd >= 0)
		close(p->pidfd);
	free(p->names);
	free(p->rings);
	free(p->tracks);
	free(p->tasks.places);
	free(p->streams);
	free(p->threads);
	free(p);
}

/* ---- Names ----------------------------------------------------------------- */

static bool parse_line(const char *text, size_t size, uint32_t *ret)
{
	uint64_t line = 0;

	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		line = 10 * line + (uint64_t)(text[i] - '0');
		if (line > UINT32_MAX)
			return false;
	}
	*ret = (uint32_t)line;
	return true;
}

/* module NUL qualified name NUL file NUL line, and nothing else. */
static bool split_function(const char *text, size_t size, struct trace_function *ret)
{
	struct trace_text parts[4];
	size_t count = 0;

	for (const char *end = text + size;; count++) {
		const char *stop = memchr(text, '\0', (size_t)(end - text));

		if (count == 4)
			return false;
		parts[count] = (struct trace_text){ text, (size_t)((stop ? stop : end) - text) };
		if (!stop)
			break;
		text = stop + 1;
	}
	*ret = (struct trace_function){ .module = parts[0], .qualname = parts[1], .file = parts[2] };
	return count == 3 && parts[1].size && parse_line(parts[3].data, parts[3].size, &ret->line);
}

/* A name with NULs in it is a function of the program; where it is not, it is text all the same. */
static uint32_t function_name(struct drain *d, char *text, size_t size)
{
	struct trace_function function;

	if (split_function(text, size, &function))
		return trace_writer_function(d->writer, &function);
	for (size_t i = 0; i < size; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	return trace_writer_string(d->writer, text, size);
}

static uint32_t look_up(struct drain *d, struct drain_process *p, uint32_t id)
{
	size_t size;
	const uint8_t *text = p->file.map && id < atomic_load(&ring_file_header(&p->file)->names) ?
				      name_in_file(p->file.map, p->first_name, id, &size) : NULL;
	char copy[NAME_MAX_BYTES];

	if (!text)
		return trace_writer_string(d->writer, "[name lost]", 11);
	memcpy(copy, text, size); /* the program could still be writing there */
	if (size == 0)
		return trace_writer_string(d->writer, "[no name]", 9);
	if (memchr(copy, '\0', size))
		return function_name(d, copy, size);
	return trace_writer_string(d->writer, copy, size);
}

uint32_t drain_name(struct drain *d, struct drain_process *p, uint32_t id)
{
	if (id == NAME_NONE)
		return 0;
	if (id == NAME_TOO_MANY)
		return trace_writer_string(d->writer, "[too many names]", 16);
	while (id < p->first_name && p->parent)
		p = d->processes[p->parent->number];
	if (id < p->first_name || id >= NAME_LIMIT)
		return trace_writer_string(d->writer, "[name lost]", 11);
	if (ARRAY_GROW(p->names, p->name_count, id - p->first_name + 1) != 0)
		return 0;
	if (p->names[id - p->first_name] == 0)
		p->names[id - p->first_name] = look_up(d, p, id);
	return p->names[id - p->first_name];
}
