/* terminal_output.c - what the program wrote, as lines.  See terminal_parts.h. */
#include <string.h>

#include "live/terminal_parts.h"

/* A title of the window, say: up to a bell, or to the next escape and what follows it. */
static size_t skip_string(const char *s, size_t size)
{
	size_t n = 2;

	while (n < size && s[n] != '\a' && s[n] != '\033')
		n++;
	return n < size && s[n] == '\a' ? n + 1 : n;
}

/* What moves the cursor or colours is left out; a line that was written over is what it has become. */
static size_t skip_sequence(const char *s, size_t size)
{
	size_t n = 2;

	if (size >= 2 && s[1] == ']')
		return skip_string(s, size);
	if (size < 2 || s[1] != '[')
		return size < 2 ? size : 2;
	while (n < size && !(s[n] >= 0x40 && s[n] <= 0x7e))
		n++;
	return n < size ? n + 1 : n;
}

static size_t plain_line(const char *s, size_t size, char *out, size_t room)
{
	size_t n = 0;

	while (size > 0 && s[size - 1] == '\r')
		size--;
	for (size_t i = 0; i < size && n < room;) {
		if (s[i] == '\033') {
			i += skip_sequence(s + i, size - i);
			continue;
		}
		if (s[i] == '\r')
			n = 0;
		else if (s[i] == '\t')
			out[n++] = ' ';
		else
			out[n++] = s[i];
		i++;
	}
	return n;
}

/* Where the line begins that ends at `end`. */
static size_t line_start(const char *s, size_t end)
{
	while (end > 0 && s[end - 1] != '\n')
		end--;
	return end;
}

static size_t count_lines(const char *s, size_t size)
{
	size_t n = size > 0 && s[size - 1] != '\n';

	for (size_t i = 0; i < size; i++)
		n += s[i] == '\n';
	return n;
}

void output_draw(struct live_terminal *t, int row, int rows, size_t scroll)
{
	size_t size = t->options.output && t->tail ? live_output_tail(t->options.output, t->tail, TAIL_MAX) : 0, start;
	char line[1024];

	if (size > 0 && t->tail[size - 1] == '\n')
		size--;
	for (; scroll > 0 && size > 0; scroll--) {
		start = line_start(t->tail, size);
		size = start > 0 ? start - 1 : 0;
	}
	for (int i = (int)count_lines(t->tail, size) < rows ? (int)count_lines(t->tail, size) : rows; i > 0; i--) {
		start = line_start(t->tail, size);
		paint_bytes(t, row + i - 1, 0, t->columns, INK_PLAIN, line, plain_line(t->tail + start, size - start, line, sizeof line));
		size = start > 0 ? start - 1 : 0;
	}
}

void output_pane(struct live_terminal *t, int row, int rows)
{
	size_t size, count;

	if (!t->options.output || !t->tail) {
		paint_text(t, row, 0, t->columns, INK_PLAIN, "The program does not write to this terminal.");
		return;
	}
	if (live_output_total(t->options.output) == 0) {
		paint_text(t, row, 0, t->columns, INK_PLAIN, "The program has written nothing yet.");
		return;
	}
	size = live_output_tail(t->options.output, t->tail, TAIL_MAX);
	count = count_lines(t->tail, size);
	pane_limit_scroll(t, count, rows);
	output_draw(t, row, rows, t->scroll);
}
