/* serve_confine.c - see serve_confine.h. */
#include "live/serve_confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define FILES 160 /* connections, and a few more */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define NOT(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), REFUSE

/* Whatever reaches beyond the sockets that are open: files, processes, other machines.  It is a list of what is refused, since
 * what a library needs besides is its own business and differs from release to release. */
static void refuse_calls(void)
{
	struct sock_filter filter[] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
		REFUSE,
		LOAD(nr),
#ifdef SYS_open
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), /* the other calling convention */
		REFUSE,
		NOT(open), NOT(creat), NOT(unlink), NOT(rename), NOT(link), NOT(symlink), NOT(mkdir), NOT(rmdir), NOT(chmod), NOT(chown),
		NOT(fork), NOT(vfork),
#endif
		NOT(openat), NOT(openat2), NOT(unlinkat), NOT(renameat2), NOT(linkat), NOT(symlinkat), NOT(mkdirat), NOT(fchmodat),
		NOT(fchownat), NOT(truncate), NOT(mount), NOT(execve), NOT(execveat), NOT(clone), NOT(clone3), NOT(ptrace), NOT(process_vm_readv),
		NOT(process_vm_writev), NOT(kill), NOT(tkill), NOT(pidfd_open), NOT(pidfd_send_signal), NOT(connect), NOT(bind), NOT(bpf),
		NOT(perf_event_open), NOT(io_uring_setup), NOT(keyctl),
		ALLOW,
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
