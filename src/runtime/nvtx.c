/*
 * nvtx.c - the ranges and marks of programs with NVTX, through its injection interface.
 *
 * A program with NVTX 3 loads the library that NVTX_INJECTION64_PATH names and
 * calls InitializeInjectionNvtx2() with a function that hands out its tables;
 * what we put there is called from then on.  Once for each library that has
 * NVTX compiled in: handles of one may turn up in another.
 *
 * push and pop are slices of their thread, start and end are asynchronous
 * ranges.  In a domain other than the default one, names are "domain:name", as
 * nsys prints them.  Payload and category are metadata; colours are not kept.
 *
 * The numbers are those of NVTX's nvtxTypes.h, which only ever grow.
 */
#include "runtime/nvtx.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/ranges.h"
#include "runtime/wide.h"

/* ---- What NVTX defines ------------------------------------------------------ */

#define NVTX_VERSION 3u
enum { TABLE_CALLBACKS = 1, TABLE_VERSION = 3 };
enum { MODULE_CORE = 1, MODULE_CORE2 = 5 };

typedef void (*nvtx_function)(void);

struct nvtx_callbacks {
	size_t size;
	int (*get_module)(int module, nvtx_function ***ret_table, unsigned *ret_size);
};

struct nvtx_version_info {
	size_t size;
	uint32_t version;
	uint32_t reserved;
	void (*set_injection_version)(uint32_t version);
};

/* ---- Ranges and marks ---------------------------------------------------------- */

static int push(void *handle, struct nvtx_name name)
{
	struct runtime_thread *t = &inferscope_thread;
	struct nvtx_domain *domain = inferscope_nvtx_domain(handle);
	struct nvtx_fields f;
	uint32_t id;
	int level;

	if (!emit_enter(&inferscope_runtime, t))
		return -1;
	id = inferscope_nvtx_resolve(t, domain, &name, &f);
	level = inferscope_range_push(t, (uintptr_t)domain, id, f.bytes, f.size);
	emit_leave(t);
	return level;
}

static int pop(void *handle)
{
	struct runtime_thread *t = &inferscope_thread;
	int level;

	if (!emit_enter(&inferscope_runtime, t))
		return -1;
	level = inferscope_range_pop(t, (uintptr_t)inferscope_nvtx_domain(handle));
	emit_leave(t);
	return level;
}

static void emit(struct runtime_thread *t, uint32_t kind, uint32_t phase, uint32_t name, uint64_t flow,
		 const struct nvtx_fields *f)
{
	uint32_t flags = EVENT_FLAGS(phase, flow ? FIELD_FLOW : 0, 0);

	if (f->size)
		inferscope_emit_fields(t, kind, flags, name, flow, f->bytes, f->size);
	else
		inferscope_range_event(t, kind, flags, name, flow);
}

static void mark(void *handle, struct nvtx_name name)
{
	struct runtime_thread *t = &inferscope_thread;
	struct nvtx_fields f;
	uint32_t id;

	if (!emit_enter(&inferscope_runtime, t))
		return;
	id = inferscope_nvtx_resolve(t, inferscope_nvtx_domain(handle), &name, &f);
	emit(t, EVENT_INSTANT, PHASE_INSTANT, id, 0, &f);
	emit_leave(t);
}

/* A range's id holds its name, which its end has to repeat: 17 bits of name, 47 of a count. */
#define COUNT_BITS 47
_Static_assert(NAME_LIMIT <= 1u << (64 - COUNT_BITS), "fits");

static uint64_t start(void *handle, struct nvtx_name name)
{
	static _Atomic uint64_t count = 1;
	struct runtime_thread *t = &inferscope_thread;
	struct nvtx_fields f;
	uint64_t range;
	uint32_t id;

	if (!emit_enter(&inferscope_runtime, t))
		return 0;
	id = inferscope_nvtx_resolve(t, inferscope_nvtx_domain(handle), &name, &f);
	range = (uint64_t)id << COUNT_BITS | atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
	emit(t, EVENT_SCOPE, PHASE_ASYNC_BEGIN, id, range, &f);
	emit_leave(t);
	return range;
}

