/* Modules and kernels.  An image is never looked into: every function that is asked for is there, and takes the time its name says. */
#include "machine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "faults.h"
#include "settings.h"
#include "truth.h"

#define MODULE_MAGIC 0x4d4f4431u
#define FUNCTION_MAGIC 0x46554e31u
#define PAGE 4096
#define DEFAULT_NS 10000
#define GLOBAL_BYTES 4096
#define OVERHEAD_LAZY_FUNCTION (5u << 16)

struct CUfunc_st {
	uint32_t magic;
	char *name;                     /* dies with the module, as a real one's does */
	struct CUmod_st *module;
	struct CUfunc_st *next;
};

struct global {
	char *name;
	CUdeviceptr pointer;
	struct global *next;
};

struct CUmod_st {
	uint32_t magic, id;
	struct CUctx_st *context;
	struct CUfunc_st *functions;
	struct global *globals;
	struct CUmod_st *next;
};

static struct CUmod_st *modules;        /* that are loaded */

static uint32_t module_ids;
static pthread_mutex_t module_lock = PTHREAD_MUTEX_INITIALIZER;

bool function_ok(struct CUfunc_st *function)
{
	return function && function->magic == FUNCTION_MAGIC;
}

const char *function_name(struct CUfunc_st *function)
{
	return function->name;
}

struct CUmod_st *function_module(struct CUfunc_st *function)
{
	return function->module;
}

static void tell_of(enum resource what, struct CUmod_st *module, const void *image)
{
	struct resource_info info = { .what = what, .context = module->context, .context_id = module->context->id, .module = module->id,
		.device = (uint32_t)module->context->gpu->index, .module_image = image };

	truth("\"what\":\"%s\",\"context\":%u,\"module\":%u", what == RESOURCE_MODULE ? "module" : "module_gone", info.context_id, module->id);
	tell_resource(&info);
}

