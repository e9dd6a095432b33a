/* import.c - see import.h: which reader a file is for, and what is to be said when there is none. */
#include "import/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "import/importer.h"
#include "import/stranger.h"
#include "import/stream.h"
#include "trace/writer.h"

/* In this order a file is offered to them. */
static const struct importer *const importers[] = {
	&sbt_importer, &nsys_importer, &perfetto_importer, &events_importer, &chrome_importer,
};

struct import {
	struct trace_writer *writer;
	struct output *output;
	struct import_options options;
	struct import_report *reports;
	size_t count, capacity;
};

const char *import_format_name(enum import_format format)
{
	static const char *const names[IMPORT_FORMAT_COUNT] = {
		[IMPORT_UNKNOWN] = "unknown", [IMPORT_SBT] = "sbt",   [IMPORT_CHROME] = "chrome",
		[IMPORT_EVENTS] = "events",   [IMPORT_NSYS] = "nsys", [IMPORT_PERFETTO] = "perfetto",
	};

	return (unsigned)format < IMPORT_FORMAT_COUNT ? names[format] : names[IMPORT_UNKNOWN];
}

void import_reports_release(struct import_reports *reports)
{
	for (size_t i = 0; i < reports->count; i++)
		free(reports->files[i].path);
	free(reports->files);
	*reports = (struct import_reports){ 0 };
}

/* ---- Formats ----------------------------------------------------------------- */

static const struct importer *find_importer(const uint8_t *head, size_t size)
{
	for (size_t i = 0; i < sizeof importers / sizeof *importers; i++)
		if (importers[i]->detect(head, size))
			return importers[i];
	return NULL;
}

static int bad_input(struct error *err, int rc)
{
	if (err && err->exit_code == 0)
		err->exit_code = rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE || rc == -ENOSPC || rc == -EDQUOT ? 4 : 3;
	return rc;
}

/* The first bytes of a file, allocated. */
static int64_t read_head(const char *path, uint8_t **ret, struct error *err)
{
	uint8_t *head = malloc(IMPORT_HEAD + 1);
	int64_t size;

	if (!head)
		return bad_input(err, error_set(err, -ENOMEM, "out of memory"));
	size = stream_peek(path, head, IMPORT_HEAD, err);
	if (size < 0) {
		free(head);
		stranger_unreadable(path, (int)size, err);
		return bad_input(err, (int)size);
	}
	head[size] = 0;
	*ret = head;
	return size;
}

int import_detect(const char *path, struct error *err)
{
	const struct importer *found;
	uint8_t *head = NULL;
	int64_t size = read_head(path, &head, err);

	if (size < 0)
		return (int)size;
	found = find_importer(head, (size_t)size);
	free(head);
	return found ? (int)found->format : IMPORT_UNKNOWN;
}

/* ---- The trace --------------------------------------------------------------- */

int import_open(struct import **ret, int fd, const struct import_options *options, struct error *err)
{
	struct trace_writer_options writing = { .level = 1 };
	struct import *im = calloc(1, sizeof *im);
	struct timespec now;
	int rc;

	if (!im) {
		close(fd);
		return error_set(err, -ENOMEM, "out of memory");
	}
	clock_gettime(CLOCK_REALTIME, &now);
	writing.created_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	im->options = *options;
	rc = trace_writer_open(&im->writer, fd, &writing, err);
	if (rc == 0 && output_new(&im->output, im->writer, options))
		rc = error_set(err, -ENOMEM, "out of memory");
	if (rc) {
		import_abandon(im);
		return rc;
	}
	*ret = im;
	return 0;
}

void import_abandon(struct import *im)
{
	struct import_reports reports;

	if (!im)
		return;
	reports = (struct import_reports){ im->reports, im->count };
	import_reports_release(&reports);
	output_free(im->output);
	trace_writer_abandon(im->writer);
	free(im);
}

/* What a reader could not go on with is damage, as long as it leaves something. */
static void note_failure(struct output *o, const struct error *err)
{
	struct import_report *r = output_report(o);

	output_damage(o, err->offset ? err->offset : r->bytes, 0, err->text);
	r->truncated = true;
}

static int judge(struct import_report *r, int rc, struct error *err)
{
	if (rc == 0 && r->events == 0 && (r->damage_count || r->skipped || r->truncated))
		rc = error_set(err, -EBADMSG, "nothing in %s can be read: %s", r->path,
			       r->damage_count ? r->damage[0].reason : "none of its events makes sense");
	return rc;
}

static int read_file(struct import *im, const struct importer *importer, struct import_report *r, struct error *err)
{
	struct error local = { 0 };
	int rc = output_begin_file(im->output, r->path, r, err);

	if (rc)
		return rc;
	output_format(im->output, importer->format);
	rc = importer->read(r->path, im->output, &im->options, &local);
	if (rc && r->events && local.exit_code != 4 && rc != -ENOMEM && rc != -ENOSPC && output_failure(im->output) == 0) {
		note_failure(im->output, &local);
		rc = 0;
	}
	if (rc && err)
		*err = local;
	rc = judge(r, rc, err);
	return rc ? rc : output_end_file(im->output, err);
}

int import_add(struct import *im, const char *path, struct error *err)
{
	const struct importer *found;
	struct import_report report = { 0 };
	struct error local = { 0 };
	uint8_t *head = NULL;
	int64_t size = read_head(path, &head, err);
	int rc;

	if (size < 0)
		return (int)size;
	found = find_importer(head, (size_t)size);
	rc = found ? 0 : stranger_describe(path, head, (size_t)size, &local);
	free(head);
	report.path = strdup(path);
	if (rc == 0 && (!report.path || ARRAY_GROW(im->reports, im->capacity, im->count + 1)))
		rc = error_set(&local, -ENOMEM, "out of memory");
	if (rc == 0)
		rc = read_file(im, found, &report, &local);
	if (rc) {
		free(report.path);
		bad_input(&local, rc);
		if (err)
			*err = local;
		return rc;
	}
	im->reports[im->count++] = report;
	return 0;
}

int import_close(struct import *im, struct import_reports *ret_reports, struct error *err)
{
	int rc = output_end(im->output, err), last;
	struct import_reports reports = { im->reports, im->count };

	last = trace_writer_close(im->writer, NULL, rc ? NULL : err);
	rc = rc ? rc : last;
	if (rc && err)
		err->exit_code = 4;
	im->writer = NULL;
	if (rc == 0 && ret_reports) {
		*ret_reports = reports;
		im->reports = NULL;
		im->count = 0;
	}
	import_abandon(im);
	return rc;
}
