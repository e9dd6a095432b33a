/* request.c - see request.h. */
#include "record/request.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct {
	int signal;
	const char *name, *by_terminal;
} kinds[] = {
	{ SIGINT, "SIGINT", "Ctrl-C" },
	{ SIGTERM, "SIGTERM", "SIGTERM" },
	{ SIGHUP, "SIGHUP", "the end of the terminal" },
	{ SIGQUIT, "SIGQUIT", "Ctrl-\\" },
};
#define KINDS (sizeof kinds / sizeof kinds[0])

bool request_is(int signal)
{
	for (size_t i = 0; i < KINDS; i++)
		if (kinds[i].signal == signal)
			return true;
	return false;
}

void request_add_all(sigset_t *set)
{
	for (size_t i = 0; i < KINDS; i++)
		sigaddset(set, kinds[i].signal);
}

int64_t request_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void requests_begin(struct requests *requests)
{
	*requests = (struct requests){ .since_ns = request_now() };
}

void requests_take(struct requests *requests, int signal, pid_t sender, int64_t since_ns)
{
	if (!request_is(signal) || requests->signal)
		return;
	if (since_ns - requests->since_ns > REQUEST_SAME_NS) {
		requests->signal = signal;
		requests->sender = sender;
	} else if (!requests->asked) { /* its copies count from here */
		requests->asked = true;
		requests->since_ns = since_ns > requests->since_ns ? since_ns : requests->since_ns;
	}
}

void request_words(const struct requests *requests, char *text, size_t size)
{
	size_t i = 0;

	while (i + 1 < KINDS && kinds[i].signal != requests->signal)
		i++;
	if (requests->sender > 0)
		snprintf(text, size, "%s of process %d", kinds[i].name, (int)requests->sender);
	else
		snprintf(text, size, "%s", kinds[i].by_terminal);
}
