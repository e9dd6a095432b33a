/*
 * words-fixture.h - whatever an analysis names has words for people: the identifier of a new finding, check or category has its row in words.c.
 */
#ifndef WORDS_FIXTURE_H
#define WORDS_FIXTURE_H

#include "analyze/analysis.h"
#include "analyze/words.h"

static inline void assert_in_words(const char *identifier)
{
	if (!words_of(identifier))
		fail_msg("%s has no words", identifier);
}

static inline void assert_analysis_in_words(const struct analysis *a)
{
	for (size_t i = 0; i < a->check_count; i++)
		assert_in_words(a->checks[i].name);
	for (size_t i = 0; i < a->category_count; i++)
		assert_in_words(a->breakdown[i].name);
	for (size_t i = 0; i < a->findings.count; i++)
		assert_in_words(a->findings.list[i].kind);
}

#endif
