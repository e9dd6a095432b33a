/* Readers of what the machine has and does: memory and its limits, processors, disks, network.  Texts as kernels write them, and
 * nonsense; folders made up as control groups are. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "system/cpu_limit.h"
#include "system/disk_counters.h"
#include "system/machine_counters.h"
#include "system/machine_memory.h"
#include "system/network_counters.h"
#include "system/open_files.h"
#include "system/proc.h"
#include "system/process_counters.h"

#define KB ((uint64_t)1024)
#define MB (1024 * KB)

#define MEMINFO "MemTotal:        1000000 kB\nMemFree:          100000 kB\nMemAvailable:     600000 kB\n" \
		"SwapTotal:        200000 kB\nSwapFree:         150000 kB\n"

/* ---- Memory ------------------------------------------------------------------ */

static void test_meminfo(void **state)
{
	static const char *const bad[] = {
		"", "MemTotal: 1 kB\n", "MemAvailable: 1 kB\n", "MemTotal: 0 kB\nMemAvailable: 0 kB\n",
		"MemTotal: x kB\nMemAvailable: 1 kB\n", "MemTotal: 1 MB\nMemAvailable: 1 kB\n",
		"MemTotal: 99999999999999999999 kB\nMemAvailable: 1 kB\n", "MemTotal: 18446744073709551615 kB\nMemAvailable: 1 kB\n",
	};
	struct machine_memory m = { .total = 7 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(machine_memory_parse_meminfo(bad[i], &m), -EINVAL);
	assert_int_equal(m.total, 7);
	assert_int_equal(machine_memory_parse_meminfo(MEMINFO, &m), 0);
	assert_int_equal(m.total, 1000000 * KB);
	assert_int_equal(m.available, 600000 * KB);
	assert_int_equal(m.swap_total, 200000 * KB);
	assert_int_equal(m.swap_used, 50000 * KB);
	assert_false(m.limited);
	assert_true(m.oom_kills == UINT64_MAX);
	assert_int_equal(machine_memory_parse_meminfo("MemTotal: 10 kB\nMemAvailable: 20 kB\nSwapTotal: 1 kB\nSwapFree: 2 kB\n", &m), 0);
	assert_int_equal(m.available, 10 * KB);
	assert_int_equal(m.swap_used, 0);
}

static void test_group_texts(void **state)
{
	(void)state;
	assert_int_equal(memory_group_parse_limit("1048576\n"), MB);
	assert_true(memory_group_parse_limit("max\n") == MACHINE_MEMORY_NO_LIMIT);
	assert_true(memory_group_parse_limit("9223372036854771712\n") == MACHINE_MEMORY_NO_LIMIT);
	assert_true(memory_group_parse_limit("-1\n") == MACHINE_MEMORY_NO_LIMIT);
	assert_true(memory_group_parse_limit("12 34\n") == MACHINE_MEMORY_NO_LIMIT);
	assert_true(memory_group_parse_limit("") == MACHINE_MEMORY_NO_LIMIT);
	assert_int_equal(memory_group_parse_limit("0\n"), 0);
	assert_int_equal(memory_group_parse_number("17\n"), 17);
	assert_int_equal(memory_group_parse_number("17x\n"), 0);
	assert_int_equal(memory_group_parse_stat("anon 5\nfile 6\ninactive_file 7\n", "inactive_file"), 7);
	assert_int_equal(memory_group_parse_stat("total_inactive_file 8\n", "inactive_file"), 0);
	assert_int_equal(memory_group_parse_stat("inactive_file\n", "inactive_file"), 0);
	assert_int_equal(memory_group_parse_stat("inactive_file 99999999999999999999\n", "inactive_file"), 0);
}

/* What the kernel would take back does not count as used, and what is left is never more than what the machine has left. */
static void test_limit(void **state)
{
	struct memory_group inner = { .limit = 400 * MB, .used = 300 * MB, .reclaimable = 100 * MB, .swap_limit = 10 * MB,
				      .swap_used = 3 * MB };
	struct memory_group outer = { .limit = 500 * MB, .used = 480 * MB, .reclaimable = 0, .swap_limit = MACHINE_MEMORY_NO_LIMIT };
	struct memory_group full = { .limit = 100 * MB, .used = 130 * MB, .reclaimable = MACHINE_MEMORY_NO_LIMIT, .swap_limit = 0 };
	struct memory_group none = { .limit = MACHINE_MEMORY_NO_LIMIT, .used = 5, .swap_limit = MACHINE_MEMORY_NO_LIMIT };
	struct machine_memory m;

	(void)state;
	assert_int_equal(machine_memory_parse_meminfo(MEMINFO, &m), 0);
	machine_memory_limit(&m, &none);
	assert_false(m.limited);
	assert_int_equal(m.available, 600000 * KB);
	machine_memory_limit(&m, &inner);
	assert_true(m.limited);
	assert_int_equal(m.total, 400 * MB);
	assert_int_equal(m.available, 200 * MB);
	assert_int_equal(m.swap_total, 10 * MB);
	assert_int_equal(m.swap_used, 3 * MB);
	machine_memory_limit(&m, &outer); /* a group further out may be fuller */
	assert_int_equal(m.total, 400 * MB);
	assert_int_equal(m.available, 20 * MB);
	machine_memory_limit(&m, &full);
	assert_int_equal(m.total, 100 * MB);
	assert_int_equal(m.available, 20 * MB);
	assert_int_equal(m.swap_used, 0);
	full.reclaimable = 0;
	machine_memory_limit(&m, &full);
	assert_int_equal(m.available, 0);
}

/* ---- Control groups in a folder -------------------------------------------------- */

struct world {
	char root[64];
};

static void put(const struct world *w, const char *path, const char *text)
{
	char full[512];
	FILE *file;

	for (const char *at = path + 1; (at = strchr(at, '/')); at++) {
		snprintf(full, sizeof full, "%s%.*s", w->root, (int)(at - path), path);
		(void)mkdir(full, 0755);
	}
	snprintf(full, sizeof full, "%s%s", w->root, path);
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static int make_world(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	strcpy(w->root, "/tmp/test-machine-XXXXXX");
	assert_non_null(mkdtemp(w->root));
	put(w, "/proc/meminfo", MEMINFO);
	*state = w;
	return 0;
}

static int remove_world(void **state)
{
	struct world *w = *state;
	char command[128];

	snprintf(command, sizeof command, "rm -r %s", w->root);
	assert_int_equal(system(command), 0);
	free(w);
	return 0;
}

static struct machine_memory read_memory(const struct world *w)
{
	struct machine_memory_files files;
	struct machine_memory m;

	machine_memory_open(&files, 42, w->root);
	assert_int_equal(machine_memory_read(&files, &m), 0);
	machine_memory_close(&files);
	return m;
}

static void test_second_version(void **state)
{
	struct world *w = *state;
	struct machine_memory m;
	double quota;

	put(w, "/proc/42/cgroup", "0::/pod/box\n");
	put(w, "/sys/fs/cgroup/pod/box/memory.max", "max\n");
	put(w, "/sys/fs/cgroup/pod/box/memory.current", "52428800\n");
	put(w, "/sys/fs/cgroup/pod/box/memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n");
	put(w, "/sys/fs/cgroup/pod/memory.max", "209715200\n");
	put(w, "/sys/fs/cgroup/pod/memory.current", "157286400\n");
	put(w, "/sys/fs/cgroup/pod/memory.stat", "anon 1\ninactive_file 52428800\n");
	put(w, "/sys/fs/cgroup/pod/box/cpu.max", "max 100000\n");
	put(w, "/sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
	m = read_memory(w);
	assert_true(m.limited);
	assert_int_equal(m.total, 200 * MB);
	assert_int_equal(m.available, 100 * MB);
	assert_int_equal(m.machine_total, 1000000 * KB);
	assert_int_equal(m.oom_kills, 2);
	assert_true(cpu_limit_quota(42, w->root, &quota));
	assert_true(quota == 1.5);
}

/* A program with 5 MB of its own that has read its 9 MB of data more than once has as much left as one that has read it once; what
 * is in /dev/shm, and what is locked, is not to be had. */
static void test_caches_are_available(void **state)
{
	struct world *w = *state;

	put(w, "/proc/42/cgroup", "0::/box\n");
	put(w, "/sys/fs/cgroup/box/memory.max", "16777216\n");
	put(w, "/sys/fs/cgroup/box/memory.current", "15728640\n");
	put(w, "/sys/fs/cgroup/box/memory.stat",
	    "anon 5242880\nfile 10485760\nshmem 1048576\ninactive_anon 6291456\nactive_file 6291456\ninactive_file 2097152\n"
	    "unevictable 0\nslab_reclaimable 1048576\nslab_unreclaimable 4096\n");
	assert_int_equal(read_memory(w).available, 10 * MB);
	put(w, "/sys/fs/cgroup/box/memory.stat", "inactive_file 18446744073709551615\nactive_file 2\n"); /* more than there is */
	assert_int_equal(read_memory(w).available, 16 * MB);
}

/* Each controller has a folder of its own; where that is not to be seen, as in a container, the outermost one is the container's. */
static void test_first_version(void **state)
{
	struct world *w = *state;
	struct machine_memory m;
	double quota;

	put(w, "/proc/42/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n");
	put(w, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n");
	put(w, "/sys/fs/cgroup/memory/memory.usage_in_bytes", "94371840\n");
	put(w, "/sys/fs/cgroup/memory/memory.stat", "inactive_file 1\nactive_file 2\ntotal_inactive_file 15728640\ntotal_active_file 5242880\n");
	put(w, "/sys/fs/cgroup/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
	put(w, "/sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "-1\n");
	put(w, "/sys/fs/cgroup/cpu/docker/cpu.cfs_period_us", "100000\n");
	put(w, "/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "50000\n");
	put(w, "/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000\n");
	m = read_memory(w);
	assert_true(m.limited);
	assert_int_equal(m.total, 100 * MB);
	assert_int_equal(m.available, 30 * MB);
	assert_int_equal(m.oom_kills, 1);
	assert_true(cpu_limit_quota(42, w->root, &quota));
	assert_true(quota == 0.5);
}

/* ---- Processor time of a group ----------------------------------------------------- */

static struct machine_counters read_counters(const struct world *w)
{
	struct machine_files files;
	struct machine_counters c;

	machine_files_open(&files, 42, w->root);
	machine_files_read(&files, true, &c);
	machine_files_close(&files);
	return c;
}

static void assert_counter(const struct machine_counters *c, enum machine_counter counter, uint64_t value)
{
	assert_true(c->known >> counter & 1);
	assert_int_equal(c->values[counter], value);
}

/* What counts is where the tightest quota is, and not where the process is. */
static void test_quota_of_a_parent(void **state)
{
	struct world *w = *state;
	struct machine_counters c;

	put(w, "/proc/42/cgroup", "0::/pod/box\n");
	put(w, "/sys/fs/cgroup/pod/box/cpu.max", "400000 100000\n");
	put(w, "/sys/fs/cgroup/pod/box/cpu.stat", "usage_usec 1\nnr_periods 2\nnr_throttled 0\nthrottled_usec 0\n");
	put(w, "/sys/fs/cgroup/pod/box/memory.current", "4096\n");
	put(w, "/sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
	put(w, "/sys/fs/cgroup/pod/cpu.stat", "usage_usec 500\nuser_usec 4\nnr_periods 20\nnr_throttled 7\nthrottled_usec 90\n");
	c = read_counters(w);
	assert_counter(&c, MACHINE_QUOTA_MILLICORES, 1500);
	assert_counter(&c, MACHINE_QUOTA_PERIODS, 20);
	assert_counter(&c, MACHINE_THROTTLED_PERIODS, 7);
	assert_counter(&c, MACHINE_THROTTLED_NS, 90000);
	assert_counter(&c, MACHINE_GROUP_CPU_NS, 500000);
	assert_counter(&c, MACHINE_GROUP_MEMORY_BYTES, 4096);
}

/* Without a namespace of its own a container sees its group at the top, under a path that is not there. */
static void test_quota_at_the_top(void **state)
{
	struct world *w = *state;
	struct machine_counters c;

	put(w, "/proc/42/cgroup", "0::/kubepods/pod1/abc\n");
	put(w, "/sys/fs/cgroup/cpu.max", "50000 100000\n");
	put(w, "/sys/fs/cgroup/cpu.stat", "usage_usec 5\nnr_periods 3\nnr_throttled 2\nthrottled_usec 1\n");
	c = read_counters(w);
	assert_counter(&c, MACHINE_QUOTA_MILLICORES, 500);
	assert_counter(&c, MACHINE_THROTTLED_PERIODS, 2);
}

static void test_quota_of_the_first_version(void **state)
{
	struct world *w = *state;
	struct machine_counters c;

	put(w, "/proc/42/cgroup", "5:cpu,cpuacct:/docker/abc\n0::/\n");
	put(w, "/sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "50000\n");
	put(w, "/sys/fs/cgroup/cpu/docker/cpu.cfs_period_us", "100000\n");
	put(w, "/sys/fs/cgroup/cpu/docker/cpu.stat", "nr_periods 20\nnr_throttled 7\nthrottled_time 90\n");
	put(w, "/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "-1\n");
	put(w, "/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000\n");
	put(w, "/sys/fs/cgroup/cpu/docker/abc/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
	c = read_counters(w);
	assert_counter(&c, MACHINE_QUOTA_MILLICORES, 500);
	assert_counter(&c, MACHINE_QUOTA_PERIODS, 20);
	assert_counter(&c, MACHINE_THROTTLED_NS, 90);
	assert_int_equal(c.known >> MACHINE_GROUP_CPU_NS & 1, 0);
	put(w, "/sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "-1\n"); /* then it is the innermost one, which may get one */
	c = read_counters(w);
	assert_int_equal(c.known >> MACHINE_QUOTA_MILLICORES & 1, 0);
	assert_int_equal(c.known >> MACHINE_QUOTA_PERIODS & 1, 0);
	assert_counter(&c, MACHINE_THROTTLED_PERIODS, 0);
}

/* periods, of which so many out of quota, ms lost on all processors, ms run; UINT64_MAX: the kernel does not say. */
static double throttled(uint64_t periods, uint64_t ended, uint64_t lost, uint64_t ran)
{
	struct machine_counters from = { .known = ~0u }, to = { .known = ~0u };

	to.values[MACHINE_QUOTA_PERIODS] = periods;
	to.values[MACHINE_THROTTLED_PERIODS] = ended;
	to.values[MACHINE_THROTTLED_NS] = lost * 1000000;
	to.values[MACHINE_GROUP_CPU_NS] = ran * 1000000;
	if (ran == UINT64_MAX)
		to.known &= ~(1u << MACHINE_GROUP_CPU_NS);
	return machine_counters_throttled(&from, &to);
}

static void test_throttled(void **state)
{
	struct machine_counters none = { .known = 0 };

	(void)state;
	assert_true(isnan(machine_counters_throttled(&none, &none)));
	assert_true(throttled(10, 0, 0, 500) == 0);
	assert_true(throttled(0, 0, 0, 0) == 0);
	assert_true(throttled(10, 10, 500, 500) == 0.5);       /* one thread, half a processor */
	assert_true(throttled(10, 10, 56000, 8000) == 0.875); /* 64 threads on 8 processors */
	assert_true(throttled(10, 10, 130, 59870) < 0.0022);  /* 64 that want a little more than they may have */
	assert_true(throttled(10, 1, 5600, 1700) == 0.1);     /* one bad period */
	assert_true(throttled(10, 4, 800, UINT64_MAX) == 0.4);
	assert_true(throttled(2, 3, 800, UINT64_MAX) == 1);
}

static void test_no_group(void **state)
{
	struct world *w = *state;
	struct machine_memory m = read_memory(w);
	double quota = 3;

	assert_false(m.limited);
	assert_int_equal(m.total, 1000000 * KB);
	assert_false(cpu_limit_quota(42, w->root, &quota));
	assert_true(quota == 3);
}

static void test_controller_paths(void **state)
{
	char path[256];
	bool first;

	(void)state;
	assert_int_equal(machine_controller_path("3:cpuset:/\n2:cpu,memory:/a b\n0::/x\n", "memory", path, sizeof path, &first), 0);
	assert_string_equal(path, "/sys/fs/cgroup/memory/a b");
	assert_true(first);
	assert_int_equal(machine_controller_path("3:cpuset:/a\n0::/x\n", "cpu", path, sizeof path, &first), 0);
	assert_string_equal(path, "/sys/fs/cgroup/x");
	assert_false(first);
	assert_int_equal(machine_controller_path("2:memory:/../out\n", "memory", path, sizeof path, &first), -ENOENT);
	assert_int_equal(machine_controller_path("2:memory\nmemory:/\n:::\n", "memory", path, sizeof path, &first), -ENOENT);
	assert_int_equal(machine_controller_path("2:memory:/long\n", "memory", path, 10, &first), -ENOENT);
}

static void test_cpu_max(void **state)
{
	double quota = 7;

	(void)state;
	assert_false(cpu_limit_parse_max("max 100000\n", &quota));
	assert_false(cpu_limit_parse_max("-1 100000\n", &quota));
	assert_false(cpu_limit_parse_max("100000 0\n", &quota));
	assert_false(cpu_limit_parse_max("100000\n", &quota));
	assert_true(quota == 7);
	assert_true(cpu_limit_parse_max("200000 100000\n", &quota));
	assert_true(quota == 2);
	assert_in_range(cpu_limit_affinity(getpid()), 1, 65536);
	assert_int_equal(cpu_limit_affinity(-5), 0);
}

/* ---- Disks and network --------------------------------------------------------- */

static void test_disks(void **state)
{
	static const char text[] =
		"   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0\n"
		"   7       1 loop1 5 0 40 1 0 0 0 0 0 1 1\n"
		" 254       0 vda 100 2 2000 10 50 3 400 20 0 30 40 1 2 3 4 5 6\n"
		" 254       1 vda1 90 2 1800 10 50 3 400 20 0 30 40\n"
		" 259       0 nvme0n1 1 0 8 0 2 0 16 0 0 3 0\n"
		" 259       1 nvme0n1p1 1 0 8 0 2 0 16 0 0 3 0\n"
		" 253       1 dm-1 1 0 8 0 0 0 0 0 0 0 0\n"
		" 253      10 dm-10 1 0 8 0 0 0 0 0 0 0 0\n"
		" 202       1 xvda1 1 0 8 0 0 0 0 0 0 0 0\n"
		"nonsense\n 8 0 sda 1 2\n 8 0 sdb 1 0 -8 0 0 0 0 0 0 0 0\n"
		" 8 0 sdc 1 0 18446744073709551615 0 0 0 0 0 0 0 0\n"
		" 8 0 a-name-that-is-much-longer-than-any-name-of-a-disk 1 0 8 0 0 0 0 0 0 0 0\n 8 0  1 0 8 0 0 0 0 0 0 0 0\n";
	static const char *const names[] = { "loop1", "vda", "nvme0n1", "dm-1", "dm-10", "xvda1" };
	struct disk_counters c[16];

	(void)state;
	assert_int_equal(disk_counters_parse(text, c, 16), 6);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(c[i].name, names[i]);
	assert_int_equal(c[1].reads, 100);
	assert_int_equal(c[1].read_bytes, 2000 * 512);
	assert_int_equal(c[1].writes, 50);
	assert_int_equal(c[1].written_bytes, 400 * 512);
	assert_int_equal(c[1].busy_ns, 30000000);
	assert_int_equal(disk_counters_parse(text, c, 2), 2);
	assert_int_equal(disk_counters_parse("", c, 16), 0);
}

static void test_network(void **state)
{
	static const char text[] =
		"Inter-|   Receive                                                |  Transmit\n"
		" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"
		"    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n"
		"  eth0:7906526916  210630    1    2    0     0          0         0 13265216  144987    3    4    0     0       0          0\n"
		"eth0:1: 5 6 0 0 0 0 0 0 7 8 0 0 0 0 0 0\n"
		"  bad: 1 2 3\n: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
		"  huge: 18446744073709551615 1 18446744073709551615 1 0 0 0 0 1 1 1 1 0 0 0 0\n"
		"  over: 18446744073709551616 1 0 0 0 0 0 0 1 1 1 1 0 0 0 0\n";
	struct network_counters c[16];

	(void)state;
	assert_int_equal(network_counters_parse(text, c, 16), 4);
	assert_string_equal(c[0].name, "lo");
	assert_true(c[0].loopback);
	assert_string_equal(c[1].name, "eth0");
	assert_false(c[1].loopback);
	assert_int_equal(c[1].received_bytes, 7906526916);
	assert_int_equal(c[1].received_packets, 210630);
	assert_int_equal(c[1].sent_bytes, 13265216);
	assert_int_equal(c[1].sent_packets, 144987);
	assert_int_equal(c[1].errors, 10);
	assert_string_equal(c[2].name, "eth0:1");
	assert_true(c[3].errors == UINT64_MAX);
	assert_int_equal(network_counters_parse(text, c, 1), 1);
}

static void test_this_machine(void **state)
{
	struct machine_memory_files files;
	struct network_files network = NETWORK_FILES_INIT;
	struct disk_files disks = DISK_FILES_INIT;
	struct network_counters interfaces[NETWORK_COUNTERS_MAX];
	struct disk_counters counters[DISK_COUNTERS_MAX];
	struct machine_memory m;
	bool lo = false;
	size_t count;

	(void)state;
	machine_memory_open(&files, getpid(), "");
	assert_int_equal(machine_memory_read(&files, &m), 0);
	machine_memory_close(&files);
	assert_true(m.total > 16 * MB && m.available <= m.total && m.total <= m.machine_total && m.swap_used <= m.swap_total);
	network_files_open(&network, getpid());
	count = network_files_read(&network, interfaces, NETWORK_COUNTERS_MAX);
	for (size_t i = 0; i < count; i++)
		lo = lo || interfaces[i].loopback;
	assert_true(lo);
	network_files_close(&network);
	assert_int_equal(network_files_read(&network, interfaces, NETWORK_COUNTERS_MAX), 0);
	disk_files_open(&disks);
	assert_in_range(disk_files_read(&disks, counters, DISK_COUNTERS_MAX), 0, DISK_COUNTERS_MAX);
	disk_files_close(&disks);
}

/* ---- A process ----------------------------------------------------------------- */

static void test_virtual_memory(void **state)
{
	struct process_counters c = { 0 };

	(void)state;
	assert_int_equal(process_counters_parse_stat(&c, "1 (a b) S 2 3 4 0 -1 4194560 5 6 7 8 9 10 11 12 20 0 3 0 55 123456789 99 18446744073709551615 "
							 "1 2 3 4 5\n"), 0);
	assert_int_equal(c.virtual_bytes, 123456789);
	assert_int_equal(c.values[PROCESS_RSS_BYTES], 99 * sysconf(_SC_PAGESIZE));
}

static void test_open_files(void **state)
{
	int folder = open_files_open(getpid()), more[3];
	int64_t before, after;
	bool dear;

	(void)state;
	before = open_files_read(folder, &dear);
	assert_in_range(before, 4, OPEN_FILES_COUNTED);
	for (int i = 0; i < 3; i++)
		more[i] = dup(0);
	after = open_files_read(folder, &dear);
	for (int i = 0; i < 3; i++)
		close(more[i]);
	close(folder);
	assert_int_equal(after, before + 3);
	assert_int_equal(open_files_read(-1, &dear), -1);
	assert_true(open_files_open(-5) < 0);
	assert_int_equal(open_files_limit(getpid()), sysconf(_SC_OPEN_MAX));
	assert_int_equal(open_files_limit(-5), -1);
}

/* As before Linux 6.2: a folder whose size says nothing. */
static void test_open_files_are_counted(void **state)
{
	struct world *w = *state;
	char path[128];
	int folder;

	for (unsigned i = 0; i <= OPEN_FILES_COUNTED; i++) {
		snprintf(path, sizeof path, "/fd/%u", i);
		put(w, path, "");
		if (i != 6 && i != OPEN_FILES_COUNTED)
			continue;
		snprintf(path, sizeof path, "%s/fd", w->root);
		folder = open(path, O_PATH | O_DIRECTORY);
		assert_int_equal(open_files_count(folder), i == 6 ? 7 : -1);
		close(folder);
	}
}

static void test_status(void **state)
{
	struct process_counters c = { 0 };

	(void)state;
	process_counters_parse_status(&c, "Name:\tx\nVmRSS:\t 500 kB\nRssAnon:\t 100 kB\nRssFile:\t 300 kB\nRssShmem:\t 100 kB\nVmSwap:\t 7 kB\n");
	assert_int_equal(c.known, 1u << PROCESS_SHARED_BYTES | 1u << PROCESS_SWAP_BYTES | 1u << PROCESS_HELD_BYTES);
	assert_int_equal(c.values[PROCESS_SHARED_BYTES], 400 * KB);
	assert_int_equal(c.values[PROCESS_SWAP_BYTES], 7 * KB);
	assert_int_equal(c.values[PROCESS_HELD_BYTES], 200 * KB);
	c = (struct process_counters){ 0 };
	process_counters_parse_status(&c, "RssFile:\t 300\nRssShmem:\t x kB\nVmSwap:\t 18446744073709551615 kB\n");
	assert_int_equal(c.known, 0);
	assert_string_equal(process_counter_name(PROCESS_SHARED_BYTES), "shared_bytes");
	assert_string_equal(process_counter_name(PROCESS_SWAP_BYTES), "swap_bytes");
	assert_string_equal(process_counter_name(PROCESS_HELD_BYTES), "held_bytes");
}

/* The kernel gives long files in pieces. */
static void test_reread_all(void **state)
{
	int fd = open("/proc/kallsyms", O_RDONLY);
	static char text[100000];
	ssize_t n;

	(void)state;
	if (fd < 0)
		skip();
	n = proc_reread_all(fd, text, sizeof text);
	assert_int_equal(n, sizeof text - 1);
	assert_int_equal(strlen(text), sizeof text - 1);
	assert_true(proc_reread(fd, text, sizeof text) < (ssize_t)sizeof text - 1);
	close(fd);
	assert_int_equal(proc_reread_all(-1, text, sizeof text), -EBADF);
}

/* Numbers of all lengths, so that every piece of the file ends within one; the last has nothing behind it. */
static void test_children(void **state)
{
	int fd = memfd_create("children", MFD_CLOEXEC);
	struct proc_children children;
	pid_t child = 0, expected = 1;

	(void)state;
	assert_true(fd >= 0);
	for (; expected <= 3000000; expected += 1 + expected / 1000)
		dprintf(fd, "%d ", expected);
	dprintf(fd, "30");
	assert_true(lseek(fd, 0, SEEK_CUR) > 5 * PROC_CHILDREN_SIZE);
	proc_children_begin(&children, fd);
	for (expected = 1; expected <= 3000000; expected += 1 + expected / 1000) {
		assert_true(proc_children_next(&children, &child));
		assert_int_equal(child, expected);
	}
	assert_false(proc_children_next(&children, &child));
	close(fd);
	proc_children_begin(&children, -1);
	assert_false(proc_children_next(&children, &child));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_meminfo),
		cmocka_unit_test(test_group_texts),
		cmocka_unit_test(test_limit),
		cmocka_unit_test_setup_teardown(test_second_version, make_world, remove_world),
		cmocka_unit_test_setup_teardown(test_caches_are_available, make_world, remove_world),
		cmocka_unit_test_setup_teardown(test_first_version, make_world, remove_world),
		cmocka_unit_test_setup_teardown(test_quota_of_a_parent, make_world, remove_world),
		cmocka_unit_test_setup_teardown(test_quota_at_the_top, make_world, remove_world),
		cmocka_unit_test_setup_teardown(test_quota_of_the_first_version, make_world, remove_world),
		cmocka_unit_test(test_throttled),
		cmocka_unit_test_setup_teardown(test_no_group, make_world, remove_world),
		cmocka_unit_test(test_controller_paths),
		cmocka_unit_test(test_cpu_max),
		cmocka_unit_test(test_disks),
		cmocka_unit_test(test_network),
		cmocka_unit_test(test_this_machine),
		cmocka_unit_test(test_virtual_memory),
		cmocka_unit_test(test_open_files),
		cmocka_unit_test_setup_teardown(test_open_files_are_counted, make_world, remove_world),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_reread_all),
		cmocka_unit_test(test_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
