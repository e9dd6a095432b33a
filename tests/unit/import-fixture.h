/*
 * import-fixture.h - JSON in, and the events of the trace it becomes as lines
 * of text:
 *
 *      KIND PHASE NAME @TIME PLACE FIELD=NUMBER... METADATA
 */
#ifndef IMPORT_FIXTURE_H
#define IMPORT_FIXTURE_H

#include <inttypes.h>

#include "trace-fixture.h"

#include "base/msgpack.h"
#include "import/chrome.h"
#include "import/events.h"
#include "import/importer.h"

struct imported {
	struct import_report report;
	struct error err;
	int rc;
	struct fixture fixture;
	struct trace_reader *reader;
	char *lines;
};

typedef int (*import_text_fn)(const char *text, size_t size, size_t step, struct output *o, struct error *err);

static inline const char *phase_name(unsigned phase)
{
	static const char *const names[PHASE_COUNT] = { "begin",       "end",       "complete", "instant",
							"async_begin", "async_end", "flow_out", "flow_in" };

	return names[phase];
}

static inline void add_place(struct buffer *out, const struct trace_reader *r, uint32_t number)
{
	static const char *const kinds[] = { "none", "thread", "stream", "task", "process", "device", "states", "host" };
	const struct trace_track *t = trace_reader_track(r, number);
	size_t size;
	const char *name = trace_reader_string(r, t->name, &size);

	buffer_printf(out, " %s:%" PRId64, kinds[t->kind], (int64_t)t->os_id);
	if (size)
		buffer_printf(out, "(%s)", name);
	if (t->process >= 0)
		buffer_printf(out, " pid:%" PRIu64, trace_reader_process(r, (uint32_t)t->process)->pid);
	if (t->device >= 0)
		buffer_printf(out, " dev:%u", trace_reader_device(r, (uint32_t)t->device)->index);
}

static inline void add_fields(struct buffer *out, const struct trace_batch *b, uint32_t i)
{
	for (unsigned f = FIELD_DURATION; f < FIELD_LIMIT; f++) {
		if (!(b->present[i] >> f & 1) || f == FIELD_METADATA)
			continue;
		if (f == FIELD_VALUE) {
			double value;

			memcpy(&value, &b->field[f][i], sizeof value);
			buffer_printf(out, " value=%g", value);
		} else {
			buffer_printf(out, " %s=%" PRIu64, event_field_name(f), b->field[f][i]);
		}
	}
	if (b->metadata && b->metadata[i].size) {
		buffer_printf(out, " ");
		assert_int_equal(msgpack_to_json(b->metadata[i].data, b->metadata[i].size, out), 0);
	}
}

static inline void add_event(struct buffer *out, const struct trace_reader *r, const struct trace_batch *b,
			     uint32_t track, uint32_t i)
{
	size_t size;
	const char *name = trace_reader_string(r, b->name[i], &size);

	buffer_printf(out, "%s %s %s @%" PRId64, event_kind_name(b->kind[i]), phase_name(b->phase[i]),
		      size ? name : "-", b->time[i]);
	add_place(out, r, track);
	add_fields(out, b, i);
	buffer_printf(out, "\n");
}

static inline char *all_lines(struct trace_reader *r)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct buffer out = BUFFER_INIT;

	for (size_t i = 0; i < trace_reader_block_count(r); i++) {
		assert_int_equal(trace_reader_decode(r, i, &batch, NULL), 0);
		for (size_t s = 0; s < batch.segment_count; s++)
			for (uint32_t k = 0; k < batch.segments[s].count; k++)
				add_event(&out, r, &batch, batch.segments[s].track, batch.segments[s].first + k);
	}
	trace_batch_release(&batch);
	buffer_append(&out, "", 1);
	return (char *)out.data;
}

static inline void import_text(struct imported *im, import_text_fn fn, const char *text, size_t size, size_t step,
			       bool lean)
{
	const struct import_options options = { .lean = lean };
	static char path[] = "test.json";
	struct output *o;

	*im = (struct imported){ .report = { .path = path } };
	fixture_open(&im->fixture, NULL);
	assert_int_equal(output_new(&o, im->fixture.w, &options), 0);
	assert_int_equal(output_begin_file(o, path, &im->report, &im->err), 0);
	im->rc = fn(text, size, step, o, &im->err);
	assert_int_equal(output_end_file(o, NULL), 0);
	assert_int_equal(output_end(o, NULL), 0);
	output_free(o);
	fixture_finish(&im->fixture);
	im->reader = fixture_read(&im->fixture);
	im->lines = all_lines(im->reader);
}

static inline void imported_release(struct imported *im)
{
	free(im->lines);
	trace_reader_close(im->reader);
	fixture_close(&im->fixture);
}

/* The same events, whatever the pieces the text comes in; text is JSON with ' for ". */
static inline void import_quoted(struct imported *im, import_text_fn fn, const char *text, bool lean)
{
	size_t size = strlen(text);
	char *copy = strdup(text);
	struct imported pieces;

	for (size_t i = 0; i < size; i++)
		if (copy[i] == '\'')
			copy[i] = '"';
	import_text(im, fn, copy, size, 0, lean);
	for (size_t step = 1; step < 64; step = step * 3 - 1) {
		import_text(&pieces, fn, copy, size, step, lean);
		assert_string_equal(pieces.lines, im->lines);
		assert_int_equal(pieces.report.skipped, im->report.skipped);
		assert_int_equal(pieces.report.repaired, im->report.repaired);
		assert_int_equal(pieces.report.damage_bytes, im->report.damage_bytes);
		imported_release(&pieces);
	}
	free(copy);
}

#endif
