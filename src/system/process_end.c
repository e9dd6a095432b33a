#include "system/process_end.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system/proc.h"

#define STAT_STATE 3
#define STAT_EXIT_CODE 52

/* <linux/pidfd.h> of Linux 6.15; the headers here may be older. */
struct end_info {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
};
_Static_assert(sizeof(struct end_info) == 64, "as the kernel has it");
#define END_INFO_GET _IOWR(0xff, 11, struct end_info) /* PIDFD_GET_INFO */
#define END_INFO_EXIT ((uint64_t)1 << 3)              /* asked for, and set where it is known */

int process_end_open(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

/* The command is in parentheses and may hold anything. */
int process_end_parse(const char *text, int *ret_status)
{
	const char *at = strrchr(text, ')');
	uint64_t status;

	if (!at || at[1] != ' ' || !at[2])
		return -EINVAL;
	if (at[2] != 'Z' && at[2] != 'X')
		return -EAGAIN;
	for (int word = STAT_STATE - 1; word < STAT_EXIT_CODE; word++) {
		at = strchr(at, ' ');
		if (!at)
			return -EINVAL;
		at++;
	}
	if (!proc_number(&at, &status) || status > UINT16_MAX)
		return -EINVAL;
	*ret_status = (int)status;
	return 0;
}

/* The kernel knows it from when the parent has asked. */
static int ask(int end, int *ret_status)
{
	struct end_info info = { .mask = END_INFO_EXIT };

	if (end < 0 || ioctl(end, END_INFO_GET, &info) != 0 || !(info.mask & END_INFO_EXIT))
		return -ENODATA;
	*ret_status = info.exit_code & UINT16_MAX;
	return 0;
}

int process_end_status(int end, int stat, int *ret_status)
{
	char text[4096];
	int status, rc;

	if (ask(end, ret_status) == 0)
		return 0;
	if (proc_reread(stat, text, sizeof text) <= 0)
		return ask(end, ret_status); /* it was asked for between the two */
	rc = process_end_parse(text, &status);
	if (rc == 0 && status == 0)
		rc = -ENODATA;
	if (rc == 0)
		*ret_status = status;
	return rc;
}
