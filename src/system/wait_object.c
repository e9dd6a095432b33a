#include "system/wait_object.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "system/proc.h"

/* ---- Which call is of what sort ---------------------------------------------- */

enum call_sort {
	CALL_OTHER,
	CALL_FD,     /* the first argument is a descriptor */
	CALL_PATH,   /* the first argument is a path */
	CALL_PATH_AT, /* the second one */
	CALL_FUTEX,
	CALL_SLEEP,
	CALL_POLL,
	CALL_SELECT,
	CALL_EPOLL,
	CALL_FSYNC,
	CALL_SYNC, /* of no descriptor */
	CALL_CHILD,
	CALL_FILE_LOCK,
	CALL_SEMAPHORE,
	CALL_MESSAGE,
};

/* Not every machine has every call. */
static const struct {
	long number;
	enum call_sort sort;
} calls[] = {
	{ SYS_futex, CALL_FUTEX },
	{ SYS_read, CALL_FD },
	{ SYS_write, CALL_FD },
	{ SYS_readv, CALL_FD },
	{ SYS_writev, CALL_FD },
	{ SYS_pread64, CALL_FD },
	{ SYS_pwrite64, CALL_FD },
	{ SYS_preadv, CALL_FD },
	{ SYS_pwritev, CALL_FD },
	{ SYS_preadv2, CALL_FD },
	{ SYS_pwritev2, CALL_FD },
	{ SYS_recvfrom, CALL_FD },
	{ SYS_recvmsg, CALL_FD },
	{ SYS_recvmmsg, CALL_FD },
	{ SYS_sendto, CALL_FD },
	{ SYS_sendmsg, CALL_FD },
	{ SYS_sendmmsg, CALL_FD },
	{ SYS_sendfile, CALL_FD },
	{ SYS_splice, CALL_FD },
	{ SYS_tee, CALL_FD },
	{ SYS_vmsplice, CALL_FD },
	{ SYS_copy_file_range, CALL_FD },
	{ SYS_accept, CALL_FD },
	{ SYS_accept4, CALL_FD },
	{ SYS_connect, CALL_FD },
	{ SYS_ioctl, CALL_FD },
	{ SYS_getdents64, CALL_FD },
	{ SYS_lseek, CALL_FD },
	{ SYS_fstat, CALL_FD },
	{ SYS_fallocate, CALL_FD },
	{ SYS_ftruncate, CALL_FD },
	{ SYS_readahead, CALL_FD },
	{ SYS_fadvise64, CALL_FD },
	{ SYS_close, CALL_FD },
	{ SYS_openat, CALL_PATH_AT },
	{ SYS_unlinkat, CALL_PATH_AT },
	{ SYS_mkdirat, CALL_PATH_AT },
	{ SYS_statx, CALL_PATH_AT },
	{ SYS_newfstatat, CALL_PATH_AT },
	{ SYS_execve, CALL_PATH },
	{ SYS_fsync, CALL_FSYNC },
	{ SYS_fdatasync, CALL_FSYNC },
	{ SYS_sync_file_range, CALL_FSYNC },
	{ SYS_syncfs, CALL_FSYNC },
	{ SYS_sync, CALL_SYNC },
	{ SYS_msync, CALL_SYNC },
	{ SYS_nanosleep, CALL_SLEEP },
	{ SYS_clock_nanosleep, CALL_SLEEP },
	{ SYS_ppoll, CALL_POLL },
	{ SYS_pselect6, CALL_SELECT },
	{ SYS_epoll_pwait, CALL_EPOLL },
	{ SYS_wait4, CALL_CHILD },
	{ SYS_waitid, CALL_CHILD },
	{ SYS_clone, CALL_CHILD }, /* as vfork: until it has begun its program */
#ifdef SYS_clone3
	{ SYS_clone3, CALL_CHILD },
#endif
	{ SYS_flock, CALL_FILE_LOCK },
	{ SYS_fcntl, CALL_FILE_LOCK },
	{ SYS_semop, CALL_SEMAPHORE },
	{ SYS_semtimedop, CALL_SEMAPHORE },
	{ SYS_msgrcv, CALL_MESSAGE },
	{ SYS_msgsnd, CALL_MESSAGE },
	{ SYS_mq_timedreceive, CALL_MESSAGE },
	{ SYS_mq_timedsend, CALL_MESSAGE },
#ifdef SYS_poll
	{ SYS_poll, CALL_POLL },
	{ SYS_select, CALL_SELECT },
	{ SYS_epoll_wait, CALL_EPOLL },
	{ SYS_open, CALL_PATH },
	{ SYS_stat, CALL_PATH },
	{ SYS_lstat, CALL_PATH },
	{ SYS_unlink, CALL_PATH },
	{ SYS_mkdir, CALL_PATH },
	{ SYS_vfork, CALL_CHILD },
#endif
#ifdef SYS_epoll_pwait2
	{ SYS_epoll_pwait2, CALL_EPOLL },
#endif
#ifdef SYS_io_uring_enter
	{ SYS_io_uring_enter, CALL_EPOLL },
#endif
};

