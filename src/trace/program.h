/*
 * program.h - how a recorded program ended, and what ran it: the map `program` of a trace (docs/sbt-format.md, section 6).
 *
 * The recorder fills it in and writes it; whoever speaks of a trace reads it
 * and says the same in the same words.  Texts are UTF-8 and one line, and else
 * as the program has them: not safe to print.
 */
#ifndef TRACE_PROGRAM_H
#define TRACE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "trace/reader.h"

#define PROGRAM_TEXT 512
#define PROGRAM_NAME 64
#define PROGRAM_MESSAGE 256
#define PROGRAM_LISTED 16

struct program_process {
	int64_t pid;
	char name[PROGRAM_NAME];
};
/* Processes that a signal has ended, the program's own aside. */
struct program_death {
	int signal;
	uint64_t count;
	struct program_process last;
};
struct trace_program {
	bool ended; /* and it is known how: */
	int status; /* as a shell says it */
	int signal; /* by which it was ended; 0: none */
	char interpreter[PROGRAM_TEXT], version[PROGRAM_NAME]; /* "" for none that is known */
	char exception[PROGRAM_TEXT], message[PROGRAM_MESSAGE]; /* that ended it: its type and what it says; "" */
	bool ran_nothing; /* none of its own code has run, as its interpreter says */
	struct program_death deaths[PROGRAM_LISTED];
	size_t death_count;
	struct program_process running[PROGRAM_LISTED]; /* that go on, and are no longer recorded: the first ones */
	uint64_t running_count;
	bool waited; /* for all of them, until somebody ended that */
};

/* The value of `program`; -ENOMEM.  Status and signal are keys of their own. */
int trace_program_write(const struct trace_program *program, struct buffer *out);
bool trace_program_is_empty(const struct trace_program *program); /* there is nothing to write */

/* What the trace says, status and signal included; what it does not say stays empty. */
void trace_program_read(const struct trace_reader *reader, struct trace_program *ret);

/* Did it end otherwise than well, and not because somebody wanted it to? */
bool trace_program_failed(const struct trace_program *program);

/* Sentences without a full stop. */
#define PROGRAM_SENTENCE 1400
/* "ended with status 1, ValueError: no such thing"; "" where that is not known. */
void trace_program_say_end(const struct trace_program *program, char out[PROGRAM_SENTENCE]);
/* "1 child process was killed by signal 11 (SIGSEGV): worker (31)"; "" for those who were wanted to end. */
void trace_program_say_death(const struct program_death *death, char out[PROGRAM_SENTENCE]);
/* "2 processes still run and are no longer recorded: server (31), sleep (32); run --wait-all waits for them"; "" where none does. */
void trace_program_say_running(const struct trace_program *program, char out[PROGRAM_SENTENCE]);
/* "/usr/bin/python3 (Python 3.11.2)"; "" */
void trace_program_say_interpreter(const struct trace_program *program, char out[PROGRAM_SENTENCE]);

#endif
