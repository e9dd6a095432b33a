/* What is read once a second or less: frequency, memory of control groups, PSS, NUMA nodes; and when it is read again. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "system/cpu_frequency.h"
#include "system/id_list.h"
#include "system/machine_counters.h"
#include "system/process_counters.h"
#include "system/process_memory.h"
#include "system/rare_read.h"

#define MS 1000000
#define SECOND ((int64_t)1000 * MS)
#define GB ((uint64_t)1 << 30)

static void test_lists(void **state)
{
	static const struct {
		const char *text;
		uint32_t count, at_2; /* the third one */
	} cases[] = {
		{ "0\n", 1, 0 },    { "0-1\n", 2, 0 },         { "0-3\n", 4, 2 },    { "0,2-3,9\n", 4, 3 },
		{ "4,6,8-9", 4, 8 }, { "", 0, 0 },             { "\n", 0, 0 },       { "0-", 0, 0 },
		{ "3-1\n", 0, 0 },  { "0-65536\n", 0, 0 },     { "0-1,x\n", 0, 0 },  { "-1\n", 0, 0 },
		{ "0-18446744073709551615\n", 0, 0 },          { "0-99999999999999999999999\n", 0, 0 },
	};
	uint32_t id;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(id_list_count(cases[i].text), cases[i].count);
		if (cases[i].count > 2) {
			assert_true(id_list_at(cases[i].text, 2, &id));
			assert_int_equal(id, cases[i].at_2);
		}
		assert_false(id_list_at(cases[i].text, cases[i].count + 2, &id));
	}
	assert_int_equal(id_list_count("0-65535\n"), 65536);
	assert_int_equal(id_list_count("0-65535,0-65535,0-65535\n"), 0);
}

static void test_frequency_texts(void **state)
{
	char many[4096] = "";

	(void)state;
	assert_int_equal(cpu_frequency_parse_khz("2400000\n"), 2400000);
	assert_int_equal(cpu_frequency_parse_khz("800000"), 800000);
	assert_int_equal(cpu_frequency_parse_khz("<unknown>\n"), 0);
	assert_int_equal(cpu_frequency_parse_khz(""), 0);
	assert_int_equal(cpu_frequency_parse_khz("24 00\n"), 0);
	assert_int_equal(cpu_frequency_parse_khz("100000001\n"), 0);
	assert_int_equal(cpu_frequency_parse_khz("18446744073709551616\n"), 0);

	assert_int_equal(cpu_frequency_parse_cpuinfo("processor\t: 0\ncpu MHz\t\t: 2596.130\n\nprocessor\t: 1\ncpu MHz\t\t: 1000.5\n"),
			 (2596130 + 1000500) / 2);
	assert_int_equal(cpu_frequency_parse_cpuinfo("cpu MHz : 3000\n"), 3000000);
	assert_int_equal(cpu_frequency_parse_cpuinfo("cpu MHz : 3000.123999\n"), 3000123);
	assert_int_equal(cpu_frequency_parse_cpuinfo("cpu MHz : 3000.000\ncpu MHz\t: 12"), 3000000); /* cut: 12 may be 1200 */
	assert_int_equal(cpu_frequency_parse_cpuinfo("cpu MHz : 3000.000\ncpu MHz : x\ncpu MHz\ncpu MHz : 99999999999999999999\n"),
			 3000000);
	assert_int_equal(cpu_frequency_parse_cpuinfo("cpu MHz : 100001\n"), 0);
	assert_int_equal(cpu_frequency_parse_cpuinfo("BogoMIPS\t: 50.00\nCPU part\t: 0xd0c\n"), 0);
	assert_int_equal(cpu_frequency_parse_cpuinfo(""), 0);
	for (unsigned i = 0; i < 32; i++)
		strcat(many, i < CPU_FREQUENCY_MAX ? "cpu MHz : 2000.000\n" : "cpu MHz : 9000.000\n");
	assert_int_equal(cpu_frequency_parse_cpuinfo(many), 2000000);
}

