/* The calls that name their subscriber, of 13.2 and later. */
#include "cupti_state.h"

CUptiResult cuptiActivityRegisterCallbacks_v2(CUpti_SubscriberHandle subscriber, CUpti_BuffersCallbackRequestFunc_v2 request,
	CUpti_BuffersCallbackCompleteFunc_v2 complete)
{
	struct client *client = client_of(subscriber);

	if (!client || !request || !complete)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&cupti_lock);
	client->request_v2 = request;
	client->complete_v2 = complete;
	client->registered = true;
	pthread_mutex_unlock(&cupti_lock);
	worker_start();
	return CUPTI_SUCCESS;
}

/* A selection of fields makes records of the client's own shape, which the double does not have. */
static CUptiResult config_check(const CUpti_ActivityConfig *config)
{
	return config && config->fieldSelection.numFields ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable_v2(CUpti_SubscriberHandle subscriber, uint32_t kind, CUpti_ActivityConfig *config)
{
	struct client *client = client_of(subscriber);

	return client ? config_check(config) ?: client_enable(client, kind, false) : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivityEnableAndDump_v2(CUpti_SubscriberHandle subscriber, uint32_t kind, CUpti_ActivityConfig *config)
{
	struct client *client = client_of(subscriber);

	return client ? config_check(config) ?: client_enable(client, kind, true) : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivityDisable_v2(CUpti_SubscriberHandle subscriber, uint32_t kind, CUpti_ActivityConfig *config)
{
	struct client *client = client_of(subscriber);

	return client ? config_check(config) ?: client_disable(client, kind) : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivityGetEnabledKinds(CUpti_SubscriberHandle subscriber, uint32_t *kinds, uint32_t *room, uint32_t *count)
{
	struct client *client = client_of(subscriber);
	uint32_t found = 0;

	if (!count || (subscriber && !client) || (kinds && !room))
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
		if (client ? !client->enabled[kind] : !anybody_wants((int)kind))
			continue;
		if (kinds && found < *room)
			kinds[found] = kind;
		found++;
	}
	*count = found;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetAttribute_v2(CUpti_SubscriberHandle subscriber, int attribute, size_t *size, void *value)
{
	struct client *client = client_of(subscriber);

	if (!client)
		return CUPTI_ERROR_INVALID_PARAMETER;
	client->attributes[ATTR_MULTIPLE_SUBSCRIBER_STATE] = subscriber->multiple;
	return client_get(client, attribute, size, value);
}

CUptiResult cuptiActivitySetAttribute_v2(CUpti_SubscriberHandle subscriber, int attribute, size_t *size, void *value)
{
	struct client *client = client_of(subscriber);

	return client ? client_set(client, attribute, size, value) : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivityPushExternalCorrelationId_v2(CUpti_SubscriberHandle subscriber, int kind, uint64_t id)
{
	struct client *client = client_of(subscriber);

	return client ? external_push(client, kind, id) : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivityPopExternalCorrelationId_v2(CUpti_SubscriberHandle subscriber, int kind, uint64_t *id)
{
	struct client *client = client_of(subscriber);

	return client ? external_pop(client, kind, id) : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivityEnableDriverApi_v2(CUpti_SubscriberHandle subscriber, uint32_t cbid, uint8_t enable)
{
	struct client *client = client_of(subscriber);

	return client ? client_mute(client, API_DRIVER, cbid, enable) : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivityEnableRuntimeApi_v2(CUpti_SubscriberHandle subscriber, uint32_t cbid, uint8_t enable)
{
	struct client *client = client_of(subscriber);

	return client ? client_mute(client, API_RUNTIME, cbid, enable) : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiGetTimestamp_v2(CUpti_SubscriberHandle subscriber, uint64_t *timestamp)
{
	struct client *client = client_of(subscriber);

	if (!client || !timestamp)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*timestamp = client_now(client);
	return CUPTI_SUCCESS;
}

/* VERSION is that of the API, 130100 for 13.1; 0 is this one. */
CUptiResult cuptiActivityGetStructSize(uint32_t kind, uint32_t version, size_t *size)
{
	int wanted = version ? (int)(version / 100) : release();
	size_t found;

	if (!size)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (version && version < 130000)
		return CUPTI_ERROR_NOT_SUPPORTED;
	found = layout_size(wanted < release() ? wanted : release(), (int)kind);
	if (!found)
		return CUPTI_ERROR_INVALID_KIND;
	*size = found;
	return CUPTI_SUCCESS;
}
