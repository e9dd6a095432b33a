/* nvml.c - see nvml.h. */
#include "system/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libnvidia-ml.so.1"

/* What its functions return. */
enum { OK = 0, NOT_SUPPORTED = 3, NO_PERMISSION = 4, GPU_LOST = 15 };
#define NOT_AVAILABLE UINT64_MAX /* of a process's memory */

/* Its structs, as all releases since 12.0 have them. */
struct memory {
	uint64_t total, free, used;
};
struct memory_v2 {
	uint32_t version;
	uint64_t total, reserved, free, used;
};
struct utilization {
	uint32_t gpu, memory;
};
struct process {
	uint32_t pid;
	uint64_t used;
	uint32_t gpu_instance, compute_instance;
};
struct temperature {
	uint32_t version;
	int32_t sensor, degrees;
};
#define VERSION_OF(type, number) (uint32_t)(sizeof(type) | (number) << 24)
_Static_assert(sizeof(struct memory) == 24 && sizeof(struct memory_v2) == 40 && sizeof(struct process) == 24 &&
		       sizeof(struct temperature) == 12,
	       "as the library has them");

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2 };

/* Its functions; all but those of `needed` may be NULL. */
struct functions {
	int (*init)(void);
	int (*shutdown)(void);
	int (*count)(unsigned *count);
	int (*handle)(unsigned index, void **device);
	int (*uuid)(void *device, char *text, unsigned size);
	int (*name)(void *device, char *text, unsigned size);
	int (*memory)(void *device, struct memory *memory);
	int (*memory_v2)(void *device, struct memory_v2 *memory);
	int (*utilization)(void *device, struct utilization *rates);
	int (*processes)(void *device, unsigned *count, struct process *processes);
	int (*clock)(void *device, int type, unsigned *clock);
	int (*clock_limit)(void *device, int type, unsigned *clock);
	int (*reasons)(void *device, unsigned long long *reasons);
	int (*power)(void *device, unsigned *power);
	int (*power_limit)(void *device, unsigned *power);
	int (*energy)(void *device, unsigned long long *energy);
	int (*temperature)(void *device, int sensor, unsigned *degrees);
	int (*temperature_v)(void *device, struct temperature *temperature);
};

struct device {
	void *handle;
	char uuid[NVML_TEXT], name[NVML_TEXT];
};

struct nvml {
	struct functions f;
	void *library;
	uint32_t count;
	struct device devices[NVML_DEVICES];
};

/* ---- Names ------------------------------------------------------------------- */

static const struct {
	const char *name;
	bool limit;
} values[NVML_VALUE_COUNT] = {
	[NVML_MEMORY_USED] = { "memory_used_bytes", false },
	[NVML_MEMORY_TOTAL] = { "memory_total_bytes", true },
	[NVML_UTILIZATION] = { "utilization_percent", false },
	[NVML_MEMORY_UTILIZATION] = { "memory_utilization_percent", false },
	[NVML_SM_CLOCK] = { "sm_clock_mhz", false },
	[NVML_SM_CLOCK_LIMIT] = { "sm_clock_limit_mhz", true },
	[NVML_MEMORY_CLOCK] = { "memory_clock_mhz", false },
	[NVML_MEMORY_CLOCK_LIMIT] = { "memory_clock_limit_mhz", true },
	[NVML_CLOCK_REASONS] = { "clock_reasons", false },
	[NVML_POWER] = { "power_mw", false },
	[NVML_POWER_LIMIT] = { "power_limit_mw", true },
	[NVML_ENERGY] = { "energy_mj", false },
	[NVML_TEMPERATURE] = { "temperature_c", false },
};

const char *nvml_value_name(enum nvml_value value)
{
	return values[value].name;
}

bool nvml_value_is_limit(enum nvml_value value)
{
	return values[value].limit;
}

/* What can go wrong with a library or a GPU, in words; the library's own are of all sorts. */
static int explain(struct error *err, int rc, int code)
{
	static const struct {
		int code;
		const char *words;
	} list[] = {
		{ NOT_SUPPORTED, "it is not supported" },
		{ NO_PERMISSION, "there is no permission" },
		{ 9, "the driver is not loaded" },
		{ 12, "a library that it needs is missing" },
		{ GPU_LOST, "the GPU is lost" },
		{ 18, "the library and the driver are of different versions" },
	};

	for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
		if (list[i].code == code)
			return error_set(err, rc, "%s", list[i].words);
	return error_set(err, rc, "error %d of NVML", code);
}

/* ---- Opening ----------------------------------------------------------------- */

/* A function, by the newest of its names that the library has. */
struct row {
	size_t place;
	const char *names[2];
	bool needed;
};
#define ROW(field, ...) { offsetof(struct functions, field), { __VA_ARGS__ }, false }
#define NEEDED(field, name) { offsetof(struct functions, field), { name }, true }

