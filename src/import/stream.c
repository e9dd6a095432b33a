/*
 * stream.c - see stream.h.
 *
 * A thread fills a ring of buffers.  Each has room before its bytes for those
 * that the window before left over, so that hardly anything is copied; only
 * when more than that is left over are both put together in a buffer of their
 * own.
 */
#include "import/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/stream_gzip.h"
#include "import/stream_unpack.h"

#define RING 3                       /* one in use, one full, one being filled */
#define HEADROOM ((size_t)128 << 10) /* for what is left over */
#define PROGRESS_STEP ((uint64_t)4 << 20)
#define RATIO_FROM ((uint64_t)256 << 20)

struct piece {
	uint8_t *memory; /* HEADROOM, STREAM_WINDOW, STREAM_PADDING */
	size_t size;
};

struct stream {
	char *path;
	struct import_options options;
	uint64_t file_size;
	struct unpack *unpack; /* the thread's */
	struct piece pieces[RING];

	pthread_t thread;
	bool running;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock */
	uint64_t filled, taken, returned; /* pieces */
	uint64_t produced;                /* bytes */
	bool ended, stop;
	char damage[160];

	/* the reader's */
	const char *window;
	size_t size;
	bool last, holds; /* holds: the window is in piece taken - 1 */
	uint64_t offset, reported;
	struct buffer together;
	bool damaged;
};

static uint64_t max_bytes(const struct stream *s)
{
	return s->options.max_bytes ? s->options.max_bytes : IMPORT_MAX_BYTES;
}

static unsigned max_ratio(const struct stream *s)
{
	return s->options.max_ratio ? s->options.max_ratio : IMPORT_MAX_RATIO;
}

/* ---- The thread that fills --------------------------------------------------- */

/* The limits.  How much of the piece is within them; *ended when it is the last. */
static size_t hold_limits(struct stream *s, uint64_t before, size_t size, bool *ended, char *damage, size_t room)
{
	uint64_t total = before + size, packed = unpack_position(s->unpack);

	if (total > max_bytes(s)) {
		*ended = true;
		snprintf(damage, room, "it has more than %llu bytes uncompressed, which is the limit",
			 (unsigned long long)max_bytes(s));
		return (size_t)(max_bytes(s) - before);
	}
	if (unpack_compressed(s->unpack) && total >= RATIO_FROM && total / max_ratio(s) > packed) {
		*ended = true;
		snprintf(damage, room, "it is more than %u times as large uncompressed as it is stored, which is the limit",
			 max_ratio(s));
	}
	return size;
}

/* Waits until piece `number` may be filled.  False when nobody wants it. */
static bool wait_for_room(struct stream *s, uint64_t number)
{
	bool go;

	pthread_mutex_lock(&s->lock);
	while (!s->stop && number >= s->returned + RING)
		pthread_cond_wait(&s->changed, &s->lock);
	go = !s->stop;
	pthread_mutex_unlock(&s->lock);
	return go;
}

static void publish(struct stream *s, size_t size, bool ended, const char *damage)
{
	pthread_mutex_lock(&s->lock);
	s->filled++;
	s->produced += size;
	s->ended = ended;
	snprintf(s->damage, sizeof s->damage, "%s", damage);
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void *fill(void *arg)
{
	struct stream *s = arg;
	uint64_t total = 0;
	bool ended = false;

	for (uint64_t number = 0; !ended && wait_for_room(s, number); number++) {
		struct piece *p = &s->pieces[number % RING];
		char damage[sizeof s->damage] = "";
		int64_t got = unpack_read(s->unpack, p->memory + HEADROOM, STREAM_WINDOW);

		ended = got < (int64_t)STREAM_WINDOW;
		if (unpack_damage(s->unpack))
			snprintf(damage, sizeof damage, "%s", unpack_damage(s->unpack));
		p->size = hold_limits(s, total, got < 0 ? 0 : (size_t)got, &ended, damage, sizeof damage);
		memset(p->memory + HEADROOM + p->size, 0, STREAM_PADDING);
		total += p->size;
		publish(s, p->size, ended, damage);
	}
	return NULL;
}

/* ---- Opening ----------------------------------------------------------------- */

static int open_file(const char *path, struct stat *ret_stat, struct error *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;

	if (fd < 0 || fstat(fd, &st)) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		return error_errno(err, rc, "cannot open %s", path);
	}
	if (!S_ISREG(st.st_mode)) {
		close(fd);
		if (S_ISDIR(st.st_mode))
			return error_set(err, -EISDIR, "%s is a folder", path);
		if (S_ISFIFO(st.st_mode))
			return error_set(err, -EINVAL, "%s is a pipe: give - in its place, and send the trace to standard input", path);
		return error_set(err, -EINVAL, "%s is not a regular file", path);
	}
	*ret_stat = st;
	return fd;
}

