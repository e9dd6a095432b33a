/*
 * rules_run.c - what a rule says of a trace.
 *
 * Shares, severities, gains and confidences are cut to 0..1: times of several
 * threads may well sum to more than the whole.  A finding of a rule owns no
 * time, since nobody knows what of it others own.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "rules/rules_parts.h"

#define CONFIDENCE_USUAL 0.5 /* somebody thinks so */

/* A rule while it is computed; NAN: not known. */
struct state {
	struct rules *rules;
	const struct rule *rule;
	double values[RULE_EXPRESSIONS];
	struct error *err;
};

static int step(struct state *s, struct sql_query *q, enum rule_field field, size_t offset)
{
	int rc;

	for (unsigned i = 0; i < field && i < RULE_EXPRESSIONS; i++)
		sql_query_bind_number(q, (int)i + 1, s->values[i]);
	rc = sql_query_step(q, NULL);
	return rc < 0 ? rule_sql_fail(s->err, s->rules->sql, s->rule, field, offset, s->rule->fields[field].size, rc) : rc;
}

/* A number, or NAN for NULL; a field that is not there is NAN, too. */
static int compute(struct state *s, enum rule_field field)
{
	struct sql_query *q = s->rule->queries[field];
	double number = NAN;
	int rc;

	s->values[field] = NAN;
	if (!q)
		return 0;
	rc = step(s, q, field, 0);
	if (rc > 0 && !sql_query_null(q, 0) && !sql_query_number(q, 0, &number))
		rc = rule_fail(s->err, s->rule, field, -1, "gives a text and not a number; compare it with something, or take its length()");
	s->values[field] = number;
	sql_query_reset(q);
	return rc < 0 ? rc : 0;
}

/* What is not known stays so. */
static double part(double value)
{
	return isnan(value) ? NAN : fmin(1, fmax(0, value));
}

static double either(double value, double other)
{
	return isnan(value) ? other : value;
}

/* Fields that are not given follow from others. */
static void complete(struct state *s, enum rule_field field)
{
	double *v = s->values;
	double severe = s->rules->thresholds.share_severe;

	v[field] = part(v[field]);
	if (field == RULE_SEVERITY && isnan(v[field]))
		v[field] = isnan(v[RULE_SHARE]) ? 0 : severe > 0 ? fmin(1, v[RULE_SHARE] / severe) : 1;
	else if (field == RULE_GAIN_LOW)
		v[field] = fmin(either(v[field], v[RULE_GAIN]), v[RULE_GAIN]);
	else if (field == RULE_GAIN_HIGH)
		v[field] = fmax(either(v[field], v[RULE_GAIN]), v[RULE_GAIN]);
	else if (field == RULE_CONFIDENCE)
		v[field] = either(v[field], CONFIDENCE_USUAL);
	if ((field == RULE_GAIN_LOW || field == RULE_GAIN_HIGH) && isnan(v[RULE_GAIN]))
		v[field] = NAN; /* fmin() and fmax() pass over a NAN */
}

/* ---- Words ---------------------------------------------------------------------- */

/* A text of FINDING_TEXT bytes. */
struct words {
	char *text;
	size_t size;
	bool full; /* something was cut off */
};

/* Whole characters that fit; a NUL, which would end the text, becomes a space. */
static void add_text(struct words *out, const char *text, size_t size)
{
	uint32_t c;

	for (size_t at = 0, length; at < size && !out->full; at += length) {
		length = text_decode(text + at, size - at, &c);
		if (out->size + length >= FINDING_TEXT) {
			out->full = true;
			return;
		}
		memcpy(out->text + out->size, text[at] ? text + at : " ", length);
		out->size += length;
	}
}

