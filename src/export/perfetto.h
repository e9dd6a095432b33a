/*
 * perfetto.h - what the files of the Perfetto writer share.
 *
 * Blocks of events go straight into packets, in one pass.  A track of the trace
 * is a sequence of packets with a clock of its own that counts differences, and
 * with its own interned names; packets gather and go out compressed.
 *
 *      perfetto.c        the walk over blocks, and what of them is wanted
 *      perfetto_pack.c   packets, gathered and compressed
 *      perfetto_names.c  sequences and what they have interned
 *      perfetto_place.c  processes, threads and tracks as they are described
 *      perfetto_args.c   fields and arguments as annotations
 *      perfetto_slice.c  slices that begin and end
 *      perfetto_whole.c  slices given whole, which have to be put in order first
 *      perfetto_event.c  instants, counters, ranges, arrows
 *      perfetto_gpu.c    devices, and arrows to their work
 *      perfetto_head.c   clocks, the machine, the trace itself, findings
 *
 * A failure (of memory, or of the output) is remembered; nothing is written after it.
 */
#ifndef EXPORT_PERFETTO_H
#define EXPORT_PERFETTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "export/export.h"
#include "export/perfetto_proto.h"
#include "trace/reader.h"

#define PF_TIME_MAX INT64_MAX
#define PF_SEQUENCES_MAX 4096u /* tracks beyond share one, which counts no differences */
#define PF_LANES_MAX 256u      /* beside one track */
#define PF_CLOCK 64u           /* of a sequence: counts nanoseconds since the packet before */

/* Numbers of the trace's own entries: of tracks in pf_track, of processes by pf_process_uuid(). */
enum { PF_UUID_FIRST = 16, PF_UUID_MADE = 1 << 24 };

/* Numbers of interned names of arguments: fields by their number, then keys of metadata. */
enum { PF_ARG_FIELD = 1, PF_ARG_KEY = 64 };

struct pf_bits {
	uint64_t *words;
	size_t count;
};

/* What one writer would have written: packets with a state of their own. */
struct pf_sequence {
	uint8_t prefix[8]; /* its number and flags, as in every packet */
	uint8_t prefix_size;
	bool begun, shared;
	int64_t last; /* the time its next packet counts from */
	uint32_t kinds;
	uint64_t fields;
	struct pf_bits names, functions, keys; /* functions: names that have a place in the program */
};

/* A slice that is open. */
struct pf_open {
	int64_t begin;
	uint32_t name, saved_size;
	size_t saved; /* in the track's saved bodies */
	uint16_t depth;
	uint8_t state;
};
enum { PF_OPEN_WRITTEN, PF_OPEN_WAITS, PF_OPEN_LEFT_OUT };

/* What a call that asked for work of a device, and that work, have in common. */
struct pf_launch {
	uint64_t correlation; /* 0: it is neither */
	bool work;
};

/* A slice given whole, or the end of an arrow, that waits for those before it. */
struct pf_item {
	int64_t begin, end;
	size_t body;
	uint32_t size;
	bool arrow, arrives;
	uint64_t order;
	uint64_t id; /* of an arrow */
	struct pf_launch launch;
	uint64_t number; /* of an arrow, in the trace */
};

/* One of the rows that slices of a track are on: where they cross, there are several. */
struct pf_lane {
	uint64_t uuid; /* 0: the track's own */
	int64_t floor; /* nothing before this goes there any more */
	int64_t *ends; /* of the slices that are open, the innermost last */
	size_t count, capacity;
};

struct pf_track {
	uint32_t id;
	uint32_t domain;
	bool described, wanted, asked, synced;
	bool stream; /* work of a device is on it */
	uint64_t uuid;
	struct pf_sequence *seq;
	/* begins and ends */
	struct pf_open *open;
	size_t open_count, open_capacity, waiting;
	struct buffer saved;
	uint64_t direct_uuid; /* where they go; 0: the track's own */
	int64_t direct_time;  /* of the last of them */
	/* slices given whole */
	struct pf_item *items;
	size_t item_count, item_capacity;
	uint64_t item_order;
	struct buffer bodies;
	struct pf_lane *lanes;
	size_t lane_count, lane_capacity;
};

