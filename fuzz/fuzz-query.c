/*
 * fuzz-query.c - arbitrary questions to a small trace.
 *
 * Whatever is asked, it ends, and says why when there is no answer.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "query/query.h"
#include "trace/writer.h"

#define PATIENCE 3 /* times it is asked whether to stop */
#define ROWS 10000

static int patience;

static bool stop(void *arg)
{
	(void)arg;
	return --patience < 0;
}

static void put_slices(struct trace_writer *w)
{
	uint32_t names[3] = { trace_writer_string(w, "outer", 5), trace_writer_string(w, "a;b", 3), trace_writer_string(w, "x\0y", 3) };

	for (uint32_t i = 0; i < 60; i++) {
		unsigned phase = i % 6 < 3 ? PHASE_BEGIN : PHASE_END;
		struct event_slot slot = {
			.time = 100 + 10 * i,
			.name = phase == PHASE_BEGIN ? names[i % 3] : 0,
			.depth = (uint16_t)(phase == PHASE_BEGIN ? i % 3 : 2 - i % 3),
			.kind = EVENT_SCOPE,
			.flags = EVENT_FLAGS(phase, 0, 0) | EVENT_FLAG_THREAD,
		};

		trace_writer_event(w, 0, &slot, NULL, 0, NULL);
	}
}

static struct trace_reader *make_trace(void)
{
	static const struct trace_clock_pair pairs[2] = { { 10, 2, 100, 100, 100 }, { 2000, 3, 900, 900, 900 } };
	const struct trace_writer_options options = { 0 };
	int fd = memfd_create("trace", 0), keep = dup(fd);
	struct trace_writer *w;
	struct trace_reader *reader;

	if (trace_writer_open(&w, fd, &options, NULL))
		abort();
	trace_writer_process(w, &(struct trace_process){ .pid = 7, .parent = -1, .rank = -1 });
	trace_writer_track(w, &(struct trace_track){ .kind = TRACK_THREAD, .os_id = 8, .device = -1, .parent = -1 });
	trace_writer_clock(w, &(struct trace_clock){ .kind = CLOCK_KIND_TSC, .rate = 2000000000 });
	trace_writer_clock_pairs(w, 0, pairs, 2, NULL);
	put_slices(w);
	if (trace_writer_close(w, NULL, NULL) || trace_reader_open_fd(&reader, keep, "trace", NULL))
		abort();
	return reader;
}

static void read_row(struct sql_query *rows)
{
	for (int i = 0; i < sql_query_columns(rows); i++) {
		const char *text;
		size_t size;
		double number;

		if (sql_query_text(rows, i, &text, &size) && size && text[size - 1] == 0 && text[0] == 1)
			continue;
		(void)sql_query_number(rows, i, &number);
	}
}

static void ask(struct query *q, const char *text)
{
	struct sql_query *rows;
	struct error err = { 0 };
	int rc = query_run(q, text, &rows, &err), count = 0;

	if (rc < 0) {
		if (!err.text[0])
			abort();
		return;
	}
	while ((rc = sql_query_step(rows, &err)) > 0 && ++count < ROWS)
		read_row(rows);
	if (rc < 0 && !err.text[0])
		abort();
	sql_query_free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct trace_reader *reader;
	const struct query_options options = { .stop = stop };
	char *text = malloc(size + 1);
	struct query *q;

	memcpy(text, data, size);
	text[size] = 0;
	reader = reader ? reader : make_trace();
	patience = PATIENCE;
	if (query_open(&q, reader, &options, NULL) == 0) {
		ask(q, text);
		ask(q, text); /* with what was read for the first */
		query_close(q);
	}
	free(text);
	return 0;
}
