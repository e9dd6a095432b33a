/*
 * describe.h - what a trace says besides its events: machine, clock, command, settings, how it ended.
 */
#ifndef RECORD_DESCRIBE_H
#define RECORD_DESCRIBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "record/drain.h"
#include "record/notes.h"
#include "trace/program.h"
#include "trace/writer.h"

/* The track on which losses that belong to no thread are reported. */
#define DESCRIBE_LOSS_TRACK 0u

/* This host, the clock as domain 0, and the loss track. */
int describe_machine(struct trace_writer *writer, enum clock_source clock);

int describe_clock_pair(struct trace_writer *writer, enum clock_source clock, struct error *err);

struct describe_settings {
	int64_t trace_size_mb;
	const char *overflow;
	int64_t max_file_mb;
	double last_seconds;
	bool waits;
	int64_t look_ns; /* between looks at threads; 0: as always */
};
int describe_beginning(struct trace_writer *writer, char *const *argv, int64_t start_ticks, const struct describe_settings *settings,
		       struct error *err);

struct describe_ending {
	int exit_status; /* negative: not known */
	int signal;
	bool complete;  /* the recorder ended normally */
	bool recovered; /* it did not, and this is what was left */
	uint64_t unwritten; /* events that could not be written, of those that are lost */
	const char *trouble; /* what went wrong while recording, as a sentence; NULL: nothing that is known */
	const struct notes *notes; /* may be NULL */
	const struct trace_program *program; /* may be NULL */
};
int describe_ending(struct trace_writer *writer, const struct describe_ending *ending, const struct drain_totals *totals,
		    struct error *err);

#endif
