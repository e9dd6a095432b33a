/* sbt.h - what the targets that read traces share. */
#ifndef FUZZ_SBT_H
#define FUZZ_SBT_H

#include <stddef.h>
#include <stdint.h>

/* Puts all checksums right that can be found, since otherwise hardly a mutation would get past them. */
void sbt_repair(uint8_t *data, size_t size);

#endif
