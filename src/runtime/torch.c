/*
 * torch.c - finds libtorch, starts, stops, and checks before it trusts.
 *
 * The check: whether a callback gets a RecordFunction (it shows by its table of
 * virtual functions) with a name that can be read, and whether each begin has
 * its end.  Where nobody else listens we run a known operator for it, which
 * takes two numbers and does nothing, and know at once.  A profiler or a mode of
 * the program would see that operator too: then the program's own first
 * operators have to do.
 */
#include "runtime/torch.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/inside.h"
#include "runtime/torch_ops.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define LIBRARY "libtorch_cpu.so"
#define KNOWN_OPERATOR "aten::can_cast"
#define FLOAT 6 /* c10::ScalarType */
#define TRIAL_BEGINS 8u
#define PATIENCE 1000u /* operators without any end; looks at somebody else's work */
#define PULSE (1.0 / 256) /* of all operators, while we rest */

static const enum torch_scope scopes[] = { TORCH_USER, TORCH_FUNCTION, TORCH_BACKWARD };
#define SCOPES (sizeof scopes / sizeof scopes[0])
#define FIRST_OPERATOR 1u /* of scopes[]: those of people stay when we rest */

static struct {
	void *library;
	uint64_t handles[SCOPES];
	bool registered, proven, resting;
	uint64_t pulse;
	_Atomic bool changing; /* somebody is at the callbacks */
	/* the check */
	struct runtime_thread *thread;
	_Atomic uint32_t begins, ends;
	const char *wrong; /* NULL: nothing so far */
} state;

static int refuse(const char *what)
{
	char text[NOTE_MAX_BYTES];

	snprintf(text, sizeof text,
		 "This PyTorch is not one that InferScope knows (%s): its operators are recorded through ITT, if at all, and "
		 "not in every thread.", what);
	inferscope_torch_trust = TORCH_FAILED;
	inferscope_note(text);
	return -2;
}

/* ---- Is it what we think? ----------------------------------------------------- */

/* Without touching it: the kernel looks at the mask before it finds that there is nothing to do with it. */
static bool is_readable(const void *address)
{
	int saved = errno;
	bool readable = syscall(SYS_rt_sigprocmask, ~0, (uintptr_t)address & ~(uintptr_t)7, NULL, 8) == 0 || errno != EFAULT;

	errno = saved;
	return readable;
}

static bool is_printable(const char *name)
{
	size_t i;

	for (i = 0; i <= NAME_MAX_BYTES; i++) {
		if ((i == 0 || ((uintptr_t)(name + i) & 7) == 0) && !is_readable(name + i))
			return false;
		if (!name[i])
			break;
		if ((unsigned char)name[i] < ' ' || name[i] == 127)
			return false;
	}
	return i > 0;
}

/* What a callback got: NULL, or what is wrong with it. */
static const char *fault_of(const void *function, enum torch_scope scope)
{
	const char *table;

	if (!function || (uintptr_t)function & 7 || !is_readable(function))
		return "callbacks get something else than a RecordFunction";
	memcpy(&table, function, sizeof table);
	if (table != inferscope_torch.table + 2 * sizeof(void *))
		return "callbacks get something else than a RecordFunction";
	/* people may call their scopes anything */
	return scope == TORCH_USER || is_printable(inferscope_torch.name(function)) ? NULL : "an operator has no readable name";
}

static void see_known_operator(const void *function, enum torch_scope scope)
{
	state.begins++;
	state.wrong = fault_of(function, scope);
	if (!state.wrong && (scope != TORCH_FUNCTION || strcmp(inferscope_torch.name(function), KNOWN_OPERATOR) != 0))
		state.wrong = "a known operator looks like another one";
	if (!state.wrong)
		inferscope_torch_learn_none(function);
}

static bool stands_trial(const void *function, enum torch_scope scope)
{
	const char *wrong = fault_of(function, scope);
	/* people may open scopes for as long as they like, too */
	uint32_t on_trial = TORCH_ON_TRIAL, more = scope != TORCH_USER, begins = atomic_fetch_add(&state.begins, more) + more;

	if (!wrong && begins > PATIENCE && !state.ends)
		wrong = "operators do not end";
	if (wrong && atomic_compare_exchange_strong(&inferscope_torch_trust, &on_trial, TORCH_FAILED))
		refuse(wrong);
	else if (!wrong && begins >= TRIAL_BEGINS && state.ends)
		state.proven = atomic_compare_exchange_strong(&inferscope_torch_trust, &on_trial, TORCH_TRUSTED);
	return !wrong;
}

