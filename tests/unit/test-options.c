/* test-options.c - cmd/options.h. */
#include "cmd/options.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const char *const colours[] = { "red", "green", "blue", NULL };

static bool verbose, all;
static int64_t top;
static double from;
static const char *output, *web, *place;
static int colour;
static struct option_list rules;
static struct config config;

static bool is_place(const char *word)
{
	return strchr(word, ':') != NULL;
}

static const struct option_row rows[] = {
	OPTION_FLAG('v', "verbose", &verbose, "say more"),
	OPTION_FLAG('a', "all", &all, "everything"),
	OPTION_INT('n', "top", "N", &top, 1, 100, "how many"),
	OPTION_REAL(0, "from", "MS", &from, 0, 1e6, "from when on"),
	OPTION_TEXT('o', "output", "FILE", &output, "where to"),
	OPTION_TEXT('w', "web", "[PORT]", &web, "maybe where"),
	OPTION_MAYBE('p', "place", "[:PORT]", &place, is_place, "maybe there"),
	OPTION_LIST('r', "rules", "FILE", &rules, "may be given again"),
	OPTION_CHOICE(0, "colour", "COLOUR", &colour, colours, "which colour"),
	OPTION_GROUP("settings"),
	OPTION_CONFIG(0, "trace-size-mb", "N", &config, CONFIG_TRACE_SIZE_MB, "memory"),
	OPTION_CONFIG(0, "calls", "on|off", &config, CONFIG_CALLS, "calls"),
	OPTION_SWITCH('s', "shapes", &config, CONFIG_SHAPES, "shapes"),
	OPTION_END,
};

static const struct options table = {
	.command = "test",
	.arguments = "[options] FILE",
	.description = "Tests the parser. This sentence is long enough to be broken into two lines of the help text.",
	.examples = "  inferscope test x\n",
	.rows = rows,
};

#define WORDS_MAX 16
static char *words[WORDS_MAX];
static struct error error;

static int parse_with(const struct options *options, const char *const *typed)
{
	int argc = 0;

	verbose = all = false;
	top = 10;
	from = -1;
	output = web = place = NULL;
	colour = -1;
	error = (struct error){ 0 };
	words[argc++] = (char *)"test";
	while (typed[argc - 1] && argc < WORDS_MAX - 1) {
		words[argc] = (char *)typed[argc - 1];
		argc++;
	}
	words[argc] = NULL;
	return options_parse(options, argc, words, &error);
}

#define PARSE(...) parse_with(&table, (const char *const[]){ __VA_ARGS__, NULL })

/* A word that follows is not taken for the value. */
static void a_value_that_may_be_left_out(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--web", "80"), 1);
	assert_string_equal(web, "");
	assert_string_equal(words[1], "80");
	assert_int_equal(PARSE("--web=80", "file"), 1);
	assert_string_equal(web, "80");
	assert_int_equal(PARSE("-w81", "-w"), 0);
	assert_string_equal(web, "");
}

/* But one is that has its form, unless there is a file of that name. */
static void a_value_known_by_its_form(void **state)
{
	char folder[] = "/tmp/inferscope-options-XXXXXX", file[64];

	(void)state;
	assert_int_equal(PARSE("--place", ":80", "file"), 1);
	assert_string_equal(place, ":80");
	assert_string_equal(words[1], "file");
	assert_int_equal(PARSE("-p", ":81", "file"), 1);
	assert_string_equal(place, ":81");
	assert_int_equal(PARSE("--place", "80", ":82"), 2);
	assert_string_equal(place, "");
	assert_string_equal(words[1], "80");
	assert_int_equal(PARSE("--place=80", ":82"), 1);
	assert_string_equal(place, "80");
	assert_int_equal(PARSE("--place", "--", "a:b"), 1);
	assert_string_equal(place, "");
	assert_int_equal(PARSE("--place"), 0);
	assert_string_equal(place, "");
	assert_int_equal(PARSE("--place", "-a:1"), -EINVAL);
	assert_string_equal(error.text, "test: unknown option '-a:1'; see 'inferscope test --help'");

	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof file, "%s/a:1", folder);
	assert_int_equal(close(open(file, O_CREAT | O_WRONLY, 0600)), 0);
	assert_int_equal(PARSE("--place", file), 1);
	assert_string_equal(place, "");
	assert_string_equal(words[1], file);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(PARSE("--place", file), 0);
	assert_string_equal(place, file);
	assert_int_equal(rmdir(folder), 0);
}

