/* The part of the CUDA runtime API that the doubles have, written by hand after the real headers. */
#ifndef DOUBLES_CUDA_RUNTIME_H
#define DOUBLES_CUDA_RUNTIME_H

#include "cuda.h"

#ifndef CUDART_MAJOR
#define CUDART_MAJOR 13                 /* a few functions differ between 12 and 13 */
#endif

typedef int cudaError_t;
typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
typedef CUgraph cudaGraph_t;
typedef CUgraphExec cudaGraphExec_t;
typedef CUgraphNode cudaGraphNode_t;
typedef CUmemoryPool cudaMemPool_t;
typedef struct kernel *cudaKernel_t;
typedef struct { unsigned int x, y, z; } dim3;

enum { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInitializationError = 3,
	cudaErrorInsufficientDriver = 35, cudaErrorInvalidDeviceFunction = 98, cudaErrorNoDevice = 100, cudaErrorInvalidDevice = 101,
	cudaErrorNotReady = 600 };
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2, cudaStreamCaptureModeGlobal = 0, cudaStreamCaptureModeThreadLocal = 1,
	cudaStreamCaptureModeRelaxed = 2, cudaMemAttachGlobal = 1 };

struct cudaPointerAttributes {
	int type, device;               /* 0 unregistered, 1 host, 2 device, 3 managed */
	void *devicePointer, *hostPointer;
	long reserved[8];               /* 13 only; a caller of 12 gives the first 24 bytes */
};

typedef struct {
	dim3 gridDim, blockDim;
	size_t dynamicSmemBytes;
	cudaStream_t stream;
	void *attrs;
	unsigned int numAttrs;
} cudaLaunchConfig_t;

#define R(name, parameters) DOUBLES_EXPORT cudaError_t name parameters;
R(cudaMalloc, (void **pointer, size_t bytes))
R(cudaFree, (void *pointer))
R(cudaMallocHost, (void **pointer, size_t bytes))
R(cudaHostAlloc, (void **pointer, size_t bytes, unsigned int flags))
R(cudaFreeHost, (void *pointer))
R(cudaHostRegister, (void *pointer, size_t bytes, unsigned int flags))
R(cudaHostUnregister, (void *pointer))
R(cudaHostGetDevicePointer, (void **device, void *host, unsigned int flags))
R(cudaMallocManaged, (void **pointer, size_t bytes, unsigned int flags))
R(cudaMallocAsync, (void **pointer, size_t bytes, cudaStream_t stream))
R(cudaMallocAsync_ptsz, (void **pointer, size_t bytes, cudaStream_t stream))
R(cudaMallocFromPoolAsync, (void **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream))
R(cudaFreeAsync, (void *pointer, cudaStream_t stream))
R(cudaFreeAsync_ptsz, (void *pointer, cudaStream_t stream))
R(cudaMemcpy, (void *to, const void *from, size_t bytes, int kind))
R(cudaMemcpy_ptds, (void *to, const void *from, size_t bytes, int kind))
R(cudaMemcpyAsync, (void *to, const void *from, size_t bytes, int kind, cudaStream_t stream))
R(cudaMemcpyAsync_ptsz, (void *to, const void *from, size_t bytes, int kind, cudaStream_t stream))
R(cudaMemcpyPeer, (void *to, int to_device, const void *from, int from_device, size_t bytes))
R(cudaMemcpyPeerAsync, (void *to, int to_device, const void *from, int from_device, size_t bytes, cudaStream_t stream))
R(cudaMemcpy2D, (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind))
R(cudaMemcpy2DAsync, (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind,
	cudaStream_t stream))
