/* test-live-text.c - a snapshot as JSON and as metrics. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "live/metrics.h"
#include "live/snapshot_json.h"

static struct live_snapshot *s;
static struct buffer out;

static int begin(void **state)
{
	(void)state;
	s = malloc(sizeof *s);
	if (!s)
		return -1;
	live_snapshot_clear(s);
	return 0;
}

static int end(void **state)
{
	(void)state;
	free(s);
	buffer_release(&out);
	return 0;
}

static const char *text(void)
{
	assert_int_equal(buffer_append(&out, "", 1), 0);
	return (const char *)out.data;
}

static const char *json(void)
{
	buffer_clear(&out);
	assert_int_equal(live_snapshot_json(&out, s, true), 0);
	return text();
}

static const char *metrics(const struct live_totals *totals)
{
	buffer_clear(&out);
	assert_int_equal(live_metrics(&out, s, totals), 0);
	return text();
}

static void has(const char *whole, const char *part)
{
	if (!strstr(whole, part))
		fail_msg("\"%s\" is not in %s", part, whole);
}

static void test_json_of_nothing(void **state)
{
	const char *got;

	(void)state;
	got = json();
	assert_memory_equal(got, "{\"sequence\": 0, ", 16);
	has(got, "\"command\": null, ");
	has(got, "\"state\": \"running\", ");
	has(got, "\"cpu\": {\"share\": null, ");
	has(got, "\"threads\": [], ");
	has(got, "\"disks\": []}");
	assert_null(strstr(got, "nan"));
}

static void test_json_of_values(void **state)
{
	const char *got;

	(void)state;
	s->run_s = 1234.5678901234;
	s->memory.rss_bytes = 123456789012;
	s->thread_count = 1;
	strcpy(s->threads[0].name, "a\"\n\xff</script>");
	s->threads[0].cpu = 1.0 / 3;
	s->threads[0].waiting_s = INFINITY;
	s->io.disk_count = 1;
	strcpy(s->io.disks[0].name, "vda");
	s->alert_count = 1;
	s->alerts[0].severity = LIVE_CRITICAL;
	got = json();
	has(got, "\"run_s\": 1234.56789, ");
	has(got, "\"rss_bytes\": 123456789012, ");
	has(got, "\"name\": \"a\\\"\\n\xef\xbf\xbd</script>\", \"cpu\": 0.333333333, ");
	has(got, "\"waiting_s\": null, ");
	has(got, "\"disks\": [{\"name\": \"vda\", ");
	has(got, "\"severity\": \"critical\", ");
}

/* A count that is too large is no reason to read beyond the list. */
static void test_counts_are_bounded(void **state)
{
	struct live_totals totals;

	(void)state;
	live_totals_init(&totals);
	s->thread_count = s->alert_count = s->gpu_count = s->io.disk_count = s->place_count = s->counter_count = UINT32_MAX;
	assert_true(strlen(json()) > LIVE_THREADS * 20);
	assert_true(strlen(metrics(&totals)) > 100);
}

static void test_gpus_have_their_numbers(void **state)
{
	struct live_totals totals;

	(void)state;
	live_totals_init(&totals);
	s->gpu_count = 1;
	s->gpus[0] = (struct live_gpu){ .number = 3, .name = "H100", .uuid = "GPU-a", .utilization = 0.5 };
	has(metrics(&totals), "inferscope_gpu_used_ratio{gpu=\"3\",uuid=\"GPU-a\",name=\"H100\"} 0.5\n");
	has(json(), "\"gpus\": [{\"number\": 3, \"name\": \"H100\", ");
}

static void test_totals(void **state)
{
	struct live_totals totals;

	(void)state;
	live_totals_init(&totals);
	assert_null(strstr(metrics(&totals), "cpu_queue_seconds"));
	assert_null(strstr((char *)out.data, "process_cpu_seconds"));
	s->interval_s = 0.5;
	s->cpu.time_s = 12.5;
	s->cpu.queue = 1.5;
	live_totals_add(&totals, s);
	s->cpu.queue = NAN;
	live_totals_add(&totals, s);
	s->cpu.queue = -3;
	live_totals_add(&totals, s);
	s->cpu.queue = 0.5;
	s->cpu.gil_wait = 3;
	live_totals_add(&totals, s);
	has(metrics(&totals), "# TYPE process_cpu_seconds counter\n# UNIT process_cpu_seconds seconds\n");
	has((char *)out.data, "\nprocess_cpu_seconds_total 12.5\n");
	has((char *)out.data, "\ninferscope_cpu_queue_seconds_total 1\n");
	has((char *)out.data, "\ninferscope_gil_wait_seconds_total 1.5\n");
	assert_null(strstr((char *)out.data, "inferscope_io_read_bytes"));
}

