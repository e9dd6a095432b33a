/* outside_machine.c - processors and memory: of the machine, and what the program may have of them. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "live/outside_parts.h"
#include "system/cpu_limit.h"
#include "system/open_files.h"

#define SECOND_NS 1000000000
#define LIMITS_NS (5 * (int64_t)SECOND_NS) /* between looks at who may use what */
#define NETWORK_NS (10 * (int64_t)SECOND_NS) /* the program may have gone to another namespace */
#define COUNT_NS (10 * (int64_t)SECOND_NS) /* where descriptors have to be counted */
#define WINDOW_S 1.0

/* ---- Counters of the watch ----------------------------------------------------- */

void outside_machine_take(struct live_outside *o, const struct watch_view *view)
{
	struct outside_machine *m = &o->machine;
	size_t newest = (m->reading_count + OUTSIDE_READINGS - 1) % OUTSIDE_READINGS;

	if (view->machine_time == 0 || (m->reading_count && m->readings[newest].time == view->machine_time))
		return;
	newest = m->reading_count++ % OUTSIDE_READINGS;
	m->readings[newest].time = view->machine_time;
	m->readings[newest].counters = view->machine;
}

/* The newest reading, and the youngest that is a second older, or the oldest that there is.  False: there are no two. */
struct window {
	const struct machine_counters *from, *to;
	double seconds;
};

static bool find_window(const struct live_outside *o, struct window *ret)
{
	const struct outside_machine *m = &o->machine;
	size_t kept = m->reading_count < OUTSIDE_READINGS ? m->reading_count : OUTSIDE_READINGS, last = m->reading_count - 1;
	uint64_t to;

	if (kept < 2)
		return false;
	to = m->readings[last % OUTSIDE_READINGS].time;
	ret->to = &m->readings[last % OUTSIDE_READINGS].counters;
	for (size_t i = 1; i < kept; i++) {
		size_t at = (last - i) % OUTSIDE_READINGS;

		if (m->readings[at].time >= to)
			return false;
		ret->from = &m->readings[at].counters;
		ret->seconds = (double)(to - m->readings[at].time) * o->tick_s;
		if (ret->seconds >= WINDOW_S)
			break;
	}
	return true;
}

/* How much of a counter came in the window. */
static double growth(const struct window *w, enum machine_counter c)
{
	if (!(w->from->known >> c & 1) || !(w->to->known >> c & 1))
		return NAN;
	return outside_rate(w->to->values[c], w->from->values[c], 1);
}

/* For how much of the time something was so. */
static double share(const struct window *w, enum machine_counter c)
{
	double part = growth(w, c) / 1e9 / w->seconds;

	return part > 1 ? 1 : part;
}

static void fill_counters(const struct live_outside *o, struct live_snapshot *s)
{
	struct window w;
	double busy, idle, steal;

	s->cpu.machine = s->cpu.steal = s->cpu.throttled = s->memory.pressure = s->io.pressure = NAN;
	if (!find_window(o, &w))
		return;
	busy = growth(&w, MACHINE_BUSY_NS);
	idle = growth(&w, MACHINE_IDLE_NS);
	steal = growth(&w, MACHINE_STEAL_NS);
	if (busy + idle + steal > 0) {
		s->cpu.machine = busy / (busy + idle + steal);
		s->cpu.steal = steal / (busy + idle + steal);
	}
	s->cpu.throttled = machine_counters_throttled(w.from, w.to);
	s->memory.pressure = share(&w, MACHINE_PRESSURE_MEMORY_NS);
	s->io.pressure = share(&w, MACHINE_PRESSURE_IO_NS);
}

static double frequency(const struct outside_machine *m)
{
	const struct machine_counters *c = &m->readings[(m->reading_count + OUTSIDE_READINGS - 1) % OUTSIDE_READINGS].counters;

	return m->reading_count && c->known >> MACHINE_FREQUENCY_MHZ & 1 ? (double)c->values[MACHINE_FREQUENCY_MHZ] : NAN;
}

/* ---- What is read here ----------------------------------------------------------- */

