/*
 * pending.c - commands on their way through a queue.
 *
 * A ring, with a lock for those who put commands in and another for those who
 * look at them and take them out.  What the first ones write is in lines of the
 * cache that the others seldom touch, and the other way round: the device ends
 * commands on one processor while the program makes new ones on another.
 */
#include <string.h>

#include "opencl/opencl.h"

#define LEAST 256u
#define MOST (1u << 20)
#define MOST_METADATA (1u << 16)
#define SOON_NS 20000u /* what has ended may wait so long for what is expected to end after it */
#define LAUNCH_NS 2000u /* to be expected of the smallest kernel, from the end of the one before it */

static struct command *command_at(const struct pending *p, uint32_t number)
{
	return &p->commands[number & (p->size - 1)];
}

static uint8_t *metadata_at(const struct pending *p, uint32_t number)
{
	return p->metadata + (size_t)(number & (p->size - 1)) * GPU_METADATA;
}

/* ---- In -------------------------------------------------------------------------- */

/* With both locks. */
static bool grow_to(struct pending *p, uint32_t size)
{
	struct pending larger = { .size = size, .commands = opencl_map(size * sizeof *larger.commands) };
	uint32_t end = atomic_load_explicit(&p->end, memory_order_relaxed);

	if (larger.commands && opencl_arguments_wanted)
		larger.metadata = opencl_map((size_t)size * GPU_METADATA);
	if (!larger.commands || (opencl_arguments_wanted && !larger.metadata)) {
		opencl_unmap(larger.commands, size * sizeof *larger.commands);
		return false;
	}
	for (uint32_t i = atomic_load_explicit(&p->begin, memory_order_relaxed); i != end; i++) {
		*command_at(&larger, i) = *command_at(p, i);
		if (command_at(p, i)->metadata_size)
			memcpy(metadata_at(&larger, i), metadata_at(p, i), command_at(p, i)->metadata_size);
	}
	opencl_unmap(p->commands, p->size * sizeof *p->commands);
	opencl_unmap(p->metadata, (size_t)p->size * GPU_METADATA);
	p->commands = larger.commands;
	p->metadata = larger.metadata;
	p->size = size;
	return true;
}

static bool make_room(struct pending *p, uint32_t end)
{
	uint32_t size = p->size ? 2 * p->size : LEAST;
	bool there;

	p->begin_seen = atomic_load_explicit(&p->begin, memory_order_acquire);
	if (end - p->begin_seen < p->size)
		return true;
	if (size > (opencl_arguments_wanted ? MOST_METADATA : MOST))
		return false;
	opencl_lock(&p->taking);
	there = grow_to(p, size);
	opencl_unlock(&p->taking);
	return there;
}

/* The next one is likely to be put here, and another processor has the memory from when it was last used. */
static void fetch_to_write(const struct command *command)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0\n\tprefetchw %1" : : "m"(*(const char *)command), "m"(*((const char *)command + 64)));
#else
	__builtin_prefetch(command, 1);
	__builtin_prefetch((const char *)command + 64, 1);
#endif
}

/* What was written just now is written again by itself, and not copied with what is around it: a processor that reads more than it
 * has just written waits until all of its writing is done. */
enum pushed opencl_pending_push(struct pending *p, const struct command *command, const struct call *call, const void *metadata)
{
	enum pushed pushed = PUSHED_NOWHERE;
	uint32_t end;

	opencl_lock(&p->putting);
	end = atomic_load_explicit(&p->end, memory_order_relaxed);
	if (end - p->begin_seen < p->size || make_room(p, end)) {
		struct command *place = command_at(p, end);

		*place = *command;
		place->event = *call->event;
		place->before = call->begin;
		place->after = call->end;
		place->correlation = call->correlation;
		place->until = p->until += command->expected ? command->expected + LAUNCH_NS : SOON_NS + 1;
		if (command->metadata_size)
			memcpy(metadata_at(p, end), metadata, command->metadata_size);
		atomic_store_explicit(&p->end, end + 1, memory_order_release);
		fetch_to_write(command_at(p, end + 1));
		pushed = p->watched ? PUSHED_WATCHED : PUSHED_ALONE;
	}
	opencl_unlock(&p->putting);
	return pushed;
}

void opencl_pending_watch(struct pending *p, bool watched)
{
	if (p->watched == watched) /* nobody else writes it */
		return;
	opencl_lock(&p->putting);
	p->watched = watched;
	opencl_unlock(&p->putting);
}

