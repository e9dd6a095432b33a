/*
 * terminal_meter.c - one line for each thing that is measured: bar, figures, history.  See terminal_parts.h.
 *
 * A meter is filled from the snapshot by a function of its own, and painted by
 * one that is the same for all.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "live/terminal_parts.h"

#define LABEL 7
#define TWO_COLUMNS 160 /* from here on there is room for two meters beside each other */
#define SPARK_LEAST 8
#define CUSTOM_NAME 24 /* bytes */

struct meter {
	char label[8];
	double share;   /* NAN: there is no bar */
	double most;    /* of the history; NAN: the largest in it */
	enum ink ink;
	char text[96];
	const struct history *history;
};

static enum ink ink_of(double share, double warning, double bad)
{
	return share >= bad ? INK_BAD : share >= warning ? INK_WARNING : INK_GOOD;
}

/* ---- What there is to measure ---------------------------------------------------- */

static bool meter_step(const struct live_snapshot *s, struct meter *m)
{
	char last[NUMBER_SIZE], median[NUMBER_SIZE], p95[NUMBER_SIZE], wait[NUMBER_SIZE];
	int n;

	if (!s->steps.known)
		return false;
	n = snprintf(m->text, sizeof m->text, "%s  median %s  p95 %s", number_seconds(last, s->steps.last_s),
		     number_seconds(median, s->steps.median_s), number_seconds(p95, s->steps.p95_s));
	if (!isnan(s->steps.input_wait))
		snprintf(m->text + n, sizeof m->text - (size_t)n, "  input %s", number_share(wait, s->steps.input_wait));
	return true;
}

static bool meter_rate(const struct live_snapshot *s, struct meter *m)
{
	char rate[NUMBER_SIZE], since[NUMBER_SIZE], count[TEXT_COUNT_SIZE];
	int n;

	if (!s->steps.known)
		return false;
	n = snprintf(m->text, sizeof m->text, "%s/s  %s", number_plain(rate, s->steps.rate), text_count(count, s->steps.count, "step", "steps"));
	if (!isnan(s->steps.since_s))
		snprintf(m->text + n, sizeof m->text - (size_t)n, "  last %s ago", number_seconds(since, s->steps.since_s));
	return true;
}

static bool meter_cpu(const struct live_snapshot *s, struct meter *m)
{
	char share[NUMBER_SIZE], available[NUMBER_SIZE], machine[NUMBER_SIZE];

	m->share = s->cpu.share / s->cpu.available;
	m->most = s->cpu.available;
	m->ink = INK_GOOD;
	snprintf(m->text, sizeof m->text, "%s of %s  machine %s", number_plain(share, s->cpu.share),
		 number_count(available, s->cpu.available), number_share(machine, s->cpu.machine));
	return true;
}

static bool meter_memory(const struct live_snapshot *s, struct meter *m)
{
	char rss[NUMBER_SIZE], total[NUMBER_SIZE], used[NUMBER_SIZE];

	m->share = s->memory.used;
	m->ink = ink_of(s->memory.used, 0.8, 0.95);
	snprintf(m->text, sizeof m->text, "%s  %s of %s used%s", number_bytes(rss, s->memory.rss_bytes),
		 number_share(used, s->memory.used), number_bytes(total, s->memory.total_bytes), s->memory.limited ? ", a limit" : "");
	return true;
}

static bool meter_io(const struct live_snapshot *s, struct meter *m)
{
	char in[NUMBER_SIZE], out[NUMBER_SIZE], waiting[NUMBER_SIZE];
	int n = snprintf(m->text, sizeof m->text, "read %s  write %s", number_rate(in, s->io.read_bytes),
			 number_rate(out, s->io.written_bytes));

	if (s->io.waiting >= 0.05)
		snprintf(m->text + n, sizeof m->text - (size_t)n, "  %s wait", number_plain(waiting, s->io.waiting));
	return true;
}

/* Of names that are long the beginning, where a character ends. */
static int name_bytes(const char *name)
{
	size_t length = strnlen(name, CUSTOM_NAME + 1);

	if (length > CUSTOM_NAME)
		for (length = CUSTOM_NAME; length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80;)
			length--;
	return (int)length;
}

/* As many as there is room for. */
static bool meter_custom(const struct live_snapshot *s, struct meter *m)
{
	char value[NUMBER_SIZE], one[CUSTOM_NAME + NUMBER_SIZE + 8];
	size_t used = 0;

	for (uint32_t i = 0; i < s->counter_count && i < LIVE_COUNTERS; i++) {
		const struct live_counter *c = &s->counters[i];
		int n = snprintf(one, sizeof one, "%s%.*s %s", used ? "  " : "", name_bytes(c->name), c->name, number_plain(value, c->value));

		if (used + (size_t)n >= sizeof m->text)
			break;
		memcpy(m->text + used, one, (size_t)n + 1);
		used += (size_t)n;
	}
	return used > 0;
}

static bool meter_network(const struct live_snapshot *s, struct meter *m)
{
	char in[NUMBER_SIZE], out[NUMBER_SIZE];

	if (isnan(s->network.received_bytes))
		return false;
	snprintf(m->text, sizeof m->text, "in %s  out %s", number_rate(in, s->network.received_bytes),
		 number_rate(out, s->network.sent_bytes));
	return true;
}

