/*
 * torch_shapes.c - sizes of the tensors that go into an operator, as metadata:
 *
 *      {"shapes": [[8, 32], [32], []]}
 *
 * an entry for each argument, empty for one that is no tensor.  libtorch makes
 * the list for its own profiler; it is copied and given back.  A list that is
 * too long for an event is cut.
 */
#include <string.h>

#include "runtime/torch_ops.h"

#define HEAD 3u /* of the field */
#define MAP 8u  /* {"shapes": */
#define COUNT 3u /* of an array */

struct writer {
	uint8_t *bytes;
	size_t size;
};

static void put_array(uint8_t *at, size_t count)
{
	at[0] = 0xdc;
	at[1] = (uint8_t)(count >> 8);
	at[2] = (uint8_t)count;
}

/* False: there is no room for it. */
static bool put_number(struct writer *w, int64_t number)
{
	uint32_t bytes = number < 0 || number > UINT32_MAX ? 8 : number > UINT16_MAX ? 4 : number > UINT8_MAX ? 2 : 1;
	static const uint8_t heads[] = { [1] = 0xcc, [2] = 0xcd, [4] = 0xce, [8] = 0xd3 };

	if (w->size + 1 + bytes > EMIT_FIELDS_MAX)
		return false;
	if (number < 0 || number > 127)
		w->bytes[w->size++] = heads[bytes];
	while (bytes--)
		w->bytes[w->size++] = (uint8_t)((uint64_t)number >> 8 * bytes);
	return true;
}

/* All of it, or nothing. */
static bool put_shape(struct writer *w, const struct torch_vector *shape)
{
	const int64_t *sizes = (const int64_t *)shape->begin;
	size_t count = (size_t)(shape->end - shape->begin) / sizeof *sizes, start = w->size, i = 0;

	if (start + COUNT > EMIT_FIELDS_MAX)
		return false;
	put_array(w->bytes + start, count);
	w->size += COUNT;
	while (i < count && put_number(w, sizes[i]))
		i++;
	if (i < count)
		w->size = start;
	return i == count;
}

static void release(struct torch_vector *vector)
{
	if (vector->begin)
		inferscope_torch.release(vector->begin);
}

size_t inferscope_torch_shapes(const void *function, uint8_t *ret_fields)
{
	struct torch_vector list = inferscope_torch.sizes(function, false);
	struct torch_vector *shapes = (struct torch_vector *)list.begin;
	size_t count = (size_t)(list.end - list.begin) / sizeof *shapes, written = 0;
	struct writer w = { .bytes = ret_fields, .size = HEAD + MAP + COUNT };
	uint16_t size;

	while (written < count && put_shape(&w, &shapes[written]))
		written++;
	for (size_t i = 0; i < count; i++)
		release(&shapes[i]);
	release(&list);
	if (!written)
		return 0;
	size = (uint16_t)(w.size - HEAD);
	ret_fields[0] = FIELD_METADATA;
	memcpy(ret_fields + 1, &size, sizeof size);
	memcpy(ret_fields + HEAD, "\x81\xa6shapes", MAP);
	put_array(ret_fields + HEAD + MAP, written);
	return w.size;
}
