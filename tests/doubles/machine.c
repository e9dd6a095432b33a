/* Start, time and devices. */
#include "machine.h"

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "settings.h"

pthread_mutex_t machine_lock = PTHREAD_MUTEX_INITIALIZER;

static struct gpu gpus[GPU_MAX];
static int gpu_total;
static atomic_int machine_pid;
static uint64_t clock_zero;
static long long clock_ppm, clock_offset, step_at, step_by;

uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Each device began to count at another time, and counts a little fast. */
uint64_t device_clock(uint32_t device, uint64_t raw)
{
	int64_t since = (int64_t)(raw - clock_zero);
	int64_t step = step_by && since >= step_at ? step_by : 0;

	return (uint64_t)(since + since / 1000000 * clock_ppm + since % 1000000 * clock_ppm / 1000000 + step + clock_offset
		+ 1000000000ll * (device + 1));
}

int gpu_count(void)
{
	return gpu_total;
}

struct gpu *gpu_at(int index)
{
	return index >= 0 && index < gpu_total ? &gpus[index] : NULL;
}

bool machine_running(void)
{
	return atomic_load(&machine_pid) == getpid();
}

int machine_start(void)
{
	long long count = setting_number("DOUBLE_DEVICES", GPU_COUNT);

	if (count < 1)
		return CUDA_ERROR_NO_DEVICE;
	gpu_total = count < GPU_MAX ? (int)count : GPU_MAX;
	for (int i = 0; i < gpu_total; i++) {
		gpus[i].index = i;
		if (pool_new(&gpus[i], &gpus[i].default_pool))
			return CUDA_ERROR_OUT_OF_MEMORY;
		gpus[i].pool = gpus[i].default_pool;
	}
	clock_zero = now_ns();
	clock_ppm = setting_number("DOUBLE_CLOCK_PPM", 0);
	clock_offset = setting_number("DOUBLE_CLOCK_OFFSET_NS", 0);
	(void)setting_pair("DOUBLE_CLOCK_STEP_NS", &step_at, &step_by);
	queue_start();
	atomic_store(&machine_pid, getpid());
	return CUDA_SUCCESS;
}
