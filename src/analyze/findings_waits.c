/*
 * findings_waits.c - waits of the host: for input, locks, other threads and processes, the network.
 *
 * Gains.  Side by side: a step takes the longer of the program's own part and of
 * what it waits for, divided by how many can do that, and no less than all of it
 * on the cores there are; handing over costs a twentieth.  Free cores are those
 * that the program used or nobody did: a fix that needs one gains nothing
 * without.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/findings_host.h"
#include "analyze/words.h"
#include "base/text.h"

#define HANDING_OVER 0.05
#define HANDING_LEAST 0.15 /* of the time: less is what workers cost */
#define PYTHON_MOSTLY 0.5  /* of samples */
#define IN_FLIGHT 4.0      /* requests that a client may have under way */
#define ASKS_A_STEP 20.0
#define WORKERS_MOST 32.0
#define WAITING_MOST 8.0   /* workers that wait take no processor, but memory */
#define WORKERS_LEAST 0.2  /* gain: then one setting is better advice than to write the samples anew */

static double cpus_of(const struct host_cells *c)
{
	return isnan(c->h->load.cpus) ? 1 : fmax(1, c->h->load.cpus);
}

static double free_of(const struct host_cells *c)
{
	return isnan(c->h->load.free_cores) ? 1 : fmax(1, c->h->load.free_cores);
}

static bool has_idle_core(const struct host_cells *c)
{
	return !isnan(c->h->load.idle) && c->h->load.idle >= IDLE_CORE;
}

/* ---- Input ------------------------------------------------------------------- */

/* Of samples, without those of recording. */
static double python_share(const uint32_t *places)
{
	uint32_t all = 0;

	for (unsigned i = 0; i < PLACE_COUNT; i++)
		all += i == PLACE_PROFILER ? 0 : places[i];
	return all ? (double)places[PLACE_INTERPRETER] / all : 0;
}

static double python_share_of_thread(const struct host_cells *c, uint32_t track)
{
	const struct timeline *t = c->p->t;
	uint32_t places[PLACE_COUNT] = { 0 }, count, first = timeline_looks_from(t, track, c->w->from, &count);
	struct host_names names;

	if (host_names_init(&names, t) != 0)
		return 0;
	for (uint32_t i = first; i < first + count && t->looks[i].begin < c->w->to; i++)
		if (t->looks[i].kind == LOOK_PLACE)
			places[host_look_place(&names, &t->looks[i])]++;
	host_names_release(&names);
	return python_share(places);
}

/* Processes that load: how many cores they use together, and how many of them wait for something else, on average. */
struct loaders {
	double work, waits;
	double count;
	uint32_t first; /* its states */
};

/* Of the time that others are blamed for: in which they wait, for a disk, another machine or the end of a pause. */
static double waiting_part(const struct host_cells *c)
{
	int64_t all = 0, waits = 0;

	for (size_t i = 0; i < c->w->blame_count; i++) {
		const struct host_blame *b = &c->w->blames[i];

		all = time_sum(all, b->time);
		waits = b->state == STATE_RUNNING || b->state == STATE_GIL ? waits : time_sum(waits, b->time);
	}
	return share(waits, all);
}

static struct loaders find_loaders(const struct host_cells *c)
{
	struct loaders found = { .first = TIMELINE_NONE };

	for (size_t i = 0; i < c->w->blame_count; i++) {
		const struct host_blame *b = &c->w->blames[i];
		double begin, end;
		bool seen = false;

		for (size_t k = 0; k < i; k++)
			seen |= c->w->blames[k].thread == b->thread;
		if (seen || b->process == c->h->process)
			continue;
		if (found.first == TIMELINE_NONE)
			found.first = b->thread;
		found.count++;
		if (host_counter(c->p->t, b->thread, "run_ns", c->w->from, c->w->to, &begin, &end))
			found.work += (end - begin) / (double)c->span;
	}
	found.waits = found.count > 0 ? fmin(c->w->active, found.count) * cells_share(c, c->w->remote) * waiting_part(c) : 0;
	return found;
}

