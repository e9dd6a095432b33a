/*
 * rules.h - what users want to be told about a trace, besides what we find.
 *
 *      struct rules *r;
 *      rules_new(&r);
 *      rules_add(r, "rules.yaml", text, size, &err);      any number of files
 *      rules_check(r, &err);
 *      ... analysis_run() with rules_thresholds(r), report_json() ...
 *      rules_run(r, json, json_size, &findings, &err);
 *      rules_free(r);                                     after the findings
 *
 * A rule is a YAML mapping whose expressions are SQL over the analysis JSON:
 * every object of it is a table of one row, every list a table.  The tables
 * and columns are always the same, whatever is in the trace, so that a rule
 * that is right for one trace is right for all of them.  docs/rules.md says how
 * to write one.
 *
 * What is wrong with a file or a rule is said in one sentence that begins with
 * the file, the line and the column, with err->exit_code 2.
 */
#ifndef RULES_RULES_H
#define RULES_RULES_H

#include <stddef.h>

#include "analyze/findings.h"
#include "base/error.h"

#define RULES_FILE_MAX (256u << 10) /* bytes a file may have */
#define RULES_MAX 500               /* of all files */

struct rules;

int rules_new(struct rules **ret); /* 0 or -ENOMEM */
void rules_free(struct rules *r);

/* Reads YAML from memory as if it stood in `path`.  A rule of a name that an earlier file has takes that one's place, and a
 * threshold beats an earlier one. */
int rules_add(struct rules *r, const char *path, const void *data, size_t size, struct error *err);

size_t rules_count(const struct rules *r);
const struct analysis_thresholds *rules_thresholds(const struct rules *r);

/* Compiles all expressions, once: whatever can be wrong without a trace is found here. */
int rules_check(struct rules *r, struct error *err);

/* Adds what the rules find in an analysis, as its JSON.  Behind the size there are RULES_PADDING readable bytes of 0. */
#define RULES_PADDING 64
int rules_run(struct rules *r, const char *json, size_t size, struct analysis_findings *findings, struct error *err);

/* Names of the tables and, with spaces between them, of their columns; NULL behind the last.  For documents and tests. */
const char *rules_table(size_t i, const char **ret_columns);

#endif
