#include "record/notes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "record/session_text.h"

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

static size_t read_file(int folder_fd, const struct note_file *file, char text[NOTE_MAX_BYTES])
{
	char name[32];

	snprintf(name, sizeof name, file->number ? "n%u.%u" : "n%u", file->pid, file->number);
	return session_text_read(folder_fd, name, text, NOTE_MAX_BYTES);
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
		session_text_clean(text, sizeof text, raw, read_file(folder_fd, &files[i], raw));
		add_note(notes, text);
	}
	free(files);
}
