/*
 * perfetto.h - what the files of the Perfetto importer share.
 *
 * A packet goes this way: perfetto.c finds it in the stream, perfetto_packet.c
 * keeps the state of its sequence, one of perfetto_event.c, perfetto_gpu.c and
 * perfetto_ftrace.c makes events of it, perfetto_sort.c puts these into the
 * order of their times, since the file has them sequence by sequence, and
 * perfetto_emit.c hands them to the output.
 *
 * Functions that handle a part of a packet return 0, -EBADMSG when that part
 * is malformed (the packet is counted, the next one is read), or another
 * negative number when the reading cannot go on.
 */
#ifndef IMPORT_PERFETTO_H
#define IMPORT_PERFETTO_H

#include <stdbool.h>

#include "base/buffer.h"
#include "import/output.h"
#include "import/output_map.h"
#include "import/protobuf.h"

#define PERFETTO_DEPTH_MAX 30                    /* of arguments inside arguments, and of parents of tracks */
#define PERFETTO_TEXT_MAX ((size_t)256 << 20)    /* bytes of names that are remembered */
#define PERFETTO_PACKET_MAX ((size_t)512 << 20)  /* a longer one cannot be meant */
#define PERFETTO_INFLATED_MAX ((size_t)64 << 20) /* of one packet */
#define PERFETTO_NONE UINT32_MAX

struct text {
	const char *data;
	size_t size;
};
static inline struct text pb_text(const struct pb_field *f)
{
	return (struct text){ (const char *)f->data, f->size };
}

/* ---- Names that packets refer to by number (perfetto_intern.c) --------------- */

enum intern_table {
	INTERN_CATEGORY, /* extra: the kind it stands for */
	INTERN_NAME,
	INTERN_ARG_NAME, /* extra: enum meaning */
	INTERN_ARG_TEXT,
	INTERN_SOURCE, /* text: a SourceLocation */
	INTERN_GPU_SPEC,
	INTERN_GPU_CONTEXT, /* value: pid; extra: its API */
	INTERN_KERNEL,
	INTERN_KERNEL_ARG,   /* extra: enum meaning */
	INTERN_GPU_COUNTERS, /* text: a GpuCounterDescriptor; value: the GPU */
	INTERN_COUNT
};

struct interned {
	uint32_t at, size; /* in the texts of its sequence */
	uint32_t number;   /* of the name in the output, OUTPUT_NONE until it is asked for */
	uint32_t extra;
	uint64_t value;
};

struct intern {
	struct output_map map; /* table and number to entry */
	struct interned *entries;
	size_t count, capacity;
	struct buffer texts;
};

/* ---- Packet sequences (perfetto_packet.c) ------------------------------------ */

#define EXTRA_COUNTERS_MAX 32

struct extra_counters {
	uint64_t tracks[EXTRA_COUNTERS_MAX];
	unsigned count;
};

struct sequence {
	uint32_t id;
	uint32_t generation; /* how often its state was cleared */
	bool seen, cleared, lost;
	struct intern intern;
	/* defaults of its packets */
	uint32_t clock; /* 0: the trace's */
	bool has_track;
	uint64_t track;
	struct extra_counters extra, extra_double;
	/* of the older ThreadDescriptor packets */
	bool has_thread;
	uint64_t pid, tid;
	int64_t thread_time; /* ns, MONOTONIC */
};

struct packet {
	struct sequence *sequence;
	uint64_t machine;
	bool has_time;
	int64_t time; /* ns of the trace's clock */
};

/* ---- Clocks (perfetto_clock.c) ------------------------------------------------ */

enum { CLOCK_ID_REALTIME = 1, CLOCK_ID_MONOTONIC = 3, CLOCK_ID_MONOTONIC_RAW = 5, CLOCK_ID_BOOTTIME = 6 };

