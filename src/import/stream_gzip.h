/*
 * stream_gzip.h - inflating, by ISA-L where it was there to build with, else by zlib.
 */
#ifndef IMPORT_STREAM_GZIP_H
#define IMPORT_STREAM_GZIP_H

#include <stddef.h>
#include <stdint.h>

struct gzip;

enum gzip_wrapper { GZIP_WRAPPER, ZLIB_WRAPPER };

int gzip_new(struct gzip **ret, enum gzip_wrapper wrapper);
void gzip_free(struct gzip *g);
void gzip_restart(struct gzip *g); /* for the next member */

enum gzip_result { GZIP_MORE, GZIP_END, GZIP_DAMAGED };
/* Moves both ends on.  GZIP_MORE when either the input is used up or the output is full. */
enum gzip_result gzip_inflate(struct gzip *g, const uint8_t **in, size_t *in_size, uint8_t **out, size_t *out_size);

#endif
