/* test-nvml.c - what a management library says, and what it does not: with functions of our own in place of the library's. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "system/nvml.h"

/* ---- A library ----------------------------------------------------------------- */

static struct {
	int init, count_code, handle, memory_v2, number, processes; /* what functions return */
	unsigned devices, process_count;
	const char *missing; /* a function that it does not have */
	int shutdowns;
} fake;

static int init(void)
{
	return fake.init;
}

static int shut_down(void)
{
	fake.shutdowns++;
	return 0;
}

static int count(unsigned *ret)
{
	*ret = fake.devices;
	return fake.count_code;
}

static int handle(unsigned index, void **ret)
{
	static char places[256];

	*ret = &places[index];
	return index == 0 ? fake.handle : 0;
}

static int uuid(void *device, char *text, unsigned size)
{
	(void)device;
	memset(text, 'x', size); /* no end */
	memcpy(text, "GPU-\x1b[31m", 9);
	return 0;
}

static int memory(void *device, uint64_t *memory)
{
	(void)device;
	memory[0] = 1000, memory[1] = 300, memory[2] = 700;
	return fake.number;
}

static int memory_v2(void *device, uint32_t *memory)
{
	const uint64_t values[4] = { 1000, 100, 300, 600 };

	(void)device;
	if (memory[0] != 0x2000028)
		return 25;
	memcpy(memory + 2, values, sizeof values);
	return fake.memory_v2;
}

static int number(void *device, unsigned *ret)
{
	(void)device;
	*ret = 42;
	return fake.number;
}

static int clock_of(void *device, int type, unsigned *ret)
{
	(void)device;
	*ret = type == 1 ? 1410 : type == 2 ? 1215 : 0;
	return fake.number;
}

static int old_temperature(void *device, int sensor, unsigned *ret)
{
	(void)device;
	*ret = sensor == 0 ? 55 : 0;
	return fake.number;
}

static int processes(void *device, unsigned *room, unsigned char *list)
{
	uint64_t bytes[2] = { 5000, UINT64_MAX };

	(void)device;
	for (uint32_t i = 0; i < fake.process_count && i < *room && i < 2; i++) {
		uint32_t pid = 10 + i;

		memcpy(list + 24 * i, &pid, sizeof pid);
		memcpy(list + 24 * i + 8, &bytes[i], sizeof bytes[i]);
	}
	*room = fake.process_count;
	return fake.processes;
}

static void *find(void *arg, const char *name)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} functions[] = {
		{ "nvmlInit_v2", (void (*)(void))init },
		{ "nvmlShutdown", (void (*)(void))shut_down },
		{ "nvmlDeviceGetCount_v2", (void (*)(void))count },
		{ "nvmlDeviceGetHandleByIndex_v2", (void (*)(void))handle },
		{ "nvmlDeviceGetUUID", (void (*)(void))uuid },
		{ "nvmlDeviceGetMemoryInfo", (void (*)(void))memory },
		{ "nvmlDeviceGetMemoryInfo_v2", (void (*)(void))memory_v2 },
		{ "nvmlDeviceGetPowerUsage", (void (*)(void))number },
		{ "nvmlDeviceGetClockInfo", (void (*)(void))clock_of },
		{ "nvmlDeviceGetTemperature", (void (*)(void))old_temperature },
		{ "nvmlDeviceGetComputeRunningProcesses_v2", (void (*)(void))processes },
	};
	void *function = NULL;

	(void)arg;
	for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
		if (strcmp(functions[i].name, name) == 0 && !(fake.missing && strcmp(fake.missing, name) == 0))
			memcpy(&function, &functions[i].function, sizeof function);
	return function;
}

static int reset(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof fake);
	fake.devices = 1;
	return 0;
}

static struct nvml *opened(void)
{
	struct nvml *nvml = NULL;

	assert_int_equal(nvml_open_with(&nvml, find, NULL, NULL), 0);
	return nvml;
}

/* ---- Opening ------------------------------------------------------------------- */

static void test_failures(void **state)
{
	struct nvml *nvml = NULL;
	struct error err = { 0 };

	(void)state;
	fake.missing = "nvmlDeviceGetCount_v2";
	assert_int_equal(nvml_open_with(&nvml, find, NULL, &err), -ENOSYS);
	assert_non_null(strstr(err.text, "nvmlDeviceGetCount_v2"));
	fake.missing = NULL;
	fake.init = 9;
	assert_int_equal(nvml_open_with(&nvml, find, NULL, &err), -ENODEV);
	assert_string_equal(err.text, "the driver is not loaded");
	assert_int_equal(fake.shutdowns, 0);
	fake.init = 0;
	fake.devices = 0;
	assert_int_equal(nvml_open_with(&nvml, find, NULL, &err), -ENODEV);
	assert_string_equal(err.text, "there is no GPU");
	fake.devices = 1;
	fake.handle = 4;
	assert_int_equal(nvml_open_with(&nvml, find, NULL, &err), -ENODEV);
	assert_string_equal(err.text, "there is no permission");
	assert_int_equal(fake.shutdowns, 2);
	assert_null(nvml);
	nvml_close(NULL);
}

