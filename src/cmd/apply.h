/*
 * apply.h - advice about a program's environment, followed: `run --apply threads,allocator`.
 *
 * Only variables that a program reads when it starts, and only those that the
 * user has not set: whoever set one had a reason.
 */
#ifndef CMD_APPLY_H
#define CMD_APPLY_H

#include "base/buffer.h"
#include "record/variables.h"

#define APPLY_NAMES "threads, spin, allocator"

/* Adds the variables of the advice named in `list`, with commas between them, and says in `said` what was changed and what was
 * not, a sentence a line.  -EINVAL, with the name that there is none of in *ret_wrong, which is part of list; -ENOMEM. */
int apply_advice(const char *list, struct variables *variables, struct buffer *said, const char **ret_wrong);

#endif
