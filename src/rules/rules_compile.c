/*
 * rules_compile.c - expressions and templates become queries.
 *
 * An expression E is the query
 *
 *      SELECT (E) FROM trace CROSS JOIN summary ... CROSS JOIN (SELECT ?1 AS share, ...) AS rule
 *
 * over all tables of one row, so that their columns are just there, and what
 * was computed of the rule before.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "rules/rules_parts.h"

#define BEFORE "SELECT (\n"

static int write_names(struct buffer *text, enum rule_field field)
{
	int rc = 0;

	for (const struct rules_table *t = rules_tables; t->name && rc == 0; t++)
		if (t->one_row)
			rc = buffer_printf(text, "%s\"%s\"", t == rules_tables ? "\n) FROM " : " CROSS JOIN ", t->name);
	/* in the JSON the figures about steps stand beside the list of them; people look for them under its name */
	rc = rc ? rc : buffer_printf(text, " CROSS JOIN \"step_summary\" AS \"steps\"");
	for (unsigned i = 0; i < field && i < RULE_EXPRESSIONS && rc == 0; i++)
		if (i != RULE_WHEN)
			rc = buffer_printf(text, "%s?%u AS %s", i == 0 ? " CROSS JOIN (SELECT " : ", ", i + 1, rule_field_names[i]);
	if (rc == 0 && field > 0)
		rc = buffer_printf(text, ") AS \"rule\"");
	return rc ? rc : buffer_append(text, "", 1);
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool is_field(const char *word)
{
	for (unsigned i = 0; i < RULE_EXPRESSIONS; i++)
		if (strcmp(rule_field_names[i], word) == 0)
			return true;
	return false;
}

/* "no such column: functions.nam" has a name that we may know better.  False: we do not. */
static bool hint_name(const char *message, char *out, size_t size)
{
	const char *name = strrchr(message, ' '), *dot = name ? strrchr(name, '.') : NULL;
	const char *word = dot ? dot + 1 : name ? name + 1 : "", *near = NULL;
	const struct rules_table *table = dot ? NULL : rules_table_with(word);
	char buffer[RULES_COLUMN_MAX];

	if (begins(message, "no such column") && !dot && is_field(word))
		return snprintf(out, size, "%s", "fields are computed in the order share, when, severity, gain, gain_low, gain_high, "
						 "confidence") > 0;
	if (begins(message, "no such column") && table)
		return snprintf(out, size, "it is in a table of many rows: write (SELECT max(%s) FROM %s), say", word, table->name) > 0;
	if (begins(message, "no such table"))
		near = rules_near_table(word);
	else if (begins(message, "no such column"))
		near = rules_near_column(word, buffer);
	return near && snprintf(out, size, "did you mean '%s'?", near) > 0;
}

/* What to do about it. */
static const char *hint(const char *message, char *out, size_t size)
{
	static const struct {
		const char *message, *hint;
	} hints[] = {
		{ "not authorized", "a rule may only read the tables, with the functions that docs/rules.md lists" },
		{ "no such function", "docs/rules.md lists those there are" },
		{ "no such", "docs/rules.md lists the names there are" },
		{ "ambiguous", "write the table before it, as in step_summary.p50_us" },
		{ "is more", "join them with AND or OR" },
		{ "", "docs/rules.md shows how expressions are written" },
	};
	size_t i = 0;

	if (hint_name(message, out, size))
		return out;
	while (!begins(message, hints[i].message))
		i++;
	snprintf(out, size, "%s", hints[i].hint);
	return out;
}

int rule_sql_fail(struct error *err, struct sql *sql, const struct rule *rule, enum rule_field field, size_t offset, size_t size,
		  int rc)
{
	const char *message = sql_message(sql);
	long at = sql_message_offset(sql) - (long)strlen(BEFORE);
	char what[200];

	if (rc == -ENOMEM || rc == -EIO) {
		if (err)
			err->exit_code = 4;
		return error_errno(err, rc, "cannot compute the rule '%s'", rule->fields[RULE_NAME].text);
	}
	if (rc == -ECANCELED)
		message = "takes too long";
	if (strcmp(message, "takes too long") == 0)
		return rule_fail(err, rule, field, (long)offset, "%s; join fewer rows", message);
	if (at > (long)size)
		return rule_fail(err, rule, field, (long)(offset + size), "the expression ends too early; is something not closed?");
	return rule_fail(err, rule, field, (long)offset + (at > 0 ? at : 0), "%.160s; %s", message, hint(message, what, sizeof what));
}

/* The first of these characters that is not in quotes of some kind; negative: there is none. */
static long find_outside_quotes(const char *text, size_t size, const char *characters)
{
	char quote = 0;

	for (size_t at = 0; at < size; at++) {
		if (quote)
			quote = text[at] == quote ? 0 : quote; /* a doubled one opens again at once */
		else if (text[at] == '\'' || text[at] == '"' || text[at] == '`')
			quote = text[at];
		else if (text[at] == '[')
			quote = ']';
		else if (strchr(characters, text[at]))
			return (long)at;
	}
	return -1;
}

