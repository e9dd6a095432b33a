/* perfetto_event.c - instants, counters, asynchronous ranges and arrows. */
#include "export/perfetto.h"
#include "ring/event.h"

#define BIT(field) ((uint64_t)1 << (field))
#define PACKET_EVENT 11

enum { TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum {
	EVENT_CATEGORY = 3,
	EVENT_LEGACY = 6,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_VALUE = 30,
	EVENT_DOUBLE = 44
};
enum { LEGACY_PHASE = 2, LEGACY_ID = 6 };

static void put_track(struct pf *p, const struct pf_track *t)
{
	if (t->seq->shared)
		pf_check(p, proto_number(&p->body, EVENT_TRACK, t->uuid));
}

static void start(struct pf *p, struct pf_track *t, uint32_t event)
{
	const struct trace_batch *b = p->batch;

	pf_intern(p, t->seq, b->kind[event], b->name[event]);
	buffer_clear(&p->body);
	pf_check(p, proto_number(&p->body, EVENT_CATEGORY, pf_category(b->kind[event])));
	if (b->name[event])
		pf_check(p, proto_number(&p->body, EVENT_NAME_IID, b->name[event]));
	put_track(p, t);
}

static void finish(struct pf *p, struct pf_track *t, int64_t ns)
{
	pf_packet_at(p, t->seq, ns, PACKET_EVENT, p->body.data, p->body.size);
}

/* What was lost covers a time, which an argument says. */
static void instant(struct pf *p, struct pf_track *t, uint32_t event, int64_t ns)
{
	const struct trace_batch *b = p->batch;

	start(p, t, event);
	pf_check(p, proto_number(&p->body, EVENT_TYPE, TYPE_INSTANT));
	if (trace_batch_present(b, event) & BIT(FIELD_DURATION)) {
		int64_t end;

		if (__builtin_add_overflow(b->time[event], (int64_t)b->field[FIELD_DURATION][event], &end))
			end = b->time[event];
		pf_arg_number(p, t->seq, "duration_ns", (double)(pf_ns(p, end) - ns), &p->body);
	}
	if (b->kind[event] == EVENT_LOST && !b->name[event])
		pf_check(p, proto_string(&p->body, 23, "lost events"));
	pf_args(p, t->seq, event, 0, &p->body);
	finish(p, t, ns);
}

static void counter(struct pf *p, struct pf_track *t, uint32_t event, int64_t ns)
{
	const struct trace_batch *b = p->batch;
	uint64_t present = trace_batch_present(b, event), uuid;

	if (!(present & (BIT(FIELD_VALUE) | BIT(FIELD_INTEGER)))) {
		instant(p, t, event, ns);
		return;
	}
	uuid = pf_counter_track(p, t, b->name[event], b->metadata ? &b->metadata[event] : NULL);
	buffer_clear(&p->body);
	pf_check(p, proto_number(&p->body, EVENT_TYPE, TYPE_COUNTER) | proto_number(&p->body, EVENT_TRACK, uuid));
	if (present & BIT(FIELD_INTEGER))
		pf_check(p, proto_number(&p->body, EVENT_VALUE, b->field[FIELD_INTEGER][event]));
	else
		pf_check(p, proto_double(&p->body, EVENT_DOUBLE, pf_double(b->field[FIELD_VALUE][event])));
	finish(p, t, ns);
}

/* As Chrome has them: by number, on whatever row there is room. */
static void range(struct pf *p, struct pf_track *t, uint32_t event, int64_t ns)
{
	const struct trace_batch *b = p->batch;
	size_t opened;

	start(p, t, event);
	opened = proto_open(&p->body);
	pf_check(p, proto_number(&p->body, LEGACY_PHASE, b->phase[event] == PHASE_ASYNC_BEGIN ? 'b' : 'e') |
			    proto_number(&p->body, LEGACY_ID, b->field[FIELD_FLOW] ? b->field[FIELD_FLOW][event] : 0) |
			    proto_close(&p->body, EVENT_LEGACY, opened));
	pf_args(p, t->seq, event, BIT(FIELD_FLOW), &p->body);
	finish(p, t, ns);
}

/* Numbers of arrows are of their name and file; here they are of the whole trace. */
static uint64_t arrow_id(struct pf *p, uint32_t event)
{
	const struct trace_batch *b = p->batch;
	uint64_t id = b->field[FIELD_FLOW] ? b->field[FIELD_FLOW][event] : 0;
	uint64_t name = pf_map_get(&p->flow_names, b->domain, b->name[event]);

	if (!name) {
		name = ++p->flow_name_count;
		pf_check(p, pf_map_put(&p->flow_names, b->domain, b->name[event], name));
	}
	return name == 1 ? id : id ^ name * 0x9e3779b97f4a7c15u;
}

void pf_event(struct pf *p, struct pf_track *t, uint32_t event, int64_t ns)
{
	const struct trace_batch *b = p->batch;

	switch (b->phase[event]) {
	case PHASE_ASYNC_BEGIN:
	case PHASE_ASYNC_END:
		range(p, t, event, ns);
		break;
	case PHASE_FLOW_OUT:
	case PHASE_FLOW_IN:
		pf_arrow(p, t, event, ns, arrow_id(p, event));
		break;
	default:
		if (b->kind[event] == EVENT_COUNTER)
			counter(p, t, event, ns);
		else
			instant(p, t, event, ns);
		break;
	}
}
