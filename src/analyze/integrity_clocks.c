/*
 * integrity_clocks.c - can times of different clocks be compared?
 *
 * clock_sync  a clock that nothing relates to the others, or that is known less well than the margin: a warning.  Where the
 *             error has no bound the margin is taken for it; where it has one, and that is larger, the bound
 *
 * A device's clock that only causes and effects tell of is fine as long as they do not contradict it, however little they say:
 * that is a note.
 *
 * Times of other tools are as these made them: of one file's the other checks tell whether they fit, of several files'
 * nobody knows how well they agree, unless collectives tell (rank_clocks).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/parts.h"

static bool is_method(const struct timeline_clock *c, const char *method)
{
	return c->method && strcmp(c->method, method) == 0;
}

static bool is_related(const struct timeline_clock *c)
{
	return c->error_ns >= 0 && !is_method(c, "nominal") && !is_method(c, "start_aligned");
}

/* As a file of another tool has it, which we know nothing else of. */
static bool is_foreign(const struct timeline_clock *c)
{
	return is_method(c, "as_given") && !(c->error_ns >= 0);
}

/* Known within the margin. */
static bool is_good(const struct analysis *a, const struct timeline_clock *c)
{
	return is_related(c) && c->error_ns <= (double)a->clock_margin;
}

/* Of a device, and nothing much speaks against it. */
static bool is_loose(const struct analysis *a, const struct timeline_clock *c)
{
	bool little = is_method(c, "causality") || !(c->error_ns >= 0);

	return c->of_device && little && c->error_least <= (double)a->clock_margin && !is_good(a, c);
}

static bool is_bad(const struct analysis *a, const struct timeline_clock *c)
{
	return !is_foreign(c) && !is_good(a, c) && !is_loose(a, c);
}

double analysis_clock_error(const struct analysis *a, const struct timeline_clock *c)
{
	double margin = (double)a->clock_margin;

	if (is_foreign(c) && a->timeline->clock_count == 1)
		return NAN;
	if (c->of_device && !(c->error_ns >= 0))
		return fmax(margin, c->error_least);
	return is_related(c) || c->error_ns > margin ? c->error_ns : margin;
}

static struct cut_name clock_name(const struct timeline *t, const struct timeline_clock *c)
{
	struct cut_name cut = { "" };
	size_t size;
	const char *text = timeline_string(t, c->name, &size);

	snprintf(cut.text, sizeof cut.text, "%.*s", size > NAME_CUT ? NAME_CUT : (int)size, text);
	return cut;
}

static int add_bad(struct parts *p, const struct timeline_clock *c, uint64_t count)
{
	const struct analysis *a = p->a;
	const char *why = is_method(c, "start_aligned") ? "nothing relates it to the others, it was laid beside them by its begin" :
			  is_method(c, "nominal")       ? "no two readings relate it to the others, its rate is the nominal one" :
			  is_method(c, "causality")     ? "that much is left between launches and the calls that waited" :
							  "its readings do not agree better";
	char error[32], margin[32], more[48] = "";

	if (count > 1)
		snprintf(more, sizeof more, "; so it is with %llu more", (unsigned long long)count - 1);
	return check_add(p, "clock_sync", CHECK_WARN, count,
			 "times of clock %u (%s, method %s) are taken to be right within %s: %s (warning above the margin of %s, "
			 "sync_error_margin_us)%s",
			 c->domain, clock_name(p->t, c).text, c->method, format_time(error, llrint(fmin(analysis_clock_error(a, c), 1e18))), why,
			 format_time(margin, a->clock_margin), more);
}

/* Files that have no time of day are beside the others by their begins. */
static int add_aligned(struct parts *p, uint64_t aligned)
{
	char margin[32];

	return check_add(p, "clock_sync", CHECK_WARN, aligned,
			 "files that do not say when they were recorded, and were laid beside the others by their begins: %llu; an error of "
			 "%s, the margin (sync_error_margin_us), is the least that has to be expected",
			 (unsigned long long)aligned, format_time(margin, p->a->clock_margin));
}

static int add_loose(struct parts *p, const struct timeline_clock *c, uint64_t count, double worst)
{
	bool bound = c->error_ns >= 0;
	char error[32], others[32], more[48] = "";

	if (count > 1)
		snprintf(more, sizeof more, ", as for %llu more", (unsigned long long)count - 1);
	return check_add(p, "clock_sync", CHECK_NOTE, count,
			 "nothing contradicts, by more than the margin, the clock of device %u (%s, method %s), and %s: %s%s is taken for "
			 "its error%s; all other clocks are known within %s",
			 p->t->devices[c->device].index, clock_name(p->t, c).text, c->method,
			 bound ? "the calls that waited for its work leave that much room" : "no calls are known that waited for its work",
			 format_time(error, llrint(fmin(analysis_clock_error(p->a, c), 1e18))),
			 bound ? "" : ", the margin (sync_error_margin_us),", more, format_time(others, llrint(fmin(worst, 1e18))));
}

static int add_good(struct parts *p, uint32_t foreign, double worst)
{
	char error[32], margin[32];

	format_time(margin, p->a->clock_margin);
	if (foreign > 1 && isnan(p->a->collectives.clock_error_ns))
		return check_add(p, "clock_sync", CHECK_NOTE, foreign,
				 "how well the clocks of %u files agree is not known: %s, the margin (sync_error_margin_us), is taken for the error",
				 foreign, margin);
	if (foreign)
		return check_add(p, "clock_sync", CHECK_OK, 0, "the times are those of the tool that recorded them");
	return check_add(p, "clock_sync", CHECK_OK, 0, "all clocks are known within %s (warning above the margin of %s)",
			 format_time(error, llrint(fmin(worst, 1e18))), margin);
}

int check_clocks(struct parts *p)
{
	const struct timeline *t = p->t;
	const struct timeline_clock *bad = NULL, *loose = NULL;
	uint64_t count = 0, loose_count = 0, aligned = sources_aligned(t->reader);
	uint32_t foreign = 0;
	double worst = 0;

	if (t->clock_count == 0)
		return check_add(p, "clock_sync", CHECK_SKIPPED, 0, "the trace has no clock");
	for (uint32_t i = 0; i < t->clock_count; i++) {
		const struct timeline_clock *c = &t->clocks[i];

		foreign += is_foreign(c);
		if (is_bad(p->a, c)) {
			bad = bad && analysis_clock_error(p->a, bad) >= analysis_clock_error(p->a, c) ? bad : c;
			count++;
		} else if (is_loose(p->a, c)) {
			loose = loose ? loose : c;
			loose_count++;
		} else if (c->error_ns > worst) {
			worst = c->error_ns;
		}
	}
	if (bad)
		return add_bad(p, bad, count);
	if (aligned)
		return add_aligned(p, aligned);
	return loose ? add_loose(p, loose, loose_count, worst) : add_good(p, foreign, worst);
}
