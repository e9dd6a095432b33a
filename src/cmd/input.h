/*
 * input.h - opening the traces a command was given, of whatever format.
 *
 * A trace of another tool is written as SBT into a file without a name, and
 * read from there.
 */
#ifndef CMD_INPUT_H
#define CMD_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "import/import.h"

struct input_paths;
struct trace_reader;

struct input_options {
	bool lean; /* leave out what no analysis looks at (import/import.h) */
	const char *output; /* what is going to be written and must not be read; may be NULL */
};

/* What was opened. */
struct input_about {
	char *title;        /* the path, or "ranks/ (8 files)" */
	const char *format; /* "chrome"; "mixed" when they differ */
	size_t file_count;
	struct import_reports reports; /* a row a file; none when it is an SBT file itself */
};
void input_about_release(struct input_about *about);

/* One trace.  Returns 0, or an exit code, having said what is wrong. */
int input_open(struct trace_reader **ret, const char *path);

/* EXIT_USAGE, said in a sentence, when the output is the very file that is to be read; else 0.  output may be NULL. */
int input_spare(const char *path, const char *output);

/* Files and folders, which become one trace.  Damage to files of other formats is said in a warning at once, that to an
 * SBT file by input_warn_of_damage(). */
int input_open_many(struct trace_reader **ret, char **paths, int count, const struct input_options *options,
		    struct input_about *ret_about);

/* The two halves of that.  Which files are meant (input_paths.h; `output` is left out in folders, else refused), and all of them as SBT
 * into fd, which is taken over; the first says what is wrong itself, the second in err.  A file that cannot be read is
 * passed over with a warning if there are others. */
int input_expand(struct input_paths *list, char **paths, int count, const char *output);
int input_import(int fd, const struct input_paths *list, const struct input_options *options, struct import_reports *ret,
		 struct error *err);

/* One warning on standard error when parts of the trace could not be read.  Call it after decoding. */
void input_warn_of_damage(const struct trace_reader *reader, const char *path);

/* EXIT_INPUT, said in a sentence, when there are blocks of events but none of them could be decoded; else 0. */
int input_check_readable(const struct trace_reader *reader, const char *path, unsigned long long decoded);
/* The same for those who do not count: blocks are tried until one is found that can be. */
int input_check_any(struct trace_reader *reader, const char *path);

#endif
