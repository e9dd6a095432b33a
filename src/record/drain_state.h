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
	uint32_t tid;     /* its number in the kernel */
	uint32_t track;
	uint32_t name;        /* id in its process, given by the thread; 0: none */
	uint32_t kernel_name; /* string number */
	uint64_t last_time; /* of the newest event, for the range of a loss */
	uint64_t refused[3]; /* as seen: full, no chunk, re-entry */
};

/* A task of a process, by its number there. */
struct drain_task {
	uint32_t number;
	uint32_t track;
	uint32_t name;   /* id in its process, as last said */
	uint32_t thread; /* track of the thread that first ran it, or NO_TRACK */
	uint8_t names;   /* how many it has had */
	bool used;
};
struct drain_tasks {
	struct drain_task *places; /* open addressing */
	uint32_t size, count;      /* size: 0 or a power of two */
};

/* Events of a ring that go to other tracks than its thread's, between reading them and writing them there. */
struct drain_aside {
	struct event_slot *slots;
	struct aside_run {
		uint32_t track;
		size_t slots, events;
		uint8_t kind;   /* of the track */
		bool of_thread; /* the ring's position tells how far the track has got */
	} * runs;
	size_t count, capacity, run_count, run_capacity;
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
	struct drain_tasks tasks;
	uint32_t *streams; /* track + 1 by number of the stream */
	size_t stream_count;
	struct drain_thread *threads; /* that were told of before they had a ring, if they ever get one */
	size_t thread_count, thread_capacity;
	uint64_t names_refused, refused_no_ring;
	uint64_t accounted; /* events recorded or lost so far */
	uint64_t last_look; /* ticks, for the range of a refusal */
	uint64_t birth;
	uint32_t prepared;  /* chunks that have memory, used or not; UINT32_MAX: there is none to be had */
	int pidfd;          /* -1: cannot be asked */
	bool dead;
	struct trace_process entry;
};

/* A thread that another one has told of (a call of CUDA is known when it is over, elsewhere).  Its track has the serial 0. */
struct drain_thread {
	uint32_t tid; /* 0: it has got a ring, which has this track now */
	uint32_t track;
};

/* A process that is seen from outside, whether or not it has anything to record. */
struct drain_outside {
	struct trace_process entry;
	uint64_t birth;
	uint32_t wide_track;
	bool adopted; /* it attached, and is a drain_process now */
};

/* A device that streams are of, as it was described; one that is described in several ways has several of these. */
struct drain_device {
	uint32_t id;
	char *text;
	size_t size;
	bool outside; /* by who looks at devices from outside */
	uint32_t track; /* of how it is, as doors tell; plus 1 */
	struct nvml_look look; /* the last that they told */
	uint32_t row; /* where drain_told_gpus() puts it, once they have; NVML_DEVICES: there is none left */
};

struct drain {
	struct session *session;
	struct trace_writer *writer;
	const char *runtime; /* NULL: not known */
	enum clock_source clock;
	uint64_t pid_namespace;
	struct drain_process **processes; /* by session number; NULL: not seen yet */
	uint16_t *tries;                  /* at opening its file, likewise */
	uint32_t process_count; /* numbers below had a file in the folder */
	uint32_t told_processes, looks; /* numbers given out, as the page says; how often to look for the files of the newest */
	size_t process_capacity, tries_capacity;
	uint32_t next_track, next_process;
	uint32_t task_limit; /* tasks get tracks below this; the rest is for threads */
	struct ring_scan scan;
	struct drain_totals totals;
	struct drain_aside aside;
	struct drain_outside *outside;
	size_t outside_count, outside_capacity;
	struct drain_device *devices;
	size_t device_capacity;
	uint32_t device_count, next_device;
	uint64_t unseen_ticks;
	bool finishing;
	struct deaths killed;
	drain_listener listener; /* NULL: nobody listens */
	void *listener_arg;

	/* what the file that is being recovered holds; NULL when this is not a recovery */
	struct trace_reader *resumed;
	uint64_t *resumed_positions; /* by track */
	bool resumed_damaged;
};

#define DRAIN_PROCESSES (1u << 20) /* more are nonsense */

