/*
 * bottleneck.c - one word for the whole trace.
 *
 * With devices: idle more than 10 % of their time, they wait for the host
 * (cpu_bound); copies between host and device take more than 20 % of it
 * (memory_bound); they compute for more than twice as long as the host works
 * (gpu_bound); else balanced.  Memory comes first, since copies make a device
 * idle, too.
 *
 * Without devices: the kernel hands out new memory for more than 20 % of the
 * time (memory_bound); the program waits for the world, not for itself, for
 * half of the time (balanced: neither processor nor memory limits it); else
 * processors do (cpu_bound).  Unknown where nobody looked.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/findings_parts.h"
#include "analyze/words.h"

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

static void tell_cause(struct parts *p, const char *otherwise)
{
	const struct analysis_findings *findings = &p->a->findings;

	if (findings->count && !findings->list[0].note)
		snprintf(p->a->bottleneck.cause, sizeof p->a->bottleneck.cause, "%s: %.240s", words_label(findings->list[0].kind),
			 findings->list[0].evidence.text[0]);
	else
		snprintf(p->a->bottleneck.cause, sizeof p->a->bottleneck.cause, "%s", otherwise);
}

#define WORLD_MOST 0.5

/* What findings say of it: where a place reads files, the memory for them is part of that. */
static double memory_share(const struct analysis_findings *findings)
{
	double sum = 0;

	for (size_t i = 0; i < findings->count; i++)
		if (strncmp(findings->list[i].kind, "memory_", 7) == 0)
			sum += findings->list[i].share;
	return sum;
}

/* What would tell where the main thread is. */
static const char *what_helps(const struct host_tree *tree)
{
	for (uint32_t i = 1; i < tree->count; i++)
		if (tree->nodes[i].kind == EVENT_CPU_CALL)
			return "mark its parts, with inferscope.scope(\"name\")";
	return "run it with --calls on, which records its functions";
}

static int bottleneck_of_host(struct parts *p)
{
	struct analysis_bottleneck *b = &p->a->bottleneck;
	const struct analysis_host *h = &p->a->host;
	const int64_t *time = h->window.time;
	int64_t span = h->window.to - h->window.from;
	double limit = p->a->thresholds.bottleneck_copies, memory, world, unknown;
	char text[FINDING_TEXT];
	unsigned most = OWNER_PYTHON;

	if (!h->known || !h->window.looked || span <= 0) {
		snprintf(b->cause, sizeof b->cause, "no device work is in the trace, and %s",
			 h->known ? analysis_unseen(p->a, false) : "no call, operator or scope of the main thread");
		return 0;
	}
	unknown = share(time[OWNER_UNKNOWN], span);
	if (unknown > WORLD_MOST) {
		snprintf(b->cause, sizeof b->cause, "for %.0f %% of the time nothing was recorded of the main thread: %s", 100 * unknown,
			 what_helps(&h->tree));
		return 0;
	}
	memory = memory_share(&p->a->findings);
	world = share(time[OWNER_NETWORK] + time[OWNER_CLIENTS] + time[OWNER_SLEEP] + time[OWNER_FILE] + time[OWNER_FSYNC] + time[OWNER_WAIT] + time[OWNER_CHILD], span);
	texts_add(&b->evidence, "the kernel hands out new memory for %.1f %% of the time (memory_bound above %g %%)", 100 * memory, 100 * limit);
	texts_add(&b->evidence, "the program waits for what is outside of it for %.1f %% of the time (balanced above %g %%)", 100 * world,
		  100 * WORLD_MOST);
	b->type = memory > limit ? BOTTLENECK_MEMORY : world > WORLD_MOST ? BOTTLENECK_BALANCED : BOTTLENECK_CPU;
	b->confidence = (memory > limit ? certainty(memory, limit) : certainty(world, WORLD_MOST)) * trust_in(p->a->verdict);
	for (unsigned i = 0; i < OWNER_COUNT; i++)
		most = time[i] > time[most] ? i : most;
	if (most == OWNER_NATIVE && h->window.library)
		snprintf(text, sizeof text, "nothing stands out: %.0f %% of the time is native code, mostly of %.*s", 100 * share(time[most], span),
			 (int)strcspn(h->window.library, "/"), h->window.library);
	else
		snprintf(text, sizeof text, "nothing stands out: %.0f %% of the time is %s", 100 * share(time[most], span),
			 words_phrase(host_owner_name(most)));
	tell_cause(p, text);
	return 0;
}

int analyze_bottleneck(struct parts *p)
{
	struct analysis_bottleneck *b = &p->a->bottleneck;
	const struct analysis_thresholds *limits = &p->a->thresholds;
	int64_t idle = 0, busy = 0, span = 0;
	double idle_part, copies, cpu, to_cpu;
	char text[FINDING_TEXT];

	for (size_t d = 0; d < p->a->device_count; d++) {
		const struct device_window *w = p->a->devices[d].window;

		idle = time_sum(idle, device_window_idle(w));
		busy = time_sum(busy, device_window_busy(w));
		span = time_sum(span, w->to - w->from);
	}
	if (span == 0)
		return bottleneck_of_host(p);
	idle_part = share(idle, span);
	copies = share(time_sum(p->a->summary.h2d, p->a->summary.d2h), span);
	cpu = launcher_time(p);
	to_cpu = cpu > 0 ? (double)busy / cpu : INFINITY;
	texts_add(&b->evidence, "devices are idle for %.1f %% of their time (cpu_bound above %g %%)", 100 * idle_part,
		  100 * limits->bottleneck_idle);
	texts_add(&b->evidence, "copies between host and device take %.1f %% of it (memory_bound above %g %%)", 100 * copies,
		  100 * limits->bottleneck_copies);
	if (cpu > 0)
		texts_add(&b->evidence, "devices are busy %.2f times as long as the threads that feed them (gpu_bound above %g)", to_cpu,
			  limits->bottleneck_gpu_to_cpu);
	if (copies > limits->bottleneck_copies) {
		b->type = BOTTLENECK_MEMORY;
		b->confidence = certainty(copies, limits->bottleneck_copies);
	} else if (idle_part > limits->bottleneck_idle) {
		b->type = BOTTLENECK_CPU;
		b->confidence = certainty(idle_part, limits->bottleneck_idle);
	} else {
		b->type = to_cpu > limits->bottleneck_gpu_to_cpu || idle_part < limits->bottleneck_idle / 2 ? BOTTLENECK_GPU :
													     BOTTLENECK_BALANCED;
		b->confidence = certainty(idle_part, limits->bottleneck_idle);
	}
	b->confidence *= trust_in(p->a->verdict);
	snprintf(text, sizeof text, "devices are busy for %.1f %% of their time and nothing else stands out", 100 - 100 * idle_part);
	tell_cause(p, text);
	return 0;
}
