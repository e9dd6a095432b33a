/* report_file.c - see report_file.h. */
#include "cmd/report_file.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/command.h"

static int write_draft(const char *path, const struct buffer *report, bool keep, struct file_place *place, struct error *err)
{
	struct file_draft draft;
	int rc = file_draft_open(&draft, path, err);

	if (rc < 0)
		return rc;
	rc = file_write_all(draft.fd, report->data, report->size);
	if (rc < 0)
		error_errno(err, rc, "cannot write '%s'", path);
	else if (keep && !place)
		rc = file_keep_older(path, NULL, err); /* somebody may have written it, or written into it */
	if (rc < 0) {
		file_draft_discard(&draft);
		return rc;
	}
	return file_draft_commit_at(&draft, place, err);
}

/* Who ends us now would leave half a file behind under a name of its own; a pipe, though, may have no reader for ever. */
static int write_whole(const char *path, const struct buffer *report, bool keep, struct file_place *place, struct error *err)
{
	struct stat st;
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		sigemptyset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	rc = write_draft(path, report, keep, place, err);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int report_file_write(const char *path, const struct buffer *report, struct error *err)
{
	return write_whole(path, report, true, NULL, err);
}

int report_file_replace(const char *path, const struct buffer *report, struct error *err)
{
	return write_whole(path, report, false, NULL, err);
}

int report_file_write_at(struct file_place *place, const struct buffer *report, struct error *err)
{
	return write_whole(place->path, report, true, place, err);
}

/* By the user's locale, which nothing else of ours depends on. */
static bool knows_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool utf8 = locale && strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;

	if (locale)
		freelocale(locale);
	return utf8;
}

struct report_view_options report_view_for(int fd)
{
	struct report_view_options options = { .color = command_color(fd), .ascii = !knows_utf8() };
	struct winsize size;

	if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		options.columns = size.ws_col;
	return options;
}
