/* cuGetProcAddress: names without suffix, with the version of the API that is meant, and whose stream 0 is.  Numbers are those of the
   real library for the functions we have (the typedefs of its headers carry them). */
#include "driver.h"

#include <string.h>

struct entry {
	const char *name;
	int version;                    /* the API in which this form of it appeared */
	uint64_t flags;                 /* 2: stream 0 is the thread's own */
	void *function;
};

#define ENTRY(name, version, flags, function) { #name, version, flags, (void *)(uintptr_t)function },
static const struct entry entries[] = {
	ENTRY(cuCtxCreate, 3020, 0, cuCtxCreate_v2)
	ENTRY(cuCtxCreate, 12050, 0, cuCtxCreate_v4)
	ENTRY(cuCtxDestroy, 4000, 0, cuCtxDestroy_v2)
	ENTRY(cuCtxDisablePeerAccess, 4000, 0, cuCtxDisablePeerAccess)
	ENTRY(cuCtxEnablePeerAccess, 4000, 0, cuCtxEnablePeerAccess)
	ENTRY(cuCtxGetApiVersion, 3020, 0, cuCtxGetApiVersion)
	ENTRY(cuCtxGetCurrent, 4000, 0, cuCtxGetCurrent)
	ENTRY(cuCtxGetDevice, 2000, 0, cuCtxGetDevice)
	ENTRY(cuCtxGetDevice, 13000, 0, cuCtxGetDevice_v2)
	ENTRY(cuCtxGetId, 12000, 0, cuCtxGetId)
	ENTRY(cuCtxGetStreamPriorityRange, 5050, 0, cuCtxGetStreamPriorityRange)
	ENTRY(cuCtxPopCurrent, 4000, 0, cuCtxPopCurrent_v2)
	ENTRY(cuCtxPushCurrent, 4000, 0, cuCtxPushCurrent_v2)
	ENTRY(cuCtxSetCurrent, 4000, 0, cuCtxSetCurrent)
	ENTRY(cuCtxSynchronize, 2000, 0, cuCtxSynchronize)
	ENTRY(cuCtxSynchronize, 13000, 0, cuCtxSynchronize_v2)
	ENTRY(cuDeviceCanAccessPeer, 4000, 0, cuDeviceCanAccessPeer)
	ENTRY(cuDeviceGet, 2000, 0, cuDeviceGet)
	ENTRY(cuDeviceGetAttribute, 2000, 0, cuDeviceGetAttribute)
	ENTRY(cuDeviceGetCount, 2000, 0, cuDeviceGetCount)
	ENTRY(cuDeviceGetDefaultMemPool, 11020, 0, cuDeviceGetDefaultMemPool)
	ENTRY(cuDeviceGetMemPool, 11020, 0, cuDeviceGetMemPool)
	ENTRY(cuDeviceGetName, 2000, 0, cuDeviceGetName)
	ENTRY(cuDeviceGetPCIBusId, 4010, 0, cuDeviceGetPCIBusId)
	ENTRY(cuDeviceGetUuid, 9020, 0, cuDeviceGetUuid)
	ENTRY(cuDeviceGetUuid, 11040, 0, cuDeviceGetUuid_v2)
	ENTRY(cuDevicePrimaryCtxGetState, 7000, 0, cuDevicePrimaryCtxGetState)
	ENTRY(cuDevicePrimaryCtxRelease, 11000, 0, cuDevicePrimaryCtxRelease_v2)
	ENTRY(cuDevicePrimaryCtxReset, 11000, 0, cuDevicePrimaryCtxReset_v2)
	ENTRY(cuDevicePrimaryCtxRetain, 7000, 0, cuDevicePrimaryCtxRetain)
	ENTRY(cuDevicePrimaryCtxSetFlags, 11000, 0, cuDevicePrimaryCtxSetFlags_v2)
	ENTRY(cuDeviceSetMemPool, 11020, 0, cuDeviceSetMemPool)
	ENTRY(cuDeviceTotalMem, 3020, 0, cuDeviceTotalMem_v2)
	ENTRY(cuDriverGetVersion, 2020, 0, cuDriverGetVersion)
	ENTRY(cuEventCreate, 2000, 0, cuEventCreate)
	ENTRY(cuEventDestroy, 4000, 0, cuEventDestroy_v2)
	ENTRY(cuEventElapsedTime, 2000, 0, cuEventElapsedTime)
	ENTRY(cuEventElapsedTime, 12080, 0, cuEventElapsedTime_v2)
	ENTRY(cuEventQuery, 2000, 0, cuEventQuery)
	ENTRY(cuEventRecord, 2000, 0, cuEventRecord)
	ENTRY(cuEventRecord, 7000, 2, cuEventRecord_ptsz)
	ENTRY(cuEventRecordWithFlags, 11010, 0, cuEventRecordWithFlags)
	ENTRY(cuEventRecordWithFlags, 11010, 2, cuEventRecordWithFlags_ptsz)
	ENTRY(cuEventSynchronize, 2000, 0, cuEventSynchronize)
	ENTRY(cuFuncGetAttribute, 2020, 0, cuFuncGetAttribute)
	ENTRY(cuFuncGetModule, 11000, 0, cuFuncGetModule)
	ENTRY(cuFuncGetName, 12030, 0, cuFuncGetName)
	ENTRY(cuFuncSetAttribute, 9000, 0, cuFuncSetAttribute)
	ENTRY(cuGetErrorName, 6000, 0, cuGetErrorName)
	ENTRY(cuGetErrorString, 6000, 0, cuGetErrorString)
	ENTRY(cuGetExportTable, 3000, 0, cuGetExportTable)
	ENTRY(cuGetProcAddress, 11030, 0, cuGetProcAddress)
	ENTRY(cuGetProcAddress, 12000, 0, cuGetProcAddress_v2)
	ENTRY(cuGraphAddEmptyNode, 10000, 0, cuGraphAddEmptyNode)
	ENTRY(cuGraphAddKernelNode, 12000, 0, cuGraphAddKernelNode_v2)
	ENTRY(cuGraphAddMemsetNode, 10000, 0, cuGraphAddMemsetNode)
	ENTRY(cuGraphCreate, 10000, 0, cuGraphCreate)
	ENTRY(cuGraphDestroy, 10000, 0, cuGraphDestroy)
	ENTRY(cuGraphExecDestroy, 10000, 0, cuGraphExecDestroy)
	ENTRY(cuGraphExecUpdate, 12000, 0, cuGraphExecUpdate_v2)
	ENTRY(cuGraphGetNodes, 10000, 0, cuGraphGetNodes)
	ENTRY(cuGraphInstantiate, 11000, 0, cuGraphInstantiate_v2)
	ENTRY(cuGraphInstantiateWithFlags, 11040, 0, cuGraphInstantiateWithFlags)
	ENTRY(cuGraphInstantiateWithParams, 12000, 0, cuGraphInstantiateWithParams)
	ENTRY(cuGraphLaunch, 10000, 0, cuGraphLaunch)
	ENTRY(cuGraphLaunch, 10000, 2, cuGraphLaunch_ptsz)
	ENTRY(cuGraphUpload, 11010, 0, cuGraphUpload)
	ENTRY(cuGraphUpload, 11010, 2, cuGraphUpload_ptsz)
	ENTRY(cuInit, 2000, 0, cuInit)
	ENTRY(cuKernelGetFunction, 12000, 0, cuKernelGetFunction)
	ENTRY(cuKernelGetName, 12030, 0, cuKernelGetName)
	ENTRY(cuLaunchCooperativeKernel, 9000, 0, cuLaunchCooperativeKernel)
	ENTRY(cuLaunchCooperativeKernel, 9000, 2, cuLaunchCooperativeKernel_ptsz)
	ENTRY(cuLaunchHostFunc, 10000, 0, cuLaunchHostFunc)
	ENTRY(cuLaunchHostFunc, 10000, 2, cuLaunchHostFunc_ptsz)
	ENTRY(cuLaunchKernel, 4000, 0, cuLaunchKernel)
	ENTRY(cuLaunchKernel, 7000, 2, cuLaunchKernel_ptsz)
	ENTRY(cuLaunchKernelEx, 11060, 0, cuLaunchKernelEx)
	ENTRY(cuLaunchKernelEx, 11060, 2, cuLaunchKernelEx_ptsz)
	ENTRY(cuLibraryGetKernel, 12000, 0, cuLibraryGetKernel)
	ENTRY(cuLibraryLoadData, 12000, 0, cuLibraryLoadData)
	ENTRY(cuLibraryUnload, 12000, 0, cuLibraryUnload)
	ENTRY(cuMemAlloc, 3020, 0, cuMemAlloc_v2)
	ENTRY(cuMemAllocAsync, 11020, 0, cuMemAllocAsync)
	ENTRY(cuMemAllocAsync, 11020, 2, cuMemAllocAsync_ptsz)
	ENTRY(cuMemAllocFromPoolAsync, 11020, 0, cuMemAllocFromPoolAsync)
	ENTRY(cuMemAllocFromPoolAsync, 11020, 2, cuMemAllocFromPoolAsync_ptsz)
	ENTRY(cuMemAllocHost, 3020, 0, cuMemAllocHost_v2)
	ENTRY(cuMemAllocManaged, 6000, 0, cuMemAllocManaged)
	ENTRY(cuMemFree, 3020, 0, cuMemFree_v2)
	ENTRY(cuMemFreeAsync, 11020, 0, cuMemFreeAsync)
	ENTRY(cuMemFreeAsync, 11020, 2, cuMemFreeAsync_ptsz)
	ENTRY(cuMemFreeHost, 2000, 0, cuMemFreeHost)
	ENTRY(cuMemGetAddressRange, 3020, 0, cuMemGetAddressRange_v2)
	ENTRY(cuMemGetInfo, 3020, 0, cuMemGetInfo_v2)
	ENTRY(cuMemHostAlloc, 2020, 0, cuMemHostAlloc)
	ENTRY(cuMemHostGetDevicePointer, 3020, 0, cuMemHostGetDevicePointer_v2)
	ENTRY(cuMemHostRegister, 6050, 0, cuMemHostRegister_v2)
	ENTRY(cuMemHostUnregister, 4000, 0, cuMemHostUnregister)
	ENTRY(cuMemPoolCreate, 11020, 0, cuMemPoolCreate)
	ENTRY(cuMemPoolDestroy, 11020, 0, cuMemPoolDestroy)
	ENTRY(cuMemPoolGetAttribute, 11020, 0, cuMemPoolGetAttribute)
	ENTRY(cuMemPoolSetAttribute, 11020, 0, cuMemPoolSetAttribute)
	ENTRY(cuMemPoolTrimTo, 11020, 0, cuMemPoolTrimTo)
	ENTRY(cuMemPrefetchAsync, 8000, 0, cuMemPrefetchAsync)
	ENTRY(cuMemPrefetchAsync, 8000, 2, cuMemPrefetchAsync_ptsz)
	ENTRY(cuMemPrefetchAsync, 12020, 0, cuMemPrefetchAsync_v2)
	ENTRY(cuMemPrefetchAsync, 12020, 2, cuMemPrefetchAsync_v2_ptsz)
	ENTRY(cuMemcpy, 4000, 0, cuMemcpy)
	ENTRY(cuMemcpy, 7000, 2, cuMemcpy_ptds)
	ENTRY(cuMemcpyAsync, 4000, 0, cuMemcpyAsync)
	ENTRY(cuMemcpyAsync, 7000, 2, cuMemcpyAsync_ptsz)
	ENTRY(cuMemcpyDtoD, 3020, 0, cuMemcpyDtoD_v2)
	ENTRY(cuMemcpyDtoD, 7000, 2, cuMemcpyDtoD_v2_ptds)
	ENTRY(cuMemcpyDtoDAsync, 3020, 0, cuMemcpyDtoDAsync_v2)
	ENTRY(cuMemcpyDtoDAsync, 7000, 2, cuMemcpyDtoDAsync_v2_ptsz)
	ENTRY(cuMemcpyDtoH, 3020, 0, cuMemcpyDtoH_v2)
	ENTRY(cuMemcpyDtoH, 7000, 2, cuMemcpyDtoH_v2_ptds)
	ENTRY(cuMemcpyDtoHAsync, 3020, 0, cuMemcpyDtoHAsync_v2)
	ENTRY(cuMemcpyDtoHAsync, 7000, 2, cuMemcpyDtoHAsync_v2_ptsz)
	ENTRY(cuMemcpyHtoD, 3020, 0, cuMemcpyHtoD_v2)
	ENTRY(cuMemcpyHtoD, 7000, 2, cuMemcpyHtoD_v2_ptds)
	ENTRY(cuMemcpyHtoDAsync, 3020, 0, cuMemcpyHtoDAsync_v2)
	ENTRY(cuMemcpyHtoDAsync, 7000, 2, cuMemcpyHtoDAsync_v2_ptsz)
	ENTRY(cuMemcpyPeer, 4000, 0, cuMemcpyPeer)
	ENTRY(cuMemcpyPeer, 7000, 2, cuMemcpyPeer_ptds)
	ENTRY(cuMemcpyPeerAsync, 4000, 0, cuMemcpyPeerAsync)
	ENTRY(cuMemcpyPeerAsync, 7000, 2, cuMemcpyPeerAsync_ptsz)
	ENTRY(cuMemsetD32, 3020, 0, cuMemsetD32_v2)
	ENTRY(cuMemsetD32, 7000, 2, cuMemsetD32_v2_ptds)
	ENTRY(cuMemsetD32Async, 3020, 0, cuMemsetD32Async)
	ENTRY(cuMemsetD32Async, 7000, 2, cuMemsetD32Async_ptsz)
	ENTRY(cuMemsetD8, 3020, 0, cuMemsetD8_v2)
	ENTRY(cuMemsetD8, 7000, 2, cuMemsetD8_v2_ptds)
	ENTRY(cuMemsetD8Async, 3020, 0, cuMemsetD8Async)
	ENTRY(cuMemsetD8Async, 7000, 2, cuMemsetD8Async_ptsz)
	ENTRY(cuModuleGetFunction, 2000, 0, cuModuleGetFunction)
	ENTRY(cuModuleGetGlobal, 3020, 0, cuModuleGetGlobal_v2)
	ENTRY(cuModuleGetLoadingMode, 11070, 0, cuModuleGetLoadingMode)
	ENTRY(cuModuleLoad, 2000, 0, cuModuleLoad)
	ENTRY(cuModuleLoadData, 2000, 0, cuModuleLoadData)
	ENTRY(cuModuleLoadDataEx, 2010, 0, cuModuleLoadDataEx)
	ENTRY(cuModuleUnload, 2000, 0, cuModuleUnload)
	ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, 0, cuOccupancyMaxActiveBlocksPerMultiprocessor)
	ENTRY(cuPointerGetAttribute, 4000, 0, cuPointerGetAttribute)
	ENTRY(cuProfilerStart, 4000, 0, cuProfilerStart)
	ENTRY(cuProfilerStop, 4000, 0, cuProfilerStop)
	ENTRY(cuStreamBeginCapture, 10010, 0, cuStreamBeginCapture_v2)
	ENTRY(cuStreamBeginCapture, 10010, 2, cuStreamBeginCapture_v2_ptsz)
	ENTRY(cuStreamCreate, 2000, 0, cuStreamCreate)
	ENTRY(cuStreamCreateWithPriority, 5050, 0, cuStreamCreateWithPriority)
	ENTRY(cuStreamDestroy, 4000, 0, cuStreamDestroy_v2)
	ENTRY(cuStreamEndCapture, 10000, 0, cuStreamEndCapture)
	ENTRY(cuStreamEndCapture, 10000, 2, cuStreamEndCapture_ptsz)
	ENTRY(cuStreamGetCaptureInfo, 11030, 0, cuStreamGetCaptureInfo_v2)
	ENTRY(cuStreamGetCaptureInfo, 11030, 2, cuStreamGetCaptureInfo_v2_ptsz)
	ENTRY(cuStreamGetCaptureInfo, 12030, 0, cuStreamGetCaptureInfo_v3)
	ENTRY(cuStreamGetCaptureInfo, 12030, 2, cuStreamGetCaptureInfo_v3_ptsz)
	ENTRY(cuStreamGetCtx, 9020, 0, cuStreamGetCtx)
	ENTRY(cuStreamGetCtx, 9020, 2, cuStreamGetCtx_ptsz)
	ENTRY(cuStreamGetFlags, 5050, 0, cuStreamGetFlags)
	ENTRY(cuStreamGetFlags, 7000, 2, cuStreamGetFlags_ptsz)
	ENTRY(cuStreamGetId, 12000, 0, cuStreamGetId)
	ENTRY(cuStreamGetId, 12000, 2, cuStreamGetId_ptsz)
	ENTRY(cuStreamGetPriority, 5050, 0, cuStreamGetPriority)
	ENTRY(cuStreamGetPriority, 7000, 2, cuStreamGetPriority_ptsz)
	ENTRY(cuStreamIsCapturing, 10000, 0, cuStreamIsCapturing)
	ENTRY(cuStreamIsCapturing, 10000, 2, cuStreamIsCapturing_ptsz)
	ENTRY(cuStreamQuery, 2000, 0, cuStreamQuery)
	ENTRY(cuStreamQuery, 7000, 2, cuStreamQuery_ptsz)
	ENTRY(cuStreamSynchronize, 2000, 0, cuStreamSynchronize)
	ENTRY(cuStreamSynchronize, 7000, 2, cuStreamSynchronize_ptsz)
	ENTRY(cuStreamWaitEvent, 3020, 0, cuStreamWaitEvent)
	ENTRY(cuStreamWaitEvent, 7000, 2, cuStreamWaitEvent_ptsz)
	ENTRY(cuThreadExchangeStreamCaptureMode, 10010, 0, cuThreadExchangeStreamCaptureMode)
};

