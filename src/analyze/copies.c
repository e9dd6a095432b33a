/* copies.c - copies of a device by direction and by the kinds of memory they go between. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/parts.h"

#define DIRECTIONS 3
#define PLACES (DIRECTIONS * MEMORY_KIND_COUNT * MEMORY_KIND_COUNT)

static bool is_copy(uint8_t kind)
{
	return kind >= EVENT_H2D_COPY && kind <= EVENT_D2D_COPY;
}

static unsigned known(uint8_t memory)
{
	return memory < MEMORY_KIND_COUNT ? memory : MEMORY_UNKNOWN;
}

static void add(struct analysis_copy *copies, const struct timeline *t, uint32_t slice, int64_t alone)
{
	const struct timeline_detail *detail = detail_of(t, slice);
	unsigned from = known(detail->memory_from), to = known(detail->memory_to);
	struct analysis_copy *c = &copies[((t->kind[slice] - EVENT_H2D_COPY) * MEMORY_KIND_COUNT + from) * MEMORY_KIND_COUNT + to];

	c->kind = t->kind[slice];
	c->memory_from = (uint8_t)from;
	c->memory_to = (uint8_t)to;
	c->count++;
	c->bytes += detail->bytes;
	c->total = time_sum(c->total, slice_duration(t, slice));
	c->exposed = time_sum(c->exposed, alone);
}

static int compare_copies(const void *a, const void *b)
{
	const struct analysis_copy *x = a, *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->memory_from != y->memory_from)
		return x->memory_from < y->memory_from ? -1 : 1;
	return x->memory_to < y->memory_to ? -1 : x->memory_to > y->memory_to;
}

int analyze_copies(struct parts *p, struct analysis_device *d, const struct device_view *view)
{
	struct analysis_copy *copies = calloc(PLACES, sizeof *copies);

	if (!copies)
		return -ENOMEM;
	for (uint32_t k = 0; k < view->count; k++)
		if (is_copy(p->t->kind[view->work[k]]))
			add(copies, p->t, view->work[k], view->alone[k]);
	for (unsigned i = 0; i < PLACES; i++)
		if (copies[i].count)
			copies[d->copy_count++] = copies[i];
	qsort(copies, d->copy_count, sizeof *copies, compare_copies);
	d->copies = copies;
	return 0;
}
