/* rules.c - see rules.h. */
#include "rules/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "rules/rules_parts.h"

#define RUN_SECONDS 10 /* that all rules together may take */

const char *const rule_field_names[RULE_FIELDS + 1] = {
	[RULE_SHARE] = "share",           [RULE_WHEN] = "when",           [RULE_SEVERITY] = "severity",
	[RULE_GAIN] = "gain",             [RULE_GAIN_LOW] = "gain_low",   [RULE_GAIN_HIGH] = "gain_high",
	[RULE_CONFIDENCE] = "confidence", [RULE_MESSAGE] = "message",     [RULE_SUGGESTION] = "suggestion",
	[RULE_NAME] = "name",             [RULE_KIND] = "kind",
};

int rules_new(struct rules **ret)
{
	struct rules *r = calloc(1, sizeof *r);

	if (!r)
		return -ENOMEM;
	r->thresholds = analysis_thresholds_initial;
	*ret = r;
	return 0;
}

static void release_queries(struct rule *rule)
{
	for (unsigned i = 0; i < RULE_EXPRESSIONS; i++) {
		sql_query_free(rule->queries[i]);
		rule->queries[i] = NULL;
	}
	for (unsigned t = 0; t < RULE_NAME - RULE_MESSAGE; t++) {
		for (unsigned i = 0; i < rule->templates[t].count; i++) {
			free(rule->templates[t].pieces[i].words);
			sql_query_free(rule->templates[t].pieces[i].query);
		}
		rule->templates[t].count = 0;
	}
}

void rule_free(struct rule *rule)
{
	if (!rule)
		return;
	release_queries(rule);
	for (unsigned i = 0; i < RULE_FIELDS; i++)
		free(rule->fields[i].text);
	free(rule->path);
	free(rule->origin);
	free(rule);
}

void rules_free(struct rules *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++)
		rule_free(r->list[i]);
	free(r->list);
	sql_close(r->sql);
	free(r);
}

size_t rules_count(const struct rules *r)
{
	return r->count;
}

const struct analysis_thresholds *rules_thresholds(const struct rules *r)
{
	return &r->thresholds;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool out_of_time(void *arg)
{
	const struct rules *r = arg;

	return r->deadline && now_ns() > r->deadline;
}

static int open_database(struct rules *r, struct error *err)
{
	const struct sql_options options = { .stop = out_of_time, .stop_arg = r };
	struct sql *sql = NULL;
	int rc = sql_open_memory(&sql, "rules", &options, err);

	for (const struct rules_table *t = rules_tables; rc == 0 && t->name; t++)
		rc = sql_create(sql, t->name, t->columns, err);
	if (rc < 0)
		sql_close(sql);
	else
		r->sql = sql;
	return rc;
}

int rules_check(struct rules *r, struct error *err)
{
	int rc = r->sql ? 0 : open_database(r, err);

	for (size_t i = 0; i < r->count && rc == 0; i++) {
		release_queries(r->list[i]);
		rc = rule_compile(r->sql, r->list[i], err);
	}
	return rc;
}

int rules_run(struct rules *r, const char *json, size_t size, struct analysis_findings *findings, struct error *err)
{
	int rc;

	if (r->count == 0)
		return 0;
	rc = rules_fill(r, json, size, err);
	r->deadline = now_ns() + RUN_SECONDS * INT64_C(1000000000);
	for (size_t i = 0; i < r->count && rc == 0; i++)
		rc = rule_run(r, r->list[i], findings, err);
	r->deadline = 0;
	if (rc == 0)
		findings_rank(findings);
	return rc;
}
