/* redact.c - see redact.h. */
#include "trace/redact.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/msgpack.h"

#define KEY_MAX 32

/* A text that is replaced, in a tree by kind and content; the replacement is "kind_number". */
struct replaced {
	struct replaced *older;
	const char *kind;
	struct trace_text text, ours;
	char memory[]; /* both texts */
};

struct trace_redact {
	unsigned what;
	unsigned counts[16]; /* by kind, in the order of kinds[] */
	void *tree;
	struct replaced *newest;
};

static const char *const kinds[] = { "name", "function", "module", "kernel", "thread", "process", "host", "dir", "file", "text", "task", "stream" };

static struct trace_text text_of(const char *text)
{
	return (struct trace_text){ text, strlen(text) };
}

int trace_redact_parse(const char *list, unsigned *ret, struct error *err)
{
	static const char *const words[] = { "names", "paths", "args" };
	unsigned what = 0;

	for (const char *at = list; *at;) {
		size_t size = strcspn(at, ","), i = 0;

		while (i < 3 && !(strlen(words[i]) == size && strncmp(words[i], at, size) == 0))
			i++;
		if (i == 3) {
			err->exit_code = 2;
			return error_set(err, -EINVAL, "--redact takes names, paths and args, with commas between them, not '%.40s'", at);
		}
		what |= 1u << i;
		at += size + (at[size] == ',');
	}
	*ret = what;
	return 0;
}

int trace_redact_new(struct trace_redact **ret, unsigned what)
{
	*ret = calloc(1, sizeof **ret);
	if (*ret)
		(*ret)->what = what;
	return *ret ? 0 : -ENOMEM;
}

static void keep_node(void *node)
{
	(void)node; /* it is in the chain as well */
}

void trace_redact_free(struct trace_redact *r)
{
	if (!r)
		return;
	tdestroy(r->tree, keep_node);
	while (r->newest) {
		struct replaced *older = r->newest->older;

		free(r->newest);
		r->newest = older;
	}
	free(r);
}

unsigned trace_redact_what(const struct trace_redact *r)
{
	return r ? r->what : 0;
}

/* ---- Replacements --------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct replaced *x = a, *y = b;
	int order = strcmp(x->kind, y->kind);

	if (order)
		return order;
	if (x->text.size != y->text.size)
		return x->text.size < y->text.size ? -1 : 1;
	return memcmp(x->text.data, y->text.data, x->text.size);
}

static unsigned next_number(struct trace_redact *r, const char *kind)
{
	size_t i = 0;

	while (i + 1 < sizeof kinds / sizeof kinds[0] && strcmp(kinds[i], kind) != 0)
		i++;
	return ++r->counts[i];
}

static const struct trace_text no_memory = { NULL, 0 };

static const struct replaced *find(const struct trace_redact *r, const char *kind, struct trace_text text)
{
	const struct replaced wanted = { .kind = kind, .text = text };
	struct replaced *const *found = tfind(&wanted, &r->tree, compare);

	return found ? *found : NULL;
}

static struct trace_text add(struct trace_redact *r, const char *kind, struct trace_text text, const void *ours, size_t size)
{
	struct replaced *made = malloc(sizeof *made + text.size + size);

	if (!made)
		return no_memory;
	memcpy(made->memory, text.data, text.size);
	memcpy(made->memory + text.size, ours, size);
	made->kind = kind;
	made->text = (struct trace_text){ made->memory, text.size };
	made->ours = (struct trace_text){ made->memory + text.size, size };
	if (!tsearch(made, &r->tree, compare)) {
		free(made);
		return no_memory;
	}
	made->older = r->newest;
	r->newest = made;
	return made->ours;
}

static struct trace_text replace(struct trace_redact *r, const char *kind, struct trace_text text)
{
	const struct replaced *known = find(r, kind, text);
	char ours[40];
	int size;

	if (text.size == 0 || known)
		return known ? known->ours : text;
	size = snprintf(ours, sizeof ours, "%s_%u", kind, next_number(r, kind));
	return add(r, kind, text, ours, (size_t)size);
}

struct trace_text trace_redact_name(struct trace_redact *r, const char *kind, struct trace_text name)
{
	return r->what & REDACT_NAMES ? replace(r, kind, name) : name;
}

/* ---- Paths ---------------------------------------------------------------------- */

