/*
 * notes.h - what processes of a session have to say to the user.
 *
 * A process may print nothing, so it leaves a file "nPID" or "nPID.N" with a
 * sentence in the session's folder (ring/layout.h).
 */
#ifndef RECORD_NOTES_H
#define RECORD_NOTES_H

#include <stddef.h>

#include "ring/layout.h"

struct notes {
	size_t count;
	char texts[NOTE_LIMIT][NOTE_MAX_BYTES + 1]; /* one line each, UTF-8; not to be trusted otherwise */
};

/* The different ones among them, in the order of the processes' numbers; the first NOTE_LIMIT. */
void notes_read(struct notes *notes, int folder_fd);
/* One of our own, of at most NOTE_MAX_BYTES; the last one makes room where they are NOTE_LIMIT. */
void notes_add(struct notes *notes, const char *text);

#endif