static int allocate(struct stream *s, const char *path)
{
	s->path = strdup(path);
	if (!s->path)
		return -ENOMEM;
	for (int i = 0; i < RING; i++) {
		s->pieces[i].memory = malloc(HEADROOM + STREAM_WINDOW + STREAM_PADDING);
		if (!s->pieces[i].memory)
			return -ENOMEM;
	}
	return 0;
}

int stream_open(struct stream **ret, const char *path, const struct import_options *options, struct error *err)
{
	struct stream *s;
	struct stat st = { 0 };
	int fd = open_file(path, &st, err), rc;

	if (fd < 0)
		return fd;
	s = calloc(1, sizeof *s);
	if (!s) {
		close(fd);
		return error_set(err, -ENOMEM, "out of memory");
	}
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	if (options)
		s->options = *options;
	s->file_size = (uint64_t)st.st_size;
	rc = unpack_new(&s->unpack, fd, err);
	if (rc == 0)
		rc = allocate(s, path) ? error_set(err, -ENOMEM, "out of memory") : 0;
	if (rc == 0) {
		rc = -pthread_create(&s->thread, NULL, fill, s);
		s->running = rc == 0;
		if (rc)
			error_errno(err, rc, "cannot start a thread to read %s", path);
	}
	if (rc) {
		stream_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void stream_close(struct stream *s)
{
	if (!s)
		return;
	if (s->running) {
		pthread_mutex_lock(&s->lock);
		s->stop = true;
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->thread, NULL);
	}
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	unpack_free(s->unpack);
	for (int i = 0; i < RING; i++)
		free(s->pieces[i].memory);
	buffer_release(&s->together);
	free(s->path);
	free(s);
}

/* ---- Windows ----------------------------------------------------------------- */

static void give_back(struct stream *s)
{
	pthread_mutex_lock(&s->lock);
	s->returned = s->taken;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	s->holds = false;
}

/* The next piece, waited for. */
static struct piece *take(struct stream *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->taken == s->filled)
		pthread_cond_wait(&s->changed, &s->lock);
	s->taken++;
	s->last = s->ended && s->taken == s->filled;
	s->damaged = s->last && s->damage[0];
	pthread_mutex_unlock(&s->lock);
	return &s->pieces[(s->taken - 1) % RING];
}

static void report_progress(struct stream *s)
{
	uint64_t position;

	if (!s->options.progress)
		return;
	position = unpack_position(s->unpack);
	if (position > s->file_size)
		position = s->file_size;
	if (!s->last && position - s->reported < PROGRESS_STEP)
		return;
	s->reported = position;
	s->options.progress(s->options.progress_arg, s->path, s->last ? s->file_size : position, s->file_size);
}

/* The bytes left over, in a buffer of their own: where they were is going to be filled again. */
static int keep_apart(struct stream *s, const char *rest, size_t size)
{
	bool inside =
		s->together.data && rest >= (char *)s->together.data && rest < (char *)s->together.data + s->together.capacity;
	int rc;

	if (inside) {
		memmove(s->together.data, rest, size);
		s->together.size = size;
	} else {
		buffer_clear(&s->together);
		rc = buffer_append(&s->together, rest, size);
		if (rc)
			return rc;
	}
	return buffer_reserve(&s->together, STREAM_WINDOW + STREAM_PADDING);
}

/* A little left over goes in front of the next piece. */
static void next_in_place(struct stream *s, const char *rest, size_t size)
{
	struct piece *p = take(s);

	if (size)
		memcpy(p->memory + HEADROOM - size, rest, size);
	s->window = (char *)p->memory + HEADROOM - size;
	s->size = size + p->size;
	if (s->taken > 1 && s->returned + 1 < s->taken) {
		pthread_mutex_lock(&s->lock);
		s->returned = s->taken - 1;
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->lock);
	}
	s->holds = true;
}

