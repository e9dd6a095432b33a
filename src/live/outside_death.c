/* outside_death.c - processes that a signal has ended, but for the root, whose exit status says so. */
#include <string.h>

#include "live/outside_parts.h"

/* The one of this signal, or a new one; NULL when there is no room. */
static struct live_death *death_of(struct live_snapshot *s, int signal)
{
	for (uint32_t i = 0; i < s->death_count; i++)
		if (s->deaths[i].signal == signal)
			return &s->deaths[i];
	return s->death_count < LIVE_DEATHS ? &s->deaths[s->death_count++] : NULL;
}

static void take(struct live_outside *o, const struct watched_death *death, struct live_snapshot *s)
{
	const struct outside_process *p = outside_tree_process(&o->tree, death->pid);
	struct live_death *ret;

	if (death->pid == o->root || death->signal <= 0 || death->signal >= NSIG)
		return;
	o->deaths.counts[death->signal]++;
	ret = death_of(s, death->signal);
	if (!ret)
		return;
	*ret = (struct live_death){ .pid = death->pid, .signal = death->signal, .count = o->deaths.counts[death->signal] };
	if (p && p->now.number == death->number)
		memcpy(ret->name, p->name, sizeof ret->name);
}

void outside_death_take(struct live_outside *o, const struct watch_view *view, struct live_snapshot *s)
{
	uint64_t from = o->deaths.taken;

	s->death_count = 0;
	if (view->death_count > WATCH_DEATHS && from < view->death_count - WATCH_DEATHS)
		from = view->death_count - WATCH_DEATHS;
	for (; from < view->death_count; from++)
		take(o, &view->deaths[from % WATCH_DEATHS], s);
	o->deaths.taken = from;
}
