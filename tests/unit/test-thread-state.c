/* Readers of /proc that tell what threads, processes and the machine do: on texts as kernels write them, and on nonsense. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "system/elf_symbol.h"
#include "system/fd_object.h"
#include "system/machine_counters.h"
#include "system/proc.h"
#include "system/process_counters.h"
#include "system/process_maps.h"
#include "system/thread_state.h"
#include "system/wait_object.h"

static void test_ledger(void **state)
{
	struct thread_ledger l = { 1, 2, 3 };

	(void)state;
	assert_int_equal(thread_ledger_parse("1234567 89 10\n", &l), 0);
	assert_int_equal(l.run_ns, 1234567);
	assert_int_equal(l.queue_ns, 89);
	assert_int_equal(l.slices, 10);
	assert_int_equal(thread_ledger_parse("18446744073709551615 0 0", &l), 0);
	assert_int_equal(l.run_ns, UINT64_MAX);
	l.slices = 77;
	assert_int_equal(thread_ledger_parse("", &l), -EINVAL);
	assert_int_equal(thread_ledger_parse("1 2", &l), -EINVAL);
	assert_int_equal(thread_ledger_parse("1 -2 3", &l), -EINVAL);
	assert_int_equal(thread_ledger_parse("18446744073709551616 0 0", &l), -EINVAL);
	assert_int_equal(l.slices, 77);
}

static void test_syscall(void **state)
{
	struct thread_syscall c;

	(void)state;
	assert_int_equal(thread_syscall_parse("running\n", &c), 0);
	assert_true(c.running);
	assert_int_equal(thread_syscall_parse("202 0x7f00 0x189 0x0 0x0 0x0 0xffffffff 0x7ffd10 0x7f55\n", &c), 0);
	assert_false(c.running);
	assert_int_equal(c.number, 202);
	assert_int_equal(c.args[0], 0x7f00);
	assert_int_equal(c.args[1], 0x189);
	assert_int_equal(c.args[5], 0xffffffff);
	assert_int_equal(c.sp, 0x7ffd10);
	assert_int_equal(c.pc, 0x7f55);
	assert_int_equal(thread_syscall_parse("-1 0x7ffd10 0x7f55\n", &c), 0);
	assert_int_equal(c.number, -1);
	assert_int_equal(c.pc, 0x7f55);
	assert_int_equal(thread_syscall_parse("", &c), -EINVAL);
	assert_int_equal(thread_syscall_parse("202 0x1 0x2", &c), -EINVAL);
	assert_int_equal(thread_syscall_parse("-7 0x1 0x2", &c), -EINVAL);
	assert_int_equal(thread_syscall_parse("nonsense", &c), -EINVAL);
}

static void test_own_thread(void **state)
{
	struct thread_files files = THREAD_FILES_INIT;
	struct thread_ledger ledger;
	struct thread_syscall call;

	(void)state;
	assert_int_equal(thread_files_open(&files, getpid(), (pid_t)syscall(SYS_gettid)), 0);
	assert_int_equal(thread_files_ledger(&files, &ledger), 0);
	assert_true(ledger.slices > 0);
	if (files.syscall >= 0) {
		assert_int_equal(thread_files_syscall(&files, &call), 0);
	}
	thread_files_close(&files);
	assert_true(thread_files_ledger(&files, &ledger) < 0);
	assert_true(thread_files_open(&files, INT32_MAX, INT32_MAX) < 0);
}

static void test_stat(void **state)
{
	const char *text = "7 (a ) b (c) S 3 7 7 34816 -1 4194304 1000 5 20 6 150 50 30 20 20 0 12 0 4711 999 25 "
			   "18446744073709551615 4096 8192 140000 0 0\n";
	struct process_counters c = { 0 };
	uint64_t tick = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);

	(void)state;
	assert_int_equal(process_counters_parse_stat(&c, text), 0);
	assert_int_equal(c.state, 'S');
	assert_int_equal(c.parent, 3);
	assert_int_equal(c.birth, 4711);
	assert_int_equal(c.values[PROCESS_MINOR_FAULTS], 1000);
	assert_int_equal(c.values[PROCESS_MAJOR_FAULTS], 20);
	assert_int_equal(c.values[PROCESS_USER_NS], 150 * tick);
	assert_int_equal(c.values[PROCESS_SYSTEM_NS], 50 * tick);
	assert_int_equal(c.values[PROCESS_CHILDREN_NS], 50 * tick);
	assert_int_equal(c.values[PROCESS_THREADS], 12);
	assert_int_equal(c.values[PROCESS_RSS_BYTES], 25 * sysconf(_SC_PAGESIZE));
	assert_true(c.memory != 0);
	assert_int_equal(c.known >> PROCESS_READ_CHARS & 1, 0);
	assert_int_equal(process_counters_parse_stat(&c, "7 (cut) S 3 7"), -EINVAL);
	assert_int_equal(process_counters_parse_stat(&c, "7 (cut)"), -EINVAL);
	assert_int_equal(process_counters_parse_stat(&c, ""), -EINVAL);
}

static void test_io_and_status(void **state)
{
	struct process_counters c = { 0 };

	(void)state;
	process_counters_parse_io(&c, "rchar: 10\nwchar: 20\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: x\n");
	assert_int_equal(c.values[PROCESS_READ_CHARS], 10);
	assert_int_equal(c.values[PROCESS_WRITE_CALLS], 4);
	assert_int_equal(c.values[PROCESS_READ_BYTES], 4096);
	assert_int_equal(c.known >> PROCESS_WRITTEN_BYTES & 1, 0);
	process_counters_parse_status(&c, "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t5\n");
	assert_int_equal(c.values[PROCESS_VOLUNTARY_SWITCHES], 12);
	assert_int_equal(c.values[PROCESS_INVOLUNTARY_SWITCHES], 5);
	assert_string_equal(process_counter_name(PROCESS_READ_CHARS), "rchar");
}

static void test_machine(void **state)
{
	struct machine_counters c = { 0 };
	uint64_t tick = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);

	(void)state;
	machine_counters_parse_stat(&c, "cpu  100 10 50 1000 20 3 4 7 0 0\ncpu0 1 1 1\n");
	assert_int_equal(c.values[MACHINE_BUSY_NS], 167 * tick);
	assert_int_equal(c.values[MACHINE_IDLE_NS], 1020 * tick);
	assert_int_equal(c.values[MACHINE_STEAL_NS], 7 * tick);
	machine_counters_parse_pressure(&c, MACHINE_PRESSURE_IO_NS,
					"some avg10=0.00 avg60=0.00 avg300=0.00 total=123\nfull avg10=0.00 total=9\n");
	assert_int_equal(c.values[MACHINE_PRESSURE_IO_NS], 123000);
	machine_counters_parse_cpu_stat(&c, "usage_usec 5\nnr_periods 9\nnr_throttled 3\nthrottled_usec 250\n");
	assert_int_equal(c.values[MACHINE_THROTTLED_NS], 250000);
	assert_int_equal(c.values[MACHINE_THROTTLED_PERIODS], 3);
	machine_counters_parse_cpu_max(&c, "max 100000\n");
	assert_int_equal(c.known >> MACHINE_QUOTA_MILLICORES & 1, 0);
	machine_counters_parse_cpu_max(&c, "150000 100000\n");
	assert_int_equal(c.values[MACHINE_QUOTA_MILLICORES], 1500);
	c = (struct machine_counters){ 0 };
	machine_counters_parse_stat(&c, "cpu 1 2");
	machine_counters_parse_pressure(&c, MACHINE_PRESSURE_IO_NS, "nonsense");
	machine_counters_parse_cpu_max(&c, "1 0");
	assert_int_equal(c.known, 0);
}

static const char maps_text[] =
	"555500000000-555500100000 r--p 00000000 fd:00 11 /opt/bin/python3.12\n"
	"555500100000-555500200000 r-xp 00100000 fd:00 11 /opt/bin/python3.12\n"
	"555500300000-555500400000 rw-p 00000000 00:00 0 [heap]\n"
	"7f0000000000-7f0000001000 rw-s 00002000 00:13 77 /dev/shm/sem.x (deleted)\n"
	"this is no line of such a file\n"
	"7f0000100000-7f0000200000 r-xp 00010000 fd:00 12 /lib/libgomp-a34b3233.so.1.0.0\n"
	"7f0000300000-7f0000400000 r-xp 00010000 fd:00 13 /lib/libc.so.6\n";

static void test_maps(void **state)
{
	struct process_maps maps = PROCESS_MAPS_INIT;

	(void)state;
	assert_int_equal(process_maps_parse(&maps, maps_text, ""), 0);
	assert_int_equal(maps.count, 4);
	assert_int_equal(maps.python_count, 1);
	assert_string_equal(maps.pythons[0].path, "/opt/bin/python3.12");
	assert_int_equal(maps.pythons[0].begin, 0x555500000000);
	assert_true(process_maps_find(&maps, 0x7f0000150000)->pool);
	assert_false(process_maps_find(&maps, 0x7f0000300000)->pool);
	assert_true(process_maps_find(&maps, 0x7f0000000abc)->shared);
	assert_int_equal(process_maps_find(&maps, 0x7f0000000abc)->inode, 77);
	assert_null(process_maps_find(&maps, 0x555500350000));
	assert_null(process_maps_find(&maps, 0x7f0000400000));
	assert_null(process_maps_find(&maps, 0));
	assert_int_equal(process_maps_parse(&maps, "", ""), 0);
	assert_int_equal(maps.count, 0);
	assert_int_equal(process_maps_parse(&maps, "1000-2000 r--p 0 1:1 5 /opt/serve\n", "/opt/serve"), 0);
	assert_int_equal(maps.python_count, 1);
	process_maps_release(&maps);
}

static void test_links(void **state)
{
	static const struct {
		const char *link;
		enum thread_state expected;
	} cases[] = {
		{ "pipe:[123]", THREAD_PIPE },           { "/data/train.bin", THREAD_FILE },
		{ "/dev/nvidia0", THREAD_DEVICE },       { "/dev/dri/renderD128", THREAD_DEVICE },
		{ "anon_inode:[eventfd]", THREAD_PIPE }, { "anon_inode:[timerfd]", THREAD_SLEEP },
		{ "anon_inode:[pidfd]", THREAD_CHILD },  { "anon_inode:[eventpoll]", THREAD_POLL },
		{ "socket:[5]", THREAD_UNKNOWN },        { "", THREAD_UNKNOWN },
	};
	struct wait_object o;
	char longer[512];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		fd_object_of_link(cases[i].link, &o);
		assert_int_equal(o.state, cases[i].expected);
		assert_string_equal(o.what, cases[i].link);
	}
	memset(longer, 'x', sizeof longer);
	memcpy(longer + sizeof longer - 5, "/end", 5);
	wait_object_set(&o, THREAD_FILE, longer);
	assert_int_equal(strlen(o.what), WAIT_TEXT_SIZE - 1);
	assert_memory_equal(o.what, "...", 3);
	assert_string_equal(o.what + strlen(o.what) - 4, "/end");
}

static void test_sockets(void **state)
{
	const char *tcp = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
			  "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 41 1 ff 100\n"
			  "   1: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 42 1 ff 20\n"
			  "   2: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 44 1 ff 20\n";
	const char *tcp6 = "head\n   0: 00000000000000000000000001000000:9C40 "
			   "00000000000000000000000001000000:0050 01 0:0 00:0 0 0 0 43 1\n";
	const char *local = "Num       RefCount Protocol Flags    Type St Inode Path\n"
			    "ffff8880: 00000003 00000000 00000000 0001 03 51\n"
			    "ffff8881: 00000002 00000000 00010000 0001 01 52 /run/x.sock\n";
	struct wait_object o;

	(void)state;
	assert_true(fd_object_in_table("tcp", tcp, 42, &o));
	assert_int_equal(o.state, THREAD_SOCKET_NETWORK);
	assert_string_equal(o.what, "tcp:127.0.0.1:8080");
	assert_true(fd_object_in_table("tcp", tcp, 41, &o));
	assert_string_equal(o.what, "tcp:client [41]"); /* it listens */
	assert_true(fd_object_in_table("tcp", tcp, 44, &o));
	assert_string_equal(o.what, "tcp:client 127.0.0.1:40000"); /* it came in at the port of 41 */
	assert_true(fd_object_in_table("tcp6", tcp6, 43, &o));
	assert_string_equal(o.what, "tcp6:[::1]:80");
	assert_true(fd_object_in_table("unix", local, 51, &o));
	assert_int_equal(o.state, THREAD_SOCKET_LOCAL);
	assert_string_equal(o.what, "unix:[51]");
	assert_true(fd_object_in_table("unix", local, 52, &o));
	assert_string_equal(o.what, "unix:/run/x.sock");
	assert_false(fd_object_in_table("tcp", tcp, 99, &o));
	assert_false(fd_object_in_table("tcp", "", 42, &o));
}

