/*
 * test-page-markup.c - the part of the page that is for reading: figures of the analysis, inert names, sound HTML.
 */
#include <ctype.h>
#include <math.h>

#include "timeline-fixture.h"

#include "analyze/analysis.h"
#include "page/page.h"
#include "page/page_escape.h"
#include "page/page_markup.h"
#include "report/report.h"

/* ---- Escaping ------------------------------------------------------------------ */

static void shows(const char *text, size_t size, const char *expected)
{
	struct buffer out = BUFFER_INIT;

	assert_int_equal(page_escape(&out, text, size), 0);
	assert_int_equal(buffer_append(&out, "", 1), 0);
	assert_string_equal(out.data, expected);
	buffer_release(&out);
}

#define SHOWS(text, expected) shows(text, sizeof(text) - 1, expected)

static void test_escapes(void **state)
{
	(void)state;
	SHOWS("", "");
	SHOWS("aten::mm", "aten::mm");
	SHOWS("<lambda>", "&lt;lambda&gt;");
	SHOWS("</script><script>alert(1)</script>", "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;");
	SHOWS("a\" onload='x' &amp;", "a&quot; onload=&#39;x&#39; &amp;amp;");
	SHOWS("\x1b[31m\n\0x", "\u241b[31m\u240a\u2400x");
	SHOWS("\x7f\xc2\x80\xc2\x9b", "\u27e8U+007F\u27e9\u27e8U+0080\u27e9\u27e8U+009B\u27e9");
	SHOWS("a\u202eb\u2066c\u200f\u061c", "a\u27e8U+202E\u27e9b\u27e8U+2066\u27e9c\u27e8U+200F\u27e9\u27e8U+061C\u27e9");
	SHOWS("\u2028\ufeff", "\u27e8U+2028\u27e9\u27e8U+FEFF\u27e9");
	SHOWS("\xff\xc3(\xed\xa0\x80\xf0\x9f", "\ufffd\ufffd(\ufffd\ufffd\ufffd\ufffd");
	SHOWS("\u4e2d\U0001f600", "\u4e2d\U0001f600");
}

static void cuts(const char *text, size_t size, size_t most, const char *expected, bool cut)
{
	struct buffer out = BUFFER_INIT;
	bool was;

	assert_int_equal(page_escape_cut(&out, text, size, most, &was), 0);
	assert_int_equal(buffer_append(&out, "", 1), 0);
	assert_string_equal(out.data, expected);
	assert_int_equal(was, cut);
	buffer_release(&out);
}

static void test_cuts_the_middle(void **state)
{
	char *long_name = malloc(1000000);

	(void)state;
	cuts("abcdef", 6, 6, "abcdef", false);
	cuts("abcdefg", 7, 6, "abc\u2026fg", true);
	cuts("<<<<>>>>", 8, 5, "&lt;&lt;\u2026&gt;&gt;", true);
	cuts("\u4e2d\u4e2d\u4e2d\u4e2d", 12, 3, "\u4e2d\u2026\u4e2d", true);
	cuts("\x80\x80\x80\x80\x80\x80\x80\x80", 8, 3, "\ufffd\u2026\ufffd", true);
	memset(long_name, 'x', 1000000);
	cuts(long_name, 1000000, 7, "xxx\u2026xxx", true);
	free(long_name);
}

/* ---- A checker of HTML as we write it --------------------------------------------- */

#define OPEN_MOST 32

struct html {
	char open[OPEN_MOST][16];
	unsigned depth;
};

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

static const char *read_word(const char *at, char *word, size_t size)
{
	size_t n = 0;

	while (isalnum((unsigned char)*at) || *at == '-') {
		assert_true(n + 1 < size);
		word[n++] = *at++;
	}
	word[n] = 0;
	return at;
}

/* Up to the end of the tag; attributes have double quotes or no value. */
static const char *read_attributes(const char *at)
{
	char name[32];

	while (*at == ' ') {
		at = read_word(at + 1, name, sizeof name);
		assert_true(name[0]);
		assert_true(strcmp(name, "style") != 0 && strncmp(name, "on", 2) != 0 && strcmp(name, "src") != 0);
		if (strcmp(name, "href") == 0)
			assert_memory_equal(at, "=\"#", 3);
		if (*at == '=') {
			assert_int_equal(at[1], '"');
			at += 2 + strcspn(at + 2, "\"<>");
			assert_int_equal(*at++, '"');
		}
	}
	return at;
}

