/* serve_history.c - see serve_parts.h: how it was before somebody came to look. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "live/serve_parts.h"

#define DISTANCE_S 1.0 /* between points, at first */
#define SERIES 13u

struct serve_point {
	double values[SERIES];
};

/* The first is the time; the others have the names that they have in /api. */
static const struct {
	const char *name;
	size_t offset;
} series[SERIES] = {
	{ "run_s", offsetof(struct live_snapshot, run_s) },
	{ "cpu", offsetof(struct live_snapshot, cpu.share) },
	{ "machine", offsetof(struct live_snapshot, cpu.machine) },
	{ "rss_bytes", offsetof(struct live_snapshot, memory.rss_bytes) },
	{ "memory_used", offsetof(struct live_snapshot, memory.used) },
	{ "read_bytes", offsetof(struct live_snapshot, io.read_bytes) },
	{ "written_bytes", offsetof(struct live_snapshot, io.written_bytes) },
	{ "received_bytes", offsetof(struct live_snapshot, network.received_bytes) },
	{ "sent_bytes", offsetof(struct live_snapshot, network.sent_bytes) },
	{ "step_s", offsetof(struct live_snapshot, steps.last_s) },
	{ "step_rate", offsetof(struct live_snapshot, steps.rate) },
	{ "events", offsetof(struct live_snapshot, events.rate) },
	{ "gpu", 0 }, /* the mean of all */
};

int serve_history_init(struct serve_history *h)
{
	*h = (struct serve_history){ .distance_s = DISTANCE_S, .points = calloc(SERVE_POINTS, sizeof *h->points) };
	return h->points ? 0 : -ENOMEM;
}

void serve_history_release(struct serve_history *h)
{
	free(h->points);
	h->points = NULL;
}

static double gpu_mean(const struct live_snapshot *s)
{
	uint32_t count = s->gpu_count < LIVE_GPUS ? s->gpu_count : LIVE_GPUS, known = 0;
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		if (isfinite(s->gpus[i].utilization)) {
			sum += s->gpus[i].utilization;
			known++;
		}
	return known ? sum / known : (double)NAN;
}

static void halve(struct serve_history *h)
{
	for (uint32_t i = 0; i < h->count / 2; i++)
		h->points[i] = h->points[2 * i];
	h->count /= 2;
	h->distance_s *= 2;
}

void serve_history_add(struct serve_history *h, const struct live_snapshot *s)
{
	struct serve_point *p;

	if (!isfinite(s->run_s) || (h->count && s->run_s < h->points[h->count - 1].values[0] + h->distance_s * 0.999))
		return;
	if (h->count == SERVE_POINTS)
		halve(h);
	p = &h->points[h->count++];
	for (size_t i = 0; i < SERIES; i++) {
		if (i < SERIES - 1)
			memcpy(&p->values[i], (const char *)s + series[i].offset, sizeof p->values[i]);
		else
			p->values[i] = gpu_mean(s);
	}
}

static void put_value(struct json_writer *j, double value, int digits)
{
	char text[32];

	if (!isfinite(value)) {
		json_null(j, NULL);
		return;
	}
	snprintf(text, sizeof text, "%.*g", digits, value);
	json_raw(j, NULL, text, strlen(text));
}

int serve_history_json(struct buffer *out, const struct serve_history *h)
{
	struct json_writer j = { .out = out, .compact = true };
	size_t before = out->size;

	json_open(&j, NULL, '{');
	json_number(&j, "distance_s", h->distance_s);
	for (size_t i = 0; i < SERIES; i++) {
		json_open(&j, series[i].name, '[');
		for (uint32_t k = 0; k < h->count; k++)
			put_value(&j, h->points[k].values[i], i ? 5 : 9);
		json_close(&j);
	}
	json_close(&j);
	if (j.error)
		out->size = before;
	return j.error;
}
