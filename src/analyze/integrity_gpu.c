/*
 * integrity_gpu.c - is the device work missing, and were the GPUs at their full speed?
 *
 * gpu_recording  the program had CUDA's libraries loaded and no device work is in the trace: a warning, with the reason that
 *                the recorder left.  Without a driver there was nothing to record: a note, since that makes it an analysis of
 *                the CPU alone
 * gpu_throttling a GPU was slowed down by heat or for lack of power in more than 10 % of the samples: a note
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/parts.h"
#include "base/msgpack.h"

#define TEXT_CUT 200
#define THROTTLED 0.10

/* What the recorder left; texts are cut, and not to be trusted. */
struct gpu_info {
	bool there;
	bool driver, nsys;
	bool off;        /* nobody wanted it */
	bool missing;    /* device work is, that was wanted; not said before 1.4: then it is if there are libraries */
	bool recorded;   /* some is there */
	bool stood_down; /* the door of CUDA says why */
	uint32_t libraries;
	char library[64]; /* the first */
	char reason[TEXT_CUT + 1];
	char why[TEXT_CUT + 1]; /* the GPUs could not be asked */
};

static void take_text(char *out, size_t size, const struct msgpack_value *value)
{
	if (value->type == MSGPACK_STRING)
		snprintf(out, size, "%.*s", value->size < size ? (int)value->size : (int)size - 1, (const char *)value->data);
}

static void take_libraries(struct gpu_info *info, const struct msgpack_value *list, struct cursor c)
{
	struct msgpack_value first;

	if (list->type != MSGPACK_ARRAY || list->count == 0 || msgpack_read(&c, &first) < 0)
		return;
	info->libraries = list->count;
	take_text(info->library, sizeof info->library, &first);
}

static int read_pair(struct cursor *c, struct gpu_info *info)
{
	const struct {
		const char *key;
		bool *place;
	} flags[] = { { "driver", &info->driver },     { "nsys", &info->nsys },           { "missing", &info->missing },
		      { "recorded", &info->recorded }, { "stood_down", &info->stood_down } };
	struct msgpack_value key, value;
	struct cursor after;
	int rc = msgpack_read(c, &key);

	if (rc || key.type != MSGPACK_STRING)
		return -1;
	after = *c;
	rc = msgpack_skip(&after);
	if (rc == 0)
		rc = msgpack_read(c, &value);
	if (rc)
		return rc;
	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
		if (msgpack_is_text(&key, flags[i].key))
			*flags[i].place = value.type == MSGPACK_BOOL && value.boolean;
	if (msgpack_is_text(&key, "mode"))
		info->off = value.type == MSGPACK_STRING && value.size == 3 && memcmp(value.data, "off", 3) == 0;
	else if (msgpack_is_text(&key, "sampling_error"))
		take_text(info->why, sizeof info->why, &value);
	else if (msgpack_is_text(&key, "reason"))
		take_text(info->reason, sizeof info->reason, &value);
	else if (msgpack_is_text(&key, "libraries"))
		take_libraries(info, &value, *c);
	*c = after;
	return 0;
}

static struct gpu_info read_info(const struct trace_reader *reader)
{
	struct gpu_info info = { .reason = "" };
	struct msgpack_value map;
	const uint8_t *data;
	struct cursor c;
	size_t size;

	if (!reader || trace_reader_info_raw(reader, "gpu", &data, &size) < 0)
		return info;
	c = cursor_of(data, size);
	if (msgpack_read(&c, &map) < 0 || map.type != MSGPACK_MAP)
		return info;
	info.there = true;
	info.missing = true;
	for (uint32_t i = 0; i < map.count; i++)
		if (read_pair(&c, &info) < 0)
			break;
	info.missing = info.missing && (info.libraries || info.stood_down);
	return info;
}

