/* Modules, functions, launches and graphs. */
#include "driver.h"

#include <string.h>

static CUresult load(CUmodule *module, const void *image)
{
	return module ? module_new(context_current(), image, module) : CUDA_ERROR_INVALID_VALUE;
}

/* A library is a module of the context that is current, and a kernel one of its functions. */
static CUresult load_library(CUlibrary *library, const void *code)
{
	return load((CUmodule *)library, code);
}

static CUresult function_of(CUfunction *function, CUmodule module, const char *name)
{
	return function ? module_function(module, name, function) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult name_of(const char **name, CUfunction function)
{
	if (!name || !function_ok(function))
		return CUDA_ERROR_INVALID_HANDLE;
	*name = function_name(function);
	return CUDA_SUCCESS;
}

static CUresult module_of(CUmodule *module, CUfunction function)
{
	if (!module || !function_ok(function))
		return CUDA_ERROR_INVALID_HANDLE;
	*module = function_module(function);
	return CUDA_SUCCESS;
}

static CUresult kernel_function(CUfunction *function, CUkernel kernel)
{
	if (!function || !function_ok((CUfunction)kernel))
		return CUDA_ERROR_INVALID_HANDLE;
	*function = (CUfunction)kernel;
	return CUDA_SUCCESS;
}

static CUresult function_attribute(int *value, int attribute, CUfunction function)
{
	static const int values[] = { 1024, 0, 0, 0, 32, 90, 90 };

	if (!value || !function_ok(function))
		return CUDA_ERROR_INVALID_HANDLE;
	*value = attribute >= 0 && attribute < (int)(sizeof(values) / sizeof(*values)) ? values[attribute] : 0;
	return CUDA_SUCCESS;
}

static CUresult loading_mode(int *mode)
{
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = 2;      /* lazy */
	return CUDA_SUCCESS;
}

static CUresult occupancy(int *blocks, CUfunction function, int block_size)
{
	if (!blocks || block_size <= 0 || !function_ok(function))
		return CUDA_ERROR_INVALID_VALUE;
	*blocks = block_size > 2048 ? 0 : 2048 / block_size;
	return CUDA_SUCCESS;
}

static CUresult launch(CUfunction function, const unsigned int grid[3], const unsigned int block[3], unsigned int shared, CUstream handle,
	void **params, struct manner manner)
{
	struct CUstream_st *stream;
	CUresult result = stream_find(handle, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (function_ok(function))
		api_current()->symbol = function_name(function);
	return work_launch(function, grid, block, shared, stream, params, manner);
}

/* Of the attributes those that can be seen in a record. */
static struct manner manner_of(const CUlaunchConfig *config)
{
	struct manner manner = { 0 };

	for (unsigned int i = 0; i < config->numAttrs; i++) {
		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
			manner.cooperative = config->attrs[i].value.cooperative != 0;
		else if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			memcpy(manner.cluster, &config->attrs[i].value.clusterDim, sizeof(manner.cluster));
	}
	return manner;
}

static CUresult launch_config(const CUlaunchConfig *config, CUfunction function, void **params, bool own)
{
	unsigned int grid[3], block[3];

	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(grid, &config->gridDimX, sizeof(grid));
	memcpy(block, &config->blockDimX, sizeof(block));
	return launch(function, grid, block, config->sharedMemBytes, own ? per_thread(config->hStream) : config->hStream, params,
		manner_of(config));
}

static CUresult launch_host(CUstream handle, CUhostFn function, void *user)
{
	struct CUstream_st *stream;

	return stream_find(handle, &stream) ?: work_host(function, user, stream);
}

static CUresult add_kernel(CUgraphNode *node, CUgraph graph, const CUgraphNode *waits, size_t count, const CUDA_KERNEL_NODE_PARAMS *params)
{
	struct CUctx_st *context = context_current();
	CUfunction function = !params ? NULL : params->func ? params->func : (CUfunction)params->kern;
	unsigned int grid[3], block[3];

	if (!node || !graph_id(graph) || !context_ok(context) || !function_ok(function))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(grid, &params->gridDimX, sizeof(grid));
	memcpy(block, &params->blockDimX, sizeof(block));
	return graph_add(graph, work_launch_op(function, grid, block, params->sharedMemBytes, context->legacy, params->kernelParams), waits,
		count, node);
}

static CUresult add_set(CUgraphNode *node, CUgraph graph, const CUgraphNode *waits, size_t count, const CUDA_MEMSET_NODE_PARAMS *params)
{
	struct CUctx_st *context = context_current();

	if (!node || !graph_id(graph) || !context_ok(context) || !params || params->height != 1
			|| (params->elementSize != 1 && params->elementSize != 4))
		return CUDA_ERROR_INVALID_VALUE;
	return graph_add(graph, work_set_op(params->dst, params->value, params->elementSize, params->width, context->legacy), waits, count,
		node);
}

static CUresult add_empty(CUgraphNode *node, CUgraph graph, const CUgraphNode *waits, size_t count)
{
	struct CUctx_st *context = context_current();

	if (!node || !graph_id(graph) || !context_ok(context))
		return CUDA_ERROR_INVALID_VALUE;
	return graph_add(graph, op_new(OP_EMPTY, context->legacy), waits, count, node);
}

static CUresult instantiate(CUgraphExec *exec, CUgraph graph)
{
	return exec ? graph_instantiate(graph, exec) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
	CUresult result = graph_update(exec, graph);

	if (info)
		*info = (CUgraphExecUpdateResultInfo){ .result = result != CUDA_SUCCESS };
	return result;
}

static CUresult launch_graph(CUgraphExec exec, CUstream handle)
{
	struct CUstream_st *stream;

	return stream_find(handle, &stream) ?: graph_launch(exec, stream);
}

#define DIMS(a, b, c) (const unsigned int[3]){ a, b, c }

CALL(cuModuleLoad, (CUmodule *module, const char *file), load(module, file))
CALL(cuModuleLoadData, (CUmodule *module, const void *image), load(module, image))
CALL(cuModuleLoadDataEx, (CUmodule *module, const void *image, unsigned int count, int *options, void **values),
	((void)count, (void)options, (void)values, load(module, image)))
CALL(cuModuleUnload, (CUmodule module), module_free(module))
CALL(cuModuleGetFunction, (CUfunction *function, CUmodule module, const char *name), function_of(function, module, name))
CALL(cuModuleGetGlobal_v2, (CUdeviceptr *pointer, size_t *bytes, CUmodule module, const char *name),
	module_global(module, name, pointer, bytes))
CALL(cuModuleGetLoadingMode, (int *mode), loading_mode(mode))
CALL(cuLibraryLoadData, (CUlibrary *library, const void *code, int *joptions, void **jvalues, unsigned int jcount, int *options,
	void **values, unsigned int count),
	((void)joptions, (void)jvalues, (void)jcount, (void)options, (void)values, (void)count, load_library(library, code)))
CALL(cuLibraryUnload, (CUlibrary library), module_free((CUmodule)library))
CALL(cuLibraryGetKernel, (CUkernel *kernel, CUlibrary library, const char *name),
	function_of((CUfunction *)kernel, (CUmodule)library, name))
CALL(cuKernelGetFunction, (CUfunction *function, CUkernel kernel), kernel_function(function, kernel))
CALL(cuKernelGetName, (const char **name, CUkernel kernel), name_of(name, (CUfunction)kernel))
CALL(cuFuncGetName, (const char **name, CUfunction function), name_of(name, function))
CALL(cuFuncGetModule, (CUmodule *module, CUfunction function), module_of(module, function))
CALL(cuFuncGetAttribute, (int *value, int attribute, CUfunction function), function_attribute(value, attribute, function))
CALL(cuFuncSetAttribute, (CUfunction function, int attribute, int value),
	((void)attribute, (void)value, function_ok(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE))
CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, CUfunction function, int block_size, size_t shared),
	((void)shared, occupancy(blocks, function, block_size)))
STREAM_CALL(cuLaunchKernel, (CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
	unsigned int bz, unsigned int shared, CUstream stream, void **params, void **extra),
	((void)extra, launch(function, DIMS(gx, gy, gz), DIMS(bx, by, bz), shared, stream, params, (struct manner){ 0 })))
STREAM_CALL(cuLaunchCooperativeKernel, (CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
	unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params),
	launch(function, DIMS(gx, gy, gz), DIMS(bx, by, bz), shared, stream, params, (struct manner){ .cooperative = true }))
CALL(cuLaunchKernelEx, (const CUlaunchConfig *config, CUfunction function, void **params, void **extra),
	((void)extra, launch_config(config, function, params, false)))
CALL(cuLaunchKernelEx_ptsz, (const CUlaunchConfig *config, CUfunction function, void **params, void **extra),
	((void)extra, launch_config(config, function, params, true)))
STREAM_CALL(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void *user), launch_host(stream, function, user))
CALL(cuGraphCreate, (CUgraph *graph, unsigned int flags), flags || !graph ? CUDA_ERROR_INVALID_VALUE : graph_new(graph))
CALL(cuGraphDestroy, (CUgraph graph), graph_free(graph))
CALL(cuGraphAddKernelNode_v2, (CUgraphNode *node, CUgraph graph, const CUgraphNode *waits, size_t count,
	const CUDA_KERNEL_NODE_PARAMS *params), add_kernel(node, graph, waits, count, params))
