/*
 * host_waits.c - whose a wait of the spine is.
 *
 * A wait for the world (network, disk, sleep) is its own.  A wait for others of
 * the program (a lock, a queue, a pipe) is followed to those that were at work
 * at that moment: of its own process for locks, of other processes for pipes,
 * and then the other way round.  If meanwhile others wait for the interpreter's
 * lock, or for one lock in the user's own code, that is what all of them wait for.
 *
 * Several that are at work all of the time, in different places, cannot be told
 * apart: then it is a wait, and nobody is blamed.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/host_parts.h"
#include "base/array.h"

#define BLAMES_MOST 512u
#define PROCESSES_MOST 32u
#define LIFT_LEAST 1.5   /* at work that much more often while the spine waits than while it runs */
#define PEER_LEAST 0.03  /* of the wait for processes, at work */
#define BLAME_LEAST 0.15 /* of all blame, to be one of several */
#define CONTENDED_LEAST 50000000 /* ns that others wait for locks in the user's own code */
#define RAN_LEAST 1e8    /* ns that the spine was seen to run, to compare with */

static bool waits_in_own_code(const struct other_thread *other)
{
	return other->state == STATE_LOCK && other->place != TIMELINE_NONE && other->place == other->leaf;
}

/* Who else wants something at this moment. */
struct moment {
	unsigned active;   /* of the spine's process */
	unsigned gil, lock;
	unsigned remote;   /* active, of other processes with events of their own */
	unsigned programs; /* active, of other programs */
	unsigned between;  /* of the spine's process: wait for another process */
	unsigned processes; /* that the remote ones belong to, up to PROCESSES_MOST */
	uint32_t seen[PROCESSES_MOST];
};

static void note_process(struct moment *m, uint32_t process)
{
	for (unsigned i = 0; i < m->processes; i++)
		if (m->seen[i] == process)
			return;
	if (m->processes < PROCESSES_MOST)
		m->seen[m->processes++] = process;
}

/* A lock in shared memory: other processes may hold it. */
static bool is_shared(const char *what)
{
	return what && strncmp(what, "shared:", 7) == 0;
}

static bool waits_for_process(const struct other_thread *other)
{
	return other->state == STATE_PIPE || other->state == STATE_SOCKET_LOCAL || other->state == STATE_POLL || other->state == STATE_CHILD ||
	       (other->state == STATE_LOCK && is_shared(other->what));
}

static struct moment look_around(const struct host_others *others, bool loader)
{
	struct moment m = { 0 };

	for (size_t i = 0; i < others->count; i++) {
		const struct other_thread *other = &others->threads[i];

		if (other->same) {
			m.active += other->active && other->state != STATE_GIL;
			m.gil += other->state == STATE_GIL && other->place != TIMELINE_NONE;
			m.lock += waits_in_own_code(other);
			m.between += waits_for_process(other);
		} else if (other->active) {
			bool counts = other->traced && (!loader || other->flags & NODE_LOADER);

			m.remote += counts;
			m.programs += !other->traced;
			if (counts)
				note_process(&m, other->process);
		}
	}
	return m;
}

/* ---- Blame ------------------------------------------------------------------- */

static struct host_blame *blame_of(struct host_window *w, const struct host_blame *key)
{
	for (size_t i = 0; i < w->blame_count; i++) {
		struct host_blame *b = &w->blames[i];

		if (b->thread == key->thread && b->name == key->name && b->state == key->state)
			return b;
	}
	if (w->blame_count >= BLAMES_MOST || ARRAY_GROW(w->blames, w->blame_capacity, w->blame_count + 1) < 0)
		return NULL;
	w->blames[w->blame_count] = *key;
	return &w->blames[w->blame_count++];
}

static void blame(struct host_window *w, const struct timeline *t, const struct other_thread *other, int64_t time)
{
	uint32_t slice = other->place != TIMELINE_NONE ? other->place : other->leaf;
	const struct host_blame key = {
		.thread = other->track,
		.process = other->process,
		.name = slice != TIMELINE_NONE ? slice_name(t, slice) : 0,
		.state = other->state,
	};
	struct host_blame *b = blame_of(w, &key);

	if (b)
		b->time = time_sum(b->time, time);
}

