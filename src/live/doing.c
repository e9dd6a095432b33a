/* doing.c - see doing.h. */
#include "live/doing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WINDOW_LEAST_S 2.0 /* before, nothing is said */
#define KNOWN_LEAST 0.5    /* of the window, in which the thread was seen */
#define PREVAILS 0.3
#define SHOWN_LEAST 0.005

/* ---- The thread as it is seen from outside ---------------------------------------- */

static const struct live_thread *find_thread(const struct live_snapshot *s, pid_t pid, pid_t tid)
{
	for (uint32_t i = 0; i < s->thread_count && i < LIVE_THREADS; i++)
		if (s->threads[i].tid == tid && s->threads[i].pid == pid)
			return &s->threads[i];
	return NULL;
}

static enum thread_state state_of(const struct live_thread *t)
{
	for (unsigned i = 0; i < THREAD_STATE_COUNT; i++)
		if (strcmp(t->state, thread_state_name(i)) == 0)
			return (enum thread_state)i;
	return THREAD_UNKNOWN;
}

/* What is not known is left out, and told as not known. */
static void note_thread(struct doing *d, const struct live_thread *t, double interval_s)
{
	unsigned fresh = window_turn(&d->window, interval_s);
	struct doing_times *slot = &d->slots[d->window.slot];

	for (unsigned i = 0; i < WINDOW_SLOTS; i++)
		if (fresh >> i & 1)
			d->slots[i] = (struct doing_times){ .running = 0 };
	if (!t || isnan(t->cpu))
		return;
	slot->running += interval_s * t->cpu;
	slot->queueing += interval_s * (isnan(t->queue) ? 0 : t->queue);
	slot->waiting[state_of(t)] += interval_s * (isnan(t->blocked) ? 0 : t->blocked);
}

static struct doing_times sum_slots(const struct doing *d)
{
	struct doing_times sum = { .running = 0 };

	for (unsigned i = 0; i < WINDOW_SLOTS; i++) {
		sum.running += d->slots[i].running;
		sum.queueing += d->slots[i].queueing;
		for (unsigned k = 0; k < THREAD_STATE_COUNT; k++)
			sum.waiting[k] += d->slots[i].waiting[k];
	}
	return sum;
}

static double sum_waiting(const struct doing_times *sum)
{
	double waiting = 0;

	for (unsigned i = 0; i < THREAD_STATE_COUNT; i++)
		waiting += sum->waiting[i];
	return waiting;
}

/* ---- What was not recorded ----------------------------------------------------------- */

