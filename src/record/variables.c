/* variables.c - see variables.h. */
#include "record/variables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t place_of(const struct variables *variables, const char *text)
{
	size_t i, name = strcspn(text, "=") + 1;

	for (i = 0; i < variables->count; i++)
		if (strncmp(variables->list[i], text, name) == 0)
			break;
	return i;
}

/* Owns text, also when it fails. */
static int put(struct variables *variables, char *text)
{
	char **list = text ? reallocarray(variables->list, variables->count + 2, sizeof *list) : NULL;
	size_t place;

	if (!list) {
		free(text);
		return -ENOMEM;
	}
	variables->list = list;
	place = place_of(variables, text);
	if (place < variables->count) {
		free(list[place]);
	} else {
		variables->count++;
		list[variables->count] = NULL;
	}
	list[place] = text;
	return 0;
}

int variables_set(struct variables *variables, const char *name, const char *value)
{
	char *text;

	return put(variables, asprintf(&text, "%s=%s", name, value) < 0 ? NULL : text);
}

int variables_copy(struct variables *variables, const struct variables *from)
{
	int rc = 0;

	for (size_t i = 0; i < from->count && rc == 0; i++)
		rc = put(variables, strdup(from->list[i]));
	return rc;
}

void variables_release(struct variables *variables)
{
	for (size_t i = 0; i < variables->count; i++)
		free(variables->list[i]);
	free(variables->list);
	*variables = (struct variables){ NULL, 0 };
}
