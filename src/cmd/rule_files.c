/* rule_files.c - see rule_files.h. */
#include "cmd/rule_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/command.h"
#include "cmd/install_path.h"

static int add_bytes(struct rules *r, const char *path, const struct buffer *data)
{
	struct error err = { 0 };

	return rules_add(r, path, data->data, data->size, &err) < 0 ? fail_with(&err, EXIT_USAGE) : 0;
}

/* A file that somebody named. */
static int add_file(struct rules *r, const char *path)
{
	struct buffer data = BUFFER_INIT;
	int rc = file_read_whole(path, RULES_FILE_MAX, &data), status;

	if (rc == -EFBIG)
		status = fail(EXIT_USAGE, "%s: larger than the %u KiB a file of rules may have", path, RULES_FILE_MAX >> 10);
	else if (rc < 0)
		status = fail(EXIT_USAGE, "cannot read the rules in '%s': %s", path, strerror(-rc));
	else
		status = add_bytes(r, path, &data);
	buffer_release(&data);
	return status;
}

/* A file of the configuration folder, if nobody else could have written it. */
static int add_trusted(struct rules *r, int dir_fd, const char *folder, const char *name)
{
	const char *reason = NULL;
	char *path = path_join(folder, name);
	struct buffer data = BUFFER_INIT;
	int fd = path ? config_open_trusted(dir_fd, name, &reason) : -ENOENT, status = 0, rc;

	if (fd >= 0) {
		rc = file_read_fd(fd, RULES_FILE_MAX, &data);
		status = rc == 0 ? add_bytes(r, path, &data) : fail(EXIT_USAGE, "cannot read the rules in '%s': %s", path, strerror(-rc));
		close(fd);
	} else if (fd != -ENOENT) {
		warning("%s is ignored: %s", path, reason);
	}
	buffer_release(&data);
	free(path);
	return status;
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

static int add_folder(struct rules *r, const char *folder)
{
	int dir_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), count, status = 0;
	struct dirent **entries = NULL;

	if (dir_fd < 0)
		return 0; /* there is no such folder */
	count = scandir(folder, &entries, is_yaml, by_name);
	for (int i = 0; i < count; i++) {
		if (status == 0)
			status = add_trusted(r, dir_fd, folder, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	close(dir_fd);
	return status;
}

static int add_own(struct rules *r)
{
	char *config = config_user_folder(), *folder = config ? path_join(config, "rules") : NULL;
	int status = folder ? add_folder(r, folder) : 0;

	free(folder);
	free(config);
	return status;
}

static int add_all(struct rules *r, const struct option_list *files)
{
	char *ours = install_path_rules();
	struct error err = { 0 };
	int status = ours ? add_file(r, ours) : 0;

	free(ours);
	if (status == 0)
		status = add_own(r);
	for (unsigned i = 0; i < files->count && status == 0; i++)
		status = add_file(r, files->items[i]);
	if (status == 0 && rules_check(r, &err) < 0)
		status = fail_with(&err, EXIT_USAGE);
	return status;
}

int rule_files_open(struct rules **ret, const struct option_list *files)
{
	struct rules *r;
	int status;

	if (rules_new(&r) < 0)
		return fail(EXIT_ENVIRONMENT, "out of memory");
	status = add_all(r, files);
	if (status)
		rules_free(r);
	else
		*ret = r;
	return status;
}

int rule_files_apply(struct rules *r, struct analysis *a, const struct report_source *source, struct error *err)
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
