/* json_head.c - what is said of the trace as a whole; see json_export.h. */
#include <stdlib.h>

#include "base/msgpack.h"
#include "export/json_export.h"

#define EPOCH_LIKE ((int64_t)1000000000000000000) /* nanoseconds since 1970 from September 2001 on */
#define EXACT ((int64_t)1 << 53)

/* ---- Time ------------------------------------------------------------------------- */

/* The time of day at the start of the trace, as far as a pair of clocks or times that look like it tell; 0: nobody knows. */
static int64_t time_of_day(const struct trace_reader *r, int64_t zero)
{
	const struct trace_clock *clock = trace_reader_clock(r, 0);

	for (uint32_t d = 0; d < TRACE_DOMAIN_MAX; d++) {
		const struct trace_clock_pair *pairs = NULL;

		if (trace_reader_clock_pairs(r, d, &pairs) && pairs[0].realtime_ns)
			return (int64_t)((uint64_t)zero - ((uint64_t)pairs[0].raw_ns - (uint64_t)pairs[0].realtime_ns));
	}
	if (clock && (clock->kind == CLOCK_KIND_REALTIME || (clock->kind == CLOCK_KIND_NANOSECONDS && zero > EPOCH_LIKE)))
		return zero;
	return 0;
}

/* How long before the start of the trace its first event is, or 0. */
static int64_t before_start(const struct trace_reader *r)
{
	int64_t first = 0;

	for (size_t i = 0; i < trace_reader_block_count(r); i++) {
		const struct trace_block *block = trace_reader_block(r, i);
		int64_t ns = block->count ? trace_reader_since_start_ns(r, block->domain, block->first_time) : 0;

		first = ns < first ? ns : first;
	}
	return first < -EXACT ? 0 : -first;
}

/* Times are counted from a base that makes them small, so that readers that take them for doubles keep every nanosecond.  Times
 * of an unknown clock stay what they are.  The base is of whole microseconds: HTA rounds times to these, and must come to the
 * same as with the file that a trace was made from. */
static void put_base(struct json_export *x)
{
	int64_t zero = trace_reader_ns(x->reader, 0, trace_reader_ticks_from_start_ns(x->reader, 0, 0));
	int64_t early = before_start(x->reader), base = time_of_day(x->reader, zero);

	x->shift = early;
	if (base > early) {
		base -= early;
		x->shift += base % 1000;
		JSON(x->out, ",\n\"baseTimeNanoseconds\":");
		json_signed_to(x->out, base - base % 1000);
	} else if (zero >= early && zero < EXACT) {
		x->shift = zero;
	}
}

/* ---- What the file said that the trace is made from --------------------------------- */

static bool is_text(const struct msgpack_value *value, const char *text)
{
	return value->type == MSGPACK_STRING && value->size == strlen(text) && memcmp(value->data, text, value->size) == 0;
}

/* The value of a key of the map at the cursor. */
static bool find(struct cursor map, const char *name, struct cursor *ret)
{
	struct msgpack_value head, key;

	if (!map.at || msgpack_read(&map, &head) || head.type != MSGPACK_MAP)
		return false;
	for (uint32_t i = 0; i < head.count; i++) {
		if (msgpack_read(&map, &key))
			return false;
		if (is_text(&key, name)) {
			*ret = map;
			return true;
		}
		if (key.type == MSGPACK_ARRAY || key.type == MSGPACK_MAP || msgpack_skip(&map))
			return false;
	}
	return false;
}

static int64_t find_integer(struct cursor map, const char *name, int64_t otherwise)
{
	struct msgpack_value value;
	struct cursor at;

	return find(map, name, &at) && msgpack_read(&at, &value) == 0 && value.type == MSGPACK_INT ? value.integer : otherwise;
}

/* The rank of the process that alone is wanted, -1. */
static int64_t wanted_rank(const struct json_export *x)
{
	for (uint32_t i = 0; i < trace_reader_process_count(x->reader); i++) {
		const struct trace_process *process = trace_reader_process(x->reader, i);

		if (process && x->options->filter.process >= 0 && process->pid == (uint64_t)x->options->filter.process)
			return process->rank;
	}
	return -1;
}

/* The file: the only one, or that of the rank that alone is wanted.  Its map, or a cursor at NULL. */
static struct cursor find_source(const struct json_export *x)
{
	struct cursor none = { 0 }, c;
	struct msgpack_value head;
	const uint8_t *raw;
	int64_t rank = wanted_rank(x);
	size_t size;

	if (trace_reader_info_raw(x->reader, "sources", &raw, &size))
		return none;
	c = cursor_of(raw, size);
	if (msgpack_read(&c, &head) || head.type != MSGPACK_ARRAY)
		return none;
	for (uint32_t i = 0; i < head.count; i++) {
		struct cursor map = c;

		if (head.count == 1 || (rank >= 0 && find_integer(map, "rank", -1) == rank))
			return map;
		if (msgpack_skip(&c))
			break;
	}
	return none;
}

static bool is_ours(const struct msgpack_value *key)
{
	return is_text(key, "traceEvents") || is_text(key, "deviceProperties") || is_text(key, "baseTimeNanoseconds") ||
	       is_text(key, "schemaVersion");
}

