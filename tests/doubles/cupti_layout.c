#include "cupti_layout.h"

/* From which release on a record of this kind has this size; ascending in the release, 0 for "gone again". */
static const struct { int kind, since, size; } sizes[] = {
	{ KIND_MEMCPY, 1100, 88 }, { KIND_MEMCPY, 1208, 96 }, { KIND_MEMCPY, 1304, 112 },
	{ KIND_MEMSET, 1100, 88 }, { KIND_MEMSET, 1304, 104 },
	{ KIND_KERNEL, 1100, 176 }, { KIND_KERNEL, 1108, 200 }, { KIND_KERNEL, 1200, 208 }, { KIND_KERNEL, 1300, 216 },
	{ KIND_KERNEL, 1301, 224 }, { KIND_KERNEL, 1303, 232 }, { KIND_KERNEL, 1304, 248 },
	{ KIND_DRIVER, 1100, 40 }, { KIND_RUNTIME, 1100, 40 }, { KIND_INTERNAL_LAUNCH_API, 1100, 40 },
	{ KIND_DEVICE, 1100, 176 }, { KIND_DEVICE, 1202, 184 }, { KIND_DEVICE, 1302, 192 },
	{ KIND_CONTEXT, 1100, 16 }, { KIND_CONTEXT, 1204, 24 }, { KIND_CONTEXT, 1205, 32 }, { KIND_CONTEXT, 1301, 40 },
	{ KIND_NAME, 1100, 32 }, { KIND_MARKER, 1100, 56 }, { KIND_MARKER_DATA, 1100, 32 }, { KIND_MARKER_DATA, 1300, 40 },
	{ KIND_OVERHEAD, 1100, 40 }, { KIND_OVERHEAD, 1203, 48 }, { KIND_OVERHEAD, 1204, 56 },
	{ KIND_ENVIRONMENT, 1100, 40 }, { KIND_MEMCPY2, 1100, 96 }, { KIND_FUNCTION, 1100, 32 }, { KIND_MODULE, 1100, 24 },
	{ KIND_CUDA_EVENT, 1100, 24 }, { KIND_CUDA_EVENT, 1208, 56 },
	{ KIND_STREAM, 1100, 24 },
	{ KIND_SYNCHRONIZATION, 1100, 40 }, { KIND_SYNCHRONIZATION, 1208, 56 },
	{ KIND_EXTERNAL_CORRELATION, 1100, 24 }, { KIND_NVLINK, 1100, 136 }, { KIND_NVLINK, 1302, 88 }, { KIND_MEMORY, 1100, 80 },
	{ KIND_MEMORY2, 1100, 120 }, { KIND_MEMORY2, 1206, 128 },
	{ KIND_MEMORY_POOL, 1100, 72 }, { KIND_MEMORY_POOL, 1300, 80 },
	{ KIND_GRAPH_TRACE, 1100, 48 }, { KIND_GRAPH_TRACE, 1203, 56 },
	{ KIND_JIT, 1108, 64 }, { KIND_JIT, 1204, 72 }, { KIND_DEVICE_GRAPH_TRACE, 1208, 56 }, { KIND_MEM_DECOMPRESS, 1208, 64 },
	{ KIND_CC_ROTATION, 1209, 32 }, { KIND_GRAPH_HOST_NODE, 1301, 56 }, { KIND_CTX_SWITCH, 1301, 24 }, { KIND_HOST_LAUNCH, 1301, 48 },
	{ KIND_GREEN_CONTEXT, 1302, 168 }, { KIND_GREEN_CONTEXT, 1304, 304 },
	/* Of no release: all that somebody may read has grown, each by something else, and there are kinds that nobody knows. */
	{ KIND_MEMCPY, LAYOUT_FUTURE, 152 }, { KIND_MEMSET, LAYOUT_FUTURE, 128 }, { KIND_KERNEL, LAYOUT_FUTURE, 320 },
	{ KIND_DRIVER, LAYOUT_FUTURE, 56 }, { KIND_RUNTIME, LAYOUT_FUTURE, 56 }, { KIND_DEVICE, LAYOUT_FUTURE, 240 },
	{ KIND_CONTEXT, LAYOUT_FUTURE, 64 }, { KIND_NAME, LAYOUT_FUTURE, 48 }, { KIND_OVERHEAD, LAYOUT_FUTURE, 72 },
	{ KIND_ENVIRONMENT, LAYOUT_FUTURE, 80 }, { KIND_MEMCPY2, LAYOUT_FUTURE, 136 }, { KIND_CUDA_EVENT, LAYOUT_FUTURE, 96 },
	{ KIND_SYNCHRONIZATION, LAYOUT_FUTURE, 104 }, { KIND_MEMORY2, LAYOUT_FUTURE, 168 }, { KIND_MEMORY_POOL, LAYOUT_FUTURE, 120 },
	{ KIND_NEW, LAYOUT_FUTURE, 48 }, { KIND_FAR, LAYOUT_FUTURE, 72 },
};

size_t layout_size(int release, int kind)
{
	size_t size = 0;

	if (kind == KIND_CONCURRENT_KERNEL)
		kind = KIND_KERNEL;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (sizes[i].kind == kind && sizes[i].since <= release)
			size = (size_t)sizes[i].size;
	return size;
}

uint32_t layout_version(int release)
{
	static const struct { int release; uint32_t version; } versions[] = {
		{ 1107, 17 }, { 1108, 18 }, { 1200, 18 }, { 1201, 18 }, { 1202, 20 }, { 1203, 21 }, { 1204, 22 }, { 1205, 23 }, { 1206, 24 },
		{ 1208, 26 }, { 1209, 28 }, { 1300, 130001 }, { 1301, 130101 }, { 1302, 130202 }, { 1303, 130301 }, { 1304, 130401 },
		{ LAYOUT_FUTURE, 130901 },
	};

	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		if (versions[i].release == release)
			return versions[i].version;
	return 0;
}
