/* input.c - see input.h. */
#include "cmd/input.h"

#include <string.h>

#include "base/text.h"
#include "cmd/command.h"
#include "trace/reader.h"

int input_open(struct trace_reader **ret, const char *path)
{
	struct error err = { 0 };
	int status;

	if (trace_reader_open(ret, path, &err) == 0)
		return 0;
	status = err.exit_code ? err.exit_code : EXIT_INPUT;
	if (strstr(err.text, path))
		return fail(status, "%s", err.text);
	if (err.offset > 0)
		return fail(status, "%s: %s, at byte %llu", path, err.text, (unsigned long long)err.offset);
	return fail(status, "%s: %s", path, err.text);
}

void input_warn_of_damage(const struct trace_reader *reader, const char *path)
{
	const struct trace_report *report = trace_reader_report(reader);
	char bytes[32];

	if (report->damage_count > 0)
		warning("%s: %s bytes at %zu %s could not be read, first at byte %llu: %s", path,
			text_group_digits(bytes, report->damage_bytes), report->damage_count,
			report->damage_count == 1 ? "place" : "places", (unsigned long long)report->damage[0].offset,
			report->damage[0].reason);
}

int input_check_readable(const struct trace_reader *reader, const char *path, unsigned long long decoded)
{
	size_t blocks = trace_reader_block_count(reader);

	if (decoded > 0 || blocks == 0)
		return 0;
	return fail(EXIT_INPUT, "%s: none of its %zu blocks of events could be read, the first is at byte %llu", path,
		    blocks, (unsigned long long)trace_reader_block(reader, 0)->offset);
}