struct clocks {
	struct output_map map; /* scope and id to clock */
	struct perfetto_clock *clocks;
	size_t clock_count, clock_capacity;
	struct output_map pairs; /* of clocks, to edge */
	struct clock_edge *edges;
	size_t edge_count, edge_capacity;
	size_t points;           /* of all edges */
	uint32_t version, stamp; /* version: changes when a path may have */
	uint32_t primary;        /* id */
	bool snapshots, based;
};

/* ---- Tracks (perfetto_track.c) ------------------------------------------------ */

enum place_kind { IS_UNKNOWN, IS_CHILD, IS_PROCESS, IS_THREAD, IS_COUNTER };

struct stored_text {
	uint32_t at, size; /* in perfetto.texts */
};

struct perfetto_process {
	uint64_t machine, pid, rank; /* rank plus one; 0: none */
	bool zero;                   /* its pid is 0, for which our own export has another number */
	uint32_t output;
	struct stored_text name, command;
};

struct perfetto_thread {
	uint64_t machine, pid, tid;
	uint32_t output;
	struct stored_text name;
};

struct pending {
	uint32_t depth, before;     /* before: the one around it, or the next free place; PERFETTO_NONE */
	struct sort_record *record; /* NULL: the place is free */
	int64_t time;
};

struct perfetto_track {
	uint64_t machine, uuid, parent;
	enum place_kind kind;
	uint64_t pid, tid;
	struct stored_text name, unit;
	uint32_t name_number; /* in the output; OUTPUT_NONE until asked for */
	uint32_t output, counter_output;
	/* of our own exports */
	bool beside; /* has slices of the track above that are not inside each other */
	bool stream; /* of a device; its name says which, and what it is called */
	bool named;  /* that name is in the output */
	/* counters */
	int64_t multiplier;
	bool incremental, unit_said;
	double total;
	uint32_t total_sequence, total_generation;
	/* slices of devices that are open, see perfetto_emit.c */
	uint32_t depth, pending;
	int64_t last; /* time of its latest event that went out */
};

/* ---- The order of events (perfetto_sort.c) ----------------------------------- */

enum sort_action {
	SORT_EVENT,
	SORT_FLOW_START, /* an arrow leaves */
	SORT_FLOW_STEP,  /* leaves where its id is new, else arrives and goes on */
	SORT_FLOW_END    /* arrives */
};

/* An event on its way to the output. */
struct perfetto_event {
	struct import_event e;
	enum sort_action action;
	bool direct;                 /* e.track is a track of the output, else one of perfetto.tracks */
	bool counter;                /* the track's name is the event's */
	bool has_device, has_stream; /* both: it belongs on this stream of this device */
	uint32_t device;
	uint64_t stream;
};

struct sort_item {
	int64_t time;
	uint64_t at;
};

struct sort_record {
	uint32_t present, name, track, device;
	uint64_t stream;
	uint32_t metadata_size;
	uint8_t kind, phase, action;
	bool direct, counter, on_stream;
	/* then the fields, 8 bytes each, and the metadata */
};

struct sorter {
	struct buffer records, spare;
	struct sort_item *items, *merged;
	size_t count, capacity, merged_capacity;
	bool any_emitted;
};

/* ---- All of a reading --------------------------------------------------------- */

struct perfetto {
	struct output *o;
	const struct import_options *options;
	struct error *err;
	bool lean;
	bool ours; /* written by our own export: natural numbers are fields, others are arguments */
	bool has_zero;   /* a process with the pid 0 */
	uint64_t offset; /* of the packet at hand, in the file */
	uint64_t inflated;
	uint32_t functions; /* that names were taken for */

	struct output_map sequence_map;
	struct sequence **sequences;
	size_t sequence_count, sequence_capacity;
	size_t intern_bytes;

	struct clocks clocks;

	struct buffer texts;
	struct output_map process_map, thread_map, track_map, counter_map;
	struct perfetto_process *processes;
	size_t process_count, process_capacity;
	struct perfetto_thread *threads;
	size_t thread_count, thread_capacity;
	struct perfetto_track *tracks;
	size_t track_count, track_capacity;

