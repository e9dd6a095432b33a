/* test-import-merge.c - SBT files become one; and files that are no traces are told by what they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>

#include "base/msgpack.h"
#include "import/import.h"
#include "trace/reader.h"
#include "trace/writer.h"

#define NOON 1700000000000000000

static char folder[] = "/tmp/test-import-merge-XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof command, "rm -r %s", folder);
	return chdir("/") || system(command) ? -1 : 0;
}

static void write_text(const char *path, const char *text, size_t size)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	fclose(f);
}

/* ---- Recordings ------------------------------------------------------------------ */

static uint32_t string(struct trace_writer *w, const char *text)
{
	return trace_writer_string(w, text, strlen(text));
}

static void write_entries(struct trace_writer *w, uint64_t pid)
{
	uint32_t frames[] = { 1, 0 };

	trace_writer_host(w, &(struct trace_host){ 0, string(w, "node"), string(w, "Linux"), string(w, "x86_64") });
	trace_writer_clock(w, &(struct trace_clock){ .kind = CLOCK_KIND_TSC, .rate = 2000000000 });
	trace_writer_process(
		w, &(struct trace_process){ .id = 0, .pid = pid, .parent = 1, .start = 1000, .end = 9000, .rank = 4 });
	trace_writer_process(w, &(struct trace_process){ .id = 1, .pid = 1, .parent = -1, .rank = -1 });
	trace_writer_device(
		w, &(struct trace_device){
			   .index = 3, .kind = 1, .name = string(w, "H100"), .properties = "\x80", .properties_size = 1 });
	trace_writer_track(
		w, &(struct trace_track){
			   .id = 0, .kind = TRACK_TASK, .process = 0, .os_id = 5, .serial = 5, .device = -1, .parent = 1 });
	trace_writer_track(w, &(struct trace_track){
				      .id = 1, .kind = TRACK_THREAD, .process = 0, .os_id = 77, .device = -1, .parent = -1 });
	trace_writer_track(
		w, &(struct trace_track){ .id = 2, .kind = TRACK_STREAM, .process = 0, .os_id = 7, .device = 0, .parent = 1 });
	trace_writer_frame(w, &(struct trace_frame){ 0, string(w, "main"), string(w, "a.py"), 1, 0, 0 });
	trace_writer_frame(w, &(struct trace_frame){ 1, string(w, "inner"), string(w, "a.py"), 9, 0, 0 });
	trace_writer_stack(w, &(struct trace_stack){ 0, 2, frames });
}

/* A begin of a function, a kernel with a stack, an end; two ticks are a nanosecond. */
static void write_events(struct trace_writer *w, int64_t late)
{
	uint32_t function = trace_writer_function(w, &(struct trace_function){ { "mod", 3 }, { "f", 1 }, { "a.py", 4 }, 7 });
	struct event_slot slot = {
		.time = (uint64_t)(2000 + late), .name = function, .cpu = 3, .kind = EVENT_CPU_CALL, .flags = EVENT_FLAG_THREAD
	};
	uint8_t extra[] = { FIELD_STACK, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
	struct error err = { 0 };

	slot.flags |= EVENT_FLAGS(PHASE_BEGIN, 0, 0);
	assert_int_equal(trace_writer_event(w, 1, &slot, NULL, 0, &err), 0);
	slot = (struct event_slot){ .time = (uint64_t)(3000 + late),
				    .value = 500,
				    .name = string(w, "gemm"),
				    .kind = EVENT_GPU_KERNEL,
				    .flags = EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, 0) };
	assert_int_equal(trace_writer_event(w, 2, &slot, extra, sizeof extra, &err), 0);
	slot = (struct event_slot){ .time = (uint64_t)(4000 + late),
				    .cpu = 3,
				    .kind = EVENT_CPU_CALL,
				    .flags = EVENT_FLAG_THREAD | EVENT_FLAGS(PHASE_END, 0, 0) };
	assert_int_equal(trace_writer_event(w, 1, &slot, NULL, 0, &err), 0);
}

static void write_recording(const char *path, uint64_t pid, int64_t late)
{
	const struct trace_writer_options options = { .created_ns = 1 };
	const struct trace_clock_pair pair = {
		.ticks = 0, .width = 10, .raw_ns = 5000, .monotonic_ns = 6000, .realtime_ns = NOON
	};
	struct buffer info = BUFFER_INIT;
	struct trace_writer *w;
	struct error err = { 0 };
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(trace_writer_open(&w, fd, &options, &err), 0);
	write_entries(w, pid);
	assert_int_equal(trace_writer_clock_pairs(w, 0, &pair, 1, &err), 0);
	write_events(w, late);
	msgpack_write_map(&info, 2);
	msgpack_write_text(&info, "start_ticks");
	msgpack_write_int(&info, 500);
	msgpack_write_text(&info, "cwd");
	msgpack_write_text(&info, "/home");
	assert_int_equal(trace_writer_info(w, info.data, info.size, &err), 0);
	buffer_release(&info);
	assert_int_equal(trace_writer_close(w, NULL, &err), 0);
}

