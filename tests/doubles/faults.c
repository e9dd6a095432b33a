#include "faults.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const fault_names[FAULT_COUNT] = {
#define FAULT(name, number) #name,
	FAULTS(FAULT)
#undef FAULT
};

static const long long fault_defaults[FAULT_COUNT] = {
#define FAULT(name, number) number,
	FAULTS(FAULT)
#undef FAULT
};

static long long fault_numbers[FAULT_COUNT];
static atomic_llong fault_turns[FAULT_COUNT];
static pthread_once_t fault_once = PTHREAD_ONCE_INIT;

static void fault_ask(const char *item, size_t length)
{
	size_t name = strcspn(item, "=");

	if (name > length)
		name = length;
	for (int i = 0; i < FAULT_COUNT; i++) {
		if (strlen(fault_names[i]) != name || strncmp(fault_names[i], item, name) != 0)
			continue;
		fault_numbers[i] = name < length ? strtoll(item + name + 1, NULL, 0) : fault_defaults[i];
		return;
	}
	fprintf(stderr, "double: there is no fault %.*s\n", (int)length, item);
	abort();
}

static void fault_read(void)
{
	const char *item = getenv("DOUBLE_FAULT");

	while (item && *item) {
		size_t length = strcspn(item, ",");

		if (length)
			fault_ask(item, length);
		item += length + (item[length] == ',');
	}
}

long long fault_number(enum fault which)
{
	pthread_once(&fault_once, fault_read);
	return fault_numbers[which];
}

bool fault(enum fault which)
{
	return fault_number(which) != 0;
}

bool fault_turn(enum fault which)
{
	long long every = fault_number(which);

	return every > 0 && (atomic_fetch_add(&fault_turns[which], 1) + 1) % every == 0;
}