static int next_together(struct stream *s, const char *rest, size_t size, struct error *err)
{
	struct piece *p;
	int rc = keep_apart(s, rest, size);

	if (rc)
		return error_set(err, rc, "out of memory");
	if (s->holds)
		give_back(s);
	p = take(s);
	buffer_append(&s->together, p->memory + HEADROOM, p->size + STREAM_PADDING);
	s->together.size -= STREAM_PADDING;
	s->window = (char *)s->together.data;
	s->size = s->together.size;
	give_back(s);
	return 0;
}

int stream_next(struct stream *s, size_t used, const char **ret_data, size_t *ret_size, bool *ret_last, struct error *err)
{
	size_t rest = s->size - (used < s->size ? used : s->size);
	const char *from = s->size ? s->window + (s->size - rest) : s->window;
	int rc = 0;

	if (s->last) {
		s->window = from;
		s->offset += s->size - rest;
		s->size = rest;
	} else if (rest > STREAM_CARRY_MAX) {
		return error_set(err, -EFBIG, "more than %zu bytes of %s belong together", STREAM_CARRY_MAX, s->path);
	} else {
		uint64_t passed = s->size - rest;

		if (rest <= HEADROOM)
			next_in_place(s, from, rest);
		else
			rc = next_together(s, from, rest, err);
		if (rc)
			return rc;
		s->offset += passed;
	}
	report_progress(s);
	*ret_data = s->window;
	*ret_size = s->size;
	*ret_last = s->last;
	return 0;
}

uint64_t stream_offset(const struct stream *s)
{
	return s->offset;
}

uint64_t stream_total(const struct stream *s)
{
	return s->offset + s->size;
}

const char *stream_damage(const struct stream *s)
{
	return s->damaged ? s->damage : NULL;
}

/* ---- Without a thread -------------------------------------------------------- */

int64_t stream_peek(const char *path, void *buffer, size_t size, struct error *err)
{
	struct unpack *u;
	struct stat st;
	int64_t got;
	int fd = open_file(path, &st, err), rc;

	if (fd < 0)
		return fd;
	rc = unpack_new(&u, fd, err);
	if (rc)
		return rc;
	got = unpack_read(u, buffer, size);
	if (got == 0 && unpack_damage(u))
		got = error_set(err, -EBADMSG, "%s cannot be read: %s", path, unpack_damage(u));
	unpack_free(u);
	return got;
}

int stream_packed(const char *path, struct error *err)
{
	struct unpack *u;
	struct stat st;
	int fd = open_file(path, &st, err), rc;

	if (fd < 0)
		return fd;
	rc = unpack_new(&u, fd, err);
	if (rc)
		return rc;
	rc = unpack_compressed(u);
	unpack_free(u);
	return rc;
}

/* A zlib header: deflate, a window of at most 32 KiB, and a checksum that fits. */
static bool zlib_begins(const uint8_t *data, size_t size)
{
	return size >= 2 && (data[0] & 15) == 8 && data[0] >> 4 <= 7 && (data[0] << 8 | data[1]) % 31 == 0;
}

static int inflate_all(struct gzip *g, const uint8_t *in, size_t size, size_t limit, struct buffer *out)
{
	enum gzip_result result = GZIP_MORE;
	size_t begin = out->size;

	while (result == GZIP_MORE) {
		size_t room, before = size;
		uint8_t *to;

		if (out->size - begin >= limit + 1)
			return -EFBIG;
		if (buffer_reserve(out, size < 1024 ? 4096 : 4 * size))
			return -ENOMEM;
		room = out->capacity - out->size;
		to = out->data + out->size;
		result = gzip_inflate(g, &in, &size, &to, &room);
		room = out->size;
		out->size = (size_t)(to - out->data);
		if (result == GZIP_DAMAGED || (result == GZIP_MORE && out->size == room && size == before))
			return -EBADMSG;
	}
	return out->size - begin > limit ? -EFBIG : 0;
}

int stream_inflate(const void *data, size_t size, size_t limit, struct buffer *out)
{
	const uint8_t *in = data;
	size_t begin = out->size;
	struct gzip *g;
	int rc;

	if (!zlib_begins(in, size) && !(size >= 2 && in[0] == 0x1f && in[1] == 0x8b))
		return -EBADMSG;
	rc = gzip_new(&g, in[0] == 0x1f ? GZIP_WRAPPER : ZLIB_WRAPPER);
	if (rc)
		return rc;
	rc = inflate_all(g, in, size, limit, out);
	gzip_free(g);
	if (rc && rc != -EBADMSG)
		out->size = begin;
	return rc;
}
