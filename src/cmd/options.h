/*
 * options.h - a command's options as a table.
 *
 *      int64_t top = 10;
 *      const char *output = NULL;
 *      const struct option_row rows[] = {
 *              OPTION_INT(0, "top", "N", &top, 1, 1000, "show the N scopes with the most time"),
 *              OPTION_TEXT('o', "output", "FILE", &output, "write there instead of standard output"),
 *              OPTION_END
 *      };
 *
 * The table is the parser, the --help text and what the manual page is checked
 * against.  Every table has -h and --help without saying so.
 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "config/config.h"

enum option_type {
	OPTION_TYPE_END,
	OPTION_TYPE_GROUP,
	OPTION_TYPE_FLAG,
	OPTION_TYPE_INT,
	OPTION_TYPE_REAL,
	OPTION_TYPE_TEXT,
	OPTION_TYPE_LIST,
	OPTION_TYPE_CHOICE,
	OPTION_TYPE_CONFIG
};

/* The values of an option that may be given several times. */
#define OPTION_LIST_MAX 32
struct option_list {
	const char *items[OPTION_LIST_MAX];
	unsigned count;
};

struct option_row {
	enum option_type type;
	char letter;      /* 0: long form only */
	const char *name; /* without the dashes */
	const char *argument; /* NULL: takes no value; "[X]": one may be attached, as in --name=X, else it is "" */
	void *target; /* bool, int64_t, double, const char *, struct option_list, int (index of the choice), struct config */
	double min, max;
	const char *const *choices; /* NULL-terminated */
	enum config_key key;
	const char *help;
	bool (*is_value)(const char *word); /* of "[X]": the next word is the value, too, when it has that form and no file that name */
};

#define OPTION_FLAG(letter, name, target, help) \
	{ OPTION_TYPE_FLAG, letter, name, NULL, target, 0, 0, NULL, CONFIG_KEY_COUNT, help }
#define OPTION_INT(letter, name, argument, target, min, max, help) \
	{ OPTION_TYPE_INT, letter, name, argument, target, min, max, NULL, CONFIG_KEY_COUNT, help }
#define OPTION_REAL(letter, name, argument, target, min, max, help) \
	{ OPTION_TYPE_REAL, letter, name, argument, target, min, max, NULL, CONFIG_KEY_COUNT, help }
#define OPTION_TEXT(letter, name, argument, target, help) \
	{ OPTION_TYPE_TEXT, letter, name, argument, target, 0, 0, NULL, CONFIG_KEY_COUNT, help }
/* A value that may be left out, or stand in a word of its own if is_value() says so. */
#define OPTION_MAYBE(letter, name, argument, target, is_value, help) \
	{ OPTION_TYPE_TEXT, letter, name, argument, target, 0, 0, NULL, CONFIG_KEY_COUNT, help, is_value }
/* The target is a struct option_list. */
#define OPTION_LIST(letter, name, argument, target, help) \
	{ OPTION_TYPE_LIST, letter, name, argument, target, 0, 0, NULL, CONFIG_KEY_COUNT, help }
/* The target keeps its value, such as -1 for "not given", when the option is absent. */
#define OPTION_CHOICE(letter, name, argument, target, choices, help) \
	{ OPTION_TYPE_CHOICE, letter, name, argument, target, 0, 0, choices, CONFIG_KEY_COUNT, help }
/* Sets a configuration key, whose row says what is allowed.  A switch takes no value, and sets the key to true. */
#define OPTION_CONFIG(letter, name, argument, config, key, help) \
	{ OPTION_TYPE_CONFIG, letter, name, argument, config, 0, 0, NULL, key, help }
#define OPTION_SWITCH(letter, name, config, key, help) OPTION_CONFIG(letter, name, NULL, config, key, help)
/* No option, but a heading for those behind it in the text of --help. */
#define OPTION_GROUP(heading) { OPTION_TYPE_GROUP, 0, "", NULL, NULL, 0, 0, NULL, CONFIG_KEY_COUNT, heading }
#define OPTION_END { OPTION_TYPE_END }

struct options {
	const char *command;     /* "dump" */
	const char *arguments;   /* "[options] TRACE" */
	const char *description; /* one paragraph */
	const char *examples;    /* lines */
	const struct option_row *rows;
	bool stop_at_argument;        /* what follows the first argument is not ours, as with run */
	const char *argument_letters; /* then: -m and -c, say, count as an argument; may be NULL */
	bool *ret_divided;            /* set when "--" stands before the first argument; may be NULL */
};

#define OPTIONS_HELP (-1000) /* options_parse() met -h or --help */

/* Moves the arguments that are not options to argv[1] and up and returns their number; else OPTIONS_HELP, or -EINVAL
 * with one sentence and err->exit_code 2. */
int options_parse(const struct options *options, int argc, char **argv, struct error *err);

/* Whether a word without a value, such as "--report", is a long option of the table. */
bool options_knows(const struct options *options, const char *word);

/* The text of --help. */
int options_help(const struct options *options, struct buffer *out);

#endif