R(cudaMemcpyToSymbol, (const void *symbol, const void *from, size_t bytes, size_t offset, int kind))
R(cudaMemset, (void *to, int value, size_t bytes))
R(cudaMemset_ptds, (void *to, int value, size_t bytes))
R(cudaMemsetAsync, (void *to, int value, size_t bytes, cudaStream_t stream))
R(cudaMemsetAsync_ptsz, (void *to, int value, size_t bytes, cudaStream_t stream))
R(cudaMemGetInfo, (size_t *available, size_t *total))
#if CUDART_MAJOR >= 13
R(cudaMemPrefetchAsync, (const void *pointer, size_t bytes, CUmemLocation location, unsigned int flags, cudaStream_t stream))
R(cudaStreamGetCaptureInfo, (cudaStream_t stream, int *status, unsigned long long *id, cudaGraph_t *graph,
	const cudaGraphNode_t **nodes, const void **edges, size_t *count))
#else
R(cudaMemPrefetchAsync, (const void *pointer, size_t bytes, int device, cudaStream_t stream))
R(cudaStreamGetCaptureInfo, (cudaStream_t stream, int *status, unsigned long long *id))
R(cudaStreamGetCaptureInfo_v2, (cudaStream_t stream, int *status, unsigned long long *id, cudaGraph_t *graph,
	const cudaGraphNode_t **nodes, size_t *count))
R(cudaGetDeviceProperties_v2, (void *properties, int device))
#endif
R(cudaPointerGetAttributes, (struct cudaPointerAttributes *attributes, const void *pointer))
R(cudaMemPoolCreate, (cudaMemPool_t *pool, const CUmemPoolProps *props))
R(cudaMemPoolDestroy, (cudaMemPool_t pool))
R(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t keep))
R(cudaMemPoolSetAttribute, (cudaMemPool_t pool, int attribute, void *value))
R(cudaMemPoolGetAttribute, (cudaMemPool_t pool, int attribute, void *value))
R(cudaDeviceGetDefaultMemPool, (cudaMemPool_t *pool, int device))
R(cudaDeviceSynchronize, (void))
R(cudaDeviceReset, (void))
R(cudaSetDevice, (int device))
R(cudaGetDevice, (int *device))
R(cudaGetDeviceCount, (int *count))
R(cudaGetDeviceProperties, (void *properties, int device))
R(cudaDeviceGetAttribute, (int *value, int attribute, int device))
R(cudaDeviceCanAccessPeer, (int *can, int device, int peer))
R(cudaDeviceEnablePeerAccess, (int peer, unsigned int flags))
R(cudaDeviceDisablePeerAccess, (int peer))
R(cudaDeviceGetPCIBusId, (char *id, int length, int device))
R(cudaDeviceGetStreamPriorityRange, (int *least, int *greatest))
R(cudaSetDeviceFlags, (unsigned int flags))
R(cudaInitDevice, (int device, unsigned int device_flags, unsigned int flags))
R(cudaThreadExchangeStreamCaptureMode, (int *mode))
R(cudaStreamCreate, (cudaStream_t *stream))
R(cudaStreamCreateWithFlags, (cudaStream_t *stream, unsigned int flags))
R(cudaStreamCreateWithPriority, (cudaStream_t *stream, unsigned int flags, int priority))
R(cudaStreamDestroy, (cudaStream_t stream))
R(cudaStreamSynchronize, (cudaStream_t stream))
R(cudaStreamSynchronize_ptsz, (cudaStream_t stream))
R(cudaStreamQuery, (cudaStream_t stream))
R(cudaStreamQuery_ptsz, (cudaStream_t stream))
R(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned int flags))
R(cudaStreamWaitEvent_ptsz, (cudaStream_t stream, cudaEvent_t event, unsigned int flags))
R(cudaStreamGetPriority, (cudaStream_t stream, int *priority))
R(cudaStreamGetFlags, (cudaStream_t stream, unsigned int *flags))
R(cudaStreamBeginCapture, (cudaStream_t stream, int mode))
R(cudaStreamBeginCapture_ptsz, (cudaStream_t stream, int mode))
R(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *graph))
R(cudaStreamEndCapture_ptsz, (cudaStream_t stream, cudaGraph_t *graph))
R(cudaStreamIsCapturing, (cudaStream_t stream, int *status))
R(cudaStreamIsCapturing_ptsz, (cudaStream_t stream, int *status))
R(cudaEventCreate, (cudaEvent_t *event))
R(cudaEventCreateWithFlags, (cudaEvent_t *event, unsigned int flags))
R(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream))
R(cudaEventRecord_ptsz, (cudaEvent_t event, cudaStream_t stream))
R(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned int flags))
R(cudaEventRecordWithFlags_ptsz, (cudaEvent_t event, cudaStream_t stream, unsigned int flags))
R(cudaEventQuery, (cudaEvent_t event))
R(cudaEventSynchronize, (cudaEvent_t event))
R(cudaEventElapsedTime, (float *milliseconds, cudaEvent_t start, cudaEvent_t end))
R(cudaEventDestroy, (cudaEvent_t event))
R(cudaLaunchKernel, (const void *function, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream))
R(cudaLaunchKernel_ptsz, (const void *function, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream))
R(cudaLaunchKernelExC, (const cudaLaunchConfig_t *config, const void *function, void **args))
R(cudaLaunchKernelExC_ptsz, (const cudaLaunchConfig_t *config, const void *function, void **args))
R(cudaLaunchCooperativeKernel, (const void *function, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream))
R(cudaLaunchHostFunc, (cudaStream_t stream, CUhostFn function, void *user))
R(cudaLaunchHostFunc_ptsz, (cudaStream_t stream, CUhostFn function, void *user))
R(cudaFuncGetAttributes, (void *attributes, const void *function))
R(cudaFuncSetAttribute, (const void *function, int attribute, int value))
R(cudaOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, const void *function, int block_size, size_t shared))
R(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, (int *blocks, const void *function, int block_size, size_t shared,
	unsigned int flags))
