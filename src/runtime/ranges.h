/*
 * ranges.h - ranges that are pushed and popped, in each thread and each domain for itself.
 *
 * A thread has one stack of slices, which all doors share; the domains of NVTX
 * and ITT have one each.  So a thread keeps, for each open range, its domain
 * and its name.  Ranges of two domains may cross (push A, push B, pop A, pop B):
 * B then has two parts, inside A and after it (open.c).
 *
 * Between emit_enter() and emit_leave().
 */
#ifndef RUNTIME_RANGES_H
#define RUNTIME_RANGES_H

#include "runtime/emit.h"

/* A slice begins, with fields as in inferscope_emit_fields() if size is not 0.  Its level in its domain, from 0; -1: not
 * recorded. */
int inferscope_range_push(struct runtime_thread *thread, uintptr_t domain, uint32_t name, const void *fields, size_t size);

/* The domain's innermost range ends.  The level it had; -1: there was none, which is recorded as such. */
int inferscope_range_pop(struct runtime_thread *thread, uintptr_t domain);

/* Ranges that need not nest, and other events of one slot. */
void inferscope_range_event(struct runtime_thread *thread, uint32_t kind, uint32_t flags, uint32_t name, uint64_t value);

#endif
