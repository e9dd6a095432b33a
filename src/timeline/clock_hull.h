/*
 * clock_hull.h - the lines below some points and above others.
 *
 * Points to stay below (afters) and to stay above (befores) are kept as convex
 * hulls; of the lines y = height + slope * x the feasible slopes are an
 * interval, and for each of them the feasible heights are one.
 */
#ifndef TIMELINE_CLOCK_HULL_H
#define TIMELINE_CLOCK_HULL_H

#include <stdbool.h>
#include <stddef.h>

struct hull_point {
	double x, y;
};

/* The lower hull of points to stay below.  For points to stay above, y is negated, and slopes are. */
struct hull {
	struct hull_point *points; /* by x */
	size_t count, capacity;
};
/* x must not be less than that of the points before. */
int hull_add(struct hull *hull, double x, double y);
/* The least y - slope * x of its points; INFINITY when it has none.  ret_x (may be NULL) is the point's. */
double hull_least(const struct hull *hull, double slope, double *ret_x);
/* The slope of its edge at x. */
double hull_slope(const struct hull *hull, double x);

struct lines {
	struct hull above, below; /* of afters; of befores, y negated */
	double slope_low, slope_high; /* feasible; at first what is allowed */
};
void lines_release(struct lines *lines);
/* Narrows the slopes to those that some height is feasible for; false, with nothing changed, when there is none. */
bool lines_narrow(struct lines *lines);
/* What feasible lines reach at x. */
double lines_highest(const struct lines *lines, double x);
double lines_lowest(const struct lines *lines, double x);
/* The line in the middle. */
void lines_middle(const struct lines *lines, double *ret_slope, double *ret_height);

#endif
