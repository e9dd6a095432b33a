/*
 * signal_name.h - what signals are called, and what it means when one ends a process.
 */
#ifndef BASE_SIGNAL_NAME_H
#define BASE_SIGNAL_NAME_H

#include <stdbool.h>

const char *signal_name(int number); /* "SIGSEGV"; "" for those without one here */

/* "signal 11 (SIGSEGV)" */
#define SIGNAL_WORDS 32
const char *signal_words(char out[SIGNAL_WORDS], int number);

/* A process that gets one of these is wanted to end: interrupted, terminated, hung up, or without a reader. */
bool signal_is_asked_for(int number);
/* These end processes that have done something wrong, or used too much: no program means them by an exit status. */
bool signal_is_deadly(int number);

#endif
