/* opencl_scenes.c - what programs do with queues, events and memory; see opencl_calls.c. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "opencl_calls.h"

static double sum_of(const float *values)
{
	double sum = 0;

	for (size_t i = 0; i < N; i++)
		sum += values[i];
	return sum;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* ---- Its own profiling: a line for each command, with the times of its event --------------- */

#define ROUNDS 200
#define EVENTS (3 * ROUNDS)

static void print_event(cl_event event)
{
	cl_ulong start, end;
	cl_command_type type;

	TRY(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
	TRY(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL));
	TRY(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL));
	printf("event %#x %llu %llu\n", type, (unsigned long long)start, (unsigned long long)end);
	TRY(clReleaseEvent(event));
}

int calls_busy(cl_command_queue_properties properties)
{
	static float host[N];
	static cl_event events[EVENTS];
	struct world w;
	cl_mem buffer;
	size_t n = 0;

	world_make(&w, properties);
	buffer = buffer_make(&w, CL_MEM_READ_WRITE, sizeof host);
	TRY(clEnqueueWriteBuffer(w.queue, buffer, CL_TRUE, 0, sizeof host, host, 0, NULL, &events[n++]));
	for (int i = 0; i < ROUNDS; i++) {
		launch_work(&w, w.queue, buffer, 50, 0, NULL, &events[n++]);
		if (i % 4 == 3)
			TRY(clEnqueueReadBuffer(w.queue, buffer, CL_TRUE, 0, sizeof host, host, 0, NULL, &events[n++]));
		if (i % 40 == 39)
			pause_ms(1);
	}
	TRY(clFinish(w.queue));
	for (size_t i = 0; i < n; i++)
		print_event(events[i]);
	TRY(clReleaseMemObject(buffer));
	world_end(&w);
	return 0;
}

/* ---- Why its device has nothing to do: a line for each time, with the end of the kernel before and the start of the one after ---- */

#define ROUNDS_OF_GAPS 6u

enum gap { GAP_HOST, GAP_SYNC, GAP_SLEEP, GAP_DEPENDENCY, GAPS };

static void spin_ms(double ms)
{
	double end = seconds() + ms / 1e3;

	while (seconds() < end)
		;
}

/* By the clock that PoCL has, too. */
static cl_ulong raw_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (cl_ulong)ts.tv_sec * 1000000000u + (cl_ulong)ts.tv_nsec;
}

/* Two kernels, and 25 ms between them.  When it began to wait for the first, if it does. */
static cl_ulong make_gap(const struct world *w, cl_mem buffer, enum gap gap, cl_event *before, cl_event *after)
{
	cl_event user = NULL;
	cl_ulong asked;
	cl_int rc;

	launch_work(w, w->queue, buffer, gap == GAP_SYNC ? 100 : 10, 0, NULL, before);
	asked = raw_ns();
	TRY(gap == GAP_SYNC ? clFinish(w->queue) : clFlush(w->queue));
	if (gap == GAP_DEPENDENCY) {
		user = clCreateUserEvent(w->context, &rc);
		TRY(rc);
		launch_work(w, w->queue, buffer, 10, 1, &user, after);
		TRY(clFlush(w->queue));
	}
	if (gap == GAP_HOST || gap == GAP_SYNC)
		spin_ms(25);
	else
		pause_ms(25);
	if (!user) {
		launch_work(w, w->queue, buffer, 10, 0, NULL, after);
		return asked;
	}
	TRY(clSetUserEventStatus(user, CL_COMPLETE));
	TRY(clReleaseEvent(user));
	return asked;
}

static cl_ulong profiled(cl_event event, cl_profiling_info what)
{
	cl_ulong time;

	TRY(clGetEventProfilingInfo(event, what, sizeof time, &time, NULL));
	return time;
}

