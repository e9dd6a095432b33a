/*
 * alerts_state.h - what alerts.c and its parts share.
 */
#ifndef LIVE_ALERTS_STATE_H
#define LIVE_ALERTS_STATE_H

#include "live/alerts.h"

#define ALERT_STATES 160u /* of kinds and what they are about */
#define ALERT_NEWS 128u

/* What a kind of alert sees in a snapshot. */
struct alert_sight {
	const char *subject; /* "": there is one only */
	bool holds;          /* it is so now */
	bool gone;           /* it is clearly not so */
	double value, threshold;
	uint8_t severity;
	const char *advice; /* NULL: the kind's */
	char text[LIVE_TEXT];
};

/* A kind of alert: one row in alert_kinds[]. */
struct alert_kind {
	const char *name;
	double hold_s; /* for so long it must hold, */
	double gone_s; /* and be gone */
	const char *advice;
	void (*judge)(struct live_alerts *alerts, const struct alert_kind *kind, const struct live_snapshot *snapshot); /* may be NULL */
	uint32_t most; /* subjects at a time, where the program makes them up; 0: they are few */
};
extern const struct alert_kind alert_kinds[]; /* ends with a name of NULL */

/* One kind about one subject. */
struct alert_state {
	const struct alert_kind *kind; /* NULL: free */
	char subject[LIVE_NAME];
	double held_s, gone_s; /* for how long it has been so, less the time in which it was not */
	double worse_s;        /* the same for a severity above that of the alert */
	bool holds, gone, worse; /* when it was last judged, */
	double seen;           /* which was then */
	uint64_t times;
	bool active;
	struct live_alert alert;
};

/* ---- The trend of memory (alerts_growth.c) ---- */

#define GROWTH_BUCKETS 60u
#define GROWTH_BUCKET_S 5.0

struct alert_growth {
	double least[GROWTH_BUCKETS]; /* of each bucket, the oldest first */
	uint32_t count;
	double before;  /* the most that was ever in a bucket that is no longer there */
	double begin_s; /* of the bucket at hand; NAN: there is none */
	double now;     /* its least */
};

/* Forgets all but that there was so much before. */
void alert_growth_reset(struct alert_growth *growth, double before);
void alert_growth_add(struct alert_growth *growth, double now_s, double bytes);
/* Bytes a second that it grows by, steadily, over the last so many buckets; 0: it does not. */
double alert_growth_slope(const struct alert_growth *growth, uint32_t buckets);

/* ---- The user's rules (alerts_rules.c) ---- */

struct alert_rules;
int alert_rules_new(struct alert_rules **ret, const char *const *texts, size_t count, struct error *err);
void alert_rules_free(struct alert_rules *rules);
void alert_rules_judge(struct alert_rules *rules, struct live_alerts *alerts, const struct live_snapshot *snapshot);

/* ---- The engine (alerts.c) ---- */

struct live_alerts {
	struct live_alert_options options;
	struct alert_rules *rules; /* NULL: none */
	struct alert_state states[ALERT_STATES];
	struct live_alert ended[LIVE_ALERTS]; /* the newest first */
	uint32_t ended_count;
	struct live_alert news[ALERT_NEWS];
	uint32_t news_first, news_count;
	uint64_t begun;
	double now, resumed_s, interval_s; /* resumed: when the program last was not to make steps */
	double asleep_s; /* the most that was ever told */
	bool stopped;
	struct alert_growth growth;
	bool steps_known;
	uint64_t lost, unwritten;
	double oom_kills;
	double idle[LIVE_GPU_NUMBERS]; /* utilization that fades, by the number of the GPU */
};

/* What the kind sees now.  Each kind says it of each subject every time, or the alert is taken to be gone. */
void alert_see(struct live_alerts *alerts, const struct alert_kind *kind, const struct alert_sight *sight);
const struct alert_kind *alert_kind(const char *name);

#endif
