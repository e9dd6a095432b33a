/*
 * findings_work.c - work of the host that could be less: the interpreter's, small operators, files, memory, collections,
 * compilations, too many threads, and what is done before the loop.
 *
 * Compute in operators and libraries is what the program is for, and no finding.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/findings_host.h"

#define SHORT_OPERATOR 10000   /* ns; calling one takes several thousand */
#define OPERATORS_A_STEP 20.0
#define FILE_PLACE 0.25        /* of a place's time in calls for files: then the rest of it makes these calls */
#define GROWTH_LEAST 50e6      /* bytes */
#define MEMORY_LEAST 0.10      /* of the time in the kernel for memory: less is usual, */
#define OPERATOR_MEMORY_LEAST 0.25 /* and more than that where operators of a framework ask for it: not the user's own arrays */
#define PYTHON_PART 0.33       /* of what a place computes in libraries: less is what calling them takes */
#define DEMAND_MOST 1.5        /* times the cores */
#define COLLECTIONS_LEAST 5u   /* in no function of the user's */
#define SWITCHES_MANY 1000.0   /* a second, of one thread */

static bool has_places(const struct host_cells *c)
{
	return c->w->samples > 0;
}

/* What could tell the interpreter from libraries, and the kernel from both. */
static double agreement(const struct host_cells *c, bool second)
{
	return has_places(c) ? (second ? 0.95 : 0.85) : second ? 0.7 : 0.45;
}

/* ---- Before the loop --------------------------------------------------------- */

/* Only where all of the run is judged: else there are steps, and what is done once before them is said in a note. */
int find_host_startup(struct host_cells *c)
{
	struct host_claim claim = { .f = { .kind = "startup" }, .agree = 0.9, .exact = true };
	struct place_cells *largest = NULL;
	char ns[32], text[PLACE_TEXT];
	double s;

	for (size_t i = 0; i < c->count; i++) {
		claim.f.owned += c->places[i].startup;
		if (c->places[i].startup && c->places[i].name && (!largest || c->places[i].startup > largest->startup))
			largest = &c->places[i];
	}
	if (claim.f.owned == 0)
		return 0;
	s = cells_share(c, claim.f.owned);
	claim.f.gain = 0.7 * s;
	claim.f.gain_low = 0.3 * s;
	claim.f.gain_high = fmin(GAIN_MOST, 1.1 * s + 0.02);
	texts_add(&claim.f.evidence, "before its loop the program itself takes %s, %.1f %% of the run; imports come on top",
		  format_time(ns, claim.f.owned), 100 * s);
	claim_place(c, &claim, largest, largest ? largest->startup : 0);
	for (size_t i = 0; i < c->count; i++)
		if (&c->places[i] != largest && c->places[i].name && cells_share(c, c->places[i].startup) >= c->p->a->thresholds.share_least)
			claim_place(c, &claim, &c->places[i], c->places[i].startup);
	snprintf(claim.f.action, sizeof claim.f.action,
		 "do less before the first step: load weights without initialising them first (meta device, mmap), or keep the process: %.100s",
		 place_text(c, largest ? largest->name : 0, text));
	snprintf(claim.f.rationale, sizeof claim.f.rationale,
		 "0.7 of what comes before the loop; how much can be left out depends on what it is; afterwards look at the run's length");
	return claim_add(c, &claim);
}

/* ---- Threads ----------------------------------------------------------------- */

static bool is_oversubscribed(const struct host_load *l)
{
	return !isnan(l->demand) && !isnan(l->cpus) && l->demand > DEMAND_MOST * l->cpus && l->busy_threads > l->cpus &&
	       ((!isnan(l->idle) && l->idle > 0.05 * l->cpus) || l->system_share > 0.10 || l->switches > SWITCHES_MANY);
}

