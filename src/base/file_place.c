/* file_place.c - see file_place.h. */
#include "base/file_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 100000u  /* names that are looked at before it is given up */
#define SUFFIXES 64    /* characters that are kept free for what is added to a name */
#define LOCK_TRIES 200 /* every 5 ms */

int file_place_look(struct file_place *place, const char *path, struct error *err)
{
	struct stat st;

	*place = (struct file_place){ .taken = false };
	if (strlen(path) >= sizeof place->path - SUFFIXES)
		return error_set(err, -ENAMETOOLONG, "the name of the file is too long: %.60s...", path);
	snprintf(place->path, sizeof place->path, "%s", path);
	(void)clock_gettime(CLOCK_REALTIME, &place->began);
	if (lstat(path, &st) != 0)
		return 0;
	place->taken = true;
	place->device = st.st_dev;
	place->inode = st.st_ino;
	place->changed = st.st_mtim;
	return 0;
}

char *file_place_name(const char *path, unsigned number, char out[PATH_MAX])
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
	int front = dot && dot > name ? (int)(dot - path) : (int)strlen(path);

	if (number < 2)
		snprintf(out, PATH_MAX, "%s", path);
	else
		snprintf(out, PATH_MAX, "%.*s.%u%s", front, path, number, path + front);
	return out;
}

/* ---- Steps that replace nothing --------------------------------------------------- */

/* -EEXIST where there is such a file.  File systems know one of these or the other, and some poor ones none. */
static int give(const char *from, const char *to)
{
	struct stat st;

	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (link(from, to) == 0)
		return unlink(from) == 0 ? 0 : -errno;
	if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS)
		return -errno;
	if (lstat(to, &st) == 0)
		return -EEXIST;
	return rename(from, to) == 0 ? 0 : -errno;
}

/* Under a name of our own it can be seen at leisure whose it is. */
static int take(const char *path, char aside[PATH_MAX])
{
	snprintf(aside, PATH_MAX, "%s.%d.aside.old", path, (int)getpid());
	return rename(path, aside) == 0 ? 0 : -errno;
}

static int64_t nanoseconds(struct timespec ts)
{
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static bool is_safe(const char *path, int64_t now_ns)
{
	struct stat st;

	return lstat(path, &st) == 0 && now_ns - nanoseconds(st.st_mtim) < (int64_t)FILE_PLACE_SAFE_S * 1000000000;
}

/* ---- Older files ------------------------------------------------------------------- */

static int clear_old(const char *path, const char *old, int64_t now_ns);

/* Gives a file that others may still want the first of such names that is free, or that a file has which nobody needs to want. */
static int keep_recent(const char *file, const char *old, int64_t now_ns)
{
	char path[PATH_MAX];
	int rc = -EEXIST;

	for (unsigned number = 2; number < TRIES && rc == -EEXIST; number++) {
		rc = give(file, file_place_name(old, number, path));
		if (rc != -EEXIST || is_safe(path, now_ns))
			continue;
		rc = clear_old(path, old, now_ns);
		rc = rc ? rc : give(file, path);
	}
	return rc;
}

/* Makes such a name free: the file goes, or gets another one. */
static int clear_old(const char *path, const char *old, int64_t now_ns)
{
	char aside[PATH_MAX];
	int rc = take(path, aside);

	if (rc != 0)
		return rc == -ENOENT ? 0 : rc;
	if (is_safe(aside, now_ns))
		return keep_recent(aside, old, now_ns);
	return unlink(aside) == 0 ? 0 : -errno;
}

static int keep_old(const char *file, const char *path, int64_t now_ns)
{
	char old[PATH_MAX];
	int rc = -EEXIST;

	snprintf(old, sizeof old, "%s.old", path);
	for (unsigned i = 0; i < TRIES && rc == -EEXIST; i++) {
		rc = give(file, old);
		if (rc == -EEXIST) {
			rc = clear_old(old, old, now_ns);
			rc = rc ? rc : -EEXIST;
		}
	}
	return rc;
}

/* ---- Giving the name ---------------------------------------------------------------- */

static bool was_there(const struct file_place *place, const struct stat *st)
{
	bool same = place->taken && place->number < 2 && st->st_dev == place->device && st->st_ino == place->inode &&
		    nanoseconds(st->st_mtim) == nanoseconds(place->changed);

	return same || nanoseconds(st->st_mtim) < nanoseconds(place->began);
}

/* Makes the name free if what is there was there before; -EEXIST if it was not. */
static int set_aside(struct file_place *place, const char *path, int64_t now_ns)
{
	char aside[PATH_MAX], other[PATH_MAX];
	struct stat st;
	int rc;

	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!was_there(place, &st))
		return -EEXIST;
	rc = take(path, aside);
	if (rc != 0)
		return rc == -ENOENT ? 0 : rc;
	if (lstat(aside, &st) == 0 && was_there(place, &st)) {
		rc = keep_old(aside, path, now_ns);
		place->kept_old |= rc == 0;
		return rc;
	}
	rc = give(aside, path); /* somebody has put another one there since we looked */
	for (unsigned number = 2; rc == -EEXIST && number < TRIES; number++)
		rc = give(aside, file_place_name(path, number, other));
	return rc ? rc : -EEXIST;
}

static int take_numbered(struct file_place *place, const char *from, int64_t now_ns)
{
	unsigned first = place->number > 1 ? place->number : 1;
	char path[PATH_MAX];
	int rc = -EEXIST;

	for (place->number = first; place->number < first + TRIES; place->number++) {
		file_place_name(place->path, place->number, path);
		do {
			rc = give(from, path);
			if (rc != -EEXIST)
				return rc;
			rc = set_aside(place, path, now_ns);
		} while (rc == 0);
		if (rc != -EEXIST)
			return rc;
	}
	return rc;
}

/* For as long as it is open.  Without it (a file system that has no locks, or somebody who holds one) it is done all the same. */
static int lock_folder(const char *path)
{
	const struct timespec wait = { 0, 5000000 };
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	int fd;

	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; fd >= 0 && i < LOCK_TRIES && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++)
		nanosleep(&wait, NULL);
	return fd;
}

int file_place_take(struct file_place *place, const char *from, struct error *err)
{
	int fd = lock_folder(place->path), rc;
	struct stat st;

	rc = lstat(from, &st) != 0 ? -errno : take_numbered(place, from, nanoseconds(st.st_mtim));
	if (fd >= 0)
		close(fd);
	return rc ? error_errno(err, rc, "cannot rename %s to %s", from, place->path) : 0;
}
