/* Activity records: how long they are in which release, and where their fields lie.  Numbers only, so that a test can hold them against
   the real headers.  A release is major * 100 + minor: 1209 is CUDA 12.9. */
#ifndef DOUBLES_CUPTI_LAYOUT_H
#define DOUBLES_CUPTI_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

enum activity_kind {
	KIND_MEMCPY = 1, KIND_MEMSET = 2, KIND_KERNEL = 3, KIND_DRIVER = 4, KIND_RUNTIME = 5, KIND_DEVICE = 8, KIND_CONTEXT = 9,
	KIND_CONCURRENT_KERNEL = 10, KIND_NAME = 11, KIND_MARKER = 12, KIND_MARKER_DATA = 13, KIND_OVERHEAD = 17, KIND_ENVIRONMENT = 20,
	KIND_MEMCPY2 = 22, KIND_FUNCTION = 26, KIND_MODULE = 27, KIND_CUDA_EVENT = 36, KIND_STREAM = 37, KIND_SYNCHRONIZATION = 38,
	KIND_EXTERNAL_CORRELATION = 39, KIND_NVLINK = 40, KIND_MEMORY = 45, KIND_INTERNAL_LAUNCH_API = 48, KIND_MEMORY2 = 49,
	KIND_MEMORY_POOL = 50, KIND_GRAPH_TRACE = 51, KIND_JIT = 52, KIND_DEVICE_GRAPH_TRACE = 53, KIND_MEM_DECOMPRESS = 54,
	KIND_CC_ROTATION = 55, KIND_GRAPH_HOST_NODE = 56, KIND_CTX_SWITCH = 57, KIND_HOST_LAUNCH = 58, KIND_GREEN_CONTEXT = 59,
	KIND_COUNT = 64,
	KIND_NEW = 61, KIND_FAR = 70            /* of LAYOUT_FUTURE */
};

/* The latest release that there is, and one that there is not: see the table of sizes. */
#define LAYOUT_LATEST 1304
#define LAYOUT_FUTURE 1309

/* 0 when the release has no such kind (or the double does not know it). */
size_t layout_size(int release, int kind);

/* What cuptiGetVersion says. */
uint32_t layout_version(int release);