static const char *read_tag(struct html *h, const char *at)
{
	static const char *const known[] = {
		"a", "b", "bdi", "body", "button", "caption", "dd", "defs", "details", "div", "dl", "dt", "figcaption", "figure", "h1",
		"h2", "head", "header", "html", "input", "li", "main", "meta", "nav", "noscript", "p", "path", "pattern", "rect",
		"section", "span", "summary", "svg", "table", "tbody", "td", "text", "th", "thead", "time", "title", "tr", "ul", NULL,
	};
	static const char *const single[] = { "input", "meta", NULL };
	char name[16];
	bool ends = at[1] == '/';

	at = read_word(at + 1 + ends, name, sizeof name);
	assert_true(is_one_of(name, known));
	at = ends ? at : read_attributes(at);
	if (ends) {
		assert_true(h->depth > 0);
		assert_string_equal(h->open[--h->depth], name);
	} else if (*at == '/') {
		at++;
	} else if (!is_one_of(name, single)) {
		assert_true(h->depth < OPEN_MOST);
		strcpy(h->open[h->depth++], name);
	}
	assert_int_equal(*at, '>');
	return at + 1;
}

static void check_html(const char *text)
{
	struct html h = { .depth = 0 };

	assert_memory_equal(text, "<!doctype html>", 15);
	for (const char *at = text + 15; *at;) {
		assert_int_not_equal(*at, '>');
		if (*at == '&')
			assert_true(strncmp(at, "&lt;", 4) == 0 || strncmp(at, "&gt;", 4) == 0 || strncmp(at, "&amp;", 5) == 0 ||
				    strncmp(at, "&quot;", 6) == 0 || strncmp(at, "&#39;", 5) == 0);
		at = *at == '<' ? read_tag(&h, at) : at + 1;
	}
	assert_int_equal(h.depth, 2); /* html and body: data, code and the end follow */
}

/* ---- Pages ------------------------------------------------------------------------ */

struct rendered {
	struct world w;
	struct analysis *a;
	struct report_source source;
	char *page, *json;
};

static char *finish(struct buffer *buf)
{
	assert_int_equal(buffer_append(buf, "", 1), 0);
	return (char *)buf->data;
}

static char *markup(const struct rendered *r, const struct page_data_facts *facts)
{
	struct buffer out = BUFFER_INIT;
	struct page p = { .out = &out, .a = r->a, .source = &r->source };

	page_markup_head(&p);
	page_put(&p, "</head>\n");
	page_markup_body(&p);
	page_markup_end(&p, facts);
	assert_int_equal(p.error, 0);
	return finish(&out);
}

static void render(struct rendered *r, const char *path)
{
	const struct page_data_facts facts = { .slices = 1234567, .slices_here = 1234567, .quantum = 10, .exact = true, .links = true };
	struct buffer json = BUFFER_INIT;
	struct error err = { 0 };

	r->source = (struct report_source){ .path = path, .format = "sbt", .version = "1.2.3" };
	world_build(&r->w);
	assert_int_equal(analysis_run(&r->a, r->w.t, NULL, &err), 0);
	assert_int_equal(report_json(r->a, &r->source, &json), 0);
	r->json = finish(&json);
	r->page = markup(r, &facts);
	check_html(r->page);
}

static void release(struct rendered *r)
{
	free(r->page);
	free(r->json);
	analysis_free(r->a);
	world_close(&r->w);
}

static void has(const struct rendered *r, const char *text)
{
	if (!strstr(r->page, text))
		fail_msg("the page does not have: %s", text);
}

static void has_not(const struct rendered *r, const char *text)
{
	if (strstr(r->page, text))
		fail_msg("the page has: %s", text);
}