/* Where what everybody has begins in a path; NULL: nowhere. */
static const char *public_part(struct trace_text path)
{
	static const char *const marks[] = { "/lib/python3", "/lib64/python3", "/site-packages/", "/dist-packages/" };
	const char *found = NULL;

	for (size_t i = 0; i < sizeof marks / sizeof marks[0] && !found; i++)
		found = memmem(path.data, path.size, marks[i], strlen(marks[i]));
	return found;
}

static bool begins_with(struct trace_text text, const char *front)
{
	return text.size >= strlen(front) && memcmp(text.data, front, strlen(front)) == 0;
}

static bool is_of_system(struct trace_text path)
{
	return begins_with(path, "/usr/lib") || begins_with(path, "/usr/bin/") || begins_with(path, "/lib/") || begins_with(path, "/lib64/") ||
	       begins_with(path, "/bin/") || begins_with(path, "/dev/") || begins_with(path, "/sys/") || begins_with(path, "<frozen ");
}

bool trace_redact_is_public(struct trace_text path)
{
	return path.size == 0 || is_of_system(path) || public_part(path);
}

static int append_text(struct buffer *out, struct trace_text text)
{
	return text.data ? buffer_append(out, text.data, text.size) : -ENOMEM;
}

/* "file_3.py", with REDACT_NAMES. */
static int append_base(struct trace_redact *r, struct trace_text base, struct buffer *out)
{
	const char *dot = memrchr(base.data, '.', base.size);
	size_t front = dot ? (size_t)(dot - base.data) : base.size;
	int rc;

	if (!(r->what & REDACT_NAMES))
		return append_text(out, base);
	rc = append_text(out, replace(r, "file", (struct trace_text){ base.data, front }));
	return rc ? rc : buffer_append(out, base.data + front, base.size - front);
}

/* What is before a path in a text such as "open: /a/b": up to the last blank, colon or equals sign before its first slash. */
static size_t before_path(struct trace_text text)
{
	size_t at = (size_t)((const char *)memchr(text.data, '/', text.size) - text.data);

	while (at > 0 && !strchr(" :=", text.data[at - 1]))
		at--;
	return at;
}

/* From its first slash on what everybody has, or a name of its own, behind a numbered folder. */
static int append_path(struct trace_redact *r, struct trace_text path, struct buffer *out)
{
	const char *rest = public_part(path), *slash = memrchr(path.data, '/', path.size), *cut = rest ? rest : slash;
	struct trace_text dir = { path.data, (size_t)(cut - path.data) };
	int rc = path.data[0] == '/' ? buffer_append(out, "/", 1) : 0;

	rc = rc ? rc : append_text(out, replace(r, "dir", dir));
	if (rc || rest)
		return rc ? rc : buffer_append(out, rest, path.size - dir.size);
	rc = buffer_append(out, "/", 1);
	return rc ? rc : append_base(r, (struct trace_text){ slash + 1, path.size - dir.size - 1 }, out);
}

static bool is_path(struct trace_text text)
{
	return text.size > 1 && memchr(text.data, '/', text.size);
}

/* A file without a folder: "train.py", but not "<string>". */
static bool is_file(struct trace_text text)
{
	return text.size && !is_path(text) && text.data[0] != '<' && memchr(text.data, '.', text.size);
}

/* Samples and arguments have few paths, many times each: each is made once. */
struct trace_text trace_redact_path(struct trace_redact *r, struct trace_text path)
{
	bool replaced = is_path(path) ? r->what & REDACT_PATHS && !is_of_system(path) : r->what & REDACT_NAMES && is_file(path);
	const struct replaced *known = replaced ? find(r, "path", path) : NULL;
	struct buffer out = BUFFER_INIT;
	struct trace_text ours = no_memory;
	size_t front = replaced && is_path(path) ? before_path(path) : 0;
	struct trace_text rest = { path.data + front, path.size - front };

	if (!replaced || known)
		return known ? known->ours : path;
	if (buffer_append(&out, path.data, front) == 0 && (is_path(path) ? append_path(r, rest, &out) : append_base(r, rest, &out)) == 0)
		ours = add(r, "path", path, out.data, out.size);
	buffer_release(&out);
	return ours;
}

struct trace_text trace_redact_command(struct trace_text command)
{
	const char *end = memchr(command.data, ' ', command.size), *slash;
	struct trace_text word = { command.data, end ? (size_t)(end - command.data) : command.size };

	slash = memrchr(word.data, '/', word.size);
	if (slash)
		word = (struct trace_text){ slash + 1, word.size - (size_t)(slash + 1 - word.data) };
	return begins_with(word, "python") ? word : text_of("");
}

