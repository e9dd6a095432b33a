/*
 * operation_log.h - how long operations of a program take: what is counted while they run.
 *
 * An operation has nothing of a single run of it, so that one serves for all of
 * them, at once in many threads and tasks.  Each thread counts on its own: it has
 * a slot in the log with a stack of what is open in it, one for each asyncio task,
 * and with the figures by number of the operation.  A slot's lock is taken by
 * others only when figures are asked for.  After the first run of an operation in
 * a thread nothing is allocated.
 *
 * Slots of threads that have ended are taken over by new ones, figures and all.
 */
#ifndef ENGINE_OPERATION_LOG_H
#define ENGINE_OPERATION_LOG_H

#include <stdatomic.h>
#include <sys/stat.h>

#include "engine.h"
#include "operation_stats.h"

#define NAMES_MOST 1000u /* of a session; the last is for all that come after */

struct slot;

struct name {
	PyObject *name, *type;
};

struct log {
	PyObject_HEAD
	_Atomic uint64_t session;   /* 0: nothing is collected */
	uint64_t sessions;
	bool memory, clocks, scopes;
	PyObject *gpu;              /* gives bytes; NULL: nobody does */
	PyObject *asyncio;          /* its name */
	PyObject *running_loop, *current_task; /* functions of it; NULL: the program has not imported it */
	int statm;                  /* -1: none */
	dev_t statm_device;
	ino_t statm_inode;
	int64_t page;
	_Atomic uint64_t dropped;
	struct name names[NAMES_MOST];
	uint32_t name_count;
	struct slot *slots;
};

struct operation {
	PyObject_HEAD
	struct log *log;
	PyObject *name, *type, *scope;
	_Atomic uint64_t number; /* that of the session above, that of the name below */
};

/* A run begins or ends in this thread, if a session is running.  operation_end() says whether its scope is open, too. */
void operation_begin(struct operation *op);
bool operation_end(struct operation *op, bool failed);

/* Sessions: what they collect is set in the log before.  At the end all that is open becomes part of the figures, as unfinished. */
void operation_log_start(struct log *log, bool memory);
void operation_log_stop(struct log *log);
void operation_log_abandon(struct log *log); /* in a forked child */
void operation_log_release(struct log *log);

/* Figures: those of an operation in one slot after the other, from NULL on.  False: it has not run there. */
struct slot *operation_log_next(const struct log *log, const struct slot *s);
bool operation_log_copy(const struct log *log, struct slot *s, uint32_t number, struct operation_stats *ret);

#endif
