/* Buffers: asked for on the thread that has something to write, filled, and given to the worker when they are full and complete. */
#include "cupti_state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "faults.h"

#define UNKNOWN_KIND 0x7eu
#define GARBAGE 0xa5                    /* what nobody knows yet; most of it makes a difference */
#define FUTURE_EVERY 5u                 /* so many records are followed by one of a kind that nobody knows */
#define DECLINE_IS_SAFE_SINCE 27u       /* API version 27 is 12.9.0; before, a declined buffer is written to */
#define OVERHEAD_BUFFER_REQUEST (7u << 16)

static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;
static __thread struct thread *thread_own;

static void unlink_buffer(struct buffer *buffer)
{
	struct buffer **link = &buffer->client->buffers;

	while (*link && *link != buffer)
		link = &(*link)->next;
	if (*link)
		*link = buffer->next;
	if (buffer->client->current == buffer)
		buffer->client->current = NULL;
	if (buffer->thread)
		buffer->thread->buffers[buffer->client - clients] = NULL;
	buffer->next = NULL;
}

/* Nothing more will be written to it: it goes as soon as everything in it is complete. */
static void retire(struct buffer *buffer)
{
	buffer->full = true;
	if (buffer->client->current == buffer)
		buffer->client->current = NULL;
	if (buffer->thread)
		buffer->thread->buffers[buffer->client - clients] = NULL;
	buffer->thread = NULL;
	if (!buffer->pendings) {
		unlink_buffer(buffer);
		worker_push(buffer);
	}
}

/* A thread that ends leaves its buffers and its stacks. */
static void thread_end(void *data)
{
	struct thread *thread = data;

	pthread_mutex_lock(&cupti_lock);
	for (int i = 0; i < CLIENT_MAX; i++)
		if (thread->buffers[i])
			retire(thread->buffers[i]);
	pthread_mutex_unlock(&cupti_lock);
	for (int i = 0; i < CLIENT_MAX * EXTERNAL_KINDS; i++)
		free(thread->external[i / EXTERNAL_KINDS][i % EXTERNAL_KINDS].ids);
	thread_own = NULL;
	free(thread);
}

static void thread_key_make(void)
{
	if (pthread_key_create(&thread_key, thread_end) != 0)
		abort();
}

struct thread *thread_state(void)
{
	pthread_once(&thread_once, thread_key_make);
	if (!thread_own) {
		thread_own = calloc(1, sizeof(*thread_own));
		if (!thread_own)
			abort();
		pthread_setspecific(thread_key, thread_own);
	}
	return thread_own;
}

static void ask_for_memory(struct client *client, uint8_t **data, size_t *size, size_t *max_records)
{
	CUpti_BufferCallbackRequestInfo info = { sizeof(info) };

	if (client->request_v2)
		client->request_v2(data, size, max_records, &info);
	else if (client->request)
		client->request(data, size, max_records);
}

/* As the real one does; a sanitizer would see it coming. */
__attribute__((no_sanitize("address", "undefined"))) static void write_to_nothing(uint8_t *data)
{
	*(volatile uint32_t *)data = KIND_KERNEL;
}

static struct buffer *buffer_new(struct client *client, struct thread *thread)
{
	uint64_t began = client_now(client);
	struct buffer *buffer;
	uint8_t *data = NULL;
	size_t size = 0, max_records = 0;

	ask_for_memory(client, &data, &size, &max_records);
	if (!data && client->registered && (layout_version(release()) < DECLINE_IS_SAFE_SINCE || fault(FAULT_null_crash)))
		write_to_nothing(data);
	if (!data || (uintptr_t)data % 8)
		return NULL;
	buffer = calloc(1, sizeof(*buffer));
	if (!buffer)
		return NULL;
	*buffer = (struct buffer){ .data = data, .size = size, .max_records = max_records, .client = client, .thread = thread,
		.tid = (uint64_t)syscall(SYS_gettid), .next = client->buffers };
	client->buffers = buffer;
	if (thread)
		thread->buffers[client - clients] = buffer;
	else
		client->current = buffer;
	if (release() >= 1206 && client->enabled[KIND_OVERHEAD] && size >= 1024)
		write_overhead(client, OVERHEAD_BUFFER_REQUEST, began, client_now(client), NULL);
	return buffer;
}

static bool has_room(const struct buffer *buffer, size_t size)
{
	return buffer->size - buffer->used >= size && (!buffer->max_records || buffer->records < buffer->max_records);
}

