/* test-import-stream.c - windows over plain, gzip and zstd files: whole, in several members, cut off, damaged, hostile. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file.h"
#include "import/stream.h"
#include "import/temporary.h"

static char folder[] = "/tmp/test-import-stream-XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof command, "rm -r %s", folder);
	return chdir("/") || system(command) ? -1 : 0;
}

/* ---- Files ------------------------------------------------------------------- */

/* Bytes that do not repeat soon, so that a window out of place is seen. */
static uint8_t byte_at(uint64_t offset)
{
	uint64_t x = (offset / 7 + 1) * 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
	return (uint8_t)("abcdefghijklmnop"[x >> 60]);
}

static void write_bytes(const char *path, const void *data, size_t size, int more)
{
	int fd = open(path, O_WRONLY | O_CREAT | more, 0600);

	assert_true(fd >= 0);
	assert_int_equal(file_write_all(fd, data, size), 0);
	close(fd);
}

static void write_sample(const char *path, uint64_t from, size_t size)
{
	uint8_t *data = malloc(size + 1);

	for (size_t i = 0; i < size; i++)
		data[i] = byte_at(from + i);
	write_bytes(path, data, size, O_TRUNC);
	free(data);
}

static void run(const char *command)
{
	assert_int_equal(system(command), 0);
}

static void write_zstd(const char *path, uint64_t from, size_t size, int more)
{
	size_t room = ZSTD_compressBound(size), packed;
	uint8_t *data = malloc(size + 1), *out = malloc(room);

	for (size_t i = 0; i < size; i++)
		data[i] = byte_at(from + i);
	packed = ZSTD_compress(out, room, data, size, 1);
	assert_false(ZSTD_isError(packed));
	write_bytes(path, out, packed, more);
	free(data);
	free(out);
}

static size_t file_size(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (size_t)st.st_size;
}

/* ---- Reading ----------------------------------------------------------------- */

struct outcome {
	uint64_t bytes, windows;
	size_t largest;
	char damage[160];
};

/* Reads it all, leaving `keep` bytes unused each time, and compares every byte. */
static struct outcome read_all(const char *path, size_t keep, const struct import_options *options)
{
	struct outcome got = { 0 };
	struct error err = { 0 };
	struct stream *s;
	const char *data = NULL;
	size_t size = 0, used = 0;
	bool last = false;

	assert_int_equal(stream_open(&s, path, options, &err), 0);
	while (!last) {
		assert_int_equal(stream_next(s, used, &data, &size, &last, &err), 0);
		assert_true(last || size > 0);
		assert_int_equal(stream_offset(s), got.bytes);
		assert_int_equal(stream_total(s), got.bytes + size);
		for (size_t i = 0; i < size; i++)
			if ((uint8_t)data[i] != byte_at(got.bytes + i))
				fail_msg("byte %llu of %s is wrong", (unsigned long long)(got.bytes + i), path);
		for (size_t i = 0; i < STREAM_PADDING; i++)
			assert_int_equal(data[size + i], 0);
		got.windows++;
		got.largest = size > got.largest ? size : got.largest;
		used = last || size < keep ? size : size - keep;
		got.bytes += used;
	}
	snprintf(got.damage, sizeof got.damage, "%s", stream_damage(s) ? stream_damage(s) : "");
	stream_close(s);
	return got;
}

static void expect(const char *path, uint64_t bytes, const char *damage)
{
	static const size_t keeps[] = { 0, 1, 1000, 100000, 200000, 3000000 };

	for (size_t i = 0; i < sizeof keeps / sizeof *keeps; i++) {
		struct outcome got = read_all(path, keeps[i], NULL);

		assert_int_equal(got.bytes, bytes);
		assert_string_equal(got.damage, damage);
	}
}

static void plain(void **state)
{
	static const size_t sizes[] = {
		0, 1, 3, 63, 64, 65, STREAM_WINDOW - 1, STREAM_WINDOW, STREAM_WINDOW + 1, 5 * STREAM_WINDOW + 77
	};

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		write_sample("plain", 0, sizes[i]);
		expect("plain", sizes[i], "");
	}
}

