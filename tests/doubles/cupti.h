/* The part of CUPTI that the doubles have, written by hand after the real headers. */
#ifndef DOUBLES_CUPTI_H
#define DOUBLES_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda.h"

typedef int CUptiResult;
typedef struct subscriber *CUpti_SubscriberHandle;
typedef void (*CUpti_CallbackFunc)(void *user, int domain, uint32_t cbid, const void *data);
typedef void (*CUpti_BuffersCallbackRequestFunc)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*CUpti_BuffersCallbackCompleteFunc)(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
typedef uint64_t (*CUpti_TimestampCallbackFunc)(void);

enum {
	CUPTI_SUCCESS = 0, CUPTI_ERROR_INVALID_PARAMETER = 1, CUPTI_ERROR_INVALID_CONTEXT = 3, CUPTI_ERROR_INVALID_OPERATION = 7,
	CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT = 10, CUPTI_ERROR_MAX_LIMIT_REACHED = 12, CUPTI_ERROR_NOT_COMPATIBLE = 14,
	CUPTI_ERROR_NOT_INITIALIZED = 15, CUPTI_ERROR_QUEUE_EMPTY = 18, CUPTI_ERROR_INVALID_STREAM = 20, CUPTI_ERROR_INVALID_KIND = 21,
	CUPTI_ERROR_NOT_SUPPORTED = 27, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39, CUPTI_ERROR_UNKNOWN = 999
};

enum { CUPTI_CB_DOMAIN_DRIVER_API = 1, CUPTI_CB_DOMAIN_RUNTIME_API = 2, CUPTI_CB_DOMAIN_RESOURCE = 3, CUPTI_CB_DOMAIN_SYNCHRONIZE = 4,
	CUPTI_CB_DOMAIN_NVTX = 5, CUPTI_CB_DOMAIN_STATE = 6, CUPTI_CB_DOMAIN_SIZE = 7 };
enum { CUPTI_API_ENTER = 0, CUPTI_API_EXIT = 1 };
enum { CUPTI_ACTIVITY_FLAG_FLUSH_FORCED = 1 };

enum { ATTR_DEVICE_BUFFER_SIZE = 0, ATTR_DEVICE_BUFFER_SIZE_CDP = 1, ATTR_DEVICE_BUFFER_POOL_LIMIT = 2,
	ATTR_PROFILING_SEMAPHORE_POOL_SIZE = 3, ATTR_PROFILING_SEMAPHORE_POOL_LIMIT = 4, ATTR_ZEROED_OUT_ACTIVITY_BUFFER = 5,
	ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE = 6, ATTR_PROFILING_SEMAPHORE_PRE_ALLOCATE_VALUE = 7,
	ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED = 8, ATTR_PER_THREAD_ACTIVITY_BUFFER = 9, ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS = 10,
	ATTR_USER_DEFINED_RECORDS = 11, ATTR_MULTIPLE_SUBSCRIBER_STATE = 12, ATTR_ENABLE_HES = 13, ATTR_KERNEL_LATENCY_TIMESTAMPS = 15,
	ATTR_ALL_SYNC_RECORDS = 16, ATTR_CUDA_EVENT_DEVICE_TIMESTAMPS = 17, ATTR_MULTI_SUBSCRIBER_GRAPH_TRACE = 20,
	ATTR_THREAD_ID_TYPE = 21, ATTR_TIMESTAMP_CALLBACK = 22, ATTR_COUNT = 24 };

typedef struct { uint32_t kind; } CUpti_Activity;

typedef struct {
	int callbackSite;
	const char *functionName;
	const void *functionParams;     /* always NULL here */
	void *functionReturnValue;
	const char *symbolName;
	CUcontext context;
	uint32_t contextUid;
	uint64_t *correlationData;
	uint32_t correlationId;
} CUpti_CallbackData;

typedef struct {
	CUcontext context;
	CUstream stream;                /* a union of one in the real header */
	void *resourceDescriptor;
} CUpti_ResourceData;

typedef struct { CUcontext context; CUstream stream; } CUpti_SynchronizeData;

typedef struct {
	size_t structSize;
	const char *subscriberName;
	char *oldSubscriberName;
	size_t oldSubscriberSize;
	uint8_t allowMultipleSubscribers;       /* from 13.2 */
	uint8_t padding[7];
} CUpti_SubscriberParams;

typedef struct { size_t structSize; } CUpti_BufferCallbackRequestInfo;
typedef struct { size_t structSize; uint64_t threadId; void **ppRecordLayouts; size_t numRecordLayouts; } CUpti_BufferCallbackCompleteInfo;
typedef struct { size_t structSize, numFields; int *pFieldIds; } CUpti_ActivityFieldSelection;
typedef struct { size_t structSize; CUpti_ActivityFieldSelection fieldSelection; void *pKindOptions; } CUpti_ActivityConfig;
typedef void (*CUpti_BuffersCallbackRequestFunc_v2)(uint8_t **buffer, size_t *size, size_t *max_records,
	CUpti_BufferCallbackRequestInfo *info);
typedef void (*CUpti_BuffersCallbackCompleteFunc_v2)(uint8_t *buffer, size_t size, size_t valid, CUpti_BufferCallbackCompleteInfo *info);

/* Every function of the double's libcupti: F(name, parameters).  cupti.symbols says which release has which. */
#define CUPTI_FUNCTIONS(F) \
	F(cuptiGetVersion, (uint32_t *version)) \
	F(cuptiGetResultString, (CUptiResult result, const char **text)) \
	F(cuptiGetErrorMessage, (CUptiResult result, const char **text)) \
	F(cuptiGetLastError, (void)) \
	F(cuptiGetTimestamp, (uint64_t *timestamp)) \
	F(cuptiGetTimestamp_v2, (CUpti_SubscriberHandle subscriber, uint64_t *timestamp)) \
	F(cuptiGetContextId, (CUcontext context, uint32_t *id)) \
	F(cuptiGetDeviceId, (CUcontext context, uint32_t *id)) \
	F(cuptiGetStreamId, (CUcontext context, CUstream stream, uint32_t *id)) \
	F(cuptiGetStreamIdEx, (CUcontext context, CUstream stream, uint8_t per_thread, uint32_t *id)) \
	F(cuptiGetGraphNodeId, (CUgraphNode node, uint64_t *id)) \
	F(cuptiGetGraphId, (CUgraph graph, uint32_t *id)) \
	F(cuptiGetGraphExecId, (CUgraphExec exec, uint32_t *id)) \
	F(cuptiGetCudaEventId, (CUevent event, uint32_t *id)) \
	F(cuptiSubscribe, (CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *user)) \
	F(cuptiSubscribe_v2, (CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *user, CUpti_SubscriberParams *params)) \
	F(cuptiUnsubscribe, (CUpti_SubscriberHandle subscriber)) \
	F(cuptiEnableCallback, (uint32_t enable, CUpti_SubscriberHandle subscriber, int domain, uint32_t cbid)) \
	F(cuptiEnableDomain, (uint32_t enable, CUpti_SubscriberHandle subscriber, int domain)) \
	F(cuptiEnableAllDomains, (uint32_t enable, CUpti_SubscriberHandle subscriber)) \
	F(cuptiGetCallbackState, (uint32_t *enable, CUpti_SubscriberHandle subscriber, int domain, uint32_t cbid)) \
	F(cuptiGetCallbackName, (int domain, uint32_t cbid, const char **name)) \
	F(cuptiSupportedDomains, (size_t *count, const int **domains)) \
	F(cuptiSetThreadIdType, (int type)) \
	F(cuptiGetThreadIdType, (int *type)) \
	F(cuptiActivityEnable, (uint32_t kind)) \
	F(cuptiActivityEnableAndDump, (uint32_t kind)) \
	F(cuptiActivityDisable, (uint32_t kind)) \
	F(cuptiActivityEnableContext, (CUcontext context, uint32_t kind)) \
	F(cuptiActivityDisableContext, (CUcontext context, uint32_t kind)) \
	F(cuptiActivityRegisterCallbacks, (CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete)) \
	F(cuptiActivityFlush, (CUcontext context, uint32_t stream, uint32_t flag)) \
	F(cuptiActivityFlushAll, (uint32_t flag)) \
	F(cuptiActivityFlushPeriod, (uint32_t milliseconds)) \
	F(cuptiActivityGetNextRecord, (uint8_t *buffer, size_t valid, CUpti_Activity **record)) \
	F(cuptiActivityGetNumDroppedRecords, (CUcontext context, uint32_t stream, size_t *dropped)) \
	F(cuptiActivityGetAttribute, (int attribute, size_t *size, void *value)) \
	F(cuptiActivitySetAttribute, (int attribute, size_t *size, void *value)) \
	F(cuptiActivityPushExternalCorrelationId, (int kind, uint64_t id)) \
	F(cuptiActivityPopExternalCorrelationId, (int kind, uint64_t *id)) \
	F(cuptiActivityRegisterTimestampCallback, (CUpti_TimestampCallbackFunc function)) \
	F(cuptiActivityEnableDriverApi, (uint32_t cbid, uint8_t enable)) \
	F(cuptiActivityEnableRuntimeApi, (uint32_t cbid, uint8_t enable)) \
	F(cuptiActivityEnableLatencyTimestamps, (uint8_t enable)) \
	F(cuptiActivityEnableLaunchAttributes, (uint8_t enable)) \
	F(cuptiActivityEnableDeviceGraph, (uint8_t enable)) \
	F(cuptiActivityEnableHWTrace, (uint8_t enable)) \
	F(cuptiActivityEnableCudaEventDeviceTimestamps, (uint8_t enable)) \
	F(cuptiActivityEnableAllSyncRecords, (uint8_t enable)) \
	F(cuptiActivityEnableAllocationSource, (uint8_t enable)) \
	F(cuptiFinalize, (void)) \
	F(cuptiActivityGetStructSize, (uint32_t kind, uint32_t version, size_t *size)) \
	F(cuptiActivityRegisterCallbacks_v2, (CUpti_SubscriberHandle subscriber, CUpti_BuffersCallbackRequestFunc_v2 request, \
		CUpti_BuffersCallbackCompleteFunc_v2 complete)) \
	F(cuptiActivityEnable_v2, (CUpti_SubscriberHandle subscriber, uint32_t kind, CUpti_ActivityConfig *config)) \
	F(cuptiActivityDisable_v2, (CUpti_SubscriberHandle subscriber, uint32_t kind, CUpti_ActivityConfig *config)) \
	F(cuptiActivityEnableAndDump_v2, (CUpti_SubscriberHandle subscriber, uint32_t kind, CUpti_ActivityConfig *config)) \
	F(cuptiActivityGetEnabledKinds, (CUpti_SubscriberHandle subscriber, uint32_t *kinds, uint32_t *room, uint32_t *count)) \
	F(cuptiActivityGetAttribute_v2, (CUpti_SubscriberHandle subscriber, int attribute, size_t *size, void *value)) \
	F(cuptiActivitySetAttribute_v2, (CUpti_SubscriberHandle subscriber, int attribute, size_t *size, void *value)) \
	F(cuptiActivityGetNextRecord_v2, (CUpti_SubscriberHandle subscriber, uint8_t *buffer, size_t valid, CUpti_Activity **record)) \
	F(cuptiActivityGetNumDroppedRecords_v2, (CUpti_SubscriberHandle subscriber, CUcontext context, uint32_t stream, size_t *dropped)) \
	F(cuptiActivityPushExternalCorrelationId_v2, (CUpti_SubscriberHandle subscriber, int kind, uint64_t id)) \
	F(cuptiActivityPopExternalCorrelationId_v2, (CUpti_SubscriberHandle subscriber, int kind, uint64_t *id)) \
	F(cuptiActivityEnableDriverApi_v2, (CUpti_SubscriberHandle subscriber, uint32_t cbid, uint8_t enable)) \
	F(cuptiActivityEnableRuntimeApi_v2, (CUpti_SubscriberHandle subscriber, uint32_t cbid, uint8_t enable))

#define CUPTI_DECLARE(name, parameters) DOUBLES_EXPORT CUptiResult name parameters;
CUPTI_FUNCTIONS(CUPTI_DECLARE)

#endif
