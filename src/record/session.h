/*
 * session.h - the folder in which a recording meets the processes it records.
 *
 *      inferscope-XXXXXX/      mode 0700
 *              session         one page, locked by the recorder while it lives
 *              recording       where the trace goes; what `recover` needs to know
 *              p0, p1, ...     one file a process, made by the processes
 *              c0, c1, ...     and one for what CUDA's library writes there (record/heir.h)
 *              n123, n123.1    what process 123 has to say to the user (record/notes.h)
 *              f123            what it knows of itself (record/facts.h)
 */
#ifndef RECORD_SESSION_H
#define RECORD_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "ring/layout.h"

#define SESSION_PATH_MAX 400
#define RECORDING_PATH_MAX 4096

struct session {
	char folder[SESSION_PATH_MAX];
	int folder_fd;
	int page_fd; /* holds the lock */
	struct session_page *page;
	int64_t created_ns; /* CLOCK_BOOTTIME; 0: by somebody else */
};
#define SESSION_INIT { .folder_fd = -1, .page_fd = -1 }

struct session_options {
	uint64_t budget_bytes;
	enum ring_overflow overflow;
	uint32_t block_timeout_ms;
	enum clock_source clock;
	int64_t start_ticks;
	const char *trace_path;   /* absolute; written to "recording" */
	const char *partial_path; /* absolute */
};

/* Makes the folder in XDG_RUNTIME_DIR, /dev/shm or TMPDIR: the first with room for four times the budget, else the one
 * with the most room. */
int session_create(struct session *session, const struct session_options *options, struct error *err);

/* A dead recorder's session, for recovery.  -EBUSY when its recorder lives. */
int session_open_dead(struct session *session, const char *folder, struct error *err);
/* What "recording" says.  The buffers hold RECORDING_PATH_MAX bytes each. */
int session_recording(const struct session *session, char *trace_path, char *partial_path, struct error *err);

/*
 * What the folder itself says, where the page and the processes' files may not be
 * believed: a broken program can have written there.
 */
/* One more than the largest number among the processes' files, below `most`; 0: there are none; negative: they cannot be listed. */
int64_t session_files_end(const struct session *session, uint32_t most);
/* For how long there has been a session, at most. */
uint64_t session_age_ns(const struct session *session);

/* Tells the runtimes that are still alive to detach, and removes the folder.  Takes a half-made session. */
void session_end(struct session *session);
/* Lets go of it and leaves the folder. */
void session_release(struct session *session);

/* A session whose recorder is gone. */
struct session_dead {
	char folder[SESSION_PATH_MAX];
	uint64_t bytes; /* memory it occupies */
	uint32_t processes;
	uint32_t recorder_pid;
};
/* Dead sessions of this user in all the places where sessions are made; the caller frees *ret. */
int session_list_dead(struct session_dead **ret, size_t *ret_count);

/* The places, best first; returns how many of the `max` were filled in. */
struct session_place {
	char path[SESSION_PATH_MAX];
	uint64_t free_bytes;
};
size_t session_places(struct session_place *places, size_t max);

#endif
