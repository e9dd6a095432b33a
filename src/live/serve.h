/*
 * serve.h - a process that serves the page, /metrics and /api.
 *
 * It is a process of its own, with no right to anything but the newest
 * snapshot, which it finds in shared memory: whatever a client does, the
 * recording and the program do not notice.  It ends with its parent.
 */
#ifndef LIVE_SERVE_H
#define LIVE_SERVE_H

#include <stdbool.h>

#include "base/error.h"
#include "live/snapshot.h"

struct live_serve_options {
	const char *address; /* "127.0.0.1:8123", "[::1]:0", ":8123", "unix:PATH"; NULL: no page.  Port 0: any that is free */
	bool open_metrics;   /* /metrics without the token */
	const char *token;   /* 16 to 64 letters, digits, - and _; NULL: a new one of 128 random bits */
};

struct live_serve;

/* Listens before it returns; the address to open, token included, is live_serve_url(). */
int live_serve_start(struct live_serve **ret, const struct live_serve_options *options, struct error *err);
const char *live_serve_url(const struct live_serve *serve);
bool live_serve_is_open(const struct live_serve *serve); /* to other machines */
/* Copies the snapshot to where the server finds it.  Never waits. */
void live_serve_publish(struct live_serve *serve, const struct live_snapshot *snapshot);
/* The clients get what was published last, and that this was all: two seconds at most.  Takes NULL. */
void live_serve_stop(struct live_serve *serve);

#endif