CALL(cuGraphAddMemsetNode, (CUgraphNode *node, CUgraph graph, const CUgraphNode *waits, size_t count,
	const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context), ((void)context, add_set(node, graph, waits, count, params)))
CALL(cuGraphAddEmptyNode, (CUgraphNode *node, CUgraph graph, const CUgraphNode *waits, size_t count), add_empty(node, graph, waits, count))
CALL(cuGraphInstantiate_v2, (CUgraphExec *exec, CUgraph graph, CUgraphNode *error, char *log, size_t size),
	((void)error, (void)log, (void)size, instantiate(exec, graph)))
CALL(cuGraphInstantiateWithFlags, (CUgraphExec *exec, CUgraph graph, unsigned long long flags), ((void)flags, instantiate(exec, graph)))
CALL(cuGraphInstantiateWithParams, (CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params),
	((void)params, instantiate(exec, graph)))
CALL(cuGraphExecDestroy, (CUgraphExec exec), graph_exec_free(exec))
CALL(cuGraphExecUpdate_v2, (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info), update(exec, graph, info))
CALL(cuGraphGetNodes, (CUgraph graph, CUgraphNode *nodes, size_t *count), graph_nodes(graph, nodes, count))
STREAM_CALL(cuGraphLaunch, (CUgraphExec exec, CUstream stream), launch_graph(exec, stream))
STREAM_CALL(cuGraphUpload, (CUgraphExec exec, CUstream stream), ((void)exec, (void)stream, CUDA_SUCCESS))