/* ---- Imports ----------------------------------------------------------------------- */

static int import_paths(char **paths, size_t count, struct trace_reader **ret, struct import_reports *reports,
			struct error *err)
{
	const struct import_options options = { 0 };
	int fd = memfd_create("trace", MFD_CLOEXEC), rc = 0;
	struct import *im;

	assert_int_equal(import_open(&im, dup(fd), &options, err), 0);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = import_add(im, paths[i], err);
	if (rc) {
		import_abandon(im);
		close(fd);
		return rc;
	}
	assert_int_equal(import_close(im, reports, err), 0);
	assert_int_equal(trace_reader_open_fd(ret, fd, "trace", err), 0);
	assert_int_equal(trace_reader_report(*ret)->damage_count, 0);
	return 0;
}

static void check_entries(struct trace_reader *r, uint32_t process, uint64_t pid)
{
	const struct trace_process *p = trace_reader_process(r, process);
	const struct trace_track *task = trace_reader_track(r, 3 * process / 2),
				 *stream = trace_reader_track(r, 3 * process / 2 + 2);
	const struct trace_stack *stack = trace_reader_stack(r, process / 2);

	assert_int_equal(p->pid, pid);
	assert_int_equal(p->parent, process + 1);
	assert_int_equal(p->rank, 4);
	assert_int_equal(p->host, 0);
	assert_int_equal(p->start, NOON + 500);
	assert_int_equal(p->end, NOON + 4500);
	assert_int_equal(task->kind, TRACK_TASK);
	assert_int_equal(task->process, process);
	assert_int_equal(task->parent, 3 * process / 2 + 1);
	assert_int_equal(task->serial, 5);
	assert_int_equal(stream->device, process / 2);
	assert_int_equal(trace_reader_device(r, process / 2)->index, 3);
	assert_int_equal(stack->count, 2);
	assert_string_equal(trace_reader_string(r, trace_reader_frame(r, stack->frames[0])->function, NULL), "inner");
}

static void check_events(struct trace_reader *r, size_t block, int64_t late)
{
	struct trace_batch b = TRACE_BATCH_INIT;
	const struct trace_frame *f;
	uint32_t kernel = 2;

	assert_int_equal(trace_reader_decode(r, block, &b, NULL), 0);
	assert_int_equal(b.count, 3);
	assert_int_equal(b.domain, block);
	assert_int_equal(b.segments[0].track, 3 * block + 1);
	assert_int_equal(b.segments[1].track, 3 * block + 2);
	assert_int_equal(b.time[0], NOON + (2000 + late) / 2);
	assert_int_equal(b.time[1], NOON + (4000 + late) / 2);
	assert_int_equal(b.cpu[0], 3);
	assert_int_equal(b.depth[1], 0);
	assert_int_equal(b.time[kernel], NOON + (3000 + late) / 2);
	assert_int_equal(b.field[FIELD_DURATION][kernel], 250);
	assert_int_equal(b.field[FIELD_STACK][kernel], block);
	f = trace_reader_function(r, b.name[0]);
	assert_non_null(f);
	assert_int_equal(f->line, 7);
	assert_string_equal(trace_reader_string(r, b.name[0], NULL), "mod.f");
	assert_string_equal(trace_reader_string(r, b.name[kernel], NULL), "gemm");
	trace_batch_release(&b);
}

static void merged(void **state)
{
	char *paths[] = { (char *)"one.sbt", (char *)"two.sbt.gz" };
	struct import_reports reports = { 0 };
	struct error err = { 0 };
	struct trace_reader *r;
	int64_t value;

	(void)state;
	write_recording("one.sbt", 100, 0);
	write_recording("two.sbt", 200, 50);
	assert_int_equal(system("gzip -f two.sbt"), 0);
	assert_int_equal(import_paths(paths, 2, &r, &reports, &err), 0);
	assert_int_equal(reports.count, 2);
	assert_int_equal(reports.files[1].format, IMPORT_SBT);
	assert_int_equal(reports.files[1].events, 3);
	assert_int_equal(reports.files[1].damage_count, 0);
	assert_int_equal(trace_reader_host_count(r), 1);
	check_entries(r, 0, 100);
	check_entries(r, 2, 200);
	check_events(r, 0, 0);
	check_events(r, 1, 50);
	assert_int_equal(trace_reader_info_integer(r, "start_ticks", &value), 0);
	assert_int_equal(value, NOON + 250);
	import_reports_release(&reports);
	trace_reader_close(r);
}