/* ---- Values --------------------------------------------------------------------- */

/* Texts under these keys are the recorder's own, or the machine's. */
static bool is_ours(const char *key)
{
	static const char *const keys[] = { "producer", "version",     "overflow", "mode",   "format", "driver_version", "libraries",
					    "reason",   "cupti_error", "aligned",  "system", "uuid",  "sampling_error" };

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (strcmp(key, keys[i]) == 0)
			return true;
	return false;
}

static struct trace_text replace_info(struct trace_redact *r, const char *key, struct trace_text text)
{
	if (strcmp(key, "message") == 0 && r->what & (REDACT_NAMES | REDACT_ARGS))
		return text_of("");
	if (strcmp(key, "command") == 0)
		return trace_redact_command(text);
	if (is_path(text) && r->what & REDACT_PATHS)
		return trace_redact_path(r, text);
	if (is_ours(key) || is_path(text))
		return text;
	return trace_redact_name(r, "text", text);
}

static struct trace_text replace_argument(struct trace_redact *r, const char *key, struct trace_text text)
{
	(void)key;
	return is_path(text) ? trace_redact_path(r, text) : text;
}

static struct trace_text replace_module(struct trace_redact *r, const char *key, struct trace_text text)
{
	if (memmem(text.data, text.size, ".so", 3))
		return replace_argument(r, key, text);
	return trace_redact_name(r, "module", text);
}

/* A value on its way; what comes of a text depends on the key it is under. */
struct rewrite {
	struct trace_redact *redact;
	struct trace_text (*replace)(struct trace_redact *r, const char *key, struct trace_text text);
	struct cursor in;
	struct buffer *out;
};

static int rewrite(struct rewrite *w, const char *key);

static int rewrite_pair(struct rewrite *w)
{
	const struct cursor before = w->in;
	struct msgpack_value name;
	char key[KEY_MAX] = "";
	int rc = msgpack_read(&w->in, &name);

	if (rc == 0 && name.type == MSGPACK_STRING) {
		snprintf(key, sizeof key, "%.*s", (int)(name.size < KEY_MAX ? name.size : KEY_MAX - 1), (const char *)name.data);
		rc = msgpack_write_string(w->out, (const char *)name.data, name.size);
	} else if (rc == 0) {
		w->in = before;
		rc = rewrite(w, "");
	}
	return rc ? rc : rewrite(w, key);
}

static int rewrite_all(struct rewrite *w, const char *key, const struct msgpack_value *head)
{
	bool is_map = head->type == MSGPACK_MAP;
	int rc = is_map ? msgpack_write_map(w->out, head->count) : msgpack_write_array(w->out, head->count);

	for (uint32_t i = 0; rc == 0 && i < head->count; i++)
		rc = is_map ? rewrite_pair(w) : rewrite(w, key);
	return rc;
}

static int rewrite(struct rewrite *w, const char *key)
{
	const uint8_t *begin = w->in.at;
	struct msgpack_value value;
	struct trace_text text;
	int rc = msgpack_read(&w->in, &value);

	if (rc)
		return rc;
	if (value.type == MSGPACK_MAP || value.type == MSGPACK_ARRAY)
		return rewrite_all(w, key, &value);
	if (value.type != MSGPACK_STRING)
		return buffer_append(w->out, begin, (size_t)(w->in.at - begin));
	text = w->replace(w->redact, key, (struct trace_text){ (const char *)value.data, value.size });
	return text.data ? msgpack_write_string(w->out, text.data, text.size) : -ENOMEM;
}

int trace_redact_info(struct trace_redact *r, const void *value, size_t size, struct buffer *out)
{
	struct rewrite w = { r, replace_info, cursor_of(value, size), out };

	return msgpack_validate(value, size) < 0 ? -EBADMSG : rewrite(&w, "");
}

int trace_redact_paths_of(struct trace_redact *r, const void *value, size_t size, struct buffer *out)
{
	struct rewrite w = { r, replace_argument, cursor_of(value, size), out };

	return msgpack_validate(value, size) < 0 ? -EBADMSG : rewrite(&w, "");
}

int trace_redact_modules_of(struct trace_redact *r, const void *value, size_t size, struct buffer *out)
{
	struct rewrite w = { r, replace_module, cursor_of(value, size), out };

	return msgpack_validate(value, size) < 0 ? -EBADMSG : rewrite(&w, "");
}
