/*
 * buffers.c - buffers for records, from the pool to CUPTI and back.
 *
 * Threads of the program ask for buffers in the middle of their calls of CUDA:
 * taking one is two atomic operations.  CUPTI must not be refused (before CUDA
 * 12.9 it then writes to address 0), so that when the pool is empty it gets a
 * small buffer whose records are only counted.
 *
 * A buffer is all zeroes when CUPTI gets it, so that an heir sees how far it has
 * been written to.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda/cuda.h"

/* Each thread of the program has one, and what is not used takes no memory. */
#define BUFFER_SIZE (256u << 10)
#define BUFFERS 1024u
#define SPARE_SIZE (16u << 10)
#define SPARES 1024u
#define PLACES (BUFFERS + SPARES)
#define QUEUE 4096u
#define FEW 256u        /* buffers in use: the program does little, */
#define FEW_RECORDS 32u /* and buffers are full after so many records, */
#define FEW_SIZE (12u << 10) /* or bytes */
#define RECORD_MAX 512u /* bytes; the largest has 304 */
_Static_assert(QUEUE > PLACES, "all buffers may wait at once");
#define RESYNC 4096u /* bytes that are looked through for the next record */
#define OVERDUE_NS 250000000 /* our thread hangs in a flush: CUPTI's does its work */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#define DECLINE_VERSION 28u /* CUDA 12.9: no buffer is an answer */

static uint8_t *memory, *spare_memory;
static uint32_t buffers;
static _Atomic uint64_t free_places[PLACES / 64];
static size_t ready[BUFFERS]; /* bytes that can be written to; whoever has the buffer may look */

/* A buffer, as an heir has to know it. */
enum place_state { PLACE_FREE, PLACE_OUTSIDE, PLACE_BACK };
static struct place {
	_Atomic uint32_t state;
	uint32_t size, valid; /* what CUPTI got, and how much of it it says it has used */
	/* Bytes that have been translated, in the upper half; in the lower how many events were in the ring of who does it before the
	 * record that is next, plus 1 (0: nobody has begun).  One number, since a program can be killed between two. */
	_Atomic uint64_t mark;
	uint32_t ring;
} *places;

/* Whose it was, when it has come back. */
static struct back {
	void *context;
	uint32_t stream;
} back[PLACES];
static _Atomic uint16_t queue[QUEUE]; /* place + 1, in the order in which they came */
static _Atomic uint32_t queue_end, queue_begin;
static _Atomic bool translating, at_once;
static _Atomic uint32_t outside; /* buffers that CUPTI has */
static _Atomic uint32_t in_use;  /* and those that have not been looked at yet */

/* ---- The pool -------------------------------------------------------------------- */

static uint32_t buffer_limit(void)
{
	const char *text = secure_getenv("INFERSCOPE_CUDA_BUFFERS");
	unsigned long number = text ? strtoul(text, NULL, 10) : BUFFERS;

	return number && number < BUFFERS ? (uint32_t)number : BUFFERS;
}

