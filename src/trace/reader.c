/*
 * reader.c - opening and refreshing, the report on damage, and decoding by
 * number.
 */
#include "trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/crc32.h"
#include "trace/decode.h"
#include "trace/reader_state.h"

#define READ_AHEAD_MAX (16u << 20)

/* ---- Damage ---- */

/* Keeps the list in the order of the file; what does not fit is counted only. */
void reader_note_damage(struct trace_reader *r, uint64_t offset, uint64_t size, const char *reason)
{
	struct trace_report *report = &r->report;
	size_t listed = sizeof report->damage / sizeof *report->damage, at, end;

	if (size > r->size - offset) /* the padding after the last block may be missing */
		size = r->size - offset;
	pthread_mutex_lock(&r->report_lock);
	end = report->damage_count < listed ? report->damage_count : listed - 1;
	for (at = 0; at < end && report->damage[at].offset <= offset; at++)
		;
	if (report->damage_count < listed || offset < report->damage[listed - 1].offset) {
		memmove(&report->damage[at + 1], &report->damage[at], (end - at) * sizeof *report->damage);
		report->damage[at] = (struct trace_damage){ .offset = offset, .size = size };
		snprintf(report->damage[at].reason, sizeof report->damage[at].reason, "%s", reason);
	}
	report->damage_count++;
	report->damage_bytes += size;
	pthread_mutex_unlock(&r->report_lock);
}

/* What was missing at the end may have come. */
static void forget_tail(struct trace_reader *r)
{
	if (!r->tail_damaged)
		return;
	r->tail_damaged = false;
	r->report.damage_count--;
	r->report.damage_bytes -= r->tail_size;
}

/* ---- Blocks ---- */

int reader_header(const struct trace_reader *r, uint64_t offset, struct sbt_block *ret, const char **ret_reason)
{
	*ret_reason = "block lies outside of the file";
	if (offset > r->size || r->size - offset < SBT_BLOCK_HEADER)
		return -EBADMSG;
	*ret_reason = "damaged block header";
	if (sbt_block_unpack(r->data + offset, ret))
		return -EBADMSG;
	*ret_reason = "the file ends inside a block";
	return ret->stored_size > r->size - offset - SBT_BLOCK_HEADER ? -EBADMSG : 0;
}

bool reader_payload_matches(const struct trace_reader *r, uint64_t offset, const struct sbt_block *block)
{
	return crc32_of(0, r->data + offset + SBT_BLOCK_HEADER, block->stored_size) == block->payload_crc;
}

int reader_payload(struct trace_reader *r, uint64_t offset, struct sbt_block *ret, const char **ret_reason)
{
	int rc = reader_header(r, offset, ret, ret_reason);

	if (rc)
		return rc;
	*ret_reason = "checksum of the payload is wrong";
	if (!reader_payload_matches(r, offset, ret))
		return -EBADMSG;
	return decode_payload(r->zstd, ret, r->data + offset + SBT_BLOCK_HEADER, &r->payload, ret_reason);
}

/* One long read ahead of many short ones; from a cold disk that is most of the time. */
void reader_will_need(const struct trace_reader *r, uint64_t offset, uint64_t size)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = offset & ~(page - 1);

	if (r->fd < 0 || offset >= r->size)
		return;
	size = size < READ_AHEAD_MAX ? size : READ_AHEAD_MAX;
	size = size < r->size - offset ? size : r->size - offset;
	(void)madvise((void *)(r->data + start), (size_t)(offset - start + size), MADV_WILLNEED);
}

/* ---- Dictionary, clock and info blocks ---- */

