/*
 * config_files.c - which files are read, and which are not to be trusted.
 *
 * The working directory may be a checkout or a shared folder, so a file there
 * counts only if nobody but us and root can have put it there or changed it.
 * What is ignored is said in a warning, never silently.
 */
#include "config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "config/variables.h"

#define FILE_NAME ".inferscope.yaml"

static bool trusted_owner(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

/* Why others could have put a file into this folder, or NULL. */
static const char *folder_reason(const struct stat *st)
{
	if (!trusted_owner(st))
		return "its folder belongs to somebody else";
	if ((st->st_mode & (S_IWGRP | S_IWOTH)) && !(st->st_mode & S_ISVTX))
		return "others can write to its folder (chmod go-w the folder)";
	return NULL;
}

static const char *file_reason(const struct stat *st)
{
	if (!trusted_owner(st))
		return "it belongs to somebody else";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "others can write to it (chmod go-w)";
	return NULL;
}

static const char *open_reason(int rc)
{
	switch (rc) {
	case -ELOOP:
		return "it is a symbolic link";
	case -EISDIR:
		return "it is a folder";
	case -EINVAL:
	case -ENXIO: /* a socket, or a FIFO or device nobody serves */
	case -ENODEV:
		return "it is not a regular file";
	default:
		return strerror(-rc);
	}
}

static int read_and_parse(struct config *config, int fd, const char *path, bool trusted, struct error *err)
{
	struct buffer data = BUFFER_INIT;
	int rc = file_read_fd(fd, CONFIG_FILE_MAX, &data);

	if (rc == 0 || rc == -EFBIG) /* the parser has the words for a file that is too large */
		rc = config_load_yaml(config, path, trusted, data.data, data.size, err);
	else
		rc = config_warn(config, "%s is ignored: %s", path, strerror(-rc));
	buffer_release(&data);
	return rc;
}

/* dir_fd is the folder that was looked at: the file is opened in that one, whatever has been renamed meanwhile. */
int config_open_trusted(int dir_fd, const char *name, const char **ret_reason)
{
	const char *reason = NULL;
	struct stat folder, st;
	int fd = file_open_regular(dir_fd, name, &st);

	if (fd == -ENOENT)
		return fd;
	if (fd < 0)
		reason = open_reason(fd);
	else if (fstat(dir_fd, &folder) < 0)
		reason = strerror(errno);
	if (!reason)
		reason = file_reason(&st);
	if (!reason)
		reason = folder_reason(&folder);
	if (!reason)
		return fd;
	*ret_reason = reason;
	if (fd >= 0)
		close(fd);
	return -EPERM;
}

static int load_from_folder(struct config *config, int dir_fd, const char *name, const char *path, bool trusted,
			    struct error *err)
{
	const char *reason = NULL;
	int fd = config_open_trusted(dir_fd, name, &reason), rc;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return config_warn(config, "%s is ignored: %s", path, reason);
	rc = read_and_parse(config, fd, path, trusted, err);
	close(fd);
	return rc;
}

int config_load_file(struct config *config, const char *directory, const char *name, bool trusted, struct error *err)
{
	int dir_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC), rc;
	char *path;

	if (dir_fd < 0)
		return 0; /* no such folder, so no such file */
	path = path_join(directory, name);
	rc = path ? load_from_folder(config, dir_fd, name, path, trusted, err) : -ENOMEM;
	free(path);
	close(dir_fd);
	return rc;
}

int config_load_tree(struct config *config, const char *directory, struct error *err)
{
	char *folder = strdup(directory), *slash;
	int rc;

	if (!folder)
		return error_errno(err, -ENOMEM, "cannot look for %s", FILE_NAME);
	for (;;) {
		rc = config_load_file(config, folder, FILE_NAME, false, err);
		slash = strrchr(folder, '/');
		if (rc < 0 || !slash || strcmp(folder, "/") == 0)
			break;
		slash[slash == folder] = 0; /* the parent; "/" keeps its slash */
	}
	free(folder);
	return rc;
}

char *config_user_folder(void)
{
	const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char *folder = NULL;

	if (base && base[0] == '/')
		return asprintf(&folder, "%s/inferscope", base) < 0 ? NULL : folder;
	if (home && home[0] == '/')
		return asprintf(&folder, "%s/.config/inferscope", home) < 0 ? NULL : folder;
	return NULL;
}

static int load_user(struct config *config, struct error *err)
{
	char *folder = config_user_folder();
	int rc;

	if (!folder)
		return 0;
	rc = config_load_file(config, folder, "config.yaml", true, err);
	free(folder);
	return rc;
}

static const char *environment(const char *name)
{
	return getenv(name);
}

static int warn_of_variables(struct config *config)
{
	struct buffer sentence = BUFFER_INIT;
	int rc = variables_say_unknown(environ, &sentence);

	if (rc == 0 && sentence.size)
		rc = config_warn(config, "%.*s", (int)sentence.size, (const char *)sentence.data);
	buffer_release(&sentence);
	return rc;
}

int config_load(struct config *config, struct error *err)
{
	char *directory = getcwd(NULL, 0);
	int rc = directory && directory[0] == '/' ? config_load_tree(config, directory, err) : 0;

	free(directory);
	if (rc == 0)
		rc = load_user(config, err);
	if (rc == 0)
		rc = warn_of_variables(config);
	if (rc == 0)
		rc = config_load_environment(config, environment, err);
	return rc;
}