static void test_calls(void **state)
{
	struct wait_process p = { .pid = getpid() };
	struct thread_syscall call = { .running = true };
	struct wait_object o;
	int ends[2];

	(void)state;
	wait_object_find(&p, getpid(), &call, 1, &o);
	assert_int_equal(o.state, THREAD_RUNNING);
	call = (struct thread_syscall){ .number = SYS_clock_nanosleep };
	wait_object_find(&p, getpid(), &call, 1, &o);
	assert_int_equal(o.state, THREAD_SLEEP);
	call.number = SYS_wait4;
	wait_object_find(&p, getpid(), &call, 1, &o);
	assert_int_equal(o.state, THREAD_CHILD);
	call = (struct thread_syscall){ .number = SYS_pselect6 };
	wait_object_find(&p, getpid(), &call, 1, &o);
	assert_int_equal(o.state, THREAD_SLEEP);
	call = (struct thread_syscall){ .number = 99999 };
	wait_object_find(&p, getpid(), &call, 1, &o);
	assert_int_equal(o.state, THREAD_UNKNOWN);
	assert_string_equal(o.what, "system call 99999");
	assert_int_equal(pipe(ends), 0);
	call = (struct thread_syscall){ .number = SYS_read, .args = { (uint64_t)ends[0] } };
	wait_object_find(&p, getpid(), &call, 1, &o);
	assert_int_equal(o.state, THREAD_PIPE);
	call.number = SYS_fsync;
	wait_object_find(&p, getpid(), &call, 1, &o);
	assert_int_equal(o.state, THREAD_FSYNC);
	call = (struct thread_syscall){ .number = SYS_read, .args = { UINT64_MAX } };
	wait_object_find(&p, getpid(), &call, 1, &o);
	assert_int_equal(o.state, THREAD_UNKNOWN);
	close(ends[0]);
	close(ends[1]);
	wait_process_release(&p);
}

