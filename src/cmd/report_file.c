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

const char *const report_formats[] = { "text", "md", "json", "html", NULL };

int report_format_of(const char *path)
{
	static const struct {
		const char *suffix;
		enum report_format format;
	} known[] = {
		{ ".txt", REPORT_TEXT },  { ".md", REPORT_MARKDOWN }, { ".json", REPORT_JSON },
		{ ".html", REPORT_HTML }, { ".htm", REPORT_HTML },
	};
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');

	for (size_t i = 0; dot && i < sizeof known / sizeof known[0]; i++)
		if (strcmp(dot, known[i].suffix) == 0)
			return (int)known[i].format;
	return -1;
}

int report_append(enum report_format format, const struct analysis *a, const struct report_source *source,
		  const struct report_text_options *text, const struct page_options *page, struct buffer *out)
{
	switch (format) {
	case REPORT_JSON:
		return report_json(a, source, out);
	case REPORT_MARKDOWN:
		return report_markdown(a, source, out);
	case REPORT_HTML:
		return page_append(a, source, page, out);
	default:
		return report_text(a, source, text, out);
	}
}

/* Somebody may have written it, or written into it. */
static int keep_older(const char *path, struct error *err)
{
	struct stat st;
	char *old;
	int rc = 0;

	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return 0;
	if (asprintf(&old, "%s.old", path) < 0)
		return error_errno(err, -ENOMEM, "cannot write '%s'", path);
	if (rename(path, old) != 0)
		rc = error_errno(err, -errno, "cannot keep the older report as '%s'", old);
	free(old);
	return rc;
}

static int write_draft(const char *path, const struct buffer *report, struct error *err)
{
	struct file_draft draft;
	int rc = file_draft_open(&draft, path, err);

	if (rc < 0)
		return rc;
	rc = file_write_all(draft.fd, report->data, report->size);
	if (rc < 0)
		error_errno(err, rc, "cannot write '%s'", path);
	else
		rc = keep_older(path, err);
	if (rc < 0) {
		file_draft_discard(&draft);
		return rc;
	}
	return file_draft_commit(&draft, err);
}

/* Who ends us now would leave half a file behind under a name of its own; a pipe, though, may have no reader for ever. */
int report_file_write(const char *path, const struct buffer *report, struct error *err)
{
	struct stat st;
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		sigemptyset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	rc = write_draft(path, report, err);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
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
