/*
 * packer.h - the "packed" column encoding: values of 1, 2, 4 or 8 bytes and
 * a two-bit length code for each.
 *
 * A store of eight bytes and an advance by the length: no branch depends on
 * the data.  Codes are kept one a byte until the column is finished.
 */
#ifndef TRACE_PACKER_H
#define TRACE_PACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "trace/format.h"

struct packer {
	uint8_t *data;  /* 8 bytes a value, and 8 more */
	uint8_t *codes; /* 1 a value, and 4 more */
	size_t size, count;
};

int packer_init(struct packer *p, size_t capacity);
void packer_release(struct packer *p);

static inline void packer_clear(struct packer *p)
{
	p->size = p->count = 0;
}

static inline unsigned packer_code(uint64_t value)
{
	return (unsigned)(value > UINT8_MAX) + (unsigned)(value > UINT16_MAX) + (unsigned)(value > UINT32_MAX);
}

static inline void packer_put(struct packer *p, uint64_t value)
{
	unsigned code = packer_code(value);

	put64(p->data + p->size, value);
	p->size += (size_t)1 << code;
	p->codes[p->count++] = (uint8_t)code;
}

/* Appends a whole column: field, encoding, length, control bytes, data.  SBT_PACKED becomes SBT_BYTES where it can. */
int packer_finish(struct packer *p, uint8_t field, uint8_t encoding, struct buffer *out);

#endif
