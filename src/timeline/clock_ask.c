/* clock_ask.c - what a fitted clock answers; see clock_sync.h. */
#include <math.h>

#include "timeline/build.h"
#include "timeline/clock_state.h"

int64_t clock_host_of(const struct clock_sync *sync, double residual_ns, double x)
{
	long double ns = (long double)sync->nominal * x + residual_ns;

	return time_add(sync->host, ns > 9e18L ? INT64_MAX : ns < -9e18L ? INT64_MIN : llroundl(ns));
}

/* With a clock that was set back, a time may have been shown twice: the later one is taken, by samples if there are any. */
static struct clock_place locate_back(const struct clock_sync *sync, int64_t device)
{
	const struct segment *found = NULL;
	double x = clock_difference(device, sync->device);

	for (const struct segment *s = sync->segments; s < sync->segments + sync->count; s++)
		if (device >= s->info.first && device <= s->info.last)
			found = s;
	for (const struct segment *s = sync->segments + sync->count; !found && s-- > sync->segments;)
		if (x >= s->reach_low && x <= s->reach_high)
			found = s;
	found = found ? found : device < sync->segments[0].info.first ? sync->segments : &sync->segments[sync->count - 1];
	return (struct clock_place){ found, found };
}

struct clock_place clock_locate(const struct clock_sync *sync, int64_t device)
{
	size_t low = 0, high = sync->count;

	if (sync->set_back)
		return locate_back(sync, device);
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (sync->segments[middle].info.first <= device)
			low = middle;
		else
			high = middle;
	}
	if (low + 1 < sync->count && device > sync->segments[low].info.last)
		return (struct clock_place){ &sync->segments[low], &sync->segments[low + 1] };
	return (struct clock_place){ &sync->segments[low], &sync->segments[low] };
}

/* Between two lines, from the end of one to the begin of the other; never backwards. */
static double residual_at(const struct clock_sync *sync, const struct clock_place *place, int64_t device)
{
	double x = clock_difference(device, sync->device), x0, x1, y0, y1;

	if (place->left == place->right)
		return clock_line_at(place->left, x);
	x0 = clock_difference(place->left->info.last, sync->device);
	x1 = clock_difference(place->right->info.first, sync->device);
	y0 = clock_line_at(place->left, x0);
	y1 = fmax(clock_line_at(place->right, x1), y0 - sync->nominal * (x1 - x0));
	return y0 + (y1 - y0) * ((x - x0) / (x1 - x0));
}

/* Where segments go backwards in the host's time, what is before holds what is after. */
static double answer(const struct clock_sync *sync, const struct clock_place *place, int64_t device)
{
	double y = residual_at(sync, place, device);

	return sync->set_back ? y : fmax(y, place->left->floor - sync->nominal * clock_difference(device, sync->device));
}

int64_t clock_sync_host(const struct clock_sync *sync, int64_t device)
{
	struct clock_place place = clock_locate(sync, device);

	return clock_host_of(sync, answer(sync, &place, device), clock_difference(device, sync->device));
}

/* The wider of the brackets on either side: a step that was too small to see is not larger. */
static double width_around(const struct segment *s, double x)
{
	size_t low = 0, high = s->count;
	double width = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->items[middle].x < x)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0)
		width = clock_width(&s->items[low - 1]);
	return low < s->count ? fmax(width, clock_width(&s->items[low])) : width;
}

static double error_in(const struct segment *s, double x, double y)
{
	double reach = fmax(lines_highest(&s->lines, x) - y, y - lines_lowest(&s->lines, x));

	return fmax(reach, width_around(s, x));
}

double clock_sync_error(const struct clock_sync *sync, int64_t device)
{
	struct clock_place place = clock_locate(sync, device);
	double x = clock_difference(device, sync->device), y = answer(sync, &place, device);
	double error = fmax(error_in(place.left, x, y), error_in(place.right, x, y));

	for (size_t i = 0; i < sync->count && sync->set_back; i++)
		if (x >= sync->segments[i].reach_low && x <= sync->segments[i].reach_high)
			error = fmax(error, error_in(&sync->segments[i], x, y));
	return error + 1; /* of rounding */
}
