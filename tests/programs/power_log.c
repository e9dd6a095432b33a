/*
 * power_log.c - preloaded: writes down what is done to some files, in the order in which it is done.
 *
 * POWER_FILES is how their paths begin, POWER_LOG the file of records.  A record
 * is a line "OPERATION OFFSET SIZE BYTES PATH", a tab and another path
 * where there are two, and after it that many bytes: those that were written.
 * tests/faults/test_power.py makes of it what a disk could have after a power cut.
 *
 * POWER_ERROR is a number that fsync fails with, of these files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define PATH_SIZE 4096

struct operation {
	const char *name, *path, *other;
	long offset, size;
	const void *data; /* of that size, or NULL */
};

static int is_ours(const char *path)
{
	const char *files = getenv("POWER_FILES");

	return files && strncmp(path, files, strlen(files)) == 0;
}

static int is_our_folder(const char *path)
{
	const char *files = getenv("POWER_FILES"), *slash = files ? strrchr(files, '/') : NULL;

	return slash && strlen(path) == (size_t)(slash - files) && strncmp(path, files, strlen(path)) == 0;
}

/* By raw calls, which nobody preloads, and appended at once. */
static void put(const struct operation *o)
{
	size_t bytes = o->data ? (size_t)o->size : 0;
	char line[2 * PATH_SIZE + 128];
	struct iovec parts[2] = { { line, 0 }, { (void *)(size_t)o->data, bytes } };
	int saved = errno, fd;

	parts[0].iov_len = (size_t)snprintf(line, sizeof line, "%s %ld %ld %zu %s\t%s\n", o->name, o->offset, o->size, bytes,
					    o->path, o->other ? o->other : "");
	fd = (int)syscall(SYS_openat, AT_FDCWD, getenv("POWER_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || syscall(SYS_writev, fd, parts, bytes ? 2 : 1) != (long)(parts[0].iov_len + bytes))
		abort(); /* a test with half of a log is none */
	syscall(SYS_close, fd);
	errno = saved;
}

/* Of a descriptor: its path in `o`, and whether it is one of those files. */
static int find(int fd, char *path, struct operation *o)
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_SIZE - 1);
	if (n < 0)
		return 0;
	path[n] = '\0';
	o->path = path;
	return is_ours(path) || is_our_folder(path);
}

static void put_of(int fd, struct operation o)
{
	char path[PATH_SIZE];

	if (find(fd, path, &o))
		put(&o);
}

static long position(int fd)
{
	return (long)lseek(fd, 0, SEEK_CUR);
}

/* ---- Contents ---------------------------------------------------------------- */

EXPORT ssize_t write(int fd, const void *data, size_t size)
{
	ssize_t n = (ssize_t)syscall(SYS_write, fd, data, size);

	if (n > 0)
		put_of(fd, (struct operation){ .name = "write", .offset = position(fd) - n, .size = n, .data = data });
	return n;
}

EXPORT ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
	ssize_t n = (ssize_t)syscall(SYS_pwrite64, fd, data, size, offset);

	if (n > 0)
		put_of(fd, (struct operation){ .name = "write", .offset = (long)offset, .size = n, .data = data });
	return n;
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
	ssize_t n = (ssize_t)syscall(SYS_writev, fd, parts, count), left = n;
	long at = position(fd) - n;

	for (int i = 0; i < count && left > 0; i++) {
		long size = (ssize_t)parts[i].iov_len < left ? (long)parts[i].iov_len : left;

		put_of(fd, (struct operation){ .name = "write", .offset = at, .size = size, .data = parts[i].iov_base });
		at += size;
		left -= size;
	}
	return n;
}

EXPORT int ftruncate(int fd, off_t size)
{
	int rc = (int)syscall(SYS_ftruncate, fd, size);

	if (rc == 0)
		put_of(fd, (struct operation){ .name = "truncate", .size = (long)size });
	return rc;
}

EXPORT int fallocate(int fd, int mode, off_t offset, off_t size)
{
	int rc = (int)syscall(SYS_fallocate, fd, mode, offset, size);

	if (rc == 0 && mode & FALLOC_FL_PUNCH_HOLE)
		put_of(fd, (struct operation){ .name = "punch", .offset = (long)offset, .size = (long)size });
	else if (rc == 0 && !(mode & FALLOC_FL_KEEP_SIZE))
		put_of(fd, (struct operation){ .name = "extend", .offset = (long)offset, .size = (long)size });
	return rc;
}

/* ---- What is on the disk ------------------------------------------------------- */

static int synced(int fd, long number, const char *name)
{
	struct operation o = { .name = name };
	char path[PATH_SIZE];
	int ours = find(fd, path, &o), rc;

	if (ours && getenv("POWER_ERROR")) {
		errno = atoi(getenv("POWER_ERROR"));
		return -1;
	}
	rc = (int)syscall(number, fd);
	if (rc == 0 && ours)
		put(&o);
	return rc;
}

EXPORT int fsync(int fd)
{
	return synced(fd, SYS_fsync, "sync");
}

EXPORT int fdatasync(int fd)
{
	return synced(fd, SYS_fdatasync, "sync");
}

/* ---- Names --------------------------------------------------------------------- */

static void put_names(const char *name, const char *path, const char *other)
{
	if (is_ours(path))
		put(&(struct operation){ .name = name, .path = path, .other = other });
}

EXPORT int rename(const char *from, const char *to)
{
	int rc = (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);

	if (rc == 0)
		put_names("rename", from, to);
	return rc;
}

EXPORT int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
	int rc = (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);

	if (rc == 0)
		put_names("rename", from, to);
	return rc;
}

EXPORT int link(const char *from, const char *to)
{
	int rc = (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);

	if (rc == 0)
		put_names("link", from, to);
	return rc;
}

EXPORT int unlink(const char *path)
{
	int rc = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);

	if (rc == 0)
		put_names("unlink", path, NULL);
	return rc;
}
