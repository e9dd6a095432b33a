/*
 * page_flame.c - the calls of all threads as one tree: where time was spent, whatever the order.
 *
 * Each nanosecond of a thread belongs to the slice that began last of those that
 * are open, as everywhere in the analysis.  A node is a label below another.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "page/page_parts.h"

#define NODES_MOST 500000u /* beyond that, time stays with what is around */
#define NODE_BYTES 50u     /* five varints of ten bytes, at most */

struct node {
	uint32_t parent, label; /* label plus 1; 0: a thread, whose parent is its place in the page */
	uint32_t child, last_child, next; /* 0: none; a child is never node 0 */
	int64_t wall, processor, device;
};

struct page_flame {
	struct node *nodes;
	size_t count, capacity;
	uint32_t *table; /* of nodes that are not threads, by parent and label; 0: free */
	size_t table_size;
	uint32_t other;  /* label of what is folded, plus 1 */
};

/* ---- Nodes ------------------------------------------------------------------- */

static size_t slot_of(const struct page_flame *f, uint32_t parent, uint32_t label)
{
	size_t slot = page_hash(parent, label, f->table_size);

	while (f->table[slot] && (f->nodes[f->table[slot]].parent != parent || f->nodes[f->table[slot]].label != label))
		slot = (slot + 1) & (f->table_size - 1);
	return slot;
}

static int grow_table(struct page_flame *f)
{
	size_t size = f->table_size ? 2 * f->table_size : 4096;
	uint32_t *table = calloc(size, sizeof *table);

	if (!table)
		return -ENOMEM;
	free(f->table);
	f->table = table;
	f->table_size = size;
	for (size_t i = 1; i < f->count; i++)
		if (f->nodes[i].label)
			f->table[slot_of(f, f->nodes[i].parent, f->nodes[i].label)] = (uint32_t)i;
	return 0;
}

static void adopt(struct page_flame *f, uint32_t parent, uint32_t node)
{
	struct node *p = &f->nodes[parent];

	if (p->child)
		f->nodes[p->last_child].next = node;
	else
		p->child = node;
	p->last_child = node;
}

/* Number of the child of that label. */
static int node_below(struct page_flame *f, uint32_t parent, uint32_t label, uint32_t *ret)
{
	size_t slot;

	if (2 * f->count >= f->table_size && grow_table(f) < 0)
		return -ENOMEM;
	slot = slot_of(f, parent, label + 1);
	if (!f->table[slot]) {
		if (f->count >= NODES_MOST) {
			*ret = parent;
			return 0;
		}
		if (ARRAY_GROW(f->nodes, f->capacity, f->count + 1) < 0)
			return -ENOMEM;
		f->nodes[f->count] = (struct node){ .parent = parent, .label = label + 1 };
		f->table[slot] = (uint32_t)f->count;
		adopt(f, parent, (uint32_t)f->count++);
	}
	*ret = f->table[slot];
	return 0;
}

/* ---- Processor time ---------------------------------------------------------- */

/* When a thread was seen running; times have to be asked for in order. */
struct running {
	struct page_world *w;
	uint32_t at, end;     /* looks */
	int64_t first, last;  /* somebody looked in between; before and after, nobody knows better than that it ran */
};

static bool is_state(const struct timeline_look *look)
{
	return look->kind == LOOK_STATE && look->end > look->begin;
}

static struct running running_of(struct page_world *w, const struct page_track *track)
{
	struct running r = { .w = w, .first = INT64_MAX, .last = INT64_MAX };
	uint32_t count;

	if (track->states == TIMELINE_NONE)
		return r;
	r.at = timeline_looks_from(w->t, track->states, INT64_MIN, &count);
	r.end = r.at + count;
	for (uint32_t i = r.at; i < r.end; i++) {
		if (!is_state(&w->t->looks[i]))
			continue;
		if (r.first == INT64_MAX) {
			r.first = w->t->looks[i].begin;
			r.last = 0;
		}
		r.last = w->t->looks[i].end > r.last ? w->t->looks[i].end : r.last;
	}
	return r;
}

static int64_t overlap(int64_t a_begin, int64_t a_end, int64_t b_begin, int64_t b_end)
{
	int64_t begin = a_begin > b_begin ? a_begin : b_begin, end = a_end < b_end ? a_end : b_end;

	return end > begin ? end - begin : 0;
}

static int64_t running_in(struct running *r, int64_t from, int64_t to)
{
	const struct timeline_look *looks = r->w->t->looks;
	int64_t sum = overlap(from, to, INT64_MIN, r->first) + overlap(from, to, r->last, INT64_MAX), counted = from;

	if (r->first == INT64_MAX)
		return to - from;
	while (r->at < r->end && looks[r->at].end <= from)
		r->at++;
	for (uint32_t i = r->at; i < r->end && looks[i].begin < to; i++) {
		int64_t begin = looks[i].begin > counted ? looks[i].begin : counted;

		if (!is_state(&looks[i]) || host_look_state(&r->w->names, &looks[i]) != STATE_RUNNING)
			continue;
		sum += overlap(from, to, begin, looks[i].end);
		counted = looks[i].end > counted ? looks[i].end : counted;
	}
	return sum;
}

