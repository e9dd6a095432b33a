/* Which release this is, and the way to libcuda, which is opened at the first call that needs it. */
#include "cupti_state.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "settings.h"

pthread_mutex_t cupti_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct double_driver *driver_table;
static void *driver_library;
static pthread_mutex_t attach_lock = PTHREAD_MUTEX_INITIALIZER;
static bool attached;

int release(void)
{
	static int known;
	const char *text = getenv("DOUBLE_CUPTI");
	int major, minor;

	if (known)
		return known;
	if (text && sscanf(text, "%d.%d", &major, &minor) == 2 && major == double_cupti_release / 100
			&& layout_version(major * 100 + minor))
		return known = major * 100 + minor;
	return known = double_cupti_release;
}

bool libcuda_loadable(void)
{
	const struct double_driver *(*table)(void) = NULL;
	void *symbol;

	pthread_mutex_lock(&attach_lock);
	if (!driver_library) {
		driver_library = dlopen("libcuda.so.1", RTLD_NOW);
		symbol = driver_library ? dlsym(driver_library, "doubleDriver") : NULL;
		memcpy(&table, &symbol, sizeof(table));
		driver_table = table ? table() : NULL;
	}
	pthread_mutex_unlock(&attach_lock);
	return driver_library != NULL;
}

const struct double_driver *driver(void)
{
	return libcuda_loadable() ? driver_table : NULL;
}

/* Measured on the real libraries, without a driver: the field note has the list. */
CUptiResult no_driver(void)
{
	return release() < 1300 ? CUPTI_ERROR_NOT_INITIALIZED : CUPTI_ERROR_UNKNOWN;
}

/* Of a newer major than the driver. */
static bool too_new(void)
{
	return release() / 100 > setting_number("DOUBLE_DRIVER_VERSION", GPU_DRIVER_VERSION) / 1000;
}

static void on_api_enter(struct api_call *call)
{
	callbacks_api(call, CUPTI_API_ENTER);
	EACH_CLIENT(client)
		call->record_start[tracer.slot][client - clients] = client_now(client);
}

static void on_api_leave(struct api_call *call)
{
	on_api_exit(call);
	callbacks_api(call, CUPTI_API_EXIT);
}

static void on_sync_begin(uint64_t began[CLIENT_MAX])
{
	EACH_CLIENT(client)
		began[client - clients] = client_now(client);
}

struct tracer tracer = {
	.api_enter = on_api_enter,
	.api_exit = on_api_leave,
	.op_queued = on_op_queued,
	.op_started = on_op_started,
	.op_done = on_op_done,
	.resource = on_resource,
	.memory = on_memory,
	.pool = on_pool,
	.sync_begin = on_sync_begin,
	.sync_end = on_sync_end,
	.overhead = on_overhead,
};

CUptiResult ready(void)
{
	const struct double_driver *table = driver();
	CUptiResult result = CUPTI_SUCCESS;

	if (too_new())
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (fault(FAULT_cupti_error))
		return (CUptiResult)fault_number(FAULT_cupti_error);
	if (!table)
		return no_driver();
	pthread_mutex_lock(&attach_lock);
	if (!attached) {
		clients[0].used = true;
		attached = table->attach(&tracer) == 0;
		result = attached ? CUPTI_SUCCESS : CUPTI_ERROR_UNKNOWN;
	}
	pthread_mutex_unlock(&attach_lock);
	return result;
}

void detach(void)
{
	pthread_mutex_lock(&attach_lock);
	if (attached)
		driver_table->detach(&tracer);
	attached = false;
	pthread_mutex_unlock(&attach_lock);
}

bool anybody_wants(int kind)
{
	EACH_CLIENT(client)
		if (client->enabled[kind])
			return true;
	return false;
}

void settle_modes(void)
{
	tracer.serialize = anybody_wants(KIND_KERNEL);
	tracer.whole_graphs = anybody_wants(KIND_GRAPH_TRACE);
}
