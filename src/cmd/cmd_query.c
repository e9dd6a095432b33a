/*
 * cmd_query.c - `inferscope query`: questions to a trace, in SQL.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/builtin.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/printer.h"
#include "cmd/progress.h"
#include "cmd/query_print.h"
#include "cmd/rule_files.h"
#include "query/query.h"

static const char *const formats[] = { "table", "csv", "json", NULL };

struct ask {
	struct query *query;
	const char *output;
	int format;
	double timeout_s;
	const struct config *config;
	struct option_list rule_files;
	struct settings *settings; /* of the analysis; NULL: not yet */
	struct report_source source;
	struct timespec end;  /* of the question at hand */
	bool timed_out;
};

/* ---- What ends a question ----------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

static bool is_over(const struct timespec *end)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > end->tv_sec || (now.tv_sec == end->tv_sec && now.tv_nsec >= end->tv_nsec);
}

static bool must_stop(void *arg)
{
	struct ask *a = arg;

	a->timed_out = a->timeout_s > 0 && is_over(&a->end);
	return interrupted || a->timed_out;
}

static void set_timeout(struct ask *a)
{
	double seconds = a->timeout_s;

	interrupted = 0;
	a->timed_out = false;
	clock_gettime(CLOCK_MONOTONIC, &a->end);
	a->end.tv_sec += (time_t)seconds;
	a->end.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
	if (a->end.tv_nsec >= 1000000000) {
		a->end.tv_sec++;
		a->end.tv_nsec -= 1000000000;
	}
}

/* ---- What the analysis finds ---------------------------------------------------------------- */

/* Most questions need no analysis: then rules are not read, which takes longer than the answer to a small question. */
static int analyze(void *arg, const struct timeline *t, struct analysis **ret, struct error *err)
{
	struct ask *a = arg;
	int rc = a->settings ? 0 : rule_files_open(&a->settings, "query", a->config, &a->rule_files, err);

	return rc ? rc : settings_analyze(a->settings, t, &a->source, ret, err);
}

/* What the command line says is looked at in any case. */
static int check_settings(struct ask *a)
{
	bool given = a->rule_files.count || config_value(a->config, CONFIG_COMMUNICATION)->origin == CONFIG_FROM_COMMAND_LINE;
	struct error err = { 0 };

	if (given && rule_files_open(&a->settings, "query", a->config, &a->rule_files, &err) < 0)
		return fail_with(&err, EXIT_USAGE);
	return 0;
}

/* ---- One question -------------------------------------------------------------------------- */

static int say_why(const struct ask *a, const struct error *err)
{
	const struct error *failure = query_failure(a->query);

	if (a->timed_out)
		return fail(EXIT_NO, "query: not done after %g seconds; --timeout allows more", a->timeout_s);
	if (interrupted)
		return 128 + SIGINT;
	if (failure)
		return fail_with(failure, EXIT_ENVIRONMENT);
	return fail(err->exit_code == EXIT_ENVIRONMENT ? EXIT_ENVIRONMENT : EXIT_USAGE, "%s", err->text);
}

static int print_rows(struct ask *a, struct sql_query *rows, struct printer *out)
{
	struct query_printer printer;
	struct error err = { 0 };
	int rc;

	query_printer_init(&printer, out, (enum query_format)a->format, rows);
	while ((rc = sql_query_step(rows, &err)) > 0)
		if (!query_printer_row(&printer)) {
			rc = 0;
			break;
		}
	if (rc == 0 || printer.count > 0)
		query_printer_end(&printer);
	return rc < 0 ? say_why(a, &err) : 0;
}

static int answer(struct ask *a, const char *text, struct printer *out)
{
	struct sql_query *rows;
	struct error err = { 0 };
	int status;

	set_timeout(a);
	if (query_run(a->query, text, &rows, &err) < 0)
		return fail_with(&err, EXIT_USAGE);
	status = print_rows(a, rows, out);
	sql_query_free(rows);
	return status;
}

/* On standard output each answer is there before the next question; a file has all of them. */
static int answer_now(struct ask *a, const char *text)
{
	struct printer out;
	int status;

	printer_stdout(&out);
	status = answer(a, text, &out);
	return printer_close(&out) ? EXIT_ENVIRONMENT : status;
}

