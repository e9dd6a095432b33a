/* rules_files.c - see rules_files.h. */
#include "rules/rules_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "config/config.h"

#define WRONG_FILE 2 /* exit codes: something is wrong with what was given; the machine does not give what is needed */
#define NO_MEMORY 4

static int wrong(struct error *err, int rc, const char *path)
{
	if (rc == -EFBIG)
		error_set(err, rc, "%s: larger than the %u KiB a file of rules may have", path, RULES_FILE_MAX >> 10);
	else
		error_errno(err, rc, "cannot read the rules in '%s'", path);
	err->exit_code = WRONG_FILE;
	return rc;
}

static int add_file(struct rules *r, const char *path, struct error *err)
{
	struct buffer data = BUFFER_INIT;
	int rc = file_read_whole(path, RULES_FILE_MAX, &data);

	rc = rc < 0 ? wrong(err, rc, path) : rules_add(r, path, data.data, data.size, err);
	buffer_release(&data);
	return rc;
}

static int add_open(struct rules *r, const char *path, int fd, struct error *err)
{
	struct buffer data = BUFFER_INIT;
	int rc = file_read_fd(fd, RULES_FILE_MAX, &data);

	rc = rc < 0 ? wrong(err, rc, path) : rules_add(r, path, data.data, data.size, err);
	buffer_release(&data);
	return rc;
}

/* A file of the configuration folder, if nobody else could have written it. */
static int add_trusted(struct rules *r, const struct rules_files *files, int dir_fd, const char *folder, const char *name, struct error *err)
{
	const char *reason = NULL;
	char *path = path_join(folder, name);
	int fd = path ? config_open_trusted(dir_fd, name, &reason) : -ENOENT, rc = 0;

	if (fd >= 0) {
		rc = add_open(r, path, fd, err);
		close(fd);
	} else if (fd != -ENOENT && files->warn) {
		files->warn(path, reason);
	}
	free(path);
	return rc;
}

static int is_yaml(const struct dirent *entry)
{
	size_t size = strlen(entry->d_name);

	return entry->d_name[0] != '.' && size > 5 && strcmp(entry->d_name + size - 5, ".yaml") == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int add_folder(struct rules *r, const struct rules_files *files, const char *folder, struct error *err)
{
	int dir_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), count, rc = 0;
	struct dirent **entries = NULL;

	if (dir_fd < 0)
		return 0; /* there is no such folder */
	count = scandir(folder, &entries, is_yaml, by_name);
	for (int i = 0; i < count; i++) {
		if (rc == 0)
			rc = add_trusted(r, files, dir_fd, folder, entries[i]->d_name, err);
		free(entries[i]);
	}
	free(entries);
	close(dir_fd);
	return rc;
}

static int add_users(struct rules *r, const struct rules_files *files, struct error *err)
{
	char *config = config_user_folder(), *folder = config ? path_join(config, "rules") : NULL;
	int rc = folder ? add_folder(r, files, folder, err) : 0;

	free(folder);
	free(config);
	return rc;
}

int rules_open(struct rules **ret, const struct rules_files *files, struct error *err)
{
	struct rules *r = NULL;
	int rc = rules_new(&r);

	if (rc < 0) {
		err->exit_code = NO_MEMORY;
		return error_errno(err, rc, "cannot read the rules");
	}
	rc = files->ours ? add_file(r, files->ours, err) : 0;
	rc = rc ? rc : add_users(r, files, err);
	for (size_t i = 0; i < files->count && rc == 0; i++)
		rc = add_file(r, files->asked[i], err);
	rc = rc ? rc : rules_check(r, err);
	if (rc < 0)
		rules_free(r);
	else
		*ret = r;
	return rc;
}

int rules_apply(struct rules *r, struct analysis *a, const struct report_source *source, struct error *err)
{
	static const char padding[RULES_PADDING];
	struct buffer json = BUFFER_INIT;
	size_t size;
	int rc;

	if (rules_count(r) == 0)
		return 0;
	rc = report_json(a, source, &json);
	size = json.size;
	rc = rc ? rc : buffer_append(&json, padding, sizeof padding);
	if (rc < 0)
		error_errno(err, rc, "cannot apply the rules");
	else
		rc = rules_run(r, (const char *)json.data, size, &a->findings, err);
	buffer_release(&json);
	return rc;
}
