/* test-notes.c - record/notes.h: what processes have to say, and record/describe.h: how it gets into the trace. */
#include "record/notes.h"

#include "trace-fixture.h"

#include <errno.h>
#include <fcntl.h>

#include "base/msgpack.h"
#include "record/describe.h"

static char folder[64];
static int folder_fd;

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/test-notes-XXXXXX");
	assert_non_null(mkdtemp(folder));
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder_fd >= 0);
	return 0;
}

static int tear_down(void **state)
{
	char command[96];

	(void)state;
	close(folder_fd);
	snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command);
}

static void write_note(const char *name, const char *text, size_t size)
{
	int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	close(fd);
}

static void say(const char *name, const char *text)
{
	write_note(name, text, strlen(text));
}

static void different_ones_are_told_in_order(void **state)
{
	struct notes notes;

	(void)state;
	say("n100", "ten");
	say("n20.1", "two, again");
	say("n20", "two\nand a second line");
	say("n7", "ten");
	say("n3", "");
	say("p0", "not a note");
	say("n", "not a note");
	say("n1x", "not a note");
	say("n1.0", "not a note");
	say("n05", "not a note");
	say("session", "not a note");
	notes_read(&notes, folder_fd);
	assert_int_equal(notes.count, 3);
	assert_string_equal(notes.texts[0], "ten");
	assert_string_equal(notes.texts[1], "two");
	assert_string_equal(notes.texts[2], "two, again");
}

/* Whatever lies there, it is read in bounded time and space. */
static void hostile_ones_do_no_harm(void **state)
{
	struct notes notes;
	char path[128], text[1000];

	(void)state;
	snprintf(path, sizeof path, "%s/n1", folder);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	snprintf(path, sizeof path, "%s/n2", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(mkdirat(folder_fd, "n3", 0700), 0);
	memset(text, 'x', sizeof text);
	write_note("n4", text, sizeof text);
	write_note("n5", "a\xff\xc3(\0b", 6);
	memcpy(text + NOTE_MAX_BYTES - 1, "\xc3\xa9", 2); /* cut in the middle */
	write_note("n6", text, sizeof text);
	notes_read(&notes, folder_fd);
	assert_int_equal(notes.count, 3);
	assert_int_equal(strlen(notes.texts[0]), NOTE_MAX_BYTES);
	assert_string_equal(notes.texts[1], "a?" "?(");
	assert_int_equal(strlen(notes.texts[2]), NOTE_MAX_BYTES);
	assert_int_equal(notes.texts[2][NOTE_MAX_BYTES - 1], '?');
}

static void there_is_a_limit(void **state)
{
	struct notes notes;
	char name[16];

	(void)state;
	for (int i = 0; i < 3 * (int)NOTE_LIMIT; i++) {
		snprintf(name, sizeof name, "n%d", 1000 + i);
		say(name, name);
	}
	notes_read(&notes, folder_fd);
	assert_int_equal(notes.count, NOTE_LIMIT);
	assert_string_equal(notes.texts[0], "n1000");
	assert_string_equal(notes.texts[NOTE_LIMIT - 1], "n1063");
	notes_read(&notes, -1);
	assert_int_equal(notes.count, 0);
}

static struct trace_reader *describe(struct fixture *f, const struct drain_totals *totals, const struct notes *notes)
{
	struct describe_ending ending = { .exit_status = 3, .complete = true, .notes = notes };

	fixture_open(f, NULL);
	assert_int_equal(describe_ending(f->w, &ending, totals, NULL), 0);
	fixture_finish(f);
	return fixture_read(f);
}

static void the_trace_has_them(void **state)
{
	struct drain_totals totals = { .produced = 9, .skipped_calls = UINT64_MAX, .functions = 40, .functions_skipped = 7 };
	struct notes notes;
	struct trace_reader *r;
	struct fixture f;
	struct buffer json = BUFFER_INIT;
	const uint8_t *raw;
	size_t size;
	int64_t value;

	(void)state;
	say("n1", "first");
	say("n2", "\x1b[2J");
	notes_read(&notes, folder_fd);
	r = describe(&f, &totals, &notes);
	assert_int_equal(trace_reader_report(r)->damage_count, 0);
	assert_int_equal(trace_reader_info_integer(r, "exit_status", &value), 0);
	assert_int_equal(value, 3);
	assert_int_equal(trace_reader_info_integer(r, "skipped_calls", &value), 0);
	assert_int_equal(value, INT64_MAX);
	assert_int_equal(trace_reader_info_integer(r, "functions", &value), 0);
	assert_int_equal(value, 40);
	assert_int_equal(trace_reader_info_integer(r, "functions_skipped", &value), 0);
	assert_int_equal(value, 7);
	assert_int_equal(trace_reader_info_raw(r, "notes", &raw, &size), 0);
	assert_int_equal(msgpack_to_json(raw, size, &json), 0);
	assert_int_equal(buffer_append(&json, "", 1), 0);
	assert_string_equal((char *)json.data, "[\"first\", \"\\u001b[2J\"]");
	buffer_release(&json);
	trace_reader_close(r);
	fixture_close(&f);
}

static void what_is_not_there_is_not_said(void **state)
{
	struct drain_totals totals = { .produced = 9 };
	struct notes notes = { 0 };
	struct trace_reader *r;
	struct fixture f;
	const uint8_t *raw;
	size_t size;

	(void)state;
	r = describe(&f, &totals, &notes);
	assert_int_equal(trace_reader_report(r)->damage_count, 0);
	assert_int_equal(trace_reader_info_raw(r, "produced", &raw, &size), 0);
	assert_int_equal(trace_reader_info_raw(r, "notes", &raw, &size), -ENOENT);
	assert_int_equal(trace_reader_info_raw(r, "functions", &raw, &size), -ENOENT);
	assert_int_equal(trace_reader_info_raw(r, "skipped_calls", &raw, &size), -ENOENT);
	trace_reader_close(r);
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(different_ones_are_told_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(hostile_ones_do_no_harm, set_up, tear_down),
		cmocka_unit_test_setup_teardown(there_is_a_limit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_trace_has_them, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_not_there_is_not_said, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("notes", tests, NULL, NULL);
}