static int read_metadata_block(struct trace_reader *r, const struct trace_block *at)
{
	const char *reason = "malformed contents";
	struct sbt_block block;
	struct cursor in;
	int rc = reader_payload(r, at->offset, &block, &reason);

	if (rc == 0) {
		reason = "malformed contents";
		in = cursor_of(r->payload.data, r->payload.size);
		rc = at->kind == SBT_DICTIONARY ? reader_read_dictionary(r, &in)
		     : at->kind == SBT_INFO     ? reader_read_info(r, &in)
						: reader_read_clock(r, &block, &in);
	}
	if (rc == -EBADMSG)
		reader_note_damage(r, at->offset, sbt_block_span(at->stored_size), reason);
	return rc == -ENOMEM ? rc : 0;
}

/* The last dictionary that repeats everything and is whole; those before it need not be read. */
static size_t last_full(const struct trace_reader *r, const struct trace_block *blocks, size_t count)
{
	while (count-- > 0) {
		struct sbt_block block;
		const char *reason;

		if (blocks[count].kind == SBT_DICTIONARY && blocks[count].flags & SBT_FLAG_FULL &&
		    reader_header(r, blocks[count].offset, &block, &reason) == 0 &&
		    reader_payload_matches(r, blocks[count].offset, &block))
			return count;
	}
	return 0;
}

static int read_metadata(struct trace_reader *r)
{
	const struct trace_block *blocks = (const struct trace_block *)r->metadata.data;
	size_t count = r->metadata.size / sizeof *blocks, first = r->metadata_read;
	size_t full = first ? first : last_full(r, blocks, count);
	int rc = 0;

	for (size_t i = first; rc == 0 && i < count; i++)
		if (blocks[i].kind != SBT_DICTIONARY || i >= full)
			rc = read_metadata_block(r, &blocks[i]);
	r->metadata_read = count;
	if (rc == 0)
		reader_fit_clocks(r);
	return rc ? rc : reader_merge_info(r);
}

/* ---- Opening ---- */

static int bad_file(struct error *err, uint64_t offset, const char *format, unsigned major, unsigned minor)
{
	if (err) {
		*err = (struct error){ .code = -EBADMSG, .exit_code = 3, .offset = offset };
		snprintf(err->text, sizeof err->text, format, major, minor);
	}
	return -EBADMSG;
}

/* A damaged header does not matter as long as a block follows. */
static int check_file_header(struct trace_reader *r, struct error *err)
{
	const uint8_t *h = r->data;

	if (r->size == 0)
		return bad_file(err, 0, "the file is empty", 0, 0);
	if (r->size < SBT_FILE_HEADER)
		return bad_file(err, r->size, "the file is too short to be an SBT trace", 0, 0);
	if (memcmp(h, SBT_MAGIC, 8) == 0 && get32(h + 60) == crc32_of(0, h, 60)) {
		if (get16(h + 8) != SBT_MAJOR)
			return bad_file(
				err, 8,
				"the trace has format version %u.%u, and this program reads version 1: use a newer one",
				get16(h + 8), get16(h + 10));
		r->walked =
			get32(h + 12) < SBT_FILE_HEADER || get32(h + 12) > r->size ? SBT_FILE_HEADER : get32(h + 12);
		return 0;
	}
	r->walked = reader_scan(r, 0);
	if (r->walked == 0)
		return bad_file(err, 0, "the file is not an SBT trace", 0, 0);
	reader_note_damage(r, 0, r->walked, "damaged file header");
	return 0;
}

static bool any_readable(const struct trace_reader *r)
{
	const struct trace_block *metadata = (const struct trace_block *)r->metadata.data;
	const struct reader_event_block *events = (const struct reader_event_block *)r->events.data;
	size_t metadata_count = r->metadata.size / sizeof *metadata, event_count = r->events.size / sizeof *events;

	for (size_t i = 0; i < metadata_count + event_count; i++) {
		uint64_t offset = i < metadata_count ? metadata[i].offset : events[i - metadata_count].block.offset;
		struct sbt_block block;
		const char *reason;

		if (reader_header(r, offset, &block, &reason) == 0 && reader_payload_matches(r, offset, &block))
			return true;
	}
	return false;
}