/* ---- The prompt ------------------------------------------------------------------------------ */

static void print_tables(void)
{
	for (size_t i = 0; query_table_name(i); i++)
		printf("%s(%s)\n", query_table_name(i), query_table_columns(i));
	fflush(stdout); /* answers go there by another way */
}

static bool is_blank(const char *text)
{
	return text[strspn(text, " \t\n;")] == '\0';
}

/* True: it was one. */
static bool obey(const char *line, bool *ret_quit)
{
	if (line[0] != '.')
		return false;
	if (strncmp(line, ".quit", 5) == 0 || strncmp(line, ".exit", 5) == 0)
		*ret_quit = true;
	else if (strncmp(line, ".tables", 7) == 0)
		print_tables();
	else
		puts(".tables  the tables and their columns\n.quit    leave; so does the end of the input\nA question ends with a semicolon.");
	return true;
}

struct prompt {
	struct ask *ask;
	struct printer *file; /* NULL: standard output */
	struct buffer text;   /* of a question that has begun */
	bool shown, quit;
	int status; /* of the first that failed */
};

static void answer_text(struct prompt *p)
{
	int status = EXIT_ENVIRONMENT;

	if (buffer_append(&p->text, "", 1) == 0)
		status = p->file ? answer(p->ask, (char *)p->text.data, p->file) : answer_now(p->ask, (char *)p->text.data);
	p->status = p->status ? p->status : status;
	p->quit = p->quit || (interrupted && !p->shown);
	buffer_clear(&p->text);
}

/* A semicolon inside a text or a comment ends nothing. */
static bool is_complete(struct buffer *text)
{
	bool complete;

	if (buffer_append(text, "", 1) < 0)
		return false;
	complete = query_is_complete((char *)text->data);
	text->size--;
	return complete;
}

static void take_line(struct prompt *p, const char *line)
{
	if (p->text.size == 0 && (obey(line, &p->quit) || is_blank(line)))
		return;
	if (buffer_append(&p->text, line, strlen(line)) == 0 && strchr(line, ';') && is_complete(&p->text))
		answer_text(p);
}

/* The end of the input; at a prompt Ctrl-C is none, but throws the line away, as in a shell. */
static bool is_end(struct prompt *p)
{
	if (!interrupted || !p->shown)
		return true;
	interrupted = 0;
	clearerr(stdin);
	buffer_clear(&p->text);
	putchar('\n');
	return false;
}

static int ask_all(struct ask *a, bool shown, struct printer *file)
{
	struct prompt p = { .ask = a, .file = file, .text = BUFFER_INIT, .shown = shown };
	char *line = NULL;
	size_t capacity = 0;
	bool ended = false;

	while (!p.quit && !ended) {
		if (shown)
			fputs(p.text.size ? "   ...> " : "query> ", stdout), fflush(stdout);
		if (getline(&line, &capacity, stdin) < 0)
			ended = is_end(&p);
		else
			take_line(&p, line);
	}
	if (p.text.size && !p.quit && !interrupted)
		answer_text(&p);
	if (shown && ended)
		putchar('\n');
	free(line);
	buffer_release(&p.text);
	return shown ? 0 : interrupted ? 128 + SIGINT : p.status;
}

/* All answers are in the file, or there is none. */
static int answer_in_file(struct ask *a, const char *question)
{
	struct printer out;
	struct error err = { 0 };
	int status;

	if (printer_open(&out, a->output, &err) < 0)
		return fail_with(&err, EXIT_ENVIRONMENT);
	status = question ? answer(a, question, &out) : ask_all(a, false, &out);
	if (status == 0)
		return printer_close(&out);
	printer_discard(&out);
	return status;
}

static int answer_somewhere(struct ask *a, const char *question)
{
	if (a->output && strcmp(a->output, "-") != 0)
		return answer_in_file(a, question);
	return question ? answer_now(a, question) : ask_all(a, isatty(STDIN_FILENO) && isatty(STDOUT_FILENO), NULL);
}

