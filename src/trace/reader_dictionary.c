/*
 * reader_dictionary.c - strings, tracks, processes... by number.
 */
#include <errno.h>
#include <stdlib.h>

#include "trace/reader_state.h"

#define TEXT_MAX ((uint64_t)1 << 30) /* bytes of strings and the like, all together */
#define NUMBER_SLACK 65536u
#define NOT_STORED 1 /* the entry is well-formed; this was only a look at it */

void reader_dictionary_init(struct trace_reader *r)
{
	r->strings.size = sizeof(struct reader_string);
	r->hosts.size = sizeof(struct trace_host);
	r->processes.size = sizeof(struct trace_process);
	r->tracks.size = sizeof(struct trace_track);
	r->devices.size = sizeof(struct trace_device);
	r->clocks.size = sizeof(struct trace_clock);
	r->frames.size = sizeof(struct trace_frame);
	r->stacks.size = sizeof(struct trace_stack);
}

static void table_release(struct entry_table *t)
{
	free(t->entries);
	free(t->known);
	t->entries = NULL;
	t->known = NULL;
	t->count = t->capacity = t->filled = 0;
}

void reader_dictionary_release(struct trace_reader *r)
{
	for (size_t i = 0; i < r->strings.count; i++)
		free(((struct reader_string *)r->strings.entries)[i].text);
	for (size_t i = 0; i < r->devices.count; i++)
		free((void *)((struct trace_device *)r->devices.entries)[i].properties);
	for (size_t i = 0; i < r->stacks.count; i++)
		free((void *)((struct trace_stack *)r->stacks.entries)[i].frames);
	table_release(&r->strings);
	table_release(&r->hosts);
	table_release(&r->processes);
	table_release(&r->tracks);
	table_release(&r->devices);
	table_release(&r->clocks);
	table_release(&r->frames);
	table_release(&r->stacks);
}

static int table_grow(struct entry_table *t, size_t need)
{
	size_t capacity = t->capacity ? t->capacity : 64;
	uint8_t *entries;
	bool *known;

	while (capacity < need)
		capacity *= 2;
	entries = realloc(t->entries, capacity * t->size);
	if (entries)
		t->entries = entries;
	known = realloc(t->known, capacity * sizeof *known);
	if (known)
		t->known = known;
	if (!entries || !known)
		return -ENOMEM;
	memset(t->entries + t->capacity * t->size, 0, (capacity - t->capacity) * t->size);
	memset(t->known + t->capacity, 0, (capacity - t->capacity) * sizeof *known);
	t->capacity = capacity;
	return 0;
}

/*
 * The place for an entry.  Numbers are dense, so a table is an array; one that
 * jumps ahead by more than a damaged block can explain is refused, so that the
 * array never grows by a mere claim.
 */
static int reserve_entry(const struct trace_reader *r, struct entry_table *t, uint64_t number, void *ret)
{
	uint8_t *entry;

	if (r->dictionary_check)
		return NOT_STORED;
	if (number > 2 * t->filled + NUMBER_SLACK || number >= UINT32_MAX)
		return -EBADMSG;
	if (number >= t->capacity && table_grow(t, number + 1))
		return -ENOMEM;
	t->filled += !t->known[number];
	t->known[number] = true;
	t->count = number >= t->count ? number + 1 : t->count;
	entry = t->entries + number * t->size;
	memcpy(ret, &entry, sizeof entry);
	return 0;
}

static const void *find_entry(const struct entry_table *t, uint32_t number)
{
	return number < t->count && t->known[number] ? t->entries + number * t->size : NULL;
}

/* ---- Entries ---- */

static int64_t read_optional(struct cursor *in)
{
	uint64_t value = cursor_uv(in);

	return value > INT64_MAX ? -1 : (int64_t)value - 1;
}

static uint32_t read_u32(struct cursor *in)
{
	uint64_t value = cursor_uv(in);

	return value > UINT32_MAX ? (uint32_t)cursor_fail(in) : (uint32_t)value;
}

/* Memory for contents of the dictionary, counted against the limit. */
static void *keep_room(struct trace_reader *r, size_t size)
{
	void *room = r->dictionary_bytes + size < TEXT_MAX ? malloc(size + 1) : NULL;

	if (room)
		r->dictionary_bytes += size;
	return room;
}

/* A copy with a zero after it. */
static void *keep(struct trace_reader *r, const void *data, size_t size)
{
	uint8_t *copy = keep_room(r, size);

	if (!copy)
		return NULL;
	if (size)
		memcpy(copy, data, size);
	copy[size] = 0;
	return copy;
}

