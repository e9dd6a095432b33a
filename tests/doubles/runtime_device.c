/* Devices, versions, errors. */
#include "runtime.h"

#include <string.h>

#include "gpu_facts.h"

/* The properties that are filled, by their place in struct cudaDeviceProp; up to multiProcessorCount 12 and 13 agree.  The rest is 0. */
static void put(char *properties, size_t offset, int value)
{
	memcpy(properties + offset, &value, sizeof(value));
}

static cudaError_t properties_of(char *properties, int device, size_t size, size_t shift)
{
	size_t memory = GPU_MEMORY, shared = 49152, constants = 65536;
	CUdevice handle;
	cudaError_t error = cu.cuDeviceGet(&handle, device);

	if (error != cudaSuccess || !properties)
		return error ?: cudaErrorInvalidValue;
	memset(properties, 0, size);
	memcpy(properties, GPU_NAME, sizeof(GPU_NAME));
	(void)cu.cuDeviceGetUuid_v2((CUuuid *)(properties + 256), handle);
	memcpy(properties + 288, &memory, sizeof(memory));
	memcpy(properties + 296, &shared, sizeof(shared));
	put(properties, 304, 65536);
	put(properties, 308, 32);
	put(properties, 320, 1024);
	put(properties, 324, 1024);
	put(properties, 328, 1024);
	put(properties, 332, 64);
	put(properties, 336, 2147483647);
	put(properties, 340, 65535);
	put(properties, 344, 65535);
	if (!shift) {
		memcpy(properties + 352, &constants, sizeof(constants));
		put(properties, 360, GPU_MAJOR);
		put(properties, 364, GPU_MINOR);
		put(properties, 384, GPU_MULTIPROCESSORS);
		put(properties, 568, device + 1);
		put(properties, 588, 1);
		put(properties, 604, 2048);
	} else {
		memcpy(properties + 352, &constants, sizeof(constants));
		put(properties, 360, GPU_MAJOR);
		put(properties, 364, GPU_MINOR);
		put(properties, 388, GPU_MULTIPROCESSORS);
	}
	return cudaSuccess;
}

static cudaError_t set_device(int device)
{
	CUdevice handle;
	cudaError_t error = cu.cuDeviceGet(&handle, device);

	if (error != cudaSuccess)
		return error;
	runtime_set_device(device);
	return runtime_open(&error)->use_device(device);
}

static cudaError_t get_device(int *device)
{
	if (!device)
		return cudaErrorInvalidValue;
	*device = runtime_device();
	return cudaSuccess;
}

static cudaError_t peer(int device, bool enable)
{
	CUcontext context;
	cudaError_t error = cu.cuDevicePrimaryCtxRetain(&context, device);

	return error ?: enable ? cu.cuCtxEnablePeerAccess(context, 0) : cu.cuCtxDisablePeerAccess(context);
}

static cudaError_t reset(int device)
{
	cudaError_t error = cu.cuDevicePrimaryCtxReset_v2(device);

	if (error == cudaSuccess)
		kernels_reset(device);
	return error;
}

RUNTIME_EARLY(cudaGetDeviceCount, 3020, (int *count), cu.cuDeviceGetCount(count))
RUNTIME_EARLY(cudaSetDevice, 3020, (int device), set_device(device))
RUNTIME_EARLY(cudaGetDevice, 3020, (int *device), get_device(device))
RUNTIME_EARLY(cudaInitDevice, 12000, (int device, unsigned int device_flags, unsigned int flags),
	((void)device_flags, (void)flags, runtime_open(&error_)->use_device(device)))
