/* alert_track.c - see alert_track.h. */
#include "live/alert_track.h"

#include <errno.h>
#include <string.h>

#include "base/msgpack.h"
#include "live/names.h"

#define EXTRA_MAX 2048u

static int make_track(struct live_alert_track *t)
{
	struct trace_track track = { .id = t->track - 1, .kind = TRACK_PROCESS, .process = -1, .device = -1, .parent = -1 };

	if (t->track)
		return 0;
	track.id = drain_outside_track(t->drain);
	if (track.id == UINT32_MAX)
		return -E2BIG;
	track.name = trace_writer_string(t->writer, "alerts", 6);
	t->track = track.id + 1;
	return trace_writer_track(t->writer, &track);
}

static int put_text(struct buffer *map, const char *key, const char *text)
{
	int rc = msgpack_write_text(map, key);

	return rc ? rc : msgpack_write_text(map, text);
}

static int put_number(struct buffer *map, const char *key, double number)
{
	int rc = msgpack_write_text(map, key);

	return rc ? rc : number == number ? msgpack_write_double(map, number) : msgpack_write_nil(map);
}

static int describe(struct buffer *map, const struct live_alert *alert)
{
	int rc = msgpack_write_map(map, 9);

	rc = rc ? rc : put_text(map, "kind", alert->kind);
	rc = rc ? rc : put_text(map, "subject", alert->subject);
	rc = rc ? rc : put_text(map, "phase", live_phase_name(alert));
	rc = rc ? rc : put_text(map, "severity", live_severity_name(alert->severity));
	rc = rc ? rc : put_text(map, "text", alert->text);
	rc = rc ? rc : put_text(map, "advice", alert->advice);
	rc = rc ? rc : put_number(map, "value", alert->value);
	rc = rc ? rc : put_number(map, "threshold", alert->threshold);
	rc = rc ? rc : msgpack_write_text(map, "number");
	return rc ? rc : msgpack_write_uint(map, alert->number);
}

int live_alert_track_write(struct live_alert_track *t, const struct live_alert *alert, struct error *err)
{
	struct buffer map = BUFFER_INIT;
	struct event_slot slot = {
		.time = clock_ticks(t->clock),
		.cpu = EVENT_CPU_UNKNOWN,
		.kind = EVENT_INSTANT,
		.flags = EVENT_FLAGS(PHASE_INSTANT, 0, 0),
	};
	uint8_t extra[EXTRA_MAX] = { FIELD_METADATA };
	uint16_t size;
	int rc = make_track(t);

	rc = rc ? rc : describe(&map, alert);
	if (rc == 0 && map.size > EXTRA_MAX - 3)
		rc = -E2BIG;
	if (rc == 0) {
		size = (uint16_t)map.size;
		memcpy(extra + 1, &size, 2);
		memcpy(extra + 3, map.data, map.size);
		slot.name = trace_writer_string(t->writer, alert->kind, strlen(alert->kind));
		rc = trace_writer_event(t->writer, t->track - 1, &slot, extra, 3u + size, err);
		drain_outside_count(t->drain, 1);
	}
	buffer_release(&map);
	return rc;
}