bool inferscope_torch_admits(const void *function, enum torch_scope scope)
{
	uint32_t trust = inferscope_torch_trust;

	if (trust == TORCH_CHECKED && state.thread == &inferscope_thread)
		see_known_operator(function, scope);
	return trust == TORCH_ON_TRIAL && stands_trial(function, scope);
}

void inferscope_torch_saw_end(void)
{
	if (inferscope_torch_trust == TORCH_ON_TRIAL || state.thread == &inferscope_thread)
		state.ends++;
}

/* ---- Finding it --------------------------------------------------------------- */

/* Libraries that had been loaded at the last look. */
static unsigned long long seen_loads;

struct search {
	char path[PATH_MAX];
	unsigned long long loads;
};

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *search = arg;
	const char *path = info->dlpi_name ? info->dlpi_name : "", *base = strrchr(path, '/');

	(void)size;
	search->loads = info->dlpi_adds;
	if (search->loads == seen_loads)
		return 1;
	if (strcmp(base ? base + 1 : path, LIBRARY) != 0 || strlen(path) >= sizeof search->path)
		return 0;
	strcpy(search->path, path);
	return 1;
}

static bool find_library(void)
{
	struct search search;

	if (state.library)
		return true;
	search.path[0] = '\0';
	dl_iterate_phdr(look_at, &search);
	if (search.path[0])
		state.library = dlopen(search.path, RTLD_NOLOAD | RTLD_LAZY);
	seen_loads = search.loads;
	return state.library != NULL;
}

/* The address of a symbol goes to a pointer to a function or a variable. */
static bool find(const char *symbol, void *ret_pointer)
{
	void *address = dlsym(state.library, symbol);

	memcpy(ret_pointer, &address, sizeof address);
	return address != NULL;
}

/* NULL, or the name of something missing that we cannot do without. */
static const char *find_symbols(struct torch *torch)
{
	void *constructor;
	const struct {
		const char *symbol;
		void *pointer;
	} needed[] = {
		{ "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", &torch->add },
		{ "_ZN2at14removeCallbackEm", &torch->remove },
		{ "_ZNK2at14RecordFunction4nameEv", &torch->name },
		{ "_ZTVN2at14RecordFunctionE", &torch->table },
		/* there since callbacks have the form of struct torch_callback */
		{ "_ZN2at14RecordFunctionC1EONS_13StepCallbacksE", &constructor },
	};

	for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
		if (!find(needed[i].symbol, needed[i].pointer))
			return needed[i].symbol;
	find("_ZNK2at14RecordFunction7isAsyncEv", &torch->is_async);
	find("_ZN2at15sequence_number4peekEv", &torch->peek);
	return NULL;
}

static void find_shapes(struct torch *torch, uint32_t flags)
{
	torch->sizes = NULL;
	if (!(flags & INFERSCOPE_TORCH_SHAPES))
		return;
	if (!find("_ZdlPv", &torch->release) ||
	    !find("_ZN5torch8profiler4impl10inputSizesERKN2at14RecordFunctionEb", &torch->sizes))
		inferscope_note("This PyTorch does not tell the sizes of tensors (torch::profiler::impl::inputSizes is not "
				"there): its operators are recorded without.");
}

/* The list of threads' stacks. */
static struct torch_thread **map_threads(void)
{
	size_t size = RING_LIMIT * sizeof(struct torch_thread *);
	void *list = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (list == MAP_FAILED)
		return NULL;
	if (madvise(list, size, MADV_WIPEONFORK) == 0)
		return list;
	munmap(list, size);
	return NULL;
}

/* ---- Starting and stopping ---------------------------------------------------- */

/* One callback for each scope, so that none has to ask which it is. */
static void add_callbacks(size_t first)
{
	for (size_t i = first; i < SCOPES; i++) {
		struct torch_callback callback = { .probability = 1 };

		inferscope_torch_doors(scopes[i], &callback);
		callback.needs_inputs = scopes[i] != TORCH_USER && inferscope_torch.sizes;
		state.handles[i] = inferscope_torch.add(callback);
	}
}

static void register_callbacks(void)
{
	add_callbacks(0);
	state.registered = true;
}

/* Callbacks, which may be in any thread, try; whoever stops waits for them a while.  (Not for ever: in a forked child nobody may
 * be there to be waited for.) */
static bool try_to_change(void)
{
	return !atomic_exchange_explicit(&state.changing, true, memory_order_acquire);
}

static void changed(void)
{
	atomic_store_explicit(&state.changing, false, memory_order_release);
}

