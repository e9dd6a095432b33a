/*
 * page_labels.h - what slices are called: a category and a text, numbered by how often they occur.
 */
#ifndef PAGE_PAGE_LABELS_H
#define PAGE_PAGE_LABELS_H

#include "analyze/analysis.h"
#include "base/json_writer.h"

enum page_category {
	PAGE_SCOPE,
	PAGE_PYTHON,
	PAGE_NATIVE,
	PAGE_OPERATOR,
	PAGE_RUNTIME,
	PAGE_SYNC,
	PAGE_KERNEL,
	PAGE_COPY,
	PAGE_COMMUNICATION,
	PAGE_STEP,
	PAGE_COMPILE,
	PAGE_GC,
	PAGE_OTHER_CATEGORY,
	PAGE_CATEGORY_COUNT
};
const char *page_category_name(enum page_category category);

#define PAGE_LABEL_TEXT 512u /* bytes of a text, at most */

struct page_label {
	uint64_t uses;
	uint32_t name;
	uint32_t place;
	uint8_t category;
};
/* A name as slices of one sort have it. */
struct page_label_sort {
	uint32_t next;  /* of the same name, plus 1 */
	uint32_t label; /* its place, once they are in order */
	uint16_t sort;
};
struct page_labels {
	uint32_t *first; /* by name: in `sorts`, plus 1 */
	struct page_label_sort *sorts;
	size_t sort_count, sort_capacity;
	struct page_label *list; /* the most frequent first, once they are in order */
	size_t count, capacity;
	uint8_t *is_step; /* by name: it marks steps */
	size_t listed;    /* those that the page has; the others are told by their category only */
	size_t text_most; /* bytes of a text */
	uint32_t category_place[PAGE_CATEGORY_COUNT]; /* of those that are not listed; TIMELINE_NONE */
	uint32_t all;     /* places in all */
};

struct page_world;
struct page_packer;
/* Counts the labels of all slices. */
int page_labels_init(struct page_world *w);
void page_labels_release(struct page_labels *labels);
/* Puts them in order, and cuts texts and leaves some out until they take about `most` bytes of the page. */
int page_labels_fit(struct page_world *w, size_t most);
/* The model's `labels`. */
void page_labels_put(const struct page_labels *labels, const struct timeline *t, struct json_writer *j);

/* What tells labels of the same name apart. */
static inline uint16_t page_sort_of(const struct analysis *a, uint32_t slice)
{
	uint16_t kind = a->timeline->kind[slice];

	return a->states.class_of && a->states.class_of[slice] == WORK_COMMUNICATION ? (uint16_t)(kind | 256) : kind;
}

/* The place of a slice's label; name is that of the slice, or 0 when there is no such string. */
static inline uint32_t page_label_of(const struct page_labels *labels, uint32_t name, uint16_t sort)
{
	const struct page_label_sort *s = &labels->sorts[labels->first[name] - 1];

	while (s->sort != sort)
		s = &labels->sorts[s->next - 1];
	return s->label;
}

#endif
