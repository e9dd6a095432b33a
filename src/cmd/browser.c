/* browser.c - see browser.h. */
#include "cmd/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

bool browser_expected(void)
{
	return variable("DISPLAY") || variable("WAYLAND_DISPLAY") || variable("BROWSER");
}

/* BROWSER has programs with colons between them, the first of which that can be started is meant; words behind the name of one
 * are arguments, and %s is what to open. */
#define WORDS 16

static void try_words(char *command, const char *path)
{
	char *words[WORDS + 2], *rest = NULL;
	int count = 0;
	bool placed = false;

	for (char *word = strtok_r(command, " \t", &rest); word && count < WORDS; word = strtok_r(NULL, " \t", &rest)) {
		placed = placed || strcmp(word, "%s") == 0;
		words[count++] = strcmp(word, "%s") == 0 ? (char *)path : word;
	}
	if (count == 0)
		return;
	if (!placed)
		words[count++] = (char *)path;
	words[count] = NULL;
	execvp(words[0], words);
}

static void try_variable(const char *path)
{
	char *list = variable("BROWSER") ? strdup(variable("BROWSER")) : NULL, *rest = NULL;

	for (char *command = list ? strtok_r(list, ":", &rest) : NULL; command; command = strtok_r(NULL, ":", &rest))
		try_words(command, path);
	free(list);
}

/* Returns only when nothing could be started. */
static void start(const char *path)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	setsid();
	execlp("xdg-open", "xdg-open", path, (char *)NULL);
	try_variable(path);
	execlp("sensible-browser", "sensible-browser", path, (char *)NULL);
}

/* A child of a child, so that nobody has to wait for it; `failed` is closed by whatever is started. */
static void detach(const char *path, int failed)
{
	pid_t pid = fork();

	if (pid == 0) {
		start(path);
		(void)!write(failed, "", 1);
	}
	_exit(pid < 0);
}

int browser_open(const char *path)
{
	int pipes[2], status = 0;
	char byte;
	pid_t pid;
	ssize_t got;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		detach(path, pipes[1]);
	close(pipes[1]);
	do
		got = pid < 0 ? -1 : read(pipes[0], &byte, 1);
	while (got < 0 && pid > 0 && errno == EINTR);
	close(pipes[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid < 0 ? -EAGAIN : got != 0 || status ? -ENOENT : 0;
}
