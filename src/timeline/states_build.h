/*
 * states_build.h - the parts that timeline_states_build() is made of.
 */
#ifndef TIMELINE_STATES_BUILD_H
#define TIMELINE_STATES_BUILD_H

#include "timeline/calls.h"
#include "timeline/states.h"

struct evidence; /* gaps.h */
struct quiet;

struct states_builder {
	const struct timeline *t;
	struct timeline_states *s;
	const struct work_rules *rules;
	uint8_t *waits; /* of each slice: device work whose stream was told to wait for an event before it */
	struct evidence *evidence;
	struct quiet *quiet;
};

/* work_rules.c: whether a text matches a pattern of * and ?.  Patterns are written in small letters; texts are made so
 * first, and of longer ones only the beginning counts: `out` has room for PATTERN_TEXT_MAX bytes, and may be the text. */
#define PATTERN_TEXT_MAX 4096u
size_t pattern_fold(char *out, const char *text, size_t size);
bool pattern_matches(const char *pattern, size_t pattern_size, const char *text, size_t size);

/* states_classes.c */
int states_classify(const struct timeline *t, const struct work_rules *rules, uint8_t *class_of);

/* states_order.c: work of a device; only what has a launch, if so asked. */
int device_order_build(struct device_order *ret, const struct timeline *t, const uint8_t *class_of, uint32_t device,
		       bool launched_only);
void device_order_release(struct device_order *order);

/* states_strays.c: places in by_begin: work before `head` and from `tail` on is stray. */
int strays_find(const struct timeline *t, const struct device_order *order, uint32_t *ret_head, uint32_t *ret_tail);

/* states_waits.c */
void waits_find(struct states_builder *b);

/* states_streams.c */
int streams_build(struct states_builder *b, struct device_states *d);

/* gaps.c */
int gaps_build(struct states_builder *b, struct device_states *d);

static inline int64_t slice_end(const struct timeline *t, uint32_t slice)
{
	return t->end[slice] > t->begin[slice] ? t->end[slice] : t->begin[slice];
}

/* The call that launched device work, or TIMELINE_NONE. */
static inline uint32_t launch_of(const struct timeline *t, uint32_t work)
{
	return t->flags[work] & SLICE_UNLAUNCHED ? TIMELINE_NONE : t->link[work];
}

static inline enum call_class call_class_of(const struct timeline *t, uint32_t slice)
{
	return t->kind[slice] == EVENT_RUNTIME_CALL && t->name[slice] < t->string_count ?
		       (enum call_class)t->call_class[t->name[slice]] : CALL_OTHER;
}

#endif
