/*
 * page-streams.h - reads back the data of a report page, by docs/report-page.md alone.
 *
 *      struct page p;
 *      page_make(&p, analysis, 1000000);
 *      ... p.tracks, p.labels, p.slices ...
 *      page_close(&p);
 */
#ifndef PAGE_STREAMS_H
#define PAGE_STREAMS_H

#include <libdeflate.h>

#include "base/varint.h"
#include "import/json.h"
#include "page/page_data.h"

#define PAGE_STREAMS 11
static const char *const page_ids[PAGE_STREAMS] = { "data-model", "data-analysis", "data-row", "data-gap", "data-dur", "data-label",
						    "data-link", "data-flame", "data-states", "data-counters", "data-buckets" };
enum { P_MODEL, P_ANALYSIS, P_ROW, P_GAP, P_DUR, P_LABEL, P_LINK, P_FLAME, P_STATES, P_COUNTERS, P_BUCKETS };

struct page_bytes {
	uint8_t *data; /* JSON_PADDING zeroes follow */
	size_t size;
	bool there;
};
struct shown_track {
	int64_t id, process, device, tid, rows, slices; /* -1: null */
	char kind[16], name[256];
	uint32_t first;
};
struct shown_slice {
	uint32_t row, label;
	int64_t begin, end; /* quanta */
	int64_t link;       /* place; -1 */
};
struct shown_label {
	char category[16];
	char *text;
};
struct shown_counter {
	char name[64], unit[16];
	int64_t process, count, quantum;
	double scale;
	bool rate;
};
struct page {
	struct buffer html;
	struct page_data_facts facts;
	struct page_bytes streams[PAGE_STREAMS];
	int64_t duration, quantum, slices_here, slices_all, least, buckets;
	bool exact, links;
	int64_t windows[64][2], view[2]; /* 0, 0: none */
	char *command;
	size_t window_count;
	struct shown_track *tracks;
	struct shown_label *labels;
	struct shown_counter *counters;
	struct shown_slice *slices;
	int64_t (*states)[2]; /* track, count */
	int64_t (*steps)[3];
	size_t track_count, label_count, counter_count, slice_count, state_count, step_count, process_count;
};

/* ---- Elements ---- */

static inline int base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static inline size_t base64_decode(const char *text, size_t size, uint8_t *out)
{
	size_t n = 0;

	assert_int_equal(size % 4, 0);
	for (size_t i = 0; i < size; i += 4) {
		int padding = (text[i + 2] == '=') + (text[i + 3] == '=');
		uint32_t bits = 0;

		for (int k = 0; k < 4; k++) {
			int digit = k >= 4 - padding ? 0 : base64_digit(text[i + (size_t)k]);

			assert_true(digit >= 0);
			bits = bits << 6 | (uint32_t)digit;
		}
		assert_true(padding == 0 || i + 4 == size);
		for (int k = 0; k < 3 - padding; k++)
			out[n++] = (uint8_t)(bits >> (16 - 8 * k));
	}
	return n;
}

static inline void page_read_stream(struct page *p, const char *html, unsigned id)
{
	struct libdeflate_decompressor *inflate = libdeflate_alloc_decompressor();
	struct page_bytes *s = &p->streams[id];
	char front[80];
	const char *at, *end;
	uint8_t *packed;
	size_t size, got = 0;

	snprintf(front, sizeof front, "<script type=\"text/plain\" id=\"%s\" data-bytes=\"", page_ids[id]);
	at = strstr(html, front);
	if (at) {
		s->there = true;
		s->size = strtoul(at + strlen(front), (char **)&at, 10);
		assert_int_equal(memcmp(at, "\">", 2), 0);
		at += 2;
		end = strchr(at, '<');
		assert_int_equal(memcmp(end, "</script>\n", 10), 0);
		packed = malloc((size_t)(end - at) + 1);
		size = base64_decode(at, (size_t)(end - at), packed);
		s->data = calloc(1, s->size + JSON_PADDING);
		assert_int_equal(libdeflate_deflate_decompress(inflate, packed, size, s->data, s->size, &got), LIBDEFLATE_SUCCESS);
		assert_int_equal(got, s->size);
		free(packed);
	}
	libdeflate_free_decompressor(inflate);
}

