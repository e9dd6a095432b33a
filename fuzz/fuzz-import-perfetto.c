/*
 * fuzz-import-perfetto.c - the Perfetto importer over arbitrary bytes.
 *
 * Reads the input twice: as it is, and as the content of packets whose lengths
 * are put right, since otherwise hardly a mutation would get past these.  What
 * is written has to be a trace that can be read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/importer.h"
#include "import/output.h"
#include "trace/reader.h"
#include "trace/writer.h"

#define PIECE_MAX 120u

static void check(int fd)
{
	struct trace_reader *r;
	struct trace_batch b = TRACE_BATCH_INIT;
	off_t size = lseek(fd, 0, SEEK_END);
	void *map = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;

	if (map == MAP_FAILED || trace_reader_open_memory(&r, map, (size_t)size, NULL))
		abort();
	for (size_t i = 0; i < trace_reader_block_count(r); i++)
		trace_reader_decode(r, i, &b, NULL);
	trace_batch_release(&b);
	trace_reader_close(r);
	munmap(map, (size_t)size);
}

static void import_bytes(const uint8_t *data, size_t size, bool lean)
{
	int in, out, copy;
	struct import_options options = { .lean = lean, .max_bytes = (uint64_t)64 << 20 };
	struct import_reports reports;
	struct import *im;
	char path[64];

	if (!perfetto_importer.detect(data, size < IMPORT_HEAD ? size : IMPORT_HEAD))
		return;
	in = memfd_create("in", MFD_CLOEXEC);
	out = memfd_create("out", MFD_CLOEXEC);
	copy = dup(out);
	if (in < 0 || out < 0 || copy < 0 || write(in, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", in);
	if (import_open(&im, out, &options, NULL))
		abort();
	if (import_add(im, path, NULL)) {
		import_abandon(im);
	} else if (import_close(im, &reports, NULL) == 0) {
		check(copy);
		import_reports_release(&reports);
	}
	close(copy);
	close(in);
}

/* The input in pieces, each a packet; the first one is what makes the file known. */
static void import_pieces(const uint8_t *data, size_t size)
{
	static const uint8_t first[] = { 0x0a, 0x04, 0x50, 0x01, 0x68, 0x01 };
	uint8_t *trace = malloc(sizeof first + 2 * size + 2);
	size_t at = sizeof first;

	if (!trace)
		return;
	memcpy(trace, first, sizeof first);
	while (size) {
		size_t piece = data[0] % PIECE_MAX;

		data++;
		size--;
		piece = piece < size ? piece : size;
		trace[at++] = 0x0a;
		trace[at++] = (uint8_t)piece;
		memcpy(trace + at, data, piece);
		at += piece;
		data += piece;
		size -= piece;
	}
	import_bytes(trace, at, true);
	free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	import_bytes(data, size, false);
	import_pieces(data, size);
	return 0;
}
