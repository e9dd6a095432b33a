/*
 * extension.h - functions of extensions, which are not in the table but asked for by name.
 *
 * Each platform has its own.  So there are as many of ours, each of which knows
 * its platform: OPENCL_OURS() makes them of one that is told, and extension.c
 * has their names.
 */
#ifndef OPENCL_EXTENSION_H
#define OPENCL_EXTENSION_H

#include "opencl/opencl.h"

enum opencl_extension {
	EXTENSION_BATCH_CREATE, EXTENSION_BATCH_ENQUEUE, EXTENSION_QUEUE_CREATE,
	EXTENSION_USM_HOST, EXTENSION_USM_DEVICE, EXTENSION_USM_SHARED, EXTENSION_USM_FREE, EXTENSION_USM_FREE_BLOCKING,
	EXTENSION_USM_INFO, EXTENSION_USM_COPY, EXTENSION_USM_FILL, EXTENSION_USM_SET, EXTENSION_USM_MIGRATE,
	EXTENSION_GL_ACQUIRE, EXTENSION_GL_RELEASE, EXTENSION_EGL_ACQUIRE, EXTENSION_EGL_RELEASE,
	EXTENSION_EXTERNAL_ACQUIRE, EXTENSION_EXTERNAL_RELEASE, EXTENSION_VA_ACQUIRE, EXTENSION_VA_RELEASE,
	OPENCL_EXTENSIONS
};

#define OPENCL_PLATFORMS 4u /* those beyond are passed on as they are */
typedef void (*opencl_function)(void); /* of whatever type */
struct opencl_platform {
	cl_platform_id id; /* NULL: whichever has it */
	bool used;
	_Atomic(opencl_function) next[OPENCL_EXTENSIONS];
};
extern struct opencl_platform opencl_platforms[OPENCL_PLATFORMS];

/* The platform's own; NULL: it has none. */
opencl_function opencl_extension(struct opencl_platform *platform, enum opencl_extension which);

#define OPENCL_OURS_OF(n, type, function, parameters, ...)                \
	static CL_API_ENTRY type CL_API_CALL function##_##n parameters    \
	{                                                                 \
		return function(&opencl_platforms[n], __VA_ARGS__);       \
	}
/* `array` becomes those of ours that call `function` with their platform before what they are called with. */
#define OPENCL_OURS(array, type, function, parameters, ...)                                                             \
	OPENCL_OURS_OF(0, type, function, parameters, __VA_ARGS__)                                                      \
	OPENCL_OURS_OF(1, type, function, parameters, __VA_ARGS__)                                                      \
	OPENCL_OURS_OF(2, type, function, parameters, __VA_ARGS__)                                                      \
	OPENCL_OURS_OF(3, type, function, parameters, __VA_ARGS__)                                                      \
	const opencl_function array[OPENCL_PLATFORMS] = { (opencl_function)function##_0, (opencl_function)function##_1, \
							  (opencl_function)function##_2, (opencl_function)function##_3 };

extern const opencl_function opencl_batch_create[], opencl_batch_enqueue[];                             /* batch.c */
extern const opencl_function opencl_queue_create[];                                                     /* queue.c */
extern const opencl_function opencl_usm_host[], opencl_usm_device[], opencl_usm_shared[];               /* memory.c */
extern const opencl_function opencl_usm_free[], opencl_usm_free_blocking[];
extern const opencl_function opencl_usm_copy[], opencl_usm_fill[], opencl_usm_set[], opencl_usm_migrate[]; /* enqueue_memory.c */
extern const opencl_function opencl_gl_acquire[], opencl_gl_release[], opencl_egl_acquire[], opencl_egl_release[]; /* share.c */
extern const opencl_function opencl_external_acquire[], opencl_external_release[], opencl_va_acquire[], opencl_va_release[];

#endif
