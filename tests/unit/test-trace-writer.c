/* test-trace-writer.c - what the writer promises about files, failures and bounds. */
#include "trace-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/msgpack.h"
#include "trace/copy.h"

/* Begin and end of a scope, `count` times. */
static void put_scopes(struct fixture *f, uint32_t track, uint64_t *time, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		put_scope(f, track, ++*time, PHASE_BEGIN, 1 + i % 7, 0);
		put_scope(f, track, ++*time, PHASE_END, 0, 0);
	}
}

static void strings_are_interned(void **state)
{
	struct fixture f;
	uint32_t first, numbers[5000];
	char text[16];

	(void)state;
	fixture_open(&f, NULL);
	first = trace_writer_string(f.w, "decode", 6);
	assert_true(first != 0);
	assert_int_equal(trace_writer_string(f.w, "decode", 6), first);
	assert_true(trace_writer_string(f.w, "decod", 5) != first);
	assert_true(trace_writer_string(f.w, NULL, 0) != 0);
	for (int i = 0; i < 5000; i++)
		numbers[i] = trace_writer_string(f.w, text, (size_t)snprintf(text, sizeof text, "name-%d", i));
	for (int i = 0; i < 5000; i++)
		assert_int_equal(trace_writer_string(f.w, text, (size_t)snprintf(text, sizeof text, "name-%d", i)),
				 numbers[i]);
	assert_int_equal(trace_writer_string(f.w, "decode", 6), first);
	fixture_close(&f);
}

static uint32_t put_function(struct fixture *f, const char *module, const char *function, const char *file, uint32_t line)
{
	return trace_writer_function(f->w, &(struct trace_function){ { module, strlen(module) },
								     { function, strlen(function) },
								     { file, strlen(file) },
								     line });
}

static void expect_function(const struct trace_reader *r, uint32_t name, const char *text, const char *file, uint32_t line)
{
	const struct trace_frame *frame = trace_reader_function(r, name);

	assert_string_equal(trace_reader_string(r, name, NULL), text);
	assert_non_null(frame);
	assert_string_equal(trace_reader_string(r, frame->file, NULL), file);
	assert_int_equal(frame->line, line);
}

/* Functions are told apart by all that is known of them; plain names are not functions. */
static void functions_are_interned(void **state)
{
	struct trace_reader *r;
	struct fixture f;
	uint32_t here, there, plain, other, many[3000];
	char text[16];

	(void)state;
	fixture_open(&f, NULL);
	trace_writer_frame(f.w, &(struct trace_frame){ .id = 4, .line = 77 }); /* somebody else's */
	plain = trace_writer_string(f.w, "m.f", 3);
	here = put_function(&f, "m", "f", "a.py", 1);
	there = put_function(&f, "m", "f", "a.py", 2);
	other = put_function(&f, "", "m.f", "a.py", 1);
	assert_true(here && there && other);
	assert_true(here != there && here != plain && there != plain && other != here);
	assert_int_equal(put_function(&f, "m", "f", "a.py", 1), here);
	assert_int_equal(trace_writer_string(f.w, "m.f", 3), plain);
	for (uint32_t i = 0; i < 3000; i++) {
		snprintf(text, sizeof text, "f%u", i % 1000);
		many[i] = put_function(&f, "many", text, "b.py", i);
		assert_true(trace_writer_string(f.w, text, strlen(text)) != many[i]);
	}
	for (uint32_t i = 0; i < 3000; i++) {
		snprintf(text, sizeof text, "f%u", i % 1000);
		assert_int_equal(put_function(&f, "many", text, "b.py", i), many[i]);
	}
	assert_int_equal(put_function(&f, "m", "f", "a.py", 1), here);
	assert_int_equal(trace_writer_string(f.w, "m.f", 3), plain);
	fixture_finish(&f);
	r = fixture_read(&f);
	assert_int_equal(trace_reader_report(r)->damage_count, 0);
	expect_function(r, here, "m.f", "a.py", 1);
	expect_function(r, there, "m.f", "a.py", 2);
	expect_function(r, other, "m.f", "a.py", 1);
	expect_function(r, many[2999], "many.f999", "b.py", 2999);
	assert_null(trace_reader_function(r, plain));
	assert_null(trace_reader_function(r, 0));
	assert_null(trace_reader_function(r, UINT32_MAX));
	assert_int_equal(trace_reader_frame(r, 4)->line, 77);
	trace_reader_close(r);
	fixture_close(&f);
}

