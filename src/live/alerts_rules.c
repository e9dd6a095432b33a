/*
 * alerts_rules.c - the user's rules: "NAME: EXPRESSION" in SQL over the names of the snapshot (names.h).
 *
 * An expression E is the query
 *
 *      SELECT (E) FROM program CROSS JOIN cpu CROSS JOIN memory ...
 *
 * over all tables of one row, so that their columns are just there; lists are
 * tables to SELECT from.  Once a second the tables that some rule speaks of are
 * filled anew.  A rule that fails is told once and not asked again.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "live/alerts_state.h"
#include "live/names.h"
#include "sql/sandbox.h"

#define EVERY_S 1.0
#define LIMIT_NS 50000000 /* for one rule, once */
#define TABLES_MAX 32u

struct alert_rule {
	char *name, *expression;
	struct sql_query *query;
	bool failed, told;
	char trouble[200];
};

struct alert_rules {
	struct sql *sql;
	struct alert_rule list[LIVE_RULES];
	size_t count;
	struct sql_query *inserts[TABLES_MAX]; /* by group; NULL: nobody speaks of it */
	char columns[TABLES_MAX][1024];
	double last_s;
	double values[LIVE_RULES]; /* of the last time */
	int64_t deadline_ns;
};

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static bool takes_too_long(void *arg)
{
	const struct alert_rules *r = arg;

	return r->deadline_ns && now_ns() > r->deadline_ns;
}

void alert_rules_free(struct alert_rules *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++) {
		sql_query_free(r->list[i].query);
		free(r->list[i].name);
		free(r->list[i].expression);
	}
	for (size_t i = 0; i < TABLES_MAX; i++)
		sql_query_free(r->inserts[i]);
	sql_close(r->sql);
	free(r);
}

/* ---- Reading ------------------------------------------------------------------------ */

static int fail(struct error *err, const char *format, const char *what, const char *why)
{
	if (err)
		err->exit_code = 2;
	return error_set(err, -EINVAL, format, what, why);
}

static int split(struct alert_rule *rule, const char *text, struct error *err)
{
	const char *colon = strchr(text, ':');
	size_t from = strspn(text, " \t"), size = colon ? (size_t)(colon - text) : 0;

	while (size > from && strchr(" \t", text[size - 1]))
		size--;
	if (strlen(text) > LIVE_RULE_TEXT)
		return fail(err, "the rule '%.40s...' is too long%s", text, "");
	if (!colon || size <= from || size - from >= LIVE_NAME || strspn(colon + 1, " \t\n") == strlen(colon + 1))
		return fail(err, "the rule '%.80s' is not of the form 'NAME: EXPRESSION', as in '%s'", text, "slow steps: steps.median_s > 0.5");
	rule->name = strndup(text + from, size - from);
	rule->expression = strdup(colon + 1);
	return rule->name && rule->expression ? 0 : error_set(err, -ENOMEM, "out of memory");
}

static bool is_spoken_of(const struct alert_rules *r, const char *table)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcasestr(r->list[i].expression, table))
			return true;
	return false;
}

static int make_tables(struct alert_rules *r, struct error *err)
{
	int rc = 0;

	for (size_t g = 0; live_groups[g].name && g < TABLES_MAX && rc == 0; g++) {
		size_t used = 0;

		for (const struct live_name *n = live_groups[g].names; n->name; n++)
			used += (size_t)snprintf(r->columns[g] + used, sizeof r->columns[g] - used, "%s%s", used ? " " : "", n->name);
		rc = sql_create(r->sql, live_groups[g].name, r->columns[g], err);
		if (rc == 0 && (!live_groups[g].list || is_spoken_of(r, live_groups[g].name)))
			rc = sql_insert(r->sql, &r->inserts[g], live_groups[g].name, r->columns[g], err);
	}
	return rc;
}

#define EXAMPLE "slow steps: steps.median_s > 0.5"
#define BEFORE "SELECT (\n"

