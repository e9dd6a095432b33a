/* file.c - see file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_place.h"

char *path_join(const char *dir, const char *name)
{
	size_t length = strlen(dir);
	char *path;

	if (name[0] == '/' || length == 0)
		return strdup(name);
	if (asprintf(&path, "%s%s%s", dir, dir[length - 1] == '/' ? "" : "/", name) < 0)
		return NULL;
	return path;
}

int file_open_regular(int dir_fd, const char *path, struct stat *ret_stat)
{
	struct stat st;
	int fd = openat(dir_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int rc;

	if (fd < 0)
		return -errno;
	rc = fstat(fd, &st) < 0 ? -errno : S_ISDIR(st.st_mode) ? -EISDIR : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (rc < 0) {
		close(fd);
		return rc;
	}
	if (ret_stat)
		*ret_stat = st;
	return fd;
}

int file_read_fd(int fd, size_t limit, struct buffer *buf)
{
	size_t start = buf->size;
	ssize_t n;
	int rc;

	for (;;) {
		rc = buffer_reserve(buf, 4096);
		if (rc < 0)
			return rc;
		n = read(fd, buf->data + buf->size, buf->capacity - buf->size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		buf->size += (size_t)n;
		if (buf->size - start > limit)
			return -EFBIG;
	}
}

int file_read_whole(const char *path, size_t limit, struct buffer *buf)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int rc;

	if (fd < 0)
		return -errno;
	rc = file_read_fd(fd, limit, buf);
	close(fd);
	return rc;
}

int file_write_all(int fd, const void *data, size_t size)
{
	const char *at = data;
	ssize_t n;

	while (size > 0) {
		n = write(fd, at, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static bool is_refusal(int code)
{
	return code == EINVAL || code == EROFS || code == ENOSYS || code == EOPNOTSUPP || code == EPERM || code == EACCES;
}

int file_sync(int fd)
{
	int rc;

	do
		rc = fsync(fd) == 0 ? 0 : -errno;
	while (rc == -EINTR);
	return is_refusal(-rc) ? 0 : rc;
}

int file_sync_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1) : strdup(".");
	int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, rc = 0;

	free(folder);
	if (fd < 0)
		return 0; /* one may write to it without being allowed to read it */
	rc = file_sync(fd);
	close(fd);
	return rc;
}

static bool written_in_place(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* mkstemp() makes files 0600; the finished file has what the umask leaves, as a file made by open() has. */
static mode_t default_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

int file_draft_open(struct file_draft *draft, const char *path, struct error *err)
{
	struct stat st;
	int rc;

	*draft = (struct file_draft)FILE_DRAFT_INIT;
	draft->path = strdup(path);
	if (!draft->path)
		return error_errno(err, -ENOMEM, "cannot create '%s'", path);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		rc = -EISDIR;
	} else if (written_in_place(path)) {
		draft->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		rc = draft->fd < 0 ? -errno : 0;
	} else if (asprintf(&draft->temporary, "%s.XXXXXX", path) < 0) {
		draft->temporary = NULL;
		rc = -ENOMEM;
	} else {
		draft->fd = mkostemp(draft->temporary, O_CLOEXEC);
		rc = draft->fd < 0 ? -errno : 0;
	}
	if (rc == 0)
		return 0;
	if (draft->fd < 0) { /* nothing to unlink */
		free(draft->temporary);
		draft->temporary = NULL;
	}
	file_draft_discard(draft);
	return error_errno(err, rc, "cannot create '%s'", path);
}

/* To be renamed: it has the mode that it will have, and all of it has been written. */
static int finish_draft(struct file_draft *draft)
{
	int rc = 0;

	if (draft->temporary && fchmod(draft->fd, default_mode()) < 0)
		rc = -errno;
	if (close(draft->fd) < 0 && rc == 0) /* NFS reports a full disk here */
		rc = -errno;
	draft->fd = -1;
	return rc;
}

int file_draft_commit_at(struct file_draft *draft, struct file_place *place, struct error *err)
{
	int rc = finish_draft(draft);

	if (rc < 0)
		error_errno(err, rc, "cannot write '%s'", draft->path);
	else if (draft->temporary && !place && rename(draft->temporary, draft->path) < 0)
		rc = error_errno(err, -errno, "cannot write '%s'", draft->path);
	else if (draft->temporary && place)
		rc = file_place_take(place, draft->temporary, err);
	if (rc == 0) {
		free(draft->temporary);
		draft->temporary = NULL;
	}
	file_draft_discard(draft);
	return rc;
}

int file_draft_commit(struct file_draft *draft, struct error *err)
{
	return file_draft_commit_at(draft, NULL, err);
}

void file_draft_discard(struct file_draft *draft)
{
	if (draft->fd >= 0)
		close(draft->fd);
	if (draft->temporary)
		unlink(draft->temporary);
	free(draft->temporary);
	free(draft->path);
	*draft = (struct file_draft)FILE_DRAFT_INIT;
}

/* ---- The file that was there before ---- */

int file_keep_older(const char *path, bool *ret_kept, struct error *err)
{
	struct stat st;
	char *old;
	int rc = 0;

	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return 0;
	if (asprintf(&old, "%s.old", path) < 0)
		return error_errno(err, -ENOMEM, "cannot write '%s'", path);
	(void)unlink(old);
	if (link(path, old) != 0 && rename(path, old) != 0)
		rc = error_errno(err, -errno, "cannot keep the older file as '%s'", old);
	else if (ret_kept)
		*ret_kept = true;
	free(old);
	return rc;
}