/* Bytes changed at every place: never more events than there were, and always a trace or a sentence. */
static void hostile(void **state)
{
	char *paths[] = { (char *)"bad.sbt" };
	struct buffer whole = BUFFER_INIT;
	struct stat st;
	int fd;

	(void)state;
	write_recording("one.sbt", 100, 0);
	assert_int_equal(stat("one.sbt", &st), 0);
	assert_int_equal(buffer_reserve(&whole, (size_t)st.st_size), 0);
	fd = open("one.sbt", O_RDONLY);
	whole.size = (size_t)read(fd, whole.data, (size_t)st.st_size);
	close(fd);
	for (size_t i = 0; i < whole.size; i += 7) {
		struct import_reports reports = { 0 };
		struct error err = { 0 };
		struct trace_reader *r;

		whole.data[i] ^= 0x55;
		write_text("bad.sbt", (char *)whole.data, i % 2 ? whole.size : whole.size - i / 2);
		whole.data[i] ^= 0x55;
		if (import_paths(paths, 1, &r, &reports, &err) == 0) {
			assert_true(reports.files[0].events <= 3);
			import_reports_release(&reports);
			trace_reader_close(r);
		} else {
			assert_int_equal(err.exit_code, 3);
			assert_true(strlen(err.text) > 10);
		}
	}
	buffer_release(&whole);
}

/* ---- Strangers ------------------------------------------------------------------------ */

static void expect_sentence(const char *path, int code, const char *sentence)
{
	char *paths[] = { (char *)path };
	struct error err = { 0 };
	struct trace_reader *r;

	assert_int_equal(import_paths(paths, 1, &r, NULL, &err), code);
	assert_int_equal(err.exit_code, 3);
	assert_string_equal(err.text, sentence);
}

#define KNOWN                                                                                                                  \
	"known are SBT, Chrome and Kineto JSON, Perfetto, the SQLite export of Nsight Systems and JSON of 'inferscope dump'"

static void strangers(void **state)
{
	char tar[512] = "file";

	(void)state;
	memcpy(tar + 257, "ustar", 5);
	write_text("empty", "", 0);
	write_text("page", "\n <!DOCTYPE html><html>", 23);
	write_text("zip", "PK\3\4abcdefgh", 12);
	write_text("a.nsys-rep", "whatever", 8);
	write_text("text", "To whom\tit may concern\x1b[31m", 27);
	write_text("tar", tar, sizeof tar);
	assert_int_equal(system("gzip -k tar"), 0);
	assert_int_equal(mkdir("sub", 0700), 0);
	expect_sentence("absent", -ENOENT, "cannot open absent: No such file or directory");
	expect_sentence("sub", -EISDIR, "sub is a folder, and one file is expected here: name the trace in it");
	expect_sentence("empty", -EBADMSG, "empty is empty: whatever was to write it has not, or not yet");
	expect_sentence("page", -EBADMSG,
			"page is a web page (HTML) and not a trace: was it downloaded from a page that asks to log in?");
	expect_sentence("zip", -EBADMSG, "zip is a ZIP archive: unpack it and give the trace in it");
	expect_sentence("tar", -EBADMSG, "tar is a tar archive: unpack it and give the traces in it, or their folder");
	expect_sentence("tar.gz", -EBADMSG, "tar.gz is a tar archive: unpack it and give the traces in it, or their folder");
	expect_sentence("a.nsys-rep", -EBADMSG,
			"a.nsys-rep is a report of Nsight Systems, which only nsys reads: make an export of it with 'nsys "
			"export --type sqlite' and give that");
	expect_sentence(
		"text", -EBADMSG,
		"text is not a trace that InferScope reads: it begins with \"To whom\\tit may concern\\x1b[31m\"; " KNOWN);
	assert_int_equal(import_detect("text", NULL), IMPORT_UNKNOWN);
	assert_int_equal(import_detect("absent", NULL), -ENOENT);
	write_recording("one.sbt", 100, 0);
	assert_int_equal(import_detect("one.sbt", NULL), IMPORT_SBT);
}

/* One that cannot be read does not spoil those that can. */
static void among_others(void **state)
{
	const struct import_options options = { 0 };
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct import_reports reports = { 0 };
	struct error err = { 0 };
	struct trace_reader *r;
	struct import *im;

	(void)state;
	write_recording("one.sbt", 100, 0);
	write_text("text", "To whom", 7);
	assert_int_equal(import_open(&im, dup(fd), &options, &err), 0);
	assert_int_equal(import_add(im, "text", &err), -EBADMSG);
	assert_int_equal(import_add(im, "one.sbt", &err), 0);
	assert_int_equal(import_close(im, &reports, &err), 0);
	assert_int_equal(reports.count, 1);
	assert_int_equal(trace_reader_open_fd(&r, fd, "trace", &err), 0);
	check_events(r, 0, 0);
	import_reports_release(&reports);
	trace_reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merged),
		cmocka_unit_test(hostile),
		cmocka_unit_test(strangers),
		cmocka_unit_test(among_others),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
