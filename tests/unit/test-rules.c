/* test-rules.c - rules/rules.h: files, expressions, what is refused, what is found. */
#include "rules/rules.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct rules *rules;
static struct error error;
static struct analysis_findings found;

static void start(void)
{
	rules_free(rules);
	free(found.list);
	found = (struct analysis_findings){ 0 };
	error = (struct error){ 0 };
	assert_int_equal(rules_new(&rules), 0);
}

static int add(const char *path, const char *text)
{
	int rc = rules_add(rules, path, text, strlen(text), &error);

	return rc ? rc : rules_check(rules, &error);
}

/* A file with these lines in its one rule, which begin in line 4. */
static int add_rule(const char *lines)
{
	char text[20000];

	start();
	snprintf(text, sizeof text, "rules:\n  - name: x\n    message: m\n%s", lines);
	return add("r.yaml", text);
}

static void refuse(const char *text, const char *sentence)
{
	start();
	assert_int_equal(add("r.yaml", text), -EINVAL);
	assert_string_equal(error.text, sentence);
	assert_int_equal(error.exit_code, 2);
}

static void refuse_rule(const char *lines, const char *sentence)
{
	assert_int_equal(add_rule(lines), -EINVAL);
	assert_string_equal(error.text, sentence);
	assert_int_equal(error.exit_code, 2);
}

/* A little of an analysis. */
static const char analysis[] =
	"{\"analysis_version\": \"1.0\", \"trace\": {\"path\": \"t.sbt\", \"events\": 12, \"devices\": 2, \"lost_events\": 0},\n"
	" \"summary\": {\"end_to_end_latency_us\": 1000.500, \"total_idle_us\": 250.125},\n"
	" \"integrity\": {\"verdict\": \"good\", \"checks\": [{\"name\": \"a\", \"count\": 3}, {\"name\": \"b\", \"count\": 4}]},\n"
	" \"devices\": [{\"device_id\": 0, \"rank\": 5, \"idle_us\": 100.0, \"idle_causes\": {\"input_us\": 60.5, \"new\": {\"deep\": 1}},\n"
	"   \"kernels\": [{\"name\": \"gemm\", \"total_us\": 70, \"tensor_cores\": true}, {\"name\": \"it's {\\\"odd\\\"}\\n\", \"total_us\": 30}]},\n"
	"  {\"device_id\": 1, \"idle_us\": 150.125, \"idle_causes\": {\"input_us\": 2}, \"kernels\": [{\"name\": \"gemm\", \"total_us\": 9}]}],\n"
	" \"steps\": [{\"duration_us\": 10}, {\"duration_us\": 30}], \"step_summary\": {\"count\": 2, \"p50_us\": 10.000, \"input_percent\": null},\n"
	" \"functions\": [{\"name\": \"tokenizer.encode\", \"total_us\": 300, \"self_us\": 200.1}, {\"name\": \"main\", \"total_us\": 900}],\n"
	" \"unheard_of\": [[1], {\"a\": [2]}], \"straggler_rank\": null, \"bottleneck\": {\"type\": \"cpu_bound\", \"confidence\": 0.75}}\n";

static int run_on(const char *json)
{
	size_t size = strlen(json);
	char *text = calloc(1, size + RULES_PADDING);
	int rc;

	assert_non_null(text);
	memcpy(text, json, size);
	rc = rules_run(rules, text, size, &found, &error);
	free(text);
	return rc;
}

static const struct analysis_finding *run_rule(const char *lines)
{
	if (add_rule(lines) || run_on(analysis))
		fail_msg("%s", error.text);
	return found.count ? &found.list[0] : NULL;
}

/* An expression's value, as a template writes it. */
static void expect(const char *expression, const char *value)
{
	char lines[4096];

	snprintf(lines, sizeof lines, "    when: 1\n    suggestion: |-\n      <{%s}>\n", expression);
	assert_non_null(run_rule(lines));
	if (strlen(value) + 2 != strlen(found.list[0].action) || strncmp(found.list[0].action + 1, value, strlen(value)) != 0)
		fail_msg("%s gives %s and not %s", expression, found.list[0].action, value);
}

