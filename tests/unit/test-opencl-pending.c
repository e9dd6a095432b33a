/* test-opencl-pending.c - commands on their way: in and out, one after the other and at once.  Also under the thread sanitizer. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "opencl/opencl.h"

#define MANY 100000u
#define SHORT_NS 3000u /* with what a launch takes, 4 of them are 20 microseconds */

/* ---- What the rest of the door would give -------------------------------------- */

bool opencl_arguments_wanted;

void *opencl_map(size_t size)
{
	void *memory = aligned_alloc(CACHE_LINE, size);

	return memory ? memset(memory, 0, size) : NULL;
}

void opencl_unmap(void *memory, size_t size)
{
	(void)size;
	free(memory);
}

/* ---- Helpers ------------------------------------------------------------------- */

static cl_event event_of(uintptr_t number)
{
	return (cl_event)(number * 16);
}

static enum pushed put(struct pending *p, uintptr_t number, uint32_t expected)
{
	cl_event event = event_of(number);
	const struct command command = { .kind = 11, .bytes = number, .expected = expected };
	const struct call call = { .event = &event, .begin = 10 * number, .end = 10 * number + 5, .correlation = (uint32_t)number };

	return opencl_pending_push(p, &command, &call, NULL);
}

static bool push_taking(struct pending *p, uintptr_t number, uint32_t expected)
{
	return put(p, number, expected) != PUSHED_NOWHERE;
}

static bool push(struct pending *p, uintptr_t number)
{
	return push_taking(p, number, 0);
}

/* The number of the next one; 0: none. */
static uint64_t next(struct pending *p, uint32_t *at, bool only_done)
{
	struct command c;

	if (!opencl_pending_next(p, at, only_done, &c, NULL))
		return 0;
	assert_ptr_equal(c.event, event_of(c.bytes));
	assert_int_equal(c.before, 10 * c.bytes);
	assert_int_equal(c.after, 10 * c.bytes + 5);
	assert_int_equal(c.correlation, (uint32_t)c.bytes);
	return c.bytes;
}

static uint64_t soon(struct pending *p)
{
	cl_event oldest, last;

	if (!opencl_pending_soon(p, &oldest, &last))
		return 0;
	assert_int_equal((uintptr_t)oldest / 16, next(p, &(uint32_t){ 0 }, false));
	return (uintptr_t)last / 16;
}

static void free_pending(struct pending *p)
{
	free(p->commands);
	free(p);
}

static struct pending *new_pending(void)
{
	struct pending *p = aligned_alloc(CACHE_LINE, sizeof *p);

	assert_non_null(p);
	memset(p, 0, sizeof *p);
	return p;
}

/* ---- Tests ----------------------------------------------------------------------- */

static void test_first_in_first_out(void **state)
{
	struct pending *p = new_pending();
	uint32_t at = 0;

	(void)state;
	assert_false(opencl_pending_any(p));
	assert_int_equal(next(p, &at, false), 0);
	for (uintptr_t round = 0, number = 1; round < 40; round++) { /* around the ring, which grows meanwhile */
		for (uintptr_t i = 0; i < 7 * round; i++)
			assert_true(push(p, number + i));
		assert_int_equal(opencl_pending_any(p), round > 0);
		for (uintptr_t i = 0; i < 7 * round; i++, number++) {
			assert_int_equal(next(p, &at, false), number);
			opencl_pending_remove(p, &at);
			assert_int_equal(at, 0);
		}
		assert_int_equal(next(p, &at, false), 0);
	}
	free_pending(p);
}

static void test_any_may_end_first(void **state)
{
	struct pending *p = new_pending();
	uint32_t at = 0, correlation;

	(void)state;
	for (uintptr_t i = 1; i <= 5; i++)
		push(p, i);
	assert_false(opencl_pending_any_done(p));
	opencl_pending_done(p, event_of(2));
	opencl_pending_done(p, event_of(4));
	assert_true(opencl_pending_any_done(p));

	assert_int_equal(next(p, &at, true), 2);
	opencl_pending_remove(p, &at);
	assert_int_equal(next(p, &at, true), 4);
	opencl_pending_remove(p, &at);
	assert_int_equal(next(p, &at, true), 0);
	assert_false(opencl_pending_any_done(p));

	assert_true(opencl_pending_find(p, event_of(3), UINT32_MAX, &correlation));
	assert_int_equal(correlation, 3);
	assert_false(opencl_pending_find(p, event_of(4), UINT32_MAX, &correlation)); /* it has ended */
	assert_false(opencl_pending_find(p, event_of(1), 4, &correlation));          /* too long ago */
	assert_int_equal(correlation, 0);

	at = 0;
	assert_int_equal(next(p, &at, false), 1);
	opencl_pending_remove(p, &at); /* and the second, which has ended */
	assert_int_equal(at, 0);
	assert_int_equal(next(p, &at, false), 3);
	at++;
	assert_int_equal(next(p, &at, false), 5);
	push(p, 6); /* seen although others are still there */
	at++;
	assert_int_equal(next(p, &at, false), 6);
	free_pending(p);
}

static void test_what_ends_soon(void **state)
{
	struct pending *p = new_pending();
	uint32_t at = 0;

	(void)state;
	assert_int_equal(soon(p), 0);
	push(p, 1);
	assert_int_equal(soon(p), 1);
	push(p, 2); /* nobody knows how long it takes */
	assert_int_equal(soon(p), 1);
	for (uintptr_t i = 3; i <= 50; i++)
		push_taking(p, i, SHORT_NS);
	assert_int_equal(soon(p), 1);
	assert_int_equal(next(p, &at, false), 1);
	opencl_pending_remove(p, &at);
	assert_int_equal(soon(p), 6); /* 4 after the second, however long that takes */

	push_taking(p, 51, 1000000);
	while (next(p, &at, false) < 48)
		opencl_pending_remove(p, &at);
	assert_int_equal(soon(p), 50); /* not what takes long */
	free_pending(p);
}

static void test_who_puts_in_knows_whether_somebody_looks(void **state)
{
	struct pending *p = new_pending();

	(void)state;
	assert_int_equal(put(p, 1, 0), PUSHED_ALONE);
	opencl_pending_watch(p, true);
	assert_int_equal(put(p, 2, 0), PUSHED_WATCHED);
	opencl_pending_watch(p, false);
	assert_int_equal(put(p, 3, 0), PUSHED_ALONE);
	free_pending(p);
}

static void *push_many(void *pending)
{
	for (uintptr_t i = 1; i <= MANY; i++)
		if (!push(pending, i))
			return NULL;
	return pending;
}

static void test_in_and_out_at_once(void **state)
{
	struct pending *p = new_pending();
	uint32_t at = 0, correlation;
	void *done = NULL;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, push_many, p), 0);
	for (uint64_t number = 1; number <= MANY;) {
		uint64_t there = next(p, &at, false);

		if (!there) {
			sched_yield();
			continue;
		}
		assert_int_equal(there, number);
		assert_true(soon(p) == number); /* nobody knows how long they take */
		if (number % 64 == 0)
			assert_true(opencl_pending_find(p, event_of(number), UINT32_MAX, &correlation) && correlation == number);
		opencl_pending_remove(p, &at);
		number++;
	}
	assert_int_equal(pthread_join(thread, &done), 0);
	assert_ptr_equal(done, p);
	assert_false(opencl_pending_any(p));
	free_pending(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_in_first_out),
		cmocka_unit_test(test_any_may_end_first),
		cmocka_unit_test(test_what_ends_soon),
		cmocka_unit_test(test_who_puts_in_knows_whether_somebody_looks),
		cmocka_unit_test(test_in_and_out_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
