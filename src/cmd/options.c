/* options.c - see options.h. */
#include "cmd/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

#define HELP_COLUMN 28
#define HELP_WIDTH 80

static const struct option_row help_row = OPTION_FLAG('h', "help", NULL, "show this text");

static int usage_error(struct error *err, const char *text)
{
	err->exit_code = 2;
	return error_set(err, -EINVAL, "%s", text);
}

static const char *option_name(void *arg, size_t i)
{
	const struct options *options = arg;

	return options->rows[i].type == OPTION_TYPE_END ? NULL : options->rows[i].name;
}

static int unknown_option(const struct options *options, const char *typed, size_t size, struct error *err)
{
	char name[64], text[400];
	const char *near;

	snprintf(name, sizeof name, "%.*s", (int)size, typed);
	near = text_nearest(name + strspn(name, "-"), option_name, (void *)options);
	if (near)
		snprintf(text, sizeof text, "%s: unknown option '%s'; did you mean '--%s'?", options->command, name,
			 near);
	else
		snprintf(text, sizeof text, "%s: unknown option '%s'; see 'inferscope %s --help'", options->command,
			 name, options->command);
	return usage_error(err, text);
}

static int bad_value(const struct options *options, const struct option_row *row, const char *expected,
		     const char *value, struct error *err)
{
	char text[400];

	snprintf(text, sizeof text, "%s: --%s expects %s, not '%.60s'", options->command, row->name, expected, value);
	return usage_error(err, text);
}

static const char *expected_choices(const struct option_row *row, char *out, size_t size)
{
	size_t i, used = 0;

	for (i = 0; row->choices[i] && used < size; i++) {
		const char *between = i == 0 ? "" : row->choices[i + 1] ? ", " : " or ";

		used += (size_t)snprintf(out + used, size - used, "%s%s", between, row->choices[i]);
	}
	return out;
}

static int set_int(const struct options *o, const struct option_row *row, const char *value, struct error *err)
{
	char expected[96];

	if (text_parse_integer(value, (int64_t)row->min, (int64_t)row->max, row->target) == 0)
		return 0;
	snprintf(expected, sizeof expected, "an integer from %.0f to %.0f", row->min, row->max);
	return bad_value(o, row, expected, value, err);
}

static int set_real(const struct options *o, const struct option_row *row, const char *value, struct error *err)
{
	char expected[96], *end;
	double number = strtod(value, &end);

	if (end != value && !*end && isfinite(number) && number >= row->min && number <= row->max) {
		*(double *)row->target = number;
		return 0;
	}
	snprintf(expected, sizeof expected, "a number from %g to %g", row->min, row->max);
	return bad_value(o, row, expected, value, err);
}

static int set_choice(const struct options *o, const struct option_row *row, const char *value, struct error *err)
{
	char expected[160];
	int i;

	for (i = 0; row->choices[i]; i++)
		if (strcmp(row->choices[i], value) == 0) {
			*(int *)row->target = i;
			return 0;
		}
	return bad_value(o, row, expected_choices(row, expected, sizeof expected), value, err);
}

static int add_item(const struct options *o, const struct option_row *row, const char *value, struct error *err)
{
	struct option_list *list = row->target;
	char text[200];

	if (list->count == OPTION_LIST_MAX) {
		snprintf(text, sizeof text, "%s: --%s may be given %d times at most", o->command, row->name, OPTION_LIST_MAX);
		return usage_error(err, text);
	}
	list->items[list->count++] = value;
	return 0;
}

static int set_value(const struct options *o, const struct option_row *row, const char *value, struct error *err)
{
	char expected[160];

	switch (row->type) {
	case OPTION_TYPE_FLAG:
		*(bool *)row->target = true;
		return 0;
	case OPTION_TYPE_INT:
		return set_int(o, row, value, err);
	case OPTION_TYPE_REAL:
		return set_real(o, row, value, err);
	case OPTION_TYPE_LIST:
		return add_item(o, row, value, err);
	case OPTION_TYPE_CHOICE:
		return set_choice(o, row, value, err);
	case OPTION_TYPE_CONFIG:
		if (config_set(row->target, row->key, value, NULL) == 0)
			return 0;
		if (config_keys[row->key].type == CONFIG_BOOL)
			return bad_value(o, row, "on or off", value, err);
		return bad_value(o, row, config_expected(row->key, expected, sizeof expected), value, err);
	default:
		*(const char **)row->target = value;
		return 0;
	}
}

static const struct option_row *find_long(const struct options *options, const char *name, size_t size)
{
	const struct option_row *row;

	for (row = options->rows; row->type != OPTION_TYPE_END; row++)
		if (row->type != OPTION_TYPE_GROUP && strlen(row->name) == size && memcmp(row->name, name, size) == 0)
			return row;
	return size == 4 && memcmp(name, "help", 4) == 0 ? &help_row : NULL;
}

bool options_knows(const struct options *options, const char *word)
{
	const struct option_row *row = strncmp(word, "--", 2) == 0 ? find_long(options, word + 2, strlen(word + 2)) : NULL;

	return row && row != &help_row;
}

static const struct option_row *find_short(const struct options *options, char letter)
{
	const struct option_row *row;

	for (row = options->rows; row->type != OPTION_TYPE_END; row++)
		if (row->letter == letter)
			return row;
	return letter == 'h' ? &help_row : NULL;
}

struct walk {
	int argc, at; /* argv[at] is the next word */
	char **argv;
};

