/*
 * terminal_pane.c - the tables: threads, processes, places, alerts.  See terminal_parts.h.
 *
 * A table is a list of columns and a function that writes the text of one cell.
 * On a narrow screen columns are left out, the least important first.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/terminal_parts.h"

#define ITEMS (LIVE_THREADS > LIVE_PROCESSES ? LIVE_THREADS : LIVE_PROCESSES)
#define DEPTH_MOST 8
#define CELL 384u

struct column {
	const char *title;
	int width;  /* 0: what is left over */
	bool right; /* numbers */
	int from;   /* shown on screens of so many columns */
};

struct table {
	const struct column *columns;
	size_t column_count;
	const char *const *sorts;
	size_t (*count)(const struct live_snapshot *s);
	const char *(*name)(const struct live_snapshot *s, size_t item);
	void (*cell)(const struct live_snapshot *s, size_t item, size_t column, char *out);
	int (*compare)(const struct live_snapshot *s, size_t a, size_t b, unsigned sort);
	const char *nothing; /* what to say when there is none */
};

static int compare_numbers(double a, double b) /* the larger first, NAN last */
{
	return isnan(a) || isnan(b) ? isnan(a) - isnan(b) : (a < b) - (a > b);
}

/* ---- Threads ----------------------------------------------------------------------- */

static size_t thread_count(const struct live_snapshot *s)
{
	return s->thread_count < LIVE_THREADS ? s->thread_count : LIVE_THREADS;
}

static const char *thread_name(const struct live_snapshot *s, size_t item)
{
	return s->threads[item].name;
}

/* Where it is now; where nothing is open, or operators are not recorded just now, where it mostly is. */
static void thread_place(const struct live_snapshot *s, const struct live_thread *t, char *out)
{
	const char *between = t->scope[0] && t->op[0] ? " > " : "";
	bool open = t->scope[0] || t->op[0], told = t->tid == s->doing.tid && t->pid == s->doing.pid && s->doing.most[0];

	if (open || !told)
		snprintf(out, CELL, "%s%s%s", t->scope, between, t->op);
	else
		snprintf(out, CELL, "mostly %s", s->doing.most);
}

static void thread_cell(const struct live_snapshot *s, size_t item, size_t column, char *out)
{
	const struct live_thread *t = &s->threads[item];
	char number[NUMBER_SIZE];

	switch (column) {
	case 0:
		snprintf(out, CELL, "%s", t->name);
		break;
	case 1:
		snprintf(out, CELL, "%d", (int)t->tid);
		break;
	case 2:
		snprintf(out, CELL, "%s", number_share(number, t->cpu));
		break;
	case 3:
		snprintf(out, CELL, "%s", number_share(number, t->queue));
		break;
	case 4:
		snprintf(out, CELL, "%s", t->state);
		break;
	case 5:
		snprintf(out, CELL, "%s", number_seconds(number, t->waiting_s));
		break;
	case 6:
		snprintf(out, CELL, "%s", t->what);
		break;
	default:
		thread_place(s, t, out);
	}
}

static int thread_compare(const struct live_snapshot *s, size_t a, size_t b, unsigned sort)
{
	const struct live_thread *x = &s->threads[a], *y = &s->threads[b];

	switch (sort) {
	case 1:
		return compare_numbers(x->waiting_s, y->waiting_s);
	case 2:
		return strcmp(x->name, y->name);
	case 3:
		return (x->tid > y->tid) - (x->tid < y->tid);
	default:
		return compare_numbers(x->cpu, y->cpu);
	}
}

static const struct column thread_columns[] = {
	{ "THREAD", 15, false, 0 },  { "ID", 8, true, 60 },     { "CPU", 6, true, 0 },        { "QUEUE", 6, true, 100 },
	{ "STATE", 13, false, 0 },   { "FOR", 9, true, 70 },    { "WAITS FOR", 26, false, 80 }, { "INSIDE", 0, false, 50 },
};
static const char *const thread_sorts[] = { "cpu", "wait", "name", "id", NULL };

/* ---- Processes ---------------------------------------------------------------------- */

static size_t process_count(const struct live_snapshot *s)
{
	return s->process_count < LIVE_PROCESSES ? s->process_count : LIVE_PROCESSES;
}

static const char *process_name(const struct live_snapshot *s, size_t item)
{
	return s->processes[item].name;
}

static size_t parent_of(const struct live_snapshot *s, size_t item)
{
	for (size_t i = 0; i < process_count(s); i++)
		if (i != item && s->processes[i].pid == s->processes[item].parent)
			return i;
	return item;
}

