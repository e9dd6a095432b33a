#include "record/session_text.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

size_t session_text_read(int folder_fd, const char *name, char *text, size_t most)
{
	struct stat st;
	ssize_t n = 0;
	int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		n = read(fd, text, most);
	close(fd);
	return n > 0 ? (size_t)n : 0;
}

void session_text_clean(char *out, size_t room, const char *text, size_t size)
{
	size_t used = 0, n;
	uint32_t c;

	for (size_t at = 0; at < size && text[at] != '\n' && text[at] != '\0'; at += n) {
		n = text_decode(text + at, size - at, &c);
		if (used + n >= room)
			break;
		if (c == TEXT_INVALID)
			out[used++] = '?';
		else
			used = (size_t)((char *)mempcpy(out + used, text + at, n) - out);
	}
	out[used] = '\0';
}
