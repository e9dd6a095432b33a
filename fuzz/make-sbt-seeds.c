/*
 * make-sbt-seeds.c - writes the seeds of fuzz-sbt-reader.
 *
 *      make-sbt-seeds fuzz/corpus/sbt-reader
 *
 * Small traces that together have every kind of block, entry, column and
 * phase, once as the writer makes them and once without compression, which
 * gives mutations something to bite on.  "functions" has what version 1.1 added,
 * "imported" what 1.2 did and "states" what 1.3 did; they are in tests/data as version-1.1.sbt and so on, too.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "base/crc32.h"
#include "base/msgpack.h"
#include "trace/decode.h"
#include "trace/writer.h"

static void describe(struct trace_writer *w)
{
	static const struct trace_clock_pair pairs[2] = { { 10, 2, 100, 100, 100 }, { 2000, 3, 900, 900, 900 } };
	static const uint32_t frames[2] = { 1, 0 };
	uint32_t name = trace_writer_string(w, "decode", 6);
	struct buffer map = BUFFER_INIT;

	trace_writer_host(w, &(struct trace_host){ .name = name });
	trace_writer_process(w, &(struct trace_process){ .pid = 7, .parent = -1, .rank = -1, .name = name });
	trace_writer_track(w, &(struct trace_track){ .kind = TRACK_THREAD, .os_id = 8, .device = -1, .parent = -1 });
	trace_writer_device(
		w, &(struct trace_device){ .kind = 1, .name = name, .properties = "\x80", .properties_size = 1 });
	trace_writer_clock(w, &(struct trace_clock){ .kind = CLOCK_KIND_TSC, .rate = 2000000000 });
	for (uint32_t i = 0; i < 2; i++)
		trace_writer_frame(w, &(struct trace_frame){ .id = i, .function = name, .line = 3 + i });
	trace_writer_stack(w, &(struct trace_stack){ .count = 2, .frames = frames });
	trace_writer_clock_pairs(w, 0, pairs, 2, NULL);
	msgpack_write_map(&map, 2);
	msgpack_write_text(&map, "start_ticks");
	msgpack_write_int(&map, 10);
	msgpack_write_text(&map, "complete");
	msgpack_write_bool(&map, true);
	trace_writer_info(w, map.data, map.size, NULL);
	buffer_release(&map);
}

/* Nested scopes of two tracks, with a jump in depth. */
static void put_scopes(struct trace_writer *w)
{
	for (uint32_t i = 0; i < 24; i++) {
		unsigned phase = i / 2 % 4 < 2 ? PHASE_BEGIN : PHASE_END;
		struct event_slot slot = {
			.time = 20 + 7 * i,
			.name = phase == PHASE_BEGIN,
			.depth = (uint16_t)(i == 20 ? 9 : i / 2 % 4 == 1 || i / 2 % 4 == 2),
			.cpu = (uint16_t)(i / 12),
			.kind = EVENT_SCOPE,
			.flags = EVENT_FLAGS(phase, 0, 0) | EVENT_FLAG_THREAD,
		};

		trace_writer_event(w, i % 2, &slot, NULL, 0, NULL);
	}
}

static void put_fields(struct trace_writer *w)
{
	uint8_t list[14] = { FIELD_ID, 8, 0, 5, 0, 0, 0, 0, 0, 0, 0, FIELD_METADATA, 0, 0 };

	for (unsigned field = FIELD_DURATION; field < FIELD_LIMIT; field++) {
		struct event_slot slot = { .time = 300 + field,
					   .value = field << field % 20,
					   .kind = (uint8_t)(field - 4) };

		if (field == FIELD_METADATA)
			continue;
		slot.flags = EVENT_FLAGS(field % PHASE_COUNT, field, FIELD_LINK);
		trace_writer_event(w, 1, &slot, list, field % 3 ? 0 : sizeof list, NULL);
	}
}

static uint32_t function(struct trace_writer *w, const char *module, const char *name, const char *file, uint32_t line)
{
	return trace_writer_function(
		w, &(struct trace_function){ { module, strlen(module) }, { name, strlen(name) }, { file, strlen(file) }, line });
}

static void put_calls(struct trace_writer *w, uint32_t track, const uint32_t *names, uint32_t count, uint64_t time)
{
	for (uint32_t i = 0; i < 2 * count; i++) {
		struct event_slot slot = {
			.time = time + 10 * i,
			.name = i < count ? names[i] : 0,
			.depth = (uint16_t)(i < count ? i : 2 * count - 1 - i),
			.kind = EVENT_CPU_CALL,
			.flags = EVENT_FLAGS(i < count ? PHASE_BEGIN : PHASE_END, 0, 0) | EVENT_FLAG_THREAD,
		};

		trace_writer_event(w, track, &slot, NULL, 0, NULL);
	}
}

