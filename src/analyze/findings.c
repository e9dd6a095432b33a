/*
 * findings.c - collects findings, leaves out what is too small, and ranks the rest.
 *
 * Floors: a finding owns at least 5 % of the time (what TensorFlow's profiler
 * and PyTorch's plugin took as the least worth speaking of) and gains at least
 * 2 %.  Severity is 1 from 30 % on.
 *
 * Of devices the time from the first step on is judged (the window of host.h): what is compiled and copied before is done once,
 * and would make all shares smaller.  They may go on after the last one, with work of the steps.
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

/* By gain; a note predicts none, and comes after the others by its severity. */
static int compare(const void *a, const void *b)
{
	const struct analysis_finding *x = a, *y = b;
	double of_x = x->note ? x->severity : x->gain, of_y = y->note ? y->severity : y->gain;

	if (x->note != y->note)
		return x->note ? 1 : -1;
	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	return strcmp(x->id, y->id);
}

void findings_rank(struct analysis_findings *findings)
{
	if (findings->count)
		qsort(findings->list, findings->count, sizeof *findings->list, compare);
}

int judged_window(const struct parts *p, size_t device, struct device_window *ret)
{
	const struct device_window *all = p->a->devices[device].window;
	int64_t from = p->a->findings.from;

	if (from <= all->from) {
		*ret = *all;
		return 0;
	}
	return device_window_between(p->t, &p->a->states, p->a->devices[device].device, from, all->to > from ? all->to : from, ret);
}

/* Time of the devices that is judged, and how long they are busy in it. */
static int measure_judged(const struct parts *p, int64_t *ret_span, int64_t *ret_busy)
{
	*ret_span = *ret_busy = 0;
	for (size_t d = 0; d < p->a->device_count; d++) {
		struct device_window w;
		int rc = judged_window(p, d, &w);

		if (rc)
			return rc;
		*ret_span = time_sum(*ret_span, w.to - w.from);
		*ret_busy = time_sum(*ret_busy, device_window_busy(&w));
	}
	return 0;
}

static void note_left_out(struct parts *p, int64_t all)
{
	const struct analysis_findings *f = &p->a->findings;
	char time[32];

	if (share(all - f->span, all) >= p->a->thresholds.share_least)
		texts_add(&p->a->notes, "%s of the devices' time, %.0f %% of it, are before the %s: gains are of the %s alone",
			  format_time(time, all - f->span), 100 * share(all - f->span, all), host_unit_name(p->a->host.unit),
			  host_unit_name(p->a->host.unit));
}

/* The steps, if most of what devices do is in them; else all of it. */
static int choose_judged(struct parts *p)
{
	const struct analysis_host *h = &p->a->host;
	struct analysis_findings *f = &p->a->findings;
	int64_t all, all_busy, busy;
	int rc;

	f->from = INT64_MIN;
	rc = measure_judged(p, &all, &all_busy);
	f->span = all;
	if (rc || !h->known || h->unit == UNIT_RUN || all == 0)
		return rc;
	f->from = h->window.from;
	rc = measure_judged(p, &f->span, &busy);
	if (rc == 0 && busy > all_busy / 2) {
		note_left_out(p, all);
		return 0;
	}
	f->from = INT64_MIN;
	f->span = all;
	return rc;
}

int analyze_findings(struct parts *p)
{
	struct analysis *a = p->a;
	int rc = choose_judged(p);

	if (rc)
		return rc;
	rc = a->findings.span > 0 ? find_on_devices(p) : find_on_host(p);
	if (rc == 0)
		findings_rank(&a->findings);
	return rc;
}
