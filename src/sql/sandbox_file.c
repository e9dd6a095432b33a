/*
 * sandbox_file.c - see sandbox_file.h.
 */
#include "sql/sandbox_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_SIZE 100

static uint32_t big_endian(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/*
 * Page size and number of pages are in the header; the latter counts when the
 * change counter agrees with the one it was written at.  SQLite refuses a file
 * that is shorter.  Told that it is as long as it should be, it reads what is
 * there and fails where something is missing, which is what we want.
 */
static uint64_t stated_size(int fd, uint64_t size)
{
	uint8_t header[HEADER_SIZE];
	uint64_t page, stated;

	if (pread(fd, header, sizeof header, 0) != (ssize_t)sizeof header || memcmp(header + 24, header + 92, 4) != 0)
		return size;
	page = (uint64_t)header[16] << 8 | header[17];
	stated = (page == 1 ? 65536 : page) * big_endian(header + 28);
	return stated > size ? stated : size;
}

static int file_close(sqlite3_file *file)
{
	(void)file;
	return SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *buffer, int size, sqlite3_int64 offset)
{
	struct sandbox_file *f = (struct sandbox_file *)file;
	int done = 0;

	while (done < size) {
		ssize_t got = pread(f->fd, (char *)buffer + done, (size_t)(size - done), offset + done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return SQLITE_IOERR_READ;
		if (got == 0)
			break;
		done += (int)got;
	}
	f->read += (uint64_t)done;
	if (done == size)
		return SQLITE_OK;
	memset(buffer, 0, (size_t)size); /* a page of which a part is missing is no page */
	return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *file, const void *buffer, int size, sqlite3_int64 offset)
{
	(void)file, (void)buffer, (void)size, (void)offset;
	return SQLITE_READONLY;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	(void)file, (void)size;
	return SQLITE_READONLY;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((struct sandbox_file *)file)->stated;
	return SQLITE_OK;
}

/* Syncing and both ways of locking. */
static int file_nothing(sqlite3_file *file, int how)
{
	(void)file, (void)how;
	return SQLITE_OK;
}

static int file_reserved(sqlite3_file *file, int *ret)
{
	(void)file;
	*ret = 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int operation, void *arg)
{
	(void)file, (void)operation, (void)arg;
	return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *file)
{
	(void)file;
	return 4096;
}

static int file_characteristics(sqlite3_file *file)
{
	(void)file;
	return SQLITE_IOCAP_IMMUTABLE;
}

static const sqlite3_io_methods file_methods = {
	.iVersion = 1,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_nothing,
	.xFileSize = file_size,
	.xLock = file_nothing,
	.xUnlock = file_nothing,
	.xCheckReservedLock = file_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_characteristics,
};

static int open_main(struct sandbox_file *f, const char *name, int *ret_flags)
{
	struct stat st;
	int fd = name ? atoi(name) : -1;

	f->base.pMethods = NULL; /* nothing to close when this fails */
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return SQLITE_CANTOPEN;
	f->fd = fd;
	f->size = (uint64_t)st.st_size;
	f->stated = stated_size(fd, f->size);
	f->read = 0;
	f->base.pMethods = &file_methods;
	if (ret_flags)
		*ret_flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
	return SQLITE_OK;
}

#define TEMPORARY (SQLITE_OPEN_TEMP_DB | SQLITE_OPEN_TEMP_JOURNAL | SQLITE_OPEN_TRANSIENT_DB | SQLITE_OPEN_SUBJOURNAL)

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	sqlite3_vfs *system = vfs->pAppData;

	if (flags & SQLITE_OPEN_MAIN_DB)
		return open_main((struct sandbox_file *)file, name, ret_flags);
	file->pMethods = NULL;
	if (!name && (flags & TEMPORARY))
		return system->xOpen(system, name, file, flags, ret_flags);
	return SQLITE_CANTOPEN;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs, (void)name, (void)sync;
	return SQLITE_IOERR_DELETE;
}

/* No file but the database exists, least of all a journal. */
static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
	(void)vfs, (void)name, (void)flags;
	*ret = 0;
	return SQLITE_OK;
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int size, char *ret)
{
	(void)vfs;
	if (strlen(name) >= (size_t)size)
		return SQLITE_CANTOPEN;
	memcpy(ret, name, strlen(name) + 1);
	return SQLITE_OK;
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *ret)
{
	sqlite3_vfs *system = vfs->pAppData;

	return system->xRandomness(system, size, ret);
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds)
{
	sqlite3_vfs *system = vfs->pAppData;

	return system->xSleep(system, microseconds);
}

static int vfs_time(sqlite3_vfs *vfs, double *ret)
{
	sqlite3_vfs *system = vfs->pAppData;

	return system->xCurrentTime(system, ret);
}

static int vfs_last_error(sqlite3_vfs *vfs, int size, char *ret)
{
	(void)vfs, (void)size, (void)ret;
	return errno;
}

static sqlite3_vfs sandbox_vfs = {
	.iVersion = 1,
	.zName = "inferscope-sandbox",
	.xOpen = vfs_open,
	.xDelete = vfs_delete,
	.xAccess = vfs_access,
	.xFullPathname = vfs_full_name,
	.xRandomness = vfs_randomness,
	.xSleep = vfs_sleep,
	.xCurrentTime = vfs_time,
	.xGetLastError = vfs_last_error,
};
static pthread_once_t vfs_once = PTHREAD_ONCE_INIT;
static const char *vfs_name;

static void register_vfs(void)
{
	sqlite3_vfs *system = sqlite3_vfs_find(NULL);

	if (!system)
		return;
	sandbox_vfs.pAppData = system;
	sandbox_vfs.mxPathname = system->mxPathname;
	sandbox_vfs.szOsFile = system->szOsFile > (int)sizeof(struct sandbox_file) ? system->szOsFile
										   : (int)sizeof(struct sandbox_file);
	if (sqlite3_vfs_register(&sandbox_vfs, 0) == SQLITE_OK)
		vfs_name = sandbox_vfs.zName;
}

const char *sandbox_file_vfs(void)
{
	pthread_once(&vfs_once, register_vfs);
	return vfs_name;
}
