/*
 * import_progress.h - how far an import of several files has come.
 */
#ifndef CMD_IMPORT_PROGRESS_H
#define CMD_IMPORT_PROGRESS_H

#include <stddef.h>

#include "cmd/progress.h"

struct import_progress {
	struct progress line;
	size_t file, count;
};
#define IMPORT_PROGRESS_INIT(files) { .line = PROGRESS_INIT("importing"), .count = (files) }

void import_progress_step(void *progress, const char *path, uint64_t done, uint64_t total); /* as in import_options */
void import_progress_next(struct import_progress *progress);
void import_progress_end(struct import_progress *progress);

#endif
