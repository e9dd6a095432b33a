/*
 * perfetto.c - the file: finds its packets, and what lies between them.
 *
 * A trace is a row of packets, each a length and that many bytes.  Where that
 * does not hold, the next packet is looked for: one that has the fields of a
 * packet, and after which another or the end follows.
 */
#include "import/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/importer.h"
#include "import/stream.h"

#define PACKET_TAG 0x0a /* field 1, bytes */
#define HEAD_MAX 11     /* tag and length */
#define TEXT_LOOK 256u

/* What the bytes at hand begin with. */
struct found {
	enum { FOUND_PACKET, FOUND_PART, FOUND_GARBAGE } what;
	size_t head;
	uint64_t size;
};

static struct found look(const uint8_t *data, size_t size)
{
	struct cursor c = cursor_of(data, size);
	uint64_t length;

	if (cursor_u8(&c) != PACKET_TAG)
		return (struct found){ FOUND_GARBAGE, 0, 0 };
	length = cursor_uv(&c);
	if (c.bad)
		return (struct found){ size < HEAD_MAX ? FOUND_PART : FOUND_GARBAGE, 0, 0 };
	if (length > PERFETTO_PACKET_MAX)
		return (struct found){ FOUND_GARBAGE, 0, 0 };
	return (struct found){ length > cursor_left(&c) ? FOUND_PART : FOUND_PACKET, (size_t)(c.at - data), length };
}

static bool packet_follows(const uint8_t *data, size_t size, size_t end)
{
	return end == size || (end < size && data[end] == PACKET_TAG);
}

/* The next place from `from` on where a packet begins, or size. */
static size_t next_packet(const uint8_t *data, size_t size, size_t from)
{
	while (from < size) {
		const uint8_t *at = memchr(data + from, PACKET_TAG, size - from);
		struct found f;

		if (!at)
			return size;
		from = (size_t)(at - data);
		f = look(at, size - from);
		if (f.what == FOUND_PACKET && packet_follows(data, size, from + f.head + (size_t)f.size) &&
		    perfetto_plausible(at + f.head, (size_t)f.size, true, true))
			return from;
		from++;
	}
	return size;
}

/* One packet that is there as a whole.  How many of its bytes are used up, or negative. */
static int64_t read_packet(struct perfetto *p, const uint8_t *data, size_t size, struct found f)
{
	size_t span = f.head + (size_t)f.size;
	int rc;

	if (!packet_follows(data, size, span) && !perfetto_plausible(data + f.head, (size_t)f.size, true, false)) {
		span = next_packet(data, size, 1);
		rc = -EBADMSG;
	} else {
		rc = perfetto_packet(p, data + f.head, (size_t)f.size, false);
	}
	if (rc == -EBADMSG) {
		output_report(p->o)->skipped++;
		output_damage(p->o, p->offset, span, "a packet that cannot be read");
		rc = 0;
	}
	return rc ? rc : (int64_t)span;
}

struct reading {
	uint64_t skip; /* bytes of a packet too large to be read */
	bool truncated;
};

static void report_rest(struct perfetto *p, size_t size, bool truncated)
{
	output_damage(p->o, p->offset, size, truncated ? "the file ends inside a packet" : "bytes that are no packets");
	output_report(p->o)->truncated |= truncated;
}

