/*
 * outside_time.c - processor time that all processes took so far, those that nobody saw included.
 *
 * The kernel has two sums of a process: what it took itself, and what children
 * took that it has waited for (with theirs).  What a process took is counted as
 * it grows.  When it ends and its parent has waited for it, the same time is in
 * the parent's second sum; so what was counted of it is handed to the parent,
 * and of the second sum only what is more than that is new: children that came
 * and went between two looks, and the last of those that were seen.
 *
 * A child may still be in the view when its parent's sum has it already.  That
 * sum is therefore believed only when it is old enough for all that ended
 * before it to have gone.  Who is not waited for hands on what is in no sum:
 * then a little of what comes later is not counted, and nothing ever twice.
 */
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "live/outside_parts.h"

#define MARK_NS 5000000000 /* by when the watch has noticed that a process has gone */

/* As process_counters.birth. */
void outside_time_open(struct outside_time *t)
{
	struct timespec ts;
	uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);

	clock_gettime(CLOCK_BOOTTIME, &ts);
	t->begin_birth = (uint64_t)ts.tv_sec * ticks + (uint64_t)ts.tv_nsec / (1000000000 / ticks);
}

void outside_time_begin(const struct outside_time *t, struct outside_process *p)
{
	p->own_ns = p->waited_ns = 0;
	if (p->now.birth < t->begin_birth) {
		p->own_ns = p->now.cpu_ns != UINT64_MAX ? p->now.cpu_ns : 0;
		p->waited_ns = p->now.counters.values[PROCESS_CHILDREN_NS];
	}
	p->mark_waited_ns = p->waited_ns;
}

/* Its parent, or who is above that, when that has gone, too; NULL: nobody whose sum will have its time. */
static struct outside_process *find_heir(struct outside_tree *tree, size_t old_count, pid_t pid)
{
	for (size_t i = 0; i <= old_count; i++) { /* no circle is longer */
		struct outside_process *heir = outside_tree_process(tree, pid);
		size_t at = 0;

		if (heir)
			return heir;
		while (at < old_count && tree->old_processes[at].now.pid != pid)
			at++;
		if (at == old_count)
			return NULL;
		pid = tree->old_processes[at].now.parent;
	}
	return NULL;
}

void outside_time_end(struct outside_tree *tree, size_t old_count, const struct outside_process *p)
{
	struct outside_process *heir = find_heir(tree, old_count, p->now.parent);

	if (heir)
		heir->waited_ns += p->own_ns + p->waited_ns;
}

static void count(struct outside_time *t, uint64_t *counted, uint64_t sum)
{
	if (sum <= *counted)
		return;
	t->total_ns += sum - *counted;
	*counted = sum;
}

void outside_time_fill(struct live_outside *o, int64_t now_ns, struct live_snapshot *s)
{
	struct outside_time *t = &o->time;
	bool mark = now_ns - t->mark_ns >= MARK_NS;

	for (size_t i = 0; i < o->tree.process_count; i++) {
		struct outside_process *p = &o->tree.processes[i];

		if (p->now.cpu_ns != UINT64_MAX) {
			count(t, &p->own_ns, p->now.cpu_ns);
			t->known = true;
		}
		if (mark) {
			count(t, &p->waited_ns, p->mark_waited_ns);
			p->mark_waited_ns = p->now.counters.values[PROCESS_CHILDREN_NS];
		}
	}
	if (mark)
		t->mark_ns = now_ns;
	s->cpu.time_s = t->known ? (double)t->total_ns / 1e9 : NAN;
}
