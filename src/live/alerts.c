/* alerts.c - see alerts.h. */
#include "live/alerts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/alerts_state.h"

#define SLEPT 5.0  /* seconds between two snapshots, and times the usual: we were asleep, or the machine that we are a guest of was */
#define ASLEEP 0.5 /* seconds that the machine was */

int live_alerts_new(struct live_alerts **ret, const struct live_alert_options *options, struct error *err)
{
	struct live_alerts *a = calloc(1, sizeof *a);
	int rc = 0;

	if (!a)
		return error_set(err, -ENOMEM, "out of memory");
	a->options = *options;
	a->options.rules = NULL;
	a->oom_kills = a->interval_s = NAN;
	for (uint32_t i = 0; i < LIVE_GPU_NUMBERS; i++)
		a->idle[i] = NAN;
	alert_growth_reset(&a->growth, 0);
	if (options->rule_count)
		rc = alert_rules_new(&a->rules, options->rules, options->rule_count, err);
	if (rc != 0) {
		live_alerts_free(a);
		return rc;
	}
	*ret = a;
	return 0;
}

void live_alerts_free(struct live_alerts *a)
{
	if (!a)
		return;
	alert_rules_free(a->rules);
	free(a);
}

const struct alert_kind *alert_kind(const char *name)
{
	const struct alert_kind *kind = alert_kinds;

	while (kind->name && strcmp(kind->name, name) != 0)
		kind++;
	return kind->name ? kind : NULL;
}

/* ---- Beginnings and ends ---------------------------------------------------------- */

/* When nobody asks for the news, the oldest are forgotten. */
static void tell(struct live_alerts *a, const struct live_alert *alert)
{
	a->news[(a->news_first + a->news_count) % ALERT_NEWS] = *alert;
	if (a->news_count < ALERT_NEWS)
		a->news_count++;
	else
		a->news_first = (a->news_first + 1) % ALERT_NEWS;
}

bool live_alerts_next(struct live_alerts *a, struct live_alert *ret)
{
	if (a->news_count == 0)
		return false;
	*ret = a->news[a->news_first];
	a->news_first = (a->news_first + 1) % ALERT_NEWS;
	a->news_count--;
	return true;
}

static void copy_text(char *out, size_t size, const char *text)
{
	size_t length = strnlen(text, size - 1);

	memcpy(out, text, length);
	out[length] = '\0';
}

static void update(struct alert_state *state, const struct alert_sight *sight)
{
	struct live_alert *alert = &state->alert;

	alert->value = sight->value;
	alert->threshold = sight->threshold;
	copy_text(alert->text, sizeof alert->text, sight->text);
	copy_text(alert->advice, sizeof alert->advice, sight->advice ? sight->advice : state->kind->advice);
}

static void begin(struct live_alerts *a, struct alert_state *state, const struct alert_sight *sight)
{
	state->active = true;
	state->times++;
	state->gone = false;
	state->gone_s = 0;
	state->worse = false;
	state->worse_s = 0;
	state->alert = (struct live_alert){ .number = ++a->begun, .severity = sight->severity, .active = true, .begin_s = a->now,
					    .end_s = NAN, .worse_s = NAN, .times = state->times };
	copy_text(state->alert.kind, sizeof state->alert.kind, state->kind->name);
	copy_text(state->alert.subject, sizeof state->alert.subject, state->subject);
	update(state, sight);
	tell(a, &state->alert);
}

static void end(struct live_alerts *a, struct alert_state *state)
{
	state->active = false;
	state->holds = false;
	state->held_s = 0;
	state->alert.active = false;
	state->alert.end_s = a->now;
	tell(a, &state->alert);
	memmove(a->ended + 1, a->ended, (LIVE_ALERTS - 1) * sizeof *a->ended);
	a->ended[0] = state->alert;
	if (a->ended_count < LIVE_ALERTS)
		a->ended_count++;
}

/* Where there are as many of a kind as there may be, one that is over makes room; NULL: none is. */
static struct alert_state *find_room(struct live_alerts *a, const struct alert_kind *kind)
{
	struct alert_state *room = NULL, *over = NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; i < ALERT_STATES; i++) {
		struct alert_state *state = &a->states[i];

		if (!state->kind && !room)
			room = state;
		count += state->kind == kind;
		if (state->kind == kind && !state->active && !over)
			over = state;
	}
	return kind->most && count >= kind->most ? over : room;
}

static struct alert_state *state_of(struct live_alerts *a, const struct alert_kind *kind, const char *subject)
{
	struct alert_state *room;

