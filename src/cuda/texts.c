/*
 * texts.c - names that records only point to.
 *
 * The name of a kernel belongs to its module, and may be gone with it when the
 * record comes.  So the kernel of the operating system reads it for us, which
 * fails where we would crash; the same pointer is asked for once a pass.  Where it
 * may not, the name counts as gone: we never read it ourselves.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cuda/cuda.h"

#define CACHE 256u

static struct {
	uint64_t pointer;
	uint32_t id;
} cache[CACHE];

/* Where a filter of system calls forbids the other way.  Opened each time: a file that stays open is in the way of programs that close
 * all that they find. */
static ssize_t read_through_file(uint64_t pointer, char *to, size_t size)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, to, size, (off_t)pointer);

	if (fd >= 0)
		close(fd);
	return n;
}

/* A text may lie at the end of a page with nothing behind it: page by page, and what was read before that counts. */
static ssize_t read_memory(uint64_t pointer, char *to, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), first = page - pointer % page;
	struct iovec local = { to, size }, remote[2];
	ssize_t n;

	first = first < size ? first : size;
	remote[0] = (struct iovec){ (void *)(uintptr_t)pointer, first };
	remote[1] = (struct iovec){ (void *)(uintptr_t)(pointer + first), size - first };
	n = process_vm_readv(cuda_door.pid, &local, 1, remote, size > first ? 2 : 1, 0);
	return n >= 0 || errno == EFAULT ? n : read_through_file(pointer, to, size);
}

/* Memory that has been used for something else since is hardly ever a text. */
static bool is_text(const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			return false;
	return true;
}

bool cuda_text(uint64_t pointer, char *ret, size_t size)
{
	ssize_t n = pointer ? read_memory(pointer, ret, size) : 0;

	if (n <= 0)
		return false;
	if (!memchr(ret, '\0', (size_t)n))
		ret[(size_t)n < size ? (size_t)n : size - 1] = '\0';
	return ret[0] != '\0' && is_text(ret);
}

uint32_t cuda_name(struct runtime_thread *t, uint64_t pointer)
{
	uint32_t at = (uint32_t)(pointer >> 3) * 0x9e3779b1u >> 24;
	char text[NAME_MAX_BYTES + 1];

	if (cache[at].id && cache[at].pointer == pointer)
		return cache[at].id;
	if (!cuda_text(pointer, text, sizeof text))
		strcpy(text, pointer ? "[name gone]" : "[no name]");
	cache[at].pointer = pointer;
	cache[at].id = inferscope_intern(t, text, strlen(text));
	return cache[at].id;
}

void cuda_names_forget(void)
{
	memset(cache, 0, sizeof cache);
}
