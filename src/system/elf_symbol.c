#include "system/elf_symbol.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTIONS_MAX 4096u
#define SEGMENTS_MAX 256u
#define TABLE_MAX (64u << 20) /* bytes of a table that is looked through */
#define SMALL_MAX (4u << 20)  /* the same while the looks at threads wait */
#define PAGE 4096u

struct elf_file {
	int fd;
	Elf64_Ehdr head;
	Elf64_Shdr *sections;
};

static int read_at(int fd, void *data, size_t size, uint64_t offset)
{
	for (size_t done = 0; done < size;) {
		ssize_t n;

		if (offset > INT64_MAX - size)
			return -EINVAL;
		n = pread(fd, (char *)data + done, size - done, (off_t)(offset + done));
		if (n <= 0)
			return -EINVAL;
		done += (size_t)n;
	}
	return 0;
}

/* A part of the file in memory, with a NUL after it; NULL when there is no such part. */
static void *load(int fd, uint64_t offset, uint64_t size)
{
	char *data = size && size <= TABLE_MAX ? malloc(size + 1) : NULL;

	if (data && read_at(fd, data, size, offset) != 0) {
		free(data);
		return NULL;
	}
	if (data)
		data[size] = '\0';
	return data;
}

static int read_head(struct elf_file *f)
{
	const unsigned char order = __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
	const Elf64_Ehdr *h = &f->head;

	if (read_at(f->fd, &f->head, sizeof f->head, 0) != 0 || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
	    h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != order)
		return -EINVAL;
	return h->e_shentsize == sizeof(Elf64_Shdr) && h->e_phentsize == sizeof(Elf64_Phdr) && h->e_shnum <= SECTIONS_MAX &&
			       h->e_phnum <= SEGMENTS_MAX ? 0 : -EINVAL;
}

static int read_first_address(const struct elf_file *f, uint64_t *ret)
{
	Elf64_Phdr *segments = load(f->fd, f->head.e_phoff, (uint64_t)f->head.e_phnum * sizeof *segments);
	int rc = -EINVAL;

	for (unsigned i = 0; segments && rc != 0 && i < f->head.e_phnum; i++)
		if (segments[i].p_type == PT_LOAD) {
			*ret = segments[i].p_vaddr & ~(uint64_t)(PAGE - 1);
			rc = 0;
		}
	free(segments);
	return rc;
}

/* ---- Tables of symbols ------------------------------------------------------- */

struct table {
	const Elf64_Sym *symbols;
	size_t count;
	const char *strings; /* with a NUL after them */
	size_t size;
};

/* 0: found; -ENOENT: not in this one. */
typedef int (*table_look)(const struct table *table, void *wanted);

static int look_in(const struct elf_file *f, const Elf64_Shdr *s, const Elf64_Shdr *names, table_look look, void *wanted)
{
	Elf64_Sym *symbols = load(f->fd, s->sh_offset, s->sh_size);
	char *strings = symbols ? load(f->fd, names->sh_offset, names->sh_size) : NULL;
	const struct table table = { symbols, s->sh_size / sizeof *symbols, strings, names->sh_size };
	int rc = strings ? look(&table, wanted) : -ENOENT;

	free(strings);
	free(symbols);
	return rc;
}

/* Looks in the tables of one type that are not larger than max. */
static int look_in_type(const struct elf_file *f, uint32_t type, uint64_t max, table_look look, void *wanted)
{
	int rc = -ENOENT;

	for (unsigned i = 0; rc != 0 && i < f->head.e_shnum; i++) {
		const Elf64_Shdr *s = &f->sections[i], *names = s->sh_link < f->head.e_shnum ? &f->sections[s->sh_link] : NULL;

		if (s->sh_type == type && names && s->sh_entsize == sizeof(Elf64_Sym) && s->sh_size <= max &&
		    names->sh_size <= max)
			rc = look_in(f, s, names, look, wanted);
	}
	return rc;
}

