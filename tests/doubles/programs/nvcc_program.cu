// What nvcc makes of a program: kernels, copies, events, a graph.  The double runs no device code, so results are those of copies only.
#include <cstdio>
#include <cstdlib>

#define CHECK(call) \
	do { \
		cudaError_t error_ = (call); \
		if (error_ != cudaSuccess) { \
			fprintf(stderr, "%s:%d: %s is %d (%s)\n", __FILE__, __LINE__, #call, (int)error_, cudaGetErrorString(error_)); \
			exit(1); \
		} \
	} while (0)

__constant__ float factor[4];

__global__ void busy_100us(float *values, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		values[i] *= factor[i % 4];
}

int main()
{
	const int count = 4096;
	float *host, *device, milliseconds;
	float factors[4] = { 1, 2, 3, 4 };
	cudaStream_t stream;
	cudaEvent_t begin, end;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaDeviceProp properties;

	CHECK(cudaGetDeviceProperties(&properties, 0));
	CHECK(cudaMemcpyToSymbol(factor, factors, sizeof(factors)));
	CHECK(cudaMallocHost(&host, count * sizeof(float)));
	CHECK(cudaMalloc(&device, count * sizeof(float)));
	for (int i = 0; i < count; i++)
		host[i] = (float)i;
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
	CHECK(cudaMemcpyAsync(device, host, count * sizeof(float), cudaMemcpyHostToDevice, stream));
	CHECK(cudaEventRecord(begin, stream));
	for (int i = 0; i < 10; i++)
		busy_100us<<<16, 256, 0, stream>>>(device, count);
	CHECK(cudaGetLastError());
	CHECK(cudaEventRecord(end, stream));
	CHECK(cudaMemcpyAsync(host, device, count * sizeof(float), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	busy_100us<<<16, 256, 0, stream>>>(device, count);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaFree(device));
	CHECK(cudaFreeHost(host));
	printf("%s, %d multiprocessors, ten kernels in %.3f ms\n", properties.name, properties.multiProcessorCount, milliseconds);
	return milliseconds < 1.0f || milliseconds > 500.0f;
}