static enum call_sort sort_of(int64_t number)
{
	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
		if (calls[i].number == number)
			return calls[i].sort;
	return CALL_OTHER;
}

/* ---- Memory of the process --------------------------------------------------- */

void wait_process_release(struct wait_process *process)
{
	process_maps_release(&process->maps);
}

void wait_process_forget(struct wait_process *process)
{
	process_maps_release(&process->maps);
}

/* How many bytes could be had. */
static size_t peek(pid_t pid, uint64_t address, void *data, size_t size)
{
	struct iovec here = { data, size }, there = { (void *)(uintptr_t)address, size };
	ssize_t n = address ? process_vm_readv(pid, &here, 1, &there, 1, 0) : 0;

	return n > 0 ? (size_t)n : 0;
}

/* ---- Futexes ----------------------------------------------------------------- */

static void find_futex(struct wait_process *p, const struct thread_syscall *call, int64_t now_ns, struct wait_object *ret)
{
	uint64_t address = call->args[0];
	bool private = call->args[1] & FUTEX_PRIVATE_FLAG;
	const struct process_map *code, *shared = NULL;
	char text[64];
	bool pool;

	code = process_maps_look_up(&p->maps, p->pid, call->pc, now_ns); /* also where the runtime is, at the first time */
	pool = code && code->pool;
	if (process_maps_is_gil(&p->maps, address)) {
		wait_object_set(ret, THREAD_GIL, "");
		return;
	}
	snprintf(text, sizeof text, "futex:0x%llx", (unsigned long long)address);
	if (!private) /* a semaphore may have been mapped since */
		shared = process_maps_look_up(&p->maps, p->pid, address, now_ns);
	if (shared && shared->shared)
		snprintf(text, sizeof text, "shared:%llu+%llu", (unsigned long long)shared->inode,
			 (unsigned long long)(address - shared->begin + shared->offset));
	wait_object_set(ret, pool ? THREAD_BARRIER : THREAD_LOCK, text);
}

/* ---- Descriptors ------------------------------------------------------------- */

/* Who waits for one descriptor waits for what that is; who waits for several polls. */
static void find_poll(struct wait_process *p, const struct thread_syscall *call, struct wait_object *ret)
{
	struct pollfd first = { .fd = -1 };

	if (call->args[1] == 0) {
		wait_object_set(ret, THREAD_SLEEP, "");
		return;
	}
	if (peek(p->pid, call->args[0], &first, sizeof first) != sizeof first || first.fd < 0) {
		wait_object_set(ret, THREAD_POLL, "");
		return;
	}
	fd_object(&p->sockets, p->pid, (uint64_t)first.fd, ret);
	if (call->args[1] > 1 || ret->state == THREAD_UNKNOWN)
		ret->state = THREAD_POLL;
}

