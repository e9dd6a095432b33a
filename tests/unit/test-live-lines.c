/*
 * test-live-lines.c - snapshots and alerts as lines of text.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "live/lines.h"
#include "live/numbers.h"

static struct live_snapshot s;

static void expect(struct buffer *out, const char *expected)
{
	assert_int_equal(buffer_append(out, "", 1), 0);
	assert_string_equal(out->data, expected);
	buffer_release(out);
}

static void test_numbers(void **state)
{
	char out[NUMBER_SIZE];

	(void)state;
	assert_string_equal(number_bytes(out, 812e6), "812 MB");
	assert_string_equal(number_rate(out, 1234), "1.2 kB/s");
	assert_string_equal(number_share(out, 0.312), "31 %");
	assert_string_equal(number_share(out, 0.0123), "1.2 %");
	assert_string_equal(number_share(out, 12), "1200 %");
	assert_string_equal(number_seconds(out, 0.0452), "45.20 ms");
	assert_string_equal(number_seconds(out, 59.94), "59.9 s");
	assert_string_equal(number_seconds(out, 161), "2:41");
	assert_string_equal(number_seconds(out, 3 * 3600 + 62), "3:01:02");
	assert_string_equal(number_plain(out, 1.934), "1.93");
	assert_string_equal(number_plain(out, 1234567), "1,234,567");
	assert_string_equal(number_count(out, 2), "2");
	assert_string_equal(number_count(out, 1.5), "1.5");
	for (int i = 0; i < 4; i++) {
		double odd = i == 0 ? NAN : i == 1 ? INFINITY : i == 2 ? -1 : 1e300;

		assert_string_equal(number_bytes(out, odd), "-");
		assert_string_equal(number_rate(out, odd), "-");
		assert_string_equal(number_share(out, odd), "-");
		assert_string_equal(number_seconds(out, odd), "-");
		assert_string_equal(number_plain(out, odd), "-");
		assert_string_equal(number_count(out, odd), "-");
	}
}

static void test_what_it_does(void **state)
{
	struct buffer out = BUFFER_INIT;

	(void)state;
	live_snapshot_clear(&s);
	s.run_s = 12;
	strcpy(s.doing.text, "computing in operators 92 % of the last 10 s, most in a\x1b[2J");
	assert_int_equal(live_doing_line(&out, &s), 0);
	expect(&out, "    12.0 s  now: computing in operators 92 % of the last 10 s, most in a\\x1b[2J\n");
	strcpy(s.steps.trouble, "cannot tell the steps apart");
	assert_int_equal(live_steps_line(&out, &s), 0);
	expect(&out, "    12.0 s  steps: cannot tell the steps apart\n");
	s.steps.known = true;
	strcpy(s.steps.found, "the repetition of operators");
	strcpy(s.steps.name, "aten::rand");
	assert_int_equal(live_steps_line(&out, &s), 0);
	expect(&out, "    12.0 s  steps: found by the repetition of operators, from aten::rand\n");
}

static void test_a_line(void **state)
{
	struct buffer out = BUFFER_INIT;

	(void)state;
	live_snapshot_clear(&s);
	s.run_s = 12;
	s.cpu.share = 1.934;
	s.cpu.available = 2;
	s.memory.rss_bytes = 812e6;
	s.memory.used = 0.312;
	s.io.read_bytes = 1234;
	s.io.written_bytes = 0;
	s.thread_count = LIVE_THREADS;
	s.threads_left_out = 44;
	assert_int_equal(live_line(&out, &s), 0);
	expect(&out, "    12.0 s  cpu  1.93 of 2     memory   812 MB   31 %  disk   1.2 kB/s read      0 B/s written  threads  300  alerts 0\n");
}

static void test_all_that_can_be_in_a_line(void **state)
{
	struct buffer out = BUFFER_INIT;

	(void)state;
	live_snapshot_clear(&s);
	s.state = LIVE_STOPPED;
	s.gpu_count = 1;
	s.gpus[0].number = 3;
	s.gpus[0].utilization = 0.87;
	s.gpus[0].memory_used_bytes = 12.1e9;
	s.steps.known = true;
	s.steps.last_s = 0.0452;
	s.steps.rate = 22.1;
	s.events.recorded = true;
	s.events.rate = 48211;
	s.events.lost = 3;
	s.active_alerts = 2;
	assert_int_equal(live_line(&out, &s), 0);
	expect(&out, "     0.0 s  cpu     - of -     memory        -      -  disk          - read          - written  gpu3   87 %  12.1 GB"
		     "  step  45.20 ms    22.1/s input      -  threads    0  alerts 2  events   48,211/s lost 3  stopped\n");
}

static void test_alerts(void **state)
{
	struct buffer out = BUFFER_INIT;
	struct live_alert alert = { .kind = "gpu_memory_high", .subject = "GPU 0", .severity = LIVE_CRITICAL, .active = true, .begin_s = 7.25,
				    .text = "it is full", .advice = "smaller batches" };

	(void)state;
	assert_int_equal(live_alert_line(&out, &alert, false), 0);
	expect(&out, "     7.2 s  alert critical gpu_memory_high GPU 0: it is full -> smaller batches\n");
	assert_int_equal(live_alert_line(&out, &alert, true), 0);
	expect(&out, "     7.2 s  \033[31malert critical\033[0m gpu_memory_high GPU 0: it is full -> smaller batches\n");
	alert.worse_s = 8;
	assert_int_equal(live_alert_line(&out, &alert, false), 0);
	expect(&out, "     8.0 s  alert now critical gpu_memory_high GPU 0: it is full -> smaller batches\n");
	alert.active = false;
	alert.end_s = 9;
	alert.subject[0] = '\0';
	alert.severity = 77;
	assert_int_equal(live_alert_line(&out, &alert, true), 0);
	expect(&out, "     9.0 s  alert ended gpu_memory_high: it is full\n");
}

/* What the program calls itself and its threads is on one line, and moves no cursor. */
static void test_hostile_names(void **state)
{
	struct buffer out = BUFFER_INIT;
	unsigned lines = 0;

	(void)state;
	live_snapshot_clear(&s);
	strcpy(s.command, "a\nb\033[2J\xff\u202e");
	s.process_count = s.thread_count = 1;
	strcpy(s.processes[0].name, "x\r\x07");
	strcpy(s.threads[0].name, "\u4e2d\u6587\u4e2d\u6587\u4e2d\u6587\u4e2d\u6587\u4e2d\u6587");
	strcpy(s.threads[0].what, "\x9b" "31m");
	strcpy(s.gpu_source, "\tnone");
	assert_int_equal(live_text(&out, &s), 0);
	assert_int_equal(buffer_append(&out, "", 1), 0);
	for (const char *at = (const char *)out.data; *at; at++) {
		lines += *at == '\n';
		assert_true(*at == '\n' || (unsigned char)*at >= 0x20);
	}
	assert_int_equal(lines, 2 + 2 + 3 + 3);
	assert_non_null(strstr((const char *)out.data, "a\\nb\\x1b[2J\\xff\\u{202e}\n"));
	assert_non_null(strstr((const char *)out.data, "x\\r\\x07\n"));
	assert_non_null(strstr((const char *)out.data, "\\x9b31m\n"));
	buffer_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_what_it_does), cmocka_unit_test(test_a_line),
		cmocka_unit_test(test_all_that_can_be_in_a_line),
		cmocka_unit_test(test_alerts),
		cmocka_unit_test(test_hostile_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
