/*
 * template.h - reports in a form of the user's own (docs/templates.md).
 *
 *      struct template *t;
 *      template_parse(&t, "report.md.in", text, size, TEMPLATE_MARKDOWN, &err);
 *      template_render(t, json, json_size, &out, &err);
 *      template_free(t);
 *
 * A template is the text of the report with names of the analysis JSON in it,
 * {{a.b}}, and parts that are repeated, {{#list}}...{{/list}}.  There is no code
 * in it, and nothing is read but the template and the JSON.
 *
 * Both may be hostile.  Whatever comes from the JSON is made safe for where it
 * stands, and there is no way around that: a value stands only where it can be
 * made safe, which is checked when the template is parsed.
 *
 * What is wrong is said in one sentence that begins with the file, the line and
 * the column, with err->exit_code 2.
 */
#ifndef TEMPLATE_TEMPLATE_H
#define TEMPLATE_TEMPLATE_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

#define TEMPLATE_FILE_MAX (1u << 20)    /* bytes a template may have */
#define TEMPLATE_OUTPUT_MAX (64u << 20) /* bytes that may come out */
#define TEMPLATE_DEPTH_MAX 32           /* parts inside each other */

enum template_format { TEMPLATE_MARKDOWN, TEMPLATE_HTML };

struct template;

int template_parse(struct template **ret, const char *path, const char *text, size_t size, enum template_format format, struct error *err);

/* Appends the report; nothing when it fails.  The JSON is that of report_json(), or any other. */
int template_render(const struct template *t, const char *json, size_t size, struct buffer *out, struct error *err);

void template_free(struct template *t);

#endif
