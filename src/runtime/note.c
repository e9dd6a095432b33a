/*
 * note.c - a sentence for the user, and facts for the trace.
 *
 * In the profiled process nothing is printed: what there is to say is left in
 * the session's folder, and the recorder tells it when the program has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/runtime.h"

#define NOTES_OF_A_PROCESS 8

static int open_note(void)
{
	char path[RING_PATH_MAX + 32];
	int fd = -1;

	for (int i = 0; i < NOTES_OF_A_PROCESS && fd < 0; i++) {
		snprintf(path, sizeof path, i ? "%s/n%d.%d" : "%s/n%d", inferscope_runtime.folder, (int)getpid(), i);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd;
}

void inferscope_note(const char *text)
{
	int saved = errno, fd = inferscope_joined() ? open_note() : -1;

	if (fd >= 0) {
		(void)!write(fd, text, strnlen(text, NOTE_MAX_BYTES));
		close(fd);
	}
	errno = saved;
}

void inferscope_fact(const char *word, const char *text)
{
	char path[RING_PATH_MAX + 32], line[FACT_MAX_BYTES];
	int saved = errno, fd;
	size_t size;

	if (!inferscope_joined())
		return;
	size = (size_t)snprintf(line, sizeof line - 1, "%s %s", word, text);
	size = size < sizeof line - 1 ? size : sizeof line - 2;
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)line[i] < ' ')
			line[i] = ' ';
	line[size++] = '\n';
	snprintf(path, sizeof path, "%s/f%d", inferscope_runtime.folder, (int)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0) {
		(void)!write(fd, line, size);
		close(fd);
	}
	errno = saved;
}
