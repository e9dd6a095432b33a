/* signal_name.c - see signal_name.h. */
#include "base/signal_name.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>

enum sort { OTHER, ASKED, DEADLY };

static const struct {
	int number;
	enum sort sort;
	const char *name;
} signals[] = {
	{ SIGSEGV, DEADLY, "SIGSEGV" }, { SIGABRT, DEADLY, "SIGABRT" }, { SIGKILL, DEADLY, "SIGKILL" }, { SIGBUS, DEADLY, "SIGBUS" },
	{ SIGFPE, DEADLY, "SIGFPE" },   { SIGILL, DEADLY, "SIGILL" },   { SIGXCPU, DEADLY, "SIGXCPU" }, { SIGINT, ASKED, "SIGINT" },
	{ SIGTERM, ASKED, "SIGTERM" },  { SIGHUP, ASKED, "SIGHUP" },    { SIGPIPE, ASKED, "SIGPIPE" },  { SIGQUIT, OTHER, "SIGQUIT" },
	{ SIGTRAP, OTHER, "SIGTRAP" },  { SIGSYS, OTHER, "SIGSYS" },    { SIGALRM, OTHER, "SIGALRM" },  { SIGUSR1, OTHER, "SIGUSR1" },
	{ SIGUSR2, OTHER, "SIGUSR2" },  { SIGXFSZ, OTHER, "SIGXFSZ" },
};

static bool is_sort(int number, enum sort sort)
{
	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
		if (signals[i].number == number)
			return signals[i].sort == sort;
	return false;
}

const char *signal_name(int number)
{
	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
		if (signals[i].number == number)
			return signals[i].name;
	return "";
}

const char *signal_words(char out[SIGNAL_WORDS], int number)
{
	const char *name = signal_name(number);

	snprintf(out, SIGNAL_WORDS, "signal %d%s%s%s", number, name[0] ? " (" : "", name, name[0] ? ")" : "");
	return out;
}

bool signal_is_asked_for(int number)
{
	return is_sort(number, ASKED);
}

bool signal_is_deadly(int number)
{
	return is_sort(number, DEADLY);
}