/* ---- Threads ----------------------------------------------------------------- */

struct open_slice {
	uint32_t slice, node;
};

struct sweep_state {
	struct page_world *w;
	struct page_flame *f;
	struct running running;
	struct open_slice *open; /* by begin; an end that has come is noticed when it is on top */
	size_t count, capacity;
	int64_t now;
	uint32_t root;
	uint32_t *node_of; /* by slice, from the first of the thread */
	size_t node_capacity;
	uint32_t first;
};

static void give(struct sweep_state *s, uint32_t node, int64_t from, int64_t to)
{
	struct node *n = &s->f->nodes[node];

	n->wall = page_sum(n->wall, to - from);
	n->processor = page_sum(n->processor, running_in(&s->running, from, to));
}

static void advance(struct sweep_state *s, int64_t until)
{
	const struct timeline *t = s->w->t;

	while (s->count > 0 && s->now < until) {
		const struct open_slice *top = &s->open[s->count - 1];
		int64_t end = t->end[top->slice];

		if (end <= s->now) {
			s->count--;
			continue;
		}
		if (end > until)
			end = until;
		give(s, top->node, s->now, end);
		s->now = end;
	}
}

/* The node of the slice around it.  That need not be on top: what is nested too deeply for a timeline has all the same parent. */
static uint32_t node_around(const struct sweep_state *s, uint32_t slice)
{
	uint32_t parent = s->w->t->parent[slice];

	return parent != TIMELINE_NONE && parent >= s->first && parent < slice ? s->node_of[parent - s->first] : s->root;
}

static int64_t launched_by(const struct timeline *t, uint32_t call)
{
	int64_t sum = 0;

	if (page_is_launched(t, call, false))
		return 0;
	for (uint32_t i = t->link[call]; i < t->work_count && t->link[t->work[i]] == call; i++)
		sum = page_sum(sum, t->end[t->work[i]] - t->begin[t->work[i]]);
	return sum;
}

static int take_slice(struct sweep_state *s, uint32_t slice)
{
	const struct timeline *t = s->w->t;
	uint32_t label = page_label_of(&s->w->labels, page_slice_name(t, slice), page_sort_of(s->w->a, slice)), node;

	advance(s, t->begin[slice]);
	if (node_below(s->f, node_around(s, slice), label, &node) < 0 || ARRAY_GROW(s->open, s->capacity, s->count + 1) < 0)
		return -ENOMEM;
	s->f->nodes[node].device = page_sum(s->f->nodes[node].device, launched_by(t, slice));
	if (s->now < t->begin[slice])
		s->now = t->begin[slice];
	s->open[s->count++] = (struct open_slice){ slice, node };
	s->node_of[slice - s->first] = node;
	return 0;
}

static int take_thread(struct sweep_state *s, uint32_t place)
{
	const struct page_track *track = &s->w->tracks[place];
	const struct timeline_track *row = &s->w->t->tracks[track->track];
	int rc = 0;

	if (ARRAY_GROW(s->f->nodes, s->f->capacity, s->f->count + 1) < 0 || ARRAY_GROW(s->node_of, s->node_capacity, row->count) < 0)
		return -ENOMEM;
	s->first = row->first;
	s->root = (uint32_t)s->f->count++;
	s->f->nodes[s->root] = (struct node){ .parent = place };
	s->running = running_of(s->w, track);
	s->count = 0;
	s->now = 0;
	for (uint32_t i = row->first; i < row->first + row->count && rc == 0; i++)
		rc = take_slice(s, i);
	if (rc == 0)
		advance(s, INT64_MAX);
	return rc;
}

int page_flame_new(struct page_flame **ret, struct page_world *w)
{
	struct page_flame *f = calloc(1, sizeof *f);
	struct sweep_state s = { .w = w, .f = f };
	int rc = f ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < w->track_count && rc == 0; i++)
		if (w->t->tracks[w->tracks[i].track].count && !page_is_stream(&w->t->tracks[w->tracks[i].track]))
			rc = take_thread(&s, i);
	free(s.open);
	free(s.node_of);
	if (rc) {
		page_flame_free(f);
		return rc;
	}
	f->other = w->labels.all + 1;
	*ret = f;
	return 0;
}

void page_flame_free(struct page_flame *f)
{
	if (!f)
		return;
	free(f->nodes);
	free(f->table);
	free(f);
}

/* ---- The stream -------------------------------------------------------------- */

struct total {
	int64_t wall, device;
};

/* Of each node with all below it.  Children come after their parents. */
static struct total *sum_up(const struct page_flame *f, struct total *ret_all)
{
	struct total *totals = malloc((f->count + 1) * sizeof *totals);