/* A copy has the same functions, also when the trace comes in pieces that repeat them. */
static void copies_keep_functions(void **state)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_reader *from, *r;
	struct fixture f, copy;

	(void)state;
	fixture_open(&f, NULL);
	put_scope(&f, 0, 10, PHASE_INSTANT, trace_writer_string(f.w, "m.f", 3), 0);
	put_scope(&f, 0, 11, PHASE_INSTANT, put_function(&f, "m", "f", "a.py", 1), 0);
	put_scope(&f, 0, 12, PHASE_INSTANT, put_function(&f, "m", "f", "a.py", 2), 0);
	fixture_finish(&f);
	from = fixture_read(&f);
	fixture_open(&copy, NULL);
	for (int i = 0; i < 2; i++)
		assert_int_equal(trace_copy(from, copy.w, NULL), 0);
	put_scope(&copy, 0, 13, PHASE_INSTANT, put_function(&copy, "m", "f", "a.py", 1), 0);
	put_scope(&copy, 0, 14, PHASE_INSTANT, put_function(&copy, "m", "f", "a.py", 3), 0);
	fixture_finish(&copy);
	r = fixture_read(&copy);
	assert_int_equal(trace_reader_decode(r, 0, &batch, NULL), 0);
	assert_int_equal(batch.count, 8);
	assert_null(trace_reader_function(r, batch.name[0]));
	expect_function(r, batch.name[1], "m.f", "a.py", 1);
	expect_function(r, batch.name[2], "m.f", "a.py", 2);
	for (int i = 0; i < 3; i++)
		assert_int_equal(batch.name[3 + i], batch.name[i]);
	assert_int_equal(batch.name[6], batch.name[1]);
	expect_function(r, batch.name[7], "m.f", "a.py", 3);
	assert_int_equal(trace_reader_frame_count(r), 3);
	trace_batch_release(&batch);
	trace_reader_close(r);
	trace_reader_close(from);
	fixture_close(&copy);
	fixture_close(&f);
}

/* What a program did not see is an event of its own and no loss that the writer has to account for. */
static void unseen_time_is_no_loss(void **state)
{
	struct event_slot slot = { .time = 10, .value = 5, .cpu = EVENT_CPU_UNKNOWN, .kind = EVENT_LOST,
				   .flags = EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, 0) };
	struct trace_writer_totals totals;
	struct fixture f;
	uint8_t list[32];
	size_t size = list_number(list, list_number(list, 0, FIELD_COUNT, 0), FIELD_REASON, LOST_UNSEEN);

	(void)state;
	fixture_open(&f, NULL);
	assert_int_equal(trace_writer_event(f.w, 0, &slot, list, size, NULL), 0);
	size = list_number(list, list_number(list, 0, FIELD_COUNT, 3), FIELD_REASON, LOST_OVERWRITTEN);
	assert_int_equal(trace_writer_event(f.w, 0, &slot, list, size, NULL), 0);
	for (int i = 0; i < 2; i++) {
		totals = trace_writer_totals(f.w);
		assert_int_equal(totals.events, 2);
		assert_int_equal(totals.losses, 1);
		assert_int_equal(totals.lost, 3);
		assert_int_equal(trace_writer_flush(f.w, NULL), 0);
	}
	fixture_close(&f);
}

