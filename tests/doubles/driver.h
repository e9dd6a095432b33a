/* How the functions of libcuda are written: one line each, an expression of what machine.h offers.

	CALL(cuEventQuery, (CUevent event), event_query(event))

   announces the call to the tracers, asks whether the driver is initialised, evaluates the expression, and announces its result. */
#ifndef DOUBLES_DRIVER_H
#define DOUBLES_DRIVER_H

#include "cbid.h"
#include "machine.h"

#define READY() (machine_running() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED)

#define CALL_ALWAYS(name, parameters, expression) \
	CUresult name parameters \
	{ \
		struct api_call call_; \
		api_begin(&call_, API_DRIVER, CBID_##name, #name); \
		return api_end(&call_, expression); \
	}

#define CALL(name, parameters, expression) CALL_ALWAYS(name, parameters, READY() ?: (expression))

/* With a stream that is called "stream" among the parameters, and again with the suffix that makes stream 0 the thread's own. */
#define STREAM_CALL(name, parameters, expression) \
	CALL(name, parameters, expression) \
	CUresult name##_ptsz parameters \
	{ \
		struct api_call call_; \
		api_begin(&call_, API_DRIVER, CBID_##name##_ptsz, #name "_ptsz"); \
		stream = per_thread(stream); \
		return api_end(&call_, READY() ?: (expression)); \
	}

/* Without one: the expression's "stream" is the default stream. */
#define DEFAULT_CALL(name, parameters, expression) \
	CUresult name parameters \
	{ \
		struct api_call call_; \
		CUstream stream = NULL; \
		api_begin(&call_, API_DRIVER, CBID_##name, #name); \
		return api_end(&call_, READY() ?: (expression)); \
	} \
	CUresult name##_ptds parameters \
	{ \
		struct api_call call_; \
		CUstream stream = CU_STREAM_PER_THREAD; \
		api_begin(&call_, API_DRIVER, CBID_##name##_ptds, #name "_ptds"); \
		return api_end(&call_, READY() ?: (expression)); \
	}

#define POINTER(p) ((CUdeviceptr)(uintptr_t)(p))

#endif
