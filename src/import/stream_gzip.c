/* stream_gzip.c - see stream_gzip.h. */
#include "import/stream_gzip.h"

#include <errno.h>
#include <stdlib.h>

static size_t at_most(size_t size)
{
	return size < (1u << 30) ? size : 1u << 30;
}

#ifdef INFERSCOPE_ISAL
#include <isa-l/igzip_lib.h>

struct gzip {
	struct inflate_state state;
	uint32_t wrapper;
};

int gzip_new(struct gzip **ret, enum gzip_wrapper wrapper)
{
	struct gzip *g = calloc(1, sizeof *g);

	if (!g)
		return -ENOMEM;
	isal_inflate_init(&g->state);
	g->wrapper = wrapper == GZIP_WRAPPER ? ISAL_GZIP : ISAL_ZLIB;
	g->state.crc_flag = g->wrapper;
	*ret = g;
	return 0;
}

void gzip_free(struct gzip *g)
{
	free(g);
}

void gzip_restart(struct gzip *g)
{
	isal_inflate_reset(&g->state);
	g->state.crc_flag = g->wrapper;
}

enum gzip_result gzip_inflate(struct gzip *g, const uint8_t **in, size_t *in_size, uint8_t **out, size_t *out_size)
{
	struct inflate_state *s = &g->state;
	size_t in_given = at_most(*in_size), out_given = at_most(*out_size);
	int rc;

	s->next_in = (uint8_t *)*in;
	s->avail_in = (uint32_t)in_given;
	s->next_out = *out;
	s->avail_out = (uint32_t)out_given;
	rc = isal_inflate(s);
	*in_size -= in_given - s->avail_in;
	*out_size -= out_given - s->avail_out;
	*in = s->next_in;
	*out = s->next_out;
	if (rc != ISAL_DECOMP_OK && rc != ISAL_END_INPUT && rc != ISAL_OUT_OVERFLOW)
		return GZIP_DAMAGED;
	return s->block_state == ISAL_BLOCK_FINISH ? GZIP_END : GZIP_MORE;
}

#else
#include <zlib.h>

struct gzip {
	z_stream state;
};

int gzip_new(struct gzip **ret, enum gzip_wrapper wrapper)
{
	struct gzip *g = calloc(1, sizeof *g);

	if (!g || inflateInit2(&g->state, 15 + (wrapper == GZIP_WRAPPER ? 16 : 0)) != Z_OK) {
		free(g);
		return -ENOMEM;
	}
	*ret = g;
	return 0;
}

void gzip_free(struct gzip *g)
{
	if (g)
		inflateEnd(&g->state);
	free(g);
}

void gzip_restart(struct gzip *g)
{
	inflateReset(&g->state);
}

enum gzip_result gzip_inflate(struct gzip *g, const uint8_t **in, size_t *in_size, uint8_t **out, size_t *out_size)
{
	z_stream *s = &g->state;
	size_t in_given = at_most(*in_size), out_given = at_most(*out_size);
	int rc;

	s->next_in = (Bytef *)*in;
	s->avail_in = (uInt)in_given;
	s->next_out = *out;
	s->avail_out = (uInt)out_given;
	rc = inflate(s, Z_NO_FLUSH);
	*in_size -= in_given - s->avail_in;
	*out_size -= out_given - s->avail_out;
	*in = s->next_in;
	*out = s->next_out;
	if (rc == Z_STREAM_END)
		return GZIP_END;
	return rc == Z_OK || rc == Z_BUF_ERROR ? GZIP_MORE : GZIP_DAMAGED;
}
#endif
