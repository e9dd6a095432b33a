/* config.c - the table of keys, and values with their origin. */
#include "config/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static const char *const log_levels[] = { "debug", "info", "warn", "error", NULL };
static const char *const overflows[] = { "wrap", "discard", "block", NULL };
static const char *const details[] = { "auto", "full", "light", NULL };
static const char *const gpus[] = { "auto", "off", "nsys", NULL };
static const char *const colors[] = { "auto", "always", "never", NULL };

#define FLAG CONFIG_BOOL, 0, 0, NULL
#define INTEGER(min, max) CONFIG_INTEGER, min, max, NULL
#define CHOICE(list) CONFIG_ENUM, 0, 0, list
#define PATH CONFIG_STRING, 0, 0, NULL
#define PATTERNS CONFIG_PATTERNS, 0, 0, NULL
#define ANYWHERE false
#define TRUSTED_ONLY true

/* To add a key: a name in enum config_key, a row here, a paragraph in man/inferscope.yaml.5. */
const struct config_key_info config_keys[CONFIG_KEY_COUNT] = {
	[CONFIG_ENABLED] = { "enabled", FLAG, "INFERSCOPE_ENABLED", "true", ANYWHERE,
			     "whether run records; if not, the program just runs" },
	[CONFIG_LOG_LEVEL] = { "log_level", CHOICE(log_levels), "INFERSCOPE_LOG_LEVEL", "info", ANYWHERE,
			       "the least important messages to show" },
	[CONFIG_TRACE_SIZE_MB] = { "trace_size_mb", INTEGER(1, 65536), "INFERSCOPE_TRACE_SIZE_MB", "100", ANYWHERE,
				   "memory for events that are not yet written, of all processes together" },
	[CONFIG_SYNC_ERROR_MARGIN_US] = { "sync_error_margin_us", INTEGER(0, 1000000000),
					  "INFERSCOPE_SYNC_ERROR_MARGIN_US", "1000", ANYWHERE,
					  "clock uncertainty above which a trace is called unreliable" },
	[CONFIG_OVERFLOW] = { "overflow", CHOICE(overflows), NULL, "wrap", ANYWHERE,
			      "what happens to events when that memory is full" },
	[CONFIG_BLOCK_TIMEOUT_MS] = { "block_timeout_ms", INTEGER(1, 60000), NULL, "100", ANYWHERE,
				      "how long overflow: block lets a thread wait, once" },
	[CONFIG_MAX_FILE_MB] = { "max_file_mb", INTEGER(0, 16777216), NULL, "0", ANYWHERE,
				 "largest size of the trace, the oldest part going first (0: no limit)" },
	[CONFIG_LAST_SECONDS] = { "last_seconds", INTEGER(0, 31536000), NULL, "0", ANYWHERE,
				  "keep only the last seconds of the run (0: all of it)" },
	[CONFIG_TRACE] = { "trace", PATH, NULL, "trace.sbt", TRUSTED_ONLY, "where run writes the trace" },
	[CONFIG_CALLS] = { "calls", FLAG, "INFERSCOPE_CALLS", "true", ANYWHERE, "whether calls of Python functions are recorded" },
	[CONFIG_DETAIL] = { "detail", CHOICE(details), "INFERSCOPE_DETAIL", "auto", ANYWHERE,
			    "how much is recorded where all of it would take time (auto: less of short calls; light: operators in parts, too)" },
	[CONFIG_C_CALLS] = { "c_calls", FLAG, "INFERSCOPE_C_CALLS", "false", ANYWHERE,
			     "whether calls from Python of functions written in C are recorded" },
	[CONFIG_OPS] = { "ops", FLAG, "INFERSCOPE_OPS", "true", ANYWHERE, "whether operators of PyTorch are recorded" },
	[CONFIG_SHAPES] = { "shapes", FLAG, "INFERSCOPE_SHAPES", "false", ANYWHERE,
			    "whether the shapes of what operators are given are recorded" },
	[CONFIG_INCLUDE] = { "include", PATTERNS, "INFERSCOPE_INCLUDE", "", ANYWHERE,
			     "the Python functions to record (nothing: all of them)" },
	[CONFIG_EXCLUDE] = { "exclude", PATTERNS, "INFERSCOPE_EXCLUDE", "", ANYWHERE,
			     "of those, the ones not to record" },
	[CONFIG_COMMUNICATION] = { "communication", PATTERNS, "INFERSCOPE_COMMUNICATION", "", ANYWHERE,
				   "device work that is communication, besides the well-known kinds (!PATTERN: is not)" },
	[CONFIG_WAITS] = { "waits", FLAG, "INFERSCOPE_WAITS", "true", ANYWHERE,
			   "whether threads are looked at from outside: how long they run, queue and are blocked, and for what" },
	[CONFIG_WAIT_ALL] = { "wait_all", FLAG, NULL, "false", ANYWHERE,
			      "whether run records until all that the program has started has ended, too" },
	[CONFIG_GPU] = { "gpu", CHOICE(gpus), "INFERSCOPE_GPU", "auto", ANYWHERE,
			 "how run records what GPUs do (off: not at all; nsys: with Nsight Systems)" },
	[CONFIG_GPU_ARGS] = { "gpu_args", FLAG, "INFERSCOPE_GPU_ARGS", "false", ANYWHERE,
			      "whether the arguments of OpenCL kernels are recorded" },
	[CONFIG_REPORT] = { "report", PATH, "INFERSCOPE_REPORT", "report.md", TRUSTED_ONLY,
			    "where run writes its report (none: no analysis at the end)" },
	[CONFIG_COLOR] = { "color", CHOICE(colors), NULL, "auto", ANYWHERE, "when to use colours (auto: on a terminal)" },
};

