/* report_verdict.c - see report_parts.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/words.h"
#include "base/text.h"

#include "report/report.h"
#include "report/report_parts.h"

const char *report_level(const struct analysis_finding *f)
{
	double share = f->rule ? 0.30 * f->severity : f->share; /* a rule owns no time, and says itself how severe it is */

	return share >= 0.20 ? "HIGH" : share >= 0.10 ? "MED" : "LOW";
}

const char *report_confidence(double confidence)
{
	return confidence >= 0.75 ? "high" : confidence >= 0.5 ? "medium" : "low";
}

const struct analysis_check *report_doubt(const struct analysis *a)
{
	const struct analysis_check *worst = NULL;

	for (size_t i = 0; i < a->check_count; i++) {
		const struct analysis_check *c = &a->checks[i];

		if ((c->status == CHECK_WARN || c->status == CHECK_FAIL) &&
		    (!worst || (c->status == CHECK_FAIL && worst->status == CHECK_WARN)))
			worst = c;
	}
	return worst;
}

const char *report_clock(const struct analysis *a, const struct timeline_clock *c, char words[REPORT_CLOCK])
{
	double error = analysis_clock_error(a, c);
	bool bound = c->error_ns >= 0 && error >= c->error_ns;
	char time[32], drift[48] = "", residual[48] = "", off[32];

	if (!isnan(c->drift_ppm))
		snprintf(drift, sizeof drift, ", drift %.1f ppm", c->drift_ppm);
	if (!isnan(c->residual_ns))
		snprintf(residual, sizeof residual, ", residual %s", text_duration(off, c->residual_ns));
	snprintf(words, REPORT_CLOCK, "%s within %s%s (method %s%s%s, jumps %u)", bound ? "known" : "taken to be right",
		 text_duration(time, error), bound ? "" : ", which is conservative", c->method, drift, residual, c->jumps);
	return words;
}

/* ---- Devices ------------------------------------------------------------------ */

static void add(int64_t *sum, int64_t time)
{
	if (__builtin_add_overflow(*sum, time, sum))
		*sum = INT64_MAX;
}

struct report_device_time report_device_time(const struct analysis *a)
{
	struct report_device_time t = { 0 };

	for (size_t i = 0; i < a->device_count; i++) {
		const struct analysis_device *d = &a->devices[i];
		const struct device_window *w = d->window;

		add(&t.span, w->to - w->from);
		add(&t.compute, device_window_compute(w));
		add(&t.communication, device_window_exposed_communication(w));
		add(&t.copy, device_window_exposed_copy(w));
		add(&t.idle, device_window_idle(w));
		add(&t.idle_low, d->idle_low);
		add(&t.idle_high, d->idle_high);
		for (unsigned cause = 0; cause < IDLE_CAUSE_COUNT; cause++)
			add(&t.causes[cause], d->states->idle[cause]);
	}
	return t;
}

/* ---- The verdict -------------------------------------------------------------- */

const struct analysis_finding *report_first(const struct analysis *a)
{
	for (size_t i = 0; i < a->findings.count; i++)
		if (!a->findings.list[i].rule)
			return &a->findings.list[i];
	return NULL;
}

/* "GPU idle 41%", of poor evidence "GPU idle 38 to 47%". */
static int say_idle(struct report_verdict *v, const struct analysis *a, const struct report_device_time *t)
{
	const char *gpu = a->device_count == 1 ? "GPU" : "GPUs";

	if (t->idle_low != t->idle_high)
		return snprintf(v->words, sizeof v->words, "%s idle %.0f to %.0f%% of the time", gpu, report_percent(t->idle_low, t->span),
				report_percent(t->idle_high, t->span));
	return snprintf(v->words, sizeof v->words, "%s idle %.0f%% of the time", gpu, report_percent(t->idle, t->span));
}

#define NAMED_LEAST 0.5 /* of the largest part: what is smaller does not stand for the whole */

static const struct analysis_finding *named_finding(const struct analysis *a, double largest)
{
	const struct analysis_finding *first = report_first(a);

	return first && first->share >= NAMED_LEAST * largest ? first : NULL;
}

