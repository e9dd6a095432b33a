/*
 * cmd_view.c - `inferscope view`: the report page of a trace, in the browser.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/analyze.h"
#include "cmd/browser.h"
#include "cmd/builtin.h"
#include "cmd/command.h"
#include "cmd/options.h"
#include "cmd/printer.h"

#define PAGE_NAME "report.html"

/* A folder in which nobody else can put anything in the page's place, allocated; NULL with errno. */
static char *make_folder(const char *base)
{
	char *folder = base && base[0] == '/' ? path_join(base, "inferscope-view-XXXXXX") : NULL;

	if (folder && mkdtemp(folder))
		return folder;
	free(folder);
	return NULL;
}

static char *find_folder(void)
{
	char *folder = make_folder(getenv("XDG_RUNTIME_DIR"));

	folder = folder ? folder : make_folder(getenv("TMPDIR"));
	return folder ? folder : make_folder("/tmp");
}

static int print_path(const char *path)
{
	struct printer out;

	printer_stdout(&out);
	printer_terminal(&out, path, strlen(path), 0);
	printer_printf(&out, "\n");
	return printer_close(&out);
}

/* Where no browser can be opened the path is what there is to say, and that is no failure. */
static int show(const char *path, bool print_only)
{
	int status = print_path(path);

	if (status == 0 && !print_only && browser_expected() && browser_open(path) < 0)
		warning("no browser could be started; open that file in one");
	return status;
}

static int view(const struct config *config, char **traces, int count, bool print_only)
{
	char *folder = find_folder(), *path = folder ? path_join(folder, PAGE_NAME) : NULL;
	int status;

	if (!folder)
		return fail(EXIT_ENVIRONMENT, "cannot make a folder for the page in XDG_RUNTIME_DIR, TMPDIR or /tmp: %s", strerror(errno));
	status = path ? analyze_to_file(config, traces, count, path) : fail(EXIT_ENVIRONMENT, "out of memory");
	if (status == 0)
		status = show(path, print_only);
	else
		rmdir(folder);
	free(path);
	free(folder);
	return status;
}

int cmd_view(int argc, char **argv)
{
	struct config config;
	bool print_only = false;
	int count, status;
	const struct option_row rows[] = {
		OPTION_FLAG(0, "print", &print_only, "open no browser: just print where the page is"),
		OPTION_CONFIG(0, "communication", "PATTERN,...", &config, CONFIG_COMMUNICATION,
			      "device work that is communication, besides the well-known kinds; !PATTERN is not"),
		OPTION_END,
	};
	const struct options options = {
		.command = "view",
		.arguments = "[options] TRACE...",
		.description =
			"Makes the report page of a trace, as 'inferscope analyze --format html' does, in a folder of its own in "
			"XDG_RUNTIME_DIR, TMPDIR or /tmp, prints where it is, and opens it in the browser: with xdg-open, what "
			"BROWSER names, or sensible-browser. Without a screen and without BROWSER it only prints. Reads what "
			"analyze reads; several files, or a folder, are the ranks of one job.",
		.examples = "  inferscope view trace.sbt\n"
			    "  inferscope view ranks/\n"
			    "  BROWSER=firefox inferscope view trace.json.gz\n"
			    "  inferscope view --print trace.sbt\n",
		.rows = rows,
	};

	if (config_init(&config) < 0)
		return fail(EXIT_ENVIRONMENT, "out of memory");
	count = command_options(&options, argc, argv);
	status = count < 1 ? fail(EXIT_USAGE, "view: expected a trace, as in 'inferscope view trace.sbt'") : command_config(&config);
	if (status == 0)
		status = view(&config, argv + 1, count, print_only);
	config_release(&config);
	return status;
}
