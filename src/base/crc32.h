/*
 * crc32.h - the CRC-32 of zlib, gzip and PNG.
 */
#ifndef BASE_CRC32_H
#define BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Start with crc 0; feed the result back in to go on with more bytes. */
uint32_t crc32_of(uint32_t crc, const void *data, size_t size);

#endif
