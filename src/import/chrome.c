/*
 * chrome.c - files of Chrome's JSON; see chrome.h.
 *
 * One pass, event by event.  What the file says about itself may come before
 * or after the events.
 */
#include "import/chrome.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "import/importer.h"
#include "import/stranger.h"

#define TAIL ((size_t)64 << 10) /* of a file, where what comes after the events is */

static int read_event(void *arg, struct json_walk *w, struct json *j, struct error *err)
{
	struct chrome_event e;

	chrome_parse(arg, j, &e);
	return j->status == JSON_OK ? chrome_use(arg, w, j, &e, err) : 0;
}

/* ---- What a file says about itself ---------------------------------------------- */

static bool has(const struct json_text *text, const char *word)
{
	return memmem(text->data, text->size, word, strlen(word));
}

/* What kind of device it is, nobody says; but the makers are known by their names, and AMD's have 64 lanes. */
static unsigned device_kind(const struct json_text *name, int64_t warp_size)
{
	if (has(name, "AMD") || has(name, "Radeon") || has(name, "Instinct") || has(name, "gfx"))
		return DEVICE_HIP;
	if (has(name, "NVIDIA") || has(name, "Tesla") || has(name, "GeForce") || has(name, "Quadro"))
		return DEVICE_CUDA;
	if (warp_size == 64)
		return DEVICE_HIP;
	return warp_size == 32 ? DEVICE_CUDA : DEVICE_OTHER;
}

/* One object of deviceProperties: id and name, and all the rest as it is. */
static void describe_device(struct chrome *c, struct json *j)
{
	struct json_pack pack = { .data = c->pack, .limit = sizeof c->pack };
	struct json_text key, name = { "", 0, false };
	int64_t id = -1, warp_size = 0;
	struct json_value value;
	bool first = true;
	uint32_t count = 0;

	json_pack_begin(&pack);
	for (json_enter(j, '{'); json_member(j, &first, &key);) {
		json_value(j, JSON_IN_OBJECT, &value);
		if (j->status != JSON_OK)
			return;
		if (JSON_IS(&key, "id") && value.type == JSON_NUMBER) {
			json_decimal(value.text.data, value.text.size, 0, &id);
		} else if (JSON_IS(&key, "name") && value.type == JSON_STRING) {
			name = value.text;
		} else {
			size_t before = pack.size;

			if (JSON_IS(&key, "warpSize"))
				json_decimal(value.text.data, value.text.size, 0, &warp_size);
			if (json_pack_text(&pack, &key, true) && json_pack_value(&pack, &value))
				count++;
			else
				pack.size = before;
		}
	}
	json_pack_end(&pack, count);
	if (j->status != JSON_OK || id < 0 || id >= OUTPUT_NONE)
		return;
	name = chrome_plain(c, &name);
	output_device_describe(c->output, output_device(c->output, (uint64_t)id), device_kind(&name, warp_size),
			       name.data, name.size, pack.data, pack.size);
}

static void describe_devices(struct chrome *c, const struct json_value *value)
{
	struct json j = json_inside(value, false);
	bool first = true;

	if (value->type != JSON_ARRAY)
		return;
	for (json_enter(&j, '['); json_element(&j, &first);)
		if (*j.at == '{')
			describe_device(c, &j);
		else
			json_skip(&j, JSON_IN_ARRAY);
}

static void read_distributed(struct chrome *c, const struct json_value *value)
{
	struct json j = json_inside(value, false);
	int64_t rank = -1, world_size = -1;
	struct json_value number;
	struct json_text key;
	bool first = true;

	if (value->type != JSON_OBJECT)
		return;
	for (json_enter(&j, '{'); json_member(&j, &first, &key);) {
		json_value(&j, JSON_IN_OBJECT, &number);
		if (j.status != JSON_OK)
			break;
		if (JSON_IS(&key, "rank"))
			json_decimal(number.text.data, number.text.size, 0, &rank);
		else if (JSON_IS(&key, "world_size"))
			json_decimal(number.text.data, number.text.size, 0, &world_size);
	}
	if (rank >= 0)
		output_rank(c->output, rank, world_size);
}

static void keep_property(struct chrome *c, const struct json_text *key, const struct json_value *value)
{
	struct json_pack pack = { .limit = JSON_PROPERTY_MAX };
	struct json_text name = chrome_plain(c, key);
	char text[128];

	if (name.size >= sizeof text || memchr(name.data, 0, name.size) || !(pack.data = malloc(pack.limit))) {
		output_report(c->output)->cut++;
		return;
	}
	memcpy(text, name.data, name.size);
	text[name.size] = 0;
	if (json_pack_value(&pack, value))
		output_property(c->output, text, pack.data, pack.size);
	output_report(c->output)->cut += pack.cut;
	free(pack.data);
}

