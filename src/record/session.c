#include "record/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "system/proc.h"

#define FOLDER_PREFIX "inferscope-"
#define RECORDING_FILE "recording"
#define PLACES 4

static int64_t clock_now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- Places ---------------------------------------------------------------- */

static void add_place(struct session_place *places, size_t max, size_t *count, const char *path)
{
	struct statvfs vfs;

	if (*count == max || !path || path[0] != '/' || strlen(path) >= SESSION_PATH_MAX - 32 || access(path, W_OK | X_OK) != 0 ||
	    statvfs(path, &vfs) != 0)
		return;
	for (size_t i = 0; i < *count; i++)
		if (strcmp(places[i].path, path) == 0)
			return;
	snprintf(places[*count].path, sizeof places[*count].path, "%s", path);
	places[*count].free_bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize;
	(*count)++;
}

size_t session_places(struct session_place *places, size_t max)
{
	size_t count = 0;

	add_place(places, max, &count, getenv("XDG_RUNTIME_DIR"));
	add_place(places, max, &count, "/dev/shm");
	add_place(places, max, &count, getenv("TMPDIR"));
	add_place(places, max, &count, "/tmp");
	return count;
}

static const struct session_place *choose_place(const struct session_place *places, size_t count, uint64_t budget)
{
	const struct session_place *best = NULL;

	for (size_t i = 0; i < count; i++) {
		if (places[i].free_bytes >= 4 * budget)
			return &places[i];
		if (!best || places[i].free_bytes > best->free_bytes)
			best = &places[i];
	}
	return best;
}

/* ---- Making ---------------------------------------------------------------- */

static uint32_t chunk_limit_for(uint64_t budget)
{
	uint64_t chunks = budget / CHUNK_SIZE;

	return chunks < 2 ? 2 : chunks > CHUNK_LIMIT ? CHUNK_LIMIT : (uint32_t)chunks;
}

static void fill_page(struct session_page *page, const struct session_options *options)
{
	page->version = 1;
	page->clock_source = options->clock;
	page->overflow = options->overflow;
	page->block_timeout_ms = options->block_timeout_ms;
	page->chunk_limit = chunk_limit_for(options->budget_bytes);
	page->recorder_pid = (uint32_t)getpid();
	page->start_ticks = options->start_ticks;
	proc_boot_id(page->boot_id);
	page->magic = SESSION_MAGIC;
}

static int map_page(struct session *session, struct error *err)
{
	void *map = mmap(NULL, SESSION_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, session->page_fd, 0);

	if (map == MAP_FAILED)
		return error_errno(err, -errno, "cannot map the session page in %s", session->folder);
	session->page = map;
	return 0;
}

