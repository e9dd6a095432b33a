/*
 * wide.h - names in wchar_t become UTF-8.
 */
#ifndef RUNTIME_WIDE_H
#define RUNTIME_WIDE_H

#include <stddef.h>
#include <wchar.h>

#include "ring/layout.h"

#define WIDE_MAX (NAME_MAX_BYTES + 4u) /* more than a name's, so that names.c cuts where a character ends */

/* The bytes of as much of it as fits; not NUL-terminated. */
size_t inferscope_wide(const wchar_t *text, char ret[static WIDE_MAX]);

#endif
