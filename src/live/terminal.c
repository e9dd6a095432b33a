/*
 * terminal.c - opens and closes the screen, and divides it.  See terminal.h, terminal_parts.h.
 *
 * From top to bottom: what runs, what is measured, what is alarming, one of the
 * tables, the last lines that the program wrote, the keys.  What there is no room
 * for is left out, the table last.
 */
#include "live/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "live/terminal_parts.h"

#define ALERT_ROWS 3
#define OUTPUT_ROWS 4

/* ---- The screen -------------------------------------------------------------------------- */

int live_terminal_new(struct live_terminal **ret, const struct live_terminal_options *options, struct error *err)
{
	struct live_terminal *t = calloc(1, sizeof *t);

	if (t && options->output)
		t->tail = malloc(TAIL_MAX);
	if (!t || (options->output && !t->tail)) {
		free(t);
		return error_set(err, -ENOMEM, "out of memory");
	}
	t->options = *options;
	t->draft = memfd_create("screen", MFD_CLOEXEC);
	*ret = t;
	return 0;
}

void live_terminal_free(struct live_terminal *t)
{
	if (!t)
		return;
	live_terminal_hide(t);
	if (t->screen)
		delscreen(t->screen);
	if (t->draft >= 0)
		close(t->draft);
	if (t->in)
		fclose(t->in);
	if (t->out)
		fclose(t->out);
	buffer_release(&t->text);
	free(t->frozen);
	free(t->tail);
	free(t);
}

/* ncurses takes signals that are not its own business here. */
static const int taken[] = { SIGINT, SIGTERM, SIGTSTP, SIGWINCH };
#define TAKEN (sizeof taken / sizeof taken[0])

static FILE *open_stream(int fd, const char *mode)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	FILE *stream = copy < 0 ? NULL : fdopen(copy, mode);

	if (!stream && copy >= 0)
		close(copy);
	return stream;
}

static void open_screen(struct live_terminal *t)
{
	struct sigaction before[TAKEN];

	t->in = open_stream(t->options.fd, "r");
	t->out = open_stream(t->options.fd, "w");
	for (size_t i = 0; i < TAKEN; i++)
		sigaction(taken[i], NULL, &before[i]);
	if (t->in && t->out)
		t->screen = newterm(NULL, t->out, t->in);
	for (size_t i = 0; i < TAKEN; i++)
		sigaction(taken[i], &before[i], NULL);
}

/* Ctrl-S would stop the view, and nobody would know why; Ctrl-C and Ctrl-Z are the program's. */
static void set_modes(const struct live_terminal *t)
{
	struct termios settings;

	cbreak();
	noecho();
	nonl();
	curs_set(0);
	if (tcgetattr(t->options.fd, &settings) == 0) {
		settings.c_iflag &= ~(tcflag_t)IXON;
		(void)tcsetattr(t->options.fd, TCSANOW, &settings);
	}
	def_prog_mode();
}

static void set_colors(const struct live_terminal *t)
{
	if (!t->options.color || !has_colors())
		return;
	start_color();
	use_default_colors();
	init_pair(1, COLOR_GREEN, -1);
	init_pair(2, COLOR_YELLOW, -1);
	init_pair(3, COLOR_RED, -1);
}

int live_terminal_show(struct live_terminal *t, struct error *err)
{
	if (t->shown)
		return 0;
	if (t->screen) {
		def_shell_mode(); /* somebody else had the terminal meanwhile */
		reset_prog_mode();
		clearok(curscr, TRUE);
		t->shown = true;
		return 0;
	}
	setlocale(LC_CTYPE, "");
	t->ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	open_screen(t);
	if (!t->screen)
		return error_set(err, -ENOTSUP, "cannot open the terminal for the view");
	set_modes(t);
	set_colors(t);
	t->shown = true;
	return 0;
}

void live_terminal_hide(struct live_terminal *t)
{
	if (!t->shown)
		return;
	t->shown = false;
	(void)endwin();
}

