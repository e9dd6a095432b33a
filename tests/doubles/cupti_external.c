/* External correlation: a stack for each thread and kind; what is on top goes with every call. */
#include "cupti_state.h"

#include <stdlib.h>

static struct external_stack *stack_of(struct client *client, int kind)
{
	return kind > 0 && kind < EXTERNAL_KINDS ? &thread_state()->external[client - clients][kind] : NULL;
}

CUptiResult external_push(struct client *client, int kind, uint64_t id)
{
	struct external_stack *stack = stack_of(client, kind);

	if (!stack)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (stack->count == stack->room) {
		unsigned int room = stack->room ? 2 * stack->room : 16;
		uint64_t *ids = realloc(stack->ids, room * sizeof(*ids));

		if (!ids)
			return CUPTI_ERROR_UNKNOWN;
		stack->ids = ids;
		stack->room = room;
	}
	stack->ids[stack->count++] = id;
	return CUPTI_SUCCESS;
}

CUptiResult external_pop(struct client *client, int kind, uint64_t *ret_id)
{
	struct external_stack *stack = stack_of(client, kind);

	if (!stack)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!stack->count)
		return CUPTI_ERROR_QUEUE_EMPTY;
	stack->count--;
	if (ret_id)
		*ret_id = stack->ids[stack->count];
	return CUPTI_SUCCESS;
}

void write_external(struct client *client, uint32_t correlation)
{
	for (int kind = 1; kind < EXTERNAL_KINDS; kind++) {
		struct external_stack *stack = stack_of(client, kind);
		struct record r;

		if (!stack->count || !record_begin(client, KIND_EXTERNAL_CORRELATION, &r, NULL))
			continue;
		PUT(r, EXTERNAL, externalKind, kind);
		PUT(r, EXTERNAL, externalId, stack->ids[stack->count - 1]);
		PUT(r, EXTERNAL, correlationId, correlation);
		record_end();
	}
}