	struct pending *pendings;
	size_t pending_count, pending_capacity, pending_bytes;
	uint32_t pending_free; /* the first of the free places */
	struct output_map flow_map;
	bool *flows; /* whether an arrow of this id is on its way */
	size_t flow_count, flow_capacity;

	struct perfetto_cpu *cpus;
	size_t cpu_count, cpu_capacity;
	struct output_map cpu_map;

	struct gpu {
		struct stored_text *queues, *stages; /* of the older specifications */
		size_t queue_count, queue_capacity, stage_count, stage_capacity;
		struct output_map contexts; /* to pid */
		struct output_map counters; /* GPU and number to name */
		struct output_map named;    /* streams that have their name */
		struct output_map described;
	} gpu;

	struct sorter sorter;
	struct buffer args, metadata, inflate, scratch;
	uint32_t arg_count;
};

/* perfetto_packet.c */
int perfetto_packet(struct perfetto *p, const uint8_t *data, size_t size, bool inside);
/* What is left of a packet whose end is missing: of compressed ones those that can be had.  As perfetto_packet(), -EBADMSG also
 * where it is nothing of the kind. */
int perfetto_part(struct perfetto *p, const uint8_t *data, size_t size);
void perfetto_sequences_release(struct perfetto *p);
bool perfetto_plausible(const uint8_t *data, size_t size, bool whole, bool strict);
void perfetto_skip(struct perfetto *p, const char *reason); /* counts an event that cannot be read */

/* perfetto_intern.c */
int intern_read(struct perfetto *p, struct sequence *s, struct cursor c);
const struct interned *intern_find(const struct sequence *s, enum intern_table table, uint64_t iid);
struct text intern_text(const struct sequence *s, const struct interned *entry);
/* The name's number in the output.  An unknown one is called so, and counted. */
uint32_t intern_name(struct perfetto *p, struct sequence *s, enum intern_table table, uint64_t iid);
void intern_clear(struct perfetto *p, struct intern *in);
void intern_release(struct intern *in);

/* perfetto_clock.c */
int clock_snapshot(struct perfetto *p, const struct sequence *s, uint64_t machine, struct cursor c);
/* Nanoseconds of the trace's clock.  False when it cannot be told. */
bool clock_convert(struct perfetto *p, const struct sequence *s, uint64_t machine, uint32_t clock, uint64_t time,
		   int64_t *ret);
void clocks_release(struct clocks *k);

/* perfetto_track.c */
int track_descriptor(struct perfetto *p, uint64_t machine, struct cursor c);
int track_thread_descriptor(struct perfetto *p, struct sequence *s, uint64_t machine, struct cursor c);
int track_process_descriptor(struct perfetto *p, uint64_t machine, struct cursor c);
int track_process_tree(struct perfetto *p, uint64_t machine, struct cursor c);
uint32_t track_of_uuid(struct perfetto *p, uint64_t machine, uint64_t uuid);
/* For events that name no track. */
uint32_t track_of_sequence(struct perfetto *p, uint64_t machine, const struct sequence *s);
uint32_t track_output(struct perfetto *p, uint32_t track);
uint32_t track_counter_output(struct perfetto *p, uint32_t track); /* where its values go */
uint32_t track_name(struct perfetto *p, uint32_t track);
uint32_t track_output_process(struct perfetto *p, uint32_t track); /* OUTPUT_NONE when it belongs to none */
uint32_t track_process(struct perfetto *p, uint64_t machine, uint64_t pid);
uint32_t track_global(struct perfetto *p, uint64_t machine); /* the process of tracks that belong to none */
uint32_t track_thread(struct perfetto *p, uint64_t machine, uint64_t pid, uint64_t tid);
/* Device and stream of what our own export has for a stream, or beside one. */
bool track_our_stream(struct perfetto *p, uint32_t track, uint32_t *ret_device, uint64_t *ret_stream);
/* What that stream is called there: its name in the output, once. */
void track_name_stream(struct perfetto *p, uint32_t track, uint32_t stream);
/* Device and stream that the names of the track and its parents tell, such as "GPU 0 / stream 7". */
bool track_stream(struct perfetto *p, uint32_t track, uint32_t *ret_device, uint64_t *ret_stream);
int perfetto_store(struct perfetto *p, struct text text, struct stored_text *ret);
struct text perfetto_stored(const struct perfetto *p, struct stored_text text);