static void gzip_members(void **state)
{
	(void)state;
	write_sample("a", 0, 3000001);
	write_sample("b", 3000001, 2500000);
	write_sample("c", 5500001, 1);
	run("gzip -c a > one.gz");
	expect("one.gz", 3000001, "");
	run("gzip -9c a > three.gz; gzip -1c b >> three.gz; gzip -c /dev/null >> three.gz; gzip -c c >> three.gz");
	expect("three.gz", 5500002, "");
	run("cp three.gz zeros.gz; head -c 1000 /dev/zero >> zeros.gz");
	expect("zeros.gz", 5500002, "");
	run("cp three.gz more.gz; echo hello >> more.gz");
	expect("more.gz", 5500002, "the gzip data is followed by something else");
}

/* Where the input ends in the middle of a member's head, at every place. */
static void gzip_boundaries(void **state)
{
	uint8_t head[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0 }; /* an empty member */

	(void)state;
	write_sample("a", 0, 70000);
	run("gzip -nc a > many.gz");
	for (int i = 0; i < 20000; i++) /* more than is read at once, in steps of 20 bytes */
		write_bytes("many.gz", head, sizeof head, O_APPEND);
	expect("many.gz", 70000, "");
}

static void zstd_frames(void **state)
{
	uint8_t skippable[] = { 0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4 };

	(void)state;
	write_zstd("one.zst", 0, 3000001, O_TRUNC);
	expect("one.zst", 3000001, "");
	write_zstd("one.zst", 3000001, 2600000, O_APPEND);
	write_bytes("one.zst", skippable, sizeof skippable, O_APPEND);
	write_zstd("one.zst", 5600001, 5, O_APPEND);
	expect("one.zst", 5600006, "");
}

static void cut_off(void **state)
{
	struct outcome got;
	size_t size;

	(void)state;
	write_sample("a", 0, 3000001);
	run("gzip -c a > cut.gz");
	size = file_size("cut.gz");
	assert_int_equal(truncate("cut.gz", (off_t)size / 2), 0);
	got = read_all("cut.gz", 100, NULL);
	assert_string_equal(got.damage, "the gzip data ends early");
	assert_in_range(got.bytes, 1000000, 2000000);
	assert_int_equal(truncate("cut.gz", 5), 0);
	expect("cut.gz", 0, "the gzip data ends early");

	run("gzip -c a > cut.gz; truncate -s -3 cut.gz"); /* in the checksum: all bytes are there */
	expect("cut.gz", 3000001, "the gzip data ends early");

	write_zstd("cut.zst", 0, 3000001, O_TRUNC);
	assert_int_equal(truncate("cut.zst", (off_t)file_size("cut.zst") / 2), 0);
	got = read_all("cut.zst", 100, NULL);
	assert_string_equal(got.damage, "the zstd data ends early");
	assert_in_range(got.bytes, 1000000, 2000000);
}

/* Bytes that were changed: what comes out before is right (and after it need not be: there is a checksum at the end). */
static void damaged(void **state)
{
	struct error err = { 0 };
	struct stream *s;
	const char *data;
	size_t size, used = 0, total = 0;
	bool last = false;
	int fd;

	(void)state;
	write_sample("a", 0, 3000001);
	run("gzip -c a > bad.gz");
	fd = open("bad.gz", O_WRONLY);
	assert_int_equal(pwrite(fd, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, (off_t)file_size("bad.gz") / 2), 8);
	close(fd);
	assert_int_equal(stream_open(&s, "bad.gz", NULL, &err), 0);
	while (!last) {
		assert_int_equal(stream_next(s, used, &data, &size, &last, &err), 0);
		used = size;
		total += size;
	}
	assert_in_range(total, 1000000, 3100000);
	assert_string_equal(stream_damage(s), "the gzip data is damaged");
	stream_close(s);
}

/* ---- Limits ------------------------------------------------------------------ */

static void drain(const char *path, const struct import_options *options, struct outcome *got)
{
	struct error err = { 0 };
	struct stream *s;
	const char *data;
	size_t size = 0;
	bool last = false;

	*got = (struct outcome){ 0 };
	assert_int_equal(stream_open(&s, path, options, &err), 0);
	while (!last) {
		assert_int_equal(stream_next(s, size, &data, &size, &last, &err), 0);
		got->bytes += size;
	}
	snprintf(got->damage, sizeof got->damage, "%s", stream_damage(s) ? stream_damage(s) : "");
	stream_close(s);
}

