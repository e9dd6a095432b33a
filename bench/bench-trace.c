/*
 * bench-trace.c - how fast traces are written and read, on one core.
 *
 *      bench-trace encode FILE COUNT      encode, compress, write
 *      bench-trace make FILE MEGABYTES    a large trace, for the two below
 *      bench-trace read FILE COUNT        decode all blocks to columns
 *      bench-trace window FILE COUNT      open cold and decode 10 ms in the middle
 *
 * The program recorded is made up (bench/workload.h).  Prints events a second
 * of CPU time, and milliseconds of real time for the window, as JSON lines of
 * COUNT measurements.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/timing.h"
#include "bench/workload.h"
#include "trace/reader.h"
#include "trace/writer.h"

#define COUNT_MAX 1000u
#define POOL_EVENTS ((double)WORKLOAD_SLOTS * WORKLOAD_TRACKS)

static double values[COUNT_MAX];

static int fail(const char *what, const struct error *err)
{
	fprintf(stderr, "bench-trace: %s: %s\n", what, err->code ? err->text : strerror(errno));
	return 1;
}

/* ---- Writing ---- */

static void describe(struct trace_writer *w)
{
	struct trace_clock_pair pairs[2] = { { .raw_ns = 0 },
					     { .ticks = 3600LL * WORKLOAD_RATE, .raw_ns = 3600000000000 } };
	char name[32];

	for (uint32_t i = 1; i <= WORKLOAD_NAMES; i++)
		trace_writer_string(w, workload_name(name, i), strlen(workload_name(name, i)));
	trace_writer_clock(w, &(struct trace_clock){ .kind = CLOCK_KIND_TSC, .rate = WORKLOAD_RATE });
	trace_writer_process(w, &(struct trace_process){ .pid = 1, .parent = -1, .rank = -1 });
	for (uint32_t t = 0; t < WORKLOAD_TRACKS; t++)
		trace_writer_track(w, &(struct trace_track){ .id = t, .kind = TRACK_THREAD, .device = -1, .parent = -1 });
	trace_writer_clock_pairs(w, 0, pairs, 2, NULL);
}

/* Copies a run, moved in time; what a recorder does from its rings. */
static int write_run(struct trace_writer *w, uint32_t track, const struct event_slot *from, uint64_t shift,
		     uint16_t cpu, struct error *err)
{
	struct event_slot *to = trace_writer_run(w, track, WORKLOAD_RUN, err);

	if (!to)
		return -ENOMEM;
	for (uint32_t i = 0; i < WORKLOAD_RUN; i++) {
		to[i] = from[i];
		to[i].time += shift;
		to[i].cpu = cpu;
	}
	trace_writer_commit(w, track, WORKLOAD_RUN, 0);
	return 0;
}

/* The workload once, as its repetition number `round`. */
static int write_round(struct trace_writer *w, const struct workload *p, uint64_t round, struct error *err)
{
	for (uint32_t at = 0; at < WORKLOAD_SLOTS; at += WORKLOAD_RUN)
		for (uint32_t t = 0; t < WORKLOAD_TRACKS; t++) {
			uint16_t cpu = (uint16_t)((at / WORKLOAD_RUN / 16 + t) % 8);

			if (write_run(w, t, p->slots[t] + at, round * p->span + 1000, cpu, err))
				return -ENOMEM;
		}
	return trace_writer_flush(w, err);
}

/* `rounds` repetitions, or as many as fill `bytes`. */
static int write_rounds(struct trace_writer *w, unsigned rounds, uint64_t bytes, struct error *err)
{
	struct workload workload;
	int rc = workload_init(&workload);

	for (unsigned i = 0; rc == 0 && i < rounds && trace_writer_totals(w).bytes < bytes; i++) {
		double start = process_ns();

		rc = write_round(w, &workload, i, err);
		values[i % COUNT_MAX] = POOL_EVENTS / (process_ns() - start) * 1e9;
	}
	workload_release(&workload);
	return rc;
}