static void says(const struct rendered *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void says(const struct rendered *r, const char *format, ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	has(r, text);
}

/* The number after the first "key" of the JSON behind "after". */
static double number(const struct rendered *r, const char *after, const char *key)
{
	const char *at = strstr(r->json, after);
	char quoted[64];

	snprintf(quoted, sizeof quoted, "\"%s\": ", key);
	assert_non_null(at);
	at = strstr(at, quoted);
	assert_non_null(at);
	return strtod(at + strlen(quoted), NULL);
}

/* Twenty times: launch, compute, wait for it, and do something before the next launch. */
static void put_waits(struct world *w, const char *kernel, const char *op)
{
	uint32_t process = world_process(w, 1, -1), device = world_device(w, 0);
	uint32_t thread = world_track(w, TRACK_THREAD, process, -1), stream = world_track(w, TRACK_STREAM, -1, device);

	for (int64_t i = 0; i < 20; i++) {
		int64_t t = 1000 + 300000 * i;

		world_slice(w, thread, EVENT_OP, op, t, 280000);
		world_work(w, thread, EVENT_RUNTIME_CALL, "cudaLaunchKernel", t + 1000, 5000, (uint64_t)i + 1);
		world_work(w, stream, EVENT_GPU_KERNEL, kernel, t + 10000, 150000, (uint64_t)i + 1);
		world_slice(w, thread, EVENT_RUNTIME_CALL, "cudaStreamSynchronize", t + 6000, 160000);
	}
}

static void test_figures_are_those_of_the_analysis(void **state)
{
	struct rendered r;
	double gain, low, high, whole;

	(void)state;
	world_open(&r.w);
	put_waits(&r.w, "gemm", "forward");
	render(&r, "a/trace.sbt");
	assert_true(r.a->findings.count > 0);
	says(&r, "<h1 id=\"verdict\">%s</h1>", report_verdict(r.a).words);
	gain = number(&r, "\"findings\": [", "gain_percent");
	low = number(&r, "\"findings\": [", "gain_low_percent");
	high = number(&r, "\"findings\": [", "gain_high_percent");
	assert_true(gain > 1);
	says(&r, "<b>\u2212%.1f %%</b> <span class=\"range\">%.1f to %.1f</span>", gain, low, high);
	has(&r, "<span class=\"outcome\">With it: ");
	says(&r, "<span>share %.1f %%</span>", number(&r, "\"findings\": [", "share_percent"));
	says(&r, "confidence %s (%.2f)</span>", report_confidence(r.a->findings.list[0].confidence),
	     number(&r, "\"findings\": [", "confidence"));
	whole = number(&r, "\"devices\": [", "total_us");
	says(&r, "compute <b>%.1f %%</b>", 100 * number(&r, "\"devices\": [", "compute_us") / whole);
	says(&r, "<b>idle %.1f %%</b>, by cause", 100 * number(&r, "\"devices\": [", "idle_us") / whole);
	says(&r, "<bdi class=\"name\">forward</bdi></th><td>20</td><td>%.3f</td><td>%.3f</td>",
	     number(&r, "\"operators\": [", "total_us") / 1e3, number(&r, "\"operators\": [", "self_us") / 1e3);
	says(&r, "<bdi class=\"name\">gemm</bdi></th><td>20</td><td>3.000</td><td>150.000</td>");
	has(&r, "<bdi class=\"program\">trace.sbt</bdi>");
	has(&r, "inferscope 1.2.3");
	has(&r, "all 1,234,567 slices; times in the views are rounded to 10 ns; all figures above");
	release(&r);
}

static void test_findings_lead_to_their_examples(void **state)
{
	struct rendered r;

	(void)state;
	world_open(&r.w);
	put_waits(&r.w, "gemm", "forward");
	render(&r, "trace.sbt");
	has(&r, "<details class=\"finding\" data-finding=\"0\" open>");
	assert_true(r.a->findings.list[0].example_count > 0);
	has(&r, "<button type=\"button\" class=\"show\" data-example=\"0\" hidden>Show</button>");
	for (size_t i = 1; i < r.a->findings.count; i++)
		says(&r, "<details class=\"finding\" data-finding=\"%zu\">", i);
	release(&r);
}

static void test_parts_of_the_bar_add_up(void **state)
{
	struct rendered r;
	double sum = 0, end = 0;
	unsigned count = 0;

	(void)state;
	world_open(&r.w);
	put_waits(&r.w, "gemm", "forward");
	render(&r, "trace.sbt");
	for (const char *at = strstr(r.page, "<svg class=\"bar\""); (at = strstr(at, "<rect class=\"segment")); at++) {
		double x, width;
		const char *place = strstr(at, " x=\"");

		if (!place || place > strchr(at, '>'))
			break; /* the legend's */
		assert_int_equal(sscanf(place, " x=\"%lf%%\" y=\"0\" width=\"%lf%%\"", &x, &width), 2);
		assert_true(fabs(x - end) < 0.002);
		end = x + width;
		sum += width;
		count++;
	}
	assert_true(count >= 2);
	assert_true(fabs(sum - 100) < 0.2);
	release(&r);
}

/* ---- What the driver says of GPUs ------------------------------------------------ */

static uint32_t named_device(struct world *w, uint32_t index, const char *name)
{
	struct trace_device device = { .id = w->devices++, .index = index, .kind = 1, .name = world_name(w, name) };

	assert_int_equal(trace_writer_device(w->f.w, &device), 0);
	return device.id;
}

static void count(struct world *w, uint32_t track, const char *name, int64_t time, double value)
{
	world_put(w, &(struct world_event){ .track = track, .kind = EVENT_COUNTER, .phase = PHASE_INSTANT, .name = name, .time = time,
					    .value = value });
}

/* Four samples of all there is, and what a process has there; each figure is unlike the others. */
static void put_samples(struct world *w, uint32_t device, uint32_t process)
{
	static const struct { const char *name; double first, step; } all[] = {
		{ "memory_used_bytes", 11e9, 1e9 }, { "memory_total_bytes", 24e9, 0 }, { "utilization_percent", 30.25, 10 },
		{ "memory_utilization_percent", 12.5, 1 }, { "sm_clock_mhz", 990, 2 }, { "sm_clock_limit_mhz", 1980, 0 },
		{ "memory_clock_mhz", 1215, 0 }, { "memory_clock_limit_mhz", 2619, 0 }, { "clock_reasons", 0, 0x20 },
		{ "power_mw", 250000, 10000 }, { "power_limit_mw", 400000, 0 }, { "energy_mj", 1000, 12500 }, { "temperature_c", 61, 9 },
	};
	uint32_t wide = world_track(w, TRACK_DEVICE, -1, device), own = world_track(w, TRACK_DEVICE, process, device);

	for (int i = 0; i < 4; i++)
		for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
			count(w, wide, all[k].name, 1000 + 200000000 * i, all[k].first + all[k].step * i);
	count(w, wide, "clock_reasons", 900000000, 0x4);
	count(w, own, "memory_used_bytes", 1000, 7e9);
}

static void test_gpus_are_those_of_the_analysis(void **state)
{
	static const char gpus[] = "\"gpus\": [";
	struct rendered r;
	uint32_t process;

	(void)state;
	world_open(&r.w);
	process = world_process(&r.w, 1, -1);
	put_samples(&r.w, named_device(&r.w, 3, "A100"), process);
	count(&r.w, world_track(&r.w, TRACK_DEVICE, -1, named_device(&r.w, 5, NULL)), "temperature_c", 1000, 40);
	render(&r, "trace.sbt");
	assert_int_equal(r.a->device_count, 0); /* no work of theirs is in the trace */
	assert_int_equal(r.a->gpu_count, 2);
	has(&r, "<h2 id=\"devices-heading\">Devices</h2>");
	has_not(&r, "Shares of their time");
	assert_true(number(&r, gpus, "memory_used_max_bytes") == 14e9 && number(&r, gpus, "memory_total_bytes") == 24e9);
	assert_true(number(&r, gpus, "program_memory_max_bytes") == 7e9);
	says(&r, "<tr><th scope=\"row\">3 <bdi class=\"name\">A100</bdi></th><td>%.0f</td><td>%.1f</td><td>%.1f</td><td>%.1f</td>"
		 "<td>14.0 GB of 24.0 GB</td><td>7.0 GB</td></tr>", number(&r, gpus, "samples"), number(&r, gpus, "utilization_percent"),
	     number(&r, gpus, "utilization_max_percent"), number(&r, gpus, "memory_utilization_percent"));
	says(&r, "<tr><th scope=\"row\">3 <bdi class=\"name\">A100</bdi></th><td>%.0f of %.0f</td><td>%.0f of %.0f</td>"
		 "<td>%.0f of %.0f</td><td>%.0f</td><td>%.1f</td><td>%.0f</td><td>%.1f</td><td>%.1f</td><td>%.1f</td></tr>",
	     number(&r, gpus, "sm_clock_mhz"), number(&r, gpus, "sm_clock_limit_mhz"), number(&r, gpus, "memory_clock_mhz"),
	     number(&r, gpus, "memory_clock_limit_mhz"), number(&r, gpus, "power_w"), number(&r, gpus, "power_limit_w"),
	     number(&r, gpus, "power_max_w"), number(&r, gpus, "energy_j"), number(&r, gpus, "temperature_max_c"),
	     number(&r, gpus, "throttled_percent"), number(&r, gpus, "throttled_power_percent"), number(&r, gpus, "throttled_thermal_percent"));
	has(&r, "<td>993 of 1980</td><td>1215 of 2619</td><td>265 of 400</td><td>280</td><td>37.5</td><td>88</td><td>80.0</td><td>20.0</td>"
		"<td>60.0</td></tr>");
	has(&r, "<tr><th scope=\"row\">5</th><td>1</td><td>-</td><td>-</td><td>-</td><td>-</td><td>-</td></tr>");
	has(&r, "<tr><th scope=\"row\">5</th><td>-</td><td>-</td><td>-</td><td>-</td><td>-</td><td>40</td><td>-</td><td>-</td><td>-</td></tr>");
	release(&r);
}

/* As somebody may write them: what is no size is not shown as one. */
static void test_figures_of_gpus_that_cannot_be(void **state)
{
	struct rendered r;
	uint32_t track;

	(void)state;
	world_open(&r.w);
	track = world_track(&r.w, TRACK_DEVICE, -1, named_device(&r.w, 0, "odd"));
	for (int i = 0; i < 2; i++) {
		count(&r.w, track, "memory_used_bytes", 1000 + i, -5);
		count(&r.w, track, "memory_total_bytes", 1000 + i, 1e300);
		count(&r.w, track, "utilization_percent", 1000 + i, 1e308); /* of which there is no mean */
	}
	render(&r, "trace.sbt");
	has(&r, "odd</bdi></th><td>2</td><td>-</td><td>10000000000");
	has(&r, "</td><td>-</td><td>-</td><td>-</td></tr>");
	has_not(&r, "inf<");
	has_not(&r, "nan");
	release(&r);
}

static void test_no_gpus(void **state)
{
	struct rendered r;

	(void)state;
	world_open(&r.w);
	put_waits(&r.w, "gemm", "forward");
	render(&r, "trace.sbt");
	has(&r, "Shares of their time");
	has_not(&r, "What the driver says");
	release(&r);
}

static void test_hostile_names_are_inert(void **state)
{
	static const char *const names[] = {
		"</title><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onmouseover='alert(1)",
		"<!--<script>", "&lt;b&gt;", "\u202egnp.exe", "\x1b]0;x\x07", "\xff\xfe\x80", "__proto__", "-->", "]]>", " ",
		"{{constructor.constructor('alert(1)')()}}", "javascript:alert(1)", "%n%s%d",
	};
	struct rendered r;

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		world_open(&r.w);
		put_waits(&r.w, names[i], names[i]);
		put_samples(&r.w, named_device(&r.w, 1, names[i]), 0);
		render(&r, names[i]); /* which checks that there are no tags and attributes but ours */
		has_not(&r, "\u202e");
		has_not(&r, "\x1b");
		has_not(&r, "<script");
		has(&r, "What the driver says of GPUs: their use");
		release(&r);
	}
}

