/* Devices and contexts. */
#include "driver.h"

#include <stdio.h>
#include <string.h>

static CUresult device_get(CUdevice *device, int ordinal)
{
	if (!device || !gpu_at(ordinal))
		return device ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

static CUresult device_count(int *count)
{
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = gpu_count();
	return CUDA_SUCCESS;
}

static CUresult device_text(char *text, int length, CUdevice device, const char *format, int number)
{
	if (!text || length <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!gpu_at(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (number)
		snprintf(text, (size_t)length, "0000:%02X:00.0", number);
	else
		snprintf(text, (size_t)length, "%s", format);
	return CUDA_SUCCESS;
}

static CUresult device_uuid(CUuuid *uuid, CUdevice device)
{
	static const CUuuid base = { GPU_UUID_BYTES };

	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	if (!gpu_at(device))
		return CUDA_ERROR_INVALID_DEVICE;
	*uuid = base;
	uuid->bytes[15] = (char)device;
	return CUDA_SUCCESS;
}

static CUresult device_memory(size_t *bytes, CUdevice device)
{
	if (!bytes || !gpu_at(device))
		return CUDA_ERROR_INVALID_VALUE;
	*bytes = GPU_MEMORY;
	return CUDA_SUCCESS;
}

/* CU_DEVICE_ATTRIBUTE_ by number; those that are not here are 0, as most real ones are. */
static const struct { int attribute, value; } attributes[] = {
	{ 1, 1024 }, { 2, 1024 }, { 3, 1024 }, { 4, 64 }, { 5, 2147483647 }, { 6, 65535 }, { 7, 65535 }, { 8, 49152 }, { 9, 65536 },
	{ 10, 32 }, { 12, 65536 }, { 13, 1980000 }, { 15, 1 }, { 16, GPU_MULTIPROCESSORS }, { 19, 1 }, { 31, 1 }, { 32, 1 },
	{ 36, 2619000 }, { 37, 5120 }, { 38, 52428800 }, { 39, 2048 }, { 40, 3 }, { 41, 1 }, { 75, GPU_MAJOR }, { 76, GPU_MINOR },
	{ 78, 1 }, { 81, 233472 }, { 82, 65536 }, { 83, 1 }, { 89, 1 }, { 95, 1 }, { 97, 232448 }, { 99, 1 }, { 106, 32 }, { 115, 1 },
	{ 120, 1 },
};

static CUresult device_attribute(int *value, int attribute, CUdevice device)
{
	if (!value || attribute <= 0 || attribute > 1000)
		return CUDA_ERROR_INVALID_VALUE;
	if (!gpu_at(device))
		return CUDA_ERROR_INVALID_DEVICE;
	*value = attribute == 33 ? device + 1 : 0;      /* PCI bus */
	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
		if (attributes[i].attribute == attribute)
			*value = attributes[i].value;
	return CUDA_SUCCESS;
}

static CUresult can_access(int *can, CUdevice device, CUdevice peer)
{
	if (!can || !gpu_at(device) || !gpu_at(peer))
		return CUDA_ERROR_INVALID_VALUE;
	*can = device != peer;
	return CUDA_SUCCESS;
}

static CUresult device_pool(CUmemoryPool *pool, CUdevice device, bool usual)
{
	struct gpu *gpu = gpu_at(device);

	if (!pool || !gpu)
		return CUDA_ERROR_INVALID_VALUE;
	*pool = usual ? gpu->default_pool : gpu->pool;
	return CUDA_SUCCESS;
}

static CUresult device_set_pool(CUdevice device, CUmemoryPool pool)
{
	struct gpu *gpu = gpu_at(device);

	if (!gpu || !pool_attribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD))
		return CUDA_ERROR_INVALID_VALUE;
	gpu->pool = pool;
	return CUDA_SUCCESS;
}

static CUresult primary_release(CUdevice device, bool reset)
{
	struct gpu *gpu = gpu_at(device);

	if (!gpu)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!gpu->primary)
		return reset ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
	if (!reset && --gpu->primary_users > 0)
		return CUDA_SUCCESS;
	context_free(gpu->primary);
	gpu->primary_users = 0;
	return CUDA_SUCCESS;
}

static CUresult primary_state(CUdevice device, unsigned int *flags, int *active)
{
	struct gpu *gpu = gpu_at(device);

	if (!gpu || !flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = gpu->primary_flags;
	*active = gpu->primary != NULL;
	return CUDA_SUCCESS;
}

static CUresult primary_flags(CUdevice device, unsigned int flags)
{
	struct gpu *gpu = gpu_at(device);

	if (!gpu)
		return CUDA_ERROR_INVALID_DEVICE;
	gpu->primary_flags = flags;
	return CUDA_SUCCESS;
}

CALL(cuDeviceGet, (CUdevice *device, int ordinal), device_get(device, ordinal))
CALL(cuDeviceGetCount, (int *count), device_count(count))
CALL(cuDeviceGetName, (char *name, int length, CUdevice device), device_text(name, length, device, GPU_NAME, 0))
CALL(cuDeviceGetPCIBusId, (char *id, int length, CUdevice device), device_text(id, length, device, "", device + 1))
CALL(cuDeviceGetUuid, (CUuuid *uuid, CUdevice device), device_uuid(uuid, device))
CALL(cuDeviceGetUuid_v2, (CUuuid *uuid, CUdevice device), device_uuid(uuid, device))
CALL(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device), device_memory(bytes, device))
CALL(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device), device_attribute(value, attribute, device))
CALL(cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer), can_access(can, device, peer))
CALL(cuDeviceGetDefaultMemPool, (CUmemoryPool *pool, CUdevice device), device_pool(pool, device, true))
CALL(cuDeviceGetMemPool, (CUmemoryPool *pool, CUdevice device), device_pool(pool, device, false))
CALL(cuDeviceSetMemPool, (CUdevice device, CUmemoryPool pool), device_set_pool(device, pool))
CALL(cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device), primary_retain(device, context))
CALL(cuDevicePrimaryCtxRelease_v2, (CUdevice device), primary_release(device, false))
CALL(cuDevicePrimaryCtxReset_v2, (CUdevice device), primary_release(device, true))
CALL(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned int *flags, int *active), primary_state(device, flags, active))
CALL(cuDevicePrimaryCtxSetFlags_v2, (CUdevice device, unsigned int flags), primary_flags(device, flags))
