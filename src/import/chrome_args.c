/* chrome_args.c - the arguments of an event; see chrome.h. */
#include "import/chrome.h"

#define BIT(arg) (1u << (arg))

/* Which arguments become fields; the others stay what they are. */
static const uint32_t taken[CLASS_COUNT] = {
	[CLASS_SCOPE] = BIT(ARG_EXTERNAL_ID),
	[CLASS_OP] = BIT(ARG_EXTERNAL_ID),
	[CLASS_RUNTIME] = BIT(ARG_EXTERNAL_ID) | BIT(ARG_CORRELATION) | BIT(ARG_GRAPH),
	[CLASS_KERNEL] = BIT(ARG_EXTERNAL_ID) | BIT(ARG_CORRELATION) | BIT(ARG_DEVICE) | BIT(ARG_STREAM) |
			 BIT(ARG_GRID) | BIT(ARG_BLOCK) | BIT(ARG_SHARED_MEMORY) | BIT(ARG_REGISTERS) | BIT(ARG_BYTES) |
			 BIT(ARG_GRAPH),
	[CLASS_COPY] = BIT(ARG_EXTERNAL_ID) | BIT(ARG_CORRELATION) | BIT(ARG_DEVICE) | BIT(ARG_STREAM) |
		       BIT(ARG_BYTES) | BIT(ARG_GRAPH),
	[CLASS_SET] = BIT(ARG_EXTERNAL_ID) | BIT(ARG_CORRELATION) | BIT(ARG_DEVICE) | BIT(ARG_STREAM) | BIT(ARG_BYTES) |
		      BIT(ARG_GRAPH),
	[CLASS_SYNC] = BIT(ARG_EXTERNAL_ID) | BIT(ARG_CORRELATION) | BIT(ARG_DEVICE) | BIT(ARG_STREAM) | BIT(ARG_WAIT),
	[CLASS_DEVICE_SCOPE] = BIT(ARG_EXTERNAL_ID) | BIT(ARG_DEVICE) | BIT(ARG_STREAM),
	[CLASS_MEMORY] = BIT(ARG_BYTES) | BIT(ARG_ADDRESS),
};
#define MAY_BE_NEGATIVE (BIT(ARG_DEVICE) | BIT(ARG_STREAM) | BIT(ARG_BYTES))
#define NAMES (BIT(ARG_NAME) | BIT(ARG_LABELS)) /* of events that name something */

struct row {
	uint8_t size;
	char name[34];
	uint8_t arg;
};

/* By length; the rows of each length are neighbours. */
static const struct row rows[] = {
#define ROW(text) sizeof(text) - 1, text
	{ ROW("grid"), ARG_GRID },
	{ ROW("kind"), ARG_KIND },
	{ ROW("name"), ARG_NAME },
	{ ROW("Addr"), ARG_ADDRESS },
	{ ROW("block"), ARG_BLOCK },
	{ ROW("bytes"), ARG_BYTES },
	{ ROW("Bytes"), ARG_BYTES },
	{ ROW("dtype"), ARG_KEPT },
	{ ROW("device"), ARG_DEVICE },
	{ ROW("stream"), ARG_STREAM },
	{ ROW("queued"), ARG_KEPT },
	{ ROW("labels"), ARG_LABELS },
	{ ROW("graph id"), ARG_GRAPH },
	{ ROW("Device Id"), ARG_MEMORY },
	{ ROW("Group size"), ARG_KEPT },
	{ ROW("External id"), ARG_EXTERNAL_ID },
	{ ROW("correlation"), ARG_CORRELATION },
	{ ROW("external id"), ARG_EXTERNAL_ID },
	{ ROW("External Id"), ARG_EXTERNAL_ID },
	{ ROW("Device Type"), ARG_MEMORY },
	{ ROW("In msg size"), ARG_KEPT },
	{ ROW("Out msg size"), ARG_KEPT },
	{ ROW("In msg nelems"), ARG_KEPT },
	{ ROW("shared memory"), ARG_SHARED_MEMORY },
	{ ROW("graph node id"), ARG_KEPT },
	{ ROW("Fwd thread id"), ARG_KEPT },
	{ ROW("Out msg nelems"), ARG_KEPT },
	{ ROW("Total Reserved"), ARG_MEMORY },
	{ ROW("wait_on_stream"), ARG_KEPT },
	{ ROW("Collective name"), ARG_COLLECTIVE },
	{ ROW("Sequence number"), ARG_KEPT },
	{ ROW("Total Allocated"), ARG_MEMORY },
	{ ROW("Process Group Name"), ARG_KEPT },
	{ ROW("Process Group Ranks"), ARG_RANKS },
	{ ROW("registers per thread"), ARG_REGISTERS },
	{ ROW("memory bandwidth (GB/s)"), ARG_KEPT },
	{ ROW("est. achieved occupancy %"), ARG_KEPT },
	{ ROW("wait_on_cuda_event_record_corr_id"), ARG_WAIT },
#undef ROW
};
#define ROW_COUNT (sizeof rows / sizeof rows[0])