static double within(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

static double recorded(const struct live_doing *d)
{
	return isnan(d->operators) ? 0 : d->input + d->operators + d->scopes + d->functions;
}

/* The recorded part ran as far as it can have, but for waits for input, which never do. */
static void split_rest(struct live_doing *out, const struct doing_times *sum, double span)
{
	double known = recorded(out), rest = within(1 - known, 0, 1), input = isnan(out->input) ? 0 : out->input;
	double running = sum->running / span, queueing = sum->queueing / span, waiting = sum_waiting(sum) / span;

	out->running = within(running - (known - input), 0, rest);
	out->running = fmax(out->running, within(rest - queueing - waiting, 0, within(running, 0, rest)));
	out->queueing = within(queueing, 0, rest - out->running);
	out->waiting = within(waiting, 0, rest - out->running - out->queueing);
}

static enum thread_state usual_wait(const struct doing_times *sum)
{
	unsigned most = THREAD_UNKNOWN;

	for (unsigned i = 0; i < THREAD_STATE_COUNT; i++)
		if (i != THREAD_RUNNING && sum->waiting[i] > sum->waiting[most])
			most = i;
	return (enum thread_state)most;
}

static const char *wait_words(enum thread_state state)
{
	static const char *const words[THREAD_STATE_COUNT] = {
		[THREAD_GIL] = "for Python's lock (GIL)",   [THREAD_LOCK] = "for a lock",
		[THREAD_BARRIER] = "for other threads",     [THREAD_SLEEP] = "asleep",
		[THREAD_POLL] = "in poll()",                [THREAD_PIPE] = "for a pipe",
		[THREAD_SOCKET_LOCAL] = "for a local socket", [THREAD_SOCKET_NETWORK] = "for the network",
		[THREAD_FILE] = "for a file",               [THREAD_FSYNC] = "for a disk to have written",
		[THREAD_CHILD] = "for another process",     [THREAD_PAGE_FAULT_IO] = "for pages from a disk",
		[THREAD_DEVICE] = "for a device",
	};

	return words[state] ? words[state] : "for something unknown";
}

static void add_place(struct live_snapshot *s, const char *name, double share)
{
	uint32_t at = s->place_count < LIVE_PLACES ? s->place_count : LIVE_PLACES - 1;

	if (!(share >= SHOWN_LEAST) || (s->place_count == LIVE_PLACES && s->places[at].share >= share))
		return;
	for (; at > 0 && s->places[at - 1].share < share; at--)
		s->places[at] = s->places[at - 1];
	s->places[at] = (struct live_place){ .kind = "unrecorded", .calls = NAN, .share = share };
	snprintf(s->places[at].name, sizeof s->places[at].name, "%s", name);
	s->place_count += s->place_count < LIVE_PLACES;
}

static void add_rest(struct live_snapshot *s, const struct doing_times *sum)
{
	const struct live_doing *d = &s->doing;
	char waits[LIVE_NAME];

	snprintf(waits, sizeof waits, "(waiting, mostly %s)", wait_words(usual_wait(sum)));
	add_place(s, "(running, nothing recorded)", d->running);
	add_place(s, "(waiting for a processor)", d->queueing);
	add_place(s, waits, d->waiting);
	add_place(s, "(not known)", 1 - recorded(d) - d->running - d->queueing - d->waiting);
}

/* ---- The sentence --------------------------------------------------------------------- */

/* The largest place of a kind; NULL: none. */
static const struct live_place *most_of(const struct live_snapshot *s, const char *kind)
{
	for (uint32_t i = 0; i < s->place_count && i < LIVE_PLACES; i++)
		if (!kind || strcmp(s->places[i].kind, kind) == 0)
			return &s->places[i];
	return NULL;
}

struct activity {
	double share;
	const char *words;
	const char *kind; /* of places that it is made of; NULL: of none */
	const char *tail; /* what else there is to say of it */
};

static void say(struct live_snapshot *s, const struct activity *a)
{
	const struct live_place *most = a->kind ? most_of(s, a->kind) : NULL;
	struct live_doing *d = &s->doing;
	int n = snprintf(d->text, sizeof d->text, "%s %.0f %% of the last %.0f s", a->words, 100 * fmin(a->share, 1), d->window_s);

	if (most && n > 0 && (size_t)n < sizeof d->text)
		n += snprintf(d->text + n, sizeof d->text - (size_t)n, ", most in %.80s (%.0f %%)", most->name, 100 * fmin(most->share, 1));
	if (n > 0 && (size_t)n < sizeof d->text)
		snprintf(d->text + n, sizeof d->text - (size_t)n, "%s", a->tail ? a->tail : "");
}

static void say_largest(struct live_snapshot *s, const struct doing_times *sum)
{
	const struct live_doing *d = &s->doing;
	const char *calls = s->events.recorded && !(d->functions > 0) ? "; nothing of that is recorded: --calls on names its functions" : "";
	char waits[64];
	const struct activity all[] = {
		{ d->input, "waiting for input", NULL, NULL },
		{ d->operators, "computing in operators", "op", NULL },
		{ d->scopes, "in scopes", "scope", NULL },
		{ d->functions, "in functions", "cpu_call", NULL },
		{ d->running, "computing", NULL, calls },
		{ d->queueing, "waiting for a processor", NULL, "; others have them" },
		{ d->waiting, waits, NULL, NULL },
	};
	const struct activity *largest = &all[4];

	snprintf(waits, sizeof waits, usual_wait(sum) == THREAD_SLEEP ? "%s" : "waiting %s", wait_words(usual_wait(sum)));
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (all[i].share > largest->share)
			largest = &all[i];
	if (largest->share >= PREVAILS)
		say(s, largest);
	else
		snprintf(s->doing.text, sizeof s->doing.text, "nothing prevails in the last %.0f s: most is %s, %.0f %%", d->window_s, largest->words,
			 100 * largest->share);
}

/* ---- All of it -------------------------------------------------------------------------- */

/* The main thread, where nobody has chosen another. */
static void choose_thread(struct doing *d, struct live_snapshot *s)
{
	struct live_doing *out = &s->doing;
	const struct live_thread *t;

	if (!out->tid)
		out->pid = out->tid = s->pid;
	if (d->pid != out->pid || d->tid != out->tid)
		*d = (struct doing){ .pid = out->pid, .tid = out->tid };
	t = find_thread(s, out->pid, out->tid);
	note_thread(d, t, s->interval_s);
	if (out->pid == s->pid && out->tid == s->pid)
		snprintf(out->thread, sizeof out->thread, "the main thread");
	else
		snprintf(out->thread, sizeof out->thread, "thread %.24s %d", t ? t->name : "", (int)out->tid);
}

void doing_fill(struct doing *d, struct live_snapshot *s)
{
	struct live_doing *out = &s->doing;
	struct doing_times sum;
	const struct live_place *most;
	double span;

	choose_thread(d, s);
	sum = sum_slots(d);
	span = window_span(&d->window);
	if (isnan(out->window_s))
		out->window_s = span;
	if (span > 0) {
		split_rest(out, &sum, span);
		add_rest(s, &sum);
	}
	most = most_of(s, NULL);
	if (most)
		snprintf(out->most, sizeof out->most, "%s", most->name);
	if (s->state == LIVE_STOPPED)
		snprintf(out->text, sizeof out->text, "stopped by a signal");
	else if (out->window_s < WINDOW_LEAST_S)
		snprintf(out->text, sizeof out->text, "cannot judge yet: it was looked at for %.1f s", out->window_s);
	else if (recorded(out) + (sum.running + sum.queueing + sum_waiting(&sum)) / span < KNOWN_LEAST)
		snprintf(out->text, sizeof out->text, "cannot judge: nothing is known of %s for most of the last %.0f s", out->thread,
			 out->window_s);
	else
		say_largest(s, &sum);
}