static void test_a_long_name_is_cut_and_folded(void **state)
{
	struct rendered r;
	char *name = malloc(60001);

	(void)state;
	memset(name, 'y', 60000);
	memcpy(name, "first", 5);
	memcpy(name + 59996, "last", 5);
	world_open(&r.w);
	put_waits(&r.w, name, "forward");
	render(&r, "trace.sbt");
	has(&r, "<details class=\"long\"><summary><bdi class=\"name\">firstyyy");
	has(&r, "yyylast</bdi></summary><bdi class=\"name\">firstyyy");
	assert_true(strlen(r.page) < 60000);
	release(&r);
	free(name);
}

static void test_no_events(void **state)
{
	struct rendered r;

	(void)state;
	world_open(&r.w);
	render(&r, "empty.sbt");
	has(&r, "<h1 id=\"verdict\">cannot judge: there are no events in the trace</h1>");
	has(&r, "Cannot judge: what is missing is said above.");
	has(&r, "There is nothing with a duration in the trace.");
	has_not(&r, "<details class=\"finding\"");
	has_not(&r, "id=\"breakdown\"");
	has_not(&r, "nan");
	release(&r);
}

static void test_nothing_to_change(void **state)
{
	struct rendered r;
	uint32_t process, device, thread, stream;

	(void)state;
	world_open(&r.w);
	process = world_process(&r.w, 1, -1);
	device = world_device(&r.w, 0);
	thread = world_track(&r.w, TRACK_THREAD, process, -1);
	stream = world_track(&r.w, TRACK_STREAM, -1, device);
	for (int64_t i = 0; i < 20; i++) {
		world_work(&r.w, thread, EVENT_RUNTIME_CALL, "cudaLaunchKernel", 1000 + 10000 * i, 5000, (uint64_t)i + 1);
		world_work(&r.w, stream, EVENT_GPU_KERNEL, "gemm", 10000 + 100000 * i, 100000, (uint64_t)i + 1);
	}
	render(&r, "trace.sbt");
	assert_int_equal(r.a->findings.count, 0);
	has(&r, "<p>Nothing worth changing above 2 %; the largest costs are</p>");
	has(&r, "<li><b>100.0 %</b> <bdi class=\"name\">gemm</bdi></li>");
	release(&r);
}

