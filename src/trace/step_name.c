/* step_name.c - see step_name.h. */
#include "trace/step_name.h"

#include <string.h>
#include <strings.h>

static bool is_number_part(char c)
{
	return (c >= '0' && c <= '9') || (c && strchr(" _#:-./=", c));
}

size_t step_stem(const char *name, size_t size)
{
	size_t stem = size;

	while (stem > 0 && is_number_part(name[stem - 1]))
		stem--;
	return stem ? stem : size;
}

bool step_has_word(const char *stem, size_t size, const char *const *words)
{
	for (; *words; words++) {
		size_t length = strlen(*words);

		for (size_t i = 0; i + length <= size; i++)
			if ((stem[i] | 0x20) == **words && strncasecmp(stem + i, *words, length) == 0)
				return true;
	}
	return false;
}

enum step_rank step_rank(const char *stem, size_t size)
{
	static const char *const steps[] = { "step", "iter", "batch", "request", NULL };
	static const char *const work[] = { "forward", "generate", "decode", "infer", "predict", "train", "token", NULL };

	return step_has_word(stem, size, steps) ? STEP_STEP : step_has_word(stem, size, work) ? STEP_WORK : STEP_NONE;
}

bool step_is_loader(const char *name, size_t size)
{
	static const char prefix[] = "enumerate(DataLoader)";

	return size >= sizeof prefix - 1 && memcmp(name, prefix, sizeof prefix - 1) == 0;
}

uint64_t step_hash(const char *stem, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (uint8_t)stem[i]) * 0x100000001b3u;
	return hash;
}