/* Runs of many tracks in one block become one segment each, in order, with the last source index. */
static void runs_become_segments(void **state)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_reader *r;
	struct fixture f;
	uint64_t ticket = 0;

	(void)state;
	fixture_open(&f, NULL);
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t track = 0; track < 4; track++) {
			struct event_slot *slots = trace_writer_run(f.w, track, 10, NULL);

			for (uint32_t i = 0; i < 2; i++)
				slots[i] = scope_slot(1000 * track + 10 * round + i, PHASE_INSTANT, 1, 0, 1);
			ticket = trace_writer_commit(f.w, track, 2, 100 * track + round + 1);
		}
	assert_int_equal(ticket, 24);
	assert_true(trace_writer_flushed(f.w) < ticket);
	assert_int_equal(trace_writer_totals(f.w).pending, 24);
	assert_int_equal(trace_writer_flush(f.w, NULL), 0);
	assert_true(trace_writer_flushed(f.w) >= ticket);
	assert_int_equal(trace_writer_totals(f.w).pending, 0);
	fixture_finish(&f);
	r = fixture_read(&f);
	assert_int_equal(trace_reader_decode(r, 0, &batch, NULL), 0);
	assert_int_equal(batch.segment_count, 4);
	for (uint32_t track = 0; track < 4; track++) {
		assert_int_equal(batch.segments[track].track, track);
		assert_int_equal(batch.segments[track].count, 6);
		assert_int_equal(batch.segments[track].source_index, 100 * track + 3);
		for (uint32_t i = 0; i < 6; i++)
			assert_int_equal(batch.time[batch.segments[track].first + i],
					 1000 * track + 10 * (i / 2) + i % 2);
	}
	trace_batch_release(&batch);
	trace_reader_close(r);
	fixture_close(&f);
}

static void runs_out_of_range(void **state)
{
	struct error err = { 0 };
	struct fixture f;

	(void)state;
	fixture_open(&f, NULL);
	assert_null(trace_writer_run(f.w, TRACE_TRACK_MAX, 1, &err));
	assert_int_equal(err.code, -EINVAL);
	assert_null(trace_writer_run(f.w, 0, TRACE_RUN_MAX + 1, &err));
	assert_non_null(trace_writer_run(f.w, TRACE_TRACK_MAX - 1, TRACE_RUN_MAX, &err));
	assert_int_equal(trace_writer_domain(f.w, TRACE_DOMAIN_MAX, &err), -EINVAL);
	fixture_close(&f);
}

/* Continuation slots that lie about themselves cost their fields, not more. */
static void malformed_slots(void **state)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_reader *r;
	struct event_slot *slots;
	struct fixture f;

	(void)state;
	fixture_open(&f, NULL);
	slots = trace_writer_run(f.w, 0, 8, NULL);
	for (int i = 0; i < 3; i++)
		slots[2 * i] = scope_slot(10 + (uint64_t)i, PHASE_INSTANT, 1, 0, 1);
	slots[0].extra = slots[2].extra = 1;
	slots[4].extra = 200;        /* of which one is there */
	memset(&slots[1], 0xff, 32); /* a size far too large, unknown fields */
	memset(&slots[3], 0, 32);
	put16((uint8_t *)&slots[3], 30);
	((uint8_t *)&slots[3])[2] = FIELD_BYTES;
	put16((uint8_t *)&slots[3] + 3, 5); /* not a number's size */
	((uint8_t *)&slots[3])[10] = FIELD_ID;
	put16((uint8_t *)&slots[3] + 11, 8);
	put64((uint8_t *)&slots[3] + 13, 77);
	memset(&slots[5], 0, 32);
	trace_writer_commit(f.w, 0, 6, 0);
	assert_int_equal(trace_writer_totals(f.w).events, 3);
	fixture_finish(&f);
	r = fixture_read(&f);
	assert_int_equal(trace_reader_decode(r, 0, &batch, NULL), 0);
	assert_int_equal(batch.count, 3);
	assert_int_equal(batch.time[2], 12);
	assert_null(batch.field[FIELD_BYTES]);
	assert_int_equal(batch.field[FIELD_ID][1], 77);
	trace_batch_release(&batch);
	trace_reader_close(r);
	fixture_close(&f);
}

