/* Between libcuda, where things happen, and libcupti, which tells of them.  The real libraries use undocumented tables for this; ours is
   one exported function, doubleDriver(), that the other doubles look up in libcuda.  A real libcuda has none, so that the doubles never
   work by halves on a real driver. */
#ifndef DOUBLES_TRACER_H
#define DOUBLES_TRACER_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda.h"

#define TRACER_MAX 4                    /* copies of libcupti in one process */
#define CLIENT_MAX 4                    /* users of one of them, each with a clock of its own */

enum api_domain { API_DRIVER = 1, API_RUNTIME = 2 };

/* One call of an API function, on the caller's stack from begin to end. */
struct api_call {
	enum api_domain domain;
	uint32_t cbid;
	const char *name;               /* as cuptiGetCallbackName says it */
	uint32_t correlation;           /* that of the outer call, when there is one */
	struct api_call *outer;
	const char *symbol;             /* the kernel's name in a launch */
	CUcontext context;
	uint32_t context_id;
	int result;
	uint64_t start, end;            /* true ones, CLOCK_MONOTONIC_RAW */
	uint64_t record_start[TRACER_MAX][CLIENT_MAX], record_began, record_end;        /* the last two as in the last record */
	uint64_t data[TRACER_MAX];      /* a callback's own, from enter to exit */
};

enum op_kind { OP_KERNEL, OP_COPY, OP_SET, OP_EVENT, OP_WAIT, OP_HOST, OP_GRAPH, OP_FREE, OP_EMPTY };

/* One piece of work of a device.  The times are those of CLOCK_MONOTONIC_RAW; device_clock() turns them into the device's. */
struct op_info {
	enum op_kind kind;
	const char *name;
	uint32_t device, context, stream;
	uint32_t correlation;
	uint32_t graph, source_graph;
	uint64_t node, source_node;
	uint32_t grid[3], block[3], cluster[3], shared, static_shared, registers;
	uint8_t cooperative;
	int priority;
	uint64_t grid_id;
	uint64_t bytes;
	uint32_t value;                 /* of a memset */
	uint8_t copy_kind, from_kind, to_kind, async;
	uint32_t from_device, from_context, to_device, to_context;
	uint32_t event;
	uint64_t event_sync;
	uint32_t channel, channel_type;
	uint32_t pid, tid;              /* of the thread that asked for it; of a host function, once it is over, of the one that ran it */
	uint64_t submitted, start, end;
	bool child;                     /* a node of a graph */
	uint64_t record_start, record_end;
	void *tracer_data[TRACER_MAX];
};

enum resource { RESOURCE_DEVICE, RESOURCE_CONTEXT, RESOURCE_CONTEXT_GONE, RESOURCE_STREAM, RESOURCE_STREAM_GONE, RESOURCE_MODULE,
	RESOURCE_MODULE_GONE, RESOURCE_INIT };

struct resource_info {
	enum resource what;
	CUcontext context;
	CUstream handle;
	uint32_t device, context_id, stream, stream_flag, correlation, module, module_bytes;
	const void *module_image;
	int priority;
};

struct memory_info {
	uint32_t operation;             /* 1 allocation, 2 release */
	uint32_t kind, correlation, device, context, stream;
	uint64_t address, bytes;
	bool async;
	uint64_t pool, pool_threshold, pool_size, pool_used;
};

struct pool_info {
	uint32_t operation;             /* 1 created, 2 destroyed, 3 trimmed */
	uint32_t correlation, device;
	uint64_t keep, address, size, threshold, used;
};

struct sync_info {
	uint32_t type;                  /* 1 event, 2 stream waits for event, 3 stream, 4 context */
	uint32_t correlation, context, stream, event;
	uint64_t event_sync;
	int result;
	CUcontext handle;
	CUstream stream_handle;
	uint64_t record_start, record_end;      /* as in the last record */
};

struct overhead_info {
	uint32_t kind, correlation;
	uint64_t nanoseconds;           /* it ends now */
	uint32_t length, channel;       /* of the command buffer that is full */
};

/* What a copy of libcupti gives; a function may be NULL.  op_started() and op_done() are called with the machine locked, all others
   without. */
struct tracer {
	void (*api_enter)(struct api_call *call);
	void (*api_exit)(struct api_call *call);
	void (*op_queued)(struct op_info *op);
	void (*op_started)(struct op_info *op);
	void (*op_done)(struct op_info *op);
	void (*resource)(const struct resource_info *info);
	void (*memory)(const struct memory_info *info);
	void (*pool)(const struct pool_info *info);
	void (*sync_begin)(uint64_t began[CLIENT_MAX]);
	void (*sync_end)(struct sync_info *info, const uint64_t began[CLIENT_MAX]);
	void (*overhead)(const struct overhead_info *info);
	bool serialize;                 /* one kernel at a time (activity kind KERNEL) */
	bool whole_graphs;              /* a graph is one operation (activity kind GRAPH_TRACE) */
	int slot;                       /* which one it is, set by attach */
};

struct double_driver {
	/* Tracers. */
	int (*attach)(struct tracer *tracer);           /* 0, or -1 when there are too many */
	void (*detach)(struct tracer *tracer);
	bool (*initialised)(void);
	void *(*exchange_subscriber)(void *expected, void *wanted);     /* one place in the process; returns who has it */
	/* Calls. */
	void (*api_begin)(struct api_call *call, enum api_domain domain, uint32_t cbid, const char *name);
	int (*api_end)(struct api_call *call, int result);
	uint32_t (*correlation)(void);                  /* of the calling thread's present call */
	/* Time. */
	uint64_t (*now)(void);                          /* CLOCK_MONOTONIC_RAW in ns */
	uint64_t (*device_clock)(uint32_t device, uint64_t raw);
	/* Objects. */
	uint32_t (*context_id)(CUcontext context);
	uint32_t (*context_device)(CUcontext context);
	uint32_t (*stream_id)(CUcontext context, CUstream stream, bool per_thread);
	uint32_t (*event_id)(CUevent event);
	uint32_t (*graph_id)(CUgraph graph);
	uint32_t (*exec_id)(CUgraphExec exec);
	uint64_t (*node_id)(CUgraphNode node);
	int (*device_count)(void);
	void (*each_context)(void (*what)(const struct resource_info *info, void *user), void *user);
	void (*each_stream)(void (*what)(const struct resource_info *info, void *user), void *user);
	/* For the runtime: without a record. */
	CUresult (*use_device)(int device);             /* its primary context becomes current */
	CUresult (*quiet_module)(CUmodule *ret_module, const void *image);
	CUresult (*quiet_function)(CUfunction *ret_function, CUmodule module, const char *name);
	/* Truth. */
	bool (*truth_wanted)(void);
	void (*truth)(const char *format, ...) __attribute__((format(printf, 1, 2)));
};

DOUBLES_EXPORT const struct double_driver *doubleDriver(void);

#endif
