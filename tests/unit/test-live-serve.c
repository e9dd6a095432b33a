/* test-live-serve.c - who may ask the server of the live page, what its clients are sent, and what it cannot do. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "live/serve_confine.h"
#include "live/serve_parts.h"
#include "live/snapshot_json.h"

static void test_token(void **state)
{
	(void)state;
	assert_true(serve_token_matches("0123456789abcdef", "0123456789abcdef; x", 16));
	assert_false(serve_token_matches("0123456789abcdef", "0123456789abcdef", 15));
	assert_false(serve_token_matches("0123456789abcdef", "0123456789abcdeg", 16));
	assert_false(serve_token_matches("0123456789abcdef", "", 0));
	assert_true(serve_token_is_sound("a-Z_0123456789ab"));
	assert_false(serve_token_is_sound("short"));
	assert_false(serve_token_is_sound("0123456789abcde;f"));
	assert_false(serve_token_is_sound("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0"));
}

static void test_host(void **state)
{
	(void)state;
	assert_true(serve_host_is_ours("localhost:8123", ""));
	assert_true(serve_host_is_ours("LocalHost", ""));
	assert_true(serve_host_is_ours("[::1]:1", ""));
	assert_true(serve_host_is_ours("10.1.2.3:80", "10.1.2.3"));
	assert_false(serve_host_is_ours("10.1.2.3:80", ""));
	assert_false(serve_host_is_ours("", ""));
	assert_false(serve_host_is_ours(NULL, ""));
	assert_false(serve_host_is_ours("localhost.example", ""));
	assert_false(serve_host_is_ours("localhost:80x", ""));
	assert_false(serve_host_is_ours("[::1", ""));
	assert_false(serve_host_is_ours("[::1]evil", ""));
}

/* Who listens everywhere, or at an address of the network, can be reached by others. */
static void test_open(void **state)
{
	static const struct {
		const char *address;
		bool open;
	} cases[] = { { "127.0.0.1:0", false }, { "127.9.9.9:0", false }, { "0", false }, { "0.0.0.0:0", true } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct serve_address address;

		assert_int_equal(serve_listen(&address, cases[i].address, NULL), 0);
		assert_int_equal(address.open, cases[i].open);
		assert_int_not_equal(strncmp(address.host, "0.0.0.0", 7), 0);
		close(address.fd);
	}
}

static void test_cookie(void **state)
{
	const char *value = NULL;
	char name[32];

	(void)state;
	serve_cookie_name(name, sizeof name, "[::1]:8123");
	assert_string_equal(name, "inferscope-8123");
	serve_cookie_name(name, sizeof name, "localhost");
	assert_string_equal(name, "inferscope-80");
	assert_int_equal(serve_cookie_find("a=b; inferscope-8123=secret; c=d", "localhost:8123", &value), 6);
	assert_memory_equal(value, "secret", 6);
	assert_int_equal(serve_cookie_find("inferscope-8123=secret", "localhost:8124", &value), 0);
	assert_int_equal(serve_cookie_find("xinferscope-80=secret", "localhost", &value), 0);
	assert_int_equal(serve_cookie_find("inferscope-80", "localhost", &value), 0);
	assert_int_equal(serve_cookie_find("", "localhost", &value), 0);
	assert_int_equal(serve_cookie_find(NULL, "localhost", &value), 0);
}

static struct live_snapshot *new_snapshot(void)
{
	struct live_snapshot *s = malloc(sizeof *s);

	assert_non_null(s);
	live_snapshot_clear(s);
	s->run_s = 0;
	return s;
}

/* A run of a day: the points cover all of it, at one distance. */
static void test_history(void **state)
{
	struct live_snapshot *s = new_snapshot();
	struct buffer json = BUFFER_INIT;
	struct serve_history h;

	(void)state;
	assert_int_equal(serve_history_init(&h), 0);
	for (s->run_s = 0; s->run_s < 86400; s->run_s += 0.5) {
		s->cpu.share = s->run_s;
		serve_history_add(&h, s);
	}
	assert_in_range(h.count, SERVE_POINTS / 2, SERVE_POINTS);
	assert_true(h.distance_s == 128);
	assert_int_equal(serve_history_json(&json, &h), 0);
	assert_int_equal(buffer_append(&json, "", 1), 0);
	assert_memory_equal(json.data, "{\"distance_s\": 128, \"run_s\": [0, 128, 256, ", 43);
	assert_non_null(strstr((char *)json.data, "\"rss_bytes\": [null, null, "));
	buffer_release(&json);
	serve_history_release(&h);
	free(s);
}

