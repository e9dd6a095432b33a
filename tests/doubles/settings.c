#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long long setting_number(const char *variable, long long otherwise)
{
	const char *text = getenv(variable);

	return text && *text ? strtoll(text, NULL, 0) : otherwise;
}

bool setting_pair(const char *variable, long long *ret_first, long long *ret_second)
{
	const char *text = getenv(variable);
	long long first, second;

	if (!text || sscanf(text, "%lli:%lli", &first, &second) != 2)
		return false;
	*ret_first = first;
	*ret_second = second;
	return true;
}

bool setting_item(const char *variable, const char *key, char *ret_value, size_t size)
{
	const char *item = getenv(variable);
	size_t length = strlen(key);

	while (item && *item) {
		size_t whole = strcspn(item, ",");

		if (whole >= length && strncmp(item, key, length) == 0 && (whole == length || item[length] == '=')) {
			const char *value = item + length + (whole != length);

			snprintf(ret_value, size, "%.*s", (int)(item + whole - value), value);
			return true;
		}
		item += whole + (item[whole] == ',');
	}
	return false;
}
