/* install_path.c - see install_path.h. */
#include "cmd/install_path.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUNTIME "libinferscope-rt.so"
#define DOOR "python/inferscope/_door"
#define RULES "share/inferscope/rules.yaml"

static void cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
}

/* Where something could be: below the executable's folder, below that one's parent, just there, or in the package that an
 * installer has put into the library of a Python, beside the bin/ that the executable is in. */
enum base { BESIDE, ABOVE, FIXED, PACKAGED };
struct place {
	enum base base;
	const char *path; /* NULL: the last one */
};

static void make_candidate(const struct place *place, char *path, size_t size)
{
	char folder[PATH_MAX] = "";
	ssize_t n = place->base == FIXED ? 0 : readlink("/proc/self/exe", folder, sizeof folder - 1);

	folder[n > 0 ? n : 0] = '\0';
	cut_last(folder);
	if (place->base == ABOVE)
		cut_last(folder);
	snprintf(path, size, "%s%s%s", folder, place->base == FIXED ? "" : "/", place->path);
}

static int is_python(const struct dirent *entry)
{
	return strncmp(entry->d_name, "python3.", strlen("python3.")) == 0;
}

static char *find_in_python(const char *library, const char *python, const char *path, bool (*is_good)(const char *path))
{
	static const char *const packages[] = { "site-packages", "dist-packages" };
	char candidate[3 * PATH_MAX];

	for (size_t i = 0; i < sizeof packages / sizeof packages[0]; i++) {
		snprintf(candidate, sizeof candidate, "%s/%s/%s/inferscope/%s", library, python, packages[i], path);
		if (is_good(candidate))
			return strdup(candidate);
	}
	return NULL;
}

/* The newest Python's, since several may share one bin/; each still loads the extension of its own package. */
static char *find_packaged(const char *path, bool (*is_good)(const char *path))
{
	static const struct place libraries[] = { { ABOVE, "lib" }, { ABOVE, "lib64" } };
	char library[2 * PATH_MAX], *found = NULL;

	for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
		struct dirent **pythons = NULL;

		make_candidate(&libraries[i], library, sizeof library);
		for (int n = scandir(library, &pythons, is_python, versionsort); n > 0; n--) {
			if (!found)
				found = find_in_python(library, pythons[n - 1]->d_name, path, is_good);
			free(pythons[n - 1]);
		}
		free(pythons);
	}
	return found;
}

static char *find(const struct place *places, bool (*is_good)(const char *path))
{
	char candidate[2 * PATH_MAX], *found = NULL;

	for (; places->path && !found; places++) {
		if (places->base == PACKAGED) {
			found = find_packaged(places->path, is_good);
			continue;
		}
		make_candidate(places, candidate, sizeof candidate);
		if (is_good(candidate))
			found = strdup(candidate);
	}
	return found;
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

char *install_path_runtime(void)
{
	static const struct place places[] = {
		{ BESIDE, RUNTIME },
		{ ABOVE, "lib/" RUNTIME },
		{ ABOVE, RUNTIME },
		{ ABOVE, "inferscope/" RUNTIME },
#ifdef INFERSCOPE_LIBDIR
		{ FIXED, INFERSCOPE_LIBDIR "/" RUNTIME },
#endif
		{ PACKAGED, RUNTIME },
		{ FIXED, NULL },
	};
	const char *given = getenv("INFERSCOPE_RUNTIME");
	char *found = find(places, is_there), *path = NULL;

	if (found)
		path = realpath(found, NULL);
	else if (given && given[0] == '/')
		path = realpath(given, NULL);
	free(found);
	return path;
}

char *install_path_rules(void)
{
	static const struct place places[] = {
		{ BESIDE, RULES },
		{ ABOVE, RULES },
		{ ABOVE, "rules.yaml" },
		{ ABOVE, "inferscope/rules.yaml" },
#ifdef INFERSCOPE_DATADIR
		{ FIXED, INFERSCOPE_DATADIR "/inferscope/rules.yaml" },
#endif
		{ PACKAGED, "rules.yaml" },
		{ FIXED, NULL },
	};

	return find(places, is_there);
}

static bool is_trusted(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0 || (st.st_uid != 0 && st.st_uid != geteuid()))
		return false;
	return !(st.st_mode & 022) || (S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX));
}

bool install_path_trusted(const char *path, char **ret_culprit)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof folder, "%s", path);
	cut_last(folder);
	if (!folder[0])
		strcpy(folder, "/");
	if (is_trusted(folder) && is_trusted(path))
		return true;
	if (ret_culprit)
		*ret_culprit = strdup(is_trusted(folder) ? path : folder);
	return false;
}

/* From the folder above the door Python loads the package. */
static bool is_door(const char *folder)
{
	char script[2 * PATH_MAX + 32];

	snprintf(script, sizeof script, "%s/sitecustomize.py", folder);
	return access(script, R_OK) == 0 && install_path_trusted(script, NULL) && install_path_trusted(folder, NULL);
}

char *install_path_door(void)
{
	static const struct place places[] = {
		{ BESIDE, DOOR },
		{ ABOVE, "lib/inferscope/" DOOR },
		{ ABOVE, "_door" },
		{ ABOVE, "inferscope/_door" },
#ifdef INFERSCOPE_LIBDIR
		{ FIXED, INFERSCOPE_LIBDIR "/inferscope/" DOOR },
#endif
		{ PACKAGED, "_door" },
		{ FIXED, NULL },
	};

	return find(places, is_door);
}