/* The newest form that is not newer than VERSION; the thread's own streams only if they were asked for. */
static const struct entry *entry_find(const char *name, int version, uint64_t flags, bool *ret_known)
{
	const struct entry *best = NULL;

	*ret_known = false;
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		const struct entry *entry = &entries[i];

		if (strcmp(entry->name, name) != 0 || (entry->flags && !(flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)))
			continue;
		*ret_known = true;
		if (entry->version > version)
			continue;
		if (!best || entry->flags > best->flags || (entry->flags == best->flags && entry->version > best->version))
			best = entry;
	}
	return best;
}

static CUresult look_up(const char *name, void **function, int version, uint64_t flags, int *status)
{
	const struct entry *entry;
	bool known;

	if (!name || !function)
		return CUDA_ERROR_INVALID_VALUE;
	entry = entry_find(name, version, flags, &known);
	*function = entry ? entry->function : NULL;
	if (status)
		*status = entry ? CU_GET_PROC_ADDRESS_SUCCESS
			: known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return entry || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CALL_ALWAYS(cuGetProcAddress, (const char *symbol, void **function, int version, uint64_t flags),
	look_up(symbol, function, version, flags, NULL))
CALL_ALWAYS(cuGetProcAddress_v2, (const char *symbol, void **function, int version, uint64_t flags, int *status),
	look_up(symbol, function, version, flags, status))
