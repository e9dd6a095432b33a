/* enqueue_memory.c - the calls that put copies, fills and maps into queues. */
#include "opencl/enqueue.h"
#include "opencl/extension.h"

static uint64_t volume(const size_t *region)
{
	return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

static uint64_t size_of(cl_mem object)
{
	size_t size = 0;

	return opencl_next.clGetMemObjectInfo(object, CL_MEM_SIZE, sizeof size, &size, NULL) == CL_SUCCESS ? size : 0;
}

static uint64_t element_size(cl_mem image)
{
	size_t size = 0;

	return opencl_next.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof size, &size, NULL) == CL_SUCCESS ? size : 0;
}

static uint32_t host_kind(const void *pointer)
{
	return opencl_maps_pinned(pointer) ? MEMORY_PINNED : MEMORY_PAGEABLE;
}

/* A copy's command: from where to where. */
static struct command copy(uint32_t kind, uint64_t bytes, uint32_t from, uint32_t to)
{
	return KNOWN(.kind = (uint8_t)kind, .bytes = bytes, .memory_kinds = (uint16_t)MEMORY_KINDS(from, to));
}

static struct command to_host(cl_mem from, uint64_t bytes, const void *to)
{
	return copy(EVENT_D2H_COPY, bytes, opencl_memory_kind(from), host_kind(to));
}

static struct command to_device(const void *from, uint64_t bytes, cl_mem to)
{
	return copy(EVENT_H2D_COPY, bytes, host_kind(from), opencl_memory_kind(to));
}

static struct command on_device(cl_mem from, uint64_t bytes, cl_mem to)
{
	return copy(EVENT_D2D_COPY, bytes, opencl_memory_kind(from), opencl_memory_kind(to));
}

/* ---- Buffers ------------------------------------------------------------------------ */

static CL_API_ENTRY cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
						    void *to, WAIT_LIST)
{
	COMMAND(blocking ? CALL_READ : CALL_READ_ASYNC, queue, clEnqueueReadBuffer,
		to_host(buffer, size, to), buffer, blocking, offset, size, to);
}

static CL_API_ENTRY cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
						     const void *from, WAIT_LIST)
{
	COMMAND(blocking ? CALL_WRITE : CALL_WRITE_ASYNC, queue, clEnqueueWriteBuffer,
		to_device(from, size, buffer), buffer, blocking, offset, size, from);
}

static CL_API_ENTRY cl_int CL_API_CALL read_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *origin,
						  const size_t *host, const size_t *region, size_t row, size_t slice, size_t host_row,
						  size_t host_slice, void *to, WAIT_LIST)
{
	COMMAND(blocking ? CALL_READ_RECT : CALL_READ_RECT_ASYNC, queue, clEnqueueReadBufferRect,
		to_host(buffer, volume(region), to), buffer, blocking, origin, host, region, row, slice,
		host_row, host_slice, to);
}

static CL_API_ENTRY cl_int CL_API_CALL write_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *origin,
						   const size_t *host, const size_t *region, size_t row, size_t slice, size_t host_row,
						   size_t host_slice, const void *from, WAIT_LIST)
{
	COMMAND(blocking ? CALL_WRITE_RECT : CALL_WRITE_RECT_ASYNC, queue, clEnqueueWriteBufferRect,
		to_device(from, volume(region), buffer), buffer, blocking, origin, host, region, row,
		slice, host_row, host_slice, from);
}

static CL_API_ENTRY cl_int CL_API_CALL copy_buffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
						    size_t size, WAIT_LIST)
{
	COMMAND(CALL_COPY, queue, clEnqueueCopyBuffer, on_device(from, size, to), from, to,
		from_offset, to_offset, size);
}

static CL_API_ENTRY cl_int CL_API_CALL copy_rect(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
						  const size_t *to_origin, const size_t *region, size_t from_row, size_t from_slice,
						  size_t to_row, size_t to_slice, WAIT_LIST)
{
	COMMAND(CALL_COPY_RECT, queue, clEnqueueCopyBufferRect,
		on_device(from, volume(region), to), from, to, from_origin, to_origin, region,
		from_row, from_slice, to_row, to_slice);
}