/* Columns of a table that the message speaks of ("no such column: steps.median"); NULL: of none. */
static const char *columns_meant(const struct alert_rules *r, const char *message)
{
	static const char unknown[] = "no such column: ";
	const char *name = strncmp(message, unknown, strlen(unknown)) == 0 ? message + strlen(unknown) : "", *dot = strchr(name, '.');

	for (size_t g = 0; dot && live_groups[g].name && g < TABLES_MAX; g++)
		if (strlen(live_groups[g].name) == (size_t)(dot - name) && strncmp(live_groups[g].name, name, (size_t)(dot - name)) == 0)
			return r->columns[g];
	return NULL;
}

/* Of an expression that ends too early the message is about our text behind it, which nobody knows. */
static int misunderstood(const struct alert_rules *r, const struct alert_rule *rule, struct error *err)
{
	const char *text = rule->expression + strspn(rule->expression, " \t\n"), *message = sql_message(r->sql);
	int at = sql_message_offset(r->sql) - (int)strlen(BEFORE) - (int)(text - rule->expression);
	const char *columns = columns_meant(r, message);
	int said = (int)strcspn(message, "\n") < 120 ? (int)strcspn(message, "\n") : 120; /* a text without its end has ours in it */

	if (err)
		err->exit_code = 2;
	if (at >= (int)strlen(text))
		return error_set(err, -EINVAL, "the alert '%.60s' cannot be understood: at the end of '%.120s' something is missing, or a "
				 "bracket is too many; write it as in '%s'", rule->name, text, EXAMPLE);
	if (columns)
		return error_set(err, -EINVAL, "the alert '%.60s' cannot be understood: %.80s; its columns are %.240s", rule->name, message, columns);
	if (at < 0)
		return error_set(err, -EINVAL, "the alert '%.60s' cannot be understood: %.*s in '%.120s'; write it as in '%s'", rule->name,
				 said, message, text, EXAMPLE);
	return error_set(err, -EINVAL, "the alert '%.60s' cannot be understood at '%.40s', character %d of '%.120s': %.*s; write it as in '%s'",
			 rule->name, text + at, at + 1, text, said, message, EXAMPLE);
}

static int compile(struct alert_rules *r, struct alert_rule *rule, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	bool first = true;
	int rc = buffer_printf(&text, BEFORE "%s\n) FROM ", rule->expression);

	for (const struct live_group *g = live_groups; g->name && rc == 0; g++) {
		if (g->list)
			continue;
		rc = buffer_printf(&text, "%s\"%s\"", first ? "" : " CROSS JOIN ", g->name);
		first = false;
	}
	rc = rc ? rc : buffer_append(&text, "", 1);
	if (rc != 0) {
		buffer_release(&text);
		return error_set(err, rc, "out of memory");
	}
	rc = sql_query(r->sql, &rule->query, NULL, (const char *)text.data, NULL);
	buffer_release(&text);
	if (rc < 0)
		return misunderstood(r, rule, err);
	if (sql_query_columns(rule->query) != 1)
		return fail(err, "the alert '%.60s' gives more than one value; write it as in '%s'", rule->name, EXAMPLE);
	return 0;
}

int alert_rules_new(struct alert_rules **ret, const char *const *texts, size_t count, struct error *err)
{
	struct alert_rules *r = calloc(1, sizeof *r);
	struct sql_options options = { .stop = takes_too_long, .stop_arg = r, .steps = UINT64_MAX };
	int rc = 0;

	if (!r)
		return error_set(err, -ENOMEM, "out of memory");
	r->last_s = -INFINITY;
	if (count > LIVE_RULES)
		rc = fail(err, "there are more rules than are possible (%s)%s", "64", "");
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = split(&r->list[r->count++], texts[i], err);
	if (rc == 0)
		rc = sql_open_memory(&r->sql, "rules", &options, err);
	if (rc == 0)
		rc = make_tables(r, err);
	for (size_t i = 0; i < r->count && rc == 0; i++)
		rc = compile(r, &r->list[i], err);
	if (rc != 0) {
		alert_rules_free(r);
		return rc;
	}
	*ret = r;
	return 0;
}

