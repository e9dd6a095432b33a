/*
 * elf_symbol.h - where an ELF file has a symbol, and which it has where.
 */
#ifndef SYSTEM_ELF_SYMBOL_H
#define SYSTEM_ELF_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_symbol {
	uint64_t value, size;
	uint64_t first_address; /* of the file's first loaded byte, rounded down to a page; subtract it from where that is loaded */
};

/* Looks in the dynamic symbols, then in the others.  0; -ENOENT when the file has no such symbol, -EINVAL when it is no
 * 64-bit ELF file of this machine's byte order or makes no sense. */
int elf_symbol_find(int fd, const char *name, struct elf_symbol *ret);

/* The function that the byte at this offset of the file is of, without underscores at its front; the shortest of several
 * names.  Looks in the same tables; -ENOENT also for tables that are too large to be looked through while somebody waits. */
int elf_symbol_at(int fd, uint64_t offset, char *name, size_t size);

#endif
