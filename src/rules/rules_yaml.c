/*
 * rules_yaml.c - a file of rules: a YAML mapping with a list of rules and a mapping of thresholds.
 *
 * Read from libyaml's event stream.  Everything else that YAML can do (aliases,
 * anchors, tags, several documents, deeper nesting) is refused where it
 * starts, so nothing can be made to grow or to recurse.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/array.h"
#include "base/text.h"
#include "rules/rules_parts.h"

struct reader {
	yaml_parser_t parser;
	yaml_event_t event; /* the one at hand; valid when has_event */
	bool has_event;
	const char *path;
	struct rules *rules;
	struct error *err;
};

#define FAIL_HERE(r, ...) rules_fail((r)->err, (r)->path, line_of(&(r)->event), column_of(&(r)->event), __VA_ARGS__)

static unsigned line_of(const yaml_event_t *event)
{
	return (unsigned)event->start_mark.line + 1;
}

static unsigned column_of(const yaml_event_t *event)
{
	return (unsigned)event->start_mark.column + 1;
}

static int out_of_memory(struct reader *r)
{
	if (r->err)
		r->err->exit_code = 4;
	return error_errno(r->err, -ENOMEM, "cannot read '%s'", r->path);
}

static int syntax_error(struct reader *r)
{
	const yaml_parser_t *p = &r->parser;
	const yaml_mark_t *mark = p->error == YAML_READER_ERROR ? &p->mark : &p->problem_mark;

	if (p->error == YAML_MEMORY_ERROR)
		return out_of_memory(r);
	return rules_fail(r->err, r->path, (unsigned)mark->line + 1, (unsigned)mark->column + 1,
			  "not valid YAML: %s; a text with ': ', '#' or '{' in it needs quotes around it, or '|' before it",
			  p->problem ? p->problem : "syntax error");
}

/* Extras that the events of plain mappings, lists and scalars never have. */
static int check_plain(struct reader *r)
{
	const yaml_event_t *e = &r->event;
	const yaml_char_t *anchor = NULL, *tag = NULL;

	if (e->type == YAML_ALIAS_EVENT)
		return FAIL_HERE(r, "aliases are not allowed here; write the value out, or in quotes if it begins with '*'");
	if (e->type == YAML_SCALAR_EVENT) {
		anchor = e->data.scalar.anchor;
		tag = e->data.scalar.tag;
	} else if (e->type == YAML_MAPPING_START_EVENT) {
		anchor = e->data.mapping_start.anchor;
		tag = e->data.mapping_start.tag;
	} else if (e->type == YAML_SEQUENCE_START_EVENT) {
		anchor = e->data.sequence_start.anchor;
		tag = e->data.sequence_start.tag;
	}
	if (anchor)
		return FAIL_HERE(r, "anchors are not allowed here; leave out '&%.40s'", (const char *)anchor);
	if (tag)
		return FAIL_HERE(r, "tags are not allowed here; leave out '%.40s'", (const char *)tag);
	return 0;
}

static int next_event(struct reader *r)
{
	if (r->has_event)
		yaml_event_delete(&r->event);
	r->has_event = false;
	if (!yaml_parser_parse(&r->parser, &r->event))
		return syntax_error(r);
	r->has_event = true;
	return check_plain(r);
}

/* ---- Scalars -------------------------------------------------------------------- */

/* Whether the value stands in the file just as it is, so that places in it can be computed. */
static bool stands_as_is(const yaml_event_t *e)
{
	const char *text = (const char *)e->data.scalar.value;
	size_t quotes = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? 0 : 2, count = 0, size = e->data.scalar.length;
	uint32_t c;

	if (e->start_mark.line != e->end_mark.line)
		return false;
	for (size_t at = 0; at < size; count++)
		at += text_decode(text + at, size - at, &c);
	return e->end_mark.column - e->start_mark.column == count + quotes;
}

/* The scalar at hand. */
static int take_text(struct reader *r, const char *key, struct rule_text *ret)
{
	const yaml_event_t *e = &r->event;
	size_t size = e->type == YAML_SCALAR_EVENT ? e->data.scalar.length : 0;

	if (e->type != YAML_SCALAR_EVENT)
		return FAIL_HERE(r, "%s expects a text, not a list or a mapping; put quotes around one that begins with '{' or '['", key);
	if (size == 0)
		return FAIL_HERE(r, "%s is empty; write something, or leave it out", key);
	if (size > RULE_TEXT_MAX)
		return FAIL_HERE(r, "%s has more than the %u bytes that are allowed", key, RULE_TEXT_MAX);
	if (memchr(e->data.scalar.value, 0, size))
		return FAIL_HERE(r, "%s has a NUL in it; leave it out", key);
	ret->text = strndup((const char *)e->data.scalar.value, size);
	if (!ret->text)
		return out_of_memory(r);
	ret->size = size;
	ret->line = line_of(e);
	ret->exact = stands_as_is(e);
	ret->column = column_of(e) + (ret->exact && e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE);
	return 0;
}