/* Its parents, the oldest first, with itself; bounded, since nothing says that this is a tree. */
static size_t path_of(const struct live_snapshot *s, size_t item, size_t path[DEPTH_MOST])
{
	size_t reversed[DEPTH_MOST], n = 0, above;

	for (reversed[n++] = item; n < DEPTH_MOST; reversed[n++] = above) {
		above = parent_of(s, reversed[n - 1]);
		if (above == reversed[n - 1])
			break;
	}
	for (size_t i = 0; i < n; i++)
		path[i] = reversed[n - 1 - i];
	return n;
}

static int compare_in_tree(const struct live_snapshot *s, size_t a, size_t b)
{
	size_t x[DEPTH_MOST], y[DEPTH_MOST];
	size_t nx = path_of(s, a, x), ny = path_of(s, b, y), i = 0;

	while (i < nx && i < ny && x[i] == y[i])
		i++;
	if (i == nx || i == ny)
		return (nx > ny) - (nx < ny);
	return (x[i] > y[i]) - (x[i] < y[i]);
}

static void process_cell(const struct live_snapshot *s, size_t item, size_t column, char *out)
{
	const struct live_process *p = &s->processes[item];
	size_t path[DEPTH_MOST];
	char number[NUMBER_SIZE];

	switch (column) {
	case 0:
		snprintf(out, CELL, "%d", (int)p->pid);
		break;
	case 1:
		snprintf(out, CELL, "%c", p->state ? p->state : '-');
		break;
	case 2:
		snprintf(out, CELL, "%s", number_share(number, p->cpu));
		break;
	case 3:
		snprintf(out, CELL, "%s", number_bytes(number, p->rss_bytes));
		break;
	case 4:
		snprintf(out, CELL, "%s", number_rate(number, p->read_bytes));
		break;
	case 5:
		snprintf(out, CELL, "%s", number_rate(number, p->written_bytes));
		break;
	case 6:
		snprintf(out, CELL, "%u", p->threads);
		break;
	default:
		snprintf(out, CELL, "%*s%s%s", (int)(path_of(s, item, path) - 1) * 2, "", p->name, p->recorded ? "" : " (not recorded)");
		if (!s->events.recorded)
			snprintf(out, CELL, "%*s%s", (int)(path_of(s, item, path) - 1) * 2, "", p->name);
	}
}

static int process_compare(const struct live_snapshot *s, size_t a, size_t b, unsigned sort)
{
	const struct live_process *x = &s->processes[a], *y = &s->processes[b];

	switch (sort) {
	case 1:
		return compare_numbers(x->cpu, y->cpu);
	case 2:
		return compare_numbers(x->rss_bytes, y->rss_bytes);
	case 3:
		return (x->pid > y->pid) - (x->pid < y->pid);
	default:
		return compare_in_tree(s, a, b);
	}
}

static const struct column process_columns[] = {
	{ "PID", 8, true, 0 },      { "S", 1, false, 50 },       { "CPU", 6, true, 0 },      { "MEMORY", 8, true, 0 },
	{ "READ", 10, true, 80 },   { "WRITTEN", 10, true, 80 }, { "THREADS", 7, true, 60 }, { "PROCESS", 0, false, 0 },
};
static const char *const process_sorts[] = { "tree", "cpu", "memory", "id", NULL };

/* ---- Places ------------------------------------------------------------------------- */

/* Those of the thread, then those of devices: shares of another whole. */
static size_t thread_places(const struct live_snapshot *s)
{
	return s->place_count < LIVE_PLACES ? s->place_count : LIVE_PLACES;
}

static size_t place_count(const struct live_snapshot *s)
{
	return thread_places(s) + (s->kernel_count < LIVE_PLACES ? s->kernel_count : LIVE_PLACES);
}

static const struct live_place *place_of(const struct live_snapshot *s, size_t item)
{
	return item < thread_places(s) ? &s->places[item] : &s->kernels[item - thread_places(s)];
}

static const char *place_name(const struct live_snapshot *s, size_t item)
{
	return place_of(s, item)->name;
}

static void place_cell(const struct live_snapshot *s, size_t item, size_t column, char *out)
{
	const struct live_place *p = place_of(s, item);
	char number[NUMBER_SIZE];

	switch (column) {
	case 0:
		snprintf(out, CELL, "%s", number_share(number, p->share));
		break;
	case 1:
		snprintf(out, CELL, "%s", number_plain(number, p->calls));
		break;
	case 2:
		snprintf(out, CELL, "%s", p->kind);
		break;
	default:
		snprintf(out, CELL, "%s", p->name);
	}
}

