/*
 * analysis-world.h - a timeline made by hand (states-world.h), and its analysis.
 */
#ifndef ANALYSIS_WORLD_H
#define ANALYSIS_WORLD_H

#include <math.h>

#include "states-world.h"

#include "analyze/analysis.h"
#include "words-fixture.h"

static struct timeline_detail world_details[WORLD_MAX]; /* of the one world at a time */

static inline struct timeline_detail *world_detail(struct world *w, uint32_t slice)
{
	struct timeline *t = &w->t;
	uint32_t number = world_number(w, slice);

	if (t->detail[number] == TIMELINE_NONE) {
		if (!t->details)
			t->details = world_details;
		world_details[t->detail_count] = (struct timeline_detail){ .collective = TIMELINE_NONE };
		t->detail[number] = t->detail_count++;
	}
	return &t->details[t->detail[number]];
}

static inline struct analysis *world_analyze(struct world *w)
{
	struct analysis *a = NULL;
	struct error err = { 0 };
	int rc = analysis_run(&a, &w->t, NULL, &err);

	if (rc)
		print_error("%s\n", err.text);
	assert_int_equal(rc, 0);
	assert_analysis_in_words(a);
	return a;
}

static inline const struct analysis_check *check_named(const struct analysis *a, const char *name)
{
	for (size_t i = 0; i < a->check_count; i++)
		if (strcmp(a->checks[i].name, name) == 0)
			return &a->checks[i];
	fail_msg("there is no check %s", name);
	return a->checks;
}

static inline const struct analysis_entry *entry_named(const struct analysis *a, const struct analysis_table *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++)
		if (strcmp(timeline_string(a->timeline, table->entries[i].name, NULL), name) == 0)
			return &table->entries[i];
	fail_msg("there is no entry %s", name);
	return table->entries;
}

static inline const struct analysis_kernel *kernel_named(const struct analysis *a, size_t device, const char *name)
{
	for (size_t i = 0; i < a->devices[device].kernel_count; i++)
		if (strcmp(timeline_string(a->timeline, a->devices[device].kernels[i].times.name, NULL), name) == 0)
			return &a->devices[device].kernels[i];
	fail_msg("there is no kernel %s", name);
	return a->devices[device].kernels;
}

static inline int64_t category(const struct analysis *a, const char *name)
{
	for (size_t i = 0; i < a->category_count; i++)
		if (strcmp(a->breakdown[i].name, name) == 0)
			return a->breakdown[i].duration;
	fail_msg("there is no category %s", name);
	return 0;
}

static inline int64_t category_sum(const struct analysis *a)
{
	int64_t sum = 0;

	for (size_t i = 0; i < a->category_count; i++)
		sum += a->breakdown[i].duration;
	return sum;
}

#endif