static void refuse_run(const char *lines, const char *sentence)
{
	assert_int_equal(add_rule(lines), 0);
	assert_true(run_on(analysis) < 0);
	assert_string_equal(error.text, sentence);
	assert_int_equal(error.exit_code, 2);
	assert_int_equal(found.count, 0);
}

static void test_names_are_those_of_the_json(void **state)
{
	(void)state;
	expect("summary.end_to_end_latency_us", "1000.5");
	expect("end_to_end_latency_us - total_idle_us", "750.375");
	expect("trace.devices", "2");
	expect("integrity.verdict", "good");
	expect("analysis_version || analysis.analysis_version", "1.01.0");
	expect("step_summary.p50_us + steps.p50_us", "20");
	expect("(SELECT sum(duration_us) FROM steps)", "40");
	expect("(SELECT sum(idle_causes_input_us) FROM devices)", "62.5");
	expect("(SELECT sum(total_us) FROM kernels WHERE device_id = 0 AND rank = 5)", "100");
	expect("(SELECT count(*) FROM kernels WHERE rank IS NULL)", "1");
	expect("(SELECT sum(count) FROM checks)", "7");
	expect("(SELECT typeof(tensor_cores) || tensor_cores FROM kernels WHERE tensor_cores)", "integer1");
	expect("bottleneck.type", "cpu_bound");
	expect("upper(format('%.2f', total_idle_us))", "250.13");
	expect("(SELECT group_concat(name, '+') FROM functions)", "tokenizer.encode+main");
	/* what the trace does not say */
	expect("steps.input_percent", "unknown");
	expect("straggler_rank", "unknown");
	expect("(SELECT max(occupancy_percent) FROM devices)", "unknown");
	expect("(SELECT count(*) FROM collectives)", "0");
	expect("1 / 0", "unknown");
}

static void test_tables_do_not_depend_on_the_json(void **state)
{
	static const char *const texts[] = { "{}", "{\"trace\": 1, \"devices\": {}, \"summary\": []}", "{\"steps\": [1, [2], \"x\", {}]}" };

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		assert_int_equal(add_rule("    when: (SELECT count(*) FROM kernels) = 0 AND trace.path IS NULL AND analysis_version IS NULL\n"), 0);
		assert_int_equal(run_on(texts[i]), 0);
		assert_int_equal(found.count, 1);
	}
	assert_int_equal(run_on("{\"trace\": {"), -EBADMSG);
	assert_int_equal(error.exit_code, 4);
}

static void test_long_names(void **state)
{
	static const char *const keys[] = { "cause", "blocking_call", "on_top", "launch", "next" };
	char *name = malloc(70001), *json = malloc(1000000);

	(void)state;
	assert_true(name && json);
	memset(name, 'x', 70000);
	name[70000] = 0;
	strcpy(json, "{\"devices\": [{\"longest_gaps\": [{\"start_us\": 1");
	for (unsigned i = 0; i < 5; i++)
		sprintf(json + strlen(json), ", \"%s\": \"%s%s\"", keys[i], i % 2 ? "\\n" : "", name);
	strcat(json, "}]}]}");
	assert_int_equal(add_rule("    when: (SELECT length(cause) + length(next) + length(launch) FROM longest_gaps) = 3 * 4096\n"), 0);
	if (run_on(json))
		fail_msg("%s", error.text);
	assert_int_equal(found.count, 1);
	free(name);
	free(json);
}

static void test_a_rule_again_and_again(void **state)
{
	(void)state;
	assert_int_equal(add_rule("    when: (SELECT count(*) FROM functions) = 2 AND (SELECT count(*) FROM trace) = 1\n"), 0);
	for (unsigned i = 1; i <= 3; i++) {
		assert_int_equal(run_on(analysis), 0);
		assert_int_equal(found.count, i);
	}
	assert_int_equal(rules_check(rules, &error), 0);
	assert_int_equal(run_on(analysis), 0);
	assert_int_equal(found.count, 4);
}

