/* Where threads run: samples of the program counter, and what is at an address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "system/code_place.h"
#include "system/cpu_sampler.h"
#include "system/elf_symbol.h"
#include "system/process_maps.h"

/* ---- Maps -------------------------------------------------------------------- */

static const char maps_text[] =
	"555500000000-555500100000 r--p 00000000 fd:00 11 /opt/bin/python3.12\n"
	"555500100000-555500200000 r-xp 00100000 fd:00 11 /opt/bin/python3.12\n"
	"555500200000-555500201000 r-xp 00200000 fd:00 11 /opt/bin/python3.12\n"
	"7f0000000000-7f0000001000 r-xp 00000000 00:00 0 \n"
	"7f0000100000-7f0000200000 r-xp 00010000 fd:00 12 /opt/site-packages/inferscope/_tracer.cpython-312-x86_64-linux-gnu.so\n"
	"7f0000300000-7f0000400000 r-xp 00010000 fd:00 13 /lib/libc.so.6 (deleted)\n"
	"7f0000500000-7f0000600000 r-xp 00010000 fd:00 14 /opt/lib/libinferscope-rt.so\n"
	"7f0000700000-7f0000800000 r-xp 00010000 fd:00 15 /opt/site-packages/other/_tracer.abi3.so\n"
	"7f0000800000-7f0000810000 r-xp 00010000 fd:00 16 /opt/dist-packages/numpy/core/_umath.so\n"
	"7f0000810000-7f0000820000 r-xp 00010000 fd:00 17 /e/dist-packages/x/site-packages/numpy.libs/libblas.so\n"
	"7f0000820000-7f0000830000 r-xp 00010000 fd:00 18 /opt/site-packages/_alone.so\n"
	"7f0000900000-7f0000901000 rw-p 00000000 00:00 0 \n"
	"7ffff0000000-7ffff0002000 r-xp 00000000 00:00 0                          [vdso]\n";

static void assert_place(struct code_process *p, uint64_t pc, bool kernel, enum code_sort sort, const char *what)
{
	struct code_place place;

	assert_true(code_place_find(p, pc, kernel, 1, &place));
	assert_int_equal(place.sort, sort);
	assert_string_equal(place.what, what);
}

static void test_places(void **state)
{
	struct process_maps maps = PROCESS_MAPS_INIT;
	struct code_process p = { .pid = INT_MAX, .maps = &maps };
	struct code_place place;

	(void)state;
	assert_int_equal(process_maps_parse(&maps, maps_text, ""), 0);
	maps.next_read_ns = INT64_MAX;
	assert_place(&p, 0x555500100010, false, CODE_INTERPRETER, "");
	assert_place(&p, 0x555500200010, false, CODE_INTERPRETER, "");
	assert_place(&p, 0x7f0000000010, false, CODE_NATIVE, "jit");
	assert_place(&p, 0x7f0000100010, false, CODE_PROFILER, "");
	assert_place(&p, 0x7f0000300010, false, CODE_NATIVE, "libc.so.6");
	assert_place(&p, 0x7f0000500010, false, CODE_PROFILER, "");
	assert_place(&p, 0x7f0000700010, false, CODE_NATIVE, "other/_tracer.abi3.so");
	assert_place(&p, 0x7f0000800010, false, CODE_NATIVE, "numpy/_umath.so");
	assert_place(&p, 0x7f0000810010, true, CODE_FAULT, "numpy/libblas.so");
	assert_place(&p, 0x7f0000820010, false, CODE_NATIVE, "_alone.so");
	assert_place(&p, 0x7ffff0000010, false, CODE_NATIVE, "vdso");
	assert_place(&p, 0x7f0000300010, true, CODE_FAULT, "libc.so.6"); /* there is no such process to be asked */
	assert_false(code_place_find(&p, 0x7f0000900010, false, 1, &place));
	assert_int_equal(place.sort, CODE_NATIVE);
	assert_string_equal(place.what, "?");
	assert_true(code_place_find(&p, 0, true, 1, &place)); /* nothing will ever explain it */
	assert_int_equal(place.sort, CODE_FAULT);
	code_process_forget(&p);
	process_maps_release(&maps);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(code_sort_name(CODE_INTERPRETER), "interpreter");
	assert_string_equal(code_sort_name(CODE_SYSCALL), "syscall");
	assert_string_equal(code_sort_name(CODE_SORT_COUNT), "native");
}

