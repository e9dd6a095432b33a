/* extension.c - see extension.h. */
#include "opencl/extension.h"

#include <string.h>

struct opencl_platform opencl_platforms[OPENCL_PLATFORMS];
static _Atomic uint32_t *lock; /* of the platforms, which a forked child keeps */

static const struct row {
	const char *name;
	const opencl_function *ours; /* for each platform; NULL: we only call it */
} rows[OPENCL_EXTENSIONS] = {
	[EXTENSION_BATCH_CREATE] = { "clCreateCommandBufferKHR", opencl_batch_create },
	[EXTENSION_BATCH_ENQUEUE] = { "clEnqueueCommandBufferKHR", opencl_batch_enqueue },
	[EXTENSION_QUEUE_CREATE] = { "clCreateCommandQueueWithPropertiesKHR", opencl_queue_create },
	[EXTENSION_USM_HOST] = { "clHostMemAllocINTEL", opencl_usm_host },
	[EXTENSION_USM_DEVICE] = { "clDeviceMemAllocINTEL", opencl_usm_device },
	[EXTENSION_USM_SHARED] = { "clSharedMemAllocINTEL", opencl_usm_shared },
	[EXTENSION_USM_FREE] = { "clMemFreeINTEL", opencl_usm_free },
	[EXTENSION_USM_FREE_BLOCKING] = { "clMemBlockingFreeINTEL", opencl_usm_free_blocking },
	[EXTENSION_USM_INFO] = { "clGetMemAllocInfoINTEL", NULL },
	[EXTENSION_USM_COPY] = { "clEnqueueMemcpyINTEL", opencl_usm_copy },
	[EXTENSION_USM_FILL] = { "clEnqueueMemFillINTEL", opencl_usm_fill },
	[EXTENSION_USM_SET] = { "clEnqueueMemsetINTEL", opencl_usm_set },
	[EXTENSION_USM_MIGRATE] = { "clEnqueueMigrateMemINTEL", opencl_usm_migrate },
	[EXTENSION_GL_ACQUIRE] = { "clEnqueueAcquireGLObjects", opencl_gl_acquire },
	[EXTENSION_GL_RELEASE] = { "clEnqueueReleaseGLObjects", opencl_gl_release },
	[EXTENSION_EGL_ACQUIRE] = { "clEnqueueAcquireEGLObjectsKHR", opencl_egl_acquire },
	[EXTENSION_EGL_RELEASE] = { "clEnqueueReleaseEGLObjectsKHR", opencl_egl_release },
	[EXTENSION_EXTERNAL_ACQUIRE] = { "clEnqueueAcquireExternalMemObjectsKHR", opencl_external_acquire },
	[EXTENSION_EXTERNAL_RELEASE] = { "clEnqueueReleaseExternalMemObjectsKHR", opencl_external_release },
	[EXTENSION_VA_ACQUIRE] = { "clEnqueueAcquireVA_APIMediaSurfacesINTEL", opencl_va_acquire },
	[EXTENSION_VA_RELEASE] = { "clEnqueueReleaseVA_APIMediaSurfacesINTEL", opencl_va_release },
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
	if (!function || !name || which == OPENCL_EXTENSIONS || !rows[which].ours)
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