int find_host_oversubscription(struct host_cells *c)
{
	static const enum host_owner owners[] = { OWNER_POOL, OWNER_SYSTEM, OWNER_OPERATORS, OWNER_NATIVE };
	const struct host_load *l = &c->h->load;
	struct host_claim claim = { .f = { .kind = "oversubscription" }, .agree = 0.9 };
	struct place_cells *place = cells_largest(c, OWNER_OPERATORS);
	double useful, wanted;
	char text[PLACE_TEXT];

	if (!is_oversubscribed(l) || cells_share(c, cells_sum(c, OWNER_POOL) + cells_sum(c, OWNER_OPERATORS) + cells_sum(c, OWNER_NATIVE)) < 0.1)
		return 0;
	place = place ? place : cells_largest(c, OWNER_POOL);
	useful = l->tree * (1 - (isnan(l->system_share) ? 0 : l->system_share)) / l->cpus;
	wanted = fmin(0.95, fmax(0.05, 1 - useful)) * (double)c->span;
	for (size_t k = 0; k < sizeof owners / sizeof *owners; k++)
		for (size_t i = 0; i < c->count; i++) {
			int64_t part = c->places[i].time[owners[k]], left = (int64_t)wanted - claim.f.owned;

			part = part > left ? left : part;
			c->places[i].time[owners[k]] -= part;
			claim.f.owned += part;
		}
	claim.f.gain = cells_share(c, claim.f.owned);
	claim.f.gain_high = fmin(0.95, claim.f.gain + 0.25);
	claim.f.gain_low = 0.4 * claim.f.gain;
	texts_add(&claim.f.evidence, "%u threads want %.1f cores at once, and there are %.0f", l->busy_threads, l->demand, l->cpus);
	if (!isnan(l->system_share))
		texts_add(&claim.f.evidence, "%.0f %% of the processor time is the kernel's; one thread changes %.0f times a second",
			  100 * l->system_share, l->switches);
	claim_place(c, &claim, place, place ? place->wall : 0);
	snprintf(claim.f.action, sizeof claim.f.action, "use %.0f threads (torch.set_num_threads(%.0f), OMP_NUM_THREADS=%.0f): %.100s", l->cpus,
		 l->cpus, l->cpus, place_text(c, place ? place->name : 0, text));
	snprintf(claim.f.rationale, sizeof claim.f.rationale,
		 "the useful processor time, %.2f cores, would fit on %.0f cores in that part of the time; afterwards look at the cores it wants",
		 useful * l->cpus, l->cpus);
	return claim_add(c, &claim);
}

/* ---- Files ------------------------------------------------------------------- */

static int64_t kernel_time(const struct place_cells *place)
{
	return place->time[OWNER_IO_CALLS] + place->time[OWNER_FILE] + place->time[OWNER_FSYNC];
}

/* What the place is there for is to read or write: all that it does is part of that. */
static bool is_for_files(const struct place_cells *place)
{
	return kernel_time(place) > 0 && (double)kernel_time(place) >= FILE_PLACE * (double)place->wall;
}

/* Then what libraries do there serves that, too: they pack what is written. */
static bool is_mostly_files(const struct place_cells *place)
{
	return 2 * kernel_time(place) >= place->wall && kernel_time(place) > 0;
}

static int64_t file_time(const struct place_cells *place)
{
	return kernel_time(place) + place->time[OWNER_LOG] +
	       (is_for_files(place) ? place->time[OWNER_PYTHON] + place->time[OWNER_MEMORY] + place->time[OWNER_SYSTEM] : 0) +
	       (is_mostly_files(place) ? place->time[OWNER_NATIVE] : 0);
}

static void advise_files(struct host_cells *c, struct host_claim *claim, const struct place_cells *place, int64_t logs, int64_t syncs,
			 int64_t disk)
{
	char text[PLACE_TEXT];
	const char *what = logs > syncs + disk			     ? "log less inside the loop, or raise the level" :
			   syncs > disk && syncs > claim->f.owned / 4 ? "do not fsync in every step: write in one go, or beside the work" :
			   disk > claim->f.owned / 3		     ? "read ahead of time, beside the work, or keep the data in memory" :
			   c->h->load.write_calls > c->h->load.read_calls ?
								       "write less often inside the loop: gather lines, flush at the end" :
								       "read in larger pieces, with fewer calls";

	snprintf(claim->f.action, sizeof claim->f.action, "%s: %.120s", what, place_text(c, place->name, text));
}

