/*
 * cuda.h - what the files of the CUDA door share.
 *
 * The driver of CUDA loads the library that CUDA_INJECTION64_PATH names when a
 * program first uses CUDA, and calls InitializeInjection().  From there on CUPTI
 * tells us what devices do: it fills buffers of ours with records.
 *
 *      door.c         the door itself: once a process, a thread, and the end
 *      library.c      finds libcupti and its functions
 *      subscriber.c   its calls in our name, where it has several subscribers
 *      kinds.c        which kinds of records it makes
 *      layout.c       what its records look like
 *      memory.c       where all that is kept, and CUPTI's buffers are
 *      heir.c         goes on where a program was killed
 *      buffers.c      buffers for records, from the pool to CUPTI and back
 *      records.c      records become events
 *      calls.c        those of calls, on the tracks of the threads that made them
 *      environment.c  how devices are: clocks, heat, power
 *      waits.c        which call recorded the event that a stream or a thread waits for
 *      places.c       devices, contexts, streams and threads
 *      texts.c        names that records only point to
 *      clock.c        CUPTI's times on our clock
 *
 * Threads of the program only ever take a buffer from the pool.  All else is
 * done by a thread of ours, twenty times a second: the whole of what has come is
 * looked at at once, so that it does not matter much in which order CUPTI hands
 * over what belongs together.  While nobody records, CUPTI makes no records of
 * work, and the thread sleeps.
 *
 * Operators and scopes are not told to CUPTI (external correlation): calls are
 * put on the track of the thread that made them, by its id, and so lie inside
 * whatever is open there.
 */
#ifndef CUDA_CUDA_H
#define CUDA_CUDA_H

#include "cuda/layout.h"
#include "gpu/gpu.h"

/* ---- library.c ---- */

typedef void cupti_request(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_max_records);
typedef void cupti_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
typedef void cupti_callback(void *user, int domain, uint32_t id, const void *data);
typedef void cupti_request_v2(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_max_records, void *info);
typedef void cupti_complete_v2(uint8_t *buffer, size_t size, size_t valid, void *info);

/* CUpti_SubscriberParams, as it is from CUDA 13.2 on. */
struct cupti_params {
	size_t size;
	const char *name;
	char *old_name; /* of who is there; */
	size_t old_size;
	uint8_t several;
	uint8_t padding[7];
};
_Static_assert(sizeof(struct cupti_params) == 40, "CUPTI tells its versions apart by their size");

/* F(member, name, needed, parameters): without one that is needed nothing can be recorded. */
#define CUPTI_FUNCTIONS(F) \
	F(subscribe, "cuptiSubscribe", true, (void **ret_handle, cupti_callback *callback, void *user)) \
	F(enable_callback, "cuptiEnableCallback", false, (uint32_t enable, void *handle, int domain, uint32_t callback)) \
	F(register_buffers, "cuptiActivityRegisterCallbacks", true, (cupti_request *request, cupti_complete *complete)) \
	F(enable, "cuptiActivityEnable", true, (int kind)) \
	F(disable, "cuptiActivityDisable", false, (int kind)) \
	F(unsubscribe, "cuptiUnsubscribe", false, (void *handle)) \
	F(flush_all, "cuptiActivityFlushAll", true, (uint32_t flags)) \
	F(next_record, "cuptiActivityGetNextRecord", true, (uint8_t *buffer, size_t valid, void **record)) \
	F(dropped, "cuptiActivityGetNumDroppedRecords", false, (void *context, uint32_t stream, size_t *ret)) \
	F(set_attribute, "cuptiActivitySetAttribute", false, (int attribute, size_t *size, void *value)) \
	F(set_thread_ids, "cuptiSetThreadIdType", false, (int type)) \
	F(set_clock, "cuptiActivityRegisterTimestampCallback", false, (uint64_t (*clock)(void))) \
	F(now, "cuptiGetTimestamp", false, (uint64_t *ret)) \
	F(version, "cuptiGetVersion", false, (uint32_t *ret)) \
	F(call_name, "cuptiGetCallbackName", false, (int domain, uint32_t call, const char **ret)) \
	F(result_text, "cuptiGetResultString", false, (int result, const char **ret)) \
	F(subscribe_v2, "cuptiSubscribe_v2", false, (void **ret_handle, cupti_callback *callback, void *user, struct cupti_params *params)) \
	F(register_v2, "cuptiActivityRegisterCallbacks_v2", false, (void *handle, cupti_request_v2 *request, cupti_complete_v2 *complete)) \
	F(enable_v2, "cuptiActivityEnable_v2", false, (void *handle, int kind, void *config)) \
	F(disable_v2, "cuptiActivityDisable_v2", false, (void *handle, int kind, void *config)) \
	F(next_record_v2, "cuptiActivityGetNextRecord_v2", false, (void *handle, uint8_t *buffer, size_t valid, void **record)) \
	F(dropped_v2, "cuptiActivityGetNumDroppedRecords_v2", false, (void *handle, void *context, uint32_t stream, size_t *ret)) \
	F(set_attribute_v2, "cuptiActivitySetAttribute_v2", false, (void *handle, int attribute, size_t *size, void *value)) \
	F(now_v2, "cuptiGetTimestamp_v2", false, (void *handle, uint64_t *ret))

