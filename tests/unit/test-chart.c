/*
 * test-chart.c - charts: their numbers, and the pictures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host-world.h"

#include "chart/chart.h"

/* What fontconfig keeps until the end is not ours to free. */
const char *__lsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void)
{
	return "leak:libfontconfig";
}

static size_t number_of(const char *name)
{
	for (size_t i = 0; i < chart_count(); i++)
		if (strcmp(chart_name(i), name) == 0)
			return i;
	fail_msg("there is no chart %s", name);
	return 0;
}

static void make(struct chart *c, const char *name, const struct analysis *a)
{
	assert_int_equal(chart_make(c, number_of(name), a), 0);
}

/* The SVG, with a NUL. */
static char *svg_of(const char *name, const struct analysis *a)
{
	struct buffer out = BUFFER_INIT;
	struct chart c;

	make(&c, name, a);
	assert_int_equal(chart_svg(&c, &out), 0);
	assert_int_equal(buffer_append(&out, "", 1), 0);
	chart_release(&c);
	return (char *)out.data;
}

/* The widths of all rectangles of a class; how many there are. */
static size_t widths(const char *svg, const char *class, double *ret, size_t most)
{
	char begin[64];
	size_t count = 0;

	snprintf(begin, sizeof begin, "<rect class=\"%s\"", class);
	for (const char *at = svg; (at = strstr(at, begin)); at++) {
		assert_true(count < most);
		ret[count++] = strtod(strstr(at, " width=\"") + 8, NULL);
	}
	return count;
}

static const struct analysis_finding made[] = {
	{ .id = "data_loading:a<b> & \"c\" 'd'", .kind = "data_loading", .share = 0.5, .severity = 1, .gain_low = 0.2, .gain = 0.4,
	  .gain_high = 0.45, .frequency = 0.75 },
	{ .id = "kernel_launch:\x1b[31m\xe2\x80\xae", .kind = "kernel_launch", .share = 0.12, .severity = 0.25, .gain_low = 0.01, .gain = 0.03,
	  .gain_high = 0.06, .frequency = 0.25 },
	{ .id = "a_rule", .kind = "gpu_compute", .severity = 0.3, .frequency = NAN, .rule = "rules.yaml:a_rule", .note = true },
};

static struct analysis of_findings(size_t count)
{
	return (struct analysis){ .findings = { .list = (struct analysis_finding *)made, .count = count } };
}

/* ---- Findings ---------------------------------------------------------------- */

static void test_bars_are_as_long_as_their_numbers(void **state)
{
	const struct analysis a = of_findings(3);
	double bars[8], full;
	char *svg = svg_of("severity", &a);

	(void)state;
	assert_int_equal(widths(svg, "bar", bars, 8), 3);
	full = bars[0];
	assert_float_equal(bars[1] / full, 0.25, 0.0001);
	assert_float_equal(bars[2] / full, 0.3, 0.0001);
	free(svg);
	svg = svg_of("frequency", &a);
	assert_int_equal(widths(svg, "bar", bars, 8), 2); /* the rule does not know */
	assert_float_equal(bars[0] / full, 0.75, 0.0001);
	assert_float_equal(bars[1] / full, 0.25, 0.0001);
	assert_non_null(strstr(svg, ">not known<"));
	free(svg);
	svg = svg_of("potential", &a);
	assert_int_equal(widths(svg, "bar", bars, 8), 2);
	assert_float_equal(bars[0] / full, 0.8, 0.0001);
	assert_float_equal(bars[1] / full, 0.25, 0.0001);
	free(svg);
}

static void test_gains_have_their_range(void **state)
{
	const struct analysis a = of_findings(2);
	struct chart c;

	(void)state;
	make(&c, "gain", &a);
	assert_int_equal(c.bar_count, 2);
	assert_float_equal(c.bars[0].value, 40, 1e-9);
	assert_float_equal(c.bars[0].low, 20, 1e-9);
	assert_float_equal(c.bars[0].high, 45, 1e-9);
	assert_int_equal(c.bars[0].ink, INK_HIGH);
	assert_int_equal(c.bars[1].ink, INK_MEDIUM);
	chart_release(&c);
	chart_release(NULL);
}