/* Numbers are as long as they have to be. */
static void short_numbers(void **state)
{
	static const uint8_t list[32] = {
		27, 0, FIELD_DURATION, 1, 0, 0xff, FIELD_BYTES, 2, 0, 0xfe, 0xff, FIELD_CORRELATION, 4, 0, 0xfd, 0xff, 0xff, 0xff,
		FIELD_POINTER, 8, 0, 1, 2, 3, 4, 5, 6, 7, 0x80,
	};
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct event_slot *slots;
	struct trace_reader *r;
	struct fixture f;

	(void)state;
	fixture_open(&f, NULL);
	slots = trace_writer_run(f.w, 0, 2, NULL);
	slots[0] = scope_slot(10, PHASE_COMPLETE, 1, 0, 1);
	slots[0].extra = 1;
	memcpy(&slots[1], list, sizeof list);
	trace_writer_commit(f.w, 0, 2, 0);
	fixture_finish(&f);
	r = fixture_read(&f);
	assert_int_equal(trace_reader_decode(r, 0, &batch, NULL), 0);
	assert_int_equal(batch.field[FIELD_DURATION][0], 0xff);
	assert_int_equal(batch.field[FIELD_BYTES][0], 0xfffe);
	assert_int_equal(batch.field[FIELD_CORRELATION][0], 0xfffffffd);
	assert_true(batch.field[FIELD_POINTER][0] == 0x8007060504030201);
	trace_batch_release(&batch);
	trace_reader_close(r);
	fixture_close(&f);
}

/* Of a grid, what is not told beside x is 1; where there is no x there is nothing. */
static void sizes_that_are_one(void **state)
{
	static const uint8_t lists[3][32] = { { 4, 0, FIELD_GRID_X, 1, 0, 8 }, { 8, 0, FIELD_GRID_X, 1, 0, 2, FIELD_GRID_Y, 1, 0, 3 }, { 0 } };
	static const uint64_t expected[3][3] = { { 8, 1, 1 }, { 2, 3, 1 }, { 0, 0, 0 } };
	const uint64_t grid = (uint64_t)7 << FIELD_GRID_X;
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct event_slot *slots;
	struct trace_reader *r;
	struct fixture f;

	(void)state;
	fixture_open(&f, NULL);
	slots = trace_writer_run(f.w, 0, 6, NULL);
	for (unsigned i = 0; i < 3; i++) {
		slots[2 * i] = scope_slot(10 * i, PHASE_COMPLETE, 1, 0, 1);
		slots[2 * i].extra = 1;
		memcpy(&slots[2 * i + 1], lists[i], sizeof lists[i]);
	}
	trace_writer_commit(f.w, 0, 6, 0);
	fixture_finish(&f);
	r = fixture_read(&f);
	assert_int_equal(trace_reader_decode(r, 0, &batch, NULL), 0);
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned k = 0; k < 3; k++)
			assert_int_equal(batch.field[FIELD_GRID_X + k][i], expected[i][k]);
		assert_int_equal(trace_batch_present(&batch, i) & grid, i < 2 ? grid : 0);
	}
	assert_null(batch.field[FIELD_BLOCK_Y]);
	trace_batch_release(&batch);
	trace_reader_close(r);
	fixture_close(&f);
}

