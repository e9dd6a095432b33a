/* json_walk.c - see json_walk.h. */
#include "import/json_walk.h"

#include <errno.h>

#define LOOK_AHEAD 256          /* bytes within which a place must show that it is an event */
#define CAREFUL_ROOM (64 << 10) /* how much there should be, where there is more, for a careful look */
#define WASTE_MAX ((uint64_t)64 << 20)

enum place {
	AT_TOP,    /* between documents */
	IN_OBJECT, /* between the members of a document */
	IN_EVENTS, /* between events */
	IN_MEMBER, /* inside a member that is passed over, however long it is */
	LOST       /* looking for the next event */
};

struct json_walk {
	const struct json_reader *reader;
	void *arg;
	struct output *output;
	enum place place;
	bool in_document; /* the events are a member of an object */
	bool in_array;    /* and not just one behind the other */

	struct json j;
	const char *window;
	uint64_t offset;  /* of the window in the file */
	const char *unit; /* start of what is being read, which must stay until it is */

	unsigned depth; /* of IN_MEMBER */
	bool in_string, escaped;
	uint64_t lost_at; /* offset */
	const char *lost_reason;
	char behind;     /* the last byte before the window, white space left aside */
	uint64_t wasted; /* bytes read in vain */
	bool anything;   /* an event, or a list of them */
};

static uint64_t offset_of(const struct json_walk *w, const char *at)
{
	return w->offset + (uint64_t)(at - w->window);
}

void json_walk_note(struct json_walk *w, const struct json *j, const char *reason)
{
	output_damage(w->output, offset_of(w, w->unit), (uint64_t)(j->at - w->unit), reason);
}

void json_walk_skip(struct json_walk *w, const struct json *j, const char *reason)
{
	output_report(w->output)->skipped++;
	json_walk_note(w, j, reason);
}

/* ---- Finding events ----------------------------------------------------------- */

static bool is_first_key(const struct json_walk *w, const struct json_text *key)
{
	for (const char *const *word = w->reader->first_keys; *word; word++)
		if (json_is(key, *word, strlen(*word)))
			return true;
	return false;
}

/* Whether an event begins at this brace: 1, 0, or -1 when the text ends too early to tell. */
static int is_event(const struct json_walk *w, const char *at)
{
	struct json j = { .at = at, .end = w->j.end };
	struct json_text key;
	bool first = true;

	json_enter(&j, '{');
	if (json_member(&j, &first, &key))
		return is_first_key(w, &key);
	return j.status == JSON_SHORT && !w->j.last && w->j.end - at < LOOK_AHEAD ? -1 : 0;
}

/* What is before a place, white space left aside. */
static char before(const struct json_walk *w, const char *at)
{
	while (at > w->window && json_is_space(at[-1]))
		at--;
	return at == w->window ? w->behind : at[-1];
}

/* Whether the array ends at this bracket, behind an event: the document, another member or nothing follows.  As above.
 */
static int ends_array(const struct json_walk *w, const char *at)
{
	const char *after = at + 1;

	if (before(w, at) != '}')
		return 0;
	while (json_is_space(*after))
		after++;
	if (after >= w->j.end && !w->j.last)
		return w->j.end - at < LOOK_AHEAD ? -1 : 0;
	return w->in_document ? *after == ',' || *after == '}' : after >= w->j.end;
}

/* Behind a colon there is a part of an event, behind all else there may be the next one. */
static int goes_on_at(const struct json_walk *w, const char *at)
{
	if (*at == ']')
		return ends_array(w, at);
	return *at == '{' && before(w, at) != ':' ? is_event(w, at) : 0;
}

/* The next place to go on at, or NULL; *keep is where to look again with more text. */
static const char *find_event(const struct json_walk *w, const char *from, const char **keep)
{
	for (const char *at = from; at < w->j.end; at++) {
		int answer = goes_on_at(w, at);

		if (answer > 0)
			return at;
		if (answer < 0) {
			*keep = at;
			return NULL;
		}
	}
	*keep = w->j.end;
	return NULL;
}

/*
 * The next event may begin right behind the start of the one that could not be read.  But text can be made so that each
 * such attempt goes over all the rest in vain: when that has happened too often, what was read is not looked at again.
 */
