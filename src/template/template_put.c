/* template_put.c - values, made safe for where they go. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "template/template_parts.h"

const char *formatter_name(enum formatter formatter)
{
	static const char *const names[FORMATTER_COUNT] = { "", "time", "ms", "percent", "share", "count", "bytes" };

	return names[formatter];
}

/* ---- Strings ------------------------------------------------------------------ */

static int put_html(const char *text, size_t size, struct buffer *out)
{
	int rc = 0;

	for (size_t i = 0; i < size && rc == 0; i++) {
		const char *name = text[i] == '&' ? "&amp;" : text[i] == '<' ? "&lt;" : text[i] == '>' ? "&gt;" :
				   text[i] == '"' ? "&quot;" : text[i] == '\'' ? "&#39;" : NULL;

		rc = name ? buffer_append(out, name, strlen(name)) : buffer_append(out, &text[i], 1);
	}
	return rc;
}

static size_t longest_run(const char *text, size_t size)
{
	size_t longest = 0, run = 0;

	for (size_t i = 0; i < size; i++) {
		run = text[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static int put_fence(size_t length, struct buffer *out)
{
	int rc = 0;

	for (size_t i = 0; i < length && rc == 0; i++)
		rc = buffer_append(out, "`", 1);
	return rc;
}

/* A code span whose fence is not in it, as in the reports of ours; in a table a bar would end the cell even there. */
static int put_code(const char *text, size_t size, struct buffer *out)
{
	size_t fence = longest_run(text, size) + 1;
	int rc = put_fence(fence, out);

	rc = rc ? rc : buffer_append(out, " ", fence > 1);
	for (size_t i = 0; i < size && rc == 0; i++) {
		rc = buffer_append(out, "\\", text[i] == '|');
		rc = rc ? rc : buffer_append(out, &text[i], 1);
	}
	rc = rc ? rc : buffer_append(out, " ", fence > 1);
	return rc ? rc : put_fence(fence, out);
}

int template_put_string(enum template_format format, const char *text, size_t size, struct buffer *out)
{
	struct buffer safe = BUFFER_INIT;
	int rc = text_append_terminal(&safe, text, size, 0);

	if (rc == 0 && safe.size)
		rc = format == TEMPLATE_HTML ? put_html((const char *)safe.data, safe.size, out) :
					       put_code((const char *)safe.data, safe.size, out);
	buffer_release(&safe);
	return rc;
}

/* ---- Numbers ------------------------------------------------------------------ */

/* Whole numbers as far as those of a double are exact. */
static double bounded(double number)
{
	return fmin(9e15, fmax(0, round(fabs(number))));
}

int template_put_number(const struct value *value, enum formatter formatter, struct buffer *out)
{
	double number = values_number(value);
	const char *minus = number < 0 ? "-" : "";
	char text[32];

	switch (formatter) {
	case FORMAT_TIME:
		return buffer_printf(out, "%s%s", minus, text_duration(text, fabs(number) * 1e3));
	case FORMAT_MS:
		return buffer_printf(out, "%.3f ms", number / 1e3);
	case FORMAT_PERCENT:
		return buffer_printf(out, "%.1f %%", number);
	case FORMAT_SHARE:
		return buffer_printf(out, "%.1f %%", 100 * number);
	case FORMAT_COUNT:
		return buffer_printf(out, "%s%s", minus, text_group_digits(text, (uint64_t)bounded(number)));
	case FORMAT_BYTES:
		return buffer_printf(out, "%s%s", minus, text_byte_size(text, (uint64_t)bounded(number)));
	default:
		return buffer_append(out, value->text, value->size);
	}
}
