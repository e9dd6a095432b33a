/*
 * thread_list.c - the threads of a process: names, states and their ledgers, for trackers.c.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"

#include "system/proc.h"
#include "system/thread_state.h"

#define THREADS_MOST 4096u

struct thread_row {
	pid_t tid;
	char state;
	char name[32];
	struct thread_ledger ledger;
};

static ssize_t read_of_thread(pid_t pid, pid_t tid, const char *name, char *text, size_t size)
{
	int fd = proc_open(pid, tid, name);
	ssize_t n = proc_reread(fd, text, size);

	if (fd >= 0)
		close(fd);
	return n;
}

/* "12 (name) S ..."; a name may have parentheses of its own. */
static bool read_thread(pid_t pid, pid_t tid, struct thread_row *ret)
{
	char text[1024], *open, *close_at;
	size_t size;

	if (read_of_thread(pid, tid, "schedstat", text, sizeof text) <= 0 || thread_ledger_parse(text, &ret->ledger) != 0 ||
	    read_of_thread(pid, tid, "stat", text, sizeof text) <= 0)
		return false;
	open = strchr(text, '(');
	close_at = strrchr(text, ')');
	if (!open || !close_at || close_at < open || close_at[1] != ' ')
		return false;
	size = (size_t)(close_at - open - 1);
	size = size < sizeof ret->name - 1 ? size : sizeof ret->name - 1;
	memcpy(ret->name, open + 1, size);
	ret->name[size] = '\0';
	ret->state = close_at[2];
	ret->tid = tid;
	return true;
}

/* Without the lock of the interpreter.  How many there are, or negative. */
static ssize_t read_threads(pid_t pid, struct thread_row **ret)
{
	struct thread_row *rows = malloc(THREADS_MOST * sizeof *rows);
	struct dirent *entry;
	char path[32];
	size_t count = 0;
	DIR *folder;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	folder = rows ? opendir(path) : NULL;
	if (!folder) {
		free(rows);
		return rows ? -ESRCH : -ENOMEM;
	}
	while (count < THREADS_MOST && (entry = readdir(folder))) {
		const char *at = entry->d_name;
		uint64_t tid;

		if (proc_number(&at, &tid) && *at == '\0' && tid <= INT32_MAX && read_thread(pid, (pid_t)tid, &rows[count]))
			count++;
	}
	closedir(folder);
	*ret = rows;
	return (ssize_t)count;
}

static PyObject *thread_tuple(const struct thread_row *row)
{
	PyObject *name = PyUnicode_DecodeUTF8(row->name, (Py_ssize_t)strlen(row->name), "replace");

	return name ? Py_BuildValue("(iNKKC)", (int)row->tid, name, (unsigned long long)row->ledger.run_ns,
				    (unsigned long long)row->ledger.queue_ns, (int)row->state) :
		      NULL;
}

PyObject *thread_list(pid_t pid)
{
	struct thread_row *rows = NULL;
	PyObject *list;
	ssize_t count;

	Py_BEGIN_ALLOW_THREADS
	count = read_threads(pid, &rows);
	Py_END_ALLOW_THREADS
	list = count < 0 ? raise_errno((int)count) : PyList_New(0);
	for (ssize_t i = 0; list && i < count; i++)
		list = append(list, thread_tuple(&rows[i]));
	free(rows);
	return list;
}