static struct buffer *buffer_for(struct client *client, size_t size)
{
	struct thread *thread = client->attributes[ATTR_PER_THREAD_ACTIVITY_BUFFER] ? thread_state() : NULL;
	struct buffer *buffer = thread ? thread->buffers[client - clients] : client->current;

	if (buffer && has_room(buffer, size))
		return buffer;
	if (buffer)
		retire(buffer);
	buffer = buffer_new(client, thread);
	return buffer && has_room(buffer, size) ? buffer : NULL;
}

static uint8_t *take(struct buffer *buffer, int kind, size_t size)
{
	uint8_t *at = buffer->data + buffer->used;
	uint32_t number = (uint32_t)kind;

	memset(at, GARBAGE, size);
	memset(at, 0, layout_size(LAYOUT_LATEST, kind) < size ? layout_size(LAYOUT_LATEST, kind) : size);
	memcpy(at, &number, sizeof(number));
	buffer->used += size;
	buffer->last_size = size;
	buffer->records++;
	return at;
}

static void pending_add(struct buffer *buffer, struct pending *pending, size_t offset, int kind)
{
	*pending = (struct pending){ .buffer = buffer, .client = buffer->client, .offset = offset, .kind = kind, .next = buffer->pendings,
		.link = &buffer->pendings };
	if (buffer->pendings)
		buffer->pendings->link = &pending->next;
	buffer->pendings = pending;
}

/* What follows a record without anybody's having asked for it. */
static void take_strangers(struct buffer *buffer)
{
	static unsigned int turns;
	int kind = ++turns % 2 ? KIND_NEW : KIND_FAR;

	if (release() == LAYOUT_FUTURE && turns % FUTURE_EVERY == 0 && has_room(buffer, layout_size(LAYOUT_FUTURE, kind)))
		(void)take(buffer, kind, layout_size(LAYOUT_FUTURE, kind));
	if (fault_turn(FAULT_unknown_kind) && has_room(buffer, 8))
		(void)take(buffer, UNKNOWN_KIND, 8);
}

/* write_overhead() comes here again from buffer_new(), with the lock: hence the two halves. */
static bool record_take(struct client *client, int kind, struct record *ret_record, struct pending **ret_pending)
{
	size_t size = layout_size(release(), kind);
	struct buffer *buffer = fault_turn(FAULT_dropped) ? NULL : buffer_for(client, size);
	struct pending *pending = ret_pending && buffer ? malloc(sizeof(*pending)) : NULL;

	if (!buffer || (ret_pending && !pending)) {
		client->dropped++;
		return false;
	}
	if (pending)
		pending_add(buffer, pending, buffer->used, kind);
	*ret_record = (struct record){ take(buffer, kind, size), size };
	take_strangers(buffer);
	if (ret_pending)
		*ret_pending = pending;
	return true;
}

static __thread bool inside;

bool record_begin(struct client *client, int kind, struct record *ret_record, struct pending **ret_pending)
{
	if (!client->registered || !layout_size(release(), kind))
		return false;
	if (inside)             /* from buffer_new */
		return record_take(client, kind, ret_record, ret_pending);
	pthread_mutex_lock(&cupti_lock);
	inside = true;
	if (record_take(client, kind, ret_record, ret_pending)) {
		inside = false;
		return true;
	}
	inside = false;
	pthread_mutex_unlock(&cupti_lock);
	return false;
}

void record_end(void)
{
	if (!inside)
		pthread_mutex_unlock(&cupti_lock);
}

void pending_finish(struct pending *pending)
{
	struct buffer *buffer = pending->buffer;

	if (buffer) {
		*pending->link = pending->next;
		if (pending->next)
			pending->next->link = pending->link;
		if (buffer->full && !buffer->pendings) {
			unlink_buffer(buffer);
			worker_push(buffer);
		}
	}
	free(pending);
}

struct buffer *buffers_collect(struct client *client, bool forced, bool only_full)
{
	struct buffer *list = NULL, **end = &list, *next;

	for (struct buffer *buffer = client->buffers; buffer; buffer = next) {
		next = buffer->next;
		if (!buffer->used || (only_full && !buffer->full) || (buffer->pendings && !forced))
			continue;
		for (struct pending *pending = buffer->pendings; pending; pending = pending->next)
			pending->buffer = NULL;
		buffer->pendings = NULL;
		unlink_buffer(buffer);
		*end = buffer;
		end = &buffer->next;
	}
	return list;
}

void put(struct record record, size_t offset, size_t width, uint64_t value)
{
	if (offset + width <= record.size && width <= sizeof(value))
		memcpy(record.at + offset, &value, width);
}
