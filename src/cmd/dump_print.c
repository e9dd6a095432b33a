/* dump_print.c - see dump_print.h. */
#include "cmd/dump_print.h"

#include <inttypes.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/msgpack.h"
#include "base/text.h"

#define BIT(field) (UINT64_C(1) << (field))
#define GRID (BIT(FIELD_GRID_X) | BIT(FIELD_GRID_Y) | BIT(FIELD_GRID_Z))
#define BLOCK (BIT(FIELD_BLOCK_X) | BIT(FIELD_BLOCK_Y) | BIT(FIELD_BLOCK_Z))

#define FIRST_FIELDS 11u /* plain ones of version 1.0; those that came later have columns at the end */

static const char *const flag_names[] = { "enclosing", "unfinished", "begin_lost", "unmatched", "continues", "goes_on" };
#define FLAG_COUNT (sizeof flag_names / sizeof flag_names[0])

/* Where a row belongs, by the names people know. */
struct place {
	const struct trace_track *track;
	const struct trace_process *process;
	const struct trace_device *device;
};

static struct place place_of(const struct row *row, const struct trace_reader *reader)
{
	struct place place = { .track = trace_reader_track(reader, row->track) };

	if (place.track && place.track->process >= 0)
		place.process = trace_reader_process(reader, (uint32_t)place.track->process);
	if (place.track && place.track->device >= 0)
		place.device = trace_reader_device(reader, (uint32_t)place.track->device);
	return place;
}

static const char *track_id_name(const struct trace_track *track)
{
	switch (track->kind) {
	case TRACK_THREAD:
	case TRACK_STATES:
		return "thread_id";
	case TRACK_STREAM:
		return "stream_id";
	case TRACK_TASK:
		return "task_id";
	default:
		return NULL;
	}
}

static void put_triple(struct json_writer *j, const char *key, const uint64_t *xyz)
{
	json_open(j, key, '[');
	json_unsigned(j, NULL, xyz[0]);
	json_unsigned(j, NULL, xyz[1]);
	json_unsigned(j, NULL, xyz[2]);
	json_close(j);
}

static double as_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

static void put_times(struct json_writer *j, const struct row *row)
{
	if (row->has_start)
		json_us(j, "start_us", row->start_ns);
	if (row->has_end)
		json_us(j, "end_us", row->end_ns);
	else if (row->flags & (ROW_UNFINISHED | ROW_CONTINUES))
		json_null(j, "end_us");
}

/* Text of the trace, where it has any. */
static void put_text(struct json_writer *j, const char *key, const struct trace_reader *reader, uint32_t string)
{
	size_t size;
	const char *text = trace_reader_string(reader, string, &size);

	if (size)
		json_string(j, key, text, size);
}

static void put_place(struct json_writer *j, const struct row *row, const struct trace_reader *reader)
{
	struct place place = place_of(row, reader);
	size_t size;
	const char *host;

	if (place.track && track_id_name(place.track))
		json_unsigned(j, track_id_name(place.track), place.track->os_id);
	if (place.track && place.track->kind == TRACK_TASK)
		put_text(j, "task", reader, place.track->name);
	if (place.track && row_outside(place.track))
		json_text(j, "track", row_outside(place.track));
	if (place.process)
		json_unsigned(j, "process_id", place.process->pid);
	if (row->cpu != EVENT_CPU_UNKNOWN)
		json_unsigned(j, "cpu_id", row->cpu);
	if (place.device)
		json_unsigned(j, "device_id", place.device->index);
	if (place.process && trace_reader_host_count(reader) > 1) {
		const struct trace_host *where = trace_reader_host(reader, place.process->host);

		host = trace_reader_string(reader, where ? where->name : 0, &size);
		json_string(j, "host", host, size);
	}
}

static void put_function(struct json_writer *j, const struct row *row, const struct trace_reader *reader)
{
	const struct trace_frame *frame = trace_reader_function(reader, row->name);

	if (!frame)
		return;
	put_text(j, "module", reader, frame->module);
	put_text(j, "file", reader, frame->file);
	if (frame->line)
		json_unsigned(j, "line", frame->line);
}

static void put_reason(struct json_writer *j, uint64_t reason)
{
	const char *name = reason < LOST_REASON_COUNT ? event_lost_reason_name((unsigned)reason) : NULL;

	if (name)
		json_text(j, "reason", name);
	else
		json_unsigned(j, "reason", reason);
}

/* "pageable", or NULL for what is not known. */
static const char *memory_kind(const struct row *row, bool to)
{
	uint64_t kinds = row->present & BIT(FIELD_MEMORY_KIND) ? row->field[FIELD_MEMORY_KIND] : 0;
	unsigned kind = to ? MEMORY_KIND_TO(kinds) : MEMORY_KIND_FROM(kinds);

	return kind == MEMORY_UNKNOWN ? NULL : event_memory_kind_name(kind);
}

