/* test-config.c - config/config.h: values, YAML, trust, precedence. */
#include "config/config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"

static char scratch[] = "/tmp/test-config-XXXXXX";
static struct config config;
static struct error error;

static const char *path_of(const char *name)
{
	static char paths[4][300];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
	return path;
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(path_of(name), "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path_of(name), 0644), 0);
}

static void start(void)
{
	config_release(&config);
	assert_int_equal(config_init(&config), 0);
	error = (struct error){ 0 };
}

static int yaml_of(const char *text, size_t size, bool trusted)
{
	start();
	return config_load_yaml(&config, "f.yaml", trusted, text, size, &error);
}

static void accept(const char *text)
{
	assert_int_equal(yaml_of(text, strlen(text), true), 0);
}

static void refuse(const char *text, const char *sentence)
{
	assert_int_equal(yaml_of(text, strlen(text), true), -EINVAL);
	assert_int_equal(error.exit_code, 2);
	assert_string_equal(error.text, sentence);
}

static void defaults(void **state)
{
	(void)state;
	start();
	assert_true(config_bool(&config, CONFIG_ENABLED));
	assert_int_equal(config_integer(&config, CONFIG_LOG_LEVEL), LOG_LEVEL_INFO);
	assert_int_equal(config_integer(&config, CONFIG_TRACE_SIZE_MB), 100);
	assert_int_equal(config_integer(&config, CONFIG_SYNC_ERROR_MARGIN_US), 1000);
	assert_int_equal(config_integer(&config, CONFIG_OVERFLOW), CONFIG_OVERFLOW_WRAP);
	assert_int_equal(config_integer(&config, CONFIG_BLOCK_TIMEOUT_MS), 100);
	assert_int_equal(config_integer(&config, CONFIG_MAX_FILE_MB), 0);
	assert_int_equal(config_integer(&config, CONFIG_LAST_SECONDS), 0);
	assert_string_equal(config_string(&config, CONFIG_TRACE), "trace.sbt");
	assert_int_equal(config_value(&config, CONFIG_TRACE)->origin, CONFIG_FROM_DEFAULT);
	assert_true(config_bool(&config, CONFIG_CALLS) && config_bool(&config, CONFIG_OPS));
	assert_false(config_bool(&config, CONFIG_C_CALLS) || config_bool(&config, CONFIG_SHAPES));
	assert_string_equal(config_string(&config, CONFIG_INCLUDE), "");
	assert_string_equal(config_string(&config, CONFIG_EXCLUDE), "");
}

static void yaml_values(void **state)
{
	(void)state;
	accept("# comment\nenabled: off\nlog_level: warn\ntrace_size_mb: 7   # and here\noverflow: 'block'\ntrace: "
	       "out/x.sbt\n");
	assert_false(config_bool(&config, CONFIG_ENABLED));
	assert_string_equal(config_string(&config, CONFIG_ENABLED), "false");
	assert_int_equal(config_integer(&config, CONFIG_LOG_LEVEL), LOG_LEVEL_WARN);
	assert_int_equal(config_integer(&config, CONFIG_TRACE_SIZE_MB), 7);
	assert_int_equal(config_integer(&config, CONFIG_OVERFLOW), CONFIG_OVERFLOW_BLOCK);
	assert_string_equal(config_string(&config, CONFIG_TRACE), "out/x.sbt");
	assert_int_equal(config_value(&config, CONFIG_TRACE_SIZE_MB)->origin, CONFIG_FROM_FILE);
	assert_string_equal(config_value(&config, CONFIG_TRACE_SIZE_MB)->file, "f.yaml");
	assert_int_equal(config_value(&config, CONFIG_TRACE_SIZE_MB)->line, 4);
	accept("");
	accept("# nothing\n");
	accept("{}\n");
	accept("{trace_size_mb: 7}\n");
	accept("%YAML 1.1\n---\ntrace_size_mb: 7\n...\n");
}

static void yaml_that_is_wrong(void **state)
{
	(void)state;
	refuse("trace_size_mb: 7\ntrace_size: 8\n",
	       "f.yaml:2: unknown key 'trace_size'; did you mean 'trace_size_mb'?");
	refuse("flavour: red\n", "f.yaml:1: unknown key 'flavour'; 'inferscope config show' lists those there are");
	refuse("trace_size_mb: 7\n\ntrace_size_mb: 7\n",
	       "f.yaml:3: key 'trace_size_mb' is already there further up; keep one of the two");
	refuse("trace_size_mb: lots\n", "f.yaml:1: trace_size_mb expects an integer from 1 to 65536, not 'lots'");
	refuse("trace_size_mb: 0\n", "f.yaml:1: trace_size_mb expects an integer from 1 to 65536, not '0'");
	refuse("trace_size_mb: 1.5\n", "f.yaml:1: trace_size_mb expects an integer from 1 to 65536, not '1.5'");
	refuse("trace_size_mb: '7'\n", "f.yaml:1: trace_size_mb expects an integer from 1 to 65536, not a quoted text");
	refuse("trace_size_mb:\n", "f.yaml:1: trace_size_mb expects an integer from 1 to 65536, not an empty value");
	refuse("enabled: maybe\n", "f.yaml:1: enabled expects true or false, not 'maybe'");
	refuse("overflow: spill\n", "f.yaml:1: overflow expects wrap, discard or block, not 'spill'");
	refuse("trace: ~\n", "f.yaml:1: trace expects a path, not an empty value");
	refuse("trace: \"a\\0b\"\n", "f.yaml:1: trace expects a path, not a quoted text");
	refuse("- trace_size_mb\n", "f.yaml:1: expected lines of 'key: value', such as 'trace_size_mb: 100'");
	refuse("just text\n", "f.yaml:1: expected lines of 'key: value', such as 'trace_size_mb: 100'");
}

static void yaml_that_is_too_clever(void **state)
{
	(void)state;
	refuse("enabled: true\ntrace_size_mb: [1, 2]\n",
	       "f.yaml:2: trace_size_mb expects an integer from 1 to 65536, not a list or a mapping");
	refuse("trace_size_mb:\n  mb: 7\n",
	       "f.yaml:2: trace_size_mb expects an integer from 1 to 65536, not a list or a mapping");
	refuse("trace_size_mb: &a 7\n", "f.yaml:1: anchors are not allowed here; leave out '&a'");
	refuse("&m\ntrace_size_mb: 7\n", "f.yaml:1: anchors are not allowed here; leave out '&m'");
	refuse("trace_size_mb: *a\n", "f.yaml:1: aliases are not allowed here; write the value out");
	refuse("trace_size_mb: !!int 7\n", "f.yaml:1: tags are not allowed here; leave out 'tag:yaml.org,2002:int'");
	refuse("enabled: true\n---\nenabled: true\n", "f.yaml:2: expected one document, and here a second one starts");
	refuse("? [a, b]\n: c\n", "f.yaml:1: expected a key, such as 'trace_size_mb: 100'");
}

static void yaml_that_is_no_yaml(void **state)
{
	char *large = malloc(CONFIG_FILE_MAX + 1), *deep = malloc(60000);

	(void)state;
	assert_int_equal(yaml_of("enabled: [", 10, true), -EINVAL);
	assert_non_null(strstr(error.text, "f.yaml:1: "));
	assert_int_equal(yaml_of("enabled: true\ntrace: 'open\n", 27, true), -EINVAL);
	assert_string_equal(error.text, "f.yaml:3: not valid YAML: found unexpected end of stream");
	assert_int_equal(yaml_of("enabled: \xff\xfe\n", 12, true), -EINVAL);
	assert_non_null(strstr(error.text, "not valid YAML at byte 9: "));
	memset(large, '#', CONFIG_FILE_MAX + 1);
	assert_int_equal(yaml_of(large, CONFIG_FILE_MAX, true), 0);
	assert_int_equal(yaml_of(large, CONFIG_FILE_MAX + 1, true), -EINVAL);
	assert_string_equal(error.text, "f.yaml:1: larger than the 64 KiB a configuration file may have");
	memset(deep, '[', 60000);
	assert_int_equal(yaml_of(deep, 60000, true), -EINVAL);
	free(large);
	free(deep);
}

static void paths_only_from_the_user(void **state)
{
	(void)state;
	assert_int_equal(yaml_of("trace: /etc/passwd\ntrace_size_mb: 9\n", 36, false), 0);
	assert_string_equal(config_string(&config, CONFIG_TRACE), "trace.sbt");
	assert_int_equal(config_integer(&config, CONFIG_TRACE_SIZE_MB), 9);
	assert_int_equal(config.warning_count, 1);
	assert_non_null(strstr(config.warnings[0], "f.yaml:1: 'trace' is ignored here"));
}

/* They choose what is recorded and touch no file, so any configuration may have them. */
static void patterns_from_anywhere(void **state)
{
	const char *file = "include: 'model.*,*/layers/*'\nexclude: \"\"\nc_calls: on\n";

	(void)state;
	assert_int_equal(yaml_of(file, strlen(file), false), 0);
	assert_int_equal(config.warning_count, 0);
	assert_string_equal(config_string(&config, CONFIG_INCLUDE), "model.*,*/layers/*");
	assert_int_equal(config_value(&config, CONFIG_EXCLUDE)->origin, CONFIG_FROM_FILE);
	assert_string_equal(config_string(&config, CONFIG_EXCLUDE), "");
	assert_true(config_bool(&config, CONFIG_C_CALLS));
	assert_int_equal(config_set(&config, CONFIG_INCLUDE, "", &error), 0); /* all of them again */
	assert_string_equal(config_string(&config, CONFIG_INCLUDE), "");
	refuse("include:\n", "f.yaml:1: include expects patterns with commas between them, not an empty value");
	refuse("include: [a, b]\n", "f.yaml:1: include expects patterns with commas between them, not a list or a mapping");
}

static const char *variable_size, *variable_enabled;

static const char *environment(const char *name)
{
	if (strcmp(name, "INFERSCOPE_TRACE_SIZE_MB") == 0)
		return variable_size;
	return strcmp(name, "INFERSCOPE_ENABLED") == 0 ? variable_enabled : NULL;
}

/* The sources in the wrong order: precedence does not depend on it. */
static void precedence(void **state)
{
	const char *file = "trace_size_mb: 30\noverflow: discard\nlog_level: error\n";

	(void)state;
	start();
	variable_size = "20";
	variable_enabled = "";
	assert_int_equal(config_set(&config, CONFIG_OVERFLOW, "block", &error), 0);
	assert_int_equal(config_load_environment(&config, environment, &error), 0);
	assert_int_equal(config_load_yaml(&config, "f", true, file, strlen(file), &error), 0);
	assert_int_equal(config_integer(&config, CONFIG_TRACE_SIZE_MB), 20);
	assert_int_equal(config_value(&config, CONFIG_TRACE_SIZE_MB)->origin, CONFIG_FROM_ENVIRONMENT);
	assert_int_equal(config_integer(&config, CONFIG_OVERFLOW), CONFIG_OVERFLOW_BLOCK);
	assert_int_equal(config_value(&config, CONFIG_OVERFLOW)->origin, CONFIG_FROM_COMMAND_LINE);
	assert_int_equal(config_integer(&config, CONFIG_LOG_LEVEL), LOG_LEVEL_ERROR);
	assert_int_equal(config_value(&config, CONFIG_ENABLED)->origin, CONFIG_FROM_DEFAULT);
	assert_int_equal(config_set(&config, CONFIG_OVERFLOW, "wrap", &error), 0); /* the last option counts */
	assert_int_equal(config_integer(&config, CONFIG_OVERFLOW), CONFIG_OVERFLOW_WRAP);
}

static void bad_variable(void **state)
{
	(void)state;
	start();
	variable_size = "huge";
	variable_enabled = NULL;
	assert_int_equal(config_load_environment(&config, environment, &error), -EINVAL);
	assert_int_equal(error.exit_code, 2);
	assert_string_equal(error.text,
			    "environment variable INFERSCOPE_TRACE_SIZE_MB expects an integer from 1 to 65536, "
			    "not 'huge'");
}

static void nearest_file_wins_per_key(void **state)
{
	(void)state;
	start();
	put(".inferscope.yaml", "trace_size_mb: 1\nlog_level: warn\n");
	put("inner/.inferscope.yaml", "\ntrace_size_mb: 2\n");
	assert_int_equal(config_load_tree(&config, path_of("inner/deep"), &error), 0);
	assert_int_equal(config.warning_count, 0);
	assert_int_equal(config_integer(&config, CONFIG_TRACE_SIZE_MB), 2);
	assert_int_equal(config_value(&config, CONFIG_TRACE_SIZE_MB)->line, 2);
	assert_string_equal(config_value(&config, CONFIG_TRACE_SIZE_MB)->file, path_of("inner/.inferscope.yaml"));
	assert_int_equal(config_integer(&config, CONFIG_LOG_LEVEL), LOG_LEVEL_WARN);
	assert_string_equal(config_value(&config, CONFIG_LOG_LEVEL)->file, path_of(".inferscope.yaml"));
	unlink(path_of(".inferscope.yaml"));
	unlink(path_of("inner/.inferscope.yaml"));
}

/* Loads `inner`, expects that its file was ignored for this reason, and that the default stands. */
static void ignored(const char *reason)
{
	char expected[400];

	start();
	assert_int_equal(config_load_file(&config, path_of("inner"), ".inferscope.yaml", false, &error), 0);
	assert_int_equal(config.warning_count, 1);
	snprintf(expected, sizeof expected, "%s is ignored: %s", path_of("inner/.inferscope.yaml"), reason);
	assert_string_equal(config.warnings[0], expected);
	assert_int_equal(config_integer(&config, CONFIG_TRACE_SIZE_MB), 100);
}

static void files_of_others_are_ignored(void **state)
{
	const char *file = path_of("inner/.inferscope.yaml");
	char kept[300];

	(void)state;
	snprintf(kept, sizeof kept, "%s", file);
	put("inner/.inferscope.yaml", "trace_size_mb: 5\n");
	assert_int_equal(chmod(kept, 0664), 0);
	ignored("others can write to it (chmod go-w)");
	assert_int_equal(chmod(kept, 0646), 0);
	ignored("others can write to it (chmod go-w)");
	assert_int_equal(chmod(kept, 0644), 0);
	assert_int_equal(chmod(path_of("inner"), 0777), 0);
	ignored("others can write to its folder (chmod go-w the folder)");
	assert_int_equal(chmod(path_of("inner"), 01777), 0); /* like /tmp: nobody else can replace the file */
	start();
	assert_int_equal(config_load_file(&config, path_of("inner"), ".inferscope.yaml", false, &error), 0);
	assert_int_equal(config_integer(&config, CONFIG_TRACE_SIZE_MB), 5);
	assert_int_equal(chmod(path_of("inner"), 0755), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(kept, 12345, 12345), 0);
		ignored("it belongs to somebody else");
	}
	unlink(kept);
}

