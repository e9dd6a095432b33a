/* report_json_host.c - the attribution of the analysis JSON: whose the time of the spine was, and where. */
#include <math.h>
#include <stdlib.h>

#include "report/report_parts.h"

#define NODE_SHARE_LEAST 0.005 /* of the window: smaller nodes are part of their callers */

static void put_owners(struct json_writer *j, const char *key, const int64_t *time, int64_t span)
{
	json_open(j, key, '[');
	for (unsigned i = 0; i < OWNER_COUNT; i++) {
		if (time[i] == 0)
			continue;
		json_open(j, NULL, '{');
		json_text(j, "category", host_owner_name(i));
		json_us(j, "duration_us", time[i]);
		json_fixed(j, "percentage", span > 0 ? 100 * (double)time[i] / (double)span : 0, 2);
		json_close(j);
	}
	json_close(j);
}

static void put_load(struct json_writer *j, const struct host_load *l)
{
	json_open(j, "load", '{');
	json_fixed(j, "cpus", l->cpus, 0);
	json_fixed(j, "program_cores", l->tree, 3);
	json_fixed(j, "demanded_cores", l->demand, 3);
	json_fixed(j, "other_cores", l->outside, 3);
	json_fixed(j, "idle_cores", l->idle, 3);
	json_fixed(j, "system_percent", 100 * l->system_share, 2);
	json_fixed(j, "throttled_percent", 100 * l->throttled, 2);
	json_unsigned(j, "busy_threads", l->busy_threads);
	json_fixed(j, "read_calls_per_second", l->read_calls, 1);
	json_fixed(j, "write_calls_per_second", l->write_calls, 1);
	json_fixed(j, "read_bytes_per_second", l->read_bytes, 0);
	json_fixed(j, "written_bytes_per_second", l->written_bytes, 0);
	json_fixed(j, "disk_read_bytes_per_second", l->disk_bytes, 0);
	json_fixed(j, "page_faults_per_second", l->faults, 1);
	json_fixed(j, "memory_begin_bytes", l->memory_begin, 0);
	json_fixed(j, "memory_end_bytes", l->memory_end, 0);
	json_close(j);
}

/* ---- The tree ---------------------------------------------------------------- */

/* Self and total times by node; what is too small has been added to its caller. */
struct folded {
	int64_t *total;
	int64_t (*self)[OWNER_COUNT];
	bool *kept;
};

static bool folded_init(struct folded *f, const struct host_window *w)
{
	uint32_t count = w->tree->count;

	f->total = calloc(count, sizeof *f->total);
	f->self = calloc(count, sizeof *f->self);
	f->kept = calloc(count, sizeof *f->kept);
	if (!f->total || !f->self || !f->kept)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		f->total[i] = w->costs[i].wall;
		for (unsigned k = 0; k < OWNER_COUNT; k++)
			f->self[i][k] = w->costs[i].time[k];
	}
	return true;
}

static void folded_release(struct folded *f)
{
	free(f->total);
	free(f->self);
	free(f->kept);
}

/* From the leaves up: callers come before those they call. */
static void fold(struct folded *f, const struct host_window *w)
{
	double least = NODE_SHARE_LEAST * (double)(w->to - w->from);

	for (uint32_t i = w->tree->count; i-- > 1;) {
		uint32_t parent = w->tree->nodes[i].parent;

		f->total[parent] += f->total[i];
		if ((double)f->total[i] >= least) {
			f->kept[i] = true;
			continue;
		}
		for (unsigned k = 0; k < OWNER_COUNT; k++)
			f->self[parent][k] += f->self[i][k];
	}
}

static void put_node(struct json_writer *j, const struct folded *f, const struct host_window *w, const struct timeline *t, uint32_t node)
{
	int64_t self = 0;

	for (unsigned k = 0; k < OWNER_COUNT; k++)
		self += f->self[node][k];
	json_open(j, NULL, '{');
	json_unsigned(j, "node", node);
	if (node) {
		json_unsigned(j, "parent", w->tree->nodes[node].parent);
		report_json_name(j, "name", t, w->tree->nodes[node].name);
	} else {
		json_null(j, "parent");
		json_text(j, "name", "thread");
	}
	json_unsigned(j, "depth", w->tree->nodes[node].depth);
	json_us(j, "total_us", f->total[node]);
	json_us(j, "self_us", self);
	put_owners(j, "owners", f->self[node], w->to - w->from);
	json_close(j);
}

/* Those who call before those they call; self times sum to the window. */
static void put_tree(struct json_writer *j, const struct host_window *w, const struct timeline *t)
{
	struct folded f = { 0 };

	json_open(j, "tree", '[');
	if (folded_init(&f, w)) {
		fold(&f, w);
		for (uint32_t i = 0; i < w->tree->count; i++)
			if (i == 0 || f.kept[i])
				put_node(j, &f, w, t, i);
	}
	json_close(j);
	folded_release(&f);
}

void report_json_host(struct json_writer *j, const struct analysis *a)
{
	const struct analysis_host *h = &a->host;
	const struct host_window *w = &h->window;
	int64_t span = w->to - w->from;

	if (!h->known)
		return;
	json_open(j, "attribution", '{');
	json_text(j, "unit", host_unit_name(h->unit));
	json_us(j, "from_us", w->from);
	json_us(j, "to_us", w->to);
	json_unsigned(j, "steps", h->unit == UNIT_RUN ? 0 : h->steps);
	json_unsigned(j, "steps_left_out", h->skipped);
	json_unsigned(j, "thread_id", a->timeline->tracks[h->spine].os_id);
	json_bool(j, "seen_from_outside", w->looked);
	json_unsigned(j, "waits_sampled", w->waits);
	json_unsigned(j, "places_sampled", w->samples);
	json_fixed(j, "run_percent", 100 * w->run, 2);
	json_fixed(j, "queue_percent", 100 * w->queue, 2);
	json_fixed(j, "blocked_percent", 100 * w->blocked, 2);
	json_fixed(j, "workers_waited_for", w->active_peers, 0);
	json_fixed(j, "workers_at_work", w->active, 2);
	put_owners(j, "owners", w->time, span);
	put_load(j, &h->load);
	put_tree(j, w, a->timeline);
	json_close(j);
}
