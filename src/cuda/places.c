/*
 * places.c - devices, contexts, streams and threads: where events belong.
 *
 * Numbers of streams are a context's.  What a device is called is said once, with
 * the first of its streams; nothing that is learnt later changes it.
 */
#include <stdio.h>

#include "cuda/cuda.h"

#define DEVICES 64u
#define CONTEXTS 256u
#define STREAMS 8192u  /* in their table, which is at most half full */
#define THREADS 4096u
#define NAME_BYTES 64u

struct device {
	char text[512]; /* its part of descriptions */
	bool visible;   /* to the program: others may have the same number */
	bool used;      /* what it is called has been said */
	struct gpu_stream rest; /* for streams that there is no room for; description 0 until then */
	struct gpu_stream wide, state; /* for what is no stream's; likewise */
	uint32_t first; /* of its streams, plus 1 */
};

struct context {
	uint32_t number, device; /* plus 1 */
	uint32_t default_stream; /* 0: not known */
};

struct stream {
	bool used, described;
	uint32_t device, context, number;
	struct gpu_stream stream;
	char name[NAME_BYTES];
};

static struct {
	struct device devices[DEVICES];
	struct context contexts[CONTEXTS];
	uint32_t context_count;
	struct stream streams[STREAMS];
	uint32_t stream_count;
	struct cuda_thread threads[THREADS];
	uint16_t thread_places[2 * THREADS]; /* place in threads plus 1, by a hash of the id */
	uint32_t thread_count;
	struct gpu_stream process;
	bool process_described;
} *places;

bool cuda_places_map(void)
{
	places = cuda_memory_take(sizeof *places);
	return places != NULL;
}

/* Tables have free places, or looking something up would have no end; numbers are places that there are; texts end. */
bool cuda_places_sound(void)
{
	uint32_t streams = 0, threads = 0;

	for (uint32_t i = 0; i < DEVICES; i++) {
		places->devices[i].text[sizeof places->devices[i].text - 1] = '\0';
		if (places->devices[i].first > STREAMS)
			return false;
	}
	for (uint32_t i = 0; i < STREAMS; i++) {
		places->streams[i].name[NAME_BYTES - 1] = '\0';
		streams += places->streams[i].used;
	}
	for (uint32_t i = 0; i < 2 * THREADS; i++) {
		threads += places->thread_places[i] != 0;
		if (places->thread_places[i] > THREADS)
			return false;
	}
	return streams <= STREAMS / 2 && threads <= THREADS && places->stream_count <= STREAMS / 2 && places->thread_count <= THREADS &&
	       places->context_count <= CONTEXTS;
}

/* ---- Devices ----------------------------------------------------------------------- */

static void add(char *text, size_t size, const char *key, uint64_t value)
{
	size_t used = strlen(text);

	if (value)
		snprintf(text + used, size - used, "\n%s=%llu", key, (unsigned long long)value);
}

