/* opencl_calls.h - what the parts of the test program `opencl_calls` share. */
#ifndef OPENCL_CALLS_H
#define OPENCL_CALLS_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Everything here is expected to work. */
#define TRY(call)                                                                                     \
	do {                                                                                          \
		cl_int rc_ = (call);                                                                  \
		if (rc_ != CL_SUCCESS) {                                                              \
			fprintf(stderr, "opencl_calls: %s:%d: %s: %d\n", __FILE__, __LINE__, #call, rc_); \
			exit(1);                                                                      \
		}                                                                                     \
	} while (0)

struct world {
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_program program;
	cl_kernel scale, work, empty;
	cl_command_queue queue;
};

#define N 65536u

void world_make(struct world *w, cl_command_queue_properties properties);
void world_end(struct world *w);
void program_make(struct world *w); /* w->program, anew */
cl_kernel kernel_make(const struct world *w, const char *name);
cl_command_queue queue_make(const struct world *w, cl_command_queue_properties properties);
cl_mem buffer_make(const struct world *w, cl_mem_flags flags, size_t size);
/* A launch of `work` with so many rounds on N elements, or of `scale` on them. */
void launch_work(const struct world *w, cl_command_queue queue, cl_mem buffer, cl_int rounds, cl_uint waits, const cl_event *list, cl_event *event);
void launch_scale(const struct world *w, cl_command_queue queue, cl_mem buffer, cl_float factor);

int calls_kinds(void);
int calls_svm(void);
int calls_batch(void);
int calls_batches(int count);
int calls_usm(void);
int calls_share(void);
int calls_queue_khr(void);
int calls_busy(cl_command_queue_properties properties);
int calls_gaps(void);
int calls_view(cl_command_queue_properties properties);
int calls_released(void);
int calls_threads(void);
int calls_waits(cl_command_queue_properties properties);
int calls_memory(void);
int calls_parts(void);
int calls_contexts(void);
int calls_queues(int count);
int calls_requests(int count);
int calls_children(const char *self);
int calls_endless(void);
int calls_surprise(void);
int calls_polled(int shorter);
int calls_unfinished(void);
int calls_exit(void);
int calls_arguments(void);
int calls_flood(int count, cl_command_queue_properties properties);
int calls_kernels(int count);
int calls_fresh(void);
int calls_shared(cl_command_queue_properties properties);

#endif