static void test_names_are_inert(void **state)
{
	const struct analysis a = of_findings(2);
	char *svg = svg_of("severity", &a);

	(void)state;
	assert_non_null(strstr(svg, "1 data loading: a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;"));
	assert_non_null(strstr(svg, "2 kernel launches: \\x1b[31m\\u{202e}"));
	assert_null(strchr(svg, 0x1b));
	assert_null(strstr(svg, "style="));
	assert_null(strstr(svg, "href"));
	free(svg);
}

static void test_no_findings_is_said(void **state)
{
	const struct analysis a = of_findings(0);
	double bars[1];
	char *svg;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		svg = svg_of((const char *[]){ "severity", "frequency", "potential", "gain" }[i], &a);
		assert_non_null(strstr(svg, ">no findings<"));
		assert_int_equal(widths(svg, "bar", bars, 1), 0);
		free(svg);
	}
}

static void test_too_many_findings_are_counted(void **state)
{
	struct analysis_finding *many = calloc(70, sizeof *many);
	const struct analysis a = { .findings = { .list = many, .count = 70 } };
	char *svg;
	double bars[64];

	(void)state;
	for (unsigned i = 0; i < 70; i++)
		many[i] = made[0];
	svg = svg_of("severity", &a);
	assert_int_equal(widths(svg, "bar", bars, 64), 50);
	assert_non_null(strstr(svg, ">and 20 more<"));
	free(svg);
	free(many);
}

/* ---- The breakdown -------------------------------------------------------------- */

static void test_the_breakdown_fills_the_bar(void **state)
{
	struct analysis_category categories[] = { { "gpu_compute", 500 * MS }, { "copy", 100 * MS }, { "communication", 0 },
						  { "idle_input", 300 * MS }, { "no_gpu_work", 100 * MS } };
	struct analysis a = { .breakdown = categories, .category_count = 5, .summary = { .end_to_end = 1000 * MS }, .device_count = 1 };
	double parts[8];
	char *svg = svg_of("breakdown", &a);

	(void)state;
	assert_int_equal(widths(svg, "segment", parts, 8), 4); /* what took no time is not there */
	assert_float_equal(parts[0] + parts[1] + parts[2] + parts[3], 960 - 32, 0.03);
	assert_float_equal(parts[0], 5 * parts[1], 0.05);
	assert_float_equal(parts[2], 3 * parts[3], 0.05);
	assert_non_null(strstr(svg, ">500.000 ms, 50.0 %<"));
	assert_non_null(strstr(svg, "fill=\"url(#hatch)\""));
	free(svg);
	a.summary.end_to_end = 0;
	svg = svg_of("breakdown", &a);
	assert_non_null(strstr(svg, ">no time in the trace<"));
	free(svg);
}

/* ---- Over time ------------------------------------------------------------------- */

/* The integral of a line of steps. */
static double area(const struct chart_line *line)
{
	double sum = 0;

	for (size_t i = 0; i + 1 < line->count; i++)
		sum += line->y[i] * (line->x[i + 1] - line->x[i]);
	return sum;
}

static void test_processor_time_is_neither_lost_nor_doubled(void **state)
{
	struct host_world w;
	struct host_thread one, two;
	const struct analysis *a;
	struct chart c;

	(void)state;
	host_open(&w);
	host_process(&w, 10);
	one = host_thread(&w, 0, 10);
	two = host_thread(&w, 0, 11);
	host_call(&w, one, own(&w, "main"), 0, 4 * SECOND);
	host_ledger(&w, one, 0, 4 * SECOND, 3 * SECOND, 0);
	host_ledger(&w, two, SECOND, 2 * SECOND, SECOND, 0);
	a = host_analyze(&w);
	make(&c, "resources", a);
	assert_int_equal(c.panel_count, 1);
	assert_string_equal(c.panels[0].title, "processors in use, cores");
	assert_string_equal(c.axis, "s");
	assert_float_equal(c.full, 4, 1e-9);
	assert_float_equal(area(&c.panels[0].lines[0]), 4, 0.001); /* 3 s and 1 s */
	assert_float_equal(c.panels[0].lines[0].y[30], 0.75, 0.001);
	assert_float_equal(c.panels[0].lines[0].y[90], 1.75, 0.001);
	chart_release(&c);
	host_close(&w);
}