/* Slices of several clock domains do not mix. */
static void domains(void **state)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_reader *r;
	struct fixture f;

	(void)state;
	fixture_open(&f, NULL);
	put_scope(&f, 0, 100, PHASE_BEGIN, 1, 0);
	assert_int_equal(trace_writer_domain(f.w, 3, NULL), 0);
	put_scope(&f, 1, 900000, PHASE_BEGIN, 2, 0);
	assert_int_equal(trace_writer_domain(f.w, 0, NULL), 0);
	put_scope(&f, 0, 200, PHASE_INSTANT, 3, 1);
	fixture_finish(&f);
	r = fixture_read(&f);
	assert_int_equal(trace_reader_block_count(r), 5); /* the last two are what is open in each */
	assert_int_equal(trace_reader_decode(r, 1, &batch, NULL), 0);
	assert_int_equal(batch.domain, 3);
	assert_int_equal(batch.open_count, 0);
	assert_int_equal(trace_reader_decode(r, 2, &batch, NULL), 0);
	assert_int_equal(batch.open_count, 1);
	assert_int_equal(batch.open[0].begin, 100);
	assert_int_equal(trace_reader_decode(r, 4, &batch, NULL), 0);
	assert_int_equal(batch.domain, 3);
	assert_int_equal(batch.count, 0);
	assert_int_equal(batch.open_count, 1);
	assert_int_equal(batch.open[0].begin, 900000);
	assert_int_equal(batch.first_time, 900000);
	trace_batch_release(&batch);
	trace_reader_close(r);
	fixture_close(&f);
}

/* ---- Failures ---- */

static void limit_file_size(rlim_t size)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = size;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

struct time_range {
	int64_t first, last;
};

/* Counts the events of a file; adds up its `lost` events, which all have this reason, and keeps the last one's times.
 */
static uint64_t read_all(struct trace_reader *r, uint64_t reason, uint64_t *ret_lost, struct time_range *range)
{
	struct trace_batch b = TRACE_BATCH_INIT;
	uint64_t events = 0;

	*ret_lost = 0;
	for (size_t i = 0; i < trace_reader_block_count(r); i++) {
		assert_int_equal(trace_reader_decode(r, i, &b, NULL), 0);
		for (uint32_t k = 0; k < b.count; k++) {
			if (b.kind[k] != EVENT_LOST) {
				events++;
				continue;
			}
			assert_int_equal(b.field[FIELD_REASON][k], reason);
			*ret_lost += b.field[FIELD_COUNT][k];
			range->first = b.time[k];
			range->last = b.time[k] + (int64_t)b.field[FIELD_DURATION][k];
		}
	}
	trace_batch_release(&b);
	return events;
}

static void a_full_disk(void **state)
{
	struct trace_writer_options options = { .loss_track = 5 };
	struct trace_writer_totals totals;
	struct time_range range;
	struct error err = { 0 };
	struct trace_reader *r;
	struct fixture f;
	struct stat st;
	uint64_t time = 1000, lost, ticket;

	(void)state;
	fixture_open(&f, &options);
	put_scopes(&f, 0, &time, 50);
	assert_int_equal(trace_writer_flush(f.w, NULL), 0);
	assert_int_equal(fstat(f.fd, &st), 0);
	limit_file_size((rlim_t)st.st_size + 100);
	put_scopes(&f, 0, &time, 50); /* times 1101 to 1200 */
	ticket = trace_writer_commit(f.w, 0, 0, 0);
	assert_true(trace_writer_flush(f.w, &err) < 0);
	assert_non_null(strstr(err.text, "cannot write"));
	assert_true(trace_writer_flushed(f.w) >= ticket); /* the source may go on */
	put_scopes(&f, 0, &time, 25);
	assert_true(trace_writer_flush(f.w, NULL) < 0);
	totals = trace_writer_totals(f.w);
	assert_int_equal(totals.unwritten, 150);
	assert_int_equal(totals.events - totals.losses + totals.lost, 250);
	limit_file_size(RLIM_INFINITY);
	r = fixture_read(&f); /* cut back to the last good block */
	assert_int_equal(trace_reader_report(r)->damage_count, 0);
	trace_reader_close(r);
	put_scopes(&f, 0, &time, 10);
	assert_int_equal(trace_writer_flush(f.w, NULL), 0);
	totals = trace_writer_totals(f.w);
	assert_int_equal(totals.events - totals.losses + totals.lost, 270);
	assert_int_equal(totals.losses, 1);
	assert_int_equal(trace_writer_error(f.w)->code, -EFBIG);
	fixture_finish(&f);
	r = fixture_read(&f);
	assert_int_equal(read_all(r, LOST_UNWRITTEN, &lost, &range), 120);
	assert_int_equal(lost, 150);
	assert_int_equal(range.first, 1101);
	assert_int_equal(range.last, 1250);
	trace_reader_close(r);
	fixture_close(&f);
}

