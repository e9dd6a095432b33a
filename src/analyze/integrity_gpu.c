/*
 * integrity_gpu.c - is the device work missing?
 *
 * gpu_recording  the program had CUDA's libraries loaded and no device work is in the trace: a warning, with the reason that
 *                the recorder left.  Without a driver there was nothing to record: a note, since that makes it an analysis of
 *                the CPU alone
 */
#include <stdio.h>
#include <string.h>

#include "analyze/parts.h"
#include "base/msgpack.h"

#define TEXT_CUT 200

/* What the recorder left; texts are cut, and not to be trusted. */
struct gpu_info {
	bool there;
	bool driver, nsys;
	uint32_t libraries;
	char library[64]; /* the first */
	char reason[TEXT_CUT + 1];
};

static bool key_is(const struct msgpack_value *key, const char *text)
{
	return key->type == MSGPACK_STRING && key->size == strlen(text) && memcmp(key->data, text, key->size) == 0;
}

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
	if (key_is(&key, "driver"))
		info->driver = value.type == MSGPACK_BOOL && value.boolean;
	else if (key_is(&key, "nsys"))
		info->nsys = value.type == MSGPACK_BOOL && value.boolean;
	else if (key_is(&key, "reason"))
		take_text(info->reason, sizeof info->reason, &value);
	else if (key_is(&key, "libraries"))
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
	for (uint32_t i = 0; i < map.count; i++)
		if (read_pair(&c, &info) < 0)
			break;
	return info;
}

int check_gpu(struct parts *p)
{
	struct gpu_info info = read_info(p->t->reader);

	if (p->a->device_count)
		return check_add(p, "gpu_recording", CHECK_OK, 0, "device work is in the trace");
	if (!info.there)
		return check_add(p, "gpu_recording", CHECK_SKIPPED, 0, "the trace does not say whether the program used a GPU");
	if (info.libraries) /* without a driver its GPUs did nothing */
		return check_add(p, "gpu_recording", info.driver ? CHECK_WARN : CHECK_NOTE, info.libraries,
				 "the program uses CUDA (%s), and what its GPUs did was not recorded: %s; this is an analysis of the CPU alone%s",
				 info.library, info.reason[0] ? info.reason : "the trace does not say why",
				 info.driver && info.nsys ? "; Nsight Systems was there, and its SQLite export can be analyzed" : "");
	if (!info.driver)
		return check_add(p, "gpu_recording", CHECK_NOTE, 0, "no NVIDIA driver: this is a CPU-only analysis");
	return check_add(p, "gpu_recording", CHECK_SKIPPED, 0, "the program used no GPU library");
}
