/*
 * cmd_config.c - `inferscope config show`: every setting, its value, and
 * where that came from.
 */
#include <stdio.h>
#include <string.h>

#include "base/json_writer.h"
#include "cmd/builtin.h"
#include "cmd/command.h"
#include "cmd/options.h"
#include "cmd/printer.h"
#include "config/config.h"

static const char *const formats[] = { "text", "json", NULL };
enum format { FORMAT_TEXT, FORMAT_JSON };

static const char *const origins[] = { "default", "file", "environment", "command line" };

static void print_text(const struct config *config, struct printer *out)
{
	int key;

	for (key = 0; key < CONFIG_KEY_COUNT; key++) {
		const struct config_value *value = config_value(config, (enum config_key)key);

		printer_printf(out, "%-22s", config_keys[key].name);
		printer_cell(out, value->text, strlen(value->text), strlen(value->text) < 14 ? 14 : 0);
		if (value->origin == CONFIG_FROM_FILE) {
			printer_printf(out, "  ");
			printer_terminal(out, value->file, strlen(value->file), 0);
			printer_printf(out, ":%u\n", value->line);
		} else if (value->origin == CONFIG_FROM_ENVIRONMENT) {
			printer_printf(out, "  environment %s\n", config_keys[key].environment);
		} else {
			printer_printf(out, "  %s\n", origins[value->origin]);
		}
	}
}

static void print_value(struct json_writer *j, enum config_key key, const struct config_value *value)
{
	if (config_keys[key].type == CONFIG_BOOL)
		json_bool(j, "value", value->number != 0);
	else if (config_keys[key].type == CONFIG_INTEGER)
		json_integer(j, "value", value->number);
	else
		json_text(j, "value", value->text);
}

static void print_json(const struct config *config, struct printer *out)
{
	struct json_writer j = { .out = &out->buf };
	size_t i;
	int key;

	json_open(&j, NULL, '{');
	json_open(&j, "settings", '[');
	for (key = 0; key < CONFIG_KEY_COUNT; key++) {
		const struct config_value *value = config_value(config, (enum config_key)key);

		json_open(&j, NULL, '{');
		json_text(&j, "key", config_keys[key].name);
		print_value(&j, (enum config_key)key, value);
		json_text(&j, "origin", origins[value->origin]);
		if (value->origin == CONFIG_FROM_FILE) {
			json_text(&j, "file", value->file);
			json_unsigned(&j, "line", value->line);
		} else if (value->origin == CONFIG_FROM_ENVIRONMENT) {
			json_text(&j, "variable", config_keys[key].environment);
		}
		json_close(&j);
	}
	json_close(&j);
	json_open(&j, "warnings", '[');
	for (i = 0; i < config->warning_count; i++)
		json_text(&j, NULL, config->warnings[i]);
	json_close(&j);
	json_close(&j);
	printer_check(out, j.error);
}

static int show(enum format format)
{
	struct config config;
	struct printer out;
	int status;

	if (config_init(&config) < 0)
		return fail(EXIT_ENVIRONMENT, "out of memory");
	status = command_config(&config);
	if (status == 0) {
		printer_stdout(&out);
		if (format == FORMAT_JSON)
			print_json(&config, &out);
		else
			print_text(&config, &out);
		status = printer_close(&out);
	}
	config_release(&config);
	return status;
}

int cmd_config(int argc, char **argv)
{
	int format = FORMAT_TEXT, count;
	const struct option_row rows[] = {
		OPTION_CHOICE(0, "format", "text|json", &format, formats, "how to print; text unless given"),
		OPTION_END,
	};
	const struct options options = {
		.command = "config",
		.arguments = "[options] show",
		.description = "Shows every setting, its value, and where the value comes from: the default, a "
			       "configuration file and line, or the environment. Files that were ignored are named on "
			       "standard error with the reason.",
		.examples = "  inferscope config show\n"
			    "  INFERSCOPE_TRACE_SIZE_MB=500 inferscope config show --format json\n",
		.rows = rows,
	};

	count = command_options(&options, argc, argv);
	if (count != 1 || strcmp(argv[1], "show") != 0)
		return fail(EXIT_USAGE, "config: expected 'show', as in 'inferscope config show'");
	return show((enum format)format);
}
