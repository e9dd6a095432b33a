/*
 * perfetto_packet.c - one TracePacket, and the state of the sequence it is of.
 *
 * A sequence is what one writer wrote.  Its packets refer to names that
 * earlier packets of the sequence gave, until the state is cleared or packets
 * are lost; after a loss, packets that need the state are passed over until
 * the writer has begun anew.
 */
#include "import/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/array.h"
#include "import/stream.h"

#define SEQUENCES_MAX 65536u
#define PLAUSIBLE_FIELDS 64u
#define CONTENT_MAX 8u /* of a packet, which should have but one */
#define STATE_CLEARED 1u
#define NEEDS_STATE 2u

/* Fields of TracePacket. */
enum {
	PACKET_FTRACE = 1,
	PACKET_PROCESS_TREE = 2,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_STATE_CLEARED = 41,
	PACKET_DROPPED = 42,
	PACKET_PROCESS = 43,
	PACKET_THREAD = 44,
	PACKET_SYSTEM_INFO = 45,
	PACKET_COMPRESSED = 50,
	PACKET_GPU_COUNTERS = 52,
	PACKET_GPU_STAGE = 53,
	PACKET_CLOCK = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60,
	PACKET_GPU_MEMORY = 71,
	PACKET_MACHINE = 98,
	PACKET_GPU_INFO = 128,
	PACKET_COMPRESSED_ZSTD = 133,
	PACKET_FIELD_MAX = 2000
};

/* Those that are numbers; all others of a packet are messages or bytes. */
static bool is_number(uint32_t field)
{
	static const uint8_t numbers[] = { 3, 8, 10, 13, 41, 42, 58, 79, 87, 98 };

	for (size_t i = 0; i < sizeof numbers; i++)
		if (numbers[i] == field)
			return true;
	return false;
}

/* Whether these bytes can be a packet, or (not whole) the beginning of one.  Strict: also has what nearly every one
 * has. */
bool perfetto_plausible(const uint8_t *data, size_t size, bool whole, bool strict)
{
	struct cursor c = cursor_of(data, size);
	bool typical = !strict;
	struct pb_field f;
	unsigned seen = 0;

	while (c.at < c.end && seen < PLAUSIBLE_FIELDS) {
		struct cursor tag = c;
		uint64_t number = cursor_uv(&tag);

		if (tag.bad)
			return !whole && seen;
		if (number >> 3 == 0 || number >> 3 > PACKET_FIELD_MAX ||
		    (number & 7) != (is_number((uint32_t)(number >> 3)) ? PB_VARINT : PB_BYTES))
			return false;
		seen++;
		if (pb_next(&c, &f) <= 0)
			return !whole;
		typical |= f.number == PACKET_TIMESTAMP || f.number == PACKET_SEQUENCE;
	}
	return typical && seen;
}

/* NULL: too many, or out of memory. */
static struct sequence *sequence_of(struct perfetto *p, uint32_t id)
{
	uint32_t at = output_map_find(&p->sequence_map, 0, id);
	struct sequence *s;

	if (at != PERFETTO_NONE)
		return p->sequences[at];
	if (p->sequence_count >= SEQUENCES_MAX || ARRAY_GROW(p->sequences, p->sequence_capacity, p->sequence_count + 1))
		return NULL;
	s = calloc(1, sizeof *s);
	if (!s || output_map_add(&p->sequence_map, 0, id, (uint32_t)p->sequence_count)) {
		free(s);
		return NULL;
	}
	s->id = id;
	p->sequences[p->sequence_count++] = s;
	return s;
}

void perfetto_sequences_release(struct perfetto *p)
{
	for (size_t i = 0; i < p->sequence_count; i++) {
		intern_release(&p->sequences[i]->intern);
		free(p->sequences[i]);
	}
	free(p->sequences);
	output_map_release(&p->sequence_map);
}

void perfetto_skip(struct perfetto *p, const char *reason)
{
	output_report(p->o)->skipped++;
	output_damage(p->o, p->offset, 0, reason);
}

/* ---- Compressed packets ------------------------------------------------------- */

static int inflate_zstd(const uint8_t *data, size_t size, size_t limit, struct buffer *out)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer in = { data, size, 0 };
	int rc = stream ? 0 : -ENOMEM;

	while (rc == 0 && in.pos < in.size) {
		ZSTD_outBuffer room;
		size_t left;

		if (out->size >= limit) {
			rc = -EFBIG;
			break;
		}
		rc = buffer_reserve(out, ZSTD_DStreamOutSize());
		if (rc)
			break;
		room = (ZSTD_outBuffer){ out->data + out->size, out->capacity - out->size, 0 };
		left = ZSTD_decompressStream(stream, &room, &in);
		if (ZSTD_isError(left))
			rc = -EBADMSG;
		else
			out->size += room.pos;
	}
	ZSTD_freeDStream(stream);
	return rc;
}