static void read_base_time(struct chrome *c, const struct json_value *value)
{
	int64_t ns;

	if (json_decimal(value->text.data, value->text.size, 0, &ns) && ns > 0)
		output_base_time(c->output, ns);
}

static void read_member(void *arg, const struct json_text *key, const struct json_value *value)
{
	struct chrome *c = arg;
	struct json_text text;

	if (JSON_IS(key, "deviceProperties")) {
		describe_devices(c, value);
	} else if (JSON_IS(key, "baseTimeNanoseconds")) {
		read_base_time(c, value);
	} else if (JSON_IS(key, "host_name") && value->type == JSON_STRING) {
		text = chrome_plain(c, &value->text);
		output_hostname(c->output, text.data, text.size);
	} else {
		if (JSON_IS(key, "distributedInfo"))
			read_distributed(c, value);
		keep_property(c, key, value);
	}
}

/* ---- Files ---------------------------------------------------------------------- */

/*
 * The base of all times belongs before the first event, but many a file says it at its end.  Of one that is not
 * compressed the end can be looked at first.
 */
static void find_base_time(struct chrome *c, const char *path)
{
	static const char key[] = "\"baseTimeNanoseconds\":";
	char *tail = calloc(1, TAIL + JSON_PADDING), *found;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct json_value value = { 0 };
	off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	ssize_t size = -1;

	if (tail && end > 0)
		size = pread(fd, tail, TAIL, end > (off_t)TAIL ? end - (off_t)TAIL : 0);
	if (size > 0 && (found = memmem(tail, (size_t)size, key, sizeof key - 1))) {
		struct json j = { .at = found + sizeof key - 1, .end = tail + size, .last = true };

		json_space(&j);
		json_value(&j, JSON_IN_OBJECT, &value);
		if (j.status == JSON_OK && value.type == JSON_NUMBER)
			read_base_time(c, &value);
	}
	if (fd >= 0)
		close(fd);
	free(tail);
}

static const char *const first_keys[] = {
	"ph", "name", "cat", "pid", "tid", "ts", "dur", "args", "id", "s", "bp", NULL
};
static const struct json_reader reader = {
	.event = read_event, .member = read_member, .events = "traceEvents", .first_keys = first_keys
};

static int chrome_new(struct chrome **ret, struct output *o)
{
	struct chrome *c = calloc(1, sizeof *c);

	if (!c)
		return -ENOMEM;
	c->output = o;
	c->lean = output_lean(o);
	chrome_args_init(c);
	if (chrome_places_new(&c->places, o)) {
		free(c);
		return -ENOMEM;
	}
	*ret = c;
	return 0;
}

static void chrome_free(struct chrome *c)
{
	chrome_places_free(c->places);
	buffer_release(&c->text);
	free(c);
}

static int chrome_read(const char *path, struct output *o, const struct import_options *options, struct error *err)
{
	struct chrome *c;
	int rc = chrome_new(&c, o);

	if (rc)
		return error_set(err, rc, "out of memory");
	output_format(o, IMPORT_CHROME);
	find_base_time(c, path);
	rc = json_walk_file(path, &reader, c, o, options, err);
	chrome_free(c);
	return rc;
}

int chrome_read_text(const char *text, size_t size, size_t step, struct output *o, struct error *err)
{
	struct chrome *c;
	int rc = chrome_new(&c, o);

	if (rc)
		return error_set(err, rc, "out of memory");
	output_format(o, IMPORT_CHROME);
	rc = json_walk_text(text, size, step, &reader, c, o, err);
	chrome_free(c);
	return rc;
}

/* ---- Telling it from others ----------------------------------------------------- */

static bool contains(const uint8_t *head, size_t size, const char *word)
{
	return memmem(head, size, word, strlen(word));
}

/* The first byte that is not white. */
static size_t start_of(const uint8_t *head, size_t size)
{
	size_t at = size >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	while (at < size && json_is_space((char)head[at]))
		at++;
	return at;
}

static bool is_empty_array(const uint8_t *head, size_t size, size_t at)
{
	for (at++; at < size && json_is_space((char)head[at]); at++)
		;
	return at < size && head[at] == ']';
}

/* An object that says nothing of events is one of ours if they may come later. */
static bool chrome_detect(const uint8_t *head, size_t size)
{
	static const char *const words[] = { "\"traceEvents\"", "\"ph\"", "\"deviceProperties\"", "\"distributedInfo\"",
					     "\"displayTimeUnit\"" };
	size_t at = start_of(head, size);

	if (at == size || (head[at] != '{' && head[at] != '['))
		return false;
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (contains(head, size, words[i]))
			return true;
	return head[at] == '[' ? is_empty_array(head, size, at) : size >= IMPORT_HEAD && !stranger_is_json(head, size);
}

const struct importer chrome_importer = { .format = IMPORT_CHROME, .detect = chrome_detect, .read = chrome_read };
