/*
 * findings_link.c - the link between the host and its devices, and how fast large copies go over it.
 *
 * Which link it is the driver says in some recordings (pcie_generation and
 * pcie_width, docs/sbt-format.md, 3.5); it is slower while nothing uses it, so
 * the best that was seen counts.  Else NVIDIA's devices have at most sixteen lanes
 * of the generation that their compute capability came with.  Of other devices
 * nothing is known, and a rate is only compared with what links can carry.
 */
#include <math.h>
#include <stdio.h>

#include "analyze/findings_link.h"

#define LARGE 1000000   /* bytes from which on a copy's rate is the link's rather than its latency's */
#define OTHER_LINK 1.1  /* of a link's rate: more than that is another kind of link */
#define ABOUT 0.6       /* of a link's rate: from there on it is likely that link */
#define LANES 16
#define GENERATIONS 6

/* Bytes a second of data on a lane of PCI Express, by its generation. */
static const double lane_rates[GENERATIONS + 1] = { 0, 0.25e9, 0.5e9, 0.984375e9, 1.96875e9, 3.9375e9, 7.5625e9 };

static struct host_link pci_express(enum link_source source, unsigned generation, unsigned lanes)
{
	struct host_link link = { source, lanes * lane_rates[generation], "" };

	snprintf(link.name, sizeof link.name, "PCIe %u.0 x%u", generation, lanes);
	return link;
}

static struct host_link link_of(const struct parts *p, uint32_t number)
{
	const struct timeline_device *device = &p->t->devices[number];

	for (size_t i = 0; i < p->a->gpu_count; i++) {
		const struct analysis_gpu *gpu = &p->a->gpus[i];

		if (gpu->device == number && gpu->link_generation >= 1 && gpu->link_generation <= GENERATIONS && gpu->link_lanes >= 1 &&
		    gpu->link_lanes <= 32)
			return pci_express(LINK_TOLD, (unsigned)gpu->link_generation, (unsigned)gpu->link_lanes);
	}
	if (device->kind != 1 || device->compute_major < 3)
		return (struct host_link){ LINK_UNKNOWN, NAN, "" };
	return pci_express(LINK_USUAL, device->compute_major < 8 ? 3 : device->compute_major == 8 ? 4 : 5, LANES);
}

/* The rate of the copies of a device in one direction that have so many bytes; NAN: there are none. */
static double rate_of(const struct parts *p, size_t d, uint8_t kind, uint64_t least)
{
	double bytes = 0, time = 0;

	for (uint32_t k = 0; k < p->views[d].count; k++) {
		uint32_t slice = p->views[d].work[k];

		if (p->t->kind[slice] == kind && detail_of(p->t, slice)->bytes >= least && is_judged(p, p->t->end[slice])) {
			bytes += (double)detail_of(p->t, slice)->bytes;
			time += (double)slice_duration(p->t, slice) / 1e9;
		}
	}
	return time > 0 ? bytes / time : NAN;
}

/* The fuller link is the one to speak of; of links that nothing is known of, the faster. */
static bool is_more(const struct link_use *use, const struct link_use *than)
{
	if (isnan(than->rate) || isnan(use->full) != isnan(than->full))
		return isnan(than->rate) || isnan(than->full);
	return isnan(use->full) ? use->rate > than->rate : use->full > than->full;
}

static struct link_use most_of(const struct parts *p, uint64_t least)
{
	static const struct {
		uint8_t kind;
		const char *words;
	} directions[] = { { EVENT_H2D_COPY, "to the device" }, { EVENT_D2H_COPY, "from the device" } };
	struct link_use most = { .rate = NAN, .full = NAN };

	for (size_t d = 0; d < p->a->device_count; d++)
		for (unsigned i = 0; i < 2; i++) {
			struct link_use use = { .link = link_of(p, p->a->devices[d].device), .rate = rate_of(p, d, directions[i].kind, least),
						.direction = directions[i].words };

			use.full = use.rate < OTHER_LINK * use.link.rate ? use.rate / use.link.rate : NAN;
			if (!isnan(use.rate) && is_more(&use, &most))
				most = use;
		}
	return most;
}

struct link_use link_use_most(const struct parts *p)
{
	struct link_use use = most_of(p, LARGE);

	if (isnan(use.rate)) {
		use = most_of(p, 1);
		use.full = NAN;
		use.small = true;
	}
	return use;
}

/* ---- Words -------------------------------------------------------------------- */

/* The slowest link of sixteen lanes that carries so much, from the third generation on; source LINK_UNKNOWN: none does. */
static struct host_link carrier_of(double rate)
{
	for (unsigned generation = 3; generation <= GENERATIONS; generation++)
		if (rate < LANES * lane_rates[generation])
			return pci_express(LINK_USUAL, generation, LANES);
	return (struct host_link){ LINK_UNKNOWN, NAN, "" };
}

static void tell_unknown(struct finding_texts *texts, const struct link_use *use)
{
	struct host_link carrier = carrier_of(use->rate);

	if (carrier.source == LINK_UNKNOWN)
		texts_add(texts, "large copies %s reach %.1f GB/s, more than PCI Express carries: another link, such as NVLink", use->direction,
			  use->rate / 1e9);
	else
		texts_add(texts, "large copies %s reach %.1f GB/s, %s %s (%.1f GB/s); which link it is the trace does not tell", use->direction,
			  use->rate / 1e9, use->rate >= ABOUT * carrier.rate ? "about the rate of" : "within the rate of", carrier.name,
			  carrier.rate / 1e9);
}

void tell_link(struct finding_texts *texts, const struct link_use *use)
{
	const struct host_link *link = &use->link;

	if (isnan(use->rate))
		return;
	if (use->small)
		texts_add(texts, "copies %s run at %.2f GB/s; none has a megabyte, so that this is no measure of the link", use->direction,
			  use->rate / 1e9);
	else if (link->source == LINK_UNKNOWN)
		tell_unknown(texts, use);
	else if (isnan(use->full))
		texts_add(texts, "large copies %s reach %.1f GB/s, more than %s carries (%.1f GB/s): another link, such as NVLink", use->direction,
			  use->rate / 1e9, link->name, link->rate / 1e9);
	else
		texts_add(texts, "large copies %s reach %.1f GB/s, %.0f %% of %s (%.1f GB/s)%s", use->direction, use->rate / 1e9,
			  100 * use->full, link->name, link->rate / 1e9,
			  link->source == LINK_TOLD ? ", which the device has" : ", which devices of this generation have at most");
}
