/* report_formats.c - see report_formats.h. */
#include "cmd/report_formats.h"

#include <string.h>

const char *const report_formats[] = { "text", "md", "json", "html", NULL };

int report_format_of(const char *path)
{
	static const struct {
		const char *suffix;
		enum report_format format;
	} known[] = {
		{ ".txt", REPORT_TEXT },  { ".md", REPORT_MARKDOWN }, { ".json", REPORT_JSON },
		{ ".html", REPORT_HTML }, { ".htm", REPORT_HTML },
	};
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');

	for (size_t i = 0; dot && i < sizeof known / sizeof known[0]; i++)
		if (strcmp(dot, known[i].suffix) == 0)
			return (int)known[i].format;
	return -1;
}

int report_append(enum report_format format, const struct analysis *a, const struct report_source *source,
		  const struct report_text_options *text, const struct page_options *page, struct buffer *out)
{
	switch (format) {
	case REPORT_JSON:
		return report_json(a, source, out);
	case REPORT_MARKDOWN:
		return report_markdown(a, source, out);
	case REPORT_HTML:
		return page_append(a, source, page, out);
	default:
		return report_text(a, source, text, out);
	}
}

int report_append_template(const struct template *t, const struct analysis *a, const struct report_source *source, struct buffer *out,
			   struct error *err)
{
	struct buffer json = BUFFER_INIT;
	int rc = report_json(a, source, &json);

	if (rc < 0)
		error_errno(err, rc, "cannot make the report");
	else
		rc = template_render(t, (const char *)json.data, json.size, out, err);
	buffer_release(&json);
	return rc;
}
