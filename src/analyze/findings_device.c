/*
 * findings_device.c - what keeps devices from computing.
 *
 * The time of the devices' windows that is not compute is divided among
 * findings as it is in the breakdown: each gap belongs to its cause, exposed
 * copies and exposed communication to themselves.
 *
 * Gains.  Input: loading moves into workers, so that a step takes the longer
 * of loading and the rest, and 5 % of loading for handing data over.  A wait:
 * the host would have gone on while it waited, so a gap shrinks by what it had
 * waited before, at most; and a step cannot take less than the processor time
 * that it needs, spread over the cores, which counts where the device computes
 * on them, too (OpenCL on a CPU).  A late host: half of it, since somebody has to do
 * that work, faster; with launches of short kernels as a graph more.
 * Communication: what fits beside the compute that runs without any.  Copies
 * are in findings_copies.c.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/findings_parts.h"
#include "base/text.h"

#define SHORT_KERNEL 10000 /* ns; a launch takes about as long */

#define ONCE 3 /* so many gaps that own nearly all are no habit */

/* Gaps of one cause on all devices. */
struct gaps_of {
	struct place_table places;
	struct place_table waits; /* the operators that waited */
	int64_t hidden;        /* of waits: what the host could have done before the gap */
	int64_t own;           /* in which a function of the user's was itself at work */
	int64_t largest[ONCE]; /* gaps, the largest first */
};

static void note_largest(struct gaps_of *gaps, int64_t length)
{
	for (int i = 0; i < ONCE; i++)
		if (length > gaps->largest[i]) {
			int64_t next = gaps->largest[i];

			gaps->largest[i] = length;
			length = next;
		}
}

/* Whether a few gaps are nearly all of it: something that is done once. */
static bool happens_once(const struct gaps_of *gaps)
{
	int64_t few = 0;

	for (int i = 0; i < ONCE; i++)
		few = time_sum(few, gaps->largest[i]);
	return gaps->places.adds > 2 * ONCE && few / 8 >= gaps->places.time / 10;
}

static double percent(double part)
{
	return 100 * part;
}

/* What the thread had waited in the blocking call when the device became idle. */
static int64_t waited_before(const struct timeline *t, const struct timeline_gap *gap)
{
	if (gap->blocking == TIMELINE_NONE || t->begin[gap->blocking] >= gap->begin)
		return 0;
	return gap->begin - t->begin[gap->blocking];
}

static uint32_t gap_place(const struct timeline *t, const struct timeline_gap *gap)
{
	if (gap->cause == IDLE_SYNC && gap->blocking != TIMELINE_NONE)
		return place_of(t, gap->blocking);
	if (gap->cause == IDLE_LAUNCH_LATENCY && gap->launch != TIMELINE_NONE) /* the host may be anywhere by then */
		return place_of(t, gap->launch);
	return place_of(t, gap->top != TIMELINE_NONE ? gap->top : gap->launch);
}

/* Gaps of these causes, as far as they are judged. */
static int collect(const struct parts *p, unsigned causes, struct gaps_of *ret)
{
	const struct analysis_findings *judged = &p->a->findings;
	int rc = 0;

	*ret = (struct gaps_of){ 0 };
	for (size_t d = 0; d < p->a->device_count; d++) {
		const struct device_states *s = p->a->devices[d].states;

		for (uint32_t i = 0; i < s->gap_count && rc == 0; i++) {
			const struct timeline_gap *gap = &s->gaps[i];
			int64_t length = gap->end - (gap->begin > judged->from ? gap->begin : judged->from), before;
			uint32_t place = gap_place(p->t, gap);

			if (!(causes >> gap->cause & 1) || length <= 0)
				continue;
			before = waited_before(p->t, gap);
			ret->hidden = time_sum(ret->hidden, before < length ? before : length);
			ret->own += place == gap->top && place != TIMELINE_NONE && p->t->kind[place] == EVENT_CPU_CALL ? length : 0;
			note_largest(ret, length);
			rc = places_add(&ret->places, p->t, place, length);
			if (rc == 0 && gap->cause == IDLE_SYNC && gap->blocking != TIMELINE_NONE)
				rc = places_add(&ret->waits, p->t, operator_of(p->t, gap->blocking), length);
		}
	}
	places_sort(&ret->places);
	places_sort(&ret->waits);
	return rc;
}

