/* demangle.c - see demangle.h. */
#include "system/demangle.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_SIZE 1024u

typedef char *demangler(const char *name, char *buffer, size_t *length, int *status);

static demangler *find(void)
{
	static demangler *function;
	static bool looked;
	void *library, *symbol;

	if (looked)
		return function;
	looked = true;
	library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
	symbol = library ? dlsym(library, "__cxa_demangle") : NULL;
	memcpy(&function, &symbol, sizeof symbol);
	return function;
}

size_t demangle(const char *name, size_t size, char *ret, size_t ret_size)
{
	char copy[NAME_MAX_SIZE], *text;
	int status = -1;
	size_t length;

	if (size < 3 || size >= sizeof copy || name[0] != '_' || name[1] != 'Z' || memchr(name, '\0', size) || !find())
		return 0;
	memcpy(copy, name, size);
	copy[size] = '\0';
	text = find()(copy, NULL, NULL, &status);
	length = text && status == 0 ? strlen(text) : 0;
	length = length < ret_size ? length : 0;
	memcpy(ret, text ? text : "", length);
	free(text);
	return length;
}
