/*
 * gaps_seen.c - whether a thread ran, as it was seen from outside.
 *
 * A program that marks nothing says nothing of what it does between its
 * launches: that nothing is recorded of it does not mean that it does nothing.
 * Samples of its program counter are sure, but some milliseconds apart; the state
 * that it was in when it was last looked at may be over by now.  Both count.
 */
#include <string.h>

#include "timeline/gaps.h"

#define PLACE_NS 5000000          /* of running that a sample of the program counter stands for */
#define SURE_NS (2 * PLACE_NS)    /* in which one that runs has a sample */
#define LEAST_PART 4              /* of the time that samples stand for is enough: it may have to wait for a processor */

static bool is_running(const struct timeline *t, const struct timeline_look *look)
{
	static const char running[] = "running";
	size_t size;
	const char *text = timeline_string(t, look->name, &size);

	return text && size == sizeof running - 1 && memcmp(text, running, size) == 0;
}

static void turn_to(struct seen *s, const struct timeline *t, uint32_t thread)
{
	uint32_t count = 0, states = timeline_states_of(t, thread);

	s->any = true;
	s->thread = thread;
	s->first = states != TIMELINE_NONE ? timeline_looks_from(t, states, INT64_MIN, &count) : 0;
	s->end = s->first + count;
	s->at = s->first;
	s->sampled = false;
	for (uint32_t i = s->first; i < s->end && !s->sampled; i++)
		s->sampled = t->looks[i].kind == LOOK_PLACE;
}

/* To the last state that begins by then, which may go on. */
static void go_to(struct seen *s, const struct timeline *t, int64_t time)
{
	if (s->at < s->end && t->looks[s->at].begin > time)
		s->at = s->first;
	for (uint32_t i = s->at; i < s->end && t->looks[i].begin <= time; i++)
		if (t->looks[i].kind == LOOK_STATE)
			s->at = i;
}

bool thread_was_running(struct seen *s, const struct timeline *t, uint32_t thread, int64_t from, int64_t to)
{
	int64_t sampled = 0, ran = 0, waited = 0;

	if (!s->any || s->thread != thread)
		turn_to(s, t, thread);
	go_to(s, t, from);
	for (uint32_t i = s->at; i < s->end && t->looks[i].begin < to; i++) {
		const struct timeline_look *look = &t->looks[i];
		int64_t begin = look->begin > from ? look->begin : from, end = look->end < to ? look->end : to;

		if (look->kind == LOOK_PLACE && look->begin >= from)
			sampled += PLACE_NS;
		else if (look->kind == LOOK_STATE && end > begin)
			*(is_running(t, look) ? &ran : &waited) += end - begin;
	}
	if (s->sampled && sampled == 0 && to - from >= SURE_NS)
		return false;
	return sampled >= (to - from) / LEAST_PART || sampled + ran > waited;
}