/* The finding that comes first, if it explains much of the idle time; else the cause of most of it, unless that is a mystery. */
static void judge_idle(struct report_verdict *v, const struct analysis *a, const struct report_device_time *t)
{
	size_t n = (size_t)say_idle(v, a, t), left = sizeof v->words - n;
	unsigned most = 0;

	for (unsigned cause = 1; cause < IDLE_CAUSE_COUNT; cause++)
		most = t->causes[cause] > t->causes[most] ? cause : most;
	const struct analysis_finding *finding = named_finding(a, report_percent(t->causes[most], t->span) / 100);
	const struct words *words = finding ? words_of(finding->kind) : NULL;

	v->judged = t->causes[IDLE_UNKNOWN] <= t->idle / 2;
	if (!v->judged)
		snprintf(v->words + n, left, "; the trace does not tell why");
	else if (words && words->verb)
		snprintf(v->words + n, left, ": %s %s %s", words->phrase, words->verb, a->device_count == 1 ? "it" : "them");
	else if (most == IDLE_NO_WORK && t->causes[most] > t->idle / 2)
		snprintf(v->words + n, left, ": there was nothing to do");
	else if (most != IDLE_UNKNOWN && t->causes[most] > t->idle / 2)
		snprintf(v->words + n, left, ", mostly since %s", words_phrase(idle_cause_name(most)));
	else
		snprintf(v->words + n, left, ", for many small reasons");
}

static void judge_devices(struct report_verdict *v, const struct analysis *a)
{
	const struct report_device_time t = report_device_time(a);
	const char *gpu = a->device_count == 1 ? "GPU" : "GPUs";
	double busy = 100 - report_percent(t.idle, t.span);

	switch (a->bottleneck.type) {
	case BOTTLENECK_CPU:
		judge_idle(v, a, &t);
		break;
	case BOTTLENECK_MEMORY:
		snprintf(v->words, sizeof v->words, "copies between host and %s take %.0f%% of the time", gpu,
			 report_percent(a->summary.h2d, t.span) + report_percent(a->summary.d2h, t.span));
		break;
	case BOTTLENECK_GPU:
		snprintf(v->words, sizeof v->words, "%s busy %.0f%% of the time: %s own work is the limit", gpu, busy,
			 a->device_count == 1 ? "its" : "their");
		break;
	default:
		snprintf(v->words, sizeof v->words, "%s busy %.0f%% of the time: host and device keep pace", gpu, busy);
	}
}

/* Without devices: whether most of the time the program was in nothing that was recorded. */
static bool is_mystery(const struct analysis *a)
{
	for (size_t i = 0; i < a->category_count; i++)
		if (strcmp(a->breakdown[i].name, "unknown") == 0)
			return a->breakdown[i].duration > a->summary.end_to_end / 2;
	return false;
}

/* What the time mostly is.  A finding that is much smaller is what to change, and follows. */
static void judge_host(struct report_verdict *v, const struct analysis *a, const struct analysis_finding *first)
{
	struct report_shares shares;
	const struct report_share *most = NULL;
	double share;

	report_shares(a, &shares);
	for (size_t i = 0; i < shares.count; i++)
		most = !most || shares.list[i].time > most->time ? &shares.list[i] : most;
	share = most ? report_percent(most->time, shares.span) / 100 : 0;
	if (named_finding(a, share))
		snprintf(v->words, sizeof v->words, "%.0f%% of the time is %s", 100 * first->share, words_phrase(first->kind));
	else
		snprintf(v->words, sizeof v->words, "%.0f%% of the time is %s, %.0f%% is %s", 100 * share, words_phrase(most->name),
			 100 * first->share, words_phrase(first->kind));
}

struct report_verdict report_verdict(const struct analysis *a)
{
	struct report_verdict v = { .judged = true };
	const struct analysis_finding *first = report_first(a);
	bool unknown = a->bottleneck.type == BOTTLENECK_UNKNOWN && !first;
	char time[32];

