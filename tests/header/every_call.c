/*
 * every_call.c - makes every call of inferscope.h once; compiled as C99 and as
 * C++98, with and without INFERSCOPE_DISABLE, by the stage `header` of
 * scripts/test.
 */
#include "inferscope.h"

static void scopes(const char *dynamic_name)
{
	INFERSCOPE_SCOPE("block");
	inferscope_scope_begin("literal");
	inferscope_scope_begin(dynamic_name);
	inferscope_scope_end();
	inferscope_scope_end();
}

static void marks(void)
{
	struct inferscope_value values[2];

	values[0] = inferscope_double("loss", 0.5);
	values[1] = inferscope_bool("warm", 1);
	inferscope_mark("plain");
	inferscope_mark_with("with", inferscope_int("tokens", 1024), inferscope_string("language", "en"));
	inferscope_mark_values("values", values, 2);
	inferscope_counter("queue", 3);
}

static void ranges(void)
{
	inferscope_async_begin("request", 7);
	inferscope_flow_out("batch", 8);
	inferscope_flow_in("batch", 8);
	inferscope_async_end("request", 7);
}

int main(void)
{
	inferscope_thread_name("main");
	scopes("dynamic");
	marks();
	ranges();
	return inferscope_enabled();
}
