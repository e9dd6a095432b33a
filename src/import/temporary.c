/* temporary.c - see temporary.h. */
#include "import/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "import/stream.h"

#define COPY_SIZE (256u << 10)
#define MEMORY_MOST ((uint64_t)1 << 30) /* of a file in memory, of which nobody says how large it may become */

int temporary_open(struct error *err)
{
	const char *folder = getenv("TMPDIR");
	int fd = open(folder && folder[0] ? folder : "/tmp", O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600), rc;

	if (fd < 0)
		fd = memfd_create("inferscope", MFD_CLOEXEC);
	if (fd >= 0)
		return fd;
	rc = error_errno(err, -errno, "cannot make a temporary file");
	if (err)
		err->exit_code = 4;
	return rc;
}

static int write_out(int fd, const void *data, size_t size, struct error *err)
{
	int rc = file_write_all(fd, data, size);

	if (rc == 0)
		return 0;
	error_errno(err, rc, "cannot write a temporary file; the variable TMPDIR says where they go");
	if (err)
		err->exit_code = 4;
	return rc;
}

static int unpack(const char *path, const struct import_options *options, char *damage, struct error *err)
{
	struct stream *s;
	const char *data;
	size_t size = 0;
	bool last = false;
	int rc = stream_open(&s, path, options, err), fd;

	if (rc)
		return rc;
	fd = rc = temporary_open(err);
	while (rc >= 0 && !last) {
		rc = stream_next(s, size, &data, &size, &last, err);
		rc = rc ? rc : write_out(fd, data, size, err);
	}
	if (rc >= 0)
		snprintf(damage, 160, "%s", stream_damage(s) ? stream_damage(s) : "");
	stream_close(s);
	if (rc < 0 && fd >= 0)
		close(fd);
	return rc < 0 ? rc : fd;
}

int temporary_unpacked(const char *path, const struct import_options *options, char *damage, struct error *err)
{
	int packed = stream_packed(path, err), fd;

	damage[0] = 0;
	if (packed)
		return packed < 0 ? packed : unpack(path, options, damage, err);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? error_errno(err, -errno, "cannot open %s", path) : fd;
}

/* How large a temporary file may become. */
static uint64_t room_of(int fd)
{
	struct statvfs fs;

	return fstatvfs(fd, &fs) == 0 && fs.f_blocks > 0 ? (uint64_t)fs.f_bavail * fs.f_frsize / 2 : MEMORY_MOST;
}

static int copy(int from, int to, const char *name, uint64_t most, void *chunk, struct error *err)
{
	uint64_t done = 0;
	char limit[32];
	ssize_t n;
	int rc = 0;

	while (rc == 0 && (n = read(from, chunk, COPY_SIZE)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, -errno, "cannot read %s", name);
		done += (uint64_t)n;
		if (done > most)
			return error_set(err, -EFBIG, "%s has more than the %s that there is room for in a temporary file; set TMPDIR to a "
				         "folder with more, or write it into a file and give that", name, text_byte_size(limit, most));
		rc = write_out(to, chunk, (size_t)n, err);
	}
	return rc;
}

int temporary_copy(int from, const char *name, uint64_t most, struct error *err)
{
	void *chunk = malloc(COPY_SIZE);
	int fd = chunk ? temporary_open(err) : error_set(err, -ENOMEM, "out of memory"), rc;
	uint64_t room = fd < 0 ? 0 : room_of(fd);

	rc = fd < 0 ? fd : copy(from, fd, name, room < most ? room : most, chunk, err);
	free(chunk);
	if (rc == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	if (err)
		err->exit_code = 4;
	return rc;
}