/* Where the rows of each length begin. */
void chrome_args_init(struct chrome *c)
{
	size_t row = 0;

	for (size_t size = 0; size < CHROME_ARG_SIZES; size++) {
		while (row < ROW_COUNT && rows[row].size < size)
			row++;
		c->first_row[size] = (uint8_t)row;
	}
}

static enum chrome_arg identify(const struct chrome *c, const struct json_text *key)
{
	if (key->size >= CHROME_ARG_SIZES - 1)
		return ARG_OTHER;
	for (size_t i = c->first_row[key->size]; i < c->first_row[key->size + 1]; i++)
		if (rows[i].name[0] == key->data[0] && memcmp(rows[i].name, key->data, key->size) == 0)
			return rows[i].arg;
	return ARG_OTHER;
}

/* [x, y, z]; what is missing is 1. */
static bool read_triple(const struct json_value *value, uint64_t *ret)
{
	struct json j = json_inside(value, false);
	uint64_t xyz[3] = { 1, 1, 1 };
	struct json_value item;
	bool first = true;
	int count = 0;

	if (value->type != JSON_ARRAY)
		return false;
	for (json_enter(&j, '['); json_element(&j, &first); count++) {
		json_value(&j, JSON_IN_ARRAY, &item);
		if (j.status != JSON_OK || count == 3 || item.type != JSON_NUMBER ||
		    !json_natural(item.text.data, item.text.size, &xyz[count]))
			return false;
	}
	if (count == 0)
		return false;
	memcpy(ret, xyz, sizeof xyz);
	return true;
}

/* Whether the argument could be taken. */
static bool take(struct chrome_args *args, enum chrome_arg arg, const struct json_value *value)
{
	switch (arg) {
	case ARG_GRID:
		if (!read_triple(value, args->grid))
			return false;
		break;
	case ARG_BLOCK:
		if (!read_triple(value, args->block))
			return false;
		break;
	case ARG_NAME:
	case ARG_LABELS:
		if (value->type != JSON_STRING)
			return false;
		args->text = value->text;
		break;
	default:
		if ((value->type != JSON_NUMBER && value->type != JSON_STRING) ||
		    !json_decimal(value->text.data, value->text.size, 0, &args->number[arg]))
			return false;
		if (args->number[arg] < 0 && !(MAY_BE_NEGATIVE & BIT(arg)))
			return false; /* fields are not, so it stays an argument */
	}
	args->present |= BIT(arg);
	return true;
}

/* How many numbers there are in [1, 2, 3], which may be a string. */
static int64_t count_ranks(const struct json_value *value)
{
	const char *at = value->text.data, *end = at + value->text.size;
	int64_t count = 0;
	bool inside = false;

	for (; at < end; at++) {
		bool digit = *at >= '0' && *at <= '9';

		count += digit && !inside;
		inside = digit;
	}
	return count;
}

