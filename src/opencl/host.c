/* host.c - calls in which the program waits or compiles. */
#include "opencl/opencl.h"

static CL_API_ENTRY cl_int CL_API_CALL finish(cl_command_queue handle)
{
	struct opencl_queue *queue = opencl_queue_find(handle);
	uint64_t begin;
	cl_int rc;

	opencl_harvest_ahead(queue);
	begin = opencl_now();
	rc = opencl_next.clFinish(handle);
	opencl_call_returned(CALL_FINISH, begin, 0);
	if (queue)
		opencl_harvest_waited(queue);
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL flush(cl_command_queue handle)
{
	uint64_t begin = opencl_now();
	cl_int rc = opencl_next.clFlush(handle);

	opencl_call_returned(CALL_FLUSH, begin, 0);
	return rc;
}

/* Those of one queue mostly stand together. */
static void each_queue(cl_uint count, const cl_event *events, void (*see)(struct opencl_queue *queue))
{
	struct opencl_queue *last = NULL;

	for (cl_uint i = 0; events && i < count; i++) {
		struct opencl_queue *queue = events[i] ? opencl_queue_of(events[i], NULL) : NULL;

		if (queue && queue != last)
			see(queue);
		last = queue ? queue : last;
	}
}

static CL_API_ENTRY cl_int CL_API_CALL wait_for(cl_uint count, const cl_event *events)
{
	uint64_t begin;
	cl_int rc;

	if (opencl_recording())
		each_queue(count, events, opencl_harvest_ahead);
	begin = opencl_now();
	rc = opencl_next.clWaitForEvents(count, events);
	opencl_call_returned(CALL_WAIT, begin, 0);
	if (rc == CL_SUCCESS)
		each_queue(count, events, opencl_harvest_waited);
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
					      void(CL_CALLBACK *done)(cl_program, void *), void *data)
{
	uint64_t begin = opencl_now();
	cl_int rc;

	opencl_kernel_built(program);
	rc = opencl_next.clBuildProgram(program, count, devices, options, done, data);
	opencl_call_returned(CALL_BUILD, begin, 0);
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL compile(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
						cl_uint headers, const cl_program *header, const char **names,
						void(CL_CALLBACK *done)(cl_program, void *), void *data)
{
	uint64_t begin = opencl_now();
	cl_int rc = opencl_next.clCompileProgram(program, count, devices, options, headers, header, names, done, data);

	opencl_call_returned(CALL_COMPILE, begin, 0);
	return rc;
}

static CL_API_ENTRY cl_program CL_API_CALL link_program(cl_context context, cl_uint count, const cl_device_id *devices, const char *options,
							 cl_uint programs, const cl_program *inputs,
							 void(CL_CALLBACK *done)(cl_program, void *), void *data, cl_int *ret_error)
{
	uint64_t begin = opencl_now();
	cl_program linked = opencl_next.clLinkProgram(context, count, devices, options, programs, inputs, done, data, ret_error);

	opencl_kernel_built(linked);
	opencl_call_returned(CALL_LINK, begin, 0);
	return linked;
}

void opencl_host_wrap(struct _cl_icd_dispatch *table)
{
	OPENCL_WRAP(clFinish, finish);
	OPENCL_WRAP(clFlush, flush);
	OPENCL_WRAP(clWaitForEvents, wait_for);
	OPENCL_WRAP(clBuildProgram, build);
	OPENCL_WRAP(clCompileProgram, compile);
	OPENCL_WRAP(clLinkProgram, link_program);
}
