/* test-trace-reader.c - files that are damaged, cut off, still growing, or lie; and windows. */
#include "trace-fixture.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/crc32.h"
#include "base/msgpack.h"

#define BLOCKS 6u /* events blocks of the sample */
#define PER_BLOCK 100u
#define MAX_BLOCKS 32u

/* Two threads; each block holds ten nested calls of each of them.  Thread 0 has "main" open all the time. */
static void write_sample(struct fixture *f)
{
	uint32_t main_name, call;

	fixture_open(f, NULL);
	main_name = trace_writer_string(f->w, "main", 4);
	call = trace_writer_string(f->w, "call", 4);
	trace_writer_clock(f->w, &(struct trace_clock){ .kind = CLOCK_KIND_NANOSECONDS });
	put_scope(f, 0, 500, PHASE_BEGIN, main_name, 0);
	for (uint32_t block = 0; block < BLOCKS; block++) {
		for (uint32_t i = 0; i < PER_BLOCK - (block == 0); i++) {
			uint32_t track = i % 2;
			uint64_t time = 1000 * (block + 1) + 5 * i;

			put_scope(f, track, time, i / 2 % 2 ? PHASE_END : PHASE_BEGIN, i / 2 % 2 ? 0 : call,
				  track == 0);
		}
		assert_int_equal(trace_writer_flush(f->w, NULL), 0);
	}
}

/* Reads all that can be read; returns the number of events, or negative when the file cannot be opened. */
static int64_t count_events(const uint8_t *data, size_t size, struct trace_report *ret_report)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_reader *r;
	struct error err = { 0 };
	int64_t events = 0;
	uint8_t *exact = malloc(size ? size : 1); /* so that a sanitizer sees reads past the end */

	memcpy(exact, data, size);
	if (trace_reader_open_memory(&r, exact, size, &err)) {
		assert_int_equal(err.exit_code, 3);
		free(exact);
		return -1;
	}
	for (size_t i = 0; i < trace_reader_block_count(r); i++)
		if (trace_reader_decode(r, i, &batch, &err) == 0)
			events += batch.count;
	if (ret_report)
		*ret_report = *trace_reader_report(r);
	trace_batch_release(&batch);
	trace_reader_close(r);
	free(exact);
	return events;
}

/* ---- Whole files ---- */

static void whole_file(void **state)
{
	struct trace_report report;
	struct fixture f;
	uint8_t *data;
	size_t size;

	(void)state;
	write_sample(&f);
	data = fixture_bytes(&f, &size);
	assert_int_equal(count_events(data, size, &report), BLOCKS * PER_BLOCK);
	assert_false(report.has_index);
	assert_int_equal(report.damage_count, 0);
	free(data);
	fixture_finish(&f);
	data = fixture_bytes(&f, &size);
	assert_int_equal(count_events(data, size, &report), BLOCKS * PER_BLOCK);
	assert_true(report.has_index);
	assert_int_equal(report.damage_count, 0);
	free(data);
	fixture_close(&f);
}

static void expect_refused(const void *data, size_t size, const char *part)
{
	struct trace_reader *r;
	struct error err = { 0 };

	assert_int_equal(trace_reader_open_memory(&r, data, size, &err), -EBADMSG);
	assert_int_equal(err.exit_code, 3);
	if (!strstr(err.text, part))
		fail_msg("'%s' does not say '%s'", err.text, part);
}

static void not_a_trace(void **state)
{
	uint8_t header[SBT_FILE_HEADER] = { 0 };
	struct trace_reader *r;
	struct error err = { 0 };

	(void)state;
	expect_refused("", 0, "empty");
	expect_refused("short", 5, "too short");
	expect_refused(header, sizeof header, "not an SBT trace");
	memcpy(header, SBT_MAGIC, 8);
	put16(header + 8, 2);
	put32(header + 12, SBT_FILE_HEADER);
	put32(header + 60, crc32_of(0, header, 60));
	expect_refused(header, sizeof header, "version 2.0");
	put16(header + 8, 1);
	put32(header + 60, crc32_of(0, header, 60));
	expect_refused(header, sizeof header, "no readable block");
	assert_int_equal(trace_reader_open(&r, "/nonexistent/trace.sbt", &err), -ENOENT);
	assert_int_equal(trace_reader_open(&r, "/", &err), -EISDIR);
	assert_int_equal(err.exit_code, 3);
}

