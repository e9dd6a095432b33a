/* row.c - see row.h. */
#include "rows/row.h"

static const struct row_field plain_fields[] = {
	{ FIELD_CORRELATION, "correlation_id" },
	{ FIELD_FLOW, "flow_id" },
	{ FIELD_BYTES, "bytes" },
	{ FIELD_STACK, "stack_id" },
	{ FIELD_SHARED_MEMORY, "shared_memory" },
	{ FIELD_REGISTERS, "registers" },
	{ FIELD_POINTER, "pointer" },
	{ FIELD_NUMA_NODE, "numa_node" },
	{ FIELD_COUNT, "count" },
	{ FIELD_ID, "id" },
	{ FIELD_LINK, "link" },
	{ FIELD_OPERATOR, "operator_id" },
	{ FIELD_GRAPH, "graph_id" },
	{ FIELD_WAIT, "wait_id" },
};
#define PLAIN_FIELDS (sizeof plain_fields / sizeof plain_fields[0])

const struct row_field *row_plain_field(size_t i)
{
	return i < PLAIN_FIELDS ? &plain_fields[i] : NULL;
}

const char *row_field_name(unsigned field)
{
	for (size_t i = 0; i < PLAIN_FIELDS; i++)
		if (plain_fields[i].field == field)
			return plain_fields[i].name;
	return NULL;
}

const char *row_outside(const struct trace_track *track)
{
	return track->kind == TRACK_STATES || track->kind == TRACK_HOST ? trace_track_kind_name(track->kind) : NULL;
}

void row_add_fields(struct row *row, const struct trace_batch *batch, uint32_t event)
{
	uint64_t left = trace_batch_present(batch, event);
	unsigned field;

	row->present |= left;
	while (left) {
		field = (unsigned)__builtin_ctzll(left);
		left &= left - 1;
		if (field < FIELD_LIMIT && batch->field[field])
			row->field[field] = batch->field[field][event];
	}
	if (batch->metadata && batch->metadata[event].size > 0)
		row->metadata = batch->metadata[event];
}
