/* template_file.c - see template_file.h. */
#include "cmd/template_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cmd/command.h"
#include "cmd/report_file.h"

int template_file_report_format(const char *path)
{
	size_t size = strlen(path);
	char *name = strndup(path, size > 3 && strcmp(path + size - 3, ".in") == 0 ? size - 3 : size);
	int format = name ? report_format_of(name) : -1;

	free(name);
	return format;
}

int template_file_open(struct template **ret, const char *path, enum template_format format)
{
	struct buffer text = BUFFER_INIT;
	struct error err = { 0 };
	int rc = file_read_whole(path, TEMPLATE_FILE_MAX, &text), status = 0;

	if (rc == -EFBIG)
		status = fail(EXIT_USAGE, "%s: larger than the %u KiB a template may have", path, TEMPLATE_FILE_MAX >> 10);
	else if (rc < 0)
		status = fail(EXIT_USAGE, "cannot read the template '%s': %s", path, strerror(-rc));
	else if (template_parse(ret, path, (const char *)text.data, text.size, format, &err) < 0)
		status = fail_with(&err, EXIT_USAGE);
	buffer_release(&text);
	return status;
}