static int ask_reader(struct ask *a, struct trace_reader *reader, const char *title, const char *question)
{
	struct sigaction action = { .sa_handler = interrupt }; /* without SA_RESTART: reading a line ends, too */
	struct progress progress = PROGRESS_INIT("reading events");
	const struct query_options options = { .stop = must_stop, .stop_arg = a, .progress = progress_step, .progress_arg = &progress,
					       .analyze = analyze, .analyze_arg = a };
	struct error err = { 0 };
	int status = input_check_any(reader, title);

	if (status)
		return status;
	if (query_open(&a->query, reader, &options, &err) < 0)
		return fail_with(&err, EXIT_ENVIRONMENT);
	(void)sigaction(SIGINT, &action, NULL);
	status = answer_somewhere(a, question);
	query_close(a->query);
	return status;
}

static int ask_trace(struct ask *a, char **paths, int count, const char *question)
{
	const struct input_options how = { .output = a->output };
	struct trace_reader *reader;
	struct input_about about;
	int status = input_open_many(&reader, paths, count, &how, &about);

	if (status)
		return status;
	a->source = (struct report_source){ .path = about.title, .format = about.format, .version = INFERSCOPE_VERSION };
	status = ask_reader(a, reader, about.title, question);
	if (status == 0)
		input_warn_of_damage(reader, about.title);
	trace_reader_close(reader);
	input_about_release(&about);
	return status;
}

int cmd_query(int argc, char **argv)
{
	struct config config;
	struct ask a = { .config = &config };
	bool tables = false;
	int count, status;
	const struct option_row rows[] = {
		OPTION_CHOICE(0, "format", "table|csv|json", &a.format, formats, "how to print; table unless given"),
		OPTION_TEXT('o', "output", "FILE", &a.output, "write to FILE; - is standard output"),
		OPTION_REAL(0, "timeout", "SECONDS", &a.timeout_s, 0, 1e9, "give up after that; never unless given"),
		OPTION_CONFIG(0, "communication", "PATTERN,...", &config, CONFIG_COMMUNICATION,
			      "device work that is communication, besides the well-known kinds; !PATTERN is not"),
		OPTION_LIST(0, "rules-file", "FILE", &a.rule_files, "what else to find, and from where on: a YAML file (docs/rules.md); may be given again"),
		OPTION_FLAG(0, "tables", &tables, "print the tables and their columns"),
		OPTION_END,
	};
	const struct options options = {
		.command = "query",
		.arguments = "[options] TRACE [SQL]",
		.description =
			"Answers questions to a trace, in the SQL of SQLite. Without SQL they are read from standard input, each up to a "
			"semicolon; on a terminal there is a prompt. A trace is never changed. Times are nanoseconds since its start.",
		.examples = "  inferscope query trace.sbt 'SELECT name, count(*), sum(dur) FROM slices GROUP BY name ORDER BY 3 DESC LIMIT 10'\n"
			    "  inferscope query trace.sbt \"SELECT * FROM idle_gaps WHERE cause = 'sync' ORDER BY dur DESC LIMIT 5\"\n"
			    "  inferscope query --format csv trace.sbt 'SELECT * FROM steps' > steps.csv\n"
			    "  inferscope query trace.sbt\n",
		.rows = rows,
	};

	if (config_init(&config) < 0)
		return fail(EXIT_ENVIRONMENT, "out of memory");
	count = command_options(&options, argc, argv);
	if (tables) {
		print_tables();
		config_release(&config);
		return 0;
	}
	if (count < 1 || count > 2)
		status = fail(EXIT_USAGE, "query: expected a trace and a question, as in \"inferscope query trace.sbt 'SELECT * FROM steps'\"");
	else
		status = command_config(&config);
	if (status == 0 && count == 1 && strcmp(argv[1], "-") == 0)
		status = fail(EXIT_USAGE, "query: the trace is on standard input, so the question has to be an argument, as in \"inferscope query - "
					  "'SELECT * FROM steps'\"");
	status = status ? status : check_settings(&a);
	status = status ? status : ask_trace(&a, argv + 1, 1, count == 2 ? argv[2] : NULL);
	settings_free(a.settings);
	config_release(&config);
	return status;
}