static void gaps_release(struct gaps_of *gaps)
{
	places_release(&gaps->places);
	places_release(&gaps->waits);
}

/* Where most of it is, and how much that is. */
static void tell_places(const struct parts *p, struct analysis_finding *f, const struct place_table *table)
{
	char time[32], count[TEXT_COUNT_SIZE];

	for (size_t i = 0; i < table->count && i < PLACES; i++) {
		const struct place_time *place = &table->places[i];

		texts_add(&f->where, "%.200s: %s in %s", name_text(p->t, place->name), format_time(time, place->time),
			  text_count(count, place->count, "gap", "gaps"));
	}
	snprintf(f->id, sizeof f->id, "%s:%.90s", f->kind, table->count ? name_text(p->t, table->places[0].name) : "device");
}

static void tell_gaps(const struct parts *p, struct analysis_finding *f, const struct gaps_of *gaps, const char *what)
{
	char time[32], longest[32], count[TEXT_COUNT_SIZE];

	texts_add(&f->evidence, "devices were idle for %s, %.1f %% of their time, %s (%s, the longest of %s)",
		  format_time(time, f->owned), percent(share(f->owned, p->a->findings.span)), what,
		  text_count(count, gaps->places.adds, "gap", "gaps"), format_time(longest, gaps->largest[0]));
}

static double steps_with(const struct parts *p, enum idle_cause cause)
{
	const struct analysis_steps *steps = &p->a->steps;
	size_t with = 0;

	for (size_t i = 0; i < steps->count; i++) {
		const struct timeline_step *step = &p->t->steps[steps->steps[i].step];
		bool found = false;

		for (size_t d = 0; d < p->a->device_count && !found; d++) {
			const struct device_states *s = p->a->devices[d].states;
			uint32_t low = 0, high = s->gap_count;

			while (low < high) { /* the first gap that ends in the step or later */
				uint32_t middle = low + (high - low) / 2;

				if (s->gaps[middle].end <= step->begin)
					low = middle + 1;
				else
					high = middle;
			}
			for (; low < s->gap_count && s->gaps[low].begin < step->end && !found; low++)
				found = s->gaps[low].cause == cause;
		}
		with += found;
	}
	return steps->count ? (double)with / (double)steps->count : NAN;
}

/* ---- Input -------------------------------------------------------------------- */

static void advise_loading(struct analysis_finding *f, double loading, double rest)
{
	const char *place = f->where.count ? f->where.text[0] : "";
	double workers = rest > 0 ? ceil(loading / rest) : 8;

	workers = fmin(fmax(workers, 1), 16);
	if (strstr(place, "SingleProcess") || !strstr(place, "MultiProcess"))
		snprintf(f->action, sizeof f->action,
			 "load in %.0f worker processes (DataLoader num_workers=%.0f) instead of between the steps", workers + 1, workers + 1);
	else
		snprintf(f->action, sizeof f->action,
			 "make a sample cheaper, or use more workers: those there are take %.1f times as long as the rest of a step",
			 rest > 0 ? loading / rest : INFINITY);
}

