/*
 * maps.c - memory of devices that is mapped: how much of it is written back, and whether it is pinned.
 *
 * A copy from the map of a buffer that lives on the host's side is one from
 * pinned memory: that is how OpenCL programs get some.
 */
#include "opencl/opencl.h"

#define MAPS 256u /* at a time; of those beyond nothing is known */

struct mapped {
	uintptr_t begin, end; /* begin 0: free */
	bool written, pinned;
};

static struct maps {
	_Atomic uint32_t lock;
	_Atomic uint32_t pinned; /* how many of them are */
	uint32_t used;           /* places up to the last that is taken */
	struct mapped list[MAPS];
} *maps;

void opencl_maps_wrap(void)
{
	maps = maps ? maps : opencl_map(sizeof *maps);
}

void opencl_maps_add(const void *pointer, uint64_t size, bool written, bool pinned)
{
	uintptr_t begin = (uintptr_t)pointer;
	uint32_t i = 0;

	if (!maps || !pointer)
		return;
	opencl_lock(&maps->lock);
	while (i < MAPS && maps->list[i].begin)
		i++;
	if (i < MAPS) {
		maps->list[i] = (struct mapped){ begin, size < UINTPTR_MAX - begin ? begin + size : UINTPTR_MAX, written, pinned };
		maps->used = i < maps->used ? maps->used : i + 1;
		maps->pinned += pinned;
	}
	opencl_unlock(&maps->lock);
}

bool opencl_maps_pinned(const void *pointer)
{
	uintptr_t at = (uintptr_t)pointer;
	bool found = false;

	if (!maps || atomic_load_explicit(&maps->pinned, memory_order_relaxed) == 0)
		return false;
	opencl_lock(&maps->lock);
	for (uint32_t i = 0; i < maps->used && !found; i++)
		found = maps->list[i].pinned && at >= maps->list[i].begin && at < maps->list[i].end;
	opencl_unlock(&maps->lock);
	return found;
}

uint64_t opencl_maps_take(const void *pointer)
{
	uint64_t bytes = 0;
	uint32_t i = 0;

	if (!maps || !pointer)
		return 0;
	opencl_lock(&maps->lock);
	while (i < maps->used && maps->list[i].begin != (uintptr_t)pointer)
		i++;
	if (i < maps->used) {
		bytes = maps->list[i].written ? maps->list[i].end - maps->list[i].begin : 0;
		maps->pinned -= maps->list[i].pinned;
		maps->list[i] = (struct mapped){ 0 };
		while (maps->used && !maps->list[maps->used - 1].begin)
			maps->used--;
	}
	opencl_unlock(&maps->lock);
	return bytes;
}
