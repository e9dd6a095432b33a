/* The machine behind the double's libcuda: devices, contexts, streams, events, memory, modules and graphs.

   Time is real: an operation that is said to take 250 us is over when CLOCK_MONOTONIC_RAW says so, and who waits for it waits.  When it
   began and ended is computed, not observed: start = the latest of (asked for + launch latency, the operation before it in its stream,
   what it depends on, its copy engine), end = start + duration.  So a late thread of ours makes the program wait a little longer, but
   does not change what is true.

   One lock is over everything here; a function that wants it held says so.  One thread finishes operations; so does everybody who waits. */
#ifndef DOUBLES_MACHINE_H
#define DOUBLES_MACHINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda.h"
#include "gpu_facts.h"
#include "tracer.h"

struct gpu {
	int index;
	struct CUctx_st *primary;
	int primary_users;
	unsigned int primary_flags;
	uint64_t engine_free[3];        /* when the engine for copies to, from and within the device is free */
	uint64_t kernel_free;           /* when the last kernel ends, for tracers that want one at a time */
	uint64_t used;
	CUmemoryPool default_pool, pool;
};

struct CUctx_st {
	uint32_t magic, id;
	struct gpu *gpu;
	bool primary;
	unsigned int flags;
	uint32_t next_stream;
	struct CUstream_st *legacy, *streams;
	struct CUctx_st *next;
	bool peers[GPU_MAX];
};

struct op {
	struct op_info info;            /* first: a tracer's op_info is an op */
	int users;
	bool started, done, host_done;
	struct CUstream_st *stream;
	struct op *next, *host_next;
	struct op **waits;              /* operations that must be over before */
	unsigned int wait_count;
	uint64_t duration;
	int engine;                     /* index of gpu.engine_free, or -1 */
	void *to;
	const void *from;
	void *staged;                   /* a copy of pageable memory, ours */
	unsigned int element;           /* bytes of a memset's value */
	CUhostFn host;
	void *host_user;
	struct op **children;           /* of a graph, in an order that respects their dependencies; their waits are each other */
	unsigned int child_count;
};

struct CUstream_st {
	uint32_t magic, id;
	struct CUctx_st *context;
	unsigned int flags;
	int priority;
	struct op *head, *tail;
	unsigned int queued;
	uint64_t last_end;
	struct op *last;                /* the newest that was queued, over or not */
	struct capture *capture;
	struct CUgraphNode_st *capture_last[16];        /* nodes on which the next captured one depends */
	unsigned int capture_last_count;
	struct CUstream_st *next;
};

struct CUevent_st {
	uint32_t magic, id;
	unsigned int flags;
	struct op *op;                  /* NULL until recorded */
	uint64_t sync;
	struct CUstream_st *stream;     /* where it was recorded last */
	struct capture *capture;        /* recorded in a capture: these nodes */
	struct CUgraphNode_st *nodes[16];
	unsigned int node_count;
};

extern pthread_mutex_t machine_lock;

/* machine.c: start, time, devices. */
int machine_start(void);                                /* once, from cuInit; 0 or a CUresult */
bool machine_running(void);                             /* started, and by this process */
int gpu_count(void);
struct gpu *gpu_at(int index);                          /* NULL when there is none */
uint64_t now_ns(void);
uint64_t device_clock(uint32_t device, uint64_t raw);

/* queue.c: operations. */
struct op *op_new(enum op_kind kind, struct CUstream_st *stream);      /* one user: the caller */
struct op *op_get(struct op *op);                       /* locked; NULL is fine */
void op_put(struct op *op);                             /* locked; NULL is fine */
void op_wait_for(struct op *op, struct op *other);      /* locked, before it is submitted; NULL is fine */
void op_submit(struct op *op);                          /* tells tracers, queues; the stream takes a reference of its own */
void op_await(struct op *op);                           /* returns when it is over */
bool op_over(struct op *op);
uint64_t launch_latency(void);
void queue_start(void);                                 /* the thread */
void stream_drain(struct CUstream_st *stream);          /* returns when what was queued so far is over */
bool stream_idle(struct CUstream_st *stream);