static void test_frequency_of_this_machine(void **state)
{
	struct cpu_frequency f = CPU_FREQUENCY_INIT;
	uint64_t mhz;

	(void)state;
	cpu_frequency_open(&f);
	assert_true(f.count <= CPU_FREQUENCY_MAX && (f.count == 0 || f.cpuinfo < 0));
	mhz = cpu_frequency_read(&f);
	assert_true(mhz == 0 || (mhz > 50 && mhz < 20000));
	assert_int_equal(cpu_frequency_read(&f), 0); /* not again at once */
	cpu_frequency_close(&f);
	assert_int_equal(cpu_frequency_read(&f), 0);
}

static void test_group_memory(void **state)
{
	struct machine_counters c = { 0 };

	(void)state;
	machine_counters_parse_memory(&c, MACHINE_GROUP_MEMORY_LIMIT_BYTES, "max\n");
	machine_counters_parse_memory(&c, MACHINE_GROUP_MEMORY_LIMIT_BYTES, "");
	machine_counters_parse_memory(&c, MACHINE_GROUP_MEMORY_BYTES, "-1\n");
	machine_counters_parse_memory(&c, MACHINE_GROUP_MEMORY_BYTES, "12x\n");
	machine_counters_parse_memory(&c, MACHINE_GROUP_MEMORY_BYTES, "18446744073709551616\n");
	assert_int_equal(c.known, 0);
	machine_counters_parse_memory(&c, MACHINE_GROUP_MEMORY_BYTES, "123456789\n");
	machine_counters_parse_memory(&c, MACHINE_GROUP_MEMORY_LIMIT_BYTES, "17179869184\n");
	assert_int_equal(c.values[MACHINE_GROUP_MEMORY_BYTES], 123456789);
	assert_int_equal(c.values[MACHINE_GROUP_MEMORY_LIMIT_BYTES], 16 * GB);
	assert_int_equal(c.known, 1u << MACHINE_GROUP_MEMORY_BYTES | 1u << MACHINE_GROUP_MEMORY_LIMIT_BYTES);
	assert_string_equal(machine_counter_name(MACHINE_GROUP_MEMORY_BYTES), "cgroup_memory_bytes");
	assert_string_equal(machine_counter_name(MACHINE_GROUP_MEMORY_LIMIT_BYTES), "cgroup_memory_limit_bytes");
	assert_string_equal(machine_counter_name(MACHINE_FREQUENCY_MHZ), "frequency_mhz");
}

static void test_group_path(void **state)
{
	char path[64] = "", longest[2048];

	(void)state;
	assert_int_equal(machine_group_path("0::/user.slice/x.scope\n", path, sizeof path), 0);
	assert_string_equal(path, "/sys/fs/cgroup/user.slice/x.scope");
	assert_int_equal(machine_group_path("9:name=systemd:/\n4:memory:/y\n0::/\n", path, sizeof path), 0);
	assert_string_equal(path, "/sys/fs/cgroup");
	assert_int_equal(machine_group_path("4:memory:/y\n", path, sizeof path), -ENOENT);
	assert_int_equal(machine_group_path("0::/../../etc\n", path, sizeof path), -ENOENT);
	assert_int_equal(machine_group_path("", path, sizeof path), -ENOENT);
	memset(longest, 'x', sizeof longest);
	memcpy(longest, "0::/", 4);
	longest[sizeof longest - 1] = '\0';
	assert_int_equal(machine_group_path(longest, path, sizeof path), -ENOENT);
	longest[100] = '\0';
	assert_int_equal(machine_group_path(longest, path, sizeof path), -ENOENT);
}