static int expect_key(struct reader *r, const char *example)
{
	if (r->event.type != YAML_SCALAR_EVENT)
		return FAIL_HERE(r, "expected a key, such as '%s'", example);
	return 0;
}

static const char *key_of(const struct reader *r)
{
	return (const char *)r->event.data.scalar.value;
}

static const char *next_name(void *arg, size_t i)
{
	return ((const char *const *)arg)[i];
}

/* The place of the key at hand in a list of names that ends in NULL; negative: it is not there, or for the second time. */
static int find_key(struct reader *r, const char *const *names, uint32_t *seen, const char *of)
{
	const char *key = key_of(r), *near = text_nearest(key, next_name, (void *)names);

	for (int i = 0; names[i]; i++) {
		if (strcmp(names[i], key) != 0 || strlen(key) != r->event.data.scalar.length)
			continue;
		if (*seen & (uint32_t)1 << i)
			return FAIL_HERE(r, "%s is there twice; keep one of the two", key);
		*seen |= (uint32_t)1 << i;
		return i;
	}
	if (near)
		return FAIL_HERE(r, "unknown key '%.60s' %s; did you mean '%s'?", key, of, near);
	return FAIL_HERE(r, "unknown key '%.60s' %s; docs/rules.md lists those there are", key, of);
}

/* ---- A rule --------------------------------------------------------------------- */

static bool is_identifier(const char *text)
{
	if (!isalpha((unsigned char)*text) && *text != '_')
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && *text != '_')
			return false;
	return true;
}

static int check_word(struct reader *r, const struct rule_text *t, const char *key)
{
	if (is_identifier(t->text) && t->size <= RULE_NAME_MAX)
		return 0;
	return rules_fail(r->err, r->path, t->line, t->column, "%s '%.60s' is no name; use up to %u letters, digits and _", key, t->text,
			  RULE_NAME_MAX);
}

static int check_complete(struct reader *r, const struct rule *rule, unsigned line, unsigned column)
{
	static const enum rule_field needed[] = { RULE_NAME, RULE_WHEN, RULE_MESSAGE };

	for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
		if (!rule->fields[needed[i]].text)
			return rules_fail(r->err, r->path, line, column, "a rule needs a %s; add '%s: ...'",
					  rule_field_names[needed[i]], rule_field_names[needed[i]]);
	for (size_t i = 0; i < r->rules->count; i++)
		if (r->rules->list[i]->file == r->rules->files &&
		    strcmp(r->rules->list[i]->fields[RULE_NAME].text, rule->fields[RULE_NAME].text) == 0)
			return rules_fail(r->err, r->path, rule->fields[RULE_NAME].line, rule->fields[RULE_NAME].column,
					  "a rule named '%s' is already there further up; give this one another name",
					  rule->fields[RULE_NAME].text);
	return 0;
}

static int read_fields(struct reader *r, struct rule *rule)
{
	unsigned line = line_of(&r->event), column = column_of(&r->event);
	uint32_t seen = 0;
	int rc, field;

	for (;;) {
		rc = next_event(r);
		if (rc < 0)
			return rc;
		if (r->event.type == YAML_MAPPING_END_EVENT)
			return check_complete(r, rule, line, column);
		rc = expect_key(r, "when: summary.total_idle_us > 1000");
		field = rc < 0 ? rc : find_key(r, rule_field_names, &seen, "in a rule");
		rc = field < 0 ? field : next_event(r);
		if (rc == 0)
			rc = take_text(r, rule_field_names[field], &rule->fields[field]);
		if (rc == 0 && (field == RULE_NAME || field == RULE_KIND))
			rc = check_word(r, &rule->fields[field], rule_field_names[field]);
		if (rc < 0)
			return rc;
	}
}

/* In the place of an earlier file's rule of that name, else behind all. */
static int keep_rule(struct reader *r, struct rule *rule)
{
	struct rules *all = r->rules;
	size_t at = 0;

	while (at < all->count && strcmp(all->list[at]->fields[RULE_NAME].text, rule->fields[RULE_NAME].text) != 0)
		at++;
	if (at < all->count) {
		rule_free(all->list[at]);
		all->list[at] = rule;
		return 0;
	}
	if (all->count >= RULES_MAX)
		return rules_fail(r->err, r->path, rule->fields[RULE_NAME].line, rule->fields[RULE_NAME].column,
				  "there are more than the %d rules that are allowed; leave some out", RULES_MAX);
	if (ARRAY_GROW(all->list, all->capacity, all->count + 1) < 0)
		return out_of_memory(r);
	all->list[all->count++] = rule;
	return 0;
}

static int read_rule(struct reader *r)
{
	struct rule *rule = calloc(1, sizeof *rule);
	int rc = rule && (rule->path = strdup(r->path)) ? read_fields(r, rule) : out_of_memory(r);

	if (rc == 0 && asprintf(&rule->origin, "%s:%s", r->path, rule->fields[RULE_NAME].text) < 0) {
		rule->origin = NULL;
		rc = out_of_memory(r);
	}
	if (rc == 0) {
		rule->file = r->rules->files;
		rc = keep_rule(r, rule);
	}
	if (rc < 0)
		rule_free(rule);
	return rc;
}

