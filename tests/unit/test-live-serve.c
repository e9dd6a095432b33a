/* test-live-serve.c - who may ask the server of the live page, and what its clients are sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "live/serve_parts.h"
#include "live/snapshot_json.h"

static void test_token(void **state)
{
	(void)state;
	assert_true(serve_token_matches("0123456789abcdef", "0123456789abcdef; x", 16));
	assert_false(serve_token_matches("0123456789abcdef", "0123456789abcdef", 15));
	assert_false(serve_token_matches("0123456789abcdef", "0123456789abcdeg", 16));
	assert_false(serve_token_matches("0123456789abcdef", "", 0));
	assert_true(serve_token_is_sound("a-Z_0123456789ab"));
	assert_false(serve_token_is_sound("short"));
	assert_false(serve_token_is_sound("0123456789abcde;f"));
	assert_false(serve_token_is_sound("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0"));
}

static void test_host(void **state)
{
	(void)state;
	assert_true(serve_host_is_ours("localhost:8123", ""));
	assert_true(serve_host_is_ours("LocalHost", ""));
	assert_true(serve_host_is_ours("[::1]:1", ""));
	assert_true(serve_host_is_ours("10.1.2.3:80", "10.1.2.3"));
	assert_false(serve_host_is_ours("10.1.2.3:80", ""));
	assert_false(serve_host_is_ours("", ""));
	assert_false(serve_host_is_ours(NULL, ""));
	assert_false(serve_host_is_ours("localhost.example", ""));
	assert_false(serve_host_is_ours("localhost:80x", ""));
	assert_false(serve_host_is_ours("[::1", ""));
	assert_false(serve_host_is_ours("[::1]evil", ""));
}

static void test_cookie(void **state)
{
	const char *value = NULL;
	char name[32];

	(void)state;
	serve_cookie_name(name, sizeof name, "[::1]:8123");
	assert_string_equal(name, "inferscope-8123");
	serve_cookie_name(name, sizeof name, "localhost");
	assert_string_equal(name, "inferscope-80");
	assert_int_equal(serve_cookie_find("a=b; inferscope-8123=secret; c=d", "localhost:8123", &value), 6);
	assert_memory_equal(value, "secret", 6);
	assert_int_equal(serve_cookie_find("inferscope-8123=secret", "localhost:8124", &value), 0);
	assert_int_equal(serve_cookie_find("xinferscope-80=secret", "localhost", &value), 0);
	assert_int_equal(serve_cookie_find("inferscope-80", "localhost", &value), 0);
	assert_int_equal(serve_cookie_find("", "localhost", &value), 0);
	assert_int_equal(serve_cookie_find(NULL, "localhost", &value), 0);
}

static struct live_snapshot *new_snapshot(void)
{
	struct live_snapshot *s = malloc(sizeof *s);

	assert_non_null(s);
	live_snapshot_clear(s);
	s->run_s = 0;
	return s;
}

/* A run of a day: the points cover all of it, at one distance. */
static void test_history(void **state)
{
	struct live_snapshot *s = new_snapshot();
	struct buffer json = BUFFER_INIT;
	struct serve_history h;

	(void)state;
	assert_int_equal(serve_history_init(&h), 0);
	for (s->run_s = 0; s->run_s < 86400; s->run_s += 0.5) {
		s->cpu.share = s->run_s;
		serve_history_add(&h, s);
	}
	assert_in_range(h.count, SERVE_POINTS / 2, SERVE_POINTS);
	assert_true(h.distance_s == 128);
	assert_int_equal(serve_history_json(&json, &h), 0);
	assert_int_equal(buffer_append(&json, "", 1), 0);
	assert_memory_equal(json.data, "{\"distance_s\": 128, \"run_s\": [0, 128, 256, ", 43);
	assert_non_null(strstr((char *)json.data, "\"rss_bytes\": [null, null, "));
	buffer_release(&json);
	serve_history_release(&h);
	free(s);
}

static void advance(struct serve_frames *f, struct live_snapshot *s, bool heard)
{
	s->sequence++;
	s->cpu.share = (double)s->sequence;
	serve_frames_advance(f, s, heard);
}

static void assert_frame(struct serve_frame *frame, const char *event, uint64_t id, const char *has, const char *has_not)
{
	char expected[64];

	assert_non_null(frame);
	assert_int_equal(frame->id, id);
	assert_int_equal(buffer_append(&frame->text, "", 1), 0);
	snprintf(expected, sizeof expected, "\nevent: %s\ndata: {", event);
	assert_non_null(strstr((char *)frame->text.data, expected));
	assert_non_null(strstr((char *)frame->text.data, has));
	assert_null(strstr((char *)frame->text.data, has_not));
	frame->text.size--;
	serve_frame_release(frame);
}

static void test_frames(void **state)
{
	struct live_snapshot *s = new_snapshot();
	struct serve_frames f;
	char id[32];

	(void)state;
	serve_frames_init(&f);
	advance(&f, s, false);
	assert_frame(serve_frames_after(&f, 0, s), "whole", 1, "\"memory\": {", "\n\n\n");
	assert_null(serve_frames_after(&f, 1, s));
	advance(&f, s, true);
	assert_frame(serve_frames_after(&f, 1, s), "change", 2, "\"cpu\": {\"share\": 2", "\"memory\"");
	assert_frame(serve_frames_after(&f, 0, s), "whole", 2, "\"memory\": {", "\n\n\n");
	advance(&f, s, false); /* nobody listened, so nobody knows what changed */
	advance(&f, s, true);
	assert_frame(serve_frames_after(&f, 3, s), "whole", 4, "\"memory\": {", "\n\n\n");
	for (int i = 0; i < 40; i++)
		advance(&f, s, true);
	assert_frame(serve_frames_after(&f, 4, s), "whole", 44, "\"memory\": {", "\n\n\n");
	assert_frame(serve_frames_after(&f, 30, s), "change", 31, "\"share\": 31", "\"memory\"");
	snprintf(id, sizeof id, "%s-30", f.run);
	assert_int_equal(serve_frames_id(&f, id), 30);
	snprintf(id, sizeof id, "%s-45", f.run);
	assert_int_equal(serve_frames_id(&f, id), 0);
	assert_int_equal(serve_frames_id(&f, "zzzzzzzz-30"), 0);
	assert_int_equal(serve_frames_id(&f, NULL), 0);
	serve_frames_release(&f);
	free(s);
}

/* A frame that somebody is being sent outlives its place. */
static void test_frame_is_kept(void **state)
{
	struct live_snapshot *s = new_snapshot();
	struct serve_frame *held;
	struct serve_frames f;

	(void)state;
	serve_frames_init(&f);
	advance(&f, s, true);
	advance(&f, s, true);
	held = serve_frames_after(&f, 1, s);
	assert_non_null(held);
	for (int i = 0; i < 100; i++)
		advance(&f, s, true);
	serve_frames_release(&f);
	assert_int_equal(held->references, 1);
	assert_true(held->text.size > 100);
	serve_frame_release(held);
	serve_frame_release(NULL);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_token), cmocka_unit_test(test_host), cmocka_unit_test(test_cookie), cmocka_unit_test(test_history),
		cmocka_unit_test(test_frames), cmocka_unit_test(test_frame_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