/* ---- Damage ---- */

/* Cut at every byte: everything in blocks that are whole is read. */
static void cut_anywhere(void **state)
{
	uint64_t offsets[MAX_BLOCKS];
	struct sbt_block blocks[MAX_BLOCKS];
	struct fixture f;
	uint8_t *data;
	size_t size, count;

	(void)state;
	write_sample(&f);
	fixture_finish(&f);
	data = fixture_bytes(&f, &size);
	count = find_blocks(data, size, offsets, blocks, MAX_BLOCKS);
	for (size_t cut = 0; cut < size; cut++) {
		struct trace_report report = { 0 };
		int64_t expected = 0, got = count_events(data, cut, &report);
		size_t whole = 0;
		uint64_t end = SBT_FILE_HEADER;

		for (size_t i = 0; i < count; i++) {
			if (offsets[i] + SBT_BLOCK_HEADER + blocks[i].stored_size > cut)
				break;
			whole++;
			end = offsets[i] + sbt_block_span(blocks[i].stored_size);
			expected += blocks[i].kind == SBT_EVENTS ? blocks[i].count : 0;
		}
		assert_int_equal(got, whole ? expected : -1);
		assert_false(report.has_index);
		if (whole && cut > end) {
			assert_int_equal(report.damage_count, 1);
			assert_int_equal(report.damage[0].offset, end);
			assert_int_equal(report.damage[0].size, cut - end);
		} else {
			assert_int_equal(report.damage_count, 0);
		}
	}
	free(data);
	fixture_close(&f);
}

/* A flipped bit costs at most the block it is in, and is found. */
static void flip_every_byte(bool finished)
{
	uint64_t offsets[MAX_BLOCKS];
	struct sbt_block blocks[MAX_BLOCKS];
	struct fixture f;
	uint8_t *data;
	size_t size, count;

	write_sample(&f);
	if (finished)
		fixture_finish(&f);
	data = fixture_bytes(&f, &size);
	count = find_blocks(data, size, offsets, blocks, MAX_BLOCKS);
	for (size_t at = 0; at < size; at++) {
		struct trace_report report;
		int64_t expected = BLOCKS * PER_BLOCK;
		bool in_events = false, padding = false;

		for (size_t i = 0; i < count; i++) {
			uint64_t stored = offsets[i] + SBT_BLOCK_HEADER + blocks[i].stored_size;

			if (at < offsets[i] || at >= offsets[i] + sbt_block_span(blocks[i].stored_size))
				continue;
			padding = at >= stored;
			in_events = blocks[i].kind == SBT_EVENTS && !padding;
			expected -= in_events ? blocks[i].count : 0;
		}
		data[at] ^= 0x10;
		assert_int_equal(count_events(data, size, &report), expected);
		if (in_events)
			assert_int_equal(report.damage_count, 1);
		if (padding)
			assert_int_equal(report.damage_count, 0);
		data[at] ^= 0x10;
	}
	free(data);
	fixture_close(&f);
}

static void flip_with_index(void **state)
{
	(void)state;
	flip_every_byte(true);
}

static void flip_without_index(void **state)
{
	(void)state;
	flip_every_byte(false);
}

