/*
 * findings_link.h - how much of the link between host and device large copies use.
 */
#ifndef ANALYZE_FINDINGS_LINK_H
#define ANALYZE_FINDINGS_LINK_H

#include "analyze/findings_parts.h"

enum link_source { LINK_UNKNOWN, LINK_USUAL, LINK_TOLD }; /* for such a device; by the driver */

struct host_link {
	enum link_source source;
	double rate; /* bytes a second of data; NAN */
	char name[32];
};

struct link_use {
	struct host_link link;
	double rate; /* bytes a second that large copies reach; NAN: there are no copies */
	double full; /* share of the link's rate; NAN: it is not known, or the copies go over another link */
	bool small;  /* no copy is large, and the rate is that of all */
	const char *direction;
};

/* Of the device and the direction that use most of their link. */
struct link_use link_use_most(const struct parts *p);
void tell_link(struct finding_texts *texts, const struct link_use *use);

#endif
