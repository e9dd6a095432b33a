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

static const char *const kinds[] = { "name", "function", "module", "kernel", "thread", "process", "host", "dir", "file", "text", "task" };

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

static struct replaced *add(struct trace_redact *r, const struct replaced *wanted)
{
	struct replaced *made = malloc(sizeof *made + wanted->text.size + 40);
	char *ours;

	if (!made)
		return NULL;
	*made = *wanted;
	memcpy(made->memory, wanted->text.data, wanted->text.size);
	ours = made->memory + wanted->text.size;
	made->text.data = made->memory;
	made->ours.data = ours;
	made->ours.size = (size_t)snprintf(ours, 40, "%.20s_%u", wanted->kind, next_number(r, wanted->kind));
	if (!tsearch(made, &r->tree, compare)) {
		free(made);
		return NULL;
	}
	made->older = r->newest;
	return r->newest = made;
}

static struct trace_text replace(struct trace_redact *r, const char *kind, struct trace_text text)
{
	struct replaced wanted = { .kind = kind, .text = text }, **found, *made;

	if (text.size == 0)
		return text;
	found = tfind(&wanted, &r->tree, compare);
	made = found ? *found : add(r, &wanted);
	return made ? made->ours : text_of("");
}

/* A text that is not in the tree and lives as long. */
static struct trace_text keep(struct trace_redact *r, const char *text, size_t size)
{
	struct replaced *made = malloc(sizeof *made + size + 1);

	if (!made)
		return text_of("");
	*made = (struct replaced){ .older = r->newest };
	memcpy(made->memory, text, size);
	r->newest = made;
	return (struct trace_text){ made->memory, size };
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

/* "file_3.py" */
static struct trace_text replace_base(struct trace_redact *r, struct trace_text base)
{
	const char *dot = memrchr(base.data, '.', base.size);
	size_t front = dot ? (size_t)(dot - base.data) : base.size;
	struct trace_text ours = replace(r, "file", (struct trace_text){ base.data, front });
	struct buffer text = BUFFER_INIT;

	if (buffer_append(&text, ours.data, ours.size) == 0 && buffer_append(&text, base.data + front, base.size - front) == 0)
		ours = keep(r, (const char *)text.data, text.size);
	buffer_release(&text);
	return ours;
}

/* What is before a path in a text such as "open: /a/b": up to the last blank, colon or equals sign before its first slash. */
static size_t before_path(struct trace_text text)
{
	size_t at = (size_t)((const char *)memchr(text.data, '/', text.size) - text.data);

	while (at > 0 && !strchr(" :=", text.data[at - 1]))
		at--;
	return at;
}

static int append_path(struct trace_redact *r, struct trace_text path, struct buffer *out)
{
	const char *rest = public_part(path), *slash = memrchr(path.data, '/', path.size);
	struct trace_text dir = { path.data, (size_t)((rest ? rest : slash) - path.data) }, base, ours;
	int rc = 0;

	base = (struct trace_text){ path.data + dir.size + !rest, path.size - dir.size - !rest };
	ours = replace(r, "dir", dir);
	if (path.data[0] == '/')
		rc = buffer_append(out, "/", 1);
	rc = rc ? rc : buffer_append(out, ours.data, ours.size);
	if (!rest) {
		rc = rc ? rc : buffer_append(out, "/", 1);
		base = r->what & REDACT_NAMES ? replace_base(r, base) : base;
	}
	return rc ? rc : buffer_append(out, base.data, base.size);
}

struct trace_text trace_redact_path(struct trace_redact *r, struct trace_text path)
{
	struct buffer out = BUFFER_INIT;
	struct trace_text rest = path, ours = text_of("");
	size_t front;

	if (path.size == 0 || trace_redact_what(r) == 0)
		return path;
	if (!memchr(path.data, '/', path.size))
		return r->what & REDACT_NAMES && path.data[0] != '<' && memchr(path.data, '.', path.size) ? replace_base(r, path) : path;
	if (!(r->what & REDACT_PATHS) || is_of_system(path))
		return path;
	front = before_path(path);
	rest = (struct trace_text){ path.data + front, path.size - front };
	if (buffer_append(&out, path.data, front) == 0 && append_path(r, rest, &out) == 0)
		ours = keep(r, (const char *)out.data, out.size);
	buffer_release(&out);
	return ours;
}

struct trace_text trace_redact_command(struct trace_redact *r, struct trace_text command)
{
	const char *end = memchr(command.data, ' ', command.size), *slash;
	struct trace_text word = { command.data, end ? (size_t)(end - command.data) : command.size };

	if (trace_redact_what(r) == 0)
		return command;
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
	bool has_path = text.size && memchr(text.data, '/', text.size);

	if (strcmp(key, "message") == 0 && r->what & (REDACT_NAMES | REDACT_ARGS))
		return text_of("");
	if (strcmp(key, "command") == 0)
		return trace_redact_command(r, text);
	if (has_path && r->what & REDACT_PATHS)
		return trace_redact_path(r, text);
	if (is_ours(key) || has_path)
		return text;
	return trace_redact_name(r, "text", text);
}

static struct trace_text replace_argument(struct trace_redact *r, const char *key, struct trace_text text)
{
	(void)key;
	return text.size && memchr(text.data, '/', text.size) ? trace_redact_path(r, text) : text;
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
	return msgpack_write_string(w->out, text.data, text.size);
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
