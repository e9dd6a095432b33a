/* input.c - see input.h. */
#include "cmd/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/command.h"
#include "cmd/import_progress.h"
#include "cmd/input_paths.h"
#include "cmd/input_stdin.h"
#include "import/temporary.h"
#include "trace/reader.h"

void input_about_release(struct input_about *about)
{
	free(about->title);
	import_reports_release(&about->reports);
	*about = (struct input_about){ 0 };
}

/* ---- Messages ------------------------------------------------------------------ */

static int cannot_read(const char *path, struct error *err)
{
	int status = err->exit_code ? err->exit_code : EXIT_INPUT;

	input_stdin_rename(err);
	path = input_stdin_name(path);
	if (strstr(err->text, path))
		return fail(status, "%s", err->text);
	if (err->offset > 0)
		return fail(status, "%s: %s, at byte %llu", path, err->text, (unsigned long long)err->offset);
	return fail(status, "%s: %s", path, err->text);
}

/* What an import could not read, as one warning for a file. */
static void warn_of_import(const struct import_report *r)
{
	const struct import_damage *first = r->damage;
	uint64_t unread = r->skipped - r->left_out;
	const char *path = input_stdin_name(r->path);
	char count[TEXT_COUNT_SIZE], where[40] = "";

	if (first->offset || first->size) /* a database has tables and rows instead */
		snprintf(where, sizeof where, " at byte %llu", (unsigned long long)first->offset);
	if (r->left_out > 0)
		warning("%s: %s left out: %s", path, text_count(count, r->left_out, "event is", "events are"), r->left_out_reason);
	if (unread > 0 && r->damage_count > 0)
		warning("%s: %s could not be read, first%s: %s", path, text_count(count, unread, "event", "events"), where, first->reason);
	else if (unread > 0)
		warning("%s: %s could not be read", path, text_count(count, unread, "event", "events"));
	else if (r->damage_count > 0)
		warning("%s: %s%s: %s", path, r->truncated ? "it is cut off" : "it is damaged", where, first->reason);
	else if (r->truncated)
		warning("%s: it is cut off; what there is has been read", path);
}

void input_warn_of_damage(const struct trace_reader *reader, const char *path)
{
	const struct trace_report *report = trace_reader_report(reader);
	char bytes[TEXT_COUNT_SIZE], places[TEXT_COUNT_SIZE];

	path = input_stdin_name(path);
	if (report->damage_count > 0)
		warning("%s: %s at %s could not be read, first at byte %llu: %s", path,
			text_count(bytes, report->damage_bytes, "byte", "bytes"),
			text_count(places, report->damage_count, "place", "places"), (unsigned long long)report->damage[0].offset,
			report->damage[0].reason);
}

int input_check_readable(const struct trace_reader *reader, const char *path, unsigned long long decoded)
{
	size_t blocks = trace_reader_block_count(reader);
	char count[TEXT_COUNT_SIZE];

	if (decoded > 0 || blocks == 0)
		return 0;
	return fail(EXIT_INPUT, "%s: it has %s of events, of which none could be read, the first at byte %llu", input_stdin_name(path),
		    text_count(count, blocks, "block", "blocks"),
		    (unsigned long long)trace_reader_block(reader, 0)->offset);
}

int input_check_any(struct trace_reader *reader, const char *path)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	size_t blocks = trace_reader_block_count(reader), decoded = 0;

	for (size_t i = 0; i < blocks && decoded == 0; i++)
		decoded = trace_reader_decode(reader, i, &batch, &(struct error){ 0 }) != -EBADMSG;
	trace_batch_release(&batch);
	return input_check_readable(reader, path, decoded);
}

/* ---- An SBT file ---------------------------------------------------------------- */

static int open_sbt(struct trace_reader **ret, const char *path, struct error *err)
{
	const struct import_options options = { 0 };
	char damage[160];
	int fd = temporary_unpacked(path, &options, damage, err);

	if (fd < 0)
		return fd;
	if (damage[0])
		warning("%s: %s", input_stdin_name(path), damage);
	return trace_reader_open_fd(ret, fd, path, err);
}

/* ---- Imports --------------------------------------------------------------------- */

static const char *format_of(const struct import_reports *reports)
{
	for (size_t i = 1; i < reports->count; i++)
		if (reports->files[i].format != reports->files[0].format)
			return "mixed";
	return import_format_name(reports->count ? reports->files[0].format : IMPORT_UNKNOWN);
}

/* A file of which nothing can be read is said and passed over, as long as another one can. */
static int add_files(struct import *im, const struct input_paths *list, struct import_progress *progress, struct error *err)
{
	size_t failed = 0;

	for (size_t i = 0; i < list->count; i++) {
		int rc;

		*err = (struct error){ 0 };
		rc = import_add(im, list->paths[i], err);
		import_progress_next(progress);
		if (rc == 0)
			continue;
		if (err->exit_code == EXIT_ENVIRONMENT || list->count == 1)
			return rc;
		import_progress_end(progress);
		input_stdin_rename(err);
		warning("%s", err->text);
		failed++;
	}
	if (failed < list->count)
		return 0;
	err->exit_code = EXIT_INPUT;
	return error_set(err, -EBADMSG, "none of the %zu files could be read", list->count);
}

int input_import(int fd, const struct input_paths *list, const struct input_options *options, struct import_reports *ret,
		 struct error *err)
{
	struct import_progress progress = IMPORT_PROGRESS_INIT(list->count);
	const struct import_options importing = { .lean = options->lean,
						  .progress = import_progress_step,
						  .progress_arg = &progress };
	struct import *im;
	int rc = import_open(&im, fd, &importing, err);

