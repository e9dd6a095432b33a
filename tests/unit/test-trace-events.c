/* test-trace-events.c - one of every kind, phase, field and dictionary entry, written and read back. */
#include "trace-fixture.h"

#include <errno.h>

#include "base/msgpack.h"
#include "trace/clock_fit.h"

/* A value for a field that differs by field and event, and needs between one and eight bytes. */
static uint64_t field_value(unsigned field, unsigned kind)
{
	static const uint64_t bases[] = { 1, 200, 60000, 5000000000, 0xfedcba9876543210 };

	if (field == FIELD_VALUE) {
		double value = kind * 1.25 - field;
		uint64_t bits;

		memcpy(&bits, &value, 8);
		return bits;
	}
	if (field == FIELD_INTEGER)
		return (uint64_t)((int64_t)kind - 10) * 1000003;
	if (field == FIELD_DURATION)
		return 10 * kind;
	return bases[(field + kind) % 5] + kind;
}

static int is_number(unsigned field)
{
	return field >= FIELD_DURATION && field != FIELD_METADATA;
}

/* An event of this kind with every field there is. */
static void write_full(struct fixture *f, unsigned kind, uint32_t name)
{
	struct event_slot slot = {
		.time = 1000 + kind,
		.value = field_value(FIELD_DURATION, kind),
		.aux = (uint32_t)field_value(FIELD_STACK, 0) + kind,
		.name = name,
		.cpu = (uint16_t)(kind % 3),
		.depth = 0,
		.kind = (uint8_t)kind,
		.flags = EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, FIELD_STACK) | EVENT_FLAG_THREAD,
	};
	uint8_t list[1000], blob[3] = { 0x81, 0x01, (uint8_t)kind };
	size_t size = 0;

	for (unsigned field = 0; field < FIELD_LIMIT; field++)
		if (is_number(field) && field != FIELD_DURATION && field != FIELD_STACK)
			size = list_number(list, size, (uint8_t)field, field_value(field, kind));
	size = list_bytes(list, size, FIELD_METADATA, blob, sizeof blob);
	assert_int_equal(trace_writer_event(f->w, kind % 2, &slot, list, size, NULL), 0);
}

static void check_full(const struct trace_batch *b, uint32_t i, uint32_t name)
{
	unsigned kind = b->kind[i];

	assert_int_equal(b->phase[i], PHASE_COMPLETE);
	assert_int_equal(b->time[i], 1000 + kind);
	assert_int_equal(b->name[i], name);
	assert_int_equal(b->cpu[i], kind % 3);
	assert_int_equal(b->depth[i], 0);
	assert_int_equal(trace_batch_present(b, i), ((uint64_t)1 << FIELD_LIMIT) - 2);
	for (unsigned field = 0; field < FIELD_LIMIT; field++) {
		uint64_t expected =
			field == FIELD_STACK ? (uint32_t)field_value(FIELD_STACK, 0) + kind : field_value(field, kind);

		if (is_number(field))
			assert_int_equal(b->field[field][i], expected);
	}
	assert_int_equal(b->metadata[i].size, 3);
	assert_int_equal(b->metadata[i].data[2], kind);
}

static void every_kind_with_every_field(void **state)
{
	struct fixture f;
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_reader *r;
	uint32_t name, seen = 0;

	(void)state;
	fixture_open(&f, NULL);
	name = trace_writer_string(f.w, "everything", 10);
	for (unsigned kind = 1; kind < EVENT_KIND_COUNT; kind++)
		write_full(&f, kind, name);
	fixture_finish(&f);
	r = fixture_read(&f);
	assert_int_equal(trace_reader_block_count(r), 1);
	assert_int_equal(trace_reader_decode(r, 0, &batch, NULL), 0);
	assert_int_equal(batch.count, EVENT_KIND_COUNT - 1);
	assert_int_equal(batch.segment_count, 2);
	assert_int_equal(batch.first_time, 1001);
	assert_int_equal(batch.last_time, 1020 + 200); /* a complete event counts with its end */
	for (uint32_t i = 0; i < batch.count; i++) {
		check_full(&batch, i, name);
		seen |= 1u << batch.kind[i];
	}
	assert_int_equal(seen, (1u << EVENT_KIND_COUNT) - 2);
	assert_string_equal(trace_reader_string(r, name, NULL), "everything");
	trace_batch_release(&batch);
	trace_reader_close(r);
	fixture_close(&f);
}

/* What the format has beside a field that is told. */
static uint32_t beside(unsigned field)
{
	return field == FIELD_GRID_X || field == FIELD_BLOCK_X ? 6u << field : 0;
}

