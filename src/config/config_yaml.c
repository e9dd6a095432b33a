/*
 * config_yaml.c - a configuration file: one YAML mapping of keys to scalars.
 *
 * Read from libyaml's event stream, of which only this path is accepted:
 *
 *      stream, [document, mapping, (key, value)*, end, end], end
 *
 * Everything else YAML can do (aliases, tags, nesting, several documents) is
 * refused where it starts, so nothing can be made to grow or to recurse.
 */
#include "config/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <yaml.h>

#include "base/text.h"

struct yaml_reader {
	yaml_parser_t parser;
	yaml_event_t event; /* the one at hand; valid when has_event */
	bool has_event;
	const char *path;
	struct error *err;
};

static unsigned line_of(const yaml_event_t *event)
{
	return (unsigned)event->start_mark.line + 1;
}

__attribute__((format(printf, 3, 4))) static int fail(struct yaml_reader *r, unsigned line, const char *format, ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (r->err)
		r->err->exit_code = 2;
	return error_set(r->err, -EINVAL, "%s:%u: %s", r->path, line, text);
}

static int syntax_error(struct yaml_reader *r)
{
	const yaml_parser_t *p = &r->parser;

	if (p->error == YAML_MEMORY_ERROR)
		return error_errno(r->err, -ENOMEM, "cannot read '%s'", r->path);
	if (p->error == YAML_READER_ERROR)
		return fail(r, (unsigned)p->mark.line + 1, "not valid YAML at byte %zu: %s", p->problem_offset,
			    p->problem);
	return fail(r, (unsigned)p->problem_mark.line + 1, "not valid YAML: %s",
		    p->problem ? p->problem : "syntax error");
}

/* Extras that an event of a plain mapping of scalars never has. */
static int check_plain(struct yaml_reader *r)
{
	const yaml_event_t *e = &r->event;
	const yaml_char_t *anchor = NULL, *tag = NULL;

	if (e->type == YAML_ALIAS_EVENT)
		return fail(r, line_of(e), "aliases are not allowed here; write the value out");
	if (e->type == YAML_SCALAR_EVENT) {
		anchor = e->data.scalar.anchor;
		tag = e->data.scalar.tag;
	} else if (e->type == YAML_MAPPING_START_EVENT) {
		anchor = e->data.mapping_start.anchor;
		tag = e->data.mapping_start.tag;
	}
	if (anchor)
		return fail(r, line_of(e), "anchors are not allowed here; leave out '&%.40s'", (const char *)anchor);
	if (tag)
		return fail(r, line_of(e), "tags are not allowed here; leave out '%.40s'", (const char *)tag);
	return 0;
}

static int next_event(struct yaml_reader *r)
{
	if (r->has_event)
		yaml_event_delete(&r->event);
	r->has_event = false;
	if (!yaml_parser_parse(&r->parser, &r->event))
		return syntax_error(r);
	r->has_event = true;
	return check_plain(r);
}

static const char *key_name(void *arg, size_t i)
{
	(void)arg;
	return i < CONFIG_KEY_COUNT ? config_keys[i].name : NULL;
}

static int unknown_key(struct yaml_reader *r, const char *name)
{
	const char *near = text_nearest(name, key_name, NULL);

	if (near)
		return fail(r, line_of(&r->event), "unknown key '%.60s'; did you mean '%s'?", name, near);
	return fail(r, line_of(&r->event), "unknown key '%.60s'; 'inferscope config show' lists those there are", name);
}

static int read_key(struct yaml_reader *r, bool *seen, enum config_key *ret)
{
	const yaml_event_t *e = &r->event;
	const char *name;

	if (e->type != YAML_SCALAR_EVENT)
		return fail(r, line_of(e), "expected a key, such as 'trace_size_mb: 100'");
	name = (const char *)e->data.scalar.value;
	*ret = config_find(name);
	if (*ret == CONFIG_KEY_COUNT || strlen(name) != e->data.scalar.length)
		return unknown_key(r, name);
	if (seen[*ret])
		return fail(r, line_of(e), "key '%s' is already there further up; keep one of the two", name);
	seen[*ret] = true;
	return 0;
}

