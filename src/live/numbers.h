/*
 * numbers.h - numbers of a snapshot as people read them; "-" for one that is not known.
 */
#ifndef LIVE_NUMBERS_H
#define LIVE_NUMBERS_H

#define NUMBER_SIZE 32u /* of out, which is returned */

const char *number_bytes(char *out, double bytes);
const char *number_rate(char *out, double bytes); /* bytes a second */
const char *number_share(char *out, double share); /* "31 %" */
const char *number_seconds(char *out, double seconds);
const char *number_plain(char *out, double value);
const char *number_count(char *out, double value); /* "2", "0.5": as it is given, in three digits */

#endif
