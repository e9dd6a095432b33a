/* What a real libcupti says of itself, held against our tables: oracle LIBRARY RELEASE.  Only functions that need no driver are called. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cbid.h"
#include "cupti.h"
#include "cupti_layout.h"

static CUptiResult (*next_record)(uint8_t *buffer, size_t valid, CUpti_Activity **record);
static CUptiResult (*callback_name)(int domain, uint32_t cbid, const char **name);
static int wrong, release;

static void find(void *library, const char *name, void *place)
{
	void *symbol = dlsym(library, name);

	if (!symbol)
		exit(1);
	memcpy(place, &symbol, sizeof(symbol));
}

/* Newer ones refuse to walk records without a driver that they know. */
static bool answers(void)
{
	_Alignas(8) uint8_t buffer[64] = { KIND_RUNTIME };
	CUpti_Activity *record = NULL;

	return next_record(buffer, sizeof(buffer), &record) == CUPTI_SUCCESS;
}

static void check_stride(int kind)
{
	_Alignas(8) static uint8_t buffer[8192];
	CUpti_Activity *record = NULL;
	size_t ours = layout_size(release, kind), theirs = 0;

	for (size_t i = 0; i < sizeof(buffer); i += 4)
		memcpy(buffer + i, &(uint32_t){ (uint32_t)kind }, 4);
	if (!next_record(buffer, sizeof(buffer), &record) && !next_record(buffer, sizeof(buffer), &record))
		theirs = (size_t)((uint8_t *)record - buffer);
	if (ours && ours != theirs) {
		printf("kind %d is %zu bytes long, not %zu\n", kind, theirs, ours);
		wrong++;
	}
}

/* A function newer than the library has no name there yet. */
static void check_name(int domain, uint32_t cbid, const char *ours)
{
	const char *theirs = NULL;

#define OLD(now, then) if (release < 1300 && strcmp(ours, #now) == 0) ours = #then;
	RUNTIME_OLD_NAMES(OLD)
#undef OLD
	if (callback_name(domain, cbid, &theirs) || !theirs || strcmp(theirs, "INVALID") == 0)
		return;
	if (strcmp(theirs, ours) != 0) {
		printf("callback %d of domain %d is %s, not %s\n", cbid, domain, theirs, ours);
		wrong++;
	}
}

int main(int argc, char **argv)
{
	void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;

	if (!library)
		return 77;
	release = atoi(argv[2]);
	find(library, "cuptiActivityGetNextRecord", &next_record);
	find(library, "cuptiGetCallbackName", &callback_name);
	if (!answers())
		printf("release %d does not walk records here\n", release);
	for (int kind = 1; kind < KIND_COUNT && answers(); kind++)
		check_stride(kind);
#define CBID(name, number) check_name(CUPTI_CB_DOMAIN_DRIVER_API, number, #name);
	DRIVER_CBIDS(CBID)
#undef CBID
#define CBID(name, number) check_name(CUPTI_CB_DOMAIN_RUNTIME_API, number, #name);
	RUNTIME_CBIDS(CBID)
#undef CBID
	return wrong != 0;
}
