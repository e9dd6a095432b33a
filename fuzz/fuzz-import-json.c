/*
 * fuzz-import-json.c - JSON of any content, all at once and in small pieces,
 * which must give the same.  The first byte says which reader and how.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/chrome.h"
#include "import/events.h"
#include "trace/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was written can be read, all of it. */
static void check_trace(int fd, uint64_t events)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_reader *r;
	struct error err = { 0 };
	uint64_t count = 0;

	if (trace_reader_open_fd(&r, fd, "fuzz", &err))
		abort();
	for (size_t i = 0; i < trace_reader_block_count(r); i++) {
		if (trace_reader_decode(r, i, &batch, &err))
			abort();
		count += batch.count;
	}
	if (count != events || trace_reader_report(r)->damage_count)
		abort();
	trace_batch_release(&batch);
	trace_reader_close(r);
}

static struct import_report import(uint8_t how, const char *text, size_t size, size_t step)
{
	const struct import_options options = { .lean = how & 2 };
	const struct trace_writer_options writing = { .created_ns = 1 };
	struct import_report report = { .path = (char[]){ "fuzz" } };
	struct error err = { 0 };
	struct trace_writer *w;
	struct output *o;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || trace_writer_open(&w, dup(fd), &writing, &err) || output_new(&o, w, &options))
		abort();
	if (output_begin_file(o, report.path, &report, &err))
		abort();
	if (how & 1)
		events_read_text(text, size, step, o, &err);
	else
		chrome_read_text(text, size, step, o, &err);
	if (output_end_file(o, &err) || output_end(o, &err))
		abort();
	output_free(o);
	if (trace_writer_close(w, NULL, &err))
		abort();
	check_trace(fd, report.events);
	return report;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct import_report whole, pieces;

	if (size < 1)
		return 0;
	whole = import(data[0], (const char *)data + 1, size - 1, 0);
	pieces = import(data[0], (const char *)data + 1, size - 1, 1 + (data[0] >> 2));
	if (whole.events != pieces.events || whole.skipped != pieces.skipped || whole.repaired != pieces.repaired ||
	    whole.truncated != pieces.truncated || whole.damage_bytes != pieces.damage_bytes)
		abort();
	return 0;
}
