/* stranger.c - see stranger.h. */
#include "import/stranger.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

#define READS "SBT, Chrome and Kineto JSON, Perfetto, the SQLite export of Nsight Systems and JSON of 'inferscope dump'"

void stranger_unreadable(const char *path, int code, struct error *err)
{
	if (code == -EISDIR)
		error_set(err, code, "%s is a folder, and one file is expected here: name the trace in it", path);
	else if (code == -EACCES || code == -EPERM)
		error_set(err, code, "%s may not be read by you: change its permissions or use another user", path);
}

struct kind {
	const char *begin;
	size_t size;
	const char *sentence;
};
#define BEGIN(text) text, sizeof text - 1

static const struct kind kinds[] = {
	{ BEGIN("PK\3\4"), "%s is a ZIP archive: unpack it and give the trace in it" },
	{ BEGIN("\xfd\x37zXZ\0"), "%s is compressed with xz: unpack it first (unxz)" },
	{ BEGIN("BZh"), "%s is compressed with bzip2: unpack it first (bunzip2)" },
	{ BEGIN("\x04\x22\x4d\x18"), "%s is compressed with lz4: unpack it first (unlz4)" },
	{ BEGIN("7z\xbc\xaf\x27\x1c"), "%s is a 7z archive: unpack it and give the trace in it" },
	{ BEGIN("PERFILE2"), "%s is a recording of perf, which is not read: its events are no trace of calls" },
	{ BEGIN("\x7f\x45LF"), "%s is a program and not a trace: to record it, use 'inferscope run'" },
	{ BEGIN("SQLite format 3"), "%s is an SQLite database, but no export of 'nsys export --type sqlite'" },
};

/* JSON that is no trace, by a word that is in it. */
static const struct {
	const char *word, *sentence;
} json_kinds[] = {
	{ "speedscope.app", "%s is a speedscope profile, which is not read: give the recording that it was made of" },
	{ "\"preprocessedProfileVersion\"", "%s is a profile of the Firefox Profiler, which is not read: give the recording that it was made of" },
	{ "\"timeDeltas\"", "%s is a profile of V8 (Chrome, Node.js): its samples are no trace of calls" },
	{ "\"nbformat\"", "%s is a notebook and not a trace: use inferscope.Profiler in it to record" },
	{ "\"analysis_version\"", "%s is an analysis that InferScope made, and not the trace: give the file that it is about" },
};

static const struct {
	const char *suffix, *sentence;
} suffixes[] = {
	{ ".nsys-rep", "%s is a report of Nsight Systems, which only nsys reads: make an export of it with 'nsys export --type sqlite' and give that" },
	{ ".qdrep", "%s is a report of Nsight Systems, which only nsys reads: make an export of it with 'nsys export --type sqlite' and give that" },
	{ ".ncu-rep", "%s is a report of Nsight Compute, which has no timeline: record the program with 'inferscope run'" },
	{ ".xplane.pb", "%s is a profile of XLA, which is not read: give the .trace.json.gz beside it" },
};

static bool contains(const uint8_t *head, size_t size, const char *word)
{
	return head && memmem(head, size, word, strlen(word));
}

bool stranger_is_json(const uint8_t *head, size_t size)
{
	for (size_t i = 0; i < sizeof json_kinds / sizeof json_kinds[0]; i++)
		if (contains(head, size, json_kinds[i].word))
			return true;
	return false;
}

static bool ends_with(const char *path, const char *suffix)
{
	size_t a = strlen(path), b = strlen(suffix);

	return a >= b && strcasecmp(path + a - b, suffix) == 0;
}

static bool begins_as_markup(const uint8_t *head, size_t size)
{
	const char *text;
	size_t i = 0;

	if (size >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0)
		i = 3;
	while (i < size && (head[i] == ' ' || head[i] == '\n' || head[i] == '\r' || head[i] == '\t'))
		i++;
	text = (const char *)head + i;
	return size - i >= 5 && (strncasecmp(text, "<!doc", 5) == 0 || strncasecmp(text, "<html", 5) == 0);
}

