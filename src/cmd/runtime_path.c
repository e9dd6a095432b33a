/* runtime_path.c - see runtime_path.h. */
#include "cmd/runtime_path.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