static int read_rules(struct reader *r)
{
	int rc;

	if (r->event.type != YAML_SEQUENCE_START_EVENT)
		return FAIL_HERE(r, "rules expects a list, each element of which begins with '- name: ...'");
	for (;;) {
		rc = next_event(r);
		if (rc < 0 || r->event.type == YAML_SEQUENCE_END_EVENT)
			return rc;
		if (r->event.type != YAML_MAPPING_START_EVENT)
			return FAIL_HERE(r, "expected a rule, which begins with '- name: ...'");
		rc = read_rule(r);
		if (rc < 0)
			return rc;
	}
}

/* ---- Thresholds ----------------------------------------------------------------- */

#define THRESHOLDS 6
static const char *const threshold_names[THRESHOLDS + 1] = {
	"share_least_percent",     "gain_least_percent",        "share_severe_percent",
	"bottleneck_idle_percent", "bottleneck_copies_percent", "bottleneck_gpu_to_cpu",
};

static double *threshold_at(struct analysis_thresholds *t, int i)
{
	double *const places[THRESHOLDS] = { &t->share_least,     &t->gain_least,        &t->share_severe,
					     &t->bottleneck_idle, &t->bottleneck_copies, &t->bottleneck_gpu_to_cpu };

	return places[i];
}

static int take_threshold(struct reader *r, int which)
{
	struct rule_text t = { 0 };
	bool ratio = !strstr(threshold_names[which], "_percent");
	double most = ratio ? 1000 : 100, value;
	char *end;
	int rc = take_text(r, threshold_names[which], &t);

	if (rc < 0)
		return rc;
	value = strtod(t.text, &end);
	if (end == t.text || *end || !isfinite(value) || value < 0 || value > most)
		rc = FAIL_HERE(r, "%s expects a number from 0 to %g, not '%.60s'", threshold_names[which], most, t.text);
	else
		*threshold_at(&r->rules->thresholds, which) = ratio ? value : value / 100;
	free(t.text);
	return rc;
}

static int read_thresholds(struct reader *r)
{
	uint32_t seen = 0;
	int rc, which;

	if (r->event.type != YAML_MAPPING_START_EVENT)
		return FAIL_HERE(r, "thresholds expects lines of 'key: number', such as 'share_least_percent: 5'");
	for (;;) {
		rc = next_event(r);
		if (rc < 0 || r->event.type == YAML_MAPPING_END_EVENT)
			return rc;
		rc = expect_key(r, "share_least_percent: 5");
		which = rc < 0 ? rc : find_key(r, threshold_names, &seen, "in thresholds");
		rc = which < 0 ? which : next_event(r);
		rc = rc < 0 ? rc : take_threshold(r, which);
		if (rc < 0)
			return rc;
	}
}

/* ---- The document --------------------------------------------------------------- */

static int read_document(struct reader *r)
{
	static const char *const keys[] = { "rules", "thresholds", NULL };
	uint32_t seen = 0;
	int rc = next_event(r), which;

	if (rc == 0 && r->event.type != YAML_MAPPING_START_EVENT)
		return FAIL_HERE(r, "expected 'rules:' or 'thresholds:'");
	while (rc == 0) {
		rc = next_event(r);
		if (rc < 0 || r->event.type == YAML_MAPPING_END_EVENT)
			break;
		rc = expect_key(r, "rules:");
		which = rc < 0 ? rc : find_key(r, keys, &seen, "in a file of rules");
		rc = which < 0 ? which : next_event(r);
		if (rc == 0)
			rc = which == 0 ? read_rules(r) : read_thresholds(r);
	}
	rc = rc < 0 ? rc : next_event(r); /* the end of the document */
	rc = rc < 0 ? rc : next_event(r);
	if (rc == 0 && r->event.type != YAML_STREAM_END_EVENT)
		rc = FAIL_HERE(r, "expected one document, and here a second one starts");
	return rc;
}

int rules_add(struct rules *rules, const char *path, const void *data, size_t size, struct error *err)
{
	struct reader r = { .path = path, .rules = rules, .err = err };
	int rc;

	if (size > RULES_FILE_MAX)
		return rules_fail(err, path, 1, 1, "larger than the %u KiB a file of rules may have", RULES_FILE_MAX >> 10);
	if (!yaml_parser_initialize(&r.parser))
		return out_of_memory(&r);
	yaml_parser_set_input_string(&r.parser, data, size);
	rules->files++;
	rc = next_event(&r); /* the start of the stream */
	rc = rc < 0 ? rc : next_event(&r);
	if (rc == 0 && r.event.type == YAML_DOCUMENT_START_EVENT)
		rc = read_document(&r);
	if (r.has_event)
		yaml_event_delete(&r.event);
	yaml_parser_delete(&r.parser);
	return rc;
}
