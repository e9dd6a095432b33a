/*
 * open.c - traces of whatever format, for a reader.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine.h"

#include "import/temporary.h"

int strings_of(PyObject *list, struct strings *ret)
{
	Py_ssize_t count = PyList_Size(list);

	if (count < 0)
		return -1;
	ret->list = calloc((size_t)count + 1, sizeof *ret->list);
	if (!ret->list) {
		PyErr_NoMemory();
		return -1;
	}
	for (; ret->count < (size_t)count; ret->count++)
		if (!(ret->list[ret->count] = PyBytes_AsString(PyList_GetItem(list, (Py_ssize_t)ret->count))))
			return -1;
	return 0;
}

static int open_imported(struct trace_reader **ret, const struct strings *paths, bool lean, const char **ret_format, struct error *err)
{
	const struct import_options options = { .lean = lean };
	struct import_reports reports = { 0 };
	struct import *im = NULL;
	int fd = temporary_open(err), copy = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	int rc = copy < 0 ? -1 : import_open(&im, copy, &options, err);

	for (size_t i = 0; i < paths->count && rc == 0; i++)
		rc = import_add(im, paths->list[i], err);
	if (rc == 0)
		rc = import_close(im, &reports, err);
	else
		import_abandon(im);
	if (rc == 0 && reports.count)
		*ret_format = import_format_name(reports.files[0].format);
	import_reports_release(&reports);
	if (rc == 0)
		return trace_reader_open_fd(ret, fd, paths->list[0], err);
	if (fd >= 0)
		close(fd);
	return rc;
}

int engine_open(struct trace_reader **ret, const struct strings *paths, bool lean, const char **ret_format, struct error *err)
{
	const struct import_options options = { 0 };
	struct error ignored = { 0 };
	char damage[160];
	int fd;

	*ret_format = import_format_name(IMPORT_SBT);
	if (paths->count != 1 || import_detect(paths->list[0], &ignored) != IMPORT_SBT)
		return open_imported(ret, paths, lean, ret_format, err);
	fd = temporary_unpacked(paths->list[0], &options, damage, err);
	return fd < 0 ? fd : trace_reader_open_fd(ret, fd, paths->list[0], err);
}
