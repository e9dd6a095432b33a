/* export.c - the table of formats, and what is the same for all of them. */
#include "export/export.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "export/depths.h"
#include "export/formats.h"
#include "timeline/timeline.h"

/* The four switches are compressed, binary, findings and by_event. */
static const struct export_format formats[] = {
	{ "perfetto", "Perfetto's protobuf (ui.perfetto.dev)", ".pftrace .perfetto-trace .pb", false, true, true, true, export_perfetto },
	{ "chrome", "Chrome's JSON (chrome://tracing, ui.perfetto.dev)", ".json .trace.json", false, false, true, true, export_chrome },
	{ "kineto", "Kineto's JSON, as torch.profiler writes it (HTA, TensorBoard)", ".pt.trace.json .kineto.json", false, false, true,
	  true, export_kineto },
	{ "speedscope", "speedscope's JSON (speedscope.app)", ".speedscope.json .speedscope", false, false, false, false, export_speedscope },
	{ "collapsed", "stacks on lines (flamegraph.pl, inferno)", ".collapsed .folded", false, false, false, false, export_collapsed },
	{ "pprof", "pprof's protobuf", ".pb.gz .pprof", true, true, false, false, export_pprof },
	{ "firefox", "the Firefox Profiler's JSON (profiler.firefox.com)", ".firefox.json", false, false, false, false, export_firefox },
	{ NULL, NULL, NULL, false, false, false, false, NULL }, /* the end */
};

const struct export_format *export_format_at(size_t i)
{
	return i < sizeof formats / sizeof formats[0] && formats[i].name ? &formats[i] : NULL;
}

const struct export_format *export_format_named(const char *name)
{
	for (size_t i = 0; export_format_at(i); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

/* ---- By the file's name ------------------------------------------------------- */

static size_t without_packing(const char *path)
{
	size_t size = strlen(path);

	return size > 3 && strcmp(path + size - 3, ".gz") == 0 ? size - 3 : size;
}

/* How long the longest of the suffixes is that the name ends with; 0: with none. */
static size_t match(const char *suffixes, const char *path, size_t size)
{
	size_t best = 0;

	for (size_t n; *suffixes; suffixes += n + (suffixes[n] == ' ')) {
		n = strcspn(suffixes, " ");
		if (n > best && n < size && memcmp(path + size - n, suffixes, n) == 0)
			best = n;
	}
	return best;
}

enum export_packing export_packing_of(const struct export_format *format, const char *path)
{
	return format->compressed || (path && without_packing(path) < strlen(path)) ? EXPORT_GZIP : EXPORT_PLAIN;
}

const struct export_format *export_format_of_file(const char *path)
{
	const struct export_format *found = NULL;
	size_t whole = strlen(path), bare = without_packing(path), best = 0;

	for (size_t i = 0; export_format_at(i); i++) {
		size_t a = match(formats[i].suffixes, path, whole), b = match(formats[i].suffixes, path, bare);

		a = a > b ? a : b;
		if (a > best) {
			best = a;
			found = &formats[i];
		}
	}
	return found;
}

/* ---- Steps --------------------------------------------------------------------- */

static int no_such_step(const struct timeline *t, const struct export_options *options, struct error *err)
{
	int64_t least = INT64_MAX, most = INT64_MIN;
	char last[32] = "on";

	for (uint32_t i = 0; i < t->step_count; i++) {
		least = t->steps[i].number < least ? t->steps[i].number : least;
		most = t->steps[i].number > most ? t->steps[i].number : most;
	}
	if (options->last_step < INT64_MAX)
		snprintf(last, sizeof last, "to %lld", (long long)options->last_step);
	return error_set(err, -EINVAL, "the trace has no step from %lld %s; it has %u, numbered from %lld to %lld",
			 (long long)options->first_step, last, t->step_count, (long long)least, (long long)most);
}

/* From the begin of the first of the steps to the end of the last, as the filter counts time. */
static int set_steps(struct row_filter *filter, const struct timeline *t, const struct export_options *options, struct error *err)
{
	int64_t from = INT64_MAX, to = INT64_MIN;

	for (uint32_t i = 0; i < t->step_count; i++) {
		const struct timeline_step *step = &t->steps[i];

		if (step->number < options->first_step || step->number > options->last_step)
			continue;
		from = step->begin < from ? step->begin : from;
		to = step->end > to ? step->end : to;
	}
	if (from >= to) {
		err->exit_code = 2;
		return t->step_count == 0 ? error_set(err, -EINVAL, "the trace has no steps") : no_such_step(t, options, err);
	}
	filter->windowed = true;
	if (__builtin_add_overflow(from, t->origin_ns, &filter->from_ns))
		filter->from_ns = INT64_MIN;
	if (__builtin_add_overflow(to, t->origin_ns, &filter->to_ns))
		filter->to_ns = INT64_MAX;
	return 0;
}

static int steps_window(struct trace_reader *reader, const struct export_options *options, struct row_filter *ret, struct error *err)
{
	struct timeline_options how = { .progress = options->progress, .progress_arg = options->progress_arg };
	struct timeline *t;
	int rc = timeline_build(&t, reader, &how, err);

	if (rc < 0)
		return rc;
	rc = set_steps(ret, t, options, err);
	timeline_free(t);
	return rc;
}

int export_trace(struct trace_reader *reader, const struct export_format *format, const struct export_options *options,
		 struct export_out *out, struct error *err)
{
	struct export_options with = *options;
	struct row_set deep = { 0 };
	int rc = options->first_step >= 0 ? steps_window(reader, options, &with.filter, err) : 0;

	if (rc == 0 && format->by_event)
		rc = depths_find(&deep, &with.filter, reader, options, err);
	if (rc == 0)
		rc = format->write(reader, &with, out, err);
	row_set_release(&deep);
	return rc < 0 ? rc : export_out_finish(out);
}