struct pf_key {
	uint64_t a, b;
	uint64_t value;
};
struct pf_map {
	struct pf_key *keys; /* open addressing; value 0 is free */
	size_t capacity, used;
};

/* The correlations from which an arrow has left already, as bits. */
struct pf_page {
	uint64_t words[64];
};
struct pf_launches {
	struct pf_map numbers; /* of a page, plus one */
	struct pf_page *pages;
	size_t count, capacity;
};

struct pf {
	struct trace_reader *reader;
	const struct export_options *options;
	struct export_out *out;
	int failure;

	struct buffer raw, packed, body;
	struct libdeflate_compressor *compressor;

	struct pf_track *tracks;
	size_t track_count;
	bool *process_described, *device_used;
	uint32_t *process_track; /* which stands for the process, plus one */
	uint32_t *process_pid; /* as written: unlike any other */
	struct pf_sequence *shared;
	uint32_t sequence_count;
	uint64_t next_uuid;
	size_t waiting_bytes; /* of all items */

	struct pf_map counters, args, flow_names;
	uint32_t arg_count, flow_name_count;
	struct pf_launches launches;
	uint8_t *name_wanted; /* by string: 0 not asked yet, 1 no, 2 yes; NULL: all are */

	uint32_t clock;   /* of the trace, as Perfetto numbers them */
	int64_t shift;    /* added to all times, so that none is negative */
	int64_t start_ns; /* of the trace, before the shift */
	int64_t from, to; /* the window, in nanoseconds as written */
	bool simple;      /* nothing but tracks is selected */
	bool devices_by_index;

	/* the block at hand */
	const struct trace_batch *batch;
	size_t block; /* its number */
	uint32_t domain, track, first; /* track and first: of the segment */
};

/* perfetto.c: what is selected */
bool pf_track_selected(struct pf *p, uint32_t track);
bool pf_slice_wanted(struct pf *p, uint8_t kind, uint32_t name, uint32_t depth); /* by its recorded depth */
bool pf_event_wanted(struct pf *p, uint32_t event); /* the begin of a slice, or one given whole */

/* perfetto_pack.c */
int pf_pack_init(struct pf *p);
void pf_pack_release(struct pf *p);
bool pf_room(struct pf *p, size_t size); /* in raw, for what is written in place; false: failed */
void pf_gathered(struct pf *p);          /* hands on what has gathered, if it is enough */
void pf_flush(struct pf *p);
void pf_check(struct pf *p, int rc);
/* A packet with one message in it; body must not be raw. */
void pf_packet(struct pf *p, struct pf_sequence *s, uint32_t field, const struct buffer *body);
void pf_packet_at(struct pf *p, struct pf_sequence *s, int64_t ns, uint32_t field, const uint8_t *body, size_t size);
/* The time of a packet, as a difference where that is possible; room for 16 bytes. */
static inline uint8_t *pf_put_time(const struct pf *p, struct pf_sequence *s, int64_t ns, uint8_t *at)
{
	if (ns >= s->last && !s->shared) {
		at = proto_put_number(at, 8, (uint64_t)(ns - s->last));
		s->last = ns;
		return at;
	}
	at = proto_put_number(at, 8, (uint64_t)ns);
	return s->shared ? at : proto_put_number(at, 58, p->clock);
}
int64_t pf_ns(const struct pf *p, int64_t ticks); /* of the block at hand, as written */

