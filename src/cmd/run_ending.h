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

/* Waits for a process of ours; signals that would end us end it.  Returns its wait status; *ret_stopped: there was one. */
int run_ending_wait(pid_t pid, bool *ret_stopped);

/* Analyses the recording as the settings say, and says so in one sentence when that is not possible.  A process of its own
 * does it, which may take only so much time and memory, so that whatever happens there the program's exit status remains.
 * `mask` has the signals that were blocked before the recording. */
void run_ending(const struct config *config, const struct recorder_result *result, const sigset_t *mask);

#endif