static void put_notes(struct trace_writer *w)
{
	struct buffer map = BUFFER_INIT;

	msgpack_write_map(&map, 4);
	msgpack_write_text(&map, "functions");
	msgpack_write_int(&map, 5);
	msgpack_write_text(&map, "functions_skipped");
	msgpack_write_int(&map, 1);
	msgpack_write_text(&map, "skipped_calls");
	msgpack_write_int(&map, 1000);
	msgpack_write_text(&map, "notes");
	msgpack_write_array(&map, 1);
	msgpack_write_text(&map, "this is a note");
	trace_writer_info(w, map.data, map.size, NULL);
	buffer_release(&map);
}

/* What version 1.1 added: functions, of which two have the same text, a task, time in which calls were not seen, notes. */
static void put_functions(struct trace_writer *w)
{
	static const uint8_t unseen[22] = { FIELD_COUNT, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, FIELD_REASON, 8, 0, LOST_UNSEEN };
	const struct event_slot lost = { .time = 500, .value = 60, .cpu = EVENT_CPU_UNKNOWN, .kind = EVENT_LOST,
					 .flags = EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, 0) };
	const uint32_t names[] = {
		function(w, "__main__", "<module>", "/src/main.py", 1),
		function(w, "model", "Net.forward", "/src/model.py", 12),
		function(w, "model", "Net.forward", "/src/model.py", 40),
		function(w, "builtins", "len", "", 0),
		trace_writer_string(w, "model.Net.forward", 17),
	};

	trace_writer_track(w, &(struct trace_track){ .id = 1, .kind = TRACK_TASK, .os_id = 3, .serial = 3, .device = -1, .parent = 0,
						     .name = trace_writer_string(w, "Task-3", 6) });
	trace_writer_track(w, &(struct trace_track){ .id = 2, .kind = TRACK_PROCESS, .os_id = 7, .device = -1, .parent = -1 });
	put_calls(w, 0, names, 5, 100);
	put_calls(w, 1, names + 1, 2, 300);
	trace_writer_event(w, 2, &lost, unseen, sizeof unseen, NULL);
	put_notes(w);
}

static size_t list_number(uint8_t *list, size_t size, uint8_t field, uint64_t value)
{
	uint8_t head[3] = { field, 8, 0 };

	memcpy(list + size, head, sizeof head);
	memcpy(list + size + sizeof head, &value, sizeof value);
	return size + 11;
}

static void put_sources(struct trace_writer *w)
{
	struct buffer map = BUFFER_INIT;

	msgpack_write_map(&map, 1);
	msgpack_write_text(&map, "sources");
	msgpack_write_array(&map, 1);
	msgpack_write_map(&map, 3);
	msgpack_write_text(&map, "path");
	msgpack_write_text(&map, "rank3.json");
	msgpack_write_text(&map, "format");
	msgpack_write_text(&map, "chrome");
	msgpack_write_text(&map, "rank");
	msgpack_write_int(&map, 3);
	trace_writer_info(w, map.data, map.size, NULL);
	buffer_release(&map);
}

/* What version 1.2 added: a process of a rank, a copy with its kinds of memory, a sync that waits, sources. */
static void put_imported(struct trace_writer *w)
{
	const uint32_t copied = trace_writer_string(w, "Memcpy HtoD", 11), waits = trace_writer_string(w, "Stream Wait Event", 17);
	struct event_slot copy = { .time = 100, .value = 50, .name = copied, .cpu = EVENT_CPU_UNKNOWN, .kind = EVENT_H2D_COPY,
				   .flags = EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, 0) };
	struct event_slot sync = { .time = 200, .value = 9, .name = waits, .cpu = EVENT_CPU_UNKNOWN, .kind = EVENT_SYNC,
				   .flags = EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, 0) };
	uint8_t list[64];
	size_t size;

	trace_writer_process(w, &(struct trace_process){ .id = 1, .pid = 9, .parent = -1, .rank = 3 });
	trace_writer_track(w, &(struct trace_track){ .id = 1, .kind = TRACK_STREAM, .process = 1, .os_id = 7, .device = 0, .parent = -1 });
	size = list_number(list, 0, FIELD_OPERATOR, 41);
	size = list_number(list, size, FIELD_GRAPH, 5);
	size = list_number(list, size, FIELD_MEMORY_KIND, MEMORY_KINDS(MEMORY_PAGEABLE, MEMORY_DEVICE));
	trace_writer_event(w, 1, &copy, list, size, NULL);
	size = list_number(list, 0, FIELD_WAIT, 77);
	trace_writer_event(w, 1, &sync, list, size, NULL);
	put_sources(w);
}

static void put_counter(struct trace_writer *w, uint32_t track, const char *name, uint64_t time, uint64_t value)
{
	struct event_slot slot = { .time = time, .value = value, .name = trace_writer_string(w, name, strlen(name)),
				   .cpu = EVENT_CPU_UNKNOWN, .kind = EVENT_COUNTER,
				   .flags = EVENT_FLAGS(PHASE_INSTANT, FIELD_INTEGER, 0) };

	trace_writer_event(w, track, &slot, NULL, 0, NULL);
}