/* ---- The model ---- */

static inline int64_t page_integer(const struct json_value *v)
{
	int64_t n = -1;

	if (v->type == JSON_NULL)
		return -1;
	assert_int_equal(v->type, JSON_NUMBER);
	assert_true(json_decimal(v->text.data, v->text.size, 0, &n));
	return n;
}

static inline bool page_bool(const struct json_value *v)
{
	assert_true(v->type == JSON_TRUE || v->type == JSON_FALSE);
	return v->type == JSON_TRUE;
}

static inline char *page_string(const struct json_value *v)
{
	struct buffer out = BUFFER_INIT;

	assert_int_equal(v->type, JSON_STRING);
	assert_int_equal(json_unescape(&v->text, &out), 0);
	assert_int_equal(buffer_append(&out, "", 1), 0);
	return (char *)out.data;
}

static inline void page_copy_string(char *to, size_t room, const struct json_value *v)
{
	char *text = page_string(v);

	snprintf(to, room, "%s", text);
	free(text);
}

#define FOR_MEMBERS(value, key, item) \
	for (struct json in_ = json_inside(value, false), *j_ = (json_enter(&in_, '{'), &in_); j_; assert_int_equal(in_.status, JSON_OK), j_ = NULL) \
		for (bool first_ = true; json_member(&in_, &first_, &key) && (json_value(&in_, JSON_IN_OBJECT, &item), true);)
#define FOR_ELEMENTS(value, item) \
	for (struct json in_ = json_inside(value, false), *j_ = (json_enter(&in_, '['), &in_); j_; assert_int_equal(in_.status, JSON_OK), j_ = NULL) \
		for (bool first_ = true; json_element(&in_, &first_) && (json_value(&in_, JSON_IN_ARRAY, &item), true);)

static inline size_t page_elements(const struct json_value *v)
{
	struct json_value item;
	size_t n = 0;

	FOR_ELEMENTS(v, item)
		n++;
	return n;
}

static inline void page_read_track(struct shown_track *t, const struct json_value *v)
{
	struct json_text key;
	struct json_value item;

	FOR_MEMBERS(v, key, item) {
		if (JSON_IS(&key, "id"))
			t->id = page_integer(&item);
		else if (JSON_IS(&key, "process"))
			t->process = page_integer(&item);
		else if (JSON_IS(&key, "device"))
			t->device = page_integer(&item);
		else if (JSON_IS(&key, "tid"))
			t->tid = page_integer(&item);
		else if (JSON_IS(&key, "rows"))
			t->rows = page_integer(&item);
		else if (JSON_IS(&key, "slices"))
			t->slices = page_integer(&item);
		else if (JSON_IS(&key, "kind"))
			page_copy_string(t->kind, sizeof t->kind, &item);
		else if (JSON_IS(&key, "name"))
			page_copy_string(t->name, sizeof t->name, &item);
		else
			fail_msg("a track has a key %.*s", (int)key.size, key.data);
	}
}

static inline void page_read_counter(struct shown_counter *c, const struct json_value *v)
{
	struct json_text key;
	struct json_value item;

	FOR_MEMBERS(v, key, item) {
		if (JSON_IS(&key, "name"))
			page_copy_string(c->name, sizeof c->name, &item);
		else if (JSON_IS(&key, "unit"))
			page_copy_string(c->unit, sizeof c->unit, &item);
		else if (JSON_IS(&key, "process"))
			c->process = page_integer(&item);
		else if (JSON_IS(&key, "count"))
			c->count = page_integer(&item);
		else if (JSON_IS(&key, "quantum_ns"))
			c->quantum = page_integer(&item);
		else if (JSON_IS(&key, "scale"))
			assert_true(json_double(item.text.data, item.text.size, &c->scale));
		else if (JSON_IS(&key, "rate"))
			c->rate = page_bool(&item);
		else
			fail_msg("a counter has a key %.*s", (int)key.size, key.data);
	}
}