static int check_recording(struct parts *p, const struct gpu_info *info)
{
	const char *reason = info->reason[0] ? info->reason : "the trace does not say why";

	if (info->there && info->missing && info->recorded)
		return check_add(p, "gpu_recording", CHECK_WARN, 1, "device work is in the trace in part: %s", reason);
	if (p->a->device_count)
		return check_add(p, "gpu_recording", CHECK_OK, 0, "device work is in the trace");
	if (!info->there)
		return check_add(p, "gpu_recording", CHECK_SKIPPED, 0, "the trace does not say whether the program used a GPU");
	if (info->libraries && info->off)
		return check_add(p, "gpu_recording", CHECK_NOTE, info->libraries,
				 "the program uses CUDA (%s), and what its GPUs did was not to be recorded: this is an analysis of the CPU "
				 "alone",
				 info->library);
	if (info->missing) /* without a driver its GPUs did nothing */
		return check_add(p, "gpu_recording", info->driver || info->stood_down ? CHECK_WARN : CHECK_NOTE, info->libraries,
				 "the program uses CUDA (%s), and what its GPUs did was not recorded: %s; this is an analysis of the CPU "
				 "alone%s",
				 info->libraries ? info->library : "its driver", reason,
				 info->nsys && (info->driver || info->stood_down) ? "; or: inferscope run --gpu nsys ..." : "");
	if (info->libraries)
		return check_add(p, "gpu_recording", CHECK_NOTE, info->libraries,
				 "the program uses CUDA (%s), and no device work is in the trace: %s", info->library, reason);
	if (!info->driver)
		return check_add(p, "gpu_recording", CHECK_NOTE, 0, "no NVIDIA driver: this is a CPU-only analysis");
	return check_add(p, "gpu_recording", CHECK_SKIPPED, 0, "the program used no GPU library");
}

/* The mean of its clock, and what it could be. */
static void clock_text(const struct analysis_gpu *gpu, char *text, size_t size)
{
	if (isnan(gpu->sm_clock_limit))
		snprintf(text, size, "%.0f MHz", gpu->sm_clock);
	else
		snprintf(text, size, "%.0f MHz of %.0f", gpu->sm_clock, gpu->sm_clock_limit);
}

/* The GPU that was slowed down for most of the time. */
static int check_throttling(struct parts *p, const struct gpu_info *info)
{
	const struct analysis_gpu *worst = NULL;
	char clock[64];

	for (size_t i = 0; i < p->a->gpu_count; i++)
		if (!isnan(p->a->gpus[i].throttled) && (!worst || p->a->gpus[i].throttled > worst->throttled))
			worst = &p->a->gpus[i];
	if (!worst && p->a->gpu_count)
		return check_add(p, "gpu_throttling", CHECK_SKIPPED, 0, "no GPU says whether it was slowed down");
	if (!worst)
		return check_add(p, "gpu_throttling", CHECK_SKIPPED, 0, "nobody asked the GPUs%s%s%s", info->why[0] ? " (" : "",
				 info->why, info->why[0] ? ")" : "");
	if (worst->throttled <= THROTTLED)
		return check_add(p, "gpu_throttling", CHECK_OK, 0,
				 "no GPU was slowed down for more than %.1f %% of the samples (note above %.0f %%)",
				 100 * worst->throttled, 100 * THROTTLED);
	clock_text(worst, clock, sizeof clock);
	return check_add(p, "gpu_throttling", CHECK_NOTE, 1,
			 "GPU %u was slowed down in %.1f %% of %llu samples (power limit %.1f %%, heat %.1f %%; note above %.0f %%): its "
			 "clock was %s on average, and times are longer than they would be at full speed",
			 p->t->devices[worst->device].index, 100 * worst->throttled, (unsigned long long)worst->samples,
			 100 * worst->throttled_power, 100 * worst->throttled_thermal, 100 * THROTTLED, clock);
}

int check_gpu(struct parts *p)
{
	struct gpu_info info = read_info(p->t->reader);
	int rc = check_recording(p, &info);

	return rc ? rc : check_throttling(p, &info);
}
