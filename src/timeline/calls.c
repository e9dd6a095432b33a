/*
 * calls.c - see calls.h.
 *
 * CUDA's runtime (cudaMemcpyAsync), its driver (cuMemcpyHtoDAsync_v2) and HIP
 * (hipMemcpyAsync) share words after their first letters; the first rule that
 * matches counts.
 */
#include "timeline/calls.h"

#include <ctype.h>
#include <string.h>

enum match { WHOLE, START };

struct rule {
	const char *text;
	enum match match;
	enum call_class class;
};

/* After cuda, cu or hip. */
static const struct rule gpu_rules[] = {
	{ "LaunchHostFunc", START, CALL_OTHER },
	{ "GraphLaunch", START, CALL_GRAPH_LAUNCH },
	{ "GraphDestroy", WHOLE, CALL_OTHER },
	{ "GraphExecDestroy", WHOLE, CALL_OTHER },
	{ "GraphDebugDotPrint", WHOLE, CALL_OTHER },
	{ "GraphKernelNodeGetParams", WHOLE, CALL_OTHER },
	{ "Graph", START, CALL_GRAPH_BUILD },
	{ "StreamBeginCapture", START, CALL_GRAPH_BUILD },
	{ "StreamEndCapture", START, CALL_GRAPH_BUILD },
	{ "Launch", START, CALL_LAUNCH },
	{ "ModuleLaunch", START, CALL_LAUNCH },
	{ "ExtLaunch", START, CALL_LAUNCH },
	{ "ExtModuleLaunch", START, CALL_LAUNCH },
	{ "HccModuleLaunch", START, CALL_LAUNCH },
	{ "DrvLaunch", START, CALL_LAUNCH },
	{ "Memcpy", START, CALL_COPY },
	{ "DrvMemcpy", START, CALL_COPY },
	{ "Memset", START, CALL_MEMSET },
	{ "DeviceSynchronize", WHOLE, CALL_SYNC_DEVICE },
	{ "CtxSynchronize", WHOLE, CALL_SYNC_DEVICE },
	{ "ThreadSynchronize", WHOLE, CALL_SYNC_DEVICE },
	{ "StreamSynchronize", WHOLE, CALL_SYNC_STREAM },
	{ "EventSynchronize", WHOLE, CALL_SYNC_EVENT },
	{ "EventRecord", START, CALL_EVENT_RECORD },
	{ "StreamWait", START, CALL_STREAM_WAIT },
	{ "EventQuery", WHOLE, CALL_QUERY },
	{ "StreamQuery", WHOLE, CALL_QUERY },
	{ "MallocHost", START, CALL_HOST_ALLOC },
	{ "HostAlloc", START, CALL_HOST_ALLOC },
	{ "HostMalloc", START, CALL_HOST_ALLOC },
	{ "HostRegister", START, CALL_HOST_ALLOC },
	{ "MemAllocHost", START, CALL_HOST_ALLOC },
	{ "MemHostAlloc", START, CALL_HOST_ALLOC },
	{ "MemHostRegister", START, CALL_HOST_ALLOC },
	{ "Malloc", START, CALL_ALLOC },
	{ "ExtMalloc", START, CALL_ALLOC },
	{ "MemAlloc", START, CALL_ALLOC },
	{ "MemCreate", WHOLE, CALL_ALLOC },
	{ "MemMap", START, CALL_ALLOC },
	{ "MemSetAccess", WHOLE, CALL_ALLOC },
	{ "MemAddressReserve", WHOLE, CALL_ALLOC },
	{ "ArrayCreate", START, CALL_ALLOC },
	{ "Array3DCreate", START, CALL_ALLOC },
	{ "MipmappedArrayCreate", START, CALL_ALLOC },
	{ "Free", START, CALL_FREE },
	{ "HostFree", WHOLE, CALL_FREE },
	{ "HostUnregister", WHOLE, CALL_FREE },
	{ "MemFree", START, CALL_FREE },
	{ "MemHostUnregister", WHOLE, CALL_FREE },
	{ "MemUnmap", WHOLE, CALL_FREE },
	{ "MemRelease", WHOLE, CALL_FREE },
	{ "MemAddressFree", WHOLE, CALL_FREE },
	{ "ArrayDestroy", WHOLE, CALL_FREE },
	{ "MipmappedArrayDestroy", WHOLE, CALL_FREE },
	{ "ModuleLoad", START, CALL_COMPILE },
	{ "LibraryLoad", START, CALL_COMPILE },
	{ "LinkCreate", START, CALL_COMPILE },
	{ "LinkAdd", START, CALL_COMPILE },
	{ "LinkComplete", START, CALL_COMPILE },
	{ NULL, WHOLE, CALL_OTHER },
};

