/*
 * process_end.h - how a process has ended that is no child of ours.
 *
 *      int end = process_end_open(pid);                  while it runs
 *      process_end_status(end, stat, &status);           when it has ended
 *
 * Until its parent has asked, /proc/PID/stat of what is left of it says so to
 * who may know; afterwards Linux 6.15 and later say it to who had a descriptor
 * of it before.
 */
#ifndef SYSTEM_PROCESS_END_H
#define SYSTEM_PROCESS_END_H

#include <sys/types.h>

/* A descriptor of the process itself, for process_end_status(); negative where there are none. */
int process_end_open(pid_t pid);

/* The status as wait() gives it.  end, stat (/proc/PID/stat): descriptors from before, -1 for none.  Negative when it cannot be told,
 * as of a process that runs, or whose parent has not asked and which has ended well: a stat that nobody may read says that, too. */
int process_end_status(int end, int stat, int *ret_status);

/* Of the text of /proc/PID/stat.  -EAGAIN: it runs; -EINVAL. */
int process_end_parse(const char *text, int *ret_status);

#endif