static void look_at_limits(struct live_outside *o, int64_t now_ns)
{
	struct outside_machine *m = &o->machine;
	int64_t files;
	uint32_t affinity;
	double quota;

	if (now_ns < m->limits_ns)
		return;
	m->limits_ns = now_ns + LIMITS_NS;
	files = open_files_limit(o->root);
	m->files_limit = files < 0 ? NAN : (double)files;
	affinity = cpu_limit_affinity(o->root);
	if (affinity) /* else it has ended, and what it might use stays */
		m->available_cpus = affinity;
	if (affinity && cpu_limit_quota(o->root, "", &quota) && quota < m->available_cpus)
		m->available_cpus = quota;
}

static void look_at_files(struct outside_machine *m, int64_t now_ns)
{
	bool dear;
	int64_t count;

	if (now_ns < m->files_ns)
		return;
	count = open_files_read(m->files_folder, &dear);
	m->files_ns = now_ns + (dear ? COUNT_NS : 0);
	m->files = count < 0 ? NAN : (double)count;
}

static void look_at_devices(struct live_outside *o, int64_t now_ns)
{
	struct outside_machine *m = &o->machine;
	double seconds = m->disks_ns ? (double)(now_ns - m->disks_ns) / 1e9 : 0;

	m->disks_ns = now_ns;
	outside_disks_read(m, seconds);
	outside_network_read(m, seconds);
	if (now_ns >= m->network_opened_ns + NETWORK_NS) {
		struct network_files fresh = NETWORK_FILES_INIT;

		m->network_opened_ns = now_ns;
		network_files_open(&fresh, o->root);
		if (fresh.fd >= 0) {
			network_files_close(&m->network_files);
			m->network_files = fresh;
		}
	}
}

static void fill_memory(const struct machine_memory *m, struct live_memory *ret)
{
	bool known = m->total > 0;

	ret->total_bytes = known ? (double)m->total : NAN;
	ret->available_bytes = known ? (double)m->available : NAN;
	ret->used = known ? 1 - (double)m->available / (double)m->total : NAN;
	ret->swap_total_bytes = known ? (double)m->swap_total : NAN;
	ret->swap_used_bytes = known ? (double)m->swap_used : NAN;
	ret->limited = m->limited;
	ret->oom_kills = known && m->oom_kills != UINT64_MAX ? (double)m->oom_kills : NAN;
}

void outside_machine_fill(struct live_outside *o, int64_t now_ns, struct live_snapshot *s)
{
	struct outside_machine *m = &o->machine;

	look_at_limits(o, now_ns);
	if (now_ns >= m->next_slow_ns) {
		m->next_slow_ns = now_ns + OUTSIDE_SLOW_NS;
		(void)machine_memory_read(&m->memory_files, &m->memory);
		look_at_devices(o, now_ns);
		look_at_files(m, now_ns);
	}
	fill_counters(o, s);
	s->cpu.frequency_mhz = frequency(m);
	s->cpu.count = m->cpu_count;
	s->cpu.available = m->available_cpus;
	fill_memory(&m->memory, &s->memory);
	s->io.open_files = m->files;
	s->io.open_files_limit = m->files_limit;
	s->io.disk_count = m->disk_rate_count;
	memcpy(s->io.disks, m->disk_rates, sizeof s->io.disks);
	s->network = m->network_rates;
}

/* ---- Beginning and end --------------------------------------------------------- */

void outside_machine_open(struct live_outside *o)
{
	struct outside_machine *m = &o->machine;
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	m->cpu_count = count > 0 ? (uint32_t)count : 1;
	m->available_cpus = m->files = m->files_limit = NAN;
	m->files_folder = open_files_open(o->root);
	m->network_files = (struct network_files)NETWORK_FILES_INIT;
	m->network_rates.received_bytes = m->network_rates.sent_bytes = NAN;
	machine_memory_open(&m->memory_files, o->root, "");
	disk_files_open(&m->disk_files);
	network_files_open(&m->network_files, o->root);
}

void outside_machine_close(struct live_outside *o)
{
	machine_memory_close(&o->machine.memory_files);
	disk_files_close(&o->machine.disk_files);
	network_files_close(&o->machine.network_files);
	if (o->machine.files_folder >= 0)
		close(o->machine.files_folder);
}