int calls_gaps(void)
{
	static const char *const names[GAPS] = { "host_late", "sync", "no_work", "dependency" };
	static cl_event before[ROUNDS_OF_GAPS * GAPS], after[ROUNDS_OF_GAPS * GAPS];
	cl_ulong asked[ROUNDS_OF_GAPS * GAPS];
	struct world w;
	cl_mem buffer;

	world_make(&w, CL_QUEUE_PROFILING_ENABLE);
	buffer = buffer_make(&w, CL_MEM_READ_WRITE, N * 4);
	for (unsigned i = 0; i < ROUNDS_OF_GAPS * GAPS; i++)
		asked[i] = make_gap(&w, buffer, i % GAPS, &before[i], &after[i]);
	TRY(clFinish(w.queue));
	for (unsigned i = 0; i < ROUNDS_OF_GAPS * GAPS; i++) {
		cl_ulong end = profiled(before[i], CL_PROFILING_COMMAND_END), start = profiled(after[i], CL_PROFILING_COMMAND_START);
		bool ended_before = i % GAPS == GAP_SYNC && end < asked[i]; /* there was nothing to wait for */

		printf("gap %s %llu %llu\n", names[ended_before ? GAP_HOST : i % GAPS], (unsigned long long)end, (unsigned long long)start);
		TRY(clReleaseEvent(before[i]));
		TRY(clReleaseEvent(after[i]));
	}
	TRY(clReleaseMemObject(buffer));
	world_end(&w);
	return 0;
}

/* ---- What it sees of itself: the same whether or not it is recorded ------------------------- */

static int order[8], called;

static void CL_CALLBACK note_order(cl_event event, cl_int status, void *number)
{
	(void)event;
	(void)status;
	order[__atomic_fetch_add(&called, 1, __ATOMIC_SEQ_CST) % 8] = *(int *)number;
}

static void print_queue(const char *what, cl_command_queue queue)
{
	cl_command_queue_properties properties = 99;
	cl_queue_properties list[16] = { 0 };
	size_t size = 99;
	cl_uint count = 99;
	cl_int rc;

	TRY(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL));
	TRY(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, NULL));
	printf("%s properties %llu references %u", what, (unsigned long long)properties, count);
	rc = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &size);
	printf(" list %d size %zu:", rc, size);
	for (size_t i = 0; rc == CL_SUCCESS && i < size / sizeof *list; i++)
		printf(" %llu", (unsigned long long)list[i]);
	rc = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, 1, list, NULL);
	printf(" short %d\n", rc);
}

static void print_lists(const struct world *w)
{
	cl_queue_properties none[] = { 0 }, profiled[] = { CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0 };
	cl_queue_properties plain[] = { CL_QUEUE_PROPERTIES, 0, 0 }, wrong[] = { 12345, 1, 0 };
	const cl_queue_properties *lists[] = { NULL, none, profiled, plain };
	cl_command_queue queue;
	cl_int rc;

	for (size_t i = 0; i < 4; i++) {
		queue = clCreateCommandQueueWithProperties(w->context, w->device, lists[i], &rc);
		TRY(rc);
		print_queue("made with a list", queue);
		TRY(clReleaseCommandQueue(queue));
	}
	queue = clCreateCommandQueueWithProperties(w->context, w->device, wrong, &rc);
	printf("wrong list %d %d\n", queue != NULL, rc);
	queue = clCreateCommandQueue(w->context, w->device, (cl_command_queue_properties)1 << 40, &rc);
	printf("wrong properties %d %d\n", queue != NULL, rc);
}

static void print_references(const char *what, cl_event event)
{
	cl_uint count = 99;
	cl_ulong time;

	TRY(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof count, &count, NULL));
	printf("%s references %u profiling %d\n", what, count,
	       clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, NULL));
}

/* Of a queue that is gone: its profiling is what it was, whatever other queues there are then. */
static void print_profiling(const struct world *w, cl_command_queue_properties properties)
{
	cl_command_queue queue = queue_make(w, properties), others[20];
	cl_mem buffer = buffer_make(w, CL_MEM_READ_WRITE, 64);
	cl_event event;
	cl_ulong time;

	TRY(clRetainCommandQueue(queue));
	TRY(clReleaseCommandQueue(queue));
	TRY(clEnqueueFillBuffer(queue, buffer, &(cl_float){ 0 }, 4, 0, 64, 0, NULL, &event));
	TRY(clFinish(queue));
	pause_ms(5);
	TRY(clReleaseCommandQueue(queue));
	printf("profiling of a queue that is gone: %d", clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, NULL));
	for (int i = 0; i < 20; i++)
		others[i] = queue_make(w, CL_QUEUE_PROFILING_ENABLE - properties);
	printf(", and later: %d\n", clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, NULL));
	for (int i = 0; i < 20; i++)
		TRY(clReleaseCommandQueue(others[i]));
	TRY(clReleaseEvent(event));
	TRY(clReleaseMemObject(buffer));
}