/* The packets inside, which are as in a file of their own. */
static int read_inside(struct perfetto *p, const struct buffer *trace)
{
	struct cursor c = cursor_of(trace->data, trace->size);
	struct pb_field f;
	int rc, bad = 0;

	while ((rc = pb_next(&c, &f)) > 0) {
		if (f.number != 1)
			continue;
		rc = perfetto_packet(p, f.data, f.size, true);
		if (rc == -EBADMSG)
			bad = rc;
		else if (rc)
			return rc;
	}
	return rc ? rc : bad;
}

static int compressed(struct perfetto *p, const struct pb_field *f, bool inside)
{
	uint64_t limit = p->options && p->options->max_bytes ? p->options->max_bytes : IMPORT_MAX_BYTES;
	struct buffer out = p->inflate;
	int rc;

	if (inside)
		return -EBADMSG;
	p->inflate = (struct buffer)BUFFER_INIT;
	buffer_clear(&out);
	if (f->number == PACKET_COMPRESSED)
		rc = stream_inflate(f->data, f->size, PERFETTO_INFLATED_MAX, &out);
	else
		rc = inflate_zstd(f->data, f->size, PERFETTO_INFLATED_MAX, &out);
	p->inflated += out.size;
	if (p->inflated > limit)
		rc = -EFBIG;
	if (rc == 0 || rc == -EBADMSG) { /* of damaged ones what comes before the damage */
		int read = read_inside(p, &out);

		rc = read ? read : rc;
	}
	p->inflate = out;
	return rc == -EFBIG ? -EBADMSG : rc;
}

int perfetto_part(struct perfetto *p, const uint8_t *data, size_t size)
{
	struct cursor c = cursor_of(data, size);
	uint64_t tag = cursor_uv(&c), length = cursor_uv(&c);
	struct pb_field f = { .number = (uint32_t)(tag >> 3), .wire = tag & 7 };

	if (c.bad || tag >> 32 || f.wire != PB_BYTES || (f.number != PACKET_COMPRESSED && f.number != PACKET_COMPRESSED_ZSTD) ||
	    length <= cursor_left(&c))
		return -EBADMSG;
	f.data = c.at;
	f.size = cursor_left(&c);
	return compressed(p, &f, false);
}

/* ---- State of the sequence ---------------------------------------------------- */

/* What concerns the packet as a whole, wherever it stands in it. */
struct header {
	uint64_t time, sequence, flags, clock, machine;
	bool has_time, cleared, dropped;
	struct pb_field interned, defaults, compressed, snapshot;
	struct pb_field content[CONTENT_MAX]; /* everything else that is a message */
	unsigned content_count;
};

static int read_header(const uint8_t *data, size_t size, struct header *h)
{
	struct cursor c = cursor_of(data, size);
	struct pb_field f;
	int rc;

	memset(h, 0, offsetof(struct header, content));
	h->content_count = 0;
	while ((rc = pb_next(&c, &f)) > 0) {
		switch (f.number) {
		case PACKET_TIMESTAMP:
			h->time = f.value;
			h->has_time = true;
			break;
		case PACKET_SEQUENCE:
			h->sequence = f.value;
			break;
		case PACKET_FLAGS:
			h->flags = f.value;
			break;
		case PACKET_CLOCK:
			h->clock = f.value;
			break;
		case PACKET_MACHINE:
			h->machine = f.value & UINT32_MAX;
			break;
		case PACKET_STATE_CLEARED:
			h->cleared = f.value;
			break;
		case PACKET_DROPPED:
			h->dropped = f.value;
			break;
		case PACKET_INTERNED:
			h->interned = f;
			break;
		case PACKET_DEFAULTS:
			h->defaults = f;
			break;
		case PACKET_CLOCK_SNAPSHOT:
			h->snapshot = f;
			break;
		case PACKET_COMPRESSED:
		case PACKET_COMPRESSED_ZSTD:
			h->compressed = f;
			break;
		default:
			if (f.wire == PB_BYTES && h->content_count < CONTENT_MAX)
				h->content[h->content_count++] = f;
			break;
		}
	}
	h->cleared |= (h->flags & STATE_CLEARED) != 0;
	return rc;
}

static void read_extra(struct extra_counters *extra, const struct pb_field *f)
{
	struct pb_numbers n = pb_numbers_of(f, PB_VARINT);
	uint64_t value;

	while (extra->count < EXTRA_COUNTERS_MAX && pb_number(&n, &value))
		extra->tracks[extra->count++] = value;
}

