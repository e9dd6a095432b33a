/* device.c - what devices are called.  Their drivers say it, and are not trusted to keep it short or in one line. */
#include <stdio.h>
#include <string.h>

#include "opencl/opencl.h"

#define DEVICES 64u /* those beyond share the last number */
#define TEXT_MOST 120u

struct device {
	cl_device_id id;
	bool has_memory;
	struct gpu_stream memory;
};

static struct devices {
	_Atomic uint32_t lock;
	struct device known[DEVICES];
} *devices;

bool opencl_device_map(void)
{
	if (!devices)
		devices = opencl_map(sizeof *devices);
	return devices != NULL;
}

/* In the order in which they are met; sub-devices count as their own. */
static uint32_t index_of(cl_device_id device)
{
	uint32_t i = 0;

	opencl_lock(&devices->lock);
	while (i < DEVICES - 1 && devices->known[i].id && devices->known[i].id != device)
		i++;
	devices->known[i].id = device;
	opencl_unlock(&devices->lock);
	return i;
}

static void add(char *text, size_t size, const char *key, const char *value)
{
	size_t used = strlen(text);

	if (used < size)
		snprintf(text + used, size - used, "\n%s=%s", key, value);
}

static void add_number(char *text, size_t size, cl_device_id device, cl_device_info what, const char *key)
{
	uint64_t value = 0;
	size_t got = 0;
	char digits[24];

	if (opencl_next.clGetDeviceInfo(device, what, sizeof value, &value, &got) != CL_SUCCESS || got > sizeof value)
		return;
	snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
	add(text, size, key, digits);
}

static void add_text(char *text, size_t size, cl_device_id device, cl_device_info what, const char *key)
{
	char value[1024] = "";
	size_t got = 0;

	if (opencl_next.clGetDeviceInfo(device, what, sizeof value - 1, value, &got) != CL_SUCCESS)
		return;
	value[sizeof value - 1] = '\0';
	value[strcspn(value, "\r\n")] = '\0';
	value[TEXT_MOST] = '\0';
	add(text, size, key, value);
}

void opencl_device_describe(char *text, size_t size, cl_device_id device, const char *stream)
{
	size_t used;

	snprintf(text, size, "kind=opencl\nindex=%u", index_of(device));
	add_text(text, size, device, CL_DEVICE_NAME, "name");
	add_text(text, size, device, CL_DEVICE_VENDOR, "vendor");
	add_text(text, size, device, CL_DRIVER_VERSION, "driver");
	add_number(text, size, device, CL_DEVICE_MAX_COMPUTE_UNITS, "numSms");
	add_number(text, size, device, CL_DEVICE_MAX_WORK_GROUP_SIZE, "maxThreadsPerBlock");
	add_number(text, size, device, CL_DEVICE_GLOBAL_MEM_SIZE, "totalGlobalMem");
	add_number(text, size, device, CL_DEVICE_MAX_CLOCK_FREQUENCY, "clockMHz");
	used = strlen(text);
	if (used < size)
		snprintf(text + used, size - used, "\n\n%s", stream);
}

static cl_device_id first_of(cl_context context)
{
	cl_device_id ids[DEVICES];
	size_t size = 0;

	if (opencl_next.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof ids, ids, &size) != CL_SUCCESS || size < sizeof ids[0])
		return NULL;
	return ids[0];
}

const struct gpu_stream *opencl_device_memory(struct runtime_thread *t, cl_context context)
{
	cl_device_id id = first_of(context);
	struct gpu_stream stream;
	struct device *device;
	char text[NAME_MAX_BYTES];

	if (!id)
		return NULL;
	device = &devices->known[index_of(id)];
	if (!__atomic_load_n(&device->has_memory, __ATOMIC_ACQUIRE)) {
		opencl_device_describe(text, sizeof text, id, "stream=0\nname=memory");
		gpu_stream_init(&stream, t, text);
		opencl_lock(&devices->lock);
		if (!device->has_memory)
			device->memory = stream;
		__atomic_store_n(&device->has_memory, true, __ATOMIC_RELEASE);
		opencl_unlock(&devices->lock);
	}
	return &device->memory;
}
