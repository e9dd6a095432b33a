/* report_device.c - see report_parts.h. */
#include <stdlib.h>
#include <string.h>

#include "report/report_parts.h"

static int64_t length(const struct device_states *s, uint32_t gap)
{
	return s->gaps[gap].end - s->gaps[gap].begin;
}

/* A heap of the `most` longest with the shortest of them on top; equal ones in the order of time. */
static bool shorter(const struct device_states *s, uint32_t a, uint32_t b)
{
	return length(s, a) != length(s, b) ? length(s, a) < length(s, b) : a > b;
}

static void sift_down(const struct device_states *s, uint32_t *heap, uint32_t count, uint32_t at)
{
	for (;;) {
		uint32_t least = at, left = 2 * at + 1, right = left + 1, swap;

		if (left < count && shorter(s, heap[left], heap[least]))
			least = left;
		if (right < count && shorter(s, heap[right], heap[least]))
			least = right;
		if (least == at)
			return;
		swap = heap[at];
		heap[at] = heap[least];
		heap[least] = swap;
		at = least;
	}
}

uint32_t *report_longest_gaps(const struct device_states *s, uint32_t most, uint32_t *ret_count)
{
	uint32_t count = s->gap_count < most ? s->gap_count : most, *heap;

	*ret_count = 0;
	heap = count ? malloc(count * sizeof *heap) : NULL;
	if (!heap)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		heap[i] = i;
	for (uint32_t i = count / 2; i-- > 0;)
		sift_down(s, heap, count, i);
	for (uint32_t i = count; i < s->gap_count; i++)
		if (shorter(s, heap[0], i)) {
			heap[0] = i;
			sift_down(s, heap, count, 0);
		}
	for (uint32_t left = count; left > 1;) { /* takes the shortest out to the end */
		uint32_t top = heap[0];

		heap[0] = heap[--left];
		heap[left] = top;
		sift_down(s, heap, left, 0);
	}
	*ret_count = count;
	return heap;
}

const char *report_short_name(const char *name, size_t *size)
{
	static const char *const prefixes[] = { "void ", "at::native::", "at::cuda::", "(anonymous namespace)::", "at_cuda_detail::",
						"<unnamed>::", "cutlass::Kernel2<", "cutlass::Kernel<", "cutlass::device_kernel<" };
	size_t left = *size;

	for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
		size_t length = strlen(prefixes[i]);

		if (left <= length || memcmp(name, prefixes[i], length) != 0)
			continue;
		name += length;
		left -= length;
		i = (size_t)-1; /* in any order, and again */
	}
	*size = left;
	return name;
}

uint32_t report_gap_reason(const struct timeline_gap *gap)
{
	if (gap->cause == IDLE_SYNC && gap->blocking != TIMELINE_NONE)
		return gap->blocking;
	if (gap->top != TIMELINE_NONE)
		return gap->top;
	return gap->blocking != TIMELINE_NONE ? gap->blocking : gap->launch;
}