static void test_deleted_and_repeated_paths(void **state)
{
	struct process_maps maps = PROCESS_MAPS_INIT;

	(void)state;
	assert_int_equal(process_maps_parse(&maps, maps_text, ""), 0);
	assert_string_equal(process_maps_path(&maps, process_maps_find(&maps, 0x7f0000300000)), "/lib/libc.so.6");
	assert_string_equal(process_maps_name(&maps, process_maps_find(&maps, 0x7f0000300000)), "libc.so.6");
	assert_int_equal(maps.maps[0].path, maps.maps[1].path);
	assert_true(process_maps_open(&maps, getpid(), process_maps_find(&maps, 0x7f0000000000)) < 0);
	assert_true(process_maps_open(&maps, getpid(), process_maps_find(&maps, 0x7f0000300000)) < 0);
	process_maps_release(&maps);
}

/* ---- Symbols ----------------------------------------------------------------- */

__attribute__((noinline)) static int a_function_of_this_file(int x)
{
	return x * 3 + 1;
}

/* Where a byte of our own memory lies in its file. */
static int open_own(struct process_maps *maps, uint64_t address, uint64_t *ret_offset)
{
	const struct process_map *map;

	assert_int_equal(process_maps_read(maps, getpid()), 0);
	map = process_maps_find(maps, address);
	assert_non_null(map);
	*ret_offset = address - map->begin + map->offset;
	return process_maps_open(maps, getpid(), map);
}

static void assert_function(void *function, const char *name)
{
	struct process_maps maps = PROCESS_MAPS_INIT;
	uint64_t offset;
	char text[64];
	int fd = open_own(&maps, (uint64_t)(uintptr_t)function + 2, &offset);

	assert_true(fd >= 0);
	assert_int_equal(elf_symbol_at(fd, offset, text, sizeof text), 0);
	assert_string_equal(text, name);
	assert_int_equal(elf_symbol_at(fd, 1, text, sizeof text), -ENOENT);
	assert_int_equal(elf_symbol_at(fd, UINT64_MAX, text, sizeof text), -ENOENT);
	close(fd);
	process_maps_release(&maps);
}

static void *of_libc(const char *name)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY), *function = libc ? dlsym(libc, name) : NULL; /* not a sanitizer's */

	assert_non_null(function);
	return function;
}

static void test_functions(void **state)
{
	int (*volatile function)(int) = a_function_of_this_file;

	(void)state;
	assert_int_equal(function(2), 7);
	assert_function((void *)(uintptr_t)function, "a_function_of_this_file");
	assert_function(of_libc("munmap"), "munmap");
	assert_function(of_libc("fsync"), "fsync");
	assert_function(of_libc("__read"), "read");
	assert_function(of_libc("pread64"), "pread");
}

static void test_functions_of_nonsense(void **state)
{
	static uint8_t data[1 << 16];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), copy = memfd_create("elf", MFD_CLOEXEC);
	ssize_t size = pread(fd, data, sizeof data, 0);
	char text[16];

	(void)state;
	assert_true(size > 4096 && copy >= 0);
	for (size_t at = 16; at < 512; at++) {
		uint8_t before = data[at];

		data[at] ^= 0xff;
		assert_int_equal(pwrite(copy, data, (size_t)size, 0), size);
		(void)elf_symbol_at(copy, 4096, text, sizeof text);
		data[at] = before;
	}
	assert_int_equal(ftruncate(copy, 40), 0);
	assert_int_equal(elf_symbol_at(copy, 0, text, sizeof text), -EINVAL);
	close(fd);
	close(copy);
}

/* ---- Own code ---------------------------------------------------------------- */

#if defined(__x86_64__)
/* Behind the first system call of a function. */
static uint64_t behind_system_call(const void *function)
{
	const uint8_t *code = function;

	for (size_t i = 0; i < 256; i++)
		if (code[i] == 0x0f && code[i + 1] == 0x05)
			return (uint64_t)(uintptr_t)(code + i + 2);
	fail_msg("no system call there");
	return 0;
}

static void test_system_calls(void **state)
{
	struct process_maps maps = PROCESS_MAPS_INIT;
	struct code_process p = { .pid = getpid(), .maps = &maps };
	uint64_t pc = behind_system_call(of_libc("read"));
	const char *libc;

	(void)state;
	assert_place(&p, pc, true, CODE_SYSCALL, "read");
	libc = process_maps_name(&maps, process_maps_find(&maps, pc));
	assert_place(&p, pc, true, CODE_SYSCALL, "read"); /* remembered */
	assert_place(&p, pc, false, CODE_NATIVE, libc);
	assert_place(&p, pc + 1, true, CODE_FAULT, libc);
	assert_place(&p, behind_system_call(of_libc("madvise")), true, CODE_SYSCALL, "madvise");
	code_process_forget(&p);
	assert_null(p.entries);
	assert_place(&p, pc, true, CODE_SYSCALL, "read");
	p.pid = INT_MAX; /* gone: its files still tell */
	code_process_forget(&p);
	assert_place(&p, pc, true, CODE_SYSCALL, "read");
	code_process_forget(&p);
	process_maps_release(&maps);
}

