/*
 * redact.h - names, paths and arguments of a trace that is given to somebody else, replaced by numbered ones.
 *
 * The same text always becomes the same replacement, so that a trace still
 * says what is called by what.  What everybody has keeps its name: operators
 * of PyTorch, functions of the standard library and of installed packages,
 * shared objects, calls of drivers.
 */
#ifndef TRACE_REDACT_H
#define TRACE_REDACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "trace/writer.h"

#define REDACT_NAMES 1u /* of functions, scopes, kernels, threads, processes, hosts */
#define REDACT_PATHS 2u /* folders, wherever they are; with REDACT_NAMES the names of files as well */
#define REDACT_ARGS 4u  /* arguments of events, of the command, and what an exception says */

struct trace_redact;

/* "names,paths"; -EINVAL with a sentence. */
int trace_redact_parse(const char *list, unsigned *ret, struct error *err);

int trace_redact_new(struct trace_redact **ret, unsigned what); /* -ENOMEM */
void trace_redact_free(struct trace_redact *r);
unsigned trace_redact_what(const struct trace_redact *r); /* 0 for NULL */

/* What stands for the text; its data is NULL when out of memory.  Texts last as long as `r`, or as the one passed in. */
struct trace_text trace_redact_name(struct trace_redact *r, const char *kind, struct trace_text name); /* kind: "thread" */
struct trace_text trace_redact_path(struct trace_redact *r, struct trace_text path);
/* A command line, in one text: all but the name of a Python goes. */
struct trace_text trace_redact_command(struct trace_text command);

/* Is that a file of the standard library, of an installed package or of the system? */
bool trace_redact_is_public(struct trace_text path);

/* Append a MessagePack value with its texts replaced; -ENOMEM or -EBADMSG.  The first is for what a trace says of itself, where
 * the names of values tell which are the program's; the second for arguments of events, of which paths are replaced; the third
 * for those of a sample of native code, which name the executable or shared object. */
int trace_redact_info(struct trace_redact *r, const void *value, size_t size, struct buffer *out);
int trace_redact_paths_of(struct trace_redact *r, const void *value, size_t size, struct buffer *out);
int trace_redact_modules_of(struct trace_redact *r, const void *value, size_t size, struct buffer *out);

#endif
