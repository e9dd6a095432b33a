/* import_progress.c - see import_progress.h. */
#include "cmd/import_progress.h"

#include "cmd/input_stdin.h"

#define STEPS 10000u /* of one file */

void import_progress_step(void *progress, const char *path, uint64_t done, uint64_t total)
{
	struct import_progress *p = progress;
	double share = total ? (double)done / (double)total : 1;

	p->line.what = input_stdin_name(path);
	progress_step(&p->line, p->file * STEPS + (uint64_t)(share * STEPS), (uint64_t)p->count * STEPS);
}

void import_progress_next(struct import_progress *p)
{
	p->file++;
}

void import_progress_end(struct import_progress *p)
{
	progress_end(&p->line);
}
