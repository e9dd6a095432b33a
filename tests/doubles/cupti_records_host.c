/* Records of what the host does: calls, synchronisation, memory, objects, and CUPTI's own cost. */
#include "cupti_state.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "faults.h"
#include "settings.h"

uint32_t thread_id(const struct client *client)
{
	return client->thread_id_type == 1 ? (uint32_t)syscall(SYS_gettid) : (uint32_t)(uintptr_t)pthread_self();
}

static bool wants_call(const struct client *client, const struct api_call *call)
{
	int kind = call->domain == API_DRIVER ? KIND_DRIVER : KIND_RUNTIME;

	return client->enabled[kind] && (call->cbid >= CBID_MAX || !client->muted[call->domain - 1][call->cbid]);
}

/* External ids come once a correlation id: with the outermost call of which there is a record. */
static bool outermost(const struct client *client, const struct api_call *call)
{
	return !call->outer || !wants_call(client, call->outer);
}

static void write_call(struct client *client, struct api_call *call)
{
	struct record r;
	uint64_t end = client_now(client);

	if (fault_turn(FAULT_missing_api))
		return;
	if (client->enabled[KIND_EXTERNAL_CORRELATION] && outermost(client, call))
		write_external(client, call->correlation);
	if (!record_begin(client, call->domain == API_DRIVER ? KIND_DRIVER : KIND_RUNTIME, &r, NULL))
		return;
	PUT(r, API, cbid, call->cbid);
	PUT(r, API, start, call->record_start[tracer.slot][client - clients]);
	PUT(r, API, end, end);
	PUT(r, API, processId, getpid());
	PUT(r, API, threadId, thread_id(client));
	PUT(r, API, correlationId, call->correlation);
	PUT(r, API, returnValue, call->result);
	call->record_began = call->record_start[tracer.slot][client - clients];
	call->record_end = end;
	record_end();
}

/* A call that began before the client was there has no start, and so no record. */
void on_api_exit(struct api_call *call)
{
	EACH_CLIENT(client)
		if (wants_call(client, call) && call->record_start[tracer.slot][client - clients])
			write_call(client, call);
}

void on_sync_end(struct sync_info *info, const uint64_t began[CLIENT_MAX])
{
	struct record r;

	callbacks_sync(info);
	if (info->type == 4 && fault(FAULT_no_device_sync))
		return;
	EACH_CLIENT(client) {
		uint64_t end = client_now(client);

		if (!client->enabled[KIND_SYNCHRONIZATION] || (info->result && !client->attributes[ATTR_ALL_SYNC_RECORDS]))
			continue;
		if (!record_begin(client, KIND_SYNCHRONIZATION, &r, NULL))
			continue;
		PUT(r, SYNC, type, info->type);
		PUT(r, SYNC, start, began[client - clients]);
		PUT(r, SYNC, end, end);
		PUT(r, SYNC, correlationId, info->correlation);
		PUT(r, SYNC, contextId, info->context);
		PUT(r, SYNC, streamId, info->stream);
		PUT(r, SYNC, cudaEventId, info->event);
		PUT(r, SYNC, cudaEventSyncId, info->event_sync);
		PUT(r, SYNC, returnValue, info->result);
		info->record_start = began[client - clients];
		info->record_end = end;
		record_end();
	}
}

void on_memory(const struct memory_info *info)
{
	struct record r;

	EACH_CLIENT(client) {
		if (!client->enabled[KIND_MEMORY2] || !record_begin(client, KIND_MEMORY2, &r, NULL))
			continue;
		PUT(r, MEMORY2, memoryOperationType, info->operation);
		PUT(r, MEMORY2, memoryKind, info->kind);
		PUT(r, MEMORY2, correlationId, info->correlation);
		PUT(r, MEMORY2, address, info->address);
		PUT(r, MEMORY2, bytes, info->bytes);
		PUT(r, MEMORY2, timestamp, client_now(client));
		PUT(r, MEMORY2, processId, getpid());
		PUT(r, MEMORY2, deviceId, info->device);
		PUT(r, MEMORY2, contextId, info->context);
		PUT(r, MEMORY2, streamId, info->stream);
		PUT(r, MEMORY2, isAsync, info->async);
		if (info->pool) {       /* memoryPoolConfig: type, address, threshold, size, used */
			put(r, AT_MEMORY2_memoryPoolConfig, 4, 1);
			put(r, AT_MEMORY2_memoryPoolConfig + 8, 8, info->pool);
			put(r, AT_MEMORY2_memoryPoolConfig + 16, 8, info->pool_threshold);
			put(r, AT_MEMORY2_memoryPoolConfig + 24, 8, info->pool_size);
			put(r, AT_MEMORY2_memoryPoolConfig + 32, 8, info->pool_used);
		}
		record_end();
	}
}

