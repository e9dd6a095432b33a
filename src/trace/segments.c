/*
 * segments.c - the files of a trace.
 *
 * An unbounded trace is one file.  A bounded one is a chain of them, each a
 * quarter of the bound and complete in itself, so that the oldest part can be
 * dropped by removing a file.  Blocks do not know where they lie, so joining
 * the chain at the end is plain copying.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/msgpack.h"
#include "trace/writer_state.h"

static void file_free(struct trace_file *f)
{
	output_file_release(&f->out);
	free(f);
}

static int add_file(struct trace_writer *w, int fd, unsigned number, struct error *err)
{
	struct trace_file **files = realloc(w->files, (w->file_count + 1) * sizeof(*files));
	struct trace_file *f = calloc(1, sizeof *f);
	int rc;

	if (files)
		w->files = files;
	if (!files || !f) {
		free(f);
		close(fd);
		return error_errno(err, -ENOMEM, "cannot begin a trace file");
	}
	f->number = number;
	f->since = w->last_time;
	rc = output_file_begin(&f->out, fd, w->options.created_ns, err);
	if (rc) {
		file_free(f);
		return rc;
	}
	w->files[w->file_count++] = f;
	return 0;
}

int segments_open(struct trace_writer *w, int fd, struct error *err)
{
	return add_file(w, fd, 0, err);
}

void segments_release(struct trace_writer *w)
{
	for (size_t i = 0; i < w->file_count; i++)
		file_free(w->files[i]);
	free(w->files);
	w->files = NULL;
	w->file_count = 0;
}

bool segments_bounded(const struct trace_writer *w)
{
	return w->options.segment_open && (w->options.max_file_bytes || w->options.last_ticks);
}

static uint64_t ticks_since(const struct trace_writer *w, const struct trace_file *f)
{
	return w->last_time > f->since ? (uint64_t)w->last_time - (uint64_t)f->since : 0;
}

/* Full when the next block would make it more than its share. */
static bool is_full(const struct trace_writer *w, const struct trace_file *f)
{
	if (f->events == 0)
		return false;
	if (w->options.max_file_bytes && f->out.size + w->block_size > w->options.max_file_bytes / 4)
		return true;
	return w->options.last_ticks && ticks_since(w, f) >= w->options.last_ticks / 4;
}

/* Can the oldest file go?  Yes when the rest is long enough, and it must when a full one more would be too much. */
static bool oldest_is_surplus(const struct trace_writer *w)
{
	uint64_t size = w->options.max_file_bytes / 4;

	if (w->file_count < 2)
		return false;
	if (w->options.last_ticks && ticks_since(w, w->files[1]) >= w->options.last_ticks)
		return true;
	for (size_t i = 0; i < w->file_count; i++)
		size += w->files[i]->out.size;
	return w->options.max_file_bytes && size > w->options.max_file_bytes;
}

static void forget_file(struct trace_writer *w, size_t i)
{
	unsigned number = w->files[i]->number;

	file_free(w->files[i]);
	w->file_count--;
	memmove(w->files + i, w->files + i + 1, (w->file_count - i) * sizeof(*w->files));
	if (w->options.segment_remove)
		w->options.segment_remove(w->options.segment_arg, number);
}

static void drop_oldest(struct trace_writer *w)
{
	const struct trace_file *f = w->files[0];
	uint64_t events = f->events - f->losses;

	w->dropped += events;
	writer_add_loss(w, LOSS_DROPPED, events + f->lost, 0, f->has_times ? f->first_time : w->last_time,
			f->has_times ? f->last_time : w->last_time);
	forget_file(w, 0);
}

int segments_rotate(struct trace_writer *w, struct error *err)
{
	unsigned number = writer_file(w)->number + 1;
	int fd, rc;

	if (!segments_bounded(w) || writer_file(w)->out.ending || !is_full(w, writer_file(w)))
		return 0;
	fd = w->options.segment_open(w->options.segment_arg, number, err);
	if (fd < 0)
		return fd;
	rc = add_file(w, fd, number, err);
	if (rc) {
		if (w->options.segment_remove)
			w->options.segment_remove(w->options.segment_arg, number);
		return rc;
	}
	while (oldest_is_surplus(w))
		drop_oldest(w);
	return 0;
}

/* A segment goes when what was copied of it is on the disk. */
static int join_next(struct trace_writer *w, struct error *err)
{
	int rc = output_join(&w->files[0]->out, &w->files[1]->out, err);

	rc = rc ? rc : output_sync(&w->files[0]->out, err);
	if (rc == 0)
		forget_file(w, 1);
	return rc;
}

static int finish_and_sync(struct trace_writer *w, struct error *err)
{
	int rc = output_finish(&w->output, &w->files[0]->out, err);

	return rc ? rc : output_sync(&w->files[0]->out, err);
}

static void write_trouble(struct trace_writer *w, struct output_file *file, const char *text)
{
	struct sbt_block block = { .kind = SBT_INFO, .count = 1 };
	struct buffer map = BUFFER_INIT;
	int rc = msgpack_write_map(&map, 1);

	rc = rc ? rc : msgpack_write_text(&map, "trouble");
	rc = rc ? rc : msgpack_write_text(&map, text);
	if (rc == 0)
		(void)output_write(&w->output, file, block, map.data, map.size, NULL);
	buffer_release(&map);
}

/* Once more, with a sentence on why the trace could not be ended.  Where something had gone wrong before, that has been told. */
static void finish_with_trouble(struct trace_writer *w, const struct error *trouble)
{
	struct output_file *file = &w->files[0]->out;

	if (w->error.code)
		return;
	output_reopen(&w->output, file);
	write_trouble(w, file, trouble->text);
	(void)finish_and_sync(w, NULL);
}

int segments_finish(struct trace_writer *w, struct error *err)
{
	struct error trouble = { 0 };
	int rc = 0, finish;

	while (rc == 0 && w->file_count > 1)
		rc = join_next(w, &trouble);
	finish = finish_and_sync(w, rc ? NULL : &trouble);
	rc = rc ? rc : finish;
	if (rc)
		finish_with_trouble(w, &trouble);
	if (rc && err)
		*err = trouble;
	return rc;
}
