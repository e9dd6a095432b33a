/*
 * share.c - objects that OpenCL shares with others (OpenGL, EGL, VA-API, external memory) are acquired and released.
 *
 * No work of the device, but what other work waits for.  Some of these are in
 * the table and asked for by name, too; a loader may then give a function of
 * its own, which calls the one in the table: that is one command.
 */
#include "opencl/enqueue.h"
#include "opencl/extension.h"

#define SHARED cl_command_queue queue, cl_uint count, const cl_mem *objects, WAIT_LIST
#define THEM queue, count, objects, waits, list, event
typedef cl_int(CL_API_CALL *share_function)(SHARED);

static cl_int share(share_function next, enum opencl_call which, SHARED)
{
	static _Thread_local bool inside;
	struct command command;
	struct call call;
	cl_int rc;

	if (inside)
		return next(THEM);
	opencl_call_begin(&call, queue, event, waits, list);
	command = KNOWN(.kind = EVENT_SYNC, .wait = call.wait_count ? call.waits[0] : 0);
	inside = true;
	rc = next(queue, count, objects, NEXT_WAITS);
	inside = false;
	opencl_call_end(&call, which, rc, &command);
	return rc;
}

#define NAMED(array, function, which, extension)                                             \
	static cl_int function(struct opencl_platform *p, SHARED)                            \
	{                                                                                    \
		return share((share_function)opencl_extension(p, extension), which, THEM);   \
	}                                                                                    \
	OPENCL_OURS(array, cl_int, function, (SHARED), THEM)
NAMED(opencl_gl_acquire, gl_acquire, CALL_GL_ACQUIRE, EXTENSION_GL_ACQUIRE)
NAMED(opencl_gl_release, gl_release, CALL_GL_RELEASE, EXTENSION_GL_RELEASE)
NAMED(opencl_egl_acquire, egl_acquire, CALL_EGL_ACQUIRE, EXTENSION_EGL_ACQUIRE)
NAMED(opencl_egl_release, egl_release, CALL_EGL_RELEASE, EXTENSION_EGL_RELEASE)
NAMED(opencl_external_acquire, external_acquire, CALL_EXTERNAL_ACQUIRE, EXTENSION_EXTERNAL_ACQUIRE)
NAMED(opencl_external_release, external_release, CALL_EXTERNAL_RELEASE, EXTENSION_EXTERNAL_RELEASE)
NAMED(opencl_va_acquire, va_acquire, CALL_VA_ACQUIRE, EXTENSION_VA_ACQUIRE)
NAMED(opencl_va_release, va_release, CALL_VA_RELEASE, EXTENSION_VA_RELEASE)

#define IN_TABLE(function, which, name)                                           \
	static CL_API_ENTRY cl_int CL_API_CALL function(SHARED)                   \
	{                                                                         \
		return share((share_function)opencl_next.name, which, THEM);      \
	}
IN_TABLE(table_gl_acquire, CALL_GL_ACQUIRE, clEnqueueAcquireGLObjects)
IN_TABLE(table_gl_release, CALL_GL_RELEASE, clEnqueueReleaseGLObjects)
IN_TABLE(table_egl_acquire, CALL_EGL_ACQUIRE, clEnqueueAcquireEGLObjectsKHR)
IN_TABLE(table_egl_release, CALL_EGL_RELEASE, clEnqueueReleaseEGLObjectsKHR)

void opencl_share_wrap(struct _cl_icd_dispatch *table)
{
	OPENCL_WRAP(clEnqueueAcquireGLObjects, table_gl_acquire);
	OPENCL_WRAP(clEnqueueReleaseGLObjects, table_gl_release);
	OPENCL_WRAP(clEnqueueAcquireEGLObjectsKHR, table_egl_acquire);
	OPENCL_WRAP(clEnqueueReleaseEGLObjectsKHR, table_egl_release);
}
