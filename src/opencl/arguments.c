/*
 * arguments.c - what kernels are called with, where the setting gpu_args asks for it.
 *
 * Each launch then carries a map {"arguments": [...]}, an entry for each of
 * them in order:
 *
 *      {"size": 4, "value": 1.5}             a value of at most 8 bytes; of what type the driver says, else its bits
 *      {"size": 16}                          a larger one
 *      {"buffer": 94212, "size": 1048576}    a memory object that was seen to be made: its handle
 *      {"svm": 94212}                        shared virtual memory: its address
 *      {"local": 256}                        bytes of local memory
 *      nil                                   not set so far as we have seen
 *
 * What does not fit is left out at the end.
 */
#include <stdlib.h>
#include <string.h>

#include "opencl/opencl.h"

#define KERNELS 1024u
#define ARGUMENTS 24u /* of a kernel; those beyond are left out */

bool opencl_arguments_wanted;

enum kind { UNSET, VALUE, LARGE, LOCAL, SVM };
enum type { UNASKED, BITS, SIGNED, FLOAT };
struct argument {
	uint64_t size, value;
	uint8_t kind, type;
};
static struct arguments {
	_Atomic uint32_t lock;
	struct {
		cl_kernel kernel;
		uint32_t count;
		struct argument list[ARGUMENTS];
	} kernels[KERNELS];
} *arguments;

/* ---- What has been set ------------------------------------------------------------------- */

/* With the lock; a newer kernel takes the place of another. */
static struct argument *place_of(cl_kernel kernel, cl_uint index)
{
	uint32_t at = opencl_place(kernel, 10);

	if (arguments->kernels[at].kernel != kernel) {
		memset(&arguments->kernels[at], 0, sizeof arguments->kernels[at]);
		arguments->kernels[at].kernel = kernel;
	}
	if (index >= arguments->kernels[at].count)
		arguments->kernels[at].count = index + 1;
	return &arguments->kernels[at].list[index];
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static uint8_t ask_type(cl_kernel kernel, cl_uint index)
{
	char name[64] = "";

	if (!opencl_next.clGetKernelArgInfo ||
	    opencl_next.clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof name - 1, name, NULL) != CL_SUCCESS)
		return BITS;
	if (strcmp(name, "float") == 0 || strcmp(name, "double") == 0)
		return FLOAT;
	if (strchr(name, '*'))
		return BITS;
	return has_prefix(name, "int") || has_prefix(name, "long") || has_prefix(name, "short") || has_prefix(name, "char") ? SIGNED : BITS;
}

static void note(cl_kernel kernel, cl_uint index, struct argument argument)
{
	struct argument *place;

	if (index >= ARGUMENTS)
		return;
	opencl_lock(&arguments->lock);
	argument.type = place_of(kernel, index)->type;
	opencl_unlock(&arguments->lock);
	if (argument.kind == VALUE && argument.type == UNASKED)
		argument.type = ask_type(kernel, index);
	opencl_lock(&arguments->lock);
	place = place_of(kernel, index);
	*place = argument;
	opencl_unlock(&arguments->lock);
}