	for (uint32_t i = 0; i < ALERT_STATES; i++) {
		struct alert_state *state = &a->states[i];

		if (state->kind == kind && strncmp(state->subject, subject, sizeof state->subject - 1) == 0)
			return state;
	}
	room = find_room(a, kind);
	if (room) {
		*room = (struct alert_state){ .kind = kind, .seen = a->now };
		copy_text(room->subject, sizeof room->subject, subject);
	}
	return room;
}

/* A condition that holds most of the time holds: what is noise does not set it back.  True: it has, for `wanted` seconds. */
static bool lasts(double *seconds, bool *before, bool now, double passed, double wanted)
{
	if (now && *before)
		*seconds += passed;
	else if (!now)
		*seconds = fmax(0, *seconds - passed);
	*before = now;
	return now && *seconds >= wanted;
}

/* A severity that has risen, for as long as a beginning takes, is told; one that falls is not: what was critical once was. */
static void note_rise(struct live_alerts *a, struct alert_state *state, const struct alert_sight *sight, double passed)
{
	bool worse = sight->holds && sight->severity > state->alert.severity;

	if (!lasts(&state->worse_s, &state->worse, worse, passed, state->kind->hold_s))
		return;
	state->worse = false;
	state->worse_s = 0;
	state->alert.severity = sight->severity;
	state->alert.worse_s = a->now;
	tell(a, &state->alert);
}

static void look_at(struct live_alerts *a, struct alert_state *state, const struct alert_sight *sight)
{
	double passed = a->now > state->seen ? a->now - state->seen : 0;

	state->seen = a->now;
	if (state->active && sight->holds)
		update(state, sight);
	if (state->active)
		note_rise(a, state, sight, passed);
	if (!state->active && lasts(&state->held_s, &state->holds, sight->holds, passed, state->kind->hold_s))
		begin(a, state, sight);
	else if (state->active && lasts(&state->gone_s, &state->gone, sight->gone, passed, state->kind->gone_s))
		end(a, state);
}

void alert_see(struct live_alerts *a, const struct alert_kind *kind, const struct alert_sight *sight)
{
	struct alert_state *state = state_of(a, kind, sight->subject ? sight->subject : "");

	if (state)
		look_at(a, state, sight);
}

/* What nobody has said anything of is gone: a GPU that is no longer there, steps that are not known. */
static void see_unseen(struct live_alerts *a)
{
	static const struct alert_sight nothing = { .subject = "", .gone = true, .value = NAN, .threshold = NAN };

	for (uint32_t i = 0; i < ALERT_STATES; i++) {
		struct alert_state *state = &a->states[i];

		if (state->kind && state->seen < a->now)
			look_at(a, state, &nothing);
	}
}

static void end_all(struct live_alerts *a)
{
	for (uint32_t i = 0; i < ALERT_STATES; i++)
		if (a->states[i].kind && a->states[i].active)
			end(a, &a->states[i]);
}

/* ---- A snapshot -------------------------------------------------------------------- */

/* After a stop, a sleep, or while nobody asked for anything, what has not happened meanwhile tells nothing. */
static void note_stops(struct live_alerts *a, const struct live_snapshot *s)
{
	bool stopped = s->state == LIVE_STOPPED;
	bool slept = s->interval_s > SLEPT && !isnan(a->interval_s) && s->interval_s > SLEPT * a->interval_s;
	bool woke = s->asleep_s > a->asleep_s + ASLEEP;

	if ((a->stopped && !stopped) || slept || woke || s->steps.idle)
		a->resumed_s = s->run_s;
	if (!slept)
		a->interval_s = s->interval_s;
	a->stopped = stopped;
	a->asleep_s = fmax(a->asleep_s, s->asleep_s);
}

static int compare_newest(const void *a, const void *b)
{
	const struct live_alert *x = a, *y = b;

	return x->number < y->number ? 1 : -1;
}

static void fill(struct live_alerts *a, struct live_snapshot *s)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ALERT_STATES && count < LIVE_ALERTS; i++)
		if (a->states[i].kind && a->states[i].active)
			s->alerts[count++] = a->states[i].alert;
	qsort(s->alerts, count, sizeof *s->alerts, compare_newest);
	s->active_alerts = count;
	for (uint32_t i = 0; i < a->ended_count && count < LIVE_ALERTS; i++)
		s->alerts[count++] = a->ended[i];
	s->alert_count = count;
	s->alerts_begun = a->begun;
}

void live_alerts_judge(struct live_alerts *a, struct live_snapshot *s)
{
	a->now = s->run_s;
	note_stops(a, s);
	for (const struct alert_kind *kind = alert_kinds; kind->name; kind++)
		if (kind->judge)
			kind->judge(a, kind, s);
	if (a->rules && s->state != LIVE_ENDED)
		alert_rules_judge(a->rules, a, s);
	see_unseen(a);
	if (s->state == LIVE_ENDED)
		end_all(a);
	fill(a, s);
}
