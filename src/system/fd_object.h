/*
 * fd_object.h - what a descriptor of another process is: a pipe, a file, a socket to whom.
 */
#ifndef SYSTEM_FD_OBJECT_H
#define SYSTEM_FD_OBJECT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "system/thread_state.h"

#define WAIT_TEXT_SIZE 104u

/* What a wait is for. */
struct wait_object {
	enum thread_state state;
	char what[WAIT_TEXT_SIZE]; /* which one: a path, "pipe:[7]", an address; or "" */
};

/* Sockets by their number, which costs a look through all that there are. */
#define SOCKET_CACHE 64
struct socket_cache {
	struct {
		uint64_t inode;
		struct wait_object object;
	} sockets[SOCKET_CACHE]; /* by number */
};

/* Who waits for this descriptor of process pid waits for what? */
void fd_object(struct socket_cache *cache, pid_t pid, uint64_t fd, struct wait_object *ret);

/* The same from what readlink says, for all but sockets.  THREAD_UNKNOWN for those. */
void fd_object_of_link(const char *link, struct wait_object *ret);

/* Looks for a socket in the text of a table of /proc/net: "tcp", "tcp6", "udp", "udp6" (who is at the other end; "tcp:client ..."
 * for a connection that came in, and for whoever waits for one) or "unix".  True when it is there. */
bool fd_object_in_table(const char *table, const char *text, uint64_t inode, struct wait_object *ret);

/* Long text loses its front. */
void wait_object_set(struct wait_object *object, enum thread_state state, const char *what);

#endif
