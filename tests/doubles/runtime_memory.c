/* Memory, copies and sets. */
#include "runtime.h"

#include <string.h>

static cudaError_t allocate(void **pointer, size_t bytes, unsigned int managed)
{
	CUdeviceptr address = 0;
	cudaError_t error;

	if (!pointer)
		return cudaErrorInvalidValue;
	if (!bytes) {
		*pointer = NULL;
		return cudaSuccess;
	}
	error = managed ? cu.cuMemAllocManaged(&address, bytes, managed) : cu.cuMemAlloc_v2(&address, bytes);
	if (error == cudaSuccess)
		*pointer = (void *)(uintptr_t)address;
	return error;
}

static cudaError_t host_pointer(void **device, void *host)
{
	CUdeviceptr address;
	cudaError_t error = cu.cuMemHostGetDevicePointer_v2(&address, host, 0);

	if (error == cudaSuccess)
		*device = (void *)(uintptr_t)address;
	return error;
}

/* The direction is the caller's word, as with the real one: it decides which function of the driver is called. */
static cudaError_t copy(void *to, const void *from, size_t bytes, int kind, bool own)
{
	switch (kind) {
	case cudaMemcpyHostToDevice: return (own ? cu.cuMemcpyHtoD_v2_ptds : cu.cuMemcpyHtoD_v2)(ADDRESS(to), from, bytes);
	case cudaMemcpyDeviceToHost: return (own ? cu.cuMemcpyDtoH_v2_ptds : cu.cuMemcpyDtoH_v2)(to, ADDRESS(from), bytes);
	case cudaMemcpyDeviceToDevice: return (own ? cu.cuMemcpyDtoD_v2_ptds : cu.cuMemcpyDtoD_v2)(ADDRESS(to), ADDRESS(from), bytes);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault: return (own ? cu.cuMemcpy_ptds : cu.cuMemcpy)(ADDRESS(to), ADDRESS(from), bytes);
	default: return 21;     /* cudaErrorInvalidMemcpyDirection */
	}
}

static cudaError_t copy_async(void *to, const void *from, size_t bytes, int kind, cudaStream_t stream)
{
	switch (kind) {
	case cudaMemcpyHostToDevice: return cu.cuMemcpyHtoDAsync_v2(ADDRESS(to), from, bytes, stream);
	case cudaMemcpyDeviceToHost: return cu.cuMemcpyDtoHAsync_v2(to, ADDRESS(from), bytes, stream);
	case cudaMemcpyDeviceToDevice: return cu.cuMemcpyDtoDAsync_v2(ADDRESS(to), ADDRESS(from), bytes, stream);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault: return cu.cuMemcpyAsync(ADDRESS(to), ADDRESS(from), bytes, stream);
	default: return 21;
	}
}

/* Rows one by one: a real one is a single operation, for which the driver API would need its struct of a dozen fields. */
static cudaError_t copy_rows(char *to, size_t to_pitch, const char *from, size_t from_pitch, size_t width, size_t height, int kind,
	cudaStream_t stream, bool async)
{
	cudaError_t error = width > to_pitch || width > from_pitch ? 12 : cudaSuccess;

	for (size_t i = 0; i < height && error == cudaSuccess; i++)
		error = async ? copy_async(to + i * to_pitch, from + i * from_pitch, width, kind, stream)
			: copy(to + i * to_pitch, from + i * from_pitch, width, kind, false);
	return error;
}

static cudaError_t copy_peer(void *to, int to_device, const void *from, int from_device, size_t bytes, cudaStream_t stream, bool async)
{
	CUcontext to_context, from_context;
	cudaError_t error = cu.cuDevicePrimaryCtxRetain(&to_context, to_device) ?: cu.cuDevicePrimaryCtxRetain(&from_context, from_device);

	if (error != cudaSuccess)
		return error;
	return async ? cu.cuMemcpyPeerAsync(ADDRESS(to), to_context, ADDRESS(from), from_context, bytes, stream)
		: cu.cuMemcpyPeer(ADDRESS(to), to_context, ADDRESS(from), from_context, bytes);
}

