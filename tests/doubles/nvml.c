/* libnvidia-ml: the same devices as libcuda's, with values that the environment sets.

	DOUBLE_NVML=util=35/12,power=250000,1.power=90000

   A key may have the index of a device before it.  Values: memory_used, memory_reserved (bytes), util (gpu/memory, %), clock
   (graphics/memory, MHz), max_clock, reasons, power, power_limit (mW), energy (mJ), temperature (C), processes (pid:bytes/pid:bytes),
   name.
   Instead of a value: @ and a file that has it, and may be written meanwhile.
   A function of which a fault is asked returns that fault's number. */
#include "nvml.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "faults.h"
#include "gpu_facts.h"
#include "settings.h"

enum { OK = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7,
	ARGUMENT_VERSION_MISMATCH = 25 };
#define MEMORY_V2 0x2000028u
#define TEMPERATURE_V1 0x100000cu

struct nvmlDevice_st { unsigned int index; };

static struct nvmlDevice_st devices[GPU_MAX];
static int users;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned int device_count(void)
{
	long long count = setting_number("DOUBLE_DEVICES", GPU_COUNT);

	return count < 0 ? 0 : count > GPU_MAX ? GPU_MAX : (unsigned int)count;
}

nvmlReturn_t nvmlInit_v2(void)
{
	if (fault(FAULT_nvml_init))
		return (nvmlReturn_t)fault_number(FAULT_nvml_init);
	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < GPU_MAX; i++)
		devices[i].index = i;
	users++;
	pthread_mutex_unlock(&lock);
	return OK;
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
	(void)flags;
	return nvmlInit_v2();
}

nvmlReturn_t nvmlShutdown(void)
{
	nvmlReturn_t result = OK;

	pthread_mutex_lock(&lock);
	if (users)
		users--;
	else
		result = UNINITIALIZED;
	pthread_mutex_unlock(&lock);
	return result;
}

static bool running(void)
{
	bool yes;

	pthread_mutex_lock(&lock);
	yes = users > 0;
	pthread_mutex_unlock(&lock);
	return yes;
}

/* Whether a question may be answered: the library is up, the device one of ours, the answer wanted, and no fault asked for. */
static nvmlReturn_t may_ask(nvmlDevice_t device, const void *place, enum fault which)
{
	if (!running())
		return UNINITIALIZED;
	if (device < devices || device >= devices + device_count() || !place)
		return INVALID_ARGUMENT;
	if (fault(FAULT_nvml_slow))
		poll(NULL, 0, (int)fault_number(FAULT_nvml_slow));
	if (fault(FAULT_nvml_all))
		return (nvmlReturn_t)fault_number(FAULT_nvml_all);
	return which == FAULT_COUNT ? OK : (nvmlReturn_t)fault_number(which);
}

/* The first line of a file; "" when there is none. */
static void read_value(const char *path, char *value, size_t size)
{
	FILE *file = fopen(path, "re");

	if (!file || !fgets(value, (int)size, file))
		value[0] = '\0';
	if (file)
		fclose(file);
}

static bool text_of(nvmlDevice_t device, const char *key, char *value, size_t size)
{
	char own[64];

	snprintf(own, sizeof(own), "%u.%s", device->index, key);
	if (!setting_item("DOUBLE_NVML", own, value, size) && !setting_item("DOUBLE_NVML", key, value, size))
		return false;
	if (value[0] == '@')
		read_value(value + 1, value, size);
	return true;
}

/* The first or, after a slash, the second number of a value. */
static unsigned long long number_of(nvmlDevice_t device, const char *key, int which, unsigned long long otherwise)
{
	char value[512];
	const char *at = value;

	if (!text_of(device, key, value, sizeof(value)))
		return otherwise;
	if (which)
		at = strchr(value, '/') ? strchr(value, '/') + 1 : value;
	return strtoull(at, NULL, 0);
}

