#ifndef DOUBLES_LAYOUT_OF_DOUBLES_H
#define DOUBLES_LAYOUT_OF_DOUBLES_H

#include <stddef.h>

int offset_in_doubles(const char *record, const char *field);   /* -1: they do not have it */
size_t size_in_doubles(int release, unsigned kind);

#endif