static cudaError_t copy_to_symbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind)
{
	CUdeviceptr address;
	cudaError_t error = variable_address(symbol, &address);

	return error ?: copy((void *)(uintptr_t)(address + offset), from, bytes, kind, false);
}

static cudaError_t attributes_of(struct cudaPointerAttributes *attributes, const void *pointer)
{
	unsigned int type = 0, managed = 0;
	size_t size = CUDART_MAJOR >= 13 ? sizeof(*attributes) : offsetof(struct cudaPointerAttributes, reserved);

	if (!attributes)
		return cudaErrorInvalidValue;
	memset(attributes, 0, size);
	attributes->device = -1;
	if (cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ADDRESS(pointer)) != CUDA_SUCCESS) {
		attributes->hostPointer = (void *)(uintptr_t)pointer;
		return cudaSuccess;
	}
	(void)cu.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, ADDRESS(pointer));
	(void)cu.cuPointerGetAttribute(&attributes->device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, ADDRESS(pointer));
	attributes->type = managed ? 3 : (int)type;
	attributes->devicePointer = (void *)(uintptr_t)pointer;
	if (managed || type == CU_MEMORYTYPE_HOST)
		attributes->hostPointer = (void *)(uintptr_t)pointer;
	return cudaSuccess;
}

static cudaError_t allocate_async(void **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
	CUdeviceptr address = 0;
	cudaError_t error = pool ? cu.cuMemAllocFromPoolAsync(&address, bytes, pool, stream) : cu.cuMemAllocAsync(&address, bytes, stream);

	if (error == cudaSuccess)
		*pointer = (void *)(uintptr_t)address;
	return error;
}

static cudaStream_t own(cudaStream_t stream)
{
	return stream ? stream : CU_STREAM_PER_THREAD;
}

