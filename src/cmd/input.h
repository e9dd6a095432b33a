/*
 * input.h - opening the trace a command was given.
 */
#ifndef CMD_INPUT_H
#define CMD_INPUT_H

struct trace_reader;

/* Returns 0, or an exit code, having said what is wrong. */
int input_open(struct trace_reader **ret, const char *path);

/* One warning on standard error when parts of the trace could not be read.  Call it after decoding. */
void input_warn_of_damage(const struct trace_reader *reader, const char *path);

/* EXIT_INPUT, said in a sentence, when there are blocks of events but none of them could be decoded; else 0. */
int input_check_readable(const struct trace_reader *reader, const char *path, unsigned long long decoded);

#endif