	*ret_all = (struct total){ 0 };
	if (!totals)
		return NULL;
	for (size_t i = 0; i < f->count; i++)
		totals[i] = (struct total){ f->nodes[i].wall, f->nodes[i].device };
	for (size_t i = f->count; i-- > 0;) {
		struct total *to = f->nodes[i].label ? &totals[f->nodes[i].parent] : ret_all;

		to->wall = page_sum(to->wall, totals[i].wall);
		to->device = page_sum(to->device, totals[i].device);
	}
	return totals;
}

struct writer {
	const struct page_flame *f;
	const struct total *totals;
	struct total least;
	int64_t depth_most;
	struct buffer *out;
	uint32_t count;
	int64_t depth; /* of the node before */
};

static void put_amount(struct buffer *out, int64_t ns)
{
	page_put(out, (uint64_t)ns < PAGE_VARINT_MOST ? (uint64_t)ns : PAGE_VARINT_MOST);
}

static int put_node(struct writer *w, const struct node *n, int64_t depth)
{
	if (buffer_reserve(w->out, NODE_BYTES + 10) < 0)
		return -ENOMEM;
	page_put(w->out, (uint64_t)(w->depth + 1 - depth));
	page_put(w->out, n->label);
	if (!n->label)
		page_put(w->out, n->parent);
	put_amount(w->out, n->wall);
	put_amount(w->out, n->processor);
	put_amount(w->out, n->device);
	w->depth = depth;
	w->count++;
	return 0;
}

static bool is_shown(const struct writer *w, uint32_t node, int64_t depth)
{
	return depth <= w->depth_most &&
	       (w->totals[node].wall >= w->least.wall || (w->least.device && w->totals[node].device >= w->least.device));
}

static void add_node(struct node *to, const struct node *from)
{
	to->wall = page_sum(to->wall, from->wall);
	to->processor = page_sum(to->processor, from->processor);
	to->device = page_sum(to->device, from->device);
}

/* All of a subtree. */
static void add_all(const struct page_flame *f, uint32_t root, struct node *to)
{
	uint32_t at = root;

	for (;;) {
		add_node(to, &f->nodes[at]);
		if (f->nodes[at].child) {
			at = f->nodes[at].child;
			continue;
		}
		while (at != root && !f->nodes[at].next)
			at = f->nodes[at].parent;
		if (at == root)
			return;
		at = f->nodes[at].next;
	}
}

/* What is folded of a node, as a child of it. */
static int put_folded(struct writer *w, uint32_t parent, int64_t depth)
{
	struct node sum = { .label = w->f->other };
	bool any = false;

	for (uint32_t i = w->f->nodes[parent].child; i; i = w->f->nodes[i].next) {
		if (is_shown(w, i, depth))
			continue;
		add_all(w->f, i, &sum);
		any = true;
	}
	return any ? put_node(w, &sum, depth) : 0;
}

static uint32_t shown_from(const struct writer *w, uint32_t node, int64_t depth)
{
	while (node && !is_shown(w, node, depth))
		node = w->f->nodes[node].next;
	return node;
}

/* Preorder, by hand: threads may be nested deeper than a stack of ours. */
static int put_thread(struct writer *w, uint32_t root)
{
	const struct node *nodes = w->f->nodes;
	uint32_t at = root;
	int64_t depth = 0;

	for (;;) {
		uint32_t child = shown_from(w, nodes[at].child, depth + 1);

		if (put_node(w, &nodes[at], depth) < 0 || put_folded(w, at, depth + 1) < 0)
			return -ENOMEM;
		if (child) {
			at = child;
			depth++;
			continue;
		}
		for (;; at = nodes[at].parent, depth--) {
			if (at == root)
				return 0;
			if ((child = shown_from(w, nodes[at].next, depth)) != 0)
				break;
		}
		at = child;
	}
}

/* One of so many parts, rounded up: of anything at all, nothing is too little. */
static int64_t part_of(int64_t all, int64_t parts)
{
	return all / parts + (all % parts != 0);
}

int page_flame_put(const struct page_flame *f, int64_t parts, int64_t depth_most, struct buffer *out)
{
	struct buffer body = BUFFER_INIT;
	struct writer w = { .f = f, .depth_most = depth_most, .out = &body, .depth = -1 };
	struct total all, *totals = sum_up(f, &all);
	int rc = totals ? 0 : -ENOMEM;

	w.totals = totals;
	w.least = (struct total){ part_of(all.wall, parts), part_of(all.device, parts) };
	for (size_t i = 0; i < f->count && rc == 0; i++)
		if (!f->nodes[i].label)
			rc = put_thread(&w, (uint32_t)i);
	if (rc == 0 && w.count)
		rc = buffer_append_uv(out, w.count);
	if (rc == 0)
		rc = buffer_append(out, body.data, body.size);
	buffer_release(&body);
	free(totals);
	return rc;
}
