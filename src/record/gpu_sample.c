/* gpu_sample.c - see gpu_sample.h. */
#include "record/gpu_sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "system/proc.h"
#include "system/process_counters.h"

#define NO_NUMBER UINT32_MAX
#define WAITING_MAX 256u  /* samples that wait until it is known whose GPUs they are of */
#define WAIT_NS 10000000000
#define GENERATIONS 64    /* up from a process that are looked for the root */
#define TRACKS_MAX 4096u  /* of processes on GPUs */

/* A GPU as the driver numbers them. */
struct gpu {
	bool used;
	uint32_t device; /* in the trace, plus one; 0: none yet */
	uint32_t track;  /* plus one */
	uint32_t written; /* bit n: value n has been, */
	uint64_t last[NVML_VALUE_COUNT]; /* as this */
};

/* A process on a GPU. */
struct process_track {
	uint32_t process, gpu;
	uint32_t pid;
	uint32_t track;
	uint64_t last;
	bool seen; /* in the sample at hand */
};

struct gpu_samples {
	struct gpu_sampler sampler;
	struct drain *drain;
	struct trace_writer *writer;
	pid_t root;
	int64_t begin_ns;
	bool all;       /* nobody tells which ones are used */
	bool numbers_hold; /* the driver's numbers of processes are ours: in a container they often are the host's */
	bool anybody;   /* the driver has named a process, of whomever */
	bool answered;  /* it has told how a GPU is */
	bool failed;    /* it has not, of any, and will not */
	uint32_t over;  /* GPUs that there is no use in asking */
	struct gpu gpus[NVML_DEVICES];
	struct process_track *processes;
	size_t process_count, process_capacity;
	struct gpu_packet *waiting;
	size_t waiting_count, waiting_capacity;
	struct gpu_sample_totals totals;
	struct gpu_packet packet;
	struct gpu_table table; /* as they are now */
};

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- Processes of the program ---------------------------------------------------- */

static bool has_attached(const struct gpu_samples *s, pid_t pid)
{
	pid_t found;

	for (uint32_t i = 0; (found = drain_attached(s->drain, i)) >= 0; i++)
		if (found == pid)
			return true;
	return false;
}

static bool descends(const struct gpu_samples *s, pid_t pid)
{
	struct process_counters facts;

	for (int i = 0; s->root > 0 && i < GENERATIONS && pid > 1; i++) {
		if (pid == s->root)
			return true;
		if (!process_counters_look(pid, &facts))
			return false;
		pid = facts.parent;
	}
	return false;
}

static bool is_ours(const struct gpu_samples *s, uint32_t pid)
{
	return pid > 0 && pid <= INT32_MAX && (descends(s, (pid_t)pid) || has_attached(s, (pid_t)pid));
}

/* ---- Tracks ---------------------------------------------------------------------- */

static uint32_t device_of(struct gpu_samples *s, uint32_t number)
{
	struct gpu *g = &s->gpus[number];
	uint32_t device;

	if (!g->device) {
		device = drain_outside_device(s->drain, number, s->table.gpus[number].uuid, s->table.gpus[number].name);
		g->device = device == NO_NUMBER ? 0 : device + 1;
	}
	return g->device - 1; /* wraps to NO_NUMBER */
}

static uint32_t new_track(struct gpu_samples *s, uint32_t device, int64_t process)
{
	struct trace_track track = { .kind = TRACK_DEVICE, .process = process, .os_id = device, .device = device, .parent = -1 };

	track.id = device == NO_NUMBER ? NO_NUMBER : drain_outside_track(s->drain);
	if (track.id != NO_NUMBER && trace_writer_track(s->writer, &track) != 0)
		return NO_NUMBER;
	return track.id;
}

static uint32_t track_of(struct gpu_samples *s, uint32_t number)
{
	struct gpu *g = &s->gpus[number];

	if (!g->track)
		g->track = new_track(s, device_of(s, number), -1) + 1;
	return g->track - 1;
}

static struct process_track *process_track(struct gpu_samples *s, uint32_t process, uint32_t pid, uint32_t number)
{
	struct process_track *t;

	for (size_t i = 0; i < s->process_count; i++)
		if (s->processes[i].process == process && s->processes[i].gpu == number)
			return &s->processes[i];
	if (s->process_count >= TRACKS_MAX || ARRAY_GROW(s->processes, s->process_capacity, s->process_count + 1) != 0)
		return NULL;
	t = &s->processes[s->process_count];
	*t = (struct process_track){ .process = process, .gpu = number, .pid = pid, .last = UINT64_MAX };
	t->track = new_track(s, device_of(s, number), process);
	if (t->track == NO_NUMBER)
		return NULL;
	s->process_count++;
	return t;
}

