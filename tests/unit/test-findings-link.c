/* test-findings-link.c - what is said of the link that copies go over. */
#include "analysis-world.h"

#define US INT64_C(1000)

static struct world w;
static struct timeline_point points[4];

/* Copies of so many bytes in 1 ms, each before a kernel of 1 ms, and what the finding about them says last. */
static void tell(struct timeline_device device, uint8_t kind, uint64_t bytes, uint32_t point_count, char *ret, size_t size)
{
	uint32_t thread, stream, call, copies[8];
	const struct analysis_finding *f;
	struct analysis *a;

	world_open(&w);
	thread = world_thread(&w, 0);
	stream = world_stream(&w, 0);
	device.first_stream = w.devices[0].first_stream;
	device.stream_count = w.devices[0].stream_count;
	w.devices[0] = device;
	call = world_call(&w, thread, "cudaLaunchKernel", 0, 1 * US);
	for (int i = 0; i < 8; i++) {
		copies[i] = world_launched(&w, stream, kind, "copy", (10 + 2000 * i) * US, (1010 + 2000 * i) * US, call);
		world_launched(&w, stream, EVENT_GPU_KERNEL, "kernel", (1010 + 2000 * i) * US, (2010 + 2000 * i) * US, call);
	}
	for (uint32_t i = 0; i < point_count; i++) {
		points[i].track = world_track(&w, TRACK_DEVICE, TIMELINE_NONE, 0);
		points[i].kind = EVENT_COUNTER;
		points[i].name = world_name(&w, i % 2 ? "pcie_width" : "pcie_generation");
	}
	world_finish(&w);
	w.t.points = points;
	w.t.point_count = point_count;
	for (int i = 0; i < 8; i++)
		world_detail(&w, copies[i])->bytes = bytes;
	a = world_analyze(&w);
	assert_int_equal(a->findings.count, 1);
	f = &a->findings.list[0];
	assert_string_equal(f->kind, "gpu_transfer");
	assert_int_equal(f->evidence.count, bytes ? 2 : 1);
	snprintf(ret, size, "%s: %s", f->id, f->evidence.text[f->evidence.count - 1]);
	analysis_free(a);
	world_close(&w);
}

static void says(struct timeline_device device, uint8_t kind, uint64_t bytes, uint32_t point_count, const char *expected)
{
	char text[512];

	tell(device, kind, bytes, point_count, text, sizeof text);
	assert_string_equal(text, expected);
}

static const struct timeline_device a100 = { .kind = 1, .compute_major = 8 }, h100 = { .kind = 1, .compute_major = 9 },
				    v100 = { .kind = 1, .compute_major = 7 }, unknown = { .kind = 1 }, amd = { .kind = 3 };

static void by_compute_capability(void **state)
{
	(void)state;
	says(a100, EVENT_H2D_COPY, 24000000, 0,
	     "gpu_transfer:link: large copies to the device reach 24.0 GB/s, 76 % of PCIe 4.0 x16 (31.5 GB/s), which devices of this generation have "
	     "at most");
	says(h100, EVENT_D2H_COPY, 24000000, 0,
	     "gpu_transfer:copies: large copies from the device reach 24.0 GB/s, 38 % of PCIe 5.0 x16 (63.0 GB/s), which devices of this generation "
	     "have at most");
	says(v100, EVENT_H2D_COPY, 12000000, 0,
	     "gpu_transfer:link: large copies to the device reach 12.0 GB/s, 76 % of PCIe 3.0 x16 (15.8 GB/s), which devices of this generation have "
	     "at most");
}

static void another_link(void **state)
{
	(void)state;
	says(h100, EVENT_H2D_COPY, 300000000, 0,
	     "gpu_transfer:copies: large copies to the device reach 300.0 GB/s, more than PCIe 5.0 x16 carries (63.0 GB/s): another link, such as "
	     "NVLink");
	says(unknown, EVENT_H2D_COPY, 300000000, 0,
	     "gpu_transfer:copies: large copies to the device reach 300.0 GB/s, more than PCI Express carries: another link, such as NVLink");
}

static void nobody_says_which(void **state)
{
	(void)state;
	says(unknown, EVENT_H2D_COPY, 24000000, 0,
	     "gpu_transfer:copies: large copies to the device reach 24.0 GB/s, about the rate of PCIe 4.0 x16 (31.5 GB/s); which link it is the trace "
	     "does not tell");
	says(amd, EVENT_H2D_COPY, 5000000, 0,
	     "gpu_transfer:copies: large copies to the device reach 5.0 GB/s, within the rate of PCIe 3.0 x16 (15.8 GB/s); which link it is the trace "
	     "does not tell");
}

/* Readings of an idle link, which is a slow one, and of a busy one. */
static void the_driver_says_which(void **state)
{
	(void)state;
	points[0].value = 1;
	points[1].value = 8;
	points[2].value = 4;
	points[3].value = 8;
	says(a100, EVENT_H2D_COPY, 15000000, 4,
	     "gpu_transfer:link: large copies to the device reach 15.0 GB/s, 95 % of PCIe 4.0 x8 (15.8 GB/s), which the device has");
	points[2].value = 200; /* no such generation: what devices of its kind have counts */
	says(a100, EVENT_H2D_COPY, 15000000, 4,
	     "gpu_transfer:copies: large copies to the device reach 15.0 GB/s, 48 % of PCIe 4.0 x16 (31.5 GB/s), which devices of this generation have "
	     "at most");
}

static void small_copies(void **state)
{
	char text[512];

	(void)state;
	says(a100, EVENT_H2D_COPY, 500000, 0,
	     "gpu_transfer:copies: copies to the device run at 0.50 GB/s; none has a megabyte, so that this is no measure of the link");
	tell(a100, EVENT_H2D_COPY, 0, 0, text, sizeof text); /* how many bytes is not known */
	assert_null(strstr(text, "GB/s"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_compute_capability),
		cmocka_unit_test(another_link),
		cmocka_unit_test(nobody_says_which),
		cmocka_unit_test(the_driver_says_which),
		cmocka_unit_test(small_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
