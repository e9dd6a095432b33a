/* output.c - see output.h. */
#include "trace/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zstd.h>

#include "base/crc32.h"
#include "base/file.h"

#define END_ROOM (64u << 10)   /* for the end of a file, besides its index */
#define COPY_CHUNK (32u << 10) /* several times in that */

int output_init(struct output *o, int level)
{
	*o = (struct output){ .zstd = ZSTD_createCCtx(), .level = level ? level : 1 };
	return o->zstd ? 0 : -ENOMEM;
}

void output_release(struct output *o)
{
	ZSTD_freeCCtx(o->zstd);
	buffer_release(&o->block);
	*o = (struct output){ 0 };
}

/* ---- Room ---- */

/* Where room cannot be kept, what is free now has to do: others may take it. */
static int check_free(int fd, uint64_t bytes)
{
	struct statvfs fs;

	if (fstatvfs(fd, &fs) != 0 || fs.f_blocks == 0) /* some say nothing */
		return 0;
	return fs.f_bavail < bytes / fs.f_frsize + 1 ? -ENOSPC : 0;
}

/* Has the bytes and, behind them, what the end needs: then the latter is there whatever becomes of the disk. */
static int make_room(const struct output_file *file, size_t size)
{
	uint64_t bytes = size + END_ROOM + file->index.size;
	struct rlimit limit;
	int rc;

	if (file->ending)
		return 0;
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && file->size + bytes > limit.rlim_cur)
		return -EFBIG;
	do
		rc = fallocate(file->fd, FALLOC_FL_KEEP_SIZE, (off_t)file->size, (off_t)bytes) == 0 ? 0 : -errno;
	while (rc == -EINTR);
	return rc == 0 || rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG ? rc : check_free(file->fd, bytes);
}

/* Appends the bytes, or leaves the file as it was. */
static int append(struct output_file *file, const uint8_t *data, size_t size, struct error *err)
{
	size_t done = 0;
	int rc = make_room(file, size);

	if (rc)
		return error_errno(err, rc, "cannot write to the trace file");
	while (done < size) {
		ssize_t n = pwrite(file->fd, data + done, size - done, (off_t)(file->size + done));

		if (n > 0) {
			done += (size_t)n;
		} else if (n == 0 || errno != EINTR) {
			int code = n == 0 ? -ENOSPC : -errno;

			(void)!ftruncate(file->fd, (off_t)file->size);
			return error_errno(err, code, "cannot write to the trace file");
		}
	}
	file->size += size;
	return 0;
}

int output_file_begin(struct output_file *file, int fd, int64_t created_ns, struct error *err)
{
	uint8_t header[SBT_FILE_HEADER] = { 0 };

	*file = (struct output_file){ .fd = fd };
	memcpy(header, SBT_MAGIC, 8);
	put16(header + 8, SBT_MAJOR);
	put16(header + 10, SBT_MINOR);
	put32(header + 12, SBT_FILE_HEADER);
	if (getrandom(header + 16, 16, 0) != 16)
		return error_errno(err, -errno, "cannot get random bytes for the trace's identifier");
	put64(header + 32, (uint64_t)created_ns);
	put32(header + 60, crc32_of(0, header, 60));
	return append(file, header, sizeof header, err);
}

void output_file_release(struct output_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
	buffer_release(&file->index);
}

static int index_block(struct output_file *file, const struct sbt_block *block)
{
	uint8_t record[SBT_INDEX_RECORD] = { 0 };

	put64(record, file->size);
	put64(record + 8, (uint64_t)block->first_time);
	put64(record + 16, (uint64_t)block->last_time);
	put64(record + 24, block->lost);
	put32(record + 32, block->count);
	put32(record + 36, block->stored_size);
	put32(record + 40, block->domain);
	record[44] = block->kind;
	put16(record + 46, block->flags);
	return buffer_append(&file->index, record, sizeof record);
}

/* Fills o->block: room for the header, then the payload, compressed if that makes it smaller, then padding. */
static int store_payload(struct output *o, struct sbt_block *block, const void *payload, size_t size)
{
	size_t bound = ZSTD_compressBound(size), stored;
	uint8_t *at;

	buffer_clear(&o->block);
	if (buffer_reserve(&o->block, SBT_BLOCK_HEADER + bound + 8))
		return -ENOMEM;
	at = o->block.data + SBT_BLOCK_HEADER;
	stored = ZSTD_compressCCtx(o->zstd, at, bound, payload, size, o->level);
	block->codec = SBT_ZSTD;
	if (ZSTD_isError(stored) || stored >= size) {
		block->codec = SBT_PLAIN;
		stored = size;
		if (size)
			memcpy(at, payload, size);
	}
	memset(at + stored, 0, 8);
	block->stored_size = (uint32_t)stored;
	block->raw_size = (uint32_t)size;
	block->payload_crc = crc32_of(0, at, stored);
	o->block.size = sbt_block_span(block->stored_size);
	return 0;
}

