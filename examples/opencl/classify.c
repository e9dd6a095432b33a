/*
 * classify.c - classifies images with a small convolutional network on an OpenCL device.  Slower than it need be.
 *
 *      opencl-classify [--fixed] [--steps N] [--seconds S]
 *      inferscope run opencl-classify
 *
 * A step is a batch of images: three layers and the classes of each pixel, in network.cl.  It is written as one would write it
 * for a single image, convolution, bias and rectifier one after the other, in a loop over the batch: 160 kernels of some
 * microseconds, which take less time than launching them.  With --fixed a layer is one kernel for the whole batch.
 *
 * Weights and images come from a generator with a fixed seed, so the classes mean nothing; the checksum is the same in both
 * forms, bit by bit.  The second last line is the checksum of all results, the last one the time of a step.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "inferscope.h"

enum {
	BATCH = 16,
	SIDE = 16,
	COLORS = 3,
	LAYERS = 3,
	CLASSES = 10,
	SCENE = 64, /* different images */
	STEPS = 1500, /* take about two seconds in the slow form */
};

static const struct {
	int in, out, side, stride; /* channels, and the side of what comes in */
} shapes[LAYERS] = { { COLORS, 8, 16, 2 }, { 8, 8, 8, 2 }, { 8, 8, 4, 1 } };

enum { PIXELS = 4 * 4, CHANNELS = 8, RESULTS = PIXELS * CLASSES };

struct network {
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel convolution, add_bias, rectify, layer, classes;
	cl_mem images, weights[LAYERS], bias[LAYERS], out[LAYERS], head, results;
};

static void must(cl_int rc, const char *what)
{
	if (rc == CL_SUCCESS)
		return;
	fprintf(stderr, "opencl-classify: %s: error %d of OpenCL\n", what, rc);
	exit(1);
}

/* ---- Numbers that look random and are the same everywhere ---- */

static uint32_t mix(uint32_t x)
{
	x = (x ^ x >> 16) * 0x85ebca6bu;
	x = (x ^ x >> 13) * 0xc2b2ae35u;
	return x ^ x >> 16;
}

/* From -scale to scale. */
static void fill(float *values, size_t count, uint32_t seed, float scale)
{
	for (size_t i = 0; i < count; i++)
		values[i] = ((float)(mix(seed << 24 ^ (uint32_t)i) >> 8) / 8388608.0f - 1.0f) * scale;
}

/* CRC-32, as zlib has it, of what came before and these. */
static uint32_t checksum(uint32_t crc, const void *data, size_t size)
{
	static uint32_t table[256];
	const unsigned char *bytes = data;

	for (uint32_t i = 0; i < 256 && !table[255]; i++) {
		uint32_t value = i;

		for (int bit = 0; bit < 8; bit++)
			value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0);
		table[i] = value;
	}
	crc = ~crc;
	for (size_t i = 0; i < size; i++)
		crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 255];
	return ~crc;
}

/* ---- The device ---- */

static char *read_kernels(void)
{
	FILE *file = fopen(KERNELS, "r");
	char *text = calloc(1, 65536);

	if (!file || !text || fread(text, 1, 65535, file) == 0) {
		perror(KERNELS);
		exit(1);
	}
	fclose(file);
	return text;
}

static void build(struct network *n, cl_device_id device)
{
	char *text = read_kernels();
	cl_int rc;

	n->program = clCreateProgramWithSource(n->context, 1, (const char *[]){ text }, NULL, &rc);
	must(rc, "program");
	must(clBuildProgram(n->program, 1, &device, NULL, NULL, NULL), KERNELS);
	free(text);
}

static cl_kernel kernel(const struct network *n, const char *name)
{
	cl_int rc;
	cl_kernel kernel = clCreateKernel(n->program, name, &rc);

	must(rc, name);
	return kernel;
}

