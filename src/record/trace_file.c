#include "record/trace_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define PARTIALS_MOST 1000u

static int make_absolute(char *ret, const char *path, struct error *err)
{
	char cwd[RECORDING_PATH_MAX];
	int n;

	if (path[0] == '/')
		n = snprintf(ret, RECORDING_PATH_MAX, "%s", path);
	else if (getcwd(cwd, sizeof cwd))
		n = snprintf(ret, RECORDING_PATH_MAX, "%s/%s", cwd, path);
	else
		return error_errno(err, -errno, "cannot tell the working directory");
	return n < RECORDING_PATH_MAX - 64 ? 0 : error_set(err, -ENAMETOOLONG, "the path of the trace is too long: %.60s...", path);
}

/* Renaming a file onto a device or a pipe would replace it. */
static int check_place(const char *path, struct error *err)
{
	struct stat st;

	if (stat(path, &st) != 0 || S_ISREG(st.st_mode))
		return 0;
	if (S_ISDIR(st.st_mode))
		return error_set(err, -EISDIR, "cannot write the trace to %s: it is a directory", path);
	return error_set(err, -EINVAL, "cannot write the trace to %s: it is not a regular file", path);
}

static int open_new(const char *path)
{
	return open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

/* One that is there may be wanted by `inferscope recover`, or be somebody's who is at work. */
static int open_partial(struct trace_file *file)
{
	int fd;

	snprintf(file->partial, sizeof file->partial, "%s.%d.partial", file->path, (int)getpid());
	fd = open_new(file->partial);
	for (unsigned i = 2; fd < 0 && errno == EEXIST && i < PARTIALS_MOST; i++) {
		snprintf(file->partial, sizeof file->partial, "%s.%d.%u.partial", file->path, (int)getpid(), i);
		fd = open_new(file->partial);
	}
	return fd < 0 ? -errno : fd;
}

int trace_file_create(struct trace_file *file, const char *path, int *ret_fd, struct error *err)
{
	int rc = make_absolute(file->path, path, err), fd;
	struct stat st;

	if (rc == 0)
		rc = check_place(file->path, err);
	if (rc != 0)
		return rc;
	fd = open_partial(file);
	if (fd < 0)
		return error_errno(err, fd, "cannot create the trace %s", path);
	rc = file_place_look(&file->place, file->path, err);
	if (rc != 0) {
		close(fd);
		trace_file_remove(file);
		return rc;
	}
	if (fstat(fd, &st) == 0)
		file->place.began = st.st_mtim;
	*ret_fd = fd;
	return 0;
}

void trace_file_segment_path(const struct trace_file *file, unsigned number, char *path, size_t size)
{
	if (number == 0)
		snprintf(path, size, "%s", file->partial);
	else
		snprintf(path, size, "%s.%u", file->partial, number);
}

int trace_file_segment_open(void *arg, unsigned number, struct error *err)
{
	char path[RECORDING_PATH_MAX + 16];
	int fd;

	trace_file_segment_path(arg, number, path, sizeof path);
	fd = open_new(path);
	return fd >= 0 ? fd : error_errno(err, -errno, "cannot create %s", path);
}

void trace_file_segment_remove(void *arg, unsigned number)
{
	char path[RECORDING_PATH_MAX + 16];

	trace_file_segment_path(arg, number, path, sizeof path);
	(void)unlink(path);
}

static int by_number(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return x < y ? -1 : x > y;
}

/* The number of a segment by its file name: "NAME" is 0, "NAME.7" is 7.  False for other files. */
static bool segment_number(const char *file, const char *name, unsigned *ret)
{
	size_t n = strlen(name);
	char end;

	*ret = 0;
	if (strncmp(file, name, n) != 0)
		return false;
	return file[n] == '\0' || (sscanf(file + n, ".%u%c", ret, &end) == 1 && *ret > 0);
}

int trace_file_segments(const struct trace_file *file, unsigned **ret, size_t *ret_count)
{
	const char *slash = strrchr(file->partial, '/');
	char folder[RECORDING_PATH_MAX];
	unsigned *numbers = NULL, *bigger, number;
	struct dirent *entry;
	size_t count = 0;
	DIR *dir;

	snprintf(folder, sizeof folder, "%.*s", slash > file->partial ? (int)(slash - file->partial) : 1, file->partial);
	dir = slash ? opendir(folder) : NULL;
	if (!dir)
		return -ENOENT;
	while ((entry = readdir(dir)) != NULL) {
		if (!segment_number(entry->d_name, slash + 1, &number))
			continue;
		bigger = realloc(numbers, (count + 1) * sizeof *numbers);
		if (!bigger)
			break;
		numbers = bigger;
		numbers[count++] = number;
	}
	closedir(dir);
	if (count)
		qsort(numbers, count, sizeof *numbers, by_number);
	*ret = numbers;
	*ret_count = count;
	return 0;
}

int trace_file_publish(struct trace_file *file, unsigned number, struct error *err)
{
	char from[RECORDING_PATH_MAX + 16];
	int rc;

	trace_file_segment_path(file, number, from, sizeof from);
	rc = file_place_take(&file->place, from, err);
	if (rc)
		return rc;
	(void)file_place_name(file->place.path, file->place.number, file->path);
	rc = file_sync_folder(file->path);
	return rc ? error_errno(err, rc, "cannot get the name of %s onto the disk", file->path) : 0;
}

void trace_file_remove(const struct trace_file *file)
{
	(void)unlink(file->partial);
}
