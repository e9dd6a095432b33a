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
#include "system/elf_symbol.h"
#include "system/proc.h"

#define TEXT_MAX (16u << 20) /* bytes of a `maps` that are read */
#define MAPS_MAX 65536u
#define PAUSE_MIN_NS 10000000 /* between two looks at the maps of a process that has begun: it loads its libraries then; */
#define PAUSE_MAX_NS 1000000000 /* twice as long each time */

void process_maps_release(struct process_maps *maps)
{
	free(maps->maps);
	buffer_release(&maps->paths);
	*maps = (struct process_maps)PROCESS_MAPS_INIT;
}

/* ---- The text ---------------------------------------------------------------- */

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_pool(const char *name)
{
	return begins_with(name, "libgomp") || begins_with(name, "libiomp") || begins_with(name, "libomp");
}

static bool is_profiler(const char *path, const char *name)
{
	static const char folder[] = "/inferscope/";
	bool ours = name - path >= (ptrdiff_t)strlen(folder) && begins_with(name - strlen(folder), folder);

	return begins_with(name, "libinferscope") || (ours && (begins_with(name, "_tracer.") || begins_with(name, "_engine.")));
}

static bool has_python_s_name(const char *name)
{
	return begins_with(name, "libpython") || begins_with(name, "python");
}

static bool is_python(const char *path, const char *name, const char *exe)
{
	return has_python_s_name(name) || (exe[0] && strcmp(path, exe) == 0);
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

/* The parts of a file follow each other, and have one copy of its path. */
static int keep_path(struct process_maps *maps, const char *path, uint32_t *ret)
{
	const struct process_map *last = maps->count ? &maps->maps[maps->count - 1] : NULL;

	if (last && strcmp(process_maps_path(maps, last), path) == 0) {
		*ret = last->path;
		return 0;
	}
	*ret = (uint32_t)maps->paths.size; /* less than the text */
	return buffer_append(&maps->paths, path, strlen(path) + 1);
}

static void strip_deleted(char *path)
{
	static const char mark[] = " (deleted)";
	size_t size = strlen(path);

	if (size >= strlen(mark) && strcmp(path + size - strlen(mark), mark) == 0)
		path[size - strlen(mark)] = '\0';
}

/* BEGIN-END rwxp OFFSET MAJOR:MINOR INODE PATH */
static int parse_line(struct process_maps *maps, const char *line, const char *exe)
{
	struct process_map map = { 0 };
	unsigned long long begin, end, offset, inode;
	char rights[5], path[4096] = "";
	const char *name;
	int rc;

	if (sscanf(line, "%llx-%llx %4s %llx %*x:%*x %llu %4095[^\n]", &begin, &end, rights, &offset, &inode, path) < 5 ||
	    strlen(rights) != 4 || end <= begin || (inode == 0 && rights[2] != 'x'))
		return 0;
	strip_deleted(path);
	name = last_part(path);
	map = (struct process_map){ .begin = begin, .end = end, .offset = offset, .inode = inode,
				    .code = rights[2] == 'x', .shared = rights[3] == 's' };
	map.pool = map.code && is_pool(name);
	map.profiler = map.code && is_profiler(path, name);
	map.interpreter = map.code && has_python_s_name(name);
	if (offset == 0 && inode && is_python(path, name, exe))
		note_python(maps, &map, path);
	if (!map.code && !map.shared)
		return 0;
	rc = keep_path(maps, path, &map.path);
	return rc ? rc : add_map(maps, &map);
}

int process_maps_parse(struct process_maps *maps, const char *text, const char *exe)
{
	char line[4352];
	int rc = 0;

	maps->count = maps->python_count = 0;
	buffer_clear(&maps->paths);
	while (rc == 0 && proc_line(&text, line, sizeof line))
		rc = parse_line(maps, line, exe);
	return rc;
}

const char *process_maps_path(const struct process_maps *maps, const struct process_map *map)
{
	return (const char *)maps->paths.data + map->path;
}

const char *process_maps_name(const struct process_maps *maps, const struct process_map *map)
{
	return last_part(process_maps_path(maps, map));
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
static int open_same(pid_t pid, const char *seen, uint64_t inode, struct stat *st)
{
	char path[4096 + 32];

	for (int other_root = 0; other_root < 2; other_root++) {
		char root[32] = "";
		int fd;

		if (other_root)
			snprintf(root, sizeof root, "/proc/%d/root", (int)pid);
		snprintf(path, sizeof path, "%s%s", root, seen);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_ino == inode)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -ENOENT;
}

int process_maps_open(const struct process_maps *maps, pid_t pid, const struct process_map *map)
{
	const char *path = process_maps_path(maps, map);
	struct stat st;

	return map->inode && path[0] == '/' ? open_same(pid, path, map->inode, &st) : -ENOENT;
}

static bool locate(struct process_maps *maps, pid_t pid, const struct process_python *p)
{
	struct elf_symbol symbol;
	struct stat st;
	int fd = open_same(pid, p->path, p->inode, &st), rc = -ENOENT;

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

/* The interpreter is the file that has the runtime; where none is found, the names of the files have to do. */
static void mark_interpreter(struct process_maps *maps, const struct process_python *p)
{
	for (size_t i = 0; i < maps->count; i++) {
		struct process_map *map = &maps->maps[i];

		map->interpreter = map->code && map->inode == p->inode && strcmp(process_maps_path(maps, map), p->path) == 0;
	}
}

static void locate_runtime(struct process_maps *maps, pid_t pid)
{
	maps->runtime_begin = maps->runtime_end = 0;
	for (size_t i = 0; i < maps->python_count; i++)
		if (locate(maps, pid, &maps->pythons[i])) {
			mark_interpreter(maps, &maps->pythons[i]);
			return;
		}
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

const struct process_map *process_maps_look_up(struct process_maps *maps, pid_t pid, uint64_t address, int64_t now_ns)
{
	const struct process_map *map = process_maps_find(maps, address);

	if (map || now_ns < maps->next_read_ns)
		return map;
	(void)process_maps_read(maps, pid); /* where it is forbidden, little is known */
	maps->read_ns = now_ns;
	maps->pause_ns = maps->pause_ns == 0 ? PAUSE_MIN_NS : maps->pause_ns < PAUSE_MAX_NS / 2 ? 2 * maps->pause_ns : PAUSE_MAX_NS;
	maps->next_read_ns = now_ns + maps->pause_ns;
	return process_maps_find(maps, address);
}
