/* page_labels.c - see page_labels.h. */
#include "page/page_labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "page/page_parts.h"
#include "timeline/calls.h"

#define TEXT_LEAST 32u
#define RATIO_MOST 12u /* many different texts get no smaller than that */

const char *page_category_name(enum page_category category)
{
	static const char *const names[PAGE_CATEGORY_COUNT] = {
		"scope", "python", "native", "operator", "runtime", "sync", "kernel",
		"copy", "communication", "step", "compile", "gc", "other",
	};

	return names[category];
}

/* ---- Categories -------------------------------------------------------------- */

static bool has(const char *text, size_t size, const char *part)
{
	return memmem(text, size, part, strlen(part)) != NULL;
}

/* What a tool says that knows no files: Kineto writes "file.py(12): name", "nn.Module: Linear", "<built-in method ...>". */
static bool looks_like_python(const char *text, size_t size)
{
	return has(text, size, ".py(") || has(text, size, ".py:") || has(text, size, "nn.Module: ") || has(text, size, ".<");
}

static enum page_category category_of_call(struct page_world *w, uint32_t name)
{
	const struct trace_frame *frame = w->t->reader ? trace_reader_function(w->t->reader, name) : NULL;
	uint32_t flags = host_name_flags(&w->names, EVENT_CPU_CALL, name);
	size_t size;
	const char *text = timeline_string(w->t, name, &size);

	if (flags & NODE_GC)
		return PAGE_GC;
	if (flags & NODE_COMPILE)
		return PAGE_COMPILE;
	if (frame)
		return frame->file ? PAGE_PYTHON : PAGE_NATIVE;
	return looks_like_python(text, size) ? PAGE_PYTHON : PAGE_NATIVE;
}

static enum page_category category_of_scope(struct page_world *w, uint32_t name)
{
	if (w->labels.is_step[name])
		return PAGE_STEP;
	return host_name_flags(&w->names, EVENT_SCOPE, name) & NODE_COMPILE ? PAGE_COMPILE : PAGE_SCOPE;
}

static enum page_category category_of_runtime(const struct timeline *t, uint32_t name)
{
	enum call_class class = t->call_class ? t->call_class[name] : CALL_OTHER;

	return class == CALL_COMPILE ? PAGE_COMPILE : call_blocks(class) ? PAGE_SYNC : PAGE_RUNTIME;
}

static enum page_category category_of(struct page_world *w, uint32_t name, uint16_t sort)
{
	if (sort & 256)
		return PAGE_COMMUNICATION;
	switch (sort) {
	case EVENT_SCOPE:
		return category_of_scope(w, name);
	case EVENT_CPU_CALL:
		return category_of_call(w, name);
	case EVENT_OP:
		return PAGE_OPERATOR;
	case EVENT_RUNTIME_CALL:
		return category_of_runtime(w->t, name);
	case EVENT_SYNC:
		return PAGE_SYNC;
	case EVENT_GPU_KERNEL:
		return PAGE_KERNEL;
	case EVENT_H2D_COPY:
	case EVENT_D2H_COPY:
	case EVENT_D2D_COPY:
	case EVENT_MEMSET:
		return PAGE_COPY;
	case EVENT_COLLECTIVE:
		return PAGE_COMMUNICATION;
	default:
		return PAGE_OTHER_CATEGORY;
	}
}

/* ---- Counting ---------------------------------------------------------------- */

/* The label of that name and category, a new one if need be; its number plus 1, or 0 without memory. */
static uint32_t label_for(struct page_labels *labels, uint32_t name, enum page_category category)
{
	for (uint32_t s = labels->first[name]; s; s = labels->sorts[s - 1].next)
		if (labels->list[labels->sorts[s - 1].label].category == category)
			return labels->sorts[s - 1].label + 1;
	if (labels->count >= TIMELINE_NONE - PAGE_CATEGORY_COUNT - 2 || ARRAY_GROW(labels->list, labels->capacity, labels->count + 1) < 0)
		return 0;
	labels->list[labels->count] = (struct page_label){ .name = name, .category = (uint8_t)category };
	return (uint32_t)++labels->count;
}

