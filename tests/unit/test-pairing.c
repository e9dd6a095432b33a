/* test-pairing.c - slices from events, also where events are missing. */
#include "trace-fixture.h"

#include "trace/pairing.h"

#define MAX 64

struct seen {
	struct trace_slice slices[MAX];
	size_t count;
	int stop_after; /* 0: never */
};

static int see(void *arg, const struct trace_slice *slice)
{
	struct seen *s = arg;

	assert_true(s->count < MAX);
	s->slices[s->count++] = *slice;
	return s->stop_after && (int)s->count >= s->stop_after ? 7 : 0;
}

static void expect(const struct seen *s, size_t i, uint32_t name, int64_t begin, int64_t end, unsigned depth,
		   uint32_t flags)
{
	assert_true(i < s->count);
	assert_int_equal(s->slices[i].name, name);
	assert_int_equal(s->slices[i].begin, begin);
	assert_int_equal(s->slices[i].end, end);
	assert_int_equal(s->slices[i].depth, depth);
	assert_int_equal(s->slices[i].flags, flags);
}

/* Feeds the blocks whose bit is set, then finishes at time 1000. */
static void pair_blocks(struct fixture *f, unsigned blocks, struct seen *seen, uint64_t *ret_unmatched)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_pairing *p;
	struct trace_reader *r;

	fixture_finish(f);
	r = fixture_read(f);
	assert_int_equal(trace_pairing_new(&p), 0);
	for (size_t i = 0; i < trace_reader_block_count(r); i++) {
		if (!(blocks >> i & 1))
			continue;
		assert_int_equal(trace_reader_decode(r, i, &batch, NULL), 0);
		assert_int_equal(trace_pairing_feed(p, &batch, see, seen), 0);
		for (size_t k = 0; k < seen->count; k++) /* valid only while the batch is */
			if (seen->slices[k].batch)
				seen->slices[k].batch = NULL;
	}
	assert_int_equal(trace_pairing_finish(p, 1000, see, seen), 0);
	if (ret_unmatched)
		*ret_unmatched = trace_pairing_unmatched_ends(p);
	trace_pairing_free(p);
	trace_batch_release(&batch);
	trace_reader_close(r);
	fixture_close(f);
}

static void nested(void **state)
{
	struct seen s = { 0 };
	struct fixture f;

	(void)state;
	fixture_open(&f, NULL);
	put_scope(&f, 0, 10, PHASE_BEGIN, 1, 0);
	put_scope(&f, 0, 20, PHASE_BEGIN, 2, 1);
	put_scope(&f, 1, 25, PHASE_BEGIN, 5, 0);
	put_scope(&f, 0, 30, PHASE_END, 0, 1);
	put_scope(&f, 0, 40, PHASE_BEGIN, 3, 1);
	put_scope(&f, 0, 50, PHASE_END, 0, 1);
	put_scope(&f, 0, 60, PHASE_END, 0, 0);
	pair_blocks(&f, ~0u, &s, NULL);
	assert_int_equal(s.count, 4);
	expect(&s, 0, 2, 20, 30, 1, 0);
	expect(&s, 1, 3, 40, 50, 1, 0);
	expect(&s, 2, 1, 10, 60, 0, 0);
	expect(&s, 3, 5, 25, 1000, 0, SLICE_UNFINISHED);
	assert_int_equal(s.slices[3].track, 1);
	assert_int_equal(s.slices[0].cpu, 3);
}

static void complete_events_and_unmatched_ends(void **state)
{
	struct event_slot slot = {
		.time = 100, .value = 11, .name = 4, .kind = EVENT_GPU_KERNEL, .cpu = EVENT_CPU_UNKNOWN
	};
	struct seen s = { 0 };
	struct fixture f;
	uint64_t unmatched;

	(void)state;
	slot.flags = EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, 0);
	fixture_open(&f, NULL);
	put_scope(&f, 0, 90, PHASE_BEGIN, 1, 0);
	trace_writer_event(f.w, 0, &slot, NULL, 0, NULL);
	put_scope(&f, 0, 105, PHASE_END, 0, EVENT_DEPTH_UNMATCHED);
	put_scope(&f, 0, 120, PHASE_END, 0, 0);
	pair_blocks(&f, ~0u, &s, &unmatched);
	assert_int_equal(unmatched, 1);
	assert_int_equal(s.count, 2);
	expect(&s, 0, 4, 100, 111, 0, 0);
	assert_int_equal(s.slices[0].kind, EVENT_GPU_KERNEL);
	expect(&s, 1, 1, 90, 120, 0, 0);
}

