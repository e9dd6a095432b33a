/*
 * memory.c - memory objects and shared memory: what there is, where it lives, and for how long.
 *
 * An object ends when the driver says so, in a callback: references to it are
 * held by kernels, commands and parts of it too.  A sub-buffer, and an image
 * made of a buffer, is a view of memory that is there already.
 */
#include <string.h>

#include "opencl/extension.h"

#define BITS 16u
#define OBJECTS (1u << BITS)
#define OBJECTS_MOST (OBJECTS / 4 * 3) /* those beyond are not told of */
#define GIVEN 4096u                    /* pieces of shared memory that commands will give back, at a time */

struct object {
	const void *handle; /* NULL: free; of shared virtual memory its address */
	uint64_t bytes;
	struct gpu_stream stream;
	uint32_t memory;
};

struct given {
	struct object object;
	uint32_t next; /* number + 1 of the next that the same command gives back */
	bool used;
};

static struct objects {
	_Atomic uint32_t lock;
	uint32_t count;
	struct object places[OBJECTS];
	struct given given[GIVEN];
	uint32_t given_at;
} *objects;

/* ---- The table; with the lock ------------------------------------------------------------ */

static uint32_t find(const void *handle)
{
	uint32_t at = opencl_place(handle, BITS);

	while (objects->places[at].handle && objects->places[at].handle != handle)
		at = (at + 1) % OBJECTS;
	return at;
}

/* Those after it that would not be found any more move up. */
static void take_out(uint32_t hole)
{
	for (uint32_t at = (hole + 1) % OBJECTS; objects->places[at].handle; at = (at + 1) % OBJECTS) {
		uint32_t home = opencl_place(objects->places[at].handle, BITS);

		if ((at - home) % OBJECTS >= (at - hole) % OBJECTS) {
			objects->places[hole] = objects->places[at];
			hole = at;
		}
	}
	objects->places[hole].handle = NULL;
	objects->count--;
}

static bool put(const struct object *object)
{
	bool room;

	opencl_lock(&objects->lock);
	room = objects->count < OBJECTS_MOST;
	if (room) {
		uint32_t at = find(object->handle);

		objects->count += !objects->places[at].handle;
		objects->places[at] = *object;
	}
	opencl_unlock(&objects->lock);
	return room;
}

static bool take(const void *handle, struct object *ret)
{
	uint32_t at;
	bool there;

	opencl_lock(&objects->lock);
	at = find(handle);
	there = handle && objects->places[at].handle;
	if (there) {
		*ret = objects->places[at];
		take_out(at);
	}
	opencl_unlock(&objects->lock);
	return there;
}

static bool look_up(const void *handle, struct object *ret)
{
	uint32_t at;
	bool there;

	if (!objects || !handle)
		return false;
	opencl_lock(&objects->lock);
	at = find(handle);
	there = objects->places[at].handle;
	if (there)
		*ret = objects->places[at];
	opencl_unlock(&objects->lock);
	return there;
}

bool opencl_memory_find(const void *handle, uint64_t *ret_bytes)
{
	struct object object;

	if (!look_up(handle, &object))
		return false;
	*ret_bytes = object.bytes;
	return true;
}

uint32_t opencl_memory_kind(cl_mem handle)
{
	struct object object;
	cl_mem_flags flags = 0;

	if (look_up(handle, &object))
		return object.memory;
	if (opencl_next.clGetMemObjectInfo(handle, CL_MEM_FLAGS, sizeof flags, &flags, NULL) != CL_SUCCESS)
		return MEMORY_DEVICE;
	return flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_USE_HOST_PTR) ? MEMORY_PINNED : MEMORY_DEVICE;
}

uint32_t opencl_memory_kind_at(const void *pointer)
{
	struct object object;

	return look_up(pointer, &object) ? object.memory : MEMORY_PAGEABLE;
}

/* ---- Events --------------------------------------------------------------------------------- */

static void emit(struct runtime_thread *t, const struct object *o, uint32_t kind, enum opencl_call which, uint64_t time, uint32_t correlation)
{
	gpu_emit_memory(t, &o->stream, &(struct gpu_memory){
		.kind = kind,
		.name = opencl_call_name(which),
		.time = time,
		.pointer = (uintptr_t)o->handle,
		.bytes = o->bytes,
		.memory = o->memory,
		.correlation = correlation,
	});
}

