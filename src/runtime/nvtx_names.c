/*
 * nvtx_names.c - see nvtx.h.
 */
#include "runtime/nvtx.h"

#include <string.h>

#include "runtime/arena.h"
#include "runtime/wide.h"

#define DOMAIN_MAX 400u   /* bytes of a name */
#define CATEGORY_MAX 128u

/* ---- Domains ----------------------------------------------------------------- */

struct nvtx_category {
	const struct nvtx_category *next;
	uint32_t number;
	uint32_t size;
	const char *name;
};

static struct nvtx_domain default_domain;
static struct nvtx_domain *_Atomic domains;

struct nvtx_domain *inferscope_nvtx_domain(void *handle)
{
	return handle ? handle : &default_domain;
}

/* Two of the same name are one: programs make and destroy them at will, and we keep them. */
static struct nvtx_domain *find_domain(const char *name, uint32_t size)
{
	struct nvtx_domain *d = atomic_load(&domains);

	while (d && (d->size != size || memcmp(d->name, name, size) != 0))
		d = d->next;
	return d;
}

/* As many bytes as there may be, whole characters. */
static uint32_t cut(const char *text, size_t size, size_t limit)
{
	if (size <= limit)
		return (uint32_t)size;
	while (limit && ((uint8_t)text[limit] & 0xc0) == 0x80)
		limit--;
	return (uint32_t)limit;
}

struct nvtx_domain *inferscope_nvtx_make_domain(const char *name, size_t bytes)
{
	uint32_t size = cut(name, bytes, DOMAIN_MAX);
	struct nvtx_domain *domain = find_domain(name, size);

	if (domain || !size)
		return domain;
	domain = inferscope_arena(sizeof *domain);
	if (!domain)
		return NULL;
	domain->name = inferscope_arena_text(name, size);
	domain->size = domain->name ? size : 0;
	domain->next = atomic_load(&domains);
	while (!atomic_compare_exchange_weak(&domains, &domain->next, domain))
		;
	return domain;
}

/* ---- Names ------------------------------------------------------------------- */

/* The id of a name of this domain. */
static uint32_t intern(struct runtime_thread *t, const struct nvtx_domain *domain, const char *name, size_t size)
{
	char full[NAME_MAX_BYTES + 4];
	size_t n = domain->size;

	if (!n)
		return inferscope_intern(t, name, size);
	memcpy(full, domain->name, n);
	full[n++] = ':';
	if (size > sizeof full - n)
		size = sizeof full - n;
	memcpy(full + n, name, size);
	return inferscope_intern(t, full, n + size);
}

static uint32_t intern_ascii(struct runtime_thread *t, const struct nvtx_domain *domain, const char *name)
{
	return name ? intern(t, domain, name, strnlen(name, NAME_MAX_BYTES + 4)) : NAME_NONE;
}

static uint32_t intern_wide(struct runtime_thread *t, const struct nvtx_domain *domain, const wchar_t *name)
{
	char text[WIDE_MAX];

	return name ? intern(t, domain, text, inferscope_wide(name, text)) : NAME_NONE;
}

/* See register_string() in nvtx.c. */
static uint32_t registered(const void *handle)
{
	uintptr_t id = (uintptr_t)handle;

	return id < atomic_load_explicit(&inferscope_runtime.names->next, memory_order_relaxed) ? (uint32_t)id : NAME_NONE;
}

static bool has_attributes(const struct nvtx_attributes *a)
{
	return a && a->size >= sizeof *a;
}

static uint32_t name_of(struct runtime_thread *t, const struct nvtx_domain *domain, const struct nvtx_attributes *a)
{
	if (!has_attributes(a))
		return NAME_NONE;
	switch (a->message_type) {
	case MESSAGE_ASCII:
		return intern_ascii(t, domain, a->message.ascii);
	case MESSAGE_UNICODE:
		return intern_wide(t, domain, a->message.unicode);
	case MESSAGE_REGISTERED:
		return registered(a->message.registered);
	default:
		return NAME_NONE;
	}
}

/* ---- Payload and category ----------------------------------------------------- */

