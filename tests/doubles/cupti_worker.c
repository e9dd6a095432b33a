/* The thread that hands buffers over, and flushing. */
#include "cupti_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "faults.h"

#define OVERHEAD_BUFFER_FLUSH (1u << 16)

static struct buffer *queue, **queue_end = &queue;
static struct buffer *kept;             /* never to be handed over, see the fault */
static uint64_t pushed, delivered;      /* buffers and requests to flush */
static uint32_t period;
static bool started, wanted;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, over = PTHREAD_COND_INITIALIZER;
static __thread bool is_worker;

static void sleep_ms(long long milliseconds)
{
	struct timespec time = { milliseconds / 1000, milliseconds % 1000 * 1000000 };

	while (nanosleep(&time, &time) == -1 && errno == EINTR)
		;
}

static void hand_over(struct buffer *buffer)
{
	struct client *client = buffer->client;
	CUpti_BufferCallbackCompleteInfo info = { .structSize = sizeof(info), .threadId = buffer->tid };
	size_t valid = buffer->used - (fault(FAULT_truncated_record) ? buffer->last_size / 2 : 0);

	if (driver())
		driver()->truth("\"what\":\"buffer\",\"size\":%zu,\"records\":%zu", buffer->size, buffer->records);
	if (client->complete_v2)
		client->complete_v2(buffer->data, buffer->size, valid, &info);
	else if (client->complete)
		client->complete(NULL, 0, buffer->data, buffer->size, valid);
	free(buffer);
}

static void wait_for_work(void)
{
	struct timespec time;

	if (!period) {
		pthread_cond_wait(&work, &cupti_lock);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_sec += period / 1000;
	time.tv_nsec += (long)(period % 1000) * 1000000;
	if (time.tv_nsec >= 1000000000) {
		time.tv_sec++;
		time.tv_nsec -= 1000000000;
	}
	if (pthread_cond_clockwait(&work, &cupti_lock, CLOCK_MONOTONIC, &time) == ETIMEDOUT)
		EACH_CLIENT(client)
			for (struct buffer *list = buffers_collect(client, false, true), *next; list; list = next) {
				next = list->next;
				worker_push(list);
			}
}

static void *run(void *unused)
{
	(void)unused;
	is_worker = true;
	pthread_mutex_lock(&cupti_lock);
	for (;;) {
		struct buffer *buffer = queue;
		uint64_t until = pushed;

		if (!buffer) {
			delivered = until;
			pthread_cond_broadcast(&over);
			if (pushed == delivered)
				wait_for_work();
			continue;
		}
		queue = buffer->next;
		if (!queue)
			queue_end = &queue;
		pthread_mutex_unlock(&cupti_lock);
		if (fault(FAULT_late_completion))
			sleep_ms(fault_number(FAULT_late_completion));
		if (!fault(FAULT_never_completion))
			hand_over(buffer);
		pthread_mutex_lock(&cupti_lock);
		if (fault(FAULT_never_completion)) {
			buffer->next = kept;
			kept = buffer;
		}
	}
	return NULL;
}

/* Without a lock, from the calls that register. */
void worker_start(void)
{
	pthread_t thread;

	pthread_mutex_lock(&cupti_lock);
	wanted = !started && !fault(FAULT_dead_worker);
	started = true;
	pthread_mutex_unlock(&cupti_lock);
	if (wanted && pthread_create(&thread, NULL, run, NULL) == 0)
		pthread_detach(thread);
}

void worker_push(struct buffer *buffer)
{
	buffer->next = NULL;
	*queue_end = buffer;
	queue_end = &buffer->next;
	pushed++;
	pthread_cond_signal(&work);
}

void worker_period(uint32_t milliseconds)
{
	pthread_mutex_lock(&cupti_lock);
	period = milliseconds;
	pushed++;
	pthread_cond_signal(&work);
	pthread_mutex_unlock(&cupti_lock);
}

/* Waits for the worker even when there is nothing to hand over; in a forked child, where there is none, for ever. */
void worker_flush(bool wait)
{
	uint64_t until;

	pthread_mutex_lock(&cupti_lock);
	until = ++pushed;
	pthread_cond_signal(&work);
	while (wait && !is_worker && delivered < until)
		pthread_cond_wait(&over, &cupti_lock);
	pthread_mutex_unlock(&cupti_lock);
}

/* What a flush cost is told by the next one, and only beside something else: it would never end otherwise. */
static void tell_of_flush(struct client *client, uint64_t times[2])
{
	bool anything = false;

	pthread_mutex_lock(&cupti_lock);
	for (struct buffer *buffer = client->buffers; buffer; buffer = buffer->next)
		anything |= buffer->used > 0;
	pthread_mutex_unlock(&cupti_lock);
	if (anything && times[1] && client->enabled[KIND_OVERHEAD])
		write_overhead(client, OVERHEAD_BUFFER_FLUSH, times[0], times[1], NULL);
}

void flush_all(bool forced)
{
	static uint64_t times[CLIENT_MAX][2];
	struct buffer *next;

	EACH_CLIENT(client) {
		tell_of_flush(client, times[client - clients]);
		times[client - clients][0] = client_now(client);
		if (client->enabled[KIND_ENVIRONMENT])
			write_environment(client);
	}
	pthread_mutex_lock(&cupti_lock);
	EACH_CLIENT(client)
		for (struct buffer *buffer = buffers_collect(client, forced, false); buffer; buffer = next) {
			next = buffer->next;
			worker_push(buffer);
		}
	pthread_mutex_unlock(&cupti_lock);
	if (fault(FAULT_slow_flush))
		sleep_ms(fault_number(FAULT_slow_flush));
	worker_flush(!fault(FAULT_late_completion) && !fault(FAULT_never_completion));
	EACH_CLIENT(client)
		times[client - clients][1] = client_now(client);
}

/* What a library does that has a buffer left when the process ends. */
__attribute__((destructor)) static void at_unload(void)
{
	struct buffer *next;

	if (!fault(FAULT_exit_callback))
		return;
	EACH_CLIENT(client)
		for (struct buffer *buffer = buffers_collect(client, true, false); buffer; buffer = next) {
			next = buffer->next;
			hand_over(buffer);
		}
}