static void put_fields(struct json_writer *j, const struct row *row)
{
	const struct row_field *plain;
	size_t i;

	if (row->present & BIT(FIELD_VALUE))
		json_number(j, "value", as_double(row->field[FIELD_VALUE]));
	else if (row->present & BIT(FIELD_INTEGER))
		json_integer(j, "value", (int64_t)row->field[FIELD_INTEGER]);
	if (row->present & BIT(FIELD_DEPTH) && row->depth != EVENT_DEPTH_UNMATCHED)
		json_unsigned(j, "depth", row->depth);
	if (row->present & GRID)
		put_triple(j, "grid_dim", &row->field[FIELD_GRID_X]);
	if (row->present & BLOCK)
		put_triple(j, "block_dim", &row->field[FIELD_BLOCK_X]);
	for (i = 0; (plain = row_plain_field(i)); i++)
		if (row->present & BIT(plain->field))
			json_unsigned(j, plain->name, row->field[plain->field]);
	if (memory_kind(row, false))
		json_text(j, "memory_from", memory_kind(row, false));
	if (memory_kind(row, true))
		json_text(j, "memory_to", memory_kind(row, true));
	if (row->present & BIT(FIELD_REASON))
		put_reason(j, row->field[FIELD_REASON]);
}

/* Metadata that is not MessagePack (nothing in a trace is to be trusted) is null. */
static void put_metadata(struct json_writer *j, const struct trace_blob *blob)
{
	struct buffer text = BUFFER_INIT;

	if (blob->size == 0)
		return;
	if (msgpack_to_json(blob->data, blob->size, &text) == 0)
		json_raw(j, "metadata", (const char *)text.data, text.size);
	else
		json_null(j, "metadata");
	buffer_release(&text);
}

int dump_row_json(const struct row *row, const struct trace_reader *reader, struct buffer *out)
{
	struct json_writer j = { .out = out, .compact = true };
	size_t size, i;
	const char *name = trace_reader_string(reader, row->name, &size);

	json_open(&j, NULL, '{');
	json_text(&j, "event_type", row->type);
	if (row->phase)
		json_text(&j, "phase", row->phase);
	json_string(&j, "name", name, size);
	put_times(&j, row);
	put_place(&j, row, reader);
	put_fields(&j, row);
	put_function(&j, row, reader);
	put_metadata(&j, &row->metadata);
	for (i = 0; i < FLAG_COUNT; i++)
		if (row->flags & 1u << i)
			json_bool(&j, flag_names[i], true);
	json_close(&j);
	return j.error;
}

int dump_csv_header(struct buffer *out)
{
	size_t i;
	int rc = buffer_printf(out,
			       "event_type,phase,name,start_us,end_us,thread_id,process_id,cpu_id,device_id,stream_id,"
			       "value,depth,grid_dim,block_dim");

	for (i = 0; i < FIRST_FIELDS && rc == 0; i++)
		rc = buffer_printf(out, ",%s", row_plain_field(i)->name);
	if (rc == 0)
		rc = buffer_printf(out, ",reason,flags,metadata,task_id,task,module,file,line");
	for (; row_plain_field(i) && rc == 0; i++)
		rc = buffer_printf(out, ",%s", row_plain_field(i)->name);
	return rc ? rc : buffer_printf(out, ",memory_from,memory_to,track\n");
}

/* Cells: each puts its comma before itself. */
static int cell_number(struct buffer *out, bool there, uint64_t value)
{
	return there ? buffer_printf(out, ",%" PRIu64, value) : buffer_append(out, ",", 1);
}

static int cell_plain(struct buffer *out, const struct row *row, size_t i)
{
	unsigned field = row_plain_field(i)->field;

	return cell_number(out, row->present & BIT(field), row->field[field]);
}

static int cell_us(struct buffer *out, bool there, int64_t ns)
{
	char text[32] = ",";

	return buffer_append(out, text, there ? 1 + text_us(text + 1, ns) : 1);
}

static int cell_triple(struct buffer *out, bool there, const uint64_t *xyz)
{
	if (!there)
		return buffer_append(out, ",", 1);
	return buffer_printf(out, ",%" PRIu64 "x%" PRIu64 "x%" PRIu64, xyz[0], xyz[1], xyz[2]);
}

static int cell_value(struct buffer *out, const struct row *row)
{
	int rc = buffer_append(out, ",", 1);

	if (rc == 0 && row->present & BIT(FIELD_VALUE))
		rc = json_append_number(out, as_double(row->field[FIELD_VALUE]));
	else if (rc == 0 && row->present & BIT(FIELD_INTEGER))
		rc = buffer_printf(out, "%" PRId64, (int64_t)row->field[FIELD_INTEGER]);
	return rc;
}