static void add_cell(struct words *out, struct sql_query *q)
{
	struct buffer digits = BUFFER_INIT;
	const char *text = "unknown";
	size_t size = strlen(text);
	int64_t integer;
	double number;

	if (sql_query_integer(q, 0, &integer))
		buffer_printf(&digits, "%lld", (long long)integer);
	else if (sql_query_number(q, 0, &number))
		json_append_number(&digits, number);
	else
		sql_query_text(q, 0, &text, &size);
	if (digits.size)
		add_text(out, (const char *)digits.data, digits.size);
	else
		add_text(out, text, size);
	buffer_release(&digits);
}

/* ret has room for FINDING_TEXT bytes. */
static int write_words(struct state *s, enum rule_field field, char *ret)
{
	const struct rule_template *t = &s->rule->templates[field - RULE_MESSAGE];
	struct words out = { .text = ret };
	int rc = 0;

	for (unsigned i = 0; i < t->count && rc == 0; i++) {
		const struct rule_piece *piece = &t->pieces[i];

		if (piece->words) {
			add_text(&out, piece->words, strlen(piece->words));
			continue;
		}
		rc = step(s, piece->query, field, piece->offset);
		if (rc > 0)
			add_cell(&out, piece->query);
		sql_query_reset(piece->query);
		rc = rc < 0 ? rc : 0;
	}
	ret[out.size] = 0;
	return rc;
}

/* ---- A finding ------------------------------------------------------------------ */

static int write_finding(struct state *s, struct analysis_finding *f)
{
	const struct rule_text *fields = s->rule->fields;
	bool note = isnan(s->values[RULE_GAIN]);
	int rc;

	f->kind = fields[RULE_KIND].text ? fields[RULE_KIND].text : "custom";
	f->rule = s->rule->origin;
	f->rule_share = s->values[RULE_SHARE];
	f->note = note;
	f->gain = note ? 0 : s->values[RULE_GAIN];
	f->gain_low = note ? 0 : s->values[RULE_GAIN_LOW];
	f->gain_high = note ? 0 : s->values[RULE_GAIN_HIGH];
	f->severity = s->values[RULE_SEVERITY];
	f->confidence = s->values[RULE_CONFIDENCE];
	f->frequency = NAN;
	snprintf(f->id, sizeof f->id, "%s:%s", f->kind, fields[RULE_NAME].text);
	rc = write_words(s, RULE_MESSAGE, f->evidence.text[0]);
	f->evidence.count = 1;
	if (rc == 0 && fields[RULE_SUGGESTION].text)
		rc = write_words(s, RULE_SUGGESTION, f->action);
	else
		memcpy(f->action, f->evidence.text[0], sizeof f->action);
	if (note)
		snprintf(f->rationale, sizeof f->rationale, "rule %s of %.120s, which predicts no gain", fields[RULE_NAME].text, s->rule->path);
	else
		snprintf(f->rationale, sizeof f->rationale, "rule %s of %.120s, by which the gain is %.120s", fields[RULE_NAME].text,
			 s->rule->path, fields[RULE_GAIN].text);
	return rc;
}

int rule_run(struct rules *r, const struct rule *rule, struct analysis_findings *findings, struct error *err)
{
	struct state s = { .rules = r, .rule = rule, .err = err };
	int rc = compute(&s, RULE_SHARE);

	s.values[RULE_SHARE] = part(s.values[RULE_SHARE]);
	rc = rc ? rc : compute(&s, RULE_WHEN);
	if (rc < 0 || isnan(s.values[RULE_WHEN]) || s.values[RULE_WHEN] == 0)
		return rc;
	for (unsigned i = RULE_SEVERITY; i < RULE_EXPRESSIONS && rc == 0; i++) {
		rc = compute(&s, i);
		complete(&s, i);
	}
	if (rc < 0)
		return rc;
	if (ARRAY_GROW(findings->list, findings->capacity, findings->count + 1) < 0)
		return rule_sql_fail(err, r->sql, rule, RULE_MESSAGE, 0, 0, -ENOMEM);
	memset(&findings->list[findings->count], 0, sizeof *findings->list);
	rc = write_finding(&s, &findings->list[findings->count]);
	findings->count += rc == 0;
	return rc;
}
