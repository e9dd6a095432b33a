/* outside_devices.c - how much goes through disks and network interfaces. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "live/outside_parts.h"

/* ---- Disks ------------------------------------------------------------------- */

/* The kernel lists them in the same order, but for those that come and go. */
static const struct disk_counters *disk_before(const struct outside_machine *m, const char *name, size_t hint)
{
	if (hint < m->disk_count && strcmp(m->disks[hint].name, name) == 0)
		return &m->disks[hint];
	for (size_t i = 0; i < m->disk_count; i++)
		if (strcmp(m->disks[i].name, name) == 0)
			return &m->disks[i];
	return NULL;
}

static void rate_disk(const struct disk_counters *now, const struct disk_counters *old, double seconds, struct live_disk *ret)
{
	*ret = (struct live_disk){ .read_bytes = NAN, .written_bytes = NAN, .reads = NAN, .writes = NAN, .busy = NAN };
	snprintf(ret->name, sizeof ret->name, "%s", now->name);
	if (!old)
		return;
	ret->read_bytes = outside_rate(now->read_bytes, old->read_bytes, seconds);
	ret->written_bytes = outside_rate(now->written_bytes, old->written_bytes, seconds);
	ret->reads = outside_rate(now->reads, old->reads, seconds);
	ret->writes = outside_rate(now->writes, old->writes, seconds);
	ret->busy = fmin(1, outside_rate(now->busy_ns, old->busy_ns, seconds) / 1e9);
	if (!(seconds > 0))
		ret->busy = NAN;
}

void outside_disks_read(struct outside_machine *m, double seconds)
{
	struct disk_counters now[DISK_COUNTERS_MAX];
	size_t count = disk_files_read(&m->disk_files, now, DISK_COUNTERS_MAX);

	m->disk_rate_count = (uint32_t)(count < LIVE_DISKS ? count : LIVE_DISKS);
	for (size_t i = 0; i < m->disk_rate_count; i++)
		rate_disk(&now[i], disk_before(m, now[i].name, i), seconds, &m->disk_rates[i]);
	memcpy(m->disks, now, count * sizeof now[0]);
	m->disk_count = count;
}

/* ---- Network ----------------------------------------------------------------- */

static const struct network_counters *interface_before(const struct outside_machine *m, const char *name, size_t hint)
{
	if (hint < m->interface_count && strcmp(m->interfaces[hint].name, name) == 0)
		return &m->interfaces[hint];
	for (size_t i = 0; i < m->interface_count; i++)
		if (strcmp(m->interfaces[i].name, name) == 0)
			return &m->interfaces[i];
	return NULL;
}

static void rate_interface(const struct network_counters *now, const struct network_counters *old, double seconds,
			   struct live_interface *ret)
{
	*ret = (struct live_interface){ .received_bytes = NAN, .sent_bytes = NAN, .received_packets = NAN, .sent_packets = NAN,
					.errors = NAN };
	snprintf(ret->name, sizeof ret->name, "%s", now->name);
	if (!old)
		return;
	ret->received_bytes = outside_rate(now->received_bytes, old->received_bytes, seconds);
	ret->sent_bytes = outside_rate(now->sent_bytes, old->sent_bytes, seconds);
	ret->received_packets = outside_rate(now->received_packets, old->received_packets, seconds);
	ret->sent_packets = outside_rate(now->sent_packets, old->sent_packets, seconds);
	ret->errors = outside_rate(now->errors, old->errors, seconds);
}

/* One that nothing has ever gone through is left out. */
static bool is_silent(const struct network_counters *c)
{
	return c->received_packets == 0 && c->sent_packets == 0 && c->errors == 0;
}

void outside_network_read(struct outside_machine *m, double seconds)
{
	struct network_counters now[NETWORK_COUNTERS_MAX];
	size_t count = network_files_read(&m->network_files, now, NETWORK_COUNTERS_MAX);
	struct live_network *n = &m->network_rates;

	n->interface_count = 0;
	n->received_bytes = n->sent_bytes = NAN;
	for (size_t i = 0; i < count; i++) {
		struct live_interface rates;

		rate_interface(&now[i], interface_before(m, now[i].name, i), seconds, &rates);
		if (!now[i].loopback) {
			outside_add(&n->received_bytes, rates.received_bytes);
			outside_add(&n->sent_bytes, rates.sent_bytes);
		}
		if (!is_silent(&now[i]) && n->interface_count < LIVE_INTERFACES)
			n->interfaces[n->interface_count++] = rates;
	}
	memcpy(m->interfaces, now, count * sizeof now[0]);
	m->interface_count = count;
}