/* The report of a loss is lost in its turn: nothing is counted twice, and nothing forgotten. */
static void a_disk_that_fills_up_again(void **state)
{
	struct trace_writer_options options = { .loss_track = 5 };
	struct trace_writer_totals totals;
	struct time_range range;
	struct trace_reader *r;
	struct fixture f;
	uint64_t time = 1000, lost;

	(void)state;
	fixture_open(&f, &options);
	for (int round = 0; round < 3; round++) {
		limit_file_size(100);
		put_scopes(&f, 0, &time, 10);
		assert_true(trace_writer_flush(f.w, NULL) < 0); /* with the report of the round before */
		limit_file_size(RLIM_INFINITY);
		put_scopes(&f, 0, &time, 5);
		assert_int_equal(trace_writer_flush(f.w, NULL), 0);
		totals = trace_writer_totals(f.w);
		assert_int_equal(totals.unwritten, 20 * (round + 1));
		assert_int_equal(totals.lost, 20 * (round + 1));
		assert_int_equal(totals.events - totals.losses + totals.lost, 30 * (round + 1));
	}
	fixture_finish(&f);
	r = fixture_read(&f);
	assert_int_equal(read_all(r, LOST_UNWRITTEN, &lost, &range), 30);
	assert_int_equal(lost, 60);
	assert_int_equal(range.first, 1001);
	assert_int_equal(range.last, 1080);
	trace_reader_close(r);
	fixture_close(&f);
}

/* However full it is, the end is written, with the count of what is missing. */
static void room_for_the_end(void **state)
{
	struct trace_writer_options options = { .loss_track = 5 };
	struct time_range range;
	struct trace_reader *r;
	struct fixture f;
	uint64_t time = 1000, lost, all = 0, unwritten;
	int64_t value;

	(void)state;
	fixture_open(&f, &options);
	limit_file_size(200000);
	for (int i = 0; i < 4000; i++, all += 20) { /* blocks small enough to fill it to the last byte */
		put_scopes(&f, 0, &time, 10);
		(void)trace_writer_flush(f.w, NULL);
	}
	unwritten = trace_writer_totals(f.w).unwritten;
	assert_true(unwritten > 0 && unwritten < all);
	assert_true(trace_writer_info(f.w, "\x81\xa1k\x07", 4, NULL) < 0);
	trace_writer_ending(f.w);
	assert_int_equal(trace_writer_info(f.w, "\x81\xa1k\x07", 4, NULL), 0);
	fixture_finish(&f);
	limit_file_size(RLIM_INFINITY);
	r = fixture_read(&f);
	assert_int_equal(trace_reader_report(r)->damage_count, 0);
	assert_true(trace_reader_report(r)->has_index);
	assert_int_equal(trace_reader_info_integer(r, "k", &value), 0);
	assert_int_equal(read_all(r, LOST_UNWRITTEN, &lost, &range) + lost, all);
	assert_int_equal(lost, unwritten);
	trace_reader_close(r);
	fixture_close(&f);
}