/* Code of no file has no functions. */
static void test_system_calls_of_no_file(void **state)
{
	struct process_maps maps = PROCESS_MAPS_INIT;
	struct code_process p = { .pid = getpid(), .maps = &maps };
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(code, MAP_FAILED);
	memcpy(code + 8, "\x0f\x05", 2);
	assert_int_equal(mprotect(code, 4096, PROT_READ | PROT_EXEC), 0);
	assert_place(&p, (uint64_t)(uintptr_t)code + 10, true, CODE_SYSCALL, "jit+?");
	assert_place(&p, (uint64_t)(uintptr_t)code, true, CODE_FAULT, "jit");
	code_process_forget(&p);
	process_maps_release(&maps);
	munmap(code, 4096);
}
#endif

/* ---- Samples ----------------------------------------------------------------- */

struct sample_record {
	struct perf_event_header head;
	uint64_t ip, time, abi, pc;
};

/* What the kernel and we share, as the kernel would have written it. */
struct fake_ring {
	union {
		struct perf_event_mmap_page page;
		uint8_t bytes[4096];
	} first;
	uint8_t data[4096];
};

static void put(struct fake_ring *ring, const void *record, size_t size)
{
	for (size_t i = 0; i < size; i++)
		ring->data[(ring->first.page.data_head + i) % sizeof ring->data] = ((const uint8_t *)record)[i];
	ring->first.page.data_head += size;
}

static void put_sample(struct fake_ring *ring, uint16_t mode, uint64_t time, uint64_t pc)
{
	const struct sample_record record = {
		{ PERF_RECORD_SAMPLE, mode, sizeof record }, 77, time, PERF_SAMPLE_REGS_ABI_64, pc
	};

	put(ring, &record, sizeof record);
}

static struct cpu_sampler of_ring(struct fake_ring *ring)
{
	return (struct cpu_sampler){ .fd = -1, .page = ring, .ring = sizeof ring->first, .size = sizeof *ring };
}

static void test_ring(void **state)
{
	static struct fake_ring ring;
	struct cpu_sampler s = of_ring(&ring);
	struct cpu_sample sample;

	(void)state;
	ring.first.page.data_head = ring.first.page.data_tail = 4096 * 3 - 16; /* the first one lies around the end */
	assert_false(cpu_sampler_peek(&s, &sample));
	cpu_sampler_drop(&s);
	put_sample(&ring, PERF_RECORD_MISC_USER, 1000, 0x1234);
	put_sample(&ring, PERF_RECORD_MISC_KERNEL, 2000, 0x5678);
	for (int i = 0; i < 2; i++) { /* it stays */
		assert_true(cpu_sampler_peek(&s, &sample));
		assert_int_equal(sample.time_ns, 1000);
		assert_int_equal(sample.pc, 0x1234);
		assert_false(sample.kernel);
	}
	cpu_sampler_drop(&s);
	assert_true(cpu_sampler_peek(&s, &sample));
	assert_int_equal(sample.time_ns, 2000);
	assert_int_equal(sample.pc, 0x5678);
	assert_true(sample.kernel);
	cpu_sampler_drop(&s);
	assert_false(cpu_sampler_peek(&s, &sample));
	assert_int_equal(ring.first.page.data_tail, ring.first.page.data_head);
}

/* Of a processor: with the ids of process and thread, and without a last word for a thread that has no place outside of the kernel. */
static void test_ring_of_a_processor(void **state)
{
	static struct fake_ring ring;
	struct cpu_sampler s = of_ring(&ring);
	struct {
		struct perf_event_header head;
		uint64_t ip;
		uint32_t pid, tid;
		uint64_t time, abi, pc;
	} record = { { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof record }, 77, 10, 11, 1000, PERF_SAMPLE_REGS_ABI_64, 0x1234 };
	struct cpu_sample sample;

	(void)state;
	s.has_tid = true;
	put(&ring, &record, sizeof record);
	record.head.misc = PERF_RECORD_MISC_KERNEL;
	record.head.size = sizeof record - sizeof record.pc;
	record.tid = 12;
	record.abi = PERF_SAMPLE_REGS_ABI_NONE;
	put(&ring, &record, record.head.size);
	assert_true(cpu_sampler_peek(&s, &sample));
	assert_int_equal(sample.tid, 11);
	assert_int_equal(sample.time_ns, 1000);
	assert_int_equal(sample.pc, 0x1234);
	assert_false(sample.kernel);
	cpu_sampler_drop(&s);
	assert_true(cpu_sampler_peek(&s, &sample));
	assert_int_equal(sample.tid, 12);
	assert_int_equal(sample.pc, 0);
	assert_true(sample.kernel);
	cpu_sampler_drop(&s);
	assert_false(cpu_sampler_peek(&s, &sample));
}