struct input {
	bool workers_used; /* it loads in workers, whether they were waited for or not */
	double owned, rest, work, waits, workers, python; /* work takes a processor, waits do not */
	double step; /* that it would take on a quiet machine: the unit of the others */
	bool processes;
};

/* The time of a step, in steps of now, if loading is done by `workers` beside the rest. */
static double beside(const struct input *in, double workers, double cores)
{
	return fmax(fmax(in->rest, (in->work + in->waits) / workers), (in->rest + in->work) / cores) + HANDING_OVER * in->work;
}

static bool mostly_waits(const struct input *in)
{
	return in->waits > in->work;
}

/* Whether most of the loader's time is in what speaks to workers. */
static bool uses_workers(const struct host_cells *c)
{
	int64_t with = 0, all = 0;

	for (uint32_t i = 1; i < c->h->tree.count; i++) {
		uint32_t flags = c->h->tree.nodes[i].flags;

		all += flags & NODE_LOADER ? c->w->costs[i].wall : 0;
		with += flags & NODE_LOADER_WORKERS ? c->w->costs[i].wall : 0;
	}
	return with > all / 2;
}

/* In processor time: what was waited for processors, others may have taken. */
static struct input look_at_input(const struct host_cells *c, int64_t owned)
{
	struct input in = { .owned = cells_share(c, owned), .step = 1 };
	struct loaders loaders = find_loaders(c);
	double ran = c->w->run + c->w->queue;

	in.rest = 1 - in.owned;
	in.workers_used = uses_workers(c);
	in.processes = loaders.count > 0;
	in.work = in.processes ? loaders.work : in.owned;
	in.waits = in.processes ? loaders.waits : 0;
	in.workers = loaders.count;
	in.python = in.processes ? python_share_of_thread(c, loaders.first) : python_share(c->w->input_places);
	if (in.processes && ran > 0) {
		in.rest *= c->w->run / ran;
		in.step = fmax(0.01, fmax(in.rest, (in.work + in.waits) / in.workers));
		in.rest /= in.step;
		in.work /= in.step;
		in.waits /= in.step;
		in.owned = 1 - in.rest;
	}
	return in;
}

static double workers_wanted(const struct host_cells *c, const struct input *in)
{
	double wanted = ceil((in->work + in->waits) / fmax(in->rest, 0.02)), most = mostly_waits(in) ? WAITING_MOST : fmax(1, cpus_of(c));

	return fmin(fmin(fmax(wanted, in->workers + 1), fmax(most, in->workers + 1)), WORKERS_MOST);
}

/* More processes, or a cheaper sample: whichever gains more. */
static void gain_input(const struct host_cells *c, const struct input *in, struct host_claim *claim, double workers, bool *ret_cheaper)
{
	bool room = has_idle_core(c) || mostly_waits(in);
	double most = fmax(0, 1 - beside(in, workers, cpus_of(c)));
	double least = fmax(0, 1 - beside(in, workers, free_of(c)));
	double cheaper = in->python >= PYTHON_MOSTLY && !mostly_waits(in) ? 0.85 * in->owned : 0;

	least = room ? least : fmax(least, 0.5 * most);
	*ret_cheaper = cheaper > (most + least) / 2 && !(room && (most + least) / 2 >= WORKERS_LEAST);
	claim->f.gain = *ret_cheaper ? cheaper : (most + least) / 2;
	claim->f.gain_high = fmin(GAIN_MOST, 1.1 * fmax(most, in->python >= PYTHON_MOSTLY ? in->owned : 0) + 0.02);
	claim->f.gain_low = room || *ret_cheaper ? 0.5 * claim->f.gain : 0;
	claim->needs_core = !*ret_cheaper && !mostly_waits(in);
}

