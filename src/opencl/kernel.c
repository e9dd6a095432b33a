/* kernel.c - names of kernels, each asked for once. */
#include <string.h>

#include "opencl/opencl.h"

#define BITS 12u /* places for kernels whose names are kept; another one's is asked for again */
#define WAYS 8u  /* of them, one after another, that a kernel may be kept in; mostly it is in the first */
#define PROGRAM_BITS 10u
#define BUSY ((cl_kernel)(uintptr_t)1) /* somebody writes there */

static struct known {
	_Atomic(cl_kernel) kernel;
	_Atomic uint32_t name, code;
	_Atomic uint32_t took; /* ns to be expected of a launch */
} *known;

static uint32_t place_number(const struct known *place)
{
	return 1 + (uint32_t)(place - known);
}

static struct known *place_at(cl_kernel kernel, uint32_t way)
{
	return &known[(opencl_place(kernel, BITS) + way) % (1u << BITS)];
}

/* Where it is kept; the first of its places, if it is not. */
static struct known *place_of(cl_kernel kernel)
{
	for (uint32_t way = 0; way < WAYS; way++)
		if (atomic_load_explicit(&place_at(kernel, way)->kernel, memory_order_relaxed) == kernel)
			return place_at(kernel, way);
	return place_at(kernel, 0);
}

/* A place that is free, else the first, for us alone to write; NULL: another thread was quicker. */
static struct known *claim(cl_kernel kernel)
{
	struct known *place = place_at(kernel, 0);
	cl_kernel old;

	for (uint32_t way = 0; way < WAYS; way++)
		if (!atomic_load_explicit(&place_at(kernel, way)->kernel, memory_order_relaxed)) {
			place = place_at(kernel, way);
			break;
		}
	old = atomic_load_explicit(&place->kernel, memory_order_relaxed);
	return old != BUSY && atomic_compare_exchange_strong(&place->kernel, &old, BUSY) ? place : NULL;
}

/* ---- What is compiled -------------------------------------------------------------- */

/* How often a program has been built that has this place: a handle comes again. */
static _Atomic uint32_t builds[1u << PROGRAM_BITS];

static _Atomic uint32_t *builds_of(cl_program program)
{
	return &builds[opencl_place(program, PROGRAM_BITS)];
}

void opencl_kernel_built(cl_program program)
{
	atomic_fetch_add_explicit(builds_of(program), 1, memory_order_relaxed);
}

static uint32_t code_of(cl_kernel kernel, uint32_t name)
{
	const uint64_t spread = 0x9e3779b97f4a7c15u;
	cl_program program = NULL;
	uint64_t hash = name * spread;

	if (opencl_next.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL) != CL_SUCCESS)
		program = NULL;
	hash = (hash ^ (uintptr_t)program) * spread;
	hash = (hash ^ hash >> 32 ^ atomic_load_explicit(builds_of(program), memory_order_relaxed)) * spread;
	return (uint32_t)(hash >> 32);
}

/* ---- Names ------------------------------------------------------------------------- */

static void keep(cl_kernel kernel, struct opencl_kernel *what)
{
	struct known *place = claim(kernel);

	if (!place)
		return;
	what->place = place_number(place);
	atomic_store_explicit(&place->name, what->name, memory_order_release);
	atomic_store_explicit(&place->code, what->code, memory_order_release);
	atomic_store_explicit(&place->took, 0, memory_order_release);
	atomic_store_explicit(&place->kernel, kernel, memory_order_release);
}

static struct opencl_kernel ask(cl_kernel kernel)
{
	struct opencl_kernel ret = { 0 };
	struct runtime_thread *t = &inferscope_thread;
	char name[NAME_MAX_BYTES] = "kernel";

	if (opencl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL) != CL_SUCCESS)
		strcpy(name, "kernel");
	if (!emit_enter(&inferscope_runtime, t))
		return ret;
	ret.name = inferscope_intern(t, name, strnlen(name, sizeof name));
	emit_leave(t);
	ret.code = code_of(kernel, ret.name);
	keep(kernel, &ret);
	return ret;
}

struct opencl_kernel opencl_kernel_find(cl_kernel kernel)
{
	struct known *place = place_of(kernel);
	struct opencl_kernel ret;

	if (atomic_load_explicit(&place->kernel, memory_order_acquire) == kernel) {
		ret.name = atomic_load_explicit(&place->name, memory_order_acquire);
		ret.code = atomic_load_explicit(&place->code, memory_order_acquire);
		ret.took = atomic_load_explicit(&place->took, memory_order_acquire);
		ret.place = place_number(place);
		if (atomic_load_explicit(&place->kernel, memory_order_relaxed) == kernel)
			return ret;
	}
	return ask(kernel);
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
	for (uint32_t way = 0; way < WAYS; way++) { /* two threads may have kept it at once */
		cl_kernel expected = kernel;

		if (atomic_load_explicit(&place_at(kernel, way)->kernel, memory_order_relaxed) == kernel)
			(void)atomic_compare_exchange_strong(&place_at(kernel, way)->kernel, &expected, NULL);
	}
	return opencl_next.clReleaseKernel(kernel);
}

bool opencl_kernel_wrap(struct _cl_icd_dispatch *table)
{
	known = known ? known : opencl_map(sizeof *known << BITS);
	if (known)
		OPENCL_WRAP(clReleaseKernel, release);
	return known != NULL;
}
