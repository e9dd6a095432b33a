/*
 * sandbox.c - see sandbox.h.
 */
#include "sql/sandbox.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buffer.h"
#include "sql/sandbox_file.h"

/* Reading takes about one step a byte.  A forged tree, whose branches lead to the same leaves, would take any number. */
#define STEPS_BASE 20000000u
#define STEPS_A_BYTE 10u
#define STEPS_A_LOOK 20000 /* how often the stop callback is asked */
#define CACHE_KIB 4096     /* also what each sort keeps in memory before it goes to a temporary file */
#define STEPS_IN_MEMORY 200000000u /* a few seconds */
#define STEPS_A_LOOK_IN_MEMORY 1000 /* somebody else wrote the queries, so that each step may be a long one */

struct sql {
	sqlite3 *db;
	struct sandbox_file *file; /* NULL: in memory */
	int fd;                    /* -1: in memory */
	char *name;
	struct sql_options options;
	unsigned look_steps; /* how often look() is asked */
	uint64_t steps_left;
	bool endless;       /* the steps are used up */
	bool several;       /* the last query was not one SELECT */
	bool empty;         /* there was nothing in it */
	char refused[80];   /* what it was not allowed; "": nothing */
	bool inside;        /* a statement of our own: everything is allowed */

	char *table; /* the one that was asked about last */
	bool table_is_there, table_is_real;
	struct buffer columns;
};

struct sql_query {
	struct sql *sql;
	sqlite3_stmt *statement;
	const char *table;
};

/* What a query may call, in alphabetical order.  None of these reads files, allocates much or has side effects. */
static const char *const functions[] = {
	"abs", "avg",   "coalesce", "count", "ifnull", "iif",   "instr", "length", "like",   "lower", "ltrim", "max",
	"min", "nullif", "quote",   "replace", "round", "rtrim", "sign",  "substr", "sum", "total", "trim", "typeof", "upper",
};

/* These allocate as much as a cell may have, which in memory is little. */
static const char *const functions_in_memory[] = { "format", "glob", "group_concat", "printf" };

/* For people who ask about their own traces. */
static const char *const functions_broad[] = {
	"->", "->>", "acos", "asin", "atan", "atan2", "ceil", "ceiling", "char", "cos", "cume_dist", "date", "datetime", "degrees", "dense_rank",
	"exp", "first_value", "floor", "hex", "json", "json_array", "json_extract", "json_group_array", "json_group_object", "json_object",
	"json_type", "julianday", "lag", "last_value", "lead", "likelihood", "likely", "ln", "log", "log10", "log2", "mod", "nth_value", "ntile",
	"percent_rank", "pi", "pow", "power", "radians", "rank", "row_number", "sin", "sqrt", "strftime", "tan", "time", "trunc", "unicode",
	"unixepoch", "unlikely",
};

static bool is_among(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcasecmp(names[i], name) == 0)
			return true;
	return false;
}

static bool function_allowed(const struct sql *s, const char *name)
{
	if (is_among(functions, sizeof functions / sizeof functions[0], name))
		return true;
	if (s->options.broad && is_among(functions_broad, sizeof functions_broad / sizeof functions_broad[0], name))
		return true;
	return !s->file && is_among(functions_in_memory, sizeof functions_in_memory / sizeof functions_in_memory[0], name);
}

/* Everything that begins with these comes from SQLite itself. */
static bool internal_table(const char *name)
{
	return strncasecmp(name, "sqlite_", 7) == 0 || strncasecmp(name, "pragma_", 7) == 0;
}

static bool is_allowed(const struct sql *s, int action, const char *first, const char *second, const char *via)
{
	if (via && !s->options.broad) /* nothing in memory is a view or a trigger: there it is a subquery with a name */
		return false;
	switch (action) {
	case SQLITE_SELECT:
		return true;
	case SQLITE_READ:
		return !first || !internal_table(first);
	case SQLITE_FUNCTION:
		return second && function_allowed(s, second);
	case SQLITE_RECURSIVE:
		return s->options.broad;
	default:
		return false;
	}
}

