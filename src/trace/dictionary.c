/* dictionary.c - see dictionary.h. */
#include "trace/dictionary.h"

#include <errno.h>
#include <stdlib.h>

#include "base/varint.h"
#include "trace/format.h"

#define ENTRY_MAX (8u << 20) /* a block of entries stays well below SBT_RAW_MAX */

void dictionary_release(struct dictionary *d)
{
	buffer_release(&d->log);
	buffer_release(&d->entry);
	free(d->strings);
	free(d->table);
	dictionary_functions_release(&d->functions);
	*d = (struct dictionary){ 0 };
}

/* ---- Entries ---- */

static void entry_begin(struct dictionary *d)
{
	buffer_clear(&d->entry);
}

/* Moves the finished body to the log; all or nothing. */
static int entry_end(struct dictionary *d, uint8_t type, int rc)
{
	if (rc == 0 && d->entry.size > ENTRY_MAX)
		rc = -E2BIG;
	if (rc == 0)
		rc = buffer_reserve(&d->log, d->entry.size + 11);
	if (rc)
		return rc;
	d->log.data[d->log.size++] = type;
	buffer_append_uv(&d->log, d->entry.size);
	return buffer_append(&d->log, d->entry.data, d->entry.size);
}

static int put_all(struct dictionary *d, int rc, const uint64_t *values, size_t count)
{
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = buffer_append_uv(&d->entry, values[i]);
	return rc;
}
#define PUT(d, rc, ...)                                                                                                \
	put_all(d, rc, (const uint64_t[]){ __VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static int put_u8(struct dictionary *d, int rc, uint8_t value)
{
	return rc ? rc : buffer_append(&d->entry, &value, 1);
}

/* Optional numbers are stored plus one. */
static uint64_t optional(int64_t value)
{
	return value < 0 ? 0 : (uint64_t)value + 1;
}

int dictionary_host(struct dictionary *d, const struct trace_host *host)
{
	entry_begin(d);
	return entry_end(d, SBT_HOST, PUT(d, 0, host->id, host->name, host->system, host->machine));
}

int dictionary_process(struct dictionary *d, const struct trace_process *p)
{
	entry_begin(d);
	return entry_end(d, SBT_PROCESS,
			 PUT(d, 0, p->id, p->host, p->pid, optional(p->parent), zigzag_encode(p->start),
			     zigzag_encode(p->end), p->flags, p->name, p->command, optional(p->rank)));
}

int dictionary_track(struct dictionary *d, const struct trace_track *t)
{
	int rc;

	entry_begin(d);
	rc = PUT(d, 0, t->id);
	rc = put_u8(d, rc, t->kind);
	return entry_end(d, SBT_TRACK,
			 PUT(d, rc, optional(t->process), t->os_id, t->serial, optional(t->device), optional(t->parent),
			     t->flags, t->name));
}

int dictionary_device(struct dictionary *d, const struct trace_device *device)
{
	int rc;

	entry_begin(d);
	rc = PUT(d, 0, device->id, device->host, device->index);
	rc = put_u8(d, rc, device->kind);
	rc = PUT(d, rc, device->name, device->properties_size);
	if (rc == 0)
		rc = buffer_append(&d->entry, device->properties, device->properties_size);
	return entry_end(d, SBT_DEVICE, rc);
}

int dictionary_clock(struct dictionary *d, const struct trace_clock *clock)
{
	int rc;

	entry_begin(d);
	rc = PUT(d, 0, clock->id);
	rc = put_u8(d, rc, clock->kind);
	return entry_end(d, SBT_CLOCK_DOMAIN, PUT(d, rc, clock->host, clock->rate, clock->name));
}

int dictionary_frame(struct dictionary *d, const struct trace_frame *f)
{
	if (f->id >= d->next_frame)
		d->next_frame = f->id + 1;
	entry_begin(d);
	return entry_end(d, SBT_FRAME, PUT(d, 0, f->id, f->function, f->file, f->line, f->module, f->address));
}

int dictionary_stack(struct dictionary *d, const struct trace_stack *stack)
{
	int rc;

	entry_begin(d);
	rc = PUT(d, 0, stack->id, stack->count);
	for (uint32_t i = 0; rc == 0 && i < stack->count; i++)
		rc = buffer_append_uv(&d->entry, stack->frames[i]);
	return entry_end(d, SBT_STACK, rc);
}

int dictionary_tie(struct dictionary *d, uint32_t string, uint32_t frame)
{
	entry_begin(d);
	return entry_end(d, SBT_FUNCTION, PUT(d, 0, string, frame));
}

size_t dictionary_cut(const struct dictionary *d, size_t from, size_t limit, uint32_t *ret_count)
{
	struct cursor c = cursor_of(from ? d->log.data + from : d->log.data, d->log.size - from);
	size_t end = from;

	*ret_count = 0;
	while (cursor_left(&c)) {
		cursor_u8(&c);
		cursor_bytes(&c, cursor_uv(&c));
		if ((size_t)(c.at - d->log.data) - from > limit)
			break;
		end = (size_t)(c.at - d->log.data);
		++*ret_count;
	}
	return end;
}

/* ---- Strings ---- */

/* FNV-1a: names are short. */
static uint32_t hash_text(const char *text, size_t size)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (uint8_t)text[i]) * 16777619u;
	return hash;
}