static int look_in_all(struct elf_file *f, uint64_t max, table_look look, void *wanted)
{
	int rc;

	f->sections = load(f->fd, f->head.e_shoff, (uint64_t)f->head.e_shnum * sizeof *f->sections);
	if (!f->sections)
		return -EINVAL;
	rc = look_in_type(f, SHT_DYNSYM, max, look, wanted);
	if (rc != 0)
		rc = look_in_type(f, SHT_SYMTAB, max, look, wanted);
	free(f->sections);
	f->sections = NULL;
	return rc;
}

/* ---- By name ----------------------------------------------------------------- */

struct named {
	const char *name;
	struct elf_symbol symbol;
};

static int look_for_name(const struct table *t, void *wanted)
{
	struct named *n = wanted;

	for (size_t i = 0; i < t->count; i++) {
		const Elf64_Sym *s = &t->symbols[i];

		if (s->st_shndx == SHN_UNDEF || s->st_name >= t->size || s->st_size == 0 ||
		    strcmp(t->strings + s->st_name, n->name) != 0)
			continue;
		n->symbol.value = s->st_value;
		n->symbol.size = s->st_size;
		return 0;
	}
	return -ENOENT;
}

int elf_symbol_find(int fd, const char *name, struct elf_symbol *ret)
{
	struct elf_file f = { .fd = fd };
	struct named named = { .name = name };
	int rc = read_head(&f);

	if (rc == 0)
		rc = read_first_address(&f, &named.symbol.first_address);
	if (rc == 0)
		rc = look_in_all(&f, TABLE_MAX, look_for_name, &named);
	if (rc == 0)
		*ret = named.symbol;
	return rc;
}

/* ---- By address -------------------------------------------------------------- */

struct placed {
	uint64_t address;
	char *name;
	size_t size;
};

static bool is_around(const Elf64_Sym *s, uint64_t address)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && s->st_shndx != SHN_UNDEF && s->st_value <= address &&
	       address - s->st_value < s->st_size;
}

static bool is_better(const char *name, const char *than)
{
	size_t a = strlen(name), b = than ? strlen(than) : SIZE_MAX;

	return a > 0 && (a < b || (a == b && strcmp(name, than) < 0));
}

static int look_for_place(const struct table *t, void *wanted)
{
	struct placed *p = wanted;
	const char *best = NULL;

	for (size_t i = 0; i < t->count; i++) {
		const char *name;

		if (!is_around(&t->symbols[i], p->address) || t->symbols[i].st_name >= t->size)
			continue;
		name = t->strings + t->symbols[i].st_name;
		name += strspn(name, "_");
		if (is_better(name, best))
			best = name;
	}
	if (!best)
		return -ENOENT;
	snprintf(p->name, p->size, "%s", best);
	return 0;
}

/* Where the byte at this offset of the file is loaded, as the file sees it. */
static int address_of(const struct elf_file *f, uint64_t offset, uint64_t *ret)
{
	Elf64_Phdr *segments = load(f->fd, f->head.e_phoff, (uint64_t)f->head.e_phnum * sizeof *segments);
	int rc = segments ? -ENOENT : -EINVAL;

	for (unsigned i = 0; segments && rc != 0 && i < f->head.e_phnum; i++)
		if (segments[i].p_type == PT_LOAD && offset >= segments[i].p_offset &&
		    offset - segments[i].p_offset < segments[i].p_filesz) {
			*ret = offset - segments[i].p_offset + segments[i].p_vaddr;
			rc = 0;
		}
	free(segments);
	return rc;
}

int elf_symbol_at(int fd, uint64_t offset, char *name, size_t size)
{
	struct elf_file f = { .fd = fd };
	struct placed placed = { .name = name, .size = size };
	int rc = read_head(&f);

	if (rc == 0)
		rc = address_of(&f, offset, &placed.address);
	return rc == 0 ? look_in_all(&f, SMALL_MAX, look_for_place, &placed) : rc;
}