RUNTIME_EARLY(cudaSetDeviceFlags, 3020, (unsigned int flags), cu.cuDevicePrimaryCtxSetFlags_v2(runtime_device(), flags))
RUNTIME_EARLY(cudaDeviceGetAttribute, 5000, (int *value, int attribute, int device), cu.cuDeviceGetAttribute(value, attribute, device))
RUNTIME_EARLY(cudaDeviceCanAccessPeer, 4000, (int *can, int device, int other), cu.cuDeviceCanAccessPeer(can, device, other))
RUNTIME_EARLY(cudaDeviceGetPCIBusId, 4010, (char *id, int length, int device), cu.cuDeviceGetPCIBusId(id, length, device))
RUNTIME_EARLY(cudaDeviceGetDefaultMemPool, 11020, (cudaMemPool_t *pool, int device), cu.cuDeviceGetDefaultMemPool(pool, device))
#if CUDART_MAJOR >= 13
RUNTIME_EARLY(cudaGetDeviceProperties, 12000, (void *properties, int device), properties_of(properties, device, 1008, 0))
#else
/* 12 has some fields that 13 dropped; the old form of it is shorter. */
RUNTIME_EARLY(cudaGetDeviceProperties, 3020, (void *properties, int device), properties_of(properties, device, 712, 4))
cudaError_t cudaGetDeviceProperties_v2(void *properties, int device)
{
	struct api_call call;
	cudaError_t error = runtime_begin(&call, CBID_cudaGetDeviceProperties_v12000, "cudaGetDeviceProperties_v12000", false);

	return runtime_end(&call, error ?: properties_of(properties, device, 1032, 4));
}
#endif
RUNTIME(cudaDeviceEnablePeerAccess, 4000, (int device, unsigned int flags), ((void)flags, peer(device, true)))
RUNTIME(cudaDeviceDisablePeerAccess, 4000, (int device), peer(device, false))
RUNTIME(cudaDeviceGetStreamPriorityRange, 5050, (int *least, int *greatest), cu.cuCtxGetStreamPriorityRange(least, greatest))
RUNTIME(cudaDeviceSynchronize, 3020, (void), cu.cuCtxSynchronize())
RUNTIME(cudaDeviceReset, 3020, (void), reset(runtime_device()))
RUNTIME(cudaProfilerStart, 4000, (void), cu.cuProfilerStart())
RUNTIME(cudaProfilerStop, 4000, (void), cu.cuProfilerStop())
RUNTIME_EARLY(cudaThreadExchangeStreamCaptureMode, 10010, (int *mode), cu.cuThreadExchangeStreamCaptureMode(mode))

cudaError_t cudaRuntimeGetVersion(int *version)
{
	if (!version)
		return cudaErrorInvalidValue;
	*version = CUDART_MAJOR * 1000;
	return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
	cudaError_t error;

	if (!version)
		return cudaErrorInvalidValue;
	*version = 0;
	return runtime_open(&error) ? cu.cuDriverGetVersion(version) : cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
	return runtime_last_error(true);
}

cudaError_t cudaPeekAtLastError(void)
{
	return runtime_last_error(false);
}

static const char *error_text(cudaError_t error, bool name)
{
	const char *text = NULL;
	cudaError_t opened;

	if (error == cudaErrorInsufficientDriver)
		return name ? "cudaErrorInsufficientDriver" : "CUDA driver version is insufficient for CUDA runtime version";
	if (error == cudaSuccess)
		return name ? "cudaSuccess" : "no error";
	if (runtime_open(&opened))
		(void)(name ? cu.cuGetErrorName : cu.cuGetErrorString)(error, &text);
	return text ? text : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
	return error_text(error, false);
}

const char *cudaGetErrorName(cudaError_t error)
{
	return error_text(error, true);
}

static cudaError_t entry_point(const char *symbol, void **function, int version, unsigned long long flags, int *status)
{
	int found;
	cudaError_t error = cu.cuGetProcAddress_v2(symbol, function, version, flags, &found);

	if (status)
		*status = found;
	return error;
}

RUNTIME_EARLY(cudaGetDriverEntryPoint, 11030, (const char *symbol, void **function, unsigned long long flags, int *status),
	entry_point(symbol, function, CUDART_MAJOR * 1000, flags, status))
RUNTIME_EARLY(cudaGetDriverEntryPointByVersion, 12050, (const char *symbol, void **function, unsigned int version,
	unsigned long long flags, int *status), entry_point(symbol, function, (int)version, flags, status))
