#include "system/cpu_sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__aarch64__)
#include <asm/perf_regs.h>
#endif

#if defined(__x86_64__)
#define PC_MASK (UINT64_C(1) << PERF_REG_X86_IP)
#elif defined(__aarch64__)
#define PC_MASK (UINT64_C(1) << PERF_REG_ARM64_PC)
#else
#define PC_MASK 0
#endif

#define RING_SIZE 16384u           /* bytes, a power of two: two seconds of samples */
#define PROCESSOR_RING_SIZE 65536u /* six */

/* A record of the kernel's, as open_event() asks for it; with the ids of process and thread after the first word where that has been
 * asked for too. */
struct record {
	struct perf_event_header head;
	uint64_t ip, time, abi, pc;
};
struct lost_record {
	struct perf_event_header head;
	uint64_t id, lost;
};

/* ---- Beginning and end ------------------------------------------------------- */

/* Of a thread wherever it runs, or with tid -1 of whoever runs on a processor. */
static int open_event(pid_t tid, int processor, clockid_t clock, enum cpu_sampler_reach reach)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof attr,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = CPU_SAMPLER_PERIOD_NS,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER,
		.sample_regs_user = PC_MASK,
		.exclude_kernel = reach != CPU_SAMPLER_KERNEL,
		.exclude_hv = 1,
		.exclude_idle = 1,
		.use_clockid = 1,
		.clockid = clock,
		.watermark = 1,
		.wakeup_watermark = UINT32_MAX, /* nobody waits for it */
	};
	int fd;

	if (tid < 0)
		attr.sample_type |= PERF_SAMPLE_TID;
	fd = (int)syscall(SYS_perf_event_open, &attr, tid, processor, -1, (unsigned long)PERF_FLAG_FD_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}

/* How much memory a user may lock in this way is limited: less is better than none. */
static int map_ring(struct cpu_sampler *s, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t pages = page < size ? size / page : 1; pages >= 1; pages /= 2) {
		void *memory = mmap(NULL, (1 + pages) * page, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);

		if (memory == MAP_FAILED)
			continue;
		s->page = memory;
		s->ring = page;
		s->size = (1 + pages) * page;
		return 0;
	}
	return -errno;
}

static int open_ring(struct cpu_sampler *sampler, struct cpu_sampler fresh, size_t size)
{
	int rc;

	if (fresh.fd < 0)
		return fresh.fd;
	rc = map_ring(&fresh, size);
	if (rc != 0) {
		close(fresh.fd);
		return rc;
	}
	*sampler = fresh;
	return 0;
}

int cpu_sampler_open(struct cpu_sampler *sampler, pid_t tid, clockid_t clock, enum cpu_sampler_reach reach)
{
	struct cpu_sampler fresh = CPU_SAMPLER_INIT;

	if (reach == CPU_SAMPLER_NONE || !PC_MASK)
		return -ENOSYS;
	fresh.fd = open_event(tid, -1, clock, reach);
	return open_ring(sampler, fresh, RING_SIZE);
}

int cpu_sampler_open_processor(struct cpu_sampler *sampler, uint32_t processor, clockid_t clock)
{
	struct cpu_sampler fresh = CPU_SAMPLER_INIT;

	if (!PC_MASK)
		return -ENOSYS;
	fresh.has_tid = true;
	fresh.fd = open_event(-1, (int)processor, clock, CPU_SAMPLER_KERNEL);
	return open_ring(sampler, fresh, PROCESSOR_RING_SIZE);
}

void cpu_sampler_close(struct cpu_sampler *sampler)
{
	if (sampler->page)
		munmap(sampler->page, sampler->size);
	if (sampler->fd >= 0)
		close(sampler->fd);
	*sampler = (struct cpu_sampler)CPU_SAMPLER_INIT;
}

void cpu_sampler_set_period(struct cpu_sampler *sampler, uint64_t period_ns)
{
	if (sampler->period_ns != period_ns && ioctl(sampler->fd, PERF_EVENT_IOC_PERIOD, &period_ns) == 0)
		sampler->period_ns = period_ns;
}

/* ---- The ring ---------------------------------------------------------------- */

static uint64_t filled(const struct cpu_sampler *s)
{
	const struct perf_event_mmap_page *page = s->page;

	return page ? __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE) - page->data_tail : 0;
}

static uint64_t capacity(const struct cpu_sampler *s)
{
	return s->size - s->ring;
}

bool cpu_sampler_is_full(const struct cpu_sampler *s)
{
	return filled(s) > capacity(s) / 4 * 3;
}

/* The front of what the ring holds, around its end. */
static void copy(const struct cpu_sampler *s, void *data, size_t size)
{
	const struct perf_event_mmap_page *page = s->page;
	uint64_t room = capacity(s), at = page->data_tail % room;
	const char *ring = (const char *)s->page + s->ring;
	size_t first = size < room - at ? size : (size_t)(room - at);

	memcpy(data, ring + at, first);
	memcpy((char *)data + first, ring, size - first);
}

static void skip(struct cpu_sampler *s, uint64_t size)
{
	struct perf_event_mmap_page *page = s->page;

	__atomic_store_n(&page->data_tail, page->data_tail + size, __ATOMIC_RELEASE);
}

static void count_lost(struct cpu_sampler *s)
{
	struct lost_record record;

	copy(s, &record, sizeof record);
	s->lost += record.lost;
}

static size_t ids_size(const struct cpu_sampler *s)
{
	return s->has_tid ? 2 * sizeof(uint32_t) : 0;
}

/* Steps over what is no sample.  The size of the sample, 0: there is none. */
static size_t find_sample(struct cpu_sampler *s)
{
	struct perf_event_header head;
	uint64_t size;

	while ((size = filled(s)) >= sizeof head) {
		copy(s, &head, sizeof head);
		if (head.size < sizeof head || head.size > size || size > capacity(s)) {
			skip(s, size); /* not the kernel's */
			return 0;
		}
		if (head.type == PERF_RECORD_SAMPLE && head.size >= sizeof(struct record) - sizeof(uint64_t) + ids_size(s))
			return head.size;
		if (head.type == PERF_RECORD_LOST && head.size >= sizeof(struct lost_record))
			count_lost(s);
		skip(s, head.size);
	}
	return 0;
}

/* The record without the ids, and the thread that they tell.  There is no last word where a thread has no place outside of the kernel. */
static pid_t read_record(const struct cpu_sampler *s, size_t size, struct record *ret)
{
	const size_t before = sizeof ret->head + sizeof ret->ip, ids = ids_size(s);
	uint32_t words[sizeof *ret / sizeof(uint32_t) + 2] = { 0 };
	uint32_t tid;

	copy(s, words, size < sizeof *ret + ids ? size : sizeof *ret + ids);
	memcpy(ret, words, before);
	memcpy((char *)ret + before, (char *)words + before + ids, sizeof *ret - before);
	memcpy(&tid, (char *)words + before + sizeof tid, sizeof tid);
	return s->has_tid ? (pid_t)tid : 0;
}

bool cpu_sampler_peek(struct cpu_sampler *s, struct cpu_sample *ret)
{
	size_t size = find_sample(s);
	struct record record;
	bool kernel;

	if (!size)
		return false;
	ret->tid = read_record(s, size, &record);
	kernel = (record.head.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER;
	ret->time_ns = (int64_t)record.time;
	ret->kernel = kernel;
	ret->pc = record.abi != PERF_SAMPLE_REGS_ABI_NONE ? record.pc : kernel ? 0 : record.ip;
	return true;
}

void cpu_sampler_drop(struct cpu_sampler *s)
{
	skip(s, find_sample(s));
}