CUresult module_new(struct CUctx_st *context, const void *image, struct CUmod_st **ret_module)
{
	struct CUmod_st *module;

	if (!image)
		return CUDA_ERROR_INVALID_VALUE;
	if (!context_ok(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	module = calloc(1, sizeof(*module));
	if (!module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	module->magic = MODULE_MAGIC;
	module->context = context;
	pthread_mutex_lock(&module_lock);
	module->id = ++module_ids;
	module->next = modules;
	modules = module;
	pthread_mutex_unlock(&module_lock);
	tell_of(RESOURCE_MODULE, module, image);
	*ret_module = module;
	return CUDA_SUCCESS;
}

/* With the fault, a page of its own each, so that reading it after the module's end is a crash and not a chance. */
static char *name_new(const char *name)
{
	char *page;

	if (!fault(FAULT_freed_name))
		return strdup(name);
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return NULL;
	strncpy(page, name, PAGE - 1);
	return page;
}

static void name_free(char *name)
{
	if (fault(FAULT_freed_name))
		mprotect(name, PAGE, PROT_NONE);        /* and not unmapped: nobody else may get the place */
	else
		free(name);
}

static struct CUfunc_st *function_new(struct CUmod_st *module, const char *name)
{
	struct CUfunc_st *function = calloc(1, sizeof(*function));

	if (!function)
		return NULL;
	function->name = name_new(name);
	if (!function->name) {
		free(function);
		return NULL;
	}
	function->magic = FUNCTION_MAGIC;
	function->module = module;
	function->next = module->functions;
	module->functions = function;
	return function;
}

CUresult module_function(struct CUmod_st *module, const char *name, struct CUfunc_st **ret_function)
{
	struct CUfunc_st *function;
	uint64_t began = now_ns();
	bool made = false;

	if (!module || module->magic != MODULE_MAGIC || !name || !*name)
		return CUDA_ERROR_INVALID_HANDLE;
	if (strstr(name, "missing_"))
		return CUDA_ERROR_NOT_FOUND;
	pthread_mutex_lock(&module_lock);
	for (function = module->functions; function && strcmp(function->name, name) != 0; function = function->next)
		;
	if (!function) {
		function = function_new(module, name);
		made = true;
	}
	pthread_mutex_unlock(&module_lock);
	if (!function)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (made)
		tell_overhead(OVERHEAD_LAZY_FUNCTION, began, 0, 0);
	*ret_function = function;
	return CUDA_SUCCESS;
}

CUresult module_global(struct CUmod_st *module, const char *name, CUdeviceptr *ret_pointer, size_t *ret_bytes)
{
	struct global *global;
	CUresult result;

	if (!module || module->magic != MODULE_MAGIC || !name)
		return CUDA_ERROR_INVALID_HANDLE;
	for (global = module->globals; global && strcmp(global->name, name) != 0; global = global->next)
		;
	if (!global) {
		global = calloc(1, sizeof(*global));
		if (!global)
			return CUDA_ERROR_OUT_OF_MEMORY;
		result = memory_new(MEMORY_DEVICE, GLOBAL_BYTES, module->context, NULL, NULL, &global->pointer);
		if (result != CUDA_SUCCESS) {
			free(global);
			return result;
		}
		global->name = strdup(name);
		global->next = module->globals;
		module->globals = global;
	}
	*ret_pointer = global->pointer;
	if (ret_bytes)
		*ret_bytes = GLOBAL_BYTES;
	return CUDA_SUCCESS;
}

static void functions_free(struct CUfunc_st *function)
{
	while (function) {
		struct CUfunc_st *next = function->next;

		name_free(function->name);
		function->magic = 0;
		free(function);
		function = next;
	}
}

static void globals_free(struct global *global)
{
	while (global) {
		struct global *next = global->next;

		(void)memory_free(global->pointer, MEMORY_DEVICE, false, NULL);
		free(global->name);
		free(global);
		global = next;
	}
}

static void module_unlink(struct CUmod_st *module)
{
	struct CUmod_st **link = &modules;

	pthread_mutex_lock(&module_lock);
	while (*link && *link != module)
		link = &(*link)->next;
	if (*link)
		*link = module->next;
	pthread_mutex_unlock(&module_lock);
}

static void module_end(struct CUmod_st *module)
{
	module_unlink(module);
	functions_free(module->functions);
	globals_free(module->globals);
	module->magic = 0;
	free(module);
}

/* A real driver waits too before it unloads. */
CUresult module_free(struct CUmod_st *module)
{
	if (!module || module->magic != MODULE_MAGIC)
		return CUDA_ERROR_INVALID_HANDLE;
	context_drain(module->context);
	tell_of(RESOURCE_MODULE_GONE, module, NULL);
	module_end(module);
	return CUDA_SUCCESS;
}

static struct CUmod_st *module_in(struct CUctx_st *context)
{
	struct CUmod_st *module;

	pthread_mutex_lock(&module_lock);
	for (module = modules; module && module->context != context; module = module->next)
		;
	pthread_mutex_unlock(&module_lock);
	return module;
}

/* Whether a real driver tells of each module as well is not known: not telling is the harder case. */
void modules_free(struct CUctx_st *context)
{
	for (struct CUmod_st *module; (module = module_in(context));) {
		truth("\"what\":\"module_gone\",\"context\":%u,\"module\":%u", context->id, module->id);
		module_end(module);
	}
}

/* "busy_250us" anywhere in a name, mangled or not. */
static bool duration_in_name(const char *name, uint64_t *ret_ns)
{
	const char *number = strstr(name, "busy_");
	unsigned long long value;
	char *unit;

	if (!number || number[5] < '0' || number[5] > '9')
		return false;
	value = strtoull(number + 5, &unit, 10);
	if (strncmp(unit, "ns", 2) == 0)
		*ret_ns = value;
	else if (strncmp(unit, "us", 2) == 0)
		*ret_ns = value * 1000;
	else if (strncmp(unit, "ms", 2) == 0)
		*ret_ns = value * 1000000;
	else
		return false;
	return true;
}

uint64_t kernel_duration(const char *name, void **params)
{
	char value[32];
	uint64_t duration;

	if (setting_item("DOUBLE_KERNEL_NS", name, value, sizeof(value)))
		return strtoull(value, NULL, 0);
	if (strstr(name, "busy_for") && params && params[0]) {
		memcpy(&duration, params[0], sizeof(duration));
		return duration;
	}
	if (duration_in_name(name, &duration))
		return duration;
	if (setting_item("DOUBLE_KERNEL_NS", "*", value, sizeof(value)))
		return strtoull(value, NULL, 0);
	return DEFAULT_NS;
}
