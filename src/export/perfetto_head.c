/* perfetto_head.c - what stands before the events: clocks, the machine, the trace itself; and the findings of the
 * analysis. */
#include <stdio.h>
#include <stdlib.h>

#include "export/marks.h"
#include "export/perfetto.h"

#define SNAPSHOTS_MAX 10000u
#define PACKET_EVENT 11
#define NEVER INT64_MIN

enum { PACKET_SNAPSHOT = 6, PACKET_SYSTEM = 45 };
enum { CLOCK_REAL = 1, CLOCK_MONO = 3, CLOCK_RAW = 5 };
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3 };

/* ---- Clocks ------------------------------------------------------------------------------ */

static int put_reading(struct buffer *out, uint32_t clock, int64_t ns)
{
	size_t opened = proto_open(out);

	return proto_number(out, 1, clock) | proto_number(out, 2, (uint64_t)ns) | proto_close(out, 1, opened);
}

/* Which of them says where the trace's clock is; the others as far as they are known. */
static void snapshot(struct pf *p, struct pf_sequence *s, int64_t trace, int64_t monotonic, int64_t real)
{
	struct buffer body = BUFFER_INIT;

	pf_check(p, put_reading(&body, p->clock, trace));
	if (monotonic > 0 && p->clock != CLOCK_MONO)
		pf_check(p, put_reading(&body, CLOCK_MONO, monotonic));
	if (real > 0 && p->clock != CLOCK_REAL)
		pf_check(p, put_reading(&body, CLOCK_REAL, real));
	pf_check(p, proto_number(&body, 2, p->clock));
	if (p->failure == 0)
		pf_packet(p, s, PACKET_SNAPSHOT, &body);
	buffer_release(&body);
}

static void put_clocks(struct pf *p, struct pf_sequence *s)
{
	const struct trace_clock_pair *pairs;
	size_t count = trace_reader_clock_pairs(p->reader, 0, &pairs), step = count / SNAPSHOTS_MAX + 1;
	int64_t last = NEVER;

	for (size_t i = 0; p->clock == CLOCK_RAW && p->shift == 0 && i < count; i += step) {
		int64_t ns = trace_reader_ns(p->reader, 0, pairs[i].ticks);

		if (ns <= last || ns < 0)
			continue;
		snapshot(p, s, ns, pairs[i].monotonic_ns, pairs[i].realtime_ns);
		last = ns;
	}
	if (last == NEVER)
		snapshot(p, s, p->start_ns + p->shift > 0 ? p->start_ns + p->shift : 0, 0, 0);
}

/* ---- The machine, and the trace ------------------------------------------------------------ */

static void put_system(struct pf *p, struct pf_sequence *s)
{
	const struct trace_host *host = trace_reader_host(p->reader, 0);
	struct buffer body = BUFFER_INIT;
	size_t size, opened;
	const char *text;

	if (!host)
		return;
	opened = proto_open(&body);
	text = trace_reader_string(p->reader, host->system, &size);
	pf_check(p, proto_text(&body, 1, text, size));
	text = trace_reader_string(p->reader, host->machine, &size);
	pf_check(p, proto_text(&body, 4, text, size) | proto_close(&body, 1, opened));
	text = trace_reader_string(p->reader, host->name, &size);
	if (size)
		pf_check(p, proto_text(&body, 17, text, size));
	if (p->failure == 0)
		pf_packet(p, s, PACKET_SYSTEM, &body);
	buffer_release(&body);
}

/* What the trace says about itself: the arguments of an instant at its start. */
static void put_info(struct pf *p)
{
	int64_t ns = p->start_ns + p->shift > 0 ? p->start_ns + p->shift : 0;
	struct pf_sequence *s = pf_root_track(p, "InferScope", ns);
	const uint8_t *data;
	size_t size;

	if (!s)
		return;
	buffer_clear(&p->body);
	pf_check(p, proto_number(&p->body, 9, TYPE_INSTANT) | proto_string(&p->body, 22, "inferscope.trace") |
			    proto_string(&p->body, 23, "about this trace"));
	for (size_t i = 0; trace_reader_info_block(p->reader, i, &data, &size) == 0; i++)
		pf_metadata(p, s, &(struct trace_blob){ data, (uint32_t)size }, &p->body);
	pf_packet_at(p, s, ns, PACKET_EVENT, p->body.data, p->body.size);
	pf_sequence_free(s);
}

