/*
 * texts.c - names that records only point to.
 *
 * The name of a kernel belongs to its module, and may be gone with it when the
 * record comes.  So the kernel of the operating system reads it for us, which
 * fails where we would crash; the same pointer is asked for once a pass.  Where it
 * may not, the name counts as gone: we never read it ourselves.  The heir of a
 * killed program has only the names that had been read before.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cuda/cuda.h"

#define CACHE 256u /* 1 << 8 */
#define KNOWN 4096u /* 1 << 12 */

struct known {
	uint64_t pointer;
	uint32_t id;
	uint32_t unloads; /* when it was read */
};
static struct known cache[CACHE];
static uint32_t unloads; /* of modules: another one's names may be at the same places */
static struct known *last; /* what pointers meant last, whether or not they still do; those that share a place drive each other out */

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
	n = process_vm_readv(cuda_door->pid, &local, 1, remote, size > first ? 2 : 1, 0);
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

bool cuda_texts_map(void)
{
	last = cuda_memory_take(KNOWN * sizeof *last);
	return last != NULL;
}

bool cuda_text(uint64_t pointer, char *ret, size_t size)
{
	ssize_t n = pointer && !cuda_door->inherited ? read_memory(pointer, ret, size) : 0;

	if (n <= 0)
		return false;
	if (!memchr(ret, '\0', (size_t)n))
		ret[(size_t)n < size ? (size_t)n : size - 1] = '\0';
	return ret[0] != '\0' && is_text(ret);
}

static uint32_t place_of(uint64_t pointer, unsigned bits)
{
	return (uint32_t)(pointer >> 3) * 0x9e3779b1u >> (32 - bits);
}

static uint32_t read_name(struct runtime_thread *t, uint64_t pointer)
{
	struct known *known = &last[place_of(pointer, 12)];
	char text[NAME_MAX_BYTES + 1];

	if (cuda_door->inherited && known->id && known->pointer == pointer)
		return known->id;
	if (!cuda_text(pointer, text, sizeof text)) {
		strcpy(text, pointer ? "[name gone]" : "[no name]");
		return inferscope_intern(t, text, strlen(text));
	}
	known->id = 0;
	known->pointer = pointer;
	known->unloads = unloads;
	known->id = inferscope_intern(t, text, strlen(text));
	return known->id;
}

uint32_t cuda_name(struct runtime_thread *t, uint64_t pointer)
{
	struct known *known = &cache[place_of(pointer, 8)];

	if (!known->id || known->pointer != pointer)
		*known = (struct known){ .pointer = pointer, .id = read_name(t, pointer) };
	return known->id;
}

void cuda_name_learn(struct runtime_thread *t, uint64_t pointer)
{
	const struct known *known = &last[place_of(pointer, 12)];

	if (!known->id || known->pointer != pointer || known->unloads != unloads)
		(void)cuda_name(t, pointer);
}

void cuda_names_unloaded(void)
{
	unloads++;
}

void cuda_names_forget(void)
{
	memset(cache, 0, sizeof cache);
}
