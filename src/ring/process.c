/*
 * process.c - a process's file, and the private memory of its producers.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring/memory.h"
#include "ring/names.h"
#include "ring/producer.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static size_t memory_size(uint32_t chunk_limit)
{
	return sizeof(struct ring_memory) + chunk_limit * sizeof(struct chunk_state);
}

struct ring_memory *ring_memory_map(uint32_t chunk_limit)
{
	size_t size = memory_size(chunk_limit);
	struct ring_memory *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	if (madvise(memory, size, MADV_WIPEONFORK) != 0) {
		munmap(memory, size);
		return NULL;
	}
	return memory;
}

void ring_memory_unmap(struct ring_memory *memory, uint32_t chunk_limit)
{
	munmap(memory, memory_size(chunk_limit));
}

/* ---- The process's file ---------------------------------------------------- */

/* "folder/p123", by hand: snprintf is not async-signal-safe. */
static int process_path(char *path, const char *folder, uint32_t number)
{
	char digits[10];
	size_t n = strlen(folder), d = 0;

	if (n + 2 + sizeof digits + 1 > RING_PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(path, folder, n);
	path[n++] = '/';
	path[n++] = 'p';
	do
		digits[d++] = (char)('0' + number % 10);
	while (number /= 10);
	while (d)
		path[n++] = digits[--d];
	path[n] = '\0';
	return 0;
}

/* Growing a file past RLIMIT_FSIZE is a signal, so the limit is looked at first. */
static uint32_t affordable_chunks(uint32_t chunk_limit)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		while (chunk_limit && layout_file_size(chunk_limit) > limit.rlim_cur)
			chunk_limit /= 2;
	return chunk_limit;
}

/* Maps a new file, with fewer chunks where address space is short.  Raw system calls: open() and close() are
 * cancellation points. */
static int process_map(struct ring_process *process, uint32_t wanted)
{
	uint32_t chunks = affordable_chunks(wanted);
	int fd = (int)syscall(SYS_openat, AT_FDCWD, process->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	void *map = MAP_FAILED;
	int rc;

	if (fd < 0)
		return -errno;
	errno = EFBIG; /* of a limit under which no chunk fits */
	for (; chunks && map == MAP_FAILED; chunks /= 2) {
		uint64_t size = layout_file_size(chunks);

		if (ftruncate(fd, (off_t)size) != 0)
			break;
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		process->chunk_limit = chunks;
	}
	rc = -errno;
	syscall(SYS_close, fd);
	if (map == MAP_FAILED)
		return rc;
	process->map = map;
	process->chunk_offset = layout_chunk_offset(process->chunk_limit);
	return 0;
}

static uint32_t read_file(const char *path, char *text, size_t size)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	long n = 0;

	if (fd >= 0) {
		n = syscall(SYS_read, fd, text, size);
		syscall(SYS_close, fd);
	}
	return n > 0 ? (uint32_t)n : 0;
}

/* The 22nd word of its status, counted from behind the command, which may hold anything. */
static uint64_t birth(void)
{
	char text[1024];
	uint32_t size = read_file("/proc/self/stat", text, sizeof text - 1), spaces = 0;
	const char *at = text + size;
	uint64_t ticks = 0;

	text[size] = '\0';
	while (at > text && at[-1] != ')')
		at--;
	for (; *at && spaces < 20; at++)
		spaces += *at == ' ';
	for (; *at >= '0' && *at <= '9'; at++)
		ticks = ticks * 10 + (uint64_t)(*at - '0');
	return ticks;
}

static uint64_t pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

static void process_fill(struct ring_process *process, const struct ring_process_options *options)
{
	struct process_header *h = process->map;

	h->magic = PROCESS_MAGIC;
	h->version = 1;
	h->number = process->number;
	h->pid = (uint32_t)syscall(SYS_getpid);
	h->parent = options->parent;
	h->first_name = options->first_name;
	h->chunk_limit = process->chunk_limit;
	h->chunk_offset = process->chunk_offset;
	h->file_size = layout_file_size(process->chunk_limit);
	h->start_ticks = options->start_ticks;
	h->pid_namespace = pid_namespace();
	h->flags = options->flags;
	h->birth = birth();
	h->parent_pid = (uint32_t)syscall(SYS_getppid);
	h->command_size = read_file("/proc/self/cmdline", h->command, PROCESS_COMMAND_SIZE);
	atomic_store_explicit(&h->names, options->first_name, memory_order_relaxed);
	process->header = h;
	process->first_name = options->first_name;
	atomic_store_explicit(&h->ready, 1, memory_order_release);
}

