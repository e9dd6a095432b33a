/* Copies, sets, launches and host functions: made into an operation, which is queued, or kept by the capture of its stream. */
#include "machine.h"

#include <stdlib.h>
#include <string.h>

#include "faults.h"

#define STAGE_MAX 65536                 /* a copy from pageable memory up to this size does not make the caller wait */

enum { HTOD = 1, DTOH = 2, DTOD = 8, HTOH = 9, PTOP = 10 };

static void op_drop(struct op *op)
{
	pthread_mutex_lock(&machine_lock);
	op_put(op);
	pthread_mutex_unlock(&machine_lock);
}

/* Takes the operation. */
static CUresult work_give(struct op *op, bool wait)
{
	if (stream_capturing(op->stream) && wait) {
		capture_spoil(op->stream);
		op_drop(op);
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	if (stream_capturing(op->stream))
		return capture_add(op);
	op_submit(op);
	if (wait)
		op_await(op);
	op_drop(op);
	return CUDA_SUCCESS;
}

static enum memory_kind kind_of(CUdeviceptr pointer, struct memory_block *block)
{
	return memory_find(pointer, block) ? block->kind : MEMORY_PAGEABLE;
}

static bool is_host(enum memory_kind kind)
{
	return kind == MEMORY_PAGEABLE || kind == MEMORY_PINNED;
}

/* GB/s: PCIe for the host, less for pageable memory, NVLink between devices, and the device's own memory. */
static uint64_t copy_ns(const struct op_info *op)
{
	bool pageable = op->from_kind == MEMORY_PAGEABLE || op->to_kind == MEMORY_PAGEABLE;
	uint64_t rate = op->copy_kind == DTOD ? 1000 : op->copy_kind == PTOP ? 150 : pageable ? 6 : 25;

	return 1000 + op->bytes / rate;
}

static void copy_describe(struct op *op, CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	struct memory_block block = { 0 };
	enum memory_kind from_kind = kind_of(from, &block), to_kind = kind_of(to, &block);

	op->info.bytes = bytes;
	op->info.from_kind = (uint8_t)from_kind;
	op->info.to_kind = (uint8_t)to_kind;
	op->info.copy_kind = is_host(from_kind) ? is_host(to_kind) ? HTOH : HTOD : is_host(to_kind) ? DTOH : DTOD;
	op->engine = op->info.copy_kind == HTOD ? 0 : op->info.copy_kind == DTOH ? 1 : 2;
	op->info.channel = 100 + (uint32_t)op->engine;
	op->to = (void *)(uintptr_t)to;
	op->from = (const void *)(uintptr_t)from;
	op->duration = copy_ns(&op->info);
}

/* A real driver stages small copies from pageable memory; those to it, and large ones, it does before it returns. */
static bool copy_must_wait(struct op *op)
{
	if (op->info.to_kind == MEMORY_PAGEABLE)
		return true;
	if (op->info.from_kind != MEMORY_PAGEABLE)
		return false;
	if (op->info.bytes > STAGE_MAX)
		return true;
	op->staged = malloc(op->info.bytes + !op->info.bytes);
	if (!op->staged)
		return true;
	memcpy(op->staged, op->from, op->info.bytes);
	return false;
}

CUresult work_copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, struct CUstream_st *stream, bool async)
{
	struct op *op;

	if (!bytes)
		return CUDA_SUCCESS;
	if (!to || !from)
		return CUDA_ERROR_INVALID_VALUE;
	op = op_new(OP_COPY, stream);
	copy_describe(op, to, from, bytes);
	op->info.async = async;
	if (async && stream_capturing(stream))
		return work_give(op, false);
	return work_give(op, async ? copy_must_wait(op) : true);
}

CUresult work_copy_peer(CUdeviceptr to, struct CUctx_st *to_context, CUdeviceptr from, struct CUctx_st *from_context, size_t bytes,
	struct CUstream_st *stream, bool async)
{
	struct op *op;

	if (!bytes)
		return CUDA_SUCCESS;
	if (!to || !from || !context_ok(to_context) || !context_ok(from_context))
		return CUDA_ERROR_INVALID_VALUE;
	op = op_new(OP_COPY, stream);
	copy_describe(op, to, from, bytes);
	op->info.async = async;
	op->info.copy_kind = PTOP;
	op->info.from_device = (uint32_t)from_context->gpu->index;
	op->info.from_context = from_context->id;
	op->info.to_device = (uint32_t)to_context->gpu->index;
	op->info.to_context = to_context->id;
	op->duration = copy_ns(&op->info);
	return work_give(op, !async);
}

struct op *work_set_op(CUdeviceptr to, unsigned int value, unsigned int element, size_t count, struct CUstream_st *stream)
{
	struct op *op = op_new(OP_SET, stream);
	struct memory_block block = { 0 };

	op->info.value = value;
	op->info.bytes = count * element;
	op->info.to_kind = (uint8_t)kind_of(to, &block);
	op->element = element;
	op->to = (void *)(uintptr_t)to;
	op->duration = 1000 + op->info.bytes / 1000;
	return op;
}

CUresult work_set(CUdeviceptr to, unsigned int value, unsigned int element, size_t count, struct CUstream_st *stream, bool async)
{
	struct op *op;

	if (!count)
		return CUDA_SUCCESS;
	if (!to || count > SIZE_MAX / element)
		return CUDA_ERROR_INVALID_VALUE;
	op = work_set_op(to, value, element, count, stream);
	op->info.async = async;
	return work_give(op, false);
}

struct op *work_launch_op(struct CUfunc_st *function, const unsigned int grid[3], const unsigned int block[3], unsigned int shared,
	struct CUstream_st *stream, void **params)
{
	struct op *op = op_new(OP_KERNEL, stream);

	op->info.name = function_name(function);
	for (int i = 0; i < 3; i++) {
		op->info.grid[i] = grid[i];
		op->info.block[i] = block[i];
	}
	op->info.shared = shared;
	op->info.registers = 32;
	op->duration = kernel_duration(op->info.name, params);
	return op;
}

CUresult work_launch(struct CUfunc_st *function, const unsigned int grid[3], const unsigned int block[3], unsigned int shared,
	struct CUstream_st *stream, void **params, struct manner manner)
{
	struct op *op;

	if (!function_ok(function))
		return CUDA_ERROR_INVALID_HANDLE;
	for (int i = 0; i < 3; i++)
		if (!grid[i] || !block[i])
			return CUDA_ERROR_INVALID_VALUE;
	if ((uint64_t)block[0] * block[1] * block[2] > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	if (fault_turn(FAULT_launch_failed))
		return CUDA_ERROR_LAUNCH_FAILED;
	op = work_launch_op(function, grid, block, shared, stream, params);
	op->info.cooperative = manner.cooperative;
	memcpy(op->info.cluster, manner.cluster, sizeof(op->info.cluster));
	return work_give(op, false);
}

CUresult work_host(CUhostFn function, void *user, struct CUstream_st *stream)
{
	struct op *op;

	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	op = op_new(OP_HOST, stream);
	op->host = function;
	op->host_user = user;
	return work_give(op, false);
}
