/* test-file.c - base/file.h, in a scratch folder. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char scratch[] = "/tmp/test-file-XXXXXX";

static char *in_scratch(const char *name)
{
	static char path[256];

	snprintf(path, sizeof path, "%s/%s", scratch, name);
	return path;
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(in_scratch(name), "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static int files_in_scratch(void)
{
	DIR *dir = opendir(scratch);
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

static void joins_paths(void **state)
{
	static const struct {
		const char *dir, *name, *expected;
	} cases[] = { { "/a", "b", "/a/b" },
		      { "/a/", "b", "/a/b" },
		      { "/", "b", "/b" },
		      { "", "b", "b" },
		      { "/a", "/b", "/b" } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char *path = path_join(cases[i].dir, cases[i].name);

		assert_string_equal(path, cases[i].expected);
		free(path);
	}
}

static void reads_up_to_a_limit(void **state)
{
	struct buffer buf = BUFFER_INIT;

	(void)state;
	put("ten", "0123456789");
	assert_int_equal(file_read_whole(in_scratch("ten"), 10, &buf), 0);
	assert_int_equal(buf.size, 10);
	assert_memory_equal(buf.data, "0123456789", 10);
	buffer_clear(&buf);
	assert_int_equal(file_read_whole(in_scratch("ten"), 9, &buf), -EFBIG);
	buffer_clear(&buf);
	assert_int_equal(file_read_whole(in_scratch("absent"), 9, &buf), -ENOENT);
	assert_int_equal(file_read_whole("/proc/self/status", 1 << 16, &buf), 0);
	assert_true(buf.size > 0);
	buffer_release(&buf);
	unlink(in_scratch("ten"));
}

static void opens_regular_files_only(void **state)
{
	struct stat st;
	int fd;

	(void)state;
	put("file", "x");
	fd = file_open_regular(AT_FDCWD, in_scratch("file"), &st);
	assert_true(fd >= 0);
	assert_int_equal(st.st_size, 1);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(fd);
	assert_int_equal(symlink("file", in_scratch("link")), 0);
	assert_int_equal(file_open_regular(AT_FDCWD, in_scratch("link"), NULL), -ELOOP);
	assert_int_equal(mkfifo(in_scratch("fifo"), 0600), 0);
	assert_int_equal(file_open_regular(AT_FDCWD, in_scratch("fifo"), NULL), -EINVAL); /* and does not wait */
	assert_int_equal(file_open_regular(AT_FDCWD, scratch, NULL), -EISDIR);
	assert_int_equal(file_open_regular(AT_FDCWD, in_scratch("absent"), NULL), -ENOENT);
	unlink(in_scratch("link"));
	unlink(in_scratch("fifo"));
	unlink(in_scratch("file"));
}

static void drafts_appear_when_whole(void **state)
{
	struct file_draft draft;
	struct error err = { 0 };
	struct buffer buf = BUFFER_INIT;
	struct stat st;
	mode_t mask = umask(022);

	(void)state;
	put("out", "old");
	assert_int_equal(file_draft_open(&draft, in_scratch("out"), &err), 0);
	assert_int_equal(file_write_all(draft.fd, "new text", 8), 0);
	assert_int_equal(file_read_whole(in_scratch("out"), 100, &buf), 0);
	assert_memory_equal(buf.data, "old", 3);
	assert_int_equal(file_draft_commit(&draft, &err), 0);
	buffer_clear(&buf);
	assert_int_equal(file_read_whole(in_scratch("out"), 100, &buf), 0);
	assert_int_equal(buf.size, 8);
	assert_memory_equal(buf.data, "new text", 8);
	assert_int_equal(stat(in_scratch("out"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	assert_int_equal(files_in_scratch(), 1);
	umask(mask);
	buffer_release(&buf);
	unlink(in_scratch("out"));
}

static void discarded_drafts_leave_nothing(void **state)
{
	struct file_draft draft;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(file_draft_open(&draft, in_scratch("out"), &err), 0);
	assert_int_equal(file_write_all(draft.fd, "half", 4), 0);
	file_draft_discard(&draft);
	assert_int_equal(files_in_scratch(), 0);
	file_draft_discard(&draft);
}

static void drafts_that_cannot_be(void **state)
{
	struct file_draft draft;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(file_draft_open(&draft, in_scratch("absent/out"), &err), -ENOENT);
	assert_non_null(strstr(err.text, "absent/out"));
	assert_int_equal(file_draft_open(&draft, scratch, &err), -EISDIR);
	assert_int_equal(files_in_scratch(), 0);
	assert_int_equal(file_draft_open(&draft, "/dev/full", &err), 0); /* a device is written in place */
	assert_int_equal(file_write_all(draft.fd, "x", 1), -ENOSPC);
	assert_int_equal(file_draft_commit(&draft, &err), 0);
	assert_int_equal(access("/dev/full", F_OK), 0);
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
		cmocka_unit_test(joins_paths),
		cmocka_unit_test(reads_up_to_a_limit),
		cmocka_unit_test(opens_regular_files_only),
		cmocka_unit_test(drafts_appear_when_whole),
		cmocka_unit_test(discarded_drafts_leave_nothing),
		cmocka_unit_test(drafts_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