static inline void page_read_label(struct shown_label *l, const struct json_value *v)
{
	struct json_value item;
	unsigned n = 0;

	FOR_ELEMENTS(v, item) {
		if (n++ == 0)
			page_copy_string(l->category, sizeof l->category, &item);
		else
			l->text = page_string(&item);
	}
	assert_int_equal(n, 2);
}

static inline void page_read_numbers(const struct json_value *v, int64_t *to, unsigned count)
{
	struct json_value item;
	unsigned n = 0;

	FOR_ELEMENTS(v, item) {
		assert_true(n < count);
		to[n++] = page_integer(&item);
	}
	assert_int_equal(n, count);
}

static inline void page_read_state(int64_t *to, const struct json_value *v)
{
	struct json_text key;
	struct json_value item;

	FOR_MEMBERS(v, key, item)
		to[JSON_IS(&key, "count")] = page_integer(&item);
}

#define PAGE_LIST(list, count, value, read) \
	do { \
		struct json_value item_; \
		(list) = calloc(page_elements(value) + 1, sizeof *(list)); \
		FOR_ELEMENTS(value, item_) \
			read; \
	} while (0)

static inline void page_read_list(struct page *p, const struct json_text *key, const struct json_value *v)
{
	if (JSON_IS(key, "tracks"))
		PAGE_LIST(p->tracks, p->track_count, v, page_read_track(&p->tracks[p->track_count++], &item_));
	else if (JSON_IS(key, "labels"))
		PAGE_LIST(p->labels, p->label_count, v, page_read_label(&p->labels[p->label_count++], &item_));
	else if (JSON_IS(key, "counters"))
		PAGE_LIST(p->counters, p->counter_count, v, page_read_counter(&p->counters[p->counter_count++], &item_));
	else if (JSON_IS(key, "states"))
		PAGE_LIST(p->states, p->state_count, v, page_read_state(p->states[p->state_count++], &item_));
	else if (JSON_IS(key, "steps_ns"))
		PAGE_LIST(p->steps, p->step_count, v, page_read_numbers(&item_, p->steps[p->step_count++], 3));
	else if (JSON_IS(key, "processes"))
		p->process_count = page_elements(v);
}

static inline void page_read_windows(struct page *p, const struct json_value *v)
{
	struct json_value item;

	FOR_ELEMENTS(v, item) {
		assert_true(p->window_count < 64);
		page_read_numbers(&item, p->windows[p->window_count++], 2);
	}
}

static inline void page_read_model(struct page *p)
{
	struct json_value all = { JSON_OBJECT, { (const char *)p->streams[P_MODEL].data, p->streams[P_MODEL].size, false } }, item;
	struct json_text key;

	assert_true(p->streams[P_MODEL].there);
	FOR_MEMBERS(&all, key, item) {
		if (JSON_IS(&key, "format"))
			assert_int_equal(page_integer(&item), 1);
		else if (JSON_IS(&key, "duration_ns"))
			p->duration = page_integer(&item);
		else if (JSON_IS(&key, "quantum_ns"))
			p->quantum = page_integer(&item);
		else if (JSON_IS(&key, "slices"))
			p->slices_all = page_integer(&item);
		else if (JSON_IS(&key, "slices_here"))
			p->slices_here = page_integer(&item);
		else if (JSON_IS(&key, "least_ns"))
			p->least = page_integer(&item);
		else if (JSON_IS(&key, "buckets"))
			p->buckets = page_integer(&item);
		else if (JSON_IS(&key, "exact"))
			p->exact = page_bool(&item);
		else if (JSON_IS(&key, "links"))
			p->links = page_bool(&item);
		else if (JSON_IS(&key, "command"))
			p->command = page_string(&item);
		else if (JSON_IS(&key, "view_ns"))
			page_read_numbers(&item, p->view, 2);
		else if (JSON_IS(&key, "windows_ns"))
			page_read_windows(p, &item);
		else
			page_read_list(p, &key, &item);
	}
}

/* ---- Slices ---- */

#define PAGE_ROWS 65536

