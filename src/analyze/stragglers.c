/*
 * stragglers.c - collectives across ranks: who comes last, and what the others wait.
 *
 * The kernels of a collective end together, and those that came early ran
 * longer by what they waited.  They are found by process group, where the
 * trace has it, and name: the i-th of each rank belong together when all ranks
 * have as many; else those that ran at one time do, in order.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/parts.h"
#include "base/array.h"

/* A kernel of a rank; ranks are places in a->devices here. */
struct part {
	const char *group;
	uint32_t name, rank, slice;
	int64_t begin, end;
};

struct matching {
	struct parts *p;
	struct part *list;
	size_t count, capacity;
	struct part **members; /* of the collective at hand */
	size_t member_count;
	struct span {
		size_t next, end; /* of a rank, in the list */
	} *spans;
	size_t span_count;
	uint32_t index;       /* of the next collective of this name */
	size_t row_capacity;
};

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->group != y->group)
		return (uintptr_t)x->group < (uintptr_t)y->group ? -1 : 1;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->slice < y->slice ? -1 : x->slice > y->slice;
}

static const struct timeline_collective *collective_of(const struct timeline *t, uint32_t slice)
{
	uint32_t detail = t->detail[slice], collective = TIMELINE_NONE;

	if (detail < t->detail_count)
		collective = t->details[detail].collective;
	return collective < t->collective_count ? &t->collectives[collective] : NULL;
}

static int list_parts(struct matching *m)
{
	const struct timeline *t = m->p->t;

	for (size_t d = 0; d < m->p->a->device_count; d++) {
		const struct device_view *view = &m->p->views[d];

		for (uint32_t k = 0; k < view->count; k++) {
			uint32_t slice = view->work[k];
			const struct timeline_collective *c = collective_of(t, slice);

			if (m->p->a->states.class_of[slice] != WORK_COMMUNICATION)
				continue;
			if (ARRAY_GROW(m->list, m->capacity, m->count + 1) < 0)
				return -ENOMEM;
			m->list[m->count++] = (struct part){ c ? c->group : NULL, slice_name(t, slice), (uint32_t)d, slice,
							     t->begin[slice], t->end[slice] };
		}
	}
	if (m->count)
		qsort(m->list, m->count, sizeof *m->list, compare_parts);
	return 0;
}

/* ---- One collective ---- */

static bool says(const char *text, size_t size, const char *word)
{
	char plain[128];
	size_t length = 0;

	for (size_t i = 0; i < size && length < sizeof plain; i++)
		if (text[i] != '_')
			plain[length++] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + 32) : text[i];
	return memmem(plain, length, word, strlen(word));
}

/* What crosses the slowest link for each byte of the message, with n ranks. */
static double bus_factor(const char *name, size_t size, double n)
{
	if (says(name, size, "allreduce"))
		return 2 * (n - 1) / n;
	if (says(name, size, "allgather") || says(name, size, "reducescatter") || says(name, size, "alltoall"))
		return (n - 1) / n;
	return 1;
}

static void measure_bandwidth(const struct matching *m, struct analysis_collective *row)
{
	const struct timeline *t = m->p->t;
	size_t size;
	const char *name = timeline_string(t, row->name, &size);
	uint32_t group_size = 0;

	for (size_t i = 0; i < m->member_count; i++) {
		const struct timeline_collective *c = collective_of(t, m->members[i]->slice);

		if (!c)
			continue;
		row->bytes = c->bytes > row->bytes ? c->bytes : row->bytes;
		group_size = c->group_size > group_size ? c->group_size : group_size;
		row->operation = c->name;
	}
	if (row->operation) {
		name = row->operation;
		size = strlen(name);
	}
	row->bus_bandwidth = NAN;
	if (row->bytes && row->transfer > 0)
		row->bus_bandwidth = (double)row->bytes * 1e9 / (double)row->transfer *
				     bus_factor(name, size, group_size > 1 ? group_size : row->ranks);
}