static int place_compare(const struct live_snapshot *s, size_t a, size_t b, unsigned sort)
{
	const struct live_place *x = place_of(s, a), *y = place_of(s, b);

	if ((a < thread_places(s)) != (b < thread_places(s)))
		return a < thread_places(s) ? -1 : 1;
	switch (sort) {
	case 1:
		return compare_numbers(x->calls, y->calls);
	case 2:
		return strcmp(x->name, y->name);
	default:
		return compare_numbers(x->share, y->share);
	}
}

static const struct column place_columns[] = {
	{ "SHARE", 6, true, 0 },
	{ "CALLS/S", 9, true, 0 },
	{ "KIND", 12, false, 50 },
	{ "SCOPE, OPERATOR OR FUNCTION", 0, false, 0 },
};
static const char *const place_sorts[] = { "share", "calls", "name", NULL };

/* ---- Tables in general -------------------------------------------------------------- */

#define COLUMNS(list) list, sizeof list / sizeof list[0]
static const struct table tables[] = {
	[PANE_THREADS] = { COLUMNS(thread_columns), thread_sorts, thread_count, thread_name, thread_cell, thread_compare,
			   "No thread has been seen yet." },
	[PANE_PROCESSES] = { COLUMNS(process_columns), process_sorts, process_count, process_name, process_cell, process_compare,
			     "No process has been seen yet." },
	[PANE_PLACES] = { COLUMNS(place_columns), place_sorts, place_count, place_name, place_cell, place_compare,
			  "Nothing is recorded of where the time goes: no scope, no operator." },
};

const char *pane_name(enum pane pane)
{
	static const char *const names[] = { "Threads", "Processes", "Places", "Alerts", "Output" };

	return names[pane];
}

unsigned pane_sorts(enum pane pane)
{
	unsigned n = 0;

	while (pane < PANE_ALERTS && tables[pane].sorts[n])
		n++;
	return n;
}

struct order {
	const struct table *table;
	const struct live_snapshot *s;
	unsigned sort;
};

static int compare_items(const void *a, const void *b, void *arg)
{
	const struct order *order = arg;
	uint16_t x = *(const uint16_t *)a, y = *(const uint16_t *)b;
	int result = order->table->compare(order->s, x, y, order->sort);

	return result ? result : (x > y) - (x < y);
}

/* Those that the filter lets through, in order. */
static size_t choose(const struct live_terminal *t, const struct live_snapshot *s, const struct table *table, uint16_t items[ITEMS])
{
	struct order order = { table, s, t->sort[t->pane] };
	size_t count = table->count(s), n = 0;

	for (size_t i = 0; i < count; i++)
		if (t->filter_size == 0 || strcasestr(table->name(s, i), t->filter))
			items[n++] = (uint16_t)i;
	qsort_r(items, n, sizeof items[0], compare_items, &order);
	return n;
}

/* What a column takes on this screen; 0: it is left out. */
static int column_width(const struct live_terminal *t, const struct table *table, size_t column)
{
	const struct column *c = &table->columns[column];
	int left = t->columns;

	if (t->columns < c->from)
		return 0;
	if (c->width)
		return c->width;
	for (size_t i = 0; i < table->column_count; i++)
		if (t->columns >= table->columns[i].from && table->columns[i].width)
			left -= table->columns[i].width + 1;
	return left > 0 ? left : 0;
}

/* item: SIZE_MAX for the line of titles. */
static void table_row(struct live_terminal *t, const struct live_snapshot *s, const struct table *table, size_t item, int row)
{
	char text[CELL];
	int at = 0;

	for (size_t i = 0; i < table->column_count; i++) {
		int width = column_width(t, table, i);
		enum ink ink = item == SIZE_MAX ? INK_STRONG : INK_PLAIN;

		if (width == 0)
			continue;
		if (item == SIZE_MAX)
			snprintf(text, sizeof text, "%s", table->columns[i].title);
		else
			table->cell(s, item, i, text);
		if (table->columns[i].right)
			paint_right(t, row, at, width, ink, text);
		else
			paint_text(t, row, at, width, ink, text);
		at += width + 1;
	}
}

void pane_limit_scroll(struct live_terminal *t, size_t count, int rows)
{
	t->scroll_most = rows > 0 && count > (size_t)rows ? count - (size_t)rows : 0;
	if (t->scroll > t->scroll_most)
		t->scroll = t->scroll_most;
}

