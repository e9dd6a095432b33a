/* input_stdin.c - see input_stdin.h. */
#include "cmd/input_stdin.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "import/temporary.h"

#define NAME "standard input"
#define BYTES_MOST ((uint64_t)64 << 30)

static char spooled[64]; /* "": nothing was read yet */

static int spool(struct error *err)
{
	int fd;

	if (isatty(STDIN_FILENO)) {
		err->exit_code = EXIT_USAGE;
		return error_set(err, -ENOTTY, NAME " is a terminal; send a trace into it, as in 'inferscope analyze - < trace.sbt'");
	}
	fd = temporary_copy(STDIN_FILENO, NAME, BYTES_MOST, err);
	if (fd >= 0)
		snprintf(spooled, sizeof spooled, "/proc/self/fd/%d", fd);
	return fd;
}

const char *input_stdin_path(const char *path, struct error *err)
{
	if (strcmp(path, "-") != 0)
		return path;
	return spooled[0] || spool(err) >= 0 ? spooled : NULL;
}

const char *input_stdin_name(const char *path)
{
	return strcmp(path, "-") == 0 || (spooled[0] && strcmp(path, spooled) == 0) ? NAME : path;
}

void input_stdin_rename(struct error *err)
{
	struct error old = *err;
	const char *at = spooled[0] ? strstr(old.text, spooled) : NULL;

	if (at)
		snprintf(err->text, sizeof err->text, "%.*s" NAME "%s", (int)(at - old.text), old.text, at + strlen(spooled));
}