/* Evenly among those that were at work. */
static void blame_all(struct host_window *w, struct host_others *others, bool same, unsigned count, bool loader, int64_t duration)
{
	for (size_t i = 0; i < others->count; i++) {
		struct other_thread *other = &others->threads[i];

		if (!other->active || other->same != same || (other->same && other->state == STATE_GIL))
			continue;
		if (!same && loader && !(other->flags & NODE_LOADER))
			continue;
		blame(w, others->t, other, duration / (count ? count : 1));
		other->active_waiting = time_sum(other->active_waiting, duration);
	}
	w->resolved = time_sum(w->resolved, duration);
}

/* ---- Owners ------------------------------------------------------------------ */

static void add_place(struct place_times *places, uint32_t name, int64_t time)
{
	size_t i = 0;

	while (i < places->count && places->rows[i].name != name)
		i++;
	if (i == PLACES_TOLD)
		return;
	if (i == places->count) {
		places->rows[i].name = name;
		places->rows[i].time = 0;
		places->count++;
	}
	places->rows[i].time = time_sum(places->rows[i].time, time);
}

/* The name with most of the time; of several, the first by its text. */
static uint32_t most_of(const struct place_times *places, const struct timeline *t)
{
	size_t best = 0;

	for (size_t i = 1; i < places->count; i++) {
		int64_t more = places->rows[i].time - places->rows[best].time;

		if (more > 0 || (more == 0 && strcmp(timeline_string(t, places->rows[i].name, NULL),
						     timeline_string(t, places->rows[best].name, NULL)) < 0))
			best = i;
	}
	return places->count ? places->rows[best].name : 0;
}

static bool is_holder(const struct other_thread *other)
{
	return other->same && other->active && other->state == STATE_RUNNING && other->place != TIMELINE_NONE;
}

static enum host_owner contended(struct host_window *w, struct host_others *others, const struct moment *m, bool gil, int64_t duration)
{
	for (size_t i = 0; i < others->count; i++) {
		const struct other_thread *other = &others->threads[i];

		if (gil && is_holder(other))
			add_place(&others->holders, slice_name(others->t, other->place), duration);
		else if (!gil && other->same && waits_in_own_code(other))
			add_place(&others->waiters, slice_name(others->t, other->place), duration);
	}
	if (gil) {
		w->gil_time = time_sum(w->gil_time, duration);
		w->gil_waiters += (double)m->gil * (double)duration;
		return OWNER_GIL;
	}
	w->lock_time = time_sum(w->lock_time, duration);
	w->lock_waiters += (double)m->lock * (double)duration;
	return OWNER_LOCK;
}

static enum host_owner for_threads(struct host_window *w, struct host_others *others, const struct moment *m, int64_t duration)
{
	if (m->gil)
		return contended(w, others, m, true, duration);
	if (m->lock)
		return contended(w, others, m, false, duration);
	blame_all(w, others, true, m->active, false, duration);
	return OWNER_WORKERS;
}

static enum host_owner for_processes(struct host_window *w, struct host_others *others, const struct moment *m, bool loader,
				     int64_t duration)
{
	unsigned count = loader ? m->remote : m->remote + m->programs;

	blame_all(w, others, false, count, loader, duration);
	if (m->remote == 0)
		return OWNER_CHILD;
	w->active += (double)m->processes * (double)duration;
	w->cores += (isnan(w->cpus) ? 1 : fmin(w->cpus, m->processes)) * (double)duration;
	w->remote = time_sum(w->remote, duration);
	return OWNER_WORKERS;
}

/* A lock of the process itself is let go of by a thread of it; another process is waited for only if such a thread does. */
static bool can_be_process(const struct host_wait *wait, const struct moment *m)
{
	return wait->state != STATE_LOCK || !wait->what || is_shared(wait->what) || m->between;
}

/* To wait in one's own code for a thread at work may be to wait for its result (queues of C have no frame): contention is
 * what others wait in as well, then or at another time. */
static bool is_contended(const struct host_others *others, const struct host_node *n, const struct moment *m)
{
	return n->flags & NODE_OWN && (m->lock || (m->active + m->gil && others->contended >= CONTENDED_LEAST));
}