static int make_page(struct session *session, const struct session_options *options, struct error *err)
{
	int rc;

	session->page_fd = openat(session->folder_fd, SESSION_FILE, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (session->page_fd < 0)
		return error_errno(err, -errno, "cannot make the session page in %s", session->folder);
	rc = posix_fallocate(session->page_fd, 0, SESSION_PAGE_SIZE);
	if (rc != 0)
		return error_errno(err, -rc, "no room for the session page in %s", session->folder);
	if (flock(session->page_fd, LOCK_EX | LOCK_NB) != 0)
		return error_errno(err, -errno, "cannot lock the session page in %s", session->folder);
	rc = map_page(session, err);
	if (rc == 0)
		fill_page(session->page, options);
	return rc;
}

static int write_recording(const struct session *session, const struct session_options *options, struct error *err)
{
	int fd = openat(session->folder_fd, RECORDING_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), rc = 0;

	if (fd < 0)
		return error_errno(err, -errno, "cannot write to %s", session->folder);
	if (dprintf(fd, "%s%c%s%c", options->trace_path, 0, options->partial_path, 0) < 0)
		rc = error_errno(err, -errno, "cannot write to %s", session->folder);
	close(fd);
	return rc;
}

int session_create(struct session *session, const struct session_options *options, struct error *err)
{
	struct session_place places[PLACES];
	size_t count = session_places(places, PLACES);
	const struct session_place *place = choose_place(places, count, options->budget_bytes);
	int rc;

	*session = (struct session)SESSION_INIT;
	session->created_ns = clock_now(CLOCK_BOOTTIME);
	if (!place)
		return error_set(err, -ENOSPC, "there is no folder for the session: set TMPDIR to one that can be written to");
	snprintf(session->folder, sizeof session->folder, "%s/" FOLDER_PREFIX "XXXXXX", place->path);
	if (!mkdtemp(session->folder)) {
		rc = error_errno(err, -errno, "cannot make a session folder in %s", place->path);
		session->folder[0] = '\0';
		return rc;
	}
	(void)chmod(session->folder, 0700); /* a umask may have taken away more */
	session->folder_fd = open(session->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	rc = session->folder_fd < 0 ? error_errno(err, -errno, "cannot open %s", session->folder) : 0;
	if (rc == 0)
		rc = make_page(session, options, err);
	if (rc == 0)
		rc = write_recording(session, options, err);
	if (rc != 0)
		session_end(session);
	return rc;
}

/* ---- Ending ---------------------------------------------------------------- */

static void remove_files(int folder_fd)
{
	int copy = dup(folder_fd);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!dir) {
		if (copy >= 0)
			close(copy);
		return;
	}
	rewinddir(dir);
	while ((entry = readdir(dir)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			(void)unlinkat(folder_fd, entry->d_name, 0);
	closedir(dir);
}

void session_release(struct session *session)
{
	if (session->page)
		munmap(session->page, SESSION_PAGE_SIZE);
	if (session->page_fd >= 0)
		close(session->page_fd);
	if (session->folder_fd >= 0)
		close(session->folder_fd);
	*session = (struct session)SESSION_INIT;
}

void session_end(struct session *session)
{
	if (session->page)
		atomic_store(&session->page->closed, 1);
	if (session->folder_fd >= 0)
		remove_files(session->folder_fd);
	if (session->folder[0])
		(void)rmdir(session->folder);
	session_release(session);
}

/* ---- Dead ones ------------------------------------------------------------- */

static int open_folder(struct session *session, const char *folder, struct error *err)
{
	struct stat st;

	if (strlen(folder) >= sizeof session->folder)
		return error_set(err, -ENAMETOOLONG, "%s: the path is too long", folder);
	strcpy(session->folder, folder);
	session->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (session->folder_fd < 0)
		return error_errno(err, -errno, "cannot open %s", folder);
	if (fstat(session->folder_fd, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & 077))
		return error_set(err, -EPERM, "%s is not a session folder of yours", folder);
	return 0;
}

static int open_page(struct session *session, struct error *err)
{
	struct stat st;
	int rc;

	session->page_fd = openat(session->folder_fd, SESSION_FILE, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (session->page_fd < 0 || fstat(session->page_fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < (off_t)SESSION_PAGE_SIZE)
		return error_set(err, -EINVAL, "%s is not a session folder: it has no session page", session->folder);
	if (flock(session->page_fd, LOCK_EX | LOCK_NB) != 0)
		return error_set(err, -EBUSY, "the recorder of %s is still running", session->folder);
	rc = map_page(session, err);
	if (rc == 0 && (session->page->magic != SESSION_MAGIC || session->page->version != 1))
		rc = error_set(err, -EINVAL, "%s holds no session of this version", session->folder);
	return rc;
}

int session_open_dead(struct session *session, const char *folder, struct error *err)
{
	int rc;

	*session = (struct session)SESSION_INIT;
	rc = open_folder(session, folder, err);
	if (rc == 0)
		rc = open_page(session, err);
	if (rc != 0)
		session_release(session);
	return rc;
}

int session_recording(const struct session *session, char *trace_path, char *partial_path, struct error *err)
{
	char text[2 * RECORDING_PATH_MAX + 1] = "";
	int fd = openat(session->folder_fd, RECORDING_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	const char *end = n > 0 ? memchr(text, 0, (size_t)n) : NULL;

	if (fd >= 0)
		close(fd);
	if (!end || end + 1 >= text + n)
		return error_set(err, -EINVAL, "%s does not say where its trace is", session->folder);
	snprintf(trace_path, RECORDING_PATH_MAX, "%s", text);
	snprintf(partial_path, RECORDING_PATH_MAX, "%s", end + 1);
	return 0;
}

/* ---- What the folder says --------------------------------------------------- */

/* The number in "p12", and in nothing that only looks like it; below `most`, else `most`. */
static uint32_t file_number(const char *name, uint32_t most)
{
	char again[16];
	uint32_t number;

	if (sscanf(name, "p%9u", &number) != 1 || number >= most)
		return most;
	snprintf(again, sizeof again, "p%u", number);
	return strcmp(name, again) == 0 ? number : most;
}

int64_t session_files_end(const struct session *session, uint32_t most)
{
	int copy = openat(session->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	uint32_t end = 0;

	if (copy < 0)
		return -errno;
	while (dir && (entry = readdir(dir)) != NULL) {
		uint32_t number = file_number(entry->d_name, most);

		if (number < most && number >= end)
			end = number + 1;
	}
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
	return end;
}

uint64_t session_age_ns(const struct session *session)
{
	int64_t uptime = clock_now(CLOCK_BOOTTIME), age;
	struct stat st;

	if (session->created_ns)
		return (uint64_t)(uptime - session->created_ns);
	if (fstatat(session->folder_fd, RECORDING_FILE, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return (uint64_t)uptime;
	age = clock_now(CLOCK_REALTIME) - ((int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
	return (uint64_t)(age < 0 || age > uptime ? uptime : age); /* somebody has set the clock, or touched the file */
}

/* ---- Dead ones, and what they take ------------------------------------------ */

static uint64_t folder_bytes(int folder_fd)
{
	int copy = dup(folder_fd);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	struct stat st;
	uint64_t bytes = 0;

	while (dir && (entry = readdir(dir)) != NULL)
		if (fstatat(folder_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_blocks * 512;
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
	return bytes;
}

static int add_dead(struct session_dead **list, size_t *count, const char *folder)
{
	struct session session;
	struct session_dead *bigger;
	int64_t end;

	if (session_open_dead(&session, folder, NULL) != 0)
		return 0;
	bigger = realloc(*list, (*count + 1) * sizeof **list);
	if (bigger) {
		*list = bigger;
		bigger += (*count)++;
		snprintf(bigger->folder, sizeof bigger->folder, "%s", folder);
		bigger->bytes = folder_bytes(session.folder_fd);
		end = session_files_end(&session, atomic_load(&session.page->processes));
		bigger->processes = end > 0 ? (uint32_t)end : 0;
		bigger->recorder_pid = session.page->recorder_pid;
	}
	session_release(&session);
	return bigger ? 0 : -ENOMEM;
}

int session_list_dead(struct session_dead **ret, size_t *ret_count)
{
	struct session_place places[PLACES];
	size_t count = session_places(places, PLACES);
	int rc = 0;

	*ret = NULL;
	*ret_count = 0;
	for (size_t i = 0; i < count && rc == 0; i++) {
		DIR *dir = opendir(places[i].path);
		struct dirent *entry;
		char folder[SESSION_PATH_MAX + 300];

		while (dir && rc == 0 && (entry = readdir(dir)) != NULL) {
			if (strncmp(entry->d_name, FOLDER_PREFIX, strlen(FOLDER_PREFIX)) != 0)
				continue;
			snprintf(folder, sizeof folder, "%s/%s", places[i].path, entry->d_name);
			rc = add_dead(ret, ret_count, folder);
		}
		if (dir)
			closedir(dir);
	}
	return rc;
}