static CL_API_ENTRY cl_int CL_API_CALL fill_buffer(cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size,
						    size_t offset, size_t size, WAIT_LIST)
{
	COMMAND(CALL_FILL, queue, clEnqueueFillBuffer, KNOWN(.kind = EVENT_MEMSET, .bytes = size), buffer, pattern, pattern_size, offset, size);
}

/* ---- Images -------------------------------------------------------------------------- */

static CL_API_ENTRY cl_int CL_API_CALL read_image(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
						   const size_t *region, size_t row, size_t slice, void *to, WAIT_LIST)
{
	COMMAND(blocking ? CALL_READ_IMAGE : CALL_READ_IMAGE_ASYNC, queue, clEnqueueReadImage,
		to_host(image, volume(region) * element_size(image), to), image, blocking, origin,
		region, row, slice, to);
}

static CL_API_ENTRY cl_int CL_API_CALL write_image(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
						    const size_t *region, size_t row, size_t slice, const void *from, WAIT_LIST)
{
	COMMAND(blocking ? CALL_WRITE_IMAGE : CALL_WRITE_IMAGE_ASYNC, queue, clEnqueueWriteImage,
		to_device(from, volume(region) * element_size(image), image), image, blocking, origin,
		region, row, slice, from);
}

static CL_API_ENTRY cl_int CL_API_CALL copy_image(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
						   const size_t *to_origin, const size_t *region, WAIT_LIST)
{
	COMMAND(CALL_COPY_IMAGE, queue, clEnqueueCopyImage,
		on_device(from, volume(region) * element_size(from), to), from, to, from_origin,
		to_origin, region);
}

static CL_API_ENTRY cl_int CL_API_CALL image_to_buffer(cl_command_queue queue, cl_mem image, cl_mem buffer, const size_t *origin,
							const size_t *region, size_t offset, WAIT_LIST)
{
	COMMAND(CALL_COPY_IMAGE_TO_BUFFER, queue, clEnqueueCopyImageToBuffer,
		on_device(image, volume(region) * element_size(image), buffer), image, buffer, origin,
		region, offset);
}

static CL_API_ENTRY cl_int CL_API_CALL buffer_to_image(cl_command_queue queue, cl_mem buffer, cl_mem image, size_t offset,
							const size_t *origin, const size_t *region, WAIT_LIST)
{
	COMMAND(CALL_COPY_BUFFER_TO_IMAGE, queue, clEnqueueCopyBufferToImage,
		on_device(buffer, volume(region) * element_size(image), image), buffer, image, offset,
		origin, region);
}

static CL_API_ENTRY cl_int CL_API_CALL fill_image(cl_command_queue queue, cl_mem image, const void *color, const size_t *origin,
						   const size_t *region, WAIT_LIST)
{
	COMMAND(CALL_FILL_IMAGE, queue, clEnqueueFillImage, KNOWN(.kind = EVENT_MEMSET, .bytes = volume(region) * element_size(image)), image,
		color, origin, region);
}

/* ---- Maps: what is read is copied when it is mapped, what is written when it is unmapped, where the memory is not shared ---- */

#define WRITES (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)

static struct command map_command(cl_mem object, cl_map_flags flags, uint64_t bytes)
{
	uint32_t kind = opencl_memory_kind(object);

	return copy(EVENT_D2H_COPY, flags & CL_MAP_WRITE_INVALIDATE_REGION ? 0 : bytes, kind, kind == MEMORY_PINNED ? kind : MEMORY_PAGEABLE);
}

static CL_API_ENTRY void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,
						  size_t size, WAIT_LIST, cl_int *ret_error)
{
	struct command command = map_command(buffer, flags, size);
	cl_int rc = CL_SUCCESS;
	struct call call;
	void *mapped;

	if (blocking)
		opencl_harvest_ahead(opencl_queue_find(queue));
	opencl_call_begin(&call, queue, event, waits, list);
	mapped = opencl_next.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, NEXT_WAITS, &rc);
	opencl_call_end(&call, blocking ? CALL_MAP : CALL_MAP_ASYNC, rc, &command);
	opencl_maps_add(mapped, size, flags & WRITES, MEMORY_KIND_FROM(command.memory_kinds) == MEMORY_PINNED);
	if (ret_error)
		*ret_error = rc;
	return mapped;
}