static void test_futexes(void **state)
{
	struct wait_process p = { .pid = getpid() };
	struct thread_syscall call = { .number = SYS_futex, .args = { 0x555500300010, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG } };
	struct wait_object o;

	(void)state;
	assert_int_equal(process_maps_parse(&p.maps, maps_text, ""), 0);
	p.maps.next_read_ns = INT64_MAX;
	p.maps.runtime_begin = 0x555500300000;
	p.maps.runtime_end = 0x555500300100;
	call.pc = 0x7f0000300010;
	wait_object_find(&p, getpid(), &call, 1, &o);
	assert_int_equal(o.state, THREAD_GIL);
	call.args[0] = 0x555500300100;
	wait_object_find(&p, getpid(), &call, 1, &o);
	assert_int_equal(o.state, THREAD_LOCK);
	assert_string_equal(o.what, "futex:0x555500300100");
	call.pc = 0x7f0000100010;
	wait_object_find(&p, getpid(), &call, 1, &o);
	assert_int_equal(o.state, THREAD_BARRIER);
	call = (struct thread_syscall){ .number = SYS_futex, .args = { 0x7f0000000010, FUTEX_WAIT_BITSET }, .pc = 0x7f0000300010 };
	wait_object_find(&p, getpid(), &call, 1, &o);
	assert_int_equal(o.state, THREAD_LOCK);
	assert_string_equal(o.what, "shared:77+8208");
	wait_process_release(&p);
}

