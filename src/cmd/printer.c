/* printer.c - see printer.h. */
#include "cmd/printer.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/command.h"
#include "cmd/unfinished.h"

#define WRITE_SIZE (256u << 10)

void printer_stdout(struct printer *out)
{
	*out = (struct printer){ .fd = STDOUT_FILENO, .draft = FILE_DRAFT_INIT };
	signal(SIGPIPE, SIG_IGN); /* EPIPE is told apart from other failures in printer_close() */
}

int printer_open(struct printer *out, const char *path, struct error *err)
{
	int rc;

	printer_stdout(out);
	if (!path || strcmp(path, "-") == 0)
		return 0;
	unfinished_begin();
	rc = file_draft_open(&out->draft, path, err);
	unfinished_is(out->draft.temporary);
	out->fd = out->draft.fd;
	return rc;
}

void printer_check(struct printer *out, int rc)
{
	if (out->error == 0)
		out->error = rc;
}

void printer_printf(struct printer *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printer_check(out, buffer_vprintf(&out->buf, format, args));
	va_end(args);
}

/* Counts code points: good enough for the names people give to scopes. */
size_t printer_width(const char *text, size_t size)
{
	size_t at = 0, width = 0;
	uint32_t c;

	for (; at < size; width++)
		at += text_decode(text + at, size - at, &c);
	return width;
}

void printer_terminal(struct printer *out, const char *text, size_t size, size_t columns)
{
	printer_check(out, text_append_terminal(&out->buf, text, size, columns));
}

void printer_cell(struct printer *out, const char *text, size_t size, size_t columns)
{
	size_t start = out->buf.size, width;

	printer_terminal(out, text, size, columns);
	width = printer_width((const char *)out->buf.data + start, out->buf.size - start);
	if (width < columns)
		printer_printf(out, "%*s", (int)(columns - width), "");
}

static void write_out(struct printer *out)
{
	if (out->error == 0)
		out->error = file_write_all(out->fd, out->buf.data, out->buf.size);
	buffer_clear(&out->buf);
}

bool printer_ready(struct printer *out)
{
	if (out->buf.size >= WRITE_SIZE)
		write_out(out);
	return out->error == 0;
}

int printer_close(struct printer *out)
{
	const char *name = out->draft.path ? out->draft.path : "standard output";
	struct error err = { 0 };
	int status = EXIT_OK;

	write_out(out);
	if (out->error < 0 && out->error != -EPIPE)
		status = fail(EXIT_ENVIRONMENT, "cannot write %s: %s", name, strerror(-out->error));
	else if (out->error == 0 && out->draft.path && file_draft_commit(&out->draft, &err) < 0)
		status = fail_with(&err, EXIT_ENVIRONMENT);
	printer_discard(out);
	return status;
}

void printer_discard(struct printer *out)
{
	file_draft_discard(&out->draft);
	unfinished_over();
	buffer_release(&out->buf);
}
