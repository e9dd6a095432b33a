/*
 * run_nsys.h - `inferscope run --gpu nsys`, and auto where CUPTI cannot be used: Nsight Systems records the GPUs, we record everything else, and one trace has both.
 *
 *      struct run_nsys n;
 *      run_nsys_prepare(&n, argv);             n.argv is what to run instead
 *      ... record ...
 *      status = run_nsys_status(&n, status);
 *      run_nsys_join(&n, trace, &result, &mask);
 *      run_nsys_release(&n);
 */
#ifndef CMD_RUN_NSYS_H
#define CMD_RUN_NSYS_H

#include <signal.h>

#include "record/recorder.h"

struct run_nsys {
	char nsys[4096];   /* its command */
	char folder[4096]; /* with its files; "": none */
	char **argv;
	bool instead; /* of CUPTI: nobody has asked for it, and the program may use no GPU at all */
};
#define RUN_NSYS_INIT { "", "", NULL, false }

/*
 * Is Nsight Systems to record what GPUs do, since CUPTI cannot?  Says so if it is: where there is an NVIDIA driver, CUPTI is neither
 * where the loader looks nor anywhere that the program could have it from, and Nsight Systems is installed and says its version.  Whether the driver allows
 * CUPTI to be used is known when the program has used it, and not asked: tracing needs no rights since CUDA 10.2.
 */
bool run_nsys_is_needed(const char *command);

/* 0, or an exit code, having said what is missing. */
int run_nsys_prepare(struct run_nsys *n, char *const argv[]);

/* The program's own exit status; `otherwise` when nobody could tell. */
int run_nsys_status(const struct run_nsys *n, int otherwise);

/* Adds to the trace what Nsight Systems recorded, and to *result how many events that are; or warns, and the trace stays as it is.
 * A process of its own does it, since the program's exit status has to remain whatever happens there. */
void run_nsys_join(const struct run_nsys *n, const char *trace, struct recorder_result *result, const sigset_t *mask);

/* Removes its files. */
void run_nsys_release(struct run_nsys *n);

#endif
