#include "record/notes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/text.h"

#define FILES_MAX 65536u /* more processes than this need not be heard */

struct note_file {
	uint32_t pid, number;
};

/* "n12" and "n12.3", and nothing that only looks like them. */
static bool parse_name(const char *name, struct note_file *ret)
{
	char again[32];

	*ret = (struct note_file){ 0 };
	if (sscanf(name, "n%u.%u", &ret->pid, &ret->number) < 1)
		return false;
	snprintf(again, sizeof again, ret->number ? "n%u.%u" : "n%u", ret->pid, ret->number);
	return strcmp(name, again) == 0;
}

static int by_number(const void *a, const void *b)
{
	const struct note_file *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static size_t list_files(int folder_fd, struct note_file **ret)
{
	int copy = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	size_t count = 0, capacity = 0;
	struct dirent *entry;
	struct note_file file;

	*ret = NULL;
	while (dir && count < FILES_MAX && (entry = readdir(dir)) != NULL)
		if (parse_name(entry->d_name, &file) && ARRAY_GROW(*ret, capacity, count + 1) == 0)
			(*ret)[count++] = file;
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
	if (count)
		qsort(*ret, count, sizeof **ret, by_number);
	return count;
}

/* A file of ours, not something that somebody put there; its bytes, up to the limit. */
static size_t read_file(int folder_fd, const struct note_file *file, char text[NOTE_MAX_BYTES])
{
	char name[32];
	struct stat st;
	ssize_t n = 0;
	int fd;

	snprintf(name, sizeof name, file->number ? "n%u.%u" : "n%u", file->pid, file->number);
	fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		n = read(fd, text, NOTE_MAX_BYTES);
	close(fd);
	return n > 0 ? (size_t)n : 0;
}

/* The first line, as UTF-8: what is not gets a question mark. */
static void clean(char out[NOTE_MAX_BYTES + 1], const char *text, size_t size)
{
	size_t used = 0, n;
	uint32_t c;

	for (size_t at = 0; at < size && text[at] != '\n' && text[at] != '\0'; at += n) {
		n = text_decode(text + at, size - at, &c);
		if (c == TEXT_INVALID)
			out[used++] = '?';
		else
			used = (size_t)((char *)mempcpy(out + used, text + at, n) - out);
	}
	out[used] = '\0';
}

static void add_note(struct notes *notes, const char *text)
{
	if (text[0] == '\0')
		return;
	for (size_t i = 0; i < notes->count; i++)
		if (strcmp(notes->texts[i], text) == 0)
			return;
	strcpy(notes->texts[notes->count++], text);
}

void notes_add(struct notes *notes, const char *text)
{
	if (notes->count == NOTE_LIMIT)
		notes->count--;
	add_note(notes, text);
}

void notes_read(struct notes *notes, int folder_fd)
{
	char raw[NOTE_MAX_BYTES], text[NOTE_MAX_BYTES + 1];
	struct note_file *files;
	size_t count = list_files(folder_fd, &files);

	notes->count = 0;
	for (size_t i = 0; i < count && notes->count < NOTE_LIMIT; i++) {
		clean(text, raw, read_file(folder_fd, &files[i], raw));
		add_note(notes, text);
	}
	free(files);
}