/* drain_count.c: what processes say in figures. */
/* No thread makes more than an event a nanosecond; a figure that says so is passed over, which is noted. */
bool drain_believes(struct drain *d, uint64_t events);
/* What the producers say they wrote, to hold against what was recorded and lost. */
uint64_t drain_count_produced(struct drain *d, const struct drain_process *p);
/* Adds what a language's hook left out to the totals. */
void drain_count_skipped(struct drain *d, const struct drain_process *p);

/* drain_process.c: processes as they come and go. */
void drain_find_processes(struct drain *d, struct error *err);
void drain_process_close(struct drain *d, struct drain_process *p, uint32_t flags);
void drain_process_free(struct drain_process *p);
bool drain_process_ended(const struct drain_process *p);
uint32_t drain_name(struct drain *d, struct drain_process *p, uint32_t id);

/* drain_outside.c: the number that a process has been given before it attached; NULL: none. */
struct drain_outside *drain_outside_adopt(struct drain *d, const struct ring_file *file);

/* drain_sift.c: slots that have been read out of a ring. */
struct sifted {
	size_t kept;     /* slots that stay: those of the ring's thread, moved together */
	uint64_t events; /* kept or set aside */
	uint64_t extra;  /* continuations and padding, kept or not */
	uint64_t unreadable;
	uint64_t first_time, last_time; /* of the events, if any */
};
struct sifted drain_sift(struct drain *d, struct drain_process *p, uint32_t thread, struct event_slot *slots, size_t count);
/* Writes what was set aside.  There is room for it in the block under construction, so that nothing is flushed between.  The
 * writer's ticket. */
uint64_t drain_write_aside(struct drain *d, const struct drain_process *p, uint32_t ring);

/* drain_listen.c: who listens hears of these slots, which came through the ring. */
void drain_tell(const struct drain *d, const struct drain_process *p, uint32_t ring, struct drain_run run);

/* Lost events: the list of fields, the head, or both (in place). */
#define DRAIN_LOST_SLOTS 2u
#define DRAIN_LOST_FIELDS 22u
void drain_lost_fields(uint8_t bytes[DRAIN_LOST_FIELDS], uint64_t count, uint64_t reason);
struct event_slot drain_lost_slot(uint64_t from, uint64_t duration);
void drain_put_lost(struct event_slot *out, uint64_t from, uint64_t duration, uint64_t count, uint64_t reason);

/* drain_task.c: tasks and their tracks. */
/* The task that a slot (with EVENT_FLAG_TASK) belongs to, made when it is new; NULL when there is no track for it. */
const struct drain_task *drain_task(struct drain *d, struct drain_process *p, uint32_t thread, const struct event_slot *slot);
/* Those that a file under recovery has. */
void drain_tasks_resume(struct drain *d, struct drain_process *p);

/* drain_stream.c: streams of devices and their tracks. */
/* The track of the stream that a slot (with EVENT_FLAG_STREAM) belongs to, made when it is new; NO_TRACK when there is none. */
uint32_t drain_stream(struct drain *d, struct drain_process *p, const struct event_slot *slot);
/* A counter on such a track, kept if it is of how a device is. */
void drain_device_counter(struct drain *d, uint32_t track, uint32_t name, uint64_t value);
void drain_streams_resume(struct drain *d, struct drain_process *p);
/* The track of a thread that has been told of and has no ring; NO_TRACK.  Take: it has got one. */
uint32_t drain_told_thread(const struct drain_process *p, uint32_t tid);
uint32_t drain_take_told_thread(struct drain_process *p, uint32_t tid);
bool drain_was_told(const struct drain_process *p, uint32_t track);
/* As drain_name() for a kernel: the names that compilers make are made readable. */
uint32_t drain_kernel_name(struct drain *d, struct drain_process *p, uint32_t id);
void drain_streams_free(struct drain *d);

/* drain_track.c: threads and their tracks. */
/* What the kernel calls the thread, while it is alive; 0: nothing. */
uint32_t drain_thread_name(struct drain *d, const struct drain_process *p, uint32_t tid);
int drain_ring_track(struct drain *d, struct drain_process *p, uint32_t ring);
void drain_ring_name(struct drain *d, struct drain_process *p, uint32_t ring);
void drain_track_end(struct drain *d, struct drain_process *p, uint32_t ring);
uint32_t drain_wide_track(struct drain *d, struct drain_process *p);

#endif
