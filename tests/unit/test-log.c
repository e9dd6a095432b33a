/* test-log.c - base/log.h. */
#define LOG_TAG "test"
#include "base/log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

struct heard {
	int count;
	enum log_level level;
	char tag[32], message[LOG_MESSAGE_MAX];
};

static void listen(void *arg, enum log_level level, const char *tag, const char *message)
{
	struct heard *heard = arg;

	heard->count++;
	heard->level = level;
	snprintf(heard->tag, sizeof heard->tag, "%s", tag);
	snprintf(heard->message, sizeof heard->message, "%s", message);
	errno = EBADF;
}

static void silent_without_a_sink(void **state)
{
	struct heard heard = { 0 };

	(void)state;
	log_set_sink(NULL, &heard);
	log_error("nobody hears this");
	assert_int_equal(heard.count, 0);
}

static void carries_level_tag_and_text(void **state)
{
	struct heard heard = { 0 };

	(void)state;
	log_set_sink(listen, &heard);
	log_set_level(LOG_LEVEL_INFO);
	errno = ENOENT;
	log_warn("a ring is damaged pid=%d", 42);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(heard.count, 1);
	assert_int_equal(heard.level, LOG_LEVEL_WARN);
	assert_string_equal(heard.tag, "test");
	assert_string_equal(heard.message, "a ring is damaged pid=42");
	log_set_sink(NULL, NULL);
}

static void level_is_a_threshold(void **state)
{
	struct heard heard = { 0 };

	(void)state;
	log_set_sink(listen, &heard);
	log_set_level(LOG_LEVEL_WARN);
	log_debug("no");
	log_info("no");
	assert_int_equal(heard.count, 0);
	log_warn("yes");
	log_error("yes");
	assert_int_equal(heard.count, 2);
	log_set_level(LOG_LEVEL_DEBUG);
	log_debug("yes");
	assert_int_equal(heard.count, 3);
	log_set_sink(NULL, NULL);
}

static void long_messages_are_cut(void **state)
{
	struct heard heard = { 0 };
	char text[3000];

	(void)state;
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = 0;
	log_set_level(LOG_LEVEL_INFO);
	log_set_sink(listen, &heard);
	log_info("%s", text);
	assert_int_equal(strlen(heard.message), LOG_MESSAGE_MAX - 1);
	log_set_sink(NULL, NULL);
}

static void levels_have_names(void **state)
{
	(void)state;
	assert_string_equal(log_level_name(LOG_LEVEL_DEBUG), "debug");
	assert_string_equal(log_level_name(LOG_LEVEL_ERROR), "error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silent_without_a_sink), cmocka_unit_test(carries_level_tag_and_text),
		cmocka_unit_test(level_is_a_threshold),  cmocka_unit_test(long_messages_are_cut),
		cmocka_unit_test(levels_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