RUNTIME(cudaMalloc, 3020, (void **pointer, size_t bytes), allocate(pointer, bytes, 0))
RUNTIME(cudaMallocManaged, 6000, (void **pointer, size_t bytes, unsigned int flags), allocate(pointer, bytes, flags))
RUNTIME(cudaFree, 3020, (void *pointer), pointer ? cu.cuMemFree_v2(ADDRESS(pointer)) : cudaSuccess)
RUNTIME(cudaMallocHost, 3020, (void **pointer, size_t bytes), cu.cuMemAllocHost_v2(pointer, bytes))
RUNTIME(cudaHostAlloc, 3020, (void **pointer, size_t bytes, unsigned int flags), cu.cuMemHostAlloc(pointer, bytes, flags))
RUNTIME(cudaFreeHost, 3020, (void *pointer), pointer ? cu.cuMemFreeHost(pointer) : cudaSuccess)
RUNTIME(cudaHostRegister, 4000, (void *pointer, size_t bytes, unsigned int flags), cu.cuMemHostRegister_v2(pointer, bytes, flags))
RUNTIME(cudaHostUnregister, 4000, (void *pointer), cu.cuMemHostUnregister(pointer))
RUNTIME(cudaHostGetDevicePointer, 3020, (void **device, void *host, unsigned int flags), ((void)flags, host_pointer(device, host)))
RUNTIME(cudaMallocAsync, 11020, (void **pointer, size_t bytes, cudaStream_t stream), allocate_async(pointer, bytes, NULL, stream))
RUNTIME(cudaMallocAsync_ptsz, 11020, (void **pointer, size_t bytes, cudaStream_t stream), allocate_async(pointer, bytes, NULL, own(stream)))
RUNTIME(cudaMallocFromPoolAsync, 11020, (void **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
	allocate_async(pointer, bytes, pool, stream))
RUNTIME(cudaFreeAsync, 11020, (void *pointer, cudaStream_t stream), cu.cuMemFreeAsync(ADDRESS(pointer), stream))
RUNTIME(cudaFreeAsync_ptsz, 11020, (void *pointer, cudaStream_t stream), cu.cuMemFreeAsync_ptsz(ADDRESS(pointer), stream))
RUNTIME(cudaMemcpy, 3020, (void *to, const void *from, size_t bytes, int kind), copy(to, from, bytes, kind, false))
RUNTIME(cudaMemcpy_ptds, 7000, (void *to, const void *from, size_t bytes, int kind), copy(to, from, bytes, kind, true))
RUNTIME(cudaMemcpyAsync, 3020, (void *to, const void *from, size_t bytes, int kind, cudaStream_t stream),
	copy_async(to, from, bytes, kind, stream))
RUNTIME(cudaMemcpyAsync_ptsz, 7000, (void *to, const void *from, size_t bytes, int kind, cudaStream_t stream),
	copy_async(to, from, bytes, kind, own(stream)))
RUNTIME(cudaMemcpyPeer, 4000, (void *to, int to_device, const void *from, int from_device, size_t bytes),
	copy_peer(to, to_device, from, from_device, bytes, NULL, false))
RUNTIME(cudaMemcpyPeerAsync, 4000, (void *to, int to_device, const void *from, int from_device, size_t bytes, cudaStream_t stream),
	copy_peer(to, to_device, from, from_device, bytes, stream, true))
RUNTIME(cudaMemcpy2D, 3020, (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind),
	copy_rows(to, to_pitch, from, from_pitch, width, height, kind, NULL, false))
RUNTIME(cudaMemcpy2DAsync, 3020, (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind,
	cudaStream_t stream), copy_rows(to, to_pitch, from, from_pitch, width, height, kind, stream, true))
RUNTIME(cudaMemcpyToSymbol, 3020, (const void *symbol, const void *from, size_t bytes, size_t offset, int kind),
	copy_to_symbol(symbol, from, bytes, offset, kind))
RUNTIME(cudaMemset, 3020, (void *to, int value, size_t bytes), cu.cuMemsetD8_v2(ADDRESS(to), (unsigned char)value, bytes))
RUNTIME(cudaMemset_ptds, 7000, (void *to, int value, size_t bytes), cu.cuMemsetD8_v2_ptds(ADDRESS(to), (unsigned char)value, bytes))
RUNTIME(cudaMemsetAsync, 3020, (void *to, int value, size_t bytes, cudaStream_t stream),
	cu.cuMemsetD8Async(ADDRESS(to), (unsigned char)value, bytes, stream))
RUNTIME(cudaMemsetAsync_ptsz, 7000, (void *to, int value, size_t bytes, cudaStream_t stream),
	cu.cuMemsetD8Async_ptsz(ADDRESS(to), (unsigned char)value, bytes, stream))
RUNTIME(cudaMemGetInfo, 3020, (size_t *available, size_t *total), cu.cuMemGetInfo_v2(available, total))
#if CUDART_MAJOR >= 13
RUNTIME(cudaMemPrefetchAsync, 12020, (const void *pointer, size_t bytes, CUmemLocation location, unsigned int flags, cudaStream_t stream),
	cu.cuMemPrefetchAsync_v2(ADDRESS(pointer), bytes, location, flags, stream))
#else
RUNTIME(cudaMemPrefetchAsync, 8000, (const void *pointer, size_t bytes, int device, cudaStream_t stream),
	cu.cuMemPrefetchAsync(ADDRESS(pointer), bytes, device, stream))
#endif
RUNTIME(cudaPointerGetAttributes, 4000, (struct cudaPointerAttributes *attributes, const void *pointer),
	attributes_of(attributes, pointer))
RUNTIME(cudaMemPoolCreate, 11020, (cudaMemPool_t *pool, const CUmemPoolProps *props), cu.cuMemPoolCreate(pool, props))
RUNTIME(cudaMemPoolDestroy, 11020, (cudaMemPool_t pool), cu.cuMemPoolDestroy(pool))
RUNTIME(cudaMemPoolTrimTo, 11020, (cudaMemPool_t pool, size_t keep), cu.cuMemPoolTrimTo(pool, keep))
RUNTIME(cudaMemPoolSetAttribute, 11020, (cudaMemPool_t pool, int attribute, void *value), cu.cuMemPoolSetAttribute(pool, attribute, value))
RUNTIME(cudaMemPoolGetAttribute, 11020, (cudaMemPool_t pool, int attribute, void *value), cu.cuMemPoolGetAttribute(pool, attribute, value))