static void end(uint64_t range)
{
	struct runtime_thread *t = &inferscope_thread;

	if (!range || !emit_enter(&inferscope_runtime, t))
		return;
	inferscope_range_event(t, EVENT_SCOPE, EVENT_FLAGS(PHASE_ASYNC_END, FIELD_FLOW, 0), (uint32_t)(range >> COUNT_BITS),
			       range);
	emit_leave(t);
}

/* ---- Registrations -------------------------------------------------------------- */

/* A registered string is its name's id: nothing to allocate, and no pointer to follow. */
static void *register_string(void *handle, struct nvtx_name name)
{
	struct runtime_thread *t = &inferscope_thread;
	struct nvtx_fields f;
	uint32_t id;

	if (!emit_enter(&inferscope_runtime, t))
		return NULL;
	id = inferscope_nvtx_resolve(t, inferscope_nvtx_domain(handle), &name, &f);
	emit_leave(t);
	return (void *)(uintptr_t)id;
}

/* Another thread than the caller, if it has recorded anything. */
static void name_other_thread(uint32_t tid, uint32_t name)
{
	const struct ring_process *process = &inferscope_runtime.memory->process;
	uint32_t count = process->header ? atomic_load(&process->header->rings) : 0;

	for (uint32_t i = 0; i < count; i++) {
		struct ring_header *ring = layout_rings(process->map) + i;

		if (ring->tid == tid && atomic_load(&ring->state) == RING_LIVE)
			atomic_store_explicit(&ring->name, name, memory_order_release);
	}
}

static void name_thread(uint32_t tid, const char *name, size_t size)
{
	struct runtime_thread *t = &inferscope_thread;
	int saved = errno;

	if (!emit_enter(&inferscope_runtime, t))
		return;
	if (inferscope_have_ring(t)) {
		uint32_t id = inferscope_intern(t, name, size);

		if (tid == (uint32_t)syscall(SYS_gettid))
			atomic_store_explicit(&t->producer->shared->name, id, memory_order_release);
		else
			name_other_thread(tid, id);
	}
	errno = saved;
	emit_leave(t);
}

/* ---- The functions that NVTX calls ------------------------------------------------ */

static void mark_ex(const struct nvtx_attributes *a)
{
	mark(NULL, (struct nvtx_name){ .attributes = a });
}

static void mark_a(const char *name)
{
	mark(NULL, (struct nvtx_name){ .ascii = name });
}

static void mark_w(const wchar_t *name)
{
	mark(NULL, (struct nvtx_name){ .wide = name });
}

static uint64_t start_ex(const struct nvtx_attributes *a)
{
	return start(NULL, (struct nvtx_name){ .attributes = a });
}

static uint64_t start_a(const char *name)
{
	return start(NULL, (struct nvtx_name){ .ascii = name });
}

static uint64_t start_w(const wchar_t *name)
{
	return start(NULL, (struct nvtx_name){ .wide = name });
}

static int push_ex(const struct nvtx_attributes *a)
{
	return push(NULL, (struct nvtx_name){ .attributes = a });
}

static int push_a(const char *name)
{
	return push(NULL, (struct nvtx_name){ .ascii = name });
}

static int push_w(const wchar_t *name)
{
	return push(NULL, (struct nvtx_name){ .wide = name });
}

static int pop_default(void)
{
	return pop(NULL);
}

static void name_thread_a(uint32_t tid, const char *name)
{
	if (name)
		name_thread(tid, name, strnlen(name, NAME_MAX_BYTES + 4));
}

static void name_thread_w(uint32_t tid, const wchar_t *name)
{
	char text[WIDE_MAX];

	if (name)
		name_thread(tid, text, inferscope_wide(name, text));
}

static void domain_name_category_a(void *domain, uint32_t number, const char *name)
{
	if (name)
		inferscope_nvtx_name_category(inferscope_nvtx_domain(domain), number, name, strnlen(name, NAME_MAX_BYTES));
}

static void domain_name_category_w(void *domain, uint32_t number, const wchar_t *name)
{
	char text[WIDE_MAX];

	if (name)
		inferscope_nvtx_name_category(inferscope_nvtx_domain(domain), number, text, inferscope_wide(name, text));
}