/* A call has made memory: it is known from now on.  False: it could not be kept in mind, so that its end would not be told. */
static bool made(cl_context context, cl_device_id device, struct object *object, enum opencl_call which, uint64_t begin)
{
	struct runtime_thread *t = &inferscope_thread;
	uint64_t now = opencl_now();
	uint32_t correlation = gpu_correlation();
	bool kept;

	if (!opencl_recording() || !emit_enter(&inferscope_runtime, t))
		return false;
	gpu_emit_call(t, opencl_call_name(which), begin, now, correlation);
	object->stream = *opencl_device_memory(t, context, device);
	kept = put(object);
	if (kept)
		emit(t, object, EVENT_MEMORY_ALLOC, which, now, correlation);
	else
		gpu_count_lost(1);
	emit_leave(t);
	return kept;
}

static void tell_end(const struct object *object, enum opencl_call which)
{
	struct runtime_thread *t = &inferscope_thread;

	if (!opencl_recording() || !emit_enter(&inferscope_runtime, t))
		return;
	emit(t, object, EVENT_MEMORY_FREE, which, opencl_now(), 0);
	emit_leave(t);
}

static void ended(const void *handle, enum opencl_call which)
{
	struct object object;

	if (take(handle, &object))
		tell_end(&object, which);
}

/* ---- Buffers and images ---------------------------------------------------------------------- */

static void CL_CALLBACK destroyed(cl_mem handle, void *unused)
{
	(void)unused;
	ended(handle, CALL_RELEASE_MEMORY);
}

static bool is_view(cl_mem handle)
{
	cl_mem of = NULL;

	return opencl_next.clGetMemObjectInfo(handle, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof of, &of, NULL) == CL_SUCCESS && of;
}

static cl_mem created(cl_context context, cl_mem handle, cl_mem_flags flags, enum opencl_call which, uint64_t begin)
{
	struct object object = { .handle = handle, .memory = MEMORY_DEVICE }, unused;
	size_t size = 0;

	if (!handle || is_view(handle))
		return handle;
	if (flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_USE_HOST_PTR))
		object.memory = MEMORY_PINNED;
	(void)opencl_next.clGetMemObjectInfo(handle, CL_MEM_SIZE, sizeof size, &size, NULL);
	object.bytes = size;
	if (made(context, NULL, &object, which, begin) &&
	    opencl_next.clSetMemObjectDestructorCallback(handle, destroyed, NULL) != CL_SUCCESS)
		(void)take(handle, &unused); /* the handle may come again */
	return handle;
}

static CL_API_ENTRY cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *ret_error)
{
	uint64_t begin = opencl_now();

	return created(context, opencl_next.clCreateBuffer(context, flags, size, host, ret_error), flags, CALL_CREATE_BUFFER, begin);
}

static CL_API_ENTRY cl_mem CL_API_CALL create_buffer_with(cl_context context, const cl_mem_properties *list, cl_mem_flags flags, size_t size,
							   void *host, cl_int *ret_error)
{
	uint64_t begin = opencl_now();
	cl_mem handle = opencl_next.clCreateBufferWithProperties(context, list, flags, size, host, ret_error);

	return created(context, handle, flags, CALL_CREATE_BUFFER, begin);
}

static CL_API_ENTRY cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format *format,
						     const cl_image_desc *description, void *host, cl_int *ret_error)
{
	uint64_t begin = opencl_now();
	cl_mem handle = opencl_next.clCreateImage(context, flags, format, description, host, ret_error);

	return created(context, handle, flags, CALL_CREATE_IMAGE, begin);
}

static CL_API_ENTRY cl_mem CL_API_CALL create_image_with(cl_context context, const cl_mem_properties *list, cl_mem_flags flags,
							  const cl_image_format *format, const cl_image_desc *description, void *host,
							  cl_int *ret_error)
{
	uint64_t begin = opencl_now();
	cl_mem handle = opencl_next.clCreateImageWithProperties(context, list, flags, format, description, host, ret_error);

	return created(context, handle, flags, CALL_CREATE_IMAGE, begin);
}

static CL_API_ENTRY cl_mem CL_API_CALL create_2d(cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,
						  size_t height, size_t row, void *host, cl_int *ret_error)
{
	uint64_t begin = opencl_now();
	cl_mem handle = opencl_next.clCreateImage2D(context, flags, format, width, height, row, host, ret_error);

	return created(context, handle, flags, CALL_CREATE_IMAGE, begin);
}

