/*
 * fuzz-drain.c - the recorder over process files of any content, which changes between its passes.
 *
 * Two files as honest processes would leave them are the start.  The input is a
 * list of steps: a byte says which, then
 *
 *      0 to 11    part (below) of file 0 or 1: u16 offset, u8 count, that many bytes are written there
 *      12 to 14   the recorder makes a pass, flushes, looks for processes that have ended
 *      15         u16 slots more have been produced in ring 0 of file 0
 *
 * Whatever they say, the recorder ends, and what it wrote is a trace in which
 * all is as it counted.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/drain.h"
#include "ring/names.h"
#include "trace/reader.h"

#define FILES 2
#define CHUNKS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct part {
	uint32_t offset, size;
} parts[] = {
	{ 0, sizeof(struct process_header) },
	{ PROCESS_RINGS_OFFSET, 8 * sizeof(struct ring_header) },
	{ PROCESS_NAME_INDEX_OFFSET, 256 },
	{ PROCESS_NAME_TEXT_OFFSET, 4096 },
	{ PROCESS_CHUNKS_OFFSET, CHUNKS * sizeof(struct chunk_entry) },
	{ 0, CHUNKS *CHUNK_SIZE }, /* after chunk_offset */
};
#define PARTS (sizeof parts / sizeof parts[0])

static struct session_page page;
static struct session session = { .page = &page };
static uint8_t *maps[FILES];
static struct ring_memory *memories[FILES];

static void must(bool so)
{
	if (!so)
		abort();
}

/* ---- The files -------------------------------------------------------------------- */

static void tear_down(void)
{
	(void)rmdir(session.folder);
}

static void set_up(void)
{
	strcpy(session.folder, "/dev/shm/fuzz-drain-XXXXXX");
	must(mkdtemp(session.folder));
	atexit(tear_down);
	session.folder_fd = open(session.folder, O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < FILES; i++)
		must((memories[i] = ring_memory_map(CHUNKS)) != NULL);
}

/* A process with a thread that has recorded some events. */
static void make_file(int i)
{
	static const char *const names[] = { "one", "two", "three" };
	struct ring_process_options options = {
		.session = &page,
		.folder = session.folder,
		.chunk_limit = CHUNKS,
		.parent = (uint32_t)i,
		.first_name = NAME_FIRST + 3 * (uint32_t)i,
		.flags = i ? PROCESS_FORKED : 0,
	};
	static struct name_table table;
	struct ring_producer *p;
	uint32_t serial = 0;

	memset(&memories[i]->process, 0, sizeof memories[i]->process);
	must(ring_process_attach(memories[i], &options) == 0);
	must((p = ring_producer_open(memories[i], 1, 0, &serial)) != NULL);
	memset(&table, 0, offsetof(struct name_table, text));
	atomic_store(&table.next, options.first_name);
	for (uint32_t n = 0; n < 30; n++) {
		uint32_t more = n % 5 == 0, name = name_intern(&table, &memories[i]->process, names[n % 3], strlen(names[n % 3]));
		slot_word *slot = ring_producer_group(p, 1 + more);

		must(slot);
		ring_slot_write(slot, n, 0, name,
				ring_word_rest(0, 0, EVENT_INSTANT, more, EVENT_FLAGS(PHASE_INSTANT, 0, 0)));
		if (more)
			ring_slot_write(slot + 4, 0, 0, 0, 0);
		ring_publish_group(p, 1 + more, more);
	}
	/* All of it can be written to. */
	maps[i] = memories[i]->process.map;
	layout_rings(maps[i])[0].serial = serial;
}

static void remove_file(int i)
{
	must(munmap(maps[i], layout_file_size(CHUNKS)) == 0);
	unlink(memories[i]->process.path);
	memset(&memories[i]->producers[0], 0, 8 * sizeof memories[i]->producers[0]);
	memset(memories[i]->chunk_states, 0, CHUNKS * sizeof memories[i]->chunk_states[0]);
}

/* ---- Steps ------------------------------------------------------------------------- */

static size_t take(const uint8_t **data, size_t *size, void *to, size_t count)
{
	count = count < *size ? count : *size;
	memcpy(to, *data, count);
	*data += count;
	*size -= count;
	return count;
}

static void patch(unsigned which, const uint8_t **data, size_t *size)
{
	const struct part *part = &parts[which % PARTS];
	uint8_t *map = maps[which / PARTS], bytes[255], count = 0;
	uint64_t start = part == &parts[PARTS - 1] ? layout_chunk_offset(CHUNKS) : part->offset;
	uint16_t offset = 0;

	take(data, size, &offset, 2);
	take(data, size, &count, 1);
	count = (uint8_t)take(data, size, bytes, count);
	if ((uint64_t)offset + count <= part->size)
		memcpy(map + start + offset, bytes, count);
}

static void step(struct drain *drain, struct trace_writer *writer, const uint8_t **data, size_t *size)
{
	uint8_t which = 0;
	uint16_t slots = 0;

	take(data, size, &which, 1);
	switch (which % 16) {
	case 12:
		must(drain_pass(drain, NULL) >= 0);
		break;
	case 13:
		must(trace_writer_flush(writer, NULL) == 0);
		break;
	case 14:
		drain_reap(drain, NULL);
		break;
	case 15:
		take(data, size, &slots, 2);
		atomic_fetch_add(&layout_rings(maps[0])->produced, slots);
		break;
	default:
		patch(which % 16, data, size);
	}
}

/* ---- What comes out ------------------------------------------------------------------ */

static int count_events(void *arg, unsigned worker, size_t block, const struct trace_batch *batch)
{
	uint64_t *events = arg;

	(void)worker;
	(void)block;
	for (uint32_t i = 0; i < batch->count; i++) /* unseen: not a loss of ours, but what the program said */
		*events += batch->kind[i] != EVENT_LOST || batch->field[FIELD_REASON][i] == LOST_UNSEEN;
	return 0;
}

static void check_trace(int fd, uint64_t recorded)
{
	struct trace_reader *reader;
	uint64_t events = 0;
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	must(trace_reader_open(&reader, path, NULL) == 0);
	must(trace_reader_each(reader, 0, trace_reader_block_count(reader), 1, count_events, &events, NULL) == 0);
	must(trace_reader_report(reader)->damage_count == 0);
	must(events == recorded);
	trace_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_writer_options options = { 0 };
	struct trace_track track = { .kind = TRACK_PROCESS, .process = -1, .device = -1, .parent = -1 };
	struct trace_writer *writer;
	struct drain *drain;
	int fd = memfd_create("trace", MFD_CLOEXEC);

	if (!session.folder[0])
		set_up();
	memset(&page, 0, sizeof page);
	page.chunk_limit = FILES * CHUNKS;
	page.clock_source = CLOCK_SOURCE_MONOTONIC;
	for (int i = 0; i < FILES; i++)
		make_file(i);
	must(fd >= 0);
	must(trace_writer_open(&writer, dup(fd), &options, NULL) == 0);
	must(trace_writer_track(writer, &track) == 0);
	must(drain_new(&drain, &session, writer, 1) == 0);
	while (size)
		step(drain, writer, &data, &size);
	drain_finish(drain, NULL);
	must(trace_writer_totals(writer).unwritten == 0);
	must(trace_writer_close(writer, NULL, NULL) == 0);
	check_trace(fd, drain_totals(drain).recorded);
	drain_free(drain);
	for (int i = 0; i < FILES; i++)
		remove_file(i);
	close(fd);
	return 0;
}
