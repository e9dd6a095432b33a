/*
 * output.h - blocks to disk: compress, check, append, or cut back.
 *
 * A file keeps some room on the disk for its end: a block that would take of it
 * counts as one that does not fit.  So a recording whose disk fills up can
 * still say what it has lost.
 */
#ifndef TRACE_OUTPUT_H
#define TRACE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "trace/format.h"

/* What makes blocks; one for all files of a trace. */
struct output {
	struct ZSTD_CCtx_s *zstd;
	int level;
	uint64_t sequence;
	struct buffer block;
};

/* A file, up to its last good block. */
struct output_file {
	int fd;
	uint64_t size;
	uint64_t index_at;   /* where the index block is; 0: there is none */
	bool ending;         /* what follows is the end, which may use the room that was kept for it */
	struct buffer index; /* records as in section 7 */
};

int output_init(struct output *o, int level);
void output_release(struct output *o);

/* Writes the file header.  The descriptor then belongs to the file. */
int output_file_begin(struct output_file *file, int fd, int64_t created_ns, struct error *err);
void output_file_release(struct output_file *file);

/* Appends a block; kind, flags, times, count, domain and lost are taken from `block`.  On failure the file is cut back
 * to where it was. */
int output_write(struct output *o, struct output_file *file, struct sbt_block block, const void *payload, size_t size,
		 struct error *err);
/* Index block and trailer; gives back the room that was not needed.  Nothing may be appended afterwards, unless both are taken away
 * again. */
int output_finish(struct output *o, struct output_file *file, struct error *err);
void output_reopen(struct output *o, struct output_file *file);
/* Returns when all of it is on the disk. */
int output_sync(const struct output_file *file, struct error *err);
/* Appends the blocks of another file, which is used up by it where the disk has no room for both. */
int output_join(struct output_file *file, const struct output_file *other, struct error *err);

#endif