/* perfetto_event.c */
/* Everything but the fields, of which it has none yet. */
void perfetto_event_begin(struct perfetto_event *pe, enum event_kind kind, enum event_phase phase, int64_t time);
int track_event(struct perfetto *p, const struct packet *packet, struct cursor c);

/* perfetto_args.c */
enum meaning {
	MEANING_NONE,
	/* FIELD_CORRELATION and so on: that field */
	MEANING_DEVICE = 64,
	MEANING_STREAM,
	MEANING_GRID,
	MEANING_BLOCK,
	MEANING_COLLECTIVE, /* the name of a collective */
	MEANING_KEPT        /* an argument, also in a lean trace */
};
uint32_t meaning_of(struct text name);
void args_clear(struct perfetto *p);
/* kind: what the event's category stands for, which says whether an argument is a field. */
int args_annotation(struct perfetto *p, const struct sequence *s, struct cursor c, struct perfetto_event *pe,
		    uint8_t kind);
int args_source(struct perfetto *p, struct cursor c);
int args_text(struct perfetto *p, const char *key, struct text value);
int args_number(struct perfetto *p, const char *key, uint64_t value);
/* A number that is no field, under its name. */
int args_integer(struct perfetto *p, struct text name, int64_t value);
int args_double(struct perfetto *p, struct text name, double value);
bool args_is_field(uint32_t meaning); /* whether args_named() would make an integer a field */
/* A number under a name that may stand for a field. */
int args_named(struct perfetto *p, uint32_t meaning, struct text name, struct text value, struct perfetto_event *pe);
int args_finish(struct perfetto *p, struct perfetto_event *pe); /* everything since args_clear() becomes its metadata */

/* perfetto_kind.c */
#define KIND_COPY 0xfe         /* a copy, its direction is in its name */
#define KIND_DEVICE_SCOPE 0xfd /* a scope on a stream of a device */
#define KIND_ARROW 0xfc        /* an end of an arrow, and nothing else */
/* An enum event_kind or one of these; EVENT_NONE when it says nothing. */
uint8_t kind_of_category(struct text category);
/* Sets the kind of the event to what its category and name say. */
void kind_set(struct perfetto_event *pe, uint8_t kind, struct text name);
uint8_t kind_of_stage(struct text stage, struct text name); /* of work on a GPU */
bool kind_on_device(uint8_t kind);                          /* also before kind_set() */
/* The number behind a word: 7 in "Stream #7", whatever the case of letters. */
bool text_number_after(struct text text, const char *word, uint64_t *ret);

/* perfetto_sort.c */
int sort_add(struct perfetto *p, const struct perfetto_event *pe);
int sort_finish(struct perfetto *p);
void sorter_release(struct sorter *s);
size_t sort_record_size(const struct sort_record *r);

/* perfetto_emit.c */
int emit_record(struct perfetto *p, int64_t time, const struct sort_record *r);
int emit_finish(struct perfetto *p);
void emit_release(struct perfetto *p);

/* perfetto_gpu.c */
int gpu_render_stage(struct perfetto *p, const struct packet *packet, struct cursor c);
int gpu_counters(struct perfetto *p, const struct packet *packet, struct cursor c);
int gpu_info(struct perfetto *p, struct cursor c);
int gpu_memory(struct perfetto *p, uint64_t machine, int64_t time, struct cursor c);
void gpu_release(struct gpu *g);

/* perfetto_ftrace.c */
int ftrace_bundle(struct perfetto *p, const struct packet *packet, struct cursor c);
int ftrace_finish(struct perfetto *p);
void ftrace_release(struct perfetto *p);

#endif
