/* temporary.c - see temporary.h. */
#include "import/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "import/stream.h"

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
