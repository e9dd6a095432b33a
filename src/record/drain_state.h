/*
 * drain_state.h - what drain.c and its parts share.
 */
#ifndef RECORD_DRAIN_STATE_H
#define RECORD_DRAIN_STATE_H

#include "record/drain.h"
#include "ring/consumer.h"

#define NO_TRACK UINT32_MAX

/* What the recorder knows of one ring. */
struct drain_ring {
	struct ring_cursor cursor;
	uint64_t ticket;  /* the writer's, of the newest slots handed over */
	uint64_t handed;  /* position up to which slots have been handed over */
	uint64_t drained; /* position that is on disk, as published */
	uint32_t serial;  /* of the thread that has it */
	uint32_t track;
	uint32_t name;        /* id in its process, given by the thread; 0: none */
	uint32_t kernel_name; /* string number */
	uint64_t last_time; /* of the newest event, for the range of a loss */
	uint64_t refused[3]; /* as seen: full, no chunk, re-entry */
};

struct drain_process {
	struct ring_file file; /* file.map is NULL when it is closed */
	uint32_t id;           /* in the trace */
	uint32_t number;
	const struct drain_process *parent; /* whose names it inherited */
	uint32_t *names;       /* string number by name id - first_name; 0: not looked up */
	size_t name_count;
	uint32_t first_name;
	struct drain_ring *rings;
	size_t ring_count;
	uint32_t *tracks; /* track + 1 by thread serial - 1; a thread may have several rings in turn */
	size_t track_count;
	uint32_t wide_track;
	uint64_t names_refused, refused_no_ring;
	uint64_t accounted; /* events recorded or lost so far */
	uint64_t last_look; /* ticks, for the range of a refusal */
	int pidfd;          /* -1: cannot be asked */
	bool dead;
	struct trace_process entry;
};

struct drain {
	struct session *session;
	struct trace_writer *writer;
	enum clock_source clock;
	uint64_t pid_namespace;
	struct drain_process **processes; /* by session number; NULL: not seen yet */
	uint16_t *tries;                  /* at opening its file, likewise */
	uint32_t process_count;
	size_t process_capacity, tries_capacity;
	uint32_t next_track, next_process;
	struct ring_scan scan;
	struct drain_totals totals;
	bool finishing;

	/* what the file that is being recovered holds; NULL when this is not a recovery */
	struct trace_reader *resumed;
	uint64_t *resumed_positions; /* by track */
	bool resumed_damaged;
};

/* drain_process.c: processes as they come and go. */
void drain_find_processes(struct drain *d, struct error *err);
void drain_process_close(struct drain *d, struct drain_process *p, uint32_t flags);
void drain_process_free(struct drain_process *p);
bool drain_process_ended(const struct drain_process *p);
uint32_t drain_name(struct drain *d, struct drain_process *p, uint32_t id);

/* drain_track.c: threads and their tracks. */
int drain_ring_track(struct drain *d, struct drain_process *p, uint32_t ring);
void drain_ring_name(struct drain *d, struct drain_process *p, uint32_t ring);
void drain_track_end(struct drain *d, struct drain_process *p, uint32_t ring);
uint32_t drain_wide_track(struct drain *d, struct drain_process *p);

#endif
