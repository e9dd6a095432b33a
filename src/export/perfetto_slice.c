/*
 * perfetto_slice.c - slices that begin and end, in the order of the file.
 *
 * Perfetto's ends have no name: each ends the innermost slice of its track.  So
 * what is open is known here by its depth in the trace; where ends were lost,
 * slices end with the next thing that shows they have.  With a filter that
 * needs more than the begin (a window, a shortest duration) a begin waits
 * until it is known to be wanted.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "export/perfetto.h"

#define BIT(field) ((uint64_t)1 << (field))
#define PLAIN                                                                                                          \
	(BIT(FIELD_SHAPE) | BIT(FIELD_TIME) | BIT(FIELD_NAME) | BIT(FIELD_CPU) | BIT(FIELD_DEPTH)) /* what most have   \
												    */
#define PLAIN_MAX 96u /* bytes of the packet of an event with no more than these */
#define PACKET_EVENT 11
#define TYPE_BEGIN 1
#define TYPE_END 2
#define BEGIN_LOST "[begin lost]"

/* ---- Packets ------------------------------------------------------------------------- */

/* Both lengths of such a packet fit a byte each, and are known when it is written. */
static uint8_t *open_plain(const struct pf_sequence *s, uint8_t *at)
{
	at[0] = 1 << 3 | 2;
	memcpy(at + 2, s->prefix, sizeof s->prefix);
	at += 2 + s->prefix_size;
	at[0] = PACKET_EVENT << 3 | 2;
	return at + 2;
}

static void close_plain(struct pf *p, struct pf_sequence *s, uint8_t *start, uint8_t *body, uint8_t *at, int64_t ns)
{
	body[-1] = (uint8_t)(at - body);
	at = pf_put_time(p, s, ns, at);
	start[1] = (uint8_t)(at - start - 2);
	p->raw.size = (size_t)(at - p->raw.data);
	pf_gathered(p);
}

static uint64_t uuid_of(const struct pf_track *t, uint64_t uuid)
{
	return uuid ? uuid : t->seq->shared ? t->uuid : 0;
}

static uint8_t *put_plain(const struct pf_track *t, uint8_t *at, uint8_t kind, uint32_t name, uint16_t cpu,
			  uint32_t cpu_iid)
{
	uint64_t uuid = uuid_of(t, t->direct_uuid);

	*at++ = 9 << 3;
	*at++ = TYPE_BEGIN;
	*at++ = 3 << 3;
	*at++ = pf_category(kind);
	if (name)
		at = proto_put_number(at, 10, name);
	if (pf_bit(&t->seq->functions, name))
		at = proto_put_number(at, 34, name);
	if (uuid)
		at = proto_put_number(at, 11, uuid);
	if (cpu_iid) {
		uint8_t *inner = at + 2;

		at[0] = 4 << 3 | 2;
		at = proto_put_number(proto_put_number(inner, 1, cpu_iid), 3, cpu);
		inner[-1] = (uint8_t)(at - inner);
	}
	return at;
}

static void write_plain_begin(struct pf *p, struct pf_track *t, uint32_t event, int64_t ns)
{
	const struct trace_batch *b = p->batch;
	struct pf_sequence *s = t->seq;
	uint16_t cpu = b->cpu[event];
	uint32_t iid = cpu == EVENT_CPU_UNKNOWN     ? 0
		       : s->fields >> FIELD_CPU & 1 ? PF_ARG_FIELD + FIELD_CPU
						    : pf_field_name(p, s, FIELD_CPU);
	uint8_t *start, *body;

	pf_intern(p, s, b->kind[event], b->name[event]);
	if (!pf_room(p, PLAIN_MAX))
		return;
	start = p->raw.data + p->raw.size;
	body = open_plain(s, start);
	close_plain(p, s, start, body, put_plain(t, body, b->kind[event], b->name[event], cpu, iid), ns);
}

static void write_plain_end(struct pf *p, struct pf_track *t, int64_t ns)
{
	uint64_t uuid = uuid_of(t, t->direct_uuid);
	uint8_t *start, *body, *at;

	if (!pf_room(p, PLAIN_MAX))
		return;
	start = p->raw.data + p->raw.size;
	body = at = open_plain(t->seq, start);
	*at++ = 9 << 3;
	*at++ = TYPE_END;
	if (uuid)
		at = proto_put_number(at, 11, uuid);
	close_plain(p, t->seq, start, body, at, ns);
}

/* The whole TrackEvent of a begin, in p->body. */
static void make_begin(struct pf *p, struct pf_track *t, uint32_t event)
{
	const struct trace_batch *b = p->batch;
	uint64_t uuid = uuid_of(t, t->direct_uuid);

	buffer_clear(&p->body);
	pf_intern(p, t->seq, b->kind[event], b->name[event]);
	pf_check(p, proto_number(&p->body, 9, TYPE_BEGIN) | proto_number(&p->body, 3, pf_category(b->kind[event])) |
			    proto_number(&p->body, 10, b->name[event]));
	if (pf_bit(&t->seq->functions, b->name[event]))
		pf_check(p, proto_number(&p->body, 34, b->name[event]));
	if (uuid)
		pf_check(p, proto_number(&p->body, 11, uuid));
	pf_args(p, t->seq, event, 0, &p->body);
	pf_put_launch(p, t, pf_launch_of(p, t, event), &p->body);
}