static enum host_owner for_others(struct host_window *w, struct host_others *others, const struct host_wait *wait, int64_t duration)
{
	const struct host_node *n = &w->tree->nodes[wait->node];
	bool loader = n->flags & NODE_LOADER_WORKERS;
	struct moment m = look_around(others, loader);
	bool threads = m.active || m.gil, processes = (m.remote || (m.programs && !loader)) && can_be_process(wait, &m);
	enum host_state state = wait->state;

	if (state == STATE_GIL)
		return contended(w, others, &m, true, duration);
	if (state == STATE_LOCK && is_contended(others, n, &m))
		return contended(w, others, &m, false, duration);
	if (state == STATE_LOCK && threads)
		return for_threads(w, others, &m, duration);
	if (processes)
		return for_processes(w, others, &m, loader, duration);
	if (threads)
		return for_threads(w, others, &m, duration);
	if (state == STATE_CHILD || n->flags & NODE_SUBPROCESS)
		return OWNER_CHILD;
	w->unresolved = time_sum(w->unresolved, duration);
	return OWNER_WAIT;
}

/* Of "tcp:client 10.0.0.7:40312", as the recorder names a connection that came in. */
static bool is_client(const char *what)
{
	const char *colon = what ? strchr(what, ':') : NULL;

	return colon && strncmp(colon, ":client ", 8) == 0;
}

bool host_serves(const struct host_window *w)
{
	return w->time[OWNER_CLIENTS] > (w->to - w->from) / 2;
}

/* Others that sleep as well have no work that this sleep could be for. */
static bool anybody_works(const struct host_others *others)
{
	for (size_t i = 0; i < others->count; i++)
		if (others->threads[i].active && others->threads[i].state != STATE_SLEEP)
			return true;
	return false;
}

/* A loop that waits for several things at once, while nobody of the program works: what the recorder says of them. */
static enum host_owner loop_owner(const char *what)
{
	static const struct {
		const char *what;
		enum host_owner owner;
	} loops[] = { { "epoll:network", OWNER_NETWORK }, { "epoll:client", OWNER_CLIENTS }, { "epoll:timer", OWNER_SLEEP } };

	for (size_t i = 0; what && i < sizeof loops / sizeof loops[0]; i++)
		if (strcmp(what, loops[i].what) == 0)
			return loops[i].owner;
	return OWNER_COUNT;
}

enum host_owner host_wait_owner(struct host_window *w, struct host_others *others, const struct host_wait *wait, int64_t time,
				int64_t duration)
{
	switch (wait->state) {
	case STATE_FILE:
	case STATE_PAGE_FAULT_IO:
		return OWNER_FILE;
	case STATE_FSYNC:
		return OWNER_FSYNC;
	case STATE_SOCKET_NETWORK:
		return is_client(wait->what) ? OWNER_CLIENTS : OWNER_NETWORK;
	case STATE_BARRIER:
		return OWNER_POOL;
	case STATE_DEVICE:
		return OWNER_DEVICE;
	case STATE_UNKNOWN:
		return OWNER_WAIT;
	case STATE_SLEEP:
		host_others_at(others, time);
		if (anybody_works(others))
			w->sleep_with_work = time_sum(w->sleep_with_work, duration);
		return OWNER_SLEEP;
	case STATE_POLL:
		host_others_at(others, time);
		if (loop_owner(wait->what) != OWNER_COUNT && !anybody_works(others))
			return loop_owner(wait->what);
		return for_others(w, others, wait, duration);
	default:
		host_others_at(others, time);
		return for_others(w, others, wait, duration);
	}
}

void host_ran(struct host_window *w, struct host_others *others, int64_t time, int64_t duration)
{
	bool wanted = false;

	host_others_at(others, time);
	others->ran = time_sum(others->ran, duration);
	for (size_t i = 0; i < others->count; i++) {
		struct other_thread *other = &others->threads[i];

		if (!other->active)
			continue;
		other->active_running = time_sum(other->active_running, duration);
		wanted |= other->same && other->place != TIMELINE_NONE;
	}
	if (wanted)
		w->others_active += (double)duration;
}

/* ---- Afterwards -------------------------------------------------------------- */

static const struct other_thread *thread_of(const struct host_others *others, uint32_t track)
{
	for (size_t i = 0; i < others->count; i++)
		if (others->threads[i].track == track)
			return &others->threads[i];
	return NULL;
}