static void damage_is_listed_by_offset(void **state)
{
	uint64_t offsets[MAX_BLOCKS];
	struct sbt_block blocks[MAX_BLOCKS];
	struct trace_report report;
	struct fixture f;
	uint8_t *data;
	size_t size, count, n = 0;

	(void)state;
	write_sample(&f);
	data = fixture_bytes(&f, &size);
	count = find_blocks(data, size, offsets, blocks, MAX_BLOCKS);
	data[offsets[count - 1] + 1] ^= 1;        /* header of the last */
	data[offsets[2] + SBT_BLOCK_HEADER] ^= 1; /* payload of another */
	data[5] ^= 1;                             /* file header */
	assert_int_equal(count_events(data, size, &report), (BLOCKS - 2) * PER_BLOCK);
	assert_int_equal(report.damage_count, 3);
	assert_int_equal(report.damage[n].offset, 0);
	assert_int_equal(report.damage[n++].size, SBT_FILE_HEADER);
	assert_int_equal(report.damage[n].offset, offsets[2]);
	assert_string_equal(report.damage[n].reason, "checksum of the payload is wrong");
	assert_int_equal(report.damage[n++].size, sbt_block_span(blocks[2].stored_size));
	assert_int_equal(report.damage[n].offset, offsets[count - 1]);
	assert_int_equal(report.damage[n].size, size - offsets[count - 1]);
	assert_int_equal(report.damage_bytes, report.damage[0].size + report.damage[1].size + report.damage[2].size);
	free(data);
	fixture_close(&f);
}

/* When the last full dictionary is damaged, the ones before it serve. */
static void damaged_dictionary(void **state)
{
	uint64_t offsets[MAX_BLOCKS];
	struct sbt_block blocks[MAX_BLOCKS];
	struct trace_reader *r;
	struct fixture f;
	uint8_t *data;
	size_t size, count, last = 0;

	(void)state;
	write_sample(&f);
	trace_writer_string(f.w, "later", 5);
	fixture_finish(&f);
	data = fixture_bytes(&f, &size);
	count = find_blocks(data, size, offsets, blocks, MAX_BLOCKS);
	for (size_t i = 0; i < count; i++)
		if (blocks[i].kind == SBT_DICTIONARY)
			last = i;
	assert_true(last > 0 && blocks[last].flags & SBT_FLAG_FULL);
	data[offsets[last] + SBT_BLOCK_HEADER] ^= 1;
	assert_int_equal(trace_reader_open_memory(&r, data, size, NULL), 0);
	assert_string_equal(trace_reader_string(r, 1, NULL), "main");
	assert_string_equal(trace_reader_string(r, 3, NULL), ""); /* "later" was in the damaged one only */
	assert_int_equal(trace_reader_report(r)->damage_count, 1);
	assert_int_equal(trace_reader_report(r)->damage[0].offset, offsets[last]);
	trace_reader_close(r);
	free(data);
	fixture_close(&f);
}

/* ---- Files that lie: checksums right, contents not ---- */

struct forge {
	struct buffer file;
	uint64_t sequence;
};

static void forge_begin(struct forge *g)
{
	uint8_t header[SBT_FILE_HEADER] = { 0 };

	*g = (struct forge){ 0 };
	memcpy(header, SBT_MAGIC, 8);
	put16(header + 8, 1);
	put32(header + 12, SBT_FILE_HEADER);
	put32(header + 60, crc32_of(0, header, 60));
	buffer_append(&g->file, header, sizeof header);
}

static void forge_block(struct forge *g, struct sbt_block block, const void *payload, size_t size)
{
	uint8_t header[SBT_BLOCK_HEADER];

	block.stored_size = (uint32_t)size;
	block.raw_size = block.raw_size ? block.raw_size : (uint32_t)size;
	block.sequence = g->sequence++;
	block.payload_crc = crc32_of(0, payload, size);
	sbt_block_pack(header, &block);
	buffer_append(&g->file, header, sizeof header);
	buffer_append(&g->file, payload, size);
	while (g->file.size % 8)
		buffer_append(&g->file, "", 1);
}

