/*
 * importer.h - one file a format, one row each in the table of import.c.
 */
#ifndef IMPORT_IMPORTER_H
#define IMPORT_IMPORTER_H

#include "import/output.h"

struct importer {
	enum import_format format;
	/* Whether a file that begins with these bytes (uncompressed, at most IMPORT_HEAD of them) is of this format. */
	bool (*detect)(const uint8_t *head, size_t size);
	/* Reads all of it that can be read.  Damage goes to the report; an error is for what leaves nothing. */
	int (*read)(const char *path, struct output *o, const struct import_options *options, struct error *err);
};
#define IMPORT_HEAD 65536u

extern const struct importer sbt_importer, nsys_importer, perfetto_importer, events_importer, chrome_importer;

#endif