static void several_values(void **state)
{
	(void)state;
	rules.count = 0;
	assert_int_equal(PARSE("--rules", "a", "-rb", "file", "--rules=c"), 1);
	assert_int_equal(rules.count, 3);
	assert_string_equal(rules.items[0], "a");
	assert_string_equal(rules.items[1], "b");
	assert_string_equal(rules.items[2], "c");
	rules.count = OPTION_LIST_MAX;
	assert_int_equal(PARSE("--rules", "a"), -EINVAL);
	assert_string_equal(error.text, "test: --rules may be given 32 times at most");
	assert_int_equal(error.exit_code, 2);
}

static void typed_values(void **state)
{
	(void)state;
	assert_int_equal(
		PARSE("--top", "5", "--output=x.json", "file", "--verbose", "--colour", "blue", "--from", "1.5"), 1);
	assert_int_equal(top, 5);
	assert_string_equal(output, "x.json");
	assert_true(verbose);
	assert_false(all);
	assert_int_equal(colour, 2);
	assert_true(from == 1.5);
	assert_string_equal(words[1], "file");
}

static void short_forms(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-va", "-n5", "-o", "-"), 0);
	assert_true(verbose && all);
	assert_int_equal(top, 5);
	assert_string_equal(output, "-");
	assert_int_equal(PARSE("-van", "7"), 0);
	assert_int_equal(top, 7);
	assert_int_equal(PARSE("-"), 1);
	assert_string_equal(words[1], "-");
}

static void double_dash_ends_options(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-v", "--", "--top", "-x"), 2);
	assert_string_equal(words[1], "--top");
	assert_string_equal(words[2], "-x");
	assert_int_equal(top, 10);
}

static void the_rest_belongs_to_the_program(void **state)
{
	struct options run = table;

	(void)state;
	run.stop_at_argument = true;
	run.argument_letters = "mc";
	assert_int_equal(parse_with(&run, (const char *const[]){ "-v", "prog", "-a", "--top", NULL }), 3);
	assert_true(verbose);
	assert_false(all);
	assert_string_equal(words[2], "-a");
	assert_int_equal(parse_with(&run, (const char *const[]){ "-v", "-m", "json.tool", "--help", NULL }), 3);
	assert_string_equal(words[1], "-m");
	assert_int_equal(parse_with(&run, (const char *const[]){ "--", "-v", NULL }), 1);
	assert_false(verbose);
	assert_int_equal(parse_with(&run, (const char *const[]){ "prog", "--", "x", NULL }), 3);
	assert_string_equal(words[2], "--");
}

static void refuse(int rc, const char *sentence)
{
	assert_int_equal(rc, -EINVAL);
	assert_int_equal(error.exit_code, 2);
	assert_string_equal(error.text, sentence);
}

static void wrong_usage_is_one_sentence(void **state)
{
	(void)state;
	refuse(PARSE("--tpo", "5"), "test: unknown option '--tpo'; did you mean '--top'?");
	refuse(PARSE("--outptu=x"), "test: unknown option '--outptu'; did you mean '--output'?");
	refuse(PARSE("--zzzzzzz"), "test: unknown option '--zzzzzzz'; see 'inferscope test --help'");
	refuse(PARSE("-x"), "test: unknown option '-x'; see 'inferscope test --help'");
	refuse(PARSE("--top", "0"), "test: --top expects an integer from 1 to 100, not '0'");
	refuse(PARSE("--top", "many"), "test: --top expects an integer from 1 to 100, not 'many'");
	refuse(PARSE("--top="), "test: --top expects an integer from 1 to 100, not ''");
	refuse(PARSE("--top"), "test: --top needs a value (N)");
	refuse(PARSE("--verbose=1"), "test: --verbose takes no value");
	refuse(PARSE("--colour", "pink"), "test: --colour expects red, green or blue, not 'pink'");
	refuse(PARSE("--from", "nan"), "test: --from expects a number from 0 to 1e+06, not 'nan'");
	refuse(PARSE("--trace-size-mb", "0"), "test: --trace-size-mb expects an integer from 1 to 65536, not '0'");
	refuse(PARSE("--calls", "perhaps"), "test: --calls expects on or off, not 'perhaps'");
	refuse(PARSE("--calls"), "test: --calls needs a value (on|off)");
	refuse(PARSE("--shapes=on"), "test: --shapes takes no value");
}

