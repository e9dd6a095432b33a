/* test-gpu-probe.c - what files tell about a driver, and which libraries are CUDA's. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/gpu_watch.h"

static void assert_version(const char *text, const char *expected)
{
	char out[16];

	gpu_driver_version(out, sizeof out, text);
	assert_string_equal(out, expected);
}

static void versions(void **state)
{
	(void)state;
	assert_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version:  gcc 12.3.0\n",
		       "535.104.05");
	assert_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (root@host)\n", "580.65.06");
	assert_version("GCC version\n12.3.0\n", "");
	assert_version("", "");
	assert_version("   \n", "");
	assert_version("x 12 1.2x .5 3.", "3.");
	assert_version("1.2345678901234567890", "1.2345678901234"); /* cut */
}

static void put_file(const char *root, const char *path, const char *text)
{
	char whole[256];
	FILE *file;

	snprintf(whole, sizeof whole, "%s%s", root, path);
	for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)mkdir(whole, 0700);
		*at = '/';
	}
	file = fopen(whole, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void remove_file(const char *root, const char *path)
{
	char whole[256];

	snprintf(whole, sizeof whole, "%s%s", root, path);
	for (char *slash; strlen(whole) > strlen(root); *slash = '\0') {
		(void)remove(whole);
		slash = strrchr(whole, '/');
	}
}

static void drivers(void **state)
{
	char root[] = "/tmp/gpu-probe-XXXXXX";
	struct gpu_driver driver;

	(void)state;
	assert_non_null(mkdtemp(root));
	gpu_driver_look(&driver, root);
	assert_false(driver.there);
	put_file(root, "/dev/nvidiactl", "");
	gpu_driver_look(&driver, root);
	assert_true(driver.there);
	assert_string_equal(driver.version, "");
	put_file(root, "/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat\n");
	gpu_driver_look(&driver, root);
	assert_true(driver.there);
	assert_string_equal(driver.version, "535.104.05");
	remove_file(root, "/proc/driver/nvidia/version");
	remove_file(root, "/dev/nvidiactl");
	put_file(root, "/dev/dxg", "");
	gpu_driver_look(&driver, root);
	assert_false(driver.there); /* Windows has it for others, too */
	put_file(root, "/usr/lib/wsl/lib/libcuda.so.1", "");
	gpu_driver_look(&driver, root);
	assert_true(driver.there);
	remove_file(root, "/usr/lib/wsl/lib/libcuda.so.1");
	remove_file(root, "/dev/dxg");
	assert_int_equal(rmdir(root), 0);
}

static void libraries(void **state)
{
	(void)state;
	assert_string_equal(gpu_library_name("/usr/lib/libcuda.so.535.104.05"), "libcuda.so.535.104.05");
	assert_string_equal(gpu_library_name("/venv/nvidia/cuda_runtime/lib/libcudart.so.12"), "libcudart.so.12");
	assert_string_equal(gpu_library_name("libtorch_cuda_linalg.so"), "libtorch_cuda_linalg.so");
	assert_null(gpu_library_name("/opt/libcuda.so/libm.so.6"));
	assert_null(gpu_library_name("/usr/lib/libcudnn.so.9"));
	assert_null(gpu_library_name(""));
}

#define MAP "7f0000000000-7f0000001000 r-xp 00000000 08:01 42 "

static void lines(void **state)
{
	struct gpu_use use = { 0 };
	char line[512];

	(void)state;
	assert_false(gpu_use_line(&use, MAP "                  /usr/lib/libm.so.6\n"));
	assert_false(gpu_use_line(&use, MAP "\n"));
	assert_false(gpu_use_line(&use, ""));
	assert_false(gpu_use_line(&use, MAP " /usr/lib/libcupti.so.12\n"));
	assert_true(use.cupti_loaded);
	assert_false(use.used);
	assert_true(gpu_use_line(&use, MAP " /usr/lib/libcuda.so.1 (deleted)\n"));
	assert_true(gpu_use_line(&use, MAP " /usr/lib/libcuda.so.1\n"));
	assert_true(use.used);
	assert_int_equal(use.count, 1);
	assert_string_equal(use.libraries[0], "libcuda.so.1");
	assert_true(gpu_use_line(&use, MAP " /x/libcuda.so.\033[31m\xff\n")); /* what cannot be printed is left out */
	assert_string_equal(use.libraries[1], "libcuda.so.");
	for (int i = 0; i < 20; i++) {
		snprintf(line, sizeof line, MAP " /x/libcudart.so.%d\n", i);
		assert_true(gpu_use_line(&use, line));
	}
	assert_int_equal(use.count, GPU_LIBRARIES);
	snprintf(line, sizeof line, MAP " /x/libcudart.so.%0200d\n", 1);
	use.count = 0;
	assert_true(gpu_use_line(&use, line));
	assert_int_equal(use.count, 1);
	assert_int_equal(strlen(use.libraries[0]), sizeof use.libraries[0] - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions),
		cmocka_unit_test(drivers),
		cmocka_unit_test(libraries),
		cmocka_unit_test(lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