/* Of a window, as much as can be read; how much is used up, or negative. */
static int64_t read_window(struct perfetto *p, struct reading *r, const uint8_t *data, size_t size, uint64_t offset,
			   bool last)
{
	size_t at = 0;

	if (r->skip) {
		at = r->skip < size ? (size_t)r->skip : size;
		r->skip -= at;
		r->truncated = last && r->skip;
	}
	while (at < size) {
		struct found f = look(data + at, size - at);
		int64_t used;

		p->offset = offset + at;
		if (f.what == FOUND_PART && !last) {
			if (f.size + HEAD_MAX <= STREAM_CARRY_MAX)
				return (int64_t)at;
			output_report(p->o)->skipped++;
			output_damage(p->o, p->offset, f.head + f.size, "a packet too large to be read");
			r->skip = f.head + f.size - (size - at);
			return (int64_t)size;
		}
		if (f.what == FOUND_PACKET) {
			used = read_packet(p, data + at, size - at, f);
			if (used < 0)
				return used;
			at += (size_t)used;
			continue;
		}
		used = (int64_t)next_packet(data + at, size - at, 1);
		if (f.what == FOUND_PART && at + (size_t)used == size) {
			int rc = perfetto_part(p, data + at + f.head, size - at - f.head);

			if (rc && rc != -EBADMSG)
				return rc;
		}
		report_rest(p, (size_t)used, f.what == FOUND_PART && at + (size_t)used == size);
		at += (size_t)used;
	}
	return (int64_t)size;
}

static int read_stream(struct perfetto *p, struct stream *s)
{
	struct reading r = { 0 };
	const char *data;
	size_t size = 0, used = 0;
	bool last = false;

	while (!last) {
		int rc = stream_next(s, used, &data, &size, &last, p->err);
		int64_t n;

		if (rc)
			return rc;
		n = read_window(p, &r, (const uint8_t *)data, size, stream_offset(s), last);
		if (n < 0)
			return (int)n;
		used = (size_t)n;
	}
	output_report(p->o)->truncated |= r.truncated;
	output_report(p->o)->bytes = stream_total(s);
	if (stream_damage(s)) {
		output_report(p->o)->truncated = true;
		output_damage(p->o, stream_total(s), 0, stream_damage(s));
	}
	return 0;
}

static void release(struct perfetto *p)
{
	emit_release(p);
	ftrace_release(p);
	gpu_release(&p->gpu);
	sorter_release(&p->sorter);
	clocks_release(&p->clocks);
	perfetto_sequences_release(p);
	output_map_release(&p->process_map);
	output_map_release(&p->thread_map);
	output_map_release(&p->track_map);
	output_map_release(&p->counter_map);
	free(p->processes);
	free(p->threads);
	free(p->tracks);
	buffer_release(&p->texts);
	buffer_release(&p->args);
	buffer_release(&p->metadata);
	buffer_release(&p->inflate);
	buffer_release(&p->scratch);
}

static int perfetto_read(const char *path, struct output *o, const struct import_options *options, struct error *err)
{
	struct perfetto p = { .o = o, .options = options, .err = err, .lean = output_lean(o) };
	struct stream *s;
	int rc = stream_open(&s, path, options, err);

	if (rc)
		return rc;
	output_format(o, IMPORT_PERFETTO);
	p.clocks.primary = CLOCK_ID_BOOTTIME;
	p.pending_free = PERFETTO_NONE;
	rc = read_stream(&p, s);
	if (rc == 0)
		rc = ftrace_finish(&p);
	if (rc == 0)
		rc = sort_finish(&p);
	if (rc == 0)
		rc = emit_finish(&p);
	if (rc == -ENOMEM && err && !err->code)
		error_set(err, -ENOMEM, "cannot read %s: out of memory", path);
	release(&p);
	stream_close(s);
	return rc;
}

static bool is_text(const uint8_t *head, size_t size)
{
	for (size_t i = 0; i < size && i < TEXT_LOOK; i++)
		if ((head[i] < 32 && !strchr("\t\n\r", head[i])) || head[i] > 126 || !head[i])
			return false;
	return true;
}

static bool perfetto_detect(const uint8_t *head, size_t size)
{
	struct found f = look(head, size);

	if (size < 2 || head[0] != PACKET_TAG || f.head == 0 || f.size == 0 || is_text(head, size))
		return false;
	if (f.what == FOUND_PACKET)
		return perfetto_plausible(head + f.head, (size_t)f.size, true,
					  !packet_follows(head, size, f.head + (size_t)f.size));
	return f.what == FOUND_PART && perfetto_plausible(head + f.head, size - f.head, false, false);
}

const struct importer perfetto_importer = { IMPORT_PERFETTO, perfetto_detect, perfetto_read };
