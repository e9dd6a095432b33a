/*
 * itt.c - the tasks and marks of programs with ITT (ittnotify), through its collector interface.
 *
 * A program with ittnotify loads the library that INTEL_LIBITTNOTIFY64 names
 * and calls __itt_api_init() with the list of its function pointers.  Once for
 * each library that has it compiled in.  PyTorch calls __itt_string_handle_create
 * for every operator, so that it has to be fast: a handle is found by the id
 * of its name.
 *
 * Tasks are slices of their thread, under their own name: most programs have
 * one domain, of the program's name.  Frames have no name but their domain's.
 * Overlapped tasks, regions, frames and events are asynchronous ranges.
 * Counters are in itt_counters.c.
 */
#include "runtime/itt.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "inferscope.h"
#include "runtime/arena.h"
#include "runtime/ranges.h"

extern const struct inferscope_ops inferscope_api;

/* ---- How a program hands over its functions ------------------------------------- */

struct itt_function {
	const char *name;
	void **pointer;
	void *init;
	void *null;
	int group;
};

/* As far as we look. */
struct itt_global {
	uint8_t magic[8];
	unsigned long major, minor, build;
	volatile long initialized, mutex_initialized, atomic_counter;
	pthread_mutex_t mutex;
	void *library;
	void *error_handler;
	const char **path;
	struct itt_function *functions; /* the last has no name */
};

/* ---- Names ---------------------------------------------------------------------- */

/* Handles by the id of their name: one for a string, wherever it is asked for. */
static struct itt_string *_Atomic strings[NAME_LIMIT];

static uint32_t intern(struct runtime_thread *t, const char *name)
{
	return name ? inferscope_intern(t, name, strnlen(name, NAME_MAX_BYTES + 4)) : NAME_NONE;
}

/* The id of a name that is asked for once; `id` remembers it. */
static uint32_t once(struct runtime_thread *t, _Atomic int *id, const char *name)
{
	uint32_t known = (uint32_t)atomic_load_explicit(id, memory_order_relaxed);

	if (INFERSCOPE_LIKELY(known))
		return known;
	known = intern(t, name);
	atomic_store_explicit(id, (int)known, memory_order_relaxed);
	return known;
}

uint32_t inferscope_itt_string_id(struct runtime_thread *t, struct itt_string *string)
{
	return string ? once(t, &string->id, string->text) : NAME_NONE;
}

static uint32_t domain_id(struct runtime_thread *t, const struct itt_domain *domain)
{
	return domain ? once(t, &((struct itt_domain *)domain)->id, domain->name) : NAME_NONE;
}

static __attribute__((noinline, cold)) struct itt_string *make_string(uint32_t id, const char *text)
{
	struct itt_string *string = inferscope_arena(sizeof *string), *other = NULL;

	if (!string)
		return NULL;
	string->text = inferscope_arena_text(text, strnlen(text, NAME_MAX_BYTES));
	atomic_store_explicit(&string->id, (int)id, memory_order_relaxed);
	return atomic_compare_exchange_strong(&strings[id], &other, string) ? string : other;
}

static struct itt_string *string_handle_create(const char *text)
{
	struct runtime_thread *t = &inferscope_thread;
	struct itt_string *string;
	uint32_t id;

	if (!text || !emit_enter(&inferscope_runtime, t))
		return NULL;
	id = intern(t, text);
	string = atomic_load_explicit(&strings[id], memory_order_acquire);
	if (INFERSCOPE_UNLIKELY(!string))
		string = make_string(id, text);
	emit_leave(t);
	return string;
}

/* They are few, and never go. */
static struct itt_domain *domain_create(const char *name)
{
	static struct itt_domain *_Atomic domains;
	struct itt_domain *domain = atomic_load(&domains);

	if (!name)
		return NULL;
	while (domain && strncmp(domain->name, name, NAME_MAX_BYTES) != 0)
		domain = domain->next;
	if (domain)
		return domain;
	domain = inferscope_arena(sizeof *domain);
	if (!domain)
		return NULL;
	domain->name = inferscope_arena_text(name, strnlen(name, NAME_MAX_BYTES));
	if (!domain->name)
		return NULL;
	domain->flags = 1;
	domain->next = atomic_load(&domains);
	while (!atomic_compare_exchange_weak(&domains, &domain->next, domain))
		;
	return domain;
}

/* ---- Tasks ------------------------------------------------------------------------ */

static void begin(struct runtime_thread *t, const struct itt_domain *domain, uint32_t name)
{
	(void)inferscope_range_push(t, (uintptr_t)domain, name, NULL, 0);
}

static void task_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent, struct itt_string *name)
{
	struct runtime_thread *t = &inferscope_thread;

	(void)id;
	(void)parent;
	if (!emit_enter(&inferscope_runtime, t))
		return;
	begin(t, domain, inferscope_itt_string_id(t, name));
	emit_leave(t);
}

