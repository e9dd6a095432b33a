/* Versions, errors, ids, and which thread ids are meant. */
#include "cupti_state.h"

#include <signal.h>
#include <stdlib.h>

#include "faults.h"

/* Without a libcuda to be loaded, 13.2 recurses here until it dies, and later ones fail. */
CUptiResult cuptiGetVersion(uint32_t *version)
{
	if (release() >= 1302 && !libcuda_loadable()) {
		if (release() == 1302)
			raise(SIGSEGV);
		return no_driver();
	}
	if (!version)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*version = layout_version(release());
	return CUPTI_SUCCESS;
}

static const struct { CUptiResult result; const char *name; } results[] = {
	{ 0, "CUPTI_SUCCESS" }, { 1, "CUPTI_ERROR_INVALID_PARAMETER" }, { 2, "CUPTI_ERROR_INVALID_DEVICE" },
	{ 3, "CUPTI_ERROR_INVALID_CONTEXT" }, { 7, "CUPTI_ERROR_INVALID_OPERATION" }, { 8, "CUPTI_ERROR_OUT_OF_MEMORY" },
	{ 10, "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT" }, { 12, "CUPTI_ERROR_MAX_LIMIT_REACHED" }, { 13, "CUPTI_ERROR_NOT_READY" },
	{ 14, "CUPTI_ERROR_NOT_COMPATIBLE" }, { 15, "CUPTI_ERROR_NOT_INITIALIZED" }, { 18, "CUPTI_ERROR_QUEUE_EMPTY" },
	{ 20, "CUPTI_ERROR_INVALID_STREAM" }, { 21, "CUPTI_ERROR_INVALID_KIND" }, { 26, "CUPTI_ERROR_HARDWARE_BUSY" },
	{ 27, "CUPTI_ERROR_NOT_SUPPORTED" }, { 33, "CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED" },
	{ 35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" }, { 39, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" },
	{ 41, "CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED" }, { 42, "CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED" },
	{ 43, "CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED" }, { 44, "CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED" },
	{ 45, "CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED" }, { 999, "CUPTI_ERROR_UNKNOWN" },
};

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
	if (release() >= 1303 && !libcuda_loadable())
		return no_driver();
	for (size_t i = 0; text && i < sizeof(results) / sizeof(*results); i++)
		if (results[i].result == result) {
			*text = results[i].name;
			return CUPTI_SUCCESS;
		}
	return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **text)
{
	return cuptiGetResultString(result, text);
}

CUptiResult cuptiGetLastError(void)
{
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
	if (release() >= 1302 && !libcuda_loadable())
		return no_driver();
	if (!timestamp)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (old_call())
		return CUPTI_ERROR_NOT_COMPATIBLE;
	*timestamp = client_now(&clients[0]);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiSetThreadIdType(int type)
{
	if (type != 0 && type != 1)
		return CUPTI_ERROR_NOT_SUPPORTED;
	if (old_call())
		return CUPTI_ERROR_NOT_COMPATIBLE;
	clients[0].thread_id_type = type;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetThreadIdType(int *type)
{
	if (!type)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*type = clients[0].thread_id_type;
	return CUPTI_SUCCESS;
}

static CUptiResult give(uint32_t *place, uint32_t id, uint32_t invalid, CUptiResult otherwise)
{
	if (!place)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (id == invalid)
		return otherwise;
	*place = id;
	return CUPTI_SUCCESS;
}

#define ID(name, parameters, value, invalid, otherwise) \
	CUptiResult name parameters \
	{ \
		return driver() ? give(id, value, invalid, otherwise) : no_driver(); \
	}

ID(cuptiGetContextId, (CUcontext context, uint32_t *id), driver()->context_id(context), 0, CUPTI_ERROR_INVALID_CONTEXT)
ID(cuptiGetDeviceId, (CUcontext context, uint32_t *id), driver()->context_device(context), UINT32_MAX, CUPTI_ERROR_INVALID_CONTEXT)
ID(cuptiGetStreamId, (CUcontext context, CUstream stream, uint32_t *id), driver()->stream_id(context, stream, false), UINT32_MAX,
	CUPTI_ERROR_INVALID_STREAM)
ID(cuptiGetStreamIdEx, (CUcontext context, CUstream stream, uint8_t per_thread, uint32_t *id),
	driver()->stream_id(context, stream, per_thread), UINT32_MAX, CUPTI_ERROR_INVALID_STREAM)
ID(cuptiGetGraphId, (CUgraph graph, uint32_t *id), driver()->graph_id(graph), 0, CUPTI_ERROR_INVALID_PARAMETER)
ID(cuptiGetGraphExecId, (CUgraphExec exec, uint32_t *id), driver()->exec_id(exec), 0, CUPTI_ERROR_INVALID_PARAMETER)
ID(cuptiGetCudaEventId, (CUevent event, uint32_t *id), driver()->event_id(event), 0, CUPTI_ERROR_INVALID_PARAMETER)

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
	if (!driver())
		return no_driver();
	if (!node || !id)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*id = driver()->node_id(node);
	return CUPTI_SUCCESS;
}
