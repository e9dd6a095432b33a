/*
 * step_name.h - what the name of a scope says about steps: of training, or of a loop that serves.
 *
 * Names are guessed at in the same way while a program runs and afterwards.
 */
#ifndef TRACE_STEP_NAME_H
#define TRACE_STEP_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum step_rank { STEP_NONE, STEP_WORK, STEP_STEP }; /* nothing; the work of one ("forward"); one ("step", "batch") */

/* What is left of a name without its number ("step 7"); all of it when it is nothing else. */
size_t step_stem(const char *name, size_t size);
/* Of a stem. */
enum step_rank step_rank(const char *stem, size_t size);
bool step_has_word(const char *stem, size_t size, const char *const *words); /* words in small letters, NULL after the last */
/* The mark of PyTorch's loader, asked for the next batch: a wait for input, never a step by itself. */
bool step_is_loader(const char *name, size_t size);

uint64_t step_hash(const char *stem, size_t size);

#endif