static void write_end(struct pf *p, struct pf_track *t, uint32_t event, int64_t ns)
{
	uint64_t uuid = uuid_of(t, t->direct_uuid);

	if (!(trace_batch_present(p->batch, event) & ~PLAIN)) {
		write_plain_end(p, t, ns);
		return;
	}
	pf_intern(p, t->seq, p->batch->kind[event], 0);
	buffer_clear(&p->body);
	pf_check(p,
		 proto_number(&p->body, 9, TYPE_END) | proto_number(&p->body, 3, pf_category(p->batch->kind[event])));
	if (uuid)
		pf_check(p, proto_number(&p->body, 11, uuid));
	pf_args(p, t->seq, event, BIT(FIELD_CPU), &p->body);
	pf_packet_at(p, t->seq, ns, PACKET_EVENT, p->body.data, p->body.size);
}

/* ---- What is open ---------------------------------------------------------------------- */

static struct pf_open *push(struct pf *p, struct pf_track *t, struct pf_open entry)
{
	if (t->open_count == t->open_capacity && ARRAY_GROW(t->open, t->open_capacity, t->open_count + 1)) {
		pf_check(p, -ENOMEM);
		return NULL;
	}
	t->open[t->open_count] = entry;
	return &t->open[t->open_count++];
}

/* Takes the innermost off, and says whether it is in the file. */
static bool pop(struct pf_track *t)
{
	const struct pf_open *top = &t->open[--t->open_count];

	if (top->state == PF_OPEN_WAITS) {
		t->saved.size = top->saved;
		t->waiting--;
	}
	return top->state == PF_OPEN_WRITTEN;
}

/* Ends whatever is open at this depth and inside it. */
static void cut(struct pf *p, struct pf_track *t, uint32_t depth, int64_t ns)
{
	while (t->open_count && t->open[t->open_count - 1].depth >= depth) {
		pf_slices_ready(p, t, ns);
		if (pop(t))
			write_plain_end(p, t, ns);
	}
}

void pf_slices_ready(struct pf *p, struct pf_track *t, int64_t ns)
{
	const struct row_filter *filter = &p->options->filter;

	for (size_t i = 0; t->waiting && i < t->open_count && ns >= p->from; i++) {
		struct pf_open *e = &t->open[i];

		if (e->state != PF_OPEN_WAITS)
			continue;
		if (ns - e->begin < filter->shortest_ns)
			break; /* nor those inside it */
		pf_packet_at(p, t->seq, e->begin, PACKET_EVENT, t->saved.data + e->saved, e->saved_size);
		e->state = PF_OPEN_WRITTEN;
		t->waiting--;
	}
	if (t->waiting == 0)
		buffer_clear(&t->saved);
}

/* ---- Events ----------------------------------------------------------------------------- */

/* Slices given whole that lie between this event and the one before. */
static void before(struct pf *p, struct pf_track *t, int64_t ns)
{
	if (t->item_count || t->lane_count)
		pf_whole_flush(p, t, ns);
	if (t->waiting)
		pf_slices_ready(p, t, ns);
	t->direct_time = ns;
}

/* Later, when more is known. */
static void wait_begin(struct pf *p, struct pf_track *t, struct pf_open *entry)
{
	entry->state = PF_OPEN_WAITS;
	entry->saved = t->saved.size;
	entry->saved_size = (uint32_t)p->body.size;
	pf_check(p, buffer_append(&t->saved, p->body.data, p->body.size));
	t->waiting++;
}

static bool is_wanted(struct pf *p, uint32_t event, int64_t ns)
{
	return p->simple || (ns < p->to && pf_event_wanted(p, event));
}

void pf_begin(struct pf *p, struct pf_track *t, uint32_t event, int64_t ns)
{
	const struct trace_batch *b = p->batch;
	struct pf_open *e;

	before(p, t, ns);
	if (t->open_count && t->open[t->open_count - 1].depth >= b->depth[event])
		cut(p, t, b->depth[event], ns);
	e = push(p, t, (struct pf_open){ .begin = ns, .name = b->name[event], .depth = b->depth[event] });
	if (!e)
		return;
	if (!is_wanted(p, event, ns)) {
		e->state = PF_OPEN_LEFT_OUT;
	} else if (p->simple && !(trace_batch_present(b, event) & ~PLAIN)) {
		write_plain_begin(p, t, event, ns);
	} else {
		make_begin(p, t, event);
		if (ns < p->from || p->options->filter.shortest_ns > 0)
			wait_begin(p, t, e);
		else
			pf_packet_at(p, t->seq, ns, PACKET_EVENT, p->body.data, p->body.size);
	}
}

