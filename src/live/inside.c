/* inside.c - see inside.h. */
#include "live/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "live/inside_state.h"
#include "system/machine_counters.h"

#define DISK_S 1.0 /* between looks at how full the disk is */

/* The folder of a path; NULL when out of memory or there is none. */
static char *folder_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1) : NULL;
}

int live_inside_new(struct live_inside **ret, struct drain *drain, const struct live_inside_options *options)
{
	struct live_inside *in = calloc(1, sizeof *in);

	if (!in)
		return -ENOMEM;
	in->drain = drain;
	in->options = *options;
	in->followed.owner = in->followed.around = PLACES;
	in->rate = (double)(options->rate ? options->rate : clock_measure_rate(options->clock));
	in->step = options->step ? strdup(options->step) : NULL;
	in->trace_folder = folder_of(options->trace_partial);
	in->done = calloc(LIVE_SLICES, sizeof *in->done);
	in->disk_free_bytes = in->disk_free = NAN;
	in->oom_fd = -1;
	if (!in->done || (options->step && !in->step)) {
		live_inside_free(in);
		return -ENOMEM;
	}
	drain_listen(drain, inside_hear, in);
	*ret = in;
	return 0;
}

void live_inside_free(struct live_inside *in)
{
	if (!in)
		return;
	drain_listen(in->drain, NULL, NULL);
	for (uint32_t i = 0; i < in->used_count; i++)
		free(in->tracks[in->used[i]].stack);
	if (in->oom_fd >= 0)
		close(in->oom_fd);
	free(in->done);
	free(in->step);
	free(in->trace_folder);
	free(in);
}

/* ---- Where the trace goes ------------------------------------------------------- */

static void look_at_disk(struct live_inside *in, uint64_t ticks)
{
	struct statvfs st;

	if (!in->trace_folder || (in->last_disk && (double)(ticks - in->last_disk) < DISK_S * in->rate))
		return;
	in->last_disk = ticks;
	if (statvfs(in->trace_folder, &st) != 0 || st.f_blocks == 0)
		return;
	in->disk_free_bytes = (double)st.f_bavail * (double)st.f_frsize;
	in->disk_free = (double)st.f_bavail / (double)st.f_blocks;
}

/* What could not be written is lost, though it had been read from the rings.  What waits to be written counts already, so that the
 * total stands still until it is true again, and never goes back. */
static void fill_events(struct live_inside *in, double elapsed_s, struct live_events *out)
{
	struct trace_writer_totals written = { 0 };
	uint64_t recorded, lost;

	if (in->options.writer)
		written = trace_writer_totals(in->options.writer);
	drain_counts(in->drain, &recorded, &lost);
	recorded -= written.unwritten < recorded ? written.unwritten : recorded;
	if (recorded < in->last_events)
		recorded = in->last_events;
	out->recorded = true;
	out->total = recorded;
	out->lost = lost + written.unwritten;
	out->unwritten = written.unwritten;
	out->rate = elapsed_s > 0 ? (double)(recorded - in->last_events) / elapsed_s : NAN;
	out->trace_bytes = written.bytes;
	out->disk_free_bytes = in->disk_free_bytes;
	out->disk_free = in->disk_free;
	if (written.unwritten)
		snprintf(out->trouble, sizeof out->trouble, "%.*s", (int)sizeof out->trouble - 1, trace_writer_error(in->options.writer)->text);
	in->last_events = recorded;
}

/* ---- Processes that the kernel killed -------------------------------------------- */

/* The control group of a process: of its second version, which counts these. */
static int open_oom_events(pid_t pid)
{
	char name[64], text[4096], path[1024], file[1200];
	ssize_t n;
	int fd;

	snprintf(name, sizeof name, "/proc/%ld/cgroup", (long)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	if (machine_group_path(text, path, sizeof path) != 0)
		return -1;
	snprintf(file, sizeof file, "%s/memory.events", path);
	return open(file, O_RDONLY | O_CLOEXEC);
}

static double oom_kills(struct live_inside *in, pid_t pid)
{
	char text[512];
	const char *at;
	ssize_t n;

	if (!in->oom_tried && pid > 0)
		in->oom_fd = open_oom_events(pid);
	in->oom_tried |= pid > 0;
	n = in->oom_fd >= 0 ? pread(in->oom_fd, text, sizeof text - 1, 0) : -1;
	if (n <= 0)
		return NAN;
	text[n] = '\0';
	at = strstr(text, "\noom_kill ");
	return at ? (double)strtoull(at + strlen("\noom_kill "), NULL, 10) : NAN;
}

/* ---- All of it ------------------------------------------------------------------- */

void live_inside_fill(struct live_inside *in, uint64_t ticks, struct live_snapshot *s)
{
	uint64_t since = in->last_fill ? in->last_fill : (uint64_t)in->options.start_ticks;
	double elapsed_s = ticks > since ? (double)(ticks - since) / in->rate : 0;

	inside_count_open(in, ticks);
	if (inside_follow(in, s->pid))
		elapsed_s = 0;
	inside_threads_fill(in, s);
	inside_steps_fill(in, ticks, s);
	inside_places_fill(in, elapsed_s, s);
	inside_told_fill(in, s);
	look_at_disk(in, ticks);
	fill_events(in, ticks > since ? (double)(ticks - since) / in->rate : 0, &s->events);
	if (isnan(s->memory.oom_kills))
		s->memory.oom_kills = oom_kills(in, s->pid);
	in->last_fill = ticks;
}