static cl_mem buffer(const struct network *n, size_t count)
{
	cl_int rc;
	cl_mem buffer = clCreateBuffer(n->context, CL_MEM_READ_WRITE, count * sizeof(float), NULL, &rc);

	must(rc, "buffer");
	return buffer;
}

static cl_mem filled(const struct network *n, size_t count, uint32_t seed, float scale)
{
	float *values = malloc(count * sizeof *values);
	cl_mem filled = buffer(n, count);

	if (!values)
		exit(1);
	fill(values, count, seed, scale);
	must(clEnqueueWriteBuffer(n->queue, filled, CL_TRUE, 0, count * sizeof *values, values, 0, NULL, NULL), "weights");
	free(values);
	return filled;
}

static void open_network(struct network *n)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int rc;

	must(clGetPlatformIDs(1, &platform, NULL), "no platform");
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "no device");
	n->context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	must(rc, "context");
	n->queue = clCreateCommandQueue(n->context, device, 0, &rc);
	must(rc, "queue");
	build(n, device);
	n->convolution = kernel(n, "convolution");
	n->add_bias = kernel(n, "add_bias");
	n->rectify = kernel(n, "rectify");
	n->layer = kernel(n, "layer");
	n->classes = kernel(n, "classes");
	n->images = buffer(n, BATCH * COLORS * SIDE * SIDE);
	for (int i = 0; i < LAYERS; i++) {
		int side = shapes[i].side / shapes[i].stride;

		n->weights[i] = filled(n, (size_t)shapes[i].out * (size_t)shapes[i].in * 9, 1 + 2 * (uint32_t)i, 0.25f);
		n->bias[i] = filled(n, (size_t)shapes[i].out, 2 + 2 * (uint32_t)i, 0.25f);
		n->out[i] = buffer(n, (size_t)BATCH * (size_t)shapes[i].out * (size_t)(side * side));
	}
	n->head = filled(n, CLASSES * CHANNELS, 7, 0.5f);
	n->results = buffer(n, BATCH * RESULTS);
}

static void close_network(struct network *n)
{
	for (int i = 0; i < LAYERS; i++) {
		clReleaseMemObject(n->weights[i]);
		clReleaseMemObject(n->bias[i]);
		clReleaseMemObject(n->out[i]);
	}
	clReleaseMemObject(n->images);
	clReleaseMemObject(n->head);
	clReleaseMemObject(n->results);
	clReleaseKernel(n->convolution);
	clReleaseKernel(n->add_bias);
	clReleaseKernel(n->rectify);
	clReleaseKernel(n->layer);
	clReleaseKernel(n->classes);
	clReleaseProgram(n->program);
	clReleaseCommandQueue(n->queue);
	clReleaseContext(n->context);
}

/* ---- The network ---- */

static void set(cl_kernel kernel, cl_uint index, cl_mem buffer)
{
	must(clSetKernelArg(kernel, index, sizeof buffer, &buffer), "argument");
}

static void set_int(cl_kernel kernel, cl_uint index, int value)
{
	must(clSetKernelArg(kernel, index, sizeof value, &value), "argument");
}

/* For `count` images from `first` on. */
static void launch(const struct network *n, cl_kernel kernel, size_t pixels, size_t channels, size_t first, size_t count)
{
	must(clEnqueueNDRangeKernel(n->queue, kernel, 3, (size_t[]){ 0, 0, first }, (size_t[]){ pixels, channels, count }, NULL, 0, NULL, NULL),
	     "launch");
}

static cl_mem input_of(const struct network *n, int layer)
{
	return layer ? n->out[layer - 1] : n->images;
}

