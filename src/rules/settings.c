/* settings.c - see settings.h. */
#include "rules/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

#define WRONG_VALUE 2 /* exit codes, as in rules_files.c */
#define NO_MEMORY 4

struct settings {
	struct work_rules *classes;
	struct rules *rules;
	int64_t clock_margin; /* ns */
};

/* ---- What is communication -------------------------------------------------------- */

static int wrong_pattern(const struct settings_request *request, const char *what, const char *pattern, struct error *err)
{
	err->exit_code = WRONG_VALUE;
	return error_set(err, -EINVAL, "%s%sthe pattern '%.60s%s", request->command ? request->command : "", request->command ? ": " : "",
			 pattern, what);
}

/* Patterns with commas between them. */
static int add_patterns(struct settings *s, const struct settings_request *request, const char *patterns, struct error *err)
{
	char pattern[512];

	while (*patterns) {
		size_t size = strcspn(patterns, ",");

		if (size >= sizeof pattern)
			return wrong_pattern(request, "...' is too long", patterns, err);
		memcpy(pattern, patterns, size);
		pattern[size] = 0;
		if (size > 0 && work_rules_add(s->classes, pattern) < 0)
			return wrong_pattern(request, "' cannot be taken", pattern, err);
		patterns += size + (patterns[size] == ',');
	}
	return 0;
}

static int add_communication(struct settings *s, const struct settings_request *request, const struct config *config, struct error *err)
{
	int rc = 0;

	if (request->communication_count == 0)
		return add_patterns(s, request, config_string(config, CONFIG_COMMUNICATION), err);
	for (size_t i = 0; i < request->communication_count && rc == 0; i++)
		rc = add_patterns(s, request, request->communication[i], err);
	return rc;
}

/* ---- All of it ----------------------------------------------------------------------- */

static int out_of_memory(struct error *err)
{
	err->exit_code = NO_MEMORY;
	return error_errno(err, -ENOMEM, "cannot read the settings of the analysis");
}

static int fill(struct settings *s, const struct settings_request *request, const struct config *config, struct error *err)
{
	int rc;

	s->clock_margin = config_integer(config, CONFIG_SYNC_ERROR_MARGIN_US) * 1000;
	if (work_rules_new(&s->classes) < 0)
		return out_of_memory(err);
	rc = add_communication(s, request, config, err);
	return rc ? rc : rules_open(&s->rules, &request->rules, err);
}

/* By the environment and the files alone. */
static int fill_by_files(struct settings *s, const struct settings_request *request, struct error *err)
{
	struct config config;
	int rc;

	if (config_init(&config) < 0)
		return out_of_memory(err);
	rc = config_load(&config, err);
	for (size_t i = 0; request->warn && i < config.warning_count; i++)
		request->warn(config.warnings[i]);
	rc = rc ? rc : fill(s, request, &config, err);
	config_release(&config);
	return rc;
}

int settings_open(struct settings **ret, const struct settings_request *request, struct error *err)
{
	struct settings *s = calloc(1, sizeof *s);
	int rc;

	if (!s)
		return out_of_memory(err);
	rc = request->config ? fill(s, request, request->config, err) : fill_by_files(s, request, err);
	if (rc < 0)
		settings_free(s);
	else
		*ret = s;
	return rc;
}

void settings_free(struct settings *s)
{
	if (!s)
		return;
	rules_free(s->rules);
	work_rules_free(s->classes);
	free(s);
}

int settings_analyze(const struct settings *s, const struct timeline *t, const struct report_source *source, struct analysis **ret,
		     struct error *err)
{
	const struct analysis_options how = { .rules = s->classes, .thresholds = rules_thresholds(s->rules),
					      .clock_margin = &s->clock_margin };
	struct analysis *a;
	int rc = analysis_run(&a, t, &how, err);

	if (rc < 0)
		return rc;
	rc = rules_apply(s->rules, a, source, err);
	if (rc < 0)
		analysis_free(a);
	else
		*ret = a;
	return rc;
}
