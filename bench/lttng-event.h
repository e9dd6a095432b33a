/*
 * lttng-event.h - the event of bench-lttng, as LTTng-UST's generator wants it: included once by users, and again by the
 * generator itself for each thing it makes of it.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER inferscope_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench/lttng-event.h"

#if !defined(BENCH_LTTNG_EVENT_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_EVENT_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* What one of our slots carries besides the time: a number and a name's id. */
LTTNG_UST_TRACEPOINT_EVENT(inferscope_bench, event, LTTNG_UST_TP_ARGS(uint64_t, value, uint32_t, name),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, value, value)
						       lttng_ust_field_integer(uint32_t, name, name)))

#endif

#include <lttng/tracepoint-event.h>