/* Full to the end: what is there can be read, and the failure is told. */
static void a_disk_that_stays_full(void **state)
{
	struct error err = { 0 };
	struct trace_reader *r;
	struct time_range range;
	struct fixture f;
	struct stat st;
	uint64_t time = 0, lost;

	(void)state;
	fixture_open(&f, NULL);
	put_scopes(&f, 0, &time, 50);
	assert_int_equal(trace_writer_flush(f.w, NULL), 0);
	assert_int_equal(fstat(f.fd, &st), 0);
	limit_file_size((rlim_t)st.st_size + 8);
	put_scopes(&f, 0, &time, 50);
	assert_int_equal(trace_writer_close(f.w, NULL, &err), -EFBIG);
	assert_int_equal(err.code, -EFBIG);
	f.w = NULL;
	limit_file_size(RLIM_INFINITY);
	r = fixture_read(&f);
	assert_int_equal(read_all(r, 0, &lost, &range), 100);
	assert_int_equal(trace_reader_report(r)->damage_count, 0);
	assert_false(trace_reader_report(r)->has_index);
	trace_reader_close(r);
	fixture_close(&f);
}

/* ---- Bounded traces ---- */

struct chain {
	int fds[1000];
	unsigned opened, removed;
};

static int chain_open(void *arg, unsigned number, struct error *err)
{
	struct chain *c = arg;

	(void)err;
	assert_int_equal(number, c->opened + 1);
	c->opened = number;
	c->fds[number] = memfd_create("segment", MFD_CLOEXEC);
	return dup(c->fds[number]);
}

static void chain_remove(void *arg, unsigned number)
{
	struct chain *c = arg;

	assert_true(c->fds[number] >= 0);
	close(c->fds[number]);
	c->fds[number] = -1;
	c->removed++;
}

/* Writes `blocks` blocks of 1000 scopes through a chain of files; returns the fixture on what is left. */
static void write_chain(struct chain *c, struct trace_writer_options *options, struct fixture *f, unsigned blocks,
			uint64_t *ret_events)
{
	static const struct trace_clock_pair pair = { 1, 2, 3, 4, 5 };
	struct trace_writer_totals totals = { 0 };
	uint64_t time = 0;
	unsigned segment;

	options->segment_open = chain_open;
	options->segment_remove = chain_remove;
	options->segment_arg = c;
	fixture_open(f, options);
	c->fds[0] = f->fd;
	trace_writer_string(f->w, "early", 5);
	assert_int_equal(trace_writer_clock_pairs(f->w, 0, &pair, 1, NULL), 0);
	assert_int_equal(trace_writer_info(f->w, "\x81\xa1k\x07", 4, NULL), 0);
	for (unsigned i = 0; i < blocks; i++) {
		put_scope(f, 1, ++time, i == 0 ? PHASE_BEGIN : PHASE_INSTANT, 1, i > 0);
		for (int k = 0; k < 1000; k++) {
			time += (uint64_t)(k * 7919 % 1000);
			put_scope(f, 0, time, k % 2 ? PHASE_END : PHASE_BEGIN, k % 2 ? 0 : 2, 0);
		}
		*ret_events += 1001;
		assert_int_equal(trace_writer_flush(f->w, NULL), 0);
		totals = trace_writer_totals(f->w);
		assert_int_equal(totals.events - totals.losses + totals.lost, *ret_events);
		if (options->max_file_bytes)
			assert_true(totals.bytes <= options->max_file_bytes);
	}
	assert_int_equal(trace_writer_close(f->w, &segment, NULL), 0);
	f->w = NULL;
	f->fd = c->fds[segment];
	snprintf(f->path, sizeof f->path, "/proc/self/fd/%d", f->fd);
}

