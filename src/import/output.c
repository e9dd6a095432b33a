/* output.c - see output.h: files, and what they say of themselves. */
#include "import/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/msgpack.h"
#include "import/output_state.h"

#define PRODUCER "inferscope " INFERSCOPE_VERSION

int output_new(struct output **ret, struct trace_writer *writer, const struct import_options *options)
{
	struct output *o = calloc(1, sizeof *o);

	if (!o)
		return -ENOMEM;
	o->writer = writer;
	o->options = *options;
	o->nameless_host = OUTPUT_NONE;
	*ret = o;
	return 0;
}

void output_free(struct output *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->device_count; i++)
		free((void *)o->devices[i].entry.properties);
	free(o->processes);
	free(o->tracks);
	free(o->devices);
	free(o->hosts);
	output_map_release(&o->process_map);
	output_map_release(&o->thread_map);
	output_map_release(&o->device_map);
	output_map_release(&o->stream_map);
	output_string_cache_free(o->cache);
	buffer_release(&o->cut);
	buffer_release(&o->hostname);
	buffer_release(&o->properties);
	buffer_release(&o->sources);
	free(o);
}

/* ---- The file at hand -------------------------------------------------------- */

static void forget_file(struct output *o)
{
	output_map_clear(&o->process_map);
	output_map_clear(&o->thread_map);
	output_map_clear(&o->device_map);
	output_map_clear(&o->stream_map);
	buffer_clear(&o->hostname);
	buffer_clear(&o->properties);
	o->property_count = 0;
	o->host = OUTPUT_NONE;
	o->rank = o->world_size = -1;
	o->has_base = o->late_base = o->begun = o->aligned = o->absolute = false;
	o->base = o->add = o->offset = 0;
}

int output_begin_file(struct output *o, const char *path, struct import_report *report, struct error *err)
{
	if (o->failure)
		return error_errno(err, o->failure, "cannot write the trace");
	if (o->source_count >= TRACE_DOMAIN_MAX)
		return error_set(err, -E2BIG, "%s is one file too many: a trace is made of at most %u", path, TRACE_DOMAIN_MAX);
	forget_file(o);
	o->report = report;
	o->domain = o->options.joined ? 0 : o->source_count;
	o->first_process = o->process_count;
	o->first_track = o->track_count;
	o->first_device = o->device_count;
	return 0;
}

void output_format(struct output *o, enum import_format format)
{
	o->report->format = format;
}

void output_base_time(struct output *o, int64_t ns)
{
	if (o->begun) {
		o->late_base = !o->has_base || o->base != ns;
		o->late_base_ns = ns;
		return;
	}
	o->base = ns;
	o->has_base = true;
}

void output_property(struct output *o, const char *key, const void *msgpack, size_t size)
{
	size_t before = o->properties.size;

	if (msgpack_validate(msgpack, size) || before + strlen(key) + size > OUTPUT_PROPERTIES_MAX) {
		o->report->cut++;
		return;
	}
	if (msgpack_write_text(&o->properties, key) || buffer_append(&o->properties, msgpack, size)) {
		o->properties.size = before;
		output_fail(o, -ENOMEM);
		return;
	}
	o->property_count++;
}

bool output_lean(const struct output *o)
{
	return o->options.lean;
}

int output_failure(const struct output *o)
{
	return o->failure;
}

struct import_report *output_report(struct output *o)
{
	return o->report;
}

void output_damage(struct output *o, uint64_t offset, uint64_t size, const char *reason)
{
	struct import_report *r = o->report;

	if (r->damage_count < IMPORT_DAMAGE_LISTED) {
		struct import_damage *d = &r->damage[r->damage_count];

		d->offset = offset;
		d->size = size;
		strncpy(d->reason, reason, sizeof d->reason - 1);
		d->reason[sizeof d->reason - 1] = 0;
	}
	r->damage_count++;
	r->damage_bytes += size;
}

/* ---- What is said of a source ------------------------------------------------- */

/* A map under construction: pairs, counted. */
struct pairs {
	struct buffer *buf;
	uint32_t count;
	int rc;
};

static void put_key(struct pairs *p, const char *key)
{
	p->count++;
	p->rc = p->rc ? p->rc : msgpack_write_text(p->buf, key);
}

static void put_integer(struct pairs *p, const char *key, int64_t value)
{
	put_key(p, key);
	p->rc = p->rc ? p->rc : msgpack_write_int(p->buf, value);
}

static void put_count(struct pairs *p, const char *key, uint64_t value)
{
	put_key(p, key);
	p->rc = p->rc ? p->rc : msgpack_write_uint(p->buf, value);
}

static void put_string(struct pairs *p, const char *key, const char *text, size_t size)
{
	put_key(p, key);
	p->rc = p->rc ? p->rc : msgpack_write_string(p->buf, text, size);
}

static void put_true(struct pairs *p, const char *key)
{
	put_key(p, key);
	p->rc = p->rc ? p->rc : msgpack_write_bool(p->buf, true);
}