/* Which of Perfetto's clocks the times are of: of a recording, or as other tools have them. */
static uint32_t clock_of(const struct pf *p)
{
	const struct trace_clock *clock = trace_reader_clock(p->reader, 0);

	if (p->shift || !clock || clock->kind != CLOCK_KIND_NANOSECONDS)
		return clock && clock->kind == CLOCK_KIND_REALTIME ? CLOCK_REAL : CLOCK_RAW;
	return p->start_ns >= 1000000000000000000 ? CLOCK_REAL : CLOCK_MONO;
}

void pf_head(struct pf *p)
{
	struct pf_sequence *s = pf_sequence_plain(p);

	if (!s)
		return;
	p->clock = clock_of(p);
	put_clocks(p, s);
	put_system(p, s);
	pf_gpu_info(p, s);
	put_info(p);
	if (p->options->analysis)
		pf_findings(p);
	pf_sequence_free(s);
}

/* ---- Findings --------------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const struct export_mark *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Where it can be seen, in order and without overlap. */
static unsigned marks_of(const struct pf *p, const struct analysis_finding *f, struct export_mark *marks)
{
	unsigned count = export_marks(p->reader, p->options, f, marks), kept = 0;

	qsort(marks, count, sizeof *marks, by_begin);
	for (unsigned i = 0; i < count; i++)
		if (kept == 0 || marks[i].begin >= marks[kept - 1].end)
			marks[kept++] = marks[i];
	return kept;
}

static void put_texts(struct pf *p, struct pf_sequence *s, const char *key, const struct finding_texts *texts)
{
	char name[32];

	for (unsigned i = 0; i < texts->count && i < FINDING_TEXTS; i++) {
		snprintf(name, sizeof name, i ? "%s %u" : "%s", key, i + 1);
		pf_arg_text(p, s, name, texts->text[i], &p->body);
	}
}

static void put_finding(struct pf *p, struct pf_sequence *s, const struct analysis_finding *f)
{
	buffer_clear(&p->body);
	pf_check(p, proto_number(&p->body, 9, TYPE_BEGIN) | proto_string(&p->body, 22, "inferscope.finding") |
			    proto_string(&p->body, 23, f->kind ? f->kind : f->id));
	pf_arg_text(p, s, "id", f->id, &p->body);
	pf_arg_text(p, s, "suggestion", f->action, &p->body);
	pf_arg_text(p, s, "rationale", f->rationale, &p->body);
	pf_arg_number(p, s, "gain", f->gain, &p->body);
	pf_arg_number(p, s, "gain_low", f->gain_low, &p->body);
	pf_arg_number(p, s, "gain_high", f->gain_high, &p->body);
	pf_arg_number(p, s, "share", f->share, &p->body);
	pf_arg_number(p, s, "severity", f->severity, &p->body);
	pf_arg_number(p, s, "confidence", f->confidence, &p->body);
	put_texts(p, s, "where", &f->where);
	put_texts(p, s, "evidence", &f->evidence);
}

static int64_t written(const struct pf *p, int64_t ns)
{
	int64_t sum;

	if (__builtin_add_overflow(ns, p->start_ns, &sum) || __builtin_add_overflow(sum, p->shift, &sum) || sum < 0)
		return 0;
	return sum;
}

static void write_finding(struct pf *p, const struct analysis_finding *f, size_t number)
{
	struct export_mark marks[FINDING_EXAMPLES];
	unsigned count = marks_of(p, f, marks);
	struct pf_sequence *s;
	uint8_t end[4];
	char name[96];

	if (count == 0)
		return;
	snprintf(name, sizeof name, "Finding %zu: %.60s", number, f->kind ? f->kind : f->id);
	s = pf_root_track(p, name, written(p, marks[0].begin));
	if (!s)
		return;
	for (unsigned i = 0; i < count && p->failure == 0; i++) {
		put_finding(p, s, f);
		pf_packet_at(p, s, written(p, marks[i].begin), PACKET_EVENT, p->body.data, p->body.size);
		pf_packet_at(p, s, written(p, marks[i].end), PACKET_EVENT, end,
			     (size_t)(proto_put_number(end, 9, TYPE_END) - end));
	}
	pf_sequence_free(s);
}

void pf_findings(struct pf *p)
{
	const struct analysis_findings *findings = &p->options->analysis->findings;

	for (size_t i = 0; i < findings->count && p->failure == 0; i++)
		write_finding(p, &findings->list[i], i + 1);
}
