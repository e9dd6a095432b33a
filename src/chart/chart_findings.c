/* chart_findings.c - one bar for each finding: how severe, how often, how much of it can be saved. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "chart/chart_parts.h"
#include "report/report_parts.h"

#define FINDINGS_MOST 50

static enum chart_ink ink_of(const struct analysis_finding *f)
{
	const char *level = report_level(f);

	return strcmp(level, "HIGH") == 0 ? INK_HIGH : strcmp(level, "MED") == 0 ? INK_MEDIUM : INK_LOW;
}

/* value() is one of those below; in the unit of the axis, NAN where the trace does not say. */
static int make(struct chart *c, const struct analysis *a, double (*value)(const struct analysis_finding *f))
{
	char label[REPORT_TITLE + 24], title[REPORT_TITLE];
	struct chart_bar *bar;
	int size, rc = 0;

	c->form = CHART_BARS;
	c->nothing = "no findings";
	for (size_t i = 0; i < a->findings.count && rc == 0; i++) {
		const struct analysis_finding *f = &a->findings.list[i];

		if (i >= FINDINGS_MOST) {
			c->left_out = a->findings.count - FINDINGS_MOST;
			break;
		}
		size = snprintf(label, sizeof label, "%zu %s", i + 1, report_title(f, title));
		rc = chart_add_bar(c, label, (size_t)size, value(f), &bar);
		if (rc == 0)
			bar->ink = ink_of(f);
	}
	return rc;
}

static double severity_of(const struct analysis_finding *f)
{
	return f->severity;
}

int chart_make_severity(struct chart *c, const struct analysis *a)
{
	c->title = "Severity of findings";
	c->axis = "0 to 1";
	c->full = 1;
	c->digits = 3;
	return make(c, a, severity_of);
}

static double frequency_of(const struct analysis_finding *f)
{
	return 100 * f->frequency;
}

int chart_make_frequency(struct chart *c, const struct analysis *a)
{
	c->title = "Frequency of findings";
	c->axis = "% of the steps that have it";
	c->full = 100;
	c->digits = 1;
	return make(c, a, frequency_of);
}

static double potential_of(const struct analysis_finding *f)
{
	return f->share > 0 && !f->note ? 100 * f->gain / f->share : NAN;
}

int chart_make_potential(struct chart *c, const struct analysis *a)
{
	c->title = "Optimization potential of findings";
	c->axis = "% of what the finding costs that a fix saves";
	c->full = 100;
	c->digits = 1;
	return make(c, a, potential_of);
}

static double gain_of(const struct analysis_finding *f)
{
	return f->note ? NAN : 100 * f->gain;
}

int chart_make_gain(struct chart *c, const struct analysis *a)
{
	int rc;

	c->title = "Predicted gain of findings";
	c->axis = "% of all time that a fix saves, with its range";
	c->digits = 1;
	rc = make(c, a, gain_of);
	for (size_t i = 0; i < c->bar_count; i++) {
		const struct analysis_finding *f = &a->findings.list[i];

		if (f->note)
			continue;
		c->bars[i].low = 100 * f->gain_low;
		c->bars[i].high = 100 * f->gain_high;
	}
	return rc;
}