/* An events block with this payload: it must be refused, for the reason given, without harm. */
static void expect_bad_events(uint32_t count, uint32_t raw_size, uint8_t codec, const void *payload, size_t size,
			      const char *reason)
{
	struct sbt_block block = { .kind = SBT_EVENTS, .codec = codec, .count = count, .raw_size = raw_size };
	struct trace_report report;
	struct forge g;

	forge_begin(&g);
	forge_block(&g, block, payload, size);
	assert_int_equal(count_events(g.file.data, g.file.size, &report), 0);
	assert_int_equal(report.damage_count, 1);
	assert_int_equal(report.damage[0].offset, SBT_FILE_HEADER);
	if (!strstr(report.damage[0].reason, reason))
		fail_msg("'%s' does not say '%s'", report.damage[0].reason, reason);
	buffer_release(&g.file);
}
#define EXPECT_BAD(count, bytes, reason) expect_bad_events(count, 0, SBT_PLAIN, bytes, sizeof(bytes) - 1, reason)

static void lies(void **state)
{
	(void)state;
	/* shapes, segments, open tracks, columns */
	EXPECT_BAD(0xffffffff, "\x00\x00\x00", "more events than");
	EXPECT_BAD(4, "\x00\x00\x00", "more events than");
	EXPECT_BAD(0, "\xff\xff\xff\xff\x0f", "number of shapes");
	EXPECT_BAD(0, "\x00\xff\xff\xff\xff\x0f", "number of segments");
	EXPECT_BAD(0, "\x00\x00\xff\xff\xff\xff\x0f", "number of open tracks");
	EXPECT_BAD(0, "\x00\x00\x01\x00\xff\xff\x03\x00", "impossible open track");
	EXPECT_BAD(0, "\x00\x00\x00\x01\x01\xff\xff\xff\xff\x0f", "ends too early");
	EXPECT_BAD(0, "\x00", "ends too early");
	EXPECT_BAD(10, "\x01\x02\x03\x02\x01\x00\x0a\x00\x00\x00\x01\x03\x01\x00", "shorter than");
	EXPECT_BAD(1, "\x01\x02\x03\x02\x01\x00\x01\x00\x00\x00", "without times");
	EXPECT_BAD(1, "\x00\x01\x00\x01\x00\x00\x00\x01\x03\x02\x00\x00", "without shapes");
	EXPECT_BAD(1, "\x01\x02\x03\x02\x01\xff\xff\xff\x7f\x01\x00\x00\x00", "impossible segment");
	EXPECT_BAD(2, "\x01\x02\x03\x02\x01\x00\x01\x00\x00\x00\x01\x03\x03\x00\x00\x00", "do not add up");
	EXPECT_BAD(1, "\x01\x02\x03\x02\x01\x00\x01\x00\x00\x00\x01\x03\x02\x04\x00", "column of times");
	EXPECT_BAD(1, "\x01\x02\x03\x02\x01\x00\x01\x00\x00\x00\x01\x03\x02\x00\x00\x00\x00\x01\x07",
		   "not in the table");
	EXPECT_BAD(1, "\x01\x02\x03\x82\x10\x01\x00\x01\x00\x00\x00\x01\x03\x02\x00\x00\x0b\x04\x02\x05\x02",
		   "malformed column");
	EXPECT_BAD(1, "\x01\x02\x03\x02\x01\x00\x01\x00\x00\x00\x01\x03\x02\x00\x00\x01\x03\x02\x00\x00",
		   "two columns");
	expect_bad_events(1, 1u << 31, SBT_ZSTD, "x", 1, "larger than");
	expect_bad_events(1, 60u << 20, SBT_ZSTD, "x", 1, "decompress");
	expect_bad_events(1, 7, SBT_PLAIN, "xyz", 3, "decompress");
}

