/*
 * bench-drain.c - how many events a second the recorder takes in on one core.
 *
 *      bench-drain FILE ROUNDS
 *
 * Everything the recorder does with an event: find it in the rings, check and
 * copy it, translate its name, encode, compress, write.  Producer and recorder
 * are one process here, in turn; only the recorder's turn is timed (its CPU
 * time, the kernel's part of writing included).  The rings are real ones, of a
 * session like any other.  A turn has as many events as come in between two
 * looks of a busy recorder.
 *
 * The peer, in alternating rounds, compresses the slots as they are (zstd 1)
 * and writes them: the simplest recorder there could be.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "bench/timing.h"
#include "bench/workload.h"
#include "record/drain.h"
#include "ring/names.h"

#define ROUNDS_MAX 1000u
#define TURNS (2 * WORKLOAD_SLOTS / WORKLOAD_RUN) /* of a round */
#define ROUND_EVENTS ((double)TURNS * WORKLOAD_RUN * WORKLOAD_TRACKS)

struct bench {
	struct workload workload;
	uint32_t turn;
	uint32_t names[WORKLOAD_NAMES + 1]; /* ids in the process, by the workload's */

	struct session session;
	struct ring_memory *memory;
	struct ring_producer *producers[WORKLOAD_TRACKS];
	struct trace_writer *writer;
	struct drain *drain;

	int row_fd;
	uint64_t row_bytes, row_events;
	char *packed;
	size_t packed_size;
};

static int fail(const char *what, const struct error *err)
{
	fprintf(stderr, "bench-drain: %s: %s\n", what, err->code ? err->text : "failed");
	return 1;
}

/* ---- Setting up ----------------------------------------------------------------- */

static int open_session(struct bench *b, const char *path, struct error *err)
{
	struct session_options options = {
		.budget_bytes = 64u << 20,
		.overflow = OVERFLOW_DISCARD,
		.clock = clock_source_best(NULL),
		.trace_path = path,
		.partial_path = path,
	};

	b->session = (struct session)SESSION_INIT;
	return session_create(&b->session, &options, err);
}

static int open_trace(struct bench *b, const char *path, struct error *err)
{
	struct trace_writer_options options = { .created_ns = 0 };
	struct trace_clock_pair pairs[2] = { { .ticks = 0 },
					     { .ticks = 3600LL * WORKLOAD_RATE, .raw_ns = 3600000000000 } };
	struct trace_track track = { .kind = TRACK_PROCESS, .process = -1, .device = -1, .parent = -1 };
	int rc, fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		return error_errno(err, -errno, "cannot make it");
	rc = trace_writer_open(&b->writer, fd, &options, err);
	if (rc != 0)
		return rc;
	trace_writer_clock(b->writer, &(struct trace_clock){ .kind = CLOCK_KIND_TSC, .rate = WORKLOAD_RATE });
	trace_writer_track(b->writer, &track);
	trace_writer_clock_pairs(b->writer, 0, pairs, 2, NULL);
	return drain_new(&b->drain, &b->session, b->writer, 1);
}

static int open_rings(struct bench *b)
{
	struct session_page *page = b->session.page;
	struct ring_process_options options = {
		.session = page, .folder = b->session.folder, .chunk_limit = page->chunk_limit, .first_name = NAME_FIRST
	};
	struct name_table *table = name_table_map();
	char text[32];

	b->memory = ring_memory_map(page->chunk_limit);
	if (!b->memory || !table || ring_process_attach(b->memory, &options) != 0)
		return -ENOMEM;
	for (uint32_t i = 1; i <= WORKLOAD_NAMES; i++)
		b->names[i] = name_intern(table, &b->memory->process, workload_name(text, i), strlen(text));
	for (uint32_t t = 0; t < WORKLOAD_TRACKS; t++) {
		uint32_t serial = 0;

		b->producers[t] = ring_producer_open(b->memory, 0, 0, &serial);
		if (!b->producers[t])
			return -ENOMEM;
	}
	return 0;
}

