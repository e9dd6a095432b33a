/* watch_view.c - how things are now: copies for another thread, which are made after every look. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "record/watch_state.h"

void watch_view_init(struct watch *w)
{
	pthread_mutex_init(&w->views.lock, NULL);
}

void watch_view_release(struct watch *w)
{
	pthread_mutex_destroy(&w->views.lock);
	free(w->views.processes);
	free(w->views.threads);
}

const struct watch_view *watch_view_begin(struct watch *w)
{
	pthread_mutex_lock(&w->views.lock);
	return &w->views.view;
}

void watch_view_end(struct watch *w)
{
	pthread_mutex_unlock(&w->views.lock);
}

static void view_process(const struct watched_process *p, struct watched_process_view *ret)
{
	*ret = (struct watched_process_view){
		.number = p->number,
		.pid = p->pid,
		.parent = p->parent,
		.birth = p->birth,
		.programs = p->programs,
		.leader_ended = p->leader_ended,
		.syscalls = p->syscalls,
		.time = p->now_time,
		.io_time = p->io_time,
		.cpu_ns = p->cpu_ns,
		.counters = p->now,
	};
}

static void view_thread(const struct watched_thread *t, struct watched_thread_view *ret)
{
	ret->number = t->number;
	ret->process = t->process->number;
	ret->pid = t->process->pid;
	ret->tid = t->tid;
	ret->main = t->main;
	ret->time = t->last;
	ret->ledger = t->ledger;
	ret->since = t->since;
	ret->object = t->object;
}

/* What there is no memory for is not shown. */
static void fill(const struct watch *w, struct watch_views *v)
{
	size_t processes = w->process_count, threads = w->thread_count;

	if (processes > v->process_capacity && ARRAY_GROW(v->processes, v->process_capacity, processes) != 0)
		processes = v->process_capacity;
	if (threads > v->thread_capacity && ARRAY_GROW(v->threads, v->thread_capacity, threads) != 0)
		threads = v->thread_capacity;
	for (size_t i = 0; i < processes; i++)
		view_process(w->processes[i], &v->processes[i]);
	if (w->death_count != v->view.death_count)
		memcpy(v->deaths, w->deaths, sizeof v->deaths);
	v->view = (struct watch_view){
		.looks = v->view.looks + 1,
		.processes = v->processes,
		.threads = v->threads,
		.process_count = processes,
		.thread_count = threads,
		.death_count = w->death_count,
		.deaths = v->deaths,
		.machine_time = w->machine_time,
		.machine = w->machine,
	};
	for (size_t i = 0; i < threads; i++)
		view_thread(w->threads[i], &v->threads[i]);
	for (size_t i = 0; i < w->process_count; i++)
		v->view.refused += w->processes[i]->refused;
}

void watch_view_make(struct watch *w)
{
	if (!w->options.views)
		return;
	pthread_mutex_lock(&w->views.lock);
	fill(w, &w->views);
	pthread_mutex_unlock(&w->views.lock);
}
