/* host.c - see host.h. */
#include "analyze/host.h"

#include <math.h>

#include "analyze/host_parts.h"

const char *host_owner_name(enum host_owner owner)
{
	static const char *const names[OWNER_COUNT] = {
		[OWNER_PYTHON] = "python",	 [OWNER_OPERATORS] = "operators", [OWNER_NATIVE] = "native",
		[OWNER_INPUT] = "data_loading",	 [OWNER_MESSAGES] = "messages",	 [OWNER_LOG] = "logging",	  [OWNER_GC] = "garbage_collection",
		[OWNER_COMPILE] = "compilation", [OWNER_IMPORT] = "imports",	  [OWNER_IO_CALLS] = "file_calls",
		[OWNER_MEMORY] = "new_memory",	 [OWNER_SYSTEM] = "kernel",	  [OWNER_FILE] = "wait_disk",
		[OWNER_FSYNC] = "wait_fsync",	 [OWNER_NETWORK] = "wait_network", [OWNER_CLIENTS] = "wait_clients", [OWNER_SLEEP] = "sleep",
		[OWNER_GIL] = "wait_gil",	 [OWNER_LOCK] = "wait_lock",	  [OWNER_WORKERS] = "wait_workers",
		[OWNER_CHILD] = "wait_child",	 [OWNER_POOL] = "wait_pool",	  [OWNER_DEVICE] = "wait_device",
		[OWNER_WAIT] = "wait_unresolved", [OWNER_EDGES] = "start_and_end",  [OWNER_PROFILER] = "profiler",  [OWNER_UNKNOWN] = "unknown",
	};

	return names[owner];
}

const char *host_unit_name(enum host_unit unit)
{
	static const char *const names[] = { "run", "loop", "steps" };

	return names[unit];
}

bool host_reads_early(const struct host_window *w)
{
	return w->file_waits > 0 && w->file_waits_early > w->file_waits / 10 * 7;
}

int64_t host_operator_memory(const struct analysis_host *h)
{
	int64_t time = 0;

	for (uint32_t i = 1; i < h->tree.count; i++)
		if (h->tree.nodes[i].flags & NODE_OPERATOR)
			time += h->window.costs[i].time[OWNER_MEMORY];
	return time;
}

static int fill(struct parts *p, struct analysis_host *h, struct host_names *names)
{
	int64_t from = h->window.from, to = h->window.to;
	struct host_others others;
	int rc = host_others_init(&others, h, names);

	if (rc)
		return rc;
	rc = host_load_find(&h->load, h, p->t, from, to);
	rc = rc ? rc : host_window_fill(&h->run, h, names, &others, 0, p->t->duration);
	rc = rc ? rc : host_window_fill(&h->window, h, names, &others, from, to);
	host_others_release(&others);
	return rc;
}

int analyze_host(struct parts *p)
{
	struct analysis_host *h = &p->a->host;
	struct host_names names;
	int rc = host_names_init(&names, p->t);

	if (rc)
		return rc;
	h->spine = h->states = h->process = TIMELINE_NONE;
	rc = host_choose(p, h, &names);
	if (rc == 0 && h->known)
		rc = fill(p, h, &names);
	host_names_release(&names);
	return rc;
}

void analysis_host_release(struct analysis_host *h)
{
	host_tree_release(&h->tree);
	host_window_release(&h->run);
	host_window_release(&h->window);
}