static struct page_label *add(struct page_world *w, uint32_t name, uint16_t sort)
{
	struct page_labels *labels = &w->labels;
	uint32_t label = label_for(labels, name, category_of(w, name, sort));

	if (!label || ARRAY_GROW(labels->sorts, labels->sort_capacity, labels->sort_count + 1) < 0)
		return NULL;
	labels->sorts[labels->sort_count] = (struct page_label_sort){ .next = labels->first[name], .label = label - 1, .sort = sort };
	labels->first[name] = (uint32_t)++labels->sort_count;
	return &labels->list[label - 1];
}

static int count_slices(struct page_world *w)
{
	const struct timeline *t = w->t;
	struct page_labels *labels = &w->labels;

	for (uint32_t i = 0; i < t->slice_count; i++) {
		uint32_t name = page_slice_name(t, i), s = labels->first[name];
		uint16_t sort = page_sort_of(w->a, i);
		struct page_label *label;

		while (s && labels->sorts[s - 1].sort != sort)
			s = labels->sorts[s - 1].next;
		label = s ? &labels->list[labels->sorts[s - 1].label] : add(w, name, sort);
		if (!label)
			return -ENOMEM;
		label->uses++;
	}
	return 0;
}

int page_labels_init(struct page_world *w)
{
	const struct timeline *t = w->t;
	struct page_labels *labels = &w->labels;

	labels->first = calloc((size_t)t->string_count + 1, sizeof *labels->first);
	labels->is_step = calloc((size_t)t->string_count + 1, 1);
	if (!labels->first || !labels->is_step)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->step_count; i++)
		if (t->steps[i].slice != TIMELINE_NONE && t->steps[i].name < t->string_count)
			labels->is_step[t->steps[i].name] = 1;
	return count_slices(w);
}

void page_labels_release(struct page_labels *labels)
{
	free(labels->first);
	free(labels->sorts);
	free(labels->list);
	free(labels->is_step);
	*labels = (struct page_labels){ 0 };
}

/* ---- Order and size ---------------------------------------------------------- */