int calls_released(void)
{
	struct world w;

	world_make(&w, 0);
	print_profiling(&w, 0);
	print_profiling(&w, CL_QUEUE_PROFILING_ENABLE);
	world_end(&w);
	return 0;
}

int calls_view(cl_command_queue_properties properties)
{
	static float host[N];
	static int numbers[] = { 0, 1, 2 };
	struct world w;
	cl_event event, user;
	cl_mem buffer;
	cl_uint count = 99;
	cl_int rc;

	world_make(&w, properties);
	print_queue("new", w.queue);
	print_lists(&w);
	buffer = buffer_make(&w, CL_MEM_READ_WRITE, sizeof host);
	user = clCreateUserEvent(w.context, &rc);
	TRY(rc);
	TRY(clEnqueueWriteBuffer(w.queue, buffer, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL));
	launch_work(&w, w.queue, buffer, 10, 1, &user, &event);
	for (int i = 0; i < 3; i++)
		TRY(clSetEventCallback(event, CL_COMPLETE, note_order, &numbers[i]));
	TRY(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof count, &count, NULL));
	printf("waiting, held by the driver %d\n", count > 0);
	TRY(clRetainEvent(event));
	TRY(clReleaseEvent(event));
	TRY(clSetUserEventStatus(user, CL_COMPLETE));
	TRY(clFinish(w.queue));
	while (__atomic_load_n(&called, __ATOMIC_SEQ_CST) < 3)
		pause_ms(1);
	pause_ms(20);
	printf("callbacks %d %d %d\n", order[0], order[1], order[2]);
	print_references("ended", event);
	print_references("user", user);
	for (int i = 0; i < 20; i++) {
		launch_scale(&w, w.queue, buffer, 1.01f);
		TRY(clEnqueueBarrierWithWaitList(w.queue, 0, NULL, NULL));
	}
	TRY(clEnqueueReadBuffer(w.queue, buffer, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL));
	TRY(clFinish(w.queue));
	pause_ms(20);
	print_queue("used", w.queue);
	printf("sum %.17g\n", sum_of(host));
	TRY(clReleaseEvent(event));
	TRY(clReleaseEvent(user));
	TRY(clReleaseMemObject(buffer));
	world_end(&w);
	return 0;
}

/* ---- Two threads, each with a context and two queues ------------------------------------------ */

static void *one_thread(void *ret_sum)
{
	static _Thread_local float host[N], more[N];
	struct world w;
	cl_command_queue other;
	cl_mem a, b;

	world_make(&w, 0);
	other = queue_make(&w, 0);
	a = buffer_make(&w, CL_MEM_READ_WRITE, sizeof host);
	b = buffer_make(&w, CL_MEM_READ_WRITE, sizeof host);
	TRY(clEnqueueWriteBuffer(w.queue, a, CL_FALSE, 0, sizeof host, host, 0, NULL, NULL));
	TRY(clEnqueueWriteBuffer(other, b, CL_FALSE, 0, sizeof more, more, 0, NULL, NULL));
	for (int i = 0; i < 100; i++) {
		launch_scale(&w, w.queue, a, 1.01f);
		launch_work(&w, other, b, 10, 0, NULL, NULL);
	}
	TRY(clEnqueueReadBuffer(w.queue, a, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL));
	*(double *)ret_sum = sum_of(host);
	TRY(clEnqueueReadBuffer(other, b, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL));
	*(double *)ret_sum += sum_of(host);
	TRY(clReleaseMemObject(a));
	TRY(clReleaseMemObject(b));
	TRY(clReleaseCommandQueue(other));
	world_end(&w);
	return NULL;
}