static void odd_files_are_ignored(void **state)
{
	(void)state;
	put("real.yaml", "trace_size_mb: 5\n");
	assert_int_equal(symlink("../real.yaml", path_of("inner/.inferscope.yaml")), 0);
	ignored("it is a symbolic link");
	unlink(path_of("inner/.inferscope.yaml"));
	assert_int_equal(mkfifo(path_of("inner/.inferscope.yaml"), 0600), 0);
	ignored("it is not a regular file");
	unlink(path_of("inner/.inferscope.yaml"));
	assert_int_equal(mkdir(path_of("inner/.inferscope.yaml"), 0700), 0);
	ignored("it is a folder");
	rmdir(path_of("inner/.inferscope.yaml"));
	unlink(path_of("real.yaml"));
}

static void every_source_together(void **state)
{
	char *before = getcwd(NULL, 0);

	(void)state;
	assert_non_null(before);
	start();
	put("inner/.inferscope.yaml", "trace_size_mb: 11\n");
	put("inferscope/config.yaml", "trace_size_mb: 12\ntrace: mine.sbt\nlog_level: error\n");
	assert_int_equal(chdir(path_of("inner/deep")), 0);
	setenv("XDG_CONFIG_HOME", scratch, 1);
	setenv("INFERSCOPE_LOG_LEVEL", "debug", 1);
	unsetenv("INFERSCOPE_TRACE_SIZE_MB");
	assert_int_equal(config_load(&config, &error), 0);
	assert_int_equal(config_integer(&config, CONFIG_TRACE_SIZE_MB), 11);
	assert_string_equal(config_string(&config, CONFIG_TRACE), "mine.sbt");
	assert_int_equal(config_integer(&config, CONFIG_LOG_LEVEL), LOG_LEVEL_DEBUG);
	assert_int_equal(chdir(before), 0);
	unsetenv("INFERSCOPE_LOG_LEVEL");
	unlink(path_of("inner/.inferscope.yaml"));
	unlink(path_of("inferscope/config.yaml"));
	free(before);
}

static int make_scratch(void **state)
{
	(void)state;
	umask(022);
	if (!mkdtemp(scratch) || mkdir(path_of("inner"), 0755) < 0 || mkdir(path_of("inner/deep"), 0755) < 0)
		return -1;
	return mkdir(path_of("inferscope"), 0755);
}

static int remove_scratch(void **state)
{
	(void)state;
	config_release(&config);
	rmdir(path_of("inner/deep"));
	rmdir(path_of("inner"));
	rmdir(path_of("inferscope"));
	return rmdir(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(yaml_values),
		cmocka_unit_test(yaml_that_is_wrong),
		cmocka_unit_test(yaml_that_is_too_clever),
		cmocka_unit_test(yaml_that_is_no_yaml),
		cmocka_unit_test(paths_only_from_the_user),
		cmocka_unit_test(patterns_from_anywhere),
		cmocka_unit_test(precedence),
		cmocka_unit_test(bad_variable),
		cmocka_unit_test(nearest_file_wins_per_key),
		cmocka_unit_test(files_of_others_are_ignored),
		cmocka_unit_test(odd_files_are_ignored),
		cmocka_unit_test(every_source_together),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
