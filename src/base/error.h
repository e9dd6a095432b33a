/*
 * error.h - how a function below cmd/ reports failure.
 *
 * A function that can fail returns 0 or a negative errno value and, when the
 * caller passed a struct error, leaves one sentence there: what happened,
 * where, and what to do.  Results are untouched on failure.  Nothing below
 * cmd/ prints or exits.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdint.h>

struct error {
	int code;        /* negative errno, 0 when nothing failed */
	int exit_code;   /* what the command should exit with; 0: let the command decide */
	uint64_t offset; /* byte offset in the file, for readers */
	char text[512];  /* one sentence without a full stop at the end */
};

/* Fills err (which may be NULL) and returns code, so that it can be returned in one line. */
int error_set(struct error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same, ending in ": " and the description of the errno value. */
int error_errno(struct error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