/* How long a rank waited for the last one: not longer than it was there. */
static int64_t wait_of(const struct part *part, int64_t last_begin)
{
	int64_t wait = last_begin - part->begin, there = part->end - part->begin;

	return wait < there ? wait : there > 0 ? there : 0;
}

static void measure(const struct matching *m, struct analysis_collective *row, uint32_t *ret_last)
{
	int64_t first_begin = INT64_MAX, last_begin = -1, first_end = INT64_MAX, last_end = -1;

	row->transfer = INT64_MAX;
	for (size_t i = 0; i < m->member_count; i++) {
		const struct part *part = m->members[i];
		int64_t duration = part->end > part->begin ? part->end - part->begin : 0;

		if (part->begin > last_begin) {
			last_begin = part->begin;
			*ret_last = part->rank;
		}
		first_begin = part->begin < first_begin ? part->begin : first_begin;
		first_end = part->end < first_end ? part->end : first_end;
		last_end = part->end > last_end ? part->end : last_end;
		row->transfer = duration < row->transfer ? duration : row->transfer;
	}
	row->begin = first_begin;
	row->start_skew = last_begin - first_begin;
	row->end_skew = last_end - first_end;
	for (size_t i = 0; i < m->member_count; i++)
		row->wait_total = time_sum(row->wait_total, wait_of(m->members[i], last_begin));
}

/* Whether all of them were there at one time. */
static bool met(const struct matching *m)
{
	int64_t last_begin = INT64_MIN, first_end = INT64_MAX;

	for (size_t i = 0; i < m->member_count; i++) {
		last_begin = m->members[i]->begin > last_begin ? m->members[i]->begin : last_begin;
		first_end = m->members[i]->end < first_end ? m->members[i]->end : first_end;
	}
	return m->member_count > 1 && last_begin <= first_end;
}

static int take_collective(struct matching *m)
{
	struct analysis_collectives *c = &m->p->a->collectives;
	struct analysis_collective *row;
	uint32_t last = 0;

	if (!met(m)) {
		c->unmatched += m->member_count;
		return 0;
	}
	if (ARRAY_GROW(c->rows, m->row_capacity, c->count + 1) < 0)
		return -ENOMEM;
	row = &c->rows[c->count++];
	*row = (struct analysis_collective){ .name = m->members[0]->name, .group = m->members[0]->group, .index = m->index++,
					     .ranks = (uint32_t)m->member_count };
	measure(m, row, &last);
	measure_bandwidth(m, row);
	row->last_rank = c->ranks[last].rank;
	c->ranks[last].arrived_last++;
	c->ranks[last].caused = time_sum(c->ranks[last].caused, row->wait_total);
	for (size_t i = 0; i < m->member_count; i++) {
		int64_t last_begin = row->begin + row->start_skew;
		struct analysis_rank *rank = &c->ranks[m->members[i]->rank];

		rank->wait = time_sum(rank->wait, wait_of(m->members[i], last_begin));
	}
	return 0;
}

/* ---- Those of one group and name ---- */

static bool as_many_each(const struct matching *m)
{
	for (size_t i = 1; i < m->span_count; i++)
		if (m->spans[i].end - m->spans[i].next != m->spans[0].end - m->spans[0].next)
			return false;
	return true;
}

/* The next one of each rank; if not all have as many, of those that had begun when the first of them ended. */
static void next_members(struct matching *m, bool by_time)
{
	int64_t first_end = INT64_MAX;

	m->member_count = 0;
	for (size_t i = 0; i < m->span_count; i++)
		if (m->spans[i].next < m->spans[i].end && m->list[m->spans[i].next].end < first_end)
			first_end = m->list[m->spans[i].next].end;
	for (size_t i = 0; i < m->span_count; i++) {
		struct span *span = &m->spans[i];

		if (span->next < span->end && (!by_time || m->list[span->next].begin <= first_end))
			m->members[m->member_count++] = &m->list[span->next++];
	}
}

static int match_spans(struct matching *m)
{
	bool by_time = !as_many_each(m);
	int rc = 0;

	m->index = 0;
	if (m->span_count < 2)
		return 0;
	for (next_members(m, by_time); m->member_count && rc == 0; next_members(m, by_time))
		rc = take_collective(m);
	return rc;
}

