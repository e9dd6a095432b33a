/*
 * findings.c - collects findings, leaves out what is too small, and ranks the rest.
 *
 * Floors: a finding owns at least 5 % of the time (what TensorFlow's profiler
 * and PyTorch's plugin took as the least worth speaking of) and gains at least
 * 2 %.  Severity is 1 from 30 % on.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/findings_parts.h"
#include "base/array.h"

#define SHARE_LEAST 0.05
#define GAIN_LEAST 0.02
#define SHARE_SEVERE 0.30
#define CONFIDENCE_MOST 0.95 /* nobody has tried the fix */

void texts_add(struct finding_texts *texts, const char *format, ...)
{
	va_list args;

	if (texts->count >= FINDING_TEXTS)
		return;
	va_start(args, format);
	vsnprintf(texts->text[texts->count++], FINDING_TEXT, format, args);
	va_end(args);
}

double trust_in(enum verdict verdict)
{
	static const double verdicts[] = { [VERDICT_GOOD] = 1, [VERDICT_DEGRADED] = 0.85, [VERDICT_POOR] = 0.6 };

	return verdicts[verdict];
}

/* The less of the devices' idleness anybody can explain, the more of it may belong elsewhere. */
static double trust(const struct parts *p, const struct analysis_finding *f)
{
	int64_t unknown = 0;

	for (size_t d = 0; d < p->a->device_count; d++)
		unknown = time_sum(unknown, p->a->devices[d].states->idle[IDLE_UNKNOWN]);
	return trust_in(p->a->verdict) * (double)f->owned / ((double)f->owned + (double)unknown);
}

int finding_add(struct parts *p, struct analysis_finding *f)
{
	struct analysis_findings *all = &p->a->findings;

	f->share = share(f->owned, all->span);
	if (f->share < SHARE_LEAST || f->gain < GAIN_LEAST)
		return 0;
	f->gain_low = fmax(0, fmin(f->gain_low, f->gain));
	f->gain_high = fmin(1, fmax(f->gain_high, f->gain));
	f->severity = fmin(1, f->share / SHARE_SEVERE);
	f->confidence = fmin(CONFIDENCE_MOST, f->confidence * trust(p, f));
	if (ARRAY_GROW(all->list, all->capacity, all->count + 1) < 0)
		return -ENOMEM;
	all->list[all->count++] = *f;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct analysis_finding *x = a, *y = b;

	if (x->gain != y->gain)
		return x->gain > y->gain ? -1 : 1;
	return strcmp(x->id, y->id);
}

int analyze_findings(struct parts *p)
{
	struct analysis *a = p->a;
	int rc = 0;

	for (size_t d = 0; d < a->device_count; d++)
		a->findings.span = time_sum(a->findings.span, a->devices[d].window->to - a->devices[d].window->from);
	if (a->findings.span > 0)
		rc = find_on_devices(p);
	if (rc == 0 && a->findings.count)
		qsort(a->findings.list, a->findings.count, sizeof *a->findings.list, compare);
	return rc;
}
