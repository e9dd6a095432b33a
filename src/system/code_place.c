#include "system/code_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "system/elf_symbol.h"

#define ENTRIES 256u /* by address; a power of two */

/* The instruction of a system call, which the address that it returns to follows. */
#if defined(__x86_64__)
static const unsigned char call_bytes[] = { 0x0f, 0x05 };
#elif defined(__aarch64__)
static const unsigned char call_bytes[] = { 0x01, 0x00, 0x00, 0xd4 };
#else
static const unsigned char call_bytes[] = { 0 };
#endif

struct code_entries {
	struct code_entry {
		uint64_t pc;
		struct code_place place;
	} places[ENTRIES];
};

const char *code_sort_name(enum code_sort sort)
{
	static const char *const names[CODE_SORT_COUNT] = { "interpreter", "profiler", "native", "fault", "syscall" };

	return (unsigned)sort < CODE_SORT_COUNT ? names[sort] : "native";
}

void code_process_forget(struct code_process *p)
{
	free(p->entries);
	p->entries = NULL;
}

/* ---- Objects ----------------------------------------------------------------- */

/* The Python package that a file is installed with: the folder below the innermost one for packages.  What a wheel brings
 * along for its package is in "PACKAGE.libs".  Returns its size, 0: none. */
static size_t package_of(const char *path, const char **ret)
{
	static const char *const folders[] = { "/site-packages/", "/dist-packages/" };
	const char *package = NULL, *end;
	size_t size;

	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
		for (const char *at = path; (at = strstr(at, folders[i])); package = at > package ? at : package)
			at += strlen(folders[i]);
	end = package ? strchr(package, '/') : NULL;
	if (!end)
		return 0;
	size = (size_t)(end - package);
	*ret = package;
	return size > 5 && memcmp(end - 5, ".libs", 5) == 0 ? size - 5 : size;
}

/* What the code is of: a file, with its package where it is of one; or none. */
static void name_object(const struct process_maps *maps, const struct process_map *map, char *out, size_t size)
{
	const char *name = map ? process_maps_name(maps, map) : "?", *package = "";
	size_t length = map ? package_of(process_maps_path(maps, map), &package) : 0;

	if (strcmp(name, "[vdso]") == 0 || strcmp(name, "[vsyscall]") == 0)
		snprintf(out, size, "vdso");
	else if (map && map->inode == 0)
		snprintf(out, size, "jit");
	else
		snprintf(out, size, "%.*s%s%s", (int)(length < size / 2 ? length : 0), package, length && length < size / 2 ? "/" : "", name);
}

static void set_object(struct code_place *place, enum code_sort sort, const struct process_maps *maps, const struct process_map *map)
{
	place->sort = sort;
	name_object(maps, map, place->what, sizeof place->what);
}

static void find_user(const struct process_maps *maps, const struct process_map *map, struct code_place *ret)
{
	if (map && (map->interpreter || map->profiler))
		*ret = (struct code_place){ .sort = map->interpreter ? CODE_INTERPRETER : CODE_PROFILER };
	else
		set_object(ret, CODE_NATIVE, maps, map);
}

/* ---- In the kernel ----------------------------------------------------------- */

/* Code is the same in the file, where it has one: of a process that is gone, or that we may not look into. */
static bool read_code(const struct code_process *p, const struct process_map *map, uint64_t address, void *data, size_t size)
{
	struct iovec here = { data, size }, there = { (void *)(uintptr_t)address, size };
	ssize_t n = process_vm_readv(p->pid, &here, 1, &there, 1, 0);
	int fd;

	if (n == (ssize_t)size)
		return true;
	fd = address >= map->begin ? process_maps_open(p->maps, p->pid, map) : -1;
	if (fd < 0)
		return false;
	n = pread(fd, data, size, (off_t)(address - map->begin + map->offset));
	close(fd);
	return n == (ssize_t)size;
}

static bool is_system_call(const struct code_process *p, const struct process_map *map, uint64_t pc)
{
	unsigned char bytes[sizeof call_bytes];

	return pc >= sizeof bytes && read_code(p, map, pc - sizeof bytes, bytes, sizeof bytes) &&
	       memcmp(bytes, call_bytes, sizeof bytes) == 0;
}

/* The function that has the system call: those of libc are named after theirs. */
static void name_system_call(const struct code_process *p, const struct process_map *map, uint64_t pc, struct code_place *ret)
{
	int fd = process_maps_open(p->maps, p->pid, map);

	ret->sort = CODE_SYSCALL;
	if (fd < 0 || elf_symbol_at(fd, pc - 1 - map->begin + map->offset, ret->what, sizeof ret->what) != 0) {
		name_object(p->maps, map, ret->what, sizeof ret->what - 2);
		strcat(ret->what, "+?");
	}
	if (fd >= 0)
		close(fd);
}

static void find_kernel(const struct code_process *p, const struct process_map *map, uint64_t pc, struct code_place *ret)
{
	if (map && is_system_call(p, map, pc))
		name_system_call(p, map, pc, ret);
	else
		set_object(ret, CODE_FAULT, p->maps, map);
}

/* Where the place of this address is remembered; NULL when there is no memory for that. */
static struct code_entry *entry_of(struct code_process *p, uint64_t pc)
{
	if (!p->entries)
		p->entries = calloc(1, sizeof *p->entries);
	return p->entries ? &p->entries->places[(pc * 0x9e3779b97f4a7c15u) >> 56] : NULL;
}

bool code_place_find(struct code_process *p, uint64_t pc, bool kernel, int64_t now_ns, struct code_place *ret)
{
	const struct process_map *map;
	struct code_entry *entry = kernel ? entry_of(p, pc) : NULL;

	if (entry && entry->pc == pc && pc) {
		*ret = entry->place;
		return true;
	}
	map = pc ? process_maps_look_up(p->maps, p->pid, pc, now_ns) : NULL;
	if (kernel)
		find_kernel(p, map, pc, ret);
	else
		find_user(p->maps, map, ret);
	if (map && entry)
		*entry = (struct code_entry){ pc, *ret };
	return map || !pc;
}
