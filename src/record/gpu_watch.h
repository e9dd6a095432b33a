/*
 * gpu_watch.h - does the program use CUDA, and if so, why is its device work not in the trace?
 *
 * A program that uses CUDA has its libraries in its memory, which can be seen
 * from outside.  Looking takes up to a millisecond for a large process, so it is
 * done often only while the program is young, only where a process has grown or
 * shrunk since, and no more once the answer is yes.
 */
#ifndef RECORD_GPU_WATCH_H
#define RECORD_GPU_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/config.h"
#include "record/drain.h"
#include "record/gpu_sample.h"
#include "record/notes.h"
#include "system/gpu_probe.h"
#include "trace/writer.h"

#define GPU_LIBRARIES 8u
#define GPU_NOTE "cuda: " /* a note that begins so is of the door of CUDA */
#define GPU_SEEN 256u
#define GPU_DESCENDANTS 128u /* of the root, that are looked at */
#define GPU_ATTACHED 64u     /* at a time */

struct gpu_use {
	bool used; /* CUDA's libraries were there, in one process at least */
	size_t count;
	char libraries[GPU_LIBRARIES][64]; /* not to be trusted */
	bool cupti_loaded; /* by the program itself */
};

/* A process, and how large it was when it was looked at. */
struct gpu_seen {
	pid_t pid;
	uint64_t pages;
};

struct gpu_watch {
	struct gpu_use use;
	int64_t begin_ns, next_ns;
	uint32_t turn;  /* which of those that attached is next */
	uint32_t first; /* where the last look broke off */
	struct gpu_seen seen[GPU_SEEN]; /* by pid */
};
#define GPU_WATCH_INIT { 0 }

/* A line of a `maps` file; true when it is of one of CUDA's libraries. */
bool gpu_use_line(struct gpu_use *use, const char *line);

/* Looks, if it is time to: at the root, its descendants, and those that attached.  root 0: none; drain NULL: nobody attaches.  now_ns: CLOCK_MONOTONIC. */
void gpu_watch_pass(struct gpu_watch *watch, const struct drain *drain, pid_t root, int64_t now_ns);

/* What else the recorder knows at the end. */
struct gpu_ending {
	enum config_gpu gpu;
	const char *runtime; /* whose path is in the variables of the doors, unless somebody else's is */
	bool recorded;       /* there is work of CUDA in the trace */
	const struct notes *notes;
	struct gpu_sample_totals samples;
};

/* What there is to say at the end; the trace gets it too (docs/sbt-format.md, `gpu`). */
struct gpu_summary {
	struct gpu_use use;
	struct gpu_driver driver;
	bool tried; /* CUPTI and Nsight Systems, which do not matter where there is neither a driver nor a use */
	struct gpu_cupti cupti;
	bool nsys;
	enum config_gpu gpu;
	bool recorded; /* device work is in the trace; */
	bool stood_down; /* the door of CUDA did, and said why */
	bool missing;  /* some is not, that the user wanted: `reason` says why */
	char reason[NOTE_MAX_BYTES + 1]; /* "" when all is there; not to be trusted: it may be what a process says */
	struct gpu_sample_totals samples;
};
void gpu_watch_finish(const struct gpu_watch *watch, const struct gpu_ending *ending, struct gpu_summary *ret);
int gpu_summary_write(const struct gpu_summary *summary, struct trace_writer *writer, struct error *err);

#endif