static void test_fields_in_their_order(void **state)
{
	const struct analysis_finding *f;

	(void)state;
	f = run_rule("    kind: preprocessing\n    when: share > 0.19\n"
		     "    share: (SELECT sum(self_us) FROM functions WHERE name LIKE 'tokenizer.%') / end_to_end_latency_us\n"
		     "    severity: min(1, share * 3)\n    gain: share / 2\n    gain_high: rule.gain * 1.5\n    confidence: severity + 0.1\n");
	assert_non_null(f);
	assert_string_equal(f->id, "preprocessing:x");
	assert_string_equal(f->kind, "preprocessing");
	assert_string_equal(f->rule, "r.yaml:x");
	assert_true(fabs(f->rule_share - 0.2) < 1e-12 && f->share == 0 && f->owned == 0);
	assert_true(fabs(f->severity - 0.6) < 1e-12 && fabs(f->gain - 0.1) < 1e-12 && f->gain_low == f->gain);
	assert_true(fabs(f->gain_high - 0.15) < 1e-12 && fabs(f->confidence - 0.7) < 1e-12 && !f->note);
	assert_string_equal(f->evidence.text[0], "m");
	assert_string_equal(f->action, "m");
	assert_string_equal(f->rationale, "rule x of r.yaml, by which the gain is share / 2");
	refuse_rule("    when: 1\n    share: severity\n    severity: 1\n",
		    "r.yaml:5:12: share of rule 'x': no such column: severity; fields are computed in the order share, when, severity, gain, "
		    "gain_low, gain_high, confidence");
}

static void test_what_is_left_out(void **state)
{
	const struct analysis_finding *f = run_rule("    when: 1\n");

	(void)state;
	assert_true(f->note && f->gain == 0 && isnan(f->rule_share) && f->severity == 0 && f->confidence == 0.5 && isnan(f->frequency));
	assert_string_equal(f->id, "custom:x");
	f = run_rule("    when: 1\n    share: 0.15\n    gain: NULL\n    gain_low: 0.1\n");
	assert_true(f->note && f->gain_low == 0 && f->severity == 0.5);
	f = run_rule("    when: 1\n    share: 7\n    severity: -1\n    gain: 0.5\n    gain_low: 0.6\n    gain_high: 2\n    confidence: 1e999\n");
	assert_true(f->rule_share == 1 && f->severity == 0 && f->gain == 0.5 && f->gain_low == 0.5 && f->gain_high == 1 && f->confidence == 1);
}

static void test_when_it_does_not_fire(void **state)
{
	(void)state;
	assert_null(run_rule("    when: NULL\n"));
	assert_null(run_rule("    when: 0\n"));
	assert_null(run_rule("    when: 0.0\n    share: 1\n    severity: \"'what it would be is not looked at'\"\n"));
	assert_null(run_rule("    when: straggler_rank > 0\n"));
	assert_null(run_rule("    when: share > 0\n    share: 1 / 0\n"));
	assert_non_null(run_rule("    when: 0.1\n"));
}

static void test_braces(void **state)
{
	const struct analysis_finding *f;

	(void)state;
	f = run_rule("    when: 1\n    share: 0.12345\n    suggestion: \"{round(100 * share, 1)} % }} {{x}} {'}' || '{'} }\"\n");
	assert_string_equal(f->action, "12.3 % } {x} }{ }");
	f = run_rule("    when: 1\n    suggestion: \"{(SELECT name FROM kernels WHERE total_us = 30)}!\"\n");
	assert_string_equal(f->action, "it's {\"odd\"}\n!"); /* not looked at again, and not safe to print */
	refuse_rule("    when: 1\n    suggestion: 'a {b'\n",
		    "r.yaml:5:20: suggestion of rule 'x': a '{' that no '}' closes; write '{{' for a brace");
	refuse_rule("    when: 1\n    suggestion: 'ä { }'\n",
		    "r.yaml:5:20: suggestion of rule 'x': nothing between '{' and '}'; write '{{' for a brace");
	refuse_rule("    when: 1\n    suggestion: ä {trace.evnts}\n",
		    "r.yaml:5:20: suggestion of rule 'x': no such column: trace.evnts; did you mean 'events'?");
	refuse_rule("    when: 1\n    suggestion: '{1, 2}'\n",
		    "r.yaml:5:19: suggestion of rule 'x': row value misused; docs/rules.md shows how expressions are written");
}

