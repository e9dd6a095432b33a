/* The part of the CUDA driver API that the doubles have, written by hand after the headers of 13.0.  Names, values and layouts are
   those of the real one (double-real checks a few layouts); everything else is ours. */
#ifndef DOUBLES_CUDA_H
#define DOUBLES_CUDA_H

#include <stddef.h>
#include <stdint.h>

#ifndef DOUBLES_EXPORT
#define DOUBLES_EXPORT __attribute__((visibility("default")))
#endif

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUlib_st *CUlibrary;
typedef struct CUfunc_st *CUfunction;
typedef struct CUkern_st *CUkernel;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef void (*CUhostFn)(void *user);

typedef struct { char bytes[16]; } CUuuid;
typedef struct { int type, id; } CUmemLocation;

enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_IMAGE = 200,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
	CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
	CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
	CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
	CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_NOT_SUPPORTED = 801,
	CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
	CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
	CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
	CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
	CUDA_ERROR_CAPTURED_EVENT = 907,
	CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910,
	CUDA_ERROR_UNKNOWN = 999,
};

#define CU_STREAM_LEGACY ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)
#define CU_STREAM_NON_BLOCKING 1
#define CU_EVENT_DISABLE_TIMING 2
#define CU_MEMHOSTREGISTER_PORTABLE 1
#define CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM 2

enum { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2, CU_MEMORYTYPE_UNIFIED = 4 };
enum { CU_POINTER_ATTRIBUTE_CONTEXT = 1, CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2, CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
	CU_POINTER_ATTRIBUTE_HOST_POINTER = 4, CU_POINTER_ATTRIBUTE_IS_MANAGED = 8, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
	CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11, CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12 };
enum { CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6,
	CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7, CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8 };
enum { CU_GET_PROC_ADDRESS_SUCCESS = 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2 };
enum { CU_STREAM_CAPTURE_STATUS_NONE = 0, CU_STREAM_CAPTURE_STATUS_ACTIVE = 1, CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2 };

typedef struct {
	int allocType, handleTypes;
	CUmemLocation location;
	void *win32SecurityAttributes;
	size_t maxSize;
	unsigned short usage;
	unsigned char reserved[54];
} CUmemPoolProps;

enum { CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4 };
typedef struct {
	int id;
	char pad[4];
	union {
		char pad[64];
		int cooperative;
		struct { unsigned int x, y, z; } clusterDim;
	} value;
} CUlaunchAttribute;

typedef struct {
	unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
	CUstream hStream;
	CUlaunchAttribute *attrs;
	unsigned int numAttrs;
} CUlaunchConfig;

