#include "record/guard.h"

#include <errno.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>

static volatile sig_atomic_t signalled;

static void on_bus_error(int signal_number, siginfo_t *info, void *context)
{
	uintptr_t page = getauxval(AT_PAGESZ), address = (uintptr_t)info->si_addr & ~(page - 1);
	int saved = errno;

	(void)context;
	if (info->si_code <= 0)
		signalled = 1;
	else if (mmap((void *)address, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		signal(signal_number, SIG_DFL); /* the same again ends us */
	errno = saved;
}

void guard_install(struct sigaction *ret_before)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
	sigset_t set;

	sigfillset(&action.sa_mask);
	sigaction(SIGBUS, &action, ret_before);
	sigemptyset(&set);
	sigaddset(&set, SIGBUS);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

bool guard_was_signalled(void)
{
	bool was = signalled;

	signalled = 0;
	return was;
}