static void test_long_texts_are_cut_between_characters(void **state)
{
	char lines[2000] = "    when: 1\n    suggestion: \"";
	const struct analysis_finding *f;

	(void)state;
	for (unsigned i = 0; i < 300; i++)
		strcat(lines, "ä");
	strcat(lines, "{1}\"\n");
	f = run_rule(lines);
	assert_int_equal(strlen(f->action), (FINDING_TEXT - 1) / 2 * 2);
	f = run_rule("    when: 1\n    suggestion: \"{format('%.*c', 1000, 'x')}\"\n");
	assert_int_equal(strlen(f->action), FINDING_TEXT - 1);
}

static void test_places_in_the_file(void **state)
{
	(void)state;
	refuse_rule("    when: 1 + nope\n", "r.yaml:4:15: when of rule 'x': no such column: nope; did you mean 'node'?");
	refuse_rule("    when: '1 + nope'\n", "r.yaml:4:16: when of rule 'x': no such column: nope; did you mean 'node'?");
	refuse_rule("    when: \"'ä' + nope\"\n", "r.yaml:4:18: when of rule 'x': no such column: nope; did you mean 'node'?");
	refuse_rule("    when: \"1 +\\t nope\"\n",
		    "r.yaml:4:11: when of rule 'x', from character 6 on: no such column: nope; did you mean 'node'?");
	refuse_rule("    when: |\n      1 +\n      nope\n",
		    "r.yaml:4:11: when of rule 'x', from character 5 on: no such column: nope; did you mean 'node'?");
	refuse_rule("    when: (1 + 2\n", "r.yaml:4:17: when of rule 'x': the expression ends too early; is something not closed?");
	refuse_rule("    when: 1 +* 2\n", "r.yaml:4:14: when of rule 'x': near \"*\": syntax error; docs/rules.md shows how expressions are written");
	refuse_rule("    when: (SELECT 1 FROM kernel)\n", "r.yaml:4:11: when of rule 'x': no such table: kernel; did you mean 'kernels'?");
	refuse_rule("    when: 2 < self_us\n",
		    "r.yaml:4:15: when of rule 'x': no such column: self_us; it is in a table of many rows: write (SELECT max(self_us) FROM "
		    "kernels), say");
	refuse_rule("    when: p50_us > 1\n",
		    "r.yaml:4:11: when of rule 'x': ambiguous column name: p50_us; write the table before it, as in step_summary.p50_us");
	refuse_rule("    when: trace.path = \"x\"\n",
		    "r.yaml:4:24: when of rule 'x': no such column: x; docs/rules.md lists the names there are"); /* SQL's strings have single quotes */
	refuse_rule("    when: \"'?' = :x\"\n", "r.yaml:4:18: when of rule 'x': ':' begins a parameter, which nothing stands for; leave it out");
}

