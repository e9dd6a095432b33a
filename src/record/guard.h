/*
 * guard.h - survives memory that a process has taken away.
 *
 * A process can cut short the file that its rings are in, and the next look at
 * it would be the recorder's end.  Instead the page reads as zeroes from then on,
 * which is as good as any other nonsense that is found there.
 */
#ifndef RECORD_GUARD_H
#define RECORD_GUARD_H

#include <signal.h>
#include <stdbool.h>

/* Takes SIGBUS, and lets it through; ret_before is what there was, for the program to inherit. */
void guard_install(struct sigaction *ret_before);

/* Has somebody sent us a SIGBUS since the last time? */
bool guard_was_signalled(void);

#endif
