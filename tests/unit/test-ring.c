/* test-ring.c - ring/producer.h and ring/consumer.h against each other: exact accounting, budgets, reuse. */
#include "ring-world.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "ring/names.h"

static struct world world;
static struct ring_memory *memory;
static struct ring_file file;

static void start(uint32_t chunks, enum ring_overflow overflow)
{
	world_set_up(&world, chunks, overflow);
	world_process(&world, &memory, &file);
}

static void stop(void)
{
	ring_file_close(&file);
	world_tear_down(&world);
}

static void everything_arrives(void **state)
{
	struct pair pair;

	(void)state;
	start(8, OVERFLOW_WRAP);
	pair_open(&pair, memory, &file);
	for (int i = 0; i < 100000; i++) {
		pair_emit(&pair, i % 5 == 0 ? (uint32_t)i % 33 : 0);
		if (i % 997 == 0) {
			pair_read(&pair);
			pair_drained(&pair);
		}
	}
	pair_read(&pair);
	pair_is_exact(&pair);
	assert_int_equal(pair.read, 100000);
	assert_int_equal(pair.lost, 0);
	stop();
}

static void wrap_keeps_the_newest(void **state)
{
	(void)state;
	for (uint32_t chunks = 2; chunks <= 8; chunks++) {
		struct pair pair;

		start(chunks, OVERFLOW_WRAP);
		pair_open(&pair, memory, &file);
		for (int i = 0; i < 50000; i++)
			pair_emit(&pair, 0);
		pair_read(&pair);
		pair_is_exact(&pair);
		/* the chunk at hand, and all the others full */
		assert_int_equal(pair.read, (chunks - 1) * CHUNK_SLOTS + 50000 % CHUNK_SLOTS);
		assert_int_equal(pair.refused, 0);
		stop();
	}
}

/* Groups, padding and reads at random places, in all policies and many budgets. */
static void accounting_is_exact(void **state)
{
	(void)state;
	srand(1);
	for (int overflow = OVERFLOW_WRAP; overflow <= OVERFLOW_BLOCK; overflow++)
		for (uint32_t chunks = 2; chunks <= 8; chunks += 2) {
			struct pair pair;

			start(chunks, overflow);
			world.session->block_timeout_ms = 1;
			pair_open(&pair, memory, &file);
			for (int i = 0; i < 60000; i++) {
				pair_emit(&pair, rand() % 4 ? 0 : (uint32_t)rand() % 33);
				if (rand() % 8000 == 0)
					pair_read(&pair);
				if (rand() % 8000 == 0)
					pair_drained(&pair);
			}
			pair_read(&pair);
			pair_is_exact(&pair);
			assert_true(pair.lost + pair.refused > 0);
			assert_int_equal(pair.lost > 0, overflow == OVERFLOW_WRAP);
			stop();
		}
}

/* A gap counts events, not slots. */
static void a_gap_counts_events(void **state)
{
	struct pair pair;

	(void)state;
	start(2, OVERFLOW_WRAP);
	pair_open(&pair, memory, &file);
	for (int i = 0; i < 1000; i++)
		pair_emit(&pair, 32); /* 62 a chunk, and two slots of padding */
	pair_read(&pair);
	pair_is_exact(&pair);
	assert_int_equal(pair.read, 62 + 1000 % 62);
	assert_int_equal(pair.lost, 1000 - 62 - 1000 % 62);
	stop();
}