static CL_API_ENTRY void *CL_API_CALL map_image(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
						 const size_t *origin, const size_t *region, size_t *row, size_t *slice, WAIT_LIST,
						 cl_int *ret_error)
{
	uint64_t bytes = volume(region) * element_size(image);
	struct command command = map_command(image, flags, bytes);
	cl_int rc = CL_SUCCESS;
	struct call call;
	void *mapped;

	if (blocking)
		opencl_harvest_ahead(opencl_queue_find(queue));
	opencl_call_begin(&call, queue, event, waits, list);
	mapped = opencl_next.clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice, NEXT_WAITS, &rc);
	opencl_call_end(&call, blocking ? CALL_MAP_IMAGE : CALL_MAP_IMAGE_ASYNC, rc, &command);
	opencl_maps_add(mapped, bytes, flags & WRITES, MEMORY_KIND_FROM(command.memory_kinds) == MEMORY_PINNED);
	if (ret_error)
		*ret_error = rc;
	return mapped;
}

static struct command unmap_command(uint32_t kind, const void *mapped)
{
	return copy(EVENT_H2D_COPY, opencl_maps_take(mapped), kind == MEMORY_DEVICE ? MEMORY_PAGEABLE : kind, kind);
}

static CL_API_ENTRY cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem object, void *mapped, WAIT_LIST)
{
	COMMAND(CALL_UNMAP, queue, clEnqueueUnmapMemObject, unmap_command(opencl_memory_kind(object), mapped), object, mapped);
}

static CL_API_ENTRY cl_int CL_API_CALL migrate(cl_command_queue queue, cl_uint count, const cl_mem *objects, cl_mem_migration_flags flags,
						WAIT_LIST)
{
	uint64_t bytes = 0;

	for (cl_uint i = 0; objects && i < count; i++)
		bytes += size_of(objects[i]);
	COMMAND(CALL_MIGRATE, queue, clEnqueueMigrateMemObjects,
		KNOWN(.kind = flags & CL_MIGRATE_MEM_OBJECT_HOST ? EVENT_D2H_COPY : EVENT_H2D_COPY, .bytes = bytes), count, objects, flags);
}

/* ---- Shared virtual memory: of a pointer that is not the start of a piece it is not known what it points to ---------------- */

static bool is_of_host(uint32_t kind)
{
	return kind == MEMORY_PAGEABLE || kind == MEMORY_PINNED;
}

static struct command copy_between(uint32_t source, uint32_t target, size_t size)
{
	bool down = !is_of_host(source) && is_of_host(target), up = is_of_host(source) && !is_of_host(target);

	return copy(up ? EVENT_H2D_COPY : down ? EVENT_D2H_COPY : EVENT_D2D_COPY, size, source, target);
}

static CL_API_ENTRY cl_int CL_API_CALL svm_copy(cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size, WAIT_LIST)
{
	COMMAND(blocking ? CALL_SVM_COPY : CALL_SVM_COPY_ASYNC, queue, clEnqueueSVMMemcpy,
		copy_between(opencl_memory_kind_at(from), opencl_memory_kind_at(to), size), blocking, to, from, size);
}

static CL_API_ENTRY cl_int CL_API_CALL svm_fill(cl_command_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size,
						 WAIT_LIST)
{
	COMMAND(CALL_SVM_FILL, queue, clEnqueueSVMMemFill, KNOWN(.kind = EVENT_MEMSET, .bytes = size), to, pattern, pattern_size, size);
}

static CL_API_ENTRY cl_int CL_API_CALL svm_map(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *memory, size_t size,
						WAIT_LIST)
{
	opencl_maps_add(memory, size, flags & WRITES, false);
	COMMAND(blocking ? CALL_SVM_MAP : CALL_SVM_MAP_ASYNC, queue, clEnqueueSVMMap,
		copy(EVENT_D2H_COPY, flags & CL_MAP_WRITE_INVALIDATE_REGION ? 0 : size, MEMORY_MANAGED, MEMORY_MANAGED), blocking, flags, memory,
		size);
}