static void test_what_is_left_out_is_said(void **state)
{
	const struct page_data_facts facts = { .slices = 10000000, .slices_here = 200000, .quantum = 1000 };
	struct rendered r;

	(void)state;
	world_open(&r.w);
	put_waits(&r.w, "gemm", "forward");
	render(&r, "trace.sbt");
	free(r.page);
	r.page = markup(&r, &facts);
	has(&r, "200,000 of 10,000,000 slices: those around the examples");
	has(&r, "rounded to 1.00 \xc2\xb5s; which call launched which work is left out;");
	release(&r);
}

static void test_the_same_again(void **state)
{
	const struct page_data_facts facts = { .slices = 1234567, .slices_here = 1234567, .quantum = 10, .exact = true, .links = true };
	struct rendered r;
	char *again;

	(void)state;
	world_open(&r.w);
	put_waits(&r.w, "gemm", "forward");
	render(&r, "trace.sbt");
	again = markup(&r, &facts);
	assert_string_equal(r.page, again);
	free(again);
	release(&r);
}

static void test_the_whole_page(void **state)
{
	static const char model[] = "<script type=\"text/plain\" id=\"data-model\" data-bytes=\"";
	static const char end[] = "</script>\n</body>\n</html>\n";
	struct buffer out = BUFFER_INIT, again = BUFFER_INIT;
	struct rendered r;

	(void)state;
	world_open(&r.w);
	put_waits(&r.w, "</script><!--<script>", "]]></style>");
	render(&r, "trace.sbt");
	assert_int_equal(page_append(r.a, &r.source, NULL, &out), 0);
	assert_int_equal(page_append(r.a, &r.source, &(struct page_options){ .size_most = PAGE_SIZE }, &again), 0);
	assert_int_equal(out.size, again.size);
	assert_memory_equal(out.data, again.data, out.size);
	assert_non_null(memmem(out.data, out.size, "<style>", 7));
	assert_non_null(memmem(out.data, out.size, model, strlen(model)));
	assert_null(memmem(out.data, out.size, "<!--", 4));
	assert_memory_equal(out.data + out.size - strlen(end), end, strlen(end));
	buffer_release(&out);
	buffer_release(&again);
	release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_cuts_the_middle),
		cmocka_unit_test(test_figures_are_those_of_the_analysis),
		cmocka_unit_test(test_findings_lead_to_their_examples),
		cmocka_unit_test(test_parts_of_the_bar_add_up),
		cmocka_unit_test(test_gpus_are_those_of_the_analysis),
		cmocka_unit_test(test_figures_of_gpus_that_cannot_be),
		cmocka_unit_test(test_no_gpus),
		cmocka_unit_test(test_hostile_names_are_inert),
		cmocka_unit_test(test_a_long_name_is_cut_and_folded),
		cmocka_unit_test(test_no_events),
		cmocka_unit_test(test_nothing_to_change),
		cmocka_unit_test(test_what_is_left_out_is_said),
		cmocka_unit_test(test_the_same_again),
		cmocka_unit_test(test_the_whole_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
