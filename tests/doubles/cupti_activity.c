/* The activity functions, for the one client of old and, with a subscriber, for one of several. */
#include "cupti_state.h"

#include "faults.h"

CUptiResult cuptiActivityEnable(uint32_t kind)
{
	return old_call() ?: client_enable(&clients[0], kind, false);
}

CUptiResult cuptiActivityEnableAndDump(uint32_t kind)
{
	return old_call() ?: client_enable(&clients[0], kind, true);
}

CUptiResult cuptiActivityDisable(uint32_t kind)
{
	return old_call() ?: client_disable(&clients[0], kind);
}

/* For all contexts: a kind that is enabled for one only is not told apart. */
CUptiResult cuptiActivityEnableContext(CUcontext context, uint32_t kind)
{
	return context ? client_enable(&clients[0], kind, false) : CUPTI_ERROR_INVALID_CONTEXT;
}

CUptiResult cuptiActivityDisableContext(CUcontext context, uint32_t kind)
{
	return context ? client_disable(&clients[0], kind) : CUPTI_ERROR_INVALID_CONTEXT;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete)
{
	CUptiResult result;

	if (!request || !complete)
		return CUPTI_ERROR_INVALID_PARAMETER;
	result = ready() ?: old_call();
	if (result != CUPTI_SUCCESS)
		return result;
	pthread_mutex_lock(&cupti_lock);
	clients[0].request = request;
	clients[0].complete = complete;
	clients[0].registered = true;
	pthread_mutex_unlock(&cupti_lock);
	worker_start();
	return CUPTI_SUCCESS;
}

static bool anybody_registered(void)
{
	EACH_CLIENT(client)
		if (client->registered)
			return true;
	return false;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	CUptiResult result = ready();

	if (result != CUPTI_SUCCESS)
		return result;
	if (!anybody_registered())
		return CUPTI_ERROR_INVALID_OPERATION;
	flush_all(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlush(CUcontext context, uint32_t stream, uint32_t flag)
{
	(void)context, (void)stream;
	return cuptiActivityFlushAll(flag);
}

CUptiResult cuptiActivityFlushPeriod(uint32_t milliseconds)
{
	CUptiResult result = ready();

	if (result == CUPTI_SUCCESS)
		worker_period(milliseconds);
	return result;
}

static CUptiResult next_record(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	CUptiResult unknown = release() >= 1204 ? CUPTI_ERROR_INVALID_KIND : CUPTI_ERROR_UNKNOWN;
	uint8_t *at = buffer;
	size_t size;

	if (!buffer || !record)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*record) {
		size = layout_size(release(), (int)(*record)->kind);
		if (!size)
			return unknown;
		at = (uint8_t *)*record + size;
	}
	if (at < buffer || (size_t)(at - buffer) + sizeof(CUpti_Activity) > valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	size = layout_size(release(), (int)((CUpti_Activity *)at)->kind);
	if (!size)
		return unknown;
	if (size > valid - (size_t)(at - buffer))
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)at;
	return CUPTI_SUCCESS;
}

/* Pure, and so without a driver; from 13.2 on only with some libcuda to be loaded. */
CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	if (release() >= 1302 && !libcuda_loadable())
		return no_driver();
	return old_call() ?: next_record(buffer, valid, record);
}

CUptiResult cuptiActivityGetNextRecord_v2(CUpti_SubscriberHandle subscriber, uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	return subscriber_ok(subscriber) ? next_record(buffer, valid, record) : CUPTI_ERROR_INVALID_PARAMETER;
}

static CUptiResult dropped_of(struct client *client, size_t *dropped)
{
	if (!client || !dropped)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&cupti_lock);
	*dropped = client->dropped;
	client->dropped = 0;
	pthread_mutex_unlock(&cupti_lock);
	if (*dropped && driver())
		driver()->truth("\"what\":\"dropped\",\"records\":%zu", *dropped);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
	(void)context, (void)stream;
	return old_call() ?: dropped_of(&clients[0], dropped);
}

CUptiResult cuptiActivityGetNumDroppedRecords_v2(CUpti_SubscriberHandle subscriber, CUcontext context, uint32_t stream, size_t *dropped)
{
	(void)context, (void)stream;
	return dropped_of(client_of(subscriber), dropped);
}

CUptiResult cuptiActivityGetAttribute(int attribute, size_t *size, void *value)
{
	return old_call() ?: client_get(&clients[0], attribute, size, value);
}

CUptiResult cuptiActivitySetAttribute(int attribute, size_t *size, void *value)
{
	return old_call() ?: client_set(&clients[0], attribute, size, value);
}

CUptiResult cuptiActivityPushExternalCorrelationId(int kind, uint64_t id)
{
	return ready() ?: external_push(&clients[0], kind, id);
}

CUptiResult cuptiActivityPopExternalCorrelationId(int kind, uint64_t *id)
{
	return ready() ?: external_pop(&clients[0], kind, id);
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc function)
{
	if (fault(FAULT_no_timestamp_callback))
		return (CUptiResult)fault_number(FAULT_no_timestamp_callback);
	if (old_call())
		return CUPTI_ERROR_NOT_COMPATIBLE;
	return function ? ready() ?: client_set_clock(&clients[0], function) : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable)
{
	return client_mute(&clients[0], API_DRIVER, cbid, enable);
}

CUptiResult cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable)
{
	return client_mute(&clients[0], API_RUNTIME, cbid, enable);
}

static CUptiResult set_flag(int attribute, uint8_t enable)
{
	CUptiResult result = ready();

	if (result == CUPTI_SUCCESS)
		clients[0].attributes[attribute] = enable != 0;
	return result;
}

/* Before the driver is initialised, or not at all. */
CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
	CUptiResult result = ready();

	if (result == CUPTI_SUCCESS && driver()->initialised())
		return CUPTI_ERROR_INVALID_OPERATION;
	return result ?: set_flag(ATTR_KERNEL_LATENCY_TIMESTAMPS, enable);
}

CUptiResult cuptiActivityEnableDeviceGraph(uint8_t enable)
{
	CUptiResult result = ready();

	(void)enable;
	return result ?: driver()->initialised() ? CUPTI_ERROR_INVALID_OPERATION : CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableLaunchAttributes(uint8_t enable)
{
	(void)enable;
	return ready();
}

CUptiResult cuptiActivityEnableAllocationSource(uint8_t enable)
{
	(void)enable;
	return ready();
}

/* The other way round: after it; and then this device is too old for it. */
CUptiResult cuptiActivityEnableHWTrace(uint8_t enable)
{
	CUptiResult result = ready();

	(void)enable;
	return result ?: driver()->initialised() ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_ERROR_NOT_INITIALIZED;
}

CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable)
{
	return set_flag(ATTR_CUDA_EVENT_DEVICE_TIMESTAMPS, enable);
}

CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
	return set_flag(ATTR_ALL_SYNC_RECORDS, enable);
}

CUptiResult cuptiFinalize(void)
{
	EACH_CLIENT(client)
		for (int kind = 0; kind < KIND_COUNT; kind++)
			client->enabled[kind] = false;
	for (int i = 0; i < CLIENT_MAX; i++)
		if (subscriber_ok(&subscribers[i]))
			(void)cuptiUnsubscribe(&subscribers[i]);
	detach();
	return CUPTI_SUCCESS;
}