	if (a->ran_nothing) {
		v.judged = false;
		snprintf(v.words, sizeof v.words, "cannot judge: it failed%s%s, before it ran any code of its own", a->timeline->duration ? " after " : "",
			 a->timeline->duration ? text_duration(time, (double)a->timeline->duration) : "");
	} else if (a->timeline->events == 0 || unknown) {
		v.judged = false;
		snprintf(v.words, sizeof v.words, "cannot judge: %s", a->timeline->events == 0 ? "there are no events in the trace" : "");
		v.reason = a->timeline->events ? a->bottleneck.cause : NULL;
	} else if (a->device_count && a->bottleneck.type != BOTTLENECK_UNKNOWN) {
		judge_devices(&v, a);
	} else if (first) {
		judge_host(&v, a, first);
	} else if (is_mystery(a)) {
		v.judged = false;
		snprintf(v.words, sizeof v.words, "cannot judge: most of the time it was in nothing that was recorded");
	} else {
		v.reason = a->bottleneck.cause;
	}
	return v;
}

/* ---- Names -------------------------------------------------------------------- */

const char *report_title(const struct analysis_finding *f, char title[REPORT_TITLE])
{
	const char *place = strchr(f->id, ':'), *label = words_label(f->kind);

	snprintf(title, REPORT_TITLE, "%s%s%s", label, place && place[1] ? ": " : "", place ? place + 1 : "");
	return title;
}

const char *report_place(const struct analysis_finding *f, size_t *ret_size)
{
	const char *text = f->where.count ? f->where.text[0] : "", *end = NULL;

	for (const char *at = text; (at = strstr(at, ": ")); at += 2)
		end = at; /* "NAME: 12 ms in 3 gaps", and a name may have a colon of its own */
	*ret_size = end ? (size_t)(end - text) : strlen(text);
	return text;
}

/* ---- Figures ------------------------------------------------------------------ */

double report_remainder(const struct analysis *a, size_t count, size_t *ret_used)
{
	double left = 1;

	*ret_used = 0;
	for (size_t i = 0; i < count && i < a->findings.count; i++) {
		if (a->findings.list[i].rule)
			continue;
		left *= 1 - a->findings.list[i].gain;
		++*ret_used;
	}
	return left;
}

struct report_outcome report_outcome(const struct analysis *a)
{
	static const char *const words[] = { "", "with it", "with both", "all three" };
	size_t shown = a->findings.count < REPORT_FIRST ? a->findings.count : REPORT_FIRST, gaining = 0, used;
	double devices = a->device_count ? (double)a->device_count : 1;
	struct report_outcome o = { .of = a->steps.count ? "step" : "time", .least = 1, .most = 1 };

	o.left = report_remainder(a, shown, &used);
	o.before = a->steps.count ? (double)a->steps.p50 : (double)a->findings.span / devices;
	if (used == 0 || o.before <= 0)
		return o;
	for (size_t i = 0; i < a->findings.count; i++) /* notes come last */
		gaining += !a->findings.list[i].note;
	for (size_t i = 0; i < shown; i++) {
		const struct analysis_finding *f = &a->findings.list[i];

		o.least *= f->rule ? 1 : 1 - f->gain_high;
		o.most *= f->rule ? 1 : 1 - f->gain_low;
	}
	o.words = gaining > REPORT_FIRST ? "these three" : used < gaining ? "without rules" : words[used];
	return o;
}

int64_t report_host_time(const struct analysis *a, const struct analysis_table *table)
{
	int64_t own = 0;

	for (size_t i = 0; i < table->count; i++)
		add(&own, table->entries[i].self);
	return own > a->summary.cpu ? own : a->summary.cpu;
}

size_t report_most_self(const struct analysis_table *table, size_t *ret, size_t most)
{
	size_t count = 0;

	for (size_t i = 0; i < table->count; i++) {
		size_t at = count < most ? count++ : most;

		for (; at > 0 && table->entries[ret[at - 1]].self < table->entries[i].self; at--)
			if (at < most)
				ret[at] = ret[at - 1];
		if (at < most)
			ret[at] = i;
	}
	return count;
}
