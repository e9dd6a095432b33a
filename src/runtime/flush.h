/*
 * flush.h - events that a door has still to write.
 *
 * A door of a GPU learns of work when it has ended, or later: when a driver
 * hands over a buffer.  Whoever ends a recording inside of a program asks for
 * the rest first; and whoever has begun one asks, too, because a door may rest
 * while nobody records.  And a driver may have one listener only: when the program
 * is about to be that itself, the door has to make way.
 */
#ifndef RUNTIME_FLUSH_H
#define RUNTIME_FLUSH_H

/* A door: once, when it is entered.  `flush` writes what has ended, from any thread and within a second.  If somebody records, the
 * door does when it returns. */
void inferscope_at_flush(void (*flush)(void));
/* The one that may be in the program's way: `yield` writes what has ended, and lets go for good, within a second. */
void inferscope_at_yield(void (*yield)(void));

void inferscope_flush(void);
void inferscope_yield(void);

#endif
