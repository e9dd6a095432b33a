/* Graphs: built by hand or captured from streams, instantiated, launched as one operation with children. */
#include "machine.h"

#include <stdlib.h>
#include <string.h>

#include "truth.h"

#define GRAPH_MAGIC 0x47524148u
#define EXEC_MAGIC 0x47455831u
#define LAST_MAX 16

struct CUgraphNode_st {
	uint64_t id, source;
	struct op *op;                  /* never queued: what each launch makes a copy of */
	size_t place;                   /* in its graph; a node waits only for earlier ones */
	struct CUgraphNode_st **waits;
	size_t wait_count;
	bool awaited;
};

struct CUgraph_st {
	uint32_t magic, id;
	struct CUgraphNode_st **nodes;
	size_t count;
};

struct CUgraphExec_st {
	uint32_t magic, id, source;
	struct CUgraph_st *graph;       /* a copy, our own */
};

struct capture {
	uint64_t id;
	int status;
	struct CUgraph_st *graph;
	struct CUstream_st *origin;
};

static uint32_t graph_ids;
static uint64_t node_ids, capture_ids;
static pthread_mutex_t graph_lock = PTHREAD_MUTEX_INITIALIZER;         /* over ids and captures */

static bool graph_ok(const struct CUgraph_st *graph)
{
	return graph && graph->magic == GRAPH_MAGIC;
}

static bool exec_ok(const struct CUgraphExec_st *exec)
{
	return exec && exec->magic == EXEC_MAGIC;
}

uint32_t graph_id(CUgraph graph)
{
	return graph_ok(graph) ? graph->id : 0;
}

uint32_t graph_exec_id(CUgraphExec exec)
{
	return exec_ok(exec) ? exec->id : 0;
}

uint64_t graph_node_id(CUgraphNode node)
{
	return node ? node->id : 0;
}

CUresult graph_new(struct CUgraph_st **ret_graph)
{
	struct CUgraph_st *graph = calloc(1, sizeof(*graph));

	if (!graph)
		return CUDA_ERROR_OUT_OF_MEMORY;
	graph->magic = GRAPH_MAGIC;
	pthread_mutex_lock(&graph_lock);
	graph->id = ++graph_ids;
	pthread_mutex_unlock(&graph_lock);
	*ret_graph = graph;
	return CUDA_SUCCESS;
}

static void node_free(struct CUgraphNode_st *node)
{
	if (!node)
		return;
	pthread_mutex_lock(&machine_lock);
	op_put(node->op);
	pthread_mutex_unlock(&machine_lock);
	free(node->waits);
	free(node);
}

CUresult graph_free(struct CUgraph_st *graph)
{
	if (!graph_ok(graph))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < graph->count; i++)
		node_free(graph->nodes[i]);
	free(graph->nodes);
	graph->magic = 0;
	free(graph);
	return CUDA_SUCCESS;
}

static bool node_waits(struct CUgraphNode_st *node, const CUgraphNode *waits, size_t count)
{
	if (!count)
		return true;
	node->waits = malloc(count * sizeof(CUgraphNode));
	if (!node->waits)
		return false;
	memcpy(node->waits, waits, count * sizeof(CUgraphNode));
	node->wait_count = count;
	for (size_t i = 0; i < count; i++)
		waits[i]->awaited = true;
	return true;
}

CUresult graph_add(struct CUgraph_st *graph, struct op *op, const CUgraphNode *waits, size_t count, CUgraphNode *ret_node)
{
	struct CUgraphNode_st *node = calloc(1, sizeof(*node)), **nodes;

	if (!node)
		abort();
	node->op = op;
	nodes = realloc(graph->nodes, (graph->count + 1) * sizeof(CUgraphNode));
	if (!nodes || !node_waits(node, waits, count))
		abort();
	graph->nodes = nodes;
	node->place = graph->count;
	graph->nodes[graph->count++] = node;
	pthread_mutex_lock(&graph_lock);
	node->id = ++node_ids;
	pthread_mutex_unlock(&graph_lock);
	*ret_node = node;
	return CUDA_SUCCESS;
}

CUresult graph_nodes(struct CUgraph_st *graph, CUgraphNode *nodes, size_t *count)
{
	if (!graph_ok(graph) || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; nodes && i < *count; i++)
		nodes[i] = i < graph->count ? graph->nodes[i] : NULL;
	if (!nodes || *count > graph->count)
		*count = graph->count;
	return CUDA_SUCCESS;
}

/* Captures */

bool stream_capturing(struct CUstream_st *stream)
{
	return stream->capture != NULL;
}

