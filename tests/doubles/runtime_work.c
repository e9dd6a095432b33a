/* Streams, events, launches and graphs. */
#include "runtime.h"

#include <string.h>

static cudaStream_t own(cudaStream_t stream)
{
	return stream ? stream : CU_STREAM_PER_THREAD;
}

static cudaError_t launch(struct kernel *kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream, bool cooperative,
	struct api_call *call)
{
	CUfunction function;
	cudaError_t error = kernel_function(kernel, &function);

	if (error != cudaSuccess)
		return error;
	call->symbol = kernel_name(kernel);
	if (cooperative)
		return cu.cuLaunchCooperativeKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned int)shared,
			stream, args);
	return cu.cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned int)shared, stream, args, NULL);
}

static cudaError_t launch_config(const cudaLaunchConfig_t *config, const void *function, void **args, bool thread)
{
	CUlaunchConfig driver_config;
	CUfunction found;
	cudaError_t error;

	if (!config)
		return cudaErrorInvalidValue;
	error = kernel_function(kernel_find(function), &found);
	if (error != cudaSuccess)
		return error;
	driver_config = (CUlaunchConfig){ config->gridDim.x, config->gridDim.y, config->gridDim.z, config->blockDim.x, config->blockDim.y,
		config->blockDim.z, (unsigned int)config->dynamicSmemBytes, thread ? own(config->stream) : config->stream, config->attrs,
		config->numAttrs };
	return cu.cuLaunchKernelEx(&driver_config, found, args, NULL);
}

/* struct cudaFuncAttributes: three sizes, then ints; what the real one says of a small kernel. */
static cudaError_t attributes_of(void *attributes, const void *function)
{
	CUfunction found;
	cudaError_t error = kernel_function(kernel_find(function), &found);
	int values[] = { 1024, 32, 90, 90 };

	if (error != cudaSuccess || !attributes)
		return error ?: cudaErrorInvalidValue;
	memset(attributes, 0, CUDART_MAJOR >= 13 ? 144 : 72);
	memcpy((char *)attributes + 3 * sizeof(size_t), values, sizeof(values));
	return cudaSuccess;
}

static cudaError_t set_attribute(const void *function, int attribute, int value)
{
	CUfunction found;
	cudaError_t error = kernel_function(kernel_find(function), &found);

	return error ?: cu.cuFuncSetAttribute(found, attribute, value);
}

static cudaError_t occupancy(int *blocks, const void *function, int block_size, size_t shared)
{
	CUfunction found;
	cudaError_t error = kernel_function(kernel_find(function), &found);

	return error ?: cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, found, block_size, shared);
}

RUNTIME(cudaStreamCreate, 3020, (cudaStream_t *stream), cu.cuStreamCreate(stream, 0))
RUNTIME(cudaStreamCreateWithFlags, 5000, (cudaStream_t *stream, unsigned int flags), cu.cuStreamCreate(stream, flags))
RUNTIME(cudaStreamCreateWithPriority, 5050, (cudaStream_t *stream, unsigned int flags, int priority),
	cu.cuStreamCreateWithPriority(stream, flags, priority))
