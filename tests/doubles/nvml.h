/* The part of NVML that the doubles have, written by hand after the real headers. */
#ifndef DOUBLES_NVML_H
#define DOUBLES_NVML_H

#include <stdint.h>

#ifndef DOUBLES_EXPORT
#define DOUBLES_EXPORT __attribute__((visibility("default")))
#endif

typedef int nvmlReturn_t;
typedef struct nvmlDevice_st *nvmlDevice_t;

typedef struct { unsigned long long total, free, used; } nvmlMemory_t;
typedef struct { unsigned int version; unsigned long long total, reserved, free, used; } nvmlMemory_v2_t;
typedef struct { unsigned int gpu, memory; } nvmlUtilization_t;
typedef struct { unsigned int pid; unsigned long long usedGpuMemory; unsigned int gpuInstanceId, computeInstanceId; } nvmlProcessInfo_t;
typedef struct { unsigned int pid; unsigned long long timeStamp; unsigned int smUtil, memUtil, encUtil, decUtil; }
	nvmlProcessUtilizationSample_t;
typedef struct { unsigned int version; int sensorType, temperature; } nvmlTemperature_t;
typedef struct { char busIdLegacy[16]; unsigned int domain, bus, device, pciDeviceId, pciSubSystemId; char busId[32]; } nvmlPciInfo_t;

#define N(name, parameters) DOUBLES_EXPORT nvmlReturn_t name parameters;
N(nvmlInit_v2, (void))
N(nvmlInitWithFlags, (unsigned int flags))
N(nvmlShutdown, (void))
N(nvmlSystemGetDriverVersion, (char *text, unsigned int length))
N(nvmlSystemGetNVMLVersion, (char *text, unsigned int length))
N(nvmlSystemGetCudaDriverVersion_v2, (int *version))
N(nvmlDeviceGetCount_v2, (unsigned int *count))
N(nvmlDeviceGetHandleByIndex_v2, (unsigned int index, nvmlDevice_t *device))
N(nvmlDeviceGetHandleByUUID, (const char *uuid, nvmlDevice_t *device))
N(nvmlDeviceGetHandleByPciBusId_v2, (const char *id, nvmlDevice_t *device))
N(nvmlDeviceGetIndex, (nvmlDevice_t device, unsigned int *index))
N(nvmlDeviceGetName, (nvmlDevice_t device, char *text, unsigned int length))
N(nvmlDeviceGetUUID, (nvmlDevice_t device, char *text, unsigned int length))
N(nvmlDeviceGetPciInfo_v3, (nvmlDevice_t device, nvmlPciInfo_t *info))
N(nvmlDeviceGetMemoryInfo, (nvmlDevice_t device, nvmlMemory_t *memory))
N(nvmlDeviceGetMemoryInfo_v2, (nvmlDevice_t device, nvmlMemory_v2_t *memory))
N(nvmlDeviceGetUtilizationRates, (nvmlDevice_t device, nvmlUtilization_t *rates))
N(nvmlDeviceGetComputeRunningProcesses_v3, (nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos))
N(nvmlDeviceGetProcessUtilization, (nvmlDevice_t device, nvmlProcessUtilizationSample_t *samples, unsigned int *count,
	unsigned long long since))
N(nvmlDeviceGetClockInfo, (nvmlDevice_t device, int type, unsigned int *clock))
N(nvmlDeviceGetMaxClockInfo, (nvmlDevice_t device, int type, unsigned int *clock))
N(nvmlDeviceGetCurrentClocksEventReasons, (nvmlDevice_t device, unsigned long long *reasons))
N(nvmlDeviceGetCurrentClocksThrottleReasons, (nvmlDevice_t device, unsigned long long *reasons))
N(nvmlDeviceGetPowerUsage, (nvmlDevice_t device, unsigned int *power))
N(nvmlDeviceGetEnforcedPowerLimit, (nvmlDevice_t device, unsigned int *limit))
N(nvmlDeviceGetTotalEnergyConsumption, (nvmlDevice_t device, unsigned long long *energy))
N(nvmlDeviceGetTemperature, (nvmlDevice_t device, int sensor, unsigned int *temperature))
N(nvmlDeviceGetTemperatureV, (nvmlDevice_t device, nvmlTemperature_t *temperature))
#undef N
DOUBLES_EXPORT const char *nvmlErrorString(nvmlReturn_t result);

#endif
