/* test-mutate-sbt.c - fuzz/mutate-sbt.c: what it changes, and that the rest of a trace still fits. */
#include "trace-fixture.h"

#include "base/crc32.h"
#include "mutate.h"
#include "sbt.h"

#define ROUNDS 2000
#define MAX 16384

/* In place of libFuzzer's: one byte more, and another one different. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
{
	if (size)
		data[size / 2] ^= 0x55;
	if (size < max)
		data[size++] = 0xaa;
	return size;
}

static uint8_t *make_trace(size_t *ret_size)
{
	struct fixture f;
	uint8_t *data;

	fixture_open(&f, NULL);
	for (uint32_t i = 0; i < 400; i++) { /* long enough to be compressed */
		put_scope(&f, i % 3, 1000 + i, i % 2 ? PHASE_END : PHASE_BEGIN, i % 2 ? 0 : trace_writer_string(f.w, "step", 4), 0);
		if (i % 100 == 99)
			assert_int_equal(trace_writer_flush(f.w, NULL), 0);
	}
	fixture_finish(&f);
	data = fixture_bytes(&f, ret_size);
	fixture_close(&f);
	return data;
}

struct seen {
	unsigned longer, shorter, unpacked, headers;
};

/* Whether all blocks have right checksums, up to the trailer or the end; and how they differ from those there were. */
static bool check_blocks(const uint8_t *data, size_t size, const struct sbt_block *was, size_t was_count, struct seen *seen)
{
	struct sbt_block block;
	size_t at = SBT_FILE_HEADER, count = 0, plain = 0;

	for (; size - at >= SBT_BLOCK_HEADER && get32(data + at) == SBT_BLOCK_MAGIC; at += sbt_block_span(block.stored_size)) {
		if (sbt_block_unpack(data + at, &block) || sbt_block_span(block.stored_size) > size - at ||
		    crc32_of(0, data + at + SBT_BLOCK_HEADER, block.stored_size) != block.payload_crc)
			return false;
		plain += block.codec == SBT_PLAIN && count < was_count && was[count].codec == SBT_ZSTD && block.kind == was[count].kind &&
			 block.raw_size == was[count].raw_size + 1;
		seen->headers += count < was_count && block.payload_crc == was[count].payload_crc && block.first_time != was[count].first_time;
		count++;
	}
	seen->longer += count > was_count;
	seen->shorter += count < was_count;
	seen->unpacked += plain;
	return at == size || size - at == SBT_TRAILER;
}

static void traces_stay_traces(void **state)
{
	size_t size, count, right = 0, as_is = 0;
	uint8_t *trace = make_trace(&size), *data = malloc(MAX);
	struct sbt_block blocks[64];
	struct seen seen = { 0 };
	uint64_t offsets[64];

	(void)state;
	assert_non_null(data);
	assert_true(size < MAX / 2);
	count = find_blocks(trace, size, offsets, blocks, 64);
	for (unsigned seed = 0; seed < ROUNDS; seed++) {
		size_t after;

		memcpy(data, trace, size);
		after = LLVMFuzzerCustomMutator(data, size, MAX, seed);
		assert_true(after >= SBT_FILE_HEADER && after <= MAX);
		as_is += after == size && memcmp(data, trace, size) == 0;
		right += check_blocks(data, after, blocks, count, &seen);
	}
	assert_in_range(right, ROUNDS * 8 / 10, ROUNDS); /* an eighth is libFuzzer's alone */
	assert_in_range(as_is, 0, ROUNDS / 10);
	assert_in_range(seen.unpacked, ROUNDS / 10, ROUNDS);
	assert_in_range(seen.longer, ROUNDS / 50, ROUNDS / 4);
	assert_in_range(seen.shorter, ROUNDS / 50, ROUNDS / 4);
	assert_true(seen.headers > 10);
	free(trace);
	free(data);
}

/* Neither what is no trace nor one without room for more makes it write where it may not. */
static void odd_inputs(void **state)
{
	size_t size;
	uint8_t *trace = make_trace(&size);

	(void)state;
	for (size_t cut = 1; cut < size; cut += 7) {
		uint8_t *data = malloc(cut); /* to its last byte, for the sanitizers */

		memcpy(data, trace, cut);
		for (unsigned seed = 0; seed < 20; seed++)
			assert_true(LLVMFuzzerCustomMutator(data, cut, cut, seed) <= cut);
		free(data);
	}
	free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(traces_stay_traces),
		cmocka_unit_test(odd_inputs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