/* Members of the file that the trace was made from, as they were. */
static void put_properties(struct json_export *x, struct cursor map)
{
	struct msgpack_value head, key;

	if (!map.at || msgpack_read(&map, &head) || head.type != MSGPACK_MAP)
		return;
	for (uint32_t i = 0; i < head.count; i++) {
		struct cursor value;
		size_t before = x->out->buf.size;

		if (msgpack_read(&map, &key))
			return;
		value = map;
		if (msgpack_skip(&map))
			return;
		if (key.type != MSGPACK_STRING || is_ours(&key))
			continue;
		JSON(x->out, ",\n");
		json_quoted_to(x->out, (const char *)key.data, key.size);
		JSON(x->out, ":");
		if (!json_value_to(x->out, &value))
			x->out->buf.size = before;
	}
}

/* ---- Devices -------------------------------------------------------------------------- */

static void put_device(struct json_export *x, const struct trace_device *device)
{
	struct cursor c = cursor_of(device->properties, device->properties_size);
	struct msgpack_value head;
	size_t size, before;
	const char *name = trace_reader_string(x->reader, device->name, &size);

	JSON(x->out, "{\"id\":");
	json_unsigned_to(x->out, x->places.device_numbers[device->id]);
	JSON(x->out, ",\"name\":");
	json_quoted_to(x->out, name, size);
	if (device->properties_size && msgpack_read(&c, &head) == 0 && head.type == MSGPACK_MAP)
		for (uint32_t i = 0; i < head.count; i++) {
			before = x->out->buf.size;
			JSON(x->out, ",");
			if (json_key_to(x->out, &c)) {
				JSON(x->out, ":");
				if (json_value_to(x->out, &c))
					continue;
			}
			x->out->buf.size = before;
			break;
		}
	JSON(x->out, "}");
}

/* Those that the trace describes; of others there is only their work. */
static void put_devices(struct json_export *x)
{
	bool any = false;

	JSON(x->out, ",\n\"deviceProperties\":[");
	for (uint32_t i = 0; i < x->places.device_count; i++) {
		const struct trace_device *device = trace_reader_device(x->reader, i);

		if (!device || device->properties_size <= 1 /* an empty map */ || x->places.device_numbers[i] == JSON_NO_DEVICE)
			continue;
		if (any)
			JSON(x->out, ",");
		any = true;
		put_device(x, device);
	}
	JSON(x->out, "]");
}

/* ---- All of it -------------------------------------------------------------------------- */

static void put_host(struct json_export *x, struct cursor source)
{
	const struct trace_host *host = trace_reader_host(x->reader, 0);
	struct cursor at;
	const char *name;
	size_t size;

	if (x->imported) {
		if (source.at && find(source, "hostname", &at)) {
			JSON(x->out, ",\n\"host_name\":");
			if (!json_value_to(x->out, &at))
				JSON(x->out, "\"\"");
		}
		return;
	}
	name = trace_reader_string(x->reader, host ? host->name : 0, &size);
	if (size) {
		JSON(x->out, ",\n\"host_name\":");
		json_quoted_to(x->out, name, size);
	}
}

/* Of traces that no file of torch's has said it for. */
static void put_distributed(struct json_export *x, struct cursor source)
{
	int64_t rank = source.at ? find_integer(source, "rank", -1) : wanted_rank(x);
	int64_t size = source.at ? find_integer(source, "world_size", -1) : -1;

	if (rank < 0)
		return;
	JSON(x->out, ",\n\"distributedInfo\":{\"rank\":");
	json_signed_to(x->out, rank);
	if (size >= 0) {
		JSON(x->out, ",\"world_size\":");
		json_signed_to(x->out, size);
	}
	JSON(x->out, "}");
}

static void put_trace_name(struct json_export *x)
{
	const struct trace_process *process = trace_reader_process(x->reader, 0);
	size_t size;
	const char *command = trace_reader_string(x->reader, process ? process->command : 0, &size);

	JSON(x->out, ",\n\"traceName\":");
	json_quoted_to(x->out, size ? command : "inferscope", size ? size : 10);
}

static void put_producer(struct json_export *x)
{
	const char *text;
	size_t size;

	if (x->kineto || trace_reader_info_string(x->reader, "producer", &text, &size))
		return;
	JSON(x->out, ",\n\"otherData\":{\"producer\":");
	json_quoted_to(x->out, text, size);
	JSON(x->out, "}");
}

void json_head_to(struct json_export *x)
{
	struct cursor source = find_source(x), properties = { 0 }, at;

	if (source.at && !find(source, "properties", &properties))
		properties = (struct cursor){ 0 };
	JSON(x->out, "{\"schemaVersion\":");
	json_signed_to(x->out, find_integer(properties, "schemaVersion", 1));
	put_devices(x);
	put_properties(x, properties);
	put_host(x, source);
	if (!find(properties, "distributedInfo", &at))
		put_distributed(x, source);
	if (!find(properties, "traceName", &at) && !x->imported)
		put_trace_name(x);
	if (!find(properties, "displayTimeUnit", &at) && !x->imported)
		JSON(x->out, ",\n\"displayTimeUnit\":\"ms\"");
	if (!find(properties, "otherData", &at))
		put_producer(x);
	put_base(x);
	JSON(x->out, ",\n\"traceEvents\":[");
}
