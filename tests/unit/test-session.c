/* test-session.c - record/session.h, in a place of its own. */
#include "record/session.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char place[] = "/tmp/test-session-XXXXXX";

static struct session_options options = {
	.budget_bytes = 1 << 20,
	.overflow = OVERFLOW_DISCARD,
	.block_timeout_ms = 7,
	.clock = CLOCK_SOURCE_MONOTONIC,
	.start_ticks = 42,
	.trace_path = "/somewhere/trace.sbt",
	.partial_path = "/somewhere/trace.sbt.1.partial",
};

static struct session make(void)
{
	struct session session;
	struct error err = { 0 };

	assert_int_equal(session_create(&session, &options, &err), 0);
	assert_memory_equal(session.folder, place, strlen(place));
	return session;
}

static char *in(const struct session *session, const char *name)
{
	static char path[SESSION_PATH_MAX + 32];

	snprintf(path, sizeof path, "%s/%s", session->folder, name);
	return path;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode;
}

/* A session whose recorder was killed. */
static void make_dead(char folder[SESSION_PATH_MAX])
{
	struct session session = make();

	snprintf(folder, SESSION_PATH_MAX, "%s", session.folder);
	session_release(&session);
}

static void remove_dead(const char *folder)
{
	struct session session;

	assert_int_equal(session_open_dead(&session, folder, NULL), 0);
	session_end(&session);
	assert_int_equal(access(folder, F_OK), -1);
}

static void nobody_else_may_look(void **state)
{
	struct session session = make();

	(void)state;
	assert_int_equal(mode_of(session.folder), S_IFDIR | 0700);
	assert_int_equal(mode_of(in(&session, SESSION_FILE)), S_IFREG | 0600);
	assert_int_equal(mode_of(in(&session, "recording")), S_IFREG | 0600);
	session_end(&session);
}

static void the_page_says_what_was_asked_for(void **state)
{
	struct session session = make();

	(void)state;
	assert_true(session.page->magic == SESSION_MAGIC);
	assert_int_equal(session.page->version, 1);
	assert_int_equal(session.page->clock_source, CLOCK_SOURCE_MONOTONIC);
	assert_int_equal(session.page->overflow, OVERFLOW_DISCARD);
	assert_int_equal(session.page->block_timeout_ms, 7);
	assert_int_equal(session.page->chunk_limit, (1 << 20) / CHUNK_SIZE);
	assert_int_equal(session.page->recorder_pid, getpid());
	assert_int_equal(session.page->start_ticks, 42);
	assert_int_equal(session.page->closed, 0);
	session_end(&session);
}

static void ending_leaves_nothing(void **state)
{
	char folder[SESSION_PATH_MAX];
	struct session session = make();
	int fd = open(in(&session, "p0"), O_CREAT | O_RDWR, 0600);

	(void)state;
	snprintf(folder, sizeof folder, "%s", session.folder);
	assert_true(fd >= 0);
	close(fd);
	session_end(&session);
	assert_int_equal(access(folder, F_OK), -1);
	assert_null(session.page);
	session_end(&session); /* once more does no harm */
}

static void a_live_session_is_not_dead(void **state)
{
	struct session session = make(), other;
	struct session_dead *dead;
	struct error err = { 0 };
	size_t count;

	(void)state;
	assert_int_equal(session_open_dead(&other, session.folder, &err), -EBUSY);
	assert_non_null(strstr(err.text, "still running"));
	assert_int_equal(session_list_dead(&dead, &count), 0);
	for (size_t i = 0; i < count; i++)
		assert_string_not_equal(dead[i].folder, session.folder);
	free(dead);
	session_end(&session);
}

/* The lock is gone with the process that held it, however that went. */
static void a_killed_recorder_leaves_a_dead_session(void **state)
{
	char folder[SESSION_PATH_MAX];
	struct session session;
	int pipes[2], status;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		session = make();
		(void)!write(pipes[1], session.folder, sizeof folder);
		pause();
	}
	assert_int_equal(read(pipes[0], folder, sizeof folder), sizeof folder);
	assert_int_equal(session_open_dead(&session, folder, NULL), -EBUSY);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	remove_dead(folder);
	close(pipes[0]);
	close(pipes[1]);
}

static void dead_sessions_are_listed(void **state)
{
	char folder[SESSION_PATH_MAX];
	struct session_dead *dead;
	size_t count, found = 0;

	(void)state;
	make_dead(folder);
	assert_int_equal(session_list_dead(&dead, &count), 0);
	for (size_t i = 0; i < count; i++)
		if (strcmp(dead[i].folder, folder) == 0) {
			found++;
			assert_in_range(dead[i].bytes, SESSION_PAGE_SIZE, 1 << 20);
			assert_int_equal(dead[i].processes, 0);
			assert_int_equal(dead[i].recorder_pid, getpid());
		}
	assert_int_equal(found, 1);
	free(dead);
	remove_dead(folder);
}

static void the_recording_is_remembered(void **state)
{
	char folder[SESSION_PATH_MAX], trace[RECORDING_PATH_MAX], partial[RECORDING_PATH_MAX];
	struct session session;

	(void)state;
	make_dead(folder);
	assert_int_equal(session_open_dead(&session, folder, NULL), 0);
	assert_int_equal(session_recording(&session, trace, partial, NULL), 0);
	assert_string_equal(trace, options.trace_path);
	assert_string_equal(partial, options.partial_path);
	assert_int_equal(truncate(in(&session, "recording"), 5), 0);
	assert_int_equal(session_recording(&session, trace, partial, NULL), -EINVAL);
	session_end(&session);
}