/* Each field alone, in every phase: as the slot's value, and as its aux where it fits. */
static void every_field_alone_in_every_phase(void **state)
{
	struct fixture f;
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_reader *r;
	uint32_t at = 0;

	(void)state;
	fixture_open(&f, NULL);
	for (unsigned phase = 0; phase < PHASE_COUNT; phase++)
		for (unsigned field = 0; field < FIELD_LIMIT; field++) {
			struct event_slot slot = { .time = 1, .kind = EVENT_OP, .cpu = EVENT_CPU_UNKNOWN };

			if (!is_number(field))
				continue;
			slot.value = field_value(field, phase);
			slot.flags = EVENT_FLAGS(phase, field, 0);
			trace_writer_event(f.w, 0, &slot, NULL, 0, NULL);
			slot.aux = 4000000000;
			slot.flags = EVENT_FLAGS(phase, 0, field);
			trace_writer_event(f.w, 0, &slot, NULL, 0, NULL);
		}
	fixture_finish(&f);
	r = fixture_read(&f);
	assert_int_equal(trace_reader_decode(r, 0, &batch, NULL), 0);
	for (unsigned phase = 0; phase < PHASE_COUNT; phase++)
		for (unsigned field = 0; field < FIELD_LIMIT; field++) {
			if (!is_number(field))
				continue;
			for (int aux = 0; aux < 2; aux++, at++) {
				uint32_t depth = phase <= PHASE_END; /* begins and ends get one, said or not */

				assert_int_equal(batch.phase[at], phase);
				assert_int_equal(trace_batch_present(&batch, at),
						 1u << FIELD_TIME | depth << FIELD_DEPTH | 1u << field | beside(field));
				assert_int_equal(batch.field[field][at], aux ? 4000000000 : field_value(field, phase));
				assert_int_equal(batch.field[field == FIELD_ID ? FIELD_LINK : FIELD_ID][at], 0);
				assert_int_equal(batch.name[at], 0);
				assert_int_equal(batch.cpu[at], EVENT_CPU_UNKNOWN);
			}
		}
	assert_int_equal(at, batch.count);
	trace_batch_release(&batch);
	trace_reader_close(r);
	fixture_close(&f);
}

static void times_of_all_sizes(void **state)
{
	static const int64_t times[] = { 0,         127,       128,       -129, 40000, -40000,
					 INT32_MAX, INT64_MIN, INT64_MAX, -1,   1,     5000000000 };
	struct fixture f;
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_reader *r;
	uint32_t count = sizeof times / sizeof *times;

	(void)state;
	fixture_open(&f, NULL);
	for (uint32_t i = 0; i < count; i++)
		put_scope(&f, 0, (uint64_t)times[i], PHASE_INSTANT, 70000 * i, 0);
	fixture_finish(&f);
	r = fixture_read(&f);
	assert_int_equal(trace_reader_decode(r, 0, &batch, NULL), 0);
	assert_int_equal(batch.first_time, INT64_MIN);
	assert_int_equal(batch.last_time, INT64_MAX);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(batch.time[i], times[i]);
		assert_int_equal(batch.name[i], 70000 * i);
	}
	trace_batch_release(&batch);
	trace_reader_close(r);
	fixture_close(&f);
}

/* More shapes than a byte can number. */
static void hundreds_of_shapes(void **state)
{
	struct fixture f;
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_reader *r;

	(void)state;
	fixture_open(&f, NULL);
	for (unsigned i = 0; i < 3000; i++) {
		struct event_slot slot = {
			.time = i, .kind = (uint8_t)(i % 250), .value = i, .cpu = EVENT_CPU_UNKNOWN
		};

		slot.flags = EVENT_FLAGS(i / 250 % 8, FIELD_BYTES + i / 2000, 0);
		trace_writer_event(f.w, 0, &slot, NULL, 0, NULL);
	}
	fixture_finish(&f);
	r = fixture_read(&f);
	assert_int_equal(trace_reader_decode(r, 0, &batch, NULL), 0);
	for (unsigned i = 0; i < 3000; i++) {
		assert_int_equal(batch.kind[i], i % 250);
		assert_int_equal(batch.phase[i], i / 250 % 8);
		assert_int_equal(batch.field[FIELD_BYTES + i / 2000][i], i);
	}
	trace_batch_release(&batch);
	trace_reader_close(r);
	fixture_close(&f);
}

/* ---- Dictionary, clocks, info ---- */

