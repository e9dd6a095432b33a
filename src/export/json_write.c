/* json_write.c - all of it, in order; see json_export.h. */
#include <stdlib.h>

#include "export/formats.h"
#include "export/json_export.h"
#include "rows/row_walk.h"

/* Whether the trace has arrows of that kind itself. */
static bool has_launch_arrows(const struct trace_reader *r)
{
	for (uint32_t i = 0; i < trace_reader_string_count(r); i++) {
		size_t size;
		const char *text = trace_reader_string(r, i, &size);

		if (json_is_launch(text, size))
			return true;
	}
	return false;
}

static int prepare(struct json_export *x)
{
	const uint8_t *raw;
	size_t size;

	x->imported = trace_reader_info_raw(x->reader, "sources", &raw, &size) == 0;
	x->launches = !x->kineto || !has_launch_arrows(x->reader);
	x->call_names = calloc(trace_reader_string_count(x->reader) + 1, 1);
	x->correlated = calloc(trace_reader_track_count(x->reader) + 1, sizeof *x->correlated);
	x->sequences = calloc(trace_reader_track_count(x->reader) + 1, sizeof *x->sequences);
	x->launched = calloc(trace_reader_track_count(x->reader) + 1, sizeof *x->launched);
	if (!x->call_names || !x->correlated || !x->launched || !x->sequences)
		return -ENOMEM;
	return json_places_init(&x->places, x->reader, x->kineto);
}

static void release(struct json_export *x)
{
	json_places_release(&x->places);
	json_lanes_release(&x->lanes);
	json_calls_release(&x->calls);
	free(x->call_names);
	free(x->correlated);
	free(x->launched);
	free(x->sequences);
}

/* Findings mean that the trace is in memory anyway; then the slices may be, too, and those that cross are found in any order. */
static int gather(struct json_export *x, const struct row_filter *filter, struct error *err)
{
	uint64_t decoded;
	int rc = 0;

	if (x->kineto || !x->options->analysis)
		return 0;
	rc = row_walk(x->reader, filter, json_gather_row, x, &decoded, err);
	return rc < 0 ? rc : json_lanes_settle(&x->lanes);
}

static int write_all(struct json_export *x, struct error *err)
{
	struct row_filter filter = x->options->filter;
	uint64_t decoded;
	int rc;

	filter.whole_scopes = true;
	rc = gather(x, &filter, err);
	if (rc < 0)
		return rc;
	json_head_to(x);
	filter.progress = x->options->progress;
	filter.progress_arg = x->options->progress_arg;
	rc = row_walk(x->reader, &filter, json_write_row, x, &decoded, err);
	if (rc < 0)
		return rc;
	if (x->kineto)
		json_steps_to(x);
	else
		json_findings_to(x);
	json_names_to(x->out, &x->places, x->begun);
	JSON(x->out, "\n]}\n");
	return x->out->error;
}

int json_export_write(struct trace_reader *reader, const struct export_options *options, struct export_out *out, bool kineto,
		      struct error *err)
{
	struct json_export x = { .reader = reader, .options = options, .out = out, .kineto = kineto };
	int rc = prepare(&x);

	if (rc < 0)
		error_errno(err, rc, "cannot export");
	else
		rc = write_all(&x, err);
	release(&x);
	return rc;
}

int export_chrome(struct trace_reader *reader, const struct export_options *options, struct export_out *out, struct error *err)
{
	return json_export_write(reader, options, out, false, err);
}

int export_kineto(struct trace_reader *reader, const struct export_options *options, struct export_out *out, struct error *err)
{
	return json_export_write(reader, options, out, true, err);
}