/* Its begin is not in the trace: it was open since the event before, if not longer. */
static void end_unbegun(struct pf *p, struct pf_track *t, uint32_t event, int64_t ns)
{
	int64_t begin = t->seq->last < ns && !t->seq->shared ? t->seq->last : ns;
	uint64_t uuid = uuid_of(t, t->direct_uuid);

	if (!p->simple)
		return;
	pf_intern(p, t->seq, p->batch->kind[event], 0);
	buffer_clear(&p->body);
	pf_check(p, proto_number(&p->body, 9, TYPE_BEGIN) |
			    proto_number(&p->body, 3, pf_category(p->batch->kind[event])) |
			    proto_string(&p->body, 23, BEGIN_LOST));
	if (uuid)
		pf_check(p, proto_number(&p->body, 11, uuid));
	pf_packet_at(p, t->seq, begin, PACKET_EVENT, p->body.data, p->body.size);
	write_end(p, t, event, ns);
}

void pf_end(struct pf *p, struct pf_track *t, uint32_t event, int64_t ns)
{
	uint16_t depth = p->batch->depth[event];

	if (depth == EVENT_DEPTH_UNMATCHED)
		return;
	before(p, t, ns);
	if (t->open_count && t->open[t->open_count - 1].depth > depth)
		cut(p, t, depth + 1u, ns);
	if (t->open_count == 0 || t->open[t->open_count - 1].depth != depth)
		end_unbegun(p, t, event, ns);
	else if (pop(t))
		write_end(p, t, event, ns);
}

/* ---- Where blocks say what is open -------------------------------------------------------- */

static size_t common(const struct pf *p, const struct pf_track *t, const struct trace_open_slice *open, size_t count)
{
	size_t i = 0;

	while (i < count && i < t->open_count && t->open[i].depth == open[i].depth && t->open[i].name == open[i].name &&
	       t->open[i].begin == pf_ns(p, open[i].begin))
		i++;
	return i;
}

/* A slice that began in what cannot be read. */
static void begin_open(struct pf *p, struct pf_track *t, const struct trace_open_slice *open)
{
	int64_t ns = pf_ns(p, open->begin);
	uint64_t uuid = uuid_of(t, t->direct_uuid);
	struct pf_open *e = push(p, t, (struct pf_open){ .begin = ns, .name = open->name, .depth = open->depth });

	if (!e)
		return;
	if (open->name == 0 || (!p->simple && !pf_slice_wanted(p, open->kind, open->name, open->depth))) {
		e->state = PF_OPEN_LEFT_OUT;
		return;
	}
	pf_intern(p, t->seq, open->kind, open->name);
	buffer_clear(&p->body);
	pf_check(p, proto_number(&p->body, 9, TYPE_BEGIN) | proto_number(&p->body, 3, pf_category(open->kind)) |
			    proto_number(&p->body, 10, open->name));
	if (pf_bit(&t->seq->functions, open->name))
		pf_check(p, proto_number(&p->body, 34, open->name));
	if (uuid)
		pf_check(p, proto_number(&p->body, 11, uuid));
	if (p->simple)
		pf_packet_at(p, t->seq, ns, PACKET_EVENT, p->body.data, p->body.size);
	else
		wait_begin(p, t, e);
}

static void cut_to(struct pf *p, struct pf_track *t, size_t count, int64_t ns)
{
	while (t->open_count > count) {
		pf_slices_ready(p, t, ns);
		if (pop(t))
			write_plain_end(p, t, ns);
	}
}

static void sync_track(struct pf *p, const struct trace_open_slice *open, size_t count)
{
	struct pf_track *t;
	size_t same;

	if (open->track >= p->track_count || !pf_track_selected(p, open->track))
		return;
	t = pf_place(p, open->track, pf_ns(p, open->begin));
	if (!t)
		return;
	t->synced = true;
	same = common(p, t, open, count);
	/* What is open in place of others began when these had ended. */
	cut_to(p, t, same, pf_ns(p, same < count ? open[same].begin : p->batch->first_time));
	for (size_t i = same; i < count && p->failure == 0; i++)
		begin_open(p, t, &open[i]);
}

void pf_slices_sync(struct pf *p)
{
	const struct trace_batch *b = p->batch;
	size_t end;

	for (size_t i = 0; i < p->track_count; i++)
		p->tracks[i].synced = false;
	for (size_t i = 0; i < b->open_count && p->failure == 0; i = end) {
		for (end = i + 1; end < b->open_count && b->open[end].track == b->open[i].track; end++)
			;
		sync_track(p, &b->open[i], end - i);
	}
	for (size_t i = 0; i < p->track_count && p->failure == 0; i++)
		if (p->tracks[i].open_count && !p->tracks[i].synced && p->tracks[i].domain == b->domain)
			cut_to(p, &p->tracks[i], 0, pf_ns(p, b->first_time));
}

/* What still waits when there is no more to come. */
void pf_slices_finish(struct pf *p, struct pf_track *t, int64_t ns)
{
	if (t->waiting)
		pf_slices_ready(p, t, ns);
}
