/* report_shares.c - see report_parts.h. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/report_parts.h"

static void add(struct report_shares *s, const char *name, int64_t time, enum report_group group)
{
	if (time > 0 && s->count < sizeof s->list / sizeof s->list[0])
		s->list[s->count++] = (struct report_share){ name, time, group };
}

static void add_devices(struct report_shares *s, const struct analysis *a)
{
	const struct report_device_time t = report_device_time(a);

	s->span = t.span;
	add(s, "gpu_compute", t.compute, REPORT_BUSY);
	add(s, "copy", t.copy, REPORT_BUSY);
	add(s, "communication", t.communication, REPORT_BUSY);
	for (unsigned i = 0; i < IDLE_CAUSE_COUNT; i++)
		add(s, idle_cause_name(i), t.causes[i], REPORT_WAITING);
}

static enum report_group group_of_owner(enum host_owner owner)
{
	if (owner == OWNER_EDGES || owner == OWNER_UNKNOWN)
		return REPORT_UNSEEN;
	return owner >= OWNER_FILE && owner <= OWNER_WAIT ? REPORT_WAITING : REPORT_BUSY;
}

static void add_owners(struct report_shares *s, const struct host_window *w)
{
	s->span = w->to - w->from;
	for (unsigned i = 0; i < OWNER_COUNT; i++)
		add(s, host_owner_name(i), w->time[i], group_of_owner(i));
}

static void add_breakdown(struct report_shares *s, const struct analysis *a)
{
	s->span = a->summary.end_to_end;
	for (size_t i = 0; i < a->category_count; i++) {
		const char *name = a->breakdown[i].name;

		add(s, name, a->breakdown[i].duration,
		    strcmp(name, "waiting") == 0 ? REPORT_WAITING : strcmp(name, "unknown") == 0 ? REPORT_UNSEEN : REPORT_BUSY);
	}
}

void report_shares(const struct analysis *a, struct report_shares *ret)
{
	*ret = (struct report_shares){ .count = 0 };
	if (a->device_count)
		add_devices(ret, a);
	else if (a->host.window.looked) /* what is judged, as the gains are of it */
		add_owners(ret, &a->host.window);
	else
		add_breakdown(ret, a);
}

const char *report_whole(const struct analysis *a)
{
	if (a->device_count)
		return a->device_count == 1 ? "the GPU's time" : "the time of all GPUs";
	if (!a->host.window.looked || a->host.unit == UNIT_RUN)
		return "the whole run";
	if (a->host.unit == UNIT_STEPS)
		return a->host.skipped ? "the steps after the first" : "the steps";
	return "the main loop";
}

/* ---- What costs most, worth changing or not ---------------------------------- */

static size_t device_costs(const struct analysis *a, struct report_cost *costs)
{
	const struct report_device_time t = report_device_time(a);
	size_t count = 0;

	for (size_t d = 0; d < a->device_count; d++)
		for (size_t i = 0; i < a->devices[d].kernel_count; i++) {
			const struct analysis_entry *e = &a->devices[d].kernels[i].times;
			const struct report_cost cost = { e->name, report_percent(e->total, t.span) / 100 };
			size_t at = count < REPORT_COSTS ? count++ : REPORT_COSTS;

			for (; at > 0 && costs[at - 1].share < cost.share; at--)
				if (at < REPORT_COSTS)
					costs[at] = costs[at - 1];
			if (at < REPORT_COSTS)
				costs[at] = cost;
		}
	return count;
}

/* Whose time it is: an operator has with it all that it calls, as the program has asked for it. */
static uint32_t cost_name(const struct host_tree *tree, uint32_t node)
{
	uint32_t owner = node;

	for (uint32_t i = node; i != 0; i = tree->nodes[i].parent)
		if (tree->nodes[i].kind == EVENT_OP)
			owner = i;
	return tree->nodes[owner].name;
}

/* Of the time that is judged, which is the whole of the shares above them, too: each moment is one cost's. */
static size_t window_costs(const struct analysis *a, const struct host_window *w, struct report_cost *costs)
{
	int64_t *times = calloc((size_t)a->timeline->string_count + 1, sizeof *times);
	size_t count = 0;

	for (uint32_t i = 1; times && i < w->tree->count; i++)
		times[cost_name(w->tree, i)] += w->costs[i].wall;
	for (uint32_t name = 0; times && name < a->timeline->string_count; name++) {
		size_t at = count;

		if (times[name] <= 0)
			continue;
		count += count < REPORT_COSTS;
		for (; at > 0 && costs[at - 1].share < report_percent(times[name], w->to - w->from) / 100; at--)
			if (at < REPORT_COSTS)
				costs[at] = costs[at - 1];
		if (at < REPORT_COSTS)
			costs[at] = (struct report_cost){ name, report_percent(times[name], w->to - w->from) / 100 };
	}
	free(times);
	return count;
}

/* Where nobody looked at threads: of what the host did, by its own time: functions where there are any, else operators, else scopes. */
static size_t table_costs(const struct analysis *a, struct report_cost *costs)
{
	const struct analysis_table *table = a->functions.count ? &a->functions : a->operators.count ? &a->operators : &a->scopes;
	size_t most[REPORT_COSTS], count = report_most_self(table, most, REPORT_COSTS);

	for (size_t i = 0; i < count; i++)
		costs[i] = (struct report_cost){ table->entries[most[i]].name,
						 report_percent(table->entries[most[i]].self, report_host_time(a, table)) / 100 };
	return count;
}

size_t report_costs(const struct analysis *a, struct report_cost costs[REPORT_COSTS])
{
	if (a->device_count)
		return device_costs(a, costs);
	return a->host.window.looked ? window_costs(a, &a->host.window, costs) : table_costs(a, costs);
}

/* ---- Figures ------------------------------------------------------------------ */

double report_percent(int64_t part, int64_t whole)
{
	return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

double report_ms(int64_t ns)
{
	return (double)ns / 1e6;
}

const char *report_step_source(const struct analysis *a)
{
	static const char *const sources[] = { "", "marked by the profiler", "marked by a scope", "found by repetition" };

	return sources[a->timeline->step_source];
}

const struct timeline_step *report_slowest_step(const struct analysis *a)
{
	const struct timeline_step *slowest = NULL;

	for (size_t i = 0; i < a->steps.count; i++) {
		const struct timeline_step *step = &a->timeline->steps[a->steps.steps[i].step];

		if (!slowest || step->end - step->begin > slowest->end - slowest->begin)
			slowest = step;
	}
	return slowest;
}

bool report_date(char text[REPORT_DATE], int64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;

	return ns > 0 && gmtime_r(&seconds, &tm) && strftime(text, REPORT_DATE, "%Y-%m-%dT%H:%M:%SZ", &tm) > 0;
}
