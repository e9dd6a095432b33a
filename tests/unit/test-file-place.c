/* test-file-place.c - base/file_place.h, in a scratch folder: one after the other, at the same time, and all at once. */
#include "base/file_place.h"

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
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define MANY 20

static char scratch[] = "/tmp/test-file-place-XXXXXX";

static void put(const char *name, const char *text, int seconds)
{
	struct timespec times[2];
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	fputs(text, f);
	fflush(f);
	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec += seconds;
	times[1] = times[0];
	assert_int_equal(futimens(fileno(f), times), 0);
	fclose(f);
}

static const char *text_of(const char *name)
{
	static char text[64];
	FILE *f = fopen(name, "r");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = '\0';
	return f ? text : "(none)";
}

static unsigned count_files(void)
{
	DIR *dir = opendir(".");
	unsigned n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

static struct file_place look(int seconds)
{
	struct file_place place;

	assert_int_equal(file_place_look(&place, "trace.sbt", NULL), 0);
	place.began.tv_sec += seconds;
	return place;
}

/* Ends after so many seconds from now. */
static unsigned finish(struct file_place *place, const char *text, int seconds)
{
	struct error err = { 0 };

	put("partial", text, seconds);
	assert_int_equal(file_place_take(place, "partial", &err), 0);
	assert_int_equal(access("partial", F_OK), -1);
	return place->number;
}

static unsigned run(const char *text, int begin, int end)
{
	struct file_place place = look(begin);

	return finish(&place, text, end);
}

static void names_have_their_number_before_the_suffix(void **state)
{
	char out[PATH_MAX];

	(void)state;
	assert_string_equal(file_place_name("a.b/trace.sbt", 1, out), "a.b/trace.sbt");
	assert_string_equal(file_place_name("a.b/trace.sbt", 2, out), "a.b/trace.2.sbt");
	assert_string_equal(file_place_name("a.b/trace", 12, out), "a.b/trace.12");
	assert_string_equal(file_place_name(".hidden", 3, out), ".hidden.3");
}

static void the_newest_has_the_name_and_the_one_before_is_old(void **state)
{
	(void)state;
	assert_int_equal(run("1", 0, 0), 1);
	assert_int_equal(run("2", 10, 10), 1);
	assert_int_equal(run("3", 20, 20), 1);
	assert_string_equal(text_of("trace.sbt"), "3");
	assert_string_equal(text_of("trace.sbt.old"), "2");
	assert_string_equal(text_of("trace.sbt.2.old"), "1");
	assert_int_equal(run("4", 65, 65), 1); /* 1 is older than a minute, 2 is not */
	assert_string_equal(text_of("trace.sbt"), "4");
	assert_string_equal(text_of("trace.sbt.old"), "3");
	assert_string_equal(text_of("trace.sbt.2.old"), "2");
	assert_int_equal(run("5", 200, 200), 1);
	assert_string_equal(text_of("trace.sbt.old"), "4");
	assert_string_equal(text_of("trace.sbt.2.old"), "2");
	assert_int_equal(count_files(), 3);
}

static void who_ends_meanwhile_keeps_the_name(void **state)
{
	struct file_place a, b, c;

	(void)state;
	assert_int_equal(run("before", 0, 0), 1);
	a = look(10);
	b = look(11);
	c = look(12);
	assert_int_equal(finish(&b, "b", 13), 1);
	assert_true(b.kept_old);
	assert_int_equal(finish(&a, "a", 14), 2);
	assert_int_equal(finish(&c, "c", 15), 3);
	assert_false(a.kept_old || c.kept_old);
	assert_string_equal(text_of("trace.sbt"), "b");
	assert_string_equal(text_of("trace.sbt.old"), "before");
	assert_string_equal(text_of("trace.2.sbt"), "a");
	assert_string_equal(text_of("trace.3.sbt"), "c");
	a = look(30);
	b = look(30);
	assert_int_equal(finish(&a, "d", 31), 1);
	assert_int_equal(finish(&b, "e", 31), 2);
	assert_string_equal(text_of("trace.2.sbt"), "e");
	assert_string_equal(text_of("trace.2.sbt.old"), "a"); /* of a run that was over */
	assert_string_equal(text_of("trace.sbt.old"), "b");
	assert_string_equal(text_of("trace.sbt.2.old"), "before");
}

/* A file system that keeps whole seconds, or two: what ended in the same one as it was looked at is known by itself. */
static void a_run_that_begins_in_the_moment_in_which_another_ended(void **state)
{
	(void)state;
	assert_int_equal(run("1", 0, 5), 1);
	assert_int_equal(run("2", 4, 5), 1);
	assert_string_equal(text_of("trace.sbt"), "2");
	assert_string_equal(text_of("trace.sbt.old"), "1");
}

static void a_number_to_begin_with(void **state)
{
	struct file_place place = look(0);

	(void)state;
	place.number = 3;
	assert_int_equal(finish(&place, "x", 1), 3);
	assert_string_equal(text_of("trace.3.sbt"), "x");
}

static void a_folder_in_the_way(void **state)
{
	struct file_place place = look(0);
	struct error err = { 0 };

	(void)state;
	assert_int_equal(mkdir("trace.sbt", 0700), 0);
	put("partial", "x", 0);
	assert_int_equal(file_place_take(&place, "partial", &err), -EISDIR);
	assert_string_equal(text_of("partial"), "x");
	assert_int_equal(rmdir("trace.sbt"), 0);
}

/* Each says which name it got, by what it ends with. */
static void finish_one_of_many(struct file_place *place, int number, int go)
{
	char partial[32], text[32], byte;

	snprintf(partial, sizeof partial, "%d.partial", number);
	snprintf(text, sizeof text, "text %d", number);
	put(partial, text, 0);
	(void)!read(go, &byte, 1);
	_exit(file_place_take(place, partial, NULL) == 0 ? (int)place->number : 0);
}

static void all_at_once(const char *const name, bool exact)
{
	struct file_place place = look(0);
	bool there[MANY + 1] = { false };
	pid_t pids[MANY];
	int go[2], status, number;
	char path[PATH_MAX], text[32];
	DIR *dir;

	put(name, "before", -100);
	assert_int_equal(pipe(go), 0);
	for (int i = 0; i < MANY; i++)
		if ((pids[i] = fork()) == 0) {
			close(go[1]);
			finish_one_of_many(&place, i, go[0]);
		}
	close(go[0]);
	close(go[1]);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) > 0);
		snprintf(text, sizeof text, "text %d", i);
		if (exact)
			assert_string_equal(text_of(file_place_name("trace.sbt", (unsigned)WEXITSTATUS(status), path)), text);
	}
	dir = opendir(".");
	for (struct dirent *entry; (entry = readdir(dir));)
		if (sscanf(text_of(entry->d_name), "text %d", &number) == 1)
			there[number] = true;
	closedir(dir);
	for (int i = 0; i < MANY; i++)
		assert_true(there[i]);
	assert_int_equal(count_files(), MANY + 1);
	assert_string_equal(text_of("trace.sbt.old"), "before");
}

