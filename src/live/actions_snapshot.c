/*
 * actions_snapshot.c - the flight recorder: the last seconds of a recording, as a trace of their own.
 *
 * What has been recorded is in the partial file (or files, of a bounded trace)
 * once it has been flushed, and a reader needs no more than that.  A process of
 * its own copies the blocks, so that the recording goes on meanwhile.
 */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/msgpack.h"
#include "live/actions_state.h"
#include "record/trace_file.h"
#include "trace/copy.h"

void action_snapshot_path(const char *partial, uint64_t number, char *out, size_t size)
{
	size_t length = strlen(partial);

	if (length > 8 && strcmp(partial + length - 8, ".partial") == 0)
		for (length -= 8; length > 0 && isdigit((unsigned char)partial[length - 1]);)
			length--;
	while (length > 0 && partial[length - 1] == '.')
		length--;
	if (length > 4 && memcmp(partial + length - 4, ".sbt", 4) == 0)
		length -= 4;
	snprintf(out, size, "%.*s.alert-%llu.sbt", (int)length, partial, (unsigned long long)number);
}

/* ---- Copying ---------------------------------------------------------------------------- */

/* Those that end before `since` are left out; what is gone by now, was dropped. */
static int copy_segment(const struct trace_file *file, unsigned number, struct trace_writer *to, int64_t since, bool *first,
			struct error *err)
{
	char path[RECORDING_PATH_MAX + 32];
	struct trace_reader *reader;
	size_t blocks;
	int rc;

	trace_file_segment_path(file, number, path, sizeof path);
	if (trace_reader_open(&reader, path, NULL) != 0)
		return 0;
	blocks = trace_reader_block_count(reader);
	while (blocks > 0 && trace_reader_block(reader, blocks - 1)->domain != 0)
		blocks--;
	if (blocks == 0 || trace_reader_block(reader, blocks - 1)->last_time < since) {
		trace_reader_close(reader);
		return 0;
	}
	rc = trace_copy_since(reader, to, since, *first, err);
	*first = false;
	trace_reader_close(reader);
	return rc;
}

/* It has all that it is to have, though the recording goes on. */
static int write_info(struct trace_writer *to, struct error *err)
{
	struct buffer map = BUFFER_INIT;
	int rc = msgpack_write_map(&map, 1);

	rc = rc ? rc : msgpack_write_text(&map, "complete");
	rc = rc ? rc : msgpack_write_bool(&map, true);
	rc = rc ? rc : trace_writer_info(to, map.data, map.size, err);
	buffer_release(&map);
	return rc;
}

static int copy_segments(const struct action_source *source, struct trace_writer *to, int64_t since, struct error *err)
{
	struct trace_file file = { .path = "" };
	unsigned *segments = NULL;
	size_t count = 0;
	bool first = true;
	int rc;

	memcpy(file.partial, source->partial, sizeof file.partial);
	rc = trace_file_segments(&file, &segments, &count);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = copy_segment(&file, segments[i], to, since, &first, err);
	free(segments);
	if (rc == 0 && first)
		rc = error_set(err, -ENODATA, "nothing has been recorded in that time");
	return rc ? rc : write_info(to, err);
}

int action_snapshot_write(const struct action_source *source, int64_t since, int fd, struct error *err)
{
	struct trace_writer_options options = { 0 };
	struct trace_writer *writer;
	struct timespec ts;
	int rc;

	clock_gettime(CLOCK_REALTIME, &ts);
	options.created_ns = (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
	rc = trace_writer_open(&writer, fd, &options, err);
	if (rc != 0)
		return rc;
	rc = copy_segments(source, writer, since, err);
	if (rc == 0)
		return trace_writer_close(writer, NULL, err);
	trace_writer_abandon(writer);
	return rc;
}

/* ---- A process for it ----------------------------------------------------------------------- */

#define COPY_FD 3

/* Nothing of the recorder is used here; were it to end, so do we.  Whoever waits for us may be somebody else, so what came of it is said
 * where both can see it. */
static void copy_and_exit(const struct action_source *source, int64_t since, const struct action_copy *copy, pid_t parent)
{
	struct error err = { 0 };
	int rc;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	(void)setpgid(0, 0);
	(void)!nice(10);
	if (dup2(copy->draft.fd, COPY_FD) < 0)
		_exit(1);
#ifdef SYS_close_range
	(void)syscall(SYS_close_range, COPY_FD + 1u, ~0u, 0u);
#endif
	rc = action_snapshot_write(source, since, COPY_FD, &err);
	err.code = rc;
	*copy->result = err;
	_exit(rc == 0 ? 0 : 1);
}

static int make_copy(struct action_copy *copy, const char *path, struct error *err)
{
	void *page = mmap(NULL, sizeof *copy->result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int rc = page == MAP_FAILED ? error_errno(err, -errno, "cannot copy") : file_draft_open(&copy->draft, path, err);

	if (rc != 0) {
		if (page != MAP_FAILED)
			(void)munmap(page, sizeof *copy->result);
		return rc;
	}
	copy->result = page;
	error_set(copy->result, -EINTR, "it was ended before it was done");
	return 0;
}

int action_copy_begin(struct action_copy *copy, struct action_child *child, const struct action_source *source, int64_t since,
		      const char *path, struct error *err)
{
	pid_t parent = getpid(), pid;
	int rc = make_copy(copy, path, err);

	if (rc != 0)
		return rc;
	pid = fork();
	if (pid == 0)
		copy_and_exit(source, since, copy, parent);
	if (pid > 0) {
		action_child_set(child, pid);
		return 0;
	}
	error_set(copy->result, -errno, "cannot start a process: %s", strerror(errno));
	return action_copy_end(copy, err);
}

int action_snapshot(struct action_copy *copy, struct action_child *child, const struct action_source *source, uint64_t number,
		    double seconds, struct error *err)
{
	int64_t since = (int64_t)(clock_ticks(source->clock) - (uint64_t)(seconds * source->rate));
	char path[RECORDING_PATH_MAX + 32];

	(void)drain_pass(source->drain, NULL);
	(void)trace_writer_flush(source->writer, NULL);
	action_snapshot_path(source->partial, number, path, sizeof path);
	return action_copy_begin(copy, child, source, since, path, err);
}

int action_copy_end(struct action_copy *copy, struct error *err)
{
	struct error result;
	int rc;

	if (!copy->result)
		return 0;
	result = *copy->result;
	(void)munmap(copy->result, sizeof *copy->result);
	copy->result = NULL;
	rc = result.code;
	if (rc != 0)
		error_set(err, rc, "%s", result.text[0] ? result.text : "out of memory");
	if (rc == 0)
		rc = file_keep_older(copy->draft.path, NULL, err);
	if (rc == 0)
		rc = file_draft_commit(&copy->draft, err);
	file_draft_discard(&copy->draft);
	return rc;
}
