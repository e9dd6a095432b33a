/* serve_confine.c - see serve_confine.h. */
#include "live/serve_confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILES 160 /* connections, and a few more */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_HIGH(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field) + 4) /* little endian */
#define IF(test, value, yes, no) BPF_JUMP(BPF_JMP | test | BPF_K, value, yes, no) /* so many instructions are left out */
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define LACK BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)
#define CALL(call) IF(BPF_JEQ, SYS_##call, 0, 1), ALLOW
#define CALL_WITHOUT(call, n, bits) IF(BPF_JEQ, SYS_##call, 0, 4), LOAD(args[n]), IF(BPF_JSET, bits, 1, 0), ALLOW, REFUSE

/*
 * What an HTTP server needs that has its sockets already: to take connections and
 * to read, write and end them; memory; to wait; to know the time; to end, by
 * abort() as well.  All else is not there, as in an older kernel, so that a
 * library does without it or as it did before.  libmicrohttpd has made what it
 * waits with, and started no thread.
 *
 * Some of it reaches further than that, but for what it is called with:
 *      sendto, sendmsg   an address, and MSG_FASTOPEN, which connects
 *      setsockopt        of IP: packet filters, for root
 *      fcntl             F_SETOWN: signals to whomever
 *      tgkill            others than this process
 *      mmap              new code
 * recvmsg is not there since who is at the other end of a local socket could hand
 * in open files with it, mprotect since the snapshot is read-only by it.
 */
static void refuse_calls(void)
{
	struct sock_filter filter[] = {
		LOAD(arch),
		IF(BPF_JEQ, ARCHITECTURE, 1, 0),
		LACK,
		LOAD(nr),
#ifdef SYS_poll
		CALL(poll), CALL(epoll_wait), CALL(select), CALL(time),
#endif
		CALL(ppoll), CALL(pselect6), CALL(epoll_pwait), CALL(epoll_ctl), CALL(read), CALL(readv), CALL(write), CALL(writev), CALL(recvfrom),
		CALL(accept), CALL(accept4), CALL(shutdown), CALL(close), CALL(getsockname), CALL(getpeername), CALL(getsockopt), CALL(fstat),
		CALL(brk), CALL(munmap), CALL(mremap), CALL(madvise), CALL(futex), CALL(getrandom), CALL(sched_yield), CALL(sched_getaffinity),
		CALL(clock_gettime), CALL(clock_getres), CALL(gettimeofday), CALL(nanosleep), CALL(clock_nanosleep), CALL(restart_syscall),
		CALL(getpid), CALL(gettid), CALL(getppid), CALL(rt_sigreturn), CALL(rt_sigprocmask), CALL(rt_sigaction), CALL(sigaltstack),
		CALL(exit), CALL(exit_group),
		CALL_WITHOUT(mmap, 2, PROT_EXEC),
		CALL_WITHOUT(sendmsg, 2, MSG_FASTOPEN),
		IF(BPF_JEQ, SYS_sendto, 0, 8),
		LOAD(args[4]), IF(BPF_JEQ, 0, 0, 5), LOAD_HIGH(args[4]), IF(BPF_JEQ, 0, 0, 3),
		LOAD(args[3]), IF(BPF_JSET, MSG_FASTOPEN, 1, 0), ALLOW, REFUSE,
		IF(BPF_JEQ, SYS_setsockopt, 0, 5),
		LOAD(args[1]), IF(BPF_JEQ, SOL_SOCKET, 1, 0), IF(BPF_JEQ, IPPROTO_TCP, 0, 1), ALLOW, REFUSE,
		IF(BPF_JEQ, SYS_fcntl, 0, 5),
		LOAD(args[1]), IF(BPF_JGE, F_GETFD, 0, 2), IF(BPF_JGT, F_SETFL, 1, 0), ALLOW, REFUSE,
		IF(BPF_JEQ, SYS_tgkill, 0, 4),
		LOAD(args[0]), IF(BPF_JEQ, (uint32_t)getpid(), 0, 1), ALLOW, REFUSE,
		LACK,
	};
	struct sock_fprog program = { .len = sizeof filter / sizeof *filter, .filter = filter };

	(void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
#else
static void refuse_calls(void)
{
}
#endif

static void limit(__rlimit_resource_t what, rlim_t most)
{
	struct rlimit old;

	if (getrlimit(what, &old) == 0 && old.rlim_max < most)
		most = old.rlim_max;
	(void)setrlimit(what, &(struct rlimit){ most, most });
}

void serve_confine(void)
{
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_NOFILE, FILES);
	refuse_calls();
}
