/* export_out.c - see export_out.h. */
#include "export/export_out.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#define ENOUGH ((size_t)1 << 16) /* bytes that are worth handing on */
#define GZIP_BITS (15 + 16)      /* a window of 32 kB, and the head and tail of a gzip file */

struct export_packer {
	z_stream stream;
	uint8_t packed[1 << 16];
};

int export_out_init(struct export_out *out, int (*write)(void *arg, const void *data, size_t size), void *arg, enum export_packing packing)
{
	*out = (struct export_out){ .buf = BUFFER_INIT, .write = write, .arg = arg };
	if (packing == EXPORT_PLAIN)
		return 0;
	out->packer = calloc(1, sizeof *out->packer);
	if (!out->packer)
		return -ENOMEM;
	if (deflateInit2(&out->packer->stream, Z_BEST_SPEED, Z_DEFLATED, GZIP_BITS, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(out->packer);
		out->packer = NULL;
		return -ENOMEM;
	}
	return 0;
}

static void hand_on(struct export_out *out, const void *data, size_t size)
{
	if (size == 0 || out->error)
		return;
	out->error = out->write(out->arg, data, size);
	out->written += out->error ? 0 : size;
}

static void pack(struct export_out *out, int flush)
{
	struct export_packer *p = out->packer;

	p->stream.next_in = out->buf.data;
	p->stream.avail_in = (uInt)out->buf.size;
	do {
		p->stream.next_out = p->packed;
		p->stream.avail_out = sizeof p->packed;
		(void)deflate(&p->stream, flush);
		hand_on(out, p->packed, sizeof p->packed - p->stream.avail_out);
	} while (p->stream.avail_out == 0 && !out->error);
}

/* After a failure what still comes is thrown away, so that it does not gather. */
static void send(struct export_out *out, bool last)
{
	if (!out->error && out->packer)
		pack(out, last ? Z_FINISH : Z_NO_FLUSH);
	else if (!out->error)
		hand_on(out, out->buf.data, out->buf.size);
	buffer_clear(&out->buf);
}

void export_out_check(struct export_out *out, int rc)
{
	if (rc < 0 && out->error == 0)
		out->error = rc;
}

bool export_out_ready(struct export_out *out)
{
	if (out->buf.size >= ENOUGH)
		send(out, false);
	return out->error == 0;
}

int export_out_finish(struct export_out *out)
{
	send(out, true);
	return out->error;
}

void export_out_release(struct export_out *out)
{
	if (out->packer)
		(void)deflateEnd(&out->packer->stream);
	free(out->packer);
	out->packer = NULL;
	buffer_release(&out->buf);
}
