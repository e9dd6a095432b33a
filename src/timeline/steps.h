/*
 * steps.h - how steps.c and repetition.c share the finding of steps.
 */
#ifndef TIMELINE_STEPS_H
#define TIMELINE_STEPS_H

#include "timeline/timeline.h"

int steps_add(struct timeline *t, size_t *capacity, const struct timeline_step *step);
/* Steps of processes that do not mark them, by the repetition of their work. */
int repetition_find(struct timeline *t, size_t *capacity);

#endif
