/* states_classes.c - which class of work each slice on a stream is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/states_build.h"

enum { NAME_NEW, NAME_COMPUTE, NAME_COMMUNICATION };

struct classifier {
	const struct timeline *t;
	const struct work_rules *rules;
	uint8_t *names; /* what was found out of each string */
};

static uint8_t classify_name(const struct classifier *c, uint32_t name)
{
	size_t size;
	const char *text = timeline_string(c->t, name, &size);

	return work_rules_communication(c->rules, text, size) ? NAME_COMMUNICATION : NAME_COMPUTE;
}

static uint8_t classify_kernel(const struct classifier *c, uint32_t name)
{
	uint8_t found = name < c->t->string_count ? c->names[name] : NAME_NEW;

	if (found == NAME_NEW) {
		found = classify_name(c, name);
		if (name < c->t->string_count)
			c->names[name] = found;
	}
	return found == NAME_COMMUNICATION ? WORK_COMMUNICATION : WORK_COMPUTE;
}

static uint8_t classify(const struct classifier *c, uint32_t slice)
{
	switch (c->t->kind[slice]) {
	case EVENT_GPU_KERNEL:
		return classify_kernel(c, c->t->name[slice]);
	case EVENT_COLLECTIVE:
		return WORK_COMMUNICATION;
	case EVENT_H2D_COPY:
	case EVENT_D2H_COPY:
	case EVENT_D2D_COPY:
		return WORK_COPY;
	case EVENT_MEMSET:
		return WORK_COMPUTE;
	default:
		return WORK_NONE;
	}
}

int states_classify(const struct timeline *t, const struct work_rules *rules, uint8_t *class_of)
{
	struct classifier c = { .t = t, .rules = rules };

	c.names = calloc((size_t)t->string_count + 1, 1);
	if (!c.names)
		return -ENOMEM;
	if (t->slice_count)
		memset(class_of, WORK_NONE, t->slice_count);
	for (uint32_t i = 0; i < t->stream_count; i++) {
		const struct timeline_track *track = &t->tracks[t->streams[i]];

		for (uint32_t k = track->first; k < track->first + track->count; k++)
			class_of[k] = classify(&c, k);
	}
	free(c.names);
	return 0;
}
