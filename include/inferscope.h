/*
 * inferscope.h - mark what your C or C++ program does, and see it on the timeline.
 *
 *      #include <inferscope.h>
 *
 *      inferscope_scope_begin("decode");
 *      ...
 *      inferscope_scope_end();
 *
 * Start the program with `inferscope run ./program` and the trace holds every
 * scope.  Start it any other way and each call is a load and a branch that is
 * not taken, under a nanosecond.
 *
 * This header is all that is needed: nothing to link (with a glibc older than
 * 2.34: -ldl), nothing to install where the program runs.  The recording
 * library is looked for once, when the program is loaded, and only if a
 * recorder asked for it.  Programs with raised privileges (setuid) never load it.
 * Statically linked programs cannot load it and are not recorded.
 *
 * Promises.  No call prints, exits, raises a signal, changes errno, or
 * allocates memory for an event.  All calls may be made from any thread, from
 * forked children, destructors, atexit handlers and signal handlers.  What
 * cannot be recorded is dropped, and counted in the trace.
 *
 * Names.  A string literal is looked up once a call site, any other string
 * once a call, by content: it may be freed or changed afterwards.  Names are
 * UTF-8, up to 1,000 bytes.  A process can use some 130,000 different ones;
 * what comes after is recorded under the name "[too many names]".  Put what
 * varies (a request's number) in metadata, not in the name.
 *
 * With INFERSCOPE_DISABLE defined before this header is included, and with
 * compilers other than gcc and clang, all of it compiles to nothing.
 *
 * C99 and C++98 or later.
 */
#ifndef INFERSCOPE_H
#define INFERSCOPE_H

#include <stddef.h>
#include <stdint.h>

/* ---- Metadata: key and value -------------------------------------------- */

enum inferscope_type { INFERSCOPE_INT = 1, INFERSCOPE_DOUBLE = 2, INFERSCOPE_STRING = 3, INFERSCOPE_BOOL = 4 };

/* Keys and strings are copied during the call.  Make values with the functions below. */
struct inferscope_value {
	const char *key;
	int type;
	union {
		int64_t i;
		double d;
		const char *s;
	} as;
};

static inline struct inferscope_value inferscope_int(const char *key, int64_t value)
{
	struct inferscope_value v;

	v.key = key;
	v.type = INFERSCOPE_INT;
	v.as.i = value;
	return v;
}

static inline struct inferscope_value inferscope_double(const char *key, double value)
{
	struct inferscope_value v;

	v.key = key;
	v.type = INFERSCOPE_DOUBLE;
	v.as.d = value;
	return v;
}

static inline struct inferscope_value inferscope_string(const char *key, const char *value)
{
	struct inferscope_value v;

	v.key = key;
	v.type = INFERSCOPE_STRING;
	v.as.s = value;
	return v;
}

static inline struct inferscope_value inferscope_bool(const char *key, int value)
{
	struct inferscope_value v;

	v.key = key;
	v.type = INFERSCOPE_BOOL;
	v.as.i = value != 0;
	return v;
}

/* ---- How a call finds the recorder (not for use; skip to "The calls") ---- */

struct inferscope_site {
	const char *key; /* the literal that id belongs to */
	uint32_t id;
	uint32_t reserved;
};

enum inferscope_range { INFERSCOPE_ASYNC_BEGIN = 4, INFERSCOPE_ASYNC_END = 5, INFERSCOPE_FLOW_OUT = 6, INFERSCOPE_FLOW_IN = 7 };

/* The recording library's functions.  Grows at the end only; size tells how far it goes. */
struct inferscope_ops {
	uint32_t size;
	uint32_t version;
	void (*scope_begin)(struct inferscope_site *site, const char *name);
	void (*scope_end)(void);
	void (*mark)(struct inferscope_site *site, const char *name, const struct inferscope_value *values, size_t count);
	void (*counter)(struct inferscope_site *site, const char *name, double value);
	void (*range)(struct inferscope_site *site, const char *name, uint64_t id, int what);
	void (*thread_name)(const char *name);
};

#define INFERSCOPE_ABI 1

#if defined(__GNUC__) && defined(__linux__) && !defined(INFERSCOPE_DISABLE)

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Weak references under names of our own: a static program that has no dlopen links, and is simply not recorded. */
static void *inferscope_dlopen_(const char *, int) __attribute__((weakref("dlopen")));
static void *inferscope_dlsym_(void *, const char *) __attribute__((weakref("dlsym")));

/* One for each program or library that includes this header: the recorder's table, the one below until it was looked
 * for, NULL when there is none. */
extern __attribute__((weak, visibility("hidden"))) const struct inferscope_ops *inferscope_ops_;