static int load(struct trace_reader *r, struct error *err)
{
	int rc = check_file_header(r, err);

	if (rc)
		return rc;
	rc = reader_load_index(r);
	if (rc == -ENOENT)
		rc = reader_walk(r);
	if (rc == 0 && !any_readable(r))
		return bad_file(err, SBT_FILE_HEADER, "the trace holds no readable block", 0, 0);
	if (rc == 0)
		rc = read_metadata(r);
	return rc ? error_errno(err, rc, "cannot read the trace") : 0;
}

static struct trace_reader *reader_new(int fd, const void *data, size_t size)
{
	struct trace_reader *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->fd = fd;
	r->data = data;
	r->size = size;
	pthread_mutex_init(&r->report_lock, NULL);
	reader_dictionary_init(r);
	r->zstd = ZSTD_createDCtx();
	return r;
}

static int open_with(struct trace_reader **ret, int fd, const void *data, size_t size, struct error *err)
{
	struct trace_reader *r = reader_new(fd, data, size);
	int rc = r && r->zstd ? load(r, err) : error_errno(err, -ENOMEM, "cannot read the trace");

	if (rc && r) {
		r->fd = -1; /* still the caller's */
		trace_reader_close(r);
	}
	if (rc == 0)
		*ret = r;
	return rc;
}

int trace_reader_open_memory(struct trace_reader **ret, const void *data, size_t size, struct error *err)
{
	return open_with(ret, -1, data, size, err);
}

/* A map of the file as it is now; an empty file has none. */
static int map_file(int fd, const void **ret, size_t *ret_size)
{
	struct stat st;
	void *data = NULL;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -ESPIPE;
	if (st.st_size)
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return -errno;
	*ret = data;
	*ret_size = (size_t)st.st_size;
	return 0;
}

static int cannot_open(struct error *err, int rc, const char *path)
{
	error_errno(err, rc, "cannot open %s", path);
	if (err)
		err->exit_code = 3;
	return rc;
}

int trace_reader_open_fd(struct trace_reader **ret, int fd, const char *path, struct error *err)
{
	const void *data;
	size_t size;
	int rc = map_file(fd, &data, &size);

	if (rc) {
		close(fd);
		return cannot_open(err, rc, path);
	}
	rc = open_with(ret, fd, data, size, err);
	if (rc && data)
		munmap((void *)data, size);
	if (rc)
		close(fd);
	return rc;
}

int trace_reader_open(struct trace_reader **ret, const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? cannot_open(err, -errno, path) : trace_reader_open_fd(ret, fd, path, err);
}

void trace_reader_close(struct trace_reader *r)
{
	if (!r)
		return;
	reader_dictionary_release(r);
	reader_info_release(r);
	buffer_release(&r->events);
	buffer_release(&r->metadata);
	buffer_release(&r->payload);
	ZSTD_freeDCtx(r->zstd);
	pthread_mutex_destroy(&r->report_lock);
	if (r->fd >= 0) {
		munmap((void *)r->data, r->size);
		close(r->fd);
	}
	free(r);
}

int trace_reader_refresh(struct trace_reader *r, struct error *err)
{
	uint64_t before = r->sequence;
	const void *data;
	size_t size;
	int rc = r->fd < 0 ? 0 : map_file(r->fd, &data, &size);

	if (rc)
		return error_errno(err, rc, "cannot look at the trace again");
	if (r->fd < 0 || size == r->size)
		return r->fd < 0 ? 0 : (munmap((void *)data, size), 0);
	if (size < r->size) {
		munmap((void *)data, size);
		return error_set(err, -ESTALE, "the trace has become shorter since it was opened");
	}
	munmap((void *)r->data, r->size);
	r->data = data;
	r->size = size;
	forget_tail(r);
	rc = reader_walk(r);
	if (rc == 0)
		rc = read_metadata(r);
	return rc ? error_errno(err, rc, "cannot read the trace") : (int)(r->sequence - before);
}

