/* perfetto_intern.c - names that packets of a sequence refer to by number. */
#include "import/perfetto.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"

#define BYTES_MAX ((size_t)128 << 20) /* of all sequences together */
#define ENTRY_BYTES 96u               /* of an entry, with its place in the map */

static struct interned *make(struct perfetto *p, struct intern *in, enum intern_table table, uint64_t iid)
{
	uint32_t at = output_map_find(&in->map, table, iid);

	if (at != PERFETTO_NONE)
		return &in->entries[at];
	if (ARRAY_GROW(in->entries, in->capacity, in->count + 1) ||
	    output_map_add(&in->map, table, iid, (uint32_t)in->count))
		return NULL;
	p->intern_bytes += ENTRY_BYTES;
	return &in->entries[in->count++];
}

/* An entry that is given twice has the later text. */
static int put(struct perfetto *p, struct intern *in, enum intern_table table, uint64_t iid, struct interned entry,
	       struct text text)
{
	struct interned *e;

	if (p->intern_bytes + text.size > BYTES_MAX)
		return -EBADMSG;
	e = make(p, in, table, iid);
	if (!e || (text.size && buffer_append(&in->texts, text.data, text.size)))
		return -ENOMEM;
	p->intern_bytes += text.size;
	entry.at = (uint32_t)(in->texts.size - text.size);
	entry.size = (uint32_t)text.size;
	entry.number = OUTPUT_NONE;
	*e = entry;
	return 0;
}

/* Of InternedData, by field; all have their number in field 1 and most their text in field 2. */
static int table_of(uint32_t field)
{
	switch (field) {
	case 1:
		return INTERN_CATEGORY;
	case 2:
		return INTERN_NAME;
	case 3:
		return INTERN_ARG_NAME;
	case 4:
		return INTERN_SOURCE;
	case 23:
		return INTERN_GPU_CONTEXT;
	case 24:
		return INTERN_GPU_SPEC;
	case 29:
		return INTERN_ARG_TEXT;
	case 47:
		return INTERN_GPU_COUNTERS;
	case 1000:
		return INTERN_KERNEL; /* GpuInternedData.compute_kernels */
	case 1001:
		return INTERN_KERNEL_ARG; /* GpuInternedData.compute_arg_names */
	default:
		return -1;
	}
}

static void read_more(enum intern_table table, const struct pb_field *f, struct interned *entry, struct text *text)
{
	if (f->number == 2 && table == INTERN_GPU_CONTEXT)
		entry->value = f->value;
	else if (f->number == 3 && table == INTERN_GPU_CONTEXT)
		entry->extra = (uint32_t)f->value;
	else if (f->number == 3 && table == INTERN_GPU_COUNTERS)
		entry->value = f->value;
	else if (f->number == 3 && table == INTERN_KERNEL && f->size)
		*text = pb_text(f); /* the readable one of two names */
	else if (f->number == 2 && !text->size)
		*text = pb_text(f);
}

static int read_entry(struct perfetto *p, struct sequence *s, int table, struct cursor c)
{
	struct text whole = { (const char *)c.at, cursor_left(&c) }, text = { NULL, 0 };
	struct interned entry = { 0 };
	uint64_t iid = 0;
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		if (f.number == 1)
			iid = f.value;
		else
			read_more((enum intern_table)table, &f, &entry, &text);
	}
	if (rc)
		return rc;
	if (table == INTERN_SOURCE)
		text = whole;
	if (table == INTERN_CATEGORY)
		entry.extra = kind_of_category(text);
	if (table == INTERN_ARG_NAME || table == INTERN_KERNEL_ARG)
		entry.extra = meaning_of(text);
	return put(p, &s->intern, (enum intern_table)table, iid, entry, text);
}

int intern_read(struct perfetto *p, struct sequence *s, struct cursor c)
{
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		int table = f.wire == PB_BYTES ? table_of(f.number) : -1;

		rc = table < 0 ? 0 : read_entry(p, s, table, pb_message(&f));
		if (rc)
			return rc;
	}
	return rc;
}

const struct interned *intern_find(const struct sequence *s, enum intern_table table, uint64_t iid)
{
	uint32_t at = output_map_find(&s->intern.map, table, iid);

	return at == PERFETTO_NONE ? NULL : &s->intern.entries[at];
}

struct text intern_text(const struct sequence *s, const struct interned *entry)
{
	return entry && entry->size ? (struct text){ (const char *)s->intern.texts.data + entry->at, entry->size }
				    : (struct text){ "", 0 };
}

uint32_t intern_name(struct perfetto *p, struct sequence *s, enum intern_table table, uint64_t iid)
{
	uint32_t at = output_map_find(&s->intern.map, table, iid);
	struct interned *entry;
	char name[48];

	if (at == PERFETTO_NONE) {
		output_report(p->o)->repaired++;
		return output_string(
			p->o, name,
			(size_t)snprintf(name, sizeof name, "[unknown name %llu]", (unsigned long long)iid));
	}
	entry = &s->intern.entries[at];
	if (entry->number == OUTPUT_NONE)
		entry->number = output_string(p->o, intern_text(s, entry).data, entry->size);
	return entry->number;
}

void intern_clear(struct perfetto *p, struct intern *in)
{
	p->intern_bytes -= in->texts.size + in->count * ENTRY_BYTES;
	in->count = 0;
	buffer_clear(&in->texts);
	output_map_clear(&in->map);
}

void intern_release(struct intern *in)
{
	output_map_release(&in->map);
	free(in->entries);
	buffer_release(&in->texts);
	*in = (struct intern){ 0 };
}