static void test_memory_holds_until_the_next_reading(void **state)
{
	struct host_world w;
	struct host_thread one;
	const struct chart_line *line;
	uint32_t first, second;
	struct chart c;

	(void)state;
	host_open(&w);
	host_process(&w, 10);
	host_process(&w, 20);
	one = host_thread(&w, 0, 10);
	first = host_track(&w, TRACK_PROCESS, 0, 0, -1);
	second = host_track(&w, TRACK_PROCESS, 1, 0, -1);
	host_call(&w, one, own(&w, "main"), 0, 4 * SECOND);
	for (int i = 0; i <= 4; i++)
		host_counter_at(&w, first, "rss_bytes", i * SECOND, 10000000 * (i + 1));
	host_counter_at(&w, second, "rss_bytes", SECOND, 5000000);
	host_counter_at(&w, second, "rss_bytes", 3 * SECOND / 2, 5000000); /* ends within as much again */
	make(&c, "resources", host_analyze(&w));
	assert_int_equal(c.panel_count, 1);
	assert_string_equal(c.panels[0].title, "memory of all processes (RSS), MB");
	line = &c.panels[0].lines[0];
	assert_int_equal(line->count, 241);
	assert_float_equal(line->y[30], 10, 1e-9);
	assert_float_equal(line->y[90], 20 + 5, 1e-9);
	assert_float_equal(line->y[150], 30, 1e-9); /* the second is no more */
	assert_float_equal(line->y[239], 50, 1e-9);
	chart_release(&c);
	host_close(&w);
}

static void test_steps_are_in_their_unit(void **state)
{
	struct timeline_process processes[] = { { .pid = 10, .rank = 0 }, { .pid = 11, .rank = 1 } };
	struct timeline_step steps[] = { { .begin = 0, .end = 10 * MS }, { .begin = 10 * MS, .end = 40 * MS },
					 { .begin = 5 * MS, .end = 25 * MS, .process = 1 } };
	const struct timeline t = { .steps = steps, .step_count = 3, .duration = 50 * MS, .processes = processes, .process_count = 2 };
	struct analysis_step list[] = { { .step = 0 }, { .step = 1 }, { .step = 2 } };
	struct analysis a = { .timeline = &t, .steps = { .steps = list, .count = 3, .max = 30 * MS } };
	struct chart c;
	char *svg;

	(void)state;
	make(&c, "steps", &a);
	assert_string_equal(c.panels[0].title, "step time, ms");
	assert_int_equal(c.panels[0].line_count, 2);
	assert_string_equal(c.panels[0].lines[1].label, "rank 1");
	assert_int_equal(c.panels[0].lines[0].count, 2);
	assert_float_equal(c.panels[0].lines[0].x[1], 10, 1e-9);
	assert_float_equal(c.panels[0].lines[0].y[1], 30, 1e-9);
	assert_float_equal(c.panels[0].lines[1].y[0], 20, 1e-9);
	chart_release(&c);
	a.steps.count = 0;
	svg = svg_of("steps", &a);
	assert_non_null(strstr(svg, ">no steps<"));
	free(svg);
}