	if (rc)
		return rc;
	rc = add_files(im, list, &progress, err);
	import_progress_end(&progress);
	if (rc) {
		input_stdin_rename(err);
		import_abandon(im);
		return rc;
	}
	rc = import_close(im, ret, err);
	for (size_t i = 0; rc == 0 && i < ret->count; i++)
		warn_of_import(&ret->files[i]);
	return rc;
}

static int open_imported(struct trace_reader **ret, const struct input_paths *list, const struct input_options *options,
			 struct import_reports *reports, struct error *err)
{
	int fd = temporary_open(err), writing = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3), rc;

	if (writing < 0) {
		if (fd >= 0)
			close(fd);
		return fd < 0 ? fd : error_errno(err, -errno, "cannot use a temporary file");
	}
	rc = input_import(writing, list, options, reports, err);
	if (rc) {
		close(fd);
		return rc == -ENOSPC ? error_set(err, rc,
						 "there is no room for the temporary file of an import; set TMPDIR to a "
						 "folder that has some, or use 'inferscope import' and its --output")
				     : rc;
	}
	rc = trace_reader_open_fd(ret, fd, list->paths[0], err);
	if (rc)
		import_reports_release(reports);
	return rc;
}

/* ---- Whatever it is --------------------------------------------------------------- */

static int open_list(struct trace_reader **ret, const struct input_paths *list, const struct input_options *options,
		     struct input_about *about, struct error *err)
{
	struct error ignored = { 0 };
	int format = list->count == 1 ? import_detect(list->paths[0], &ignored) : IMPORT_UNKNOWN;

	about->format = import_format_name(IMPORT_SBT);
	about->file_count = list->count;
	if (format == IMPORT_SBT)
		return open_sbt(ret, list->paths[0], err);
	/* an SBT file whose first bytes are damaged is told by its blocks */
	if (list->count == 1 && format == IMPORT_UNKNOWN && trace_reader_open(ret, list->paths[0], &ignored) == 0)
		return 0;
	if (open_imported(ret, list, options, &about->reports, err))
		return err->code;
	about->format = format_of(&about->reports);
	return 0;
}

static char *make_title(char **paths, int count, size_t files)
{
	struct buffer title = BUFFER_INIT;
	int rc = buffer_printf(&title, "%s", input_stdin_name(paths[0]));

	if (rc == 0 && count > 1)
		rc = buffer_printf(&title, " and %d more", count - 1);
	if (rc == 0 && files > 1 && (size_t)count != files)
		rc = buffer_printf(&title, " (%zu files)", files);
	if (rc)
		buffer_release(&title);
	return (char *)title.data;
}

int input_spare(const char *path, const char *output)
{
	struct stat x, y;

	if (!output || stat(path, &x) < 0 || stat(output, &y) < 0 || x.st_dev != y.st_dev || x.st_ino != y.st_ino)
		return 0;
	return fail(EXIT_USAGE, "%s is to be read and cannot be written at the same time; give another --output", output);
}

static void warn_of_repeated(const struct input_paths *list)
{
	const char *one = input_stdin_name(list->first_repeated), *other = list->repeats ? input_stdin_name(list->repeats) : "another";

	if (list->repeated == 1 && strcmp(one, other) == 0)
		warning("%s is given twice and is read once", one);
	else if (list->repeated == 1)
		warning("%s is the same file as %s and is read once", one, other);
	else
		warning("%zu files are given more than once and are read once, the first is %s, which is %s", list->repeated, one, other);
}

int input_expand(struct input_paths *list, char **paths, int count, const char *output)
{
	int status = 0;

	for (int i = 0; i < count; i++) {
		struct error err = { 0 };

		if (input_paths_add(list, paths[i], output, &err))
			return cannot_read(paths[i], &err);
	}
	for (size_t i = 0; status == 0 && i < list->count; i++)
		status = input_spare(list->paths[i], output);
	if (status)
		return status;
	if (list->repeated)
		warn_of_repeated(list);
	if (list->ignored)
		warning("%zu file%s no trace%s and left out, the first is %s", list->ignored,
			list->ignored == 1 ? " is" : "s are", list->ignored == 1 ? "" : "s", list->first_ignored);
	return 0;
}

int input_open_many(struct trace_reader **ret, char **paths, int count, const struct input_options *options,
		    struct input_about *ret_about)
{
	struct input_paths list = INPUT_PATHS_INIT;
	struct input_about about = { 0 };
	struct trace_reader *reader;
	struct error err = { 0 };
	int status = input_expand(&list, paths, count, options->output);

	if (status == 0 && !(about.title = make_title(paths, count - (int)list.repeated, list.count)))
		status = fail(EXIT_ENVIRONMENT, "out of memory");
	if (status == 0 && open_list(&reader, &list, options, &about, &err))
		status = cannot_read(list.count == 1 ? list.paths[0] : about.title, &err);
	input_paths_release(&list);
	if (status) {
		input_about_release(&about);
		return status;
	}
	*ret = reader;
	*ret_about = about;
	return 0;
}

int input_open(struct trace_reader **ret, const char *path)
{
	const struct input_options options = { .lean = false };
	struct error err = { 0 };
	const char *file = input_stdin_path(path, &err);
	struct input_paths list = { .paths = &(char *){ (char *)file }, .count = 1 };
	struct input_about about = { 0 };
	int rc = file ? open_list(ret, &list, &options, &about, &err) : err.code;

	input_about_release(&about);
	return rc ? cannot_read(path, &err) : 0;
}
