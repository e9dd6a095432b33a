/*
 * window.h - the last seconds, in slots, so that what is older goes without being kept one by one.
 *
 * Whoever adds something up over the last seconds has a sum for each slot.
 */
#ifndef LIVE_WINDOW_H
#define LIVE_WINDOW_H

#define WINDOW_SLOTS 5u
#define WINDOW_SLOT_S 2.0 /* of a slot, or as long as it is between two looks */

struct window {
	unsigned slot; /* what comes is of this one */
	double spans[WINDOW_SLOTS]; /* seconds */
};

/* So many seconds more.  Returns the slots that begin anew, as bits: what was in them is forgotten. */
static inline unsigned window_turn(struct window *w, double seconds)
{
	unsigned fresh = 0, old = seconds < WINDOW_SLOTS * WINDOW_SLOT_S ? (unsigned)(seconds / WINDOW_SLOT_S) : WINDOW_SLOTS;

	if (w->spans[w->slot] >= WINDOW_SLOT_S) {
		w->slot = (w->slot + 1) % WINDOW_SLOTS;
		fresh = 1u << w->slot;
	}
	for (unsigned i = 1; i <= old && i < WINDOW_SLOTS; i++)
		fresh |= 1u << (w->slot + i) % WINDOW_SLOTS;
	for (unsigned i = 0; i < WINDOW_SLOTS; i++)
		w->spans[i] = fresh >> i & 1 ? 0 : w->spans[i];
	w->spans[w->slot] += seconds;
	return fresh;
}

static inline double window_span(const struct window *w)
{
	double span = 0;

	for (unsigned i = 0; i < WINDOW_SLOTS; i++)
		span += w->spans[i];
	return span;
}

#endif