static void tell_input(struct host_cells *c, struct host_claim *claim, const struct input *in)
{
	char ns[32], count[TEXT_COUNT_SIZE];

	texts_add(&claim->f.evidence, "the loader takes %s, %.1f %% of the time: %s", format_time(ns, claim->f.owned),
		  100 * cells_share(c, claim->f.owned), in->processes ? "the program waits for its workers" : "it runs between the steps, on the same thread");
	if (in->processes)
		texts_add(&claim->f.evidence, "%s together use %.2f cores, and wait for something else %.2f at a time",
			  text_count(count, (uint64_t)(in->workers + 0.5), "worker process", "worker processes"), in->work * in->step, in->waits * in->step);
	texts_add(&claim->f.evidence, "%.0f %% of what it does is done by the interpreter", 100 * in->python);
	texts_add(&claim->f.evidence, "the program has %.0f core%s, of which %.1f are free for it", cpus_of(c), cpus_of(c) == 1 ? "" : "s",
		  free_of(c));
}

static int64_t waits_in_loader(const struct host_cells *c)
{
	int64_t time = 0;

	for (uint32_t i = 1; i < c->h->tree.count; i++)
		time += c->h->tree.nodes[i].flags & NODE_LOADER ? c->w->costs[i].waited : 0;
	return time;
}

/* Workers keep up, but taking over what they send takes its time. */
static int find_handing_over(struct host_cells *c, int64_t owned, const struct place_cells *place, int64_t at_place)
{
	struct host_claim claim = { .f = { .kind = "data_loading", .owned = owned }, .agree = 0.9, .exact = true };
	char ns[32];

	if (cells_share(c, owned) < HANDING_LEAST || waits_in_loader(c) > owned / 2) /* a wait: it cannot be told for whom */
		return 0;
	claim_removal(c, &claim, false);
	texts_add(&claim.f.evidence, "taking batches over from the loader's workers takes %s, %.1f %% of the time; it hardly waits for them",
		  format_time(ns, owned), 100 * cells_share(c, owned));
	claim_place(c, &claim, place, at_place);
	snprintf(claim.f.action, sizeof claim.f.action, "send less from the workers: larger batches, smaller samples, one tensor instead of many");
	snprintf(claim.f.rationale, sizeof claim.f.rationale, "0.85 of that time; afterwards look at data loading");
	return claim_add(c, &claim);
}

int find_host_input(struct host_cells *c)
{
	struct host_claim claim = { .f = { .kind = "data_loading" }, .agree = 0.95 };
	struct place_cells *place = cells_largest(c, OWNER_INPUT);
	int64_t at_place = place ? place->time[OWNER_INPUT] : 0;
	struct input in;
	double workers;
	bool cheaper;
	char text[PLACE_TEXT];

	claim.f.owned = cells_take_all(c, OWNER_INPUT);
	if (claim.f.owned == 0)
		return 0;
	in = look_at_input(c, claim.f.owned);
	if (in.workers_used && (!in.processes || in.owned < c->p->a->thresholds.share_least)) /* they keep up, or would if others let them */
		return find_handing_over(c, claim.f.owned, place, at_place);
	claim.exact = !in.processes;
	workers = workers_wanted(c, &in);
	gain_input(c, &in, &claim, workers, &cheaper);
	tell_input(c, &claim, &in);
	if (in.processes && c->w->blame_count)
		claim_name(c, &claim, c->w->blames[0].name, ", in a worker");
	claim_place(c, &claim, place, at_place);
	if (cheaper)
		snprintf(claim.f.action, sizeof claim.f.action, "make a sample cheaper, with calls over whole arrays instead of Python: %.120s",
			 place_text(c, in.processes && c->w->blame_count ? c->w->blames[0].name : place ? place->name : 0, text));
	else if (in.processes)
		snprintf(claim.f.action, sizeof claim.f.action, "DataLoader num_workers=%.0f instead of %.0f", workers, in.workers);
	else
		snprintf(claim.f.action, sizeof claim.f.action, "load in worker processes: DataLoader num_workers=%.0f instead of 0", workers);
	snprintf(claim.f.rationale, sizeof claim.f.rationale,
		 "%s; afterwards look at the share of data loading",
		 cheaper ? "0.85 of the loader's time, if it becomes one call for many values" :
			   "side by side a step takes the longer of loading and the rest, and 5 % of loading for handing over");
	return claim_add(c, &claim);
}