static void discard_refuses_until_there_is_room(void **state)
{
	struct pair pair;

	(void)state;
	start(2, OVERFLOW_DISCARD);
	pair_open(&pair, memory, &file);
	for (int i = 0; i < 10000; i++)
		pair_emit(&pair, 0);
	assert_int_equal(pair.refused, 10000 - 2 * CHUNK_SLOTS);
	pair_read(&pair);
	assert_int_equal(pair.read, 2 * CHUNK_SLOTS);
	pair_emit(&pair, 0); /* read, but not yet safe */
	assert_int_equal(pair.refused, 10001 - 2 * CHUNK_SLOTS);
	atomic_store(&pair.producer->shared->drained, CHUNK_SLOTS - 1);
	pair_emit(&pair, 0); /* the oldest chunk is safe but for its last slot */
	assert_int_equal(pair.refused, 10002 - 2 * CHUNK_SLOTS);
	atomic_store(&pair.producer->shared->drained, CHUNK_SLOTS);
	for (int i = 0; i < 100; i++)
		pair_emit(&pair, 0);
	pair_read(&pair);
	pair_is_exact(&pair);
	assert_int_equal(pair.refused, 10002 - 2 * CHUNK_SLOTS);
	assert_int_equal(pair.lost, 0);
	stop();
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void block_gives_up_once(void **state)
{
	struct pair pair;
	uint64_t before = now_ms(), waited;

	(void)state;
	start(2, OVERFLOW_BLOCK);
	world.session->block_timeout_ms = 50;
	pair_open(&pair, memory, &file);
	for (uint32_t i = 0; i < 2 * CHUNK_SLOTS + 1; i++)
		pair_emit(&pair, 0);
	waited = now_ms() - before;
	assert_in_range(waited, 50, 5000);
	assert_int_equal(pair.refused, 1);
	before = now_ms();
	for (int i = 0; i < 1000; i++) /* would be most of a minute */
		pair_emit(&pair, 0);
	assert_in_range(now_ms() - before, 0, 5000);
	assert_int_equal(pair.refused, 1001);
	stop();
}

static void *drain_soon(void *arg)
{
	struct timespec soon = { 0, 10000000 };

	nanosleep(&soon, NULL);
	atomic_store(&((struct pair *)arg)->producer->shared->drained, CHUNK_SLOTS);
	return NULL;
}

static void block_waits_for_the_recorder(void **state)
{
	struct pair pair;
	pthread_t thread;

	(void)state;
	start(2, OVERFLOW_BLOCK);
	world.session->block_timeout_ms = 5000;
	pair_open(&pair, memory, &file);
	for (uint32_t i = 0; i < 2 * CHUNK_SLOTS; i++)
		pair_emit(&pair, 0);
	assert_int_equal(pthread_create(&thread, NULL, drain_soon, &pair), 0);
	pair_emit(&pair, 0);
	pthread_join(thread, NULL);
	assert_int_equal(pair.refused, 0);
	stop();
}

/* A thread that is drained in time needs no more than one chunk. */
static void drained_chunks_are_recycled(void **state)
{
	struct pair pair;

	(void)state;
	start(8, OVERFLOW_WRAP);
	pair_open(&pair, memory, &file);
	for (uint32_t i = 0; i < 20 * CHUNK_SLOTS; i++) {
		pair_emit(&pair, 0);
		pair_read(&pair);
		pair_drained(&pair);
	}
	assert_int_equal(world.session->chunks_used, 1);
	assert_int_equal(pair.read, 20 * CHUNK_SLOTS);
	stop();
}

static void two_processes_share_the_budget(void **state)
{
	struct ring_memory *other_memory;
	struct ring_file other_file;
	struct pair one, two, three;

	(void)state;
	start(4, OVERFLOW_WRAP);
	world_process(&world, &other_memory, &other_file);
	assert_int_equal(other_file.number, 1);
	pair_open(&one, memory, &file);
	pair_open(&two, other_memory, &other_file);
	pair_open(&three, other_memory, &other_file);
	for (uint32_t i = 0; i < 3 * CHUNK_SLOTS; i++)
		pair_emit(&one, 0);
	assert_int_equal(world.session->chunks_used, 3);
	for (uint32_t i = 0; i < 3 * CHUNK_SLOTS; i++)
		pair_emit(&two, 0); /* wraps in the one that is left */
	pair_emit(&three, 0);       /* gets none */
	assert_int_equal(world.session->chunks_used, 4);
	pair_read(&one);
	pair_read(&two);
	pair_is_exact(&one);
	pair_is_exact(&two);
	assert_int_equal(one.lost, 0);
	assert_int_equal(two.lost, 2 * CHUNK_SLOTS);
	assert_int_equal(three.refused, 1);
	assert_int_equal(three.producer->shared->refused_no_chunk, 1);
	ring_file_close(&other_file);
	stop();
}

static void a_ring_is_reused(void **state)
{
	struct pair first, second;
	struct ring_header *shared;

	(void)state;
	start(2, OVERFLOW_DISCARD);
	pair_open(&first, memory, &file);
	for (int i = 0; i < 3000; i++)
		pair_emit(&first, 0);
	pair_read(&first);
	pair_drained(&first);
	shared = first.producer->shared;
	ring_producer_exit(first.producer);
	assert_int_equal(shared->state, RING_EXITED);
	ring_free(&file, 0);
	assert_int_equal(shared->state, RING_FREE);
	assert_int_equal(memory->process.header->free_chunks, 2);

	pair_open(&second, memory, &file);
	assert_int_equal(second.producer->index, 0);
	assert_int_equal(second.producer->produced, 3000); /* goes on counting */
	assert_int_equal(second.serial, 2);
	second.cursor = first.cursor;
	for (int i = 0; i < 4000; i++)
		pair_emit(&second, 0);
	pair_read(&second);
	assert_int_equal(second.read, 4000);
	assert_int_equal(second.refused + second.lost, 0);
	assert_int_equal(world.session->chunks_used, 2);
	stop();
}

static void nothing_is_reused_before_it_is_read(void **state)
{
	struct pair first, second;

	(void)state;
	start(2, OVERFLOW_DISCARD);
	pair_open(&first, memory, &file);
	pair_emit(&first, 0);
	ring_producer_exit(first.producer);
	pair_open(&second, memory, &file);
	assert_int_equal(second.producer->index, 1);
	stop();
}

/* A number that another thread has taken, but not yet made its own, is not free for the taking. */
static void a_number_is_given_once(void **state)
{
	struct pair pair;

	(void)state;
	start(4, OVERFLOW_WRAP);
	memory->process.rings++;  /* a thread stopped in the middle of opening ring 0 */
	memory->process.chunks++; /* and of leasing chunk 0 */
	pair_open(&pair, memory, &file);
	pair_emit(&pair, 0);
	assert_int_equal(pair.producer->index, 1);
	memory->process.header->free_rings++; /* others are free: look for one */
	memory->process.header->free_chunks++;
	pair_open(&pair, memory, &file);
	pair_emit(&pair, 0);
	assert_int_equal(pair.producer->index, 2);
	assert_int_equal(pair.producer->newest, 2);
	stop();
}

static void rings_are_limited(void **state)
{
	uint32_t serial;

	(void)state;
	start(2, OVERFLOW_WRAP);
	for (uint32_t i = 0; i < RING_LIMIT; i++) {
		serial = 0;
		assert_non_null(ring_producer_open(memory, 0, 0, &serial));
	}
	assert_null(ring_producer_open(memory, 0, 0, &serial));
	assert_int_equal(ring_file_rings(&file), RING_LIMIT);
	stop();
}

/* A thread that was killed in the middle of an event has counted nothing of it. */
static void half_an_event_does_not_count(void **state)
{
	struct pair pair;

	(void)state;
	start(4, OVERFLOW_WRAP);
	pair_open(&pair, memory, &file);
	for (int i = 0; i < 100; i++)
		pair_emit(&pair, 3);
	assert_non_null(ring_producer_group(pair.producer, 20));
	pair_read(&pair);
	pair_is_exact(&pair);
	assert_int_equal(pair.producer->shared->produced - pair.producer->shared->extra, 100);
	stop();
}

/* What the kernel wipes in a child reads as "no room", and a publish that comes too late changes nothing. */
static void a_wiped_producer_does_no_harm(void **state)
{
	struct pair pair;
	int status = -1;
	pid_t pid;

	(void)state;
	start(4, OVERFLOW_WRAP);
	pair_open(&pair, memory, &file);
	pair_emit(&pair, 0);
	pid = fork();
	if (pid == 0) {
		bool empty = pair.producer->cursor == pair.producer->end && !pair.producer->shared;

		ring_publish(pair.producer, 1);
		ring_publish_group(pair.producer, 3, 2);
		_exit(empty && !ring_producer_group(pair.producer, 3) && !ring_producer_refill(pair.producer) ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(pair.producer->shared->produced, 1);
	stop();
}

/* ---- A process file that makes no sense --------------------------------------- */

static int adopt_with(void (*spoil)(struct process_header *), uint64_t size)
{
	struct process_header *h = memory->process.map, saved = *h;
	struct ring_file out;
	int rc;

	if (spoil)
		spoil(h);
	rc = ring_file_adopt(&out, h, size, NULL);
	*h = saved;
	return rc;
}

static void spoil_magic(struct process_header *h)
{
	h->magic++;
}

static void spoil_version(struct process_header *h)
{
	h->version = 2;
}

static void spoil_limit(struct process_header *h)
{
	h->chunk_limit = CHUNK_LIMIT;
}

static void spoil_zero(struct process_header *h)
{
	h->chunk_limit = 0;
}

static void spoil_name(struct process_header *h)
{
	h->first_name = NAME_LIMIT + 1;
}

static void not_ready(struct process_header *h)
{
	h->ready = 0;
}

static void nonsense_is_refused(void **state)
{
	uint64_t size;

	(void)state;
	start(2, OVERFLOW_WRAP);
	size = file.size;
	assert_int_equal(adopt_with(NULL, size), 0);
	assert_int_equal(adopt_with(NULL, size - 1), -22);
	assert_int_equal(adopt_with(NULL, 4096), -22);
	assert_int_equal(adopt_with(spoil_magic, size), -22);
	assert_int_equal(adopt_with(spoil_version, size), -22);
	assert_int_equal(adopt_with(spoil_limit, size), -22);
	assert_int_equal(adopt_with(spoil_zero, size), -22);
	assert_int_equal(adopt_with(spoil_name, size), -22);
	assert_int_equal(adopt_with(not_ready, size), -11);
	stop();
}

/* Bases, owners and counts of any value: no crash, and an end. */
static void wild_numbers_are_survived(void **state)
{
	static const uint64_t wild[] = { 0, 1, 2047, 2048, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 2048, 1ull << 63 };
	static struct event_slot slots[CHUNK_SLOTS];

	(void)state;
	srand(2);
	start(8, OVERFLOW_WRAP);
	for (int round = 0; round < 2000; round++) {
		struct process_header *h = memory->process.header;
		struct ring_header *rings = layout_rings(memory->process.map);
		struct chunk_entry *entries = layout_chunks(memory->process.map);
		struct ring_cursor cursor = { wild[rand() % 8], wild[rand() % 8] };
		struct ring_scan scan = { 0 };
		struct ring_gap gap;
		int reads = 0;

		h->rings = (uint32_t)wild[rand() % 8];
		h->chunks = (uint32_t)wild[rand() % 8];
		for (int i = 0; i < 8; i++) {
			rings[i].produced = wild[rand() % 8] + (uint64_t)(rand() % 5000);
			entries[i].base = wild[rand() % 8] + (uint64_t)(rand() % 5000);
			entries[i].owner = (uint32_t)(rand() % 3);
			entries[i].committed = (uint32_t)wild[rand() % 8];
		}
		assert_int_equal(ring_scan(&scan, &file), 0);
		if (scan.ring_count)
			while (ring_read(&scan, &file, 0, &cursor, slots, CHUNK_SLOTS, &gap) && ++reads < 100)
				;
		assert_in_range(reads, 0, 16);
		ring_free(&file, 0);
		ring_scan_release(&scan);
	}
	memory->process.header->chunks = 0;
	stop();
}

/* ---- Heirs ------------------------------------------------------------------ */

static struct ring_process_options start_heir(struct ring_memory **ret)
{
	start(8, OVERFLOW_WRAP);
	*ret = ring_memory_map(world.session->chunk_limit);
	assert_non_null(*ret);
	return (struct ring_process_options){ .session = world.session, .folder = world.folder, .chunk_limit = world.session->chunk_limit };
}

/* What was there stays, and what comes is beside it. */
static void an_heir_goes_on(void **state)
{
	struct name_table *mine = name_table_map(), *theirs = name_table_map();
	struct ring_memory *heir;
	struct ring_process_options options = start_heir(&heir);
	struct pair before, after;
	uint32_t first = name_intern(mine, &memory->process, "kernel", 6), second;
	size_t size;

	(void)state;
	pair_open(&before, memory, &file);
	for (int i = 0; i < 3000; i++)
		pair_emit(&before, i % 3);
	assert_int_equal(ring_process_inherit(heir, &options, memory->process.number, theirs), 0);
	second = name_intern(theirs, &heir->process, "copies", 6);
	pair_open(&after, heir, &file);
	assert_int_equal(second, first + 1);
	assert_int_equal(after.serial, before.serial + 1);
	assert_int_not_equal(after.producer->index, before.producer->index);
	for (int i = 0; i < 1000; i++)
		pair_emit(&after, i % 3);
	pair_read(&before);
	pair_read(&after);
	pair_is_exact(&before);
	pair_is_exact(&after);
	assert_int_equal(before.read, 3000);
	assert_int_equal(after.read, 1000);
	assert_memory_equal(name_in_file(file.map, file.first_name, first, &size), "kernel", 6);
	assert_memory_equal(name_in_file(file.map, file.first_name, second, &size), "copies", 6);
	stop();
}

static void nothing_is_inherited_of_nonsense(void **state)
{
	struct ring_memory *heir;
	struct ring_process_options options = start_heir(&heir);
	struct process_header *h = memory->process.header;
	struct name_table *names = name_table_map();
	uint32_t number = memory->process.number;

	(void)state;
	assert_int_equal(ring_process_inherit(heir, &options, number + 1, names), -ENOENT);
	h->chunk_limit++;
	assert_int_equal(ring_process_inherit(heir, &options, number, names), -EINVAL);
	h->chunk_limit--;
	h->first_name = 0;
	assert_int_equal(ring_process_inherit(heir, &options, number, names), -EINVAL);
	h->first_name = NAME_FIRST;
	atomic_store(&h->names, NAME_LIMIT + 1);
	assert_int_equal(ring_process_inherit(heir, &options, number, names), -EINVAL);
	atomic_store(&h->names, NAME_FIRST);
	assert_int_equal(ring_process_inherit(heir, &options, number, names), 0);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_arrives),
		cmocka_unit_test(wrap_keeps_the_newest),
		cmocka_unit_test(accounting_is_exact),
		cmocka_unit_test(a_gap_counts_events),
		cmocka_unit_test(discard_refuses_until_there_is_room),
		cmocka_unit_test(block_gives_up_once),
		cmocka_unit_test(block_waits_for_the_recorder),
		cmocka_unit_test(drained_chunks_are_recycled),
		cmocka_unit_test(two_processes_share_the_budget),
		cmocka_unit_test(a_ring_is_reused),
		cmocka_unit_test(nothing_is_reused_before_it_is_read),
		cmocka_unit_test(a_number_is_given_once),
		cmocka_unit_test(rings_are_limited),
		cmocka_unit_test(half_an_event_does_not_count),
		cmocka_unit_test(a_wiped_producer_does_no_harm),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(wild_numbers_are_survived),
		cmocka_unit_test(an_heir_goes_on),
		cmocka_unit_test(nothing_is_inherited_of_nonsense),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