/* Whatever values a trace has. */
static void test_absurd_values(void **state)
{
	static const double values[] = { 5e-324, -1e308, 1e308, INFINITY, NAN, 0, -0.0 };
	struct buffer out = BUFFER_INIT;

	(void)state;
	for (unsigned i = 0; i < 7; i++)
		for (unsigned k = 0; k < 7; k++) {
			double x[] = { 0, 1 }, y[] = { values[i], values[k] };
			struct chart c = { .form = CHART_LINED, .title = "t", .axis = "s", .nothing = "n", .full = values[i], .panel_count = 1 };

			c.panels[0] = (struct chart_panel){ .title = (char *)"p", .line_count = 1 };
			c.panels[0].lines[0] = (struct chart_line){ .label = (char *)"", .x = x, .y = y, .count = 2, .steps = k & 1 };
			buffer_clear(&out);
			assert_int_equal(chart_svg(&c, &out), 0);
			assert_int_equal(buffer_append(&out, "", 1), 0);
			assert_null(strstr((const char *)out.data, "nan"));
			assert_null(strstr((const char *)out.data, "inf"));
			assert_null(strstr((const char *)out.data, ">-0"));
		}
	buffer_release(&out);
}

/* Two hundred thousand points are drawn with a few a column, and the one that stands out is among them. */
static void test_long_lines_are_thinned(void **state)
{
	enum { COUNT = 200000 };
	struct timeline_step *steps = calloc(COUNT, sizeof *steps);
	struct analysis_step *list = calloc(COUNT, sizeof *list);
	const struct timeline t = { .steps = steps, .step_count = COUNT, .duration = COUNT * MS };
	const struct analysis a = { .timeline = &t, .steps = { .steps = list, .count = COUNT, .max = 100 * MS } };
	char *svg, *line;

	(void)state;
	for (uint32_t i = 0; i < COUNT; i++) {
		steps[i] = (struct timeline_step){ .begin = i * MS, .end = i * MS + (i == 77777 ? 100 * MS : MS), .process = TIMELINE_NONE };
		list[i].step = i;
	}
	svg = svg_of("steps", &a);
	assert_true(strlen(svg) < 100000);
	line = strstr(svg, "class=\"line\"");
	assert_non_null(line);
	assert_non_null(strstr(line, ",70.00 ")); /* the top of the panel */
	free(svg);
	free(steps);
	free(list);
}

/* ---- Pictures ---------------------------------------------------------------------- */

static uint32_t big_endian(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void test_png_is_twice_as_large(void **state)
{
	const struct analysis a = of_findings(2);
	struct buffer one = BUFFER_INIT, two = BUFFER_INIT;
	struct error err = { 0 };
	struct chart c;
	int rc;

	(void)state;
	make(&c, "severity", &a);
	rc = chart_append(CHART_PNG, &c, &one, &err);
	if (rc < 0) { /* where there is no cairo it says so */
		assert_int_equal(rc, -ENOTSUP);
		assert_int_equal(err.exit_code, 4);
		assert_non_null(strstr(err.text, "cairo"));
		assert_int_equal(one.size, 0);
	} else {
		assert_memory_equal(one.data, "\x89PNG\r\n\x1a\n", 8);
		assert_memory_equal(one.data + 12, "IHDR", 4);
		assert_int_equal(big_endian(one.data + 16), 2 * 960);
		assert_int_equal(big_endian(one.data + 20), 2 * (60 + 2 * 28 + 32));
		assert_int_equal(chart_append(CHART_PNG, &c, &two, &err), 0);
		assert_int_equal(one.size, two.size);
		assert_memory_equal(one.data, two.data, one.size);
	}
	chart_release(&c);
	buffer_release(&one);
	buffer_release(&two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bars_are_as_long_as_their_numbers),
		cmocka_unit_test(test_gains_have_their_range),
		cmocka_unit_test(test_names_are_inert),
		cmocka_unit_test(test_no_findings_is_said),
		cmocka_unit_test(test_too_many_findings_are_counted),
		cmocka_unit_test(test_the_breakdown_fills_the_bar),
		cmocka_unit_test(test_processor_time_is_neither_lost_nor_doubled),
		cmocka_unit_test(test_memory_holds_until_the_next_reading),
		cmocka_unit_test(test_steps_are_in_their_unit),
		cmocka_unit_test(test_absurd_values),
		cmocka_unit_test(test_long_lines_are_thinned),
		cmocka_unit_test(test_png_is_twice_as_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