static void put_number(struct nvtx_fields *f, uint8_t type, uint64_t value)
{
	f->bytes[f->size++] = type;
	for (int byte = 8; byte-- > 0;)
		f->bytes[f->size++] = (uint8_t)(value >> 8 * byte);
}

static void put_text(struct nvtx_fields *f, const char *text, uint32_t size)
{
	f->bytes[f->size++] = 0xd9; /* str 8 */
	f->bytes[f->size++] = (uint8_t)size;
	memcpy(f->bytes + f->size, text, size);
	f->size += size;
}

static bool put_payload(struct nvtx_fields *f, const struct nvtx_attributes *a)
{
	double d = a->payload_type == PAYLOAD_FLOAT ? (double)a->payload.f : a->payload.d;
	uint64_t bits;

	if (a->payload_type < PAYLOAD_U64 || a->payload_type > PAYLOAD_FLOAT)
		return false;
	put_text(f, "payload", 7);
	memcpy(&bits, &d, sizeof bits);
	switch (a->payload_type) {
	case PAYLOAD_U64:
		put_number(f, 0xcf, a->payload.u64);
		break;
	case PAYLOAD_U32:
		put_number(f, 0xcf, a->payload.u32);
		break;
	case PAYLOAD_I64:
		put_number(f, 0xd3, (uint64_t)a->payload.i64);
		break;
	case PAYLOAD_I32:
		put_number(f, 0xd3, (uint64_t)(int64_t)a->payload.i32);
		break;
	default:
		put_number(f, 0xcb, bits);
	}
	return true;
}

static const struct nvtx_category *find_category(const struct nvtx_domain *domain, uint32_t number)
{
	const struct nvtx_category *c = atomic_load_explicit(&domain->categories, memory_order_acquire);

	while (c && c->number != number)
		c = c->next;
	return c;
}

/* By its name, else by its number. */
static bool put_category(struct nvtx_fields *f, const struct nvtx_domain *domain, uint32_t number)
{
	const struct nvtx_category *c = number ? find_category(domain, number) : NULL;

	if (!number)
		return false;
	put_text(f, "category", 8);
	if (c)
		put_text(f, c->name, c->size);
	else
		put_number(f, 0xcf, number);
	return true;
}

/* What an event says besides its name; the size is 0 when that is nothing. */
static void fields_of(struct nvtx_fields *f, const struct nvtx_domain *domain, const struct nvtx_attributes *a)
{
	uint32_t entries = 0;
	uint16_t size;

	f->size = 0;
	if (!has_attributes(a) || (!a->payload_type && !a->category))
		return;
	f->size = 4;
	entries += put_payload(f, a);
	entries += put_category(f, domain, a->category);
	size = (uint16_t)(f->size - 3);
	f->bytes[0] = FIELD_METADATA;
	memcpy(f->bytes + 1, &size, 2);
	f->bytes[3] = (uint8_t)(0x80 | entries);
	if (!entries)
		f->size = 0;
}

void inferscope_nvtx_name_category(struct nvtx_domain *domain, uint32_t number, const char *name, size_t bytes)
{
	uint32_t size = cut(name, bytes, CATEGORY_MAX);
	const struct nvtx_category *old = find_category(domain, number);
	struct nvtx_category *c;

	if (old && old->size == size && memcmp(old->name, name, size) == 0)
		return;
	c = inferscope_arena(sizeof *c);
	if (!c)
		return;
	c->number = number;
	c->name = inferscope_arena_text(name, size);
	c->size = c->name ? size : 0;
	c->next = atomic_load(&domain->categories);
	while (!atomic_compare_exchange_weak(&domain->categories, &c->next, c))
		;
}

uint32_t inferscope_nvtx_resolve(struct runtime_thread *t, const struct nvtx_domain *domain, const struct nvtx_name *name,
				 struct nvtx_fields *f)
{
	f->size = 0;
	if (name->ascii)
		return intern_ascii(t, domain, name->ascii);
	if (name->wide)
		return intern_wide(t, domain, name->wide);
	fields_of(f, domain, name->attributes);
	return name_of(t, domain, name->attributes);
}
