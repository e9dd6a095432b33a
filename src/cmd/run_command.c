/* run_command.c - see run_command.h. */
#include "cmd/run_command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "cmd/command.h"
#include "cmd/python_path.h"
#include "import/import.h"

/* ---- For Python ------------------------------------------------------------------ */

static bool ends_with(const char *word, const char *suffix)
{
	size_t n = strlen(word), m = strlen(suffix);

	return n > m && strcmp(word + n - m, suffix) == 0;
}

bool run_command_is_script(const char *word)
{
	return ends_with(word, ".py");
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A folder is a program of Python's when it has this file. */
static bool is_package(const char *folder)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/__main__.py", folder);
	return is_folder(folder) && access(path, F_OK) == 0;
}

static bool is_program(const char *path)
{
	return access(path, X_OK) == 0 && !is_folder(path);
}

/* Whether executing that word finds something. */
static bool is_command(const char *word)
{
	const char *at = getenv("PATH"), *end;
	char path[PATH_MAX];

	if (strchr(word, '/'))
		return is_program(word);
	for (at = at ? at : "/bin:/usr/bin"; at; at = *end ? end + 1 : NULL) {
		end = strchrnul(at, ':');
		snprintf(path, sizeof path, "%.*s/%s", end > at ? (int)(end - at) : 1, end > at ? at : ".", word);
		if (is_program(path))
			return true;
	}
	return false;
}

/* An archive that can be executed says itself, in its first line, which Python it is for. */
static bool is_archive(const char *word)
{
	return ends_with(word, ".pyz") && !is_command(word);
}

static bool is_for_python(const char *word)
{
	return run_command_is_script(word) || is_archive(word) || strcmp(word, "-m") == 0 || strcmp(word, "-c") == 0;
}

/* A script that is not there: the exit code is a shell's. */
static int check_script(const char *script)
{
	if (script[0] == '-' || is_package(script))
		return 0;
	if (access(script, F_OK) != 0)
		return errno == EACCES ? fail(126, "cannot read the script %s: %s", script, strerror(errno)) :
					 fail(127, "there is no script %s", script);
	if (is_folder(script))
		return fail(126, "cannot run %s: it is a directory without a __main__.py", script);
	if (access(script, R_OK) != 0)
		return fail(126, "cannot read the script %s: %s", script, strerror(errno));
	return 0;
}

/* ---- For the system -------------------------------------------------------------- */

static bool is_meant_to_be_executed(const char *path)
{
	struct buffer head = BUFFER_INIT;
	bool meant;

	(void)file_read_whole(path, 4096, &head); /* of a longer one the beginning */
	meant = head.size >= 4 && (memcmp(head.data, "#!", 2) == 0 || memcmp(head.data, "\x7f\x45LF", 4) == 0);
	buffer_release(&head);
	return meant;
}

/* Of a file that is there and cannot be executed: what it is, and what to do with it. */
static int describe_file(const char *path)
{
	if (is_meant_to_be_executed(path))
		return fail(126, "cannot run %s: %s; 'chmod +x %s' makes a program of it", path, strerror(EACCES), path);
	if (import_detect(path, NULL) > IMPORT_UNKNOWN)
		return fail(126, "%s is a trace and no program; 'inferscope analyze %s' says where its time went", path, path);
	if (ends_with(path, ".ipynb"))
		return fail(126, "%s is a notebook; 'jupyter nbconvert --to script %s' makes a script of it, or use inferscope.Profiler in it",
			    path, path);
	return fail(126, "%s is neither a program, which 'chmod +x' makes it, nor a Python script, whose name ends in .py; if it is one, "
			 "'inferscope run python3 %s' runs it", path, path);
}

/* What executing it would say less well. */
static int check_command(const char *word)
{
	struct stat st;

	if (is_command(word) || stat(word, &st) != 0)
		return 0;
	if (S_ISREG(st.st_mode) && !is_program(word))
		return describe_file(word);
	if (S_ISREG(st.st_mode))
		return fail(127, "%s: command not found; the file of that name in this folder is ./%s", word, word);
	if (S_ISDIR(st.st_mode))
		return fail(126, "cannot run %s: it is a directory without a __main__.py", word);
	return 0;
}

/* ---- The words -------------------------------------------------------------------- */

int run_command_make(struct run_command *ret, int count, char **words)
{
	bool python = is_for_python(words[0]) || (!is_command(words[0]) && is_package(words[0]));
	int status = python ? check_script(words[0]) : check_command(words[0]), n = 0;

	if (status)
		return status;
	*ret = (struct run_command){ .argv = calloc((size_t)count + 2, sizeof *ret->argv), .interpreter = python ? python_path() : NULL };
	if (!ret->argv || (python && !ret->interpreter)) {
		run_command_release(ret);
		return fail(EXIT_ENVIRONMENT, "out of memory");
	}
	if (python)
		ret->argv[n++] = ret->interpreter;
	for (int i = 0; i < count; i++)
		ret->argv[n++] = words[i];
	return 0;
}

void run_command_release(struct run_command *command)
{
	free(command->argv);
	free(command->interpreter);
	*command = (struct run_command){ 0 };
}
