/* report_program.c - see report_parts.h. */
#include <stdio.h>
#include <string.h>

#include "base/msgpack.h"
#include "report/report_parts.h"

#define WORDS 3

/* The first words of the command that the trace says was run; how many there are. */
static unsigned command_words(const struct analysis *a, struct msgpack_value *words)
{
	struct msgpack_value array;
	struct cursor c;
	const uint8_t *raw;
	size_t size;
	unsigned n = 0;

	if (!a->timeline->reader || trace_reader_info_raw(a->timeline->reader, "command", &raw, &size) < 0)
		return 0;
	c = cursor_of(raw, size);
	if (msgpack_read(&c, &array) < 0 || array.type != MSGPACK_ARRAY)
		return 0;
	while (n < WORDS && n < array.count && msgpack_read(&c, &words[n]) == 0 && words[n].type == MSGPACK_STRING)
		n++;
	return n;
}

static const char *base_name(const char *path, size_t *size)
{
	const char *slash;

	while (*size > 1 && path[*size - 1] == '/')
		--*size;
	slash = memrchr(path, '/', *size);
	if (!slash || slash + 1 == path + *size)
		return path;
	*size -= (size_t)(slash + 1 - path);
	return slash + 1;
}

static bool is(const struct msgpack_value *word, const char *text)
{
	return word->size == strlen(text) && memcmp(word->data, text, word->size) == 0;
}

const char *report_program(const struct analysis *a, const struct report_source *source, size_t *ret_size)
{
	struct msgpack_value words[WORDS];
	unsigned n = command_words(a, words);
	const char *name = n ? (const char *)words[0].data : source->path;

	*ret_size = n ? words[0].size : strlen(source->path);
	name = base_name(name, ret_size);
	if (n < 2 || *ret_size < 6 || memcmp(name, "python", 6) != 0 || is(&words[1], "-c"))
		return name;
	if (n == WORDS && is(&words[1], "-m")) { /* a module has no folder */
		*ret_size = words[2].size;
		return (const char *)words[2].data;
	}
	if (words[1].size == 0 || words[1].data[0] == '-')
		return name;
	*ret_size = words[1].size;
	return base_name((const char *)words[1].data, ret_size);
}

int report_command(const struct analysis *a, struct buffer *out)
{
	struct msgpack_value array, word;
	struct cursor c;
	const uint8_t *raw;
	size_t size;
	int rc = 0;

	if (!a->timeline->reader || trace_reader_info_raw(a->timeline->reader, "command", &raw, &size) < 0)
		return 0;
	c = cursor_of(raw, size);
	if (msgpack_read(&c, &array) < 0 || array.type != MSGPACK_ARRAY)
		return 0;
	for (uint32_t i = 0; i < array.count && msgpack_read(&c, &word) == 0 && word.type == MSGPACK_STRING && rc == 0; i++) {
		rc = buffer_append(out, " ", i > 0);
		if (rc == 0)
			rc = buffer_append(out, word.data, word.size);
	}
	return rc;
}

bool report_end(const struct analysis *a, size_t index, struct report_end *ret)
{
	const struct trace_program *p = &a->program;
	char end[PROGRAM_SENTENCE];

	if (trace_program_failed(p) && index-- == 0) {
		trace_program_say_end(p, end);
		ret->label = "failed";
		snprintf(ret->text, sizeof ret->text, "the program %s%s", p->signal ? "was " : "", end);
		return true;
	}
	for (size_t i = 0; i < p->death_count; i++) {
		trace_program_say_death(&p->deaths[i], ret->text);
		ret->label = "killed";
		if (ret->text[0] && index-- == 0)
			return true;
	}
	trace_program_say_running(p, ret->text);
	ret->label = "running";
	return ret->text[0] && index == 0;
}

void report_run_by(const struct analysis *a, char out[2 * PROGRAM_SENTENCE])
{
	char by[PROGRAM_SENTENCE], end[PROGRAM_SENTENCE];

	trace_program_say_interpreter(&a->program, by);
	trace_program_say_end(&a->program, end);
	if (trace_program_failed(&a->program)) /* which is said first */
		end[0] = '\0';
	snprintf(out, 2 * PROGRAM_SENTENCE, "%s%s%s%s", by[0] ? "run by " : "", by, by[0] && end[0] ? ", " : "", end);
}
