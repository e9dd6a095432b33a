/*
 * serve_parts.h - what the files of the server share: serve.c is the parent's side, serve_process.c the process.
 *
 *      serve_address.c   where to listen
 *      serve_access.c    who may ask
 *      serve_request.c   what is answered
 *      serve_stream.c    the clients that are told of every snapshot (/events)
 *      serve_frames.c    what they are told: made once, for all of them
 *      serve_history.c   how it was before they came
 */
#ifndef LIVE_SERVE_PARTS_H
#define LIVE_SERVE_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"
#include "live/metrics.h"
#include "live/serve.h"

#define SERVE_TOKEN 64u /* bytes, at most */
#define SERVE_HOST 64u

/* What the parent writes and the process reads. */
struct serve_shared {
	_Atomic uint32_t version; /* odd while it is being written */
	_Atomic uint32_t over;    /* nothing will follow */
	struct live_totals totals;
	struct live_snapshot snapshot;
};

/* What the process is given. */
struct serve_setup {
	struct serve_shared *shared;
	int listen_fd, wake_fd, life_fd; /* life: the first message tells how starting went; its end is the parent's end */
	pid_t parent;
	bool open_metrics;
	char token[SERVE_TOKEN + 1];
};

/* ---- serve_address.c ---------------------------------------------------------- */

struct serve_address {
	int fd;                  /* listens, does not block */
	char host[SERVE_HOST];   /* as it stands in an address, with brackets and port; "" for a socket with a path */
	char path[108];          /* "": none */
	bool open;               /* other machines can reach it */
};

int serve_listen(struct serve_address *ret, const char *address, struct error *err);

/* ---- serve_access.c ------------------------------------------------------------ */

/* In time that depends on the length of the secret alone. */
bool serve_token_matches(const char *token, const char *given, size_t given_size);
/* Whether a Host header names this machine by a name that nobody else can have, or by the address that the client has come to
 * (without port; "": none). */
bool serve_host_is_ours(const char *host, const char *local);
/* Where the cookie of that host's port begins; its length, or 0.  Cookies do not know ports, so their names do. */
size_t serve_cookie_find(const char *cookies, const char *host, const char **ret);
/* "inferscope-8123" */
void serve_cookie_name(char *out, size_t size, const char *host);
bool serve_token_is_sound(const char *token);

/* ---- serve_history.c ------------------------------------------------------------- */

#define SERVE_POINTS 720u

/* Some figures of the whole run: when there are too many, every second one goes and the distance doubles. */
struct serve_history {
	double distance_s;
	uint32_t count;
	struct serve_point *points;
};

int serve_history_init(struct serve_history *h);
void serve_history_release(struct serve_history *h);
void serve_history_add(struct serve_history *h, const struct live_snapshot *snapshot);
int serve_history_json(struct buffer *out, const struct serve_history *h);

/* ---- serve_frames.c --------------------------------------------------------------- */

/* A piece of the stream, as it is sent.  There for as long as somebody refers to it. */
struct serve_frame {
	uint32_t references;
	uint64_t id;
	struct buffer text;
};

void serve_frame_release(struct serve_frame *frame); /* takes NULL */

#define SERVE_FRAMES 16u
#define SERVE_SECTIONS 16u

struct serve_frames {
	uint64_t id;   /* of the newest snapshot; 0: there is none yet */
	char run[9];   /* tells this server's numbers from another's */
	struct buffer sections[SERVE_SECTIONS]; /* JSON of the groups, as of snapshot sections_id */
	uint64_t sections_id;
	struct buffer next; /* where a section is made */
	struct serve_frame *changes[SERVE_FRAMES]; /* at id % SERVE_FRAMES: what changed with that snapshot */
	struct serve_frame *whole, *history;      /* as of the newest, when somebody asked for it */
};

void serve_frames_init(struct serve_frames *f);
void serve_frames_release(struct serve_frames *f);
/* There is a new snapshot; heard: somebody is told of it. */
void serve_frames_advance(struct serve_frames *f, const struct live_snapshot *snapshot, bool heard);
/* What a client that has everything up to snapshot `id` is sent next, with a reference; NULL: nothing, or no memory. */
struct serve_frame *serve_frames_after(struct serve_frames *f, uint64_t id, const struct live_snapshot *snapshot);
struct serve_frame *serve_frames_history(struct serve_frames *f, const struct serve_history *history);
/* A frame of a fixed text. */
struct serve_frame *serve_frame_text(const char *text);
/* The snapshot that a Last-Event-ID names; 0: none of this server's. */
uint64_t serve_frames_id(const struct serve_frames *f, const char *last_event_id);

/* ---- serve_process.c ---------------------------------------------------------------- */

_Noreturn void serve_process(const struct serve_setup *setup);

#endif
