/*
 * fields.h - reads the list of fields in the continuation slots of an event
 * (event.h), as far as it is well-formed: who wrote it is not to be trusted.
 */
#ifndef RING_FIELDS_H
#define RING_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "ring/event.h"

struct event_fields {
	const uint8_t *at, *end;
};

struct field_value {
	unsigned field;
	size_t size;
	const uint8_t *data;
};

/* The list after the slot, of which `extra` continuations are there. */
static inline struct event_fields event_fields_of(const struct event_slot *slot, size_t extra)
{
	const uint8_t *list = (const uint8_t *)(slot + 1);
	size_t size = extra * sizeof *slot;
	uint16_t told;

	if (size < sizeof told)
		return (struct event_fields){ list, list };
	memcpy(&told, list, sizeof told);
	list += sizeof told;
	size -= sizeof told;
	return (struct event_fields){ list, list + (told < size ? told : size) };
}

static inline bool event_fields_next(struct event_fields *fields, struct field_value *ret)
{
	size_t left = (size_t)(fields->end - fields->at);
	uint16_t size;

	if (left < 1 + sizeof size)
		return false;
	memcpy(&size, fields->at + 1, sizeof size);
	*ret = (struct field_value){ fields->at[0], size, fields->at + 1 + sizeof size };
	if (size > left - 1 - sizeof size)
		return false;
	fields->at = ret->data + size;
	return true;
}

/* False: it is not a number. */
static inline bool field_number(const struct field_value *value, uint64_t *ret)
{
	uint32_t half;
	uint16_t quarter;

	switch (value->size) {
	case 1:
		*ret = value->data[0];
		return true;
	case 2:
		memcpy(&quarter, value->data, sizeof quarter);
		*ret = quarter;
		return true;
	case 4:
		memcpy(&half, value->data, sizeof half);
		*ret = half;
		return true;
	case 8:
		memcpy(ret, value->data, sizeof *ret);
		return true;
	default:
		return false;
	}
}

#endif
