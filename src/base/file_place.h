/*
 * file_place.h - the name that a finished file gets, where others may want the same name at the same time.
 *
 *      file_place_look(&place, "trace.sbt");                   before the work begins
 *      place.began = ...                                       the time of a file that is made then
 *      file_place_take(&place, "trace.sbt.47.partial", &err);  when it is done: place.number says which name it has
 *
 * What stood at the name before becomes NAME.old.  What has come there since is
 * of somebody who was at work at the same time, and stays: the file becomes the
 * first of trace.2.sbt, trace.3.sbt and so on of which the same is not true.
 * A NAME.old that is younger than a minute is not replaced, but becomes
 * NAME.2.old, NAME.3.old and so on: the first that is free, or older than that.
 *
 * Times are those of the files, so that only one clock is asked.  Names are
 * given and taken one by one, so that nobody's file is ever replaced unseen;
 * who can lock the folder besides does, and then nobody even comes in between.
 */
#ifndef BASE_FILE_PLACE_H
#define BASE_FILE_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"

#define FILE_PLACE_SAFE_S 60 /* for so long a file is not replaced */

struct file_place {
	char path[PATH_MAX]; /* the name that was asked for */
	bool taken;          /* there was a file, this one: */
	dev_t device;
	ino_t inode;
	struct timespec changed;
	struct timespec began; /* the work */
	unsigned number;       /* of the name that it got, to be set to the least that will do; 0, 1: the one that was asked for */
	bool kept_old;         /* an older file of that name is NAME.old now */
};

/* -ENAMETOOLONG */
int file_place_look(struct file_place *place, const char *path, struct error *err);

/* Renames `from`, in the same folder.  When it fails, the file is still there under that name. */
int file_place_take(struct file_place *place, const char *from, struct error *err);

/* The name with a number before its suffix, "trace.2.sbt"; the name itself for 0 and 1.  Returns out. */
char *file_place_name(const char *path, unsigned number, char out[PATH_MAX]);

#endif