static void put_times(struct pairs *p, const struct output *o)
{
	if (o->has_base || o->aligned || o->late_base)
		put_integer(p, "base_time_ns", (int64_t)((uint64_t)o->add + (uint64_t)o->offset));
	if (o->aligned)
		put_string(p, "aligned", "start", 5);
}

static void put_source(struct pairs *p, const struct output *o)
{
	const struct import_report *r = o->report;
	const char *format = import_format_name(r->format);

	put_string(p, "path", r->path, strlen(r->path));
	put_string(p, "format", format, strlen(format));
	put_count(p, "events", r->events);
	put_count(p, "skipped", r->skipped);
	if (r->left_out)
		put_count(p, "left_out", r->left_out);
	put_count(p, "repaired", r->repaired);
	put_count(p, "bytes", r->bytes);
	put_count(p, "domain", o->domain);
	if (o->rank >= 0)
		put_integer(p, "rank", o->rank);
	if (o->world_size >= 0)
		put_integer(p, "world_size", o->world_size);
	if (o->hostname.size)
		put_string(p, "hostname", (const char *)o->hostname.data, o->hostname.size);
	put_times(p, o);
	if (r->truncated)
		put_true(p, "truncated");
	if (o->property_count == 0)
		return;
	put_key(p, "properties");
	p->rc = p->rc ? p->rc : msgpack_write_map(p->buf, o->property_count);
	p->rc = p->rc ? p->rc : buffer_append(p->buf, o->properties.data, o->properties.size);
}

/* Appends a map of the pairs. */
static int append_map(struct buffer *to, const struct pairs *pairs)
{
	size_t before = to->size;
	int rc = pairs->rc;

	rc = rc ? rc : msgpack_write_map(to, pairs->count);
	rc = rc ? rc : buffer_append(to, pairs->buf->data, pairs->buf->size);
	if (rc)
		to->size = before;
	return rc;
}

/* Events cannot be moved any more when a base time comes after them, but their clock can. */
static int settle_late_base(struct output *o, struct error *err)
{
	uint64_t shift = o->shifted ? (uint64_t)o->shift : 0;
	struct trace_clock_pair pair = { .ticks = o->first_time };

	if (!o->late_base || o->report->events == 0)
		return 0;
	o->offset = (int64_t)((uint64_t)o->late_base_ns + shift - (uint64_t)o->add);
	if (__builtin_add_overflow(pair.ticks, o->offset, &pair.raw_ns)) {
		o->offset = 0; /* a number that means nothing */
		return 0;
	}
	pair.realtime_ns = o->shifted ? 0 : pair.raw_ns;
	o->absolute = true;
	o->aligned = o->shifted;
	return trace_writer_clock_pairs(o->writer, o->domain, &pair, 1, err);
}

static void note_start(struct output *o)
{
	int64_t *start = o->absolute ? &o->absolute_start : &o->relative_start, first, ticks;
	bool *has = o->absolute ? &o->absolute_known : &o->relative_known;

	if (o->report->events == 0)
		return;
	if (o->domain == 0)
		o->first_offset = o->offset;
	first = (int64_t)((uint64_t)o->first_time + (uint64_t)o->offset);
	ticks = (int64_t)((uint64_t)first - (uint64_t)o->first_offset);
	if (!*has || first < *start)
		*start = first;
	*has = true;
	if (!o->has_start || ticks < o->start)
		o->start = ticks;
	o->has_start = true;
}

int output_end_file(struct output *o, struct error *err)
{
	struct buffer scratch = BUFFER_INIT;
	struct pairs pairs = { .buf = &scratch };
	int rc = output_write_entries(o);

	if (rc == 0 && o->begun)
		rc = output_write_clock(o);
	if (rc == 0)
		rc = settle_late_base(o, err);
	note_start(o);
	if (rc == 0) {
		put_source(&pairs, o);
		rc = append_map(&o->sources, &pairs);
	}
	buffer_release(&scratch);
	if (rc == 0)
		rc = o->failure;
	if (rc)
		return error_errno(err, output_fail(o, rc), "cannot write the trace");
	o->source_count++;
	return 0;
}

int output_end(struct output *o, struct error *err)
{
	struct buffer scratch = BUFFER_INIT, map = BUFFER_INIT;
	struct pairs pairs = { .buf = &scratch };
	int rc;

	put_string(&pairs, "producer", PRODUCER, sizeof PRODUCER - 1);
	if (o->has_start)
		put_integer(&pairs, "start_ticks", o->start);
	put_true(&pairs, "complete");
	if (o->names_refused)
		put_count(&pairs, "names_refused", o->names_refused);
	put_key(&pairs, "sources");
	pairs.rc = pairs.rc ? pairs.rc : msgpack_write_array(&scratch, o->source_count);
	pairs.rc = pairs.rc ? pairs.rc : buffer_append(&scratch, o->sources.data, o->sources.size);
	rc = append_map(&map, &pairs);
	if (rc)
		error_set(err, rc, "out of memory");
	else
		rc = trace_writer_info(o->writer, map.data, map.size, err);
	buffer_release(&scratch);
	buffer_release(&map);
	return rc;
}
