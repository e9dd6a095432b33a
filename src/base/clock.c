#include "base/clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define TRIES 16

static int64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts) != 0)
		return 0;
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

uint64_t clock_ticks_slow(enum clock_source source)
{
	return (uint64_t)clock_ns(source == CLOCK_SOURCE_MONOTONIC_RAW ? CLOCK_MONOTONIC_RAW : CLOCK_MONOTONIC);
}

#if defined(__x86_64__)

static int tsc_is_invariant(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

/* The kernel compares TSCs over CPUs and stops using them when they disagree: its choice is the evidence. */
static int kernel_uses_tsc(void)
{
	char text[32] = "";
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		ssize_t n = read(fd, text, sizeof text - 1);

		text[n > 0 ? n : 0] = '\0';
		close(fd);
	}
	return strncmp(text, "tsc", 3) == 0;
}

static enum clock_source fast_source(const char **ret_why)
{
	if (!tsc_is_invariant())
		*ret_why = "the TSC of this CPU is not invariant";
	else if (!kernel_uses_tsc())
		*ret_why = "the kernel does not use the TSC as its clock source";
	else
		return CLOCK_SOURCE_TSC;
	return 0;
}

#elif defined(__aarch64__)

static enum clock_source fast_source(const char **ret_why)
{
	(void)ret_why;
	return CLOCK_SOURCE_ARM;
}

#else

static enum clock_source fast_source(const char **ret_why)
{
	*ret_why = "there is no known cycle counter on this architecture";
	return 0;
}

#endif

enum clock_source clock_source_best(const char **ret_why)
{
	const char *why = "";
	enum clock_source source = fast_source(&why);
	struct timespec ts;

	if (!source)
		source = clock_gettime(CLOCK_MONOTONIC_RAW, &ts) == 0 ? CLOCK_SOURCE_MONOTONIC_RAW : CLOCK_SOURCE_MONOTONIC;
	if (ret_why)
		*ret_why = why;
	return source;
}

const char *clock_source_name(enum clock_source source)
{
	switch (source) {
	case CLOCK_SOURCE_TSC:
		return "TSC";
	case CLOCK_SOURCE_ARM:
		return "ARM virtual counter";
	case CLOCK_SOURCE_MONOTONIC_RAW:
		return "CLOCK_MONOTONIC_RAW";
	case CLOCK_SOURCE_MONOTONIC:
		return "CLOCK_MONOTONIC";
	}
	return "unknown";
}

void clock_read_all(enum clock_source source, struct clock_reading *ret)
{
	struct clock_reading best = { .width = UINT64_MAX };

	for (int i = 0; i < TRIES; i++) {
		struct clock_reading r;
		uint64_t before = clock_ticks(source), after;

		r.monotonic_ns = clock_ns(CLOCK_MONOTONIC);
		r.raw_ns = clock_ns(CLOCK_MONOTONIC_RAW); /* the one that is fitted, nearest to the middle */
		r.realtime_ns = clock_ns(CLOCK_REALTIME);
		after = clock_ticks(source);
		r.width = after - before;
		r.ticks = (int64_t)(before + r.width / 2);
		if (r.width < best.width)
			best = r;
	}
	*ret = best;
}

uint64_t clock_measure_rate(enum clock_source source)
{
	struct clock_reading a, b;

	if (source != CLOCK_SOURCE_TSC && source != CLOCK_SOURCE_ARM)
		return 1000000000;
	clock_read_all(source, &a);
	do
		clock_read_all(source, &b);
	while (b.raw_ns - a.raw_ns < 1000000);
	return (uint64_t)((double)(b.ticks - a.ticks) * 1e9 / (double)(b.raw_ns - a.raw_ns));
}
