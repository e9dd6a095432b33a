/* Finding libcuda, and the state of a thread. */
#include "runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

struct driver_functions cu;

static const struct double_driver *driver;
static cudaError_t open_error;
static pthread_once_t open_once = PTHREAD_ONCE_INIT;
static __thread int device;
static __thread cudaError_t last_error;

static void find(void *library, const char *name, void *place)
{
	void *symbol = dlsym(library, name);

	memcpy(place, &symbol, sizeof(symbol));
}

static void find_all(void *library)
{
#define FIND(name, parameters) find(library, #name, &cu.name);
#define FIND_PTSZ(name, parameters) find(library, #name, &cu.name); find(library, #name "_ptsz", &cu.name##_ptsz);
#define FIND_PTDS(name, parameters) find(library, #name, &cu.name); find(library, #name "_ptds", &cu.name##_ptds);
	CUDA_PLAIN(FIND)
	CUDA_STREAMED(FIND_PTSZ)
	CUDA_DEFAULTED(FIND_PTDS)
}

/* On anything but the double's libcuda this libcudart does nothing. */
static void open_now(void)
{
	const struct double_driver *(*table)(void) = NULL;
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	open_error = cudaErrorInsufficientDriver;
	if (!library)
		return;
	find(library, "doubleDriver", &table);
	if (!table)
		return;
	find_all(library);
	open_error = cu.cuInit(0);
	if (open_error == cudaSuccess)
		driver = table();
}

const struct double_driver *runtime_open(cudaError_t *ret_error)
{
	pthread_once(&open_once, open_now);
	*ret_error = open_error;
	if (driver && !driver->initialised())   /* after a fork */
		*ret_error = cudaErrorInitializationError;
	return *ret_error == cudaSuccess ? driver : NULL;
}

cudaError_t runtime_begin(struct api_call *call, uint32_t cbid, const char *name, bool context)
{
	cudaError_t error;
	const struct double_driver *open = runtime_open(&error);

	call->name = NULL;
	if (!open)
		return error;
	open->api_begin(call, API_RUNTIME, cbid, name);
	return context ? open->use_device(device) : cudaSuccess;
}

cudaError_t runtime_end(struct api_call *call, cudaError_t error)
{
	if (error != cudaSuccess && error != cudaErrorNotReady)
		last_error = error;
	return call->name ? driver->api_end(call, error) : error;
}

int runtime_device(void)
{
	return device;
}

void runtime_set_device(int index)
{
	device = index;
}

cudaError_t runtime_last_error(bool forget)
{
	cudaError_t error = last_error;

	if (forget)
		last_error = cudaSuccess;
	return error;
}
