/* Initialisation, versions, errors, and the table for the other doubles. */
#include "driver.h"

#include <string.h>

#include "faults.h"
#include "settings.h"
#include "truth.h"

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static bool init_over;
static CUresult init_result;
static __thread bool init_inside;
static void *subscriber;

static void tell_of_devices(void)
{
	struct resource_info info = { .what = RESOURCE_DEVICE };

	for (int i = 0; i < gpu_count(); i++) {
		info.device = (uint32_t)i;
		tell_resource(&info);
	}
	info = (struct resource_info){ .what = RESOURCE_INIT };
	tell_resource(&info);
}

static CUresult init_now(void)
{
	CUresult result;

	if (fault(FAULT_cuinit_error))
		return (CUresult)fault_number(FAULT_cuinit_error);
	result = injection_run();
	if (result == CUDA_SUCCESS)
		result = machine_start();
	if (result == CUDA_SUCCESS)
		tell_of_devices();
	return result;
}

/* A forked child keeps what its parent found; everything but cuInit refuses it then. */
static CUresult init_once(unsigned int flags)
{
	CUresult result;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (init_inside)                /* from InitializeInjection */
		return CUDA_SUCCESS;
	pthread_mutex_lock(&init_lock);
	if (!init_over) {
		init_inside = true;
		init_result = init_now();
		init_inside = false;
		init_over = true;
	}
	result = init_result ?: READY();
	pthread_mutex_unlock(&init_lock);
	return result;
}

static CUresult driver_version(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = (int)setting_number("DOUBLE_DRIVER_VERSION", GPU_DRIVER_VERSION);
	return CUDA_SUCCESS;
}

static const struct { CUresult error; const char *name, *text; } errors[] = {
	{ 0, "CUDA_SUCCESS", "no error" },
	{ 1, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
	{ 2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
	{ 3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error" },
	{ 100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" },
	{ 101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal" },
	{ 200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid" },
	{ 201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
	{ 400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle" },
	{ 401, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state" },
	{ 500, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
	{ 600, "CUDA_ERROR_NOT_READY", "device not ready" },
	{ 719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure" },
	{ 801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported" },
	{ 900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing" },
	{ 901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture" },
	{ 904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work" },
	{ 999, "CUDA_ERROR_UNKNOWN", "unknown error" },
};

static CUresult error_text(CUresult error, const char **text, bool name)
{
	if (!text)
		return CUDA_ERROR_INVALID_VALUE;
	*text = NULL;
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].error == error)
			*text = name ? errors[i].name : errors[i].text;
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Undocumented tables are for NVIDIA's own libraries, which check what answers; we have none, and want none. */
static CUresult no_table(const void **table)
{
	if (table)
		*table = NULL;
	return CUDA_ERROR_NOT_FOUND;
}

CALL_ALWAYS(cuInit, (unsigned int flags), init_once(flags))
CALL_ALWAYS(cuDriverGetVersion, (int *version), driver_version(version))
CALL_ALWAYS(cuGetErrorName, (CUresult error, const char **text), error_text(error, text, true))
CALL_ALWAYS(cuGetErrorString, (CUresult error, const char **text), error_text(error, text, false))
CALL_ALWAYS(cuGetExportTable, (const void **table, const CUuuid *id), ((void)id, no_table(table)))
CALL(cuProfilerStart, (void), CUDA_SUCCESS)
CALL(cuProfilerStop, (void), CUDA_SUCCESS)

static void *exchange_subscriber(void *expected, void *wanted)
{
	__atomic_compare_exchange_n(&subscriber, &expected, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return expected;
}

static uint32_t id_of_context(CUcontext context)
{
	return context_ok(context) ? context->id : 0;
}

static uint32_t device_of_context(CUcontext context)
{
	return context_ok(context) ? (uint32_t)context->gpu->index : UINT32_MAX;
}

static uint32_t id_of_stream(CUcontext context, CUstream stream, bool own)
{
	struct CUstream_st *found;

	if (!stream && !own && context_ok(context))
		return context->legacy->id;
	return stream_find(own ? per_thread(stream) : stream, &found) == CUDA_SUCCESS ? found->id : UINT32_MAX;
}

static uint32_t id_of_event(CUevent event)
{
	return event_ok(event) ? event->id : 0;
}

static void each_context(void (*what)(const struct resource_info *info, void *user), void *user)
{
	for (struct CUctx_st *context = context_list; context; context = context->next) {
		struct resource_info info = { .what = RESOURCE_CONTEXT, .context = context, .context_id = context->id,
			.device = (uint32_t)context->gpu->index, .stream = context->legacy->id };

		what(&info, user);
	}
}

static void each_stream(void (*what)(const struct resource_info *info, void *user), void *user)
{
	for (struct CUctx_st *context = context_list; context; context = context->next)
		for (struct CUstream_st *stream = context->streams; stream; stream = stream->next) {
			struct resource_info info = { .what = RESOURCE_STREAM, .context = context, .context_id = context->id,
				.stream = stream->id, .stream_flag = stream == context->legacy ? 3 : stream->flags & 1 ? 2 : 1 };

			what(&info, user);
		}
}

static CUresult quiet_module(CUmodule *ret_module, const void *image)
{
	return module_new(context_current(), image, ret_module);
}

static CUresult quiet_function(CUfunction *ret_function, CUmodule module, const char *name)
{
	return module_function(module, name, ret_function);
}

static const struct double_driver driver = {
	.attach = tracer_attach,
	.detach = tracer_detach,
	.initialised = machine_running,
	.exchange_subscriber = exchange_subscriber,
	.api_begin = api_begin,
	.api_end = api_end,
	.correlation = api_correlation,
	.now = now_ns,
	.device_clock = device_clock,
	.context_id = id_of_context,
	.context_device = device_of_context,
	.stream_id = id_of_stream,
	.event_id = id_of_event,
	.graph_id = graph_id,
	.exec_id = graph_exec_id,
	.node_id = graph_node_id,
	.device_count = gpu_count,
	.each_context = each_context,
	.each_stream = each_stream,
	.use_device = use_device,
	.quiet_module = quiet_module,
	.quiet_function = quiet_function,
	.truth_wanted = truth_wanted,
	.truth = truth,
};

const struct double_driver *doubleDriver(void)
{
	return &driver;
}