static void test_bad_files(void **state)
{
	(void)state;
	refuse("rules: 5\n", "r.yaml:1:8: rules expects a list, each element of which begins with '- name: ...'");
	refuse("rule: []\n", "r.yaml:1:1: unknown key 'rule' in a file of rules; did you mean 'rules'?");
	refuse("- 1\n", "r.yaml:1:1: expected 'rules:' or 'thresholds:'");
	refuse("rules: []\nrules: []\n", "r.yaml:2:1: rules is there twice; keep one of the two");
	refuse("rules:\n  - x\n", "r.yaml:2:5: expected a rule, which begins with '- name: ...'");
	refuse("rules:\n  - nam: x\n", "r.yaml:2:5: unknown key 'nam' in a rule; did you mean 'name'?");
	refuse("rules:\n  - xyzzy: x\n", "r.yaml:2:5: unknown key 'xyzzy' in a rule; docs/rules.md lists those there are");
	refuse("rules:\n  - name: x\n    message: m\n", "r.yaml:2:5: a rule needs a when; add 'when: ...'");
	refuse("rules:\n  - name: x\n    when: 1\n", "r.yaml:2:5: a rule needs a message; add 'message: ...'");
	refuse("rules:\n  - when: 1\n", "r.yaml:2:5: a rule needs a name; add 'name: ...'");
	refuse("rules:\n  - name: a b\n", "r.yaml:2:11: name 'a b' is no name; use up to 60 letters, digits and _");
	refuse("rules:\n  - name: 'a\"b'\n", "r.yaml:2:12: name 'a\"b' is no name; use up to 60 letters, digits and _");
	refuse("rules:\n  - name: x\n    name: y\n", "r.yaml:3:5: name is there twice; keep one of the two");
	refuse("rules:\n  - name: x\n    when:\n", "r.yaml:3:10: when is empty; write something, or leave it out");
	refuse("rules:\n  - name: x\n    message: {share}\n",
	       "r.yaml:3:14: message expects a text, not a list or a mapping; put quotes around one that begins with '{' or '['");
	refuse("rules:\n  - name: x\n    when: &a 1\n", "r.yaml:3:11: anchors are not allowed here; leave out '&a'");
	refuse("rules:\n  - name: x\n    when: *a\n",
	       "r.yaml:3:11: aliases are not allowed here; write the value out, or in quotes if it begins with '*'");
	refuse("rules:\n  - name: x\n    when: !!int 1\n", "r.yaml:3:11: tags are not allowed here; leave out 'tag:yaml.org,2002:int'");
	refuse("rules: []\n---\nrules: []\n", "r.yaml:2:1: expected one document, and here a second one starts");
	refuse("rules:\n  - name: x\n    when: 1: 2\n",
	       "r.yaml:3:12: not valid YAML: mapping values are not allowed in this context; a text with ': ', '#' or '{' in it needs quotes "
	       "around it, or '|' before it");
	refuse("rules:\n  - {name: x, when: 1, message: m}\n  - {name: x, when: 2, message: m}\n",
	       "r.yaml:3:12: a rule named 'x' is already there further up; give this one another name");
}

static void test_large_files(void **state)
{
	size_t size = RULES_FILE_MAX + 1;
	char *text = calloc(1, size + 1);

	(void)state;
	assert_non_null(text);
	memset(text, '#', size);
	refuse(text, "r.yaml:1:1: larger than the 256 KiB a file of rules may have");
	memset(text, 0, size);
	strcpy(text, "rules:\n  - name: x\n    when: 1");
	memset(text + strlen(text), '1', 9000);
	refuse(text, "r.yaml:3:11: when has more than the 8192 bytes that are allowed");
	strcpy(text, "rules:\n");
	for (unsigned i = 0; i < 501; i++)
		sprintf(text + strlen(text), "  - {name: n%u, when: 1, message: m}\n", i);
	refuse(text, "r.yaml:502:12: there are more than the 500 rules that are allowed; leave some out");
	strcpy(text, "rules:\n  - name: x\n    when: 1\n    message: '");
	for (unsigned i = 0; i < 20; i++)
		strcat(text, "a{1}");
	strcat(text, "'\n");
	refuse(text, "r.yaml:4:79: message of rule 'x': has more than the 32 parts that are allowed");
	free(text);
}

static void test_empty_files(void **state)
{
	static const char *const texts[] = { "", "# nothing\n", "{}\n", "rules: []\n", "thresholds: {}\n" };

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		start();
		assert_int_equal(add("r.yaml", texts[i]), 0);
		assert_int_equal(rules_count(rules), 0);
		assert_int_equal(run_on(analysis), 0);
	}
}

static void test_later_files_win(void **state)
{
	(void)state;
	start();
	assert_int_equal(add("a.yaml", "rules: [{name: x, when: 1, message: first}, {name: y, when: 1, message: y}]\n"
				       "thresholds: {gain_least_percent: 7, share_least_percent: 8}\n"), 0);
	assert_int_equal(add("b.yaml", "rules: [{name: x, when: 1, message: second}]\nthresholds: {gain_least_percent: 9}\n"), 0);
	assert_int_equal(rules_count(rules), 2);
	assert_int_equal(run_on(analysis), 0);
	assert_int_equal(found.count, 2);
	assert_string_equal(found.list[0].evidence.text[0], "second");
	assert_string_equal(found.list[0].rule, "b.yaml:x");
	assert_true(fabs(rules_thresholds(rules)->gain_least - 0.09) < 1e-12 && fabs(rules_thresholds(rules)->share_least - 0.08) < 1e-12);
	/* the same file twice is no mistake */
	assert_int_equal(add("b.yaml", "rules: [{name: x, when: 0, message: third}]\n"), 0);
	assert_int_equal(rules_count(rules), 2);
}