static void nothing_is_lost_when_all_end_at_once(void **state)
{
	(void)state;
	all_at_once("trace.sbt", true);
}

static void nor_where_nobody_can_lock_the_folder(void **state)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(flock(fd, LOCK_EX), 0);
	all_at_once("trace.sbt", false);
	close(fd);
}

static int make_scratch(void **state)
{
	(void)state;
	return mkdtemp(scratch) && chdir(scratch) == 0 ? 0 : -1;
}

static int empty_scratch(void **state)
{
	DIR *dir = opendir(".");

	(void)state;
	for (struct dirent *entry; (entry = readdir(dir));)
		(void)unlink(entry->d_name);
	closedir(dir);
	return 0;
}

static int remove_scratch(void **state)
{
	(void)state;
	return chdir("/") == 0 ? rmdir(scratch) : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(names_have_their_number_before_the_suffix, empty_scratch),
		cmocka_unit_test_teardown(the_newest_has_the_name_and_the_one_before_is_old, empty_scratch),
		cmocka_unit_test_teardown(who_ends_meanwhile_keeps_the_name, empty_scratch),
		cmocka_unit_test_teardown(a_run_that_begins_in_the_moment_in_which_another_ended, empty_scratch),
		cmocka_unit_test_teardown(a_number_to_begin_with, empty_scratch),
		cmocka_unit_test_teardown(a_folder_in_the_way, empty_scratch),
		cmocka_unit_test_teardown(nothing_is_lost_when_all_end_at_once, empty_scratch),
		cmocka_unit_test_teardown(nor_where_nobody_can_lock_the_folder, empty_scratch),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
