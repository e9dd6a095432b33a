/*
 * demangle.h - names of C++ functions as people write them.
 *
 * By libstdc++, where there is one: kernels of CUDA are C++, and we are not.
 */
#ifndef SYSTEM_DEMANGLE_H
#define SYSTEM_DEMANGLE_H

#include <stddef.h>

#define DEMANGLE_MAX 4096u /* bytes; a name that becomes longer stays as it is */

/* "_Z3addPf" becomes "add(float*)"; its size, without a terminator.  0: it is no such name, or nobody here can read it.  Not for
 * two threads at once. */
size_t demangle(const char *name, size_t size, char *ret, size_t ret_size);

#endif
