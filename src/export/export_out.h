/*
 * export_out.h - where an export goes: bytes on their way to whoever asked, compressed or not.
 *
 * Append to buf, then ask export_out_ready() now and then, which hands on what
 * has gathered.  The first failure is remembered, and nothing is handed on
 * after it.
 */
#ifndef EXPORT_EXPORT_OUT_H
#define EXPORT_EXPORT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum export_packing { EXPORT_PLAIN, EXPORT_GZIP };

struct export_out {
	struct buffer buf;
	int error;        /* the first failure: negative errno */
	uint64_t written; /* bytes handed on, after packing */
	int (*write)(void *arg, const void *data, size_t size); /* 0, or negative errno */
	void *arg;
	struct export_packer *packer; /* NULL: plain */
};

/* 0 or -ENOMEM. */
int export_out_init(struct export_out *out, int (*write)(void *arg, const void *data, size_t size), void *arg, enum export_packing packing);
void export_out_check(struct export_out *out, int rc); /* remembers the result of something appended to buf */
bool export_out_ready(struct export_out *out);         /* false: it failed, stop */
int export_out_finish(struct export_out *out);         /* the rest; the first failure, or 0 */
void export_out_release(struct export_out *out);

#endif
