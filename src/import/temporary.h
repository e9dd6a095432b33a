/*
 * temporary.h - files without a name, which are gone when they are closed.
 */
#ifndef IMPORT_TEMPORARY_H
#define IMPORT_TEMPORARY_H

#include "import/import.h"

/* Open for reading and writing, empty: in TMPDIR or /tmp, else in memory.  Returns a descriptor. */
int temporary_open(struct error *err);

/* A file for readers that have to look here and there: itself, or when it is compressed a temporary one with its bytes.
 * Returns a descriptor.  damage, which has room for 160 bytes, is "" or what cut it short. */
int temporary_unpacked(const char *path, const struct import_options *options, char *damage, struct error *err);

/* All that comes from a descriptor, called `name`, as such a file.  More than `most` bytes, or than half of the room there is, are
 * refused.  Returns a descriptor; what fails has exit_code 4. */
int temporary_copy(int from, const char *name, uint64_t most, struct error *err);

#endif