enum config_key config_find(const char *name)
{
	int key;

	for (key = 0; key < CONFIG_KEY_COUNT; key++)
		if (strcmp(config_keys[key].name, name) == 0)
			break;
	return (enum config_key)key;
}

static void append_choices(const struct config_key_info *info, char *out, size_t size)
{
	size_t i, used = strlen(out);

	for (i = 0; info->choices[i] && used < size; i++) {
		const char *between = i == 0 ? "" : info->choices[i + 1] ? ", " : " or ";

		used += (size_t)snprintf(out + used, size - used, "%s%s", between, info->choices[i]);
	}
}

const char *config_expected(enum config_key key, char *out, size_t size)
{
	const struct config_key_info *info = &config_keys[key];

	switch (info->type) {
	case CONFIG_BOOL:
		snprintf(out, size, "true or false");
		break;
	case CONFIG_INTEGER:
		snprintf(out, size, "an integer from %lld to %lld", (long long)info->min, (long long)info->max);
		break;
	case CONFIG_ENUM:
		out[0] = 0;
		append_choices(info, out, size);
		break;
	case CONFIG_STRING:
		snprintf(out, size, "a path");
		break;
	case CONFIG_PATTERNS:
		snprintf(out, size, "patterns with commas between them");
		break;
	}
	return out;
}

static int parse_bool(const char *text, int64_t *ret)
{
	static const char *const words[] = { "false", "true", "no", "yes", "off", "on", "0", "1" };
	size_t i;

	for (i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcasecmp(text, words[i]) == 0) {
			*ret = (int64_t)(i & 1);
			return 0;
		}
	return -EINVAL;
}

static int parse_choice(const char *text, const char *const *choices, int64_t *ret)
{
	size_t i;

	for (i = 0; choices[i]; i++)
		if (strcasecmp(text, choices[i]) == 0) {
			*ret = (int64_t)i;
			return 0;
		}
	return -EINVAL;
}

/* The number a text stands for, and its canonical spelling (text itself, or something static). */
static int parse_value(const struct config_key_info *info, const char *text, int64_t *number, const char **spelling)
{
	int rc = 0;

	*number = 0;
	*spelling = text;
	switch (info->type) {
	case CONFIG_BOOL:
		rc = parse_bool(text, number);
		*spelling = *number ? "true" : "false";
		break;
	case CONFIG_INTEGER:
		rc = text_parse_integer(text, info->min, info->max, number);
		break;
	case CONFIG_ENUM:
		rc = parse_choice(text, info->choices, number);
		*spelling = info->choices[*number];
		break;
	case CONFIG_STRING:
		rc = text[0] ? 0 : -EINVAL;
		break;
	case CONFIG_PATTERNS: /* any text is one, and none says "all" */
		break;
	}
	return rc;
}

