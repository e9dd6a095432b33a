/* Memory, pools, copies and sets. */
#include "driver.h"

static CUresult allocate(enum memory_kind kind, size_t bytes, CUdeviceptr *pointer)
{
	struct CUctx_st *context = context_current();

	if (!pointer)
		return CUDA_ERROR_INVALID_VALUE;
	return context_ok(context) ? memory_new(kind, bytes, context, NULL, NULL, pointer) : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult allocate_host(void **pointer, size_t bytes)
{
	CUdeviceptr address;
	CUresult result;

	if (!pointer)
		return CUDA_ERROR_INVALID_VALUE;
	result = allocate(MEMORY_PINNED, bytes, &address);
	if (result == CUDA_SUCCESS)
		*pointer = (void *)(uintptr_t)address;
	return result;
}

/* A free waits for the device, as the real one does. */
static CUresult release(CUdeviceptr pointer, enum memory_kind kind)
{
	if (pointer && context_ok(context_current()))
		context_drain(context_current());
	return memory_free(pointer, kind, false, NULL);
}

static CUresult allocate_async(CUdeviceptr *pointer, size_t bytes, CUmemoryPool pool, CUstream handle)
{
	struct CUstream_st *stream;
	CUresult result = stream_find(handle, &stream);

	if (result != CUDA_SUCCESS || !pointer)
		return result ?: CUDA_ERROR_INVALID_VALUE;
	if (stream_capturing(stream)) {
		capture_spoil(stream);
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	pool = pool ? pool : stream->context->gpu->pool;
	return memory_new(MEMORY_DEVICE, bytes, stream->context, pool, stream, pointer);
}

static CUresult release_async(CUdeviceptr pointer, CUstream handle)
{
	struct CUstream_st *stream;
	CUresult result = stream_find(handle, &stream);

	if (result != CUDA_SUCCESS || !pointer)
		return result;
	return stream_capturing(stream) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : memory_free_later(pointer, stream);
}

static CUresult info(size_t *available, size_t *total)
{
	struct CUctx_st *context = context_current();

	if (!context_ok(context) || !available || !total)
		return CUDA_ERROR_INVALID_CONTEXT;
	*total = GPU_MEMORY;
	*available = GPU_MEMORY - context->gpu->used;
	return CUDA_SUCCESS;
}

static CUresult range(CUdeviceptr *base, size_t *bytes, CUdeviceptr pointer)
{
	struct memory_block block;

	if (!memory_find(pointer, &block))
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = block.start;
	if (bytes)
		*bytes = block.bytes;
	return CUDA_SUCCESS;
}

static CUresult attribute_of(void *data, int attribute, CUdeviceptr pointer)
{
	struct memory_block block;

	if (!data || !memory_find(pointer, &block))
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT: *(CUcontext *)data = block.context; break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned int *)data = block.kind == MEMORY_PINNED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)data = pointer; break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (block.kind == MEMORY_DEVICE)
			return CUDA_ERROR_INVALID_VALUE;
		*(void **)data = (void *)(uintptr_t)pointer;
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned int *)data = block.kind == MEMORY_MANAGED; break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)data = block.context->gpu->index; break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)data = block.start; break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)data = block.bytes; break;
	default: return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_SUCCESS;
}

static CUresult host_pointer(CUdeviceptr *device, void *host)
{
	struct memory_block block;

	if (!device || !memory_find(POINTER(host), &block) || block.kind != MEMORY_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	*device = POINTER(host);
	return CUDA_SUCCESS;
}

static CUresult register_host(void *pointer, size_t bytes)
{
	struct CUctx_st *context = context_current();

	return context_ok(context) ? memory_register(pointer, bytes, context) : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult pool_create(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	if (!pool || !props || !gpu_at(props->location.id))
		return CUDA_ERROR_INVALID_VALUE;
	return pool_new(gpu_at(props->location.id), pool);
}

static CUresult pool_value(CUmemoryPool pool, int attribute, void *value, bool set)
{
	uint64_t *place = pool_attribute(pool, attribute);

	if (!value || !pool_attribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD))
		return CUDA_ERROR_INVALID_VALUE;
	if (!place && set)
		return CUDA_SUCCESS;            /* the reuse policies, which make no difference here */
	if (!place)
		*(int *)value = 1;
	else if (set)
		*place = *(uint64_t *)value;
	else
		*(uint64_t *)value = *place;
	return CUDA_SUCCESS;
}

static CUresult copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream handle, bool async)
{
	struct CUstream_st *stream;

	return stream_find(handle, &stream) ?: work_copy(to, from, bytes, stream, async);
}

static CUresult copy_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes, CUstream handle,
	bool async)
{
	struct CUstream_st *stream;

	return stream_find(handle, &stream) ?: work_copy_peer(to, to_context, from, from_context, bytes, stream, async);
}

static CUresult set(CUdeviceptr to, unsigned int value, unsigned int element, size_t count, CUstream handle, bool async)
{
	struct CUstream_st *stream;

	return stream_find(handle, &stream) ?: work_set(to, value, element, count, stream, async);
}

