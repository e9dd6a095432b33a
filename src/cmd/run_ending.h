/*
 * run_ending.h - what `inferscope run` says when the program has ended.
 */
#ifndef CMD_RUN_ENDING_H
#define CMD_RUN_ENDING_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "config/config.h"
#include "record/recorder.h"

/* 0 if the setting `report` makes sense beside `trace`; else EXIT_USAGE, having said why not. */
int run_ending_check(const struct config *config);

/* In a process that works on the recording, before anything else: what the terminal and others send to our group does not reach
 * it, since it is for run_ending_wait() to say whether it was meant.  `mask` as below. */
void run_ending_set_apart(const sigset_t *mask);

/* Waits for such a process, and ends it when requests->signal says that somebody asks for that, or begins to.  Returns its wait
 * status. */
int run_ending_wait(pid_t pid, struct requests *requests);

/* Analyses the recording as the settings say, and says so in one sentence when that is not possible.  A process of its own
 * does it, which may take only so much time and memory, so that whatever happens there the program's exit status remains.
 * `mask` has the signals that were blocked before the recording; `report` is the place of the report, as it was then. */
void run_ending(const struct config *config, struct recorder_result *result, const struct file_place *report, const sigset_t *mask);

#endif
