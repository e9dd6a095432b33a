/* clock_hull.c - see clock_hull.h. */
#include "timeline/clock_hull.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "timeline/build.h"

#define BISECTIONS 80

static double turn(const struct hull_point *a, const struct hull_point *b, const struct hull_point *c)
{
	return (b->x - a->x) * (c->y - a->y) - (b->y - a->y) * (c->x - a->x);
}

int hull_add(struct hull *hull, double x, double y)
{
	struct hull_point point = { x, y };

	if (ROOM_FOR(hull->points, hull->capacity, hull->count + 1) < 0)
		return -ENOMEM;
	if (hull->count && hull->points[hull->count - 1].x == x) {
		if (hull->points[hull->count - 1].y <= y)
			return 0;
		hull->count--;
	}
	while (hull->count >= 2 && turn(&hull->points[hull->count - 2], &hull->points[hull->count - 1], &point) <= 0)
		hull->count--;
	hull->points[hull->count++] = point;
	return 0;
}

static double edge_slope(const struct hull *hull, size_t i)
{
	const struct hull_point *a = &hull->points[i], *b = &hull->points[i + 1];

	return (b->y - a->y) / (b->x - a->x);
}

/* Slopes of edges rise: the point is the first whose edge is steeper. */
double hull_least(const struct hull *hull, double slope, double *ret_x)
{
	size_t low = 0, high = hull->count ? hull->count - 1 : 0;

	if (hull->count == 0)
		return INFINITY;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (edge_slope(hull, middle) < slope)
			low = middle + 1;
		else
			high = middle;
	}
	if (ret_x)
		*ret_x = hull->points[low].x;
	return hull->points[low].y - slope * hull->points[low].x;
}

double hull_slope(const struct hull *hull, double x)
{
	size_t low = 0, high = hull->count ? hull->count - 1 : 0;

	if (hull->count < 2 || x <= hull->points[0].x)
		return -INFINITY;
	if (x >= hull->points[hull->count - 1].x)
		return INFINITY;
	while (low < high) { /* the last point that is not after x */
		size_t middle = low + (high - low + 1) / 2;

		if (hull->points[middle].x <= x)
			low = middle;
		else
			high = middle - 1;
	}
	return edge_slope(hull, low);
}

void lines_release(struct lines *lines)
{
	free(lines->above.points);
	free(lines->below.points);
	lines->above.points = lines->below.points = NULL;
}

/* How much room a line of this slope has; negative when it has none.  ret_rises tells where there is more. */
static double room_at(const struct lines *lines, double slope, bool *ret_rises)
{
	double above = 0, below = 0;
	double room = hull_least(&lines->above, slope, &above) + hull_least(&lines->below, -slope, &below);

	if (ret_rises)
		*ret_rises = below > above;
	return room;
}

static double roomiest_slope(const struct lines *lines)
{
	double low = lines->slope_low, high = lines->slope_high;

	for (int i = 0; i < BISECTIONS; i++) {
		double middle = low + (high - low) / 2;
		bool rises;

		room_at(lines, middle, &rises);
		if (rises)
			low = middle;
		else
			high = middle;
	}
	return low + (high - low) / 2;
}

/* Between a slope with room and one without, the last that has some. */
static double last_with_room(const struct lines *lines, double inside, double outside)
{
	if (room_at(lines, outside, NULL) >= 0)
		return outside;
	for (int i = 0; i < BISECTIONS; i++) {
		double middle = inside + (outside - inside) / 2;

		if (room_at(lines, middle, NULL) >= 0)
			inside = middle;
		else
			outside = middle;
	}
	return outside; /* the wider of the two */
}

bool lines_narrow(struct lines *lines)
{
	double best = roomiest_slope(lines), low, high;

	if (lines->above.count == 0 || lines->below.count == 0)
		return true;
	if (room_at(lines, best, NULL) < 0)
		return false;
	low = last_with_room(lines, best, lines->slope_low);
	high = last_with_room(lines, best, lines->slope_high);
	lines->slope_low = low;
	lines->slope_high = high;
	return true;
}

static double clamp(const struct lines *lines, double slope)
{
	return fmax(lines->slope_low, fmin(lines->slope_high, slope));
}

double lines_highest(const struct lines *lines, double x)
{
	double slope = clamp(lines, hull_slope(&lines->above, x));

	if (lines->above.count == 1)
		slope = x < lines->above.points[0].x ? lines->slope_low : lines->slope_high;
	return hull_least(&lines->above, slope, NULL) + slope * x;
}

double lines_lowest(const struct lines *lines, double x)
{
	double slope = clamp(lines, -hull_slope(&lines->below, x));

	if (lines->below.count == 1)
		slope = x < lines->below.points[0].x ? lines->slope_high : lines->slope_low;
	return -hull_least(&lines->below, -slope, NULL) + slope * x;
}

void lines_middle(const struct lines *lines, double *ret_slope, double *ret_height)
{
	bool bounded = lines->above.count && lines->below.count;
	double slope = bounded ? (lines->slope_low + lines->slope_high) / 2 : clamp(lines, 0);
	double highest = hull_least(&lines->above, slope, NULL), lowest = -hull_least(&lines->below, -slope, NULL);

	*ret_slope = slope;
	*ret_height = bounded ? (highest + lowest) / 2 : lines->below.count ? lowest : highest;
}