static void test_thresholds(void **state)
{
	const struct analysis_thresholds *t;

	(void)state;
	start();
	t = rules_thresholds(rules);
	assert_memory_equal(t, &analysis_thresholds_initial, sizeof *t);
	assert_int_equal(add("r.yaml", "thresholds:\n  share_least_percent: 1\n  gain_least_percent: 2.5\n  share_severe_percent: 50\n"
				       "  bottleneck_idle_percent: 11\n  bottleneck_copies_percent: 12\n  bottleneck_gpu_to_cpu: 3\n"), 0);
	assert_true(t->share_least == 0.01 && t->gain_least == 0.025 && t->share_severe == 0.5 && t->bottleneck_idle == 0.11 &&
		    t->bottleneck_copies == 0.12 && t->bottleneck_gpu_to_cpu == 3);
	refuse("thresholds:\n  share_least: 1\n", "r.yaml:2:3: unknown key 'share_least' in thresholds; did you mean 'share_least_percent'?");
	refuse("thresholds:\n  share_least_percent: 101\n", "r.yaml:2:24: share_least_percent expects a number from 0 to 100, not '101'");
	refuse("thresholds:\n  share_least_percent: nan\n", "r.yaml:2:24: share_least_percent expects a number from 0 to 100, not 'nan'");
	refuse("thresholds:\n  bottleneck_gpu_to_cpu: -1\n", "r.yaml:2:26: bottleneck_gpu_to_cpu expects a number from 0 to 1000, not '-1'");
	refuse("thresholds: [1]\n", "r.yaml:1:13: thresholds expects lines of 'key: number', such as 'share_least_percent: 5'");
}

#define ONLY_READ "; a rule may only read the tables, with the functions that docs/rules.md lists"
#define IN_WHEN "r.yaml:4:11: when of rule 'x': "

static void test_what_the_sandbox_refuses(void **state)
{
	static const struct {
		const char *expression, *sentence;
	} rows[] = {
		{ "(SELECT count(*) FROM sqlite_schema)", "not authorized" ONLY_READ },
		{ "(SELECT count(*) FROM sqlite_master)", "not authorized" ONLY_READ },
		{ "(SELECT count(*) FROM pragma_database_list)", "not authorized" ONLY_READ },
		{ "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n)", "not authorized" ONLY_READ },
		{ "load_extension('x')", "not authorized to use function: load_extension" ONLY_READ },
		{ "1); DELETE FROM trace; SELECT (1", "is more than one expression; join them with AND or OR" },
		{ "1); ATTACH 'x' AS y; SELECT (1", "is more than one expression; join them with AND or OR" },
		{ "1), (2", "gives more than one value; leave one of them" },
	};
	static const char *const denied[] = { "randomblob(9)", "zeroblob(9)", "readfile('/etc/passwd')", "writefile('x', 'y')",
					      "fts3_tokenizer('x')", "random()", "datetime('now')", "json_each('[]')",
					      "sqlite_version()", "sqlite_compileoption_get(1)", "last_insert_rowid()", "hex('x')" };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char lines[300], sentence[300];

		snprintf(lines, sizeof lines, "    when: %s\n", rows[i].expression);
		snprintf(sentence, sizeof sentence, IN_WHEN "%s", rows[i].sentence);
		refuse_rule(lines, sentence);
	}
	for (size_t i = 0; i < sizeof denied / sizeof *denied; i++) {
		char lines[100];

		snprintf(lines, sizeof lines, "    when: %s\n", denied[i]);
		assert_int_equal(add_rule(lines), -EINVAL);
		assert_true(strstr(error.text, "not authorized") || strstr(error.text, "no such function"));
	}
	/* words that are no expressions at all */
	assert_int_equal(add_rule("    when: ATTACH 'x' AS y\n"), -EINVAL);
	assert_int_equal(add_rule("    when: PRAGMA writable_schema\n"), -EINVAL);
	assert_int_equal(add_rule("    when: (DELETE FROM trace RETURNING 1)\n"), -EINVAL);
	assert_int_equal(add_rule("    when: 1) FROM trace --\n"), -EINVAL);
	assert_int_equal(add_rule("    when: 1 -- a remark is fine\n"), 0);
}