int calls_threads(void)
{
	pthread_t threads[2];
	struct world first;
	double sums[2];

	world_make(&first, 0); /* PoCL is not made to be started by two threads at once */
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, one_thread, &sums[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("sum %.17g %.17g\n", sums[0], sums[1]);
	world_end(&first);
	return 0;
}

/* ---- Four threads with one queue ----------------------------------------------------------------- */

static void *use_queue(void *world)
{
	const struct world *w = world;
	const cl_float f = 1;
	const size_t one = 1;
	cl_event event;
	cl_int rc;
	cl_kernel kernel = clCreateKernel(w->program, "empty", &rc);

	TRY(rc);
	TRY(clSetKernelArg(kernel, 0, sizeof f, &f));
	for (int i = 0; i < 500; i++) {
		TRY(clEnqueueNDRangeKernel(w->queue, kernel, 1, NULL, &one, &one, 0, NULL, i % 3 ? NULL : &event));
		if (i % 50 == 0)
			TRY(clFinish(w->queue));
		if (i % 9 == 0)
			TRY(clWaitForEvents(1, &event));
		if (i % 3 == 0)
			TRY(clReleaseEvent(event));
	}
	TRY(clReleaseKernel(kernel));
	return NULL;
}

int calls_shared(cl_command_queue_properties properties)
{
	pthread_t threads[4];
	struct world w;

	world_make(&w, properties);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, use_queue, &w);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	TRY(clFinish(w.queue));
	world_end(&w);
	puts("done");
	return 0;
}

/* ---- A queue waits for another one, and for the program ------------------------------------------ */

int calls_waits(cl_command_queue_properties properties)
{
	struct world w;
	cl_command_queue other;
	cl_event user, first, second, all[2];
	cl_mem buffer;
	cl_int rc;

	world_make(&w, properties);
	other = queue_make(&w, properties);
	buffer = buffer_make(&w, CL_MEM_READ_WRITE, N * 4);
	TRY(clEnqueueFillBuffer(w.queue, buffer, &(cl_float){ 0 }, 4, 0, N * 4, 0, NULL, NULL));
	TRY(clFinish(w.queue));
	user = clCreateUserEvent(w.context, &rc);
	TRY(rc);
	launch_work(&w, w.queue, buffer, 100, 1, &user, &first);
	launch_work(&w, w.queue, buffer, 101, 1, &first, &second); /* nothing new in an in-order queue */
	all[0] = first;
	all[1] = second;
	launch_work(&w, other, buffer, 102, 2, all, NULL);
	TRY(clEnqueueBarrierWithWaitList(other, 1, &second, NULL));
	TRY(clFlush(w.queue));
	TRY(clFlush(other));
	pause_ms(5);
	TRY(clSetUserEventStatus(user, CL_COMPLETE));
	TRY(clFinish(other));
	TRY(clFinish(w.queue));
	TRY(clReleaseEvent(user));
	TRY(clReleaseEvent(first));
	TRY(clReleaseEvent(second));
	TRY(clReleaseMemObject(buffer));
	TRY(clReleaseCommandQueue(other));
	world_end(&w);
	puts("done");
	return 0;
}

/* ---- Many kernels, and kernels for one launch each --------------------------------------------------- */

static void launch_empty(const struct world *w, cl_kernel kernel)
{
	const cl_float f = 1;
	const size_t one = 1;

	TRY(clSetKernelArg(kernel, 0, sizeof f, &f));
	TRY(clEnqueueNDRangeKernel(w->queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL));
}

int calls_kernels(int count)
{
	cl_kernel *kernels = calloc((size_t)count + 1, sizeof *kernels);
	struct world w;

	world_make(&w, 0);
	for (int i = 0; i < count; i++)
		kernels[i] = kernel_make(&w, "empty");
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < count; i++)
			launch_empty(&w, kernels[i]);
	TRY(clFinish(w.queue));
	for (int i = 0; i < count; i++)
		TRY(clReleaseKernel(kernels[i]));
	free(kernels);
	world_end(&w);
	puts("done");
	return 0;
}