static void keep(struct chrome *c, const struct json_text *key, enum chrome_arg arg, const struct json_value *value)
{
	struct chrome_args *args = &c->args;
	size_t before = args->pack.size;
	bool done = json_pack_text(&args->pack, key, true);

	if (done && arg == ARG_RANKS && c->lean)
		done = json_pack_integer(&args->pack, count_ranks(value));
	else if (done)
		done = json_pack_value(&args->pack, value);
	if (done)
		args->kept++;
	else
		args->pack.size = before;
}

static void read_arg(struct chrome *c, const struct json_text *key, const struct json_value *value, uint32_t take_mask,
		     uint32_t keep_mask)
{
	enum chrome_arg arg = identify(c, key);

	if (take_mask & BIT(arg) && take(&c->args, arg, value))
		return;
	if (arg == ARG_KIND)
		c->args.kind = value->type == JSON_STRING ? value->text : (struct json_text){ 0 };
	if (arg == ARG_COLLECTIVE)
		c->args.collective = true;
	if (keep_mask & BIT(arg))
		keep(c, key, arg, value);
}

static uint32_t keep_mask_of(const struct chrome *c, const struct chrome_event *e)
{
	uint32_t lean = BIT(ARG_COLLECTIVE) | BIT(ARG_RANKS) | BIT(ARG_KEPT);

	if (e->phase == 'M')
		return 0;
	if (!c->lean)
		return UINT32_MAX;
	return e->class == CLASS_MEMORY ? lean | BIT(ARG_MEMORY) : lean;
}

/* ---- What the event itself was like, for who writes it again ---------------------- */

static void keep_text(struct chrome *c, const char *name, const struct json_text *text)
{
	struct json_text key = { name, strlen(name), false };
	size_t before = c->args.pack.size;

	if (json_pack_text(&c->args.pack, &key, true) && json_pack_text(&c->args.pack, text, false))
		c->args.kept++;
	else
		c->args.pack.size = before;
}

static bool is_usual(const struct chrome_event *e)
{
	const char *usual = chrome_usual_category(e->class);

	switch (e->phase) {
	case 'X':
	case 'B':
	case 'E':
		return usual && e->category.size == strlen(usual) && memcmp(e->category.data, usual, e->category.size) == 0;
	case 's':
	case 't':
	case 'f': /* of the name, as a rule */
		return e->category.size == e->name.size && memcmp(e->category.data, e->name.data, e->name.size) == 0;
	default:
		return JSON_IS(&e->name, "[memory]") && JSON_IS(&e->category, "cpu_instant_event");
	}
}

/* The category, where what we make of it does not say it. */
static void keep_category(struct chrome *c, const struct chrome_event *e)
{
	if (e->category.size && (c->lean ? e->class == CLASS_OTHER : !is_usual(e)))
		keep_text(c, "cat", &e->category);
}

/* Phases that become the same as others, scopes of instants, and processes that are none. */
static void keep_rare(struct chrome *c, const struct chrome_event *e)
{
	if (strchr("tRNODvVc", e->phase))
		keep_text(c, "chrome_ph", &(struct json_text){ &e->phase, 1, false });
	if (e->scope == 'g' || e->scope == 'p')
		keep_text(c, "chrome_s", &(struct json_text){ &e->scope, 1, false });
	if (!chrome_is_pseudo(&e->pid))
		return;
	if (e->pid.type == JSON_STRING)
		keep_text(c, "chrome_pid", &e->pid.text);
	else
		keep(c, &(struct json_text){ "chrome_pid", 10, false }, ARG_OTHER, &e->pid);
}

