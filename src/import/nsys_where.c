/*
 * nsys_where.c - where events belong, and how they get there.
 *
 * A "global" number of the tool holds, from the top, 8 bits of the machine, 8
 * of the virtual machine, 24 of the process and 24 of the thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/msgpack.h"
#include "import/nsys.h"
#include "import/output_state.h"

#define CONTEXTS_MAX 65536u /* more are not kept: nobody has that many */
#define NO_STREAM 0xffffffffu
#define ON_THE_HOST 0x7fffffff /* the device of a graph that begins there */

/* ---- Processes and threads ----------------------------------------------------- */

uint64_t nsys_pid(int64_t global)
{
	return (uint64_t)global >> 24 & 0xffffff;
}

static uint64_t tid_of(int64_t global)
{
	return (uint64_t)global & 0xffffff;
}

uint32_t nsys_process(struct nsys *n, uint64_t pid)
{
	uint32_t found = output_map_find(&n->processes, pid, 0);

	if (found != OUTPUT_NONE)
		return found;
	found = output_process(n->o, pid);
	if (found != OUTPUT_NONE && output_map_add(&n->processes, pid, 0, found))
		output_fail(n->o, -ENOMEM);
	return found;
}

uint32_t nsys_thread(struct nsys *n, struct sql_query *q, int column)
{
	int64_t global = 0;
	uint32_t found;

	sql_query_integer(q, column, &global);
	found = output_map_find(&n->threads, (uint64_t)global, 0);
	if (found != OUTPUT_NONE)
		return found;
	found = output_thread(n->o, nsys_process(n, nsys_pid(global)), tid_of(global));
	if (found != OUTPUT_NONE && output_map_add(&n->threads, (uint64_t)global, 0, found))
		output_fail(n->o, -ENOMEM);
	return found;
}

uint32_t nsys_process_track(struct nsys *n, struct sql_query *q, int column)
{
	int64_t global = 0;

	sql_query_integer(q, column, &global);
	return output_process_track(n->o, nsys_process(n, nsys_pid(global)));
}

/* ---- Devices and streams -------------------------------------------------------- */

/* Processes may see different devices under the same number. */
uint64_t nsys_device_index(struct nsys *n, uint64_t pid, uint64_t cuda)
{
	uint32_t found = n->has_cuda_devices ? output_map_find(&n->cuda_devices, pid, cuda) : OUTPUT_NONE;

	return found == OUTPUT_NONE ? cuda : found;
}

uint32_t nsys_device(struct nsys *n, uint64_t index)
{
	uint32_t device = output_device(n->o, index);

	if (device != OUTPUT_NONE && output_map_find(&n->device_tracks, index, 1) == OUTPUT_NONE) {
		output_device_describe(n->o, device, DEVICE_CUDA, NULL, 0, NULL, 0);
		output_map_add(&n->device_tracks, index, 1, 0);
	}
	return device;
}

uint32_t nsys_device_track(struct nsys *n, uint64_t index)
{
	uint32_t found = output_map_find(&n->device_tracks, index, 0), device;

	if (found != OUTPUT_NONE)
		return found;
	device = nsys_device(n, index);
	if (device == OUTPUT_NONE)
		return OUTPUT_NONE;
	found = output_add_track(n->o, (struct trace_track){ .kind = TRACK_DEVICE, .process = -1, .device = device, .parent = -1 });
	if (found != OUTPUT_NONE && output_map_add(&n->device_tracks, index, 0, found))
		output_fail(n->o, -ENOMEM);
	return found;
}

void nsys_context(struct nsys *n, uint64_t pid, uint64_t context, uint64_t index)
{
	if (n->contexts.used >= CONTEXTS_MAX || index >= ON_THE_HOST || output_map_find(&n->contexts, pid, context) != OUTPUT_NONE)
		return;
	if (output_map_add(&n->contexts, pid, context, (uint32_t)index))
		output_fail(n->o, -ENOMEM);
}

/* Streams of a second context of a process on the same device may have the numbers of the first one's. */
static uint64_t stream_number(struct nsys *n, uint64_t pid, uint64_t index, uint64_t context, uint64_t stream)
{
	uint32_t first = output_map_find(&n->first_contexts, pid, index), own = (uint32_t)context & 0x7fffffff;

	if (first == OUTPUT_NONE) {
		if (n->first_contexts.used < CONTEXTS_MAX && output_map_add(&n->first_contexts, pid, index, own))
			output_fail(n->o, -ENOMEM);
		return stream;
	}
	return first == own ? stream : stream | context << 32;
}