/* As people call it who write it. */
static void note_refused(struct sql *s, int action, const char *first)
{
	static const struct {
		int action;
		const char *name;
	} names[] = {
		{ SQLITE_ATTACH, "ATTACH" }, { SQLITE_DETACH, "DETACH" },   { SQLITE_PRAGMA, "PRAGMA" },
		{ SQLITE_INSERT, "INSERT" }, { SQLITE_UPDATE, "UPDATE" },   { SQLITE_DELETE, "DELETE" },
		{ SQLITE_SAVEPOINT, "SAVEPOINT" }, { SQLITE_TRANSACTION, "a transaction" }, { SQLITE_RECURSIVE, "recursion" },
		{ SQLITE_ANALYZE, "ANALYZE" }, { SQLITE_REINDEX, "REINDEX" }, { SQLITE_ALTER_TABLE, "ALTER" },
	};

	if (s->refused[0])
		return;
	if (action == SQLITE_READ)
		snprintf(s->refused, sizeof s->refused, "the table %.60s", first);
	if (action == SQLITE_INSERT && first && internal_table(first))
		snprintf(s->refused, sizeof s->refused, "CREATE");
	for (size_t i = 0; !s->refused[0] && i < sizeof names / sizeof names[0]; i++)
		if (names[i].action == action)
			snprintf(s->refused, sizeof s->refused, "%s", names[i].name);
}

/* Asked while a statement is compiled.  `via` is the view or trigger that something is asked for by. */
static int authorize(void *arg, int action, const char *first, const char *second, const char *database, const char *via)
{
	struct sql *s = arg;

	(void)database;
	if (s->inside || is_allowed(s, action, first, second, via))
		return SQLITE_OK;
	note_refused(s, action, first);
	return SQLITE_DENY;
}

/* Asked every look_steps steps of a query. */
static int look(void *arg)
{
	struct sql *s = arg;

	if (s->inside)
		return 0; /* filling a table of our own */
	if (s->steps_left < s->look_steps) {
		s->endless = true;
		return 1;
	}
	s->steps_left -= s->look_steps;
	return s->options.stop && s->options.stop(s->options.stop_arg);
}

static int fault_code(int status)
{
	switch (status) {
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_IOERR:
	case SQLITE_FULL:
	case SQLITE_CANTOPEN:
		return -EIO;
	case SQLITE_TOOBIG:
		return -EFBIG;
	case SQLITE_INTERRUPT:
		return -ECANCELED;
	case SQLITE_AUTH:
		return -EPERM;
	default:
		return -EBADMSG;
	}
}

const char *sql_message(const struct sql *s)
{
	if (s->endless)
		return s->file ? "the database goes on without end" : "takes too long";
	if (s->empty)
		return SQL_EMPTY;
	if (s->several)
		return SQL_SEVERAL;
	return s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(SQLITE_NOMEM);
}

const char *sql_refused(const struct sql *s)
{
	return s->refused;
}

int sql_message_offset(const struct sql *s)
{
#if SQLITE_VERSION_NUMBER >= 3038000
	return s->endless || s->several || s->empty ? -1 : sqlite3_error_offset(s->db);
#else
	(void)s;
	return -1;
#endif
}

/* The sentence for a failure; table may be NULL. */
static int fault(const struct sql *s, int status, const char *table, struct error *err)
{
	int code = s->endless ? -EBADMSG : fault_code(status & 0xff);
	const char *text = s->db ? sql_message(s) : sqlite3_errstr(status);

	if (err)
		err->exit_code = code == -ENOMEM || code == -EIO ? 4 : 3;
	if (!table)
		return error_set(err, code, "%s: %.200s", s->name, text);
	return error_set(err, code, "%s: %.200s, table %s", s->name, text, table);
}

/* Statements without results, before the sandbox closes. */
static int run(struct sql *s, const char *text)
{
	return sqlite3_exec(s->db, text, NULL, NULL, NULL);
}