static void advance(struct serve_frames *f, struct live_snapshot *s, bool heard)
{
	s->sequence++;
	s->cpu.share = (double)s->sequence;
	serve_frames_advance(f, s, heard);
}

static void assert_frame(struct serve_frame *frame, const char *event, uint64_t id, const char *has, const char *has_not)
{
	char expected[64];

	assert_non_null(frame);
	assert_int_equal(frame->id, id);
	assert_int_equal(buffer_append(&frame->text, "", 1), 0);
	snprintf(expected, sizeof expected, "\nevent: %s\ndata: {", event);
	assert_non_null(strstr((char *)frame->text.data, expected));
	assert_non_null(strstr((char *)frame->text.data, has));
	assert_null(strstr((char *)frame->text.data, has_not));
	frame->text.size--;
	serve_frame_release(frame);
}

static void test_frames(void **state)
{
	struct live_snapshot *s = new_snapshot();
	struct serve_frames f;
	char id[32];

	(void)state;
	serve_frames_init(&f);
	advance(&f, s, false);
	assert_frame(serve_frames_after(&f, 0, s), "whole", 1, "\"memory\": {", "\n\n\n");
	assert_null(serve_frames_after(&f, 1, s));
	advance(&f, s, true);
	assert_frame(serve_frames_after(&f, 1, s), "change", 2, "\"cpu\": {\"share\": 2", "\"memory\"");
	assert_frame(serve_frames_after(&f, 0, s), "whole", 2, "\"memory\": {", "\n\n\n");
	advance(&f, s, false); /* nobody listened, so nobody knows what changed */
	advance(&f, s, true);
	assert_frame(serve_frames_after(&f, 3, s), "whole", 4, "\"memory\": {", "\n\n\n");
	for (int i = 0; i < 40; i++)
		advance(&f, s, true);
	assert_frame(serve_frames_after(&f, 4, s), "whole", 44, "\"memory\": {", "\n\n\n");
	assert_frame(serve_frames_after(&f, 30, s), "change", 31, "\"share\": 31", "\"memory\"");
	snprintf(id, sizeof id, "%s-30", f.run);
	assert_int_equal(serve_frames_id(&f, id), 30);
	snprintf(id, sizeof id, "%s-45", f.run);
	assert_int_equal(serve_frames_id(&f, id), 0);
	assert_int_equal(serve_frames_id(&f, "zzzzzzzz-30"), 0);
	assert_int_equal(serve_frames_id(&f, NULL), 0);
	serve_frames_release(&f);
	free(s);
}

/* A frame that somebody is being sent outlives its place. */
static void test_frame_is_kept(void **state)
{
	struct live_snapshot *s = new_snapshot();
	struct serve_frame *held;
	struct serve_frames f;

	(void)state;
	serve_frames_init(&f);
	advance(&f, s, true);
	advance(&f, s, true);
	held = serve_frames_after(&f, 1, s);
	assert_non_null(held);
	for (int i = 0; i < 100; i++)
		advance(&f, s, true);
	serve_frames_release(&f);
	assert_int_equal(held->references, 1);
	assert_true(held->text.size > 100);
	serve_frame_release(held);
	serve_frame_release(NULL);
	free(s);
}

/* ---- Confinement ------------------------------------------------------------------------ */

struct tools {
	int udp, pair[2], listening;
	pid_t parent;
	void *page;
	struct sockaddr_in address; /* of `listening` */
};

