/*
 * itt.h - what ittnotify and we share: layouts as in its ittnotify.h and ittnotify_config.h.
 *
 * Domains, strings and counters may have been made before we were loaded, by
 * ittnotify's own functions, which leave the fields `extra` to us.
 */
#ifndef RUNTIME_ITT_H
#define RUNTIME_ITT_H

#include "runtime/runtime.h"

struct itt_id {
	unsigned long long d1, d2, d3;
};

struct itt_domain {
	volatile int flags; /* programs call nothing in domains where this is 0 */
	const char *name;
	const void *wide_name;
	_Atomic int id; /* extra1: of the name; 0: not yet asked for */
	void *extra2;
	struct itt_domain *next;
};

struct itt_string {
	const char *text;
	const void *wide_text;
	_Atomic int id;         /* extra1: as above */
	_Atomic uint64_t count; /* extra2: of the counter of this name */
	struct itt_string *next;
};

/* In ittnotify's own counters `extra` is not even zero, `index` is. */
struct itt_counter {
	const char *name;
	const void *wide_name;
	const char *domain;
	const void *wide_domain;
	int type;
	_Atomic long id;        /* index */
	int extra1;
	_Atomic uint64_t count; /* extra2 */
	struct itt_counter *next;
};

enum { TYPE_U64 = 1, TYPE_S64, TYPE_U32, TYPE_S32, TYPE_U16, TYPE_S16, TYPE_FLOAT, TYPE_DOUBLE };

/* The id of a string's name.  Between emit_enter() and emit_leave(). */
uint32_t inferscope_itt_string_id(struct runtime_thread *thread, struct itt_string *string);

/* Functions by the name under which a program looks for them. */
typedef void (*itt_call)(void);
struct itt_entry {
	const char *name; /* without "__itt_" */
	itt_call call;
};
#define ITT_ENTRY(name, function) { name, (itt_call)(function) }
extern const struct itt_entry inferscope_itt_counters[]; /* the last has no name */

#endif
