/*
 * session_text.h - short texts that processes leave in the session's folder.
 */
#ifndef RECORD_SESSION_TEXT_H
#define RECORD_SESSION_TEXT_H

#include <stddef.h>

/* The first bytes of a file of ours, not of something that somebody put there; how many there are. */
size_t session_text_read(int folder_fd, const char *name, char *text, size_t most);

/* The first line, as much of it as fits, as UTF-8: what is not gets a question mark. */
void session_text_clean(char *out, size_t room, const char *text, size_t size);

#endif