static int cells_place(struct buffer *out, const struct row *row, const struct trace_reader *reader)
{
	struct place place = place_of(row, reader);
	unsigned kind = place.track ? place.track->kind : 0;
	int rc = cell_number(out, kind == TRACK_THREAD || kind == TRACK_STATES, kind ? place.track->os_id : 0);

	if (rc == 0)
		rc = cell_number(out, place.process, place.process ? place.process->pid : 0);
	if (rc == 0)
		rc = cell_number(out, row->cpu != EVENT_CPU_UNKNOWN, row->cpu);
	if (rc == 0)
		rc = cell_number(out, place.device, place.device ? place.device->index : 0);
	return rc ? rc : cell_number(out, kind == TRACK_STREAM, kind ? place.track->os_id : 0);
}

static int cells_fields(struct buffer *out, const struct row *row)
{
	size_t i;
	int rc = cell_value(out, row);

	if (rc == 0)
		rc = cell_number(out, row->present & BIT(FIELD_DEPTH) && row->depth != EVENT_DEPTH_UNMATCHED,
				 row->depth);
	if (rc == 0)
		rc = cell_triple(out, row->present & GRID, &row->field[FIELD_GRID_X]);
	if (rc == 0)
		rc = cell_triple(out, row->present & BLOCK, &row->field[FIELD_BLOCK_X]);
	for (i = 0; i < FIRST_FIELDS && rc == 0; i++)
		rc = cell_plain(out, row, i);
	return rc;
}

static int cells_end(struct buffer *out, const struct row *row)
{
	bool lost = row->present & BIT(FIELD_REASON) && row->field[FIELD_REASON] < LOST_REASON_COUNT;
	const char *reason = lost ? event_lost_reason_name((unsigned)row->field[FIELD_REASON]) : NULL, *between = ",";
	struct buffer text = BUFFER_INIT;
	size_t i;
	int rc = buffer_printf(out, ",%s", reason ? reason : "");

	if (rc == 0 && row->flags == 0)
		rc = buffer_append(out, ",", 1);
	for (i = 0; i < FLAG_COUNT && rc == 0; i++)
		if (row->flags & 1u << i) {
			rc = buffer_printf(out, "%s%s", between, flag_names[i]);
			between = " ";
		}
	if (rc == 0)
		rc = buffer_append(out, ",", 1);
	if (rc == 0 && row->metadata.size > 0 && msgpack_to_json(row->metadata.data, row->metadata.size, &text) == 0)
		rc = text_append_csv(out, (const char *)text.data, text.size);
	buffer_release(&text);
	return rc;
}

static int cell_text(struct buffer *out, const struct trace_reader *reader, uint32_t string)
{
	size_t size;
	const char *text = trace_reader_string(reader, string, &size);
	int rc = buffer_append(out, ",", 1);

	return rc ? rc : text_append_csv(out, text, size);
}

/* Columns that came later. */
static int cells_task_and_function(struct buffer *out, const struct row *row, const struct trace_reader *reader)
{
	const struct trace_track *track = trace_reader_track(reader, row->track);
	const struct trace_frame *frame = trace_reader_function(reader, row->name);
	bool task = track && track->kind == TRACK_TASK;
	int rc = cell_number(out, task, task ? track->os_id : 0);

	if (rc == 0)
		rc = cell_text(out, reader, task ? track->name : 0);
	if (rc == 0)
		rc = cell_text(out, reader, frame ? frame->module : 0);
	if (rc == 0)
		rc = cell_text(out, reader, frame ? frame->file : 0);
	if (rc == 0)
		rc = cell_number(out, frame && frame->line, frame ? frame->line : 0);
	return rc;
}

static int cells_of_imports(struct buffer *out, const struct row *row, const struct trace_reader *reader)
{
	const struct trace_track *track = trace_reader_track(reader, row->track);
	const char *outside = track ? row_outside(track) : NULL;
	const char *from = memory_kind(row, false), *to = memory_kind(row, true);
	int rc = 0;

	for (size_t i = FIRST_FIELDS; row_plain_field(i) && rc == 0; i++)
		rc = cell_plain(out, row, i);
	return rc ? rc : buffer_printf(out, ",%s,%s,%s\n", from ? from : "", to ? to : "", outside ? outside : "");
}

int dump_row_csv(const struct row *row, const struct trace_reader *reader, struct buffer *out)
{
	size_t size;
	const char *name = trace_reader_string(reader, row->name, &size);
	int rc = buffer_printf(out, "%s,%s,", row->type, row->phase ? row->phase : "");

	if (rc == 0)
		rc = text_append_csv(out, name, size);
	if (rc == 0)
		rc = cell_us(out, row->has_start, row->start_ns);
	if (rc == 0)
		rc = cell_us(out, row->has_end, row->end_ns);
	if (rc == 0)
		rc = cells_place(out, row, reader);
	if (rc == 0)
		rc = cells_fields(out, row);
	if (rc == 0)
		rc = cells_end(out, row);
	if (rc == 0)
		rc = cells_task_and_function(out, row, reader);
	return rc ? rc : cells_of_imports(out, row, reader);
}
