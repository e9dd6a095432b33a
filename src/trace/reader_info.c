/*
 * reader_info.c - what info blocks say about the trace, and clocks.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/msgpack.h"
#include "trace/reader_state.h"

#define INFO_KEYS_MAX 1024u
#define PAIRS_MAX (1u << 20) /* a domain; more than eleven days at one a second */

/* ---- Info ---- */

static struct reader_info *find_info(const struct trace_reader *r, const char *key, size_t size)
{
	for (size_t i = 0; i < r->info_count; i++)
		if (r->infos[i].key_size == size && memcmp(r->infos[i].key, key, size) == 0)
			return &r->infos[i];
	return NULL;
}

static struct reader_info *add_info(struct trace_reader *r, const char *key, size_t size)
{
	struct reader_info *infos = realloc(r->infos, (r->info_count + 1) * sizeof *infos), *info;

	if (!infos)
		return NULL;
	r->infos = infos;
	info = &infos[r->info_count];
	*info = (struct reader_info){ .key = malloc(size + 1), .key_size = size };
	if (!info->key)
		return NULL;
	memcpy(info->key, key, size);
	info->key[size] = 0;
	r->info_count++;
	return info;
}

static int set_info(struct trace_reader *r, const struct msgpack_value *key, const uint8_t *value, size_t size)
{
	struct reader_info *info = find_info(r, (const char *)key->data, key->size);
	uint8_t *copy = malloc(size + 1);

	if (copy && !info && r->info_count < INFO_KEYS_MAX)
		info = add_info(r, (const char *)key->data, key->size);
	if (!copy || !info) {
		free(copy);
		return r->info_count < INFO_KEYS_MAX ? -ENOMEM : -EBADMSG;
	}
	memcpy(copy, value, size);
	free(info->value);
	info->value = copy;
	info->value_size = size;
	return 0;
}

/* Goes through the map, and takes it over if `store` is set. */
static int read_map(struct trace_reader *r, struct cursor in, bool store)
{
	struct msgpack_value map, key;
	int rc = 0;

	if (msgpack_read(&in, &map) || map.type != MSGPACK_MAP)
		return -EBADMSG;
	for (uint32_t i = 0; rc == 0 && i < map.count; i++) {
		const uint8_t *value;

		if (msgpack_read(&in, &key) || key.type != MSGPACK_STRING)
			return -EBADMSG;
		value = in.at;
		rc = msgpack_skip(&in);
		if (rc == 0 && store)
			rc = set_info(r, &key, value, (size_t)(in.at - value));
	}
	return rc == 0 && cursor_left(&in) ? -EBADMSG : rc;
}

/* A block is read whole or not at all. */
int reader_read_info(struct trace_reader *r, struct cursor *in)
{
	int rc = read_map(r, *in, false);

	return rc ? rc : read_map(r, *in, true);
}

void reader_info_release(struct trace_reader *r)
{
	for (size_t i = 0; i < r->info_count; i++) {
		free(r->infos[i].key);
		free(r->infos[i].value);
	}
	free(r->infos);
	buffer_release(&r->info_map);
	for (size_t i = 0; i < TRACE_DOMAIN_MAX; i++)
		buffer_release(&r->clock[i].pairs);
}

int reader_merge_info(struct trace_reader *r)
{
	int rc;

	buffer_clear(&r->info_map);
	rc = msgpack_write_map(&r->info_map, (uint32_t)r->info_count);
	for (size_t i = 0; rc == 0 && i < r->info_count; i++) {
		rc = msgpack_write_string(&r->info_map, r->infos[i].key, r->infos[i].key_size);
		rc = rc ? rc : buffer_append(&r->info_map, r->infos[i].value, r->infos[i].value_size);
	}
	return rc;
}

int trace_reader_info_block(const struct trace_reader *r, size_t i, const uint8_t **ret, size_t *ret_size)
{
	if (i || r->info_count == 0)
		return -ENOENT;
	*ret = r->info_map.data;
	*ret_size = r->info_map.size;
	return 0;
}

int trace_reader_info_raw(const struct trace_reader *r, const char *key, const uint8_t **ret, size_t *ret_size)
{
	const struct reader_info *info = find_info(r, key, strlen(key));

	if (!info)
		return -ENOENT;
	*ret = info->value;
	*ret_size = info->value_size;
	return 0;
}

bool trace_reader_info_member(const struct trace_reader *r, const char *key, const char *member, struct cursor *ret)
{
	const uint8_t *data;
	size_t size;

	if (trace_reader_info_raw(r, key, &data, &size))
		return false;
	*ret = cursor_of(data, size);
	return msgpack_find(ret, member);
}

static int read_value(const struct trace_reader *r, const char *key, enum msgpack_type type, struct msgpack_value *ret)
{
	const uint8_t *data;
	size_t size;
	struct cursor in;

	if (trace_reader_info_raw(r, key, &data, &size))
		return -ENOENT;
	in = cursor_of(data, size);
	return msgpack_read(&in, ret) || ret->type != type ? -ENOENT : 0;
}

