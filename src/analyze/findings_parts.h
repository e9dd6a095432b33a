/*
 * findings_parts.h - what the files of findings share.
 */
#ifndef ANALYZE_FINDINGS_PARTS_H
#define ANALYZE_FINDINGS_PARTS_H

#include <math.h>

#include "analyze/parts.h"

/* findings.c */
void texts_add(struct finding_texts *texts, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Takes what matters: kind, id, owned, gains, confidence before the trust in the trace, and the words have been set. */
int finding_add(struct parts *p, struct analysis_finding *f);

/* How far figures of this trace can be trusted, 0..1. */
double trust_in(enum verdict verdict);

/* The part of a device's time that is judged: all of it, or from the first step on. */
int judged_window(const struct parts *p, size_t device, struct device_window *ret);
static inline bool is_judged(const struct parts *p, int64_t end)
{
	return end > p->a->findings.from;
}

/* What work that takes this share may save if it is left out, at most: that relieves caches and the allocator, too. */
static inline double removal_high(double part)
{
	return part > 0 ? fmin(0.99, 1.1 * part + 0.02) : 0;
}

/* findings_device.c */
int find_on_devices(struct parts *p);
/* Whether advice may name what CUDA and its frameworks have. */
bool has_cuda(const struct parts *p);
/* findings_copies.c */
int find_copies(struct parts *p);
/* findings_host.c */
int find_on_host(struct parts *p);

/* findings_example.c */

/* The longest, and in a second pass over the same the one that is most like the mean:
 *      do { for each: pick_see(&pick, slice, begin, end); } while (pick_again(&pick)); pick_tell(&pick, t, f); */
struct example_pick {
	struct finding_example longest, typical;
	uint64_t count;
	int64_t total, mean, off;
	bool second;
};
void pick_see(struct example_pick *pick, uint32_t slice, int64_t begin, int64_t end);
bool pick_again(struct example_pick *pick);
void pick_tell(const struct example_pick *pick, const struct timeline *t, struct analysis_finding *f);
void examples_of_gaps(const struct parts *p, struct analysis_finding *f, enum idle_cause cause);
void examples_of_work(const struct parts *p, struct analysis_finding *f, enum work_class class); /* that ran alone */
void examples_of_node(const struct parts *p, struct analysis_finding *f, uint32_t node); /* of the spine's tree */

static inline const char *name_text(const struct timeline *t, uint32_t name)
{
	size_t size;

	return timeline_string(t, name, &size);
}

/* findings_place.c */

/* Whether a function, by its name's number, is the user's own, not of a library. */
bool is_own_function(const struct timeline *t, uint32_t name);
/* A slice of the host as a place in somebody's code: the innermost function around it that is the user's own, else the
 * scope or operator, else itself.  TIMELINE_NONE stays so. */
uint32_t place_of(const struct timeline *t, uint32_t slice);
/* The operator around a slice, or TIMELINE_NONE. */
uint32_t operator_of(const struct timeline *t, uint32_t slice);

/* Times by the name of a slice: the largest ones. */
#define PLACES 3
struct place_table {
	struct place_time {
		uint32_t name;
		uint32_t slice; /* one of them */
		uint64_t count;
		int64_t time;
	} *places;
	size_t count, capacity;
	uint32_t *of_name; /* number of the place plus 1 */
	int64_t time;      /* of all */
	uint64_t adds;
};
int places_add(struct place_table *table, const struct timeline *t, uint32_t slice, int64_t time);
/* The largest first; nothing can be added afterwards. */
void places_sort(struct place_table *table);
void places_release(struct place_table *table);

#endif
