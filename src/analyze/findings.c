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

#define CONFIDENCE_MOST 0.95 /* nobody has tried the fix */

const struct analysis_thresholds analysis_thresholds_initial = {
	.share_least = 0.05,
	.gain_least = 0.02,
	.share_severe = 0.30,
	.bottleneck_idle = 0.10,
	.bottleneck_copies = 0.20,
	.bottleneck_gpu_to_cpu = 2.0,
};

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
	const struct analysis_thresholds *limits = &p->a->thresholds;
	struct analysis_findings *all = &p->a->findings;

	f->share = share(f->owned, all->span);
	if (f->share < limits->share_least || f->gain < limits->gain_least)
		return 0;
	f->gain_low = fmax(0, fmin(f->gain_low, f->gain));
	f->gain_high = fmin(1, fmax(f->gain_high, f->gain));
	f->severity = limits->share_severe > 0 ? fmin(1, f->share / limits->share_severe) : 1;
	f->confidence = fmin(CONFIDENCE_MOST, f->confidence * (p->a->device_count ? trust(p, f) : 1));
	if (ARRAY_GROW(all->list, all->capacity, all->count + 1) < 0)
		return -ENOMEM;
	all->list[all->count++] = *f;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct analysis_finding *x = a, *y = b;

	if (x->note != y->note)
		return x->note ? 1 : -1;
	if (x->gain != y->gain)
		return x->gain > y->gain ? -1 : 1;
	return strcmp(x->id, y->id);
}

void findings_rank(struct analysis_findings *findings)
{
	if (findings->count)
		qsort(findings->list, findings->count, sizeof *findings->list, compare);
}

int analyze_findings(struct parts *p)
{
	struct analysis *a = p->a;
	int rc;

	for (size_t d = 0; d < a->device_count; d++)
		a->findings.span = time_sum(a->findings.span, a->devices[d].window->to - a->devices[d].window->from);
	rc = a->findings.span > 0 ? find_on_devices(p) : find_on_host(p);
	if (rc == 0)
		findings_rank(&a->findings);
	return rc;
}
