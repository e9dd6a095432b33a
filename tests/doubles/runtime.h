/* The inside of the double's libcudart: it forwards to libcuda, which it opens at the first call that needs it, never when a program's
   kernels are registered and never at exit.  It announces its own calls to libcupti by way of libcuda. */
#ifndef DOUBLES_RUNTIME_H
#define DOUBLES_RUNTIME_H

#include "cbid.h"
#include "cuda_runtime.h"
#include "tracer.h"

/* The functions of libcuda that are forwarded to, filled by runtime_open(). */
#define DRIVER_POINTER(name, parameters) CUresult (*name) parameters;
#define DRIVER_POINTERS(name, parameters) CUresult (*name) parameters; CUresult (*name##_ptsz) parameters;
#define DRIVER_POINTERS_PTDS(name, parameters) CUresult (*name) parameters; CUresult (*name##_ptds) parameters;
struct driver_functions {
	CUDA_PLAIN(DRIVER_POINTER)
	CUDA_STREAMED(DRIVER_POINTERS)
	CUDA_DEFAULTED(DRIVER_POINTERS_PTDS)
};
extern struct driver_functions cu;

const struct double_driver *runtime_open(cudaError_t *ret_error);       /* NULL with the reason; initialises the driver */
cudaError_t runtime_begin(struct api_call *call, uint32_t cbid, const char *name, bool context);
cudaError_t runtime_end(struct api_call *call, cudaError_t error);      /* remembers an error for cudaGetLastError */
int runtime_device(void);                                               /* of the calling thread */
void runtime_set_device(int device);
cudaError_t runtime_last_error(bool forget);

struct kernel;
struct kernel *kernel_find(const void *host);
const char *kernel_name(const struct kernel *kernel);
cudaError_t kernel_function(struct kernel *kernel, CUfunction *ret_function);   /* for the device that is current */
void kernels_reset(int device);                          /* their modules are gone, and will be loaded again */
cudaError_t variable_address(const void *host, CUdeviceptr *ret_pointer);

/* One runtime function: announced, with the device's primary context current, then the expression. */
#define RUNTIME(name, version, parameters, expression) \
	cudaError_t name parameters \
	{ \
		struct api_call call_; \
		cudaError_t error_ = runtime_begin(&call_, CBID_##name##_v##version, #name "_v" #version, true); \
		return runtime_end(&call_, error_ ?: (expression)); \
	}

/* The same for what needs a driver, but no context. */
#define RUNTIME_EARLY(name, version, parameters, expression) \
	cudaError_t name parameters \
	{ \
		struct api_call call_; \
		cudaError_t error_ = runtime_begin(&call_, CBID_##name##_v##version, #name "_v" #version, false); \
		return runtime_end(&call_, error_ ?: (expression)); \
	}

#define ADDRESS(p) ((CUdeviceptr)(uintptr_t)(p))

#endif