/* ---- Locks ------------------------------------------------------------------- */

/* Of threads that take turns at waiting, not at a processor. */
static void gain_waiting(struct host_claim *claim, double s, double threads)
{
	claim->f.gain_high = fmin(GAIN_MOST, 1.1 * s + 0.02);
	claim->f.gain = 0.97 * s * (1 - 1 / threads);
	claim->f.gain_low = 0.5 * claim->f.gain;
}

/* Of threads that take turns: what is left when as many run as there are cores; at most all of it, if what the others do is left out. */
static void gain_parallel(const struct host_cells *c, struct host_claim *claim, double s, double threads)
{
	double most = 1 - 1 / fmin(threads, cpus_of(c)), now = 1 - 1 / fmin(threads, fmax(1, free_of(c)));

	claim->f.gain_high = fmin(GAIN_MOST, 1.1 * s + 0.02);
	claim->f.gain = 0.97 * s * (has_idle_core(c) ? fmax(now, most * fmin(1, c->h->load.idle)) : fmax(now, 0.5 * most));
	claim->f.gain_low = has_idle_core(c) ? 0.5 * claim->f.gain : 0;
	claim->needs_core = true;
}

static void tell_cores(const struct host_cells *c, struct host_claim *claim)
{
	if (!isnan(c->h->load.tree))
		texts_add(&claim->f.evidence, "the program uses %.2f of %.0f cores", c->h->load.tree, cpus_of(c));
}

/* A lock that threads take turns at. */
struct turns {
	const char *kind, *lock;
	enum host_owner owner;
	int64_t time;
	double waiters;
	uint32_t place; /* name */
	const char *role, *advice;
};

static int find_turns(struct host_cells *c, const struct turns *t)
{
	struct host_claim claim = { .f = { .kind = t->kind }, .agree = 0.95 };
	double s, threads = fmin(WORKERS_MOST, 1 + fmax(1, t->waiters));
	struct place_cells *place = cells_largest(c, t->owner);
	int64_t at_place = place ? place->time[t->owner] : 0;
	char text[PLACE_TEXT];

	claim.f.owned = cells_take_all(c, t->owner);
	/* While one waits for those who take turns, all of that wait is theirs. */
	if (2 * t->time > c->w->resolved && c->w->remote == 0)
		claim.f.owned += cells_take_all(c, OWNER_WORKERS);
	s = cells_share(c, claim.f.owned);
	if (s <= 0)
		return 0;
	if (t->owner == OWNER_LOCK && c->h->load.tree < 0.5 * s) /* whoever holds it hardly runs, but waits itself */
		gain_waiting(&claim, s, threads);
	else
		gain_parallel(c, &claim, s, threads);
	texts_add(&claim.f.evidence, "for %.1f %% of the time threads wait for %s, %.1f at a time on average", 100 * s, t->lock, t->waiters);
	tell_cores(c, &claim);
	claim_name(c, &claim, t->place, t->role);
	claim_place(c, &claim, place, at_place);
	snprintf(claim.f.action, sizeof claim.f.action, "%s: %.120s", t->advice,
		 place_text(c, t->place ? t->place : place ? place->name : 0, text));
	if (claim.needs_core)
		snprintf(claim.f.rationale, sizeof claim.f.rationale,
			 "%.1f threads want %s at once and the program can have %.1f cores: side by side they take 1/%.1f of that time; afterwards look at %s",
			 threads, t->lock, free_of(c), fmin(threads, free_of(c)), words_label(host_owner_name(t->owner)));
	else
		snprintf(claim.f.rationale, sizeof claim.f.rationale,
			 "%.1f threads want %s at once, and who has it waits for something else: side by side they take 1/%.1f of that time; afterwards "
			 "look at %s", threads, t->lock, threads, words_label(host_owner_name(t->owner)));
	return claim_add(c, &claim);
}

