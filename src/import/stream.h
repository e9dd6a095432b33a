/*
 * stream.h - the bytes of a file, uncompressed, in windows.
 *
 * Plain, gzip (several members too) and zstd files are told by their first
 * bytes.  Decompression runs in a thread of its own, a few windows ahead.
 * However large the file, memory stays the same: a window is asked for again
 * with the bytes at its end that could not be used yet, and those move to the
 * front of the next.
 *
 *      struct stream *s;
 *      stream_open(&s, path, &options, &err);
 *      const char *data; size_t size, used = 0; bool last;
 *      while ((rc = stream_next(s, used, &data, &size, &last, &err)) == 0) {
 *              used = ...of the bytes of this window, from its front...;
 *              if (last) break;
 *      }
 */
#ifndef IMPORT_STREAM_H
#define IMPORT_STREAM_H

#include "base/buffer.h"
#include "import/import.h"

#define STREAM_WINDOW ((size_t)2 << 20)
#define STREAM_CARRY_MAX ((size_t)16 << 20) /* an event longer than this is not read: unused bytes beyond are passed over */
#define STREAM_PADDING 64                   /* readable bytes of 0 behind every window */

struct stream;

int stream_open(struct stream **ret, const char *path, const struct import_options *options, struct error *err);
/*
 * The next window: the bytes after the first `used` of the one before, and as many new ones as fit.  `last` when no more
 * follow.  Never gives the same bytes only: if used is 0 the window grows, up to STREAM_CARRY_MAX; beyond that -EFBIG.  A
 * compressed file that is cut off or damaged gives what could be decompressed, then `last` with stream_damage() set.
 */
int stream_next(struct stream *s, size_t used, const char **ret_data, size_t *ret_size, bool *ret_last, struct error *err);
uint64_t stream_offset(const struct stream *s); /* of the first byte of the window, in the uncompressed file */
uint64_t stream_total(const struct stream *s);  /* uncompressed bytes so far */
const char *stream_damage(const struct stream *s); /* "the gzip data ends early", or NULL */
void stream_close(struct stream *s);

/* The first bytes of the file, uncompressed, at most `size`: for telling formats apart.  Returns how many. */
int64_t stream_peek(const char *path, void *buffer, size_t size, struct error *err);

/* 1 when the file is compressed in a way that is undone here, 0 when not, or negative. */
int stream_packed(const char *path, struct error *err);

/* All of a small compressed buffer (zlib or gzip), for packets inside files.  -EBADMSG: it is damaged, and `out` has what comes
 * before that; -EFBIG beyond `limit`. */
int stream_inflate(const void *data, size_t size, size_t limit, struct buffer *out);

#endif