static int find_input(struct parts *p)
{
	struct analysis_finding f = { .kind = "data_loading", .confidence = 0.95 };
	struct gaps_of gaps;
	int rc = collect(p, 1u << IDLE_INPUT, &gaps);
	double loading, rest;

	f.owned = gaps.places.time;
	loading = share(f.owned, p->a->findings.span);
	rest = 1 - loading;
	f.gain_high = loading;
	f.gain = fmax(0, 1 - (fmax(rest, loading / fmin(16, ceil(loading / fmax(rest, 0.01)) + 1)) + 0.05 * loading));
	f.gain_low = 0.5 * f.gain;
	f.frequency = steps_with(p, IDLE_INPUT);
	tell_gaps(p, &f, &gaps, "while the thread that feeds them waited for input");
	if (!isnan(p->a->steps.input_share))
		texts_add(&f.evidence, "%.1f %% of step time is spent waiting for input", percent(p->a->steps.input_share));
	tell_places(p, &f, &gaps.places);
	examples_of_gaps(p, &f, IDLE_INPUT);
	advise_loading(&f, loading, rest);
	snprintf(f.rationale, sizeof f.rationale,
		 "loading takes %.1f %% and the rest %.1f %% of the time; side by side a step takes the longer of both; look at the idle "
		 "time with cause input afterwards",
		 percent(loading), percent(rest));
	rc = rc ? rc : finding_add(p, &f);
	gaps_release(&gaps);
	return rc;
}

/* ---- Waits of the host -------------------------------------------------------- */

static void advise_sync(const struct parts *p, struct analysis_finding *f, const struct gaps_of *gaps)
{
	const struct timeline *t = p->t;
	const char *name = gaps->waits.count ? name_text(t, gaps->waits.places[0].name) : "";

	if (strstr(name, "item") || strstr(name, "_local_scalar_dense"))
		snprintf(f->action, sizeof f->action, "keep the value on the device, or read it some steps later: %.120s waits for all work before it",
			 name);
	else
		snprintf(f->action, sizeof f->action, "leave out the wait, or wait only for what is needed: %.120s%s%.80s",
			 gaps->places.count ? name_text(t, gaps->places.places[0].name) : "a blocking call", *name ? ", in " : "", name);
}

/* What side by side can save at most on so many cores, whoever they work for; 1 where that is not known. */
static double saved_on(const struct parts *p, double cores)
{
	return p->a->host.known && p->a->host.load.tree >= 0 && cores > 0 ? fmax(0, 1 - p->a->host.load.tree / cores) : 1;
}

static int find_sync(struct parts *p)
{
	struct analysis_finding f = { .kind = "synchronization", .confidence = 0.9 };
	struct gaps_of gaps;
	int rc = collect(p, 1u << IDLE_SYNC, &gaps);
	double hidden, most, now;
	char time[32];

	f.owned = gaps.places.time;
	hidden = share(gaps.hidden, p->a->findings.span);
	most = fmin(hidden, saved_on(p, p->a->host.load.cpus));
	now = fmin(hidden, saved_on(p, p->a->host.load.free_cores));
	f.gain_high = most;
	f.gain = 0.85 * (most + now) / 2;
	f.gain_low = 0.4 * now;
	f.frequency = steps_with(p, IDLE_SYNC);
	tell_gaps(p, &f, &gaps, "after or while the thread that feeds them waited for them");
	texts_add(&f.evidence, "while it waited it could have prepared %s of that", format_time(time, gaps.hidden));
	if (now < hidden)
		texts_add(&f.evidence, "the program uses %.1f of %.0f cores, others %.1f: more at once saves %.0f %%, without the others %.0f %%",
			  p->a->host.load.tree, p->a->host.load.cpus, p->a->host.load.outside, percent(now), percent(most));
	tell_places(p, &f, &gaps.places);
	examples_of_gaps(p, &f, IDLE_SYNC);
	advise_sync(p, &f, &gaps);
	snprintf(f.rationale, sizeof f.rationale,
		 "a gap shrinks by what the host had waited before it, at most; look at the idle time with cause sync afterwards");
	rc = rc ? rc : finding_add(p, &f);
	gaps_release(&gaps);
	return rc;
}

/* ---- A late host --------------------------------------------------------------- */

