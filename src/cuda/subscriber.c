/*
 * subscriber.c - calls of CUPTI, in our name where it has several subscribers.
 *
 * From CUDA 13.3 on, and with a driver of that age, there may be several, if
 * all of them say who they are in each call: the calls with _v2.  Older calls
 * and these do not go together in one process, and whether they do one after
 * the other NVIDIA does not say.  The profilers that programs have use the
 * older ones for the most part, and are to work when we have made way for
 * them.  So we use the older ones, too, unless somebody is there already who
 * allows others, or we were told that all who will come do.
 */
#include <stdlib.h>

#include "cuda/cuda.h"

#define FAILED 999
#define ATTRIBUTE_THREAD_IDS 21
#define ATTRIBUTE_CLOCK 22

static void *subscriber; /* NULL: we are none */
static bool named;       /* calls say that it is us */

/* ---- Subscribing ------------------------------------------------------------------ */

static bool has_names(void)
{
	const struct cupti *c = &cuda_cupti;

	return c->subscribe_v2 && c->register_v2 && c->enable_v2 && c->disable_v2 && c->next_record_v2 && c->dropped_v2 &&
	       c->set_attribute_v2 && c->now_v2;
}

static int subscribe_named(cupti_callback *callback, char *other, size_t size)
{
	struct cupti_params params = {
		.size = sizeof params, .name = "inferscope", .old_name = other, .old_size = size, .several = 1,
	};
	int rc = has_names() ? cuda_cupti.subscribe_v2(&subscriber, callback, NULL, &params) : FAILED;

	named = rc == 0;
	return rc;
}

static bool is_told_to_share(void)
{
	const char *text = secure_getenv("INFERSCOPE_CUDA_SHARE");

	return text && strcmp(text, "1") == 0;
}

int cuda_subscribe(cupti_callback *callback, char *other, size_t size)
{
	bool told = is_told_to_share();
	int rc;

	memset(other, 0, size);
	if (told && subscribe_named(callback, other, size) == 0)
		return 0;
	rc = cuda_cupti.subscribe(&subscriber, callback, NULL);
	if (rc == CUPTI_ANOTHER_SUBSCRIBER && !told && subscribe_named(callback, other, size) == 0)
		return 0;
	if (rc != 0)
		subscriber = NULL;
	return rc;
}

void cuda_unsubscribe(void)
{
	if (subscriber && cuda_cupti.unsubscribe)
		(void)cuda_cupti.unsubscribe(subscriber);
	subscriber = NULL;
}

bool cuda_is_subscribed(void)
{
	return subscriber != NULL;
}

bool cuda_shares(void)
{
	return named;
}

/* ---- Calls ------------------------------------------------------------------------- */

static void request(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_max_records, void *info)
{
	(void)info;
	cuda_buffers_request(ret_buffer, ret_size, ret_max_records);
}

static void complete(uint8_t *buffer, size_t size, size_t valid, void *info)
{
	(void)info;
	cuda_buffers_complete(NULL, 0, buffer, size, valid);
}

int cuda_register_buffers(void)
{
	return named ? cuda_cupti.register_v2(subscriber, request, complete) :
		       cuda_cupti.register_buffers(cuda_buffers_request, cuda_buffers_complete);
}

int cuda_enable(int kind)
{
	return named ? cuda_cupti.enable_v2(subscriber, kind, NULL) : cuda_cupti.enable(kind);
}

int cuda_disable(int kind)
{
	if (named)
		return cuda_cupti.disable_v2(subscriber, kind, NULL);
	return cuda_cupti.disable ? cuda_cupti.disable(kind) : FAILED;
}

int cuda_next_record(uint8_t *buffer, size_t valid, void **record)
{
	if (cuda_door->inherited)
		return layout_first(cuda_door->sizes, buffer, valid, record);
	return named ? cuda_cupti.next_record_v2(subscriber, buffer, valid, record) : cuda_cupti.next_record(buffer, valid, record);
}

int cuda_dropped(void *context, uint32_t stream, size_t *ret)
{
	if (named)
		return cuda_cupti.dropped_v2(subscriber, context, stream, ret);
	return cuda_cupti.dropped ? cuda_cupti.dropped(context, stream, ret) : FAILED;
}

int cuda_set_attribute(int attribute, size_t size, void *value)
{
	if (named)
		return cuda_cupti.set_attribute_v2(subscriber, attribute, &size, value);
	return cuda_cupti.set_attribute ? cuda_cupti.set_attribute(attribute, &size, value) : FAILED;
}

int cuda_set_thread_ids(int type)
{
	if (named)
		return cuda_set_attribute(ATTRIBUTE_THREAD_IDS, sizeof type, &type);
	return cuda_cupti.set_thread_ids ? cuda_cupti.set_thread_ids(type) : FAILED;
}

int cuda_set_clock(uint64_t (*clock)(void))
{
	if (named)
		return cuda_set_attribute(ATTRIBUTE_CLOCK, sizeof clock, &clock);
	return cuda_cupti.set_clock ? cuda_cupti.set_clock(clock) : FAILED;
}

int cuda_now(uint64_t *ret)
{
	if (named)
		return cuda_cupti.now_v2(subscriber, ret);
	return cuda_cupti.now ? cuda_cupti.now(ret) : FAILED;
}

void cuda_watch(int domain, uint32_t callback)
{
	if (subscriber && cuda_cupti.enable_callback)
		(void)cuda_cupti.enable_callback(1, subscriber, domain, callback);
}
