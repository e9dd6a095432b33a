/*
 * browser.h - the user's browser.
 */
#ifndef CMD_BROWSER_H
#define CMD_BROWSER_H

#include <stdbool.h>

/* Whether there is a screen to show a browser on, or somebody said what to use instead. */
bool browser_expected(void);

/* Opens a file in the browser, which outlives us and whose output is discarded: xdg-open, what BROWSER names, or
 * sensible-browser.  0, or negative errno when none of them could be started. */
int browser_open(const char *path);

#endif
