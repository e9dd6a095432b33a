/*
 * variables.c - see variables.h.
 *
 * tests/faults/test_usage.py compares the list with what sources, package, tests
 * and documents use.
 */
#include "config/variables.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "config/config.h"

#define PREFIX "INFERSCOPE_"
#define LISTED 4u
#define MEANT_MAX 48 /* a longer one is of somebody else */

/* Besides those of settings (config.c). */
static const char *const names[] = {
	/* between the recorder and what it records */
	"INFERSCOPE_SESSION", "INFERSCOPE_RUNTIME", "INFERSCOPE_DOOR", "INFERSCOPE_OPENCL_LAYERS",
	/* for users */
	"INFERSCOPE_COMMAND", "INFERSCOPE_PLUGINS", "INFERSCOPE_WEB_TOKEN", "INFERSCOPE_TORCH_DOOR", "INFERSCOPE_CUDA_SHARE",
	"INFERSCOPE_CUDA_BUFFERS",
	/* for commands that alerts run */
	"INFERSCOPE_ALERT_KIND", "INFERSCOPE_ALERT_SUBJECT", "INFERSCOPE_ALERT_PHASE", "INFERSCOPE_ALERT_SEVERITY",
	"INFERSCOPE_ALERT_NUMBER", "INFERSCOPE_ALERT_TIME", "INFERSCOPE_ALERT_VALUE", "INFERSCOPE_ALERT_THRESHOLD",
	"INFERSCOPE_ALERT_TEXT", "INFERSCOPE_ALERT_ADVICE",
};
#define NAMES (sizeof names / sizeof names[0])

/* For our own tests and measurements, which users see in CONTRIBUTING.md at most: known, but never what was meant. */
static const char *const testing[] = {
	"INFERSCOPE_BUILD", "INFERSCOPE_BROWSER", "INFERSCOPE_BROWSER_ADDRESS", "INFERSCOPE_BENCH_PYTHON", "INFERSCOPE_BENCH_TRACES",
	"INFERSCOPE_INTERRUPTS", "INFERSCOPE_LIVE_SECONDS", "INFERSCOPE_NODE_MODULES", "INFERSCOPE_OPENCL_PYTHON", "INFERSCOPE_PACKAGE",
	"INFERSCOPE_PYOPENCL_PYTHON", "INFERSCOPE_SEED", "INFERSCOPE_SEEDS", "INFERSCOPE_SHOTS", "INFERSCOPE_TORCH_PYTHON",
	"INFERSCOPE_WEB",
};

const char *variables_name(void *arg, size_t i)
{
	(void)arg;
	for (int key = 0; key < CONFIG_KEY_COUNT; key++)
		if (config_keys[key].environment && i-- == 0)
			return config_keys[key].environment;
	return i < NAMES ? names[i] : NULL;
}

static bool is_known(const char *name)
{
	const char *one;

	for (size_t i = 0; (one = variables_name(NULL, i)); i++)
		if (strcmp(one, name) == 0)
			return true;
	for (size_t i = 0; i < sizeof testing / sizeof testing[0]; i++)
		if (strcmp(testing[i], name) == 0)
			return true;
	return false;
}

/* The names without what they have in common, which would make all of them near to each other. */
static const char *bare_name(void *arg, size_t i)
{
	const char *name = variables_name(arg, i);

	return name ? name + strlen(PREFIX) : NULL;
}

/* Of "TRACE_SIZE_MB" the first words, as many as `word` has. */
static void cut_like(const char *name, const char *word, char *out, size_t size)
{
	size_t n = strcspn(name, "_");

	for (word = strchr(word, '_'); word && name[n]; word = strchr(word + 1, '_'))
		n += 1 + strcspn(name + n + 1, "_");
	snprintf(out, size, "%.*s", (int)n, name);
}

/* A name that was not written to its end may be misspelt as well. */
static const char *nearest(const char *word)
{
	const char *best = text_nearest(word, bare_name, NULL), *name;
	size_t distance, most = strlen(word) / 4 + 1;
	char part[MEANT_MAX];

	for (size_t i = 0; !best && (name = bare_name(NULL, i)); i++) {
		cut_like(name, word, part, sizeof part);
		distance = strlen(word) < MEANT_MAX ? text_distance(word, part) : SIZE_MAX;
		if (distance <= most)
			return name;
	}
	return best;
}

static int append_unknown(struct buffer *out, const char *name, bool first)
{
	const char *near = nearest(name + strlen(PREFIX));
	int rc = buffer_printf(out, "%s%.60s", first ? "" : ", ", name);

	if (rc == 0 && near)
		rc = buffer_printf(out, " (did you mean " PREFIX "%s?)", near);
	return rc;
}

int variables_say_unknown(char *const environment[], struct buffer *out)
{
	size_t count = 0;
	int rc = 0;

	for (size_t i = 0; environment[i] && rc == 0; i++) {
		char name[256];
		int n = snprintf(name, sizeof name, "%.*s", (int)strcspn(environment[i], "="), environment[i]);

		if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || !name[strlen(PREFIX)] || (size_t)n >= sizeof name || is_known(name))
			continue;
		if (count++ == 0)
			rc = buffer_printf(out, "ignored, since InferScope knows no such environment variable: ");
		if (rc == 0 && count <= LISTED)
			rc = append_unknown(out, name, count == 1);
	}
	if (rc == 0 && count > LISTED)
		rc = buffer_printf(out, " and %zu more", count - LISTED);
	return rc;
}