static void task_end(const struct itt_domain *domain)
{
	struct runtime_thread *t = &inferscope_thread;

	if (!emit_enter(&inferscope_runtime, t))
		return;
	(void)inferscope_range_pop(t, (uintptr_t)domain);
	emit_leave(t);
}

static uint32_t look_up_function(struct runtime_thread *t, void *function)
{
	char name[32];
	Dl_info info;
	int saved = errno;
	bool known = dladdr(function, &info) && info.dli_sname && info.dli_saddr == function;

	if (!known)
		snprintf(name, sizeof name, "%p", function);
	errno = saved;
	return intern(t, known ? info.dli_sname : name);
}

/* A function by its symbol's name.  The linker takes a lock and some time for that, so what it said is remembered. */
static uint32_t function_id(struct runtime_thread *t, void *function)
{
	static struct {
		void *_Atomic function; /* set last */
		_Atomic uint32_t id;
	} known[1024];
	size_t i = ((uintptr_t)function >> 4) % (sizeof known / sizeof *known);
	uint32_t id, none = 0;

	if (atomic_load_explicit(&known[i].function, memory_order_acquire) == function)
		return atomic_load_explicit(&known[i].id, memory_order_relaxed);
	id = look_up_function(t, function);
	if (atomic_compare_exchange_strong(&known[i].id, &none, id))
		atomic_store_explicit(&known[i].function, function, memory_order_release);
	return id;
}

static void task_begin_fn(const struct itt_domain *domain, struct itt_id id, struct itt_id parent, void *function)
{
	struct runtime_thread *t = &inferscope_thread;

	(void)id;
	(void)parent;
	if (!emit_enter(&inferscope_runtime, t))
		return;
	begin(t, domain, function ? function_id(t, function) : NAME_NONE);
	emit_leave(t);
}

static void marker(const struct itt_domain *domain, struct itt_id id, struct itt_string *name, int scope)
{
	struct runtime_thread *t = &inferscope_thread;

	(void)domain;
	(void)id;
	(void)scope;
	if (!emit_enter(&inferscope_runtime, t))
		return;
	inferscope_range_event(t, EVENT_INSTANT, EVENT_FLAGS(PHASE_INSTANT, 0, 0), inferscope_itt_string_id(t, name), 0);
	emit_leave(t);
}

/* ---- Asynchronous ranges ------------------------------------------------------------ */

/*
 * The end of a range names its id only, and has to be written with the name of its begin: a table of ranges that are
 * open, one word each.  Where too many meet in a row, one is forgotten, and its end has no name.
 */
#define NAME_BITS 17
#define ROWS 1024u
#define ROW 16u
_Static_assert(NAME_LIMIT <= 1u << NAME_BITS, "fits");

static _Atomic uint64_t open_ranges[ROWS][ROW]; /* flow, name; 0: free */

/* What the trace matches begin and end by: 47 bits, not 0. */
static uint64_t flow_of(const void *domain, const struct itt_id *id)
{
	uint64_t words[] = { (uintptr_t)domain, id ? id->d1 : 0, id ? id->d2 : 0, id ? id->d3 : 0 }, h = id != NULL;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		h = (h ^ words[i]) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return h >> NAME_BITS | 1;
}

static void remember(uint64_t flow, uint32_t name)
{
	_Atomic uint64_t *row = open_ranges[flow / 2 % ROWS];
	uint64_t word = flow << NAME_BITS | name;

	for (uint32_t i = 0; i < ROW; i++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&row[i], &none, word))
			return;
	}
	atomic_store(&row[flow / 2 / ROWS % ROW], word);
}

static uint32_t recall(uint64_t flow)
{
	_Atomic uint64_t *row = open_ranges[flow / 2 % ROWS];

	for (uint32_t i = 0; i < ROW; i++) {
		uint64_t word = atomic_load(&row[i]);

		if (word >> NAME_BITS == flow && atomic_compare_exchange_strong(&row[i], &word, 0))
			return (uint32_t)(word & ((1u << NAME_BITS) - 1));
	}
	return NAME_NONE;
}

static void emit_async(struct runtime_thread *t, uint32_t phase, uint32_t name, uint64_t flow)
{
	inferscope_range_event(t, EVENT_SCOPE, EVENT_FLAGS(phase, FIELD_FLOW, 0), name, flow);
}

/* Overlapped tasks, and regions. */
static void async_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent, struct itt_string *string)
{
	struct runtime_thread *t = &inferscope_thread;
	uint64_t flow = flow_of(domain, &id);
	uint32_t name;

	(void)parent;
	if (!emit_enter(&inferscope_runtime, t))
		return;
	name = inferscope_itt_string_id(t, string);
	remember(flow, name);
	emit_async(t, PHASE_ASYNC_BEGIN, name, flow);
	emit_leave(t);
}