/* The one that is waited for longer takes the waits for threads. */
int find_host_contention(struct host_cells *c)
{
	const struct turns gil = { "gil_contention", "the interpreter's lock", OWNER_GIL, c->w->gil_time, c->w->gil_waiters, c->w->gil_place,
				   ", runs while others wait", "use processes, or code that lets go of the lock: threads take turns" };
	const struct turns lock = { "lock_contention", "a lock", OWNER_LOCK, c->w->lock_time, c->w->lock_waiters, c->w->lock_place,
				    ", waits for the lock", "hold the lock for less, or use one for each part" };
	bool gil_first = gil.time >= lock.time;
	int rc = find_turns(c, gil_first ? &gil : &lock);

	return rc ? rc : find_turns(c, gil_first ? &lock : &gil);
}

/* ---- Asking again and again -------------------------------------------------- */

static int find_asking(struct host_cells *c, struct place_cells *place)
{
	static const enum host_owner owners[] = { OWNER_PYTHON, OWNER_NATIVE, OWNER_SYSTEM, OWNER_GIL, OWNER_LOCK, OWNER_MESSAGES,
						  OWNER_IO_CALLS, OWNER_MEMORY };
	struct host_claim claim = { .f = { .kind = "synchronization" }, .agree = 0.9 };
	const char *unit;
	double rate = cells_rate(c, (double)place->asks, &unit), job, s;
	char text[PLACE_TEXT];

	for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
		claim.f.owned += cells_take(place, owners[i]);
	s = cells_share(c, claim.f.owned);
	job = fmax(0, c->h->load.tree - (isnan(c->w->run) ? 0 : c->w->run));
	claim.f.gain_high = fmin(GAIN_MOST, 1.1 * s + 0.02);
	claim.f.gain = s > job ? 0.95 * (1 - fmax(1 - s, fmin(1, job))) : 0.3 * s;
	claim.f.gain_low = 0.5 * claim.f.gain;
	texts_add(&claim.f.evidence, "it asks %.0f times %s whether something is there, %.1f %% of the time", rate, unit, 100 * s);
	texts_add(&claim.f.evidence, "what it waits for uses %.2f cores", job);
	claim_place(c, &claim, place, claim.f.owned);
	snprintf(claim.f.action, sizeof claim.f.action, "wait for it instead of asking again and again: %.120s",
		 place_text(c, place->name, text));
	snprintf(claim.f.rationale, sizeof claim.f.rationale,
		 "a step would take as long as what it waits for; asking takes the processor, and the interpreter's lock, from that");
	return claim_add(c, &claim);
}

int find_host_polling(struct host_cells *c)
{
	int rc = 0;

	for (size_t i = 0; i < c->count && rc == 0; i++) {
		struct place_cells *place = &c->places[i];
		const char *unit;

		if (place->asks && cells_rate(c, (double)place->asks, &unit) >= ASKS_A_STEP &&
		    cells_share(c, place->time[OWNER_PYTHON]) >= c->p->a->thresholds.share_least &&
		    c->w->others_active > 0.3 * (double)place->time[OWNER_PYTHON])
			rc = find_asking(c, place);
	}
	return rc;
}

/* ---- Sleep ------------------------------------------------------------------- */

/* To sleep while others work is to wait for them; what goes on after they are done is lost.  To sleep while nobody works is
 * a pace that somebody wanted. */
int find_host_sleep(struct host_cells *c)
{
	struct host_claim claim = { .f = { .kind = "synchronization" }, .agree = 0.9 };
	struct place_cells *place = cells_largest(c, OWNER_SLEEP);
	int64_t sleep = cells_sum(c, OWNER_SLEEP), with_work = c->w->sleep_with_work, at_place = place ? place->time[OWNER_SLEEP] : 0;
	char ns[32], more[32], text[PLACE_TEXT];

	with_work = with_work > sleep ? sleep : with_work;
	if (sleep == 0 || with_work < sleep / 10)
		return 0;
	claim.f.owned = sleep - with_work;
	cells_take_all(c, OWNER_SLEEP);
	claim_removal(c, &claim, true);
	texts_add(&claim.f.evidence, "it sleeps for %s; for %s of that the work that it waits for is done already", format_time(ns, sleep),
		  format_time(more, claim.f.owned));
	claim_place(c, &claim, place, at_place);
	snprintf(claim.f.action, sizeof claim.f.action, "wait for the result (join, result(), an event) instead of sleeping: %.120s",
		 place_text(c, place ? place->name : 0, text));
	snprintf(claim.f.rationale, sizeof claim.f.rationale, "a wait ends with the work; afterwards look at sleep");
	return claim_add(c, &claim);
}