/* ---- Events ---------------------------------------------------------------------- */

static void write_counter(struct gpu_samples *s, uint32_t track, const char *name, uint64_t time, uint64_t value, struct error *err)
{
	const struct event_slot slot = {
		.time = time,
		.value = value,
		.name = trace_writer_string(s->writer, name, strlen(name)),
		.cpu = EVENT_CPU_UNKNOWN,
		.kind = EVENT_COUNTER,
		.flags = EVENT_FLAGS(PHASE_INSTANT, FIELD_INTEGER, 0),
	};

	(void)trace_writer_event(s->writer, track, &slot, NULL, 0, err);
	drain_outside_count(s->drain, 1);
}

static void write_values(struct gpu_samples *s, const struct gpu_packet *p, uint32_t track, struct error *err)
{
	struct gpu *g = &s->gpus[p->device];
	const struct nvml_look *look = &p->u.look;

	for (unsigned i = 0; i < NVML_VALUE_COUNT; i++) {
		if (!(look->present >> i & 1) || look->values[i] > INT64_MAX)
			continue;
		if (nvml_value_is_limit(i) && g->written >> i & 1 && g->last[i] == look->values[i])
			continue;
		write_counter(s, track, nvml_value_name(i), p->time, look->values[i], err);
		g->last[i] = look->values[i];
		g->written |= 1u << i;
	}
}

/* The track of a process of the program; NULL for those of others.  One that has ended since is known by its number. */
static struct process_track *find_process(struct gpu_samples *s, uint32_t pid, uint32_t gpu, uint64_t time)
{
	struct process_counters facts;
	uint32_t number;

	if (pid > 0 && pid <= INT32_MAX && !process_counters_look((pid_t)pid, &facts)) {
		for (size_t i = s->process_count; i-- > 0;)
			if (s->processes[i].pid == pid && s->processes[i].gpu == gpu)
				return &s->processes[i];
		return NULL;
	}
	if (!is_ours(s, pid))
		return NULL;
	number = drain_outside_process(s->drain, (pid_t)pid, facts.birth, facts.parent, time);
	return number == NO_NUMBER ? NULL : process_track(s, number, pid, gpu);
}

static void write_process(struct gpu_samples *s, const struct gpu_packet *p, const struct nvml_process *process, struct error *err)
{
	struct process_track *t;

	if (!process->known || process->bytes > INT64_MAX)
		return;
	t = find_process(s, process->pid, p->device, p->time);
	if (t)
		t->seen = true;
	if (!t || t->last == process->bytes)
		return;
	t->last = process->bytes;
	write_counter(s, t->track, "memory_used_bytes", p->time, process->bytes, err);
}

static void write_processes(struct gpu_samples *s, const struct gpu_packet *p, struct error *err)
{
	const struct nvml_look *look = &p->u.look;

	for (uint32_t i = 0; i < look->process_count; i++)
		write_process(s, p, &look->processes[i], err);
	for (size_t i = 0; i < s->process_count; i++) {
		struct process_track *t = &s->processes[i];

		if (t->gpu == p->device && !t->seen && t->last != 0) { /* it has left the GPU */
			t->last = 0;
			write_counter(s, t->track, "memory_used_bytes", p->time, 0, err);
		}
		t->seen = false;
	}
}

static void write_sample(struct gpu_samples *s, const struct gpu_packet *p, struct error *err)
{
	uint32_t track = track_of(s, p->device);

	if (track == NO_NUMBER) {
		s->totals.dropped++;
		return;
	}
	write_values(s, p, track, err);
	if (p->u.look.processes_known)
		write_processes(s, p, err);
	s->totals.samples++;
}

/* ---- Which GPUs ------------------------------------------------------------------ */

static void look_who(struct gpu_samples *s, const struct gpu_packet *p)
{
	struct gpu *g = &s->gpus[p->device];

	s->anybody |= s->numbers_hold && p->u.look.process_count > 0;
	for (uint32_t i = 0; i < p->u.look.process_count && !g->used; i++)
		g->used = is_ours(s, p->u.look.processes[i].pid);
	g->used = g->used || drain_device_described(s->drain, s->table.gpus[p->device].uuid);
}

