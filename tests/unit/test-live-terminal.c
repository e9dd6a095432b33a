/*
 * test-live-terminal.c - the view of odd snapshots on screens of odd sizes, and what a program writes under it.
 *
 * The terminal is one that this test makes; what it is sent is kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "live/output.h"
#include "live/terminal.h"

static int master, slave;
static pthread_t reader;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct buffer sent;
static struct live_snapshot s;

static void *read_all(void *arg)
{
	char chunk[4096];
	ssize_t n;

	(void)arg;
	while ((n = read(master, chunk, sizeof chunk)) > 0) {
		pthread_mutex_lock(&lock);
		(void)buffer_append(&sent, chunk, (size_t)n);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void set_size(unsigned short columns, unsigned short rows)
{
	struct winsize size = { .ws_col = columns, .ws_row = rows };

	assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
}

static int open_terminal(void **state)
{
	(void)state;
	setenv("TERM", "xterm", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	master = posix_openpt(O_RDWR | O_NOCTTY);
	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
		return -1;
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	buffer_clear(&sent);
	set_size(80, 24);
	return slave < 0 ? -1 : pthread_create(&reader, NULL, read_all, NULL);
}

static int close_terminal(void **state)
{
	(void)state;
	close(slave); /* the last one: the reader's end */
	pthread_join(reader, NULL);
	close(master);
	buffer_release(&sent);
	return 0;
}

/* Is this among what the terminal was sent, now or soon? */
static bool was_sent(const char *bytes, size_t size)
{
	bool found = false;

	for (int i = 0; i < 200 && !found; i++) {
		pthread_mutex_lock(&lock);
		found = sent.size > 0 && memmem(sent.data, sent.size, bytes, size);
		pthread_mutex_unlock(&lock);
		if (!found)
			poll(NULL, 0, 10);
	}
	return found;
}

#define SENT(text) was_sent(text, sizeof(text) - 1)

/* Not a word of it so far. */
static bool was_not_sent(const char *text)
{
	bool found;

	pthread_mutex_lock(&lock);
	found = sent.data && memmem(sent.data, sent.size, text, strlen(text));
	pthread_mutex_unlock(&lock);
	return !found;
}

static void forget(void)
{
	pthread_mutex_lock(&lock);
	buffer_clear(&sent);
	pthread_mutex_unlock(&lock);
}

static void type(struct live_terminal *t, const char *keys)
{
	struct pollfd fd = { .fd = slave, .events = POLLIN };

	assert_int_equal(write(master, keys, strlen(keys)), strlen(keys));
	assert_int_equal(poll(&fd, 1, 5000), 1);
	assert_int_not_equal(live_terminal_keys(t), LIVE_KEY_QUIT);
}

static struct live_terminal *open_view(struct live_output *output)
{
	const struct live_terminal_options options = { .fd = slave, .color = true, .title = "top", .hint = "http://127.0.0.1:1/?t", .output = output };
	struct live_terminal *t = NULL;

	assert_int_equal(live_terminal_check(slave, NULL), 0);
	assert_int_equal(live_terminal_new(&t, &options, NULL), 0);
	assert_int_equal(live_terminal_show(t, NULL), 0);
	return t;
}