static CL_API_ENTRY cl_int CL_API_CALL svm_unmap(cl_command_queue queue, void *memory, WAIT_LIST)
{
	COMMAND(CALL_SVM_UNMAP, queue, clEnqueueSVMUnmap, unmap_command(MEMORY_MANAGED, memory), memory);
}

static CL_API_ENTRY cl_int CL_API_CALL svm_migrate(cl_command_queue queue, cl_uint count, const void **pointers, const size_t *sizes,
						    cl_mem_migration_flags flags, WAIT_LIST)
{
	uint64_t bytes = 0, all;

	for (cl_uint i = 0; pointers && i < count; i++)
		bytes += sizes && sizes[i] ? sizes[i] : opencl_memory_find(pointers[i], &all) ? all : 0;
	COMMAND(CALL_SVM_MIGRATE, queue, clEnqueueSVMMigrateMem,
		KNOWN(.kind = flags & CL_MIGRATE_MEM_OBJECT_HOST ? EVENT_D2H_COPY : EVENT_H2D_COPY, .bytes = bytes), count, pointers, sizes,
		flags);
}

/* A function of the program's own frees by calls that we see. */
static CL_API_ENTRY cl_int CL_API_CALL svm_free(cl_command_queue queue, cl_uint count, void *pointers[],
						 void(CL_CALLBACK *function)(cl_command_queue, cl_uint, void *[], void *), void *data, WAIT_LIST)
{
	struct command command = KNOWN(.kind = EVENT_SYNC);
	struct call call;
	cl_int rc;

	opencl_call_begin(&call, queue, event, waits, list);
	if (call.queue && call.queue->profiled && !function)
		command.frees = opencl_memory_give(count, pointers);
	rc = opencl_next.clEnqueueSVMFree(queue, count, pointers, function, data, NEXT_WAITS);
	if (rc != CL_SUCCESS)
		opencl_memory_keep(command.frees);
	opencl_call_end(&call, CALL_SVM_FREE_LATER, rc, &command);
	return rc;
}

/* ---- Unified shared memory (cl_intel_unified_shared_memory): the driver knows of any pointer what it points to ---------------- */

#define INFO_TYPE 0x419a
enum usm_type { USM_UNKNOWN = 0x4196, USM_HOST, USM_DEVICE, USM_SHARED };

typedef cl_int(CL_API_CALL *usm_info_function)(cl_context, const void *, cl_uint, size_t, void *, size_t *);
typedef cl_int(CL_API_CALL *usm_copy_function)(cl_command_queue, cl_bool, void *, const void *, size_t, WAIT_LIST);
typedef cl_int(CL_API_CALL *usm_fill_function)(cl_command_queue, void *, const void *, size_t, size_t, WAIT_LIST);
typedef cl_int(CL_API_CALL *usm_set_function)(cl_command_queue, void *, cl_int, size_t, WAIT_LIST);
typedef cl_int(CL_API_CALL *usm_migrate_function)(cl_command_queue, const void *, size_t, cl_mem_migration_flags, WAIT_LIST);

static uint32_t usm_kind(struct opencl_platform *p, cl_command_queue queue, const void *pointer)
{
	usm_info_function info = (usm_info_function)opencl_extension(p, EXTENSION_USM_INFO);
	uint32_t kind = opencl_memory_kind_at(pointer);
	cl_context context = NULL;
	cl_uint type = USM_UNKNOWN;

	if (kind != MEMORY_PAGEABLE)
		return kind;
	if (info && opencl_next.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL) == CL_SUCCESS)
		(void)info(context, pointer, INFO_TYPE, sizeof type, &type, NULL);
	return type == USM_HOST ? MEMORY_PINNED : type == USM_DEVICE ? MEMORY_DEVICE : type == USM_SHARED ? MEMORY_MANAGED : host_kind(pointer);
}

static cl_int usm_copy(struct opencl_platform *p, cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size, WAIT_LIST)
{
	struct command command = copy_between(usm_kind(p, queue, from), usm_kind(p, queue, to), size);

	ENQUEUE_BY(blocking ? CALL_USM_COPY : CALL_USM_COPY_ASYNC, queue, ((usm_copy_function)opencl_extension(p, EXTENSION_USM_COPY)),
		   blocking, to, from, size);
}
OPENCL_OURS(opencl_usm_copy, cl_int, usm_copy, (cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size, WAIT_LIST),
	    queue, blocking, to, from, size, waits, list, event)

