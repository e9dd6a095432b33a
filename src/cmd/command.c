/* command.c - see command.h. */
#include "cmd/command.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/text.h"
#include "cmd/options.h"
#include "cmd/printer.h"

static enum config_color color = CONFIG_COLOR_AUTO;
static enum log_level least = LOG_LEVEL_INFO;

bool command_says_more(void)
{
	return least < LOG_LEVEL_ERROR;
}

bool command_color(int fd)
{
	const char *no = getenv("NO_COLOR"), *force = getenv("CLICOLOR_FORCE"), *term = getenv("TERM");

	if (color != CONFIG_COLOR_AUTO)
		return color == CONFIG_COLOR_ALWAYS;
	if (no && no[0])
		return false;
	if (force && force[0] && strcmp(force, "0") != 0)
		return true;
	return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

#define HELD_MAX (64u << 10)
static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;
static struct buffer held = BUFFER_INIT;
static bool holding;

static void write_message(const struct buffer *line)
{
	pthread_mutex_lock(&held_lock);
	if (!holding)
		file_write_all(STDERR_FILENO, line->data, line->size); /* nobody is left to tell if this fails */
	else if (held.size + line->size <= HELD_MAX)
		(void)buffer_append(&held, line->data, line->size);
	pthread_mutex_unlock(&held_lock);
}

void command_hold_messages(bool hold)
{
	pthread_mutex_lock(&held_lock);
	holding = hold;
	if (!hold && held.size > 0)
		file_write_all(STDERR_FILENO, held.data, held.size);
	if (!hold)
		buffer_release(&held);
	pthread_mutex_unlock(&held_lock);
}

/* In one write, so that it is not torn apart by what others print. */
static void print_message(const char *colour, const char *text)
{
	struct buffer line = BUFFER_INIT;
	int rc = command_color(STDERR_FILENO) ? buffer_printf(&line, "%sinferscope:\033[0m ", colour)
				: buffer_printf(&line, "inferscope: ");

	if (rc == 0)
		rc = text_append_terminal(&line, text, strlen(text), 0);
	if (rc == 0)
		rc = buffer_append(&line, "\n", 1);
	if (rc == 0)
		write_message(&line);
	buffer_release(&line);
}

#define RED "\033[31m"
#define YELLOW "\033[33m"
#define DIM "\033[2m"

#define PRINT_FORMATTED(colour, format)                                                                                \
	do {                                                                                                           \
		char text_[LOG_MESSAGE_MAX];                                                                           \
		va_list args_;                                                                                         \
		va_start(args_, format);                                                                               \
		vsnprintf(text_, sizeof text_, format, args_);                                                         \
		va_end(args_);                                                                                         \
		print_message(colour, text_);                                                                          \
	} while (0)

int fail(int status, const char *format, ...)
{
	PRINT_FORMATTED(RED, format);
	return status;
}

void warning(const char *format, ...)
{
	if (command_says_more())
		PRINT_FORMATTED(YELLOW, format);
}

void notice(const char *format, ...)
{
	if (command_says_more())
		PRINT_FORMATTED(DIM, format);
}

int fail_with(const struct error *err, int status)
{
	print_message(RED, err->text[0] ? err->text : "out of memory");
	return err->exit_code ? err->exit_code : status;
}

/* Some commands read no settings; what the environment says of the level holds for their messages, too. */
static void take_level_of_environment(void)
{
	const char *text = getenv(config_keys[CONFIG_LOG_LEVEL].environment);
	struct config config;

	if (!text || config_init(&config) < 0)
		return;
	if (config_set(&config, CONFIG_LOG_LEVEL, text, NULL) == 0)
		least = (enum log_level)config_integer(&config, CONFIG_LOG_LEVEL);
	config_release(&config);
}

int command_options(const struct options *options, int argc, char **argv)
{
	struct error err = { 0 };
	struct printer out;
	int count = options_parse(options, argc, argv, &err);

	take_level_of_environment();
	if (count >= 0)
		return count;
	if (count != OPTIONS_HELP)
		exit(fail_with(&err, EXIT_USAGE));
	printer_stdout(&out);
	printer_check(&out, options_help(options, &out.buf));
	exit(printer_close(&out));
}

static void log_to_stderr(void *arg, enum log_level level, const char *tag, const char *message)
{
	(void)arg;
	(void)tag;
	print_message(level == LOG_LEVEL_ERROR ? RED : level == LOG_LEVEL_WARN ? YELLOW : DIM, message);
}

int command_config(struct config *config)
{
	struct error err = { 0 };
	size_t i;
	int rc = config_load(config, &err);

	color = (enum config_color)config_integer(config, CONFIG_COLOR);
	least = (enum log_level)config_integer(config, CONFIG_LOG_LEVEL);
	for (i = 0; i < config->warning_count; i++)
		warning("%s", config->warnings[i]);
	if (rc < 0)
		return fail_with(&err, EXIT_ENVIRONMENT);
	log_set_level(least);
	log_set_sink(log_to_stderr, NULL);
	return 0;
}
