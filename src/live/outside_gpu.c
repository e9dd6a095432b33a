/* outside_gpu.c - GPUs, as the driver tells: by the recorder's sampler, or by one of our own once it is known to be of use. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/outside_parts.h"
#include "record/gpu_sample.h"

#define EARLY_LOOKS 5u
#define EARLY_NS 1000000000
#define LATER_NS 5000000000

/* ---- Where it comes from ------------------------------------------------------- */

/* Looking for CUDA's libraries takes milliseconds where processes are large or many. */
static void look_for_use(struct live_outside *o, int64_t now_ns)
{
	struct outside_gpus *g = &o->gpus;

	if (now_ns < g->next_ns)
		return;
	g->next_ns = now_ns + (g->looks++ < EARLY_LOOKS ? EARLY_NS : LATER_NS);
	gpu_watch_pass(&g->watch, NULL, o->root, now_ns);
}

/* Nothing of NVIDIA's is touched before the program has done so. */
static const struct gpu_table *own_table(struct live_outside *o, int64_t now_ns)
{
	struct outside_gpus *g = &o->gpus;
	struct gpu_packet packet;

	look_for_use(o, now_ns);
	if (!g->tried && g->watch.use.used) {
		g->tried = true;
		g->table = calloc(1, sizeof *g->table);
		if (g->table && gpu_sampler_start(&g->sampler, o->clock) != 0)
			snprintf(g->table->why, sizeof g->table->why, "the process that asks the driver cannot be begun");
	}
	while (g->table && gpu_sampler_take(&g->sampler, &packet))
		gpu_table_take(g->table, &packet);
	return g->table;
}

static const struct gpu_table *find_table(struct live_outside *o, int64_t now_ns)
{
	if (!o->gpus.samples)
		return own_table(o, now_ns);
	return *o->gpus.samples ? gpu_samples_table(*o->gpus.samples) : NULL;
}

/* ---- One GPU ------------------------------------------------------------------- */

static double value_of(const struct nvml_look *look, enum nvml_value value, double scale)
{
	return look->present >> value & 1 ? (double)look->values[value] * scale : NAN;
}

static bool is_ours(const struct live_outside *o, const struct nvml_process *p)
{
	return p->pid <= INT32_MAX && outside_tree_process(&o->tree, (pid_t)p->pid);
}

/* Memory of processes of the program: 0 where the driver names others only.  NAN where that cannot be told: it names nobody, does not
 * say how much one of ours has, or has other numbers for processes, as in containers. */
static double program_bytes(const struct live_outside *o, const struct nvml_look *look)
{
	double sum = look->processes_known && o->gpus.pids_hold && o->gpus.anybody ? 0 : NAN;

	for (uint32_t i = 0; look->processes_known && i < look->process_count; i++) {
		if (!is_ours(o, &look->processes[i]))
			continue;
		if (!look->processes[i].known)
			return NAN;
		outside_add(&sum, (double)look->processes[i].bytes);
	}
	return sum;
}

static void fill_gpu(const struct live_outside *o, const struct gpu_row *row, uint32_t number, struct live_gpu *ret)
{
	const struct nvml_look *look = &row->look;

	ret->number = number;
	memcpy(ret->name, row->name, sizeof ret->name);
	memcpy(ret->uuid, row->uuid, sizeof ret->uuid);
	ret->memory_used_bytes = value_of(look, NVML_MEMORY_USED, 1);
	ret->memory_total_bytes = value_of(look, NVML_MEMORY_TOTAL, 1);
	ret->program_bytes = program_bytes(o, look);
	ret->utilization = value_of(look, NVML_UTILIZATION, 0.01);
	ret->memory_utilization = value_of(look, NVML_MEMORY_UTILIZATION, 0.01);
	ret->sm_clock_mhz = value_of(look, NVML_SM_CLOCK, 1);
	ret->sm_clock_limit_mhz = value_of(look, NVML_SM_CLOCK_LIMIT, 1);
	ret->power_watts = value_of(look, NVML_POWER, 1e-3);
	ret->power_limit_watts = value_of(look, NVML_POWER_LIMIT, 1e-3);
	ret->temperature_celsius = value_of(look, NVML_TEMPERATURE, 1);
}

_Static_assert(sizeof(((struct live_gpu *)0)->name) == NVML_TEXT, "names are copied whole");
_Static_assert(LIVE_GPU_NUMBERS == NVML_DEVICES, "all numbers are known");

/* ---- All of them --------------------------------------------------------------- */

static bool is_used(const struct live_outside *o, const struct gpu_row *row)
{
	bool used = row->used;

	for (uint32_t i = 0; row->look.processes_known && i < row->look.process_count && !used; i++)
		used = is_ours(o, &row->look.processes[i]);
	return used;
}

static void look_for_anybody(struct outside_gpus *g, const struct gpu_table *table)
{
	for (uint32_t i = 0; i < NVML_DEVICES && !g->anybody; i++)
		g->anybody = table->gpus[i].looked && table->gpus[i].look.processes_known && table->gpus[i].look.process_count > 0;
}

/* Those that the program uses; while it uses none, or nobody can tell, all. */
static void fill_table(struct live_outside *o, const struct gpu_table *table, struct live_snapshot *s)
{
	bool any = false;

	look_for_anybody(&o->gpus, table);
	for (uint32_t i = 0; i < NVML_DEVICES; i++)
		any = any || (table->gpus[i].looked && is_used(o, &table->gpus[i]));
	for (uint32_t i = 0; i < NVML_DEVICES && s->gpu_count < LIVE_GPUS; i++)
		if (table->gpus[i].looked && (!any || is_used(o, &table->gpus[i])))
			fill_gpu(o, &table->gpus[i], i, &s->gpus[s->gpu_count++]);
}

static bool has_driver(struct outside_gpus *g)
{
	struct gpu_driver driver;

	if (!g->driver_looked) {
		gpu_driver_look(&driver, "");
		g->driver = driver.there;
		g->driver_looked = true;
	}
	return g->driver;
}

void outside_gpu_fill(struct live_outside *o, int64_t now_ns, struct live_snapshot *s)
{
	const struct gpu_table *table = find_table(o, now_ns);

	s->gpu_count = 0;
	if (table)
		fill_table(o, table, s);
	if (s->gpu_count)
		snprintf(s->gpu_source, sizeof s->gpu_source, "%s", table->told ? "cupti" : "nvml");
	else if (table && table->why[0])
		snprintf(s->gpu_source, sizeof s->gpu_source, "none: %s", table->why);
	else if (table)
		snprintf(s->gpu_source, sizeof s->gpu_source, "none: the driver has not answered yet");
	else
		snprintf(s->gpu_source, sizeof s->gpu_source, "none: %s",
			 has_driver(&o->gpus) ? "the program does not use CUDA" : "there is no NVIDIA driver");
}

void outside_gpu_release(struct outside_gpus *g)
{
	gpu_sampler_stop(&g->sampler);
	free(g->table);
}
