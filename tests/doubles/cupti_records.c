/* Records of what devices do.  Room for them is taken when the work is queued, on the thread that queues it, and they are completed when
   it is over: so a kernel's record stands before that of its launch, in the order of launches and not of time, and keeps its buffer. */
#include "cupti_state.h"

#include "faults.h"

#define LAUNCH_BEFORE 1000000u

/* The kind of record that a client wants of an operation, or 0. */
static int kind_for(const struct client *client, const struct op_info *op)
{
	bool whole = tracer.whole_graphs;

	if (op->child && whole && op->kind != OP_HOST)
		return 0;
	switch (op->kind) {
	case OP_KERNEL:
		if (client->enabled[KIND_CONCURRENT_KERNEL])
			return KIND_CONCURRENT_KERNEL;
		return client->enabled[KIND_KERNEL] ? KIND_KERNEL : 0;
	case OP_COPY:
		if (op->copy_kind == 10)
			return client->enabled[KIND_MEMCPY2] ? KIND_MEMCPY2 : 0;
		return client->enabled[KIND_MEMCPY] ? KIND_MEMCPY : 0;
	case OP_SET: return client->enabled[KIND_MEMSET] ? KIND_MEMSET : 0;
	case OP_EVENT: return client->enabled[KIND_CUDA_EVENT] ? KIND_CUDA_EVENT : 0;
	case OP_GRAPH: return client->enabled[KIND_GRAPH_TRACE] ? KIND_GRAPH_TRACE : 0;
	case OP_HOST:
		if (op->child)
			return client->enabled[KIND_GRAPH_HOST_NODE] ? KIND_GRAPH_HOST_NODE : 0;
		return client->enabled[KIND_HOST_LAUNCH] ? KIND_HOST_LAUNCH : 0;
	default: return 0;
	}
}

static void describe_kernel(struct record r, const struct op_info *op)
{
	PUT(r, KERNEL, registersPerThread, op->registers);
	PUT(r, KERNEL, deviceId, op->device);
	PUT(r, KERNEL, contextId, op->context);
	PUT(r, KERNEL, streamId, op->stream);
	PUT(r, KERNEL, gridX, op->grid[0]);
	PUT(r, KERNEL, gridY, op->grid[1]);
	PUT(r, KERNEL, gridZ, op->grid[2]);
	PUT(r, KERNEL, blockX, op->block[0]);
	PUT(r, KERNEL, blockY, op->block[1]);
	PUT(r, KERNEL, blockZ, op->block[2]);
	PUT(r, KERNEL, staticSharedMemory, op->static_shared);
	PUT(r, KERNEL, dynamicSharedMemory, op->shared);
	PUT(r, KERNEL, correlationId, op->correlation);
	PUT(r, KERNEL, name, fault_turn(FAULT_null_name) ? 0 : (uintptr_t)op->name);
	PUT(r, KERNEL, launchType, op->cooperative);
	PUT(r, KERNEL, graphNodeId, op->node);
	PUT(r, KERNEL, graphId, op->graph);
	PUT(r, KERNEL, channelID, op->channel);
	PUT(r, KERNEL, channelType, op->channel_type);
	PUT(r, KERNEL, clusterX, op->cluster[0]);
	PUT(r, KERNEL, clusterY, op->cluster[1]);
	PUT(r, KERNEL, clusterZ, op->cluster[2]);
	PUT(r, KERNEL, priority, op->priority);
	PUT(r, KERNEL, sourceGraphId, op->source_graph);
	PUT(r, KERNEL, sourceGraphNodeId, op->source_node);
}

static void describe_copy(struct record r, const struct op_info *op)
{
	PUT(r, MEMCPY, copyKind, op->copy_kind);
	PUT(r, MEMCPY, srcKind, op->from_kind);
	PUT(r, MEMCPY, dstKind, op->to_kind);
	PUT(r, MEMCPY, flags, op->async);
	PUT(r, MEMCPY, bytes, op->bytes);
	PUT(r, MEMCPY, deviceId, op->device);
	PUT(r, MEMCPY, contextId, op->context);
	PUT(r, MEMCPY, streamId, op->stream);
	PUT(r, MEMCPY, correlationId, op->correlation);
	PUT(r, MEMCPY, graphNodeId, op->node);
	PUT(r, MEMCPY, graphId, op->graph);
	PUT(r, MEMCPY, channelID, op->channel);
	PUT(r, MEMCPY, channelType, op->channel_type);
	PUT(r, MEMCPY, copyCount, 1);
	PUT(r, MEMCPY, sourceGraphId, op->source_graph);
	PUT(r, MEMCPY, sourceGraphNodeId, op->source_node);
}

