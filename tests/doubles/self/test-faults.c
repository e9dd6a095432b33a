/* Every fault does what faults.h says: each in a process of its own, which is this program again.  test-faults RELEASE [CASE] */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"

static const char *release, *self;

/* What a case does in its process; 0 is success, and a signal is a result too. */
struct fault_case {
	const char *fault;      /* DOUBLE_FAULT */
	int (*check)(void);
	int signal;             /* that must end it */
};

static void start(void)
{
	static const uint32_t kinds[] = { KIND_CONCURRENT_KERNEL, KIND_DRIVER, KIND_SYNCHRONIZATION, KIND_CUDA_EVENT, 0 };

	client_start(kinds);
}

static void launch_many(int count)
{
	for (int i = 0; i < count; i++)
		client_launch("busy_50us", NULL);
	if (cuda.cuCtxSynchronize())
		exit(90);
}

static void run_many(int count)
{
	start();
	launch_many(count);
	if (cupti.cuptiActivityFlushAll(0))
		exit(91);
}

static double seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int kernels_where(int (*is)(const uint8_t *record))
{
	int count = 0;

	for (int i = 0; i < client_count(KIND_CONCURRENT_KERNEL); i++)
		count += is(client_record(KIND_CONCURRENT_KERNEL, i));
	return count;
}

static int is_zero(const uint8_t *r) { return !GET(r, KERNEL, start) && !GET(r, KERNEL, end); }
static int is_backward(const uint8_t *r) { return GET(r, KERNEL, end) < GET(r, KERNEL, start); }
static int is_nameless(const uint8_t *r) { return !GET(r, KERNEL, name); }
static int is_uncorrelated(const uint8_t *r) { return !GET(r, KERNEL, correlationId); }
static int is_long(const uint8_t *r) { return GET(r, KERNEL, end) - GET(r, KERNEL, start) > 900000; }
static int is_plain(const uint8_t *r)
{
	uint64_t took = GET(r, KERNEL, end) - GET(r, KERNEL, start);

	return took >= 49999 && took <= 50001; /* two times, each rounded */
}

static int nothing_wrong(void)
{
	run_many(10);
	return kernels_where(is_plain) != 10;
}

static int zero_stamps(void)
{
	run_many(10);
	return kernels_where(is_zero) != 5;
}

static int end_before_start(void)
{
	run_many(10);
	return kernels_where(is_backward) != 10;
}

static int start_before_launch(void)
{
	run_many(10);
	return kernels_where(is_long) != 10;
}

static int null_name(void)
{
	run_many(9);
	return kernels_where(is_nameless) != 3;
}

static int correlation_zero(void)
{
	run_many(10);
	return kernels_where(is_uncorrelated) != 10;
}

static int freed_name(void)
{
	CUmodule module;
	CUfunction kernel;
	const char *name;

	start();
	if (cuda.cuModuleLoadData(&module, "x") || cuda.cuModuleGetFunction(&kernel, module, "busy_1us")
			|| cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) || cuda.cuModuleUnload(module)
			|| cupti.cuptiActivityFlushAll(0))
		return 1;
	name = (const char *)(uintptr_t)GET(client_record(KIND_CONCURRENT_KERNEL, 0), KERNEL, name);
	return *(const volatile char *)name == 0;
}

static int late_completion(void)
{
	start();
	launch_many(3);
	if (cupti.cuptiActivityFlushAll(0) || seen.buffers)
		return 1;
	usleep(400000);
	return client_count(KIND_CONCURRENT_KERNEL) != 3;
}

static int never_completion(void)
{
	run_many(3);
	usleep(100000);
	return seen.buffers != 0;
}

static int null_crash(void)
{
	client_buffer_size = 0;
	run_many(1);
	return 1;
}

static int dropped(void)
{
	size_t count = 0;

	run_many(100);
	(void)cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &count);
	return seen.dropped + count < 15 || client_count(KIND_CONCURRENT_KERNEL) == 100;
}

static int unknown_kind(void)
{
	run_many(40);
	return seen.last_result != (client_release >= 1204 ? 21 : 999) || client_count(KIND_CONCURRENT_KERNEL) >= 40;
}

static int truncated_record(void)
{
	run_many(5);
	return seen.last_result != 12 || client_count(KIND_DRIVER) + client_count(KIND_CONCURRENT_KERNEL) < 5;
}

static int missing_api(void)
{
	run_many(10);
	return client_count(KIND_DRIVER) > 15 || client_count(KIND_CONCURRENT_KERNEL) != 10;
}

static int reused_event_id(void)
{
	CUevent events[4];

	start();
	for (int i = 0; i < 4; i++)
		if (cuda.cuEventCreate(&events[i], 0) || cuda.cuEventRecord(events[i], NULL))
			return 1;
	launch_many(1);
	if (cupti.cuptiActivityFlushAll(0))
		return 1;
	for (int i = 0; i < 4; i++)
		(void)cuda.cuEventDestroy_v2(events[i]);
	return GET(client_record(KIND_CUDA_EVENT, 0), EVENT, eventId) != GET(client_record(KIND_CUDA_EVENT, 2), EVENT, eventId);
}

static int no_device_sync(void)
{
	run_many(2);
	return client_count(KIND_SYNCHRONIZATION) != 0;
}

static int subscribe_39(void)
{
	CUpti_SubscriberHandle handle;

	return cupti.cuptiSubscribe(&handle, NULL, NULL) != 39;
}

static int cupti_999(void)
{
	return cupti.cuptiActivityEnable(KIND_DRIVER) != 999 || cupti.cuptiActivityRegisterCallbacks(request, complete) != 999;
}

