/* page_model.c - what the streams are of (docs/report-page.md, "The model"). */
#include <errno.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "page/page_parts.h"
#include "report/report_parts.h"

static void put_name(struct json_writer *j, const char *key, const struct timeline *t, uint32_t name)
{
	size_t size;
	const char *text = timeline_string(t, name, &size);

	json_string(j, key, text, size < PAGE_LABEL_TEXT ? size : PAGE_LABEL_TEXT);
}

static bool is_plain(const char *word, size_t size)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-";

	for (size_t i = 0; i < size; i++)
		if (!word[i] || !strchr(plain, word[i]))
			return false;
	return size > 0;
}

/* Inside of quotes.  What cannot be shown is outside of them, as the pattern that fits it. */
static int append_quoted(struct buffer *out, const char *word, size_t size)
{
	int rc = 0;

	for (size_t at = 0, length; at < size && rc == 0; at += length) {
		uint32_t c;

		length = text_decode(word + at, size - at, &c);
		if (c == '\'')
			rc = buffer_append(out, "'\\''", 4);
		else if (c == TEXT_INVALID || text_is_unsafe(c))
			rc = buffer_append(out, "'?'", 3);
		else
			rc = buffer_append(out, word + at, length);
	}
	return rc;
}

/* A path for a shell, in quotes if it has to be. */
static int append_path(struct buffer *out, const char *path, size_t size)
{
	int rc = size && path[0] == '-' ? buffer_append(out, "./", 2) : 0; /* it is no option */

	if (rc == 0 && is_plain(path, size))
		return buffer_append(out, path, size);
	if (rc == 0)
		rc = buffer_append(out, "'", 1);
	if (rc == 0)
		rc = append_quoted(out, path, size);
	return rc ? rc : buffer_append(out, "'", 1);
}

/* Of "ranks/ (8 files)" with " (" and " files)": the size of "ranks/"; of what does not end so, all of it. */
static size_t without_count(const char *text, size_t size, const char *before, const char *after)
{
	size_t front = strlen(before), back = strlen(after), at;

	if (size < back || memcmp(text + size - back, after, back) != 0)
		return size;
	at = size - back;
	while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9')
		at--;
	if (at == size - back || at < front || memcmp(text + at - front, before, front) != 0)
		return size;
	return at - front;
}

/* The files of a job are told by their number, and then nobody knows their names any more; a folder has one. */
static int put_command(struct json_writer *j, const char *path)
{
	size_t size = without_count(path, strlen(path), " (", " files)");
	bool several = without_count(path, size, " and ", " more") < size || (size && without_count(path, size, "", " files") == 0);
	struct buffer text = BUFFER_INIT;
	int rc = buffer_printf(&text, "inferscope analyze ");

	if (rc == 0)
		rc = several ? buffer_append(&text, "FILE...", 7) : append_path(&text, path, size);
	if (rc == 0)
		json_string(j, "command", (const char *)text.data, text.size);
	buffer_release(&text);
	return rc;
}

static void put_head(struct json_writer *j, const struct page_world *w)
{
	size_t size;
	const char *program = report_program(w->a, w->source, &size);

	json_integer(j, "format", 1);
	json_string(j, "program", program, size < PAGE_LABEL_TEXT ? size : PAGE_LABEL_TEXT);
	json_integer(j, "duration_ns", w->t->duration);
	json_integer(j, "start_unix_ns", w->t->start_ns);
	json_integer(j, "quantum_ns", w->quantum);
	json_unsigned(j, "slices", w->t->slice_count);
	json_unsigned(j, "slices_here", w->slices_here);
	json_bool(j, "exact", w->keep.all);
	json_bool(j, "links", w->links);
}

static void put_window(struct json_writer *j, const char *key, const struct page_window *window)
{
	json_open(j, key, '[');
	json_integer(j, NULL, window->from);
	json_integer(j, NULL, window->to);
	json_close(j);
}

static void put_windows(struct json_writer *j, const struct page_world *w)
{
	json_open(j, "windows_ns", '[');
	for (unsigned i = 0; i < w->window_count; i++)
		put_window(j, NULL, &w->windows[i]);
	json_close(j);
	if (w->range.to > 0)
		put_window(j, "view_ns", &w->range);
	json_integer(j, "least_ns", w->least);
	json_unsigned(j, "buckets", w->buckets);
}

static void put_processes(struct json_writer *j, const struct page_world *w)
{
	const struct timeline *t = w->t;

	json_open(j, "processes", '[');
	for (uint32_t i = 0; i < t->process_count; i++) {
		const struct timeline_process *p = &t->processes[w->process_order[i]];

		json_open(j, NULL, '{');
		put_name(j, "name", t, p->name);
		json_unsigned(j, "pid", p->pid);
		if (p->rank >= 0)
			json_integer(j, "rank", p->rank);
		else
			json_null(j, "rank");
		put_name(j, "host", t, p->host < t->host_count ? t->hosts[p->host].name : 0);
		json_close(j);
	}
	json_close(j);
}

static void put_number(struct json_writer *j, const char *key, bool known, uint64_t value)
{
	if (known)
		json_unsigned(j, key, value);
	else
		json_null(j, key);
}

static int put_track(struct json_writer *j, const struct page_world *w, const struct page_track *track, struct buffer *name)
{
	const struct timeline *t = w->t;

	buffer_clear(name);
	if (page_track_name(w, track, name) < 0)
		return -ENOMEM;
	json_open(j, NULL, '{');
	json_unsigned(j, "id", track->track);
	json_text(j, "kind", page_track_kind_name(track->kind));
	put_number(j, "process", track->process != TIMELINE_NONE, track->process);
	put_number(j, "device", track->device != TIMELINE_NONE, track->device == TIMELINE_NONE ? 0 : t->devices[track->device].index);
	json_string(j, "name", (const char *)name->data, name->size);
	json_unsigned(j, "tid", t->tracks[track->track].os_id);
	json_unsigned(j, "rows", track->rows);
	json_unsigned(j, "slices", track->kept);
	json_close(j);
	return 0;
}

static int put_tracks(struct json_writer *j, const struct page_world *w)
{
	struct buffer name = BUFFER_INIT;
	int rc = 0;

	json_open(j, "tracks", '[');
	for (uint32_t i = 0; i < w->track_count && rc == 0; i++)
		rc = put_track(j, w, &w->tracks[i], &name);
	json_close(j);
	buffer_release(&name);
	return rc;
}

static void put_steps(struct json_writer *j, const struct timeline *t)
{
	json_open(j, "steps_ns", '[');
	for (uint32_t i = 0; i < t->step_count; i++) {
		json_open(j, NULL, '[');
		json_integer(j, NULL, t->steps[i].begin);
		json_integer(j, NULL, t->steps[i].end);
		json_integer(j, NULL, t->steps[i].number);
		json_close(j);
	}
	json_close(j);
}

int page_model_put(struct page_world *w, struct buffer *out)
{
	struct json_writer j = { .out = out, .compact = true };
	int rc;

	json_open(&j, NULL, '{');
	put_head(&j, w);
	put_windows(&j, w);
	rc = put_command(&j, w->source->path ? w->source->path : "");
	page_labels_put(&w->labels, w->t, &j);
	put_processes(&j, w);
	if (rc == 0)
		rc = put_tracks(&j, w);
	json_raw(&j, "states", (const char *)w->states_json.data, w->states_json.size);
	json_raw(&j, "counters", (const char *)w->counters_json.data, w->counters_json.size);
	put_steps(&j, w->t);
	json_close(&j);
	return rc ? -ENOMEM : j.error;
}
