/*
 * findings_host.c - what keeps a program that computes on the host from being faster.
 *
 * The spine's window is divided into cells, by the user's function and by owner
 * (host.h).  Findings take cells, in an order in which the more special comes
 * first, so that none of the time has two of them.  Shares are of the window
 * without what recording took, which the program will not have to pay.
 *
 * Confidence is the product of four: how well samples tell the share, how many of
 * the signals that could agree do, how much of the time nobody can explain, and
 * how much others used the machine.  docs/analysis.md has the formulas.
 */
#include "analyze/findings_host.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define CONFIDENCE_LEAST 0.5 /* below, it is not said */
#define CALIBRATION 0.5      /* of the doubt: of 69 findings that came first, 67 were right, at a mean of 0.71 without it */
#define MODEL_LEAST 0.05     /* of the window in operators: there is a model */

/* ---- Cells ------------------------------------------------------------------- */

static struct place_cells *place_cells(struct host_cells *c, uint32_t node)
{
	uint32_t place = c->h->tree.nodes[node].place, name = place ? c->h->tree.nodes[place].name : 0;

	if (!c->of_name[name]) {
		if (ARRAY_GROW(c->places, c->capacity, c->count + 1) < 0)
			return NULL;
		c->places[c->count++] = (struct place_cells){ .name = name, .node = place };
		c->of_name[name] = (uint32_t)c->count;
	}
	return &c->places[c->of_name[name] - 1];
}

/* Which nodes are startup, where all of the run is judged: those that build, or that are over when the loop begins. */
static int mark_before(struct host_cells *c)
{
	const struct analysis_host *h = c->h;
	const struct timeline *t = c->p->t;
	uint32_t first = t->tracks[h->spine].first;

	if (h->unit != UNIT_RUN || cells_share(c, h->before) < c->p->a->thresholds.share_least)
		return 0;
	c->before = calloc(h->tree.count, sizeof *c->before);
	if (!c->before)
		return -ENOMEM;
	for (uint32_t i = 1; i < h->tree.count; i++)
		c->before[i] = (h->loop_to > h->loop_from ? h->tree.nodes[i].place != 0 : h->tree.nodes[i].flags & NODE_BUILDS) &&
			       !(h->tree.nodes[i].flags & NODE_IMPORT);
	for (uint32_t i = 0; i < t->tracks[h->spine].count && h->loop_to > h->loop_from; i++)
		c->before[h->tree.node_of[i]] &= t->end[first + i] <= h->loop_from;
	return 0;
}

static int take_node(struct host_cells *c, uint32_t node)
{
	const struct host_tree *tree = &c->h->tree;
	const struct host_node *n = &tree->nodes[node];
	const struct host_cost *cost = &c->w->costs[node];
	struct place_cells *place = place_cells(c, node);

	if (!place)
		return -ENOMEM;
	if (c->before && c->before[node]) {
		place->startup += cost->wall - cost->time[OWNER_PROFILER]; /* which is not in the span */
		return 0;
	}
	for (unsigned k = 0; k < OWNER_COUNT; k++)
		place->time[k] += cost->time[k];
	place->wall += cost->wall;
	place->samples += cost->samples;
	place->waits += cost->waits;
	place->calls += node == n->place ? n->count : 0;
	place->asks += n->flags & NODE_ASKS ? n->count : 0;
	if (n->flags & NODE_OPERATOR) {
		place->operators += cost->wall;
		place->operator_count += tree->nodes[n->parent].flags & NODE_OPERATOR ? 0 : n->count;
		place->model |= n->flags & NODE_MODEL;
	}
	return 0;
}

/* Times of operators over the whole trace, for their mean. */
static void take_operators(struct host_cells *c)
{
	const struct host_window *run = &c->h->run;

	for (uint32_t i = 1; i < c->h->tree.count; i++) {
		const struct host_node *n = &c->h->tree.nodes[i];
		uint32_t name = n->place ? c->h->tree.nodes[n->place].name : 0;

		if (n->flags & NODE_OPERATOR && c->of_name[name])
			c->places[c->of_name[name] - 1].operators_run += run->costs[i].wall;
	}
}