static int refused_kind(void)
{
	start();
	return cupti.cuptiActivityEnable(KIND_MEMCPY) != 27 || cupti.cuptiActivityEnable(KIND_MEMSET) != 0;
}

static int slow_flush(void)
{
	double begin = seconds();

	run_many(1);
	return seconds() - begin < 0.3;
}

static int worker_is_dead(void)
{
	alarm(1);
	run_many(1);
	return 1;
}

/* No fault at all: a forked child has no worker. */
static int forked_flush(void)
{
	pid_t child;
	int status;

	run_many(1);
	child = fork();
	if (child == 0) {
		int count;

		alarm(1);
		if (cuda.cuDeviceGetCount(&count) != CUDA_ERROR_NOT_INITIALIZED)
			_exit(1);
		(void)cupti.cuptiActivityFlushAll(1);
		_exit(2);
	}
	waitpid(child, &status, 0);
	return !WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM;
}

static uint64_t plain_clock(void)
{
	return (uint64_t)(seconds() * 1e9);
}

static int is_far_off(const uint8_t *r)
{
	return GET(r, KERNEL, start) > plain_clock() + 50000000000000ull;
}

static int second_registration(void)
{
	(void)cupti.cuptiActivityRegisterTimestampCallback(plain_clock);
	run_many(5);
	if (kernels_where(is_far_off))
		return 1;
	client_forget();
	(void)cupti.cuptiActivityRegisterTimestampCallback(plain_clock);
	launch_many(5);
	(void)cupti.cuptiActivityFlushAll(0);
	return kernels_where(is_far_off) != 2;
}

static int clock_step(void)
{
	uint64_t before, after;

	(void)cupti.cuptiGetTimestamp(&before);
	usleep(600000);
	(void)cupti.cuptiGetTimestamp(&after);
	return after - before < 1500000000u || after - before > 2500000000u;
}

static int cuinit_error(void)
{
	return cuda.cuInit(0) != 100;
}

static int out_of_memory(void)
{
	CUdeviceptr pointer;

	start();
	return cuda.cuMemAlloc_v2(&pointer, 64) != 0 || cuda.cuMemAlloc_v2(&pointer, 64) != 2;
}

static int launch_failed(void)
{
	start();
	return cuda.cuLaunchKernel(client_kernel("k"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) != 719;
}

/* The process has returned from main() when this comes. */
static void complete_at_exit(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context, (void)stream, (void)buffer, (void)size, (void)valid;
	_exit(0);
}

static int exit_callback(void)
{
	start();
	if (cupti.cuptiActivityRegisterCallbacks(request, complete_at_exit))
		return 1;
	launch_many(3);
	return 2;
}

static int no_such_fault(void)
{
	return cuinit_error();
}

static const struct fault_case cases[] = {
	{ "", nothing_wrong, 0 },
	{ "zero_stamps=2", zero_stamps, 0 },
	{ "end_before_start", end_before_start, 0 },
	{ "start_before_launch", start_before_launch, 0 },
	{ "null_name=3", null_name, 0 },
	{ "correlation_zero", correlation_zero, 0 },
	{ "freed_name", freed_name, SIGSEGV },
	{ "late_completion=200", late_completion, 0 },
	{ "never_completion", never_completion, 0 },
	{ "null_crash", null_crash, SIGSEGV },
	{ "dropped=10", dropped, 0 },
	{ "unknown_kind=20", unknown_kind, 0 },
	{ "truncated_record", truncated_record, 0 },
	{ "missing_api=2", missing_api, 0 },
	{ "reused_event_id=2", reused_event_id, 0 },
	{ "no_device_sync", no_device_sync, 0 },
	{ "subscribe_39", subscribe_39, 0 },
	{ "cupti_error=999", cupti_999, 0 },
	{ "refused_kind=1", refused_kind, 0 },
	{ "slow_flush=300", slow_flush, 0 },
	{ "dead_worker", worker_is_dead, SIGALRM },
	{ "", forked_flush, 0 },
	{ "second_registration=2", second_registration, 0 },
	{ "clock_step=1000000000", clock_step, 0 },
	{ "cuinit_error", cuinit_error, 0 },
	{ "out_of_memory=2", out_of_memory, 0 },
	{ "launch_failed", launch_failed, 0 },
	{ "exit_callback", exit_callback, 0 },
	{ "no_such_fault", no_such_fault, SIGABRT },
};

/* A crash on purpose must not look like one of ours: no core, no report of a sanitizer. */
static int run_case(size_t number)
{
	char text[16];
	pid_t child = fork();
	int status;

	if (child == 0) {
		int null = open("/dev/null", O_WRONLY);

		setenv("DOUBLE_FAULT", cases[number].fault, 1);
		snprintf(text, sizeof(text), "%zu", number);
		if (cases[number].signal)
			dup2(null, 2);
		execl(self, self, release, text, (char *)NULL);
		_exit(99);
	}
	waitpid(child, &status, 0);
	if (cases[number].signal)
		return !WIFSIGNALED(status) || WTERMSIG(status) != cases[number].signal;
	return status;
}

static void faults_do_what_they_say(void **state)
{
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int status = run_case(i);

		if (status)
			print_message("case %zu (%s): %x\n", i, cases[i].fault, status);
		wrong += status != 0;
	}
	assert_int_equal(wrong, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(faults_do_what_they_say) };

	if (argc < 2)
		return 1;
	self = argv[0];
	release = argv[1];
	if (argc == 3) {
		client_open(release);
		return cases[atoi(argv[2])].check();
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