static void name_category_a(uint32_t number, const char *name)
{
	domain_name_category_a(NULL, number, name);
}

static void name_category_w(uint32_t number, const wchar_t *name)
{
	domain_name_category_w(NULL, number, name);
}

static void domain_mark(void *domain, const struct nvtx_attributes *a)
{
	mark(domain, (struct nvtx_name){ .attributes = a });
}

static uint64_t domain_start(void *domain, const struct nvtx_attributes *a)
{
	return start(domain, (struct nvtx_name){ .attributes = a });
}

static void domain_end(void *domain, uint64_t range)
{
	(void)domain;
	end(range);
}

static int domain_push(void *domain, const struct nvtx_attributes *a)
{
	return push(domain, (struct nvtx_name){ .attributes = a });
}

static void *register_a(void *domain, const char *name)
{
	return name ? register_string(domain, (struct nvtx_name){ .ascii = name }) : NULL;
}

static void *register_w(void *domain, const wchar_t *name)
{
	return name ? register_string(domain, (struct nvtx_name){ .wide = name }) : NULL;
}

static void *create_a(const char *name)
{
	return name ? inferscope_nvtx_make_domain(name, strnlen(name, NAME_MAX_BYTES)) : NULL;
}

static void *create_w(const wchar_t *name)
{
	char text[WIDE_MAX];

	return name ? inferscope_nvtx_make_domain(text, inferscope_wide(name, text)) : NULL;
}

/* By NVTX's numbers.  What is left out stays a call that does nothing. */
#define FUNCTION(f) (nvtx_function)(f)
static const nvtx_function core[] = {
	[1] = FUNCTION(mark_ex),
	[2] = FUNCTION(mark_a),
	[3] = FUNCTION(mark_w),
	[4] = FUNCTION(start_ex),
	[5] = FUNCTION(start_a),
	[6] = FUNCTION(start_w),
	[7] = FUNCTION(end),
	[8] = FUNCTION(push_ex),
	[9] = FUNCTION(push_a),
	[10] = FUNCTION(push_w),
	[11] = FUNCTION(pop_default),
	[12] = FUNCTION(name_category_a),
	[13] = FUNCTION(name_category_w),
	[14] = FUNCTION(name_thread_a),
	[15] = FUNCTION(name_thread_w),
};

static const nvtx_function core2[] = {
	[1] = FUNCTION(domain_mark),
	[2] = FUNCTION(domain_start),
	[3] = FUNCTION(domain_end),
	[4] = FUNCTION(domain_push),
	[5] = FUNCTION(pop),
	[8] = FUNCTION(domain_name_category_a),
	[9] = FUNCTION(domain_name_category_w),
	[10] = FUNCTION(register_a),
	[11] = FUNCTION(register_w),
	[12] = FUNCTION(create_a),
	[13] = FUNCTION(create_w),
};

/* False: this NVTX has no such module. */
static bool fill(const struct nvtx_callbacks *callbacks, int module, const nvtx_function *functions, unsigned count)
{
	nvtx_function **table = NULL;
	unsigned size = 0; /* the last number that the table has */

	if (!callbacks->get_module(module, &table, &size) || !table)
		return false;
	for (unsigned i = 1; i < count && i <= size; i++)
		if (functions[i] && table[i])
			*table[i] = functions[i];
	return true;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t table));

/* 1: attached; 0: nobody is recording, so that the program's calls stay calls that do nothing. */
int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t table))
{
	const struct nvtx_callbacks *callbacks;
	const struct nvtx_version_info *info;

	inferscope_load();
	if (!get_table || !inferscope_joined())
		return 0;
	callbacks = get_table(TABLE_CALLBACKS);
	if (!callbacks || callbacks->size < sizeof *callbacks)
		return 0;
	info = get_table(TABLE_VERSION);
	if (info && info->size >= sizeof *info && info->set_injection_version)
		info->set_injection_version(NVTX_VERSION);
	if (!fill(callbacks, MODULE_CORE, core, sizeof core / sizeof *core))
		return 0;
	(void)fill(callbacks, MODULE_CORE2, core2, sizeof core2 / sizeof *core2);
	return 1;
}
