/* deaths.c - see deaths.h. */
#include "record/deaths.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"

void deaths_add(struct deaths *d, pid_t pid, int signal, const char *name)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->list[i].pid == pid)
			return;
	if (d->count == DEATHS_MOST || ARRAY_GROW(d->list, d->capacity, d->count + 1) != 0)
		return;
	d->list[d->count] = (struct death){ .pid = pid, .signal = signal };
	snprintf(d->list[d->count].name, sizeof d->list[0].name, "%s", name);
	d->count++;
}

void deaths_release(struct deaths *d)
{
	free(d->list);
	*d = (struct deaths){ NULL, 0, 0 };
}
