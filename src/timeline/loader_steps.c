/*
 * loader_steps.c - steps by the framework's loader: one lasts from when a batch is asked for until the next one is.
 *
 * PyTorch marks each time that a loop asks its DataLoader for a batch.  The mark
 * is the wait for input, not the step; what lies between two of them is all
 * that the loop does for a batch.
 */
#include <errno.h>
#include <stdlib.h>

#include "timeline/build.h"
#include "timeline/steps.h"
#include "trace/step_name.h"

static bool is_mark(const struct timeline *t, uint32_t slice)
{
	size_t size;
	const char *name = timeline_string(t, t->name[slice], &size);

	return (t->kind[slice] == EVENT_SCOPE || t->kind[slice] == EVENT_OP) && step_is_loader(name, size);
}

/* Where a batch is asked for next, from `slice` on, of which it is told whether it goes on with the mark before it. */
static uint32_t next_mark(const struct timeline *t, const struct timeline_track *track, uint32_t slice, bool *part)
{
	for (; slice < track->first + track->count; slice++) {
		bool goes_on = *part;

		if (!is_mark(t, slice))
			continue;
		*part = t->flags[slice] & SLICE_CONTINUES;
		if (!goes_on)
			return slice;
	}
	return TIMELINE_NONE;
}

static int add_steps(struct timeline *t, size_t *capacity, uint32_t track)
{
	const struct timeline_track *of = &t->tracks[track];
	bool part = false;
	uint32_t mark = next_mark(t, of, of->first, &part), next;
	int64_t number = 0;
	int rc = 0;

	for (; mark != TIMELINE_NONE && rc == 0; mark = next) {
		next = next_mark(t, of, mark + 1, &part);
		if (next != TIMELINE_NONE && t->begin[next] > t->begin[mark])
			rc = steps_add(t, capacity, &(struct timeline_step){ t->begin[mark], t->begin[next], of->process, number++,
									      t->name[mark], mark });
	}
	return rc;
}

static uint32_t count_marks(const struct timeline *t, uint32_t track)
{
	const struct timeline_track *of = &t->tracks[track];
	bool part = false;
	uint32_t count = 0;

	for (uint32_t i = of->first; (i = next_mark(t, of, i, &part)) != TIMELINE_NONE; i++)
		count++;
	return count;
}

/* Of each process the thread that asks most often, more often than there have to be steps. */
struct asking {
	uint32_t track, marks;
};

static struct asking *find_asking(const struct timeline *t)
{
	struct asking *most = malloc(((size_t)t->process_count + 1) * sizeof *most);

	for (uint32_t p = 0; most && p < t->process_count; p++)
		most[p] = (struct asking){ TIMELINE_NONE, STEPS_MIN }; /* one mark more than steps */
	for (uint32_t k = 0; most && k < t->track_count; k++) {
		uint32_t process = t->tracks[k].process;
		uint32_t marks = process < t->process_count && t->tracks[k].kind == TRACK_THREAD ? count_marks(t, k) : 0;

		if (marks && marks > most[process].marks)
			most[process] = (struct asking){ k, marks };
	}
	return most;
}

int loader_steps_find(struct timeline *t, size_t *capacity)
{
	struct asking *most = find_asking(t);
	int rc = most ? 0 : -ENOMEM;

	for (uint32_t p = 0; p < t->process_count && rc == 0; p++)
		if (most[p].track != TIMELINE_NONE)
			rc = add_steps(t, capacity, most[p].track);
	free(most);
	if (rc == 0 && t->step_count > 0)
		t->step_source = STEPS_SCOPE;
	return rc;
}
