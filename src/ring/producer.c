#include "ring/producer.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ring/memory.h"

#define COMMIT_SLOTS 512u    /* of a chunk, made ready at a time: 16 KiB */
#define PATIENCE 256u       /* refills that do without a new chunk after memory ran out */
#define BLOCK_NAP_NS 100000 /* between looks whether the recorder has made room */

/* ---- Rings ----------------------------------------------------------------- */

static void raise_to(_Atomic uint32_t *mark, uint32_t value)
{
	uint32_t seen = atomic_load_explicit(mark, memory_order_relaxed);

	while (seen < value && !atomic_compare_exchange_weak_explicit(mark, &seen, value, memory_order_release,
								      memory_order_relaxed))
		;
}

/* A ring that a thread has left and the recorder has read. */
static bool reuse_ring(struct ring_process *process, uint32_t *ret)
{
	struct ring_header *rings = layout_rings(process->map);
	uint32_t used = atomic_load(&process->header->rings);

	if (atomic_load_explicit(&process->header->free_rings, memory_order_relaxed) == 0)
		return false;
	for (uint32_t i = 0; i < used; i++) {
		uint32_t state = RING_FREE;

		if (atomic_compare_exchange_strong(&rings[i].state, &state, RING_LIVE)) {
			atomic_fetch_sub(&process->header->free_rings, 1);
			*ret = i;
			return true;
		}
	}
	return false;
}

static bool new_ring(struct ring_process *process, uint32_t *ret)
{
	struct ring_header *rings = layout_rings(process->map);
	uint32_t i = atomic_load(&process->rings);

	do /* memory first: no number is taken in vain, and there is none without memory */
		if (i >= RING_LIMIT || memory_commit(process->map, (uint64_t)((char *)&rings[i] - (char *)process->map),
						     sizeof rings[i], process->path) != 0)
			return false;
	while (!atomic_compare_exchange_weak(&process->rings, &i, i + 1));
	atomic_store(&rings[i].state, RING_LIVE);
	raise_to(&process->header->rings, i + 1);
	*ret = i;
	return true;
}

struct ring_producer *ring_producer_open(struct ring_memory *memory, uint64_t now, uint32_t flags, uint32_t *serial)
{
	struct ring_process *process = &memory->process;
	struct ring_producer *p;
	struct ring_header *h;
	uint32_t i;

	if (!reuse_ring(process, &i) && !new_ring(process, &i))
		return NULL;
	if (*serial == 0)
		*serial = atomic_fetch_add(&process->serials, 1) + 1;
	p = &memory->producers[i];
	h = layout_rings(process->map) + i;
	memset(p, 0, sizeof *p);
	p->process = process;
	p->index = i;
	/* A ring that had another thread before goes on counting where that one stopped. */
	p->produced = atomic_load(&h->produced);
	p->extra = atomic_load(&h->extra);
	h->tid = (uint32_t)syscall(SYS_gettid);
	h->flags = flags;
	h->start_ticks = now;
	atomic_store_explicit(&h->name, NAME_NONE, memory_order_relaxed);
	atomic_store_explicit(&h->serial, *serial, memory_order_release);
	p->shared = h;
	return p;
}

void ring_producer_exit(struct ring_producer *p)
{
	struct ring_header *h = p->shared;

	p->shared = NULL;
	p->cursor = p->end = NULL;
	if (h)
		atomic_store_explicit(&h->state, RING_EXITED, memory_order_release);
}

/* ---- Chunks ---------------------------------------------------------------- */

static struct chunk_entry *entry_of(const struct ring_process *process, uint32_t chunk)
{
	return layout_chunks(process->map) + chunk;
}

/* A chunk that is as `wanted` says; the hint tells whether looking for one makes sense. */
static bool claim_chunk(struct ring_process *process, uint32_t wanted, _Atomic uint32_t *hint, uint32_t *ret)
{
	uint32_t used = atomic_load(&process->header->chunks);

	if (atomic_load_explicit(hint, memory_order_relaxed) == 0)
		return false;
	for (uint32_t i = 0; i < used; i++) {
		uint32_t owner = wanted;

		if (atomic_compare_exchange_strong(&entry_of(process, i)->owner, &owner, CHUNK_CLAIMED)) {
			atomic_fetch_sub(hint, 1);
			*ret = i;
			return true;
		}
	}
	return false;
}

/* One that a thread of this process had: committed, and counted in the budget already. */
static bool reuse_chunk(struct ring_process *process, uint32_t *ret)
{
	struct chunk_state *state;

	if (!claim_chunk(process, CHUNK_FREE, &process->header->free_chunks, ret))
		return false;
	state = &process->chunk_states[*ret];
	state->committed = atomic_load(&entry_of(process, *ret)->committed);
	if (state->committed > CHUNK_SLOTS)
		state->committed = 0;
	return true;
}

static bool take_budget(struct session_page *session)
{
	uint32_t used = atomic_load_explicit(&session->chunks_used, memory_order_relaxed);

	while (used < session->chunk_limit)
		if (atomic_compare_exchange_weak(&session->chunks_used, &used, used + 1))
			return true;
	return false;
}

