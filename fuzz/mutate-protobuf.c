/*
 * mutate-protobuf.c - messages with other fields, whose lengths are right all the way out.
 *
 * What a field's bytes mean is not known here: those that can be read as fields
 * are a message, half of the time.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/varint.h"
#include "mutate.h"

#define FIELDS_MAX 1024
#define GROWTH 64
#define DEPTH_MAX 12

enum wire { VARINT, WIDE, BYTES, NARROW = 5 };

struct field {
	const uint8_t *start, *content, *end; /* content: behind key and length */
	uint64_t key;
};

struct message {
	struct field fields[FIELDS_MAX];
	size_t count;
};

static bool read_field(struct cursor *in, struct field *field)
{
	uint64_t size = 0;

	field->start = in->at;
	field->key = cursor_uv(in);
	switch (field->key & 7) {
	case VARINT:
		field->content = in->at;
		(void)cursor_uv(in);
		break;
	case WIDE:
	case NARROW:
		field->content = in->at;
		size = (field->key & 7) == WIDE ? 8 : 4;
		break;
	case BYTES:
		size = cursor_uv(in);
		field->content = in->at;
		break;
	default:
		return false;
	}
	(void)cursor_bytes(in, size);
	field->end = in->at;
	return !in->bad && field->key >> 3;
}

/* All of it has to be fields. */
static bool read_message(const uint8_t *data, size_t size, struct message *m)
{
	struct cursor in = cursor_of(data, size);

	for (m->count = 0; cursor_left(&in) && m->count < FIELDS_MAX; m->count++)
		if (!read_field(&in, &m->fields[m->count]))
			return false;
	return m->count > 0;
}

static void put_varint(struct buffer *out, uint64_t value)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[n++] = (uint8_t)(value | 0x80);
	bytes[n++] = (uint8_t)value;
	(void)buffer_append(out, bytes, n);
}

static void put_bytes(struct buffer *out, uint64_t key, const struct buffer *content)
{
	put_varint(out, key);
	put_varint(out, content->size);
	(void)buffer_append(out, content->data, content->size);
}

static void put_number(struct buffer *out, const struct field *field, struct chance *c)
{
	uint64_t number = pick_number(c);

	put_varint(out, field->key);
	if ((field->key & 7) == VARINT)
		put_varint(out, number);
	else
		(void)buffer_append(out, &number, (field->key & 7) == WIDE ? 8 : 4);
}

static bool put_changed(struct buffer *out, const uint8_t *data, size_t size, struct chance *c, int depth);

static void put_content(struct buffer *out, const struct field *field, struct chance *c, int depth)
{
	size_t size = (size_t)(field->end - field->content);
	struct buffer content = BUFFER_INIT;

	if (depth == DEPTH_MAX || pick(c, 8) == 0 || !put_changed(&content, field->content, size, c, depth + 1)) {
		buffer_clear(&content);
		if (buffer_append(&content, field->content, size) == 0 && buffer_reserve(&content, GROWTH) == 0)
			content.size = LLVMFuzzerMutate(content.data, size, size + GROWTH);
	}
	put_bytes(out, field->key, &content);
	buffer_release(&content);
}

static void put_field(struct buffer *out, const struct message *m, size_t i, struct chance *c, int depth)
{
	const struct field *field = &m->fields[i], *other = &m->fields[pick(c, m->count)];

	switch (pick(c, 12)) {
	case 0: /* goes */
		return;
	case 1: /* twice, or with another one of the message */
		(void)buffer_append(out, field->start, (size_t)(field->end - field->start));
		(void)buffer_append(out, other->start, (size_t)(other->end - other->start));
		return;
	default:
		if ((field->key & 7) == BYTES)
			put_content(out, field, c, depth);
		else
			put_number(out, field, c);
	}
}

/* The message with one of its fields changed; false where it is none. */
static bool put_changed(struct buffer *out, const uint8_t *data, size_t size, struct chance *c, int depth)
{
	struct message *m = malloc(sizeof *m);
	bool readable = m && read_message(data, size, m);

	if (readable) {
		size_t i = pick(c, m->count);

		(void)buffer_append(out, data, (size_t)(m->fields[i].start - data));
		put_field(out, m, i, c, depth);
		(void)buffer_append(out, m->fields[i].end, (size_t)(data + size - m->fields[i].end));
	}
	free(m);
	return readable;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct chance c = chance_of(seed);
	struct buffer out = BUFFER_INIT;

	if (size == 0 || pick(&c, 4) == 0 || !put_changed(&out, data, size, &c, 0) || out.size > max) {
		size = LLVMFuzzerMutate(data, size, max);
	} else {
		if (out.size)
			memcpy(data, out.data, out.size);
		size = out.size;
	}
	buffer_release(&out);
	return size;
}
