/* json_number.c - numbers from text; see json.h. */
#include "import/json.h"

#include <stdlib.h>

#define DIGITS_MAX 19 /* that surely fit a uint64_t */
#define EXPONENT_MAX 10000
#define LARGEST ((uint64_t)1 << 62)

static const uint64_t powers[20] = {
	1u,
	10u,
	100u,
	1000u,
	10000u,
	100000u,
	1000000u,
	10000000u,
	100000000u,
	1000000000u,
	10000000000u,
	100000000000u,
	1000000000000u,
	10000000000000u,
	100000000000000u,
	1000000000000000u,
	10000000000000000u,
	100000000000000000u,
	1000000000000000000u,
	10000000000000000000u,
};

/* mantissa * 10^exponent; digits beyond the 19th are in the exponent only. */
struct decimal {
	uint64_t mantissa;
	int exponent;
	bool negative;
};

static const char *read_exponent(const char *at, const char *end, int *exponent)
{
	bool negative = false;
	int value = 0;

	if (at < end && (*at == '+' || *at == '-'))
		negative = *at++ == '-';
	if (at == end)
		return NULL;
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		value = value < EXPONENT_MAX ? value * 10 + (*at - '0') : value;
	*exponent += negative ? -value : value;
	return at;
}

/* Digits, as many as count; the rest moves the point. */
static const char *read_digits(const char *at, const char *end, struct decimal *d, int *used, bool fraction)
{
	for (; at < end && *at >= '0' && *at <= '9'; at++) {
		if (*used < DIGITS_MAX) {
			d->mantissa = d->mantissa * 10 + (unsigned)(*at - '0');
			*used += d->mantissa != 0;
			d->exponent -= fraction;
		} else {
			d->exponent += !fraction && d->exponent < EXPONENT_MAX;
		}
	}
	return at;
}

static bool read_decimal(const char *text, size_t size, struct decimal *d)
{
	const char *at = text, *end = text + size, *digits;
	int used = 0;

	*d = (struct decimal){ 0 };
	if (at < end && *at == '-') {
		d->negative = true;
		at++;
	}
	digits = at;
	at = read_digits(at, end, d, &used, false);
	if (at == digits)
		return false;
	if (at < end && *at == '.')
		at = read_digits(at + 1, end, d, &used, true);
	if (at < end && (*at == 'e' || *at == 'E'))
		at = read_exponent(at + 1, end, &d->exponent);
	return at == end;
}

bool json_decimal(const char *text, size_t size, int scale, int64_t *ret)
{
	struct decimal d;
	uint64_t value, rest;

	if (!read_decimal(text, size, &d))
		return false;
	d.exponent += scale;
	value = d.mantissa;
	if (d.exponent > 0 && value > 0) {
		if (d.exponent >= DIGITS_MAX || __builtin_mul_overflow(value, powers[d.exponent], &value))
			return false;
	} else if (d.exponent < -DIGITS_MAX) {
		value = 0;
	} else if (d.exponent < 0) {
		rest = value % powers[-d.exponent];
		value = value / powers[-d.exponent] + (rest >= powers[-d.exponent] - rest);
	}
	if (value > LARGEST)
		return false;
	*ret = d.negative ? -(int64_t)value : (int64_t)value;
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool hexadecimal(const char *text, size_t size, uint64_t *ret)
{
	uint64_t value = 0;

	if (size == 0 || size > 16)
		return false;
	for (size_t i = 0; i < size; i++) {
		int digit = hex_digit(text[i]);

		if (digit < 0)
			return false;
		value = value << 4 | (unsigned)digit;
	}
	*ret = value;
	return true;
}

bool json_natural(const char *text, size_t size, uint64_t *ret)
{
	uint64_t value = 0;
	size_t i;

	if (size > 2 && text[0] == '0' && (text[1] | 0x20) == 'x')
		return hexadecimal(text + 2, size - 2, ret);
	for (i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
			return false;
	}
	if (size == 0)
		return false;
	*ret = value;
	return true;
}

/* Exact where both parts are exact as doubles, which nearly all are; the rest is for the library. */
bool json_double(const char *text, size_t size, double *ret)
{
	char copy[64], *end;
	struct decimal d;
	double value;

	if (!read_decimal(text, size, &d))
		return false;
	if (d.mantissa <= (uint64_t)1 << 53 && d.exponent <= 0 && d.exponent >= -19) {
		value = (double)d.mantissa / (double)powers[-d.exponent];
		*ret = d.negative ? -value : value;
		return true;
	}
	if (size >= sizeof copy)
		size = sizeof copy - 1;
	memcpy(copy, text, size);
	copy[size] = 0;
	*ret = strtod(copy, &end);
	return end != copy && *ret - *ret == 0;
}