static void launch_fresh(const struct world *w)
{
	cl_kernel kernel = kernel_make(w, "empty");

	pause_ms(1);
	launch_empty(w, kernel);
	TRY(clFinish(w->queue));
	TRY(clReleaseKernel(kernel));
}

/* Of one program, and then of another one. */
int calls_fresh(void)
{
	struct world w;

	world_make(&w, 0);
	for (int i = 0; i < 10; i++)
		launch_fresh(&w);
	TRY(clReleaseProgram(w.program));
	program_make(&w);
	for (int i = 0; i < 10; i++)
		launch_fresh(&w);
	world_end(&w);
	puts("done");
	return 0;
}

/* ---- Memory that comes and goes --------------------------------------------------------------------- */

int calls_memory(void)
{
	static char host[5000];
	cl_buffer_region region = { 0, 1024 };
	struct world w;
	cl_mem a, b, part, kept;
	cl_int rc;

	world_make(&w, 0);
	a = buffer_make(&w, CL_MEM_READ_WRITE, 100000);
	part = clCreateSubBuffer(a, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &rc);
	TRY(rc);
	b = clCreateBuffer(w.context, CL_MEM_USE_HOST_PTR, sizeof host, host, &rc);
	TRY(rc);
	kept = clCreateBufferWithProperties(w.context, NULL, CL_MEM_READ_ONLY | CL_MEM_ALLOC_HOST_PTR, 300, NULL, &rc);
	TRY(rc);
	TRY(clReleaseMemObject(a)); /* the part holds it */
	TRY(clRetainMemObject(b));
	TRY(clReleaseMemObject(b));
	TRY(clEnqueueWriteBuffer(w.queue, part, CL_TRUE, 0, 1024, host, 0, NULL, NULL));
	TRY(clReleaseMemObject(b));
	TRY(clReleaseMemObject(part));
	for (int i = 0; i < 1000; i++)
		TRY(clReleaseMemObject(buffer_make(&w, CL_MEM_READ_WRITE, 64)));
	(void)kept;
	world_end(&w);
	puts("done");
	return 0;
}

/* ---- A device in parts --------------------------------------------------------------------------------- */

int calls_parts(void)
{
	const cl_device_partition_property equally[] = { CL_DEVICE_PARTITION_EQUALLY, 1, 0 };
	cl_device_id parts[16];
	cl_command_queue queue;
	cl_uint count = 0;
	struct world w;
	cl_mem buffer;
	cl_int rc;

	world_make(&w, 0);
	if (clCreateSubDevices(w.device, equally, 16, parts, &count) != CL_SUCCESS || count < 2) {
		puts("none");
		return 0;
	}
	TRY(clReleaseContext(w.context));
	w.context = clCreateContext(NULL, 2, parts, NULL, NULL, &rc);
	TRY(rc);
	buffer = buffer_make(&w, CL_MEM_READ_WRITE, 4096);
	for (cl_uint i = 0; i < 2; i++) {
		w.device = parts[i];
		queue = queue_make(&w, 0);
		TRY(clEnqueueFillBuffer(queue, buffer, &(cl_float){ 0 }, 4, 0, 4096, 0, NULL, NULL));
		TRY(clFinish(queue));
		TRY(clReleaseCommandQueue(queue));
	}
	printf("parts %u\n", count);
	return 0;
}

/* ---- A buffer in a context of each of two devices, and in one of both ------------------------------------- */

static void buffer_in(const cl_device_id *devices, cl_uint count, size_t size)
{
	struct world w;
	cl_int rc;

	w.context = clCreateContext(NULL, count, devices, NULL, NULL, &rc);
	TRY(rc);
	TRY(clReleaseMemObject(buffer_make(&w, CL_MEM_READ_WRITE, size)));
	TRY(clReleaseContext(w.context));
}

int calls_contexts(void)
{
	cl_platform_id platform;
	cl_device_id devices[2];
	cl_uint count = 0;

	TRY(clGetPlatformIDs(1, &platform, NULL));
	TRY(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, &count));
	if (count < 2) {
		puts("none");
		return 0;
	}
	buffer_in(devices, 1, 1000);
	buffer_in(devices + 1, 1, 2000);
	buffer_in(devices, 2, 3000);
	puts("done");
	return 0;
}

