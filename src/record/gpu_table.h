/*
 * gpu_table.h - the GPUs as they were when the driver was last asked (gpu_sampler.h).
 */
#ifndef RECORD_GPU_TABLE_H
#define RECORD_GPU_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/gpu_sampler.h"

#define GPU_WHY_SIZE 200u

struct gpu_row {
	bool there;  /* uuid and name are known */
	bool looked; /* and so is how it is */
	bool used;   /* by the program; for who knows that to say */
	char uuid[NVML_TEXT], name[NVML_TEXT];
	struct nvml_look look;
};

struct gpu_table {
	struct gpu_row gpus[NVML_DEVICES]; /* as the driver numbers them */
	bool told; /* by a door, since the driver could not be asked from outside */
	char why[GPU_WHY_SIZE]; /* why there is nothing, or nothing more, of some or all GPUs: a sentence; "" */
};

void gpu_table_take(struct gpu_table *table, const struct gpu_packet *packet);

#endif
