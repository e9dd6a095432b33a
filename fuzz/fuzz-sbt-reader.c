/*
 * fuzz-sbt-reader.c - the SBT reader over arbitrary bytes.
 *
 * Reads the input twice: as it is, and with all checksums put right, since
 * otherwise hardly a mutation would get past them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/msgpack.h"
#include "trace/pairing.h"
#include "trace/reader.h"
#include "sbt.h"

static int see_slice(void *arg, const struct trace_slice *slice)
{
	*(uint64_t *)arg += (uint64_t)slice->end ^ slice->name;
	return 0;
}

static void read_all(struct trace_reader *r, uint64_t *sum)
{
	struct trace_batch b = TRACE_BATCH_INIT;
	struct trace_pairing *p;
	struct buffer json = BUFFER_INIT;
	const uint8_t *map;
	size_t size, first, end;

	if (trace_pairing_new(&p))
		return;
	for (size_t i = 0; i < trace_reader_block_count(r); i++) {
		if (trace_reader_decode(r, i, &b, NULL))
			continue;
		for (uint32_t k = 0; k < b.count; k++) {
			*sum += (uint64_t)trace_reader_since_start_ns(r, b.domain, b.time[k]) + b.cpu[k] + b.depth[k];
			*sum += (uint64_t)trace_reader_string(r, b.name[k], NULL)[0];
			if (b.metadata && b.metadata[k].size)
				msgpack_to_json(b.metadata[k].data, b.metadata[k].size, &json);
		}
		trace_pairing_feed(p, &b, see_slice, sum);
	}
	trace_pairing_finish(p, INT64_MAX, see_slice, sum);
	if (trace_reader_info_block(r, 0, &map, &size) == 0)
		msgpack_to_json(map, size, &json);
	trace_reader_window(r, 0, 1000000, &first, &end);
	for (uint32_t i = 0; i < trace_reader_track_count(r); i++)
		*sum += trace_reader_track(r, i) ? trace_reader_track(r, i)->os_id : 0;
	buffer_release(&json);
	trace_pairing_free(p);
	trace_batch_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	uint64_t sum = 0;

	memcpy(copy, data, size);
	for (int pass = 0; pass < 2; pass++) {
		struct trace_reader *r;

		if (pass == 1)
			sbt_repair(copy, size);
		if (trace_reader_open_memory(&r, copy, size, NULL) == 0) {
			read_all(r, &sum);
			trace_reader_close(r);
		}
	}
	free(copy);
	return 0;
}
