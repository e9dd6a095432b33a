/* test-costs.c - what costs most (report/report_parts.h): of the same whole as the shares of the time, each moment once. */
#include "host-world.h"

#include "report/report_parts.h"

#define STEPS 20
#define STEP (100 * MS)
#define END (STEPS * STEP)

static struct host_world w;

static bool is_named(const struct analysis *a, uint32_t name, const char *text)
{
	size_t size;
	const char *is = timeline_string(a->timeline, name, &size);

	return size == strlen(text) && memcmp(is, text, size) == 0;
}

/* Of a step of 100 ms 60 are a convolution's, of which a library has marked all; 10 another operator's. */
static struct host_thread put_loop(bool operators)
{
	struct host_thread spine = host_thread(&w, host_process(&w, 10), 10);

	host_scope(&w, spine, "main loop", 0, END);
	for (int64_t at = 0; at < END; at += STEP) {
		if (!operators)
			continue;
		host_operator(&w, spine, "aten::conv2d", at, 60 * MS);
		host_operator(&w, spine, "aten::convolution", at, 60 * MS);
		host_scope(&w, spine, "reorder", at, 30 * MS);
		host_scope(&w, spine, "convolution", at + 30 * MS, 30 * MS);
		host_operator(&w, spine, "aten::relu", at + 70 * MS, 10 * MS);
		host_operator(&w, spine, "aten::clamp_min", at + 71 * MS, 8 * MS);
	}
	host_state(&w, spine, "running", 0, END);
	host_machine(&w, END, 1000);
	return spine;
}

static void costs_are_of_the_whole_of_the_shares(void **state)
{
	struct report_cost costs[REPORT_COSTS];
	struct report_shares shares;
	const struct analysis *a;
	int64_t operators = 0;

	(void)state;
	host_open(&w);
	put_loop(true);
	a = host_analyze(&w);
	assert_true(a->host.window.looked);
	assert_int_equal(report_costs(a, costs), 2);
	assert_true(is_named(a, costs[0].name, "aten::conv2d"));
	assert_true(is_named(a, costs[1].name, "main loop"));
	assert_true(fabs(costs[0].share - 0.6) < 0.02);
	assert_true(fabs(costs[1].share - 0.3) < 0.02);
	report_shares(a, &shares);
	for (size_t i = 0; i < shares.count; i++)
		operators += strcmp(shares.list[i].name, "operators") == 0 ? shares.list[i].time : 0;
	assert_true(operators > 0 && costs[0].share * (double)shares.span <= (double)operators);
	assert_non_null(report_whole(a));
	host_close(&w);
}

/* Whoever cannot be judged is told what would help. */
static void what_is_not_recorded_says_what_helps(void **state)
{
	struct host_thread spine;
	const struct analysis *a;

	(void)state;
	for (int calls = 0; calls < 2; calls++) {
		host_open(&w);
		spine = host_thread(&w, host_process(&w, 10), 10);
		if (calls)
			host_call(&w, spine, own(&w, "main"), 0, END / 20);
		else
			host_scope(&w, spine, "main", 0, END / 20);
		host_scope(&w, spine, "end", END - MS, MS);
		host_state(&w, spine, "running", 0, END);
		host_machine(&w, END, 1000);
		a = host_analyze(&w);
		assert_int_equal(a->bottleneck.type, BOTTLENECK_UNKNOWN);
		assert_non_null(strstr(a->bottleneck.cause, "nothing was recorded of the main thread"));
		assert_non_null(strstr(a->bottleneck.cause, calls ? "inferscope.scope(" : "--calls on"));
		host_close(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(costs_are_of_the_whole_of_the_shares),
		cmocka_unit_test(what_is_not_recorded_says_what_helps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
