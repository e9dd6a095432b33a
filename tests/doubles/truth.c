#include "truth.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer.h"

#define LINE 2048

static int truth_file = -1;
static pthread_once_t truth_once = PTHREAD_ONCE_INIT;

static void truth_open(void)
{
	const char *path = getenv("DOUBLE_TRUTH");

	if (path && *path)
		truth_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

bool truth_wanted(void)
{
	pthread_once(&truth_once, truth_open);
	return truth_file >= 0;
}

void truth(const char *format, ...)
{
	char line[LINE];
	int length, more;
	va_list arguments;

	if (!truth_wanted())
		return;
	length = snprintf(line, sizeof(line), "{\"pid\":%d,", getpid());
	va_start(arguments, format);
	more = vsnprintf(line + length, sizeof(line) - (size_t)length - 2, format, arguments);
	va_end(arguments);
	if (more < 0 || more >= (int)sizeof(line) - length - 2)
		return;
	length += more;
	line[length++] = '}';
	line[length++] = '\n';
	(void)!write(truth_file, line, (size_t)length);
}

void truth_call(const struct api_call *call)
{
	uint64_t record_start = call->record_began;

	for (int i = 0; i < TRACER_MAX * CLIENT_MAX && !record_start; i++)
		record_start = call->record_start[i / CLIENT_MAX][i % CLIENT_MAX];
	truth("\"what\":\"%s\",\"name\":\"%s\",\"cbid\":%u,\"correlation\":%u,\"tid\":%ld,\"result\":%d,\"start\":%llu,\"end\":%llu,"
		"\"record_start\":%llu,\"record_end\":%llu", call->domain == API_RUNTIME ? "runtime" : "driver", call->name, call->cbid,
		call->correlation, syscall(SYS_gettid), call->result, (unsigned long long)call->start, (unsigned long long)call->end,
		(unsigned long long)record_start, (unsigned long long)call->record_end);
}

void truth_op(const struct op_info *op)
{
	static const char *const kinds[] = { "kernel", "copy", "set", "event", "wait", "host", "graph", "free", "empty" };

	truth("\"what\":\"%s\",\"name\":\"%s\",\"device\":%u,\"context\":%u,\"stream\":%u,\"correlation\":%u,\"submitted\":%llu,"
		"\"start\":%llu,\"end\":%llu,\"record_start\":%llu,\"record_end\":%llu,\"bytes\":%llu,\"copy_kind\":%u,\"graph\":%u,"
		"\"node\":%llu,\"event\":%u,\"event_sync\":%llu,\"tid\":%u,\"memory\":[%u,%u],\"devices\":[%u,%u],\"cluster\":[%u,%u,%u],"
		"\"cooperative\":%u", kinds[op->kind], op->name ? op->name : "", op->device,
		op->context, op->stream, op->correlation, (unsigned long long)op->submitted, (unsigned long long)op->start,
		(unsigned long long)op->end, (unsigned long long)op->record_start, (unsigned long long)op->record_end,
		(unsigned long long)op->bytes, op->copy_kind, op->graph, (unsigned long long)op->node, op->event,
		(unsigned long long)op->event_sync, op->tid, op->from_kind, op->to_kind, op->from_device, op->to_device, op->cluster[0],
		op->cluster[1], op->cluster[2], op->cooperative);
}