/* New defaults replace all of the old ones. */
static int read_defaults(struct sequence *s, const struct pb_field *field)
{
	struct cursor c = pb_message(field);
	struct pb_field f, g;
	int rc;

	s->clock = 0;
	s->has_track = false;
	s->extra.count = s->extra_double.count = 0;
	while ((rc = pb_next(&c, &f)) > 0) {
		struct cursor inner = pb_message(&f);

		if (f.number == 58)
			s->clock = (uint32_t)f.value;
		if (f.number != 11)
			continue;
		while ((rc = pb_next(&inner, &g)) > 0) {
			if (g.number == 11) {
				s->track = g.value;
				s->has_track = true;
			} else if (g.number == 31 || g.number == 45) {
				read_extra(g.number == 31 ? &s->extra : &s->extra_double, &g);
			}
		}
		if (rc)
			return rc;
	}
	return rc;
}

static void clear_state(struct perfetto *p, struct sequence *s)
{
	intern_clear(p, &s->intern);
	s->generation++;
	s->cleared = true;
	s->lost = s->has_track = s->has_thread = false;
	s->clock = 0;
	s->extra.count = s->extra_double.count = 0;
}

static void note_loss(struct perfetto *p, struct sequence *s, const struct header *h)
{
	if (s->seen)
		output_damage(p->o, p->offset, 0, "packets before this one were lost when the trace was recorded");
	if (!h->cleared) {
		s->lost = true;
		s->has_thread = false;
	}
}

static int update_state(struct perfetto *p, struct sequence *s, const struct header *h)
{
	int rc = 0;

	if (h->dropped)
		note_loss(p, s, h);
	if (h->cleared)
		clear_state(p, s);
	s->seen = true;
	if (s->lost)
		return 0;
	if (h->defaults.data)
		rc = read_defaults(s, &h->defaults);
	if (rc == 0 && h->interned.data)
		rc = intern_read(p, s, pb_message(&h->interned));
	return rc;
}

/* ---- The content -------------------------------------------------------------- */

static int read_system_info(struct perfetto *p, struct cursor c)
{
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0)
		if (f.number == 17 && f.size)
			output_hostname(p->o, (const char *)f.data, f.size);
	return rc;
}

static int read_field(struct perfetto *p, const struct packet *packet, const struct pb_field *f)
{
	struct cursor c = pb_message(f);

	switch (f->number) {
	case PACKET_TRACK_EVENT:
		return track_event(p, packet, c);
	case PACKET_TRACK:
		return track_descriptor(p, packet->machine, c);
	case PACKET_FTRACE:
		return ftrace_bundle(p, packet, c);
	case PACKET_PROCESS_TREE:
		return track_process_tree(p, packet->machine, c);
	case PACKET_PROCESS:
		return track_process_descriptor(p, packet->machine, c);
	case PACKET_THREAD:
		return track_thread_descriptor(p, packet->sequence, packet->machine, c);
	case PACKET_GPU_STAGE:
		return gpu_render_stage(p, packet, c);
	case PACKET_GPU_COUNTERS:
		return gpu_counters(p, packet, c);
	case PACKET_GPU_MEMORY:
		return packet->has_time ? gpu_memory(p, packet->machine, packet->time, c) : 0;
	case PACKET_GPU_INFO:
		return packet->machine ? 0 : gpu_info(p, c);
	case PACKET_SYSTEM_INFO:
		return packet->machine ? 0 : read_system_info(p, c);
	default:
		return 0;
	}
}

int perfetto_packet(struct perfetto *p, const uint8_t *data, size_t size, bool inside)
{
	struct packet packet = { 0 };
	struct header h;
	int rc = read_header(data, size, &h);

	if (rc)
		return rc;
	if (h.compressed.data)
		return compressed(p, &h.compressed, inside);
	packet.machine = h.machine;
	packet.sequence = sequence_of(p, (uint32_t)h.sequence);
	if (!packet.sequence)
		return -EBADMSG;
	rc = update_state(p, packet.sequence, &h);
	if (rc == 0 && h.snapshot.data)
		return clock_snapshot(p, packet.sequence, packet.machine, pb_message(&h.snapshot));
	if (rc)
		return rc;
	if (h.flags & NEEDS_STATE && (packet.sequence->lost || !packet.sequence->cleared)) {
		output_report(p->o)->skipped++;
		return 0;
	}
	if (h.has_time) {
		uint32_t clock = h.clock ? (uint32_t)h.clock : packet.sequence->clock;

		packet.has_time = clock_convert(p, packet.sequence, packet.machine, clock, h.time, &packet.time);
		if (!packet.has_time) {
			perfetto_skip(p, "a packet whose clock is not known");
			return 0;
		}
	}
	for (unsigned i = 0; rc == 0 && i < h.content_count; i++)
		rc = read_field(p, &packet, &h.content[i]);
	return rc;
}
