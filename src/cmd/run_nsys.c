/* run_nsys.c - see run_nsys.h. */
#include "cmd/run_nsys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/command.h"
#include "cmd/run_ending.h"
#include "import/import.h"
#include "system/gpu_probe.h"

#define VERSION_MS 5000
#define JOINED ".joined" /* the trace while both parts are put into it */

static const char *const files[] = { "report.nsys-rep", "report.qdrep", "report.sqlite", "status" };
enum { REPORT, OLD_REPORT, DATABASE, STATUS, FILES };

/* Allocated; NULL when out of memory. */
static char *path_of(const struct run_nsys *n, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", n->folder, name) < 0 ? NULL : path;
}

/* ---- Before ------------------------------------------------------------------- */

static int make_folder(struct run_nsys *n)
{
	const char *where = getenv("TMPDIR");

	snprintf(n->folder, sizeof n->folder, "%.4000s/inferscope-nsys-XXXXXX", where && where[0] == '/' ? where : "/tmp");
	if (mkdtemp(n->folder))
		return 0;
	n->folder[0] = '\0';
	return fail(EXIT_ENVIRONMENT, "cannot make a folder for Nsight Systems in %s: %s", where && where[0] == '/' ? where : "/tmp",
		    strerror(errno));
}

/* Which status nsys itself ends with is its own matter, so a shell inside notes that of the program.  NVTX is left to us. */
static int make_argv(struct run_nsys *n, char *const argv[])
{
	static const char *const fixed[] = { "--force-overwrite=true", "--trace=cuda", "--sample=none", "--cpuctxsw=none",
					     "/bin/sh", "-c", "\"$@\"; s=$?; echo $s >\"$0\"; exit $s" };
	size_t count = 0, at = 0, fixed_count = sizeof fixed / sizeof fixed[0];
	char *output = NULL, *status = path_of(n, files[STATUS]);

	while (argv[count])
		count++;
	n->argv = calloc(count + fixed_count + 5, sizeof *n->argv);
	if (!n->argv || !status || asprintf(&output, "--output=%s/report", n->folder) < 0) {
		free(status);
		return fail(EXIT_ENVIRONMENT, "out of memory");
	}
	n->argv[at++] = strdup(n->nsys);
	n->argv[at++] = strdup("profile");
	n->argv[at++] = output;
	for (size_t i = 0; i < fixed_count; i++)
		n->argv[at++] = strdup(fixed[i]);
	n->argv[at++] = status;
	for (size_t i = 0; i < count; i++)
		n->argv[at++] = strdup(argv[i]);
	for (size_t i = 0; i < at; i++)
		if (!n->argv[i])
			return fail(EXIT_ENVIRONMENT, "out of memory");
	return 0;
}

/* The process that is asked: all that it says goes into the pipe. */
static void exec_version(const char *nsys, int fd)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)dup2(null, STDIN_FILENO);
	(void)dup2(fd, STDOUT_FILENO);
	(void)dup2(fd, STDERR_FILENO);
	execl(nsys, nsys, "--version", (char *)NULL);
	_exit(127);
}

/* What is called nsys and does not even say so, in time, would not start the program either. */
static bool says_its_name(const char *nsys)
{
	char text[512];
	struct pollfd fd = { .events = POLLIN };
	size_t used = 0;
	ssize_t n = 1;
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return false;
	pid = fork();
	if (pid == 0)
		exec_version(nsys, fds[1]);
	close(fds[1]);
	fd.fd = fds[0];
	while (pid > 0 && n > 0 && used < sizeof text - 1 && poll(&fd, 1, VERSION_MS) == 1) {
		n = read(fds[0], text + used, sizeof text - 1 - used);
		used += n > 0 ? (size_t)n : 0;
	}
	close(fds[0]);
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	text[used] = '\0';
	return strstr(text, "Nsight Systems") != NULL;
}

bool run_nsys_is_needed(const char *command)
{
	char nsys[4096];
	struct gpu_driver driver;
	struct gpu_cupti cupti;

	gpu_driver_look(&driver, "");
	if (!driver.there || !gpu_nsys_find(nsys, sizeof nsys) || getenv("NSYS_PROFILING_SESSION_ID") || getenv("CUDA_INJECTION64_PATH"))
		return false; /* or somebody records GPUs already */
	gpu_cupti_try(&cupti);
	if (cupti.there || gpu_cupti_is_beside(command) || !says_its_name(nsys))
		return false;
	warning("CUPTI cannot be loaded (%s), so Nsight Systems records what GPUs do; --gpu off leaves that out", cupti.error);
	return true;
}

int run_nsys_prepare(struct run_nsys *n, char *const argv[])
{
	int status;

	if (!gpu_nsys_find(n->nsys, sizeof n->nsys))
		return fail(EXIT_ENVIRONMENT, "run: --gpu nsys needs Nsight Systems, and there is no 'nsys' on PATH; install it, or "
					      "leave out --gpu");
	status = make_folder(n);
	return status ? status : make_argv(n, argv);
}

/* ---- After -------------------------------------------------------------------- */

