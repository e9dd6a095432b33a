/* doctor_checks.c - one function for each thing `inferscope doctor` looks at. */
#include "cmd/doctor.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "cmd/install_path.h"
#include "cmd/python_path.h"
#include "record/session.h"
#include "system/gpu_probe.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define SAY(finding, ...) snprintf((finding)->detail, sizeof((finding)->detail), __VA_ARGS__)

/* The first line of a small file, or what follows `label` and a colon in it. */
static bool read_line(const char *path, const char *label, char *out, size_t size)
{
	struct buffer text = BUFFER_INIT;
	char *at = NULL;

	if (file_read_whole(path, 1 << 20, &text) == 0 && buffer_append(&text, "", 1) == 0)
		at = label ? strstr((char *)text.data, label) : (char *)text.data;
	if (at && label && (at = strchr(at, ':')))
		at += 1 + strspn(at + 1, " \t");
	if (at)
		snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
	buffer_release(&text);
	return at != NULL;
}

static void check_cpu(struct doctor_finding *f)
{
	char model[128];

	if (!read_line("/proc/cpuinfo", "model name", model, sizeof model)) {
		struct utsname u;

		snprintf(model, sizeof model, "%s", uname(&u) == 0 ? u.machine : "unknown");
	}
	SAY(f, "%s, %ld online", model, sysconf(_SC_NPROCESSORS_ONLN));
}

/* Nanoseconds a reading of the clock takes, the best of a few rounds. */
static double reading_cost(enum clock_source source)
{
	enum { ROUNDS = 20, READINGS = 1000 };
	uint64_t begin, took, best = UINT64_MAX;
	volatile uint64_t ticks;
	int round, i;

	for (round = 0; round < ROUNDS; round++) {
		begin = clock_ticks_slow(CLOCK_SOURCE_MONOTONIC);
		for (i = 0; i < READINGS; i++)
			ticks = clock_ticks(source);
		took = clock_ticks_slow(CLOCK_SOURCE_MONOTONIC) - begin;
		best = took < best ? took : best;
	}
	(void)ticks;
	return (double)best / READINGS;
}

static void check_clock(struct doctor_finding *f)
{
	const char *why = "";
	enum clock_source source = clock_source_best(&why);

	SAY(f, "%s, %.1f ns a reading%s%s", clock_source_name(source), reading_cost(source), why[0] ? "; " : "", why);
	if (why[0]) {
		f->status = DOCTOR_LIMITED;
		f->cost = "every event costs a call of clock_gettime() instead of one instruction";
	}
}

static void check_kernel(struct doctor_finding *f)
{
	struct utsname u;

	if (uname(&u) == 0)
		SAY(f, "%s %s, %s", u.sysname, u.release, u.machine);
}

static void check_populate(struct doctor_finding *f)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *map = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map != MAP_FAILED && madvise(map, page, MADV_POPULATE_WRITE) == 0) {
		SAY(f, "available");
	} else {
		SAY(f, "not available (Linux 5.14 has it)");
		f->status = DOCTOR_LIMITED;
		f->cost = "each new chunk of ring memory costs its thread three more system calls";
	}
	if (map != MAP_FAILED)
		munmap(map, page);
}

static void check_rseq(struct doctor_finding *f)
{
	const unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");

	if (size && *size > 0) {
		SAY(f, "registered by the C library");
		return;
	}
	SAY(f, size ? "switched off (GLIBC_TUNABLES, or the kernel)" : "not in the C library (glibc 2.35 has it)");
	f->status = DOCTOR_LIMITED;
	f->cost = "events do not say on which CPU they happened";
}

static void check_session(struct doctor_finding *f)
{
	struct session_place places[8];
	size_t i, used = 0, count = session_places(places, 8);

	for (i = 0; i < count && used < sizeof f->detail; i++)
		used += (size_t)snprintf(f->detail + used, sizeof f->detail - used, "%s%s (%llu MB free)",
					 i ? ", then " : "", places[i].path,
					 (unsigned long long)(places[i].free_bytes >> 20));
	if (count == 0) {
		SAY(f, "neither XDG_RUNTIME_DIR nor /dev/shm nor TMPDIR can be written");
		f->status = DOCTOR_MISSING;
		f->cost = "nothing can be recorded; set TMPDIR to a folder that can be written";
	} else if (places[0].free_bytes < 64u << 20) {
		f->status = DOCTOR_LIMITED;
		f->cost = "buffers are smaller than asked for, and bursts of events may be lost";
	}
}

static void check_runtime(struct doctor_finding *f)
{
	char *path = install_path_runtime();

	if (path) {
		SAY(f, "%s", path);
	} else {
		SAY(f, "libinferscope-rt.so is not beside this program, nor in its lib folder");
		f->status = DOCTOR_MISSING;
		f->cost = "programs run, but their scopes are not recorded; install InferScope again";
	}
	free(path);
}

#define EXTENSION "_tracer."

static int is_extension(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return strncmp(entry->d_name, EXTENSION, strlen(EXTENSION)) == 0 && n > 3 && strcmp(entry->d_name + n - 3, ".so") == 0;
}