static void set_limits(sqlite3 *db)
{
	static const struct {
		int which, value;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, (int)SQL_CELL_MAX },
		{ SQLITE_LIMIT_SQL_LENGTH, 1000000 }, /* also of the statements in the schema */
		{ SQLITE_LIMIT_COLUMN, 2000 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 64 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 8 },
		{ SQLITE_LIMIT_VDBE_OP, 25000 },
		{ SQLITE_LIMIT_FUNCTION_ARG, 8 },
		{ SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 256 },
		{ SQLITE_LIMIT_VARIABLE_NUMBER, 16 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
		{ SQLITE_LIMIT_WORKER_THREADS, 0 },
	};

	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
		sqlite3_limit(db, limits[i].which, limits[i].value);
}

/* Everything that a schema could set in motion is switched off before it is read. */
static int restrict_database(struct sql *s)
{
	static const struct {
		int which, value;
	} settings[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },       { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },  { SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
		{ SQLITE_DBCONFIG_DQS_DML, 0 },         { SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
		{ SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0 },
	};
	char cache[64];
	int status;

	for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
		sqlite3_db_config(s->db, settings[i].which, settings[i].value, NULL);
	set_limits(s->db);
	status = sqlite3_drop_modules(s->db, NULL); /* no virtual tables */
	snprintf(cache, sizeof cache, "PRAGMA cache_size = -%d", CACHE_KIB);
	if (status == SQLITE_OK)
		status = run(s, "PRAGMA cell_size_check = ON");
	if (status == SQLITE_OK)
		status = run(s, cache);
	return status;
}

/* The first look at the schema, which is also where a file that is no database fails. */
static int read_schema(struct sql *s)
{
	int status;

	s->inside = true;
	status = run(s, "SELECT name FROM sqlite_schema LIMIT 1");
	s->inside = false;
	return status;
}

/* From here on SQLite asks before it does anything. */
static void close_doors(struct sql *s)
{
	sqlite3_progress_handler(s->db, (int)s->look_steps, look, s);
	sqlite3_set_authorizer(s->db, authorize, s);
}

static int open_file(struct sql *s)
{
	const char *vfs = sandbox_file_vfs();
	char number[16];
	int status;

	if (!vfs)
		return SQLITE_NOMEM;
	snprintf(number, sizeof number, "%d", s->fd);
	status = sqlite3_open_v2(number, &s->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, vfs);
	if (status == SQLITE_OK)
		status = sqlite3_file_control(s->db, "main", SQLITE_FCNTL_FILE_POINTER, &s->file);
	if (status == SQLITE_OK)
		status = restrict_database(s);
	if (status != SQLITE_OK)
		return status;
	s->steps_left = s->options.steps ? s->options.steps : STEPS_BASE + STEPS_A_BYTE * s->file->size;
	s->look_steps = STEPS_A_LOOK;
	close_doors(s);
	return read_schema(s);
}

/* Cells are names and figures of ours, and queries are short. */
static void set_limits_in_memory(sqlite3 *db)
{
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, (int)SQL_MEMORY_CELL_MAX);
	sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, (int)SQL_MEMORY_CELL_MAX);
	sqlite3_limit(db, SQLITE_LIMIT_VARIABLE_NUMBER, SQL_COLUMNS_MAX);
}

