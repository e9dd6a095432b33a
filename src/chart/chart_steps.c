/* chart_steps.c - how long each step took, over the run. */
#include <stdio.h>
#include <string.h>

#include "chart/chart_parts.h"

static int add_line(struct chart_panel *p, const struct analysis *a, uint32_t process, struct chart_line **ret)
{
	const struct timeline *t = a->timeline;
	char label[48] = "";

	if (process < t->process_count && t->processes[process].rank >= 0)
		snprintf(label, sizeof label, "rank %lld", (long long)t->processes[process].rank);
	else if (process < t->process_count)
		snprintf(label, sizeof label, "process %llu", (unsigned long long)t->processes[process].pid);
	return chart_add_line(p, label, strlen(label), ret);
}

/* Steps come by process, then by begin. */
static int add_steps(struct chart_panel *p, const struct analysis *a, double x_unit, double y_unit)
{
	struct chart_line *line = NULL;
	uint32_t process = 0;
	int rc = 0;

	for (size_t i = 0; i < a->steps.count && rc == 0; i++) {
		const struct timeline_step *s = &a->timeline->steps[a->steps.steps[i].step];

		if (!line || s->process != process) {
			if (p->line_count == CHART_LINES)
				break;
			process = s->process;
			rc = add_line(p, a, process, &line);
		}
		if (rc == 0)
			rc = chart_add_point(line, (double)s->begin / x_unit, (double)(s->end - s->begin) / y_unit);
	}
	return rc;
}

static size_t processes(const struct analysis *a)
{
	size_t count = 0;
	uint32_t before = 0;

	for (size_t i = 0; i < a->steps.count; i++) {
		uint32_t process = a->timeline->steps[a->steps.steps[i].step].process;

		count += i == 0 || process != before;
		before = process;
	}
	return count;
}

int chart_make_steps(struct chart *c, const struct analysis *a)
{
	struct chart_panel *p;
	double x_unit, y_unit;
	const char *unit = chart_time_unit(a->timeline->duration, &x_unit);
	char title[80];
	int rc, size;

	c->form = CHART_LINED;
	c->title = "Step time over the run";
	c->axis = unit;
	c->nothing = "no steps";
	c->full = (double)a->timeline->duration / x_unit;
	if (a->steps.count == 0)
		return 0;
	unit = chart_time_unit(a->steps.max, &y_unit);
	size = processes(a) <= CHART_LINES ? snprintf(title, sizeof title, "step time, %s", unit) :
					     snprintf(title, sizeof title, "step time of %d of %zu processes, %s", CHART_LINES, processes(a), unit);
	rc = chart_add_panel(c, title, (size_t)size, &p);
	return rc ? rc : add_steps(p, a, x_unit, y_unit);
}
