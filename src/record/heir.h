/*
 * heir.h - what a process has left behind that it had no time to record.
 *
 * The door of CUDA keeps in a file what the driver's library writes, before it is
 * translated to events (ring/layout.h).  When its process has been killed, a
 * process of ours translates the rest, into the rings of the dead one.  It does so
 * in a process because it takes the word of a file that a program has written.
 */
#ifndef RECORD_HEIR_H
#define RECORD_HEIR_H

#include <stdbool.h>
#include <stdint.h>

#include "record/session.h"

struct heir {
	const struct session *session;
	const char *runtime; /* the path of libinferscope-rt.so; NULL: what is left is lost */
	bool apart; /* as another thread of the process than the one that did it before: how far that one had got is already known */
};

/* Has the process with this number left something that is not in its rings? */
bool heir_is_owed(const struct session *session, uint32_t number);

/* The process with this number in the session has ended: what it left is in its rings when this returns. */
int heir_settle(const struct heir *heir, uint32_t number, struct error *err);

#endif