static int find_files_at(struct host_cells *c, struct place_cells *place)
{
	struct host_claim claim = { .f = { .kind = "i_o_operation" } };
	bool all = is_for_files(place), libraries = is_mostly_files(place);
	int64_t logs = cells_take(place, OWNER_LOG), syncs = cells_take(place, OWNER_FSYNC), disk = cells_take(place, OWNER_FILE);
	int64_t calls = cells_take(place, OWNER_IO_CALLS), kernel = calls + syncs + disk;
	const struct host_load *l = &c->h->load;
	const char *unit;
	double span = (double)(c->h->run.to - c->h->run.from) / 1e9, reads, writes;
	char ns[32];

	claim.f.owned = logs + kernel;
	if (all)
		claim.f.owned += cells_take(place, OWNER_PYTHON) + cells_take(place, OWNER_MEMORY) + cells_take(place, OWNER_SYSTEM);
	if (libraries)
		claim.f.owned += cells_take(place, OWNER_NATIVE);
	claim.agree = agreement(c, true);
	claim.exact = logs > kernel;
	claim_removal(c, &claim, logs > kernel || syncs + disk > calls || l->write_calls > l->read_calls);
	texts_add(&claim.f.evidence, "files and output take %s, %.1f %% of the time", format_time(ns, claim.f.owned),
		  100 * cells_share(c, claim.f.owned));
	reads = cells_rate(c, l->read_calls * span, &unit);
	writes = cells_rate(c, l->write_calls * span, &unit);
	if (!isnan(reads) || !isnan(writes))
		texts_add(&claim.f.evidence, "the program reads %.0f and writes %.0f times %s", isnan(reads) ? 0 : reads, isnan(writes) ? 0 : writes, unit);
	if (disk + syncs > 0)
		texts_add(&claim.f.evidence, "it waits for disks for %s; data that are in memory by now may make a second run faster",
			  format_time(ns, disk + syncs));
	claim_place(c, &claim, place, claim.f.owned);
	advise_files(c, &claim, place, logs, syncs, disk);
	snprintf(claim.f.rationale, sizeof claim.f.rationale, "%.0f %% of that time; afterwards look at file calls and the waits for disks and fsync",
		 100 * claim.f.gain / fmax(1e-9, cells_share(c, claim.f.owned)));
	return claim_add(c, &claim);
}

int find_host_files(struct host_cells *c)
{
	int rc = 0;

	if (host_reads_early(c->w)) /* code and data that are read for the first time: the next run has them in memory */
		cells_take_all(c, OWNER_FILE);
	for (size_t i = 0; i < c->count && rc == 0; i++) {
		struct place_cells *place = &c->places[i];

		if (cells_share(c, file_time(place)) >= c->p->a->thresholds.share_least)
			rc = find_files_at(c, place);
	}
	return rc;
}

/* ---- Operators that are too short -------------------------------------------- */

static int find_operators_at(struct host_cells *c, struct place_cells *place, double rate, const char *unit)
{
	struct host_claim claim = { .f = { .kind = "cpu_computation" }, .agree = agreement(c, true), .exact = true };
	double mean = (double)place->operators_run / (double)place->operator_count, s;
	char text[PLACE_TEXT];

	claim.f.owned = cells_take(place, OWNER_OPERATORS) + cells_take(place, OWNER_PYTHON) + cells_take(place, OWNER_NATIVE) +
			cells_take(place, OWNER_SYSTEM);
	s = cells_share(c, claim.f.owned);
	claim.f.gain = (place->model ? 0.5 : 0.97) * s;
	claim.f.gain_low = (place->model ? 0.2 : 0.5) * s;
	claim.f.gain_high = fmin(GAIN_MOST, 1.1 * s + 0.02);
	texts_add(&claim.f.evidence, "%.0f operators %s take %.1f us each, which is about what calling one takes; with what calls them %.1f %% of "
		  "the time", rate, unit, mean / 1e3, 100 * s);
	claim_place(c, &claim, place, claim.f.owned);
	snprintf(claim.f.action, sizeof claim.f.action, "%s: %.120s", place->model ?
		 "use larger batches, or compile the model: its operators are short" :
		 "do it with a few operators over whole tensors instead of many over small ones", place_text(c, place->name, text));
	snprintf(claim.f.rationale, sizeof claim.f.rationale, "%.0f %% of that time; afterwards look at the number of operators",
		 100 * claim.f.gain / fmax(1e-9, s));
	return claim_add(c, &claim);
}

int find_host_operators(struct host_cells *c)
{
	int rc = 0;

	for (size_t i = 0; i < c->count && rc == 0; i++) {
		struct place_cells *place = &c->places[i];
		const char *unit;
		double rate = cells_rate(c, (double)place->operator_count, &unit);

		if (place->operator_count && rate >= OPERATORS_A_STEP &&
		    place->operators_run < SHORT_OPERATOR * (int64_t)place->operator_count &&
		    cells_share(c, place->operators) >= c->p->a->thresholds.share_least)
			rc = find_operators_at(c, place, rate, unit);
	}
	return rc;
}