static int read_string(struct trace_reader *r, struct cursor *in)
{
	uint64_t number = cursor_uv(in);
	size_t size = cursor_left(in);
	struct reader_string *s;
	char *text;
	int rc = in->bad || number == 0 ? -EBADMSG : reserve_entry(r, &r->strings, number, &s);

	if (rc || (s->text && s->size == size && memcmp(s->text, in->at, size) == 0))
		return rc;
	text = keep(r, in->at, size);
	if (!text)
		return -ENOMEM;
	free(s->text);
	s->text = text;
	s->size = (uint32_t)size;
	return 0;
}

static int read_host(struct trace_reader *r, struct cursor *in)
{
	struct trace_host h = { .id = read_u32(in) }, *at;
	int rc;

	h.name = read_u32(in);
	h.system = read_u32(in);
	h.machine = read_u32(in);
	rc = in->bad ? -EBADMSG : reserve_entry(r, &r->hosts, h.id, &at);
	if (rc == 0)
		*at = h;
	return rc;
}

static int read_process(struct trace_reader *r, struct cursor *in)
{
	struct trace_process p = { .id = read_u32(in) }, *at;
	int rc;

	p.host = read_u32(in);
	p.pid = cursor_uv(in);
	p.parent = read_optional(in);
	p.start = cursor_sv(in);
	p.end = cursor_sv(in);
	p.flags = (uint32_t)cursor_uv(in);
	p.name = read_u32(in);
	p.command = read_u32(in);
	p.rank = cursor_left(in) > 0 ? read_optional(in) : -1; /* since 1.2 */
	rc = in->bad ? -EBADMSG : reserve_entry(r, &r->processes, p.id, &at);
	if (rc == 0)
		*at = p;
	return rc;
}

static int read_track(struct trace_reader *r, struct cursor *in)
{
	struct trace_track t = { .id = read_u32(in) }, *at;
	int rc;

	t.kind = cursor_u8(in);
	t.process = read_optional(in);
	t.os_id = cursor_uv(in);
	t.serial = cursor_uv(in);
	t.device = read_optional(in);
	t.parent = read_optional(in);
	t.flags = (uint32_t)cursor_uv(in);
	t.name = read_u32(in);
	rc = in->bad || t.id >= TRACE_TRACK_MAX ? -EBADMSG : reserve_entry(r, &r->tracks, t.id, &at);
	if (rc == 0)
		*at = t;
	return rc;
}

static int read_device(struct trace_reader *r, struct cursor *in)
{
	struct trace_device d = { .id = read_u32(in) }, *at;
	const void *properties;
	int rc;

	d.host = read_u32(in);
	d.index = read_u32(in);
	d.kind = cursor_u8(in);
	d.name = read_u32(in);
	d.properties_size = cursor_uv(in);
	properties = cursor_bytes(in, d.properties_size);
	rc = in->bad ? -EBADMSG : reserve_entry(r, &r->devices, d.id, &at);
	if (rc)
		return rc;
	d.properties = keep(r, properties, d.properties_size);
	if (!d.properties)
		return -ENOMEM;
	free((void *)at->properties);
	*at = d;
	return 0;
}

static int read_clock_domain(struct trace_reader *r, struct cursor *in)
{
	struct trace_clock c = { .id = read_u32(in) }, *at;
	int rc;

	c.kind = cursor_u8(in);
	c.host = read_u32(in);
	c.rate = cursor_uv(in);
	c.name = read_u32(in);
	rc = in->bad || c.id >= TRACE_DOMAIN_MAX ? -EBADMSG : reserve_entry(r, &r->clocks, c.id, &at);
	if (rc == 0)
		*at = c;
	return rc;
}

static int read_frame(struct trace_reader *r, struct cursor *in)
{
	struct trace_frame f = { .id = read_u32(in) }, *at;
	int rc;

	f.function = read_u32(in);
	f.file = read_u32(in);
	f.line = read_u32(in);
	f.module = read_u32(in);
	f.address = cursor_uv(in);
	rc = in->bad ? -EBADMSG : reserve_entry(r, &r->frames, f.id, &at);
	if (rc == 0)
		*at = f;
	return rc;
}

static int read_stack(struct trace_reader *r, struct cursor *in)
{
	struct trace_stack s = { .id = read_u32(in) }, *at;
	struct cursor ahead;
	uint32_t *frames;
	int rc;

	s.count = read_u32(in);
	ahead = *in;
	for (uint32_t i = 0; i < s.count && !ahead.bad; i++)
		read_u32(&ahead);
	rc = ahead.bad ? -EBADMSG : reserve_entry(r, &r->stacks, s.id, &at);
	if (rc)
		return rc;
	frames = keep_room(r, (size_t)s.count * sizeof *frames);
	if (!frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < s.count; i++)
		frames[i] = read_u32(in);
	free((void *)at->frames);
	s.frames = frames;
	*at = s;
	return 0;
}

