/* packer.c - see packer.h. */
#include "trace/packer.h"

#include <errno.h>
#include <stdlib.h>

int packer_init(struct packer *p, size_t capacity)
{
	*p = (struct packer){ .data = malloc(8 * capacity + 8), .codes = malloc(capacity + 4) };
	if (p->data && p->codes)
		return 0;
	packer_release(p); /* it may be tried again */
	return -ENOMEM;
}

void packer_release(struct packer *p)
{
	free(p->data);
	free(p->codes);
	*p = (struct packer){ 0 };
}

/* Four codes, one a byte, to one byte: each factor moves one of them to its place in the topmost byte. */
static uint8_t four_codes(const uint8_t *codes)
{
	return (uint8_t)(get32(codes) * (1u << 24 | 1u << 18 | 1u << 12 | 1u << 6) >> 24);
}

int packer_finish(struct packer *p, uint8_t field, uint8_t encoding, struct buffer *out)
{
	bool bytes = encoding == SBT_PACKED && p->size == p->count;
	size_t control = bytes ? 0 : (p->count + 3) / 4;

	if (buffer_reserve(out, 12 + control + p->size))
		return -ENOMEM;
	out->data[out->size++] = field;
	out->data[out->size++] = bytes ? SBT_BYTES : encoding;
	buffer_append_uv(out, control + p->size);
	memset(p->codes + p->count, 0, 4);
	for (size_t i = 0; i < control; i++)
		out->data[out->size++] = four_codes(p->codes + 4 * i);
	return buffer_append(out, p->data, p->size);
}
