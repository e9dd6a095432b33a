/* progress.c - see progress.h. */
#include "cmd/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/text.h"
#include "cmd/command.h"

#define PATIENCE_NS 1000000000
#define BETWEEN_NS 100000000

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void show(const struct progress *p, double share)
{
	struct buffer line = BUFFER_INIT;
	int rc = buffer_append(&line, "\r\033[K", 4);

	if (rc == 0)
		rc = text_append_terminal(&line, p->what, strlen(p->what), 60);
	if (rc == 0)
		rc = buffer_printf(&line, " %3.0f %%", 100 * share);
	if (rc == 0)
		file_write_all(STDERR_FILENO, line.data, line.size);
	buffer_release(&line);
}

void progress_step(void *progress, uint64_t done, uint64_t total)
{
	struct progress *p = progress;
	int64_t now = now_ns();

	if (p->start_ns == 0)
		p->start_ns = now;
	if (total == 0 || now - p->start_ns < PATIENCE_NS || now - p->shown_ns < BETWEEN_NS || !command_says_more() || !isatty(STDERR_FILENO))
		return;
	p->shown_ns = now;
	p->shown = true;
	show(p, done < total ? (double)done / (double)total : 1);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		file_write_all(STDERR_FILENO, "\r\033[K", 4);
	p->shown = false;
}
