/*
 * gpus.c - what the driver said about GPUs while the program ran: counters of devices (docs/sbt-format.md, 3.5).
 *
 * Means are over samples, which are evenly spaced in time.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/parts.h"

enum counter {
	USED, TOTAL, UTILIZATION, MEMORY_UTILIZATION, SM_CLOCK, SM_CLOCK_LIMIT, MEMORY_CLOCK, MEMORY_CLOCK_LIMIT, REASONS,
	POWER, POWER_LIMIT, ENERGY, TEMPERATURE, LINK_GENERATION, LINK_LANES, COUNTERS
};
static const char *const names[COUNTERS] = {
	"memory_used_bytes", "memory_total_bytes", "utilization_percent", "memory_utilization_percent", "sm_clock_mhz",
	"sm_clock_limit_mhz", "memory_clock_mhz", "memory_clock_limit_mhz", "clock_reasons",
	"power_mw", "power_limit_mw", "energy_mj", "temperature_c", "pcie_generation", "pcie_width",
};

/* Bits of clock_reasons that say that the GPU was made slower than it wanted to be. */
#define REASON_POWER 0x84u    /* a limit in software, or a brake in hardware */
#define REASON_THERMAL 0x60u  /* in software, in hardware */
#define REASON_HARDWARE 0x08u /* either of them, in hardware */

/* The values of one counter of one device. */
struct series {
	uint64_t count;
	double sum, most, first, last;
};

struct building {
	struct analysis_gpu gpu;
	struct series series[COUNTERS];
	uint64_t power, thermal, slowed; /* samples */
	double program; /* memory of all processes at the moment */
};

struct gpus {
	const struct timeline *t;
	struct building *devices; /* by number of the trace */
	uint8_t *counter_of;      /* plus 1, by string number */
	double *held;             /* memory of a process on a device, by track */
};

static void find_names(struct gpus *g)
{
	for (uint32_t i = 1; i < g->t->string_count; i++) {
		size_t size;
		const char *text = timeline_string(g->t, i, &size);

		for (unsigned k = 0; k < COUNTERS; k++)
			if (strlen(names[k]) == size && memcmp(names[k], text, size) == 0)
				g->counter_of[i] = (uint8_t)(k + 1);
	}
}

static void take_reasons(struct building *b, double value)
{
	uint64_t bits = value >= 0 && value < 0x1p53 ? (uint64_t)value : 0;

	b->power += (bits & REASON_POWER) != 0;
	b->thermal += (bits & REASON_THERMAL) != 0;
	b->slowed += (bits & (REASON_POWER | REASON_THERMAL | REASON_HARDWARE)) != 0;
}

static void take_value(struct building *b, enum counter counter, double value)
{
	struct series *s = &b->series[counter];

	if (s->count == 0)
		s->first = s->most = value;
	s->count++;
	s->sum += value;
	s->last = value;
	s->most = value > s->most ? value : s->most;
	if (counter == REASONS)
		take_reasons(b, value);
}

/* Points are by time, so the sum is that of one moment. */
static void take_process(struct gpus *g, struct building *b, uint32_t track, double value)
{
	b->program += value - g->held[track];
	g->held[track] = value;
	if (!(b->gpu.program_memory >= b->program))
		b->gpu.program_memory = b->program;
}

static void take_point(struct gpus *g, const struct timeline_point *p)
{
	const struct timeline_track *track = p->track < g->t->track_count ? &g->t->tracks[p->track] : NULL;
	unsigned counter = p->name < g->t->string_count ? g->counter_of[p->name] : 0;

	if (p->kind != EVENT_COUNTER || !track || track->kind != TRACK_DEVICE || track->device >= g->t->device_count || !counter ||
	    !isfinite(p->value))
		return;
	if (track->process == TIMELINE_NONE)
		take_value(&g->devices[track->device], counter - 1, p->value);
	else if (counter - 1 == USED)
		take_process(g, &g->devices[track->device], p->track, p->value);
}

static double mean(const struct series *s)
{
	return s->count ? s->sum / (double)s->count : NAN;
}

static double most(const struct series *s)
{
	return s->count ? s->most : NAN;
}

static struct analysis_gpu figures(const struct building *b, uint32_t device)
{
	const struct series *s = b->series;
	struct analysis_gpu gpu = b->gpu;
	double reasons = s[REASONS].count ? (double)s[REASONS].count : NAN;

	gpu.device = device;
	for (unsigned i = 0; i < COUNTERS; i++)
		gpu.samples = s[i].count > gpu.samples ? s[i].count : gpu.samples;
	gpu.utilization = mean(&s[UTILIZATION]);
	gpu.utilization_max = most(&s[UTILIZATION]);
	gpu.memory_utilization = mean(&s[MEMORY_UTILIZATION]);
	gpu.memory_used = most(&s[USED]);
	gpu.memory_total = most(&s[TOTAL]);
	gpu.sm_clock = mean(&s[SM_CLOCK]);
	gpu.sm_clock_limit = most(&s[SM_CLOCK_LIMIT]);
	gpu.memory_clock = mean(&s[MEMORY_CLOCK]);
	gpu.memory_clock_limit = most(&s[MEMORY_CLOCK_LIMIT]);
	gpu.power = mean(&s[POWER]) / 1e3;
	gpu.power_max = most(&s[POWER]) / 1e3;
	gpu.power_limit = s[POWER_LIMIT].count ? s[POWER_LIMIT].last / 1e3 : NAN;
	gpu.energy = s[ENERGY].count > 1 && s[ENERGY].last >= s[ENERGY].first ? (s[ENERGY].last - s[ENERGY].first) / 1e3 : NAN;
	gpu.temperature_max = most(&s[TEMPERATURE]);
	gpu.link_generation = most(&s[LINK_GENERATION]);
	gpu.link_lanes = most(&s[LINK_LANES]);
	gpu.throttled = (double)b->slowed / reasons;
	gpu.throttled_power = (double)b->power / reasons;
	gpu.throttled_thermal = (double)b->thermal / reasons;
	return gpu;
}

static bool is_sampled(const struct building *b)
{
	for (unsigned i = 0; i < COUNTERS; i++)
		if (b->series[i].count)
			return true;
	return false;
}

static int list(struct gpus *g, struct analysis *a)
{
	a->gpus = calloc((size_t)g->t->device_count + 1, sizeof *a->gpus);
	for (uint32_t i = 0; i < g->t->device_count && a->gpus; i++)
		if (is_sampled(&g->devices[i]))
			a->gpus[a->gpu_count++] = figures(&g->devices[i], i);
	return a->gpus ? 0 : -ENOMEM;
}

int analyze_gpus(struct parts *p)
{
	struct gpus g = { .t = p->t };
	int rc = -ENOMEM;

	g.devices = calloc((size_t)g.t->device_count + 1, sizeof *g.devices);
	g.counter_of = calloc((size_t)g.t->string_count + 1, sizeof *g.counter_of);
	g.held = calloc((size_t)g.t->track_count + 1, sizeof *g.held);
	if (g.devices && g.counter_of && g.held) {
		for (uint32_t i = 0; i < g.t->device_count; i++)
			g.devices[i].gpu.program_memory = NAN;
		if (g.t->device_count && g.t->point_count)
			find_names(&g);
		for (uint32_t i = 0; i < g.t->point_count && g.t->device_count; i++)
			take_point(&g, &g.t->points[i]);
		rc = list(&g, p->a);
	}
	free(g.devices);
	free(g.counter_of);
	free(g.held);
	return rc;
}
