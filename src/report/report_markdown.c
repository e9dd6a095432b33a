/*
 * report_markdown.c - the analysis as Markdown, for a ticket or a review.
 *
 * One fact a line, fixed units and a stable order, so that two reports can be
 * compared; what differs from run to run without meaning anything comes last.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/words.h"
#include "base/text.h"
#include "report/markdown.h"

#define NAME_COLUMNS 160 /* of a kernel, say; sentences are shorter than names can be, and are not cut */

static void check(struct markdown *m, int rc)
{
	if (rc < 0 && m->error == 0)
		m->error = rc;
}

void markdown_put(struct markdown *m, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	check(m, buffer_vprintf(m->out, format, args));
	va_end(args);
}

/* The longest run of backticks in a text. */
static size_t longest_fence(const char *text, size_t size)
{
	size_t longest = 0, run = 0;

	for (size_t i = 0; i < size; i++) {
		run = text[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void put_fence(struct markdown *m, size_t length)
{
	for (size_t i = 0; i < length; i++)
		check(m, buffer_append(m->out, "`", 1));
}

/* A code span whose fence is not in it; in a table a bar would end the cell even there. */
static void put_code(struct markdown *m, const char *text, size_t size, size_t columns)
{
	struct buffer safe = BUFFER_INIT;
	size_t fence;

	check(m, text_append_terminal(&safe, text, size, columns));
	if (safe.size == 0)
		check(m, buffer_append(&safe, "(no name)", 9));
	fence = longest_fence((const char *)safe.data, safe.size) + 1;
	put_fence(m, fence);
	check(m, buffer_append(m->out, " ", fence > 1));
	for (size_t i = 0; i < safe.size; i++) {
		check(m, buffer_append(m->out, "\\", safe.data[i] == '|'));
		check(m, buffer_append(m->out, &safe.data[i], 1));
	}
	check(m, buffer_append(m->out, " ", fence > 1));
	put_fence(m, fence);
	buffer_release(&safe);
}

void markdown_code(struct markdown *m, const char *text, size_t size)
{
	put_code(m, text, size, NAME_COLUMNS);
}

void markdown_text(struct markdown *m, const char *text)
{
	put_code(m, text, strlen(text), 0);
}

void markdown_name(struct markdown *m, uint32_t name)
{
	size_t size;
	const char *text = timeline_string(m->timeline, name, &size);

	markdown_code(m, text, size);
}

/* ---- The verdict -------------------------------------------------------------- */

static void put_steps(struct markdown *m, const struct analysis *a)
{
	const struct analysis_steps *s = &a->steps;

	if (s->count == 0)
		return;
	markdown_put(m, "- Steps: %zu, %s\n", s->count, report_step_source(a));
	markdown_put(m, "- Step time: median %.3f ms, p99 %.3f ms, mean %.3f ms\n", report_ms(s->p50), report_ms(s->p99), s->mean / 1e6);
	if (!isnan(s->input_share))
		markdown_put(m, "- Waiting for input: %.1f %% of step time\n", 100 * s->input_share);
}

static void put_end(struct markdown *m, const struct analysis *a)
{
	struct report_end end;

	for (size_t i = 0; report_end(a, i, &end); i++) {
		markdown_put(m, "- %c%s: ", toupper((unsigned char)end.label[0]), end.label + 1);
		markdown_text(m, end.text);
		markdown_put(m, "\n");
	}
}

static void put_head(struct markdown *m, const struct analysis *a)
{
	const struct report_verdict verdict = report_verdict(a);
	size_t used;
	double left = report_remainder(a, a->findings.count, &used);

	markdown_put(m, "# %s", verdict.words);
	if (verdict.reason)
		markdown_text(m, verdict.reason);
	markdown_put(m, "\n\n");
	put_end(m, a);
	if (verdict.judged && a->bottleneck.confidence > 0)
		markdown_put(m, "- Bottleneck: %s, confidence %s (%.2f)\n", words_label(bottleneck_name(a->bottleneck.type)),
			     report_confidence(a->bottleneck.confidence), a->bottleneck.confidence);
	markdown_put(m, "- Time: %.3f ms\n", report_ms(a->timeline->duration));
	put_steps(m, a);
	markdown_put(m, "- Devices: %zu\n", a->device_count);
	if (used)
		markdown_put(m, "- With all that is found below: %.1f %% less time\n", 100 * (1 - left));
	markdown_put(m, "- Integrity: %s\n", verdict_name(a->verdict));
}

static void put_breakdown(struct markdown *m, const struct analysis *a)
{
	if (a->category_count == 0)
		return;
	markdown_put(m, "\n## Where the time goes\n\n| category | ms | %% |\n| --- | --- | --- |\n");
	for (size_t i = 0; i < a->category_count; i++)
		if (a->breakdown[i].duration > 0)
			markdown_put(m, "| %s | %.3f | %.1f |\n", words_label(a->breakdown[i].name), report_ms(a->breakdown[i].duration),
				     report_percent(a->breakdown[i].duration, a->summary.end_to_end));
}

/* ---- Findings ------------------------------------------------------------------ */

static void put_texts(struct markdown *m, const char *label, const struct finding_texts *texts)
{
	for (unsigned i = 0; i < texts->count; i++) {
		markdown_put(m, "- %s: ", label);
		markdown_text(m, texts->text[i]);
		markdown_put(m, "\n");
	}
}

/* The heading has the finding's kind and place, so that a link to it goes on leading there. */
static void put_finding(struct markdown *m, const struct analysis_finding *f, size_t number)
{
	char title[REPORT_TITLE];

	markdown_put(m, "\n### %zu. ", number);
	markdown_text(m, report_title(f, title));
	markdown_put(m, "\n\n- Level: %s\n", report_level(f));
	if (f->rule) {
		markdown_put(m, "- Rule: ");
		markdown_text(m, f->rule);
		markdown_put(m, "\n");
	} else {
		markdown_put(m, "- Share: %.1f %%\n", 100 * f->share);
	}
	if (!isnan(f->frequency))
		markdown_put(m, "- In: %.0f %% of the steps\n", 100 * f->frequency);
	put_texts(m, "Evidence", &f->evidence);
	markdown_put(m, "- Change: ");
	markdown_text(m, f->action);
	if (f->rationale[0]) {
		markdown_put(m, "\n- Why: ");
		markdown_text(m, f->rationale);
	}
	markdown_put(m, "\n");
	put_texts(m, "Where", &f->where);
}

static void put_finding_row(struct markdown *m, const struct analysis_finding *f, size_t number)
{
	char title[REPORT_TITLE];

	markdown_put(m, "| %zu | ", number);
	markdown_text(m, report_title(f, title));
	markdown_put(m, " | %s | ", report_level(f));
	if (f->note)
		markdown_put(m, "| | ");
	else
		markdown_put(m, "%.1f | %.1f to %.1f | ", 100 * f->gain, 100 * f->gain_low, 100 * f->gain_high);
	markdown_put(m, "%s (%.2f) |\n", report_confidence(f->confidence), f->confidence);
}

static void put_findings(struct markdown *m, const struct analysis *a)
{
	markdown_put(m, "\n## Findings\n\n");
	if (a->findings.count == 0) {
		if (report_verdict(a).judged)
			markdown_put(m, "Nothing worth changing above %g %%.\n", 100 * a->thresholds.gain_least);
		else
			markdown_put(m, "Cannot judge: what is missing is said above. That is not the same as \"nothing to change\".\n");
		return;
	}
	markdown_put(m, "| # | finding | level | gain %% | range %% | confidence |\n| --- | --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < a->findings.count; i++)
		put_finding_row(m, &a->findings.list[i], i + 1);
	for (size_t i = 0; i < a->findings.count; i++)
		put_finding(m, &a->findings.list[i], i + 1);
}

static void put_notes(struct markdown *m, const struct analysis *a)
{
	if (a->notes.count == 0)
		return;
	markdown_put(m, "\n## Notes\n\n");
	for (unsigned i = 0; i < a->notes.count; i++) {
		markdown_put(m, "- ");
		markdown_text(m, a->notes.text[i]);
		markdown_put(m, "\n");
	}
}

/* ---- The end -------------------------------------------------------------------- */

static void put_integrity(struct markdown *m, const struct analysis *a)
{
	markdown_put(m, "\n## Integrity\n\n- Verdict: %s\n", verdict_name(a->verdict));
	for (size_t i = 0; i < a->check_count; i++) {
		const struct analysis_check *c = &a->checks[i];

		if (c->status == CHECK_SKIPPED)
			continue;
		markdown_put(m, "- %s: %s", words_label(c->name), check_status_name(c->status));
		if (c->status != CHECK_OK) {
			markdown_put(m, ", ");
			markdown_text(m, c->detail);
		}
		markdown_put(m, "\n");
	}
	for (uint32_t i = 0; i < a->timeline->clock_count; i++) {
		const struct timeline_clock *c = &a->timeline->clocks[i];
		char words[REPORT_CLOCK];

		if (c->of_device)
			markdown_put(m, "- clock of device %u: %s\n", a->timeline->devices[c->device].index, report_clock(a, c, words));
	}
}

static void put_date(struct markdown *m, int64_t ns)
{
	char text[REPORT_DATE];

	if (report_date(text, ns))
		markdown_put(m, "- Recorded: %s\n", text);
}

static void put_run_text(struct markdown *m, const char *label, const char *text, size_t size)
{
	if (size == 0)
		return;
	markdown_put(m, "- %s: ", label);
	markdown_code(m, text, size);
	markdown_put(m, "\n");
}

static void put_run(struct markdown *m, const struct analysis *a, const struct report_source *source)
{
	const struct timeline *t = a->timeline;
	struct buffer command = BUFFER_INIT;
	char words[PROGRAM_SENTENCE];
	const char *text;
	size_t size;

	markdown_put(m, "\n## Run\n\n");
	put_run_text(m, "Trace", source->path, strlen(source->path));
	markdown_put(m, "- Format: %s\n- Events: %" PRIu64 "\n- Lost events: %" PRIu64 "\n", source->format, t->events, t->lost);
	check(m, report_command(a, &command));
	put_run_text(m, "Command", (const char *)command.data, command.size);
	trace_program_say_interpreter(&a->program, words);
	put_run_text(m, "Interpreter", words, strlen(words));
	trace_program_say_end(&a->program, words);
	put_run_text(m, "Program", words, strlen(words));
	buffer_release(&command);
	for (uint32_t i = 0; i < t->host_count && i < 20; i++) {
		text = timeline_string(t, t->hosts[i].name, &size);
		put_run_text(m, "Host", text, size);
	}
	put_date(m, t->start_ns);
	if (t->reader && trace_reader_info_string(t->reader, "producer", &text, &size) == 0)
		put_run_text(m, "Trace written by", text, size);
	if (source->version)
		markdown_put(m, "- Report written by: inferscope %s\n", source->version);
}

int report_markdown(const struct analysis *a, const struct report_source *source, struct buffer *out)
{
	struct markdown m = { .out = out, .timeline = a->timeline };

	put_head(&m, a);
	put_breakdown(&m, a);
	put_findings(&m, a);
	put_notes(&m, a);
	markdown_tables(&m, a);
	put_integrity(&m, a);
	put_run(&m, a, source);
	return m.error;
}
