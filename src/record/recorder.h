/*
 * recorder.h - drains the events of all processes of a session into a trace.
 *
 * recorder_run() starts a program and records until it ends (`inferscope
 * run`); recorder_serve() starts none and records whoever attaches, until it is
 * told to stop (`inferscope record`).
 */
#ifndef RECORD_RECORDER_H
#define RECORD_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/file_place.h"
#include "config/config.h"
#include "record/drain.h"
#include "record/gpu_watch.h"
#include "record/notes.h"
#include "record/request.h"
#include "record/variables.h"
#include "ring/layout.h"
#include "trace/program.h"

struct gpu_samples;
struct target;
struct watch;

/* Somebody who looks on while it records, in the recorder's own thread; borrows what it is told of until end() returns. */
struct recorder_scene {
	pid_t root;
	enum clock_source clock;
	int64_t start_ticks;
	struct watch *watch; /* NULL: none */
	struct gpu_samples *const *gpu_samples; /* points to NULL while the program uses no GPU */
	struct drain *drain;
	struct trace_writer *writer;
	const struct target *target; /* NULL: the program is not a child of ours */
	const char *trace_partial;   /* where the trace is until it is whole */
};
struct recorder_onlooker {
	void *arg;
	void (*begin)(void *arg, const struct recorder_scene *scene); /* the program has been started */
	int64_t (*tick)(void *arg); /* every few milliseconds, which it may not hold up: when it wants the next (CLOCK_MONOTONIC) */
	void (*stopping)(void *arg); /* this process is about to stop, along with the program */
	void (*end)(void *arg); /* the program has ended, as its target says, and all has been read; the trace can still be written */
};

struct recorder_options {
	char *const *argv; /* the program; of recorder_serve(): what the trace is to name as such */
	char *const *command; /* what the trace is to name as the program, if that is not argv; may be NULL */
	const char *trace_path;
	const char *runtime_path; /* absolute path of libinferscope-rt.so */
	const char *python_door;  /* folder with our sitecustomize.py; NULL: none */
	const struct variables *variables; /* for the program, beside our own; may be NULL */
	uint64_t budget_bytes;    /* for the rings of all processes */
	enum ring_overflow overflow;
	uint32_t block_timeout_ms;
	uint64_t max_file_bytes; /* 0: no bound */
	double last_seconds;     /* 0: no bound */
	bool waits;              /* look at threads from outside (watch.h) */
	int64_t look_ns;         /* how often; 0: as an analysis needs it, and at where they run as well; else only at what they do */
	enum config_gpu gpu;
	const struct recorder_onlooker *onlooker; /* may be NULL */
	const int *streams;      /* three, for the program to have for its standard streams, -1: ours; may be NULL */
	bool wait_all; /* recorder_run(): go on until all that the program has started has ended, or somebody asks us to end */
	void (*waiting)(void *arg, const char *sentence); /* says so, when it takes a while; may be NULL */
	void *waiting_arg;
	bool leave_streams;      /* to the program: this process reads and prints no more, but for errors */
};

struct recorder_result {
	int exit_status; /* of recorder_run(): the program's, as a shell says it */
	int exit_signal; /* that ended it; 0: none */
	struct drain_totals totals;
	struct notes notes; /* of the processes, to be told; not to be trusted */
	struct trace_program program; /* of recorder_run(): how it ended, as the trace has it */
	struct gpu_summary gpu;
	uint64_t events, dropped, unwritten;
	uint64_t trace_bytes;
	struct file_place place; /* of the trace: which name it got */
	struct requests requests; /* of recorder_run(): to end, since the program has */
	struct error trouble;   /* the first thing that went wrong while recording; code 0: nothing */
};

/* Fails, without starting the program, when the trace or the session cannot be made (err->exit_code 4) or the command
 * cannot be run (126, 127).  What goes wrong later is in ret->trouble, and the program goes on. */
int recorder_run(const struct recorder_options *options, struct recorder_result *ret, struct error *err);

struct recorder_service {
	int input_fd; /* its end, or the line "stop", ends the recording */
	pid_t pid;    /* so does the end of this process */
	void (*ready)(void *arg, const char *session); /* called once processes can attach */
	void *arg;
};

/* Leaves the terminal, and ends on SIGTERM only.  Fails, without calling ready(), when the trace or the session cannot be
 * made or there is no such process (err->exit_code 4). */
int recorder_serve(const struct recorder_options *options, const struct recorder_service *service, struct recorder_result *ret,
		   struct error *err);

#endif
