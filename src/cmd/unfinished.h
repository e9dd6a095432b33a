/*
 * unfinished.h - the file that is being written, gone when a signal ends the command.
 *
 *      unfinished_begin();
 *      fd = mkstemp(name);
 *      unfinished_is(fd < 0 ? NULL : name);
 *      ...                                     written, renamed or removed
 *      unfinished_over();
 *
 * Between the first two calls the signals wait, so there is no moment in which the file is there and nobody knows its name.
 * One file at a time; ignored signals stay ignored, handled ones stay handled.
 */
#ifndef CMD_UNFINISHED_H
#define CMD_UNFINISHED_H

void unfinished_begin(void);
void unfinished_is(const char *path);
void unfinished_over(void);

#endif
