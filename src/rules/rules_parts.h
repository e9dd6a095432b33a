/*
 * rules_parts.h - what the files of rules share.
 */
#ifndef RULES_RULES_PARTS_H
#define RULES_RULES_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "rules/rules.h"
#include "sql/sandbox.h"

#define RULE_TEXT_MAX 8192u  /* bytes of an expression or a template */
#define RULE_NAME_MAX 60u    /* of a name or a kind */
#define RULE_PIECES_MAX 32u  /* of a template */

/* In the order in which they are computed; those before are names in those behind. */
enum rule_field {
	RULE_SHARE,
	RULE_WHEN,
	RULE_SEVERITY,
	RULE_GAIN,
	RULE_GAIN_LOW,
	RULE_GAIN_HIGH,
	RULE_CONFIDENCE,
	RULE_EXPRESSIONS,
	RULE_MESSAGE = RULE_EXPRESSIONS, /* from here on templates */
	RULE_SUGGESTION,
	RULE_NAME, /* from here on just words */
	RULE_KIND,
	RULE_FIELDS
};
extern const char *const rule_field_names[RULE_FIELDS + 1]; /* ends in NULL */

/* A scalar of the file. */
struct rule_text {
	char *text; /* NULL: not there */
	size_t size;
	unsigned line, column; /* from 1 */
	bool exact;            /* it stands in the file as it is, on one line: places in it are known */
};

/* A part of a template: words, or an expression in braces. */
struct rule_piece {
	char *words;             /* NULL: an expression */
	struct sql_query *query;
	size_t offset;           /* of the expression, in the template */
};
struct rule_template {
	struct rule_piece pieces[RULE_PIECES_MAX];
	unsigned count;
};

struct rule {
	char *path;   /* of the file */
	char *origin; /* "FILE:NAME" */
	unsigned file; /* the how-manieth */
	struct rule_text fields[RULE_FIELDS];
	struct sql_query *queries[RULE_EXPRESSIONS];
	struct rule_template templates[RULE_NAME - RULE_MESSAGE];
};

struct rules {
	struct rule **list;
	size_t count, capacity;
	unsigned files; /* that were read */
	struct analysis_thresholds thresholds;
	struct sql *sql; /* made by rules_check() */
	int64_t deadline; /* while rules_run() goes on */
};

/* rules.c */
void rule_free(struct rule *rule);

/* rules_error.c: a sentence about a place, "FILE:LINE:COLUMN: ..." with exit code 2. */
int rules_fail(struct error *err, const char *path, unsigned line, unsigned column, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* About a field of a rule; `offset` is in its text, -1: of all of it. */
int rule_fail(struct error *err, const struct rule *rule, enum rule_field field, long offset, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* rules_schema.c */
#define RULES_COLUMN_MAX 64 /* bytes of a name with its NUL */
struct rules_table {
	const char *name;
	const char *path;    /* in the JSON: "devices", "devices/kernels"; "" for what is beside the tables */
	bool one_row;
	const char *columns; /* with spaces between them */
};
#define RULES_TABLES_MAX 48 /* with the end */
extern const struct rules_table rules_tables[]; /* ends with a name of NULL */
unsigned rules_column_count(const struct rules_table *table);
/* Its number from 0; -1: there is none. */
int rules_column(const struct rules_table *table, const char *name, size_t size);
/* A table of many rows that has the column, or NULL. */
const struct rules_table *rules_table_with(const char *column);
/* The name of a table or column that `word` may have been meant to be, or NULL. */
const char *rules_near_table(const char *word);
const char *rules_near_column(const char *word, char *out); /* in out, of RULES_COLUMN_MAX bytes */

/* rules_fill.c: the tables that some rule speaks of, from the JSON. */
int rules_fill(const struct rules *r, const char *json, size_t size, struct error *err);

/* rules_compile.c: the queries of a rule, or the first thing that is wrong. */
int rule_compile(struct sql *sql, struct rule *rule, struct error *err);
/* The sentence for what SQLite says of the expression at that place of a field. */
int rule_sql_fail(struct error *err, struct sql *sql, const struct rule *rule, enum rule_field field, size_t offset, size_t size,
		  int rc);

/* rules_run.c */
int rule_run(struct rules *r, const struct rule *rule, struct analysis_findings *findings, struct error *err);

#endif
