/*
 * decode.h - payload of an events block in, columns out.  Trusts nothing: all
 * counts are held against the bytes there before anything is allocated by them.
 */
#ifndef TRACE_DECODE_H
#define TRACE_DECODE_H

#include "base/buffer.h"
#include "trace/format.h"
#include "trace/reader.h"

/*
 * Decompresses the stored payload (whose crc the caller has checked) to the
 * batch's own memory and decodes it there.  Returns 0, -ENOMEM, -ENOTSUP for
 * an unknown codec, or -EBADMSG with a reason.
 */
int decode_events(struct trace_batch *batch, const struct sbt_block *block, const uint8_t *stored,
		  const char **ret_reason);

/* Also used for the payloads of other blocks.  Appends nothing: replaces out's contents, with 8 spare zero bytes after.
 */
struct ZSTD_DCtx_s;
int decode_payload(struct ZSTD_DCtx_s *zstd, const struct sbt_block *block, const uint8_t *stored, struct buffer *out,
		   const char **ret_reason);

#endif