static CL_API_ENTRY cl_mem CL_API_CALL create_3d(cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,
						  size_t height, size_t depth, size_t row, size_t slice, void *host, cl_int *ret_error)
{
	uint64_t begin = opencl_now();
	cl_mem handle = opencl_next.clCreateImage3D(context, flags, format, width, height, depth, row, slice, host, ret_error);

	return created(context, handle, flags, CALL_CREATE_IMAGE, begin);
}

static CL_API_ENTRY cl_mem CL_API_CALL create_pipe(cl_context context, cl_mem_flags flags, cl_uint packet, cl_uint packets,
						    const cl_pipe_properties *list, cl_int *ret_error)
{
	uint64_t begin = opencl_now();

	return created(context, opencl_next.clCreatePipe(context, flags, packet, packets, list, ret_error), flags, CALL_CREATE_PIPE, begin);
}

/* ---- Shared virtual memory --------------------------------------------------------------------- */

static CL_API_ENTRY void *CL_API_CALL svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
	uint64_t begin = opencl_now();
	void *pointer = opencl_next.clSVMAlloc(context, flags, size, alignment);
	struct object object = { .handle = pointer, .bytes = size, .memory = MEMORY_MANAGED };

	if (pointer)
		(void)made(context, NULL, &object, CALL_SVM_ALLOC, begin);
	return pointer;
}

/* Before it is free: then another thread may get the address. */
static CL_API_ENTRY void CL_API_CALL svm_free(cl_context context, void *pointer)
{
	ended(pointer, CALL_SVM_FREE);
	opencl_next.clSVMFree(context, pointer);
}

/* A place for what a command will give back; 0: there is none.  With the lock. */
static uint32_t given_place(void)
{
	for (uint32_t i = 0; i < GIVEN; i++) {
		objects->given_at = (objects->given_at + 1) % GIVEN;
		if (!objects->given[objects->given_at].used)
			return objects->given_at + 1;
	}
	return 0;
}

uint32_t opencl_memory_give(cl_uint count, void *const *pointers)
{
	uint32_t first = 0;

	if (!objects || !pointers)
		return 0;
	opencl_lock(&objects->lock);
	for (cl_uint i = 0; i < count; i++) {
		uint32_t at = find(pointers[i]), place;

		if (!pointers[i] || !objects->places[at].handle)
			continue;
		place = given_place();
		if (!place)
			break;
		objects->given[place - 1] = (struct given){ .object = objects->places[at], .next = first, .used = true };
		first = place;
		take_out(at);
	}
	opencl_unlock(&objects->lock);
	return first;
}

void opencl_memory_keep(uint32_t frees)
{
	for (uint32_t n = 0; frees && frees <= GIVEN && n < GIVEN; n++) {
		struct given *given = &objects->given[frees - 1];

		frees = given->next;
		(void)put(&given->object);
		opencl_lock(&objects->lock);
		given->used = false;
		opencl_unlock(&objects->lock);
	}
}

void opencl_memory_given(struct runtime_thread *t, uint32_t frees, uint64_t time)
{
	for (uint32_t n = 0; frees && frees <= GIVEN && n < GIVEN; n++) {
		struct given *given = &objects->given[frees - 1];

		emit(t, &given->object, EVENT_MEMORY_FREE, CALL_SVM_FREE_LATER, time, 0);
		frees = given->next;
		opencl_lock(&objects->lock);
		given->used = false;
		opencl_unlock(&objects->lock);
	}
}

/* ---- Unified shared memory (cl_intel_unified_shared_memory) ------------------------------------------ */

typedef void *(CL_API_CALL *usm_host_function)(cl_context, const cl_ulong *, size_t, cl_uint, cl_int *);
typedef void *(CL_API_CALL *usm_device_function)(cl_context, cl_device_id, const cl_ulong *, size_t, cl_uint, cl_int *);
typedef cl_int(CL_API_CALL *usm_free_function)(cl_context, void *);

static void *allocated(cl_context context, cl_device_id device, struct object *object, enum opencl_call which, uint64_t begin)
{
	if (object->handle && objects)
		(void)made(context, device, object, which, begin);
	return (void *)(uintptr_t)object->handle;
}