static int grow_table(struct dictionary *d)
{
	uint32_t size = d->table_size ? 2 * d->table_size : 256, *table = calloc(size, sizeof *table);

	if (!table)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->string_count; i++) {
		uint32_t at = d->strings[i].hash & (size - 1);

		if (d->strings[i].own)
			continue;
		while (table[at])
			at = (at + 1) & (size - 1);
		table[at] = i + 1;
	}
	free(d->table);
	d->table = table;
	d->table_size = size;
	return 0;
}

static int grow_strings(struct dictionary *d)
{
	uint32_t capacity = d->string_capacity ? 2 * d->string_capacity : 256;
	struct dictionary_string *strings = realloc(d->strings, capacity * sizeof *strings);

	if (!strings)
		return -ENOMEM;
	d->strings = strings;
	d->string_capacity = capacity;
	return 0;
}

static uint32_t add_string(struct dictionary *d, const char *text, size_t size, uint32_t hash)
{
	int rc;

	if (d->string_count == d->string_capacity && grow_strings(d))
		return 0;
	entry_begin(d);
	rc = PUT(d, 0, d->string_count + 1);
	if (rc == 0)
		rc = buffer_append(&d->entry, text, size);
	if (entry_end(d, SBT_STRING, rc))
		return 0;
	d->strings[d->string_count++] = (struct dictionary_string){ d->log.size - size, (uint32_t)size, hash, false };
	return d->string_count;
}

uint32_t dictionary_own_string(struct dictionary *d, const char *text, size_t size)
{
	uint32_t number = add_string(d, text, size < TRACE_STRING_MAX ? size : TRACE_STRING_MAX, 0);

	if (number)
		d->strings[number - 1].own = true;
	return number;
}

uint32_t dictionary_string(struct dictionary *d, const char *text, size_t size)
{
	uint32_t hash, at, number;

	if (size == 0)
		text = "";
	if (size > TRACE_STRING_MAX)
		size = TRACE_STRING_MAX;
	if (2 * (d->string_count + 1) > d->table_size && grow_table(d))
		return 0;
	hash = hash_text(text, size);
	for (at = hash & (d->table_size - 1); d->table[at]; at = (at + 1) & (d->table_size - 1)) {
		const struct dictionary_string *s = &d->strings[d->table[at] - 1];

		if (s->hash == hash && s->size == size && memcmp(d->log.data + s->offset, text, size) == 0)
			return d->table[at];
	}
	number = add_string(d, text, size, hash);
	if (number)
		d->table[at] = number;
	return number;
}

/* ---- Names of kinds, as people and descriptions of devices have them ---- */

const char *trace_track_kind_name(unsigned kind)
{
	static const char *const names[] = { NULL, "thread", "stream", "task", "process", "device", "states", "host" };

	return kind < sizeof names / sizeof names[0] ? names[kind] : NULL;
}

const char *trace_device_kind_name(unsigned kind)
{
	static const char *const names[] = { NULL, "cuda", "opencl", "hip", "other" };

	return kind < sizeof names / sizeof names[0] ? names[kind] : NULL;
}
