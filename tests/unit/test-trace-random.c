/*
 * test-trace-random.c - random programs, written and read back equal.
 *
 * The model is naive: a list of events for each track, a stack for each track
 * that follows docs/sbt-format.md section 3.4 to the letter, and a list of
 * slices paired the obvious way.
 */
#include "trace-fixture.h"

#include "trace/pairing.h"

#define TRACKS 5u
#define EVENTS 30000u /* a program */
#define STACK 64u

struct model_event {
	struct event_slot slot;
	uint64_t bytes, reason; /* fields from the continuation slots; 0: none */
	uint8_t blob_size;
};

struct model_slice {
	uint32_t track, name;
	int64_t begin, end;
	uint16_t depth;
};

struct model_track {
	struct model_event *events;
	size_t count, read;
	uint64_t time;
	struct trace_open_slice stack[STACK]; /* by the rules of the format */
	unsigned size;
	unsigned depth; /* what the program itself knows */
};

struct model {
	uint64_t random;
	struct model_track tracks[TRACKS];
	struct model_slice *slices; /* begun and ended in plain sight */
	size_t slice_count, slices_seen;
	uint64_t lost;
};

static uint32_t roll(struct model *m, uint32_t sides)
{
	m->random = m->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(m->random >> 33) % sides;
}

/* ---- Writing ---- */

static struct model_event make_event(struct model *m, uint32_t track)
{
	struct model_track *t = &m->tracks[track];
	struct model_event e = { .slot = { .cpu = roll(m, 50) ? (uint16_t)(track % 4) : (uint16_t)roll(m, 4) } };
	uint32_t what = roll(m, 100);

	t->time += roll(m, 3) ? roll(m, 200) : roll(m, 5000000);
	if (what < 1) /* the buffer was overwritten: the depth jumps */
		t->depth = roll(m, 20);
	if (roll(m, 300) == 0)
		e.slot.cpu = EVENT_CPU_UNKNOWN;
	e.slot.time = t->time;
	e.slot.kind = EVENT_SCOPE;
	e.slot.depth = (uint16_t)t->depth;
	if (what < 48 && t->depth < 40) {
		e.slot.name = 1 + roll(m, roll(m, 4) ? 20 : 1000);
		e.slot.flags = EVENT_FLAGS(PHASE_BEGIN, 0, 0) | EVENT_FLAG_THREAD;
		t->depth++;
	} else if (what < 90) {
		e.slot.flags = EVENT_FLAGS(PHASE_END, 0, 0) | EVENT_FLAG_THREAD;
		e.slot.depth = t->depth ? (uint16_t)--t->depth : EVENT_DEPTH_UNMATCHED;
	} else if (what < 94) {
		e.slot.kind = EVENT_COUNTER;
		e.slot.value = m->random;
		e.slot.flags =
			EVENT_FLAGS(PHASE_INSTANT, roll(m, 2) ? FIELD_VALUE : FIELD_INTEGER, 0) | EVENT_FLAG_THREAD;
	} else if (what < 96) {
		e.slot.kind = EVENT_LOST;
		e.slot.value = roll(m, 50);
		e.slot.aux = 1 + roll(m, 1000);
		e.slot.flags = EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, FIELD_COUNT);
		e.reason = 1 + roll(m, LOST_REASON_COUNT - 1);
		m->lost += e.reason == LOST_NAMES ? 0 : e.slot.aux;
	} else {
		e.slot.kind = EVENT_INSTANT;
		e.slot.flags = EVENT_FLAGS(PHASE_INSTANT, 0, 0) | EVENT_FLAG_THREAD;
		e.bytes = 1 + roll(m, 100000);
		e.blob_size = (uint8_t)(5 + roll(m, 200));
	}
	return e;
}

/* {"b": bytes}, of this size altogether. */
static void make_blob(uint8_t *blob, uint8_t size)
{
	memset(blob, size, 256);
	memcpy(blob, "\x81\xa1\x62\xc4", 4);
	blob[4] = (uint8_t)(size - 5);
}

