/*
 * arena.h - memory for what a program keeps a pointer to: handles of domains and strings.
 *
 * Never freed, inherited by forked children.  Lock-free: a fork, a signal or a
 * killed thread in the middle of a call leaves nothing locked.
 */
#ifndef RUNTIME_ARENA_H
#define RUNTIME_ARENA_H

#include <stddef.h>

#define ARENA_MAX 4096u /* bytes at a time */

/* Zeroes, aligned for anything; NULL when there is no memory, or for more than ARENA_MAX. */
void *inferscope_arena(size_t size);

/* A copy with a NUL after it. */
char *inferscope_arena_text(const char *text, size_t size);

#endif
