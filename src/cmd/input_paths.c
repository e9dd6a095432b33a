/* input_paths.c - see input_paths.h. */
#include "cmd/input_paths.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/file.h"
#include "cmd/command.h"
#include "cmd/input_stdin.h"
#include "import/import.h"

struct input_identity {
	dev_t device;
	ino_t inode;
};

static struct input_identity identity_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (struct input_identity){ st.st_dev, st.st_ino } : (struct input_identity){ 0 };
}

/* The file that is this one, by whatever name; NULL when it is a new one, or is not there at all. */
static const char *find_same(const struct input_paths *list, struct input_identity one)
{
	for (size_t i = 0; one.inode && i < list->count; i++)
		if (list->identities[i].inode == one.inode && list->identities[i].device == one.device)
			return list->paths[i];
	return NULL;
}

/* Takes over the path. */
static void note_repeated(struct input_paths *list, char *path, const char *same)
{
	if (list->repeated++ == 0) {
		list->first_repeated = path;
		list->repeats = strdup(same);
	} else {
		free(path);
	}
}

static int grow(struct input_paths *list)
{
	struct input_identity *identities;

	if (ARRAY_GROW(list->paths, list->capacity, list->count + 1))
		return -ENOMEM;
	identities = reallocarray(list->identities, list->capacity, sizeof *identities);
	if (!identities)
		return -ENOMEM;
	list->identities = identities;
	return 0;
}

/* Takes over the path. */
static int add(struct input_paths *list, char *path, struct error *err)
{
	struct input_identity identity = path ? identity_of(path) : (struct input_identity){ 0 };
	const char *same = path ? find_same(list, identity) : NULL;

	if (same) {
		note_repeated(list, path, same);
		return 0;
	}
	if (!path || grow(list)) {
		free(path);
		if (err)
			err->exit_code = EXIT_ENVIRONMENT;
		return error_set(err, -ENOMEM, "out of memory");
	}
	list->identities[list->count] = identity;
	list->paths[list->count++] = path;
	return 0;
}

static bool same_file(const struct stat *st, const char *path)
{
	struct stat other;

	return path && stat(path, &other) == 0 && other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

/* Takes over the path. */
static int add_if_trace(struct input_paths *list, char *path, const char *except, struct error *err)
{
	struct stat st;

	if (path && (stat(path, &st) || !S_ISREG(st.st_mode) || same_file(&st, except))) {
		free(path);
		return 0;
	}
	if (!path || import_detect(path, NULL) > IMPORT_UNKNOWN)
		return add(list, path, err);
	list->ignored++;
	if (list->first_ignored)
		free(path);
	else
		list->first_ignored = path;
	return 0;
}

/* Traces that a newer one has taken the place of, and those that nobody finished, are not meant. */
static int wanted(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && !(dot && (strcmp(dot, ".old") == 0 || strcmp(dot, ".partial") == 0));
}

/* rank2 comes before rank10. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

static int add_folder(struct input_paths *list, const char *folder, const char *except, struct error *err)
{
	struct dirent **entries;
	size_t before = list->count + list->repeated;
	int count = scandir(folder, &entries, wanted, by_name), rc = 0;

	if (count < 0)
		return error_errno(err, -errno, "cannot look into the folder %s", folder);
	for (int i = 0; i < count; i++) {
		if (rc == 0)
			rc = add_if_trace(list, path_join(folder, entries[i]->d_name), except, err);
		free(entries[i]);
	}
	free(entries);
	if (rc == 0 && list->count + list->repeated == before)
		rc = error_set(err, -ENOENT,
			       count ? "none of the files in %s is a trace that InferScope reads" : "the folder %s is empty",
			       folder);
	return rc;
}

int input_paths_add(struct input_paths *list, const char *path, const char *except, struct error *err)
{
	struct stat st;

	path = input_stdin_path(path, err);
	if (!path)
		return err->code;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return add_folder(list, path, except, err);
	return add(list, strdup(path), err);
}

void input_paths_release(struct input_paths *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->paths[i]);
	free(list->paths);
	free(list->identities);
	free(list->first_ignored);
	free(list->first_repeated);
	free(list->repeats);
	*list = (struct input_paths)INPUT_PATHS_INIT;
}
