/*
 * inherit.c - goes on in the name of a process that has ended.
 *
 * A process that was killed may leave records behind that it had no time to
 * translate.  Its recorder makes another process for that, its heir, which loads
 * this library and writes to the rings of the dead one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/runtime.h"

#define THREAD_NAME "inferscope-gpu"

/* The recorder may have closed the session already: it waits for us. */
static struct session_page open_session;

static struct session_page *map_page(const char *folder)
{
	char path[RING_PATH_MAX + sizeof "/" SESSION_FILE];
	struct session_page *page;
	int fd;

	snprintf(path, sizeof path, "%s/" SESSION_FILE, folder);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	page = fd < 0 ? MAP_FAILED : mmap(NULL, SESSION_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (page == MAP_FAILED || page->magic != SESSION_MAGIC)
		return NULL;
	return page;
}

/* Its ring says whose thread it is. */
static bool open_ring(uint32_t serial, uint32_t tid)
{
	struct runtime_thread *t = &inferscope_thread;
	struct ring_header *h;

	t->serial = serial;
	if (!inferscope_have_ring(t))
		return false;
	h = t->producer->shared;
	h->tid = tid ? tid : h->tid;
	atomic_store(&h->name, inferscope_intern(t, THREAD_NAME, sizeof THREAD_NAME - 1));
	return true;
}

bool inferscope_inherit(const char *folder, uint32_t number, uint32_t serial, uint32_t tid)
{
	struct runtime *rt = &inferscope_runtime;
	struct session_page *page = map_page(folder);
	struct ring_process_options options = { .session = page, .folder = folder };

	options.chunk_limit = page ? *(volatile uint32_t *)&page->chunk_limit : 0; /* once: others may write there */
	rt->memory = options.chunk_limit && options.chunk_limit <= CHUNK_LIMIT ? ring_memory_map(options.chunk_limit) : NULL;
	rt->names = name_table_map();
	if (!rt->memory || !rt->names)
		return false;
	if (ring_process_inherit(rt->memory, &options, number, rt->names) != 0)
		return false;
	rt->clock = page->clock_source;
	rt->chunk_limit = options.chunk_limit;
	rt->number = number + 1;
	rt->session = &open_session;
	return open_ring(serial, tid);
}