int host_cells_init(struct host_cells *c, struct parts *p)
{
	const struct host_window *w = &p->a->host.window;
	int rc = 0;

	*c = (struct host_cells){ .p = p, .h = &p->a->host, .w = w, .span = w->to - w->from - w->time[OWNER_PROFILER] };
	c->of_name = calloc((size_t)p->t->string_count + 1, sizeof *c->of_name);
	if (!c->of_name)
		return -ENOMEM;
	rc = mark_before(c);
	for (uint32_t i = 0; i < c->h->tree.count && rc == 0; i++)
		if (w->costs[i].wall > 0)
			rc = take_node(c, i);
	if (rc) {
		host_cells_release(c);
		return rc;
	}
	take_operators(c);
	c->unknown = cells_share(c, w->time[OWNER_UNKNOWN] + w->time[OWNER_WAIT]);
	c->has_model = cells_share(c, w->time[OWNER_OPERATORS]) >= MODEL_LEAST;
	return 0;
}

void host_cells_release(struct host_cells *c)
{
	free(c->places);
	free(c->of_name);
	free(c->before);
	*c = (struct host_cells){ 0 };
}

int64_t cells_take(struct place_cells *place, enum host_owner owner)
{
	int64_t time = place->time[owner];

	place->time[owner] = 0;
	return time;
}

int64_t cells_take_all(struct host_cells *c, enum host_owner owner)
{
	int64_t time = 0;

	for (size_t i = 0; i < c->count; i++)
		time += cells_take(&c->places[i], owner);
	return time;
}

int64_t cells_sum(const struct host_cells *c, enum host_owner owner)
{
	int64_t time = 0;

	for (size_t i = 0; i < c->count; i++)
		time += c->places[i].time[owner];
	return time;
}

struct place_cells *cells_largest(struct host_cells *c, enum host_owner owner)
{
	struct place_cells *best = NULL;

	for (size_t i = 0; i < c->count; i++) {
		struct place_cells *place = &c->places[i];

		if (place->time[owner] > 0 && (!best || place->time[owner] > best->time[owner]))
			best = place;
	}
	return best;
}

double cells_share(const struct host_cells *c, int64_t time)
{
	return share(time, c->span);
}

double cells_rate(const struct host_cells *c, double count, const char **ret_unit)
{
	bool steps = c->h->unit == UNIT_STEPS && c->h->steps > 0;

	*ret_unit = steps ? "a step" : "a second";
	return steps ? count / (c->h->steps + c->h->skipped) : count / ((double)(c->h->run.to - c->h->run.from) / 1e9);
}

/* ---- Claims ------------------------------------------------------------------ */

const char *place_text(const struct host_cells *c, uint32_t name, char *out)
{
	const struct timeline *t = c->p->t;
	const struct trace_frame *frame = t->reader ? trace_reader_function(t->reader, name) : NULL;
	size_t size;
	const char *text = timeline_string(t, name, &size), *file = frame && frame->file ? timeline_string(t, frame->file, &size) : "";
	const char *slash = strrchr(file, '/');

	if (strncmp(text, "__main__.", 9) == 0 && text[9] != '<')
		text += 9;
	if (*file)
		snprintf(out, PLACE_TEXT, "%.110s (%.60s:%u)", text, slash ? slash + 1 : file, frame->line);
	else
		snprintf(out, PLACE_TEXT, "%.180s", *text ? text : "the program");
	return out;
}

/* The user's functions around it, the innermost first. */
static void tell_callers(struct host_cells *c, struct host_claim *claim, uint32_t node)
{
	const struct host_tree *tree = &c->h->tree;
	char text[FINDING_TEXT] = "called by ", one[PLACE_TEXT];
	size_t used = strlen(text);
	unsigned count = 0;

	for (uint32_t at = node ? tree->nodes[node].parent : 0; at && count < 3; at = tree->nodes[at].parent) {
		if (!(tree->nodes[at].flags & NODE_OWN))
			continue;
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", count ? ", " : "",
					 place_text(c, tree->nodes[at].name, one));
		count++;
		if (used >= sizeof text)
			break;
	}
	if (count)
		texts_add(&claim->f.where, "%s", text);
}

/* The call with the most time of its own among those of a place: what can be seen of it in the timeline. */
static uint32_t heaviest(const struct host_cells *c, const struct place_cells *place)
{
	const struct host_tree *tree = &c->h->tree;
	uint32_t best = 0;

	for (uint32_t i = 1; i < tree->count; i++) {
		uint32_t own = tree->nodes[i].place;

		if ((own ? tree->nodes[own].name : 0) == place->name && c->w->costs[i].wall > (best ? c->w->costs[best].wall : 0))
			best = i;
	}
	return best;
}

