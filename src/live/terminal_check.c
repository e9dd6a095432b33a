/* terminal_check.c - can there be a view on a terminal?  Apart, because of the macros that <term.h> defines. */
#include <errno.h>
#include <stdlib.h>

#include "live/terminal.h"

#include <curses.h>
#include <term.h>

int live_terminal_check(int fd, struct error *err)
{
	TERMINAL *before = cur_term;
	const char *term = getenv("TERM");
	int found = 0;
	bool can;

	if (setupterm(NULL, fd, &found) != OK)
		return error_set(err, -ENOTSUP, "there is no view on a terminal of the kind '%s', which nobody has described here",
				 term ? term : "");
	can = cursor_address && clear_screen;
	del_curterm(set_curterm(before));
	if (can)
		return 0;
	return error_set(err, -ENOTSUP, "there is no view on a terminal of the kind '%s', which cannot move its cursor", term ? term : "");
}
