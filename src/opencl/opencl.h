/*
 * opencl.h - what the files of the OpenCL door share.
 *
 * The loader of OpenCL (ocl-icd, Khronos') loads the libraries that
 * OPENCL_LAYERS names and calls clInitLayer() with the table of functions
 * below; what we put into ours is called from then on, for programs in any
 * language.
 *
 *      layer.c      the door itself, and the table
 *      device.c     what devices are called
 *      queue.c      queues: profiling is on, and the program does not see that; queue_table.c  those that are known
 *      clock.c      times of the device on our clock
 *      pending.c    commands on their way
 *      command.c    when they have ended, and the work of the device that they have been
 *      call.c       around the calls that put commands into queues
 *      wait.c       what commands wait for
 *      enqueue.c, enqueue_memory.c     those calls
 *      share.c      objects that are shared with OpenGL and others
 *      extension.c  functions that are asked for by name; batch.c  command buffers, which are an extension
 *      host.c       calls that wait or compile
 *      memory.c     memory objects and shared memory: sizes and lifetimes; maps.c  what of them is mapped
 *      kernel.c     names of kernels; arguments.c  what they are called with, where that is asked for
 *
 * A command holds a reference to its event until it has been seen to end: in a
 * callback of the driver's, and when the program itself has waited.  There is a
 * callback for each command of a queue that is not in order.  In one that is,
 * there is one for several commands, if these are kernels that took so little
 * the last times that the last one is expected soon after the first: a callback
 * for each made a launch dearer by some 80 ns.  Where the program waits, there is
 * one for the first, too, and one for each as long as they take longer than expected.
 *
 * There is no thread of ours.  In a forked child all of it is forgotten: what
 * is on its way belongs to the parent.
 */
#ifndef OPENCL_OPENCL_H
#define OPENCL_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <sched.h>

#include "gpu/gpu.h"
#include "gpu/gpu_clock.h"

/* The layer below; entries that it does not have are NULL, and stay so. */
extern struct _cl_icd_dispatch opencl_next;
#define OPENCL_WRAP(name, function)             \
	do {                                    \
		if (opencl_next.name)           \
			table->name = function; \
	} while (0)

