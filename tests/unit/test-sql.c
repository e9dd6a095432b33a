/* test-sql.c - sql/sandbox.h, with databases as nobody should write them. */
#include "sql/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <sqlite3.h>

static char scratch[] = "/tmp/test-sql-XXXXXX";

static const char *in_scratch(const char *name)
{
	static char path[256];

	snprintf(path, sizeof path, "%s/%s", scratch, name);
	return path;
}

/* A database of these statements, made anew. */
static void make(const char *statements)
{
	sqlite3 *db;
	char *message = NULL;

	unlink(in_scratch("db"));
	assert_int_equal(sqlite3_open(in_scratch("db"), &db), SQLITE_OK);
	sqlite3_exec(db, statements, NULL, NULL, &message);
	if (message)
		fail_msg("%s", message);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static struct sql *open_with(const struct sql_options *options)
{
	struct error err = { 0 };
	struct sql *s = NULL;
	int fd = open(in_scratch("db"), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	if (sql_open(&s, fd, "db", options, &err))
		fail_msg("%s", err.text);
	return s;
}

static struct sql *open_made(const char *statements)
{
	make(statements);
	return open_with(NULL);
}

#define ROWS(count) "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " #count ") INSERT INTO t SELECT i, "

static void test_cells_are_what_they_are(void **state)
{
	struct sql *s = open_made("CREATE TABLE t(a INTEGER, b, c TEXT);"
				  "INSERT INTO t VALUES (9223372036854775807, 2.5, 'x' || char(0) || 'y'), ('seven', 7.0, 5),"
				  " (NULL, 1e300, x'00')");
	struct sql_query *q;
	struct error err = { 0 };
	int64_t integer = -1;
	double number = -1;
	const char *text = NULL;
	size_t size = 0;

	(void)state;
	assert_int_equal(sql_query(s, &q, "t", "SELECT a, b, c FROM t", &err), 0);
	assert_int_equal(sql_query_step(q, &err), 1);
	assert_true(sql_query_integer(q, 0, &integer));
	assert_true(integer == INT64_MAX);
	assert_false(sql_query_integer(q, 1, &integer));
	assert_true(sql_query_number(q, 1, &number));
	assert_true(number == 2.5);
	assert_true(sql_query_text(q, 2, &text, &size));
	assert_int_equal(size, 3);
	assert_memory_equal(text, "x\0y", 3);
	assert_int_equal(sql_query_step(q, &err), 1);
	assert_false(sql_query_integer(q, 0, &integer)); /* a text in a column of integers */
	assert_true(sql_query_integer(q, 1, &integer));
	assert_int_equal(integer, 7);
	assert_int_equal(sql_query_step(q, &err), 1);
	assert_false(sql_query_integer(q, 0, &integer));
	assert_false(sql_query_integer(q, 1, &integer));
	assert_false(sql_query_text(q, 2, &text, &size));
	assert_int_equal(sql_query_step(q, &err), 0);
	sql_query_free(q);
	sql_query_free(NULL);
	sql_close(s);
	sql_close(NULL);
}

static void test_bytes(void **state)
{
	struct sql *s = open_made("CREATE TABLE made(a, b, c, d); INSERT INTO made VALUES (x'00ff', x'', 'text', NULL);");
	struct error err = { 0 };
	struct sql_query *q;
	const void *data;
	size_t size;

	(void)state;
	assert_int_equal(sql_query(s, &q, "made", "SELECT a, b, c, d FROM made", &err), 0);
	assert_int_equal(sql_query_step(q, &err), 1);
	assert_true(sql_query_blob(q, 0, &data, &size));
	assert_int_equal(size, 2);
	assert_memory_equal(data, "\0\xff", 2);
	assert_true(sql_query_blob(q, 1, &data, &size));
	assert_int_equal(size, 0);
	assert_non_null(data);
	assert_false(sql_query_blob(q, 2, &data, &size));
	assert_false(sql_query_blob(q, 3, &data, &size));
	sql_query_free(q);
	sql_close(s);
}

static void test_tables_and_columns(void **state)
{
	struct sql *s = open_made("CREATE TABLE real(id INTEGER PRIMARY KEY, a, made AS (abs(a)), kept AS (a + 1) STORED);"
				  "CREATE TABLE chain(id, depth, PRIMARY KEY (id, depth));"
				  "CREATE VIEW pretends AS SELECT * FROM real;"
				  "CREATE VIRTUAL TABLE words USING fts4(text);"
				  "CREATE TRIGGER fires AFTER INSERT ON real BEGIN DELETE FROM real; END;");

	(void)state;
	assert_true(sql_table_exists(s, "real"));
	assert_true(sql_table_exists(s, "REAL"));
	assert_false(sql_table_refused(s, "real"));
	assert_false(sql_table_exists(s, "pretends"));
	assert_true(sql_table_refused(s, "Pretends"));
	assert_false(sql_table_exists(s, "words"));
	assert_true(sql_table_refused(s, "words"));
	assert_false(sql_table_exists(s, "none"));
	assert_false(sql_table_refused(s, "none"));
	assert_false(sql_table_exists(s, "rea_"));
	assert_false(sql_table_exists(s, "x' OR '1'='1"));
	assert_true(sql_column_exists(s, "real", "A"));
	assert_false(sql_column_exists(s, "real", "made"));
	assert_false(sql_column_exists(s, "real", "kept"));
	assert_false(sql_column_exists(s, "real", "b"));
	assert_false(sql_column_exists(s, "pretends", "a"));
	assert_false(sql_column_exists(s, "none", "a"));
	assert_true(sql_column_is_key(s, "real", "id"));
	assert_true(sql_column_is_key(s, "chain", "id"));
	assert_false(sql_column_is_key(s, "chain", "depth"));
	assert_false(sql_column_is_key(s, "real", "a"));
	sql_close(s);
}

static void test_what_is_refused(void **state)
{
	static const char *const texts[] = {
		"INSERT INTO t VALUES (1)", "DELETE FROM t", "DROP TABLE t", "CREATE TABLE u(a)", "CREATE TEMP TABLE u(a)",
		"ATTACH '/etc/passwd' AS other", "PRAGMA table_info(t)", "PRAGMA writable_schema = 1", "VACUUM INTO '/tmp/copy'",
		"SELECT * FROM sqlite_schema", "SELECT * FROM sqlite_master", "SELECT * FROM pragma_table_info('t')", "SELECT * FROM v",
		"SELECT load_extension('x.so')", "SELECT readfile('/etc/passwd')", "SELECT randomblob(1000000000)", "SELECT hex(a) FROM t",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", "BEGIN", "",
		"SELECT a FROM t; SELECT a FROM t",
		"SELECT * FROM words", "SELECT * FROM json_each('[1]')", "SELECT * FROM dbstat",
	};
	struct sql *s = open_made("CREATE TABLE t(a); CREATE VIEW v AS SELECT a FROM t; CREATE VIRTUAL TABLE words USING fts4(text)");
	struct sql_query *q = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct error err = { 0 };
		int rc = sql_query(s, &q, "t", texts[i], &err);

		if (rc >= 0)
			fail_msg("'%s' is not refused", texts[i]);
		assert_int_equal(err.code, rc);
		assert_int_equal(err.exit_code, 3);
		assert_non_null(strstr(err.text, ", table t"));
	}
	sql_close(s);
}

static void test_generated_columns_have_limits(void **state)
{
	struct sql *s = open_made("CREATE TABLE t(a, b AS (hex(zeroblob(15000000)))); INSERT INTO t(a) VALUES (1)");
	struct sql_query *q = NULL;
	struct error err = { 0 };

	(void)state;
	assert_false(sql_column_exists(s, "t", "b"));
	assert_int_equal(sql_query(s, &q, "t", "SELECT b FROM t", &err), 0);
	assert_int_equal(sql_query_step(q, &err), -EFBIG);
	sql_query_free(q);
	sql_close(s);
}

static void test_no_database(void **state)
{
	static const char *const contents[] = { "", "hello", "SQLite format 3" };

	(void)state;
	for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
		FILE *f = fopen(in_scratch("db"), "w");
		struct error err = { 0 };
		struct sql *s = NULL;
		int rc;

		fputs(contents[i], f);
		for (int n = 0; i == 2 && n < 4096; n++)
			fputc(n * 37 & 0xff, f);
		assert_int_equal(fclose(f), 0);
		rc = sql_open(&s, open(in_scratch("db"), O_RDONLY), "some.sqlite", NULL, &err);
		if (i == 0) { /* an empty file is an empty database */
			assert_int_equal(rc, 0);
			assert_false(sql_table_exists(s, "t"));
			sql_close(s);
			continue;
		}
		assert_true(rc < 0);
		assert_int_equal(err.exit_code, 3);
		assert_string_equal(err.text, "some.sqlite: file is not a database");
	}
}

