/*
 * import.h - traces of other tools become SBT.
 *
 *      struct import *im;
 *      import_open(&im, fd, &options, &err);                   an empty file, taken over
 *      import_add(im, "trace.json.gz", &err);                  as often as there are files
 *      import_close(im, &report, &err);
 *
 * The format of a file is told by its content.  All readers behind this write
 * the same trace (import/output.h), so that everything that can be done with a
 * recording can be done with an imported one.  A file that is damaged yields
 * every event that can be read, and a report of what could not.
 */
#ifndef IMPORT_IMPORT_H
#define IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define IMPORT_DAMAGE_LISTED 16

enum import_format {
	IMPORT_UNKNOWN,
	IMPORT_SBT,
	IMPORT_CHROME,   /* Chrome's JSON, and Kineto's, which is a dialect of it */
	IMPORT_EVENTS,   /* a JSON list of events as `inferscope dump` writes it */
	IMPORT_NSYS,     /* an SQLite export of Nsight Systems */
	IMPORT_PERFETTO, /* Perfetto's protobuf */
	IMPORT_FORMAT_COUNT
};
const char *import_format_name(enum import_format format); /* "chrome" */

struct import_options {
	bool lean; /* leave out arguments that no analysis looks at: faster, and the trace is smaller */
	/* The files are of one run on one machine: processes, threads and devices of the same number are the same, and so is the clock. */
	bool joined;
	uint64_t max_bytes;     /* uncompressed, of one file; 0: IMPORT_MAX_BYTES */
	unsigned max_ratio;     /* uncompressed to compressed, once there are 256 MB; 0: IMPORT_MAX_RATIO */
	/* Called every few megabytes with how much of the file (as it is stored) has been read; may be NULL. */
	void (*progress)(void *arg, const char *path, uint64_t done, uint64_t total);
	void *progress_arg;
};
#define IMPORT_MAX_BYTES ((uint64_t)1 << 40)
#define IMPORT_MAX_RATIO 2000u

struct import_damage {
	uint64_t offset, size; /* in the uncompressed file */
	char reason[96];
};

/* About one file. */
struct import_report {
	char *path;
	enum import_format format;
	uint64_t bytes;        /* read, uncompressed */
	uint64_t events;       /* that are in the trace */
	uint64_t skipped;      /* that could not be read, or that no trace can have: */
	uint64_t left_out;     /* of the skipped, those that could be read */
	const char *left_out_reason; /* of the first of them */
	uint64_t repaired;     /* that were read in spite of a fault */
	uint64_t cut;          /* arguments that were too long and are cut */
	bool truncated;        /* the file ends in the middle */
	size_t damage_count;   /* places that could not be read; the first ones are listed */
	uint64_t damage_bytes;
	struct import_damage damage[IMPORT_DAMAGE_LISTED];
};
struct import_reports {
	struct import_report *files;
	size_t count;
};
void import_reports_release(struct import_reports *reports);

struct import;

/* Looks at the first bytes (through compression).  IMPORT_UNKNOWN when nobody here reads such files; negative when the file
 * cannot be read at all. */
int import_detect(const char *path, struct error *err);

/* Takes over fd: open for reading and writing, empty. */
int import_open(struct import **ret, int fd, const struct import_options *options, struct error *err);
/* Fails with err->exit_code 3 when nothing in the file could be read, 4 when the machine is at fault. */
int import_add(struct import *im, const char *path, struct error *err);
/* Finishes the trace and frees im, always.  ret_reports (may be NULL) is to be released. */
int import_close(struct import *im, struct import_reports *ret_reports, struct error *err);
/* The file as it is so far, without an end: for giving up.  NULL is fine. */
void import_abandon(struct import *im);

#endif
