/* chrome_parse.c - an event as text; see chrome.h. */
#include "import/chrome.h"

static void parse_phase(struct json *j, struct chrome_event *e)
{
	struct json_value value = { 0 };

	json_value(j, JSON_IN_OBJECT, &value);
	e->phase = value.type == JSON_STRING && value.text.size == 1 ? value.text.data[0] : 0;
}

static void parse_scope(struct json *j, struct chrome_event *e)
{
	struct json_value value = { 0 };

	json_value(j, JSON_IN_OBJECT, &value);
	e->scope = value.type == JSON_STRING && value.text.size == 1 ? value.text.data[0] : 0;
}

static void parse_text(struct json *j, struct json_text *ret)
{
	struct json_value value = { 0 };

	json_value(j, JSON_IN_OBJECT, &value);
	*ret = value.type == JSON_STRING || value.type == JSON_NUMBER ? value.text : (struct json_text){ 0 };
}

static void parse_category(struct json *j, struct chrome_event *e)
{
	parse_text(j, &e->category);
	e->class = chrome_class_of(&e->category);
}

/* What is kept of the event itself comes before its arguments, so all of that has to be known. */
static bool is_known(const struct chrome_event *e)
{
	switch (e->phase) {
	case 0:
	case 'C':
		return false;
	case 'X':
		return e->category.data && e->pid.type != JSON_NONE;
	case 'i':
	case 'I':
		return e->scope && e->pid.type != JSON_NONE;
	default:
		return e->pid.type != JSON_NONE && e->name.data;
	}
}

/* Read at once where it is known what they are about, or else passed over. */
static void parse_args(struct chrome *c, struct json *j, struct chrome_event *e)
{
	const char *start = j->at;

	if (*start != '{' || !is_known(e)) {
		json_value(j, JSON_IN_OBJECT, &e->args);
		e->read = false;
		return;
	}
	chrome_read_args(c, e, j);
	e->args = (struct json_value){ JSON_OBJECT, { start, (size_t)(j->at - start), false } };
}

/* Keys are told by their length, then by their bytes.  Of the same key twice, the last one counts. */
static void parse_member(struct chrome *c, struct json *j, const struct json_text *key, struct chrome_event *e)
{
	switch (key->size) {
	case 1:
		if (key->data[0] == 's')
			return parse_scope(j, e);
		break;
	case 2:
		if (JSON_IS(key, "ph"))
			return parse_phase(j, e);
		if (JSON_IS(key, "ts"))
			return json_value(j, JSON_IN_OBJECT, &e->time);
		if (JSON_IS(key, "id"))
			return json_value(j, JSON_IN_OBJECT, &e->id);
		break;
	case 3:
		if (JSON_IS(key, "cat"))
			return parse_category(j, e);
		if (JSON_IS(key, "pid"))
			return json_value(j, JSON_IN_OBJECT, &e->pid);
		if (JSON_IS(key, "tid"))
			return json_value(j, JSON_IN_OBJECT, &e->tid);
		if (JSON_IS(key, "dur"))
			return json_value(j, JSON_IN_OBJECT, &e->duration);
		if (JSON_IS(key, "id2"))
			return json_value(j, JSON_IN_OBJECT, &e->id);
		break;
	case 4:
		if (JSON_IS(key, "name"))
			return parse_text(j, &e->name);
		if (JSON_IS(key, "args"))
			return parse_args(c, j, e);
		break;
	case 5:
		if (JSON_IS(key, "scope"))
			return json_value(j, JSON_IN_OBJECT, &e->scope_id);
		break;
	}
	json_skip(j, JSON_IN_OBJECT);
}

void chrome_parse(struct chrome *c, struct json *j, struct chrome_event *e)
{
	struct json_text key;
	bool first = true;

	*e = (struct chrome_event){ 0 };
	for (json_enter(j, '{'); json_member(j, &first, &key);)
		parse_member(c, j, &key, e);
}
