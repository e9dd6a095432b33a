/*
 * trace_file.h - the files of a trace under construction.
 *
 * A trace appears under its name when it is whole.  Until then it is
 * NAME.PID.partial, in the same folder (or NAME.PID.2.partial and so on, where
 * somebody has left that one or, in another container, has our number), and a
 * bounded one continues in NAME.PID.partial.1 and so on.  Which name it gets
 * where others record into the same folder, file_place.h says.
 */
#ifndef RECORD_TRACE_FILE_H
#define RECORD_TRACE_FILE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/file_place.h"
#include "record/session.h"

struct trace_file {
	char path[RECORDING_PATH_MAX];    /* absolute; what was asked for, and from when it is published what it got */
	char partial[RECORDING_PATH_MAX]; /* absolute */
	struct file_place place;
};

/* Makes the partial file; its descriptor is open for reading and writing.  The path must not name a folder, device, etc. */
int trace_file_create(struct trace_file *file, const char *path, int *ret_fd, struct error *err);

/* Segments, for trace_writer_options; arg is the struct trace_file. */
int trace_file_segment_open(void *arg, unsigned number, struct error *err);
void trace_file_segment_remove(void *arg, unsigned number);
void trace_file_segment_path(const struct trace_file *file, unsigned number, char *path, size_t size);

/* The segments that are there, in order; the caller frees *ret. */
int trace_file_segments(const struct trace_file *file, unsigned **ret, size_t *ret_count);

/* Gives segment `number` the trace's name. */
int trace_file_publish(struct trace_file *file, unsigned number, struct error *err);

void trace_file_remove(const struct trace_file *file);

#endif
