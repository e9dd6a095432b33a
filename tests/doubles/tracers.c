/* Calls, correlation, and those who are told of everything. */
#include "machine.h"

#include <stdatomic.h>

#include "truth.h"

static struct tracer *tracers[TRACER_MAX];
static atomic_int tracer_count;
static atomic_uint correlations;
static pthread_mutex_t tracer_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct api_call *api_top;

/* A tracer that leaves is only taken out of the list: somebody may be calling it, so its struct must stay. */
#define EACH_TRACER(tracer) \
	for (int i_ = 0; i_ < TRACER_MAX && atomic_load_explicit(&tracer_count, memory_order_acquire); i_++) \
		for (struct tracer *tracer = __atomic_load_n(&tracers[i_], __ATOMIC_ACQUIRE); tracer; tracer = NULL)

int tracer_attach(struct tracer *tracer)
{
	int slot = -1;

	pthread_mutex_lock(&tracer_lock);
	for (int i = 0; i < TRACER_MAX && slot < 0; i++)
		if (!tracers[i])
			slot = i;
	if (slot >= 0) {
		tracer->slot = slot;
		__atomic_store_n(&tracers[slot], tracer, __ATOMIC_RELEASE);
		atomic_fetch_add(&tracer_count, 1);
	}
	pthread_mutex_unlock(&tracer_lock);
	return slot < 0 ? -1 : 0;
}

void tracer_detach(struct tracer *tracer)
{
	pthread_mutex_lock(&tracer_lock);
	if (tracers[tracer->slot] == tracer) {
		__atomic_store_n(&tracers[tracer->slot], NULL, __ATOMIC_RELEASE);
		atomic_fetch_sub(&tracer_count, 1);
	}
	pthread_mutex_unlock(&tracer_lock);
}

void api_begin(struct api_call *call, enum api_domain domain, uint32_t cbid, const char *name)
{
	struct CUctx_st *context = context_current();

	*call = (struct api_call){ .domain = domain, .cbid = cbid, .name = name, .outer = api_top };
	call->correlation = api_top ? api_top->correlation : atomic_fetch_add(&correlations, 1) + 1;
	call->context = context;
	call->context_id = context_ok(context) ? context->id : 0;
	api_top = call;
	EACH_TRACER(tracer)
		tracer->api_enter(call);
	call->start = now_ns();
}

int api_end(struct api_call *call, int result)
{
	struct CUctx_st *context = context_current();

	call->result = result;
	call->end = now_ns();
	call->context = context;
	call->context_id = context_ok(context) ? context->id : 0;
	EACH_TRACER(tracer)
		tracer->api_exit(call);
	if (truth_wanted())
		truth_call(call);
	api_top = call->outer;
	return result;
}

struct api_call *api_current(void)
{
	return api_top;
}

uint32_t api_correlation(void)
{
	return api_top ? api_top->correlation : 0;
}

bool tracers_want_one_kernel(void)
{
	EACH_TRACER(tracer)
		if (tracer->serialize)
			return true;
	return false;
}

bool tracers_want_whole_graphs(void)
{
	EACH_TRACER(tracer)
		if (tracer->whole_graphs)
			return true;
	return false;
}

void tell_queued(struct op_info *op)
{
	EACH_TRACER(tracer)
		tracer->op_queued(op);
}

void tell_started(struct op_info *op)
{
	EACH_TRACER(tracer)
		tracer->op_started(op);
}

void tell_done(struct op_info *op)
{
	EACH_TRACER(tracer)
		tracer->op_done(op);
}

void tell_resource(struct resource_info *info)
{
	info->correlation = api_correlation();
	EACH_TRACER(tracer)
		tracer->resource(info);
}

void tell_memory(const struct memory_info *info)
{
	EACH_TRACER(tracer)
		tracer->memory(info);
}

void tell_pool(const struct pool_info *info)
{
	EACH_TRACER(tracer)
		tracer->pool(info);
}

void tell_overhead(uint32_t kind, uint64_t began, uint32_t length, uint32_t channel)
{
	struct overhead_info info = { .kind = kind, .correlation = api_correlation(), .nanoseconds = now_ns() - began, .length = length,
		.channel = channel };

	truth("\"what\":\"overhead\",\"kind\":%u,\"correlation\":%u,\"start\":%llu,\"end\":%llu", kind, info.correlation,
		(unsigned long long)began, (unsigned long long)now_ns());
	EACH_TRACER(tracer)
		tracer->overhead(&info);
}

void sync_begin(struct sync_note *note, uint32_t type, struct CUctx_st *context, struct CUstream_st *stream, struct CUevent_st *event)
{
	note->info = (struct sync_info){ .type = type, .correlation = api_correlation(), .context = context->id,
		.stream = stream ? stream->id : UINT32_MAX, .event = event ? event->id : UINT32_MAX, .event_sync = event ? event->sync : 0,
		.handle = context, .stream_handle = stream };
	note->start = now_ns();
	EACH_TRACER(tracer)
		tracer->sync_begin(note->began[tracer->slot]);
}

int sync_end(struct sync_note *note, int result)
{
	static const char *const types[] = { "", "event", "stream_wait", "stream", "context" };
	uint64_t end = now_ns();

	note->info.result = result;
	EACH_TRACER(tracer)
		tracer->sync_end(&note->info, note->began[tracer->slot]);
	truth("\"what\":\"sync\",\"type\":\"%s\",\"correlation\":%u,\"context\":%u,\"stream\":%u,\"event\":%u,\"event_sync\":%llu,\"result\":%d,"
		"\"start\":%llu,\"end\":%llu,\"record_start\":%llu,\"record_end\":%llu", types[note->info.type], note->info.correlation,
		note->info.context, note->info.stream, note->info.event, (unsigned long long)note->info.event_sync, result,
		(unsigned long long)note->start, (unsigned long long)end, (unsigned long long)note->info.record_start,
		(unsigned long long)note->info.record_end);
	return result;
}