/* objects.c: contexts, streams, events. */
struct CUctx_st *context_new(struct gpu *gpu, unsigned int flags, bool primary);
void context_free(struct CUctx_st *context);
bool context_ok(struct CUctx_st *context);
struct CUctx_st *context_current(void);                 /* of the calling thread, or NULL */
void context_make_current(struct CUctx_st *context);    /* replaces the top of the thread's stack */
int context_push(struct CUctx_st *context);
struct CUctx_st *context_pop(void);
void context_drain(struct CUctx_st *context);
CUresult primary_retain(int device, struct CUctx_st **ret_context);
CUresult use_device(int device);
CUresult stream_new(struct CUctx_st *context, unsigned int flags, int priority, struct CUstream_st **ret_stream);
CUresult stream_find(CUstream handle, struct CUstream_st **ret_stream);         /* also 0, legacy and per-thread */
void stream_free(struct CUstream_st *stream);
CUstream per_thread(CUstream stream);                   /* what a _ptsz function means by its stream */
struct CUevent_st *event_new(unsigned int flags);
bool event_ok(struct CUevent_st *event);
void event_free(struct CUevent_st *event);
extern struct CUctx_st *context_list;                   /* locked */

/* memory.c */
enum memory_kind { MEMORY_PAGEABLE = 1, MEMORY_PINNED = 2, MEMORY_DEVICE = 3, MEMORY_MANAGED = 5 };
struct memory_block {
	uintptr_t start;
	size_t bytes;
	enum memory_kind kind;
	bool registered;                /* the program's own, made pinned */
	struct CUctx_st *context;
	CUmemoryPool pool;
};
CUresult memory_new(enum memory_kind kind, size_t bytes, struct CUctx_st *context, CUmemoryPool pool, struct CUstream_st *stream,
	CUdeviceptr *ret_pointer);
CUresult memory_free(CUdeviceptr pointer, enum memory_kind kind, bool async, struct CUstream_st *stream);
CUresult memory_free_later(CUdeviceptr pointer, struct CUstream_st *stream);
CUresult memory_register(void *pointer, size_t bytes, struct CUctx_st *context);
CUresult memory_unregister(void *pointer);
bool memory_find(CUdeviceptr pointer, struct memory_block *ret_block);

/* pool.c */
CUresult pool_new(struct gpu *gpu, CUmemoryPool *ret_pool);
CUresult pool_free(CUmemoryPool pool);
CUresult pool_trim(CUmemoryPool pool, size_t keep);
uint64_t *pool_attribute(CUmemoryPool pool, int attribute);     /* NULL when there is no such */
void pool_count(CUmemoryPool pool, int64_t bytes);              /* allocated, or with a minus released; locked */
void pool_describe(CUmemoryPool pool, struct memory_info *info);

/* module.c */
CUresult module_new(struct CUctx_st *context, const void *image, struct CUmod_st **ret_module);
CUresult module_free(struct CUmod_st *module);
void modules_free(struct CUctx_st *context);             /* all of it, which tracers have been told is going */
CUresult module_function(struct CUmod_st *module, const char *name, struct CUfunc_st **ret_function);
CUresult module_global(struct CUmod_st *module, const char *name, CUdeviceptr *ret_pointer, size_t *ret_bytes);
bool function_ok(struct CUfunc_st *function);
const char *function_name(struct CUfunc_st *function);
struct CUmod_st *function_module(struct CUfunc_st *function);
uint64_t kernel_duration(const char *name, void **params);

