/*
 * nsys.c - exports of Nsight Systems: SQLite databases, plain or compressed.
 *
 * What becomes of the tables:
 *
 *      CUPTI_ACTIVITY_KIND_KERNEL             gpu_kernel, on the stream
 *      ..._MEMCPY, _MEMSET                    h2d_copy, d2h_copy, d2d_copy, memset, on the stream
 *      ..._GRAPH_TRACE                        gpu_kernel "CUDA graph 12": a launch whose nodes were not traced
 *      ..._SYNCHRONIZATION                    sync, on the stream, or the process where it is for none
 *      ..._RUNTIME                            runtime_call, on the thread (the driver's calls, too)
 *      NVTX_EVENTS                            scope on the thread, asynchronous range, instant; op where PyTorch wrote it
 *      OSRT_API                               cpu_syscall, on the thread
 *      CUBLAS_, CUDNN_EVENTS, MPI_*_EVENTS    scope, on the thread
 *      COMPOSITE_EVENTS                       cpu_sample, on the thread
 *      SCHED_EVENTS                           counter "running", 1 or 0, on the thread: slices would cross its scopes
 *      GPU_METRICS                            counter, on the device
 *      CUDA_GPU_MEMORY_USAGE_EVENTS           memory_alloc, memory_free, on the process
 *      CUDA_UM_*_PAGE_FAULT_EVENTS            instant, on the process
 *      PROFILER_OVERHEAD                      scope "profiler overhead", on the process
 *      DIAGNOSTIC_EVENT                       instant, on the process
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "import/importer.h"
#include "import/nsys.h"
#include "import/temporary.h"

#define MAGIC "SQLite format 3" /* with the NUL at its end */

static bool detect(const uint8_t *head, size_t size)
{
	return size >= sizeof MAGIC && memcmp(head, MAGIC, sizeof MAGIC) == 0;
}

/* ---- The file ----------------------------------------------------------------- */

/* A log or journal beside the file has changes that are not in it; applying them would be writing. */
static void look_for_journals(struct nsys *n)
{
	static const char *const endings[] = { "-wal", "-journal" };
	struct stat st;
	char *path;

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		if (asprintf(&path, "%s%s", n->path, endings[i]) < 0)
			return;
		if (stat(path, &st) == 0 && st.st_size > 0)
			output_damage(n->o, 0, 0, i ? "it was being written: its journal is not read" :
						      "it was being written: its write-ahead log is not read");
		free(path);
	}
}

/* The database's descriptor; SQLite reads here and there, so what is compressed is unpacked first. */
static int open_file(struct nsys *n, struct error *err)
{
	char damage[160];
	int fd = temporary_unpacked(n->path, n->options, damage, err);

	if (fd >= 0 && damage[0]) {
		output_damage(n->o, 0, 0, damage);
		output_report(n->o)->truncated = true;
	}
	if (fd >= 0)
		look_for_journals(n);
	return fd;
}

/* ---- Reading ------------------------------------------------------------------ */

static bool show_progress(void *arg)
{
	const struct nsys *n = arg;
	uint64_t total, done;

	if (!n->sql || !n->options->progress)
		return false;
	total = sql_size(n->sql);
	done = sql_read(n->sql);
	n->options->progress(n->options->progress_arg, n->path, done < total ? done : total, total);
	return false;
}

static bool has_any(struct nsys *n, const struct nsys_table *tables)
{
	for (; tables->name; tables++)
		if (sql_table_exists(n->sql, tables->name))
			return true;
	return false;
}

static int check_export(struct nsys *n, struct error *err)
{
	if (has_any(n, nsys_gpu_tables) || has_any(n, nsys_cpu_tables) || has_any(n, nsys_nvtx_tables))
		return 0;
	if (err)
		err->exit_code = 3;
	return error_set(err, -EINVAL, "%s is an SQLite database but no export of Nsight Systems: it has no table %s, %s or %s", n->path,
			 "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS");
}

/* Views and virtual tables are programs; where the tool would have put a table, say that they are passed over. */
static void note_refused(struct nsys *n, const struct nsys_table *tables)
{
	for (; tables->name; tables++)
		if (!tables->where && sql_table_refused(n->sql, tables->name))
			nsys_damage(n, tables->name, -1, "it is no plain table and is not read");
}

static int read_database(struct nsys *n, struct error *err)
{
	struct import_report *report = output_report(n->o);
	int rc = check_export(n, err);

	if (rc)
		return rc;
	report->bytes = sql_size(n->sql);
	if (sql_missing(n->sql)) {
		report->truncated = true;
		output_damage(n->o, sql_size(n->sql), sql_missing(n->sql), "the file ends early");
	}
	note_refused(n, nsys_gpu_tables);
	note_refused(n, nsys_cpu_tables);
	note_refused(n, nsys_nvtx_tables);
	rc = nsys_strings_open(n, err);
	if (rc == 0) {
		nsys_read_info(n);
		rc = nsys_read_events(n, err);
	}
	if (rc == 0)
		nsys_read_names(n);
	return rc;
}

static void release(struct nsys *n)
{
	nsys_strings_release(&n->strings);
	nsys_where_release(n);
	sql_query_free(n->sample_query);
	sql_close(n->sql);
	buffer_release(&n->metadata);
}

static int read_export(const char *path, struct output *o, const struct import_options *options, struct error *err)
{
	struct nsys n = { .o = o, .options = options, .path = path };
	struct sql_options sandbox = { .stop = show_progress, .stop_arg = &n };
	int fd = open_file(&n, err), rc;

	if (fd < 0)
		return fd;
	rc = sql_open(&n.sql, fd, path, &sandbox, err);
	if (rc == 0)
		rc = read_database(&n, err);
	release(&n);
	return rc;
}

const struct importer nsys_importer = { .format = IMPORT_NSYS, .detect = detect, .read = read_export };
