/*
 * names.h - a process's names: interned by content, written to the arena in
 * its file before the first event that uses them.
 *
 * Lookups and insertions are lock-free: a fork, a signal or a killed thread in
 * the middle of one leaves nothing locked.  At worst a name gets two ids.
 */
#ifndef RING_NAMES_H
#define RING_NAMES_H

#include "ring/producer.h"

#define NAME_TABLE_SIZE (2 * NAME_LIMIT)

/* Private to the process, inherited by forked children, whose ids go on where the parent's stood. */
struct name_table {
	_Atomic uint32_t next;
	_Atomic uint64_t slots[NAME_TABLE_SIZE]; /* high half of the hash, id; 0: empty */
	const uint8_t *_Atomic text[NAME_LIMIT]; /* by id: length (u16) and bytes, in the arena of whoever interned it */
};

/* Mapped zeroes, or NULL. */
struct name_table *name_table_map(void);

/* The id of a name, cut at NAME_MAX_BYTES; NAME_TOO_MANY when there is no room for another. */
uint32_t name_intern(struct name_table *table, struct ring_process *process, const char *name, size_t size);

/* Writes all names into the arena of another file of this process: ids keep their meaning when a session follows another.
 * The file they are in now must still be mapped. */
void name_table_move(struct name_table *table, struct ring_process *process);

/* The recorder's side.  The bytes of the name with this id in a mapped process file whose own ids begin at first_name,
 * or NULL when there is no such name.  Trusts nothing. */
const uint8_t *name_in_file(void *map, uint32_t first_name, uint32_t id, size_t *ret_size);

#endif
