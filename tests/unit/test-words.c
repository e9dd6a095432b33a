/*
 * test-words.c - identifiers are for programs: every headline, label and sentence has words instead, and says what matters most.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "report/report.h"
#include "report/report_parts.h"
#include "words-fixture.h"

/* ---- Every identifier ----------------------------------------------------------- */

static void assert_readable(const char *identifier, bool sentence)
{
	assert_in_words(identifier);
	assert_null(strchr(words_label(identifier), '_'));
	assert_null(strchr(words_phrase(identifier), '_'));
	if (strchr(identifier, '_'))
		assert_string_not_equal(words_label(identifier), identifier);
	if (sentence)
		assert_string_not_equal(words_phrase(identifier), identifier);
}

static void test_all_of_an_enum_have_words(void **state)
{
	static const char *const device_words[] = { "gpu_compute", "communication", "copy", "no_gpu_work" };
	static const char *const thread_words[] = { "python", "operators", "scopes", "runtime", "waiting", "other", "unknown" };
	char idle[64];

	(void)state;
	for (unsigned i = 0; i < OWNER_COUNT; i++)
		assert_readable(host_owner_name(i), true);
	for (unsigned i = 0; i < IDLE_CAUSE_COUNT; i++) {
		assert_readable(idle_cause_name(i), true);
		snprintf(idle, sizeof idle, "idle_%s", idle_cause_name(i)); /* in the breakdown */
		assert_readable(idle, true);
	}
	for (unsigned i = BOTTLENECK_UNKNOWN; i <= BOTTLENECK_BALANCED; i++)
		assert_readable(bottleneck_name(i), false);
	for (size_t i = 0; i < sizeof device_words / sizeof device_words[0]; i++)
		assert_readable(device_words[i], true);
	for (size_t i = 0; i < sizeof thread_words / sizeof thread_words[0]; i++)
		assert_readable(thread_words[i], true);
	assert_string_equal(words_label("my_own_kind"), "my_own_kind"); /* of a rule: its author's words */
}

/* ---- The headline ------------------------------------------------------------------ */

struct world {
	struct timeline t;
	struct analysis a;
	struct analysis_finding first;
};

static void open_world(struct world *w, const char *kind, double share)
{
	memset(w, 0, sizeof *w);
	w->t.events = 1000;
	w->t.duration = 1000;
	w->first = (struct analysis_finding){ .kind = kind, .share = share };
	snprintf(w->first.id, sizeof w->first.id, "%s:train.py", kind);
	w->a.timeline = &w->t;
	w->a.findings.list = &w->first;
	w->a.findings.count = 1;
	w->a.host.known = w->a.host.window.looked = true;
	w->a.host.window.to = 1000;
}

static void test_the_headline_names_what_the_time_mostly_is(void **state)
{
	struct world w;
	char title[REPORT_TITLE];

	(void)state;
	open_world(&w, "preprocessing", 0.05);
	w.a.host.window.time[OWNER_OPERATORS] = 686;
	w.a.host.window.time[OWNER_PYTHON] = 314;
	assert_string_equal(report_verdict(&w.a).words, "69% of the time is framework operators, 5% is preparing data");
	w.first.share = 0.4; /* much of the whole: it is what to speak of */
	assert_string_equal(report_verdict(&w.a).words, "40% of the time is preparing data");
	assert_string_equal(report_title(&w.first, title), "preprocessing: train.py");
}

static void test_the_headline_of_devices_names_what_idleness_mostly_is(void **state)
{
	struct device_states states = { .idle = { [IDLE_SYNC] = 300, [IDLE_INPUT] = 20 } };
	struct device_window window = { .to = 1000, .mix = { 320, 680 } };
	struct analysis_device device = { .states = &states, .window = &window, .idle_low = 320, .idle_high = 320 };
	struct world w;

	(void)state;
	open_world(&w, "data_loading", 0.02);
	w.a.devices = &device;
	w.a.device_count = 1;
	w.a.bottleneck.type = BOTTLENECK_CPU;
	assert_string_equal(report_verdict(&w.a).words, "GPU idle 32% of the time, mostly since the host waits for it");
	w.first.share = 0.2;
	assert_string_equal(report_verdict(&w.a).words, "GPU idle 32% of the time: data loading starves it");
}

static void test_a_program_that_failed_at_once(void **state)
{
	struct world w;

	(void)state;
	open_world(&w, "preprocessing", 0.4);
	w.a.ran_nothing = true;
	w.t.duration = 6200000;
	assert_string_equal(report_verdict(&w.a).words, "cannot judge: it failed after 6.20 ms, before it ran any code of its own");
	w.t.duration = 0; /* the recorder did not even hear of it */
	assert_string_equal(report_verdict(&w.a).words, "cannot judge: it failed, before it ran any code of its own");
}

static void test_why_threads_were_not_looked_at(void **state)
{
	struct world w;

	(void)state;
	open_world(&w, "preprocessing", 0.4);
	assert_non_null(strstr(analysis_unseen(&w.a, true), "run --waits on"));
	w.a.waits_asked = true; /* then that is no advice */
	w.t.duration = 100000000;
	assert_string_equal(analysis_unseen(&w.a, true), "the program ended before its threads could be looked at");
	w.t.duration = 1000000000;
	assert_null(strstr(analysis_unseen(&w.a, true), "--waits"));
}

/* ---- The width of the terminal ------------------------------------------------------ */

static void diagnose(const struct world *w, unsigned columns, struct buffer *out)
{
	struct report_source source = { .path = "t.sbt", .format = "sbt" };
	struct report_view_options options = { .columns = columns };

	buffer_clear(out);
	assert_int_equal(report_diagnosis(&w->a, &source, &options, out), 0);
	assert_int_equal(buffer_append(out, "", 1), 0);
}

static void test_a_wide_terminal_cuts_nothing(void **state)
{
	static struct analysis_check check = { .name = "lost_records", .status = CHECK_WARN };
	static const char action[] = "make preprocess (train.py:12) faster, call it less often, or run it beside the rest";
	struct buffer out = BUFFER_INIT;
	struct world w;

	(void)state;
	open_world(&w, "preprocessing", 0.4);
	snprintf(w.first.action, sizeof w.first.action, "%s", action);
	snprintf(check.detail, sizeof check.detail, "one of the events was lost, and the sentence about that is longer than a line of any "
		 "terminal, which is why it ends on the second line");
	w.a.checks = &check;
	w.a.check_count = 1;
	diagnose(&w, 80, &out);
	assert_null(strstr((const char *)out.data, action));
	assert_non_null(strstr((const char *)out.data, "second line\n"));
	diagnose(&w, 120, &out);
	assert_non_null(strstr((const char *)out.data, action));
	assert_null(strstr((const char *)out.data, "\u2026"));
	buffer_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_of_an_enum_have_words),
		cmocka_unit_test(test_the_headline_names_what_the_time_mostly_is),
		cmocka_unit_test(test_the_headline_of_devices_names_what_idleness_mostly_is),
		cmocka_unit_test(test_a_program_that_failed_at_once),
		cmocka_unit_test(test_why_threads_were_not_looked_at),
		cmocka_unit_test(test_a_wide_terminal_cuts_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
