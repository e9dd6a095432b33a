/*
 * fuzz-import-nsys.c - the importer of Nsight Systems' exports.
 *
 * An input that begins like a database is read as one, which is mostly a test
 * of the sandbox.  Of any other the bytes become rows, of all tables that are
 * read and with cells of all types, so that mutations reach the importer.  What
 * is written has to be a trace that can be read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sqlite3.h>

#include "import/importer.h"
#include "import/nsys.h"
#include "trace/reader.h"

#define ROWS_MAX 64
#define CELLS_MAX 32

static void check(int fd)
{
	struct trace_reader *r;
	struct trace_batch b = TRACE_BATCH_INIT;
	off_t size = lseek(fd, 0, SEEK_END);
	void *map = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;

	if (map == MAP_FAILED || trace_reader_open_memory(&r, map, (size_t)size, NULL))
		abort();
	for (size_t i = 0; i < trace_reader_block_count(r); i++)
		if (trace_reader_decode(r, i, &b, NULL) < 0 && trace_reader_block(r, i)->kind == 1)
			abort();
	trace_batch_release(&b);
	trace_reader_close(r);
	munmap(map, (size_t)size);
}

static void import_bytes(const uint8_t *data, size_t size, bool lean)
{
	int in = memfd_create("in", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC), copy = dup(out);
	struct import_options options = { .lean = lean };
	struct import_reports reports;
	struct import *im;
	struct error err = { 0 };
	char path[64];

	if (in < 0 || out < 0 || copy < 0 || write(in, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", in);
	if (import_open(&im, out, &options, NULL))
		abort();
	if (import_add(im, path, &err)) {
		if (!err.text[0] || (err.exit_code != 3 && err.exit_code != 4))
			abort();
		import_abandon(im);
	} else if (import_close(im, &reports, NULL) == 0) {
		check(copy);
		import_reports_release(&reports);
	}
	close(copy);
	close(in);
}

/* ---- Rows ----------------------------------------------------------------------- */

static const struct nsys_table others[] = {
	{ .name = "StringIds", .columns = "id value" },
	{ .name = "TARGET_INFO_GPU", .columns = "id cuDevice pwGpuId name smCount threadsPerWarp maxWarpsPerSm" },
	{ .name = "TARGET_INFO_CUDA_DEVICE", .columns = "pid cudaId gpuId" },
	{ .name = "TARGET_INFO_SESSION_START_TIME", .columns = "utcEpochNs systemClockNs" },
	{ .name = "TARGET_INFO_GPU_METRICS", .columns = "typeId metricId metricName" },
	{ .name = "CUPTI_ACTIVITY_KIND_CUDA_EVENT", .columns = "globalPid correlationId eventId eventSyncId" },
	{ .name = "ENUM_CUDA_MEM_KIND", .columns = "id name" },
	{ .name = "PROCESSES", .columns = "globalPid pid name" },
	{ .name = "ThreadNames", .columns = "globalTid nameId" },
	{ .name = "MPI_RANKS", .columns = "globalTid rank" },
	{ .name = NULL },
};

/* All tables with columns of no type, each once. */
static void create_tables(sqlite3 *db)
{
	static const struct nsys_table *const lists[] = { nsys_gpu_tables, nsys_cpu_tables, nsys_nvtx_tables, others };

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		for (const struct nsys_table *t = lists[i]; t->name; t++) {
			struct buffer text = BUFFER_INIT;
			const char *column = t->columns;

			if (t->where)
				continue;
			buffer_printf(&text, "CREATE TABLE %s(", t->name);
			while (*column) {
				const char *comma = text.data[text.size - 1] == '(' ? "" : ", ";

				if (*column != '-')
					buffer_printf(&text, "%s\"%.*s\"", comma, (int)strcspn(column, " |"), column);
				column += strcspn(column, " ");
				column += strspn(column, " ");
			}
			buffer_printf(&text, ")");
			if (sqlite3_exec(db, (const char *)text.data, NULL, NULL, NULL))
				abort();
			buffer_release(&text);
		}
}

struct bytes {
	const uint8_t *data;
	size_t size;
};

static uint64_t take(struct bytes *in, size_t size)
{
	uint64_t value = 0;

	for (; size && in->size; size--, in->size--)
		value = value << 8 | *in->data++;
	return value;
}

static void bind_cell(sqlite3_stmt *q, int at, struct bytes *in)
{
	size_t size;

	switch (take(in, 1) % 8) {
	case 0:
		break; /* NULL */
	case 1:
		sqlite3_bind_int64(q, at, (int64_t)take(in, 8));
		break;
	case 2:
		sqlite3_bind_double(q, at, (double)(int64_t)take(in, 8) / 3);
		break;
	case 3:
		size = take(in, 1);
		size = size < in->size ? size : in->size;
		sqlite3_bind_text(q, at, (const char *)in->data, (int)size, SQLITE_TRANSIENT);
		in->data += size;
		in->size -= size;
		break;
	case 4:
		sqlite3_bind_blob(q, at, in->data, (int)(in->size < 9 ? in->size : 9), SQLITE_TRANSIENT);
		break;
	case 5:
		sqlite3_bind_int64(q, at, (int64_t)take(in, 6));
		break;
	default:
		sqlite3_bind_int64(q, at, (int64_t)take(in, 1));
	}
}

static void insert_row(sqlite3 *db, const char *table, struct bytes *in)
{
	char text[256];
	sqlite3_stmt *q, *columns;
	int count;

	snprintf(text, sizeof text, "SELECT * FROM %s", table);
	if (sqlite3_prepare_v2(db, text, -1, &columns, NULL))
		abort();
	count = sqlite3_column_count(columns);
	sqlite3_finalize(columns);
	snprintf(text, sizeof text, "INSERT INTO %s VALUES (%.*s)", table, 2 * count - 1,
		 "?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?");
	if (count > CELLS_MAX || sqlite3_prepare_v2(db, text, -1, &q, NULL))
		abort();
	for (int i = 1; i <= count; i++)
		bind_cell(q, i, in);
	sqlite3_step(q);
	sqlite3_finalize(q);
}

static void import_rows(struct bytes in)
{
	static const struct nsys_table *const lists[] = { nsys_gpu_tables, nsys_cpu_tables, nsys_nvtx_tables, others };
	sqlite3 *db;
	sqlite3_int64 size = 0;
	uint8_t *data;
	bool lean = take(&in, 1) & 1;

	if (sqlite3_open(":memory:", &db))
		abort();
	create_tables(db);
	for (int rows = 0; in.size && rows < ROWS_MAX; rows++) {
		const struct nsys_table *list = lists[take(&in, 1) % 4];
		size_t count = 0, which = take(&in, 1);

		while (list[count].name)
			count++;
		insert_row(db, list[which % count].name, &in);
	}
	data = sqlite3_serialize(db, "main", &size, 0);
	if (data)
		import_bytes(data, (size_t)size, lean);
	sqlite3_free(data);
	sqlite3_close(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (nsys_importer.detect(data, size))
		import_bytes(data, size, false);
	else
		import_rows((struct bytes){ data, size });
	return 0;
}
