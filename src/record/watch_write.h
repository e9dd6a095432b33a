/*
 * watch_write.h - what was seen from outside (watch.h) becomes events of the trace.
 */
#ifndef RECORD_WATCH_WRITE_H
#define RECORD_WATCH_WRITE_H

#include "record/drain.h"
#include "record/watch.h"
#include "trace/writer.h"

struct watch_writer;

/* Borrows all three. */
int watch_writer_new(struct watch_writer **ret, struct watch *watch, struct drain *drain, struct trace_writer *writer);
void watch_writer_free(struct watch_writer *writer);

/* Takes all records that there are, and tells the watch of processes that attached. */
void watch_writer_pass(struct watch_writer *writer, struct error *err);

/* The same when the watch has stopped, and the info key `sampling`. */
void watch_writer_finish(struct watch_writer *writer, struct error *err);

#endif
