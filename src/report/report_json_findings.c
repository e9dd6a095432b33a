/* report_json_findings.c - the bottleneck, findings and suggestions of the analysis JSON. */
#include <math.h>
#include <stdio.h>

#include "report/report_parts.h"

static void put_texts(struct json_writer *j, const char *key, const struct finding_texts *texts)
{
	json_open(j, key, '[');
	for (unsigned i = 0; i < texts->count; i++)
		json_text(j, NULL, texts->text[i]);
	json_close(j);
}

static void put_percent(struct json_writer *j, const char *key, double part)
{
	json_fixed(j, key, 100 * part, 2);
}

/* A rule that predicts no gain is not one that predicts none. */
static void put_gain(struct json_writer *j, const char *key, const struct analysis_finding *f, double gain)
{
	put_percent(j, key, f->note ? NAN : gain);
}

static void put_examples(struct json_writer *j, const struct timeline *t, const struct analysis_finding *f)
{
	json_open(j, "examples", '[');
	for (unsigned i = 0; i < f->example_count; i++) {
		const struct finding_example *e = &f->examples[i];

		json_open(j, NULL, '{');
		json_unsigned(j, "track", e->track);
		report_json_name(j, "name", t, e->name);
		json_us(j, "start_us", e->begin);
		json_us(j, "duration_us", e->end - e->begin);
		json_close(j);
	}
	json_close(j);
}

static void put_finding(struct json_writer *j, const struct timeline *t, const struct analysis_finding *f)
{
	char title[REPORT_TITLE];

	json_open(j, NULL, '{');
	json_text(j, "id", f->id);
	json_text(j, "kind", f->kind);
	json_text(j, "title", report_title(f, title));
	json_fixed(j, "severity", f->severity, 3);
	put_percent(j, "share_percent", f->share);
	json_us(j, "owned_us", f->owned);
	put_gain(j, "gain_low_percent", f, f->gain_low);
	put_gain(j, "gain_percent", f, f->gain);
	put_gain(j, "gain_high_percent", f, f->gain_high);
	json_fixed(j, "confidence", f->confidence, 3);
	json_fixed(j, "frequency", f->frequency, 3);
	json_fixed(j, "optimization_potential", f->share > 0 ? f->gain / f->share : NAN, 3);
	put_texts(j, "evidence", &f->evidence);
	put_texts(j, "where", &f->where);
	put_examples(j, t, f);
	if (f->rule) {
		json_text(j, "rule", f->rule);
		put_percent(j, "rule_share_percent", f->rule_share);
	}
	json_close(j);
}

static void put_suggestion(struct json_writer *j, const struct analysis_finding *f, size_t priority)
{
	json_open(j, NULL, '{');
	json_unsigned(j, "priority", priority);
	json_text(j, "action", f->action);
	json_text(j, "rationale", f->rationale);
	put_gain(j, "estimated_improvement_percent", f, f->gain);
	json_text(j, "finding", f->id);
	json_close(j);
}

/* What all reports for people begin with. */
static void put_headline(struct json_writer *j, const struct analysis *a)
{
	const struct report_verdict verdict = report_verdict(a);
	char text[sizeof verdict.words + FINDING_TEXT];

	snprintf(text, sizeof text, "%s%s", verdict.words, verdict.reason ? verdict.reason : "");
	json_text(j, "headline", text);
}

void report_json_findings(struct json_writer *j, const struct analysis *a)
{
	const struct analysis_bottleneck *b = &a->bottleneck;

	json_open(j, "bottleneck", '{');
	json_text(j, "type", bottleneck_name(b->type));
	put_headline(j, a);
	json_text(j, "primary_cause", b->cause);
	json_fixed(j, "confidence", b->confidence, 3);
	put_texts(j, "evidence", &b->evidence);
	json_close(j);
	json_open(j, "findings", '[');
	for (size_t i = 0; i < a->findings.count; i++)
		put_finding(j, a->timeline, &a->findings.list[i]);
	json_close(j);
	json_open(j, "suggestions", '[');
	for (size_t i = 0; i < a->findings.count; i++)
		put_suggestion(j, &a->findings.list[i], i + 1);
	json_close(j);
	put_texts(j, "notes", &a->notes);
}