static void *usm_host(struct opencl_platform *p, cl_context context, const cl_ulong *list, size_t size, cl_uint alignment, cl_int *ret_error)
{
	usm_host_function next = (usm_host_function)opencl_extension(p, EXTENSION_USM_HOST);
	uint64_t begin = opencl_now();
	struct object object = { .handle = next(context, list, size, alignment, ret_error), .bytes = size, .memory = MEMORY_PINNED };

	return allocated(context, NULL, &object, CALL_USM_HOST, begin);
}
OPENCL_OURS(opencl_usm_host, void *, usm_host, (cl_context context, const cl_ulong *list, size_t size, cl_uint alignment, cl_int *ret_error),
	    context, list, size, alignment, ret_error)

#define ALLOCATED cl_context context, cl_device_id device, const cl_ulong *list, size_t size, cl_uint alignment, cl_int *ret_error

/* The device may be NULL for memory that is shared: then it is for all of the context's. */
static void *allocate(usm_device_function next, uint32_t memory, enum opencl_call which, ALLOCATED)
{
	uint64_t begin = opencl_now();
	struct object object = { .handle = next(context, device, list, size, alignment, ret_error), .bytes = size, .memory = memory };

	return allocated(context, device, &object, which, begin);
}

static void *usm_device(struct opencl_platform *p, ALLOCATED)
{
	usm_device_function next = (usm_device_function)opencl_extension(p, EXTENSION_USM_DEVICE);

	return allocate(next, MEMORY_DEVICE, CALL_USM_DEVICE, context, device, list, size, alignment, ret_error);
}
OPENCL_OURS(opencl_usm_device, void *, usm_device, (ALLOCATED), context, device, list, size, alignment, ret_error)

static void *usm_shared(struct opencl_platform *p, ALLOCATED)
{
	usm_device_function next = (usm_device_function)opencl_extension(p, EXTENSION_USM_SHARED);

	return allocate(next, MEMORY_MANAGED, CALL_USM_SHARED, context, device, list, size, alignment, ret_error);
}
OPENCL_OURS(opencl_usm_shared, void *, usm_shared, (ALLOCATED), context, device, list, size, alignment, ret_error)

/* It is out of the table before it is free: then another thread may get the address. */
static cl_int give_back(usm_free_function next, cl_context context, void *pointer, enum opencl_call which)
{
	struct object object;
	bool known = objects && take(pointer, &object);
	cl_int rc = next(context, pointer);

	if (known && rc != CL_SUCCESS)
		(void)put(&object);
	else if (known)
		tell_end(&object, which);
	return rc;
}

static cl_int usm_free(struct opencl_platform *p, cl_context context, void *pointer)
{
	return give_back((usm_free_function)opencl_extension(p, EXTENSION_USM_FREE), context, pointer, CALL_USM_FREE);
}
OPENCL_OURS(opencl_usm_free, cl_int, usm_free, (cl_context context, void *pointer), context, pointer)

/* It waits for the commands that use it. */
static cl_int usm_free_blocking(struct opencl_platform *p, cl_context context, void *pointer)
{
	usm_free_function next = (usm_free_function)opencl_extension(p, EXTENSION_USM_FREE_BLOCKING);
	uint64_t begin = opencl_now();
	cl_int rc = give_back(next, context, pointer, CALL_USM_FREE_BLOCKING);

	opencl_call_returned(CALL_USM_FREE_BLOCKING, begin, 0);
	return rc;
}
OPENCL_OURS(opencl_usm_free_blocking, cl_int, usm_free_blocking, (cl_context context, void *pointer), context, pointer)

void opencl_memory_wrap(struct _cl_icd_dispatch *table)
{
	objects = objects ? objects : opencl_map(sizeof *objects);
	if (!objects || !opencl_next.clSetMemObjectDestructorCallback)
		return;
	OPENCL_WRAP(clCreateBuffer, create_buffer);
	OPENCL_WRAP(clCreateBufferWithProperties, create_buffer_with);
	OPENCL_WRAP(clCreateImage, create_image);
	OPENCL_WRAP(clCreateImageWithProperties, create_image_with);
	OPENCL_WRAP(clCreateImage2D, create_2d);
	OPENCL_WRAP(clCreateImage3D, create_3d);
	OPENCL_WRAP(clCreatePipe, create_pipe);
	OPENCL_WRAP(clSVMAlloc, svm_alloc);
	OPENCL_WRAP(clSVMFree, svm_free);
}