/* The rule of the document, the slow way. */
static inline int64_t page_cursor(const struct shown_slice *track, size_t n, uint32_t row)
{
	for (size_t i = n; i-- > 0 && track[i].row >= row;)
		if (track[i].row == row)
			return track[i].end;
	for (size_t i = n; i-- > 0 && row > 0;)
		if (track[i].row == row - 1)
			return track[i].begin;
	return 0;
}

static inline struct cursor page_column(const struct page *p, unsigned id)
{
	return cursor_of(p->streams[id].data, p->streams[id].size);
}

static inline void page_read_slices(struct page *p)
{
	struct cursor row = page_column(p, P_ROW), gap = page_column(p, P_GAP), dur = page_column(p, P_DUR);
	struct cursor label = page_column(p, P_LABEL), link = page_column(p, P_LINK);
	size_t all = 0;

	for (size_t i = 0; i < p->track_count; i++)
		all += (size_t)p->tracks[i].slices;
	assert_int_equal(all, p->slices_here);
	p->slices = calloc(all + 1, sizeof *p->slices);
	for (size_t i = 0; i < p->track_count; i++) {
		struct shown_slice *track = &p->slices[p->slice_count];
		int64_t before = -1, linked = 0;

		p->tracks[i].first = (uint32_t)p->slice_count;
		for (size_t n = 0; n < (size_t)p->tracks[i].slices; n++) {
			struct shown_slice *s = &track[n];
			int64_t r = before + 1 - cursor_sv(&row);
			uint64_t l;

			assert_in_range(r, 0, p->tracks[i].rows - 1);
			before = r;
			s->row = (uint32_t)r;
			s->begin = page_cursor(track, n, s->row) + cursor_sv(&gap);
			s->end = s->begin + (int64_t)cursor_uv(&dur);
			s->label = (uint32_t)cursor_uv(&label);
			assert_true(s->label < p->label_count);
			l = p->links ? cursor_uv(&link) : 0;
			s->link = l ? linked + zigzag_decode(l - 1) : -1;
			linked = l ? s->link : linked;
		}
		p->slice_count += (size_t)p->tracks[i].slices;
	}
	assert_false(row.bad || gap.bad || dur.bad || label.bad || link.bad);
	assert_int_equal(cursor_left(&row) + cursor_left(&gap) + cursor_left(&dur) + cursor_left(&label) + cursor_left(&link), 0);
}

/* ---- All of it ---- */

static inline void page_read(struct page *p)
{
	for (unsigned i = 0; i < PAGE_STREAMS; i++)
		page_read_stream(p, (const char *)p->html.data, i);
	page_read_model(p);
	page_read_slices(p);
	assert_int_equal(p->facts.slices, p->slices_all);
	assert_int_equal(p->facts.slices_here, p->slices_here);
	assert_int_equal(p->facts.quantum, p->quantum);
	assert_int_equal(p->facts.exact, p->exact);
	assert_int_equal(p->facts.links, p->links);
}

static inline void page_make_of(struct page *p, const struct analysis *a, const char *path, const struct page_options *options)
{
	const struct report_source source = { .path = path, .format = "sbt", .version = "1" };

	*p = (struct page){ 0 };
	assert_int_equal(page_data_append(a, &source, options, &p->html, &p->facts), 0);
	assert_int_equal(buffer_append(&p->html, "", 1), 0);
	p->html.size--;
	page_read(p);
}

static inline void page_make(struct page *p, const struct analysis *a, size_t most)
{
	page_make_of(p, a, "/tmp/trace.sbt", &(struct page_options){ .size_most = most });
}

static inline void page_close(struct page *p)
{
	for (unsigned i = 0; i < PAGE_STREAMS; i++)
		free(p->streams[i].data);
	for (size_t i = 0; i < p->label_count; i++)
		free(p->labels[i].text);
	free(p->tracks);
	free(p->labels);
	free(p->counters);
	free(p->slices);
	free(p->states);
	free(p->steps);
	free(p->command);
	buffer_release(&p->html);
}

static inline int64_t rounded(int64_t time, int64_t quantum)
{
	return (time + quantum / 2) / quantum;
}

#endif