static void test_what_goes_on_too_long(void **state)
{
	static char json[100000];
	char lines[1000];

	(void)state;
	strcpy(json, "{\"functions\": [{}");
	for (unsigned i = 1; i < 2000; i++)
		strcat(json, ",{\"name\": \"f\"}");
	strcat(json, "]}");
	assert_int_equal(add_rule("    when: (SELECT count(*) FROM functions a, functions b, functions c WHERE a.name || b.name < c.name)\n"), 0);
	assert_true(run_on(json) < 0);
	assert_string_equal(error.text, IN_WHEN "takes too long; join fewer rows");
	assert_int_equal(error.exit_code, 2);
	expect("length(format('%2000000d', 1))", "unknown"); /* longer than a cell may be */
	strcpy(lines, "    when: length(");
	for (unsigned i = 0; i < 8; i++)
		strcat(lines, "replace(");
	strcat(lines, "'aaaaaaaaaa'");
	for (unsigned i = 0; i < 8; i++)
		strcat(lines, ", 'a', 'aaaaaaaaaa')");
	strcat(lines, ")\n");
	refuse_run(lines, IN_WHEN "string or blob too big; docs/rules.md shows how expressions are written");
	strcpy(lines, "    when: ");
	for (unsigned i = 0; i < 400; i++)
		strcat(lines, "(");
	strcat(lines, "1\n");
	assert_int_equal(add_rule(lines), -EINVAL);
}

static void test_values_of_the_wrong_kind(void **state)
{
	(void)state;
	refuse_run("    when: trace.path\n",
		   IN_WHEN "gives a text and not a number; compare it with something, or take its length()");
	refuse_run("    when: 1\n    gain: x'00'\n",
		   "r.yaml:5:11: gain of rule 'x': gives a text and not a number; compare it with something, or take its length()");
	refuse_run("    when: abs(-9223372036854775807 - 1)\n", IN_WHEN "integer overflow; docs/rules.md shows how expressions are written");
	refuse_run("    when: 1\n    suggestion: 'a {abs(-9223372036854775807 - 1)}'\n",
		   "r.yaml:5:21: suggestion of rule 'x': integer overflow; docs/rules.md shows how expressions are written");
}

static void test_ranking(void **state)
{
	(void)state;
	start();
	assert_int_equal(add("r.yaml", "rules:\n  - {name: note, when: 1, message: m}\n  - {name: none, when: 1, message: m, gain: 0}\n"
				       "  - {name: small, when: 1, message: m, gain: 0.1}\n  - {name: large, when: 1, message: m, gain: 0.2}\n"), 0);
	assert_int_equal(run_on(analysis), 0);
	assert_string_equal(found.list[0].id, "custom:large");
	assert_string_equal(found.list[1].id, "custom:small");
	assert_string_equal(found.list[2].id, "custom:none");
	assert_string_equal(found.list[3].id, "custom:note");
}

static void test_the_schema(void **state)
{
	const char *columns, *name;
	size_t count = 0;

	(void)state;
	for (; (name = rules_table(count, &columns)); count++)
		assert_true(*name && *columns);
	assert_true(count > 20);
}

static int tear_down(void **state)
{
	(void)state;
	rules_free(rules);
	rules_free(NULL);
	free(found.list);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_those_of_the_json),
		cmocka_unit_test(test_tables_do_not_depend_on_the_json),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_a_rule_again_and_again),
		cmocka_unit_test(test_fields_in_their_order),
		cmocka_unit_test(test_what_is_left_out),
		cmocka_unit_test(test_when_it_does_not_fire),
		cmocka_unit_test(test_braces),
		cmocka_unit_test(test_long_texts_are_cut_between_characters),
		cmocka_unit_test(test_places_in_the_file),
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_large_files),
		cmocka_unit_test(test_empty_files),
		cmocka_unit_test(test_later_files_win),
		cmocka_unit_test(test_thresholds),
		cmocka_unit_test(test_what_the_sandbox_refuses),
		cmocka_unit_test(test_what_goes_on_too_long),
		cmocka_unit_test(test_values_of_the_wrong_kind),
		cmocka_unit_test(test_ranking),
		cmocka_unit_test(test_the_schema),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
