/* Contexts. */
#include "driver.h"

static CUresult create(CUcontext *context, unsigned int flags, CUdevice device)
{
	struct gpu *gpu = gpu_at(device);
	struct CUctx_st *made;

	if (!context || !gpu)
		return context ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
	made = context_new(gpu, flags, false);
	if (!made || context_push(made))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*context = made;
	return CUDA_SUCCESS;
}

static CUresult destroy(CUcontext context)
{
	if (!context_ok(context) || context->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (context_current() == context)
		(void)context_pop();
	context_free(context);
	return CUDA_SUCCESS;
}

static CUresult set_current(CUcontext context)
{
	if (context && !context_ok(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	context_make_current(context);
	return CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *context)
{
	if (!context)
		return CUDA_ERROR_INVALID_VALUE;
	*context = context_current();
	return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *context)
{
	struct CUctx_st *top = context_pop();

	if (!top)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (context)
		*context = top;
	return CUDA_SUCCESS;
}

static CUresult get_device(CUdevice *device, CUcontext context)
{
	if (!context_ok(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = context->gpu->index;
	return CUDA_SUCCESS;
}

static CUresult synchronize(CUcontext context)
{
	struct sync_note note;

	if (!context_ok(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	sync_begin(&note, 4, context, NULL, NULL);
	context_drain(context);
	return sync_end(&note, CUDA_SUCCESS);
}

static CUresult get_id(CUcontext context, unsigned long long *id)
{
	context = context ? context : context_current();
	if (!context_ok(context) || !id)
		return CUDA_ERROR_INVALID_CONTEXT;
	*id = context->id;
	return CUDA_SUCCESS;
}

static CUresult api_version(CUcontext context, unsigned int *version)
{
	if (!context_ok(context) || !version)
		return CUDA_ERROR_INVALID_CONTEXT;
	*version = 3020;
	return CUDA_SUCCESS;
}

static CUresult peer(CUcontext other, bool enable)
{
	struct CUctx_st *context = context_current();

	if (!context_ok(context) || !context_ok(other) || context->gpu == other->gpu)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (context->peers[other->gpu->index] == enable)
		return enable ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	context->peers[other->gpu->index] = enable;
	return CUDA_SUCCESS;
}

static CUresult priorities(int *least, int *greatest)
{
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return CUDA_SUCCESS;
}

CALL(cuCtxCreate_v2, (CUcontext *context, unsigned int flags, CUdevice device), create(context, flags, device))
CALL(cuCtxCreate_v4, (CUcontext *context, void *params, unsigned int flags, CUdevice device),
	params ? CUDA_ERROR_NOT_SUPPORTED : create(context, flags, device))
CALL(cuCtxDestroy_v2, (CUcontext context), destroy(context))
CALL(cuCtxSetCurrent, (CUcontext context), set_current(context))
CALL(cuCtxGetCurrent, (CUcontext *context), get_current(context))
CALL(cuCtxPushCurrent_v2, (CUcontext context), context_ok(context) ? context_push(context) : CUDA_ERROR_INVALID_CONTEXT)
CALL(cuCtxPopCurrent_v2, (CUcontext *context), pop(context))
CALL(cuCtxGetDevice, (CUdevice *device), get_device(device, context_current()))
CALL(cuCtxGetDevice_v2, (CUdevice *device, CUcontext context), get_device(device, context ? context : context_current()))
CALL(cuCtxSynchronize, (void), synchronize(context_current()))
CALL(cuCtxSynchronize_v2, (CUcontext context), synchronize(context ? context : context_current()))
CALL(cuCtxGetApiVersion, (CUcontext context, unsigned int *version), api_version(context, version))
CALL(cuCtxGetId, (CUcontext context, unsigned long long *id), get_id(context, id))
CALL(cuCtxEnablePeerAccess, (CUcontext other, unsigned int flags), flags ? CUDA_ERROR_INVALID_VALUE : peer(other, true))
CALL(cuCtxDisablePeerAccess, (CUcontext other), peer(other, false))
CALL(cuCtxGetStreamPriorityRange, (int *least, int *greatest), priorities(least, greatest))
