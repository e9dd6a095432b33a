/* kernels.c - the work of a device by name. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/parts.h"

/* A mean weighted by time; work that took no time weighs one nanosecond, so that it counts where there is nothing else. */
struct weighted {
	double sum, weight;
};

static void weighted_add(struct weighted *w, double value, int64_t duration)
{
	double weight = duration > 0 ? (double)duration : 1;

	if (isnan(value))
		return;
	w->sum += value * weight;
	w->weight += weight;
}

static double weighted_mean(const struct weighted *w)
{
	return w->weight > 0 ? w->sum / w->weight : NAN;
}

struct traits {
	struct weighted occupancy, blocks;
	uint8_t class;
	bool kernel; /* and no copy or memset */
};

static int first_round(struct parts *p, const struct device_view *view, struct tally *ta)
{
	const struct timeline *t = p->t;

	for (uint32_t k = 0; k < view->count; k++) {
		uint32_t slice = view->work[k];
		struct tally_entry *entry = tally_add(ta, slice_name(t, slice), slice_duration(t, slice));

		if (!entry)
			return -ENOMEM;
		entry->total = time_sum(entry->total, slice_duration(t, slice));
		entry->self = time_sum(entry->self, view->alone[k]);
	}
	return tally_prepare(ta);
}

static void second_round(struct parts *p, const struct timeline_device *device, const struct device_view *view,
			 struct tally *ta, struct traits *traits)
{
	const struct timeline *t = p->t;

	for (uint32_t k = 0; k < view->count; k++) {
		uint32_t slice = view->work[k], detail = t->detail[slice];
		struct traits *tr = &traits[ta->entry_of[slice_name(t, slice)] - 1];
		int64_t duration = slice_duration(t, slice);

		tally_sample(ta, slice_name(t, slice), duration);
		tr->class = p->a->states.class_of[slice];
		tr->kernel = t->kind[slice] == EVENT_GPU_KERNEL || t->kind[slice] == EVENT_COLLECTIVE;
		if (!tr->kernel || detail >= t->detail_count)
			continue;
		weighted_add(&tr->occupancy, kernel_occupancy(device, &t->details[detail]), duration);
		weighted_add(&tr->blocks, kernel_blocks_per_multiprocessor(device, &t->details[detail]), duration);
	}
}

/* Sums over the kernels of a device. */
struct device_sums {
	struct weighted occupancy;
	double tensor, unknown, compute; /* time */
	bool told;              /* some kernel that multiplies matrices says how */
};

/* Devices of one trace run kernels of the same names. */
static enum tensor_use tensor_use_of(struct parts *p, uint32_t name)
{
	size_t size;
	const char *text;

	if (!p->tensor_use[name]) {
		text = timeline_string(p->t, name, &size);
		p->tensor_use[name] = (uint8_t)(kernel_tensor_use(text, size) + 1);
	}
	return p->tensor_use[name] - 1;
}

static void describe(struct parts *p, struct analysis_kernel *k, struct analysis_entry e, const struct traits *tr,
		     struct device_sums *sums)
{
	enum tensor_use use = tr->kernel ? tensor_use_of(p, e.name) : TENSOR_NO_MATRICES;

	if (tr->class == WORK_COMMUNICATION)
		use = TENSOR_NO_MATRICES;
	k->times = e;
	k->class = tr->class;
	k->tensor_core = !tr->kernel || use == TENSOR_UNKNOWN ? NAN : use == TENSOR_USED;
	k->occupancy = weighted_mean(&tr->occupancy);
	k->blocks_per_multiprocessor = weighted_mean(&tr->blocks);
	if (!tr->kernel || tr->class != WORK_COMPUTE)
		return;
	sums->compute += (double)e.total;
	sums->tensor += use == TENSOR_USED ? (double)e.total : 0;
	sums->unknown += use == TENSOR_UNKNOWN ? (double)e.total : 0;
	sums->told |= use == TENSOR_USED || use == TENSOR_UNUSED;
	sums->occupancy.sum += tr->occupancy.sum;
	sums->occupancy.weight += tr->occupancy.weight;
}

static int compare_kernels(const void *a, const void *b, void *t)
{
	const struct analysis_kernel *x = a, *y = b;

	return entry_compare(t, &x->times, &y->times);
}

int analyze_kernels(struct parts *p, struct analysis_device *d, const struct device_view *view)
{
	struct device_sums sums = { 0 };
	struct traits *traits = NULL;
	struct tally ta = { 0 };
	int rc = tally_init(&ta, p->t);

	if (rc == 0)
		rc = first_round(p, view, &ta);
	if (rc == 0) {
		traits = calloc(ta.count + 1, sizeof *traits);
		d->kernels = calloc(ta.count + 1, sizeof *d->kernels);
		rc = traits && d->kernels ? 0 : -ENOMEM;
	}
	if (rc == 0) {
		second_round(p, &p->t->devices[d->device], view, &ta, traits);
		d->kernel_count = ta.count;
		for (size_t i = 0; i < ta.count; i++)
			describe(p, &d->kernels[i], tally_result(&ta, i), &traits[i], &sums);
		qsort_r(d->kernels, d->kernel_count, sizeof *d->kernels, compare_kernels, (void *)p->t);
		d->tensor_core_share = sums.told && sums.compute > 0 ? sums.tensor / sums.compute : NAN;
		d->tensor_core_unknown = sums.compute > 0 ? sums.unknown / sums.compute : NAN;
		d->occupancy = weighted_mean(&sums.occupancy);
	}
	free(traits);
	tally_release(&ta);
	return rc;
}