static void test_ring_of_other_things(void **state)
{
	static struct fake_ring ring;
	struct cpu_sampler s = of_ring(&ring);
	const struct {
		struct perf_event_header head;
		uint64_t id, lost;
	} lost = { { PERF_RECORD_LOST, 0, sizeof lost }, 1, 17 };
	const struct perf_event_header throttle = { PERF_RECORD_THROTTLE, 0, sizeof throttle }, nonsense = { 9, 0, 4 };
	struct cpu_sample sample;

	(void)state;
	put(&ring, &throttle, sizeof throttle);
	put(&ring, &lost, sizeof lost);
	put_sample(&ring, PERF_RECORD_MISC_USER, 5, 6);
	assert_true(cpu_sampler_peek(&s, &sample));
	assert_int_equal(sample.time_ns, 5);
	assert_int_equal(s.lost, 17);
	cpu_sampler_drop(&s);
	put(&ring, &nonsense, sizeof nonsense);
	put_sample(&ring, PERF_RECORD_MISC_USER, 7, 8);
	assert_false(cpu_sampler_peek(&s, &sample)); /* where the next one begins is not known */
	put_sample(&ring, PERF_RECORD_MISC_USER, 9, 10);
	assert_true(cpu_sampler_peek(&s, &sample));
	assert_int_equal(sample.time_ns, 9);
}

static void test_full_ring(void **state)
{
	static struct fake_ring ring;
	struct cpu_sampler s = of_ring(&ring);

	(void)state;
	for (int i = 0; i < 76; i++)
		put_sample(&ring, PERF_RECORD_MISC_USER, 1, 2);
	assert_false(cpu_sampler_is_full(&s));
	put_sample(&ring, PERF_RECORD_MISC_USER, 1, 2);
	assert_true(cpu_sampler_is_full(&s));
}

static uint64_t spin(uint64_t ns)
{
	struct timespec ts;
	uint64_t begin, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	begin = now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	while (now - begin < ns) {
		for (volatile int i = 0; i < 20000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
		now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	}
	return now - begin;
}

static int64_t monotonic_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* One sample in each period of processor time, in order, between the readings of the clock around them. */
static void test_own_samples(void **state)
{
	struct cpu_sampler s = CPU_SAMPLER_INIT;
	struct cpu_sample sample;
	int64_t begin = monotonic_now(), last = begin;
	uint64_t count = 0, used;

	(void)state;
	if (cpu_sampler_open(&s, 0, CLOCK_MONOTONIC, CPU_SAMPLER_USER) != 0)
		skip(); /* this machine does not let us */
	used = spin(300000000);
	for (; cpu_sampler_peek(&s, &sample); cpu_sampler_drop(&s), count++) {
		assert_true(sample.time_ns >= last && !sample.kernel && sample.pc != 0);
		last = sample.time_ns;
	}
	assert_true(last <= monotonic_now());
	assert_in_range(count, used / CPU_SAMPLER_PERIOD_NS * 7 / 10, used / CPU_SAMPLER_PERIOD_NS + 2);
	cpu_sampler_close(&s);
	assert_int_equal(s.fd, -1);
	assert_false(cpu_sampler_peek(&s, &sample));
	cpu_sampler_close(&s);
}

static void test_no_sampler(void **state)
{
	struct cpu_sampler s = CPU_SAMPLER_INIT;

	(void)state;
	assert_int_equal(cpu_sampler_open(&s, 0, CLOCK_MONOTONIC, CPU_SAMPLER_NONE), -ENOSYS);
	assert_true(cpu_sampler_open(&s, INT_MAX, CLOCK_MONOTONIC, CPU_SAMPLER_USER) < 0);
	assert_int_equal(s.fd, -1);
	assert_null(s.page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_deleted_and_repeated_paths),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_functions_of_nonsense),
#if defined(__x86_64__)
		cmocka_unit_test(test_system_calls),
		cmocka_unit_test(test_system_calls_of_no_file),
#endif
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_ring_of_a_processor),
		cmocka_unit_test(test_ring_of_other_things),
		cmocka_unit_test(test_full_ring),
		cmocka_unit_test(test_own_samples),
		cmocka_unit_test(test_no_sampler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