uint32_t nsys_stream(struct nsys *n, struct sql_query *q, const int columns[4], bool by_context)
{
	int64_t device = 0, context = 0, stream = 0, global = 0;
	uint64_t pid, index;
	uint32_t known;
	bool has_process = sql_query_integer(q, columns[3], &global);
	bool has_device = sql_query_integer(q, columns[0], &device);

	sql_query_integer(q, columns[1], &context);
	if (!sql_query_integer(q, columns[2], &stream) || stream == NO_STREAM || stream < 0)
		return OUTPUT_NONE;
	pid = nsys_pid(global);
	known = output_map_find(&n->contexts, pid, (uint64_t)context);
	if ((by_context || !has_device || device < 0 || device >= ON_THE_HOST) && known != OUTPUT_NONE)
		index = known;
	else
		index = nsys_device_index(n, pid, (uint64_t)device & 0x7fffffff);
	return output_stream(n->o, nsys_device(n, index), has_process ? nsys_process(n, pid) : OUTPUT_NONE,
			     stream_number(n, pid, index, (uint64_t)context, (uint64_t)stream));
}

void nsys_where_release(struct nsys *n)
{
	struct output_map *const maps[] = { &n->threads,       &n->processes,      &n->cuda_devices, &n->contexts,
					    &n->first_contexts, &n->device_tracks, &n->metric_devices, &n->metrics,
					    &n->records,        &n->domains,       &n->categories };

	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		output_map_release(maps[i]);
	buffer_release(&n->names);
	free(n->record_calls);
}

/* ---- Events ---------------------------------------------------------------------- */

struct import_event nsys_event(const struct nsys_row *row, enum event_kind kind, uint32_t track, uint32_t name)
{
	struct import_event e;

	e.kind = (uint8_t)kind;
	e.phase = row->has_end ? PHASE_COMPLETE : PHASE_BEGIN;
	e.track = track;
	e.name = name;
	e.time = row->start;
	e.present = 0;
	e.metadata = NULL;
	e.metadata_size = 0;
	if (row->has_end)
		import_event_set(&e, FIELD_DURATION, (uint64_t)(row->end - row->start));
	return e;
}

void nsys_field(struct import_event *e, enum event_field field, struct sql_query *q, int column)
{
	int64_t value;

	if (sql_query_integer(q, column, &value) && (value >= 0 || field == FIELD_POINTER))
		import_event_set(e, field, (uint64_t)value);
}

int nsys_put(struct nsys *n, struct import_event *e, struct error *err)
{
	if (n->metadata.size > 1) {
		e->metadata = n->metadata.data;
		e->metadata_size = n->metadata.size;
	}
	return output_event(n->o, e, err);
}

/* ---- Arguments --------------------------------------------------------------------- */

#define EMPTY_MAP 0x80u /* up to 15 pairs, the number of which is in the low bits */

void nsys_properties(struct nsys *n)
{
	static const uint8_t empty = EMPTY_MAP;

	buffer_clear(&n->metadata);
	if (buffer_append(&n->metadata, &empty, 1))
		output_fail(n->o, -ENOMEM);
}

void nsys_arguments(struct nsys *n)
{
	buffer_clear(&n->metadata);
	if (!output_lean(n->o))
		nsys_properties(n);
}

/* Whether there is to be one; its key is then written. */
static bool begin_argument(struct nsys *n, const char *key)
{
	if (n->metadata.size == 0 || n->metadata.data[0] == (EMPTY_MAP | 15))
		return false;
	if (msgpack_write_text(&n->metadata, key)) {
		output_fail(n->o, -ENOMEM);
		return false;
	}
	n->metadata.data[0]++;
	return true;
}

void nsys_argument_integer(struct nsys *n, const char *key, int64_t value)
{
	if (begin_argument(n, key) && msgpack_write_int(&n->metadata, value))
		output_fail(n->o, -ENOMEM);
}

void nsys_argument_number(struct nsys *n, const char *key, double value)
{
	if (begin_argument(n, key) && msgpack_write_double(&n->metadata, value))
		output_fail(n->o, -ENOMEM);
}

void nsys_argument_text(struct nsys *n, const char *key, const char *text, size_t size)
{
	if (begin_argument(n, key) && msgpack_write_string(&n->metadata, text, size))
		output_fail(n->o, -ENOMEM);
}

void nsys_argument_cell(struct nsys *n, const char *key, struct sql_query *q, int column)
{
	const char *text;
	size_t size;
	int64_t integer;
	double number;

	if (n->metadata.size == 0)
		return;
	if (sql_query_integer(q, column, &integer))
		nsys_argument_integer(n, key, integer);
	else if (sql_query_number(q, column, &number))
		nsys_argument_number(n, key, number);
	else if (sql_query_text(q, column, &text, &size))
		nsys_argument_text(n, key, text, size);
}