/* ---- What there is ---- */

const struct trace_report *trace_reader_report(const struct trace_reader *r)
{
	return &r->report;
}

uint64_t trace_reader_size(const struct trace_reader *r)
{
	return r->size;
}

static struct reader_event_block *event_block(const struct trace_reader *r, size_t i)
{
	return (struct reader_event_block *)r->events.data + i;
}

size_t trace_reader_block_count(const struct trace_reader *r)
{
	return r->events.size / sizeof(struct reader_event_block);
}

const struct trace_block *trace_reader_block(const struct trace_reader *r, size_t i)
{
	return i < trace_reader_block_count(r) ? &event_block(r, i)->block : NULL;
}

/* Once for each block, however often it is tried. */
static int note_block(struct trace_reader *r, struct reader_event_block *at, const char *reason, struct error *err)
{
	bool known;

	pthread_mutex_lock(&r->report_lock);
	known = at->noted;
	at->noted = true;
	pthread_mutex_unlock(&r->report_lock);
	if (!known)
		reader_note_damage(r, at->block.offset, sbt_block_span(at->block.stored_size), reason);
	error_set(err, -EBADMSG, "the block at byte %llu cannot be read: %s", (unsigned long long)at->block.offset,
		  reason);
	if (err) {
		err->exit_code = 3;
		err->offset = at->block.offset;
	}
	return -EBADMSG;
}

int trace_reader_decode(struct trace_reader *r, size_t i, struct trace_batch *batch, struct error *err)
{
	struct reader_event_block *at;
	struct sbt_block block;
	const char *reason = NULL;
	int rc;

	if (i >= trace_reader_block_count(r))
		return error_set(err, -EINVAL, "there is no block %zu", i);
	at = event_block(r, i);
	rc = reader_header(r, at->block.offset, &block, &reason);
	if (rc == 0 && block.kind != SBT_EVENTS) {
		reason = "the index and the block disagree";
		rc = -EBADMSG;
	}
	if (rc == 0 && !reader_payload_matches(r, at->block.offset, &block)) {
		reason = "checksum of the payload is wrong";
		rc = -EBADMSG;
	}
	if (rc == 0)
		rc = decode_events(batch, &block, r->data + at->block.offset + SBT_BLOCK_HEADER, &reason);
	if (rc == -EBADMSG)
		return note_block(r, at, reason, err);
	return rc ? error_errno(err, rc, "cannot decode the block at byte %llu", (unsigned long long)at->block.offset)
		  : 0;
}

/* A block's time in ticks of domain 0. */
static int64_t in_domain_zero(const struct trace_reader *r, uint32_t domain, int64_t ticks)
{
	if (domain == 0 || domain >= TRACE_DOMAIN_MAX)
		return ticks;
	return clock_fit_ticks(&r->clock[0].fit, clock_fit_ns(&r->clock[domain].fit, ticks));
}

void trace_reader_window(const struct trace_reader *r, int64_t from, int64_t to, size_t *ret_first, size_t *ret_end)
{
	size_t count = trace_reader_block_count(r), first = count, end = 0;

	for (size_t i = 0; i < count; i++) {
		const struct trace_block *b = trace_reader_block(r, i);

		if (first == count && in_domain_zero(r, b->domain, b->last_time) >= from)
			first = i;
		if (in_domain_zero(r, b->domain, b->first_time) < to)
			end = i + 1;
	}
	if (first == count && count)
		first = count - 1;
	*ret_first = first;
	*ret_end = end > first ? end : first + (count > 0);
	if (count) {
		const struct trace_block *last = trace_reader_block(r, *ret_end - 1);
		uint64_t offset = trace_reader_block(r, first)->offset;

		reader_will_need(r, offset, last->offset + sbt_block_span(last->stored_size) - offset);
	}
}