/* perfetto_names.c */
struct pf_sequence *pf_sequence_new(struct pf *p);
/* One without a state, for packets that need none. */
struct pf_sequence *pf_sequence_plain(struct pf *p);
void pf_sequence_free(struct pf_sequence *s);
/* Before its first packet: default_uuid 0 is none. */
void pf_sequence_begin(struct pf *p, struct pf_sequence *s, int64_t ns, uint64_t default_uuid);
bool pf_bit_set(struct pf *p, struct pf_bits *bits, size_t i); /* true: it was not set before */
static inline bool pf_bit(const struct pf_bits *bits, size_t i)
{
	return i / 64 < bits->count && bits->words[i / 64] >> i % 64 & 1;
}
void pf_say_name(struct pf *p, struct pf_sequence *s, uint32_t name);
void pf_say_kind(struct pf *p, struct pf_sequence *s, uint8_t kind);
/* The number of a kind as a category; those that nobody knows are one. */
static inline uint8_t pf_category(uint8_t kind)
{
	return kind && kind < EVENT_KIND_COUNT ? kind : 31;
}
static inline void pf_intern(struct pf *p, struct pf_sequence *s, uint8_t kind, uint32_t name)
{
	if (!(s->kinds >> pf_category(kind) & 1))
		pf_say_kind(p, s, kind);
	if (name && !pf_bit(&s->names, name))
		pf_say_name(p, s, name);
}
/* The number of an argument's name, said if it was not yet. */
uint32_t pf_field_name(struct pf *p, struct pf_sequence *s, unsigned field);
uint32_t pf_key_name(struct pf *p, struct pf_sequence *s, const char *text, size_t size);
/* One entry of InternedData. */
void pf_say(struct pf *p, struct pf_sequence *s, uint32_t table, uint64_t iid, const char *text, size_t size);
uint64_t pf_map_get(const struct pf_map *map, uint64_t a, uint64_t b); /* 0: not there */
int pf_map_put(struct pf_map *map, uint64_t a, uint64_t b, uint64_t value);

/* perfetto_place.c */
int pf_places_init(struct pf *p);
uint64_t pf_process_uuid(uint32_t process);
bool pf_track_wanted(struct pf *p, uint32_t track);
/* Describes it, with what it is a part of, before its first event; NULL: failed. */
struct pf_track *pf_place(struct pf *p, uint32_t track, int64_t ns);
uint64_t pf_counter_track(struct pf *p, struct pf_track *t, uint32_t name, const struct trace_blob *metadata);
uint64_t pf_lane_track(struct pf *p, struct pf_track *t, size_t number);
/* A track at the top; its sequence is new. */
struct pf_sequence *pf_root_track(struct pf *p, const char *name, int64_t ns);
uint32_t pf_gpu_number(const struct pf *p, uint32_t device);

/* perfetto_args.c */
/* All fields of an event but those in `without`, then its metadata. */
void pf_args(struct pf *p, struct pf_sequence *s, uint32_t event, uint64_t without, struct buffer *out);
void pf_metadata(struct pf *p, struct pf_sequence *s, const struct trace_blob *metadata, struct buffer *out);
void pf_arg_text(struct pf *p, struct pf_sequence *s, const char *key, const char *text, struct buffer *out);
void pf_arg_number(struct pf *p, struct pf_sequence *s, const char *key, double value, struct buffer *out);
double pf_double(uint64_t bits);

/* perfetto_slice.c */
void pf_begin(struct pf *p, struct pf_track *t, uint32_t event, int64_t ns);
void pf_end(struct pf *p, struct pf_track *t, uint32_t event, int64_t ns);
/* What the block says is open: after a gap, and at the start. */
void pf_slices_sync(struct pf *p);
void pf_slices_finish(struct pf *p, struct pf_track *t, int64_t ns);
/* Slices that wait to be known to be wanted, when something of the track happens at ns. */
void pf_slices_ready(struct pf *p, struct pf_track *t, int64_t ns);

/* perfetto_whole.c */
void pf_whole(struct pf *p, struct pf_track *t, uint32_t event, int64_t begin, int64_t end);
void pf_arrow(struct pf *p, struct pf_track *t, uint32_t event, int64_t ns, uint64_t id);
/* Everything that waits and ends by `limit` goes out on the track itself, the rest beside it. */
void pf_whole_flush(struct pf *p, struct pf_track *t, int64_t limit);
void pf_whole_finish(struct pf *p, struct pf_track *t);
void pf_track_release(struct pf_track *t);

/* perfetto_event.c */
void pf_event(struct pf *p, struct pf_track *t, uint32_t event, int64_t ns);

/* perfetto_gpu.c */
void pf_gpu_info(struct pf *p, struct pf_sequence *s);
struct pf_launch pf_launch_of(const struct pf *p, const struct pf_track *t, uint32_t event);
/* Its end of the arrow from the call to the work. */
void pf_put_launch(struct pf *p, const struct pf_track *t, struct pf_launch launch, struct buffer *out);
void pf_launches_release(struct pf_launches *launches);

/* perfetto_head.c */
void pf_head(struct pf *p);
void pf_findings(struct pf *p);

#endif