RUNTIME(cudaStreamDestroy, 5050, (cudaStream_t stream), cu.cuStreamDestroy_v2(stream))
RUNTIME(cudaStreamSynchronize, 3020, (cudaStream_t stream), cu.cuStreamSynchronize(stream))
RUNTIME(cudaStreamSynchronize_ptsz, 7000, (cudaStream_t stream), cu.cuStreamSynchronize_ptsz(stream))
RUNTIME(cudaStreamQuery, 3020, (cudaStream_t stream), cu.cuStreamQuery(stream))
RUNTIME(cudaStreamQuery_ptsz, 7000, (cudaStream_t stream), cu.cuStreamQuery_ptsz(stream))
RUNTIME(cudaStreamWaitEvent, 3020, (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
	cu.cuStreamWaitEvent(stream, event, flags))
RUNTIME(cudaStreamWaitEvent_ptsz, 7000, (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
	cu.cuStreamWaitEvent_ptsz(stream, event, flags))
RUNTIME(cudaStreamGetPriority, 5050, (cudaStream_t stream, int *priority), cu.cuStreamGetPriority(stream, priority))
RUNTIME(cudaStreamGetFlags, 5050, (cudaStream_t stream, unsigned int *flags), cu.cuStreamGetFlags(stream, flags))
RUNTIME(cudaStreamBeginCapture, 10000, (cudaStream_t stream, int mode), cu.cuStreamBeginCapture_v2(stream, mode))
RUNTIME(cudaStreamBeginCapture_ptsz, 10000, (cudaStream_t stream, int mode), cu.cuStreamBeginCapture_v2_ptsz(stream, mode))
RUNTIME(cudaStreamEndCapture, 10000, (cudaStream_t stream, cudaGraph_t *graph), cu.cuStreamEndCapture(stream, graph))
RUNTIME(cudaStreamEndCapture_ptsz, 10000, (cudaStream_t stream, cudaGraph_t *graph), cu.cuStreamEndCapture_ptsz(stream, graph))
RUNTIME(cudaStreamIsCapturing, 10000, (cudaStream_t stream, int *status), cu.cuStreamIsCapturing(stream, status))
RUNTIME(cudaStreamIsCapturing_ptsz, 10000, (cudaStream_t stream, int *status), cu.cuStreamIsCapturing_ptsz(stream, status))
#if CUDART_MAJOR >= 13
RUNTIME(cudaStreamGetCaptureInfo, 12030, (cudaStream_t stream, int *status, unsigned long long *id, cudaGraph_t *graph,
	const cudaGraphNode_t **nodes, const void **edges, size_t *count),
	cu.cuStreamGetCaptureInfo_v3(stream, status, (uint64_t *)id, graph, nodes, edges, count))
#else
RUNTIME(cudaStreamGetCaptureInfo, 10010, (cudaStream_t stream, int *status, unsigned long long *id),
	cu.cuStreamGetCaptureInfo_v2(stream, status, (uint64_t *)id, NULL, NULL, NULL))
RUNTIME(cudaStreamGetCaptureInfo_v2, 11030, (cudaStream_t stream, int *status, unsigned long long *id, cudaGraph_t *graph,
	const cudaGraphNode_t **nodes, size_t *count), cu.cuStreamGetCaptureInfo_v2(stream, status, (uint64_t *)id, graph, nodes, count))
#endif
RUNTIME(cudaEventCreate, 3020, (cudaEvent_t *event), cu.cuEventCreate(event, 0))
RUNTIME(cudaEventCreateWithFlags, 3020, (cudaEvent_t *event, unsigned int flags), cu.cuEventCreate(event, flags))
RUNTIME(cudaEventRecord, 3020, (cudaEvent_t event, cudaStream_t stream), cu.cuEventRecord(event, stream))
RUNTIME(cudaEventRecord_ptsz, 7000, (cudaEvent_t event, cudaStream_t stream), cu.cuEventRecord_ptsz(event, stream))
RUNTIME(cudaEventRecordWithFlags, 11010, (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
	cu.cuEventRecordWithFlags(event, stream, flags))
RUNTIME(cudaEventRecordWithFlags_ptsz, 11010, (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
	cu.cuEventRecordWithFlags_ptsz(event, stream, flags))
RUNTIME(cudaEventQuery, 3020, (cudaEvent_t event), cu.cuEventQuery(event))
RUNTIME(cudaEventSynchronize, 3020, (cudaEvent_t event), cu.cuEventSynchronize(event))
#if CUDART_MAJOR >= 13
RUNTIME(cudaEventElapsedTime, 12080, (float *milliseconds, cudaEvent_t start, cudaEvent_t end),
	cu.cuEventElapsedTime_v2(milliseconds, start, end))
#else
RUNTIME(cudaEventElapsedTime, 3020, (float *milliseconds, cudaEvent_t start, cudaEvent_t end),
	cu.cuEventElapsedTime(milliseconds, start, end))
#endif
RUNTIME(cudaEventDestroy, 3020, (cudaEvent_t event), cu.cuEventDestroy_v2(event))
RUNTIME(cudaLaunchKernel, 7000, (const void *function, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream),
	launch(kernel_find(function), grid, block, args, shared, stream, false, &call_))
RUNTIME(cudaLaunchKernel_ptsz, 7000, (const void *function, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream),
	launch(kernel_find(function), grid, block, args, shared, own(stream), false, &call_))
RUNTIME(cudaLaunchCooperativeKernel, 9000, (const void *function, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream),
	launch(kernel_find(function), grid, block, args, shared, stream, true, &call_))
RUNTIME(cudaLaunchKernelExC, 11060, (const cudaLaunchConfig_t *config, const void *function, void **args),
	launch_config(config, function, args, false))
RUNTIME(cudaLaunchKernelExC_ptsz, 11060, (const cudaLaunchConfig_t *config, const void *function, void **args),
	launch_config(config, function, args, true))
RUNTIME(cudaLaunchHostFunc, 10000, (cudaStream_t stream, CUhostFn function, void *user), cu.cuLaunchHostFunc(stream, function, user))
RUNTIME(cudaLaunchHostFunc_ptsz, 10000, (cudaStream_t stream, CUhostFn function, void *user),
	cu.cuLaunchHostFunc_ptsz(stream, function, user))
RUNTIME(cudaFuncGetAttributes, 3020, (void *attributes, const void *function), attributes_of(attributes, function))
RUNTIME(cudaFuncSetAttribute, 9000, (const void *function, int attribute, int value), set_attribute(function, attribute, value))
RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessor, 6050, (int *blocks, const void *function, int block_size, size_t shared),
	occupancy(blocks, function, block_size, shared))
RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000, (int *blocks, const void *function, int block_size, size_t shared,
	unsigned int flags), ((void)flags, occupancy(blocks, function, block_size, shared)))
RUNTIME(cudaGraphCreate, 10000, (cudaGraph_t *graph, unsigned int flags), cu.cuGraphCreate(graph, flags))
RUNTIME(cudaGraphInstantiate, 12000, (cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags),
	cu.cuGraphInstantiateWithFlags(exec, graph, flags))
RUNTIME(cudaGraphInstantiateWithFlags, 11040, (cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags),
	cu.cuGraphInstantiateWithFlags(exec, graph, flags))
RUNTIME(cudaGraphLaunch, 10000, (cudaGraphExec_t exec, cudaStream_t stream), cu.cuGraphLaunch(exec, stream))
RUNTIME(cudaGraphLaunch_ptsz, 10000, (cudaGraphExec_t exec, cudaStream_t stream), cu.cuGraphLaunch_ptsz(exec, stream))
RUNTIME(cudaGraphUpload, 10000, (cudaGraphExec_t exec, cudaStream_t stream), cu.cuGraphUpload(exec, stream))
RUNTIME(cudaGraphExecDestroy, 10000, (cudaGraphExec_t exec), cu.cuGraphExecDestroy(exec))
RUNTIME(cudaGraphDestroy, 10000, (cudaGraph_t graph), cu.cuGraphDestroy(graph))
RUNTIME(cudaGraphGetNodes, 10000, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count), cu.cuGraphGetNodes(graph, nodes, count))

/* nvcc of 13 asks for the kernel first and launches it by that; to a profiler it is the same call. */
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
	*kernel = kernel_find(function);
	return *kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
	struct api_call call;
	cudaError_t error = runtime_begin(&call, CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel_v7000", true);

	return runtime_end(&call, error ?: launch(kernel, grid, block, args, shared, stream, false, &call));
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
	struct api_call call;
	cudaError_t error = runtime_begin(&call, CBID_cudaLaunchKernel_ptsz_v7000, "cudaLaunchKernel_ptsz_v7000", true);

	return runtime_end(&call, error ?: launch(kernel, grid, block, args, shared, own(stream), false, &call));
}