static void lose(struct json_walk *w, const char *from, const char *reason)
{
	const char *next = from + 1;

	w->wasted += (uint64_t)(w->j.at > from ? w->j.at - from : 0);
	if (w->wasted > WASTE_MAX + 4 * offset_of(w, from) && w->j.at > next)
		next = w->j.at < w->j.end ? w->j.at : w->j.end;
	w->lost_at = offset_of(w, from);
	w->lost_reason = reason;
	w->place = LOST;
	w->j.at = w->unit = next;
	w->j.status = JSON_OK;
}

static void report_lost(struct json_walk *w, const char *until)
{
	output_report(w->output)->skipped++;
	output_damage(w->output, w->lost_at, offset_of(w, until) - w->lost_at, w->lost_reason);
}

/* Each step returns 0 to go on, 1 for more text, negative on failure. */
static int step_lost(struct json_walk *w)
{
	const char *keep = w->j.end, *found = find_event(w, w->j.at, &keep);

	if (!found) {
		w->behind = before(w, keep);
		w->unit = w->j.at = keep;
		return 1;
	}
	report_lost(w, found);
	w->j.at = found;
	w->place = IN_EVENTS;
	return 0;
}

/* ---- Events ------------------------------------------------------------------- */

static int read_event(struct json_walk *w, bool careful, struct error *err)
{
	w->j.at = w->unit;
	w->j.status = JSON_OK;
	w->j.repairs = 0;
	w->j.careful = careful;
	return w->reader->event(w->arg, w, &w->j, err);
}

/* To be careful is to look ahead, and what is at the end of the window would look broken. */
static bool wants_room(const struct json_walk *w)
{
	return !w->j.last && w->j.end - w->unit < CAREFUL_ROOM;
}

/* Whether what ends too early may be whole in a larger window. */
static bool may_grow(const struct json_walk *w)
{
	return w->j.status == JSON_SHORT && !w->j.last && w->j.end - w->unit < (ptrdiff_t)JSON_EVENT_MAX;
}

static int take_event(struct json_walk *w)
{
	output_report(w->output)->repaired += w->j.repairs > 0;
	return 0;
}

/* The second look. */
static int step_broken(struct json_walk *w, struct error *err)
{
	const char *reason = w->j.status == JSON_BAD ? w->j.reason : NULL, *reach = w->j.at;
	int rc = read_event(w, true, err);

	w->j.careful = false;
	if (rc < 0)
		return rc;
	if (w->j.status == JSON_OK)
		return take_event(w);
	if (may_grow(w))
		return 1;
	if (w->j.status == JSON_SHORT && w->j.last) {
		output_report(w->output)->truncated = true;
		reason = "the file ends inside an event";
	}
	w->j.at = reach > w->j.at ? reach : w->j.at;
	lose(w, w->unit, reason ? reason : w->j.reason);
	return 0;
}

static int step_event(struct json_walk *w, struct error *err)
{
	int rc;

	w->unit = w->j.at;
	rc = read_event(w, false, err);
	if (rc < 0)
		return rc;
	if (w->j.status == JSON_OK)
		return take_event(w);
	if (may_grow(w) || (w->j.status == JSON_BAD && wants_room(w)))
		return 1;
	if (w->j.status == JSON_SHORT && !w->j.last) {
		lose(w, w->unit, "an event that is too long");
		return 0;
	}
	return step_broken(w, err);
}

/* Something in the array that is no event. */
static int step_stranger(struct json_walk *w)
{
	w->unit = w->j.at;
	json_skip(&w->j, JSON_IN_ARRAY);
	if (may_grow(w))
		return 1;
	if (w->j.status != JSON_OK) {
		lose(w, w->unit, "something that is no event");
		return 0;
	}
	json_walk_skip(w, &w->j, "something that is no event");
	return 0;
}

/* A brace too many, or one where the bracket of the array is missing. */
static int step_brace(struct json_walk *w)
{
	const char *after = ++w->j.at;

	while (json_is_space(*after) || *after == ',')
		after++;
	if (after >= w->j.end && !w->j.last)
		return 1;
	output_report(w->output)->repaired++;
	if (*after != '{' && *after != ']')
		w->place = AT_TOP;
	return 0;
}

static int step_events(struct json_walk *w, struct error *err)
{
	while (json_is_space(*w->j.at) || *w->j.at == ',')
		w->j.at++;
	w->unit = w->j.at;
	if (w->j.at >= w->j.end)
		return 1;
	switch (*w->j.at) {
	case '{':
		w->anything = true;
		return step_event(w, err);
	case ']':
		w->j.at++;
		w->place = w->in_document ? IN_OBJECT : AT_TOP;
		return 0;
	case '}':
		return step_brace(w);
	default:
		return step_stranger(w);
	}
}