/* Between 20 and 80 events were lost: two begins, and elsewhere two ends. */
static void losses(void **state)
{
	struct seen s = { 0 };
	struct fixture f;

	(void)state;
	fixture_open(&f, NULL);
	put_scope(&f, 0, 10, PHASE_BEGIN, 1, 0);
	put_scope(&f, 0, 20, PHASE_INSTANT, 9, 1);
	put_scope(&f, 0, 80, PHASE_BEGIN, 2, 3);
	put_scope(&f, 0, 90, PHASE_END, 0, 3);
	put_scope(&f, 0, 95, PHASE_END, 0, 2);
	put_scope(&f, 0, 99, PHASE_END, 0, 0); /* the end at depth 1 was lost, too */
	put_scope(&f, 1, 10, PHASE_BEGIN, 5, 0);
	put_scope(&f, 1, 20, PHASE_BEGIN, 6, 1);
	put_scope(&f, 1, 80, PHASE_BEGIN, 7, 0);
	put_scope(&f, 1, 90, PHASE_END, 0, 0);
	pair_blocks(&f, ~0u, &s, NULL);
	assert_int_equal(s.count, 6);
	expect(&s, 0, 2, 80, 90, 3, 0);
	expect(&s, 1, 0, 20, 95, 2, SLICE_BEGIN_LOST); /* it began after the event at 20 */
	expect(&s, 2, 1, 10, 99, 0, 0);
	expect(&s, 3, 6, 20, 80, 1, SLICE_UNFINISHED); /* gone when depth 0 began anew */
	expect(&s, 4, 5, 10, 80, 0, SLICE_UNFINISHED);
	expect(&s, 5, 7, 80, 90, 0, 0);
}

static void write_blocks(struct fixture *f)
{
	fixture_open(f, NULL);
	put_scope(f, 0, 10, PHASE_BEGIN, 1, 0);
	put_scope(f, 0, 20, PHASE_BEGIN, 2, 1);
	trace_writer_flush(f->w, NULL);
	put_scope(f, 0, 30, PHASE_END, 0, 1);
	put_scope(f, 0, 40, PHASE_BEGIN, 3, 1);
	put_scope(f, 1, 45, PHASE_BEGIN, 4, 0);
	trace_writer_flush(f->w, NULL);
	put_scope(f, 0, 50, PHASE_END, 0, 1);
	put_scope(f, 0, 60, PHASE_END, 0, 0);
	put_scope(f, 1, 70, PHASE_END, 0, 0);
}

/* From the middle of a file: the block says what is open. */
static void a_window(void **state)
{
	struct seen s = { 0 };
	struct fixture f;

	(void)state;
	write_blocks(&f);
	pair_blocks(&f, 6, &s, NULL);
	assert_int_equal(s.count, 4);
	expect(&s, 0, 2, 20, 30, 1, 0);
	expect(&s, 1, 3, 40, 50, 1, 0);
	expect(&s, 2, 1, 10, 60, 0, 0);
	expect(&s, 3, 4, 45, 70, 0, 0);
}

/* The second block is missing: what it ended is not ended by somebody else's end. */
static void a_missing_block(void **state)
{
	struct seen s = { 0 };
	struct fixture f;

	(void)state;
	write_blocks(&f);
	pair_blocks(&f, 5, &s, NULL);
	assert_int_equal(s.count, 4);
	expect(&s, 0, 2, 20, 50, 1, SLICE_UNFINISHED); /* until the block that no longer has it */
	expect(&s, 1, 3, 40, 50, 1, 0);
	expect(&s, 2, 1, 10, 60, 0, 0);
	expect(&s, 3, 4, 45, 70, 0, 0);
}

static int check_origin(void *arg, const struct trace_slice *slice)
{
	int *checked = arg;

	if (slice->batch) {
		assert_int_equal(slice->batch->name[slice->event], slice->name);
		assert_int_equal(slice->batch->time[slice->event], slice->begin);
		assert_int_equal(slice->batch->phase[slice->event], PHASE_BEGIN);
		++*checked;
	}
	return 0;
}

/* A slice that began in the batch at hand points there, others nowhere; and a callback can stop. */
static void origins_and_stopping(void **state)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct seen s = { .stop_after = 1 };
	struct trace_pairing *p;
	struct trace_reader *r;
	struct fixture f;
	int checked = 0;

	(void)state;
	write_blocks(&f);
	put_scope(&f, 0, 80, PHASE_BEGIN, 8, 0);
	put_scope(&f, 0, 90, PHASE_END, 0, 0);
	fixture_finish(&f);
	r = fixture_read(&f);
	assert_int_equal(trace_pairing_new(&p), 0);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(trace_reader_decode(r, i, &batch, NULL), 0);
		assert_int_equal(trace_pairing_feed(p, &batch, check_origin, &checked), 0);
	}
	assert_int_equal(checked, 1);
	assert_int_equal(trace_pairing_feed(p, &batch, see, &s), 7);
	assert_int_equal(s.count, 1);
	trace_pairing_free(p);
	trace_batch_release(&batch);
	trace_reader_close(r);
	fixture_close(&f);
}

/* A depth that is claimed costs no memory; the stack is back at once. */
static void absurd_depths(void **state)
{
	struct seen s = { 0 };
	struct fixture f;

	(void)state;
	fixture_open(&f, NULL);
	for (uint32_t track = 0; track < 20; track++) {
		put_scope(&f, track, 10, PHASE_INSTANT, 1, 65534);
		put_scope(&f, track, 20, PHASE_END, 0, 65533);
		put_scope(&f, track, 30, PHASE_BEGIN, 2, 0);
		put_scope(&f, track, 40, PHASE_END, 0, 0);
	}
	pair_blocks(&f, ~0u, &s, NULL);
	assert_int_equal(s.count, 40);
	expect(&s, 0, 0, 10, 20, 65533, SLICE_BEGIN_LOST);
	expect(&s, 1, 2, 30, 40, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nested),          cmocka_unit_test(complete_events_and_unmatched_ends),
		cmocka_unit_test(losses),          cmocka_unit_test(a_window),
		cmocka_unit_test(a_missing_block), cmocka_unit_test(origins_and_stopping),
		cmocka_unit_test(absurd_depths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
