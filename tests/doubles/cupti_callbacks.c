/* Subscribers and their callbacks. */
#include "cupti_state.h"

#include <stdio.h>
#include <string.h>

#include "cbid.h"
#include "faults.h"
#include "settings.h"

#define MULTIPLE ((void *)&several)             /* in the process's one place: several that allow each other */
#define MULTIPLE_SINCE 1303

struct subscriber subscribers[CLIENT_MAX];
static char several;

bool subscriber_ok(CUpti_SubscriberHandle subscriber)
{
	return subscriber >= subscribers && subscriber < subscribers + CLIENT_MAX && subscriber->used;
}

struct client *client_of(CUpti_SubscriberHandle subscriber)
{
	return subscriber_ok(subscriber) ? subscriber->client : NULL;
}

/* The place is the driver's, so that two copies of libcupti see each other. */
static void *take_place(bool multiple, struct subscriber *subscriber)
{
	void *holder = driver()->exchange_subscriber(NULL, multiple ? MULTIPLE : subscriber);

	return multiple && holder == MULTIPLE ? NULL : holder;
}

static struct subscriber *subscriber_free_place(void)
{
	for (int i = 0; i < CLIENT_MAX; i++)
		if (!subscribers[i].used)
			return &subscribers[i];
	return NULL;
}

static const char *holder_name(const void *holder)
{
	for (int i = 0; i < CLIENT_MAX; i++)
		if (subscribers[i].used && (holder == MULTIPLE || holder == &subscribers[i]))
			return subscribers[i].name;
	return "another tool";
}

static bool multiple_possible(void)
{
	return release() >= MULTIPLE_SINCE && setting_number("DOUBLE_DRIVER_VERSION", GPU_DRIVER_VERSION) >= 13030;
}

static CUptiResult subscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback, void *user, const char *name, bool multiple,
	const char **ret_holder)
{
	struct subscriber *subscriber;
	CUptiResult result = ready();
	void *holder;

	if (!handle)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (result != CUPTI_SUCCESS)
		return result;
	subscriber = subscriber_free_place();
	*ret_holder = fault(FAULT_subscribe_39) ? "another tool" : "";
	if (fault(FAULT_subscribe_39) || !subscriber || (multiple && !multiple_possible()))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	holder = take_place(multiple, subscriber);
	if (holder) {
		*ret_holder = holder_name(holder);
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	}
	*subscriber = (struct subscriber){ .multiple = multiple, .callback = callback, .user = user };
	snprintf(subscriber->name, sizeof(subscriber->name), "CUPTI for %s", name ? name : "");
	subscriber->client = multiple ? client_new() : &clients[0];
	if (!subscriber->client)
		return CUPTI_ERROR_UNKNOWN;
	subscriber->used = true;
	*handle = subscriber;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback, void *user)
{
	const char *holder;

	return subscribe(handle, callback, user, NULL, false, &holder);
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback, void *user, CUpti_SubscriberParams *params)
{
	bool multiple = params && release() >= 1302 && params->structSize > offsetof(CUpti_SubscriberParams, allowMultipleSubscribers)
		&& params->allowMultipleSubscribers;
	const char *holder = "";
	CUptiResult result;

	if (!params || params->structSize < offsetof(CUpti_SubscriberParams, allowMultipleSubscribers))
		return CUPTI_ERROR_INVALID_PARAMETER;
	result = subscribe(handle, callback, user, params->subscriberName, multiple, &holder);
	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && params->oldSubscriberName && params->oldSubscriberSize)
		snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s", holder);
	return result;
}

/* Its client goes with it, except for buffers that are on their way. */
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
	bool others = false;

	if (!subscriber_ok(handle))
		return CUPTI_ERROR_INVALID_PARAMETER;
	handle->used = false;
	for (int i = 0; i < CLIENT_MAX; i++)
		others |= subscribers[i].used && subscribers[i].multiple;
	if (handle->multiple)
		memset(handle->client->enabled, 0, sizeof(handle->client->enabled));
	if (!others)
		(void)driver()->exchange_subscriber(handle->multiple ? MULTIPLE : handle, NULL);
	settle_modes();
	return CUPTI_SUCCESS;
}

/* Where subscribers may be several, all calls have to say whose they are. */
CUptiResult old_call(void)
{
	for (int i = 0; i < CLIENT_MAX; i++)
		if (subscribers[i].used && subscribers[i].multiple)
			return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	return CUPTI_SUCCESS;
}

