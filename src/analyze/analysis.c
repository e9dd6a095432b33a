/* analysis.c - see analysis.h. */
#include "analyze/analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/host_parts.h"
#include "analyze/parts.h"

/* Devices that never did anything are none: a trace may list all of a host. */
static int list_devices(struct analysis *a)
{
	a->devices = calloc(a->states.count + 1, sizeof *a->devices);
	if (!a->devices)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->states.count; i++) {
		const struct device_states *s = &a->states.devices[i];

		if (s->all.count == 0)
			continue;
		a->devices[a->device_count++] = (struct analysis_device){
			.device = s->device,
			.states = s,
			.window = s->stray_count ? &s->trimmed : &s->all,
			.window_name = s->stray_count ? "trimmed" : "all",
		};
	}
	return 0;
}

static void parts_release(struct parts *p)
{
	for (size_t i = 0; p->views && i < p->a->device_count; i++)
		view_release(&p->views[i]);
	free(p->views);
	free(p->host);
	free(p->self);
	free(p->tensor_use);
	free(p->device_place);
	free(p->process_device);
	free(p->process_thread);
}

/* All TIMELINE_NONE. */
uint32_t *numbers_none(uint32_t count)
{
	uint32_t *numbers = malloc(((size_t)count + 1) * sizeof *numbers);

	if (numbers)
		memset(numbers, 0xff, ((size_t)count + 1) * sizeof *numbers);
	return numbers;
}

static int parts_init(struct parts *p)
{
	p->views = calloc(p->a->device_count + 1, sizeof *p->views);
	p->host = calloc((size_t)p->t->track_count + 1, sizeof *p->host);
	p->self = calloc((size_t)p->t->slice_count + 1, sizeof *p->self);
	p->tensor_use = calloc((size_t)p->t->string_count + 1, sizeof *p->tensor_use);
	p->device_place = numbers_none(p->t->device_count);
	p->process_device = numbers_none(p->t->process_count);
	p->process_thread = numbers_none(p->t->process_count);
	if (!p->views || !p->host || !p->self || !p->tensor_use || !p->device_place || !p->process_device || !p->process_thread)
		return -ENOMEM;
	for (size_t i = 0; i < p->a->device_count; i++)
		p->device_place[p->a->devices[i].device] = (uint32_t)i;
	return views_build(p);
}

static int run_parts(struct parts *p)
{
	/* in order: some use what others found; always: also of a program that ran no code of its own */
	static const struct {
		int (*analyze)(struct parts *);
		bool always;
	} all[] = {
		{ analyze_program_end, true }, { analyze_threads, true },      { analyze_devices, true },   { analyze_gpus, true },
		{ analyze_tables, false },     { analyze_steps, true },	       { analyze_collectives, true }, { analyze_host, false },
		{ analyze_integrity, true },   { analyze_idle_ranges, false }, { analyze_breakdown, false }, { analyze_overhead, false },
		{ analyze_findings, false },   { analyze_bottleneck, false },  { analyze_notes, false },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		int rc = p->a->ran_nothing && !all[i].always ? 0 : all[i].analyze(p);

		if (rc)
			return rc;
	}
	return 0;
}

int analysis_run(struct analysis **ret, const struct timeline *t, const struct analysis_options *options, struct error *err)
{
	struct analysis *a = calloc(1, sizeof *a);
	struct parts p = { .t = t, .a = a };
	int rc;

	if (!a)
		return error_errno(err, -ENOMEM, "cannot analyze the trace");
	a->timeline = t;
	a->clock_margin = options && options->clock_margin ? *options->clock_margin : ANALYSIS_CLOCK_MARGIN;
	a->thresholds = options && options->thresholds ? *options->thresholds : analysis_thresholds_initial;
	rc = timeline_states_build(&a->states, t, options ? options->rules : NULL, err);
	if (rc) {
		free(a);
		return rc;
	}
	rc = list_devices(a);
	if (rc == 0)
		rc = parts_init(&p);
	if (rc == 0)
		rc = run_parts(&p);
	parts_release(&p);
	if (rc) {
		analysis_free(a);
		return error_errno(err, rc, "cannot analyze the trace");
	}
	*ret = a;
	return 0;
}

static void device_release(struct analysis_device *d)
{
	free(d->kernels);
	free(d->copies);
	free(d->streams);
	free((char *)d->idle_range_why);
}

void analysis_free(struct analysis *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->device_count; i++)
		device_release(&a->devices[i]);
	free(a->devices);
	free(a->gpus);
	free(a->checks);
	free(a->breakdown);
	free(a->steps.steps);
	free(a->threads);
	free(a->scopes.entries);
	free(a->operators.entries);
	free(a->functions.entries);
	free(a->calls.entries);
	free(a->collectives.rows);
	free(a->collectives.ranks);
	free(a->findings.list);
	analysis_host_release(&a->host);
	timeline_states_release(&a->states);
	free(a);
}