static void write_event(struct fixture *f, uint32_t track, struct model_event *e)
{
	uint8_t list[400], blob[256];
	size_t size = 0;

	make_blob(blob, e->blob_size);
	if (e->reason)
		size = list_number(list, size, FIELD_REASON, e->reason);
	if (e->bytes)
		size = list_number(list, size, FIELD_BYTES, e->bytes);
	if (e->blob_size)
		size = list_bytes(list, size, FIELD_METADATA, blob, e->blob_size);
	assert_int_equal(trace_writer_event(f->w, track, &e->slot, list, size, NULL), 0);
}

/* Returns how many events it wrote. */
static uint32_t write_run(struct fixture *f, struct model *m, uint32_t track, uint32_t count)
{
	struct model_track *t = &m->tracks[track];
	struct event_slot *room = trace_writer_run(f->w, track, count, NULL);
	uint32_t n = 0;

	assert_non_null(room);
	while (n < count) {
		struct model_event e = make_event(m, track);

		t->events[t->count++] = e;
		if (e.bytes || e.reason) { /* needs continuation slots: the run ends before it */
			trace_writer_commit(f->w, track, n, t->count - 1);
			write_event(f, track, &e);
			return n + 1;
		}
		room[n++] = e.slot;
	}
	trace_writer_commit(f->w, track, n, t->count);
	return n;
}

static void write_program(struct fixture *f, struct model *m)
{
	char name[16];

	trace_writer_host(f->w, &(struct trace_host){ .id = 0 });
	trace_writer_clock(f->w, &(struct trace_clock){ .kind = CLOCK_KIND_NANOSECONDS });
	for (uint32_t i = 0; i < 1000; i++)
		trace_writer_string(f->w, name, (size_t)snprintf(name, sizeof name, "name-%u", i));
	for (uint32_t i = 0; i < TRACKS; i++)
		trace_writer_track(f->w,
				   &(struct trace_track){
					   .id = i, .kind = TRACK_THREAD, .process = -1, .device = -1, .parent = -1 });
	for (uint32_t written = 0; written < EVENTS;) {
		written += write_run(f, m, roll(m, TRACKS), 1 + roll(m, roll(m, 2) ? 10 : 2000));
		if (roll(m, 300) == 0)
			assert_int_equal(trace_writer_flush(f->w, NULL), 0);
	}
}

/* ---- The rules of the format ---- */

static void resize(struct model_track *t, unsigned size, int64_t time)
{
	while (t->size < size)
		t->stack[t->size++] = (struct trace_open_slice){ .begin = time };
	t->size = size;
}

static void note_slice(struct model *m, uint32_t track, const struct trace_open_slice *s, unsigned depth, int64_t end)
{
	if (s->name)
		m->slices[m->slice_count++] = (struct model_slice){ track, s->name, s->begin, end, (uint16_t)depth };
}

static void follow(struct model *m, uint32_t track, const struct event_slot *s)
{
	struct model_track *t = &m->tracks[track];
	unsigned phase = EVENT_FLAGS_PHASE(s->flags);

	if (!(s->flags & EVENT_FLAG_THREAD) || phase == PHASE_COMPLETE)
		return;
	if (phase == PHASE_END) {
		if (s->depth == EVENT_DEPTH_UNMATCHED)
			return;
		resize(t, s->depth + 1u, (int64_t)s->time);
		t->size--;
		note_slice(m, track, &t->stack[t->size], t->size, (int64_t)s->time);
		return;
	}
	resize(t, s->depth, (int64_t)s->time);
	if (phase == PHASE_BEGIN)
		t->stack[t->size++] =
			(struct trace_open_slice){ .kind = s->kind, .name = s->name, .begin = (int64_t)s->time };
}

/* ---- Reading ---- */

static void check_open(const struct model *m, const struct trace_batch *b)
{
	size_t at = 0;

	for (uint32_t track = 0; track < TRACKS; track++) {
		const struct model_track *t = &m->tracks[track];

		for (unsigned d = 0; d < t->size; d++, at++) {
			assert_true(at < b->open_count);
			assert_int_equal(b->open[at].track, track);
			assert_int_equal(b->open[at].depth, d);
			assert_int_equal(b->open[at].name, t->stack[d].name);
			assert_int_equal(b->open[at].kind, t->stack[d].kind);
			assert_int_equal(b->open[at].begin, t->stack[d].begin);
		}
	}
	assert_int_equal(at, b->open_count);
}

