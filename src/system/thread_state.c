#include "system/thread_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system/proc.h"

static const char *const names[THREAD_STATE_COUNT] = {
	[THREAD_RUNNING] = "running",
	[THREAD_GIL] = "gil",
	[THREAD_LOCK] = "lock",
	[THREAD_BARRIER] = "barrier",
	[THREAD_SLEEP] = "sleep",
	[THREAD_POLL] = "poll",
	[THREAD_PIPE] = "pipe",
	[THREAD_SOCKET_LOCAL] = "socket_local",
	[THREAD_SOCKET_NETWORK] = "socket_network",
	[THREAD_FILE] = "file",
	[THREAD_FSYNC] = "fsync",
	[THREAD_CHILD] = "child",
	[THREAD_PAGE_FAULT_IO] = "page_fault_io",
	[THREAD_DEVICE] = "device",
	[THREAD_UNKNOWN] = "unknown",
};

const char *thread_state_name(enum thread_state state)
{
	return (unsigned)state < THREAD_STATE_COUNT ? names[state] : "unknown";
}

int thread_ledger_parse(const char *text, struct thread_ledger *ret)
{
	struct thread_ledger ledger;

	if (!proc_number(&text, &ledger.run_ns) || !proc_number(&text, &ledger.queue_ns) || !proc_number(&text, &ledger.slices))
		return -EINVAL;
	*ret = ledger;
	return 0;
}

static bool parse_hex(const char **text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(*text, &end, 16);
	if (end == *text || errno != 0)
		return false;
	*text = end;
	return true;
}

/* "running", "-1 SP PC", or "NUMBER six arguments SP PC", all but the number in hexadecimal. */
int thread_syscall_parse(const char *text, struct thread_syscall *ret)
{
	struct thread_syscall call = { 0 };
	char *end;

	if (strncmp(text, "running", 7) == 0) {
		*ret = (struct thread_syscall){ .running = true, .number = -1 };
		return 0;
	}
	call.number = strtoll(text, &end, 10);
	if (end == text || call.number < -1)
		return -EINVAL;
	text = end;
	for (int i = 0; call.number >= 0 && i < 6; i++)
		if (!parse_hex(&text, &call.args[i]))
			return -EINVAL;
	if (!parse_hex(&text, &call.sp) || !parse_hex(&text, &call.pc))
		return -EINVAL;
	*ret = call;
	return 0;
}

int thread_files_open(struct thread_files *files, pid_t pid, pid_t tid)
{
	struct thread_files fresh;

	fresh.schedstat = proc_open(pid, tid, "schedstat");
	if (fresh.schedstat < 0)
		return fresh.schedstat;
	fresh.syscall = proc_open(pid, tid, "syscall");
	*files = fresh;
	return 0;
}

void thread_files_close(struct thread_files *files)
{
	if (files->schedstat >= 0)
		close(files->schedstat);
	if (files->syscall >= 0)
		close(files->syscall);
	*files = (struct thread_files)THREAD_FILES_INIT;
}

int thread_files_ledger(const struct thread_files *files, struct thread_ledger *ret)
{
	char text[96];
	ssize_t n = proc_reread(files->schedstat, text, sizeof text);

	return n < 0 ? (int)n : n == 0 ? -ESRCH : thread_ledger_parse(text, ret);
}

int thread_files_syscall(const struct thread_files *files, struct thread_syscall *ret)
{
	char text[256];
	ssize_t n = proc_reread(files->syscall, text, sizeof text);

	return n < 0 ? (int)n : n == 0 ? -ESRCH : thread_syscall_parse(text, ret);
}
