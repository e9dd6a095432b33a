/*
 * text.h - putting text of unknown origin where it does no harm.
 *
 * Names in traces, keys in configuration files and command lines of other
 * processes are bytes somebody else chose.  Whatever is printed goes through
 * one of these.  The appending functions return 0 or -ENOMEM.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/*
 * Decodes the character at s (size > 0).  Returns its length in bytes; *ret is
 * the code point, or TEXT_INVALID for bytes that are not UTF-8 (overlong,
 * surrogate, beyond U+10FFFF, cut off).  The length of an invalid sequence is
 * that of its longest correct beginning, at least 1, which is how Unicode
 * recommends to replace them and what Python's errors="replace" does.
 */
#define TEXT_INVALID UINT32_MAX
size_t text_decode(const char *s, size_t size, uint32_t *ret);

/* Control characters, and those that reorder or hide what stands next to them. */
bool text_is_unsafe(uint32_t c);

/* For a terminal, on one line: unsafe characters as \n, \x1b or \u{202e}, bytes that are not UTF-8 as \xff.  At most
 * `columns` code points (0: no limit; else at least 3); a longer text is cut and ends in "...". */
int text_append_terminal(struct buffer *buf, const char *s, size_t size, size_t columns);

/* A JSON string with its quotes.  What is not UTF-8 becomes U+FFFD; unsafe characters are escaped, so that the JSON may
 * be shown on a terminal. */
int text_append_json(struct buffer *buf, const char *s, size_t size);

/*
 * A CSV cell of text.  Unsafe characters are escaped as for a terminal, so
 * that a row is always one line; the cell is quoted when it has to be.  A text
 * that a spreadsheet would take for a formula (it starts with = + - @ or a
 * tab) gets an apostrophe before it: the data is then no longer exact, which
 * is the lesser evil, and JSON is there for exactness.
 */
int text_append_csv(struct buffer *buf, const char *s, size_t size);

/* How many letters have to be changed, added, left out or swapped with their neighbour to get from one to the other.
 * Words over 48 letters: the difference of their lengths. */
size_t text_distance(const char *a, const char *b);

/* The candidate nearest to `word` if it is near enough to be meant, else NULL.  next(arg, i) yields candidates, then
 * NULL. */
const char *text_nearest(const char *word, const char *(*next)(void *arg, size_t i), void *arg);

/* A whole decimal integer, nothing before or after; -EINVAL, or -ERANGE outside [min, max]. */
int text_parse_integer(const char *s, int64_t min, int64_t max, int64_t *ret);

/* 1234567 as "1,234,567"; out has room for 32 bytes.  Returns out. */
char *text_group_digits(char *out, uint64_t value);

/* A number of things: "1 process", "2,000 processes"; out has room for TEXT_COUNT_SIZE bytes.  Returns out. */
#define TEXT_COUNT_SIZE 96
char *text_count(char *out, uint64_t count, const char *one, const char *many);

/* Nanoseconds as microseconds with three decimals, exactly: 1234567 as "1234.567"; out has room for 32 bytes.  Returns the
 * length; there is no NUL. */
size_t text_us(char *out, int64_t ns);

/* A time with the unit that suits it, "1.23 ms"; out has room for 32 bytes.  Returns out. */
char *text_duration(char *out, double ns);

/* 61234 as "61.2 kB"; out has room for 32 bytes.  Returns out. */
char *text_byte_size(char *out, uint64_t value);

#endif
