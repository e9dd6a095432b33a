/* test-opencl-queues.c - the table of queues: they come and go, and their streams stay.  Also under the thread sanitizer. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "opencl/opencl.h"

#define MANY 50000u /* queues, one after another */
#define ROOM 8192u  /* for queues at a time */
#define KEPT 64u

/* ---- What the rest of the door would give -------------------------------------- */

struct _cl_icd_dispatch opencl_next;
struct runtime inferscope_runtime;
_Thread_local struct runtime_thread inferscope_thread;
static uint32_t streams;
static const struct opencl_queue *busy; /* has something on its way */

void *opencl_map(size_t size)
{
	void *memory = aligned_alloc(CACHE_LINE, (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);

	return memory ? memset(memory, 0, size) : NULL;
}

bool opencl_command_idle(struct opencl_queue *queue)
{
	return queue != busy;
}

void opencl_device_describe(char *text, size_t size, cl_device_id device, const char *stream)
{
	(void)size;
	(void)device;
	strcpy(text, stream);
}

void opencl_clock_init(struct opencl_clock *clock)
{
	memset(clock, 0, sizeof *clock);
}

void gpu_stream_init(struct gpu_stream *stream, struct runtime_thread *thread, const char *description)
{
	(void)thread;
	(void)description;
	stream->number = streams++;
}

/* ---- Helpers ------------------------------------------------------------------- */

static cl_command_queue handle_of(uintptr_t number)
{
	return (cl_command_queue)(number * 16);
}

/* Each test has a device and handles of its own: the table is one, and goes through all of them. */
static struct opencl_queue *make(uintptr_t device, uintptr_t number, cl_command_queue_properties asked)
{
	cl_command_queue handle = handle_of(device << 24 | number);

	opencl_queue_remember(handle, &(struct opencl_origin){ .device = (cl_device_id)device, .asked = asked });
	return opencl_queue_find(handle);
}

static struct opencl_queue *find(uintptr_t device, uintptr_t number)
{
	return opencl_queue_find(handle_of(device << 24 | number));
}

static int map(void **state)
{
	(void)state;
	return opencl_queue_map() ? 0 : -1;
}

/* ---- Tests ---------------------------------------------------------------------- */

static void streams_are_handed_on(void **state)
{
	struct opencl_queue *live[10] = { NULL };
	uint32_t before = streams;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		if (live[i % 10])
			opencl_queue_leave(live[i % 10]);
		live[i % 10] = make(1, i, 0);
		assert_non_null(live[i % 10]);
		for (uint32_t back = 0; back < 10 && back <= i; back++)
			assert_ptr_equal(find(1, i - back), live[(i - back) % 10]);
	}
	assert_int_equal(streams - before, 10);
}

static void only_to_those_alike(void **state)
{
	struct opencl_queue *first = make(2, 0, 0), *other;
	uint32_t number = first->stream.number;

	(void)state;
	opencl_queue_leave(first);
	other = make(2, 1, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	assert_int_not_equal(other->stream.number, number);
	other = make(3, 0, 0);
	assert_int_not_equal(other->stream.number, number);
	busy = first;
	other = make(2, 2, 0);
	assert_int_not_equal(other->stream.number, number);
	busy = NULL;
	other = make(2, 3, 0);
	assert_int_equal(other->stream.number, number);
	other = make(2, 4, 0);
	assert_int_not_equal(other->stream.number, number);
}

static void the_newest_are_found_when_they_are_gone(void **state)
{
	struct opencl_queue *gone = make(4, 0, CL_QUEUE_PROFILING_ENABLE);

	(void)state;
	opencl_queue_leave(gone);
	for (uint32_t i = 1; i <= KEPT; i++)
		opencl_queue_leave(make(4, i, 0));
	assert_ptr_equal(find(4, 0), gone);
	assert_true(find(4, 0)->asked);
	for (uint32_t i = 1; i <= KEPT; i++)
		opencl_queue_leave(make(4, KEPT + i, 0));
	assert_null(find(4, 0));
	assert_non_null(find(4, 2 * KEPT));
}

static void a_handle_comes_again(void **state)
{
	struct opencl_queue *first = make(5, 0, 0), *second;
	uint32_t number = first->stream.number;

	(void)state;
	opencl_queue_leave(first);
	second = make(5, 0, CL_QUEUE_PROFILING_ENABLE);
	assert_true(find(5, 0) == second && second->asked && second->stream.number == number);
	second = make(5, 0, 0); /* nobody has seen it leave */
	assert_true(find(5, 0) == second && !second->asked && second->stream.number == number);
	opencl_queue_forget(handle_of((uintptr_t)5 << 24));
	assert_null(find(5, 0));
}

static _Atomic bool stop;

static void *look(void *queue)
{
	uintptr_t missed = 0;

	while (!stop)
		missed += find(6, 0) != queue;
	return (void *)missed;
}

static void found_while_others_move(void **state)
{
	struct opencl_queue *queue = make(6, 0, 0);
	pthread_t thread;
	void *missed;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, look, queue), 0);
	for (uint32_t i = 1; i < MANY; i++)
		opencl_queue_leave(make(6, i, 0));
	stop = true;
	pthread_join(thread, &missed);
	assert_null(missed);
}

/* The last one: what there is stays. */
static void too_many(void **state)
{
	uint32_t made = 0;

	(void)state;
	while (made <= ROOM && make(7, made, 0))
		made++;
	assert_in_range(made, ROOM - 2 * KEPT, ROOM);
	assert_null(find(7, made));
	opencl_queue_leave(find(7, 1000));
	assert_non_null(make(7, made + 1, 0));
	assert_null(find(7, 1000));
	for (uint32_t i = 0; i < made; i++)
		assert_int_equal(find(7, i) != NULL, i != 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_are_handed_on),
		cmocka_unit_test(only_to_those_alike),
		cmocka_unit_test(the_newest_are_found_when_they_are_gone),
		cmocka_unit_test(a_handle_comes_again),
		cmocka_unit_test(found_while_others_move),
		cmocka_unit_test(too_many),
	};

	return cmocka_run_group_tests(tests, map, NULL);
}
