/* kernel.c - names of kernels, each asked for once. */
#include <string.h>

#include "opencl/opencl.h"

#define BITS 12u /* places for kernels whose names are kept; another one's is asked for again */

static struct known {
	_Atomic(cl_kernel) kernel;
	_Atomic uint32_t name, serial;
	_Atomic uint32_t took; /* ns to be expected of a launch */
} *known;

static uint32_t place_number(const struct known *place)
{
	return 1 + (uint32_t)(place - known);
}

static struct opencl_kernel ask(cl_kernel kernel, struct known *place)
{
	static _Atomic uint32_t serials;
	struct opencl_kernel ret = { .serial = 1 + atomic_fetch_add_explicit(&serials, 1, memory_order_relaxed), .place = place_number(place) };
	struct runtime_thread *t = &inferscope_thread;
	char name[NAME_MAX_BYTES] = "kernel";

	if (opencl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL) != CL_SUCCESS)
		strcpy(name, "kernel");
	if (!emit_enter(&inferscope_runtime, t))
		return ret;
	ret.name = inferscope_intern(t, name, strnlen(name, sizeof name));
	emit_leave(t);
	atomic_store_explicit(&place->kernel, NULL, memory_order_release);
	atomic_store_explicit(&place->name, ret.name, memory_order_release);
	atomic_store_explicit(&place->serial, ret.serial, memory_order_release);
	atomic_store_explicit(&place->took, 0, memory_order_release);
	atomic_store_explicit(&place->kernel, kernel, memory_order_release);
	return ret;
}

struct opencl_kernel opencl_kernel_find(cl_kernel kernel)
{
	struct known *place = &known[opencl_place(kernel, BITS)];
	struct opencl_kernel ret;

	if (atomic_load_explicit(&place->kernel, memory_order_acquire) == kernel) {
		ret.name = atomic_load_explicit(&place->name, memory_order_acquire);
		ret.serial = atomic_load_explicit(&place->serial, memory_order_acquire);
		ret.took = atomic_load_explicit(&place->took, memory_order_acquire);
		ret.place = place_number(place);
		if (atomic_load_explicit(&place->kernel, memory_order_relaxed) == kernel)
			return ret;
	}
	return ask(kernel, place);
}

/* As long as the longest of late: one kernel may be launched for little and for much. */
void opencl_kernel_took(uint32_t number, uint64_t ns)
{
	struct known *place = &known[number - 1];
	uint32_t took = ns < UINT32_MAX ? (uint32_t)ns + 1 : UINT32_MAX; /* known, be it nothing */
	uint32_t before = atomic_load_explicit(&place->took, memory_order_relaxed);

	if (took < before)
		took = before - (before - took + 7) / 8;
	if (took != before)
		atomic_store_explicit(&place->took, took, memory_order_relaxed);
}

/* Another kernel may get the handle, sooner or later: commands hold references too. */
static CL_API_ENTRY cl_int CL_API_CALL release(cl_kernel kernel)
{
	cl_kernel expected = kernel;

	(void)atomic_compare_exchange_strong(&known[opencl_place(kernel, BITS)].kernel, &expected, NULL);
	return opencl_next.clReleaseKernel(kernel);
}

bool opencl_kernel_wrap(struct _cl_icd_dispatch *table)
{
	known = known ? known : opencl_map(sizeof *known << BITS);
	if (known)
		OPENCL_WRAP(clReleaseKernel, release);
	return known != NULL;
}