/* ---- Queues that come and go, as many at a time as it is told --------------------------------------------- */

int calls_queues(int count)
{
	cl_command_queue *queues = calloc((size_t)count + 1, sizeof *queues);
	struct world w;
	cl_mem buffer;

	world_make(&w, 0);
	buffer = buffer_make(&w, CL_MEM_READ_WRITE, 4096);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < count; i++) {
			queues[i] = queue_make(&w, 0);
			TRY(clEnqueueFillBuffer(queues[i], buffer, &(cl_float){ 0 }, 4, 0, 4 + 4 * (size_t)round, 0, NULL, NULL));
		}
		for (int i = 0; i < count; i++) {
			if (round)
				TRY(clFinish(queues[i]));
			TRY(clReleaseCommandQueue(queues[i]));
		}
	}
	pause_ms(50);
	free(queues);
	puts("done");
	return 0;
}

/* ---- A queue for each request, some at a time -------------------------------------------------------------- */

int calls_requests(int count)
{
	cl_command_queue queues[4] = { NULL };
	struct world w;
	cl_mem buffer;

	world_make(&w, 0);
	buffer = buffer_make(&w, CL_MEM_READ_WRITE, 4096);
	for (int i = 0; i < count; i++) {
		cl_command_queue *queue = &queues[i % 4];

		if (*queue) {
			TRY(clFinish(*queue));
			TRY(clReleaseCommandQueue(*queue));
		}
		*queue = queue_make(&w, i % 5 ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
		TRY(clEnqueueFillBuffer(*queue, buffer, &(cl_float){ 0 }, 4, 0, i % 5 ? 4 : 8, 0, NULL, NULL));
	}
	for (int i = 0; i < 4; i++) {
		TRY(clFinish(queues[i]));
		TRY(clReleaseCommandQueue(queues[i]));
	}
	TRY(clReleaseMemObject(buffer));
	world_end(&w);
	puts("done");
	return 0;
}

/* ---- Other processes: forked before anything, forked with commands on their way, and another program ------- */

static void use_it(const char *self, const char *what)
{
	if (what)
		execl(self, self, what, (char *)NULL);
	_exit(calls_waits(0));
}

static void child(const char *self, const char *what)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		use_it(self, what);
	waitpid(pid, &status, 0);
	printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	fflush(stdout);
}

