/*
 * kinds.c - which kinds of records CUPTI makes.
 *
 * Most cost the program something with each of its calls, and are enabled only
 * while somebody records.  Those of devices, contexts and names of streams come
 * once, and say what is meant by all that follows: they stay as long as the door
 * is open.
 */
#include <stdio.h>

#include "cuda/cuda.h"

static const struct kind {
	uint8_t number;
	bool stays;
	const char *what; /* is missing without it; NULL: nothing that a program does */
} kinds[] = {
	{ KIND_DEVICE, true, NULL },
	{ KIND_CONTEXT, true, NULL },
	{ KIND_NAME, true, NULL },
	{ KIND_KERNEL, false, "kernels" },
	{ KIND_MEMCPY, false, "copies" },
	{ KIND_MEMCPY2, false, "copies between devices" },
	{ KIND_MEMSET, false, "memsets" },
	{ KIND_SYNC, false, "waits" },
	{ KIND_EVENT, false, "events" },
	{ KIND_HOST_LAUNCH, false, "host functions" },
	{ KIND_HOST_NODE, false, "host functions of graphs" },
	{ KIND_OVERHEAD, false, NULL },
	{ KIND_MEMORY, false, "allocations" },
	{ KIND_POOL, false, "memory pools" },
	{ KIND_RUNTIME, false, "calls of the runtime" },
	{ KIND_DRIVER, false, "calls of the driver" },
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static bool stay;         /* those that do are enabled */
static bool asks_devices; /* how they are */

static void refuse(struct cuda_refusal *refusal, const struct kind *k, int result)
{
	size_t used = strlen(refusal->what);

	if (!k->what)
		return;
	refusal->result = result;
	refusal->kernels |= k->number == KIND_KERNEL;
	snprintf(refusal->what + used, sizeof refusal->what - used, "%s%s", used ? ", " : "", k->what);
}

void cuda_kinds_enable(struct cuda_refusal *ret)
{
	*ret = (struct cuda_refusal){ .result = 0 };
	for (size_t i = 0; i < KINDS; i++) {
		bool wanted = cuda_door->sizes[kinds[i].number] && !(stay && kinds[i].stays);
		int rc = wanted ? cuda_enable(kinds[i].number) : 0;

		if (rc)
			refuse(ret, &kinds[i], rc);
	}
	stay = true;
}

static void disable(bool all)
{
	for (size_t i = 0; i < KINDS && cuda_is_subscribed(); i++)
		if (cuda_door->sizes[kinds[i].number] && (all || !kinds[i].stays))
			(void)cuda_disable(kinds[i].number);
	if (asks_devices && cuda_is_subscribed())
		(void)cuda_disable(KIND_ENVIRONMENT);
	asks_devices = false;
}

void cuda_kinds_rest(void)
{
	disable(false);
}

void cuda_kinds_disable(void)
{
	disable(true);
}

void cuda_kinds_ask_devices(bool wanted)
{
	static bool in_vain;

	wanted = wanted && !in_vain;
	if (wanted == asks_devices || !cuda_door->sizes[KIND_ENVIRONMENT])
		return;
	if (wanted)
		in_vain = cuda_enable(KIND_ENVIRONMENT) != 0;
	else
		(void)cuda_disable(KIND_ENVIRONMENT);
	asks_devices = wanted && !in_vain;
}
