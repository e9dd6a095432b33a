/* text.c - see text.h. */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Length of the sequence a lead byte starts, and the range of its second byte, which excludes overlong forms,
 * surrogates and what lies beyond U+10FFFF (Unicode, table 3-7). */
static size_t sequence_of(uint8_t lead, uint8_t *low, uint8_t *high)
{
	*low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
	*high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
	if (lead < 0x80)
		return 1;
	if (lead >= 0xc2 && lead <= 0xdf)
		return 2;
	if (lead >= 0xe0 && lead <= 0xef)
		return 3;
	return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

size_t text_decode(const char *s, size_t size, uint32_t *ret)
{
	const uint8_t *byte = (const uint8_t *)s;
	uint8_t low, high;
	size_t length = sequence_of(byte[0], &low, &high), i;
	uint32_t c;

	*ret = TEXT_INVALID;
	if (length <= 1) {
		if (length == 1)
			*ret = byte[0];
		return 1;
	}
	c = byte[0] & (0x7fu >> length);
	for (i = 1; i < length; i++) {
		if (i >= size || byte[i] < low || byte[i] > high)
			return i;
		c = c << 6 | (byte[i] & 0x3f);
		low = 0x80;
		high = 0xbf;
	}
	*ret = c;
	return length;
}

bool text_is_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) ||                  /* C0, DEL, C1 */
	       c == 0xad || c == 0x61c || c == 0xfeff ||                /* soft hyphen, Arabic letter mark, BOM */
	       (c >= 0x200b && c <= 0x200f) ||                          /* zero width, direction marks */
	       (c >= 0x2028 && c <= 0x202e) ||                          /* line separators, direction overrides */
	       (c >= 0x2060 && c <= 0x206f) ||                          /* invisible operators, isolates */
	       (c >= 0xfff9 && c <= 0xfffb) || (c & ~0x7fu) == 0xe0000; /* annotations, tags */
}