int calls_children(const char *self)
{
	struct world w;
	cl_mem buffer;
	cl_event user;
	cl_int rc;
	pid_t pid;
	int status;

	child(self, NULL);
	child(self, "waits");
	world_make(&w, 0);
	buffer = buffer_make(&w, CL_MEM_READ_WRITE, N * 4);
	user = clCreateUserEvent(w.context, &rc);
	TRY(rc);
	launch_work(&w, w.queue, buffer, 1, 0, NULL, NULL);
	TRY(clFinish(w.queue));
	child(self, "waits"); /* with the environment that the loader has left */
	launch_work(&w, w.queue, buffer, 10, 1, &user, NULL);
	fflush(stdout);
	pid = fork();
	if (pid == 0) { /* what is on its way is not this process's; to look at a queue must do no harm */
		cl_uint count;

		_exit(clGetCommandQueueInfo(w.queue, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, NULL) == CL_SUCCESS ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	printf("forked %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	TRY(clSetUserEventStatus(user, CL_COMPLETE));
	TRY(clFinish(w.queue));
	TRY(clReleaseEvent(user));
	TRY(clReleaseMemObject(buffer));
	world_end(&w);
	return 0;
}

/* ---- Ends of all sorts ------------------------------------------------------------------------------------------ */

/* Says after each kernel how many have ended; until somebody kills it. */
int calls_endless(void)
{
	struct world w;
	cl_mem buffer;
	cl_event event;

	world_make(&w, 0);
	buffer = buffer_make(&w, CL_MEM_READ_WRITE, N * 4);
	for (unsigned n = 1;; n++) {
		launch_work(&w, w.queue, buffer, 200, 0, NULL, NULL);
		launch_work(&w, w.queue, buffer, 200, 0, NULL, &event);
		launch_work(&w, w.queue, buffer, 400, 0, NULL, NULL); /* on its way meanwhile */
		TRY(clWaitForEvents(1, &event));
		TRY(clReleaseEvent(event));
		printf("ended %u\n", 3 * n - 1);
		fflush(stdout);
		TRY(clFlush(w.queue));
	}
}

static void CL_CALLBACK say_ended(cl_event event, cl_int status, void *number)
{
	(void)event;
	(void)status;
	printf("ended %u\n", (unsigned)(uintptr_t)number);
	fflush(stdout);
}

static void launch_groups(const struct world *w, cl_mem buffer, size_t groups, cl_int rounds, cl_uint waits, const cl_event *list,
			  cl_event *event)
{
	const size_t group = 64, all = groups * group;

	TRY(clSetKernelArg(w->work, 0, sizeof buffer, &buffer));
	TRY(clSetKernelArg(w->work, 1, sizeof rounds, &rounds));
	TRY(clEnqueueNDRangeKernel(w->queue, w->work, 1, NULL, &all, &group, waits, waits ? list : NULL, event));
}

/* Rounds that groups take 50 ms for, as far as can be told. */
static cl_int rounds_of_50_ms(const struct world *w, cl_mem buffer)
{
	for (cl_int rounds = 100000;; rounds *= 4) {
		double begin = seconds();

		launch_groups(w, buffer, 2, rounds, 0, NULL, NULL); /* two of them: to be told from the others */
		TRY(clFinish(w->queue));
		if (seconds() - begin > 0.02)
			return (cl_int)(rounds * 0.05 / (seconds() - begin));
	}
}

/* A kernel that has always been short takes long: many of it are on their way, and somebody kills the program before they have ended. */
int calls_surprise(void)
{
	struct world w;
	cl_mem buffer;
	cl_event user, event;
	cl_int rc, rounds;

	world_make(&w, 0);
	buffer = buffer_make(&w, CL_MEM_READ_WRITE, N * 4);
	rounds = rounds_of_50_ms(&w, buffer);
	for (int i = 0; i < 300; i++) {
		launch_groups(&w, buffer, 1, 1, 0, NULL, NULL);
		TRY(clFinish(w.queue));
	}
	user = clCreateUserEvent(w.context, &rc);
	TRY(rc);
	for (uintptr_t i = 1; i <= 200; i++) {
		launch_groups(&w, buffer, 1, rounds, i == 1, &user, &event);
		TRY(clSetEventCallback(event, CL_COMPLETE, say_ended, (void *)i));
		TRY(clReleaseEvent(event));
	}
	TRY(clSetUserEventStatus(user, CL_COMPLETE));
	TRY(clFinish(w.queue));
	return 0;
}

#define AHEAD 400u
#define GROUPS 200u

/* Rounds that one larger than all takes 900 us for, by the quickest of ten times: others may hold the machine up. */
static cl_int rounds_of_900_us(const struct world *w, cl_mem buffer)
{
	for (cl_int rounds = 1;; rounds += rounds / 2 + 1) {
		double quickest = 1;

		for (int i = 0; i < 10; i++) {
			double begin = seconds(), took;

			launch_groups(w, buffer, GROUPS + AHEAD, rounds, 0, NULL, NULL);
			TRY(clFinish(w->queue));
			took = seconds() - begin;
			quickest = took < quickest ? took : quickest;
		}
		if (quickest > 900e-6)
			return rounds;
	}
}

static void launch_ahead(const struct world *w, cl_mem buffer, int shorter, cl_event *ret_events)
{
	cl_int rounds = rounds_of_900_us(w, buffer);

	for (int i = 0; i < shorter; i++) {
		launch_groups(w, buffer, 1, 1, 0, NULL, NULL);
		TRY(clFinish(w->queue));
	}
	for (size_t i = 0; i < AHEAD; i++) /* each larger than the one before, to be told from it */
		launch_groups(w, buffer, GROUPS + i, rounds, 0, NULL, &ret_events[i]);
	TRY(clFlush(w->queue));
}

static bool has_ended(cl_event event)
{
	cl_int status;

	TRY(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
	return status == CL_COMPLETE;
}

/* Waits for none of its kernels, but looks again and again which have ended, and kills itself when it has known of half of them for
 * 2 ms; others run then.  So many that were short have run before. */
int calls_polled(int shorter)
{
	static cl_event events[AHEAD];
	static double seen[AHEAD];
	unsigned ended = 0, sure = 0;
	struct world w;

	world_make(&w, 0);
	launch_ahead(&w, buffer_make(&w, CL_MEM_READ_WRITE, N * 4), shorter, events);
	while (sure < AHEAD / 2) {
		nanosleep(&(struct timespec){ 0, 100000 }, NULL);
		while (ended < AHEAD && has_ended(events[ended]))
			seen[ended++] = seconds();
		while (sure < ended && seconds() - seen[sure] > 2e-3)
			sure++;
	}
	printf("ended %u\n", sure);
	fflush(stdout);
	return raise(SIGKILL);
}

/* Its out-of-order queue has one command that never runs, and those after it do; then it waits to be killed. */
int calls_unfinished(void)
{
	struct world w;
	cl_mem buffer;
	cl_event user, event;
	cl_int rc;

	world_make(&w, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	buffer = buffer_make(&w, CL_MEM_READ_WRITE, N * 4);
	user = clCreateUserEvent(w.context, &rc);
	TRY(rc);
	launch_work(&w, w.queue, buffer, 10, 1, &user, NULL);
	for (int i = 0; i < 10; i++)
		launch_work(&w, w.queue, buffer, 10, 0, NULL, i == 9 ? &event : NULL);
	TRY(clFlush(w.queue));
	TRY(clWaitForEvents(1, &event));
	pause_ms(100);
	puts("waiting");
	fflush(stdout);
	pause_ms(60000);
	return 0;
}

/* It leaves without a word as soon as it has what it wants. */
int calls_exit(void)
{
	static float host[N];
	struct world w;
	cl_mem buffer;

	world_make(&w, 0);
	buffer = buffer_make(&w, CL_MEM_READ_WRITE, sizeof host);
	TRY(clEnqueueWriteBuffer(w.queue, buffer, CL_FALSE, 0, sizeof host, host, 0, NULL, NULL));
	for (int i = 0; i < 50; i++)
		launch_scale(&w, w.queue, buffer, 1.01f);
	TRY(clEnqueueReadBuffer(w.queue, buffer, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL));
	_exit(0);
}

/* ---- What kernels are called with ---------------------------------------------------------------------------------- */

int calls_arguments(void)
{
	struct world w;
	cl_mem buffer;

	world_make(&w, 0);
	buffer = buffer_make(&w, CL_MEM_READ_WRITE, N * 4);
	launch_scale(&w, w.queue, buffer, 1.5f);
	launch_work(&w, w.queue, buffer, -3, 0, NULL, NULL);
	launch_work(&w, w.queue, buffer, 1000, 0, NULL, NULL);
	TRY(clFinish(w.queue));
	printf("buffer %llu\n", (unsigned long long)(uintptr_t)buffer);
	TRY(clReleaseMemObject(buffer));
	world_end(&w);
	return 0;
}

/* ---- More commands on their way than anybody has ---------------------------------------------------------------------- */

int calls_flood(int count, cl_command_queue_properties properties)
{
	const cl_float f = 1;
	const size_t one = 1;
	struct world w;
	cl_event user;
	cl_int rc;

	world_make(&w, properties);
	user = clCreateUserEvent(w.context, &rc);
	TRY(rc);
	TRY(clSetKernelArg(w.empty, 0, sizeof f, &f));
	TRY(clEnqueueNDRangeKernel(w.queue, w.empty, 1, NULL, &one, &one, 1, &user, NULL));
	for (int i = 1; i < count; i++)
		TRY(clEnqueueNDRangeKernel(w.queue, w.empty, 1, NULL, &one, &one, properties != 0, properties ? &user : NULL, NULL));
	TRY(clSetUserEventStatus(user, CL_COMPLETE));
	TRY(clFinish(w.queue));
	TRY(clReleaseEvent(user));
	world_end(&w);
	puts("done");
	return 0;
}