static void unknown_things_are_passed_over(void **state)
{
	/* one event; unknown column 200, a known field in an unknown encoding, a field without a column */
	static const char payload[] =
		"\x01\x63\x09\xfe\x1f\x01\x00\x01\x00\x00\x00\xc8\x01\x02zz\x02\x63\x01z\x01\x03\x02\x00\x0e";
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_reader *r;
	struct forge g;
	struct error err = { 0 };

	(void)state;
	forge_begin(&g);
	forge_block(&g, (struct sbt_block){ .kind = 99 }, "whatever", 8);
	forge_block(&g, (struct sbt_block){ .kind = SBT_DICTIONARY, .count = 2 }, "\x63\x02zz\x01\x03\x01hi", 9);
	forge_block(&g, (struct sbt_block){ .kind = SBT_EVENTS, .codec = 9, .count = 1 }, "?", 1);
	forge_block(&g, (struct sbt_block){ .kind = SBT_EVENTS, .count = 1, .first_time = 50 }, payload,
		    sizeof payload - 1);
	assert_int_equal(trace_reader_open_memory(&r, g.file.data, g.file.size, NULL), 0);
	assert_int_equal(trace_reader_block_count(r), 2);
	assert_string_equal(trace_reader_string(r, 1, NULL), "hi");
	assert_int_equal(trace_reader_decode(r, 0, &batch, &err), -ENOTSUP);
	assert_int_equal(trace_reader_decode(r, 1, &batch, &err), 0);
	assert_int_equal(batch.kind[0], 0x63);
	assert_int_equal(batch.phase[0], 9);
	assert_int_equal(batch.time[0], 57);
	assert_int_equal(trace_batch_present(&batch, 0), 1u << FIELD_TIME);
	assert_int_equal(trace_reader_report(r)->damage_count, 0);
	trace_batch_release(&batch);
	trace_reader_close(r);
	buffer_release(&g.file);
}

/* Numbers far beyond what was defined before are refused, not allocated for. */
static void dictionary_numbers_are_not_believed(void **state)
{
	struct trace_reader *r;
	struct forge g;

	(void)state;
	forge_begin(&g);
	forge_block(&g, (struct sbt_block){ .kind = SBT_DICTIONARY, .count = 1 }, "\x01\x03\x01ok", 5);
	forge_block(&g, (struct sbt_block){ .kind = SBT_DICTIONARY, .count = 1 }, "\x01\x06\xf0\xff\xff\xff\x0fx", 8);
	/* the second entry is cut off: the block is not read at all */
	forge_block(&g, (struct sbt_block){ .kind = SBT_DICTIONARY, .count = 2 }, "\x01\x02\x02x\x01\x09x", 7);
	forge_block(&g, (struct sbt_block){ .kind = SBT_DICTIONARY, .count = 1 },
		    "\x08\x07\x00\xff\xff\xff\xff\x0f\x01", 9);
	forge_block(&g, (struct sbt_block){ .kind = SBT_CLOCK, .count = 1000000 }, "x", 1);
	assert_int_equal(trace_reader_open_memory(&r, g.file.data, g.file.size, NULL), 0);
	assert_string_equal(trace_reader_string(r, 1, NULL), "ok");
	assert_int_equal(trace_reader_string_count(r), 2);
	assert_int_equal(trace_reader_stack_count(r), 0);
	assert_int_equal(trace_reader_report(r)->damage_count, 4);
	trace_reader_close(r);
	buffer_release(&g.file);
}

/* Entries that tie a string to a frame: in any order, longer than known, and not believed. */
static void functions_are_not_believed(void **state)
{
	/* function 3 -> frame 0; string 3 "f"; frame 0: function 3, file 0, line 9, module 0, address 0 */
	static const char good[] = "\x09\x03\x03\x00z\x01\x02\x03" "f\x07\x06\x00\x03\x00\x09\x00\x00";
	struct trace_reader *r;
	struct forge g;

	(void)state;
	forge_begin(&g);
	forge_block(&g, (struct sbt_block){ .kind = SBT_DICTIONARY, .count = 3 }, good, sizeof good - 1);
	forge_block(&g, (struct sbt_block){ .kind = SBT_DICTIONARY, .count = 1 }, "\x09\x02\x04\x07", 4); /* neither is there */
	forge_block(&g, (struct sbt_block){ .kind = SBT_DICTIONARY, .count = 1 }, "\x09\x02\x00\x00", 4); /* no string */
	forge_block(&g, (struct sbt_block){ .kind = SBT_DICTIONARY, .count = 1 }, "\x09\x01\x03", 3);      /* cut off */
	forge_block(&g, (struct sbt_block){ .kind = SBT_DICTIONARY, .count = 1 }, "\x09\x06\xf0\xff\xff\xff\x0f\x00", 8);
	forge_block(&g, (struct sbt_block){ .kind = SBT_DICTIONARY, .count = 1 }, "\x09\x06\x03\xff\xff\xff\xff\x0f", 8);
	assert_int_equal(trace_reader_open_memory(&r, g.file.data, g.file.size, NULL), 0);
	assert_int_equal(trace_reader_report(r)->damage_count, 4);
	assert_string_equal(trace_reader_string(r, 3, NULL), "f");
	assert_int_equal(trace_reader_function(r, 3)->line, 9);
	assert_null(trace_reader_function(r, 4));
	assert_string_equal(trace_reader_string(r, 4, NULL), "");
	trace_reader_close(r);
	buffer_release(&g.file);
}

