/*
 * python_path.c - see python_path.h.
 *
 * An installer puts the command into the bin/ of an environment, and what the
 * user calls may be a link to it: the executable itself tells where that is.
 * Environments that are there for a command alone, as pipx and uv make them,
 * have none of the user's packages; and conda's first environment, from which
 * others are made, gives way to a virtual environment that is active.
 */
#include "cmd/python_path.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has(const char *folder, const char *name)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

static bool is_environment(const char *folder)
{
	return has(folder, "pyvenv.cfg") || has(folder, "conda-meta");
}

static bool is_for_a_command_alone(const char *folder)
{
	return has(folder, "pipx_metadata.json") || has(folder, "uv-receipt.toml");
}

static bool is_first_of_conda(const char *folder)
{
	return has(folder, "condabin") && !has(folder, "pyvenv.cfg");
}

/* The folder above the bin/ that this executable is in; "" when it is in another. */
static void find_prefix(char *out, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", out, size - 1);
	char *slash;

	out[n > 0 ? n : 0] = '\0';
	slash = strrchr(out, '/');
	if (slash)
		*slash = '\0';
	slash = strrchr(out, '/');
	if (slash && strcmp(slash, "/bin") == 0)
		*slash = '\0';
	else
		out[0] = '\0';
}

/* NULL: there is none that can be executed. */
static char *interpreter_in(const char *folder)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof path, "%s/bin/python", folder);
	return access(path, X_OK) == 0 ? strdup(path) : NULL;
}

char *python_path(void)
{
	const char *active = getenv("VIRTUAL_ENV");
	char own[PATH_MAX], *found = NULL;
	bool usable;

	find_prefix(own, sizeof own);
	usable = own[0] && is_environment(own) && !is_for_a_command_alone(own);
	if (usable && !is_first_of_conda(own))
		found = interpreter_in(own);
	if (!found && active && active[0] == '/')
		found = interpreter_in(active);
	if (!found && usable)
		found = interpreter_in(own);
	return found ? found : strdup("python3");
}