/* ---- What is not what it seems ------------------------------------------------- */

static int open_refused(const char *folder)
{
	struct session session;
	int rc = session_open_dead(&session, folder, NULL);

	assert_int_equal(session.folder_fd, -1);
	assert_int_equal(session.page_fd, -1);
	assert_null(session.page);
	return rc;
}

static void links_are_not_followed(void **state)
{
	char folder[SESSION_PATH_MAX], link[SESSION_PATH_MAX], elsewhere[64];
	struct session dead = SESSION_INIT;

	(void)state;
	make_dead(folder);
	snprintf(link, sizeof link, "%s/inferscope-link", place);
	assert_int_equal(symlink(folder, link), 0);
	assert_int_equal(open_refused(link), -ENOTDIR);

	snprintf(dead.folder, sizeof dead.folder, "%s", folder);
	snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", place);
	assert_int_equal(rename(in(&dead, SESSION_FILE), elsewhere), 0);
	assert_int_equal(symlink(elsewhere, in(&dead, SESSION_FILE)), 0);
	assert_int_equal(open_refused(folder), -EINVAL);

	assert_int_equal(unlink(in(&dead, SESSION_FILE)), 0);
	assert_int_equal(mkfifo(in(&dead, SESSION_FILE), 0600), 0);
	assert_int_equal(open_refused(folder), -EINVAL); /* and does not hang */

	assert_int_equal(unlink(in(&dead, SESSION_FILE)), 0);
	assert_int_equal(rename(elsewhere, in(&dead, SESSION_FILE)), 0);
	unlink(link);
	remove_dead(folder);
}

static void folders_open_to_others_are_refused(void **state)
{
	char folder[SESSION_PATH_MAX];

	(void)state;
	make_dead(folder);
	assert_int_equal(chmod(folder, 0770), 0);
	assert_int_equal(open_refused(folder), -EPERM);
	assert_int_equal(chmod(folder, 0701), 0);
	assert_int_equal(open_refused(folder), -EPERM);
	assert_int_equal(chmod(folder, 0700), 0);
	if (geteuid() == 0) { /* somebody else's */
		assert_int_equal(chown(folder, 65534, 65534), 0);
		assert_int_equal(open_refused(folder), -EPERM);
		assert_int_equal(chown(folder, 0, 0), 0);
	}
	remove_dead(folder);
}

static void other_pages_are_refused(void **state)
{
	char folder[SESSION_PATH_MAX];
	struct session session;

	(void)state;
	make_dead(folder);
	assert_int_equal(session_open_dead(&session, folder, NULL), 0);
	session.page->version = 2;
	session_release(&session);
	assert_int_equal(open_refused(folder), -EINVAL);
	snprintf(session.folder, sizeof session.folder, "%s", folder);
	assert_int_equal(truncate(in(&session, SESSION_FILE), 100), 0);
	assert_int_equal(open_refused(folder), -EINVAL);
	unlink(in(&session, SESSION_FILE));
	unlink(in(&session, "recording"));
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(open_refused(folder), -ENOENT);
}

/* ---- Budgets and places ---------------------------------------------------------- */

static void budgets_are_bounded(void **state)
{
	struct session_options small = options;
	struct session session;

	(void)state;
	small.budget_bytes = 1;
	assert_int_equal(session_create(&session, &small, NULL), 0);
	assert_int_equal(session.page->chunk_limit, 2);
	session_end(&session);
	small.budget_bytes = 1ull << 40;
	assert_int_equal(session_create(&session, &small, NULL), 0);
	assert_int_equal(session.page->chunk_limit, CHUNK_LIMIT);
	session_end(&session);
}

static void the_place_comes_from_the_environment(void **state)
{
	struct session_place places[4];
	size_t count = session_places(places, 4);

	(void)state;
	assert_true(count >= 1);
	assert_string_equal(places[0].path, place);
	assert_true(places[0].free_bytes > 0);
	assert_int_equal(session_places(places, 1), 1);
	setenv("XDG_RUNTIME_DIR", "relative/path", 1);
	session_places(places, 4);
	assert_string_not_equal(places[0].path, "relative/path");
	setenv("XDG_RUNTIME_DIR", "/does/not/exist", 1);
	session_places(places, 4);
	assert_string_not_equal(places[0].path, "/does/not/exist");
	setenv("XDG_RUNTIME_DIR", place, 1);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(place))
		return -1;
	return setenv("XDG_RUNTIME_DIR", place, 1);
}

/* Fails when a test has left anything. */
static int tear_down(void **state)
{
	(void)state;
	return rmdir(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_else_may_look),
		cmocka_unit_test(the_page_says_what_was_asked_for),
		cmocka_unit_test(ending_leaves_nothing),
		cmocka_unit_test(a_live_session_is_not_dead),
		cmocka_unit_test(a_killed_recorder_leaves_a_dead_session),
		cmocka_unit_test(dead_sessions_are_listed),
		cmocka_unit_test(the_recording_is_remembered),
		cmocka_unit_test(links_are_not_followed),
		cmocka_unit_test(folders_open_to_others_are_refused),
		cmocka_unit_test(other_pages_are_refused),
		cmocka_unit_test(budgets_are_bounded),
		cmocka_unit_test(the_place_comes_from_the_environment),
	};

	return cmocka_run_group_tests_name("session", tests, set_up, tear_down);
}