static CUresult prefetch(CUdeviceptr pointer, CUstream handle)
{
	struct CUstream_st *stream;
	struct memory_block block;

	return stream_find(handle, &stream) ?: memory_find(pointer, &block) && block.kind == MEMORY_MANAGED ? CUDA_SUCCESS
		: CUDA_ERROR_INVALID_VALUE;
}

CALL(cuMemAlloc_v2, (CUdeviceptr *pointer, size_t bytes), allocate(MEMORY_DEVICE, bytes, pointer))
CALL(cuMemAllocManaged, (CUdeviceptr *pointer, size_t bytes, unsigned int flags),
	flags ? allocate(MEMORY_MANAGED, bytes, pointer) : CUDA_ERROR_INVALID_VALUE)
CALL(cuMemFree_v2, (CUdeviceptr pointer), release(pointer, MEMORY_DEVICE))
CALL(cuMemAllocHost_v2, (void **pointer, size_t bytes), allocate_host(pointer, bytes))
CALL(cuMemHostAlloc, (void **pointer, size_t bytes, unsigned int flags), ((void)flags, allocate_host(pointer, bytes)))
CALL(cuMemFreeHost, (void *pointer), release(POINTER(pointer), MEMORY_PINNED))
CALL(cuMemHostRegister_v2, (void *pointer, size_t bytes, unsigned int flags), ((void)flags, register_host(pointer, bytes)))
CALL(cuMemHostUnregister, (void *pointer), memory_unregister(pointer))
CALL(cuMemHostGetDevicePointer_v2, (CUdeviceptr *device, void *host, unsigned int flags), ((void)flags, host_pointer(device, host)))
CALL(cuMemGetInfo_v2, (size_t *available, size_t *total), info(available, total))
CALL(cuMemGetAddressRange_v2, (CUdeviceptr *base, size_t *bytes, CUdeviceptr pointer), range(base, bytes, pointer))
CALL(cuPointerGetAttribute, (void *data, int attribute, CUdeviceptr pointer), attribute_of(data, attribute, pointer))
CALL(cuMemPoolCreate, (CUmemoryPool *pool, const CUmemPoolProps *props), pool_create(pool, props))
CALL(cuMemPoolDestroy, (CUmemoryPool pool), pool_free(pool))
CALL(cuMemPoolTrimTo, (CUmemoryPool pool, size_t keep), pool_trim(pool, keep))
CALL(cuMemPoolSetAttribute, (CUmemoryPool pool, int attribute, void *value), pool_value(pool, attribute, value, true))
CALL(cuMemPoolGetAttribute, (CUmemoryPool pool, int attribute, void *value), pool_value(pool, attribute, value, false))
STREAM_CALL(cuMemAllocAsync, (CUdeviceptr *pointer, size_t bytes, CUstream stream), allocate_async(pointer, bytes, NULL, stream))
STREAM_CALL(cuMemAllocFromPoolAsync, (CUdeviceptr *pointer, size_t bytes, CUmemoryPool pool, CUstream stream),
	allocate_async(pointer, bytes, pool, stream))
STREAM_CALL(cuMemFreeAsync, (CUdeviceptr pointer, CUstream stream), release_async(pointer, stream))
STREAM_CALL(cuMemPrefetchAsync, (CUdeviceptr pointer, size_t bytes, CUdevice device, CUstream stream),
	((void)bytes, (void)device, prefetch(pointer, stream)))
STREAM_CALL(cuMemPrefetchAsync_v2, (CUdeviceptr pointer, size_t bytes, CUmemLocation location, unsigned int flags, CUstream stream),
	((void)bytes, (void)location, (void)flags, prefetch(pointer, stream)))
DEFAULT_CALL(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes), copy(to, from, bytes, stream, false))
DEFAULT_CALL(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes), copy(to, POINTER(from), bytes, stream, false))
DEFAULT_CALL(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes), copy(POINTER(to), from, bytes, stream, false))
DEFAULT_CALL(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes), copy(to, from, bytes, stream, false))
DEFAULT_CALL(cuMemcpyPeer, (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes),
	copy_peer(to, to_context, from, from_context, bytes, stream, false))
STREAM_CALL(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream), copy(to, from, bytes, stream, true))
STREAM_CALL(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),
	copy(to, POINTER(from), bytes, stream, true))
STREAM_CALL(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream),
	copy(POINTER(to), from, bytes, stream, true))
STREAM_CALL(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream), copy(to, from, bytes, stream, true))
STREAM_CALL(cuMemcpyPeerAsync, (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
	CUstream stream), copy_peer(to, to_context, from, from_context, bytes, stream, true))
DEFAULT_CALL(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t count), set(to, value, 1, count, stream, false))
DEFAULT_CALL(cuMemsetD32_v2, (CUdeviceptr to, unsigned int value, size_t count), set(to, value, 4, count, stream, false))
STREAM_CALL(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream), set(to, value, 1, count, stream, true))
STREAM_CALL(cuMemsetD32Async, (CUdeviceptr to, unsigned int value, size_t count, CUstream stream), set(to, value, 4, count, stream, true))
