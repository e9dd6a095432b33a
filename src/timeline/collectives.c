/* collectives.c - what PyTorch's profiler writes about a collective operation. */
#include <errno.h>
#include <string.h>

#include "base/msgpack.h"
#include "timeline/build.h"

struct described {
	struct msgpack_value name, group, dtype; /* strings, or nil */
	uint64_t in_elements, out_elements, in_bytes, out_bytes, group_size;
	bool found;
};

static uint64_t natural(const struct msgpack_value *v)
{
	if (v->type == MSGPACK_INT)
		return v->integer > 0 ? (uint64_t)v->integer : 0;
	if (v->type == MSGPACK_UINT)
		return v->natural;
	if (v->type == MSGPACK_DOUBLE)
		return v->number > 0 && v->number < 1.8e19 ? (uint64_t)v->number : 0;
	return 0;
}

static bool key_is(const struct msgpack_value *key, const char *text)
{
	return key->size == strlen(text) && memcmp(key->data, text, key->size) == 0;
}

static void take_pair(void *arg, const struct msgpack_value *key, const struct msgpack_value *value)
{
	static const struct {
		const char *key;
		size_t offset;
	} numbers[] = {
		{ "In msg nelems", offsetof(struct described, in_elements) },
		{ "Out msg nelems", offsetof(struct described, out_elements) },
		{ "In msg size", offsetof(struct described, in_bytes) },
		{ "Out msg size", offsetof(struct described, out_bytes) },
		{ "Group size", offsetof(struct described, group_size) },
	};
	struct described *d = arg;

	if (value->type == MSGPACK_STRING) {
		if (key_is(key, "Collective name")) {
			d->name = *value;
			d->found = true;
		} else if (key_is(key, "Process Group Name")) {
			d->group = *value;
		} else if (key_is(key, "dtype")) {
			d->dtype = *value;
		}
		return;
	}
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (key_is(key, numbers[i].key))
			*(uint64_t *)(void *)((char *)d + numbers[i].offset) = natural(value);
}

/* Bytes of one element, by the name that PyTorch gives the type; 0: not known. */
static unsigned element_size(const struct msgpack_value *dtype)
{
	static const struct {
		const char *name;
		unsigned size;
	} types[] = {
		{ "Byte", 1 },     { "Char", 1 },	 { "Bool", 1 },	  { "Short", 2 },	  { "Int", 4 },
		{ "Long", 8 },     { "Half", 2 },	 { "BFloat16", 2 }, { "Float", 4 },	  { "Double", 8 },
		{ "UInt16", 2 },   { "UInt32", 4 },	 { "UInt64", 8 },	  { "ComplexFloat", 8 }, { "ComplexDouble", 16 },
		{ "ComplexHalf", 4 },
	};

	if (dtype->type != MSGPACK_STRING)
		return 0;
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (key_is(dtype, types[i].name))
			return types[i].size;
	return dtype->size > 6 && memcmp(dtype->data, "Float8", 6) == 0 ? 1 : 0;
}

static uint64_t message_bytes(const struct described *d)
{
	uint64_t bytes = d->in_bytes > d->out_bytes ? d->in_bytes : d->out_bytes;
	uint64_t elements = d->in_elements > d->out_elements ? d->in_elements : d->out_elements;

	if (bytes)
		return bytes;
	return __builtin_mul_overflow(elements, element_size(&d->dtype), &bytes) ? 0 : bytes;
}

static int intern(struct builder *b, const struct msgpack_value *value, const char **ret)
{
	return value->type == MSGPACK_STRING && value->size ? texts_intern(&b->t->texts, (const char *)value->data, value->size, ret) : 0;
}

int collectives_take(struct builder *b, uint32_t slice, const void *metadata, size_t size)
{
	struct described d = { .name.type = MSGPACK_NIL, .group.type = MSGPACK_NIL, .dtype.type = MSGPACK_NIL };
	struct timeline *t = b->t;
	struct timeline_collective row = { .slice = slice };
	int rc;

	map_each(metadata, size, take_pair, &d);
	if (!d.found && t->kind[slice] != EVENT_COLLECTIVE)
		return 0;
	rc = intern(b, &d.name, &row.name);
	rc = rc ? rc : intern(b, &d.group, &row.group);
	rc = rc ? rc : intern(b, &d.dtype, &row.dtype);
	if (rc == 0 && t->detail[slice] == TIMELINE_NONE)
		rc = details_add(b, &t->detail[slice]);
	if (rc == 0)
		rc = ROOM_FOR(t->collectives, b->collective_capacity, t->collective_count + 1);
	if (rc < 0)
		return rc;
	row.group_size = d.group_size > UINT32_MAX ? 0 : (uint32_t)d.group_size;
	row.in_elements = d.in_elements;
	row.out_elements = d.out_elements;
	row.bytes = message_bytes(&d);
	t->details[t->detail[slice]].collective = t->collective_count;
	t->collectives[t->collective_count++] = row;
	return 0;
}