/* Share of the work that is short, and how much of it there is in a second. */
static double short_work(const struct parts *p, double *ret_rate)
{
	uint64_t count = 0, small = 0;

	for (size_t d = 0; d < p->a->device_count; d++) {
		const struct device_view *view = &p->views[d];

		for (uint32_t i = 0; i < view->count; i++) {
			bool judged = is_judged(p, p->t->end[view->work[i]]);

			small += judged && slice_duration(p->t, view->work[i]) < SHORT_KERNEL;
			count += judged;
		}
	}
	*ret_rate = p->a->findings.span > 0 ? (double)count / ((double)p->a->findings.span / 1e9) : 0;
	return count ? (double)small / (double)count : 0;
}

/* Not all devices are OpenCL's; one that the trace does not call anything is most likely CUDA's. */
bool has_cuda(const struct parts *p)
{
	for (size_t d = 0; d < p->a->device_count; d++)
		if (p->t->devices[p->a->devices[d].device].kind != 2)
			return true;
	return false;
}

static const char *advise_launches(const struct parts *p, double small)
{
	if (small <= 0.5)
		return "give the device work ahead of time: less work on the host between launches, or a larger batch";
	return has_cuda(p) ? "launch fewer, larger kernels: capture the step in a graph (CUDA graphs, torch.compile mode=\"reduce-overhead\"), "
			     "or a larger batch" :
			     "launch fewer, larger kernels: make one of those that follow each other, or a larger batch";
}

static int find_late_host(struct parts *p)
{
	struct analysis_finding f = { .confidence = 0.85 };
	struct gaps_of late, both;
	int rc = collect(p, 1u << IDLE_HOST_LATE, &late), rc2 = collect(p, 1u << IDLE_HOST_LATE | 1u << IDLE_LAUNCH_LATENCY, &both);
	const struct place_time *first = late.places.count ? &late.places.places[0] : NULL;
	double rate, small = short_work(p, &rate), all;
	bool once = happens_once(&late) && happens_once(&both), function = !once && first && late.own > late.places.time / 2;

	rc = rc ? rc : rc2;
	f.kind = once ? "startup" : function ? "cpu_computation" : "kernel_launch";
	f.owned = both.places.time;
	all = share(f.owned, p->a->findings.span);
	f.gain_high = !function && small > 0.5 ? removal_high(all) : all;
	f.gain = (function ? 0.5 : small > 0.5 ? 0.7 : 0.5) * all;
	f.gain_low = 0.2 * all;
	f.frequency = steps_with(p, IDLE_HOST_LATE);
	tell_gaps(p, &f, &both, "since the next work had not been launched, or was on its way");
	texts_add(&f.evidence, "%.0f %% of device work takes less than 10 us; %.0f pieces a second were launched", percent(small), rate);
	tell_places(p, &f, &both.places);
	examples_of_gaps(p, &f, late.places.time >= both.places.time / 2 ? IDLE_HOST_LATE : IDLE_LAUNCH_LATENCY);
	if (once)
		snprintf(f.action, sizeof f.action, "leave the first steps out of what counts, or warm up before: a few gaps are nearly all of it");
	else if (function)
		snprintf(f.action, sizeof f.action, "make %.160s faster, or let it run while the device works",
			 name_text(p->t, first->name));
	else
		snprintf(f.action, sizeof f.action, "%s", advise_launches(p, small));
	snprintf(f.rationale, sizeof f.rationale,
		 "%s of what the host was late; how much of it a change saves depends on the change, hence the wide range; look at the idle time "
		 "with cause host_late afterwards", function || small <= 0.5 ? "half" : "0.7");
	rc = rc ? rc : finding_add(p, &f);
	gaps_release(&late);
	gaps_release(&both);
	return rc;
}

/* ---- Compilation, dependencies -------------------------------------------------- */

