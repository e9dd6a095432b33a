/*
 * stream_unpack.h - a file's bytes uncompressed, in the caller's thread.
 */
#ifndef IMPORT_STREAM_UNPACK_H
#define IMPORT_STREAM_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define UNPACK_INPUT ((size_t)256 << 10) /* compressed bytes that are read at once */

struct unpack;

/* Takes over fd.  Compression is told by the first bytes. */
int unpack_new(struct unpack **ret, int fd, struct error *err);
/*
 * Fills `data` with the next bytes; returns how many, fewer than `size` only at the end, or -ENOMEM.  At the end
 * unpack_damage() says whether it is the true one.
 */
int64_t unpack_read(struct unpack *u, void *data, size_t size);
const char *unpack_damage(const struct unpack *u); /* or NULL */
uint64_t unpack_position(const struct unpack *u);  /* bytes of the file that have been read */
bool unpack_compressed(const struct unpack *u);
void unpack_free(struct unpack *u);

#endif
