/*
 * nsys_string.c - the names of an export, which its rows refer to by number.
 *
 * They are fetched one at a time, when first used: the table also has the
 * environment, symbols of all libraries and the output of the program.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "import/nsys.h"

#define TABLE "StringIds"
#define ROWS_MAX ((size_t)1 << 21)

/* Copies of an export may have lost the key.  Then the way to each row is kept, which is less than the rows. */
static int load_rows(struct nsys *n, struct error *err)
{
	struct nsys_strings *s = &n->strings;
	struct sql_query *q;
	size_t capacity = 0;
	int rc = sql_query(n->sql, &q, TABLE, "SELECT id, rowid FROM " TABLE " ORDER BY id", err);

	if (rc)
		return rc;
	while (s->count < ROWS_MAX && (rc = sql_query_step(q, err)) > 0) {
		struct nsys_string_row row;

		if (!sql_query_integer(q, 0, &row.id) || !sql_query_integer(q, 1, &row.row))
			continue;
		rc = ARRAY_GROW(s->rows, capacity, s->count + 1);
		if (rc) {
			error_set(err, rc, "out of memory");
			break;
		}
		s->rows[s->count++] = row;
	}
	sql_query_free(q);
	s->by_row = true;
	return rc < 0 ? rc : 0;
}

static int find_way(struct nsys *n, struct error *err)
{
	const char *text = "SELECT value FROM " TABLE " WHERE id = ?1";

	if (!sql_column_is_key(n->sql, TABLE, "id")) {
		int rc = load_rows(n, err);

		if (rc)
			return rc;
		text = "SELECT value FROM " TABLE " WHERE rowid = ?1";
	}
	return sql_query(n->sql, &n->strings.query, TABLE, text, err);
}

int nsys_strings_open(struct nsys *n, struct error *err)
{
	struct error local = { 0 };
	int rc;

	n->strings.cache = calloc(NSYS_STRING_CACHE, sizeof *n->strings.cache);
	if (!n->strings.cache)
		return error_set(err, -ENOMEM, "out of memory");
	if (!sql_column_exists(n->sql, TABLE, "id") || !sql_column_exists(n->sql, TABLE, "value"))
		return 0;
	rc = find_way(n, &local);
	if (rc == -ENOMEM || rc == -ECANCELED) {
		if (err)
			*err = local;
		return rc;
	}
	if (rc)
		output_damage(n->o, 0, 0, local.text);
	return 0;
}

void nsys_strings_release(struct nsys_strings *s)
{
	sql_query_free(s->query);
	free(s->cache);
	free(s->rows);
}

static int compare_rows(const void *a, const void *b)
{
	int64_t first = *(const int64_t *)a, second = ((const struct nsys_string_row *)b)->id;

	return first < second ? -1 : first > second;
}

bool nsys_text_of(struct nsys *n, int64_t id, const char **ret, size_t *ret_size)
{
	struct nsys_strings *s = &n->strings;
	const struct nsys_string_row *row;

	if (!s->query)
		return false;
	if (s->by_row) {
		row = s->count ? bsearch(&id, s->rows, s->count, sizeof *s->rows, compare_rows) : NULL;
		if (!row)
			return false;
		id = row->row;
	}
	sql_query_reset(s->query);
	sql_query_bind(s->query, 1, id);
	return sql_query_step(s->query, NULL) > 0 && sql_query_text(s->query, 0, ret, ret_size);
}

_Static_assert(NSYS_STRING_CACHE == 1u << (64 - 50), "a place is the upper 14 bits of a hash");

uint32_t nsys_string(struct nsys *n, int64_t id)
{
	struct nsys_string_place *place = &n->strings.cache[(uint64_t)id * 0x9e3779b97f4a7c15u >> 50];
	const char *text;
	size_t size;
	uint32_t number;

	if (place->used && place->id == id)
		return place->number;
	number = nsys_text_of(n, id, &text, &size) ? output_string(n->o, text, size) : 0;
	*place = (struct nsys_string_place){ .id = id, .number = number, .used = true };
	return number;
}

uint32_t nsys_text(struct nsys *n, struct sql_query *q, int column)
{
	const char *text;
	size_t size;
	int64_t id;

	if (sql_query_integer(q, column, &id))
		return nsys_string(n, id);
	return sql_query_text(q, column, &text, &size) ? output_string(n->o, text, size) : 0;
}
