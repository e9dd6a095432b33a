/*
 * output_state.h - the insides of struct output, shared by output.c (files and
 * what they say of themselves), output_entries.c (processes, tracks, devices),
 * output_string.c, output_event.c, and sbt.c, which has entries of its own.
 */
#ifndef IMPORT_OUTPUT_STATE_H
#define IMPORT_OUTPUT_STATE_H

#include "import/output.h"
#include "import/output_map.h"

#define OUTPUT_STRINGS_MAX (1u << 19)            /* different strings; the ones after have one name in common */
#define OUTPUT_STRING_BYTES_MAX ((size_t)24 << 20) /* all of them together */
#define OUTPUT_STRING_MAX 16384u                 /* one of them; longer ones are cut */
#define OUTPUT_PROPERTIES_MAX (256u << 10)       /* of a file, or of a device */
#define OUTPUT_TRACKS_FULL "a trace has at most 1,048,576 tracks (threads, streams and the like)"
#define OUTPUT_ENTRIES_FULL "a trace has at most 1,048,576 processes, and as many devices"
#define OUTPUT_ENTRIES_MAX TRACE_TRACK_MAX       /* processes, devices */

struct output_process {
	struct trace_process entry; /* its host is OUTPUT_NONE until it is written */
	bool written, changed, own_rank;
};

struct output_track {
	struct trace_track entry;
	uint32_t depth; /* slices open now */
	bool written, changed;
};

struct output_device {
	struct trace_device entry; /* its properties are ours; its host as above */
	bool written, changed;
};

/* Strings seen lately, found without a look at the dictionary. */
struct output_string_cache;

struct output {
	struct trace_writer *writer;
	struct import_options options;
	struct import_report *report;
	int failure; /* the first one, to be returned by output_event() */

	/* All entries; those of the file at hand are the last ones. */
	struct output_process *processes;
	size_t process_count, process_capacity, first_process;
	struct output_track *tracks;
	size_t track_count, track_capacity, first_track;
	struct output_device *devices;
	size_t device_count, device_capacity, first_device;
	struct output_map process_map, thread_map, device_map, stream_map;
	struct trace_host *hosts;
	size_t host_count, host_capacity;
	uint32_t nameless_host; /* OUTPUT_NONE: no need yet */

	uint32_t frame_count, stack_count;

	struct output_string_cache *cache;
	size_t string_bytes;
	uint32_t string_last; /* the highest number seen */
	uint32_t string_refused; /* the name of those beyond the limits; 0: not needed yet */
	uint64_t names_refused;  /* how often it was given out */

	const char *full; /* which limit was met first; NULL: none */

	/* About the file. */
	uint32_t domain;
	uint32_t host; /* OUTPUT_NONE: no need yet */
	uint32_t clock_host;
	int64_t rank, world_size;
	bool has_base, late_base, begun; /* begun: the first event has been seen */
	int64_t base, late_base_ns;
	bool aligned, absolute;
	int64_t add; /* to all times: base, and what aligns the file */
	int64_t offset; /* of the file's clock: a base time that came when events had been written */
	int64_t first_time, last_time; /* in ticks of that clock */
	struct buffer cut; /* an event's arguments that were too long */
	struct buffer hostname;
	struct buffer properties; /* key, value, key, value... */
	uint32_t property_count;

	/* About the trace. */
	struct buffer sources; /* maps, one behind the other */
	uint32_t source_count;
	bool absolute_known, relative_known;    /* there have been files with times of the day, or with others */
	int64_t absolute_start, relative_start; /* in the trace's time */
	bool shifted;
	int64_t shift;                          /* of all files with times of the day */
	bool has_start;
	int64_t start;        /* ticks of the first file's clock */
	int64_t first_offset; /* of that clock */
};

int output_fail(struct output *o, int rc); /* kept when it is the first; returns rc */
uint32_t output_host(struct output *o);    /* of the file at hand; made when it is first needed */

/* New entries, of which the number is filled in here.  They are written with the first event that uses them. */
uint32_t output_add_host(struct output *o, struct trace_host entry); /* the one that says the same, if there is one */
uint32_t output_add_process(struct output *o, struct trace_process entry);
uint32_t output_add_track(struct output *o, struct trace_track entry);
uint32_t output_add_device(struct output *o, struct trace_device entry);
int output_write_track(struct output *o, struct output_track *track); /* with its process and device */
int output_write_entries(struct output *o); /* of the file at hand: those that are new or have changed */
int output_write_clock(struct output *o);

void output_string_cache_free(struct output_string_cache *cache);

#endif
