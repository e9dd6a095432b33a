/* snapshot.c - see snapshot.h. */
#include "live/snapshot.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

const double live_step_bounds[LIVE_STEP_BUCKETS] = { 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
						     INFINITY };

/* ---- Lists that are long ------------------------------------------------------------ */

#define LIST(items, number) \
	{ offsetof(struct live_snapshot, items), sizeof ((struct live_snapshot *)0)->items, \
	  sizeof ((struct live_snapshot *)0)->items[0], offsetof(struct live_snapshot, number) }

/* In the order in which they lie. */
static const struct list {
	size_t begin, size, item, count; /* count: where it is */
} lists[] = {
	LIST(gpus, gpu_count),     LIST(processes, process_count), LIST(threads, thread_count),
	LIST(slices, slice_count), LIST(places, place_count),      LIST(kernels, kernel_count),
	LIST(counters, counter_count),
	LIST(told, told_count),    LIST(alerts, alert_count),
};
#define LISTS (sizeof lists / sizeof lists[0])

/* Bytes of a list that are in use. */
static size_t used_bytes(const struct live_snapshot *s, const struct list *list)
{
	uint32_t count;

	memcpy(&count, (const char *)s + list->count, sizeof count);
	return count < list->size / list->item ? count * list->item : list->size;
}

void live_snapshot_copy(struct live_snapshot *ret, const struct live_snapshot *s)
{
	size_t at = 0;

	for (size_t i = 0; i < LISTS; i++) {
		memcpy((char *)ret + at, (const char *)s + at, lists[i].begin + used_bytes(s, &lists[i]) - at);
		at = lists[i].begin + lists[i].size;
	}
	memcpy((char *)ret + at, (const char *)s + at, sizeof *s - at);
}

/* ---- Nothing is known ----------------------------------------------------------------- */

static void set_unknown(struct live_snapshot *s)
{
	s->exit_status = -1;
	s->own_cpu = s->own_rss_bytes = s->loader_busy = NAN;
	s->cpu = (struct live_cpu){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0, NAN };
	s->memory = (struct live_memory){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, false, NAN, NAN, NAN, NAN, NAN };
	s->io.read_bytes = s->io.written_bytes = s->io.read_chars = s->io.written_chars = NAN;
	s->io.read_calls = s->io.write_calls = s->io.waiting = s->io.pressure = NAN;
	s->io.open_files = s->io.open_files_limit = NAN;
	s->network.received_bytes = s->network.sent_bytes = NAN;
	s->steps.last_s = s->steps.median_s = s->steps.p95_s = s->steps.rate = NAN;
	s->steps.since_s = s->steps.input_wait = s->steps.begin_s = NAN;
	s->steps.quiet_s = NAN;
	s->doing.window_s = s->doing.input = s->doing.operators = s->doing.scopes = s->doing.functions = NAN;
	s->doing.running = s->doing.queueing = s->doing.waiting = NAN;
	s->events.rate = s->events.disk_free_bytes = s->events.disk_free = NAN;
}

void live_snapshot_clear(struct live_snapshot *s)
{
	memset(s, 0, sizeof *s);
	set_unknown(s);
}

void live_snapshot_renew(struct live_snapshot *s)
{
	size_t at = 0, used[LISTS];

	for (size_t i = 0; i < LISTS; i++)
		used[i] = used_bytes(s, &lists[i]);
	for (size_t i = 0; i < LISTS; i++) {
		memset((char *)s + at, 0, lists[i].begin + used[i] - at);
		at = lists[i].begin + lists[i].size;
	}
	memset((char *)s + at, 0, sizeof *s - at);
	set_unknown(s);
}
