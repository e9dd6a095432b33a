/* chrome_kind.c - what categories and names of copies mean; see chrome.h. */
#include "import/chrome.h"

#include <strings.h>

static const struct {
	uint8_t size;
	char name[22];
	uint8_t class;
} categories[] = {
#define ROW(text) sizeof(text) - 1, text
	{ ROW("cpu_op"), CLASS_OP },
	{ ROW("python_function"), CLASS_CALL },
	{ ROW("cuda_runtime"), CLASS_RUNTIME },
	{ ROW("kernel"), CLASS_KERNEL },
	{ ROW("ac2g"), CLASS_LAUNCH_FLOW },
	{ ROW("cpu_instant_event"), CLASS_MEMORY },
	{ ROW("cuda_driver"), CLASS_RUNTIME },
	{ ROW("gpu_memcpy"), CLASS_COPY },
	{ ROW("gpu_memset"), CLASS_SET },
	{ ROW("user_annotation"), CLASS_SCOPE },
	{ ROW("gpu_user_annotation"), CLASS_DEVICE_SCOPE },
	{ ROW("cuda_sync"), CLASS_SYNC },
	{ ROW("overhead"), CLASS_SCOPE },
	{ ROW("trace"), CLASS_SCOPE },
	{ ROW("pytorch profiler"), CLASS_SCOPE },
	/* of other devices */
	{ ROW("mtia_ccp_events"), CLASS_KERNEL },
	{ ROW("mtia_runtime"), CLASS_RUNTIME },
	{ ROW("glow_runtime"), CLASS_RUNTIME },
	{ ROW("hip_runtime"), CLASS_RUNTIME },
	{ ROW("hip_driver"), CLASS_RUNTIME },
	{ ROW("hip_api"), CLASS_RUNTIME },
	{ ROW("roctracer_runtime"), CLASS_RUNTIME },
	{ ROW("xpu_runtime"), CLASS_RUNTIME },
	{ ROW("xpu_driver"), CLASS_RUNTIME },
	{ ROW("xpu_sync"), CLASS_SYNC },
	{ ROW("hpu_op"), CLASS_KERNEL },
	{ ROW("privateuse1_runtime"), CLASS_RUNTIME },
	{ ROW("privateuse1_driver"), CLASS_RUNTIME },
	/* of 2021 */
	{ ROW("operator"), CLASS_OP },
	{ ROW("runtime"), CLASS_RUNTIME },
	{ ROW("memcpy"), CLASS_COPY },
	{ ROW("memset"), CLASS_SET },
	{ ROW("async"), CLASS_LAUNCH_FLOW },
	{ ROW("async_cpu_to_gpu"), CLASS_LAUNCH_FLOW },
	/* viztracer's functions */
	{ ROW("fee"), CLASS_CALL },
#undef ROW
};

enum chrome_class chrome_class_of(const struct json_text *category)
{
	for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++)
		if (categories[i].size == category->size &&
		    strncasecmp(categories[i].name, category->data, category->size) == 0)
			return categories[i].class;
	return CLASS_OTHER;
}

const char *chrome_usual_category(enum chrome_class class)
{
	static const char *const names[CLASS_COUNT] = {
		[CLASS_SCOPE] = "user_annotation", [CLASS_OP] = "cpu_op",       [CLASS_CALL] = "python_function",
		[CLASS_RUNTIME] = "cuda_runtime",  [CLASS_KERNEL] = "kernel",   [CLASS_COPY] = "gpu_memcpy",
		[CLASS_SET] = "gpu_memset",        [CLASS_SYNC] = "cuda_sync",  [CLASS_DEVICE_SCOPE] = "gpu_user_annotation",
	};

	return names[class];
}

/* ---- Copies ------------------------------------------------------------------- */

static const char *find(const struct json_text *text, const char *word)
{
	return text->data ? memmem(text->data, text->size, word, strlen(word)) : NULL;
}

struct direction {
	const char *word;
	enum event_kind kind;
};

/* NVIDIA and Kineto say "HtoD", HIP and roctracer "HostToDevice", MTIA "HOST_TO_DEVICE". */
static const struct direction directions[] = {
	{ "HtoD", EVENT_H2D_COPY },           { "DtoH", EVENT_D2H_COPY },
	{ "DtoD", EVENT_D2D_COPY },           { "HtoA", EVENT_H2D_COPY },
	{ "AtoH", EVENT_D2H_COPY },           { "PtoP", EVENT_D2D_COPY },
	{ "HostToDevice", EVENT_H2D_COPY },   { "DeviceToHost", EVENT_D2H_COPY },
	{ "DeviceToDevice", EVENT_D2D_COPY }, { "HOST_TO_DEVICE", EVENT_H2D_COPY },
	{ "DEVICE_TO_HOST", EVENT_D2H_COPY },
};

static enum event_kind direction_of(const struct json_text *text)
{
	for (size_t i = 0; i < sizeof directions / sizeof directions[0]; i++)
		if (find(text, directions[i].word))
			return directions[i].kind;
	return EVENT_NONE;
}

static unsigned memory_of(const char *word, size_t size)
{
	static const struct {
		const char *name;
		unsigned kind;
	} words[] = { { "Pageable", MEMORY_PAGEABLE },
		      { "Pinned", MEMORY_PINNED },
		      { "Device", MEMORY_DEVICE },
		      { "Array", MEMORY_ARRAY },
		      { "Managed", MEMORY_MANAGED } };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (size == strlen(words[i].name) && memcmp(word, words[i].name, size) == 0)
			return words[i].kind;
	return MEMORY_UNKNOWN;
}

/* "(Pageable -> Device)" */
static uint64_t memory_kinds(const struct json_text *name)
{
	const char *open = find(name, "("), *arrow = find(name, " -> "), *close = find(name, ")");

	if (!open || !arrow || !close || open > arrow || arrow > close)
		return 0;
	return MEMORY_KINDS(memory_of(open + 1, (size_t)(arrow - open - 1)),
			    memory_of(arrow + 4, (size_t)(close - arrow - 4)));
}

enum event_kind chrome_copy_kind(const struct json_text *name, const struct json_text *kind, uint64_t *ret_memory)
{
	enum event_kind direction = direction_of(name);

	*ret_memory = memory_kinds(name);
	if (direction == EVENT_NONE)
		direction = direction_of(kind);
	if (direction != EVENT_NONE)
		return direction;
	if (MEMORY_KIND_TO(*ret_memory) == MEMORY_DEVICE && MEMORY_KIND_FROM(*ret_memory) != MEMORY_DEVICE)
		return EVENT_H2D_COPY;
	if (MEMORY_KIND_FROM(*ret_memory) == MEMORY_DEVICE && MEMORY_KIND_TO(*ret_memory) != MEMORY_DEVICE)
		return EVENT_D2H_COPY;
	return EVENT_D2D_COPY;
}