static CUptiResult callback_check(CUpti_SubscriberHandle handle, int domain)
{
	return !subscriber_ok(handle) || domain <= 0 || domain >= CUPTI_CB_DOMAIN_SIZE ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle, int domain, uint32_t cbid)
{
	if (callback_check(handle, domain) || !cbid || cbid >= CBID_MAX)
		return CUPTI_ERROR_INVALID_PARAMETER;
	handle->enabled[domain][cbid] = enable;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle, int domain)
{
	if (callback_check(handle, domain))
		return CUPTI_ERROR_INVALID_PARAMETER;
	memset(handle->enabled[domain], enable != 0, sizeof(handle->enabled[domain]));
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle)
{
	for (int domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; domain++)
		if (cuptiEnableDomain(enable, handle, domain))
			return CUPTI_ERROR_INVALID_PARAMETER;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle handle, int domain, uint32_t cbid)
{
	if (!enable || callback_check(handle, domain) || cbid >= CBID_MAX)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*enable = handle->enabled[domain][cbid];
	return CUPTI_SUCCESS;
}

CUptiResult cuptiSupportedDomains(size_t *count, const int **domains)
{
	static const int all[] = { 1, 2, 3, 4, 5, 6 };

	if (!count || !domains)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*count = sizeof(all) / sizeof(*all);
	*domains = all;
	return CUPTI_SUCCESS;
}

struct name { uint32_t cbid; const char *name; };

static const struct name driver_names[] = {
#define CBID(text, number) { number, #text },
	DRIVER_CBIDS(CBID)
	{ 0, NULL }
};

static const struct name runtime_names[] = {
	RUNTIME_CBIDS(CBID)
#undef CBID
	{ 0, NULL }
};

static const char *name_in_release(const char *name)
{
#define OLD(now, then) if (release() < 1300 && strcmp(name, #now) == 0) return #then;
	RUNTIME_OLD_NAMES(OLD)
#undef OLD
	return name;
}

CUptiResult cuptiGetCallbackName(int domain, uint32_t cbid, const char **name)
{
	const struct name *at = domain == CUPTI_CB_DOMAIN_DRIVER_API ? driver_names : runtime_names;

	if (!name || domain < CUPTI_CB_DOMAIN_DRIVER_API || domain > CUPTI_CB_DOMAIN_RUNTIME_API || !cbid)
		return CUPTI_ERROR_INVALID_PARAMETER;
	while (at->cbid && at->cbid != cbid)
		at++;
	if (!at->cbid)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*name = name_in_release(at->name);
	return CUPTI_SUCCESS;
}

static void call_all(int domain, uint32_t cbid, const void *data)
{
	for (int i = 0; i < CLIENT_MAX; i++)
		if (subscribers[i].used && subscribers[i].callback && cbid < CBID_MAX && subscribers[i].enabled[domain][cbid])
			subscribers[i].callback(subscribers[i].user, domain, cbid, data);
}

/* functionName is the plain name, without the version that cuptiGetCallbackName adds to a runtime function, and stays for ever. */
static char plain_names[CBID_MAX][96];
static pthread_once_t plain_once = PTHREAD_ONCE_INIT;

static void plain_names_make(void)
{
	for (const struct name *at = runtime_names; at->cbid; at++) {
		const char *version = strrchr(at->name, '_');

		snprintf(plain_names[at->cbid], sizeof(plain_names[0]), "%.*s", (int)(version - at->name), at->name);
	}
}

void callbacks_api(struct api_call *call, int site)
{
	CUpti_CallbackData data = { .callbackSite = site, .functionName = call->name, .symbolName = call->symbol, .context = call->context,
		.contextUid = call->context_id, .correlationData = &call->data[tracer.slot], .correlationId = call->correlation };

	pthread_once(&plain_once, plain_names_make);
	if (call->domain == API_RUNTIME && call->cbid < CBID_MAX)
		data.functionName = plain_names[call->cbid];
	if (site == CUPTI_API_EXIT)
		data.functionReturnValue = &call->result;
	call_all(call->domain, call->cbid, &data);
}

void callbacks_resource(const struct resource_info *info)
{
	static const uint32_t cbids[] = { [RESOURCE_CONTEXT] = 1, [RESOURCE_CONTEXT_GONE] = 2, [RESOURCE_STREAM] = 3,
		[RESOURCE_STREAM_GONE] = 4, [RESOURCE_INIT] = 5, [RESOURCE_MODULE] = 6, [RESOURCE_MODULE_GONE] = 7 };
	CUpti_ResourceData data = { .context = info->context, .stream = info->handle };

	if (cbids[info->what])
		call_all(CUPTI_CB_DOMAIN_RESOURCE, cbids[info->what], &data);
}

void callbacks_sync(const struct sync_info *info)
{
	CUpti_SynchronizeData data = { info->handle, info->stream_handle };

	if (info->type >= 3)
		call_all(CUPTI_CB_DOMAIN_SYNCHRONIZE, info->type - 2, &data);
}