/* Every number is one that cannot be, every name one that should not be. */
static void fill_oddly(void)
{
	memset(&s, 0xff, sizeof s); /* all numbers NAN, all counts too large */
	memset(s.command, 0x1b, sizeof s.command - 1);
	s.command[sizeof s.command - 1] = '\0';
	s.gpu_source[0] = s.steps.name[0] = '\0';
	s.memory.limited = s.steps.known = s.events.recorded = true;
	for (unsigned i = 0; i < LIVE_PROCESSES; i++) { /* each one's parent is the next, in a circle */
		s.processes[i] = (struct live_process){ .pid = (pid_t)i, .parent = (pid_t)((i + 1) % LIVE_PROCESSES), .cpu = NAN, .rss_bytes = -1 };
		memset(s.processes[i].name, '\n', sizeof s.processes[i].name - 1);
	}
	for (unsigned i = 0; i < LIVE_THREADS; i++)
		s.threads[i] = (struct live_thread){ .tid = -1, .name = "\xe4\xb8", .cpu = INFINITY, .waiting_s = i % 3 ? NAN : i, .what = "\u202e" };
	for (unsigned i = 0; i < LIVE_PLACES; i++)
		s.places[i] = (struct live_place){ .name = "\x9b[H", .kind = "scope", .share = 1e300 };
	for (unsigned i = 0; i < LIVE_COUNTERS; i++)
		s.counters[i] = (struct live_counter){ .name = "\033c\a\xe4\xb8", .value = i % 2 ? -1e300 : NAN };
	memset(s.counters[1].name, 0xff, sizeof s.counters[1].name);
	for (unsigned i = 0; i < LIVE_ALERTS; i++)
		s.alerts[i] = (struct live_alert){ .severity = (uint8_t)i, .active = i % 2, .begin_s = NAN, .text = "\a", .advice = "\033c" };
	for (unsigned i = 0; i < LIVE_GPUS; i++)
		s.gpus[i] = (struct live_gpu){ .utilization = 7, .memory_used_bytes = NAN, .power_watts = -INFINITY };
}

static void test_odd_snapshots_on_odd_screens(void **state)
{
	static const unsigned short sizes[][2] = { { 1, 1 }, { 2, 3 }, { 40, 8 }, { 300, 100 }, { 61, 13 }, { 1000, 2 }, { 3, 200 }, { 80, 24 } };
	struct live_terminal *t = open_view(NULL);

	(void)state;
	fill_oddly();
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		set_size(sizes[i][0], sizes[i][1]);
		assert_true(live_terminal_resized(t));
		for (int pane = 0; pane < 5; pane++) {
			live_terminal_note(t, &s);
			live_terminal_draw(t, &s);
			assert_false(live_terminal_resized(t));
			type(t, "s\033[B\033[6~\033OF\t");
		}
		type(t, "?");
		live_terminal_draw(t, &s);
		type(t, "x/no\033[Zs\033");
	}
	live_terminal_hide(t);
	assert_true(SENT("\033[?1049l"));
	assert_true(was_not_sent("\033c") && was_not_sent("\a"));
	live_terminal_free(t);
}

/* Every byte that can be typed, and sequences that are cut off or mean nothing, are keys like any other. */
/* What it does leads; a sentence that is longer than the screen has two rows. */
static void test_what_it_does_leads(void **state)
{
	struct live_terminal *t;

	(void)state;
	live_snapshot_clear(&s);
	strcpy(s.doing.text, "computing in operators 92 % of the last 10 s, most in aten::conv2d (80 %)");
	strcpy(s.doing.thread, "the main thread");
	strcpy(s.doing.most, "aten::conv2d");
	s.doing.window_s = 10;
	strcpy(s.steps.trouble, "cannot tell the steps apart: the operators do not come in the same order each time; --step NAME says what begins one");
	s.thread_count = s.place_count = 1;
	s.places[0] = (struct live_place){ .share = 0.8 };
	strcpy(s.places[0].name, "aten::conv2d");
	set_size(90, 30);
	t = open_view(NULL);
	live_terminal_draw(t, &s);
	assert_true(SENT("computing in operators 92 % of the last 10 s, most in aten::conv2d (80 %)"));
	assert_true(SENT("do not come in the same order each time;"));
	assert_true(SENT("--step NAME says what begins one"));
	set_size(160, 30);
	live_terminal_draw(t, &s);
	assert_true(SENT("mostly aten::conv2d"));
	type(t, "t");
	type(t, "t");
	live_terminal_draw(t, &s);
	assert_true(SENT("of the main thread, last 10 s; by share"));
	s.steps.known = true;
	strcpy(s.steps.found, "the repetition of operators");
	strcpy(s.steps.name, "aten::rand");
	live_terminal_draw(t, &s);
	assert_true(SENT("by the repetition of operators, from aten::rand"));
	live_terminal_free(t);
}