static void describe_machine(struct trace_writer *w)
{
	uint32_t name = trace_writer_string(w, "node-1", 6), odd = trace_writer_string(w, "a\0b", 3);

	trace_writer_host(w, &(struct trace_host){ .id = 0, .name = name, .system = odd, .machine = 0 });
	trace_writer_process(
		w, &(struct trace_process){ .id = 0, .pid = 4000000000, .parent = -1, .rank = -1, .start = -5, .name = name });
	trace_writer_process(w, &(struct trace_process){ .id = 1,
							 .host = 0,
							 .pid = 77,
							 .parent = 0, .rank = -1,
							 .start = 100,
							 .end = 900,
							 .flags = TRACE_PROCESS_ENDED | TRACE_PROCESS_FORKED,
							 .name = name,
							 .command = odd });
	trace_writer_track(w, &(struct trace_track){ .id = 0,
						     .kind = TRACK_THREAD,
						     .process = 1,
						     .os_id = 78,
						     .serial = 3,
						     .device = -1,
						     .parent = -1 });
	trace_writer_track(w, &(struct trace_track){ .id = 1,
						     .kind = TRACK_STREAM,
						     .process = -1,
						     .os_id = 7,
						     .device = 0,
						     .parent = 0,
						     .flags = TRACE_TRACK_ENDED,
						     .name = name });
	trace_writer_device(w, &(struct trace_device){ .id = 0,
						       .host = 0,
						       .index = 2,
						       .kind = 1,
						       .name = name,
						       .properties = "\x81\xa1k\x05",
						       .properties_size = 4 });
	trace_writer_clock(w,
			   &(struct trace_clock){ .id = 0, .kind = CLOCK_KIND_TSC, .rate = 2600000000, .name = name });
	trace_writer_clock(w, &(struct trace_clock){ .id = 1, .kind = CLOCK_KIND_DEVICE, .rate = 1000000000 });
	trace_writer_frame(w, &(struct trace_frame){ .id = 0,
						     .function = name,
						     .file = odd,
						     .line = 12,
						     .module = name,
						     .address = 0xffffffff81000000 });
	trace_writer_frame(w, &(struct trace_frame){ .id = 1, .function = odd });
	trace_writer_stack(w, &(struct trace_stack){ .id = 0, .count = 2, .frames = (const uint32_t[]){ 1, 0 } });
	/* the thread gets a name: a second entry replaces the first */
	trace_writer_track(w, &(struct trace_track){ .id = 0,
						     .kind = TRACK_THREAD,
						     .process = 1,
						     .os_id = 78,
						     .serial = 3,
						     .device = -1,
						     .parent = -1,
						     .name = name });
}

static void check_machine(const struct trace_reader *r)
{
	uint32_t name = trace_reader_host(r, 0)->name, odd = trace_reader_host(r, 0)->system;
	const struct trace_process *p = trace_reader_process(r, 1);
	const struct trace_track *t = trace_reader_track(r, 1);
	size_t size;

	assert_string_equal(trace_reader_string(r, name, &size), "node-1");
	assert_int_equal(size, 6);
	assert_memory_equal(trace_reader_string(r, odd, &size), "a\0b", 4);
	assert_int_equal(size, 3);
	assert_int_equal(trace_reader_process_count(r), 2);
	assert_int_equal(trace_reader_process(r, 0)->pid, 4000000000);
	assert_int_equal(trace_reader_process(r, 0)->parent, -1);
	assert_int_equal(trace_reader_process(r, 0)->start, -5);
	assert_int_equal(p->parent, 0);
	assert_int_equal(p->end, 900);
	assert_int_equal(p->flags, TRACE_PROCESS_ENDED | TRACE_PROCESS_FORKED);
	assert_int_equal(p->command, odd);
	assert_null(trace_reader_process(r, 2));
	assert_int_equal(trace_reader_track(r, 0)->name, name);
	assert_int_equal(trace_reader_track(r, 0)->process, 1);
	assert_int_equal(trace_reader_track(r, 0)->os_id, 78);
	assert_int_equal(trace_reader_track(r, 0)->serial, 3);
	assert_int_equal(t->kind, TRACK_STREAM);
	assert_int_equal(t->process, -1);
	assert_int_equal(t->device, 0);
	assert_int_equal(t->parent, 0);
	assert_int_equal(t->flags, TRACE_TRACK_ENDED);
}

static void check_devices_and_stacks(const struct trace_reader *r)
{
	const struct trace_device *d = trace_reader_device(r, 0);
	const struct trace_stack *s = trace_reader_stack(r, 0);
	const struct trace_frame *frame = trace_reader_frame(r, 0);

	assert_int_equal(d->index, 2);
	assert_int_equal(d->kind, 1);
	assert_int_equal(d->properties_size, 4);
	assert_memory_equal(d->properties, "\x81\xa1k\x05", 4);
	assert_int_equal(trace_reader_clock_count(r), 2);
	assert_int_equal(trace_reader_clock(r, 0)->rate, 2600000000);
	assert_int_equal(trace_reader_clock(r, 1)->kind, CLOCK_KIND_DEVICE);
	assert_int_equal(s->count, 2);
	assert_int_equal(s->frames[0], 1);
	assert_int_equal(s->frames[1], 0);
	assert_int_equal(trace_reader_frame_count(r), 2);
	assert_int_equal(frame->line, 12);
	assert_int_equal(frame->address, 0xffffffff81000000);
}