/* ---- Documents ---------------------------------------------------------------- */

/* Passes over a value of any length, byte by byte. */
static int step_member(struct json_walk *w)
{
	for (; w->j.at < w->j.end; w->j.at++) {
		char c = *w->j.at;

		if (w->in_string) {
			w->in_string = w->escaped || c != '"';
			w->escaped = !w->escaped && c == '\\';
		} else if (c == '"') {
			w->in_string = true;
		} else if (c == '[' || c == '{') {
			w->depth++;
		} else if ((c == ']' || c == '}') && w->depth > 0) {
			w->depth--;
		} else {
			continue;
		}
		if (w->depth == 0 && !w->in_string) {
			w->j.at++;
			w->place = IN_OBJECT;
			return 0;
		}
	}
	w->unit = w->j.at;
	return 1;
}

static void pass_over(struct json_walk *w, const char *value)
{
	output_report(w->output)->cut++;
	w->place = IN_MEMBER;
	w->depth = 0;
	w->in_string = w->escaped = false;
	w->j.at = value;
	w->j.status = JSON_OK;
}

static int read_member(struct json_walk *w, const struct json_text *key)
{
	const char *start = w->j.at;
	struct json_value value;

	if (json_is(key, w->reader->events, strlen(w->reader->events)) && *start == '[') {
		w->j.at++;
		w->anything = w->in_array = true;
		w->place = IN_EVENTS;
		return 0;
	}
	json_value(&w->j, JSON_IN_OBJECT, &value);
	if (w->j.status == JSON_BAD && wants_room(w))
		return 1;
	if (w->j.status == JSON_BAD) {
		w->j.at = start;
		w->j.status = JSON_OK;
		w->j.careful = true;
		json_value(&w->j, JSON_IN_OBJECT, &value);
		w->j.careful = false;
	}
	if (w->j.status == JSON_SHORT && !w->j.last && w->j.end - start < (ptrdiff_t)JSON_PROPERTY_MAX)
		return 1;
	if (w->j.status == JSON_SHORT && start < w->j.end && (*start == '[' || *start == '{' || *start == '"')) {
		pass_over(w, start);
		return 0;
	}
	if (w->j.status != JSON_OK) {
		lose(w, w->unit, w->j.reason);
		return 0;
	}
	if (value.text.size > JSON_PROPERTY_MAX)
		output_report(w->output)->cut++;
	else
		w->reader->member(w->arg, key, &value);
	return 0;
}

static int step_object(struct json_walk *w)
{
	struct json_text key;
	bool first = true;

	json_space(&w->j);
	w->unit = w->j.at;
	if (json_member(&w->j, &first, &key)) {
		if (w->j.at >= w->j.end && !w->j.last)
			return 1;
		return read_member(w, &key);
	}
	if (w->j.status == JSON_SHORT && (w->j.last || w->j.end - w->unit < (ptrdiff_t)JSON_EVENT_MAX))
		return 1;
	if (w->j.status == JSON_OK)
		w->place = AT_TOP;
	else
		lose(w, w->unit, w->j.reason);
	return 0;
}

/* An object: a document, or an event that stands by itself. */
static int open_object(struct json_walk *w)
{
	int answer = is_event(w, w->j.at);

	if (answer < 0)
		return 1;
	if (answer) {
		w->in_document = w->in_array = false;
		w->place = IN_EVENTS;
		return 0;
	}
	w->in_document = true;
	w->place = IN_OBJECT;
	w->j.at++;
	return 0;
}

static int step_top(struct json_walk *w)
{
	while (json_is_space(*w->j.at) || *w->j.at == ',')
		w->j.at++;
	w->unit = w->j.at;
	if (w->j.at >= w->j.end)
		return 1;
	switch (*w->j.at) {
	case '{':
		return open_object(w);
	case '[':
		w->anything = w->in_array = true;
		w->in_document = false;
		w->place = IN_EVENTS;
		/* fall through */
	case ']':
	case '}':
		w->j.at++;
		return 0;
	case '"': /* a member, of a document that was taken to end too early */
		if (!w->anything)
			break;
		w->in_document = true;
		w->place = IN_OBJECT;
		return 0;
	case '\xef':
		if (w->j.end - w->j.at < 3 && !w->j.last)
			return 1;
		if (w->j.end - w->j.at >= 3 && memcmp(w->j.at, "\xef\xbb\xbf", 3) == 0) {
			w->j.at += 3;
			return 0;
		}
	}
	lose(w, w->j.at, "something that is no JSON");
	return 0;
}