int test_symbol_of_this_file[25];

static void test_elf(void **state)
{
	struct elf_symbol symbol = { 0 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), other = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(elf_symbol_find(fd, "test_symbol_of_this_file", &symbol), 0);
	assert_in_range(symbol.size, sizeof test_symbol_of_this_file, sizeof test_symbol_of_this_file + 63); /* a sanitizer adds to it */
	assert_int_equal(elf_symbol_find(fd, "there_is_no_such_symbol", &symbol), -ENOENT);
	assert_int_equal(elf_symbol_find(other, "test_symbol_of_this_file", &symbol), -EINVAL);
	close(fd);
	close(other);
}

/* Every byte of the front of a file may be wrong: nothing is read from where nothing is. */
static void test_elf_nonsense(void **state)
{
	static uint8_t data[1 << 16];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), copy = (int)syscall(SYS_memfd_create, "elf", 0);
	struct elf_symbol symbol;
	ssize_t size = pread(fd, data, sizeof data, 0);

	(void)state;
	assert_true(size > 4096 && copy >= 0);
	for (size_t at = 16; at < 64; at++) {
		uint8_t before = data[at];

		data[at] = 0xff;
		assert_int_equal(pwrite(copy, data, (size_t)size, 0), size);
		(void)elf_symbol_find(copy, "x", &symbol);
		data[at] = before;
	}
	assert_int_equal(ftruncate(copy, 40), 0);
	assert_int_equal(elf_symbol_find(copy, "x", &symbol), -EINVAL);
	close(fd);
	close(copy);
}

static void test_lines(void **state)
{
	const char *text = "one\n\ntwo is long\nlast";
	char line[6];

	(void)state;
	assert_true(proc_line(&text, line, sizeof line));
	assert_string_equal(line, "one");
	assert_true(proc_line(&text, line, sizeof line));
	assert_string_equal(line, "");
	assert_true(proc_line(&text, line, sizeof line));
	assert_string_equal(line, "two i");
	assert_true(proc_line(&text, line, sizeof line));
	assert_string_equal(line, "last");
	assert_false(proc_line(&text, line, sizeof line));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ledger),        cmocka_unit_test(test_syscall), cmocka_unit_test(test_own_thread),
		cmocka_unit_test(test_stat),          cmocka_unit_test(test_io_and_status), cmocka_unit_test(test_machine),
		cmocka_unit_test(test_maps),          cmocka_unit_test(test_links),   cmocka_unit_test(test_sockets),
		cmocka_unit_test(test_calls),         cmocka_unit_test(test_futexes), cmocka_unit_test(test_elf),
		cmocka_unit_test(test_elf_nonsense),  cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