static int refuse(const struct config_key_info *info, const char *text, enum config_origin origin, const char *file,
		  unsigned line, struct error *err)
{
	enum config_key key = (enum config_key)(info - config_keys);
	char expected[128], where[384];

	if (origin == CONFIG_FROM_FILE)
		snprintf(where, sizeof where, "%s:%u: %s", file, line, info->name);
	else if (origin == CONFIG_FROM_ENVIRONMENT)
		snprintf(where, sizeof where, "environment variable %s", info->environment);
	else
		snprintf(where, sizeof where, "%s", info->name);
	if (err)
		err->exit_code = 2;
	return error_set(err, -EINVAL, "%s expects %s, not '%.60s'", where,
			 config_expected(key, expected, sizeof expected), text);
}

static bool has_better(const struct config_value *value, enum config_origin origin)
{
	return value->origin > origin || (value->origin == origin && origin == CONFIG_FROM_FILE);
}

int config_assign(struct config *config, enum config_key key, const char *text, enum config_origin origin,
		  const char *file, unsigned line, struct error *err)
{
	struct config_value *value = &config->values[key], fresh = { .origin = origin, .line = line };
	const char *spelling;

	if (parse_value(&config_keys[key], text, &fresh.number, &spelling) < 0)
		return refuse(&config_keys[key], text, origin, file, line, err);
	if (value->text && has_better(value, origin))
		return 0;
	fresh.text = strdup(spelling);
	fresh.file = origin == CONFIG_FROM_FILE ? strdup(file) : NULL;
	if (!fresh.text || (origin == CONFIG_FROM_FILE && !fresh.file)) {
		free(fresh.text);
		free(fresh.file);
		return error_errno(err, -ENOMEM, "cannot keep the value of %s", config_keys[key].name);
	}
	free(value->text);
	free(value->file);
	*value = fresh;
	return 0;
}

int config_set(struct config *config, enum config_key key, const char *text, struct error *err)
{
	return config_assign(config, key, text, CONFIG_FROM_COMMAND_LINE, NULL, 0, err);
}

int config_warn(struct config *config, const char *format, ...)
{
	char **warnings = reallocarray(config->warnings, config->warning_count + 1, sizeof *warnings);
	va_list args;
	int n;

	if (!warnings)
		return -ENOMEM;
	config->warnings = warnings;
	va_start(args, format);
	n = vasprintf(&warnings[config->warning_count], format, args);
	va_end(args);
	if (n < 0)
		return -ENOMEM;
	config->warning_count++;
	return 0;
}

int config_init(struct config *config)
{
	int key, rc = 0;

	*config = (struct config){ 0 };
	for (key = 0; key < CONFIG_KEY_COUNT && rc == 0; key++)
		rc = config_assign(config, (enum config_key)key, config_keys[key].initial, CONFIG_FROM_DEFAULT, NULL, 0,
				   NULL);
	if (rc < 0)
		config_release(config);
	return rc;
}

void config_release(struct config *config)
{
	size_t i;

	for (i = 0; i < CONFIG_KEY_COUNT; i++) {
		free(config->values[i].text);
		free(config->values[i].file);
	}
	for (i = 0; i < config->warning_count; i++)
		free(config->warnings[i]);
	free(config->warnings);
	*config = (struct config){ 0 };
}

int config_load_environment(struct config *config, const char *(*get)(const char *name), struct error *err)
{
	int key, rc = 0;

	for (key = 0; key < CONFIG_KEY_COUNT && rc == 0; key++) {
		const char *name = config_keys[key].environment;
		const char *text = name ? get(name) : NULL;

		if (text && text[0])
			rc = config_assign(config, (enum config_key)key, text, CONFIG_FROM_ENVIRONMENT, NULL, 0, err);
	}
	return rc;
}

const struct config_value *config_value(const struct config *config, enum config_key key)
{
	return &config->values[key];
}

int64_t config_integer(const struct config *config, enum config_key key)
{
	return config->values[key].number;
}

bool config_bool(const struct config *config, enum config_key key)
{
	return config->values[key].number != 0;
}

const char *config_string(const struct config *config, enum config_key key)
{
	return config->values[key].text;
}
