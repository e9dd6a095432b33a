/*
 * recorder.h - `inferscope run`: starts the program, drains its events into a trace until it ends.
 */
#ifndef RECORD_RECORDER_H
#define RECORD_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "record/drain.h"
#include "ring/layout.h"

struct recorder_options {
	char *const *argv;
	const char *trace_path;
	const char *runtime_path; /* absolute path of libinferscope-rt.so */
	uint64_t budget_bytes;    /* for the rings of all processes */
	enum ring_overflow overflow;
	uint32_t block_timeout_ms;
	uint64_t max_file_bytes; /* 0: no bound */
	double last_seconds;     /* 0: no bound */
	bool leave_streams;      /* to the program: this process reads and prints no more, but for errors */
};

struct recorder_result {
	bool started;
	int exit_status; /* the program's, as a shell says it */
	struct drain_totals totals;
	uint64_t events, dropped, unwritten;
	uint64_t trace_bytes;
	bool kept_old;          /* an older trace is now trace_path.old */
	struct error trouble;   /* the first thing that went wrong while recording; code 0: nothing */
};

/* Fails, without starting the program, when the trace or the session cannot be made (err->exit_code 4) or the command
 * cannot be run (126, 127).  What goes wrong later is in ret->trouble, and the program goes on. */
int recorder_run(const struct recorder_options *options, struct recorder_result *ret, struct error *err);

#endif