void on_pool(const struct pool_info *info)
{
	struct record r;

	EACH_CLIENT(client) {
		if (!client->enabled[KIND_MEMORY_POOL] || !record_begin(client, KIND_MEMORY_POOL, &r, NULL))
			continue;
		PUT(r, POOL, memoryPoolOperationType, info->operation);
		PUT(r, POOL, memoryPoolType, 1);
		PUT(r, POOL, correlationId, info->correlation);
		PUT(r, POOL, processId, getpid());
		PUT(r, POOL, deviceId, info->device);
		PUT(r, POOL, minBytesToKeep, info->keep);
		PUT(r, POOL, address, info->address);
		PUT(r, POOL, size, info->size);
		PUT(r, POOL, releaseThreshold, info->threshold);
		PUT(r, POOL, timestamp, client_now(client));
		PUT(r, POOL, utilizedSize, info->used);
		record_end();
	}
}

void write_overhead(struct client *client, uint32_t kind, uint64_t start, uint64_t end, const struct overhead_info *info)
{
	static struct { uint32_t length, channel, type; } full_data[GPU_MAX];   /* what the pointer in the record points to */
	struct record r;

	if (!record_begin(client, KIND_OVERHEAD, &r, NULL))
		return;
	PUT(r, OVERHEAD, overheadKind, kind);
	PUT(r, OVERHEAD, objectKind, 2);        /* a thread */
	put(r, AT_OVERHEAD_objectId, 4, (uint64_t)getpid());
	put(r, AT_OVERHEAD_objectId + 4, 4, thread_id(client));
	PUT(r, OVERHEAD, start, start);
	PUT(r, OVERHEAD, end, end);
	PUT(r, OVERHEAD, correlationId, info ? info->correlation : 0);
	if (info && info->length) {
		full_data[0].length = info->length;
		full_data[0].channel = info->channel;
		full_data[0].type = 1;
		PUT(r, OVERHEAD, overheadData, (uintptr_t)&full_data[0]);
	}
	record_end();
	if (driver())
		driver()->truth("\"what\":\"overhead_record\",\"kind\":%u,\"tid\":%u,\"record_start\":%llu,\"record_end\":%llu", kind,
			thread_id(client), (unsigned long long)start, (unsigned long long)end);
}

/* Some kinds of overhead were not told of at first. */
void on_overhead(const struct overhead_info *info)
{
	int since = info->kind == 5u << 16 ? 1203 : info->kind == 6u << 16 ? 1204 : 1100;

	EACH_CLIENT(client) {
		uint64_t now;

		if (!client->enabled[KIND_OVERHEAD] || release() < since)
			continue;
		now = client_now(client);
		write_overhead(client, info->kind, now - info->nanoseconds, now, info);
	}
}

/* What a device tells at one time.  All but the limit, the link and the fan's are other numbers each time. */
static void fill_environment(struct record r, uint32_t device, uint32_t kind, uint32_t turn)
{
	if (kind == 1) {
		PUT(r, ENVIRONMENT, smClock, 1410 + 15 * (turn % 8) + device);
		PUT(r, ENVIRONMENT, memoryClock, 1215 + turn % 3);
		PUT(r, ENVIRONMENT, pcieLinkGen, 5);
		PUT(r, ENVIRONMENT, pcieLinkWidth, 16);
		PUT(r, ENVIRONMENT, clocksThrottleReasons, setting_number("DOUBLE_REASONS", 4 * (turn % 2)));
	} else if (kind == 2) {
		PUT(r, ENVIRONMENT, gpuTemperature, 61 + turn % 5 + 10 * device);
	} else if (kind == 3) {
		PUT(r, ENVIRONMENT, power, 250000 + 1000 * (turn % 16) + device);
		PUT(r, ENVIRONMENT, powerLimit, 400000);
	} else {
		PUT(r, ENVIRONMENT, fanSpeed, device ? 0 : 30);
	}
}

/* Speed, temperature, power and cooling of each device. */
void write_environment(struct client *client)
{
	static _Atomic uint32_t turns;
	const struct double_driver *table = driver();
	uint32_t count = table ? (uint32_t)table->device_count() : 0, turn = turns++, data[5];
	uint64_t time;
	struct record r;

	for (uint32_t i = 0; i < 4 * count; i++) {
		if (!record_begin(client, KIND_ENVIRONMENT, &r, NULL))
			return;
		time = client_now(client);
		PUT(r, ENVIRONMENT, deviceId, i / 4);
		PUT(r, ENVIRONMENT, timestamp, time);
		PUT(r, ENVIRONMENT, environmentKind, i % 4 + 1);
		fill_environment(r, i / 4, i % 4 + 1, turn);
		memcpy(data, r.at + AT_ENVIRONMENT_data, sizeof(data));
		record_end();
		table->truth("\"what\":\"environment\",\"device\":%u,\"kind\":%u,\"data\":[%u,%u,%u,%u,%u],\"record_start\":%llu", i / 4, i % 4 + 1,
			data[0], data[1], data[2], data[3], data[4], (unsigned long long)time);
	}
}

