/* log.c - one sink, one level; see log.h. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static log_sink_fn sink;
static void *sink_arg;
static enum log_level threshold = LOG_LEVEL_INFO;

void log_set_sink(log_sink_fn fn, void *arg)
{
	sink = fn;
	sink_arg = arg;
}

void log_set_level(enum log_level level)
{
	threshold = level;
}

const char *log_level_name(enum log_level level)
{
	static const char *const names[] = { "debug", "info", "warn", "error" };

	return level <= LOG_LEVEL_ERROR ? names[level] : "error";
}

void log_message(enum log_level level, const char *tag, const char *format, ...)
{
	char text[LOG_MESSAGE_MAX];
	int saved = errno; /* callers log between a failure and its strerror() */
	va_list args;

	if (!sink || level < threshold)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	sink(sink_arg, level, tag, text);
	errno = saved;
}