/* Some are read only when all are asked for, and none of files that are closed. */
static void test_machine_files(void **state)
{
	struct machine_files files = MACHINE_FILES_INIT;
	struct machine_counters c;
	const uint32_t rest = 1u << MACHINE_FREQUENCY_MHZ | 1u << MACHINE_GROUP_MEMORY_BYTES | 1u << MACHINE_GROUP_MEMORY_LIMIT_BYTES;

	(void)state;
	machine_files_open(&files, getpid(), "");
	machine_files_read(&files, false, &c);
	assert_int_equal(c.known & rest, 0);
	machine_files_read(&files, true, &c);
	assert_int_equal(c.known >> MACHINE_GROUP_MEMORY_BYTES & 1, files.fds[7] >= 0);
	assert_true(!(c.known >> MACHINE_FREQUENCY_MHZ & 1) || c.values[MACHINE_FREQUENCY_MHZ] > 0);
	machine_files_close(&files);
	machine_files_read(&files, true, &c);
	assert_int_equal(c.known, 0);
}

static void test_pss(void **state)
{
	const char *text = "56094209c000-7fff350b3000 ---p 00000000 00:00 0                          [rollup]\n"
			   "Rss:                1668 kB\nPss:                 245 kB\nPss_Dirty:           116 kB\n";
	uint64_t bytes = 77;

	(void)state;
	assert_int_equal(process_memory_parse_pss("", &bytes), -EINVAL);
	assert_int_equal(process_memory_parse_pss("Rss: 1668 kB\nPss_Dirty: 116 kB\n", &bytes), -EINVAL);
	assert_int_equal(process_memory_parse_pss("Rss: 1668 kB\nPss:       24", &bytes), -EINVAL); /* cut */
	assert_int_equal(process_memory_parse_pss("Pss: -3 kB\n", &bytes), -EINVAL);
	assert_int_equal(process_memory_parse_pss("Pss: 18446744073709551615 kB\n", &bytes), -EINVAL);
	assert_int_equal(bytes, 77);
	assert_int_equal(process_memory_parse_pss(text, &bytes), 0);
	assert_int_equal(bytes, 245 * 1024);
	assert_true(process_memory_pss(INT32_MAX, &bytes) < 0);
	if (process_memory_pss(getpid(), &bytes) == 0)
		assert_in_range(bytes, 4096, GB);
	assert_string_equal(process_counter_name(PROCESS_PSS_BYTES), "pss_bytes");
}

static void test_numa_lines(void **state)
{
	struct numa_memory m = { 0 };
	char name[NUMA_NAME_SIZE];

	(void)state;
	numa_memory_parse_line(&m, "5640a8450000 default file=/usr/bin/head mapped=2 N0=2 kernelpagesize_kB=4");
	numa_memory_parse_line(&m, "7f00 interleave:0-1 anon=5 dirty=5 active=0 N0=3 N1=2 kernelpagesize_kB=4");
	numa_memory_parse_line(&m, "7f01 bind:1 file=/dev/hugepages/x huge dirty=1 N1=1 N63=1 kernelpagesize_kB=2048");
	assert_int_equal(m.bytes[0], 5 * 4096);
	assert_int_equal(m.bytes[1], 2 * 4096 + (2 << 20));
	assert_int_equal(m.bytes[63], 2 << 20);
	assert_true(m.nodes == (UINT64_C(1) << 63 | 3));

	m = (struct numa_memory){ 0 };
	numa_memory_parse_line(&m, "");
	numa_memory_parse_line(&m, "7f00 default");
	numa_memory_parse_line(&m, "7f00 default N0=3");
	numa_memory_parse_line(&m, "7f00 default N0=3 kernelpagesize_kB=");
	numa_memory_parse_line(&m, "7f00 default N64=3 N99999999999999999999=3 N=3 Nx=3 N0=-3 N0= N0 N0=3x kernelpagesize_kB=4");
	numa_memory_parse_line(&m, "7f00 default N0=3 kernelpagesize_kB=99999999999999");
	numa_memory_parse_line(&m, "7f00 default N0=18446744073709551615 kernelpagesize_kB=4");
	numa_memory_parse_line(&m, "N0=3 kernelpagesize_kB=4");
	numa_memory_parse_line(&m, "7f00 default file=/x/N1=5 N0=0x10 kernelpagesize_kB=4");
	assert_true(m.nodes == 0 && m.bytes[0] == 0 && m.bytes[1] == 0);
	m.bytes[2] = UINT64_MAX - 4095;
	numa_memory_parse_line(&m, "7f00 default N2=1 kernelpagesize_kB=4");
	assert_true(m.bytes[2] == UINT64_MAX - 4095);
	numa_counter_name(12, name);
	assert_string_equal(name, "numa_node12_bytes");
}