/* What a server has no need of.  How many can be done, and which was the last. */
static int forbidden(struct tools *t, int *ret_last)
{
	const struct rlimit most = { 10, 10 };
	struct rlimit limit;
	struct iovec part = { (char[]){ 'x' }, 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	siginfo_t info = { .si_code = SI_QUEUE };
	int owner = t->parent, done = 0;
	const long results[] = {
		socket(AF_INET, SOCK_DGRAM, 0),
		sendto(t->udp, "x", 1, 0, (struct sockaddr *)&t->address, sizeof t->address),
		sendto(t->pair[0], "x", 1, MSG_FASTOPEN, NULL, 0),
		syscall(SYS_sendmsg, t->pair[0], &message, MSG_FASTOPEN),
		connect(t->udp, (struct sockaddr *)&t->address, sizeof t->address),
		bind(t->udp, (struct sockaddr *)&(struct sockaddr_in){ .sin_family = AF_INET }, sizeof(struct sockaddr_in)),
		syscall(SYS_recvmsg, t->pair[0], &message, MSG_DONTWAIT | MSG_PEEK),
		setsockopt(t->udp, IPPROTO_IP, IP_TTL, &owner, sizeof owner),
		syscall(SYS_ioctl, t->udp, 0x8902 /* FIOSETOWN */, &owner),
		fcntl(t->udp, F_SETOWN, owner),
		syscall(SYS_tgkill, t->parent, t->parent, 0),
		syscall(SYS_tkill, t->parent, 0),
		syscall(SYS_kill, t->parent, 0),
		syscall(SYS_rt_sigqueueinfo, t->parent, 0, &info),
		syscall(SYS_rt_tgsigqueueinfo, t->parent, t->parent, 0, &info),
		syscall(SYS_pidfd_open, t->parent, 0),
		syscall(SYS_prlimit64, 0, RLIMIT_CPU, &most, NULL),
		syscall(SYS_prlimit64, t->parent, RLIMIT_NOFILE, NULL, &limit),
		syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY, 0),
		syscall(SYS_renameat, AT_FDCWD, "/nowhere", AT_FDCWD, "/nowhere"),
		syscall(SYS_fchmod, t->udp, 0777),
		syscall(SYS_memfd_create, "x", 0),
		syscall(SYS_mprotect, t->page, 4096, PROT_READ | PROT_WRITE),
		syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		syscall(SYS_ptrace, 0x4206 /* PTRACE_SEIZE */, t->parent, NULL, NULL),
		syscall(SYS_unshare, 0),
		syscall(SYS_execve, "/bin/true", NULL, NULL),
	};

	for (int i = 0; i < (int)(sizeof results / sizeof *results); i++)
		if (results[i] != -1) {
			*ret_last = i;
			done++;
		}
	return done;
}

/* Whether all that it needs can be done. */
static bool serves(struct tools *t)
{
	struct pollfd fd = { .fd = t->pair[1], .events = POLLIN };
	int one = 1;
	char c = 0;
	void *large = malloc(1 << 20);
	bool well = large && send(t->pair[0], "a", 1, MSG_NOSIGNAL) == 1 && poll(&fd, 1, 1000) == 1 && recv(t->pair[1], &c, 1, 0) == 1;

	well = well && c == 'a' && write(t->pair[0], "b", 1) == 1 && read(t->pair[1], &c, 1) == 1 && c == 'b';
	well = well && accept4(t->listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC) == -1 && errno == EAGAIN;
	well = well && setsockopt(t->listening, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0 && fcntl(t->pair[0], F_GETFL) >= 0;
	well = well && syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), 0) == 0 && getppid() == t->parent;
	free(large);
	return well && shutdown(t->pair[0], SHUT_RDWR) == 0 && close(t->pair[0]) == 0;
}

static _Noreturn void try_to_escape(struct tools *t)
{
	int last = 0;

	serve_confine();
	if (!serves(t))
		_exit(100);
	_exit(forbidden(t, &last) ? 101 + last : 0);
}

static void test_confinement(void **state)
{
	struct tools t = { .parent = getpid(), .address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } } };
	socklen_t size = sizeof t.address;
	int status;
	pid_t pid;

	(void)state;
	t.udp = socket(AF_INET, SOCK_DGRAM, 0);
	t.listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, t.pair), 0);
	assert_int_equal(bind(t.listening, (struct sockaddr *)&t.address, sizeof t.address), 0);
	assert_int_equal(listen(t.listening, 1), 0);
	assert_int_equal(getsockname(t.listening, (struct sockaddr *)&t.address, &size), 0);
	t.page = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (pid == 0)
		try_to_escape(&t);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0); /* 101 and more: one of what is forbidden */
	munmap(t.page, 4096);
	close(t.udp);
	close(t.listening);
	close(t.pair[0]);
	close(t.pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_token), cmocka_unit_test(test_host), cmocka_unit_test(test_cookie), cmocka_unit_test(test_open), cmocka_unit_test(test_history),
		cmocka_unit_test(test_frames), cmocka_unit_test(test_frame_is_kept), cmocka_unit_test(test_confinement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
