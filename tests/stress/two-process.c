/*
 * two-process.c - a process that records and is killed at a random moment, and one that reads along.
 *
 * Nothing that was read may be torn or out of order, and afterwards what the
 * dead process said it emitted is what was read and what was lost, to the event.
 *
 *      two-process [SECONDS] [SEED]
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checked.h"

#define THREADS 2

/* In memory that both processes share. */
struct shared {
	struct session_page page;
	_Alignas(4096) struct {
		_Alignas(64) _Atomic uint64_t emitted; /* raised after the event */
	} threads[THREADS];
};

static struct shared *shared;
static struct ring_memory *memory;
static char folder[] = "/dev/shm/two-process-XXXXXX";
static int folder_fd;

static void nap(long us)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&ts, NULL);
}

/* ---- The one that records -------------------------------------------------------- */

static void *record(void *arg)
{
	uintptr_t thread = (uintptr_t)arg;
	unsigned seed = (unsigned)thread;
	uint32_t serial = (uint32_t)thread + 1;
	struct ring_producer *p = ring_producer_open(memory, 0, 0, &serial);

	CHECK(p);
	for (uint32_t i = 1;; i++) {              /* until we are killed */
		(void)checked_emit(p, serial, i); /* refused while the other thread has all of a small budget */
		atomic_store_explicit(&shared->threads[thread].emitted, i, memory_order_release);
		if (rand_r(&seed) % 20000 == 0)
			nap(rand_r(&seed) % 3000);
	}
	return NULL;
}

static void be_recorded(void)
{
	struct ring_process_options options = { .session = &shared->page,
						.folder = folder,
						.chunk_limit = shared->page.chunk_limit,
						.first_name = NAME_FIRST };
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a check that fails ends the other process only */
	memory = ring_memory_map(shared->page.chunk_limit);
	CHECK(memory && ring_process_attach(memory, &options) == 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&thread, NULL, record, (void *)i) == 0);
	for (;;)
		pause();
}

/* ---- The one that reads ------------------------------------------------------------ */

static void read_once(struct checked_ring *rings, struct ring_scan *scan, const struct ring_file *file, unsigned *seed)
{
	struct ring_header *headers = layout_rings(file->map);

	CHECK(ring_scan(scan, file) == 0);
	for (uint32_t i = 0; i < scan->ring_count; i++) {
		checked_read(&rings[i], scan, file, i);
		if (rand_r(seed) % 4) /* now and then the recorder is slow to say so */
			atomic_store_explicit(&headers[i].drained, rings[i].cursor.position, memory_order_release);
	}
}

static struct ring_file open_file(uint32_t number)
{
	struct ring_file file;

	while (ring_file_open(&file, folder_fd, number, NULL) != 0)
		nap(100);
	return file;
}

/* The rings, by thread: the one that wrote serial s is thread s - 1. */
static void account(const struct checked_ring *rings, const struct ring_scan *scan, const struct ring_file *file,
		    uint64_t *lost)
{
	const struct ring_header *headers = layout_rings(file->map);

	for (uint32_t i = 0; i < scan->ring_count; i++) {
		const struct checked_ring *r = &rings[i];
		uint64_t said, all;

		if (headers[i].serial == 0)
			continue;
		said = shared->threads[headers[i].serial - 1].emitted;
		CHECK(r->cursor.position == headers[i].produced);
		CHECK(headers[i].refused_full == 0);
		all = r->read + r->lost + headers[i].refused_no_chunk;
		CHECK(all == said || all == said + 1); /* it may have died between an event and saying so */
		*lost += r->lost;
	}
}

struct result {
	uint64_t events, lost;
};

static void one_round(uint32_t number, unsigned *seed, struct result *result)
{
	struct checked_ring rings[THREADS] = { 0 };
	struct ring_scan scan = { 0 };
	struct ring_file file;
	char name[16];
	int passes = 1 + rand_r(seed) % 40, status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		be_recorded();
	file = open_file(number);
	while (passes--) {
		read_once(rings, &scan, &file, seed);
		nap(rand_r(seed) % 4000);
	}
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	read_once(rings, &scan, &file, seed);
	account(rings, &scan, &file, &result->lost);
	for (int i = 0; i < THREADS; i++) {
		result->events += shared->threads[i].emitted;
		shared->threads[i].emitted = 0;
	}
	snprintf(name, sizeof name, "p%u", number);
	unlinkat(folder_fd, name, 0);
	ring_file_close(&file);
	ring_scan_release(&scan);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5;
	unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : (unsigned)getpid();
	struct result result = { 0 };
	uint32_t rounds = 0;
	time_t end = time(NULL) + (time_t)seconds;

	printf("seed %u\n", seed);
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED && mkdtemp(folder));
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	shared->page.overflow = OVERFLOW_WRAP;
	while (time(NULL) < end) {
		shared->page.chunk_limit = THREADS * (1 + (uint32_t)rand_r(&seed) % 16);
		shared->page.chunks_used = 0;
		one_round(rounds++, &seed, &result);
	}
	CHECK(rmdir(folder) == 0);
	printf("%u processes, %llu events, %llu lost\n", rounds, (unsigned long long)result.events,
	       (unsigned long long)result.lost);
	CHECK(rounds > 5 && result.events > 100000 && result.lost > 0);
	return 0;
}
