/*
 * gpu_sampler.h - a process that asks the driver about its GPUs, every 200 ms at most (system/nvml.h).
 *
 * Code of somebody else runs there, which may take its time, wait for ever or
 * crash; none of that is to happen in the recorder.  What it finds out comes
 * through a pipe in packets.
 */
#ifndef RECORD_GPU_SAMPLER_H
#define RECORD_GPU_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "system/nvml.h"

#define GPU_SAMPLE_NS 200000000

enum gpu_packet_kind {
	GPU_PACKET_STATUS, /* why there will be nothing more of this GPU, or, with the number NVML_DEVICES, of any */
	GPU_PACKET_DEVICE, /* a GPU; before its samples */
	GPU_PACKET_SAMPLE,
};

struct gpu_packet {
	uint32_t kind;
	uint32_t device;
	uint64_t time; /* ticks; the middle of the look */
	union {
		char status[200];
		struct {
			char uuid[NVML_TEXT], name[NVML_TEXT];
		} about;
		struct nvml_look look;
	} u;
};

struct gpu_sampler {
	int fd;    /* our end of the pipe; -1: there is no such process (any more) */
	int pidfd; /* -1: there is none */
	pid_t pid;
};
#define GPU_SAMPLER_INIT { -1, -1, 0 }

int gpu_sampler_start(struct gpu_sampler *sampler, enum clock_source clock);
/* The next packet, checked; false when there is none for the moment. */
bool gpu_sampler_take(struct gpu_sampler *sampler, struct gpu_packet *ret);
/* Ends the process, whatever it is doing. */
void gpu_sampler_stop(struct gpu_sampler *sampler);

#endif
