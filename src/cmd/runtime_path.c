/* runtime_path.c - see runtime_path.h. */
#include "cmd/runtime_path.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "libinferscope-rt.so"

char *runtime_path_find(void)
{
	static const char *const places[] = { "%s/" NAME, "%s/../lib/" NAME, INFERSCOPE_LIBDIR "/" NAME };
	char executable[PATH_MAX], candidate[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", executable, sizeof executable - 1);
	char *slash, *path;
	size_t i;

	executable[n > 0 ? n : 0] = 0;
	slash = strrchr(executable, '/');
	if (slash)
		*slash = 0;
	for (i = 0; i < sizeof places / sizeof places[0]; i++) {
		snprintf(candidate, sizeof candidate, places[i], executable);
		path = realpath(candidate, NULL);
		if (path)
			return path;
	}
	return NULL;
}

static bool is_trusted(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0 || (st.st_uid != 0 && st.st_uid != geteuid()))
		return false;
	return !(st.st_mode & 022) || (S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX));
}

bool runtime_path_trusted(const char *path, char **ret_culprit)
{
	char folder[PATH_MAX];
	char *slash;

	snprintf(folder, sizeof folder, "%s", path);
	slash = strrchr(folder, '/');
	if (slash && slash > folder)
		*slash = 0;
	if (is_trusted(folder) && is_trusted(path))
		return true;
	*ret_culprit = strdup(is_trusted(folder) ? path : folder);
	return false;
}