static void test_odd_keys(void **state)
{
	static const char *const keys[] = { "\033", "\033[", "\033[999999999999~", "\033[1;5D", "\033O", "\x80\xff", "i", "pppp", "/abc\x7f\x7f\n", "\014" };
	struct live_terminal *t = open_view(NULL);

	(void)state;
	live_snapshot_clear(&s);
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		type(t, keys[i]);
		live_terminal_draw(t, &s);
	}
	assert_int_equal(write(master, "q", 1), 1);
	poll(&(struct pollfd){ .fd = slave, .events = POLLIN }, 1, 5000);
	assert_int_equal(live_terminal_keys(t), LIVE_KEY_QUIT);
	live_terminal_free(t);
}

static void test_settings_are_put_back(void **state)
{
	struct termios before, shown, after;
	struct live_terminal *t;

	(void)state;
	assert_int_equal(tcgetattr(slave, &before), 0);
	t = open_view(NULL);
	live_snapshot_clear(&s);
	live_terminal_draw(t, &s);
	assert_int_equal(tcgetattr(slave, &shown), 0);
	assert_false(shown.c_lflag & (ICANON | ECHO));
	assert_true(shown.c_lflag & ISIG);
	assert_false(shown.c_iflag & IXON);
	live_terminal_hide(t);
	assert_int_equal(tcgetattr(slave, &after), 0);
	assert_int_equal(after.c_lflag, before.c_lflag);
	assert_int_equal(after.c_iflag, before.c_iflag);
	assert_int_equal(after.c_oflag, before.c_oflag);

	forget();
	assert_int_equal(live_terminal_show(t, NULL), 0); /* again */
	live_terminal_draw(t, &s);
	assert_true(SENT("[Threads]"));
	live_terminal_free(t);
	assert_int_equal(tcgetattr(slave, &after), 0);
	assert_int_equal(after.c_lflag, before.c_lflag);
}

static void test_no_view_without_a_cursor(void **state)
{
	struct error err = { 0 };

	(void)state;
	setenv("TERM", "dumb", 1);
	assert_int_equal(live_terminal_check(slave, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "'dumb'"));
	setenv("TERM", "no-such-terminal", 1);
	assert_int_equal(live_terminal_check(slave, &err), -ENOTSUP);
}

/* ---- What the program writes ------------------------------------------------------------------ */

/* The end that a program would have; this test's own streams are no such terminal. */
static int program_end(const struct live_output *output)
{
	char name[128];

	assert_int_equal(ptsname_r(live_output_fd(output), name, sizeof name), 0);
	return open(name, O_RDWR | O_NOCTTY);
}

static void test_output_is_kept_and_printed(void **state)
{
	static const char written[] = "one\ntwo\0\033[31m\r\n";
	struct live_output *output = NULL;
	char tail[8];
	int program;

	(void)state;
	assert_int_equal(live_output_new(&output, slave, 1000, NULL), 0);
	program = program_end(output);
	assert_int_equal(write(program, written, sizeof written - 1), sizeof written - 1);
	assert_int_equal(poll(&(struct pollfd){ .fd = live_output_fd(output), .events = POLLIN }, 1, 5000), 1);
	live_output_keep(output);
	assert_int_equal(live_output_total(output), sizeof written - 1);
	assert_int_equal(live_output_tail(output, tail, sizeof tail), sizeof tail);
	assert_memory_equal(tail, written + sizeof written - 1 - sizeof tail, sizeof tail);
	live_output_print(output);
	assert_true(SENT("one\r\ntwo\0\033[31m\r\r\n")); /* as the terminal adds them */

	forget();
	assert_int_equal(write(program, "three", 5), 5);
	poll(&(struct pollfd){ .fd = live_output_fd(output), .events = POLLIN }, 1, 5000);
	live_output_pass(output);
	assert_true(SENT("three"));
	live_output_print(output); /* nothing twice */
	assert_int_equal(live_output_total(output), sizeof written - 1);
	close(program);
	live_output_free(output);
}

static void test_of_much_output_the_last_is_kept(void **state)
{
	struct live_output *output = NULL;
	char line[16];
	int program;

	(void)state;
	assert_int_equal(live_output_new(&output, slave, 100, NULL), 0);
	program = program_end(output);
	for (int i = 0; i < 100; i++) {
		snprintf(line, sizeof line, "line %03d\n", i);
		assert_int_equal(write(program, line, 9), 9);
		poll(&(struct pollfd){ .fd = live_output_fd(output), .events = POLLIN }, 1, 5000);
		live_output_keep(output);
	}
	assert_int_equal(live_output_total(output), 900);
	live_output_print(output);
	assert_true(SENT("\r\ninferscope: 800 bytes of the program's output are left out here\r\n\r\nline 089\r\n"));
	assert_true(SENT("line 099\r\n"));
	close(program);
	live_output_free(output);
}