/* How many rows can be read, and how it ends. */
static int count_rows(struct sql *s, int *ret_count, struct error *err)
{
	struct sql_query *q;
	int rc;

	assert_int_equal(sql_query(s, &q, "t", "SELECT a, b FROM t", err), 0);
	for (*ret_count = 0; (rc = sql_query_step(q, err)) > 0;)
		++*ret_count;
	sql_query_free(q);
	return rc;
}

static void test_a_file_that_ends_early(void **state)
{
	struct error err = { 0 };
	struct sql *s;
	struct stat st;
	int count;

	(void)state;
	make("PRAGMA page_size = 4096; CREATE TABLE t(a, b);" ROWS(5000) "'some text to fill the pages with' FROM n");
	assert_int_equal(stat(in_scratch("db"), &st), 0);
	s = open_with(NULL);
	assert_int_equal(sql_missing(s), 0);
	assert_int_equal(sql_size(s), st.st_size);
	assert_int_equal(count_rows(s, &count, &err), 0);
	assert_int_equal(count, 5000);
	assert_true(sql_read(s) >= sql_size(s) - 2 * 4096);
	sql_close(s);
	assert_int_equal(truncate(in_scratch("db"), st.st_size / 2), 0);
	s = open_with(NULL);
	assert_int_equal(sql_missing(s), st.st_size - st.st_size / 2);
	assert_int_equal(count_rows(s, &count, &err), -EBADMSG);
	assert_in_range(count, 2000, 3000);
	assert_string_equal(err.text, "db: database disk image is malformed, table t");
	assert_int_equal(err.exit_code, 3);
	sql_close(s);
}

