/*
 * trace-fixture.h - a trace in memory, to write to and to read from.
 */
#ifndef TRACE_FIXTURE_H
#define TRACE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/format.h"
#include "trace/reader.h"
#include "trace/writer.h"

struct fixture {
	int fd; /* a second descriptor of the writer's file */
	char path[40];
	struct trace_writer *w;
};

static inline void fixture_open(struct fixture *f, const struct trace_writer_options *options)
{
	struct trace_writer_options none = { .created_ns = 1 };
	struct error err = { 0 };

	f->fd = memfd_create("trace", MFD_CLOEXEC);
	assert_true(f->fd >= 0);
	snprintf(f->path, sizeof f->path, "/proc/self/fd/%d", f->fd);
	assert_int_equal(trace_writer_open(&f->w, dup(f->fd), options ? options : &none, &err), 0);
}

static inline void fixture_finish(struct fixture *f)
{
	struct error err = { 0 };

	assert_int_equal(trace_writer_close(f->w, NULL, &err), 0);
	f->w = NULL;
}

static inline struct trace_reader *fixture_read(const struct fixture *f)
{
	struct trace_reader *r = NULL;
	struct error err = { 0 };
	int rc = trace_reader_open(&r, f->path, &err);

	if (rc)
		print_error("%s\n", err.text);
	assert_int_equal(rc, 0);
	return r;
}

/* A copy of the file's bytes, to be freed. */
static inline uint8_t *fixture_bytes(const struct fixture *f, size_t *ret_size)
{
	struct stat st;
	uint8_t *data;

	assert_int_equal(fstat(f->fd, &st), 0);
	data = malloc((size_t)st.st_size + 1);
	assert_non_null(data);
	assert_int_equal(pread(f->fd, data, (size_t)st.st_size, 0), st.st_size);
	*ret_size = (size_t)st.st_size;
	return data;
}

static inline void fixture_close(struct fixture *f)
{
	trace_writer_abandon(f->w);
	close(f->fd);
}

static inline struct event_slot scope_slot(uint64_t time, unsigned phase, uint32_t name, uint16_t depth, uint16_t cpu)
{
	return (struct event_slot){
		.time = time,
		.name = name,
		.cpu = cpu,
		.depth = depth,
		.kind = EVENT_SCOPE,
		.flags = EVENT_FLAGS(phase, 0, 0) | EVENT_FLAG_THREAD,
	};
}

static inline void put_scope(struct fixture *f, uint32_t track, uint64_t time, unsigned phase, uint32_t name,
			     uint16_t depth)
{
	struct event_slot slot = scope_slot(time, phase, name, depth, 3);

	assert_int_equal(trace_writer_event(f->w, track, &slot, NULL, 0, NULL), 0);
}

/* Adds a field to a list of them, as in continuation slots; returns the new size. */
static inline size_t list_number(uint8_t *list, size_t size, uint8_t field, uint64_t value)
{
	list[size] = field;
	put16(list + size + 1, 8);
	put64(list + size + 3, value);
	return size + 11;
}

static inline size_t list_bytes(uint8_t *list, size_t size, uint8_t field, const void *data, uint16_t length)
{
	list[size] = field;
	put16(list + size + 1, length);
	memcpy(list + size + 3, data, length);
	return size + 3 + length;
}

/* Where the blocks of a file start; returns how many there are. */
static inline size_t find_blocks(const uint8_t *data, size_t size, uint64_t *offsets, struct sbt_block *blocks,
				 size_t max)
{
	size_t count = 0;

	for (uint64_t at = SBT_FILE_HEADER; at + SBT_BLOCK_HEADER <= size && count < max; count++) {
		if (sbt_block_unpack(data + at, &blocks[count]))
			break;
		offsets[count] = at;
		at += sbt_block_span(blocks[count].stored_size);
	}
	return count;
}

#endif
