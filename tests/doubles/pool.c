/* Memory pools: they count, and remember attributes; every allocation is one of its own. */
#include "machine.h"

#include <stdlib.h>

#include "truth.h"

#define POOL_MAGIC 0x504f4f4cu

struct CUmemPoolHandle_st {
	uint32_t magic;
	struct gpu *gpu;
	uint64_t attributes[9];         /* by CU_MEMPOOL_ATTR_ */
	CUmemoryPool next;
};

static CUmemoryPool pools;              /* all that ever were */
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

static bool pool_ok(CUmemoryPool pool)
{
	return pool && pool->magic == POOL_MAGIC;
}

static void tell_of(uint32_t operation, CUmemoryPool pool, uint64_t keep)
{
	struct pool_info info = { .operation = operation, .correlation = api_correlation(), .device = (uint32_t)pool->gpu->index,
		.keep = keep, .address = (uintptr_t)pool, .size = pool->attributes[CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT],
		.threshold = pool->attributes[CU_MEMPOOL_ATTR_RELEASE_THRESHOLD],
		.used = pool->attributes[CU_MEMPOOL_ATTR_USED_MEM_CURRENT] };

	truth("\"what\":\"pool\",\"operation\":%u,\"device\":%u,\"address\":%llu,\"bytes\":%llu,\"correlation\":%u,\"start\":%llu", operation, info.device,
		(unsigned long long)info.address, (unsigned long long)info.size, info.correlation, (unsigned long long)now_ns());
	tell_pool(&info);
}

/* Called by machine_start too, when no tracer listens yet. */
CUresult pool_new(struct gpu *gpu, CUmemoryPool *ret_pool)
{
	CUmemoryPool pool = calloc(1, sizeof(*pool));

	if (!pool)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pool->magic = POOL_MAGIC;
	pool->gpu = gpu;
	pthread_mutex_lock(&pool_lock);
	pool->next = pools;
	pools = pool;
	pthread_mutex_unlock(&pool_lock);
	tell_of(1, pool, 0);
	*ret_pool = pool;
	return CUDA_SUCCESS;
}

CUresult pool_free(CUmemoryPool pool)
{
	if (!pool_ok(pool) || pool == pool->gpu->default_pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (pool->gpu->pool == pool)
		pool->gpu->pool = pool->gpu->default_pool;
	tell_of(2, pool, 0);
	pool->magic = 0;        /* allocations may still point to it, so it stays */
	return CUDA_SUCCESS;
}

CUresult pool_trim(CUmemoryPool pool, size_t keep)
{
	if (!pool_ok(pool))
		return CUDA_ERROR_INVALID_VALUE;
	pool->attributes[CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT] = pool->attributes[CU_MEMPOOL_ATTR_USED_MEM_CURRENT];
	tell_of(3, pool, keep);
	return CUDA_SUCCESS;
}

uint64_t *pool_attribute(CUmemoryPool pool, int attribute)
{
	return pool_ok(pool) && attribute >= CU_MEMPOOL_ATTR_RELEASE_THRESHOLD && attribute <= CU_MEMPOOL_ATTR_USED_MEM_HIGH
		? &pool->attributes[attribute] : NULL;
}

static void raise_to(uint64_t *high, uint64_t value)
{
	if (*high < value)
		*high = value;
}

void pool_count(CUmemoryPool pool, int64_t bytes)
{
	uint64_t *values = pool->attributes;

	values[CU_MEMPOOL_ATTR_USED_MEM_CURRENT] += (uint64_t)bytes;
	raise_to(&values[CU_MEMPOOL_ATTR_USED_MEM_HIGH], values[CU_MEMPOOL_ATTR_USED_MEM_CURRENT]);
	raise_to(&values[CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT], values[CU_MEMPOOL_ATTR_USED_MEM_CURRENT]);
	raise_to(&values[CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH], values[CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT]);
}

void pool_describe(CUmemoryPool pool, struct memory_info *info)
{
	info->pool = (uintptr_t)pool;
	info->pool_threshold = pool->attributes[CU_MEMPOOL_ATTR_RELEASE_THRESHOLD];
	info->pool_size = pool->attributes[CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT];
	info->pool_used = pool->attributes[CU_MEMPOOL_ATTR_USED_MEM_CURRENT];
}