/* Owned by root or us, and nobody else may write it: what decides whether we load a file into this process. */
static inline int inferscope_trusted_(const char *path, int directory)
{
	struct stat st;

	if (stat(path, &st) != 0 || (directory ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode)))
		return 0;
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return 0;
	return !(st.st_mode & 022) || (directory && (st.st_mode & 01000 /* sticky */));
}

static inline const struct inferscope_ops *inferscope_find_(void)
{
	const char *path = getauxval(AT_SECURE) ? NULL : getenv("INFERSCOPE_RUNTIME");
	const struct inferscope_ops *(*attach)(uint32_t);
	char folder[4096];
	void *library, *symbol;
	size_t length = 0, i;

	if (!path || path[0] != '/' || !getenv("INFERSCOPE_SESSION") || !inferscope_dlopen_ || !inferscope_dlsym_)
		return NULL;
	if (!getauxval(AT_BASE)) /* no dynamic linker: a static program must not load a second libc */
		return NULL;
	for (i = 0; path[i]; i++) {
		if (i == sizeof folder - 1)
			return NULL;
		folder[i] = path[i];
		if (path[i] == '/')
			length = i;
	}
	folder[length ? length : 1] = '\0';
	if (!inferscope_trusted_(folder, 1) || !inferscope_trusted_(path, 0))
		return NULL;
	library = inferscope_dlopen_(path, 2 /* RTLD_NOW, local */);
	symbol = library ? inferscope_dlsym_(library, "inferscope_attach") : NULL;
	if (!symbol)
		return NULL;
	__builtin_memcpy(&attach, &symbol, sizeof attach);
	return attach(INFERSCOPE_ABI);
}

static inline const struct inferscope_ops *inferscope_load_(void)
{
	int saved = errno;
	const struct inferscope_ops *ops = inferscope_find_();

	__atomic_store_n(&inferscope_ops_, ops, __ATOMIC_RELEASE);
	errno = saved;
	return ops;
}

/* What the table points to before the recorder was looked for: each looks, and then does what was asked. */
static void inferscope_first_begin_(struct inferscope_site *site, const char *name)
{
	const struct inferscope_ops *ops = inferscope_load_();

	if (ops)
		ops->scope_begin(site, name);
}

static void inferscope_first_end_(void)
{
	const struct inferscope_ops *ops = inferscope_load_();

	if (ops)
		ops->scope_end();
}

static void inferscope_first_mark_(struct inferscope_site *site, const char *name, const struct inferscope_value *values,
				   size_t count)
{
	const struct inferscope_ops *ops = inferscope_load_();

	if (ops)
		ops->mark(site, name, values, count);
}

static void inferscope_first_counter_(struct inferscope_site *site, const char *name, double value)
{
	const struct inferscope_ops *ops = inferscope_load_();

	if (ops)
		ops->counter(site, name, value);
}

static void inferscope_first_range_(struct inferscope_site *site, const char *name, uint64_t id, int what)
{
	const struct inferscope_ops *ops = inferscope_load_();

	if (ops)
		ops->range(site, name, id, what);
}

static void inferscope_first_thread_name_(const char *name)
{
	const struct inferscope_ops *ops = inferscope_load_();

	if (ops)
		ops->thread_name(name);
}

static const struct inferscope_ops inferscope_first_ = { sizeof(struct inferscope_ops), INFERSCOPE_ABI,
	inferscope_first_begin_, inferscope_first_end_, inferscope_first_mark_, inferscope_first_counter_,
	inferscope_first_range_, inferscope_first_thread_name_ };

__attribute__((weak, visibility("hidden"))) const struct inferscope_ops *inferscope_ops_ = &inferscope_first_;

/* Looks before main(), so that no signal handler is the first to call. */
__attribute__((constructor, unused)) static void inferscope_at_load_(void)
{
	if (__atomic_load_n(&inferscope_ops_, __ATOMIC_RELAXED) == &inferscope_first_)
		(void)inferscope_load_();
}

#ifdef __cplusplus
}
#endif

#define INFERSCOPE_OPS_() __atomic_load_n(&inferscope_ops_, __ATOMIC_RELAXED)

/* Runs a statement with inferscope_o_, the table, and inferscope_s_, the call site's memory when the name is a literal. */
#define INFERSCOPE_AT_SITE_(name, ...)                                                                              \
	__extension__({                                                                                             \
		const struct inferscope_ops *inferscope_o_ = INFERSCOPE_OPS_();                                     \
		if (__builtin_expect(inferscope_o_ != NULL, 0)) {                                                   \
			static struct inferscope_site inferscope_memory_;                                           \
			struct inferscope_site *inferscope_s_ = __builtin_constant_p(name) ? &inferscope_memory_ : NULL; \
			__VA_ARGS__;                                                                                    \
		}                                                                                                   \
		(void)0;                                                                                            \
	})