/* One thing after the other, for one image. */
static void run_layer(const struct network *n, int i, size_t image)
{
	size_t side = (size_t)(shapes[i].side / shapes[i].stride), channels = (size_t)shapes[i].out;

	set(n->convolution, 0, input_of(n, i));
	set(n->convolution, 1, n->weights[i]);
	set(n->convolution, 2, n->out[i]);
	set_int(n->convolution, 3, shapes[i].in);
	set_int(n->convolution, 4, shapes[i].side);
	set_int(n->convolution, 5, shapes[i].stride);
	launch(n, n->convolution, side * side, channels, image, 1);
	set(n->add_bias, 0, n->out[i]);
	set(n->add_bias, 1, n->bias[i]);
	launch(n, n->add_bias, side * side, channels, image, 1);
	set(n->rectify, 0, n->out[i]);
	launch(n, n->rectify, side * side, channels, image, 1);
}

/* All of it at once, for the batch. */
static void run_layer_fixed(const struct network *n, int i)
{
	size_t side = (size_t)(shapes[i].side / shapes[i].stride), channels = (size_t)shapes[i].out;

	set(n->layer, 0, input_of(n, i));
	set(n->layer, 1, n->weights[i]);
	set(n->layer, 2, n->bias[i]);
	set(n->layer, 3, n->out[i]);
	set_int(n->layer, 4, shapes[i].in);
	set_int(n->layer, 5, shapes[i].side);
	set_int(n->layer, 6, shapes[i].stride);
	launch(n, n->layer, side * side, channels, 0, BATCH);
}

static void run_classes(const struct network *n, size_t first, size_t count)
{
	set(n->classes, 0, n->out[LAYERS - 1]);
	set(n->classes, 1, n->head);
	set(n->classes, 2, n->results);
	set_int(n->classes, 3, CHANNELS);
	set_int(n->classes, 4, CLASSES);
	launch(n, n->classes, PIXELS, 1, first, count);
}

static void forward(const struct network *n)
{
	for (size_t image = 0; image < BATCH; image++) {
		for (int i = 0; i < LAYERS; i++)
			run_layer(n, i, image);
		run_classes(n, image, 1);
	}
}

static void forward_fixed(const struct network *n)
{
	for (int i = 0; i < LAYERS; i++)
		run_layer_fixed(n, i);
	run_classes(n, 0, BATCH);
}

/* ---- The program ---- */

static void step(const struct network *n, const float *images, float *results, bool fixed)
{
	inferscope_scope_begin("step");
	must(clEnqueueWriteBuffer(n->queue, n->images, CL_FALSE, 0, BATCH * COLORS * SIDE * SIDE * sizeof(float), images, 0, NULL, NULL), "write");
	inferscope_scope_begin("forward");
	(fixed ? forward_fixed : forward)(n);
	inferscope_scope_end();
	inferscope_scope_begin("read results");
	must(clEnqueueReadBuffer(n->queue, n->results, CL_TRUE, 0, BATCH * RESULTS * sizeof(float), results, 0, NULL, NULL), "read");
	inferscope_scope_end();
	inferscope_scope_end();
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int usage(void)
{
	fputs("usage: opencl-classify [--fixed] [--steps N] [--seconds S]\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	static float scene[SCENE * COLORS * SIDE * SIDE], results[BATCH * RESULTS];
	struct network network = { 0 };
	bool fixed = false;
	long steps = STEPS;
	uint32_t sum = 0;
	double start = 0;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--fixed") == 0)
			fixed = true;
		else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
			steps = atol(argv[++i]);
		else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
			steps = (long)(atof(argv[++i]) / 2 * STEPS);
		else
			return usage();
	}
	steps = steps < 20 ? 20 : steps > 1000000 ? 1000000 : steps;
	fill(scene, SCENE * COLORS * SIDE * SIDE, 0, 1);
	open_network(&network);
	for (long i = 0; i < steps; i++) {
		if (i == steps / 10) /* by then everything has been compiled */
			start = now();
		step(&network, scene + i * BATCH % SCENE * COLORS * SIDE * SIDE, results, fixed);
		sum = checksum(sum, results, sizeof results);
	}
	printf("checksum %08x\n%.3f ms per step\n", sum, (now() - start) / (double)(steps - steps / 10) * 1e3);
	close_network(&network);
	return 0;
}
