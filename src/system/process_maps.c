#include "system/process_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "system/elf_symbol.h"
#include "system/proc.h"

#define TEXT_MAX (16u << 20) /* bytes of a `maps` that are read */
#define MAPS_MAX 65536u

void process_maps_release(struct process_maps *maps)
{
	free(maps->maps);
	*maps = (struct process_maps)PROCESS_MAPS_INIT;
}

/* ---- The text ---------------------------------------------------------------- */

static bool is_pool(const char *name)
{
	static const char *const libraries[] = { "libgomp", "libiomp", "libomp" };

	for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
		if (strncmp(name, libraries[i], strlen(libraries[i])) == 0)
			return true;
	return false;
}

static bool is_python(const char *path, const char *name, const char *exe)
{
	return strncmp(name, "libpython", 9) == 0 || strncmp(name, "python", 6) == 0 || (exe[0] && strcmp(path, exe) == 0);
}

static void note_python(struct process_maps *maps, const struct process_map *map, const char *path)
{
	struct process_python *p = &maps->pythons[maps->python_count];

	if (maps->python_count == PROCESS_PYTHONS || strlen(path) >= sizeof p->path)
		return;
	p->begin = map->begin;
	p->inode = map->inode;
	strcpy(p->path, path);
	maps->python_count++;
}

static int add_map(struct process_maps *maps, const struct process_map *map)
{
	if (maps->count >= MAPS_MAX || (maps->count && maps->maps[maps->count - 1].end > map->begin))
		return 0;
	if (maps->count == maps->capacity && ARRAY_GROW(maps->maps, maps->capacity, 2 * maps->count + 16) != 0)
		return -ENOMEM;
	maps->maps[maps->count++] = *map;
	return 0;
}

/* BEGIN-END rwxp OFFSET MAJOR:MINOR INODE PATH */
static int parse_line(struct process_maps *maps, const char *line, const char *exe)
{
	struct process_map map = { 0 };
	unsigned long long begin, end, offset, inode;
	char rights[5], path[4096] = "";
	const char *name;

	if (sscanf(line, "%llx-%llx %4s %llx %*x:%*x %llu %4095[^\n]", &begin, &end, rights, &offset, &inode, path) < 5 ||
	    strlen(rights) != 4 || end <= begin || inode == 0)
		return 0;
	name = strrchr(path, '/');
	name = name ? name + 1 : path;
	map = (struct process_map){ .begin = begin, .end = end, .offset = offset, .inode = inode,
				    .code = rights[2] == 'x', .shared = rights[3] == 's' };
	map.pool = map.code && is_pool(name);
	if (offset == 0 && is_python(path, name, exe))
		note_python(maps, &map, path);
	return map.code || map.shared ? add_map(maps, &map) : 0;
}

int process_maps_parse(struct process_maps *maps, const char *text, const char *exe)
{
	char line[4352];
	int rc = 0;

	maps->count = maps->python_count = 0;
	while (rc == 0 && proc_line(&text, line, sizeof line))
		rc = parse_line(maps, line, exe);
	return rc;
}

const struct process_map *process_maps_find(const struct process_maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (maps->maps[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < maps->count && maps->maps[low].begin <= address ? &maps->maps[low] : NULL;
}

/* ---- Python's runtime -------------------------------------------------------- */

/* What files say is remembered: the interpreters of a tree are mostly the same.  Used by one thread at a time. */
static struct {
	struct symbol_file {
		uint64_t device, inode, size;
		int64_t changed_ns;
		int rc;
		struct elf_symbol symbol;
	} files[16];
	size_t next;
} known;
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

static struct symbol_file *find_known(const struct symbol_file *file)
{
	for (size_t i = 0; i < sizeof known.files / sizeof known.files[0]; i++) {
		struct symbol_file *k = &known.files[i];

		if (k->inode == file->inode && k->device == file->device && k->size == file->size &&
		    k->changed_ns == file->changed_ns)
			return k;
	}
	return NULL;
}

static int symbol_of(int fd, const struct stat *st, struct elf_symbol *ret)
{
	struct symbol_file file = { .device = st->st_dev, .inode = st->st_ino, .size = (uint64_t)st->st_size,
				    .changed_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec };
	struct symbol_file *k;

	pthread_mutex_lock(&known_lock);
	k = find_known(&file);
	if (!k) {
		k = &known.files[known.next++ % (sizeof known.files / sizeof known.files[0])];
		file.rc = elf_symbol_find(fd, "_PyRuntime", &file.symbol);
		*k = file;
	}
	file = *k;
	pthread_mutex_unlock(&known_lock);
	if (file.rc == 0)
		*ret = file.symbol;
	return file.rc;
}

/* The file as the process sees it, which may have another root than we. */
static int open_same(pid_t pid, const struct process_python *p, struct stat *st)
{
	char path[sizeof p->path + 32];

	for (int other_root = 0; other_root < 2; other_root++) {
		char root[32] = "";
		int fd;

		if (other_root)
			snprintf(root, sizeof root, "/proc/%d/root", (int)pid);
		snprintf(path, sizeof path, "%s%s", root, p->path);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_ino == p->inode)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -ENOENT;
}

static bool locate(struct process_maps *maps, pid_t pid, const struct process_python *p)
{
	struct elf_symbol symbol;
	struct stat st;
	int fd = open_same(pid, p, &st), rc = -ENOENT;

	if (fd >= 0) {
		rc = symbol_of(fd, &st, &symbol);
		close(fd);
	}
	if (rc != 0)
		return false;
	maps->runtime_begin = p->begin - symbol.first_address + symbol.value;
	maps->runtime_end = maps->runtime_begin + symbol.size;
	return maps->runtime_end > maps->runtime_begin;
}

static void locate_runtime(struct process_maps *maps, pid_t pid)
{
	maps->runtime_begin = maps->runtime_end = 0;
	for (size_t i = 0; i < maps->python_count; i++)
		if (locate(maps, pid, &maps->pythons[i]))
			return;
	maps->runtime_begin = maps->runtime_end = 0;
}

/* ---- Reading ----------------------------------------------------------------- */

static int read_all(int fd, struct buffer *text)
{
	char part[16384];
	ssize_t n;
	int rc = 0;

	while (rc == 0 && text->size < TEXT_MAX && (n = read(fd, part, sizeof part)) > 0)
		rc = buffer_append(text, part, (size_t)n);
	return rc == 0 ? buffer_append(text, "", 1) : rc;
}

int process_maps_read(struct process_maps *maps, pid_t pid)
{
	struct buffer text = BUFFER_INIT;
	char link[32], exe[4096] = "";
	int fd = proc_open(pid, 0, "maps"), rc;

	if (fd < 0)
		return fd;
	rc = read_all(fd, &text);
	close(fd);
	if (rc == 0 && text.size <= 1)
		rc = -ESRCH;
	if (rc == 0) {
		ssize_t n;

		snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
		n = readlink(link, exe, sizeof exe - 1);
		exe[n > 0 ? n : 0] = '\0';
		rc = process_maps_parse(maps, (const char *)text.data, exe);
	}
	if (rc == 0)
		locate_runtime(maps, pid);
	buffer_release(&text);
	return rc;
}
