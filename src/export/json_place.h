/*
 * json_place.h - which process and thread of the JSON a track of the trace is.
 *
 * Viewers know processes and threads only, by numbers of 32 bits.  Processes
 * keep their number where nobody else has it: ranks of several machines may
 * have the same ones.  A device is a process as well, by its index where that
 * is free.  In Kineto's JSON a stream is the thread of its number; for viewers
 * it is several, one for each sort of work and more where work overlaps.
 */
#ifndef EXPORT_JSON_PLACE_H
#define EXPORT_JSON_PLACE_H

#include "export/json_out.h"
#include "trace/reader.h"

/* The threads that a track is. */
enum json_row {
	JSON_MAIN,    /* of a thread: all of it; of a stream: computation */
	JSON_MEMORY,  /* of a stream: copies and memsets */
	JSON_SYNC,    /* of a stream: waits */
	JSON_SCOPES,  /* of a stream: annotations */
	JSON_LOST,    /* events that were lost */
	JSON_ROWS
};
#define JSON_LANES 16u /* a row has as many lanes at most, for slices that cross */

#define JSON_NO_DEVICE UINT32_MAX

struct json_place {
	uint32_t pid;
	int64_t tid;
	uint32_t tid_name;  /* a string that stands for the thread, as in Kineto's "PyTorch Profiler"; 0: the number does */
	uint32_t pid_name;  /* likewise */
	uint8_t used[JSON_ROWS]; /* lanes that were, plus one */
	bool counted;       /* its process is in use, by counters at least */
	bool renamed;       /* a stream whose work was at another thread: that one has the name */
	int64_t other_tid;
};

struct json_places {
	const struct trace_reader *reader;
	bool kineto;
	struct json_place *tracks;   /* by number */
	uint32_t *processes, *devices; /* pids, by number */
	uint32_t *device_numbers;      /* by which devices are told apart; JSON_NO_DEVICE: not in use, and its number is another's */
	size_t track_count, process_count, device_count;
	uint32_t host_pid, own_pid;  /* of the machine, and of what we say ourselves */
	struct json_numbers {
		uint64_t *slots; /* numbers that are taken, plus one */
		size_t capacity;
		uint64_t next; /* below it, none is free for who does not mind which */
	} taken;
};

/* 0 or -ENOMEM; release in either case. */
int json_places_init(struct json_places *p, const struct trace_reader *reader, bool kineto);
void json_places_release(struct json_places *p);

/* Of an event on this track, which is in use from now on; NULL when there is no such track. */
struct json_place *json_place_of(struct json_places *p, uint32_t track);
/* It was at this thread (a MessagePack integer), which has its name then. */
void json_place_note(struct json_place *place, struct cursor tid);
/* "pid":1,"tid":2 */
void json_place_to(struct export_out *out, const struct json_places *p, const struct json_place *place, enum json_row row,
		   unsigned lane);
/* "pid":1 */
void json_pid_to(struct export_out *out, const struct json_places *p, const struct json_place *place);
/* The names of all that is in use, one event each; begun: there were events before. */
void json_names_to(struct export_out *out, const struct json_places *p, bool begun);

#endif
