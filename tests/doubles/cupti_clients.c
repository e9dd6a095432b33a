/* Clients: which kinds they have enabled, and their attributes. */
#include "cupti_state.h"

#include <string.h>

#include "faults.h"

struct client clients[CLIENT_MAX];

static void defaults(struct client *client)
{
	uint64_t *values = client->attributes;

	values[ATTR_DEVICE_BUFFER_SIZE] = 3200000;
	values[ATTR_DEVICE_BUFFER_SIZE_CDP] = 8388608;
	values[ATTR_DEVICE_BUFFER_POOL_LIMIT] = 250;
	values[ATTR_PROFILING_SEMAPHORE_POOL_SIZE] = 25000;
	values[ATTR_PROFILING_SEMAPHORE_POOL_LIMIT] = 250;
	values[ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE] = 3;
	values[ATTR_PROFILING_SEMAPHORE_PRE_ALLOCATE_VALUE] = 3;
	values[ATTR_PER_THREAD_ACTIVITY_BUFFER] = release() >= 1300;
	values[ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS] = 16777216;
}

__attribute__((constructor)) static void first_client(void)
{
	defaults(&clients[0]);
}

struct client *client_new(void)
{
	for (int i = 1; i < CLIENT_MAX; i++) {
		if (clients[i].used)
			continue;
		memset(&clients[i], 0, sizeof(clients[i]));
		defaults(&clients[i]);
		clients[i].used = true;
		return &clients[i];
	}
	return NULL;
}

CUptiResult client_enable(struct client *client, uint32_t kind, bool dump)
{
	CUptiResult result = ready();

	if (result != CUPTI_SUCCESS)
		return result;
	if (kind >= KIND_COUNT || !layout_size(release(), (int)kind))
		return CUPTI_ERROR_INVALID_KIND;
	if (fault_number(FAULT_refused_kind) == (long long)kind)
		return CUPTI_ERROR_NOT_SUPPORTED;
	client->enabled[kind] = true;
	if (kind == KIND_DRIVER || kind == KIND_RUNTIME)
		memset(client->muted[kind - KIND_DRIVER], 0, sizeof(client->muted[0]));        /* enabling overrides muting */
	settle_modes();
	if (kind == KIND_ENVIRONMENT)
		write_environment(client);
	if (dump)
		write_existing(client, kind);
	return CUPTI_SUCCESS;
}

CUptiResult client_disable(struct client *client, uint32_t kind)
{
	CUptiResult result = ready();

	if (result != CUPTI_SUCCESS)
		return result;
	if (kind >= KIND_COUNT || !layout_size(release(), (int)kind))
		return CUPTI_ERROR_INVALID_KIND;
	client->enabled[kind] = false;
	settle_modes();
	return CUPTI_SUCCESS;
}

CUptiResult client_mute(struct client *client, int domain, uint32_t cbid, bool enable)
{
	CUptiResult result = ready();

	if (result != CUPTI_SUCCESS)
		return result;
	if (!cbid || cbid >= CBID_MAX)
		return CUPTI_ERROR_INVALID_PARAMETER;
	client->muted[domain - 1][cbid] = !enable;
	return CUPTI_SUCCESS;
}

/* Flags are a byte, sizes and limits a size_t, the rest what the header says. */
static size_t attribute_size(int attribute)
{
	switch (attribute) {
	case ATTR_ZEROED_OUT_ACTIVITY_BUFFER:
	case ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED:
	case ATTR_PER_THREAD_ACTIVITY_BUFFER: return sizeof(uint8_t);
	case ATTR_THREAD_ID_TYPE: return sizeof(int);
	default: return attribute >= ATTR_USER_DEFINED_RECORDS && attribute != ATTR_TIMESTAMP_CALLBACK ? sizeof(uint8_t) : sizeof(size_t);
	}
}

static int attribute_count(void)
{
	return release() < 1200 ? 8 : release() < 1203 ? 9 : release() < 1208 ? 10 : release() < 1302 ? 11 : ATTR_COUNT;
}

static CUptiResult attribute_check(int attribute, const size_t *size, const void *value)
{
	if (!size || !value || attribute < 0 || attribute >= attribute_count())
		return CUPTI_ERROR_INVALID_PARAMETER;
	return *size < attribute_size(attribute) ? CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT : CUPTI_SUCCESS;
}

CUptiResult client_get(struct client *client, int attribute, size_t *size, void *value)
{
	CUptiResult result = attribute_check(attribute, size, value);

	if (result != CUPTI_SUCCESS)
		return result;
	*size = attribute_size(attribute);
	if (attribute == ATTR_TIMESTAMP_CALLBACK)
		memcpy(value, &client->clock, sizeof(client->clock));
	else if (attribute == ATTR_THREAD_ID_TYPE)
		memcpy(value, &client->thread_id_type, sizeof(client->thread_id_type));
	else
		memcpy(value, &client->attributes[attribute], *size);
	return CUPTI_SUCCESS;
}

CUptiResult client_set(struct client *client, int attribute, size_t *size, void *value)
{
	CUptiResult result = attribute_check(attribute, size, value);
	CUpti_TimestampCallbackFunc clock;

	if (result != CUPTI_SUCCESS)
		return result;
	if (attribute == ATTR_USER_DEFINED_RECORDS || attribute == ATTR_ENABLE_HES || attribute == ATTR_MULTIPLE_SUBSCRIBER_STATE)
		return CUPTI_ERROR_NOT_SUPPORTED;
	if (attribute == ATTR_TIMESTAMP_CALLBACK) {
		memcpy(&clock, value, sizeof(clock));
		if (release() < 1304 || fault(FAULT_no_timestamp_callback))
			return CUPTI_ERROR_NOT_SUPPORTED;
		return client_set_clock(client, clock);
	}
	if (attribute == ATTR_THREAD_ID_TYPE) {
		memcpy(&client->thread_id_type, value, sizeof(client->thread_id_type));
		return CUPTI_SUCCESS;
	}
	pthread_mutex_lock(&cupti_lock);
	client->attributes[attribute] = 0;
	memcpy(&client->attributes[attribute], value, attribute_size(attribute));
	pthread_mutex_unlock(&cupti_lock);
	return CUPTI_SUCCESS;
}
