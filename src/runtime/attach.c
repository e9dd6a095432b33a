/*
 * attach.c - finds the session and makes this process's file.
 *
 * A session is used only when it is what a recorder of this user made, and
 * when that recorder is still alive: daemons keep our variables for months.
 * The recorder holds a lock on the session's page while it lives.
 */
#include <errno.h>
#include <fcntl.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inferscope.h"
#include "runtime/runtime.h"

#define YIELDS 100000 /* to a thread that attaches, which takes it less than a millisecond */
#define INFERSCOPE_EXPORT __attribute__((visibility("default")))

struct runtime inferscope_runtime = {
	.slow = { .reenter = inferscope_reenter, .refill = inferscope_refill, .group = inferscope_group, .end = inferscope_end },
};
extern const struct inferscope_ops inferscope_api;

static bool is_our_folder(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077);
}

/* The recorder's lock is gone when it is. */
static bool recorder_lives(int fd)
{
	return flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

static bool is_our_page(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_size >= (off_t)SESSION_PAGE_SIZE;
}

static struct session_page *map_session(const char *folder)
{
	char path[RING_PATH_MAX + sizeof "/" SESSION_FILE];
	struct session_page *page = MAP_FAILED;
	int fd;

	if (!is_our_folder(folder))
		return NULL;
	strcpy(path, folder);
	strcat(path, "/" SESSION_FILE);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	if (is_our_page(fd) && recorder_lives(fd))
		page = mmap(NULL, SESSION_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		return NULL;
	if (page->magic == SESSION_MAGIC && page->version == 1 && !atomic_load(&page->closed) && page->chunk_limit > 0 &&
	    page->chunk_limit <= CHUNK_LIMIT)
		return page;
	munmap(page, SESSION_PAGE_SIZE);
	return NULL;
}

/* The kernel keeps the CPU's number in the thread's rseq area, which glibc 2.35 and later registers. */
static ptrdiff_t find_rseq_cpu(void)
{
	const ptrdiff_t *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
	const unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");

	return offset && size && *size > 0 ? *offset + 4 : 0;
}

/* The session before this one.  A thread that was in the middle of an event when it ended still writes to its memory, so the
 * last of it is given back when the next one ends. */
static struct {
	struct session_page *session;
	struct ring_memory *memory;
	uint32_t chunk_limit;
} previous;

static void release_previous(void)
{
	struct ring_process *process = previous.memory ? &previous.memory->process : NULL;

	if (!process)
		return;
	if (process->map)
		munmap(process->map, layout_file_size(process->chunk_limit));
	ring_memory_unmap(previous.memory, previous.chunk_limit);
	if (previous.session)
		munmap(previous.session, SESSION_PAGE_SIZE);
	previous.memory = NULL;
}

static bool is_usable(const char *folder)
{
	return folder && folder[0] == '/' && strlen(folder) < RING_PATH_MAX - 16;
}

/* Takes what a session needs; nothing changes when it cannot be had. */
static bool load_session(struct runtime *rt, const char *folder)
{
	struct session_page *page = is_usable(folder) ? map_session(folder) : NULL;
	struct ring_memory *memory = page ? ring_memory_map(page->chunk_limit) : NULL;

	if (!rt->names)
		rt->names = name_table_map();
	if (!memory || !rt->names) {
		if (memory)
			ring_memory_unmap(memory, page->chunk_limit);
		if (page)
			munmap(page, SESSION_PAGE_SIZE);
		return false;
	}
	strcpy(rt->folder, folder);
	rt->clock = page->clock_source;
	rt->chunk_limit = page->chunk_limit;
	rt->rseq_cpu = find_rseq_cpu();
	rt->number = 0;
	rt->memory = memory;
	rt->session = page;
	return true;
}

/*
 * In a forked child the memory at hand has been wiped.  It stays so for good: the thread that came with the fork still
 * points into it, and must find nothing there, even if other threads of the child are first to record something.
 */
static struct ring_memory *fresh_memory(struct runtime *rt)
{
	return rt->number ? ring_memory_map(rt->chunk_limit) : rt->memory;
}

static bool make_file(struct runtime *rt)
{
	struct ring_memory *memory;
	struct ring_process_options options = {
		.session = rt->session,
		.folder = rt->folder,
		.start_ticks = clock_ticks(rt->clock),
		.chunk_limit = rt->chunk_limit,
		.parent = rt->number,
		.first_name = atomic_load(&rt->names->next),
		.flags = rt->number ? PROCESS_FORKED : 0,
	};

	if (!rt->number)
		options.first_name = NAME_FIRST;
	if (atomic_load(&rt->session->closed))
		return false;
	memory = fresh_memory(rt);
	if (!memory || ring_process_attach(memory, &options) != 0)
		return false;
	if (!rt->number)
		name_table_move(rt->names, &memory->process);
	rt->number = memory->process.number + 1;
	atomic_store(&memory->process.attached, 2);
	rt->memory = memory;
	return true;
}

bool inferscope_attach_process(void)
{
	struct runtime *rt = &inferscope_runtime;
	struct ring_memory *memory = rt->memory;
	_Atomic uint32_t *attached = &memory->process.attached;
	uint32_t state = 0;

	if (atomic_compare_exchange_strong(attached, &state, 1)) {
		state = make_file(rt) ? 2 : 3;
		atomic_store(attached, state);
	}
	/* Another thread is at it; or it was, and has left by a jump out of a signal handler. */
	for (int patience = YIELDS; state == 1 && patience; patience--) {
		syscall(SYS_sched_yield);
		state = atomic_load(attached);
	}
	return state == 2;
}

/* What threads find between two sessions. */
static struct session_page no_session = { .closed = 1 };

/* Early, so that the key is among the first, for which glibc needs no memory.  Without one, rings of threads that have
 * ended are given back when the process ends. */
static void make_exit_key(struct runtime *rt)
{
	if (!rt->has_exit_key)
		rt->has_exit_key = pthread_key_create(&rt->exit_key, inferscope_thread_exit) == 0;
}

int inferscope_join(const char *folder)
{
	struct runtime *rt = &inferscope_runtime;

	if (rt->session)
		inferscope_leave();
	if (!load_session(rt, folder))
		return -ENOENT;
	if (!inferscope_attach_process()) {
		inferscope_leave();
		return -ENOSPC;
	}
	make_exit_key(rt);
	atomic_fetch_add(&rt->generation, 1);
	return 0;
}

void inferscope_leave(void)
{
	struct runtime *rt = &inferscope_runtime;

	if (!rt->session || rt->session == &no_session)
		return;
	release_previous();
	ring_process_leave(&rt->memory->process);
	previous.session = rt->session;
	previous.memory = rt->memory;
	previous.chunk_limit = rt->chunk_limit;
	rt->session = &no_session;
	atomic_fetch_add(&rt->generation, 1);
}

static void load_once(void)
{
	const char *enabled = getenv("INFERSCOPE_ENABLED");

	if (!enabled || strcmp(enabled, "0") != 0)
		(void)inferscope_join(getenv("INFERSCOPE_SESSION"));
}

/* Once a process: the session that the environment names. */
void inferscope_load(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int saved = errno;

	pthread_once(&once, load_once);
	errno = saved;
}

INFERSCOPE_EXPORT const struct inferscope_ops *inferscope_attach(uint32_t abi);

/* What the header calls, once for each program and library that includes it.  NULL: nobody is recording. */
const struct inferscope_ops *inferscope_attach(uint32_t abi)
{
	inferscope_load();
	return abi == INFERSCOPE_ABI && inferscope_joined() ? &inferscope_api : NULL;
}

bool inferscope_joined(void)
{
	struct session_page *session = inferscope_runtime.session;

	return session && !atomic_load_explicit(&session->closed, memory_order_relaxed);
}

bool inferscope_gpus_unsampled(void)
{
	struct session_page *session = inferscope_runtime.session;

	return session && atomic_load_explicit(&session->gpus_unsampled, memory_order_relaxed);
}
