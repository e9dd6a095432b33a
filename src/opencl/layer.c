/* layer.c - see opencl.h. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "opencl/opencl.h"
#include "runtime/flush.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define EXPORT __attribute__((visibility("default")))

/* Of CL/cl_layer.h, which not all headers of OpenCL come with. */
#define LAYER_API_VERSION 0x4240
#define LAYER_NAME 0x4241
#define LAYER_API_VERSION_100 100

struct _cl_icd_dispatch opencl_next; /* entries that the loader does not have stay NULL: nobody calls them */
static struct _cl_icd_dispatch table;
#define ENTRIES (cl_uint)(sizeof table / sizeof(void *))

/* ---- What the others share --------------------------------------------------------- */

bool opencl_recording(void)
{
	return inferscope_joined();
}

void *opencl_map(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	if (madvise(memory, size, MADV_WIPEONFORK) == 0)
		return memory;
	munmap(memory, size);
	return NULL;
}

void opencl_unmap(void *memory, size_t size)
{
	if (memory)
		munmap(memory, size);
}

/* ---- The door ------------------------------------------------------------------------ */

EXPORT CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_uint what, size_t size, void *value, size_t *ret_size);

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_uint what, size_t size, void *value, size_t *ret_size)
{
	static const char name[] = "InferScope";
	static const cl_uint version = LAYER_API_VERSION_100;
	const void *answer = what == LAYER_API_VERSION ? (const void *)&version : name;
	size_t needed = what == LAYER_API_VERSION ? sizeof version : sizeof name;

	if (what != LAYER_API_VERSION && what != LAYER_NAME)
		return CL_INVALID_VALUE;
	if (value && size < needed)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, answer, needed);
	if (ret_size)
		*ret_size = needed;
	return CL_SUCCESS;
}

/* Whether what follows the cut at `left` is what followed there before, up to the next. */
static bool goes_on(const char *all, const char *now, size_t left)
{
	size_t next = left + 1 + strcspn(all + left + 1, ":");

	for (size_t i = left + 1; i < next; i++)
		if (now[i] != all[i])
			return false;
	return true;
}

/* ocl-icd cuts the list of layers in place, at each that it has loaded, so that children would load only the first. */
static void mend_environment(void)
{
	const char *all = getenv("INFERSCOPE_OPENCL_LAYERS"), *now = getenv("OPENCL_LAYERS");
	size_t size = all ? strlen(all) : 0, left;

	while (all && now && (left = strlen(now)) < size && memcmp(all, now, left) == 0 && all[left] == ':' && goes_on(all, now, left))
		((char *)(uintptr_t)now)[left] = ':';
}

static void harvest_all(void)
{
	opencl_queue_each(opencl_harvest_waited);
}

static void at_end(void)
{
	if (opencl_recording())
		opencl_queue_each(opencl_harvest_last);
}

static void wrap_all(void)
{
	opencl_clock_start();
	if (!opencl_device_map() || !opencl_queue_wrap(&table) || !opencl_kernel_wrap(&table))
		return;
	opencl_arguments_wrap(&table);
	opencl_enqueue_wrap(&table);
	opencl_enqueue_memory_wrap(&table);
	opencl_host_wrap(&table);
	opencl_wait_wrap(&table);
	opencl_memory_wrap(&table);
	opencl_maps_wrap();
	opencl_share_wrap(&table);
	opencl_extension_wrap(&table);
	inferscope_at_flush(harvest_all);
	(void)atexit(at_end);
}

EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target, cl_uint *ret_entries,
						    const cl_icd_dispatch **ret_table);

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target, cl_uint *ret_entries,
					     const cl_icd_dispatch **ret_table)
{
	static cl_uint have; /* entries of ours that are filled in */

	if (!target || !ret_entries || !ret_table)
		return CL_INVALID_VALUE;
	inferscope_load();
	mend_environment();
	if (have == 0) { /* a second loader in the process gets the same: objects know their driver */
		have = entries < ENTRIES ? entries : ENTRIES;
		memcpy(&opencl_next, target, have * sizeof(void *));
		memcpy(&table, target, have * sizeof(void *));
		if (inferscope_joined())
			wrap_all();
	}
	*ret_entries = entries < have ? entries : have;
	*ret_table = &table;
	return CL_SUCCESS;
}

EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayerWithProperties(cl_uint entries, const cl_icd_dispatch *target, cl_uint *ret_entries,
								  const cl_icd_dispatch **ret_table, const void *properties);

/* What newer loaders of Khronos' call; there are no properties that we know. */
CL_API_ENTRY cl_int CL_API_CALL clInitLayerWithProperties(cl_uint entries, const cl_icd_dispatch *target, cl_uint *ret_entries,
							   const cl_icd_dispatch **ret_table, const void *properties)
{
	(void)properties;
	return clInitLayer(entries, target, ret_entries, ret_table);
}

EXPORT CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void);

CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void)
{
	harvest_all();
	return CL_SUCCESS;
}