/* ---- The network, other programs ----------------------------------------------- */

int find_host_network(struct host_cells *c)
{
	struct host_claim claim = { .f = { .kind = "network_latency" }, .agree = 0.9 };
	struct place_cells *place = cells_largest(c, OWNER_NETWORK);
	int64_t at_place = place ? place->time[OWNER_NETWORK] : 0;
	double s;
	char ns[32], text[PLACE_TEXT];

	for (size_t i = 0; i < c->count; i++) /* what it does to send and receive is part of it */
		if (c->places[i].time[OWNER_NETWORK] > c->places[i].time[OWNER_IO_CALLS])
			claim.f.owned += cells_take(&c->places[i], OWNER_IO_CALLS);
	claim.f.owned += cells_take_all(c, OWNER_NETWORK);
	s = cells_share(c, claim.f.owned);
	claim.f.gain_high = fmin(GAIN_MOST, 1.1 * s + 0.02);
	claim.f.gain = 0.97 * (1 - fmax(1 - s, s / IN_FLIGHT));
	claim.f.gain_low = 0.5 * claim.f.gain;
	texts_add(&claim.f.evidence, "it waits %s for the network, %.1f %% of the time", format_time(ns, claim.f.owned), 100 * s);
	claim_place(c, &claim, place, at_place);
	snprintf(claim.f.action, sizeof claim.f.action, "ask before the answer is needed, several requests at once: %.120s",
		 place_text(c, place ? place->name : 0, text));
	snprintf(claim.f.rationale, sizeof claim.f.rationale,
		 "with %.0f requests under way a step takes the longer of its own part and a quarter of the wait; afterwards look at the wait for the network",
		 IN_FLIGHT);
	return claim_add(c, &claim);
}

int find_host_children(struct host_cells *c)
{
	struct host_claim claim = { .f = { .kind = "synchronization" }, .agree = 0.9 };
	struct place_cells *place = cells_largest(c, OWNER_CHILD);
	int64_t at_place = place ? place->time[OWNER_CHILD] : 0;
	char ns[32], text[PLACE_TEXT];

	claim.f.owned = cells_take_all(c, OWNER_CHILD);
	claim_removal(c, &claim, false);
	texts_add(&claim.f.evidence, "starting other programs and waiting for them takes %s, %.1f %% of the time", format_time(ns, claim.f.owned),
		  100 * cells_share(c, claim.f.owned));
	claim_place(c, &claim, place, at_place);
	snprintf(claim.f.action, sizeof claim.f.action, "do it in this process, or keep one child and talk to it: %.120s",
		 place_text(c, place ? place->name : 0, text));
	snprintf(claim.f.rationale, sizeof claim.f.rationale, "0.85 of the time; afterwards look at the wait for children");
	return claim_add(c, &claim);
}

/* ---- Threads and processes of the program ------------------------------------ */

#define UNEVEN_MOST 0.75 /* of the workers at work while all are waited for */
#define EVEN_LEAST 0.85  /* of the cores that they could use */

static double usable_cores(const struct host_cells *c)
{
	return fmax(1, fmin(c->w->active_peers, cpus_of(c)));
}

/* Most of them have nothing to do any more, and so have cores. */
static bool is_uneven(const struct host_cells *c)
{
	return c->w->active_peers >= 2 && c->w->active < UNEVEN_MOST * c->w->active_peers && c->w->cores < EVEN_LEAST * usable_cores(c);
}

