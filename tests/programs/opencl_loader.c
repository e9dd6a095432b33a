/*
 * opencl_loader.c - what a newer loader of OpenCL does with a layer, and a program on top of it.
 *
 *      opencl_loader DRIVER [LAYER]
 *
 * The driver's own table is what the layer gets; the program calls what the
 * layer gives for it, by the entry that Khronos' loader calls since 2026.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define N 4096u
#define ENTRIES (cl_uint)(offsetof(struct _cl_icd_dispatch, clCreateImageWithProperties) / sizeof(void *) + 1)

#define NEED(what)                                                                         \
	do {                                                                               \
		if (!(what)) {                                                             \
			fprintf(stderr, "opencl_loader: line %d: %s\n", __LINE__, #what);  \
			exit(1);                                                           \
		}                                                                          \
	} while (0)
#define TRY(call) NEED((call) == CL_SUCCESS)

typedef void *(CL_API_CALL *address_function)(const char *);
typedef cl_int(CL_API_CALL *platforms_function)(cl_uint, cl_platform_id *, cl_uint *);
typedef cl_int(CL_API_CALL *init_function)(cl_uint, const cl_icd_dispatch *, cl_uint *, const cl_icd_dispatch **, const cl_ulong *);
typedef cl_int(CL_API_CALL *deinit_function)(void);

/* What every object of a driver begins with. */
static const cl_icd_dispatch *load_driver(const char *path, cl_platform_id *ret_platform)
{
	void *driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	address_function address;
	platforms_function platforms;

	NEED(driver);
	address = (address_function)dlsym(driver, "clGetExtensionFunctionAddress");
	NEED(address);
	platforms = (platforms_function)address("clIcdGetPlatformIDsKHR");
	NEED(platforms);
	TRY(platforms(1, ret_platform, NULL));
	return *(const cl_icd_dispatch *const *)(const void *)*ret_platform;
}

static const cl_icd_dispatch *load_layer(void *layer, const cl_icd_dispatch *target)
{
	init_function init = (init_function)dlsym(layer, "clInitLayerWithProperties");
	const cl_icd_dispatch *table = NULL;
	cl_ulong properties[] = { 0 };
	cl_uint count = 0;

	NEED(init);
	TRY(init(ENTRIES, target, &count, &table, properties));
	NEED(count == ENTRIES);
	return table;
}

static cl_kernel make_kernel(const cl_icd_dispatch *cl, cl_context context, cl_device_id device, cl_mem buffer)
{
	const char *source = "__kernel void add(__global float *a, float f) { a[get_global_id(0)] += f; }\n";
	cl_float f = 0.5f;
	cl_program program;
	cl_kernel kernel;
	cl_int rc;

	program = cl->clCreateProgramWithSource(context, 1, &source, NULL, &rc);
	TRY(rc);
	TRY(cl->clBuildProgram(program, 1, &device, "", NULL, NULL));
	kernel = cl->clCreateKernel(program, "add", &rc);
	TRY(rc);
	TRY(cl->clReleaseProgram(program));
	TRY(cl->clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
	TRY(cl->clSetKernelArg(kernel, 1, sizeof f, &f));
	return kernel;
}

static void run(const cl_icd_dispatch *cl, cl_platform_id platform)
{
	static float host[N];
	size_t global = N, local = 64;
	cl_command_queue queue;
	cl_context context;
	cl_device_id device;
	cl_kernel kernel;
	double sum = 0;
	cl_mem buffer;
	cl_int rc;

	TRY(cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = cl->clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	TRY(rc);
	queue = cl->clCreateCommandQueue(context, device, 0, &rc);
	TRY(rc);
	buffer = cl->clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof host, NULL, &rc);
	TRY(rc);
	kernel = make_kernel(cl, context, device, buffer);
	TRY(cl->clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL));
	for (int i = 0; i < 5; i++)
		TRY(cl->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
	TRY(cl->clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL));
	for (size_t i = 0; i < N; i++)
		sum += host[i];
	printf("sum %g\n", sum);
	TRY(cl->clReleaseKernel(kernel));
	TRY(cl->clReleaseMemObject(buffer));
	TRY(cl->clReleaseCommandQueue(queue));
	TRY(cl->clReleaseContext(context));
}

int main(int argc, char **argv)
{
	void *layer = argc > 2 ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : NULL;
	const cl_icd_dispatch *table;
	cl_platform_id platform;

	NEED(argc == 2 || layer);
	table = load_driver(argv[1], &platform);
	run(layer ? load_layer(layer, table) : table, platform);
	if (layer)
		TRY(((deinit_function)dlsym(layer, "clDeinitLayer"))());
	return 0;
}
