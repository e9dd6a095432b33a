/*
 * waits.c - which call recorded the event that a stream or a thread waits for.
 *
 * From CUDA 12.8 on records of events and of waits share a number.  Before, they
 * share the event, which may be recorded any number of times: the wait is for
 * the last time before it, and correlations are numbered in that order.
 */
#include "cuda/cuda.h"

#define PLACES 16384u
#define PROBES 8u
#define EVENT_NONE_ID UINT32_MAX

static struct wait_place {
	uint64_t key; /* 0: free */
	uint32_t calls[3]; /* correlations, the newest first */
} *table;

bool cuda_waits_map(void)
{
	table = cuda_memory_take(PLACES * sizeof *table);
	return table != NULL;
}

static uint64_t key_of(struct record r, size_t context, size_t event, size_t sync)
{
	uint64_t shared = record_u64(r, sync);

	return shared ? shared << 1 : ((uint64_t)record_u32(r, context) << 33 | (uint64_t)record_u32(r, event) << 1) | 1;
}

static uint32_t first_place(uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 50);
}

/* Where it is, or where it may go: then what has been there longest makes room. */
static struct wait_place *find(uint64_t key, bool make)
{
	struct wait_place *oldest = NULL;

	for (uint32_t i = 0; i < PROBES; i++) {
		struct wait_place *p = &table[(first_place(key) + i) % PLACES];

		if (p->key == key)
			return p;
		if (!oldest || p->calls[0] < oldest->calls[0])
			oldest = p;
	}
	if (!make)
		return NULL;
	*oldest = (struct wait_place){ .key = key };
	return oldest;
}

void cuda_waits_learn(struct record r)
{
	struct wait_place *p = find(key_of(r, AT_EVENT_CONTEXT, AT_EVENT_EVENT, AT_EVENT_EVENT_SYNC), true);
	uint32_t call = record_u32(r, AT_EVENT_CORRELATION);

	for (unsigned i = 0; i < 3; i++) /* in falling order */
		if (call > p->calls[i]) {
			uint32_t displaced = p->calls[i];

			p->calls[i] = call;
			call = displaced;
		}
}

uint32_t cuda_waits_find(struct record r)
{
	const struct wait_place *p = NULL;
	uint32_t call = record_u32(r, AT_SYNC_CORRELATION);

	if (record_u32(r, AT_SYNC_EVENT) != EVENT_NONE_ID)
		p = find(key_of(r, AT_SYNC_CONTEXT, AT_SYNC_EVENT, AT_SYNC_EVENT_SYNC), false);
	for (unsigned i = 0; p && i < 3; i++)
		if (p->calls[i] && p->calls[i] < call)
			return p->calls[i];
	return 0;
}
