/*
 * itt_counters.c - the counters of ITT.
 *
 * There are those with a handle, of a name, a domain and a type, and those
 * that are nothing but a string.  Programs count up and down; what we record
 * is the sum.
 */
#include "runtime/itt.h"

#include <stdio.h>
#include <string.h>

#include "runtime/arena.h"
#include "runtime/ranges.h"

static void emit_count(struct runtime_thread *t, uint32_t name, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	inferscope_range_event(t, EVENT_COUNTER, EVENT_FLAGS(PHASE_INSTANT, FIELD_VALUE, 0), name, bits);
}

/* In front of a counter's name stands its domain's, if it has one: without it two counters may be taken for one. */
static uint32_t counter_name(struct runtime_thread *t, const char *domain, const char *name)
{
	char full[NAME_MAX_BYTES + 4];
	int size;

	if (!domain || !domain[0])
		return inferscope_intern(t, name, strnlen(name, NAME_MAX_BYTES + 4));
	size = snprintf(full, sizeof full, "%.*s:%.*s", (int)NAME_MAX_BYTES / 2, domain, (int)NAME_MAX_BYTES, name);
	return inferscope_intern(t, full, (size_t)size < sizeof full ? (size_t)size : sizeof full - 1);
}

static uint32_t counter_id(struct runtime_thread *t, struct itt_counter *counter)
{
	uint32_t id = (uint32_t)atomic_load_explicit(&counter->id, memory_order_acquire);

	if (id)
		return id;
	id = counter_name(t, counter->domain, counter->name ? counter->name : "");
	atomic_store_explicit(&counter->count, 0, memory_order_relaxed);
	atomic_store_explicit(&counter->id, (long)id, memory_order_release);
	return id;
}

static bool is_the_same(const struct itt_counter *c, const char *name, const char *domain, int type)
{
	return c->type == type && strcmp(c->name, name) == 0 && strcmp(c->domain, domain) == 0;
}

static struct itt_counter *counter_create_typed(const char *name, const char *domain, int type)
{
	static struct itt_counter *_Atomic counters;
	struct itt_counter *counter = atomic_load(&counters);

	if (!name)
		return NULL;
	domain = domain ? domain : "";
	while (counter && !is_the_same(counter, name, domain, type))
		counter = counter->next;
	if (counter)
		return counter;
	counter = inferscope_arena(sizeof *counter);
	if (!counter)
		return NULL;
	counter->name = inferscope_arena_text(name, strlen(name));
	counter->domain = inferscope_arena_text(domain, strlen(domain));
	if (!counter->name || !counter->domain)
		return NULL;
	counter->type = type;
	counter->next = atomic_load(&counters);
	while (!atomic_compare_exchange_weak(&counters, &counter->next, counter))
		;
	return counter;
}

static struct itt_counter *counter_create(const char *name, const char *domain)
{
	return counter_create_typed(name, domain, TYPE_U64);
}

static struct itt_counter *counter_create_v3(const struct itt_domain *domain, const char *name, int type)
{
	return counter_create_typed(name, domain ? domain->name : NULL, type);
}

/* Only counters of unsigned 64-bit numbers can be counted up and down. */
static void counter_add(struct itt_counter *counter, uint64_t delta)
{
	struct runtime_thread *t = &inferscope_thread;
	uint32_t name;

	if (!counter || counter->type != TYPE_U64 || !emit_enter(&inferscope_runtime, t))
		return;
	name = counter_id(t, counter);
	emit_count(t, name, (double)(atomic_fetch_add(&counter->count, delta) + delta));
	emit_leave(t);
}

static void counter_inc(struct itt_counter *counter)
{
	counter_add(counter, 1);
}

static void counter_inc_delta(struct itt_counter *counter, unsigned long long delta)
{
	counter_add(counter, delta);
}

static void counter_dec(struct itt_counter *counter)
{
	counter_add(counter, (uint64_t)-1);
}

static void counter_dec_delta(struct itt_counter *counter, unsigned long long delta)
{
	counter_add(counter, -(uint64_t)delta);
}

static double value_of(int type, const void *value)
{
	switch (type) {
	case TYPE_S64:
		return (double)*(const int64_t *)value;
	case TYPE_U32:
		return (double)*(const uint32_t *)value;
	case TYPE_S32:
		return (double)*(const int32_t *)value;
	case TYPE_U16:
		return (double)*(const uint16_t *)value;
	case TYPE_S16:
		return (double)*(const int16_t *)value;
	case TYPE_FLOAT:
		return (double)*(const float *)value;
	case TYPE_DOUBLE:
		return *(const double *)value;
	default:
		return (double)*(const uint64_t *)value;
	}
}

static void counter_set_value(struct itt_counter *counter, const void *value)
{
	struct runtime_thread *t = &inferscope_thread;
	uint32_t name;

	if (!counter || !value || !emit_enter(&inferscope_runtime, t))
		return;
	name = counter_id(t, counter);
	if (counter->type == TYPE_U64)
		atomic_store(&counter->count, *(const uint64_t *)value);
	emit_count(t, name, value_of(counter->type, value));
	emit_leave(t);
}

/* Counters that are nothing but a string. */
static void counter_inc_delta_v3(const struct itt_domain *domain, struct itt_string *name, unsigned long long delta)
{
	struct runtime_thread *t = &inferscope_thread;

	(void)domain;
	if (!name || !emit_enter(&inferscope_runtime, t))
		return;
	emit_count(t, inferscope_itt_string_id(t, name), (double)(atomic_fetch_add(&name->count, delta) + delta));
	emit_leave(t);
}

static void counter_inc_v3(const struct itt_domain *domain, struct itt_string *name)
{
	counter_inc_delta_v3(domain, name, 1);
}

static void counter_dec_v3(const struct itt_domain *domain, struct itt_string *name)
{
	counter_inc_delta_v3(domain, name, (uint64_t)-1);
}

static void counter_dec_delta_v3(const struct itt_domain *domain, struct itt_string *name, unsigned long long delta)
{
	counter_inc_delta_v3(domain, name, -(uint64_t)delta);
}

const struct itt_entry inferscope_itt_counters[] = {
	ITT_ENTRY("counter_create", counter_create),
	ITT_ENTRY("counter_create_typed", counter_create_typed),
	ITT_ENTRY("counter_create_v3", counter_create_v3),
	ITT_ENTRY("counter_inc", counter_inc),
	ITT_ENTRY("counter_inc_delta", counter_inc_delta),
	ITT_ENTRY("counter_dec", counter_dec),
	ITT_ENTRY("counter_dec_delta", counter_dec_delta),
	ITT_ENTRY("counter_set_value", counter_set_value),
	ITT_ENTRY("counter_set_value_v3", counter_set_value),
	ITT_ENTRY("counter_inc_v3", counter_inc_v3),
	ITT_ENTRY("counter_inc_delta_v3", counter_inc_delta_v3),
	ITT_ENTRY("counter_dec_v3", counter_dec_v3),
	ITT_ENTRY("counter_dec_delta_v3", counter_dec_delta_v3),
	{ NULL, NULL },
};