static int find_straggler(struct host_cells *c, int64_t owned, const struct place_cells *place)
{
	struct host_claim claim = { .f = { .kind = "straggler", .owned = owned }, .agree = 0.9, .needs_core = true };
	double s = cells_share(c, owned), cores = usable_cores(c), even = fmin(1, c->w->cores / cores);

	claim.f.gain = s * (1 - even);
	claim.f.gain_high = fmin(GAIN_MOST, 1.3 * s * (1 - even) + 0.05);
	claim.f.gain_low = 0.4 * claim.f.gain;
	texts_add(&claim.f.evidence, "while it waits for %.0f workers, %.1f of them are at work on average; %.1f %% of the time it waits",
		  c->w->active_peers, c->w->active, 100 * s);
	if (c->w->blame_count)
		claim_name(c, &claim, c->w->blames[0].name, ", in the worker that is waited for most");
	claim_place(c, &claim, place, owned);
	snprintf(claim.f.action, sizeof claim.f.action, "give all workers as much to do: smaller parts, handed out as they finish");
	snprintf(claim.f.rationale, sizeof claim.f.rationale,
		 "the same work, spread over %.0f cores, takes %.0f %% of that wait; afterwards look at the wait for workers", cores, 100 * even);
	return claim_add(c, &claim);
}

/* Data that another process makes, and how they come. */
static int find_producer(struct host_cells *c, int64_t waited, int64_t handed, const struct place_cells *place)
{
	struct host_claim claim = { .f = { .kind = "data_loading", .owned = waited + handed }, .agree = 0.85 };
	double s = cells_share(c, claim.f.owned), megabytes, python;
	const char *unit;
	char text[PLACE_TEXT];

	megabytes = cells_rate(c, c->h->load.read_bytes * (double)(c->h->run.to - c->h->run.from) / 1e9, &unit) / 1e6;
	python = c->w->blame_count ? python_share_of_thread(c, c->w->blames[0].thread) : 0;
	claim_removal(c, &claim, handed > waited);
	texts_add(&claim.f.evidence, "taking data over from other processes takes %.1f %% of the time, waiting for them %.1f %%",
		  100 * cells_share(c, handed), 100 * cells_share(c, waited));
	if (!isnan(megabytes))
		texts_add(&claim.f.evidence, "the process reads %.1f MB %s, through pipes or files", megabytes, unit);
	if (c->w->blame_count && waited)
		claim_name(c, &claim, c->w->blames[0].name, ", in the process that is waited for");
	claim_place(c, &claim, place, claim.f.owned);
	if (handed > waited)
		snprintf(claim.f.action, sizeof claim.f.action,
			 "pass large data through shared memory instead of pickling them through a pipe: %.120s",
			 place_text(c, place ? place->name : 0, text));
	else
		snprintf(claim.f.action, sizeof claim.f.action, "%s: %.120s", python > PYTHON_MOSTLY ?
			 "make what is waited for cheaper, or use more processes for it" : "use more processes for what is waited for",
			 place_text(c, c->w->blame_count ? c->w->blames[0].name : 0, text));
	snprintf(claim.f.rationale, sizeof claim.f.rationale, "%.0f %% of the time is the wait and the handing over; afterwards look at messages "
		 "and the wait for workers", 100 * s);
	return claim_add(c, &claim);
}

/* Threads and processes at work are no finding, unless they do it one after the other, or unevenly, or only to hand over. */
int find_host_workers(struct host_cells *c)
{
	struct place_cells *place = cells_largest(c, OWNER_WORKERS), *messages = cells_largest(c, OWNER_MESSAGES);
	int64_t waited = cells_sum(c, OWNER_WORKERS), handed = cells_sum(c, OWNER_MESSAGES);
	bool remote = 2 * c->w->remote > c->w->resolved;

	if (remote && c->w->blame_count == 0)
		return 0;
	if (remote && is_uneven(c)) {
		cells_take_all(c, OWNER_WORKERS);
		return find_straggler(c, waited, place);
	}
	if (handed > waited || (remote && c->w->active_peers < 2)) {
		cells_take_all(c, OWNER_MESSAGES);
		cells_take_all(c, OWNER_WORKERS);
		return find_producer(c, waited, handed, messages ? messages : place);
	}
	return 0;
}