static void put_state(struct trace_writer *w, const char *name, uint64_t time, uint32_t samples, const void *extra, size_t size)
{
	struct event_slot slot = { .time = time, .value = 100, .name = trace_writer_string(w, name, strlen(name)), .aux = samples,
				   .cpu = EVENT_CPU_UNKNOWN, .kind = EVENT_CPU_SAMPLE,
				   .flags = EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, FIELD_COUNT) };

	trace_writer_event(w, 1, &slot, extra, size, NULL);
}

static void put_sampling(struct trace_writer *w)
{
	struct buffer map = BUFFER_INIT;

	msgpack_write_map(&map, 1);
	msgpack_write_text(&map, "sampling");
	msgpack_write_map(&map, 2);
	msgpack_write_text(&map, "interval_ns");
	msgpack_write_int(&map, 10000000);
	msgpack_write_text(&map, "slots");
	msgpack_write_int(&map, 3);
	trace_writer_info(w, map.data, map.size, NULL);
	buffer_release(&map);
}

/* What version 1.3 added: states of a thread, its ledger, counters of its process and of the machine. */
static void put_states(struct trace_writer *w)
{
	static const uint8_t what[] = { FIELD_METADATA, 15, 0, 0x81, 0xa4, 'w', 'h', 'a', 't', 0xa8,
					'p', 'i', 'p', 'e', ':', '[', '7', ']' };
	struct trace_track states = { .id = 1, .kind = TRACK_STATES, .os_id = 8, .device = -1, .parent = -1 };

	trace_writer_track(w, &states);
	trace_writer_track(w, &(struct trace_track){ .id = 2, .kind = TRACK_PROCESS, .os_id = 7, .device = -1, .parent = -1 });
	trace_writer_track(w, &(struct trace_track){ .id = 3, .kind = TRACK_HOST, .process = -1, .device = -1, .parent = -1,
						     .name = trace_writer_string(w, "host", 4) });
	put_counter(w, 1, "run_ns", 100, 5);
	put_state(w, "running", 100, 1, NULL, 0);
	put_state(w, "pipe", 200, 2, what, sizeof what);
	put_state(w, "unknown", 300, 0, NULL, 0);
	states.parent = 0; /* learnt later */
	trace_writer_track(w, &states);
	put_counter(w, 1, "run_ns", 400, 105);
	put_counter(w, 2, "rss_bytes", 400, 4096);
	put_counter(w, 3, "host_busy_ns", 400, 1000);
	put_sampling(w);
}

static int save(const char *folder, const char *name, const void *data, size_t size)
{
	char path[4096];
	int fd, rc;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	rc = fd < 0 || write(fd, data, size) != (ssize_t)size;
	close(fd);
	return rc;
}

/* The same blocks without compression, and without index. */
static int save_plain(const char *folder, const char *name, const uint8_t *data, size_t size)
{
	struct buffer out = BUFFER_INIT, payload = BUFFER_INIT;
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	struct sbt_block block;
	const char *reason;
	int rc;

	buffer_append(&out, data, SBT_FILE_HEADER);
	for (size_t at = SBT_FILE_HEADER; at + SBT_BLOCK_HEADER <= size; at += sbt_block_span(block.stored_size)) {
		uint8_t header[SBT_BLOCK_HEADER];
		struct sbt_block plain;

		if (sbt_block_unpack(data + at, &block) || block.kind == SBT_INDEX ||
		    decode_payload(zstd, &block, data + at + SBT_BLOCK_HEADER, &payload, &reason))
			break;
		plain = block;
		plain.codec = SBT_PLAIN;
		plain.stored_size = block.raw_size;
		plain.payload_crc = crc32_of(0, payload.data, payload.size);
		sbt_block_pack(header, &plain);
		buffer_append(&out, header, sizeof header);
		buffer_append(&out, payload.data, payload.size + (8 - payload.size % 8) % 8);
	}
	rc = save(folder, name, out.data, out.size);
	ZSTD_freeDCtx(zstd);
	buffer_release(&out);
	buffer_release(&payload);
	return rc;
}

static int make_seed(const char *folder, const char *name, void (*put)(struct trace_writer *w))
{
	struct trace_writer_options options = { 0 };
	struct trace_writer *w;
	char plain[64];
	uint8_t data[8192];
	int fd = memfd_create("seed", 0), keep = dup(fd);
	ssize_t size;

	if (trace_writer_open(&w, fd, &options, NULL))
		return 1;
	describe(w);
	put(w);
	if (trace_writer_close(w, NULL, NULL))
		return 1;
	size = pread(keep, data, sizeof data, 0);
	close(keep);
	snprintf(plain, sizeof plain, "%s-plain", name);
	return size <= 0 || save(folder, name, data, (size_t)size) || save_plain(folder, plain, data, (size_t)size);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make-sbt-seeds FOLDER\n");
		return 2;
	}
	return make_seed(argv[1], "scopes", put_scopes) || make_seed(argv[1], "fields", put_fields) ||
	       make_seed(argv[1], "functions", put_functions) || make_seed(argv[1], "imported", put_imported) ||
	       make_seed(argv[1], "states", put_states);
}
