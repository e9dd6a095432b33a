/*
 * flush.h - events that a door has still to write.
 *
 * A door of a GPU learns of work when it has ended, or later: when a driver
 * hands over a buffer.  Whoever ends a recording inside of a program asks for
 * the rest first.
 */
#ifndef RUNTIME_FLUSH_H
#define RUNTIME_FLUSH_H

/* A door: once, when it is entered.  `flush` writes what has ended, from any thread and within a second. */
void inferscope_at_flush(void (*flush)(void));

void inferscope_flush(void);

#endif
