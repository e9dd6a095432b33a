/*
 * sandbox_file.h - how SQLite gets at the bytes of a database in the sandbox.
 *
 * A VFS whose main database is an open descriptor, given by its number instead
 * of a name.  There is no way to write, lock or delete anything through it, or
 * to open a journal or a write-ahead log: the file counts as one that never
 * changes.  Temporary files, for sorting, come from the system's own VFS.
 */
#ifndef SQL_SANDBOX_FILE_H
#define SQL_SANDBOX_FILE_H

#include <stdint.h>

#include <sqlite3.h>

struct sandbox_file {
	sqlite3_file base;
	int fd;          /* of the caller */
	uint64_t size;   /* of the file */
	uint64_t stated; /* by its header; at least size */
	uint64_t read;   /* bytes fetched so far */
};

/* The name to give to sqlite3_open_v2(), registered when first asked for; NULL when that fails. */
const char *sandbox_file_vfs(void);

#endif