static void settings_come_from_the_command_line(void **state)
{
	(void)state;
	assert_int_equal(config_init(&config), 0);
	assert_int_equal(PARSE("--trace-size-mb", "64"), 0);
	assert_int_equal(config_integer(&config, CONFIG_TRACE_SIZE_MB), 64);
	assert_int_equal(config_value(&config, CONFIG_TRACE_SIZE_MB)->origin, CONFIG_FROM_COMMAND_LINE);
	assert_int_equal(config_value(&config, CONFIG_SHAPES)->origin, CONFIG_FROM_DEFAULT);
	assert_int_equal(PARSE("--calls", "off", "--shapes", "file"), 1); /* a switch takes nothing of what follows */
	assert_false(config_bool(&config, CONFIG_CALLS));
	assert_true(config_bool(&config, CONFIG_SHAPES));
	assert_int_equal(config_value(&config, CONFIG_SHAPES)->origin, CONFIG_FROM_COMMAND_LINE);
	config_release(&config);
	assert_int_equal(config_init(&config), 0);
	assert_int_equal(PARSE("-vsa"), 0);
	assert_true(verbose && all && config_bool(&config, CONFIG_SHAPES));
	config_release(&config);
}

static void help_is_made_from_the_table(void **state)
{
	struct buffer out = BUFFER_INIT;

	(void)state;
	assert_int_equal(PARSE("-v", "--help", "--nonsense"), OPTIONS_HELP);
	assert_int_equal(PARSE("-h"), OPTIONS_HELP);
	assert_int_equal(options_help(&table, &out), 0);
	assert_int_equal(buffer_append(&out, "", 1), 0);
	assert_string_equal((char *)out.data,
			    "usage: inferscope test [options] FILE\n"
			    "\n"
			    "Tests the parser. This sentence is long enough to be broken into two lines of\n"
			    "the help text.\n"
			    "\n"
			    "options:\n"
			    "  -v, --verbose             say more\n"
			    "  -a, --all                 everything\n"
			    "  -n, --top N               how many\n"
			    "      --from MS             from when on\n"
			    "  -o, --output FILE         where to\n"
			    "  -w, --web [PORT]          maybe where\n"
			    "  -p, --place [:PORT]       maybe there\n"
			    "  -r, --rules FILE          may be given again\n"
			    "      --colour COLOUR       which colour\n"
			    "\n"
			    "settings:\n"
			    "      --trace-size-mb N     memory\n"
			    "      --calls on|off        calls\n"
			    "  -s, --shapes              shapes\n"
			    "\n"
			    "  -h, --help                show this text\n"
			    "\n"
			    "examples:\n"
			    "  inferscope test x\n");
	buffer_release(&out);
}

static void a_heading_is_no_option(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--=x"), -EINVAL);
	assert_int_equal(PARSE("--settings"), -EINVAL);
	assert_false(options_knows(&table, "--settings"));
	assert_true(options_knows(&table, "--calls") && options_knows(&table, "--web"));
	assert_false(options_knows(&table, "--help") || options_knows(&table, "-s") || options_knows(&table, "--"));
}

static void it_is_said_that_a_double_dash_came_first(void **state)
{
	bool divided = false;
	struct options running = table;

	(void)state;
	running.stop_at_argument = true;
	running.ret_divided = &divided;
	assert_int_equal(parse_with(&running, (const char *const[]){ "-v", "a", "--", "b", NULL }), 3);
	assert_false(divided);
	assert_int_equal(parse_with(&running, (const char *const[]){ "-v", "--", "a", "b", NULL }), 2);
	assert_true(divided);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_that_may_be_left_out),
		cmocka_unit_test(a_value_known_by_its_form),
		cmocka_unit_test(several_values),
		cmocka_unit_test(typed_values),
		cmocka_unit_test(short_forms),
		cmocka_unit_test(double_dash_ends_options),
		cmocka_unit_test(the_rest_belongs_to_the_program),
		cmocka_unit_test(wrong_usage_is_one_sentence),
		cmocka_unit_test(settings_come_from_the_command_line),
		cmocka_unit_test(help_is_made_from_the_table),
		cmocka_unit_test(a_heading_is_no_option),
		cmocka_unit_test(it_is_said_that_a_double_dash_came_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
