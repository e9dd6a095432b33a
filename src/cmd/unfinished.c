/* unfinished.c - see unfinished.h. */
#include "cmd/unfinished.h"

#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

static const int enders[] = { SIGINT, SIGTERM, SIGHUP };

static char unfinished[PATH_MAX];
static sigset_t before;

static void tidy_and_end(int number)
{
	if (unfinished[0])
		(void)unlink(unfinished);
	(void)raise(number); /* once more, as it would have been: the handler is gone by now */
}

static void end_tidily(void)
{
	struct sigaction action = { .sa_handler = tidy_and_end, .sa_flags = (int)SA_RESETHAND }, old;

	for (size_t i = 0; i < sizeof enders / sizeof *enders; i++)
		if (sigaction(enders[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			(void)sigaction(enders[i], &action, NULL);
}

void unfinished_begin(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof enders / sizeof *enders; i++)
		sigaddset(&set, enders[i]);
	sigprocmask(SIG_BLOCK, &set, &before);
}

void unfinished_is(const char *path)
{
	if (path) {
		snprintf(unfinished, sizeof unfinished, "%s", path);
		end_tidily();
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
}

void unfinished_over(void)
{
	unfinished[0] = '\0';
}
