#include "system/open_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

int open_files_open(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int64_t open_files_count(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	int64_t n = 0;

	if (!list) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	while (n <= OPEN_FILES_COUNTED && (entry = readdir(list)))
		n += entry->d_name[0] != '.';
	closedir(list);
	return n <= OPEN_FILES_COUNTED ? n : -1;
}

/* Since Linux 6.2 the size of the folder is the number, for anybody. */
int64_t open_files_read(int folder, bool *ret_dear)
{
	struct stat st;

	*ret_dear = false;
	if (folder < 0 || fstat(folder, &st) != 0)
		return -1;
	if (st.st_size > 0)
		return st.st_size;
	*ret_dear = true;
	return open_files_count(folder);
}

int64_t open_files_limit(pid_t pid)
{
	struct rlimit limit;

	if (prlimit(pid, RLIMIT_NOFILE, NULL, &limit) != 0 || limit.rlim_cur > INT64_MAX)
		return -1;
	return (int64_t)limit.rlim_cur;
}
