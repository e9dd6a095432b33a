/*
 * file.h - reading and writing files without surprises.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

struct file_place;
struct stat;

/* dir + "/" + name, allocated; name alone when it is absolute or dir is empty.  NULL when out of memory. */
char *path_join(const char *dir, const char *name);

/* Opens for reading and refuses everything but a regular file, without following a link in the last component and
 * without waiting for a writer of a FIFO.  dir_fd as in openat().  Returns a descriptor; -ELOOP for a link, -EISDIR for
 * a directory, -EINVAL for other things that are no regular file.  ret_stat may be NULL. */
int file_open_regular(int dir_fd, const char *path, struct stat *ret_stat);

/* Appends all of a descriptor or file to buf; -EFBIG when there are more than `limit` bytes.  /proc files are fine. */
int file_read_fd(int fd, size_t limit, struct buffer *buf);
int file_read_whole(const char *path, size_t limit, struct buffer *buf);

/* Goes on after short writes and EINTR. */
int file_write_all(int fd, const void *data, size_t size);

/* Returns when what was written to the file is on the disk, so that a power cut does not take it; _folder() the same of the names of
 * the files beside `path`.  A file system that has no such thing to offer is no failure; one that could not write is. */
int file_sync(int fd);
int file_sync_folder(const char *path);

/* A regular file of that name gets the name PATH.old as well, in place of one that had it; it keeps its own until that is given to
 * another, where links are possible.  *ret_kept says whether there was one, and may be NULL. */
int file_keep_older(const char *path, bool *ret_kept, struct error *err);

/*
 * A file that appears under its name only when it is whole: it is written
 * under a temporary name in the same folder, and renamed.
 *
 *      struct file_draft draft;
 *      file_draft_open(&draft, "report.json", &err);
 *      file_write_all(draft.fd, ...);
 *      file_draft_commit(&draft, &err);      or      file_draft_discard(&draft);
 */
struct file_draft {
	int fd;
	char *path;      /* where it will be */
	char *temporary; /* where it is meanwhile; NULL when path is a device or a pipe and is written in place */
};
#define FILE_DRAFT_INIT { -1, NULL, NULL }

int file_draft_open(struct file_draft *draft, const char *path, struct error *err);
int file_draft_commit(struct file_draft *draft, struct error *err); /* discards when it fails */
/* The same where others may want the name (file_place.h). */
int file_draft_commit_at(struct file_draft *draft, struct file_place *place, struct error *err);
void file_draft_discard(struct file_draft *draft);                  /* fine after a commit, too */

#endif