bool opencl_recording(void);
/* Zeroed memory that is zero again in a forked child; NULL when it cannot be had.  Never given back but by opencl_unmap(). */
void *opencl_map(size_t size);
void opencl_unmap(void *memory, size_t size);
static inline void opencl_lock(_Atomic uint32_t *lock)
{
	for (uint32_t rounds = 1; atomic_exchange_explicit(lock, 1, memory_order_acquire); rounds++)
		if (rounds % 64 == 0)
			sched_yield();
}
static inline void opencl_unlock(_Atomic uint32_t *lock)
{
	atomic_store_explicit(lock, 0, memory_order_release);
}
static inline uint64_t opencl_now(void)
{
	return clock_ticks(inferscope_runtime.clock);
}
/* A place for a handle in a table of 1 << bits. */
static inline uint32_t opencl_place(const void *handle, unsigned bits)
{
	return (uint32_t)((uint64_t)((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15u >> (64 - bits));
}

/* ---- device.c ---- */

bool opencl_device_map(void);
void opencl_device_describe(char *text, size_t size, cl_device_id device, const char *stream);
/* Where memory of a context is told: the device that it is of; with NULL for that the context's, or the process where it has several.
 * Between emit_enter() and emit_leave(). */
const struct gpu_stream *opencl_device_memory(struct runtime_thread *thread, cl_context context, cl_device_id device);

/* ---- clock.c ---- */

enum opencl_clock_kind { OPENCL_CLOCK_UNKNOWN, OPENCL_CLOCK_DEVICE, OPENCL_CLOCK_NAMED /* and the two after it */ };
struct opencl_clock {
	enum opencl_clock_kind kind;
	uint32_t misses; /* commands that it did not fit, one after another */
	uint64_t seen;   /* ticks, when the last one was put into its queue */
	struct gpu_clock fit;
};
/* When the process has found OpenCL: the longer ago, the better the rates. */
void opencl_clock_start(void);
void opencl_clock_init(struct opencl_clock *clock);
/* Whether it would see when a command was put into its queue, about now: that is one more question to the driver. */
bool opencl_clock_wants(const struct opencl_clock *clock, uint64_t now);
/* A command was put into its queue at `queued`, by the device's clock, between two readings of ours.  True: there is a new pair. */
bool opencl_clock_see(struct opencl_clock *clock, uint64_t before, uint64_t queued, uint64_t after, struct gpu_pair *ret);

/* ---- pending.c ---- */

#define CACHE_LINE 64
/* What is known of a command when it has been put into a queue. */
struct command {
	_Alignas(CACHE_LINE) cl_event event;
	uint64_t before, after; /* ticks around the call */
	uint64_t bytes;
	uint64_t global[3]; /* work-items; 0: none */
	uint32_t local[3];  /* of a group; 0: the driver chooses */
	uint32_t name;
	uint32_t correlation;
	uint32_t first_of; /* name of what compiles at its first launch; 0 */
	uint32_t frees;    /* memory that is given back by it, see below; 0 */
	uint32_t wait;     /* correlation of what a marker or barrier waits for; 0 */
	uint64_t graph;
	uint64_t until;    /* ns of work that is expected of the queue up to its end, from any beginning */
	uint32_t expected; /* ns of it; 0: not known */
	uint32_t kernel;   /* its place; 0: none */
	uint16_t memory_kinds, metadata_size;
	uint8_t kind;
	bool done;  /* its callback has come */
	bool ended; /* it has become an event */
	bool alone; /* its work is not to be taken for that of the call */
};

/* Commands are counted; those from `begin` to `end` are there. */
struct pending {
	struct command *commands; /* a ring, mapped; size is a power of two */
	uint8_t *metadata;        /* GPU_METADATA bytes for each of them, where arguments are recorded */
	uint32_t size;
	/* Of who puts commands in. */
	_Alignas(CACHE_LINE) _Atomic uint32_t putting;
	_Atomic uint32_t end;
	uint32_t begin_seen;
	uint64_t until; /* of the newest */
	bool watched;   /* somebody will look at what is put in */
	/* Of who takes them out. */
	_Alignas(CACHE_LINE) _Atomic uint32_t taking;
	_Atomic uint32_t begin;
	uint32_t end_seen;
	uint32_t done; /* of them, whose callback has come */
};
struct call;
/* Event, times and correlation are the call's. */
enum pushed { PUSHED_NOWHERE /* there is no room */, PUSHED_WATCHED /* somebody will look at it */, PUSHED_ALONE };
enum pushed opencl_pending_push(struct pending *pending, const struct command *command, const struct call *call, const void *metadata);
/* From now on somebody will look at what is put in, or nobody: then what was put in before is there to be seen.  Only one may tell. */
void opencl_pending_watch(struct pending *pending, bool watched);
/* The next one from place `at` on that has not ended, or whose callback has come; false: there is none.  Places count from the oldest. */
bool opencl_pending_next(struct pending *pending, uint32_t *at, bool only_done, struct command *ret, void *ret_metadata);
/* It has ended; `at` becomes the place of the next. */
void opencl_pending_remove(struct pending *pending, uint32_t *at);
bool opencl_pending_any(struct pending *pending);
/* The oldest, and the last one that will have ended soon after it, as far as is known: the same, if need be.  False: there is none. */
bool opencl_pending_soon(struct pending *pending, cl_event *ret_oldest, cl_event *ret_last);
/* Among the newest `most` of those that have not ended. */
bool opencl_pending_find(struct pending *pending, cl_event event, uint32_t most, uint32_t *ret_correlation);
void opencl_pending_done(struct pending *pending, cl_event event); /* its callback has come */
bool opencl_pending_any_done(struct pending *pending);

/* ---- queue.c, queue_table.c ---- */

#define QUEUE_PROPERTIES 32u /* longer lists are passed on as they are, and the queue is not recorded */
struct opencl_queue {
	cl_command_queue _Atomic handle; /* NULL: it is not in the table */
	_Atomic uint32_t references;     /* of the program's */
	uint32_t home;                   /* the place where it is looked for first */
	bool gone;                       /* the program has none, but its events may still be there */
	struct opencl_queue *next;       /* of those that are gone */
	cl_device_id device;
	bool unordered; /* so it was made, and so its stream is called */
	struct gpu_stream stream;
	bool asked;    /* the program wanted profiling itself */
	bool profiled; /* the driver did what we wanted; else its calls are all that is known */
	bool in_order;
	bool listed; /* it was made with a list of properties: */
	cl_queue_properties list[QUEUE_PROPERTIES]; /* the program's */
	uint32_t list_size;
	struct pending pending;
	/* Of who harvests. */
	_Alignas(CACHE_LINE) _Atomic uint32_t harvesting;
	_Atomic bool armed; /* a callback will come for the last of several commands, */
	_Atomic bool near;  /* and for the oldest of them; */
	_Atomic bool called; /* that has come */
	_Atomic bool wary;  /* the program waits */
	cl_event last;      /* whose callback is the first of these; to compare with */
	bool late;          /* what ended last took longer than was expected */
	bool deaf;          /* the driver has none */
	_Atomic uint32_t releases; /* odd while an event is given back */
	struct opencl_clock clock;
	uint64_t last_end; /* of the device */
};
/* What is known of a queue that is being made. */
struct opencl_origin {
	cl_device_id device;
	cl_command_queue_properties asked;
	bool profiled;
	const cl_queue_properties *list; /* NULL: made without one, or an empty one */
	bool listed;
};
bool opencl_queue_map(void);
void opencl_queue_remember(cl_command_queue handle, const struct opencl_origin *origin);
void opencl_queue_leave(struct opencl_queue *queue); /* the program has released it */
void opencl_queue_forget(cl_command_queue handle); /* it is not one that is recorded; another one may have been */
bool opencl_queue_wrap(struct _cl_icd_dispatch *table); /* false: there is no memory, and nothing can be recorded; so the next */
/* NULL: not one that is recorded. */
struct opencl_queue *opencl_queue_find(cl_command_queue handle);
/* The queue of a command that is known by its event; ret_handle (may be NULL) becomes NULL for user events. */
struct opencl_queue *opencl_queue_of(cl_event event, cl_command_queue *ret_handle);
void opencl_queue_each(void (*see)(struct opencl_queue *queue));

/* ---- command.c ---- */

/* A command has been put into the queue of this call, with this known of it (pending.c). */
void opencl_command_push(const struct call *call, const struct command *command, const void *metadata);
/* Those that have ended become events; when the program has waited for them, the driver is asked about all. */
void opencl_harvest(struct opencl_queue *queue);
void opencl_harvest_waited(struct opencl_queue *queue);
/* The program is about to wait for what is in the queue (NULL: it is not one that is recorded). */
void opencl_harvest_ahead(struct opencl_queue *queue);
/* The program ends: another thread that is at it gets some time. */
void opencl_harvest_last(struct opencl_queue *queue);
/* Whether we hold a reference to the event, as a command of this queue; its correlation (0: it is not known). */
bool opencl_command_holds(struct opencl_queue *queue, cl_event event);
uint32_t opencl_command_correlation(struct opencl_queue *queue, cl_event event);
bool opencl_command_idle(struct opencl_queue *queue);

/* ---- call.c ---- */

enum opencl_call {
	CALL_ND_RANGE, CALL_TASK, CALL_NATIVE,
	CALL_READ, CALL_READ_ASYNC, CALL_READ_RECT, CALL_READ_RECT_ASYNC, CALL_WRITE, CALL_WRITE_ASYNC, CALL_WRITE_RECT, CALL_WRITE_RECT_ASYNC,
	CALL_READ_IMAGE, CALL_READ_IMAGE_ASYNC, CALL_WRITE_IMAGE, CALL_WRITE_IMAGE_ASYNC,
	CALL_COPY, CALL_COPY_RECT, CALL_COPY_IMAGE, CALL_COPY_IMAGE_TO_BUFFER, CALL_COPY_BUFFER_TO_IMAGE,
	CALL_FILL, CALL_FILL_IMAGE, CALL_MAP, CALL_MAP_ASYNC, CALL_MAP_IMAGE, CALL_MAP_IMAGE_ASYNC, CALL_UNMAP, CALL_MIGRATE,
	CALL_MARKER, CALL_OLD_MARKER, CALL_BARRIER, CALL_OLD_BARRIER, CALL_WAIT_IN_QUEUE,
	CALL_SVM_COPY, CALL_SVM_COPY_ASYNC, CALL_SVM_FILL, CALL_SVM_MAP, CALL_SVM_MAP_ASYNC, CALL_SVM_UNMAP, CALL_SVM_MIGRATE, CALL_SVM_FREE_LATER,
	CALL_USM_COPY, CALL_USM_COPY_ASYNC, CALL_USM_FILL, CALL_USM_SET, CALL_USM_MIGRATE,
	CALL_GL_ACQUIRE, CALL_GL_RELEASE, CALL_EGL_ACQUIRE, CALL_EGL_RELEASE,
	CALL_EXTERNAL_ACQUIRE, CALL_EXTERNAL_RELEASE, CALL_VA_ACQUIRE, CALL_VA_RELEASE,
	CALL_BATCH, CALL_FINISH, CALL_WAIT, CALL_FLUSH, CALL_BUILD, CALL_BUILD_LATE, CALL_COMPILE, CALL_LINK,
	CALL_CREATE_BUFFER, CALL_CREATE_IMAGE, CALL_CREATE_PIPE, CALL_RELEASE_MEMORY, CALL_SVM_ALLOC, CALL_SVM_FREE, CALL_SET_USER_EVENT,
	CALL_USM_HOST, CALL_USM_DEVICE, CALL_USM_SHARED, CALL_USM_FREE, CALL_USM_FREE_BLOCKING,
	NAME_STREAM_WAIT, NAME_BATCH,
	OPENCL_CALL_COUNT
};
/* Whether it returns when what it puts into a queue has ended. */
static inline bool opencl_call_waits(enum opencl_call which)
{
	return which == CALL_READ || which == CALL_READ_RECT || which == CALL_WRITE || which == CALL_WRITE_RECT || which == CALL_READ_IMAGE ||
	       which == CALL_WRITE_IMAGE || which == CALL_MAP || which == CALL_MAP_IMAGE || which == CALL_SVM_COPY || which == CALL_SVM_MAP ||
	       which == CALL_USM_COPY;
}
uint32_t opencl_call_name(enum opencl_call call); /* the id; between emit_enter() and emit_leave() */

/* Around a call that puts a command into a queue: the event that it is to have, and what it waits for. */
#define CALL_WAITS 8u /* of a list; the others are left out */
struct call {
	struct opencl_queue *queue; /* NULL: not recorded */
	uint64_t begin;
	cl_event own, *event;
	uint64_t end;
	uint32_t correlation;
	uint32_t wait_count;
	uint32_t waits[CALL_WAITS]; /* correlations */
};
void opencl_call_begin(struct call *call, cl_command_queue queue, cl_event *event, cl_uint waits, const cl_event *list);
/* `command` has what is known but for event, times and correlation. */
void opencl_call_end(struct call *call, enum opencl_call which, cl_int rc, struct command *command);
void opencl_call_end_with(struct call *call, enum opencl_call which, cl_int rc, struct command *command, const void *metadata);
/* A call that has no command, and has returned. */
void opencl_call_returned(enum opencl_call which, uint64_t begin, uint32_t correlation);

/* ---- wait.c ---- */

void opencl_wait_wrap(struct _cl_icd_dispatch *table);
void opencl_wait_find(struct call *call, cl_uint count, const cl_event *list);
/* Its stream waits, as told by a call; between emit_enter() and emit_leave(). */
void opencl_wait_emit(struct runtime_thread *thread, const struct call *call);

/* ---- memory.c, maps.c ---- */

void opencl_memory_wrap(struct _cl_icd_dispatch *table);
/* MEMORY_DEVICE, or MEMORY_PINNED for objects that live on the host's side; at a pointer what was allocated there, else MEMORY_PAGEABLE. */
uint32_t opencl_memory_kind(cl_mem object);
uint32_t opencl_memory_kind_at(const void *pointer);
bool opencl_memory_find(const void *handle, uint64_t *ret_bytes); /* of an object that is ours to know */
/* Memory that a command will give back: a number for it; and when it has (ticks). */
uint32_t opencl_memory_give(cl_uint count, void *const *pointers);
void opencl_memory_keep(uint32_t frees); /* it will not, after all */
void opencl_memory_given(struct runtime_thread *thread, uint32_t frees, uint64_t time);

void opencl_maps_wrap(void);
void opencl_maps_add(const void *pointer, uint64_t size, bool written, bool pinned);
bool opencl_maps_pinned(const void *pointer); /* inside of a map of pinned memory */
uint64_t opencl_maps_take(const void *pointer); /* bytes that were to be written */

/* ---- kernel.c, arguments.c ---- */

struct opencl_kernel {
	uint32_t name;  /* id; 0: it could not be found out now */
	uint32_t code;  /* of what is compiled: the same for all kernels of a name that one build of a program has */
	uint32_t place; /* where it is kept; 0: nowhere */
	uint32_t took;  /* ns to be expected of a launch; 0: not known */
};
bool opencl_kernel_wrap(struct _cl_icd_dispatch *table);
struct opencl_kernel opencl_kernel_find(cl_kernel kernel);
/* The kernel that was kept there, or is now. */
void opencl_kernel_took(uint32_t place, uint64_t ns);
void opencl_kernel_built(cl_program program);

void opencl_arguments_wrap(struct _cl_icd_dispatch *table);
extern bool opencl_arguments_wanted;
/* A MessagePack map of at most GPU_METADATA bytes, its size; 0: nothing is known. */
size_t opencl_arguments_of(cl_kernel kernel, uint8_t ret[GPU_METADATA]);

/* ---- enqueue.c, enqueue_memory.c, share.c, extension.c, batch.c, host.c ---- */

void opencl_enqueue_wrap(struct _cl_icd_dispatch *table);
void opencl_enqueue_memory_wrap(struct _cl_icd_dispatch *table);
void opencl_share_wrap(struct _cl_icd_dispatch *table);
void opencl_extension_wrap(struct _cl_icd_dispatch *table);
bool opencl_batch_map(void);
void opencl_host_wrap(struct _cl_icd_dispatch *table);

#endif