static void count_refused(struct session_page *session, uint32_t code)
{
	uint32_t none = 0;

	(void)atomic_compare_exchange_strong(&session->refused_code, &none, code);
	ring_count(&session->refused_processes);
}

int ring_process_attach(struct ring_memory *memory, const struct ring_process_options *options)
{
	struct ring_process *process = &memory->process;
	struct session_page *session = options->session;
	int saved = errno, rc;

	process->session = session;
	process->chunk_states = memory->chunk_states;
	process->number = atomic_fetch_add(&session->processes, 1);
	rc = process_path(process->path, options->folder, process->number);
	if (rc == 0)
		rc = process_map(process, options->chunk_limit);
	if (rc == 0)
		rc = memory_commit(process->map, 0, sizeof(struct process_header), process->path);
	if (rc == 0)
		process_fill(process, options);
	else
		count_refused(session, (uint32_t)-rc);
	errno = saved;
	return rc;
}

/* ---- The file of a process that has ended ------------------------------------ */

static bool is_sound(const struct process_header *h, uint32_t number, uint64_t size)
{
	return h->magic == PROCESS_MAGIC && h->version == 1 && h->number == number && h->chunk_limit <= CHUNK_LIMIT &&
	       h->file_size == layout_file_size(h->chunk_limit) && h->chunk_offset == layout_chunk_offset(h->chunk_limit) &&
	       h->file_size <= size && h->first_name >= NAME_FIRST && h->first_name <= NAME_LIMIT &&
	       atomic_load(&h->ready) && atomic_load(&h->names) <= NAME_LIMIT && atomic_load(&h->rings) <= RING_LIMIT &&
	       atomic_load(&h->chunks) <= h->chunk_limit;
}

static int map_ended(struct ring_process *process, uint32_t number)
{
	int fd = open(process->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct process_header *h = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > (off_t)PROCESS_CHUNKS_OFFSET)
		h = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (h == MAP_FAILED)
		return -EINVAL;
	if (!is_sound(h, number, (uint64_t)st.st_size)) {
		munmap(h, (size_t)st.st_size);
		return -EINVAL;
	}
	process->map = process->header = h;
	return 0;
}

/* Where the text ends: what no name points to was being written, and is nobody's. */
static uint32_t text_end(void *map, uint32_t first_name, uint32_t names)
{
	uint32_t end = 0;

	for (uint32_t id = first_name; id < names; id++) {
		size_t size = 0;
		const uint8_t *text = name_in_file(map, first_name, id, &size);
		uint32_t after = text ? (uint32_t)(text + size - layout_name_text(map)) : 0;

		end = after > end ? after : end;
	}
	return end;
}

static uint32_t last_serial(void *map, uint32_t rings)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < rings; i++) {
		uint32_t serial = atomic_load(&(layout_rings(map) + i)->serial);

		last = serial > last ? serial : last;
	}
	return last;
}

int ring_process_inherit(struct ring_memory *memory, const struct ring_process_options *options, uint32_t number,
			 struct name_table *names)
{
	struct ring_process *process = &memory->process;
	int rc = process_path(process->path, options->folder, number);

	rc = rc ? rc : map_ended(process, number);
	if (rc)
		return rc;
	if (process->header->chunk_limit > options->chunk_limit) /* as no process of the session has it */
		return -EINVAL;
	process->session = options->session;
	process->chunk_states = memory->chunk_states;
	process->number = number;
	process->chunk_offset = process->header->chunk_offset;
	process->chunk_limit = process->header->chunk_limit;
	process->first_name = process->header->first_name;
	atomic_store(&process->rings, atomic_load(&process->header->rings));
	atomic_store(&process->chunks, atomic_load(&process->header->chunks));
	atomic_store(&process->serials, last_serial(process->map, process->rings));
	atomic_store(&process->name_text, text_end(process->map, process->first_name, atomic_load(&process->header->names)));
	atomic_store(&names->next, atomic_load(&process->header->names));
	atomic_store(&process->attached, 2);
	return 0;
}

void ring_process_leave(struct ring_process *process)
{
	uint64_t size;

	if (!process->map)
		return;
	size = layout_file_size(process->chunk_limit) - process->chunk_offset;
	(void)mmap((char *)process->map + process->chunk_offset, size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}