void claim_place(struct host_cells *c, struct host_claim *claim, const struct place_cells *place, int64_t time)
{
	char text[PLACE_TEXT], ns[32];
	bool first = claim->f.where.count == 0;

	if (!place)
		return;
	texts_add(&claim->f.where, "%s: %s, %.1f %% of the time", place_text(c, place->name, text), format_time(ns, time),
		  100 * cells_share(c, time));
	if (first) {
		snprintf(claim->f.id, sizeof claim->f.id, "%s:%.90s", claim->f.kind, text);
		tell_callers(c, claim, place->node);
	}
	if (claim->f.example_count == 0)
		examples_of_node(c->p, &claim->f, heaviest(c, place));
}

void claim_name(struct host_cells *c, struct host_claim *claim, uint32_t name, const char *whose)
{
	char text[PLACE_TEXT];

	if (name == 0)
		return;
	place_text(c, name, text);
	texts_add(&claim->f.where, "%s%s", text, whose);
	if (claim->f.id[0] == '\0')
		snprintf(claim->f.id, sizeof claim->f.id, "%s:%.90s", claim->f.kind, text);
}

/* Leaving work out relieves caches and the allocator, too: up to a tenth and two points more were seen. */
void claim_removal(struct host_cells *c, struct host_claim *claim, bool eliminated)
{
	double s = cells_share(c, claim->f.owned);

	claim->f.gain_high = fmin(GAIN_MOST, 1.1 * s + 0.02);
	claim->f.gain = (eliminated ? 0.97 : 0.85) * s;
	claim->f.gain_low = 0.5 * s;
}

/* Half the width of the range that samples leave for a share. */
static double spread(const struct host_cells *c, double s, bool exact)
{
	double n = (double)c->span / c->h->load.interval;

	return exact || n < 1 ? 0 : 1.64 * sqrt(fmax(0, s * (1 - s)) / n);
}

static double environment(const struct host_cells *c, bool needs_core)
{
	const struct host_load *l = &c->h->load;

	if (isnan(l->outside) || isnan(l->free_cores) || l->free_cores <= 0)
		return needs_core ? 0.7 : 0.9;
	return 1 - (needs_core ? 0.5 : 0.2) * fmin(1, l->outside / l->free_cores);
}

int claim_add(struct host_cells *c, struct host_claim *claim)
{
	struct analysis_finding *f = &claim->f;
	double s = cells_share(c, f->owned), half = spread(c, s, claim->exact);

	if (s <= 0 || !isfinite(f->gain) || !isfinite(f->gain_low) || !isfinite(f->gain_high))
		return 0;
	f->gain = fmin(GAIN_MOST, f->gain);
	f->gain_low = fmax(0, f->gain_low - half);
	f->gain_high = fmin(GAIN_MOST, f->gain_high + half);
	f->confidence = (1 - fmin(1, half / s)) * (claim->agree > 0 ? claim->agree : 1) * s / (s + c->unknown) *
			trust_in(c->p->a->verdict);
	if (f->confidence < CONFIDENCE_LEAST)
		return 0;
	f->confidence *= environment(c, claim->needs_core); /* that it is so is one thing, that it can be had here another */
	f->confidence = 1 - CALIBRATION * (1 - f->confidence);
	if (claim->needs_core && !isnan(c->h->load.idle) && c->h->load.idle < IDLE_CORE)
		texts_add(&f->evidence, "the fix needs a free core, and there was none: others used %.1f", c->h->load.outside);
	if (f->id[0] == '\0')
		snprintf(f->id, sizeof f->id, "%s:program", f->kind);
	if (!f->frequency)
		f->frequency = NAN;
	return finding_add(c->p, f);
}

/* ---- All of them ------------------------------------------------------------- */

int find_on_host(struct parts *p)
{
	static int (*const all[])(struct host_cells *) = {
		find_host_startup, find_host_oversubscription, find_host_input,	  find_host_contention, find_host_polling,
		find_host_workers, find_host_sleep,	       find_host_network, find_host_children,	find_host_compilation,
		find_host_collections, find_host_files, find_host_operators, find_host_memory, find_host_python,
	};
	struct host_cells c;
	int rc;

	if (!p->a->host.known || p->a->host.window.to <= p->a->host.window.from || host_serves(&p->a->host.window))
		return 0;
	rc = host_cells_init(&c, p);
	if (rc)
		return rc;
	p->a->findings.span = c.span;
	for (size_t i = 0; i < sizeof all / sizeof *all && rc == 0 && c.span > 0; i++)
		rc = all[i](&c);
	host_cells_release(&c);
	return rc;
}