static void test_numa_of_this_process(void **state)
{
	struct numa_memory m;
	uint64_t sum = 0;

	(void)state;
	assert_true(numa_node_count() >= 1);
	assert_true(process_memory_numa(INT32_MAX, &m) < 0);
	if (process_memory_numa(getpid(), &m) != 0)
		skip(); /* a kernel without NUMA */
	for (unsigned i = 0; i < NUMA_NODES; i++)
		sum += m.bytes[i];
	assert_true(m.nodes != 0);
	assert_in_range(sum, 64 << 10, GB);
}

static void test_rare_reads(void **state)
{
	struct rare_read r = { 10 * SECOND, 5 * MS, SECOND, 5 * MS, GB / 4 };

	(void)state;
	assert_false(rare_read_due(&r, SECOND - 1, 0));
	assert_true(rare_read_due(&r, SECOND, GB));
	assert_false(rare_read_due(&r, SECOND, 3 * GB)); /* likely 60 ms */
	rare_read_took(&r, SECOND, 1 * MS, GB / 4);
	assert_false(rare_read_due(&r, 11 * SECOND - 1, GB));
	assert_true(rare_read_due(&r, 11 * SECOND, 3 * GB)); /* it is cheaper here: 12 ms */
	assert_false(rare_read_due(&r, 11 * SECOND, 13 * GB));
	rare_read_took(&r, 11 * SECOND, 12 * MS, 3 * GB); /* dear: 24 times as long as usual */
	assert_false(rare_read_due(&r, 250 * SECOND, 3 * GB));
	assert_true(rare_read_due(&r, 252 * SECOND, 3 * GB));
	rare_read_took(&r, 252 * SECOND, 200 * MS, 3 * GB); /* more than was thought: again, but not for more than twice that */
	assert_false(rare_read_due(&r, 3000 * SECOND, 3 * GB));
	assert_true(rare_read_due(&r, 5000 * SECOND, 3 * GB));
	assert_false(rare_read_due(&r, 5000 * SECOND, 7 * GB));
	assert_false(rare_read_bearable(&r, 3 * GB));
	assert_true(rare_read_bearable(&r, GB / 2)); /* likely 33 ms */
	rare_read_took(&r, 5000 * SECOND, INT64_MAX, UINT64_MAX);
	assert_int_equal(r.next_ns, 5000 * SECOND + 3600 * SECOND);
}

static void test_a_rare_read_at_the_end(void **state)
{
	struct rare_read r = { 10 * SECOND, 5 * MS, 100 * SECOND, 5 * MS, GB / 4 };

	(void)state;
	rare_read_took(&r, 100 * SECOND, 1 * MS, GB / 4);
	assert_false(rare_read_due_at_end(&r, 100 * SECOND + 500 * MS, GB / 4)); /* a moment ago */
	assert_true(rare_read_due_at_end(&r, 102 * SECOND, GB / 4));
	assert_false(rare_read_due_at_end(&r, 102 * SECOND, 2 * GB)); /* likely 8 ms */
	rare_read_took(&r, 110 * SECOND, 6 * MS, GB / 4);
	assert_false(rare_read_due_at_end(&r, 119 * SECOND, GB / 4));
	r.next_ns = INT64_MAX; /* never */
	assert_false(rare_read_due_at_end(&r, 119 * SECOND, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_frequency_texts),
		cmocka_unit_test(test_frequency_of_this_machine),
		cmocka_unit_test(test_group_memory),
		cmocka_unit_test(test_group_path),
		cmocka_unit_test(test_machine_files),
		cmocka_unit_test(test_pss),
		cmocka_unit_test(test_numa_lines),
		cmocka_unit_test(test_numa_of_this_process),
		cmocka_unit_test(test_rare_reads),
		cmocka_unit_test(test_a_rare_read_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