/* The set that has one descriptor, when there is only one in all three; -1 when there are none, -2 for several. */
static int only_in_sets(pid_t pid, const struct thread_syscall *call, uint64_t count)
{
	int only = -1;

	for (int set = 1; set <= 3; set++) {
		uint64_t words[16] = { 0 };
		size_t size = peek(pid, call->args[set], words, (size_t)(count + 63) / 64 * 8);

		for (unsigned i = 0; i < count && i < size * 8; i++) {
			if (!(words[i / 64] >> (i % 64) & 1))
				continue;
			if (only >= 0 && only != (int)i)
				return -2;
			only = (int)i;
		}
	}
	return only;
}

static void find_select(struct wait_process *p, const struct thread_syscall *call, struct wait_object *ret)
{
	uint64_t count = call->args[0] & UINT32_MAX;
	int only;

	if (count == 0 || (!call->args[1] && !call->args[2] && !call->args[3])) {
		wait_object_set(ret, THREAD_SLEEP, "");
		return;
	}
	only = only_in_sets(p->pid, call, count < 1024 ? count : 1024);
	wait_object_set(ret, THREAD_POLL, "");
	if (only >= 0)
		fd_object(&p->sockets, p->pid, (uint64_t)only, ret);
	if (ret->state == THREAD_UNKNOWN)
		ret->state = THREAD_POLL;
}

/* ---- Event loops ------------------------------------------------------------- */

#define LOOP_FDS 16

/* What the descriptors are that a loop waits for, as far as it tells what it waits for. */
struct loop_fds {
	unsigned outgoing, clients, wakers, others; /* wakers: to be woken by its own program */
};

static void note_fd(struct loop_fds *fds, const struct wait_object *o)
{
	if (o->state == THREAD_SOCKET_NETWORK && strstr(o->what, ":client "))
		fds->clients++;
	else if (o->state == THREAD_SOCKET_NETWORK)
		fds->outgoing++;
	else if (strncmp(o->what, "unix:[", 6) == 0 || strcmp(o->what, "anon_inode:[eventfd]") == 0)
		fds->wakers++;
	else
		fds->others++;
}

static struct loop_fds look_at_loop(struct wait_process *p, uint64_t epoll)
{
	struct loop_fds fds = { 0 };
	struct wait_object one;
	char name[32], text[4096], line[256];
	const char *at = text;
	unsigned count = 0;
	int fd, number;
	ssize_t n;

	snprintf(name, sizeof name, "fdinfo/%d", (int)epoll);
	fd = proc_open(p->pid, 0, name);
	n = fd < 0 ? -1 : proc_reread(fd, text, sizeof text);
	if (fd >= 0)
		close(fd);
	while (n > 0 && count < LOOP_FDS && proc_line(&at, line, sizeof line)) {
		if (sscanf(line, "tfd: %d", &number) != 1)
			continue;
		fd_object(&p->sockets, p->pid, (uint64_t)number, &one);
		note_fd(&fds, &one);
		count++;
	}
	return fds;
}

static bool has_timeout(const struct thread_syscall *call)
{
#ifdef SYS_epoll_pwait2
	if (call->number == SYS_epoll_pwait2)
		return call->args[3] != 0;
#endif
	return (int)call->args[3] > 0;
}

/* Connections that go out come before those that came in, which are there all the time; who has nothing but what wakes it waits
 * for the time to pass. */
static void find_epoll(struct wait_process *p, const struct thread_syscall *call, struct wait_object *ret)
{
	struct loop_fds fds = look_at_loop(p, call->args[0]);

	wait_object_set(ret, THREAD_POLL, fds.outgoing ? "epoll:network" : fds.clients ? "epoll:client" :
					  fds.wakers && !fds.others && has_timeout(call) ? "epoll:timer" : "");
}