/* How much more often a thread is at work while the spine waits; nothing where the spine was hardly seen to run. */
static double lift_of(const struct other_thread *other, double waited, double ran)
{
	double waiting = waited > 0 ? (double)other->active_waiting / waited : 0;
	double running = ran > 0 ? (double)other->active_running / ran : 0;

	if (ran < RAN_LEAST)
		return 0;
	return running > 0 ? waiting / running : waiting > 0 ? 1e9 : 0;
}

/* By what does not depend on the order in which the trace lists threads and names. */
static int compare_blames(const void *a, const void *b, void *arg)
{
	const struct timeline *t = arg;
	const struct host_blame *x = a, *y = b;
	int names = strcmp(timeline_string(t, x->name, NULL), timeline_string(t, y->name, NULL));

	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	if (names)
		return names;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (t->tracks[x->thread].os_id != t->tracks[y->thread].os_id)
		return t->tracks[x->thread].os_id < t->tracks[y->thread].os_id ? -1 : 1;
	return x->state < y->state ? -1 : x->state > y->state;
}

static bool does(const struct host_window *w, uint32_t process, uint32_t name)
{
	for (size_t i = 0; i < w->blame_count; i++)
		if (w->blames[i].process == process && w->blames[i].name == name)
			return true;
	return false;
}

/* Those of one process are one party, and so are processes that do the same, if not at the same time. */
static bool are_one_party(const struct host_window *w, uint32_t x, uint32_t y)
{
	if (x == y)
		return true;
	for (size_t i = 0; i < w->blame_count; i++)
		if (w->blames[i].process == x && does(w, y, w->blames[i].name))
			return true;
	return false;
}

static bool are_ambiguous(const struct host_window *w, int64_t all)
{
	for (size_t i = 1; i < w->blame_count; i++) {
		const struct host_blame *b = &w->blames[i];

		if ((double)b->time >= BLAME_LEAST * (double)all && !are_one_party(w, w->blames[0].process, b->process))
			return true;
	}
	return false;
}

/* Leaves those out that are as much at work when nobody waits for them. */
static void keep_lifted(struct host_window *w, const struct host_others *others, double ran)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->blame_count; i++) {
		const struct other_thread *other = thread_of(others, w->blames[i].thread);

		if (other && lift_of(other, (double)w->resolved, ran) >= LIFT_LEAST)
			w->blames[kept++] = w->blames[i];
	}
	w->blame_count = kept;
}

/* Processes that were at work for a good part of the wait for them. */
static void count_peers(struct host_window *w, const struct host_others *others)
{
	for (size_t i = 0; i < others->count; i++) {
		const struct other_thread *other = &others->threads[i];
		bool seen = false;

		if (other->same || !other->traced || (double)other->active_waiting <= PEER_LEAST * (double)w->remote)
			continue;
		for (size_t k = 0; k < i && !seen; k++)
			seen = others->threads[k].process == other->process &&
			       (double)others->threads[k].active_waiting > PEER_LEAST * (double)w->remote;
		w->active_peers += !seen;
	}
}

void host_waits_finish(struct host_window *w, struct host_others *others)
{
	int64_t all = 0;

	if (w->blame_count > 1)
		qsort_r(w->blames, w->blame_count, sizeof *w->blames, compare_blames, (void *)others->t);
	for (size_t i = 0; i < w->blame_count; i++)
		all = time_sum(all, w->blames[i].time);
	if (are_ambiguous(w, all)) {
		keep_lifted(w, others, (double)others->ran);
		if (w->blame_count == 0) {
			w->unresolved = time_sum(w->unresolved, w->resolved);
			w->resolved = 0;
		}
	}
	count_peers(w, others);
	w->gil_place = most_of(&others->holders, others->t);
	w->lock_place = most_of(&others->waiters, others->t);
	w->active = w->remote > 0 ? w->active / (double)w->remote : 0;
	w->cores = w->remote > 0 ? w->cores / (double)w->remote : 0;
	w->gil_waiters = w->gil_time > 0 ? w->gil_waiters / (double)w->gil_time : 0;
	w->lock_waiters = w->lock_time > 0 ? w->lock_waiters / (double)w->lock_time : 0;
}
