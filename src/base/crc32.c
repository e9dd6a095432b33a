/*
 * crc32.c - CRC-32 with the reflected polynomial 0xEDB88320.
 *
 * Eight bytes a step, through eight tables ("slicing by 8").  The first caller
 * makes the tables.
 */
#include "base/crc32.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

static uint32_t tables[8][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
		tables[0][i] = crc;
	}
	for (int t = 1; t < 8; t++)
		for (int i = 0; i < 256; i++)
			tables[t][i] = tables[t - 1][i] >> 8 ^ tables[0][tables[t - 1][i] & 255];
}

uint32_t crc32_of(uint32_t crc, const void *data, size_t size)
{
	const uint8_t *p = data;

	pthread_once(&tables_once, make_tables);
	crc = ~crc;
	for (; size >= 8; size -= 8, p += 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		word = le64toh(word) ^ crc;
		crc = tables[7][word & 255] ^ tables[6][word >> 8 & 255] ^ tables[5][word >> 16 & 255] ^
		      tables[4][word >> 24 & 255] ^ tables[3][word >> 32 & 255] ^ tables[2][word >> 40 & 255] ^
		      tables[1][word >> 48 & 255] ^ tables[0][word >> 56];
	}
	while (size--)
		crc = crc >> 8 ^ tables[0][(crc ^ *p++) & 255];
	return ~crc;
}
