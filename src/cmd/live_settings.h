/*
 * live_settings.h - what `monitor` and `top` share: options of what is looked at, alerted of and served.
 */
#ifndef CMD_LIVE_SETTINGS_H
#define CMD_LIVE_SETTINGS_H

#include <stdbool.h>

#include "cmd/options.h"
#include "live/alerts_file.h"
#include "live/live.h"

struct live_settings {
	double interval_s;
	bool plain, no_view;
	const char *web; /* NULL: no page; "": where we like */
	bool open_metrics;
	struct live_alert_options alerts;
	struct option_list rules, actions;
	struct live_alerts_file own; /* the user's */
	struct live_action *parsed;  /* allocated; of both, as the next */
	const char **expressions;
	char command[LIVE_COMMAND], program[LIVE_NAME];
};
#define LIVE_SETTINGS_INIT { .interval_s = 0.5, .alerts = LIVE_ALERT_OPTIONS_INIT }

/* is_address: whether the word behind --web says where. */
#define LIVE_OPTIONS(s, is_address)                                                                                                  \
	OPTION_REAL(0, "interval", "SECONDS", &(s)->interval_s, 0.1, 60, "look so often; every 0.5 seconds unless given"), \
		OPTION_FLAG(0, "plain", &(s)->plain, "lines on standard error instead of the view; so it is without a terminal"), \
		OPTION_FLAG(0, "no-view", &(s)->no_view, "neither view nor lines"),                                      \
		OPTION_MAYBE(0, "web", "[ADDR:PORT]", &(s)->web, is_address,                                             \
			     "serve a live page as well, on any free port of 127.0.0.1 or, as in --web 127.0.0.1:8123, there; " \
			     "--web unix:PATH for a socket"),                                                            \
		OPTION_FLAG(0, "open-metrics", &(s)->open_metrics, "let /metrics be read without the token that is in the page's address"), \
		OPTION_LIST(0, "alert", "NAME:EXPRESSION", &(s)->rules,                                                  \
			    "alert when this SQL expression over the names of /api is true; may be given several times"), \
		OPTION_LIST(0, "on-alert", "KIND=ACTION", &(s)->actions,                                                 \
			    "what to do when such an alert begins, becomes worse or ends: log:FILE, command:COMMAND or snapshot[:SECONDS]; KIND may have * in it"), \
		OPTION_REAL(0, "memory-threshold", "SHARE", &(s)->alerts.memory, 0.01, 1,                                \
			    "alert when more than this share of the memory is used; 0.8 unless given"),                  \
		OPTION_REAL(0, "gpu-threshold", "SHARE", &(s)->alerts.gpu_memory, 0.01, 1, "likewise of a GPU's memory; 0.9 unless given")

/* Whether a word says where: HOST:PORT, [HOST]:PORT, :PORT or unix:PATH. */
bool live_settings_is_address(const char *word);
/* The same, and a mere port, which for `top` may be a process. */
bool live_settings_is_port(const char *word);

/* For live_new(), what there is of it here; borrows.  An exit code, having said why, or 0. */
int live_settings_take(struct live_settings *settings, bool color, struct live_options *ret);
void live_settings_release(struct live_settings *settings);

/* Says where the page is, where no view does. */
void live_settings_say_page(const struct live *live);

#endif