static cl_int usm_fill(struct opencl_platform *p, cl_command_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size,
		       WAIT_LIST)
{
	struct command command = KNOWN(.kind = EVENT_MEMSET, .bytes = size);

	ENQUEUE_BY(CALL_USM_FILL, queue, ((usm_fill_function)opencl_extension(p, EXTENSION_USM_FILL)), to, pattern, pattern_size, size);
}
OPENCL_OURS(opencl_usm_fill, cl_int, usm_fill,
	    (cl_command_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size, WAIT_LIST),
	    queue, to, pattern, pattern_size, size, waits, list, event)

/* Of an older version of the extension. */
static cl_int usm_set(struct opencl_platform *p, cl_command_queue queue, void *to, cl_int value, size_t size, WAIT_LIST)
{
	struct command command = KNOWN(.kind = EVENT_MEMSET, .bytes = size);

	ENQUEUE_BY(CALL_USM_SET, queue, ((usm_set_function)opencl_extension(p, EXTENSION_USM_SET)), to, value, size);
}
OPENCL_OURS(opencl_usm_set, cl_int, usm_set, (cl_command_queue queue, void *to, cl_int value, size_t size, WAIT_LIST),
	    queue, to, value, size, waits, list, event)

static cl_int usm_migrate(struct opencl_platform *p, cl_command_queue queue, const void *pointer, size_t size, cl_mem_migration_flags flags,
			  WAIT_LIST)
{
	struct command command = KNOWN(.kind = flags & CL_MIGRATE_MEM_OBJECT_HOST ? EVENT_D2H_COPY : EVENT_H2D_COPY, .bytes = size);

	ENQUEUE_BY(CALL_USM_MIGRATE, queue, ((usm_migrate_function)opencl_extension(p, EXTENSION_USM_MIGRATE)), pointer, size, flags);
}
OPENCL_OURS(opencl_usm_migrate, cl_int, usm_migrate,
	    (cl_command_queue queue, const void *pointer, size_t size, cl_mem_migration_flags flags, WAIT_LIST),
	    queue, pointer, size, flags, waits, list, event)

void opencl_enqueue_memory_wrap(struct _cl_icd_dispatch *table)
{
	OPENCL_WRAP(clEnqueueReadBuffer, read_buffer);
	OPENCL_WRAP(clEnqueueWriteBuffer, write_buffer);
	OPENCL_WRAP(clEnqueueReadBufferRect, read_rect);
	OPENCL_WRAP(clEnqueueWriteBufferRect, write_rect);
	OPENCL_WRAP(clEnqueueCopyBuffer, copy_buffer);
	OPENCL_WRAP(clEnqueueCopyBufferRect, copy_rect);
	OPENCL_WRAP(clEnqueueFillBuffer, fill_buffer);
	OPENCL_WRAP(clEnqueueReadImage, read_image);
	OPENCL_WRAP(clEnqueueWriteImage, write_image);
	OPENCL_WRAP(clEnqueueCopyImage, copy_image);
	OPENCL_WRAP(clEnqueueCopyImageToBuffer, image_to_buffer);
	OPENCL_WRAP(clEnqueueCopyBufferToImage, buffer_to_image);
	OPENCL_WRAP(clEnqueueFillImage, fill_image);
	OPENCL_WRAP(clEnqueueMapBuffer, map_buffer);
	OPENCL_WRAP(clEnqueueMapImage, map_image);
	OPENCL_WRAP(clEnqueueUnmapMemObject, unmap);
	OPENCL_WRAP(clEnqueueMigrateMemObjects, migrate);
	OPENCL_WRAP(clEnqueueSVMMemcpy, svm_copy);
	OPENCL_WRAP(clEnqueueSVMMemFill, svm_fill);
	OPENCL_WRAP(clEnqueueSVMMap, svm_map);
	OPENCL_WRAP(clEnqueueSVMUnmap, svm_unmap);
	OPENCL_WRAP(clEnqueueSVMMigrateMem, svm_migrate);
	OPENCL_WRAP(clEnqueueSVMFree, svm_free);
}
