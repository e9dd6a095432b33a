/*
 * perfetto_kind.c - what the categories of events and the names of GPU stages say.
 *
 * Tools that turn Kineto's traces into Perfetto's keep its categories, and our
 * own export writes them.
 */
#include "import/perfetto.h"

#include <string.h>
#include <strings.h>

#include "import/chrome.h"

#define KIND_NAME_MAX 32u

static bool holds(struct text text, const char *word)
{
	size_t size = strlen(word);

	for (size_t i = 0; i + size <= text.size; i++)
		if (strncasecmp(text.data + i, word, size) == 0)
			return true;
	return false;
}

/* A name of ours, marked in our exports where it could be anybody's; else only one that nobody else gives a category:
 * "gpu_kernel", and not "sync". */
static uint8_t kind_of_our_name(struct text category)
{
	static const char mark[] = "inferscope.";
	char name[KIND_NAME_MAX], *word = name;
	unsigned kind;

	if (category.size == 0 || category.size >= sizeof name)
		return EVENT_NONE;
	memcpy(name, category.data, category.size);
	name[category.size] = '\0';
	if (strncmp(name, mark, sizeof mark - 1) == 0)
		word += sizeof mark - 1;
	kind = word != name || strchr(name, '_') ? event_kind_from_name(word) : EVENT_NONE;
	if (kind == EVENT_FLOW)
		return KIND_ARROW;
	return kind < EVENT_FLOW ? (uint8_t)kind : EVENT_NONE;
}

uint8_t kind_of_category(struct text category)
{
	const struct json_text text = { .data = category.data, .size = category.size };

	switch (category.size ? chrome_class_of(&text) : CLASS_OTHER) {
	case CLASS_SCOPE:
		return EVENT_SCOPE;
	case CLASS_OP:
		return EVENT_OP;
	case CLASS_CALL:
		return EVENT_CPU_CALL;
	case CLASS_RUNTIME:
		return EVENT_RUNTIME_CALL;
	case CLASS_KERNEL:
		return EVENT_GPU_KERNEL;
	case CLASS_COPY:
		return KIND_COPY;
	case CLASS_SET:
		return EVENT_MEMSET;
	case CLASS_SYNC:
		return EVENT_SYNC;
	case CLASS_DEVICE_SCOPE:
		return KIND_DEVICE_SCOPE;
	default:
		return kind_of_our_name(category);
	}
}

bool kind_on_device(uint8_t kind)
{
	return (kind >= EVENT_GPU_KERNEL && kind <= EVENT_COLLECTIVE) || kind == KIND_COPY || kind == KIND_DEVICE_SCOPE;
}

static void set_copy(struct perfetto_event *pe, struct text name)
{
	const struct json_text text = { .data = name.data, .size = name.size }, none = { 0 };
	uint64_t memory = 0;

	pe->e.kind = (uint8_t)chrome_copy_kind(&text, &none, &memory);
	if (memory)
		import_event_set(&pe->e, FIELD_MEMORY_KIND, memory);
}

void kind_set(struct perfetto_event *pe, uint8_t kind, struct text name)
{
	if (kind == KIND_COPY)
		set_copy(pe, name);
	else
		pe->e.kind = kind == EVENT_NONE || kind == KIND_DEVICE_SCOPE || kind == KIND_ARROW ? EVENT_SCOPE : kind;
}

uint8_t kind_of_stage(struct text stage, struct text name)
{
	if (holds(stage, "memset") || holds(name, "memset"))
		return EVENT_MEMSET;
	if (holds(stage, "memcpy") || holds(stage, "copy") || holds(name, "memcpy"))
		return KIND_COPY;
	if (holds(stage, "annotation"))
		return KIND_DEVICE_SCOPE;
	return EVENT_GPU_KERNEL;
}

bool text_number_after(struct text text, const char *word, uint64_t *ret)
{
	size_t size = strlen(word);

	for (size_t i = 0; i + size < text.size; i++) {
		size_t at = i + size, digits = 0;
		uint64_t value = 0;

		if (strncasecmp(text.data + i, word, size) != 0)
			continue;
		while (at < text.size && strchr(" #:_-", text.data[at]) && text.data[at])
			at++;
		for (; at < text.size && text.data[at] >= '0' && text.data[at] <= '9'; at++, digits++)
			if (__builtin_mul_overflow(value, 10, &value) ||
			    __builtin_add_overflow(value, (uint64_t)(text.data[at] - '0'), &value))
				return false;
		if (digits) {
			*ret = value;
			return true;
		}
	}
	return false;
}
