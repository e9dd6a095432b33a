/*
 * steps.h - how steps.c, loader_steps.c and repetition.c share the finding of steps.
 */
#ifndef TIMELINE_STEPS_H
#define TIMELINE_STEPS_H

#include "timeline/timeline.h"

#define STEPS_MIN 3 /* fewer are no repetition */

int steps_add(struct timeline *t, size_t *capacity, const struct timeline_step *step);
/* Steps by these marks. */
int loader_steps_find(struct timeline *t, size_t *capacity);
/* Steps of processes that do not mark them, by the repetition of their work. */
int repetition_find(struct timeline *t, size_t *capacity);

#endif
