/* Streams and events. */
#include "driver.h"

#include <stdlib.h>

static CUresult create(CUstream *stream, unsigned int flags, int priority)
{
	if (!stream || flags > CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	if (!context_ok(context_current()))
		return CUDA_ERROR_INVALID_CONTEXT;
	priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
	return stream_new(context_current(), flags, priority, stream);
}

static CUresult destroy(CUstream handle)
{
	struct CUstream_st *stream;
	CUresult result = stream_find(handle, &stream);

	if (result != CUDA_SUCCESS || stream == stream->context->legacy)
		return result ?: CUDA_ERROR_INVALID_HANDLE;
	if (stream_capturing(stream))
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	stream_free(stream);
	return CUDA_SUCCESS;
}

static CUresult synchronize(CUstream handle)
{
	struct CUstream_st *stream;
	struct sync_note note;
	CUresult result = stream_find(handle, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	sync_begin(&note, 3, stream->context, stream, NULL);
	if (stream_capturing(stream)) {
		capture_spoil(stream);
		return sync_end(&note, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	}
	stream_drain(stream);
	return sync_end(&note, CUDA_SUCCESS);
}

static CUresult query(CUstream handle)
{
	struct CUstream_st *stream;
	CUresult result = stream_find(handle, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (stream_capturing(stream)) {
		capture_spoil(stream);
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	return stream_idle(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static void submit_and_forget(struct op *op)
{
	op_submit(op);
	pthread_mutex_lock(&machine_lock);
	op_put(op);
	pthread_mutex_unlock(&machine_lock);
}

static CUresult wait_event(CUstream handle, CUevent event)
{
	struct CUstream_st *stream;
	struct sync_note note;
	struct op *op;
	CUresult result = stream_find(handle, &stream);

	if (result != CUDA_SUCCESS || !event_ok(event))
		return result ?: CUDA_ERROR_INVALID_HANDLE;
	if (event->capture)
		return capture_wait(stream, event);
	sync_begin(&note, 2, stream->context, stream, event);
	if (event->op) {
		op = op_new(OP_WAIT, stream);
		op->info.event = event->id;
		op->info.event_sync = event->sync;
		pthread_mutex_lock(&machine_lock);
		op_wait_for(op, event->op);
		pthread_mutex_unlock(&machine_lock);
		submit_and_forget(op);
	}
	return sync_end(&note, CUDA_SUCCESS);
}

static CUresult ask(CUstream handle, int *priority, unsigned int *flags, CUcontext *context, unsigned long long *id)
{
	struct CUstream_st *stream;
	CUresult result = stream_find(handle, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (priority)
		*priority = stream->priority;
	if (flags)
		*flags = stream->flags;
	if (context)
		*context = stream->context;
	if (id)
		*id = stream->id;
	return CUDA_SUCCESS;
}

static CUresult begin_capture(CUstream handle, int mode)
{
	struct CUstream_st *stream;
	CUresult result = stream_find(handle, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	return mode < 0 || mode > 2 ? CUDA_ERROR_INVALID_VALUE : capture_begin(stream);
}

static CUresult end_capture(CUstream handle, CUgraph *graph)
{
	struct CUstream_st *stream;
	CUresult result = stream_find(handle, &stream);

	return result ?: graph ? capture_end(stream, graph) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult capture_info(CUstream handle, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **nodes, size_t *count)
{
	struct CUstream_st *stream;

	return stream_find(handle, &stream) ?: capture_status(stream, status, id, graph, nodes, count);
}

static CUresult exchange_mode(int *mode)
{
	static __thread int present;
	int before = present;

	if (!mode || *mode < 0 || *mode > 2)
		return CUDA_ERROR_INVALID_VALUE;
	present = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}

static CUresult event_create(CUevent *event, unsigned int flags)
{
	if (!event || flags > 7)
		return CUDA_ERROR_INVALID_VALUE;
	*event = event_new(flags);
	return *event ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult event_destroy(CUevent event)
{
	if (!event_ok(event))
		return CUDA_ERROR_INVALID_HANDLE;
	event_free(event);
	return CUDA_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream handle)
{
	static uint64_t syncs;
	struct CUstream_st *stream;
	struct op *op;
	CUresult result = stream_find(handle, &stream);

	if (result != CUDA_SUCCESS || !event_ok(event))
		return result ?: CUDA_ERROR_INVALID_HANDLE;
	if (stream_capturing(stream))
		return capture_event(event, stream);
	event->capture = NULL;
	op = op_new(OP_EVENT, stream);
	pthread_mutex_lock(&machine_lock);
	event->sync = ++syncs;
	op_put(event->op);
	event->op = op_get(op);
	event->stream = stream;
	pthread_mutex_unlock(&machine_lock);
	op->info.event = event->id;
	op->info.event_sync = event->sync;
	submit_and_forget(op);
	return CUDA_SUCCESS;
}

static CUresult event_query(CUevent event)
{
	if (!event_ok(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (event->capture)
		return CUDA_ERROR_CAPTURED_EVENT;
	return op_over(event->op) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult event_synchronize(CUevent event)
{
	struct sync_note note;
	struct op *op;

	if (!event_ok(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (event->capture)
		return CUDA_ERROR_CAPTURED_EVENT;
	if (!event->op)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&machine_lock);
	op = op_get(event->op);
	pthread_mutex_unlock(&machine_lock);
	sync_begin(&note, 1, op->stream->context, NULL, event);
	op_await(op);
	(void)sync_end(&note, CUDA_SUCCESS);
	pthread_mutex_lock(&machine_lock);
	op_put(op);
	pthread_mutex_unlock(&machine_lock);
	return CUDA_SUCCESS;
}

static CUresult elapsed(float *milliseconds, CUevent start, CUevent end)
{
	if (!milliseconds || !event_ok(start) || !event_ok(end) || !start->op || !end->op
			|| (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!op_over(start->op) || !op_over(end->op))
		return CUDA_ERROR_NOT_READY;
	*milliseconds = (float)((double)(int64_t)(end->op->info.end - start->op->info.end) / 1e6);
	return CUDA_SUCCESS;
}

CALL(cuStreamCreate, (CUstream *stream, unsigned int flags), create(stream, flags, 0))
CALL(cuStreamCreateWithPriority, (CUstream *stream, unsigned int flags, int priority), create(stream, flags, priority))
CALL(cuStreamDestroy_v2, (CUstream stream), destroy(stream))
CALL(cuThreadExchangeStreamCaptureMode, (int *mode), exchange_mode(mode))
STREAM_CALL(cuStreamSynchronize, (CUstream stream), synchronize(stream))
STREAM_CALL(cuStreamQuery, (CUstream stream), query(stream))
STREAM_CALL(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags), ((void)flags, wait_event(stream, event)))
STREAM_CALL(cuStreamGetPriority, (CUstream stream, int *priority), ask(stream, priority, NULL, NULL, NULL))
STREAM_CALL(cuStreamGetFlags, (CUstream stream, unsigned int *flags), ask(stream, NULL, flags, NULL, NULL))
STREAM_CALL(cuStreamGetCtx, (CUstream stream, CUcontext *context), ask(stream, NULL, NULL, context, NULL))
STREAM_CALL(cuStreamGetId, (CUstream stream, unsigned long long *id), ask(stream, NULL, NULL, NULL, id))
STREAM_CALL(cuStreamBeginCapture_v2, (CUstream stream, int mode), begin_capture(stream, mode))
STREAM_CALL(cuStreamEndCapture, (CUstream stream, CUgraph *graph), end_capture(stream, graph))
STREAM_CALL(cuStreamIsCapturing, (CUstream stream, int *status), capture_info(stream, status, NULL, NULL, NULL, NULL))
STREAM_CALL(cuStreamGetCaptureInfo_v2, (CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **nodes,
	size_t *count), capture_info(stream, status, id, graph, nodes, count))
STREAM_CALL(cuStreamGetCaptureInfo_v3, (CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **nodes,
	const void **edges, size_t *count), (edges ? (void)(*edges = NULL) : (void)0, capture_info(stream, status, id, graph, nodes, count)))
CALL(cuEventCreate, (CUevent *event, unsigned int flags), event_create(event, flags))
CALL(cuEventDestroy_v2, (CUevent event), event_destroy(event))
CALL(cuEventQuery, (CUevent event), event_query(event))
CALL(cuEventSynchronize, (CUevent event), event_synchronize(event))
CALL(cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent end), elapsed(milliseconds, start, end))
CALL(cuEventElapsedTime_v2, (float *milliseconds, CUevent start, CUevent end), elapsed(milliseconds, start, end))
STREAM_CALL(cuEventRecord, (CUevent event, CUstream stream), event_record(event, stream))
STREAM_CALL(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned int flags), ((void)flags, event_record(event, stream)))