/* As nvidia-smi and NVML write it. */
static void add_uuid(char *text, size_t size, const uint8_t id[16])
{
	static const unsigned gaps = 1u << 0 | 1u << 4 | 1u << 6 | 1u << 8 | 1u << 10;
	size_t used = strlen(text) + (size_t)snprintf(text + strlen(text), size - strlen(text), "\nuuid=GPU");

	for (unsigned i = 0; i < 16 && used + 4 < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%02x", gaps >> i & 1 ? "-" : "", id[i]);
}

static void learn_device(struct record r)
{
	uint32_t number = record_u32(r, AT_DEVICE_NUMBER);
	struct device *d = number < DEVICES ? &places->devices[number] : NULL;
	char name[128];

	if (!d || d->used || d->visible)
		return;
	d->visible = record_u8(r, AT_DEVICE_VISIBLE);
	if (!cuda_text(record_u64(r, AT_DEVICE_NAME), name, sizeof name))
		snprintf(name, sizeof name, "GPU %u", number);
	name[strcspn(name, "\n")] = '\0';
	snprintf(d->text, sizeof d->text, "kind=cuda\nindex=%u\nname=%s", number, name);
	add_uuid(d->text, sizeof d->text, r.at + AT_DEVICE_UUID);
	add(d->text, sizeof d->text, "totalGlobalMem", record_u64(r, AT_DEVICE_MEMORY));
	add(d->text, sizeof d->text, "computeMajor", record_u32(r, AT_DEVICE_MAJOR));
	add(d->text, sizeof d->text, "computeMinor", record_u32(r, AT_DEVICE_MINOR));
	add(d->text, sizeof d->text, "numSms", record_u32(r, AT_DEVICE_PROCESSORS));
	add(d->text, sizeof d->text, "clockMHz", record_u32(r, AT_DEVICE_CLOCK) / 1000);
	add(d->text, sizeof d->text, "memoryBandwidthKBs", record_u64(r, AT_DEVICE_BANDWIDTH));
	add(d->text, sizeof d->text, "copyEngines", record_u32(r, AT_DEVICE_COPY_ENGINES));
}

static void learn_outside(struct runtime_thread *t, struct record r, unsigned kind)
{
	(void)t;
	if (kind == KIND_DEVICE)
		learn_device(r);
}

/* Devices beyond what there is room for are taken for the last one.  What a device is may be told in a buffer that does not come back
 * because something in it still runs, while another thread uses the device. */
static struct device *device_of(uint32_t number)
{
	struct device *d = &places->devices[number < DEVICES ? number : DEVICES - 1];

	if (!d->text[0])
		cuda_buffers_look_outside(&inferscope_thread, learn_outside);
	if (!d->text[0])
		snprintf(d->text, sizeof d->text, "kind=cuda\nindex=%u\nname=GPU %u", number, number);
	d->used = true;
	return d;
}

/* ---- Contexts ---------------------------------------------------------------------- */

static struct context *find_context(uint32_t number)
{
	for (uint32_t i = places->context_count; i-- > 0;)
		if (places->contexts[i].number == number)
			return &places->contexts[i];
	return NULL;
}

void cuda_places_see(uint32_t device, uint32_t context)
{
	struct context *c = find_context(context);

	if (!c && places->context_count < CONTEXTS) {
		c = &places->contexts[places->context_count++];
		c->number = context;
	}
	if (c)
		c->device = device + 1;
}

/* The first context that a device had is not worth mentioning. */
static bool is_first(uint32_t device, uint32_t context)
{
	for (uint32_t i = 0; i < places->context_count; i++)
		if (places->contexts[i].device == device + 1)
			return places->contexts[i].number == context;
	return true;
}

static void learn_context(struct record r)
{
	uint32_t number = record_u32(r, AT_CONTEXT_CONTEXT);
	struct context *c;

	cuda_places_see(record_u32(r, AT_CONTEXT_DEVICE), number);
	c = find_context(number);
	if (c)
		c->default_stream = record_u16(r, AT_CONTEXT_NULL_STREAM);
}

/* ---- Streams ----------------------------------------------------------------------- */

/* Its place, free or not; NULL when there are too many. */
static struct stream *place_of(uint32_t device, uint32_t context, uint32_t number)
{
	uint32_t at = (number * 0x9e3779b1u ^ context * 0x85ebca6bu ^ device * 0xc2b2ae35u) >> 3;
	struct stream *s;

	for (;; at++) {
		s = &places->streams[at % STREAMS];
		if (s->used && s->device == device && s->context == context && s->number == number)
			return s;
		if (!s->used)
			break;
	}
	if (places->stream_count == STREAMS / 2)
		return NULL;
	places->stream_count++;
	s->used = true;
	s->device = device;
	s->context = context;
	s->number = number;
	return s;
}

static void learn_name(struct record r)
{
	struct stream *s;

	if (record_u32(r, AT_NAME_OBJECT) != 5) /* a stream */
		return;
	s = place_of(record_u32(r, AT_NAME_DEVICE), record_u32(r, AT_NAME_CONTEXT), record_u32(r, AT_NAME_STREAM));
	if (s && !s->described && cuda_text(record_u64(r, AT_NAME_NAME), s->name, sizeof s->name))
		s->name[strcspn(s->name, "\n")] = '\0';
}

static void name_stream(char *text, size_t size, const struct stream *s)
{
	const struct context *c = find_context(s->context);
	size_t used;

	if (s->name[0])
		snprintf(text, size, "%s", s->name);
	else if (c && c->default_stream && c->default_stream == s->number)
		snprintf(text, size, "stream %u (default)", s->number);
	else
		snprintf(text, size, "stream %u", s->number);
	used = strlen(text);
	if (!is_first(s->device, s->context))
		snprintf(text + used, size - used, ", context %u", s->context);
}

static void describe(struct runtime_thread *t, struct stream *s, struct device *d)
{
	char text[NAME_MAX_BYTES], name[2 * NAME_BYTES];

	name_stream(name, sizeof name, s);
	snprintf(text, sizeof text, "%s\n\nstream=%u\nname=%s", d->text, s->number, name);
	gpu_stream_init(&s->stream, t, text);
	s->described = true;
	if (!d->first)
		d->first = (uint32_t)(s - places->streams) + 1;
}

/* Of a device, but of none of its streams. */
static const struct gpu_stream *other_of(struct runtime_thread *t, const struct device *d, struct gpu_stream *other, const char *what)
{
	char text[NAME_MAX_BYTES];

	if (!other->description) {
		snprintf(text, sizeof text, "%s\n\n%s", d->text, what);
		gpu_stream_init(other, t, text);
	}
	return other;
}

const struct gpu_stream *cuda_stream(struct runtime_thread *t, uint32_t device, uint32_t context, uint32_t number)
{
	struct stream *s = place_of(device, context, number);
	struct device *d = device_of(device);

	if (!s)
		return other_of(t, d, &d->rest, "name=further streams");
	if (!s->described)
		describe(t, s, d);
	return &s->stream;
}

const struct gpu_stream *cuda_stream_of_context(struct runtime_thread *t, uint32_t context, uint32_t stream)
{
	const struct context *c = find_context(context);

	if (!c || !c->device || stream == NO_CUDA_STREAM)
		return cuda_process(t);
	return cuda_stream(t, c->device - 1, context, stream);
}

const struct gpu_stream *cuda_device(struct runtime_thread *t, uint32_t number)
{
	struct device *d = number < DEVICES ? device_of(number) : NULL;

	return d ? other_of(t, d, &d->wide, "of=process") : cuda_process(t);
}

static bool has_context(uint32_t device)
{
	for (uint32_t i = 0; i < places->context_count; i++)
		if (places->contexts[i].device == device + 1)
			return true;
	return false;
}

/* At its start the driver makes a pool on each device that there is. */
const struct gpu_stream *cuda_device_in_use(struct runtime_thread *t, uint32_t number)
{
	return has_context(number) ? cuda_device(t, number) : cuda_process(t);
}

const struct gpu_stream *cuda_device_state(struct runtime_thread *t, uint32_t number)
{
	struct device *d = number < DEVICES && has_context(number) ? device_of(number) : NULL;

	return d ? other_of(t, d, &d->state, "of=device") : NULL;
}

const struct gpu_stream *cuda_process(struct runtime_thread *t)
{
	if (!places->process_described)
		gpu_stream_init(&places->process, t, "process");
	places->process_described = true;
	return &places->process;
}

void cuda_places_pair(struct runtime_thread *t, const struct gpu_pair *pair)
{
	for (uint32_t i = 0; i < DEVICES; i++)
		if (places->devices[i].first)
			gpu_emit_pair(t, &places->streams[places->devices[i].first - 1].stream, pair);
}

void cuda_places_learn(struct record r, unsigned kind)
{
	if (kind == KIND_DEVICE)
		learn_device(r);
	else if (kind == KIND_CONTEXT)
		learn_context(r);
	else if (kind == KIND_NAME)
		learn_name(r);
}

/* ---- Threads ----------------------------------------------------------------------- */

struct cuda_thread *cuda_thread(struct runtime_thread *t, uint32_t tid)
{
	uint32_t at = tid * 0x9e3779b1u >> 16;
	char text[32];
	struct cuda_thread *thread;

	if (tid == 0)
		return NULL;
	for (; places->thread_places[at % (2 * THREADS)]; at++) {
		thread = &places->threads[places->thread_places[at % (2 * THREADS)] - 1];
		if (thread->tid == tid)
			return thread;
	}
	if (places->thread_count == THREADS)
		return NULL;
	thread = &places->threads[places->thread_count];
	snprintf(text, sizeof text, "thread=%u", tid);
	gpu_stream_init(&thread->stream, t, text);
	thread->tid = tid; /* last: an heir finds all of it or nothing */
	places->thread_places[at % (2 * THREADS)] = (uint16_t)++places->thread_count;
	return thread;
}

uint32_t cuda_thread_number(const struct cuda_thread *thread)
{
	return thread ? (uint32_t)(thread - places->threads) + 1 : 0;
}

const struct cuda_thread *cuda_thread_at(uint32_t number)
{
	return number && number <= THREADS ? &places->threads[number - 1] : NULL;
}
