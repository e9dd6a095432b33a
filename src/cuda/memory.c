/*
 * memory.c - the door's memory: what it knows, and the buffers that CUPTI fills.
 *
 * It is a file in the session's folder, so that whatever CUPTI has written is
 * there when the program has been killed, together with what is needed to make
 * sense of it: then a process that the recorder makes goes on where the program
 * stopped (heir.c).  That costs the program nothing, since CUPTI has to write
 * somewhere.
 *
 * A store to a page of such a file that the kernel cannot provide is a signal: all
 * is asked for before it is used, and where it cannot be had, memory of the
 * process's own does, which nobody inherits.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cuda/cuda.h"
#include "ring/memory.h"

#define STATE_SIZE (5u << 19) /* more than all modules take together */
#define ALIGNMENT 64u
#define PAGE_MAX 65536u /* of any machine */
#define ROOM_SHARE 4u   /* of the room that there is, one part in so many */

static uint8_t *memory;
static size_t memory_size, taken;
static size_t shared; /* bytes of it are the file's */
static _Atomic bool left; /* what comes now is another session's */
static char path[RING_PATH_MAX + 16];

static struct cuda_file *head(void)
{
	return (struct cuda_file *)memory;
}

/* ---- The file ------------------------------------------------------------------------ */

static void *map_private(void *at, size_t size)
{
	void *map = mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

/* In a forked child CUPTI may go on writing to the buffers that it has: not into its parent's. */
static void on_fork(void)
{
	if (shared)
		(void)map_private(memory, shared);
}

/* So much may be in the file: the rings have to have room beside it, and beyond the limit of files is a signal. */
static size_t affordable(size_t size)
{
	struct rlimit limit;
	struct statvfs fs;
	uint64_t room = statvfs(inferscope_runtime.folder, &fs) == 0 ? fs.f_bavail * fs.f_frsize / ROOM_SHARE : 0;

	if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
		room = 0;
	else if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < room)
		room = limit.rlim_cur;
	return (size < room ? size : (size_t)room) & ~(size_t)(PAGE_MAX - 1);
}

/* Puts the file in the place of the memory's first part. */
static bool map_file(size_t size)
{
	int fd = size > STATE_SIZE ? open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
	bool mapped;

	if (fd < 0)
		return false;
	mapped = ftruncate(fd, (off_t)size) == 0 &&
		 mmap(memory, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
	close(fd);
	if (mapped && memory_commit(memory, 0, STATE_SIZE, path) == 0 && pthread_atfork(NULL, NULL, on_fork) == 0)
		return true;
	(void)unlink(path);
	if (mapped)
		(void)map_private(memory, size);
	return false;
}

static void set_path(const char *folder, uint32_t number)
{
	snprintf(path, sizeof path, "%s/c%u", folder, number);
}

bool cuda_memory_map(size_t buffers)
{
	taken = sizeof(struct cuda_file);
	for (; buffers && !memory; buffers /= 2) { /* address space may be short */
		memory_size = STATE_SIZE + buffers;
		memory = map_private(NULL, memory_size);
	}
	if (!memory)
		return false;
	if (inferscope_have_process(&inferscope_thread)) {
		size_t size = affordable(memory_size);

		set_path(inferscope_runtime.folder, inferscope_runtime.memory->process.number);
		shared = map_file(size) ? size : 0;
	}
	head()->magic = CUDA_FILE_MAGIC;
	cuda_memory_settle(true); /* until CUPTI gets a buffer */
	return true;
}

/* In the file itself, so that who comes after an heir that was killed goes on where that one stopped. */
bool cuda_memory_inherit(const char *folder, uint32_t number)
{
	struct stat st;
	void *map = MAP_FAILED;
	int fd;

	set_path(folder, number);
	fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > (off_t)STATE_SIZE)
		map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return false;
	memory = map;
	memory_size = (size_t)st.st_size;
	taken = sizeof(struct cuda_file);
	return head()->magic == CUDA_FILE_MAGIC;
}

/* ---- What is in it --------------------------------------------------------------------- */

void *cuda_memory_take(size_t size)
{
	size_t at = (taken + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

	if (at + size > STATE_SIZE)
		return NULL;
	taken = at + size;
	return memory + at;
}

uint8_t *cuda_memory_buffers(void)
{
	return memory + STATE_SIZE;
}

size_t cuda_memory_buffers_size(void)
{
	return memory_size - STATE_SIZE;
}

void cuda_memory_ready(uint8_t *buffer, size_t size)
{
	size_t at = (size_t)(buffer - memory);

	if (at < shared && memory_commit(memory, at, at + size < shared ? size : shared - at, path) != 0)
		(void)map_private(buffer, size);
}

void cuda_memory_sign(void)
{
	head()->taken = (uint32_t)taken;
}

bool cuda_memory_agrees(void)
{
	return head()->taken == taken;
}

void cuda_memory_settle(bool settled)
{
	if (!left)
		atomic_store_explicit(&head()->settled, settled, memory_order_release);
}

void cuda_memory_leave(void)
{
	cuda_memory_settle(true);
	left = true;
}
