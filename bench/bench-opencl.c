/*
 * bench-opencl.c - what putting an empty kernel into a queue of OpenCL costs the thread that does it.
 *
 *      bench-opencl [EVENTS]
 *
 * A launch is clSetKernelArg() and clEnqueueNDRangeKernel(), in an in-order
 * queue, in batches of 1000 with a clFinish() between them that is not timed.
 * With EVENTS 1 the program asks for the event of each launch and releases it
 * after the batch, as frameworks do.  Bare and under `inferscope run` it takes
 * turns (turns.py): the difference is what recording costs.  Some batches
 * whenever a line comes in, and their median and least in ns a launch:
 *
 *      {"issue_ns": 301.2, "issue_least_ns": 280.1}
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH 1000
#define BATCHES 50 /* a turn */

struct bench {
	cl_command_queue queue;
	cl_kernel kernel;
	cl_event *events; /* NULL: none are asked for */
};

static double now(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int set_up(struct bench *b)
{
	static const char *source = "__kernel void empty(float f) {}";
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_program program;
	cl_int rc;

	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return -1;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	if (rc != CL_SUCCESS)
		return -1;
	b->queue = clCreateCommandQueue(context, device, 0, &rc);
	program = clCreateProgramWithSource(context, 1, &source, NULL, &rc);
	if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS)
		return -1;
	b->kernel = clCreateKernel(program, "empty", &rc);
	return b->queue && b->kernel ? 0 : -1;
}

static void issue(struct bench *b)
{
	const float f = 1.5f;
	const size_t one = 1;

	for (size_t i = 0; i < BATCH; i++) {
		clSetKernelArg(b->kernel, 0, sizeof f, &f);
		clEnqueueNDRangeKernel(b->queue, b->kernel, 1, NULL, &one, &one, 0, NULL, b->events ? &b->events[i] : NULL);
	}
}

static void end_batch(struct bench *b)
{
	clFinish(b->queue);
	for (size_t i = 0; b->events && i < BATCH; i++)
		clReleaseEvent(b->events[i]);
}

static double measure(struct bench *b)
{
	double begin = now(CLOCK_MONOTONIC), end;

	issue(b);
	end = now(CLOCK_MONOTONIC);
	end_batch(b);
	return (end - begin) / BATCH;
}

static void take_turn(struct bench *b)
{
	double issued[BATCHES];

	for (size_t i = 0; i < BATCHES; i++)
		issued[i] = measure(b);
	qsort(issued, BATCHES, sizeof *issued, by_size);
	printf("{\"issue_ns\": %.1f, \"issue_least_ns\": %.1f}\n", issued[BATCHES / 2], issued[0]);
}

int main(int argc, char **argv)
{
	static cl_event events[BATCH];
	struct bench b = { .events = argc > 1 && atoi(argv[1]) ? events : NULL };
	char line[80];

	setlinebuf(stdout);
	if (set_up(&b) != 0) {
		fprintf(stderr, "bench-opencl: no device\n");
		return 1;
	}
	for (size_t i = 0; i < 3; i++) /* the first compiles */
		(void)measure(&b);
	puts("{}");
	while (fgets(line, sizeof line, stdin))
		take_turn(&b);
	return 0;
}