static void remove_callbacks(void)
{
	for (uint32_t i = 0; !try_to_change() && i < PATIENCE; i++)
		sched_yield();
	for (size_t i = 0; state.registered && i < SCOPES; i++)
		if (i < FIRST_OPERATOR || !state.resting)
			inferscope_torch.remove(state.handles[i]);
	if (state.registered && state.resting)
		inferscope_torch.remove(state.pulse);
	state.registered = state.resting = false;
	changed();
}

bool inferscope_torch_pause(void)
{
	struct torch_callback pulse = { .probability = PULSE };
	bool may;

	if (!try_to_change())
		return false;
	may = state.registered && !state.resting && inferscope_torch_trust == TORCH_TRUSTED;
	if (may) {
		for (size_t i = FIRST_OPERATOR; i < SCOPES; i++)
			inferscope_torch.remove(state.handles[i]);
		inferscope_torch_pulse_doors(&pulse);
		state.pulse = inferscope_torch.add(pulse);
		state.resting = true;
	}
	changed();
	return may;
}

bool inferscope_torch_resume(void)
{
	bool may;

	if (!try_to_change())
		return false;
	may = state.registered && state.resting;
	if (may) {
		inferscope_torch.remove(state.pulse);
		add_callbacks(FIRST_OPERATOR);
		state.resting = false;
	}
	changed();
	return may;
}

/* A mode of the program, in this thread, that would see an operator of ours.  Asked in another way before 2.1. */
static bool has_modes(void)
{
	bool (*any_modes)(bool);
	int64_t (*count)(void);

	if (find("_ZN3c104impl20TorchDispatchModeTLS13any_modes_setEb", &any_modes))
		return any_modes(false);
	return !find("_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv", &count) || count() > 0;
}

/* Nobody would see the known operator. */
static bool is_alone(void)
{
	bool (*has_callbacks)(void), (*enabled)(void);

	return find("_ZN2at12hasCallbacksEv", &has_callbacks) && !has_callbacks() &&
	       find("_ZN2at23isRecordFunctionEnabledEv", &enabled) && enabled() && !has_modes();
}

/* Runs the known operator.  NULL, or what is wrong. */
static const char *run_known_operator(bool (*known)(signed char, signed char))
{
	state.begins = state.ends = 0;
	state.wrong = NULL;
	state.thread = &inferscope_thread;
	(void)known(FLOAT, FLOAT);
	state.thread = NULL;
	if (!state.wrong && (state.begins != 1 || state.ends != 1))
		state.wrong = "a known operator does not begin and end";
	return state.wrong;
}

static int begin_recording(void)
{
	bool (*known)(signed char, signed char);
	bool alone = !state.proven && find("_ZN2at4_ops8can_cast4callEN3c1010ScalarTypeES3_", &known) && is_alone();
	const char *wrong = NULL;

	state.begins = state.ends = 0;
	inferscope_torch_trust = state.proven ? TORCH_TRUSTED : alone ? TORCH_CHECKED : TORCH_ON_TRIAL;
	register_callbacks();
	if (alone) {
		wrong = run_known_operator(known);
		state.proven = !wrong;
		inferscope_torch_trust = TORCH_TRUSTED;
	}
	if (!wrong)
		return 1;
	remove_callbacks();
	return refuse(wrong);
}

static int start(uint32_t flags)
{
	struct torch *torch = &inferscope_torch;
	const char *missing;
	char text[128];

#if !defined(__x86_64__) && !defined(__aarch64__)
	return refuse("on this processor");
#endif
	missing = find_symbols(torch);
	if (missing) {
		snprintf(text, sizeof text, "it has no %s", missing);
		return refuse(text);
	}
	if (!torch->threads)
		torch->threads = map_threads();
	if (!torch->threads) {
		inferscope_note("There is no memory to record PyTorch's operators with.");
		return -1;
	}
	find_shapes(torch, flags);
	torch->flags = flags;
	inferscope_torch_rest_start();
	return begin_recording();
}

int inferscope_torch_start(uint32_t flags)
{
	if (inferscope_torch_trust == TORCH_FAILED) {
		remove_callbacks();
		return -2;
	}
	if (state.registered && inferscope_torch.flags == flags)
		return 1;
	if (!inferscope_joined() || !find_library())
		return 0;
	inferscope_torch_stop();
	return start(flags);
}

void inferscope_torch_stop(void)
{
	uint32_t trust = inferscope_torch_trust;

	while (trust != TORCH_FAILED && !atomic_compare_exchange_weak(&inferscope_torch_trust, &trust, TORCH_OFF))
		;
	remove_callbacks();
}
