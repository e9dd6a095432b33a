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
	{ "NVTX_INJECTION64_PATH", "NVTX ranges are" },
	{ "INTEL_LIBITTNOTIFY64", "ITT tasks are" },
	{ "CUDA_INJECTION64_PATH", "CUDA work is" },
};
#define OPENCL_LAYERS "OPENCL_LAYERS"
#define DOORS (sizeof doors / sizeof doors[0])

static const char *occupant(const struct door *door)
{
	const char *value = getenv(door->variable);

	return value && value[0] ? value : NULL;
}

/* Those of the other GPUs are OpenCL's layers. */
static bool is_cuda(const struct door *door)
{
	return strncmp(door->variable, "CUDA_", 5) == 0;
}

static bool is_first_in(const char *folder, const char *path)
{
	size_t n = strlen(folder);

	return strncmp(path, folder, n) == 0 && (path[n] == ':' || path[n] == '\0');
}

/* Whether a list with colons in it has this path. */
static bool has_part(const char *list, const char *path)
{
	for (; list; list = strchr(list, ':') ? strchr(list, ':') + 1 : NULL)
		if (is_first_in(path, list))
			return true;
	return false;
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

/* Layers of OpenCL stand side by side: ours comes after those that the user has, and so is called first.  The loader of ocl-icd
 * leaves only the first of them in the environment; our layer puts the others back, from a copy (opencl/layer.c). */
static int open_opencl(struct variables *variables, const char *runtime)
{
	const char *old = getenv(OPENCL_LAYERS);
	char *layers = NULL;
	int rc;

	if (old && old[0] && has_part(old, runtime)) /* we run inside a recording */
		return 0;
	if (asprintf(&layers, "%s%s%s", old ? old : "", old && old[0] ? ":" : "", runtime) < 0)
		return -ENOMEM;
	rc = variables_set(variables, OPENCL_LAYERS, layers);
	rc = rc ? rc : variables_set(variables, "INFERSCOPE_OPENCL_LAYERS", layers);
	free(layers);
	return rc;
}

int doors_open(struct variables *variables, const char *runtime, const char *python, enum config_gpu gpu)
{
	int rc = python ? open_python(variables, python) : 0;

	if (rc == 0 && gpu != CONFIG_GPU_OFF)
		rc = open_opencl(variables, runtime);
	for (size_t i = 0; i < DOORS && rc == 0; i++)
		if (!occupant(&doors[i]) && (gpu == CONFIG_GPU_AUTO || !is_cuda(&doors[i])))
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
	if (by && strcmp(by, runtime) != 0 && strcmp(by, "none") != 0) /* which is how people switch CUDA's off */
		snprintf(ret, size, "%s not recorded: %s is already set to %s", doors[door].what, doors[door].variable, by);
	return true;
}
