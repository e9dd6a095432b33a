/*
 * nvtx.h - what an NVTX event says: its name, its domain, its payload and category.
 *
 * The layouts and numbers are those of NVTX's nvToolsExt.h, which only ever grow.
 */
#ifndef RUNTIME_NVTX_H
#define RUNTIME_NVTX_H

#include <wchar.h>

#include "runtime/runtime.h"

enum { MESSAGE_ASCII = 1, MESSAGE_UNICODE = 2, MESSAGE_REGISTERED = 3 };
enum { PAYLOAD_U64 = 1, PAYLOAD_I64 = 2, PAYLOAD_DOUBLE = 3, PAYLOAD_U32 = 4, PAYLOAD_I32 = 5, PAYLOAD_FLOAT = 6 };

struct nvtx_attributes {
	uint16_t version;
	uint16_t size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	union {
		uint64_t u64;
		int64_t i64;
		double d;
		uint32_t u32;
		int32_t i32;
		float f;
	} payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *unicode;
		const void *registered;
	} message;
};
_Static_assert(sizeof(struct nvtx_attributes) == 48, "as NVTX has it");

/* A handle is a pointer to one, or NULL for the default domain.  Never freed. */
struct nvtx_domain {
	struct nvtx_domain *next;
	const struct nvtx_category *_Atomic categories;
	uint32_t size;
	const char *name;
};
struct nvtx_domain *inferscope_nvtx_domain(void *handle);

/* The one of this name; NULL: there is no memory, or no name. */
struct nvtx_domain *inferscope_nvtx_make_domain(const char *name, size_t size);

/* How a name was given: one of the three. */
struct nvtx_name {
	const struct nvtx_attributes *attributes;
	const char *ascii;
	const wchar_t *wide;
};

/* Metadata, as a list of fields for inferscope_emit_fields(); size 0: none. */
struct nvtx_fields {
	uint8_t bytes[256];
	uint32_t size;
};

/* The id of the name, and the metadata.  Between emit_enter() and emit_leave(). */
uint32_t inferscope_nvtx_resolve(struct runtime_thread *thread, const struct nvtx_domain *domain, const struct nvtx_name *name,
				 struct nvtx_fields *ret_fields);

void inferscope_nvtx_name_category(struct nvtx_domain *domain, uint32_t number, const char *name, size_t size);

#endif
