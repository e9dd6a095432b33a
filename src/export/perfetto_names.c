/* perfetto_names.c - sequences, and the names that their packets refer to by number. */
#include <errno.h>
#include <stdlib.h>

#include "export/perfetto.h"
#include "ring/event.h"

#define ARGS_MAX 65536u /* keys of metadata that have a number; others are written out */
#define FLAG_CLEARED 1u
#define FLAG_NEEDS_STATE 2u

/* Fields of TracePacket and InternedData. */
enum { PACKET_SNAPSHOT = 6, PACKET_SEQUENCE = 10, PACKET_INTERNED = 12, PACKET_FLAGS = 13, PACKET_DEFAULTS = 59 };
enum { INTERN_CATEGORY = 1, INTERN_NAME = 2, INTERN_ARG = 3, INTERN_SOURCE = 4 };

/* ---- Sequences ------------------------------------------------------------------- */

struct pf_sequence *pf_sequence_new(struct pf *p)
{
	struct pf_sequence *s;

	if (p->sequence_count >= PF_SEQUENCES_MAX && p->shared)
		return p->shared;
	s = calloc(1, sizeof *s);
	if (!s) {
		pf_check(p, -ENOMEM);
		return NULL;
	}
	s->prefix_size = (uint8_t)(proto_put_number(s->prefix, PACKET_SEQUENCE, ++p->sequence_count) - s->prefix);
	s->prefix_size =
		(uint8_t)(proto_put_number(s->prefix + s->prefix_size, PACKET_FLAGS, FLAG_NEEDS_STATE) - s->prefix);
	if (p->sequence_count >= PF_SEQUENCES_MAX) {
		s->shared = true;
		p->shared = s;
	}
	return s;
}

struct pf_sequence *pf_sequence_plain(struct pf *p)
{
	struct pf_sequence *s = pf_sequence_new(p);

	if (s)
		s->prefix_size = (uint8_t)(s->prefix_size - 2); /* the flags */
	return s;
}

void pf_sequence_free(struct pf_sequence *s)
{
	if (!s)
		return;
	free(s->names.words);
	free(s->functions.words);
	free(s->keys.words);
	free(s);
}

static int put_reading(struct buffer *out, uint32_t clock, int64_t ns, bool incremental)
{
	size_t opened = proto_open(out);
	int rc = proto_number(out, 1, clock) | proto_number(out, 2, (uint64_t)ns);

	if (incremental)
		rc |= proto_number(out, 3, 1);
	return rc | proto_close(out, 1, opened);
}

/* What its packets have when they do not say: the track, and the clock. */
static void put_defaults(struct pf *p, const struct pf_sequence *s, uint64_t uuid, struct buffer *out)
{
	size_t opened = proto_open(out);

	pf_check(p, proto_number(out, 58, s->shared ? p->clock : PF_CLOCK));
	if (uuid && !s->shared) {
		size_t inner = proto_open(out);

		pf_check(p, proto_number(out, 11, uuid) | proto_close(out, 11, inner));
	}
	pf_check(p, proto_close(out, PACKET_DEFAULTS, opened));
}

/* The state begins: nothing is interned, and the clock stands at ns. */
void pf_sequence_begin(struct pf *p, struct pf_sequence *s, int64_t ns, uint64_t default_uuid)
{
	struct buffer packet = BUFFER_INIT;
	size_t snapshot;

	if (s->begun)
		return;
	s->begun = true;
	s->last = ns;
	pf_check(p, buffer_append(&packet, s->prefix, s->prefix_size));
	if (p->failure == 0)
		packet.data[packet.size - 1] =
			FLAG_CLEARED | FLAG_NEEDS_STATE; /* the last of its prefix are the flags */
	put_defaults(p, s, default_uuid, &packet);
	snapshot = proto_open(&packet);
	if (!s->shared)
		pf_check(p, put_reading(&packet, PF_CLOCK, ns, true) | put_reading(&packet, p->clock, ns, false));
	if (!s->shared)
		pf_check(p, proto_close(&packet, PACKET_SNAPSHOT, snapshot));
	pf_check(p, proto_close(&packet, 1, 0));
	if (pf_room(p, packet.size)) {
		memcpy(p->raw.data + p->raw.size, packet.data, packet.size);
		p->raw.size += packet.size;
	}
	buffer_release(&packet);
}

/* ---- What has been said ------------------------------------------------------------ */

bool pf_bit_set(struct pf *p, struct pf_bits *bits, size_t i)
{
	bool was = pf_bit(bits, i);

	if (i / 64 >= bits->count) {
		size_t count = bits->count ? bits->count : 4;
		uint64_t *words;

		while (count <= i / 64)
			count *= 2;
		words = realloc(bits->words, count * sizeof *words);
		if (!words) {
			pf_check(p, -ENOMEM);
			return false;
		}
		memset(words + bits->count, 0, (count - bits->count) * sizeof *words);
		bits->words = words;
		bits->count = count;
	}
	bits->words[i / 64] |= (uint64_t)1 << i % 64;
	return !was;
}

void pf_say(struct pf *p, struct pf_sequence *s, uint32_t table, uint64_t iid, const char *text, size_t size)
{
	struct buffer body = BUFFER_INIT;

	pf_check(p, proto_number(&body, 1, iid) | proto_text(&body, 2, text, size) | proto_close(&body, table, 0));
	if (p->failure == 0)
		pf_packet(p, s, PACKET_INTERNED, &body);
	buffer_release(&body);
}