static void test_devices(void **state)
{
	struct nvml_look look;
	struct nvml *nvml;

	(void)state;
	fake.devices = 200; /* more than anybody has */
	fake.handle = 15;
	nvml = opened();
	assert_int_equal(nvml_count(nvml), NVML_DEVICES);
	assert_string_equal(nvml_uuid(nvml, 0), ""); /* the first one has no handle */
	assert_int_equal(nvml_look(nvml, 0, &look, NULL), -ENODEV);
	assert_int_equal(nvml_look(nvml, NVML_DEVICES, &look, NULL), -ENODEV);
	assert_int_equal(nvml_look(nvml, 1, &look, NULL), 0);
	assert_memory_equal(nvml_uuid(nvml, 1), "GPU-?[31m", 9);
	assert_int_equal(strlen(nvml_uuid(nvml, 1)), NVML_TEXT - 1);
	assert_string_equal(nvml_name(nvml, 1), ""); /* that function is missing */
	nvml_close(nvml);
	assert_int_equal(fake.shutdowns, 1);
}

/* ---- Looking ------------------------------------------------------------------- */

#define HAS(look, value) ((look).present >> (value) & 1)

static void test_values(void **state)
{
	struct nvml *nvml = opened();
	struct nvml_look look;

	(void)state;
	assert_int_equal(nvml_look(nvml, 0, &look, NULL), 0);
	assert_int_equal(look.present, 1u << NVML_MEMORY_USED | 1u << NVML_MEMORY_TOTAL | 1u << NVML_POWER | 1u << NVML_SM_CLOCK |
					       1u << NVML_MEMORY_CLOCK | 1u << NVML_TEMPERATURE);
	assert_int_equal(look.values[NVML_MEMORY_USED], 600);
	assert_int_equal(look.values[NVML_MEMORY_TOTAL], 1000);
	assert_int_equal(look.values[NVML_POWER], 42);
	assert_int_equal(look.values[NVML_SM_CLOCK], 1410);
	assert_int_equal(look.values[NVML_MEMORY_CLOCK], 1215);
	assert_int_equal(look.values[NVML_TEMPERATURE], 55);
	fake.memory_v2 = 25; /* a struct that this one does not know: the older form */
	assert_int_equal(nvml_look(nvml, 0, &look, NULL), 0);
	assert_int_equal(look.values[NVML_MEMORY_USED], 700);
	nvml_close(nvml);
}

static void test_absent(void **state)
{
	struct nvml *nvml = opened();
	struct error err = { 0 };
	struct nvml_look look;

	(void)state;
	fake.number = 3;
	assert_int_equal(nvml_look(nvml, 0, &look, NULL), 0);
	assert_true(HAS(look, NVML_MEMORY_USED));
	assert_false(HAS(look, NVML_POWER) || HAS(look, NVML_SM_CLOCK) || HAS(look, NVML_TEMPERATURE));
	fake.memory_v2 = 3;
	assert_int_equal(nvml_look(nvml, 0, &look, &err), -ENODATA);
	fake.number = fake.memory_v2 = 4;
	assert_int_equal(nvml_look(nvml, 0, &look, &err), -ENODEV);
	assert_string_equal(err.text, "there is no permission");
	fake.number = 15; /* what was said before that is of no use */
	fake.memory_v2 = 0;
	assert_int_equal(nvml_look(nvml, 0, &look, &err), -ENODEV);
	assert_string_equal(err.text, "the GPU is lost");
	nvml_close(nvml);
}

static void test_processes(void **state)
{
	struct nvml *nvml = opened();
	struct nvml_look look;

	(void)state;
	fake.process_count = 2;
	assert_int_equal(nvml_look(nvml, 0, &look, NULL), 0);
	assert_true(look.processes_known);
	assert_int_equal(look.process_count, 2);
	assert_int_equal(look.processes[0].pid, 10);
	assert_int_equal(look.processes[0].bytes, 5000);
	assert_true(look.processes[0].known);
	assert_int_equal(look.processes[1].pid, 11);
	assert_false(look.processes[1].known);
	fake.processes = 7; /* too many: none is told */
	fake.process_count = 100000;
	assert_int_equal(nvml_look(nvml, 0, &look, NULL), 0);
	assert_false(look.processes_known);
	assert_int_equal(look.process_count, 0);
	fake.processes = 0; /* and one that lies about it */
	assert_int_equal(nvml_look(nvml, 0, &look, NULL), 0);
	assert_int_equal(look.process_count, 0);
	nvml_close(nvml);
}

static void test_names(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NVML_VALUE_COUNT; i++)
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(nvml_value_name(i), nvml_value_name(k));
	assert_true(nvml_value_is_limit(NVML_POWER_LIMIT));
	assert_false(nvml_value_is_limit(NVML_POWER));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_failures, reset),  cmocka_unit_test_setup(test_devices, reset),
		cmocka_unit_test_setup(test_values, reset),    cmocka_unit_test_setup(test_absent, reset),
		cmocka_unit_test_setup(test_processes, reset), cmocka_unit_test_setup(test_names, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