static void table_draw(struct live_terminal *t, const struct live_snapshot *s, const struct table *table, int row, int rows)
{
	uint16_t items[ITEMS];
	size_t count = choose(t, s, table, items);

	if (count == 0) {
		paint_text(t, row, 0, t->columns, INK_PLAIN, t->filter_size ? "Nothing has this in its name." : table->nothing);
		return;
	}
	if (rows > 2)
		table_row(t, s, table, SIZE_MAX, row);
	row += rows > 2;
	rows -= rows > 2;
	pane_limit_scroll(t, count, rows);
	for (int i = 0; i < rows && t->scroll + (size_t)i < count; i++)
		table_row(t, s, table, items[t->scroll + (size_t)i], row + i);
}

/* ---- Alerts -------------------------------------------------------------------------- */

void alert_draw(struct live_terminal *t, const struct live_alert *a, int row)
{
	static const char *const severities[] = { "info", "warning", "CRITICAL" };
	unsigned severity = a->severity <= LIVE_CRITICAL ? a->severity : LIVE_CRITICAL;
	enum ink ink = !a->active || severity == LIVE_INFO ? INK_PLAIN : severity == LIVE_CRITICAL ? INK_BAD : INK_WARNING;
	char begin[NUMBER_SIZE], text[LIVE_TEXT + LIVE_NAME + 64];

	snprintf(text, sizeof text, "%s%s at %s: %s", a->active ? "! " : "  ended, ", severities[severity],
		 number_seconds(begin, a->begin_s), a->text);
	paint_text(t, row, 0, t->columns, ink, text);
}

static void alerts_draw(struct live_terminal *t, const struct live_snapshot *s, int row, int rows)
{
	size_t count = s->alert_count < LIVE_ALERTS ? s->alert_count : LIVE_ALERTS;

	if (count == 0)
		paint_text(t, row, 0, t->columns, INK_PLAIN, "There has been no alert.");
	pane_limit_scroll(t, count * 2, rows);
	for (int i = 0; i < rows && t->scroll + (size_t)i < count * 2; i++) {
		const struct live_alert *a = &s->alerts[(t->scroll + (size_t)i) / 2];

		if ((t->scroll + (size_t)i) % 2 == 0)
			alert_draw(t, a, row + i);
		else
			paint_text(t, row + i, 4, t->columns - 4, INK_PLAIN, a->advice);
	}
}

/* ---- The pane --------------------------------------------------------------------------- */

static void sorted_by(const struct live_terminal *t, const struct live_snapshot *s, char *out, size_t size)
{
	uint32_t more = t->pane == PANE_THREADS ? s->threads_left_out : t->pane == PANE_PROCESSES ? s->processes_left_out : 0;
	const char *sort = tables[t->pane].sorts[t->sort[t->pane]];

	if (t->pane == PANE_PLACES && s->doing.thread[0] && !isnan(s->doing.window_s)) /* the one whole of all shares */
		snprintf(out, size, "of %.40s, last %.0f s%s; by %s ", s->doing.thread, s->doing.window_s,
			 s->kernel_count ? ", gpu_*: of devices" : "", sort);
	else if (more)
		snprintf(out, size, "by %s, %u more are not shown ", sort, more);
	else
		snprintf(out, size, "by %s ", sort);
}

/* The one that is shown stands in brackets, since not everybody sees colours. */
static void title_draw(struct live_terminal *t, const struct live_snapshot *s, int row)
{
	char right[96] = "";
	int at = 0;

	paint_line(t, row, INK_TITLE);
	for (int i = 0; i < PANE_COUNT; i++)
		if (t->columns >= 60 || i == (int)t->pane)
			at += paint_format(t, row, at, t->columns - at, INK_TITLE, i == (int)t->pane ? "[%s]" : " %s ", pane_name((enum pane)i));
	if (t->typing)
		snprintf(right, sizeof right, "typing to the program; Ctrl-] ends it ");
	else if (t->filtering || t->filter_size)
		snprintf(right, sizeof right, "/%s%s ", t->filter, t->filtering ? "_" : "");
	else if (t->pane < PANE_ALERTS)
		sorted_by(t, s, right, sizeof right);
	if (at < t->columns)
		paint_right(t, row, at, t->columns - at, INK_TITLE, right);
}

void pane_draw(struct live_terminal *t, const struct live_snapshot *s, int row, int rows)
{
	if (rows < 1)
		return;
	title_draw(t, s, row++);
	rows--;
	if (rows < 1)
		return;
	if (t->pane == PANE_ALERTS)
		alerts_draw(t, s, row, rows);
	else if (t->pane == PANE_OUTPUT)
		output_pane(t, row, rows);
	else
		table_draw(t, s, &tables[t->pane], row, rows);
}
