/* info_facts.c - facts about a trace that both the text and the JSON of `info` tell. */
#include "cmd/info_print.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/msgpack.h"
#include "ring/layout.h"
#include "trace/reader.h"

#define YEAR_1990_NS ((int64_t)631152000 * 1000000000)

/* Times of imports are nanoseconds of the time of day where the file knew it: then they are large. */
static bool imported_start_time(const struct trace_reader *reader, int64_t *ret_ns)
{
	const struct trace_clock *clock = trace_reader_clock(reader, 0);
	int64_t start;

	if (!clock || clock->kind != CLOCK_KIND_NANOSECONDS || trace_reader_info_integer(reader, "start_ticks", &start) < 0 ||
	    start < YEAR_1990_NS)
		return false;
	*ret_ns = start;
	return true;
}

bool info_start_time(const struct trace_reader *reader, int64_t *ret_ns)
{
	const struct trace_clock_pair *pairs;
	size_t i, count = trace_reader_clock_pairs(reader, 0, &pairs);

	for (i = 0; i < count; i++)
		if (pairs[i].realtime_ns > 0) {
			*ret_ns = pairs[i].realtime_ns - trace_reader_since_start_ns(reader, 0, pairs[i].ticks);
			return true;
		}
	return imported_start_time(reader, ret_ns);
}

char *info_format_time(char *out, int64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	char date[32] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out, 40, "%s.%03dZ", date, (int)(ns % 1000000000 / 1000000));
	return out;
}

const char *info_clock_name(unsigned kind)
{
	switch (kind) {
	case CLOCK_KIND_TSC:
		return "TSC";
	case CLOCK_KIND_ARM:
		return "ARM counter";
	case CLOCK_KIND_MONOTONIC_RAW:
		return "CLOCK_MONOTONIC_RAW";
	case CLOCK_KIND_MONOTONIC:
		return "CLOCK_MONOTONIC";
	case CLOCK_KIND_REALTIME:
		return "CLOCK_REALTIME";
	case CLOCK_KIND_DEVICE:
		return "device";
	case CLOCK_KIND_NANOSECONDS:
		return "nanoseconds";
	default:
		return "unknown";
	}
}

const char *info_track_kind(unsigned kind)
{
	const char *name = trace_track_kind_name(kind);

	return name ? name : "unknown";
}

uint64_t info_count(const struct trace_reader *reader, const char *key)
{
	int64_t value;

	return trace_reader_info_integer(reader, key, &value) == 0 && value > 0 ? (uint64_t)value : 0;
}

/* The string at place i of the array that comes next. */
static bool string_at(struct cursor *c, uint32_t i, const char **ret, size_t *ret_size)
{
	struct msgpack_value array, text;

	if (msgpack_read(c, &array) < 0 || array.type != MSGPACK_ARRAY || i >= array.count)
		return false;
	for (uint32_t at = 0; at < i; at++)
		if (msgpack_skip(c) < 0)
			return false;
	if (msgpack_read(c, &text) < 0 || text.type != MSGPACK_STRING)
		return false;
	*ret = (const char *)text.data;
	*ret_size = text.size;
	return true;
}

bool info_note(const struct trace_reader *reader, uint32_t i, const char **ret, size_t *ret_size)
{
	const uint8_t *raw;
	struct cursor c;
	size_t size;

	if (i >= NOTE_LIMIT || trace_reader_info_raw(reader, "notes", &raw, &size) < 0)
		return false;
	c = cursor_of(raw, size);
	return string_at(&c, i, ret, ret_size);
}

/* ---- GPUs ---- */

#define LIBRARY_LIMIT 64u

bool info_gpu_text(const struct trace_reader *reader, const char *key, const char **ret, size_t *ret_size)
{
	struct msgpack_value value;
	struct cursor c;

	if (!trace_reader_info_member(reader, "gpu", key, &c) || msgpack_read(&c, &value) < 0 || value.type != MSGPACK_STRING)
		return false;
	*ret = (const char *)value.data;
	*ret_size = value.size;
	return true;
}

bool info_gpu_flag(const struct trace_reader *reader, const char *key)
{
	struct msgpack_value value;
	struct cursor c;

	return trace_reader_info_member(reader, "gpu", key, &c) && msgpack_read(&c, &value) == 0 && value.type == MSGPACK_BOOL && value.boolean;
}

bool info_gpu_library(const struct trace_reader *reader, uint32_t i, const char **ret, size_t *ret_size)
{
	struct cursor c;

	return i < LIBRARY_LIMIT && trace_reader_info_member(reader, "gpu", "libraries", &c) && string_at(&c, i, ret, ret_size);
}

bool info_sampling(const struct trace_reader *reader, const char *key, int64_t *ret)
{
	struct msgpack_value value;
	struct cursor c;

	if (!trace_reader_info_member(reader, "sampling", key, &c) || msgpack_read(&c, &value) < 0 || value.type != MSGPACK_INT)
		return false;
	*ret = value.integer;
	return true;
}