static void write_info(struct trace_writer *w)
{
	struct buffer map = BUFFER_INIT;

	msgpack_write_map(&map, 3);
	msgpack_write_text(&map, "start_ticks");
	msgpack_write_int(&map, 1000);
	msgpack_write_text(&map, "producer");
	msgpack_write_text(&map, "test");
	msgpack_write_text(&map, "exit_status");
	msgpack_write_int(&map, -1);
	assert_int_equal(trace_writer_info(w, map.data, map.size, NULL), 0);
	buffer_clear(&map);
	msgpack_write_map(&map, 2);
	msgpack_write_text(&map, "exit_status");
	msgpack_write_int(&map, 3);
	msgpack_write_text(&map, "complete");
	msgpack_write_bool(&map, true);
	assert_int_equal(trace_writer_info(w, map.data, map.size, NULL), 0);
	buffer_release(&map);
}

static void check_info(const struct trace_reader *r)
{
	const uint8_t *raw;
	const char *text;
	size_t size;
	int64_t number;
	bool yes = false;

	assert_int_equal(trace_reader_info_integer(r, "exit_status", &number), 0);
	assert_int_equal(number, 3);
	assert_int_equal(trace_reader_info_string(r, "producer", &text, &size), 0);
	assert_int_equal(size, 4);
	assert_memory_equal(text, "test", 4);
	assert_int_equal(trace_reader_info_bool(r, "complete", &yes), 0);
	assert_true(yes);
	assert_true(trace_reader_report(r)->complete);
	assert_int_equal(trace_reader_info_integer(r, "producer", &number), -ENOENT);
	assert_int_equal(trace_reader_info_raw(r, "nothing", &raw, &size), -ENOENT);
	assert_int_equal(trace_reader_info_block(r, 0, &raw, &size), 0);
	assert_int_equal(msgpack_validate(raw, size), 0);
	assert_int_equal(raw[0], 0x84);
	assert_int_equal(trace_reader_info_block(r, 1, &raw, &size), -ENOENT);
}

static void every_dictionary_entry(void **state)
{
	static const struct trace_clock_pair pairs[2] = { { 1000, 20, 5000, 6000, 7000 },
							  { 1000 + 2600000, 22, 5000 + 1000000, 1006000, 1007000 } };
	const struct trace_clock_pair *found;
	struct fixture f;
	struct trace_reader *r;

	(void)state;
	fixture_open(&f, NULL);
	describe_machine(f.w);
	write_info(f.w);
	assert_int_equal(trace_writer_clock_pairs(f.w, 0, pairs, 2, NULL), 0);
	put_scope(&f, 0, 1000, PHASE_INSTANT, 1, 0);
	fixture_finish(&f);
	r = fixture_read(&f);
	check_machine(r);
	check_devices_and_stacks(r);
	check_info(r);
	assert_int_equal(trace_reader_clock_pairs(r, 0, &found), 2);
	assert_memory_equal(found, pairs, sizeof pairs);
	assert_int_equal(trace_reader_ns(r, 0, 1000 + 1300000), 5000 + 500000);
	assert_int_equal(trace_reader_since_start_ns(r, 0, 1000 + 1300000), 500000);
	assert_int_equal(trace_reader_ticks_from_start_ns(r, 0, 500000), 1000 + 1300000);
	assert_int_equal(trace_reader_fit(r, 0)->used, 2);
	trace_reader_close(r);
	fixture_close(&f);
}

static void names_of_kinds_fields_and_reasons(void **state)
{
	(void)state;
	for (unsigned kind = 1; kind < EVENT_KIND_COUNT; kind++)
		assert_int_equal(event_kind_from_name(event_kind_name(kind)), kind);
	assert_string_equal(event_kind_name(EVENT_GPU_KERNEL), "gpu_kernel");
	assert_null(event_kind_name(0));
	assert_null(event_kind_name(EVENT_KIND_COUNT));
	assert_int_equal(event_kind_from_name("nonsense"), EVENT_NONE);
	for (unsigned field = 0; field < FIELD_LIMIT; field++)
		assert_non_null(event_field_name(field));
	assert_string_equal(event_field_name(FIELD_NUMA_NODE), "numa_node");
	assert_null(event_field_name(FIELD_LIMIT));
	assert_string_equal(event_lost_reason_name(LOST_UNWRITTEN), "unwritten");
	assert_null(event_lost_reason_name(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_with_every_field), cmocka_unit_test(every_field_alone_in_every_phase),
		cmocka_unit_test(times_of_all_sizes),          cmocka_unit_test(hundreds_of_shapes),
		cmocka_unit_test(every_dictionary_entry),      cmocka_unit_test(names_of_kinds_fields_and_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