static void describe_peer_copy(struct record r, const struct op_info *op)
{
	PUT(r, MEMCPY2, copyKind, op->copy_kind);
	PUT(r, MEMCPY2, srcKind, op->from_kind);
	PUT(r, MEMCPY2, dstKind, op->to_kind);
	PUT(r, MEMCPY2, flags, op->async);
	PUT(r, MEMCPY2, bytes, op->bytes);
	PUT(r, MEMCPY2, deviceId, op->device);
	PUT(r, MEMCPY2, contextId, op->context);
	PUT(r, MEMCPY2, streamId, op->stream);
	PUT(r, MEMCPY2, srcDeviceId, op->from_device);
	PUT(r, MEMCPY2, srcContextId, op->from_context);
	PUT(r, MEMCPY2, dstDeviceId, op->to_device);
	PUT(r, MEMCPY2, dstContextId, op->to_context);
	PUT(r, MEMCPY2, correlationId, op->correlation);
	PUT(r, MEMCPY2, graphNodeId, op->node);
	PUT(r, MEMCPY2, graphId, op->graph);
	PUT(r, MEMCPY2, channelID, op->channel);
	PUT(r, MEMCPY2, channelType, op->channel_type);
}

static void describe_set(struct record r, const struct op_info *op)
{
	PUT(r, MEMSET, value, op->value);
	PUT(r, MEMSET, bytes, op->bytes);
	PUT(r, MEMSET, deviceId, op->device);
	PUT(r, MEMSET, contextId, op->context);
	PUT(r, MEMSET, streamId, op->stream);
	PUT(r, MEMSET, correlationId, op->correlation);
	PUT(r, MEMSET, flags, op->async);
	PUT(r, MEMSET, memoryKind, op->to_kind);
	PUT(r, MEMSET, graphNodeId, op->node);
	PUT(r, MEMSET, graphId, op->graph);
	PUT(r, MEMSET, channelID, op->channel);
	PUT(r, MEMSET, channelType, op->channel_type);
	PUT(r, MEMSET, sourceGraphId, op->source_graph);
	PUT(r, MEMSET, sourceGraphNodeId, op->source_node);
}

static void describe_event(struct record r, const struct op_info *op)
{
	PUT(r, EVENT, correlationId, op->correlation);
	PUT(r, EVENT, contextId, op->context);
	PUT(r, EVENT, streamId, op->stream);
	PUT(r, EVENT, eventId, op->event);
	PUT(r, EVENT, deviceId, op->device);
	PUT(r, EVENT, cudaEventSyncId, op->event_sync);
}

static void describe_graph(struct record r, const struct op_info *op)
{
	PUT(r, GRAPH, correlationId, op->correlation);
	PUT(r, GRAPH, deviceId, op->device);
	PUT(r, GRAPH, graphId, op->graph);
	PUT(r, GRAPH, contextId, op->context);
	PUT(r, GRAPH, streamId, op->stream);
	PUT(r, GRAPH, endDeviceId, op->device);
	PUT(r, GRAPH, endContextId, op->context);
}

static void describe_host_launch(struct record r, const struct op_info *op)
{
	PUT(r, HOSTLAUNCH, streamId, op->stream);
	PUT(r, HOSTLAUNCH, contextId, op->context);
	PUT(r, HOSTLAUNCH, deviceId, op->device);
	PUT(r, HOSTLAUNCH, correlationId, op->correlation);
	PUT(r, HOSTLAUNCH, processId, op->pid);
}

static void describe_host_node(struct record r, const struct op_info *op)
{
	PUT(r, HOSTNODE, streamId, op->stream);
	PUT(r, HOSTNODE, contextId, op->context);
	PUT(r, HOSTNODE, deviceId, op->device);
	PUT(r, HOSTNODE, correlationId, op->correlation);
	PUT(r, HOSTNODE, graphId, op->graph);
	PUT(r, HOSTNODE, graphNodeId, op->node);
	PUT(r, HOSTNODE, processId, op->pid);
}

static void describe(struct record record, int kind, const struct op_info *op)
{
	switch (kind) {
	case KIND_KERNEL:
	case KIND_CONCURRENT_KERNEL: describe_kernel(record, op); break;
	case KIND_MEMCPY: describe_copy(record, op); break;
	case KIND_MEMCPY2: describe_peer_copy(record, op); break;
	case KIND_MEMSET: describe_set(record, op); break;
	case KIND_CUDA_EVENT: describe_event(record, op); break;
	case KIND_GRAPH_TRACE: describe_graph(record, op); break;
	case KIND_GRAPH_HOST_NODE: describe_host_node(record, op); break;
	default: describe_host_launch(record, op); break;
	}
}

void on_op_queued(struct op_info *op)
{
	EACH_CLIENT(client) {
		int kind = kind_for(client, op);
		struct pending *pending;
		struct record record;

		if (!kind || !record_begin(client, kind, &record, &pending))
			continue;
		describe(record, kind, op);
		pending->op_next = op->tracer_data[tracer.slot];
		op->tracer_data[tracer.slot] = pending;
		record_end();
	}
}