int trace_reader_info_integer(const struct trace_reader *r, const char *key, int64_t *ret)
{
	struct msgpack_value v;
	int rc = read_value(r, key, MSGPACK_INT, &v);

	if (rc == 0)
		*ret = v.integer;
	return rc;
}

int trace_reader_info_string(const struct trace_reader *r, const char *key, const char **ret, size_t *ret_size)
{
	struct msgpack_value v;
	int rc = read_value(r, key, MSGPACK_STRING, &v);

	if (rc == 0) {
		*ret = (const char *)v.data;
		*ret_size = v.size;
	}
	return rc;
}

int trace_reader_info_bool(const struct trace_reader *r, const char *key, bool *ret)
{
	struct msgpack_value v;
	int rc = read_value(r, key, MSGPACK_BOOL, &v);

	if (rc == 0)
		*ret = v.boolean;
	return rc;
}

/* ---- Clocks ---- */

int reader_read_clock(struct trace_reader *r, const struct sbt_block *block, struct cursor *in)
{
	struct buffer *pairs;

	if (block->domain >= TRACE_DOMAIN_MAX || cursor_left(in) % SBT_CLOCK_RECORD)
		return -EBADMSG;
	pairs = &r->clock[block->domain].pairs;
	while (cursor_left(in)) {
		const uint8_t *at = cursor_bytes(in, SBT_CLOCK_RECORD);
		struct trace_clock_pair pair = { (int64_t)get64(at), get64(at + 8), (int64_t)get64(at + 16),
						 (int64_t)get64(at + 24), (int64_t)get64(at + 32) };

		if (pairs->size >= PAIRS_MAX * sizeof pair) /* the last one always counts, for it is the farthest */
			pairs->size -= sizeof pair;
		if (buffer_append(pairs, &pair, sizeof pair))
			return -ENOMEM;
	}
	return 0;
}

static bool counts_nanoseconds(const struct trace_clock *c)
{
	return c && (c->kind == CLOCK_KIND_MONOTONIC_RAW || c->kind == CLOCK_KIND_MONOTONIC ||
		     c->kind == CLOCK_KIND_REALTIME || c->kind == CLOCK_KIND_NANOSECONDS);
}

/* Time zero of all views: what the recorder said, else the earliest event. */
static int64_t find_start(const struct trace_reader *r)
{
	int64_t start = 0;
	bool found = trace_reader_info_integer(r, "start_ticks", &start) == 0;

	if (found)
		return start;
	for (size_t i = 0; i < trace_reader_block_count(r); i++) {
		const struct trace_block *b = trace_reader_block(r, i);

		if (b->domain == 0 && (!found || b->first_time < start)) {
			start = b->first_time;
			found = true;
		}
	}
	return start;
}

void reader_fit_clocks(struct trace_reader *r)
{
	for (uint32_t d = 0; d < TRACE_DOMAIN_MAX; d++) {
		const struct trace_clock *c = trace_reader_clock(r, d);
		const struct trace_clock_pair *pairs = NULL;
		size_t count = trace_reader_clock_pairs(r, d, &pairs);

		if (counts_nanoseconds(c)) /* one of another tool may be off by a constant */
			count = c->kind == CLOCK_KIND_NANOSECONDS && count > 0;
		clock_fit_compute(&r->clock[d].fit, pairs, count, c && !counts_nanoseconds(c) ? c->rate : 0);
	}
	r->start_ticks = find_start(r);
	trace_reader_info_bool(r, "complete", &r->report.complete);
}

size_t trace_reader_clock_pairs(const struct trace_reader *r, uint32_t domain, const struct trace_clock_pair **ret)
{
	if (domain >= TRACE_DOMAIN_MAX)
		return 0;
	*ret = (const struct trace_clock_pair *)r->clock[domain].pairs.data;
	return r->clock[domain].pairs.size / sizeof **ret;
}

const struct clock_fit *trace_reader_fit(const struct trace_reader *r, uint32_t domain)
{
	return domain < TRACE_DOMAIN_MAX ? &r->clock[domain].fit : NULL;
}

int64_t trace_reader_ns(const struct trace_reader *r, uint32_t domain, int64_t ticks)
{
	return domain < TRACE_DOMAIN_MAX ? clock_fit_ns(&r->clock[domain].fit, ticks) : ticks;
}

static int64_t subtract(int64_t a, int64_t b)
{
	int64_t difference;

	if (__builtin_sub_overflow(a, b, &difference))
		return a < b ? INT64_MIN : INT64_MAX;
	return difference;
}

int64_t trace_reader_since_start_ns(const struct trace_reader *r, uint32_t domain, int64_t ticks)
{
	return subtract(trace_reader_ns(r, domain, ticks), trace_reader_ns(r, 0, r->start_ticks));
}

int64_t trace_reader_ticks_from_start_ns(const struct trace_reader *r, uint32_t domain, int64_t ns)
{
	int64_t start = trace_reader_ns(r, 0, r->start_ticks), absolute;

	if (__builtin_add_overflow(start, ns, &absolute))
		absolute = ns < 0 ? INT64_MIN : INT64_MAX;
	return domain < TRACE_DOMAIN_MAX ? clock_fit_ticks(&r->clock[domain].fit, absolute) : absolute;
}
