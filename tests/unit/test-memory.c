/* test-memory.c - ring/memory.h, and rings where memory, address space or file size is short: never a signal. */
#include "ring/memory.h"

#include "ring-world.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define NOT_HERE 77 /* exit status of a child that could not try */

/* Runs fn in a process of its own, which may be killed by what must not happen. */
static int in_child(int (*fn)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fn());
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
		skip();
	return status;
}

/* A tmpfs of some pages on top of the folder, for this process only. */
static bool mount_small(const char *folder, const char *size)
{
	char options[32];

	snprintf(options, sizeof options, "size=%s", size);
	return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", folder, "tmpfs", 0, options) == 0;
}

static int commit_until_full(void)
{
	char folder[] = "/tmp/test-memory-XXXXXX", path[64];
	uint64_t size = 4 << 20, done = 0;
	int fd, rc = 0;
	char *map;

	if (!mkdtemp(folder))
		return 2;
	if (!mount_small(folder, "1m")) {
		rmdir(folder);
		return NOT_HERE;
	}
	snprintf(path, sizeof path, "%s/file", folder);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
		return 3;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	errno = 4711;
	for (; done < size && rc == 0; done += 65536)
		rc = memory_commit(map, done, 65536, path);
	if (rc != -ENOSPC || errno != 4711 || done != (1 << 20) + 65536)
		return 4;
	memset(map, 1, 1 << 20); /* what was granted is there */
	umount2(folder, MNT_DETACH);
	rmdir(folder);
	return 0;
}

static void memory_that_is_not_there_is_refused(void **state)
{
	(void)state;
	assert_int_equal(in_child(commit_until_full), 0);
}

/* More threads and events than fit: what was not refused is read back. */
static int rings_on_small_tmpfs(void)
{
	static struct pair pairs[64];
	struct world w;
	struct ring_memory *memory;
	struct ring_file file;
	uint64_t refused = 0, read = 0, emitted = 0;

	world_set_up(&w, 64, OVERFLOW_DISCARD);
	if (!mount_small(w.folder, "512k")) {
		world_tear_down(&w);
		return NOT_HERE;
	}
	close(w.folder_fd);
	w.folder_fd = open(w.folder, O_RDONLY | O_DIRECTORY);
	world_process(&w, &memory, &file);
	for (int i = 0; i < 64; i++)
		pair_open(&pairs[i], memory, &file);
	for (int i = 0; i < 64 * 1000; i++)
		pair_emit(&pairs[i % 64], i % 3 ? 0 : (uint32_t)(i / 64) % 33);
	for (int i = 0; i < 64; i++) {
		pair_read(&pairs[i]);
		pair_is_exact(&pairs[i]);
		refused += pairs[i].refused;
		read += pairs[i].read;
		emitted += pairs[i].emitted;
	}
	ring_file_close(&file);
	close(w.folder_fd);
	umount2(w.folder, MNT_DETACH);
	rmdir(w.folder);
	/* half a megabyte is some 31 steps of 512 slots, six of them an event */
	return emitted == 64000 && read > 2000 && read + refused == emitted ? 0 : 5;
}

static void a_full_tmpfs_is_counted(void **state)
{
	(void)state;
	assert_int_equal(in_child(rings_on_small_tmpfs), 0);
}

/* ---- Limits ------------------------------------------------------------------ */

/* Attaches with a limit set; the chunks that the file has, or negative errno. */
static int attach_with_limit(int resource, uint64_t bytes, uint32_t chunks)
{
	struct rlimit limit = { bytes, bytes };
	struct world w;
	struct ring_memory *memory;
	int rc;

	world_set_up(&w, chunks, OVERFLOW_WRAP);
	if (setrlimit(resource, &limit) != 0)
		return -errno;
	rc = world_attach(&w, &memory, 2);
	if (rc == 0)
		rc = (int)memory->process.chunk_limit;
	else if (w.session->refused_processes != 1 || w.session->refused_code != (uint32_t)-rc)
		rc = -1;
	world_tear_down(&w);
	return rc;
}

static int no_file_size(void)
{
	return attach_with_limit(RLIMIT_FSIZE, 1 << 20, 64) == -EFBIG ? 0 : 1;
}

static int little_file_size(void)
{
	return attach_with_limit(RLIMIT_FSIZE, layout_file_size(16), 64) == 16 ? 0 : 1;
}

static void file_size_is_kept_to(void **state)
{
	(void)state;
	assert_int_equal(in_child(no_file_size), 0);
	assert_int_equal(in_child(little_file_size), 0);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

static int little_address_space(void)
{
	int chunks = attach_with_limit(RLIMIT_AS, 256 << 20, 16384);

	return chunks > 0 && chunks < 16384 ? 0 : 1;
}

static void address_space_is_kept_to(void **state)
{
	(void)state;
#ifdef SANITIZED
	skip(); /* sanitizers need terabytes of it themselves */
#endif
	assert_int_equal(in_child(little_address_space), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_that_is_not_there_is_refused),
		cmocka_unit_test(a_full_tmpfs_is_counted),
		cmocka_unit_test(file_size_is_kept_to),
		cmocka_unit_test(address_space_is_kept_to),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