/* ---- Windows ------------------------------------------------------------------ */

static int step(struct json_walk *w, struct error *err)
{
	switch (w->place) {
	case AT_TOP:
		return step_top(w);
	case IN_OBJECT:
		return step_object(w);
	case IN_EVENTS:
		return step_events(w, err);
	case IN_MEMBER:
		return step_member(w);
	default:
		return step_lost(w);
	}
}

/* Reads what is whole in the window; *ret_used bytes of it are done with. */
static int walk_window(struct json_walk *w, const char *data, size_t size, bool last, size_t *ret_used,
		       struct error *err)
{
	int rc;

	w->window = w->unit = data;
	w->j = (struct json){ .at = data, .end = data + size, .last = last };
	while ((rc = step(w, err)) == 0)
		;
	*ret_used = (size_t)((w->unit < w->j.end ? w->unit : w->j.end) - data);
	return rc < 0 ? rc : 0;
}

/* Nothing follows: an event or a document that is not closed is where the file was cut off. */
static void walk_end(struct json_walk *w)
{
	if (w->place == LOST)
		report_lost(w, w->j.end);
	if (w->place != AT_TOP && (w->place != IN_EVENTS || w->in_array))
		output_report(w->output)->truncated = true;
}

static int nothing(const struct json_walk *w, const char *path, struct error *err)
{
	int rc = w->anything ? 0 : error_set(err, -EBADMSG, "there are no events in %s", path);

	if (rc && err)
		err->exit_code = 3;
	return rc;
}

/* As from a stream, with windows that are as small as one likes. */
static int walk_text(struct json_walk *w, const char *text, size_t size, size_t step, struct buffer *window,
		     struct error *err)
{
	size_t used = 0, taken = 0, more;
	int rc = 0;

	do {
		more = size - taken < step ? size - taken : step;
		memmove(window->data, window->data + used, window->size - used);
		window->size -= used;
		w->offset += used;
		if (buffer_reserve(window, more + JSON_PADDING))
			return error_set(err, -ENOMEM, "out of memory");
		memcpy(window->data + window->size, text + taken, more);
		window->size += more;
		memset(window->data + window->size, 0, JSON_PADDING);
		taken += more;
		rc = walk_window(w, (const char *)window->data, window->size, taken == size, &used, err);
	} while (rc == 0 && taken < size);
	return rc;
}

int json_walk_text(const char *text, size_t size, size_t step, const struct json_reader *reader, void *arg,
		   struct output *o, struct error *err)
{
	struct json_walk w = { .reader = reader, .arg = arg, .output = o };
	struct buffer window = BUFFER_INIT;
	int rc = buffer_reserve(&window, JSON_PADDING) ? error_set(err, -ENOMEM, "out of memory")
						       : walk_text(&w, text, size, step ? step : size, &window, err);

	if (rc == 0)
		walk_end(&w);
	output_report(o)->bytes = size;
	buffer_release(&window);
	return rc < 0 ? rc : nothing(&w, "the text", err);
}

static int walk_stream(struct json_walk *w, struct stream *s, struct error *err)
{
	size_t size, used = 0;
	const char *data;
	bool last = false;
	int rc = 0;

	while (!last && (rc = stream_next(s, used, &data, &size, &last, err)) == 0) {
		w->offset = stream_offset(s);
		rc = walk_window(w, data, size, last, &used, err);
		if (rc < 0)
			break;
	}
	if (rc < 0)
		return rc;
	walk_end(w);
	if (stream_damage(s)) {
		output_report(w->output)->truncated = true;
		output_damage(w->output, stream_total(s), 0, stream_damage(s));
	}
	return 0;
}

int json_walk_file(const char *path, const struct json_reader *reader, void *arg, struct output *o,
		   const struct import_options *options, struct error *err)
{
	struct json_walk w = { .reader = reader, .arg = arg, .output = o };
	struct stream *s;
	int rc = stream_open(&s, path, options, err);

	if (rc < 0)
		return rc;
	rc = walk_stream(&w, s, err);
	output_report(o)->bytes = stream_total(s);
	stream_close(s);
	return rc < 0 ? rc : nothing(&w, path, err);
}
