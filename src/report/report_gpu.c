/* report_gpu.c - what the driver said about a GPU, in one line. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"
#include "report/report_parts.h"

struct line {
	char *text;
	size_t size, used;
};

__attribute__((format(printf, 3, 4))) static void add(struct line *line, bool there, const char *format, ...)
{
	va_list args;
	int n;

	if (!there || line->used + 1 >= line->size)
		return;
	if (line->used)
		line->used += (size_t)snprintf(line->text + line->used, line->size - line->used, ", ");
	if (line->used + 1 >= line->size)
		return;
	va_start(args, format);
	n = vsnprintf(line->text + line->used, line->size - line->used, format, args);
	va_end(args);
	line->used += n > 0 ? (size_t)n : 0;
}

/* "12.3 of 24" and the unit; without a limit the value alone. */
static void add_of(struct line *line, const char *what, double value, double limit, const char *unit)
{
	if (isnan(limit))
		add(line, !isnan(value), "%s%.0f %s", what, value, unit);
	else
		add(line, !isnan(value), "%s%.0f of %.0f %s", what, value, limit, unit);
}

static void add_bytes(struct line *line, const char *what, double value, double limit)
{
	char a[32], b[32];

	if (!(value >= 0 && value < 0x1p63))
		return;
	if (limit >= 0 && limit < 0x1p63)
		add(line, true, "%s%s of %s", what, text_byte_size(a, (uint64_t)value), text_byte_size(b, (uint64_t)limit));
	else
		add(line, true, "%s%s", what, text_byte_size(a, (uint64_t)value));
}

void report_gpu_line(const struct analysis_gpu *g, char *out, size_t size)
{
	struct line line = { .text = out, .size = size };

	out[0] = '\0';
	add(&line, !isnan(g->utilization), "kernels for %.0f %% of the time", g->utilization);
	add_bytes(&line, "memory up to ", g->memory_used, g->memory_total);
	add_bytes(&line, "the program's up to ", g->program_memory, NAN);
	add_of(&line, "clock ", g->sm_clock, g->sm_clock_limit, "MHz");
	add_of(&line, "", g->power, g->power_limit, "W");
	add(&line, !isnan(g->energy), "%.0f J", g->energy);
	add(&line, !isnan(g->temperature_max), "up to %.0f C", g->temperature_max);
	add(&line, g->throttled > 0, "slowed down for %.0f %% of the time", 100 * g->throttled);
}