typedef struct {
	CUfunction func;
	unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
	void **kernelParams, **extra;
	CUkernel kern;
	CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;

typedef struct {
	CUdeviceptr dst;
	size_t pitch;
	unsigned int value, elementSize;
	size_t width, height;
} CUDA_MEMSET_NODE_PARAMS;

typedef struct {
	unsigned long long flags;
	CUstream hUploadStream;
	CUgraphNode hErrNode_out;
	int result_out;
} CUDA_GRAPH_INSTANTIATE_PARAMS;

typedef struct {
	int result;
	CUgraphNode errorNode, errorFromNode;
} CUgraphExecUpdateResultInfo;

/* Every function of the double's libcuda: F(name, parameters). */
#define CUDA_PLAIN(F) \
	F(cuInit, (unsigned int flags)) \
	F(cuDriverGetVersion, (int *version)) \
	F(cuGetErrorName, (CUresult error, const char **text)) \
	F(cuGetErrorString, (CUresult error, const char **text)) \
	F(cuDeviceGet, (CUdevice *device, int ordinal)) \
	F(cuDeviceGetCount, (int *count)) \
	F(cuDeviceGetName, (char *name, int length, CUdevice device)) \
	F(cuDeviceGetUuid, (CUuuid *uuid, CUdevice device)) \
	F(cuDeviceGetUuid_v2, (CUuuid *uuid, CUdevice device)) \
	F(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device)) \
	F(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device)) \
	F(cuDeviceGetPCIBusId, (char *id, int length, CUdevice device)) \
	F(cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer)) \
	F(cuDeviceGetDefaultMemPool, (CUmemoryPool *pool, CUdevice device)) \
	F(cuDeviceGetMemPool, (CUmemoryPool *pool, CUdevice device)) \
	F(cuDeviceSetMemPool, (CUdevice device, CUmemoryPool pool)) \
	F(cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device)) \
	F(cuDevicePrimaryCtxRelease_v2, (CUdevice device)) \
	F(cuDevicePrimaryCtxReset_v2, (CUdevice device)) \
	F(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned int *flags, int *active)) \
	F(cuDevicePrimaryCtxSetFlags_v2, (CUdevice device, unsigned int flags)) \
	F(cuCtxCreate_v2, (CUcontext *context, unsigned int flags, CUdevice device)) \
	F(cuCtxCreate_v4, (CUcontext *context, void *params, unsigned int flags, CUdevice device)) \
	F(cuCtxDestroy_v2, (CUcontext context)) \
	F(cuCtxSetCurrent, (CUcontext context)) \
	F(cuCtxGetCurrent, (CUcontext *context)) \
	F(cuCtxPushCurrent_v2, (CUcontext context)) \
	F(cuCtxPopCurrent_v2, (CUcontext *context)) \
	F(cuCtxGetDevice, (CUdevice *device)) \
	F(cuCtxGetDevice_v2, (CUdevice *device, CUcontext context)) \
	F(cuCtxSynchronize, (void)) \
	F(cuCtxSynchronize_v2, (CUcontext context)) \
	F(cuCtxGetApiVersion, (CUcontext context, unsigned int *version)) \
	F(cuCtxGetId, (CUcontext context, unsigned long long *id)) \
	F(cuCtxEnablePeerAccess, (CUcontext peer, unsigned int flags)) \
	F(cuCtxDisablePeerAccess, (CUcontext peer)) \
	F(cuCtxGetStreamPriorityRange, (int *least, int *greatest)) \
	F(cuStreamCreate, (CUstream *stream, unsigned int flags)) \
	F(cuStreamCreateWithPriority, (CUstream *stream, unsigned int flags, int priority)) \
	F(cuStreamDestroy_v2, (CUstream stream)) \
	F(cuThreadExchangeStreamCaptureMode, (int *mode)) \
	F(cuEventCreate, (CUevent *event, unsigned int flags)) \
	F(cuEventDestroy_v2, (CUevent event)) \
	F(cuEventQuery, (CUevent event)) \
	F(cuEventSynchronize, (CUevent event)) \
	F(cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent end)) \
	F(cuEventElapsedTime_v2, (float *milliseconds, CUevent start, CUevent end)) \
	F(cuMemAlloc_v2, (CUdeviceptr *pointer, size_t bytes)) \
	F(cuMemFree_v2, (CUdeviceptr pointer)) \
	F(cuMemAllocHost_v2, (void **pointer, size_t bytes)) \
	F(cuMemHostAlloc, (void **pointer, size_t bytes, unsigned int flags)) \
	F(cuMemFreeHost, (void *pointer)) \
	F(cuMemHostRegister_v2, (void *pointer, size_t bytes, unsigned int flags)) \
	F(cuMemHostUnregister, (void *pointer)) \
	F(cuMemHostGetDevicePointer_v2, (CUdeviceptr *device, void *host, unsigned int flags)) \
	F(cuMemAllocManaged, (CUdeviceptr *pointer, size_t bytes, unsigned int flags)) \
	F(cuMemGetInfo_v2, (size_t *available, size_t *total)) \
	F(cuMemGetAddressRange_v2, (CUdeviceptr *base, size_t *bytes, CUdeviceptr pointer)) \
	F(cuPointerGetAttribute, (void *data, int attribute, CUdeviceptr pointer)) \
	F(cuMemPoolCreate, (CUmemoryPool *pool, const CUmemPoolProps *props)) \
	F(cuMemPoolDestroy, (CUmemoryPool pool)) \
	F(cuMemPoolTrimTo, (CUmemoryPool pool, size_t keep)) \
	F(cuMemPoolSetAttribute, (CUmemoryPool pool, int attribute, void *value)) \
	F(cuMemPoolGetAttribute, (CUmemoryPool pool, int attribute, void *value)) \
	F(cuModuleLoad, (CUmodule *module, const char *file)) \
	F(cuModuleLoadData, (CUmodule *module, const void *image)) \
	F(cuModuleLoadDataEx, (CUmodule *module, const void *image, unsigned int count, int *options, void **values)) \
	F(cuModuleUnload, (CUmodule module)) \
	F(cuModuleGetFunction, (CUfunction *function, CUmodule module, const char *name)) \
	F(cuModuleGetGlobal_v2, (CUdeviceptr *pointer, size_t *bytes, CUmodule module, const char *name)) \
	F(cuModuleGetLoadingMode, (int *mode)) \
	F(cuLibraryLoadData, (CUlibrary *library, const void *code, int *joptions, void **jvalues, unsigned int jcount, int *options, \
		void **values, unsigned int count)) \
	F(cuLibraryUnload, (CUlibrary library)) \
	F(cuLibraryGetKernel, (CUkernel *kernel, CUlibrary library, const char *name)) \
	F(cuKernelGetFunction, (CUfunction *function, CUkernel kernel)) \
	F(cuKernelGetName, (const char **name, CUkernel kernel)) \
	F(cuFuncGetName, (const char **name, CUfunction function)) \
	F(cuFuncGetModule, (CUmodule *module, CUfunction function)) \
	F(cuFuncGetAttribute, (int *value, int attribute, CUfunction function)) \
	F(cuFuncSetAttribute, (CUfunction function, int attribute, int value)) \
	F(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, CUfunction function, int block_size, size_t shared)) \
	F(cuGraphCreate, (CUgraph *graph, unsigned int flags)) \
	F(cuGraphDestroy, (CUgraph graph)) \
	F(cuGraphAddKernelNode_v2, (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count, \
		const CUDA_KERNEL_NODE_PARAMS *params)) \
	F(cuGraphAddMemsetNode, (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count, \
		const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)) \
	F(cuGraphAddEmptyNode, (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count)) \
	F(cuGraphInstantiate_v2, (CUgraphExec *exec, CUgraph graph, CUgraphNode *error, char *log, size_t size)) \
	F(cuGraphInstantiateWithFlags, (CUgraphExec *exec, CUgraph graph, unsigned long long flags)) \
	F(cuGraphInstantiateWithParams, (CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)) \
	F(cuGraphExecDestroy, (CUgraphExec exec)) \
	F(cuGraphExecUpdate_v2, (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)) \
	F(cuGraphGetNodes, (CUgraph graph, CUgraphNode *nodes, size_t *count)) \
	F(cuGetProcAddress, (const char *symbol, void **function, int version, uint64_t flags)) \
	F(cuGetProcAddress_v2, (const char *symbol, void **function, int version, uint64_t flags, int *status)) \
	F(cuGetExportTable, (const void **table, const CUuuid *id)) \
	F(cuProfilerStart, (void)) \
	F(cuProfilerStop, (void))