static bool is_tar(const uint8_t *head, size_t size)
{
	return size >= 262 && memcmp(head + 257, "ustar", 5) == 0;
}

/* The first bytes as text, for people. */
static int quote_head(struct buffer *buf, const uint8_t *head, size_t size)
{
	int rc = text_append_terminal(buf, (const char *)head, size < 96 ? size : 96, 32);

	return rc ? rc : buffer_append(buf, "", 1);
}

static int unknown(const char *path, const uint8_t *head, size_t size, struct error *err)
{
	struct buffer quoted = BUFFER_INIT;

	if (quote_head(&quoted, head, size))
		error_set(err, -EBADMSG, "%s is not a trace that InferScope reads; those are " READS, path);
	else
		error_set(err, -EBADMSG, "%s is not a trace that InferScope reads: it begins with \"%s\"; known are " READS,
			  path, (const char *)quoted.data);
	buffer_release(&quoted);
	return -EBADMSG;
}

/* The marshalled dictionary of cProfile: its first key is a tuple of three. */
static bool is_python_profile(const uint8_t *head, size_t size)
{
	return size > 3 && (head[0] & 0x7f) == '{' && (head[1] & 0x7f) == ')' && head[2] == 3;
}

/* How many brackets are open at the end; text in quotes is passed over. */
static size_t open_brackets(const uint8_t *head, size_t size)
{
	size_t depth = 0;
	bool quoted = false;

	for (size_t i = 0; i < size; i++) {
		if (quoted && head[i] == '\\')
			i++;
		else if (head[i] == '"')
			quoted = !quoted;
		else if (!quoted && (head[i] == '{' || head[i] == '['))
			depth++;
		else if (!quoted && (head[i] == '}' || head[i] == ']') && depth > 0)
			depth--;
	}
	return depth;
}

static int describe_json(const char *path, const uint8_t *head, size_t size, struct error *err)
{
	size_t at = 0;

	for (size_t i = 0; i < sizeof json_kinds / sizeof json_kinds[0]; i++)
		if (contains(head, size, json_kinds[i].word))
			return error_set(err, -EBADMSG, json_kinds[i].sentence, path);
	while (at < size && (head[at] == ' ' || head[at] == '\n' || head[at] == '\r' || head[at] == '\t'))
		at++;
	if (at == size || (head[at] != '{' && head[at] != '['))
		return unknown(path, head, size, err);
	if (open_brackets(head, size) > 0)
		return error_set(err, -EBADMSG, "%s is JSON that ends in the middle, before the first event: was it cut off, or is it still "
						"being written?", path);
	return error_set(err, -EBADMSG, "%s is JSON, but has no events of a trace (\"traceEvents\"): known are " READS, path);
}

int stranger_describe(const char *path, const uint8_t *head, size_t size, struct error *err)
{
	if (size == 0)
		return error_set(err, -EBADMSG, "%s is empty: whatever was to write it has not, or not yet", path);
	for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
		if (ends_with(path, suffixes[i].suffix))
			return error_set(err, -EBADMSG, suffixes[i].sentence, path);
	if (begins_as_markup(head, size))
		return error_set(err, -EBADMSG,
				 "%s is a web page (HTML) and not a trace: was it downloaded from a page that asks to log in?",
				 path);
	if (is_tar(head, size))
		return error_set(err, -EBADMSG, "%s is a tar archive: unpack it and give the traces in it, or their folder",
				 path);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (size >= kinds[i].size && memcmp(head, kinds[i].begin, kinds[i].size) == 0)
			return error_set(err, -EBADMSG, kinds[i].sentence, path);
	if (is_python_profile(head, size))
		return error_set(err, -EBADMSG, "%s is a profile of Python's cProfile, which has sums of calls and no times of single ones: "
						"record the program with 'inferscope run'", path);
	return describe_json(path, head, size, err);
}
