/*
 * stress-ring.c - threads that record and the one that reads them, on the same mapping, for the thread sanitizer.
 *
 * Threads come and go, so that rings and chunks change hands.  Every slot that
 * is read is whole, in order, and emitted = read + lost + refused.
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "stress/checked.h"

#define PRODUCERS 3
#define LIVES 40    /* threads after each other, for each producer */
#define EVENTS 3000 /* of a thread */
#define CHUNKS 5

static struct session_page page;
static struct ring_memory *memory;
static struct ring_file file;
static struct checked_ring rings[RING_LIMIT];
static _Atomic uint64_t emitted, refused;
static _Atomic bool over;

static void *live(void *arg)
{
	uint32_t serial = 0;
	struct ring_producer *p = ring_producer_open(memory, 0, 0, &serial);
	uint64_t no = 0;

	(void)arg;
	CHECK(p);
	for (uint32_t i = 1; i <= EVENTS; i++)
		no += !checked_emit(p, serial, i);
	ring_producer_exit(p);
	emitted += EVENTS;
	refused += no;
	return NULL;
}

static void *produce(void *arg)
{
	pthread_t thread;

	for (int i = 0; i < LIVES; i++) {
		CHECK(pthread_create(&thread, NULL, live, arg) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	}
	return NULL;
}

static void read_ring(struct ring_scan *scan, uint32_t i)
{
	struct ring_header *h = layout_rings(file.map) + i;
	bool exited = atomic_load_explicit(&h->state, memory_order_acquire) == RING_EXITED;

	checked_read(&rings[i], scan, &file, i);
	atomic_store_explicit(&h->drained, rings[i].cursor.position, memory_order_release);
	if (exited && atomic_load_explicit(&h->produced, memory_order_acquire) == rings[i].cursor.position)
		ring_free(&file, i);
}

static void *consume(void *arg)
{
	struct ring_scan scan = { 0 };
	bool last;

	(void)arg;
	do {
		last = over;
		CHECK(ring_scan(&scan, &file) == 0);
		for (uint32_t i = 0; i < scan.ring_count; i++)
			read_ring(&scan, i);
		usleep(200);
	} while (!last);
	ring_scan_release(&scan);
	return NULL;
}

static void account(const char *name)
{
	const struct ring_header *h = layout_rings(file.map);
	uint64_t read = 0, lost = 0, said = 0;

	for (uint32_t i = 0; i < ring_file_rings(&file); i++) {
		CHECK(rings[i].cursor.position == h[i].produced);
		CHECK(rings[i].cursor.extra == h[i].extra);
		read += rings[i].read;
		lost += rings[i].lost;
		said += h[i].refused_full + h[i].refused_no_chunk;
	}
	printf("%s: %llu emitted, %llu read, %llu lost, %llu refused\n", name, (unsigned long long)emitted,
	       (unsigned long long)read, (unsigned long long)lost, (unsigned long long)refused);
	CHECK(emitted == PRODUCERS * LIVES * EVENTS);
	CHECK(said == refused);
	CHECK(read + lost + refused == emitted);
	CHECK(ring_file_rings(&file) < PRODUCERS * LIVES); /* they were used again */
}

static void run(const char *name, enum ring_overflow overflow)
{
	char folder[] = "/dev/shm/stress-ring-XXXXXX";
	struct ring_process_options options = {
		.session = &page, .folder = folder, .chunk_limit = CHUNKS, .first_name = NAME_FIRST
	};
	pthread_t producers[PRODUCERS], consumer;

	memset(&page, 0, sizeof page);
	memset(rings, 0, sizeof rings);
	page.overflow = overflow;
	page.chunk_limit = CHUNKS;
	page.block_timeout_ms = 1000;
	emitted = refused = 0;
	over = false;
	CHECK(mkdtemp(folder));
	memory = ring_memory_map(CHUNKS);
	CHECK(memory && ring_process_attach(memory, &options) == 0);
	CHECK(ring_file_adopt(&file, memory->process.map, layout_file_size(CHUNKS), NULL) == 0);
	CHECK(pthread_create(&consumer, NULL, consume, NULL) == 0);
	for (int i = 0; i < PRODUCERS; i++)
		CHECK(pthread_create(&producers[i], NULL, produce, NULL) == 0);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i], NULL);
	over = true;
	pthread_join(consumer, NULL);
	account(name);
	ring_file_close(&file);
	CHECK(unlink(memory->process.path) == 0 && rmdir(folder) == 0);
}

int main(void)
{
	run("wrap", OVERFLOW_WRAP);
	run("discard", OVERFLOW_DISCARD);
	run("block", OVERFLOW_BLOCK);
	return 0;
}