/* ---- Memory ------------------------------------------------------------------ */

/* Both what it never goes below, and what it has at the end: either may be chance where memory comes and goes. */
static bool is_growing(const struct host_load *l)
{
	double growth = fmin(l->memory_growth, l->memory_end - l->memory_begin);

	return growth > GROWTH_LEAST && growth > 0.2 * l->memory_begin;
}

int find_host_memory(struct host_cells *c)
{
	const struct host_load *l = &c->h->load;
	bool grows = is_growing(l);
	struct host_claim claim = { .f = { .kind = grows ? "memory_pressure" : "memory_allocation" }, .agree = agreement(c, true) };
	struct place_cells *place = cells_largest(c, OWNER_MEMORY);
	int64_t at_place = place ? place->time[OWNER_MEMORY] : 0;
	const char *unit;
	char ns[32], text[PLACE_TEXT];
	double rate;

	if (cells_share(c, cells_sum(c, OWNER_MEMORY)) < MEMORY_LEAST || l->system_share < MEMORY_LEAST)
		return 0;
	if (!grows && host_operator_memory(c->h) > cells_sum(c, OWNER_MEMORY) / 2 &&
	    cells_share(c, cells_sum(c, OWNER_MEMORY)) < OPERATOR_MEMORY_LEAST)
		return 0;
	claim.f.owned = cells_take_all(c, OWNER_MEMORY);
	claim_removal(c, &claim, false);
	texts_add(&claim.f.evidence, "the kernel spends %s, %.1f %% of the time, on memory that is new to the program", format_time(ns, claim.f.owned),
		  100 * cells_share(c, claim.f.owned));
	rate = cells_rate(c, (l->memory_end - l->memory_begin) / 1e6, &unit);
	if (!isnan(rate))
		texts_add(&claim.f.evidence, "memory goes from %.0f to %.0f MB, %+.1f MB %s", l->memory_begin / 1e6, l->memory_end / 1e6, rate,
			  unit);
	if (!isnan(l->faults))
		texts_add(&claim.f.evidence, "%.0f page faults a second", l->faults);
	claim_place(c, &claim, place, at_place);
	snprintf(claim.f.action, sizeof claim.f.action, "%s: %.120s", grows ?
		 "keep less: results of every step stay in memory (with their graph, unless detached)" :
		 host_operator_memory(c->h) > claim.f.owned / 2 ?
		 "keep memory that is freed (MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_ of 1 GB, or jemalloc), or use tensors again" :
		 "use large arrays again instead of making new ones (out=, a buffer), or keep memory that is freed "
		 "(MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_ of 1 GB)",
		 place_text(c, place ? place->name : 0, text));
	snprintf(claim.f.rationale, sizeof claim.f.rationale, "memory that is used again costs the kernel nothing; afterwards look at new memory");
	return claim_add(c, &claim);
}

/* ---- Collections, compilation ------------------------------------------------ */

int find_host_collections(struct host_cells *c)
{
	struct host_claim claim = { .f = { .kind = "garbage_collection" }, .agree = 0.95, .exact = true };
	struct place_cells *place = cells_largest(c, OWNER_GC);
	int64_t at_place = place ? place->time[OWNER_GC] : 0;
	uint64_t count = 0;
	const char *unit;
	char ns[32];
	double rate;

	for (uint32_t i = 1; i < c->h->tree.count; i++) {
		const struct host_node *n = &c->h->tree.nodes[i];

		count += n->flags & NODE_GC && !(c->h->tree.nodes[n->parent].flags & NODE_GC) ? n->count : 0;
	}
	if (count < COLLECTIONS_LEAST && (!place || !place->name)) /* at the end of the interpreter */
		return 0;
	claim.f.owned = cells_take_all(c, OWNER_GC);
	claim_removal(c, &claim, true);
	claim.f.gain_low = 0.8 * claim.f.gain;
	rate = cells_rate(c, (double)count, &unit);
	texts_add(&claim.f.evidence, "Python's garbage collector takes %s, %.1f %% of the time; it runs %.1f times %s", format_time(ns, claim.f.owned),
		  100 * cells_share(c, claim.f.owned), rate, unit);
	claim_place(c, &claim, place, at_place);
	snprintf(claim.f.action, sizeof claim.f.action,
		 "gc.disable() around the loop, or gc.set_threshold(100_000, 50, 50); fewer small objects that refer to each other");
	snprintf(claim.f.rationale, sizeof claim.f.rationale, "exactly what the collector took; afterwards look at garbage collection");
	return claim_add(c, &claim);
}