static void write_device(struct client *client, uint32_t device)
{
	static const char uuid[16] = GPU_UUID_BYTES;
	struct record r;

	if (!record_begin(client, KIND_DEVICE, &r, NULL))
		return;
	PUT(r, DEVICE, globalMemoryBandwidth, 3350000000ull);
	PUT(r, DEVICE, globalMemorySize, GPU_MEMORY);
	PUT(r, DEVICE, coreClockRate, 1980000);
	PUT(r, DEVICE, numMemcpyEngines, 3);
	PUT(r, DEVICE, numMultiprocessors, GPU_MULTIPROCESSORS);
	PUT(r, DEVICE, computeCapabilityMajor, GPU_MAJOR);
	PUT(r, DEVICE, computeCapabilityMinor, GPU_MINOR);
	PUT(r, DEVICE, id, device);
	memcpy(r.at + AT_DEVICE_uuid, uuid, sizeof(uuid));
	r.at[AT_DEVICE_uuid + 15] = (uint8_t)device;
	PUT(r, DEVICE, name, (uintptr_t)GPU_NAME);
	PUT(r, DEVICE, isCudaVisible, 1);
	record_end();
}

static void write_context(struct client *client, const struct resource_info *info)
{
	struct record r;

	if (!record_begin(client, KIND_CONTEXT, &r, NULL))
		return;
	PUT(r, CONTEXT, contextId, info->context_id);
	PUT(r, CONTEXT, deviceId, info->device);
	PUT(r, CONTEXT, computeApiKind, 1);
	PUT(r, CONTEXT, nullStreamId, info->stream);
	PUT(r, CONTEXT, numMultiprocessors, GPU_MULTIPROCESSORS);
	PUT(r, CONTEXT, processId, getpid());
	record_end();
}

static void write_stream(struct client *client, const struct resource_info *info)
{
	struct record r;

	if (!record_begin(client, KIND_STREAM, &r, NULL))
		return;
	PUT(r, STREAM, contextId, info->context_id);
	PUT(r, STREAM, streamId, info->stream);
	PUT(r, STREAM, priority, info->priority);
	PUT(r, STREAM, flag, info->stream_flag);
	PUT(r, STREAM, correlationId, info->correlation);
	record_end();
}

/* Names come from NVTX, which the double does not have: DOUBLE_NAMES=1 names every stream, so that there are some. */
static void write_name(struct client *client, const struct resource_info *info)
{
	struct record r;

	if (!setting_number("DOUBLE_NAMES", 0) || !record_begin(client, KIND_NAME, &r, NULL))
		return;
	PUT(r, NAME, objectKind, 5);    /* a stream */
	put(r, AT_NAME_objectId, 4, info->device);
	put(r, AT_NAME_objectId + 4, 4, info->context_id);
	put(r, AT_NAME_objectId + 8, 4, info->stream);
	PUT(r, NAME, name, (uintptr_t)"a stream with a name");
	record_end();
}

static void write_module(struct client *client, const struct resource_info *info)
{
	struct record r;

	if (!record_begin(client, KIND_MODULE, &r, NULL))
		return;
	PUT(r, MODULE, contextId, info->context_id);
	PUT(r, MODULE, id, info->module);
	PUT(r, MODULE, cubin, (uintptr_t)info->module_image);
	record_end();
}

void on_resource(const struct resource_info *info)
{
	callbacks_resource(info);
	EACH_CLIENT(client) {
		if (info->what == RESOURCE_DEVICE && client->enabled[KIND_DEVICE])
			write_device(client, info->device);
		else if (info->what == RESOURCE_CONTEXT && client->enabled[KIND_CONTEXT])
			write_context(client, info);
		else if (info->what == RESOURCE_MODULE && client->enabled[KIND_MODULE])
			write_module(client, info);
		if (info->what == RESOURCE_STREAM && client->enabled[KIND_STREAM])
			write_stream(client, info);
		if (info->what == RESOURCE_STREAM && client->enabled[KIND_NAME])
			write_name(client, info);
	}
}

static void dump_context(const struct resource_info *info, void *client)
{
	write_context(client, info);
}

static void dump_stream(const struct resource_info *info, void *client)
{
	write_stream(client, info);
}

void write_existing(struct client *client, uint32_t kind)
{
	const struct double_driver *table = driver();

	if (!table->initialised())
		return;
	for (int i = 0; kind == KIND_DEVICE && i < table->device_count(); i++)
		write_device(client, (uint32_t)i);
	if (kind == KIND_CONTEXT)
		table->each_context(dump_context, client);
	if (kind == KIND_STREAM)
		table->each_stream(dump_stream, client);
}