static void find_path(struct wait_process *p, uint64_t address, struct wait_object *ret)
{
	char path[256] = "";
	size_t page = 4096 - address % 4096, size = page < sizeof path - 1 ? page : sizeof path - 1;

	path[peek(p->pid, address, path, size)] = '\0';
	wait_object_set(ret, THREAD_FILE, path);
}

static void find_fd(struct wait_process *p, uint64_t fd, struct wait_object *ret)
{
	fd_object(&p->sockets, p->pid, fd, ret);
}

/* ---- The rest ---------------------------------------------------------------- */

static bool is_disk_wait(const char *place)
{
	static const char *const parts[] = { "folio_wait",    "io_schedule", "wait_on_page",
					     "filemap_fault", "folio_lock",  "wait_on_buffer" };

	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (strstr(place, parts[i]))
			return true;
	return false;
}

/* Blocked outside of system calls: a page that has to be read, or a lock of the kernel's. */
static void find_fault(const struct wait_process *p, pid_t tid, struct wait_object *ret)
{
	char place[64] = "";
	int fd = proc_open(p->pid, tid, "wchan");

	(void)proc_reread(fd, place, sizeof place);
	if (fd >= 0)
		close(fd);
	if (strcmp(place, "0") == 0)
		place[0] = '\0';
	wait_object_set(ret, is_disk_wait(place) ? THREAD_PAGE_FAULT_IO : THREAD_UNKNOWN, place);
}

static void find_other(const struct thread_syscall *call, struct wait_object *ret)
{
	char text[48];

	snprintf(text, sizeof text, "system call %lld", (long long)call->number);
	wait_object_set(ret, THREAD_UNKNOWN, text);
}

static void find_semaphore(const struct thread_syscall *call, const char *sort, enum thread_state state, struct wait_object *ret)
{
	char text[48];

	snprintf(text, sizeof text, "%s:%d", sort, (int)call->args[0]);
	wait_object_set(ret, state, text);
}

void wait_object_find(struct wait_process *p, pid_t tid, const struct thread_syscall *call, int64_t now_ns, struct wait_object *ret)
{
	*ret = (struct wait_object){ .state = call->running ? THREAD_RUNNING : THREAD_UNKNOWN };
	if (call->running)
		return;
	if (call->number < 0) {
		find_fault(p, tid, ret);
		return;
	}
	switch (sort_of(call->number)) {
	case CALL_FUTEX:
		find_futex(p, call, now_ns, ret);
		break;
	case CALL_FD:
		find_fd(p, call->args[0], ret);
		break;
	case CALL_PATH:
		find_path(p, call->args[0], ret);
		break;
	case CALL_PATH_AT:
		find_path(p, call->args[1], ret);
		break;
	case CALL_SLEEP:
		wait_object_set(ret, THREAD_SLEEP, "");
		break;
	case CALL_POLL:
		find_poll(p, call, ret);
		break;
	case CALL_SELECT:
		find_select(p, call, ret);
		break;
	case CALL_EPOLL:
		find_epoll(p, call, ret);
		break;
	case CALL_FSYNC:
		find_fd(p, call->args[0], ret);
		ret->state = THREAD_FSYNC;
		break;
	case CALL_SYNC:
		wait_object_set(ret, THREAD_FSYNC, "");
		break;
	case CALL_CHILD:
		wait_object_set(ret, THREAD_CHILD, "");
		break;
	case CALL_FILE_LOCK:
		find_fd(p, call->args[0], ret);
		ret->state = THREAD_LOCK;
		break;
	case CALL_SEMAPHORE:
		find_semaphore(call, "semaphore", THREAD_LOCK, ret);
		break;
	case CALL_MESSAGE:
		find_semaphore(call, "messages", THREAD_PIPE, ret);
		break;
	case CALL_OTHER:
		find_other(call, ret);
		break;
	}
}
