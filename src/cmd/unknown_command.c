/* unknown_command.c - see unknown_command.h. */
#include "cmd/unknown_command.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/builtin.h"
#include "cmd/command.h"
#include "cmd/run_command.h"
#include "import/import.h"

/* Words that users of other tools type, and what we have for them. */
static const struct {
	const char *words; /* with blanks between */
	const char *sentence;
} known[] = {
	{ "report summary", "'inferscope analyze TRACE' writes the report of a trace" },
	{ "stat stats", "'inferscope info TRACE' says what is in a trace, and 'inferscope query TRACE' counts what you ask for" },
	{ "attach pid", "'inferscope top PID' looks at a process that runs already" },
	{ "compare diff", "two traces are not compared yet; 'inferscope analyze TRACE' says of each where its time went" },
	{ "profile start launch exec trace", "'inferscope run PROGRAM' runs a program and records it" },
	{ "python python3", "'inferscope run SCRIPT.py' runs a script under Python and records it" },
	{ "open show ui web serve timeline", "'inferscope view TRACE' shows a trace in the browser" },
	{ "live watch", "'inferscope monitor PROGRAM' runs a program and shows it meanwhile" },
	{ "convert", "'inferscope import' makes a trace of another tool's, and 'inferscope export' writes one for another tool" },
	{ "flame flamegraph", "'inferscope view TRACE' shows a flame graph, and 'inferscope export --format collapsed TRACE' writes the stacks of one" },
	{ "print script events", "'inferscope dump TRACE' prints the events of a trace" },
	{ "sql", "'inferscope query TRACE' answers questions in SQL" },
	{ "repair fix", "'inferscope recover FOLDER' makes a trace of what a killed recorder left behind" },
	{ "settings env", "'inferscope config show' shows the settings" },
	{ "check status devices", "'inferscope doctor' says what is available here" },
	{ "version", "'inferscope --version' shows the version" },
	{ "man manual", "'inferscope help COMMAND' has the options of a command" },
};

static bool is_among(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (; *words; words += strspn(words, " ")) {
		size_t size = strcspn(words, " ");

		if (size == n && memcmp(words, word, n) == 0)
			return true;
		words += size;
	}
	return false;
}

static const char *find_known(const char *word)
{
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (is_among(known[i].words, word))
			return known[i].sentence;
	return NULL;
}

static bool is_trace(const char *word)
{
	size_t n = strlen(word);

	return import_detect(word, NULL) > IMPORT_UNKNOWN || (n > 4 && strcmp(word + n - 4, ".sbt") == 0);
}

static int about_file(const char *word, const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		return fail(EXIT_USAGE, "%s is a folder and no command; 'inferscope analyze %s' analyses the traces in it", word, word);
	if (run_command_is_script(word))
		return fail(EXIT_USAGE, "%s is a Python script and no command; 'inferscope run %s' runs and records it", word, word);
	if (access(word, X_OK) == 0)
		return fail(EXIT_USAGE, "%s is a program and no command of inferscope; 'inferscope run %s%s' runs and records it", word,
			    strchr(word, '/') ? "" : "./", word);
	return fail(EXIT_USAGE, "%s is a file and no command; it is neither a trace that InferScope reads nor a program", word);
}

int unknown_command(int argc, char **argv, const char *(*next)(void *arg, size_t i))
{
	const char *word = argv[1], *sentence = find_known(word), *near = text_nearest(word, next, NULL);
	struct stat st;
	bool there = stat(word, &st) == 0;

	if (strcmp(word, "-") == 0 || (there && S_ISREG(st.st_mode) && is_trace(word)))
		return cmd_analyze(argc, argv);
	if (sentence)
		return fail(EXIT_USAGE, "there is no command '%s'; %s", word, sentence);
	if (there)
		return about_file(word, &st);
	if (strpbrk(word, "./"))
		return fail(EXIT_USAGE, "'%.200s' is no command, and there is no file of that name; 'inferscope --help' lists the commands", word);
	if (near)
		return fail(EXIT_USAGE, "unknown command '%.60s'; did you mean '%s'?", word, near);
	return fail(EXIT_USAGE, "unknown command '%.60s'; 'inferscope --help' lists those there are", word);
}

static const char *global_option(void *arg, size_t i)
{
	static const char *const names[] = { "version", "help", NULL };

	(void)arg;
	return names[i];
}

int unknown_global_option(const char *word)
{
	const char *near = text_nearest(word + strspn(word, "-"), global_option, NULL);

	if (strcmp(word, "-m") == 0 || strcmp(word, "-c") == 0)
		return fail(EXIT_USAGE, "unknown option '%s'; 'inferscope run %s ...' runs and records Python", word, word);
	if (near)
		return fail(EXIT_USAGE, "unknown option '%.60s'; did you mean '--%s'?", word, near);
	return fail(EXIT_USAGE, "unknown option '%.60s'; options follow the command, as in 'inferscope info --help'", word);
}
