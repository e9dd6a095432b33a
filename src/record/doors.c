/* doors.c - see doors.h. */
#include "record/doors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the library behind each variable would tell us of. */
static const struct door {
	const char *variable; /* names the library to load: the runtime */
	const char *what;
} doors[] = {
	{ "NVTX_INJECTION64_PATH", "NVTX ranges" },
	{ "INTEL_LIBITTNOTIFY64", "ITT tasks" },
};
#define DOORS (sizeof doors / sizeof doors[0])

static const char *occupant(const struct door *door)
{
	const char *value = getenv(door->variable);

	return value && value[0] ? value : NULL;
}

static bool is_first_in(const char *folder, const char *path)
{
	size_t n = strlen(folder);

	return strncmp(path, folder, n) == 0 && (path[n] == ':' || path[n] == '\0');
}

/* Python loads the first sitecustomize of its path. */
static int open_python(struct variables *variables, const char *folder)
{
	const char *old = getenv("PYTHONPATH");
	char *path = NULL;
	int rc = variables_set(variables, "INFERSCOPE_DOOR", folder);

	if (rc != 0 || !old || !old[0])
		return rc ? rc : variables_set(variables, "PYTHONPATH", folder);
	if (is_first_in(folder, old)) /* we run inside a recording */
		return 0;
	if (asprintf(&path, "%s:%s", folder, old) < 0)
		return -ENOMEM;
	rc = variables_set(variables, "PYTHONPATH", path);
	free(path);
	return rc;
}

int doors_open(struct variables *variables, const char *runtime, const char *python)
{
	int rc = python ? open_python(variables, python) : 0;

	for (size_t i = 0; i < DOORS && rc == 0; i++)
		if (!occupant(&doors[i]))
			rc = variables_set(variables, doors[i].variable, runtime);
	return rc;
}

bool doors_taken(size_t door, const char *runtime, char *ret, size_t size)
{
	const char *by;

	if (door >= DOORS)
		return false;
	ret[0] = '\0';
	by = occupant(&doors[door]);
	if (by && strcmp(by, runtime) != 0)
		snprintf(ret, size, "%s are not recorded: %s is already set to %s", doors[door].what, doors[door].variable, by);
	return true;
}
