/*
 * fuzz-rules.c - files of rules of any content, and an analysis of any content.
 *
 * What comes behind the first NUL of the input is the JSON of an analysis; there
 * is one at hand when nothing does.
 */
#include <stdlib.h>
#include <string.h>

#include "rules/rules.h"

static const char usual[] =
	"{\"analysis_version\": \"1.0\", \"trace\": {\"path\": \"t.sbt\", \"events\": 12}, \"integrity\": {\"verdict\": \"good\", \"checks\": []},"
	"\"summary\": {\"end_to_end_latency_us\": 1000.500, \"total_idle_us\": 250.125}, \"steps\": [{\"duration_us\": 10}],"
	"\"devices\": [{\"device_id\": 0, \"idle_us\": 100.0, \"idle_causes\": {\"input_us\": 60.5}, \"total_us\": 500,"
	"\"kernels\": [{\"name\": \"sgemm\", \"count\": 3, \"total_us\": 70, \"tensor_cores\": false}]}],"
	"\"functions\": [{\"name\": \"it's {x}\\u0000\", \"self_us\": 1.5}, {}]}";

/* A failure has a sentence and the exit code for wrong settings, or for what the machine lacks. */
static void check_error(int rc, const struct error *err)
{
	if (rc < 0 && (!err->text[0] || (err->exit_code != 2 && err->exit_code != 4)))
		abort();
}

static void check_findings(const struct analysis_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct analysis_finding *f = &findings->list[i];

		if (!(f->gain >= 0 && f->gain_low <= f->gain && f->gain <= f->gain_high && f->gain_high <= 1) || f->owned || f->share != 0)
			abort();
		if (!(f->severity >= 0 && f->severity <= 1 && f->confidence >= 0 && f->confidence <= 1) || !f->kind[0] || !f->rule)
			abort();
		if (strlen(f->action) >= FINDING_TEXT || strlen(f->evidence.text[0]) >= FINDING_TEXT)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;
	size_t yaml = end ? (size_t)(end - data) : size, rest = end ? size - yaml - 1 : 0;
	size_t json_size = rest ? rest : sizeof usual - 1;
	char *json = calloc(1, json_size + RULES_PADDING);
	struct analysis_findings findings = { 0 };
	struct error err = { 0 };
	struct rules *r;
	int rc;

	if (!json || rules_new(&r) < 0)
		abort();
	memcpy(json, rest ? (const char *)end + 1 : usual, json_size);
	rc = rules_add(r, "fuzz.yaml", data, yaml, &err);
	rc = rc ? rc : rules_check(r, &err);
	rc = rc ? rc : rules_run(r, json, json_size, &findings, &err);
	check_error(rc, &err);
	check_findings(&findings);
	rules_free(r);
	free(findings.list);
	free(json);
	return 0;
}