static nvmlReturn_t give_text(char *place, unsigned int length, const char *text)
{
	if (!place)
		return INVALID_ARGUMENT;
	if (strlen(text) >= length)
		return INSUFFICIENT_SIZE;
	memcpy(place, text, strlen(text) + 1);
	return OK;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *text, unsigned int length)
{
	return running() ? give_text(text, length, "610.01") : UNINITIALIZED;
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *text, unsigned int length)
{
	return running() ? give_text(text, length, "13.610.01") : UNINITIALIZED;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	if (!version)
		return INVALID_ARGUMENT;
	*version = (int)setting_number("DOUBLE_DRIVER_VERSION", GPU_DRIVER_VERSION);
	return OK;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
	if (!running() || !count)
		return count ? UNINITIALIZED : INVALID_ARGUMENT;
	*count = device_count();
	return OK;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	if (!running())
		return UNINITIALIZED;
	if (!device || index >= device_count())
		return INVALID_ARGUMENT;
	*device = &devices[index];
	return OK;
}

static nvmlReturn_t handle_by(const char *text, nvmlDevice_t *device, const char *format, unsigned int first)
{
	char own[64];

	if (!running())
		return UNINITIALIZED;
	if (!text || !device)
		return INVALID_ARGUMENT;
	for (unsigned int i = 0; i < device_count(); i++) {
		snprintf(own, sizeof(own), format, i + first);
		if (strcmp(own, text) == 0) {
			*device = &devices[i];
			return OK;
		}
	}
	return NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	return handle_by(uuid, device, GPU_UUID_FORMAT, 0);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *device)
{
	return handle_by(id, device, GPU_PCI_FORMAT, 1);
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
	nvmlReturn_t result = may_ask(device, index, FAULT_COUNT);

	if (result == OK)
		*index = device->index;
	return result;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *text, unsigned int length)
{
	nvmlReturn_t result = may_ask(device, text, FAULT_COUNT);
	char own[128];

	if (result != OK)
		return result;
	return give_text(text, length, text_of(device, "name", own, sizeof(own)) ? own : GPU_NAME);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *text, unsigned int length)
{
	nvmlReturn_t result = may_ask(device, text, FAULT_COUNT);
	char own[64];

	if (result != OK)
		return result;
	snprintf(own, sizeof(own), GPU_UUID_FORMAT, device->index);
	return give_text(text, length, own);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *info)
{
	nvmlReturn_t result = may_ask(device, info, FAULT_COUNT);

	if (result != OK)
		return result;
	*info = (nvmlPciInfo_t){ .bus = device->index + 1 };
	snprintf(info->busId, sizeof(info->busId), GPU_PCI_FORMAT, device->index + 1);
	snprintf(info->busIdLegacy, sizeof(info->busIdLegacy), "0000:%02X:00.0", device->index + 1);
	return OK;
}

