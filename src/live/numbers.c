/* numbers.c - see numbers.h. */
#include "live/numbers.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char *unknown(char *out)
{
	snprintf(out, NUMBER_SIZE, "-");
	return out;
}

static bool is_odd(double value)
{
	return !(value >= 0 && value < 1e18);
}

const char *number_bytes(char *out, double bytes)
{
	return is_odd(bytes) ? unknown(out) : text_byte_size(out, (uint64_t)bytes);
}

const char *number_rate(char *out, double bytes)
{
	size_t n;

	if (is_odd(bytes))
		return unknown(out);
	text_byte_size(out, (uint64_t)bytes);
	n = strlen(out);
	snprintf(out + n, NUMBER_SIZE - n, "/s");
	return out;
}

const char *number_share(char *out, double share)
{
	if (is_odd(share))
		return unknown(out);
	snprintf(out, NUMBER_SIZE, share < 0.0995 ? "%.1f %%" : "%.0f %%", share * 100);
	return out;
}

const char *number_seconds(char *out, double seconds)
{
	if (is_odd(seconds))
		return unknown(out);
	if (seconds < 1)
		return text_duration(out, seconds * 1e9);
	if (seconds < 60)
		snprintf(out, NUMBER_SIZE, "%.1f s", seconds);
	else if (seconds < 3600)
		snprintf(out, NUMBER_SIZE, "%d:%02d", (int)(seconds / 60), (int)seconds % 60);
	else
		snprintf(out, NUMBER_SIZE, "%d:%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60) % 60, (int)seconds % 60);
	return out;
}

const char *number_plain(char *out, double value)
{
	if (is_odd(value))
		return unknown(out);
	if (value < 10000)
		snprintf(out, NUMBER_SIZE, value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value);
	else
		text_group_digits(out, (uint64_t)value);
	return out;
}

const char *number_count(char *out, double value)
{
	if (is_odd(value))
		return unknown(out);
	snprintf(out, NUMBER_SIZE, "%.3g", value);
	return out;
}