/* A rule that asks whether it has changed means another run. */
static void test_start(void **state)
{
	struct live_totals totals;

	(void)state;
	live_totals_init(&totals);
	s->events.recorded = true;
	assert_null(strstr(metrics(&totals), "process_start_time"));
	s->start_ns = 1700000000250000000;
	for (int i = 0; i < 5; i++) {
		s->realtime_ns = s->start_ns + i * 500000123;
		s->run_s = 0.5 * i;
		has(metrics(&totals), "\nprocess_start_time_seconds 1700000000.25\n");
	}
}

static void test_standard_names(void **state)
{
	struct live_totals totals;
	const char *got;

	(void)state;
	live_totals_init(&totals);
	assert_null(strstr(metrics(&totals), "process_open_fds"));
	s->memory.virtual_bytes = 7000000000;
	s->loader_busy = 0.25;
	s->io.open_files = 12;
	s->io.open_files_limit = 1024;
	got = metrics(&totals);
	has(got, "# TYPE process_virtual_memory_bytes gauge\n# UNIT process_virtual_memory_bytes bytes\n");
	has(got, "\nprocess_virtual_memory_bytes 7000000000\n");
	has(got, "\ninferscope_dataloader_worker_busy_ratio 0.25\n");
	has(got, "\nprocess_open_fds 12\n");
	has(got, "\nprocess_max_fds 1024\n");
}

static void test_histogram(void **state)
{
	struct live_totals totals;
	const char *got;

	(void)state;
	live_totals_init(&totals);
	assert_null(strstr(metrics(&totals), "inferscope_step_seconds"));
	s->steps.known = true;
	s->steps.buckets[0] = 2;
	s->steps.buckets[10] = 3;
	s->steps.buckets[LIVE_STEP_BUCKETS - 1] = 1;
	s->steps.sum_s = 62.5;
	s->steps.input_sum_s = 4.25;
	got = metrics(&totals);
	has(got, "inferscope_step_seconds_bucket{le=\"0.0005\"} 2\n");
	has(got, "inferscope_step_seconds_bucket{le=\"1.0\"} 5\n");
	has(got, "inferscope_step_seconds_bucket{le=\"+Inf\"} 6\ninferscope_step_seconds_count 6\ninferscope_step_seconds_sum 62.5\n");
	has(got, "\ninferscope_dataloader_wait_seconds_total 4.25\n");
	assert_string_equal(got + strlen(got) - 6, "# EOF\n");
}

static void test_labels(void **state)
{
	struct live_totals totals;
	const char *got;

	(void)state;
	live_totals_init(&totals);
	strcpy(s->command, "a --token s3cret");
	strcpy(s->program, "a\\b\"c\nd\x1b\xff");
	s->alert_count = 3;
	for (int i = 0; i < 3; i++) {
		strcpy(s->alerts[i].kind, "stall");
		s->alerts[i].active = i < 2; /* the same twice: a metric must not be there twice */
	}
	got = metrics(&totals);
	has(got, "inferscope_run_info{program=\"a\\\\b\\\"c\\nd\xef\xbf\xbd\xef\xbf\xbd\"} 1\n");
	assert_null(strstr(got, "s3cret"));
	got = strstr(got, "inferscope_alert{");
	assert_non_null(got);
	assert_null(strstr(got + 1, "inferscope_alert{"));
}

/* One of each name, as labels say it; what is no number is left out. */
static void test_counters(void **state)
{
	static const struct live_counter counters[] = { { "queue", 12 }, { "a\"\n\xff", 0.5 }, { "a\"\n\x1b", 7 }, { "no", NAN }, { "queu", -1 } };
	struct live_totals totals;
	const char *got;

	(void)state;
	live_totals_init(&totals);
	assert_null(strstr(metrics(&totals), "inferscope_program_value"));
	memcpy(s->counters, counters, sizeof counters);
	s->counter_count = 5;
	got = metrics(&totals);
	has(got, "# TYPE inferscope_program_value gauge\n");
	has(got, "\ninferscope_program_value{name=\"queue\"} 12\ninferscope_program_value{name=\"a\\\"\\n\xef\xbf\xbd\"} 0.5\n"
		 "inferscope_program_value{name=\"queu\"} -1\n");
	assert_null(strstr(got, "\"no\""));
	has(json(), "\"counters\": [{\"name\": \"queue\", \"value\": 12}, ");
	has((char *)out.data, "{\"name\": \"no\", \"value\": null}, ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_json_of_nothing, begin, end),
		cmocka_unit_test_setup_teardown(test_json_of_values, begin, end),
		cmocka_unit_test_setup_teardown(test_counts_are_bounded, begin, end),
		cmocka_unit_test_setup_teardown(test_gpus_have_their_numbers, begin, end),
		cmocka_unit_test_setup_teardown(test_totals, begin, end),
		cmocka_unit_test_setup_teardown(test_start, begin, end),
		cmocka_unit_test_setup_teardown(test_standard_names, begin, end),
		cmocka_unit_test_setup_teardown(test_histogram, begin, end),
		cmocka_unit_test_setup_teardown(test_labels, begin, end),
		cmocka_unit_test_setup_teardown(test_counters, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