static void meter_gpu(const struct live_gpu *gpu, struct meter *m)
{
	char busy[NUMBER_SIZE], used[NUMBER_SIZE], total[NUMBER_SIZE], power[NUMBER_SIZE], heat[NUMBER_SIZE];

	snprintf(m->label, sizeof m->label, "gpu %u", gpu->number);
	m->share = gpu->utilization;
	m->most = 1;
	m->ink = ink_of(gpu->memory_used_bytes / gpu->memory_total_bytes, 0.9, 0.97);
	snprintf(m->text, sizeof m->text, "%s  %s of %s  %s W  %s C", number_share(busy, gpu->utilization),
		 number_bytes(used, gpu->memory_used_bytes), number_bytes(total, gpu->memory_total_bytes),
		 number_plain(power, gpu->power_watts), number_plain(heat, gpu->temperature_celsius));
}

/* The most important first: what has no room is not shown. */
static const struct meter_row {
	const char *label;
	int history;
	bool (*fill)(const struct live_snapshot *s, struct meter *m); /* false: there is nothing to show */
} rows_before[] = {
	{ "cpu", HISTORY_CPU, meter_cpu },
	{ "memory", HISTORY_MEMORY, meter_memory },
	{ "step", HISTORY_STEP, meter_step },
	{ "rate", HISTORY_RATE, meter_rate },
	{ "custom", HISTORY_CUSTOM, meter_custom },
}, rows_after[] = {
	{ "disk", HISTORY_IO, meter_io },
	{ "net", HISTORY_NETWORK, meter_network },
};

/* ---- History ---------------------------------------------------------------------- */

static void note(struct history *h, double value)
{
	h->values[h->count % HISTORY] = (float)value;
	h->count++;
}

/* Lists become shorter when it is known whose GPUs are whose: a history stays with its GPU. */
static int history_of(const struct live_gpu *gpu)
{
	return HISTORY_GPU + (int)(gpu->number % LIVE_GPU_NUMBERS);
}

void meters_note(struct live_terminal *t, const struct live_snapshot *s)
{
	note(&t->histories[HISTORY_CPU], s->cpu.share);
	note(&t->histories[HISTORY_MEMORY], s->memory.rss_bytes);
	note(&t->histories[HISTORY_IO], s->io.read_bytes + s->io.written_bytes);
	note(&t->histories[HISTORY_NETWORK], s->network.received_bytes + s->network.sent_bytes);
	note(&t->histories[HISTORY_STEP], s->steps.last_s);
	note(&t->histories[HISTORY_RATE], s->steps.rate);
	note(&t->histories[HISTORY_CUSTOM], s->counter_count ? s->counters[0].value : NAN);
	for (uint32_t i = 0; i < s->gpu_count && i < LIVE_GPUS; i++)
		note(&t->histories[history_of(&s->gpus[i])], s->gpus[i].utilization);
}

/* ---- Painting ----------------------------------------------------------------------- */

static void meter_begin(const struct live_terminal *t, struct meter *m, const char *label, int history)
{
	*m = (struct meter){ .share = NAN, .most = NAN, .history = &t->histories[history] };
	snprintf(m->label, sizeof m->label, "%s", label);
}

static size_t collect_rows(const struct live_terminal *t, const struct live_snapshot *s, const struct meter_row *rows, size_t count,
			   struct meter *meters)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		meter_begin(t, &meters[n], rows[i].label, rows[i].history);
		n += rows[i].fill(s, &meters[n]);
	}
	return n;
}

#define METERS (5 + LIVE_GPUS + 2)
static size_t collect(const struct live_terminal *t, const struct live_snapshot *s, struct meter meters[METERS])
{
	size_t n = collect_rows(t, s, rows_before, sizeof rows_before / sizeof rows_before[0], meters);

	for (uint32_t i = 0; i < s->gpu_count && i < LIVE_GPUS; i++) {
		meter_begin(t, &meters[n], "", history_of(&s->gpus[i]));
		meter_gpu(&s->gpus[i], &meters[n++]);
	}
	return n + collect_rows(t, s, rows_after, sizeof rows_after / sizeof rows_after[0], meters + n);
}

/* Label, bar, figures, and the history in what is left; where there is no bar, the figures have its place. */
static void paint_meter(struct live_terminal *t, const struct meter *m, int row, int column, int width)
{
	int bar = width >= 70 ? 16 : width >= 50 ? 10 : 0, at = column + LABEL;
	int spark = column + LABEL + (width >= 90 ? 16 + 1 + 40 : width >= 70 ? 16 + 1 + 32 : width) + 1;
	int left = column + width - spark;

	paint_text(t, row, column, LABEL - 1, INK_STRONG, m->label);
	if (bar && !isnan(m->share)) {
		paint_bar(t, row, at, bar, m->share, m->ink);
		at += bar + 1;
	}
	if (left >= SPARK_LEAST)
		paint_spark(t, row, spark, left, m->history, m->most);
	else
		spark = column + width;
	paint_text(t, row, at, spark - at - (left >= SPARK_LEAST), m->ink == INK_GOOD ? INK_PLAIN : m->ink, m->text);
}

int meters_draw(struct live_terminal *t, const struct live_snapshot *s, int row, int rows)
{
	struct meter meters[METERS];
	size_t count = collect(t, s, meters);
	int beside = t->columns >= TWO_COLUMNS ? 2 : 1, width = (t->columns - (beside - 1) * 2) / beside;
	int needed = ((int)count + beside - 1) / beside, used = needed < rows ? needed : rows;

	for (int i = 0; i < (int)count && i < used * beside; i++)
		paint_meter(t, &meters[i], row + i / beside, i % beside * (width + 2), width);
	return used;
}
