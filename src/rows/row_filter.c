/* row_filter.c - see row_filter.h. */
#include "rows/row_filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define BIT_SCOPE_ENTER 62
#define BIT_SCOPE_EXIT 63
#define BIT_DEPTH (UINT64_C(1) << FIELD_DEPTH)
_Static_assert((int)EVENT_KIND_COUNT <= BIT_SCOPE_ENTER, "kinds and the two halves of a scope share 64 bits");

static uint64_t bits_of(const char *word)
{
	unsigned kind = event_kind_from_name(word);

	if (strcmp(word, "scope_enter") == 0)
		return UINT64_C(1) << BIT_SCOPE_ENTER;
	if (strcmp(word, "scope_exit") == 0)
		return UINT64_C(1) << BIT_SCOPE_EXIT;
	if (kind == EVENT_SCOPE)
		return UINT64_C(1) << BIT_SCOPE_ENTER | UINT64_C(1) << BIT_SCOPE_EXIT | UINT64_C(1) << EVENT_SCOPE;
	return kind == EVENT_NONE ? 0 : UINT64_C(1) << kind;
}

static const char *kind_name(void *arg, size_t i)
{
	(void)arg;
	return i + 1 < EVENT_KIND_COUNT ? event_kind_name((unsigned)i + 1) : NULL;
}

static int unknown_kind(const struct row_filter *filter, const char *word, struct error *err)
{
	const char *near = text_nearest(word, kind_name, NULL);
	char list[400] = "scope_enter, scope_exit";
	size_t used = strlen(list);

	err->exit_code = 2;
	if (near)
		return error_set(err, -EINVAL, "%s: --kind does not know '%.40s'; did you mean '%s'?", filter->command, word, near);
	for (size_t i = 0; kind_name(NULL, i) && used < sizeof list; i++)
		used += (size_t)snprintf(list + used, sizeof list - used, ", %s", kind_name(NULL, i));
	return error_set(err, -EINVAL, "%s: --kind does not know '%.40s'; there are %s", filter->command, word, list);
}

int row_filter_set_kinds(struct row_filter *filter, const char *list, struct error *err)
{
	char word[64];
	uint64_t bits;
	size_t size;

	for (;;) {
		size = strcspn(list, ",");
		snprintf(word, sizeof word, "%.*s", (int)size, list);
		bits = bits_of(word);
		if (!bits)
			return unknown_kind(filter, word, err);
		filter->types |= bits;
		if (!list[size])
			return 0;
		list += size + 1;
	}
}

/* Milliseconds to nanoseconds; beyond about 292 years it is for ever. */
static int64_t to_ns(double ms)
{
	return ms >= 9e12 ? INT64_MAX : (int64_t)llround(ms * 1e6);
}

int row_filter_set_range(struct row_filter *filter, double from_ms, double to_ms, struct error *err)
{
	if (!(from_ms < to_ms)) {
		err->exit_code = 2;
		return error_set(err, -EINVAL,
				 "%s: the window ends at %g ms and starts at %g ms; it has to end later", filter->command, to_ms,
				 from_ms);
	}
	filter->windowed = true;
	filter->from_ns = to_ns(from_ms);
	filter->to_ns = to_ns(to_ms);
	return 0;
}

/* A number up to `stop`; a missing one leaves *ret as it is. */
static bool parse_bound(const char *text, char stop, double *ret, const char **ret_end)
{
	char *end;

	if (*text != stop) {
		*ret = strtod(text, &end);
		if (end == text || !isfinite(*ret) || *ret < 0)
			return false;
		text = end;
	}
	*ret_end = text;
	return *text == stop;
}

int row_filter_set_window(struct row_filter *filter, const char *window, struct error *err)
{
	double from = 0, to = HUGE_VAL;
	const char *at;

	if (!parse_bound(window, ':', &from, &at) || !parse_bound(at + 1, 0, &to, &at)) {
		err->exit_code = 2;
		return error_set(err, -EINVAL,
				 "%s: --window expects FROM:TO in milliseconds, as in 10:20.5, not '%.60s'", filter->command, window);
	}
	return row_filter_set_range(filter, from, to, err);
}

static unsigned bit_of(const struct row *row)
{
	if (strcmp(row->type, "scope_enter") == 0)
		return BIT_SCOPE_ENTER;
	if (strcmp(row->type, "scope_exit") == 0)
		return BIT_SCOPE_EXIT;
	return row->kind < BIT_SCOPE_ENTER ? row->kind : 0;
}

bool row_filter_match_track(const struct row_filter *filter, uint32_t number, const struct trace_reader *reader)
{
	const struct trace_track *track = trace_reader_track(reader, number);
	const struct trace_process *process =
		track && track->process >= 0 ? trace_reader_process(reader, (uint32_t)track->process) : NULL;

	if (filter->thread >= 0 &&
	    !(track && (track->kind == TRACK_THREAD || track->kind == TRACK_STATES) && track->os_id == (uint64_t)filter->thread))
		return false;
	return filter->process < 0 || (process && process->pid == (uint64_t)filter->process);
}

/* A whole one; of one that never ended, end_ns is how far it came. */
static bool is_slice(const struct row *row)
{
	return row->has_start && (row->has_end || row->flags & (ROW_UNFINISHED | ROW_CONTINUES));
}

static bool is_too_deep(const struct row_filter *filter, const struct row *row)
{
	if (filter->depth < 0)
		return false;
	return filter->deep ? row->deep : row->present & BIT_DEPTH && row->depth >= filter->depth;
}

bool row_filter_match(const struct row_filter *filter, const struct row *row, const struct trace_reader *reader)
{
	size_t size;

	if (filter->types && !(filter->types >> bit_of(row) & 1))
		return false;
	if ((filter->thread >= 0 || filter->process >= 0) && !row_filter_match_track(filter, row->track, reader))
		return false;
	if (is_slice(row) && (is_too_deep(filter, row) || row->end_ns - row->start_ns < filter->shortest_ns))
		return false;
	return !filter->name || fnmatch(filter->name, trace_reader_string(reader, row->name, &size), 0) == 0;
}