/* ---- Windows ---- */

static void expect_window(const struct trace_reader *r, int64_t from, int64_t to, size_t first, size_t end)
{
	size_t got_first, got_end;

	trace_reader_window(r, from, to, &got_first, &got_end);
	assert_int_equal(got_first, first);
	assert_int_equal(got_end, end);
}

static void windows(void **state)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_reader *r;
	struct fixture f;

	(void)state;
	write_sample(&f);
	fixture_finish(&f);
	r = fixture_read(&f);
	assert_int_equal(trace_reader_block_count(r), BLOCKS + 1); /* "main" never ended */
	expect_window(r, 3000, 3100, 2, 3);
	expect_window(r, 3200, 4001, 2, 4);
	expect_window(r, 3600, 3700, 3, 4); /* between two blocks: the next one knows what is open */
	expect_window(r, INT64_MIN, INT64_MAX, 0, BLOCKS + 1);
	expect_window(r, 100000, 100001, BLOCKS, BLOCKS + 1);
	assert_int_equal(trace_reader_decode(r, 2, &batch, NULL), 0);
	assert_int_equal(batch.open_count, 1);
	assert_int_equal(batch.open[0].track, 0);
	assert_int_equal(batch.open[0].begin, 500);
	assert_string_equal(trace_reader_string(r, batch.open[0].name, NULL), "main");
	assert_int_equal(trace_reader_decode(r, BLOCKS, &batch, NULL), 0);
	assert_int_equal(batch.count, 0);
	assert_int_equal(batch.open_count, 1);
	trace_batch_release(&batch);
	trace_reader_close(r);
	fixture_close(&f);
}

/* ---- Growing files ---- */

static void tail(void **state)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_reader *r;
	struct fixture f;
	uint8_t *data;
	size_t size;
	int fd = memfd_create("tail", MFD_CLOEXEC);
	char path[40];
	uint64_t offsets[MAX_BLOCKS];
	struct sbt_block blocks[MAX_BLOCKS];

	(void)state;
	write_sample(&f);
	fixture_finish(&f);
	data = fixture_bytes(&f, &size);
	find_blocks(data, size, offsets, blocks, MAX_BLOCKS);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	/* dictionary and one events block, then half of the next */
	assert_int_equal(pwrite(fd, data, offsets[2] + 70, 0), offsets[2] + 70);
	assert_int_equal(trace_reader_open(&r, path, NULL), 0);
	assert_int_equal(trace_reader_block_count(r), 1);
	assert_int_equal(trace_reader_report(r)->damage_count, 1);
	assert_int_equal(trace_reader_refresh(r, NULL), 0);
	assert_int_equal(trace_reader_report(r)->damage_count, 1);
	/* the rest of it, and a header of zeroes where the next will be */
	assert_int_equal(pwrite(fd, data, offsets[3], 0), offsets[3]);
	assert_int_equal(ftruncate(fd, (off_t)offsets[3] + 100), 0);
	assert_int_equal(trace_reader_refresh(r, NULL), 1);
	assert_int_equal(trace_reader_block_count(r), 2);
	assert_int_equal(trace_reader_report(r)->damage_count, 1);
	assert_int_equal(trace_reader_report(r)->damage_bytes, 100);
	/* all */
	assert_int_equal(pwrite(fd, data, size, 0), size);
	assert_true(trace_reader_refresh(r, NULL) >= 5);
	assert_int_equal(trace_reader_block_count(r), BLOCKS + 1);
	assert_int_equal(trace_reader_report(r)->damage_count, 0);
	assert_int_equal(trace_reader_report(r)->damage_bytes, 0);
	for (size_t i = 0; i < BLOCKS; i++) {
		assert_int_equal(trace_reader_decode(r, i, &batch, NULL), 0);
		assert_int_equal(batch.count, PER_BLOCK);
	}
	trace_batch_release(&batch);
	trace_reader_close(r);
	close(fd);
	free(data);
	fixture_close(&f);
}