/* What goes wrong in the field with the times of device work. */
static void spoil_times(const struct op_info *op, struct client *client, uint64_t *start, uint64_t *end)
{
	uint64_t launched;

	if (fault_turn(FAULT_zero_stamps)) {
		*start = *end = 0;
	} else if (fault_turn(FAULT_end_before_start)) {
		uint64_t swap = *start;

		*start = *end;
		*end = swap;
	} else if (fault_turn(FAULT_start_before_launch)) {
		client_map(client, op->device, op->submitted, &launched);
		*start = launched - LAUNCH_BEFORE;
	}
}

static void finish_kernel(struct client *client, struct record r, const struct op_info *op, uint64_t start, uint64_t end)
{
	uint64_t submitted;

	PUT(r, KERNEL, start, start);
	PUT(r, KERNEL, end, end);
	PUT(r, KERNEL, completed, end);
	PUT(r, KERNEL, gridId, op->grid_id);
	if (client->attributes[ATTR_KERNEL_LATENCY_TIMESTAMPS]) {
		client_map(client, op->device, op->submitted, &submitted);
		PUT(r, KERNEL, queued, submitted);
		PUT(r, KERNEL, submitted, submitted);
	}
	if (fault_turn(FAULT_correlation_zero))
		PUT(r, KERNEL, correlationId, 0);
}

static void finish_event(struct client *client, struct record record, uint64_t time)
{
	if (client->attributes[ATTR_CUDA_EVENT_DEVICE_TIMESTAMPS])
		PUT(record, EVENT, deviceTimestamp, time);
}

static struct record record_of(const struct pending *pending)
{
	return (struct record){ pending->buffer->data + pending->offset, layout_size(release(), pending->kind) };
}

static void put_start(struct record record, int kind, uint64_t start)
{
	if (kind == KIND_GRAPH_TRACE)
		PUT(record, GRAPH, start, start);
	else if (kind == KIND_HOST_LAUNCH)
		PUT(record, HOSTLAUNCH, start, start);
	else if (kind == KIND_GRAPH_HOST_NODE)
		PUT(record, HOSTNODE, start, start);
	else if (kind != KIND_CUDA_EVENT)       /* all others agree here */
		PUT(record, MEMCPY, start, start);
}

void on_op_started(struct op_info *op)
{
	uint64_t start;

	if (!op->tracer_data[tracer.slot] || !fault(FAULT_start_at_once))
		return;
	pthread_mutex_lock(&cupti_lock);
	for (struct pending *pending = op->tracer_data[tracer.slot]; pending; pending = pending->op_next) {
		client_map(pending->client, op->device, op->start, &start);
		if (pending->buffer)
			put_start(record_of(pending), pending->kind, start);
	}
	pthread_mutex_unlock(&cupti_lock);
}

static void finish(struct pending *pending, struct op_info *op)
{
	struct client *client = pending->client;
	struct record record = record_of(pending);
	bool kernel = pending->kind == KIND_KERNEL || pending->kind == KIND_CONCURRENT_KERNEL;
	uint64_t start, end;

	client_map(client, op->device, op->end, &end); /* first: if clocks are compared now, both times are by the new line */
	client_map(client, op->device, op->start, &start);
	if (kernel && client->bad_stamps > 0)
		client->bad_stamps--;
	if (kernel || pending->kind == KIND_MEMCPY || pending->kind == KIND_MEMSET)
		spoil_times(op, client, &start, &end);
	op->record_start = start;
	op->record_end = end;
	if (kernel)
		finish_kernel(client, record, op, start, end);
	else if (pending->kind == KIND_CUDA_EVENT)
		finish_event(client, record, end);
	else if (pending->kind == KIND_GRAPH_TRACE)
		PUT(record, GRAPH, start, start), PUT(record, GRAPH, end, end);
	else if (pending->kind == KIND_HOST_LAUNCH)
		PUT(record, HOSTLAUNCH, start, start), PUT(record, HOSTLAUNCH, end, end), PUT(record, HOSTLAUNCH, threadId, op->tid);
	else if (pending->kind == KIND_GRAPH_HOST_NODE)
		PUT(record, HOSTNODE, start, start), PUT(record, HOSTNODE, end, end), PUT(record, HOSTNODE, threadId, op->tid);
	else            /* the three kinds of copies and sets agree here */
		PUT(record, MEMCPY, start, start), PUT(record, MEMCPY, end, end);
}

void on_op_done(struct op_info *op)
{
	struct pending *next;

	if (!op->tracer_data[tracer.slot])
		return;
	pthread_mutex_lock(&cupti_lock);
	for (struct pending *pending = op->tracer_data[tracer.slot]; pending; pending = next) {
		next = pending->op_next;
		if (pending->buffer)
			finish(pending, op);
		pending_finish(pending);
	}
	op->tracer_data[tracer.slot] = NULL;
	pthread_mutex_unlock(&cupti_lock);
}
