/*
 * workload.h - what the parts of the test program `workload` share.
 *
 * Every behaviour is a subcommand.  It does something to a program that is
 * being recorded, and says on standard output how many events it emitted, so
 * that a test can hold the trace against it.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "inferscope.h"

/* Shared with forked children. */
struct tally {
	_Atomic uint64_t events;
	_Atomic uint64_t processes; /* that emitted anything */
	_Atomic uint64_t threads;   /* likewise */
};
extern struct tally *tally;

/* Says "events=N processes=N threads=N", at once. */
void tally_print(void);

/* `count` scopes called "outer" with one called "inner" in each; tells the tally: four events each. */
void emit_scopes(unsigned count);

/* The numeric argument of a subcommand, or what it is when there is none. */
unsigned argument(char **argv, unsigned otherwise);

struct behaviour {
	const char *name;
	int (*run)(char **argv); /* argv[0] is the subcommand; the result is the exit status */
	const char *help;
};
/* Sanitizers need more address space than there is, and cannot be stepped through or jumped out of. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

extern const struct behaviour call_behaviours[], thread_behaviours[], process_behaviours[], signal_behaviours[];

int run_script(char **argv);

#endif