static void async_end(const struct itt_domain *domain, struct itt_id id)
{
	struct runtime_thread *t = &inferscope_thread;
	uint64_t flow = flow_of(domain, &id);

	if (!emit_enter(&inferscope_runtime, t))
		return;
	emit_async(t, PHASE_ASYNC_END, recall(flow), flow);
	emit_leave(t);
}

static void frame(const struct itt_domain *domain, const struct itt_id *id, uint32_t phase)
{
	struct runtime_thread *t = &inferscope_thread;

	if (!emit_enter(&inferscope_runtime, t))
		return;
	emit_async(t, phase, domain_id(t, domain), flow_of(domain, id));
	emit_leave(t);
}

static void frame_begin(const struct itt_domain *domain, const struct itt_id *id)
{
	frame(domain, id, PHASE_ASYNC_BEGIN);
}

static void frame_end(const struct itt_domain *domain, const struct itt_id *id)
{
	frame(domain, id, PHASE_ASYNC_END);
}

/* An event is the id of its name; each thread has its own of each. */
static int event_create(const char *name, int size)
{
	struct runtime_thread *t = &inferscope_thread;
	uint32_t id;

	if (!name || !emit_enter(&inferscope_runtime, t))
		return 0;
	id = size > 0 ? inferscope_intern(t, name, strnlen(name, (size_t)size)) : intern(t, name);
	emit_leave(t);
	return (int)id;
}

static int event(int id, uint32_t phase)
{
	const struct runtime *rt = &inferscope_runtime;
	struct runtime_thread *t = &inferscope_thread;
	slot_word *slot;

	if (id <= 0 || (uint32_t)id >= NAME_LIMIT || !emit_enter(rt, t))
		return -1;
	slot = emit_room(rt, t); /* first: a thread's serial comes with its ring */
	emit_slot(rt, t, slot, EVENT_SCOPE, EVENT_FLAGS(phase, FIELD_FLOW, 0), (uint32_t)id, 0, emit_depth(t->depth),
		  (uint64_t)t->serial << 32 | (uint32_t)id);
	emit_leave(t);
	return 0;
}

static int event_start(int id)
{
	return event(id, PHASE_ASYNC_BEGIN);
}

static int event_end(int id)
{
	return event(id, PHASE_ASYNC_END);
}

/* ---- The door -------------------------------------------------------------------------- */

static void thread_set_name(const char *name)
{
	inferscope_api.thread_name(name);
}

static int thr_name_set(const char *name, int size)
{
	(void)size;
	inferscope_api.thread_name(name);
	return 0;
}

static const struct itt_entry entries[] = {
	ITT_ENTRY("domain_create", domain_create),
	ITT_ENTRY("string_handle_create", string_handle_create),
	ITT_ENTRY("task_begin", task_begin),
	ITT_ENTRY("task_begin_fn", task_begin_fn),
	ITT_ENTRY("task_end", task_end),
	ITT_ENTRY("task_begin_overlapped", async_begin),
	ITT_ENTRY("task_end_overlapped", async_end),
	ITT_ENTRY("region_begin", async_begin),
	ITT_ENTRY("region_end", async_end),
	ITT_ENTRY("marker", marker),
	ITT_ENTRY("frame_begin_v3", frame_begin),
	ITT_ENTRY("frame_end_v3", frame_end),
	ITT_ENTRY("event_create", event_create),
	ITT_ENTRY("event_start", event_start),
	ITT_ENTRY("event_end", event_end),
	ITT_ENTRY("thread_set_name", thread_set_name),
	ITT_ENTRY("thr_name_set", thr_name_set),
	{ NULL, NULL },
};

static void *find_in(const struct itt_entry *entry, const char *name)
{
	void *found = NULL;

	while (entry->name && strcmp(entry->name, name) != 0)
		entry++;
	memcpy(&found, &entry->call, sizeof found);
	return found;
}

static void *find(const char *name)
{
	void *found;

	if (strncmp(name, "__itt_", 6) != 0)
		return NULL;
	found = find_in(entries, name + 6);
	return found ? found : find_in(inferscope_itt_counters, name + 6);
}

/* Before that an entry of the list had no `null`. */
#define OLDEST_BUILD 20101002ul

static bool is_ours_to_read(const struct itt_global *global)
{
	static const uint8_t magic[8] = { 0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30 };

	return global && memcmp(global->magic, magic, sizeof magic) == 0 && global->major == 3 &&
	       global->build >= OLDEST_BUILD && global->functions;
}

__attribute__((visibility("default"))) void __itt_api_init(struct itt_global *global, int groups);

/* What we have nothing for, and everything when nobody is recording, does what it does without a collector. */
void __itt_api_init(struct itt_global *global, int groups)
{
	bool recording;

	(void)groups;
	inferscope_load();
	recording = inferscope_joined();
	if (!is_ours_to_read(global))
		return;
	for (struct itt_function *f = global->functions; f->name; f++) {
		void *function = recording ? find(f->name) : NULL;

		*f->pointer = function ? function : f->null;
	}
}