static CL_API_ENTRY cl_int CL_API_CALL set(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
	struct argument argument = { .size = size, .kind = !value ? LOCAL : size <= 8 ? VALUE : LARGE };
	cl_int rc;

	if (argument.kind == VALUE)
		memcpy(&argument.value, value, size);
	rc = opencl_next.clSetKernelArg(kernel, index, size, value);
	if (rc == CL_SUCCESS && opencl_recording())
		note(kernel, index, argument);
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL set_svm(cl_kernel kernel, cl_uint index, const void *pointer)
{
	cl_int rc = opencl_next.clSetKernelArgSVMPointer(kernel, index, pointer);

	if (rc == CL_SUCCESS && opencl_recording())
		note(kernel, index, (struct argument){ .kind = SVM, .value = (uintptr_t)pointer });
	return rc;
}

/* The handle may have been another kernel's. */
static void forget(cl_kernel kernel)
{
	uint32_t at = opencl_place(kernel, 10);

	opencl_lock(&arguments->lock);
	if (arguments->kernels[at].kernel == kernel)
		arguments->kernels[at].kernel = NULL;
	opencl_unlock(&arguments->lock);
}

static CL_API_ENTRY cl_kernel CL_API_CALL create(cl_program program, const char *name, cl_int *ret_error)
{
	cl_kernel kernel = opencl_next.clCreateKernel(program, name, ret_error);

	forget(kernel);
	return kernel;
}

static CL_API_ENTRY cl_int CL_API_CALL create_all(cl_program program, cl_uint count, cl_kernel *kernels, cl_uint *ret_count)
{
	cl_uint made = 0;
	cl_int rc = opencl_next.clCreateKernelsInProgram(program, count, kernels, &made);

	for (cl_uint i = 0; rc == CL_SUCCESS && kernels && i < made && i < count; i++)
		forget(kernels[i]);
	if (rc == CL_SUCCESS && ret_count)
		*ret_count = made;
	return rc;
}

/* ---- As MessagePack ------------------------------------------------------------------------ */

struct packed {
	uint8_t *bytes;
	size_t size;
	bool full; /* something did not fit */
};

static void put(struct packed *p, const void *data, size_t size)
{
	p->full |= size > GPU_METADATA - p->size;
	if (p->full)
		return;
	memcpy(p->bytes + p->size, data, size);
	p->size += size;
}

static void put_byte(struct packed *p, unsigned byte)
{
	uint8_t one = (uint8_t)byte;

	put(p, &one, 1);
}

static void put_head(struct packed *p, unsigned byte, uint64_t value, unsigned size)
{
	put_byte(p, byte);
	for (unsigned i = size; i-- > 0;)
		put_byte(p, (unsigned)(value >> 8 * i));
}

static void put_text(struct packed *p, const char *text)
{
	put_byte(p, 0xa0 | (unsigned)strlen(text));
	put(p, text, strlen(text));
}

static void put_unsigned(struct packed *p, uint64_t value)
{
	if (value < 128)
		put_byte(p, (unsigned)value);
	else if (value <= UINT32_MAX)
		put_head(p, 0xce, value, 4);
	else
		put_head(p, 0xcf, value, 8);
}

static void put_value(struct packed *p, const struct argument *a)
{
	unsigned unused = a->size < 8 ? 64 - 8 * (unsigned)a->size : 0;

	if (a->type == FLOAT && (a->size == 4 || a->size == 8))
		put_head(p, a->size == 4 ? 0xca : 0xcb, a->value, (unsigned)a->size);
	else if (a->type == SIGNED && a->size && (int64_t)(a->value << unused) < 0)
		put_head(p, 0xd3, (uint64_t)((int64_t)(a->value << unused) >> unused), 8);
	else
		put_unsigned(p, a->value);
}

static void put_pair(struct packed *p, const char *key, uint64_t value)
{
	put_text(p, key);
	put_unsigned(p, value);
}

static void put_argument(struct packed *p, const struct argument *a)
{
	uint64_t bytes = 0;
	bool buffer = a->kind == VALUE && a->size == sizeof(cl_mem) && a->type == BITS &&
		      opencl_memory_find((const void *)(uintptr_t)a->value, &bytes);

	if (a->kind == UNSET) {
		put_byte(p, 0xc0);
	} else if (buffer || a->kind == VALUE) {
		put_byte(p, 0x82);
		if (buffer)
			put_pair(p, "buffer", a->value);
		put_pair(p, "size", buffer ? bytes : a->size);
		if (!buffer) {
			put_text(p, "value");
			put_value(p, a);
		}
	} else {
		put_byte(p, 0x81);
		put_pair(p, a->kind == LOCAL ? "local" : a->kind == SVM ? "svm" : "size", a->kind == SVM ? a->value : a->size);
	}
}

/* As many as fit. */
static size_t pack(const struct argument *list, uint32_t count, uint8_t ret[GPU_METADATA])
{
	struct packed p = { .bytes = ret };
	size_t head, fits;
	uint32_t i = 0;

	put_byte(&p, 0x81);
	put_text(&p, "arguments");
	head = p.size;
	put_head(&p, 0xdc, 0, 2);
	for (fits = p.size; i < count; i++, fits = p.size) {
		put_argument(&p, &list[i]);
		if (p.full)
			break;
	}
	ret[head + 2] = (uint8_t)i;
	return fits;
}

size_t opencl_arguments_of(cl_kernel kernel, uint8_t ret[GPU_METADATA])
{
	struct argument list[ARGUMENTS];
	uint32_t at = opencl_place(kernel, 10), count = 0;

	if (!arguments || !opencl_recording())
		return 0;
	opencl_lock(&arguments->lock);
	if (arguments->kernels[at].kernel == kernel) {
		count = arguments->kernels[at].count;
		memcpy(list, arguments->kernels[at].list, count * sizeof *list);
	}
	opencl_unlock(&arguments->lock);
	return count ? pack(list, count, ret) : 0;
}

void opencl_arguments_wrap(struct _cl_icd_dispatch *table)
{
	const char *wanted = getenv("INFERSCOPE_GPU_ARGS");

	if (!wanted || strcmp(wanted, "1") != 0)
		return;
	arguments = arguments ? arguments : opencl_map(sizeof *arguments);
	if (!arguments)
		return;
	opencl_arguments_wanted = true;
	OPENCL_WRAP(clSetKernelArg, set);
	OPENCL_WRAP(clSetKernelArgSVMPointer, set_svm);
	OPENCL_WRAP(clCreateKernel, create);
	OPENCL_WRAP(clCreateKernelsInProgram, create_all);
}