static bool is_null(const char *text)
{
	return text[0] == 0 || strcmp(text, "~") == 0 || strcasecmp(text, "null") == 0;
}

/* A value that YAML itself takes for something else than what the key needs: "100" in quotes is no number. */
static bool wrong_type(const yaml_event_t *e, const struct config_key_info *info)
{
	const char *text = (const char *)e->data.scalar.value;
	bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

	if (strlen(text) != e->data.scalar.length || (plain && is_null(text)))
		return true;
	return !plain && (info->type == CONFIG_BOOL || info->type == CONFIG_INTEGER);
}

static int read_value(struct yaml_reader *r, struct config *config, enum config_key key, bool trusted)
{
	const struct config_key_info *info = &config_keys[key];
	const yaml_event_t *e = &r->event;
	unsigned line = line_of(e);
	char expected[128];

	if (e->type != YAML_SCALAR_EVENT)
		return fail(r, line, "%s expects %s, not a list or a mapping", info->name,
			    config_expected(key, expected, sizeof expected));
	if (wrong_type(e, info))
		return fail(r, line, "%s expects %s, not %s", info->name,
			    config_expected(key, expected, sizeof expected),
			    e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? "an empty value" : "a quoted text");
	if (info->trusted_only && !trusted)
		return config_warn(
			config,
			"%s:%u: '%s' is ignored here, since the folder may be somebody else's; give it on the "
			"command line or in the configuration folder",
			r->path, line, info->name);
	return config_assign(config, key, (const char *)e->data.scalar.value, CONFIG_FROM_FILE, r->path, line, r->err);
}

static int read_mapping(struct yaml_reader *r, struct config *config, bool trusted)
{
	bool seen[CONFIG_KEY_COUNT] = { false };
	enum config_key key = CONFIG_KEY_COUNT;
	int rc;

	if (r->event.type != YAML_MAPPING_START_EVENT)
		return fail(r, line_of(&r->event), "expected lines of 'key: value', such as 'trace_size_mb: 100'");
	for (;;) {
		rc = next_event(r);
		if (rc < 0 || r->event.type == YAML_MAPPING_END_EVENT)
			return rc;
		rc = read_key(r, seen, &key);
		if (rc == 0)
			rc = next_event(r);
		if (rc == 0)
			rc = read_value(r, config, key, trusted);
		if (rc < 0)
			return rc;
	}
}

static int read_document(struct yaml_reader *r, struct config *config, bool trusted)
{
	int rc = next_event(r);

	if (rc == 0)
		rc = read_mapping(r, config, trusted);
	if (rc == 0)
		rc = next_event(r); /* the end of the document */
	if (rc == 0)
		rc = next_event(r);
	if (rc == 0 && r->event.type != YAML_STREAM_END_EVENT)
		rc = fail(r, line_of(&r->event), "expected one document, and here a second one starts");
	return rc;
}

int config_load_yaml(struct config *config, const char *path, bool trusted, const void *data, size_t size,
		     struct error *err)
{
	struct yaml_reader r = { .path = path, .err = err };
	int rc;

	if (size > CONFIG_FILE_MAX)
		return fail(&r, 1, "larger than the %u KiB a configuration file may have", CONFIG_FILE_MAX >> 10);
	if (!yaml_parser_initialize(&r.parser))
		return error_errno(err, -ENOMEM, "cannot read '%s'", path);
	yaml_parser_set_input_string(&r.parser, data, size);
	rc = next_event(&r); /* the start of the stream */
	if (rc == 0)
		rc = next_event(&r);
	if (rc == 0 && r.event.type == YAML_DOCUMENT_START_EVENT)
		rc = read_document(&r, config, trusted);
	if (r.has_event)
		yaml_event_delete(&r.event);
	yaml_parser_delete(&r.parser);
	return rc;
}
