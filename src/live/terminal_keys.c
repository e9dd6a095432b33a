/*
 * terminal_keys.c - keys, and what they change.  See terminal_parts.h.
 *
 * Bytes are read as they come and not through ncurses: while the user types to
 * the program they are not to be understood, and ncurses would wait after each
 * escape for what might follow.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ncurses.h>

#include "live/terminal_parts.h"

#define CTRL_L 0x0c
#define CTRL_RIGHT_BRACKET 0x1d
#define ESCAPE 0x1b
#define BACKSPACE 0x7f
#define PAGE 10

enum key {
	KEY_OF_UP = 0x100,
	KEY_OF_DOWN,
	KEY_OF_LEFT,
	KEY_OF_RIGHT,
	KEY_OF_PAGE_UP,
	KEY_OF_PAGE_DOWN,
	KEY_OF_HOME,
	KEY_OF_END,
	KEY_OF_BACK_TAB,
	KEY_OF_NOTHING,
};

/* ---- From bytes to keys --------------------------------------------------------------- */

static int numbered_key(long number)
{
	switch (number) {
	case 1:
	case 7:
		return KEY_OF_HOME;
	case 4:
	case 8:
		return KEY_OF_END;
	case 5:
		return KEY_OF_PAGE_UP;
	case 6:
		return KEY_OF_PAGE_DOWN;
	default:
		return KEY_OF_NOTHING;
	}
}

static int lettered_key(char letter)
{
	static const char letters[] = "ABCDHFZ";
	static const int keys[] = { KEY_OF_UP, KEY_OF_DOWN, KEY_OF_RIGHT, KEY_OF_LEFT, KEY_OF_HOME, KEY_OF_END, KEY_OF_BACK_TAB };
	const char *at = letter ? strchr(letters, letter) : NULL;

	return at ? keys[at - letters] : KEY_OF_NOTHING;
}

/* The key at s (size > 0), and how many bytes it takes. */
static int next_key(const char *s, size_t size, size_t *ret_length)
{
	size_t n = 2;

	*ret_length = 1;
	if (s[0] != ESCAPE || size < 3 || (s[1] != '[' && s[1] != 'O'))
		return (unsigned char)s[0];
	while (n < size && !(s[n] >= 0x40 && s[n] <= 0x7e))
		n++;
	*ret_length = n < size ? n + 1 : n;
	if (n == size)
		return KEY_OF_NOTHING;
	return s[n] == '~' ? numbered_key(strtol(s + 2, NULL, 10)) : lettered_key(s[n]);
}

/* ---- What keys do ----------------------------------------------------------------------- */

static void show_pane(struct live_terminal *t, enum pane pane)
{
	t->pane = pane;
	t->scroll = 0;
}

static void scroll_by(struct live_terminal *t, long rows)
{
	long most = (long)t->scroll_most, at;

	if (t->pane == PANE_OUTPUT)
		rows = -rows; /* which begins at its end */
	at = (long)t->scroll + rows;
	t->scroll = (size_t)(at < 0 ? 0 : at > most ? most : at);
}

static enum live_key_result filter_key(struct live_terminal *t, int key)
{
	if (key == '\n' || key == '\r' || key == ESCAPE)
		t->filtering = false;
	if (key == ESCAPE)
		t->filter_size = 0;
	if ((key == BACKSPACE || key == '\b') && t->filter_size > 0)
		t->filter_size--;
	if (key >= 0x20 && key < 0x7f && t->filter_size + 1 < FILTER_MAX)
		t->filter[t->filter_size++] = (char)key;
	t->filter[t->filter_size] = '\0';
	t->scroll = 0;
	return LIVE_KEY_REDRAW;
}

static void begin_typing(struct live_terminal *t)
{
	if (!t->options.output || !live_output_has_input(t->options.output)) {
		beep();
		return;
	}
	t->typing = true;
	show_pane(t, PANE_OUTPUT);
}

