/*
 * drain_count.c - what processes say in figures, as far as it can be.
 *
 * They say it in memory that they can write to by mistake as well.
 */
#include "record/drain_state.h"

#define SHORT_MOST_NS 1000000000 /* no hook takes calls of a second for short ones */
#define CODE_MOST 4095          /* of errno */
#define KILLED_MOST 1000u        /* processes, between getting their number and making their file */

bool drain_believes(struct drain *d, uint64_t events)
{
	if (events <= session_age_ns(d->session))
		return true;
	d->totals.overwritten = true;
	return false;
}

/* What the producers say they wrote, to hold against what was recorded and lost; unless their memory has become nonsense. */
uint64_t drain_count_produced(struct drain *d, const struct drain_process *p)
{
	const struct ring_header *h = layout_rings(p->file.map);
	uint64_t events = atomic_load(&ring_file_header(&p->file)->refused_no_ring);

	for (uint32_t i = 0; i < ring_file_rings(&p->file); i++) {
		uint64_t produced = atomic_load(&h[i].produced), extra = atomic_load(&h[i].extra);

		/* A thread that was killed may have announced continuations whose event it never finished. */
		if (i < p->ring_count && p->rings[i].cursor.position == produced)
			extra = p->rings[i].cursor.extra;
		events += produced - extra + atomic_load(&h[i].refused_full) + atomic_load(&h[i].refused_no_chunk) +
			  atomic_load(&h[i].refused_reentry);
	}
	return events > p->accounted && drain_believes(d, events - p->accounted) ? events : p->accounted;
}

/* Sums of numbers that a program wrote. */
static void add_up(struct drain *d, uint64_t *sum, uint64_t value)
{
	if (drain_believes(d, value))
		*sum += value;
}

/* What a language's hook left out, as asked or for being short.  Counters of a ring go on when another thread gets it. */
void drain_count_skipped(struct drain *d, const struct drain_process *p)
{
	struct drain_totals *totals = &d->totals;
	const struct process_header *process = ring_file_header(&p->file);
	const struct ring_header *h = layout_rings(p->file.map);
	uint64_t short_ns = atomic_load(&process->short_ns);

	add_up(d, &totals->functions, atomic_load(&process->functions));
	add_up(d, &totals->functions_skipped, atomic_load(&process->functions_skipped));
	if (short_ns > SHORT_MOST_NS)
		totals->overwritten = true;
	else if (short_ns > totals->short_ns)
		totals->short_ns = short_ns;
	for (uint32_t i = 0; i < ring_file_rings(&p->file); i++) {
		add_up(d, &totals->skipped_calls, atomic_load(&h[i].skipped));
		add_up(d, &totals->short_calls, atomic_load(&h[i].short_calls));
		add_up(d, &totals->left_out, atomic_load(&h[i].left_out));
	}
}

/* ---- All of them ------------------------------------------------------------ */

/* Numbers are given out first, and then there is a file, or it is refused; or the process is killed before. */
static void count_refused(const struct drain *d, struct drain_totals *totals)
{
	uint64_t given = atomic_load(&d->session->page->processes), refused = atomic_load(&d->session->page->refused_processes);
	uint32_t code;

	if (given > DRAIN_PROCESSES || refused > given || given - refused > d->process_count + KILLED_MOST)
		totals->overwritten = true;
	else
		totals->refused_processes = (uint32_t)refused;
	code = atomic_load(&d->session->page->refused_code);
	totals->refused_code = code <= CODE_MOST ? (int)code : 0;
}

struct drain_totals drain_totals(const struct drain *d)
{
	struct drain_totals totals = d->totals;

	count_refused(d, &totals);
	if (d->unseen_ticks)
		totals.unseen_ns = (double)d->unseen_ticks * 1e9 / (double)clock_measure_rate(d->clock);
	return totals;
}
