/* extension.c - see extension.h. */
#include "opencl/extension.h"

#include <string.h>

struct opencl_platform opencl_platforms[OPENCL_PLATFORMS];
static _Atomic uint32_t *lock; /* of the platforms, which a forked child keeps */

static const struct row {
	const char *name;
	const opencl_function *ours; /* for each platform */
} rows[OPENCL_EXTENSIONS] = {
	[EXTENSION_BATCH_CREATE] = { "clCreateCommandBufferKHR", opencl_batch_create },
	[EXTENSION_BATCH_ENQUEUE] = { "clEnqueueCommandBufferKHR", opencl_batch_enqueue },
};

opencl_function opencl_extension(struct opencl_platform *p, enum opencl_extension which)
{
	opencl_function next = atomic_load_explicit(&p->next[which], memory_order_acquire);

	if (next)
		return next;
	if (p->id && opencl_next.clGetExtensionFunctionAddressForPlatform)
		next = (opencl_function)opencl_next.clGetExtensionFunctionAddressForPlatform(p->id, rows[which].name);
	else if (!p->id && opencl_next.clGetExtensionFunctionAddress)
		next = (opencl_function)opencl_next.clGetExtensionFunctionAddress(rows[which].name);
	atomic_store_explicit(&p->next[which], next, memory_order_release);
	return next;
}

static uint32_t place_of(cl_platform_id id)
{
	uint32_t i = 0;

	opencl_lock(lock);
	while (i < OPENCL_PLATFORMS && opencl_platforms[i].used && opencl_platforms[i].id != id)
		i++;
	if (i < OPENCL_PLATFORMS) {
		opencl_platforms[i].id = id;
		opencl_platforms[i].used = true;
	}
	opencl_unlock(lock);
	return i;
}

/* Ours in the place of the platform's. */
static void *ours(cl_platform_id id, const char *name, void *function)
{
	uint32_t which = 0, i;

	while (function && name && which < OPENCL_EXTENSIONS && strcmp(name, rows[which].name) != 0)
		which++;
	if (!function || !name || which == OPENCL_EXTENSIONS)
		return function;
	i = place_of(id);
	if (i == OPENCL_PLATFORMS)
		return function;
	atomic_store_explicit(&opencl_platforms[i].next[which], (opencl_function)function, memory_order_release);
	return (void *)rows[which].ours[i];
}

static CL_API_ENTRY void *CL_API_CALL look_up(cl_platform_id platform, const char *name)
{
	return ours(platform, name, opencl_next.clGetExtensionFunctionAddressForPlatform(platform, name));
}

/* The older form does not say of which platform. */
static CL_API_ENTRY void *CL_API_CALL look_up_anywhere(const char *name)
{
	return ours(NULL, name, opencl_next.clGetExtensionFunctionAddress(name));
}

void opencl_extension_wrap(struct _cl_icd_dispatch *table)
{
	lock = lock ? lock : opencl_map(sizeof *lock);
	if (!lock || !opencl_batch_map())
		return;
	OPENCL_WRAP(clGetExtensionFunctionAddressForPlatform, look_up);
	OPENCL_WRAP(clGetExtensionFunctionAddress, look_up_anywhere);
}