static int find_gaps(struct parts *p, enum idle_cause cause, const char *kind, double factor, const char *what, const char *action)
{
	struct analysis_finding f = { .kind = kind, .confidence = 0.85 };
	struct gaps_of gaps;
	int rc = collect(p, 1u << cause, &gaps);

	f.owned = gaps.places.time;
	f.gain_high = share(f.owned, p->a->findings.span);
	f.gain = factor * f.gain_high;
	f.gain_low = 0.5 * f.gain;
	f.frequency = steps_with(p, cause);
	tell_gaps(p, &f, &gaps, what);
	tell_places(p, &f, &gaps.places);
	examples_of_gaps(p, &f, cause);
	snprintf(f.action, sizeof f.action, "%s", action);
	snprintf(f.rationale, sizeof f.rationale, "%.0f %% of the idle time with cause %s; look at that afterwards", percent(factor),
		 idle_cause_name(cause));
	rc = rc ? rc : finding_add(p, &f);
	gaps_release(&gaps);
	return rc;
}

/* ---- Communication ---------------------------------------------------- */

static int find_communication(struct parts *p)
{
	struct analysis_finding f = { .kind = "communication", .confidence = 0.8, .frequency = NAN };
	const struct analysis_collectives *c = &p->a->collectives;
	int64_t compute_alone = 0, wait = 0;
	bool straggler = c->straggler >= 0;
	double part;
	char time[32], count[TEXT_COUNT_SIZE];

	for (size_t d = 0; d < p->a->device_count; d++) {
		struct device_window w;
		int rc = judged_window(p, d, &w);

		if (rc)
			return rc;
		f.owned = time_sum(f.owned, device_window_exposed_communication(&w));
		compute_alone = time_sum(compute_alone, w.mix[1u << WORK_COMPUTE]);
	}
	for (size_t i = 0; i < c->rank_count; i++)
		wait = time_sum(wait, c->ranks[i].wait);
	straggler = straggler && wait > f.owned / 2;
	part = share(f.owned < compute_alone || straggler ? f.owned : compute_alone, p->a->findings.span);
	f.kind = straggler ? "straggler" : "communication";
	f.gain_high = part;
	f.gain = (straggler ? fmin(1, share(wait, f.owned)) * 0.7 : 0.5) * part;
	f.gain_low = 0.2 * part;
	texts_add(&f.evidence, "communication runs alone for %s, %.1f %% of the devices' time", format_time(time, f.owned),
		  percent(share(f.owned, p->a->findings.span)));
	if (c->rank_count > 1)
		texts_add(&f.evidence, "ranks wait %s for others in %s", format_time(time, wait),
			  text_count(count, c->count, "collective", "collectives"));
	for (size_t i = 0; i < c->rank_count && straggler; i++)
		if (c->ranks[i].rank == c->straggler)
			texts_add(&f.where, "rank %lld arrives last in %llu of %zu collectives", (long long)c->straggler,
				  (unsigned long long)c->ranks[i].arrived_last, c->count);
	examples_of_work(p, &f, WORK_COMMUNICATION);
	snprintf(f.id, sizeof f.id, "%s:%lld", f.kind, straggler ? (long long)c->straggler : 0);
	if (straggler)
		snprintf(f.action, sizeof f.action, "find out what rank %lld does before it communicates: the others wait for it",
			 (long long)c->straggler);
	else
		snprintf(f.action, sizeof f.action, "communicate while the device computes: smaller buckets, started earlier, on a stream of their own");
	snprintf(f.rationale, sizeof f.rationale, "%s", straggler ?
		 "0.7 of what ranks wait for the last one" :
		 "half of the communication that compute could hide; look at comm_hidden_percent afterwards");
	return finding_add(p, &f);
}

int find_on_devices(struct parts *p)
{
	int rc = find_input(p);

	rc = rc ? rc : find_sync(p);
	rc = rc ? rc : find_late_host(p);
	rc = rc ? rc : find_gaps(p, IDLE_JIT, "jit_compilation", 0.9, "while code was compiled or loaded",
				 "warm up before the part that counts, or keep compiled code (a cache on disk)");
	rc = rc ? rc : find_gaps(p, IDLE_DEPENDENCY, "synchronization", 0.4, "while launched work waited for other work",
				 "let streams wait for less: record events closer to what is needed");
	rc = rc ? rc : find_copies(p);
	return rc ? rc : find_communication(p);
}