/* The first form counts what is reserved as used, the second tells it apart. */
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	nvmlReturn_t result = may_ask(device, memory, FAULT_nvml_memory);

	if (result != OK)
		return result;
	memory->total = GPU_MEMORY;
	memory->used = number_of(device, "memory_used", 0, 1ull << 30) + number_of(device, "memory_reserved", 0, 256ull << 20);
	memory->free = memory->total - memory->used;
	return OK;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
	nvmlReturn_t result = may_ask(device, memory, FAULT_nvml_memory);

	if (result != OK)
		return result;
	if (memory->version != MEMORY_V2)
		return ARGUMENT_VERSION_MISMATCH;
	memory->total = GPU_MEMORY;
	memory->used = number_of(device, "memory_used", 0, 1ull << 30);
	memory->reserved = number_of(device, "memory_reserved", 0, 256ull << 20);
	memory->free = memory->total - memory->used - memory->reserved;
	return OK;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates)
{
	nvmlReturn_t result = may_ask(device, rates, FAULT_nvml_utilization);

	if (result != OK)
		return result;
	rates->gpu = (unsigned int)number_of(device, "util", 0, 35);
	rates->memory = (unsigned int)number_of(device, "util", 1, 12);
	return OK;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos)
{
	nvmlReturn_t result = may_ask(device, count, FAULT_nvml_processes);
	unsigned int found = 0, room;
	char value[256] = "", *item, *rest;

	if (result != OK)
		return result;
	room = *count;
	(void)text_of(device, "processes", value, sizeof(value));
	for (item = strtok_r(value, "/", &rest); item; item = strtok_r(NULL, "/", &rest), found++) {
		char *bytes = strchr(item, ':');

		if (found < room && infos)
			infos[found] = (nvmlProcessInfo_t){ (unsigned int)atoi(item), bytes ? strtoull(bytes + 1, NULL, 0) : 0, ~0u, ~0u };
	}
	*count = found;
	return found > room ? INSUFFICIENT_SIZE : OK;
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *samples, unsigned int *count,
	unsigned long long since)
{
	nvmlReturn_t result = may_ask(device, count, FAULT_nvml_processes);

	(void)samples, (void)since;
	if (result == OK)
		*count = 0;
	return result ? result : NOT_FOUND;
}

static nvmlReturn_t give_number(nvmlDevice_t device, unsigned int *place, enum fault which, const char *key, int part, unsigned int otherwise)
{
	nvmlReturn_t result = may_ask(device, place, which);

	if (result == OK)
		*place = (unsigned int)number_of(device, key, part, otherwise);
	return result;
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned int *clock)
{
	return type < 0 || type > 3 ? INVALID_ARGUMENT
		: give_number(device, clock, FAULT_nvml_clock, "clock", type == 2, type == 2 ? 1215 : 1410);
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, int type, unsigned int *clock)
{
	return type < 0 || type > 3 ? INVALID_ARGUMENT
		: give_number(device, clock, FAULT_nvml_clock, "max_clock", type == 2, type == 2 ? 2619 : 1980);
}

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *reasons)
{
	nvmlReturn_t result = may_ask(device, reasons, FAULT_nvml_clock);

	if (result == OK)
		*reasons = number_of(device, "reasons", 0, 0);
	return result;
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons)
{
	return nvmlDeviceGetCurrentClocksEventReasons(device, reasons);
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power)
{
	return give_number(device, power, FAULT_nvml_power, "power", 0, 250000);
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *limit)
{
	return give_number(device, limit, FAULT_nvml_power, "power_limit", 0, 400000);
}

/* Grows with time, by the power that is said. */
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *energy)
{
	nvmlReturn_t result = may_ask(device, energy, FAULT_nvml_energy);
	struct timespec time;

	if (result != OK)
		return result;
	clock_gettime(CLOCK_MONOTONIC, &time);
	*energy = number_of(device, "energy", 0,
		(unsigned long long)((double)number_of(device, "power", 0, 250000) * ((double)time.tv_sec + (double)time.tv_nsec / 1e9)));
	return OK;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned int *temperature)
{
	return sensor ? INVALID_ARGUMENT : give_number(device, temperature, FAULT_nvml_temperature, "temperature", 0, 61);
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *temperature)
{
	nvmlReturn_t result = may_ask(device, temperature, FAULT_nvml_temperature);

	if (result != OK)
		return result;
	if (temperature->version != TEMPERATURE_V1)
		return ARGUMENT_VERSION_MISMATCH;
	temperature->temperature = (int)number_of(device, "temperature", 0, 61);
	return OK;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
	switch (result) {
	case 0: return "The operation was successful";
	case 1: return "Uninitialized";
	case 2: return "Invalid Argument";
	case 3: return "Not Supported";
	case 6: return "Not Found";
	case 7: return "Insufficient Size";
	case 9: return "Driver Not Loaded";
	case 15: return "GPU is lost";
	default: return "Unknown Error";
	}
}
