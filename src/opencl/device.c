/* device.c - what devices are called.  Their drivers say it, and are not trusted to keep it short or in one line. */
#include <stdio.h>
#include <string.h>

#include "opencl/opencl.h"

#define DEVICES 64u /* those beyond share the last number */
#define TEXT_MOST 120u

/* Where memory is told. */
struct place {
	bool there;
	struct gpu_stream stream;
};

struct device {
	cl_device_id id;
	struct place memory;
};

static struct devices {
	_Atomic uint32_t lock;
	struct device known[DEVICES];
	struct place process;
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

/* Memory of a context with several devices is where they need it, and moves: then it is no device's, and NULL. */
static cl_device_id only_one_of(cl_context context)
{
	cl_device_id id = NULL;
	size_t size = 0;

	if (opencl_next.clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &size) != CL_SUCCESS || size != sizeof id ||
	    opencl_next.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof id, &id, NULL) != CL_SUCCESS)
		return NULL;
	return id;
}

const struct gpu_stream *opencl_device_memory(struct runtime_thread *t, cl_context context, cl_device_id device)
{
	cl_device_id id = device ? device : only_one_of(context);
	struct place *place = id ? &devices->known[index_of(id)].memory : &devices->process;
	char text[NAME_MAX_BYTES];
	struct gpu_stream stream;

	if (!__atomic_load_n(&place->there, __ATOMIC_ACQUIRE)) {
		if (id)
			opencl_device_describe(text, sizeof text, id, "of=process");
		else
			strcpy(text, "process");
		gpu_stream_init(&stream, t, text);
		opencl_lock(&devices->lock);
		if (!place->there)
			place->stream = stream;
		__atomic_store_n(&place->there, true, __ATOMIC_RELEASE);
		opencl_unlock(&devices->lock);
	}
	return &place->stream;
}
