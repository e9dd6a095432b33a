/* report_shares.c - see report_parts.h. */
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

/* Of what the host did, by its own time: functions where there are any, else operators, else scopes. */
static size_t host_costs(const struct analysis *a, struct report_cost *costs)
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
	return a->device_count ? device_costs(a, costs) : host_costs(a, costs);
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