static int write_trace(const char *path, unsigned rounds, uint64_t bytes)
{
	struct trace_writer_options options = { .created_ns = 0 };
	struct trace_writer *w;
	struct error err = { 0 };
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || trace_writer_open(&w, fd, &options, &err))
		return fail(path, &err);
	describe(w);
	if (write_rounds(w, rounds, bytes, &err)) {
		trace_writer_abandon(w);
		return fail(path, &err);
	}
	return trace_writer_close(w, NULL, &err) ? fail(path, &err) : 0;
}

static int run_encode(const char *path, unsigned count)
{
	int rc = write_trace(path, count, UINT64_MAX);

	if (rc == 0)
		print_values("ours", values, count);
	return rc;
}

static int run_make(const char *path, unsigned megabytes)
{
	return write_trace(path, UINT32_MAX, (uint64_t)megabytes << 20);
}

/* ---- Reading ---- */

static int read_all(struct trace_reader *r, struct trace_batch *batch, double *ret_rate, struct error *err)
{
	uint64_t events = 0;
	double start = process_ns();

	for (size_t i = 0; i < trace_reader_block_count(r); i++) {
		if (trace_reader_decode(r, i, batch, err))
			return -1;
		events += batch->count;
	}
	*ret_rate = (double)events / (process_ns() - start) * 1e9;
	return 0;
}

static int run_read(const char *path, unsigned count)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_reader *r;
	struct error err = { 0 };
	int rc;

	if (trace_reader_open(&r, path, &err))
		return fail(path, &err);
	rc = read_all(r, &batch, values, &err); /* brings the file into memory, and is not counted */
	for (unsigned i = 0; i < count && rc == 0; i++)
		rc = read_all(r, &batch, values + i, &err);
	trace_batch_release(&batch);
	trace_reader_close(r);
	if (rc != 0)
		return fail(path, &err);
	print_values("ours", values, count);
	return 0;
}

static int forget_pages(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	fsync(fd);
	rc = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
	return -rc;
}

/* All that is needed to show 10 ms of the trace to somebody, from a file that is not in memory. */
static int read_window(const char *path, double *ret_ms, struct error *err)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_reader *r;
	int64_t from, start = wall_ns();
	size_t first, end;
	int rc = trace_reader_open(&r, path, err);

	if (rc != 0)
		return rc;
	from = trace_reader_block(r, trace_reader_block_count(r) / 2)->first_time;
	trace_reader_window(r, from, from + WORKLOAD_RATE / 100, &first, &end);
	for (size_t i = first; i < end && rc == 0; i++)
		rc = trace_reader_decode(r, i, &batch, err);
	*ret_ms = (double)(wall_ns() - start) / 1e6;
	trace_batch_release(&batch);
	trace_reader_close(r);
	return rc;
}

static int run_window(const char *path, unsigned count)
{
	struct error err = { 0 };

	for (unsigned i = 0; i < count; i++)
		if (forget_pages(path) || read_window(path, values + i, &err))
			return fail(path, &err);
	print_values("ours", values, count);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *path, unsigned count);
		unsigned max;
	} modes[] = {
		{ "encode", run_encode, COUNT_MAX },
		{ "make", run_make, 1u << 20 },
		{ "read", run_read, COUNT_MAX },
		{ "window", run_window, COUNT_MAX },
	};
	unsigned count = argc == 4 ? (unsigned)atoi(argv[3]) : 0;

	for (size_t i = 0; i < sizeof modes / sizeof *modes && count > 0; i++)
		if (strcmp(argv[1], modes[i].name) == 0 && count <= modes[i].max)
			return modes[i].run(argv[2], count);
	fprintf(stderr, "usage: bench-trace encode|read|window FILE COUNT (up to %u) | make FILE MEGABYTES\n",
		COUNT_MAX);
	return 2;
}
