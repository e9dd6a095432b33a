#include "record/recover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "record/describe.h"
#include "record/drain.h"
#include "record/trace_file.h"
#include "system/proc.h"
#include "trace/copy.h"

struct recovery {
	struct session session;
	const char *runtime;
	struct trace_file left;  /* what the dead recorder was writing */
	struct trace_file file;  /* what we write */
	struct trace_writer *writer;
	struct trace_reader *newest; /* of the partial trace's segments */
	struct drain *drain;
	unsigned *segments;
	size_t segment_count;
	uint64_t copied;
	struct notes notes;
};

/* ---- The partial trace -------------------------------------------------------- */

/* A segment with nothing readable in it is passed over: the rings may still have everything. */
static int copy_segment(struct recovery *r, unsigned number, struct recover_result *ret, struct error *err)
{
	char path[RECORDING_PATH_MAX + 16];
	struct trace_reader *reader;
	int rc;

	trace_file_segment_path(&r->left, number, path, sizeof path);
	if (trace_reader_open(&reader, path, NULL) != 0)
		return 0;
	rc = trace_copy(reader, r->writer, err);
	ret->damage_bytes += trace_reader_report(reader)->damage_bytes;
	trace_reader_close(r->newest);
	r->newest = reader;
	return rc;
}

static int copy_partial(struct recovery *r, struct recover_result *ret, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->segment_count; i++)
		rc = copy_segment(r, r->segments[i], ret, err);
	return rc;
}

static void remove_partial(struct recovery *r)
{
	for (size_t i = 0; i < r->segment_count; i++)
		trace_file_segment_remove(&r->left, r->segments[i]);
}

/* ---- The rings ---------------------------------------------------------------- */

static bool same_boot(const struct session_page *page)
{
	char now[PROC_BOOT_ID_SIZE];

	proc_boot_id(now);
	return strncmp(now, page->boot_id, sizeof now) == 0;
}

/* Of a bounded recording the oldest part is missing on purpose: there the recorder's word stands. */
static bool is_damaged(const struct recovery *r, const struct recover_result *ret)
{
	return ret->damage_bytes && r->segment_count == 1 && r->segments[0] == 0;
}

static int describe_end(const struct recovery *r, const struct recover_result *ret, const struct drain_totals *totals, struct error *err)
{
	struct describe_ending ending = { .exit_status = -1, .recovered = true, .notes = &r->notes };

	if (ret->trouble.code)
		ending.trouble = ret->trouble.text;
	else if (ret->damage_bytes)
		ending.trouble = "the end of what the recorder had written could not be read";
	else if (!same_boot(r->session.page))
		ending.trouble = "the machine has been restarted since, so what was in memory need not be all";
	return describe_ending(r->writer, &ending, totals, err);
}

static int drain_rings(struct recovery *r, struct recover_result *ret, struct error *err)
{
	enum clock_source clock = r->session.page->clock_source;
	uint32_t next_track = r->newest ? (uint32_t)trace_reader_track_count(r->newest) : DESCRIBE_LOSS_TRACK + 1;
	struct drain_totals totals;
	int rc = 0;

	if (!r->newest) /* the recorder died before its first words */
		rc = describe_machine(r->writer, clock);
	if (rc == 0)
		rc = drain_new(&r->drain, &r->session, r->writer, next_track);
	if (rc == 0 && r->newest)
		rc = drain_resume(r->drain, r->newest, is_damaged(r, ret), err);
	if (rc != 0)
		return rc;
	drain_set_runtime(r->drain, r->runtime);
	atomic_store(&r->session.page->closed, 1); /* what still runs detaches */
	notes_read(&r->notes, r->session.folder_fd);
	drain_finish(r->drain, &ret->trouble);
	totals = drain_totals(r->drain);
	if (totals.overwritten) {
		notes_add(&r->notes, DRAIN_OVERWRITTEN);
		if (!ret->trouble.code)
			error_set(&ret->trouble, -EINVAL, "%s", DRAIN_OVERWRITTEN);
	}
	ret->from_rings = totals.recorded;
	ret->lost = totals.lost;
	ret->running = totals.running;
	totals.recorded += r->copied;
	totals.produced = totals.recorded + totals.lost;
	rc = same_boot(r->session.page) ? describe_clock_pair(r->writer, clock, err) : 0;
	return rc ? rc : describe_end(r, ret, &totals, err);
}

/* ---- All of it ---------------------------------------------------------------- */

static int open_output(struct recovery *r, const char *path, struct error *err)
{
	struct trace_writer_options options = { .loss_track = DESCRIBE_LOSS_TRACK };
	struct clock_reading now;
	int fd, rc = trace_file_create(&r->file, path, &fd, err);

	if (rc != 0)
		return rc;
	clock_read_all(CLOCK_SOURCE_MONOTONIC, &now);
	options.created_ns = now.realtime_ns;
	return trace_writer_open(&r->writer, fd, &options, err);
}

static int make_trace(struct recovery *r, struct recover_result *ret, struct error *err)
{
	struct stat st;
	int rc = copy_partial(r, ret, err);

	if (rc == 0) {
		r->copied = ret->from_file = trace_writer_totals(r->writer).events;
		rc = drain_rings(r, ret, err);
	}
	if (rc == 0) {
		rc = trace_writer_close(r->writer, NULL, err);
		r->writer = NULL;
	}
	if (rc == 0)
		rc = trace_file_publish(&r->file, 0, err);
	if (rc == 0 && stat(r->file.path, &st) == 0)
		ret->trace_bytes = (uint64_t)st.st_size;
	return rc;
}

static void release(struct recovery *r)
{
	drain_free(r->drain);
	trace_reader_close(r->newest);
	trace_writer_abandon(r->writer);
	session_release(&r->session);
	free(r->segments);
	free(r);
}

/* Reading the rings uses them up: what has been written of them by then is all there is of it. */
static int give_up(struct recovery *r, int rc, struct error *err)
{
	struct error why = { 0 };

	if (!r->drain) {
		trace_file_remove(&r->file);
		return rc;
	}
	if (err)
		why = *err;
	return error_set(err, rc, "%.200s; what was in memory is in %s now, as far as it could be written", why.text, r->file.partial);
}

int recover_session(const char *folder, const char *trace_path, const char *runtime, struct recover_result *ret, struct error *err)
{
	struct recovery *r = calloc(1, sizeof *r);
	int rc;

	if (!r)
		return error_set(err, -ENOMEM, "out of memory");
	*ret = (struct recover_result){ 0 };
	r->runtime = runtime;
	rc = session_open_dead(&r->session, folder, err);
	if (rc == 0)
		rc = session_recording(&r->session, r->left.path, r->left.partial, err);
	if (rc == 0)
		(void)trace_file_segments(&r->left, &r->segments, &r->segment_count);
	if (rc == 0)
		rc = open_output(r, trace_path ? trace_path : r->left.path, err);
	if (rc == 0) {
		rc = make_trace(r, ret, err);
		if (rc != 0)
			rc = give_up(r, rc, err);
	}
	if (rc == 0) {
		snprintf(ret->trace_path, sizeof ret->trace_path, "%s", r->file.path);
		remove_partial(r);
		session_end(&r->session);
	}
	if (rc != 0 && err && (r->writer || rc == -EBUSY || r->file.path[0]))
		err->exit_code = 4;
	release(r);
	return rc;
}
