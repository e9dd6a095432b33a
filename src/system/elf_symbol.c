#include "system/elf_symbol.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTIONS_MAX 4096u
#define SEGMENTS_MAX 256u
#define TABLE_MAX (64u << 20) /* bytes of a table that is looked through */
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

static int find_in(const Elf64_Sym *symbols, size_t count, const char *strings, size_t size, const char *name,
		   struct elf_symbol *ret)
{
	for (size_t i = 0; i < count; i++) {
		if (symbols[i].st_shndx == SHN_UNDEF || symbols[i].st_name >= size || symbols[i].st_size == 0 ||
		    strcmp(strings + symbols[i].st_name, name) != 0)
			continue;
		ret->value = symbols[i].st_value;
		ret->size = symbols[i].st_size;
		return 0;
	}
	return -ENOENT;
}

/* Looks in the tables of symbols of one type. */
static int find_type(const struct elf_file *f, uint32_t type, const char *name, struct elf_symbol *ret)
{
	int rc = -ENOENT;

	for (unsigned i = 0; rc != 0 && i < f->head.e_shnum; i++) {
		const Elf64_Shdr *s = &f->sections[i], *names = s->sh_link < f->head.e_shnum ? &f->sections[s->sh_link] : NULL;
		Elf64_Sym *symbols;
		char *strings;

		if (s->sh_type != type || !names || s->sh_entsize != sizeof *symbols)
			continue;
		symbols = load(f->fd, s->sh_offset, s->sh_size);
		strings = symbols ? load(f->fd, names->sh_offset, names->sh_size) : NULL;
		if (strings)
			rc = find_in(symbols, s->sh_size / sizeof *symbols, strings, names->sh_size, name, ret);
		free(strings);
		free(symbols);
	}
	return rc;
}

int elf_symbol_find(int fd, const char *name, struct elf_symbol *ret)
{
	struct elf_file f = { .fd = fd };
	struct elf_symbol symbol;
	int rc = read_head(&f);

	if (rc == 0)
		rc = read_first_address(&f, &symbol.first_address);
	if (rc != 0)
		return rc;
	f.sections = load(fd, f.head.e_shoff, (uint64_t)f.head.e_shnum * sizeof *f.sections);
	if (!f.sections)
		return -EINVAL;
	rc = find_type(&f, SHT_DYNSYM, name, &symbol);
	if (rc != 0)
		rc = find_type(&f, SHT_SYMTAB, name, &symbol);
	free(f.sections);
	if (rc == 0)
		*ret = symbol;
	return rc;
}