int find_host_compilation(struct host_cells *c)
{
	struct host_claim claim = { .f = { .kind = "jit_compilation" }, .agree = 0.95, .exact = true };
	struct place_cells *place = cells_largest(c, OWNER_COMPILE);
	int64_t at_place = place ? place->time[OWNER_COMPILE] : 0;
	char ns[32], text[PLACE_TEXT];

	claim.f.owned = cells_take_all(c, OWNER_COMPILE);
	claim_removal(c, &claim, true);
	texts_add(&claim.f.evidence, "compiling and tracing take %s, %.1f %% of the time", format_time(ns, claim.f.owned),
		  100 * cells_share(c, claim.f.owned));
	claim_place(c, &claim, place, at_place);
	snprintf(claim.f.action, sizeof claim.f.action, "compile once, before the loop, and keep shapes and code the same: %.120s",
		 place_text(c, place ? place->name : 0, text));
	snprintf(claim.f.rationale, sizeof claim.f.rationale, "what compiling took; afterwards look at compiling");
	return claim_add(c, &claim);
}

/* ---- The interpreter --------------------------------------------------------- */

static double frequency_of(const struct host_cells *c, uint32_t name)
{
	const struct timeline *t = c->p->t;
	const struct timeline_track *track = &t->tracks[c->h->spine];
	uint32_t at = 0, with = 0, all = 0, i = track->first;

	while (at < t->step_count && t->steps[at].process != c->h->process)
		at++;
	for (; at < t->step_count && t->steps[at].process == c->h->process; at++, all++) {
		while (i < track->first + track->count && t->begin[i] < t->steps[at].begin)
			i++;
		for (; i < track->first + track->count && t->begin[i] < t->steps[at].end; i++)
			if (slice_name(t, i) == name) {
				with++;
				break;
			}
	}
	return all ? (double)with / all : NAN;
}

static int find_python_at(struct host_cells *c, struct place_cells *place)
{
	bool prepares = c->has_model && place->operators * 5 < place->wall;
	struct host_claim claim = { .f = { .kind = prepares ? "preprocessing" : "cpu_computation" }, .agree = agreement(c, false) };
	const char *unit;
	double rate = cells_rate(c, (double)place->calls, &unit), s;
	char text[PLACE_TEXT], ns[32];

	claim.f.owned = cells_take(place, OWNER_PYTHON);
	s = cells_share(c, claim.f.owned);
	claim_removal(c, &claim, false);
	claim.f.frequency = c->h->unit == UNIT_STEPS ? frequency_of(c, place->name) : NAN;
	texts_add(&claim.f.evidence, "the interpreter is at work in it for %s, %.1f %% of the time; %.1f calls %s", format_time(ns, claim.f.owned),
		  100 * s, rate, unit);
	if (!isnan(claim.f.frequency) && claim.f.frequency > 0 && claim.f.frequency < 0.1)
		texts_add(&claim.f.evidence, "only %.1f %% of the steps have it: these are the slow ones", 100 * claim.f.frequency);
	claim_place(c, &claim, place, claim.f.owned);
	snprintf(claim.f.action, sizeof claim.f.action, "do %.120s with a few calls over whole arrays, or once instead of again and again",
		 place_text(c, place->name, text));
	snprintf(claim.f.rationale, sizeof claim.f.rationale,
		 "0.85 of what the interpreter takes there: a guess, since it depends on what replaces it; afterwards look at Python");
	return claim_add(c, &claim);
}

int find_host_python(struct host_cells *c)
{
	int rc = 0;

	for (size_t i = 0; i < c->count && rc == 0; i++) {
		struct place_cells *place = &c->places[i];
		int64_t libraries = place->time[OWNER_NATIVE] + place->time[OWNER_OPERATORS];

		if (place->name && cells_share(c, place->time[OWNER_PYTHON]) >= c->p->a->thresholds.share_least &&
		    (double)place->time[OWNER_PYTHON] >= PYTHON_PART * (double)libraries)
			rc = find_python_at(c, place);
	}
	return rc;
}
