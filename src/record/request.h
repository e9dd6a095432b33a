/*
 * request.h - signals that ask us to end, once the program has ended.
 *
 * What follows a program's end, closing its trace and analysing it, takes a
 * while, and a signal that comes then may have been sent for the sake of the
 * program: `timeout` signals its child and then the group, a shell and the
 * kernel both tell of a terminal that is closed, a person presses Ctrl-C twice
 * or a moment too late.  Only what comes later than that is meant for us.
 */
#ifndef RECORD_REQUEST_H
#define RECORD_REQUEST_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A person takes longer to see that something has ended and to act on it; programs that send the same thing twice take a few
 * milliseconds. */
#define REQUEST_SAME_NS 300000000

struct requests {
	int64_t since_ns; /* CLOCK_MONOTONIC: the end of the program, or the first signal after it */
	bool asked;       /* there was one */
	int signal;       /* the first that was meant for us; 0: none */
	pid_t sender;     /* of that; 0: the kernel, as the keys of a terminal have it */
};

/* Is this a signal by which programs are asked to end? */
bool request_is(int signal);
/* Adds them all to a set. */
void request_add_all(sigset_t *set);

/* The program has ended now. */
void requests_begin(struct requests *requests);
/* A signal has come, not before since_ns by CLOCK_MONOTONIC.  Others than those of request_is() are passed over. */
void requests_take(struct requests *requests, int signal, pid_t sender, int64_t since_ns);

int64_t request_now(void);

/* Who asked and how, in words: "Ctrl-C", "SIGTERM of process 4711". */
void request_words(const struct requests *requests, char *text, size_t size);

#endif