/* Whole names.  Whether OpenCL's reads and writes block is an argument, which our recorder adds to the name. */
static const struct rule other_rules[] = {
	{ "runFunction", START, CALL_LAUNCH }, /* MTIA */
	{ "clEnqueueNDRangeKernel", START, CALL_LAUNCH },
	{ "clEnqueueTask", WHOLE, CALL_LAUNCH },
	{ "clEnqueueNativeKernel", WHOLE, CALL_OTHER },
	{ "clEnqueueRead", START, CALL_COPY },
	{ "clEnqueueWrite", START, CALL_COPY },
	{ "clEnqueueMap", START, CALL_COPY },
	{ "clEnqueueSVMMemcpy", START, CALL_COPY },
	{ "clEnqueueSVMMap", START, CALL_COPY },
	{ "clEnqueueSVMUnmap", WHOLE, CALL_COPY_ASYNC },
	{ "clEnqueueMemcpyINTEL", START, CALL_COPY },
	{ "clEnqueueCommandBufferKHR", WHOLE, CALL_GRAPH_LAUNCH },
	{ "clEnqueueCopy", START, CALL_COPY_ASYNC },
	{ "clEnqueueUnmap", START, CALL_COPY_ASYNC },
	{ "clEnqueueMigrate", START, CALL_COPY_ASYNC },
	{ "clEnqueueSVMMigrate", START, CALL_COPY_ASYNC },
	{ "clEnqueueFill", START, CALL_MEMSET },
	{ "clEnqueueSVMMemFill", START, CALL_MEMSET },
	{ "clEnqueueMemFillINTEL", WHOLE, CALL_MEMSET },
	{ "clEnqueueMemsetINTEL", WHOLE, CALL_MEMSET },
	{ "clEnqueueAcquire", START, CALL_STREAM_WAIT },
	{ "clEnqueueRelease", START, CALL_EVENT_RECORD },
	{ "clEnqueueBarrier", START, CALL_STREAM_WAIT },
	{ "clEnqueueWaitForEvents", WHOLE, CALL_STREAM_WAIT },
	{ "clEnqueueMarker", START, CALL_EVENT_RECORD },
	{ "clFinish", WHOLE, CALL_SYNC_STREAM },
	{ "clWaitForEvents", WHOLE, CALL_SYNC_EVENT },
	{ "clGetEventInfo", WHOLE, CALL_QUERY },
	{ "clCreateBuffer", START, CALL_ALLOC },
	{ "clCreateImage", START, CALL_ALLOC },
	{ "clCreatePipe", WHOLE, CALL_ALLOC },
	{ "clSVMAlloc", WHOLE, CALL_ALLOC },
	{ "clHostMemAllocINTEL", WHOLE, CALL_HOST_ALLOC },
	{ "clDeviceMemAllocINTEL", WHOLE, CALL_ALLOC },
	{ "clSharedMemAllocINTEL", WHOLE, CALL_ALLOC },
	{ "clMemFreeINTEL", WHOLE, CALL_FREE },
	{ "clMemBlockingFreeINTEL", WHOLE, CALL_FREE },
	{ "clReleaseMemObject", WHOLE, CALL_FREE },
	{ "clSVMFree", WHOLE, CALL_FREE },
	{ "clBuildProgram", START, CALL_COMPILE },
	{ "clCompileProgram", WHOLE, CALL_COMPILE },
	{ "clLinkProgram", WHOLE, CALL_COMPILE },
	{ "clCreateProgramWithIL", START, CALL_COMPILE },
	{ "nvrtcCompile", START, CALL_COMPILE },
	{ "hiprtcCompile", START, CALL_COMPILE },
	{ "hiprtcLink", START, CALL_COMPILE },
	{ "nvJitLinkComplete", WHOLE, CALL_COMPILE },
	{ "nvPTXCompilerCompile", WHOLE, CALL_COMPILE },
	{ NULL, WHOLE, CALL_OTHER },
};

struct text {
	const char *data;
	size_t size;
};

static bool ends_with(struct text t, const char *end)
{
	size_t size = strlen(end);

	return t.size > size && memcmp(t.data + t.size - size, end, size) == 0;
}

/* _v3020 and the like; 0 when there is none. */
static size_t version_size(struct text t)
{
	size_t digits = 0;

	while (digits < t.size && isdigit((unsigned char)t.data[t.size - 1 - digits]))
		digits++;
	return digits > 0 && t.size > digits + 2 && memcmp(t.data + t.size - digits - 2, "_v", 2) == 0 ? digits + 2 : 0;
}

static struct text without_version(struct text t)
{
	for (;;) {
		size_t size = version_size(t);

		if (ends_with(t, "_ptsz") || ends_with(t, "_ptds"))
			size = 5;
		else if (ends_with(t, "_spt"))
			size = 4;
		if (size == 0)
			return t;
		t.size -= size;
	}
}

/* What follows the letters of the library; no text when it is none of these. */
static struct text without_library(struct text t)
{
	static const char *const libraries[] = { "cuda", "hip", "cu" };

	for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
		size_t size = strlen(libraries[i]);

		if (t.size > size && memcmp(t.data, libraries[i], size) == 0 && isupper((unsigned char)t.data[size]))
			return (struct text){ t.data + size, t.size - size };
	}
	return (struct text){ NULL, 0 };
}

static enum call_class apply(const struct rule *rules, struct text t)
{
	for (; rules->text; rules++) {
		size_t size = strlen(rules->text);

		if (t.size < size || (rules->match == WHOLE && t.size != size))
			continue;
		if (memcmp(t.data, rules->text, size) == 0)
			return rules->class;
	}
	return CALL_OTHER;
}

enum call_class call_classify(const char *name, size_t size)
{
	struct text whole = without_version((struct text){ name, size }), stem = without_library(whole);
	enum call_class class = stem.data ? apply(gpu_rules, stem) : apply(other_rules, whole);

	if (class == CALL_COPY && ((stem.data && memmem(stem.data, stem.size, "Async", 5)) || ends_with(whole, " (non-blocking)")))
		return CALL_COPY_ASYNC;
	return class;
}

bool call_launches(enum call_class class)
{
	return class >= CALL_LAUNCH && class <= CALL_MEMSET;
}

bool call_blocks(enum call_class class)
{
	return class == CALL_COPY || (class >= CALL_SYNC_DEVICE && class <= CALL_SYNC_EVENT);
}