static void *map(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

size_t cuda_buffers_size(void)
{
	return (size_t)buffer_limit() * BUFFER_SIZE;
}

bool cuda_buffers_map(void)
{
	places = cuda_memory_take(PLACES * sizeof *places);
	memory = cuda_memory_buffers();
	buffers = (uint32_t)(cuda_memory_buffers_size() / BUFFER_SIZE);
	buffers = buffers < BUFFERS ? buffers : BUFFERS;
	spare_memory = map((size_t)SPARES * SPARE_SIZE);
	if (!places || !spare_memory)
		return false;
	for (uint32_t i = 0; i < PLACES; i++)
		if (i < buffers || i >= BUFFERS)
			free_places[i / 64] |= 1ull << i % 64;
	return true;
}

/* The lowest free place from `from` to `to`, both multiples of 64; PLACES: none. */
static uint32_t take_place(uint32_t from, uint32_t to)
{
	for (uint32_t word = from / 64; word < to / 64; word++) {
		uint64_t free = atomic_load_explicit(&free_places[word], memory_order_acquire);

		while (free)
			if (atomic_compare_exchange_weak(&free_places[word], &free, free & (free - 1)))
				return word * 64 + (uint32_t)__builtin_ctzll(free);
	}
	return PLACES;
}

static uint8_t *memory_of(uint32_t place)
{
	return place < BUFFERS ? memory + (size_t)place * BUFFER_SIZE : spare_memory + (size_t)(place - BUFFERS) * SPARE_SIZE;
}

static void give_back(uint32_t place)
{
	size_t used = places[place].valid + RECORD_MAX;

	if (place < BUFFERS)
		memset(memory_of(place), 0, used < places[place].size ? used : places[place].size);
	atomic_store_explicit(&places[place].state, PLACE_FREE, memory_order_release);
	atomic_fetch_sub_explicit(&in_use, 1, memory_order_relaxed);
	atomic_fetch_or_explicit(&free_places[place / 64], 1ull << place % 64, memory_order_release);
}

static uint32_t place_of(const uint8_t *buffer)
{
	if (buffer >= memory && buffer < memory + (size_t)buffers * BUFFER_SIZE)
		return (uint32_t)((size_t)(buffer - memory) / BUFFER_SIZE);
	if (buffer >= spare_memory && buffer < spare_memory + (size_t)SPARES * SPARE_SIZE)
		return BUFFERS + (uint32_t)((size_t)(buffer - spare_memory) / SPARE_SIZE);
	return PLACES;
}

/* ---- What CUPTI calls --------------------------------------------------------------- */

static void hand_out(uint32_t place, size_t size)
{
	struct place *p = &places[place];

	if (place < BUFFERS && ready[place] < size) {
		cuda_memory_ready(memory_of(place), size);
		ready[place] = size;
	}
	p->size = (uint32_t)size;
	p->valid = 0;
	atomic_store_explicit(&p->mark, 0, memory_order_relaxed);
	atomic_store_explicit(&p->state, PLACE_OUTSIDE, memory_order_release);
	cuda_memory_settle(false);
}

/* A flush leaves a buffer where it is while anything in it still runs, so that on a device that always has something to do only full
 * buffers come back.  Hence they are small, as long as there are few of them. */
void cuda_buffers_request(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_max_records)
{
	uint32_t place = cuda_is_ours() ? take_place(0, BUFFERS) : PLACES; /* a child by a bare clone() has the file of its parent */
	bool few = place != PLACES && atomic_load_explicit(&in_use, memory_order_relaxed) < FEW;

	*ret_max_records = few ? FEW_RECORDS : 0;
	if (place == PLACES)
		place = take_place(BUFFERS, PLACES);
	if (place == PLACES && cuda_door->version >= DECLINE_VERSION) { /* CUPTI counts what it drops */
		*ret_buffer = NULL;
		*ret_size = 0;
		return;
	}
	if (place == PLACES) /* better that two write over each other's */
		place = PLACES - 1;
	atomic_fetch_add_explicit(&outside, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&in_use, 1, memory_order_relaxed);
	*ret_size = few ? FEW_SIZE : place < BUFFERS ? BUFFER_SIZE : SPARE_SIZE;
	*ret_buffer = memory_of(place);
	hand_out(place, *ret_size);
}

static bool is_overdue(void)
{
	uint64_t since = clock_ticks(inferscope_runtime.clock) - atomic_load_explicit(&cuda_door->looked, memory_order_relaxed);

	return since > cuda_clock_ticks(OVERDUE_NS);
}

void cuda_buffers_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	uint32_t place = place_of(buffer), at;

	if (!cuda_is_ours() || place == PLACES)
		return;
	(void)size;
	places[place].valid = valid < places[place].size ? (uint32_t)valid : places[place].size;
	atomic_store_explicit(&places[place].state, PLACE_BACK, memory_order_release);
	back[place] = (struct back){ context, stream };
	at = atomic_fetch_add_explicit(&queue_end, 1, memory_order_relaxed);
	atomic_store_explicit(&queue[at % QUEUE], (uint16_t)(place + 1), memory_order_release);
	atomic_fetch_sub_explicit(&outside, 1, memory_order_relaxed);
	if (atomic_load_explicit(&at_once, memory_order_acquire) || is_overdue())
		(void)cuda_buffers_translate();
}

/* ---- Walking through a buffer ---------------------------------------------------------- */

struct walk {
	uint8_t *data;
	size_t valid, at; /* where the next record is */
	uint64_t unreadable;
};

static unsigned kind_at(const struct walk *w)
{
	uint32_t kind = 0;

	if (w->valid - w->at >= sizeof kind)
		memcpy(&kind, w->data + w->at, sizeof kind);
	return kind;
}

/* Is there a record here, by what the library says and what its times are? */
static bool is_record(const struct walk *w)
{
	unsigned kind = kind_at(w);
	void *record = NULL;

	return kind < KIND_LIMIT && cuda_door->sizes[kind] && w->valid - w->at >= cuda_door->sizes[kind] &&
	       cuda_next_record(w->data + w->at, w->valid - w->at, &record) == 0 &&
	       cuda_records_credible((struct record){ w->data + w->at, cuda_door->sizes[kind] }, kind);
}

