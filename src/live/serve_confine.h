/*
 * serve_confine.h - what a process that answers strangers need not be able to do.
 */
#ifndef LIVE_SERVE_CONFINE_H
#define LIVE_SERVE_CONFINE_H

/* From now on: no new rights, files, processes or connections, signals to nobody else, and no calls of the kernel but those that serving
 * open sockets takes.  Each as far as the kernel lets us. */
void serve_confine(void);

#endif
