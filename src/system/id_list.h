/*
 * id_list.h - lists of processors and of memory nodes as the kernel writes them: "0-3,8,10-11".
 */
#ifndef SYSTEM_ID_LIST_H
#define SYSTEM_ID_LIST_H

#include <stdbool.h>
#include <stdint.h>

#define ID_LIST_MAX 65536u /* more than any kernel has */

/* How many there are; 0 for what is no such list. */
uint32_t id_list_count(const char *text);

/* The one at an index, from 0.  False when there are not so many. */
bool id_list_at(const char *text, uint32_t index, uint32_t *ret);

#endif