/* Something that the library itself does not know, or that was cut: one record at least, and what follows it is looked for. */
static bool find_next(struct walk *w)
{
	size_t until = w->at + RESYNC < w->valid ? w->at + RESYNC : w->valid;

	w->unreadable++;
	for (w->at += 8; w->at < until; w->at += 8)
		if (is_record(w))
			return true;
	w->at = w->valid;
	return false;
}

/* The next record; the library itself says where the one after it is. */
static bool next(struct walk *w, struct record *ret, unsigned *ret_kind)
{
	void *record = NULL, *after;
	int rc;

	for (;;) {
		if (w->at >= w->valid)
			return false;
		if (cuda_next_record(w->data + w->at, w->valid - w->at, &record) == 0)
			break;
		record = NULL;
		if (!find_next(w))
			return false;
	}
	*ret_kind = kind_at(w);
	ret->at = record;
	after = record;
	if (*ret_kind < KIND_LIMIT && cuda_door->sizes[*ret_kind]) {
		ret->size = cuda_door->sizes[*ret_kind];
		w->at += ret->size;
	} else { /* one that we do not read: how long it is, is known when there is another one */
		ret->size = 0;
		rc = cuda_next_record(w->data + w->at, w->valid - w->at, &after);
		if (rc == 0)
			w->at = (size_t)((uint8_t *)after - w->data);
		else if (rc == CUPTI_NO_MORE)
			w->at = w->valid;
		else
			(void)find_next(w);
	}
	return true;
}

static struct walk begin_walk(uint32_t place)
{
	return (struct walk){ .data = memory_of(place), .valid = places[place].valid };
}

static void learn(struct runtime_thread *t, uint32_t place)
{
	struct walk w = begin_walk(place);
	struct record r;
	unsigned kind;

	while (place < BUFFERS && next(&w, &r, &kind))
		if (r.size)
			cuda_records_learn(t, r, kind);
}

/* For the heir: all before this record has been written, and it itself once there are more events in the ring.  Padding is none. */
static void note_progress(struct place *p, const struct runtime_thread *t, size_t done)
{
	uint32_t events = (uint32_t)(t->producer->produced - t->producer->extra);

	p->ring = t->producer->index;
	atomic_store_explicit(&p->mark, (uint64_t)done << 32 | (events + 1), memory_order_release);
}

static void translate(struct runtime_thread *t, uint32_t place)
{
	struct walk w = begin_walk(place);
	struct record r;
	unsigned kind;
	uint64_t count = 0;

	w.at = atomic_load_explicit(&places[place].mark, memory_order_relaxed) >> 32;
	for (; next(&w, &r, &kind); count++) {
		if (place < BUFFERS && r.size) {
			note_progress(&places[place], t, (size_t)(r.at - w.data));
			cuda_records_emit(t, r, kind);
			note_progress(&places[place], t, w.at);
		}
	}
	gpu_count_lost(w.unreadable + (place < BUFFERS ? 0 : count));
}

/* ---- All that has come ----------------------------------------------------------------- */

static uint32_t take_back(uint16_t list[PLACES])
{
	uint32_t count = 0, at = atomic_load_explicit(&queue_begin, memory_order_relaxed);
	uint16_t place;

	while (count < PLACES && (place = atomic_exchange_explicit(&queue[at % QUEUE], 0, memory_order_acquire)) != 0) {
		list[count++] = (uint16_t)(place - 1);
		at++;
	}
	atomic_store_explicit(&queue_begin, at, memory_order_release);
	return count;
}

/* CUPTI's own count of what it had no room for, which asking sets back.  It takes a lock of CUPTI's, so none of ours is held that
 * a request could want. */
static void ask_dropped(void *context, uint32_t stream)
{
	size_t dropped = 0;

	if (cuda_dropped(context, stream, &dropped) == 0)
		gpu_count_lost(dropped);
}

/* They are written at the same time, so that anything may be there. */
void cuda_buffers_look_outside(struct runtime_thread *t, void (*see)(struct runtime_thread *t, struct record r, unsigned kind))
{
	struct record r;

	for (uint32_t i = 0; i < buffers && i < FEW && !cuda_door->inherited; i++) {
		struct place *p = &places[i];
		size_t size = p->size < FEW_SIZE ? p->size : FEW_SIZE;

		if (atomic_load_explicit(&p->state, memory_order_acquire) == PLACE_FREE)
			continue;
		for (r.at = memory_of(i); (r.size = layout_record(cuda_door->sizes, r.at, memory_of(i) + size)) > 0; r.at += r.size)
			see(t, r, record_u32(r, 0));
	}
}

