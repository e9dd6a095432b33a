/*
 * program_end.c - how the program ended, and whether there is anything to analyse.
 *
 * A program in Python that fails before it has run anything of its own (a
 * module that there is not, an error of syntax) leaves the start of the
 * interpreter alone: figures of that would be right, and of no use.
 */
#include <string.h>

#include "analyze/parts.h"
#include "base/msgpack.h"

#define SHORT_MOST 200000000 /* ns; threads of a longer run have been looked at */
#define START_MOST 1000000000 /* ns; a longer run has done something, though nothing was recorded of it */

static bool begins_with(const char *text, size_t size, const char *front)
{
	return size >= strlen(front) && memcmp(text, front, strlen(front)) == 0;
}

/* The command begins with a Python, and has not got so far as to say which. */
static bool names_python(const struct trace_reader *reader)
{
	struct msgpack_value array, word;
	const uint8_t *raw, *slash;
	struct cursor c;
	size_t size;

	if (trace_reader_info_raw(reader, "command", &raw, &size) < 0)
		return false;
	c = cursor_of(raw, size);
	if (msgpack_read(&c, &array) < 0 || array.type != MSGPACK_ARRAY || array.count == 0 || msgpack_read(&c, &word) < 0 ||
	    word.type != MSGPACK_STRING)
		return false;
	slash = memrchr(word.data, '/', word.size);
	size = slash ? (size_t)(slash + 1 - word.data) : 0;
	return begins_with((const char *)word.data + size, word.size - size, "python");
}

static bool ran_nothing(const struct analysis *a)
{
	const struct timeline *t = a->timeline;

	if (!trace_program_failed(&a->program))
		return false;
	if (a->program.interpreter[0])
		return a->program.ran_nothing;
	return t->slice_count == 0 && t->duration < START_MOST && names_python(t->reader);
}

/* Were threads to be looked at? */
static bool asked_for_waits(const struct trace_reader *reader)
{
	struct msgpack_value value;
	struct cursor c;

	return trace_reader_info_member(reader, "settings", "waits", &c) && msgpack_read(&c, &value) == 0 && value.type == MSGPACK_BOOL &&
	       value.boolean;
}

/* A list of events does not say what was asked for, and has what came of it. */
static bool has_states(const struct timeline *t)
{
	for (uint32_t i = 0; i < t->track_count; i++)
		if (t->tracks[i].kind == TRACK_STATES)
			return true;
	return false;
}

int analyze_program_end(struct parts *p)
{
	if (!p->t->reader)
		return 0;
	trace_program_read(p->t->reader, &p->a->program);
	p->a->waits_asked = asked_for_waits(p->t->reader) || has_states(p->t);
	p->a->ran_nothing = ran_nothing(p->a);
	return 0;
}

const char *analysis_unseen(const struct analysis *a, bool advise)
{
	if (!a->waits_asked)
		return advise ? "threads were not looked at while they ran (run --waits on)" : "threads were not looked at from outside";
	return a->timeline->duration < SHORT_MOST ? "the program ended before its threads could be looked at" :
						    "what was seen of its threads is not in the trace";
}
