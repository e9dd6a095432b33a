/*
 * device_times.c - when the devices of a trace worked, as the timeline has it.
 *
 * A line for each piece of launched work: pid, correlation, stream, and the nanoseconds of CLOCK_MONOTONIC_RAW at which the call
 * began that launched it, the work began and ended.
 */
#include <inttypes.h>
#include <stdio.h>

#include "timeline/timeline.h"

static void print_track(const struct timeline *t, const struct timeline_track *track, int64_t start)
{
	for (uint32_t i = track->first; i < track->first + track->count; i++)
		if (timeline_is_device_work(t->kind[i]) && t->link[i] < t->slice_count)
			printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 "\n",
			       track->process < t->process_count ? t->processes[track->process].pid : 0,
			       t->details[t->detail[i]].correlation, track->os_id, start + t->begin[t->link[i]], start + t->begin[i],
			       start + t->end[i]);
}

int main(int argc, char **argv)
{
	struct trace_reader *reader;
	struct timeline *t;
	struct error err = { 0 };

	if (argc != 2 || trace_reader_open(&reader, argv[1], &err) < 0 || timeline_build(&t, reader, NULL, &err) < 0) {
		fprintf(stderr, "%s\n", argc == 2 ? err.text : "usage: device_times TRACE");
		return 1;
	}
	for (uint32_t i = 0; i < t->stream_count && t->clock_count; i++)
		print_track(t, &t->tracks[t->streams[i]], trace_reader_ns(reader, t->clocks[0].domain, 0) - t->clocks[0].offset_ns);
	timeline_free(t);
	trace_reader_close(reader);
	return 0;
}
