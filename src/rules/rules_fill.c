/*
 * rules_fill.c - the analysis JSON becomes tables.
 *
 * One pass over the text.  A member of an object is a column, one of an inner
 * object the column "outer_inner"; a list inside a row is a table of its own.
 * What the schema does not have is passed over, and so are lists that no rule
 * speaks of.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "import/json.h"
#include "rules/rules_parts.h"

#define DEPTH_MAX 4   /* of objects inside a row */
#define PATH_BYTES 64
#define TEXT_KEPT 4096u /* of a name, so that a row of them is no longer than a row may be */

/* What a list inside a row inherits of it: texts of the JSON. */
static const char *const inherited[] = { "device_id", "rank" };
#define INHERITED (sizeof inherited / sizeof *inherited)

struct row {
	const struct rules_table *table;
	struct sql_query *insert;
	struct json_value kept[INHERITED];
};

struct filler {
	const struct rules *rules;
	struct sql *sql;
	struct json j;
	struct buffer text; /* unescaped */
	struct error *err;
	/* of each table, asked for once: a device has many lists, and there may be many devices */
	struct {
		enum { NOT_ASKED, NEEDED, NOT_NEEDED } need;
		struct sql_query *insert;
	} tables[RULES_TABLES_MAX];
};

static const struct rules_table *table_at(const char *path, size_t size)
{
	for (const struct rules_table *t = rules_tables; t->name; t++)
		if (strlen(t->path) == size && memcmp(t->path, path, size) == 0)
			return t;
	return NULL;
}

/* A query that reads a table has its name in it somewhere. */
static bool is_spoken_of(const struct rules *r, const char *name)
{
	for (size_t i = 0; i < r->count; i++)
		for (unsigned field = 0; field < RULE_NAME; field++)
			if (r->list[i]->fields[field].text && strcasestr(r->list[i]->fields[field].text, name))
				return true;
	return false;
}

/* Of the table, or of one inside it. */
static bool is_needed(const struct rules *r, const struct rules_table *table)
{
	size_t size = strlen(table->path);

	for (const struct rules_table *t = rules_tables; t->name; t++)
		if (strncmp(t->path, table->path, size) == 0 && (!t->path[size] || t->path[size] == '/') && is_spoken_of(r, t->name))
			return true;
	return false;
}

static bool needs(struct filler *f, const struct rules_table *table)
{
	size_t at = (size_t)(table - rules_tables);

	if (f->tables[at].need == NOT_ASKED)
		f->tables[at].need = is_needed(f->rules, table) ? NEEDED : NOT_NEEDED;
	return f->tables[at].need == NEEDED;
}

/* Its statement, kept by the filler; no table is inside of itself. */
static int insert_into(struct filler *f, const struct rules_table *table, struct sql_query **ret)
{
	struct sql_query **insert = &f->tables[table - rules_tables].insert;
	int rc = *insert ? 0 : sql_insert(f->sql, insert, table->name, table->columns, f->err);

	*ret = *insert;
	return rc;
}

static void bind_cut(struct sql_query *q, int at, const char *text, size_t size)
{
	sql_query_bind_text(q, at, text, size < TEXT_KEPT ? size : TEXT_KEPT);
}

static int bind_text(struct filler *f, struct sql_query *q, int at, const struct json_text *text)
{
	if (!text->escaped) {
		bind_cut(q, at, text->data, text->size);
		return 0;
	}
	buffer_clear(&f->text);
	if (json_unescape(text, &f->text) < 0)
		return -ENOMEM;
	bind_cut(q, at, (const char *)f->text.data, f->text.size);
	return 0;
}

static int bind_value(struct filler *f, struct sql_query *q, int at, const struct json_value *v)
{
	int64_t integer;
	double number;

	switch (v->type) {
	case JSON_STRING:
		return bind_text(f, q, at, &v->text);
	case JSON_TRUE:
	case JSON_FALSE:
		sql_query_bind(q, at, v->type == JSON_TRUE);
		return 0;
	case JSON_NUMBER:
		if (!memchr(v->text.data, '.', v->text.size) && !memchr(v->text.data, 'e', v->text.size) &&
		    json_decimal(v->text.data, v->text.size, 0, &integer))
			sql_query_bind(q, at, integer);
		else if (json_double(v->text.data, v->text.size, &number))
			sql_query_bind_number(q, at, number);
		return 0;
	default:
		return 0; /* NULL */
	}
}

static int set_cell(struct filler *f, struct row *row, const char *name, size_t size, const struct json_value *v)
{
	int column = rules_column(row->table, name, size);

	for (size_t i = 0; i < INHERITED; i++)
		if (strlen(inherited[i]) == size && memcmp(inherited[i], name, size) == 0)
			row->kept[i] = *v;
	return column < 0 ? 0 : bind_value(f, row->insert, column + 1, v);
}

static int read_list(struct filler *f, const struct rules_table *table, const struct row *outer);

/* A list inside a row; `name` is its key. */
static int read_inner_list(struct filler *f, const struct row *row, const char *name, size_t size)
{
	char path[PATH_BYTES];
	int length = snprintf(path, sizeof path, "%s/%.*s", row->table->path, (int)(size < 40 ? size : 40), name);
	const struct rules_table *table = length < PATH_BYTES ? table_at(path, (size_t)length) : NULL;

	if (table && needs(f, table))
		return read_list(f, table, row);
	json_skip(&f->j, JSON_IN_OBJECT);
	return 0;
}