static void bombs(void **state)
{
	struct import_options options = { .max_ratio = 100 };
	struct outcome got;

	(void)state;
	run("head -c 400M /dev/zero | gzip -1c > bomb.gz");
	drain("bomb.gz", &options, &got);
	assert_in_range(got.bytes, 256 << 20, (256 << 20) + STREAM_WINDOW);
	assert_string_equal(got.damage, "it is more than 100 times as large uncompressed as it is stored, which is the limit");
	options.max_ratio = 0; /* the usual limit: 2000, and gzip reaches 1030 */
	drain("bomb.gz", &options, &got);
	assert_int_equal(got.bytes, 400u << 20);
	assert_string_equal(got.damage, "");
	options.max_bytes = 3000000;
	drain("bomb.gz", &options, &got);
	assert_int_equal(got.bytes, 3000000);
	assert_string_equal(got.damage, "it has more than 3000000 bytes uncompressed, which is the limit");
}

/* What belongs together makes the window grow, up to a limit; after that it can be passed over. */
static void long_events(void **state)
{
	struct error err = { 0 };
	struct stream *s;
	const char *data;
	size_t size = 0, before = 0;
	bool last = false;
	int rc = 0;

	(void)state;
	write_sample("plain", 0, 24u << 20);
	assert_int_equal(stream_open(&s, "plain", NULL, &err), 0);
	while ((rc = stream_next(s, 0, &data, &size, &last, &err)) == 0) {
		assert_true(size > before);
		assert_int_equal((uint8_t)data[size - 1], byte_at(size - 1));
		before = size;
	}
	assert_int_equal(rc, -EFBIG);
	assert_int_equal(size, STREAM_CARRY_MAX + STREAM_WINDOW);
	assert_int_equal(stream_next(s, size, &data, &size, &last, &err), 0);
	assert_int_equal(stream_offset(s), STREAM_CARRY_MAX + STREAM_WINDOW);
	assert_int_equal((uint8_t)data[0], byte_at(STREAM_CARRY_MAX + STREAM_WINDOW));
	stream_close(s);
}

/* Closed in the middle: the thread ends. */
static void given_up(void **state)
{
	struct error err = { 0 };
	struct stream *s;
	const char *data;
	size_t size;
	bool last;

	(void)state;
	write_sample("plain", 0, 24u << 20);
	assert_int_equal(stream_open(&s, "plain", NULL, &err), 0);
	stream_close(s);
	assert_int_equal(stream_open(&s, "plain", NULL, &err), 0);
	assert_int_equal(stream_next(s, 0, &data, &size, &last, &err), 0);
	assert_false(last);
	stream_close(s);
	stream_close(NULL);
}

static void no_file(void **state)
{
	struct error err = { 0 };
	struct stream *s;
	char head[8];

	(void)state;
	assert_int_equal(stream_open(&s, "absent", NULL, &err), -ENOENT);
	assert_int_equal(stream_open(&s, ".", NULL, &err), -EISDIR);
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(stream_open(&s, "pipe", NULL, &err), -EINVAL);
	assert_int_equal(stream_peek("absent", head, sizeof head, &err), -ENOENT);
}

struct seen {
	uint64_t calls, done, total;
};

static void see(void *arg, const char *path, uint64_t done, uint64_t total)
{
	struct seen *seen = arg;

	assert_string_equal(path, "plain");
	assert_true(done >= seen->done && done <= total);
	seen->calls++;
	seen->done = done;
	seen->total = total;
}

static void progress(void **state)
{
	struct seen seen = { 0 };
	struct import_options options = { .progress = see, .progress_arg = &seen };
	struct outcome got;

	(void)state;
	write_sample("plain", 0, 24u << 20);
	drain("plain", &options, &got);
	assert_in_range(seen.calls, 3, 8);
	assert_int_equal(seen.done, 24u << 20);
	assert_int_equal(seen.total, 24u << 20);
}

/* ---- Heads and packets --------------------------------------------------------- */

