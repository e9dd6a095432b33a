/* rules_error.c - sentences about places in a file of rules. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"
#include "rules/rules_parts.h"

static int fail_at(struct error *err, const char *path, unsigned line, unsigned column, const char *text)
{
	if (err)
		err->exit_code = 2;
	return error_set(err, -EINVAL, "%.200s:%u:%u: %s", path, line, column, text);
}

int rules_fail(struct error *err, const char *path, unsigned line, unsigned column, const char *format, ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return fail_at(err, path, line, column, text);
}

/* Characters before a byte. */
static unsigned characters(const char *text, size_t bytes)
{
	unsigned count = 0;
	uint32_t c;

	for (size_t at = 0; at < bytes; count++)
		at += text_decode(text + at, bytes - at, &c);
	return count;
}

int rule_fail(struct error *err, const struct rule *rule, enum rule_field field, long offset, const char *format, ...)
{
	const struct rule_text *t = &rule->fields[field];
	size_t at = offset < 0 ? 0 : (size_t)offset < t->size ? (size_t)offset : t->size;
	unsigned column = t->column + (t->exact ? characters(t->text, at) : 0);
	char what[300], text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	if (offset >= 0 && !t->exact)
		snprintf(text, sizeof text, "%s of rule '%s', from character %u on: %s", rule_field_names[field],
			 rule->fields[RULE_NAME].text, characters(t->text, at) + 1, what);
	else
		snprintf(text, sizeof text, "%s of rule '%s': %s", rule_field_names[field], rule->fields[RULE_NAME].text, what);
	return fail_at(err, rule->path, t->line, column, text);
}
