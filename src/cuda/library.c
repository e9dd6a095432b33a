/*
 * library.c - finds libcupti: the copy that the program has, or the one that fits its CUDA.
 *
 * Two copies in one process would be two clients, of which CUPTI allows one.
 * And one that is newer than the driver refuses to work.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda/cuda.h"

#define PATH_LIMIT 1024u
#define LIBRARIES 4u /* that are tried */

struct cupti cuda_cupti;

#define NEWEST 16 /* major release that is looked for; a runtime that is newer says so itself */
static const char *const sonames[] = { "libcupti.so.16", "libcupti.so.15",   "libcupti.so.14",   "libcupti.so.13",
					"libcupti.so.12", "libcupti.so.11.8", "libcupti.so.11.7", "libcupti.so" };
#define SONAMES (sizeof sonames / sizeof sonames[0])

/* ---- What the program has loaded ------------------------------------------------ */

struct loaded {
	char cupti[PATH_LIMIT], runtime[PATH_LIMIT], torch[PATH_LIMIT];
};

static void keep_path(char *to, const char *path, const char *name, const char *beginning)
{
	if (!to[0] && strncmp(name, beginning, strlen(beginning)) == 0 && strlen(path) < PATH_LIMIT)
		strcpy(to, path);
}

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct loaded *l = arg;
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

	(void)size;
	if (!slash)
		return 0;
	keep_path(l->cupti, info->dlpi_name, slash + 1, "libcupti.so");
	keep_path(l->runtime, info->dlpi_name, slash + 1, "libcudart.so");
	keep_path(l->torch, info->dlpi_name, slash + 1, "libtorch_cuda.so");
	return 0;
}

/* ---- Candidates ------------------------------------------------------------------- */

/* What is tried, one after another; the library that is wanted is the one after `skip` others. */
struct search {
	void *found[LIBRARIES];
	unsigned count, skip;
	char first[32]; /* the name that fits the program's runtime, or nothing */
};

static bool try_name(struct search *s, const char *name)
{
	void *library = s->count < LIBRARIES ? dlopen(name, RTLD_LAZY | RTLD_LOCAL) : NULL;

	if (!library)
		return false;
	for (unsigned i = 0; i < s->count; i++)
		if (s->found[i] == library)
			return false;
	s->found[s->count++] = library;
	if (s->count <= s->skip)
		return false;
	snprintf(cuda_cupti.path, sizeof cuda_cupti.path, "%s", name);
	return true;
}

static bool has_all_parts(int fd, const ElfW(Ehdr) *header, off_t size)
{
	ElfW(Phdr) part;

	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (pread(fd, &part, sizeof part, (off_t)(header->e_phoff + i * sizeof part)) != (ssize_t)sizeof part)
			return false;
		if (part.p_type == PT_LOAD && (part.p_filesz > (uint64_t)size || part.p_offset > (uint64_t)size - part.p_filesz))
			return false;
	}
	return true;
}

/* A library that was cut short, as by a full disk, kills who loads it, and a pipe makes him wait. */
static bool is_whole(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ElfW(Ehdr) header;
	struct stat st;
	bool whole;

	if (fd < 0)
		return false;
	whole = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
		memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_phentsize == sizeof(ElfW(Phdr)) &&
		has_all_parts(fd, &header, st.st_size);
	close(fd);
	return whole;
}

static bool try_in(struct search *s, const char *folder, const char *name)
{
	char path[2 * PATH_LIMIT];

	if (!name[0] || !folder)
		return name[0] && try_name(s, name);
	if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path || !is_whole(path))
		return false;
	return try_name(s, path);
}

/* All names in a folder, or, where that is NULL, where the loader looks. */
static bool try_folder(struct search *s, const char *folder)
{
	if (try_in(s, folder, s->first))
		return true;
	for (size_t i = 0; i < SONAMES; i++)
		if (strcmp(sonames[i], s->first) != 0 && try_in(s, folder, sonames[i]))
			return true;
	return false;
}

static bool try_below(struct search *s, const char *folder, size_t length, const char *const *inside)
{
	char path[PATH_LIMIT];
	size_t size;

	for (; *inside; inside++) {
		size = (size_t)snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, *inside);
		if (size < sizeof path && try_folder(s, path))
			return true;
	}
	return false;
}

/* Near a library that is loaded: of a toolkit, or of packages of Python. */
static bool try_near(struct search *s, const char *library)
{
	static const char *const near[] = { ".", "../../cuda_cupti/lib", "../extras/CUPTI/lib64",
					    "../../../extras/CUPTI/lib64", /* lib64 is a link to targets/x86_64-linux/lib */
					    "../../nvidia/cuda_cupti/lib", "../../nvidia/cu13/lib", NULL };
	const char *slash = strrchr(library, '/');

	return slash && try_below(s, library, (size_t)(slash - library), near);
}

static bool try_toolkit(struct search *s, const char *folder)
{
	static const char *const inside[] = { "extras/CUPTI/lib64", "lib64", "lib", NULL };

	return folder && folder[0] == '/' && try_below(s, folder, strlen(folder), inside);
}

static bool try_installed(struct search *s)
{
	char folder[64];

	if (try_toolkit(s, secure_getenv("CUDA_HOME")) || try_toolkit(s, secure_getenv("CUDA_PATH")) ||
	    try_toolkit(s, "/usr/local/cuda"))
		return true;
	for (int major = NEWEST; major >= 11; major--)
		for (int minor = 9; minor >= 0; minor--) {
			snprintf(folder, sizeof folder, "/usr/local/cuda-%d.%d", major, minor);
			if (access(folder, F_OK) == 0 && try_toolkit(s, folder))
				return true;
		}
	return false;
}

/* The runtime's number is that of its CUPTI: libcudart.so.12.  That of 11 is one, libcudart.so.11.0, and its CUPTI are many. */
static void name_for(char *ret, size_t size, const char *runtime)
{
	const char *number = strstr(runtime, "libcudart.so.");
	unsigned major;

	ret[0] = '\0';
	if (number && sscanf(number, "libcudart.so.%3u", &major) == 1 && major >= 11)
		snprintf(ret, size, major == 11 ? "libcupti.so.%u.8" : "libcupti.so.%u", major);
}

static bool find(struct search *s)
{
	static bool theirs; /* the program had one: no other will do */
	struct loaded loaded = { .cupti = "" };

	dl_iterate_phdr(look_at, &loaded);
	theirs = s->skip == 0 ? loaded.cupti[0] : theirs;
	if (theirs)
		return s->skip == 0 && try_name(s, loaded.cupti);
	name_for(s->first, sizeof s->first, loaded.runtime);
	return try_folder(s, NULL) || try_near(s, loaded.runtime) || try_near(s, loaded.torch) || try_installed(s);
}

/* ---- Functions -------------------------------------------------------------------- */

static const char *find_functions(void *library)
{
	const char *missing = NULL;
	void *symbol;

#define F(member, name, needed, parameters) \
	symbol = dlsym(library, name); \
	missing = !symbol && (needed) && !missing ? name : missing; \
	memcpy(&cuda_cupti.member, &symbol, sizeof symbol);
	CUPTI_FUNCTIONS(F)
#undef F
	return missing;
}

bool cuda_library_load(unsigned skip, char *why, size_t size)
{
	struct search s = { .skip = skip };
	const char *missing;

	if (!find(&s)) {
		snprintf(why, size, "CUPTI (libcupti.so) was not found");
		return false;
	}
	missing = find_functions(s.found[s.count - 1]);
	if (missing)
		snprintf(why, size, "%s has no %s", cuda_cupti.path, missing);
	return !missing;
}