static void check_event(const struct trace_batch *b, uint32_t i, const struct model_event *e)
{
	const struct event_slot *s = &e->slot;
	int thread = (s->flags & EVENT_FLAG_THREAD) != 0;
	unsigned value = EVENT_FLAGS_VALUE(s->flags), aux = EVENT_FLAGS_AUX(s->flags);
	uint8_t blob[256];

	assert_int_equal(b->time[i], s->time);
	assert_int_equal(b->kind[i], s->kind);
	assert_int_equal(b->phase[i], EVENT_FLAGS_PHASE(s->flags));
	assert_int_equal(b->name[i], s->name);
	assert_int_equal(b->cpu[i], thread ? s->cpu : EVENT_CPU_UNKNOWN);
	assert_int_equal(b->depth[i], thread ? s->depth : 0);
	if (value)
		assert_int_equal(b->field[value][i], s->value);
	if (aux)
		assert_int_equal(b->field[aux][i], s->aux);
	assert_int_equal(b->field[FIELD_BYTES] ? b->field[FIELD_BYTES][i] : 0, e->bytes);
	assert_int_equal(b->field[FIELD_REASON] ? b->field[FIELD_REASON][i] : 0, e->reason);
	assert_int_equal(b->metadata ? b->metadata[i].size : 0, e->blob_size);
	if (e->blob_size) {
		make_blob(blob, e->blob_size);
		assert_memory_equal(b->metadata[i].data, blob, e->blob_size);
	}
}

static void check_batch(struct model *m, const struct trace_batch *b)
{
	check_open(m, b);
	for (size_t s = 0; s < b->segment_count; s++) {
		struct model_track *t = &m->tracks[b->segments[s].track];

		for (uint32_t i = b->segments[s].first; i < b->segments[s].first + b->segments[s].count; i++) {
			assert_true(t->read < t->count);
			check_event(b, i, &t->events[t->read]);
			follow(m, b->segments[s].track, &t->events[t->read++].slot);
		}
	}
}

/* Slices come in the order in which they end on their track, as in the model. */
static int check_slice(void *arg, const struct trace_slice *slice)
{
	struct model *m = arg;
	const struct model_slice *want;

	if (slice->flags || slice->kind == EVENT_LOST)
		return 0;
	assert_true(m->slices_seen < m->slice_count);
	want = &m->slices[m->slices_seen++];
	assert_int_equal(slice->track, want->track);
	assert_int_equal(slice->name, want->name);
	assert_int_equal(slice->begin, want->begin);
	assert_int_equal(slice->end, want->end);
	assert_int_equal(slice->depth, want->depth);
	return 0;
}

static void read_program(const struct fixture *f, struct model *m)
{
	struct trace_reader *r = fixture_read(f);
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_pairing *pairing;
	uint64_t lost = 0;

	assert_int_equal(trace_pairing_new(&pairing), 0);
	for (size_t i = 0; i < trace_reader_block_count(r); i++) {
		assert_int_equal(trace_reader_decode(r, i, &batch, NULL), 0);
		check_batch(m, &batch);
		lost += batch.lost;
		assert_int_equal(trace_pairing_feed(pairing, &batch, check_slice, m), 0);
	}
	for (uint32_t track = 0; track < TRACKS; track++)
		assert_int_equal(m->tracks[track].read, m->tracks[track].count);
	assert_int_equal(lost, m->lost);
	assert_int_equal(m->slices_seen, m->slice_count);
	assert_int_equal(trace_reader_report(r)->damage_count, 0);
	trace_pairing_free(pairing);
	trace_batch_release(&batch);
	trace_reader_close(r);
}

static void random_programs(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct model *m = calloc(1, sizeof *m);
		struct fixture f;

		assert_non_null(m);
		m->random = seed * 77777;
		m->slices = malloc(2 * EVENTS * sizeof *m->slices);
		for (uint32_t track = 0; track < TRACKS; track++)
			m->tracks[track].events = malloc(2 * EVENTS * sizeof *m->tracks[track].events);
		fixture_open(&f, NULL);
		write_program(&f, m);
		fixture_finish(&f);
		read_program(&f, m);
		fixture_close(&f);
		for (uint32_t track = 0; track < TRACKS; track++)
			free(m->tracks[track].events);
		free(m->slices);
		free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(random_programs) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
