/*
 * output.h - what the program itself writes while a view has the terminal.
 *
 * The streams of the program that would be that terminal are a pseudo-terminal
 * instead: it still writes to a terminal of the same size, and nothing of it
 * gets onto the view.  What it writes is kept in a file that has no name, and is
 * printed, byte for byte, when the view has been left.  Of very much output the
 * last part is kept.
 */
#ifndef LIVE_OUTPUT_H
#define LIVE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "base/error.h"

#define LIVE_OUTPUT_KEPT (64u << 20)

struct live_output;

/* terminal: the view's, borrowed.  kept: how many bytes, at most. */
int live_output_new(struct live_output **ret, int terminal, uint64_t kept, struct error *err);
void live_output_free(struct live_output *output);

/* What the program is to have as its standard streams; -1: what it would have anyway. */
void live_output_streams(const struct live_output *output, int streams[3]);
bool live_output_has_input(const struct live_output *output); /* the program reads from it, too */
void live_output_resize(struct live_output *output, const struct winsize *size);

int live_output_fd(const struct live_output *output); /* readable when the program has written something */
/* Takes what there is, never waits: keeps it, or prints it at once. */
void live_output_keep(struct live_output *output);
void live_output_pass(struct live_output *output);
/* To the terminal goes what has not been printed yet.  Waits for it. */
void live_output_print(struct live_output *output);
/* For the program to read; what does not fit is left out.  Returns how many bytes did. */
size_t live_output_type(struct live_output *output, const char *bytes, size_t size);

/* The last bytes that were kept.  Returns their number. */
size_t live_output_tail(const struct live_output *output, char *bytes, size_t size);
uint64_t live_output_total(const struct live_output *output); /* bytes that were kept, in all */

#endif