static int open_rows(struct bench *b, const char *path)
{
	char rows[4096];

	snprintf(rows, sizeof rows, "%s.rows", path);
	b->row_fd = open(rows, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	unlink(rows);
	b->packed_size = ZSTD_compressBound(WORKLOAD_RUN * sizeof(struct event_slot));
	b->packed = malloc(b->packed_size);
	return b->row_fd < 0 || !b->packed ? -ENOMEM : 0;
}

static void bench_release(struct bench *b)
{
	drain_free(b->drain);
	session_end(&b->session);
	workload_release(&b->workload);
	free(b->packed);
	if (b->row_fd >= 0)
		close(b->row_fd);
}

/* ---- Turns ---------------------------------------------------------------------- */

/* Slot i of a track's turn, moved to where in time this repetition is. */
static struct event_slot slot_at(const struct bench *b, uint32_t track, uint32_t i)
{
	uint32_t at = b->turn * WORKLOAD_RUN;
	struct event_slot slot = b->workload.slots[track][at % WORKLOAD_SLOTS + i];

	slot.time += at / WORKLOAD_SLOTS * b->workload.span + 1000;
	slot.name = b->names[slot.name];
	slot.cpu = (uint16_t)((b->turn / 16 + track) % 8);
	return slot;
}

static int produce(struct bench *b)
{
	for (uint32_t t = 0; t < WORKLOAD_TRACKS; t++)
		for (uint32_t i = 0; i < WORKLOAD_RUN; i++) {
			struct event_slot s = slot_at(b, t, i);
			struct ring_producer *p = b->producers[t];

			if (p->cursor == p->end && !ring_producer_refill(p))
				return -ENOSPC;
			ring_slot_write(p->cursor, s.time, s.value, ring_word_names(s.name, s.aux),
					ring_word_rest(s.cpu, s.depth, s.kind, s.extra, s.flags));
			ring_publish(p, 1);
		}
	b->turn++;
	return 0;
}

/* A round ends with everything on disk. */
static int drain_round(struct bench *b, double *ret_rate, struct error *err)
{
	double spent = 0, start;

	for (uint32_t i = 0; i < TURNS; i++) {
		if (produce(b) != 0)
			return error_set(err, -ENOSPC, "the rings are full");
		start = process_ns();
		if (drain_pass(b->drain, err) < 0 || err->code)
			return err->code;
		if (i == TURNS - 1 && trace_writer_flush(b->writer, err) != 0)
			return err->code;
		spent += process_ns() - start;
	}
	*ret_rate = ROUND_EVENTS / spent * 1e9;
	return 0;
}

static int row_turn(struct bench *b, struct event_slot *slots, double *spent)
{
	for (uint32_t t = 0; t < WORKLOAD_TRACKS; t++) {
		double start;
		size_t size;

		for (uint32_t i = 0; i < WORKLOAD_RUN; i++)
			slots[i] = slot_at(b, t, i);
		start = process_ns();
		size = ZSTD_compress(b->packed, b->packed_size, slots, WORKLOAD_RUN * sizeof *slots, 1);
		if (ZSTD_isError(size) || write(b->row_fd, b->packed, size) != (ssize_t)size)
			return -EIO;
		*spent += process_ns() - start;
		b->row_bytes += size;
		b->row_events += WORKLOAD_RUN;
	}
	return 0;
}

/* The turns that drain_round() has just recorded, again; a quarter of them, for this is slow. */
static int row_round(struct bench *b, double *ret_rate, struct error *err)
{
	static struct event_slot slots[WORKLOAD_RUN];
	uint32_t end = b->turn;
	double spent = 0;
	int rc = 0;

	for (b->turn = end - TURNS / 4; b->turn < end && rc == 0; b->turn++)
		rc = row_turn(b, slots, &spent);
	b->turn = end;
	*ret_rate = ROUND_EVENTS / 4 / spent * 1e9;
	return rc == 0 ? 0 : error_set(err, rc, "cannot write the rows");
}

static int run(struct bench *b, unsigned rounds, struct error *err)
{
	static double ours[ROUNDS_MAX], rows[ROUNDS_MAX];
	struct trace_writer_totals totals;
	double bytes;

	/* The first round makes the ring grow to its size, and is not counted. */
	if (drain_round(b, ours, err) != 0)
		return -1;
	for (unsigned i = 0; i < rounds; i++)
		if (drain_round(b, ours + i, err) != 0 || row_round(b, rows + i, err) != 0)
			return -1;
	totals = trace_writer_totals(b->writer);
	if (drain_totals(b->drain).lost || (double)totals.events != ROUND_EVENTS * (rounds + 1))
		return error_set(err, -EIO, "%llu events recorded, %llu lost", (unsigned long long)totals.events,
				 (unsigned long long)drain_totals(b->drain).lost);
	print_values("ours", ours, rounds);
	print_values("peer", rows, rounds);
	bytes = (double)totals.bytes / (double)totals.events;
	print_values("bytes", &bytes, 1);
	bytes = (double)b->row_bytes / (double)b->row_events;
	print_values("peer_bytes", &bytes, 1);
	return 0;
}

int main(int argc, char **argv)
{
	struct bench b = { .row_fd = -1 };
	struct error err = { 0 };
	unsigned rounds = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
	int rc;

	if (rounds == 0 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: bench-drain FILE ROUNDS (up to %u)\n", ROUNDS_MAX);
		return 2;
	}
	if (open_session(&b, argv[1], &err) || open_trace(&b, argv[1], &err) || open_rings(&b) ||
	    workload_init(&b.workload) || open_rows(&b, argv[1]))
		rc = fail(argv[1], &err);
	else
		rc = run(&b, rounds, &err) ? fail(argv[1], &err) : 0;
	if (b.writer && trace_writer_close(b.writer, NULL, &err) != 0 && rc == 0)
		rc = fail(argv[1], &err);
	bench_release(&b);
	return rc;
}
