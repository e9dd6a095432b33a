/* test-trace-sync.c - what of a trace is on the disk, and when; here the disk is a function below. */
#include "trace-fixture.h"

#include <errno.h>
#include <fcntl.h>

#include "base/file.h"

static char scratch[] = "/tmp/test-trace-sync-XXXXXX";

/* ---- The disk ---- */

static struct {
	int answers[4]; /* of the calls to come: 0, or what errno is to be */
	unsigned calls;
	off_t size; /* of the file at the last call */
} disk;

int fsync(int fd)
{
	struct stat st;
	int answer = disk.calls < 4 ? disk.answers[disk.calls] : 0;

	assert_int_equal(fstat(fd, &st), 0);
	disk.size = st.st_size;
	disk.calls++;
	errno = answer;
	return answer ? -1 : 0;
}

static void expect_answers(int first, int second)
{
	memset(&disk, 0, sizeof disk);
	disk.answers[0] = first;
	disk.answers[1] = second;
}

static char *in_scratch(const char *name)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/%s", scratch, name);
	return path;
}

static int create(const char *name)
{
	int fd = open(in_scratch(name), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}

/* ---- Tests ---- */

static void failures_and_refusals(void **state)
{
	static const int refusals[] = { EINVAL, EROFS, ENOSYS, EOPNOTSUPP, EPERM, EACCES }, failures[] = { EIO, ENOSPC, EDQUOT, ESTALE };
	int fd = create("file");

	(void)state;
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
		expect_answers(refusals[i], 0);
		assert_int_equal(file_sync(fd), 0);
		assert_int_equal(disk.calls, 1);
	}
	for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
		expect_answers(failures[i], 0);
		assert_int_equal(file_sync(fd), -failures[i]);
		expect_answers(failures[i], 0);
		assert_int_equal(file_sync_folder(in_scratch("file")), -failures[i]);
	}
	expect_answers(EINTR, EIO);
	assert_int_equal(file_sync(fd), -EIO);
	expect_answers(0, 0);
	assert_int_equal(file_sync_folder(in_scratch("absent/file")), 0);
	assert_int_equal(disk.calls, 0);
	close(fd);
	unlink(in_scratch("file"));
}

static void open_named(struct fixture *f)
{
	const struct trace_writer_options options = { .created_ns = 1 };
	int fd = create("trace");

	f->fd = dup(fd);
	snprintf(f->path, sizeof f->path, "/proc/self/fd/%d", f->fd);
	assert_int_equal(trace_writer_open(&f->w, fd, &options, NULL), 0);
	put_scope(f, 0, 1000, PHASE_BEGIN, 1, 0);
	put_scope(f, 0, 2000, PHASE_END, 0, 0);
}

static void close_named(struct fixture *f)
{
	fixture_close(f);
	unlink(in_scratch("trace"));
}

static void all_of_it_is_synced(void **state)
{
	struct fixture f;
	struct stat st;

	(void)state;
	expect_answers(0, 0);
	open_named(&f);
	assert_int_equal(trace_writer_flush(f.w, NULL), 0);
	assert_int_equal(disk.calls, 0); /* who records is not kept waiting */
	fixture_finish(&f);
	assert_int_equal(fstat(f.fd, &st), 0);
	assert_int_equal(disk.calls, 1);
	assert_int_equal(disk.size, st.st_size);
	close_named(&f);
}

static void nobody_waits_for_a_file_without_a_name(void **state)
{
	struct fixture f;

	(void)state;
	expect_answers(EIO, EIO);
	fixture_open(&f, NULL);
	put_scope(&f, 0, 1000, PHASE_BEGIN, 1, 0);
	fixture_finish(&f);
	assert_int_equal(disk.calls, 0);
	fixture_close(&f);
}

static void expect_trouble(const struct fixture *f, const char *text)
{
	struct trace_reader *r = fixture_read(f);
	const char *found = "";
	size_t size = 0;

	assert_int_equal(trace_reader_report(r)->damage_count, 0);
	assert_true(trace_reader_report(r)->has_index);
	assert_int_equal(trace_reader_info_string(r, "trouble", &found, &size), text[0] ? 0 : -ENOENT);
	assert_int_equal(size, strlen(text));
	assert_memory_equal(found, text, size);
	trace_reader_close(r);
}