/* New names and threads are known after a refresh. */
static void tail_dictionary(void **state)
{
	struct trace_reader *r;
	struct fixture f;
	uint32_t name;

	(void)state;
	write_sample(&f);
	r = fixture_read(&f);
	assert_int_equal(trace_reader_block_count(r), BLOCKS);
	name = trace_writer_string(f.w, "late", 4);
	trace_writer_track(
		f.w, &(struct trace_track){ .id = 9, .kind = TRACK_THREAD, .process = -1, .device = -1, .parent = -1 });
	put_scope(&f, 9, 99000, PHASE_INSTANT, name, 0);
	assert_int_equal(trace_writer_flush(f.w, NULL), 0);
	assert_string_equal(trace_reader_string(r, name, NULL), "");
	assert_int_equal(trace_reader_refresh(r, NULL), 2);
	assert_int_equal(trace_reader_block_count(r), BLOCKS + 1);
	assert_string_equal(trace_reader_string(r, name, NULL), "late");
	assert_non_null(trace_reader_track(r, 9));
	trace_reader_close(r);
	fixture_close(&f);
}

/* ---- In parallel ---- */

struct tally {
	atomic_ulong events, blocks;
	size_t stop_at;
};

static int tally_block(void *arg, unsigned worker, size_t block, const struct trace_batch *batch)
{
	struct tally *t = arg;

	assert_true(worker < trace_reader_workers(3));
	t->events += batch->count;
	t->blocks++;
	return block == t->stop_at ? 42 : 0;
}

static void each_block_once(void **state)
{
	struct tally t = { .stop_at = SIZE_MAX };
	struct trace_reader *r;
	struct fixture f;

	(void)state;
	write_sample(&f);
	fixture_finish(&f);
	r = fixture_read(&f);
	assert_int_equal(trace_reader_each(r, 0, BLOCKS + 1, 3, tally_block, &t, NULL), 0);
	assert_int_equal(t.events, BLOCKS * PER_BLOCK);
	assert_int_equal(t.blocks, BLOCKS + 1);
	t = (struct tally){ .stop_at = SIZE_MAX };
	assert_int_equal(trace_reader_each(r, 1, 3, 1, tally_block, &t, NULL), 0);
	assert_int_equal(t.events, 2 * PER_BLOCK);
	t = (struct tally){ .stop_at = 2 };
	assert_int_equal(trace_reader_each(r, 0, BLOCKS + 1, 3, tally_block, &t, NULL), 42);
	trace_reader_close(r);
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_file),
		cmocka_unit_test(not_a_trace),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(flip_with_index),
		cmocka_unit_test(flip_without_index),
		cmocka_unit_test(damage_is_listed_by_offset),
		cmocka_unit_test(damaged_dictionary),
		cmocka_unit_test(lies),
		cmocka_unit_test(unknown_things_are_passed_over),
		cmocka_unit_test(dictionary_numbers_are_not_believed),
		cmocka_unit_test(functions_are_not_believed),
		cmocka_unit_test(windows),
		cmocka_unit_test(tail),
		cmocka_unit_test(tail_dictionary),
		cmocka_unit_test(each_block_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