/* Where the function is that a name stands for; events refer to it by the name's number. */
static void say_function(struct pf *p, struct pf_sequence *s, uint32_t name, const struct trace_frame *frame)
{
	struct buffer body = BUFFER_INIT, function = BUFFER_INIT;
	size_t size, module_size;
	const char *text = trace_reader_string(p->reader, frame->file, &size);
	const char *module = trace_reader_string(p->reader, frame->module, &module_size);
	int rc = proto_number(&body, 1, name) | proto_text(&body, 2, text, size);

	text = trace_reader_string(p->reader, frame->function, &size);
	if (module_size == 8 && memcmp(module, "builtins", 8) == 0) /* which the name does not say */
		rc |= buffer_append(&function, "builtins.", 9);
	rc |= buffer_append(&function, text, size) | proto_text(&body, 3, (const char *)function.data, function.size) |
	      proto_number(&body, 4, frame->line) | proto_close(&body, INTERN_SOURCE, 0);
	pf_check(p, rc);
	if (p->failure == 0)
		pf_packet(p, s, PACKET_INTERNED, &body);
	buffer_release(&body);
	buffer_release(&function);
}

void pf_say_name(struct pf *p, struct pf_sequence *s, uint32_t name)
{
	size_t size;
	const char *text = trace_reader_string(p->reader, name, &size);
	const struct trace_frame *frame = trace_reader_function(p->reader, name);

	if (!pf_bit_set(p, &s->names, name))
		return;
	pf_say(p, s, INTERN_NAME, name, text, size);
	if (frame && pf_bit_set(p, &s->functions, name))
		say_function(p, s, name, frame);
}

/* Kineto's words where it has one, else ours, marked as such where they could be anybody's; the importer knows them
 * all. */
static const char *category_of(uint8_t kind)
{
	switch (kind) {
	case EVENT_SCOPE:
		return "user_annotation";
	case EVENT_OP:
		return "cpu_op";
	case EVENT_MEMSET:
		return "gpu_memset";
	case EVENT_SYNC:
		return "cuda_sync";
	case EVENT_INSTANT:
		return "inferscope.instant";
	case EVENT_COUNTER:
		return "inferscope.counter";
	case EVENT_COLLECTIVE:
		return "inferscope.collective";
	case EVENT_FLOW:
		return "inferscope.flow";
	case EVENT_LOST:
		return "inferscope.lost";
	default:
		return event_kind_name(kind) ? event_kind_name(kind) : "unknown";
	}
}

void pf_say_kind(struct pf *p, struct pf_sequence *s, uint8_t kind)
{
	const char *text = category_of(kind);

	s->kinds |= 1u << pf_category(kind);
	pf_say(p, s, INTERN_CATEGORY, pf_category(kind), text, strlen(text));
}

uint32_t pf_field_name(struct pf *p, struct pf_sequence *s, unsigned field)
{
	if (!(s->fields >> field & 1)) {
		const char *text = event_field_name(field) ? event_field_name(field) : "unknown";

		s->fields |= (uint64_t)1 << field;
		pf_say(p, s, INTERN_ARG, PF_ARG_FIELD + field, text, strlen(text));
	}
	return PF_ARG_FIELD + field;
}

/* ---- Keys of metadata --------------------------------------------------------------- */

static void hash_text(const char *text, size_t size, uint64_t *ret_a, uint64_t *ret_b)
{
	uint64_t a = 0xcbf29ce484222325u, b = size + 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i < size; i++) {
		a = (a ^ (uint8_t)text[i]) * 0x100000001b3u;
		b = (b + (uint8_t)text[i]) * 0xff51afd7ed558ccdu;
		b ^= b >> 29;
	}
	*ret_a = a;
	*ret_b = b;
}

/* 0: there are too many, it has to be written out.  Keys are told apart by 128 bits of hash. */
uint32_t pf_key_name(struct pf *p, struct pf_sequence *s, const char *text, size_t size)
{
	uint64_t a, b, known;

	hash_text(text, size, &a, &b);
	known = pf_map_get(&p->args, a, b);
	if (!known) {
		if (p->arg_count >= ARGS_MAX)
			return 0;
		known = PF_ARG_KEY + p->arg_count++;
		pf_check(p, pf_map_put(&p->args, a, b, known));
	}
	if (pf_bit_set(p, &s->keys, known - PF_ARG_KEY))
		pf_say(p, s, INTERN_ARG, known, text, size);
	return (uint32_t)known;
}

/* ---- Maps ----------------------------------------------------------------------------- */

static size_t slot_of(const struct pf_map *map, uint64_t a, uint64_t b)
{
	uint64_t hash = (a * 0x9e3779b97f4a7c15u ^ b) * 0xff51afd7ed558ccdu;
	size_t at = (size_t)(hash >> 20) & (map->capacity - 1);

	while (map->keys[at].value && (map->keys[at].a != a || map->keys[at].b != b))
		at = (at + 1) & (map->capacity - 1);
	return at;
}

uint64_t pf_map_get(const struct pf_map *map, uint64_t a, uint64_t b)
{
	return map->capacity ? map->keys[slot_of(map, a, b)].value : 0;
}

static int grow(struct pf_map *map)
{
	struct pf_map larger = { .capacity = map->capacity ? 2 * map->capacity : 64, .used = map->used };

	larger.keys = calloc(larger.capacity, sizeof *larger.keys);
	if (!larger.keys)
		return -ENOMEM;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->keys[i].value)
			larger.keys[slot_of(&larger, map->keys[i].a, map->keys[i].b)] = map->keys[i];
	free(map->keys);
	*map = larger;
	return 0;
}

int pf_map_put(struct pf_map *map, uint64_t a, uint64_t b, uint64_t value)
{
	size_t at;

	if (2 * (map->used + 1) > map->capacity && grow(map))
		return -ENOMEM;
	at = slot_of(map, a, b);
	map->used += !map->keys[at].value;
	map->keys[at] = (struct pf_key){ a, b, value };
	return 0;
}
