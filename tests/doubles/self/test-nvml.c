/* libnvidia-ml: two devices that agree with libcuda's, values and errors on request. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nvml.h"

static void *library;

static void *find(const char *name)
{
	void *symbol = dlsym(library, name);

	assert_non_null(symbol);
	return symbol;
}

#define CALL(name, ...) (((__typeof__(&name))(uintptr_t)find(#name))(__VA_ARGS__))

static void devices_answer(void **state)
{
	nvmlDevice_t first, second, same;
	nvmlMemory_v2_t memory = { .version = 0x2000028 };
	nvmlMemory_t old;
	nvmlUtilization_t rates;
	nvmlProcessInfo_t processes[2];
	nvmlTemperature_t temperature = { .version = 0x100000c };
	unsigned int count, number;
	char uuid[96];

	(void)state;
	assert_int_equal(CALL(nvmlDeviceGetCount_v2, &count), 1);
	assert_int_equal(CALL(nvmlInit_v2), 0);
	assert_int_equal(CALL(nvmlDeviceGetCount_v2, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(CALL(nvmlDeviceGetHandleByIndex_v2, 0, &first), 0);
	assert_int_equal(CALL(nvmlDeviceGetHandleByIndex_v2, 1, &second), 0);
	assert_int_equal(CALL(nvmlDeviceGetHandleByIndex_v2, 2, &same), 2);
	assert_int_equal(CALL(nvmlDeviceGetUUID, second, uuid, 8), 7);
	assert_int_equal(CALL(nvmlDeviceGetUUID, second, uuid, sizeof(uuid)), 0);
	assert_string_equal(uuid, "GPU-d00b1e00-1122-4344-8566-778899aabb01");
	assert_int_equal(CALL(nvmlDeviceGetHandleByUUID, uuid, &same), 0);
	assert_ptr_equal(same, second);
	assert_int_equal(CALL(nvmlDeviceGetMemoryInfo_v2, first, &memory), 0);
	assert_int_equal(CALL(nvmlDeviceGetMemoryInfo, first, &old), 0);
	assert_true(memory.used == 5000 && old.used == 5000 + memory.reserved);
	memory.version = 1;
	assert_int_equal(CALL(nvmlDeviceGetMemoryInfo_v2, first, &memory), 25);
	assert_int_equal(CALL(nvmlDeviceGetUtilizationRates, first, &rates), 0);
	assert_int_equal(rates.gpu, 90);
	assert_int_equal(rates.memory, 40);
	assert_int_equal(CALL(nvmlDeviceGetUtilizationRates, second, &rates), 0);
	assert_int_equal(rates.gpu, 5);
	count = 0;
	assert_int_equal(CALL(nvmlDeviceGetComputeRunningProcesses_v3, first, &count, NULL), 7);
	assert_int_equal(count, 2);
	assert_int_equal(CALL(nvmlDeviceGetComputeRunningProcesses_v3, first, &count, processes), 0);
	assert_true(processes[1].pid == 22 && processes[1].usedGpuMemory == 200);
	assert_int_equal(CALL(nvmlDeviceGetTemperatureV, first, &temperature), 0);
	assert_int_equal(temperature.temperature, 61);
	assert_int_equal(CALL(nvmlDeviceGetPowerUsage, first, &number), 4);     /* by DOUBLE_FAULT=nvml_power=4 */
	assert_int_equal(CALL(nvmlShutdown), 0);
	assert_int_equal(CALL(nvmlDeviceGetTemperature, first, 0, &number), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(devices_answer) };

	library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	return library ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