CUresult capture_begin(struct CUstream_st *stream)
{
	struct capture *capture;

	if (stream->capture || stream == stream->context->legacy)
		return stream->capture ? 401 : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	capture = calloc(1, sizeof(*capture));
	if (!capture || graph_new(&capture->graph) != CUDA_SUCCESS) {
		free(capture);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	pthread_mutex_lock(&graph_lock);
	capture->id = ++capture_ids;
	pthread_mutex_unlock(&graph_lock);
	capture->status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
	capture->origin = stream;
	stream->capture = capture;
	stream->capture_last_count = 0;
	return CUDA_SUCCESS;
}

void capture_spoil(struct CUstream_st *stream)
{
	if (stream->capture)
		stream->capture->status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

CUresult capture_add(struct op *op)
{
	struct CUstream_st *stream = op->stream;
	CUgraphNode node;

	if (stream->capture->status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
		pthread_mutex_lock(&machine_lock);
		op_put(op);
		pthread_mutex_unlock(&machine_lock);
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	}
	(void)graph_add(stream->capture->graph, op, stream->capture_last, stream->capture_last_count, &node);
	stream->capture_last[0] = node;
	stream->capture_last_count = 1;
	return CUDA_SUCCESS;
}

CUresult capture_status(struct CUstream_st *stream, int *ret_status, uint64_t *ret_id, struct CUgraph_st **ret_graph,
	const CUgraphNode **ret_nodes, size_t *ret_count)
{
	struct capture *capture = stream->capture;

	if (!ret_status)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_status = capture ? capture->status : CU_STREAM_CAPTURE_STATUS_NONE;
	if (ret_id)
		*ret_id = capture ? capture->id : 0;
	if (ret_graph)
		*ret_graph = capture ? capture->graph : NULL;
	if (ret_nodes)
		*ret_nodes = stream->capture_last;
	if (ret_count)
		*ret_count = capture ? stream->capture_last_count : 0;
	return CUDA_SUCCESS;
}

/* An event recorded in a capture stands for the nodes before it; it is no node. */
CUresult capture_event(struct CUevent_st *event, struct CUstream_st *stream)
{
	event->capture = stream->capture;
	event->node_count = stream->capture_last_count;
	memcpy(event->nodes, stream->capture_last, sizeof(event->nodes));
	return CUDA_SUCCESS;
}

static bool waits_for(const struct CUstream_st *stream, CUgraphNode node)
{
	for (unsigned int i = 0; i < stream->capture_last_count; i++)
		if (stream->capture_last[i] == node)
			return true;
	return false;
}

CUresult capture_wait(struct CUstream_st *stream, struct CUevent_st *event)
{
	if (stream->capture && stream->capture != event->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	if (!stream->capture) {
		stream->capture = event->capture;       /* joins */
		stream->capture_last_count = 0;
	}
	for (unsigned int i = 0; i < event->node_count && stream->capture_last_count < LAST_MAX; i++)
		if (!waits_for(stream, event->nodes[i]))
			stream->capture_last[stream->capture_last_count++] = event->nodes[i];
	return CUDA_SUCCESS;
}

static void capture_leave(struct capture *capture)
{
	pthread_mutex_lock(&machine_lock);
	for (struct CUctx_st *context = context_list; context; context = context->next)
		for (struct CUstream_st *stream = context->streams; stream; stream = stream->next)
			if (stream->capture == capture)
				stream->capture = NULL;
	pthread_mutex_unlock(&machine_lock);
}

/* Work of another stream that the first one does not wait for. */
static bool capture_unjoined(const struct capture *capture)
{
	for (size_t i = 0; i < capture->graph->count; i++) {
		struct CUgraphNode_st *node = capture->graph->nodes[i];

		if (!node->awaited && !waits_for(capture->origin, node))
			return true;
	}
	return false;
}

CUresult capture_end(struct CUstream_st *stream, struct CUgraph_st **ret_graph)
{
	struct capture *capture = stream->capture;
	CUresult result = CUDA_SUCCESS;

	if (!capture)
		return 401;
	if (capture->origin != stream)
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	if (capture->status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (capture_unjoined(capture))
		result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	capture_leave(capture);
	*ret_graph = result == CUDA_SUCCESS ? capture->graph : NULL;
	if (result != CUDA_SUCCESS)
		(void)graph_free(capture->graph);
	free(capture);
	return result;
}

/* Instances */

static CUresult graph_copy(struct CUgraph_st *graph, struct CUgraph_st **ret_copy)
{
	struct CUgraph_st *copy;
	CUresult result = graph_new(&copy);

	if (result != CUDA_SUCCESS)
		return result;
	for (size_t i = 0; i < graph->count; i++) {
		struct CUgraphNode_st *from = graph->nodes[i];
		CUgraphNode waits[64], node;
		size_t count = from->wait_count < 64 ? from->wait_count : 64;

		for (size_t j = 0; j < count; j++)
			waits[j] = copy->nodes[from->waits[j]->place];
		pthread_mutex_lock(&machine_lock);
		op_get(from->op);
		pthread_mutex_unlock(&machine_lock);
		(void)graph_add(copy, from->op, waits, count, &node);
		node->source = from->id;
	}
	*ret_copy = copy;
	return CUDA_SUCCESS;
}

CUresult graph_instantiate(struct CUgraph_st *graph, struct CUgraphExec_st **ret_exec)
{
	struct CUgraphExec_st *exec;
	CUresult result;

	if (!graph_ok(graph))
		return CUDA_ERROR_INVALID_VALUE;
	exec = calloc(1, sizeof(*exec));
	if (!exec)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = graph_copy(graph, &exec->graph);
	if (result != CUDA_SUCCESS) {
		free(exec);
		return result;
	}
	exec->magic = EXEC_MAGIC;
	exec->id = exec->graph->id;
	exec->source = graph->id;
	truth("\"what\":\"instantiate\",\"graph\":%u,\"source\":%u,\"nodes\":%zu", exec->id, graph->id, graph->count);
	*ret_exec = exec;
	return CUDA_SUCCESS;
}

CUresult graph_update(struct CUgraphExec_st *exec, struct CUgraph_st *graph)
{
	if (!exec_ok(exec) || !graph_ok(graph))
		return CUDA_ERROR_INVALID_VALUE;
	if (exec->graph->count != graph->count)
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	pthread_mutex_lock(&machine_lock);
	for (size_t i = 0; i < graph->count; i++) {
		op_put(exec->graph->nodes[i]->op);
		exec->graph->nodes[i]->op = op_get(graph->nodes[i]->op);
	}
	pthread_mutex_unlock(&machine_lock);
	return CUDA_SUCCESS;
}

CUresult graph_exec_free(struct CUgraphExec_st *exec)
{
	if (!exec_ok(exec))
		return CUDA_ERROR_INVALID_VALUE;
	(void)graph_free(exec->graph);
	exec->magic = 0;
	free(exec);
	return CUDA_SUCCESS;
}

/* Launches */

static struct op *child_new(const struct CUgraphNode_st *node, const struct CUgraphExec_st *exec, struct CUstream_st *stream)
{
	const struct op *from = node->op;
	struct op *op = op_new(from->info.kind, stream);
	struct op_info own = op->info;

	op->info = from->info;
	op->info.device = own.device;
	op->info.context = own.context;
	op->info.stream = own.stream;
	op->info.correlation = own.correlation;
	op->info.pid = own.pid;
	op->info.tid = own.tid;
	op->info.graph = exec->id;
	op->info.source_graph = exec->source;
	op->info.node = node->id;
	op->info.source_node = node->source;
	op->info.child = true;
	op->duration = from->duration;
	op->engine = from->engine;
	op->to = from->to;
	op->from = from->from;
	op->element = from->element;
	op->host = from->host;
	op->host_user = from->host_user;
	return op;
}

/* Host functions run after the rest of the graph, in their order: the only thing about a graph that is simpler than it should be. */
static void launch_host_functions(struct CUgraphExec_st *exec, struct CUstream_st *stream)
{
	for (size_t i = 0; i < exec->graph->count; i++) {
		struct op *op;

		if (exec->graph->nodes[i]->op->info.kind != OP_HOST)
			continue;
		op = child_new(exec->graph->nodes[i], exec, stream);
		op_submit(op);
		pthread_mutex_lock(&machine_lock);
		op_put(op);
		pthread_mutex_unlock(&machine_lock);
	}
}

static void launch_children(struct op *launch, struct CUgraphExec_st *exec, struct CUstream_st *stream)
{
	struct CUgraph_st *graph = exec->graph;

	launch->children = calloc(graph->count + 1, sizeof(*launch->children));
	if (!launch->children)
		abort();
	for (size_t i = 0; i < graph->count; i++) {
		struct CUgraphNode_st *node = graph->nodes[i];
		struct op *child = child_new(node, exec, stream);

		if (child->info.kind == OP_HOST)
			child->info.kind = OP_EMPTY;
		pthread_mutex_lock(&machine_lock);
		for (size_t j = 0; j < node->wait_count; j++)
			op_wait_for(child, launch->children[node->waits[j]->place]);
		pthread_mutex_unlock(&machine_lock);
		launch->children[launch->child_count++] = child;
	}
}

CUresult graph_launch(struct CUgraphExec_st *exec, struct CUstream_st *stream)
{
	struct op *launch;

	if (!exec_ok(exec))
		return CUDA_ERROR_INVALID_VALUE;
	if (stream_capturing(stream))
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	launch = op_new(OP_GRAPH, stream);
	launch->info.graph = exec->id;
	launch->info.source_graph = exec->source;
	launch_children(launch, exec, stream);
	op_submit(launch);
	pthread_mutex_lock(&machine_lock);
	op_put(launch);
	pthread_mutex_unlock(&machine_lock);
	launch_host_functions(exec, stream);
	return CUDA_SUCCESS;
}
