/*
 * fake_torch.c - a library that could be libtorch_cpu.so, and is not quite.
 *
 * It exports what src/runtime/torch.c looks for, under its mangled names, and
 * calls back as torch_behave() has it.  Built twice: FAKE_TORCH_OLD lacks one
 * function.  The tests give it its name.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum behaviour {
	FINE,
	WILD_NAME,       /* name() points nowhere */
	UNPRINTABLE,     /* ... or to bytes that are no name */
	OTHER_OBJECT,    /* callbacks get something else */
	WILD_OBJECT,
	NO_END,
	NO_CALLBACK,
	OTHER_SCOPE /* the known operator comes to the callback for users' scopes */
};

struct callback {
	void *(*start)(void **ret, const void *function);
	void (*end)(const void *function, void *context);
	double probability;
	uint8_t scopes[10], needs[3];
};

/* As long as the real one. */
struct function {
	const void *const *table;
	int64_t words[42];
	const char *name;
};

EXPORT uint64_t torch_add(struct callback callback) __asm__("_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
EXPORT void torch_remove(uint64_t handle) __asm__("_ZN2at14removeCallbackEm");
EXPORT const char *torch_name(const struct function *function) __asm__("_ZNK2at14RecordFunction4nameEv");
EXPORT bool torch_can_cast(signed char from, signed char to) __asm__("_ZN2at4_ops8can_cast4callEN3c1010ScalarTypeES3_");
EXPORT bool torch_has_callbacks(void) __asm__("_ZN2at12hasCallbacksEv");
EXPORT bool torch_enabled(void) __asm__("_ZN2at23isRecordFunctionEnabledEv");
EXPORT bool torch_modes(bool skip) __asm__("_ZN3c104impl20TorchDispatchModeTLS13any_modes_setEb");
EXPORT void torch_constructor(void) __asm__("_ZN2at14RecordFunctionC1EONS_13StepCallbacksE");
EXPORT void torch_behave(int how, bool watched);
EXPORT void torch_operator(const char *name);
EXPORT int torch_registered(void);

extern const void *const torch_table[4] __asm__("_ZTVN2at14RecordFunctionE");
EXPORT const void *const torch_table[4] = { NULL, NULL, torch_table, torch_table };
static const void *const other_table[4];

static struct callback callbacks[16];
static bool registered[16];
static enum behaviour behaviour;
static bool is_watched;

uint64_t torch_add(struct callback callback)
{
	size_t i = 0;

	while (registered[i])
		i++;
	callbacks[i] = callback;
	registered[i] = true;
	return i + 1;
}

void torch_remove(uint64_t handle)
{
	registered[handle - 1] = false;
}

const char *torch_name(const struct function *function)
{
	return behaviour == WILD_NAME ? (const char *)0x10 : behaviour == UNPRINTABLE ? "\x01\x02\x03" : function->name;
}

static void call(const struct callback *callback, const struct function *function)
{
	const void *object = behaviour == WILD_OBJECT ? (const void *)0x1000 : function;
	void *context = (void *)1;

	if (callback->start(&context, object) != &context || context)
		__builtin_trap();
	if (behaviour != NO_END)
		callback->end(object, context);
}

void torch_operator(const char *name)
{
	struct function function = { .table = torch_table + 2, .name = name };

	memset(function.words, 0xff, sizeof function.words);
	if (behaviour == OTHER_OBJECT)
		function.table = other_table;
	for (size_t i = 0; i < 16 && behaviour != NO_CALLBACK; i++)
		if (registered[i] && callbacks[i].scopes[behaviour == OTHER_SCOPE ? 7 : 0])
			call(&callbacks[i], &function);
}

bool torch_can_cast(signed char from, signed char to)
{
	torch_operator("aten::can_cast");
	return from == to;
}

/* Somebody listens who would see the known operator. */
bool torch_has_callbacks(void)
{
	return is_watched;
}

bool torch_enabled(void)
{
	return true;
}

bool torch_modes(bool skip)
{
	return skip;
}

#ifndef FAKE_TORCH_OLD
void torch_constructor(void)
{
}
#endif

void torch_behave(int how, bool watched)
{
	behaviour = (enum behaviour)how;
	is_watched = watched;
}

int torch_registered(void)
{
	int count = 0;

	for (size_t i = 0; i < 16; i++)
		count += registered[i];
	return count;
}