static void find_size(const struct live_terminal *t, int *rows, int *columns)
{
	struct winsize size;
	bool known = ioctl(t->options.fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;

	*rows = known ? size.ws_row : 24;
	*columns = known ? size.ws_col : 80;
	*rows = *rows > 500 ? 500 : *rows;
	*columns = *columns > 1000 ? 1000 : *columns;
}

bool live_terminal_resized(const struct live_terminal *t)
{
	int rows, columns;

	find_size(t, &rows, &columns);
	return rows != t->rows || columns != t->columns;
}

static void take_size(struct live_terminal *t)
{
	int rows, columns;

	find_size(t, &rows, &columns);
	if (rows != getmaxy(stdscr) || columns != getmaxx(stdscr)) {
		(void)resizeterm(rows, columns);
		clearok(curscr, TRUE);
	}
	t->rows = rows;
	t->columns = columns;
}

/* ---- What is on it ------------------------------------------------------------------------- */

static const char *state_of(const struct live_terminal *t, const struct live_snapshot *s, char *out, size_t size)
{
	char time[NUMBER_SIZE];
	const char *words = s->state == LIVE_STOPPED ? "stopped" : s->state == LIVE_ENDED ? "ended" : "running";

	snprintf(out, size, "%s%s %s", t->paused ? "paused; " : "", words, number_seconds(time, s->run_s));
	return out;
}

static void draw_head(struct live_terminal *t, const struct live_snapshot *s)
{
	char state[64];
	int width, at;

	state_of(t, s, state, sizeof state);
	width = (int)strlen(state) + 2;
	paint_line(t, 0, INK_TITLE);
	at = paint_format(t, 0, 0, t->columns - width, INK_TITLE, "inferscope %s: ", t->options.title);
	paint_text(t, 0, at, t->columns - width - at, INK_TITLE, s->command);
	paint_right(t, 0, t->columns - width, width - 1, INK_TITLE, state);
}

static const char *plural(uint32_t n, const char *one, const char *more)
{
	return n == 1 ? one : more;
}

/* Returns the rows it took: an address that is cut off helps nobody. */
static int draw_facts(struct live_terminal *t, const struct live_snapshot *s, int row)
{
	uint32_t processes = s->process_count + s->processes_left_out, threads = s->thread_count + s->threads_left_out;
	int at = paint_format(t, row, 0, t->columns, INK_PLAIN, "pid %d, %u %s, %u %s", (int)s->pid, processes,
			      plural(processes, "process", "processes"), threads, plural(threads, "thread", "threads"));

	if (s->gpu_count == 0 && s->gpu_source[0] && !t->options.hint)
		paint_format(t, row, at, t->columns - at, INK_PLAIN, "   GPUs: %s", s->gpu_source);
	if (!t->options.hint)
		return 1;
	if (at + 8 + (int)strlen(t->options.hint) <= t->columns) {
		paint_format(t, row, at, t->columns - at, INK_PLAIN, "   page %s", t->options.hint);
		return 1;
	}
	paint_text(t, row + 1, 0, t->columns, INK_PLAIN, t->options.hint);
	return 2;
}

#define LABEL_COLUMNS 7

/* Where a text is broken that is longer than a row: at the last blank that fits; at its end where there is none. */
static size_t break_at(const char *text, size_t row)
{
	size_t at = strlen(text) > row ? row : 0;

	while (at > 0 && text[at] != ' ')
		at--;
	return at ? at : strlen(text);
}

/* In two rows at most; returns how many. */
static int draw_sentence(struct live_terminal *t, int row, const char *label, const char *text)
{
	int width = t->columns - LABEL_COLUMNS;
	size_t first = break_at(text, width > 0 ? (size_t)width : 0);

	paint_text(t, row, 0, t->columns, INK_STRONG, label);
	paint_bytes(t, row, LABEL_COLUMNS, width, INK_PLAIN, text, first);
	if (!text[first])
		return 1;
	paint_text(t, row + 1, LABEL_COLUMNS, width, INK_PLAIN, text + first + 1);
	return 2;
}

/* What it does, and how its steps are found; both only where they leave room for the rest. */
static int draw_doing(struct live_terminal *t, const struct live_snapshot *s, int row)
{
	const struct live_steps *steps = &s->steps;
	char text[LIVE_TEXT + LIVE_NAME];
	int used;

	if (t->rows < 14 || !s->doing.text[0])
		return 0;
	used = draw_sentence(t, row, "now", s->doing.text);
	if (t->rows < 20 || !(steps->known || steps->trouble[0]))
		return used;
	snprintf(text, sizeof text, steps->known ? "by %s, from %s" : "%.0s%s", steps->found, steps->known ? steps->name : steps->trouble);
	return used + draw_sentence(t, row + used, "steps", text);
}

static void draw_foot(struct live_terminal *t, const struct live_snapshot *s, int row)
{
	char rate[NUMBER_SIZE], total[32], lost[32], bytes[NUMBER_SIZE], cpu[NUMBER_SIZE], rss[NUMBER_SIZE], text[192] = "";
	int at;

	paint_line(t, row, INK_TITLE);
	at = paint_text(t, row, 0, t->columns, INK_TITLE, t->columns >= 70 ? "? help  q quit  Tab pane  s sort  p pause " : "? help  q quit ");
	if (s->events.recorded)
		snprintf(text, sizeof text, "%s events/s, %s, %s lost, trace %s; ", number_plain(rate, s->events.rate),
			 text_group_digits(total, s->events.total), text_group_digits(lost, s->events.lost),
			 number_bytes(bytes, (double)s->events.trace_bytes));
	snprintf(text + strlen(text), sizeof text - strlen(text), "cost %s, %s ", number_share(cpu, s->own_cpu),
		 number_bytes(rss, s->own_rss_bytes));
	if (at < t->columns)
		paint_right(t, row, at, t->columns - at, INK_TITLE, text);
}

static int draw_active_alerts(struct live_terminal *t, const struct live_snapshot *s, int row, int rows)
{
	uint32_t active = s->active_alerts < s->alert_count ? s->active_alerts : s->alert_count;
	int n = 0;

	for (uint32_t i = 0; i < active && i < LIVE_ALERTS && n < rows; i++)
		alert_draw(t, &s->alerts[i], row + n++);
	return n;
}

static int draw_output_strip(struct live_terminal *t, int bottom)
{
	if (!t->options.output || t->pane == PANE_OUTPUT || live_output_total(t->options.output) == 0 || t->rows < 30)
		return 0;
	output_draw(t, bottom - OUTPUT_ROWS, OUTPUT_ROWS, 0);
	paint_line(t, bottom - OUTPUT_ROWS - 1, INK_TITLE);
	paint_text(t, bottom - OUTPUT_ROWS - 1, 0, t->columns, INK_TITLE, " Output (o: all of the screen)");
	return OUTPUT_ROWS + 1;
}

static void draw_body(struct live_terminal *t, const struct live_snapshot *s)
{
	int row = 1, bottom = t->rows - 1, room = (t->rows - 4) / 2;

	if (t->rows >= 12)
		row += draw_facts(t, s, row);
	row += draw_doing(t, s, row);
	if (!(t->large && t->pane == PANE_OUTPUT)) {
		row += meters_draw(t, s, row, room);
		row += draw_active_alerts(t, s, row, t->rows >= 20 ? ALERT_ROWS : 1);
		bottom -= draw_output_strip(t, bottom);
	}
	pane_draw(t, s, row, bottom - row);
	draw_foot(t, s, t->rows - 1);
}

static const char *const help[] = {
	"q           quit the view; a program that was started here goes on",
	"Tab t       the next of: threads, processes, places, alerts, output",
	"Left Right  likewise, in both directions",
	"Up Down PgUp PgDn Home End   scroll",
	"s           sort by something else",
	"/ Esc       only what has this in its name; all",
	"p           pause: what is shown stays, what is recorded goes on",
	"a           alerts, and what to do about them",
	"o           what the program writes, on all of the screen",
	"i           type to the program, until Ctrl-]",
	"Ctrl-L      draw all of it again",
	"Ctrl-C Ctrl-Z  reach the program as without us",
	"? h         this; any key ends it",
};
#define HELP_LINES (sizeof help / sizeof help[0])

static void draw_help(struct live_terminal *t)
{
	paint_line(t, 1, INK_TITLE);
	paint_text(t, 1, 0, t->columns, INK_TITLE, " Keys");
	for (size_t i = 0; i < HELP_LINES && (int)i + 2 < t->rows; i++)
		paint_text(t, (int)i + 2, 1, t->columns - 1, INK_PLAIN, help[i]);
}

/* ---- Drawing -------------------------------------------------------------------------------- */

void live_terminal_note(struct live_terminal *t, const struct live_snapshot *s)
{
	meters_note(t, s);
}

/* While it is paused, the moment at which it was stays. */
static const struct live_snapshot *shown_snapshot(struct live_terminal *t, const struct live_snapshot *s)
{
	if (!t->paused)
		return s;
	if (!t->frozen) {
		t->frozen = malloc(sizeof *t->frozen);
		if (!t->frozen)
			return s;
		*t->frozen = *s;
	}
	return t->frozen;
}

static void write_draft(struct live_terminal *t)
{
	off_t size = lseek(t->draft, 0, SEEK_CUR);

	buffer_clear(&t->text);
	if (size <= 0 || buffer_reserve(&t->text, (size_t)size) != 0 || pread(t->draft, t->text.data, (size_t)size, 0) != size)
		clearok(curscr, TRUE); /* the next draw has all of it */
	else
		(void)file_write_all(t->options.fd, t->text.data, (size_t)size);
	(void)lseek(t->draft, 0, SEEK_SET);
}

/* ncurses writes a few bytes at a time, one call for each.  They go into memory first, and to the terminal in one. */
static void show_drawn(struct live_terminal *t)
{
	int fd = fileno(t->out);

	if (t->draft < 0 || dup3(t->draft, fd, O_CLOEXEC) < 0) {
		refresh();
		return;
	}
	refresh();
	(void)dup3(t->options.fd, fd, O_CLOEXEC);
	write_draft(t);
}

void live_terminal_draw(struct live_terminal *t, const struct live_snapshot *snapshot)
{
	const struct live_snapshot *s = shown_snapshot(t, snapshot);

	if (!t->shown)
		return;
	take_size(t);
	erase();
	draw_head(t, s);
	if (t->help)
		draw_help(t);
	else
		draw_body(t, s);
	show_drawn(t);
}
