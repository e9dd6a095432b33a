/* page.c - see page.h. */
#include "page/page.h"

#include "page/page_assets.h"
#include "page/page_markup.h"

#define FACTS_SIZE 4096 /* about what follows the data's facts in the part for reading */

static void put_bytes(struct page *p, const void *bytes, size_t size)
{
	int rc = p->error ? 0 : buffer_append(p->out, bytes, size);

	if (rc < 0)
		p->error = rc;
}

static void put_style(struct page *p)
{
	page_put(p, "<style>");
	put_bytes(p, page_style, page_style_size);
	page_put(p, "</style>\n</head>\n");
}

/* The data comes before the code, which thus finds all of it. */
static void put_data(struct page *p, const struct buffer *data)
{
	put_bytes(p, data->data, data->size);
	page_put(p, "<script>");
	put_bytes(p, page_script, page_script_size);
	page_put(p, "</script>\n</body>\n</html>\n");
}

int page_append(const struct analysis *a, const struct report_source *source, const struct page_options *options, struct buffer *out)
{
	struct page p = { .out = out, .a = a, .source = source };
	size_t before = out->size, taken;
	struct buffer data = BUFFER_INIT; /* apart, since the part for reading says what is in it */
	struct page_data_facts facts = { 0 };
	struct page_options rest = options ? *options : (struct page_options){ 0 };
	int rc;

	page_markup_head(&p);
	put_style(&p);
	page_markup_body(&p);
	taken = out->size - before + page_script_size + FACTS_SIZE;
	if (rest.size_most == 0)
		rest.size_most = PAGE_SIZE;
	rest.size_most = rest.size_most > taken ? rest.size_most - taken : 0;
	rc = p.error ? p.error : page_data_append(a, source, &rest, &data, &facts);
	if (rc == 0) {
		page_markup_end(&p, &facts);
		put_data(&p, &data);
		rc = p.error;
	}
	buffer_release(&data);
	if (rc < 0)
		out->size = before;
	return rc;
}