/* Of a value that may be left out: a file that is called so is rather what the command is about. */
static const char *next_if_value(const struct option_row *row, struct walk *walk)
{
	const char *word = walk->at < walk->argc ? walk->argv[walk->at] : "-";

	if (!row->is_value || word[0] == '-' || !row->is_value(word) || access(word, F_OK) == 0)
		return "";
	walk->at++;
	return word;
}

/* value: what is attached to the option, or NULL. */
static int take_option(const struct options *o, const struct option_row *row, const char *value, struct walk *walk,
		       struct error *err)
{
	char text[200];

	if (row == &help_row)
		return OPTIONS_HELP;
	if (!row->argument && value) {
		snprintf(text, sizeof text, "%s: --%s takes no value", o->command, row->name);
		return usage_error(err, text);
	}
	if (!row->argument)
		return set_value(o, row, "true", err);
	if (!value && row->argument[0] == '[')
		value = next_if_value(row, walk);
	if (!value && walk->at < walk->argc)
		value = walk->argv[walk->at++];
	if (!value) {
		snprintf(text, sizeof text, "%s: --%s needs a value (%s)", o->command, row->name, row->argument);
		return usage_error(err, text);
	}
	return set_value(o, row, value, err);
}

static int take_long(const struct options *o, const char *word, struct walk *walk, struct error *err)
{
	size_t size = strcspn(word + 2, "=");
	const struct option_row *row = find_long(o, word + 2, size);

	if (!row)
		return unknown_option(o, word, size + 2, err);
	return take_option(o, row, word[2 + size] ? word + 3 + size : NULL, walk, err);
}

/* -o FILE, -oFILE, and flags run together as in -ab. */
static int take_short(const struct options *o, const char *word, struct walk *walk, struct error *err)
{
	const char *at;
	int rc = 0;

	for (at = word + 1; *at && rc == 0; at++) {
		const struct option_row *row = find_short(o, *at);

		if (!row)
			return unknown_option(o, word, strlen(word), err);
		if (row->argument)
			return take_option(o, row, at[1] ? at + 1 : NULL, walk, err);
		rc = take_option(o, row, NULL, walk, err);
	}
	return rc;
}

static bool is_argument(const struct options *options, const char *word)
{
	if (word[0] != '-' || word[1] == 0) /* "-" alone is standard input or output */
		return true;
	return options->argument_letters && strchr(options->argument_letters, word[1]);
}

int options_parse(const struct options *options, int argc, char **argv, struct error *err)
{
	struct walk walk = { argc, 1, argv };
	int kept = 0, rc = 0;
	bool ours = true;

	while (walk.at < argc) {
		char *word = argv[walk.at++];

		if (!ours || is_argument(options, word)) {
			argv[++kept] = word;
			ours = ours && !options->stop_at_argument;
		} else if (strcmp(word, "--") == 0) {
			ours = false;
			if (options->ret_divided)
				*options->ret_divided = true;
		} else {
			rc = word[1] == '-' ? take_long(options, word, &walk, err)
					    : take_short(options, word, &walk, err);
		}
		if (rc < 0)
			return rc;
	}
	return kept;
}

/* Appends words at `column`, broken before HELP_WIDTH. */
static int append_wrapped(struct buffer *out, const char *text, size_t column)
{
	size_t at = column, length;
	int rc = 0;

	while (*text && rc == 0) {
		length = strcspn(text, " ");
		if (at > column && at + 1 + length > HELP_WIDTH) {
			rc = buffer_printf(out, "\n%*s", (int)column, "");
			at = column;
		}
		if (rc == 0)
			rc = buffer_printf(out, "%s%.*s", at > column ? " " : "", (int)length, text);
		at += length + (at > column);
		text += length;
		text += strspn(text, " ");
	}
	return rc ? rc : buffer_append(out, "\n", 1);
}

static int append_row(struct buffer *out, const struct option_row *row)
{
	char left[80];
	int n = snprintf(left, sizeof left, "  %c%c%s--%s%s%s", row->letter ? '-' : ' ',
			 row->letter ? row->letter : ' ', row->letter ? ", " : "  ", row->name,
			 row->argument ? " " : "", row->argument ? row->argument : "");
	int rc;

	if (n + 2 > HELP_COLUMN)
		rc = buffer_printf(out, "%s\n%*s", left, HELP_COLUMN, "");
	else
		rc = buffer_printf(out, "%-*s", HELP_COLUMN, left);
	return rc ? rc : append_wrapped(out, row->help, HELP_COLUMN);
}

int options_help(const struct options *options, struct buffer *out)
{
	const struct option_row *row;
	bool grouped = false;
	int rc = buffer_printf(out, "usage: inferscope %s %s\n\n", options->command, options->arguments);

	if (rc == 0)
		rc = append_wrapped(out, options->description, 0);
	if (rc == 0)
		rc = buffer_printf(out, "\noptions:\n");
	for (row = options->rows; row->type != OPTION_TYPE_END && rc == 0; row++) {
		rc = row->type == OPTION_TYPE_GROUP ? buffer_printf(out, "\n%s:\n", row->help) : append_row(out, row);
		grouped = grouped || row->type == OPTION_TYPE_GROUP;
	}
	if (rc == 0 && grouped)
		rc = buffer_append(out, "\n", 1); /* it belongs to none of them */
	if (rc == 0)
		rc = append_row(out, &help_row);
	return rc ? rc : buffer_printf(out, "\nexamples:\n%s", options->examples);
}
