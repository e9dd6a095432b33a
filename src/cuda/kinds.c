/* kinds.c - which kinds of records CUPTI makes. */
#include <stdio.h>

#include "cuda/cuda.h"

static const struct kind {
	uint8_t number;
	const char *what; /* is missing without it; NULL: nothing that a program does */
} kinds[] = {
	{ KIND_DEVICE, NULL },
	{ KIND_CONTEXT, NULL },
	{ KIND_NAME, NULL },
	{ KIND_KERNEL, "kernels" },
	{ KIND_MEMCPY, "copies" },
	{ KIND_MEMCPY2, "copies between devices" },
	{ KIND_MEMSET, "memsets" },
	{ KIND_SYNC, "waits" },
	{ KIND_EVENT, "events" },
	{ KIND_OVERHEAD, NULL },
	{ KIND_MEMORY, "allocations" },
	{ KIND_POOL, "memory pools" },
	{ KIND_RUNTIME, "calls of the runtime" },
	{ KIND_DRIVER, "calls of the driver" },
};
#define KINDS (sizeof kinds / sizeof kinds[0])

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
		int rc = cuda_door.sizes[kinds[i].number] ? cuda_enable(kinds[i].number) : 0;

		if (rc)
			refuse(ret, &kinds[i], rc);
	}
}

void cuda_kinds_disable(void)
{
	for (size_t i = 0; i < KINDS && cuda_is_subscribed(); i++)
		if (cuda_door.sizes[kinds[i].number])
			(void)cuda_disable(kinds[i].number);
	if (asks_devices && cuda_is_subscribed())
		(void)cuda_disable(KIND_ENVIRONMENT);
	asks_devices = false;
}

void cuda_kinds_ask_devices(bool wanted)
{
	static bool in_vain;

	wanted = wanted && !in_vain;
	if (wanted == asks_devices || !cuda_door.sizes[KIND_ENVIRONMENT])
		return;
	if (wanted)
		in_vain = cuda_enable(KIND_ENVIRONMENT) != 0;
	else
		(void)cuda_disable(KIND_ENVIRONMENT);
	asks_devices = wanted && !in_vain;
}
