/*
 * torch_sequence.c - which backward node belongs to which operator.
 *
 * An operator that autograd will have to go back over gets the number that the
 * next backward node takes; the node shows the same number when it runs.  There
 * is no function to ask a RecordFunction for it, and where it lies may change
 * from release to release.  So it is found: the one word of the object that
 * holds, for operator after operator, what at::sequence_number::peek() says at
 * that time, or -1.
 */
#include <string.h>

#include "runtime/torch_ops.h"

#define WORDS 32u   /* 256 bytes: less than the object has ever had since 2.0 */
#define FIRST 1u    /* after the pointer to its virtual functions */
#define PROOFS 4u   /* different numbers */
#define LOOKS 64u   /* at one number: a program that does not train should not pay for the search */

_Atomic uint32_t inferscope_torch_sequence_offset;

/* The words that were -1 in an operator without a number; 0: we have not seen one. */
static uint32_t empty_words;

static uint64_t word_of(const void *function, uint32_t i)
{
	uint64_t word;

	memcpy(&word, (const char *)function + 8 * i, sizeof word);
	return word;
}

void inferscope_torch_learn_none(const void *function)
{
	for (uint32_t i = FIRST; i < WORDS; i++)
		if (word_of(function, i) == UINT64_MAX)
			empty_words |= 1u << i;
}

/* If it was one of a few, it takes less to be sure. */
static uint32_t proofs_needed(void)
{
	uint32_t words = (uint32_t)__builtin_popcount(empty_words);

	return words >= 1 && words < PROOFS ? words : PROOFS;
}

/* The word, or 0 as long as it is none or more than one. */
static uint32_t found(const struct torch_learner *learner)
{
	uint32_t word = 0, proofs = proofs_needed();

	for (uint32_t i = FIRST; i < WORDS; i++) {
		if (!(learner->alive >> i & 1) || learner->hits[i] < proofs)
			continue;
		if (word)
			return 0;
		word = i;
	}
	return word;
}

static void look(struct torch_learner *learner, const void *function, uint64_t number)
{
	for (uint32_t i = FIRST; i < WORDS; i++) {
		uint64_t word = word_of(function, i);

		if (word == UINT64_MAX)
			continue;
		if (word != number)
			learner->alive &= ~(1u << i);
		else if (learner->last[i] != (uint32_t)number + 1)
			learner->hits[i] += learner->hits[i] < PROOFS;
		learner->last[i] = (uint32_t)number + 1;
	}
}

void inferscope_torch_learn(struct torch_learner *learner, const void *function)
{
	uint64_t number = inferscope_torch.peek();

	if (learner->number != number)
		learner->looks = 0;
	learner->number = number;
	if (learner->looks++ >= LOOKS) {
		learner->looks = LOOKS;
		return;
	}
	if (!learner->alive)
		learner->alive = empty_words ? empty_words : ~0u;
	look(learner, function, number);
	if (found(learner))
		atomic_store_explicit(&inferscope_torch_sequence_offset, 8 * found(learner), memory_order_relaxed);
}