void chrome_read_args(struct chrome *c, struct chrome_event *e, struct json *j)
{
	uint32_t take_mask = e->phase == 'M' ? NAMES : taken[e->class], keep_mask = keep_mask_of(c, e);
	struct chrome_args *args = &c->args;
	struct json_value value;
	struct json_text key;
	bool first = true;

	e->read = true;
	e->read_class = e->class;
	e->read_phase = e->phase;
	args->present = 0;
	args->collective = false;
	args->kind = args->text = (struct json_text){ 0 };
	args->kept = 0;
	args->pack = (struct json_pack){ .data = c->pack, .limit = sizeof c->pack, .careful = j->careful };
	json_pack_begin(&args->pack);
	if (e->phase && e->phase != 'M') {
		keep_category(c, e);
		if (!c->lean)
			keep_rare(c, e);
	}
	if (*j->at == '{')
		for (json_enter(j, '{'); json_member(j, &first, &key);) {
			json_value(j, JSON_IN_OBJECT, &value);
			if (j->status == JSON_OK)
				read_arg(c, &key, &value, take_mask, keep_mask);
		}
	json_pack_end(&args->pack, args->kept);
}

/* In front of what is there, which is what readers look at first. */
void chrome_keep_thread(struct chrome *c, const struct chrome_event *e)
{
	static const struct json_text key = { "chrome_tid", 10, false };
	uint8_t first[64], *data = c->args.pack.data;
	struct json_pack pair = { .data = first, .limit = sizeof first };
	size_t head = c->args.kept < 16 ? 1 : 3;

	if (c->lean || c->args.kept >= UINT16_MAX || !json_pack_text(&pair, &key, true) || !json_pack_value(&pair, &e->tid))
		return;
	if (c->args.pack.size + pair.size + 2 > c->args.pack.limit) {
		c->args.pack.cut = true;
		return;
	}
	memmove(data + 3 + pair.size, data + head, c->args.pack.size - head);
	memcpy(data + 3, first, pair.size);
	c->args.kept++;
	data[0] = 0xde; /* a map whose number of entries has 16 bits */
	data[1] = (uint8_t)(c->args.kept >> 8);
	data[2] = (uint8_t)c->args.kept;
	c->args.pack.size += pair.size + 3 - head;
}

/* ---- Counters ----------------------------------------------------------------- */

/* "NAME.key", or the name alone when there is one value only. */
static uint32_t counter_name(struct chrome *c, const struct chrome_event *e, const struct json_text *key, bool single)
{
	buffer_clear(&c->text);
	if (json_unescape(&e->name, &c->text) ||
	    (!single && (buffer_append(&c->text, ".", 1) || json_unescape(key, &c->text))))
		return OUTPUT_NONE;
	return output_string(c->output, (const char *)c->text.data, c->text.size);
}

static unsigned count_members(const struct json_value *object, bool careful)
{
	struct json j = json_inside(object, careful);
	struct json_text key;
	bool first = true;
	unsigned count = 0;

	for (json_enter(&j, '{'); json_member(&j, &first, &key) && count < 2; count++)
		json_skip(&j, JSON_IN_OBJECT);
	return count;
}

static int count_one(struct chrome *c, const struct chrome_event *e, const struct json_text *key,
		     const struct json_value *value, bool single, struct error *err)
{
	struct import_event *event = &c->event;
	double number;
	uint64_t bits;

	if ((value->type != JSON_NUMBER && value->type != JSON_STRING) ||
	    !json_double(value->text.data, value->text.size, &number))
		return 0;
	memcpy(&bits, &number, sizeof bits);
	event->present = 0;
	event->name = counter_name(c, e, key, single);
	import_event_set(event, FIELD_VALUE, bits);
	return output_event(c->output, event, err);
}

int chrome_count(struct chrome *c, const struct chrome_event *e, bool careful, struct error *err)
{
	struct json j = json_inside(&e->args, careful);
	struct json_value value;
	struct json_text key;
	bool first = true, single;
	int rc = 0;

	if (e->args.type != JSON_OBJECT)
		return 0;
	single = count_members(&e->args, careful) == 1;
	for (json_enter(&j, '{'); rc == 0 && json_member(&j, &first, &key);) {
		json_value(&j, JSON_IN_OBJECT, &value);
		if (j.status == JSON_OK)
			rc = count_one(c, e, &key, &value, single, err);
	}
	return rc;
}