/* The string may come later in the same block. */
static int read_function(struct trace_reader *r, struct cursor *in)
{
	uint32_t string = read_u32(in), frame = read_u32(in);
	struct reader_string *s;
	int rc = in->bad || string == 0 || frame == UINT32_MAX ? -EBADMSG : reserve_entry(r, &r->strings, string, &s);

	if (rc == 0)
		s->frame = frame + 1;
	return rc;
}

typedef int (*entry_fn)(struct trace_reader *r, struct cursor *in);
static const entry_fn entry_readers[] = {
	[SBT_STRING] = read_string, [SBT_HOST] = read_host,     [SBT_PROCESS] = read_process,
	[SBT_TRACK] = read_track,   [SBT_DEVICE] = read_device, [SBT_CLOCK_DOMAIN] = read_clock_domain,
	[SBT_FRAME] = read_frame,   [SBT_STACK] = read_stack,   [SBT_FUNCTION] = read_function,
};

static int read_entries(struct trace_reader *r, struct cursor in)
{
	int rc = 0;

	while (rc >= 0 && cursor_left(&in)) {
		uint8_t type = cursor_u8(&in);
		uint64_t size = cursor_uv(&in);
		const uint8_t *data = cursor_bytes(&in, size);
		struct cursor body = cursor_of(data, data ? size : 0);

		if (data && type < sizeof entry_readers / sizeof *entry_readers && entry_readers[type])
			rc = entry_readers[type](r, &body);
	}
	return rc < 0 ? rc : in.bad ? -EBADMSG : 0;
}

/* A block is read whole or not at all. */
int reader_read_dictionary(struct trace_reader *r, struct cursor *in)
{
	int rc;

	r->dictionary_check = true;
	rc = read_entries(r, *in);
	r->dictionary_check = false;
	return rc ? rc : read_entries(r, *in);
}

/* ---- Looking up ---- */

const char *trace_reader_string(const struct trace_reader *r, uint32_t id, size_t *ret_size)
{
	const struct reader_string *s = find_entry(&r->strings, id);

	if (ret_size)
		*ret_size = s && s->text ? s->size : 0;
	return s && s->text ? s->text : "";
}

size_t trace_reader_string_count(const struct trace_reader *r)
{
	return r->strings.count ? r->strings.count : 1;
}

size_t trace_reader_process_count(const struct trace_reader *r)
{
	return r->processes.count;
}

const struct trace_process *trace_reader_process(const struct trace_reader *r, uint32_t id)
{
	return find_entry(&r->processes, id);
}

size_t trace_reader_track_count(const struct trace_reader *r)
{
	return r->tracks.count;
}

const struct trace_track *trace_reader_track(const struct trace_reader *r, uint32_t id)
{
	return find_entry(&r->tracks, id);
}

size_t trace_reader_host_count(const struct trace_reader *r)
{
	return r->hosts.count;
}

const struct trace_host *trace_reader_host(const struct trace_reader *r, uint32_t id)
{
	return find_entry(&r->hosts, id);
}

size_t trace_reader_device_count(const struct trace_reader *r)
{
	return r->devices.count;
}

const struct trace_device *trace_reader_device(const struct trace_reader *r, uint32_t id)
{
	return find_entry(&r->devices, id);
}

size_t trace_reader_clock_count(const struct trace_reader *r)
{
	return r->clocks.count;
}

const struct trace_clock *trace_reader_clock(const struct trace_reader *r, uint32_t id)
{
	return find_entry(&r->clocks, id);
}

size_t trace_reader_stack_count(const struct trace_reader *r)
{
	return r->stacks.count;
}

const struct trace_stack *trace_reader_stack(const struct trace_reader *r, uint32_t id)
{
	return find_entry(&r->stacks, id);
}

size_t trace_reader_frame_count(const struct trace_reader *r)
{
	return r->frames.count;
}

const struct trace_frame *trace_reader_frame(const struct trace_reader *r, uint32_t id)
{
	return find_entry(&r->frames, id);
}

const struct trace_frame *trace_reader_function(const struct trace_reader *r, uint32_t string)
{
	const struct reader_string *s = find_entry(&r->strings, string);

	return s && s->frame ? trace_reader_frame(r, s->frame - 1) : NULL;
}