static const struct row rows[] = {
	NEEDED(init, "nvmlInit_v2"),
	NEEDED(shutdown, "nvmlShutdown"),
	NEEDED(count, "nvmlDeviceGetCount_v2"),
	NEEDED(handle, "nvmlDeviceGetHandleByIndex_v2"),
	ROW(uuid, "nvmlDeviceGetUUID"),
	ROW(name, "nvmlDeviceGetName"),
	ROW(memory, "nvmlDeviceGetMemoryInfo"),
	ROW(memory_v2, "nvmlDeviceGetMemoryInfo_v2"),
	ROW(utilization, "nvmlDeviceGetUtilizationRates"),
	ROW(processes, "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"),
	ROW(clock, "nvmlDeviceGetClockInfo"),
	ROW(clock_limit, "nvmlDeviceGetMaxClockInfo"),
	ROW(reasons, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"),
	ROW(power, "nvmlDeviceGetPowerUsage"),
	ROW(power_limit, "nvmlDeviceGetEnforcedPowerLimit"),
	ROW(energy, "nvmlDeviceGetTotalEnergyConsumption"),
	ROW(temperature, "nvmlDeviceGetTemperature"),
	ROW(temperature_v, "nvmlDeviceGetTemperatureV"),
};

static int find_functions(struct functions *f, void *(*find)(void *arg, const char *name), void *arg, struct error *err)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		void *function = find(arg, rows[i].names[0]);

		if (!function && rows[i].names[1])
			function = find(arg, rows[i].names[1]);
		if (!function && rows[i].needed)
			return error_set(err, -ENOSYS, "%s has no %s", LIBRARY, rows[i].names[0]);
		memcpy((char *)f + rows[i].place, &function, sizeof function);
	}
	return 0;
}

static void make_printable(char text[NVML_TEXT])
{
	text[NVML_TEXT - 1] = '\0';
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

static void describe(const struct functions *f, struct device *d)
{
	if (!f->uuid || f->uuid(d->handle, d->uuid, NVML_TEXT) != OK)
		d->uuid[0] = '\0';
	if (!f->name || f->name(d->handle, d->name, NVML_TEXT) != OK)
		d->name[0] = '\0';
	make_printable(d->uuid);
	make_printable(d->name);
}

/* A GPU of which there is no handle, for lack of permission or because it is lost, keeps its number. */
static int find_devices(struct nvml *nvml, struct error *err)
{
	unsigned count = 0, found = 0;
	int code = nvml->f.count(&count), why = OK;

	if (code != OK)
		return explain(err, -ENODEV, code);
	nvml->count = count < NVML_DEVICES ? count : NVML_DEVICES;
	for (uint32_t i = 0; i < nvml->count; i++) {
		struct device *d = &nvml->devices[i];

		code = nvml->f.handle(i, &d->handle);
		if (code == OK && d->handle) {
			describe(&nvml->f, d);
			found++;
		} else {
			d->handle = NULL;
			why = code;
		}
	}
	if (found)
		return 0;
	return count ? explain(err, -ENODEV, why) : error_set(err, -ENODEV, "there is no GPU");
}

int nvml_open_with(struct nvml **ret, void *(*find)(void *arg, const char *name), void *arg, struct error *err)
{
	struct nvml *nvml = calloc(1, sizeof *nvml);
	int code, rc;

	if (!nvml)
		return error_set(err, -ENOMEM, "out of memory");
	rc = find_functions(&nvml->f, find, arg, err);
	if (rc == 0) {
		code = nvml->f.init();
		rc = code == OK ? 0 : explain(err, -ENODEV, code);
	}
	if (rc != 0) {
		free(nvml);
		return rc;
	}
	rc = find_devices(nvml, err);
	if (rc != 0) {
		nvml_close(nvml);
		return rc;
	}
	*ret = nvml;
	return 0;
}

static void *find_in(void *library, const char *name)
{
	return dlsym(library, name);
}

int nvml_open(struct nvml **ret, struct error *err)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	int rc;

	if (!library)
		return error_set(err, -ENOENT, "%s cannot be loaded", LIBRARY);
	rc = nvml_open_with(ret, find_in, library, err);
	if (rc != 0)
		dlclose(library);
	else
		(*ret)->library = library;
	return rc;
}

void nvml_close(struct nvml *nvml)
{
	void *library = nvml ? nvml->library : NULL;

	if (!nvml)
		return;
	(void)nvml->f.shutdown();
	free(nvml);
	if (library)
		dlclose(library);
}

uint32_t nvml_count(const struct nvml *nvml)
{
	return nvml->count;
}

const char *nvml_uuid(const struct nvml *nvml, uint32_t device)
{
	return nvml->devices[device].uuid;
}

const char *nvml_name(const struct nvml *nvml, uint32_t device)
{
	return nvml->devices[device].name;
}

/* ---- Looking ----------------------------------------------------------------- */

