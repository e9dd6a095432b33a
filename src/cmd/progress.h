/*
 * progress.h - one line on the terminal while something takes longer than a second.
 *
 *      struct progress p = PROGRESS_INIT("reading events");
 *      progress_step(&p, done, total);         now and then
 *      progress_end(&p);                       the line goes away
 *
 * Nothing is shown when standard error is no terminal.
 */
#ifndef CMD_PROGRESS_H
#define CMD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what;
	int64_t start_ns, shown_ns; /* 0: not yet */
	bool shown;
};
#define PROGRESS_INIT(words) { .what = (words) }

void progress_step(void *progress, uint64_t done, uint64_t total);
void progress_end(struct progress *progress);

#endif