static void go_on(struct live_terminal *t)
{
	t->paused = false;
	free(t->frozen);
	t->frozen = NULL;
}

static bool move_key(struct live_terminal *t, int key)
{
	switch (key) {
	case '\t':
	case 't':
	case KEY_OF_RIGHT:
		show_pane(t, (enum pane)((t->pane + 1) % PANE_COUNT));
		return true;
	case KEY_OF_BACK_TAB:
	case KEY_OF_LEFT:
		show_pane(t, (enum pane)((t->pane + PANE_COUNT - 1) % PANE_COUNT));
		return true;
	case KEY_OF_UP:
	case KEY_OF_DOWN:
		scroll_by(t, key == KEY_OF_UP ? -1 : 1);
		return true;
	case KEY_OF_PAGE_UP:
	case KEY_OF_PAGE_DOWN:
		scroll_by(t, key == KEY_OF_PAGE_UP ? -PAGE : PAGE);
		return true;
	case KEY_OF_HOME:
	case KEY_OF_END:
		scroll_by(t, key == KEY_OF_HOME ? -100000 : 100000);
		return true;
	}
	return false;
}

static enum live_key_result take_key(struct live_terminal *t, int key)
{
	if (t->filtering)
		return filter_key(t, key);
	if (t->help) { /* any key */
		t->help = false;
		return LIVE_KEY_REDRAW;
	}
	if (move_key(t, key))
		return LIVE_KEY_REDRAW;
	switch (key) {
	case 'q':
		return LIVE_KEY_QUIT;
	case '?':
	case 'h':
		t->help = true;
		break;
	case 'p':
	case ' ':
		if (t->paused)
			go_on(t);
		else
			t->paused = true;
		break;
	case 's':
		if (pane_sorts(t->pane))
			t->sort[t->pane] = (t->sort[t->pane] + 1) % pane_sorts(t->pane);
		break;
	case 'a':
		show_pane(t, t->pane == PANE_ALERTS ? PANE_THREADS : PANE_ALERTS);
		break;
	case 'o':
		t->large = !(t->pane == PANE_OUTPUT && t->large);
		show_pane(t, t->large ? PANE_OUTPUT : PANE_THREADS);
		break;
	case '/':
		t->filtering = true;
		break;
	case 'i':
		begin_typing(t);
		break;
	case CTRL_L:
		clearok(curscr, TRUE);
		break;
	case ESCAPE:
		t->filter_size = 0;
		t->filter[0] = '\0';
		break;
	default:
		return LIVE_KEY_NONE;
	}
	return LIVE_KEY_REDRAW;
}

/* To the program, up to Ctrl-]; returns how many bytes were taken. */
static size_t type(struct live_terminal *t, const char *bytes, size_t size)
{
	const char *end = memchr(bytes, CTRL_RIGHT_BRACKET, size);
	size_t n = end ? (size_t)(end - bytes) : size;

	if (n > 0 && live_output_type(t->options.output, bytes, n) < n)
		beep();
	if (end)
		t->typing = false;
	return end ? n + 1 : n;
}

enum live_key_result live_terminal_keys(struct live_terminal *t)
{
	enum live_key_result result = LIVE_KEY_NONE, one;
	char bytes[256];
	ssize_t n = read(t->options.fd, bytes, sizeof bytes);
	size_t at = 0, length;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return LIVE_KEY_NONE;
	if (n <= 0) {
		t->gone = true;
		return LIVE_KEY_QUIT;
	}
	while (at < (size_t)n) {
		if (t->typing) {
			at += type(t, bytes + at, (size_t)n - at);
			result = LIVE_KEY_REDRAW;
			continue;
		}
		one = take_key(t, next_key(bytes + at, (size_t)n - at, &length));
		at += length;
		if (one == LIVE_KEY_QUIT)
			return one;
		result = one > result ? one : result;
	}
	return result;
}
