/*
 * orphans.h - what the program has started and leaves running when it ends.
 *
 *      orphans_adopt();                                 before the program is started
 *      orphans_list(&orphans);                          when it has ended: orphans.count of them go on
 *
 * Whoever loses its parent becomes a child of this process then, however often
 * it forks to get away, so that none is missed.  Other children of ours are
 * known by number: those that were there before, and those that we start.
 */
#ifndef RECORD_ORPHANS_H
#define RECORD_ORPHANS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* False where they cannot be listed: a kernel that does not say whose children there are. */
bool orphans_can_be_listed(void);

void orphans_adopt(void);

/* A process that we have started for ourselves. */
void orphans_exclude(pid_t pid);

#define ORPHANS_LISTED 8u
struct orphans {
	pid_t pids[ORPHANS_LISTED]; /* the first ones */
	size_t count;
};
/* Those that have ended have to have been waited for. */
void orphans_list(struct orphans *ret);

/* That the program has ended, and who is waited for, without a full stop; names are those of processes: not safe to print. */
#define ORPHANS_SENTENCE 512
void orphans_say(const struct orphans *orphans, char out[ORPHANS_SENTENCE]);

#endif
