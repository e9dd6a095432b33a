/*
 * settings.h - an analysis as the user wants it: what is communication, how exact clocks have to be, and which rules there are.
 *
 *      struct settings *s;
 *      settings_open(&s, &(struct settings_request){ .config = &config, .rules = { .ours = path } }, &err);
 *      settings_analyze(s, timeline, &source, &analysis, &err);
 *      settings_free(s);                                  after the analysis
 *
 * Whoever tells findings makes the analysis by this, so that all of them find
 * the same.
 */
#ifndef RULES_SETTINGS_H
#define RULES_SETTINGS_H

#include "analyze/analysis.h"
#include "rules/rules_files.h"

struct config;
struct settings;

struct settings_request {
	const struct config *config; /* NULL: what the environment and the user's files say */
	struct rules_files rules;
	/* Patterns of communication in place of the configuration's, unless there are none. */
	const char *const *communication;
	size_t communication_count;
	const char *command;               /* for messages; NULL: none */
	void (*warn)(const char *sentence); /* of files of configuration that are read here; may be NULL */
};

/* On failure err->exit_code is set: 2 when something is wrong with what was asked for. */
int settings_open(struct settings **ret, const struct settings_request *request, struct error *err);
void settings_free(struct settings *s);

/* The analysis with what the rules find. */
int settings_analyze(const struct settings *s, const struct timeline *t, const struct report_source *source, struct analysis **ret,
		     struct error *err);

#endif
