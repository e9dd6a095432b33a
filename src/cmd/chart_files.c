/* chart_files.c - see chart_files.h. */
#include "cmd/chart_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cmd/command.h"
#include "cmd/report_file.h"

static int draw(size_t i, enum chart_format format, const struct analysis *a, struct buffer *out, struct error *err)
{
	struct chart chart;
	int rc = chart_make(&chart, i, a);

	if (rc < 0)
		return error_errno(err, rc, "cannot make the chart '%s'", chart_name(i));
	rc = chart_append(format, &chart, out, err);
	chart_release(&chart);
	return rc;
}

static int write_chart(const char *folder, size_t i, enum chart_format format, const struct analysis *a, struct error *err)
{
	struct buffer picture = BUFFER_INIT;
	char *path;
	int rc;

	if (asprintf(&path, "%s/%s.%s", folder, chart_name(i), chart_formats[format]) < 0)
		return error_errno(err, -ENOMEM, "cannot make the chart '%s'", chart_name(i));
	rc = draw(i, format, a, &picture, err);
	if (rc == 0)
		rc = report_file_replace(path, &picture, err);
	buffer_release(&picture);
	free(path);
	return rc;
}

int chart_files_write(const char *folder, enum chart_format format, const struct analysis *a)
{
	struct error err = { 0 };
	int rc = 0;

	if (mkdir(folder, 0777) < 0 && errno != EEXIST)
		rc = error_errno(&err, -errno, "cannot make the folder '%s' for the charts", folder);
	for (size_t i = 0; i < chart_count() && rc == 0; i++)
		rc = write_chart(folder, i, format, a, &err);
	return rc < 0 ? fail_with(&err, EXIT_ENVIRONMENT) : 0;
}