struct cupti {
#define F(member, name, needed, parameters) int (*member) parameters;
	CUPTI_FUNCTIONS(F)
#undef F
	char path[256]; /* for people: what was loaded */
};
extern struct cupti cuda_cupti;

/* Finds and loads it, and what is needed of it: the first that fits, or the one after `skip` others.  False: why not, for
 * people. */
bool cuda_library_load(unsigned skip, char *ret_why, size_t size);

/* ---- subscriber.c ---- */

#define CUPTI_INSUFFICIENT_PRIVILEGES 35
#define CUPTI_ANOTHER_SUBSCRIBER 39
#define CUPTI_NO_MORE 12 /* records in a buffer */

/* CUPTI's answer; and when it is that there is another one, who that is, as far as it says. */
int cuda_subscribe(cupti_callback *callback, char *ret_other, size_t size);
void cuda_unsubscribe(void);
bool cuda_is_subscribed(void);
/* Others may subscribe beside us, if they do it as we do. */
bool cuda_shares(void);
/* CUPTI's answers; what it does not have is not done, and is a failure. */
int cuda_register_buffers(void);
int cuda_enable(int kind);
int cuda_disable(int kind);
int cuda_next_record(uint8_t *buffer, size_t valid, void **record);
int cuda_dropped(void *context, uint32_t stream, size_t *ret);
int cuda_set_attribute(int attribute, size_t size, void *value);
int cuda_set_thread_ids(int type);
int cuda_set_clock(uint64_t (*clock)(void));
int cuda_now(uint64_t *ret);
void cuda_watch(int domain, uint32_t callback);

/* ---- kinds.c ---- */

/* What CUPTI would not enable: its last answer (0: it enabled all), and what is missing then, for people. */
struct cuda_refusal {
	int result;
	bool kernels; /* are among it */
	char what[256];
};
void cuda_kinds_enable(struct cuda_refusal *ret);
/* Nobody records: what costs the program anything is disabled. */
void cuda_kinds_rest(void);
void cuda_kinds_disable(void);
/* How devices are: wanted or not. */
void cuda_kinds_ask_devices(bool wanted);

/* ---- door.c ---- */

struct cuda_door {
	int pid;         /* of the process that opened it: a forked child has neither CUPTI's threads nor ours */
	uint64_t opened; /* ticks */
	_Atomic uint64_t looked; /* ticks, when records were last translated */
	uint32_t version;
	bool thread_ids; /* records have the kernel's numbers of threads */
	bool inherited;  /* this is the heir: there is no CUPTI, and the process cannot be asked */
	uint32_t serial, tid; /* of the thread that writes the events; 0: there were none */
	uint16_t sizes[KIND_LIMIT];
};
extern struct cuda_door *cuda_door; /* in the door's memory */
/* Makes room for all that the door knows, in the same order in each process.  False: there is none. */
bool cuda_door_map(void);
/* What is there is of this release, and can be used, though the program that left it may have written anything. */
bool cuda_door_sound(void);
bool cuda_is_ours(void);

/* ---- memory.c ---- */

/* The file "c" and the number of this process; buffers: bytes of them. */
bool cuda_memory_map(size_t buffers);
/* What another process had. */
bool cuda_memory_inherit(const char *folder, uint32_t number);
/* Zeroes, or what was left there.  NULL: there is no room. */
void *cuda_memory_take(size_t size);
uint8_t *cuda_memory_buffers(void);
size_t cuda_memory_buffers_size(void);
/* This part of the buffers is going to be written to. */
void cuda_memory_ready(uint8_t *buffer, size_t size);
/* Is there anything for an heir?  There is, unless this says that there is not. */
void cuda_memory_settle(bool settled);
/* No heir will be asked for what comes from now on. */
void cuda_memory_leave(void);
/* When all has been taken: what lies there is known by how much that was, and an heir of another release takes something else. */
void cuda_memory_sign(void);
bool cuda_memory_agrees(void);

/* ---- buffers.c ---- */

size_t cuda_buffers_size(void); /* bytes that all of them take */
bool cuda_buffers_map(void);
void cuda_buffers_request(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_max_records);
void cuda_buffers_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
/* Writes what has come.  False: another thread is at it. */
bool cuda_buffers_translate(void);
uint32_t cuda_buffers_outside(void); /* so many are with CUPTI */
bool cuda_buffers_all_back(void); /* none is with CUPTI, or waits; */
bool cuda_buffers_all_free(void); /* nor is one being translated */
/* The end: from now on there is no thread that would do it later. */
void cuda_buffers_at_once(void);
/* Records that CUPTI has, since something in their buffer still runs, or that have come just now. */
void cuda_buffers_look_outside(struct runtime_thread *t, void (*see)(struct runtime_thread *t, struct record r, unsigned kind));
/* The heir writes what CUPTI had written, and what had come and was not translated. */
void cuda_buffers_inherit(void);