/* "_tracer.cpython-311-x86_64-linux-gnu.so" is for CPython 3.11, "...-313t-..." for a free-threaded 3.13. */
static void say_version(struct doctor_finding *f, const char *name)
{
	size_t used = strlen(f->detail), rest = sizeof f->detail - used;
	const char *comma = used ? ", " : "CPython ";
	int major, n = 0;
	char minor[8];

	if (sscanf(name, EXTENSION "cpython-%1d%7[0-9a-z]%n", &major, minor, &n) == 2 && n > 0)
		snprintf(f->detail + used, rest, "%s%d.%s", comma, major, minor);
	else
		snprintf(f->detail + used, rest, "%s%.*s", comma, (int)strcspn(name + strlen(EXTENSION), "."),
			 name + strlen(EXTENSION));
}

/* The package is the folder above the door. */
static void say_versions(struct doctor_finding *f, char *door)
{
	struct dirent **list;
	char *slash = strrchr(door, '/');
	int n, i;

	if (slash)
		*slash = '\0';
	n = scandir(door, &list, is_extension, versionsort);
	for (i = 0; i < n; i++) {
		say_version(f, list[i]->d_name);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

static void say_interpreter(struct doctor_finding *f)
{
	char *path = python_path();
	size_t used = strlen(f->detail);

	if (path)
		snprintf(f->detail + used, sizeof f->detail - used, "; scripts run under %s", path);
	free(path);
}

static void check_python(struct doctor_finding *f)
{
	char *door = install_path_door();

	f->cost = "Python runs, but its calls are not recorded; install InferScope's Python package";
	f->status = DOCTOR_MISSING;
	if (door)
		say_versions(f, door);
	if (f->detail[0]) {
		say_interpreter(f);
		f->cost = NULL;
		f->status = DOCTOR_OK;
	} else if (door) {
		SAY(f, "no extension for any Python in %s", door);
	} else {
		SAY(f, "no Python package beside this program or in its lib folder, or others can write to it");
	}
	free(door);
}

static void check_perf(struct doctor_finding *f)
{
	char level[32];

	if (!read_line("/proc/sys/kernel/perf_event_paranoid", NULL, level, sizeof level)) {
		SAY(f, "the kernel has no performance events");
		f->status = DOCTOR_MISSING;
	} else {
		SAY(f, "perf_event_paranoid is %s", level);
		if (atoi(level) > 2 && geteuid() != 0)
			f->status = DOCTOR_LIMITED;
	}
	if (f->status != DOCTOR_OK)
		f->cost = "no hardware counters and no samples of call stacks by the kernel";
}

static void check_btf(struct doctor_finding *f)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK) == 0) {
		SAY(f, "/sys/kernel/btf/vmlinux");
		return;
	}
	SAY(f, "no /sys/kernel/btf/vmlinux");
	f->status = DOCTOR_MISSING;
	f->cost = "no eBPF programs: waiting is sampled instead of exact";
}

static void check_library(struct doctor_finding *f, const char *const *names, const char *cost)
{
	size_t i;

	for (i = 0; names[i]; i++)
		if (dlopen(names[i], RTLD_LAZY | RTLD_LOCAL)) { /* stays open: not all of them survive being closed */
			SAY(f, "%s", names[i]);
			return;
		}
	SAY(f, "%s is not found", names[0]);
	f->status = DOCTOR_MISSING;
	f->cost = cost;
}

static void check_driver(struct doctor_finding *f)
{
	struct gpu_driver driver;

	gpu_driver_look(&driver, "");
	if (driver.there) {
		SAY(f, "NVIDIA %s", driver.version[0] ? driver.version : "(it does not tell its version)");
		return;
	}
	SAY(f, "no NVIDIA driver");
	f->status = DOCTOR_MISSING;
	f->cost = "programs cannot use CUDA, and are analyzed as far as they use the CPU";
}

static void check_cupti(struct doctor_finding *f)
{
	struct gpu_cupti cupti;

	gpu_cupti_try(&cupti);
	SAY(f, "%s", cupti.there ? cupti.library : cupti.error);
	if (cupti.there)
		return;
	f->status = DOCTOR_MISSING;
	f->cost = "CUDA kernels and copies cannot be seen; it comes with the CUDA toolkit";
}

static void check_nvml(struct doctor_finding *f)
{
	static const char *const names[] = { "libnvidia-ml.so.1", "libnvidia-ml.so", NULL };

	check_library(f, names, "no utilisation, memory and power of NVIDIA GPUs; it comes with the driver");
}

static void check_opencl(struct doctor_finding *f)
{
	static const char *const names[] = { "libOpenCL.so.1", "libOpenCL.so", NULL };

	check_library(f, names, "OpenCL commands cannot be seen; it comes with an ICD loader (ocl-icd-libopencl1)");
}

const struct doctor_check doctor_checks[] = {
	{ "cpu", check_cpu },
	{ "clock", check_clock },
	{ "kernel", check_kernel },
	{ "runtime", check_runtime },
	{ "python", check_python },
	{ "sessions", check_session },
	{ "populate", check_populate },
	{ "rseq", check_rseq },
	{ "perf", check_perf },
	{ "btf", check_btf },
	{ "driver", check_driver },
	{ "cupti", check_cupti },
	{ "nvml", check_nvml },
	{ "opencl", check_opencl },
	{ NULL, NULL },
};
