/*
 * collapsed.c - stacks on lines, as flamegraph.pl and inferno take them: "process;thread;outer;inner 1234", nanoseconds.
 *
 * Semicolons in names become commas, and what would break a line is escaped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/formats.h"
#include "export/stacks.h"

#define DEPTH_MAX 4096u

static int append_frame(struct buffer *out, const char *text, size_t size)
{
	size_t start = out->size;
	int rc = text_append_terminal(out, text, size, 0);

	for (size_t i = start; rc == 0 && i < out->size; i++)
		if (out->data[i] == ';')
			out->data[i] = ',';
	return rc;
}

static int append_name(struct buffer *out, const struct stacks *s, uint32_t name)
{
	size_t size;
	const char *text = timeline_string(s->timeline, name, &size);
	int rc = buffer_append(out, ";", 1);

	return rc ? rc : size ? append_frame(out, text, size) : append_frame(out, "[no name]", 9);
}

static int append_stack(struct buffer *out, const struct stacks *s, uint32_t node)
{
	uint32_t path[DEPTH_MAX + 1], depth = 0;
	int rc = 0;

	for (; node != STACKS_NONE && depth <= DEPTH_MAX; node = s->nodes[node].parent)
		path[depth++] = s->nodes[node].name;
	while (depth-- > 0 && rc == 0)
		rc = append_name(out, s, path[depth]);
	return rc;
}

/* One after the other, as they were met: their own order says nothing, but is always the same. */
static int write_nodes(const struct stacks *s, struct export_out *out)
{
	char process[160], thread[160];
	uint32_t known = STACKS_NONE;

	for (uint32_t i = 0; i < s->node_count; i++) {
		const struct stack_node *n = &s->nodes[i];

		if (n->weight == 0)
			continue;
		if (n->thread != known) {
			known = n->thread;
			stacks_process_name(s, known, process, sizeof process);
			stacks_thread_name(s, known, thread, sizeof thread);
		}
		export_out_check(out, append_frame(&out->buf, process, strlen(process)));
		export_out_check(out, buffer_append(&out->buf, ";", 1));
		export_out_check(out, append_frame(&out->buf, thread, strlen(thread)));
		export_out_check(out, append_stack(&out->buf, s, i));
		export_out_check(out, buffer_printf(&out->buf, " %lld\n", (long long)n->weight));
		if (!export_out_ready(out))
			return out->error;
	}
	return 0;
}

EXPORT_WRITER(export_collapsed)
{
	static const struct stacks_sink none = { 0 };
	struct stacks s;
	int rc = stacks_open(&s, reader, options, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < s.thread_count && rc == 0; i++)
		rc = stacks_walk(&s, i, &none, NULL);
	rc = rc ? rc : write_nodes(&s, out);
	stacks_close(&s);
	return rc;
}