/* Before they are in order, `place` is where a label was. */
static int compare_uses(const void *a, const void *b)
{
	const struct page_label *x = a, *y = b;

	if (x->uses != y->uses)
		return x->uses > y->uses ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static int put_in_order(struct page_labels *labels)
{
	uint32_t *place = malloc((labels->count + 1) * sizeof *place);

	if (!place)
		return -ENOMEM;
	for (size_t i = 0; i < labels->count; i++)
		labels->list[i].place = (uint32_t)i;
	if (labels->count)
		qsort(labels->list, labels->count, sizeof *labels->list, compare_uses);
	for (size_t i = 0; i < labels->count; i++)
		place[labels->list[i].place] = (uint32_t)i;
	for (size_t i = 0; i < labels->sort_count; i++)
		labels->sorts[i].label = place[labels->sorts[i].label];
	free(place);
	return 0;
}

/* The text in at most `most` bytes, out of its middle if need be; whole characters as far as it is UTF-8. */
static void put_text(struct json_writer *j, const char *text, size_t size, size_t most)
{
	char cut[PAGE_LABEL_TEXT + 4];
	size_t front = (most - 3) / 2, back = most - 3 - front;

	if (size <= most) {
		json_string(j, NULL, text, size);
		return;
	}
	while (front > 0 && ((uint8_t)text[front] & 0xc0) == 0x80)
		front--;
	while (back > 0 && ((uint8_t)text[size - back] & 0xc0) == 0x80)
		back--;
	memcpy(cut, text, front);
	memcpy(cut + front, "\xe2\x80\xa6", 3);
	memcpy(cut + front + 3, text + size - back, back);
	json_string(j, NULL, cut, front + 3 + back);
}

static void put_label(struct json_writer *j, uint8_t category, const char *text, size_t size, size_t most)
{
	json_open(j, NULL, '[');
	json_text(j, NULL, page_category_name(category));
	put_text(j, text, size, most);
	json_close(j);
}

void page_labels_put(const struct page_labels *labels, const struct timeline *t, struct json_writer *j)
{
	static const char others[] = "(other names)";

	json_open(j, "labels", '[');
	for (size_t i = 0; i < labels->listed; i++) {
		size_t size;
		const char *text = timeline_string(t, labels->list[i].name, &size);

		put_label(j, labels->list[i].category, text, size, labels->text_most);
	}
	for (uint8_t k = 0; k < PAGE_CATEGORY_COUNT; k++)
		if (labels->category_place[k] != TIMELINE_NONE)
			put_label(j, k, others, strlen(others), labels->text_most);
	json_close(j);
}

static void place_the_rest(struct page_labels *labels)
{
	labels->all = (uint32_t)labels->listed;
	for (unsigned k = 0; k < PAGE_CATEGORY_COUNT; k++)
		labels->category_place[k] = TIMELINE_NONE;
	for (size_t i = labels->listed; i < labels->count; i++)
		labels->category_place[labels->list[i].category] = 0;
	for (unsigned k = 0; k < PAGE_CATEGORY_COUNT; k++)
		if (labels->category_place[k] == 0)
			labels->category_place[k] = labels->all++;
}

/* What they take in the page, as they are now. */
static int measure(struct page_world *w, size_t *ret)
{
	struct buffer json = BUFFER_INIT;
	struct json_writer j = { .out = &json, .compact = true };
	size_t packed;

	json_open(&j, NULL, '{');
	page_labels_put(&w->labels, w->t, &j);
	json_close(&j);
	packed = j.error ? SIZE_MAX : page_packed_size(&w->packer, &json);
	buffer_release(&json);
	if (packed == SIZE_MAX)
		return -ENOMEM;
	*ret = page_packed_cost(packed);
	return 0;
}

/* The bytes of it before packing, about. */
static size_t raw_size(const struct page_world *w)
{
	const struct page_labels *labels = &w->labels;
	size_t raw = 0;

	for (size_t i = 0; i < labels->listed; i++) {
		size_t size;

		timeline_string(w->t, labels->list[i].name, &size);
		raw += 20 + (size < labels->text_most ? size : labels->text_most);
	}
	return raw;
}

/* To about `share` of what it takes. */
static void shrink(struct page_labels *labels, double share)
{
	if (labels->text_most > TEXT_LEAST)
		labels->text_most /= 2;
	else
		labels->listed = labels->listed > 16 ? (size_t)((double)labels->listed * (share < 0.9 ? share : 0.9)) : 0;
}

/* Those that are not listed get the place of their category. */
static void point_the_rest(struct page_labels *labels)
{
	for (size_t i = 0; i < labels->sort_count; i++) {
		struct page_label_sort *s = &labels->sorts[i];

		if (s->label >= labels->listed)
			s->label = labels->category_place[labels->list[s->label].category];
	}
}

int page_labels_fit(struct page_world *w, size_t most)
{
	struct page_labels *labels = &w->labels;
	size_t cost = 0;
	int rc = put_in_order(labels);

	labels->listed = labels->count;
	labels->text_most = PAGE_LABEL_TEXT;
	while (labels->listed && (cost = raw_size(w) / RATIO_MOST) > most)
		shrink(labels, (double)most / (double)cost);
	for (; rc == 0; shrink(labels, (double)most / (double)cost)) {
		place_the_rest(labels);
		rc = measure(w, &cost);
		if (cost <= most || labels->listed == 0)
			break;
	}
	if (rc == 0)
		point_the_rest(labels);
	return rc;
}
