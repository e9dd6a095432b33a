/*
 * log.h - what the folders below cmd/ have to say while they work.
 *
 * Silent until somebody gives it a sink.  A file that logs names itself first:
 *
 *      #define LOG_TAG "drain"
 *      #include "base/log.h"
 *      log_warn("a ring is damaged, its events are counted as lost pid=%d", pid);
 *
 * A message is a sentence, then key=value.  It has no newline, is cut at
 * LOG_MESSAGE_MAX bytes and may hold untrusted bytes: the sink escapes them
 * (base/text.h).  Sinks may be called from any thread.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#define LOG_MESSAGE_MAX 1024

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };

typedef void (*log_sink_fn)(void *arg, enum log_level level, const char *tag, const char *message);

/* Set up once, before other threads log.  A NULL sink is silence. */
void log_set_sink(log_sink_fn fn, void *arg);
void log_set_level(enum log_level level); /* the least important level that reaches the sink; starts as info */

const char *log_level_name(enum log_level level);

void log_message(enum log_level level, const char *tag, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define log_debug(...) log_message(LOG_LEVEL_DEBUG, LOG_TAG, __VA_ARGS__)
#define log_info(...) log_message(LOG_LEVEL_INFO, LOG_TAG, __VA_ARGS__)
#define log_warn(...) log_message(LOG_LEVEL_WARN, LOG_TAG, __VA_ARGS__)
#define log_error(...) log_message(LOG_LEVEL_ERROR, LOG_TAG, __VA_ARGS__)

#endif