static void peeks(void **state)
{
	struct error err = { 0 };
	static const char *const paths[] = { "plain", "plain.gz", "plain.zst" };
	uint8_t head[1000];

	(void)state;
	write_sample("plain", 0, 10000);
	run("gzip -c plain > plain.gz");
	write_zstd("plain.zst", 0, 10000, O_TRUNC);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(stream_peek(paths[i], head, sizeof head, &err), sizeof head);
		for (size_t k = 0; k < sizeof head; k++)
			assert_int_equal(head[k], byte_at(k));
	}
	write_sample("plain", 0, 5);
	assert_int_equal(stream_peek("plain", head, sizeof head, &err), 5);
	write_sample("plain", 0, 0);
	assert_int_equal(stream_peek("plain", head, sizeof head, &err), 0);
}

static void inflates(void **state)
{
	/* "hello hello hello hello\n" by zlib */
	static const uint8_t zlib[] = { 0x78, 0x9c, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8,
					0x40, 0x27, 0xb9, 0x00, 0x70, 0xbe, 0x08, 0xbb };
	struct buffer out = BUFFER_INIT, packed = BUFFER_INIT;

	(void)state;
	assert_int_equal(buffer_append(&out, "x", 1), 0);
	assert_int_equal(stream_inflate(zlib, sizeof zlib, 100, &out), 0);
	assert_int_equal(out.size, 25);
	assert_memory_equal(out.data, "xhello hello hello hello\n", 25);
	assert_int_equal(stream_inflate(zlib, sizeof zlib, 24, &out), 0);
	assert_int_equal(stream_inflate(zlib, sizeof zlib, 23, &out), -EFBIG);
	assert_int_equal(out.size, 49);
	for (size_t i = 0; i < sizeof zlib; i++, out.size = 49) {
		assert_int_equal(stream_inflate(zlib, i, 100, &out), -EBADMSG);
		assert_in_range(out.size - 49, 0, 24); /* what comes before the end */
		assert_memory_equal(out.data + 49, "hello hello hello hello\n", out.size - 49);
		assert_true(out.size > 49 + 5 || i < 12);
	}
	assert_int_equal(stream_inflate("plain text", 10, 100, &out), -EBADMSG);
	run("head -c 10M /dev/zero | gzip -c > zeros.gz");
	assert_int_equal(file_read_whole("zeros.gz", 1 << 20, &packed), 0);
	assert_int_equal(stream_inflate(packed.data, packed.size, 1 << 20, &out), -EFBIG);
	assert_true(out.capacity <= 4 << 20);
	assert_int_equal(stream_inflate(packed.data, packed.size, 10 << 20, &out), 0);
	assert_int_equal(out.size, 49 + (10 << 20));
	buffer_release(&out);
	buffer_release(&packed);
}

/* What comes through a pipe: all of it, or a sentence. */
static void copies(void **state)
{
	struct buffer out = BUFFER_INIT;
	struct error err = { 0 };
	char path[64];
	int from, fd;

	(void)state;
	run("head -c 300001 /dev/zero | tr '\\0' x > whole");
	from = open("whole", O_RDONLY | O_CLOEXEC);
	fd = temporary_copy(from, "the pipe", 300001, &err);
	assert_true(fd >= 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	assert_int_equal(file_read_whole(path, 1 << 20, &out), 0);
	assert_int_equal(out.size, 300001);
	assert_int_equal(out.data[300000], 'x');
	close(fd);
	lseek(from, 0, SEEK_SET);
	assert_int_equal(temporary_copy(from, "the pipe", 300000, &err), -EFBIG);
	assert_int_equal(err.exit_code, 4);
	assert_non_null(strstr(err.text, "the pipe has more than the 300 kB that there is room for"));
	close(from);
	assert_int_equal(temporary_copy(-1, "the pipe", 1, &err), -EBADF);
	buffer_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),       cmocka_unit_test(gzip_members), cmocka_unit_test(gzip_boundaries),
		cmocka_unit_test(zstd_frames), cmocka_unit_test(cut_off),      cmocka_unit_test(damaged),
		cmocka_unit_test(bombs),       cmocka_unit_test(long_events),  cmocka_unit_test(given_up),
		cmocka_unit_test(no_file),     cmocka_unit_test(progress),     cmocka_unit_test(peeks),
		cmocka_unit_test(inflates),    cmocka_unit_test(copies),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