/* ---- Asking ------------------------------------------------------------------------- */

static void bind(struct sql_query *q, int at, const struct live_value *v)
{
	if (v->kind == LIVE_VALUE_NUMBER)
		sql_query_bind_number(q, at, v->number);
	else if (v->kind == LIVE_VALUE_INTEGER || v->kind == LIVE_VALUE_BOOL)
		sql_query_bind(q, at, v->integer);
	else if (v->kind == LIVE_VALUE_TEXT)
		sql_query_bind_text(q, at, v->text, v->size);
}

static int fill_table(struct alert_rules *r, size_t group, const struct live_snapshot *s)
{
	const struct live_group *g = &live_groups[group];
	int rc = sql_empty(r->sql, g->name, NULL);

	for (size_t row = 0; row < live_group_rows(g, s) && rc == 0; row++) {
		int at = 1;

		for (const struct live_name *n = g->names; n->name; n++, at++) {
			struct live_value value = live_value(g, s, row, n);

			bind(r->inserts[group], at, &value);
		}
		rc = sql_insert_row(r->inserts[group], NULL);
	}
	return rc;
}

/* NAN: NULL, or the rule has failed. */
static double ask(struct alert_rules *r, struct alert_rule *rule)
{
	double number = NAN;
	int rc;

	r->deadline_ns = now_ns() + LIMIT_NS;
	rc = sql_query_step(rule->query, NULL);
	if (rc < 0)
		snprintf(rule->trouble, sizeof rule->trouble, "%s", rc == -ECANCELED ? "takes too long" : sql_message(r->sql));
	else if (rc > 0 && !sql_query_null(rule->query, 0) && !sql_query_number(rule->query, 0, &number))
		snprintf(rule->trouble, sizeof rule->trouble, "gives a text and not a number");
	rule->failed = rule->trouble[0] != '\0';
	sql_query_reset(rule->query);
	r->deadline_ns = 0;
	return number;
}

static void tell_failure(struct live_alerts *a, struct alert_rule *rule)
{
	struct alert_sight sight = { .subject = rule->name, .holds = !rule->told, .gone = rule->told, .value = NAN, .threshold = NAN,
				     .severity = LIVE_INFO };

	snprintf(sight.text, sizeof sight.text, "The rule '%.60s' has failed and is not asked any more: %.120s", rule->name, rule->trouble);
	rule->told = true;
	alert_see(a, alert_kind("rule_failed"), &sight);
}

static void see(struct live_alerts *a, const struct alert_rule *rule, double value)
{
	struct alert_sight sight = { .subject = rule->name, .value = value, .threshold = NAN, .severity = LIVE_WARNING };

	sight.holds = !isnan(value) && value != 0;
	sight.gone = !sight.holds;
	snprintf(sight.text, sizeof sight.text, "%.200s", rule->expression + strspn(rule->expression, " \t\n"));
	alert_see(a, alert_kind("rule"), &sight);
}

void alert_rules_judge(struct alert_rules *r, struct live_alerts *a, const struct live_snapshot *s)
{
	bool due = s->run_s - r->last_s >= EVERY_S;
	int rc = 0;

	if (due)
		r->last_s = s->run_s;
	for (size_t g = 0; due && live_groups[g].name && g < TABLES_MAX && rc == 0; g++)
		if (r->inserts[g])
			rc = fill_table(r, g, s);
	for (size_t i = 0; i < r->count; i++) {
		struct alert_rule *rule = &r->list[i];

		if (due && !rule->failed)
			r->values[i] = rc == 0 ? ask(r, rule) : NAN;
		if (rule->failed)
			tell_failure(a, rule);
		else
			see(a, rule, r->values[i]);
	}
}
