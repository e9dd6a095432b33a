/*
 * printer.h - where a command's data goes: standard output or a file.
 *
 *      struct printer out;
 *      printer_open(&out, path, &err);
 *      printer_printf(&out, "%d events\n", n);
 *      return printer_close(&out);
 *
 * Failures are remembered, so that printing code need not check each call; a
 * long loop asks printer_ready() whether it is still worth while.  A reader who
 * went away (EPIPE) is no failure: `inferscope dump t.sbt | head` is fine.
 */
#ifndef CMD_PRINTER_H
#define CMD_PRINTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"

struct printer {
	struct buffer buf; /* append here, then printer_check() or printer_ready() */
	int fd;
	int error; /* the first failure: negative errno */
	struct file_draft draft;
};

void printer_stdout(struct printer *out);
int printer_open(struct printer *out, const char *path, struct error *err); /* NULL and "-" are standard output */

void printer_printf(struct printer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Untrusted text, cut at `columns` (0: not); a cell is also filled up to them. */
void printer_terminal(struct printer *out, const char *text, size_t size, size_t columns);
void printer_cell(struct printer *out, const char *text, size_t size, size_t columns);
size_t printer_width(const char *text, size_t size); /* columns, by code points */
void printer_check(struct printer *out, int rc); /* remembers the result of something appended to buf */

/* Writes when there is enough to write.  False: it failed or nobody reads any more, stop. */
bool printer_ready(struct printer *out);

/* Writes the rest; a file gets its name.  Returns an exit code, having printed what went wrong. */
int printer_close(struct printer *out);
void printer_discard(struct printer *out); /* a file does not appear */

#endif