/* Memory comes a step at a time, so that a thread with few events costs little.  One that has filled a chunk gets the next
 * whole. */
static uint32_t step_slots(const struct ring_producer *p)
{
	return p->chunk_count ? CHUNK_SLOTS : COMMIT_SLOTS;
}

static bool commit_step(struct ring_process *process, uint32_t chunk, uint32_t committed, uint32_t slots)
{
	uint64_t offset = process->chunk_offset + (uint64_t)chunk * CHUNK_SIZE + committed * sizeof(struct event_slot);

	return memory_commit(process->map, offset, slots * sizeof(struct event_slot), process->path) == 0;
}

static void add_step(struct ring_process *process, uint32_t chunk, uint32_t slots)
{
	struct chunk_state *state = &process->chunk_states[chunk];

	state->committed += slots;
	atomic_store_explicit(&entry_of(process, chunk)->committed, state->committed, memory_order_release);
}

static bool commit_chunk(struct ring_process *process, uint32_t chunk, uint32_t slots)
{
	struct chunk_entry *entry = entry_of(process, chunk);

	return memory_commit(process->map, (uint64_t)((char *)entry - (char *)process->map), sizeof *entry, process->path) == 0 &&
	       commit_step(process, chunk, 0, slots);
}

static bool new_chunk(struct ring_process *process, uint32_t slots, uint32_t *ret)
{
	uint32_t chunk = atomic_load(&process->chunks);

	if (chunk >= process->chunk_limit || !take_budget(process->session))
		return false;
	do /* memory first, as with rings */
		if (chunk >= process->chunk_limit || !commit_chunk(process, chunk, slots)) {
			atomic_fetch_sub(&process->session->chunks_used, 1);
			return false;
		}
	while (!atomic_compare_exchange_weak(&process->chunks, &chunk, chunk + 1));
	add_step(process, chunk, slots);
	atomic_store(&entry_of(process, chunk)->base, CHUNK_NO_BASE);
	atomic_store(&entry_of(process, chunk)->owner, CHUNK_CLAIMED);
	raise_to(&process->header->chunks, chunk + 1);
	*ret = chunk;
	return true;
}

/* One that the recorder has taken the memory from. */
static bool refill_empty_chunk(struct ring_process *process, uint32_t slots, uint32_t *ret)
{
	_Atomic uint32_t *hint = &process->header->empty_chunks;

	if (atomic_load_explicit(hint, memory_order_relaxed) == 0 || !take_budget(process->session))
		return false;
	if (claim_chunk(process, CHUNK_EMPTY, hint, ret)) {
		process->chunk_states[*ret].committed = 0;
		if (commit_step(process, *ret, 0, slots)) {
			add_step(process, *ret, slots);
			return true;
		}
		atomic_store(&entry_of(process, *ret)->owner, CHUNK_EMPTY);
		atomic_fetch_add(hint, 1);
	}
	atomic_fetch_sub(&process->session->chunks_used, 1);
	return false;
}

static bool lease_chunk(struct ring_producer *p, uint32_t *ret)
{
	if (reuse_chunk(p->process, ret))
		return true;
	if (p->patience) {
		p->patience--;
		return false;
	}
	if (refill_empty_chunk(p->process, step_slots(p), ret) || new_chunk(p->process, step_slots(p), ret))
		return true;
	p->patience = PATIENCE;
	return false;
}

static void append_chunk(struct ring_producer *p, uint32_t chunk)
{
	if (p->chunk_count == 0)
		p->oldest = chunk;
	else
		p->process->chunk_states[p->newest].next = chunk;
	p->newest = chunk;
	p->chunk_count++;
}

/* Makes a chunk that is ours, and has no base, hold the slots that come next.  The order of the stores is what the recorder's
 * second look relies on: no base, then anything else, then the base. */
static void begin_chunk(struct ring_producer *p, uint32_t chunk)
{
	struct chunk_entry *entry = entry_of(p->process, chunk);
	slot_word *slots = layout_chunk(p->process->map, p->process->chunk_offset, chunk);
	struct chunk_state *state = &p->process->chunk_states[chunk];

	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&entry->extra_base, p->extra, memory_order_relaxed);
	atomic_store_explicit(&entry->owner, p->index + 1, memory_order_relaxed);
	atomic_store_explicit(&entry->base, p->produced, memory_order_release);
	state->base = p->produced;
	p->cursor = slots;
	p->end = slots + 4 * (size_t)state->committed;
}

/* The chunk at hand has memory that was not asked for yet. */
static bool extend_chunk(struct ring_producer *p)
{
	struct chunk_state *state;

	if (p->chunk_count == 0 || p->patience)
		return false;
	state = &p->process->chunk_states[p->newest];
	if (state->committed == CHUNK_SLOTS || !commit_step(p->process, p->newest, state->committed, COMMIT_SLOTS))
		return false;
	add_step(p->process, p->newest, COMMIT_SLOTS);
	p->end += 4 * COMMIT_SLOTS;
	return true;
}