/* Of what stays with CUPTI: an heir could not ask what its kernels are called. */
static void learn_name(struct runtime_thread *t, struct record r, unsigned kind)
{
	if (kind == KIND_KERNEL)
		cuda_name_learn(t, record_u64(r, AT_KERNEL_NAME));
}

static void translate_all(struct runtime_thread *t)
{
	uint16_t list[PLACES];
	uint32_t count = take_back(list);
	bool last = atomic_load_explicit(&at_once, memory_order_acquire);

	cuda_clock_look(t);
	for (uint32_t i = 0; i < count; i++)
		learn(t, list[i]);
	for (uint32_t i = 0; i < count; i++) {
		translate(t, list[i]);
		if (back[list[i]].context) /* of releases that kept them apart */
			ask_dropped(back[list[i]].context, back[list[i]].stream);
		give_back(list[i]);
	}
	ask_dropped(NULL, 0);
	cuda_buffers_look_outside(t, learn_name);
	cuda_door->serial = t->serial;
	cuda_door->tid = t->producer->shared ? t->producer->shared->tid : 0;
	atomic_store_explicit(&cuda_door->looked, clock_ticks(inferscope_runtime.clock), memory_order_relaxed);
	cuda_records_pass_over(t, last);
}

static bool anything(void)
{
	return atomic_load_explicit(&queue_end, memory_order_acquire) != atomic_load_explicit(&queue_begin, memory_order_acquire);
}

bool cuda_buffers_translate(void)
{
	struct runtime_thread *t = &inferscope_thread;

	do {
		if (atomic_exchange_explicit(&translating, true, memory_order_acquire))
			return false;
		if (emit_enter(&inferscope_runtime, t)) {
			translate_all(t);
			emit_leave(t);
		}
		atomic_store_explicit(&translating, false, memory_order_release);
	} while (atomic_load_explicit(&at_once, memory_order_acquire) && anything());
	return true;
}

uint32_t cuda_buffers_outside(void)
{
	return atomic_load_explicit(&outside, memory_order_acquire);
}

bool cuda_buffers_all_back(void)
{
	return cuda_buffers_outside() == 0 && !anything();
}

bool cuda_buffers_all_free(void)
{
	return atomic_load_explicit(&in_use, memory_order_acquire) == 0;
}

void cuda_buffers_at_once(void)
{
	atomic_store_explicit(&at_once, true, memory_order_release);
}

/* ---- The heir ---------------------------------------------------------------------------- */

/* Where memory was short the program had the buffer to itself, and here is a hole, which might not be filled. */
static bool is_there(const uint8_t *data, size_t size)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)data / page * page;

	return madvise((void *)from, (uintptr_t)data + size - from, MADV_POPULATE_READ) == 0 || errno == EINVAL;
}

/* Has the record that was next come to the ring? */
static bool was_written(const struct place *p, uint32_t before)
{
	const struct ring_header *ring = layout_rings(inferscope_runtime.memory->process.map) + (p->ring < RING_LIMIT ? p->ring : 0);
	uint32_t events = (uint32_t)(atomic_load(&ring->produced) - atomic_load(&ring->extra));

	return before && (int32_t)(events + 1 - before) > 0;
}

/* How much there is of a buffer that CUPTI had, or that had come back; what has been translated is left out. */
static bool take_over(struct place *p, const uint8_t *data)
{
	uint32_t state = atomic_load(&p->state);
	uint64_t mark = atomic_load(&p->mark), done = mark >> 32;

	if ((state != PLACE_OUTSIDE && state != PLACE_BACK) || p->size > BUFFER_SIZE || !is_there(data, p->size))
		return false;
	if (state == PLACE_OUTSIDE)
		p->valid = (uint32_t)layout_valid(cuda_door->sizes, data, p->size);
	p->valid = p->valid < p->size ? p->valid : p->size;
	if (done < p->valid && was_written(p, (uint32_t)mark))
		done += layout_record(cuda_door->sizes, data + done, data + p->valid);
	atomic_store(&p->mark, done << 32);
	return done < p->valid;
}

void cuda_buffers_inherit(void)
{
	struct runtime_thread *t = &inferscope_thread;
	uint16_t list[BUFFERS];
	uint32_t count = 0;

	for (uint32_t i = 0; i < buffers; i++)
		if (take_over(&places[i], memory_of(i)))
			list[count++] = (uint16_t)i;
	for (uint32_t i = 0; i < count; i++)
		learn(t, list[i]);
	for (uint32_t i = 0; i < count; i++)
		translate(t, list[i]);
	cuda_records_pass_over(t, true);
}
