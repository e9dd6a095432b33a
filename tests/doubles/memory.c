/* Memory: real memory behind every pointer, and a table that knows what each address is. */
#include "machine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "faults.h"
#include "truth.h"

/* Sorted by address.  A lock of its own, because queue.c frees memory with the machine locked. */
static struct memory_block *blocks;
static size_t block_count, block_room;
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;

/* The first block that ends after ADDRESS. */
static size_t block_after(uintptr_t address)
{
	size_t low = 0, high = block_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (blocks[middle].start + blocks[middle].bytes <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct memory_block *block_at(uintptr_t address)
{
	size_t place = block_after(address);

	return place < block_count && blocks[place].start <= address ? &blocks[place] : NULL;
}

static bool block_add(struct memory_block block)
{
	size_t place;

	if (block_count == block_room) {
		size_t room = block_room ? 2 * block_room : 64;
		struct memory_block *larger = realloc(blocks, room * sizeof(*larger));

		if (!larger)
			return false;
		blocks = larger;
		block_room = room;
	}
	place = block_after(block.start);
	memmove(&blocks[place + 1], &blocks[place], (block_count - place) * sizeof(*blocks));
	blocks[place] = block;
	block_count++;
	return true;
}

static void block_remove(struct memory_block *block)
{
	size_t place = (size_t)(block - blocks);

	memmove(block, block + 1, (block_count - place - 1) * sizeof(*blocks));
	block_count--;
}

bool memory_find(CUdeviceptr pointer, struct memory_block *ret_block)
{
	struct memory_block *block;

	pthread_mutex_lock(&memory_lock);
	block = block_at((uintptr_t)pointer);
	if (block)
		*ret_block = *block;
	pthread_mutex_unlock(&memory_lock);
	return block != NULL;
}

static void tell_of(uint32_t operation, const struct memory_block *block, bool async, const struct CUstream_st *stream)
{
	struct memory_info info = { .operation = operation, .kind = block->kind, .correlation = api_correlation(),
		.device = (uint32_t)block->context->gpu->index, .context = block->context->id, .stream = stream ? stream->id : 0,
		.address = block->start, .bytes = block->bytes, .async = async };

	if (block->pool)
		pool_describe(block->pool, &info);
	truth("\"what\":\"%s\",\"kind\":%u,\"address\":%llu,\"bytes\":%llu,\"device\":%u,\"context\":%u,\"stream\":%u,\"async\":%d,"
		"\"correlation\":%u,\"start\":%llu", operation == 1 ? "alloc" : "release", info.kind, (unsigned long long)info.address,
		(unsigned long long)info.bytes, info.device, info.context, info.stream, async, info.correlation,
		(unsigned long long)now_ns());
	tell_memory(&info);
}

/* Device memory counts against the device, host memory does not. */
static CUresult memory_room(struct gpu *gpu, enum memory_kind kind, size_t bytes)
{
	if (kind != MEMORY_DEVICE && kind != MEMORY_MANAGED)
		return CUDA_SUCCESS;
	if (fault_turn(FAULT_out_of_memory) || bytes > GPU_MEMORY - gpu->used)
		return CUDA_ERROR_OUT_OF_MEMORY;
	gpu->used += bytes;
	return CUDA_SUCCESS;
}

CUresult memory_new(enum memory_kind kind, size_t bytes, struct CUctx_st *context, CUmemoryPool pool, struct CUstream_st *stream,
	CUdeviceptr *ret_pointer)
{
	struct memory_block block = { .bytes = bytes, .kind = kind, .context = context, .pool = pool };
	CUresult result;
	void *memory;

	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&memory_lock);
	result = memory_room(context->gpu, kind, bytes);
	memory = result ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	block.start = (uintptr_t)memory;
	if (memory != MAP_FAILED && block_add(block) && pool)
		pool_count(pool, (int64_t)bytes);
	pthread_mutex_unlock(&memory_lock);
	if (memory == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	tell_of(1, &block, pool != NULL, stream);
	*ret_pointer = (CUdeviceptr)(uintptr_t)memory;
	return CUDA_SUCCESS;
}

static CUresult memory_release(uintptr_t address, enum memory_kind kind, struct memory_block *ret_block)
{
	struct memory_block *block = block_at(address);
	bool device = block && (block->kind == MEMORY_DEVICE || block->kind == MEMORY_MANAGED);

	if (!block || block->start != address || block->registered || (kind == MEMORY_PINNED) == device)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_block = *block;
	if (device)
		block->context->gpu->used -= block->bytes;
	if (block->pool)
		pool_count(block->pool, -(int64_t)block->bytes);
	block_remove(block);
	return CUDA_SUCCESS;
}

/* An asynchronous release has been told of when the program asked for it; here its time has come. */
CUresult memory_free(CUdeviceptr pointer, enum memory_kind kind, bool async, struct CUstream_st *stream)
{
	struct memory_block block;
	CUresult result;

	if (!pointer)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&memory_lock);
	result = memory_release((uintptr_t)pointer, kind, &block);
	pthread_mutex_unlock(&memory_lock);
	if (result != CUDA_SUCCESS)
		return result;
	if (!async)
		tell_of(2, &block, false, stream);
	munmap((void *)block.start, block.bytes);
	return CUDA_SUCCESS;
}

CUresult memory_free_later(CUdeviceptr pointer, struct CUstream_st *stream)
{
	struct memory_block block;
	struct op *op;

	if (!memory_find(pointer, &block) || block.start != (uintptr_t)pointer || block.kind == MEMORY_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	tell_of(2, &block, true, stream);
	op = op_new(OP_FREE, stream);
	op->to = (void *)(uintptr_t)pointer;
	op->info.bytes = block.bytes;
	op_submit(op);
	pthread_mutex_lock(&machine_lock);
	op_put(op);
	pthread_mutex_unlock(&machine_lock);
	return CUDA_SUCCESS;
}

CUresult memory_register(void *pointer, size_t bytes, struct CUctx_st *context)
{
	struct memory_block block = { .start = (uintptr_t)pointer, .bytes = bytes, .kind = MEMORY_PINNED, .registered = true,
		.context = context };
	CUresult result = CUDA_SUCCESS;

	if (!pointer || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&memory_lock);
	if (block_at(block.start))
		result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	else if (!block_add(block))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_unlock(&memory_lock);
	return result;
}

CUresult memory_unregister(void *pointer)
{
	CUresult result = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	struct memory_block *block;

	pthread_mutex_lock(&memory_lock);
	block = block_at((uintptr_t)pointer);
	if (block && block->registered && block->start == (uintptr_t)pointer) {
		block_remove(block);
		result = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&memory_lock);
	return result;
}
