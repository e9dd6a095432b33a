/* outside.c - see outside.h. */
#include "live/outside.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "live/outside_parts.h"
#include "system/proc.h"

#define SECOND_NS 1000000000
#define ATTACHED_MAX 4096u

double outside_rate(uint64_t now, uint64_t before, double seconds)
{
	if (!(seconds > 0))
		return NAN;
	return now > before ? (double)(now - before) / seconds : 0;
}

void outside_add(double *sum, double value)
{
	if (!isnan(value))
		*sum = isnan(*sum) ? value : *sum + value;
}

/* ---- What this costs --------------------------------------------------------- */

static int64_t own_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * SECOND_NS + ts.tv_nsec;
}

/* Memory that others have as well, such as rings that the program writes to, is not this process's. */
static double own_rss(int status)
{
	static const char *const keys[] = { "\nRssAnon:", "\nRssFile:" };
	char text[4096];
	double sum = 0;

	if (proc_reread(status, text, sizeof text) <= 0)
		return NAN;
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		const char *at = strstr(text, keys[i]);
		uint64_t kb;

		if (!at)
			return NAN;
		at += strlen(keys[i]);
		sum += proc_number(&at, &kb) ? (double)kb * 1024 : NAN;
	}
	return sum;
}

static void look_at_self(struct outside_self *self, int64_t now_ns)
{
	int64_t cpu, passed = now_ns - self->cpu_time_ns;

	if (passed < SECOND_NS)
		return;
	cpu = own_cpu_ns();
	self->cpu = (double)(cpu - self->cpu_ns) / (double)passed;
	self->cpu_ns = cpu;
	self->cpu_time_ns = now_ns;
	self->rss_bytes = own_rss(self->status);
}

/* ---- The program ------------------------------------------------------------- */

static uint8_t state_of_root(const struct live_outside *o)
{
	const struct outside_process *p = outside_tree_process(&o->tree, o->root);
	char state = p ? p->now.counters.state : 'X';

	if (state == 'T' || state == 't')
		return LIVE_STOPPED;
	return p && (!p->now.leader_ended || p->now.counters.values[PROCESS_THREADS] > 1) ? LIVE_RUNNING : LIVE_ENDED;
}

/* Those that record themselves, as far as they are in the tree. */
static void mark_recorded(struct live_outside *o, int64_t now_ns)
{
	pid_t pid;

	if (!o->drain || now_ns - o->attached_ns < SECOND_NS)
		return;
	o->attached_ns = now_ns;
	for (uint32_t i = 0; i < ATTACHED_MAX && (pid = drain_attached(o->drain, i)) >= 0; i++) {
		struct outside_process *p = outside_tree_process(&o->tree, pid);

		if (p)
			p->recorded = true;
	}
}

void live_outside_fill(struct live_outside *o, int64_t now_ns, struct live_snapshot *s)
{
	const struct watch_view *view = watch_view_begin(o->watch);

	outside_death_take(o, view, s); /* while the tree has them */
	outside_tree_take(o, view);
	outside_machine_take(o, view);
	s->threads_left_out = view->refused;
	watch_view_end(o->watch);
	mark_recorded(o, now_ns);
	outside_machine_fill(o, now_ns, s);
	outside_list_fill(o, now_ns, s);
	outside_time_fill(o, now_ns, s);
	outside_gpu_fill(o, now_ns, s);
	look_at_self(&o->self, now_ns);
	s->state = state_of_root(o);
	s->own_cpu = o->self.cpu;
	s->own_rss_bytes = o->self.rss_bytes;
}

void live_outside_end(struct live_outside *o, struct live_snapshot *s)
{
	outside_death_take(o, watch_view_begin(o->watch), s);
	watch_view_end(o->watch);
}

/* ---- Beginning and end ------------------------------------------------------- */

int live_outside_new(struct live_outside **ret, struct watch *watch, pid_t root)
{
	struct live_outside *o = calloc(1, sizeof *o);
	struct timespec ts;

	if (!o)
		return -ENOMEM;
	o->watch = watch;
	o->root = root;
	o->clock = watch_clock(watch);
	o->tick_s = 1 / (double)clock_measure_rate(o->clock);
	o->gpus.sampler = (struct gpu_sampler)GPU_SAMPLER_INIT;
	o->gpus.pids_hold = proc_pids_are_global();
	o->self.status = proc_open(getpid(), 0, "status");
	o->self.cpu = NAN;
	o->self.rss_bytes = own_rss(o->self.status);
	o->self.cpu_ns = own_cpu_ns();
	clock_gettime(CLOCK_MONOTONIC, &ts);
	o->self.cpu_time_ns = (int64_t)ts.tv_sec * SECOND_NS + ts.tv_nsec;
	outside_time_open(&o->time);
	outside_machine_open(o);
	*ret = o;
	return 0;
}

void live_outside_share(struct live_outside *o, const struct recorder_scene *scene)
{
	o->drain = scene->drain;
	o->gpus.samples = scene->gpu_samples;
	o->time.begin_birth = 0; /* it has begun them all */
}

void live_outside_free(struct live_outside *o)
{
	if (!o)
		return;
	outside_tree_release(&o->tree);
	outside_machine_close(o);
	outside_gpu_release(&o->gpus);
	if (o->self.status >= 0)
		close(o->self.status);
	free(o);
}
