/* late_options.c - see late_options.h. */
#include "cmd/late_options.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cmd/command.h"
#include "cmd/report_formats.h"
#include "cmd/run_command.h"

#define SCRIPT_MAX (4u << 20)

static const struct {
	const char *option;
	enum config_key key;
} ours[] = {
	{ "--report", CONFIG_REPORT },
	{ "--log-level", CONFIG_LOG_LEVEL },
	{ "--trace-size-mb", CONFIG_TRACE_SIZE_MB },
};
#define OURS (sizeof ours / sizeof ours[0])

/* With one of these in it a script's text does not tell which options it takes: they are made of names in the program, or
 * handed on to somebody else. */
static const char *const opaque[] = {
	"parse_known_args", "REMAINDER", "HfArgumentParser", "LightningCLI", "jsonargparse", "simple_parsing", "cyclopts",
	"import fire", "from fire", "typer", "tyro", "absl", "hydra", "draccus", "defopt",
};

/* ---- The script ------------------------------------------------------------------------ */

static bool contains(const struct buffer *text, const char *word)
{
	return text->size > 0 && memmem(text->data, text->size, word, strlen(word));
}

/* False: it is no script, or what it takes cannot be seen. */
static bool read_script(const char *word, struct buffer *text)
{
	struct stat st;

	if (!run_command_is_script(word) || stat(word, &st) != 0 || !S_ISREG(st.st_mode) || file_read_whole(word, SCRIPT_MAX, text) != 0)
		return false;
	for (size_t i = 0; i < sizeof opaque / sizeof opaque[0]; i++)
		if (contains(text, opaque[i]))
			return false;
	return true;
}

/* ---- What is ours ------------------------------------------------------------------------ */

static bool is_value(enum config_key key, const char *value)
{
	return key != CONFIG_REPORT || strcmp(value, "none") == 0 || report_format_of(value) >= 0;
}

/* How many words at the end are one of ours, which is then set; 0: none. */
static int take_last(struct late_options *late, int count, char **words, const struct buffer *script)
{
	for (size_t i = 0; i < OURS; i++) {
		size_t n = strlen(ours[i].option);
		const char *last = words[count - 1], *value = NULL;
		int size = strncmp(last, ours[i].option, n) == 0 && last[n] == '=' ? 1 : 2;

		if (size == 1)
			value = last + n + 1;
		else if (count > 2 && strcmp(words[count - 2], ours[i].option) == 0)
			value = last;
		if (!value || contains(script, ours[i].option) || !is_value(ours[i].key, value) ||
		    config_value(late->config, ours[i].key)->origin == CONFIG_FROM_COMMAND_LINE)
			continue;
		return config_set(late->config, ours[i].key, value, NULL) == 0 ? size : 0;
	}
	return 0;
}

static bool is_divided(const struct late_options *late, int count, char **words)
{
	bool divided = late->divided;

	for (int i = 1; i < count && !divided; i++)
		divided = strcmp(words[i], "--") == 0;
	return divided;
}

static int append_words(struct buffer *out, char **words, int from, int count)
{
	int rc = 0;

	for (int i = from; i < count && rc == 0; i++)
		rc = buffer_printf(out, "%s%s", i > from ? " " : "", words[i]);
	return rc;
}

static void note_taken(struct late_options *late, int kept, int count, char **words)
{
	struct buffer *out = &late->taken;
	int rc = buffer_printf(out, "took '");

	rc = rc ? rc : append_words(out, words, kept, count);
	rc = rc ? rc : buffer_printf(out, "' for itself, since %s names no such option; 'inferscope %s -- %s%s ", words[0],
				     late->options->command, words[0], kept > 1 ? " ..." : "");
	rc = rc ? rc : append_words(out, words, kept, count);
	rc = rc ? rc : buffer_printf(out, "' leaves it to the script");
	if (rc)
		buffer_release(out);
}

/* ---- What is not ------------------------------------------------------------------------- */

/* Behind -m and -c there is a word that is no argument. */
static int first_argument(char **words)
{
	return strcmp(words[0], "-m") == 0 || strcmp(words[0], "-c") == 0 ? 2 : 1;
}

static const char *program_of(int count, char **words)
{
	if (strcmp(words[0], "-c") == 0)
		return "the code";
	return strcmp(words[0], "-m") == 0 && count > 1 ? words[1] : words[0];
}

static void note_passed_on(struct late_options *late, int count, char **words, const struct buffer *script)
{
	struct buffer *out = &late->passed_on;
	int first = first_argument(words), found = 0, rc = 0;

	for (int i = first; i < count && rc == 0; i++) {
		size_t n = strcspn(words[i], "=");
		char option[64];

		snprintf(option, sizeof option, "%.*s", (int)n, words[i]);
		if (n < sizeof option && options_knows(late->options, option) && !contains(script, option))
			rc = buffer_printf(out, "%s%s", found++ ? " and " : "", option);
	}
	if (rc == 0 && found)
		rc = buffer_printf(out, " %s passed to %s; InferScope's own options come before it", found > 1 ? "were" : "was",
				   program_of(count, words));
	if (rc || buffer_append(out, "", 1) || !found)
		buffer_release(out);
}

/* ---- All ------------------------------------------------------------------------------------ */

/* Returns how many of the words are the program's. */
static int sort(struct late_options *late, int count, char **words)
{
	struct buffer script = BUFFER_INIT;
	bool known = read_script(words[0], &script);
	int kept = count;

	for (int size = 1; known && kept > 1 && size > 0; kept -= size)
		size = take_last(late, kept, words, &script);
	if (kept < count)
		note_taken(late, kept, count, words);
	note_passed_on(late, kept, words, &script);
	buffer_release(&script);
	return kept;
}

int late_options_config(struct late_options *late, int *count, char **words)
{
	int status;

	if (!is_divided(late, *count, words))
		*count = sort(late, *count, words);
	status = command_config(late->config);
	if (status == 0 && late->taken.size)
		warning("%.*s", (int)late->taken.size, (const char *)late->taken.data);
	return status;
}

const char *late_options_passed_on(const struct late_options *late)
{
	return late->passed_on.size ? (const char *)late->passed_on.data : NULL;
}

void late_options_release(struct late_options *late)
{
	buffer_release(&late->taken);
	buffer_release(&late->passed_on);
}
