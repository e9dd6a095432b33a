/*
 * environment.c - how devices are: clocks, heat, power, as counters with the names and units of the recorder's own samples.
 *
 * CUPTI has it from NVML, which it loads into the program.  The recorder asks
 * NVML itself, from outside; only where it cannot are these records enabled.
 */
#include "cuda/cuda.h"

enum { SPEED = 1, TEMPERATURE = 2, POWER = 3, COOLING = 4 };

#define NO_REASONS 0xc0000000u /* they are not known, or the device has none */

/* A number of a record; what the driver does not tell is 0 there. */
static const struct number {
	uint8_t kind, offset;
	bool may_be_0;
	const char *name;
} numbers[] = {
	{ SPEED, AT_ENVIRONMENT_SM_CLOCK, false, "sm_clock_mhz" },
	{ SPEED, AT_ENVIRONMENT_MEMORY_CLOCK, false, "memory_clock_mhz" },
	{ SPEED, AT_ENVIRONMENT_REASONS, true, "clock_reasons" }, /* by the same bits as NVML's */
	{ SPEED, AT_ENVIRONMENT_PCIE_GENERATION, false, "pcie_generation" },
	{ SPEED, AT_ENVIRONMENT_PCIE_WIDTH, false, "pcie_width" },
	{ TEMPERATURE, AT_ENVIRONMENT_TEMPERATURE, false, "temperature_c" },
	{ POWER, AT_ENVIRONMENT_POWER, false, "power_mw" },
	{ POWER, AT_ENVIRONMENT_POWER_LIMIT, false, "power_limit_mw" },
	{ COOLING, AT_ENVIRONMENT_FAN, true, "fan_percent" },
};
#define NUMBERS (sizeof numbers / sizeof numbers[0])

static bool is_told(const struct number *n, uint32_t value)
{
	if (n->kind == SPEED && n->may_be_0)
		return !(value & NO_REASONS);
	return value || n->may_be_0;
}

void cuda_environment_emit(struct runtime_thread *t, struct record r)
{
	static uint32_t ids[NUMBERS];
	const struct gpu_stream *device = cuda_device_state(t, record_u32(r, AT_ENVIRONMENT_DEVICE));
	uint64_t time;

	if (!device)
		return;
	if (!cuda_time(record_u64(r, AT_ENVIRONMENT_TIME), &time)) {
		gpu_count_lost(1);
		return;
	}
	for (size_t i = 0; i < NUMBERS; i++) {
		uint32_t value = record_u32(r, numbers[i].offset);

		if (numbers[i].kind != record_u32(r, AT_ENVIRONMENT_KIND) || !is_told(&numbers[i], value))
			continue;
		if (!ids[i])
			ids[i] = inferscope_intern(t, numbers[i].name, strlen(numbers[i].name));
		gpu_emit_counter(t, device, ids[i], time, value);
	}
}
