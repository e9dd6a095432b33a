/*
 * drain_listen.c - somebody hears of events while they are recorded.
 */
#include "record/drain_state.h"

void drain_listen(struct drain *d, drain_listener listener, void *arg)
{
	d->listener = listener;
	d->listener_arg = arg;
}

void drain_tell(const struct drain *d, const struct drain_process *p, uint32_t ring, struct drain_run run)
{
	const struct drain_ring *r = &p->rings[ring];

	if (run.count == 0)
		return;
	run.thread = r->track;
	run.process = p->id;
	if (p->file.pid_namespace == d->pid_namespace) {
		run.pid = (pid_t)p->file.pid;
		run.tid = (pid_t)r->tid;
	}
	d->listener(d->listener_arg, &run);
}

const char *drain_text(const struct drain *d, uint32_t name, size_t *ret_size)
{
	return trace_writer_text(d->writer, name, ret_size);
}

void drain_counts(const struct drain *d, uint64_t *ret_recorded, uint64_t *ret_lost)
{
	*ret_recorded = d->totals.recorded;
	*ret_lost = d->totals.lost;
}