static int files_in_scratch(void)
{
	DIR *dir = opendir(scratch);
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

static void test_no_journal_is_used_or_made(void **state)
{
	struct error err = { 0 };
	struct sql *s;
	FILE *f;
	int count;

	(void)state;
	make("PRAGMA journal_mode = WAL; CREATE TABLE t(a, b);" ROWS(100) "'x' FROM n");
	assert_int_equal(files_in_scratch(), 1);
	f = fopen(in_scratch("db-journal"), "w"); /* SQLite would roll back by it */
	for (int i = 0; i < 8192; i++)
		fputc("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"[i % 8], f);
	fclose(f);
	assert_int_equal(chmod(in_scratch("db"), 0400), 0);
	s = open_with(NULL);
	assert_int_equal(count_rows(s, &count, &err), 0);
	assert_int_equal(count, 100);
	sql_close(s);
	assert_int_equal(files_in_scratch(), 2);
	assert_int_equal(unlink(in_scratch("db-journal")), 0);
}

static bool stop_at_once(void *arg)
{
	++*(int *)arg;
	return true;
}

static void test_queries_end(void **state)
{
	struct sql_options few = { .steps = 100000 }, stopped = { .stop = stop_at_once };
	struct error err = { 0 };
	int count, asked = 0;
	struct sql *s;

	(void)state;
	make("CREATE TABLE t(a, b);" ROWS(100000) "'x' FROM n");
	s = open_with(&few);
	assert_int_equal(count_rows(s, &count, &err), -EBADMSG);
	assert_string_equal(err.text, "db: the database goes on without end, table t");
	assert_true(count < 30000);
	sql_close(s);
	stopped.stop_arg = &asked;
	s = open_with(&stopped);
	assert_int_equal(count_rows(s, &count, &err), -ECANCELED);
	assert_int_equal(asked, 1);
	sql_close(s);
	s = open_with(NULL);
	assert_int_equal(count_rows(s, &count, &err), 0);
	assert_int_equal(count, 100000);
	sql_close(s);
}

#define PAGE 512

static uint32_t get_number(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void put_number(uint8_t *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> (24 - 8 * i));
}

static uint8_t *cell_of(uint8_t *page, unsigned i)
{
	return page + (page[12 + 2 * i] << 8 | page[13 + 2 * i]);
}

/* All branches of an inner page lead to page `to`. */
static void lead(uint8_t *page, uint32_t to)
{
	assert_int_equal(page[0], 5);
	for (unsigned i = 0; i < (unsigned)(page[3] << 8 | page[4]); i++)
		put_number(cell_of(page, i), to);
	put_number(page + 8, to);
}

/* Pages at the end of the file, each with some 60 branches that lead to the next: 60 to the sixth leaves, which are one. */
static void forge_tree(void)
{
	uint8_t header[PAGE], root[PAGE], inner[PAGE];
	int fd = open(in_scratch("db"), O_RDWR);
	uint32_t pages, leaf;

	assert_int_equal(pread(fd, header, PAGE, 0), PAGE);
	assert_int_equal(pread(fd, root, PAGE, PAGE), PAGE);
	assert_int_equal(pread(fd, inner, PAGE, (off_t)(get_number(cell_of(root, 0)) - 1) * PAGE), PAGE);
	pages = get_number(header + 28);
	leaf = get_number(cell_of(inner, 0));
	assert_true((inner[3] << 8 | inner[4]) > 40);
	lead(root, pages + 1);
	assert_int_equal(pwrite(fd, root, PAGE, PAGE), PAGE);
	for (uint32_t i = 1; i <= 6; i++) {
		lead(inner, i == 6 ? leaf : pages + i + 1);
		assert_int_equal(pwrite(fd, inner, PAGE, (off_t)(pages + i - 1) * PAGE), PAGE);
	}
	put_number(header + 28, pages + 6);
	assert_int_equal(pwrite(fd, header, PAGE, 0), PAGE);
	close(fd);
}

static void test_a_tree_without_end(void **state)
{
	struct error err = { 0 };
	struct sql *s;
	int count;

	(void)state;
	make("PRAGMA page_size = 512; CREATE TABLE t(a, b);" ROWS(20000) "'x' FROM n");
	forge_tree();
	s = open_with(NULL);
	assert_int_equal(count_rows(s, &count, &err), -EBADMSG);
	assert_string_equal(err.text, "db: the database goes on without end, table t");
	assert_true(count > 1000000);
	sql_close(s);
}

static void test_long_cells(void **state)
{
	struct sql *s = open_made("CREATE TABLE t(a, b); INSERT INTO t VALUES (1, replace(hex(zeroblob(1000000)), '0', 'x')),"
				  " (2, hex(zeroblob(20000000)))");
	struct sql_query *q;
	struct error err = { 0 };
	const char *text;
	size_t size;

	(void)state;
	assert_int_equal(sql_query(s, &q, "t", "SELECT a, b FROM t", &err), 0);
	assert_int_equal(sql_query_step(q, &err), 1);
	assert_true(sql_query_text(q, 1, &text, &size));
	assert_int_equal(size, SQL_TEXT_MAX);
	assert_int_equal(text[SQL_TEXT_MAX - 1], 'x');
	assert_int_equal(sql_query_step(q, &err), -EFBIG);
	assert_int_equal(err.exit_code, 3);
	sql_query_free(q);
	sql_close(s);
}

static void test_look_up_again_and_again(void **state)
{
	struct sql *s = open_made("CREATE TABLE t(id INTEGER PRIMARY KEY, b); INSERT INTO t VALUES (5, 'five'), (7, 'seven')");
	struct sql_query *q;
	struct error err = { 0 };
	const char *text;
	size_t size;

	(void)state;
	assert_int_equal(sql_query(s, &q, "t", "SELECT b FROM t WHERE id = ?1", &err), 0);
	for (int i = 0; i < 3; i++) {
		static const int64_t ids[] = { 7, 6, 5 };

		sql_query_bind(q, 1, ids[i]);
		assert_int_equal(sql_query_step(q, &err), i != 1);
		if (i != 1) {
			assert_true(sql_query_text(q, 0, &text, &size));
			assert_memory_equal(text, i ? "five" : "seven", size);
		}
		sql_query_reset(q);
	}
	sql_query_free(q);
	sql_close(s);
}

/* ---- In memory ------------------------------------------------------------------ */

static struct sql *open_filled(const struct sql_options *options)
{
	struct sql_query *insert;
	struct sql *s = NULL;

	assert_int_equal(sql_open_memory(&s, "memory", options, NULL), 0);
	assert_int_equal(sql_create(s, "t", "a b index", NULL), 0);
	assert_int_equal(sql_insert(s, &insert, "t", "a b index", NULL), 0);
	for (int i = 0; i < 3000; i++) {
		sql_query_bind(insert, 1, i);
		sql_query_bind_number(insert, 2, i / 2.0);
		if (i == 7)
			sql_query_bind_text(insert, 3, "x'\0;--\"", 7);
		assert_int_equal(sql_insert_row(insert, NULL), 0);
	}
	sql_query_free(insert);
	return s;
}

static int64_t count_of(struct sql *s, const char *text)
{
	struct sql_query *q;
	int64_t value = -1;

	assert_int_equal(sql_query(s, &q, "t", text, NULL), 0);
	assert_int_equal(sql_query_columns(q), 1);
	assert_int_equal(sql_query_step(q, NULL), 1);
	assert_true(sql_query_integer(q, 0, &value));
	sql_query_free(q);
	return value;
}

static void test_tables_in_memory(void **state)
{
	struct sql *s = open_filled(NULL);

	(void)state;
	assert_int_equal(count_of(s, "SELECT sum(a) FROM t"), 4498500);
	assert_int_equal(count_of(s, "SELECT sum(b) * 2 FROM t"), 4498500);
	assert_int_equal(count_of(s, "SELECT a FROM t WHERE \"index\" IS NOT NULL"), 7);
	assert_int_equal(count_of(s, "SELECT instr(\"index\", ';') FROM t WHERE a = 7"), 4); /* behind a NUL, which is a character as any */
	assert_true(sql_table_exists(s, "t") && !sql_table_exists(s, "u"));
	assert_int_equal(sql_size(s) + sql_missing(s) + sql_read(s), 0);
	assert_int_equal(sql_empty(s, "t", NULL), 0);
	assert_int_equal(count_of(s, "SELECT count(*) FROM t"), 0);
	assert_true(sql_create(s, "t", "a", NULL) < 0); /* it is there */
	sql_close(s);
}

/* The same door as for files. */
static void test_queries_in_memory_only_read(void **state)
{
	static const char *const refused[] = { "DELETE FROM t", "INSERT INTO t VALUES (1, 2, 3)", "UPDATE t SET a = 1", "DROP TABLE t",
		"CREATE TABLE u(a)", "CREATE TEMP TABLE u(a)", "ATTACH ':memory:' AS u", "PRAGMA user_version", "PRAGMA journal_mode = WAL",
		"BEGIN", "VACUUM", "VACUUM INTO 'x'", "ANALYZE", "REINDEX", "EXPLAIN SELECT 1 FROM sqlite_schema", "SELECT * FROM sqlite_schema",
		"SELECT randomblob(1)", "SELECT load_extension('x')", "SELECT 1; SELECT 2",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n", "SELECT * FROM generate_series(1, 2)",
		"SELECT * FROM json_each('[1]')", "SELECT * FROM pragma_table_list" };
	struct sql *s = open_filled(NULL);
	struct sql_query *q = NULL;
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (sql_query(s, &q, "t", refused[i], &err) == 0)
			fail_msg("%s", refused[i]);
	assert_int_equal(sql_query(s, &q, "t", "SELECT 1 FROM t WHERE nope", &err), -EBADMSG);
	assert_string_equal(sql_message(s), "no such column: nope");
	assert_int_equal(sql_message_offset(s), 22);
	assert_int_equal(sql_query(s, &q, "t", "SELECT 1; SELECT 2", &err), -EPERM);
	assert_string_equal(sql_message(s), "is more than one expression");
	assert_int_equal(sql_message_offset(s), -1);
	assert_int_equal(count_of(s, "SELECT count(*) FROM t"), 3000);
	sql_close(s);
}

static void test_queries_in_memory_end(void **state)
{
	const struct sql_options options = { .steps = 5000000 };
	struct sql *s = open_filled(&options); /* filling takes none of them */
	struct sql_query *q;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(sql_query(s, &q, NULL, "SELECT count(*) FROM t a, t b WHERE a.a + b.a < 0", &err), 0);
	assert_int_equal(sql_query_step(q, &err), -EBADMSG);
	assert_string_equal(sql_message(s), "takes too long");
	sql_query_free(q);
	sql_close(s);
}

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(scratch) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(in_scratch("db"));
	return rmdir(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cells_are_what_they_are),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_tables_and_columns),
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_generated_columns_have_limits),
		cmocka_unit_test(test_no_database),
		cmocka_unit_test(test_a_file_that_ends_early),
		cmocka_unit_test(test_no_journal_is_used_or_made),
		cmocka_unit_test(test_queries_end),
		cmocka_unit_test(test_a_tree_without_end),
		cmocka_unit_test(test_long_cells),
		cmocka_unit_test(test_look_up_again_and_again),
		cmocka_unit_test(test_tables_in_memory),
		cmocka_unit_test(test_queries_in_memory_only_read),
		cmocka_unit_test(test_queries_in_memory_end),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
