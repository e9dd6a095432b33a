/* gpu_beside.c - a CUPTI that a program would bring along: see gpu_probe.h. */
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system/gpu_probe.h"

bool gpu_command_find(const char *command, char *ret, size_t size)
{
	const char *path = getenv("PATH");

	if (strchr(command, '/')) {
		snprintf(ret, size, "%s", command);
		return access(ret, X_OK) == 0;
	}
	while (path && *path) {
		size_t n = strcspn(path, ":");

		if (n > 0 && (size_t)snprintf(ret, size, "%.*s/%s", (int)n, path, command) < size && access(ret, X_OK) == 0)
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

/* Is there any file of such a name?  The folder is one name, whatever is in it. */
static bool is_below(const char *folder, size_t length, const char *pattern)
{
	char whole[2 * PATH_MAX];
	size_t used = 0;
	glob_t found;
	bool any;

	if (length == 0 || folder[0] != '/' || length + strlen(pattern) > PATH_MAX)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (strchr("*?[\\", folder[i]))
			whole[used++] = '\\';
		whole[used++] = folder[i];
	}
	snprintf(whole + used, sizeof whole - used, "/%s", pattern);
	any = glob(whole, GLOB_NOSORT, NULL, &found) == 0;
	globfree(&found);
	return any;
}

/* An environment of Python's, a toolkit's, or the folder that a program is in. */
static bool is_in_prefix(const char *prefix, size_t length)
{
	static const char *const patterns[] = {
		"lib/libcupti*.so*",
		"lib*/python3*/*-packages/nvidia/*/lib/libcupti.so*",
		"lib*/python3*/*-packages/torch/lib/libcupti*.so*",
		"versions/*/lib/python3*/site-packages/nvidia/*/lib/libcupti.so*", /* pyenv, whose commands choose one of these */
	};

	for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
		if (is_below(prefix, length, patterns[i]))
			return true;
	return false;
}

/* bin/python is of the environment above it. */
static bool is_around(const char *program)
{
	const char *slash = strrchr(program, '/');
	size_t length = slash ? (size_t)(slash - program) : 0, above = length;

	while (above > 0 && program[above - 1] != '/')
		above--;
	return is_below(program, length, "libcupti*.so*") || (above > 1 && is_in_prefix(program, above - 1));
}

static bool is_named(void)
{
	static const char *const variables[] = { "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT" };
	const char *home = getenv("HOME"), *path = getenv("PYTHONPATH");
	char local[PATH_MAX];

	for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
		const char *folder = getenv(variables[i]);

		if (folder && is_in_prefix(folder, strlen(folder)))
			return true;
	}
	for (size_t n; path && *path; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		if (is_below(path, n, "nvidia/*/lib/libcupti.so*"))
			return true;
	}
	snprintf(local, sizeof local, "%s/.local", home ? home : "");
	return is_in_prefix(local, strlen(local)) || is_in_prefix("/usr", 4) || is_in_prefix("/usr/local", 10);
}

bool gpu_cupti_is_beside(const char *command)
{
	char program[PATH_MAX], real[PATH_MAX];

	if (gpu_command_find(command, program, sizeof program)) {
		if (is_around(program) || (realpath(program, real) && is_around(real)))
			return true;
	}
	return is_named();
}