static int append_escaped(struct buffer *buf, const char *s, size_t length, uint32_t c)
{
	size_t i;
	int rc = 0;

	if (c == '\n' || c == '\t' || c == '\r')
		return buffer_append(buf, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r", 2);
	if (c != TEXT_INVALID)
		return buffer_printf(buf, c < 0x80 ? "\\x%02x" : "\\u{%x}", c);
	for (i = 0; i < length && rc == 0; i++)
		rc = buffer_printf(buf, "\\x%02x", (uint8_t)s[i]);
	return rc;
}

int text_append_terminal(struct buffer *buf, const char *s, size_t size, size_t columns)
{
	size_t at = 0, shown = 0, cut = buf->size, length;
	uint32_t c;
	int rc = 0;

	while (at < size && rc == 0) {
		if (columns && shown + 3 == columns)
			cut = buf->size; /* where the dots go if it turns out too long */
		if (columns && shown == columns) {
			buf->size = cut;
			return buffer_append(buf, "...", 3);
		}
		length = text_decode(s + at, size - at, &c);
		rc = c == TEXT_INVALID || text_is_unsafe(c) ? append_escaped(buf, s + at, length, c)
							    : buffer_append(buf, s + at, length);
		at += length;
		shown++;
	}
	return rc;
}

static int append_json_unit(struct buffer *buf, uint32_t c)
{
	static const char letters[] = "\"\"\\\\\bb\ff\nn\rr\tt";
	const char *p;

	for (p = letters; *p; p += 2)
		if ((uint32_t)p[0] == c)
			return buffer_append(buf, (char[]){ '\\', p[1] }, 2);
	if (c >= 0x10000)
		return buffer_printf(buf, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
	return buffer_printf(buf, "\\u%04x", c);
}

/* Bytes that go into a JSON string as they are: printable ASCII without the quote and the backslash. */
static size_t plain_json_run(const char *s, size_t size)
{
	size_t n = 0;

	while (n < size && (uint8_t)s[n] >= 0x20 && (uint8_t)s[n] < 0x7f && s[n] != '"' && s[n] != '\\')
		n++;
	return n;
}

int text_append_json(struct buffer *buf, const char *s, size_t size)
{
	size_t at = 0, length;
	uint32_t c;
	int rc = buffer_append(buf, "\"", 1);

	while (at < size && rc == 0) {
		length = plain_json_run(s + at, size - at);
		if (length > 0) {
			rc = buffer_append(buf, s + at, length);
			at += length;
			continue;
		}
		length = text_decode(s + at, size - at, &c);
		if (c == TEXT_INVALID)
			rc = buffer_append(buf, "\xef\xbf\xbd", 3);
		else if (text_is_unsafe(c) || c == '"' || c == '\\')
			rc = append_json_unit(buf, c);
		else
			rc = buffer_append(buf, s + at, length);
		at += length;
	}
	return rc ? rc : buffer_append(buf, "\"", 1);
}

int text_append_csv(struct buffer *buf, const char *s, size_t size)
{
	bool formula = size > 0 && strchr("=+-@\t\r", s[0]) && s[0];
	bool quoted = size > 0 && (memchr(s, ',', size) || memchr(s, '"', size) || memchr(s, ';', size) ||
				   s[0] == ' ' || s[size - 1] == ' ');
	size_t at = 0, end;
	int rc = buffer_append(buf, "\"", quoted);

	if (rc == 0)
		rc = buffer_append(buf, "'", formula);
	while (at < size && rc == 0) {
		const char *quote = memchr(s + at, '"', size - at);

		end = quote ? (size_t)(quote - s) + 1 : size;
		rc = text_append_terminal(buf, s + at, end - at, 0);
		if (quote && rc == 0)
			rc = buffer_append(buf, "\"", 1);
		at = end;
	}
	return quoted && rc == 0 ? buffer_append(buf, "\"", 1) : rc;
}

#define WORD_MAX 48

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Three rows of the usual table: a swap of neighbours looks two rows back. */
size_t text_distance(const char *a, const char *b)
{
	size_t rows[3][WORD_MAX + 1], n = strlen(a), m = strlen(b), i, j, cost;
	size_t *before = rows[0], *above = rows[1], *row = rows[2], *spare;

	if (n > WORD_MAX || m > WORD_MAX)
		return n > m ? n - m : m - n;
	for (j = 0; j <= m; j++)
		row[j] = j;
	for (i = 1; i <= n; i++) {
		spare = before;
		before = above;
		above = row;
		row = spare;
		row[0] = i;
		for (j = 1; j <= m; j++) {
			cost = least(above[j - 1] + (a[i - 1] != b[j - 1]), least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				cost = least(cost, before[j - 2] + 1);
			row[j] = cost;
		}
	}
	return row[m];
}

const char *text_nearest(const char *word, const char *(*next)(void *arg, size_t i), void *arg)
{
	const char *best = NULL, *candidate;
	size_t i, length = strlen(word), distance, best_distance = length / 2 + 1;

	if (length > WORD_MAX)
		return NULL;
	for (i = 0; (candidate = next(arg, i)); i++) {
		/* an abbreviation is meant even when much is missing */
		distance = length >= 3 && strncmp(candidate, word, length) == 0 ? 1 : text_distance(word, candidate);
		if (distance < best_distance) {
			best = candidate;
			best_distance = distance;
		}
	}
	return best;
}

int text_parse_integer(const char *s, int64_t min, int64_t max, int64_t *ret)
{
	long long value;
	char *end;

	if (!isdigit((unsigned char)s[0]) && !(s[0] == '-' && isdigit((unsigned char)s[1])))
		return -EINVAL;
	errno = 0;
	value = strtoll(s, &end, 10);
	if (*end)
		return -EINVAL;
	if (errno == ERANGE || value < min || value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

char *text_group_digits(char *out, uint64_t value)
{
	char digits[24];
	int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value), i;
	char *at = out;

	for (i = 0; i < n; i++) {
		*at++ = digits[i];
		if ((n - i) % 3 == 1 && i + 1 < n)
			*at++ = ',';
	}
	*at = 0;
	return out;
}

char *text_count(char *out, uint64_t count, const char *one, const char *many)
{
	char digits[32];

	snprintf(out, TEXT_COUNT_SIZE, "%s %s", text_group_digits(digits, count), count == 1 ? one : many);
	return out;
}

char *text_byte_size(char *out, uint64_t value)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	double size = (double)value;
	size_t unit = 0;

	while (size >= 999.5 && unit + 1 < sizeof units / sizeof units[0]) {
		size /= 1000;
		unit++;
	}
	snprintf(out, 32, unit && size < 99.95 ? "%.1f %s" : "%.0f %s", size, units[unit]);
	return out;
}

size_t text_us(char *out, int64_t ns)
{
	uint64_t value = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	char digits[24];
	size_t n = 0, size = 0;

	do {
		digits[n++] = (char)('0' + value % 10);
		value /= 10;
		if (n == 3)
			digits[n++] = '.';
	} while (value > 0 || n < 5);
	if (ns < 0)
		out[size++] = '-';
	while (n > 0)
		out[size++] = digits[--n];
	return size;
}

char *text_duration(char *out, double ns)
{
	if (ns < 1e3)
		snprintf(out, 32, "%.0f ns", ns);
	else if (ns < 1e6)
		snprintf(out, 32, "%.2f us", ns / 1e3);
	else if (ns < 1e9)
		snprintf(out, 32, "%.2f ms", ns / 1e6);
	else
		snprintf(out, 32, "%.3f s", ns / 1e9);
	return out;
}
