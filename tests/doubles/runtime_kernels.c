/* What nvcc's generated code calls before main: registering kernels and variables.  Nothing is opened or loaded here. */
#include "runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_facts.h"

struct fatbin {
	void *image;
	CUmodule modules[GPU_MAX];
};

struct kernel {
	const void *host;
	char *name;
	struct fatbin *fatbin;
	CUfunction functions[GPU_MAX];
	struct kernel *next;
};

struct variable {
	const void *host;
	char *name;
	struct fatbin *fatbin;
	struct variable *next;
};

struct configuration { dim3 grid, block; size_t shared; cudaStream_t stream; };

static struct kernel *kernels;
static struct variable *variables;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct configuration stack[16];
static __thread unsigned int depth;

void **__cudaRegisterFatBinary(void *image)
{
	struct fatbin *fatbin = calloc(1, sizeof(*fatbin));

	if (!fatbin)
		abort();
	fatbin->image = image;
	return (void **)fatbin;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

char __cudaInitModule(void **handle)
{
	return handle != NULL;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *tid, void *bid,
	dim3 *block, dim3 *grid, int *warp)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));

	(void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
	if (!kernel)
		abort();
	kernel->host = host;
	kernel->name = strdup(name);
	kernel->fatbin = (struct fatbin *)handle;
	pthread_mutex_lock(&lock);
	kernel->next = kernels;
	kernels = kernel;
	pthread_mutex_unlock(&lock);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes, int constant, int global)
{
	struct variable *variable = calloc(1, sizeof(*variable));

	(void)device, (void)external, (void)bytes, (void)constant, (void)global;
	if (!variable)
		abort();
	variable->host = host;
	variable->name = strdup(name);
	variable->fatbin = (struct fatbin *)handle;
	variable->next = variables;
	variables = variable;
}

static void kernels_forget(const struct fatbin *fatbin)
{
	for (struct kernel **link = &kernels; *link;) {
		struct kernel *kernel = *link;

		if (kernel->fatbin != fatbin) {
			link = &kernel->next;
			continue;
		}
		*link = kernel->next;
		free(kernel->name);
		free(kernel);
	}
}

static void variables_forget(const struct fatbin *fatbin)
{
	for (struct variable **link = &variables; *link;) {
		struct variable *variable = *link;

		if (variable->fatbin != fatbin) {
			link = &variable->next;
			continue;
		}
		*link = variable->next;
		free(variable->name);
		free(variable);
	}
}

/* At exit.  The driver keeps its modules: it may be gone already. */
void __cudaUnregisterFatBinary(void **handle)
{
	struct fatbin *fatbin = (struct fatbin *)handle;

	if (!fatbin)
		return;
	pthread_mutex_lock(&lock);
	kernels_forget(fatbin);
	variables_forget(fatbin);
	pthread_mutex_unlock(&lock);
	free(fatbin);
}

struct kernel *kernel_find(const void *host)
{
	struct kernel *kernel;

	pthread_mutex_lock(&lock);
	for (kernel = kernels; kernel && kernel->host != host; kernel = kernel->next)
		;
	pthread_mutex_unlock(&lock);
	return kernel;
}

const char *kernel_name(const struct kernel *kernel)
{
	return kernel->name;
}

static cudaError_t fatbin_module(struct fatbin *fatbin, CUmodule *ret_module)
{
	cudaError_t error;
	const struct double_driver *driver = runtime_open(&error);
	int device = runtime_device();

	if (!driver)
		return error;
	if (!fatbin->modules[device])
		error = driver->quiet_module(&fatbin->modules[device], fatbin->image);
	*ret_module = fatbin->modules[device];
	return error;
}

cudaError_t kernel_function(struct kernel *kernel, CUfunction *ret_function)
{
	cudaError_t error = cudaSuccess;
	CUmodule module = NULL;
	int device = runtime_device();

	if (!kernel)
		return cudaErrorInvalidDeviceFunction;
	pthread_mutex_lock(&lock);
	if (!kernel->functions[device]) {
		error = fatbin_module(kernel->fatbin, &module);
		if (error == cudaSuccess)
			error = runtime_open(&error)->quiet_function(&kernel->functions[device], module, kernel->name);
	}
	*ret_function = kernel->functions[device];
	pthread_mutex_unlock(&lock);
	return error;
}

void kernels_reset(int device)
{
	pthread_mutex_lock(&lock);
	for (struct kernel *kernel = kernels; kernel; kernel = kernel->next) {
		kernel->functions[device] = NULL;
		kernel->fatbin->modules[device] = NULL;
	}
	for (struct variable *variable = variables; variable; variable = variable->next)
		variable->fatbin->modules[device] = NULL;
	pthread_mutex_unlock(&lock);
}

cudaError_t variable_address(const void *host, CUdeviceptr *ret_pointer)
{
	struct variable *variable;
	CUmodule module = NULL;
	cudaError_t error;

	for (variable = variables; variable && variable->host != host; variable = variable->next)
		;
	if (!variable)
		return 13;      /* cudaErrorInvalidSymbol */
	error = fatbin_module(variable->fatbin, &module);
	return error ?: cu.cuModuleGetGlobal_v2(ret_pointer, NULL, module, variable->name);
}

unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream)
{
	if (depth == sizeof(stack) / sizeof(*stack))
		return 1;
	stack[depth++] = (struct configuration){ grid, block, shared, stream };
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	if (!depth)
		return 52;      /* cudaErrorMissingConfiguration */
	depth--;
	*grid = stack[depth].grid;
	*block = stack[depth].block;
	*shared = stack[depth].shared;
	*(cudaStream_t *)stream = stack[depth].stream;
	return cudaSuccess;
}
