/*
 * output_names.h - names of traces and reports with something in them that differs from run to run: "rank{rank}-{time}.sbt".
 *
 * {pid} is the number of this process, {rank} what the launcher of a parallel
 * job has put into its environment (0 where nobody has), {host} the machine and
 * {time} the local time of the start, as 20260131-235959.  {{ and }} are braces.
 */
#ifndef CMD_OUTPUT_NAMES_H
#define CMD_OUTPUT_NAMES_H

#include "config/config.h"

/* Puts the settings `trace` and `report` as they are to be used in place of what was asked for.  0, or an exit code, having said
 * what is wrong. */
int output_names_expand(struct config *config);

#endif