static void check_chain(const struct fixture *f, uint64_t events, const struct chain *c)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_reader *r = fixture_read(f);
	const struct trace_clock_pair *pairs;
	struct time_range range;
	uint64_t lost, kept = read_all(r, LOST_DROPPED, &lost, &range);
	int64_t number;

	assert_true(trace_reader_report(r)->has_index);
	assert_int_equal(kept + lost, events);
	assert_true(lost > 0 && kept > 0);
	assert_string_equal(trace_reader_string(r, 1, NULL), "early"); /* said before all that was dropped */
	assert_int_equal(trace_reader_info_integer(r, "k", &number), 0);
	assert_int_equal(number, 7);
	assert_true(trace_reader_clock_pairs(r, 0, &pairs) >= 1);
	assert_int_equal(pairs[0].raw_ns, 3);
	assert_int_equal(trace_reader_decode(r, 0, &batch, NULL), 0);
	assert_int_equal(batch.open_count, 1); /* the scope that was begun in the first block */
	assert_int_equal(batch.open[0].begin, 1);
	assert_int_equal(c->removed, c->opened); /* of all files one is left */
	trace_batch_release(&batch);
	trace_reader_close(r);
}

static void bounded_by_size(void **state)
{
	struct trace_writer_options options = { .max_file_bytes = 60000, .loss_track = 2 };
	struct chain c = { 0 };
	struct fixture f;
	struct stat st;
	uint64_t events = 0;

	(void)state;
	write_chain(&c, &options, &f, 200, &events);
	check_chain(&f, events, &c);
	assert_int_equal(fstat(f.fd, &st), 0);
	assert_in_range(st.st_size, options.max_file_bytes / 2, options.max_file_bytes + 8192);
	assert_true(c.opened > 8);
	fixture_close(&f);
}

static void bounded_by_time(void **state)
{
	struct trace_writer_options options = { .last_ticks = 10000000, .loss_track = 2 };
	struct chain c = { 0 };
	struct trace_reader *r;
	struct fixture f;
	uint64_t events = 0;
	int64_t first = INT64_MAX, last = 0;

	(void)state;
	write_chain(&c, &options, &f, 100, &events);
	check_chain(&f, events, &c);
	r = fixture_read(&f);
	for (size_t i = 0; i < trace_reader_block_count(r); i++) {
		const struct trace_block *b = trace_reader_block(r, i);

		if (b->first_time < first && b->lost == 0)
			first = b->first_time;
		last = b->last_time > last ? b->last_time : last;
	}
	assert_in_range(last - first, 10000000, 18000000); /* at least what was asked for, and less than twice that */
	trace_reader_close(r);
	fixture_close(&f);
}

/* A small program in a bounded trace stays whole. */
static void a_bound_that_is_not_reached(void **state)
{
	struct trace_writer_options options = { .max_file_bytes = 100 << 20, .loss_track = 2 };
	struct chain c = { 0 };
	struct trace_reader *r;
	struct time_range range;
	struct fixture f;
	uint64_t events = 0, lost;

	(void)state;
	write_chain(&c, &options, &f, 5, &events);
	r = fixture_read(&f);
	assert_int_equal(read_all(r, 0, &lost, &range), events);
	assert_int_equal(c.opened, 0);
	trace_reader_close(r);
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_interned),
		cmocka_unit_test(functions_are_interned),
		cmocka_unit_test(copies_keep_functions),
		cmocka_unit_test(unseen_time_is_no_loss),
		cmocka_unit_test(runs_become_segments),
		cmocka_unit_test(runs_out_of_range),
		cmocka_unit_test(malformed_slots),
		cmocka_unit_test(short_numbers),
		cmocka_unit_test(sizes_that_are_one),
		cmocka_unit_test(domains),
		cmocka_unit_test(a_full_disk),
		cmocka_unit_test(a_disk_that_fills_up_again),
		cmocka_unit_test(room_for_the_end),
		cmocka_unit_test(a_disk_that_stays_full),
		cmocka_unit_test(bounded_by_size),
		cmocka_unit_test(bounded_by_time),
		cmocka_unit_test(a_bound_that_is_not_reached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
