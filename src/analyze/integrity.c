/*
 * integrity.c - can the figures be believed?
 *
 * Each check looks for one way in which a trace tells less, or something else,
 * than what happened, and says what it found in a sentence with the figures.  A
 * check is "failed" when the idle time cannot be believed any more, "warning"
 * when part of the answer is in doubt, and "note" when it is worth knowing.
 */
#include "analyze/parts.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

const char *check_status_name(enum check_status status)
{
	static const char *const names[] = { [CHECK_OK] = "ok", [CHECK_NOTE] = "note", [CHECK_WARN] = "warning",
					     [CHECK_FAIL] = "failed", [CHECK_SKIPPED] = "not_applicable" };

	return (unsigned)status < sizeof names / sizeof *names ? names[status] : "unknown";
}

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[] = { [VERDICT_GOOD] = "good", [VERDICT_DEGRADED] = "degraded", [VERDICT_POOR] = "poor" };

	return (unsigned)verdict < sizeof names / sizeof *names ? names[verdict] : "unknown";
}

int check_add(struct parts *p, const char *name, enum check_status status, uint64_t count, const char *format, ...)
{
	struct analysis *a = p->a;
	struct analysis_check *check;
	size_t capacity = a->check_count;
	va_list args;

	if (ARRAY_GROW(a->checks, capacity, a->check_count + 1) < 0)
		return -ENOMEM;
	check = &a->checks[a->check_count++];
	*check = (struct analysis_check){ .name = name, .status = status, .count = count };
	va_start(args, format);
	vsnprintf(check->detail, sizeof check->detail, format, args);
	va_end(args);
	return 0;
}

struct cut_name cut_name(const struct timeline *t, uint32_t slice)
{
	struct cut_name cut = { "" };
	size_t size;
	const char *text = timeline_string(t, slice_name(t, slice), &size);

	snprintf(cut.text, sizeof cut.text, "%.*s%s", size > NAME_CUT ? NAME_CUT : (int)size, text, size > NAME_CUT ? "..." : "");
	return cut;
}

/* ---- Kinds of events that are not there ---- */

#define DEVICE_OPENCL 2 /* docs/sbt-format.md, section 4 */

struct kinds_seen {
	bool operators, functions, calls, syncs;
	bool states; /* of threads, as seen from outside */
};

static struct kinds_seen look_for_kinds(const struct timeline *t)
{
	struct kinds_seen seen = { 0 };
	bool has[256] = { false };

	for (uint32_t i = 0; i < t->slice_count; i++)
		has[t->kind[i]] = true;
	seen.operators = has[EVENT_OP];
	seen.functions = has[EVENT_CPU_CALL] || has[EVENT_SCOPE];
	seen.calls = has[EVENT_RUNTIME_CALL];
	seen.syncs = has[EVENT_SYNC];
	for (uint32_t i = 0; i < t->look_count && !seen.states; i++)
		seen.states = t->looks[i].kind == LOOK_STATE;
	return seen;
}

/* Waits of streams for each other are records of their own, but for OpenCL's: there the wait list of a command says it. */
static bool has_sync_records(const struct parts *p)
{
	for (size_t i = 0; i < p->a->device_count; i++)
		if (p->t->devices[p->a->devices[i].device].kind != DEVICE_OPENCL)
			return true;
	return false;
}

/* Without the host's side only causes are lost, not the idle time itself. */
static int check_categories(struct parts *p)
{
	struct kinds_seen seen = look_for_kinds(p->t);
	int rc;

	if (p->a->device_count == 0) {
		rc = check_add(p, "missing_host_events", CHECK_SKIPPED, 0, "the trace has no device work");
		return rc ? rc : check_add(p, "missing_sync_events", CHECK_SKIPPED, 0, "the trace has no device work");
	}
	if (seen.operators)
		rc = check_add(p, "missing_host_events", CHECK_OK, 0, "operators are there");
	else if (seen.functions)
		rc = check_add(p, "missing_host_events", CHECK_NOTE, 1,
			       "no framework operators were recorded: work is told apart by functions and scopes only");
	else if (seen.states) /* of a program in C there is no more to record */
		rc = check_add(p, "missing_host_events", CHECK_NOTE, 1,
			       "neither operators nor functions nor scopes were recorded: what the host did in gaps is told by its calls of the "
			       "GPU's runtime and by what its threads were seen to wait for");
	else
		rc = check_add(p, "missing_host_events", CHECK_WARN, 1,
			       "neither operators nor functions nor scopes were recorded: what the host did in gaps cannot be told");
	if (rc)
		return rc;
	if (seen.syncs)
		return check_add(p, "missing_sync_events", CHECK_OK, 0, "synchronization events are there");
	if (!has_sync_records(p))
		return check_add(p, "missing_sync_events", CHECK_SKIPPED, 0, "OpenCL has no such events");
	return check_add(p, "missing_sync_events", CHECK_NOTE, 1,
			 "no synchronization events were recorded: waits between streams are told by the calls alone");
}

/* ---- Clocks of ranks ---- */

#define RANK_CLOCK_WARN 1e6 /* ns; collectives that take less cannot be told apart */

static int check_rank_clocks(struct parts *p)
{
	const struct analysis_collectives *c = &p->a->collectives;
	char count[TEXT_COUNT_SIZE], ranks[TEXT_COUNT_SIZE];

	if (isnan(c->clock_error_ns))
		return check_add(p, "rank_clocks", CHECK_SKIPPED, 0, "no collective of several ranks is in the trace");
	return check_add(p, "rank_clocks", c->clock_error_ns > RANK_CLOCK_WARN ? CHECK_WARN : CHECK_OK, c->count,
			 "ends of %s of %s agree within %.1f us (warning above 1,000 us)",
			 text_count(count, c->count, "collective", "collectives"), text_count(ranks, c->rank_count, "rank", "ranks"),
			 c->clock_error_ns / 1e3);
}

static enum verdict judge(const struct analysis *a)
{
	enum verdict verdict = VERDICT_GOOD;

	for (size_t i = 0; i < a->check_count; i++) {
		if (a->checks[i].status == CHECK_FAIL)
			return VERDICT_POOR;
		if (a->checks[i].status == CHECK_WARN)
			verdict = VERDICT_DEGRADED;
	}
	return verdict;
}

int analyze_integrity(struct parts *p)
{
	static int (*const checks[])(struct parts *) = { check_complete, check_launches,    check_graphs, check_work, check_categories,
							 check_gpu,	 check_clocks,	    check_rank_clocks, check_sources };

	for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
		int rc = checks[i](p);

		if (rc)
			return rc;
	}
	p->a->verdict = judge(p->a);
	return 0;
}
