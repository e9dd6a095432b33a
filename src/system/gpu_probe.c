/* gpu_probe.c - see gpu_probe.h. */
#include "system/gpu_probe.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"

#define TRY_MS 5000 /* a library that takes longer to load is as good as none */

/* ---- The driver -------------------------------------------------------------- */

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 ...": the first number with a point in it. */
void gpu_driver_version(char *out, size_t size, const char *text)
{
	out[0] = '\0';
	for (const char *at = text; *at && *at != '\n'; at += strcspn(at, " \t\n")) {
		at += strspn(at, " \t");
		if (isdigit((unsigned char)*at) && strspn(at, "0123456789.") == strcspn(at, " \t\n") &&
		    memchr(at, '.', strcspn(at, " \t\n"))) {
			snprintf(out, size, "%.*s", (int)strcspn(at, " \t\n"), at);
			return;
		}
	}
}

static bool is_there(const char *root, const char *path)
{
	char whole[512];
	int n = snprintf(whole, sizeof whole, "%s%s", root, path);

	return n > 0 && (size_t)n < sizeof whole && access(whole, F_OK) == 0;
}

void gpu_driver_look(struct gpu_driver *ret, const char *root)
{
	struct buffer text = BUFFER_INIT;
	char path[512];

	*ret = (struct gpu_driver){ 0 };
	snprintf(path, sizeof path, "%s/proc/driver/nvidia/version", root);
	if (file_read_whole(path, 4096, &text) == 0 && buffer_append(&text, "", 1) == 0) {
		ret->there = true;
		gpu_driver_version(ret->version, sizeof ret->version, (const char *)text.data);
	}
	buffer_release(&text);
	ret->there = ret->there || is_there(root, "/dev/nvidiactl") || is_there(root, "/dev/nvhost-ctrl-gpu") || /* Tegra */
		     (is_there(root, "/dev/dxg") && is_there(root, "/usr/lib/wsl/lib/libcuda.so.1"));
}

bool gpu_nsys_find(char *ret, size_t size)
{
	char file[4096];

	return gpu_command_find("nsys", ret ? ret : file, ret ? size : sizeof file);
}

/* ---- CUPTI ------------------------------------------------------------------- */

/* Without these it is of no use. */
static const char *const functions[] = { "cuptiActivityEnable", "cuptiActivityRegisterCallbacks" };

static bool has_functions(void *library, struct gpu_cupti *ret)
{
	for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
		if (dlsym(library, functions[i]))
			continue;
		snprintf(ret->error, sizeof ret->error, "%s has no %s", ret->library, functions[i]);
		return false;
	}
	return true;
}

/* What was found and does not work says more than what was not found. */
static void take_error(struct gpu_cupti *ret, const char *name, const char *text, bool *missing)
{
	size_t n = strlen(name);
	bool absent = strncmp(text, name, n) == 0 && strncmp(text + n, ": cannot open shared object file", 32) == 0;

	if (ret->error[0] && !(*missing && !absent))
		return;
	snprintf(ret->error, sizeof ret->error, "%s", text);
	*missing = absent;
}

static bool try_library(struct gpu_cupti *ret, const char *name, bool *missing)
{
	void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
	const char *text = library ? NULL : dlerror();

	if (!library) {
		take_error(ret, name, text ? text : "it cannot be loaded", missing);
		return false;
	}
	snprintf(ret->library, sizeof ret->library, "%s", name);
	*missing = false;
	ret->there = has_functions(library, ret);
	if (ret->there)
		ret->error[0] = '\0';
	return true; /* a program would get this one, too */
}

static bool try_folder(struct gpu_cupti *ret, const char *folder, bool *missing)
{
	static const char *const inside[] = { "extras/CUPTI/lib64", "lib64", "lib" };
	char path[4096];

	for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
		int n = snprintf(path, sizeof path, "%s/%s/libcupti.so", folder, inside[i]);

		if (n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0 && try_library(ret, path, missing))
			return true;
	}
	return false;
}

static void try_all(struct gpu_cupti *ret)
{
	static const char *const names[] = { "libcupti.so", "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.0" };
	static const char *const variables[] = { "CUDA_HOME", "CUDA_PATH" };
	glob_t found = { 0 };
	bool missing = false, done = false;

	for (size_t i = 0; i < sizeof names / sizeof names[0] && !done; i++)
		done = try_library(ret, names[i], &missing);
	for (size_t i = 0; i < sizeof variables / sizeof variables[0] && !done; i++) {
		const char *folder = secure_getenv(variables[i]);

		done = folder && folder[0] == '/' && try_folder(ret, folder, &missing);
	}
	if (!done && glob("/usr/local/cuda*", 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc && !done; i++)
			done = try_folder(ret, found.gl_pathv[i], &missing);
	globfree(&found);
}

/* The process that tries: what libraries print when they are loaded is nobody's business. */
static void try_and_exit(int fd)
{
	struct gpu_cupti result = { 0 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < 3 && null >= 0; i++)
		if (i != fd)
			(void)dup2(null, i);
	try_all(&result);
	_exit(file_write_all(fd, &result, sizeof result) == 0 ? 0 : 1);
}

/* The loader names paths, and these have any bytes. */
static void make_printable(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

static bool read_result(int fd, struct gpu_cupti *ret)
{
	struct pollfd poll_for = { .fd = fd, .events = POLLIN };
	struct gpu_cupti result;
	int rc;

	do
		rc = poll(&poll_for, 1, TRY_MS);
	while (rc < 0 && errno == EINTR);
	if (rc <= 0 || read(fd, &result, sizeof result) != (ssize_t)sizeof result) /* less than PIPE_BUF: one piece */
		return false;
	make_printable(result.library, sizeof result.library);
	make_printable(result.error, sizeof result.error);
	*ret = result;
	return true;
}

void gpu_cupti_try(struct gpu_cupti *ret)
{
	int fds[2];
	pid_t pid;

	*ret = (struct gpu_cupti){ .error = "it could not be tried" };
	if (pipe2(fds, O_CLOEXEC) != 0)
		return;
	pid = fork();
	if (pid == 0)
		try_and_exit(fds[1]);
	close(fds[1]);
	if (pid > 0 && !read_result(fds[0], ret))
		snprintf(ret->error, sizeof ret->error, "it crashes, or takes too long, when it is loaded");
	close(fds[0]);
	if (pid <= 0)
		return;
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* ---- Libraries --------------------------------------------------------------- */

const char *gpu_library_name(const char *path)
{
	static const char *const beginnings[] = { "libcuda.so", "libcudart.so", "libcudart-", "libtorch_cuda", "libcupti.so" };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
		if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
			return name;
	return NULL;
}