/* One GPU that is being asked; the worst answer so far. */
struct question {
	const struct functions *f;
	void *handle;
	struct nvml_look *look;
	int refused; /* NO_PERMISSION or GPU_LOST */
};

static bool is_answer(struct question *q, int code)
{
	if (code == GPU_LOST || (code == NO_PERMISSION && !q->refused))
		q->refused = code;
	return code == OK;
}

static void put(struct question *q, enum nvml_value value, uint64_t number)
{
	q->look->values[value] = number;
	q->look->present |= 1u << value;
}

static void ask_number(struct question *q, int (*ask)(void *device, unsigned *number), enum nvml_value value)
{
	unsigned number = 0;

	if (ask && is_answer(q, ask(q->handle, &number)))
		put(q, value, number);
}

static void ask_long(struct question *q, int (*ask)(void *device, unsigned long long *number), enum nvml_value value)
{
	unsigned long long number = 0;

	if (ask && is_answer(q, ask(q->handle, &number)))
		put(q, value, number);
}

static void ask_clock(struct question *q, int (*ask)(void *device, int type, unsigned *clock), int type, enum nvml_value value)
{
	unsigned clock = 0;

	if (ask && is_answer(q, ask(q->handle, type, &clock)))
		put(q, value, clock);
}

/* The older form counts what the driver keeps as used. */
static void ask_memory(struct question *q)
{
	struct memory_v2 v2 = { .version = VERSION_OF(struct memory_v2, 2) };
	struct memory v1 = { 0 };

	if (q->f->memory_v2 && is_answer(q, q->f->memory_v2(q->handle, &v2))) {
		put(q, NVML_MEMORY_USED, v2.used);
		put(q, NVML_MEMORY_TOTAL, v2.total);
	} else if (q->f->memory && is_answer(q, q->f->memory(q->handle, &v1))) {
		put(q, NVML_MEMORY_USED, v1.used);
		put(q, NVML_MEMORY_TOTAL, v1.total);
	}
}

static void ask_utilization(struct question *q)
{
	struct utilization rates = { 0 };

	if (!q->f->utilization || !is_answer(q, q->f->utilization(q->handle, &rates)))
		return;
	put(q, NVML_UTILIZATION, rates.gpu);
	put(q, NVML_MEMORY_UTILIZATION, rates.memory);
}

static void ask_temperature(struct question *q)
{
	struct temperature t = { .version = VERSION_OF(struct temperature, 1) };
	unsigned degrees = 0;

	if (q->f->temperature_v && is_answer(q, q->f->temperature_v(q->handle, &t)) && t.degrees >= 0)
		put(q, NVML_TEMPERATURE, (uint64_t)t.degrees);
	else if (q->f->temperature && is_answer(q, q->f->temperature(q->handle, 0, &degrees)))
		put(q, NVML_TEMPERATURE, degrees);
}

static void ask_processes(struct question *q)
{
	struct process found[NVML_PROCESSES];
	unsigned count = NVML_PROCESSES;

	memset(found, 0, sizeof found);
	if (!q->f->processes || !is_answer(q, q->f->processes(q->handle, &count, found)) || count > NVML_PROCESSES)
		return;
	q->look->processes_known = 1;
	q->look->process_count = count;
	for (unsigned i = 0; i < count; i++)
		q->look->processes[i] = (struct nvml_process){ found[i].pid, found[i].used != NOT_AVAILABLE, found[i].used };
}

int nvml_look(const struct nvml *nvml, uint32_t device, struct nvml_look *ret, struct error *err)
{
	const struct functions *f = &nvml->f;
	struct nvml_look look;
	struct question q = { .f = f, .look = &look };

	memset(&look, 0, sizeof look);
	q.handle = device < nvml->count ? nvml->devices[device].handle : NULL;
	if (!q.handle)
		return error_set(err, -ENODEV, "there is no access to it");
	ask_utilization(&q);
	ask_memory(&q);
	ask_clock(&q, f->clock, CLOCK_SM, NVML_SM_CLOCK);
	ask_clock(&q, f->clock, CLOCK_MEMORY, NVML_MEMORY_CLOCK);
	ask_clock(&q, f->clock_limit, CLOCK_SM, NVML_SM_CLOCK_LIMIT);
	ask_clock(&q, f->clock_limit, CLOCK_MEMORY, NVML_MEMORY_CLOCK_LIMIT);
	ask_long(&q, f->reasons, NVML_CLOCK_REASONS);
	ask_number(&q, f->power, NVML_POWER);
	ask_number(&q, f->power_limit, NVML_POWER_LIMIT);
	ask_long(&q, f->energy, NVML_ENERGY);
	ask_temperature(&q);
	ask_processes(&q);
	if (q.refused == GPU_LOST || (look.present == 0 && q.refused))
		return explain(err, -ENODEV, q.refused);
	if (look.present == 0)
		return error_set(err, -ENODATA, "it tells nothing");
	*ret = look;
	return 0;
}
