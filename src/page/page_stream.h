/*
 * page_stream.h - bytes as an element of the page: raw deflate, in base64.
 */
#ifndef PAGE_PAGE_STREAM_H
#define PAGE_PAGE_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct libdeflate_compressor;

struct page_packer {
	struct libdeflate_compressor *compressor;
	struct buffer scratch;
};
int page_packer_init(struct page_packer *p); /* 0 or -ENOMEM */
void page_packer_release(struct page_packer *p);

/* Compressed bytes, and how many they were. */
struct page_stream {
	uint8_t *data;
	size_t size, raw;
};
/* Replaces what is in *stream, which starts as zeroes.  0 or -ENOMEM, and then it is as it was. */
int page_stream_pack(struct page_stream *stream, struct page_packer *p, const struct buffer *raw);
void page_stream_release(struct page_stream *stream);

/* The bytes that it takes in the page; an empty one takes none. */
size_t page_stream_cost(const struct page_stream *stream);
/* id is ours: "data-model". */
int page_stream_append(const struct page_stream *stream, const char *id, struct buffer *out);

/* How small it would get; SIZE_MAX when there is no memory. */
size_t page_packed_size(struct page_packer *p, const struct buffer *raw);
/* Bytes in base64, with the element around them. */
size_t page_packed_cost(size_t packed);

#endif