/* ---- Out, and what is between; all with the lock of those who take out ------------------- */

static bool reaches(struct pending *p, uint32_t at)
{
	uint32_t begin = atomic_load_explicit(&p->begin, memory_order_relaxed);

	if (at >= p->end_seen - begin)
		p->end_seen = atomic_load_explicit(&p->end, memory_order_acquire);
	return at < p->end_seen - begin;
}

static struct command *nth(struct pending *p, uint32_t at)
{
	return command_at(p, atomic_load_explicit(&p->begin, memory_order_relaxed) + at);
}

bool opencl_pending_next(struct pending *p, uint32_t *at, bool only_done, struct command *ret, void *ret_metadata)
{
	bool there = false;

	opencl_lock(&p->taking);
	for (; (p->done || !only_done) && reaches(p, *at); ++*at) {
		uint32_t number = atomic_load_explicit(&p->begin, memory_order_relaxed) + *at;
		const struct command *c = command_at(p, number);

		there = !c->ended && (c->done || !only_done);
		if (!there)
			continue;
		*ret = *c;
		if (c->metadata_size)
			memcpy(ret_metadata, metadata_at(p, number), c->metadata_size);
		break;
	}
	opencl_unlock(&p->taking);
	return there;
}

/* With it go those after it that have ended before. */
void opencl_pending_remove(struct pending *p, uint32_t *at)
{
	uint32_t begin, gone = 0;

	opencl_lock(&p->taking);
	p->done -= nth(p, *at)->done;
	nth(p, *at)->ended = true;
	begin = atomic_load_explicit(&p->begin, memory_order_relaxed);
	while (begin + gone != p->end_seen && command_at(p, begin + gone)->ended)
		gone++;
	atomic_store_explicit(&p->begin, begin + gone, memory_order_release);
	*at = *at + 1 > gone ? *at + 1 - gone : 0;
	opencl_unlock(&p->taking);
}

bool opencl_pending_any(struct pending *p)
{
	bool any;

	opencl_lock(&p->taking);
	any = reaches(p, 0);
	opencl_unlock(&p->taking);
	return any;
}

bool opencl_pending_soon(struct pending *p, cl_event *ret_oldest, cl_event *ret_last)
{
	uint32_t low = 0, high; /* it is at `low` or between them */
	bool there;

	opencl_lock(&p->taking);
	p->end_seen = atomic_load_explicit(&p->end, memory_order_acquire);
	high = p->end_seen - atomic_load_explicit(&p->begin, memory_order_relaxed);
	there = high > 0;
	while (there && high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (nth(p, middle)->until - nth(p, 0)->until <= SOON_NS)
			low = middle;
		else
			high = middle;
	}
	if (there) {
		*ret_oldest = nth(p, 0)->event;
		*ret_last = nth(p, low)->event;
	}
	opencl_unlock(&p->taking);
	return there;
}

bool opencl_pending_any_done(struct pending *p)
{
	bool any;

	opencl_lock(&p->taking);
	any = p->done > 0;
	opencl_unlock(&p->taking);
	return any;
}

/* Among the newest `most`. */
static struct command *find(struct pending *p, cl_event event, uint32_t most)
{
	uint32_t begin = atomic_load_explicit(&p->begin, memory_order_relaxed), end = atomic_load_explicit(&p->end, memory_order_acquire);

	p->end_seen = end;
	for (; end != begin && most; end--, most--) {
		struct command *c = command_at(p, end - 1);

		if (c->event == event && !c->ended)
			return c;
	}
	return NULL;
}

bool opencl_pending_find(struct pending *p, cl_event event, uint32_t most, uint32_t *ret_correlation)
{
	const struct command *c;

	opencl_lock(&p->taking);
	c = find(p, event, most);
	*ret_correlation = c ? c->correlation : 0;
	opencl_unlock(&p->taking);
	return c;
}

/* Most likely one of the oldest. */
void opencl_pending_done(struct pending *p, cl_event event)
{
	uint32_t i = 0;

	opencl_lock(&p->taking);
	while (reaches(p, i) && (nth(p, i)->event != event || nth(p, i)->ended))
		i++;
	if (reaches(p, i) && !nth(p, i)->done) {
		nth(p, i)->done = true;
		p->done++;
	}
	opencl_unlock(&p->taking);
}
