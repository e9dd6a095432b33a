/*
 * doors.h - the ways into a program that others have made: variables that name a library or a folder to load.
 *
 * A door that somebody else uses already is left to them, and doors_taken()
 * says so.  To add one: a row in doors.c.
 */
#ifndef RECORD_DOORS_H
#define RECORD_DOORS_H

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "record/variables.h"

/* Adds the variables: runtime is the path of libinferscope-rt.so; python the folder that holds our sitecustomize.py, or
 * NULL.  Those of GPUs as `gpu` says: that of CUDA is another's when Nsight Systems records.  -ENOMEM. */
int doors_open(struct variables *variables, const char *runtime, const char *python, enum config_gpu gpu);

/* For doors 0, 1, ...: false after the last.  A door that was taken leaves a sentence in ret, any other an empty text. */
bool doors_taken(size_t door, const char *runtime, char *ret, size_t size);

#endif
