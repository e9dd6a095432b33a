/*
 * bottleneck.c - one word for the whole trace.
 *
 * With devices: idle more than 10 % of their time, they wait for the host
 * (cpu_bound); copies between host and device take more than 20 % of it
 * (memory_bound); they compute for more than twice as long as the host works
 * (gpu_bound); else balanced.  Memory comes first, since copies make a device
 * idle, too.  Without devices: unknown here.
 */
#include <math.h>
#include <stdio.h>

#include "analyze/findings_parts.h"

#define IDLE_MOST 0.10
#define COPIES_MOST 0.20
#define GPU_TO_CPU 2.0

const char *bottleneck_name(enum bottleneck bottleneck)
{
	static const char *const names[] = { "unknown", "cpu_bound", "gpu_bound", "memory_bound", "balanced" };

	return names[bottleneck];
}

/* How far a value is beyond its limit, as a confidence: at the limit it could be either. */
static double certainty(double value, double limit)
{
	return fmin(0.95, 0.5 + 0.5 * fabs(value - limit) / fmax(limit, 0.05));
}

static double launcher_time(const struct parts *p)
{
	int64_t busy = 0;

	for (size_t i = 0; i < p->a->thread_count; i++)
		if (p->a->threads[i].launches)
			busy = time_sum(busy, p->a->threads[i].busy - p->a->threads[i].in_sync);
	return (double)busy;
}

int analyze_bottleneck(struct parts *p)
{
	struct analysis_bottleneck *b = &p->a->bottleneck;
	const struct analysis_findings *findings = &p->a->findings;
	int64_t idle = 0, busy = 0, span = 0;
	double idle_part, copies, cpu, to_cpu;

	for (size_t d = 0; d < p->a->device_count; d++) {
		const struct device_window *w = p->a->devices[d].window;

		idle = time_sum(idle, device_window_idle(w));
		busy = time_sum(busy, device_window_busy(w));
		span = time_sum(span, w->to - w->from);
	}
	if (span == 0) {
		snprintf(b->cause, sizeof b->cause, "no device work is in the trace");
		return 0;
	}
	idle_part = share(idle, span);
	copies = share(time_sum(p->a->summary.h2d, p->a->summary.d2h), span);
	cpu = launcher_time(p);
	to_cpu = cpu > 0 ? (double)busy / cpu : INFINITY;
	texts_add(&b->evidence, "devices are idle for %.1f %% of their time (cpu_bound above 10 %%)", 100 * idle_part);
	texts_add(&b->evidence, "copies between host and device take %.1f %% of it (memory_bound above 20 %%)", 100 * copies);
	if (cpu > 0)
		texts_add(&b->evidence, "devices are busy %.2f times as long as the threads that feed them (gpu_bound above 2)", to_cpu);
	if (copies > COPIES_MOST) {
		b->type = BOTTLENECK_MEMORY;
		b->confidence = certainty(copies, COPIES_MOST);
	} else if (idle_part > IDLE_MOST) {
		b->type = BOTTLENECK_CPU;
		b->confidence = certainty(idle_part, IDLE_MOST);
	} else {
		b->type = to_cpu > GPU_TO_CPU || idle_part < IDLE_MOST / 2 ? BOTTLENECK_GPU : BOTTLENECK_BALANCED;
		b->confidence = certainty(idle_part, IDLE_MOST);
	}
	b->confidence *= trust_in(p->a->verdict);
	if (findings->count)
		snprintf(b->cause, sizeof b->cause, "%s: %.240s", findings->list[0].kind, findings->list[0].evidence.text[0]);
	else
		snprintf(b->cause, sizeof b->cause, "devices are busy for %.1f %% of their time and nothing else stands out", 100 - 100 * idle_part);
	return 0;
}