int output_write(struct output *o, struct output_file *file, struct sbt_block block, const void *payload, size_t size,
		 struct error *err)
{
	int rc;

	if (size > SBT_RAW_MAX)
		return error_set(err, -EFBIG, "a block of the trace is too large");
	if (store_payload(o, &block, payload, size) || index_block(file, &block))
		return error_errno(err, -ENOMEM, "cannot write to the trace file");
	block.sequence = o->sequence;
	sbt_block_pack(o->block.data, &block);
	rc = append(file, o->block.data, o->block.size, err);
	if (rc)
		file->index.size -= SBT_INDEX_RECORD;
	else
		o->sequence++;
	return rc;
}

int output_finish(struct output *o, struct output_file *file, struct error *err)
{
	struct sbt_block block = { .kind = SBT_INDEX, .count = (uint32_t)(file->index.size / SBT_INDEX_RECORD) };
	uint8_t trailer[SBT_TRAILER] = { 0 };
	uint64_t offset = file->size;
	int rc;

	if (file->index.size > SBT_RAW_MAX)
		return 0; /* readers walk such a file */
	rc = output_write(o, file, block, file->index.data, file->index.size, err);
	if (rc)
		return rc;
	file->index_at = offset;
	memcpy(trailer, SBT_TRAILER_MAGIC, 8);
	put64(trailer + 8, offset);
	put64(trailer + 16, file->size + SBT_TRAILER);
	put32(trailer + 28, crc32_of(0, trailer, 28));
	rc = append(file, trailer, sizeof trailer, err);
	(void)!ftruncate(file->fd, (off_t)file->size);
	return rc;
}

void output_reopen(struct output *o, struct output_file *file)
{
	if (file->index_at == 0)
		return;
	(void)!ftruncate(file->fd, (off_t)file->index_at);
	file->size = file->index_at;
	file->index.size -= SBT_INDEX_RECORD; /* that of the index block itself */
	file->index_at = 0;
	o->sequence--;
}

/* A file without a name is nobody's after a power cut, whatever is on the disk. */
int output_sync(const struct output_file *file, struct error *err)
{
	struct stat st;
	int rc = fstat(file->fd, &st) == 0 && st.st_nlink == 0 ? 0 : file_sync(file->fd);

	return rc ? error_errno(err, rc, "cannot get the trace file onto the disk") : 0;
}

/* Appends a piece of another file that ends at `end` there.  Where there is no room for it, what has been copied goes from there. */
static int append_copy(struct output_file *file, const struct output_file *other, uint64_t end, const uint8_t *data, size_t size,
		       struct error *err)
{
	int rc = append(file, data, size, NULL);

	if ((rc == -ENOSPC || rc == -EDQUOT) &&
	    fallocate(other->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)(end - size)) == 0)
		rc = append(file, data, size, NULL);
	return rc ? error_errno(err, rc, "cannot write to the trace file") : 0;
}

static int copy_blocks(struct output_file *file, const struct output_file *other, uint8_t *chunk, struct error *err)
{
	(void)!ftruncate(other->fd, (off_t)other->size); /* it needs no end of its own */
	for (uint64_t at = SBT_FILE_HEADER; at < other->size;) {
		size_t want = other->size - at < COPY_CHUNK ? (size_t)(other->size - at) : COPY_CHUNK;
		ssize_t n = pread(other->fd, chunk, want, (off_t)at);
		int rc;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return error_errno(err, n ? -errno : -EIO, "cannot read a segment of the trace");
		at += (uint64_t)n;
		rc = append_copy(file, other, at, chunk, (size_t)n, err);
		if (rc)
			return rc;
	}
	return 0;
}

int output_join(struct output_file *file, const struct output_file *other, struct error *err)
{
	uint64_t before = file->size;
	size_t records = file->index.size;
	uint8_t *chunk = malloc(COPY_CHUNK);
	int rc = -ENOMEM;

	if (chunk && buffer_append(&file->index, other->index.data, other->index.size) == 0)
		rc = copy_blocks(file, other, chunk, err);
	free(chunk);
	if (rc) {
		(void)!ftruncate(file->fd, (off_t)before);
		file->size = before;
		file->index.size = records;
		return rc;
	}
	for (size_t at = records; at < file->index.size; at += SBT_INDEX_RECORD)
		put64(file->index.data + at, get64(file->index.data + at) + before - SBT_FILE_HEADER);
	return 0;
}