static int open_in_memory(struct sql *s)
{
	int status = sqlite3_open_v2(":memory:", &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

	if (status == SQLITE_OK)
		status = restrict_database(s);
	if (status != SQLITE_OK)
		return status;
	set_limits_in_memory(s->db);
	s->steps_left = s->options.steps ? s->options.steps : s->options.broad ? UINT64_MAX : STEPS_IN_MEMORY;
	s->look_steps = STEPS_A_LOOK_IN_MEMORY;
	close_doors(s);
	return SQLITE_OK;
}

/* fd is -1 for a database in memory. */
static int open_any(struct sql **ret, int fd, const char *name, const struct sql_options *options, struct error *err)
{
	struct sql *s = calloc(1, sizeof *s);
	int status;

	if (!s || !(s->name = strdup(name))) {
		free(s);
		if (fd >= 0)
			close(fd);
		if (err)
			err->exit_code = 4;
		return error_errno(err, -ENOMEM, "cannot open '%s'", name);
	}
	s->fd = fd;
	if (options)
		s->options = *options;
	status = fd < 0 ? open_in_memory(s) : open_file(s);
	if (status != SQLITE_OK) {
		int rc = fault(s, status, NULL, err);

		sql_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

int sql_open(struct sql **ret, int fd, const char *name, const struct sql_options *options, struct error *err)
{
	return open_any(ret, fd, name, options, err);
}

int sql_open_memory(struct sql **ret, const char *name, const struct sql_options *options, struct error *err)
{
	return open_any(ret, -1, name, options, err);
}

void sql_close(struct sql *s)
{
	if (!s)
		return;
	sqlite3_close(s->db);
	if (s->fd >= 0)
		close(s->fd);
	buffer_release(&s->columns);
	free(s->table);
	free(s->name);
	free(s);
}

uint64_t sql_size(const struct sql *s)
{
	return s->file ? s->file->size : 0;
}

uint64_t sql_missing(const struct sql *s)
{
	return s->file ? s->file->stated - s->file->size : 0;
}

uint64_t sql_read(const struct sql *s)
{
	return s->file ? s->file->read : 0;
}

/* A question of our own; %w or %q in it stands for the name. */
static sqlite3_stmt *ask(struct sql *s, const char *format, const char *name)
{
	sqlite3_stmt *statement = NULL;
	char *text = sqlite3_mprintf(format, name);

	s->inside = true;
	if (text)
		sqlite3_prepare_v2(s->db, text, -1, &statement, NULL);
	s->inside = false;
	sqlite3_free(text);
	return statement;
}

/*
 * There is exactly one thing of that name to select from, and it is a table
 * with pages of its own.  The names in a forged schema need not be those in its
 * statements: what such a table really is shows when it is asked for, since
 * views are off and virtual tables have no modules.
 */
static bool find_table(struct sql *s, const char *table, bool *ret_any)
{
	sqlite3_stmt *q = ask(s, "SELECT type = 'table' AND sql LIKE 'CREATE TABLE %%' AND rootpage > 0 FROM sqlite_schema "
				 "WHERE type IN ('table', 'view') AND name = '%q' COLLATE NOCASE",
			      table);
	int found = 0, real = 0;

	while (q && sqlite3_step(q) == SQLITE_ROW) {
		found++;
		real += sqlite3_column_int(q, 0) == 1;
	}
	sqlite3_finalize(q);
	*ret_any = found > 0;
	return found == 1 && real == 1;
}

/* Of a column that is stored: its place in the primary key (0: not in it), its name and a NUL.  Others are left out. */
static int load_columns(struct sql *s, const char *table)
{
	sqlite3_stmt *q = ask(s, "PRAGMA table_xinfo(\"%w\")", table);
	int rc = 0;

	while (rc == 0 && q && sqlite3_step(q) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(q, 1);
		uint8_t key = (uint8_t)(sqlite3_column_int(q, 5) & 0xff);

		if (!name || sqlite3_column_int(q, 6) != 0)
			continue;
		rc = buffer_append(&s->columns, &key, 1);
		rc = rc ? rc : buffer_append(&s->columns, name, strlen(name) + 1);
	}
	sqlite3_finalize(q);
	return rc;
}

/* Tables are asked about many times in a row; what is known of the last one is kept. */
static void look_at(struct sql *s, const char *table)
{
	if (s->table && strcmp(s->table, table) == 0)
		return;
	free(s->table);
	s->table = strdup(table);
	buffer_clear(&s->columns);
	s->table_is_real = find_table(s, table, &s->table_is_there);
	if (s->table_is_real && load_columns(s, table))
		buffer_clear(&s->columns);
}

bool sql_table_exists(struct sql *s, const char *table)
{
	look_at(s, table);
	return s->table_is_real;
}

bool sql_table_refused(struct sql *s, const char *table)
{
	look_at(s, table);
	return s->table_is_there && !s->table_is_real;
}

/* Its place in the primary key; negative when there is no such column. */
static int column_key(struct sql *s, const char *table, const char *column)
{
	look_at(s, table);
	for (size_t at = 0; at < s->columns.size; at += 2 + strlen((const char *)s->columns.data + at + 1))
		if (strcasecmp((const char *)s->columns.data + at + 1, column) == 0)
			return s->columns.data[at];
	return -ENOENT;
}

bool sql_column_exists(struct sql *s, const char *table, const char *column)
{
	return column_key(s, table, column) >= 0;
}

bool sql_column_is_key(struct sql *s, const char *table, const char *column)
{
	return column_key(s, table, column) == 1;
}

int sql_query(struct sql *s, struct sql_query **ret, const char *table, const char *text, struct error *err)
{
	struct sql_query *q = calloc(1, sizeof *q);
	const char *rest = "";
	int status;

	s->several = s->empty = false;
	s->refused[0] = '\0';
	status = q ? sqlite3_prepare_v2(s->db, text, -1, &q->statement, &rest) : SQLITE_NOMEM;
	if (status == SQLITE_OK && sqlite3_column_count(q->statement) > 0 && !rest[strspn(rest, " \t\r\n")]) {
		q->sql = s;
		q->table = table;
		*ret = q;
		return 0;
	}
	s->empty = status == SQLITE_OK && !q->statement;
	s->several = status == SQLITE_OK && !s->empty;
	status = fault(s, status == SQLITE_OK ? SQLITE_AUTH : status, table, err);
	if (q)
		sqlite3_finalize(q->statement);
	free(q);
	return status;
}

void sql_query_bind(struct sql_query *q, int parameter, int64_t value)
{
	sqlite3_bind_int64(q->statement, parameter, value);
}

void sql_query_bind_number(struct sql_query *q, int parameter, double value)
{
	sqlite3_bind_double(q->statement, parameter, value); /* NAN is NULL */
}

void sql_query_bind_text(struct sql_query *q, int parameter, const char *text, size_t size)
{
	size_t most = q->sql->file ? SQL_TEXT_MAX : SQL_MEMORY_CELL_MAX / 2;

	sqlite3_bind_text(q->statement, parameter, text, (int)(size < most ? size : most), SQLITE_TRANSIENT);
}

int sql_query_columns(const struct sql_query *q)
{
	return sqlite3_column_count(q->statement);
}

const char *sql_query_column_name(const struct sql_query *q, int column)
{
	const char *name = sqlite3_column_name(q->statement, column);

	return name ? name : "";
}

int sql_query_step(struct sql_query *q, struct error *err)
{
	int status = sqlite3_step(q->statement);

	if (status == SQLITE_ROW)
		return 1;
	return status == SQLITE_DONE ? 0 : fault(q->sql, status, q->table, err);
}

void sql_query_reset(struct sql_query *q)
{
	sqlite3_reset(q->statement);
}

void sql_query_free(struct sql_query *q)
{
	if (!q)
		return;
	sqlite3_finalize(q->statement);
	free(q);
}

bool sql_query_null(struct sql_query *q, int column)
{
	return sqlite3_column_type(q->statement, column) == SQLITE_NULL;
}

bool sql_query_is_integer(struct sql_query *q, int column)
{
	return sqlite3_column_type(q->statement, column) == SQLITE_INTEGER;
}

bool sql_query_integer(struct sql_query *q, int column, int64_t *ret)
{
	int type = sqlite3_column_type(q->statement, column);
	double number;

	if (type == SQLITE_INTEGER) {
		*ret = sqlite3_column_int64(q->statement, column);
		return true;
	}
	if (type != SQLITE_FLOAT)
		return false;
	number = sqlite3_column_double(q->statement, column);
	if (!(fabs(number) <= 9007199254740992.0) || number != floor(number))
		return false;
	*ret = (int64_t)number;
	return true;
}

bool sql_query_number(struct sql_query *q, int column, double *ret)
{
	int type = sqlite3_column_type(q->statement, column);

	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return false;
	*ret = sqlite3_column_double(q->statement, column);
	return true;
}

bool sql_query_text(struct sql_query *q, int column, const char **ret, size_t *ret_size)
{
	const char *text;
	size_t size;

	if (sqlite3_column_type(q->statement, column) != SQLITE_TEXT)
		return false;
	text = (const char *)sqlite3_column_text(q->statement, column);
	if (!text)
		return false; /* out of memory, converting from UTF-16 */
	size = (size_t)sqlite3_column_bytes(q->statement, column);
	*ret = text;
	*ret_size = size < SQL_TEXT_MAX ? size : SQL_TEXT_MAX;
	return true;
}

bool sql_query_blob(struct sql_query *q, int column, const void **ret, size_t *ret_size)
{
	const void *data;
	size_t size;

	if (sqlite3_column_type(q->statement, column) != SQLITE_BLOB)
		return false;
	data = sqlite3_column_blob(q->statement, column);
	size = (size_t)sqlite3_column_bytes(q->statement, column);
	*ret = data ? data : ""; /* an empty one is NULL */
	*ret_size = !data ? 0 : size < SQL_TEXT_MAX ? size : SQL_TEXT_MAX;
	return true;
}

/* ---- In memory ------------------------------------------------------------------ */

/* Nothing is asked of a statement of our own. */
static sqlite3_stmt *prepare_own(struct sql *s, const struct buffer *text)
{
	sqlite3_stmt *statement = NULL;

	s->inside = true;
	sqlite3_prepare_v2(s->db, (const char *)text->data, (int)text->size, &statement, NULL);
	s->inside = false;
	return statement;
}

/* CREATE TABLE "t"("a", "b"), or with marks INSERT INTO "t" VALUES (?, ?). */
static int write_statement(struct buffer *text, const char *verb, const char *table, const char *between, const char *columns,
			   bool marks)
{
	int rc = buffer_printf(text, "%s \"%s\"%s(", verb, table, between);
	bool first = true;

	for (size_t size; rc == 0 && *columns; first = false) {
		size = strcspn(columns, " ");
		rc = buffer_printf(text, marks ? "%s?" : "%s\"%.*s\"", first ? "" : ", ", (int)size, columns);
		columns += size + strspn(columns + size, " ");
	}
	return rc ? rc : buffer_append(text, ")", 1);
}

int sql_create(struct sql *s, const char *table, const char *columns, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	sqlite3_stmt *statement = NULL;
	int status = SQLITE_NOMEM;

	if (write_statement(&text, "CREATE TABLE", table, "", columns, false) == 0)
		statement = prepare_own(s, &text);
	if (statement)
		status = sqlite3_step(statement);
	sqlite3_finalize(statement);
	buffer_release(&text);
	return status == SQLITE_DONE ? 0 : fault(s, status, table, err);
}

int sql_insert(struct sql *s, struct sql_query **ret, const char *table, const char *columns, struct error *err)
{
	struct sql_query *q = calloc(1, sizeof *q);
	struct buffer text = BUFFER_INIT;

	if (q && write_statement(&text, "INSERT INTO", table, " VALUES ", columns, true) == 0)
		q->statement = prepare_own(s, &text);
	buffer_release(&text);
	if (!q || !q->statement) {
		free(q);
		return fault(s, SQLITE_NOMEM, table, err);
	}
	q->sql = s;
	q->table = table;
	*ret = q;
	return 0;
}

int sql_insert_row(struct sql_query *q, struct error *err)
{
	int status;

	q->sql->inside = true;
	status = sqlite3_step(q->statement);
	q->sql->inside = false;
	sqlite3_reset(q->statement);
	sqlite3_clear_bindings(q->statement);
	return status == SQLITE_DONE ? 0 : fault(q->sql, status, q->table, err);
}

int sql_module(struct sql *s, const char *table, const struct sqlite3_module *module, void *arg, struct error *err)
{
	int status = sqlite3_create_module_v2(s->db, table, module, arg, NULL);

	return status == SQLITE_OK ? 0 : fault(s, status, table, err);
}

int sql_declare(struct sql *s, const char *columns)
{
	char *text = sqlite3_mprintf("CREATE TABLE x(%s)", columns);
	bool inside = s->inside;
	int status;

	s->inside = true; /* it is we who create it */
	status = text ? sqlite3_declare_vtab(s->db, text) : SQLITE_NOMEM;
	s->inside = inside;
	sqlite3_free(text);
	return status;
}

int sql_empty(struct sql *s, const char *table, struct error *err)
{
	sqlite3_stmt *statement = ask(s, "DELETE FROM \"%w\"", table);
	int status = statement ? sqlite3_step(statement) : SQLITE_NOMEM;

	sqlite3_finalize(statement);
	return status == SQLITE_DONE ? 0 : fault(s, status, table, err);
}