/* graph.c */
bool stream_capturing(struct CUstream_st *stream);
CUresult capture_begin(struct CUstream_st *stream);
CUresult capture_end(struct CUstream_st *stream, struct CUgraph_st **ret_graph);
CUresult capture_status(struct CUstream_st *stream, int *ret_status, uint64_t *ret_id, struct CUgraph_st **ret_graph,
	const CUgraphNode **ret_nodes, size_t *ret_count);
CUresult capture_add(struct op *op);                    /* takes it */
void capture_spoil(struct CUstream_st *stream);
CUresult capture_event(struct CUevent_st *event, struct CUstream_st *stream);
CUresult capture_wait(struct CUstream_st *stream, struct CUevent_st *event);
CUresult graph_new(struct CUgraph_st **ret_graph);
CUresult graph_free(struct CUgraph_st *graph);
CUresult graph_add(struct CUgraph_st *graph, struct op *op, const CUgraphNode *waits, size_t count, CUgraphNode *ret_node);     /* takes op */
CUresult graph_nodes(struct CUgraph_st *graph, CUgraphNode *nodes, size_t *count);
CUresult graph_instantiate(struct CUgraph_st *graph, struct CUgraphExec_st **ret_exec);
CUresult graph_update(struct CUgraphExec_st *exec, struct CUgraph_st *graph);
CUresult graph_exec_free(struct CUgraphExec_st *exec);
CUresult graph_launch(struct CUgraphExec_st *exec, struct CUstream_st *stream);
uint32_t graph_id(CUgraph graph);
uint32_t graph_exec_id(CUgraphExec exec);
uint64_t graph_node_id(CUgraphNode node);

/* work.c: what copies, sets, launches and host functions have in common, whether they run or are captured. */
CUresult work_copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, struct CUstream_st *stream, bool async);
CUresult work_copy_peer(CUdeviceptr to, struct CUctx_st *to_context, CUdeviceptr from, struct CUctx_st *from_context, size_t bytes,
	struct CUstream_st *stream, bool async);
CUresult work_set(CUdeviceptr to, unsigned int value, unsigned int element, size_t count, struct CUstream_st *stream, bool async);
struct op *work_set_op(CUdeviceptr to, unsigned int value, unsigned int element, size_t count, struct CUstream_st *stream);
struct manner { bool cooperative; unsigned int cluster[3]; };   /* of a launch; all 0: as usual */
CUresult work_launch(struct CUfunc_st *function, const unsigned int grid[3], const unsigned int block[3], unsigned int shared,
	struct CUstream_st *stream, void **params, struct manner manner);
struct op *work_launch_op(struct CUfunc_st *function, const unsigned int grid[3], const unsigned int block[3], unsigned int shared,
	struct CUstream_st *stream, void **params);
CUresult work_host(CUhostFn function, void *user, struct CUstream_st *stream);

/* tracers.c: calls and what tracers are told. */
void api_begin(struct api_call *call, enum api_domain domain, uint32_t cbid, const char *name);
int api_end(struct api_call *call, int result);
struct api_call *api_current(void);
uint32_t api_correlation(void);                         /* 0 outside a call */
bool tracers_want_one_kernel(void);
bool tracers_want_whole_graphs(void);
void tell_queued(struct op_info *op);
void tell_started(struct op_info *op);
void tell_done(struct op_info *op);
void tell_resource(struct resource_info *info);
void tell_memory(const struct memory_info *info);
void tell_pool(const struct pool_info *info);
struct sync_note { struct sync_info info; uint64_t began[TRACER_MAX][CLIENT_MAX]; uint64_t start; };
void sync_begin(struct sync_note *note, uint32_t type, struct CUctx_st *context, struct CUstream_st *stream, struct CUevent_st *event);
int sync_end(struct sync_note *note, int result);
void tell_overhead(uint32_t kind, uint64_t began, uint32_t length, uint32_t channel);
int tracer_attach(struct tracer *tracer);
void tracer_detach(struct tracer *tracer);

/* inject.c */
CUresult injection_run(void);

#endif