static bool is_any_used(struct gpu_samples *s)
{
	bool any = false;

	for (uint32_t i = 0; i < NVML_DEVICES; i++) {
		struct gpu *g = &s->gpus[i];

		if (!s->table.gpus[i].there)
			continue;
		g->used = g->used || drain_device_described(s->drain, s->table.gpus[i].uuid);
		s->table.gpus[i].used = g->used;
		any |= g->used;
	}
	return any;
}

/* Of the samples that wait, those of GPUs that are used; the others are of no interest. */
static void write_waiting(struct gpu_samples *s, struct error *err)
{
	for (size_t i = 0; i < s->waiting_count; i++)
		if (s->all || s->gpus[s->waiting[i].device].used)
			write_sample(s, &s->waiting[i], err);
	s->waiting_count = 0;
}

static void keep(struct gpu_samples *s, const struct gpu_packet *p)
{
	if (s->waiting_count == WAITING_MAX || ARRAY_GROW(s->waiting, s->waiting_capacity, s->waiting_count + 1) != 0)
		s->totals.dropped++;
	else
		s->waiting[s->waiting_count++] = *p;
}

/* Nobody has told so far, and nobody will. */
static void decide(struct gpu_samples *s, bool last, struct error *err)
{
	bool any = is_any_used(s);

	if (!any && !s->all && !s->anybody)
		s->all = last || s->waiting_count == WAITING_MAX || now_ns() - s->begin_ns > WAIT_NS;
	if (any || s->all)
		write_waiting(s, err);
}

/* ---- Packets --------------------------------------------------------------------- */

static void take_sample(struct gpu_samples *s, const struct gpu_packet *p)
{
	if (!s->table.gpus[p->device].there)
		return;
	look_who(s, p);
	keep(s, p);
}

/* There is nothing to be had of this GPU any more, or of any. */
static void take_status(struct gpu_samples *s, const struct gpu_packet *p)
{
	uint32_t there = 0;

	for (uint32_t i = 0; i < NVML_DEVICES; i++)
		there += s->table.gpus[i].there;
	s->over += p->device < NVML_DEVICES;
	s->failed = !s->answered && (p->device == NVML_DEVICES || s->over == there);
}

static void take_all(struct gpu_samples *s, bool last, struct error *err)
{
	while (gpu_sampler_take(&s->sampler, &s->packet)) {
		gpu_table_take(&s->table, &s->packet);
		s->answered |= s->packet.kind == GPU_PACKET_SAMPLE;
		if (s->packet.kind == GPU_PACKET_SAMPLE)
			take_sample(s, &s->packet);
		else if (s->packet.kind == GPU_PACKET_STATUS)
			take_status(s, &s->packet);
	}
	decide(s, last, err);
	if (s->failed)
		drain_told_gpus(s->drain, &s->table);
}

bool gpu_samples_failed(const struct gpu_samples *s)
{
	return s->failed;
}

int gpu_samples_start(struct gpu_samples **ret, struct drain *drain, struct trace_writer *writer, enum clock_source clock, pid_t root)
{
	struct gpu_samples *s = calloc(1, sizeof *s);
	int rc;

	if (!s)
		return -ENOMEM;
	s->sampler = (struct gpu_sampler)GPU_SAMPLER_INIT;
	s->drain = drain;
	s->writer = writer;
	s->root = root;
	s->begin_ns = now_ns();
	s->numbers_hold = proc_pids_are_global();
	rc = gpu_sampler_start(&s->sampler, clock);
	if (rc != 0) {
		free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void gpu_samples_pass(struct gpu_samples *s, struct error *err)
{
	take_all(s, false, err);
}

void gpu_samples_finish(struct gpu_samples *s, struct error *err)
{
	take_all(s, true, err);
	gpu_sampler_stop(&s->sampler);
}

void gpu_samples_free(struct gpu_samples *s)
{
	if (!s)
		return;
	gpu_sampler_stop(&s->sampler);
	free(s->processes);
	free(s->waiting);
	free(s);
}

struct gpu_sample_totals gpu_samples_totals(const struct gpu_samples *s)
{
	struct gpu_sample_totals totals = s->totals;

	memcpy(totals.why, s->table.why, sizeof totals.why);
	return totals;
}

const struct gpu_table *gpu_samples_table(const struct gpu_samples *s)
{
	return &s->table;
}
