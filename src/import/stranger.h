/*
 * stranger.h - what is to be said of a file that is no trace we read.
 */
#ifndef IMPORT_STRANGER_H
#define IMPORT_STRANGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A file that could not be opened or read: `code` says why, err gets a sentence that helps. */
void stranger_unreadable(const char *path, int code, struct error *err);
/* Whether this is JSON that another kind of tool has written, and no trace. */
bool stranger_is_json(const uint8_t *head, size_t size);
/* A file that nobody reads, by its first bytes.  Always fails. */
int stranger_describe(const char *path, const uint8_t *head, size_t size, struct error *err);

#endif