static int compile(struct sql *sql, struct sql_query **ret, const struct rule *rule, enum rule_field field, size_t offset,
		   size_t size, struct error *err)
{
	const char *expression = rule->fields[field].text + offset;
	struct buffer text = BUFFER_INIT;
	struct sql_query *q = NULL;
	long parameter = find_outside_quotes(expression, size, "?:@$");
	int rc;

	if (parameter >= 0)
		return rule_fail(err, rule, field, (long)offset + parameter,
				 "'%c' begins a parameter, which nothing stands for; leave it out", expression[parameter]);
	rc = buffer_printf(&text, BEFORE "%.*s", (int)size, expression);
	rc = rc ? rc : write_names(&text, field);
	if (rc < 0) {
		rc = rule_sql_fail(err, sql, rule, field, offset, size, rc);
	} else {
		rc = sql_query(sql, &q, NULL, (const char *)text.data, NULL);
		if (rc < 0)
			rc = rule_sql_fail(err, sql, rule, field, offset, size, rc);
		else if (sql_query_columns(q) != 1)
			rc = rule_fail(err, rule, field, (long)offset, "gives more than one value; leave one of them");
	}
	buffer_release(&text);
	if (rc < 0)
		sql_query_free(q);
	else
		*ret = q;
	return rc;
}

/* ---- Templates ------------------------------------------------------------------ */

/* Words up to the next expression, with doubled braces as one; *at moves behind them. */
static int take_words(const char *text, size_t *at, struct buffer *words)
{
	int rc = 0;

	for (; text[*at] && rc == 0; (*at)++) {
		if (text[*at] == '{' && text[*at + 1] != '{')
			break;
		if (text[*at] == '{' || (text[*at] == '}' && text[*at + 1] == '}'))
			(*at)++;
		rc = buffer_append(words, &text[*at], 1);
	}
	return rc ? rc : buffer_append(words, "", 1);
}

static int add_expression(struct sql *sql, struct rule *rule, enum rule_field field, size_t *at, struct error *err)
{
	struct rule_template *t = &rule->templates[field - RULE_MESSAGE];
	size_t begin = *at + 1;
	long size = find_outside_quotes(rule->fields[field].text + begin, rule->fields[field].size - begin, "}");
	int rc;

	if (size < 0)
		return rule_fail(err, rule, field, (long)*at, "a '{' that no '}' closes; write '{{' for a brace");
	if (strspn(rule->fields[field].text + begin, " \t\n") >= (size_t)size)
		return rule_fail(err, rule, field, (long)*at, "nothing between '{' and '}'; write '{{' for a brace");
	rc = compile(sql, &t->pieces[t->count].query, rule, field, begin, (size_t)size, err);
	if (rc < 0)
		return rc;
	t->pieces[t->count++].offset = begin;
	*at = begin + (size_t)size + 1;
	return 0;
}

static int add_words(struct sql *sql, struct rule *rule, enum rule_field field, size_t *at, struct error *err)
{
	struct rule_template *t = &rule->templates[field - RULE_MESSAGE];
	struct buffer words = BUFFER_INIT;

	if (take_words(rule->fields[field].text, at, &words) < 0) {
		buffer_release(&words);
		return rule_sql_fail(err, sql, rule, field, *at, 0, -ENOMEM);
	}
	t->pieces[t->count++].words = (char *)words.data;
	return 0;
}

static int compile_template(struct sql *sql, struct rule *rule, enum rule_field field, struct error *err)
{
	struct rule_template *t = &rule->templates[field - RULE_MESSAGE];
	const char *text = rule->fields[field].text;
	size_t at = 0;
	int rc = 0;

	memset(t, 0, sizeof *t);
	while (rc == 0 && text[at]) {
		if (t->count == RULE_PIECES_MAX)
			return rule_fail(err, rule, field, (long)at, "has more than the %u parts that are allowed", RULE_PIECES_MAX);
		if (text[at] == '{' && text[at + 1] != '{')
			rc = add_expression(sql, rule, field, &at, err);
		else
			rc = add_words(sql, rule, field, &at, err);
	}
	return rc;
}

int rule_compile(struct sql *sql, struct rule *rule, struct error *err)
{
	int rc = 0;

	for (unsigned i = 0; i < RULE_EXPRESSIONS && rc == 0; i++)
		if (rule->fields[i].text)
			rc = compile(sql, &rule->queries[i], rule, i, 0, rule->fields[i].size, err);
	for (unsigned i = RULE_MESSAGE; i < RULE_NAME && rc == 0; i++)
		if (rule->fields[i].text)
			rc = compile_template(sql, rule, i, err);
	return rc;
}
