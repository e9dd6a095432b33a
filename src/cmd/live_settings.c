/* live_settings.c - see live_settings.h. */
#include "cmd/live_settings.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "cmd/command.h"

#define ANY_PORT "127.0.0.1:0"
#define PORT_MAX 65535

/* Whether there is such a host is for who listens to say. */
bool live_settings_is_address(const char *word)
{
	const char *colon = strrchr(word, ':');
	int64_t port;

	if (strncmp(word, "unix:", 5) == 0)
		return word[5] != '\0';
	return colon && !strchr(word, '/') && text_parse_integer(colon + 1, 0, PORT_MAX, &port) == 0;
}

bool live_settings_is_port(const char *word)
{
	int64_t port;

	return live_settings_is_address(word) || text_parse_integer(word, 0, PORT_MAX, &port) == 0;
}

/* A reader of standard error who does not read is not to hold up what is recorded.  One who has gone does not come back. */
static int print_lines(void *arg, const char *text, size_t size)
{
	struct pollfd fd = { .fd = STDERR_FILENO, .events = POLLOUT };

	(void)arg;
	if (poll(&fd, 1, 0) != 1 || !(fd.revents & (POLLOUT | POLLERR)))
		return 0;
	return file_write_all(STDERR_FILENO, text, size) == -EPIPE ? -EPIPE : 0;
}

static enum live_view choose_view(const struct live_settings *settings)
{
	if (settings->no_view)
		return LIVE_VIEW_NONE;
	return settings->plain || !isatty(STDERR_FILENO) ? LIVE_VIEW_LINES : LIVE_VIEW_TERMINAL;
}

/* Rules and actions: the user's own, then those of the command line. */
static int parse_alerts(struct live_settings *settings)
{
	struct live_alerts_file *own = &settings->own;
	struct error err = { 0 };

	if (live_alerts_file_read(own, NULL, &err) != 0)
		return fail_with(&err, EXIT_USAGE);
	if (own->warning[0])
		warning("%s", own->warning);
	settings->parsed = calloc(own->action_count + settings->actions.count + 1, sizeof *settings->parsed);
	settings->expressions = calloc(own->rule_count + settings->rules.count + 1, sizeof *settings->expressions);
	if (!settings->parsed || !settings->expressions)
		return fail(EXIT_ENVIRONMENT, "out of memory");
	for (size_t i = 0; i < own->action_count; i++)
		settings->parsed[i] = own->actions[i];
	for (unsigned i = 0; i < settings->actions.count; i++)
		if (live_action_parse(&settings->parsed[own->action_count + i], settings->actions.items[i], &err) != 0)
			return fail_with(&err, EXIT_USAGE);
	for (size_t i = 0; i < own->rule_count; i++)
		settings->expressions[i] = own->rules[i];
	for (unsigned i = 0; i < settings->rules.count; i++)
		settings->expressions[own->rule_count + i] = settings->rules.items[i];
	return 0;
}

int live_settings_take(struct live_settings *settings, bool color, struct live_options *ret)
{
	int status = parse_alerts(settings);

	settings->alerts.rules = settings->expressions;
	settings->alerts.rule_count = settings->own.rule_count + settings->rules.count;
	ret->interval_s = settings->interval_s;
	ret->view = choose_view(settings);
	ret->color = color;
	ret->alerts = settings->alerts;
	ret->actions = settings->parsed;
	ret->action_count = settings->own.action_count + settings->actions.count;
	ret->serve.address = settings->web && !settings->web[0] ? ANY_PORT : settings->web;
	ret->serve.open_metrics = settings->open_metrics;
	ret->serve.token = getenv("INFERSCOPE_WEB_TOKEN"); /* not an option: everybody can read a command line */
	ret->print = print_lines;
	return status;
}

void live_settings_release(struct live_settings *settings)
{
	free(settings->parsed);
	free(settings->expressions);
	settings->parsed = NULL;
	settings->expressions = NULL;
	live_alerts_file_release(&settings->own);
}

void live_settings_say_page(const struct live *live)
{
	if (live_is_open(live))
		warning("everybody who can reach this machine and reads along has the token of the page: it is not encrypted; "
			"--web without an address, and ssh -L from elsewhere, keep it to yourself");
	if (live_url(live) && live_view_of(live) != LIVE_VIEW_TERMINAL)
		fprintf(stderr, "inferscope: the page is at %s\n", live_url(live));
}