/* ---- records.c ---- */

/* Between emit_enter() and emit_leave(), as all of the following.  First what says what others mean, then the others. */
void cuda_records_learn(struct runtime_thread *t, struct record r, unsigned kind);
void cuda_records_emit(struct runtime_thread *t, struct record r, unsigned kind);
/* All that there was has been looked at: what was held back for what might come goes out the next time. */
void cuda_records_pass_over(struct runtime_thread *t, bool last);
/* Has a record of this kind times that can be? */
bool cuda_records_credible(struct record r, unsigned kind);

/* ---- calls.c ---- */

bool cuda_calls_map(void);
void cuda_calls_open(void); /* CUPTI says what they are called */
void cuda_calls_take(struct runtime_thread *t, struct record r, unsigned kind);
void cuda_calls_pass_over(struct runtime_thread *t, bool last);

/* ---- environment.c ---- */

void cuda_environment_emit(struct runtime_thread *t, struct record r);

/* ---- waits.c ---- */

bool cuda_waits_map(void);
void cuda_waits_learn(struct record event);
/* Correlation of the call that recorded what a synchronisation waits for; 0: not known. */
uint32_t cuda_waits_find(struct record sync);

/* ---- places.c ---- */

#define NO_CUDA_STREAM UINT32_MAX

/* A thread of the program. */
struct cuda_thread {
	uint32_t tid;
	struct gpu_stream stream;
	bool uses_runtime; /* and not the driver alone */
};

bool cuda_places_map(void);
bool cuda_places_sound(void); /* what was left there, by a program that may have written anything, can be used */
void cuda_places_learn(struct record r, unsigned kind);
void cuda_places_see(uint32_t device, uint32_t context); /* work of this context was on this device */
/* Never NULL: what is too much is put together. */
const struct gpu_stream *cuda_stream(struct runtime_thread *t, uint32_t device, uint32_t context, uint32_t stream);
/* The same where only the context is known; the process where that does not help, or there is no stream. */
const struct gpu_stream *cuda_stream_of_context(struct runtime_thread *t, uint32_t context, uint32_t stream);
/* All of a device, for what is no stream's; the process where there is no such device. */
const struct gpu_stream *cuda_device(struct runtime_thread *t, uint32_t device);
/* The same for what is no use of a device: the process as long as the program has no context there. */
const struct gpu_stream *cuda_device_in_use(struct runtime_thread *t, uint32_t device);
/* How a device is, whoever uses it; NULL when the program does not. */
const struct gpu_stream *cuda_device_state(struct runtime_thread *t, uint32_t device);
const struct gpu_stream *cuda_process(struct runtime_thread *t);
/* Readings of the clock, for each device that has done something. */
void cuda_places_pair(struct runtime_thread *t, const struct gpu_pair *pair);
/* NULL: there are too many, or nobody knows. */
struct cuda_thread *cuda_thread(struct runtime_thread *t, uint32_t tid);
/* Its number, from 1 on, and the other way round; 0: NULL. */
uint32_t cuda_thread_number(const struct cuda_thread *thread);
const struct cuda_thread *cuda_thread_at(uint32_t number);

/* ---- texts.c ---- */

bool cuda_texts_map(void);
/* What a pointer in a record points to, which may be gone.  False: it is. */
bool cuda_text(uint64_t pointer, char *ret, size_t size);
/* The id of such a name. */
uint32_t cuda_name(struct runtime_thread *t, uint64_t pointer);
/* An heir may need it. */
void cuda_name_learn(struct runtime_thread *t, uint64_t pointer);
/* A module is going. */
void cuda_names_unloaded(void);
/* Until now pointers meant what they meant. */
void cuda_names_forget(void);

/* ---- clock.c ---- */

bool cuda_clock_map(void);
bool cuda_clock_sound(void); /* as cuda_places_sound() */
/* Before anything is enabled. */
void cuda_clock_open(void);
/* Others get what CUPTI would have told them without us: it keeps a clock that it was given. */
void cuda_clock_yield(void);
/* Nobody has looked for a while: the line through what was read before does not go on. */
void cuda_clock_anew(void);
/* A reading of CUPTI's clock beside ours, if times come from there. */
void cuda_clock_look(struct runtime_thread *t);
/* So many nanoseconds in ticks. */
uint64_t cuda_clock_ticks(uint64_t ns);
/* Our ticks of a time in a record.  False: it is none. */
bool cuda_time(uint64_t stamp, uint64_t *ret);
/* And of a piece of work.  False: at least one of its times cannot be; an end of 0 is now. */
bool cuda_times(uint64_t start, uint64_t end, struct gpu_work *ret);

#endif
