/*
 * info_print.h - a trace's summary, for people and for programs.
 */
#ifndef CMD_INFO_PRINT_H
#define CMD_INFO_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct printer;
struct summary;
struct trace_reader;

struct info {
	const char *path;
	const struct trace_reader *reader;
	struct summary *summary;
	size_t top; /* rows of each table in the text */
};

/* Both sort the tables of the summary. */
void info_print_text(const struct info *info, struct printer *out);
int info_json(const struct info *info, struct buffer *out);

/* When the trace started, nanoseconds since 1970; false when it does not say. */
bool info_start_time(const struct trace_reader *reader, int64_t *ret_ns);
/* 2026-03-01T12:00:00.123Z; out has room for 40 bytes. */
char *info_format_time(char *out, int64_t ns);
const char *info_clock_name(unsigned kind);
const char *info_track_kind(unsigned kind); /* "thread" */
/* An integer that the recorder left; 0 when it did not. */
uint64_t info_count(const struct trace_reader *reader, const char *key);
/* How threads were looked at from outside: a number of the map `sampling`. */
bool info_sampling(const struct trace_reader *reader, const char *key, int64_t *ret);
/* What the recorder found out about GPUs: a text or a flag of the map `gpu`, or one of the libraries. */
bool info_gpu_text(const struct trace_reader *reader, const char *key, const char **ret, size_t *ret_size);
bool info_gpu_flag(const struct trace_reader *reader, const char *key); /* false when it is not there */
bool info_gpu_library(const struct trace_reader *reader, uint32_t i, const char **ret, size_t *ret_size);
/* The recorder's notes of what processes had to say: note i, or false.  Not to be trusted. */
bool info_note(const struct trace_reader *reader, uint32_t i, const char **ret, size_t *ret_size);

#endif
