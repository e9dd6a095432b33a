/* perfetto_pack.c - packets, gathered and compressed. */
#include <errno.h>
#include <libdeflate.h>

#include "export/perfetto.h"

#define GATHER ((size_t)1 << 18) /* bytes of packets that are compressed together: fits a cache */
#define LEVEL 1
#define FIELD_PACKET 1
#define FIELD_COMPRESSED 50
#define HEADS 64 /* bytes around a message in a packet */

int pf_pack_init(struct pf *p)
{
	p->compressor = libdeflate_alloc_compressor(LEVEL);
	return p->compressor ? 0 : -ENOMEM;
}

void pf_pack_release(struct pf *p)
{
	libdeflate_free_compressor(p->compressor);
	buffer_release(&p->raw);
	buffer_release(&p->packed);
	buffer_release(&p->body);
}

void pf_check(struct pf *p, int rc)
{
	if (rc < 0 && p->failure == 0)
		p->failure = rc;
}

bool pf_room(struct pf *p, size_t size)
{
	if (p->raw.capacity - p->raw.size >= size)
		return true;
	pf_check(p, buffer_reserve(&p->raw, size > GATHER ? size : GATHER));
	return p->failure == 0 && p->raw.capacity - p->raw.size >= size;
}

static void hand_on(struct pf *p, size_t packed)
{
	uint8_t inner[PROTO_NUMBER_MAX], outer[PROTO_NUMBER_MAX];
	size_t inner_size = (size_t)(proto_put_head(inner, FIELD_COMPRESSED, packed) - inner);
	size_t outer_size = (size_t)(proto_put_head(outer, FIELD_PACKET, inner_size + packed) - outer);

	export_out_check(p->out, buffer_append(&p->out->buf, outer, outer_size));
	export_out_check(p->out, buffer_append(&p->out->buf, inner, inner_size));
	export_out_check(p->out, buffer_append(&p->out->buf, p->packed.data, packed));
	if (!export_out_ready(p->out))
		pf_check(p, p->out->error);
}

void pf_flush(struct pf *p)
{
	size_t bound = libdeflate_zlib_compress_bound(p->compressor, p->raw.size), packed;

	if (p->failure || p->raw.size == 0)
		return;
	buffer_clear(&p->packed);
	pf_check(p, buffer_reserve(&p->packed, bound));
	if (p->failure)
		return;
	packed = libdeflate_zlib_compress(p->compressor, p->raw.data, p->raw.size, p->packed.data, bound);
	buffer_clear(&p->raw);
	if (packed == 0)
		pf_check(p, -EIO);
	else
		hand_on(p, packed);
}

void pf_gathered(struct pf *p)
{
	if (p->raw.size >= GATHER)
		pf_flush(p);
}

void pf_packet(struct pf *p, struct pf_sequence *s, uint32_t field, const struct buffer *body)
{
	uint8_t head[PROTO_NUMBER_MAX], *at;
	size_t head_size = (size_t)(proto_put_head(head, field, body->size) - head);

	if (!pf_room(p, body->size + HEADS))
		return;
	at = proto_put_head(p->raw.data + p->raw.size, FIELD_PACKET, s->prefix_size + head_size + body->size);
	memcpy(at, s->prefix, s->prefix_size);
	at += s->prefix_size;
	memcpy(at, head, head_size);
	at += head_size;
	if (body->size)
		memcpy(at, body->data, body->size);
	p->raw.size = (size_t)(at + body->size - p->raw.data);
	pf_gathered(p);
}

void pf_packet_at(struct pf *p, struct pf_sequence *s, int64_t ns, uint32_t field, const uint8_t *body, size_t size)
{
	uint8_t head[PROTO_NUMBER_MAX], time[2 * PROTO_NUMBER_MAX], *at;
	size_t head_size = (size_t)(proto_put_head(head, field, size) - head);
	size_t time_size = (size_t)(pf_put_time(p, s, ns, time) - time);

	if (!pf_room(p, size + HEADS))
		return;
	at = proto_put_head(p->raw.data + p->raw.size, FIELD_PACKET, s->prefix_size + head_size + size + time_size);
	memcpy(at, s->prefix, s->prefix_size);
	at += s->prefix_size;
	memcpy(at, head, head_size);
	at += head_size;
	if (size)
		memcpy(at, body, size);
	memcpy(at + size, time, time_size);
	p->raw.size = (size_t)(at + size + time_size - p->raw.data);
	pf_gathered(p);
}

int64_t pf_ns(const struct pf *p, int64_t ticks)
{
	int64_t ns = trace_reader_ns(p->reader, p->domain, ticks);

	if (p->shift && __builtin_add_overflow(ns, p->shift, &ns))
		ns = PF_TIME_MAX;
	return ns < 0 ? 0 : ns;
}
