/* The inside of the double's libcupti.

   A client is whoever enables kinds and owns buffers: the one of the old calls, clients[0], and one for each subscriber that may have
   others beside it.  One lock, cupti_lock, is over clients and buffers.  It is held while a client's request callback runs, and taken by
   cuptiActivityFlushAll and cuptiActivityGetNumDroppedRecords: a client that holds a lock of its own across one of these and wants it in
   the callback deadlocks, as with the real library.  A thread may hold the machine's lock and take this one, never the other way round. */
#ifndef DOUBLES_CUPTI_STATE_H
#define DOUBLES_CUPTI_STATE_H

#include <pthread.h>

#include "cupti.h"
#include "cupti_layout.h"
#include "gpu_facts.h"
#include "tracer.h"

#define CBID_MAX 1024
#define EXTERNAL_KINDS 8

struct buffer {
	uint8_t *data;
	size_t size, used, last_size, records, max_records;
	struct pending *pendings;       /* records that are not complete */
	bool full;
	struct client *client;
	struct thread *thread;          /* whose it is, or NULL */
	uint64_t tid;
	struct buffer *next;
};

/* A record that waits for its operation to end. */
struct pending {
	struct buffer *buffer;          /* NULL when it was handed over incomplete */
	struct client *client;
	size_t offset;
	int kind;
	struct pending *next, **link;   /* in the buffer's list */
	struct pending *op_next;
};

/* Two points in which a device's clock was compared to the client's. */
struct clock_map {
	bool set;
	uint64_t device[2], client[2];
};

struct client {
	bool used, registered;
	bool enabled[KIND_COUNT];
	bool muted[2][CBID_MAX];        /* driver, runtime */
	CUpti_BuffersCallbackRequestFunc request;
	CUpti_BuffersCallbackCompleteFunc complete;
	CUpti_BuffersCallbackRequestFunc_v2 request_v2;
	CUpti_BuffersCallbackCompleteFunc_v2 complete_v2;
	struct buffer *buffers;         /* all that are not handed over */
	struct buffer *current;         /* where threads do not have their own */
	size_t dropped;
	int thread_id_type;
	CUpti_TimestampCallbackFunc clock;
	double rate;                    /* of it, to a nanosecond */
	unsigned int clock_registrations;
	long long bad_stamps;           /* still to come, see the fault second_registration */
	struct clock_map maps[GPU_MAX];
	uint64_t attributes[ATTR_COUNT];
};

struct external_stack { uint64_t *ids; unsigned int count, room; };

/* What a thread has; made when first needed. */
struct thread {
	struct buffer *buffers[CLIENT_MAX];
	struct external_stack external[CLIENT_MAX][EXTERNAL_KINDS];
};

struct subscriber {
	bool used, multiple;
	struct client *client;
	CUpti_CallbackFunc callback;
	void *user;
	char name[64];
	bool enabled[CUPTI_CB_DOMAIN_SIZE][CBID_MAX];
};

extern pthread_mutex_t cupti_lock;
extern struct client clients[CLIENT_MAX];
extern struct subscriber subscribers[CLIENT_MAX];
extern const int double_cupti_release;                  /* of this file, from cupti_shell.c */

/* cupti_attach.c */
int release(void);                                      /* this file's, or what DOUBLE_CUPTI says within its major */
const struct double_driver *driver(void);               /* NULL when there is no libcuda of ours */
bool libcuda_loadable(void);
CUptiResult no_driver(void);                            /* what this release answers without one */
CUptiResult ready(void);                                /* 0 with the tracer attached, or why not */
void settle_modes(void);                                /* after kinds have changed */
void detach(void);
extern struct tracer tracer;

/* cupti_clients.c */
struct client *client_new(void);                        /* NULL when there are too many */
struct client *client_of(CUpti_SubscriberHandle subscriber);
bool subscriber_ok(CUpti_SubscriberHandle subscriber);
CUptiResult client_enable(struct client *client, uint32_t kind, bool dump);
CUptiResult client_disable(struct client *client, uint32_t kind);
CUptiResult client_get(struct client *client, int attribute, size_t *size, void *value);
CUptiResult client_set(struct client *client, int attribute, size_t *size, void *value);
CUptiResult client_mute(struct client *client, int domain, uint32_t cbid, bool enable);
bool anybody_wants(int kind);
CUptiResult old_call(void);                             /* 0, or that there are subscribers who say who they are */

/* cupti_clock.c */
uint64_t client_now(struct client *client);
void client_map(struct client *client, uint32_t device, uint64_t raw, uint64_t *ret_time);     /* locked */
CUptiResult client_set_clock(struct client *client, CUpti_TimestampCallbackFunc function);

/* cupti_buffers.c */
struct record { uint8_t *at; size_t size; };
bool record_begin(struct client *client, int kind, struct record *ret_record, struct pending **ret_pending);    /* true: locked */
void record_end(void);
void pending_finish(struct pending *pending);           /* locked; frees it */
struct thread *thread_state(void);
struct buffer *buffers_collect(struct client *client, bool forced, bool only_full);     /* locked; a list, taken out */

/* cupti_worker.c */
void worker_start(void);
void worker_push(struct buffer *buffer);                /* locked */
void worker_flush(bool wait);
void worker_period(uint32_t milliseconds);
void flush_all(bool forced);

/* cupti_records.c, cupti_records_host.c: what libcuda calls */
void on_op_queued(struct op_info *op);
void on_op_started(struct op_info *op);
void on_op_done(struct op_info *op);
void on_api_exit(struct api_call *call);
void on_resource(const struct resource_info *info);
void on_memory(const struct memory_info *info);
void on_pool(const struct pool_info *info);
void on_sync_end(struct sync_info *info, const uint64_t began[CLIENT_MAX]);
void on_overhead(const struct overhead_info *info);
void write_overhead(struct client *client, uint32_t kind, uint64_t start, uint64_t end, const struct overhead_info *info);
void write_environment(struct client *client);
void write_existing(struct client *client, uint32_t kind);
uint32_t thread_id(const struct client *client);

/* cupti_callbacks.c */
void callbacks_api(struct api_call *call, int site);
void callbacks_resource(const struct resource_info *info);
void callbacks_sync(const struct sync_info *info);

/* cupti_external.c */
void write_external(struct client *client, uint32_t correlation);
CUptiResult external_push(struct client *client, int kind, uint64_t id);
CUptiResult external_pop(struct client *client, int kind, uint64_t *ret_id);

#define EACH_CLIENT(client) for (struct client *client = clients; client < clients + CLIENT_MAX; client++) if (client->used)

/* Writes a field if this release's record has it. */
void put(struct record record, size_t offset, size_t width, uint64_t value);
#define PUT(record, what, field, value) put(record, AT_##what##_##field, WIDTH_##what##_##field, (uint64_t)(value))

#endif