/* Those that take a stream and so have a twin, NAME_ptsz, for which stream 0 is the thread's own. */
#define CUDA_STREAMED(F) \
	F(cuStreamSynchronize, (CUstream stream)) \
	F(cuStreamQuery, (CUstream stream)) \
	F(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags)) \
	F(cuStreamGetPriority, (CUstream stream, int *priority)) \
	F(cuStreamGetFlags, (CUstream stream, unsigned int *flags)) \
	F(cuStreamGetCtx, (CUstream stream, CUcontext *context)) \
	F(cuStreamGetId, (CUstream stream, unsigned long long *id)) \
	F(cuStreamBeginCapture_v2, (CUstream stream, int mode)) \
	F(cuStreamEndCapture, (CUstream stream, CUgraph *graph)) \
	F(cuStreamIsCapturing, (CUstream stream, int *status)) \
	F(cuStreamGetCaptureInfo_v2, (CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **dependencies, \
		size_t *count)) \
	F(cuStreamGetCaptureInfo_v3, (CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **dependencies, \
		const void **edges, size_t *count)) \
	F(cuEventRecord, (CUevent event, CUstream stream)) \
	F(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned int flags)) \
	F(cuMemAllocAsync, (CUdeviceptr *pointer, size_t bytes, CUstream stream)) \
	F(cuMemAllocFromPoolAsync, (CUdeviceptr *pointer, size_t bytes, CUmemoryPool pool, CUstream stream)) \
	F(cuMemFreeAsync, (CUdeviceptr pointer, CUstream stream)) \
	F(cuMemPrefetchAsync, (CUdeviceptr pointer, size_t bytes, CUdevice device, CUstream stream)) \
	F(cuMemPrefetchAsync_v2, (CUdeviceptr pointer, size_t bytes, CUmemLocation location, unsigned int flags, CUstream stream)) \
	F(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)) \
	F(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream)) \
	F(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream)) \
	F(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)) \
	F(cuMemcpyPeerAsync, (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes, CUstream stream)) \
	F(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream)) \
	F(cuMemsetD32Async, (CUdeviceptr to, unsigned int value, size_t count, CUstream stream)) \
	F(cuLaunchKernel, (CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by, \
		unsigned int bz, unsigned int shared, CUstream stream, void **params, void **extra)) \
	F(cuLaunchKernelEx, (const CUlaunchConfig *config, CUfunction function, void **params, void **extra)) \
	F(cuLaunchCooperativeKernel, (CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, \
		unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params)) \
	F(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void *user)) \
	F(cuGraphLaunch, (CUgraphExec exec, CUstream stream)) \
	F(cuGraphUpload, (CUgraphExec exec, CUstream stream))

/* Those that use the default stream without being told, and so have a twin NAME_ptds. */
#define CUDA_DEFAULTED(F) \
	F(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes)) \
	F(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes)) \
	F(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes)) \
	F(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes)) \
	F(cuMemcpyPeer, (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes)) \
	F(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t count)) \
	F(cuMemsetD32_v2, (CUdeviceptr to, unsigned int value, size_t count))

#define CUDA_DECLARE(name, parameters) DOUBLES_EXPORT CUresult name parameters;
#define CUDA_DECLARE_PTSZ(name, parameters) DOUBLES_EXPORT CUresult name parameters; DOUBLES_EXPORT CUresult name##_ptsz parameters;
#define CUDA_DECLARE_PTDS(name, parameters) DOUBLES_EXPORT CUresult name parameters; DOUBLES_EXPORT CUresult name##_ptds parameters;
CUDA_PLAIN(CUDA_DECLARE)
CUDA_STREAMED(CUDA_DECLARE_PTSZ)
CUDA_DEFAULTED(CUDA_DECLARE_PTDS)

#endif