R(cudaGraphCreate, (cudaGraph_t *graph, unsigned int flags))
R(cudaGraphInstantiate, (cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags))
R(cudaGraphInstantiateWithFlags, (cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags))
R(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream))
R(cudaGraphLaunch_ptsz, (cudaGraphExec_t exec, cudaStream_t stream))
R(cudaGraphUpload, (cudaGraphExec_t exec, cudaStream_t stream))
R(cudaGraphExecDestroy, (cudaGraphExec_t exec))
R(cudaGraphDestroy, (cudaGraph_t graph))
R(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count))
R(cudaGetLastError, (void))
R(cudaPeekAtLastError, (void))
R(cudaRuntimeGetVersion, (int *version))
R(cudaDriverGetVersion, (int *version))
R(cudaProfilerStart, (void))
R(cudaProfilerStop, (void))
R(cudaGetDriverEntryPoint, (const char *symbol, void **function, unsigned long long flags, int *status))
R(cudaGetDriverEntryPointByVersion, (const char *symbol, void **function, unsigned int version, unsigned long long flags, int *status))
R(__cudaGetKernel, (cudaKernel_t *kernel, const void *function))
R(__cudaLaunchKernel, (cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream))
R(__cudaLaunchKernel_ptsz, (cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream))
R(__cudaPopCallConfiguration, (dim3 *grid, dim3 *block, size_t *shared, void *stream))
#undef R
DOUBLES_EXPORT const char *cudaGetErrorString(cudaError_t error);
DOUBLES_EXPORT const char *cudaGetErrorName(cudaError_t error);
DOUBLES_EXPORT unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
DOUBLES_EXPORT void **__cudaRegisterFatBinary(void *fatbin);
DOUBLES_EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
DOUBLES_EXPORT void __cudaUnregisterFatBinary(void **handle);
DOUBLES_EXPORT char __cudaInitModule(void **handle);
DOUBLES_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *tid,
	void *bid, dim3 *block, dim3 *grid, int *warp);
DOUBLES_EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes, int constant,
	int global);

#endif