static bool is_ours(const struct ring_producer *p, uint32_t chunk)
{
	return atomic_load_explicit(&entry_of(p->process, chunk)->owner, memory_order_acquire) == p->index + 1;
}

/*
 * The recorder takes chunks from the oldest on, never the newest.  What it has taken may have got another owner, who
 * writes to its state: nothing there can be relied on, not even where the list went on.  So the oldest chunk that is
 * left is looked for; from there on the list is whole.
 */
static void find_oldest(struct ring_producer *p)
{
	uint32_t used = atomic_load(&p->process->header->chunks);
	uint64_t lowest = CHUNK_NO_BASE;

	p->chunk_count = 0;
	for (uint32_t i = 0; i < used; i++) {
		uint64_t base = is_ours(p, i) ? atomic_load(&entry_of(p->process, i)->base) : CHUNK_NO_BASE;

		if (base == CHUNK_NO_BASE)
			continue;
		p->chunk_count++;
		if (base < lowest) {
			lowest = base;
			p->oldest = i;
		}
	}
}

static void forget_taken(struct ring_producer *p)
{
	if (p->chunk_count > 1 && !is_ours(p, p->oldest))
		find_oldest(p);
}

static bool oldest_is_drained(struct ring_producer *p)
{
	const struct chunk_state *states = p->process->chunk_states;
	uint64_t oldest_end;

	forget_taken(p);
	oldest_end = p->chunk_count > 1 ? states[states[p->oldest].next].base : p->produced;
	return atomic_load_explicit(&p->shared->drained, memory_order_acquire) >= oldest_end;
}

/* Uses the oldest chunk again.  False when the recorder has taken it away meanwhile. */
static bool recycle_oldest(struct ring_producer *p)
{
	uint32_t chunk = p->oldest;
	uint64_t base = p->process->chunk_states[chunk].base;

	/* The state is read before the owner: a chunk that is ours now was so then. */
	atomic_thread_fence(memory_order_acquire);
	if (!is_ours(p, chunk) ||
	    !atomic_compare_exchange_strong(&entry_of(p->process, chunk)->base, &base, CHUNK_NO_BASE)) {
		find_oldest(p);
		return false;
	}
	p->oldest = p->process->chunk_states[chunk].next;
	p->chunk_count--;
	append_chunk(p, chunk);
	begin_chunk(p, chunk);
	return true;
}

static bool recycle_drained(struct ring_producer *p)
{
	while (p->chunk_count && oldest_is_drained(p))
		if (recycle_oldest(p))
			return true;
	return false;
}

static bool recycle_any(struct ring_producer *p)
{
	while (p->chunk_count)
		if (recycle_oldest(p))
			return true;
	return false;
}

static bool begin_another(struct ring_producer *p)
{
	uint32_t chunk;

	if (!lease_chunk(p, &chunk))
		return false;
	forget_taken(p); /* it may be one of those that were taken from us */
	append_chunk(p, chunk);
	begin_chunk(p, chunk);
	return true;
}

/* Waits until the recorder has made room; after the first time in vain nobody in this process waits again. */
static bool wait_for_room(struct ring_producer *p)
{
	struct ring_process *process = p->process;
	uint64_t naps = process->session->block_timeout_ms * (1000000ull / BLOCK_NAP_NS);
	struct timespec nap = { 0, BLOCK_NAP_NS };

	for (; naps && !atomic_load_explicit(&process->gave_up_blocking, memory_order_relaxed); naps--) {
		syscall(SYS_nanosleep, &nap, NULL);
		if (recycle_drained(p) || begin_another(p))
			return true;
	}
	atomic_store_explicit(&process->gave_up_blocking, 1, memory_order_relaxed);
	return false;
}

static bool make_room(struct ring_producer *p)
{
	switch (p->process->session->overflow) {
	case OVERFLOW_WRAP:
		return recycle_any(p); /* the oldest events are gone */
	case OVERFLOW_BLOCK:
		return wait_for_room(p);
	default:
		return false;
	}
}

bool ring_producer_refill(struct ring_producer *p)
{
	int saved = errno;
	bool found;

	if (!p->shared) /* wiped by a fork since the caller looked */
		return false;
	found = recycle_drained(p) || extend_chunk(p) || begin_another(p) || (p->chunk_count && make_room(p));
	if (!found)
		ring_count(p->chunk_count ? &p->shared->refused_full : &p->shared->refused_no_chunk);
	errno = saved;
	return found;
}

slot_word *ring_producer_group(struct ring_producer *p, uint32_t count)
{
	size_t room = (size_t)(p->end - p->cursor) / 4;

	if (room < count && extend_chunk(p))
		room += COMMIT_SLOTS;
	if (room && room < count) {
		for (size_t i = 0; i < room; i++)
			ring_slot_write(p->cursor + 4 * i, 0, 0, 0, 0);
		ring_publish_group(p, (uint32_t)room, (uint32_t)room);
	}
	return p->cursor != p->end || ring_producer_refill(p) ? p->cursor : NULL;
}
