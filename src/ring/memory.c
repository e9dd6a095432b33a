#include "ring/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* For kernels without MADV_POPULATE_WRITE.  By path, since a descriptor kept open could be closed, and its number
 * reused, by the program we live in. */
static int commit_by_file(uint64_t offset, size_t size, const char *path)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
	long rc;

	if (fd < 0)
		return -ENOSPC;
	rc = syscall(SYS_fallocate, fd, 0, offset, (uint64_t)size);
	syscall(SYS_close, fd);
	return rc == 0 ? 0 : -ENOSPC;
}

int memory_commit(void *map, uint64_t offset, size_t size, const char *path)
{
	uint64_t page = getauxval(AT_PAGESZ), from = offset & ~(page - 1), to = (offset + size + page - 1) & ~(page - 1);
	int saved = errno, rc = 0;

	if (madvise((char *)map + from, to - from, MADV_POPULATE_WRITE) != 0)
		rc = errno == EINVAL ? commit_by_file(from, to - from, path) : -ENOSPC;
	errno = saved;
	return rc;
}
