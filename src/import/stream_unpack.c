/* stream_unpack.c - see stream_unpack.h. */
#include "import/stream_unpack.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "import/stream_gzip.h"

enum { PLAIN, GZIP, ZSTD };

struct unpack {
	int fd;
	int packing;
	bool end;    /* of the file */
	bool over;   /* nothing more comes out */
	bool inside; /* a member or frame has begun and not ended */
	char damage[96];
	_Atomic uint64_t position;
	struct gzip *gzip;
	ZSTD_DCtx *zstd;
	const uint8_t *in; /* what is left of the input */
	size_t in_size;
	uint8_t input[UNPACK_INPUT];
};

static void note_damage(struct unpack *u, const char *text, const char *more)
{
	if (!u->damage[0])
		snprintf(u->damage, sizeof u->damage, "%s%s", text, more);
	u->over = true;
}

/* read() that goes on after short reads; what fails is the end of the file, and said. */
static size_t read_file(struct unpack *u, uint8_t *data, size_t size)
{
	size_t done = 0;

	while (done < size && !u->end) {
		ssize_t n = read(u->fd, data + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			snprintf(u->damage, sizeof u->damage, "it cannot be read on: %s", strerror(errno));
		if (n <= 0)
			u->end = true;
		else
			done += (size_t)n;
	}
	atomic_fetch_add_explicit(&u->position, done, memory_order_relaxed);
	return done;
}

/* Reads on when less than `want` bytes of input are left.  Whether there is any. */
static bool fill_input(struct unpack *u, size_t want)
{
	if (u->in_size < want && !u->end) {
		memmove(u->input, u->in, u->in_size);
		u->in = u->input;
		u->in_size += read_file(u, u->input + u->in_size, UNPACK_INPUT - u->in_size);
	}
	return u->in_size > 0;
}

static bool gzip_begins(const uint8_t *in, size_t size)
{
	return size >= 2 && in[0] == 0x1f && in[1] == 0x8b;
}

static bool zstd_begins(const uint8_t *in, size_t size)
{
	uint32_t magic;

	if (size < sizeof magic)
		return false;
	memcpy(&magic, in, sizeof magic);
	return magic == ZSTD_MAGICNUMBER || (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

int unpack_new(struct unpack **ret, int fd, struct error *err)
{
	struct unpack *u = calloc(1, sizeof *u);
	int rc = u ? 0 : -ENOMEM;

	if (u) {
		u->fd = fd;
		u->in = u->input;
		fill_input(u, 4);
		u->packing = gzip_begins(u->in, u->in_size) ? GZIP : zstd_begins(u->in, u->in_size) ? ZSTD : PLAIN;
		if (u->packing == GZIP)
			rc = gzip_new(&u->gzip, GZIP_WRAPPER);
		else if (u->packing == ZSTD)
			rc = (u->zstd = ZSTD_createDCtx()) ? 0 : -ENOMEM;
	} else {
		close(fd);
	}
	if (rc) {
		unpack_free(u);
		return error_set(err, rc, "out of memory");
	}
	*ret = u;
	return 0;
}

void unpack_free(struct unpack *u)
{
	if (!u)
		return;
	close(u->fd);
	gzip_free(u->gzip);
	ZSTD_freeDCtx(u->zstd);
	free(u);
}

static size_t read_plain(struct unpack *u, uint8_t *out, size_t size)
{
	size_t begin = u->in_size < size ? u->in_size : size;

	memcpy(out, u->in, begin);
	u->in += begin;
	u->in_size -= begin;
	begin += read_file(u, out + begin, size - begin);
	u->over = begin < size;
	return begin;
}

/* What follows the last member and is no other: zeros of a tape, or something that somebody appended. */
static void end_of_members(struct unpack *u, const char *name)
{
	for (; fill_input(u, 1); u->in += u->in_size, u->in_size = 0)
		for (size_t i = 0; i < u->in_size; i++)
			if (u->in[i]) {
				note_damage(u, name, " data is followed by something else");
				return;
			}
	u->over = true;
}

static size_t read_gzip(struct unpack *u, uint8_t *out, size_t size)
{
	size_t left = size;

	while (left > 0 && !u->over) {
		enum gzip_result result;

		if (!u->inside) {
			fill_input(u, 2);
			if (!gzip_begins(u->in, u->in_size)) {
				end_of_members(u, "the gzip");
				break;
			}
			gzip_restart(u->gzip);
			u->inside = true;
		}
		fill_input(u, 1);
		result = gzip_inflate(u->gzip, &u->in, &u->in_size, &out, &left);
		if (result == GZIP_DAMAGED)
			note_damage(u, "the gzip data is damaged", "");
		else if (result == GZIP_END)
			u->inside = false;
		else if (left > 0 && u->in_size == 0 && u->end)
			note_damage(u, "the gzip data ends early", "");
	}
	return size - left;
}

static size_t read_zstd(struct unpack *u, uint8_t *out, size_t size)
{
	ZSTD_outBuffer to = { out, size, 0 };

	while (to.pos < size && !u->over) {
		ZSTD_inBuffer from;
		size_t rc, before = to.pos;

		if (!u->inside) {
			fill_input(u, 4);
			if (!zstd_begins(u->in, u->in_size)) {
				end_of_members(u, "the zstd");
				break;
			}
			u->inside = true;
		}
		fill_input(u, 1);
		from = (ZSTD_inBuffer){ u->in, u->in_size, 0 };
		rc = ZSTD_decompressStream(u->zstd, &to, &from);
		u->in += from.pos;
		u->in_size -= from.pos;
		if (ZSTD_isError(rc))
			note_damage(u, "the zstd data is damaged: ", ZSTD_getErrorName(rc));
		else if (rc == 0)
			u->inside = false;
		else if (u->in_size == 0 && u->end && to.pos == before)
			note_damage(u, "the zstd data ends early", "");
	}
	return to.pos;
}

int64_t unpack_read(struct unpack *u, void *data, size_t size)
{
	size_t done = 0;

	if (u->over)
		return 0;
	if (u->packing == PLAIN)
		done = read_plain(u, data, size);
	else if (u->packing == GZIP)
		done = read_gzip(u, data, size);
	else
		done = read_zstd(u, data, size);
	return (int64_t)done;
}

const char *unpack_damage(const struct unpack *u)
{
	return u->damage[0] ? u->damage : NULL;
}

uint64_t unpack_position(const struct unpack *u)
{
	return atomic_load_explicit(&u->position, memory_order_relaxed);
}

bool unpack_compressed(const struct unpack *u)
{
	return u->packing != PLAIN;
}