int run_nsys_status(const struct run_nsys *n, int otherwise)
{
	char *path = path_of(n, files[STATUS]);
	FILE *file = path ? fopen(path, "re") : NULL;
	int status;

	if (!file || fscanf(file, "%d", &status) != 1 || status < 0 || status > 255)
		status = otherwise;
	if (file)
		fclose(file);
	free(path);
	return status;
}

/* Makes a database of the report, in this process. */
static void export_and_exit(const struct run_nsys *n, const char *report, const char *database)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char *output;

	if (asprintf(&output, "--output=%s", database) < 0)
		_exit(127);
	for (int i = 0; i < 3 && null >= 0; i++)
		(void)dup2(null, i);
	execl(n->nsys, n->nsys, "export", "--type=sqlite", "--force-overwrite=true", output, report, (char *)NULL);
	_exit(127);
}

static int export_report(const struct run_nsys *n, const char *report, const char *database, struct error *err)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		export_and_exit(n, report, database);
	if (pid < 0)
		return error_errno(err, -errno, "cannot start nsys");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (access(database, R_OK) == 0)
		return 0;
	return error_set(err, -EIO, "'nsys export' made no database (exit status %d)", WIFEXITED(status) ? WEXITSTATUS(status) : 128);
}

/* How many events the second file had is in *ret. */
static int import_both(const char *trace, const char *database, const char *joined, uint64_t *ret, struct error *err)
{
	const struct import_options options = { .joined = true };
	struct import_reports reports = { 0 };
	struct import *im;
	int fd = open(joined, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666), rc;

	if (fd < 0)
		return error_errno(err, -errno, "cannot create %s", joined);
	rc = import_open(&im, fd, &options, err);
	if (rc)
		return rc;
	rc = import_add(im, trace, err);
	if (rc == 0)
		rc = import_add(im, database, err);
	if (rc) {
		import_abandon(im);
		return rc;
	}
	rc = import_close(im, &reports, err);
	if (rc == 0 && reports.count > 1)
		*ret = reports.files[1].events;
	import_reports_release(&reports);
	return rc;
}

static int join(const struct run_nsys *n, const char *trace, const char *joined, uint64_t *ret, struct error *err)
{
	char *report = path_of(n, files[REPORT]), *old = path_of(n, files[OLD_REPORT]), *database = path_of(n, files[DATABASE]);
	int rc = report && old && database ? 0 : error_set(err, -ENOMEM, "out of memory");

	if (rc == 0 && access(report, R_OK) != 0 && access(old, R_OK) != 0)
		rc = error_set(err, -ENOENT, "it left no report");
	if (rc == 0)
		rc = export_report(n, access(report, R_OK) == 0 ? report : old, database, err);
	if (rc == 0)
		rc = import_both(trace, database, joined, ret, err);
	if (rc == 0 && rename(joined, trace) != 0)
		rc = error_errno(err, -errno, "cannot replace %s", trace);
	free(report);
	free(old);
	free(database);
	return rc;
}

static void join_and_exit(const struct run_nsys *n, const char *trace, const char *joined, bool used, const sigset_t *mask,
			  int fd)
{
	struct error err = { 0 };
	uint64_t events = 0;
	int rc;

	run_ending_set_apart(mask);
	rc = join(n, trace, joined, &events, &err);
	if (rc != 0 && (!n->instead || used))
		warning("what Nsight Systems recorded is not in the trace: %s; this is an analysis of the CPU alone", err.text);
	else if (rc == 0)
		(void)file_write_all(fd, &events, sizeof events);
	_exit(rc != 0);
}

static void take_result(struct recorder_result *result, const char *trace, int fd)
{
	uint64_t events;
	struct stat st;

	if (read(fd, &events, sizeof events) == (ssize_t)sizeof events) {
		result->totals.recorded += events;
		result->events += events;
	}
	if (stat(trace, &st) == 0)
		result->trace_bytes = (uint64_t)st.st_size;
}

void run_nsys_join(const struct run_nsys *n, const char *trace, struct recorder_result *result, const sigset_t *mask)
{
	char *joined = NULL;
	struct requests *requests = &result->requests;
	int fds[2], status;
	pid_t pid = -1;

	if (result->trace_bytes == 0 || asprintf(&joined, "%s" JOINED, trace) < 0)
		return;
	if (pipe2(fds, O_CLOEXEC) == 0) {
		pid = fork();
		if (pid == 0)
			join_and_exit(n, trace, joined, result->gpu.use.used, mask, fds[1]);
		close(fds[1]);
		status = pid > 0 ? run_ending_wait(pid, requests) : 0;
		if (pid < 0 || WIFSIGNALED(status))
			warning("what Nsight Systems recorded is not in the trace: its import %s",
				requests->signal ? "was stopped" : "failed");
		take_result(result, trace, fds[0]);
		close(fds[0]);
	}
	(void)unlink(joined);
	free(joined);
}

void run_nsys_release(struct run_nsys *n)
{
	for (size_t i = 0; n->argv && n->argv[i]; i++)
		free(n->argv[i]);
	free(n->argv);
	n->argv = NULL;
	for (size_t i = 0; n->folder[0] && i < FILES; i++) {
		char *path = path_of(n, files[i]);

		if (path)
			(void)unlink(path);
		free(path);
	}
	if (n->folder[0])
		(void)rmdir(n->folder);
	n->folder[0] = '\0';
}
