/*
 * each.c - decodes blocks in several threads.
 *
 * Threads take the next block from a shared counter, each with a batch of its
 * own; the caller's thread is one of them.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "trace/reader.h"

#define WORKERS_MAX 64u

struct each {
	struct trace_reader *reader;
	size_t end;
	atomic_size_t next;
	atomic_int result;
	trace_block_fn fn;
	void *arg;
};

struct worker {
	struct each *each;
	unsigned number;
	pthread_t thread;
};

unsigned trace_reader_workers(unsigned threads)
{
	long cpus = threads ? (long)threads : sysconf(_SC_NPROCESSORS_ONLN);

	return cpus < 1 ? 1 : cpus > (long)WORKERS_MAX ? WORKERS_MAX : (unsigned)cpus;
}

/* The first result that is not 0 counts. */
static void stop(struct each *e, int result)
{
	int none = 0;

	atomic_compare_exchange_strong(&e->result, &none, result);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct each *e = w->each;
	struct trace_batch batch = TRACE_BATCH_INIT;

	while (atomic_load(&e->result) == 0) {
		size_t block = atomic_fetch_add(&e->next, 1);
		int rc;

		if (block >= e->end)
			break;
		rc = trace_reader_decode(e->reader, block, &batch, NULL);
		if (rc == 0)
			stop(e, e->fn(e->arg, w->number, block, &batch));
		else if (rc == -ENOMEM)
			stop(e, rc);
	}
	trace_batch_release(&batch);
	return NULL;
}

int trace_reader_each(struct trace_reader *r, size_t first, size_t end, unsigned threads, trace_block_fn fn, void *arg,
		      struct error *err)
{
	struct each e = { .reader = r, .end = end, .next = first, .fn = fn, .arg = arg };
	struct worker workers[WORKERS_MAX];
	unsigned count = trace_reader_workers(threads), started = 1;
	int result;

	if (end > trace_reader_block_count(r))
		e.end = trace_reader_block_count(r);
	for (unsigned i = 0; i < count; i++)
		workers[i] = (struct worker){ .each = &e, .number = i };
	/* Fewer threads than wanted are fine. */
	while (started < count && first + started < e.end &&
	       pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0)
		started++;
	work(&workers[0]);
	for (unsigned i = 1; i < started; i++)
		pthread_join(workers[i].thread, NULL);
	result = atomic_load(&e.result);
	return result == -ENOMEM ? error_errno(err, result, "cannot decode the trace") : result;
}