/* FIELD(record, field, offset, width, since): field is its name in the real struct, since the size of the record that first has it. */
#define LAYOUT_FIELDS(FIELD) \
	FIELD(KERNEL, registersPerThread, 6, 2, 0) \
	FIELD(KERNEL, start, 16, 8, 0) \
	FIELD(KERNEL, end, 24, 8, 0) \
	FIELD(KERNEL, completed, 32, 8, 0) \
	FIELD(KERNEL, deviceId, 40, 4, 0) \
	FIELD(KERNEL, contextId, 44, 4, 0) \
	FIELD(KERNEL, streamId, 48, 4, 0) \
	FIELD(KERNEL, gridX, 52, 4, 0) \
	FIELD(KERNEL, gridY, 56, 4, 0) \
	FIELD(KERNEL, gridZ, 60, 4, 0) \
	FIELD(KERNEL, blockX, 64, 4, 0) \
	FIELD(KERNEL, blockY, 68, 4, 0) \
	FIELD(KERNEL, blockZ, 72, 4, 0) \
	FIELD(KERNEL, staticSharedMemory, 76, 4, 0) \
	FIELD(KERNEL, dynamicSharedMemory, 80, 4, 0) \
	FIELD(KERNEL, correlationId, 92, 4, 0) \
	FIELD(KERNEL, gridId, 96, 8, 0) \
	FIELD(KERNEL, name, 104, 8, 0) \
	FIELD(KERNEL, queued, 120, 8, 0) \
	FIELD(KERNEL, submitted, 128, 8, 0) \
	FIELD(KERNEL, launchType, 136, 1, 0) \
	FIELD(KERNEL, graphNodeId, 144, 8, 160) \
	FIELD(KERNEL, graphId, 156, 4, 160) \
	FIELD(KERNEL, channelID, 168, 4, 176) \
	FIELD(KERNEL, channelType, 172, 4, 176) \
	FIELD(KERNEL, clusterX, 176, 4, 200) \
	FIELD(KERNEL, clusterY, 180, 4, 200) \
	FIELD(KERNEL, clusterZ, 184, 4, 200) \
	FIELD(KERNEL, localMemoryTotal_v2, 192, 8, 200) \
	FIELD(KERNEL, isDeviceLaunched, 208, 1, 216) \
	FIELD(KERNEL, priority, 216, 4, 224) \
	FIELD(KERNEL, executionModel, 224, 4, 232) \
	FIELD(KERNEL, sourceGraphId, 232, 4, 248) \
	FIELD(KERNEL, sourceGraphNodeId, 240, 8, 248) \
	FIELD(MEMCPY, copyKind, 4, 1, 0) \
	FIELD(MEMCPY, srcKind, 5, 1, 0) \
	FIELD(MEMCPY, dstKind, 6, 1, 0) \
	FIELD(MEMCPY, flags, 7, 1, 0) \
	FIELD(MEMCPY, bytes, 8, 8, 0) \
	FIELD(MEMCPY, start, 16, 8, 0) \
	FIELD(MEMCPY, end, 24, 8, 0) \
	FIELD(MEMCPY, deviceId, 32, 4, 0) \
	FIELD(MEMCPY, contextId, 36, 4, 0) \
	FIELD(MEMCPY, streamId, 40, 4, 0) \
	FIELD(MEMCPY, correlationId, 44, 4, 0) \
	FIELD(MEMCPY, graphNodeId, 64, 8, 80) \
	FIELD(MEMCPY, graphId, 72, 4, 80) \
	FIELD(MEMCPY, channelID, 76, 4, 88) \
	FIELD(MEMCPY, channelType, 80, 4, 88) \
	FIELD(MEMCPY, copyCount, 88, 8, 96) \
	FIELD(MEMCPY, sourceGraphId, 96, 4, 112) \
	FIELD(MEMCPY, sourceGraphNodeId, 104, 8, 112) \
	FIELD(MEMCPY2, copyKind, 4, 1, 0) \
	FIELD(MEMCPY2, srcKind, 5, 1, 0) \
	FIELD(MEMCPY2, dstKind, 6, 1, 0) \
	FIELD(MEMCPY2, flags, 7, 1, 0) \
	FIELD(MEMCPY2, bytes, 8, 8, 0) \
	FIELD(MEMCPY2, start, 16, 8, 0) \
	FIELD(MEMCPY2, end, 24, 8, 0) \
	FIELD(MEMCPY2, deviceId, 32, 4, 0) \
	FIELD(MEMCPY2, contextId, 36, 4, 0) \
	FIELD(MEMCPY2, streamId, 40, 4, 0) \
	FIELD(MEMCPY2, srcDeviceId, 44, 4, 0) \
	FIELD(MEMCPY2, srcContextId, 48, 4, 0) \
	FIELD(MEMCPY2, dstDeviceId, 52, 4, 0) \
	FIELD(MEMCPY2, dstContextId, 56, 4, 0) \
	FIELD(MEMCPY2, correlationId, 60, 4, 0) \
	FIELD(MEMCPY2, graphNodeId, 72, 8, 0) \
	FIELD(MEMCPY2, graphId, 80, 4, 0) \
	FIELD(MEMCPY2, channelID, 84, 4, 0) \
	FIELD(MEMCPY2, channelType, 88, 4, 0) \
	FIELD(MEMSET, value, 4, 4, 0) \
	FIELD(MEMSET, bytes, 8, 8, 0) \
	FIELD(MEMSET, start, 16, 8, 0) \
	FIELD(MEMSET, end, 24, 8, 0) \
	FIELD(MEMSET, deviceId, 32, 4, 0) \
	FIELD(MEMSET, contextId, 36, 4, 0) \
	FIELD(MEMSET, streamId, 40, 4, 0) \
	FIELD(MEMSET, correlationId, 44, 4, 0) \
	FIELD(MEMSET, flags, 48, 2, 0) \
	FIELD(MEMSET, memoryKind, 50, 2, 0) \
	FIELD(MEMSET, graphNodeId, 64, 8, 80) \
	FIELD(MEMSET, graphId, 72, 4, 80) \
	FIELD(MEMSET, channelID, 76, 4, 88) \
	FIELD(MEMSET, channelType, 80, 4, 88) \
	FIELD(MEMSET, sourceGraphId, 88, 4, 104) \
	FIELD(MEMSET, sourceGraphNodeId, 96, 8, 104) \
	FIELD(API, cbid, 4, 4, 0) \
	FIELD(API, start, 8, 8, 0) \
	FIELD(API, end, 16, 8, 0) \
	FIELD(API, processId, 24, 4, 0) \
	FIELD(API, threadId, 28, 4, 0) \
	FIELD(API, correlationId, 32, 4, 0) \
	FIELD(API, returnValue, 36, 4, 0) \
	FIELD(SYNC, type, 4, 4, 0) \
	FIELD(SYNC, start, 8, 8, 0) \
	FIELD(SYNC, end, 16, 8, 0) \
	FIELD(SYNC, correlationId, 24, 4, 0) \
	FIELD(SYNC, contextId, 28, 4, 0) \
	FIELD(SYNC, streamId, 32, 4, 0) \
	FIELD(SYNC, cudaEventId, 36, 4, 0) \
	FIELD(SYNC, cudaEventSyncId, 40, 8, 56) \
	FIELD(SYNC, returnValue, 48, 4, 56) \
	FIELD(EVENT, correlationId, 4, 4, 0) \
	FIELD(EVENT, contextId, 8, 4, 0) \
	FIELD(EVENT, streamId, 12, 4, 0) \
	FIELD(EVENT, eventId, 16, 4, 0) \
	FIELD(EVENT, deviceId, 24, 4, 56) \
	FIELD(EVENT, deviceTimestamp, 40, 8, 56) \
	FIELD(EVENT, cudaEventSyncId, 48, 8, 56) \
	FIELD(GRAPH, correlationId, 4, 4, 0) \
	FIELD(GRAPH, start, 8, 8, 0) \
	FIELD(GRAPH, end, 16, 8, 0) \
	FIELD(GRAPH, deviceId, 24, 4, 0) \
	FIELD(GRAPH, graphId, 28, 4, 0) \
	FIELD(GRAPH, contextId, 32, 4, 0) \
	FIELD(GRAPH, streamId, 36, 4, 0) \
	FIELD(GRAPH, endDeviceId, 48, 4, 56) \
	FIELD(GRAPH, endContextId, 52, 4, 56) \
	FIELD(OVERHEAD, overheadKind, 4, 4, 0) \
	FIELD(OVERHEAD, objectKind, 8, 4, 0) \
	FIELD(OVERHEAD, objectId, 12, 12, 0) \
	FIELD(OVERHEAD, start, 24, 8, 0) \
	FIELD(OVERHEAD, end, 32, 8, 0) \
	FIELD(OVERHEAD, correlationId, 40, 4, 48) \
	FIELD(OVERHEAD, overheadData, 48, 8, 56) \
	FIELD(MEMORY2, memoryOperationType, 4, 4, 0) \
	FIELD(MEMORY2, memoryKind, 8, 4, 0) \
	FIELD(MEMORY2, correlationId, 12, 4, 0) \
	FIELD(MEMORY2, address, 16, 8, 0) \
	FIELD(MEMORY2, bytes, 24, 8, 0) \
	FIELD(MEMORY2, timestamp, 32, 8, 0) \
	FIELD(MEMORY2, processId, 48, 4, 0) \
	FIELD(MEMORY2, deviceId, 52, 4, 0) \
	FIELD(MEMORY2, contextId, 56, 4, 0) \
	FIELD(MEMORY2, streamId, 60, 4, 0) \
	FIELD(MEMORY2, name, 64, 8, 0) \
	FIELD(MEMORY2, isAsync, 72, 4, 0) \
	FIELD(MEMORY2, memoryPoolConfig, 80, 40, 0) \
	FIELD(MEMORY2, source, 120, 8, 128) \
	FIELD(POOL, memoryPoolOperationType, 4, 4, 0) \
	FIELD(POOL, memoryPoolType, 8, 4, 0) \
	FIELD(POOL, correlationId, 12, 4, 0) \
	FIELD(POOL, processId, 16, 4, 0) \
	FIELD(POOL, deviceId, 20, 4, 0) \
	FIELD(POOL, minBytesToKeep, 24, 8, 0) \
	FIELD(POOL, address, 32, 8, 0) \
	FIELD(POOL, size, 40, 8, 0) \
	FIELD(POOL, releaseThreshold, 48, 8, 0) \
	FIELD(POOL, timestamp, 56, 8, 0) \
	FIELD(POOL, utilizedSize, 64, 8, 0) \
	FIELD(EXTERNAL, externalKind, 4, 4, 0) \
	FIELD(EXTERNAL, externalId, 8, 8, 0) \
	FIELD(EXTERNAL, correlationId, 16, 4, 0) \
	FIELD(STREAM, contextId, 4, 4, 0) \
	FIELD(STREAM, streamId, 8, 4, 0) \
	FIELD(STREAM, priority, 12, 4, 0) \
	FIELD(STREAM, flag, 16, 4, 0) \
	FIELD(STREAM, correlationId, 20, 4, 0) \
	FIELD(CONTEXT, contextId, 4, 4, 0) \
	FIELD(CONTEXT, deviceId, 8, 4, 0) \
	FIELD(CONTEXT, computeApiKind, 12, 2, 0) \
	FIELD(CONTEXT, nullStreamId, 14, 2, 0) \
	FIELD(CONTEXT, numMultiprocessors, 22, 2, 32) \
	FIELD(CONTEXT, processId, 32, 8, 40) \
	FIELD(DEVICE, globalMemoryBandwidth, 8, 8, 0) \
	FIELD(DEVICE, globalMemorySize, 16, 8, 0) \
	FIELD(DEVICE, coreClockRate, 36, 4, 0) \
	FIELD(DEVICE, numMemcpyEngines, 40, 4, 0) \
	FIELD(DEVICE, numMultiprocessors, 44, 4, 0) \
	FIELD(DEVICE, computeCapabilityMajor, 104, 4, 0) \
	FIELD(DEVICE, computeCapabilityMinor, 108, 4, 0) \
	FIELD(DEVICE, id, 112, 4, 0) \
	FIELD(DEVICE, uuid, 120, 16, 0) \
	FIELD(DEVICE, name, 136, 8, 0) \
	FIELD(DEVICE, isCudaVisible, 144, 1, 0) \
	FIELD(ENVIRONMENT, deviceId, 4, 4, 0) \
	FIELD(ENVIRONMENT, timestamp, 8, 8, 0) \
	FIELD(ENVIRONMENT, environmentKind, 16, 4, 0) \
	FIELD(ENVIRONMENT, data, 20, 20, 0) \
	FIELD(ENVIRONMENT, smClock, 20, 4, 0) \
	FIELD(ENVIRONMENT, memoryClock, 24, 4, 0) \
	FIELD(ENVIRONMENT, pcieLinkGen, 28, 4, 0) \
	FIELD(ENVIRONMENT, pcieLinkWidth, 32, 4, 0) \
	FIELD(ENVIRONMENT, clocksThrottleReasons, 36, 4, 0) \
	FIELD(ENVIRONMENT, gpuTemperature, 20, 4, 0) \
	FIELD(ENVIRONMENT, power, 20, 4, 0) \
	FIELD(ENVIRONMENT, powerLimit, 24, 4, 0) \
	FIELD(ENVIRONMENT, fanSpeed, 20, 4, 0) \
	FIELD(NAME, objectKind, 4, 4, 0) \
	FIELD(NAME, objectId, 8, 12, 0) \
	FIELD(NAME, name, 24, 8, 0) \
	FIELD(MODULE, contextId, 4, 4, 0) \
	FIELD(MODULE, id, 8, 4, 0) \
	FIELD(MODULE, cubinSize, 12, 4, 0) \
	FIELD(MODULE, cubin, 16, 8, 0) \
	FIELD(HOSTLAUNCH, streamId, 4, 4, 0) \
	FIELD(HOSTLAUNCH, contextId, 8, 4, 0) \
	FIELD(HOSTLAUNCH, deviceId, 12, 4, 0) \
	FIELD(HOSTLAUNCH, correlationId, 16, 4, 0) \
	FIELD(HOSTLAUNCH, processId, 20, 4, 0) \
	FIELD(HOSTLAUNCH, threadId, 24, 4, 0) \
	FIELD(HOSTLAUNCH, start, 32, 8, 0) \
	FIELD(HOSTLAUNCH, end, 40, 8, 0) \
	FIELD(HOSTNODE, streamId, 4, 4, 0) \
	FIELD(HOSTNODE, contextId, 8, 4, 0) \
	FIELD(HOSTNODE, deviceId, 12, 4, 0) \
	FIELD(HOSTNODE, correlationId, 16, 4, 0) \
	FIELD(HOSTNODE, graphId, 20, 4, 0) \
	FIELD(HOSTNODE, graphNodeId, 24, 8, 0) \
	FIELD(HOSTNODE, processId, 32, 4, 0) \
	FIELD(HOSTNODE, threadId, 36, 4, 0) \
	FIELD(HOSTNODE, start, 40, 8, 0) \
	FIELD(HOSTNODE, end, 48, 8, 0)

enum layout_offset {
#define FIELD(record, field, offset, width, since) AT_##record##_##field = offset,
	LAYOUT_FIELDS(FIELD)
#undef FIELD
};
enum layout_width {
#define FIELD(record, field, offset, width, since) WIDTH_##record##_##field = width,
	LAYOUT_FIELDS(FIELD)
#undef FIELD
};

#endif