/* The trace says so itself, and has one end. */
static void a_disk_that_fails(void **state)
{
	static const char text[] = "cannot get the trace file onto the disk: Input/output error";
	struct error err = { 0 };
	struct sbt_block blocks[32];
	uint64_t offsets[32];
	struct fixture f;
	uint8_t *data;
	size_t size, count;

	(void)state;
	expect_answers(EIO, 0);
	open_named(&f);
	assert_int_equal(trace_writer_close(f.w, NULL, &err), -EIO);
	f.w = NULL;
	assert_string_equal(err.text, text);
	assert_int_equal(disk.calls, 2);
	expect_trouble(&f, text);
	data = fixture_bytes(&f, &size);
	count = find_blocks(data, size, offsets, blocks, 32);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(blocks[i].sequence, i);
		assert_int_equal(blocks[i].kind == SBT_INDEX, i == count - 1);
	}
	assert_int_equal(blocks[count - 1].count, count - 1);
	assert_int_equal(offsets[count - 1] + sbt_block_span(blocks[count - 1].stored_size) + SBT_TRAILER, size);
	free(data);
	close_named(&f);
}

/* ---- Segments ---- */

struct chain {
	unsigned opened, removed;
	bool kept_for_the_disk; /* while all of them were there nothing was on the disk */
};

static int chain_open(void *arg, unsigned number, struct error *err)
{
	struct chain *c = arg;
	char name[16];

	(void)err;
	c->opened++;
	snprintf(name, sizeof name, "trace.%u", number);
	return create(name);
}

static void chain_remove(void *arg, unsigned number)
{
	struct chain *c = arg;
	char name[16];

	snprintf(name, sizeof name, number ? "trace.%u" : "trace", number);
	assert_int_equal(unlink(in_scratch(name)), 0);
	c->removed++;
	if (disk.calls < c->removed)
		c->kept_for_the_disk = false;
}

static int write_chain(struct chain *c, struct error *err)
{
	struct trace_writer_options options = {
		.max_file_bytes = 1 << 20, .segment_open = chain_open, .segment_remove = chain_remove, .segment_arg = c
	};
	struct fixture f;
	uint64_t time = 0, seed = 1;

	assert_int_equal(trace_writer_open(&f.w, create("trace"), &options, NULL), 0);
	while (c->opened < 2) { /* times that do not compress */
		for (int i = 0; i < 20000; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			time += seed >> 44;
			put_scope(&f, 0, time, i % 2 ? PHASE_END : PHASE_BEGIN, i % 2 ? 0 : 1, 0);
		}
		assert_int_equal(trace_writer_flush(f.w, NULL), 0);
	}
	assert_int_equal(c->removed, 0);
	return trace_writer_close(f.w, NULL, err);
}

/* None goes before what was copied of it is on the disk. */
static void segments_go_when_the_whole_is_there(void **state)
{
	struct chain c = { .kept_for_the_disk = true };
	struct stat st;

	(void)state;
	expect_answers(0, 0);
	assert_int_equal(write_chain(&c, NULL), 0);
	assert_int_equal(c.opened, 2);
	assert_int_equal(c.removed, 2);
	assert_true(c.kept_for_the_disk);
	assert_int_equal(stat(in_scratch("trace"), &st), 0);
	assert_int_equal(disk.size, st.st_size);
	unlink(in_scratch("trace"));
}

static void segments_stay_where_the_disk_fails(void **state)
{
	struct chain c = { .kept_for_the_disk = true };
	struct error err = { 0 };

	(void)state;
	expect_answers(ENOSPC, 0);
	assert_int_equal(write_chain(&c, &err), -ENOSPC);
	assert_int_equal(c.removed, 0);
	assert_string_equal(err.text, "cannot get the trace file onto the disk: No space left on device");
	assert_int_equal(unlink(in_scratch("trace")), 0);
	assert_int_equal(unlink(in_scratch("trace.1")), 0);
	assert_int_equal(unlink(in_scratch("trace.2")), 0);
}

static int make_scratch(void **state)
{
	(void)state;
	return mkdtemp(scratch) ? 0 : -1;
}

static int remove_scratch(void **state)
{
	(void)state;
	return rmdir(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failures_and_refusals),
		cmocka_unit_test(all_of_it_is_synced),
		cmocka_unit_test(nobody_waits_for_a_file_without_a_name),
		cmocka_unit_test(a_disk_that_fails),
		cmocka_unit_test(segments_go_when_the_whole_is_there),
		cmocka_unit_test(segments_stay_where_the_disk_fails),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
