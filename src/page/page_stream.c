/* page_stream.c - see page_stream.h. */
#include "page/page_stream.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL 7          /* columns are mostly noise: 10 to 12 take 4 to 6 times as long for 0.4 % */
#define ELEMENT_BYTES 90 /* at most, around the base64 */

int page_packer_init(struct page_packer *p)
{
	*p = (struct page_packer){ .compressor = libdeflate_alloc_compressor(LEVEL) };
	return p->compressor ? 0 : -ENOMEM;
}

void page_packer_release(struct page_packer *p)
{
	if (p->compressor)
		libdeflate_free_compressor(p->compressor);
	buffer_release(&p->scratch);
	p->compressor = NULL;
}

/* Leaves the result in the scratch. */
static int pack(struct page_packer *p, const struct buffer *raw)
{
	size_t most = libdeflate_deflate_compress_bound(p->compressor, raw->size);

	buffer_clear(&p->scratch);
	if (buffer_reserve(&p->scratch, most) < 0)
		return -ENOMEM;
	p->scratch.size = libdeflate_deflate_compress(p->compressor, raw->size ? raw->data : (const uint8_t *)"", raw->size,
						      p->scratch.data, p->scratch.capacity);
	return p->scratch.size ? 0 : -ENOMEM;
}

int page_stream_pack(struct page_stream *stream, struct page_packer *p, const struct buffer *raw)
{
	uint8_t *data = NULL;

	if (raw->size) {
		if (pack(p, raw) < 0)
			return -ENOMEM;
		data = malloc(p->scratch.size);
		if (!data)
			return -ENOMEM;
		memcpy(data, p->scratch.data, p->scratch.size);
	}
	free(stream->data);
	*stream = (struct page_stream){ data, raw->size ? p->scratch.size : 0, raw->size };
	return 0;
}

void page_stream_release(struct page_stream *stream)
{
	free(stream->data);
	*stream = (struct page_stream){ 0 };
}

size_t page_packed_size(struct page_packer *p, const struct buffer *raw)
{
	return raw->size == 0 ? 0 : pack(p, raw) < 0 ? SIZE_MAX : p->scratch.size;
}

size_t page_packed_cost(size_t packed)
{
	return packed == 0 ? 0 : (packed + 2) / 3 * 4 + ELEMENT_BYTES;
}

size_t page_stream_cost(const struct page_stream *stream)
{
	return page_packed_cost(stream->size);
}

/* ---- base64 ------------------------------------------------------------------ */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Two letters for each 12 bits. */
static void make_pairs(uint16_t *pairs)
{
	for (unsigned i = 0; i < 4096; i++) {
		char two[2] = { letters[i >> 6], letters[i & 63] };

		memcpy(&pairs[i], two, sizeof two);
	}
}

static void put_rest(uint8_t *out, const uint8_t *data, size_t left)
{
	uint32_t bits = (uint32_t)data[0] << 16 | (left > 1 ? (uint32_t)data[1] << 8 : 0);

	out[0] = (uint8_t)letters[bits >> 18];
	out[1] = (uint8_t)letters[bits >> 12 & 63];
	out[2] = left > 1 ? (uint8_t)letters[bits >> 6 & 63] : '=';
	out[3] = '=';
}

static int append_base64(struct buffer *out, const uint8_t *data, size_t size)
{
	uint16_t pairs[4096];
	uint8_t *to;
	size_t at = 0;

	if (buffer_reserve(out, (size + 2) / 3 * 4) < 0)
		return -ENOMEM;
	make_pairs(pairs);
	to = out->data + out->size;
	for (; size - at >= 3; at += 3, to += 4) {
		uint32_t bits = (uint32_t)data[at] << 16 | (uint32_t)data[at + 1] << 8 | data[at + 2];

		memcpy(to, &pairs[bits >> 12], 2);
		memcpy(to + 2, &pairs[bits & 4095], 2);
	}
	if (at < size)
		put_rest(to, data + at, size - at);
	out->size += (size + 2) / 3 * 4;
	return 0;
}

int page_stream_append(const struct page_stream *stream, const char *id, struct buffer *out)
{
	int rc;

	if (stream->size == 0)
		return 0;
	rc = buffer_printf(out, "<script type=\"text/plain\" id=\"%s\" data-bytes=\"%zu\">", id, stream->raw);
	if (rc == 0)
		rc = append_base64(out, stream->data, stream->size);
	return rc ? rc : buffer_append(out, "</script>\n", 10);
}