/* ---- The calls ------------------------------------------------------------ */

/* Is somebody recording?  For work that is only done to be recorded. */
static inline int inferscope_enabled(void)
{
	const struct inferscope_ops *ops = INFERSCOPE_OPS_();

	return ops == &inferscope_first_ ? inferscope_load_() != NULL : ops != NULL;
}

/* A scope: a range of this thread's time, from begin to end.  Scopes nest; end ends the innermost. */
#define inferscope_scope_begin(name) INFERSCOPE_AT_SITE_(name, inferscope_o_->scope_begin(inferscope_s_, name))

static inline void inferscope_scope_end(void)
{
	const struct inferscope_ops *ops = INFERSCOPE_OPS_();

	if (__builtin_expect(ops != NULL, 0))
		ops->scope_end();
}

/* The same, ended by leaving the block it stands in: INFERSCOPE_SCOPE("decode"); */
#define INFERSCOPE_SCOPE(name) INFERSCOPE_SCOPE_1_(name, __LINE__)
#define INFERSCOPE_SCOPE_1_(name, line) INFERSCOPE_SCOPE_2_(name, line)
#define INFERSCOPE_SCOPE_2_(name, line)                                                                              \
	__attribute__((cleanup(inferscope_leave_), unused)) int inferscope_scope_##line = (inferscope_scope_begin(name), 0)

static inline void inferscope_leave_(int *unused)
{
	(void)unused;
	inferscope_scope_end();
}

/* A point in time; and one with metadata, up to about 1,000 bytes of it:
 *      inferscope_mark_with("tokenized", inferscope_int("tokens", 1024), inferscope_string("language", "en")); */
#define inferscope_mark(name) INFERSCOPE_AT_SITE_(name, inferscope_o_->mark(inferscope_s_, name, NULL, 0))
#define inferscope_mark_with(name, ...)                                                                              \
	INFERSCOPE_AT_SITE_(name, const struct inferscope_value inferscope_v_[] = { __VA_ARGS__ };                   \
			    inferscope_o_->mark(inferscope_s_, name, inferscope_v_, sizeof inferscope_v_ / sizeof *inferscope_v_))
/* The same with an array made elsewhere. */
#define inferscope_mark_values(name, values, count)                                                                  \
	INFERSCOPE_AT_SITE_(name, inferscope_o_->mark(inferscope_s_, name, values, count))

/* The value of something from now on: queue length, tokens a second, bytes in use. */
#define inferscope_counter(name, value) INFERSCOPE_AT_SITE_(name, inferscope_o_->counter(inferscope_s_, name, value))

/* A range that need not nest and may end in another thread: a request in flight.  Ends match begins by name and id. */
#define inferscope_async_begin(name, id) \
	INFERSCOPE_AT_SITE_(name, inferscope_o_->range(inferscope_s_, name, id, INFERSCOPE_ASYNC_BEGIN))
#define inferscope_async_end(name, id) \
	INFERSCOPE_AT_SITE_(name, inferscope_o_->range(inferscope_s_, name, id, INFERSCOPE_ASYNC_END))

/* An arrow from the scope that is open here to the scope in which the same id arrives. */
#define inferscope_flow_out(name, id) \
	INFERSCOPE_AT_SITE_(name, inferscope_o_->range(inferscope_s_, name, id, INFERSCOPE_FLOW_OUT))
#define inferscope_flow_in(name, id) \
	INFERSCOPE_AT_SITE_(name, inferscope_o_->range(inferscope_s_, name, id, INFERSCOPE_FLOW_IN))

/* What the calling thread is called on the timeline. */
static inline void inferscope_thread_name(const char *name)
{
	const struct inferscope_ops *ops = INFERSCOPE_OPS_();

	if (__builtin_expect(ops != NULL, 0))
		ops->thread_name(name);
}

#else /* nothing is recorded; arguments are still evaluated by the compiler's checks, and have no cost */

#define inferscope_enabled() 0
#define inferscope_scope_begin(name) ((void)(name))
#define inferscope_scope_end() ((void)0)
#define INFERSCOPE_SCOPE(name) ((void)(name))
#define inferscope_mark(name) ((void)(name))
#define inferscope_mark_with(name, ...) ((void)(name))
#define inferscope_mark_values(name, values, count) ((void)(name), (void)(values), (void)(count))
#define inferscope_counter(name, value) ((void)(name), (void)(value))
#define inferscope_async_begin(name, id) ((void)(name), (void)(id))
#define inferscope_async_end(name, id) ((void)(name), (void)(id))
#define inferscope_flow_out(name, id) ((void)(name), (void)(id))
#define inferscope_flow_in(name, id) ((void)(name), (void)(id))
#define inferscope_thread_name(name) ((void)(name))

#endif

#endif
