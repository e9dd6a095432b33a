/*
 * recover.h - `inferscope recover`: makes a trace of what a killed recorder left behind.
 *
 * That is the partial trace, up to its last whole block, and the rings of the
 * processes, in the session's folder.
 */
#ifndef RECORD_RECOVER_H
#define RECORD_RECOVER_H

#include <stdint.h>

#include "base/error.h"
#include "record/session.h"

struct recover_result {
	char trace_path[RECORDING_PATH_MAX];
	uint64_t from_file;  /* events */
	uint64_t from_rings;
	uint64_t lost;       /* that wrapped before anybody read them */
	uint64_t damage_bytes; /* of the partial trace, passed over */
	uint32_t running;    /* processes that are still alive; they are detached */
	uint64_t trace_bytes;
	struct error trouble; /* what else could not be had; code 0: nothing */
};

/* trace_path may be NULL: where the recording was meant to go; so may runtime, the path of libinferscope-rt.so (heir.h), which nobody
 * else can have written.  Removes the session and the partial trace when done; leaves everything as it was on failure. */
int recover_session(const char *folder, const char *trace_path, const char *runtime, struct recover_result *ret, struct error *err);

#endif
