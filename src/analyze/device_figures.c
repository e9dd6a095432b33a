/* device_figures.c - the figures of each device that did anything. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/parts.h"

static int64_t time_of(const struct device_window *w, unsigned any_of, unsigned and_any_of)
{
	int64_t sum = 0;

	for (unsigned mix = 0; mix < MIX_COUNT; mix++)
		if (mix & any_of && (and_any_of == 0 || mix & and_any_of))
			sum += w->mix[mix];
	return sum;
}

static void hidden_shares(struct analysis_device *d)
{
	const unsigned compute = 1u << WORK_COMPUTE, communication = 1u << WORK_COMMUNICATION, copy = 1u << WORK_COPY;
	int64_t copies = time_of(d->window, copy, 0), communications = time_of(d->window, communication, 0);

	d->copy_hidden = copies > 0 ? share(time_of(d->window, copy, compute | communication), copies) : NAN;
	d->communication_hidden = communications > 0 ? share(time_of(d->window, communication, compute), communications) : NAN;
}

static void bin_gaps(struct analysis_device *d)
{
	static const int64_t limits[GAP_BINS - 1] = { 5000, 30000, 1000000 };

	for (uint32_t i = 0; i < d->states->gap_count; i++) {
		int64_t length = d->states->gaps[i].end - d->states->gaps[i].begin;
		unsigned bin = 0;

		while (bin < GAP_BINS - 1 && length >= limits[bin])
			bin++;
		d->gap_bins[bin] += length;
		d->gap_counts[bin]++;
	}
}

static int describe_streams(struct analysis_device *d)
{
	int64_t whole = d->states->all.to - d->states->all.from;

	d->streams = calloc(d->states->stream_count + 1, sizeof *d->streams);
	if (!d->streams)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->states->stream_count; i++) {
		const struct stream_states *s = &d->states->streams[i];
		int64_t busy = 0;

		for (unsigned k = STREAM_KERNEL; k < STREAM_STATE_COUNT; k++)
			busy += s->state[k];
		d->streams[i] = (struct analysis_stream){ .states = s, .busy_share = share(busy, whole) };
		if (s->depth_max > d->queue_depth_max)
			d->queue_depth_max = s->depth_max;
		d->queue_depth_mean += s->depth_mean;
	}
	d->stream_count = d->states->stream_count;
	return 0;
}

int analyze_devices(struct parts *p)
{
	int rc = 0;

	for (size_t i = 0; i < p->a->device_count && rc == 0; i++) {
		struct analysis_device *d = &p->a->devices[i];
		int64_t busy = device_window_busy(d->window);

		hidden_shares(d);
		bin_gaps(d);
		d->concurrency_mean = busy > 0 ? share(d->window->work_total, busy) : NAN;
		d->idle_low = d->idle_high = device_window_idle(d->window);
		rc = describe_streams(d);
		if (rc == 0)
			rc = analyze_kernels(p, d, &p->views[i]);
		if (rc == 0)
			rc = analyze_copies(p, d, &p->views[i]);
	}
	return rc;
}
