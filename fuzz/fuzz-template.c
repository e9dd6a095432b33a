/*
 * fuzz-template.c - templates of any content, and an analysis of any content.
 *
 * The first byte says the format; what comes behind the first NUL is the JSON of
 * an analysis; there is one at hand when nothing does.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "template/template.h"

static const char usual[] =
	"{\"a\": \"<q1>\\\"'`&|\", \"n\": 12.5, \"none\": null, \"yes\": true, \"list\": [{\"a\": \"<q2>``\", \"b\": [1, 2, 3]}, {\"a\": \"\\\\\"}],"
	"\"texts\": [\"<q3>\", \"\\u202e\\n\"], \"object\": {\"inner\": {\"deep\": \"</q4>\"}}}";

static int has(const void *text, size_t size, const char *word)
{
	return memmem(text, size, word, strlen(word)) != NULL;
}

/* No tag of a value is in the page, unless it is in the template. */
static void check_page(const uint8_t *text, size_t size, const struct buffer *out)
{
	static const char *const tags[] = { "<q1", "<q2", "<q3", "</q4" };

	for (unsigned i = 0; i < 4; i++)
		if (out->size && has(out->data, out->size, tags[i]) && !memchr(text, 'q', size) && !memchr(text, '1' + (int)i, size))
			abort();
}

static void check_error(int rc, const struct error *err)
{
	if (rc < 0 && !err->text[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum template_format format = size && data[0] & 1 ? TEMPLATE_HTML : TEMPLATE_MARKDOWN;
	const uint8_t *text = data + (size > 0), *end = size > 1 ? memchr(text, 0, size - 1) : NULL;
	size_t text_size = end ? (size_t)(end - text) : size - (size > 0), rest = end ? size - 2 - text_size : 0;
	struct buffer out = BUFFER_INIT;
	struct template *t = NULL;
	struct error err = { 0 };
	int rc = template_parse(&t, "fuzz.in", (const char *)text, text_size, format, &err);

	check_error(rc, &err);
	if (rc < 0 && (strncmp(err.text, "fuzz.in:", 8) != 0 || err.exit_code != 2))
		abort();
	if (rc == 0) {
		rc = template_render(t, rest ? (const char *)end + 1 : usual, rest ? rest : sizeof usual - 1, &out, &err);
		check_error(rc, &err);
		if ((rc < 0 && out.size) || out.size > TEMPLATE_OUTPUT_MAX + 4096 + TEMPLATE_FILE_MAX)
			abort();
		if (format == TEMPLATE_HTML && !rest)
			check_page(text, text_size, &out);
	}
	template_free(t);
	buffer_release(&out);
	return 0;
}