/* A limit on the size of files is what a full disk is, too: so many bytes fit, and all lines are printed, or said to be left out. */
static void write_lines(uint64_t kept, struct live_output **ret)
{
	struct rlimit before, limit;
	struct live_output *output = NULL;
	char line[16];
	int program;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){ 50, before.rlim_max };
	assert_int_equal(live_output_new(&output, slave, kept, NULL), 0);
	program = program_end(output);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (int i = 0; i < 100; i++) {
		snprintf(line, sizeof line, "line %03d\n", i);
		assert_int_equal(write(program, line, 9), 9);
		poll(&(struct pollfd){ .fd = live_output_fd(output), .events = POLLIN }, 1, 5000);
		live_output_keep(output);
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	close(program);
	*ret = output;
}

static void test_output_that_the_disk_has_no_room_for(void **state)
{
	char expected[1001] = "", tail[100];
	struct live_output *output;

	(void)state;
	for (int i = 0; i < 100; i++)
		snprintf(expected + 10 * i, 11, "line %03d\r\n", i);
	forget();
	write_lines(1000, &output);
	assert_int_equal(live_output_total(output), 900);
	live_output_print(output);
	assert_true(was_sent(expected, 1000));
	live_output_free(output);

	forget();
	write_lines(100, &output); /* 50 in the file, 100 in memory */
	assert_int_equal(live_output_total(output), 900);
	assert_int_equal(live_output_tail(output, tail, sizeof tail), sizeof tail);
	assert_memory_equal(tail, "\nline 089\n", 10);
	assert_memory_equal(tail + 90, "\nline 099\n", 10);
	live_output_print(output);
	assert_true(SENT("line 004\r\nline \r\ninferscope: 750 bytes of the program's output are left out here\r\n\r\nline 089\r\n"));
	assert_true(SENT("line 099\r\n"));
	live_output_free(output);
}

static void test_output_in_the_view(void **state)
{
	struct live_output *output = NULL;
	struct live_terminal *t;
	int program;

	(void)state;
	assert_int_equal(live_output_new(&output, slave, 1 << 20, NULL), 0);
	program = program_end(output);
	t = open_view(output);
	live_snapshot_clear(&s);
	assert_int_equal(write(program, "10 %\r20 %\r\033[32mgreen\033[0m\n\a\033]0;title\a\n", 38), 38);
	poll(&(struct pollfd){ .fd = live_output_fd(output), .events = POLLIN }, 1, 5000);
	live_output_keep(output);
	type(t, "o");
	live_terminal_draw(t, &s);
	assert_true(SENT("[Output]"));
	assert_true(SENT("green"));
	assert_true(was_not_sent("10 %") && was_not_sent("title") && was_not_sent("\033[32mgreen"));
	live_terminal_free(t);
	close(program);
	live_output_free(output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_odd_snapshots_on_odd_screens, open_terminal, close_terminal),
		cmocka_unit_test_setup_teardown(test_what_it_does_leads, open_terminal, close_terminal),
		cmocka_unit_test_setup_teardown(test_odd_keys, open_terminal, close_terminal),
		cmocka_unit_test_setup_teardown(test_settings_are_put_back, open_terminal, close_terminal),
		cmocka_unit_test_setup_teardown(test_no_view_without_a_cursor, open_terminal, close_terminal),
		cmocka_unit_test_setup_teardown(test_output_is_kept_and_printed, open_terminal, close_terminal),
		cmocka_unit_test_setup_teardown(test_of_much_output_the_last_is_kept, open_terminal, close_terminal),
		cmocka_unit_test_setup_teardown(test_output_that_the_disk_has_no_room_for, open_terminal, close_terminal),
		cmocka_unit_test_setup_teardown(test_output_in_the_view, open_terminal, close_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
