/*
 * nvml.h - what the driver says about NVIDIA's GPUs, through its management library (libnvidia-ml).
 *
 *      struct nvml *nvml;
 *      nvml_open(&nvml, &err);
 *      for (uint32_t i = 0; i < nvml_count(nvml); i++)
 *              nvml_look(nvml, i, &look);
 *      nvml_close(nvml);
 *
 * Nothing of NVIDIA's is needed to build this, and every function of the library
 * may be missing.  What a GPU does not tell is absent, never 0.  A call can take
 * milliseconds, and code of somebody else runs: use it in a process of its own.
 */
#ifndef SYSTEM_NVML_H
#define SYSTEM_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define NVML_DEVICES 64u   /* more are not looked at */
#define NVML_PROCESSES 96u /* of a GPU; of more, none is told */
#define NVML_TEXT 96u      /* bytes of a name or a UUID, with the NUL */

enum nvml_value {
	NVML_MEMORY_USED,        /* bytes, what the driver keeps for itself excepted where it tells */
	NVML_MEMORY_TOTAL,
	NVML_UTILIZATION,        /* percent of the time in which any kernel ran, of late */
	NVML_MEMORY_UTILIZATION, /* in which memory was read or written */
	NVML_SM_CLOCK,           /* MHz */
	NVML_SM_CLOCK_LIMIT,
	NVML_MEMORY_CLOCK,
	NVML_MEMORY_CLOCK_LIMIT,
	NVML_CLOCK_REASONS,      /* bits: why the clock is lower than it could be, as NVML numbers them */
	NVML_POWER,              /* mW */
	NVML_POWER_LIMIT,
	NVML_ENERGY,             /* mJ since the driver was loaded */
	NVML_TEMPERATURE,        /* degrees Celsius */
	NVML_VALUE_COUNT
};
/* As counters of a trace are called. */
const char *nvml_value_name(enum nvml_value value);
/* Set by somebody, not measured. */
bool nvml_value_is_limit(enum nvml_value value);

struct nvml_process {
	uint32_t pid;
	uint32_t known; /* whether its memory is */
	uint64_t bytes;
};

/* A GPU at one time. */
struct nvml_look {
	uint32_t present; /* bit n: value n is known */
	uint32_t processes_known;
	uint32_t process_count;
	uint64_t values[NVML_VALUE_COUNT];
	struct nvml_process processes[NVML_PROCESSES];
};

struct nvml;

/* Loads the library and asks which GPUs there are.  Fails with the reason in words. */
int nvml_open(struct nvml **ret, struct error *err);
/* The same with functions from elsewhere, for tests; find() returns NULL for one that is missing. */
int nvml_open_with(struct nvml **ret, void *(*find)(void *arg, const char *name), void *arg, struct error *err);
void nvml_close(struct nvml *nvml);

uint32_t nvml_count(const struct nvml *nvml);
/* Both are "" where they are not told; printable. */
const char *nvml_uuid(const struct nvml *nvml, uint32_t device);
const char *nvml_name(const struct nvml *nvml, uint32_t device);

/* -ENODEV, with the reason, when there is no use in asking this GPU again; -ENODATA when it told nothing at all. */
int nvml_look(const struct nvml *nvml, uint32_t device, struct nvml_look *ret, struct error *err);

#endif