static int match_all(struct matching *m)
{
	int rc = 0;

	for (size_t i = 0; i < m->count && rc == 0;) {
		const struct part *first = &m->list[i];

		m->span_count = 0;
		while (i < m->count && m->list[i].group == first->group && m->list[i].name == first->name) {
			uint32_t rank = m->list[i].rank;
			struct span *span = &m->spans[m->span_count++];

			span->next = i;
			while (i < m->count && m->list[i].group == first->group && m->list[i].name == first->name && m->list[i].rank == rank)
				i++;
			span->end = i;
		}
		rc = match_spans(m);
	}
	return rc;
}

/* ---- All ---- */

static int compare_rows(const void *a, const void *b)
{
	const struct analysis_collective *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int compare_ranks(const void *a, const void *b)
{
	const struct analysis_rank *x = a, *y = b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Ranks as the trace has them, if it has another for each device; else the devices are counted. */
static int number_ranks(const struct parts *p, struct analysis_collectives *c)
{
	struct analysis_rank *sorted = calloc(c->rank_count, sizeof *sorted);
	bool known = true;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < c->rank_count; i++)
		sorted[i].rank = c->ranks[i].rank = p->t->devices[p->a->devices[i].device].rank;
	qsort(sorted, c->rank_count, sizeof *sorted, compare_ranks);
	for (size_t i = 0; i < c->rank_count; i++)
		known &= sorted[i].rank >= 0 && (i == 0 || sorted[i - 1].rank != sorted[i].rank);
	for (size_t i = 0; i < c->rank_count && !known; i++)
		c->ranks[i].rank = (int64_t)i;
	free(sorted);
	return 0;
}

/*
 * If it were chance, each of n ranks would come last in one of n collectives,
 * give or take.  One that comes last more often than any other, and by two
 * standard deviations more often than that, stands out.
 */
static int64_t find_straggler(const struct analysis_collectives *c)
{
	const struct analysis_rank *most = NULL;
	bool tie = false;
	double expected, n = (double)c->rank_count, rows = (double)c->count;

	for (size_t i = 0; i < c->rank_count; i++) {
		tie = most && c->ranks[i].arrived_last == most->arrived_last ? true : tie;
		if (!most || c->ranks[i].arrived_last > most->arrived_last) {
			most = &c->ranks[i];
			tie = false;
		}
	}
	if (!most || tie || c->count < 3)
		return -1;
	expected = rows / n;
	return (double)most->arrived_last > expected + 2 * sqrt(expected * (1 - 1 / n)) ? most->rank : -1;
}

static void conclude(struct analysis_collectives *c)
{
	if (c->count)
		qsort(c->rows, c->count, sizeof *c->rows, compare_rows);
	for (size_t i = 0; i < c->count; i++)
		c->clock_error_ns = isnan(c->clock_error_ns) ? (double)c->rows[i].end_skew :
							       fmax(c->clock_error_ns, (double)c->rows[i].end_skew);
	c->straggler = find_straggler(c);
}

int analyze_collectives(struct parts *p)
{
	struct analysis_collectives *c = &p->a->collectives;
	struct matching m = { .p = p };
	int rc = -ENOMEM;

	c->straggler = -1;
	c->clock_error_ns = NAN;
	if (p->a->device_count < 2)
		return 0;
	c->rank_count = p->a->device_count;
	c->ranks = calloc(c->rank_count, sizeof *c->ranks);
	m.members = calloc(c->rank_count, sizeof *m.members);
	m.spans = calloc(c->rank_count, sizeof *m.spans);
	if (c->ranks && m.members && m.spans)
		rc = list_parts(&m);
	if (rc == 0)
		rc = number_ranks(p, c);
	if (rc == 0)
		rc = match_all(&m);
	if (rc == 0)
		conclude(c);
	if (c->count == 0) /* nobody met anybody: there is nothing to say about ranks */
		c->rank_count = 0;
	free(m.members);
	free(m.spans);
	free(m.list);
	return rc;
}