/* The members of an object, from its brace on; the prefix is that of outer objects. */
static int read_members(struct filler *f, struct row *row, const char *prefix, unsigned depth)
{
	struct json_text key;
	struct json_value value;
	bool first = true;
	int rc = 0;

	for (json_enter(&f->j, '{'); rc == 0 && json_member(&f->j, &first, &key);) {
		char name[2 * RULES_COLUMN_MAX];
		int size = snprintf(name, sizeof name, "%s%.*s", prefix, (int)(key.size < RULES_COLUMN_MAX ? key.size : RULES_COLUMN_MAX),
				    key.data);

		if (size >= (int)sizeof name - 2)
			size = 0; /* no column has such a name */
		json_space(&f->j);
		if (*f->j.at == '[' && depth == 0) {
			rc = read_inner_list(f, row, key.data, key.size);
		} else if (*f->j.at == '{' && depth < DEPTH_MAX && size > 0) {
			name[size] = '_';
			name[size + 1] = 0;
			rc = read_members(f, row, name, depth + 1);
		} else {
			json_value(&f->j, JSON_IN_OBJECT, &value);
			if (f->j.status == JSON_OK)
				rc = set_cell(f, row, name, (size_t)size, &value);
		}
	}
	return rc;
}

static int read_row(struct filler *f, const struct rules_table *table, struct sql_query *insert, const struct row *outer)
{
	struct row row = { .table = table, .insert = insert };
	int rc = 0;

	for (size_t i = 0; outer && i < INHERITED && rc == 0; i++)
		rc = set_cell(f, &row, inherited[i], strlen(inherited[i]), &outer->kept[i]);
	rc = rc ? rc : read_members(f, &row, "", 0);
	return rc ? rc : f->j.status != JSON_OK ? -EBADMSG : sql_insert_row(insert, f->err);
}

static int read_list(struct filler *f, const struct rules_table *table, const struct row *outer)
{
	struct sql_query *insert = NULL;
	bool first = true;
	int rc = insert_into(f, table, &insert);

	if (rc == 0)
		for (json_enter(&f->j, '['); rc == 0 && json_element(&f->j, &first);) {
			json_space(&f->j);
			if (*f->j.at == '{')
				rc = read_row(f, table, insert, outer);
			else
				json_skip(&f->j, JSON_IN_ARRAY);
		}
	return rc;
}

static int read_one_row(struct filler *f, const struct rules_table *table)
{
	struct sql_query *insert = NULL;
	int rc = sql_empty(f->sql, table->name, f->err); /* of the row of unknowns */

	rc = rc ? rc : insert_into(f, table, &insert);
	return rc ? rc : read_row(f, table, insert, NULL);
}

/* A member of the whole: a table, or a figure of the first one, which `rest` has. */
static int read_top(struct filler *f, const struct json_text *key, struct row *rest)
{
	const struct rules_table *table = key->size ? table_at(key->data, key->size) : NULL;
	struct json_value value;

	json_space(&f->j);
	if (table && table->one_row && *f->j.at == '{')
		return read_one_row(f, table);
	if (table && !table->one_row && *f->j.at == '[' && needs(f, table))
		return read_list(f, table, NULL);
	json_value(&f->j, JSON_IN_OBJECT, &value);
	return f->j.status == JSON_OK ? set_cell(f, rest, key->data, key->size, &value) : 0;
}

static int read_document(struct filler *f)
{
	struct row rest = { .table = &rules_tables[0] };
	struct json_text key;
	bool first = true;
	int rc = insert_into(f, rest.table, &rest.insert);

	if (rc == 0)
		for (json_enter(&f->j, '{'); rc == 0 && json_member(&f->j, &first, &key);)
			rc = read_top(f, &key, &rest);
	rc = rc ? rc : sql_empty(f->sql, rest.table->name, f->err);
	rc = rc ? rc : sql_insert_row(rest.insert, f->err);
	return rc ? rc : f->j.status == JSON_OK ? 0 : -EBADMSG;
}

/* Tables of one row have one, whatever the JSON has. */
static int start_tables(struct sql *sql, struct error *err)
{
	int rc = 0;

	for (const struct rules_table *t = rules_tables; t->name && rc == 0; t++) {
		struct sql_query *insert = NULL;

		rc = sql_empty(sql, t->name, err);
		if (rc < 0 || !t->one_row)
			continue;
		rc = sql_insert(sql, &insert, t->name, t->columns, err);
		rc = rc ? rc : sql_insert_row(insert, err);
		sql_query_free(insert);
	}
	return rc;
}

int rules_fill(const struct rules *r, const char *json, size_t size, struct error *err)
{
	struct filler f = { .rules = r, .sql = r->sql, .j = { .at = json, .end = json + size, .last = true }, .err = err };
	int rc = start_tables(r->sql, err);

	rc = rc ? rc : read_document(&f);
	buffer_release(&f.text);
	for (size_t i = 0; i < RULES_TABLES_MAX; i++)
		sql_query_free(f.tables[i].insert);
	if (rc == -ENOMEM || rc == -EBADMSG) {
		if (err)
			err->exit_code = 4;
		return error_errno(err, rc, "cannot make tables of the analysis");
	}
	return rc;
}
